/* plan_rows.c - steps that go over the same rows become one, which runs in blocks of rows.
**
**     reduce, group, reduce, group     over all rows: every step has its operands from memory
**     rows(reduce, group, ...)         block by block: one step has them from memory
**
** A row is a part of the outermost axis of every step. That a step's row depends on the same row
** only is seen from addresses, whatever the shapes were. Steps that take memory or place windows
** go before the blocks. Laws:
**   1. Memory that is written is accessed by all steps of the run with one distance from row to
**      row, and in one row by none further than that.
**   2. It is memory that the plan took since the last call, or that of an argument, where all
**      else is known to be elsewhere.
**   3. What no one reads after the run has memory for one block; or, if the last step that reads
**      it writes a result of the same layout there, that of the result. But results that are too
**      large for the caches go past them.
*/
#include <stdlib.h>
#include <string.h>

#include "jit/planner.h"

enum { RUN_STEPS = 32 };

/* How the steps of a run access the memory behind a slot. */
typedef struct Window {
    uint32_t serial; /* of the run that this is about */
    uint32_t steps, first, last;
    bool written, differs;
    bool viewed;  /* through another slot, too */
    bool moving;  /* an index of the plan says where */
    bool block;   /* its memory is a block's own */
    size_t local; /* then: where in it */
    bool given;   /* another one has it, too */
    intptr_t step, low,
        high; /* bytes: from row to row; of the first row, from the base */
} Window;

typedef struct Run {
    uint32_t steps[RUN_STEPS]; /* numbers of groups and reductions */
    uint32_t nsteps;
    uint32_t segment; /* first step since the last call */
    uint32_t begin;   /* first step behind the last one that is not in the run */
    intptr_t rows;
    bool reduces;
    size_t row; /* bytes that its steps have of a row */
    bool large; /* what its steps have is too much for the caches */
} Run;

typedef struct Rows {
    Planner *p;
    Window *windows; /* per slot */
    uint32_t *taken; /* per slot: number of the step that takes its memory, + 1 */
    uint32_t *roots; /* slots behind the run's operands */
    uint32_t nroots, serial;
    RtStep *steps;   /* the new list */
    uint32_t *moved; /* per old step: its number in the new list */
    uint32_t nsteps, room;
    size_t cache;   /* bytes for a block */
    size_t scratch; /* bytes that the plan needs */
} Rows;

/* -- Steps -------------------------------------------------------------------------- */

static bool
computes(const RtStep *step)
{
    return step->kind == RT_STEP_group || step->kind == RT_STEP_reduce;
}

static bool
takes_memory(const RtStep *step)
{
    return step->kind == RT_STEP_allocate || step->kind == RT_STEP_buffer;
}

bool
jit_plan_only_places(const RtStep *step)
{
    return takes_memory(step) || step->kind == RT_STEP_view ||
           step->kind == RT_STEP_index;
}

/* Places on the outermost axis; 0: there is none. */
static intptr_t
outermost(const RtPlan *rt, const RtStep *step)
{
    if (step->kind == RT_STEP_reduce)
        return rt->reduces[step->index].empty || rt->reduces[step->index].walks
                   ? 0
                   : rt->reduces[step->index].outer;
    const RtGroup *group = rt->groups[step->index];
    return group->size && group->ndim ? group->shape[0] : 0;
}

static bool
writes(const RtPlan *rt, const RtStep *step, uint32_t operand)
{
    return operand >= (step->kind == RT_STEP_group
                           ? rt->groups[step->index]->ninputs
                           : rt->reduces[step->index].group->ninputs);
}

intptr_t
jit_plan_measure(const RtPlan *rt, const RtStep *step, uint32_t operand, intptr_t span,
                 intptr_t *low, intptr_t *high)
{
    const RtReduce *reduce =
        step->kind == RT_STEP_reduce ? &rt->reduces[step->index] : NULL;
    const RtGroup *group = reduce ? reduce->group : rt->groups[step->index];
    const intptr_t *strides = group->strides + operand * group->ndim;
    *low = *high = 0;
    if (reduce && operand == group->ninputs) { /* results lie one after the other */
        *high = span * reduce->itemsize * (reduce->inner ? reduce->inner : 1);
        return *high;
    }
    for (uint32_t d = 0; d < group->ndim; d++) {
        intptr_t far = ((d ? group->shape[d] : span) - 1) * strides[d];
        *(far < 0 ? low : high) += far;
    }
    *high += group->itemsize[operand];
    return span * strides[0];
}

/* -- Windows ------------------------------------------------------------------------ */

