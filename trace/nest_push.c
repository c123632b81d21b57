/* nest_push.c - lists that a nest fills: `out.append(x)` wherever it stands.
**
** The list comes in as an argument: Python has put it in the place of the one that the function fills, which
** gets what is new in it behind the loop (python/pyasc/_turns.py). Code puts numbers beside it, and it gets the objects at the
** end (jit/pushes.c). Items and how many there are may be read, if all are numbers of one type, as those are that it comes in with. A list of the function's own cannot be filled this way: where that
** is all that is missing, the trace ends, and the function is taken apart.
*/
#include <string.h>

#include "trace/nest_draws.h"
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

/* Python's steps that a loop has for nothing: a number that becomes an object takes longer than in Python, all items are
** read ahead of it, and those that may be others are made again behind it. */
enum { STEPS_PUSH = 2, STEPS_READ = 2, STEPS_PUT = 2 };

/* As many of n as turns of a loop are counted. */
static double
counted(double n)
{
    return n < NEST_TURNS_COUNTED ? n : NEST_TURNS_COUNTED;
}

bool
nest_lists_pay(NestMaker *m)
{
    double cost = m->moved;
    bool all, own = nest_has_own_lists(m, &all);
    for (uint32_t i = 0; own && i < m->narrays; i++) { /* it will be one of these */
        double n = m->arrays[i].listed;
        for (int d = 0; d < m->arrays[i].ndim; d++)
            n *= (double)m->arrays[i].shape[d];
        cost += STEPS_READ * counted(n);
    }
    for (uint32_t i = 0; i < m->nreads; i++) {
        PyObject *list = m->reads[i].list;
        double n = (double)PyList_GET_SIZE(list);
        for (Py_ssize_t k = 0; m->reads[i].rows && k < PyList_GET_SIZE(list); k++)
            n += (double)PyList_GET_SIZE(PyList_GET_ITEM(list, k));
        cost += counted(n) * (STEPS_READ + (m->reads[i].put ? STEPS_PUT : 0));
    }
    if (m->nsources && cost >= m->work)
        m->reason = "lists that more has to be done for than with them";
    return !m->nsources || cost < m->work;
}

/* One number of the item, or how many belong together. */
static void
push(NestMaker *m, PyObject *list, TraceDraw function, IrValue number, int64_t what,
     IrValue tag)
{
    IrValue operands[3] = {number};
    m->moved += m->times * STEPS_PUSH;
    if (m->emits && !m->failed) {
        operands[1] = ir_const_int(m->graph, DT_int64, what);
        operands[2] = tag ? tag : ir_const_int(m->graph, DT_int64, 0);
    }
    IrValue put = nest_source_call(m, list, function, operands, 3, DT_int64);
    IrValue none = m->emits && !m->failed ? nest_int_value(m, 0) : 0;
    nest_check(m, nest_compared(m, OP_not_equal, put, none)); /* there was memory */
}

