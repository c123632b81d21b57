/* state.h - what the module keeps, and nothing else. */
#pragma once

#include "kernels/kernels.h"
#include "lower/lower.h"
#include "runtime/runtime.h"
#include "trace/trace.h"

typedef struct JitLoop {
    RtLoopFn loop;
    void *context, *auxdata;
    bool alone; /* may set errors: only in the thread that holds the GIL */
} JitLoop;

typedef struct JitLoopTable JitLoopTable;
typedef struct JitCompiler JitCompiler;
typedef struct JitDisk JitDisk;

typedef struct JitState {
    TraceState *trace;
    PyTypeObject *function_type;
    PyTypeObject *nest_type;
    void *dots[2];      /* NumPy's dot products of float64 and float32 */
    bool twister_known; /* Python's generators are as draws.c has them */
    RtPool *pool;
    RtThreads *threads; /* for large work */
    PyObject
        *options_scope;  /* what `with pyasc.options(...)` sets; NULL: not looked up */
    PyObject *handler;   /* NEP 49 capsule over the pool */
    JitLoopTable *loops; /* inner loops by op and dtypes */
    JitCompiler *compiler;   /* tier 1 */
    PyObject *errstate_var;  /* NumPy's context variable */
    PyObject *errstate_seen; /* its value when it was last looked at */
    int errstate_shows; /* of errors, by errstate_seen: 0 nothing, 1 warnings, 2 more */
    PyObject *own;      /* what plans call instead of NumPy: own.c */
    PyObject *api;      /* pyasc._api, imported when first needed */
    bool prepared;      /* tables are in the tracer */
    bool disabled;      /* PYASC_DISABLE=1 */
} JitState;

JitState *jit_state(PyObject *module);
PyObject *jit_api(JitState *state); /* borrowed; NULL with an exception set */
