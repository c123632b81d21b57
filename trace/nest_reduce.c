/* nest_reduce.c - reductions of arrays to one number in a nest, and dot products.
**
** Sums of floats are NumPy's tree over one run of elements; dot products of two vectors are the
** function that NumPy itself calls. Both have the bits they have outside of nests.
*/
#include <string.h>

#include "trace/nest.h"

enum { CAST_MAX = 128 /* integers whose mean is NumPy's whatever they are cast in */ };

static NestValue
in_memory(NestMaker *m, const NestTree *at, const NestValue *x)
{
    return x->kind == NEST_lazy ? nest_materialized(m, at, x) : *x;
}

/* The axis of the array that the vector goes along, and its step there. */
int64_t
nest_run_axis(const NestValue *vector, int64_t *step)
{
    for (uint32_t a = 0; a < vector->view->naxes; a++) {
        if (vector->view->axes[a].visible == 0) {
            *step = vector->view->axes[a].step;
            return a;
        }
    }
    *step = 0;
    return 0;
}

/* Operands of a run: the array and the indices of its first element. */
uint32_t
nest_run_operands(NestMaker *m, const NestValue *vector, IrValue *operands)
{
    IrValue first = m->emits ? ir_const_int(m->graph, DT_index, 0) : 0;
    operands[0] = m->arrays[vector->array].param;
    nest_address(m, vector, &first, operands + 1);
    return 1 + vector->view->naxes;
}

static IrAttr
int_attr(const char *key, const int64_t *number)
{
    return (IrAttr){.key = key, .kind = ATTR_ints, .count = 1, .ints = number};
}

/* All elements of an array that lies in a row, as a vector of them. */
static NestValue
flattened(NestMaker *m, const NestValue *x)
{
    const NestArray *array = &m->arrays[x->array];
    NestView *view = nest_take(m, sizeof *view);
    NestExtent all = {.low = 1, .high = 1};
    bool row = view && x->view->ndim == (uint32_t)array->ndim && array->in_row;
    for (uint32_t d = 0; row && d < x->view->ndim; d++) {
        const NestAxis *axis = &x->view->axes[d];
        const NestExtent *extent = &x->view->extents[d];
        row = axis->visible == (int)d && axis->step == 1 && !axis->start &&
              extent->low == extent->high && extent->low == array->shape[d];
        IrValue both[2] = {all.value, extent->value};
        all.value = d ? nest_node(m, OP_imul, both, 2, DT_COUNT) : extent->value;
        all.low *= extent->low;
    }
    if (!row)
        return nest_fail(m, "a sum over several axes");
    all.high = all.low;
    *view = (NestView){.naxes = x->view->naxes, .ndim = 1};
    for (uint32_t a = 0; a < view->naxes; a++)
        view->axes[a] = (NestAxis){.visible = a + 1 < view->naxes ? -1 : 0, .step = 1};
    view->extents[0] = all;
    NestValue flat = *x;
    flat.view = view;
    return flat;
}

static NestValue
sum_of_floats(NestMaker *m, const NestTree *at, const NestValue *x)
{
    NestValue vector = in_memory(m, at, x);
    IrValue operands[2 + NEST_INDICES_MAX];
    IrType type = {.dtype = vector.dtype};
    int64_t step, axis;
    if (!m->failed && nest_ndim(&vector) > 1)
        vector = flattened(m, &vector);
    if (m->failed)
        return nest_fail(m, NULL);
    NestValue sum = nest_of(NEST_scalar, vector.dtype, 0);
    if (!m->emits)
        return sum;
    axis = nest_run_axis(&vector, &step);
    operands[0] = nest_extents(&vector)[0].value;
    uint32_t n = 1 + nest_run_operands(m, &vector, operands + 1);
    int64_t wide = 1;
    IrAttr attrs[3] = {int_attr("axis", &axis), int_attr("step", &step),
                       int_attr("wide", &wide)};
    IrNode node = ir_node_typed(m->graph, OP_run_sum, operands, n, attrs,
                                m->strict ? 2 : 3, &type, 1);
    IrValue both[2] = {ir_result(m->graph, node, 0),
                       ir_const_float(m->graph, vector.dtype, 0)};
    sum.value = nest_node(m, OP_add, both, 2, DT_COUNT);
    return sum;
}

