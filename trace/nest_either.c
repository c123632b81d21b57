/* nest_either.c - numbers that are Python's on one way and NumPy's on another.
**
** Their value is that of NumPy's number. A tag goes beside it and says what it is where it comes by;
** nothing asks for the tag but what leaves the nest, so mostly there is no code for it.
*/
#include "trace/nest.h"

#define EXACT_DOUBLE ((int64_t)1 << 53)

/* -- Tags -------------------------------------------------------------------------- */

IrValue
nest_tag(NestMaker *m, const NestValue *x)
{
    switch (x->kind) {
    case NEST_either:
        return x->tag;
    case NEST_bool:
    case NEST_int:
        return nest_int_value(m, NEST_TAG_whole);
    case NEST_float:
        return nest_int_value(m, NEST_TAG_float);
    case NEST_complex:
        return nest_int_value(m, NEST_TAG_complex);
    default:
        return nest_int_value(m, NEST_TAG_numpy);
    }
}

static IrValue
larger(NestMaker *m, IrValue x, IrValue y)
{
    IrValue operands[2] = {x, y};
    return nest_node(m, OP_maximum, operands, 2, DT_COUNT);
}

IrValue
nest_tag_larger(NestMaker *m, const NestValue *x, const NestValue *y,
                TraceNestTag least)
{
    IrValue tag = larger(m, nest_tag(m, x), nest_tag(m, y));
    return least ? larger(m, tag, nest_int_value(m, least)) : tag;
}

IrValue
nest_tag_below(NestMaker *m, IrValue tag, TraceNestTag bound)
{
    return nest_compared(m, OP_less, tag, nest_int_value(m, bound));
}

bool
nest_may_be_whole(const NestValue *x)
{
    return nest_is_whole(x) || (x->kind == NEST_either && !x->known);
}

NestValue
nest_either(NestMaker *m, IrDtype dtype, IrValue value, IrValue tag)
{
    NestValue made = nest_of(NEST_either, dtype, value);
    made.tag = m->emits ? tag : 0;
    return made;
}

/* -- Operators --------------------------------------------------------------------- */

/* An int's zero has no sign. */
static void
drop_sign(NestMaker *m, NestValue *x)
{
    IrValue zero = m->emits ? ir_const_float(m->graph, x->dtype, 0) : 0;
    IrValue sum[2] = {x->value, zero}, operands[3];
    operands[0] = nest_tag_below(m, x->tag, NEST_TAG_float);
    operands[1] = nest_node(m, OP_add, sum, 2, DT_COUNT);
    operands[2] = x->value;
    x->value = nest_node(m, OP_select, operands, 3, DT_COUNT);
}

/* A float stands for an int that it holds, or the nest is left. */
static void
check_held(NestMaker *m, const NestValue *x)
{
    IrValue size = nest_node(m, OP_absolute, &x->value, 1, DT_COUNT);
    IrValue most =
        m->emits ? ir_const_float(m->graph, DT_float64, (double)EXACT_DOUBLE) : 0;
    IrValue either[2] = {nest_compared(m, OP_less_equal, size, most), 0};
    IrValue whole = nest_tag_below(m, x->tag, NEST_TAG_float);
    either[1] = nest_node(m, OP_logical_not, &whole, 1, DT_COUNT);
    nest_check(m, nest_node(m, OP_logical_or, either, 2, DT_COUNT));
}

