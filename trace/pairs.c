/* pairs.c - ufuncs of two results, as NumPy computes each of them.
**
**     divmod  x // y, x % y
**     modf    what is behind the point, with the sign of x; trunc(x)
**
** Law 1: both are known to be possible before one is recorded, or nothing reads what was.
*/
#include <string.h>

#include "trace/options.h"

/* (first, second), which are given away; else what is no result. */
static PyObject *
pair_of(PyObject *first, PyObject *second)
{
    PyObject *result = NULL;
    if (first && second)
        result = first == Py_NotImplemented || second == Py_NotImplemented
                     ? Py_NewRef(Py_NotImplemented)
                     : PyTuple_Pack(2, first, second);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return result;
}

PyObject *
trace_divmod(Trace *trace, PyObject *const *operands, bool named)
{
    static const OperatorId ids[2] = {OPERATOR_floordiv, OPERATOR_mod};
    PyObject *results[2] = {NULL};
    for (int i = 0; i < 2; i++) {
        PyObject *ufunc = trace->state->ufuncs[ids[i]];
        results[i] = trace_ufunc(trace, ufunc, operands, 2, NULL);
        if (results[i] == Py_NotImplemented)
            Py_SETREF(results[i], named
                                      ? trace_scalars_by_name(trace, ufunc, operands, 2)
                                      : trace_scalars(trace, operands, 2, ids[i]));
        if (!results[i] || results[i] == Py_NotImplemented)
            break;
    }
    if (!results[0] || results[0] == Py_NotImplemented)
        return results[0];
    return pair_of(results[0], results[1]);
}

/* x - trunc(x), but of an infinity zero. */
static PyObject *
fraction_of(Trace *trace, PyObject *x, PyObject *whole)
{
    PyObject *less = trace_call_named(trace, "subtract", x, whole, NULL);
    PyObject *infinite = less ? trace_call_named(trace, "isinf", x, NULL, NULL) : NULL;
    PyObject *zero = infinite ? PyFloat_FromDouble(0) : NULL,
             *parts[3] = {infinite, zero, less};
    PyObject *size = zero ? trace_select(trace, parts) : NULL, *result = size;
    if (size && size != Py_NotImplemented) {
        result = trace_call_named(trace, "copysign", size, x, NULL);
        Py_DECREF(size);
    }
    Py_XDECREF(less);
    Py_XDECREF(infinite);
    Py_XDECREF(zero);
    return result;
}

static PyObject *
fraction_and_whole(Trace *trace, PyObject *const *operands)
{
    PyObject *x = operands[0];
    if (!tracer_check(trace->state, x) || ((Tracer *)x)->kind != TRACER_array ||
        ((Tracer *)x)->ndim == 0 || !tracer_plain((Tracer *)x) ||
        !PyTypeNum_ISFLOAT(((Tracer *)x)->descr->type_num))
        return Py_NewRef(Py_NotImplemented);
    PyObject *whole = trace_call_named(trace, "trunc", x, NULL, NULL);
    return pair_of(whole ? fraction_of(trace, x, whole) : NULL, whole);
}

PyObject *
trace_pair(Trace *trace, PyObject *ufunc, PyObject *const *operands)
{
    const char *name = ((PyUFuncObject *)ufunc)->name;
    if (strcmp(name, "divmod") == 0 && trace_is_numpys(ufunc, name))
        return trace_divmod(trace, operands, true);
    if (strcmp(name, "modf") == 0 && trace_is_numpys(ufunc, name))
        return fraction_and_whole(trace, operands);
    return Py_NewRef(Py_NotImplemented);
}