/* True if the elements of a vector in memory lie one behind the other, with gaps or without. */
static bool
lies_forwards(const NestMaker *m, const NestValue *x)
{
    const NestArray *array = &m->arrays[x->array];
    int64_t step, axis = nest_run_axis(x, &step);
    if (!array->object || array->list)
        return step > 0;
    npy_intp stride = ((Tracer *)array->object)->strides[axis];
    return stride && (stride < 0) == (step < 0);
}

/* The vector in memory, forwards if it has to be. */
static NestValue
forwards(NestMaker *m, const void *key, const NestValue *x, bool copies)
{
    if (x->kind == NEST_array && (!copies || lies_forwards(m, x)))
        return *x;
    NestValue made = nest_scratch(m, key, x->dtype, 1, nest_extents(x));
    if (!m->failed)
        nest_fill(m, NULL, &made, x, NULL);
    return made;
}

NestValue
nest_dot(NestMaker *m, const NestTree *at, const NestValue *x, const NestValue *y,
         bool copies)
{
    IrValue operands[3 + 2 * NEST_INDICES_MAX];
    int64_t axes[2], steps[2], first;
    m->rows = true;
    nest_count_calls(m, 10);
    if (m->failed || !nest_is_array(x) || !nest_is_array(y) || nest_mask_of(x) ||
        nest_mask_of(y) || nest_ndim(x) != 1 || nest_ndim(y) != 1 ||
        x->dtype != y->dtype || (x->dtype != DT_float64 && x->dtype != DT_float32))
        return nest_fail(m, "a product of matrices");
    /* np.dot copies what goes backwards; memory of its own for each of the two. */
    NestValue a = forwards(m, at, x, copies);
    NestValue b = m->failed ? a : forwards(m, (const char *)at + 1, y, copies);
    if (!m->failed) {
        NestExtent length = nest_extents(&a)[0];
        nest_same_extent(m, &length, &nest_extents(&b)[0]);
    }
    NestValue dot = nest_of(NEST_scalar, x->dtype, 0);
    if (m->failed || !m->emits)
        return m->failed ? nest_fail(m, NULL) : dot;
    operands[0] = nest_extents(&a)[0].value;
    first = nest_run_operands(m, &a, operands + 1);
    uint32_t n = 1 + (uint32_t)first;
    n += nest_run_operands(m, &b, operands + n);
    axes[0] = nest_run_axis(&a, &steps[0]);
    axes[1] = nest_run_axis(&b, &steps[1]);
    IrAttr attrs[2] = {
        {.key = "axes", .kind = ATTR_ints, .count = 2, .ints = axes},
        {.key = "steps", .kind = ATTR_ints, .count = 2, .ints = steps},
    };
    IrType type = {.dtype = x->dtype};
    IrNode node = ir_node_typed(m->graph, OP_run_dot, operands, n, attrs, 2, &type, 1);
    dot.value = ir_result(m->graph, node, 0);
    return dot;
}

/* -- Element by element ------------------------------------------------------------ */

typedef struct Fold {
    IrOp op;
    IrDtype dtype; /* of what is carried */
    const NestValue *x;
    IrValue k[NEST_INDICES_MAX];
} Fold;

static NestValue
folded(NestMaker *m, const Fold *f, IrValue carried)
{
    NestValue type = nest_of(NEST_scalar, f->dtype, 0);
    NestValue element = nest_element(m, f->x, nest_ndim(f->x), f->k);
    if (f->dtype == DT_boolean && !m->failed)
        element = nest_truth(m, &element);
    IrValue operands[2] = {carried, m->failed ? 0 : nest_as(m, &element, &type)};
    type.value = nest_node(m, f->op, operands, 2, DT_COUNT);
    return type;
}