NestValue
nest_either_binary(NestMaker *m, OperatorId id, const NestValue *x, const NestValue *y)
{
    IrDtype dtype = x->kind == NEST_either ? x->dtype : y->dtype;
    bool real = dtype == DT_float64, whole = dtype == DT_int64, divides = false;
    NestValue type = nest_of(NEST_scalar, dtype, 0);
    bool fits = (x->kind != NEST_either || x->dtype == dtype) &&
                (y->kind != NEST_either || y->dtype == dtype) && (real || whole);
    if (whole && (x->kind == NEST_float || y->kind == NEST_float))
        fits = false;
    IrOp op = OP_add;
    switch (id) {
    case OPERATOR_add:
        break;
    case OPERATOR_sub:
        op = OP_subtract;
        break;
    case OPERATOR_mul:
        op = OP_multiply;
        break;
    case OPERATOR_truediv:
    case OPERATOR_floordiv:
    case OPERATOR_mod:
        divides = true;
        fits &= real;
        op = id == OPERATOR_truediv    ? OP_divide
             : id == OPERATOR_floordiv ? OP_floor_divide
                                       : OP_remainder;
        break;
    default:
        fits = false;
    }
    if (!fits)
        return nest_fail(m, "a number that is Python's or NumPy's, as it comes");
    if (divides)
        nest_check_not_zero(m, y);
    if (real) {
        nest_check_exact(m, x);
        nest_check_exact(m, y);
    }
    NestValue a = type, b = type;
    a.value = nest_as(m, x, &type);
    b.value = nest_as(m, y, &type);
    /* NumPy's int64 wraps, Python's grows. */
    IrValue value = nest_int_node(m, op, &a, &b, real);
    bool floats = id == OPERATOR_truediv;
    NestValue made =
        nest_either(m, dtype, value,
                    nest_tag_larger(m, x, y, floats ? NEST_TAG_float : NEST_TAG_whole));
    made.known = floats || !nest_may_be_whole(x) || !nest_may_be_whole(y);
    if (real && !made.known) {
        drop_sign(m, &made);
        check_held(m, &made);
    }
    return made;
}

NestValue
nest_either_unary(NestMaker *m, int op, const NestValue *x)
{
    NestValue made = *x;
    if (x->dtype != DT_float64 || op == OPERATOR_invert)
        return nest_fail(m, "a number that is Python's or NumPy's, as it comes");
    IrOp node = op == OPERATOR_neg   ? OP_negative
                : op == OPERATOR_abs ? OP_absolute
                                     : OP_positive;
    made.value = nest_node(m, node, &x->value, 1, DT_COUNT);
    if (op == OPERATOR_neg && !made.known)
        drop_sign(m, &made);
    return made;
}

NestValue
nest_either_truth(NestMaker *m, const NestValue *x, const NestValue *y, IrValue truth)
{
    IrValue tag = nest_tag_larger(m, x, y, NEST_TAG_whole), operands[3];
    operands[0] = nest_tag_below(m, tag, NEST_TAG_numpy);
    operands[1] = nest_int_value(m, NEST_TAG_whole);
    operands[2] = tag;
    return nest_either(m, DT_boolean, truth,
                       nest_node(m, OP_select, operands, 3, DT_COUNT));
}

/* An integer's or a bool's value is one of int64. */
static bool
holds_whole(const NestValue *x)
{
    IrKind kind = ir_dtype_kind(x->dtype);
    return (kind == KIND_int || kind == KIND_uint || kind == KIND_bool) &&
           x->dtype != DT_uint64;
}

/* True if a comparison by value is what Python and NumPy both do: NumPy rounds what is Python's to a
** dtype below float64 first. */
static bool
compares_by_value(const NestValue *x, const NestValue *y)
{
    switch (x->kind == NEST_either ? x->dtype : DT_float64) {
    case DT_float64:
        return true;
    case DT_float32:
        return nest_is_exact(y, DT_float32);
    default:
        return holds_whole(x);
    }
}

NestValue
nest_either_compare(NestMaker *m, IrOp op, const NestValue *x, const NestValue *y)
{
    NestValue operands[2] = {*x, *y};
    bool whole = true;
    if (!compares_by_value(x, y) || !compares_by_value(y, x))
        return nest_fail(m, "a comparison of what may be Python's or NumPy's");
    for (int i = 0; i < 2; i++)
        whole &= holds_whole(&operands[i]);
    NestValue as = nest_of(NEST_scalar, whole ? DT_int64 : DT_float64, 0);
    for (int i = 0; i < 2; i++) {
        if (!whole)
            nest_check_exact(m, &operands[i]);
        operands[i].value = nest_as(m, &operands[i], &as);
    }
    return nest_either_truth(
        m, x, y, nest_compared(m, op, operands[0].value, operands[1].value));
}
