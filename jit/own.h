/* own.h - functions that plans call instead of NumPy's: own.def. */
#pragma once

#include "jit/planner.h"

/* An argument as the trace saw it. */
typedef struct OwnArray {
    IrValue root;         /* whose memory it is */
    PyArray_Descr *descr; /* NULL: it is no array of numbers or bools in the machine's own form */
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
    return (PyDataType_ISNUMBER(PyArray_DESCR(array)) || PyDataType_ISBOOL(PyArray_DESCR(array))) &&
           PyArray_ISNOTSWAPPED(array) && PyArray_ISALIGNED(array);
}

#define OWN(owner, name, function)                                                                 \
    PyObject *jit_own_##function(PyObject *plain, PyObject *const *args, Py_ssize_t nargs,         \
                                 PyObject *kwnames);                                               \
    bool jit_own_fits_##function(const OwnCall *call);
#include "jit/own.def"
#undef OWN
