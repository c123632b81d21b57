/* call.c - calls of real functions with real values, recorded with templates.
**
** Arguments are turned into real objects and, beside them, into a template that says
** where
** values of the graph go in. Results come back as tracers; their template says what is
** a new
** value, what is a view that is known already, and what has to be the same next time.
*/
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

enum { TENSORS_MAX = 256 };

/* The tracers that take part in a call, in order of appearance. */
typedef struct Operands {
    Tracer *tracers[TENSORS_MAX];
    uint32_t n;
    bool foreign;   /* something a plan could not supply again */
    PyObject *seen; /* of a result: its containers by id, else NULL */
} Operands;

/* -- Arguments to real values ------------------------------------------------------ */

/* Immutable objects that are the same in every call. */
static bool
is_constant(PyObject *object)
{
    return object == Py_None || object == Py_Ellipsis || PyBool_Check(object) ||
           PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
           PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) ||
           PyBytes_CheckExact(object) || PyArray_DescrCheck(object) ||
           PyType_Check(object) || PyCFunction_Check(object) ||
           Py_TYPE(object) == &PyUFunc_Type || Py_TYPE(object) == &PyMethodDescr_Type ||
           PyRange_Check(object) || PyModule_Check(object);
}

static PyObject *build(Trace *trace, PyObject *object, Operands *operands,
                       PyObject **template);

static PyObject *
build_tracer(Trace *trace, Tracer *tracer, Operands *operands, PyObject **template)
{
    if (tracer->kind == TRACER_index) {
        *template = Py_NewRef(trace_index_ask(tracer));
        return Py_NewRef(tracer->object);
    }
    if (tracer->trace == trace && trace->live) {
        if (operands->n == TENSORS_MAX)
            operands->foreign = true;
        else
            operands->tracers[operands->n++] = tracer;
    }
    PyObject *real = tracer_object(tracer);
    if (!real)
        return NULL;
    IrValue value = tracer->trace == trace && trace->live ? tracer_value(tracer) : 0;
    *template = trace_ref_new(trace->state, value);
    return *template ? Py_NewRef(real) : NULL;
}

/* Elements of a tuple or list. */
static PyObject *
build_sequence(Trace *trace, PyObject *object, Operands *operands, PyObject **template)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
    bool tuple = PyTuple_CheckExact(object), changed = !tuple;
    PyObject *real = tuple ? PyTuple_New(n) : PyList_New(n);
    PyObject *shape = tuple ? PyTuple_New(n) : PyList_New(n);
    for (Py_ssize_t i = 0; real && shape && i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(object, i), *part = NULL;
        PyObject *value = build(trace, item, operands, &part);
        if (!value) {
            Py_CLEAR(real);
            break;
        }
        changed |= value != item;
        if (tuple) {
            PyTuple_SET_ITEM(real, i, value);
            PyTuple_SET_ITEM(shape, i, part);
        } else {
            PyList_SET_ITEM(real, i, value);
            PyList_SET_ITEM(shape, i, part);
        }
    }
    if (!real || !shape) {
        Py_XDECREF(real);
        Py_XDECREF(shape);
        return NULL;
    }
    if (!changed) {
        Py_SETREF(real, Py_NewRef(object));
        Py_SETREF(shape, Py_NewRef(object));
    }
    *template = shape;
    return real;
}

static PyObject *
build_dict(Trace *trace, PyObject *object, Operands *operands, PyObject **template)
{
    PyObject *real = PyDict_New(), *shape = PyDict_New(), *key, *item;
    Py_ssize_t at = 0;
    while (real && shape && PyDict_Next(object, &at, &key, &item)) {
        PyObject *part = NULL;
        PyObject *value = build(trace, item, operands, &part);
        if (!is_constant(key))
            operands->foreign = true;
        if (!value || PyDict_SetItem(real, key, value) < 0 ||
            PyDict_SetItem(shape, key, part) < 0) {
            Py_XDECREF(value);
            Py_XDECREF(part);
            Py_CLEAR(real);
            break;
        }
        Py_DECREF(value);
        Py_DECREF(part);
    }
    if (!real || !shape) {
        Py_XDECREF(real);
        Py_XDECREF(shape);
        return NULL;
    }
    *template = shape;
    return real;
}

