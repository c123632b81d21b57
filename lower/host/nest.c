/* nest.c - a nest: a function with loops and branches over elements and numbers.
**
**     data    addresses of the arrays' first elements, of numbers, of results, of the status;
**             the function that is asked from time to time whether to go on, and a list of
**             NumPy's dot products, of float64 and float32
**     steps   for each array its extents, then its strides in bytes
**
** Numbers are scalars; nodes are emitted as anywhere else (elem.c), with one lane. Regions become
** blocks, and what they carry phis. LLVM's passes run on these functions alone: they are
** scalar code, which is what those are made for.
**
** Law 1: what leaves in the middle stores a status and returns; it has written what it has written.
** Law 2: bits are NumPy's: no flag lets LLVM change what a float comes to.
*/
#include <stdio.h>
#include <stdlib.h>

#include "lower/host/host.h"

enum { POLL_TURNS = 1 << 16 };

typedef struct Nest {
    Build *b;
    const LowerPattern *patterns;
    Lanes *values;
    LLVMTypeRef i64, pointer;
    LLVMValueRef *bases, *extents, *strides; /* of parameters; of axes: row_of[p] + axis */
    uint32_t *row_of;
    LLVMValueRef status, poll, turns;
    LLVMValueRef dots, cell; /* NumPy's functions; room for a result of theirs */
    unsigned wide; /* lanes of a recipe */
} Nest;

/* -- What there is --------------------------------------------------------- */

bool
lower_nest_is(const IrGraph *kernel)
{
    for (uint32_t i = 0; i < ir_nparams(kernel); i++) {
        IrType type = ir_type(kernel, ir_param(kernel, i));
        if (type.ndim && type.dims[0].kind != DIM_symbol)
            return false;
    }
    for (IrNode node = 1; node < ir_nnodes(kernel); node++) {
        IrOp op = ir_node_op(kernel, node);
        if (op == OP_for || op == OP_while || op == OP_load || op == OP_store)
            return true;
    }
    return false;
}

static bool
has_own_code(IrOp op)
{
    switch (op) {
    case OP_for:
    case OP_while:
    case OP_if:
    case OP_load:
    case OP_store:
    case OP_check:
    case OP_wrap:
    case OP_call:
    case OP_poison:
    case OP_dim:
    case OP_to_index:
    case OP_from_index:
    case OP_checked_add:
    case OP_checked_subtract:
    case OP_checked_multiply:
    case OP_iadd:
    case OP_isub:
    case OP_imul:
    case OP_imin:
    case OP_imax:
    case OP_max0:
    case OP_ceildiv:
    case OP_clamp:
    case OP_run_sum:
    case OP_run_dot:
        return true;
    default:
        return false;
    }
}

static bool
is_index_const(const IrGraph *kernel, IrNode node)
{
    return ir_node_op(kernel, node) == OP_const &&
           ir_type(kernel, ir_result(kernel, node, 0)).dtype == DT_index;
}

bool
lower_nest_supports(const HostTarget *target, const IrGraph *kernel, char *reason, size_t n)
{
    for (IrNode node = 1; node < ir_nnodes(kernel); node++) {
        if (!has_own_code(ir_node_op(kernel, node)) && !is_index_const(kernel, node) &&
            !lower_elem_supports(target, kernel, node, reason, n))
            return false;
    }
    return true;
}

/* -- Numbers --------------------------------------------------------------- */

static LLVMTypeRef
type_of(const Nest *nest, IrDtype dtype)
{
    return dtype == DT_index ? nest->i64 : lower_access_type(nest->b, dtype);
}

static LLVMValueRef
number(const Nest *nest, uint64_t value)
{
    return LLVMConstInt(nest->i64, value, 0);
}

static Lanes
number_of(LLVMValueRef scalar)
{
    return (Lanes){scalar, NULL};
}

static LLVMValueRef
operand(const Nest *nest, IrNode node, uint32_t i)
{
    return nest->values[ir_node_operand(nest->b->kernel, node, i)].re;
}

