/* nest_python.c - Python's own arithmetic in a nest: ints, floats, and what is made of them.
**
** Python's ints are int64 here. What would not fit, divisors that are 0 and whatever else Python
** has an exception or another type for makes the nest fail at run time (nest_check); the call is
** then made by the plain function.
*/
#include "trace/nest.h"

#define EXACT_DOUBLE ((int64_t)1 << 53)

bool
nest_is_whole(const NestValue *x)
{
    return x->kind == NEST_int || x->kind == NEST_bool;
}

/* -- Constants and checks ---------------------------------------------------------- */

IrValue
nest_int_value(NestMaker *m, int64_t number)
{
    return m->emits ? ir_const_int(m->graph, DT_int64, number) : 0;
}

IrValue
nest_compared(NestMaker *m, IrOp op, IrValue x, IrValue y)
{
    IrValue operands[2] = {x, y};
    return nest_node(m, op, operands, 2, DT_COUNT);
}

void
nest_check_bounds(NestMaker *m, const NestValue *x, int64_t low, int64_t high)
{
    if (x->low < low)
        nest_check(
            m, nest_compared(m, OP_greater_equal, x->value, nest_int_value(m, low)));
    if (x->high > high)
        nest_check(m,
                   nest_compared(m, OP_less_equal, x->value, nest_int_value(m, high)));
}

void
nest_check_exact(NestMaker *m, const NestValue *x)
{
    if (x->dtype == DT_int64)
        nest_check_bounds(m, x, -EXACT_DOUBLE, EXACT_DOUBLE);
}

NestValue
nest_bounded(NestMaker *m, const NestValue *x, int64_t low, int64_t high)
{
    NestValue bounded = *x;
    nest_check_bounds(m, x, low, high);
    bounded.low = x->low < low ? low : x->low;
    bounded.high = x->high > high ? high : x->high;
    return bounded;
}

void
nest_check_not_zero(NestMaker *m, const NestValue *x)
{
    if (x->kind == NEST_int && (x->low > 0 || x->high < 0))
        return;
    nest_check(m, nest_truth(m, x).value);
}

NestValue
nest_as_int(NestMaker *m, const NestValue *x)
{
    if (x->kind == NEST_int)
        return *x;
    if (x->known)
        return nest_const_int(m, x->low);
    return nest_int(nest_cast(m, x->value, DT_int64), 0, 1);
}

NestValue
nest_to_float(NestMaker *m, const NestValue *x)
{
    bool whole = nest_is_whole(x);
    if (!nest_is_number(x) || ir_dtype_kind(nest_dtype(x)) == KIND_complex)
        return nest_fail(m, "a float of what is no real number");
    if (x->kind == NEST_int && x->low == x->high && Py_ABS(x->low) < EXACT_DOUBLE)
        return nest_const_float(m, (double)x->low);
    NestValue number = whole ? nest_as_int(m, x) : *x;
    return nest_of(NEST_float, DT_float64, nest_cast(m, number.value, DT_float64));
}

/* -- Python's ints ----------------------------------------------------------------- */

/* The op that leaves the nest where int64 overflows. */
static IrOp
checked_op(IrOp op)
{
    return op == OP_add        ? OP_checked_add
           : op == OP_subtract ? OP_checked_subtract
                               : OP_checked_multiply;
}

IrValue
nest_int_node(NestMaker *m, IrOp op, const NestValue *x, const NestValue *y, bool exact)
{
    IrValue operands[2] = {x->value, y->value};
    m->checks |= !exact;
    return nest_node(m, exact ? op : checked_op(op), operands, 2,
                     exact ? DT_COUNT : DT_int64);
}

/* x op y, or the end of int64 that it is beyond. */
static int64_t
bound_of(IrOp op, int64_t x, int64_t y, bool *over)
{
    int64_t made;
    bool beyond = op == OP_add        ? __builtin_add_overflow(x, y, &made)
                  : op == OP_subtract ? __builtin_sub_overflow(x, y, &made)
                                      : __builtin_mul_overflow(x, y, &made);
    bool below = op == OP_multiply ? (x < 0) != (y < 0) : x < 0;
    *over |= beyond;
    return !beyond ? made : below ? INT64_MIN : INT64_MAX;
}

/* What overflows leaves the nest: bounds end where int64 does. */
NestValue
nest_int_sum(NestMaker *m, IrOp op, const NestValue *x, const NestValue *y)
{
    bool over = false;
    int64_t low, high;
    if (op == OP_multiply) {
        int64_t ends[4] = {bound_of(op, x->low, y->low, &over),
                           bound_of(op, x->low, y->high, &over),
                           bound_of(op, x->high, y->low, &over),
                           bound_of(op, x->high, y->high, &over)};
        low = high = ends[0];
        for (int i = 1; i < 4; i++) {
            low = ends[i] < low ? ends[i] : low;
            high = ends[i] > high ? ends[i] : high;
        }
    } else {
        bool less = op == OP_subtract;
        low = bound_of(op, x->low, less ? y->high : y->low, &over);
        high = bound_of(op, x->high, less ? y->low : y->high, &over);
    }
    NestValue made = nest_int(nest_int_node(m, op, x, y, !over), low, high);
    const NestValue *moved = y->low == y->high ? x : y, *by = y->low == y->high ? y : x;
    if (by->low == by->high && (op == OP_add || (op == OP_subtract && moved == x)) &&
        !over) {
        made.root = moved->root ? moved->root : moved->value;
        made.more = moved->more + (op == OP_add ? by->low : -by->low);
    }
    return made;
}

