/* align.c - how many elements a row has before the first from which on vectors are whole lines of the caches.
**
** A vector of 64 bytes that begins elsewhere than a line does is in two of them: two accesses to the first-level
** cache, and more than that where lines come from farther away (1.1 to 1.25 of the time for arrays of 8 MB, up to 2
** for float32 in the first level, on Zen 5). The arrays of a row need not agree: most loads decide, as they gain
** more than stores do; in kernels that stream the result does, whose stores have to be aligned.
*/
#include "lower/host/body.h"

enum {
    VOTERS_MAX = 8, /* operands asked */
    LEAST = 64,     /* vectors of a row below which a turn more costs what is gained */
};

static bool
votes(const Loop *loop, uint32_t p)
{
    uint64_t bytes =
        loop->b->lanes * ir_dtype_bytes(lower_access_stored(lower_body_dtype(loop, p)));

    return !lower_body_is_scalar(loop, p) && loop->patterns[p] == PATTERN_contiguous &&
           bytes >= loop->b->target->vector_bytes;
}

/* Elements from the row's first to a whole vector of an operand. */
static LLVMValueRef
distance(const Loop *loop, uint32_t k)
{
    LLVMBuilderRef builder = loop->b->builder;
    uint64_t bytes = ir_dtype_bytes(lower_access_stored(lower_body_dtype(loop, k)));
    LLVMValueRef address =
        LLVMBuildPtrToInt(builder, loop->bases[k], lower_body_i64_type(loop), "");
    LLVMValueRef left = LLVMBuildUDiv(builder, LLVMBuildNeg(builder, address, ""),
                                      lower_body_i64(loop, bytes), "");

    return LLVMBuildAnd(builder, left, lower_body_i64(loop, loop->b->lanes - 1), "");
}

/* The one of n distances that most have. */
static LLVMValueRef
most_common(const Loop *loop, LLVMValueRef *distances, uint32_t n)
{
    LLVMBuilderRef builder = loop->b->builder;
    LLVMTypeRef number = lower_body_i64_type(loop);
    LLVMValueRef best = distances[0], most = NULL;

    for (uint32_t i = 0; n > 2 && i < n; i++) {
        LLVMValueRef count = lower_body_i64(loop, 0), more;

        for (uint32_t j = 0; j < n; j++) {
            LLVMValueRef same =
                LLVMBuildICmp(builder, LLVMIntEQ, distances[i], distances[j], "");

            count = LLVMBuildAdd(builder, count,
                                 LLVMBuildZExt(builder, same, number, ""), "");
        }
        more = most ? LLVMBuildICmp(builder, LLVMIntUGT, count, most, "") : NULL;
        best = most ? LLVMBuildSelect(builder, more, distances[i], best, "") : best;
        most = most ? LLVMBuildSelect(builder, more, count, most, "") : count;
    }
    return best;
}

LLVMValueRef
lower_align_head(const Loop *loop, bool streams)
{
    LLVMBuilderRef builder = loop->b->builder;
    LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(builder)}, ask, known;
    LLVMValueRef distances[VOTERS_MAX], heads[2] = {lower_body_i64(loop, 0)}, head;
    uint32_t voters[VOTERS_MAX], n = 0;

    for (uint32_t p = 0; p < loop->nparams && n < VOTERS_MAX && !streams; p++) {
        if (votes(loop, p))
            voters[n++] = p;
    }
    if (streams)
        voters[n++] = loop->nparams;
    if (n == 0)
        return NULL;
    ask = lower_body_block(loop, "ask");
    known = lower_body_block(loop, "known");
    lower_body_branch(loop, LLVMIntSGE, loop->n,
                      lower_body_i64(loop, LEAST * loop->b->lanes), ask, known);
    LLVMPositionBuilderAtEnd(builder, ask);
    for (uint32_t i = 0; i < n; i++)
        distances[i] = distance(loop, voters[i]);
    heads[1] = most_common(loop, distances, n);
    from[1] = LLVMGetInsertBlock(builder);
    LLVMBuildBr(builder, known);
    LLVMPositionBuilderAtEnd(builder, known);
    head = LLVMBuildPhi(builder, lower_body_i64_type(loop), "head");
    LLVMAddIncoming(head, heads, from, 2);
    return head;
}
