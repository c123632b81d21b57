/* capture.c - a trace from its first argument to its result, and the tables it fills.
**
** A value of the graph has an entry in `values`: its memory once it is computed, and
** how many
** hold it. Holders are storages (their current version), scalars, windows and, while a
** value
** is pending, the pending values that read it. A value nobody holds gives up its
** memory.
*/
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

static const struct {
    const char *name, *message, *hint;
} bails[] = {
#define BAIL(name, message, hint) {#name, message, hint},
#include "trace/bails.def"
#undef BAIL
};

const char *
trace_bail_name(TraceBail bail)
{
    return bails[bail].name;
}

const char *
trace_bail_message(TraceBail bail)
{
    return bails[bail].message;
}

const char *
trace_bail_hint(TraceBail bail)
{
    return bails[bail].hint;
}

static _Thread_local Trace *current;

Trace *
trace_current(void)
{
    return current;
}

Trace *
trace_suspend(void)
{
    Trace *trace = current;
    current = NULL;
    return trace;
}

void
trace_go_on(Trace *trace)
{
    current = trace;
}

/* -- Life -------------------------------------------------------------------------- */

Trace *
trace_new(TraceState *state, TraceRunFn run, TraceLoopFn run_loop, void *run_context)
{
    Trace *trace = PyMem_Calloc(1, sizeof *trace);
    if (!trace) {
        PyErr_NoMemory();
        return NULL;
    }
    trace->state = state;
    trace->refs = 1;
    trace->run = run;
    trace->run_loop = run_loop;
    trace->run_context = run_context;
    trace->live = true;
    trace->graph = ir_graph_new("f");
    trace->bodies = PyDict_New();
    trace->known = PyDict_New();
    trace->locals = PyDict_New();
    if (!trace->graph || !trace->bodies || !trace->known || !trace->locals) {
        trace_release(trace);
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        return NULL;
    }
    return trace;
}

void
trace_guards_clear(Trace *trace)
{
    for (; trace->nguards; trace->nguards--) {
        TraceGuard *guard = &trace->guards[trace->nguards - 1];
        Py_XDECREF(guard->owner);
        Py_XDECREF(guard->name);
        Py_XDECREF(guard->expected);
    }
}

static void
sites_clear(Trace *trace)
{
    for (uint32_t i = 0; i < trace->nsites; i++) {
        TraceSite *site = &trace->sites[i];
        Py_XDECREF(site->callable);
        Py_XDECREF(site->origin);
        Py_XDECREF(site->args);
        Py_XDECREF(site->kwargs);
        Py_XDECREF(site->result);
    }
    trace_guards_clear(trace);
    for (uint32_t i = 0; i < trace->nparams; i++)
        Py_XDECREF(trace->params[i].object);
    PyMem_Free(trace->sites);
    PyMem_Free(trace->guards);
    PyMem_Free(trace->params);
    PyMem_Free(trace->escapes);
}

void
trace_release(Trace *trace)
{
    if (--trace->refs)
        return;
    Py_CLEAR(trace->bodies);
    Py_CLEAR(trace->known);
    Py_CLEAR(trace->locals);
    Py_CLEAR(trace->result);
    Py_CLEAR(trace->sizes);
    Py_CLEAR(trace->compared);
    Py_CLEAR(trace->raised);
    Py_CLEAR(trace->bail_detail);
    Py_CLEAR(trace->stand_ins);
    Py_CLEAR(trace->containers);
    Py_CLEAR(trace->outside);
    Py_CLEAR(trace->inputs);
    Py_CLEAR(trace->stored);
    Py_CLEAR(trace->mutated);
    Py_CLEAR(trace->log);
    Py_CLEAR(trace->cells);
    Py_CLEAR(trace->loaded);
    sites_clear(trace);
    for (uint32_t i = 0; i < trace->nvalues; i++) {
        TraceValue *v = &trace->values[i];
        Py_XDECREF(v->array);
        Py_XDECREF(v->scalar);
        Py_XDECREF(v->descr);
        PyMem_Free(v->strides);
        PyMem_Free(v->steps);
        Py_XDECREF(v->path);
    }
    PyMem_Free(trace->values);
    if (trace->graph)
        ir_graph_free(trace->graph);
    PyMem_Free(trace);
}

