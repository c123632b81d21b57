/* nest.c - a nest: a function with loops and branches over elements and numbers.
**
**     data    addresses of the arrays' first elements, of numbers, of results, of the status;
**             the function that is asked from time to time, with the address of the status, whether to go on, and a list of
**             NumPy's dot products, of float64 and float32, and one of functions that draw random numbers, each with what it draws from
**     steps   for each array its extents, then its strides in bytes
**
** Numbers are scalars; nodes are emitted as anywhere else (elem.c), with one lane. Regions become
** blocks, and what they carry phis. LLVM's passes run on these functions alone: they are
** scalar code, which is what those are made for.
**
** Law 1: what leaves in the middle stores a status and returns; it has written what it has written.
** Law 2: bits are NumPy's: no flag lets LLVM change what a float comes to.
*/
#include "lower/host/nest.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

enum { POLL_TURNS = 1 << 20, PIECE_TURNS = 1 << 18 };

/* -- What there is --------------------------------------------------------- */

bool
lower_nest_is(const IrGraph *kernel)
{
    for (uint32_t i = 0; i < ir_nparams(kernel); i++) {
        IrType type = ir_type(kernel, ir_param(kernel, i));
        if (type.ndim && type.dims[0].kind != DIM_symbol)
            return false;
    }
    if (strcmp(ir_graph_name(kernel), LOWER_NEST) == 0)
        return true;
    for (IrNode node = 1; node < ir_nnodes(kernel); node++) {
        IrOp op = ir_node_op(kernel, node);
        if (op == OP_for || op == OP_while || op == OP_load || op == OP_store)
            return true;
    }
    return false;
}

/* -- Regions --------------------------------------------------------------- */

static void
emit_region(Nest *nest, IrRegion region)
{
    const IrGraph *kernel = nest->b->kernel;
    for (IrNode node = ir_region_first(kernel, region); node;
         node = ir_node_next(kernel, node))
        lower_nest_emit(nest, node);
}

static LLVMValueRef
phi(Nest *nest, IrDtype dtype)
{
    return LLVMBuildPhi(nest->b->builder, lower_nest_type(nest, dtype), "");
}

static void
incoming(LLVMValueRef phi, LLVMValueRef value, LLVMBasicBlockRef from)
{
    LLVMAddIncoming(phi, &value, &from, 1);
}

/* What is made on the way that is not gone is not used, and may have overflowed. */
static void
emit_both_ways(Nest *nest, IrNode node)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    LLVMValueRef condition = lower_nest_operand(nest, node, 0), over[2];

    for (uint32_t i = 0; i < 2; i++) {
        nest->over = LLVMConstNull(LLVMInt1TypeInContext(b->context));
        emit_region(nest, ir_node_region(kernel, node, i));
        over[i] = nest->over;
    }
    nest->over = NULL;
    LLVMValueRef any = LLVMBuildSelect(b->builder, condition, over[0], over[1], "");
    lower_nest_leave_unless(nest, LLVMBuildNot(b->builder, any, ""),
                            lower_nest_number(nest, LOWER_NEST_failed));
    for (uint32_t k = 0; k < ir_node_nresults(kernel, node); k++) {
        LLVMValueRef ways[2];
        for (uint32_t i = 0; i < 2; i++)
            ways[i] = nest->values[ir_region_yield_at(
                                       kernel, ir_node_region(kernel, node, i), k)]
                          .re;
        nest->values[ir_result(kernel, node, k)] =
            (Lanes){LLVMBuildSelect(b->builder, condition, ways[0], ways[1], ""), NULL};
    }
}

static void
emit_if(Nest *nest, IrNode node)
{
    if (lower_nest_takes_both_ways(nest->b->kernel, node)) {
        emit_both_ways(nest, node);
        return;
    }
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    LLVMBasicBlockRef ways[2] = {lower_nest_block(nest, "then"),
                                 lower_nest_block(nest, "else")},
                      join = lower_nest_block(nest, "join"), ends[2];

    LLVMBuildCondBr(b->builder, lower_nest_operand(nest, node, 0), ways[0], ways[1]);
    for (uint32_t i = 0; i < 2; i++) {
        LLVMPositionBuilderAtEnd(b->builder, ways[i]);
        emit_region(nest, ir_node_region(kernel, node, i));
        ends[i] = LLVMGetInsertBlock(b->builder);
        LLVMBuildBr(b->builder, join);
    }
    LLVMPositionBuilderAtEnd(b->builder, join);
    for (uint32_t k = 0; k < ir_node_nresults(kernel, node); k++) {
        IrValue result = ir_result(kernel, node, k);
        LLVMValueRef made = phi(nest, ir_type(kernel, result).dtype);
        for (uint32_t i = 0; i < 2; i++)
            incoming(made,
                     nest->values[ir_region_yield_at(
                                      kernel, ir_node_region(kernel, node, i), k)]
                         .re,
                     ends[i]);
        nest->values[result] = (Lanes){made, NULL};
    }
}

