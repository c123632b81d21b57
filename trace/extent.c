/* extent.c - numbers that follow from the extents of the arguments: by what a mean is divided.
**
** Such a number is a node `count` whose attributes say how it comes about, not a constant: a plan for other
** extents has another (jit/resize.c, refit.c), and kernels take it as an operand. Law: each extent of the array that
** is not 1 is one of an argument, and of no captured array. Which of these are equal is the same for all extents
** that a plan is made for again, so any argument of the same extent may stand for it.
*/
#include "trace/internal.h"

enum { PLACES_MAX = 2 * NPY_MAXDIMS };

/* The parameter from `first` to `end` and its axis that have this extent. */
static bool
find_extent(const Trace *trace, uint32_t first, uint32_t end, npy_intp extent,
            int64_t place[2])
{
    for (uint32_t i = first; i < end; i++) {
        IrType type = ir_type(trace->graph, trace->params[i].value);
        for (uint32_t d = 0; d < type.ndim; d++) {
            if (type.dims[d].kind == DIM_integer && type.dims[d].value == extent) {
                place[0] = i;
                place[1] = d;
                return true;
            }
        }
    }
    return false;
}

static npy_intp
whole(const IrGraph *g, IrNode node, const char *key)
{
    return (npy_intp)ir_node_int(g, node, key, 0);
}

npy_intp
trace_extents_count(const IrGraph *g, IrNode node, const TraceSizes *sizes)
{
    const IrAttr *places = ir_node_attr(g, node, "places");
    npy_intp count = 1;
    for (uint32_t i = 0; places && i + 1 < places->count; i += 2) {
        PyObject *param = places->ints[i] < (int64_t)sizes->nparams
                              ? sizes->params[places->ints[i]]
                              : NULL;
        if (!param || !PyArray_Check(param) ||
            PyArray_NDIM((PyArrayObject *)param) <= places->ints[i + 1])
            return 0;
        count *= PyArray_DIM((PyArrayObject *)param, (int)places->ints[i + 1]);
    }
    count -= whole(g, node, "less");
    return count > 0 && count <= whole(g, node, "most") ? count : 0;
}

bool
trace_extents_fill(PyArrayObject *array, npy_intp count)
{
    PyObject *number = PyLong_FromSsize_t(count);
    bool filled = number && PyArray_SETITEM(array, PyArray_BYTES(array), number) == 0;
    Py_XDECREF(number);
    return filled;
}

bool
trace_extents_set(Trace *trace, IrValue value, PyArray_Descr *descr, npy_intp count)
{
    TraceValue *v = trace_value(trace, value);
    if (!v || v->array)
        return v != NULL;
    PyObject *array = PyArray_Zeros(0, NULL, (PyArray_Descr *)Py_NewRef(descr), 0);
    if (array && trace_extents_fill((PyArrayObject *)array, count))
        v->scalar = PyArray_Scalar(PyArray_DATA((PyArrayObject *)array), descr, NULL);
    if (!v->scalar) {
        Py_XDECREF(array);
        PyErr_Clear();
        return false;
    }
    v->array = (PyArrayObject *)array;
    v->descr = (PyArray_Descr *)Py_NewRef(descr);
    v->refs = 1; /* it stays, as constants do */
    return true;
}

Tracer *
trace_extents_number(const Tracer *x, const bool *axes, npy_intp less, npy_intp most,
                     int type)
{
    Trace *trace = x->trace;
    int64_t places[PLACES_MAX], other[2], count = 1, low = less, high = most;
    uint32_t n = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (!axes[d] || x->shape[d] == 1)
            continue;
        if (!find_extent(trace, 0, trace->narguments, x->shape[d], places + n) ||
            find_extent(trace, trace->narguments, trace->nparams, x->shape[d], other))
            return NULL;
        count *= x->shape[d];
        n += 2;
    }
    count -= less;
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    IrType result = trace_ir_type(descr, 0, NULL, NULL);
    IrAttr attrs[] = {
        {.key = "value", .kind = ATTR_ints, .count = 1, .ints = &count},
        {.key = "places", .kind = ATTR_ints, .count = n, .ints = places},
        {.key = "less", .kind = ATTR_ints, .count = 1, .ints = &low},
        {.key = "most", .kind = ATTR_ints, .count = 1, .ints = &high},
    };
    IrNode node =
        n ? ir_node_typed(trace->graph, OP_count, NULL, 0, attrs, 4, &result, 1) : 0;
    IrValue value = node ? ir_result(trace->graph, node, 0) : 0;
    Tracer *tracer = NULL;
    if (value && trace_extents_set(trace, value, descr, count))
        tracer = tracer_new_scalar(trace, value, trace->values[value].scalar);
    Py_DECREF(descr);
    PyErr_Clear();
    return tracer;
}
