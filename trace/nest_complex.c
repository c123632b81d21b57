/* nest_complex.c - complex numbers in a nest: two floats each.
**
** Python and NumPy's scalars multiply in the plain way, each part of two products, rounded as they
** come; NumPy's loops over arrays do not (nest_function.c). Quotients are Smith's, Python's and NumPy's in their own order.
*/
#include "trace/nest.h"

bool
nest_is_complex(const NestValue *x)
{
    return nest_is_number(x) && ir_dtype_kind(x->dtype) == KIND_complex;
}

NestValue
nest_pair(NestKind kind, IrDtype dtype, IrValue real, IrValue imag)
{
    NestValue made = nest_of(kind, dtype, real);
    made.imag = imag;
    return made;
}

static IrValue
zero(NestMaker *m, IrDtype dtype)
{
    return m->emits ? ir_const_float(m->graph, dtype, 0) : 0;
}

NestValue
nest_complex_part(NestMaker *m, const NestValue *x, bool imag)
{
    IrDtype dtype = nest_part_dtype(x);
    if (x->kind == NEST_either || m->failed)
        return nest_fail(m, "a part of what is Python's or NumPy's");
    return nest_of(x->kind == NEST_complex ? NEST_float : NEST_scalar, dtype,
                   imag ? x->imag : x->value);
}

/* -- Arithmetic -------------------------------------------------------------------- */

static IrValue
node(NestMaker *m, IrOp op, IrValue x, IrValue y)
{
    IrValue operands[2] = {x, y};
    return nest_node(m, op, operands, 2, DT_COUNT);
}

static void
product(NestMaker *m, const IrValue *x, const IrValue *y, IrValue *out)
{
    IrValue real = node(m, OP_multiply, x[0], y[0]);
    IrValue other = node(m, OP_multiply, x[0], y[1]);
    out[0] = node(m, OP_subtract, real, node(m, OP_multiply, x[1], y[1]));
    out[1] = node(m, OP_add, other, node(m, OP_multiply, x[1], y[0]));
}

static IrValue
chosen(NestMaker *m, IrValue condition, IrValue x, IrValue y)
{
    IrValue operands[3] = {condition, x, y};
    return nest_node(m, OP_select, operands, 3, DT_COUNT);
}

/* x / y: by the larger part of y. NumPy multiplies by the reciprocal of the denominator. */
static void
quotient(NestMaker *m, const IrValue *x, const IrValue *y, IrDtype dtype, bool numpy,
         IrValue *out)
{
    IrValue sizes[2] = {nest_node(m, OP_absolute, &y[0], 1, DT_COUNT),
                        nest_node(m, OP_absolute, &y[1], 1, DT_COUNT)};
    IrValue by_real = node(m, OP_greater_equal, sizes[0], sizes[1]);
    IrValue large = chosen(m, by_real, y[0], y[1]),
            small = chosen(m, by_real, y[1], y[0]);
    IrValue ratio = node(m, OP_divide, small, large);
    IrValue below = node(m, OP_add, large, node(m, OP_multiply, small, ratio));
    IrValue real[2] = {node(m, OP_add, x[0], node(m, OP_multiply, x[1], ratio)),
                       node(m, OP_add, node(m, OP_multiply, x[0], ratio), x[1])};
    IrValue imag[2] = {node(m, OP_subtract, x[1], node(m, OP_multiply, x[0], ratio)),
                       node(m, OP_subtract, node(m, OP_multiply, x[1], ratio), x[0])};
    out[0] = chosen(m, by_real, real[0], real[1]);
    out[1] = chosen(m, by_real, imag[0], imag[1]);
    if (numpy)
        below = node(m, OP_divide, m->emits ? ir_const_float(m->graph, dtype, 1) : 0,
                     below);
    for (int i = 0; i < 2; i++) {
        out[i] = node(m, numpy ? OP_multiply : OP_divide, out[i], below);
        if (numpy) /* by zero */
            out[i] = chosen(m, node(m, OP_equal, sizes[0], zero(m, dtype)),
                            chosen(m, node(m, OP_equal, sizes[1], zero(m, dtype)),
                                   node(m, OP_divide, x[i], sizes[0]), out[i]),
                            out[i]);
    }
}

