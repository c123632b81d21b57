/* products.c - products of small matrices and vectors as a function of our own: NumPy's loop for them without the way
** that ufuncs have to it. Bits are NumPy's. */
#include "jit/own.h"
#include "kernels/kernels.h"

enum { SMALL_PRODUCT = 16 * 16 * 16 /* products of two numbers */ };

/* Rows, what they have in common, columns; of a vector that has none: 1. */
typedef struct Sizes {
    npy_intp rows, inner, columns;
} Sizes;

static bool
sizes_of(int x_ndim, const npy_intp *x, int y_ndim, const npy_intp *y, Sizes *sizes)
{
    if (x_ndim < 1 || x_ndim > 2 || y_ndim < 1 || y_ndim > 2 || x[x_ndim - 1] != y[0])
        return false;
    sizes->rows = x_ndim == 2 ? x[0] : 1;
    sizes->inner = y[0];
    sizes->columns = y_ndim == 2 ? y[1] : 1;
    return sizes->rows && sizes->inner && sizes->columns &&
           sizes->rows * sizes->columns <= SMALL_PRODUCT / sizes->inner;
}

/* NULL without an exception: it is NumPy's. */
static PyObject *
product(PyArrayObject *x, PyArrayObject *y)
{
    int x_ndim = PyArray_NDIM(x), y_ndim = PyArray_NDIM(y), ndim = 0;
    npy_intp shape[2], row = 0, column = 0;
    KernelType type;
    Sizes s;
    if (PyArray_DESCR(x)->type_num != PyArray_DESCR(y)->type_num ||
        !kernel_type_find(PyArray_DESCR(x)->type, &type) || !kernel_product_has(type) ||
        !sizes_of(x_ndim, PyArray_DIMS(x), y_ndim, PyArray_DIMS(y), &s))
        return NULL;
    if (x_ndim == 2)
        shape[ndim++] = s.rows;
    if (y_ndim == 2)
        shape[ndim++] = s.columns;
    PyArray_Descr *descr = PyArray_DESCR(x);
    Py_INCREF(descr);
    PyArrayObject *out = (PyArrayObject *)PyArray_NewFromDescr(
        &PyArray_Type, descr, ndim, shape, NULL, NULL, 0, NULL);
    if (!out)
        return NULL;
    if (x_ndim == 2)
        row = PyArray_STRIDE(out, 0);
    if (y_ndim == 2)
        column = PyArray_STRIDE(out, ndim - 1);
    char *data[3] = {PyArray_BYTES(x), PyArray_BYTES(y), PyArray_BYTES(out)};
    const intptr_t sizes[4] = {1, s.rows, s.inner, s.columns};
    const intptr_t steps[9] = {0,
                               0,
                               0,
                               x_ndim == 2 ? PyArray_STRIDE(x, 0) : 0,
                               PyArray_STRIDE(x, x_ndim - 1),
                               PyArray_STRIDE(y, 0),
                               y_ndim == 2 ? PyArray_STRIDE(y, 1) : 0,
                               row,
                               column};
    kernel_product_run(type, data, sizes, steps);
    return PyArray_Return(out);
}

static bool
are_plain(PyObject *const *args, Py_ssize_t nargs, const PyObject *kwnames)
{
    return nargs == 2 && !kwnames && jit_own_plain(args[0]) && jit_own_plain(args[1]);
}

PyObject *
jit_own_matmul(PyObject *plain, PyObject *const *args, Py_ssize_t nargs,
               PyObject *kwnames)
{
    PyObject *result = NULL;
    if (are_plain(args, nargs, kwnames))
        result = product((PyArrayObject *)args[0], (PyArrayObject *)args[1]);
    if (result || PyErr_Occurred())
        return result;
    return PyObject_Vectorcall(plain, args, (size_t)nargs, kwnames);
}

/* One behind the other. */
static bool
is_row(PyObject *object)
{
    PyArrayObject *x = (PyArrayObject *)object;
    return PyArray_NDIM(x) == 1 && PyArray_STRIDE(x, 0) == PyArray_ITEMSIZE(x);
}

/* Of vectors np.dot is the same loop as np.matmul; steps backwards it copies. */
PyObject *
jit_own_dot(PyObject *plain, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    bool vectors =
        are_plain(args, nargs, kwnames) && is_row(args[0]) && is_row(args[1]);
    return vectors ? jit_own_matmul(plain, args, nargs, kwnames)
                   : PyObject_Vectorcall(plain, args, (size_t)nargs, kwnames);
}

/* The operands of a product that is small. */
static bool
operands_of(const OwnCall *call, OwnArray *x, OwnArray *y)
{
    KernelType type;
    Sizes sizes;
    return PyTuple_GET_SIZE(call->args) == 2 && !call->kwargs &&
           jit_own_array(call, PyTuple_GET_ITEM(call->args, 0), x) &&
           jit_own_array(call, PyTuple_GET_ITEM(call->args, 1), y) && x->descr &&
           y->descr && x->descr->type_num == y->descr->type_num &&
           kernel_type_find(x->descr->type, &type) && kernel_product_has(type) &&
           sizes_of(x->ndim, x->shape, y->ndim, y->shape, &sizes);
}

bool
jit_own_fits_matmul(const OwnCall *call)
{
    OwnArray x, y;
    return operands_of(call, &x, &y);
}

bool
jit_own_fits_dot(const OwnCall *call)
{
    OwnArray x, y;
    return operands_of(call, &x, &y) && x.ndim == 1 && y.ndim == 1;
}
