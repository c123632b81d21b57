/* unravel.c - unravel_index and ravel_multi_index as functions of our own: of int64, in C order. */
#include "jit/own.h"

/* The extents of a shape, a tuple of ints. Their number, or -1. */
static int
read_shape(PyObject *tuple, npy_intp *shape, npy_intp *size)
{
    *size = 1;
    if (!PyTuple_CheckExact(tuple) || PyTuple_GET_SIZE(tuple) < 1 ||
        PyTuple_GET_SIZE(tuple) > NPY_MAXDIMS)
        return -1;
    for (Py_ssize_t d = 0; d < PyTuple_GET_SIZE(tuple); d++) {
        PyObject *extent = PyTuple_GET_ITEM(tuple, d);
        shape[d] = PyLong_CheckExact(extent) ? PyLong_AsSsize_t(extent) : -1;
        if (shape[d] < 1 || __builtin_mul_overflow(*size, shape[d], size)) {
            PyErr_Clear();
            return -1;
        }
    }
    return (int)PyTuple_GET_SIZE(tuple);
}

static bool
is_indices(PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    return PyArray_CheckExact(object) && PyArray_DESCR(array)->type_num == NPY_INTP &&
           PyArray_ISCARRAY_RO(array) && PyArray_NDIM(array) > 0 &&
           PyArray_NDIM(array) < NPY_MAXDIMS;
}

/* A number; false: it is none of 64 bits. */
static bool
read_number(PyObject *object, npy_intp *number)
{
    if (!PyLong_CheckExact(object) && !PyArray_IsScalar(object, Integer))
        return false;
    *number = PyNumber_AsSsize_t(object, PyExc_OverflowError);
    bool known = *number != -1 || !PyErr_Occurred();
    PyErr_Clear();
    return known;
}

static PyObject *
number_new(npy_intp number)
{
    PyArray_Descr *descr = PyArray_DescrFromType(NPY_INTP);
    PyObject *result = PyArray_Scalar(&number, descr, NULL);
    Py_DECREF(descr);
    return result;
}

/* -- unravel_index ----------------------------------------------------------------- */

static PyObject *
unravel_number(npy_intp i, const npy_intp *shape, int n)
{
    PyObject *result = PyTuple_New(n);
    for (int d = n; result && d-- > 0; i /= shape[d]) {
        PyObject *number = number_new(i % shape[d]);
        if (number)
            PyTuple_SET_ITEM(result, d, number);
        else
            Py_CLEAR(result);
    }
    return result;
}

/* The numbers of an element along all axes lie side by side: NumPy's layout. */
static PyObject *
unravel_array(PyArrayObject *indices, const npy_intp *shape, int n)
{
    npy_intp all[NPY_MAXDIMS], count = PyArray_SIZE(indices);
    int ndim = PyArray_NDIM(indices);
    for (int d = 0; d < ndim; d++)
        all[d] = PyArray_DIM(indices, d);
    all[ndim] = n;
    PyArrayObject *memory = (PyArrayObject *)PyArray_SimpleNew(ndim + 1, all, NPY_INTP);
    PyObject *result = memory ? PyTuple_New(n) : NULL;
    const npy_intp *from = PyArray_DATA(indices);
    npy_intp *to = memory ? PyArray_DATA(memory) : NULL;
    for (npy_intp k = 0; result && k < count; k++, to += n) {
        npy_intp i = from[k];
        for (int d = n; d-- > 0; i /= shape[d])
            to[d] = i % shape[d];
    }
    for (int d = 0; result && d < n; d++) {
        PyObject *part = PyArray_NewFromDescr(
            &PyArray_Type, PyArray_DescrFromType(NPY_INTP), ndim, all,
            PyArray_STRIDES(memory), PyArray_BYTES(memory) + d * (npy_intp)sizeof *to,
            NPY_ARRAY_WRITEABLE, NULL);
        if (part && PyArray_SetBaseObject((PyArrayObject *)part, Py_NewRef(memory)) < 0)
            Py_CLEAR(part);
        if (!part) {
            Py_CLEAR(result);
            break;
        }
        PyTuple_SET_ITEM(result, d, part);
    }
    Py_XDECREF(memory);
    return result;
}

PyObject *
jit_own_unravel_index(PyObject *plain, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *kwnames)
{
    npy_intp shape[NPY_MAXDIMS], size, number = -1;
    int n = nargs == 2 && !kwnames ? read_shape(args[1], shape, &size) : -1;
    PyArrayObject *indices =
        n > 0 && is_indices(args[0]) ? (PyArrayObject *)args[0] : NULL;
    bool inside = indices != NULL;
    const npy_intp *i = indices ? PyArray_DATA(indices) : NULL;
    for (npy_intp k = 0; inside && k < PyArray_SIZE(indices); k++)
        inside = i[k] >= 0 && i[k] < size;
    if (inside)
        return unravel_array(indices, shape, n);
    if (n > 0 && !indices && read_number(args[0], &number) && number >= 0 &&
        number < size)
        return unravel_number(number, shape, n);
    return PyObject_Vectorcall(plain, args, (size_t)nargs, kwnames);
}