/* Counts turns; what is left of those until it is asked whether to go on. */
static LLVMValueRef
spend(const Nest *nest, LLVMValueRef turns)
{
    LLVMBuilderRef builder = nest->b->builder;
    LLVMValueRef left = LLVMBuildLoad2(builder, nest->i64, nest->turns, "");

    left = LLVMBuildSub(builder, left, turns, "");
    LLVMBuildStore(builder, left, nest->turns);
    return left;
}

/* Asks now and then whether to go on, `turns` further. */
void
lower_nest_poll(Nest *nest, LLVMValueRef turns)
{
    Build *b = nest->b;
    LLVMBasicBlockRef ask = lower_nest_block(nest, "ask"),
                      on = lower_nest_block(nest, "go.on");
    LLVMValueRef left = spend(nest, turns);
    LLVMTypeRef type = LLVMFunctionType(nest->i64, &nest->pointer, 1, 0);
    LLVMValueRef none = lower_nest_number(nest, 0), answer;

    LLVMBuildCondBr(b->builder, LLVMBuildICmp(b->builder, LLVMIntSLE, left, none, ""),
                    ask, on);
    LLVMPositionBuilderAtEnd(b->builder, ask);
    LLVMBuildStore(b->builder, lower_nest_number(nest, POLL_TURNS), nest->turns);
    answer = LLVMBuildCall2(b->builder, type, nest->poll, &nest->status, 1, "");
    lower_nest_leave_unless(nest,
                            LLVMBuildICmp(b->builder, LLVMIntEQ, answer, none, ""),
                            lower_nest_number(nest, LOWER_NEST_stopped));
    LLVMBuildBr(b->builder, on);
    LLVMPositionBuilderAtEnd(b->builder, on);
}

static bool
holds_loop(const IrGraph *kernel, IrRegion region)
{
    for (IrNode node = ir_region_first(kernel, region); node;
         node = ir_node_next(kernel, node)) {
        if (ir_node_op(kernel, node) == OP_for || ir_node_op(kernel, node) == OP_while)
            return true;
        for (uint32_t i = 0; i < ir_node_nregions(kernel, node); i++) {
            if (holds_loop(kernel, ir_node_region(kernel, node, i)))
                return true;
        }
    }
    return false;
}

/* The loop of this branch back is left as it is. */
static void
keep_rolled(const Nest *nest, LLVMValueRef branch)
{
    static const char name[] = "llvm.loop.unroll.disable";
    LLVMContextRef context = nest->b->context;
    LLVMMetadataRef own = LLVMTemporaryMDNode(context, NULL, 0),
                    text = LLVMMDStringInContext2(context, name, sizeof name - 1);
    LLVMMetadataRef parts[2] = {own, LLVMMDNodeInContext2(context, &text, 1)};
    LLVMMetadataRef loop = LLVMMDNodeInContext2(context, parts, 2);

    LLVMMetadataReplaceAllUsesWith(own, loop); /* its first part is itself */
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(context, "llvm.loop", 9),
                    LLVMMetadataAsValue(context, loop));
}

static LLVMValueRef
yield(const Nest *nest, IrRegion region, uint32_t i)
{
    return nest->values[ir_region_yield_at(nest->b->kernel, region, i)].re;
}

/* A loop being built: counted, its values carried. */
typedef struct Turns {
    LLVMBasicBlockRef head;
    LLVMValueRef turn, *carried;
    uint32_t n;
} Turns;

/* Opens the head of a loop: a number that begins at `first`, and what is carried from `from`. False:
** out of memory. */
static bool
open_turns(Nest *nest, Turns *turns, const char *name, LLVMValueRef first,
           LLVMValueRef *from, uint32_t n)
{
    Build *b = nest->b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder);

    *turns = (Turns){.head = lower_nest_block(nest, name), .n = n};
    turns->carried = calloc(n + 1, sizeof *turns->carried);
    LLVMBuildBr(b->builder, turns->head);
    LLVMPositionBuilderAtEnd(b->builder, turns->head);
    turns->turn = LLVMBuildPhi(b->builder, nest->i64, "");
    incoming(turns->turn, first, before);
    for (uint32_t i = 0; turns->carried && i < n; i++) {
        turns->carried[i] = LLVMBuildPhi(b->builder, LLVMTypeOf(from[i]), "");
        incoming(turns->carried[i], from[i], before);
    }
    return turns->carried != NULL;
}