static PyObject *
build_slice(Trace *trace, PySliceObject *slice, Operands *operands, PyObject **template)
{
    PyObject *parts[3] = {slice->start, slice->stop, slice->step};
    PyObject *real[3] = {NULL}, *shape[3] = {NULL}, *result = NULL;
    for (int i = 0; i < 3; i++) {
        /* Bounds are asked for as integers, so that the slice is the same next time. */
        if (tracer_check(trace->state, parts[i])) {
            real[i] = PyNumber_Index(parts[i]);
            shape[i] = Py_XNewRef(real[i]);
        } else
            real[i] = build(trace, parts[i], operands, &shape[i]);
        if (!real[i])
            goto done;
    }
    result = PySlice_New(real[0], real[1], real[2]);
    if (result)
        *template = PySlice_New(shape[0], shape[1], shape[2]);
    if (result && !*template)
        Py_CLEAR(result);
done:
    for (int i = 0; i < 3; i++) {
        Py_XDECREF(real[i]);
        Py_XDECREF(shape[i]);
    }
    return result;
}

/* A plan makes the containers of a result. It cannot make one that was there before,
 *nor one
 ** that is in two places. */
static void
note_container(Trace *trace, PyObject *object, Operands *operands)
{
    PyObject *id = PyLong_FromVoidPtr(object);
    if (!id || trace_outer_find(trace, object) || PyDict_Contains(operands->seen, id) ||
        PyDict_SetItem(operands->seen, id, Py_None) < 0)
        operands->foreign = true;
    PyErr_Clear();
    Py_XDECREF(id);
}

/* Lists, dicts and sets keep their identity where no template is wanted. */
static PyObject *
build_inside(Trace *trace, PyObject *object, PyObject **template)
{
    if (trace_real_inside(trace->state, object) < 0)
        return NULL;
    *template = Py_NewRef(object);
    return Py_NewRef(object);
}

/* The real object for one that may hold tracers, and its template. */
static PyObject *
build(Trace *trace, PyObject *object, Operands *operands, PyObject **template)
{
    PyObject *result = NULL, *wrapped = NULL;
    if (tracer_check(trace->state, object))
        return build_tracer(trace, (Tracer *)object, operands, template);
    if (is_constant(object)) {
        *template = Py_NewRef(object);
        return Py_NewRef(object);
    }
    bool container = PyList_CheckExact(object) || PyDict_CheckExact(object);
    if (!trace->live && (container || PyAnySet_CheckExact(object)))
        return build_inside(trace, object, template);
    if (Py_EnterRecursiveCall(" while reading the arguments of a call"))
        return NULL;
    if (operands->seen && (container || PyTuple_CheckExact(object)))
        note_container(trace, object, operands);
    if (PyTuple_CheckExact(object) || PyList_CheckExact(object))
        result = build_sequence(trace, object, operands, template);
    else if (PyDict_CheckExact(object))
        result = build_dict(trace, object, operands, template);
    else if (PySlice_Check(object))
        result = build_slice(trace, (PySliceObject *)object, operands, template);
    else {
        wrapped = trace->live ? trace_wrap(trace, object) : Py_NewRef(object);
        if (wrapped && tracer_check(trace->state, wrapped))
            result = build_tracer(trace, (Tracer *)wrapped, operands, template);
        else if (wrapped) {
            operands->foreign = true;
            *template = Py_NewRef(object);
            result = Py_NewRef(object);
        }
        Py_XDECREF(wrapped);
    }
    Py_LeaveRecursiveCall();
    return result;
}

PyObject *
trace_real(TraceState *state, PyObject *object)
{
    Trace dead = {.state = state};
    Operands operands = {.n = 0};
    PyObject *template = NULL;
    PyObject *real = build(&dead, object, &operands, &template);
    Py_XDECREF(template);
    return real;
}

