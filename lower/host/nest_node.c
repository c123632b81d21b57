/* nest_node.c - the nodes of a nest that are no regions: numbers, elements, checks, calls. */
#include <stdio.h>

#include "lower/host/nest.h"

/* -- What has code here ---------------------------------------------------- */

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
    case OP_run_compress:
    case OP_run_product:
    case OP_run_function:
    case OP_draw:
        return true;
    default:
        return false;
    }
}

/* Powers of integers are none. */
static bool
is_recipe(const IrGraph *kernel, IrNode node)
{
    return ir_dtype_kind(ir_type(kernel, ir_result(kernel, node, 0)).dtype) ==
           KIND_float;
}

static bool
is_index_const(const IrGraph *kernel, IrNode node)
{
    return ir_node_op(kernel, node) == OP_const &&
           ir_type(kernel, ir_result(kernel, node, 0)).dtype == DT_index;
}

bool
lower_nest_supports(const HostTarget *target, const IrGraph *kernel, char *reason,
                    size_t n)
{
    for (IrNode node = 1; node < ir_nnodes(kernel); node++) {
        if (!has_own_code(ir_node_op(kernel, node)) && !is_index_const(kernel, node) &&
            !lower_elem_supports(target, kernel, node, reason, n))
            return false;
    }
    return true;
}

/* -- Numbers --------------------------------------------------------------- */

LLVMTypeRef
lower_nest_type(const Nest *nest, IrDtype dtype)
{
    return dtype == DT_index ? nest->i64 : lower_access_type(nest->b, dtype);
}

LLVMValueRef
lower_nest_number(const Nest *nest, uint64_t value)
{
    return LLVMConstInt(nest->i64, value, 0);
}

static Lanes
number_of(LLVMValueRef scalar)
{
    return (Lanes){scalar, NULL};
}

LLVMValueRef
lower_nest_operand(const Nest *nest, IrNode node, uint32_t i)
{
    return nest->values[ir_node_operand(nest->b->kernel, node, i)].re;
}

LLVMBasicBlockRef
lower_nest_block(const Nest *nest, const char *name)
{
    return LLVMAppendBasicBlockInContext(nest->b->context, nest->b->function, name);
}

/* Goes on where the condition holds; elsewhere stores the status and returns. */
void
lower_nest_leave_unless(const Nest *nest, LLVMValueRef condition, LLVMValueRef status)
{
    Build *b = nest->b;
    LLVMBasicBlockRef out = lower_nest_block(nest, "leave"),
                      on = lower_nest_block(nest, "on");

    LLVMBuildCondBr(b->builder, condition, on, out);
    LLVMPositionBuilderAtEnd(b->builder, out);
    LLVMBuildStore(b->builder, status, nest->status);
    LLVMBuildRetVoid(b->builder);
    LLVMPositionBuilderAtEnd(b->builder, on);
}

/* -- Arrays ---------------------------------------------------------------- */

uint32_t
lower_nest_param(const Nest *nest, IrValue value)
{
    for (uint32_t i = 0; i < ir_nparams(nest->b->kernel); i++) {
        if (ir_param(nest->b->kernel, i) == value)
            return i;
    }
    return 0;
}

