/* nest_item.c - subscripts in a nest: what they name, reads and writes.
**
** Indices that may be out of range, for all that is known of their bounds, are checked where they
** are used (`wrap`); what is known is of these very shapes, so a nest is for one set of them.
*/
#include "trace/nest_lists.h"

NestValue
nest_part(NestMaker *m, const NestValue *value, uint32_t i, uint32_t n)
{
    if (nest_has_items(value) && value->tuple->n == n)
        return value->tuple->items[i];
    if (value->kind == NEST_lazy && value->lazy->ndim == 1 && !value->lazy->mask &&
        value->lazy->extents[0].low == n && value->lazy->extents[0].high == n) {
        IrValue k = m->emits ? ir_const_int(m->graph, DT_index, i) : 0;
        return nest_element(m, value, 1, &k);
    }
    if (value->kind == NEST_listed && value->view->extents[0].low == n) {
        NestValue index = nest_const_int(m, i);
        return nest_listed_item(m, value, &index);
    }
    if (value->kind != NEST_array || value->view->ndim == 0 ||
        value->view->extents[0].low != n || value->view->extents[0].high != n)
        return nest_fail(m, "unpacking");
    NestValue index = nest_const_int(m, i);
    NestValue place = nest_select_at(m, value, &index);
    return nest_read(m, &place);
}

static NestValue
item_of_tuple(NestMaker *m, const NestValue *tuple, const NestTree *key)
{
    NestValue index = nest_expression(m, key);
    int64_t n = tuple->tuple->n, i = index.low;
    if (m->failed || index.kind != NEST_int || index.low != index.high || i < -n ||
        i >= n)
        return nest_fail(m, "an item of a tuple by a number that is not known");
    return tuple->tuple->items[i < 0 ? i + n : i];
}

NestValue
nest_place(NestMaker *m, const NestTree *item)
{
    NestValue place = nest_expression(m, item->parts[0]);
    if (m->failed)
        return place;
    if (place.kind == NEST_tuple)
        return item_of_tuple(m, &place, item->parts[1]);
    place = nest_listed(m, &place);
    if (place.kind == NEST_listed) {
        NestValue number = nest_expression(m, item->parts[1]);
        return m->failed ? number : nest_listed_item(m, &place, &number);
    }
    if (nest_is_list(&place) || place.kind == NEST_row) {
        NestValue number = nest_expression(m, item->parts[1]);
        return m->failed ? number : nest_list_place(m, &place, &number);
    }
    place = nest_settled(m, item, place);
    if (place.kind != NEST_array)
        return nest_fail(m, "an item of what is no array");
    const NestTree *key = item->parts[1];
    if (key->kind == SYNTAX_tuple || key->kind == SYNTAX_slice ||
        key->kind == SYNTAX_const)
        return nest_select_key(m, &place, key);
    NestValue index = nest_expression(m, key);
    if (m->failed)
        return index;
    return nest_is_array(&index) && nest_ndim(&index)
               ? nest_selected(m, &place, &index)
               : nest_select_at(m, &place, &index);
}

/* A part of an element: attribute part. */
static IrAttr
part_attr(const int64_t *part)
{
    return (IrAttr){.key = "part", .kind = ATTR_ints, .count = 1, .ints = part};
}

NestValue
nest_load(NestMaker *m, const NestArray *array, const IrValue *operands, uint32_t naxes)
{
    NestValue made =
        array->listed ? array->item : nest_of(NEST_scalar, array->dtype, 0);
    IrValue *parts[2] = {&made.value, &made.imag};
    IrType type = {.dtype = nest_part_dtype(&made)};
    for (int64_t k = 0; m->emits && !m->failed && k < nest_nparts(&made); k++) {
        IrAttr attr = part_attr(&k);
        IrNode node = ir_node_typed(m->graph, OP_load, operands, 1 + naxes, &attr,
                                    nest_nparts(&made) == 2, &type, 1);
        *parts[k] = ir_result(m->graph, node, 0);
    }
    return made;
}

NestValue
nest_read(NestMaker *m, const NestValue *place)
{
    IrValue operands[1 + NEST_INDICES_MAX];
    if (!m->failed && place->kind == NEST_slot)
        return nest_slot_read(m, place);
    if (m->failed || place->kind != NEST_array || place->view->ndim)
        return *place;
    const NestArray *array = &m->arrays[place->array];
    operands[0] = array->param;
    nest_address(m, place, NULL, operands + 1);
    return nest_load(m, array, operands, place->view->naxes);
}

/* The number as the array has it; NumPy's own rules for what loses something are not here. */
IrValue
nest_stored(NestMaker *m, const NestValue *x, IrDtype dtype)
{
    IrKind to = ir_dtype_kind(dtype), from = ir_dtype_kind(nest_dtype(x));
    NestValue type = nest_of(NEST_scalar, dtype, 0);
    if (nest_dtype(x) == dtype)
        return x->value;
    if (to == KIND_float && from != KIND_complex)
        return nest_as(m, x, &type);
    if (to == KIND_bool && x->kind == NEST_bool)
        return nest_as(m, x, &type);
    if (to == KIND_int || to == KIND_uint) {
        bool narrow = ir_dtype_bytes(dtype) < 8;
        if (x->kind == NEST_bool || from == KIND_bool)
            return nest_as(m, x, &type);
        if (x->kind == NEST_int) { /* an OverflowError */
            int64_t low = to == KIND_uint ? 0 : INT64_MIN, high = INT64_MAX;
            unsigned bits = 8 * (unsigned)ir_dtype_bytes(dtype);
            if (narrow) {
                low = to == KIND_uint ? 0 : -((int64_t)1 << (bits - 1));
                high = ((int64_t)1 << (to == KIND_uint ? bits : bits - 1)) - 1;
            }
            NestValue bound[2] = {nest_const_int(m, low), nest_const_int(m, high)};
            if (x->low < low)
                nest_check(m, nest_compare(m, OPERATOR_ge, x, &bound[0]).value);
            if (x->high > high)
                nest_check(m, nest_compare(m, OPERATOR_le, x, &bound[1]).value);
            return nest_as(m, x, &type);
        }
        if (from == to && ir_dtype_bytes(nest_dtype(x)) <= ir_dtype_bytes(dtype))
            return nest_as(m, x, &type);
    }
    nest_fail(m, "a number stored in an array of another kind");
    return 0;
}

