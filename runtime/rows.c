/* rows.c - runs steps in blocks of rows: what one step makes is in cache for the next.
**
**     block of rows   as many as the second-level cache has room for
**       step          a group or a reduction, on these rows of its operands; rows_calls.c
**                     where there are kernels for all steps
**
** Row i of what a step makes depends on row i of what it reads, and on what is the same for all
** rows. So a value that only these steps read needs memory for one block, which is in the scratch
** memory of who runs it: blocks are run by several threads.
**
** Law 1: within a row nothing is done in another order, so bits do not depend on the block.
*/
#include "runtime/rows.h"

#include <stdlib.h>

uint32_t
rt_step_noperands(const RtPlan *plan, const RtStep *step)
{
    return step->kind == RT_STEP_group ? plan->groups[step->index]->noperands
                                       : plan->reduces[step->index].group->noperands;
}

void
rt_rows_clear(RtRows *rows)
{
    free(rows->steps);
    free(rows->both);
    free(rows->span);
    free(rows->advance);
    free(rows->local);
}

/* Addresses of the operands of step i, whose first one is number `first` of all, in the block that
** begins at row `at`. Returns how many there are. */
static uint32_t
place_step(const Blocks *blocks, uint32_t i, uint32_t first, intptr_t at, char *scratch,
           char **data)
{
    const RtRows *rows = blocks->rows;
    const uint32_t *operands = blocks->plan->operands + rows->steps[i].operands;
    uint32_t n = rt_step_noperands(blocks->plan, &rows->steps[i]);
    for (uint32_t k = 0; k < n; k++) {
        size_t local = rows->local[first + k];
        data[k] = local ? scratch + rows->local_at + local - 1
                        : blocks->data[operands[k]] + at * rows->advance[first + k];
    }
    return n;
}

static int
run_step(const RtPlan *plan, const RtStep *step, intptr_t extent, char *const *data,
         char *scratch)
{
    if (step->kind == RT_STEP_group)
        return rt_group_run_part(plan->groups[step->index], extent, data, scratch);
    return rt_reduce_run_part(&plan->reduces[step->index], extent, data, scratch);
}

static int
run_block(void *context, intptr_t number, char *scratch)
{
    const Blocks *blocks = context;
    const RtRows *rows = blocks->rows;
    intptr_t at = number * rows->block, left = rows->rows - at;
    intptr_t n = left < rows->block ? left : rows->block;
    int status = 0;
    if (blocks->calls)
        rt_calls_run(blocks, at, n, scratch);
    for (uint32_t i = 0, first = 0; !blocks->calls && i < rows->nsteps && status == 0;
         i++) {
        char *data[RT_OPERANDS_MAX + 2];
        const RtReduce *both = rt_rows_both(blocks->plan, rows, i);
        uint32_t noperands = place_step(blocks, i, first, at, scratch, data);
        intptr_t extent = n * rows->span[i];
        first += noperands;
        if (both) { /* the group's operands, then the reduction's result */
            first += place_step(blocks, ++i, first, at, scratch, data + noperands);
            data[noperands] = data[noperands + 1];
            status = rt_reduce_run_part(both, extent, data, scratch);
        } else
            status = run_step(blocks->plan, &rows->steps[i], extent, data, scratch);
    }
#if defined(__x86_64__)
    __builtin_ia32_sfence(); /* results may have been written past the caches */
#endif
    return status;
}

/* True if a step's loops may only be called by who holds the front end's lock. */
static bool
is_alone(const RtPlan *plan, const RtRows *rows)
{
    for (uint32_t i = 0; i < rows->nsteps; i++) {
        const RtStep *step = &rows->steps[i];
        const RtGroup *group = step->kind == RT_STEP_group
                                   ? plan->groups[step->index]
                                   : plan->reduces[step->index].group;
        if (group->alone)
            return true;
    }
    return false;
}

int
rt_rows_run(const RtPlan *plan, const RtRows *rows, RtFrame *frame)
{
    Calls calls;
    Blocks blocks = {plan, rows, frame->data, NULL};
    RtWork work = {.pieces = (rows->rows - 1) / rows->block + 1,
                   .run = run_block,
                   .context = &blocks,
                   .scratch_bytes = rows->local_at + rows->local_bytes};
    if (rt_calls_prepare(plan, rows, &calls))
        blocks.calls = &calls;
    if (frame->team && !is_alone(plan, rows))
        return rt_parallel_for(frame->team, &work, frame->scratch);
    for (intptr_t i = 0; i < work.pieces; i++) {
        int status = run_block(&blocks, i, frame->scratch);
        if (status != 0)
            return status;
    }
    return 0;
}
