/* positions.c - where a mask is true, as functions of our own: nonzero, argwhere, flatnonzero. What is no mask is
** made one by the trace (trace/positions.c). */
#include "jit/own.h"
#include "kernels/kernels.h"

/* The places of what is true in C order: along axis d from to + d * axis on, `step` apart. */
static void
write_positions(int64_t *to, npy_intp step, npy_intp axis, PyArrayObject *mask,
                npy_intp count)
{
    int ndim = PyArray_NDIM(mask);
    const npy_intp *shape = PyArray_DIMS(mask);
    npy_intp coordinate[NPY_MAXDIMS] = {0}, run = shape[ndim - 1], k = 0;
    int64_t *last = to + (ndim - 1) * axis;
    for (const char *at = PyArray_BYTES(mask); k < count; at += run) {
        npy_intp found = kernel_positions(last + k * step, step, at, run, count - k);
        for (int d = 0; d < ndim - 1; d++) {
            for (npy_intp i = k; i < k + found; i++)
                to[i * step + d * axis] = coordinate[d];
        }
        k += found;
        for (int d = ndim - 1; d-- > 0 && ++coordinate[d] == shape[d];)
            coordinate[d] = 0;
    }
}

/* The one argument, a mask, in C order. NULL: another call, or an exception is set. */
static PyArrayObject *
mask_of(PyObject *const *args, Py_ssize_t nargs, const PyObject *kwnames)
{
    if (nargs != 1 || kwnames || !PyArray_CheckExact(args[0]) ||
        PyArray_NDIM((PyArrayObject *)args[0]) == 0 ||
        PyArray_DESCR((PyArrayObject *)args[0])->type_num != NPY_BOOL)
        return NULL;
    return (PyArrayObject *)PyArray_FROM_OF(args[0], NPY_ARRAY_CARRAY_RO);
}

/* All positions: a row for each, or for each axis. */
static PyArrayObject *
positions(PyArrayObject *mask, bool turned)
{
    int ndim = PyArray_NDIM(mask);
    npy_intp count = PyArray_CountNonzero(mask);
    npy_intp shape[2] = {turned ? ndim : count, turned ? count : ndim};
    PyArrayObject *all =
        count < 0 ? NULL : (PyArrayObject *)PyArray_SimpleNew(2, shape, NPY_INTP);
    if (all && count)
        write_positions(PyArray_DATA(all), turned ? 1 : ndim, turned ? count : 1, mask,
                        count);
    return all;
}

/* A window on all positions: element `first` and those `step` further on. */
static PyObject *
window(PyArrayObject *all, int ndim, const npy_intp *shape, const npy_intp *strides,
       npy_intp first)
{
    PyObject *result = PyArray_NewFromDescr(
        &PyArray_Type, PyArray_DescrFromType(NPY_INTP), ndim, shape, strides,
        PyArray_BYTES(all) + first, NPY_ARRAY_WRITEABLE, NULL);
    if (result && PyArray_SetBaseObject((PyArrayObject *)result, Py_NewRef(all)) < 0)
        Py_CLEAR(result);
    return result;
}

PyObject *
jit_own_nonzero(PyObject *plain, PyObject *const *args, Py_ssize_t nargs,
                PyObject *kwnames)
{
    PyArrayObject *mask = mask_of(args, nargs, kwnames),
                  *all = mask ? positions(mask, false) : NULL;
    if (!mask && !PyErr_Occurred())
        return PyObject_Vectorcall(plain, args, (size_t)nargs, kwnames);
    int ndim = mask ? PyArray_NDIM(mask) : 0;
    PyObject *result = all ? PyTuple_New(ndim) : NULL;
    for (int d = 0; result && d < ndim; d++) {
        PyObject *part = window(all, 1, PyArray_DIMS(all), PyArray_STRIDES(all),
                                d * (npy_intp)sizeof(int64_t));
        if (part)
            PyTuple_SET_ITEM(result, d, part);
        else
            Py_CLEAR(result);
    }
    Py_XDECREF(all);
    Py_XDECREF(mask);
    return result;
}

PyObject *
jit_own_argwhere(PyObject *plain, PyObject *const *args, Py_ssize_t nargs,
                 PyObject *kwnames)
{
    PyArrayObject *mask = mask_of(args, nargs, kwnames),
                  *all = mask ? positions(mask, true) : NULL;
    if (!mask && !PyErr_Occurred())
        return PyObject_Vectorcall(plain, args, (size_t)nargs, kwnames);
    PyObject *result = all ? PyArray_Transpose(all, NULL) : NULL;
    Py_XDECREF(all);
    Py_XDECREF(mask);
    return result;
}

/* Positions in the mask as one axis. */
PyObject *
jit_own_flatnonzero(PyObject *plain, PyObject *const *args, Py_ssize_t nargs,
                    PyObject *kwnames)
{
    PyArrayObject *mask = mask_of(args, nargs, kwnames), *all = NULL;
    if (!mask && !PyErr_Occurred())
        return PyObject_Vectorcall(plain, args, (size_t)nargs, kwnames);
    npy_intp count = mask ? PyArray_CountNonzero(mask) : -1, step = sizeof(int64_t);
    if (count >= 0)
        all = (PyArrayObject *)PyArray_SimpleNew(1, &count, NPY_INTP);
    PyObject *result = all ? window(all, 1, &count, &step, 0) : NULL;
    if (result)
        kernel_positions(PyArray_DATA(all), 1, PyArray_BYTES(mask), PyArray_SIZE(mask),
                         count);
    Py_XDECREF(all);
    Py_XDECREF(mask);
    return result;
}

bool
jit_own_fits_nonzero(const OwnCall *call)
{
    OwnArray mask;
    return PyTuple_GET_SIZE(call->args) == 1 && !call->kwargs &&
           jit_own_array(call, PyTuple_GET_ITEM(call->args, 0), &mask) && mask.descr &&
           mask.ndim && PyDataType_ISBOOL(mask.descr);
}

bool
jit_own_fits_argwhere(const OwnCall *call)
{
    return jit_own_fits_nonzero(call);
}

bool
jit_own_fits_flatnonzero(const OwnCall *call)
{
    return jit_own_fits_nonzero(call);
}
