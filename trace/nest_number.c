/* nest_number.c - operators on the numbers of a nest: Python's (nest_python.c), NumPy's, or either
** (nest_either.c).
*/
#include <string.h>

#include "trace/nest.h"

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
    case NEST_complex:
        return WEAK_complex;
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
is_numpy(const NestValue *x)
{
    return x->kind == NEST_scalar;
}

/* -- NumPy's scalars --------------------------------------------------------------- */

static bool
resolve(NestMaker *m, PyObject *ufunc, const int *types, uint32_t n, NestUfunc *loop)
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
        int64_t high = bits == 64          ? INT64_MAX
                       : kind == KIND_uint ? ((int64_t)1 << bits) - 1
                                           : ((int64_t)1 << (bits - 1)) - 1;
        nest_check_bounds(m, x, low, high);
    }
    return nest_as(m, x, &type);
}

static NestValue
loop_node(NestMaker *m, const NestUfunc *loop, const NestValue *operands, uint32_t n,
          bool array)
{
    IrValue values[OPERANDS_MAX];
    bool elementary = ir_op_flags(loop->op) & OPF_elementary;
    if (ir_dtype_kind(loop->in[n - 1]) == KIND_complex)
        return nest_complex_function(m, loop, operands, n, array);
    if (loop->in[n - 1] == DT_float16)
        return nest_fail(m, "float16");
    if (loop->op == OP_power && ir_dtype_kind(loop->out) == KIND_float)
        return nest_fail(m, "a power by its ufunc");
    if (elementary && m->strict && loop->op != OP_power) {
        if (array || !nest_is_numpys(loop->op) || n > 2 ||
            loop->in[n - 1] != loop->in[0])
            return nest_fail(m, "an elementary function of NumPy's own");
        return nest_numpy_loop(m, loop->op, loop->in[0], operands, n);
    }
    for (uint32_t i = 0; i < n; i++)
        values[i] = loop_operand(m, &operands[i], loop->in[i]);
    return nest_of(NEST_scalar, loop->out, nest_node(m, loop->op, values, n, DT_COUNT));
}

/* True if the loop is the one for an operand of this type, too. */
static bool
resolves_so(NestMaker *m, OperatorId id, const int *types, uint32_t n, uint32_t at,
            int type, const NestUfunc *loop)
{
    NestUfunc other;
    int others[2] = {types[0], n > 1 ? types[1] : 0};
    others[at] = type;
    return resolve(m, m->trace->state->ufuncs[id], others, n, &other) &&
           other.out == loop->out &&
           memcmp(other.in, loop->in, n * sizeof *loop->in) == 0;
}

/* The loop, if it is the same whichever the operands are. */
bool
nest_resolve(NestMaker *m, OperatorId id, const NestValue *operands, uint32_t n,
             NestUfunc *loop)
{
    int types[2];
    for (uint32_t i = 0; i < n; i++)
        types[i] = npy_type(&operands[i]);
    if (!resolve(m, m->trace->state->ufuncs[id], types, n, loop))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        IrKind kind = ir_dtype_kind(operands[i].dtype);
        bool whole = nest_may_be_whole(&operands[i]), same = true;
        if (operands[i].kind != NEST_either)
            continue;
        if (kind == KIND_complex)
            same = resolves_so(m, id, types, n, i, WEAK_complex, loop);
        if (kind == KIND_complex || kind == KIND_float)
            same &= resolves_so(m, id, types, n, i, WEAK_float, loop);
        if (whole)
            same &= resolves_so(m, id, types, n, i,
                                operands[i].dtype == DT_boolean ? NPY_BOOL : WEAK_int,
                                loop);
        if (!same)
            return false;
    }
    return true;
}

static NestValue
scalar_power(NestMaker *m, const NestUfunc *loop, const NestValue *operands)
{
    IrKind kind = ir_dtype_kind(loop->out);
    IrValue values[2];
    if (kind == KIND_int || kind == KIND_uint) {
        if (operands[1].kind != NEST_int || operands[1].low < 0)
            return nest_fail(m, "an integer to the power of one that may be negative");
        return loop_node(m, loop, operands, 2, false);
    }
    if (loop->out != DT_float64 && loop->out != DT_float32)
        return nest_fail(m, "a power of this dtype");
    for (int i = 0; i < 2; i++)
        values[i] = loop_operand(m, &operands[i], loop->in[i]);
    PyObject *recipes = m->trace->state->recipes;
    if (!m->strict && recipes && PyDict_Size(recipes) > 0) /* as traces have it */
        return nest_of(NEST_scalar, loop->out,
                       nest_node(m, OP_power, values, 2, DT_COUNT));
    return nest_of(NEST_scalar, loop->out,
                   nest_call_library(m, loop->out == DT_float64 ? "pow" : "powf",
                                     values, 2, loop->out));
}