/* The address of an element of operand `of`, whose indices are operands `from` … of the node. */
LLVMValueRef
lower_nest_address(const Nest *nest, IrNode node, uint32_t of, uint32_t from)
{
    Build *b = nest->b;
    IrValue array = ir_node_operand(b->kernel, node, of);
    IrType type = ir_type(b->kernel, array);
    uint32_t param = lower_nest_param(nest, array), row = nest->row_of[param];
    LLVMValueRef at = nest->bases[param];
    LLVMTypeRef byte = LLVMInt8TypeInContext(b->context);

    for (uint32_t d = 0; d < type.ndim; d++) {
        LLVMValueRef index = lower_nest_operand(nest, node, from + d), offset;
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

/* The address of the part that the node's attribute names, of an element. */
static LLVMValueRef
part_address(const Nest *nest, IrNode node, uint32_t from, IrDtype dtype)
{
    LLVMValueRef at = lower_nest_address(nest, node, 0, from);
    LLVMValueRef part = lower_nest_number(
        nest, (uint64_t)ir_node_int(nest->b->kernel, node, "part", 0));

    return ir_node_attr(nest->b->kernel, node, "part")
               ? lower_access_address(nest->b, dtype, at, part)
               : at;
}

/* A list of the scope of one parameter's memory, or of those of all others. */
static LLVMValueRef
scopes(const Nest *nest, uint32_t param, bool others)
{
    LLVMContextRef context = nest->b->context;
    LLVMMetadataRef list[LOWER_NEST_PARAMS], domain;
    uint32_t n = 0;

    domain = LLVMMDStringInContext2(context, "nest", 4);
    domain = LLVMMDNodeInContext2(context, &domain, 1);
    for (uint32_t p = 0; p < ir_nparams(nest->b->kernel) && n < LOWER_NEST_PARAMS;
         p++) {
        char name[16];
        size_t length = (size_t)snprintf(name, sizeof name, "%u", p);
        LLVMMetadataRef parts[2] = {LLVMMDStringInContext2(context, name, length),
                                    domain};

        if ((p == param) != others)
            list[n++] = LLVMMDNodeInContext2(context, parts, 2);
    }
    return LLVMMetadataAsValue(context, LLVMMDNodeInContext2(context, list, n));
}

/* Memory that is written is one parameter's alone (trace/nest.c): LLVM is told so of the loads and stores behind `last`. */
static void
set_apart(const Nest *nest, IrNode node, LLVMValueRef last)
{
    Build *b = nest->b;
    uint32_t param = lower_nest_param(nest, ir_node_operand(b->kernel, node, 0));
    LLVMBasicBlockRef block = LLVMGetInsertBlock(b->builder);

    for (LLVMValueRef i = last && LLVMGetInstructionParent(last) == block
                              ? LLVMGetNextInstruction(last)
                              : LLVMGetFirstInstruction(block);
         i; i = LLVMGetNextInstruction(i)) {
        if (!LLVMIsALoadInst(i) && !LLVMIsAStoreInst(i))
            continue;
        LLVMSetMetadata(i, LLVMGetMDKindIDInContext(b->context, "alias.scope", 11),
                        scopes(nest, param, false));
        LLVMSetMetadata(i, LLVMGetMDKindIDInContext(b->context, "noalias", 7),
                        scopes(nest, param, true));
    }
}

static void
emit_load(const Nest *nest, IrNode node, Lanes *result)
{
    IrDtype dtype = ir_type(nest->b->kernel, ir_result(nest->b->kernel, node, 0)).dtype;
    LLVMValueRef last = LLVMGetLastInstruction(LLVMGetInsertBlock(nest->b->builder));
    *result = lower_access_load(nest->b, dtype, PATTERN_contiguous,
                                part_address(nest, node, 1, dtype),
                                lower_nest_number(nest, 0), NULL);
    set_apart(nest, node, last);
}

static void
emit_store(const Nest *nest, IrNode node)
{
    const IrGraph *kernel = nest->b->kernel;
    IrValue value = ir_node_operand(kernel, node, 1);
    IrDtype dtype = ir_type(kernel, value).dtype;
    LLVMValueRef last = LLVMGetLastInstruction(LLVMGetInsertBlock(nest->b->builder));
    lower_access_store(nest->b, dtype, nest->values[value],
                       part_address(nest, node, 2, dtype), lower_nest_number(nest, 0),
                       NULL);
    set_apart(nest, node, last);
}

/* -- Nodes ----------------------------------------------------------------- */

static LLVMValueRef
emit_checked(Nest *nest, IrNode node, const char *intrinsic)
{
    Build *b = nest->b;
    LLVMValueRef arguments[2] = {lower_nest_operand(nest, node, 0),
                                 lower_nest_operand(nest, node, 1)};
    LLVMValueRef both = lower_access_call(b, intrinsic, &nest->i64, 1, arguments, 2);
    LLVMValueRef over = LLVMBuildExtractValue(b->builder, both, 1, "");

    if (nest->over)
        nest->over = LLVMBuildOr(b->builder, nest->over, over, "");
    else
        lower_nest_leave_unless(nest, LLVMBuildNot(b->builder, over, ""),
                                lower_nest_number(nest, LOWER_NEST_failed));
    return LLVMBuildExtractValue(b->builder, both, 0, "");
}

/* x + n if x is negative; then it has to be in 0 … n - 1. */
static LLVMValueRef
emit_wrap(const Nest *nest, IrNode node)
{
    LLVMBuilderRef builder = nest->b->builder;
    LLVMValueRef x = lower_nest_operand(nest, node, 0),
                 n = lower_nest_operand(nest, node, 1);
    LLVMValueRef negative =
        LLVMBuildICmp(builder, LLVMIntSLT, x, lower_nest_number(nest, 0), "");
    LLVMValueRef wrapped =
        LLVMBuildSelect(builder, negative, LLVMBuildAdd(builder, x, n, ""), x, "");

    lower_nest_leave_unless(nest, LLVMBuildICmp(builder, LLVMIntULT, wrapped, n, ""),
                            lower_nest_number(nest, LOWER_NEST_failed));
    return wrapped;
}

/* ORDER: -(-x // y) of a positive y */
static LLVMValueRef
emit_ceildiv(const Nest *nest, IrNode node)
{
    LLVMBuilderRef builder = nest->b->builder;
    LLVMValueRef x = lower_nest_operand(nest, node, 0),
                 y = lower_nest_operand(nest, node, 1);
    LLVMValueRef quotient = LLVMBuildSDiv(builder, x, y, "");
    LLVMValueRef rest = LLVMBuildSRem(builder, x, y, "");
    LLVMValueRef more =
        LLVMBuildICmp(builder, LLVMIntSGT, rest, lower_nest_number(nest, 0), "");

    return LLVMBuildAdd(builder, quotient, LLVMBuildZExt(builder, more, nest->i64, ""),
                        "");
}

static LLVMValueRef emit_extreme(const Nest *nest, LLVMValueRef x, LLVMValueRef y,
                                 const char *intrinsic);

/* A bound of a slice: x + n if negative, then into 0 … n. */
static LLVMValueRef
emit_clamp(const Nest *nest, LLVMValueRef x, LLVMValueRef n)
{
    LLVMBuilderRef builder = nest->b->builder;
    LLVMValueRef negative =
        LLVMBuildICmp(builder, LLVMIntSLT, x, lower_nest_number(nest, 0), "");
    LLVMValueRef wrapped =
        LLVMBuildSelect(builder, negative, LLVMBuildAdd(builder, x, n, ""), x, "");

    wrapped = emit_extreme(nest, wrapped, lower_nest_number(nest, 0), "llvm.smax");
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
        arguments[i] = lower_nest_operand(nest, node, i);
        types[i] = LLVMTypeOf(arguments[i]);
    }
    snprintf(symbol, sizeof symbol, "pyasc_libm_%s", name);
    LLVMTypeRef type = LLVMFunctionType(types[0], types, n, 0);
    LLVMValueRef function = LLVMGetNamedFunction(b->module, symbol);
    if (!function)
        function = LLVMAddFunction(b->module, symbol, type);
    return LLVMBuildCall2(b->builder, type, function, arguments, n, "");
}

/* A function of the table of draws, with what is beside it. */
static LLVMValueRef
emit_draw(const Nest *nest, IrNode node)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    uint64_t number = (uint64_t)ir_node_int(kernel, node, "number", 0);
    uint32_t n = ir_node_noperands(kernel, node);
    LLVMValueRef arguments[4], places[2];
    LLVMTypeRef types[4] = {nest->pointer};

    for (uint32_t i = 0; i < 2; i++) {
        LLVMValueRef at = lower_nest_number(nest, 2 * number + i);
        at = LLVMBuildGEP2(b->builder, nest->pointer, nest->draws, &at, 1, "");
        places[i] = LLVMBuildLoad2(b->builder, nest->pointer, at, "");
    }
    arguments[0] = places[1];
    for (uint32_t i = 0; i < n && i < 3; i++) {
        arguments[i + 1] = lower_nest_operand(nest, node, i);
        types[i + 1] = LLVMTypeOf(arguments[i + 1]);
    }
    LLVMTypeRef made =
        lower_nest_type(nest, ir_type(kernel, ir_result(kernel, node, 0)).dtype);
    return LLVMBuildCall2(b->builder, LLVMFunctionType(made, types, n + 1, 0),
                          places[0], arguments, n + 1, "");
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
        nest->values[value].re =
            LLVMBuildShuffleVector(b->builder, x, LLVMGetPoison(type),
                                   LLVMConstNull(LLVMVectorType(i32, nest->wide)), "");
    }
    b->lanes = nest->wide;
    result = lower_elem_emit(b, node, nest->values);
    b->lanes = 1;
    for (uint32_t i = n; i-- > 0;)
        nest->values[ir_node_operand(b->kernel, node, i)] = whole[i];
    return number_of(
        LLVMBuildExtractElement(b->builder, result.re, LLVMConstInt(i32, 0, 0), ""));
}

