/* moments.c - mean, var and std as NumPy computes them: sums, quotients, squares.
**
**     mean  sum(x) / n
**     var   sum((x - mean) * (x - mean)) / (n - ddof), mean with the axes kept
**     std   sqrt(var)
**
** Of floats, complex numbers, bools and integers. NumPy divides in float64, or complex128, and rounds
** to the dtype; of float32 that is the quotient in the dtype, as long as the count is exact in it. It sums integers as float64:
** those of up to 32 bits without rounding, in whatever order; larger ones in pieces, which where numerics is
** strict is done here as long as there is one.
*/
#include <string.h>

#include "trace/composed.h"
#include "trace/invoke.h"
#include "trace/options.h"

enum {
    COUNT_MAX = 1 << 24,
    CAST_MAX = 8192,      /* elements that NumPy casts and adds at once */
    COUNT_WIDE = 1 << 21, /* of 32 bits: the sum is exact in float64 */
};

typedef struct Moment {
    Trace *trace;
    PyObject *numpy;
    PyObject *axis; /* borrowed; NULL: none given */
    bool keepdims;
    long ddof;
    npy_intp count, most;
    const Tracer *x;
    bool axes[NPY_MAXDIMS]; /* those that are summed over */
    bool half;              /* the mean of float16: its sum is one of float32 */
} Moment;

/* Elements of a result; 0: the axes are for NumPy. */
static npy_intp
count_of(Moment *m)
{
    const Tracer *x = m->x;
    PyObject *axis = m->axis;
    npy_intp count = 1;
    Py_ssize_t n = axis && PyTuple_CheckExact(axis) ? PyTuple_GET_SIZE(axis) : 1;
    if (!axis || axis == Py_None) {
        for (int d = 0; d < x->ndim; d++)
            m->axes[d] = true;
        return PyArray_MultiplyList(x->shape, x->ndim);
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyTuple_CheckExact(axis) ? PyTuple_GET_ITEM(axis, i) : axis;
        int d;
        if (!trace_axis(item, x->ndim, &d) || m->axes[d])
            return 0;
        m->axes[d] = true;
        count *= x->shape[d];
    }
    return count;
}

static bool
read_arguments(Moment *m, PyObject *const *args, size_t nargs, PyObject *kwnames,
               bool spread)
{
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    if (nargs > 2)
        return false;
    if (nargs == 2)
        m->axis = args[1];
    for (Py_ssize_t i = 0; i < nkw; i++) {
        PyObject *key = PyTuple_GET_ITEM(kwnames, i), *value = args[nargs + (size_t)i];
        if (PyUnicode_CompareWithASCIIString(key, "axis") == 0 && !m->axis)
            m->axis = value;
        else if (PyUnicode_CompareWithASCIIString(key, "keepdims") == 0 &&
                 PyBool_Check(value))
            m->keepdims = value == Py_True;
        else if (spread && PyUnicode_CompareWithASCIIString(key, "ddof") == 0 &&
                 PyLong_CheckExact(value))
            m->ddof = PyLong_AsLong(value);
        else
            return false;
    }
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return true;
}

/* numpy.<name>(x, **kwargs), as the user's code would call it. */
static PyObject *
call(const Moment *m, const char *name, PyObject *x, PyObject *kwargs)
{
    PyObject *function = PyObject_GetAttrString(m->numpy, name);
    PyObject *args = function ? PyTuple_Pack(1, x) : NULL;
    PyObject *result = args ? trace_invoke(m->trace, function, args, kwargs) : NULL;
    Py_XDECREF(args);
    Py_XDECREF(function);
    return result;
}

/* An array or a scalar in another dtype. It is given away. */
static PyObject *
cast(const Moment *m, PyObject *x, int type)
{
    PyObject *scalar_type = (PyObject *)PyArray_TypeObjectFromType(type),
             *result = NULL;
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    bool array =
        tracer_check(m->trace->state, x) && ((Tracer *)x)->kind == TRACER_array;
    if (array)
        result = trace_astype(m->trace, (Tracer *)x, descr);
    else if (scalar_type) {
        PyObject *args = PyTuple_Pack(1, x);
        result = args ? trace_invoke(m->trace, scalar_type, args, NULL) : NULL;
        Py_XDECREF(args);
    }
    if (result == Py_NotImplemented)
        Py_SETREF(result, Py_NewRef(x));
    Py_XDECREF(scalar_type);
    Py_DECREF(descr);
    Py_DECREF(x);
    return result;
}

/* What the sum is divided in, which NumPy rounds to `type`: the count is an int64, so that is float64 or
** complex128, except for arrays of which a dtype as wide gives the same. */
static int
divided_in(const Moment *m, const PyObject *sum, int own, int type)
{
    bool array = tracer_check(m->trace->state, (PyObject *)sum) &&
                 ((const Tracer *)sum)->kind == TRACER_array;
    if (own == NPY_FLOAT && (type == NPY_FLOAT || array))
        return NPY_FLOAT;
    return PyTypeNum_ISCOMPLEX(own) ? NPY_CDOUBLE : NPY_DOUBLE;
}

