/* reduce.h - shared by reduce.c, reduce_tree.c and split_reduce.c. */
#pragma once

#include <string.h>

#include "runtime/runtime.h"

typedef struct Run {
    const RtReduce *reduce;
    char *data[RT_OPERANDS_MAX]; /* of the first element */
    char *scratch, *block;       /* of the group; for its output */
    RtKernelFn kernel;
    bool goes_on; /* the results are there, of the elements before these */
} Run;

static inline intptr_t
step_of(const RtReduce *reduce, uint32_t operand, uint32_t axis)
{
    return reduce->group->strides[operand * reduce->group->ndim + axis];
}

/* Elements that are summed without splitting them. */
static inline intptr_t
leaf_of(const RtReduce *r)
{
    return r->wide ? RT_WIDE_TURNS * RT_WIDE_BYTES / r->itemsize : RT_LEAF;
}

/* The first of the two parts of n elements that are more. */
static inline intptr_t
half_of(const RtReduce *r, intptr_t n)
{
    intptr_t half = n / 2;
    return half - half % (r->wide ? RT_WIDE_BYTES / r->itemsize : 8);
}

/* Addresses of the inputs, `at` elements further on the last axis. */
static inline void
place(const Run *run, intptr_t at, char **data)
{
    const RtGroup *group = run->reduce->group;
    for (uint32_t k = 0; k < group->ninputs; k++)
        data[k] = run->data[k] + at * step_of(run->reduce, k, group->ndim - 1);
}

/* The inputs move `n` places on an axis. */
static inline void
advance(Run *run, uint32_t axis, intptr_t n)
{
    for (uint32_t k = 0; k < run->reduce->group->ninputs; k++)
        run->data[k] += n * step_of(run->reduce, k, axis);
}

/* reduce_tree.c: runs, by a kernel that folds. */
void rt_run_folds(Run *run, char *out);
/* A sum of n elements, from `at` on. */
void rt_sum_tree(const Run *run, intptr_t at, intptr_t n, char *sum);
/* sum += other */
void rt_sum_join(const RtReduce *r, char *sum, const char *other);
