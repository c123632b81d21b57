/* masks.c - elements that one mask picks, and elements stored where it is true: for own functions of subscripts
** (indexing.c). Other keys with masks in them are positions there.
*/
#include <string.h>

#include "jit/own.h"
#include "kernels/kernels.h"

bool
jit_mask_is(PyObject *object)
{
    return PyArray_CheckExact(object) &&
           PyArray_DESCR((PyArrayObject *)object)->type_num == NPY_BOOL &&
           PyArray_NDIM((PyArrayObject *)object) > 0;
}

/* True of a lone mask of all axes: what is stored has one axis then, or none. */
bool
jit_mask_covers(PyArrayObject *x, PyObject *key)
{
    return jit_own_plain((PyObject *)x) && jit_mask_is(key) &&
           PyArray_NDIM((PyArrayObject *)key) == PyArray_NDIM(x);
}

/* The axes of the mask are the first ones of x, and both are in C order. */
bool
jit_mask_leads(PyArrayObject *x, PyObject *key)
{
    if (!jit_mask_is(key))
        return false;
    PyArrayObject *mask = (PyArrayObject *)key;
    int n = PyArray_NDIM(mask);
    return n <= PyArray_NDIM(x) && PyArray_IS_C_CONTIGUOUS(x) &&
           PyArray_IS_C_CONTIGUOUS(mask) &&
           jit_same_axes(n, PyArray_DIMS(mask), PyArray_DIMS(x));
}

/* Bytes of x for an element of a mask of its first axes. */
static npy_intp
row_bytes(PyArrayObject *x, PyArrayObject *mask)
{
    npy_intp bytes = PyArray_ITEMSIZE(x);
    for (int d = PyArray_NDIM(mask); d < PyArray_NDIM(x); d++)
        bytes *= PyArray_DIM(x, d);
    return bytes;
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

static void
unpack_rows(char *to, const char *from, const char *mask, npy_intp n, npy_intp bytes)
{
    for (npy_intp i = 0; i < n; i++) {
        if (mask[i]) {
            memcpy(to + i * bytes, from, (size_t)bytes);
            from += bytes;
        }
    }
}

static PyObject *
select_leading(PyArrayObject *x, PyArrayObject *mask)
{
    int skip = PyArray_NDIM(mask), ndim = PyArray_NDIM(x) - skip + 1;
    npy_intp shape[NPY_MAXDIMS], bytes = row_bytes(x, mask);
    shape[0] = PyArray_CountNonzero(mask);
    for (int d = 1; d < ndim; d++)
        shape[d] = PyArray_DIM(x, skip + d - 1);
    if (shape[0] < 0)
        return NULL;
    Py_INCREF(PyArray_DESCR(x));
    PyObject *result = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(x), ndim,
                                            shape, NULL, NULL, 0, NULL);
    if (!result)
        return NULL;
    char *to = PyArray_BYTES((PyArrayObject *)result);
    if (!kernel_pack(to, PyArray_BYTES(x), PyArray_BYTES(mask), bytes ? shape[0] : 0,
                     bytes))
        pack_rows(to, PyArray_BYTES(x), PyArray_BYTES(mask), bytes ? shape[0] : 0,
                  bytes);
    return result;
}

/* A run of x, elements `xs` apart: what the mask picks, of `count` that are left. Nothing depends on which they are. */
#define PICK(name, T)                                                                  \
    static npy_intp name(char *to, const char *x, npy_intp xs, const char *mask,       \
                         npy_intp ms, npy_intp n, npy_intp count)                      \
    {                                                                                  \
        npy_intp k = 0;                                                                \
        for (npy_intp i = 0; i < n && k < count; i++) {                                \
            memcpy(to + k * (npy_intp)sizeof(T), x + i * xs, sizeof(T));               \
            k += mask[i * ms] != 0;                                                    \
        }                                                                              \
        return k;                                                                      \
    }
PICK(pick_1, uint8_t)
PICK(pick_2, uint16_t)
PICK(pick_4, uint32_t)
PICK(pick_8, uint64_t)

/* x[mask] of a mask of all axes, wherever they lie. NULL without an exception: not of this size. */
static PyObject *
select_whole(PyArrayObject *x, PyArrayObject *mask)
{
    npy_intp bytes = PyArray_ITEMSIZE(x), size = PyArray_SIZE(x), count,
             at[NPY_MAXDIMS] = {0};
    npy_intp (*pick)(char *, const char *, npy_intp, const char *, npy_intp, npy_intp,
                     npy_intp) = bytes == 1   ? pick_1
                                 : bytes == 2 ? pick_2
                                 : bytes == 4 ? pick_4
                                 : bytes == 8 ? pick_8
                                              : NULL;
    int last = PyArray_NDIM(x) - 1;
    if (!pick || (count = PyArray_CountNonzero(mask)) < 0)
        return NULL;
    Py_INCREF(PyArray_DESCR(x));
    PyObject *result = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(x), 1, &count,
                                            NULL, NULL, 0, NULL);
    char *to = result ? PyArray_BYTES((PyArrayObject *)result) : NULL;
    const char *from = PyArray_BYTES(x), *truth = PyArray_BYTES(mask);
    while (result && size && count > 0) {
        npy_intp n = pick(to, from, PyArray_STRIDE(x, last), truth,
                          PyArray_STRIDE(mask, last), PyArray_DIM(x, last), count);
        to += n * bytes;
        count -= n;
        for (int d = last; d-- > 0;) {
            bool more = ++at[d] < PyArray_DIM(x, d);
            from += (more ? 1 : 1 - at[d]) * PyArray_STRIDE(x, d);
            truth += (more ? 1 : 1 - at[d]) * PyArray_STRIDE(mask, d);
            if (more)
                break;
            at[d] = 0;
        }
    }
    return result;
}

/* x[mask] = y where y has a row for each element of the mask that is true. False: it is another store. */
bool
jit_mask_store(PyArrayObject *x, PyArrayObject *mask, PyArrayObject *y)
{
    npy_intp bytes = row_bytes(x, mask), n = PyArray_SIZE(mask);
    int skip = PyArray_NDIM(mask), ndim = PyArray_NDIM(x) - skip + 1;
    if (PyArray_NDIM(y) != ndim || !PyArray_IS_C_CONTIGUOUS(y) ||
        PyArray_DIM(y, 0) != PyArray_CountNonzero(mask) ||
        !jit_same_axes(ndim - 1, PyArray_DIMS(y) + 1, PyArray_DIMS(x) + skip))
        return false;
    if (!kernel_unpack(PyArray_BYTES(x), PyArray_BYTES(y), PyArray_BYTES(mask),
                       bytes ? n : 0, bytes))
        unpack_rows(PyArray_BYTES(x), PyArray_BYTES(y), PyArray_BYTES(mask),
                    bytes ? n : 0, bytes);
    return true;
}

PyObject *
jit_mask_select(PyArrayObject *x, PyArrayObject *mask)
{
    npy_intp bytes = PyArray_ITEMSIZE(x);
    if (jit_mask_leads(x, (PyObject *)mask))
        return select_leading(x, mask);
    return bytes <= 8 && jit_mask_covers(x, (PyObject *)mask) &&
                   jit_same_axes(PyArray_NDIM(x), PyArray_DIMS(mask), PyArray_DIMS(x))
               ? select_whole(x, mask)
               : NULL;
}
