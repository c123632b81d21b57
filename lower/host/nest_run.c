/* nest_run.c - calls of nests: NumPy's sums, products and functions, and our own loops, on elements in memory. */
#include <stdio.h>

#include "lower/host/nest.h"

/* The address of a run's first element, and the bytes between its elements; operands from `at` on
** are a parameter and indices. */
static LLVMValueRef
run_address(const Nest *nest, IrNode node, uint32_t at, int64_t axis, int64_t step,
            LLVMValueRef *bytes)
{
    uint32_t param = lower_nest_param(nest, ir_node_operand(nest->b->kernel, node, at));

    *bytes = LLVMBuildMul(nest->b->builder, nest->strides[nest->row_of[param] + axis],
                          lower_nest_number(nest, (uint64_t)step), "");
    return lower_nest_address(nest, node, at, at + 1);
}

LLVMValueRef
lower_nest_sum(const Nest *nest, IrNode node)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    bool wide = ir_type(kernel, ir_result(kernel, node, 0)).dtype == DT_float64;
    LLVMTypeRef real =
        wide ? LLVMDoubleTypeInContext(b->context) : LLVMFloatTypeInContext(b->context);
    LLVMTypeRef types[3] = {nest->pointer, nest->i64, nest->i64};
    LLVMTypeRef type = LLVMFunctionType(real, types, 3, 0);
    LLVMValueRef function, arguments[3];
    char symbol[32];

    snprintf(symbol, sizeof symbol, "pyasc_%ssum_f%d",
             ir_node_int(kernel, node, "wide", 0) ? "wide_" : "", wide ? 64 : 32);
    function = LLVMGetNamedFunction(b->module, symbol);

    if (!function)
        function = LLVMAddFunction(b->module, symbol, type);
    arguments[0] = run_address(nest, node, 1, ir_node_int(kernel, node, "axis", 0),
                               ir_node_int(kernel, node, "step", 1), &arguments[1]);
    arguments[2] = lower_nest_operand(nest, node, 0);
    return LLVMBuildCall2(b->builder, type, function, arguments, 3, "");
}

LLVMValueRef
lower_nest_dot(const Nest *nest, IrNode node)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    bool wide = ir_type(kernel, ir_result(kernel, node, 0)).dtype == DT_float64;
    LLVMTypeRef real =
        wide ? LLVMDoubleTypeInContext(b->context) : LLVMFloatTypeInContext(b->context);
    LLVMTypeRef types[7] = {nest->pointer, nest->i64, nest->pointer, nest->i64,
                            nest->pointer, nest->i64, nest->pointer};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(b->context), types, 7, 0);
    const int64_t *axes = ir_node_attr(kernel, node, "axes")->ints;
    const int64_t *steps = ir_node_attr(kernel, node, "steps")->ints;
    uint32_t first = ir_type(kernel, ir_node_operand(kernel, node, 1)).ndim;
    LLVMValueRef at = lower_nest_number(nest, wide ? 0 : 1), arguments[7], function;

    arguments[0] = run_address(nest, node, 1, axes[0], steps[0], &arguments[1]);
    arguments[2] = run_address(nest, node, 2 + first, axes[1], steps[1], &arguments[3]);
    arguments[4] = nest->cell;
    arguments[5] = lower_nest_operand(nest, node, 0);
    arguments[6] = LLVMConstNull(nest->pointer);
    function = LLVMBuildLoad2(
        b->builder, nest->pointer,
        LLVMBuildGEP2(b->builder, nest->pointer, nest->dots, &at, 1, ""), "");
    LLVMBuildCall2(b->builder, type, function, arguments, 7, "");
    return LLVMBuildLoad2(b->builder, real, nest->cell, "");
}

LLVMValueRef
lower_nest_compress(const Nest *nest, IrNode node)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    LLVMTypeRef types[6] = {nest->pointer, nest->pointer, nest->i64,
                            nest->pointer, nest->i64,     nest->i64};
    LLVMTypeRef type = LLVMFunctionType(nest->i64, types, 6, 0);
    const int64_t *axes = ir_node_attr(kernel, node, "axes")->ints;
    const int64_t *steps = ir_node_attr(kernel, node, "steps")->ints;
    IrType to = ir_type(kernel, ir_node_operand(kernel, node, 1));
    uint32_t from = 2 + to.ndim;
    uint32_t mask =
        from + 1 + ir_type(kernel, ir_node_operand(kernel, node, from)).ndim;
    LLVMValueRef arguments[6], function, ignored;
    char symbol[32];

    snprintf(symbol, sizeof symbol, "pyasc_compress_%d", (int)ir_dtype_bytes(to.dtype));
    function = LLVMGetNamedFunction(b->module, symbol);
    if (!function)
        function = LLVMAddFunction(b->module, symbol, type);
    arguments[0] = run_address(nest, node, 1, axes[0], steps[0], &ignored);
    arguments[1] = run_address(nest, node, from, axes[1], steps[1], &arguments[2]);
    arguments[3] = run_address(nest, node, mask, axes[2], steps[2], &arguments[4]);
    arguments[5] = lower_nest_operand(nest, node, 0);
    return LLVMBuildCall2(b->builder, type, function, arguments, 6, "");
}