/* The op of numbers that are not negative, the second one not 0. */
static IrValue
natural_node(NestMaker *m, IrOp op, const NestValue *x, const NestValue *y)
{
    IrValue operands[2] = {nest_cast(m, x->value, DT_uint64),
                           nest_cast(m, y->value, DT_uint64)};
    return nest_cast(m, nest_node(m, op, operands, 2, DT_COUNT), DT_int64);
}

static NestValue
int_quotient(NestMaker *m, IrOp op, const NestValue *x, const NestValue *y)
{
    int64_t low = INT64_MIN, high = INT64_MAX;
    nest_check_not_zero(m, y);
    if (x->low == INT64_MIN && y->low <= -1 && y->high >= -1)
        nest_check(
            m, nest_compared(m, OP_not_equal, x->value, nest_int_value(m, INT64_MIN)));
    if (y->low > 0 && op == OP_remainder) {
        low = 0;
        high = y->high - 1;
    } else if (y->low > 0) {
        low = x->low < 0 ? x->low : 0;
        high = x->high < 0 ? -1 : x->high / y->low;
    }
    if (y->low > 0 && x->low >= 0 && op == OP_remainder && x->high < high)
        high = x->high;
    IrValue value = y->low > 0 && x->low >= 0 ? natural_node(m, op, x, y)
                                              : nest_int_node(m, op, x, y, true);
    return nest_int(value, low, high);
}

static NestValue
int_bits(NestMaker *m, IrOp op, const NestValue *x, const NestValue *y)
{
    int64_t low = INT64_MIN, high = INT64_MAX;
    if (op == OP_bitwise_and && (x->low >= 0 || y->low >= 0)) {
        low = 0;
        high = x->low >= 0 ? x->high : y->high;
        if (x->low >= 0 && y->low >= 0 && y->high < high)
            high = y->high;
    } else if (x->low >= 0 && y->low >= 0) {
        low = 0;
        int64_t most = x->high | y->high;
        for (int shift = 1; shift < 64; shift *= 2)
            most |= most >> shift;
        high = most;
    }
    return nest_int(nest_int_node(m, op, x, y, true), low, high);
}

static NestValue
int_shift(NestMaker *m, IrOp op, const NestValue *x, const NestValue *y)
{
    nest_check_bounds(m, y, 0, 62);
    NestValue shifted =
        nest_int(nest_int_node(m, op, x, y, true), INT64_MIN, INT64_MAX);
    if (op == OP_right_shift) {
        shifted.low = x->low < 0 ? x->low : 0;
        shifted.high = x->high > 0 ? x->high : -1;
        if (x->low >= 0 && y->low >= 0 && y->low < 63)
            shifted.high = x->high >> y->low;
        return shifted;
    }
    if (x->low >= 0 && y->low >= 0 && y->high <= 31 && x->high < (int64_t)1 << 31) {
        shifted.low = 0;
        shifted.high = x->high << y->high;
        return shifted;
    }
    IrValue back = nest_int_node(m, OP_right_shift, &shifted, y, true);
    nest_check(m, nest_compared(m, OP_equal, back, x->value));
    return shifted;
}

/* A power of numbers that are known; false: it has more than 64 bits, or is no int. */
static bool
known_power(const NestValue *x, const NestValue *y, int64_t *power)
{
    *power = 1;
    if (x->low != x->high || y->low != y->high || y->low < 0)
        return false;
    for (int64_t k = 0; k < y->low; k++) {
        if (k > 64 || __builtin_mul_overflow(*power, x->low, power))
            return false;
    }
    return true;
}

static NestValue
int_power(NestMaker *m, const NestValue *x, const NestValue *y)
{
    int64_t known;
    if (known_power(x, y, &known))
        return nest_const_int(m, known);
    if (y->low != y->high || y->low < 0 || y->low > 16)
        return nest_fail(m, "an int to the power of a number that is not known");
    NestValue power = nest_const_int(m, 1);
    for (int64_t i = 0; i < y->low; i++)
        power = i ? nest_int_sum(m, OP_multiply, &power, x) : *x;
    if (y->low > 1 && y->low % 2 == 0 && power.low < 0)
        power.low = 0;
    return power;
}