/* Where the turn is below the limit: the builder goes on there, elsewhere it is `out`. */
static void
test_turn(const Nest *nest, const Turns *turns, LLVMValueRef limit,
          LLVMBasicBlockRef out)
{
    LLVMBuilderRef builder = nest->b->builder;
    LLVMBasicBlockRef body = lower_nest_block(nest, "turn");

    LLVMBuildCondBr(builder, LLVMBuildICmp(builder, LLVMIntSLT, turns->turn, limit, ""),
                    body, out);
    LLVMPositionBuilderAtEnd(builder, body);
}

/* One turn; the block it ends in, from which `stop`, where the loop has a flag that ends it, is
** gone to as well. */
static LLVMBasicBlockRef
emit_turn(Nest *nest, IrNode node, Turns *turns, LLVMBasicBlockRef stop)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    IrRegion region = ir_node_region(kernel, node, 0);
    int64_t until = ir_node_int(kernel, node, "until", -1);
    LLVMBasicBlockRef end;

    nest->values[ir_region_param_at(kernel, region, 0)] = (Lanes){turns->turn, NULL};
    for (uint32_t i = 0; i < turns->n; i++)
        nest->values[ir_region_param_at(kernel, region, i + 1)] =
            (Lanes){turns->carried[i], NULL};
    emit_region(nest, region);
    LLVMValueRef next =
        LLVMBuildAdd(b->builder, turns->turn, lower_nest_number(nest, 1), "");
    end = LLVMGetInsertBlock(b->builder);
    incoming(turns->turn, next, end);
    for (uint32_t i = 0; i < turns->n; i++)
        incoming(turns->carried[i], yield(nest, region, i), end);
    LLVMValueRef back =
        until >= 0 ? LLVMBuildCondBr(b->builder, yield(nest, region, (uint32_t)until),
                                     stop, turns->head)
                   : LLVMBuildBr(b->builder, turns->head);
    if (lower_nest_chooses_ints(kernel, region))
        keep_rolled(nest, back);
    return end;
}

/* Loops without loops inside are run piece by piece, so that they can be stopped, too: between pieces, and by the loops
** around them, to which their turns are counted. */
static void
emit_for(Nest *nest, IrNode node)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    IrRegion region = ir_node_region(kernel, node, 0);
    uint32_t n = ir_node_noperands(kernel, node) - 1;
    bool pieces = !holds_loop(kernel, region),
         until = ir_node_attr(kernel, node, "until");
    LLVMBasicBlockRef done = lower_nest_block(nest, "done"), out = done, end;
    LLVMValueRef count = lower_nest_operand(nest, node, 0), limit = count;
    LLVMValueRef first = lower_nest_number(nest, 0),
                 *from = calloc(n + 1, sizeof *from);
    Turns outer = {0}, inner = {0};

    for (uint32_t i = 0; from && i < n; i++)
        from[i] = lower_nest_operand(nest, node, i + 1);
    if (!from)
        goto done;
    if (pieces) {
        if (!open_turns(nest, &outer, "piece", first, from, n))
            goto done;
        test_turn(nest, &outer, count, done);
        LLVMValueRef both[2] = {count,
                                LLVMBuildAdd(b->builder, outer.turn,
                                             lower_nest_number(nest, PIECE_TURNS), "")};
        limit = lower_access_call(b, "llvm.smin", &nest->i64, 1, both, 2);
        first = outer.turn;
        memcpy(from, outer.carried, n * sizeof *from);
        out = lower_nest_block(nest, "piece.end");
    }
    if (!open_turns(nest, &inner, "for", first, from, n))
        goto done;
    test_turn(nest, &inner, limit, out);
    if (!pieces)
        lower_nest_poll(nest, lower_nest_number(nest, 1));
    end = emit_turn(nest, node, &inner, done);
    if (pieces) {
        LLVMBasicBlockRef more = lower_nest_block(nest, "piece.next");

        LLVMPositionBuilderAtEnd(b->builder, out);
        spend(nest, LLVMBuildSub(b->builder, limit, outer.turn, ""));
        LLVMBuildCondBr(b->builder,
                        LLVMBuildICmp(b->builder, LLVMIntSLT, limit, count, ""), more,
                        done);
        LLVMPositionBuilderAtEnd(b->builder, more);
        lower_nest_poll(nest, lower_nest_number(nest, 0));
        more = LLVMGetInsertBlock(b->builder);
        incoming(outer.turn, limit, more);
        for (uint32_t i = 0; i < n; i++)
            incoming(outer.carried[i], inner.carried[i], more);
        LLVMBuildBr(b->builder, outer.head);
    }
    LLVMPositionBuilderAtEnd(b->builder, done);
    for (uint32_t i = 0; i < n; i++) {
        LLVMValueRef made = inner.carried[i];
        if (until || pieces) {
            made = LLVMBuildPhi(b->builder, LLVMTypeOf(made), "");
            incoming(made, inner.carried[i], pieces ? out : inner.head);
        }
        if (pieces)
            incoming(made, outer.carried[i], outer.head);
        if (until)
            incoming(made, yield(nest, region, i), end);
        nest->values[ir_result(kernel, node, i)] = (Lanes){made, NULL};
    }
