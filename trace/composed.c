/* composed.c - functions of NumPy that are several ops of the IR. */
#include "trace/internal.h"

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
    bool constant = PyLong_CheckExact(bound) || PyFloat_CheckExact(bound); /* no NaN */
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
    if (PyFloat_CheckExact(bound))
        return PyTypeNum_ISFLOAT(type) &&
               PyFloat_AS_DOUBLE(bound) == PyFloat_AS_DOUBLE(bound);
    return PyLong_CheckExact(bound);
}

PyObject *
trace_clip(Trace *trace, PyObject *const *objects)
{
    Tracer *x = (Tracer *)objects[0];
    PyObject *low, *result;
    if (!tracer_check(trace->state, objects[0]) || x->kind != TRACER_array ||
        !tracer_plain(x) || x->ndim == 0 || !is_bound(x, objects[1]) ||
        !is_bound(x, objects[2]) ||
        !(PyTypeNum_ISINTEGER(x->descr->type_num) || x->descr->type_num == NPY_FLOAT ||
          x->descr->type_num == NPY_DOUBLE))
        return Py_NewRef(Py_NotImplemented);
    low = bounded(trace, objects[0], objects[1], OPERATOR_lt, OPERATOR_ge);
    if (!done(low))
        return low;
    result = bounded(trace, low, objects[2], OPERATOR_gt, OPERATOR_le);
    Py_DECREF(low);
    return result;
}