/* A sum of this dtype, divided by the count and less `less`, in another. It is given away. */
static PyObject *
quotient(const Moment *m, PyObject *sum, int own, int type, npy_intp less)
{
    int wide = divided_in(m, sum, own, type);
    PyObject *number =
        (PyObject *)trace_extents_number(m->x, m->axes, less, m->most, wide);
    if (!number) { /* a constant of the graph */
        m->trace->extents = true;
        number = PyLong_FromSsize_t(m->count - less);
    }
    if (wide != own)
        sum = cast(m, sum, wide);
    PyObject *result = sum && number ? PyNumber_TrueDivide(sum, number) : NULL;
    Py_XDECREF(sum);
    Py_XDECREF(number);
    return result && type != wide ? cast(m, result, type) : result;
}

/* sum(x) / (count - less) */
static PyObject *
average(const Moment *m, PyObject *x, bool keepdims, npy_intp less)
{
    int own = ((Tracer *)x)->descr->type_num;
    PyObject *kwargs = Py_BuildValue("{s:O,s:O}", "axis", m->axis ? m->axis : Py_None,
                                     "keepdims", keepdims ? Py_True : Py_False);
    PyObject *sum = kwargs ? call(m, "sum", x, kwargs) : NULL;
    Py_XDECREF(kwargs);
    return sum ? quotient(m, sum, own, m->half ? NPY_HALF : own, less) : NULL;
}

/* Of complex numbers the sum of the squares of their parts. */
static PyObject *
squared(PyObject *x)
{
    if (!PyTypeNum_ISCOMPLEX(((Tracer *)x)->descr->type_num))
        return PyNumber_Multiply(x, x);
    PyObject *re = PyObject_GetAttrString(x, "real"),
             *im = PyObject_GetAttrString(x, "imag");
    PyObject *first = re && im ? PyNumber_Multiply(re, re) : NULL;
    PyObject *second = first ? PyNumber_Multiply(im, im) : NULL;
    PyObject *result = second ? PyNumber_Add(first, second) : NULL;
    Py_XDECREF(re);
    Py_XDECREF(im);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return result;
}

static PyObject *
variance(const Moment *m, PyObject *x)
{
    PyObject *mean = average(m, x, true, 0), *square = NULL, *result = NULL;
    PyObject *distance = mean ? PyNumber_Subtract(x, mean) : NULL;
    if (distance && tracer_check(m->trace->state, distance))
        square = squared(distance);
    if (square && !tracer_check(m->trace->state, square)) /* the trace has ended */
        Py_CLEAR(square);
    Py_XDECREF(distance);
    if (square)
        result = average(m, square, m->keepdims, m->ddof);
    Py_XDECREF(mean);
    Py_XDECREF(square);
    return result;
}

/* How many elements a result may have; 0: not of this dtype. */
static npy_intp
count_max(const Tracer *x, bool mean)
{
    int type = x->descr->type_num;
    if (type == NPY_FLOAT || type == NPY_DOUBLE || type == NPY_BOOL ||
        type == NPY_CFLOAT || type == NPY_CDOUBLE || (type == NPY_HALF && !mean))
        return COUNT_MAX;
    if (!PyTypeNum_ISINTEGER(type) && type != NPY_HALF)
        return 0;
    if (type == NPY_HALF || PyDataType_ELSIZE(x->descr) == 8) {
        bool strict = x->trace->numerics == NUMERICS_strict;
        x->trace->extents |= strict;
        return !strict ? COUNT_MAX
               : trace_lies_in_order(x) &&
                       PyArray_MultiplyList(x->shape, x->ndim) <= CAST_MAX
                   ? CAST_MAX
                   : 0;
    }
    return PyDataType_ELSIZE(x->descr) == 4 ? COUNT_WIDE : COUNT_MAX;
}

/* The array as floats. Its copy has no axes that repeat elements, and another order then. */
static PyObject *
as_floats(Trace *trace, Tracer *x, bool half)
{
    if (!half && (PyTypeNum_ISFLOAT(x->descr->type_num) ||
                  PyTypeNum_ISCOMPLEX(x->descr->type_num)))
        return Py_NewRef(x);
    bool repeats = false;
    for (int d = 0; d < x->ndim; d++)
        repeats |= x->strides[d] == 0 && x->shape[d] > 1;
    if (repeats || !trace_is_cheap_to_cast(x))
        return Py_NewRef(Py_NotImplemented);
    PyArray_Descr *descr = PyArray_DescrFromType(half ? NPY_FLOAT : NPY_DOUBLE);
    PyObject *floats = trace_astype(trace, x, descr);
    Py_DECREF(descr);
    return floats;
}