/* Keys are traced numbers now and then. */
static int
dict_real(TraceState *state, PyObject *dict)
{
    PyObject *items = PyDict_Items(dict);
    bool keys = false;
    int status = items ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < PyList_GET_SIZE(items); i++)
        keys |= tracer_check(state, PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 0));
    if (keys)
        PyDict_Clear(dict);
    for (Py_ssize_t i = 0; status == 0 && i < PyList_GET_SIZE(items); i++) {
        PyObject *item = PyList_GET_ITEM(items, i);
        PyObject *key = trace_real(state, PyTuple_GET_ITEM(item, 0));
        PyObject *value = key ? trace_real(state, PyTuple_GET_ITEM(item, 1)) : NULL;
        if (!value)
            status = -1;
        else if (keys || value != PyTuple_GET_ITEM(item, 1))
            status = PyDict_SetItem(dict, key, value);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    Py_XDECREF(items);
    return status;
}

static int
list_real(TraceState *state, PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *real = trace_real(state, PyList_GET_ITEM(list, i));
        if (!real)
            return -1;
        PyList_SetItem(list, i, real);
    }
    return 0;
}

static int
set_real(TraceState *state, PyObject *set)
{
    PyObject *items = PySequence_List(set);
    bool changed = false;
    int status = items ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < PyList_GET_SIZE(items); i++)
        changed |= tracer_check(state, PyList_GET_ITEM(items, i));
    if (changed && PySet_CheckExact(set)) {
        status = list_real(state, items);
        if (status == 0)
            status = PySet_Clear(set);
        for (Py_ssize_t i = 0; status == 0 && i < PyList_GET_SIZE(items); i++)
            status = PySet_Add(set, PyList_GET_ITEM(items, i));
    }
    Py_XDECREF(items);
    return status;
}

/* What a function's cell, or an instance made in this call, holds. */
static int
holder_real(TraceState *state, PyObject *object)
{
    int status = 0;
    if (PyCell_Check(object)) {
        PyObject *value = PyCell_GET(object);
        PyObject *real = value ? trace_real(state, value) : NULL;
        if (real)
            PyCell_Set(object, real);
        Py_XDECREF(real);
        return value && !real ? -1 : 0;
    }
    if (PyFunction_Check(object)) {
        PyObject *cells = PyFunction_GET_CLOSURE(object);
        for (Py_ssize_t i = 0; status == 0 && cells && i < PyTuple_GET_SIZE(cells); i++)
            status = holder_real(state, PyTuple_GET_ITEM(cells, i));
        if (status == 0 && PyFunction_GET_DEFAULTS(object)) {
            PyObject *real = trace_real(state, PyFunction_GET_DEFAULTS(object));
            status = real ? PyFunction_SetDefaults(object, real) : -1;
            Py_XDECREF(real);
        }
        return status;
    }
    PyObject **place = PyType_Check(object) ? NULL : _PyObject_GetDictPtr(object);
    return place && *place ? dict_real(state, *place) : 0;
}

int
trace_real_inside(TraceState *state, PyObject *container)
{
    int status = Py_ReprEnter(container); /* 1: it holds itself */
    if (status)
        return status < 0 ? -1 : 0;
    if (PyList_CheckExact(container))
        status = list_real(state, container);
    else if (PyDict_CheckExact(container))
        status = dict_real(state, container);
    else if (PyAnySet_CheckExact(container))
        status = set_real(state, container);
    else
        status = holder_real(state, container);
    Py_ReprLeave(container);
    return status;
}

/* -- Results ----------------------------------------------------------------------- */

typedef struct Results {
    PyObject *objects[TENSORS_MAX]; /* borrowed from the result */
    TraceRef *refs[TENSORS_MAX];    /* their templates: values are filled in later */
    uint32_t n;
    bool compares, foreign;
} Results;

/* The lowest and highest byte of an array's elements. */
static void
extent(PyArrayObject *array, const char **low, const char **high)
{
    const char *lo = PyArray_BYTES(array), *hi = lo + PyArray_ITEMSIZE(array);
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        npy_intp reach = (PyArray_DIM(array, i) - 1) * PyArray_STRIDE(array, i);
        if (PyArray_DIM(array, i) == 0) {
            *low = *high = lo;
            return;
        }
        if (reach < 0)
            lo += reach;
        else
            hi += reach;
    }
    *low = lo;
    *high = hi;
}

