/* nest_push.c - lists that a nest fills: `out.append(x)` wherever it stands.
**
** The list comes in as an argument: Python has put it in the place of the one that the function fills, which
** gets what is new in it behind the loop (python/pyasc/_turns.py). Code puts numbers beside it, and it gets the objects at the
** end (jit/pushes.c). Items and how many there are may be read, if all are numbers of one type, as those are that it comes in with. A list of the function's own cannot be filled this way: where that
** is all that is missing, the trace ends, and the function is taken apart.
*/
#include <string.h>

#include "trace/nest_lists.h"

bool
trace_is_grown(PyObject *object)
{
    return strcmp(Py_TYPE(object)->tp_name, "_pyasc_Grown") == 0;
}

/* True of a list that a loop around goes over. */
static bool
is_gone_over(const NestMaker *m, PyObject *list)
{
    bool over = false;
    for (uint32_t i = 0; i < m->nsources; i++)
        over |= m->sources[i] == list && m->lists_gone_over >> i & 1;
    return over;
}

/* One number of the item, or how many belong together. */
static void
push(NestMaker *m, PyObject *list, TraceDraw function, IrValue number, int64_t what,
     IrValue tag)
{
    IrValue operands[3] = {number};
    if (m->emits && !m->failed) {
        operands[1] = ir_const_int(m->graph, DT_int64, what);
        operands[2] = tag ? tag : ir_const_int(m->graph, DT_int64, 0);
    }
    IrValue put = nest_source_call(m, list, function, operands, 3, DT_int64);
    IrValue none = m->emits && !m->failed ? nest_int_value(m, 0) : 0;
    nest_check(m, nest_compared(m, OP_not_equal, put, none)); /* there was memory */
}

/* Number of the list among those that are read; nreads: it is none. */
static uint32_t
find_read(const NestMaker *m, PyObject *list)
{
    uint32_t i = 0;
    while (i < m->nreads && m->reads[i].list != list)
        i++;
    return i;
}

/* The type of items of two kinds: one that memory is there for. Bounds are not known. */
static NestValue
join_items(NestMaker *m, const NestValue *x, const NestValue *y)
{
    NestValue type = nest_join(m, x, y, false);
    if (type.kind == NEST_int)
        type = nest_int(0, INT64_MIN, INT64_MAX);
    type.value = type.tag = 0;
    type.constant = false;
    return type;
}

/* The number as an item of a list that is read: all have one type, which another walk finds if this one has not. */
static NestValue
as_item(NestMaker *m, uint32_t read, const NestValue *x)
{
    NestValue *type = &m->reads[read].type, joined = join_items(m, type, x);
    if (m->reads[read].guessed) /* the first that is put into it */
        joined = join_items(m, x, x);
    m->reads[read].guessed = false;
    if (!nest_is_number(&joined) || nest_is_complex(&joined) ||
        joined.kind == NEST_bool)
        return nest_fail(m, "items of several kinds in a list that is read");
    if (!nest_same(&joined, type)) {
        *type = joined;
        m->misses = !m->emits;
        return nest_fail(m, "items of several kinds in a list that is read");
    }
    IrValue parts[NEST_NUMBER_PARTS] = {0};
    nest_parts_as(m, x, &joined, parts);
    joined.value = parts[0];
    joined.tag = parts[1];
    return joined;
}

static void
push_number(NestMaker *m, PyObject *list, const NestValue *x)
{
    TraceNestNumber like = {.kind = 0};
    uint32_t read = find_read(m, list);
    NestValue item;
    if (read < m->nreads) {
        item = as_item(m, read, x);
        if (m->failed)
            return;
        x = &item;
    }
    IrDtype part = nest_part_dtype(x);
    bool real = ir_dtype_kind(part) == KIND_float;
    nest_describe_number(x, &like);
    int64_t what = trace_push_what(like.kind, like.type);
    TraceDraw function = real ? PUSH_float : PUSH_int;
    IrDtype wide = real ? DT_float64 : DT_int64;
    push(m, list, function, nest_cast(m, x->value, wide), what,
         x->kind == NEST_either ? x->tag : 0);
    if (nest_is_complex(x))
        push(m, list, function, nest_cast(m, x->imag, wide), what, 0);
}

static void
push_item(NestMaker *m, PyObject *list, const NestValue *x)
{
    if (is_gone_over(m, list)) {
        nest_fail(m, "an append to a list that is gone over");
        return;
    }
    if (nest_is_number(x)) {
        push_number(m, list, x);
        return;
    }
    if (!nest_has_items(x) || find_read(m, list) < m->nreads) {
        nest_fail(m, "an item of a list that is no number");
        return;
    }
    for (uint32_t i = 0; i < x->tuple->n && !m->failed; i++)
        push_item(m, list, &x->tuple->items[i]);
    push(m, list, PUSH_group, nest_int_value(m, x->tuple->n),
         trace_push_what(x->kind == NEST_tuple ? 't' : 'l', 0), 0);
}

/* -- Reading ------------------------------------------------------------------------ */

bool
nest_is_list(const NestValue *x)
{
    return x->kind == NEST_object &&
           (trace_is_grown(x->object) || PyList_CheckExact(x->object));
}

