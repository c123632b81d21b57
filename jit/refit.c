/* refit.c - a plan that is given other extents as it stands.
**
** Where arrays of ever other lengths come, making a plan for each (resize.c) costs more than running it. Once the
** table of signatures is full, the plan of the one that was not called for longest is taken for the next: its
** numbers are changed in place. Laws:
**   1. All that depends on extents is changed, or nothing is: slots, groups and total reductions. A plan that has
**      anything else with extents, or would have other steps for the new ones, is not refitted.
**   2. No one else has the plan: no call that runs, no job that compiles.
*/
#include "jit/resize.h"

enum {
    EXTENTS = 32,
    BYTES_MAX = 256 << 10, /* of a value: more may be better in blocks of rows */
};

typedef struct Refit {
    npy_intp from[EXTENTS], to[EXTENTS];
    uint32_t n;
} Refit;

/* False: extents that were equal, or different, are not so any more. */
static bool
add_extent(Refit *r, npy_intp from, npy_intp to)
{
    for (uint32_t i = 0; i < r->n; i++) {
        if ((r->from[i] == from) != (r->to[i] == to))
            return false;
        if (r->from[i] == from)
            return true;
    }
    if (r->n == EXTENTS || (from == 1) != (to == 1))
        return false;
    r->from[r->n] = from;
    r->to[r->n++] = to;
    return true;
}

static bool
take_extents(Refit *r, const JitPlan *plan, PyObject *const *params)
{
    for (uint32_t i = 0; i < plan->nparams; i++) {
        const JitSlot *slot = &plan->slots[plan->param_slots[i]];
        if (slot->ndim && (!PyArray_CheckExact(params[i]) ||
                           PyArray_NDIM((PyArrayObject *)params[i]) != slot->ndim))
            return false;
        for (int d = 0; d < slot->ndim; d++) {
            if (!add_extent(r, slot->shape[d],
                            PyArray_DIM((PyArrayObject *)params[i], d)))
                return false;
        }
    }
    return r->n > 0;
}

/* The new extent; 0: it comes from elsewhere. */
static npy_intp
extent_of(const Refit *r, npy_intp extent)
{
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->from[i] == extent)
            return r->to[i];
    }
    return extent == 1 ? 1 : 0;
}

/* Elements of a value then; 0: unknown. Before they are counted in *now. */
static npy_intp
size_of(const Refit *r, const JitSlot *slot, npy_intp *now)
{
    npy_intp size = 1;
    *now = 1;
    for (int d = 0; d < slot->ndim; d++) {
        size *= extent_of(r, slot->shape[d]);
        *now *= slot->shape[d];
    }
    return size;
}

static bool
slot_fits(const Refit *r, const JitSlot *slot, const RtSlot *rt)
{
    npy_intp now, size;
    if (rt->kind == RT_SLOT_view || rt->kind == RT_SLOT_index)
        return false;
    if (!slot->ndim)
        return true;
    size = size_of(r, slot, &now);
    return size &&
           (size > now ? size : now) <= BYTES_MAX / PyDataType_ELSIZE(slot->descr);
}

/* The elements that the group goes over then, where it sees all its operands as one run; 0: it does not. */
static npy_intp
run_of(const Refit *r, const JitPlan *plan, const RtGroup *group,
       const uint32_t *operands, npy_intp run)
{
    npy_intp then = 0;
    for (uint32_t d = 0; d + 1 < group->ndim; d++) {
        if (group->shape[d] != 1)
            return 0;
    }
    for (uint32_t k = 0; k < group->noperands; k++) {
        intptr_t step = group->strides[k * group->ndim + group->ndim - 1];
        npy_intp now, size;
        if (!step) /* one element */
            continue;
        size = size_of(r, &plan->slots[operands[k]], &now);
        if (step != group->itemsize[k] || now != run || (then && then != size))
            return 0;
        then = size;
    }
    return group->nest.packed ? 0 : then;
}

static bool
group_fits(const Refit *r, const JitPlan *plan, const RtStep *step)
{
    const RtGroup *group = plan->rt->groups[step->index];
    return !group->ndim ||
           (group->ndim == 1 &&
            run_of(r, plan, group, plan->rt->operands + step->operands, group->size));
}

