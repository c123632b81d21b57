/* body.c - what the loops of loop.c and fold.c are made of: operands, blocks, bodies. */
#include "lower/host/body.h"

#include <stdlib.h>
#include <string.h>

enum { CHEAP = 10, MODERATE = 48 }; /* costs of a body, in additions */

/* -- Operands ------------------------------------------------------------- */

LLVMTypeRef
lower_body_i64_type(const Loop *loop)
{
    return LLVMInt64TypeInContext(loop->b->context);
}

LLVMValueRef
lower_body_i64(const Loop *loop, uint64_t value)
{
    return LLVMConstInt(lower_body_i64_type(loop), value, 0);
}

IrValue
lower_body_value(const Loop *loop, uint32_t i)
{
    const IrGraph *kernel = loop->b->kernel;

    return i < loop->nparams ? ir_param(kernel, i)
                             : ir_return_at(kernel, i - loop->nparams);
}

IrDtype
lower_body_dtype(const Loop *loop, uint32_t i)
{
    return ir_type(loop->b->kernel, lower_body_value(loop, i)).dtype;
}

bool
lower_body_is_scalar(const Loop *loop, uint32_t i)
{
    return i < loop->nparams &&
           (loop->patterns[i] == PATTERN_scalar ||
            !ir_type(loop->b->kernel, lower_body_value(loop, i)).ndim);
}

Lanes *
lower_body_values(const Loop *loop, unsigned copy)
{
    return loop->values + (size_t)copy * loop->nvalues;
}

LLVMBasicBlockRef
lower_body_block(const Loop *loop, const char *name)
{
    return LLVMAppendBasicBlockInContext(loop->b->context, loop->b->function, name);
}

void
lower_body_branch(const Loop *loop, LLVMIntPredicate predicate, LLVMValueRef x,
                  LLVMValueRef y, LLVMBasicBlockRef yes, LLVMBasicBlockRef no)
{
    LLVMBuildCondBr(loop->b->builder,
                    LLVMBuildICmp(loop->b->builder, predicate, x, y, ""), yes, no);
}

LLVMValueRef
lower_body_counted(const Loop *loop, LLVMBasicBlockRef block, LLVMValueRef start)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(loop->b->builder);
    LLVMValueRef counter;

    LLVMBuildBr(loop->b->builder, block);
    LLVMPositionBuilderAtEnd(loop->b->builder, block);
    counter = LLVMBuildPhi(loop->b->builder, LLVMTypeOf(start), "");
    LLVMAddIncoming(counter, &start, &before, 1);
    return counter;
}

void
lower_body_incoming(const Loop *loop, LLVMValueRef phi, LLVMValueRef value)
{
    LLVMBasicBlockRef block = LLVMGetInsertBlock(loop->b->builder);

    LLVMAddIncoming(phi, &value, &block, 1);
}

LLVMValueRef
lower_body_element(const Loop *loop, LLVMValueRef i, unsigned copy)
{
    LLVMValueRef distance = lower_body_i64(loop, (uint64_t)copy * loop->b->lanes);

    return copy ? LLVMBuildAdd(loop->b->builder, i, distance, "") : i;
}

/* -- Rows ----------------------------------------------------------------- */

void
lower_body_function(Loop *loop, const char *name)
{
    Build *b = loop->b;
    LLVMTypeRef pointer = LLVMPointerTypeInContext(b->context, 0),
                number = lower_body_i64_type(loop);
    LLVMTypeRef arguments[4] = {pointer, number, number, pointer};

    b->function = LLVMAddFunction(
        b->module, name,
        LLVMFunctionType(LLVMVoidTypeInContext(b->context), arguments, 4, 0));
    LLVMPositionBuilderAtEnd(b->builder, lower_body_block(loop, "entry"));
}

/* True of an operand at a step of its own. */
static bool
is_strided(const Loop *loop, uint32_t i)
{
    return i < loop->nparams
               ? loop->patterns[i] == PATTERN_stride
               : strcmp(ir_graph_name(loop->b->kernel), LOWER_SCATTERED) == 0;
}