static LLVMBasicBlockRef
block(const Nest *nest, const char *name)
{
    return LLVMAppendBasicBlockInContext(nest->b->context, nest->b->function, name);
}

/* Goes on where the condition holds; elsewhere stores the status and returns. */
static void
leave_unless(const Nest *nest, LLVMValueRef condition, LLVMValueRef status)
{
    Build *b = nest->b;
    LLVMBasicBlockRef out = block(nest, "leave"), on = block(nest, "on");

    LLVMBuildCondBr(b->builder, condition, on, out);
    LLVMPositionBuilderAtEnd(b->builder, out);
    LLVMBuildStore(b->builder, status, nest->status);
    LLVMBuildRetVoid(b->builder);
    LLVMPositionBuilderAtEnd(b->builder, on);
}

/* -- Arrays ---------------------------------------------------------------- */

static uint32_t
param_number(const Nest *nest, IrValue value)
{
    for (uint32_t i = 0; i < ir_nparams(nest->b->kernel); i++) {
        if (ir_param(nest->b->kernel, i) == value)
            return i;
    }
    return 0;
}

/* The address of an element of operand `of`, whose indices are operands `from` … of the node. */
static LLVMValueRef
address(const Nest *nest, IrNode node, uint32_t of, uint32_t from)
{
    Build *b = nest->b;
    IrValue array = ir_node_operand(b->kernel, node, of);
    IrType type = ir_type(b->kernel, array);
    uint32_t param = param_number(nest, array), row = nest->row_of[param];
    LLVMValueRef at = nest->bases[param];
    LLVMTypeRef byte = LLVMInt8TypeInContext(b->context);

    for (uint32_t d = 0; d < type.ndim; d++) {
        LLVMValueRef index = operand(nest, node, from + d), offset;
        bool last = d + 1 == type.ndim && nest->patterns[param] == PATTERN_contiguous;

        if (last) {
            at = lower_access_address(b, type.dtype, at, index);
        } else {
            offset = LLVMBuildMul(b->builder, index, nest->strides[row + d], "");
            at = LLVMBuildGEP2(b->builder, byte, at, &offset, 1, "");
        }
    }
    return at;
}

static void
emit_load(const Nest *nest, IrNode node, Lanes *result)
{
    IrDtype dtype = ir_type(nest->b->kernel, ir_result(nest->b->kernel, node, 0)).dtype;
    *result = lower_access_load(nest->b, dtype, PATTERN_contiguous, address(nest, node, 0, 1),
                                number(nest, 0), NULL);
}

static void
emit_store(const Nest *nest, IrNode node)
{
    const IrGraph *kernel = nest->b->kernel;
    IrDtype dtype = ir_type(kernel, ir_node_operand(kernel, node, 0)).dtype;
    lower_access_store(nest->b, dtype, nest->values[ir_node_operand(kernel, node, 1)],
                       address(nest, node, 0, 2), number(nest, 0), NULL);
}

/* -- Nodes ----------------------------------------------------------------- */

static LLVMValueRef
emit_checked(const Nest *nest, IrNode node, const char *intrinsic)
{
    Build *b = nest->b;
    LLVMValueRef arguments[2] = {operand(nest, node, 0), operand(nest, node, 1)};
    LLVMValueRef both = lower_access_call(b, intrinsic, &nest->i64, 1, arguments, 2);
    LLVMValueRef over = LLVMBuildExtractValue(b->builder, both, 1, "");

    leave_unless(nest, LLVMBuildNot(b->builder, over, ""), number(nest, LOWER_NEST_failed));
    return LLVMBuildExtractValue(b->builder, both, 0, "");
}

/* x + n if x is negative; then it has to be in 0 … n - 1. */
static LLVMValueRef
emit_wrap(const Nest *nest, IrNode node)
{
    LLVMBuilderRef builder = nest->b->builder;
    LLVMValueRef x = operand(nest, node, 0), n = operand(nest, node, 1);
    LLVMValueRef negative = LLVMBuildICmp(builder, LLVMIntSLT, x, number(nest, 0), "");
    LLVMValueRef wrapped =
        LLVMBuildSelect(builder, negative, LLVMBuildAdd(builder, x, n, ""), x, "");

    leave_unless(nest, LLVMBuildICmp(builder, LLVMIntULT, wrapped, n, ""),
                 number(nest, LOWER_NEST_failed));
    return wrapped;
}