/* The operand of step `number` of the run. */
static void
note_access(Rows *r, const RtStep *step, uint32_t number, uint32_t operand,
            intptr_t span)
{
    const RtPlan *rt = r->p->rt;
    uint32_t slot = rt->operands[step->operands + operand];
    intptr_t low, high, bytes = jit_plan_measure(rt, step, operand, span, &low, &high);
    bool moving = false, viewed = rt->slots[slot].kind == RT_SLOT_view;
    for (; rt->slots[slot].kind == RT_SLOT_view; slot = rt->slots[slot].base) {
        low += rt->slots[slot].offset;
        high += rt->slots[slot].offset;
        moving |= rt->slots[slot].index != 0;
    }
    Window *w = &r->windows[slot];
    if (w->serial != r->serial) {
        *w = (Window){.serial = r->serial,
                      .first = number,
                      .last = UINT32_MAX,
                      .step = bytes,
                      .low = low,
                      .high = high};
        r->roots[r->nroots++] = slot;
    }
    w->written |= writes(rt, step, operand);
    w->differs |= bytes != w->step;
    w->moving |= moving;
    w->viewed |= viewed;
    w->low = low < w->low ? low : w->low;
    w->high = high > w->high ? high : w->high;
    w->steps += w->last != number;
    w->last = number;
}

static bool
law_1_holds(const Window *w)
{
    intptr_t step = w->step < 0 ? -w->step : w->step;
    return !w->written || (!w->moving && !w->differs && w->high - w->low <= step);
}

static bool
law_2_holds(const Rows *r, const Run *run)
{
    const RtSlot *slots = r->p->rt->slots;
    bool others = r->p->region > 1, arguments = false;
    for (uint32_t i = 0; i < r->nroots; i++) {
        uint32_t slot = r->roots[i];
        bool written = r->windows[slot].written, own = r->taken[slot] > run->segment;
        if (slots[slot].kind == RT_SLOT_argument)
            arguments |= written;
        else if (slots[slot].kind == RT_SLOT_object && !own) {
            others = true; /* a call made it: it may be a window on anything older */
            if (written)
                return false;
        } else if (slots[slot].kind != RT_SLOT_buffer && written && !own)
            return false;
    }
    return !arguments || !others;
}

/* True if the run's steps may go block by block. Its windows are noted. */
static bool
run_holds(Rows *r, const Run *run)
{
    const RtPlan *rt = r->p->rt;
    r->serial++;
    r->nroots = 0;
    for (uint32_t i = 0; i < run->nsteps; i++) {
        const RtStep *step = &rt->steps[run->steps[i]];
        intptr_t span = outermost(rt, step) / run->rows;
        for (uint32_t k = 0; k < rt_step_noperands(rt, step); k++)
            note_access(r, step, i, k, span);
    }
    for (uint32_t i = 0; i < r->nroots; i++) {
        if (!law_1_holds(&r->windows[r->roots[i]]))
            return false;
    }
    return law_2_holds(r, run);
}

/* True if the last step has rows of the same memory as those before it. */
static bool
is_connected(const Rows *r, const Run *run)
{
    for (uint32_t i = 0; i < r->nroots; i++) {
        const Window *w = &r->windows[r->roots[i]];
        if (w->step && w->steps > 1 && w->last == run->nsteps - 1)
            return true;
    }
    return false;
}

/* True if the step goes over the run's rows, or over parts of them: it is in the run then. */
static bool
run_add(Rows *r, Run *run, uint32_t number)
{
    const RtPlan *rt = r->p->rt;
    intptr_t rows =
        computes(&rt->steps[number]) ? outermost(rt, &rt->steps[number]) : 0;
    bool reduces = rt->steps[number].kind == RT_STEP_reduce;
    Run longer = *run;
    if (run->nsteps == RUN_STEPS || rows < 2 ||
        (run->nsteps && rows % run->rows && run->rows % rows))
        return false;
    longer.rows = run->nsteps && run->rows < rows ? run->rows : rows;
    longer.steps[longer.nsteps++] = number;
    longer.reduces |= reduces;
    if (!run_holds(r, &longer) ||
        (run->nsteps && !(run->reduces && reduces) && !is_connected(r, &longer)))
        return false;
    *run = longer;
    return true;
}