LLVMValueRef
lower_body_step(const Loop *loop, uint32_t number)
{
    LLVMBuilderRef builder = loop->b->builder;
    LLVMTypeRef type = lower_body_i64_type(loop);
    LLVMValueRef steps = LLVMGetParam(loop->b->function, 3);
    LLVMValueRef index = lower_body_i64(loop, number);

    return LLVMBuildLoad2(builder, type,
                          LLVMBuildGEP2(builder, type, steps, &index, 1, ""), "");
}

void
lower_body_addresses(Loop *loop)
{
    LLVMBuilderRef builder = loop->b->builder;
    LLVMTypeRef pointer = LLVMPointerTypeInContext(loop->b->context, 0);
    LLVMValueRef data = LLVMGetParam(loop->b->function, 0);

    for (uint32_t i = 0; i < loop->noperands; i++) {
        LLVMValueRef index = lower_body_i64(loop, i);

        loop->bases[i] = LLVMBuildLoad2(
            builder, pointer, LLVMBuildGEP2(builder, pointer, data, &index, 1, ""), "");
        if (is_strided(loop, i))
            loop->strides[i] = lower_body_step(loop, loop->noperands + i);
    }
}

void
lower_body_row_open(Loop *loop, LLVMValueRef row)
{
    LLVMBuilderRef builder = loop->b->builder;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(builder);

    loop->row_block = lower_body_block(loop, "row");
    loop->row_done = lower_body_block(loop, "row.done");
    loop->row = lower_body_counted(loop, loop->row_block, row);
    for (uint32_t i = 0; i < loop->noperands; i++) {
        LLVMValueRef first = loop->bases[i];

        loop->bases[i] = LLVMBuildPhi(builder, LLVMTypeOf(first), "");
        LLVMAddIncoming(loop->bases[i], &first, &before, 1);
    }
}

void
lower_body_row_close(Loop *loop,
                     LLVMValueRef (*step)(const Loop *loop, uint32_t operand))
{
    LLVMBuilderRef builder = loop->b->builder;
    LLVMTypeRef bytes = LLVMInt8TypeInContext(loop->b->context);
    LLVMBasicBlockRef more = lower_body_block(loop, "next"),
                      end = lower_body_block(loop, "end");
    LLVMValueRef next;

    loop->row_next = more;
    LLVMPositionBuilderAtEnd(builder, loop->row_done);
    next = LLVMBuildAdd(builder, loop->row, lower_body_i64(loop, 1), "");
    lower_body_branch(loop, LLVMIntSLT, next, LLVMGetParam(loop->b->function, 2), more,
                      end);
    LLVMPositionBuilderAtEnd(builder, more);
    lower_body_incoming(loop, loop->row, next);
    for (uint32_t i = 0; i < loop->noperands; i++) {
        LLVMValueRef distance = step(loop, i);

        lower_body_incoming(
            loop, loop->bases[i],
            LLVMBuildGEP2(builder, bytes, loop->bases[i], &distance, 1, ""));
    }
    LLVMBuildBr(builder, loop->row_block);
    LLVMPositionBuilderAtEnd(builder, end);
    LLVMBuildRetVoid(builder);
}

/* -- Bodies --------------------------------------------------------------- */

/* One node in every copy; what depends on scalars only was done in the entry. */
static void
emit_nodes(const Loop *loop, unsigned copies)
{
    const IrGraph *kernel = loop->b->kernel;

    for (IrNode node = ir_region_first(kernel, 1); node;
         node = ir_node_next(kernel, node)) {
        IrValue result = ir_result(kernel, node, 0);

        if (ir_op_class(ir_node_op(kernel, node)) == CLASS_reduce)
            continue; /* fold.c */
        for (unsigned c = 0; c < copies && !loop->values[result].re; c++)
            lower_body_values(loop, c + 1)[result] =
                lower_elem_emit(loop->b, node, lower_body_values(loop, c + 1));
    }
}

/* Table 0 holds what is the same in every turn; a copy's table begins as that. */
static void
reset_values(const Loop *loop, unsigned copies)
{
    for (unsigned c = 1; c <= copies; c++)
        for (uint32_t v = 0; v < loop->nvalues; v++)
            lower_body_values(loop, c)[v] = loop->values[v];
}

