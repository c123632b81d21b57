/* plan_behind.c - a group whose results are copied to memory that it reads becomes one step with the copies.
**
**     group, copy, copy     all results are in memory of their own before the first copy
**     behind(group, ...)    a block of rows at a time: runtime/behind.c, which looks at addresses once more
**
** Results of less than LEAST_BLOCKS blocks fit into a cache: the copies cost little, and the plan stays as it is.
*/
#include <stdlib.h>

#include "jit/planner.h"

enum {
    COPIES = 8,
    HALF_BYTES = 1 << 17, /* of values that wait, in the second-level cache */
    LEAST_BLOCKS = 4,
    ALIGNED_ROWS = 64, /* where bits depend on how many elements come before a block */
};

/* A group and the copies behind it, as steps of the plan. */
typedef struct Update {
    uint32_t group, last;
    uint32_t copies[COPIES], ncopies;
} Update;

/* Whether it converts what it copies, or computes, does not matter. */
static bool
is_copy(const RtPlan *rt, const RtStep *step)
{
    const RtGroup *group = step->kind == RT_STEP_group ? rt->groups[step->index] : NULL;
    return group && group->ninputs == 1 && group->noperands == 2;
}

/* The result of the group that the copy at step `at` is the only reader of, or -1. */
static int
copied_result(const Planner *p, const RtStep *step, uint32_t at)
{
    const RtPlan *rt = p->rt;
    const RtGroup *group = rt->groups[step->index];
    uint32_t from = rt->operands[rt->steps[at].operands];
    for (uint32_t k = group->ninputs; k < group->noperands; k++) {
        if (rt->operands[step->operands + k] == from &&
            rt->slots[from].kind == RT_SLOT_buffer && p->touched[from] == at)
            return (int)k;
    }
    return -1;
}

/* Copies of results of the group at step `at`, one behind the other. */
static Update
find_copies(const Planner *p, uint32_t at)
{
    const RtPlan *rt = p->rt;
    Update update = {.group = at, .last = at};
    for (uint32_t i = at + 1; i < rt->nsteps && update.ncopies < COPIES; i++) {
        if (jit_plan_only_places(&rt->steps[i]))
            continue;
        if (!is_copy(rt, &rt->steps[i]) || copied_result(p, &rt->steps[at], i) < 0)
            break;
        update.copies[update.ncopies++] = i;
        update.last = i;
    }
    return update;
}

/* Rows that the group and its copies have: places on the outermost axis, or several of them. 0: none. */
static intptr_t
rows_of(const RtPlan *rt, const Update *update)
{
    const RtGroup *group = rt->groups[rt->steps[update->group].index];
    intptr_t rows = group->size && group->ndim ? group->shape[0] : 0;
    for (uint32_t c = 0; c < update->ncopies; c++) {
        const RtGroup *copy = rt->groups[rt->steps[update->copies[c]].index];
        rows = copy->size && copy->ndim && copy->shape[0] < rows ? copy->shape[0]
               : copy->ndim                                      ? rows
                                                                 : 0;
    }
    for (uint32_t c = 0; c < update->ncopies && rows; c++) {
        if (rt->groups[rt->steps[update->copies[c]].index]->shape[0] % rows)
            return 0;
    }
    return rows && group->shape[0] % rows == 0 ? rows : 0;
}

static bool
depends_on_place(const RtGroup *group)
{
    return group->ndim == 1 || group->nest.flat;
}

/* Rows before a copied one that the group reads, as far as the plan knows. */
static intptr_t
reach_of(const Planner *p, const RtBehind *behind)
{
    const RtPlan *rt = p->rt;
    const RtGroup *group = rt->groups[behind->group.index];
    intptr_t most = 1;
    for (uint32_t c = 0; c < behind->ncopies; c++) {
        uint32_t to = rt->operands[behind->copies[c].step.operands + 1], at = to;
        const RtReach *writing = &behind->copies[c].to;
        intptr_t begins = writing->low, step = writing->advance;
        for (; rt->slots[at].kind == RT_SLOT_view; at = rt->slots[at].base)
            begins += rt->slots[at].offset;
        for (uint32_t k = 0; k < group->ninputs && step > 0; k++) {
            uint32_t slot = rt->operands[behind->group.operands + k];
            intptr_t low = behind->rows_of[k].low;
            for (; rt->slots[slot].kind == RT_SLOT_view; slot = rt->slots[slot].base)
                low += rt->slots[slot].offset;
            intptr_t rows = slot == at && behind->rows_of[k].advance == step
                                ? (begins - low + step - 1) / step
                                : 0;
            most = rows > most ? rows : most;
        }
    }
    return most;
}

static RtReach
reach_of_row(const RtPlan *rt, const RtStep *step, uint32_t operand, intptr_t span)
{
    RtReach reach;
    reach.advance = jit_plan_measure(rt, step, operand, span, &reach.low, &reach.high);
    return reach;
}

