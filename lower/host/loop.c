/* loop.c - a kernel's function: rows of innermost runs, in vectors.
**
**     entry    addresses of the first row
**     row      a turn a row: what depends on scalars only
**     wide     n / (lanes * unroll) turns of `unroll` vectors          cheap bodies
**     only narrow   turns of one vector, and what is left:
**                mask  the last turn is masked (the mask is full in the others); where there is a wide
**                      loop, a turn before it has the elements up to a whole line of the caches
**                pad   the last elements are copied to buffers on the stack, narrow
**                runs
**                      once more on these, results are copied back
**     next     if there is one more row: its addresses
**
** So there are two bodies at most, one where unrolling gains nothing and there is more than one
** operation: a body more for the tail would double the time to compile. Kernels that stream have another: the wide loop for
** rows whose results begin at a whole vector, which writes past the caches.
**
** Law 1: a turn loads all its operands before it stores anything. This is what lets an
**        output be the memory of an input: no alias metadata claims anything.
** Law 2: elements past the end are neither read nor written.
*/
#include <string.h>

#include "lower/host/body.h"

/* -- Bodies --------------------------------------------------------------- */

/* `copies` vectors from element i on. */
static void
emit_body(const Loop *loop, unsigned copies, LLVMValueRef *bases, LLVMValueRef i,
          LLVMValueRef mask)
{
    Build *b = loop->b;

    if (loop->joins)
        lower_body_compute_rows(loop, JOINED_ROWS, copies, loop->joined, i,
                                mask ? &mask : NULL);
    else
        lower_body_compute(loop, copies, bases, i, mask ? &mask : NULL);
    for (unsigned c = 0; c < copies; c++)
        for (uint32_t r = loop->nparams; r < loop->noperands; r++) {
            IrDtype dtype = lower_body_dtype(loop, r);
            Lanes value = lower_body_values(loop, c + 1)[lower_body_value(loop, r)];
            LLVMValueRef element = lower_body_element(loop, i, c);

            if (loop->strides[r])
                lower_access_store_at(b, dtype, value, loop->strides[r], bases[r],
                                      element, mask);
            else if (loop->past)
                lower_access_stream(b, dtype, value, bases[r], element);
            else
                lower_access_store(b, dtype, value, bases[r], element, mask);
        }
}

/* From a row to the next: read only where there is one. */
static LLVMValueRef
row_step(const Loop *loop, uint32_t operand)
{
    return lower_body_step(loop, operand);
}

/* Where memory is far, the processor alone is late. */
static void
emit_ahead(const Loop *loop, LLVMValueRef i)
{
    enum { AHEAD = 2048 }; /* bytes */

    if (strcmp(ir_graph_name(loop->b->kernel), LOWER_FAR) == 0)
        lower_body_ahead(loop, i, AHEAD, 2);
}

/* -- The wide loop -------------------------------------------------------- */

/* Element `start` and those behind it; returns the number of elements done. The builder is behind the loop. */
static LLVMValueRef
emit_wide(Loop *loop, LLVMValueRef start)
{
    Build *b = loop->b;
    uint64_t step = (uint64_t)loop->unroll * b->lanes;
    LLVMBasicBlockRef test = lower_body_block(loop, "wide"),
                      body = lower_body_block(loop, "wide.body");
    LLVMBasicBlockRef done = lower_body_block(loop, "wide.done");
    LLVMValueRef whole =
        LLVMBuildAnd(b->builder, LLVMBuildSub(b->builder, loop->n, start, ""),
                     lower_body_i64(loop, ~(step - 1)), "whole");
    LLVMValueRef limit = LLVMBuildAdd(b->builder, start, whole, "limit");
    LLVMValueRef i = lower_body_counted(loop, test, start);

    lower_body_branch(loop, LLVMIntSLT, i, limit, body, done);
    LLVMPositionBuilderAtEnd(b->builder, body);
    emit_ahead(loop, i);
    emit_body(loop, loop->unroll, loop->bases, i, NULL);
    lower_body_incoming(loop, i,
                        LLVMBuildAdd(b->builder, i, lower_body_i64(loop, step), ""));
    LLVMBuildBr(b->builder, test);
    LLVMPositionBuilderAtEnd(b->builder, done);
    return i;
}

