/* rows.c - runs steps in blocks of rows: what one step makes is in cache for the next.
**
**     block of rows   as many as the second-level cache has room for
**       step          a group or a reduction, on these rows of its operands
**
** Row i of what a step makes depends on row i of what it reads, and on what is the same for all
** rows. So a value that only these steps read needs memory for one block: its rows do not advance.
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
}

static int
run_block(const RtPlan *plan, const RtRows *rows, const RtFrame *frame, intptr_t at,
          intptr_t n)
{
    const intptr_t *advance = rows->advance;
    for (uint32_t i = 0; i < rows->nsteps; i++) {
        const RtStep *step = &rows->steps[i];
        const uint32_t *operands = plan->operands + step->operands;
        uint32_t noperands = rt_step_noperands(plan, step);
        intptr_t extent = n * rows->span[i];
        char *data[RT_OPERANDS_MAX];
        for (uint32_t k = 0; k < noperands; k++)
            data[k] = frame->data[operands[k]] + at * advance[k];
        advance += noperands;
        int status = step->kind == RT_STEP_group
                         ? rt_group_run_part(plan->groups[step->index], extent, data,
                                             frame->scratch)
                         : rt_reduce_run_part(&plan->reduces[step->index], extent, data,
                                              frame->scratch);
        if (status != 0)
            return status;
    }
    return 0;
}

int
rt_rows_run(const RtPlan *plan, const RtRows *rows, RtFrame *frame)
{
    for (intptr_t at = 0, n; at < rows->rows; at += n) {
        n = rows->rows - at < rows->block ? rows->rows - at : rows->block;
        int status = run_block(plan, rows, frame, at, n);
        if (status != 0)
            return status;
    }
    return 0;
}
