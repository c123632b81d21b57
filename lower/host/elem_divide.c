/* elem_divide.c - quotients and remainders of integers.
**
** Division and remainder by 0 give 0, MIN // -1 = MIN, MIN % -1 = 0; the hardware traps on both, in any
** lane, so such lanes divide by 1 and are replaced.
**
** No CPU here divides vectors of integers. Quotients of up to 16 bits are exact in
** float32, those of 32 bits in float64: where x / y is no integer it is below the next
** one, k, by 1 / y or more, and that is more than half an ulp of k. 64 bits are divided
** lane by lane. By one number for all lanes they are multiplied with its inverse (inverse.c).
*/
#include "lower/host/elem.h"
#include "lower/host/inverse.h"

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

/* True if the divisor is one number for all lanes: then `d` has the quotient that is not above
** x / y, and x less that times y. */
static bool
divides_by_one(Build *b, const Operands *o, Division *d)
{
    LLVMValueRef y = o->x[1].re;

    if (!o->scalar_divisor)
        return false;
    d->quotient = lower_inverse_quotient(b, o->dtype, o->x[0].re, y);
    d->remainder = LLVMBuildSub(b->builder, o->x[0].re,
                                LLVMBuildMul(b->builder, d->quotient, y, ""), "");
    d->by_zero = compare(b, LLVMIntEQ, y, zero_of(y));
    return true;
}

Lanes
emit_udiv(Build *b, const Token *token, const Operands *o)
{
    Division d;

    (void)token;
    if (!divides_by_one(b, o, &d))
        d = divide(b, o, false);
    return zero_by_zero(b, &d, d.quotient);
}

Lanes
emit_urem(Build *b, const Token *token, const Operands *o)
{
    Division d;

    (void)token;
    if (!divides_by_one(b, o, &d))
        d = divide(b, o, false);
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
    Division d;
    LLVMValueRef step;

    (void)token;
    if (divides_by_one(b, o, &d))
        return zero_by_zero(b, &d, d.quotient);
    d = divide(b, o, true);
    step = LLVMBuildSExt(b->builder, rounds_up(b, &d), LLVMTypeOf(d.quotient),
                         ""); /* -1 or 0 */
    return zero_by_zero(b, &d, LLVMBuildAdd(b->builder, d.quotient, step, ""));
}

Lanes
emit_sfloormod(Build *b, const Token *token, const Operands *o)
{
    Division d;
    LLVMValueRef step;

    (void)token;
    if (divides_by_one(b, o, &d))
        return zero_by_zero(b, &d, d.remainder);
    d = divide(b, o, true);
    step = lower_elem_select(b, rounds_up(b, &d), d.divisor, zero_of(d.divisor));
    return zero_by_zero(b, &d, LLVMBuildAdd(b->builder, d.remainder, step, ""));
}