/* Rows of a block; 0: all fits into the cache, or no step gains from what another has read. */
static intptr_t
choose_block(Rows *r, Run *run)
{
    size_t row = 0, shared = 0;
    run->large = false;
    if (run->nsteps < 2 || !run->reduces || !run_holds(r, run))
        return 0;
    for (uint32_t i = 0; i < r->nroots; i++) {
        const Window *w = &r->windows[r->roots[i]];
        size_t bytes = (size_t)(w->step < 0 ? -w->step : w->step);
        row += bytes;
        shared += w->steps > 1 ? bytes : 0;
    }
    run->row = row;
    run->large = row * (size_t)run->rows >= rt_cpu_uncached_bytes();
    intptr_t block = row ? (intptr_t)(r->cache / row) : 0;
    block = block < 1 ? 1 : block > 64 ? block / 64 * 64 : block;
    return shared * (size_t)run->rows > r->cache && block < run->rows ? block : 0;
}

/* -- The new list ------------------------------------------------------------------- */

/* True if all that is ever in the slot's memory is written and read by the run. */
static bool
is_passing(const Rows *r, const Run *run, uint32_t slot)
{
    const Window *w = &r->windows[slot];
    return r->p->rt->slots[slot].kind == RT_SLOT_buffer && w->written && w->step > 0 &&
           r->taken[slot] > run->begin &&
           r->p->touched[slot] <= run->steps[run->nsteps - 1];
}

/* True if the group may have operand `out` where operand `in` is: it writes an element when all is
** read that needs what was there. */
bool
jit_plan_may_replace(const RtGroup *group, uint32_t in, uint32_t out)
{
    const intptr_t *strides = group->strides;
    bool written = false;
    if (group->itemsize[in] != group->itemsize[out] ||
        memcmp(strides + in * group->ndim, strides + out * group->ndim,
               group->ndim * sizeof *strides) != 0)
        return false;
    for (uint32_t i = 0; i < group->nops; i++) {
        const RtOp *op = &group->ops[i];
        for (uint32_t k = 0; k < op->noperands; k++) {
            if (written && op->reg[k] == in)
                return false;
        }
        for (uint32_t k = 0; k < op->noperands; k++)
            written |= op->reg[k] == out;
    }
    return true;
}

/* A result of the last step that reads the slot, whose memory may be the slot's; or the slot. */
static uint32_t
find_result(const Rows *r, const Run *run, uint32_t slot)
{
    const RtPlan *rt = r->p->rt;
    const Window *w = &r->windows[slot];
    const RtStep *step = &rt->steps[run->steps[w->last]];
    const uint32_t *operands = rt->operands + step->operands;
    if (step->kind != RT_STEP_group || w->viewed)
        return slot;
    const RtGroup *group = rt->groups[step->index];
    for (uint32_t in = 0; in < group->ninputs; in++) {
        for (uint32_t out = group->ninputs;
             operands[in] == slot && out < group->noperands; out++) {
            const Window *to = &r->windows[operands[out]];
            if (rt->slots[operands[out]].kind == RT_SLOT_object && !to->viewed &&
                to->first == w->last && to->step == w->step && to->low == w->low &&
                to->high == w->high && !to->given &&
                jit_plan_may_replace(group, in, out))
                return operands[out];
        }
    }
    return slot;
}

/* The run's operands that are `from` become `to`. */
static void
replace(Rows *r, const Run *run, uint32_t from, uint32_t to)
{
    RtPlan *rt = r->p->rt;
    for (uint32_t i = 0; i < run->nsteps; i++) {
        const RtStep *step = &rt->steps[run->steps[i]];
        for (uint32_t k = 0; k < rt_step_noperands(rt, step); k++) {
            uint32_t *operand = &rt->operands[step->operands + k];
            *operand = *operand == from ? to : *operand;
        }
    }
    r->windows[to].given = true;
    rt->slots[from].bytes = 1;
}

/* Law 3. */
static void
shrink(Rows *r, const Run *run, uint32_t slot, intptr_t block, RtRows *rows)
{
    Window *w = &r->windows[slot];
    if (!is_passing(r, run, slot))
        return;
    uint32_t result = run->large ? slot : find_result(r, run, slot);
    if (result != slot) {
        replace(r, run, slot, result);
        return;
    }
    w->block = true;
    w->local = rows->local_bytes;
    rows->local_bytes += ((size_t)(w->high + (block - 1) * w->step) + 63) & ~(size_t)63;
    r->p->rt->slots[slot].bytes = 1;
}

/* 1 + where in a block's own memory the slot is, or 0. */
static size_t
local_of(const Rows *r, uint32_t slot)
{
    const RtSlot *slots = r->p->rt->slots;
    intptr_t offset = 1;
    for (; slots[slot].kind == RT_SLOT_view; slot = slots[slot].base)
        offset += slots[slot].offset;
    const Window *w = &r->windows[slot];
    return w->block ? w->local + (size_t)offset : 0;
}

