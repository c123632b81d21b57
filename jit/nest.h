/* nest.h - nests as callables: nest.c, nest_sources.c. */
#pragma once

#include "jit/compile.h"
#include "jit/draws.h"

enum {
    OPERANDS_MAX = 160,
    CELL_TAG = 16, /* behind a number of two float64 */
    CELL_BYTES = 24,
};

typedef struct Nest {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    JitState *state;
    RtCode *code;
    uint32_t nscratch;
    size_t scratch; /* bytes of its own memory */
    TraceNest like; /* its graph is gone */
    bool
        ran; /* with generators or lists: what came of it then, where that may differ */
    int64_t told[TRACE_NEST_NUMBERS];
} Nest;

/* A call of a nest, as its code knows it. */
typedef struct Run {
    int64_t status;
    int64_t yielded; /* when others could run */
} Run;

/* -- nest_sources.c ----------------------------------------------------------------- */
/* Runs the code, with generators of random numbers and lists. The status; -1: an exception is set. */
int64_t jit_nest_run(Nest *nest, PyObject *const *objects, RtKernelFn entry,
                     char **data, uint32_t at, const intptr_t *steps,
                     char (*results)[CELL_BYTES]);
PyObject *jit_nest_compare(PyObject *a, PyObject *b, int op);
/* learn(results): what came of the first run, be it that of another nest which is answered by a log. */
PyObject *jit_nest_learn(PyObject *self, PyObject *results);
