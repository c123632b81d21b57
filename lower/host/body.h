/* body.h - shared by loop.c (elements in, elements out) and fold.c (elements in, one out). */
#pragma once

#include "lower/host/host.h"

enum { MAX_UNROLL = 4, JOINED_ROWS = 4 };

typedef struct Loop {
    Build *b;
    const LowerPattern *patterns;
    uint32_t nparams, noperands, nvalues;
    unsigned unroll;
    bool past; /* results are written past the caches */
    bool
        joins; /* a turn has JOINED_ROWS rows, whose bases are one list behind the other */
    LLVMValueRef *joined;
    LLVMValueRef n;   /* elements of a row */
    LLVMValueRef row; /* the number of this one */
    LLVMValueRef *
        bases; /* of this row's parameters, then results; room for two more such lists */
    LLVMValueRef
        *strides;  /* of operands at a step of their own, in bytes; NULL: not one */
    Lanes *values; /* tables of nvalues: what is the same in every turn, then a copy
                      each */
    LLVMBasicBlockRef row_block, row_done, row_next;
} Loop;

/* Fills in all but b and patterns; false: out of memory. To be closed in any case. */
bool lower_body_open(Loop *loop);
void lower_body_close(Loop *loop);
/* Lanes by the widest element, unrolling by what a body costs and keeps in registers. */
void lower_body_choose(Loop *loop);

LLVMTypeRef lower_body_i64_type(const Loop *loop);
LLVMValueRef lower_body_i64(const Loop *loop, uint64_t value);
IrValue lower_body_value(const Loop *loop, uint32_t i); /* of operand i */
IrDtype lower_body_dtype(const Loop *loop, uint32_t i);
/* A parameter that is one element for the whole run. */
bool lower_body_is_scalar(const Loop *loop, uint32_t i);
Lanes *lower_body_values(const Loop *loop, unsigned copy);
/* The first element of a copy, where the first of all is i. */
LLVMValueRef lower_body_element(const Loop *loop, LLVMValueRef i, unsigned copy);

LLVMBasicBlockRef lower_body_block(const Loop *loop, const char *name);
void lower_body_branch(const Loop *loop, LLVMIntPredicate predicate, LLVMValueRef x,
                       LLVMValueRef y, LLVMBasicBlockRef yes, LLVMBasicBlockRef no);
/* Opens a block with a counter that is `start` when it comes from the current block. */
LLVMValueRef lower_body_counted(const Loop *loop, LLVMBasicBlockRef block,
                                LLVMValueRef start);
void lower_body_incoming(const Loop *loop, LLVMValueRef phi, LLVMValueRef value);

/* The function, as LowerKernelFn; the builder is in its entry. */
void lower_body_function(Loop *loop, const char *name);
/* Number `number` of the list of steps. */
LLVMValueRef lower_body_step(const Loop *loop, uint32_t number);
/* Addresses of the first elements, and strides. */
void lower_body_addresses(Loop *loop);
/* From here on for each row from number `row` on, whose addresses are loop->bases. */
void lower_body_row_open(Loop *loop, LLVMValueRef row);
/* The next row, `step` bytes further for each operand, or the end; bodies jump to row_done. */
void lower_body_row_close(Loop *loop,
                          LLVMValueRef (*step)(const Loop *loop, uint32_t operand));
/* Scalars, constants, and what is computed from these. */
void lower_body_invariants(Loop *loop);
/* All values of `copies` vectors from element i on; masks: one a copy, or NULL. */
void lower_body_compute(const Loop *loop, unsigned copies, LLVMValueRef *bases,
                        LLVMValueRef i, const LLVMValueRef *masks);
/* The same of a kernel whose last parameter is joined with the others, of several rows one after the other;
** bases: those of each row. */
void lower_body_compute_rows(const Loop *loop, unsigned rows, unsigned copies,
                             LLVMValueRef *bases, LLVMValueRef i,
                             const LLVMValueRef *masks);
/* Copies `left` elements of operands first … end - 1, from `i` on, to or from the
** buffers. The builder is behind the copying. */
void lower_body_copies(Loop *loop, LLVMValueRef *buffers, uint32_t first, uint32_t end,
                       LLVMValueRef i, LLVMValueRef left);

/* Elements of the row at hand that come before its vectors (align.c), fewer than fill one; NULL: always none.
** `streams`: the first result goes past the caches. */
LLVMValueRef lower_align_head(const Loop *loop, bool streams);

/* Asks for what is read `ahead` bytes after the turn that begins with element i, into a cache of this level. Nothing
** is read, so there may be no memory. */
void lower_body_ahead(const Loop *loop, LLVMValueRef i, unsigned ahead, unsigned level);
