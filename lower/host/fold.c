/* fold.c - a kernel that ends in a reduction: rows of elements in, an element a row out.
**
**     entry    addresses
**     row      a turn a row: how many elements it has, what depends on scalars only
**     whole    blocks of elements, a vector an accumulator
**     tail     the rest: masked, or copied to buffers on the stack
**     result   accumulators and lanes joined
**
** Floats are summed in NumPy's order (numpy/core/src/umath/loops_utils.h, pairwise sum): element i
** goes to accumulator i mod 8, these are joined by ((0+1)+(2+3))+((4+5)+(6+7)), what is left of the
** last eight is added one by one. The accumulators are the lanes of one vector, or of several; values
** are computed in vectors as wide as can be, whose parts are added in order. Sums begin with -0.0,
** which changes none: so rows of less than eight elements need no code of their own.
**
** In what order others are joined does not show: integers wrap, of floats the greatest is the
** greatest. Products of floats are not here.
**
** Law 1: elements past the end of a row are neither read nor counted.
*/
#include <math.h>
#include <stdio.h>

#include "lower/host/body.h"
#include "lower/host/elem.h"

enum {
    TREE = 8,        /* NumPy's accumulators */
    BLOCK_MOST = 32, /* elements: leaves are a few blocks and little more */
};

typedef struct Fold {
    Loop loop;
    IrNode node;
    IrDtype dtype;
    bool tree;
    unsigned block;        /* elements of a turn */
    unsigned width, nsums; /* lanes of an accumulator; how many there are */
    LLVMValueRef *buffers;
    LLVMValueRef whole, left; /* elements of a row in blocks, and behind them */
    LLVMValueRef turn, last;  /* rows to the end of the run; true in the last one */
    Lanes sums[MAX_UNROLL];
} Fold;

/* -- What there is -------------------------------------------------------- */

IrNode
lower_fold_node(const IrGraph *kernel)
{
    IrNode node =
        ir_nreturns(kernel) == 1 ? ir_def(kernel, ir_return_at(kernel, 0)) : 0;

    return node && ir_op_class(ir_node_op(kernel, node)) == CLASS_reduce ? node : 0;
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

/* What changes nothing. */
static LLVMValueRef
identity(const Fold *f)
{
    Build *b = f->loop.b;
    IrOp op = ir_node_op(b->kernel, f->node);
    unsigned bits = 8 * (unsigned)ir_dtype_bytes(f->dtype);
    bool least = op == OP_max, sign = ir_dtype_kind(f->dtype) == KIND_int;

    if (f->tree) {
        LLVMValueRef zeros[TREE], zero = lower_access_float(b, f->dtype, -0.0);

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

static Lanes
joined(const Fold *f, Lanes x, Lanes y)
{
    return lower_elem_fold(f->loop.b, f->node, x, y);
}

/* Lane i of the result is lane i ^ distance. */
static Lanes
exchanged(const Fold *f, Lanes x, unsigned distance)
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

static LLVMValueRef
lane(const Fold *f, Lanes x, unsigned i)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(f->loop.b->context);

    return LLVMBuildExtractElement(f->loop.b->builder, x.re, LLVMConstInt(i32, i, 0),
                                   "");
}

/* All accumulators as one element: neighbours first, as NumPy does. */
static LLVMValueRef
joined_lanes(const Fold *f)
{
    Build *b = f->loop.b;
    Lanes sums[MAX_UNROLL];

    for (unsigned c = 0; c < f->nsums; c++)
        sums[c] = f->sums[c];
    if (f->tree)
        for (unsigned c = 0; c < f->nsums; c++)
            for (unsigned distance = 1; distance < f->width; distance *= 2)
                sums[c] = joined(f, sums[c], exchanged(f, sums[c], distance));
    for (unsigned distance = 1; distance < f->nsums; distance *= 2)
        for (unsigned c = 0; c < f->nsums; c += 2 * distance)
            sums[c] = joined(f, sums[c], sums[c + distance]);
    if (ir_dtype_kind(f->dtype) == KIND_bool) {
        LLVMTypeRef type = LLVMTypeOf(sums[0].re);

        return lower_access_call(b,
                                 ir_node_op(b->kernel, f->node) == OP_any
                                     ? "llvm.vector.reduce.or"
                                     : "llvm.vector.reduce.and",
                                 &type, 1, &sums[0].re, 1);
    }
    for (unsigned distance = 1; !f->tree && distance < f->width; distance *= 2)
        sums[0] = joined(f, sums[0], exchanged(f, sums[0], distance));
    return lane(f, sums[0], 0);
}

/* -- The loop over blocks ------------------------------------------------- */

static Lanes
computed(const Fold *f, unsigned copy)
{
    IrValue value = ir_node_operand(f->loop.b->kernel, f->node, 0);

    return lower_body_values(&f->loop, copy + 1)[value];
}

/* What an accumulator gets of elements `at` ... of a block. */
static Lanes
part(const Fold *f, unsigned at)
{
    Build *b = f->loop.b;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->context);
    LLVMValueRef lanes[64];
    Lanes x = computed(f, at / b->lanes);

    if (f->width == b->lanes)
        return x;
    for (unsigned i = 0; i < f->width; i++)
        lanes[i] = LLVMConstInt(i32, at % b->lanes + i, 0);
    return (Lanes){.re = LLVMBuildShuffleVector(b->builder, x.re,
                                                LLVMGetPoison(LLVMTypeOf(x.re)),
                                                LLVMConstVector(lanes, f->width), "")};
}

static void
emit_whole(Fold *f)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder);
    LLVMBasicBlockRef test = lower_body_block(loop, "whole"),
                      body = lower_body_block(loop, "body");
    LLVMBasicBlockRef done = lower_body_block(loop, "rest");
    LLVMValueRef i = lower_body_counted(loop, test, lower_body_i64(loop, 0));
    LLVMValueRef start = identity(f);
    Lanes sums[MAX_UNROLL];

    for (unsigned c = 0; c < f->nsums; c++) {
        f->sums[c].re = LLVMBuildPhi(b->builder, LLVMTypeOf(start), "");
        LLVMAddIncoming(f->sums[c].re, &start, &before, 1);
        sums[c] = f->sums[c];
    }
    lower_body_branch(loop, LLVMIntSLT, i, f->whole, body, done);
    LLVMPositionBuilderAtEnd(b->builder, body);
    lower_body_compute(loop, loop->unroll, loop->bases, i, NULL);
    for (unsigned at = 0, c = 0; at < f->block; at += f->width, c = (c + 1) % f->nsums)
        sums[c] = joined(f, sums[c], part(f, at));
    for (unsigned c = 0; c < f->nsums; c++)
        lower_body_incoming(loop, f->sums[c].re, sums[c].re);
    lower_body_incoming(
        loop, i, LLVMBuildAdd(b->builder, i, lower_body_i64(loop, f->block), ""));
    LLVMBuildBr(b->builder, test);
    LLVMPositionBuilderAtEnd(b->builder, done);
}

