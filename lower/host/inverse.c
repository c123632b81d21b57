/* inverse.c - floor(x / d) of integers where d is one number for all lanes and turns: a product
** with its inverse, of which the high half counts (Granlund and Montgomery, 1994).
**
** For D = |d|, 2^(l-1) < D <= 2^l and a width of N bits:
**
**     8 bits     f = ceil(2^16 / D)                 q = x f >> 16
**     signed     f = ceil(2^(N-1+l) / D)            q = (x f >> N) >> (l - 1), x <= 2^(N-1)
**     unsigned   f = floor(2^N (2^l - D) / D) + 1   t = x f >> N, q = (t + (x - t >> 1)) >> (l - 1)
**
** f has N bits (16 of 8) unless D = 1, where q = x is picked. The floor of a negative x is ~(~x / D);
** for negative d it is that of -x, where x = MIN is the positive number it is, unsigned.
**
** Law 1: f, l and what depends on d alone is made behind d, once a row; of constants, here.
** Law 2: LLVM does not find high halves of products with constants of 16 bits, but divides by these itself.
** Law 3: f is exact. Of 64 bits it is a quotient of 128 by 64 bits: estimated in float64, put right
**        by what is left, twice.
*/
#include "lower/host/inverse.h"

#include "lower/host/elem.h"

__extension__ typedef unsigned __int128 Wide;

typedef struct Inverse {
    LLVMValueRef factor, shift, one; /* f; l - 1, or 0; D is 1: in all lanes */
    LLVMValueRef negative;           /* all ones where d is below zero, else zero */
    LLVMValueRef known; /* D, as the factor is spread, if LLVM does better; or NULL */
} Inverse;

static unsigned
width_of(IrDtype dtype)
{
    return 8 * (unsigned)ir_dtype_bytes(dtype);
}

static bool
is_signed(IrDtype dtype)
{
    return ir_dtype_kind(dtype) == KIND_int;
}

static LLVMTypeRef
int_type(Build *b, unsigned bits)
{
    return LLVMIntTypeInContext(b->context, bits);
}

static LLVMValueRef
word(Build *b, uint64_t value)
{
    return LLVMConstInt(int_type(b, 64), value, 0);
}

static LLVMValueRef
call(Build *b, const char *intrinsic, LLVMValueRef x, LLVMValueRef y)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef arguments[2] = {x, y};

    return lower_access_call(b, intrinsic, &type, 1, arguments, 2);
}

/* A scalar in all lanes, cut off to so many bits. */
static LLVMValueRef
spread(Build *b, LLVMValueRef x, unsigned bits, unsigned lanes)
{
    LLVMTypeRef type = LLVMVectorType(int_type(b, bits), lanes);
    LLVMValueRef zero = LLVMConstNull(type), vector;

    if (bits < 64)
        x = LLVMBuildTrunc(b->builder, x, int_type(b, bits), "");
    vector = LLVMBuildInsertElement(b->builder, zero, x,
                                    LLVMConstInt(int_type(b, 32), 0, 0), "");
    return LLVMBuildShuffleVector(b->builder, vector, zero,
                                  LLVMConstNull(LLVMVectorType(int_type(b, 32), lanes)),
                                  "");
}

/* The factor in all lanes: of 8 and 32 bits half as many, twice as wide. */
static LLVMValueRef
spread_factor(Build *b, LLVMValueRef f, unsigned bits)
{
    bool twice = bits == 8 || bits == 32;

    return spread(b, f, twice ? 2 * bits : bits, twice ? b->lanes / 2 : b->lanes);
}

/* -- The factor of 64 bits ------------------------------------------------ */

/* x of 128 bits, signed, as float64. */
static LLVMValueRef
as_float(Build *b, LLVMValueRef x)
{
    LLVMTypeRef real = LLVMDoubleTypeInContext(b->context), i64 = int_type(b, 64);
    LLVMValueRef high =
        LLVMBuildAShr(b->builder, x, LLVMConstInt(int_type(b, 128), 64, 0), "");
    LLVMValueRef low =
        LLVMBuildUIToFP(b->builder, LLVMBuildTrunc(b->builder, x, i64, ""), real, "");

    high = LLVMBuildSIToFP(b->builder, LLVMBuildTrunc(b->builder, high, i64, ""), real,
                           "");
    high = LLVMBuildFMul(b->builder, high, LLVMConstReal(real, 0x1p64), "");
    return LLVMBuildFAdd(b->builder, high, low, "");
}

static LLVMValueRef
as_integer(Build *b, const char *intrinsic, LLVMValueRef x)
{
    LLVMTypeRef types[2] = {int_type(b, 64), LLVMTypeOf(x)};

    return lower_access_call(b, intrinsic, types, 2, &x, 1);
}