/* ORDER: -(-x // y) of a positive y */
static LLVMValueRef
emit_ceildiv(const Nest *nest, IrNode node)
{
    LLVMBuilderRef builder = nest->b->builder;
    LLVMValueRef x = operand(nest, node, 0), y = operand(nest, node, 1);
    LLVMValueRef quotient = LLVMBuildSDiv(builder, x, y, "");
    LLVMValueRef rest = LLVMBuildSRem(builder, x, y, "");
    LLVMValueRef more = LLVMBuildICmp(builder, LLVMIntSGT, rest, number(nest, 0), "");

    return LLVMBuildAdd(builder, quotient, LLVMBuildZExt(builder, more, nest->i64, ""), "");
}

static LLVMValueRef emit_extreme(const Nest *nest, LLVMValueRef x, LLVMValueRef y,
                                 const char *intrinsic);

/* A bound of a slice: x + n if negative, then into 0 … n. */
static LLVMValueRef
emit_clamp(const Nest *nest, LLVMValueRef x, LLVMValueRef n)
{
    LLVMBuilderRef builder = nest->b->builder;
    LLVMValueRef negative = LLVMBuildICmp(builder, LLVMIntSLT, x, number(nest, 0), "");
    LLVMValueRef wrapped =
        LLVMBuildSelect(builder, negative, LLVMBuildAdd(builder, x, n, ""), x, "");

    wrapped = emit_extreme(nest, wrapped, number(nest, 0), "llvm.smax");
    return emit_extreme(nest, wrapped, n, "llvm.smin");
}

static LLVMValueRef
emit_extreme(const Nest *nest, LLVMValueRef x, LLVMValueRef y, const char *intrinsic)
{
    LLVMValueRef arguments[2] = {x, y};
    return lower_access_call(nest->b, intrinsic, &nest->i64, 1, arguments, 2);
}

static LLVMValueRef
emit_library(const Nest *nest, IrNode node)
{
    Build *b = nest->b;
    const char *name = ir_node_attr(b->kernel, node, "name")->text;
    uint32_t n = ir_node_noperands(b->kernel, node);
    LLVMValueRef arguments[2];
    LLVMTypeRef types[2];
    char symbol[64];

    for (uint32_t i = 0; i < n && i < 2; i++) {
        arguments[i] = operand(nest, node, i);
        types[i] = LLVMTypeOf(arguments[i]);
    }
    snprintf(symbol, sizeof symbol, "pyasc_libm_%s", name);
    LLVMTypeRef type = LLVMFunctionType(types[0], types, n, 0);
    LLVMValueRef function = LLVMGetNamedFunction(b->module, symbol);
    if (!function)
        function = LLVMAddFunction(b->module, symbol, type);
    return LLVMBuildCall2(b->builder, type, function, arguments, n, "");
}

/* The address of a run's first element, and the bytes between its elements; operands from `at` on
** are a parameter and indices. */
static LLVMValueRef
run_address(const Nest *nest, IrNode node, uint32_t at, int64_t axis, int64_t step,
            LLVMValueRef *bytes)
{
    uint32_t param = param_number(nest, ir_node_operand(nest->b->kernel, node, at));

    *bytes = LLVMBuildMul(nest->b->builder, nest->strides[nest->row_of[param] + axis],
                          number(nest, (uint64_t)step), "");
    return address(nest, node, at, at + 1);
}

