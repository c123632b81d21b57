/* nans.c - functions of NumPy that leave NaNs out, besides those of several.c.
**
**     nanprod        prod(where(isnan(x), 1, x)); so nancumsum, nancumprod
**     nanargmax      argmax(where(isnan(x), -inf, x)), if no slice is all NaN
**     nanvar         sum(d * d) / (n - ddof), d = where(isnan(x), 0, x - sum(x) / n), n numbers
**     nanstd         sqrt(nanvar)
**
** Law 1: as in several.c, what NumPy warns of or raises is asked for, and left to it.
*/
#include <math.h>
#include <string.h>

#include "trace/options.h"

typedef struct Row {
    const char *name, *plain, *order; /* the function of arrays without NaNs */
    double other;                     /* what stands for a NaN */
} Row;

static const Row rows[] = {
    {"nanprod", "prod", "axis dtype out keepdims", 1},
    {"nancumsum", "cumsum", "axis dtype out", 0},
    {"nancumprod", "cumprod", "axis dtype out", 1},
    {"nanargmax", "argmax", "axis out keepdims", -INFINITY},
    {"nanargmin", "argmin", "axis out keepdims", INFINITY},
    {"nanvar", "var", "axis dtype out", 0},
    {"nanstd", "std", "axis dtype out", 0},
};

static PyObject *
not_here(void)
{
    return Py_NewRef(Py_NotImplemented);
}

/* The reduction of an array that is given away. */
static PyObject *
reduce(Trace *trace, const char *name, PyObject *x, const Said *said)
{
    PyObject *result = x ? trace_said_reduce(trace, name, x, said) : NULL;
    Py_XDECREF(x);
    return result;
}

static PyObject *
number_compared(Trace *trace, const char *name, PyObject *x, long number)
{
    return trace_joined(trace, name, Py_XNewRef(x), PyLong_FromLong(number));
}

/* True, false; -1: exception. */
static int
has_only_nans(Trace *trace, PyObject *nan, const Said *said)
{
    Said slices = {.axis = said->axis};
    return trace_any(trace, trace_said_reduce(trace, "all", nan, &slices));
}

/* -- Variances ------------------------------------------------------------------------ */

typedef struct Spread {
    Trace *trace;
    Said kept, said; /* axes kept, and as they are asked for */
    long ddof;
} Spread;

/* How many numbers there are, in the array's dtype: exact, so in whatever order it is summed. */
static PyObject *
count_of(const Spread *s, const Tracer *x, PyObject *numbers, const Said *said)
{
    PyObject *ones = trace_astype(s->trace, (Tracer *)numbers, x->descr);
    if (ones == Py_NotImplemented)
        return ones;
    return reduce(s->trace, "sum", ones, said);
}

static PyObject *
squares_of(const Spread *s, Tracer *x, PyObject *nan, PyObject *counts)
{
    Trace *trace = s->trace;
    PyObject *mean = trace_joined(
        trace, "divide",
        reduce(trace, "sum", trace_filled(trace, (PyObject *)x, nan, 0), &s->kept),
        Py_XNewRef(counts));
    PyObject *distance = trace_joined(trace, "subtract", Py_NewRef(x), mean);
    if (distance)
        Py_SETREF(distance, trace_filled(trace, distance, nan, 0));
    PyObject *squares = distance ? PyNumber_Multiply(distance, distance) : NULL;
    Py_XDECREF(distance);
    return squares;
}

static PyObject *
spread_of(const Spread *s, Tracer *x, PyObject *nan)
{
    Trace *trace = s->trace;
    PyObject *numbers = trace_call_named(trace, "logical_not", nan, NULL, NULL);
    PyObject *n = numbers ? count_of(s, x, numbers, &s->said) : NULL, *result = NULL;
    PyObject *left = NULL, *counts = NULL;
    if (n && n != Py_NotImplemented)
        left = s->ddof ? number_compared(trace, "subtract", n, s->ddof) : Py_NewRef(n);
    int none =
        left ? trace_any(trace, number_compared(trace, "less_equal", left, 0)) : -1;
    if (none == 0)
        counts = count_of(s, x, numbers, &s->kept);
    if (counts && counts != Py_NotImplemented)
        result =
            trace_joined(trace, "divide",
                         reduce(trace, "sum", squares_of(s, x, nan, counts), &s->said),
                         Py_NewRef(left));
    else if (none > 0 || n == Py_NotImplemented || counts == Py_NotImplemented)
        result = not_here();
    Py_XDECREF(numbers);
    Py_XDECREF(n);
    Py_XDECREF(left);
    Py_XDECREF(counts);
    return result;
}

