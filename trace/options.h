/* options.h - shared by options.c and several.c: what calls of reductions say. */
#pragma once

#include "trace/elementwise.h"

typedef enum Family { SUMS, EXTREMES, TRUTHS, SCANS } Family;

typedef struct Reduction {
    const char *name, *ufunc; /* the function, the ufunc whose method does the same */
    Family family;
} Reduction;

/* What a call says; NULL where it does not. Borrowed. */
typedef struct Said {
    const Reduction *what;
    PyObject *axis, *dtype, *out, *keepdims, *initial, *where;
    bool other;    /* something else */
    bool of_ufunc; /* it is a ufunc's method that is called */
} Said;

/* Arguments behind the array: by position they are `order`, separated by blanks. */
void trace_said_read(Said *said, const char *order, PyObject *const *args, size_t nargs,
                     PyObject *kwnames);
/* The axes are known, in range, and different; whether they are kept is known. */
bool trace_said_axis(const Tracer *x, const Said *said);
/* True for an array of the trace, of elements that reductions here are of. */
bool trace_is_reducible(Trace *trace, PyObject *object);
/* True if elements are at more than one place: a copy has other strides, and another order then. */
bool trace_repeats(const Tracer *x);
/* numpy.<name>(x, y), y may be NULL; numpy.<name>(x, axis, keepdims) as is said. */
PyObject *trace_call_named(Trace *trace, const char *name, PyObject *x, PyObject *y,
                           PyObject *kwargs);
/* averages.c: the call of numpy.average. */
PyObject *trace_average(Trace *trace, PyObject *const *args, size_t nargs,
                        PyObject *kwnames);
/* several.c: numpy.<name>(x, y) of operands that are given away. */
PyObject *trace_joined(Trace *trace, const char *name, PyObject *x, PyObject *y);
/* 1: some element is true; 0: none; -1: exception. That is asked. The array is given away. */
int trace_any(Trace *trace, PyObject *x);
/* The array, another number where `nan` is true. */
PyObject *trace_filled(Trace *trace, PyObject *x, PyObject *nan, double number);
/* nans.c: more functions that leave NaNs out. */
PyObject *trace_without_nans(Trace *trace, const char *name, PyObject *const *args,
                             size_t nargs, PyObject *kwnames);
/* fmax.reduce and fmin.reduce by the ufunc's name; `zero` is the axis if none is said. */
PyObject *trace_fmax(Trace *trace, const char *name, PyObject *zero,
                     PyObject *const *args, size_t nargs, PyObject *kwnames);
/* numpy.<name>(x, ...) with all that is said but `out`. */
PyObject *trace_said_call(Trace *trace, PyObject *x, const Said *said);
/* apart.c: of axes that are no neighbours; Py_NotImplemented: they are, or it is not done so. */
PyObject *trace_reduce_apart(Trace *trace, Tracer *x, const Said *said);
/* into.c: the call with `out`, which is given. */
PyObject *trace_reduce_into(Trace *trace, PyObject *object, const Said *said);
PyObject *trace_said_var(Trace *trace, const char *name, PyObject *x, const Said *said,
                         PyObject *ddof);
PyObject *trace_said_reduce(Trace *trace, const char *name, PyObject *x,
                            const Said *said);