static LLVMValueRef
emit_run_sum(const Nest *nest, IrNode node)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    bool wide = ir_type(kernel, ir_result(kernel, node, 0)).dtype == DT_float64;
    LLVMTypeRef real = wide ? LLVMDoubleTypeInContext(b->context)
                            : LLVMFloatTypeInContext(b->context);
    LLVMTypeRef types[3] = {nest->pointer, nest->i64, nest->i64};
    LLVMTypeRef type = LLVMFunctionType(real, types, 3, 0);
    LLVMValueRef function, arguments[3];
    char symbol[32];

    snprintf(symbol, sizeof symbol, "pyasc_%ssum_f%d",
             ir_node_int(kernel, node, "wide", 0) ? "wide_" : "", wide ? 64 : 32);
    function = LLVMGetNamedFunction(b->module, symbol);

    if (!function)
        function = LLVMAddFunction(b->module, symbol, type);
    arguments[0] =
        run_address(nest, node, 1, ir_node_int(kernel, node, "axis", 0),
                    ir_node_int(kernel, node, "step", 1), &arguments[1]);
    arguments[2] = operand(nest, node, 0);
    return LLVMBuildCall2(b->builder, type, function, arguments, 3, "");
}

static LLVMValueRef
emit_run_dot(const Nest *nest, IrNode node)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    bool wide = ir_type(kernel, ir_result(kernel, node, 0)).dtype == DT_float64;
    LLVMTypeRef real = wide ? LLVMDoubleTypeInContext(b->context)
                            : LLVMFloatTypeInContext(b->context);
    LLVMTypeRef types[7] = {nest->pointer, nest->i64,     nest->pointer, nest->i64,
                            nest->pointer, nest->i64,     nest->pointer};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(b->context), types, 7, 0);
    const int64_t *axes = ir_node_attr(kernel, node, "axes")->ints;
    const int64_t *steps = ir_node_attr(kernel, node, "steps")->ints;
    uint32_t first = ir_type(kernel, ir_node_operand(kernel, node, 1)).ndim;
    LLVMValueRef at = number(nest, wide ? 0 : 1), arguments[7], function;

    arguments[0] = run_address(nest, node, 1, axes[0], steps[0], &arguments[1]);
    arguments[2] = run_address(nest, node, 2 + first, axes[1], steps[1], &arguments[3]);
    arguments[4] = nest->cell;
    arguments[5] = operand(nest, node, 0);
    arguments[6] = LLVMConstNull(nest->pointer);
    function = LLVMBuildLoad2(
        b->builder, nest->pointer,
        LLVMBuildGEP2(b->builder, nest->pointer, nest->dots, &at, 1, ""), "");
    LLVMBuildCall2(b->builder, type, function, arguments, 7, "");
    return LLVMBuildLoad2(b->builder, real, nest->cell, "");
}

/* A recipe works on whole vectors: the number is in all lanes of one. */
static Lanes
emit_recipe(Nest *nest, IrNode node)
{
    Build *b = nest->b;
    Lanes whole[3], result;
    uint32_t n = ir_node_noperands(b->kernel, node);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->context);

    for (uint32_t i = 0; i < n; i++) {
        IrValue value = ir_node_operand(b->kernel, node, i);
        LLVMValueRef x = nest->values[value].re;
        LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(x), nest->wide);

        whole[i] = nest->values[value];
        x = LLVMBuildInsertElement(b->builder, LLVMGetPoison(type), x,
                                   LLVMConstInt(i32, 0, 0), "");
        nest->values[value].re = LLVMBuildShuffleVector(
            b->builder, x, LLVMGetPoison(type),
            LLVMConstNull(LLVMVectorType(i32, nest->wide)), "");
    }
    b->lanes = nest->wide;
    result = lower_elem_emit(b, node, nest->values);
    b->lanes = 1;
    for (uint32_t i = n; i-- > 0;)
        nest->values[ir_node_operand(b->kernel, node, i)] = whole[i];
    return number_of(LLVMBuildExtractElement(b->builder, result.re,
                                             LLVMConstInt(i32, 0, 0), ""));
}

