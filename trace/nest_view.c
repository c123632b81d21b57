/* nest_view.c - views of arrays in a nest: slices, rows, axes turned around or added.
**
** A view maps each axis of its array to start + step * k, with k counting on one of its own axes, or
** to start alone. Bounds of slices are brought into range once, where the view is made; what is
** inside of a view needs no check.
*/
#include <string.h>

#include "trace/nest.h"

enum { FAR_BOUND = 1 << 30 };

bool
nest_is_array(const NestValue *x)
{
    return x->kind == NEST_array || x->kind == NEST_lazy;
}

uint32_t
nest_ndim(const NestValue *x)
{
    return x->kind == NEST_array  ? x->view->ndim
           : x->kind == NEST_lazy ? x->lazy->ndim
                                  : 0;
}

const NestExtent *
nest_extents(const NestValue *x)
{
    return x->kind == NEST_array  ? x->view->extents
           : x->kind == NEST_lazy ? x->lazy->extents
                                  : NULL;
}

static IrValue
index_const(NestMaker *m, int64_t number)
{
    return m->emits ? ir_const_int(m->graph, DT_index, number) : 0;
}

static IrValue
index_node(NestMaker *m, IrOp op, IrValue x, IrValue y)
{
    IrValue operands[2] = {x, y};
    return nest_node(m, op, operands, 2, DT_COUNT);
}

static IrValue
extent_of(NestMaker *m, const NestArray *array, int64_t axis)
{
    IrAttr attr = {.key = "axis", .kind = ATTR_ints, .count = 1, .ints = &axis};
    if (!m->emits || m->failed)
        return 0;
    return ir_node(m->graph, OP_dim, &array->param, 1, &attr, 1);
}

static NestValue
with_view(const NestMaker *m, uint32_t array, const NestView *view)
{
    NestValue made = nest_of(NEST_array, m->arrays[array].dtype, 0);
    made.array = array;
    made.view = view;
    return made;
}

static NestView *
copy_view(NestMaker *m, const NestView *view)
{
    NestView *copy = nest_take(m, sizeof *copy);
    if (copy) {
        *copy = *view;
        copy->whole = false;
    }
    return copy;
}

NestValue
nest_whole(NestMaker *m, uint32_t number)
{
    NestArray *array = &m->arrays[number];
    NestView *view;
    if (array->whole)
        return with_view(m, number, array->whole);
    view = nest_take(m, sizeof *view);
    if (!view)
        return nest_fail(m, NULL);
    array->whole = view;
    view->whole = true;
    view->naxes = view->ndim = (uint32_t)array->ndim;
    for (int d = 0; d < array->ndim; d++) {
        view->axes[d] = (NestAxis){.visible = d, .step = 1};
        view->extents[d] =
            (NestExtent){extent_of(m, array, d), array->shape[d], array->shape[d]};
    }
    return with_view(m, number, view);
}

NestValue
nest_extent_int(NestMaker *m, const NestExtent *extent)
{
    return nest_from_index(m, extent->value, extent->low, extent->high);
}

/* -- One axis ---------------------------------------------------------------------- */

typedef struct Bound {
    IrValue value, root;
    int64_t more, low, high;
} Bound;

/* The axis begins `by` further on the view's axis. */
static void
move(NestMaker *m, NestAxis *axis, const Bound *by)
{
    IrValue moved = by->value;
    if (axis->step != 1)
        moved = index_node(m, OP_imul, moved, index_const(m, axis->step));
    bool first = !axis->start && !axis->root && !axis->more;
    if (first && axis->step == 1) {
        axis->root = by->root;
        axis->more = by->more;
    } else if (by->root == 0 && by->value && by->low == by->high)
        axis->more += axis->step * by->low;
    else { /* something of its own */
        axis->root = 0;
        axis->more = 0;
    }
    axis->start = axis->start ? index_node(m, OP_iadd, axis->start, moved) : moved;
    if (!axis->root && by->low != by->high)
        axis->root = axis->start;
}

/* The view without axis `at`, which is set to the index. */
static NestView *
fixed(NestMaker *m, const NestView *view, uint32_t at, const Bound *index)
{
    NestView *made = copy_view(m, view);
    if (!made)
        return NULL;
    for (uint32_t a = 0; a < made->naxes; a++) {
        NestAxis *axis = &made->axes[a];
        if (axis->visible == (int)at) {
            move(m, axis, index);
            axis->visible = -1;
        } else if (axis->visible > (int)at)
            axis->visible--;
    }
    made->ndim--;
    memmove(&made->extents[at], &made->extents[at + 1],
            (made->ndim - at) * sizeof *made->extents);
    return made;
}

