/* fold.c - a kernel that ends in a reduction: rows of elements in, an element a row out.
**
**     entry    addresses
**     row      a turn a row: how many elements it has, what depends on scalars only
**     first    those up to a whole line of the caches, where the order does not matter (align.c)
**     whole    blocks of elements, a vector an accumulator
**     tail     the rest: masked, or copied to buffers on the stack
**     result   accumulators and lanes joined
**
** Sums of floats have an order: fold_sum.c. In what order others are joined does not show: integers
** wrap, of floats the greatest is the greatest, and where rows begin with what comes before a line of the caches the
** zeros, too, are in order. Products of floats are not here.
**
** What is reduced may be a result of its own, before that of the reduction: elements are stored as
** they are computed, after all that is read for them (loop.c, law 1).
**
** Law 1: elements past the end of a row are neither read nor counted.
*/
#include "lower/host/fold.h"

#include <math.h>
#include <stdio.h>

#include "lower/host/elem.h"

enum {
    BLOCK_MOST = 32, /* elements: leaves are a few blocks and little more */
    AHEAD = 2048,    /* bytes */
    AHEAD_ARRAYS = 2,
    AHEAD_NODES = 4, /* others have enough to do while they wait */
};

/* -- What there is -------------------------------------------------------- */

IrNode
lower_fold_node(const IrGraph *kernel)
{
    uint32_t n = ir_nreturns(kernel);
    IrNode node = n == 1 || n == 2 ? ir_def(kernel, ir_return_at(kernel, n - 1)) : 0;

    if (!node || ir_op_class(ir_node_op(kernel, node)) != CLASS_reduce)
        return 0;
    return n == 1 || ir_return_at(kernel, 0) == ir_node_operand(kernel, node, 0) ? node
                                                                                 : 0;
}

static bool
is_floating(IrDtype dtype)
{
    return dtype == DT_float32 || dtype == DT_float64;
}

bool
lower_fold_supports(const IrGraph *kernel, IrNode node, char *reason, size_t n)
{
    IrOp op = ir_node_op(kernel, node);
    IrType type = ir_type(kernel, ir_node_operand(kernel, node, 0));
    IrKind kind = ir_dtype_kind(type.dtype);
    bool known = false;

    if (op == OP_sum || op == OP_prod || op == OP_max || op == OP_min)
        known = kind == KIND_int || kind == KIND_uint ||
                (is_floating(type.dtype) && op != OP_prod);
    else if (op == OP_any || op == OP_all)
        known = kind == KIND_bool;
    known &= type.ndim == 1 &&
             type.dtype == ir_type(kernel, ir_result(kernel, node, 0)).dtype;
    if (!known)
        snprintf(reason, n, "%s has no lowering for %s", ir_op_name(op),
                 ir_dtype_name(type.dtype));
    return known;
}

/* -- Lanes ---------------------------------------------------------------- */

LLVMValueRef
lower_fold_identity(const Fold *f)
{
    Build *b = f->loop.b;
    IrOp op = ir_node_op(b->kernel, f->node);
    unsigned bits = 8 * (unsigned)ir_dtype_bytes(f->dtype);
    bool least = op == OP_max, sign = ir_dtype_kind(f->dtype) == KIND_int;

    if (f->tree) {
        LLVMValueRef zeros[64], zero = lower_access_float(b, f->dtype, -0.0);

        for (unsigned i = 0; i < f->width; i++)
            zeros[i] = LLVMGetAggregateElement(zero, i);
        return LLVMConstVector(zeros, f->width);
    }
    if (op == OP_sum)
        return lower_access_int(b, f->dtype, 0);
    if (op == OP_prod || op == OP_any || op == OP_all)
        return lower_access_int(b, f->dtype, op != OP_any);
    if (is_floating(f->dtype))
        return lower_access_float(b, f->dtype, least ? -INFINITY : INFINITY);
    if (!sign)
        return lower_access_int(b, f->dtype, least ? 0 : -1);
    return lower_access_int(b, f->dtype,
                            (int64_t)(least ? (uint64_t)-1 << (bits - 1)
                                            : ((uint64_t)1 << (bits - 1)) - 1));
}

