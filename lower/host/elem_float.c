/* elem_float.c - floats: NumPy's formulas, ties and NaN included.
**
** Of maximum(-0, +0) NumPy's loops return the second operand, in every lane; of float16
** the first. LLVM's own maximum and maxnum do neither, but `x > y ? x : y` is what
** vmaxpd does.
*/
#include <math.h>

#include "lower/host/elem.h"

static LLVMValueRef
compare(Build *b, LLVMRealPredicate predicate, LLVMValueRef x, LLVMValueRef y)
{
    return LLVMBuildFCmp(b->builder, predicate, x, y, "");
}

static LLVMValueRef
is_nan(Build *b, LLVMValueRef x)
{
    return compare(b, LLVMRealUNO, x, x);
}

static LLVMValueRef
zero_of(LLVMValueRef x)
{
    return LLVMConstNull(LLVMTypeOf(x));
}

static LLVMValueRef
constant(Build *b, const Operands *o, double value)
{
    return lower_access_float(b, o->dtype, value);
}

static LLVMValueRef
unary(Build *b, const char *intrinsic, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);

    return lower_access_call(b, intrinsic, &type, 1, &x, 1);
}

static LLVMValueRef
copy_sign(Build *b, LLVMValueRef x, LLVMValueRef sign)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef arguments[2] = {x, sign};

    return lower_access_call(b, "llvm.copysign", &type, 1, arguments, 2);
}

/* -- One operand ---------------------------------------------------------- */

Lanes
emit_fneg(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(LLVMBuildFNeg(b->builder, o->x[0].re, ""));
}

Lanes
emit_frecip(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(
        LLVMBuildFDiv(b->builder, constant(b, o, 1.0), o->x[0].re, ""));
}

/* sign(-0) = +0, sign(NaN) = NaN. */
Lanes
emit_fsign(Build *b, const Token *token, const Operands *o)
{
    LLVMValueRef x = o->x[0].re, zero = zero_of(x), result;

    (void)token;
    result = lower_elem_select(b, compare(b, LLVMRealOEQ, x, zero), zero, x);
    result = lower_elem_select(b, compare(b, LLVMRealOGT, x, zero), constant(b, o, 1.0),
                               result);
    return lower_elem_real(lower_elem_select(b, compare(b, LLVMRealOLT, x, zero),
                                             constant(b, o, -1.0), result));
}

Lanes
emit_heaviside(Build *b, const Token *token, const Operands *o)
{
    LLVMValueRef x = o->x[0].re, zero = zero_of(x), result;

    (void)token;
    result = lower_elem_select(b, compare(b, LLVMRealOEQ, x, zero), o->x[1].re, x);
    result = lower_elem_select(b, compare(b, LLVMRealOGT, x, zero), constant(b, o, 1.0),
                               result);
    return lower_elem_real(
        lower_elem_select(b, compare(b, LLVMRealOLT, x, zero), zero, result));
}

/* The factor is computed in the dtype. */
static Lanes
scale(Build *b, const Operands *o, double numerator, double denominator)
{
    double factor = o->dtype == DT_float32
                        ? (double)((float)numerator / (float)denominator)
                        : numerator / denominator;

    return lower_elem_real(
        LLVMBuildFMul(b->builder, o->x[0].re, constant(b, o, factor), ""));
}

Lanes
emit_deg2rad(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return scale(b, o, M_PI, 180.0);
}

Lanes
emit_rad2deg(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return scale(b, o, 180.0, M_PI);
}

Lanes
emit_flnot(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(compare(b, LLVMRealOEQ, o->x[0].re, zero_of(o->x[0].re)));
}

Lanes
emit_isnan(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(is_nan(b, o->x[0].re));
}

Lanes
emit_isinf(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(compare(b, LLVMRealOEQ, unary(b, "llvm.fabs", o->x[0].re),
                                   constant(b, o, INFINITY)));
}

Lanes
emit_isfinite(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(compare(b, LLVMRealOLT, unary(b, "llvm.fabs", o->x[0].re),
                                   constant(b, o, INFINITY)));
}

