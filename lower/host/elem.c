/* elem.c - nodes to instructions, by the lowering tokens of ir/ops.def.
**
** A node's loop (ir_op_loop) says what its operands are cast to; the kind of that dtype
** picks the op's column, the column a row of tokens.def, the row a function.
**
**     node ─► ir_op_loop ─► casts ─► token ─► form(lanes) ─► lanes
**
** float16 takes the way of float32: operands are widened, the result is rounded once,
** as NumPy's loops do.
*/
#include "lower/host/elem.h"

#include <stdio.h>

#include "lower/host/recipe.h"

enum { MAX_OPERANDS = 3, KINDS = 5 };

enum LowerToken {
    LO_nop, /* cannot occur */
    LO_lib, /* no code of its own */
#define TOKEN(name, form, number, text, cost) LO_##name,
#include "lower/host/tokens.def"
#undef TOKEN
    LO_COUNT
};

static const Token tokens[LO_COUNT] = {
    [LO_nop] = {"nop", form_later, 0, NULL, 0},
    [LO_lib] = {"lib", form_later, 0, NULL, 0},
#define TOKEN(name, form, number, text, cost)                                          \
    [LO_##name] = {#name, form, number, text, cost},
#include "lower/host/tokens.def"
#undef TOKEN
};

/* ORDER kinds: columns by IrKind. */
static const unsigned char columns[OP_COUNT][KINDS] = {
#define OP(name, class, arity, type, shape, flags, numpy, ident, sint, uint, flt, cpx, \
           bol, doc)                                                                   \
    [OP_##name] = {LO_##bol, LO_##sint, LO_##uint, LO_##flt, LO_##cpx},
#include "ir/ops.def"
#undef OP
};

_Static_assert(KIND_bool == 0 && KIND_int == 1 && KIND_uint == 2 && KIND_float == 3 &&
                   KIND_complex == 4,
               "ORDER kinds");

/* A node as its loop sees it. */
typedef struct Use {
    uint32_t n;
    IrDtype has[MAX_OPERANDS],
        in[MAX_OPERANDS]; /* what operands are, and are cast to */
    IrDtype loop, result;
    const Token *token;
} Use;

/* -- Looking -------------------------------------------------------------- */

bool
lower_elem_supports_dtype(const HostTarget *target, IrDtype dtype)
{
    switch (lower_access_stored(dtype)) {
    case DT_float16: /* has conversions */
        return target->arch == ARCH_arm || target->vector_bytes > 16;
    case DT_bfloat16:
    case DT_longdouble:
    case DT_clongdouble:
        return false;
    default:
        return ir_dtype_kind(lower_access_stored(dtype)) < (IrKind)KINDS;
    }
}

/* False: NumPy has no such loop, or the node is no elementwise one. */
static bool
use_find(const IrGraph *kernel, IrNode node, Use *use)
{
    IrOp op = ir_node_op(kernel, node);
    IrDtype out;

    use->n = ir_node_noperands(kernel, node);
    if (!(ir_op_flags(op) & OPF_elementwise) || use->n > MAX_OPERANDS ||
        ir_node_nresults(kernel, node) != 1)
        return false;
    for (uint32_t i = 0; i < use->n; i++)
        use->has[i] = ir_type(kernel, ir_node_operand(kernel, node, i)).dtype;
    if (!ir_op_loop(op, use->has, use->n, use->in, &out))
        return false;
    use->result = ir_type(kernel, ir_result(kernel, node, 0)).dtype;
    use->loop = use->in[use->n > 2 ? 1 : 0]; /* select: not the condition's */
    if (ir_dtype_kind(use->loop) >= (IrKind)KINDS)
        return false;
    use->token = &tokens[columns[op][ir_dtype_kind(use->loop)]];
    return true;
}

static bool
has_dtypes(const HostTarget *target, const Use *use)
{
    bool all = lower_elem_supports_dtype(target, use->result) &&
               ir_dtype_kind(use->result) != KIND_weak; /* Python's own arithmetic */

    for (uint32_t i = 0; i < use->n; i++)
        all = all && lower_elem_supports_dtype(target, use->has[i]) &&
              lower_elem_supports_dtype(target, use->in[i]);
    return all;
}

bool
lower_elem_supports(const HostTarget *target, const IrGraph *kernel, IrNode node,
                    char *reason, size_t n)
{
    IrOp op = ir_node_op(kernel, node);
    Use use;

    if (op == OP_const) {
        IrDtype dtype = ir_type(kernel, ir_result(kernel, node, 0)).dtype;

        if (lower_elem_supports_dtype(target, dtype))
            return true;
        snprintf(reason, n, "no constants of dtype %s", ir_dtype_name(dtype));
        return false;
    }
    if (op == OP_full) /* of a scalar that has a lowering itself */
        return true;
    if (!use_find(kernel, node, &use)) {
        snprintf(reason, n, "%s is no elementwise operation", ir_op_name(op));
        return false;
    }
    if (op != OP_cast && use.token->form == form_later) {
        snprintf(reason, n, "%s has no lowering for %s", ir_op_name(op),
                 ir_dtype_name(use.loop));
        return false;
    }
    if (use.token->form == form_recipe &&
        !lower_recipe_supports(target, use.token->text, use.loop)) {
        snprintf(reason, n, "%s of %s is NumPy's on this CPU", ir_op_name(op),
                 ir_dtype_name(use.loop));
        return false;
    }
    bool narrow = use.loop != DT_float32 && use.loop != DT_float64;
    if (narrow &&
        (use.token->form == emit_nextafter || use.token->form == emit_spacing)) {
        snprintf(reason, n, "%s of %s is NumPy's", ir_op_name(op),
                 ir_dtype_name(use.loop));
        return false;
    }
    if (use.token->form == form_fused && (!target->fma || narrow)) {
        snprintf(reason, n, "%s of %s has no instruction on this CPU", ir_op_name(op),
                 ir_dtype_name(use.loop));
        return false;
    }
    if (!has_dtypes(target, &use)) {
        snprintf(reason, n, "%s of %s to %s has no lowering", ir_op_name(op),
                 ir_dtype_name(use.has[0]), ir_dtype_name(use.result));
        return false;
    }
    return true;
}

unsigned
lower_elem_cost(const IrGraph *kernel, IrNode node)
{
    Use use;

    if (ir_node_op(kernel, node) == OP_const || !use_find(kernel, node, &use))
        return 0;
    return use.token->form == form_later ? 2 : use.token->cost; /* a cast */
}

static unsigned
lane_bytes(IrDtype dtype)
{
    unsigned bytes = (unsigned)ir_dtype_bytes(lower_access_part(dtype));

    return lower_access_part(dtype) == DT_float16 ? 4 : bytes; /* computed in float32 */
}

unsigned
lower_elem_bytes(const IrGraph *kernel, IrNode node)
{
    unsigned widest = lane_bytes(ir_type(kernel, ir_result(kernel, node, 0)).dtype);
    Use use;

    if (ir_node_op(kernel, node) == OP_const || !use_find(kernel, node, &use))
        return 1; /* a constant is as wide as what uses it */
    for (uint32_t i = 0; i < use.n; i++) {
        unsigned bytes = lane_bytes(use.in[i]);

        widest = bytes > widest ? bytes : widest;
    }
    return widest;
}

/* -- Emission ------------------------------------------------------------- */

/* True if x is the same in every turn of the loop. */
static bool
is_fixed(const Build *b, IrNode node, uint32_t operand)
{
    return b->fixed && b->fixed[ir_node_operand(b->kernel, node, operand)].re;
}

/* Of two operands the second is the same in every turn, and is no other dtype's. Of common divisors, which do not depend
** on the order, it becomes the second. */
static bool
find_scalar_divisor(const Build *b, IrNode node, const Use *use, Operands *o)
{
    IrOp op = ir_node_op(b->kernel, node);

    if (use->n != 2 || is_fixed(b, node, 0) == is_fixed(b, node, 1))
        return false;
    if (is_fixed(b, node, 1))
        return use->has[1] == use->in[1];
    if ((op != OP_gcd && op != OP_lcm) || use->has[0] != use->in[0])
        return false;
    Lanes first = o->x[0];
    o->x[0] = o->x[1];
    o->x[1] = first;
    return true;
}

Lanes
lower_elem_emit(Build *b, IrNode node, const Lanes *values)
{
    const IrGraph *kernel = b->kernel;
    Operands o = {0};
    Lanes result;
    Use use;

    if (ir_node_op(kernel, node) == OP_full)
        return values[ir_node_operand(kernel, node, 0)];
    use_find(kernel, node, &use); /* lower_elem_supports has seen it */
    if (ir_node_op(kernel, node) == OP_cast)
        return lower_cast_emit(b, values[ir_node_operand(kernel, node, 0)], use.has[0],
                               use.result);
    o.n = use.n;
    o.numpy = ir_op_numpy(ir_node_op(kernel, node));
    o.half = use.loop == DT_float16;
    o.dtype = o.half ? DT_float32 : use.loop;
    for (uint32_t i = 0; i < use.n; i++) {
        IrDtype in = use.in[i] == DT_float16 ? DT_float32 : use.in[i];

        o.x[i] = values[ir_node_operand(kernel, node, i)];
        if (in != use.in[i]) /* rounded to float16 first, if it was wider */
            o.x[i] = lower_cast_emit(b, o.x[i], use.has[i], use.in[i]);
        o.x[i] =
            lower_cast_emit(b, o.x[i], in != use.in[i] ? use.in[i] : use.has[i], in);
    }
    o.mixed = ir_op_class(ir_node_op(kernel, node)) == CLASS_compare &&
              use.in[0] != use.in[1];
    o.sint = use.in[0] == DT_int64 ? 0 : 1;
    o.scalar_bounds = use.n == 3 &&
                      ir_type(kernel, ir_node_operand(kernel, node, 1)).ndim == 0 &&
                      ir_type(kernel, ir_node_operand(kernel, node, 2)).ndim == 0;
    o.scalar_power = ir_node_op(kernel, node) == OP_power &&
                     ir_type(kernel, ir_node_operand(kernel, node, 1)).ndim == 0;
    o.scalar_divisor = find_scalar_divisor(b, node, &use, &o);
    result = use.token->form(b, use.token, &o);
    if (use.result == DT_float16)
        result = lower_cast_emit(b, result, DT_float32, DT_float16);
    return result;
}

Lanes
lower_elem_fold(Build *b, IrNode node, Lanes x, Lanes y)
{
    IrDtype dtype = ir_type(b->kernel, ir_result(b->kernel, node, 0)).dtype;
    Operands o = {.dtype = dtype,
                  .numpy = ir_op_numpy(ir_node_op(b->kernel, node)),
                  .n = 2,
                  .x = {x, y}};
    const Token *token =
        &tokens[columns[ir_node_op(b->kernel, node)][ir_dtype_kind(dtype)]];

    return token->form(b, token, &o);
}

/* -- Shared forms --------------------------------------------------------- */

Lanes
lower_elem_real(LLVMValueRef re)
{
    return (Lanes){re, NULL};
}

LLVMValueRef
lower_elem_select(Build *b, LLVMValueRef condition, LLVMValueRef x, LLVMValueRef y)
{
    return LLVMBuildSelect(b->builder, condition, x, y, "");
}

LLVMBasicBlockRef
lower_elem_go_behind(Build *b, LLVMValueRef x)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(b->builder);
    LLVMValueRef next = LLVMIsAInstruction(x) ? LLVMGetNextInstruction(x) : NULL;

    while (next && LLVMIsAPHINode(next))
        next = LLVMGetNextInstruction(next);
    if (next)
        LLVMPositionBuilderBefore(b->builder, next);
    return here;
}

