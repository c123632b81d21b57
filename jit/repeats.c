/* repeats.c - repeat and place as functions of our own, of arrays in C order. */
#include <string.h>

#include "jit/own.h"

/* -- repeat ------------------------------------------------------------------------ */

typedef struct Sixteen {
    uint64_t half[2];
} Sixteen; /* bytes: a complex128, or two elements in a row */

/* One element of so many bytes `times` times from `to` on. */
#define FILL(T)                                                                        \
    {                                                                                  \
        T value;                                                                       \
        memcpy(&value, from, sizeof value);                                            \
        for (npy_intp k = 0; k < times; k++)                                           \
            memcpy(to + k * (npy_intp)sizeof value, &value, sizeof value);             \
    }                                                                                  \
    break;

static inline void
fill(char *to, const char *from, npy_intp bytes, npy_intp times)
{
    switch (bytes) {
    case 1:
        FILL(uint8_t)
    case 2:
        FILL(uint16_t)
    case 4:
        FILL(uint32_t)
    case 8:
        FILL(uint64_t)
    case 16:
        FILL(Sixteen)
    default:
        for (npy_intp k = 0; k < times; k++)
            memcpy(to + k * bytes, from, (size_t)bytes);
    }
}

/* n elements, each as often as its count says, or `times` times. */
#define LINE(name, bytes)                                                              \
    static void name(char *to, const char *from, npy_intp n, npy_intp size,            \
                     const npy_intp *count, npy_intp times)                            \
    {                                                                                  \
        (void)size;                                                                    \
        for (npy_intp i = 0; i < n; i++) {                                             \
            npy_intp k = count ? count[i] : times;                                     \
            fill(to, from + i * (bytes), bytes, k);                                    \
            to += k * (bytes);                                                         \
        }                                                                              \
    }

LINE(line_4, 4)
LINE(line_8, 8)
LINE(line_16, 16)
LINE(line_any, size)

/* Pairs of one element, which vectors hold. */
static void
twice_8(char *to, const char *from, npy_intp n)
{
    for (npy_intp i = 0; i < n; i++) {
        uint64_t value;
        memcpy(&value, from + i * 8, sizeof value);
        memcpy(to + i * 16, &value, sizeof value);
        memcpy(to + i * 16 + 8, &value, sizeof value);
    }
}

static void
repeat_all(char *to, const char *from, npy_intp lines, npy_intp n, npy_intp bytes,
           const npy_intp *count, npy_intp times, npy_intp total)
{
    for (npy_intp i = 0; i < lines; i++, to += total * bytes, from += n * bytes) {
        if (bytes == 8 && !count && times == 2)
            twice_8(to, from, n);
        else if (bytes == 8)
            line_8(to, from, n, bytes, count, times);
        else if (bytes == 16)
            line_16(to, from, n, bytes, count, times);
        else if (bytes == 4)
            line_4(to, from, n, bytes, count, times);
        else
            line_any(to, from, n, bytes, count, times);
    }
}

/* How many there are of each element along the axis. */
typedef struct Counts {
    npy_intp times;
    const npy_intp *each; /* NULL: `times` */
    npy_intp total;
} Counts;

static bool
read_counts(PyObject *object, npy_intp n, Counts *counts)
{
    PyArrayObject *array = (PyArrayObject *)object;
    *counts = (Counts){0};
    if (PyLong_CheckExact(object)) {
        counts->times = PyLong_AsSsize_t(object);
        PyErr_Clear();
        return counts->times >= 0 &&
               !__builtin_mul_overflow(counts->times, n, &counts->total);
    }
    if (!PyArray_CheckExact(object) || PyArray_NDIM(array) != 1 ||
        PyArray_SIZE(array) != n || PyArray_DESCR(array)->type_num != NPY_INTP ||
        !PyArray_ISCARRAY_RO(array))
        return false;
    counts->each = PyArray_DATA(array);
    bool known = true;
    for (npy_intp i = 0; known && i < n; i++)
        known = counts->each[i] >= 0 &&
                !__builtin_add_overflow(counts->total, counts->each[i], &counts->total);
    return known;
}

/* repeat(x, counts, axis) of x in C order. NULL: it is NumPy's, or an exception is set. */
static PyObject *
repeat(PyArrayObject *x, PyObject *given, int axis)
{
    npy_intp shape[NPY_MAXDIMS], lines = 1, bytes = PyArray_ITEMSIZE(x),
                                 n = PyArray_DIM(x, axis);
    Counts counts;
    if (!PyArray_IS_C_CONTIGUOUS(x) || !read_counts(given, n, &counts))
        return NULL;
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        shape[d] = d == axis ? counts.total : PyArray_DIM(x, d);
        lines *= d < axis ? shape[d] : 1;
        bytes *= d > axis ? shape[d] : 1;
    }
    Py_INCREF(PyArray_DESCR(x));
    PyObject *result = PyArray_NewFromDescr(
        &PyArray_Type, PyArray_DESCR(x), PyArray_NDIM(x), shape, NULL, NULL, 0, NULL);
    if (result && bytes)
        repeat_all(PyArray_BYTES((PyArrayObject *)result), PyArray_BYTES(x), lines, n,
                   bytes, counts.each, counts.times, counts.total);
    return result;
}

