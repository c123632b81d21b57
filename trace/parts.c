/* parts.c - functions of NumPy that are slices and stores of others: pad, diff, triangles, linspace, fill. */
#include <limits.h>
#include <string.h>

#include "trace/composed.h"
#include "trace/elementwise.h"

/* numpy.<name>(*args), as the user's code would call it. Takes the reference of args, which may be NULL. */
PyObject *
trace_numpy_call(Trace *trace, const char *name, PyObject *args)
{
    PyObject *numpy = args ? PyImport_ImportModule("numpy") : NULL, *result = NULL;
    PyObject *function = numpy ? PyObject_GetAttrString(numpy, name) : NULL;
    if (function)
        result = trace_invoke(trace, function, args, NULL);
    Py_XDECREF(function);
    Py_XDECREF(numpy);
    Py_XDECREF(args);
    return result;
}

/* -- diff -------------------------------------------------------------------------- */

/* All of x but for `skip` elements at the beginning or the end of an axis. */
static PyObject *
without(PyObject *x, int ndim, int axis, Py_ssize_t start, Py_ssize_t stop)
{
    PyObject *key = PyTuple_New(ndim), *result = NULL;
    for (int d = 0; key && d < ndim; d++) {
        PyObject *first = d == axis && start ? PyLong_FromSsize_t(start) : NULL;
        PyObject *last = d == axis && stop ? PyLong_FromSsize_t(stop) : NULL;
        PyObject *slice = PyErr_Occurred() ? NULL : PySlice_New(first, last, NULL);
        Py_XDECREF(first);
        Py_XDECREF(last);
        if (!slice) {
            Py_CLEAR(key);
            break;
        }
        PyTuple_SET_ITEM(key, d, slice);
    }
    if (key)
        result = PyObject_GetItem(x, key);
    Py_XDECREF(key);
    return result;
}

/* diff(x, 1, axis): of bools what is not equal. */
PyObject *
trace_make_diff(Trace *trace, PyObject *const *arguments)
{
    Tracer *x = trace_as_array(trace, arguments[0]);
    int axis = x ? x->ndim - 1 : 0;
    enum { TIMES_MAX = 8 };
    long times = !arguments[1]                     ? 1
                 : PyLong_CheckExact(arguments[1]) ? PyLong_AsLong(arguments[1])
                                                   : 0;
    PyErr_Clear();
    if (!x || times < 1 || times > TIMES_MAX ||
        (arguments[2] && !trace_axis(arguments[2], x->ndim, &axis)) ||
        x->shape[axis] <= times)
        return trace_not_here();
    if (times > 1) { /* differences of differences */
        PyObject *less = PyLong_FromLong(times - 1), *result = NULL;
        PyObject *outer[4] = {NULL}, *inner[4] = {arguments[0], less, arguments[2]};
        outer[0] = less ? trace_make_diff(trace, inner) : NULL;
        outer[2] = arguments[2];
        result = trace_is_made(outer[0]) ? trace_make_diff(trace, outer)
                                         : Py_XNewRef(outer[0]);
        Py_XDECREF(less);
        Py_XDECREF(outer[0]);
        return result;
    }
    OperatorId id = x->descr->type_num == NPY_BOOL ? OPERATOR_ne : OPERATOR_sub;
    PyObject *parts[2] = {without(arguments[0], x->ndim, axis, 1, 0), NULL},
             *result = NULL;
    parts[1] = parts[0] ? without(arguments[0], x->ndim, axis, 0, -1) : NULL;
    if (parts[1])
        result = trace_ufunc(trace, trace->state->ufuncs[id], parts, 2, NULL);
    Py_XDECREF(parts[0]);
    Py_XDECREF(parts[1]);
    return result;
}

/* -- pad --------------------------------------------------------------------------- */

