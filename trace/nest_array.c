/* nest_array.c - arrays in a nest: elements that are computed where they are used, loops over them.
**
** An operation on arrays is a lazy value: its elements are computed where it is stored, reduced or
** given a name, in a loop over its axes. A right-hand side that reads what is about to be written
** elsewhere than at the same element is computed into memory of its own first, as NumPy does.
*/
#include <string.h>

#include "trace/nest.h"

enum { LARGE = 1 << 16 /* elements */ };

/* -- Shapes ------------------------------------------------------------------------ */

static bool
is_one(const NestExtent *extent)
{
    return extent->low == 1 && extent->high == 1;
}

/* Extents that have to be equal, and are so or are checked. */
void
nest_same_extent(NestMaker *m, NestExtent *x, const NestExtent *y)
{
    bool known = x->low == x->high && y->low == y->high;
    if (known && x->low != y->low)
        nest_fail(m, "shapes that do not fit");
    if (known || (x->value && x->value == y->value) || m->failed)
        return;
    NestValue a = nest_extent_int(m, x), b = nest_extent_int(m, y);
    nest_check(m, nest_compare(m, OPERATOR_eq, &a, &b).value);
}

static uint32_t
broadcast(NestMaker *m, const NestValue *operands, uint32_t n, NestExtent *extents)
{
    uint32_t ndim = 0;
    for (uint32_t i = 0; i < n; i++)
        ndim = nest_ndim(&operands[i]) > ndim ? nest_ndim(&operands[i]) : ndim;
    for (uint32_t d = 0; d < ndim && !m->failed; d++) {
        bool set = false;
        for (uint32_t i = 0; i < n && !m->failed; i++) {
            uint32_t skip = ndim - nest_ndim(&operands[i]);
            if (d < skip)
                continue;
            const NestExtent *extent = &nest_extents(&operands[i])[d - skip];
            if (!set || (is_one(&extents[d]) && !is_one(extent)))
                extents[d] = *extent;
            else if (!is_one(extent))
                nest_same_extent(m, &extents[d], extent);
            set = true;
        }
    }
    return ndim;
}

/* True if all axes go forwards. */
static bool
goes_forwards(const NestMaker *m, const NestValue *x)
{
    bool forwards = m->arrays[x->array].in_row;
    for (uint32_t a = 0; forwards && a < x->view->naxes; a++)
        forwards = x->view->axes[a].visible < 0 || x->view->axes[a].step > 0;
    return forwards;
}

static NestValue make_one(NestMaker *m, const NestLazy *lazy, const NestValue *x);

NestValue
nest_lazy(NestMaker *m, NestMake make, int number, PyObject *object, IrDtype dtype,
          const NestValue *operands, uint32_t n)
{
    NestLazy *lazy = nest_take(m, sizeof *lazy);
    NestValue scalars[3], made;
    bool emits = m->emits, checks;
    if (!lazy || m->failed || n > 3)
        return nest_fail(m, NULL);
    for (uint32_t i = 0; i < n; i++) {
        if (operands[i].dtype == DT_complex64 && operands[i].kind == NEST_array &&
            !goes_forwards(m, &operands[i]))
            return nest_fail(m,
                             "complex64 that may lie backwards"); /* has another loop */
    }
    *lazy = (NestLazy){.make = make, .number = number, .object = object, .n = n};
    lazy->stores = m->stores;
    if (make != NEST_masked && !nest_mask_common(operands, n, &lazy->mask))
        return nest_fail(m, "selections by several masks");
    memcpy(lazy->operands, operands, n * sizeof *operands);
    lazy->ndim = broadcast(m, operands + (make == NEST_gather),
                           n - (make == NEST_gather), lazy->extents);
    if (make == NEST_masked)
        lazy->mask = &lazy->operands[1];
    made = nest_of(NEST_lazy, dtype, 0);
    made.lazy = lazy;
    checks = m->checks;
    m->emits = false; /* for its dtype alone */
    for (uint32_t i = 0; i < n; i++)
        scalars[i] = nest_is_array(&operands[i])
                         ? nest_of(NEST_scalar, operands[i].dtype, 0)
                         : operands[i];
    NestValue one = make_one(m, lazy, scalars);
    made.dtype = one.dtype;
    m->emits = emits;
    m->checks = checks;
    return m->failed ? nest_fail(m, NULL) : made;
}

