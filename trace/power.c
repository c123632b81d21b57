/* power.c - x to the y: which exponents are something simpler.
**
** NumPy's operator and, from 2.1 on, its loops take short cuts where the exponent is one
** number for the whole run: -1, 0.5, 1 and 2 on inexact arrays, 2 on integers. Where
** elementary functions are recipes, 3 and 4 are multiplications.
*/
#include "trace/elementwise.h"
#include "trace/options.h"

static PyObject *
not_here(void)
{
    return Py_NewRef(Py_NotImplemented);
}

/* A ufunc of NumPy, by name. */
static PyObject *
apply(Trace *trace, const char *name, PyObject *const *operands, int n, Tracer *out)
{
    PyObject *module = PyImport_ImportModule("numpy");
    PyObject *ufunc = module ? PyObject_GetAttrString(module, name) : NULL;
    PyObject *result = ufunc ? trace_ufunc(trace, ufunc, operands, n, out) : NULL;
    Py_XDECREF(ufunc);
    Py_XDECREF(module);
    return result;
}

/* 1: some element is below zero; 0: none; -1: exception. That is asked, and so a guard of the plan. */
static int
any_negative(Trace *trace, Tracer *exponent)
{
    PyObject *zero = PyLong_FromLong(0), *any = NULL;
    PyObject *below =
        zero ? PyObject_RichCompare((PyObject *)exponent, zero, Py_LT) : NULL;
    if (below && exponent->kind == TRACER_array && exponent->ndim)
        any = trace_call_named(trace, "any", below, NULL, NULL);
    else
        any = Py_XNewRef(below);
    int answer = any ? PyObject_IsTrue(any) : -1;
    Py_XDECREF(zero);
    Py_XDECREF(below);
    Py_XDECREF(any);
    return answer;
}

int
trace_power_refuses(Trace *trace, PyObject *exponent)
{
    if (tracer_check(trace->state, exponent)) {
        Tracer *tracer = (Tracer *)exponent;
        bool varies = tracer->kind == TRACER_int || tracer->kind == TRACER_index;
        int type = varies ? NPY_LONG : tracer->descr->type_num;
        return PyTypeNum_ISSIGNED(type) && any_negative(trace, tracer);
    }
    int overflow = 0;
    long long value =
        PyLong_Check(exponent) ? PyLong_AsLongLongAndOverflow(exponent, &overflow) : -1;
    return value < 0 || overflow;
}

/* The value of a Python number; 5, which is nothing special, of all else. */
static double
exponent_value(PyObject *exponent)
{
    double c = PyFloat_CheckExact(exponent)  ? PyFloat_AS_DOUBLE(exponent)
               : PyLong_CheckExact(exponent) ? PyLong_AsDouble(exponent)
                                             : 5;
    if (PyErr_Occurred())
        PyErr_Clear();
    return c;
}

/* The function that x ** c is for arrays of this type, or NULL. */
static const char *
short_cut(int type, double c)
{
    if (c == 2)
        return "square";
    if (c == 0.5)
        return "sqrt";
    if (c == -1)
        return "reciprocal";
    /* complex zeros lose their signs in the loop */
    return c == 1 && !PyTypeNum_ISCOMPLEX(type) ? "positive" : NULL;
}

/* x*x*x and (x*x)*(x*x). */
static PyObject *
multiplied(Trace *trace, PyObject *base, double c, Tracer *out)
{
    PyObject *square = apply(trace, "square", &base, 1, NULL), *result;
    if (!square || square == Py_NotImplemented)
        return square;
    if (c == 4)
        result = apply(trace, "square", &square, 1, out);
    else {
        PyObject *operands[] = {square, base};
        result = apply(trace, "multiply", operands, 2, out);
    }
    Py_DECREF(square);
    return result;
}

/* A power of an array of floating point numbers that needs no power; else
** Py_NotImplemented. */
static PyObject *
simpler(Trace *trace, PyObject *base, PyObject *exponent, Tracer *out)
{
    int type = ((Tracer *)base)->descr->type_num;
    double c = exponent_value(exponent);
    const char *name = short_cut(type, c);
    bool recipes =
        trace->numerics != NUMERICS_strict && (type == NPY_FLOAT || type == NPY_DOUBLE);
    /* Complex numbers take the short cuts of whole exponents for Python's ints alone. */
    if (PyTypeNum_ISCOMPLEX(type) && PyFloat_CheckExact(exponent) && c != 0.5)
        name = NULL;
    if (name)
        return apply(trace, name, &base, 1, out);
    if (recipes && (c == 3 || c == 4))
        return multiplied(trace, base, c, out);
    return not_here();
}