static Bound
bound_const(NestMaker *m, int64_t number)
{
    return (Bound){index_const(m, number), 0, number, number, number};
}

/* An int, and what it is made of. */
static Bound
bound_of(NestMaker *m, const NestValue *x)
{
    Bound bound = {.value = nest_index(m, x), .low = x->low, .high = x->high};
    if (x->kind != NEST_int) {
        bound.low = INT64_MIN;
        bound.high = INT64_MAX;
    }
    bound.root = x->root ? x->root : x->value;
    bound.more = x->root ? x->more : 0;
    if (x->low == x->high && x->kind == NEST_int) {
        bound.root = 0;
        bound.more = x->low;
    }
    return bound;
}

NestValue
nest_select_row(NestMaker *m, const NestValue *array, IrValue index)
{
    Bound bound = {.value = index, .root = index, .low = 0, .high = INT64_MAX};
    if (array->kind != NEST_array || array->view->ndim == 0)
        return nest_fail(m, "a row of this");
    const NestView *view = fixed(m, array->view, 0, &bound);
    return view ? with_view(m, array->array, view) : nest_fail(m, NULL);
}

/* The index brought into range. */
static Bound
in_range(NestMaker *m, const NestValue *index, const NestExtent *extent)
{
    Bound bound = bound_of(m, index);
    bool front = bound.low >= 0 && bound.high < extent->low;
    bool back =
        bound.low >= -extent->low && bound.high < 0 && extent->low == extent->high;
    if (front || m->failed)
        return bound;
    bound.value = index_node(m, back ? OP_iadd : OP_wrap, bound.value, extent->value);
    if (back) {
        bound.low += extent->low;
        bound.high += extent->low;
        bound.more = bound.low == bound.high ? bound.low : 0;
        bound.root = bound.low == bound.high ? 0 : bound.value;
        return bound;
    }
    m->checks = true;
    bound.root = bound.low >= 0 ? bound.root : bound.value;
    bound.more = bound.low >= 0 ? bound.more : 0;
    bound.low = 0;
    bound.high = extent->high - 1;
    return bound;
}

static const NestView *
index_axis(NestMaker *m, const NestView *view, uint32_t at, const NestValue *index)
{
    Bound bound = in_range(m, index, &view->extents[at]);
    return m->failed ? NULL : fixed(m, view, at, &bound);
}

NestValue
nest_select_at(NestMaker *m, const NestValue *array, const NestValue *index)
{
    if (array->kind != NEST_array || array->view->ndim == 0)
        return nest_fail(m, "an index of this");
    const NestView *view = index_axis(m, array->view, 0, index);
    return view ? with_view(m, array->array, view) : nest_fail(m, NULL);
}

/* -- Slices ------------------------------------------------------------------------ */

/* The bound that a slice has, as it is written. */
static NestValue
bound_given(NestMaker *m, const NestTree *tree)
{
    NestValue x = nest_expression(m, tree);
    if (m->failed ||
        (x.kind != NEST_int && x.kind != NEST_scalar && x.kind != NEST_either))
        return nest_fail(m, "a bound of a slice");
    return x;
}

/* The bound on an axis, where negative ones count from its end. */
static Bound
bound_on(NestMaker *m, const NestValue *x, const NestExtent *extent)
{
    if (m->failed)
        return (Bound){0};
    Bound bound = bound_of(m, x);
    if (m->failed || (bound.low >= 0 && bound.high <= extent->low))
        return bound;
    if (bound.low >= -extent->low && bound.high < 0 && extent->low == extent->high) {
        bound.value = index_node(m, OP_iadd, bound.value, extent->value);
        bound.low += extent->low;
        bound.high += extent->low;
        bound.root = bound.low == bound.high ? 0 : bound.value;
        bound.more = bound.low == bound.high ? bound.low : 0;
        return bound;
    }
    bound.value = index_node(m, OP_clamp, bound.value, extent->value);
    bound.root = bound.value;
    bound.more = 0;
    if (bound.low < 0) { /* it may be counted from the end */
        bound.low = 0;
        bound.high = extent->high;
        return bound;
    }
    bound.low = bound.low < extent->low ? bound.low : extent->low;
    bound.high = bound.high < extent->high ? bound.high : extent->high;
    if (bound.low == bound.high) { /* in both walks: the first has no values */
        bound.root = 0;
        bound.more = bound.low;
    }
    return bound;
}