PyObject *
jit_own_repeat(PyObject *plain, PyObject *const *args, Py_ssize_t nargs,
               PyObject *kwnames)
{
    PyObject *result = NULL;
    if (nargs == 3 && !kwnames && jit_own_plain(args[0]) &&
        PyLong_CheckExact(args[2])) {
        long axis = PyLong_AsLong(args[2]);
        if (axis >= 0 && axis < PyArray_NDIM((PyArrayObject *)args[0]))
            result = repeat((PyArrayObject *)args[0], args[1], (int)axis);
    }
    PyErr_Clear();
    return result ? result : PyObject_Vectorcall(plain, args, (size_t)nargs, kwnames);
}

static bool
is_in_c_order(const OwnArray *x)
{
    npy_intp step = x->descr ? PyDataType_ELSIZE(x->descr) : 0;
    for (int d = x->ndim; step && d-- > 0; step *= x->shape[d]) {
        if (x->shape[d] != 1 && x->strides[d] != step)
            return false;
    }
    return x->descr != NULL;
}

bool
jit_own_fits_repeat(const OwnCall *call)
{
    OwnArray x, counts;
    if (PyTuple_GET_SIZE(call->args) != 3 || call->kwargs ||
        !jit_own_array(call, PyTuple_GET_ITEM(call->args, 0), &x) ||
        !is_in_c_order(&x) || !PyLong_CheckExact(PyTuple_GET_ITEM(call->args, 2)))
        return false;
    PyObject *given = PyTuple_GET_ITEM(call->args, 1);
    return PyLong_CheckExact(given) ||
           (jit_own_array(call, given, &counts) && is_in_c_order(&counts) &&
            counts.ndim == 1 && counts.descr->type_num == NPY_INTP);
}

/* -- place ------------------------------------------------------------------------- */

/* place(x, mask, values): the values one after the other, again from the first on, where the mask is true. */
static bool
place(PyArrayObject *x, PyArrayObject *mask, PyArrayObject *values)
{
    npy_intp n = PyArray_SIZE(x), bytes = PyArray_ITEMSIZE(x),
             count = PyArray_SIZE(values), k = 0;
    const char *true_at = PyArray_BYTES(mask), *from = PyArray_BYTES(values);
    char *to = PyArray_BYTES(x);
    if (count == 0 || trace_overlap(x, mask) || trace_overlap(x, values))
        return false;
    for (npy_intp i = 0; i < n; i++) {
        if (!true_at[i])
            continue;
        if (bytes == 8)
            memcpy(to + i * 8, from + k * 8, 8);
        else
            memcpy(to + i * bytes, from + k * bytes, (size_t)bytes);
        k = k + 1 == count ? 0 : k + 1;
    }
    return true;
}

PyObject *
jit_own_place(PyObject *plain, PyObject *const *args, Py_ssize_t nargs,
              PyObject *kwnames)
{
    bool known = nargs == 3 && !kwnames;
    for (Py_ssize_t i = 0; known && i < 3; i++)
        known =
            jit_own_plain(args[i]) && PyArray_IS_C_CONTIGUOUS((PyArrayObject *)args[i]);
    PyArrayObject *x = (PyArrayObject *)args[0], *mask = (PyArrayObject *)args[1],
                  *values = (PyArrayObject *)args[2];
    if (known && PyArray_ISWRITEABLE(x) && PyArray_DESCR(mask)->type_num == NPY_BOOL &&
        PyArray_DESCR(values)->type_num == PyArray_DESCR(x)->type_num &&
        PyArray_SIZE(mask) == PyArray_SIZE(x) && place(x, mask, values))
        Py_RETURN_NONE;
    return PyObject_Vectorcall(plain, args, (size_t)nargs, kwnames);
}

bool
jit_own_fits_place(const OwnCall *call)
{
    OwnArray part[3];
    bool fits = PyTuple_GET_SIZE(call->args) == 3 && !call->kwargs;
    for (Py_ssize_t i = 0; fits && i < 3; i++)
        fits = jit_own_array(call, PyTuple_GET_ITEM(call->args, i), &part[i]) &&
               is_in_c_order(&part[i]);
    return fits && part[1].root != part[0].root && part[2].root != part[0].root &&
           PyDataType_ISBOOL(part[1].descr) &&
           part[2].descr->type_num == part[0].descr->type_num && part[2].ndim > 0;
}