static NestValue
scalar_binary(NestMaker *m, OperatorId id, const NestValue *x, const NestValue *y)
{
    NestValue operands[2] = {*x, *y};
    NestUfunc loop;
    if (!m->trace->state->ufuncs[id] || !nest_resolve(m, id, operands, 2, &loop))
        return nest_fail(m, "an operator on these dtypes");
    if (id == OPERATOR_pow)
        return scalar_power(m, &loop, operands);
    return loop_node(m, &loop, operands, 2, false);
}

/* -- Operators --------------------------------------------------------------------- */

NestValue
nest_binary(NestMaker *m, OperatorId id, const NestValue *x, const NestValue *y)
{
    if (m->failed || !nest_is_number(x) || !nest_is_number(y))
        return nest_fail(m, "an operator on what is no number");
    if (nest_is_complex(x) || nest_is_complex(y))
        return nest_complex_binary(m, id, x, y);
    bool logic = id == OPERATOR_and_ || id == OPERATOR_or_ || id == OPERATOR_xor;
    if (logic && x->kind == NEST_bool && y->kind == NEST_bool) {
        IrValue values[2] = {x->value, y->value};
        IrOp op = id == OPERATOR_and_  ? OP_bitwise_and
                  : id == OPERATOR_or_ ? OP_bitwise_or
                                       : OP_bitwise_xor;
        IrValue value = nest_node(m, op, values, 2, DT_COUNT);
        return nest_of(NEST_bool, DT_boolean, value);
    }
    if (is_numpy(x) || is_numpy(y))
        return scalar_binary(m, id, x, y);
    if (x->kind == NEST_either || y->kind == NEST_either)
        return nest_either_binary(m, id, x, y);
    return nest_is_whole(x) && nest_is_whole(y) ? nest_int_binary(m, id, x, y)
                                                : nest_float_binary(m, id, x, y);
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

/* Equal if all items are, which are compared one by one. */
static NestValue
compare_tuples(NestMaker *m, int op, const NestValue *x, const NestValue *y)
{
    IrValue both[2] = {0, 0};
    if (x->tuple->n != y->tuple->n)
        return nest_const_bool(m, op == OPERATOR_ne);
    for (uint32_t i = 0; i < x->tuple->n; i++) {
        NestValue same =
            nest_compare(m, OPERATOR_eq, &x->tuple->items[i], &y->tuple->items[i]);
        NestValue truth = m->failed ? same : nest_truth(m, &same);
        both[1] = m->failed ? 0 : nest_as(m, &truth, &truth);
        both[0] = i ? nest_node(m, OP_logical_and, both, 2, DT_COUNT) : both[1];
    }
    NestValue all = x->tuple->n ? nest_of(NEST_bool, DT_boolean, both[0])
                                : nest_const_bool(m, true);
    return op == OPERATOR_eq || m->failed ? all : nest_unary(m, NEST_not, &all);
}

NestValue
nest_compare(NestMaker *m, int op, const NestValue *x, const NestValue *y)
{
    if (op == NEST_is || op == NEST_is_not) {
        if (x->kind != NEST_object && y->kind != NEST_object)
            return nest_fail(m, "`is` of numbers");
        bool same =
            x->kind == NEST_object && y->kind == NEST_object && x->object == y->object;
        return nest_const_bool(m, same == (op == NEST_is));
    }
    if (!m->failed && x->kind == NEST_tuple && y->kind == NEST_tuple &&
        (op == OPERATOR_eq || op == OPERATOR_ne))
        return compare_tuples(m, op, x, y);
    if (m->failed || !nest_is_number(x) || !nest_is_number(y))
        return nest_fail(m, "a comparison of what is no number");
    if (nest_is_complex(x) || nest_is_complex(y))
        return nest_complex_equal(m, op, x, y);
    if (compares_by_value(x, y) || compares_by_value(y, x)) {
        IrValue truth =
            nest_compared(m, compare_op(op), nest_cast(m, x->value, DT_int64),
                          nest_cast(m, y->value, DT_int64));
        return nest_of(NEST_scalar, DT_boolean, truth);
    }
    if (is_numpy(x) || is_numpy(y))
        return scalar_binary(m, (OperatorId)op, x, y);
    if (x->kind == NEST_either || y->kind == NEST_either)
        return nest_either_compare(m, compare_op(op), x, y);
    NestValue a = nest_is_whole(x) ? nest_as_int(m, x) : *x;
    NestValue b = nest_is_whole(y) ? nest_as_int(m, y) : *y;
    if (a.kind != b.kind) { /* an int and a float, by value */
        NestValue as = nest_of(NEST_scalar, DT_float64, 0);
        nest_check_exact(m, &a);
        nest_check_exact(m, &b);
        a.value = nest_as(m, &a, &as);
        b.value = nest_as(m, &b, &as);
    }
    IrValue truth = nest_compared(m, compare_op(op), a.value, b.value);
    return nest_of(NEST_bool, DT_boolean, truth);
}

static NestValue
scalar_unary(NestMaker *m, OperatorId id, const NestValue *x)
{
    NestUfunc loop;
    if (!nest_resolve(m, id, x, 1, &loop))
        return nest_fail(m, "an operator on this dtype");
    return loop_node(m, &loop, x, 1, false);
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
    if (nest_is_complex(x))
        return nest_complex_unary(m, op, x);
    if (is_numpy(x))
        return scalar_unary(m, (OperatorId)op, x);
    if (x->kind == NEST_either)
        return nest_either_unary(m, op, x);
    if (x->kind == NEST_float && x->constant && op == OPERATOR_neg)
        return nest_const_float(m, -x->number);
    if (x->kind == NEST_float) {
        IrOp node = op == OPERATOR_neg   ? OP_negative
                    : op == OPERATOR_abs ? OP_absolute
                                         : OP_positive;
        if (op == OPERATOR_invert)
            return nest_fail(m, "~ of a float");
        return nest_of(NEST_float, DT_float64,
                       nest_node(m, node, &x->value, 1, DT_COUNT));
    }
    NestValue number = nest_as_int(m, x), zero = nest_const_int(m, 0);
    NestValue minus = nest_const_int(m, -1);
    if (op == OPERATOR_neg)
        return nest_int_sum(m, OP_subtract, &zero, &number);
    if (op == OPERATOR_invert)
        return nest_int_sum(m, OP_subtract, &minus, &number);
    if (op == OPERATOR_pos || number.low >= 0)
        return number;
    nest_check_bounds(m, &number, -INT64_MAX, INT64_MAX);
    int64_t most = number.low < -INT64_MAX ? INT64_MAX : -number.low;
    return nest_int(nest_node(m, OP_absolute, &number.value, 1, DT_COUNT), 0,
                    most > number.high ? most : number.high);
}

NestValue
nest_complex_operator(NestMaker *m, OperatorId id, const NestValue *operands,
                      uint32_t n)
{
    NestUfunc loop;
    if (!m->trace->state->ufuncs[id] || !nest_resolve(m, id, operands, n, &loop))
        return nest_fail(m, "an operator on these dtypes");
    return nest_complex_function(m, &loop, operands, n, true);
}

NestValue
nest_ufunc(NestMaker *m, PyObject *ufunc, const NestValue *operands, uint32_t n,
           bool array)
{
    int types[OPERANDS_MAX];
    bool weak = true;
    NestUfunc loop;
    if (n == 0 || n > OPERANDS_MAX)
        return nest_fail(m, "a ufunc of so many operands");
    for (uint32_t i = 0; i < n; i++) {
        if (!nest_is_number(&operands[i]) || operands[i].kind == NEST_either)
            return nest_fail(m, "a ufunc of what is no number of one kind");
        types[i] = npy_type(&operands[i]);
        weak &=
            types[i] == WEAK_int || types[i] == WEAK_float || types[i] == WEAK_complex;
    }
    for (uint32_t i = 0; weak && i < n; i++)
        types[i] = types[i] == WEAK_int     ? NPY_LONG
                   : types[i] == WEAK_float ? NPY_DOUBLE
                                            : NPY_CDOUBLE;
    if (!resolve(m, ufunc, types, n, &loop))
        return nest_fail(m, "a ufunc on these dtypes");
    return loop_node(m, &loop, operands, n, array);
}
