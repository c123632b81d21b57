/* elem_int.c - integers and bool: what NumPy's integer loops do where C and LLVM leave
** open.
**
** Everything wraps. A shift by the width or more, or by a negative count, gives 0, or -1 for negative x
** >> y. Division: elem_divide.c; powers and common divisors: elem_steps.c.
*/
#include "lower/host/elem.h"

static LLVMValueRef
zero_of(LLVMValueRef x)
{
    return LLVMConstNull(LLVMTypeOf(x));
}

static LLVMValueRef
compare(Build *b, LLVMIntPredicate predicate, LLVMValueRef x, LLVMValueRef y)
{
    return LLVMBuildICmp(b->builder, predicate, x, y, "");
}

/* -- One operand ---------------------------------------------------------- */

Lanes
emit_neg(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(LLVMBuildNeg(b->builder, o->x[0].re, ""));
}

/* |MIN| = MIN. */
Lanes
emit_abs(Build *b, const Token *token, const Operands *o)
{
    LLVMTypeRef type = LLVMTypeOf(o->x[0].re);
    LLVMValueRef arguments[2] = {o->x[0].re,
                                 LLVMConstInt(LLVMInt1TypeInContext(b->context), 0, 0)};

    (void)token;
    return lower_elem_real(lower_access_call(b, "llvm.abs", &type, 1, arguments, 2));
}

Lanes
emit_bnot(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(LLVMBuildNot(b->builder, o->x[0].re, ""));
}

Lanes
emit_lnot(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(compare(b, LLVMIntEQ, o->x[0].re, zero_of(o->x[0].re)));
}

Lanes
emit_sign(Build *b, const Token *token, const Operands *o)
{
    LLVMValueRef x = o->x[0].re, zero = zero_of(x);
    LLVMValueRef positive = compare(b, LLVMIntSGT, x, zero);
    LLVMValueRef negative = compare(b, LLVMIntSLT, x, zero);

    (void)token;
    x = lower_elem_select(b, positive, lower_access_int(b, o->dtype, 1), zero);
    return lower_elem_real(
        lower_elem_select(b, negative, lower_access_int(b, o->dtype, -1), x));
}

Lanes
emit_usign(Build *b, const Token *token, const Operands *o)
{
    Lanes truth = lower_cast_emit(b, o->x[0], o->dtype, DT_boolean);

    (void)token;
    return lower_cast_emit(b, truth, DT_boolean, o->dtype);
}

/* 1 / x in float64, cut off: ±1 stay; 0 gives what the conversion of inf does, MIN in
** 32 and 64 signed bits (0 in fewer, for those take the low bits), else 0. */
Lanes
emit_srecip(Build *b, const Token *token, const Operands *o)
{
    LLVMValueRef x = o->x[0].re, zero = zero_of(x);
    unsigned bits = 8 * (unsigned)ir_dtype_bytes(o->dtype);
    int64_t least = bits < 32 ? 0 : bits == 32 ? INT32_MIN : INT64_MIN;
    LLVMValueRef next =
        LLVMBuildAdd(b->builder, x, lower_access_int(b, o->dtype, 1), "");
    LLVMValueRef unit =
        compare(b, LLVMIntULE, next, lower_access_int(b, o->dtype, 2)); /* -1, 0, 1 */

    (void)token;
    if (b->target->arch == ARCH_arm) /* conversions saturate */
        least = bits < 32 ? -1 : bits == 32 ? INT32_MAX : INT64_MAX;
    return lower_elem_real(lower_elem_select(b, compare(b, LLVMIntEQ, x, zero),
                                             lower_access_int(b, o->dtype, least),
                                             lower_elem_select(b, unit, x, zero)));
}

Lanes
emit_urecip(Build *b, const Token *token, const Operands *o)
{
    LLVMValueRef x = o->x[0].re, one = lower_access_int(b, o->dtype, 1), at_zero;

    (void)token;
    at_zero = lower_access_int(b, o->dtype, b->target->arch == ARCH_arm ? -1 : 0);
    return lower_elem_real(lower_elem_select(
        b, compare(b, LLVMIntEQ, x, zero_of(x)), at_zero,
        lower_elem_select(b, compare(b, LLVMIntEQ, x, one), x, zero_of(x))));
}

Lanes
emit_popcount(Build *b, const Token *token, const Operands *o)
{
    LLVMValueRef x = o->x[0].re;
    LLVMTypeRef type = LLVMTypeOf(x);
    Lanes count = lower_elem_real(lower_access_call(b, "llvm.ctpop", &type, 1, &x, 1));

    (void)token;
    return lower_cast_emit(b, count, o->dtype, DT_uint8);
}

Lanes
emit_spopcount(Build *b, const Token *token, const Operands *o)
{
    Operands magnitude = *o;

    magnitude.x[0] = emit_abs(b, token, o);
    return emit_popcount(b, token, &magnitude);
}

/* -- Bounds --------------------------------------------------------------- */

/* Two calls of the same intrinsics as minimum(maximum(x, lo), hi). */
static Lanes
clip(Build *b, const Operands *o, const char *maximum, const char *minimum)
{
    LLVMTypeRef type = LLVMTypeOf(o->x[0].re);
    LLVMValueRef arguments[2] = {o->x[0].re, o->x[1].re};

    arguments[0] = lower_access_call(b, maximum, &type, 1, arguments, 2);
    arguments[1] = o->x[2].re;
    return lower_elem_real(lower_access_call(b, minimum, &type, 1, arguments, 2));
}

Lanes
emit_sclip(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return clip(b, o, "llvm.smax", "llvm.smin");
}

Lanes
emit_uclip(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return clip(b, o, "llvm.umax", "llvm.umin");
}

Lanes
emit_bclip(Build *b, const Token *token, const Operands *o)
{
    LLVMValueRef raised = LLVMBuildOr(b->builder, o->x[0].re, o->x[1].re, "");

    (void)token;
    return lower_elem_real(LLVMBuildAnd(b->builder, raised, o->x[2].re, ""));
}

/* -- Shifts --------------------------------------------------------------- */

static LLVMValueRef
width_of(Build *b, const Operands *o, int less)
{
    return lower_access_int(b, o->dtype, 8 * (int)ir_dtype_bytes(o->dtype) - less);
}

/* The shift where the count is below the width, else 0. */
static Lanes
shift_or_zero(Build *b, const Operands *o, LLVMOpcode opcode)
{
    LLVMValueRef x = o->x[0].re, y = o->x[1].re;
    LLVMValueRef inside = compare(b, LLVMIntULT, y, width_of(b, o, 0));
    LLVMValueRef shifted = LLVMBuildBinOp(b->builder, opcode, x, y, "");

    return lower_elem_real(lower_elem_select(b, inside, shifted, zero_of(x)));
}

Lanes
emit_shl(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return shift_or_zero(b, o, LLVMShl);
}

Lanes
emit_lshr(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return shift_or_zero(b, o, LLVMLShr);
}

Lanes
emit_ashr(Build *b, const Token *token, const Operands *o)
{
    LLVMTypeRef type = LLVMTypeOf(o->x[1].re);
    LLVMValueRef arguments[2] = {o->x[1].re, width_of(b, o, 1)};
    LLVMValueRef count = lower_access_call(b, "llvm.umin", &type, 1, arguments, 2);

    (void)token;
    return lower_elem_real(LLVMBuildAShr(b->builder, o->x[0].re, count, ""));
}