Lanes
form_later(Build *b, const Token *token, const Operands *o)
{
    (void)b;
    (void)token;
    return o->x[0];
}

Lanes
form_opcode(Build *b, const Token *token, const Operands *o)
{
    return lower_elem_real(LLVMBuildBinOp(b->builder, (LLVMOpcode)token->number,
                                          o->x[0].re, o->x[1].re, ""));
}

/* x predicate y with one of them int64 and the other uint64: a negative one is less
** than the other, and else both are unsigned. */
static Lanes
compare_mixed(Build *b, LLVMIntPredicate predicate, const Operands *o)
{
    LLVMValueRef x = o->x[0].re, y = o->x[1].re, sint = o->x[o->sint].re;
    LLVMValueRef negative = LLVMBuildICmp(b->builder, LLVMIntSLT, sint,
                                          LLVMConstNull(LLVMTypeOf(sint)), "");
    bool less = predicate == LLVMIntSLT || predicate == LLVMIntULT ||
                predicate == LLVMIntSLE || predicate == LLVMIntULE;
    bool equal = predicate == LLVMIntEQ;
    bool answer = !equal && (predicate == LLVMIntNE || less == (o->sint == 0));

    if (predicate >=
        LLVMIntSGT) /* ORDER predicates: signed ones follow unsigned ones */
        predicate = (LLVMIntPredicate)(predicate - LLVMIntSGT + LLVMIntUGT);
    return lower_elem_real(
        lower_elem_select(b, negative, lower_access_int(b, DT_boolean, answer),
                          LLVMBuildICmp(b->builder, predicate, x, y, "")));
}

