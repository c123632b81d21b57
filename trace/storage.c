/* storage.c - storages, windows on them, and when values are computed.
**
** A tracer of an array is a variable: a storage, or a window on one. A storage has a current version (a value of the
** graph) that is in memory or pending. Views share the storage, so a write through one is seen by all. The laws:
**   1. Pending values are elementwise; everything else is computed at once.
**   2. Before memory is written every pending value is computed, so none reads too late.
**   3. Memory of one value that two storages hold (equal expressions are one node) is copied before either is written.
*/
#include <string.h>

#include "trace/internal.h"

static int storage_unshare(Trace *trace, TraceStorage *storage);

/* -- Making tracers ---------------------------------------------------------------- */

static Tracer *
tracer_alloc(Trace *trace, TracerKind kind, PyArray_Descr *descr, int ndim,
             const npy_intp *shape, const npy_intp *strides)
{
    Tracer *tracer = PyObject_New(Tracer, trace->state->tracer_type);
    if (!tracer)
        return NULL;
    memset((char *)tracer + sizeof(PyObject), 0, sizeof(Tracer) - sizeof(PyObject));
    tracer->trace = trace;
    trace->refs++;
    tracer->kind = kind;
    tracer->descr = (PyArray_Descr *)Py_XNewRef(descr);
    tracer->ndim = ndim;
    if (ndim) {
        tracer->shape = PyMem_Malloc(2 * (size_t)ndim * sizeof(npy_intp));
        if (!tracer->shape) {
            Py_DECREF(tracer);
            PyErr_NoMemory();
            return NULL;
        }
        tracer->strides = tracer->shape + ndim;
        memcpy(tracer->shape, shape, (size_t)ndim * sizeof(npy_intp));
        if (strides)
            memcpy(tracer->strides, strides, (size_t)ndim * sizeof(npy_intp));
    }
    return tracer;
}

/* A new storage that holds `value`, in the trace's list. */
static TraceStorage *
storage_new(Trace *trace, IrValue value, int param)
{
    TraceStorage *storage = PyMem_Calloc(1, sizeof *storage);
    if (!storage) {
        PyErr_NoMemory();
        return NULL;
    }
    storage->refs = 1;
    storage->value = value;
    storage->param = param;
    storage->serial = ++trace->serial;
    storage->next = trace->storages;
    if (trace->storages)
        trace->storages->prev = storage;
    trace->storages = storage;
    trace_value_hold(trace, value);
    return storage;
}

static void
storage_release(Trace *trace, TraceStorage *storage)
{
    if (!storage || --storage->refs)
        return;
    if (storage->prev)
        storage->prev->next = storage->next;
    else
        trace->storages = storage->next;
    if (storage->next)
        storage->next->prev = storage->prev;
    trace_value_drop(trace, storage->value);
    PyMem_Free(storage);
}

static bool
value_describe(TraceValue *v, PyArray_Descr *descr, int ndim, const npy_intp *strides)
{
    if (!v->strides && ndim) {
        v->strides = PyMem_Malloc((size_t)ndim * sizeof(npy_intp));
        if (!v->strides) {
            PyErr_NoMemory();
            return false;
        }
        memcpy(v->strides, strides, (size_t)ndim * sizeof(npy_intp));
    }
    if (!v->descr)
        v->descr = (PyArray_Descr *)Py_NewRef(descr);
    return true;
}

bool
trace_value_pend(Trace *trace, IrValue value, PyArray_Descr *descr, int ndim,
                 const npy_intp *strides)
{
    TraceValue *v = trace_value(trace, value);
    if (!v || !value_describe(v, descr, ndim, strides))
        return false;
    if (!v->array && !v->pending) {
        /* New, or given up since: from now on it holds what it reads. */
        IrNode node = ir_def(trace->graph, value);
        v->pending = true;
        for (uint32_t i = 0; i < ir_node_noperands(trace->graph, node); i++)
            trace_value_hold(trace, ir_node_operand(trace->graph, node, i));
        if (trace_chain_set(trace, value) < 0)
            return false;
    }
    return true;
}

Tracer *
tracer_new_pending(Trace *trace, IrValue value, PyArray_Descr *descr, int ndim,
                   const npy_intp *shape, const npy_intp *strides)
{
    if (!trace_value_pend(trace, value, descr, ndim, strides))
        return NULL;
    Tracer *tracer = tracer_alloc(trace, TRACER_array, descr, ndim, shape,
                                  trace->values[value].strides);
    if (!tracer)
        return NULL;
    tracer->whole = true;
    tracer->storage = storage_new(trace, value, -1);
    if (!tracer->storage)
        Py_CLEAR(tracer);
    return tracer;
}