static bool
is_index_argument(const OwnCall *call, PyObject *part)
{
    OwnArray array;
    npy_intp step = sizeof(npy_intp);
    if (!jit_own_array(call, part, &array))
        return PyLong_CheckExact(part);
    if (array.number)
        return array.integer;
    bool known = array.descr && array.descr->type_num == NPY_INTP && array.ndim > 0;
    for (int d = array.ndim; known && d-- > 0; step *= array.shape[d])
        known = array.shape[d] == 1 || array.strides[d] == step;
    return known;
}

bool
jit_own_fits_unravel_index(const OwnCall *call)
{
    npy_intp shape[NPY_MAXDIMS], size;
    return PyTuple_GET_SIZE(call->args) == 2 && !call->kwargs &&
           is_index_argument(call, PyTuple_GET_ITEM(call->args, 0)) &&
           read_shape(PyTuple_GET_ITEM(call->args, 1), shape, &size) > 0;
}

/* -- ravel_multi_index ------------------------------------------------------------- */

static PyObject *
ravel_numbers(PyObject *tuple, const npy_intp *shape, int n)
{
    npy_intp result = 0, i;
    for (int d = 0; d < n; d++) {
        if (!read_number(PyTuple_GET_ITEM(tuple, d), &i) || i < 0 || i >= shape[d])
            return NULL;
        result = result * shape[d] + i;
    }
    return number_new(result);
}

static PyObject *
ravel_arrays(PyObject *tuple, const npy_intp *shape, int n)
{
    PyArrayObject *first = (PyArrayObject *)PyTuple_GET_ITEM(tuple, 0);
    npy_intp count = PyArray_SIZE(first);
    for (int d = 0; d < n; d++) {
        PyArrayObject *part = (PyArrayObject *)PyTuple_GET_ITEM(tuple, d);
        if (!is_indices((PyObject *)part) ||
            PyArray_NDIM(part) != PyArray_NDIM(first) ||
            !jit_same_axes(PyArray_NDIM(first), PyArray_DIMS(part),
                           PyArray_DIMS(first)))
            return NULL;
        const npy_intp *i = PyArray_DATA(part);
        for (npy_intp k = 0; k < count; k++) {
            if (i[k] < 0 || i[k] >= shape[d])
                return NULL;
        }
    }
    PyObject *result =
        PyArray_ZEROS(PyArray_NDIM(first), PyArray_DIMS(first), NPY_INTP, 0);
    npy_intp *to = result ? PyArray_DATA((PyArrayObject *)result) : NULL;
    for (int d = 0; result && d < n; d++) {
        const npy_intp *i = PyArray_DATA((PyArrayObject *)PyTuple_GET_ITEM(tuple, d));
        for (npy_intp k = 0; k < count; k++)
            to[k] = to[k] * shape[d] + i[k];
    }
    return result;
}

PyObject *
jit_own_ravel_multi_index(PyObject *plain, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
    npy_intp shape[NPY_MAXDIMS], size;
    int n = nargs == 2 && !kwnames ? read_shape(args[1], shape, &size) : -1;
    PyObject *result = NULL;
    if (n > 0 && PyTuple_CheckExact(args[0]) && PyTuple_GET_SIZE(args[0]) == n)
        result = is_indices(PyTuple_GET_ITEM(args[0], 0))
                     ? ravel_arrays(args[0], shape, n)
                     : ravel_numbers(args[0], shape, n);
    PyErr_Clear(); /* NumPy's words */
    return result ? result : PyObject_Vectorcall(plain, args, (size_t)nargs, kwnames);
}

bool
jit_own_fits_ravel_multi_index(const OwnCall *call)
{
    npy_intp shape[NPY_MAXDIMS], size;
    if (PyTuple_GET_SIZE(call->args) != 2 || call->kwargs)
        return false;
    PyObject *tuple = PyTuple_GET_ITEM(call->args, 0);
    int n = read_shape(PyTuple_GET_ITEM(call->args, 1), shape, &size), arrays = 0;
    bool fits = n > 0 && PyTuple_CheckExact(tuple) && PyTuple_GET_SIZE(tuple) == n;
    for (int d = 0; fits && d < n; d++) {
        OwnArray array;
        fits = is_index_argument(call, PyTuple_GET_ITEM(tuple, d));
        arrays +=
            jit_own_array(call, PyTuple_GET_ITEM(tuple, d), &array) && !array.number;
    }
    return fits && (arrays == 0 || arrays == n);
}