/* Widths before and after each axis: of a number, a pair, or pairs. False: of something else. */
static bool
read_widths(PyObject *object, int ndim, npy_intp (*width)[2])
{
    PyArrayObject *array = NULL;
    bool known = false;
    if (!object || (!PyLong_CheckExact(object) && !PyTuple_CheckExact(object) &&
                    !PyList_CheckExact(object)))
        return false;
    array = (PyArrayObject *)PyArray_FROMANY(object, NPY_INTP, 0, 2, NPY_ARRAY_CARRAY);
    if (array) {
        const npy_intp *from = PyArray_DATA(array);
        npy_intp size = PyArray_SIZE(array);
        int n = PyArray_NDIM(array);
        bool pairs =
            n == 2 && PyArray_DIM(array, 0) == ndim && PyArray_DIM(array, 1) == 2;
        bool pair = n == 1 && size == 2;
        known = pairs || pair || size == 1;
        for (int d = 0; known && d < ndim; d++) {
            width[d][0] = from[pairs ? 2 * d : 0];
            width[d][1] = from[pairs ? 2 * d + 1 : pair];
            known = width[d][0] >= 0 && width[d][1] >= 0;
        }
        Py_DECREF(array);
    }
    PyErr_Clear();
    return known;
}

/* A part of the result: along `axis` from `first` to `last`; on axes behind it what x covers. */
static PyObject *
part_key(const Tracer *x, npy_intp (*width)[2], int axis, npy_intp first, npy_intp last)
{
    PyObject *key = PyTuple_New(x->ndim);
    for (int d = 0; key && d < x->ndim; d++) {
        npy_intp from = d == axis ? first : width[d][0];
        npy_intp to = d == axis ? last : width[d][0] + x->shape[d];
        PyObject *slice = d < axis ? PySlice_New(NULL, NULL, NULL) : NULL;
        PyObject *start = d >= axis ? PyLong_FromSsize_t(from) : NULL;
        PyObject *stop = start ? PyLong_FromSsize_t(to) : NULL;
        if (stop)
            slice = PySlice_New(start, stop, NULL);
        Py_XDECREF(start);
        Py_XDECREF(stop);
        if (!slice)
            Py_CLEAR(key);
        else
            PyTuple_SET_ITEM(key, d, slice);
    }
    return key;
}

/* Stores a number, or the edge next to it, into a part; a part without elements is none. */
static int
fill(PyObject *result, const Tracer *x, npy_intp (*width)[2], int axis, bool after,
     PyObject *number)
{
    npy_intp end = width[axis][0] + x->shape[axis];
    npy_intp first = after ? end : 0,
             last = after ? end + width[axis][1] : width[axis][0];
    npy_intp edge = after ? end - 1 : width[axis][0];
    PyObject *key, *from, *value = number ? Py_NewRef(number) : NULL;
    if (first == last) {
        Py_XDECREF(value);
        return 0;
    }
    key = part_key(x, width, axis, first, last);
    if (!value) {
        from = part_key(x, width, axis, edge, edge + 1);
        value = from ? PyObject_GetItem(result, from) : NULL;
        Py_XDECREF(from);
    }
    int status = key && value ? PyObject_SetItem(result, key, value) : -1;
    Py_XDECREF(key);
    Py_XDECREF(value);
    return status;
}

static bool
is_text(PyObject *object, const char *text)
{
    return PyUnicode_Check(object) &&
           PyUnicode_CompareWithASCIIString(object, text) == 0;
}

/* A number that the array holds as it is. */
static bool
is_held(const Tracer *x, PyObject *number)
{
    int type = x->descr->type_num;
    if (PyLong_CheckExact(number)) {
        int overflow;
        long value = PyLong_AsLongAndOverflow(number, &overflow);
        return !overflow && value >= 0 && value < 128 && type != NPY_BOOL;
    }
    return PyFloat_CheckExact(number) && (type == NPY_DOUBLE || type == NPY_FLOAT);
}