Tracer *
tracer_new_array(Trace *trace, IrValue value, PyArrayObject *array, int param)
{
    TraceValue *v = trace_value(trace, value);
    int ndim = PyArray_NDIM(array);
    if (!v || !value_describe(v, PyArray_DESCR(array), ndim, PyArray_STRIDES(array)))
        return NULL;
    Py_XSETREF(v->array, (PyArrayObject *)Py_NewRef(array));
    if (!PyArray_ISWRITEABLE(array))
        v->flags |= TRACE_VALUE_readonly;
    Tracer *tracer = tracer_alloc(trace, TRACER_array, PyArray_DESCR(array), ndim,
                                  PyArray_DIMS(array), PyArray_STRIDES(array));
    if (!tracer)
        return NULL;
    tracer->whole = true;
    tracer->unaligned = !PyArray_ISALIGNED(array);
    tracer->object = Py_NewRef(array);
    tracer->storage = storage_new(trace, value, param);
    if (tracer->storage)
        tracer->storage->owned = true;
    else
        Py_CLEAR(tracer);
    return tracer;
}

Tracer *
tracer_new_view(Trace *trace, TraceStorage *storage, PyArrayObject *array,
                npy_intp offset)
{
    Tracer *tracer =
        tracer_alloc(trace, TRACER_array, PyArray_DESCR(array), PyArray_NDIM(array),
                     PyArray_DIMS(array), PyArray_STRIDES(array));
    if (!tracer)
        return NULL;
    tracer->storage = storage;
    storage->refs++;
    tracer->offset = offset;
    tracer->unaligned = !PyArray_ISALIGNED(array);
    tracer->object = Py_NewRef(array);
    return tracer;
}

void
trace_argument_share(PyObject *argument, PyObject *whole)
{
    Tracer *tracer = (Tracer *)argument, *base = (Tracer *)whole;
    Trace *trace = tracer->trace;
    const char *from = PyArray_BYTES((PyArrayObject *)base->object);
    tracer->given_as = tracer->storage->value;
    trace_value_hold(trace, tracer->given_as);
    storage_release(trace, tracer->storage);
    tracer->storage = base->storage;
    tracer->storage->refs++;
    tracer->whole = false;
    tracer->offset = PyArray_BYTES((PyArrayObject *)tracer->object) - from;
}

int
tracer_show(Tracer *tracer, PyArrayObject *view)
{
    Trace *trace = tracer->trace;
    int ndim = PyArray_NDIM(view);
    npy_intp *shape = PyMem_Malloc(2 * (size_t)ndim * sizeof(npy_intp));
    if (!shape) {
        PyErr_NoMemory();
        return -1;
    }
    trace->blockers++; /* the variable is another one in the next turn of a loop */
    trace->extents = true;
    PyMem_Free(tracer->shape);
    tracer->shape = shape;
    tracer->strides = shape + ndim;
    tracer->ndim = ndim;
    memcpy(shape, PyArray_DIMS(view), (size_t)ndim * sizeof(npy_intp));
    memcpy(tracer->strides, PyArray_STRIDES(view), (size_t)ndim * sizeof(npy_intp));
    tracer->storage->owned = true;
    tracer->whole = false;
    Py_CLEAR(tracer->path);
    Py_XSETREF(tracer->object, Py_NewRef(view));
    if (tracer->value)
        trace_value_drop(trace, tracer->value);
    tracer->value = tracer->view_of = 0;
    return 1;
}

Tracer *
tracer_of_storage(Trace *trace, TraceStorage *storage)
{
    if (trace_force(trace, storage->value) < 0)
        return NULL;
    Tracer *tracer =
        tracer_new_view(trace, storage, trace->values[storage->value].array, 0);
    if (tracer)
        tracer->whole = true;
    return tracer;
}

