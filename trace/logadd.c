/* logadd.c - logaddexp and logaddexp2 of floats, as NumPy computes them, where elementary functions are recipes.
**
**     t = -|x - y|,  logaddexp(x, y) = max(x, y) + log1p(exp(t)),  x + log 2 where x = y
**     logaddexp2(x, y) = max(x, y) + log2(e) log1p(2**t),          x + 1
**
** Infinities of one sign are equal, of two signs their difference is one; a NaN is one of x - y.
*/
#include <string.h>

#include "trace/options.h"

typedef struct Form {
    const char *name, *power;
    double of_equals, factor; /* what is added where x = y; 0: no factor */
} Form;

static const Form forms[] = {
    {"logaddexp", "exp", 0.693147180559945309417232121458176568, 0},
    {"logaddexp2", "exp2", 1, 1.442695040888963407359924681001892137},
};

/* numpy.<name>(x) of an operand that is given away. */
static PyObject *
of(Trace *trace, const char *name, PyObject *x)
{
    PyObject *result = x ? trace_call_named(trace, name, x, NULL, NULL) : NULL;
    Py_XDECREF(x);
    return result;
}

/* What is added to the greater of the two. */
static PyObject *
correction(Trace *trace, const Form *form, PyObject *difference)
{
    PyObject *size = trace_call_named(trace, "absolute", difference, NULL, NULL);
    PyObject *result =
        of(trace, "log1p", of(trace, form->power, of(trace, "negative", size)));
    if (form->factor && result)
        result =
            trace_joined(trace, "multiply", result, PyFloat_FromDouble(form->factor));
    return result;
}

static PyObject *
selected(Trace *trace, PyObject *condition, PyObject *x, PyObject *y)
{
    PyObject *parts[3] = {condition, x, y}, *result = NULL;
    if (condition && x && y)
        result = trace_select(trace, parts);
    Py_XDECREF(condition);
    Py_XDECREF(x);
    Py_XDECREF(y);
    return result;
}

static PyObject *
composed(Trace *trace, const Form *form, PyObject *x, PyObject *y)
{
    PyObject *difference = trace_call_named(trace, "subtract", x, y, NULL), *zero,
             *result;
    if (!difference)
        return NULL;
    zero = PyFloat_FromDouble(0);
    PyObject *greater = trace_joined(trace, "greater", Py_NewRef(difference), zero);
    PyObject *most = selected(trace, greater, Py_NewRef(x), Py_NewRef(y));
    result = trace_joined(trace, "add", most, correction(trace, form, difference));
    Py_DECREF(difference);
    PyObject *equal = result ? trace_call_named(trace, "equal", x, y, NULL) : NULL;
    PyObject *twice =
        trace_joined(trace, "add", Py_NewRef(x), PyFloat_FromDouble(form->of_equals));
    return selected(trace, equal, twice, result);
}

PyObject *
trace_logadd(Trace *trace, PyObject *ufunc, PyObject *const *operands)
{
    const char *name = ((PyUFuncObject *)ufunc)->name;
    size_t i = 0, n = sizeof forms / sizeof *forms;
    int type = NPY_OBJECT;
    while (i < n && strcmp(name, forms[i].name) != 0)
        i++;
    if (i == n || trace->numerics == NUMERICS_strict || !trace_is_numpys(ufunc, name))
        return Py_NewRef(Py_NotImplemented);
    for (int k = 0; k < 2; k++) {
        const Tracer *x = (Tracer *)operands[k];
        if (!tracer_check(trace->state, operands[k]) || x->kind != TRACER_array ||
            x->ndim == 0 || !tracer_plain(x) || (k && x->descr->type_num != type) ||
            (x->descr->type_num != NPY_FLOAT && x->descr->type_num != NPY_DOUBLE))
            return Py_NewRef(Py_NotImplemented);
        type = x->descr->type_num;
    }
    return composed(trace, &forms[i], operands[0], operands[1]);
}