/* What is right of a Python complex number: float64 is a float to it, so the operator is Python's. */
static NestValue
right_of(const NestValue *x, const NestValue *y)
{
    NestValue right = *y;
    bool python =
        x->kind == NEST_complex || (x->kind == NEST_either && nest_is_complex(x));
    bool number = y->kind == NEST_scalar || y->kind == NEST_either;
    if (python && number && y->dtype == DT_float64) {
        right.kind = NEST_float;
        right.known = y->kind == NEST_scalar || y->known;
        right.tag = 0;
    }
    return right;
}

/* x ** n of Python's complex numbers: by squaring, and 1 / that. */
static void
python_power(NestMaker *m, const IrValue *x, int64_t n, IrValue *out)
{
    IrValue one = m->emits ? ir_const_float(m->graph, DT_float64, 1) : 0;
    IrValue first[2] = {one, zero(m, DT_float64)}, power[2] = {x[0], x[1]}, next[2];
    out[0] = first[0];
    out[1] = first[1];
    for (uint64_t left = (uint64_t)(n < 0 ? -n : n); left; left >>= 1) {
        if (left & 1) {
            product(m, out, power, next);
            out[0] = next[0];
            out[1] = next[1];
        }
        if (left > 1) {
            product(m, power, power, next);
            power[0] = next[0];
            power[1] = next[1];
        }
    }
    if (n <= 0) {
        NestValue by = nest_pair(NEST_complex, DT_complex128, out[0], out[1]);
        nest_check(m, nest_truth(m, &by).value); /* ZeroDivisionError */
        next[0] = out[0];
        next[1] = out[1];
        quotient(m, first, next, DT_float64, false, out);
    }
    for (int i = 0; i < 2; i++) { /* OverflowError */
        IrValue infinite = nest_node(m, OP_isinf, &out[i], 1, DT_COUNT);
        nest_check(m, nest_node(m, OP_logical_not, &infinite, 1, DT_COUNT));
    }
}

/* x * (x * x), which NumPy's function is for the exponent 3, but for 0. */
static void
cube(NestMaker *m, const IrValue *x, IrDtype dtype, IrValue *out)
{
    IrValue square[2], nothing = zero(m, dtype);
    product(m, x, x, square);
    product(m, x, square, out);
    IrValue none = node(m, OP_logical_and, node(m, OP_equal, x[0], nothing),
                        node(m, OP_equal, x[1], nothing));
    for (int i = 0; i < 2; i++)
        out[i] = chosen(m, none, nothing, out[i]);
}

/* NumPy's function, or Python's for whole exponents that are known. */
static NestValue
power(NestMaker *m, const NestValue *type, const NestValue *x, const NestValue *y)
{
    NestValue operands[2] = {*x, *y}, made = *type;
    IrValue base[2] = {x->value, x->imag}, out[2] = {0, 0};
    bool known = (y->kind == NEST_int && y->low == y->high) ||
                 (y->kind == NEST_float && y->constant);
    double n = y->kind == NEST_int ? (double)y->low : y->number;
    if (type->kind == NEST_scalar && x->kind == NEST_scalar &&
        x->dtype == type->dtype && known && n == 3) {
        cube(m, base, nest_part_dtype(x), out);
        made.value = out[0];
        made.imag = out[1];
        return made;
    }
    if (type->kind == NEST_scalar)
        return nest_numpy_loop(m, OP_power, type->dtype, operands, 2);
    if (x->kind != NEST_complex || !known || n != (double)(int64_t)n || n > 100 ||
        n < -100)
        return nest_fail(m, "a power of Python's complex numbers");
    python_power(m, base, (int64_t)n, out);
    made.value = out[0];
    made.imag = out[1];
    return made;
}