static LLVMValueRef
emit_index(const Nest *nest, IrNode node)
{
    LLVMBuilderRef builder = nest->b->builder;
    IrOp op = ir_node_op(nest->b->kernel, node);
    LLVMValueRef x = operand(nest, node, 0), y = NULL;

    if (ir_node_noperands(nest->b->kernel, node) > 1)
        y = operand(nest, node, 1);
    switch (op) {
    case OP_iadd:
        return LLVMBuildAdd(builder, x, y, "");
    case OP_isub:
        return LLVMBuildSub(builder, x, y, "");
    case OP_imul:
        return LLVMBuildMul(builder, x, y, "");
    case OP_imin:
        return emit_extreme(nest, x, y, "llvm.smin");
    case OP_imax:
        return emit_extreme(nest, x, y, "llvm.smax");
    case OP_max0:
        return emit_extreme(nest, x, number(nest, 0), "llvm.smax");
    case OP_ceildiv:
        return emit_ceildiv(nest, node);
    case OP_clamp:
        return emit_clamp(nest, x, y);
    case OP_wrap:
        return emit_wrap(nest, node);
    case OP_checked_add:
        return emit_checked(nest, node, "llvm.sadd.with.overflow");
    case OP_checked_subtract:
        return emit_checked(nest, node, "llvm.ssub.with.overflow");
    default:
        return emit_checked(nest, node, "llvm.smul.with.overflow");
    }
}

/* An integer of any width as an index. */
static LLVMValueRef
emit_to_index(const Nest *nest, IrNode node)
{
    IrDtype dtype =
        ir_type(nest->b->kernel, ir_node_operand(nest->b->kernel, node, 0)).dtype;
    LLVMValueRef x = operand(nest, node, 0);

    if (ir_dtype_bytes(dtype) == 8)
        return x;
    return ir_dtype_kind(dtype) == KIND_uint
               ? LLVMBuildZExt(nest->b->builder, x, nest->i64, "")
               : LLVMBuildSExt(nest->b->builder, x, nest->i64, "");
}

static void emit_control(Nest *nest, IrNode node);

static void
emit_node(Nest *nest, IrNode node)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    IrOp op = ir_node_op(kernel, node);
    IrValue value = ir_node_nresults(kernel, node) ? ir_result(kernel, node, 0) : 0;
    Lanes *result = &nest->values[value];

    switch (op) {
    case OP_for:
    case OP_while:
    case OP_if:
        emit_control(nest, node);
        break;
    case OP_load:
        emit_load(nest, node, result);
        break;
    case OP_store:
        emit_store(nest, node);
        break;
    case OP_check:
        leave_unless(nest, operand(nest, node, 0), number(nest, LOWER_NEST_failed));
        break;
    case OP_call:
        *result = number_of(emit_library(nest, node));
        break;
    case OP_run_sum:
        *result = number_of(emit_run_sum(nest, node));
        break;
    case OP_run_dot:
        *result = number_of(emit_run_dot(nest, node));
        break;
    case OP_poison:
        result->re = LLVMConstNull(type_of(nest, ir_type(kernel, value).dtype));
        break;
    case OP_dim: {
        uint32_t param = param_number(nest, ir_node_operand(kernel, node, 0));
        int64_t axis = ir_node_int(kernel, node, "axis", 0);
        *result = number_of(nest->extents[nest->row_of[param] + axis]);
        break;
    }
    case OP_to_index:
        *result = number_of(emit_to_index(nest, node));
        break;
    case OP_from_index:
        result->re = operand(nest, node, 0);
        break;
    default:
        if (is_index_const(kernel, node))
            *result = number_of(number(nest, (uint64_t)ir_node_int(kernel, node, "value", 0)));
        else if (op == OP_const)
            *result = lower_access_const(b, ir_type(kernel, value).dtype,
                                         ir_node_attr(kernel, node, "value"));
        else if (has_own_code(op))
            *result = number_of(emit_index(nest, node));
        else if (ir_op_flags(op) & OPF_elementary && op != OP_power)
            *result = emit_recipe(nest, node);
        else
            *result = lower_elem_emit(b, node, nest->values);
    }
}

/* -- Regions --------------------------------------------------------------- */

static void
emit_region(Nest *nest, IrRegion region)
{
    const IrGraph *kernel = nest->b->kernel;
    for (IrNode node = ir_region_first(kernel, region); node;
         node = ir_node_next(kernel, node))
        emit_node(nest, node);
}

