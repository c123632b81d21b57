/* nest_block.c - statements of a nest, and the regions that loops and ifs become.
**
** The first walk goes through a loop's body until the types of the names that it assigns are the
** same at its head as they were a turn before. What it comes to is on the tape: for each name the
** type at the head and behind the body. The second walk reads that, and builds.
**
** A name that is not bound before the loop is unbound at the head of each turn; behind the loop it
** has what the last turn gave it, if there is one for sure.
*/
#include <string.h>

#include "trace/nest.h"

enum { ROUNDS_MAX = 8 };

static void
save(const NestMaker *m, NestValue *slots)
{
    memcpy(slots, m->slots, m->nslots * sizeof *slots);
}

static void
restore(NestMaker *m, const NestValue *slots)
{
    memcpy(m->slots, slots, m->nslots * sizeof *slots);
}

static NestValue *
all_slots(NestMaker *m)
{
    return nest_take(m, NEST_SLOTS_MAX * sizeof(NestValue));
}

/* The type of a slot that is x on one way and y on the other. */
static NestValue
join_slot(const NestMaker *m, uint32_t s, const NestValue *x, const NestValue *y, bool widen)
{
    if ((int)s == m->returned && x->kind == NEST_unbound)
        return *y;
    if ((int)s == m->returned && y->kind == NEST_unbound)
        return *x;
    return nest_join(x, y, widen);
}

/* The numbers among the values that a region yields, as `types` say. */
static uint32_t
yielded(NestMaker *m, const NestTree *tree, const NestValue *types, IrValue *values)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < m->nslots; s++) {
        if (tree->assigned[s] && nest_is_number(&types[s]))
            n += nest_parts_as(m, &m->slots[s], &types[s], values + n);
    }
    return n;
}

/* The results of a node from number n on as the slot's value. */
static uint32_t
take_results(NestMaker *m, IrNode node, uint32_t n, const NestValue *type, NestValue *slot)
{
    for (uint32_t k = 0; k < nest_nparts(type); k++)
        *nest_part_at(slot, type, k) = ir_result(m->graph, node, n + k);
    return n + nest_nparts(type);
}

/* -- if ---------------------------------------------------------------------------- */

/* Where one flag was asked for, each way knows it. */
static void
learn_flag(NestMaker *m, const NestTree *test, bool set)
{
    if (test->kind == SYNTAX_unset && PyTuple_GET_SIZE(test->value) == 1)
        m->slots[PyLong_AsLong(PyTuple_GET_ITEM(test->value, 0))] = nest_const_bool(m, set);
}

/* What the first walk has settled, as the second has it: views have values of the graph. */
static NestValue
renewed(NestMaker *m, const NestValue *settled)
{
    return m->emits && settled->kind == NEST_array ? nest_whole(m, settled->array)
                                                   : *settled;
}

static void
two_ways(NestMaker *m, const NestTree *tree, const NestValue *condition)
{
    NestValue *before = all_slots(m), *ends = all_slots(m);
    IrRegion regions[2] = {0, 0};
    IrValue values[NEST_NUMBER_PARTS * NEST_SLOTS_MAX];
    uint32_t at = nest_reserve(m, m->nslots);
    if (m->failed)
        return;
    save(m, before);
    for (int i = 0; i < 2 && !m->failed; i++) {
        restore(m, before);
        regions[i] = m->emits ? ir_region_open(m->graph) : 0;
        learn_flag(m, tree->parts[0], i == 1);
        nest_block(m, tree->parts[1 + i]);
        if (m->failed)
            return;
        if (m->emits) {
            uint32_t n = yielded(m, tree, m->tape + at, values);
            ir_region_yield(m->graph, regions[i], values, n);
        } else if (i == 0)
            save(m, ends);
    }
    IrNode node = 0;
    if (m->emits)
        node = ir_control(m->graph, OP_if, &condition->value, 1, regions, 2, NULL, 0);
    for (uint32_t s = 0, n = 0; s < m->nslots; s++) {
        NestValue *type = &m->tape[at + s];
        if (!m->emits)
            *type = tree->assigned[s] ? join_slot(m, s, &ends[s], &m->slots[s], false)
                                      : before[s];
        m->slots[s] = tree->assigned[s] ? renewed(m, type) : before[s];
        if (m->emits && tree->assigned[s] && nest_is_number(type))
            n = take_results(m, node, n, type, &m->slots[s]);
    }
}

