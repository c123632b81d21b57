/* several.c - functions of NumPy that are several reductions, as NumPy computes them.
**
**     ptp            max(x) - min(x)
**     count_nonzero  sum(x != 0)
**     nansum         sum(where(isnan(x), 0, x))
**     nanmax         max(where(isnan(x), -inf, x)), as long as that is not -inf
**     nanmean        sum(where(isnan(x), 0, x)) / sum(~isnan(x))
**
** Law 1: where the function warns or raises (nothing but NaNs, weights that add to zero) it is called
**        itself. Whether it does is asked, and so a guard of the plan.
*/
#include <math.h>
#include <string.h>

#include "trace/options.h"

enum { BOOLS_MAX = 8192 };

static PyObject *
not_here(void)
{
    return Py_NewRef(Py_NotImplemented);
}

static bool
is_floating(const Tracer *x)
{
    return PyTypeNum_ISFLOAT(x->descr->type_num);
}

/* The reduction of an array that is given away. */
static PyObject *
reduce(Trace *trace, const char *name, PyObject *x, const Said *said)
{
    PyObject *result = x ? trace_said_reduce(trace, name, x, said) : NULL;
    Py_XDECREF(x);
    return result;
}

/* numpy.<name>(x, y) of operands that are given away. */
PyObject *
trace_joined(Trace *trace, const char *name, PyObject *x, PyObject *y)
{
    PyObject *result = x && y ? trace_call_named(trace, name, x, y, NULL) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(y);
    return result;
}

/* 1: some element is true; 0: none; -1: exception. The array is given away. */
int
trace_any(Trace *trace, PyObject *x)
{
    bool one = x && !(tracer_check(trace->state, x) && ((Tracer *)x)->ndim);
    PyObject *truth = one ? Py_NewRef(x)
                      : x ? trace_call_named(trace, "any", x, NULL, NULL)
                          : NULL;
    int answer = truth ? PyObject_IsTrue(truth) : -1;
    Py_XDECREF(x);
    Py_XDECREF(truth);
    return answer;
}

/* The array, another number where it is NaN. */
PyObject *
trace_filled(Trace *trace, PyObject *x, PyObject *nan, double number)
{
    PyObject *other = PyFloat_FromDouble(number);
    PyObject *parts[3] = {nan, other, x};
    PyObject *result = other ? trace_select(trace, parts) : NULL;
    Py_XDECREF(other);
    return result;
}

static PyObject *
peak_to_peak(Trace *trace, PyObject *x, const Said *said)
{
    PyObject *high = trace_said_reduce(trace, "max", x, said);
    return trace_joined(trace, "subtract", high,
                        high ? trace_said_reduce(trace, "min", x, said) : NULL);
}

/* Of older NumPys the number of all is an int of Python. */
static bool
counts_as_numpy(PyObject *count)
{
    PyObject *number = PyObject_CallFunction(count, "i", 0);
    bool numpys = number && !PyLong_CheckExact(number);
    PyErr_Clear();
    Py_XDECREF(number);
    return numpys;
}

/* Many bools in memory are counted by NumPy, which is faster. */
static PyObject *
count(Trace *trace, PyObject *callable, PyObject *x, const Said *said)
{
    Tracer *tracer = (Tracer *)x;
    PyObject *zero, *truth;
    bool all = (!said->axis || said->axis == Py_None) && said->keepdims != Py_True;
    if (all && !counts_as_numpy(callable))
        return not_here();
    if (tracer->descr->type_num == NPY_BOOL && tracer->object) {
        trace->extents = true;
        if (PyArray_MultiplyList(tracer->shape, tracer->ndim) > BOOLS_MAX)
            return not_here();
    }
    if (tracer->descr->type_num == NPY_BOOL)
        return trace_said_reduce(trace, "sum", x, said);
    zero = PyLong_FromLong(0);
    truth = zero ? trace_call_named(trace, "not_equal", x, zero, NULL) : NULL;
    Py_XDECREF(zero);
    return reduce(trace, "sum", truth, said);
}

static PyObject *
sum_of_numbers(Trace *trace, PyObject *x, const Said *said)
{
    PyObject *nan = trace_call_named(trace, "isnan", x, NULL, NULL);
    PyObject *numbers = nan ? trace_filled(trace, x, nan, 0) : NULL;
    Py_XDECREF(nan);
    return reduce(trace, "sum", numbers, said);
}

