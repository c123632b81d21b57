/* nest_items.c - what loops of a nest go over: ranges, arrays, tuples, several at once. */
#include "trace/nest_lists.h"

/* start + step * turn */
static NestValue
range_item(NestMaker *m, const NestValue *range, IrValue turn, const int64_t *turns)
{
    const NestValue *start = &range->tuple->items[0], *step = &range->tuple->items[2];
    IrValue by[2] = {turn, nest_node(m, OP_to_index, &step->value, 1, DT_COUNT)};
    IrValue sum[2] = {nest_node(m, OP_to_index, &start->value, 1, DT_COUNT), 0};
    sum[1] = nest_node(m, OP_imul, by, 2, DT_COUNT);
    const NestValue *stop = &range->tuple->items[1];
    int64_t low = step->low > 0 ? start->low : stop->low + 1;
    int64_t high = step->low > 0 ? stop->high - 1 : start->high;
    int64_t most = turns[1] > 0 ? turns[1] - 1 : 0, reach;
    int64_t far = step->low > 0 ? step->high : step->low;
    if (!__builtin_mul_overflow(most, far, &reach)) { /* beside others in a zip */
        if (step->low > 0 && start->high + reach < high)
            high = start->high + reach;
        if (step->low < 0 && start->low + reach > low)
            low = start->low + reach;
    }
    if (low > high)
        high = low; /* no turn at all */
    return nest_from_index(m, nest_node(m, OP_iadd, sum, 2, DT_COUNT), low, high);
}

/* The item of a tuple whose number the turn is: all of them have one type. */
static NestValue
tuple_item(NestMaker *m, const NestTuple *tuple, IrValue turn)
{
    IrValue chosen[NEST_VALUES_MAX], parts[NEST_VALUES_MAX];
    NestValue type = tuple->items[0];
    for (uint32_t i = 1; i < tuple->n && !m->failed; i++)
        type = nest_join(m, &type, &tuple->items[i], false);
    if (m->failed || !nest_has_parts(&type) || nest_nparts(&type) > NEST_VALUES_MAX)
        return nest_fail(m, "a loop over items of several kinds");
    NestValue item = nest_copy(m, &type),
              number = nest_from_index(m, turn, 0, tuple->n);
    uint32_t n = nest_parts_as(m, &tuple->items[0], &type, chosen);
    for (uint32_t i = 1; i < tuple->n && m->emits && !m->failed; i++) {
        IrValue operands[3] = {
            nest_compared(m, OP_equal, number.value, nest_int_value(m, i)), 0, 0};
        nest_parts_as(m, &tuple->items[i], &type, parts);
        for (uint32_t k = 0; k < n; k++) {
            operands[1] = parts[k];
            operands[2] = chosen[k];
            chosen[k] = nest_node(m, OP_select, operands, 3, DT_COUNT);
        }
    }
    for (uint32_t k = 0; k < n && !m->failed; k++)
        *nest_part_at(&item, &type, k) = chosen[k];
    return m->failed ? nest_fail(m, NULL) : item;
}

NestValue
nest_items_at(NestMaker *m, const NestValue *items, IrValue turn, const int64_t *turns)
{
    NestValue parts[NEST_PARTS_MAX], place, number, listed = nest_listed(m, items);
    if (listed.kind == NEST_listed)
        return nest_listed_at(m, &listed, turn);
    switch (items->kind) {
    case NEST_range:
        return range_item(m, items, turn, turns);
    case NEST_array:
        place = nest_select_row(m, items, turn);
        m->moved -= m->times; /* NumPy's number */
        return m->failed ? place : nest_read(m, &place);
    case NEST_zip:
        for (uint32_t i = 0; i < items->tuple->n; i++)
            parts[i] = nest_items_at(m, &items->tuple->items[i], turn, turns);
        return m->failed ? nest_fail(m, NULL)
                         : nest_tuple(m, NEST_tuple, parts, items->tuple->n);
    case NEST_tuple:
    case NEST_list:
        return tuple_item(m, items->tuple, turn);
    case NEST_object:
        number = nest_from_index(m, turn, 0, INT64_MAX);
        return m->failed ? number : nest_list_item(m, items->object, &number);
    default:
        return nest_fail(m, "a loop over this");
    }
}

IrValue
nest_items_count(NestMaker *m, const NestValue *items, int64_t *turns)
{
    NestValue listed = nest_listed(m, items);
    if (listed.kind == NEST_array || listed.kind == NEST_listed) {
        items = &listed;
        if (items->view->ndim == 0) {
            nest_fail(m, "a loop over a number");
            return 0;
        }
        turns[0] = items->view->extents[0].low;
        turns[1] = items->view->extents[0].high;
        return items->view->extents[0].value;
    }
    if (nest_has_items(items) && items->tuple->n) {
        turns[0] = turns[1] = items->tuple->n;
        return m->emits ? ir_const_int(m->graph, DT_index, turns[0]) : 0;
    }
    if (items->kind == NEST_zip) {
        int64_t other[2];
        IrValue least[2] = {nest_items_count(m, &items->tuple->items[0], turns), 0};
        for (uint32_t i = 1; i < items->tuple->n && !m->failed; i++) {
            least[1] = nest_items_count(m, &items->tuple->items[i], other);
            least[0] = nest_node(m, OP_imin, least, 2, DT_COUNT);
            turns[0] = other[0] < turns[0] ? other[0] : turns[0];
            turns[1] = other[1] < turns[1] ? other[1] : turns[1];
        }
        return least[0];
    }
    if (nest_is_list(items)) {
        turns[0] = 0;
        turns[1] = (int64_t)1 << 40;
        return nest_list_over(m, items->object);
    }
    if (items->kind != NEST_range) {
        nest_fail(m, "a loop over this");
        return 0;
    }
    const NestValue *start = &items->tuple->items[0], *stop = &items->tuple->items[1],
                    *step = &items->tuple->items[2];
    bool up = step->low > 0;
    IrValue ends[2];
    ends[!up] = nest_node(m, OP_to_index, &stop->value, 1, DT_COUNT);
    ends[up] = nest_node(m, OP_to_index, &start->value, 1, DT_COUNT);
    IrValue span[2] = {nest_node(m, OP_isub, ends, 2, DT_COUNT), 0};
    IrValue by[2] = {m->emits ? ir_const_int(m->graph, DT_index, 0) : 0,
                     nest_node(m, OP_to_index, &step->value, 1, DT_COUNT)};
    span[1] = up ? by[1] : nest_node(m, OP_isub, by, 2, DT_COUNT);
    IrValue n = nest_node(m, OP_ceildiv, span, 2, DT_COUNT);
    int64_t least = up ? stop->low - start->high : start->low - stop->high;
    int64_t most = up ? stop->high - start->low : start->high - stop->low;
    int64_t slow = up ? step->low : -step->high, fast = up ? step->high : -step->low;
    turns[0] = least > 0 ? (least + fast - 1) / fast : 0;
    turns[1] = most > 0 ? (most + slow - 1) / slow : 0;
    return nest_node(m, OP_max0, &n, 1, DT_COUNT);
}
