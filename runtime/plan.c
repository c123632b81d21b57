/* plan.c - runs a plan: groups, buffers and windows here, the rest through callbacks. */
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"

void
rt_plan_free(RtPlan *plan)
{
    if (!plan)
        return;
    for (uint32_t i = 0; i < plan->ngroups; i++)
        rt_group_free(plan->groups[i]);
    for (uint32_t i = 0; i < plan->nloops; i++) {
        free(plan->loops[i].outer);
        free(plan->loops[i].inner);
        free(plan->loops[i].param);
        free(plan->loops[i].yield);
        free(plan->loops[i].result);
    }
    free(plan->loops);
    for (uint32_t i = 0; i < plan->nreduces; i++)
        rt_group_free(plan->reduces[i].group);
    free(plan->reduces);
    for (uint32_t i = 0; i < plan->nrows; i++)
        rt_rows_clear(&plan->rows[i]);
    free(plan->rows);
    for (uint32_t i = 0; i < plan->nbehinds; i++)
        rt_behind_clear(&plan->behinds[i]);
    free(plan->behinds);
    free(plan->places);
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
    if (group->large)
        return rt_group_run_team(group, data, frame->scratch, frame->team);
    return rt_group_run(group, data, frame->scratch);
}

static int
run_reduce(const RtPlan *plan, RtFrame *frame, const RtStep *step)
{
    const RtReduce *reduce = &plan->reduces[step->index];
    const uint32_t *operands = plan->operands + step->operands;
    char *data[RT_OPERANDS_MAX];
    for (uint32_t k = 0; k < reduce->group->noperands; k++)
        data[k] = frame->data[operands[k]];
    return rt_reduce_run_team(reduce, data, frame->scratch, frame->team);
}

static int
run_place(const RtPlan *plan, RtFrame *frame, const RtStep *step)
{
    const RtPlace *place = &plan->places[step->index];
    const uint32_t *operands = plan->operands + step->operands;
    char *data[RT_PLACE_INDICES + 2];
    for (uint32_t k = 0; k < place->nindices + 2; k++)
        data[k] = frame->data[operands[k]];
    int64_t bad;
    int failed = rt_place_run(place, data, &bad);
    return failed ? plan->callbacks->refuse(bad, place->axis[failed - 1],
                                            place->extent[failed - 1])
                  : 0;
}

/* Integers live in the place of addresses. */
static intptr_t
index_get(const RtFrame *frame, uint32_t slot)
{
    return (intptr_t)frame->data[slot];
}

static void
run_index(RtFrame *frame, const RtSlot *slot, uint32_t number)
{
    intptr_t result = slot->offset;
    if (slot->op == RT_INDEX_number) {
        int64_t value;
        memcpy(&value, frame->data[slot->base], sizeof value);
        result = (intptr_t)value;
    } else if (slot->op != RT_INDEX_constant) {
        intptr_t a = index_get(frame, slot->base), b = index_get(frame, slot->index);
        result = slot->op == RT_INDEX_add        ? a + b
                 : slot->op == RT_INDEX_subtract ? a - b
                                                 : a * b;
    }
    frame->data[number] = (char *)result;
}

static int run_steps(const RtPlan *plan, RtFrame *frame);

int
rt_loop_run(const RtLoop *loop, const RtCallbacks *callbacks, RtFrame *body)
{
    for (intptr_t k = 0; k < loop->count; k++) {
        body->data[loop->turn] = (char *)k;
        int status = run_steps(loop->body, body);
        for (uint32_t i = 0; status == 0 && i < loop->ncarried; i++)
            status = callbacks->bind(body, loop->yield[i], body, loop->param[i]);
        if (status == 0 && body->team)
            status = body->team->hooks->check(body->team);
        if (status != 0)
            return status;
    }
    return 0;
}

static int
run_loop(const RtPlan *plan, RtFrame *frame, uint32_t index)
{
    const RtLoop *loop = &plan->loops[index];
    const RtCallbacks *callbacks = plan->callbacks;
    RtFrame body;
    int status = callbacks->enter(frame, index, &body);
    if (status != 0)
        return status;
    body.scratch = frame->scratch;
    body.team = frame->team;
    for (uint32_t i = 0; status == 0 && i < loop->nbound; i++)
        status = callbacks->bind(frame, loop->outer[i], &body, loop->inner[i]);
    if (status == 0)
        status = rt_loop_run(loop, callbacks, &body);
    for (uint32_t i = 0; status == 0 && i < loop->ncarried; i++)
        status = callbacks->bind(&body, loop->param[i], frame, loop->result[i]);
    callbacks->leave(&body);
    return status;
}

/* The end of a buffer, unless it is the memory of an object now. */
static void
give_buffer(const RtPlan *plan, RtFrame *frame, uint32_t slot)
{
    uint32_t heir = plan->slots[slot].heir;
    if (!heir || frame->data[heir - 1] != frame->data[slot])
        rt_buffer_give(plan->pool, frame->data[slot]);
    frame->data[slot] = NULL;
}

static int
run_step(const RtPlan *plan, RtFrame *frame, const RtStep *step)
{
    const RtSlot *slot = &plan->slots[step->index]; /* of most kinds */
    switch (step->kind) {
    case RT_STEP_group:
        return run_group(plan, frame, step);
    case RT_STEP_allocate:
        return plan->callbacks->allocate(frame, step->index);
    case RT_STEP_buffer:
        frame->data[step->index] = rt_buffer_take_beside(plan->pool, slot->bytes,
                                                         rt_frame_beside(plan, frame));
        return frame->data[step->index] ? 0 : -1;
    case RT_STEP_view:
        if (frame->object[step->index]) /* of the turn before */
            plan->callbacks->release(frame, step->index);
        frame->data[step->index] =
            frame->data[slot->base] + slot->offset +
            (slot->index ? index_get(frame, slot->index - 1) : 0);
        return 0;
    case RT_STEP_release:
        if (slot->kind == RT_SLOT_buffer)
            give_buffer(plan, frame, step->index);
        else
            plan->callbacks->release(frame, step->index);
        return 0;
    case RT_STEP_call:
        return plan->callbacks->call(frame, step->index);
    case RT_STEP_index:
        run_index(frame, slot, step->index);
        return 0;
    case RT_STEP_loop:
        return run_loop(plan, frame, step->index);
    case RT_STEP_reduce:
    case RT_STEP_along:
        return run_reduce(plan, frame, step);
    case RT_STEP_rows:
        return rt_rows_run(plan, &plan->rows[step->index], frame);
    case RT_STEP_place:
        return run_place(plan, frame, step);
    case RT_STEP_behind:
        return rt_behind_run(plan, &plan->behinds[step->index], frame);
    }
    return -1;
}

/* After a step that failed: buffers that are still taken. */
static void
give_back(const RtPlan *plan, RtFrame *frame)
{
    for (uint32_t i = 0; i < plan->nslots; i++) {
        if (plan->slots[i].kind == RT_SLOT_buffer && frame->data[i])
            give_buffer(plan, frame, i);
    }
}

static int
run_steps(const RtPlan *plan, RtFrame *frame)
{
    for (uint32_t i = 0; i < plan->nsteps; i++) {
        int status = run_step(plan, frame, &plan->steps[i]);
        if (status != 0) {
            give_back(plan, frame);
            return status;
        }
    }
    return 0;
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
    status = run_steps(plan, frame);
    rt_buffer_give(plan->pool, taken);
    return status;
}
