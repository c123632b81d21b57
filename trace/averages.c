/* averages.c - numpy.average.
**
**     average(x, axis)             mean(x, axis)
**     average(x, axis, weights=w)  sum(x * w, axis) / sum(w, axis), w of x's shape, or one number for each place on the
**                                  axis; integers as float64
**
** Law 1: as in several.c: whether weights add to zero, which raises, is asked.
*/
#include <string.h>

#include "trace/composed.h"
#include "trace/options.h"

static PyObject *
not_here(void)
{
    return Py_NewRef(Py_NotImplemented);
}

/* The array as float64 if it is of integers or bools; else itself. New reference. */
static PyObject *
as_floats(Trace *trace, Tracer *x)
{
    int type = x->descr->type_num;
    if (!PyTypeNum_ISINTEGER(type) && type != NPY_BOOL)
        return Py_NewRef(x);
    PyArray_Descr *descr = PyArray_DescrFromType(NPY_DOUBLE);
    PyObject *floats = trace_astype(trace, x, descr);
    Py_DECREF(descr);
    return floats;
}

/* Weights of one axis among the others. */
static PyObject *
along_axis(PyObject *weights, int ndim, int axis)
{
    PyObject *key = PyTuple_New(ndim), *result = NULL;
    for (int d = 0; key && d < ndim; d++)
        PyTuple_SET_ITEM(
            key, d, d == axis ? PySlice_New(NULL, NULL, NULL) : Py_NewRef(Py_None));
    if (key && !PyErr_Occurred())
        result = PyObject_GetItem(weights, key);
    Py_XDECREF(key);
    return result;
}

/* Weights of x's dtype, with as many axes. New reference, or Py_NotImplemented. */
static PyObject *
weights_of(Trace *trace, const Tracer *x, PyObject *given, const Said *said)
{
    PyObject *weights = Py_NewRef(given), *result;
    int axis;
    if (PyList_CheckExact(given) || PyTuple_CheckExact(given))
        Py_SETREF(weights, trace_call_named(trace, "asarray", given, NULL, NULL));
    if (!weights || !trace_is_reducible(trace, weights)) {
        Py_XDECREF(weights);
        return PyErr_Occurred() ? NULL : not_here();
    }
    result = as_floats(trace, (Tracer *)weights);
    Py_DECREF(weights);
    if (!result || result == Py_NotImplemented)
        return result;
    Tracer *w = (Tracer *)result;
    bool same = w->ndim == x->ndim &&
                memcmp(w->shape, x->shape, (size_t)x->ndim * sizeof *x->shape) == 0;
    bool line = !same && w->ndim == 1 && said->axis &&
                trace_axis(said->axis, x->ndim, &axis) && w->shape[0] == x->shape[axis];
    if (w->descr->type_num != x->descr->type_num || !(same || line)) {
        Py_DECREF(result);
        return not_here();
    }
    if (line)
        Py_SETREF(result, along_axis(result, x->ndim, axis));
    return result;
}

static PyObject *
total(Trace *trace, PyObject *x, const Said *said)
{
    PyObject *result = x ? trace_said_reduce(trace, "sum", x, said) : NULL;
    Py_XDECREF(x);
    return result;
}

/* (average, weight of each), as np.broadcast_to(weight, average.shape).copy(). Both are given away. */
static PyObject *
with_weight(Trace *trace, PyObject *average, PyObject *scale)
{
    bool array =
        average && tracer_check(trace->state, average) && ((Tracer *)average)->ndim > 0;
    PyObject *result = NULL;
    if (array && scale) {
        PyObject *any = trace_call_named(trace, "isnan", average, NULL, NULL);
        PyObject *parts[3] = {any, scale, scale};
        Py_SETREF(scale, any ? trace_select(trace, parts) : NULL);
        Py_XDECREF(any);
    }
    if (average && scale)
        result =
            scale == Py_NotImplemented ? not_here() : PyTuple_Pack(2, average, scale);
    Py_XDECREF(average);
    Py_XDECREF(scale);
    return result;
}

static PyObject *
weighted(Trace *trace, PyObject *x, PyObject *given, const Said *said, bool returned)
{
    PyObject *weights = weights_of(trace, (Tracer *)x, given, said), *result = NULL;
    if (!weights || weights == Py_NotImplemented)
        return weights;
    PyObject *scale = trace_said_reduce(trace, "sum", weights, said);
    PyObject *zero = scale ? PyFloat_FromDouble(0) : NULL;
    int none =
        zero ? trace_any(trace, trace_call_named(trace, "equal", scale, zero, NULL))
             : -1;
    if (none == 0)
        result = trace_joined(
            trace, "divide",
            total(trace, trace_call_named(trace, "multiply", x, weights, NULL), said),
            Py_NewRef(scale));
    else if (none > 0)
        result = not_here();
    if (returned && result && result != Py_NotImplemented)
        result = with_weight(trace, result, Py_NewRef(scale));
    Py_DECREF(weights);
    Py_XDECREF(scale);
    Py_XDECREF(zero);
    return result;
}

PyObject *
trace_average(Trace *trace, PyObject *const *args, size_t nargs, PyObject *kwnames)
{
    Said said = {.other = false};
    bool returned = false;
    PyObject *names[3], *values[3], *weights = nargs > 2 ? args[2] : NULL, *kept;
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0, n = 0;
    if (nargs > 3)
        return not_here();
    for (Py_ssize_t i = 0; i < nkw; i++) {
        PyObject *key = PyTuple_GET_ITEM(kwnames, i), *value = args[nargs + (size_t)i];
        if (PyUnicode_CompareWithASCIIString(key, "weights") == 0 && !weights)
            weights = value;
        else if (PyUnicode_CompareWithASCIIString(key, "returned") == 0 &&
                 PyBool_Check(value))
            returned = value == Py_True;
        else if (n == 2)
            return not_here();
        else {
            names[n] = key;
            values[n++] = value;
        }
    }
    kept = PyTuple_New(n);
    for (Py_ssize_t i = 0; kept && i < n; i++)
        PyTuple_SET_ITEM(kept, i, Py_NewRef(names[i]));
    if (!kept)
        return NULL;
    trace_said_read(&said, "", values, 0, kept);
    Py_DECREF(kept);
    said.other |= nargs > 1 && said.axis; /* said twice */
    if (nargs > 1)
        said.axis = args[1];
    if (said.other || said.dtype || said.out || said.initial || said.where ||
        !trace_said_axis((Tracer *)args[0], &said))
        return not_here();
    if ((!weights || weights == Py_None) && returned)
        return not_here();
    if (!weights || weights == Py_None)
        return trace_said_reduce(trace, "mean", args[0], &said);
    PyObject *floats = as_floats(trace, (Tracer *)args[0]);
    if (!floats || floats == Py_NotImplemented)
        return floats;
    PyObject *result = weighted(trace, floats, weights, &said, returned);
    Py_DECREF(floats);
    return result;
}
