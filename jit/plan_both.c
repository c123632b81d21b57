/* plan_both.c - a group and the reduction of its result as one kernel.
**
** Where both run in blocks of rows, one after the other, the second reads again what the first has
** just made. A third kernel does both: it computes, stores and reduces. It is a reduction of the plan
** without a step: runtime/rows.c takes it instead of the two as soon as there is code for it.
**
** Law 1: bits are those of the two: the elements by the group's kernel graph, the reduction by the
**        tree of the other.
*/
#include <stdlib.h>
#include <string.h>

#include "jit/planner.h"

/* True if the group's runs are the reduction's, and kernels of both see them as they lie. */
static bool
fits(const RtGroup *group, const RtReduce *reduce)
{
    const RtGroup *from = reduce->group;
    const intptr_t *made = group->strides + group->ninputs * group->ndim;
    if (!reduce->folds || reduce->empty || reduce->walks || reduce->inner ||
        from->nops || from->ninputs != 1 || group->noperands != group->ninputs + 1 ||
        group->ndim != 2 || group->nest.inner != 1 || group->nest.flat ||
        group->nest.packed || group->nest.strided)
        return false;
    for (uint32_t k = 0; k < group->noperands; k++) {
        if (group->nest.every[k])
            return false;
    }
    return group->shape[0] == reduce->outer && group->shape[1] == reduce->run &&
           made[0] == from->strides[0] && made[1] == from->strides[1];
}

/* The group's operands, what it makes among the inputs: the kernel's list of steps has it there. */
static RtGroup *
both_of(const RtGroup *group, const RtReduce *reduce)
{
    uint32_t n = group->noperands;
    RtGroup *both = rt_group_new(n, 1, 0, n + 1, 0, 2);
    if (!both)
        return NULL;
    memcpy(both->shape, group->shape, 2 * sizeof *both->shape);
    memcpy(both->strides, group->strides, (size_t)n * 2 * sizeof *both->strides);
    memcpy(both->strides + (size_t)n * 2, reduce->group->strides,
           2 * sizeof *both->strides);
    memcpy(both->itemsize, group->itemsize, n * sizeof *both->itemsize);
    both->itemsize[n] = reduce->itemsize;
    rt_group_settle(both);
    return both;
}

/* The code of both, of the codes of the two; false: there is none. */
static bool
code_of(const JitGroupCode *group, const JitGroupCode *reduce, bool wide,
        JitGroupCode *code)
{
    IrNode node = ir_def(reduce->kernel, ir_return_at(reduce->kernel, 0));
    IrJoin join = {.wide = wide, .op = ir_node_op(reduce->kernel, node)};
    *code = (JitGroupCode){.nparams = group->nparams, .nops = group->nops + 1};
    code->patterns = calloc(group->nparams + 1, sizeof *code->patterns);
    code->kernel = code->patterns ? ir_kernel_reduced(group->kernel, join) : NULL;
    if (!code->kernel) {
        free(code->patterns);
        return false;
    }
    memcpy(code->patterns, group->patterns, group->nparams * sizeof *code->patterns);
    return true;
}

uint32_t
jit_plan_both(Planner *p, const RtStep *first, const RtStep *second)
{
    RtPlan *rt = p->rt;
    if (first->kind != RT_STEP_group || second->kind != RT_STEP_reduce)
        return 0;
    const RtGroup *group = rt->groups[first->index];
    const JitGroupCode *made = &p->plan->codes[first->index],
                       *folded = &p->plan->reduce_codes[second->index];
    if (!made->kernel || !folded->kernel || !fits(group, &rt->reduces[second->index]) ||
        rt->operands[first->operands + group->ninputs] !=
            rt->operands[second->operands])
        return 0;
    uint32_t number = rt->nreduces;
    JitGroupCode *codes = realloc(p->plan->reduce_codes, (number + 1) * sizeof *codes);
    if (codes)
        p->plan->reduce_codes = codes;
    RtReduce *reduces =
        jit_plan_grown(p, rt->reduces, number, &p->reduces_room, sizeof *reduces);
    if (!codes || !reduces)
        return 0;
    rt->reduces = reduces;
    reduces[number] = reduces[second->index];
    reduces[number].stores = true;
    reduces[number].scratch_bytes = 0;
    reduces[number].group = both_of(group, &reduces[second->index]);
    if (!reduces[number].group)
        return 0;
    if (!code_of(&p->plan->codes[first->index], &codes[second->index],
                 reduces[number].wide, &codes[number])) {
        rt_group_free(reduces[number].group);
        return 0;
    }
    return ++rt->nreduces;
}
