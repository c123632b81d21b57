/* fold.c - a kernel that ends in a reduction: rows of elements in, an element a row out.
**
**     entry    addresses, what depends on scalars only, accumulators' first value
**     row      a turn a row: how many elements it has
**     whole    blocks of elements, a vector an accumulator
**     tail     the rest: masked, or copied to buffers on the stack
**     result   accumulators and lanes joined
**
** Floats are summed in NumPy's order (numpy/core/src/umath/loops_utils.h, pairwise sum): element i
** goes to accumulator i mod 8, these are joined by ((0+1)+(2+3))+((4+5)+(6+7)), what is left of the
** last eight is added one by one. The accumulators are the lanes of one vector, or of several. They
** begin with -0.0, which changes no sum: so rows of less than eight elements need no code of their
** own.
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

enum { TREE = 8 }; /* NumPy's accumulators */

typedef struct Fold {
    Loop loop;
    IrNode node;
    IrDtype dtype;
    bool tree;
    unsigned block; /* elements of a turn */
    LLVMValueRef *buffers;
    LLVMValueRef whole, left; /* elements of a row in blocks, and behind them */
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

    if (op == OP_sum)
        return is_floating(f->dtype) ? lower_access_float(b, f->dtype, -0.0)
                                     : lower_access_int(b, f->dtype, 0);
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

    for (unsigned i = 0; i < b->lanes; i++)
        lanes[i] = LLVMConstInt(i32, i ^ distance, 0);
    return (Lanes){.re = LLVMBuildShuffleVector(b->builder, x.re,
                                                LLVMGetPoison(LLVMTypeOf(x.re)),
                                                LLVMConstVector(lanes, b->lanes), "")};
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
    unsigned copies = f->loop.unroll;

    for (unsigned c = 0; c < copies; c++)
        sums[c] = f->sums[c];
    if (f->tree)
        for (unsigned c = 0; c < copies; c++)
            for (unsigned distance = 1; distance < b->lanes; distance *= 2)
                sums[c] = joined(f, sums[c], exchanged(f, sums[c], distance));
    for (unsigned distance = 1; distance < copies; distance *= 2)
        for (unsigned c = 0; c < copies; c += 2 * distance)
            sums[c] = joined(f, sums[c], sums[c + distance]);
    if (ir_dtype_kind(f->dtype) == KIND_bool) {
        LLVMTypeRef type = LLVMTypeOf(sums[0].re);

        return lower_access_call(b,
                                 ir_node_op(b->kernel, f->node) == OP_any
                                     ? "llvm.vector.reduce.or"
                                     : "llvm.vector.reduce.and",
                                 &type, 1, &sums[0].re, 1);
    }
    for (unsigned distance = 1; !f->tree && distance < b->lanes; distance *= 2)
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

    for (unsigned c = 0; c < loop->unroll; c++) {
        f->sums[c].re = LLVMBuildPhi(b->builder, LLVMTypeOf(start), "");
        LLVMAddIncoming(f->sums[c].re, &start, &before, 1);
    }
    lower_body_branch(loop, LLVMIntSLT, i, f->whole, body, done);
    LLVMPositionBuilderAtEnd(b->builder, body);
    lower_body_compute(loop, loop->unroll, loop->bases, i, NULL);
    for (unsigned c = 0; c < loop->unroll; c++)
        lower_body_incoming(loop, f->sums[c].re,
                            joined(f, f->sums[c], computed(f, c)).re);
    lower_body_incoming(
        loop, i, LLVMBuildAdd(b->builder, i, lower_body_i64(loop, f->block), ""));
    LLVMBuildBr(b->builder, test);
    LLVMPositionBuilderAtEnd(b->builder, done);
}

/* -- What is left --------------------------------------------------------- */

/* The lanes of a copy that are among the `left` ones. */
static LLVMValueRef
lanes_left(const Fold *f, unsigned copy)
{
    Build *b = f->loop.b;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->context);
    LLVMTypeRef vector = LLVMVectorType(i32, b->lanes);
    LLVMValueRef numbers[64], left = LLVMBuildTrunc(b->builder, f->left, i32, "");

    for (unsigned i = 0; i < b->lanes; i++)
        numbers[i] = LLVMConstInt(i32, copy * b->lanes + i, 0);
    left = LLVMBuildInsertElement(b->builder, LLVMGetPoison(vector), left,
                                  LLVMConstInt(i32, 0, 0), "");
    left = LLVMBuildShuffleVector(b->builder, left, LLVMGetPoison(vector),
                                  LLVMConstNull(vector), "");
    return LLVMBuildICmp(b->builder, LLVMIntULT, LLVMConstVector(numbers, b->lanes),
                         left, "");
}