static LLVMValueRef
emit_index(Nest *nest, IrNode node)
{
    LLVMBuilderRef builder = nest->b->builder;
    IrOp op = ir_node_op(nest->b->kernel, node);
    LLVMValueRef x = lower_nest_operand(nest, node, 0), y = NULL;

    if (ir_node_noperands(nest->b->kernel, node) > 1)
        y = lower_nest_operand(nest, node, 1);
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
        return emit_extreme(nest, x, lower_nest_number(nest, 0), "llvm.smax");
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
    LLVMValueRef x = lower_nest_operand(nest, node, 0);

    if (ir_dtype_bytes(dtype) == 8)
        return x;
    if (ir_dtype_kind(dtype) == KIND_uint)
        return LLVMBuildZExt(nest->b->builder, x, nest->i64, "");
    return LLVMBuildSExt(nest->b->builder, x, nest->i64, "");
}

static LLVMValueRef
extent_of(const Nest *nest, IrNode node)
{
    const IrGraph *kernel = nest->b->kernel;
    uint32_t param = lower_nest_param(nest, ir_node_operand(kernel, node, 0));

    return nest->extents[nest->row_of[param] + ir_node_int(kernel, node, "axis", 0)];
}

void
lower_nest_emit(Nest *nest, IrNode node)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    IrOp op = ir_node_op(kernel, node);
    IrValue value = ir_node_nresults(kernel, node) ? ir_result(kernel, node, 0) : 0;
    Lanes *result = &nest->values[value];

    if (op == OP_run_sum || op == OP_run_dot || op == OP_run_compress)
        lower_nest_poll(nest, lower_nest_operand(nest, node, 0));
    switch (op) {
    case OP_for:
    case OP_while:
    case OP_if:
        lower_nest_control(nest, node);
        break;
    case OP_load:
        emit_load(nest, node, result);
        break;
    case OP_store:
        emit_store(nest, node);
        break;
    case OP_check:
        lower_nest_leave_unless(nest, lower_nest_operand(nest, node, 0),
                                lower_nest_number(nest, LOWER_NEST_failed));
        break;
    case OP_call:
    case OP_draw:
        *result = number_of((op == OP_call ? emit_library : emit_draw)(nest, node));
        break;
    case OP_run_sum:
        *result = number_of(lower_nest_sum(nest, node));
        break;
    case OP_run_compress:
        *result = number_of(lower_nest_compress(nest, node));
        break;
    case OP_run_product:
        lower_nest_product(nest, node);
        break;
    case OP_run_function:
        lower_nest_function(nest, node);
        break;
    case OP_run_dot:
        *result = number_of(lower_nest_dot(nest, node));
        break;
    case OP_poison:
        result->re = LLVMConstNull(lower_nest_type(nest, ir_type(kernel, value).dtype));
        break;
    case OP_dim:
        *result = number_of(extent_of(nest, node));
        break;
    case OP_to_index:
        *result = number_of(emit_to_index(nest, node));
        break;
    case OP_from_index:
        result->re = lower_nest_operand(nest, node, 0);
        break;
    default:
        if (is_index_const(kernel, node))
            *result = number_of(lower_nest_number(
                nest, (uint64_t)ir_node_int(kernel, node, "value", 0)));
        else if (op == OP_const)
            *result = lower_access_const(b, ir_type(kernel, value).dtype,
                                         ir_node_attr(kernel, node, "value"));
        else if (has_own_code(op))
            *result = number_of(emit_index(nest, node));
        else if (ir_op_flags(op) & OPF_elementary && is_recipe(kernel, node))
            *result = emit_recipe(nest, node);
        else
            *result = lower_elem_emit(b, node, nest->values);
    }
}