bool
trace_overlap(PyArrayObject *a, PyArrayObject *b)
{
    const char *low[2], *high[2];
    extent(a, &low[0], &high[0]);
    extent(b, &low[1], &high[1]);
    return low[0] < high[1] && low[1] < high[0];
}

/* A tracer for an array that lies in an operand's memory, or NULL (no exception). */
static Tracer *
as_view(Trace *trace, PyArrayObject *array, const Operands *operands)
{
    const char *low, *high, *from, *to;
    extent(array, &low, &high);
    if (low == high)
        return NULL;
    for (uint32_t i = 0; i < operands->n; i++) {
        Tracer *operand = operands->tracers[i];
        if (operand->kind != TRACER_array)
            continue;
        if (operand->object == (PyObject *)array)
            return (Tracer *)Py_NewRef(operand);
        PyArrayObject *memory = trace->values[operand->storage->value].array;
        extent(memory, &from, &to);
        if (low < from || high > to)
            continue;
        operand->storage->owned = true;
        Tracer *view = tracer_new_view(trace, operand->storage, array,
                                       PyArray_BYTES(array) - PyArray_BYTES(memory));
        if (view)
            memcpy(view->steps, operand->steps, sizeof view->steps);
        return view;
    }
    return NULL;
}

static PyObject *wrap(Trace *trace, PyObject *object, const Operands *operands,
                      Results *results, PyObject **template);

/* A new value: its tracer is made once the node is there. */
static PyObject *
wrap_new(Trace *trace, PyObject *object, Results *results, PyObject **template)
{
    if (results->n == TENSORS_MAX) {
        results->foreign = true;
        *template = Py_NewRef(object);
        return Py_NewRef(object);
    }
    PyObject *ref = trace_ref_new(trace->state, 0);
    if (!ref)
        return NULL;
    results->objects[results->n] = object;
    results->refs[results->n++] = (TraceRef *)ref;
    *template = ref;
    return Py_NewRef(object);
}

static PyObject *
wrap_sequence(Trace *trace, PyObject *object, const Operands *operands,
              Results *results, PyObject **template)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
    bool tuple = PyTuple_CheckExact(object);
    PyObject *value = tuple ? PyTuple_New(n) : PyList_New(n);
    PyObject *shape = tuple ? PyTuple_New(n) : PyList_New(n);
    for (Py_ssize_t i = 0; value && shape && i < n; i++) {
        PyObject *part = NULL;
        PyObject *item =
            wrap(trace, PySequence_Fast_GET_ITEM(object, i), operands, results, &part);
        if (!item) {
            Py_CLEAR(value);
            break;
        }
        if (tuple) {
            PyTuple_SET_ITEM(value, i, item);
            PyTuple_SET_ITEM(shape, i, part);
        } else {
            PyList_SET_ITEM(value, i, item);
            PyList_SET_ITEM(shape, i, part);
        }
    }
    if (!value || !shape) {
        Py_XDECREF(value);
        Py_XDECREF(shape);
        return NULL;
    }
    *template = shape;
    return value;
}

/* Results as tracers where they are known already, as themselves where they are new. */
static PyObject *
wrap(Trace *trace, PyObject *object, const Operands *operands, Results *results,
     PyObject **template)
{
    if (PyArray_CheckExact(object)) {
        Tracer *view = as_view(trace, (PyArrayObject *)object, operands);
        if (view) {
            *template = Py_NewRef(trace->state->skip);
            return (PyObject *)view;
        }
        if (PyErr_Occurred())
            return NULL;
        PyArrayObject *array = (PyArrayObject *)object;
        if (PyArray_BASE(array) && PyArray_NDIM(array) > 0 &&
            PyDataType_REFCHK(PyArray_DESCR(array)))
            results->foreign = true;
        return wrap_new(trace, object, results, template);
    }
    bool number = PyArray_IsScalar(object, Number) || PyArray_IsScalar(object, Bool);
    if ((number || PyFloat_CheckExact(object)) && !trace->asking)
        return wrap_new(trace, object, results, template);
    if (PyTuple_CheckExact(object) || PyList_CheckExact(object))
        return wrap_sequence(trace, object, operands, results, template);
    if (is_constant(object) || (number && trace->asking)) {
        if (object != Py_None && object != Py_NotImplemented)
            results->compares = true;
    } else
        results->foreign = true;
    *template = Py_NewRef(object);
    return Py_NewRef(object);
}