Tracer *
tracer_new_scalar(Trace *trace, IrValue value, PyObject *scalar)
{
    PyArray_Descr *descr = NULL;
    TraceValue *v = trace_value(trace, value);
    if (!v)
        return NULL;
    TracerKind kind = PyFloat_CheckExact(scalar)     ? TRACER_float
                      : PyComplex_CheckExact(scalar) ? TRACER_complex
                      : PyLong_CheckExact(scalar)    ? TRACER_int
                                                     : TRACER_scalar;
    int number = kind == TRACER_complex ? NPY_CDOUBLE : NPY_DOUBLE;
    descr = kind == TRACER_scalar
                ? PyArray_DescrFromScalar(scalar)
                : PyArray_DescrFromType(kind == TRACER_int ? NPY_INT64 : number);
    if (!descr)
        return NULL;
    Tracer *tracer = tracer_alloc(trace, kind, descr, 0, NULL, NULL);
    if (tracer && !v->descr)
        v->descr = (PyArray_Descr *)Py_NewRef(descr);
    Py_DECREF(descr);
    if (!tracer)
        return NULL;
    if (!v->array) { /* an int is of any size: only the object counts */
        PyObject *array = kind == TRACER_int
                              ? PyArray_ZEROS(0, NULL, NPY_INT64, 0)
                              : PyArray_FromAny(scalar, NULL, 0, 0, 0, NULL);
        if (!array) {
            Py_DECREF(tracer);
            return NULL;
        }
        v->array = (PyArrayObject *)array;
    }
    Py_XSETREF(v->scalar, Py_NewRef(scalar));
    tracer->value = value;
    tracer->object = Py_NewRef(scalar);
    trace_value_hold(trace, value);
    return tracer;
}

Tracer *
tracer_new_index(Trace *trace, PyObject *number)
{
    PyArray_Descr *descr = PyArray_DescrFromType(NPY_INT64);
    Tracer *tracer = tracer_alloc(trace, TRACER_index, descr, 0, NULL, NULL);
    Py_XDECREF(descr);
    if (tracer)
        tracer->object = Py_NewRef(number);
    return tracer;
}

void
tracer_release(Tracer *tracer)
{
    Trace *trace = tracer->trace;
    if (tracer->value)
        trace_value_drop(trace, tracer->value);
    storage_release(trace, tracer->storage);
    Py_XDECREF(tracer->descr);
    Py_XDECREF(tracer->native);
    Py_XDECREF(tracer->picked_from);
    Py_XDECREF(tracer->picked_by);
    Py_XDECREF(tracer->path);
    Py_XDECREF(tracer->size);
    Py_XDECREF(tracer->object);
    PyMem_Free(tracer->shape);
    trace_release(trace);
}

/* -- Values of tracers ------------------------------------------------------------- */

/* A window's attributes in the graph. One that moves with a loop's turns gets an index that is
** its turn's alone, so that it is never merged with one that stays. */
static IrValue
view_node(Tracer *tracer, IrValue base, bool again)
{
    Trace *trace = tracer->trace;
    int64_t offset = tracer->offset, strides[NPY_MAXDIMS], shape[NPY_MAXDIMS];
    IrDim dims[NPY_MAXDIMS];
    IrValue operands[2] = {base, 0};
    uint32_t noperands = 1;
    for (int i = 0; i < tracer->ndim; i++) {
        strides[i] = tracer->strides[i];
        shape[i] = tracer->shape[i];
    }
    IrType type = trace_ir_type(tracer->descr, tracer->ndim, tracer->shape, dims);
    type.dtype = tracer->unaligned ? DT_object : type.dtype;
    bool turns = tracer_turns(tracer);
    operands[1] = tracer->moved;
    if (turns || again || type.dtype == DT_object) { /* objects may differ in more */
        int64_t serial =
            turns ? trace_turn_serial(trace, tracer->steps) : (int64_t)++trace->serial;
        IrValue apart = ir_const_int(trace->graph, DT_index, serial);
        offset -= serial;
        if (!trace_value(trace, apart))
            return 0;
        operands[1] = trace_index_sum(trace, apart, tracer->moved);
        if (!operands[1])
            return 0;
    }
    noperands += operands[1] != 0;
    uint32_t ndim = (uint32_t)tracer->ndim;
    IrAttr attrs[] = {
        {.key = "offset", .kind = ATTR_ints, .count = 1, .ints = &offset},
        {.key = "strides", .kind = ATTR_ints, .count = ndim, .ints = strides},
        {.key = "shape", .kind = ATTR_ints, .count = ndim, .ints = shape},
        {.key = "dtype", .kind = ATTR_text},
    };
    bool other = type.dtype != ir_type(trace->graph, base).dtype;
    attrs[3].text = ir_dtype_name(type.dtype);
    IrNode node = ir_node_typed(trace->graph, OP_view, operands, noperands, attrs,
                                other ? 4 : 3, &type, 1);
    return ir_result(trace->graph, node, 0);
}

/* Remembers how a window, or the window an update writes, moves. */
bool
trace_value_moves(Trace *trace, IrValue value, const npy_intp *steps)
{
    TraceValue *v = trace_value(trace, value);
    if (v && !v->steps)
        v->steps = PyMem_Malloc(TRACE_DEPTH_MAX * sizeof(npy_intp));
    if (!v || !v->steps)
        return false;
    memcpy(v->steps, steps, TRACE_DEPTH_MAX * sizeof(npy_intp));
    return true;
}