/* -- What is left --------------------------------------------------------- */

/* A flag for each of the numbers first ... first + n - 1: true below the limit. */
static LLVMValueRef
flags_below(const Fold *f, unsigned first, unsigned n, LLVMValueRef limit)
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

/* Values of the elements behind the blocks, whatever in the other lanes. */
static void
emit_left(Fold *f, LLVMValueRef *masks)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;

    for (unsigned c = 0; c < loop->unroll; c++)
        masks[c] = flags_below(f, c * b->lanes, b->lanes, f->left);
    if (b->target->tail == TAIL_mask) {
        lower_body_compute(loop, loop->unroll, loop->bases, f->whole, masks);
        return;
    }
    for (uint32_t k = 0; k < loop->nparams; k++)
        for (unsigned c = 0; c < loop->unroll && !lower_body_is_scalar(loop, k); c++)
            lower_access_fill(
                b, lower_body_dtype(loop, k),
                lower_access_address(b, lower_body_dtype(loop, k), f->buffers[k],
                                     lower_body_i64(loop, (uint64_t)c * b->lanes)));
    lower_body_copies(loop, f->buffers, 0, loop->nparams, f->whole, f->left);
    lower_body_compute(loop, loop->unroll, f->buffers, lower_body_i64(loop, 0), NULL);
}

/* -- What is left of a sum in NumPy's order -------------------------------- */

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
        last[c] = part(f, c * f->width);
        for (unsigned at = TREE; at < f->block; at += TREE)
            last[c].re = LLVMBuildSelect(
                b->builder,
                LLVMBuildICmp(b->builder, LLVMIntEQ, first, number(f, at), ""),
                part(f, at + c * f->width).re, last[c].re, "");
        last[c].re = lower_elem_select(b, flags_below(f, c * f->width, f->width, count),
                                       last[c].re, identity(f));
    }
}

/* Accumulators take in the eights that are whole; others stay in `last`. */
static void
take_eights(Fold *f, Lanes *sums, Lanes *last)
{
    Build *b = f->loop.b;
    LLVMValueRef masks[MAX_UNROLL];

    emit_left(f, masks);
    for (unsigned c = 0; c < f->nsums; c++)
        sums[c] = f->sums[c];
    for (unsigned at = 0; at + TREE < f->block; at += TREE) {
        LLVMValueRef whole =
            LLVMBuildICmp(b->builder, LLVMIntUGE, f->left, number(f, at + TREE), "");

        for (unsigned c = 0; c < f->nsums; c++) {
            Lanes x = {.re = LLVMBuildSelect(b->builder, whole,
                                             part(f, at + c * f->width).re, identity(f),
                                             "")};

            sums[c] = joined(f, sums[c], x);
        }
    }
    pick_last(f, last);
}

/* Elements one by one: sum + -0.0 is the sum. */
static LLVMValueRef
one_by_one(const Fold *f, LLVMValueRef sum, const Lanes *last)
{
    for (unsigned k = 0; k + 1 < TREE; k++)
        sum = LLVMBuildFAdd(f->loop.b->builder, sum,
                            lane(f, last[k / f->width], k % f->width), "");
    return sum;
}