/* What was made in this call may hold tracers; from now on it is anybody's. */
static void
locals_real(Trace *trace)
{
    PyObject *object, *objects = PyDict_Values(trace->locals);
    if (!objects) {
        PyErr_Clear();
        return;
    }
    PyDict_Clear(trace->locals);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(objects); i++) {
        object = PyList_GET_ITEM(objects, i);
        if (trace_real_inside(trace->state, object) < 0)
            PyErr_Clear();
    }
    Py_DECREF(objects);
}

void
trace_end(Trace *trace, TraceBail bail, PyObject *detail)
{
    PyObject *type, *value, *traceback;
    if (!trace->live)
        return;
    PyErr_Fetch(&type, &value, &traceback);
    /* What comes now may write the memory that pending values are to be computed from. */
    if (trace_force_all(trace) < 0)
        PyErr_Clear();
    trace->live = false;
    trace->bail = bail;
    if (detail)
        trace->bail_detail = PyObject_Str(detail);
    PyErr_Clear();
    locals_real(trace);
    PyErr_Restore(type, value, traceback);
}

/* -- Tables ------------------------------------------------------------------------ */

/* Room for one more; the table doubles. */
static bool
grow(void **table, uint32_t n, uint32_t *room, size_t item)
{
    if (n < *room)
        return true;
    uint32_t more = *room ? *room * 2 : 64;
    void *bigger = PyMem_Realloc(*table, more * item);
    if (!bigger) {
        PyErr_NoMemory();
        return false;
    }
    memset((char *)bigger + *room * item, 0, (more - *room) * item);
    *table = bigger;
    *room = more;
    return true;
}

TraceValue *
trace_value(Trace *trace, IrValue value)
{
    while (value >= trace->values_room) {
        if (!grow((void **)&trace->values, trace->values_room, &trace->values_room,
                  sizeof(TraceValue)))
            return NULL;
    }
    if (value >= trace->nvalues)
        trace->nvalues = value + 1;
    return &trace->values[value];
}

void
trace_value_hold(Trace *trace, IrValue value)
{
    trace->values[value].refs++;
}

/* The operands of a pending value are held by it. A tracer that is found in a cycle after the trace is done, whose graph the
** plan has, lets go of nothing: what there is goes with the trace. */
static void
readers_drop(Trace *trace, IrValue value)
{
    if (!trace->graph)
        return;
    IrNode node = ir_def(trace->graph, value);
    for (uint32_t i = 0; i < ir_node_noperands(trace->graph, node); i++)
        trace_value_drop(trace, ir_node_operand(trace->graph, node, i));
}

void
trace_value_drop(Trace *trace, IrValue value)
{
    TraceValue *v = &trace->values[value];
    if (v->refs == 0 || --v->refs)
        return;
    if (v->pending) {
        v->pending = false;
        readers_drop(trace, value);
    } else if (!v->scalar) {
        Py_CLEAR(v->array);
    }
}

bool
trace_count(Trace *trace, bool scalar)
{
    trace->nops += scalar ? TRACE_OP_SCALAR : 1;
    trace->narrays += !scalar;
    if (trace->nops > TRACE_OPS_MAX)
        trace_end(trace, BAIL_too_long, NULL);
    return trace->live;
}

TraceSite *
trace_site_add(Trace *trace, TraceSiteKind kind)
{
    if (!grow((void **)&trace->sites, trace->nsites, &trace->sites_room,
              sizeof(TraceSite)))
        return NULL;
    TraceSite *site = &trace->sites[trace->nsites++];
    memset(site, 0, sizeof *site);
    site->kind = kind;
    return site;
}