Lanes
emit_signbit(Build *b, const Token *token, const Operands *o)
{
    IrDtype bits = o->dtype == DT_float32 ? DT_int32 : DT_int64;
    LLVMTypeRef type = lower_access_type(b, bits);
    LLVMValueRef x = LLVMBuildBitCast(b->builder, o->x[0].re, type, "");

    (void)token;
    return lower_elem_real(
        LLVMBuildICmp(b->builder, LLVMIntSLT, x, LLVMConstNull(type), ""));
}

/* -- Extremes ------------------------------------------------------------- */

/* x where `x predicate y` or where `other` is NaN, else y; of float16 x on ties. */
static LLVMValueRef
extreme(Build *b, const Operands *o, LLVMRealPredicate strict, LLVMRealPredicate loose,
        LLVMValueRef other)
{
    LLVMValueRef x = o->x[0].re, y = o->x[1].re;
    LLVMValueRef better = compare(b, o->half ? loose : strict, x, y);

    return lower_elem_select(b, is_nan(b, other), x,
                             lower_elem_select(b, better, x, y));
}

Lanes
emit_fmaximum(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(extreme(b, o, LLVMRealOGT, LLVMRealOGE, o->x[0].re));
}

Lanes
emit_fminimum(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(extreme(b, o, LLVMRealOLT, LLVMRealOLE, o->x[0].re));
}

Lanes
emit_ffmax(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(extreme(b, o, LLVMRealOGT, LLVMRealOGE, o->x[1].re));
}

Lanes
emit_ffmin(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(extreme(b, o, LLVMRealOLT, LLVMRealOLE, o->x[1].re));
}

/* Bounds that are one element for the whole run, and float16: t = x < lo ? lo : x, then
** t > hi ? hi : t, all NaN if a bound is. Bounds that are arrays: minimum(maximum(x,
** lo), hi). The two differ in the zero they return. */
Lanes
emit_fclip(Build *b, const Token *token, const Operands *o)
{
    LLVMValueRef x = o->x[0].re, low = o->x[1].re, high = o->x[2].re;
    Operands step = *o;

    (void)token;
    if (!o->scalar_bounds && !o->half) {
        step.x[0].re = extreme(b, o, LLVMRealOGT, LLVMRealOGE, x);
        step.x[1].re = high;
        return lower_elem_real(
            extreme(b, &step, LLVMRealOLT, LLVMRealOLE, step.x[0].re));
    }
    x = lower_elem_select(b, compare(b, LLVMRealOLT, x, low), low, x);
    x = lower_elem_select(b, compare(b, LLVMRealOGT, x, high), high, x);
    x = lower_elem_select(b, is_nan(b, high), high, x);
    return lower_elem_real(lower_elem_select(b, is_nan(b, low), low, x));
}

/* -- Division ------------------------------------------------------------- */

static LLVMValueRef
absolute(Build *b, LLVMValueRef x)
{
    return unary(b, "llvm.fabs", x);
}

/* x - n * y for n = trunc(x / y), which is exact. The quotient may have been rounded up to n + 1:
** then the sign shows it, and |y| puts it right, exactly again. */
static LLVMValueRef
near_remainder(Build *b, const Operands *o, LLVMValueRef quotient)
{
    LLVMValueRef x = o->x[0].re, y = o->x[1].re, wrong;
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef n = LLVMBuildFNeg(b->builder, unary(b, "llvm.trunc", quotient), "");
    LLVMValueRef terms[3] = {n, y, x}, r;

    r = lower_access_call(b, "llvm.fma", &type, 1, terms, 3);
    wrong = LLVMBuildXor(b->builder, compare(b, LLVMRealOLT, r, zero_of(r)),
                         compare(b, LLVMRealOLT, x, zero_of(x)), "");
    wrong = LLVMBuildAnd(b->builder, wrong, compare(b, LLVMRealUNE, r, zero_of(r)), "");
    r = lower_elem_select(
        b, wrong, LLVMBuildFAdd(b->builder, r, copy_sign(b, absolute(b, y), x), ""), r);
    return copy_sign(b, r, x);
}

