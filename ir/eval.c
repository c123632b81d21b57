/* eval.c - evaluates ops on scalar constants, where the C operation has NumPy's bits.
**
** +, -, *, / and sqrt of narrower floats are done in double and rounded once more,
** which is the same as rounding once: double has more than twice their bits and two.
**
** Law 1: nothing is evaluated that NumPy would warn about, or that Python would do
**        otherwise.
*/
#include "ir/eval.h"

#include <math.h>

typedef struct Number {
    double real;
    int64_t whole;
} Number;

static double
smallest_normal(IrDtype dtype)
{
    switch (dtype) {
    case DT_float16:
        return 0x1p-14;
    case DT_float64:
        return 0x1p-1022;
    default:
        return 0x1p-126;
    }
}

static bool
held_number(const IrGraph *g, IrValue value, IrDtype loop, Number *number)
{
    IrNode def = ir_def(g, value);
    const IrAttr *attr;
    IrAttr settled;

    if (!def || ir_node_op(g, def) != OP_const || ir_type_of(g, value)->ndim)
        return false;
    attr = ir_node_attr(g, def, "value");
    if (!attr || !ir_constant_settle(loop, attr, &settled, &number->whole))
        return false;
    if (settled.kind == ATTR_ints && attr->kind == ATTR_ints &&
        attr->ints[0] != number->whole)
        return false; /* does not fit the loop's dtype */
    if (settled.kind == ATTR_float && attr->kind == ATTR_ints &&
        (attr->ints[0] > 1LL << 53 || attr->ints[0] < -(1LL << 53)))
        return false; /* Python divides large ints exactly */
    number->real = settled.real;
    return settled.kind == ATTR_ints ||
           (settled.kind == ATTR_float && isfinite(number->real));
}

static bool
evaluate_float(IrOp op, const Number *in, double *out)
{
    double x = in[0].real, y = in[1].real;

    switch (op) {
    case OP_add:
        *out = x + y;
        return true;
    case OP_subtract:
        *out = x - y;
        return true;
    case OP_multiply:
        *out = x * y;
        return true;
    case OP_divide:
        *out = y != 0 ? x / y : NAN;
        return y != 0;
    case OP_negative:
        *out = -x;
        return true;
    case OP_absolute:
    case OP_fabs:
        *out = fabs(x);
        return true;
    case OP_sqrt:
        *out = x >= 0 ? sqrt(x) : NAN;
        return x >= 0;
    default:
        return false;
    }
}

static bool
evaluate_whole(IrOp op, const Number *in, int64_t *out)
{
    int64_t x = in[0].whole, y = in[1].whole;

    switch (op) {
    case OP_add:
        return !__builtin_add_overflow(x, y, out);
    case OP_subtract:
        return !__builtin_sub_overflow(x, y, out);
    case OP_multiply:
        return !__builtin_mul_overflow(x, y, out);
    case OP_negative:
        return !__builtin_sub_overflow(0, x, out);
    case OP_absolute:
        *out = x;
        return x >= 0 || !__builtin_sub_overflow(0, x, out);
    case OP_bitwise_and:
        *out = x & y;
        return true;
    case OP_bitwise_or:
        *out = x | y;
        return true;
    case OP_bitwise_xor:
        *out = x ^ y;
        return true;
    default:
        return false;
    }
}

static bool
evaluate_compare(IrOp op, bool less, bool equal, int64_t *out)
{
    switch (op) {
    case OP_less:
        *out = less;
        return true;
    case OP_less_equal:
        *out = less || equal;
        return true;
    case OP_greater:
        *out = !less && !equal;
        return true;
    case OP_greater_equal:
        *out = !less;
        return true;
    case OP_equal:
        *out = equal;
        return true;
    case OP_not_equal:
        *out = !equal;
        return true;
    default:
        return false;
    }
}

static IrValue
make_whole(IrGraph *g, const IrType *type, int64_t whole)
{
    IrAttr attr = {.key = "value", .count = 1, .ints = &whole}, settled;
    int64_t fitted;

    if (!ir_constant_settle(type->dtype, &attr, &settled, &fitted) || fitted != whole)
        return 0;
    return ir_const_int(g, type->dtype, whole);
}

/* Nothing that overflows or underflows: NumPy warns. */
static IrValue
make_float(IrGraph *g, IrOp op, const Number *numbers, IrDtype loop, const IrType *type)
{
    double exact, real;

    if (!evaluate_float(op, numbers, &exact))
        return 0;
    real = ir_constant_round(loop, exact);
    if (!isfinite(real) || (exact != 0 && fabs(real) < smallest_normal(loop)))
        return 0;
    if (exact == 0 && (op == OP_multiply || op == OP_divide) && numbers[0].real != 0)
        return numbers[1].real != 0 ? 0 : ir_const_float(g, type->dtype, real);
    return ir_const_float(g, type->dtype, real);
}

IrValue
ir_evaluate(IrGraph *g, IrOp op, const IrValue *operands, uint32_t n,
            const IrType *type)
{
    IrDtype dtypes[2], in[2], out;
    Number numbers[2] = {{0}};
    int64_t whole;
    IrKind kind;

    if (type->ndim || n < 1 || n > 2)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        dtypes[i] = ir_type_of(g, operands[i])->dtype;
    if (!ir_op_loop(op, dtypes, n, in, &out) || in[0] != in[n - 1])
        return 0;
    kind = ir_dtype_kind(in[0]);
    /* unsigned 64-bit numbers would need arithmetic of their own */
    if (kind > KIND_float || in[0] == DT_uint64 || in[0] == DT_longdouble)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        if (!held_number(g, operands[i], in[0], &numbers[i]))
            return 0;
    if (ir_op_class(op) == CLASS_compare) {
        bool less = kind == KIND_float ? numbers[0].real < numbers[1].real
                                       : numbers[0].whole < numbers[1].whole;
        bool equal = kind == KIND_float ? numbers[0].real == numbers[1].real
                                        : numbers[0].whole == numbers[1].whole;
        return evaluate_compare(op, less, equal, &whole) ? make_whole(g, type, whole)
                                                         : 0;
    }
    if (kind == KIND_float)
        return make_float(g, op, numbers, in[0], type);
    if (kind == KIND_bool || !evaluate_whole(op, numbers, &whole))
        return 0;
    return make_whole(g, type, whole);
}
