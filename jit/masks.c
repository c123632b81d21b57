/* masks.c - x[mask] as a function of our own, for sites of plans: how much it gives is not known before.
**
** It takes what operator.getitem takes. What is not as it expects is NumPy's.
*/
#include <string.h>

#include "jit/jit.h"
#include "kernels/kernels.h"

/* The axes of the mask are the first ones of x. */
static bool
is_plain(PyArrayObject *x, PyArrayObject *mask)
{
    int n = PyArray_NDIM(mask);
    return PyArray_DESCR(mask)->type_num == NPY_BOOL && n > 0 && n <= PyArray_NDIM(x) &&
           PyArray_IS_C_CONTIGUOUS(x) && PyArray_IS_C_CONTIGUOUS(mask) &&
           (PyDataType_ISNUMBER(PyArray_DESCR(x)) || PyDataType_ISBOOL(PyArray_DESCR(x))) &&
           memcmp(PyArray_DIMS(x), PyArray_DIMS(mask), (size_t)n * sizeof(npy_intp)) == 0;
}

/* Rows of so many bytes. */
static void
pack_rows(char *to, const char *from, const char *mask, npy_intp count, npy_intp bytes)
{
    for (npy_intp i = 0, k = 0; k < count; i++) {
        if (mask[i])
            memcpy(to + k++ * bytes, from + i * bytes, (size_t)bytes);
    }
}

static PyObject *
select_by_mask(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError, "two arguments are needed");
    PyArrayObject *x = (PyArrayObject *)args[0], *mask = (PyArrayObject *)args[1];
    if (!PyArray_CheckExact(args[0]) || !PyArray_CheckExact(args[1]) || !is_plain(x, mask))
        return PyObject_GetItem(args[0], args[1]);
    int skip = PyArray_NDIM(mask), ndim = PyArray_NDIM(x) - skip + 1;
    npy_intp shape[NPY_MAXDIMS], bytes = PyArray_ITEMSIZE(x);
    shape[0] = PyArray_CountNonzero(mask);
    for (int d = 1; d < ndim; d++) {
        shape[d] = PyArray_DIM(x, skip + d - 1);
        bytes *= shape[d];
    }
    if (shape[0] < 0)
        return NULL;
    Py_INCREF(PyArray_DESCR(x));
    PyObject *result = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(x), ndim, shape, NULL, NULL, 0,
                                            NULL);
    if (!result)
        return NULL;
    char *to = PyArray_BYTES((PyArrayObject *)result);
    if (!kernel_pack(to, PyArray_BYTES(x), PyArray_BYTES(mask), bytes ? shape[0] : 0, bytes))
        pack_rows(to, PyArray_BYTES(x), PyArray_BYTES(mask), bytes ? shape[0] : 0, bytes);
    return result;
}

static PyMethodDef select_method = {"<compiled selection>", (PyCFunction)(void (*)(void))select_by_mask,
                                    METH_FASTCALL, NULL};

int
jit_masks_new(JitState *state)
{
    PyObject *function = PyCFunction_New(&select_method, NULL);
    if (!function)
        return -1;
    trace_state_set_selection(state->trace, function);
    Py_DECREF(function);
    return 0;
}