/* The greater or the less of floats, where +0 is greater than -0: AVX-512's instruction, which leaves NaNs out. */
static LLVMValueRef
range(const Fold *f, LLVMValueRef x, LLVMValueRef y)
{
    enum {
        MIN = 4,
        MAX = 5,
        CURRENT_ROUNDING = 4
    }; /* of what is compared, with its sign */
    Build *b = f->loop.b;
    bool single = f->dtype == DT_float32,
         max = ir_node_op(b->kernel, f->node) == OP_max;
    unsigned bits = f->width * (single ? 32 : 64);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->context);
    LLVMTypeRef flags = LLVMIntTypeInContext(b->context, f->width < 8 ? 8 : f->width);
    LLVMValueRef arguments[6] = {x,
                                 y,
                                 LLVMConstInt(i32, max ? MAX : MIN, 0),
                                 x,
                                 LLVMConstAllOnes(flags),
                                 LLVMConstInt(i32, CURRENT_ROUNDING, 0)};
    char name[48];

    snprintf(name, sizeof name, "llvm.x86.avx512.mask.range.%s.%u",
             single ? "ps" : "pd", bits);
    return lower_access_call(b, name, NULL, 0, arguments, bits == 512 ? 6 : 5);
}

/* The same whatever the order is: a NaN if one is, and of zeros +0 for the greatest. */
static Lanes
joined_in_any_order(const Fold *f, Lanes x, Lanes y)
{
    LLVMBuilderRef builder = f->loop.b->builder;
    LLVMValueRef nan = LLVMBuildFCmp(builder, LLVMRealUNO, x.re, y.re, "");

    return (Lanes){.re = LLVMBuildSelect(builder, nan,
                                         LLVMBuildFAdd(builder, x.re, y.re, ""),
                                         range(f, x.re, y.re), "")};
}

Lanes
lower_fold_joined(const Fold *f, Lanes x, Lanes y)
{
    return f->ranges ? joined_in_any_order(f, x, y)
                     : lower_elem_fold(f->loop.b, f->node, x, y);
}

Lanes
lower_fold_exchanged(const Fold *f, Lanes x, unsigned distance)
{
    Build *b = f->loop.b;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->context);
    LLVMValueRef lanes[64];

    for (unsigned i = 0; i < f->width; i++)
        lanes[i] = LLVMConstInt(i32, i ^ distance, 0);
    return (Lanes){.re = LLVMBuildShuffleVector(b->builder, x.re,
                                                LLVMGetPoison(LLVMTypeOf(x.re)),
                                                LLVMConstVector(lanes, f->width), "")};
}

LLVMValueRef
lower_fold_lane(const Fold *f, Lanes x, unsigned i)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(f->loop.b->context);

    return LLVMBuildExtractElement(f->loop.b->builder, x.re, LLVMConstInt(i32, i, 0),
                                   "");
}

/* Of runs of a vector and more NumPy gives its own NaN, whatever the one among the elements was. */
static LLVMValueRef
one_nan(const Fold *f, LLVMValueRef x)
{
    LLVMBuilderRef builder = f->loop.b->builder;
    LLVMValueRef any = LLVMBuildFCmp(builder, LLVMRealUNO, x, x, "");
    LLVMValueRef is_long = LLVMBuildICmp(builder, LLVMIntUGE, f->loop.n,
                                         lower_body_i64(&f->loop, f->width), "");

    return LLVMBuildSelect(builder, LLVMBuildAnd(builder, any, is_long, ""),
                           LLVMConstReal(LLVMTypeOf(x), NAN), x, "");
}