/* floor(h 2^64 / d), and in `rest` what is left, of 128 bits. */
static LLVMValueRef
long_quotient(Build *b, LLVMValueRef h, LLVMValueRef d, LLVMValueRef *rest)
{
    LLVMTypeRef real = LLVMDoubleTypeInContext(b->context), i64 = int_type(b, 64),
                i128 = int_type(b, 128);
    LLVMValueRef wide = LLVMBuildZExt(b->builder, d, i128, ""),
                 divisor = LLVMBuildUIToFP(b->builder, d, real, ""), q, r, e, low, high;

    r = LLVMBuildShl(b->builder, LLVMBuildZExt(b->builder, h, i128, ""),
                     LLVMConstInt(i128, 64, 0), "");
    q = LLVMBuildFMul(b->builder, LLVMBuildUIToFP(b->builder, h, real, ""),
                      LLVMConstReal(real, 0x1p64), "");
    q = as_integer(b, "llvm.fptoui.sat", LLVMBuildFDiv(b->builder, q, divisor, ""));
    r = LLVMBuildSub(
        b->builder, r,
        LLVMBuildMul(b->builder, LLVMBuildZExt(b->builder, q, i128, ""), wide, ""), "");
    e = as_integer(b, "llvm.fptosi.sat",
                   LLVMBuildFDiv(b->builder, as_float(b, r), divisor, ""));
    q = LLVMBuildAdd(b->builder, q, e, "");
    r = LLVMBuildSub(
        b->builder, r,
        LLVMBuildMul(b->builder, LLVMBuildSExt(b->builder, e, i128, ""), wide, ""), "");
    low = LLVMBuildICmp(b->builder, LLVMIntSLT, r, LLVMConstNull(i128), "");
    high = LLVMBuildICmp(b->builder, LLVMIntSGE, r, wide, "");
    e = LLVMBuildSub(b->builder, LLVMBuildZExt(b->builder, high, i64, ""),
                     LLVMBuildZExt(b->builder, low, i64, ""), "");
    *rest = LLVMBuildSub(
        b->builder, r,
        LLVMBuildMul(b->builder, LLVMBuildSExt(b->builder, e, i128, ""), wide, ""), "");
    return LLVMBuildAdd(b->builder, q, e, "");
}

/* -- What depends on the divisor alone ------------------------------------- */

/* f of D, l and l - 1 (or 0), words of 64 bits. */
static LLVMValueRef
factor_of(Build *b, IrDtype dtype, LLVMValueRef d, LLVMValueRef l, LLVMValueRef shift)
{
    unsigned bits = width_of(dtype);
    LLVMValueRef one = word(b, 1), numerator, rest, f;

    if (bits == 8 || (bits < 64 && is_signed(dtype))) { /* rounded up */
        LLVMValueRef k = LLVMBuildAdd(b->builder, l, word(b, bits - 1), "");

        numerator = LLVMBuildShl(b->builder, one, bits == 8 ? word(b, 16) : k, "");
        numerator = LLVMBuildAdd(b->builder, numerator,
                                 LLVMBuildSub(b->builder, d, one, ""), "");
        return LLVMBuildUDiv(b->builder, numerator, d, "");
    }
    numerator = LLVMBuildShl(b->builder, one, shift, "");
    if (is_signed(dtype)) {
        f = long_quotient(b, numerator, d, &rest);
        rest = LLVMBuildICmp(b->builder, LLVMIntNE, rest,
                             LLVMConstNull(int_type(b, 128)), "");
        return LLVMBuildAdd(b->builder, f,
                            LLVMBuildZExt(b->builder, rest, int_type(b, 64), ""), "");
    }
    numerator = LLVMBuildShl(b->builder, numerator, one, ""); /* 2^l, of 2^64 zero */
    numerator = LLVMBuildSub(b->builder, numerator, d, "");
    if (bits == 64)
        f = long_quotient(b, numerator, d, &rest);
    else
        f = LLVMBuildUDiv(
            b->builder, LLVMBuildShl(b->builder, numerator, word(b, bits), ""), d, "");
    return LLVMBuildAdd(b->builder, f, one, "");
}

