/* plan.c - runs a plan: groups, buffers and windows here, the rest through callbacks.
 */
#include <stdlib.h>

#include "runtime/runtime.h"

void
rt_plan_free(RtPlan *plan)
{
    if (!plan)
        return;
    for (uint32_t i = 0; i < plan->ngroups; i++)
        rt_group_free(plan->groups[i]);
    free(plan->groups);
    free(plan->slots);
    free(plan->steps);
    free(plan->operands);
    free(plan);
}

static int
run_group(const RtPlan *plan, RtFrame *frame, const RtStep *step)
{
    const RtGroup *group = plan->groups[step->index];
    const uint32_t *operands = plan->operands + step->operands;
    char *data[RT_OPERANDS_MAX];
    for (uint32_t k = 0; k < group->noperands; k++)
        data[k] = frame->data[operands[k]];
    return rt_group_run(group, data, frame->scratch);
}

static int
run_step(const RtPlan *plan, RtFrame *frame, const RtStep *step)
{
    const RtSlot *slot = &plan->slots[step->index]; /* not for group and call */
    switch (step->kind) {
    case RT_STEP_group:
        return run_group(plan, frame, step);
    case RT_STEP_allocate:
        return plan->callbacks->allocate(frame, step->index);
    case RT_STEP_buffer:
        frame->data[step->index] = rt_buffer_take(plan->pool, slot->bytes);
        return frame->data[step->index] ? 0 : -1;
    case RT_STEP_view:
        frame->data[step->index] = frame->data[slot->base] + slot->offset;
        return 0;
    case RT_STEP_release:
        if (slot->kind == RT_SLOT_buffer) {
            rt_buffer_give(plan->pool, frame->data[step->index]);
            frame->data[step->index] = NULL;
        } else
            plan->callbacks->release(frame, step->index);
        return 0;
    case RT_STEP_call:
        return plan->callbacks->call(frame, step->index);
    }
    return -1;
}

/* After a step that failed: buffers that are still taken. */
static void
give_back(const RtPlan *plan, RtFrame *frame)
{
    for (uint32_t i = 0; i < plan->nslots; i++) {
        if (plan->slots[i].kind == RT_SLOT_buffer && frame->data[i]) {
            rt_buffer_give(plan->pool, frame->data[i]);
            frame->data[i] = NULL;
        }
    }
}

int
rt_plan_run(const RtPlan *plan, RtFrame *frame)
{
    char small[4096];
    char *taken = NULL;
    int status = 0;

    frame->scratch = (char *)(((uintptr_t)small + 63) & ~(uintptr_t)63);
    if (plan->scratch_bytes > sizeof small - 64) {
        taken = rt_buffer_take(plan->pool, plan->scratch_bytes);
        if (!taken)
            return -1;
        frame->scratch = taken;
    }
    for (uint32_t i = 0; i < plan->nsteps; i++) {
        status = run_step(plan, frame, &plan->steps[i]);
        if (status != 0) {
            give_back(plan, frame);
            break;
        }
    }
    rt_buffer_give(plan->pool, taken);
    return status;
}