_Static_assert(LLVMIntSLE - LLVMIntSGT == LLVMIntULE - LLVMIntUGT &&
                   LLVMIntSGT > LLVMIntULE,
               "ORDER predicates");

Lanes
form_icmp(Build *b, const Token *token, const Operands *o)
{
    if (o->mixed)
        return compare_mixed(b, (LLVMIntPredicate)token->number, o);
    return lower_elem_real(LLVMBuildICmp(b->builder, (LLVMIntPredicate)token->number,
                                         o->x[0].re, o->x[1].re, ""));
}

Lanes
form_fcmp(Build *b, const Token *token, const Operands *o)
{
    return lower_elem_real(LLVMBuildFCmp(b->builder, (LLVMRealPredicate)token->number,
                                         o->x[0].re, o->x[1].re, ""));
}

Lanes
form_intrinsic(Build *b, const Token *token, const Operands *o)
{
    LLVMValueRef arguments[MAX_OPERANDS];
    LLVMTypeRef type = LLVMTypeOf(o->x[0].re);

    for (unsigned i = 0; i < o->n; i++)
        arguments[i] = o->x[i].re;
    return lower_elem_real(
        lower_access_call(b, token->text, &type, 1, arguments, o->n));
}

Lanes
form_recipe(Build *b, const Token *token, const Operands *o)
{
    LLVMValueRef operands[2] = {o->x[0].re, o->n > 1 ? o->x[1].re : NULL};

    return lower_elem_real(lower_recipe_emit(
        b, o->scalar_power ? "power_scalar" : token->text, o->dtype, operands));
}