LLVMValueRef
lower_fold_lanes(const Fold *f)
{
    Build *b = f->loop.b;
    Lanes sums[MAX_SUMS];

    for (unsigned c = 0; c < f->nsums; c++)
        sums[c] = f->sums[c];
    if (f->tree)
        for (unsigned c = 0; c < f->nsums; c++)
            for (unsigned distance = 1; distance < f->width; distance *= 2)
                sums[c] = lower_fold_joined(f, sums[c],
                                            lower_fold_exchanged(f, sums[c], distance));
    for (unsigned distance = 1; distance < f->nsums; distance *= 2)
        for (unsigned c = 0; c < f->nsums; c += 2 * distance)
            sums[c] = lower_fold_joined(f, sums[c], sums[c + distance]);
    if (ir_dtype_kind(f->dtype) == KIND_bool) {
        LLVMTypeRef type = LLVMTypeOf(sums[0].re);

        return lower_access_call(b,
                                 ir_node_op(b->kernel, f->node) == OP_any
                                     ? "llvm.vector.reduce.or"
                                     : "llvm.vector.reduce.and",
                                 &type, 1, &sums[0].re, 1);
    }
    for (unsigned distance = 1; !f->tree && distance < f->width; distance *= 2)
        sums[0] =
            lower_fold_joined(f, sums[0], lower_fold_exchanged(f, sums[0], distance));
    return is_floating(f->dtype) && !f->tree
               ? one_nan(f, lower_fold_lane(f, sums[0], 0))
               : lower_fold_lane(f, sums[0], 0);
}

/* -- The loop over blocks ------------------------------------------------- */

Lanes
lower_fold_computed(const Fold *f, unsigned copy)
{
    IrValue value = ir_node_operand(f->loop.b->kernel, f->node, 0);

    return lower_body_values(&f->loop, copy + 1)[value];
}

Lanes
lower_fold_part(const Fold *f, unsigned at)
{
    Build *b = f->loop.b;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->context);
    LLVMValueRef lanes[64];
    Lanes x = lower_fold_computed(f, at / b->lanes);

    if (f->width == b->lanes)
        return x;
    for (unsigned i = 0; i < f->width; i++)
        lanes[i] = LLVMConstInt(i32, at % b->lanes + i, 0);
    return (Lanes){.re = LLVMBuildShuffleVector(b->builder, x.re,
                                                LLVMGetPoison(LLVMTypeOf(x.re)),
                                                LLVMConstVector(lanes, f->width), "")};
}

unsigned
lower_fold_step(const Fold *f)
{
    return f->loop.unroll * f->loop.b->lanes;
}

void
lower_fold_store(Fold *f, LLVMValueRef *bases, LLVMValueRef i,
                 const LLVMValueRef *masks)
{
    Loop *loop = &f->loop;

    for (unsigned c = 0; f->stores && c < loop->unroll; c++)
        lower_access_store(loop->b, f->dtype, lower_fold_computed(f, c),
                           bases[loop->nparams], lower_body_element(loop, i, c),
                           masks ? masks[c] : NULL);
}

/* A step of a block: computed, and stored. */
static void
emit_step(Fold *f, LLVMValueRef i)
{
    lower_body_compute(&f->loop, f->loop.unroll, f->loop.bases, i, NULL);
    lower_fold_store(f, f->loop.bases, i, NULL);
}

/* Accumulators begin with what changes nothing; the first one with `first`, unless that is NULL. */
static void
emit_whole(Fold *f, LLVMValueRef first)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder);
    LLVMBasicBlockRef test = lower_body_block(loop, "whole"),
                      body = lower_body_block(loop, "body");
    LLVMBasicBlockRef done = lower_body_block(loop, "rest");
    LLVMValueRef i = lower_body_counted(loop, test, f->start);
    LLVMValueRef identity = lower_fold_identity(f);
    unsigned step = lower_fold_step(f);
    Lanes sums[MAX_SUMS];

    for (unsigned c = 0; c < f->nsums; c++) {
        f->sums[c].re = LLVMBuildPhi(b->builder, LLVMTypeOf(identity), "");
        LLVMAddIncoming(f->sums[c].re, c == 0 && first ? &first : &identity, &before,
                        1);
        sums[c] = f->sums[c];
    }
    lower_body_branch(loop, LLVMIntSLT, i, f->whole, body, done);
    LLVMPositionBuilderAtEnd(b->builder, body);
    for (unsigned at = 0, c = 0; at < f->block;
         at += f->width, c = (c + 1) % f->nsums) {
        if (at % step == 0 && f->ahead)
            lower_body_ahead(loop, i, AHEAD + at * (unsigned)ir_dtype_bytes(f->dtype),
                             1);
        if (at % step == 0)
            emit_step(f, lower_body_element(loop, i, at / loop->b->lanes));
        sums[c] = lower_fold_joined(f, sums[c], lower_fold_part(f, at % step));
    }
    for (unsigned c = 0; c < f->nsums; c++)
        lower_body_incoming(loop, f->sums[c].re, sums[c].re);
    lower_body_incoming(
        loop, i, LLVMBuildAdd(b->builder, i, lower_body_i64(loop, f->block), ""));
    LLVMBuildBr(b->builder, test);
    LLVMPositionBuilderAtEnd(b->builder, done);
}