/* Values of the elements behind the blocks, whatever in the other lanes. */
static void
emit_left(Fold *f, LLVMValueRef *masks)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;

    for (unsigned c = 0; c < loop->unroll; c++)
        masks[c] = lanes_left(f, c);
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

/* Elements one by one: sum + -0.0 is the sum. */
static LLVMValueRef
one_by_one(const Fold *f, LLVMValueRef sum, const LLVMValueRef *masks)
{
    Build *b = f->loop.b;

    for (unsigned k = 0; k + 1 < TREE; k++) {
        unsigned c = k / b->lanes, at = k % b->lanes;
        Lanes x = {.re =
                       lower_elem_select(b, masks[c], computed(f, c).re, identity(f))};

        sum = LLVMBuildFAdd(b->builder, sum, lane(f, x, at), "");
    }
    return sum;
}

/* The row's result, what is left of it taken in. */
static LLVMValueRef
emit_result(Fold *f)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;
    LLVMValueRef masks[MAX_UNROLL], sum = f->tree ? joined_lanes(f) : NULL, last, phi;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder);
    LLVMBasicBlockRef tail = lower_body_block(loop, "tail"),
                      done = lower_body_block(loop, "result");
    Lanes sums[MAX_UNROLL];

    lower_body_branch(loop, LLVMIntEQ, f->left, lower_body_i64(loop, 0), done, tail);
    LLVMPositionBuilderAtEnd(b->builder, tail);
    emit_left(f, masks);
    last = f->tree ? one_by_one(f, sum, masks) : NULL;
    for (unsigned c = 0; c < loop->unroll && !f->tree; c++)
        sums[c].re = lower_elem_select(
            b, masks[c], joined(f, f->sums[c], computed(f, c)).re, f->sums[c].re);
    tail = LLVMGetInsertBlock(b->builder);
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
    if (f->tree) {
        phi = LLVMBuildPhi(b->builder, LLVMTypeOf(sum), "");
        LLVMAddIncoming(phi, &sum, &before, 1);
        LLVMAddIncoming(phi, &last, &tail, 1);
        return phi;
    }
    for (unsigned c = 0; c < loop->unroll; c++) {
        phi = LLVMBuildPhi(b->builder, LLVMTypeOf(sums[c].re), "");
        LLVMAddIncoming(phi, &f->sums[c].re, &before, 1);
        LLVMAddIncoming(phi, &sums[c].re, &tail, 1);
        f->sums[c].re = phi;
    }
    return joined_lanes(f);
}

/* -- The function --------------------------------------------------------- */

/* The operand's elements in the next row. */
static LLVMValueRef
row_step(const Loop *loop, uint32_t operand)
{
    uint64_t bytes =
        ir_dtype_bytes(lower_access_stored(lower_body_dtype(loop, operand)));

    if (operand >= loop->nparams)
        return lower_body_i64(loop, bytes);
    if (lower_body_is_scalar(loop, operand))
        return lower_body_i64(loop, 0);
    return LLVMBuildMul(loop->b->builder, loop->n, lower_body_i64(loop, bytes), "");
}

static void
emit_row(Fold *f)
{
    Loop *loop = &f->loop;
    Build *b = loop->b;
    LLVMTypeRef number = lower_body_i64_type(loop);
    LLVMValueRef lengths = LLVMGetParam(b->function, 3), result;

    loop->n = LLVMBuildLoad2(
        b->builder, number,
        LLVMBuildGEP2(b->builder, number, lengths, &loop->row, 1, ""), "n");
    f->whole = LLVMBuildAnd(b->builder, loop->n,
                            lower_body_i64(loop, ~((uint64_t)f->block - 1)), "");
    f->left = LLVMBuildSub(b->builder, loop->n, f->whole, "left");
    emit_whole(f);
    result = emit_result(f);
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
    if (f->tree) {
        if (loop->b->lanes > TREE)
            loop->b->lanes = TREE;
        loop->unroll = TREE / loop->b->lanes;
    }
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
        lower_body_invariants(loop);
        lower_body_row_open(loop);
        emit_row(&f);
        lower_body_row_close(loop, row_step);
    }
    lower_body_close(loop);
    return opened;
}
