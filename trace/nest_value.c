/* nest_value.c - the types and values of names in a nest.
**
** Where two ways meet, a name may hold Python's float on one of them and NumPy's float64 on the
** other. Both have the same value, and mostly what is done with them has, too: that is `either`.
*/
#include <string.h>

#include "trace/nest_lists.h"

enum { COUNTED_STEP = 4096 };
#define NEST_COUNTED                                                                   \
    INT64_C(4557430888798830399) /* 0x3f3f…: half of what an int64 holds */

NestValue
nest_fail(NestMaker *m, const char *reason)
{
    if (!m->failed)
        m->reason = reason;
    m->failed = true;
    return (NestValue){.kind = NEST_unbound};
}

/* -- Making ------------------------------------------------------------------------ */

bool
nest_is_number(const NestValue *x)
{
    return x->kind >= NEST_bool && x->kind <= NEST_either;
}

IrDtype
nest_dtype(const NestValue *x)
{
    switch (x->kind) {
    case NEST_bool:
    case NEST_int:
    case NEST_float:
    case NEST_complex:
    case NEST_scalar:
    case NEST_either:
        return x->dtype;
    default:
        return DT_COUNT;
    }
}

NestValue
nest_of(NestKind kind, IrDtype dtype, IrValue value)
{
    return (NestValue){.kind = kind,
                       .dtype = dtype,
                       .value = value,
                       .low = INT64_MIN,
                       .high = INT64_MAX};
}

NestValue
nest_int(IrValue value, int64_t low, int64_t high)
{
    return (NestValue){
        .kind = NEST_int, .dtype = DT_int64, .value = value, .low = low, .high = high};
}

NestValue
nest_const_int(NestMaker *m, int64_t number)
{
    IrValue value = m->emits ? ir_const_int(m->graph, DT_int64, number) : 0;
    return nest_int(value, number, number);
}

NestValue
nest_const_float(NestMaker *m, double number)
{
    IrValue value = m->emits ? ir_const_float(m->graph, DT_float64, number) : 0;
    NestValue made = nest_of(NEST_float, DT_float64, value);
    made.constant = true;
    made.number = number;
    made.known = number == 0 || number == 1 || number == -1; /* exact in any dtype */
    return made;
}

NestValue
nest_const_bool(NestMaker *m, bool truth)
{
    IrValue value = m->emits ? ir_const_int(m->graph, DT_boolean, truth) : 0;
    NestValue made = nest_of(NEST_bool, DT_boolean, value);
    made.known = true;
    made.low = made.high = truth;
    return made;
}

IrValue
nest_node(NestMaker *m, IrOp op, const IrValue *operands, uint32_t n, IrDtype dtype)
{
    IrType type = {.dtype = dtype};
    m->inexact |= !m->strict && (ir_op_flags(op) & OPF_elementary);
    if (!m->emits || m->failed)
        return 0;
    if (dtype == DT_COUNT)
        return ir_node(m->graph, op, operands, n, NULL, 0);
    IrNode node = ir_node_typed(m->graph, op, operands, n, NULL, 0, &type, 1);
    return ir_result(m->graph, node, 0);
}

IrValue
nest_cast(NestMaker *m, IrValue value, IrDtype dtype)
{
    if (!m->emits || m->failed || ir_type(m->graph, value).dtype == dtype)
        return value;
    return nest_node(m, OP_cast, &value, 1, dtype);
}

void
nest_check(NestMaker *m, IrValue condition)
{
    m->checks = true;
    if (m->emits && !m->failed)
        ir_node_typed(m->graph, OP_check, &condition, 1, NULL, 0, NULL, 0);
}

/* -- Joining ----------------------------------------------------------------------- */

static NestValue
conflict(void)
{
    return nest_of(NEST_conflict, DT_COUNT, 0);
}

/* It is known of it if the name may be unbound. */
static NestValue
conflict_of(const NestValue *x, const NestValue *y)
{
    NestValue value = conflict();
    value.known = x->kind == NEST_unbound || y->kind == NEST_unbound ||
                  (x->kind == NEST_conflict && x->known) ||
                  (y->kind == NEST_conflict && y->known);
    return value;
}

static bool
is_python(const NestValue *x)
{
    return x->kind >= NEST_bool && x->kind <= NEST_complex;
}

