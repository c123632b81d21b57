/* nest_swap.c - two names that change their arrays with each other in each turn: prev, cur = cur, prev.
**
** A name is one array in the graph, so what the arrays hold is changed instead. That is the same as long as nothing but
** the two names can tell which array is which: both have been made in this call, and no one else holds them.
**
** And names that get an array made in the turn: cur = new. That is copied to the array that the name came with, or to a
** copy of that where others hold it.
*/
#include "trace/nest_loop.h"

enum {
    REFERENCES = 3
}; /* of an array that one name has: the name, the hook's arguments, NestMaker.held */

bool
nest_is_own(const Tracer *tracer)
{
    const TraceStorage *storage = tracer->storage;
    return tracer->whole && storage->refs == 1 && storage->param < 0 &&
           !storage->escape && Py_REFCNT((PyObject *)tracer) <= REFERENCES &&
           !tracer->weakrefs && !tracer->picked_from && !tracer->picked_by &&
           !tracer->native;
}

uint32_t
nest_arrays_in(const NestValue *x)
{
    uint32_t mask = x->kind == NEST_array ? 1u << x->array : 0;
    for (uint32_t i = 0; x->tuple && i < x->tuple->n; i++)
        mask |= nest_arrays_in(&x->tuple->items[i]);
    for (uint32_t i = 0; x->kind == NEST_lazy && i < x->lazy->n; i++)
        mask |= nest_arrays_in(&x->lazy->operands[i]);
    if (x->kind == NEST_lazy && x->lazy->mask)
        mask |= nest_arrays_in(x->lazy->mask);
    return mask;
}

/* True if the value is an array that may hold what another one held. */
static bool
may_change(const NestMaker *m, const NestValue *x)
{
    return x->kind == NEST_array && x->view->whole && m->arrays[x->array].own &&
           !(m->gone_over >> x->array & 1);
}

static bool
are_alike(const NestValue *x, const NestValue *y)
{
    bool alike = x->dtype == y->dtype && x->view->ndim == y->view->ndim;
    for (uint32_t d = 0; alike && d < x->view->ndim; d++) {
        const NestExtent *a = &x->view->extents[d], *b = &y->view->extents[d];
        alike = a->low == a->high && b->low == b->high && a->low == b->low;
    }
    return alike;
}

/* Elements k[0] … of both from the axis on. */
static void
swap_axis(NestMaker *m, const NestValue *x, const NestValue *y, uint32_t axis,
          IrValue *k)
{
    IrValue indices[NEST_INDICES_MAX];
    NestLoop loop;
    if (axis < x->view->ndim) {
        nest_loop_open(m, &loop, &x->view->extents[axis], NULL, DT_COUNT);
        k[axis] = loop.index;
        swap_axis(m, x, y, axis + 1, k);
        nest_loop_close(m, &loop, 0);
        return;
    }
    NestValue a = nest_element(m, x, axis, k), b = nest_element(m, y, axis, k);
    nest_address(m, x, k, indices);
    nest_write_element(m, x, indices, &b);
    nest_address(m, y, k, indices);
    nest_write_element(m, y, indices, &a);
}

static void
swap(NestMaker *m, uint32_t s, uint32_t t, const uint8_t *assigned)
{
    NestValue x = nest_copy(m, &m->slots[s]), y = nest_copy(m, &m->slots[t]);
    IrValue k[NEST_INDICES_MAX] = {0};
    uint32_t both = nest_arrays_in(&x) | nest_arrays_in(&y);
    for (uint32_t u = 0; u < m->nslots; u++) {
        if (u != s && u != t && nest_arrays_in(&m->slots[u]) & both && !assigned[u])
            return; /* a view: the names differ at the head */
    }
    swap_axis(m, &x, &y, 0, k);
    for (uint32_t u = 0; u < m->nslots; u++) {
        if (u != s && u != t && nest_arrays_in(&m->slots[u]) & both)
            m->slots[u] = nest_of(NEST_conflict, DT_COUNT, 0);
    }
    m->slots[s] = y;
    m->slots[t] = x;
}

void
nest_swap_back(NestMaker *m, const uint8_t *assigned, const NestValue *head)
{
    for (uint32_t s = 0; s < m->nslots && !m->failed && !m->depth; s++) {
        for (uint32_t t = s + 1;
             t < m->nslots && assigned[s] && may_change(m, &head[s]); t++) {
            const NestValue *x = &m->slots[s], *y = &m->slots[t];
            if (assigned[t] && may_change(m, &head[t]) && x->kind == NEST_array &&
                y->kind == NEST_array && x->view->whole && y->view->whole &&
                head[s].array != head[t].array && x->array == head[t].array &&
                y->array == head[s].array && are_alike(x, y))
                swap(m, s, t, assigned);
        }
    }
}

/* -- A new array in each turn ------------------------------------------------------ */

/* Memory that the nest itself has, from end to end. */
static bool
is_made_here(const NestMaker *m, const NestValue *x)
{
    const NestArray *array = &m->arrays[x->array];
    bool plain = !array->object && !array->list && array->in_row && !array->swapped &&
                 x->view->naxes == (uint32_t)array->ndim &&
                 x->view->ndim == x->view->naxes;
    for (uint32_t d = 0; plain && d < x->view->naxes; d++)
        plain = x->view->axes[d].visible == (int)d && x->view->axes[d].step == 1 &&
                !x->view->axes[d].start && !x->view->axes[d].root &&
                !x->view->axes[d].more;
    return plain;
}

bool
nest_is_renewed(const NestMaker *m, const NestValue *head, const NestValue *end)
{
    return head->kind == NEST_array && end->kind == NEST_array && !m->depth &&
           head->view->whole && m->arrays[head->array].object &&
           m->arrays[head->array].in_row && head->array != end->array &&
           head->dtype == end->dtype && head->view->ndim == end->view->ndim &&
           is_made_here(m, end);
}

void
nest_keep_back(NestMaker *m, const uint8_t *assigned, const NestValue *head)
{
    for (uint32_t s = 0; s < m->nslots && !m->failed && !m->depth; s++) {
        NestValue made = m->slots[s];
        if (!assigned[s] || !m->kept[s] || !nest_is_renewed(m, &head[s], &made))
            continue;
        NestValue place = nest_whole(m, head[s].array);
        NestArray *array = &m->arrays[head[s].array];
        if (!m->emits && array->written && m->kept[s] == KEPT_copy) {
            nest_fail(m, "an array that is changed before it is another one");
            return;
        }
        bool written = array->written;
        for (uint32_t d = 0; d < place.view->ndim; d++) {
            NestExtent extent = place.view->extents[d];
            nest_same_extent(m, &extent, &made.view->extents[d]);
        }
        nest_fill_all(m, &place, &made);
        array->written = written;
        array->kept = true;
        for (uint32_t u = 0; u < m->nslots; u++) {
            if (u != s &&
                nest_arrays_in(&m->slots[u]) & (1u << made.array | 1u << head[s].array))
                m->slots[u] = nest_of(NEST_conflict, DT_COUNT, 0);
        }
        m->slots[s] = place;
    }
}

void
nest_keep_check(NestMaker *m, const uint8_t *assigned, IrValue count,
                const int64_t turns[2])
{
    bool copies = false;
    for (uint32_t s = 0; s < m->nslots; s++)
        copies |= assigned[s] && m->kept[s] == KEPT_copy;
    if (copies && m->maybe)
        nest_fail(m, "an array that may stay the one that others hold");
    if (!copies || turns[0] > 0 || m->failed)
        return;
    NestValue n = nest_from_index(m, count, turns[0], turns[1]);
    nest_check_not_zero(m, &n);
}
