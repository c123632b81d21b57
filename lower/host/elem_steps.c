/* elem_steps.c - integers in steps that are taken as long as some lane needs one more: powers, common
** divisors.
**
** Law 1: whatever a lane holds, its steps come to an end, and more of them change nothing: those of
**        others do not show.
** Law 2: all wraps, as in NumPy's loops. Shifts are kept below the width, for more is undefined.
*/
#include "lower/host/elem.h"
#include "lower/host/inverse.h"

enum { STATE = 3 /* values that steps change, at most */ };

static LLVMValueRef
zero_of(LLVMValueRef x)
{
    return LLVMConstNull(LLVMTypeOf(x));
}

static LLVMValueRef
is_zero(Build *b, LLVMValueRef x)
{
    return LLVMBuildICmp(b->builder, LLVMIntEQ, x, zero_of(x), "");
}

/* True, of one bit, if some lane of x is not zero. */
static LLVMValueRef
any(Build *b, LLVMValueRef x)
{
    LLVMTypeRef bits = LLVMIntTypeInContext(b->context, b->lanes);
    LLVMValueRef all = LLVMBuildICmp(b->builder, LLVMIntNE, x, zero_of(x), "");

    all = LLVMBuildBitCast(b->builder, all, bits, "");
    return LLVMBuildICmp(b->builder, LLVMIntNE, all, LLVMConstNull(bits), "");
}

/* Takes steps from `state` to the next while some lane of the last value is not zero. */
static void
repeat(Build *b, const Operands *o, LLVMValueRef *state, unsigned n,
       void (*step)(Build *b, const Operands *o, LLVMValueRef *state))
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder), after, from[2];
    LLVMBasicBlockRef test =
        LLVMAppendBasicBlockInContext(b->context, b->function, "steps");
    LLVMBasicBlockRef body =
        LLVMAppendBasicBlockInContext(b->context, b->function, "step");
    LLVMBasicBlockRef done =
        LLVMAppendBasicBlockInContext(b->context, b->function, "steps.done");
    LLVMValueRef phi[STATE], next[STATE];

    LLVMBuildBr(b->builder, test);
    LLVMPositionBuilderAtEnd(b->builder, test);
    for (unsigned i = 0; i < n; i++)
        next[i] = phi[i] = LLVMBuildPhi(b->builder, LLVMTypeOf(state[i]), "");
    LLVMBuildCondBr(b->builder, any(b, phi[n - 1]), body, done);
    LLVMPositionBuilderAtEnd(b->builder, body);
    step(b, o, next);
    after = LLVMGetInsertBlock(b->builder);
    LLVMBuildBr(b->builder, test);
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef values[2] = {state[i], next[i]};

        from[0] = before;
        from[1] = after;
        LLVMAddIncoming(phi[i], values, from, 2);
        state[i] = phi[i];
    }
    LLVMPositionBuilderAtEnd(b->builder, done);
}

/* -- Powers --------------------------------------------------------------- */

/* result, x, y: result * x where y is odd; x * x; y / 2. */
static void
power_step(Build *b, const Operands *o, LLVMValueRef *state)
{
    LLVMValueRef one = lower_access_int(b, o->dtype, 1);
    LLVMValueRef odd = LLVMBuildAnd(b->builder, state[2], one, "");

    odd = LLVMBuildICmp(b->builder, LLVMIntNE, odd, zero_of(one), "");
    state[0] = lower_elem_select(
        b, odd, LLVMBuildMul(b->builder, state[0], state[1], ""), state[0]);
    state[1] = LLVMBuildMul(b->builder, state[1], state[1], "");
    state[2] = LLVMBuildLShr(b->builder, state[2], one, "");
}

/* The steps of an exponent that is known. */
static LLVMValueRef
known_power(Build *b, const Operands *o, LLVMValueRef x, LLVMValueRef y)
{
    LLVMValueRef one = lower_access_int(b, o->dtype, 1), result = NULL;

    for (;; x = LLVMBuildMul(b->builder, x, x, "")) {
        if (!LLVMIsNull(LLVMBuildAnd(b->builder, y, one, "")))
            result = result ? LLVMBuildMul(b->builder, result, x, "") : x;
        y = LLVMBuildLShr(b->builder, y, one, "");
        if (LLVMIsNull(y))
            return result ? result : one;
    }
}

/* Negative exponents, which NumPy refuses, do not come here; of lanes that do not count they end. */
Lanes
emit_ipow(Build *b, const Token *token, const Operands *o)
{
    LLVMValueRef x = o->x[0].re, y = o->x[1].re;
    LLVMValueRef state[STATE] = {lower_access_int(b, o->dtype, 1), x, y};

    (void)token;
    if (LLVMIsConstant(y))
        return lower_elem_real(known_power(b, o, x, y));
    repeat(b, o, state, 3, power_step);
    return lower_elem_real(state[0]);
}

/* -- Common divisors ------------------------------------------------------- */

static LLVMValueRef
two(Build *b, const char *intrinsic, LLVMValueRef x, LLVMValueRef y)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef arguments[2] = {x, y};

    return lower_access_call(b, intrinsic, &type, 1, arguments, 2);
}