/* Replaces the new objects in a wrapped result by their tracers. */
static PyObject *
put_tracers(PyObject *object, const Results *results, PyObject *const *tracers)
{
    for (uint32_t i = 0; i < results->n; i++) {
        if (results->objects[i] == object)
            return Py_NewRef(tracers[i]);
    }
    if (!PyTuple_CheckExact(object) && !PyList_CheckExact(object))
        return Py_NewRef(object);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
    PyObject *copy = PyTuple_CheckExact(object) ? PyTuple_New(n) : PyList_New(n);
    for (Py_ssize_t i = 0; copy && i < n; i++) {
        PyObject *item =
            put_tracers(PySequence_Fast_GET_ITEM(object, i), results, tracers);
        if (!item) {
            Py_CLEAR(copy);
            break;
        }
        if (PyTuple_CheckExact(object))
            PyTuple_SET_ITEM(copy, i, item);
        else
            PyList_SET_ITEM(copy, i, item);
    }
    return copy;
}

/* -- Recording --------------------------------------------------------------------- */

static IrType
result_type(PyObject *object, IrDim *dims)
{
    if (PyArray_CheckExact(object)) {
        PyArrayObject *array = (PyArrayObject *)object;
        return trace_ir_type(PyArray_DESCR(array), PyArray_NDIM(array),
                             PyArray_DIMS(array), dims);
    }
    if (PyFloat_CheckExact(object))
        return (IrType){.dtype = DT_pyfloat};
    PyArray_Descr *descr = PyArray_DescrFromScalar(object);
    IrType type = trace_ir_type(descr, 0, NULL, dims);
    Py_DECREF(descr);
    return type;
}

static const char *
callable_name(PyObject *callable, char *buffer, size_t n)
{
    PyObject *name = PyObject_GetAttrString(callable, "__name__");
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    snprintf(buffer, n, "%s", text ? text : Py_TYPE(callable)->tp_name);
    PyErr_Clear();
    Py_XDECREF(name);
    return buffer;
}

/* The call's node: new results first, then new versions of what it writes. */
static IrNode
call_node(Trace *trace, PyObject *callable, const Operands *operands,
          const Results *results, uint32_t mutates, uint32_t site)
{
    IrValue values[TENSORS_MAX];
    IrType types[2 * TENSORS_MAX];
    IrDim(*dims)[NPY_MAXDIMS] = PyMem_Malloc((results->n + 1) * sizeof *dims);
    int64_t number = site, updates[32];
    uint32_t ntypes = 0, nupdates = 0;
    char name[64];
    IrNode node = 0;
    if (!dims)
        return 0;
    for (uint32_t i = 0; i < operands->n; i++)
        values[i] = tracer_value(operands->tracers[i]);
    for (uint32_t i = 0; i < results->n; i++)
        types[ntypes++] = result_type(results->objects[i], dims[i]);
    IrValue all[2 * TENSORS_MAX];
    uint32_t nall = operands->n;
    memcpy(all, values, operands->n * sizeof(IrValue));
    for (uint32_t i = 0; i < operands->n && i < 32; i++) {
        if (!(mutates & 1u << i))
            continue;
        /* The storage's version goes in, the next one comes out. */
        IrValue base = operands->tracers[i]->storage->value;
        updates[nupdates++] = nall;
        all[nall++] = base;
        types[ntypes++] = ir_type(trace->graph, base);
    }
    IrAttr attrs[3] = {
        {.key = "name",
         .kind = ATTR_text,
         .text = callable_name(callable, name, sizeof name)},
        {.key = "site", .kind = ATTR_ints, .count = 1, .ints = &number},
        {.key = "updates", .kind = ATTR_ints, .count = nupdates, .ints = updates},
    };
    IrOp op = nupdates ? OP_call_update : results->compares ? OP_effect : OP_call;
    node = ir_node_typed(trace->graph, op, all, nall, attrs, nupdates ? 3 : 2, types,
                         ntypes);
    PyMem_Free(dims);
    return node;
}