void
nest_write_element(NestMaker *m, const NestValue *place, const IrValue *indices,
                   const NestValue *value)
{
    IrValue operands[2 + NEST_INDICES_MAX];
    NestArray *array = &m->arrays[place->array];
    if (m->failed)
        return;
    array->written = true;
    operands[0] = array->param;
    for (uint32_t i = 0; i < place->view->naxes; i++)
        operands[i + 2] = indices[i];
    NestValue type = nest_of(NEST_scalar, array->dtype, 0);
    IrValue parts[2];
    if (nest_is_complex(&type))
        nest_parts_as(m, value, &type, parts);
    else
        parts[0] = nest_stored(m, value, array->dtype);
    for (int64_t k = 0; m->emits && !m->failed && k < nest_nparts(&type); k++) {
        IrAttr attr = part_attr(&k);
        operands[1] = parts[k];
        ir_node_typed(m->graph, OP_store, operands, 2 + place->view->naxes, &attr,
                      nest_nparts(&type) == 2, NULL, 0);
    }
}

/* A tuple of numbers into a row of as many elements. */
static void
write_parts(NestMaker *m, const NestTree *at, const NestValue *place,
            const NestValue *tuple)
{
    uint32_t n = tuple->tuple->n;
    const NestExtent *extent = nest_extents(place);
    if (place->view->ndim != 1 || extent->low != n || extent->high != n) {
        nest_fail(m, "a tuple stored in this");
        return;
    }
    for (uint32_t i = 0; i < n && !m->failed; i++) {
        IrValue k = m->emits ? ir_const_int(m->graph, DT_index, i) : 0;
        NestValue part = nest_select_row(m, place, k);
        if (!nest_is_number(&tuple->tuple->items[i]))
            nest_fail(m, "a tuple of this stored");
        if (!m->failed)
            nest_write(m, at, &part, &tuple->tuple->items[i]);
    }
}

void
nest_write(NestMaker *m, const NestTree *at, const NestValue *place,
           const NestValue *value)
{
    IrValue indices[NEST_INDICES_MAX];
    if (m->failed)
        return;
    if (place->kind == NEST_lazy && place->lazy->make == NEST_masked &&
        (nest_is_number(value) || nest_mask_of(value))) {
        const NestValue *mask = place->lazy->mask, *other = nest_mask_of(value);
        if (other && !nest_same_place(mask, other))
            nest_fail(m, "selections by several masks");
        nest_fill(m, at, &place->lazy->operands[0], value, mask);
        return;
    }
    if (place->kind == NEST_slot) {
        nest_slot_write(m, at, place, value);
        return;
    }
    if (place->kind == NEST_lazy && place->lazy->make == NEST_gather) {
        nest_scatter(m, at, place, value);
        return;
    }
    if (place->kind == NEST_array && nest_has_items(value)) {
        write_parts(m, at, place, value);
        return;
    }
    if (place->kind != NEST_array || !(nest_is_number(value) || nest_is_array(value))) {
        nest_fail(m, "a store of this");
        return;
    }
    if (place->view->ndim || nest_ndim(value)) {
        nest_fill(m, at, place, value, NULL);
        return;
    }
    nest_address(m, place, NULL, indices);
    nest_write_element(m, place, indices, value);
}

static bool
holds_list(const NestValue *x)
{
    bool holds = x->kind == NEST_list;
    for (uint32_t i = 0; x->kind == NEST_tuple && i < x->tuple->n && !holds; i++)
        holds = holds_list(&x->tuple->items[i]);
    return holds;
}

void
nest_assign(NestMaker *m, const NestTree *target, const NestValue *value)
{
    if (m->failed)
        return;
    if (target->kind == SYNTAX_name && holds_list(value))
        nest_fail(m, "a list with a name");
    else if (target->kind == SYNTAX_name)
        m->slots[target->number] =
            value->kind == NEST_lazy ? nest_materialized(m, target, value) : *value;
    else if (target->kind == SYNTAX_item) {
        NestValue place = nest_place(m, target);
        nest_write(m, target, &place, value);
        m->stores++;
    } else if (target->kind == SYNTAX_tuple) {
        NestValue parts[NEST_PARTS_MAX];
        if (target->n > NEST_PARTS_MAX) {
            nest_fail(m, "unpacking");
            return;
        }
        for (uint32_t i = 0; i < target->n && !m->failed; i++)
            parts[i] = nest_part(m, value, i, target->n);
        for (uint32_t i = 0; i < target->n && !m->failed; i++)
            nest_assign(m, target->parts[i], &parts[i]);
    } else
        nest_fail(m, "a target");
}
