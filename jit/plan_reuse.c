/* plan_reuse.c - results that take the memory of what a call made and no one needs any more.
**
**     c = a @ b      an array of NumPy's
**     d = c + bias   the same array, if nothing else holds it: seen when the plan runs
**     c = np.concatenate([a, b])   a buffer of the plan's
**     d = c * 2                    an array in its memory
**
** The group reads an element before it writes that place (jit_plan_may_replace), and reads none by a view.
*/
#include "jit/planner.h"

/* The step that takes the slot's memory, if nothing but placing is between it and step `end`. */
static bool
is_taken_before(const RtPlan *rt, uint32_t slot, uint32_t end)
{
    for (uint32_t i = end; i-- > 0;) {
        const RtStep *step = &rt->steps[i];
        if (step->kind == RT_STEP_allocate && step->index == slot)
            return true;
        if (step->kind != RT_STEP_allocate && step->kind != RT_STEP_buffer &&
            step->kind != RT_STEP_view)
            return false;
    }
    return false;
}

static bool
are_alike(const JitSlot *a, const JitSlot *b)
{
    if (a->scalar || b->scalar || a->ndim != b->ndim || a->descr != b->descr)
        return false;
    for (int d = 0; d < a->ndim; d++) {
        if (a->shape[d] != b->shape[d] || a->strides[d] != b->strides[d])
            return false;
    }
    return true;
}

static bool
is_object(const RtPlan *rt, uint32_t slot)
{
    return rt->slots[slot].kind == RT_SLOT_object;
}

/* True if the group reads the slot's memory by a view as well: elsewhere than where it writes. */
static bool
is_viewed(const Planner *p, const RtGroup *group, const uint32_t *operands,
          uint32_t slot)
{
    for (uint32_t k = 0; k < group->ninputs; k++) {
        if (operands[k] != slot && jit_plan_root_slot(p, operands[k]) == slot)
            return true;
    }
    return false;
}

static void
find_memory(Planner *p, uint32_t step, uint32_t out, bool *given)
{
    RtPlan *rt = p->rt;
    const RtGroup *group = rt->groups[rt->steps[step].index];
    const uint32_t *operands = rt->operands + rt->steps[step].operands;
    uint32_t to = operands[out];
    for (uint32_t in = 0; in < group->ninputs; in++) {
        uint32_t from = operands[in];
        bool buffer = rt->slots[from].kind == RT_SLOT_buffer;
        if (from == to || (!buffer && !is_object(rt, from)) || given[from] ||
            p->touched[from] != step ||
            !are_alike(&p->plan->slots[from], &p->plan->slots[to]) ||
            !jit_plan_may_replace(group, in, out) ||
            is_viewed(p, group, operands, from))
            continue;
        given[from] = true;
        rt->slots[to].reuse = from + 1;
        rt->slots[from].heir = buffer ? to + 1 : 0;
        return;
    }
}

void
jit_plan_reuse(Planner *p)
{
    RtPlan *rt = p->rt;
    bool *given = PyMem_Calloc(rt->nslots + 1, sizeof *given);
    if (!given) {
        p->failed = true;
        return;
    }
    for (uint32_t i = 0; i < rt->nsteps; i++) {
        if (rt->steps[i].kind != RT_STEP_group)
            continue;
        const RtGroup *group = rt->groups[rt->steps[i].index];
        for (uint32_t k = group->ninputs; k < group->noperands; k++) {
            uint32_t slot = rt->operands[rt->steps[i].operands + k];
            if (is_object(rt, slot) && is_taken_before(rt, slot, i))
                find_memory(p, i, k, given);
        }
    }
    PyMem_Free(given);
}