/* The first `n` parameters of the copies' vectors. */
static void
load_params(const Loop *loop, uint32_t n, unsigned copies, LLVMValueRef *bases,
            LLVMValueRef i, const LLVMValueRef *masks)
{
    Build *b = loop->b;

    for (unsigned c = 0; c < copies; c++) {
        LLVMValueRef at = lower_body_element(loop, i, c);

        for (uint32_t p = 0; p < n; p++)
            if (!lower_body_is_scalar(loop, p))
                lower_body_values(loop, c + 1)[ir_param(b->kernel, p)] =
                    loop->strides[p]
                        ? lower_access_load_at(b, lower_body_dtype(loop, p),
                                               loop->strides[p], bases[p], at,
                                               masks ? masks[c] : NULL)
                        : lower_access_load(b, lower_body_dtype(loop, p),
                                            loop->patterns[p], bases[p], at,
                                            masks ? masks[c] : NULL);
    }
}

void
lower_body_compute(const Loop *loop, unsigned copies, LLVMValueRef *bases,
                   LLVMValueRef i, const LLVMValueRef *masks)
{
    reset_values(loop, copies);
    loop->b->fixed = loop->values;
    load_params(loop, loop->nparams, copies, bases, i, masks);
    emit_nodes(loop, copies);
}

void
lower_body_compute_rows(const Loop *loop, unsigned rows, unsigned copies,
                        LLVMValueRef *bases, LLVMValueRef i, const LLVMValueRef *masks)
{
    const IrGraph *kernel = loop->b->kernel;
    IrValue joined = ir_param(kernel, loop->nparams - 1);
    Lanes so_far[MAX_UNROLL];

    loop->b->fixed = loop->values;
    for (unsigned r = 0; r < rows; r++) {
        for (unsigned c = 0; c < copies && r; c++)
            so_far[c] = lower_body_values(loop, c + 1)[ir_return_at(kernel, 0)];
        reset_values(loop, copies);
        load_params(loop, loop->nparams - (r > 0), copies, bases + r * loop->noperands,
                    i, masks);
        for (unsigned c = 0; c < copies && r; c++)
            lower_body_values(loop, c + 1)[joined] = so_far[c];
        emit_nodes(loop, copies);
    }
}

/* True if all operands are the same for the whole run. */
static bool
is_invariant(const Loop *loop, IrNode node)
{
    const IrGraph *kernel = loop->b->kernel;

    if (ir_op_class(ir_node_op(kernel, node)) == CLASS_reduce)
        return false;
    for (uint32_t i = 0; i < ir_node_noperands(kernel, node); i++)
        if (!loop->values[ir_node_operand(kernel, node, i)].re)
            return false;
    return true;
}

void
lower_body_invariants(Loop *loop)
{
    Build *b = loop->b;

    b->fixed = NULL;
    for (uint32_t i = 0; i < loop->nparams; i++)
        if (lower_body_is_scalar(loop, i))
            loop->values[lower_body_value(loop, i)] =
                lower_access_broadcast(b, lower_body_dtype(loop, i), loop->bases[i]);
    for (IrNode node = ir_region_first(b->kernel, 1); node;
         node = ir_node_next(b->kernel, node)) {
        IrValue result = ir_result(b->kernel, node, 0);

        if (ir_node_op(b->kernel, node) == OP_const)
            loop->values[result] =
                lower_access_const(b, ir_type(b->kernel, result).dtype,
                                   ir_node_attr(b->kernel, node, "value"));
        else if (is_invariant(loop, node))
            loop->values[result] = lower_elem_emit(b, node, loop->values);
    }
}

