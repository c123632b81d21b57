/* nest_block.c - statements of a nest, and the regions that loops and ifs become.
**
** The first walk goes through a loop's body until the types of the names that it assigns are the
** same at its head as they were a turn before. What it comes to is on the tape: for each name the
** type at the head and behind the body. The second walk reads that, and builds.
**
** A name that is not bound before the loop is unbound at the head of each turn; behind the loop it
** has what the last turn gave it, if there is one for sure.
*/
#include "trace/nest_lists.h"
#include "trace/nest_loop.h"

/* The numbers among the values that a region yields, as `types` say. */
static uint32_t
yielded(NestMaker *m, const NestTree *tree, const NestValue *types, IrValue *values)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < m->nslots; s++) {
        if (tree->assigned[s] && nest_has_parts(&types[s]))
            n += nest_parts_as(m, &m->slots[s], &types[s], values + n);
    }
    return n;
}

/* The results of a node from number n on as the slot's value. */
static uint32_t
take_results(NestMaker *m, IrNode node, uint32_t n, const NestValue *type,
             NestValue *slot)
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
        m->slots[PyLong_AsLong(PyTuple_GET_ITEM(test->value, 0))] =
            nest_const_bool(m, set);
}

static void
two_ways(NestMaker *m, const NestTree *tree, const NestValue *condition)
{
    NestValue *before = nest_slots_new(m), *ends = nest_slots_new(m);
    IrRegion regions[2] = {0, 0};
    IrValue values[NEST_VALUES_MAX];
    uint32_t at = nest_reserve(m, m->nslots);
    if (m->failed)
        return;
    nest_slots_save(m, before);
    m->maybe++;
    for (int i = 0; i < 2 && !m->failed; i++) {
        nest_slots_load(m, before);
        regions[i] = m->emits ? ir_region_open(m->graph) : 0;
        learn_flag(m, tree->parts[0], i == 1);
        nest_block(m, tree->parts[1 + i]);
        if (m->failed)
            return;
        if (m->emits) {
            uint32_t n = yielded(m, tree, m->tape + at, values);
            ir_region_yield(m->graph, regions[i], values, n);
        }
        if (i == 0)
            nest_slots_save(m, ends);
    }
    m->maybe--;
    IrNode node = 0;
    if (m->emits)
        node = ir_control(m->graph, OP_if, &condition->value, 1, regions, 2, NULL, 0);
    for (uint32_t s = 0, n = 0; s < m->nslots; s++) {
        NestValue *type = &m->tape[at + s];
        if (!m->emits)
            *type = tree->assigned[s]
                        ? nest_join_slot(m, s, &ends[s], &m->slots[s], false)
                        : before[s];
        if (!tree->assigned[s])
            m->slots[s] = before[s];
        else if (!nest_same_window(&ends[s], &m->slots[s]))
            m->slots[s] = nest_copy(m, type);
        if (m->emits && tree->assigned[s] && nest_has_parts(type))
            n = take_results(m, node, n, type, &m->slots[s]);
    }
    nest_check_parts(m, tree, m->tape + at);
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

/* A name that the loop carries has numbers at the head. */
static bool
is_carried(const NestCycle *loop, const NestMaker *m, uint32_t s)
{
    return loop->tree->assigned[s] && nest_has_parts(&m->tape[loop->end + s]);
}

/* The type that a carried name has in the graph: at the head, or of what it gets first. */
static NestValue *
carried_type(const NestMaker *m, const NestCycle *loop, uint32_t s)
{
    NestValue *head = &m->tape[loop->head + s];
    return nest_has_parts(head) ? head : &m->tape[loop->end + s];
}

static uint32_t
initial(NestMaker *m, const NestCycle *loop, IrValue *values)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < m->nslots; s++) {
        if (!is_carried(loop, m, s))
            continue;
        const NestValue *type = carried_type(m, loop, s);
        if (nest_has_parts(&m->tape[loop->head + s])) {
            n += nest_parts_as(m, &m->slots[s], type, values + n);
            continue;
        }
        for (uint32_t k = 0; k < nest_nparts(type); k++)
            values[n++] = nest_node(m, OP_poison, NULL, 0, nest_dtype_of_part(type, k));
    }
    return n;
}

