/* split.h - groups and reductions in pieces; private to runtime/. */
#pragma once

#include "runtime/runtime.h"

enum {
    PIECE_MIN = 65536,  /* operations on elements: a piece takes some microseconds */
    PIECE_MAX = 524288, /* and much less than a signal may wait */
    PIECES_FEW = 16,    /* smaller works have smaller pieces, down to PIECE_MIN */
};

/* The operations of a piece of a work of so many. */
static inline intptr_t
rt_piece_work(intptr_t work)
{
    intptr_t piece = work / PIECES_FEW;
    return piece < PIECE_MIN ? PIECE_MIN : piece > PIECE_MAX ? PIECE_MAX : piece;
}

/* The entry of the group's kernel where there is one. */
RtKernelFn rt_group_kernel(const RtGroup *group);
/* rt_group_run by this kernel; NULL: in tier 0. */
int rt_group_run_by(const RtGroup *group, RtKernelFn kernel, char *const *data,
                    char *scratch);

/* How a reduction is computed: by its kernel where that is there, which may fold, too. */
typedef struct RtReduceWay {
    RtKernelFn kernel;
    bool folds;
    bool goes_on; /* the results are there, of the elements before these */
} RtReduceWay;

RtReduceWay rt_reduce_way(const RtReduce *reduce);
int rt_reduce_run_by(const RtReduce *reduce, const RtReduceWay *way, char *const *data,
                     char *scratch);
/* How many columns are joined at once. */
intptr_t rt_reduce_columns(const RtReduce *reduce);
/* A node of the tree of a pairwise sum: n elements from `at` on of the first run. */
int rt_reduce_node(const RtReduce *reduce, const RtReduceWay *way, char *const *data,
                   intptr_t at, intptr_t n, char *scratch, char *sum);
/* The place of the first extreme of the only run, which goes where the result would. */
int rt_along_position(const RtReduce *reduce, const RtReduceWay *way, char *const *data,
                      char *scratch, intptr_t *at);
/* sum += other, two nodes of that tree. */
void rt_reduce_join(const RtReduce *reduce, char *sum, const char *other);