/* pad(x, width, mode, constant_values=number): 'constant' and 'edge'. */
PyObject *
trace_make_pad(Trace *trace, PyObject *const *arguments)
{
    npy_intp width[NPY_MAXDIMS][2], shape[NPY_MAXDIMS], strides[NPY_MAXDIMS],
        center[NPY_MAXDIMS];
    Tracer *x = trace_as_array(trace, arguments[0]);
    PyObject *number = arguments[3] ? arguments[3] : NULL, *result, *key;
    bool constant = !arguments[2] || is_text(arguments[2], "constant");
    if (!x || !(constant || (is_text(arguments[2], "edge") && !number)) ||
        !read_widths(arguments[1], x->ndim, width) ||
        PyArray_MultiplyList(x->shape, x->ndim) == 0 || !trace_in_one_piece(x) ||
        (number && !is_held(x, number)))
        return trace_not_here();
    trace->extents = true;
    bool fortran = !trace_lies_in_order(x);
    npy_intp step = PyDataType_ELSIZE(x->descr);
    for (int i = 0; i < x->ndim; i++) {
        int d = fortran ? i : x->ndim - 1 - i;
        shape[d] = x->shape[d] + width[d][0] + width[d][1];
        center[d] = width[d][0];
        strides[d] = step;
        step *= shape[d];
    }
    PyObject *zero =
        x->descr->type_num == NPY_BOOL ? Py_NewRef(Py_False) : PyLong_FromLong(0);
    result = zero ? trace_new_empty(trace, x->descr, x->ndim, shape, strides) : NULL;
    if (trace_is_made(result)) {
        key = part_key(x, width, 0, center[0], center[0] + x->shape[0]);
        int status = key ? PyObject_SetItem(result, key, arguments[0]) : -1;
        for (int axis = 0; status == 0 && axis < x->ndim; axis++) {
            PyObject *value = constant ? (number ? number : zero) : NULL;
            status = fill(result, x, width, axis, false, value);
            if (status == 0)
                status = fill(result, x, width, axis, true, value);
        }
        Py_XDECREF(key);
        if (status < 0)
            Py_CLEAR(result);
    }
    Py_XDECREF(zero);
    return result;
}

/* -- tril, triu -------------------------------------------------------------------- */

/* The numbers from low to high. */
static PyObject *
numbers(Trace *trace, npy_intp low, npy_intp high)
{
    return trace_numpy_call(trace, "arange", Py_BuildValue("(nn)", low, high));
}

/* where(j - k <= i, x, 0) of row i and column j, or the other way round. */
static PyObject *
triangle(Trace *trace, PyObject *const *arguments, bool upper)
{
    Tracer *x = trace_as_array(trace, arguments[0]);
    PyObject *given = arguments[1], *mask = NULL, *result = NULL;
    long k = given && PyLong_CheckExact(given) ? PyLong_AsLong(given) : 0;
    if (!x || x->ndim != 2 || (given && !PyLong_CheckExact(given)) || k > INT_MAX ||
        k < -INT_MAX) {
        PyErr_Clear();
        return trace_not_here();
    }
    if (PyArray_MultiplyList(x->shape, x->ndim) == 0)
        return trace_not_here();
    trace->extents = true;
    k -= upper;
    PyObject *columns = numbers(trace, -k, x->shape[1] - k);
    PyObject *rows = columns ? numbers(trace, 0, x->shape[0]) : NULL;
    PyObject *all = PySlice_New(NULL, NULL, NULL);
    PyObject *key = all ? PyTuple_Pack(2, all, Py_None) : NULL;
    if (rows && key)
        Py_SETREF(rows, PyObject_GetItem(rows, key));
    if (rows && key)
        mask = PyObject_RichCompare(columns, rows, Py_LE);
    PyObject *zero =
        x->descr->type_num == NPY_BOOL ? Py_NewRef(Py_False) : PyLong_FromLong(0);
    if (mask && zero) {
        PyObject *parts[3] = {mask, upper ? zero : arguments[0],
                              upper ? arguments[0] : zero};
        result = trace_select(trace, parts);
    }
    Py_XDECREF(zero);
    Py_XDECREF(mask);
    Py_XDECREF(key);
    Py_XDECREF(all);
    Py_XDECREF(rows);
    Py_XDECREF(columns);
    return result;
}

PyObject *
trace_make_tril(Trace *trace, PyObject *const *arguments)
{
    return triangle(trace, arguments, false);
}