static void
if_statement(NestMaker *m, const NestTree *tree)
{
    NestValue condition = nest_condition(m, tree->parts[0]);
    if (m->failed)
        return;
    if (condition.known) {
        nest_block(m, tree->parts[condition.low ? 1 : 2]);
        return;
    }
    int64_t turns = m->turns;
    m->turns = 0; /* they may not go this way */
    two_ways(m, tree, &condition);
    m->turns = turns;
}

/* -- What loops share -------------------------------------------------------------- */

typedef struct Loop {
    const NestTree *tree;
    uint32_t head, end; /* on the tape: types at the head, and behind the body */
    NestValue *before;
    bool runs; /* there is a turn for sure */
    double often; /* how many turns there may be */
    bool (*turn)(NestMaker *m, struct Loop *loop); /* one turn, from the slots on */
    NestValue items;  /* for: what it goes over */
    IrValue index;    /* for: the turn */
    int64_t turns[2]; /* for: bounds of how many there are */
} Loop;

/* A name that the loop carries has a number at the head. */
static bool
is_carried(const Loop *loop, const NestMaker *m, uint32_t s)
{
    return loop->tree->assigned[s] && nest_is_number(&m->tape[loop->end + s]);
}

/* First walk: the types settle. */
static void
settle(NestMaker *m, Loop *loop)
{
    NestValue *head = all_slots(m);
    bool settled = false;
    if (m->failed)
        return;
    save(m, head);
    uint32_t at = m->tape_at;
    double work = m->work, large = m->large, times = m->times;
    m->times *= loop->often;
    for (int round = 0; !settled && !m->failed; round++) {
        m->work = work;
        m->large = large;
        if (round == ROUNDS_MAX) {
            nest_fail(m, "types that do not settle");
            return;
        }
        m->tape_at = at;
        restore(m, head);
        if (!loop->turn(m, loop) || m->failed)
            return;
        settled = true;
        for (uint32_t s = 0; s < m->nslots; s++) {
            bool guarded = (int)s == m->returned;
            if (!loop->tree->assigned[s] || (head[s].kind == NEST_unbound && !guarded))
                continue;
            NestValue joined = join_slot(m, s, &head[s], &m->slots[s], round > 0);
            settled &= nest_same(&joined, &head[s]);
            head[s] = joined;
        }
    }
    m->times = times;
    memcpy(m->tape + loop->head, head, m->nslots * sizeof *head);
    memcpy(m->tape + loop->end, m->slots, m->nslots * sizeof *head);
}

/* The type that a carried name has in the graph: at the head, or of what it gets first. */
static NestValue *
carried_type(const NestMaker *m, const Loop *loop, uint32_t s)
{
    NestValue *head = &m->tape[loop->head + s];
    return nest_is_number(head) ? head : &m->tape[loop->end + s];
}

static uint32_t
initial(NestMaker *m, const Loop *loop, IrValue *values)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < m->nslots; s++) {
        if (!is_carried(loop, m, s))
            continue;
        const NestValue *type = carried_type(m, loop, s);
        if (nest_is_number(&m->tape[loop->head + s])) {
            n += nest_parts_as(m, &m->slots[s], type, values + n);
            continue;
        }
        for (uint32_t k = 0; k < nest_nparts(type); k++)
            values[n++] = nest_node(m, OP_poison, NULL, 0, nest_dtype_of_part(type, k));
    }
    return n;
}