static Bound
slice_bound(NestMaker *m, const NestTree *tree, const NestExtent *extent, bool end)
{
    if (!tree && !end)
        return bound_const(m, 0);
    if (!tree)
        return (Bound){extent->value, extent->low == extent->high ? 0 : extent->value,
                       extent->low == extent->high ? extent->low : 0, extent->low,
                       extent->high};
    NestValue x = bound_given(m, tree);
    return bound_on(m, &x, extent);
}

/* The bound of a slice backwards, as one of the same elements forwards has it: x[a:b:-1] are x[b + 1:a + 1]. One that may
** be negative is taken to be none. */
static Bound
back_bound(NestMaker *m, const NestTree *tree, const NestExtent *extent, bool end)
{
    if (!tree)
        return slice_bound(m, NULL, extent, end);
    NestValue x = bound_given(m, tree), one = nest_const_int(m, 1);
    NestValue number = m->failed ? x : nest_to_int(m, &x);
    if (m->failed)
        return (Bound){0};
    if (number.high < 0) {
        if (extent->low != extent->high || number.low < -extent->low) {
            nest_fail(m, "a slice backwards with bounds from the end");
            return (Bound){0};
        }
        NestValue n = nest_extent_int(m, extent);
        number = nest_int_sum(m, OP_add, &number, &n);
    }
    number = nest_bounded(m, &number, 0, FAR_BOUND);
    if (!m->failed)
        number = nest_int_sum(m, OP_add, &number, &one);
    return bound_on(m, &number, extent);
}

/* How many from `from` to `to`. */
static NestExtent
span(NestMaker *m, const Bound *from, const Bound *to)
{
    bool constant = from->low == from->high && to->low == to->high;
    bool known = from->root == to->root && (from->root || constant);
    NestExtent extent = {.low = 0};
    if (known && to->more >= from->more) {
        extent.low = extent.high = to->more - from->more;
        extent.value = index_const(m, extent.low);
        if (from->low == 0 && from->high == 0)
            extent.value = to->value; /* the axis's own extent */
        else
            extent.value = index_node(m, OP_isub, to->value, from->value);
        return extent;
    }
    extent.high = to->high - from->low;
    if (from->low == 0 && from->high == 0) {
        extent.value = to->value;
        extent.low = to->low;
        return extent;
    }
    extent.value = index_node(m, OP_isub, to->value, from->value);
    extent.low = to->low - from->high;
    if (extent.low < 0) {
        extent.value = nest_node(m, OP_max0, &extent.value, 1, DT_COUNT);
        extent.low = 0;
    }
    extent.high = extent.high < 0 ? 0 : extent.high;
    return extent;
}

static void
set_slice(NestMaker *m, NestView *view, uint32_t at, const Bound *from, int64_t step,
          NestExtent extent)
{
    for (uint32_t a = 0; a < view->naxes; a++) {
        NestAxis *axis = &view->axes[a];
        if (axis->visible != (int)at)
            continue;
        if (from->low != 0 || from->high != 0)
            move(m, axis, from);
        axis->step *= step;
    }
    view->extents[at] = extent;
}

static int64_t
slice_step(NestMaker *m, const NestTree *tree)
{
    if (!tree)
        return 1;
    NestValue x = nest_expression(m, tree);
    if (m->failed || x.kind != NEST_int || x.low != x.high || x.low == 0 ||
        x.low < -1000 || x.low > 1000)
        nest_fail(m, "the step of a slice");
    return m->failed ? 1 : x.low;
}

