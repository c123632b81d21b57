/* cast.c - conversions between dtypes, NumPy's unsafe casts to the bit.
**
** NumPy's casts are C's, compiled for this machine, also where C leaves the result
** open. On x86 a float becomes an integer by cvttsd2si, which gives the least integer
** for NaN and for what does not fit; cvt32 and cvt64 are that instruction for results
** of 32 and 64 bits:
**
**     int64, int32         cvt64(x), cvt32(x)
**     narrower integers    the low bits of cvt32(x)
**     uint64               x >= 2^63 ? cvt64(x - 2^63) ^ 2^63 : cvt64(x);   uint32
**     alike
**
** float64 becomes float16 by way of float32, rounded to odd: the last bit says that
** something was cut off, and the second rounding is the only one.
**
** On ARM fcvtzs and fcvtzu saturate and give 0 for NaN. To bool: x != 0, so NaN is
** true.
**
** Law 1: fptosi and fptoui never occur: out of range their result is poison, and for
**        vectors other instructions with other results may be chosen.
*/
#include "lower/host/host.h"

enum { MAX_LANES = 128 };

/* -- Pieces of vectors ---------------------------------------------------- */

/* Lanes first … first + n - 1; lanes past the end are 0. */
static LLVMValueRef
piece(Build *b, LLVMValueRef x, unsigned first, unsigned n)
{
    unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(x));
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->context);
    LLVMValueRef mask[MAX_LANES];

    if (first == 0 && n == lanes)
        return x;
    for (unsigned i = 0; i < n; i++)
        mask[i] = LLVMConstInt(i32, first + i < lanes ? first + i : lanes, 0);
    return LLVMBuildShuffleVector(b->builder, x, LLVMConstNull(LLVMTypeOf(x)),
                                  LLVMConstVector(mask, n), "");
}

/* The first `take` lanes of x follow the lanes of `head` (NULL: none). Both are widened
** to as many lanes first, for that is what a shuffle wants. */
static LLVMValueRef
append(Build *b, LLVMValueRef head, LLVMValueRef x, unsigned take)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->context);
    unsigned n = head ? LLVMGetVectorSize(LLVMTypeOf(head)) : 0;
    unsigned wide =
        n > LLVMGetVectorSize(LLVMTypeOf(x)) ? n : LLVMGetVectorSize(LLVMTypeOf(x));
    LLVMValueRef mask[MAX_LANES];

    if (!head)
        return piece(b, x, 0, take);
    for (unsigned i = 0; i < n + take; i++)
        mask[i] = LLVMConstInt(i32, i < n ? i : wide + i - n, 0);
    return LLVMBuildShuffleVector(b->builder, piece(b, head, 0, wide),
                                  piece(b, x, 0, wide), LLVMConstVector(mask, n + take),
                                  "");
}

/* -- Float to signed integer, x86 ----------------------------------------- */

/* An instruction that converts `lanes` lanes at once. */
typedef struct Convert {
    IrDtype from, to;
    unsigned vector_bytes; /* of the target that has it */
    unsigned lanes;
    bool masked; /* AVX-512's form: source, passed through, mask[, rounding] */
    bool rounds;
    const char *intrinsic;
} Convert;

static const Convert converts[] = {
    {DT_float64, DT_int64, 64, 8, true, true, "llvm.x86.avx512.mask.cvttpd2qq.512"},
    {DT_float64, DT_int32, 64, 8, true, true, "llvm.x86.avx512.mask.cvttpd2dq.512"},
    {DT_float32, DT_int32, 64, 16, true, true, "llvm.x86.avx512.mask.cvttps2dq.512"},
    {DT_float64, DT_int32, 32, 4, false, false, "llvm.x86.avx.cvtt.pd2dq.256"},
    {DT_float32, DT_int32, 32, 8, false, false, "llvm.x86.avx.cvtt.ps2dq.256"},
    {DT_float64, DT_int32, 16, 2, false, false, "llvm.x86.sse2.cvttpd2dq"},
    {DT_float32, DT_int32, 16, 4, false, false, "llvm.x86.sse2.cvttps2dq"},
};

static LLVMValueRef
convert_piece(Build *b, const Convert *c, LLVMValueRef x)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->context);
    LLVMTypeRef bits = LLVMIntTypeInContext(b->context, c->lanes);
    LLVMTypeRef result = LLVMVectorType(
        LLVMIntTypeInContext(b->context, 8 * (unsigned)ir_dtype_bytes(c->to)),
        c->lanes);
    LLVMValueRef arguments[4] = {x, LLVMConstNull(result), LLVMConstAllOnes(bits),
                                 LLVMConstInt(i32, 4, 0)}; /* 4: the current rounding */

    return lower_access_call(b, c->intrinsic, NULL, 0, arguments, c->masked ? 4 : 1);
}