static Inverse
found_inverse(Build *b, IrDtype dtype, LLVMValueRef d)
{
    LLVMBasicBlockRef here = lower_elem_go_behind(b, d);
    unsigned bits = width_of(dtype);
    LLVMTypeRef i1 = int_type(b, 1), i64 = int_type(b, 64);
    LLVMValueRef first =
        LLVMBuildExtractElement(b->builder, d, LLVMConstInt(int_type(b, 32), 0, 0), "");
    LLVMValueRef l, shift, size = first, flag = LLVMConstInt(i1, 0, 0);
    Inverse inverse = {.negative = LLVMConstNull(LLVMTypeOf(d))};

    if (is_signed(dtype)) {
        inverse.negative =
            LLVMBuildAShr(b->builder, d, lower_access_int(b, dtype, bits - 1), "");
        size = call(b, "llvm.abs", first, flag);
    }
    if (bits < 64)
        size = LLVMBuildZExt(b->builder, size, i64, "");
    size = call(b, "llvm.umax", size, word(b, 1));
    l = call(b, "llvm.ctlz", LLVMBuildSub(b->builder, size, word(b, 1), ""), flag);
    l = LLVMBuildSub(b->builder, word(b, 64), l, "");
    shift =
        LLVMBuildSub(b->builder, call(b, "llvm.umax", l, word(b, 1)), word(b, 1), "");
    inverse.factor = spread_factor(b, factor_of(b, dtype, size, l, shift), bits);
    inverse.shift = spread(b, shift, bits, b->lanes);
    inverse.one = LLVMBuildICmp(b->builder, LLVMIntEQ, spread(b, size, bits, b->lanes),
                                lower_access_int(b, dtype, 1), "");
    LLVMPositionBuilderAtEnd(b->builder, here);
    return inverse;
}

/* The same of a divisor that is known: `size` is D. */
static Inverse
known_inverse(Build *b, IrDtype dtype, bool negative, uint64_t size)
{
    unsigned bits = width_of(dtype),
             l = size > 1 ? 64 - (unsigned)__builtin_clzll(size - 1) : 0;
    unsigned shift = l ? l - 1 : 0;
    Wide f;

    if (bits == 8)
        f = ((1 << 16) + size - 1) / size;
    else if (is_signed(dtype))
        f = (((Wide)1 << (bits - 1 + l)) + size - 1) / size;
    else
        f = (((((Wide)2 << shift) - size) << bits) / size) + 1;
    return (Inverse){
        .factor = spread_factor(b, word(b, (uint64_t)f), bits),
        .shift = lower_access_int(b, dtype, (int)shift),
        .one = lower_access_int(b, DT_boolean, size == 1),
        .negative = lower_access_int(b, dtype, -(int)negative),
        .known = bits <= 16 ? spread_factor(b, word(b, size), bits) : NULL,
    };
}

static Inverse
inverse_of(Build *b, IrDtype dtype, LLVMValueRef d)
{
    LLVMValueRef first = LLVMIsConstant(d) ? LLVMGetAggregateElement(d, 0) : NULL;
    bool negative;
    uint64_t size;

    if (!first || !LLVMIsAConstantInt(first))
        return found_inverse(b, dtype, d);
    negative = is_signed(dtype) && LLVMConstIntGetSExtValue(first) < 0;
    size = negative ? 0 - (uint64_t)LLVMConstIntGetSExtValue(first)
                    : LLVMConstIntGetZExtValue(first);
    return known_inverse(b, dtype, negative, size ? size : 1);
}

/* -- The quotient ---------------------------------------------------------- */

static LLVMValueRef
shifted(Build *b, LLVMValueRef x, LLVMOpcode opcode, uint64_t by)
{
    LLVMTypeRef type = LLVMTypeOf(x), item = LLVMGetElementType(type);
    LLVMValueRef counts[64], count = LLVMConstInt(item, by, 0);
    unsigned n = LLVMGetVectorSize(type);

    for (unsigned i = 0; i < n; i++)
        counts[i] = count;
    return LLVMBuildBinOp(b->builder, opcode, x, LLVMConstVector(counts, n), "");
}

/* The high halves of products of 16 bits. */
static LLVMValueRef
high_of_shorts(Build *b, LLVMValueRef x, LLVMValueRef y)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMTypeRef wide = LLVMVectorType(int_type(b, 32), LLVMGetVectorSize(type));

    x = LLVMBuildMul(b->builder, LLVMBuildZExt(b->builder, x, wide, ""),
                     LLVMBuildZExt(b->builder, y, wide, ""), "");
    return LLVMBuildTrunc(b->builder, shifted(b, x, LLVMLShr, 16), type, "");
}