static bool
reduce_fits(const Refit *r, const JitPlan *plan, const RtStep *step)
{
    const RtReduce *reduce = &plan->rt->reduces[step->index];
    const uint32_t *operands = plan->rt->operands + step->operands;
    if (reduce->outer != 1 || reduce->inner || reduce->along || reduce->walks ||
        reduce->stores || reduce->empty || !reduce->group->ninputs)
        return false;
    RtGroup inputs = *reduce->group; /* its results have no run */
    inputs.noperands = inputs.ninputs;
    npy_intp run = run_of(r, plan, &inputs, operands, reduce->run);
    return run > 1 && (run > RT_LEAF) == (reduce->run > RT_LEAF);
}

static bool
fits(const Refit *r, const JitPlan *plan)
{
    const RtPlan *rt = plan->rt;
    if (rt->nloops || rt->nrows || rt->nbehinds || plan->naliases || plan->writes)
        return false;
    for (uint32_t i = 0; i < rt->nslots; i++) {
        if (!slot_fits(r, &plan->slots[i], &rt->slots[i]))
            return false;
    }
    for (uint32_t i = 0; i < rt->nsteps; i++) {
        const RtStep *step = &rt->steps[i];
        bool fit = step->kind == RT_STEP_group ? group_fits(r, plan, step)
                   : step->kind == RT_STEP_reduce
                       ? reduce_fits(r, plan, step)
                       : step->kind != RT_STEP_along && step->kind != RT_STEP_place;
        if (!fit)
            return false;
    }
    return true;
}

static void
slot_refit(const Refit *r, JitSlot *slot, RtSlot *rt)
{
    npy_intp bytes = slot->ndim ? PyDataType_ELSIZE(slot->descr) : 0;
    for (int d = slot->ndim; d-- > 0;) {
        slot->shape[d] = extent_of(r, slot->shape[d]);
        slot->strides[d] = bytes;
        bytes *= slot->shape[d];
    }
    if (slot->ndim)
        rt->bytes = (size_t)bytes;
}

static void
step_refit(const Refit *r, JitPlan *plan, const RtStep *step)
{
    RtPlan *rt = plan->rt;
    const uint32_t *operands = rt->operands + step->operands;
    size_t scratch = 0;
    if (step->kind == RT_STEP_group) {
        RtGroup *group = rt->groups[step->index];
        if (group->ndim)
            rt_group_refit(group, run_of(r, plan, group, operands, group->size));
        scratch = group->scratch_bytes;
    } else if (step->kind == RT_STEP_reduce) {
        RtReduce *reduce = &rt->reduces[step->index];
        RtGroup inputs = *reduce->group;
        inputs.noperands = inputs.ninputs;
        reduce->run = run_of(r, plan, &inputs, operands, reduce->run);
        reduce->group->shape[reduce->group->ndim - 1] = reduce->run;
        rt_group_settle(reduce->group);
        rt_reduce_finish(reduce);
        scratch = reduce->scratch_bytes;
    }
    if (scratch > rt->scratch_bytes)
        rt->scratch_bytes = scratch;
}

/* Numbers that follow from the extents are what they are then; false: they allow none. */
static bool
counts_refit(const JitPlan *plan, PyObject *const *params, bool change)
{
    const IrGraph *g = plan->graph;
    for (IrNode node = 1; node < ir_nnodes(g); node++) {
        if (ir_node_op(g, node) != OP_count)
            continue;
        npy_intp count = trace_extents_count(g, node, params, plan->nparams);
        PyArrayObject *array = plan->record->values[ir_result(g, node, 0)].array;
        if (!count || !array || (change && !trace_extents_fill(array, count)))
            return false;
    }
    return true;
}

bool
jit_plan_refit(JitPlan *plan, PyObject *const *params)
{
    Refit r = {.n = 0};
    if (plan->refs != 1 || !plan->record || !take_extents(&r, plan, params) ||
        !fits(&r, plan) || !counts_refit(plan, params, false) ||
        !counts_refit(plan, params,
                      true)) /* a number is put without fail, or none is */
        return false;
    for (uint32_t i = 0; i < plan->rt->nsteps; i++) /* by the slots as they were */
        step_refit(&r, plan, &plan->rt->steps[i]);
    for (uint32_t i = 0; i < plan->rt->nslots; i++)
        slot_refit(&r, &plan->slots[i], &plan->rt->slots[i]);
    plan->refitted = true;
    return true;
}