/* C's fmod. Where a lane's quotient is too large for near_remainder, or there is none, all lanes
** are the library's. */
static LLVMValueRef
remainder_of(Build *b, const Operands *o)
{
    LLVMValueRef x = o->x[0].re, y = o->x[1].re, quotient, fits, values[2], result;
    double largest = o->dtype == DT_float32 ? 0x1p24 : 0x1p53;
    LLVMBasicBlockRef blocks[2], done;
    LLVMTypeRef bits = LLVMIntTypeInContext(b->context, b->lanes);

    if (!b->target->fma)
        return LLVMBuildFRem(b->builder, x, y, "");
    quotient = LLVMBuildFDiv(b->builder, x, y, "");
    fits = LLVMBuildAnd(
        b->builder,
        compare(b, LLVMRealOLT, absolute(b, quotient), constant(b, o, largest)),
        compare(b, LLVMRealOLT, absolute(b, y), constant(b, o, INFINITY)), "");
    fits = LLVMBuildICmp(b->builder, LLVMIntEQ,
                         LLVMBuildBitCast(b->builder, fits, bits, ""),
                         LLVMConstAllOnes(bits), "");
    for (int i = 0; i < 2; i++)
        blocks[i] = LLVMAppendBasicBlockInContext(b->context, b->function, "remainder");
    done = LLVMAppendBasicBlockInContext(b->context, b->function, "remainder.done");
    LLVMBuildCondBr(b->builder, fits, blocks[0], blocks[1]);
    LLVMPositionBuilderAtEnd(b->builder, blocks[0]);
    values[0] = near_remainder(b, o, quotient);
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, blocks[1]);
    values[1] = LLVMBuildFRem(b->builder, x, y, "");
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
    result = LLVMBuildPhi(b->builder, LLVMTypeOf(x), "");
    LLVMAddIncoming(result, values, blocks, 2);
    return result;
}

Lanes
emit_frem(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(remainder_of(b, o));
}

/* m = fmod(a, b) is not 0 and has not the sign of b. */
static LLVMValueRef
needs_step(Build *b, const Operands *o, LLVMValueRef m)
{
    LLVMValueRef zero = zero_of(m);
    LLVMValueRef signs = LLVMBuildXor(b->builder, compare(b, LLVMRealOLT, m, zero),
                                      compare(b, LLVMRealOLT, o->x[1].re, zero), "");

    return LLVMBuildAnd(b->builder, compare(b, LLVMRealUNE, m, zero), signs, "");
}

/* m + b where a step is needed; copysign(0, b) where m is 0; b = 0 gives NaN by fmod.
** */
Lanes
emit_ffloormod(Build *b, const Token *token, const Operands *o)
{
    LLVMValueRef m = remainder_of(b, o), y = o->x[1].re, zero = zero_of(m);
    LLVMValueRef stepped = LLVMBuildFAdd(b->builder, m, y, "");

    (void)token;
    stepped = lower_elem_select(b, needs_step(b, o, m), stepped, m);
    return lower_elem_real(lower_elem_select(b, compare(b, LLVMRealOEQ, m, zero),
                                             copy_sign(b, zero, y), stepped));
}

/* d = (a - m) / b, less 1 after a step; f = floor(d), more 1 if d - f > 0.5; where d is
** 0: copysign(0, a / b); where b is 0: a / b. */
Lanes
emit_ffloordiv(Build *b, const Token *token, const Operands *o)
{
    LLVMValueRef m = remainder_of(b, o), x = o->x[0].re, y = o->x[1].re;
    LLVMValueRef zero = zero_of(m), one = constant(b, o, 1.0), d, f, ratio, above;

    (void)token;
    ratio = LLVMBuildFDiv(b->builder, x, y, "");
    d = LLVMBuildFDiv(b->builder, LLVMBuildFSub(b->builder, x, m, ""), y, "");
    d = lower_elem_select(b, needs_step(b, o, m), LLVMBuildFSub(b->builder, d, one, ""),
                          d);
    f = unary(b, "llvm.floor", d);
    above = compare(b, LLVMRealOGT, LLVMBuildFSub(b->builder, d, f, ""),
                    constant(b, o, 0.5));
    f = lower_elem_select(b, above, LLVMBuildFAdd(b->builder, f, one, ""), f);
    f = lower_elem_select(b, compare(b, LLVMRealOEQ, d, zero),
                          copy_sign(b, zero, ratio), f);
    return lower_elem_real(
        lower_elem_select(b, compare(b, LLVMRealOEQ, y, zero), ratio, f));
}

/* -- Division by one number ------------------------------------------------ */