void
lower_body_copies(Loop *loop, LLVMValueRef *buffers, uint32_t first, uint32_t end,
                  LLVMValueRef i, LLVMValueRef left)
{
    Build *b = loop->b;
    LLVMBasicBlockRef body = lower_body_block(loop, "copy"),
                      done = lower_body_block(loop, "copied");
    LLVMValueRef j = lower_body_counted(loop, body, lower_body_i64(loop, 0)), next;

    for (uint32_t k = first; k < end; k++) {
        IrDtype dtype = lower_body_dtype(loop, k);
        LLVMValueRef near, far;

        if (lower_body_is_scalar(loop, k))
            continue;
        near = lower_access_address(b, dtype, buffers[k], j);
        far = lower_access_address(b, dtype, loop->bases[k],
                                   LLVMBuildAdd(b->builder, i, j, ""));
        if (end <= loop->nparams)
            lower_access_copy(b, dtype, near, far);
        else
            lower_access_copy(b, dtype, far, near);
    }
    next = LLVMBuildAdd(b->builder, j, lower_body_i64(loop, 1), "");
    lower_body_incoming(loop, j, next);
    lower_body_branch(loop, LLVMIntSLT, next, left, body, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
}

void
lower_body_choose(Loop *loop)
{
    Build *b = loop->b;
    unsigned widest = 1, cost = 0, vectors = loop->noperands;

    for (uint32_t i = 0; i < loop->noperands; i++) {
        IrDtype dtype = lower_body_dtype(loop, i);
        unsigned bytes = (unsigned)ir_dtype_bytes(lower_access_part(dtype));

        if (lower_access_part(dtype) == DT_float16)
            bytes = 4; /* computed in float32 */
        widest = bytes > widest ? bytes : widest;
    }
    for (IrNode node = ir_region_first(b->kernel, 1); node;
         node = ir_node_next(b->kernel, node)) {
        unsigned bytes = lower_elem_bytes(b->kernel, node);

        widest = bytes > widest ? bytes : widest;
        cost += lower_elem_cost(b->kernel, node);
    }
    b->lanes = b->target->vector_bytes / widest;
    loop->unroll = cost <= CHEAP ? MAX_UNROLL : cost <= MODERATE ? MAX_UNROLL / 2 : 1;
    while (loop->unroll > 1 && loop->unroll * vectors > b->target->registers)
        loop->unroll /= 2;
}

bool
lower_body_open(Loop *loop)
{
    const IrGraph *kernel = loop->b->kernel;

    loop->nparams = ir_nparams(kernel);
    loop->noperands = loop->nparams + ir_nreturns(kernel);
    loop->nvalues = ir_nvalues(kernel);
    loop->bases = calloc(3 * (size_t)loop->noperands, sizeof *loop->bases);
    loop->values =
        calloc((MAX_UNROLL + 1) * (size_t)loop->nvalues, sizeof *loop->values);
    loop->strides = calloc(loop->noperands, sizeof *loop->strides);
    loop->joined = calloc(JOINED_ROWS * (size_t)loop->noperands, sizeof *loop->joined);
    return loop->bases && loop->values && loop->strides && loop->joined;
}

void
lower_body_close(Loop *loop)
{
    free(loop->bases);
    free(loop->values);
    free(loop->strides);
    free(loop->joined);
}

/* -- What is read later ------------------------------------------------------ */

void
lower_body_ahead(const Loop *loop, LLVMValueRef i, unsigned ahead, unsigned level)
{
    enum { WRITE = 0, NEAREST = 3, DATA = 1, LINE = 64 }; /* LLVM's numbers; bytes */
    Build *b = loop->b;
    LLVMTypeRef pointer = LLVMPointerTypeInContext(b->context, 0),
                i32 = LLVMInt32TypeInContext(b->context);
    LLVMValueRef arguments[4] = {NULL, LLVMConstInt(i32, WRITE, 0),
                                 LLVMConstInt(i32, NEAREST + 1 - level, 0),
                                 LLVMConstInt(i32, DATA, 0)};

    for (uint32_t p = 0; p < loop->nparams; p++) {
        IrDtype dtype = lower_body_dtype(loop, p);
        uint64_t bytes = ir_dtype_bytes(lower_access_stored(dtype));
        uint64_t turn = loop->unroll * b->lanes * bytes;

        if (lower_body_is_scalar(loop, p) || loop->patterns[p] != PATTERN_contiguous)
            continue;
        for (uint64_t at = 0; at < turn; at += LINE) {
            arguments[0] = lower_access_address(
                b, dtype, loop->bases[p],
                LLVMBuildAdd(b->builder, i, lower_body_i64(loop, (ahead + at) / bytes),
                             ""));
            lower_access_call(b, "llvm.prefetch", &pointer, 1, arguments, 4);
        }
    }
}