IrValue
tracer_value(Tracer *tracer)
{
    Trace *trace = tracer->trace;
    if (tracer->kind != TRACER_array)
        return tracer->value;
    if (tracer->whole)
        return tracer->storage->value;
    if (tracer->value && tracer->view_of == tracer->storage->value)
        return tracer->value; /* also of a moving window: it lives in one turn */
    IrValue value = view_node(tracer, tracer->storage->value, false);
    const TraceValue *there = value < trace->nvalues ? &trace->values[value] : NULL;
    bool readonly = !PyArray_ISWRITEABLE((PyArrayObject *)tracer->object);
    /* The same window as another array: an effect got it, or one of them may be written. */
    if (there && (there->flags & TRACE_VALUE_escaped ||
                  (there->array && readonly != (there->flags & TRACE_VALUE_readonly))))
        value = view_node(tracer, tracer->storage->value, true);
    TraceValue *v = value ? trace_value(trace, value) : NULL;
    if (!v || !value_describe(v, tracer->descr, tracer->ndim, tracer->strides) ||
        (tracer_turns(tracer) && !trace_value_moves(trace, value, tracer->steps)))
        return 0;
    v = &trace->values[value];
    if (!v->array)
        v->array = (PyArrayObject *)Py_NewRef(tracer->object);
    v->flags |= readonly ? TRACE_VALUE_readonly : 0;
    trace_path_set(trace, value, tracer->path);
    trace_value_hold(trace, value);
    if (tracer->value)
        trace_value_drop(trace, tracer->value);
    tracer->value = value;
    tracer->view_of = tracer->storage->value;
    return value;
}

PyObject *
tracer_object(Tracer *tracer)
{
    if (tracer->object)
        return tracer->object;
    IrValue value = tracer->storage->value;
    if (trace_force(tracer->trace, value) < 0)
        return NULL;
    /* The memory may be another storage's as well: this one needs its own. */
    if (storage_unshare(tracer->trace, tracer->storage) < 0)
        return NULL;
    tracer->storage->owned = true;
    tracer->object = Py_NewRef(tracer->trace->values[tracer->storage->value].array);
    return tracer->object;
}

IrValue
trace_value_window(Trace *trace, IrValue value, IrValue of, int ndim,
                   const npy_intp *shape, const npy_intp *strides, npy_intp offset)
{
    TraceValue *v = value ? trace_value(trace, value) : NULL;
    const TraceValue *whole = &trace->values[of];
    if (!v || !value_describe(v, whole->descr, ndim, strides))
        return 0;
    v->flags |= whole->flags & TRACE_VALUE_readonly;
    if (v->array)
        return value;
    Py_INCREF(v->descr);
    PyObject *array =
        PyArray_NewFromDescr(&PyArray_Type, v->descr, ndim, shape, strides,
                             PyArray_BYTES(whole->array) + offset, 0, NULL);
    if (array &&
        PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(whole->array)) < 0)
        Py_CLEAR(array);
    v->array = (PyArrayObject *)array;
    return array ? value : 0;
}

/* The array that a window's node shows, or NULL without an exception. */
static PyArrayObject *
view_again(Trace *trace, IrValue value)
{
    IrNode node = ir_def(trace->graph, value);
    IrValue base = ir_node_operand(trace->graph, node, 0);
    const TraceValue *v = &trace->values[value];
    IrType type = ir_type(trace->graph, value);
    npy_intp shape[NPY_MAXDIMS];
    int64_t offset = ir_node_int(trace->graph, node, "offset", 0);
    if (ir_node_noperands(trace->graph, node) > 1) {
        npy_intp now;
        if (!trace_index_now(trace, ir_node_operand(trace->graph, node, 1), &now))
            return NULL;
        offset += now;
    }
    if (!v->descr || !trace_value_revive(trace, base) || trace_force(trace, base) < 0 ||
        !trace->values[base].array) {
        PyErr_Clear();
        return NULL;
    }
    for (uint32_t i = 0; i < type.ndim; i++)
        shape[i] = (npy_intp)type.dims[i].value;
    PyArrayObject *memory = trace->values[base].array;
    char *data = PyArray_BYTES(memory) + offset;
    v = &trace->values[value];
    Py_INCREF(v->descr);
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, v->descr, (int)type.ndim,
                                           shape, v->strides, data, 0, NULL);
    if (array && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(memory)) < 0)
        Py_CLEAR(array);
    PyErr_Clear();
    return (PyArrayObject *)array;
}

