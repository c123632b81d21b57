/* choose.c - choose as a function of our own: of arrays of one dtype. */
#include <string.h>

#include "jit/own.h"

enum { CHOICES_MAX = 32 };

typedef struct Choose {
    int ndim, n; /* axes; choices */
    npy_intp shape[NPY_MAXDIMS], bytes;
    const char *from[CHOICES_MAX + 1]; /* the indices, then the choices */
    npy_intp strides[CHOICES_MAX + 1][NPY_MAXDIMS];
} Choose;

/* The axes of all, broadcast. */
static bool
join(Choose *c, PyArrayObject *const *arrays)
{
    c->ndim = 0;
    for (int k = 0; k <= c->n; k++)
        c->ndim = PyArray_NDIM(arrays[k]) > c->ndim ? PyArray_NDIM(arrays[k]) : c->ndim;
    for (int d = 0; d < c->ndim; d++)
        c->shape[d] = 1;
    for (int k = 0; k <= c->n; k++) {
        int skip = c->ndim - PyArray_NDIM(arrays[k]);
        c->from[k] = PyArray_BYTES(arrays[k]);
        for (int d = skip; d < c->ndim; d++) {
            npy_intp extent = PyArray_DIM(arrays[k], d - skip);
            if (extent != 1 && c->shape[d] != 1 && c->shape[d] != extent)
                return false;
            if (extent != 1)
                c->shape[d] = extent;
            c->strides[k][d] = extent == 1 ? 0 : PyArray_STRIDE(arrays[k], d - skip);
        }
    }
    return c->ndim > 0;
}

/* False: an index is out of range. */
static bool
choose_row(const Choose *c, char *to, const char *const *from)
{
    int last = c->ndim - 1;
    npy_intp step = c->strides[0][last];
    for (npy_intp i = 0; i < c->shape[last]; i++) {
        npy_intp k;
        memcpy(&k, from[0] + i * step, sizeof k);
        if (k < 0 || k >= c->n)
            return false;
        const char *at = from[k + 1] + i * c->strides[k + 1][last];
        if (c->bytes == 8)
            memcpy(to + i * 8, at, 8);
        else
            memcpy(to + i * c->bytes, at, (size_t)c->bytes);
    }
    return true;
}

static bool
choose_all(const Choose *c, char *to)
{
    npy_intp count[NPY_MAXDIMS] = {0};
    const char *from[CHOICES_MAX + 1];
    int last = c->ndim - 1;
    memcpy(from, c->from, sizeof from);
    for (;;) {
        if (!choose_row(c, to, from))
            return false;
        to += c->shape[last] * c->bytes;
        int d = last;
        for (; d-- > 0;) {
            bool more = ++count[d] < c->shape[d];
            for (int k = 0; k <= c->n; k++)
                from[k] += (more ? 1 : 1 - count[d]) * c->strides[k][d];
            if (more)
                break;
            count[d] = 0;
        }
        if (d < 0)
            return true;
    }
}

/* choose(i, choices) of an array of int64 and a list of arrays of one dtype. NULL: it is NumPy's. */
static PyObject *
choose(PyObject *indices, PyObject *list)
{
    PyArrayObject *arrays[CHOICES_MAX + 1] = {(PyArrayObject *)indices};
    Choose c = {.n = (int)PyList_GET_SIZE(list)};
    if (!jit_own_plain(indices) || PyArray_DESCR(arrays[0])->type_num != NPY_INTP)
        return NULL;
    for (int k = 0; k < c.n; k++) {
        arrays[k + 1] = (PyArrayObject *)PyList_GET_ITEM(list, k);
        if (!jit_own_plain((PyObject *)arrays[k + 1]) ||
            PyArray_DESCR(arrays[k + 1])->type_num !=
                PyArray_DESCR(arrays[1])->type_num)
            return NULL;
    }
    if (!join(&c, arrays))
        return NULL;
    c.bytes = PyArray_ITEMSIZE(arrays[1]);
    Py_INCREF(PyArray_DESCR(arrays[1]));
    PyObject *result = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(arrays[1]),
                                            c.ndim, c.shape, NULL, NULL, 0, NULL);
    if (result && PyArray_SIZE((PyArrayObject *)result) &&
        !choose_all(&c, PyArray_BYTES((PyArrayObject *)result)))
        Py_CLEAR(result);
    return result;
}

PyObject *
jit_own_choose(PyObject *plain, PyObject *const *args, Py_ssize_t nargs,
               PyObject *kwnames)
{
    PyObject *result = NULL;
    if (nargs == 2 && !kwnames && PyList_CheckExact(args[1]) &&
        PyList_GET_SIZE(args[1]) > 0 && PyList_GET_SIZE(args[1]) <= CHOICES_MAX)
        result = choose(args[0], args[1]);
    PyErr_Clear(); /* NumPy's words */
    return result ? result : PyObject_Vectorcall(plain, args, (size_t)nargs, kwnames);
}

bool
jit_own_fits_choose(const OwnCall *call)
{
    OwnArray indices, first, other;
    PyObject *list = PyTuple_GET_SIZE(call->args) == 2 && !call->kwargs
                         ? PyTuple_GET_ITEM(call->args, 1)
                         : NULL;
    if (!list || !PyList_CheckExact(list) || PyList_GET_SIZE(list) == 0 ||
        PyList_GET_SIZE(list) > CHOICES_MAX ||
        !jit_own_array(call, PyTuple_GET_ITEM(call->args, 0), &indices) ||
        !indices.descr || indices.descr->type_num != NPY_INTP ||
        !jit_own_array(call, PyList_GET_ITEM(list, 0), &first) || !first.descr)
        return false;
    int most = indices.ndim > first.ndim ? indices.ndim : first.ndim;
    for (Py_ssize_t k = 1; k < PyList_GET_SIZE(list); k++) {
        if (!jit_own_array(call, PyList_GET_ITEM(list, k), &other) || !other.descr ||
            other.descr->type_num != first.descr->type_num)
            return false;
        most = other.ndim > most ? other.ndim : most;
    }
    return most > 0;
}