PyObject *
trace_moment(Trace *trace, const char *name, PyObject *const *args, size_t nargs,
             PyObject *kwnames)
{
    Moment m = {.trace = trace};
    bool mean = strcmp(name, "mean") == 0, std = strcmp(name, "std") == 0;
    PyObject *result;
    if ((!mean && !std && strcmp(name, "var") != 0) || nargs < 1 ||
        !tracer_check(trace->state, args[0]))
        return Py_NewRef(Py_NotImplemented);
    Tracer *x = (Tracer *)args[0];
    m.x = x;
    m.most = x->kind == TRACER_array ? count_max(x, mean) : 0;
    if (x->trace != trace || x->ndim == 0 || !m.most || !tracer_plain(x) ||
        !read_arguments(&m, args, nargs, kwnames, !mean))
        return Py_NewRef(Py_NotImplemented);
    m.count = count_of(&m);
    if (m.count <= 0 || m.count > m.most || m.ddof < 0 || m.ddof >= m.count ||
        PyArray_MultiplyList(x->shape, x->ndim) == 0)
        return Py_NewRef(Py_NotImplemented);
    m.half = mean && x->descr->type_num == NPY_HALF;
    PyObject *floats = as_floats(trace, x, m.half);
    if (!floats || floats == Py_NotImplemented)
        return floats;
    m.numpy = PyImport_ImportModule("numpy");
    if (m.numpy)
        result = mean ? average(&m, floats, m.keepdims, 0) : variance(&m, floats);
    else
        result = NULL;
    if (result && std)
        Py_SETREF(result, call(&m, "sqrt", result, NULL));
    Py_XDECREF(m.numpy);
    Py_DECREF(floats);
    return result;
}

/* A reduction of a list is one of the array that NumPy makes of it. Py_NotImplemented: it is none. */
static PyObject *
reduced_list(Trace *trace, PyObject *callable, const char *name, PyObject *const *args,
             size_t nargs, PyObject *kwnames)
{
    static const char *const known[] = {
        "sum",    "prod",   "max",     "min", "amax",         "amin",
        "any",    "all",    "mean",    "var", "std",          "argmax",
        "argmin", "cumsum", "cumprod", "ptp", "count_nonzero"};
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        found |= strcmp(name, known[i]) == 0;
    if (!found || !nargs || nargs > 8 ||
        !(PyList_CheckExact(args[0]) || PyTuple_CheckExact(args[0])))
        return trace_not_here();
    PyObject *parts[2] = {args[0], NULL}, *all[9];
    size_t nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0;
    PyObject *array =
        nargs + nkw <= 9 ? trace_make_array(trace, parts) : trace_not_here();
    if (!array || array == Py_NotImplemented)
        return array;
    memcpy(all, args, (nargs + nkw) * sizeof *all);
    all[0] = array;
    PyObject *result = trace_invoke_vector(trace, callable, all, nargs, kwnames);
    Py_DECREF(array);
    return result;
}

/* callable(x, axis if there is one, **the words). */
static PyObject *
spelled(Trace *trace, PyObject *callable, PyObject *x, PyObject *const *said,
        bool placed, PyObject *names)
{
    size_t n = (size_t)placed + (size_t)PyTuple_GET_SIZE(names);
    PyObject **all = PyMem_Malloc((n + 1) * sizeof *all);
    if (!all)
        return PyErr_NoMemory();
    all[0] = x;
    for (size_t i = 0; i < n; i++)
        all[i + 1] = said[i];
    PyObject *result =
        trace_invoke_vector(trace, callable, all, 1 + (size_t)placed, names);
    PyMem_Free(all);
    return result;
}

PyObject *
trace_reduced(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
              PyObject *kwnames)
{
    PyObject *result = NULL, *name = NULL;
    if (Py_TYPE(callable) == trace->state->dispatcher_type && trace->live)
        name = PyObject_GetAttrString(callable, "__name__");
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    PyObject *number = NULL, *names = NULL;
    PyObject **said = text && nargs
                          ? trace_spelled(text, args + 1, nargs - 1, kwnames, &names)
                          : NULL;
    if (said) {
        result = spelled(trace, callable, args[0], said, nargs > 1, names);
        PyMem_Free(said);
        Py_DECREF(names);
        Py_DECREF(name);
        return result;
    }
    PyObject **asked =
        text ? trace_axis_asked(trace, text, args, nargs, kwnames, 1, &number) : NULL;
    if (asked) {
        result = trace_invoke_vector(trace, callable, asked, nargs, kwnames);
        PyMem_Free(asked);
        Py_DECREF(number);
    } else if (text && !PyErr_Occurred()) {
        result = reduced_list(trace, callable, text, args, nargs, kwnames);
        if (result == Py_NotImplemented)
            Py_SETREF(result, trace_options(trace, text, args, nargs, kwnames));
        if (result == Py_NotImplemented)
            Py_SETREF(result,
                      trace_several(trace, callable, text, args, nargs, kwnames));
        if (result == Py_NotImplemented)
            Py_SETREF(result, trace_without_nans(trace, text, args, nargs, kwnames));
        if (result == Py_NotImplemented)
            Py_SETREF(result, trace_unroll(trace, text, args, nargs, kwnames));
        if (result == Py_NotImplemented)
            Py_SETREF(result, trace_moment(trace, text, args, nargs, kwnames));
        if (result == Py_NotImplemented)
            Py_SETREF(result, trace_zero_dim_reduce(trace, text, args, nargs, kwnames));
    } else if (!text) {
        PyErr_Clear();
        result = Py_NewRef(Py_NotImplemented);
    }
    Py_XDECREF(name);
    return result;
}
