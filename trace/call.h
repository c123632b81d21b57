/* call.h - shared by the files that record calls: call.c, arguments.c, results.c, tame.c. */
#pragma once

#include "trace/internal.h"

enum { TENSORS_MAX = 256 };

/* The tracers that take part in a call, in order of appearance. */
typedef struct Operands {
    Tracer *tracers[TENSORS_MAX];
    uint32_t n;
    bool foreign;          /* something a plan could not supply again */
    bool effect;           /* containers would be seen by who gets them */
    bool opaque;           /* of unknown code: any int may come back */
    bool ints;             /* run-time ints may take part; else they are asked for */
    bool has_int;          /* one does */
    bool objects;          /* objects from outside may take part */
    const PyObject *owner; /* a dict that is stored to: it may be an argument */
    bool result; /* it is the function's: lists and dicts that are arguments may, too */
    PyObject *seen; /* of a result: its containers by id, else NULL */
} Operands;

typedef struct Results {
    PyObject *objects[TENSORS_MAX]; /* borrowed from the result */
    TraceRef *refs[TENSORS_MAX];    /* their templates: values are filled in later */
    uint32_t n;
    bool compares, foreign;
    bool put[TENSORS_MAX];    /* numbers that have their tracer */
    bool viewed[TENSORS_MAX]; /* the operands that results are or show */
    bool views;
} Results;

/* What other values of the operands may do to a call. */
typedef enum Tameness {
    TAME_fixed = 1,  /* the results keep their types and shapes */
    TAME_silent = 2, /* it never raises */
    TAME_shaped = 4, /* rows of fixed.def only */
    TAME_made = 8,
} Tameness;

/* What is made of a call's arguments. */
typedef struct CallArgs {
    PyObject *reals, *kwreals; /* tuple, and dict or NULL */
    PyObject *shape, *kwshape; /* their templates */
    Operands operands;
} CallArgs;

/* False: an exception is set. Cleared by the caller in any case. */
bool trace_args_build(Trace *trace, CallArgs *call, PyObject *const *args, size_t nargs,
                      PyObject *kwnames);
void trace_args_clear(CallArgs *call);
/* After the real call: site, node and tracers. New reference. `mask`: operands it writes. */
PyObject *trace_record(Trace *trace, TraceSiteKind kind, PyObject *callable,
                       const CallArgs *call, PyObject *result, uint32_t mask);
int trace_mutated_operands(Trace *trace, const Operands *operands,
                           PyObject *const *args, size_t nargs, uint32_t mutates,
                           uint32_t *mask);
int trace_prepare_writes(Trace *trace, PyObject *const *args, size_t nargs,
                         uint32_t mutates);
bool trace_is_constant(PyObject *object);
/* -- direct.c: a site's callable may become one that does the same with less before it. 0, or -1. */
int trace_direct_load(TraceState *state, PyObject *numpy);
int trace_direct(Trace *trace, TraceSite *site, const Operands *operands);
/* The result of the call of what the site's callable is going to be, where that has other bits: a
** sum. NULL without an exception: there is no such thing. */
PyObject *trace_direct_sum(Trace *trace, PyObject *callable, const CallArgs *call);
PyObject *trace_build(Trace *trace, PyObject *object, Operands *operands,
                      PyObject **template);
/* leaving.c: a frozen set with real items. New reference. */
PyObject *trace_frozen_real(TraceState *state, PyObject *set);
/* An operator on real values, where the trace has ended; NULL without an exception: another way. */
PyObject *trace_call_ended(Trace *trace, PyObject *callable, PyObject *const *args,
                           size_t nargs);
bool trace_selects_by_mask(const Operands *operands);
/* True of x[mask], the mask having the first axes of x. */
bool trace_is_selection(const Operands *operands);
PyObject *trace_wrap_result(Trace *trace, PyObject *object, const Operands *operands,
                            Results *results, PyObject **template);
PyObject *trace_put_tracers(PyObject *object, Results *results,
                            PyObject *const *tracers);
/* True of Python's operators on ints that give ints, whatever the ints are. */
bool trace_is_of_ints(const TraceState *state, PyObject *callable, PyObject *args,
                      PyObject *result);
/* True of functions that do not raise for other sizes, where none is negative. */
bool trace_takes_any_size(const TraceState *state, PyObject *callable);
/* A power of Python's floats: of a negative one to a fraction. */
bool trace_may_be_complex(const TraceState *state, PyObject *callable,
                          const CallArgs *call);
unsigned trace_tameness(const TraceState *state, PyObject *callable,
                        const Operands *operands, bool first);