/* What is computed when it is used must not be used behind a store, as one in a function that is called beside it. */
void
nest_be_fresh(NestMaker *m, const NestValue *x)
{
    if (x->kind == NEST_lazy && x->lazy->stores != m->stores)
        nest_fail(m, "an operand that a store comes behind");
}

/* -- Elements ---------------------------------------------------------------------- */

/* Of complex numbers the short cuts are for Python's ints alone, but for roots. */
static NestValue
complex_power(NestMaker *m, const NestValue *x, const NestValue *y, double c)
{
    NestValue operands[2] = {*x, *y};
    bool simple = x->kind == NEST_scalar && nest_is_complex(x);
    NestUfunc loop = {.in = {x->dtype}, .out = x->dtype};
    if (y->kind == NEST_float && !y->constant)
        return nest_fail(m, "a power of complex numbers by a float that is not known");
    if (y->kind == NEST_int && y->low != y->high)
        return nest_fail(m, "a power of complex numbers by an int that is not known");
    loop.op = c == 0.5 && y->kind == NEST_float ? OP_sqrt
              : c == 2 && y->kind == NEST_int   ? OP_square
              : c == -1 && y->kind == NEST_int  ? OP_reciprocal
                                                : OP_power;
    if (simple && loop.op != OP_power)
        return nest_complex_function(m, &loop, operands, 1, true);
    return nest_complex_operator(m, OPERATOR_pow, operands, 2);
}

/* x ** y of arrays: NumPy's short cuts, else a recipe; as trace/power.c has them. */
static NestValue
power(NestMaker *m, const NestValue *x, const NestValue *y)
{
    bool known = (y->kind == NEST_int && y->low == y->high) ||
                 (y->kind == NEST_float && y->constant);
    bool real = x->dtype == DT_float32 || x->dtype == DT_float64;
    double c = y->kind == NEST_int ? (double)y->low : y->number;
    if (nest_is_complex(x) || nest_is_complex(y))
        return complex_power(m, x, y, known ? c : 5);
    if (!known || x->kind != NEST_scalar || (!real && (y->kind != NEST_int || c < 0)) ||
        x->dtype == DT_boolean)
        return nest_fail(m, "a power of an array");
    if (!real && c != 2)
        return nest_binary(m, OPERATOR_pow, x, y);
    NestValue square = nest_binary(m, OPERATOR_mul, x, x), made = *x;
    if (c == 2)
        return square;
    if (c == 1)
        return *x;
    if (c == 0.5 || c == -1) {
        made.value =
            nest_node(m, c == 0.5 ? OP_sqrt : OP_reciprocal, &x->value, 1, DT_COUNT);
        return made;
    }
    if (m->strict)
        return nest_fail(m, "a power of NumPy's own");
    if (c == 3 || c == 4)
        return nest_binary(m, OPERATOR_mul, &square, c == 3 ? x : &square);
    IrValue operands[2] = {x->value, nest_as(m, y, x)};
    made.value = nest_node(m, OP_power, operands, 2, DT_COUNT);
    return made;
}

static IrValue
selected(NestMaker *m, IrValue truth, IrValue x, IrValue y)
{
    IrValue operands[3] = {truth, x, y};
    return nest_node(m, OP_select, operands, 3, DT_COUNT);
}