NestValue
nest_complex_binary(NestMaker *m, OperatorId id, const NestValue *x,
                    const NestValue *right)
{
    NestValue operands[2] = {*x, right_of(x, right)}, type;
    const NestValue *y = &operands[1];
    IrValue parts[2][2], out[2] = {0, 0};
    bool numpy = x->kind == NEST_scalar || y->kind == NEST_scalar;
    bool either = x->kind == NEST_either || y->kind == NEST_either;
    NestUfunc loop;
    type = nest_of(numpy    ? NEST_scalar
                   : either ? NEST_either
                            : NEST_complex,
                   DT_complex128, 0);
    if (numpy && !nest_resolve(m, id, operands, 2, &loop))
        return nest_fail(m, "an operator on these complex numbers");
    if (numpy)
        type.dtype = loop.out;
    bool differs = either && !numpy; /* of a real one the imaginary part stays +0 */
    if (differs &&
        (x->dtype == DT_float32 || y->dtype == DT_float32 || id == OPERATOR_truediv ||
         nest_may_be_whole(x) || nest_may_be_whole(y) ||
         (id == OPERATOR_mul && x->kind != NEST_complex && y->kind != NEST_complex)))
        return nest_fail(m,
                         "an operator on what is Python's complex number or NumPy's");
    nest_value_as(m, x, &type, parts[0]);
    nest_value_as(m, y, &type, parts[1]);
    if (m->failed || nest_part_dtype(&type) == type.dtype)
        return nest_fail(m, "an operator on complex numbers");
    if (id == OPERATOR_pow)
        return power(m, &type, x, y);
    switch (id) {
    case OPERATOR_add:
    case OPERATOR_sub:
        for (int i = 0; i < 2; i++)
            out[i] = node(m, id == OPERATOR_add ? OP_add : OP_subtract, parts[0][i],
                          parts[1][i]);
        break;
    case OPERATOR_mul:
        product(m, parts[0], parts[1], out);
        break;
    case OPERATOR_truediv:
        if (!numpy) { /* ZeroDivisionError */
            NestValue by =
                nest_pair(NEST_complex, DT_complex128, parts[1][0], parts[1][1]);
            nest_check(m, nest_truth(m, &by).value);
        }
        quotient(m, parts[0], parts[1], nest_part_dtype(&type), numpy, out);
        break;
    default:
        return nest_fail(m, "an operator on complex numbers");
    }
    type.value = out[0];
    type.imag = out[1];
    if (differs) {
        type.tag = nest_tag_larger(m, x, y, NEST_TAG_whole);
        type.known = true;
    }
    return type;
}

NestValue
nest_complex_unary(NestMaker *m, int op, const NestValue *x)
{
    NestValue made = *x;
    IrValue parts[2] = {x->value, x->imag};
    if (op == OPERATOR_pos)
        return made;
    if (x->kind == NEST_either)
        return nest_fail(m,
                         "an operator on what is Python's complex number or NumPy's");
    if (op == OPERATOR_neg) {
        made.value = nest_node(m, OP_negative, &parts[0], 1, DT_COUNT);
        made.imag = nest_node(m, OP_negative, &parts[1], 1, DT_COUNT);
        return made;
    }
    if (op != OPERATOR_abs)
        return nest_fail(m, "an operator on a complex number");
    bool wide = x->dtype == DT_complex128;
    IrDtype dtype = nest_part_dtype(x);
    NestKind kind = x->kind == NEST_complex ? NEST_float : x->kind;
    NestValue size = nest_of(
        kind, dtype, nest_call_library(m, wide ? "hypot" : "hypotf", parts, 2, dtype));
    if (kind != NEST_scalar && !m->failed) /* Python's OverflowError */
        nest_check(m, nest_node(m, OP_isfinite, &size.value, 1, DT_COUNT));
    return size;
}

NestValue
nest_complex_equal(NestMaker *m, int op, const NestValue *x, const NestValue *right)
{
    NestValue operands[2] = {*x, right_of(x, right)};
    const NestValue *y = &operands[1];
    NestValue type = nest_of(NEST_scalar, DT_complex128, 0);
    IrValue parts[2][2];
    NestUfunc loop;
    bool numpy = x->kind == NEST_scalar || y->kind == NEST_scalar;
    bool either = x->kind == NEST_either || y->kind == NEST_either;
    if (op != OPERATOR_eq && op != OPERATOR_ne)
        return nest_fail(m, "a comparison of complex numbers");
    if (numpy && !nest_resolve(m, (OperatorId)op, operands, 2, &loop))
        return nest_fail(m, "a comparison of these complex numbers");
    if (numpy)
        type.dtype = loop.in[0];
    else if (x->dtype == DT_float32 || y->dtype == DT_float32)
        return nest_fail(m, "a comparison of what is Python's number or NumPy's");
    for (int i = 0; i < 2 && !numpy; i++) /* Python compares an int by its value */
        nest_check_exact(m, &operands[i]);
    nest_parts_as(m, x, &type, parts[0]);
    nest_parts_as(m, y, &type, parts[1]);
    IrValue same = node(m, OP_logical_and, node(m, OP_equal, parts[0][0], parts[1][0]),
                        node(m, OP_equal, parts[0][1], parts[1][1]));
    if (op == OPERATOR_ne)
        same = nest_node(m, OP_logical_not, &same, 1, DT_COUNT);
    if (either && !numpy)
        return nest_either_truth(m, x, y, same);
    return nest_of(numpy ? NEST_scalar : NEST_bool, DT_boolean, same);
}