/* -- The call ------------------------------------------------------------------------- */

/* The keywords without `ddof`, whose value goes to *ddof. New reference; NULL without an exception: it is no
** int above or at zero. */
static PyObject *
take_ddof(PyObject *const *args, size_t nargs, PyObject *kwnames, PyObject **values,
          long *ddof)
{
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    PyObject *names = PyList_New(0), *kept = NULL;
    size_t n = nargs;
    memcpy(values, args, nargs * sizeof *values);
    for (Py_ssize_t i = 0; names && i < nkw; i++) {
        PyObject *key = PyTuple_GET_ITEM(kwnames, i), *value = args[nargs + (size_t)i];
        if (PyUnicode_CompareWithASCIIString(key, "ddof") != 0) {
            values[n++] = value;
            if (PyList_Append(names, key) < 0)
                Py_CLEAR(names);
            continue;
        }
        *ddof = PyLong_CheckExact(value) ? PyLong_AsLong(value) : -1;
        if (*ddof < 0) {
            PyErr_Clear();
            Py_CLEAR(names);
        }
    }
    if (names)
        kept = PyList_AsTuple(names);
    Py_XDECREF(names);
    return kept;
}

static PyObject *
run(Trace *trace, const Row *row, Tracer *x, const Said *said, long ddof)
{
    bool position = strstr(row->name, "arg") != NULL,
         spread = row->plain[0] == 'v' || row->plain[0] == 's';
    PyObject *nan = trace_call_named(trace, "isnan", (PyObject *)x, NULL, NULL),
             *result = NULL;
    if (nan && spread) {
        Spread s = {.trace = trace, .kept = *said, .said = *said, .ddof = ddof};
        s.kept.keepdims = Py_True;
        result = spread_of(&s, x, nan);
        if (result && result != Py_NotImplemented && row->plain[0] == 's')
            Py_SETREF(result, trace_call_named(trace, "sqrt", result, NULL, NULL));
    } else if (nan) {
        int none = position ? has_only_nans(trace, nan, said) : 0;
        result =
            none < 0 ? NULL
            : none > 0
                ? not_here()
                : reduce(trace, row->plain,
                         trace_filled(trace, (PyObject *)x, nan, row->other), said);
    }
    Py_XDECREF(nan);
    return result;
}

PyObject *
trace_without_nans(Trace *trace, const char *name, PyObject *const *args, size_t nargs,
                   PyObject *kwnames)
{
    enum { MOST = 8 };
    size_t n = nargs + (kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0), i = 0;
    PyObject *values[MOST], *names;
    Said said = {.other = false};
    long ddof = 0;
    while (i < sizeof rows / sizeof *rows && strcmp(rows[i].name, name) != 0)
        i++;
    if (i == sizeof rows / sizeof *rows || nargs < 1 || n > MOST ||
        !trace_is_reducible(trace, args[0]))
        return not_here();
    const Row *row = &rows[i];
    Tracer *x = (Tracer *)args[0];
    bool spread = row->plain[0] == 'v' || row->plain[0] == 's';
    names = take_ddof(args, nargs, kwnames, values, &ddof);
    if (!names)
        return PyErr_Occurred() ? NULL : not_here();
    trace_said_read(&said, row->order, values + 1, nargs - 1, names);
    Py_DECREF(names);
    bool scans = row->plain[0] == 'c';
    if (said.other || said.dtype || said.initial || said.where || (ddof && !spread) ||
        (said.out && said.out != Py_None) || !trace_said_axis(x, &said) ||
        trace_repeats(x) || PyArray_MultiplyList(x->shape, x->ndim) == 0 ||
        (scans && said.keepdims))
        return not_here();
    if (!PyTypeNum_ISFLOAT(x->descr->type_num)) { /* there are none */
        if (ddof) {
            PyObject *given = PyLong_FromLong(ddof);
            PyObject *result =
                given ? trace_said_var(trace, row->plain, args[0], &said, given) : NULL;
            Py_XDECREF(given);
            return result;
        }
        return trace_said_reduce(trace, row->plain, args[0], &said);
    }
    x->trace->extents |= spread; /* counts are exact below 2 to the 24 */
    if (spread && PyArray_MultiplyList(x->shape, x->ndim) >= 1 << 24)
        return not_here();
    return run(trace, row, x, &said, ddof);
}