static IrNode
reduction(Trace *trace, PyObject *callable, PyObject *args, PyObject *kwargs,
          const Operands *operands, const Results *results)
{
    IrDim dims[NPY_MAXDIMS];
    IrType type = result_type(results->objects[0], dims);
    return trace_reduction_node(trace, callable, args, kwargs, operands->tracers[0],
                                &type);
}

/* Tracers for the new results, their templates' values filled in. */
static PyObject *
results_finish(Trace *trace, PyObject *wrapped, Results *results, IrNode node)
{
    PyObject *tracers[TENSORS_MAX] = {NULL}, *answer = NULL;
    uint32_t i;
    for (i = 0; i < results->n; i++) {
        PyObject *object = results->objects[i];
        IrValue value = ir_result(trace->graph, node, i);
        results->refs[i]->value = value;
        if (!value)
            goto done;
        if (PyArray_CheckExact(object))
            tracers[i] =
                (PyObject *)tracer_new_array(trace, value, (PyArrayObject *)object, -1);
        else
            tracers[i] = (PyObject *)tracer_new_scalar(trace, value, object);
        if (!tracers[i])
            goto done;
    }
    answer = put_tracers(wrapped, results, tracers);
done:
    for (i = 0; i < results->n; i++)
        Py_XDECREF(tracers[i]);
    if (!answer && !PyErr_Occurred()) {
        trace_end(trace, BAIL_graph, NULL);
        answer = Py_NewRef(wrapped);
    }
    return answer;
}

/* A subscript with an array of bools in it selects as many elements as are true. */
static bool
selects_by_mask(const Operands *operands)
{
    for (uint32_t i = 1; i < operands->n; i++) {
        if (operands->tracers[i]->descr->type_num == NPY_BOOL)
            return true;
    }
    return false;
}

/* What other values of the operands may do to a call. */
typedef enum Tameness {
    TAME_fixed = 1,  /* the results keep their types and shapes */
    TAME_silent = 2, /* it never raises */
} Tameness;

static unsigned
tameness_of_operator(int id, const Operands *operands)
{
    bool divides = id == OPERATOR_truediv || id == OPERATOR_floordiv ||
                   id == OPERATOR_mod || id == OPERATOR_pow;
    for (uint32_t i = 0; divides && i < operands->n; i++) {
        if (operands->tracers[i]->kind == TRACER_float)
            return TAME_fixed; /* Python's ZeroDivisionError */
    }
    return TAME_fixed | TAME_silent;
}

static unsigned
tameness(const TraceState *state, PyObject *callable, const Operands *operands)
{
    if (callable == state->getitem)
        return selects_by_mask(operands) ? 0
               : operands->n > 1         ? TAME_fixed
                                         : TAME_fixed | TAME_silent;
    if (Py_TYPE(callable) == &PyUFunc_Type || callable == state->getattr)
        return TAME_fixed | TAME_silent;
    if (PyCFunction_Check(callable) && PyCFunction_GET_SELF(callable) &&
        Py_TYPE(PyCFunction_GET_SELF(callable)) == &PyUFunc_Type)
        return TAME_fixed | TAME_silent;
    for (int i = 0; i < OPERATOR_COUNT; i++) {
        if (state->operators[i] == callable)
            return tameness_of_operator(i, operands);
    }
    for (uint32_t i = 0; i < operands->n; i++) {
        const Tracer *operand = operands->tracers[i];
        if (operand->kind == TRACER_scalar &&
            PyTypeNum_ISINTEGER(operand->descr->type_num))
            return 0; /* it may be a count */
    }
    PyObject *name = PyObject_GetAttrString(callable, "__name__");
    PyObject *row = name ? PyDict_GetItemWithError(state->fixed, name) : NULL;
    unsigned tame = row ? (unsigned)PyLong_AsLong(row) : 0;
    PyErr_Clear();
    /* np.where with one argument is nonzero. */
    if (operands->n == 1 && name &&
        PyUnicode_CompareWithASCIIString(name, "where") == 0)
        tame = 0;
    Py_XDECREF(name);
    return tame;
}

