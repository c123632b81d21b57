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

/* -- Powers -------------------------------------------------------------------------- */

/* x ** c: NumPy's operator takes short cuts for exponents -1, 0.5, 1 and 2 on inexact
 *arrays,
 ** and for 2 on integers; so do its loops, given a scalar exponent, from NumPy 2.1 on.
 */
PyObject *
trace_power(Trace *trace, PyObject *base, PyObject *exponent, Tracer *out)
{
    PyObject *ufunc = trace->state->ufuncs[OPERATOR_pow], *result = NULL;
    const char *name = NULL;
    bool inexact = tracer_check(trace->state, base) && ((Tracer *)base)->ndim > 0 &&
                   (PyTypeNum_ISFLOAT(((Tracer *)base)->descr->type_num) ||
                    PyTypeNum_ISCOMPLEX(((Tracer *)base)->descr->type_num));
    bool integer = tracer_check(trace->state, base) && ((Tracer *)base)->ndim > 0 &&
                   PyTypeNum_ISINTEGER(((Tracer *)base)->descr->type_num);
    double c = PyFloat_CheckExact(exponent)  ? PyFloat_AS_DOUBLE(exponent)
               : PyLong_CheckExact(exponent) ? PyLong_AsDouble(exponent)
                                             : 3;
    if (PyErr_Occurred())
        PyErr_Clear();
    if (tracer_check(trace->state, exponent) &&
        ((Tracer *)exponent)->kind == TRACER_int)
        return Py_NewRef(
            Py_NotImplemented); /* which short cut is taken depends on its value */
    if (tracer_check(trace->state, base) &&
        ((Tracer *)base)->descr->type_num == NPY_BOOL)
        return Py_NewRef(Py_NotImplemented); /* the operator has rules of its own */
    if (inexact)
        name = c == 2     ? "square"
               : c == 0.5 ? "sqrt"
               : c == -1  ? "reciprocal"
               : c == 1 && !PyTypeNum_ISCOMPLEX(((Tracer *)base)->descr->type_num)
                   ? "positive" /* complex zeros lose their signs in the loop */
                   : NULL;
    else if (integer && PyLong_CheckExact(exponent) && c == 2)
        name = "square";
    else if (integer && PyLong_CheckExact(exponent) && c < 0)
        return Py_NewRef(Py_NotImplemented); /* NumPy's ValueError */
    if (!name) {
        PyObject *operands[] = {base, exponent};
        return trace_ufunc(trace, ufunc, operands, 2, out);
    }
    PyObject *module = PyImport_ImportModule("numpy");
    ufunc = module ? PyObject_GetAttrString(module, name) : NULL;
    if (ufunc)
        result = trace_ufunc(trace, ufunc, &base, 1, out);
    Py_XDECREF(ufunc);
    Py_XDECREF(module);
    return result;
}