/* The kernels of the run's groups whose result no other step of the run has, and no cache has room
** for, write it past the caches. */
static void
stream_results(Rows *r, const Run *run)
{
    const RtPlan *rt = r->p->rt;
    for (uint32_t i = 0; run->large && i < run->nsteps; i++) {
        const RtStep *step = &rt->steps[run->steps[i]];
        const uint32_t *operands = rt->operands + step->operands;
        uint32_t last = rt_step_noperands(rt, step) - 1;
        const Window *w = &r->windows[operands[last]];
        if (step->kind != RT_STEP_group || rt->groups[step->index]->ninputs != last ||
            rt->slots[operands[last]].kind != RT_SLOT_object || w->steps != 1 ||
            w->viewed)
            continue;
        IrGraph *kernel = r->p->plan->codes[step->index].kernel;
        bool replaced = false;
        for (uint32_t k = 0; k < last; k++)
            replaced |= operands[k] == operands[last];
        if (kernel && !replaced && !rt->groups[step->index]->nest.strided)
            ir_graph_rename(kernel, LOWER_STREAMED);
    }
}

/* Rows that half of a usual first-level cache holds. */
static intptr_t
few_rows(intptr_t block, size_t row)
{
    enum { HALF = 16384 };
    intptr_t few = (intptr_t)(HALF / row);
    return few < 1 ? 1 : few < block ? few : block;
}

static bool
fill(Rows *r, const Run *run, intptr_t block, RtRows *rows)
{
    const RtPlan *rt = r->p->rt;
    uint32_t n = 0;
    for (uint32_t i = 0; i < run->nsteps; i++)
        n += rt_step_noperands(rt, &rt->steps[run->steps[i]]);
    *rows = (RtRows){.nsteps = run->nsteps,
                     .steps = calloc(run->nsteps, sizeof *rows->steps),
                     .both = calloc(run->nsteps, sizeof *rows->both),
                     .rows = run->rows,
                     .block = block,
                     .few = few_rows(block, run->row),
                     .span = calloc(run->nsteps, sizeof *rows->span),
                     .advance = calloc(n, sizeof *rows->advance),
                     .local = calloc(n, sizeof *rows->local),
                     .local_at = (rt->scratch_bytes + 63) & ~(size_t)63};
    if (!rows->steps || !rows->both || !rows->span || !rows->advance || !rows->local) {
        rt_rows_clear(rows);
        return false;
    }
    for (uint32_t i = 0; i < r->nroots; i++) {
        shrink(r, run, r->roots[i], block, rows);
    }
    stream_results(r, run);
    n = 0;
    for (uint32_t i = 0; i < run->nsteps; i++) {
        const RtStep *step = &rt->steps[run->steps[i]];
        intptr_t low, high;
        rows->steps[i] = *step;
        if (i + 1 < run->nsteps)
            rows->both[i] = jit_plan_both(r->p, step, &rt->steps[run->steps[i + 1]]);
        rows->span[i] = outermost(rt, step) / run->rows;
        for (uint32_t k = 0; k < rt_step_noperands(rt, step); k++) {
            uint32_t slot = rt->operands[step->operands + k];
            intptr_t bytes = jit_plan_measure(rt, step, k, rows->span[i], &low, &high);
            rows->local[n] = local_of(r, slot);
            rows->advance[n] = rows->local[n] ? 0 : bytes;
            n++;
        }
    }
    return true;
}

/* The slot whose memory it is. */
static uint32_t
root_of(const RtPlan *rt, uint32_t slot)
{
    while (rt->slots[slot].kind == RT_SLOT_view)
        slot = rt->slots[slot].base;
    return slot;
}

/* A group by itself whose operands are twice what a cache has room for writes a result of the function past
** the caches: 1.1 to 1.3 times as fast (Zen 5, 32 MiB; at once that size it is slower at times). */
static void
stream_alone(Rows *r, uint32_t number)
{
    const RtPlan *rt = r->p->rt;
    const RtStep *step = &rt->steps[number];
    if (step->kind != RT_STEP_group)
        return;
    const RtGroup *group = rt->groups[step->index];
    const uint32_t *operands = rt->operands + step->operands;
    uint32_t last = rt_step_noperands(rt, step) - 1;
    size_t bytes = 0;
    bool replaced = false;
    for (uint32_t k = 0; k <= last; k++) {
        bool repeats = false; /* another view of an array is read from the caches */
        for (uint32_t j = 0; j < k; j++)
            repeats |= root_of(rt, operands[j]) == root_of(rt, operands[k]);
        bytes += repeats ? 0 : rt->slots[operands[k]].bytes;
        replaced |= k < last && operands[k] == operands[last];
    }
    IrGraph *kernel = r->p->plan->codes[step->index].kernel;
    if (group->ninputs == last && rt->slots[operands[last]].kind == RT_SLOT_object &&
        kernel && !replaced && !group->nest.strided && bytes >= 2 * (size_t)RT_UNCACHED)
        ir_graph_rename(kernel, LOWER_STREAMED);
}

