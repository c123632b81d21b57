/* loop.c - a kernel's function: rows of innermost runs, in vectors.
**
**     entry    addresses of the first row
**     row      a turn a row: what depends on scalars only
**     wide     n / (lanes * unroll) turns of `unroll` vectors          cheap bodies
**     only narrow   turns of one vector, and what is left:
**                mask  the last turn is masked (the mask is full in the others)
**                pad   the last elements are copied to buffers on the stack, narrow
**                runs
**                      once more on these, results are copied back
**     next     if there is one more row: its addresses
**
** So there are two bodies at most, one where unrolling gains nothing: a body more for
** the tail would double the time to compile.
**
** Law 1: a turn loads all its operands before it stores anything. This is what lets an
**        output be the memory of an input: no alias metadata claims anything.
** Law 2: elements past the end are neither read nor written.
*/
#include <stdlib.h>

#include "lower/host/host.h"

enum { MAX_UNROLL = 4, CHEAP = 10, MODERATE = 24 };

typedef struct Loop {
    Build *b;
    const LowerPattern *patterns;
    uint32_t nparams, noperands, nvalues;
    unsigned unroll;
    LLVMValueRef n;      /* elements of a row */
    LLVMValueRef row;    /* the number of this one */
    LLVMValueRef *bases; /* of this row's parameters, then results */
    LLVMBasicBlockRef row_block, row_done;
    Lanes *values; /* tables of nvalues: what is the same in every turn, then a copy
                      each */
} Loop;

/* -- Operands ------------------------------------------------------------- */

static LLVMTypeRef
i64_type(const Loop *loop)
{
    return LLVMInt64TypeInContext(loop->b->context);
}

static LLVMValueRef
i64(const Loop *loop, uint64_t value)
{
    return LLVMConstInt(i64_type(loop), value, 0);
}

static IrValue
operand_value(const Loop *loop, uint32_t i)
{
    const IrGraph *kernel = loop->b->kernel;

    return i < loop->nparams ? ir_param(kernel, i)
                             : ir_return_at(kernel, i - loop->nparams);
}

static IrDtype
operand_dtype(const Loop *loop, uint32_t i)
{
    return ir_type(loop->b->kernel, operand_value(loop, i)).dtype;
}

/* A parameter that is one element for the whole run. */
static bool
is_scalar(const Loop *loop, uint32_t i)
{
    return i < loop->nparams &&
           (loop->patterns[i] == PATTERN_scalar ||
            !ir_type(loop->b->kernel, operand_value(loop, i)).ndim);
}

static Lanes *
values_of(const Loop *loop, unsigned copy)
{
    return loop->values + (size_t)copy * loop->nvalues;
}

static LLVMBasicBlockRef
new_block(const Loop *loop, const char *name)
{
    return LLVMAppendBasicBlockInContext(loop->b->context, loop->b->function, name);
}

static void
branch_if(const Loop *loop, LLVMIntPredicate predicate, LLVMValueRef x, LLVMValueRef y,
          LLVMBasicBlockRef yes, LLVMBasicBlockRef no)
{
    LLVMBuildCondBr(loop->b->builder,
                    LLVMBuildICmp(loop->b->builder, predicate, x, y, ""), yes, no);
}

/* Opens a block with a counter that is `start` when it comes from the current block. */
static LLVMValueRef
open_counted(const Loop *loop, LLVMBasicBlockRef block, LLVMValueRef start)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(loop->b->builder);
    LLVMValueRef counter;

    LLVMBuildBr(loop->b->builder, block);
    LLVMPositionBuilderAtEnd(loop->b->builder, block);
    counter = LLVMBuildPhi(loop->b->builder, LLVMTypeOf(start), "");
    LLVMAddIncoming(counter, &start, &before, 1);
    return counter;
}

static void
add_incoming(const Loop *loop, LLVMValueRef phi, LLVMValueRef value)
{
    LLVMBasicBlockRef block = LLVMGetInsertBlock(loop->b->builder);

    LLVMAddIncoming(phi, &value, &block, 1);
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

        for (unsigned c = 0; c < copies && !loop->values[result].re; c++)
            values_of(loop, c + 1)[result] =
                lower_elem_emit(loop->b, node, values_of(loop, c + 1));
    }
}

