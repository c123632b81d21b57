/* composed.h - shared by the files that make rows of composed.def. */
#pragma once

#include "trace/internal.h"

enum { COMPOSED_ARGUMENTS = 10 };

#define COMPOSED(name, parameters, make)                                               \
    PyObject *trace_make_##make(Trace *trace, PyObject *const *arguments);
#define COMPOSED_METHOD COMPOSED
#include "trace/composed.def"
#undef COMPOSED
#undef COMPOSED_METHOD

/* numpy.float32(number) and its like. */
PyObject *trace_number(Trace *trace, PyObject *type, PyObject *number);
/* Py_NotImplemented, no exception set. */
PyObject *trace_not_here(void);
/* The array of this trace that the object is, of a dtype and a layout that ops work on; or NULL. */
Tracer *trace_as_array(Trace *trace, PyObject *object);
/* True where the cast of a scalar is that of its loop, and never raises. */
bool trace_casts_plainly(int from, int to);
/* The node of a copy in an order. */
IrValue trace_copy_node(Trace *trace, IrValue from, bool truth, char order);
/* -- parts.c: a function of NumPy's namespace, called; args is stolen. */
PyObject *trace_numpy_call(Trace *trace, const char *name, PyObject *args);

/* True of a result; NULL is an error, NotImplemented a call that is not made this way. */
static inline bool
trace_is_made(const PyObject *object)
{
    return object && object != Py_NotImplemented;
}

/* x in C or Fortran order, whose result has the same (rounding.c). */
bool trace_in_one_piece(const Tracer *x);
/* -- zero_dim.c: a new array without axes of a scalar or number, of `dtype` or its own (NULL, None). */
PyObject *trace_zero_dim(Trace *trace, PyObject *object, PyObject *dtype);
/* -- copies.c ---------------------------------------------------------------------- */
/* Memory without values. */
/* shapes.c: the array under another shape, where that is a view for all extents; Py_NotImplemented: it may be none. */
PyObject *trace_reshaped(Tracer *x, PyObject *const *shape, Py_ssize_t n);
PyObject *trace_reshaped_to(Tracer *x, PyObject *const *args, size_t nargs);
PyObject *trace_new_empty(Trace *trace, PyArray_Descr *descr, int ndim,
                          const npy_intp *shape, const npy_intp *strides);
PyObject *trace_array_of(Trace *trace, PyObject *list);
/* A copy in C order as one axis, which owns its memory. */
PyObject *trace_flat_copy(Trace *trace, Tracer *x);
/* A copy with memory of its own, pending: in order 'C', 'F' or 'K'. */
PyObject *trace_copy(Trace *trace, Tracer *x, char order);
