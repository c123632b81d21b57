/* elem_complex.c - complex numbers, a pair of vectors.
**
** NumPy's loops multiply and square with FMA on CPUs that have AVX2 or more, and
** without below; the target's row says which. Division is Smith's, without FMA
** everywhere.
*/
#include <math.h>

#include "lower/host/elem.h"

static LLVMValueRef
mul(Build *b, LLVMValueRef x, LLVMValueRef y)
{
    return LLVMBuildFMul(b->builder, x, y, "");
}

static LLVMValueRef
fma3(Build *b, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef arguments[3] = {x, y, z};

    return lower_access_call(b, "llvm.fma", &type, 1, arguments, 3);
}

static LLVMValueRef
magnitude(Build *b, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);

    return lower_access_call(b, "llvm.fabs", &type, 1, &x, 1);
}

static LLVMValueRef
compare(Build *b, LLVMRealPredicate predicate, LLVMValueRef x, LLVMValueRef y)
{
    return LLVMBuildFCmp(b->builder, predicate, x, y, "");
}

static bool
has_fma(const Build *b)
{
    return b->target->arch == ARCH_arm || b->target->vector_bytes > 16;
}

/* -- Parts ---------------------------------------------------------------- */

Lanes
emit_cneg(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return (Lanes){LLVMBuildFNeg(b->builder, o->x[0].re, ""),
                   LLVMBuildFNeg(b->builder, o->x[0].im, "")};
}

Lanes
emit_conj(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return (Lanes){o->x[0].re, LLVMBuildFNeg(b->builder, o->x[0].im, "")};
}

Lanes
emit_creal(Build *b, const Token *token, const Operands *o)
{
    (void)b;
    (void)token;
    return lower_elem_real(o->x[0].re);
}

Lanes
emit_cimag(Build *b, const Token *token, const Operands *o)
{
    (void)b;
    (void)token;
    return lower_elem_real(o->x[0].im);
}

Lanes
emit_crint(Build *b, const Token *token, const Operands *o)
{
    LLVMTypeRef type = LLVMTypeOf(o->x[0].re);
    Lanes x = o->x[0];

    (void)token;
    return (Lanes){lower_access_call(b, "llvm.rint", &type, 1, &x.re, 1),
                   lower_access_call(b, "llvm.rint", &type, 1, &x.im, 1)};
}

/* -- Products and quotients ----------------------------------------------- */

/* (a + bi)(c + di) = fma(a, c, -(b*d)) + fma(a, d, b*c)i */
Lanes
emit_cmul(Build *b, const Token *token, const Operands *o)
{
    Lanes x = o->x[0], y = o->x[1];
    LLVMValueRef bd = mul(b, x.im, y.im), bc = mul(b, x.im, y.re);

    (void)token;
    if (has_fma(b))
        return (Lanes){fma3(b, x.re, y.re, LLVMBuildFNeg(b->builder, bd, "")),
                       fma3(b, x.re, y.im, bc)};
    return (Lanes){LLVMBuildFSub(b->builder, mul(b, x.re, y.re), bd, ""),
                   LLVMBuildFAdd(b->builder, mul(b, x.re, y.im), bc, "")};
}

/* fma(r, r, -(i*i)) + fma(r, i, i*r)i */
Lanes
emit_csquare(Build *b, const Token *token, const Operands *o)
{
    Operands product = *o;

    product.x[1] = o->x[0];
    return emit_cmul(b, token, &product);
}

/* Smith's rule, its two cases as one: with big and small the divisor's parts by
** magnitude, t = small / big, s = 1 / (big + small*t):
**     |re| >= |im|: ((a + b*t)*s, (b - a*t)*s)      else: ((a*t + b)*s, (b*t - a)*s)
** Where both parts of the divisor are 0, both parts of the result are divided by |re|.
** */
Lanes
emit_cdiv(Build *b, const Token *token, const Operands *o)
{
    Lanes x = o->x[0], y = o->x[1], normal, by_zero;
    LLVMValueRef re = magnitude(b, y.re), im = magnitude(b, y.im);
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(re)), one, none;
    LLVMValueRef wide = compare(b, LLVMRealOGE, re, im);
    LLVMValueRef big = lower_elem_select(b, wide, y.re, y.im);
    LLVMValueRef small = lower_elem_select(b, wide, y.im, y.re);
    LLVMValueRef first = lower_elem_select(b, wide, x.re, x.im);
    LLVMValueRef second = lower_elem_select(b, wide, x.im, x.re);
    LLVMValueRef t = LLVMBuildFDiv(b->builder, small, big, ""), s, difference;

    (void)token;
    one = lower_access_float(b, o->dtype, 1.0);
    s = LLVMBuildFDiv(b->builder, one,
                      LLVMBuildFAdd(b->builder, big, mul(b, small, t), ""), "");
    normal.re = mul(b, LLVMBuildFAdd(b->builder, first, mul(b, second, t), ""), s);
    difference =
        lower_elem_select(b, wide, LLVMBuildFSub(b->builder, x.im, mul(b, x.re, t), ""),
                          LLVMBuildFSub(b->builder, mul(b, x.im, t), x.re, ""));
    normal.im = mul(b, difference, s);
    by_zero.re = LLVMBuildFDiv(b->builder, x.re, re, "");
    by_zero.im = LLVMBuildFDiv(b->builder, x.im, re, "");
    none = LLVMBuildAnd(b->builder, compare(b, LLVMRealOEQ, re, zero),
                        compare(b, LLVMRealOEQ, im, zero), "");
    return (Lanes){lower_elem_select(b, none, by_zero.re, normal.re),
                   lower_elem_select(b, none, by_zero.im, normal.im)};
}

