/* source.h - values a plan took from outside of its arguments: read and compared per
** call. */
#pragma once

#include "jit/jit.h"

typedef struct JitGuard {
    TraceSourceKind kind;
    PyObject *owner, *name,
        *expected;   /* owner and expected: as themselves, or weakly */
    bool contents;   /* expected is a copy of a container, compared item by item */
    bool method;     /* expected is the function of a method bound to owner */
    uint32_t parent; /* SOURCE_item: 1 + the guard that gives the container */
    uint32_t same;   /* the array that is parameter number `same` - 1 */
    bool parameter;  /* an array or number that is a run-time input */
    JitSig leaf;     /* what it has to be */
} JitGuard;

typedef struct JitSource {
    JitGuard *guards;
    uint32_t n;
} JitSource;

/* Takes the guards of a finished trace. */
int jit_source_take(JitSource *source, const Trace *trace);
/* True if all hold; captured parameters are appended to params. The name of a number that has
** another value is put into the dict *varying (made if need be), as True. */
bool jit_source_match(const JitSource *source, PyObject **params, uint32_t *nparams,
                      PyObject **varying);
/* The same guards once more. 0, or -1 with an exception set. */
int jit_source_copy(JitSource *copy, const JitSource *source);
void jit_source_clear(JitSource *source);
int jit_source_traverse(const JitSource *source, visitproc visit, void *arg);