bool
trace_value_revive(Trace *trace, IrValue value)
{
    const IrGraph *g = trace->graph;
    IrNode node = ir_def(g, value);
    const TraceValue *v = &trace->values[value];
    if (v->flags & TRACE_VALUE_overwritten)
        return false; /* its memory holds something else by now */
    if (!node || v->array || v->pending || v->scalar)
        return v->array || v->pending || v->scalar;
    IrOp op = ir_node_op(g, node);
    if (op == OP_view) {
        PyArrayObject *array = view_again(trace, value);
        trace->values[value].array = array;
        return array != NULL;
    }
    if (!(ir_op_flags(op) & OPF_elementwise) || !v->descr)
        return false;
    for (uint32_t i = 0; i < ir_node_noperands(g, node); i++) {
        if (!trace_value_revive(trace, ir_node_operand(g, node, i)))
            return false;
    }
    for (uint32_t i = 0; i < ir_node_noperands(g, node); i++)
        trace_value_hold(trace, ir_node_operand(g, node, i));
    trace->values[value].pending = true;
    return true;
}

/* -- Writing ----------------------------------------------------------------------- */

/* Gives the storage memory, and a version, of its own. */
static int
storage_copy(Trace *trace, TraceStorage *storage)
{
    IrType type = ir_type(trace->graph, storage->value);
    IrNode node =
        ir_node_typed(trace->graph, OP_copy, &storage->value, 1, NULL, 0, &type, 1);
    IrValue value = ir_result(trace->graph, node, 0);
    TraceValue *copy = trace_value(trace, value), *v = &trace->values[storage->value];
    if (!copy || !value_describe(copy, v->descr, (int)type.ndim, v->strides))
        return -1;
    copy->array = (PyArrayObject *)PyArray_NewCopy(v->array, NPY_KEEPORDER);
    if (!copy->array)
        return -1;
    trace_value_hold(trace, value);
    trace_value_drop(trace, storage->value);
    storage->value = value;
    return 0;
}

/* Of the storages that hold the same version at most one is owned: it keeps the memory. */
static int
storage_unshare(Trace *trace, TraceStorage *storage)
{
    if (trace->values[storage->value].refs == 1)
        return 0;
    for (TraceStorage *s = trace->storages; s; s = s->next) {
        if (s == storage || s->value != storage->value)
            continue;
        if (!storage->owned && storage->param < 0)
            return storage_copy(trace, storage);
        if (storage_copy(trace, s) < 0)
            return -1;
    }
    return 0;
}

int
trace_write_begin(Tracer *tracer)
{
    if (trace_force_all(tracer->trace) < 0)
        return -1;
    return storage_unshare(tracer->trace, tracer->storage);
}

void
trace_write_end(Tracer *tracer, IrValue version)
{
    trace_storage_written(tracer->trace, tracer->storage, version);
}

void
trace_storage_written(Trace *trace, TraceStorage *storage, IrValue version)
{
    TraceValue *next = trace_value(trace, version);
    TraceValue *before = &trace->values[storage->value];
    if (!next) {
        PyErr_Clear();
        trace_end(trace, BAIL_memory, NULL);
        return;
    }
    next->array = (PyArrayObject *)Py_XNewRef(before->array);
    next->flags = before->flags & TRACE_VALUE_readonly;
    before->flags |= TRACE_VALUE_overwritten;
    if (!value_describe(next, before->descr, PyArray_NDIM(before->array),
                        PyArray_STRIDES(before->array))) {
        PyErr_Clear();
        trace_end(trace, BAIL_memory, NULL);
    }
    trace_value_hold(trace, version);
    trace_value_drop(trace, storage->value);
    storage->value = version;
    if (storage->escape)
        trace->escapes[storage->escape - 1] = version;
    if (storage->param >= 0) {
        trace->params[storage->param].written = true;
        trace->params[storage->param].version = version;
        trace->wrote = true;
    }
}

void
trace_storage_rebound(Trace *trace, TraceStorage *storage, IrValue value,
                      PyArrayObject *array)
{
    TraceValue *v = trace_value(trace, value);
    if (!v || !value_describe(v, PyArray_DESCR(array), PyArray_NDIM(array),
                              PyArray_STRIDES(array))) {
        PyErr_Clear();
        trace_end(trace, BAIL_memory, NULL);
        return;
    }
    Py_XSETREF(v->array, (PyArrayObject *)Py_NewRef(array));
    trace_value_hold(trace, value);
    trace_value_drop(trace, storage->value);
    storage->value = value;
}

void
tracer_rebind(Tracer *tracer, IrValue value)
{
    Trace *trace = tracer->trace;
    trace_value_hold(trace, value);
    trace_value_drop(trace, tracer->storage->value);
    tracer->storage->value = value;
}