/* True of memory of the nest's that the name has before the loop, in it and behind it. */
static bool
stays(const NestMaker *m, const NestCycle *loop, uint32_t s)
{
    const NestValue *before = &loop->before[s], *head = &m->tape[loop->head + s],
                    *end = &m->tape[loop->end + s];
    return before->kind == NEST_array && head->kind == NEST_array &&
           end->kind == NEST_array && before->array == head->array &&
           head->array == end->array && head->view == end->view;
}

/* The slots at the head of a turn: parameters of the region from `first` on. */
static void
enter(NestMaker *m, const NestCycle *loop, IrRegion region, IrValue *params)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < m->nslots; s++) {
        if (!loop->tree->assigned[s])
            continue;
        m->slots[s] = stays(m, loop, s) ? loop->before[s]
                                        : nest_copy(m, &m->tape[loop->head + s]);
        if (!is_carried(loop, m, s))
            continue;
        const NestValue *carried = carried_type(m, loop, s);
        NestValue given = nest_copy(m, carried);
        for (uint32_t k = 0; k < nest_nparts(carried) && !m->failed; k++, n++) {
            IrType type = {.dtype = nest_dtype_of_part(carried, k)};
            params[n] = ir_region_param(m->graph, region, type, NULL);
            *nest_part_at(&given, carried, k) = params[n];
        }
        nest_parts_take(m, &m->slots[s], &given);
    }
}

static uint32_t
carried_values(NestMaker *m, const NestCycle *loop, IrValue *values)
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
ending(const NestMaker *m, const NestCycle *loop)
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

/* A row of the last turn's, or a tuple of such. */
static bool
is_of_turn(const NestValue *x)
{
    bool own = nest_is_array(x) && (x->kind == NEST_lazy || !x->view->whole);
    for (uint32_t i = 0; x->kind == NEST_tuple && i < x->tuple->n && !own; i++)
        own = is_of_turn(&x->tuple->items[i]);
    return own;
}

/* The slots behind the loop. */
static void
leave(NestMaker *m, const NestCycle *loop, IrNode node)
{
    for (uint32_t s = 0, n = 0; s < m->nslots; s++) {
        if (!loop->tree->assigned[s] || stays(m, loop, s)) {
            m->slots[s] = loop->before[s];
            continue;
        }
        const NestValue *head = &m->tape[loop->head + s],
                        *end = &m->tape[loop->end + s];
        NestValue value = loop->runs ? *end : *head;
        if (is_of_turn(&value))
            value = nest_of(NEST_conflict, DT_COUNT, 0);
        value = nest_copy(m, &value);
        nest_counted(&value);
        if (!loop->runs && head->kind == NEST_unbound && end->kind != NEST_unbound) {
            value = nest_of(NEST_conflict, DT_COUNT, 0);
            value.known = true;
        }
        if (m->emits && is_carried(loop, m, s)) {
            NestValue given = nest_copy(m, carried_type(m, loop, s));
            n = take_results(m, node, n, carried_type(m, loop, s), &given);
            nest_parts_take(m, &value, &given);
        }
        m->slots[s] = value;
    }
}

static bool
begin(NestMaker *m, NestCycle *loop)
{
    loop->before = nest_slots_new(m);
    loop->head = nest_reserve(m, 2 * m->nslots);
    loop->end = loop->head + m->nslots;
    if (m->failed)
        return false;
    nest_slots_save(m, loop->before);
    return true;
}

static IrNode
control(NestMaker *m, const NestCycle *loop, IrOp op, const IrValue *operands,
        uint32_t n, const IrRegion *regions)
{
    int64_t until = ending(m, loop);
    IrAttr attr = {.key = "until", .kind = ATTR_ints, .count = 1, .ints = &until};
    return ir_control(m->graph, op, operands, n, regions, op == OP_for ? 1 : 2, &attr,
                      until >= 0);
}

/* -- for --------------------------------------------------------------------------- */

static bool
for_turn(NestMaker *m, NestCycle *loop)
{
    NestValue item = nest_items_at(m, &loop->items, loop->index, loop->turns);
    nest_assign(m, loop->tree->parts[0], &item);
    if (!m->failed)
        nest_block(m, loop->tree->parts[2]);
    nest_swap_back(m, loop->tree->assigned, loop->heads);
    nest_keep_back(m, loop->tree->assigned, loop->heads);
    return !m->failed;
}