/* -- Products of matrices -------------------------------------------------- */

enum {
    PRODUCT_SIZES = 4,
    PRODUCT_STEPS = 9
}; /* a product's sizes and steps, behind three addresses */

static void
put(const Nest *nest, LLVMValueRef room, uint64_t i, LLVMValueRef value)
{
    LLVMValueRef at = lower_nest_number(nest, i);
    LLVMBuildStore(nest->b->builder, value,
                   LLVMBuildGEP2(nest->b->builder, nest->i64, room, &at, 1, ""));
}

static LLVMValueRef
place(const Nest *nest, LLVMValueRef room, uint64_t i)
{
    LLVMValueRef at = lower_nest_number(nest, i);
    return LLVMBuildGEP2(nest->b->builder, nest->i64, room, &at, 1, "");
}

/* The bytes from one row or column to the next. */
static LLVMValueRef
product_step(const Nest *nest, uint32_t param, int64_t axis, int64_t step)
{
    if (axis < 0)
        return lower_nest_number(nest, 0);
    return LLVMBuildMul(nest->b->builder, nest->strides[nest->row_of[param] + axis],
                        lower_nest_number(nest, (uint64_t)step), "");
}

void
lower_nest_product(Nest *nest, IrNode node)
{
    static const unsigned argument[3] = {2, 0, 1}; /* where to, x, y: of NumPy's loop */
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    LLVMTypeRef types[3] = {nest->pointer, nest->pointer, nest->pointer};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(b->context), types, 3, 0);
    LLVMValueRef room = nest->room, sizes = place(nest, room, 3), arguments[3], work;
    LLVMValueRef steps = place(nest, room, 3 + PRODUCT_SIZES), function;
    const int64_t *axes = ir_node_attr(kernel, node, "axes")->ints;
    const int64_t *by = ir_node_attr(kernel, node, "steps")->ints;
    IrDtype dtype = ir_type(kernel, ir_node_operand(kernel, node, 3)).dtype;
    char symbol[32];

    put(nest, sizes, 0, lower_nest_number(nest, 1));
    work = lower_nest_number(nest, 1);
    for (uint32_t i = 0; i < 3; i++) {
        put(nest, sizes, i + 1, lower_nest_operand(nest, node, i));
        put(nest, steps, i, lower_nest_number(nest, 0));
        work = LLVMBuildMul(b->builder, work, lower_nest_operand(nest, node, i), "");
    }
    lower_nest_poll(nest, work);
    for (uint32_t i = 0, at = 3; i < 3; i++) {
        uint32_t param = lower_nest_param(nest, ir_node_operand(kernel, node, at));
        uint32_t to = argument[i];
        LLVMValueRef slot = place(nest, room, to);
        LLVMBuildStore(b->builder, lower_nest_address(nest, node, at, at + 1), slot);
        for (uint32_t d = 0; d < 2; d++)
            put(nest, steps, 3 + 2 * to + d,
                product_step(nest, param, axes[2 * i + d], by[2 * i + d]));
        at += 1 + ir_type(kernel, ir_node_operand(kernel, node, at)).ndim;
    }
    snprintf(symbol, sizeof symbol, "pyasc_product_%s", ir_dtype_name(dtype));
    if (dtype == DT_boolean)
        snprintf(symbol, sizeof symbol, "pyasc_product_b1");
    function = LLVMGetNamedFunction(b->module, symbol);
    if (!function)
        function = LLVMAddFunction(b->module, symbol, type);
    arguments[0] = room;
    arguments[1] = sizes;
    arguments[2] = steps;
    LLVMBuildCall2(b->builder, type, function, arguments, 3, "");
}

/* -- Functions of numbers -------------------------------------------------- */

void
lower_nest_function(Nest *nest, IrNode node)
{
    Build *b = nest->b;
    const IrGraph *kernel = b->kernel;
    const char *name = ir_node_attr(kernel, node, "name")->text;
    const char *numbers = ir_node_attr(kernel, node, "numbers")->text;
    uint32_t parts = numbers[0] == 'c' ? 2 : 1, n = ir_node_noperands(kernel, node);
    LLVMValueRef arguments[3] = {place(nest, nest->room, 0), place(nest, nest->room, 2),
                                 place(nest, nest->room, 4)};

    for (uint32_t i = 0; i < n; i++) {
        IrValue value = ir_node_operand(kernel, node, i);
        LLVMValueRef part = lower_nest_number(nest, i % parts);
        IrDtype dtype = ir_type(kernel, value).dtype;
        LLVMBuildStore(b->builder, nest->values[value].re,
                       lower_access_address(b, dtype, arguments[i / parts], part));
    }
    lower_elem_call_loop(b, name, numbers, arguments, lower_nest_number(nest, 1));
    for (uint32_t i = 0; i < ir_node_nresults(kernel, node); i++) {
        IrValue value = ir_result(kernel, node, i);
        IrDtype dtype = ir_type(kernel, value).dtype;
        nest->values[value] = lower_access_load(
            b, dtype, PATTERN_contiguous,
            lower_access_address(b, dtype, arguments[2], lower_nest_number(nest, i)),
            lower_nest_number(nest, 0), NULL);
    }
}