static IrValue
fold_axis(NestMaker *m, Fold *f, uint32_t axis, IrValue carried)
{
    NestLoop loop;
    if (axis == nest_ndim(f->x))
        return folded(m, f, carried).value;
    IrValue inside =
        nest_loop_open(m, &loop, &nest_extents(f->x)[axis], &carried, f->dtype);
    f->k[axis] = loop.index;
    inside = fold_axis(m, f, axis + 1, inside);
    return nest_loop_close(m, &loop, inside);
}

static NestValue
fold(NestMaker *m, IrOp op, IrDtype dtype, const NestValue *x, bool from_first)
{
    Fold f = {.op = op, .dtype = dtype, .x = x};
    NestValue made = nest_of(NEST_scalar, dtype, 0);
    IrValue start = 0;
    if (from_first) { /* there has to be one */
        for (uint32_t d = 0; d < nest_ndim(x); d++) {
            NestValue n = nest_extent_int(m, &nest_extents(x)[d]);
            nest_bounded(m, &n, 1, INT64_MAX);
            f.k[d] = m->emits ? ir_const_int(m->graph, DT_index, 0) : 0;
        }
        start = nest_element(m, x, nest_ndim(x), f.k).value;
    } else if (m->emits)
        start = ir_const_int(m->graph, dtype, op == OP_logical_and);
    made.value = fold_axis(m, &f, 0, start);
    return m->failed ? nest_fail(m, NULL) : made;
}

/* -- By name ----------------------------------------------------------------------- */

static NestValue
sum(NestMaker *m, const NestTree *at, const NestValue *x)
{
    switch (ir_dtype_kind(x->dtype)) {
    case KIND_float:
        return sum_of_floats(m, at, x);
    case KIND_uint:
        return fold(m, OP_add, DT_uint64, x, false);
    case KIND_bool:
    case KIND_int:
        return fold(m, OP_add, DT_int64, x, false);
    default:
        return nest_fail(m, "a sum of this dtype");
    }
}

static NestValue
mean(NestMaker *m, const NestTree *at, const NestValue *x)
{
    NestValue n, total, number = *x;
    if (nest_ndim(x) != 1)
        return nest_fail(m, "a mean over several axes");
    if (ir_dtype_kind(x->dtype) != KIND_float) {
        if (nest_extents(x)[0].high > CAST_MAX)
            return nest_fail(m, "a mean of so many integers");
        number = nest_lazy(m, NEST_astype, DT_float64, NULL, DT_float64, x, 1);
    }
    n = nest_extent_int(m, &nest_extents(x)[0]);
    n = nest_bounded(m, &n, 1, INT64_MAX);
    total = m->failed ? n : sum_of_floats(m, at, &number);
    return m->failed ? nest_fail(m, NULL)
                     : nest_binary(m, OPERATOR_truediv, &total, &n);
}

/* The mean of the squares of what elements are off the mean, of float64. */
static NestValue
variance(NestMaker *m, const NestTree *at, const NestValue *x)
{
    if (nest_ndim(x) != 1 || x->dtype != DT_float64)
        return nest_fail(m, "a variance over several axes, or not of float64");
    NestValue n = nest_extent_int(m, &nest_extents(x)[0]);
    NestValue off[2] = {*x, mean(m, at, x)};
    NestValue distance =
        nest_lazy(m, NEST_operator, OPERATOR_sub, NULL, DT_COUNT, off, 2);
    if (m->failed)
        return nest_fail(m, NULL);
    NestValue both[2] = {distance, distance};
    NestValue square =
        nest_lazy(m, NEST_operator, OPERATOR_mul, NULL, DT_COUNT, both, 2);
    NestValue place = m->failed ? square
                                : nest_scratch(m, (const char *)at + 2, square.dtype, 1,
                                               nest_extents(&square));
    if (!m->failed)
        nest_fill(m, NULL, &place, &square, NULL);
    NestValue total = m->failed ? n : sum_of_floats(m, at, &place);
    return m->failed ? nest_fail(m, NULL)
                     : nest_binary(m, OPERATOR_truediv, &total, &n);
}

static NestValue
deviation(NestMaker *m, const NestTree *at, const NestValue *x)
{
    NestValue square = variance(m, at, x);
    if (!m->failed)
        square.value = nest_node(m, OP_sqrt, &square.value, 1, DT_COUNT);
    return square;
}