static PyObject *
extreme_of_numbers(Trace *trace, PyObject *x, bool greatest, const Said *said)
{
    double end = greatest ? -INFINITY : INFINITY;
    PyObject *nan = trace_call_named(trace, "isnan", x, NULL, NULL);
    PyObject *result = !nan ? NULL
                            : reduce(trace, greatest ? "max" : "min",
                                     trace_filled(trace, x, nan, end), said);
    PyObject *number = result ? PyFloat_FromDouble(end) : NULL;
    int none =
        number
            ? trace_any(trace, trace_call_named(trace, "equal", result, number, NULL))
            : -1;
    if (none)
        Py_SETREF(result, none > 0 ? not_here() : NULL);
    Py_XDECREF(number);
    Py_XDECREF(nan);
    return result;
}

static PyObject *
mean_of_numbers(Trace *trace, PyObject *x, const Said *said)
{
    PyObject *nan = trace_call_named(trace, "isnan", x, NULL, NULL), *result = NULL;
    PyObject *numbers =
        nan ? trace_call_named(trace, "logical_not", nan, NULL, NULL) : NULL;
    PyObject *n = reduce(trace, "sum", numbers, said), *zero = PyLong_FromLong(0);
    int none = n && zero
                   ? trace_any(trace, trace_call_named(trace, "equal", n, zero, NULL))
                   : -1;
    if (none == 0)
        result =
            trace_joined(trace, "divide", sum_of_numbers(trace, x, said), Py_NewRef(n));
    else if (none > 0)
        result = not_here();
    Py_XDECREF(nan);
    Py_XDECREF(n);
    Py_XDECREF(zero);
    return result;
}

PyObject *
trace_several(Trace *trace, PyObject *callable, const char *name, PyObject *const *args,
              size_t nargs, PyObject *kwnames)
{
    static const struct {
        const char *name, *order;
    } rows[] = {
        {"ptp", "axis out keepdims"},          {"count_nonzero", "axis"},
        {"nansum", "axis dtype out keepdims"}, {"nanmax", "axis out keepdims"},
        {"nanmin", "axis out keepdims"},       {"nanmean", "axis dtype out keepdims"}};
    Said said = {.other = false};
    size_t row = 0;
    if (nargs < 1 || nargs > 5 || !trace_is_reducible(trace, args[0]))
        return not_here();
    Tracer *x = (Tracer *)args[0];
    bool counts = strcmp(name, "count_nonzero") == 0; /* of nothing, too */
    if (PyArray_MultiplyList(x->shape, x->ndim) == 0 && !counts)
        return not_here();
    if (strcmp(name, "average") == 0)
        return trace_average(trace, args, nargs, kwnames);
    while (row < sizeof rows / sizeof *rows && strcmp(rows[row].name, name) != 0)
        row++;
    if (row == sizeof rows / sizeof *rows)
        return not_here();
    trace_said_read(&said, rows[row].order, args + 1, nargs - 1, kwnames);
    if (said.other || said.dtype || said.initial || said.where ||
        (said.out && said.out != Py_None) || !trace_said_axis(x, &said))
        return not_here();
    if (row == 0)
        return x->descr->type_num == NPY_BOOL ? not_here()
                                              : peak_to_peak(trace, args[0], &said);
    if (trace_repeats(x))
        return not_here();
    if (row == 1)
        return count(trace, callable, args[0], &said);
    if (!is_floating(x)) /* no NaNs */
        return trace_said_reduce(trace, name + 3, args[0], &said);
    if (row == 2)
        return sum_of_numbers(trace, args[0], &said);
    if (row == 5)
        return x->descr->type_num == NPY_DOUBLE ? mean_of_numbers(trace, args[0], &said)
                                                : not_here();
    return extreme_of_numbers(trace, args[0], row == 3, &said);
}

PyObject *
trace_fmax(Trace *trace, const char *name, PyObject *zero, PyObject *const *args,
           size_t nargs, PyObject *kwnames)
{
    bool greatest = strcmp(name, "fmax") == 0;
    Said said = {.other = !greatest && strcmp(name, "fmin") != 0};
    Tracer *x = (Tracer *)args[0];
    if (said.other)
        return not_here();
    trace_said_read(&said, "axis dtype out keepdims", args + 1, nargs - 1, kwnames);
    if (!said.axis)
        said.axis = zero;
    if (said.other || (said.dtype && said.dtype != Py_None) ||
        (said.out && said.out != Py_None) || said.initial || said.where ||
        !trace_said_axis(x, &said) || trace_repeats(x) ||
        PyArray_MultiplyList(x->shape, x->ndim) == 0)
        return not_here();
    if (!is_floating(x))
        return trace_said_reduce(trace, greatest ? "max" : "min", args[0], &said);
    return extreme_of_numbers(trace, args[0], greatest, &said);
}