NestValue
nest_int_binary(NestMaker *m, OperatorId id, const NestValue *a, const NestValue *b)
{
    NestValue x = nest_as_int(m, a), y = nest_as_int(m, b);
    switch (id) {
    case OPERATOR_add:
        return nest_int_sum(m, OP_add, &x, &y);
    case OPERATOR_sub:
        return nest_int_sum(m, OP_subtract, &x, &y);
    case OPERATOR_mul:
        return nest_int_sum(m, OP_multiply, &x, &y);
    case OPERATOR_floordiv:
        return int_quotient(m, OP_floor_divide, &x, &y);
    case OPERATOR_mod:
        return int_quotient(m, OP_remainder, &x, &y);
    case OPERATOR_truediv: /* Python rounds once: so does this, of what a double holds */
        nest_check_bounds(m, &x, -EXACT_DOUBLE, EXACT_DOUBLE);
        nest_check_bounds(m, &y, -EXACT_DOUBLE, EXACT_DOUBLE);
        return nest_float_binary(m, id, &x, &y);
    case OPERATOR_and_:
        return int_bits(m, OP_bitwise_and, &x, &y);
    case OPERATOR_or_:
        return int_bits(m, OP_bitwise_or, &x, &y);
    case OPERATOR_xor:
        return int_bits(m, OP_bitwise_xor, &x, &y);
    case OPERATOR_lshift:
        return int_shift(m, OP_left_shift, &x, &y);
    case OPERATOR_rshift:
        return int_shift(m, OP_right_shift, &x, &y);
    case OPERATOR_pow:
        if (y.low == y.high && y.low < 0)
            return nest_float_binary(m, id, &x, &y);
        return int_power(m, &x, &y);
    default:
        return nest_fail(m, "an operator that ints have not");
    }
}

/* -- Python's floats --------------------------------------------------------------- */

static IrValue
is_finite(NestMaker *m, IrValue x)
{
    return nest_node(m, OP_isfinite, &x, 1, DT_COUNT);
}

/* A function of C's library: float64 in, float64 out. */
IrValue
nest_call_library(NestMaker *m, const char *name, const IrValue *operands, uint32_t n,
                  IrDtype dtype)
{
    IrAttr attr = {.key = "name", .kind = ATTR_text, .text = name};
    IrType type = {.dtype = dtype};
    if (!m->emits || m->failed)
        return 0;
    IrNode node = ir_node_typed(m->graph, OP_call, operands, n, &attr, 1, &type, 1);
    return ir_result(m->graph, node, 0);
}

NestValue
nest_library(NestMaker *m, const char *name, const NestValue *operands, uint32_t n)
{
    IrValue values[2] = {0, 0};
    for (uint32_t i = 0; i < n; i++) {
        NestValue number = nest_to_float(m, &operands[i]);
        values[i] = number.value;
    }
    if (m->failed)
        return nest_fail(m, NULL);
    IrValue result = nest_call_library(m, name, values, n, DT_float64);
    /* Python raises where C says inf or NaN; what was inf or NaN before may stay so. */
    nest_check(m, is_finite(m, result));
    return nest_of(NEST_float, DT_float64, result);
}

NestValue
nest_float_binary(NestMaker *m, OperatorId id, const NestValue *a, const NestValue *b)
{
    NestValue x = nest_to_float(m, a), y = nest_to_float(m, b);
    NestValue operands[2] = {x, y};
    IrValue values[2] = {x.value, y.value};
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
        nest_check_not_zero(m, b);
        op = id == OPERATOR_truediv    ? OP_divide
             : id == OPERATOR_floordiv ? OP_floor_divide
                                       : OP_remainder;
        break;
    case OPERATOR_pow:
        return nest_library(m, "pow", operands, 2);
    default:
        return nest_fail(m, "an operator that floats have not");
    }
    return nest_of(NEST_float, DT_float64, nest_node(m, op, values, 2, DT_COUNT));
}

/* int(x) */
NestValue
nest_to_int(NestMaker *m, const NestValue *x)
{
    if (!nest_is_number(x))
        return nest_fail(m, "an int of what is no number");
    if (nest_is_whole(x))
        return nest_as_int(m, x);
    IrKind kind = ir_dtype_kind(nest_dtype(x));
    if (kind == KIND_complex || x->dtype == DT_uint64)
        return nest_fail(m, "an int of this dtype");
    if (x->kind == NEST_float || kind == KIND_float) {
        NestValue number = nest_to_float(m, x);
        IrValue low = m->emits ? ir_const_float(m->graph, DT_float64, -9.2e18) : 0;
        IrValue high = m->emits ? ir_const_float(m->graph, DT_float64, 9.2e18) : 0;
        nest_check(m, nest_compared(m, OP_greater, number.value, low));
        nest_check(m, nest_compared(m, OP_less, number.value, high));
        return nest_int(nest_cast(m, number.value, DT_int64), INT64_MIN, INT64_MAX);
    }
    return nest_int(nest_cast(m, x->value, DT_int64), INT64_MIN, INT64_MAX);
}