/* -- What is left --------------------------------------------------------- */

LLVMValueRef
lower_fold_flags(const Fold *f, unsigned first, unsigned n, LLVMValueRef limit)
{
    Build *b = f->loop.b;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->context);
    LLVMTypeRef vector = LLVMVectorType(i32, n);
    LLVMValueRef numbers[64], splat = LLVMBuildTrunc(b->builder, limit, i32, "");

    for (unsigned i = 0; i < n; i++)
        numbers[i] = LLVMConstInt(i32, first + i, 0);
    splat = LLVMBuildInsertElement(b->builder, LLVMGetPoison(vector), splat,
                                   LLVMConstInt(i32, 0, 0), "");
    splat = LLVMBuildShuffleVector(b->builder, splat, LLVMGetPoison(vector),
                                   LLVMConstNull(vector), "");
    return LLVMBuildICmp(b->builder, LLVMIntULT, LLVMConstVector(numbers, n), splat,
                         "");
}

void
lower_fold_reach(Fold *f)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;

    if (b->target->tail == TAIL_mask)
        return;
    for (uint32_t k = 0; k < loop->nparams; k++)
        for (unsigned at = 0; at < f->block && !lower_body_is_scalar(loop, k);
             at += b->lanes)
            lower_access_fill(b, lower_body_dtype(loop, k),
                              lower_access_address(b, lower_body_dtype(loop, k),
                                                   f->buffers[k],
                                                   lower_body_i64(loop, at)));
    lower_body_copies(loop, f->buffers, 0, loop->nparams, f->whole, f->left);
}

void
lower_fold_left(Fold *f, unsigned from, LLVMValueRef *masks)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;
    bool masked = b->target->tail == TAIL_mask;
    LLVMValueRef first = lower_body_i64(loop, from);

    for (unsigned c = 0; c < loop->unroll; c++)
        masks[c] = lower_fold_flags(f, from + c * b->lanes, b->lanes, f->left);
    if (masked && from)
        first = LLVMBuildAdd(b->builder, f->whole, first, "");
    else if (masked)
        first = f->whole;
    lower_body_compute(loop, loop->unroll, masked ? loop->bases : f->buffers, first,
                       masked ? masks : NULL);
    lower_fold_store(f, masked ? loop->bases : f->buffers, first,
                     masked ? masks : NULL);
}

void
lower_fold_reached(Fold *f)
{
    Loop *loop = &f->loop;

    if (f->stores && loop->b->target->tail != TAIL_mask)
        lower_body_copies(loop, f->buffers, loop->nparams, loop->nparams + 1, f->whole,
                          f->left);
}

LLVMValueRef
lower_fold_either(const Fold *f, LLVMValueRef x, LLVMBasicBlockRef from, LLVMValueRef y,
                  LLVMBasicBlockRef other)
{
    LLVMValueRef phi = LLVMBuildPhi(f->loop.b->builder, LLVMTypeOf(x), "");

    LLVMAddIncoming(phi, &x, &from, 1);
    LLVMAddIncoming(phi, &y, &other, 1);
    return phi;
}

/* -- What is there of others before the first line, and behind the last ------- */

