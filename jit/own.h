/* own.h - functions that plans call instead of NumPy's: own.def. */
#pragma once

#include "jit/planner.h"

/* An argument as the trace saw it. */
typedef struct OwnArray {
    IrValue root; /* whose memory it is */
    PyArray_Descr
        *descr; /* NULL: it is no array of numbers or bools in the machine's own form */
    int ndim;
    npy_intp shape[NPY_MAXDIMS];
    const npy_intp *strides; /* NULL: it has no axes */
    bool number, integer;    /* it is no array but a number; and one of integers */
} OwnArray;

typedef struct OwnCall {
    const Planner *p;
    const TraceSite *site;
    PyObject *args, *kwargs; /* templates; kwargs or NULL */
} OwnCall;

/* The argument that a part of a template stands for. False: it is none. */
bool jit_own_array(const OwnCall *call, PyObject *part, OwnArray *array);
/* The callable for a site; borrowed. NULL: NumPy's own. */
PyObject *jit_own_callable(const Planner *p, const TraceSite *site);

/* An exact array of numbers or bools, aligned and in the machine's byte order. */
static inline bool
jit_own_plain(PyObject *object)
{
    if (!PyArray_CheckExact(object))
        return false;
    PyArrayObject *array = (PyArrayObject *)object;
    return (PyDataType_ISNUMBER(PyArray_DESCR(array)) ||
            PyDataType_ISBOOL(PyArray_DESCR(array))) &&
           PyArray_ISNOTSWAPPED(array) && PyArray_ISALIGNED(array);
}

/* -- masks.c ----------------------------------------------------------------------- */

bool jit_mask_is(PyObject *object); /* an array of bools that has axes */
bool jit_mask_covers(
    PyArrayObject *x,
    PyObject *key); /* of all axes of x: what is stored has one axis then, or none */
bool
jit_mask_leads(PyArrayObject *x,
               PyObject *key); /* of the first axes of x, and both are in C order */
/* x[mask]; NULL without an exception: they lie in another way. */
PyObject *jit_mask_select(PyArrayObject *x, PyArrayObject *mask);
/* x[mask] = y where y has a row for each element of a leading mask that is true. False: it is another store. */
bool jit_mask_store(PyArrayObject *x, PyArrayObject *mask, PyArrayObject *y);

#define OWN(owner, name, function)                                                     \
    PyObject *jit_own_##function(PyObject *plain, PyObject *const *args,               \
                                 Py_ssize_t nargs, PyObject *kwnames);                 \
    bool jit_own_fits_##function(const OwnCall *call);
#include "jit/own.def"
#undef OWN