static NestValue
make_one(NestMaker *m, const NestLazy *lazy, const NestValue *x)
{
    NestValue to;
    IrValue parts[2][2];
    switch (lazy->make) {
    case NEST_operator:
        if (lazy->number == OPERATOR_pow)
            return power(m, &x[0], &x[1]);
        if (nest_is_complex(&x[0]) || (lazy->n == 2 && nest_is_complex(&x[1])))
            return nest_complex_operator(m, (OperatorId)lazy->number, x, lazy->n);
        if (lazy->n == 1)
            return nest_unary(m, lazy->number, &x[0]);
        return lazy->number >= OPERATOR_lt && lazy->number <= OPERATOR_ge
                   ? nest_compare(m, lazy->number, &x[0], &x[1])
                   : nest_binary(m, (OperatorId)lazy->number, &x[0], &x[1]);
    case NEST_gather: /* for its dtype alone */
    case NEST_masked:
        return x[0];
    case NEST_ufunc_:
        return nest_ufunc(m, lazy->object, x, lazy->n, true);
    case NEST_astype:
        to = nest_of(NEST_scalar, (IrDtype)lazy->number, 0);
        nest_parts_as(m, &x[0], &to, parts[0]);
        to.value = parts[0][0];
        to.imag = nest_is_complex(&to) ? parts[0][1] : 0;
        return to;
    default: { /* NEST_select: x[0] ? x[1] : x[2], of one dtype */
        NestValue truth = nest_truth(m, &x[0]);
        to = nest_of(NEST_scalar, (IrDtype)lazy->number, 0);
        nest_parts_as(m, &x[1], &to, parts[0]);
        nest_parts_as(m, &x[2], &to, parts[1]);
        for (uint32_t k = 0; k < nest_nparts(&to) && !m->failed; k++)
            *nest_part_at(&to, &to, k) =
                selected(m, truth.value, parts[0][k], parts[1][k]);
        return to;
    }
    }
}

NestValue
nest_element(NestMaker *m, const NestValue *x, uint32_t ndim, const IrValue *k)
{
    IrValue own[NEST_INDICES_MAX], indices[1 + NEST_INDICES_MAX];
    NestValue operands[3];
    uint32_t n = nest_ndim(x), skip = ndim - n;
    if (m->failed || !nest_is_array(x))
        return *x;
    for (uint32_t d = 0; d < n; d++) {
        own[d] = k[skip + d];
        if (is_one(&nest_extents(x)[d]) && m->emits)
            own[d] = ir_const_int(m->graph, DT_index, 0);
    }
    if (x->kind == NEST_array) {
        const NestArray *array = &m->arrays[x->array];
        indices[0] = array->param;
        nest_address(m, x, own, indices + 1);
        return nest_load(m, array, indices, x->view->naxes);
    }
    nest_be_fresh(m, x);
    if (x->lazy->make == NEST_masked)
        return nest_element(m, &x->lazy->operands[0], n, own);
    if (x->lazy->make == NEST_gather) {
        NestValue index = nest_element(m, &x->lazy->operands[1], n, own);
        NestValue place =
            m->failed ? index : nest_select_at(m, &x->lazy->operands[0], &index);
        return m->failed ? nest_fail(m, NULL) : nest_read(m, &place);
    }
    for (uint32_t i = 0; i < x->lazy->n; i++)
        operands[i] = nest_element(m, &x->lazy->operands[i], n, own);
    return m->failed ? nest_fail(m, NULL) : make_one(m, x->lazy, operands);
}

/* -- Loops ------------------------------------------------------------------------- */

IrValue
nest_loop_open(NestMaker *m, NestLoop *loop, const NestExtent *extent, IrValue *carried,
               IrDtype dtype)
{
    *loop = (NestLoop){.carries = carried != NULL};
    nest_count_calls(m, 4);
    if (!m->emits || m->failed)
        return 0;
    loop->operands[0] = extent->value;
    loop->region = ir_region_open(m->graph);
    loop->index =
        ir_region_param(m->graph, loop->region, (IrType){.dtype = DT_index}, NULL);
    if (!carried)
        return 0;
    loop->operands[1] = *carried;
    return ir_region_param(m->graph, loop->region, (IrType){.dtype = dtype}, NULL);
}

IrValue
nest_loop_close(NestMaker *m, NestLoop *loop, IrValue carried)
{
    if (!m->emits || m->failed)
        return 0;
    ir_region_yield(m->graph, loop->region, &carried, loop->carries);
    IrNode node = ir_control(m->graph, OP_for, loop->operands, 1 + loop->carries,
                             &loop->region, 1, NULL, 0);
    return loop->carries ? ir_result(m->graph, node, 0) : 0;
}