/* With y = 1/s rounded, q = x y rounded, and the remainder r = x - q s, q + r y rounded once is x/s
** rounded: of float32 for all s and x, but where something is not a normal number or r is not exact.
** That is shown by trying: it can only fail where x/s is within 2^-22 of the middle between two
** numbers, in units of their distance, and for each s there are few such x (tests/check_quotients.c).
** Exponents are kept away from the ends of their range, others are divided; so is zero, whose sign
** would be lost. */
enum {
    LEAST_X = 0x0d800000, /* 2^-100 */
    PAST_X = 0x71800000,  /* 2^100 */
    LEAST_S = 0x33800000, /* 2^-24 */
    PAST_S = 0x4b800000,  /* 2^24 */
    SIZE_BITS = 0x7fffffff,
};

/* The bits of |x|, less `least`. */
static LLVMValueRef
size_above(Build *b, LLVMValueRef x, int64_t least)
{
    LLVMValueRef bits =
        LLVMBuildBitCast(b->builder, x, lower_access_type(b, DT_int32), "");

    bits = LLVMBuildAnd(b->builder, bits, lower_access_int(b, DT_int32, SIZE_BITS), "");
    return LLVMBuildSub(b->builder, bits, lower_access_int(b, DT_int32, least), "");
}

/* What of a quotient is the same in every turn, made behind the divisor: 1/s, and what |x| has to be
** below, less the least. */
static void
invert(Build *b, LLVMValueRef s, LLVMValueRef *inverse, LLVMValueRef *range)
{
    LLVMBasicBlockRef here = lower_elem_go_behind(b, s);

    *inverse = LLVMBuildFDiv(b->builder, lower_access_float(b, DT_float32, 1), s, "");
    *range = lower_elem_select(
        b,
        LLVMBuildICmp(b->builder, LLVMIntULT, size_above(b, s, LEAST_S),
                      lower_access_int(b, DT_int32, PAST_S - LEAST_S), ""),
        lower_access_int(b, DT_int32, PAST_X - LEAST_X),
        lower_access_int(b, DT_int32, 0));
    LLVMPositionBuilderAtEnd(b->builder, here);
}

static LLVMValueRef
fma_of(Build *b, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef arguments[3] = {x, y, z};

    return lower_access_call(b, "llvm.fma", &type, 1, arguments, 3);
}

static LLVMValueRef
quotient(Build *b, LLVMValueRef x, LLVMValueRef s)
{
    LLVMTypeRef bits = LLVMIntTypeInContext(b->context, b->lanes);
    LLVMBasicBlockRef blocks[2], done;
    LLVMValueRef inverse, range, far, results[2], result;

    invert(b, s, &inverse, &range);
    far = LLVMBuildICmp(b->builder, LLVMIntUGE, size_above(b, x, LEAST_X), range, "");
    for (int i = 0; i < 2; i++)
        blocks[i] = LLVMAppendBasicBlockInContext(b->context, b->function,
                                                  i ? "divided" : "multiplied");
    done = LLVMAppendBasicBlockInContext(b->context, b->function, "quotient");
    LLVMBuildCondBr(b->builder,
                    LLVMBuildICmp(b->builder, LLVMIntEQ,
                                  LLVMBuildBitCast(b->builder, far, bits, ""),
                                  LLVMConstNull(bits), ""),
                    blocks[0], blocks[1]);
    LLVMPositionBuilderAtEnd(b->builder, blocks[0]);
    result = LLVMBuildFMul(b->builder, x, inverse, "");
    results[0] = fma_of(b, fma_of(b, LLVMBuildFNeg(b->builder, result, ""), s, x),
                        inverse, result);
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, blocks[1]);
    results[1] = LLVMBuildFDiv(b->builder, x, s, "");
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
    result = LLVMBuildPhi(b->builder, LLVMTypeOf(x), "");
    LLVMAddIncoming(result, results, blocks, 2);
    return result;
}

Lanes
emit_fdiv(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    if (o->scalar_divisor && o->dtype == DT_float32 && !o->half && b->target->tables)
        return lower_elem_real(quotient(b, o->x[0].re, o->x[1].re));
    return lower_elem_real(LLVMBuildFDiv(b->builder, o->x[0].re, o->x[1].re, ""));
}
