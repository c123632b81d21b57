/* elem_int.c - integers and bool: what NumPy's integer loops do where C and LLVM leave
** open.
**
** Everything wraps. Division and remainder by 0 give 0, MIN // -1 = MIN, MIN % -1 = 0;
** the hardware traps on both, in any lane, so such lanes divide by 1 and are replaced.
** A shift by the width or more, or by a negative count, gives 0, or -1 for negative x
** >> y.
**
** No CPU here divides vectors of integers. Quotients of up to 16 bits are exact in
** float32, those of 32 bits in float64: where x / y is no integer it is below the next
** one, k, by 1 / y or more, and that is more than half an ulp of k. 64 bits are divided
** lane by lane.
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

/* -- Division ------------------------------------------------------------- */

typedef struct Division {
    LLVMValueRef by_zero, divisor, quotient, remainder; /* C's, of the safe divisor */
} Division;

/* x / divisor without its fraction; the result fits. */
static LLVMValueRef
quotient_of(Build *b, const Operands *o, LLVMValueRef divisor)
{
    IrDtype wide = ir_dtype_bytes(o->dtype) < 4 ? DT_float32 : DT_float64;
    Lanes x = o->x[0], y = lower_elem_real(divisor);

    if (ir_dtype_bytes(o->dtype) == 8)
        return LLVMBuildBinOp(b->builder,
                              ir_dtype_kind(o->dtype) == KIND_int ? LLVMSDiv : LLVMUDiv,
                              x.re, y.re, "");
    x = lower_cast_emit(b, x, o->dtype, wide);
    y = lower_cast_emit(b, y, o->dtype, wide);
    x.re = LLVMBuildFDiv(b->builder, x.re, y.re, "");
    return lower_cast_emit(b, x, wide, o->dtype).re;
}

static Division
divide(Build *b, const Operands *o, bool sint)
{
    LLVMValueRef x = o->x[0].re, y = o->x[1].re, unsafe;
    LLVMValueRef one = lower_access_int(b, o->dtype, 1);
    unsigned bits = 8 * (unsigned)ir_dtype_bytes(o->dtype);
    int64_t least = (int64_t)(UINT64_MAX << (bits - 1));
    Division d;

    d.by_zero = unsafe = compare(b, LLVMIntEQ, y, zero_of(y));
    if (sint) {
        LLVMValueRef overflow = LLVMBuildAnd(
            b->builder, compare(b, LLVMIntEQ, x, lower_access_int(b, o->dtype, least)),
            compare(b, LLVMIntEQ, y, lower_access_int(b, o->dtype, -1)), "");

        unsafe = LLVMBuildOr(b->builder, unsafe, overflow, "");
    }
    d.divisor = lower_elem_select(b, unsafe, one, y);
    d.quotient = quotient_of(b, o, d.divisor);
    d.remainder = LLVMBuildSub(b->builder, x,
                               LLVMBuildMul(b->builder, d.quotient, d.divisor, ""), "");
    return d;
}

static Lanes
zero_by_zero(Build *b, const Division *d, LLVMValueRef result)
{
    return lower_elem_real(lower_elem_select(b, d->by_zero, zero_of(result), result));
}

Lanes
emit_udiv(Build *b, const Token *token, const Operands *o)
{
    Division d = divide(b, o, false);

    (void)token;
    return zero_by_zero(b, &d, d.quotient);
}

Lanes
emit_urem(Build *b, const Token *token, const Operands *o)
{
    Division d = divide(b, o, false);

    (void)token;
    return zero_by_zero(b, &d, d.remainder);
}

Lanes
emit_srem(Build *b, const Token *token, const Operands *o)
{
    Division d = divide(b, o, true);

    (void)token;
    return zero_by_zero(b, &d, d.remainder);
}

/* The remainder is not 0 and its sign is not the divisor's: one step down. */
static LLVMValueRef
rounds_up(Build *b, const Division *d)
{
    LLVMValueRef zero = zero_of(d->remainder);
    LLVMValueRef signs = LLVMBuildXor(b->builder, d->remainder, d->divisor, "");

    return LLVMBuildAnd(b->builder, compare(b, LLVMIntNE, d->remainder, zero),
                        compare(b, LLVMIntSLT, signs, zero), "");
}

Lanes
emit_sfloordiv(Build *b, const Token *token, const Operands *o)
{
    Division d = divide(b, o, true);
    LLVMValueRef step = LLVMBuildSExt(b->builder, rounds_up(b, &d),
                                      LLVMTypeOf(d.quotient), ""); /* -1 or 0 */

    (void)token;
    return zero_by_zero(b, &d, LLVMBuildAdd(b->builder, d.quotient, step, ""));
}

Lanes
emit_sfloormod(Build *b, const Token *token, const Operands *o)
{
    Division d = divide(b, o, true);
    LLVMValueRef step =
        lower_elem_select(b, rounds_up(b, &d), d.divisor, zero_of(d.divisor));

    (void)token;
    return zero_by_zero(b, &d, LLVMBuildAdd(b->builder, d.remainder, step, ""));
}