bool
nest_is_exact(const NestValue *x, IrDtype dtype)
{
    IrKind kind = ir_dtype_kind(dtype);
    if (!is_python(x))
        return x->dtype == dtype;
    if (x->kind == NEST_bool)
        return dtype == DT_boolean;
    if (x->kind == NEST_complex)
        return dtype == DT_complex128;
    if (kind == KIND_complex)
        return dtype == DT_complex128 &&
               (x->kind == NEST_float
                    ? x->known
                    : x->low == x->high && x->low >= -256 && x->low <= 256);
    if (x->kind == NEST_float)
        return dtype == DT_float64 || (kind == KIND_float && x->known);
    if (kind == KIND_float)
        return x->low == x->high && x->low >= -256 && x->low <= 256;
    if (kind == KIND_uint && x->low < 0)
        return false;
    if (kind != KIND_int && kind != KIND_uint)
        return false;
    return dtype == DT_int64 || (x->low >= -128 && x->high <= 127);
}

static NestValue
join_numbers(const NestValue *x, const NestValue *y)
{
    IrDtype dtype = DT_COUNT;
    if (x->kind == y->kind && x->dtype == y->dtype) {
        NestValue joined = *x;
        joined.value = joined.imag = joined.tag = 0;
        joined.root = 0;
        joined.more = 0;
        joined.constant = false;
        joined.bound = 0;
        joined.known =
            x->known && y->known &&
            (x->kind == NEST_either || (x->kind == NEST_bool && x->low == y->low));
        joined.low = x->low < y->low ? x->low : y->low;
        joined.high = x->high > y->high ? x->high : y->high;
        return joined;
    }
    if (!is_python(x))
        dtype = x->dtype;
    if (!is_python(y) && dtype != DT_COUNT && dtype != y->dtype)
        return conflict();
    if (!is_python(y))
        dtype = y->dtype;
    if (dtype == DT_COUNT && (x->kind == NEST_complex || y->kind == NEST_complex))
        dtype = DT_complex128;
    if (dtype == DT_COUNT && (x->kind == NEST_float || y->kind == NEST_float))
        dtype = DT_float64; /* a small int or a float */
    if (dtype == DT_COUNT || (is_python(x) && !nest_is_exact(x, dtype)) ||
        (is_python(y) && !nest_is_exact(y, dtype)))
        return conflict();
    NestValue joined = nest_of(NEST_either, dtype, 0);
    joined.known = !nest_may_be_whole(x) && !nest_may_be_whole(y);
    return joined;
}

static NestValue
join_tuples(NestMaker *m, const NestValue *x, const NestValue *y, bool widen)
{
    NestValue items[NEST_PARTS_MAX];
    uint32_t n = x->tuple->n;
    if (n != y->tuple->n || n > NEST_PARTS_MAX)
        return conflict();
    for (uint32_t i = 0; i < n; i++) {
        items[i] = nest_join(m, &x->tuple->items[i], &y->tuple->items[i], widen);
        if (items[i].kind == NEST_conflict)
            return conflict();
    }
    return nest_tuple(m, NEST_tuple, items, n);
}

/* A bound that a turn of a loop takes from x to y is given up; but what goes on by small steps never comes to COUNTED,
** which takes years. (A bound that is it came from here: nest_uncounted.) */
static int64_t
widened(int64_t x, int64_t y)
{
    if (y <= x)
        return x;
    bool small = (uint64_t)y - (uint64_t)x <= COUNTED_STEP;
    return small && (x == NEST_COUNTED || x < NEST_COUNTED / 2) ? NEST_COUNTED
                                                                : INT64_MAX;
}

static int64_t
opposite(int64_t x)
{
    return x == INT64_MIN ? INT64_MAX : x == INT64_MAX ? INT64_MIN : -x;
}

/* Bounds that are COUNTED by chance, as a number that the program begins with or comes to in one turn, are made wider. */
void
nest_uncounted(NestValue *x, const NestValue *before)
{
    bool one = x->low == x->high;
    if (x->kind != NEST_int || before->kind != NEST_int)
        return;
    if (x->high == NEST_COUNTED && (one || before->high != x->high))
        x->high++;
    if (x->low == -NEST_COUNTED && (one || before->low != x->low))
        x->low--;
}

void
nest_counted(NestValue *x)
{
    if (x->kind != NEST_int)
        return;
    if (x->high > NEST_COUNTED && x->low <= NEST_COUNTED &&
        x->high - NEST_COUNTED <= COUNTED_STEP)
        x->high = NEST_COUNTED;
    if (x->low < -NEST_COUNTED && x->high >= -NEST_COUNTED &&
        x->low + NEST_COUNTED >= -COUNTED_STEP)
        x->low = -NEST_COUNTED;
}

