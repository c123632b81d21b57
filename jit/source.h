/* source.h - values a plan took from outside of its arguments: read and compared per
** call. */
#pragma once

#include "jit/jit.h"

typedef struct JitGuard {
    TraceSourceKind kind;
    PyObject *owner, *name,
        *expected;    /* owner and expected: as themselves, or weakly */
    bool contents;    /* expected is a copy of a container, compared item by item */
    PyObject *itself; /* the container, where its identity counts, too; or NULL */
    bool method;      /* expected is the function of a method bound to owner */
    uint32_t parent;  /* SOURCE_item: 1 + the guard that gives the container */
    uint32_t same;    /* the array that is parameter number `same` - 1 */
    bool parameter;   /* an array or number that is a run-time input */
    JitSig leaf;      /* what it has to be */
} JitGuard;

typedef struct JitSource {
    JitGuard *guards;
    uint32_t n;
} JitSource;

/* The guards of a finished trace that hold at the beginning of a call: `epoch` 0, or after its
** call of unknown code of that number. NULL with an exception set. */
JitSource *jit_source_new(const Trace *trace, uint32_t epoch);
/* For the plan's calls of unknown code. 0, or -1 with an exception set. */
int jit_source_take_late(JitPlan *plan, const Trace *trace);
/* True if all hold; captured parameters are appended to params. The name of a number that has
** another value is put into the dict *varying (made if need be), as True. `reads`: what counts instead
** of what is there now, or NULL. */
bool jit_source_match(const JitSource *source, PyObject **params, uint32_t *nparams,
                      PyObject **varying, PyObject *reads);
/* What the guards read now, for the log: trace_log_reads. New reference. */
PyObject *jit_source_reads(const JitSource *source);
/* The same guards once more, or NULL with an exception set. */
JitSource *jit_source_copy(const JitSource *source);
void jit_source_free(JitSource *source); /* may be NULL */
/* All guards of the plan. */
int jit_source_traverse(const JitPlan *plan, visitproc visit, void *arg);
