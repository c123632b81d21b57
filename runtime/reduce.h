/* reduce.h - shared by reduce.c, reduce_tree.c, along.c and split_reduce.c. */
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

enum { LEAVES = 256 /* of a call of a kernel */ };

/* The leaves of a sum in order, and how many sums are joined behind each of them. `list` is the
** kernel's: how inputs step from run to run, then lengths of leaves. */
typedef struct Leaves {
    intptr_t n, most; /* of a run; runs of a call */
    intptr_t *lengths;
    intptr_t list[RT_OPERANDS_MAX + LEAVES];
    uint8_t joins[LEAVES];
    bool even, large; /* a run is several calls */
} Leaves;

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

/* n identities, one after the other. */
static inline void
fill_identity(const RtReduce *r, char *out, intptr_t n)
{
    if (n > 0)
        memcpy(out, r->identity, r->itemsize);
    for (intptr_t done = 1, more; done < n; done += more) {
        more = done < n - done ? done : n - done;
        memcpy(out + done * r->itemsize, out, (size_t)(more * r->itemsize));
    }
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
/* The same in parts: what all calls for `outer` runs or less have, then one for `count` runs, at most
** leaves->most, if they are not large. data: the inputs, the results. */
void rt_folds_open(const RtReduce *r, intptr_t outer, Leaves *leaves);
void rt_folds_run(const RtReduce *r, RtKernelFn kernel, const Leaves *leaves,
                  intptr_t count, char **data);
/* A sum of n elements, from `at` on. */
void rt_sum_tree(const Run *run, intptr_t at, intptr_t n, char *sum);
/* sum += other */
void rt_sum_join(const RtReduce *r, char *sum, const char *other);

/* The producer's n elements from `at` on, in the block; what is in memory, where it is, if it lies
** element by element. NULL: a loop failed. */
const char *rt_reduce_produce(const Run *run, intptr_t at, intptr_t n);
/* True if on `axis` the inputs go on where they end on the last one. */
bool rt_reduce_is_one_line(const RtReduce *r, uint32_t axis, intptr_t extent);
/* walk.c. 0, or -1: a loop failed. */
int rt_walk_run(const RtReduce *r, char *const *operands);
/* along.c: positions and scans. 0, or -1: a loop failed. */
int rt_along_run(Run *run, char *out);
int rt_along_run_position(const Run *run, intptr_t *at, char *best);
