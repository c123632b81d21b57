/* composed.c - functions of NumPy that are several ops of the IR. */
#include <string.h>

#include "trace/options.h"

static bool
done(PyObject *result)
{
    return result && result != Py_NotImplemented;
}

/* One side of np.clip: x where it equals the bound, NaN where either is, hence no maximum.
** `beyond` and `within` are the comparisons of x with the bound. */
static PyObject *
bounded(Trace *trace, PyObject *x, PyObject *bound, OperatorId beyond,
        OperatorId within)
{
    PyObject *const *ufuncs = trace->state->ufuncs;
    bool constant = PyLong_CheckExact(bound) ||
                    (PyFloat_CheckExact(bound) &&
                     PyFloat_AS_DOUBLE(bound) == PyFloat_AS_DOUBLE(bound));
    PyObject *compared[2] = {x, bound}, *itself[2] = {x, x}, *result, *unordered, *keep;
    if (constant) {
        PyObject *parts[3] = {trace_ufunc(trace, ufuncs[beyond], compared, 2, NULL),
                              bound, x};
        if (!done(parts[0]))
            return parts[0];
        result = trace_select(trace, parts);
        Py_DECREF(parts[0]);
        return result;
    }
    keep = trace_ufunc(trace, ufuncs[within], compared, 2, NULL);
    if (!done(keep))
        return keep;
    unordered = trace_ufunc(trace, ufuncs[OPERATOR_ne], itself, 2, NULL);
    if (done(unordered)) {
        PyObject *both[2] = {keep, unordered};
        Py_SETREF(unordered, trace_ufunc(trace, ufuncs[OPERATOR_or_], both, 2, NULL));
    }
    Py_DECREF(keep);
    if (!done(unordered))
        return unordered;
    PyObject *parts[3] = {unordered, x, bound};
    result = trace_select(trace, parts);
    Py_DECREF(unordered);
    return result;
}

/* A bound that leaves x its dtype: a Python number that fits, or a scalar of x's dtype. */
static bool
is_bound(const Tracer *x, PyObject *bound)
{
    int type = x->descr->type_num;
    if (tracer_check(x->trace->state, bound)) {
        const Tracer *scalar = (Tracer *)bound;
        return PyTypeNum_ISFLOAT(type) &&
               (scalar->kind == TRACER_float ||
                (scalar->kind == TRACER_scalar && scalar->descr->type_num == type));
    }
    return PyFloat_CheckExact(bound) ? PyTypeNum_ISFLOAT(type)
                                     : PyLong_CheckExact(bound);
}

/* An array as a bound: it lies like x, so that NumPy's loop sees it element by element. */
static bool
is_array_bound(Trace *trace, const Tracer *x, PyObject *bound)
{
    if (!tracer_check(trace->state, bound))
        return false;
    const Tracer *array = (Tracer *)bound;
    bool whole = PyTypeNum_ISINTEGER(x->descr->type_num) &&
                 PyTypeNum_ISINTEGER(array->descr->type_num);
    if (array->kind != TRACER_array || !tracer_plain(array) || array->ndim == 0)
        return false;
    return whole ||
           (array->ndim == x->ndim && trace_lies_in_order(x) &&
            trace_lies_in_order(array) &&
            array->descr->type_num == x->descr->type_num &&
            memcmp(array->shape, x->shape, (size_t)x->ndim * sizeof *x->shape) == 0);
}

/* minimum(maximum(x, low), high): what NumPy's loop does where a bound is an array. */
static PyObject *
clip_to_arrays(Trace *trace, PyObject *const *objects)
{
    PyObject *raised = trace_call_named(trace, "maximum", objects[0], objects[1], NULL);
    PyObject *result =
        raised ? trace_call_named(trace, "minimum", raised, objects[2], NULL) : NULL;
    Py_XDECREF(raised);
    if (result || !PyErr_ExceptionMatches(PyExc_ValueError))
        return result;
    PyErr_Clear(); /* NumPy names all three shapes */
    return Py_NewRef(Py_NotImplemented);
}

PyObject *
trace_clip(Trace *trace, PyObject *const *objects)
{
    Tracer *x = (Tracer *)objects[0];
    PyObject *low, *result;
    if (!tracer_check(trace->state, objects[0]) || x->kind != TRACER_array ||
        !tracer_plain(x) || x->ndim == 0 ||
        !(PyTypeNum_ISINTEGER(x->descr->type_num) ||
          PyTypeNum_ISFLOAT(x->descr->type_num)))
        return Py_NewRef(Py_NotImplemented);
    bool arrays[2] = {is_array_bound(trace, x, objects[1]),
                      is_array_bound(trace, x, objects[2])};
    if ((arrays[0] || arrays[1]) && (arrays[0] || is_bound(x, objects[1])) &&
        (arrays[1] || is_bound(x, objects[2])))
        return clip_to_arrays(trace, objects);
    if (!is_bound(x, objects[1]) || !is_bound(x, objects[2]))
        return Py_NewRef(Py_NotImplemented);
    low = bounded(trace, objects[0], objects[1], OPERATOR_lt, OPERATOR_ge);
    if (!done(low))
        return low;
    result = bounded(trace, low, objects[2], OPERATOR_gt, OPERATOR_le);
    Py_DECREF(low);
    return result;
}
