/* nest_mask.c - arrays indexed by arrays in a nest: gathers, and selections by masks.
**
** x[mask] stays where it is, in the space of x, with the mask beside it, as long as it meets numbers
** and selections by the same mask: so `x[mask] = x[mask] ** 2` needs no other memory. Where its
** elements are to be in a row, for a sum or a name, they are compressed.
*/
#include "trace/nest.h"

const NestValue *
nest_mask_of(const NestValue *x)
{
    return x->kind == NEST_lazy ? x->lazy->mask : NULL;
}

bool
nest_mask_common(const NestValue *operands, uint32_t n, const NestValue **mask)
{
    bool first = true;
    *mask = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (!nest_is_array(&operands[i]))
            continue;
        const NestValue *own = nest_mask_of(&operands[i]);
        if (!first && (!own != !*mask || (own && !nest_same_place(own, *mask))))
            return false;
        *mask = own;
        first = false;
    }
    return true;
}

NestValue
nest_selected(NestMaker *m, const NestValue *x, const NestValue *index)
{
    NestValue operands[2] = {*x, *index};
    IrKind kind = ir_dtype_kind(index->dtype);
    if (x->kind != NEST_array || nest_mask_of(index))
        return nest_fail(m, "an array indexed by this");
    if (kind == KIND_bool) {
        /* What it is to be compared with later: memory. */
        if (index->kind != NEST_array || nest_ndim(index) != nest_ndim(x))
            return nest_fail(m, "a mask that has no name, or is of fewer axes");
        return nest_lazy(m, NEST_masked, 0, NULL, x->dtype, operands, 2);
    }
    if ((kind != KIND_int && kind != KIND_uint) || index->dtype == DT_uint64 ||
        nest_ndim(x) != 1 || nest_ndim(index) != 1)
        return nest_fail(m, "an array indexed by this");
    return nest_lazy(m, NEST_gather, 0, NULL, x->dtype, operands, 2);
}

/* -- Scattering -------------------------------------------------------------------- */

static bool
reads(const NestValue *x, uint32_t array)
{
    bool found = x->kind == NEST_array && x->array == array;
    for (uint32_t i = 0; x->kind == NEST_lazy && i < x->lazy->n; i++)
        found |= reads(&x->lazy->operands[i], array);
    return found;
}

void
nest_scatter(NestMaker *m, const NestTree *at, const NestValue *place,
             const NestValue *value)
{
    const NestValue *x = &place->lazy->operands[0], *index = &place->lazy->operands[1];
    NestValue source = *value;
    IrValue indices[NEST_INDICES_MAX];
    NestLoop loop;
    nest_be_fresh(m, index);
    if (reads(index, x->array))
        nest_fail(m, "an array indexed by itself");
    if (!nest_is_number(value) && (nest_ndim(value) != 1 || nest_mask_of(value)))
        nest_fail(m, "a store of this");
    if (m->failed)
        return;
    if (!nest_is_number(value)) {
        NestExtent extent = nest_extents(index)[0];
        nest_same_extent(m, &extent, &nest_extents(value)[0]);
        if (reads(value, x->array)) /* all of it is read before the first is written */
            source = nest_materialized(m, at, value);
    }
    if (m->failed)
        return;
    nest_loop_open(m, &loop, &nest_extents(index)[0], NULL, DT_COUNT);
    NestValue number = nest_element(m, index, 1, &loop.index);
    NestValue one = m->failed ? number : nest_select_at(m, x, &number);
    NestValue element =
        nest_is_number(value) ? *value : nest_element(m, &source, 1, &loop.index);
    if (!m->failed) {
        nest_address(m, &one, NULL, indices);
        nest_write_element(m, &one, indices, &element);
    }
    nest_loop_close(m, &loop, 0);
}

/* -- Compressing ------------------------------------------------------------------- */

