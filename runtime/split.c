/* split.c - a large group in pieces, which are groups of the same axes over a part of the space.
**
** One axis is cut, at multiples of what is computed together: blocks in tier 0, vectors or packed
** blocks for a kernel. Where one step on it is large already a second one is cut, too.
**
** Law 1: pieces depend on the group alone, not on who runs them. Each makes the calls that the whole
**        would make for its part, so that vector parts and tails fall as there.
** Law 2: no element is written by two pieces; a group whose results overlap themselves is not cut.
*/
#include "runtime/split.h"

#include <string.h>

enum {
    VECTORS = 64, /* elements: a multiple of every vector's and unrolling's */
    ENOUGH = 64,  /* pieces of an axis: no other one is looked for */
};

typedef struct Cut {
    uint32_t axis;
    intptr_t step; /* extent of a piece */
    intptr_t pieces;
} Cut;

typedef struct Split {
    const RtGroup *group;
    RtKernelFn kernel;
    char *const *data;
    Cut cuts[2];
} Split;

static intptr_t
stride_of(const RtGroup *group, uint32_t operand, uint32_t axis)
{
    return group->strides[operand * group->ndim + axis];
}

/* What may not be cut on this axis; 0: nothing may. */
static intptr_t
quantum_of(const RtGroup *group, bool by_kernel, uint32_t axis)
{
    const RtNest *nest = &group->nest;
    if (!by_kernel)
        return axis == group->ndim - 1 ? group->block : 1;
    if (axis == nest->inner)
        return nest->flat ? 0 : nest->packed ? nest->width : VECTORS;
    if (axis == nest->rows)
        return nest->packed ? nest->height : nest->flat ? VECTORS : 1;
    return 1;
}

static intptr_t
distance(intptr_t step)
{
    return step < 0 ? -step : step;
}

/* True if no element of the operand is reached twice: each axis steps over all shorter ones. */
static bool
is_apart(const RtGroup *group, uint32_t operand)
{
    for (uint32_t d = 0; d < group->ndim; d++) {
        intptr_t own = distance(stride_of(group, operand, d));
        intptr_t reach = group->itemsize[operand];
        for (uint32_t e = 0; e < group->ndim; e++) {
            intptr_t other = distance(stride_of(group, operand, e));
            if (e != d && group->shape[e] > 1 &&
                (other < own || (other == own && e > d)))
                reach += other * (group->shape[e] - 1);
        }
        if (group->shape[d] > 1 && own < reach)
            return false;
    }
    return true;
}

/* The axis with enough places to cut, the outermost first; else that with the most. False: none. */
static bool
choose_axis(const RtGroup *group, bool by_kernel, uint32_t but, Cut *cut)
{
    intptr_t most = 1;
    for (uint32_t d = 0; d < group->ndim; d++) {
        intptr_t quantum = quantum_of(group, by_kernel, d);
        intptr_t places = quantum && d != but ? (group->shape[d] - 1) / quantum + 1 : 0;
        if (places <= most)
            continue;
        *cut = (Cut){.axis = d, .step = quantum, .pieces = places};
        most = places;
        if (places >= ENOUGH)
            break;
    }
    return most > 1;
}

/* Makes pieces of `work` operations, where an element on the axis takes `each`. */
static void
choose_step(const RtGroup *group, Cut *cut, intptr_t work, intptr_t each)
{
    intptr_t extent = group->shape[cut->axis];
    intptr_t quanta = each ? work / each / cut->step : 1;
    if (quanta > 1)
        cut->step *= quanta;
    cut->pieces = (extent - 1) / cut->step + 1;
}

/* False: it stays whole. */
static bool
choose_cuts(const RtGroup *group, bool by_kernel, Cut *cuts)
{
    intptr_t work = group->size * (intptr_t)(group->nops + 1);
    intptr_t piece = rt_piece_work(work), each;
    cuts[0] = cuts[1] = (Cut){.pieces = 1};
    for (uint32_t k = group->ninputs; k < group->noperands; k++) {
        if (!is_apart(group, k))
            return false;
    }
    if (!choose_axis(group, by_kernel, group->ndim, &cuts[0]))
        return false;
    each = work / group->shape[cuts[0].axis];
    choose_step(group, &cuts[0], piece, each);
    each *= cuts[0].step;
    if (each > 2 * piece && choose_axis(group, by_kernel, cuts[0].axis, &cuts[1]))
        choose_step(group, &cuts[1], piece, each / group->shape[cuts[1].axis]);
    return cuts[0].pieces > 1;
}

static int
run_piece(void *context, intptr_t piece, char *scratch)
{
    const Split *split = context;
    RtGroup part = *split->group;
    intptr_t shape[RT_NDIM_MAX];
    intptr_t at[2] = {piece / split->cuts[1].pieces, piece % split->cuts[1].pieces};
    char *data[RT_OPERANDS_MAX];
    memcpy(shape, part.shape, part.ndim * sizeof *shape);
    memcpy(data, split->data, part.noperands * sizeof *data);
    part.shape = shape;
    for (uint32_t i = 0; i < 2; i++) {
        const Cut *cut = &split->cuts[i];
        if (cut->pieces == 1)
            continue;
        intptr_t from = at[i] * cut->step, extent = shape[cut->axis];
        intptr_t n = extent - from < cut->step ? extent - from : cut->step;
        for (uint32_t k = 0; k < part.noperands; k++)
            data[k] += from * stride_of(&part, k, cut->axis);
        part.size = part.size / extent * n;
        shape[cut->axis] = n;
    }
    return rt_group_run_by(&part, split->kernel, data, scratch);
}

int
rt_group_run_team(const RtGroup *group, char *const *data, char *scratch, RtTeam *team)
{
    Split split = {.group = group, .kernel = rt_group_kernel(group), .data = data};
    if (!team || !group->large || (group->alone && !split.kernel) ||
        !choose_cuts(group, split.kernel != NULL, split.cuts))
        return rt_group_run(group, data, scratch);
    uint32_t status = rt_fpstatus_save();
    RtWork work = {.pieces = split.cuts[0].pieces * split.cuts[1].pieces,
                   .run = run_piece,
                   .context = &split,
                   .scratch_bytes = group->scratch_bytes};
    int done = rt_parallel_for(team, &work, scratch);
    rt_fpstatus_restore(status);
    return done;
}