/* -- Memory ------------------------------------------------------------------------ */

NestValue
nest_scratch(NestMaker *m, const void *key, IrDtype dtype, uint32_t ndim,
             const NestExtent *extents)
{
    uint32_t at = 0;
    if (m->failed)
        return nest_fail(m, NULL);
    while (at < m->narrays && m->arrays[at].key != key)
        at++;
    if (ndim == 0 || ndim > NEST_INDICES_MAX || !nest_has_code(dtype))
        return nest_fail(m, "memory for this");
    if (at == m->narrays) {
        if (m->emits || m->narrays == NEST_ARRAYS_MAX)
            return nest_fail(m, "so many arrays");
        m->arrays[m->narrays++] =
            (NestArray){.key = key, .ndim = (int)ndim, .dtype = dtype, .in_row = true};
    }
    NestArray *array = &m->arrays[at];
    if (array->ndim != (int)ndim || array->dtype != dtype)
        return nest_fail(m, "memory of one kind or another");
    for (uint32_t d = 0; d < ndim; d++) {
        int64_t most = extents[d].high;
        if (most > 1 << 28)
            return nest_fail(m, "memory whose size is not known");
        if (!m->emits && most > array->shape[d])
            array->shape[d] = most;
        if (most > array->shape[d])
            return nest_fail(m, "memory of another size than was thought");
    }
    NestValue whole = nest_whole(m, at);
    if (m->failed)
        return whole;
    NestView *view = nest_take(m, sizeof *view);
    if (!view)
        return nest_fail(m, NULL);
    *view = *whole.view;
    view->whole = false;
    memcpy(view->extents, extents, ndim * sizeof *extents);
    whole.view = view;
    return whole;
}

/* True if NumPy's array of what is computed from x element by element may have its axes in another order than C's. */
static bool
is_swapped(const NestMaker *m, const NestValue *x)
{
    bool swapped = false;
    int last = -1;
    for (uint32_t i = 0; x->kind == NEST_lazy && i < x->lazy->n; i++)
        swapped |= is_swapped(m, &x->lazy->operands[i]);
    if (x->kind != NEST_array || x->view->ndim < 2)
        return swapped;
    for (uint32_t i = 0; i < x->view->naxes; i++) {
        if (x->view->axes[i].visible < 0)
            continue;
        swapped |= x->view->axes[i].visible < last;
        last = x->view->axes[i].visible;
    }
    return swapped || m->arrays[x->array].swapped;
}

NestValue
nest_materialized(NestMaker *m, const NestTree *at, const NestValue *x)
{
    if (nest_mask_of(x))
        return nest_compressed(m, at, x);
    NestValue place = nest_scratch(m, at, x->dtype, nest_ndim(x), nest_extents(x));
    if (!m->failed) {
        m->arrays[place.array].swapped |= is_swapped(m, x);
        nest_fill(m, NULL, &place, x, NULL);
    }
    return m->failed ? nest_fail(m, NULL) : place;
}

NestValue
nest_settled(NestMaker *m, const NestTree *at, NestValue x)
{
    return x.kind == NEST_lazy && !m->failed ? nest_materialized(m, at, &x) : x;
}

/* -- Stores ------------------------------------------------------------------------ */

bool
nest_same_place(const NestValue *x, const NestValue *y)
{
    const NestView *a = x->view, *b = y->view;
    bool same = x->array == y->array && a->naxes == b->naxes && a->ndim == b->ndim;
    for (uint32_t d = 0; same && d < a->ndim; d++) {
        const NestExtent *m = &a->extents[d], *n = &b->extents[d];
        same = m->value == n->value ||
               (m->low == m->high && n->low == n->high && m->low == n->low);
    }
    for (uint32_t i = 0; same && i < a->naxes; i++)
        same = a->axes[i].visible == b->axes[i].visible &&
               a->axes[i].step == b->axes[i].step &&
               a->axes[i].start == b->axes[i].start;
    return same;
}