done:
    free(outer.carried);
    free(inner.carried);
    free(from);
}

static void
emit_while(Nest *nest, IrNode node)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    IrRegion test = ir_node_region(kernel, node, 0),
             region = ir_node_region(kernel, node, 1);
    uint32_t n = ir_node_noperands(kernel, node);
    int64_t until = ir_node_int(kernel, node, "until", -1);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder),
                      head = lower_nest_block(nest, "while"),
                      body = lower_nest_block(nest, "turn"),
                      done = lower_nest_block(nest, "done"), tested, end;
    LLVMValueRef *carried = calloc(n + 1, sizeof *carried);

    if (!carried)
        return;
    LLVMBuildBr(b->builder, head);
    LLVMPositionBuilderAtEnd(b->builder, head);
    for (uint32_t i = 0; i < n; i++) {
        IrValue param = ir_region_param_at(kernel, test, i);
        carried[i] = phi(nest, ir_type(kernel, param).dtype);
        incoming(carried[i], lower_nest_operand(nest, node, i), before);
        nest->values[param] = (Lanes){carried[i], NULL};
    }
    lower_nest_poll(nest, lower_nest_number(nest, 1));
    emit_region(nest, test);
    tested = LLVMGetInsertBlock(b->builder);
    LLVMBuildCondBr(b->builder, yield(nest, test, 0), body, done);
    LLVMPositionBuilderAtEnd(b->builder, body);
    for (uint32_t i = 0; i < ir_region_nparams(kernel, region); i++)
        nest->values[ir_region_param_at(kernel, region, i)] =
            (Lanes){yield(nest, test, i + 1), NULL};
    emit_region(nest, region);
    end = LLVMGetInsertBlock(b->builder);
    for (uint32_t i = 0; i < n; i++)
        incoming(carried[i], yield(nest, region, i), end);
    if (until >= 0)
        LLVMBuildCondBr(b->builder, yield(nest, region, (uint32_t)until), done, head);
    else
        LLVMBuildBr(b->builder, head);
    LLVMPositionBuilderAtEnd(b->builder, done);
    for (uint32_t i = 0; i < n; i++) {
        IrValue result = ir_result(kernel, node, i);
        LLVMValueRef made = carried[i];
        if (until >= 0) {
            made = phi(nest, ir_type(kernel, result).dtype);
            incoming(made, carried[i], tested);
            incoming(made, yield(nest, region, i), end);
        }
        nest->values[result] = (Lanes){made, NULL};
    }
    free(carried);
}

void
lower_nest_control(Nest *nest, IrNode node)
{
    switch (ir_node_op(nest->b->kernel, node)) {
    case OP_for:
        emit_for(nest, node);
        break;
    case OP_while:
        emit_while(nest, node);
        break;
    default:
        emit_if(nest, node);
    }
}

/* -- The function ---------------------------------------------------------- */

static LLVMValueRef
load_at(const Nest *nest, LLVMTypeRef type, LLVMValueRef base, uint64_t i)
{
    LLVMValueRef index = lower_nest_number(nest, i);
    LLVMBuilderRef builder = nest->b->builder;
    return LLVMBuildLoad2(builder, type,
                          LLVMBuildGEP2(builder, type, base, &index, 1, ""), "");
}

