/* results.c - results of calls: what is new, what is a view, what has to be the same. */
#include <stdlib.h>
#include <string.h>

#include "trace/call.h"

/* -- Results ----------------------------------------------------------------------- */

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

/* True if two elements of the array may be in one place, as in windows made by as_strided. */
bool
trace_overlaps_itself(PyArrayObject *array)
{
    npy_intp stride[NPY_MAXDIMS], extent[NPY_MAXDIMS], reach = PyArray_ITEMSIZE(array);
    int n = 0;
    for (int d = 0; d < PyArray_NDIM(array); d++) {
        npy_intp step = Py_ABS(PyArray_STRIDE(array, d));
        int place = n;
        if (PyArray_DIM(array, d) == 0)
            return false;
        if (PyArray_DIM(array, d) == 1)
            continue;
        for (; place > 0 && stride[place - 1] > step; place--) {
            stride[place] = stride[place - 1];
            extent[place] = extent[place - 1];
        }
        stride[place] = step;
        extent[place] = step * (PyArray_DIM(array, d) - 1);
        n++;
    }
    for (int i = 0; i < n; i++) {
        if (stride[i] < reach)
            return true;
        reach += extent[i];
    }
    return false;
}

/* The same of an array without elements: its base tells whose view it is. */
static Tracer *
empty_view(Trace *trace, PyArrayObject *array, const Operands *operands,
           Results *results)
{
    PyObject *base = PyArray_BASE(array);
    for (uint32_t i = 0; i < operands->n; i++) {
        if (operands->tracers[i]->object == (PyObject *)array) {
            results->viewed[i] = results->views = true;
            return (Tracer *)Py_NewRef(operands->tracers[i]);
        }
    }
    for (uint32_t i = 0; base && i < operands->n; i++) {
        Tracer *operand = operands->tracers[i];
        if (operand->kind != TRACER_array || !operand->object ||
            (base != operand->object &&
             base != PyArray_BASE((PyArrayObject *)operand->object)))
            continue;
        PyArrayObject *memory = trace->values[operand->storage->value].array;
        results->viewed[i] = results->views = true;
        operand->storage->owned = true;
        return tracer_new_view(trace, operand->storage, array,
                               PyArray_BYTES(array) - PyArray_BYTES(memory));
    }
    trace->blockers += base != NULL;
    return NULL;
}

/* A tracer for an array that lies in an operand's memory, or NULL (no exception). */
static Tracer *
as_view(Trace *trace, PyArrayObject *array, const Operands *operands, Results *results)
{
    const char *low, *high, *from, *to;
    extent(array, &low, &high);
    if (low == high)
        return empty_view(trace, array, operands, results);
    for (uint32_t i = 0; i < operands->n; i++) {
        Tracer *operand = operands->tracers[i];
        if (operand->kind != TRACER_array)
            continue;
        if (operand->object == (PyObject *)array) {
            results->viewed[i] = results->views = true;
            return (Tracer *)Py_NewRef(operand);
        }
        PyArrayObject *memory = trace->values[operand->storage->value].array;
        extent(memory, &from, &to);
        if (low < from || high > to)
            continue;
        results->viewed[i] = results->views = true;
        operand->storage->owned = true;
        Tracer *view = tracer_new_view(trace, operand->storage, array,
                                       PyArray_BYTES(array) - PyArray_BYTES(memory));
        if (view)
            memcpy(view->steps, operand->steps, sizeof view->steps);
        if (view)
            view->moved = operand->moved;
        return view;
    }
    return NULL;
}

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
    bool tuple = trace_is_tuple(object);
    PyObject *value = tuple ? trace_tuple_like(object, n) : PyList_New(n);
    PyObject *shape = tuple ? trace_tuple_like(object, n) : PyList_New(n);
    for (Py_ssize_t i = 0; value && shape && i < n; i++) {
        PyObject *part = NULL;
        PyObject *item = trace_wrap_result(trace, PySequence_Fast_GET_ITEM(object, i),
                                           operands, results, &part);
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

/* True of sequences without items, or of nothing but None: only their length says something, and
** it may be another one next time. */
static bool
says_its_length(PyObject *sequence)
{
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(sequence, i);
        if (item != Py_None && item != Py_NotImplemented)
            return false;
    }
    return true;
}

/* Results as tracers where they are known already, as themselves where they are new. */
PyObject *
trace_wrap_result(Trace *trace, PyObject *object, const Operands *operands,
                  Results *results, PyObject **template)
{
    if (PyArray_CheckExact(object)) {
        Tracer *view = as_view(trace, (PyArrayObject *)object, operands, results);
        if (view) {
            *template = Py_NewRef(trace->state->skip);
            return (PyObject *)view;
        }
        if (PyErr_Occurred())
            return NULL;
        PyArrayObject *array = (PyArrayObject *)object;
        if (PyDataType_REFCHK(PyArray_DESCR(array)))
            results->foreign = true; /* arrays of this call may be in it */
        return wrap_new(trace, object, results, template);
    }
    bool number = PyArray_IsScalar(object, Number) || PyArray_IsScalar(object, Bool);
    if ((number || PyFloat_CheckExact(object) || PyComplex_CheckExact(object)) &&
        !trace->asking)
        return wrap_new(trace, object, results, template);
    bool varies = operands->has_int || operands->opaque;
    if (PyLong_CheckExact(object) && varies && !trace->asking)
        return wrap_new(trace, object, results, template);
    if (PyList_CheckExact(object) && operands->opaque) /* it may be someone's */
        results->foreign = true;
    if (trace_is_tuple(object) || PyList_CheckExact(object)) {
        results->compares |= says_its_length(object);
        return wrap_sequence(trace, object, operands, results, template);
    }
    if (operands->effect && !operands->opaque && trace_is_source(trace, object) &&
        !trace_outside_find(trace, object))
        return wrap_new(trace, object, results,
                        template); /* a generator of random numbers */
    if (trace_is_constant(object) || (number && trace->asking)) {
        if (object != Py_None && object != Py_NotImplemented)
            results->compares = true;
    } else
        results->foreign = true;
    *template = Py_NewRef(object);
    return Py_NewRef(object);
}

/* Replaces the new objects in a wrapped result by their tracers. */
PyObject *
trace_put_tracers(PyObject *object, Results *results, PyObject *const *tracers)
{
    for (uint32_t i = 0; i < results->n; i++) {
        if (results->objects[i] != object || results->put[i])
            continue;
        /* Of equal numbers that are one object each is a result of its own. */
        results->put[i] = !PyArray_Check(object);
        return Py_NewRef(tracers[i]);
    }
    bool tuple = trace_is_tuple(object);
    if (!tuple && !PyList_CheckExact(object))
        return Py_NewRef(object);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
    PyObject *copy = tuple ? trace_tuple_like(object, n) : PyList_New(n);
    for (Py_ssize_t i = 0; copy && i < n; i++) {
        PyObject *item =
            trace_put_tracers(PySequence_Fast_GET_ITEM(object, i), results, tracers);
        if (!item) {
            Py_CLEAR(copy);
            break;
        }
        if (tuple)
            PyTuple_SET_ITEM(copy, i, item);
        else
            PyList_SET_ITEM(copy, i, item);
    }
    return copy;
}
