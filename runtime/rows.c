/* rows.c - runs steps in blocks of rows: what one step makes is in cache for the next.
**
**     block of rows   as many as the second-level cache has room for
**       step          a group or a reduction, on these rows of its operands
**
** Row i of what a step makes depends on row i of what it reads, and on what is the same for all
** rows. So a value that only these steps read needs memory for one block, which is in the scratch
** memory of who runs it: blocks are run by several threads.
**
** Law 1: within a row nothing is done in another order, so bits do not depend on the block.
*/
#include <stdlib.h>

#include "runtime/runtime.h"

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
    free(rows->span);
    free(rows->advance);
    free(rows->local);
}

/* A run of all blocks; a piece of it is a block. */
typedef struct Blocks {
    const RtPlan *plan;
    const RtRows *rows;
    char *const *data; /* of the frame */
} Blocks;

static int
run_block(void *context, intptr_t number, char *scratch)
{
    const Blocks *blocks = context;
    const RtRows *rows = blocks->rows;
    const intptr_t *advance = rows->advance;
    const size_t *local = rows->local;
    intptr_t at = number * rows->block, left = rows->rows - at;
    intptr_t n = left < rows->block ? left : rows->block;
    for (uint32_t i = 0; i < rows->nsteps; i++) {
        const RtStep *step = &rows->steps[i];
        const uint32_t *operands = blocks->plan->operands + step->operands;
        uint32_t noperands = rt_step_noperands(blocks->plan, step);
        intptr_t extent = n * rows->span[i];
        char *data[RT_OPERANDS_MAX];
        for (uint32_t k = 0; k < noperands; k++)
            data[k] = local[k] ? scratch + rows->local_at + local[k] - 1
                               : blocks->data[operands[k]] + at * advance[k];
        advance += noperands;
        local += noperands;
        int status = step->kind == RT_STEP_group
                         ? rt_group_run_part(blocks->plan->groups[step->index], extent,
                                             data, scratch)
                         : rt_reduce_run_part(&blocks->plan->reduces[step->index],
                                              extent, data, scratch);
        if (status != 0)
            return status;
    }
    return 0;
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
    Blocks blocks = {plan, rows, frame->data};
    RtWork work = {.pieces = (rows->rows - 1) / rows->block + 1,
                   .run = run_block,
                   .context = &blocks,
                   .scratch_bytes = rows->local_at + rows->local_bytes};
    if (frame->team && !is_alone(plan, rows))
        return rt_parallel_for(frame->team, &work, frame->scratch);
    for (intptr_t i = 0; i < work.pieces; i++) {
        int status = run_block(&blocks, i, frame->scratch);
        if (status != 0)
            return status;
    }
    return 0;
}