/* True if x comes before y: it is more, or less; a NaN before all others. */
static IrValue
precedes(NestMaker *m, IrOp op, const NestValue *x, const NestValue *y)
{
    IrValue operands[2] = {x->value, y->value};
    IrValue more = nest_node(m, op, operands, 2, DT_COUNT);
    if (ir_dtype_kind(x->dtype) != KIND_float)
        return more;
    IrValue nan = nest_node(m, OP_isnan, &operands[0], 1, DT_COUNT),
            other = nest_node(m, OP_isnan, &operands[1], 1, DT_COUNT);
    IrValue first[2] = {nan, nest_node(m, OP_logical_not, &other, 1, DT_COUNT)};
    IrValue either[2] = {more, nest_node(m, OP_logical_and, first, 2, DT_COUNT)};
    return nest_node(m, OP_logical_or, either, 2, DT_COUNT);
}

/* Where the first greatest, or least, element of a vector is. */
static NestValue
position(NestMaker *m, const NestTree *at, IrOp op, const NestValue *given)
{
    NestValue x = nest_settled(m, at, *given);
    if (m->failed || nest_ndim(&x) != 1 || ir_dtype_kind(x.dtype) == KIND_bool)
        return nest_fail(m, "a position in several axes, or of bools");
    NestLoop loop;
    NestValue n = nest_extent_int(m, &nest_extents(&x)[0]);
    nest_bounded(m, &n, 1, INT64_MAX);
    IrValue carried = m->emits ? ir_const_int(m->graph, DT_int64, 0) : 0;
    IrValue best = nest_loop_open(m, &loop, &nest_extents(&x)[0], &carried, DT_int64);
    NestValue place = nest_int(best, 0, nest_extents(&x)[0].high);
    IrValue held = nest_index(m, &place);
    NestValue element = nest_element(m, &x, 1, &loop.index),
              other = nest_element(m, &x, 1, &held);
    IrValue index = nest_from_index(m, loop.index, 0, INT64_MAX).value;
    IrValue choice[3] = {m->failed ? 0 : precedes(m, op, &element, &other), index,
                         best};
    carried = nest_loop_close(m, &loop, nest_node(m, OP_select, choice, 3, DT_COUNT));
    return m->failed ? nest_fail(m, NULL) : nest_of(NEST_scalar, DT_int64, carried);
}

NestValue
nest_reduction(NestMaker *m, const NestTree *at, const char *name, const NestValue *x)
{
    NestValue packed;
    if (m->failed || !nest_is_array(x))
        return nest_of(NEST_unbound, DT_COUNT, 0);
    m->rows = true;
    nest_count_calls(m, 20);
    if (ir_dtype_kind(x->dtype) == KIND_complex)
        return nest_fail(m, "a reduction of complex numbers");
    if (nest_mask_of(x)) {
        packed = nest_compressed(m, at, x);
        x = &packed;
    }
    if (m->failed)
        return nest_fail(m, NULL);
    if (strcmp(name, "sum") == 0)
        return sum(m, at, x);
    if (strcmp(name, "mean") == 0)
        return mean(m, at, x);
    if (strcmp(name, "var") == 0)
        return variance(m, at, x);
    if (strcmp(name, "std") == 0)
        return deviation(m, at, x);
    if (strcmp(name, "argmax") == 0)
        return position(m, at, OP_greater, x);
    if (strcmp(name, "argmin") == 0)
        return position(m, at, OP_less, x);
    if (strcmp(name, "max") == 0 || strcmp(name, "amax") == 0)
        return fold(m, OP_maximum, x->dtype, x, true);
    if (strcmp(name, "min") == 0 || strcmp(name, "amin") == 0)
        return fold(m, OP_minimum, x->dtype, x, true);
    if (strcmp(name, "any") == 0)
        return fold(m, OP_logical_or, DT_boolean, x, false);
    if (strcmp(name, "all") == 0)
        return fold(m, OP_logical_and, DT_boolean, x, false);
    return nest_of(NEST_unbound, DT_COUNT, 0);
}