/* An int that varies from call to call: which short cut is taken depends on its value. */
static bool
is_varying(Trace *trace, PyObject *exponent, bool complex_base)
{
    if (!tracer_check(trace->state, exponent))
        return false;
    TracerKind kind = ((Tracer *)exponent)->kind;
    return kind == TRACER_int || kind == TRACER_complex ||
           (kind == TRACER_float && complex_base);
}

static bool
is_array(Trace *trace, PyObject *object)
{
    return tracer_check(trace->state, object) && ((Tracer *)object)->ndim > 0;
}

/* An int that varies, as the exponent of floats: a float where that is all that counts, else its value is asked for.
** New reference; Py_NotImplemented: it is not known what NumPy makes of it. */
static PyObject *
settled(Trace *trace, PyObject *exponent)
{
    PyObject *known = NULL;
    static const struct {
        long bound;
        int compare;
    } beyond[] = {{4, Py_GT}, {-1, Py_LT}}; /* of all short cuts */
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        PyObject *bound = PyLong_FromLong(beyond[i].bound);
        int out =
            bound ? PyObject_RichCompareBool(exponent, bound, beyond[i].compare) : -1;
        Py_XDECREF(bound);
        if (out < 0)
            return NULL;
        if (out) {
            known = trace_call(trace, (PyObject *)&PyFloat_Type, &exponent, 1, NULL, 0);
            break;
        }
        if (i + 1 == sizeof beyond / sizeof *beyond)
            known = trace_int_ask((Tracer *)exponent);
    }
    if (!known)
        return PyErr_ExceptionMatches(PyExc_OverflowError) ? not_here() : NULL;
    if (!trace->live || is_varying(trace, known, false))
        Py_SETREF(known, not_here());
    return known;
}

static bool
is_int_input(Trace *trace, PyObject *exponent)
{
    return trace->live && tracer_check(trace->state, exponent) &&
           ((Tracer *)exponent)->kind == TRACER_int;
}

/* x ** c */
PyObject *
trace_power(Trace *trace, PyObject *base, PyObject *exponent, Tracer *out)
{
    PyObject *operands[] = {base, exponent}, *result;
    int type = tracer_check(trace->state, base) ? ((Tracer *)base)->descr->type_num
                                                : NPY_OBJECT;
    bool whole = is_array(trace, base) && PyTypeNum_ISINTEGER(type);
    if (is_array(trace, base) && PyTypeNum_ISFLOAT(type) &&
        is_int_input(trace, exponent)) {
        PyObject *known = settled(trace, exponent);
        if (!known || known == Py_NotImplemented)
            return known;
        result = trace_power(trace, base, known, out);
        Py_DECREF(known);
        return result;
    }
    if (type == NPY_BOOL ||
        (!whole && is_varying(trace, exponent, PyTypeNum_ISCOMPLEX(type))))
        return not_here(); /* of bools the operator has rules of its own */
    if (out && PyTypeNum_ISCOMPLEX(type) && !trace_lies_in_order(out))
        return not_here(); /* last bits depend on the strides that are written */
    if (is_array(trace, base) &&
        (PyTypeNum_ISFLOAT(type) || PyTypeNum_ISCOMPLEX(type))) {
        result = simpler(trace, base, exponent, out);
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    } else if (whole && PyLong_CheckExact(exponent)) {
        if (exponent_value(exponent) == 2)
            return apply(trace, "square", &base, 1, out);
    }
    return trace_ufunc(trace, trace->state->ufuncs[OPERATOR_pow], operands, 2, out);
}

/* np.power(x, c) is left to this NumPy's loop in strict mode. */
PyObject *
trace_function(Trace *trace, PyObject *ufunc, PyObject *const *operands, int n,
               PyObject *out)
{
    if (ufunc == trace->state->ufuncs[OPERATOR_pow] &&
        trace->numerics != NUMERICS_strict && is_array(trace, operands[0]) &&
        PyTypeNum_ISFLOAT(((Tracer *)operands[0])->descr->type_num)) {
        if (is_int_input(trace, operands[1])) {
            PyObject *known = settled(trace, operands[1]),
                     *both[2] = {operands[0], known};
            if (!known || known == Py_NotImplemented)
                return known;
            PyObject *raised = trace_function(trace, ufunc, both, n, out);
            Py_DECREF(known);
            return raised;
        }
        if (is_varying(trace, operands[1], false))
            return not_here();
        PyObject *result = simpler(trace, operands[0], operands[1], (Tracer *)out);
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    }
    if (n == 2 && !out) {
        PyObject *result = trace_logadd(trace, ufunc, operands);
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    }
    return trace_ufunc(trace, ufunc, operands, n, (Tracer *)out);
}
