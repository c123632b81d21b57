/* nest_number.c - operators on the numbers of a nest: Python's arithmetic, and NumPy's scalars.
**
** Python's ints are int64 here. What would not fit, divisors that are 0 and whatever else Python
** has an exception or another type for makes the nest fail at run time (nest_check); the call is
** then made by the plain function.
*/
#include <string.h>

#include "trace/nest.h"

#define EXACT_DOUBLE ((int64_t)1 << 53)

static int
npy_type(const NestValue *x)
{
    switch (x->kind) {
    case NEST_bool:
        return NPY_BOOL;
    case NEST_int:
        return WEAK_int;
    case NEST_float:
        return WEAK_float;
    default:
        break;
    }
    PyArray_Descr *descr = PyArray_DescrFromType(ir_dtype_numpy_char(x->dtype));
    int type = descr ? descr->type_num : NPY_OBJECT;
    Py_XDECREF(descr);
    PyErr_Clear();
    return type;
}

static IrDtype
ir_dtype_of(int type)
{
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    IrDtype dtype = descr ? trace_ir_type(descr, 0, NULL, NULL).dtype : DT_object;
    Py_XDECREF(descr);
    PyErr_Clear();
    return dtype;
}

static bool
is_whole(const NestValue *x)
{
    return x->kind == NEST_int || x->kind == NEST_bool;
}

static bool
is_numpy(const NestValue *x)
{
    return x->kind == NEST_scalar;
}

/* -- Constants and checks ---------------------------------------------------------- */

static IrValue
int_value(NestMaker *m, int64_t number)
{
    return m->emits ? ir_const_int(m->graph, DT_int64, number) : 0;
}

static IrValue
compared(NestMaker *m, IrOp op, IrValue x, IrValue y)
{
    IrValue operands[2] = {x, y};
    return nest_node(m, op, operands, 2, DT_COUNT);
}

static void
check_bounds(NestMaker *m, const NestValue *x, int64_t low, int64_t high)
{
    if (x->low < low)
        nest_check(m, compared(m, OP_greater_equal, x->value, int_value(m, low)));
    if (x->high > high)
        nest_check(m, compared(m, OP_less_equal, x->value, int_value(m, high)));
}

NestValue
nest_bounded(NestMaker *m, const NestValue *x, int64_t low, int64_t high)
{
    NestValue bounded = *x;
    check_bounds(m, x, low, high);
    bounded.low = x->low < low ? low : x->low;
    bounded.high = x->high > high ? high : x->high;
    return bounded;
}

static void
check_not_zero(NestMaker *m, const NestValue *x)
{
    if (x->kind == NEST_int && (x->low > 0 || x->high < 0))
        return;
    nest_check(m, nest_truth(m, x).value);
}

static NestValue
as_int(NestMaker *m, const NestValue *x)
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
    bool whole = is_whole(x);
    if (!nest_is_number(x) || ir_dtype_kind(nest_dtype(x)) == KIND_complex)
        return nest_fail(m, "a float of what is no real number");
    if (x->kind == NEST_int && x->low == x->high && Py_ABS(x->low) < EXACT_DOUBLE)
        return nest_const_float(m, (double)x->low);
    NestValue number = whole ? as_int(m, x) : *x;
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

static IrValue
int_node(NestMaker *m, IrOp op, const NestValue *x, const NestValue *y, bool exact)
{
    IrValue operands[2] = {x->value, y->value};
    m->checks |= !exact;
    return nest_node(m, exact ? op : checked_op(op), operands, 2, exact ? DT_COUNT : DT_int64);
}