typedef struct Packing {
    const NestValue *from, *mask, *to;
    IrValue k[NEST_INDICES_MAX];
} Packing;

/* Elements from axis on; how many there are so far. */
static IrValue
pack_axis(NestMaker *m, Packing *p, uint32_t axis, IrValue count)
{
    uint32_t ndim = nest_ndim(p->from);
    IrValue at[NEST_INDICES_MAX];
    NestLoop loop;
    if (axis < ndim) {
        IrValue inside =
            nest_loop_open(m, &loop, &nest_extents(p->from)[axis], &count, DT_int64);
        p->k[axis] = loop.index;
        inside = pack_axis(m, p, axis + 1, inside);
        return nest_loop_close(m, &loop, inside);
    }
    NestValue element = nest_element(m, p->from, ndim, p->k);
    NestValue there = nest_element(m, p->mask, ndim, p->k);
    IrValue place = nest_node(m, OP_to_index, &count, 1, DT_COUNT);
    if (m->failed)
        return 0;
    nest_address(m, p->to, &place, at);
    nest_write_element(m, p->to, at,
                       &element); /* the next one takes its place, if it is none */
    IrValue sum[2] = {count, nest_cast(m, there.value, DT_int64)};
    return nest_node(m, OP_add, sum, 2, DT_COUNT);
}

/* The same of a row of memory. */
static IrValue
pack_run(NestMaker *m, const Packing *p)
{
    const NestValue *from = &p->from->lazy->operands[0];
    const NestValue *const runs[3] = {p->to, from, p->mask};
    IrValue operands[4 + 3 * NEST_INDICES_MAX];
    int64_t axes[3], steps[3];
    uint32_t n = 1;
    operands[0] = nest_extents(p->from)[0].value;
    for (int i = 0; i < 3; i++) {
        n += nest_run_operands(m, runs[i], operands + n);
        axes[i] = nest_run_axis(runs[i], &steps[i]);
    }
    IrAttr attrs[2] = {
        {.key = "axes", .kind = ATTR_ints, .count = 3, .ints = axes},
        {.key = "steps", .kind = ATTR_ints, .count = 3, .ints = steps},
    };
    IrType type = {.dtype = DT_int64};
    m->arrays[p->to->array].written = true;
    if (!m->emits || m->failed)
        return 0;
    IrNode node =
        ir_node_typed(m->graph, OP_run_compress, operands, n, attrs, 2, &type, 1);
    return ir_result(m->graph, node, 0);
}

NestValue
nest_compressed(NestMaker *m, const NestTree *at, const NestValue *x)
{
    NestExtent all = {.high = 1}, some;
    Packing p = {.from = x, .mask = nest_mask_of(x)};
    nest_be_fresh(m, x);
    for (uint32_t d = 0; d < nest_ndim(x); d++) {
        int64_t most = nest_extents(x)[d].high;
        if (most > 1 << 28 || all.high * most > 1 << 28)
            return nest_fail(m, "a selection whose size is not known");
        all.high *= most;
    }
    all.value = m->emits ? ir_const_int(m->graph, DT_index, all.high) : 0;
    if (ir_dtype_kind(x->dtype) == KIND_complex)
        return nest_fail(m, "a selection of complex numbers");
    NestValue to = nest_scratch(m, (const char *)at + 2, x->dtype, 1, &all);
    if (m->failed)
        return to;
    p.to = &to;
    IrValue none = m->emits ? ir_const_int(m->graph, DT_int64, 0) : 0;
    bool row = nest_ndim(x) == 1 && x->lazy->make == NEST_masked;
    IrValue count = row ? pack_run(m, &p) : pack_axis(m, &p, 0, none);
    some = (NestExtent){nest_node(m, OP_to_index, &count, 1, DT_COUNT), 0, all.high};
    return m->failed ? nest_fail(m, NULL)
                     : nest_scratch(m, (const char *)at + 2, x->dtype, 1, &some);
}
