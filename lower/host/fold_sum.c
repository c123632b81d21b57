/* fold_sum.c - the end of a row of floats that are summed.
**
** In NumPy's order (numpy/core/src/umath/loops_utils.h, pairwise sum) element i goes to accumulator
** i mod 8, these are joined by ((0+1)+(2+3))+((4+5)+(6+7)), what is left of the last eight is added
** one by one. The accumulators are the lanes of one vector, or of several; values are computed in
** vectors as wide as can be, whose parts are added in order. Sums begin with -0.0, which changes
** none: so rows of less than eight elements need no code of their own.
**
** The wide tree (runtime/reduce.c) has so many accumulators that vectors of any CPU are filled; what
** is left goes to the first of them, and they are joined by halves.
*/
#include "lower/host/elem.h"
#include "lower/host/fold.h"

/* -- NumPy's order --------------------------------------------------------- */

static LLVMValueRef
number(const Fold *f, unsigned n)
{
    return lower_body_i64(&f->loop, n);
}

/* The last eight are not all there: these, and -0.0 in the other lanes. */
static void
pick_last(const Fold *f, Lanes *last)
{
    Build *b = f->loop.b;
    LLVMValueRef count = LLVMBuildAnd(b->builder, f->left, number(f, TREE - 1), "");
    LLVMValueRef first = LLVMBuildSub(b->builder, f->left, count, "");

    for (unsigned c = 0; c < f->nsums; c++) {
        last[c] = lower_fold_part(f, c * f->width);
        for (unsigned at = TREE; at < f->block; at += TREE)
            last[c].re = LLVMBuildSelect(
                b->builder,
                LLVMBuildICmp(b->builder, LLVMIntEQ, first, number(f, at), ""),
                lower_fold_part(f, at + c * f->width).re, last[c].re, "");
        last[c].re =
            lower_elem_select(b, lower_fold_flags(f, c * f->width, f->width, count),
                              last[c].re, lower_fold_identity(f));
    }
}

/* Accumulators take in the eights that are whole; others stay in `last`. */
static void
take_eights(Fold *f, Lanes *sums, Lanes *last)
{
    Build *b = f->loop.b;
    LLVMValueRef masks[MAX_UNROLL];

    lower_fold_reach(f);
    lower_fold_left(f, 0, masks);
    for (unsigned c = 0; c < f->nsums; c++)
        sums[c] = f->sums[c];
    for (unsigned at = 0; at + TREE < f->block; at += TREE) {
        LLVMValueRef whole =
            LLVMBuildICmp(b->builder, LLVMIntUGE, f->left, number(f, at + TREE), "");

        for (unsigned c = 0; c < f->nsums; c++) {
            Lanes x = {.re = LLVMBuildSelect(b->builder, whole,
                                             lower_fold_part(f, at + c * f->width).re,
                                             lower_fold_identity(f), "")};

            sums[c] = lower_fold_joined(f, sums[c], x);
        }
    }
    pick_last(f, last);
    lower_fold_reached(f);
}

/* Elements one by one: sum + -0.0 is the sum. */
static LLVMValueRef
one_by_one(const Fold *f, LLVMValueRef sum, const Lanes *last)
{
    for (unsigned k = 0; k + 1 < TREE; k++)
        sum = LLVMBuildFAdd(f->loop.b->builder, sum,
                            lower_fold_lane(f, last[k / f->width], k % f->width), "");
    return sum;
}

static LLVMValueRef
sum_in_order(Fold *f)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder), joining;
    LLVMBasicBlockRef tail = lower_body_block(loop, "tail"),
                      join = lower_body_block(loop, "join"),
                      ones = lower_body_block(loop, "ones"),
                      done = lower_body_block(loop, "result");
    LLVMValueRef start = lower_fold_identity(f), sum, longer;
    Lanes sums[MAX_UNROLL], last[MAX_UNROLL];

    lower_body_branch(loop, LLVMIntEQ, f->left, number(f, 0), join, tail);
    LLVMPositionBuilderAtEnd(b->builder, tail);
    take_eights(f, sums, last);
    tail = LLVMGetInsertBlock(b->builder);
    LLVMBuildBr(b->builder, join);
    LLVMPositionBuilderAtEnd(b->builder, join);
    for (unsigned c = 0; c < f->nsums; c++) {
        f->sums[c].re = lower_fold_either(f, f->sums[c].re, before, sums[c].re, tail);
        last[c].re = lower_fold_either(f, start, before, last[c].re, tail);
    }
    sum = lower_fold_lanes(f);
    joining = LLVMGetInsertBlock(b->builder);
    lower_body_branch(loop, LLVMIntEQ,
                      LLVMBuildAnd(b->builder, f->left, number(f, TREE - 1), ""),
                      number(f, 0), done, ones);
    LLVMPositionBuilderAtEnd(b->builder, ones);
    longer = one_by_one(f, sum, last);
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
    return lower_fold_either(f, sum, joining, longer, ones);
}

/* -- The wide tree --------------------------------------------------------- */

static void
take_left(Fold *f, Lanes *sums)
{
    LLVMValueRef masks[MAX_UNROLL];
    unsigned step = lower_fold_step(f);

    lower_fold_reach(f);
    for (unsigned c = 0; c < f->nsums; c++) {
        unsigned copy = c % f->loop.unroll;
        Lanes x;

        if (copy == 0)
            lower_fold_left(f, c / f->loop.unroll * step, masks);
        x.re =
            lower_elem_select(f->loop.b, masks[copy], lower_fold_computed(f, copy).re,
                              lower_fold_identity(f));
        sums[c] = lower_fold_joined(f, f->sums[c], x);
    }
    lower_fold_reached(f);
}

static LLVMValueRef
sum_wide(Fold *f)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder);
    LLVMBasicBlockRef tail = lower_body_block(loop, "tail"),
                      done = lower_body_block(loop, "result");
    Lanes sums[MAX_SUMS];

    lower_body_branch(loop, LLVMIntEQ, f->left, number(f, 0), done, tail);
    LLVMPositionBuilderAtEnd(b->builder, tail);
    take_left(f, sums);
    tail = LLVMGetInsertBlock(b->builder);
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
    for (unsigned c = 0; c < f->nsums; c++)
        sums[c].re = lower_fold_either(f, f->sums[c].re, before, sums[c].re, tail);
    for (unsigned half = f->nsums / 2; half; half /= 2)
        for (unsigned c = 0; c < half; c++)
            sums[c] = lower_fold_joined(f, sums[c], sums[c + half]);
    for (unsigned half = f->width / 2; half; half /= 2)
        sums[0] = lower_fold_joined(f, sums[0], lower_fold_exchanged(f, sums[0], half));
    return lower_fold_lane(f, sums[0], 0);
}

LLVMValueRef
lower_fold_sum(Fold *f)
{
    return f->wide ? sum_wide(f) : sum_in_order(f);
}