static NestView *
slice_axis(NestMaker *m, const NestView *view, uint32_t at, const NestTree *slice)
{
    int64_t step = slice_step(m, slice->parts[2]);
    NestExtent whole = view->extents[at], extent;
    NestView *made = copy_view(m, view);
    if (!made || m->failed)
        return NULL;
    bool back = step < 0;
    int64_t by = back ? -step : step;
    Bound from = back ? back_bound(m, slice->parts[1], &whole, false)
                      : slice_bound(m, slice->parts[0], &whole, false);
    Bound to = back ? back_bound(m, slice->parts[0], &whole, true)
                    : slice_bound(m, slice->parts[1], &whole, true);
    if (m->failed)
        return NULL;
    extent = span(m, &from, &to);
    if (by > 1) {
        extent.value = index_node(m, OP_ceildiv, extent.value, index_const(m, by));
        extent.low = (extent.low + by - 1) / by;
        extent.high = (extent.high + by - 1) / by;
    }
    if (back) { /* from the last one on */
        from = to;
        from.value = index_node(m, OP_isub, to.value, index_const(m, 1));
        from.more -= 1;
        from.low -= 1;
        from.high -= 1;
    }
    set_slice(m, made, at, &from, step, extent);
    return made;
}

/* -- Keys -------------------------------------------------------------------------- */

static bool
is_none(const NestTree *tree)
{
    return tree->kind == SYNTAX_const && tree->value == Py_None;
}

static NestView *
new_axis(NestMaker *m, const NestView *view, uint32_t at)
{
    NestView *made = copy_view(m, view);
    if (!made || made->ndim == NEST_INDICES_MAX) {
        nest_fail(m, "so many axes");
        return NULL;
    }
    for (uint32_t a = 0; a < made->naxes; a++)
        made->axes[a].visible += made->axes[a].visible >= (int)at;
    memmove(&made->extents[at + 1], &made->extents[at],
            (made->ndim - at) * sizeof *made->extents);
    made->extents[at] = (NestExtent){index_const(m, 1), 1, 1};
    made->ndim++;
    return made;
}

NestValue
nest_select_key(NestMaker *m, const NestValue *array, const NestTree *key)
{
    const NestTree *const single[1] = {key};
    const NestTree *const *parts = single;
    const NestView *view = array->view;
    uint32_t n = 1, at = 0;
    if (key->kind == SYNTAX_tuple) {
        parts = (const NestTree *const *)key->parts;
        n = key->n;
    }
    for (uint32_t i = 0; i < n && view && !m->failed; i++) {
        if (is_none(parts[i])) {
            view = new_axis(m, view, at++);
            continue;
        }
        if (at >= view->ndim)
            return nest_fail(m, "too many indices");
        if (parts[i]->kind == SYNTAX_slice) {
            view = slice_axis(m, view, at++, parts[i]);
            continue;
        }
        NestValue index = nest_expression(m, parts[i]);
        if (!m->failed)
            view = index_axis(m, view, at, &index);
    }
    return view && !m->failed ? with_view(m, array->array, view) : nest_fail(m, NULL);
}

NestValue
nest_reversed(NestMaker *m, const NestValue *array, uint32_t at)
{
    NestView *made = copy_view(m, array->view);
    if (!made || at >= made->ndim)
        return nest_fail(m, "an axis turned around");
    NestExtent whole = made->extents[at];
    Bound last = {index_node(m, OP_isub, whole.value, index_const(m, 1)), 0, 0,
                  whole.low - 1, whole.high - 1};
    last.root = last.value;
    if (whole.low == whole.high) {
        last.root = 0;
        last.more = whole.low - 1;
    }
    if (last.low == 0 && last.high == 0) /* moves nowhere */
        return with_view(m, array->array, made);
    set_slice(m, made, at, &last, -1, whole);
    return with_view(m, array->array, made);
}

NestValue
nest_transposed(NestMaker *m, const NestValue *array)
{
    NestView *made = copy_view(m, array->view);
    if (!made)
        return nest_fail(m, NULL);
    for (uint32_t a = 0; a < made->naxes; a++) {
        if (made->axes[a].visible >= 0)
            made->axes[a].visible = (int)made->ndim - 1 - made->axes[a].visible;
    }
    for (uint32_t d = 0; d < made->ndim; d++)
        made->extents[d] = array->view->extents[made->ndim - 1 - d];
    return with_view(m, array->array, made);
}

void
nest_address(NestMaker *m, const NestValue *array, const IrValue *k, IrValue *indices)
{
    for (uint32_t a = 0; a < array->view->naxes; a++) {
        const NestAxis *axis = &array->view->axes[a];
        IrValue at = axis->start;
        if (axis->visible >= 0) {
            IrValue by = k[axis->visible];
            if (axis->step != 1)
                by = index_node(m, OP_imul, by, index_const(m, axis->step));
            at = at ? index_node(m, OP_iadd, at, by) : by;
        }
        indices[a] = at ? at : index_const(m, 0);
    }
}