/* True if an axis of both is one index, and not the same. */
static bool
disjoint(const NestValue *x, const NestValue *y)
{
    for (uint32_t i = 0; i < x->view->naxes; i++) {
        const NestAxis *a = &x->view->axes[i], *b = &y->view->axes[i];
        if (a->visible < 0 && b->visible < 0 && a->root == b->root &&
            a->more != b->more && (a->root || (a->start && b->start)))
            return true;
    }
    return false;
}

/* True if the value reads what a store to `place` may have changed before. */
static bool
meets(const NestValue *x, const NestValue *place)
{
    if (x->kind == NEST_array)
        return x->array == place->array && !nest_same_place(x, place) &&
               !disjoint(x, place);
    if (x->kind != NEST_lazy)
        return false;
    if (x->lazy->make == NEST_gather && x->lazy->operands[0].array == place->array)
        return true;
    for (uint32_t i = 0; i < x->lazy->n; i++) {
        if (meets(&x->lazy->operands[i], place))
            return true;
    }
    return false;
}

static bool
reads(const NestValue *x, uint32_t array)
{
    if (x->kind == NEST_array)
        return x->array == array;
    for (uint32_t i = 0; x->kind == NEST_lazy && i < x->lazy->n; i++) {
        if (reads(&x->lazy->operands[i], array))
            return true;
    }
    return false;
}

/* The axis of the array that a row of it runs along. */
static const NestAxis *
row_axis(const NestView *view)
{
    const NestAxis *axis = view->axes;
    while (axis->visible < 0)
        axis++;
    return axis;
}

/* How far x is beyond y, of two indices; 0 is none. */
static NestValue
beyond(NestMaker *m, IrValue x, IrValue y)
{
    IrValue zero = ir_const_int(m->graph, DT_index, 0);
    IrValue both[2] = {x ? x : zero, y ? y : zero};
    return nest_from_index(m, nest_node(m, OP_isub, both, 2, DT_COUNT), INT64_MIN,
                           INT64_MAX);
}

/* Leaves the nest where an element of the row `value` is one of the row `place`, at another index: NumPy copies rows
** of other steps as they come, without regard to what it has written. Rows along different axes cross at an
** element, or not at all. */
static void
check_crossing(NestMaker *m, const NestValue *value, const NestValue *place)
{
    const NestView *x = value->view, *y = place->view;
    const NestAxis *along = row_axis(x), *across = row_axis(y);
    ptrdiff_t at = along - x->axes, by = across - y->axes;
    if (at == by) {
        if (along->step != across->step && (along->step < 0) == (across->step < 0))
            nest_fail(m, "a store of a row into one of other steps");
        return;
    }
    if (along->step != 1 || across->step != 1)
        nest_fail(m, "a store of a row that crosses it in steps");
    m->checks = true;
    if (m->failed || !m->emits)
        return;
    NestValue zero = nest_const_int(m, 0), k[2];
    k[0] = beyond(m, y->axes[at].start, along->start);
    k[1] = beyond(m, x->axes[by].start, across->start);
    IrValue good[2] = {nest_compare(m, OPERATOR_eq, &k[0], &k[1]).value, 0};
    for (int side = 0; side < 2; side++) {
        NestValue n = nest_extent_int(m, side ? &y->extents[0] : &x->extents[0]);
        good[1] = nest_compare(m, OPERATOR_lt, &k[side], &zero).value;
        good[0] = nest_node(m, OP_logical_or, good, 2, DT_COUNT);
        good[1] = nest_compare(m, OPERATOR_ge, &k[side], &n).value;
        good[0] = nest_node(m, OP_logical_or, good, 2, DT_COUNT);
    }
    for (uint32_t i = 0; i < x->naxes; i++) {
        NestValue apart = beyond(m, x->axes[i].start, y->axes[i].start);
        if (i == at || i == by)
            continue;
        good[1] = nest_compare(m, OPERATOR_ne, &apart, &zero).value;
        good[0] = nest_node(m, OP_logical_or, good, 2, DT_COUNT);
    }
    nest_check(m, good[0]);
}