static NestValue
int_sum(NestMaker *m, IrOp op, const NestValue *x, const NestValue *y)
{
    int64_t ends[4], low = INT64_MAX, high = INT64_MIN;
    bool over = false;
    if (op == OP_add) {
        over |= __builtin_add_overflow(x->low, y->low, &ends[0]);
        over |= __builtin_add_overflow(x->high, y->high, &ends[1]);
    } else if (op == OP_subtract) {
        over |= __builtin_sub_overflow(x->low, y->high, &ends[0]);
        over |= __builtin_sub_overflow(x->high, y->low, &ends[1]);
    } else {
        over |= __builtin_mul_overflow(x->low, y->low, &ends[0]);
        over |= __builtin_mul_overflow(x->low, y->high, &ends[1]);
        over |= __builtin_mul_overflow(x->high, y->low, &ends[2]);
        over |= __builtin_mul_overflow(x->high, y->high, &ends[3]);
    }
    for (int i = 0; i < (op == OP_multiply ? 4 : 2); i++) {
        low = ends[i] < low ? ends[i] : low;
        high = ends[i] > high ? ends[i] : high;
    }
    if (over) {
        low = INT64_MIN;
        high = INT64_MAX;
    }
    NestValue made = nest_int(int_node(m, op, x, y, !over), low, high);
    const NestValue *moved = y->low == y->high ? x : y, *by = y->low == y->high ? y : x;
    if (by->low == by->high && (op == OP_add || (op == OP_subtract && moved == x)) && !over) {
        made.root = moved->root ? moved->root : moved->value;
        made.more = moved->more + (op == OP_add ? by->low : -by->low);
    }
    return made;
}

static NestValue
int_quotient(NestMaker *m, IrOp op, const NestValue *x, const NestValue *y)
{
    int64_t low = INT64_MIN, high = INT64_MAX;
    check_not_zero(m, y);
    if (x->low == INT64_MIN && y->low <= -1 && y->high >= -1)
        nest_check(m, compared(m, OP_not_equal, x->value, int_value(m, INT64_MIN)));
    if (y->low > 0 && op == OP_remainder) {
        low = 0;
        high = y->high - 1;
    } else if (y->low > 0) {
        low = x->low < 0 ? x->low : 0;
        high = x->high < 0 ? -1 : x->high / y->low;
    }
    return nest_int(int_node(m, op, x, y, true), low, high);
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
    return nest_int(int_node(m, op, x, y, true), low, high);
}

static NestValue
int_shift(NestMaker *m, IrOp op, const NestValue *x, const NestValue *y)
{
    check_bounds(m, y, 0, 62);
    NestValue shifted = nest_int(int_node(m, op, x, y, true), INT64_MIN, INT64_MAX);
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
    IrValue back = int_node(m, OP_right_shift, &shifted, y, true);
    nest_check(m, compared(m, OP_equal, back, x->value));
    return shifted;
}

static NestValue
int_power(NestMaker *m, const NestValue *x, const NestValue *y)
{
    if (y->low != y->high || y->low < 0 || y->low > 16)
        return nest_fail(m, "an int to the power of a number that is not known");
    NestValue power = nest_const_int(m, 1);
    for (int64_t i = 0; i < y->low; i++)
        power = i ? int_sum(m, OP_multiply, &power, x) : *x;
    if (y->low > 1 && y->low % 2 == 0 && power.low < 0)
        power.low = 0;
    return power;
}

static NestValue float_binary(NestMaker *m, OperatorId id, const NestValue *x,
                              const NestValue *y);