/* Table 0 holds what is the same in every turn; a copy's table begins as that. */
static void
reset_values(const Loop *loop, unsigned copies)
{
    for (unsigned c = 1; c <= copies; c++)
        for (uint32_t v = 0; v < loop->nvalues; v++)
            values_of(loop, c)[v] = loop->values[v];
}

/* `copies` vectors from element i on. */
static void
emit_body(const Loop *loop, unsigned copies, LLVMValueRef *bases, LLVMValueRef i,
          LLVMValueRef mask)
{
    Build *b = loop->b;
    LLVMValueRef at[MAX_UNROLL];

    reset_values(loop, copies);
    for (unsigned c = 0; c < copies; c++) {
        at[c] = c ? LLVMBuildAdd(b->builder, i, i64(loop, c * b->lanes), "") : i;
        for (uint32_t p = 0; p < loop->nparams; p++)
            if (!is_scalar(loop, p))
                values_of(loop, c + 1)[ir_param(b->kernel, p)] =
                    lower_access_load(b, operand_dtype(loop, p), bases[p], at[c], mask);
    }
    emit_nodes(loop, copies);
    for (unsigned c = 0; c < copies; c++)
        for (uint32_t r = loop->nparams; r < loop->noperands; r++)
            lower_access_store(b, operand_dtype(loop, r),
                               values_of(loop, c + 1)[operand_value(loop, r)], bases[r],
                               at[c], mask);
}

/* True if all operands are the same for the whole run. */
static bool
is_invariant(const Loop *loop, IrNode node)
{
    const IrGraph *kernel = loop->b->kernel;

    for (uint32_t i = 0; i < ir_node_noperands(kernel, node); i++)
        if (!loop->values[ir_node_operand(kernel, node, i)].re)
            return false;
    return true;
}

/* Addresses of the first row; the builder is in the row, whose addresses are known. */
static void
emit_entry(Loop *loop)
{
    Build *b = loop->b;
    LLVMTypeRef pointer = LLVMPointerTypeInContext(b->context, 0);
    LLVMValueRef data = LLVMGetParam(b->function, 0);
    LLVMBasicBlockRef entry = LLVMGetInsertBlock(b->builder);

    loop->n = LLVMGetParam(b->function, 1);
    loop->row_block = new_block(loop, "row");
    loop->row_done = new_block(loop, "row.done");
    for (uint32_t i = 0; i < loop->noperands; i++) {
        LLVMValueRef index = i64(loop, i);

        loop->bases[i] =
            LLVMBuildLoad2(b->builder, pointer,
                           LLVMBuildGEP2(b->builder, pointer, data, &index, 1, ""), "");
    }
    loop->row = open_counted(loop, loop->row_block, i64(loop, 0));
    for (uint32_t i = 0; i < loop->noperands; i++) {
        LLVMValueRef first = loop->bases[i];

        loop->bases[i] = LLVMBuildPhi(b->builder, pointer, "");
        LLVMAddIncoming(loop->bases[i], &first, &entry, 1);
    }
}