/* One that can be left is, in an early turn. */
static double
likely_turns(const NestCycle *loop)
{
    bool bounded = loop->turns[1] < 1 << 30;
    double least = (double)loop->turns[0],
           most = bounded ? (double)loop->turns[1] : least + 10;
    double mean = least + (most - least) / 4;
    return loop->tree->number < 0 || mean < 8 ? mean : mean / 8;
}

static void
for_loop(NestMaker *m, const NestTree *tree)
{
    NestCycle loop = {.tree = tree, .turn = for_turn};
    IrValue operands[NEST_VALUES_MAX + 1], values[NEST_VALUES_MAX];
    loop.items = nest_expression(m, tree->parts[1]);
    if (m->failed)
        return;
    m->gone_over |= nest_arrays_in(&loop.items);
    operands[0] = nest_items_count(m, &loop.items, loop.turns);
    loop.runs = loop.turns[0] > 0;
    nest_keep_check(m, tree->assigned, operands[0], loop.turns);
    loop.often = (double)(loop.turns[1] < NEST_TURNS_COUNTED ? loop.turns[1]
                                                             : NEST_TURNS_COUNTED);
    loop.likely = likely_turns(&loop);
    bool exact =
        loop.turns[0] == loop.turns[1] && tree->number < 0; /* it has no `break` */
    if (!exact || __builtin_mul_overflow(m->turns, loop.turns[0], &m->turns))
        m->turns = 0;
    if (m->failed || !begin(m, &loop))
        return;
    if (!m->emits) {
        nest_settle(m, &loop);
        if (!m->failed)
            leave(m, &loop, 0);
        return;
    }
    uint32_t n = initial(m, &loop, operands + 1);
    IrRegion region = ir_region_open(m->graph);
    loop.index = ir_region_param(m->graph, region, (IrType){.dtype = DT_index}, NULL);
    enter(m, &loop, region, values);
    loop.heads = m->tape + loop.head;
    if (!for_turn(m, &loop))
        return;
    carried_values(m, &loop, values);
    ir_region_yield(m->graph, region, values, n);
    leave(m, &loop, control(m, &loop, OP_for, operands, n + 1, &region));
}

/* -- while ------------------------------------------------------------------------- */

static bool
while_turn(NestMaker *m, NestCycle *loop)
{
    nest_condition(m, loop->tree->parts[0]);
    m->maybe++;
    if (!m->failed)
        nest_block(m, loop->tree->parts[1]);
    m->maybe--;
    nest_swap_back(m, loop->tree->assigned, loop->heads);
    return !m->failed;
}

static void
for_statement(NestMaker *m, const NestTree *tree)
{
    int64_t turns = m->turns;
    uint32_t gone_over = m->gone_over, lists = m->lists_gone_over;
    for_loop(m, tree);
    m->turns = turns;
    m->gone_over = gone_over;
    m->lists_gone_over = lists;
}

static void
while_statement(NestMaker *m, const NestTree *tree)
{
    NestCycle loop = {.tree = tree, .turn = while_turn, .often = 1000, .likely = 50};
    IrValue operands[NEST_VALUES_MAX], values[NEST_VALUES_MAX + 1];
    IrRegion regions[2];
    if (!begin(m, &loop))
        return;
    if (!m->emits) {
        nest_settle(m, &loop);
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
    m->maybe++;
    nest_block(m, tree->parts[1]);
    m->maybe--;
    nest_swap_back(m, tree->assigned, m->tape + loop.head);
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
    NestValue x = m->failed ? place : nest_read(m, &place);
    NestValue y = m->failed ? place : nest_expression(m, tree->parts[1]);
    if (m->failed)
        return;
    if (tree->op == OPERATOR_matmul && nest_ndim(&y) > 1)
        nest_fail(m, "a product that is put into its operand");
    if (tree->op == OPERATOR_mul && nest_is_one_complex(&x))
        nest_fail(m, "an array of one complex number multiplied in place");
    NestValue made = nest_operation(m, tree, tree->op, &x, &y);
    if (m->failed)
        return;
    if (!item && nest_is_array(&made) && !nest_is_array(&place))
        made = nest_materialized(m, target, &made);
    if (item || nest_is_array(&place)) {
        nest_write(m, target, &place, &made);
        m->stores++;
    } else
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
        m->expected += m->likely;
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
        case SYNTAX_push:
            nest_push(m, statement);
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
