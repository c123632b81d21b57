/* nest_function.c - NumPy's functions of complex numbers in a nest, and operators on elements of arrays.
**
** What NumPy's loops over arrays make of complex numbers is not what operators make of them one by
** one: products and magnitudes are rounded in other places (numpy_product, numpy_absolute). Ufuncs
** called by name are these loops, on numbers, too. Functions without a formula here are NumPy's own
** loops, which are called for one number.
*/
#include <math.h>
#include <string.h>

#include "trace/nest.h"

/* How complex numbers come to a result. */
static const char *const lowerings[OP_COUNT] = {
#define OP(name, class, arity, type, shape, flags, numpy, ident, sint, uint, flt, cpx, \
           bol, doc)                                                                   \
    [OP_##name] = #cpx,
#include "ir/ops.def"
#undef OP
};

static IrValue
node(NestMaker *m, IrOp op, IrValue x, IrValue y)
{
    IrValue operands[3] = {x, y, 0};
    return nest_node(m, op, operands, y ? 2 : 1, DT_COUNT);
}

static IrValue
node3(NestMaker *m, IrOp op, IrValue x, IrValue y, IrValue z)
{
    IrValue operands[3] = {x, y, z};
    return nest_node(m, op, operands, 3, DT_COUNT);
}

static IrValue
number(NestMaker *m, IrDtype dtype, double value)
{
    return m->emits && !m->failed ? ir_const_float(m->graph, dtype, value) : 0;
}

/* A call of NumPy's loop for operands of one dtype. */
NestValue
nest_numpy_loop(NestMaker *m, IrOp op, IrDtype dtype, const NestValue *operands,
                uint32_t n)
{
    NestValue type = nest_of(NEST_scalar, dtype, 0), made = type;
    bool truth = ir_op_class(op) == CLASS_compare;
    IrValue parts[4];
    uint32_t at = 0, nresults;
    if (truth)
        made.dtype = DT_boolean;
    for (uint32_t i = 0; i < n && !m->failed; i++)
        at += nest_parts_as(m, &operands[i], &type, parts + at);
    if (m->failed || !m->emits)
        return m->failed ? nest_fail(m, NULL) : made;
    IrType types[2] = {{.dtype = nest_part_dtype(&made)},
                       {.dtype = nest_part_dtype(&made)}};
    IrAttr attrs[2] = {
        {.key = "name", .kind = ATTR_text, .text = ir_op_numpy(op)},
        {.key = "numbers", .kind = ATTR_text, .text = ir_dtype_name(dtype)},
    };
    nresults = nest_nparts(&made);
    IrNode call =
        ir_node_typed(m->graph, OP_run_function, parts, at, attrs, 2, types, nresults);
    made.value = ir_result(m->graph, call, 0);
    if (nresults == 2)
        made.imag = ir_result(m->graph, call, 1);
    return made;
}

/* -- Formulas of NumPy's loops ------------------------------------------------------ */

/* True if the CPU rounds x * y + z once; NumPy's loops use that where there is it. */
static bool
rounds_once(const NestMaker *m)
{
    PyObject *recipes = m->trace->state->recipes;
    return recipes && PyDict_Size(recipes) > 0;
}

/* fma(a, c, -(b * d)), fma(a, d, b * c) */
static void
numpy_product(NestMaker *m, const IrValue *x, const IrValue *y, IrValue *out)
{
    if (!rounds_once(m))
        nest_fail(m, "a product of complex numbers as this CPU makes it");
    out[0] =
        node3(m, OP_multiply_subtract, x[0], y[0], node(m, OP_multiply, x[1], y[1]));
    out[1] = node3(m, OP_multiply_add, x[0], y[1], node(m, OP_multiply, x[1], y[0]));
}

/* l = max, s = min of |re|, |im|: sqrt(fma(s/l, s/l, 1)) * l; 0 for l = 0, inf if a part is. */
static IrValue
numpy_absolute(NestMaker *m, const IrValue *x, IrDtype dtype)
{
    IrValue zero = number(m, dtype, 0), one = number(m, dtype, 1),
            inf = number(m, dtype, INFINITY);
    IrValue re = node(m, OP_absolute, x[0], 0), im = node(m, OP_absolute, x[1], 0);
    if (!rounds_once(m))
        nest_fail(m, "a magnitude of complex numbers as this CPU makes it");
    if (!m->emits || m->failed)
        return 0;
    IrValue less = node(m, OP_less, re, im);
    IrValue large = node3(m, OP_select, less, im, re),
            small = node3(m, OP_select, less, re, im);
    IrValue none = node(m, OP_equal, large, zero);
    IrValue ratio = node(m, OP_divide, small, node3(m, OP_select, none, one, large));
    IrValue root = node(m, OP_sqrt, node3(m, OP_multiply_add, ratio, ratio, one), 0);
    IrValue size = node3(m, OP_select, none, small, node(m, OP_multiply, root, large));
    IrValue infinite =
        node(m, OP_logical_or, node(m, OP_equal, re, inf), node(m, OP_equal, im, inf));
    return node3(m, OP_select, infinite, inf, size);
}