/* The slots at the head of a turn: parameters of the region from `first` on. */
static void
enter(NestMaker *m, const Loop *loop, IrRegion region, IrValue *params)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < m->nslots; s++) {
        if (!loop->tree->assigned[s])
            continue;
        m->slots[s] = renewed(m, &m->tape[loop->head + s]);
        if (!is_carried(loop, m, s))
            continue;
        const NestValue *carried = carried_type(m, loop, s);
        for (uint32_t k = 0; k < nest_nparts(carried); k++, n++) {
            IrType type = {.dtype = nest_dtype_of_part(carried, k)};
            params[n] = ir_region_param(m->graph, region, type, NULL);
            *nest_part_at(&m->slots[s], carried, k) = params[n];
        }
    }
}

static uint32_t
carried_values(NestMaker *m, const Loop *loop, IrValue *values)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < m->nslots; s++) {
        if (is_carried(loop, m, s))
            n += nest_parts_as(m, &m->slots[s], carried_type(m, loop, s), values + n);
    }
    return n;
}

/* The number of the flag that ends the loop among the carried, or -1. */
static int64_t
ending(const NestMaker *m, const Loop *loop)
{
    int64_t n = 0;
    for (uint32_t s = 0; s < m->nslots; s++) {
        if ((int)s == loop->tree->number)
            return is_carried(loop, m, s) ? n : -1;
        if (is_carried(loop, m, s))
            n += nest_nparts(carried_type(m, loop, s));
    }
    return -1;
}

/* The slots behind the loop. */
static void
leave(NestMaker *m, const Loop *loop, IrNode node)
{
    for (uint32_t s = 0, n = 0; s < m->nslots; s++) {
        if (!loop->tree->assigned[s]) {
            m->slots[s] = loop->before[s];
            continue;
        }
        const NestValue *head = &m->tape[loop->head + s], *end = &m->tape[loop->end + s];
        NestValue value = loop->runs ? *end : *head;
        if (nest_is_array(&value) && (value.kind == NEST_lazy || !value.view->whole))
            value = nest_of(NEST_conflict, DT_COUNT, 0); /* a row of the last turn */
        value = renewed(m, &value);
        if (!loop->runs && head->kind == NEST_unbound && end->kind != NEST_unbound)
            value = nest_of(NEST_conflict, DT_COUNT, 0);
        if (m->emits && is_carried(loop, m, s)) {
            n = take_results(m, node, n, carried_type(m, loop, s), &value);
            if (nest_is_number(&value))
                value.value = nest_cast(m, value.value, nest_part_dtype(&value));
        }
        m->slots[s] = value;
    }
}

static bool
begin(NestMaker *m, Loop *loop)
{
    loop->before = all_slots(m);
    loop->head = nest_reserve(m, 2 * m->nslots);
    loop->end = loop->head + m->nslots;
    if (m->failed)
        return false;
    save(m, loop->before);
    return true;
}

static IrNode
control(NestMaker *m, const Loop *loop, IrOp op, const IrValue *operands, uint32_t n,
        const IrRegion *regions)
{
    int64_t until = ending(m, loop);
    IrAttr attr = {.key = "until", .kind = ATTR_ints, .count = 1, .ints = &until};
    return ir_control(m->graph, op, operands, n, regions, op == OP_for ? 1 : 2, &attr,
                      until >= 0);
}

/* -- for --------------------------------------------------------------------------- */