PyObject *
trace_fixed_names(void)
{
    static const struct {
        const char *name;
        unsigned tame;
    } rows[] = {
#define FIXED(name)  {#name, TAME_fixed | TAME_silent},
#define RAISES(name) {#name, TAME_fixed},
#include "trace/fixed.def"
#undef FIXED
#undef RAISES
    };
    PyObject *names = PyDict_New();
    for (size_t i = 0; names && i < sizeof rows / sizeof *rows; i++) {
        PyObject *tame = PyLong_FromUnsignedLong(rows[i].tame);
        if (!tame || PyDict_SetItemString(names, rows[i].name, tame) < 0)
            Py_CLEAR(names);
        Py_XDECREF(tame);
    }
    return names;
}

/* After the real call: site, node and tracers. Steals nothing. */
static PyObject *
record_call(Trace *trace, PyObject *callable, PyObject *args, PyObject *kwargs,
            PyObject *result, const Operands *operands, uint32_t mutates)
{
    Results *results = PyMem_Calloc(1, sizeof *results);
    PyObject *template = NULL, *wrapped = NULL, *answer = NULL;
    IrNode node = 0;
    if (!results)
        return PyErr_NoMemory();
    wrapped = wrap(trace, result, operands, results, &template);
    if (!wrapped)
        goto done;
    if (results->foreign) {
        trace_end(trace, BAIL_unknown_result, callable);
        answer = Py_NewRef(result);
        goto done;
    }
    if (results->n == 0 && !results->compares && !mutates) {
        answer = Py_NewRef(wrapped); /* nothing but views: no need to call again */
        goto done;
    }
    unsigned tame = tameness(trace->state, callable, operands);
    bool may_differ = results->compares || !(tame & TAME_fixed);
    trace->blockers += may_differ;
    may_differ |= !(tame & TAME_silent);
    trace->guard_after_write |= may_differ && trace->wrote;
    if (results->compares && trace->effects)
        trace->guard_after_effect = true;
    TraceSite *site = trace_site_add(trace, SITE_call);
    if (!site)
        goto done;
    site->callable = Py_NewRef(callable);
    site->args = Py_NewRef(args);
    site->kwargs = Py_XNewRef(kwargs);
    site->result = Py_NewRef(template);
    site->compares = results->compares;
    site->raises = !(tame & TAME_silent) && operands->n;
    if (operands->n == 1 && results->n == 1 && !mutates && !results->compares)
        node = reduction(trace, callable, args, kwargs, operands, results);
    if (!node)
        node =
            call_node(trace, callable, operands, results, mutates, trace->nsites - 1);
    site->node = node;
    if (!node) {
        trace_end(trace, BAIL_graph, NULL);
        answer = Py_NewRef(result);
        goto done;
    }
    uint32_t version = results->n;
    for (uint32_t i = 0; i < operands->n && i < 32; i++) {
        if (mutates & 1u << i)
            trace_write_end(operands->tracers[i],
                            ir_result(trace->graph, node, version++));
    }
    answer = results_finish(trace, wrapped, results, node);
    if (++trace->nops > TRACE_OPS_MAX)
        trace_end(trace, BAIL_too_long, NULL);
done:
    Py_XDECREF(wrapped);
    Py_XDECREF(template);
    PyMem_Free(results);
    return answer;
}

/* Which of the operands (in order of appearance) the arguments in `mutates` are. */
static int
mutated_operands(Trace *trace, const Operands *operands, PyObject *const *args,
                 size_t nargs, uint32_t mutates, uint32_t *mask)
{
    *mask = 0;
    for (size_t i = 0; i < nargs && i < 32; i++) {
        if (!(mutates & 1u << i))
            continue;
        if (!tracer_check(trace->state, args[i]) && PyArray_Check(args[i]))
            return -1; /* written, but not a variable of this trace */
        for (uint32_t k = 0; k < operands->n; k++) {
            if ((PyObject *)operands->tracers[k] != args[i])
                continue;
            if (k >= 32)
                return -1;
            if (operands->tracers[k]->kind ==
                TRACER_array) /* scalars are never written */
                *mask |= 1u << k;
            break;
        }
    }
    return 0;
}