/* A list of the function's own is filled, or has other items; `apart`: it can be taken apart so that it is none. */
static bool
fills_own(NestMaker *m, PyObject *list, bool apart)
{
    if (!apart)
        nest_fail(m, "an append to a list that is used otherwise, too");
    else if (m->depth || m->emits || !m->trace->divides || m->trace->probes ||
             !trace_is_in_root(m->trace))
        nest_fail(m, "an append that is not made in each turn");
    else
        m->filled_own[m->nfilled++ % TRACE_NEST_SOURCES] = list;
    return !m->failed;
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

/* The type of an item more. Small ints meet floats: an item is the one or the other then. *small: ints among them are. */
static NestValue
join_item(NestMaker *m, const NestValue *type, bool *small, const NestValue *x)
{
    NestValue few = nest_int(0, 0, 0);
    bool whole = x->kind == NEST_int;
    bool meets = type->kind == NEST_int && *small && !whole;
    *small &= !whole || nest_is_exact(x, DT_float64);
    return join_items(m, meets ? &few : type, x);
}

/* The number as an item of a list that is read: all have one type, which another walk finds if this one has not. */
static NestValue
as_item(NestMaker *m, uint32_t read, const NestValue *x)
{
    bool first = m->reads[read].guessed; /* it is put into an empty list */
    NestValue *type = &m->reads[read].type,
              joined = join_item(m, first ? x : type, &m->reads[read].small, x);
    m->reads[read].guessed = false;
    if (!nest_is_number(&joined) || nest_is_complex(&joined) ||
        (joined.kind == NEST_bool) != (x->kind == NEST_bool) ||
        (!first && (type->kind == NEST_bool) != (x->kind == NEST_bool)))
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
    if (read < m->nreads && m->reads[read].rows) {
        nest_fail(m, "an append to a list of lists");
        return;
    }
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

static NestValue
type_of(NestMaker *m, PyObject *item)
{
    if (PyBool_Check(item))
        return nest_of(NEST_bool, DT_boolean, 0);
    return nest_number_type(m, item);
}

/* The type of all items, those of lists in it, too; unbound: there are none. False: of several kinds. */
static bool
types_in(NestMaker *m, PyObject *list, bool rows, NestValue *type, bool *small)
{
    bool good = true;
    for (Py_ssize_t i = 0; good && i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (rows || PyList_CheckExact(item)) {
            good = rows && PyList_CheckExact(item) &&
                   types_in(m, item, false, type, small);
            continue;
        }
        NestValue one = type_of(m, item);
        good =
            nest_is_number(&one) && (type->kind == NEST_unbound ||
                                     (type->kind == NEST_bool) == PyBool_Check(item));
        if (good)
            *type = join_item(m, type->kind == NEST_unbound ? &one : type, small, &one);
    }
    return good;
}

/* The list is read: what is in it decides what all its items are. The walk is done again with that. */
static void
note_read(NestMaker *m, PyObject *list)
{
    NestValue type = {.kind = NEST_unbound};
    bool empty = PyList_GET_SIZE(list) == 0;
    bool rows = !empty && PyList_CheckExact(PyList_GET_ITEM(list, 0));
    bool small = true;
    bool known = types_in(m, list, rows, &type, &small) && nest_is_number(&type) &&
                 !nest_is_complex(&type);
    if (empty) /* of ints, until one of another kind is put into it */
        type = nest_int(0, INT64_MIN, INT64_MAX);
    if ((known || empty) && !m->emits && m->nreads < TRACE_NEST_SOURCES) {
        m->reads[m->nreads].list = list;
        m->reads[m->nreads].guessed = empty;
        m->reads[m->nreads].rows = rows;
        m->reads[m->nreads].small = small;
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
place_of(NestMaker *m, const NestValue *n, const NestValue *index)
{
    NestValue zero = nest_const_int(m, 0);
    if (m->failed)
        return 0;
    NestValue behind = nest_int_sum(m, OP_add, index, n), at = *index;
    if (index->high < 0)
        at = behind;
    else if (index->low < 0) {
        IrValue operands[3] = {nest_compare(m, OPERATOR_lt, index, &zero).value,
                               behind.value, index->value};
        at.value = nest_node(m, OP_select, operands, 3, DT_COUNT);
    }
    nest_check(m, nest_compared(m, OP_greater_equal, at.value, zero.value));
    nest_check(m, nest_compared(m, OP_less, at.value, n->value));
    return at.value;
}

/* An int, or an integer of NumPy's. */
static NestValue
index_of(NestMaker *m, const NestValue *x)
{
    IrKind kind = nest_is_number(x) ? ir_dtype_kind(nest_dtype(x)) : KIND_float;
    if (x->kind == NEST_int || m->failed)
        return *x;
    if (x->kind != NEST_scalar || (kind != KIND_int && kind != KIND_uint) ||
        x->dtype == DT_uint64)
        return nest_fail(m, "an index that is no int");
    return nest_to_int(m, x);
}

static NestValue
of_list(NestKind kind, PyObject *list, IrValue value)
{
    NestValue made = nest_of(kind, DT_COUNT, value);
    made.object = list;
    return made;
}

NestValue
nest_list_place(NestMaker *m, const NestValue *x, const NestValue *key)
{
    PyObject *list = x->object;
    uint32_t read = find_read(m, list);
    NestValue index = index_of(m, key);
    if (m->failed)
        return nest_fail(m, NULL);
    if (read == m->nreads) {
        note_read(m, list);
        return nest_fail(m, NULL);
    }
    NestValue n =
        x->kind == NEST_row ? nest_row_length(m, x) : nest_list_length(m, list);
    IrValue at = m->failed ? 0 : place_of(m, &n, &index);
    if (x->kind == NEST_row) {
        IrValue sum[2] = {nest_source_call(m, list, ROWS_begin, &x->value, 1, DT_int64),
                          at};
        return of_list(NEST_slot, list, nest_node(m, OP_add, sum, 2, DT_COUNT));
    }
    return m->failed ? nest_fail(m, NULL)
                     : of_list(m->reads[read].rows ? NEST_row : NEST_slot, list, at);
}

NestValue
nest_row_length(NestMaker *m, const NestValue *row)
{
    IrValue n = nest_source_call(m, row->object, ROWS_length, &row->value, 1, DT_int64);
    return m->failed ? nest_fail(m, NULL) : nest_int(n, 0, (int64_t)1 << 40);
}

NestValue
nest_slot_read(NestMaker *m, const NestValue *slot)
{
    PyObject *list = slot->object;
    NestValue item = m->reads[find_read(m, list)].type;
    bool real = ir_dtype_kind(nest_part_dtype(&item)) == KIND_float;
    IrValue value = nest_source_call(m, list, real ? LIST_float : LIST_int,
                                     &slot->value, 1, real ? DT_float64 : DT_int64);
    item.value = m->failed ? 0 : nest_cast(m, value, nest_part_dtype(&item));
    if (item.kind == NEST_either)
        item.tag = nest_source_call(m, list, LIST_tag, &slot->value, 1, DT_int64);
    return m->failed ? nest_fail(m, NULL) : item;
}

NestValue
nest_list_item(NestMaker *m, PyObject *list, const NestValue *index)
{
    NestValue whole = of_list(NEST_object, list, 0),
              slot = nest_list_place(m, &whole, index);
    if (m->failed || slot.kind != NEST_slot)
        return nest_fail(m, "a list in a list");
    return nest_slot_read(m, &slot);
}

void
nest_slot_write(NestMaker *m, const NestTree *at, const NestValue *slot,
                const NestValue *x)
{
    PyObject *list = slot->object;
    uint32_t read = find_read(m, list);
    if (m->failed || !nest_is_number(x) || read == m->nreads) {
        nest_fail(m, "an item of a list that is no number");
        return;
    }
    if (!trace_is_grown(list) && !fills_own(m, list, at->value == Py_True))
        return;
    NestValue item = as_item(m, read, x);
    if (m->failed)
        return;
    bool real = ir_dtype_kind(nest_part_dtype(&item)) == KIND_float;
    IrValue operands[3] = {nest_cast(m, item.value, real ? DT_float64 : DT_int64),
                           slot->value, item.kind == NEST_either ? item.tag : 0};
    if (m->emits && !operands[2])
        operands[2] = ir_const_int(m->graph, DT_int64, 0);
    m->reads[read].put = true;
    m->moved -= m->times;
    nest_source_call(m, list, real ? LIST_put_float : LIST_put_int, operands, 3,
                     DT_int64);
}

/* -- Filling ------------------------------------------------------------------------ */

void
nest_push_own(NestMaker *m, PyObject *list, const NestValue *item, bool apart)
{
    if (!fills_own(m, list, apart))
        return;
    push_item(m, list, item);
}

bool
nest_has_own_lists(const NestMaker *m, bool *all)
{
    bool some = false;
    *all = true;
    for (uint32_t i = 0; i < m->nsources; i++) {
        bool own = PyList_CheckExact(m->sources[i]), filled = false;
        for (uint32_t k = 0; k < m->nfilled && k < TRACE_NEST_SOURCES; k++)
            filled |= m->filled_own[k] == m->sources[i];
        some |= own;
        *all &= !own || filled;
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
