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
trace_divmod(Trace *trace, PyObject *const *operands)
{
    PyObject *const *ufuncs = trace->state->ufuncs;
    PyObject *quotient = trace_ufunc(trace, ufuncs[OPERATOR_floordiv], operands, 2, NULL);
    if (!quotient || quotient == Py_NotImplemented)
        return quotient;
    return pair_of(quotient, trace_ufunc(trace, ufuncs[OPERATOR_mod], operands, 2, NULL));
}

/* x - trunc(x), but of an infinity zero. */
static PyObject *
fraction_of(Trace *trace, PyObject *x, PyObject *whole)
{
    PyObject *less = trace_call_named(trace, "subtract", x, whole, NULL);
    PyObject *infinite = less ? trace_call_named(trace, "isinf", x, NULL, NULL) : NULL;
    PyObject *zero = infinite ? PyFloat_FromDouble(0) : NULL, *parts[3] = {infinite, zero, less};
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
        return trace_divmod(trace, operands);
    if (strcmp(name, "modf") == 0 && trace_is_numpys(ufunc, name))
        return fraction_and_whole(trace, operands);
    return Py_NewRef(Py_NotImplemented);
}