/* Elements before f->start in an accumulator. */
static LLVMValueRef
emit_first(Fold *f)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;
    LLVMValueRef identity = lower_fold_identity(f), zero = lower_body_i64(loop, 0),
                 mask;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder),
                      first = lower_body_block(loop, "first"),
                      blocks = lower_body_block(loop, "blocks");
    Lanes x = {.re = identity};

    lower_body_branch(loop, LLVMIntEQ, f->start, zero, blocks, first);
    LLVMPositionBuilderAtEnd(b->builder, first);
    mask = lower_fold_flags(f, 0, b->lanes, f->start);
    lower_body_compute(loop, 1, loop->bases, zero, &mask);
    if (f->stores)
        lower_access_store(b, f->dtype, lower_fold_computed(f, 0),
                           loop->bases[loop->nparams], zero, mask);
    x.re = lower_elem_select(
        b, mask, lower_fold_joined(f, x, lower_fold_computed(f, 0)).re, identity);
    first = LLVMGetInsertBlock(b->builder);
    LLVMBuildBr(b->builder, blocks);
    LLVMPositionBuilderAtEnd(b->builder, blocks);
    return lower_fold_either(f, identity, before, x.re, first);
}

/* The row's result, what is left of it taken in. */
static LLVMValueRef
emit_result(Fold *f)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;
    LLVMValueRef masks[MAX_UNROLL];
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder);
    LLVMBasicBlockRef tail = lower_body_block(loop, "tail"),
                      done = lower_body_block(loop, "result");
    Lanes sums[MAX_UNROLL];

    lower_body_branch(loop, LLVMIntEQ, f->left, lower_body_i64(loop, 0), done, tail);
    LLVMPositionBuilderAtEnd(b->builder, tail);
    lower_fold_reach(f);
    lower_fold_left(f, 0, masks);
    for (unsigned c = 0; c < loop->unroll; c++)
        sums[c].re = lower_elem_select(
            b, masks[c], lower_fold_joined(f, f->sums[c], lower_fold_computed(f, c)).re,
            f->sums[c].re);
    lower_fold_reached(f);
    tail = LLVMGetInsertBlock(b->builder);
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
    for (unsigned c = 0; c < loop->unroll; c++)
        f->sums[c].re = lower_fold_either(f, f->sums[c].re, before, sums[c].re, tail);
    return lower_fold_lanes(f);
}

/* -- The function --------------------------------------------------------- */

/* Number i of the list that the kernel is given: steps of all operands but the last, then lengths
** of rows. */
static LLVMValueRef
listed(const Loop *loop, LLVMValueRef i)
{
    LLVMBuilderRef builder = loop->b->builder;
    LLVMTypeRef type = lower_body_i64_type(loop);

    return LLVMBuildLoad2(
        builder, type,
        LLVMBuildGEP2(builder, type, LLVMGetParam(loop->b->function, 3), &i, 1, ""),
        "");
}

/* The operand's elements in the next row. */
static LLVMValueRef
row_step(const Loop *loop, uint32_t operand)
{
    const Fold *f = (const Fold *)loop;
    LLVMBuilderRef builder = loop->b->builder;
    uint64_t bytes =
        ir_dtype_bytes(lower_access_stored(lower_body_dtype(loop, operand)));

    if (operand + 1 == loop->noperands)
        return lower_body_i64(loop, bytes);
    if (lower_body_is_scalar(loop, operand))
        return LLVMBuildSelect(builder, f->last,
                               listed(loop, lower_body_i64(loop, operand)),
                               lower_body_i64(loop, 0), "");
    return LLVMBuildMul(builder, loop->n, lower_body_i64(loop, bytes), "");
}

/* Opens the loop over rows; scalars are those of the row's run. */
static void
open_rows(Fold *f)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder);
    LLVMValueRef rows = LLVMGetParam(b->function, 1);

    lower_body_row_open(loop, lower_body_i64(loop, 0));
    f->turn = LLVMBuildPhi(b->builder, lower_body_i64_type(loop), "turn");
    LLVMAddIncoming(f->turn, &rows, &before, 1);
    f->last =
        LLVMBuildICmp(b->builder, LLVMIntEQ, f->turn, lower_body_i64(loop, 1), "");
    lower_body_invariants(loop);
}

static void
close_rows(Fold *f)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;
    LLVMValueRef left;

    LLVMPositionBuilderAtEnd(b->builder, loop->row_done);
    left = LLVMBuildSelect(
        b->builder, f->last, LLVMGetParam(b->function, 1),
        LLVMBuildSub(b->builder, f->turn, lower_body_i64(loop, 1), ""), "");
    lower_body_row_close(loop, row_step);
    LLVMAddIncoming(f->turn, &left, &loop->row_next, 1);
}