/* Rows of a block, and where its values are; false: it is not worth it. */
static bool
choose_block(Planner *p, RtBehind *behind)
{
    const RtGroup *group = p->rt->groups[behind->group.index];
    intptr_t row = 0, least = reach_of(p, behind);
    for (uint32_t c = 0; c < behind->ncopies; c++) {
        const RtReach *values = &behind->rows_of[behind->copies[c].from];
        if (values->low || values->advance <= 0 || values->high > values->advance)
            return false;
        row += values->advance;
    }
    intptr_t block = HALF_BYTES / row > least ? HALF_BYTES / row : least;
    bool aligned = depends_on_place(group);
    for (uint32_t c = 0; c < behind->ncopies; c++)
        aligned |= depends_on_place(p->rt->groups[behind->copies[c].step.index]);
    behind->block =
        aligned ? (block + ALIGNED_ROWS - 1) / ALIGNED_ROWS * ALIGNED_ROWS : block;
    for (uint32_t c = 0; c < behind->ncopies; c++) {
        uint32_t from = behind->copies[c].from;
        size_t bytes = (size_t)(behind->block * behind->rows_of[from].advance);
        if (behind->local[from])
            return false; /* two copies of it */
        behind->local[from] = 1 + behind->half_bytes;
        behind->half_bytes += (bytes + 63) & ~(size_t)63;
    }
    return behind->rows / behind->block >= LEAST_BLOCKS;
}

/* True of a copy that reads the same memory in a row as the group writes: `values`. */
static bool
reads_rows(const RtPlan *rt, const RtStep *copy, intptr_t span, const RtReach *values)
{
    RtReach read = reach_of_row(rt, copy, 0, span);
    return read.advance == values->advance && read.low >= values->low &&
           read.high <= values->high;
}

/* False: the steps stay as they are, or memory is out. */
static bool
make(Planner *p, const Update *update, RtBehind *behind)
{
    const RtPlan *rt = p->rt;
    const RtStep *step = &rt->steps[update->group];
    const RtGroup *group = rt->groups[step->index];
    intptr_t rows = rows_of(rt, update);
    *behind = (RtBehind){.group = *step, .ncopies = update->ncopies, .rows = rows};
    if (!rows)
        return false;
    behind->span = group->shape[0] / rows;
    behind->copies = calloc(update->ncopies, sizeof *behind->copies);
    behind->rows_of = calloc(group->noperands, sizeof *behind->rows_of);
    behind->local = calloc(group->noperands, sizeof *behind->local);
    behind->local_at = (rt->scratch_bytes + 63) & ~(size_t)63;
    if (!behind->copies || !behind->rows_of || !behind->local) {
        p->failed = true;
        return false;
    }
    for (uint32_t k = 0; k < group->noperands; k++)
        behind->rows_of[k] = reach_of_row(rt, step, k, behind->span);
    for (uint32_t c = 0; c < update->ncopies; c++) {
        const RtStep *copy = &rt->steps[update->copies[c]];
        intptr_t span = rt->groups[copy->index]->shape[0] / rows;
        behind->copies[c] =
            (RtCopy){*copy, (uint32_t)copied_result(p, step, update->copies[c]), span,
                     reach_of_row(rt, copy, 1, span)};
        if (!reads_rows(rt, copy, span, &behind->rows_of[behind->copies[c].from]))
            return false;
    }
    return choose_block(p, behind);
}

/* -- The new list ------------------------------------------------------------------- */

typedef struct List {
    RtStep *steps;
    uint32_t *moved; /* per old step: its number here */
    uint32_t nsteps, room;
    size_t scratch;
} List;

/* The update as one step, behind what takes memory or places windows for its copies. */
static void
emit(Planner *p, List *list, const Update *update, const RtBehind *behind)
{
    RtPlan *rt = p->rt;
    RtBehind *table =
        jit_plan_grown(p, rt->behinds, rt->nbehinds, &list->room, sizeof *table);
    if (!table)
        return;
    rt->behinds = table;
    table[rt->nbehinds] = *behind;
    for (uint32_t c = 0; c < behind->ncopies; c++)
        rt->slots[rt->operands[behind->copies[c].step.operands]].bytes = 1;
    for (uint32_t i = update->group; i <= update->last; i++) {
        if (!jit_plan_only_places(&rt->steps[i]))
            continue;
        list->steps[list->nsteps] = rt->steps[i];
        list->moved[i] = list->nsteps++;
    }
    for (uint32_t i = update->group; i <= update->last; i++) {
        if (!jit_plan_only_places(&rt->steps[i]))
            list->moved[i] = list->nsteps;
    }
    list->steps[list->nsteps++] = (RtStep){RT_STEP_behind, rt->nbehinds++, 0};
    size_t need = behind->local_at + 2 * behind->half_bytes;
    list->scratch = need > list->scratch ? need : list->scratch;
}

static void
rewrite(Planner *p, List *list)
{
    RtPlan *rt = p->rt;
    for (uint32_t i = 0; i < rt->nsteps && !p->failed; i++) {
        Update update = rt->steps[i].kind == RT_STEP_group ? find_copies(p, i)
                                                           : (Update){.ncopies = 0};
        RtBehind behind;
        if (update.ncopies && make(p, &update, &behind)) {
            emit(p, list, &update, &behind);
            i = update.last;
            continue;
        }
        if (update.ncopies)
            rt_behind_clear(&behind);
        list->steps[list->nsteps] = rt->steps[i];
        list->moved[i] = list->nsteps++;
    }
}

void
jit_plan_behind(Planner *p)
{
    RtPlan *rt = p->rt;
    List list = {.steps = calloc(rt->nsteps + 1, sizeof *list.steps),
                 .moved = PyMem_Calloc(rt->nsteps + 1, sizeof *list.moved),
                 .scratch = rt->scratch_bytes};
    if (!list.steps || !list.moved)
        p->failed = true;
    else
        rewrite(p, &list);
    if (!p->failed && rt->nbehinds) {
        jit_plan_take_steps(p, list.steps, list.nsteps, list.moved);
        rt->scratch_bytes = list.scratch;
        list.steps = NULL;
    }
    PyMem_Free(list.moved);
    free(list.steps);
}