/* l = max, s = min of |re|, |im|: sqrt(fma(s/l, s/l, 1)) * l; 0 for l = 0, inf if a
** part is. */
Lanes
emit_cabs(Build *b, const Token *token, const Operands *o)
{
    LLVMValueRef re = magnitude(b, o->x[0].re), im = magnitude(b, o->x[0].im);
    LLVMValueRef one = lower_access_float(b, o->dtype, 1.0);
    LLVMValueRef inf = lower_access_float(b, o->dtype, INFINITY);
    LLVMValueRef less = compare(b, LLVMRealOLT, re, im), root, any_inf, result;
    LLVMValueRef large = lower_elem_select(b, less, im, re);
    LLVMValueRef small = lower_elem_select(b, less, re, im);
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(re)), ratio, none;
    LLVMTypeRef type = LLVMTypeOf(re);

    (void)token;
    none = compare(b, LLVMRealOEQ, large, zero);
    ratio =
        LLVMBuildFDiv(b->builder, small, lower_elem_select(b, none, one, large), "");
    root = has_fma(b) ? fma3(b, ratio, ratio, one)
                      : LLVMBuildFAdd(b->builder, mul(b, ratio, ratio), one, "");
    root = lower_access_call(b, "llvm.sqrt", &type, 1, &root, 1);
    result = mul(b, root, large);
    any_inf = LLVMBuildOr(b->builder, compare(b, LLVMRealOEQ, re, inf),
                          compare(b, LLVMRealOEQ, im, inf), "");
    result = lower_elem_select(b, none, small, result); /* NaN beside 0 stays */
    return lower_elem_real(lower_elem_select(b, any_inf, inf, result));
}

/* -- Predicates ----------------------------------------------------------- */

Lanes
emit_ceq(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(
        LLVMBuildAnd(b->builder, compare(b, LLVMRealOEQ, o->x[0].re, o->x[1].re),
                     compare(b, LLVMRealOEQ, o->x[0].im, o->x[1].im), ""));
}

Lanes
emit_cne(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(
        LLVMBuildOr(b->builder, compare(b, LLVMRealUNE, o->x[0].re, o->x[1].re),
                    compare(b, LLVMRealUNE, o->x[0].im, o->x[1].im), ""));
}

Lanes
emit_clnot(Build *b, const Token *token, const Operands *o)
{
    Lanes truth = lower_cast_emit(b, o->x[0], o->dtype, DT_boolean);

    (void)token;
    return lower_elem_real(LLVMBuildNot(b->builder, truth.re, ""));
}

Lanes
emit_cisnan(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(compare(b, LLVMRealUNO, o->x[0].re, o->x[0].im));
}

/* Both parts by a predicate against inf, joined. */
static Lanes
against_inf(Build *b, const Operands *o, LLVMRealPredicate predicate, LLVMOpcode opcode)
{
    LLVMValueRef inf = lower_access_float(b, o->dtype, INFINITY);
    LLVMValueRef re = compare(b, predicate, magnitude(b, o->x[0].re), inf);
    LLVMValueRef im = compare(b, predicate, magnitude(b, o->x[0].im), inf);

    return lower_elem_real(LLVMBuildBinOp(b->builder, opcode, re, im, ""));
}

Lanes
emit_cisinf(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return against_inf(b, o, LLVMRealOEQ, LLVMOr);
}

Lanes
emit_cisfin(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return against_inf(b, o, LLVMRealOLT, LLVMAnd);
}