/* The same, where there are products of twice as many bits alone: of numbers at even and at odd places, each
** in the room of two. y, all the same, is as wide as the room; of bytes only the high half counts.
** `known`, if there is one, divides instead. */
static LLVMValueRef
high_by_places(Build *b, LLVMValueRef x, LLVMValueRef y, unsigned bits,
               LLVMValueRef known)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMTypeRef room = LLVMVectorType(int_type(b, 2 * bits), b->lanes / 2);
    LLVMValueRef part[2];

    x = LLVMBuildBitCast(b->builder, x, room, "");
    part[0] = shifted(b, shifted(b, x, LLVMShl, bits), LLVMLShr, bits);
    part[1] = shifted(b, x, LLVMLShr, bits);
    for (int i = 0; i < 2; i++)
        part[i] = known       ? LLVMBuildUDiv(b->builder, part[i], known, "")
                  : bits == 8 ? high_of_shorts(b, part[i], y)
                              : shifted(b, LLVMBuildMul(b->builder, part[i], y, ""),
                                        LLVMLShr, bits);
    part[1] = shifted(b, part[1], LLVMShl, bits);
    return LLVMBuildBitCast(b->builder, LLVMBuildOr(b->builder, part[0], part[1], ""),
                            type, "");
}

/* The same of 64 bits, from the products of halves. */
static LLVMValueRef
high_of_longs(Build *b, LLVMValueRef x, LLVMValueRef y)
{
    LLVMValueRef mask = lower_access_int(b, DT_uint64, UINT32_MAX), product[2][2],
                 middle;
    LLVMValueRef halves[2][2] = {
        {LLVMBuildAnd(b->builder, x, mask, ""), shifted(b, x, LLVMLShr, 32)},
        {LLVMBuildAnd(b->builder, y, mask, ""), shifted(b, y, LLVMLShr, 32)}};

    for (int i = 0; i < 4; i++)
        product[i / 2][i % 2] =
            LLVMBuildMul(b->builder, halves[0][i / 2], halves[1][i % 2], "");
    middle = LLVMBuildAdd(b->builder, product[1][0],
                          shifted(b, product[0][0], LLVMLShr, 32), "");
    x = LLVMBuildAdd(b->builder, product[0][1],
                     LLVMBuildAnd(b->builder, middle, mask, ""), "");
    y = LLVMBuildAdd(b->builder, product[1][1], shifted(b, middle, LLVMLShr, 32), "");
    return LLVMBuildAdd(b->builder, y, shifted(b, x, LLVMLShr, 32), "");
}

/* x / D, unsigned. */
static LLVMValueRef
divided(Build *b, IrDtype dtype, const Inverse *inverse, LLVMValueRef x)
{
    unsigned bits = width_of(dtype);
    LLVMValueRef f = inverse->factor, q;

    if (inverse->known && bits == 16)
        return LLVMBuildUDiv(b->builder, x, inverse->known, "");
    q = bits == 64   ? high_of_longs(b, x, f)
        : bits == 16 ? high_of_shorts(b, x, f)
                     : high_by_places(b, x, f, bits, inverse->known);
    if (bits > 8) {
        if (!is_signed(dtype))
            q = LLVMBuildAdd(
                b->builder, q,
                shifted(b, LLVMBuildSub(b->builder, x, q, ""), LLVMLShr, 1), "");
        q = LLVMBuildLShr(b->builder, q, inverse->shift, "");
    }
    return lower_elem_select(b, inverse->one, x, q);
}

/* A power of two that is known: its exponent; else -1. */
static int
known_exponent(LLVMValueRef d, bool sint)
{
    LLVMValueRef first = LLVMIsConstant(d) ? LLVMGetAggregateElement(d, 0) : NULL;
    uint64_t value =
        first && LLVMIsAConstantInt(first) ? LLVMConstIntGetZExtValue(first) : 0;

    if (!value || value & (value - 1) || (sint && LLVMConstIntGetSExtValue(first) < 0))
        return -1;
    return __builtin_ctzll(value);
}

LLVMValueRef
lower_inverse_quotient(Build *b, IrDtype dtype, LLVMValueRef x, LLVMValueRef d)
{
    int exponent = known_exponent(d, is_signed(dtype));
    LLVMValueRef negative, below;
    Inverse inverse;

    if (exponent >= 0)
        return shifted(b, x, is_signed(dtype) ? LLVMAShr : LLVMLShr,
                       (unsigned)exponent);
    inverse = inverse_of(b, dtype, d);
    negative = inverse.negative;
    if (!is_signed(dtype))
        return divided(b, dtype, &inverse, x);
    below = LLVMBuildNot(b->builder, LLVMBuildAnd(b->builder, x, negative, ""), "");
    x = LLVMBuildSub(b->builder, LLVMBuildXor(b->builder, x, negative, ""), negative,
                     "");
    below = LLVMBuildAnd(b->builder, below, x,
                         ""); /* below zero, what is not MIN negated */
    below = shifted(b, below, LLVMAShr, width_of(dtype) - 1);
    x = LLVMBuildXor(b->builder, x, below, "");
    return LLVMBuildXor(b->builder, divided(b, dtype, &inverse, x), below, "");
}