/* An extent: LLVM is told that it is not negative. */
static LLVMValueRef
extent_at(const Nest *nest, LLVMValueRef steps, uint64_t i)
{
    enum { BITS = 60 };
    LLVMContextRef context = nest->b->context;
    LLVMValueRef load = load_at(nest, nest->i64, steps, i);
    LLVMMetadataRef ends[2] = {
        LLVMValueAsMetadata(lower_nest_number(nest, 0)),
        LLVMValueAsMetadata(lower_nest_number(nest, UINT64_C(1) << BITS))};

    LLVMSetMetadata(
        load, LLVMGetMDKindIDInContext(context, "range", 5),
        LLVMMetadataAsValue(context, LLVMMDNodeInContext2(context, ends, 2)));
    return load;
}

static void
emit_entry(Nest *nest, const char *name)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    LLVMTypeRef types[4] = {nest->pointer, nest->i64, nest->i64, nest->pointer};
    uint32_t axis = 0, n = ir_nparams(kernel), nresults = ir_nreturns(kernel);

    b->function = LLVMAddFunction(
        b->module, name,
        LLVMFunctionType(LLVMVoidTypeInContext(b->context), types, 4, 0));
    LLVMPositionBuilderAtEnd(b->builder, lower_nest_block(nest, "entry"));
    LLVMValueRef data = LLVMGetParam(b->function, 0),
                 steps = LLVMGetParam(b->function, 3);
    for (uint32_t p = 0; p < n; p++) {
        IrType type = ir_type(kernel, ir_param(kernel, p));
        nest->bases[p] = load_at(nest, nest->pointer, data, p);
        nest->row_of[p] = axis;
        for (uint32_t d = 0; d < type.ndim; d++, axis++) {
            nest->extents[axis] = extent_at(nest, steps, 2ull * nest->row_of[p] + d);
            nest->strides[axis] =
                load_at(nest, nest->i64, steps, 2ull * nest->row_of[p] + type.ndim + d);
        }
        if (!type.ndim)
            nest->values[ir_param(kernel, p)] =
                lower_access_load(b, type.dtype, PATTERN_contiguous, nest->bases[p],
                                  lower_nest_number(nest, 0), NULL);
    }
    nest->status = load_at(nest, nest->pointer, data, n + nresults);
    nest->poll = load_at(nest, nest->pointer, data, n + nresults + 1);
    nest->dots = load_at(nest, nest->pointer, data, n + nresults + 2);
    nest->draws = load_at(nest, nest->pointer, data, n + nresults + 3);
    nest->cell = LLVMBuildAlloca(b->builder, nest->i64, "cell");
    nest->room = LLVMBuildArrayAlloca(b->builder, nest->i64,
                                      lower_nest_number(nest, LOWER_NEST_ROOM), "room");
    nest->turns = LLVMBuildAlloca(b->builder, nest->i64, "turns");
    LLVMBuildStore(b->builder, lower_nest_number(nest, POLL_TURNS), nest->turns);
}

static void
emit_results(Nest *nest)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    LLVMValueRef data = LLVMGetParam(b->function, 0);

    for (uint32_t i = 0; i < ir_nreturns(kernel); i++) {
        IrValue value = ir_return_at(kernel, i);
        lower_access_store(b, ir_type(kernel, value).dtype, nest->values[value],
                           load_at(nest, nest->pointer, data, ir_nparams(kernel) + i),
                           lower_nest_number(nest, 0), NULL);
    }
    LLVMBuildRetVoid(b->builder);
}

bool
lower_nest_build(Build *b, const char *name, const LowerPattern *patterns)
{
    Nest nest = {.b = b, .patterns = patterns};
    uint32_t naxes = 1, n = ir_nparams(b->kernel);

    for (uint32_t p = 0; p < n; p++)
        naxes += ir_type(b->kernel, ir_param(b->kernel, p)).ndim;
    nest.i64 = LLVMInt64TypeInContext(b->context);
    nest.pointer = LLVMPointerTypeInContext(b->context, 0);
    nest.wide = b->target->vector_bytes / 8;
    nest.values = calloc(ir_nvalues(b->kernel) + 1, sizeof *nest.values);
    nest.bases = calloc(n + 1, sizeof *nest.bases);
    nest.extents = calloc(2 * (size_t)naxes, sizeof *nest.extents);
    nest.row_of = calloc(n + 1, sizeof *nest.row_of);
    bool done = nest.values && nest.bases && nest.extents && nest.row_of;
    if (done) {
        nest.strides = nest.extents + naxes;
        b->lanes = 1;
        emit_entry(&nest, name);
        emit_region(&nest, 1);
        emit_results(&nest);
    }
    free(nest.values);
    free(nest.bases);
    free(nest.extents);
    free(nest.row_of);
    return done;
}