/* True if results may go past the caches: there is one, of a dtype that does. */
static bool
may_stream(const Loop *loop)
{
    return strcmp(ir_graph_name(loop->b->kernel), LOWER_STREAMED) == 0 &&
           loop->noperands == loop->nparams + 1 && loop->unroll > 1 &&
           lower_access_streams(lower_body_dtype(loop, loop->nparams));
}

/* Two wide loops: one for rows whose results are at whole vectors. */
static LLVMValueRef
emit_streamed(Loop *loop, LLVMValueRef start)
{
    Build *b = loop->b;
    IrDtype dtype = lower_body_dtype(loop, loop->nparams);
    uint64_t bytes = b->lanes * ir_dtype_bytes(dtype);
    LLVMBasicBlockRef past = lower_body_block(loop, "past"),
                      plain = lower_body_block(loop, "plain"),
                      both = lower_body_block(loop, "both"), from[2];
    LLVMValueRef first =
        lower_access_address(b, dtype, loop->bases[loop->nparams], start);
    LLVMValueRef address = LLVMBuildPtrToInt(b->builder, first,
                                             lower_body_i64_type(loop), ""),
                 done[2], phi;

    lower_body_branch(
        loop, LLVMIntEQ,
        LLVMBuildAnd(b->builder, address, lower_body_i64(loop, bytes - 1), ""),
        lower_body_i64(loop, 0), past, plain);
    for (int k = 0; k < 2; k++) {
        LLVMPositionBuilderAtEnd(b->builder, k ? plain : past);
        loop->past = k == 0;
        done[k] = emit_wide(loop, start);
        from[k] = LLVMGetInsertBlock(b->builder);
        LLVMBuildBr(b->builder, both);
    }
    LLVMPositionBuilderAtEnd(b->builder, both);
    phi = LLVMBuildPhi(b->builder, lower_body_i64_type(loop), "");
    LLVMAddIncoming(phi, done, from, 2);
    return phi;
}

static LLVMValueRef
emit_vectors(Loop *loop, bool streams, LLVMValueRef start)
{
    return streams ? emit_streamed(loop, start) : emit_wide(loop, start);
}

/* One operation alone: a body without a mask, which costs power a fifteenth, is compiled soon. */
static bool
is_one_operation(const Loop *loop)
{
    const IrGraph *kernel = loop->b->kernel;
    uint32_t n = 0;

    for (IrNode node = ir_region_first(kernel, 1); node;
         node = ir_node_next(kernel, node))
        n += ir_node_op(kernel, node) != OP_const;
    return n == 1 && loop->b->target->tail == TAIL_mask;
}

/* -- The narrow loop, masked ---------------------------------------------- */

/* The lanes below end - i, which is at least 1: as many ones, from the lowest bit on. */
static LLVMValueRef
emit_mask(const Loop *loop, LLVMValueRef i, LLVMValueRef end)
{
    Build *b = loop->b;
    LLVMTypeRef type = lower_body_i64_type(loop),
                bits = LLVMIntTypeInContext(b->context, b->lanes);
    LLVMTypeRef flags = LLVMVectorType(LLVMInt1TypeInContext(b->context), b->lanes);
    LLVMValueRef left[2] = {LLVMBuildSub(b->builder, end, i, ""),
                            lower_body_i64(loop, b->lanes)};
    LLVMValueRef missing = LLVMBuildSub(
        b->builder, left[1], lower_access_call(b, "llvm.umin", &type, 1, left, 2), "");

    missing = b->lanes < 64 ? LLVMBuildTrunc(b->builder, missing, bits, "") : missing;
    return LLVMBuildBitCast(
        b->builder, LLVMBuildLShr(b->builder, LLVMConstAllOnes(bits), missing, ""),
        flags, "mask");
}

/* Turns of one vector up to element `limit`; the builder is in their test, which goes on to `after`. It is left at
** the end of a turn, before the way back. */
static void
emit_narrow(Loop *loop, LLVMValueRef i, LLVMValueRef limit, LLVMBasicBlockRef after)
{
    LLVMBasicBlockRef body = lower_body_block(loop, "body");

    lower_body_branch(loop, LLVMIntSLT, i, limit, body, after);
    LLVMPositionBuilderAtEnd(loop->b->builder, body);
    emit_body(loop, 1, loop->bases, i, emit_mask(loop, i, limit));
    lower_body_incoming(
        loop, i,
        LLVMBuildAdd(loop->b->builder, i, lower_body_i64(loop, loop->b->lanes), ""));
}