static NestValue
int_binary(NestMaker *m, OperatorId id, const NestValue *a, const NestValue *b)
{
    NestValue x = as_int(m, a), y = as_int(m, b);
    switch (id) {
    case OPERATOR_add:
        return int_sum(m, OP_add, &x, &y);
    case OPERATOR_sub:
        return int_sum(m, OP_subtract, &x, &y);
    case OPERATOR_mul:
        return int_sum(m, OP_multiply, &x, &y);
    case OPERATOR_floordiv:
        return int_quotient(m, OP_floor_divide, &x, &y);
    case OPERATOR_mod:
        return int_quotient(m, OP_remainder, &x, &y);
    case OPERATOR_truediv: /* Python rounds once: so does this, of what a double holds */
        check_bounds(m, &x, -EXACT_DOUBLE, EXACT_DOUBLE);
        check_bounds(m, &y, -EXACT_DOUBLE, EXACT_DOUBLE);
        return float_binary(m, id, &x, &y);
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
            return float_binary(m, id, &x, &y);
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
static IrValue
library(NestMaker *m, const char *name, const IrValue *operands, uint32_t n, IrDtype dtype)
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
    IrValue result = library(m, name, values, n, DT_float64);
    /* Python raises where C says inf or NaN; what was inf or NaN before may stay so. */
    nest_check(m, is_finite(m, result));
    return nest_of(NEST_float, DT_float64, result);
}

static NestValue
float_binary(NestMaker *m, OperatorId id, const NestValue *a, const NestValue *b)
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
        check_not_zero(m, b);
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

/* -- NumPy's scalars --------------------------------------------------------------- */

typedef struct Loop {
    IrOp op;
    IrDtype in[OPERANDS_MAX], out;
} Loop;

static bool
resolve(NestMaker *m, PyObject *ufunc, const int *types, uint32_t n, Loop *loop)
{
    Operand operands[OPERANDS_MAX] = {{0}};
    for (uint32_t i = 0; i < n; i++)
        operands[i].type = (int8_t)types[i];
    const ResolvedLoop *found = trace_resolve(m->trace->state, ufunc, operands, (int)n);
    PyErr_Clear();
    if (!found || !found->usable)
        return false;
    loop->op = found->op;
    loop->out = ir_dtype_of(found->out);
    for (uint32_t i = 0; i < n; i++)
        loop->in[i] = ir_dtype_of(found->in[i]);
    return true;
}

/* The operand in the loop's dtype. Python's ints have to fit. */
static IrValue
loop_operand(NestMaker *m, const NestValue *x, IrDtype dtype)
{
    IrKind kind = ir_dtype_kind(dtype);
    NestValue type = nest_of(NEST_scalar, dtype, 0);
    if (x->kind == NEST_int && (kind == KIND_int || kind == KIND_uint)) {
        unsigned bits = 8 * (unsigned)ir_dtype_bytes(dtype);
        int64_t low = kind == KIND_uint ? 0 : INT64_MIN >> (64 - bits);
        int64_t high = bits == 64 ? INT64_MAX
                       : kind == KIND_uint ? ((int64_t)1 << bits) - 1
                                           : ((int64_t)1 << (bits - 1)) - 1;
        check_bounds(m, x, low, high);
    }
    return nest_as(m, x, &type);
}

static NestValue
loop_node(NestMaker *m, const Loop *loop, const NestValue *operands, uint32_t n)
{
    IrValue values[OPERANDS_MAX];
    bool elementary = ir_op_flags(loop->op) & OPF_elementary;
    if (ir_dtype_kind(loop->in[n - 1]) == KIND_complex || loop->in[n - 1] == DT_float16)
        return nest_fail(m, "complex numbers, or float16");
    if (loop->op == OP_power && ir_dtype_kind(loop->out) == KIND_float)
        return nest_fail(m, "a power by its ufunc");
    if (elementary && m->strict && loop->op != OP_power)
        return nest_fail(m, "an elementary function of NumPy's own");
    for (uint32_t i = 0; i < n; i++)
        values[i] = loop_operand(m, &operands[i], loop->in[i]);
    return nest_of(NEST_scalar, loop->out, nest_node(m, loop->op, values, n, DT_COUNT));
}

/* What an operand that is Python's or NumPy's would be on the first of these ways. */
static int
weak_type(const NestValue *x)
{
    if (x->dtype == DT_boolean)
        return NPY_BOOL;
    return ir_dtype_kind(x->dtype) == KIND_float ? WEAK_float : WEAK_int;
}

/* The loop, if it is the same whichever the operands are. */
static bool
resolve_operator(NestMaker *m, OperatorId id, const NestValue *operands, uint32_t n,
                 Loop *loop)
{
    int types[2];
    for (uint32_t i = 0; i < n; i++)
        types[i] = npy_type(&operands[i]);
    if (!resolve(m, m->trace->state->ufuncs[id], types, n, loop))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        Loop other;
        if (operands[i].kind != NEST_either)
            continue;
        types[i] = weak_type(&operands[i]);
        if (!resolve(m, m->trace->state->ufuncs[id], types, n, &other) ||
            other.out != loop->out || memcmp(other.in, loop->in, n * sizeof *loop->in) != 0)
            return false;
        types[i] = npy_type(&operands[i]);
    }
    return true;
}

