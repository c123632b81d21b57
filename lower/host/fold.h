/* fold.h - shared by fold.c and fold_sum.c. */
#pragma once

#include "lower/host/body.h"

enum {
    TREE = 8,      /* NumPy's accumulators */
    MAX_SUMS = 16, /* vectors of accumulators */
};

typedef struct Fold {
    Loop loop;
    IrNode node;
    IrDtype dtype;
    bool tree, wide; /* a sum of floats, which has an order; that of the wide tree */
    bool ahead;      /* what is read later is asked for */
    bool
        ranges; /* extremes of floats, by an instruction that knows the signs of zeros */
    bool stores;           /* what is reduced is a result, too: operand nparams */
    unsigned block;        /* elements of a turn */
    unsigned width, nsums; /* lanes of an accumulator; how many there are */
    LLVMValueRef *buffers;
    LLVMValueRef start, whole,
        left; /* where blocks begin, where they end, elements behind them */
    LLVMValueRef turn, last; /* rows to the end of the run; true in the last one */
    Lanes sums[MAX_SUMS];
} Fold;

/* What changes nothing. */
LLVMValueRef lower_fold_identity(const Fold *f);
Lanes lower_fold_joined(const Fold *f, Lanes x, Lanes y);
/* Lane i of the result is lane i ^ distance. */
Lanes lower_fold_exchanged(const Fold *f, Lanes x, unsigned distance);
LLVMValueRef lower_fold_lane(const Fold *f, Lanes x, unsigned i);
/* All accumulators as one element: neighbours first, as NumPy does. */
LLVMValueRef lower_fold_lanes(const Fold *f);
/* The reduction's operand, of what was computed last. */
Lanes lower_fold_computed(const Fold *f, unsigned copy);
/* What an accumulator gets of elements `at` ... of what was computed last. */
Lanes lower_fold_part(const Fold *f, unsigned at);
/* Elements of a turn that are computed at once. */
unsigned lower_fold_step(const Fold *f);
/* A flag for each of the numbers first ... first + n - 1: true below the limit. */
LLVMValueRef lower_fold_flags(const Fold *f, unsigned first, unsigned n,
                              LLVMValueRef limit);
/* Makes the elements behind the blocks accessible; then values of those from `from` on, whatever in
** the lanes that are behind the end. */
void lower_fold_reach(Fold *f);
void lower_fold_left(Fold *f, unsigned from, LLVMValueRef *masks);
/* Stores what was computed last, from element i on; masks: one a copy, or NULL. */
void lower_fold_store(Fold *f, LLVMValueRef *bases, LLVMValueRef i,
                      const LLVMValueRef *masks);
/* All elements behind the blocks are computed. */
void lower_fold_reached(Fold *f);
/* A phi of what comes from two blocks. */
LLVMValueRef lower_fold_either(const Fold *f, LLVMValueRef x, LLVMBasicBlockRef from,
                               LLVMValueRef y, LLVMBasicBlockRef other);

/* fold_sum.c: the rest of a row of floats, and its sum. */
LLVMValueRef lower_fold_sum(Fold *f);