static void
emit_masked(Loop *loop, LLVMValueRef start)
{
    LLVMBasicBlockRef test = lower_body_block(loop, "narrow");
    LLVMValueRef i = lower_body_counted(loop, test, start);

    emit_narrow(loop, i, loop->n, loop->row_done);
    LLVMBuildBr(loop->b->builder, test);
}

/* One turn of the narrow loop up to `head`, the wide one, and the narrow one. */
static void
emit_aligned(Loop *loop, LLVMValueRef head, bool streams)
{
    Build *b = loop->b;
    LLVMValueRef zero = lower_body_i64(loop, 0);
    LLVMBasicBlockRef first = lower_body_block(loop, "first"),
                      vectors = lower_body_block(loop, "vectors");

    lower_body_branch(loop, LLVMIntEQ, head, zero, vectors, first);
    LLVMPositionBuilderAtEnd(b->builder, first);
    emit_body(loop, 1, loop->bases, zero, emit_mask(loop, zero, head));
    LLVMBuildBr(b->builder, vectors);
    LLVMPositionBuilderAtEnd(b->builder, vectors);
    emit_masked(loop, emit_vectors(loop, streams, head));
}

/* -- The narrow loop, padded ---------------------------------------------- */

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

    phase->limit = LLVMBuildPhi(builder, lower_body_i64_type(loop), "limit");
    phase->padded = LLVMBuildPhi(builder, i1, "padded");
    for (uint32_t k = 0; k < loop->noperands; k++)
        phase->bases[k] = lower_body_is_scalar(loop, k)
                              ? loop->bases[k]
                              : LLVMBuildPhi(builder, LLVMTypeOf(loop->bases[k]), "");
}

/* The phase as the current block hands it on. */
static void
enter_phase(Loop *loop, Phase *phase, LLVMValueRef limit, LLVMValueRef padded,
            LLVMValueRef *bases)
{
    lower_body_incoming(loop, phase->limit, limit);
    lower_body_incoming(loop, phase->padded, padded);
    for (uint32_t k = 0; k < loop->noperands; k++)
        if (!lower_body_is_scalar(loop, k))
            lower_body_incoming(loop, phase->bases[k], bases[k]);
}

/* The body of the narrow loop; the current block is its test. */
static void
emit_phase_body(Loop *loop, Phase *phase, LLVMValueRef i, LLVMBasicBlockRef test)
{
    LLVMValueRef next;

    emit_body(loop, 1, phase->bases, i, NULL);
    next = LLVMBuildAdd(loop->b->builder, i, lower_body_i64(loop, loop->b->lanes), "");
    lower_body_incoming(loop, i, next);
    enter_phase(loop, phase, phase->limit, phase->padded, phase->bases);
    LLVMBuildBr(loop->b->builder, test);
}

/* The rest of a row's parameters to the buffers, or of its results back: lane by lane, or as one vector under a
** mask. A kernel of constants has no parameters. */
static void
move_rest(Loop *loop, LLVMValueRef *buffers, uint32_t first, uint32_t end,
          LLVMValueRef whole, LLVMValueRef left)
{
    Build *b = loop->b;
    LLVMValueRef mask, zero = lower_body_i64(loop, 0);
    bool there = end <= loop->nparams;

    if (b->target->tail == TAIL_pad) {
        lower_body_copies(loop, buffers, first, end, whole, left);
        return;
    }
    mask = emit_mask(loop, whole, loop->n);
    for (uint32_t k = first; k < end; k++) {
        IrDtype dtype = lower_body_dtype(loop, k);
        LLVMValueRef from = there ? loop->bases[k] : buffers[k],
                     to = there ? buffers[k] : loop->bases[k];

        if (lower_body_is_scalar(loop, k))
            continue;
        lower_access_store(b, dtype,
                           lower_access_load(b, dtype, PATTERN_contiguous, from,
                                             there ? whole : zero, there ? mask : NULL),
                           to, there ? zero : whole, there ? NULL : mask);
    }
}