static void
emit_row(Fold *f)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;
    LLVMValueRef first, result;

    loop->n = listed(loop, LLVMBuildAdd(b->builder, loop->row,
                                        lower_body_i64(loop, loop->noperands - 1), ""));
    f->start =
        f->tree || b->target->tail == TAIL_pad ? NULL : lower_align_head(loop, false);
    first = f->start ? emit_first(f) : NULL;
    f->start = f->start ? f->start : lower_body_i64(loop, 0);
    f->whole = LLVMBuildAnd(b->builder, LLVMBuildSub(b->builder, loop->n, f->start, ""),
                            lower_body_i64(loop, ~((uint64_t)f->block - 1)), "");
    f->whole = LLVMBuildAdd(b->builder, f->start, f->whole, "");
    f->left = LLVMBuildSub(b->builder, loop->n, f->whole, "left");
    emit_whole(f, first);
    result = f->tree ? lower_fold_sum(f) : emit_result(f);
    if (ir_dtype_kind(f->dtype) == KIND_bool)
        result =
            LLVMBuildZExt(b->builder, result, LLVMInt8TypeInContext(b->context), "");
    LLVMSetAlignment(
        LLVMBuildStore(b->builder, result, loop->bases[loop->noperands - 1]),
        (unsigned)ir_dtype_bytes(f->dtype));
    LLVMBuildBr(b->builder, loop->row_done);
}

static void
choose(Fold *f)
{
    Loop *loop = &f->loop;

    lower_body_choose(loop);
    if (f->wide) {
        f->block = RT_WIDE_BYTES / (unsigned)ir_dtype_bytes(f->dtype);
        while (lower_fold_step(f) > f->block)
            loop->unroll /= 2;
        f->width = loop->b->lanes;
        f->nsums = f->block / f->width;
        return;
    }
    if (loop->b->lanes > TREE * 8)
        loop->b->lanes = TREE * 8;
    while (f->tree && loop->unroll > 1 && loop->unroll * loop->b->lanes > BLOCK_MOST)
        loop->unroll /= 2;
    if (f->tree && loop->unroll * loop->b->lanes < TREE)
        loop->unroll = TREE / loop->b->lanes;
    f->width = f->tree && loop->b->lanes > TREE ? TREE : loop->b->lanes;
    f->nsums = f->tree ? TREE / f->width : loop->unroll;
    f->block = loop->unroll * loop->b->lanes;
}

bool
lower_fold_build(Build *b, const char *name, const LowerPattern *patterns)
{
    Fold f = {.loop = {.b = b, .patterns = patterns},
              .node = lower_fold_node(b->kernel)};
    Loop *loop = &f.loop;
    bool opened = lower_body_open(loop);

    if (opened) {
        f.dtype = ir_type(b->kernel, ir_result(b->kernel, f.node, 0)).dtype;
        f.tree = ir_node_op(b->kernel, f.node) == OP_sum && is_floating(f.dtype);
        f.wide = f.tree && ir_node_attr(b->kernel, f.node, "wide");
        f.stores = ir_nreturns(b->kernel) == 2;
        f.ranges = is_floating(f.dtype) && !f.tree && b->target->tail == TAIL_mask;
        f.ahead = loop->nparams <= AHEAD_ARRAYS && ir_nnodes(b->kernel) <= AHEAD_NODES;
        f.buffers = loop->bases + loop->noperands;
        choose(&f);
        lower_body_function(loop, name);
        for (uint32_t k = 0; k + 1 < loop->noperands && b->target->tail == TAIL_pad;
             k++)
            if (!lower_body_is_scalar(loop, k))
                f.buffers[k] = lower_access_buffers(b, lower_body_dtype(loop, k),
                                                    f.block / b->lanes);
        lower_body_addresses(loop);
        open_rows(&f);
        emit_row(&f);
        close_rows(&f);
    }
    lower_body_close(loop);
    return opened;
}