/* True if it may have one element alone: NumPy takes what is done to that in place for a reduction, and rounds
** products of complex numbers in another way. */
bool
nest_is_one_complex(const NestValue *place)
{
    bool one = place->kind == NEST_array && place->view->ndim > 0 &&
               ir_dtype_kind(place->dtype) == KIND_complex;
    for (uint32_t d = 0; one && d < place->view->ndim; d++)
        one = place->view->extents[d].low <= 1 && place->view->extents[d].high >= 1;
    return one;
}

/* -- By name ----------------------------------------------------------------------- */

/* Called for one number and for all of an array NumPy's loop gives the same. */
bool
nest_is_numpys(IrOp op)
{
    return strcmp(lowerings[op], "numpy") == 0 || op == OP_cbrt || op == OP_arctan2 ||
           op == OP_hypot;
}

static NestValue
pair_of(NestMaker *m, const NestValue *x, const NestValue *type)
{
    IrValue parts[2] = {0, 0};
    nest_parts_as(m, x, type, parts);
    return nest_pair(NEST_scalar, type->dtype, parts[0], parts[1]);
}

static NestValue
of_parts(NestMaker *m, IrOp op, const NestValue *x)
{
    IrOp joins = op == OP_isfinite ? OP_logical_and : OP_logical_or;
    return nest_of(
        NEST_scalar, DT_boolean,
        m->emits ? node(m, joins, node(m, op, x->value, 0), node(m, op, x->imag, 0))
                 : 0);
}

/* An op with a formula; kind unbound: it has none here. */
static NestValue
formula(NestMaker *m, IrOp op, NestValue *x, bool array)
{
    IrDtype dtype = nest_part_dtype(&x[0]);
    IrValue a[2] = {x[0].value, x[0].imag}, b[2] = {x[1].value, x[1].imag};
    IrValue out[2] = {0, 0};
    NestValue made = x[0];
    switch (op) {
    case OP_add:
    case OP_subtract:
    case OP_divide:
        return nest_complex_binary(m,
                                   op == OP_add        ? OPERATOR_add
                                   : op == OP_subtract ? OPERATOR_sub
                                                       : OPERATOR_truediv,
                                   &x[0], &x[1]);
    case OP_multiply:
        numpy_product(m, a, b, out);
        return nest_pair(NEST_scalar, made.dtype, out[0], out[1]);
    case OP_square: /* of a single number it is another formula */
        if (!array)
            return nest_fail(m, "a square by its ufunc");
        numpy_product(m, a, a, out);
        return nest_pair(NEST_scalar, made.dtype, out[0], out[1]);
    case OP_absolute:
        return nest_of(NEST_scalar, dtype, numpy_absolute(m, a, dtype));
    case OP_negative:
        return nest_complex_unary(m, OPERATOR_neg, &x[0]);
    case OP_positive:
        return made;
    case OP_conjugate:
        made.imag = node(m, OP_negative, a[1], 0);
        return made;
    case OP_equal:
    case OP_not_equal:
        return nest_complex_equal(m, op == OP_equal ? OPERATOR_eq : OPERATOR_ne, &x[0],
                                  &x[1]);
    case OP_isnan:
    case OP_isinf:
    case OP_isfinite:
        return of_parts(m, op, &x[0]);
    default:
        return nest_of(NEST_unbound, DT_COUNT, 0);
    }
}

NestValue
nest_complex_function(NestMaker *m, const NestUfunc *loop, const NestValue *operands,
                      uint32_t n, bool array)
{
    NestValue x[2] = {nest_of(NEST_unbound, DT_COUNT, 0),
                      nest_of(NEST_unbound, DT_COUNT, 0)};
    if (n > 2 || loop->in[n - 1] != loop->in[0] || m->failed)
        return nest_fail(m, "a function of complex numbers");
    NestValue type = nest_of(NEST_scalar, loop->in[0], 0);
    for (uint32_t i = 0; i < n; i++)
        x[i] = pair_of(m, &operands[i], &type);
    NestValue made = m->failed ? x[0] : formula(m, loop->op, x, array);
    if (made.kind != NEST_unbound || m->failed)
        return m->failed ? nest_fail(m, NULL) : made;
    if (!nest_is_numpys(loop->op))
        return nest_fail(m, "this function of complex numbers");
    return nest_numpy_loop(m, loop->op, loop->in[0], x, n);
}