/* Lane by lane: before AVX-512 there is no vector conversion to 64 bits. */
static LLVMValueRef
convert_each(Build *b, LLVMValueRef x)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->context);
    LLVMTypeRef f64 = LLVMDoubleTypeInContext(b->context);
    LLVMTypeRef pair = LLVMVectorType(f64, 2);
    LLVMValueRef result = LLVMGetPoison(lower_access_type(b, DT_int64));

    for (unsigned i = 0; i < b->lanes; i++) {
        LLVMValueRef lane = LLVMConstInt(i32, i, 0);
        LLVMValueRef one =
            LLVMBuildInsertElement(b->builder, LLVMConstNull(pair),
                                   LLVMBuildExtractElement(b->builder, x, lane, ""),
                                   LLVMConstInt(i32, 0, 0), "");

        one = lower_access_call(b, "llvm.x86.sse2.cvttsd2si64", NULL, 0, &one, 1);
        result = LLVMBuildInsertElement(b->builder, result, one, lane, "");
    }
    return result;
}

/* The same of one number that is no vector. */
static LLVMValueRef
convert_scalar(Build *b, LLVMValueRef x, IrDtype to)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->context);
    LLVMTypeRef pair = LLVMVectorType(LLVMDoubleTypeInContext(b->context), 2);
    LLVMValueRef one = LLVMBuildInsertElement(b->builder, LLVMConstNull(pair), x,
                                              LLVMConstInt(i32, 0, 0), "");

    return lower_access_call(
        b, to == DT_int64 ? "llvm.x86.sse2.cvttsd2si64" : "llvm.x86.sse2.cvttsd2si",
        NULL, 0, &one, 1);
}

/* cvt32 or cvt64 of float32 or float64 lanes. */
static LLVMValueRef
convert_x86(Build *b, LLVMValueRef x, IrDtype from, IrDtype to)
{
    const Convert *c = converts;
    const Convert *end = converts + sizeof converts / sizeof *converts;
    LLVMValueRef result = NULL;

    if (from == DT_float32 &&
        (to == DT_int64 || b->lanes == 1)) { /* exact on the way */
        x = LLVMBuildFPExt(b->builder, x, lower_access_type(b, DT_float64), "");
        from = DT_float64;
    }
    if (b->lanes == 1)
        return convert_scalar(b, x, to);
    while (c < end && (c->from != from || c->to != to ||
                       c->vector_bytes > b->target->vector_bytes ||
                       (c->lanes > b->lanes && c->vector_bytes > 16)))
        c++;
    if (c == end)
        return convert_each(b, x);
    for (unsigned i = 0; i < b->lanes; i += c->lanes) {
        unsigned take = b->lanes - i < c->lanes ? b->lanes - i : c->lanes;

        result = append(b, result, convert_piece(b, c, piece(b, x, i, c->lanes)), take);
    }
    return result;
}

/* -- Float to integer ----------------------------------------------------- */

/* x >= 2^(bits-1) ? convert(x - 2^(bits-1)) ^ 2^(bits-1) : convert(x) */
static LLVMValueRef
convert_unsigned_x86(Build *b, LLVMValueRef x, IrDtype from, IrDtype to)
{
    IrDtype sint = to == DT_uint64 ? DT_int64 : DT_int32;
    double half = to == DT_uint64 ? 0x1p63 : 0x1p31;
    int64_t top = to == DT_uint64 ? INT64_MIN : INT32_MIN;
    LLVMValueRef limit = lower_access_float(b, from, half);
    LLVMValueRef high = LLVMBuildFCmp(b->builder, LLVMRealOGE, x, limit, "");
    LLVMValueRef low = LLVMBuildFSub(b->builder, x, limit, "");
    LLVMValueRef flip =
        LLVMBuildSelect(b->builder, high, lower_access_int(b, sint, top),
                        lower_access_int(b, sint, 0), "");

    low = LLVMBuildSelect(b->builder, high, low, x, "");
    return LLVMBuildXor(b->builder, convert_x86(b, low, from, sint), flip, "");
}

static LLVMValueRef
convert_arm(Build *b, LLVMValueRef x, IrDtype to)
{
    bool uint = ir_dtype_kind(to) == KIND_uint;
    LLVMTypeRef types[2];

    /* C's conversion to a narrow integer goes through int. */
    if (ir_dtype_bytes(to) < 4) {
        to = DT_int32;
        uint = false;
    }
    types[0] = lower_access_type(b, to);
    types[1] = LLVMTypeOf(x);
    return lower_access_call(b, uint ? "llvm.fptoui.sat" : "llvm.fptosi.sat", types, 2,
                             &x, 1);
}

static LLVMValueRef
float_to_int(Build *b, LLVMValueRef x, IrDtype from, IrDtype to)
{
    LLVMValueRef result;

    if (b->target->arch == ARCH_arm)
        result = convert_arm(b, x, to);
    else if (to == DT_uint64 || to == DT_uint32)
        result = convert_unsigned_x86(b, x, from, to);
    else
        result = convert_x86(b, x, from, to == DT_int64 ? DT_int64 : DT_int32);
    if (ir_dtype_bytes(to) < 4)
        result = LLVMBuildTrunc(b->builder, result, lower_access_type(b, to), "");
    return result;
}

