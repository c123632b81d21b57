/* nest_settle.c - the types that names have at the head of each turn of a loop.
**
** The first walk goes through a loop's body until the types of the names that it assigns are the
** same at its head as they were a turn before. Bounds of ints that still grow are given up then, and
** those found once more that do not depend on what they were.
*/
#include "trace/nest_loop.h"

enum { ROUNDS_MAX = 12 };

/* The type of a slot that is x on one way and y on the other. */
NestValue
nest_join_slot(NestMaker *m, uint32_t s, const NestValue *x, const NestValue *y,
               bool widen)
{
    if ((int)s == m->returned && x->kind == NEST_unbound)
        return *y;
    if ((int)s == m->returned && y->kind == NEST_unbound)
        return *x;
    bool missed = m->depth == 0 && m->missed[s];
    if (missed && ((x->kind == NEST_unbound && nest_is_number(y)) ||
                   (y->kind == NEST_unbound && nest_is_number(x)))) {
        NestValue value = x->kind == NEST_unbound ? *y : *x;
        value.maybe = true;
        return value;
    }
    return nest_join(m, x, y, widen);
}

void
nest_check_parts(NestMaker *m, const NestTree *tree, const NestValue *types)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < m->nslots; s++)
        n +=
            tree->assigned[s] && nest_has_parts(&types[s]) ? nest_nparts(&types[s]) : 0;
    if (n > NEST_VALUES_MAX - 1)
        nest_fail(m, "so many numbers");
}

/* What is counted on the way. */
typedef struct Counted {
    double work, moved, expected;
    uint32_t at;
} Counted;

/* One turn of the first walk, as if nothing had been walked since the loop began. */
static bool
walk_turn(NestMaker *m, NestCycle *loop, const NestValue *head, const Counted *before)
{
    m->work = before->work;
    m->moved = before->moved;
    m->expected = before->expected;
    m->tape_at = before->at;
    nest_slots_load(m, head);
    loop->heads = head;
    return loop->turn(m, loop) && !m->failed;
}

/* True of a name that has a type at the head which is joined with what the turn gave it. */
static bool
is_joined(const NestMaker *m, const NestCycle *loop, const NestValue *head, uint32_t s)
{
    return loop->tree->assigned[s] &&
           (head[s].kind != NEST_unbound || (int)s == m->returned ||
            (m->depth == 0 && m->missed[s]));
}

/* Bounds that were given up are those that a turn gives after all, whatever they were at its head: `% n`. False: none is. */
static bool
narrowed(NestMaker *m, const NestCycle *loop, const NestValue *first,
         const NestValue *head, NestValue *narrow)
{
    bool any = false;
    memcpy(narrow, head, m->nslots * sizeof *head);
    for (uint32_t s = 0; s < m->nslots; s++) {
        if (!is_joined(m, loop, head, s) || head[s].kind != NEST_int ||
            first[s].kind != NEST_int || m->slots[s].kind != NEST_int)
            continue;
        NestValue joined = nest_join_slot(m, s, &first[s], &m->slots[s], false);
        bool less = (head[s].high == INT64_MAX && joined.high < INT64_MAX) ||
                    (head[s].low == INT64_MIN && joined.low > INT64_MIN);
        if (less) {
            narrow[s].low = joined.low;
            narrow[s].high = joined.high;
            any = true;
        }
    }
    return any;
}

static bool
holds(NestMaker *m, const NestCycle *loop, const NestValue *head)
{
    bool same = true;
    for (uint32_t s = 0; s < m->nslots; s++) {
        if (!is_joined(m, loop, head, s))
            continue;
        NestValue joined = nest_join_slot(m, s, &head[s], &m->slots[s], false);
        same &= nest_same(&joined, &head[s]);
    }
    return same;
}

/* First walk: the types settle. */
void
nest_settle(NestMaker *m, NestCycle *loop)
{
    NestValue *head = nest_slots_new(m), *first = nest_slots_new(m),
              *narrow = nest_slots_new(m);
    bool settled = false;
    if (m->failed)
        return;
    nest_slots_save(m, head);
    nest_slots_save(m, first);
    Counted before = {m->work, m->moved, m->expected, m->tape_at};
    double times = m->times, likely = m->likely;
    m->times *= loop->often;
    m->likely *= loop->likely;
    for (int round = 0; !settled && !m->failed; round++) {
        if (round == ROUNDS_MAX) {
            nest_fail(m, "types that do not settle");
            return;
        }
        if (!walk_turn(m, loop, head, &before))
            return;
        settled = true;
        for (uint32_t s = 0; s < m->nslots; s++) {
            if (!is_joined(m, loop, head, s))
                continue;
            NestValue joined = nest_join_slot(m, s, &head[s], &m->slots[s], round > 0);
            if (round == 0)
                nest_uncounted(&joined, &head[s]);
            m->renewed[s] |= !m->kept[s] && nest_is_renewed(m, &head[s], &m->slots[s]);
            settled &= nest_same(&joined, &head[s]);
            head[s] = joined;
        }
    }
    if (narrowed(m, loop, first, head, narrow)) {
        if (walk_turn(m, loop, narrow, &before) && holds(m, loop, narrow))
            head = narrow;
        else if (m->failed || !walk_turn(m, loop, head, &before))
            return;
    }
    m->times = times;
    m->likely = likely;
    memcpy(m->tape + loop->head, head, m->nslots * sizeof *head);
    memcpy(m->tape + loop->end, m->slots, m->nslots * sizeof *head);
    nest_check_parts(m, loop->tree, m->tape + loop->head);
    nest_check_parts(m, loop->tree, m->tape + loop->end);
}