/* Puts the run, or what is in it, into the new list. */
static void
emit_run(Rows *r, Run *run, uint32_t end)
{
    Planner *p = r->p;
    uint32_t at = run->nsteps ? run->steps[0] : end;
    intptr_t block = run->nsteps ? choose_block(r, run) : 0;
    RtRows *rows =
        block ? jit_plan_grown(p, p->rt->rows, p->rt->nrows, &r->room, sizeof *rows)
              : NULL;
    size_t need = r->scratch;
    if (rows)
        p->rt->rows = rows;
    if (rows && !fill(r, run, block, &rows[p->rt->nrows]))
        p->failed = true;
    else if (rows &&
             need < rows[p->rt->nrows].local_at + rows[p->rt->nrows].local_bytes)
        r->scratch = rows[p->rt->nrows].local_at + rows[p->rt->nrows].local_bytes;
    for (uint32_t i = at; i < end; i++) {
        const RtStep *step = &p->rt->steps[i];
        if (rows && computes(step))
            continue;
        if (!rows)
            stream_alone(r, i);
        r->steps[r->nsteps] = *step;
        r->moved[i] = r->nsteps++;
    }
    if (rows && !p->failed) {
        for (uint32_t i = at; i < end; i++)
            r->moved[i] = r->nsteps;
        r->steps[r->nsteps++] = (RtStep){RT_STEP_rows, p->rt->nrows++, 0};
    }
    run->nsteps = 0;
    run->reduces = false;
}

/* Every step goes to the new list by itself or in a run: those from run->steps[0] on are waiting. */
static void
regroup(Rows *r)
{
    const RtPlan *rt = r->p->rt;
    Run run = {.nsteps = 0};
    uint32_t behind = 0; /* the last step that does more than to place */
    for (uint32_t i = 0; i < rt->nsteps && !r->p->failed; i++) {
        const RtStep *step = &rt->steps[i];
        if (takes_memory(step))
            r->taken[step->index] = i + 1;
        if (jit_plan_only_places(step)) {
            if (run.nsteps)
                continue;
        } else {
            uint32_t begin = behind;
            behind = i + 1;
            if (run_add(r, &run, i))
                continue;
            emit_run(r, &run, i);
            run.begin = begin;
            if (run_add(r, &run, i))
                continue;
            if (!computes(step))
                run.segment = i + 1;
        }
        r->steps[r->nsteps] = *step;
        r->moved[i] = r->nsteps++;
    }
    emit_run(r, &run, rt->nsteps);
}

void
jit_plan_take_steps(Planner *p, RtStep *steps, uint32_t n, const uint32_t *moved)
{
    RtPlan *rt = p->rt;
    for (uint32_t s = 0; s < rt->nslots; s++) {
        if (p->touched[s] < rt->nsteps)
            p->touched[s] = moved[p->touched[s]];
    }
    free(rt->steps);
    rt->steps = steps;
    rt->nsteps = n;
}

void
jit_plan_rows(Planner *p)
{
    RtPlan *rt = p->rt;
    Rows r = {.p = p, .cache = rt_cpu_cache_bytes() / 2, .scratch = rt->scratch_bytes};
    r.windows = PyMem_Calloc(rt->nslots + 1, sizeof *r.windows);
    r.taken = PyMem_Calloc(rt->nslots + 1, sizeof *r.taken);
    r.roots = PyMem_Calloc(rt->nslots + 1, sizeof *r.roots);
    r.moved = PyMem_Calloc(rt->nsteps + 1, sizeof *r.moved);
    r.steps = calloc(rt->nsteps + 1, sizeof *r.steps);
    if (!r.windows || !r.taken || !r.roots || !r.moved || !r.steps)
        p->failed = true;
    else
        regroup(&r);
    if (!p->failed && rt->nrows) {
        jit_plan_take_steps(p, r.steps, r.nsteps, r.moved);
        rt->scratch_bytes = r.scratch;
        r.steps = NULL;
    }
    PyMem_Free(r.windows);
    PyMem_Free(r.taken);
    PyMem_Free(r.roots);
    PyMem_Free(r.moved);
    free(r.steps);
}