/* The list is read: what is in it decides what all its items are. The walk is done again with that. */
static void
note_read(NestMaker *m, PyObject *list)
{
    NestValue type = {.kind = NEST_unbound};
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        NestValue item = nest_number_type(m, PyList_GET_ITEM(list, i));
        type = i ? join_items(m, &type, &item) : join_items(m, &item, &item);
    }
    bool known =
        nest_is_number(&type) && !nest_is_complex(&type) && type.kind != NEST_bool;
    bool empty = PyList_GET_SIZE(list) == 0;
    if (empty) /* of ints, until one of another kind is put into it */
        type = nest_int(0, INT64_MIN, INT64_MAX);
    if ((known || empty) && !m->emits && m->nreads < TRACE_NEST_SOURCES) {
        m->reads[m->nreads].list = list;
        m->reads[m->nreads].guessed = empty;
        m->reads[m->nreads++].type = type;
        m->misses = true;
    }
    nest_fail(m, "items of a list that holds no numbers");
}

NestValue
nest_list_length(NestMaker *m, PyObject *list)
{
    IrValue none = 0;
    IrValue n = nest_source_call(m, list, LIST_length, &none, 0, DT_int64);
    return m->failed ? nest_fail(m, NULL) : nest_int(n, 0, (int64_t)1 << 40);
}

NestValue
nest_list_truth(NestMaker *m, PyObject *list)
{
    NestValue n = nest_list_length(m, list), zero = nest_const_int(m, 0);
    return m->failed ? nest_fail(m, NULL) : nest_compare(m, OPERATOR_ne, &n, &zero);
}

IrValue
nest_list_over(NestMaker *m, PyObject *list)
{
    NestValue n = nest_list_length(m, list);
    for (uint32_t i = 0; i < m->nsources; i++)
        m->lists_gone_over |= m->sources[i] == list ? 1u << i : 0;
    return m->failed ? 0 : nest_index(m, &n);
}

NestValue
nest_pop(NestMaker *m, const NestTree *tree)
{
    NestValue list = nest_expression(m, tree->parts[0]), last = nest_const_int(m, -1);
    IrValue none = m->emits ? ir_const_int(m->graph, DT_int64, 0) : 0;
    if (m->failed || !nest_is_list(&list) || is_gone_over(m, list.object))
        return nest_fail(m, "pop() of this");
    NestValue item = nest_list_item(m, list.object, &last);
    if (!m->failed)
        nest_source_call(m, list.object, LIST_drop, &none, 1, DT_int64);
    return m->failed ? nest_fail(m, NULL) : item;
}

/* Behind the first or ahead of the end; it has to be in range. */
static IrValue
place_of(NestMaker *m, PyObject *list, const NestValue *index)
{
    NestValue n = nest_list_length(m, list), zero = nest_const_int(m, 0);
    if (m->failed)
        return 0;
    NestValue behind = nest_int_sum(m, OP_add, index, &n), at = *index;
    if (index->high < 0)
        at = behind;
    else if (index->low < 0) {
        IrValue operands[3] = {nest_compare(m, OPERATOR_lt, index, &zero).value,
                               behind.value, index->value};
        at.value = nest_node(m, OP_select, operands, 3, DT_COUNT);
    }
    nest_check(m, nest_compared(m, OP_greater_equal, at.value, zero.value));
    nest_check(m, nest_compared(m, OP_less, at.value, n.value));
    return at.value;
}

NestValue
nest_list_item(NestMaker *m, PyObject *list, const NestValue *index)
{
    uint32_t read = find_read(m, list);
    if (index->kind != NEST_int)
        return nest_fail(m, "an index that is no int");
    if (read == m->nreads) {
        note_read(m, list);
        return nest_fail(m, NULL);
    }
    NestValue item = m->reads[read].type;
    bool real = ir_dtype_kind(nest_part_dtype(&item)) == KIND_float;
    IrValue at = place_of(m, list, index);
    IrValue value = nest_source_call(m, list, real ? LIST_float : LIST_int, &at, 1,
                                     real ? DT_float64 : DT_int64);
    item.value = m->failed ? 0 : nest_cast(m, value, nest_part_dtype(&item));
    if (item.kind == NEST_either)
        item.tag = nest_source_call(m, list, LIST_tag, &at, 1, DT_int64);
    return m->failed ? nest_fail(m, NULL) : item;
}

/* -- Filling ------------------------------------------------------------------------ */

void
nest_push_own(NestMaker *m, PyObject *list, const NestValue *item, bool apart)
{
    if (!apart) {
        nest_fail(m, "an append to a list that is used otherwise, too");
        return;
    }
    if (m->depth || m->emits || !m->trace->divides || m->trace->probes ||
        !trace_is_in_root(m->trace)) {
        nest_fail(m, "an append that is not made in each turn");
        return;
    }
    push_item(m, list, item);
    for (uint32_t i = 0; i < m->nsources; i++)
        m->filled |= m->sources[i] == list ? 1u << i : 0;
}

bool
nest_has_own_lists(const NestMaker *m, bool *all)
{
    bool some = false;
    *all = true;
    for (uint32_t i = 0; i < m->nsources; i++) {
        bool own = PyList_CheckExact(m->sources[i]);
        some |= own;
        *all &= !own || m->filled >> i & 1;
    }
    return some;
}

void
nest_push(NestMaker *m, const NestTree *tree)
{
    NestValue item = nest_expression(m, tree->parts[0]);
    const NestValue *list = &m->slots[tree->parts[1]->number];
    if (m->failed)
        return;
    bool object = list->kind == NEST_object;
    if (object && trace_is_grown(list->object)) {
        push_item(m, list->object, &item);
        return;
    }
    if (object && PyList_CheckExact(list->object))
        nest_push_own(m, list->object, &item, tree->value == Py_True);
    else
        nest_fail(m, "an append to this");
}
