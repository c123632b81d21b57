/* elem_bits.c - floats by their bits: the next one, and how far it is. Of float32 and float64: float16 has its own
** next one, which is not float32's.
**
** The bits of a float's size, as an integer, count the floats from zero on: one more is the next away from zero,
** an infinity behind the largest.
*/
#include "lower/host/elem.h"

static IrDtype
bits_of(const Operands *o)
{
    return o->dtype == DT_float32 ? DT_int32 : DT_int64;
}

static LLVMValueRef
to_bits(Build *b, const Operands *o, LLVMValueRef x)
{
    return LLVMBuildBitCast(b->builder, x, lower_access_type(b, bits_of(o)), "");
}

static LLVMValueRef
to_float(Build *b, const Operands *o, LLVMValueRef bits)
{
    return LLVMBuildBitCast(b->builder, bits, lower_access_type(b, o->dtype), "");
}

static LLVMValueRef
compare(Build *b, LLVMRealPredicate predicate, LLVMValueRef x, LLVMValueRef y)
{
    return LLVMBuildFCmp(b->builder, predicate, x, y, "");
}

/* The least float above zero. */
static LLVMValueRef
least(Build *b, const Operands *o)
{
    return to_float(b, o, lower_access_int(b, bits_of(o), 1));
}

/* Of zeros the least float with the sign of y; where x = y, y; NaN if one is. */
Lanes
emit_nextafter(Build *b, const Token *token, const Operands *o)
{
    LLVMValueRef x = o->x[0].re, y = o->x[1].re, zero = LLVMConstNull(LLVMTypeOf(x));
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef arguments[2] = {least(b, o), y}, away, step, next, first;

    (void)token;
    away = LLVMBuildICmp(b->builder, LLVMIntEQ, compare(b, LLVMRealOLT, x, y),
                         compare(b, LLVMRealOGT, x, zero), "");
    step = lower_elem_select(b, away, lower_access_int(b, bits_of(o), 1),
                             lower_access_int(b, bits_of(o), -1));
    next = to_float(b, o, LLVMBuildAdd(b->builder, to_bits(b, o, x), step, ""));
    first = lower_access_call(b, "llvm.copysign", &type, 1, arguments, 2);
    next = lower_elem_select(b, compare(b, LLVMRealOEQ, x, zero), first, next);
    next = lower_elem_select(b, compare(b, LLVMRealOEQ, x, y), y, next);
    return lower_elem_real(lower_elem_select(
        b, compare(b, LLVMRealUNO, x, y), LLVMBuildFAdd(b->builder, x, y, ""), next));
}

/* The next float away from zero (of zeros the least one) less x; NaN of infinities, whose next one is. */
Lanes
emit_spacing(Build *b, const Token *token, const Operands *o)
{
    LLVMValueRef x = o->x[0].re, zero = LLVMConstNull(LLVMTypeOf(x)), next;

    (void)token;
    next = LLVMBuildAdd(b->builder, to_bits(b, o, x),
                        lower_access_int(b, bits_of(o), 1), "");
    next = lower_elem_select(b, compare(b, LLVMRealOEQ, x, zero), least(b, o),
                             to_float(b, o, next));
    next = LLVMBuildFSub(b->builder, next, x, "");
    return lower_elem_real(
        lower_elem_select(b, compare(b, LLVMRealUNO, x, x), x, next));
}