/* start + step * turn */
static NestValue
range_item(NestMaker *m, const NestValue *range, const Loop *loop)
{
    const NestValue *start = &range->tuple->items[0], *step = &range->tuple->items[2];
    IrValue by[2] = {loop->index, nest_node(m, OP_to_index, &step->value, 1, DT_COUNT)};
    IrValue sum[2] = {nest_node(m, OP_to_index, &start->value, 1, DT_COUNT), 0};
    sum[1] = nest_node(m, OP_imul, by, 2, DT_COUNT);
    const NestValue *stop = &range->tuple->items[1];
    int64_t low = step->low > 0 ? start->low : stop->low + 1;
    int64_t high = step->low > 0 ? stop->high - 1 : start->high;
    int64_t most = loop->turns[1] > 0 ? loop->turns[1] - 1 : 0, reach;
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

static NestValue
item_of(NestMaker *m, const NestValue *items, const Loop *loop)
{
    NestValue parts[NEST_PARTS_MAX], place;
    switch (items->kind) {
    case NEST_range:
        return range_item(m, items, loop);
    case NEST_array:
        place = nest_select_row(m, items, loop->index);
        return m->failed ? place : nest_read(m, &place);
    case NEST_zip:
        for (uint32_t i = 0; i < items->tuple->n; i++)
            parts[i] = item_of(m, &items->tuple->items[i], loop);
        return m->failed ? nest_fail(m, NULL)
                         : nest_tuple(m, NEST_tuple, parts, items->tuple->n);
    default:
        return nest_fail(m, "a loop over this");
    }
}

/* The number of turns, as an index; its bounds in `turns`. */
static IrValue
count_of(NestMaker *m, const NestValue *items, int64_t *turns)
{
    if (items->kind == NEST_array) {
        if (items->view->ndim == 0) {
            nest_fail(m, "a loop over a number");
            return 0;
        }
        turns[0] = items->view->extents[0].low;
        turns[1] = items->view->extents[0].high;
        return items->view->extents[0].value;
    }
    if (items->kind == NEST_zip) {
        int64_t other[2];
        IrValue least[2] = {count_of(m, &items->tuple->items[0], turns), 0};
        for (uint32_t i = 1; i < items->tuple->n && !m->failed; i++) {
            least[1] = count_of(m, &items->tuple->items[i], other);
            least[0] = nest_node(m, OP_imin, least, 2, DT_COUNT);
            turns[0] = other[0] < turns[0] ? other[0] : turns[0];
            turns[1] = other[1] < turns[1] ? other[1] : turns[1];
        }
        return least[0];
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

static bool
for_turn(NestMaker *m, Loop *loop)
{
    NestValue item = item_of(m, &loop->items, loop);
    nest_assign(m, loop->tree->parts[0], &item);
    if (!m->failed)
        nest_block(m, loop->tree->parts[2]);
    return !m->failed;
}

static void
for_loop(NestMaker *m, const NestTree *tree)
{
    Loop loop = {.tree = tree, .turn = for_turn};
    IrValue operands[NEST_NUMBER_PARTS * NEST_SLOTS_MAX + 1], values[NEST_NUMBER_PARTS * NEST_SLOTS_MAX];
    loop.items = nest_expression(m, tree->parts[1]);
    if (m->failed)
        return;
    operands[0] = count_of(m, &loop.items, loop.turns);
    loop.runs = loop.turns[0] > 0;
    loop.often = (double)(loop.turns[1] < 10000 ? loop.turns[1] : 10000);
    bool exact = loop.turns[0] == loop.turns[1] && tree->number < 0; /* it has no `break` */
    if (!exact || __builtin_mul_overflow(m->turns, loop.turns[0], &m->turns))
        m->turns = 0;
    if (m->failed || !begin(m, &loop))
        return;
    if (!m->emits) {
        settle(m, &loop);
        if (!m->failed)
            leave(m, &loop, 0);
        return;
    }
    uint32_t n = initial(m, &loop, operands + 1);
    IrRegion region = ir_region_open(m->graph);
    loop.index = ir_region_param(m->graph, region, (IrType){.dtype = DT_index}, NULL);
    enter(m, &loop, region, values);
    if (!for_turn(m, &loop))
        return;
    carried_values(m, &loop, values);
    ir_region_yield(m->graph, region, values, n);
    leave(m, &loop, control(m, &loop, OP_for, operands, n + 1, &region));
}

/* -- while ------------------------------------------------------------------------- */

static bool
while_turn(NestMaker *m, Loop *loop)
{
    nest_condition(m, loop->tree->parts[0]);
    if (!m->failed)
        nest_block(m, loop->tree->parts[1]);
    return !m->failed;
}

static void
for_statement(NestMaker *m, const NestTree *tree)
{
    int64_t turns = m->turns;
    for_loop(m, tree);
    m->turns = turns;
}

static void
while_statement(NestMaker *m, const NestTree *tree)
{
    Loop loop = {.tree = tree, .turn = while_turn, .often = 1000};
    IrValue operands[NEST_NUMBER_PARTS * NEST_SLOTS_MAX], values[NEST_NUMBER_PARTS * NEST_SLOTS_MAX + 1];
    IrRegion regions[2];
    if (!begin(m, &loop))
        return;
    if (!m->emits) {
        settle(m, &loop);
        if (!m->failed)
            leave(m, &loop, 0);
        return;
    }
    uint32_t n = initial(m, &loop, operands);
    regions[0] = ir_region_open(m->graph);
    enter(m, &loop, regions[0], values + 1);
    NestValue condition = nest_condition(m, tree->parts[0]);
    if (m->failed)
        return;
    values[0] = condition.value;
    ir_region_yield(m->graph, regions[0], values, n + 1);
    regions[1] = ir_region_open(m->graph);
    enter(m, &loop, regions[1], values);
    nest_block(m, tree->parts[1]);
    if (m->failed)
        return;
    carried_values(m, &loop, values);
    ir_region_yield(m->graph, regions[1], values, n);
    leave(m, &loop, control(m, &loop, OP_while, operands, n, regions));
}

/* -- Statements -------------------------------------------------------------------- */

static void
augment(NestMaker *m, const NestTree *tree)
{
    const NestTree *target = tree->parts[0];
    bool item = target->kind == SYNTAX_item;
    NestValue place = item ? nest_place(m, target) : nest_expression(m, target);
    NestValue y = m->failed ? place : nest_expression(m, tree->parts[1]);
    if (m->failed)
        return;
    NestValue x = nest_read(m, &place);
    if (tree->op == OPERATOR_matmul && nest_ndim(&y) > 1)
        nest_fail(m, "a product that is put into its operand");
    if (tree->op == OPERATOR_mul && nest_is_one_complex(&x))
        nest_fail(m, "an array of one complex number multiplied in place");
    NestValue made = nest_operation(m, tree, tree->op, &x, &y);
    if (m->failed)
        return;
    if (!item && nest_is_array(&made) && !nest_is_array(&place))
        made = nest_materialized(m, target, &made);
    if (item || nest_is_array(&place))
        nest_write(m, target, &place, &made);
    else
        m->slots[target->number] = made;
}

static void
assign(NestMaker *m, const NestTree *tree)
{
    NestValue value = nest_expression(m, tree->parts[0]);
    if (tree->n > 2)
        value = nest_settled(m, tree->parts[0], value);
    for (uint32_t i = 1; i < tree->n && !m->failed; i++)
        nest_assign(m, tree->parts[i], &value);
}

/* An assertion, or what raises: where that comes to pass the plain function raises. */
static void
check(NestMaker *m, const NestTree *tree)
{
    NestValue truth = nest_condition(m, tree->parts[0]);
    if (!m->failed && !(truth.known && truth.low))
        nest_check(m, truth.value);
}

void
nest_block(NestMaker *m, const NestTree *tree)
{
    int64_t turns;
    for (uint32_t i = 0; i < tree->n && !m->failed; i++) {
        const NestTree *statement = tree->parts[i];
        m->line = statement->line;
        m->work += m->times;
        if (++m->steps > NEST_STEPS_MAX) {
            nest_fail(m, "too much of it");
            return;
        }
        switch (statement->kind) {
        case SYNTAX_block:
            nest_block(m, statement);
            break;
        case SYNTAX_assign:
            assign(m, statement);
            break;
        case SYNTAX_augment:
            augment(m, statement);
            break;
        case SYNTAX_check:
            check(m, statement);
            break;
        case SYNTAX_append:
            nest_append(m, statement);
            break;
        case SYNTAX_evaluate:
            nest_expression(m, statement->parts[0]);
            break;
        case SYNTAX_if:
            if_statement(m, statement);
            break;
        case SYNTAX_for:
            for_statement(m, statement);
            break;
        case SYNTAX_while:
            turns = m->turns;
            m->turns = 0;
            while_statement(m, statement);
            m->turns = turns;
            break;
        default:
            nest_fail(m, "this statement");
        }
    }
}