static void
emit_padded(Loop *loop, LLVMValueRef start, LLVMValueRef *buffers, Phase *phase)
{
    Build *b = loop->b;
    LLVMTypeRef i1 = LLVMInt1TypeInContext(b->context);
    LLVMValueRef lanes = lower_body_i64(loop, b->lanes), i;
    LLVMValueRef whole = LLVMBuildAnd(
        b->builder, loop->n, lower_body_i64(loop, ~((uint64_t)b->lanes - 1)), "whole");
    LLVMValueRef left = LLVMBuildSub(b->builder, loop->n, whole, "left");
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder);
    LLVMBasicBlockRef test = lower_body_block(loop, "narrow"),
                      body = lower_body_block(loop, "body");
    LLVMBasicBlockRef after = lower_body_block(loop, "after"),
                      fill = lower_body_block(loop, "fill");
    LLVMBasicBlockRef finish = lower_body_block(loop, "finish"),
                      rest = lower_body_block(loop, "rest");

    i = lower_body_counted(loop, test, start);
    open_phase(loop, phase);
    lower_body_branch(loop, LLVMIntSLT, i, phase->limit, body, after);
    LLVMPositionBuilderAtEnd(b->builder, before);
    enter_phase(loop, phase, whole, LLVMConstInt(i1, 0, 0), loop->bases);
    LLVMPositionBuilderAtEnd(b->builder, body);
    emit_phase_body(loop, phase, i, test);

    LLVMPositionBuilderAtEnd(b->builder, after);
    LLVMBuildCondBr(b->builder, phase->padded, finish, rest);
    LLVMPositionBuilderAtEnd(b->builder, rest);
    lower_body_branch(loop, LLVMIntEQ, left, lower_body_i64(loop, 0), loop->row_done,
                      fill);
    LLVMPositionBuilderAtEnd(b->builder, fill);
    for (uint32_t k = 0; k < loop->nparams; k++)
        if (!lower_body_is_scalar(loop, k))
            lower_access_fill(b, lower_body_dtype(loop, k), buffers[k]);
    move_rest(loop, buffers, 0, loop->nparams, whole, left);
    lower_body_incoming(loop, i, lower_body_i64(loop, 0));
    enter_phase(loop, phase, lanes, LLVMConstInt(i1, 1, 0), buffers);
    LLVMBuildBr(b->builder, test);

    LLVMPositionBuilderAtEnd(b->builder, finish);
    move_rest(loop, buffers, loop->nparams, loop->noperands, whole, left);
    LLVMBuildBr(b->builder, loop->row_done);
}

/* -- Several rows at once --------------------------------------------------- */

/* True if rows are joined to what stays where it is, which then is read and written once for several of them. */
static bool
joins_rows(const Loop *loop)
{
    const char *name = ir_graph_name(loop->b->kernel);

    if ((strcmp(name, LOWER_JOINED) != 0 && strcmp(name, LOWER_FAR) != 0) ||
        loop->unroll < MAX_UNROLL || loop->noperands != loop->nparams + 1 ||
        loop->b->target->tail != TAIL_mask)
        return false;
    for (uint32_t p = 0; p < loop->nparams; p++)
        if (lower_body_is_scalar(loop, p) || loop->patterns[p] != PATTERN_contiguous)
            return false;
    return true;
}