/* Computes what would change under the call, before its arguments become real. */
static int
prepare_writes(Trace *trace, PyObject *const *args, size_t nargs, uint32_t mutates)
{
    for (size_t i = 0; i < nargs && i < 32; i++) {
        if (!(mutates & 1u << i))
            continue;
        if (!tracer_check(trace->state, args[i])) {
            if (trace_force_all(trace) < 0)
                return -1;
            continue;
        }
        Tracer *tracer = (Tracer *)args[i];
        if (tracer->kind != TRACER_array)
            continue;
        if (trace->live && trace->overlap && tracer->storage->param >= 0)
            trace_end(trace, BAIL_overlap, NULL);
        if (!tracer_object(tracer) || trace_write_begin(tracer) < 0)
            return -1;
    }
    return 0;
}

PyObject *
trace_call(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
           PyObject *kwnames, uint32_t mutates)
{
    Operands *operands = PyMem_Calloc(1, sizeof *operands);
    PyObject *result = NULL, *answer = NULL, *reals = NULL, *shape = NULL;
    PyObject *kwreals = NULL, *kwshape = NULL;
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    uint32_t mask = 0;

    if (!operands)
        return PyErr_NoMemory();
    if (mutates && prepare_writes(trace, args, nargs + (size_t)nkw, mutates) < 0)
        goto done;
    reals = PyTuple_New((Py_ssize_t)nargs);
    shape = PyTuple_New((Py_ssize_t)nargs);
    if (!reals || !shape)
        goto done;
    for (size_t i = 0; i < nargs; i++) {
        PyObject *part = NULL, *real = build(trace, args[i], operands, &part);
        if (!real)
            goto done;
        PyTuple_SET_ITEM(reals, (Py_ssize_t)i, real);
        PyTuple_SET_ITEM(shape, (Py_ssize_t)i, part);
    }
    if (nkw) {
        kwreals = PyDict_New();
        kwshape = PyDict_New();
        for (Py_ssize_t i = 0; kwreals && kwshape && i < nkw; i++) {
            PyObject *part = NULL,
                     *real = build(trace, args[nargs + (size_t)i], operands, &part);
            PyObject *key = PyTuple_GET_ITEM(kwnames, i);
            int bad = !real || PyDict_SetItem(kwreals, key, real) < 0 ||
                      PyDict_SetItem(kwshape, key, part) < 0;
            Py_XDECREF(real);
            Py_XDECREF(part);
            if (bad)
                goto done;
        }
    }
    if (trace->live && operands->foreign)
        trace_end(trace, BAIL_unknown_constant, callable);
    result = PyObject_Call(callable, reals, kwreals);
    if (!result) {
        trace->blockers++; /* other turns may not raise */
        goto done;
    }
    if (!trace->live) {
        answer = Py_NewRef(result);
        goto done;
    }
    if (mutated_operands(trace, operands, args, nargs + (size_t)nkw, mutates, &mask) <
        0) {
        trace_end(trace, BAIL_unknown_constant, callable);
        answer = Py_NewRef(result);
        goto done;
    }
    answer = record_call(trace, callable, shape, kwshape, result, operands, mask);
done:
    Py_XDECREF(result);
    Py_XDECREF(reals);
    Py_XDECREF(shape);
    Py_XDECREF(kwreals);
    Py_XDECREF(kwshape);
    PyMem_Free(operands);
    return answer;
}

/* -- The result of the function ---------------------------------------------------- */

PyObject *
trace_result_template(Trace *trace, PyObject *result, PyObject **real)
{
    Operands *operands = PyMem_Calloc(1, sizeof *operands);
    PyObject *template = NULL;
    if (!operands)
        return PyErr_NoMemory();
    operands->seen = PyDict_New();
    if (operands->seen)
        *real = build(trace, result, operands, &template);
    if (*real && trace->live && operands->foreign) {
        trace_end(trace, BAIL_unknown_result, (PyObject *)Py_TYPE(result));
        Py_SETREF(*real,
                  trace_real(trace->state, result)); /* its containers themselves */
    }
    if (!*real)
        Py_CLEAR(template);
    Py_XDECREF(operands->seen);
    PyMem_Free(operands);
    return template;
}
