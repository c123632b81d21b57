/* elem_numpy.c - functions that are NumPy's own loops, called for the lanes of a vector.
**
** Lanes go through memory. Those past the end are computed, too, of whatever they hold.
*/
#include <stdio.h>

#include "lower/host/elem.h"

void
lower_elem_call_loop(Build *b, const char *name, const char *type, LLVMValueRef *memory,
                     LLVMValueRef n)
{
    LLVMTypeRef pointer = LLVMPointerTypeInContext(b->context, 0);
    LLVMTypeRef types[4] = {pointer, pointer, pointer, LLVMTypeOf(n)};
    LLVMTypeRef function_type =
        LLVMFunctionType(LLVMVoidTypeInContext(b->context), types, 4, 0);
    LLVMValueRef arguments[4] = {memory[0], memory[1], memory[2], n}, function;
    char symbol[48];

    snprintf(symbol, sizeof symbol, "pyasc_loop_%s_%s", name, type);
    function = LLVMGetNamedFunction(b->module, symbol);
    if (!function)
        function = LLVMAddFunction(b->module, symbol, function_type);
    LLVMBuildCall2(b->builder, function_type, function, arguments, 4, "");
}

/* Of complex numbers; comparisons give bools. */
Lanes
emit_numpy(Build *b, const Token *token, const Operands *o)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(b->context);
    LLVMValueRef zero = LLVMConstNull(i64), memory[3];
    IrOp op;
    bool truth = ir_op_find_numpy(o->numpy, &op) && ir_op_class(op) == CLASS_compare;
    IrDtype out = truth ? DT_boolean : o->dtype;

    (void)token;
    for (unsigned i = 0; i < o->n; i++) {
        memory[i] = lower_access_entry_buffer(b, o->dtype);
        lower_access_store(b, o->dtype, o->x[i], memory[i], zero, NULL);
    }
    memory[2] = lower_access_entry_buffer(b, out);
    if (o->n == 1)
        memory[1] = memory[0];
    lower_elem_call_loop(b, o->numpy, ir_dtype_name(o->dtype), memory,
                         LLVMConstInt(i64, b->lanes, 0));
    return lower_access_load(b, out, PATTERN_contiguous, memory[2], zero, NULL);
}