/* A phi of what comes from two blocks. */
static LLVMValueRef
either(const Fold *f, LLVMValueRef x, LLVMBasicBlockRef from, LLVMValueRef y,
       LLVMBasicBlockRef other)
{
    LLVMValueRef phi = LLVMBuildPhi(f->loop.b->builder, LLVMTypeOf(x), "");

    LLVMAddIncoming(phi, &x, &from, 1);
    LLVMAddIncoming(phi, &y, &other, 1);
    return phi;
}

static LLVMValueRef
emit_sum(Fold *f)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder), joining;
    LLVMBasicBlockRef tail = lower_body_block(loop, "tail"),
                      join = lower_body_block(loop, "join"),
                      ones = lower_body_block(loop, "ones"),
                      done = lower_body_block(loop, "result");
    LLVMValueRef start = identity(f), sum, longer;
    Lanes sums[MAX_UNROLL], last[MAX_UNROLL];

    lower_body_branch(loop, LLVMIntEQ, f->left, number(f, 0), join, tail);
    LLVMPositionBuilderAtEnd(b->builder, tail);
    take_eights(f, sums, last);
    tail = LLVMGetInsertBlock(b->builder);
    LLVMBuildBr(b->builder, join);
    LLVMPositionBuilderAtEnd(b->builder, join);
    for (unsigned c = 0; c < f->nsums; c++) {
        f->sums[c].re = either(f, f->sums[c].re, before, sums[c].re, tail);
        last[c].re = either(f, start, before, last[c].re, tail);
    }
    sum = joined_lanes(f);
    joining = LLVMGetInsertBlock(b->builder);
    lower_body_branch(loop, LLVMIntEQ,
                      LLVMBuildAnd(b->builder, f->left, number(f, TREE - 1), ""),
                      number(f, 0), done, ones);
    LLVMPositionBuilderAtEnd(b->builder, ones);
    longer = one_by_one(f, sum, last);
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
    return either(f, sum, joining, longer, ones);
}

/* -- What is left of others ------------------------------------------------ */

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
    emit_left(f, masks);
    for (unsigned c = 0; c < loop->unroll; c++)
        sums[c].re = lower_elem_select(
            b, masks[c], joined(f, f->sums[c], computed(f, c)).re, f->sums[c].re);
    tail = LLVMGetInsertBlock(b->builder);
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
    for (unsigned c = 0; c < loop->unroll; c++)
        f->sums[c].re = either(f, f->sums[c].re, before, sums[c].re, tail);
    return joined_lanes(f);
}

/* -- The function --------------------------------------------------------- */

/* Number i of the list that the kernel is given: parameters' steps, then lengths of rows. */
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

    if (operand >= loop->nparams)
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

    lower_body_row_open(loop);
    f->turn = LLVMBuildPhi(b->builder, lower_body_i64_type(loop), "turn");
    LLVMAddIncoming(f->turn, &rows, &before, 1);
    f->last = LLVMBuildICmp(b->builder, LLVMIntEQ, f->turn, number(f, 1), "");
    lower_body_invariants(loop);
}

static void
close_rows(Fold *f)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;
    LLVMValueRef left;

    LLVMPositionBuilderAtEnd(b->builder, loop->row_done);
    left = LLVMBuildSelect(b->builder, f->last, LLVMGetParam(b->function, 1),
                           LLVMBuildSub(b->builder, f->turn, number(f, 1), ""), "");
    lower_body_row_close(loop, row_step);
    LLVMAddIncoming(f->turn, &left, &loop->row_next, 1);
}

static void
emit_row(Fold *f)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;
    LLVMValueRef result;

    loop->n =
        listed(loop, LLVMBuildAdd(b->builder, loop->row, number(f, loop->nparams), ""));
    f->whole = LLVMBuildAnd(b->builder, loop->n,
                            lower_body_i64(loop, ~((uint64_t)f->block - 1)), "");
    f->left = LLVMBuildSub(b->builder, loop->n, f->whole, "left");
    emit_whole(f);
    result = f->tree ? emit_sum(f) : emit_result(f);
    if (ir_dtype_kind(f->dtype) == KIND_bool)
        result =
            LLVMBuildZExt(b->builder, result, LLVMInt8TypeInContext(b->context), "");
    LLVMSetAlignment(LLVMBuildStore(b->builder, result, loop->bases[loop->nparams]),
                     (unsigned)ir_dtype_bytes(f->dtype));
    LLVMBuildBr(b->builder, loop->row_done);
}

static void
choose(Fold *f)
{
    Loop *loop = &f->loop;

    lower_body_choose(loop);
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
        f.buffers = loop->bases + loop->noperands;
        choose(&f);
        lower_body_function(loop, name);
        for (uint32_t k = 0; k < loop->nparams && b->target->tail == TAIL_pad; k++)
            if (!lower_body_is_scalar(loop, k))
                f.buffers[k] =
                    lower_access_buffers(b, lower_body_dtype(loop, k), loop->unroll);
        lower_body_addresses(loop);
        open_rows(&f);
        emit_row(&f);
        close_rows(&f);
    }
    lower_body_close(loop);
    return opened;
}