static NestValue
scalar_power(NestMaker *m, const Loop *loop, const NestValue *operands)
{
    IrKind kind = ir_dtype_kind(loop->out);
    IrValue values[2];
    if (kind == KIND_int || kind == KIND_uint) {
        if (operands[1].kind != NEST_int || operands[1].low < 0)
            return nest_fail(m, "an integer to the power of one that may be negative");
        return loop_node(m, loop, operands, 2);
    }
    if (loop->out != DT_float64 && loop->out != DT_float32)
        return nest_fail(m, "a power of this dtype");
    for (int i = 0; i < 2; i++)
        values[i] = loop_operand(m, &operands[i], loop->in[i]);
    return nest_of(NEST_scalar, loop->out,
                   library(m, loop->out == DT_float64 ? "pow" : "powf", values, 2, loop->out));
}

static NestValue
scalar_binary(NestMaker *m, OperatorId id, const NestValue *x, const NestValue *y)
{
    NestValue operands[2] = {*x, *y};
    Loop loop;
    if (!m->trace->state->ufuncs[id] || !resolve_operator(m, id, operands, 2, &loop))
        return nest_fail(m, "an operator on these dtypes");
    if (id == OPERATOR_pow)
        return scalar_power(m, &loop, operands);
    return loop_node(m, &loop, operands, 2);
}

/* -- Numbers that are Python's or NumPy's ------------------------------------------ */

static NestValue
either_binary(NestMaker *m, OperatorId id, const NestValue *x, const NestValue *y)
{
    IrDtype dtype = x->kind == NEST_either ? x->dtype : y->dtype;
    bool real = dtype == DT_float64, whole = dtype == DT_int64, divides = false;
    NestValue type = nest_of(NEST_either, dtype, 0);
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
        check_not_zero(m, y);
    NestValue a = type, b = type;
    a.value = nest_as(m, x, &type);
    b.value = nest_as(m, y, &type);
    type.value = int_node(m, op, &a, &b, real); /* NumPy's int64 wraps, Python's grows */
    return type;
}

/* -- Operators --------------------------------------------------------------------- */

NestValue
nest_binary(NestMaker *m, OperatorId id, const NestValue *x, const NestValue *y)
{
    if (m->failed || !nest_is_number(x) || !nest_is_number(y))
        return nest_fail(m, "an operator on what is no number");
    bool logic = id == OPERATOR_and_ || id == OPERATOR_or_ || id == OPERATOR_xor;
    if (logic && x->kind == NEST_bool && y->kind == NEST_bool) {
        IrValue values[2] = {x->value, y->value};
        IrOp op = id == OPERATOR_and_ ? OP_bitwise_and
                  : id == OPERATOR_or_ ? OP_bitwise_or
                                       : OP_bitwise_xor;
        IrValue value = nest_node(m, op, values, 2, DT_COUNT);
        return nest_of(NEST_bool, DT_boolean, value);
    }
    if (is_numpy(x) || is_numpy(y))
        return scalar_binary(m, id, x, y);
    if (x->kind == NEST_either || y->kind == NEST_either)
        return either_binary(m, id, x, y);
    return is_whole(x) && is_whole(y) ? int_binary(m, id, x, y)
                                      : float_binary(m, id, x, y);
}