static LLVMValueRef
phi(Nest *nest, IrDtype dtype)
{
    return LLVMBuildPhi(nest->b->builder, type_of(nest, dtype), "");
}

static void
incoming(LLVMValueRef phi, LLVMValueRef value, LLVMBasicBlockRef from)
{
    LLVMAddIncoming(phi, &value, &from, 1);
}

static void
emit_if(Nest *nest, IrNode node)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    LLVMBasicBlockRef ways[2] = {block(nest, "then"), block(nest, "else")},
                      join = block(nest, "join"), ends[2];

    LLVMBuildCondBr(b->builder, operand(nest, node, 0), ways[0], ways[1]);
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

/* Asks now and then whether to go on; the builder is at the head of a loop. */
static void
emit_poll(Nest *nest)
{
    Build *b = nest->b;
    LLVMBasicBlockRef ask = block(nest, "ask"), on = block(nest, "go.on");
    LLVMValueRef left = LLVMBuildLoad2(b->builder, nest->i64, nest->turns, "");
    LLVMTypeRef type = LLVMFunctionType(nest->i64, NULL, 0, 0);
    LLVMValueRef answer;

    left = LLVMBuildSub(b->builder, left, number(nest, 1), "");
    LLVMBuildStore(b->builder, left, nest->turns);
    LLVMBuildCondBr(b->builder,
                    LLVMBuildICmp(b->builder, LLVMIntEQ, left, number(nest, 0), ""), ask,
                    on);
    LLVMPositionBuilderAtEnd(b->builder, ask);
    LLVMBuildStore(b->builder, number(nest, POLL_TURNS), nest->turns);
    answer = LLVMBuildCall2(b->builder, type, nest->poll, NULL, 0, "");
    leave_unless(nest,
                 LLVMBuildICmp(b->builder, LLVMIntEQ, answer, number(nest, 0), ""),
                 number(nest, LOWER_NEST_stopped));
    LLVMBuildBr(b->builder, on);
    LLVMPositionBuilderAtEnd(b->builder, on);
}

static bool
holds_loop(const IrGraph *kernel, IrRegion region)
{
    for (IrNode node = ir_region_first(kernel, region); node; node = ir_node_next(kernel, node)) {
        if (ir_node_op(kernel, node) == OP_for || ir_node_op(kernel, node) == OP_while)
            return true;
        for (uint32_t i = 0; i < ir_node_nregions(kernel, node); i++) {
            if (holds_loop(kernel, ir_node_region(kernel, node, i)))
                return true;
        }
    }
    return false;
}

static LLVMValueRef
yield(const Nest *nest, IrRegion region, uint32_t i)
{
    return nest->values[ir_region_yield_at(nest->b->kernel, region, i)].re;
}

static void
emit_for(Nest *nest, IrNode node)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    IrRegion region = ir_node_region(kernel, node, 0);
    uint32_t n = ir_node_noperands(kernel, node) - 1;
    int64_t until = ir_node_int(kernel, node, "until", -1);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder), head = block(nest, "for"),
                      body = block(nest, "turn"), done = block(nest, "done"), end;
    LLVMValueRef count = operand(nest, node, 0);
    LLVMValueRef *carried = calloc(n + 1, sizeof *carried);

    if (!carried)
        return;
    LLVMBuildBr(b->builder, head);
    LLVMPositionBuilderAtEnd(b->builder, head);
    LLVMValueRef turn = LLVMBuildPhi(b->builder, nest->i64, "");
    incoming(turn, number(nest, 0), before);
    for (uint32_t i = 0; i < n; i++) {
        IrValue param = ir_region_param_at(kernel, region, i + 1);
        carried[i] = phi(nest, ir_type(kernel, param).dtype);
        incoming(carried[i], operand(nest, node, i + 1), before);
        nest->values[param] = (Lanes){carried[i], NULL};
    }
    LLVMBuildCondBr(b->builder, LLVMBuildICmp(b->builder, LLVMIntSLT, turn, count, ""), body,
                    done);
    LLVMPositionBuilderAtEnd(b->builder, body);
    if (holds_loop(kernel, region))
        emit_poll(nest);
    nest->values[ir_region_param_at(kernel, region, 0)] = number_of(turn);
    emit_region(nest, region);
    LLVMValueRef next = LLVMBuildAdd(b->builder, turn, number(nest, 1), "");
    end = LLVMGetInsertBlock(b->builder);
    incoming(turn, next, end);
    for (uint32_t i = 0; i < n; i++)
        incoming(carried[i], yield(nest, region, i), end);
    if (until >= 0)
        LLVMBuildCondBr(b->builder, yield(nest, region, (uint32_t)until), done,
                        head);
    else
        LLVMBuildBr(b->builder, head);
    LLVMPositionBuilderAtEnd(b->builder, done);
    for (uint32_t i = 0; i < n; i++) {
        IrValue result = ir_result(kernel, node, i);
        LLVMValueRef made = carried[i];
        if (until >= 0) {
            made = phi(nest, ir_type(kernel, result).dtype);
            incoming(made, carried[i], head);
            incoming(made, yield(nest, region, i), end);
        }
        nest->values[result] = (Lanes){made, NULL};
    }
    free(carried);
}