static void
fill_axis(NestMaker *m, const NestValue *place, const NestValue *value,
          const NestValue *mask, uint32_t axis, IrValue *k)
{
    const NestView *view = place->view;
    NestLoop loop;
    if (axis < view->ndim) {
        nest_loop_open(m, &loop, &view->extents[axis], NULL, DT_COUNT);
        k[axis] = loop.index;
        fill_axis(m, place, value, mask, axis + 1, k);
        nest_loop_close(m, &loop, 0);
        return;
    }
    IrValue indices[NEST_INDICES_MAX];
    NestValue element = nest_element(m, value, view->ndim, k);
    if (mask && !m->failed) {
        NestValue truth = nest_element(m, mask, view->ndim, k);
        NestValue old = nest_element(m, place, view->ndim, k);
        NestValue type = nest_of(NEST_scalar, place->dtype, 0);
        if (nest_is_complex(&type)) {
            IrValue parts[2];
            nest_parts_as(m, &element, &type, parts);
            type.value = selected(m, truth.value, parts[0], old.value);
            type.imag = selected(m, truth.value, parts[1], old.imag);
        } else
            type.value = selected(m, truth.value,
                                  nest_stored(m, &element, place->dtype), old.value);
        element = type;
    }
    if (m->failed)
        return;
    nest_address(m, place, k, indices);
    nest_write_element(m, place, indices, &element);
}

static double
operations(const NestValue *x)
{
    double n = x->kind == NEST_lazy;
    for (uint32_t i = 0; x->kind == NEST_lazy && i < x->lazy->n; i++)
        n += operations(&x->lazy->operands[i]);
    return n;
}

/* What NumPy takes for it, in steps of Python. Large arrays are as well off in kernels: one is a reason to wait for code. */
static void
note_work(NestMaker *m, const NestValue *value, const NestExtent *extents,
          uint32_t ndim)
{
    double elements = 1;
    m->rows = true;
    for (uint32_t d = 0; d < ndim; d++)
        elements *= (double)extents[d].high;
    if (elements > LARGE)
        m->expected += m->times * operations(value) * elements / 800;
    else
        nest_count_calls(m, operations(value) * (5 + elements / 200));
}

void
nest_fill_all(NestMaker *m, const NestValue *place, const NestValue *value)
{
    IrValue k[NEST_INDICES_MAX] = {0};
    if (m->failed)
        return;
    note_work(m, value, place->view->extents, place->view->ndim);
    fill_axis(m, place, value, NULL, 0, k);
}

void
nest_fill(NestMaker *m, const NestTree *at, const NestValue *place,
          const NestValue *value, const NestValue *mask)
{
    NestValue both[2] = {*place, *value}, source = *value;
    NestExtent extents[NEST_INDICES_MAX];
    IrValue k[NEST_INDICES_MAX] = {0};
    if (m->run && m->times == 1)
        nest_fail(m, "an array that is worked on outside of loops");
    if (m->failed)
        return;
    if (nest_mask_of(value) && !mask) { /* they are in a row */
        if (!at) {
            nest_fail(m, "a selection in the midst");
            return;
        }
        both[1] = source = nest_compressed(m, at, value);
        value = &source;
    }
    if (m->failed)
        return;
    if (broadcast(m, both, 2, extents) != place->view->ndim) {
        nest_fail(m, "shapes that do not fit");
        return;
    }
    for (uint32_t d = 0; d < place->view->ndim; d++) {
        if (is_one(&place->view->extents[d]) && !is_one(&extents[d]))
            nest_fail(m, "shapes that do not fit");
    }
    if (mask && meets(mask, place)) /* NumPy looks at it from time to time */
        nest_fail(m, "a store that changes its mask");
    if (!m->failed && at && reads(value, place->array)) {
        if (!m->emits) /* whether it is needed is seen later */
            nest_scratch(m, at, value->dtype, nest_ndim(value), nest_extents(value));
        else if (meets(value, place))
            source = nest_materialized(m, at, value);
        if (value->kind == NEST_array && value->view->ndim == 1 &&
            place->view->ndim == 1 && meets(value, place))
            check_crossing(m, value, place);
    }
    if (!m->failed)
        note_work(m, value, extents, place->view->ndim);
    if (!m->failed)
        fill_axis(m, place, &source, mask, 0, k);
}