int
trace_escape(Trace *trace, Tracer *tracer)
{
    TraceStorage *storage = tracer->storage;
    IrValue value = tracer->kind == TRACER_array ? tracer_value(tracer) : 0;
    if (!value)
        return PyErr_Occurred() ? -1 : 0;
    trace->values[value].flags |= TRACE_VALUE_escaped;
    tracer->given = tracer->whole ? 0 : value;
    if (storage->param >= 0 || storage->escape)
        return 0;
    if (!grow((void **)&trace->escapes, trace->nescapes, &trace->escapes_room,
              sizeof(IrValue)))
        return -1;
    trace->escapes[trace->nescapes++] = storage->value;
    storage->escape = trace->nescapes;
    /* Unknown code may change it after the last tracer of it is gone. */
    PyObject *held = (PyObject *)tracer_of_storage(trace, storage);
    if (!trace->held)
        trace->held = PyList_New(0);
    int status = held && trace->held ? PyList_Append(trace->held, held) : -1;
    Py_XDECREF(held);
    return status;
}

int
trace_param_add(Trace *trace, IrValue value, PyObject *object)
{
    if (!grow((void **)&trace->params, trace->nparams, &trace->params_room,
              sizeof(TraceParam)))
        return -1;
    TraceParam *param = &trace->params[trace->nparams];
    param->value = param->version = value;
    param->object = Py_NewRef(object);
    param->written = param->ranged = false;
    return (int)trace->nparams++;
}

/* -- Types ------------------------------------------------------------------------- */

bool
trace_descr_plain(PyArray_Descr *descr)
{
    int num = descr->type_num;
    /* Long doubles have no casts of ours: NumPy works on them. */
    return (num <= NPY_CLONGDOUBLE || num == NPY_HALF) && num != NPY_LONGDOUBLE &&
           num != NPY_CLONGDOUBLE && PyArray_ISNBO(descr->byteorder);
}

/* No subclass, and nothing in it that Python has to count. */
bool
trace_array_known(PyArrayObject *array)
{
    return PyArray_CheckExact(array) && !PyDataType_REFCHK(PyArray_DESCR(array));
}

IrType
trace_ir_type(PyArray_Descr *descr, int ndim, const npy_intp *shape, IrDim *dims)
{
    IrType type = {.dtype = DT_object, .ndim = (uint32_t)ndim, .dims = dims};
    if (trace_descr_plain(descr)) {
        IrDtype dtype = ir_dtype_from_numpy_char((char)descr->type);
        if (descr->type_num == NPY_LONGLONG)
            dtype = DT_int64;
        else if (descr->type_num == NPY_ULONGLONG)
            dtype = DT_uint64;
        if (dtype != DT_COUNT)
            type.dtype = dtype;
    }
    for (int i = 0; i < ndim; i++)
        dims[i] = ir_dim(shape[i]);
    return type;
}

/* Arrays that are not aligned are objects to the loops. */
IrType
trace_array_type(PyArrayObject *array, IrDim *dims)
{
    IrType type = trace_ir_type(PyArray_DESCR(array), PyArray_NDIM(array),
                                PyArray_DIMS(array), dims);
    if (!PyArray_ISALIGNED(array))
        type.dtype = DT_object;
    return type;
}

/* -- A call ------------------------------------------------------------------------ */

/* A generator of random numbers stays what it is; calls of its methods find it in the value's slot. */
PyObject *
trace_generator(Trace *trace, IrValue value, PyObject *object, bool given)
{
    TraceValue *v = value ? trace_value(trace, value) : NULL;
    PyObject *id = PyLong_FromVoidPtr(object), *number = PyLong_FromUnsignedLong(value);
    if (!trace->inputs)
        trace->inputs = PyDict_New();
    int status = v && id && number && trace->inputs &&
                         PyDict_SetItem(trace->inputs, id, number) == 0
                     ? trace_outside_add(trace, object)
                     : -1;
    if (status == 0) { /* only the object counts, as of an int */
        v = &trace->values[value];
        Py_XSETREF(v->scalar, given ? PyLong_FromLong(0)
                                    : Py_NewRef(object)); /* who gives it may drop it */
        Py_XSETREF(v->descr, PyArray_DescrFromType(NPY_INT64));
        status = v->descr && v->scalar ? 0 : -1;
    }
    Py_XDECREF(id);
    Py_XDECREF(number);
    return status < 0 ? NULL : Py_NewRef(object);
}