/* How often x can be halved: of zero, as often as may be shifted. */
static LLVMValueRef
halvings(Build *b, const Operands *o, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef arguments[2] = {x,
                                 LLVMConstInt(LLVMInt1TypeInContext(b->context), 0, 0)};
    LLVMValueRef most =
        lower_access_int(b, o->dtype, 8 * (int)ir_dtype_bytes(o->dtype) - 1);

    return two(b, "llvm.umin",
               lower_access_call(b, "llvm.cttz", &type, 1, arguments, 2), most);
}

static LLVMValueRef
halved(Build *b, const Operands *o, LLVMValueRef x)
{
    return LLVMBuildLShr(b->builder, x, halvings(b, o, x), "");
}

/* u, odd, and v: the lesser, and the difference, of u and v made odd. Where v is zero u is the
** result. */
static void
divisor_step(Build *b, const Operands *o, LLVMValueRef *state)
{
    LLVMValueRef done = is_zero(b, state[1]), u = state[0], v = halved(b, o, state[1]);
    LLVMValueRef least = two(b, "llvm.umin", u, v);
    LLVMValueRef most = two(b, "llvm.umax", u, v);

    state[0] = lower_elem_select(b, done, u, least);
    state[1] = lower_elem_select(b, done, v, LLVMBuildSub(b->builder, most, least, ""));
}

/* x, less what y, the same for all lanes, goes into it: their divisors are the same, and x may be a much larger
** number, which takes a step for each of its bits. */
static LLVMValueRef
reduced(Build *b, const Operands *o, LLVMValueRef x, LLVMValueRef y)
{
    unsigned bytes = (unsigned)ir_dtype_bytes(o->dtype);
    IrDtype uint = bytes == 1   ? DT_uint8
                   : bytes == 2 ? DT_uint16
                   : bytes == 4 ? DT_uint32
                                : DT_uint64;
    LLVMValueRef q = lower_inverse_quotient(b, uint, x, y);

    q = LLVMBuildSub(b->builder, x, LLVMBuildMul(b->builder, q, y, ""), "");
    return lower_elem_select(b, is_zero(b, y), x, q);
}

/* The greatest common divisor of unsigned numbers. */
static LLVMValueRef
divisor_of(Build *b, const Operands *o, LLVMValueRef x, LLVMValueRef y)
{
    if (o->scalar_divisor)
        x = reduced(b, o, x, y);
    LLVMValueRef common = halvings(b, o, LLVMBuildOr(b->builder, x, y, ""));
    LLVMValueRef state[STATE] = {
        halved(b, o, lower_elem_select(b, is_zero(b, x), y, x)), y};

    repeat(b, o, state, 2, divisor_step);
    return LLVMBuildShl(b->builder, state[0], common, "");
}

/* x / d of a divisor d: the odd part of d has an inverse modulo 2 to the width, found by Newton's
** steps from 5 right bits on. */
static LLVMValueRef
exact_quotient(Build *b, const Operands *o, LLVMValueRef x, LLVMValueRef d)
{
    LLVMValueRef shift = halvings(b, o, d),
                 odd = LLVMBuildLShr(b->builder, d, shift, "");
    LLVMValueRef inverse =
        LLVMBuildMul(b->builder, odd, lower_access_int(b, o->dtype, 3), "");

    inverse = LLVMBuildXor(b->builder, inverse, lower_access_int(b, o->dtype, 2), "");
    for (unsigned right = 5; right < 8 * ir_dtype_bytes(o->dtype); right *= 2)
        inverse =
            LLVMBuildMul(b->builder, inverse,
                         LLVMBuildSub(b->builder, lower_access_int(b, o->dtype, 2),
                                      LLVMBuildMul(b->builder, odd, inverse, ""), ""),
                         "");
    return LLVMBuildMul(b->builder, LLVMBuildLShr(b->builder, x, shift, ""), inverse,
                        "");
}

/* x / d * y, which is zero where both are. */
static LLVMValueRef
multiple_of(Build *b, const Operands *o, LLVMValueRef x, LLVMValueRef y)
{
    LLVMValueRef d = divisor_of(b, o, x, y);

    return LLVMBuildMul(b->builder, exact_quotient(b, o, x, d), y, "");
}

Lanes
emit_ugcd(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(divisor_of(b, o, o->x[0].re, o->x[1].re));
}

Lanes
emit_ulcm(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(multiple_of(b, o, o->x[0].re, o->x[1].re));
}

/* |x|, of MIN as the unsigned number; where x is made. */
static LLVMValueRef
magnitude(Build *b, LLVMValueRef x)
{
    LLVMBasicBlockRef here = lower_elem_go_behind(b, x);
    LLVMValueRef first = LLVMIsConstant(x) ? LLVMGetAggregateElement(x, 0) : NULL;

    if (first && LLVMIsAConstantInt(first))
        return LLVMConstIntGetSExtValue(first) < 0 ? LLVMConstNeg(x) : x;
    x = two(b, "llvm.abs", x, LLVMConstInt(LLVMInt1TypeInContext(b->context), 0, 0));
    LLVMPositionBuilderAtEnd(b->builder, here);
    return x;
}

Lanes
emit_sgcd(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(
        divisor_of(b, o, magnitude(b, o->x[0].re), magnitude(b, o->x[1].re)));
}

Lanes
emit_slcm(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(
        multiple_of(b, o, magnitude(b, o->x[0].re), magnitude(b, o->x[1].re)));
}