static void
emit_while(Nest *nest, IrNode node)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    IrRegion test = ir_node_region(kernel, node, 0), region = ir_node_region(kernel, node, 1);
    uint32_t n = ir_node_noperands(kernel, node);
    int64_t until = ir_node_int(kernel, node, "until", -1);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder), head = block(nest, "while"),
                      body = block(nest, "turn"), done = block(nest, "done"), tested, end;
    LLVMValueRef *carried = calloc(n + 1, sizeof *carried);

    if (!carried)
        return;
    LLVMBuildBr(b->builder, head);
    LLVMPositionBuilderAtEnd(b->builder, head);
    for (uint32_t i = 0; i < n; i++) {
        IrValue param = ir_region_param_at(kernel, test, i);
        carried[i] = phi(nest, ir_type(kernel, param).dtype);
        incoming(carried[i], operand(nest, node, i), before);
        nest->values[param] = (Lanes){carried[i], NULL};
    }
    emit_poll(nest);
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
        LLVMBuildCondBr(b->builder, yield(nest, region, (uint32_t)until), done,
                        head);
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

static void
emit_control(Nest *nest, IrNode node)
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
    LLVMValueRef index = number(nest, i);
    LLVMBuilderRef builder = nest->b->builder;
    return LLVMBuildLoad2(builder, type, LLVMBuildGEP2(builder, type, base, &index, 1, ""), "");
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
    LLVMPositionBuilderAtEnd(b->builder, block(nest, "entry"));
    LLVMValueRef data = LLVMGetParam(b->function, 0), steps = LLVMGetParam(b->function, 3);
    for (uint32_t p = 0; p < n; p++) {
        IrType type = ir_type(kernel, ir_param(kernel, p));
        nest->bases[p] = load_at(nest, nest->pointer, data, p);
        nest->row_of[p] = axis;
        for (uint32_t d = 0; d < type.ndim; d++, axis++) {
            nest->extents[axis] = load_at(nest, nest->i64, steps, 2ull * nest->row_of[p] + d);
            nest->strides[axis] =
                load_at(nest, nest->i64, steps, 2ull * nest->row_of[p] + type.ndim + d);
        }
        if (!type.ndim)
            nest->values[ir_param(kernel, p)] =
                lower_access_load(b, type.dtype, PATTERN_contiguous, nest->bases[p],
                                  number(nest, 0), NULL);
    }
    nest->status = load_at(nest, nest->pointer, data, n + nresults);
    nest->poll = load_at(nest, nest->pointer, data, n + nresults + 1);
    nest->dots = load_at(nest, nest->pointer, data, n + nresults + 2);
    nest->cell = LLVMBuildAlloca(b->builder, nest->i64, "cell");
    nest->turns = LLVMBuildAlloca(b->builder, nest->i64, "turns");
    LLVMBuildStore(b->builder, number(nest, POLL_TURNS), nest->turns);
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
                           number(nest, 0), NULL);
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
