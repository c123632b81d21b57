/* draws.h - random numbers for nests: draws.c. */
#pragma once

#include "jit/state.h"

struct bitgen;

struct JitItems;

/* A generator while a nest draws from it, or a list while it is filled. */
typedef struct JitDrawSource {
    struct bitgen *bits;         /* NumPy's; or */
    struct Twister *twister;     /* Python's */
    struct JitItems *items;      /* of a list: jit/pushes.c */
    const TraceNestNumber *like; /* what these are, where they are read */
    bool has_gauss; /* of a RandomState: the second one of two normal numbers */
    double gauss;
    PyObject *object, *bit_generator, *lock, *kept;
    bool locked, gauss_too, had_gauss;
    double gauss_before;
} JitDrawSource;

/* Number n of the generators of a call, those before it begun: takes its lock. `gauss`: normal numbers of a RandomState are
** drawn, `keep`: it may have to be as it was. 0, or -1 (an exception may be set); jit_draws_end is to be called in any
** case. */
int jit_draws_begin(JitState *state, JitDrawSource *all, uint32_t n, PyObject *object,
                    bool gauss, bool keep);
/* `back`: it is as it was before. 0, or -1 with an exception set. */
int jit_draws_end(JitDrawSource *source, bool back);
/* The address of the function, into memory of a pointer. */
void jit_draw_function(TraceDraw function, void *to);