static IrOp
compare_op(int op)
{
    switch (op) {
    case OPERATOR_lt:
        return OP_less;
    case OPERATOR_le:
        return OP_less_equal;
    case OPERATOR_gt:
        return OP_greater;
    case OPERATOR_ge:
        return OP_greater_equal;
    case OPERATOR_eq:
        return OP_equal;
    default:
        return OP_not_equal;
    }
}

/* Python's int beside an integer of NumPy's is compared by value, whether or not it fits. */
static bool
compares_by_value(const NestValue *x, const NestValue *y)
{
    IrKind kind = ir_dtype_kind(x->dtype);
    return is_numpy(x) && y->kind == NEST_int &&
           (kind == KIND_int || (kind == KIND_uint && x->dtype != DT_uint64));
}

NestValue
nest_compare(NestMaker *m, int op, const NestValue *x, const NestValue *y)
{
    if (op == NEST_is || op == NEST_is_not) {
        if (x->kind != NEST_object && y->kind != NEST_object)
            return nest_fail(m, "`is` of numbers");
        bool same = x->kind == NEST_object && y->kind == NEST_object &&
                    x->object == y->object;
        return nest_const_bool(m, same == (op == NEST_is));
    }
    if (m->failed || !nest_is_number(x) || !nest_is_number(y))
        return nest_fail(m, "a comparison of what is no number");
    if (compares_by_value(x, y) || compares_by_value(y, x)) {
        IrValue truth = compared(m, compare_op(op), nest_cast(m, x->value, DT_int64),
                                 nest_cast(m, y->value, DT_int64));
        return nest_of(NEST_scalar, DT_boolean, truth);
    }
    if (is_numpy(x) || is_numpy(y))
        return scalar_binary(m, (OperatorId)op, x, y);
    NestValue a = is_whole(x) ? as_int(m, x) : *x, b = is_whole(y) ? as_int(m, y) : *y;
    bool either = a.kind == NEST_either || b.kind == NEST_either;
    if (a.kind != b.kind || either) { /* an int and a float, by value */
        if (a.kind == NEST_int)
            check_bounds(m, &a, -EXACT_DOUBLE, EXACT_DOUBLE);
        if (b.kind == NEST_int)
            check_bounds(m, &b, -EXACT_DOUBLE, EXACT_DOUBLE);
        bool whole = (a.kind == NEST_int || a.dtype == DT_int64) &&
                     (b.kind == NEST_int || b.dtype == DT_int64);
        NestValue as = nest_of(NEST_scalar, whole ? DT_int64 : DT_float64, 0);
        if (either && !whole && (a.dtype == DT_int64 || b.dtype == DT_int64 ||
                                 a.dtype == DT_boolean || b.dtype == DT_boolean))
            return nest_fail(m, "a comparison of what may be Python's or NumPy's");
        a.value = nest_as(m, &a, &as);
        b.value = nest_as(m, &b, &as);
    }
    IrValue truth = compared(m, compare_op(op), a.value, b.value);
    if (either)
        return nest_of(NEST_either, DT_boolean, truth);
    return nest_of(NEST_bool, DT_boolean, truth);
}

static NestValue
scalar_unary(NestMaker *m, OperatorId id, const NestValue *x)
{
    Loop loop;
    if (!resolve_operator(m, id, x, 1, &loop))
        return nest_fail(m, "an operator on this dtype");
    return loop_node(m, &loop, x, 1);
}