static PyObject *
generator_argument(Trace *trace, PyObject *object)
{
    IrValue value = ir_param_add(trace->graph, (IrType){.dtype = DT_object}, NULL);
    return value && trace_param_add(trace, value, object) >= 0
               ? trace_generator(trace, value, object, true)
               : NULL;
}

PyObject *
trace_argument(Trace *trace, PyObject *object)
{
    IrDim dims[NPY_MAXDIMS];
    IrType type = {.ndim = 0};
    PyArray_Descr *descr = NULL;
    Tracer *tracer = NULL;
    IrValue value;

    if (PyArray_CheckExact(object)) {
        PyArrayObject *array = (PyArrayObject *)object;
        type = trace_array_type(array, dims);
    } else if (PyArray_CheckScalar(object)) {
        descr = PyArray_DescrFromScalar(object);
        if (!descr)
            return NULL;
        type = trace_ir_type(descr, 0, NULL, dims);
        Py_DECREF(descr);
    } else if (PyFloat_CheckExact(object)) {
        type.dtype = DT_pyfloat;
    } else if (PyComplex_CheckExact(object)) {
        type.dtype = DT_pycomplex;
    } else if (PyLong_CheckExact(object)) {
        type.dtype = DT_pyint;
    } else if (trace_is_source(trace, object)) {
        return generator_argument(trace, object);
    } else
        return Py_NewRef(object);

    value = ir_param_add(trace->graph, type, NULL);
    int param = trace_param_add(trace, value, object);
    if (param < 0 || !trace_value(trace, value))
        return NULL;
    if (PyArray_CheckExact(object))
        tracer = tracer_new_array(trace, value, (PyArrayObject *)object, param);
    else
        tracer = tracer_new_scalar(trace, value, object);
    if (!tracer)
        return NULL;
    if (tracer->kind == TRACER_int) {
        tracer->of = value;
        tracer->factor = 1;
    }
    /* Python's numbers are not told apart by identity. */
    PyObject *id = PyArray_Check(object) || PyArray_CheckScalar(object)
                       ? PyLong_FromVoidPtr(object)
                       : NULL;
    if (PyErr_Occurred() ||
        (id && PyDict_SetItem(trace->known, id, (PyObject *)tracer) < 0))
        Py_CLEAR(tracer);
    Py_XDECREF(id);
    return (PyObject *)tracer;
}

void
trace_abandon(Trace *trace)
{
    trace_cells_on(trace);
    Py_CLEAR(trace->held);
    Py_CLEAR(trace->log); /* exceptions in it know frames that know tracers */
    Py_CLEAR(trace->raised);
    PyDict_Clear(trace->known);
    PyDict_Clear(trace->locals);
    Py_CLEAR(trace->outside);
    Py_CLEAR(trace->inputs);
    Py_CLEAR(trace->stored);
    Py_CLEAR(trace->mutated);
    Py_CLEAR(trace->loaded);
}

PyObject *
trace_capture(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargsf,
              PyObject *kwnames)
{
    PyObject *returned, *real = NULL, *template = NULL;

    PyObject *function =
        PyMethod_Check(callable) ? PyMethod_GET_FUNCTION(callable) : callable;
    trace->root = PyFunction_Check(function) ? PyFunction_GET_CODE(function) : NULL;
    trace->outer = current;
    current = trace;
    trace->refs++;
    returned = PyObject_Vectorcall(callable, args, nargsf, kwnames);
    if (!returned) {
        trace_end(trace, BAIL_raised, NULL);
        trace_raised_real(trace->state);
    } else {
        template = trace_result_template(trace, returned, &real);
        if (!template)
            Py_CLEAR(real);
        Py_DECREF(returned);
    }
    if (!trace->live) { /* functions that were made since hold tracers in their cells */
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        locals_real(trace);
        PyErr_Restore(type, value, traceback);
    }
    current = trace->outer;
    if (trace->live && ir_error(trace->graph)) {
        PyObject *text = PyUnicode_FromString(ir_error(trace->graph));
        trace_end(trace, BAIL_graph, text);
        Py_XDECREF(text);
    }
    Py_XSETREF(trace->result, template);
    /* Tracers that live on must not keep what only the trace needed. */
    trace_abandon(trace);
    trace_release(trace);
    return real;
}