/* -- Casts ---------------------------------------------------------------- */

/* x cut off to float32, the last bit set if that is not exact. */
static LLVMValueRef
round_to_odd(Build *b, LLVMValueRef x)
{
    LLVMTypeRef f32 = lower_access_type(b, DT_float32), bits_type;
    LLVMValueRef near = LLVMBuildFPTrunc(b->builder, x, f32, ""), back, bits, odd;
    LLVMValueRef zero = lower_access_int(b, DT_int32, 0), one, less, above, inexact;
    LLVMTypeRef f64 = LLVMTypeOf(x);

    bits_type = lower_access_type(b, DT_int32);
    one = lower_access_int(b, DT_int32, 1);
    back = LLVMBuildFPExt(b->builder, near, f64, "");
    inexact = LLVMBuildFCmp(b->builder, LLVMRealONE, back, x, ""); /* no NaN */
    above = LLVMBuildFCmp(b->builder, LLVMRealOGT,
                          lower_access_call(b, "llvm.fabs", &f64, 1, &back, 1),
                          lower_access_call(b, "llvm.fabs", &f64, 1, &x, 1), "");
    bits = LLVMBuildBitCast(b->builder, near, bits_type, "");
    less = LLVMBuildSelect(b->builder, above, one, zero, "");
    odd = LLVMBuildSelect(b->builder, inexact, one, zero, "");
    bits = LLVMBuildOr(b->builder, LLVMBuildSub(b->builder, bits, less, ""), odd, "");
    return LLVMBuildBitCast(b->builder, bits, f32, "");
}

static LLVMValueRef
float_to_float(Build *b, LLVMValueRef x, IrDtype from, IrDtype to)
{
    LLVMTypeRef type = lower_access_type(b, to);

    if (ir_dtype_bytes(to) > ir_dtype_bytes(from))
        return LLVMBuildFPExt(b->builder, x, type, "");
    if (from == DT_float64 && to == DT_float16)
        x = round_to_odd(b, x);
    return LLVMBuildFPTrunc(b->builder, x, type, "");
}

static LLVMValueRef
int_to_int(Build *b, LLVMValueRef x, IrDtype from, IrDtype to)
{
    LLVMTypeRef type = lower_access_type(b, to);
    size_t bytes = ir_dtype_bytes(to), had = ir_dtype_bytes(from);

    if (from != DT_boolean && bytes == had)
        return x;
    if (from != DT_boolean && bytes < had)
        return LLVMBuildTrunc(b->builder, x, type, "");
    if (ir_dtype_kind(from) == KIND_int)
        return LLVMBuildSExt(b->builder, x, type, "");
    return LLVMBuildZExt(b->builder, x, type, "");
}

static LLVMValueRef
to_bool(Build *b, LLVMValueRef x, IrDtype from)
{
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(x));

    if (ir_dtype_kind(from) == KIND_float)
        return LLVMBuildFCmp(b->builder, LLVMRealUNE, x, zero, "");
    return LLVMBuildICmp(b->builder, LLVMIntNE, x, zero, "");
}

/* Casts of one part; neither dtype is complex. */
static LLVMValueRef
cast_part(Build *b, LLVMValueRef x, IrDtype from, IrDtype to)
{
    IrKind kind = ir_dtype_kind(from), wanted = ir_dtype_kind(to);

    if (from == to)
        return x;
    if (wanted == KIND_bool)
        return to_bool(b, x, from);
    if (kind == KIND_float && from == DT_float16) {
        x = float_to_float(b, x, from, DT_float32); /* exact */
        return cast_part(b, x, DT_float32, to);
    }
    if (kind == KIND_float)
        return wanted == KIND_float ? float_to_float(b, x, from, to)
                                    : float_to_int(b, x, from, to);
    if (wanted != KIND_float)
        return int_to_int(b, x, from, to);
    if (kind == KIND_int)
        return LLVMBuildSIToFP(b->builder, x, lower_access_type(b, to), "");
    return LLVMBuildUIToFP(b->builder, x, lower_access_type(b, to), "");
}

Lanes
lower_cast_emit(Build *b, Lanes x, IrDtype from, IrDtype to)
{
    IrDtype part, wanted;
    Lanes result = {NULL, NULL};

    from = lower_access_stored(from);
    to = lower_access_stored(to);
    if (from == to)
        return x;
    part = lower_access_part(from);
    wanted = lower_access_part(to);
    result.re = cast_part(b, x.re, part, wanted);
    if (wanted != to)
        result.im = x.im ? cast_part(b, x.im, part, wanted)
                         : LLVMConstNull(lower_access_type(b, wanted));
    else if (x.im && to == DT_boolean)
        result.re =
            LLVMBuildOr(b->builder, result.re, cast_part(b, x.im, part, wanted), "");
    return result;
}