PyObject *
trace_make_triu(Trace *trace, PyObject *const *arguments)
{
    return triangle(trace, arguments, true);
}

/* x.fill(number) is x[...] = number. */
PyObject *
trace_make_fill(Trace *trace, PyObject *const *arguments)
{
    Tracer *x = trace_as_array(trace, arguments[0]);
    PyObject *value = arguments[1];
    bool number = value && (PyFloat_CheckExact(value)
                                ? !PyTypeNum_ISINTEGER(x ? x->descr->type_num : 0)
                                : PyLong_CheckExact(value));
    if (!x || !number)
        return trace_not_here();
    return PyObject_SetItem(arguments[0], Py_Ellipsis, value) < 0 ? NULL
                                                                  : Py_NewRef(Py_None);
}

/* A Python number, or a traced one of float64. */
static bool
is_float64(Trace *trace, PyObject *number)
{
    if (PyLong_CheckExact(number)) { /* a larger one is an object to NumPy */
        double value = PyLong_AsDouble(number);
        bool fits = !PyErr_Occurred() && value >= -0x1p53 && value <= 0x1p53;
        PyErr_Clear();
        return fits;
    }
    if (!tracer_check(trace->state, number))
        return PyFloat_CheckExact(number);
    const Tracer *x = (Tracer *)number;
    return x->kind == TRACER_float ||
           (x->kind == TRACER_scalar && x->descr->type_num == NPY_DOUBLE);
}

/* arange(n) * step + start, the last one being stop (numpy/_core/function_base.py). A step of 0 is divided otherwise. */
static PyObject *
spaced(Trace *trace, PyObject *start, PyObject *stop, Py_ssize_t n)
{
    PyObject *zero = PyFloat_FromDouble(0), *last = PyLong_FromLong(-1);
    PyObject *parts = PyFloat_FromDouble((double)(n - 1)), *result = NULL;
    PyObject *delta = PyNumber_Subtract(stop, start);
    PyObject *step = delta && parts ? PyNumber_TrueDivide(delta, parts) : NULL;
    int still = step && zero ? PyObject_RichCompareBool(step, zero, Py_EQ) : -1;
    if (still == 1)
        result = trace_not_here();
    else if (still == 0 && (result = trace_numpy_call(
                                trace, "arange", Py_BuildValue("(d)", (double)n)))) {
        Py_SETREF(result, PyNumber_Multiply(result, step));
        if (result)
            Py_SETREF(result, PyNumber_Add(result, start));
        if (result && (!last || PyObject_SetItem(result, last, stop) < 0))
            Py_CLEAR(result);
    }
    Py_XDECREF(step);
    Py_XDECREF(delta);
    Py_XDECREF(parts);
    Py_XDECREF(last);
    Py_XDECREF(zero);
    return result;
}

PyObject *
trace_make_linspace(Trace *trace, PyObject *const *arguments)
{
    PyObject *start = arguments[0], *stop = arguments[1], *num = arguments[2],
             *endpoint = arguments[3];
    PyObject *retstep = arguments[4], *dtype = arguments[5];
    Py_ssize_t n = num && PyLong_CheckExact(num) ? PyLong_AsSsize_t(num) : 50;
    bool traced =
        start && stop &&
        (tracer_check(trace->state, start) || tracer_check(trace->state, stop));
    PyErr_Clear();
    if (!traced || !is_float64(trace, start) || !is_float64(trace, stop) || n < 2 ||
        (num && !PyLong_CheckExact(num)) || (endpoint && endpoint != Py_True) ||
        (retstep && retstep != Py_False) ||
        (dtype && dtype != Py_None && dtype != (PyObject *)&PyDoubleArrType_Type &&
         dtype != (PyObject *)&PyFloat_Type))
        return trace_not_here();
    PyObject *from = trace_numpy_call(trace, "float64", PyTuple_Pack(1, start)),
             *to = from ? trace_numpy_call(trace, "float64", PyTuple_Pack(1, stop))
                        : NULL;
    PyObject *result = to ? spaced(trace, from, to, n) : NULL;
    Py_XDECREF(from);
    Py_XDECREF(to);
    return result;
}
