/* rows_calls.c - a block of rows by kernels alone, as many rows at a time as a first-level cache holds.
**
**     block of rows      rows.c: a piece of the work
**       some rows        what all steps have of them is in the first-level cache
**         call           of the step's kernel
**
** With a row or two at a time a step takes less than a microsecond: so what does not depend on the
** row is prepared once, and a step is little more than a call. The processor begins to read the next
** row while it still computes the last one.
*/
#include <string.h>

#include "runtime/rows.h"
#include "runtime/split.h"

const RtReduce *
rt_rows_both(const RtPlan *plan, const RtRows *rows, uint32_t i)
{
    const RtReduce *both = rows->both[i] ? &plan->reduces[rows->both[i] - 1] : NULL;
    return both && rt_group_kernel(both->group) ? both : NULL;
}

/* -- Once --------------------------------------------------------------------------- */

static bool
add_operand(const RtPlan *plan, const RtStep *step, uint32_t k, uint32_t number,
            intptr_t run_step, Calls *calls)
{
    if (calls->noperands == CALLS_OPERANDS)
        return false;
    calls->slot[calls->noperands] = plan->operands[step->operands + k];
    calls->number[calls->noperands] = number;
    calls->steps[calls->noperands++] = run_step;
    return true;
}

/* True if the kernel sees rows and runs, or elements, of operands as they lie. */
static bool
add_group(const RtPlan *plan, const RtStep *step, uint32_t number, Call *call,
          Calls *calls)
{
    const RtGroup *group = plan->groups[step->index];
    const RtNest *nest = &group->nest;
    bool rows = group->ndim == 2 && nest->inner == 1 && nest->rows == 0;
    call->kernel = rt_group_kernel(group);
    if (!call->kernel || nest->packed || nest->strided || nest->flat ||
        !(rows || group->ndim == 1))
        return false;
    call->n = rows ? group->shape[1] : 0;
    for (uint32_t k = 0; k < group->noperands; k++) {
        if (!add_operand(plan, step, k, number + k, group->strides[k * group->ndim],
                         calls))
            return false;
    }
    return true;
}

static bool
add_reduce(const RtReduce *reduce, intptr_t most, Call *call, Calls *calls)
{
    RtReduceWay way = rt_reduce_way(reduce);
    if (!way.folds || calls->nreduces == CALLS_REDUCE)
        return false;
    Leaves *leaves = &calls->leaves[calls->nreduces++];
    rt_folds_open(reduce, most, leaves);
    if (leaves->large)
        return false;
    call->kernel = way.kernel;
    call->reduce = reduce;
    call->leaves = leaves;
    return true;
}

bool
rt_calls_prepare(const RtPlan *plan, const RtRows *rows, Calls *calls)
{
    calls->ncalls = calls->nreduces = calls->noperands = 0;
    for (uint32_t i = 0, number = 0; i < rows->nsteps; i++) {
        const RtStep *step = &rows->steps[i];
        const RtReduce *reduce = rt_rows_both(plan, rows, i);
        uint32_t n = rt_step_noperands(plan, step), first = calls->noperands;
        Call *call = &calls->calls[calls->ncalls];
        if (!rows->few || calls->ncalls++ == CALLS)
            return false;
        *call = (Call){.span = rows->span[i], .first = first};
        if (!reduce && step->kind == RT_STEP_reduce)
            reduce = &plan->reduces[step->index];
        if (reduce && !add_reduce(reduce, rows->few * call->span, call, calls))
            return false;
        if (!reduce && !add_group(plan, step, number, call, calls))
            return false;
        for (uint32_t k = 0; reduce && k < n; k++) {
            if (!add_operand(plan, step, k, number + k, 0, calls))
                return false;
        }
        number += n;
        if (reduce && step->kind == RT_STEP_group) { /* its operands, then the result */
            step = &rows->steps[++i];
            if (!add_operand(plan, step, 1, number + 1, 0, calls))
                return false;
            number += rt_step_noperands(plan, step);
        }
        call->noperands = calls->noperands - first;
    }
    return true;
}

/* -- In each block ------------------------------------------------------------------ */

/* All runs at once, or, where they do not follow each other or are too many, some. */
static void
call_reduce(const Call *call, char **at, intptr_t runs)
{
    const RtReduce *reduce = call->reduce;
    intptr_t most = call->leaves->most;
    char *moved[RT_OPERANDS_MAX];
    if (runs > most) {
        memcpy(moved, at, call->noperands * sizeof *at);
        at = moved;
    }
    for (; runs > most; runs -= most) {
        rt_folds_run(reduce, call->kernel, call->leaves, most, at);
        for (uint32_t k = 0; k + 1 < call->noperands; k++)
            at[k] += most * step_of(reduce, k, 0);
        at[call->noperands - 1] += most * reduce->itemsize;
    }
    rt_folds_run(reduce, call->kernel, call->leaves, runs, at);
}

void
rt_calls_run(const Blocks *blocks, intptr_t at, intptr_t n, char *scratch)
{
    const RtRows *rows = blocks->rows;
    const Calls *calls = blocks->calls;
    char *data[CALLS_OPERANDS];
    intptr_t advances[CALLS_OPERANDS];
    uint32_t status = rt_fpstatus_save();
    for (uint32_t k = 0; k < calls->noperands; k++) {
        size_t local = rows->local[calls->number[k]];
        intptr_t each = rows->advance[calls->number[k]];
        data[k] = local ? scratch + rows->local_at + local - 1
                        : blocks->data[calls->slot[k]] + at * each;
        advances[k] = rows->few * each;
    }
    for (intptr_t i = 0; i < n; i += rows->few) {
        intptr_t few = n - i < rows->few ? n - i : rows->few;
        for (uint32_t c = 0; c < calls->ncalls; c++) {
            const Call *call = &calls->calls[c];
            intptr_t runs = few * call->span;
            if (call->reduce)
                call_reduce(call, data + call->first, runs);
            else if (call->n)
                call->kernel(data + call->first, call->n, runs,
                             calls->steps + call->first);
            else
                call->kernel(data + call->first, runs, 1, NULL);
        }
        for (uint32_t k = 0; k < calls->noperands; k++)
            data[k] += advances[k];
    }
    rt_fpstatus_restore(status);
}