NestValue
nest_unary(NestMaker *m, int op, const NestValue *x)
{
    if (op == NEST_not) {
        NestValue truth = nest_truth(m, x);
        if (truth.kind == NEST_bool && truth.known)
            return nest_const_bool(m, !truth.low);
        IrValue value = nest_node(m, OP_logical_not, &truth.value, 1, DT_COUNT);
        return nest_of(NEST_bool, DT_boolean, value);
    }
    if (m->failed || !nest_is_number(x))
        return nest_fail(m, "an operator on what is no number");
    if (is_numpy(x))
        return scalar_unary(m, (OperatorId)op, x);
    if (x->kind == NEST_either) {
        NestValue made = *x;
        if (x->dtype != DT_float64 || op == OPERATOR_invert)
            return nest_fail(m, "a number that is Python's or NumPy's, as it comes");
        IrOp node = op == OPERATOR_neg ? OP_negative : op == OPERATOR_abs ? OP_absolute : OP_positive;
        made.value = nest_node(m, node, &x->value, 1, DT_COUNT);
        return made;
    }
    if (x->kind == NEST_float) {
        IrOp node = op == OPERATOR_neg ? OP_negative : op == OPERATOR_abs ? OP_absolute : OP_positive;
        if (op == OPERATOR_invert)
            return nest_fail(m, "~ of a float");
        return nest_of(NEST_float, DT_float64, nest_node(m, node, &x->value, 1, DT_COUNT));
    }
    NestValue number = as_int(m, x), zero = nest_const_int(m, 0);
    NestValue minus = nest_const_int(m, -1);
    if (op == OPERATOR_neg)
        return int_sum(m, OP_subtract, &zero, &number);
    if (op == OPERATOR_invert)
        return int_sum(m, OP_subtract, &minus, &number);
    if (op == OPERATOR_pos || number.low >= 0)
        return number;
    check_bounds(m, &number, -INT64_MAX, INT64_MAX);
    int64_t most = number.low < -INT64_MAX ? INT64_MAX : -number.low;
    return nest_int(nest_node(m, OP_absolute, &number.value, 1, DT_COUNT), 0,
                    most > number.high ? most : number.high);
}

NestValue
nest_ufunc(NestMaker *m, PyObject *ufunc, const NestValue *operands, uint32_t n)
{
    int types[OPERANDS_MAX];
    bool weak = true;
    Loop loop;
    if (n == 0 || n > OPERANDS_MAX)
        return nest_fail(m, "a ufunc of so many operands");
    for (uint32_t i = 0; i < n; i++) {
        if (!nest_is_number(&operands[i]) || operands[i].kind == NEST_either)
            return nest_fail(m, "a ufunc of what is no number of one kind");
        types[i] = npy_type(&operands[i]);
        weak &= types[i] == WEAK_int || types[i] == WEAK_float;
    }
    for (uint32_t i = 0; weak && i < n; i++)
        types[i] = types[i] == WEAK_int ? NPY_LONG : NPY_DOUBLE;
    if (!resolve(m, ufunc, types, n, &loop))
        return nest_fail(m, "a ufunc on these dtypes");
    return loop_node(m, &loop, operands, n);
}

/* int(x) */
NestValue
nest_to_int(NestMaker *m, const NestValue *x)
{
    if (!nest_is_number(x))
        return nest_fail(m, "an int of what is no number");
    if (is_whole(x))
        return as_int(m, x);
    IrKind kind = ir_dtype_kind(nest_dtype(x));
    if (kind == KIND_complex || x->dtype == DT_uint64)
        return nest_fail(m, "an int of this dtype");
    if (x->kind == NEST_float || kind == KIND_float) {
        NestValue number = nest_to_float(m, x);
        IrValue low = m->emits ? ir_const_float(m->graph, DT_float64, -9.2e18) : 0;
        IrValue high = m->emits ? ir_const_float(m->graph, DT_float64, 9.2e18) : 0;
        nest_check(m, compared(m, OP_greater, number.value, low));
        nest_check(m, compared(m, OP_less, number.value, high));
        return nest_int(nest_cast(m, number.value, DT_int64), INT64_MIN, INT64_MAX);
    }
    return nest_int(nest_cast(m, x->value, DT_int64), INT64_MIN, INT64_MAX);
}