/* Scalars, constants, and what is computed from these. */
static void
emit_row_begin(Loop *loop)
{
    Build *b = loop->b;

    for (uint32_t i = 0; i < loop->nparams; i++)
        if (is_scalar(loop, i))
            loop->values[operand_value(loop, i)] =
                lower_access_broadcast(b, operand_dtype(loop, i), loop->bases[i]);
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

/* The next row or the end. Steps are read only where there is a next row. */
static void
emit_row_end(Loop *loop)
{
    Build *b = loop->b;
    LLVMTypeRef bytes = LLVMInt8TypeInContext(b->context);
    LLVMValueRef steps = LLVMGetParam(b->function, 3), next;
    LLVMBasicBlockRef more = new_block(loop, "next"), end = new_block(loop, "end");

    LLVMPositionBuilderAtEnd(b->builder, loop->row_done);
    next = LLVMBuildAdd(b->builder, loop->row, i64(loop, 1), "");
    branch_if(loop, LLVMIntSLT, next, LLVMGetParam(b->function, 2), more, end);
    LLVMPositionBuilderAtEnd(b->builder, more);
    add_incoming(loop, loop->row, next);
    for (uint32_t i = 0; i < loop->noperands; i++) {
        LLVMValueRef index = i64(loop, i), step;

        step = LLVMBuildLoad2(
            b->builder, i64_type(loop),
            LLVMBuildGEP2(b->builder, i64_type(loop), steps, &index, 1, ""), "");
        add_incoming(loop, loop->bases[i],
                     LLVMBuildGEP2(b->builder, bytes, loop->bases[i], &step, 1, ""));
    }
    LLVMBuildBr(b->builder, loop->row_block);
    LLVMPositionBuilderAtEnd(b->builder, end);
    LLVMBuildRetVoid(b->builder);
}

/* -- The wide loop -------------------------------------------------------- */

/* Returns the number of elements done; the builder is behind the loop. */
static LLVMValueRef
emit_wide(Loop *loop)
{
    Build *b = loop->b;
    uint64_t step = (uint64_t)loop->unroll * b->lanes;
    LLVMBasicBlockRef test = new_block(loop, "wide"),
                      body = new_block(loop, "wide.body");
    LLVMBasicBlockRef done = new_block(loop, "wide.done");
    LLVMValueRef limit =
        LLVMBuildAnd(b->builder, loop->n, i64(loop, ~(step - 1)), "limit");
    LLVMValueRef i = open_counted(loop, test, i64(loop, 0));

    branch_if(loop, LLVMIntSLT, i, limit, body, done);
    LLVMPositionBuilderAtEnd(b->builder, body);
    emit_body(loop, loop->unroll, loop->bases, i, NULL);
    add_incoming(loop, i, LLVMBuildAdd(b->builder, i, i64(loop, step), ""));
    LLVMBuildBr(b->builder, test);
    LLVMPositionBuilderAtEnd(b->builder, done);
    return i;
}

/* -- The narrow loop, masked ---------------------------------------------- */

/* The lanes below n - i, which is at least 1: as many ones, from the lowest bit on. */
static LLVMValueRef
emit_mask(const Loop *loop, LLVMValueRef i)
{
    Build *b = loop->b;
    LLVMTypeRef type = i64_type(loop),
                bits = LLVMIntTypeInContext(b->context, b->lanes);
    LLVMTypeRef flags = LLVMVectorType(LLVMInt1TypeInContext(b->context), b->lanes);
    LLVMValueRef left[2] = {LLVMBuildSub(b->builder, loop->n, i, ""),
                            i64(loop, b->lanes)};
    LLVMValueRef missing = LLVMBuildSub(
        b->builder, left[1], lower_access_call(b, "llvm.umin", &type, 1, left, 2), "");

    missing = b->lanes < 64 ? LLVMBuildTrunc(b->builder, missing, bits, "") : missing;
    return LLVMBuildBitCast(
        b->builder, LLVMBuildLShr(b->builder, LLVMConstAllOnes(bits), missing, ""),
        flags, "mask");
}

static void
emit_masked(Loop *loop, LLVMValueRef start)
{
    Build *b = loop->b;
    LLVMBasicBlockRef test = new_block(loop, "narrow"), body = new_block(loop, "body");
    LLVMValueRef i = open_counted(loop, test, start);

    branch_if(loop, LLVMIntSLT, i, loop->n, body, loop->row_done);
    LLVMPositionBuilderAtEnd(b->builder, body);
    emit_body(loop, 1, loop->bases, i, emit_mask(loop, i));
    add_incoming(loop, i, LLVMBuildAdd(b->builder, i, i64(loop, b->lanes), ""));
    LLVMBuildBr(b->builder, test);
}

/* -- The narrow loop, padded ---------------------------------------------- */

/* Copies `left` elements of operands first … end - 1, from `i` on, to or from the
** buffers. The builder is behind the copying. */
static void
emit_copies(Loop *loop, LLVMValueRef *buffers, uint32_t first, uint32_t end,
            LLVMValueRef i, LLVMValueRef left)
{
    Build *b = loop->b;
    LLVMBasicBlockRef body = new_block(loop, "copy"), done = new_block(loop, "copied");
    LLVMValueRef j = open_counted(loop, body, i64(loop, 0)), next;

    for (uint32_t k = first; k < end; k++) {
        IrDtype dtype = operand_dtype(loop, k);
        LLVMValueRef near, far;

        if (is_scalar(loop, k))
            continue;
        near = lower_access_address(b, dtype, buffers[k], j);
        far = lower_access_address(b, dtype, loop->bases[k],
                                   LLVMBuildAdd(b->builder, i, j, ""));
        if (first == 0)
            lower_access_copy(b, dtype, near, far);
        else
            lower_access_copy(b, dtype, far, near);
    }
    next = LLVMBuildAdd(b->builder, j, i64(loop, 1), "");
    add_incoming(loop, j, next);
    branch_if(loop, LLVMIntSLT, next, left, body, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
}

/* What the narrow loop runs on: the memory first, then the buffers. */
typedef struct Phase {
    LLVMValueRef limit, padded; /* elements to do; true on the buffers */
    LLVMValueRef *bases;
} Phase;

static void
open_phase(Loop *loop, Phase *phase)
{
    LLVMBuilderRef builder = loop->b->builder;
    LLVMTypeRef i1 = LLVMInt1TypeInContext(loop->b->context);

    phase->limit = LLVMBuildPhi(builder, i64_type(loop), "limit");
    phase->padded = LLVMBuildPhi(builder, i1, "padded");
    for (uint32_t k = 0; k < loop->noperands; k++)
        phase->bases[k] = is_scalar(loop, k)
                              ? loop->bases[k]
                              : LLVMBuildPhi(builder, LLVMTypeOf(loop->bases[k]), "");
}

/* The phase as the current block hands it on. */
static void
enter_phase(Loop *loop, Phase *phase, LLVMValueRef limit, LLVMValueRef padded,
            LLVMValueRef *bases)
{
    add_incoming(loop, phase->limit, limit);
    add_incoming(loop, phase->padded, padded);
    for (uint32_t k = 0; k < loop->noperands; k++)
        if (!is_scalar(loop, k))
            add_incoming(loop, phase->bases[k], bases[k]);
}

/* The body of the narrow loop; the current block is its test. */
static void
emit_phase_body(Loop *loop, Phase *phase, LLVMValueRef i, LLVMBasicBlockRef test)
{
    LLVMValueRef next;

    emit_body(loop, 1, phase->bases, i, NULL);
    next = LLVMBuildAdd(loop->b->builder, i, i64(loop, loop->b->lanes), "");
    add_incoming(loop, i, next);
    enter_phase(loop, phase, phase->limit, phase->padded, phase->bases);
    LLVMBuildBr(loop->b->builder, test);
}

static void
emit_padded(Loop *loop, LLVMValueRef start, LLVMValueRef *buffers, Phase *phase)
{
    Build *b = loop->b;
    LLVMTypeRef i1 = LLVMInt1TypeInContext(b->context);
    LLVMValueRef lanes = i64(loop, b->lanes), i;
    LLVMValueRef whole = LLVMBuildAnd(b->builder, loop->n,
                                      i64(loop, ~((uint64_t)b->lanes - 1)), "whole");
    LLVMValueRef left = LLVMBuildSub(b->builder, loop->n, whole, "left");
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder);
    LLVMBasicBlockRef test = new_block(loop, "narrow"), body = new_block(loop, "body");
    LLVMBasicBlockRef after = new_block(loop, "after"), fill = new_block(loop, "fill");
    LLVMBasicBlockRef finish = new_block(loop, "finish"),
                      rest = new_block(loop, "rest");

    i = open_counted(loop, test, start);
    open_phase(loop, phase);
    branch_if(loop, LLVMIntSLT, i, phase->limit, body, after);
    LLVMPositionBuilderAtEnd(b->builder, before);
    enter_phase(loop, phase, whole, LLVMConstInt(i1, 0, 0), loop->bases);
    LLVMPositionBuilderAtEnd(b->builder, body);
    emit_phase_body(loop, phase, i, test);

    LLVMPositionBuilderAtEnd(b->builder, after);
    LLVMBuildCondBr(b->builder, phase->padded, finish, rest);
    LLVMPositionBuilderAtEnd(b->builder, rest);
    branch_if(loop, LLVMIntEQ, left, i64(loop, 0), loop->row_done, fill);
    LLVMPositionBuilderAtEnd(b->builder, fill);
    for (uint32_t k = 0; k < loop->nparams; k++)
        if (!is_scalar(loop, k))
            lower_access_fill(b, operand_dtype(loop, k), buffers[k]);
    emit_copies(loop, buffers, 0, loop->nparams, whole, left);
    add_incoming(loop, i, i64(loop, 0));
    enter_phase(loop, phase, lanes, LLVMConstInt(i1, 1, 0), buffers);
    LLVMBuildBr(b->builder, test);

    LLVMPositionBuilderAtEnd(b->builder, finish);
    emit_copies(loop, buffers, loop->nparams, loop->noperands, whole, left);
    LLVMBuildBr(b->builder, loop->row_done);
}

/* -- The function --------------------------------------------------------- */

/* Lanes by the widest element, unrolling by what a body costs and keeps in registers.
** */
static void
choose(Loop *loop)
{
    Build *b = loop->b;
    unsigned widest = 1, cost = 0, vectors = loop->noperands;

    for (uint32_t i = 0; i < loop->noperands; i++) {
        IrDtype dtype = operand_dtype(loop, i);
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

static bool
allocate(Loop *loop, LLVMValueRef **buffers, Phase *phase)
{
    loop->bases = calloc(3 * (size_t)loop->noperands, sizeof *loop->bases);
    loop->values =
        calloc((MAX_UNROLL + 1) * (size_t)loop->nvalues, sizeof *loop->values);
    if (!loop->bases || !loop->values)
        return false;
    *buffers = loop->bases + loop->noperands;
    phase->bases = *buffers + loop->noperands;
    return true;
}

bool
lower_loop_build(Build *b, const char *name, const LowerPattern *patterns)
{
    Loop loop = {.b = b, .patterns = patterns};
    LLVMTypeRef pointer = LLVMPointerTypeInContext(b->context, 0),
                number = LLVMInt64TypeInContext(b->context);
    LLVMTypeRef arguments[4] = {pointer, number, number, pointer};
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(b->context), arguments, 4, 0);
    LLVMValueRef *buffers, start;
    Phase phase;
    bool done = false;

    loop.nparams = ir_nparams(b->kernel);
    loop.noperands = loop.nparams + ir_nreturns(b->kernel);
    loop.nvalues = ir_nvalues(b->kernel);
    if (!allocate(&loop, &buffers, &phase))
        goto done;
    choose(&loop);
    b->function = LLVMAddFunction(b->module, name, type);
    LLVMPositionBuilderAtEnd(b->builder, new_block(&loop, "entry"));
    if (b->target->tail == TAIL_pad)
        for (uint32_t k = 0; k < loop.noperands; k++)
            if (!is_scalar(&loop, k))
                buffers[k] = lower_access_buffer(b, operand_dtype(&loop, k));
    emit_entry(&loop);
    emit_row_begin(&loop);
    start = loop.unroll > 1 ? emit_wide(&loop) : i64(&loop, 0);
    if (b->target->tail == TAIL_mask)
        emit_masked(&loop, start);
    else
        emit_padded(&loop, start, buffers, &phase);
    emit_row_end(&loop);
    done = true;
done:
    free(loop.bases);
    free(loop.values);
    return done;
}
