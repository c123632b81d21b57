/* rows.h - shared by rows.c and rows_calls.c. */
#pragma once

#include "runtime/reduce.h"

/* A run of all blocks; a piece of it is a block. */
typedef struct Blocks {
    const RtPlan *plan;
    const RtRows *rows;
    char *const *data;         /* of the frame */
    const struct Calls *calls; /* or NULL */
} Blocks;

enum { CALLS = 16, CALLS_OPERANDS = 96, CALLS_REDUCE = 8 };

/* What a step is for its kernel, prepared once for all blocks. */
typedef struct Call {
    RtKernelFn kernel;
    const RtReduce *reduce; /* NULL: a group */
    const Leaves *leaves;   /* of a reduction */
    intptr_t n;    /* of a group: elements of a run; 0: a row is elements, no run */
    intptr_t span; /* runs, or elements, of a row */
    uint32_t first, noperands;
} Call;

typedef struct Calls {
    Call calls[CALLS];
    Leaves leaves[CALLS_REDUCE];
    uint32_t ncalls, nreduces, noperands;
    uint32_t slot[CALLS_OPERANDS];   /* of the plan */
    uint32_t number[CALLS_OPERANDS]; /* among all operands of the steps */
    intptr_t steps[CALLS_OPERANDS];  /* from run to run */
} Calls;

/* The reduction that does step i and the next one, if there is code for it. */
const RtReduce *rt_rows_both(const RtPlan *plan, const RtRows *rows, uint32_t i);
/* False: a step has no kernel, or needs more than calls of it. */
bool rt_calls_prepare(const RtPlan *plan, const RtRows *rows, Calls *calls);
/* `n` rows from `at` on, a few at a time. */
void rt_calls_run(const Blocks *blocks, intptr_t at, intptr_t n, char *scratch);
