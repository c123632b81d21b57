/* repeats.c - numbers repeated as often as an array of counts says, as a function of our own. Elements of other
** arrays are taken by them (python/pyasc/_written.py). */
#include "jit/own.h"

static bool
is_line(PyObject *object)
{
    return PyArray_CheckExact(object) && PyArray_NDIM((PyArrayObject *)object) == 1 &&
           PyArray_DESCR((PyArrayObject *)object)->type_num == NPY_INTP && PyArray_ISCARRAY_RO((PyArrayObject *)object);
}

PyObject *
jit_own_repeat(PyObject *plain, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    bool known = nargs == 2 && !kwnames && is_line(args[0]) && is_line(args[1]) &&
                 PyArray_SIZE((PyArrayObject *)args[0]) == PyArray_SIZE((PyArrayObject *)args[1]);
    const npy_intp *count = known ? PyArray_DATA((PyArrayObject *)args[1]) : NULL;
    const npy_intp *from = known ? PyArray_DATA((PyArrayObject *)args[0]) : NULL;
    npy_intp n = known ? PyArray_SIZE((PyArrayObject *)args[0]) : 0, total = 0;
    for (npy_intp i = 0; known && i < n; i++)
        known = count[i] >= 0 && !__builtin_add_overflow(total, count[i], &total);
    if (!known)
        return PyObject_Vectorcall(plain, args, (size_t)nargs, kwnames);
    PyObject *result = PyArray_SimpleNew(1, &total, NPY_INTP);
    npy_intp *to = result ? PyArray_DATA((PyArrayObject *)result) : NULL;
    for (npy_intp i = 0; result && i < n; i++) {
        for (npy_intp k = 0; k < count[i]; k++)
            *to++ = from[i];
    }
    return result;
}

bool
jit_own_fits_repeat(const OwnCall *call)
{
    OwnArray part;
    bool fits = PyTuple_GET_SIZE(call->args) == 2 && !call->kwargs;
    for (Py_ssize_t i = 0; fits && i < 2; i++)
        fits = jit_own_array(call, PyTuple_GET_ITEM(call->args, i), &part) && part.descr && part.ndim == 1 &&
               part.descr->type_num == NPY_INTP && (part.shape[0] == 1 || part.strides[0] == sizeof(npy_intp));
    return fits;
}