Lanes
form_square(Build *b, const Token *token, const Operands *o)
{
    return lower_elem_real(LLVMBuildBinOp(b->builder, (LLVMOpcode)token->number,
                                          o->x[0].re, o->x[0].re, ""));
}

Lanes
form_fused(Build *b, const Token *token, const Operands *o)
{
    LLVMValueRef x[3] = {o->x[0].re, o->x[1].re, o->x[2].re};
    LLVMTypeRef type = LLVMTypeOf(x[0]);

    if (token->number & FUSED_minus_x)
        x[0] = LLVMBuildFNeg(b->builder, x[0], "");
    if (token->number & FUSED_minus_z)
        x[2] = LLVMBuildFNeg(b->builder, x[2], "");
    return lower_elem_real(lower_access_call(b, "llvm.fma", &type, 1, x, 3));
}

Lanes
form_truth(Build *b, const Token *token, const Operands *o)
{
    /* of complex numbers both parts are looked at */
    Lanes x = lower_cast_emit(b, o->x[0], o->dtype, DT_boolean);
    Lanes y = lower_cast_emit(b, o->x[1], o->dtype, DT_boolean);

    return lower_elem_real(
        LLVMBuildBinOp(b->builder, (LLVMOpcode)token->number, x.re, y.re, ""));
}

Lanes
form_parts(Build *b, const Token *token, const Operands *o)
{
    LLVMOpcode opcode = (LLVMOpcode)token->number;

    return (Lanes){LLVMBuildBinOp(b->builder, opcode, o->x[0].re, o->x[1].re, ""),
                   LLVMBuildBinOp(b->builder, opcode, o->x[0].im, o->x[1].im, "")};
}

/* -- Any kind ------------------------------------------------------------- */

Lanes
emit_copy(Build *b, const Token *token, const Operands *o)
{
    (void)b;
    (void)token;
    return o->x[0];
}

Lanes
emit_zero(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    return lower_elem_real(LLVMConstNull(lower_access_type(b, o->dtype)));
}

Lanes
emit_no(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    (void)o;
    return lower_elem_real(lower_access_int(b, DT_boolean, 0));
}

Lanes
emit_yes(Build *b, const Token *token, const Operands *o)
{
    (void)token;
    (void)o;
    return lower_elem_real(lower_access_int(b, DT_boolean, 1));
}

Lanes
emit_select(Build *b, const Token *token, const Operands *o)
{
    Lanes result = {NULL, NULL};

    (void)token;
    result.re = lower_elem_select(b, o->x[0].re, o->x[1].re, o->x[2].re);
    if (o->x[1].im)
        result.im = lower_elem_select(b, o->x[0].re, o->x[1].im, o->x[2].im);
    return result;
}