NestValue
nest_join(NestMaker *m, const NestValue *x, const NestValue *y, bool widen)
{
    if (nest_is_number(x) && nest_is_number(y)) {
        NestValue joined = join_numbers(x, y);
        joined.maybe = nest_is_number(&joined) && (x->maybe || y->maybe);
        if (widen && joined.kind == NEST_int && x->kind == NEST_int) {
            if (joined.low >= 0 && joined.low < x->low)
                joined.low = 0; /* for now */
            else
                joined.low = opposite(widened(opposite(x->low), opposite(joined.low)));
            joined.high = widened(x->high, joined.high);
        }
        return joined;
    }
    if (x->kind != y->kind || x->kind == NEST_conflict)
        return conflict_of(x, y);
    switch (x->kind) {
    case NEST_unbound:
        return *x;
    case NEST_object:
        return x->object == y->object ? *x : conflict();
    case NEST_array:
        return x->array == y->array &&
                       (x->view == y->view || (x->view->whole && y->view->whole))
                   ? *x
                   : conflict();
    case NEST_tuple:
        return join_tuples(m, x, y, widen);
    default:
        return conflict();
    }
}

bool
nest_same(const NestValue *x, const NestValue *y)
{
    if (x->kind != y->kind)
        return false;
    if (nest_is_number(x))
        return x->dtype == y->dtype && x->low == y->low && x->high == y->high &&
               x->known == y->known && x->maybe == y->maybe;
    for (uint32_t i = 0; x->kind == NEST_tuple && i < x->tuple->n; i++) {
        if (x->tuple->n != y->tuple->n ||
            !nest_same(&x->tuple->items[i], &y->tuple->items[i]))
            return false;
    }
    return x->kind == NEST_unbound || x->kind == NEST_conflict ||
           (x->kind == NEST_tuple && x->tuple->n == y->tuple->n) ||
           (x->kind == NEST_object && x->object == y->object) ||
           (x->kind == NEST_array && x->array == y->array);
}

IrValue
nest_as(NestMaker *m, const NestValue *x, const NestValue *type)
{
    IrDtype dtype = nest_dtype(type);
    if (!m->emits || m->failed)
        return 0;
    if (!nest_is_number(x)) /* no one reads it: see NestMaker.returned */
        return nest_node(m, OP_poison, NULL, 0, dtype);
    if (x->kind == NEST_int && ir_dtype_kind(dtype) == KIND_float &&
        dtype != DT_float64) {
        IrValue wide = nest_cast(m, x->value, DT_float64); /* as NumPy does */
        return nest_cast(m, wide, dtype);
    }
    return nest_cast(m, x->value, dtype);
}

/* -- Truth and indices ------------------------------------------------------------- */

NestValue
nest_truth(NestMaker *m, const NestValue *x)
{
    if (x->kind == NEST_bool)
        return *x;
    NestValue listed = nest_listed(m, x);
    if (listed.kind == NEST_listed)
        return nest_const_bool(m, true); /* none without items is one */
    if (nest_is_list(x))
        return nest_list_truth(m, x->object);
    if (x->kind == NEST_object)
        return x->object == Py_None ? nest_const_bool(m, false)
                                    : nest_fail(m, "a condition that is no number");
    if (!nest_is_number(x))
        return nest_fail(m, "a condition that is no number");
    if (x->dtype == DT_boolean)
        return nest_of(NEST_bool, DT_boolean, x->value);
    if (nest_is_complex(x)) {
        NestValue parts[2] = {nest_of(NEST_scalar, nest_part_dtype(x), x->value),
                              nest_of(NEST_scalar, nest_part_dtype(x), x->imag)};
        IrValue truths[2] = {nest_truth(m, &parts[0]).value,
                             nest_truth(m, &parts[1]).value};
        return nest_of(NEST_bool, DT_boolean,
                       nest_node(m, OP_logical_or, truths, 2, DT_COUNT));
    }
    /* NaN is true: not equal to 0. */
    IrValue operands[2] = {x->value, 0};
    if (m->emits) {
        IrDtype dtype = nest_dtype(x);
        operands[1] = ir_dtype_kind(dtype) == KIND_float
                          ? ir_const_float(m->graph, dtype, 0)
                          : ir_const_int(m->graph, dtype, 0);
    }
    IrValue truth = nest_node(m, OP_not_equal, operands, 2, DT_COUNT);
    return nest_of(NEST_bool, DT_boolean, truth);
}

IrValue
nest_index(NestMaker *m, const NestValue *x)
{
    bool integer = x->kind == NEST_int ||
                   ((x->kind == NEST_scalar || x->kind == NEST_either) &&
                    (ir_dtype_kind(x->dtype) == KIND_int ||
                     (ir_dtype_kind(x->dtype) == KIND_uint && x->dtype != DT_uint64)));
    if (!integer) {
        nest_fail(m, "an index that is no int");
        return 0;
    }
    return nest_node(m, OP_to_index, &x->value, 1, DT_COUNT);
}

NestValue
nest_from_index(NestMaker *m, IrValue index, int64_t low, int64_t high)
{
    return nest_int(nest_node(m, OP_from_index, &index, 1, DT_int64), low, high);
}