/* As many turns of JOINED_ROWS rows as there are; returns the row after them, and loop->bases are its own. The
** builder is where there is one. */
static LLVMValueRef
emit_joined(Loop *loop)
{
    Build *b = loop->b;
    LLVMTypeRef bytes = LLVMInt8TypeInContext(b->context);
    LLVMValueRef zero = lower_body_i64(loop, 0), rows = LLVMGetParam(b->function, 2),
                 row, after, head;
    LLVMValueRef *next =
        loop->bases + loop->noperands; /* no buffers are needed where there are masks */
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder),
                      test = lower_body_block(loop, "rows"),
                      body = lower_body_block(loop, "several"),
                      rest = lower_body_block(loop, "few"),
                      some = lower_body_block(loop, "some"),
                      none = lower_body_block(loop, "none");

    row = lower_body_counted(loop, test, zero);
    for (uint32_t k = 0; k < loop->noperands; k++) {
        LLVMValueRef first = loop->bases[k];

        loop->bases[k] = LLVMBuildPhi(b->builder, LLVMTypeOf(first), "");
        LLVMAddIncoming(loop->bases[k], &first, &before, 1);
    }
    after = LLVMBuildAdd(b->builder, row, lower_body_i64(loop, JOINED_ROWS), "");
    lower_body_branch(loop, LLVMIntSLE, after, rows, body, rest);
    LLVMPositionBuilderAtEnd(b->builder, body);
    loop->row_done = lower_body_block(loop, "several.done");
    loop->n = LLVMGetParam(b->function, 1);
    lower_body_invariants(loop);
    for (uint32_t k = 0; k < loop->noperands; k++) {
        LLVMValueRef step = lower_body_step(loop, k), at = loop->bases[k];

        for (uint32_t r = 0; r < JOINED_ROWS; r++) {
            loop->joined[r * loop->noperands + k] = at;
            at = LLVMBuildGEP2(b->builder, bytes, at, &step, 1, "");
        }
        next[k] = at;
    }
    loop->joins = true;
    head = lower_align_head(loop, false);
    if (head)
        emit_aligned(loop, head, false);
    else
        emit_masked(loop, emit_wide(loop, zero));
    loop->joins = false;

    LLVMPositionBuilderAtEnd(b->builder, loop->row_done);
    for (uint32_t k = 0; k < loop->noperands; k++)
        lower_body_incoming(loop, loop->bases[k], next[k]);
    lower_body_incoming(loop, row, after);
    LLVMBuildBr(b->builder, test);
    LLVMPositionBuilderAtEnd(b->builder, rest);
    lower_body_branch(loop, LLVMIntSLT, row, rows, some, none);
    LLVMPositionBuilderAtEnd(b->builder, none);
    LLVMBuildRetVoid(b->builder);
    LLVMPositionBuilderAtEnd(b->builder, some);
    return row;
}

/* -- The function --------------------------------------------------------- */

static bool
allocate(Loop *loop, LLVMValueRef **buffers, Phase *phase)
{
    if (!lower_body_open(loop))
        return false;
    *buffers = loop->bases + loop->noperands;
    phase->bases = *buffers + loop->noperands;
    return true;
}

/* True where the last vector of a row goes through buffers: the target has no masks, or one body is
** enough and it would be masked for all of the row. Masked stores to memory that no cache holds cost
** twice as much, on Zen 5. */
static bool
is_padded(const Loop *loop)
{
    if (loop->b->target->tail == TAIL_pad)
        return true;
    for (uint32_t k = 0; k < loop->noperands; k++) {
        if (loop->strides[k] ||
            (k < loop->nparams && loop->patterns[k] > PATTERN_scalar))
            return false;
    }
    return loop->unroll == 1 && !is_one_operation(loop);
}

bool
lower_loop_build(Build *b, const char *name, const LowerPattern *patterns)
{
    Loop loop = {.b = b, .patterns = patterns};
    LLVMValueRef *buffers, start, head, row;
    Phase phase;
    bool done = false, streams, padded, wide;

    if (!allocate(&loop, &buffers, &phase))
        goto done;
    lower_body_choose(&loop);
    lower_body_function(&loop, name);
    lower_body_addresses(&loop);
    padded = is_padded(&loop);
    if (padded)
        for (uint32_t k = 0; k < loop.noperands; k++)
            if (!lower_body_is_scalar(&loop, k))
                buffers[k] = lower_access_buffer(b, lower_body_dtype(&loop, k));
    row = joins_rows(&loop) ? emit_joined(&loop) : lower_body_i64(&loop, 0);
    lower_body_row_open(&loop, row);
    loop.n = LLVMGetParam(b->function, 1);
    lower_body_invariants(&loop);
    streams = may_stream(&loop);
    wide = streams || loop.unroll > 1 || is_one_operation(&loop);
    head = wide && !padded ? lower_align_head(&loop, streams) : NULL;
    if (head) {
        emit_aligned(&loop, head, streams);
    } else {
        start = lower_body_i64(&loop, 0);
        start = wide ? emit_vectors(&loop, streams, start) : start;
        if (padded)
            emit_padded(&loop, start, buffers, &phase);
        else
            emit_masked(&loop, start);
    }
    lower_body_row_close(&loop, row_step);
    done = true;
done:
    lower_body_close(&loop);
    return done;
}
