/* nest_parts.c - the numbers of the graph that a value is made of.
**
** A number is one, a complex number two, and what may be Python's or NumPy's has a tag behind them; what may be unbound
** where it is read has a bool behind all of these. A tuple is
** those of its items, one behind the other: regions carry and give them as they do numbers. Of items that are
** objects, or arrays as they came, nothing is carried: on all ways they are the same.
*/
#include "trace/nest.h"

bool
nest_has_items(const NestValue *x)
{
    return x->kind == NEST_tuple || x->kind == NEST_list;
}

/* What is the same on all ways: it has no numbers in the graph. */
static bool
is_fixed(const NestValue *x)
{
    return x->kind == NEST_object || (x->kind == NEST_array && x->view->whole);
}

bool
nest_has_parts(const NestValue *x)
{
    for (uint32_t i = 0; x->kind == NEST_tuple && i < x->tuple->n; i++) {
        if (!is_fixed(&x->tuple->items[i]) && !nest_has_parts(&x->tuple->items[i]))
            return false;
    }
    return nest_is_number(x) || x->kind == NEST_tuple;
}

uint32_t
nest_nparts(const NestValue *type)
{
    uint32_t n = 0;
    if (is_fixed(type))
        return 0;
    if (type->kind != NEST_tuple)
        return (nest_is_complex(type) ? 2 : 1) + (type->kind == NEST_either) +
               type->maybe;
    for (uint32_t i = 0; i < type->tuple->n; i++)
        n += nest_nparts(&type->tuple->items[i]);
    return n;
}

/* The item of a tuple whose part it is; *part is the item's. */
static uint32_t
item_of_part(const NestValue *type, uint32_t *part)
{
    uint32_t i = 0;
    for (; *part >= nest_nparts(&type->tuple->items[i]); i++)
        *part -= nest_nparts(&type->tuple->items[i]);
    return i;
}

IrDtype
nest_part_dtype(const NestValue *type)
{
    IrDtype dtype = nest_dtype(type);
    return dtype == DT_complex128  ? DT_float64
           : dtype == DT_complex64 ? DT_float32
                                   : dtype;
}

/* Behind the number; whether it is bound is behind that. */
static bool
is_tag(const NestValue *type, uint32_t part)
{
    return type->kind == NEST_either && part + 1 + type->maybe == nest_nparts(type);
}

IrDtype
nest_dtype_of_part(const NestValue *type, uint32_t part)
{
    if (type->kind == NEST_tuple) {
        uint32_t i = item_of_part(type, &part);
        return nest_dtype_of_part(&type->tuple->items[i], part);
    }
    if (type->maybe && part + 1 == nest_nparts(type))
        return DT_boolean;
    return is_tag(type, part) ? DT_int64 : nest_part_dtype(type);
}

IrValue *
nest_part_at(NestValue *x, const NestValue *type, uint32_t part)
{
    if (type->kind == NEST_tuple) {
        uint32_t i = item_of_part(type, &part);
        NestTuple *own = (NestTuple *)x->tuple; /* of this value alone: nest_copy */
        return nest_part_at(&own->items[i], &type->tuple->items[i], part);
    }
    if (type->maybe && part + 1 == nest_nparts(type))
        return &x->bound;
    if (is_tag(type, part))
        return &x->tag;
    return part ? &x->imag : &x->value;
}

/* -- As a type has it -------------------------------------------------------------- */

uint32_t
nest_value_as(NestMaker *m, const NestValue *x, const NestValue *type, IrValue *parts)
{
    NestValue part = nest_of(NEST_scalar, nest_part_dtype(type), 0);
    if (!nest_is_complex(type)) {
        if (nest_is_complex(x))
            nest_fail(m, "a complex number as one that is not");
        parts[0] = m->failed ? 0 : nest_as(m, x, type);
        return 1;
    }
    if (!nest_is_complex(x)) {
        parts[0] = nest_as(m, x, &part);
        parts[1] = parts[0];
        if (nest_is_number(x))
            parts[1] = m->emits ? ir_const_float(m->graph, part.dtype, 0) : 0;
        return 2;
    }
    parts[0] = nest_cast(m, x->value, part.dtype);
    parts[1] = nest_cast(m, x->imag, part.dtype);
    return 2;
}

uint32_t
nest_parts_as(NestMaker *m, const NestValue *x, const NestValue *type, IrValue *parts)
{
    uint32_t n = 0;
    bool alike = x->kind == NEST_tuple && type->kind == NEST_tuple &&
                 x->tuple->n == type->tuple->n;
    for (uint32_t i = 0; type->kind == NEST_tuple && i < type->tuple->n; i++)
        n += nest_parts_as(m, alike ? &x->tuple->items[i] : x, &type->tuple->items[i],
                           parts + n);
    if (type->kind == NEST_tuple || is_fixed(type))
        return n;
    n = nest_value_as(m, x, type, parts);
    if (type->kind == NEST_either)
        parts[n++] = nest_is_number(x) ? nest_tag(m, x)
                                       : nest_node(m, OP_poison, NULL, 0, DT_int64);
    if (type->maybe)
        parts[n++] = nest_is_number(x) && x->maybe
                         ? x->bound
                         : nest_const_bool(m, nest_is_number(x)).value;
    return n;
}

/* -- Copies ------------------------------------------------------------------------ */

NestValue
nest_copy(NestMaker *m, const NestValue *x)
{
    if (x->kind == NEST_listed ||
        (x->kind == NEST_array && !x->view->whole)) /* a window is where it was made */
        return nest_of(NEST_conflict, DT_COUNT, 0);
    if (x->kind == NEST_array && m->emits)
        return nest_whole(m, x->array);
    if (x->kind != NEST_tuple || m->failed)
        return *x;
    NestValue copy = nest_tuple(m, NEST_tuple, x->tuple->items, x->tuple->n);
    NestTuple *own = (NestTuple *)copy.tuple;
    for (uint32_t i = 0; !m->failed && i < own->n; i++) {
        own->items[i] = nest_copy(m, &own->items[i]);
        if (own->items[i].kind == NEST_conflict)
            return own->items[i];
    }
    return copy;
}

bool
nest_same_window(const NestValue *x, const NestValue *y)
{
    return x->kind == NEST_array && y->kind == NEST_array && x->array == y->array &&
           x->view == y->view;
}

void
nest_parts_take(NestMaker *m, NestValue *x, const NestValue *other)
{
    for (uint32_t i = 0;
         x->kind == NEST_tuple && other->kind == NEST_tuple && i < x->tuple->n; i++)
        nest_parts_take(m, (NestValue *)&x->tuple->items[i], &other->tuple->items[i]);
    if (!nest_is_number(x) || !nest_is_number(other))
        return;
    x->value = nest_cast(m, other->value, nest_part_dtype(x));
    x->imag = other->imag;
    x->tag = other->tag;
    x->bound = other->bound;
}
