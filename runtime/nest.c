/* nest.c - runs a group by its kernel: which axes the kernel sees, and what it is given.
**
**     outer axes   an odometer
**     blocks       of rows and of elements of a row, where an operand is packed; else everything
**     kernel       rows of innermost runs
**
** A kernel takes operands that are contiguous in a run, or one element. Others are packed: a block
** of them is copied to scratch memory, or from there if it is a result. What is the same in all
** blocks of rows is packed once.
**
** Where runs are short, rows and runs are one for the kernel (the nest is flat): what does not lie
** in memory as one run is packed, and a row costs nothing of its own.
**
** Law 1: what is read is read before the block's results are written, so that a result may be the
**        memory of an input of equal steps.
*/
#include "runtime/nest.h"

#include <string.h>

#include "runtime/move.h"

enum {
    FLAT_MAX = 24,      /* elements: shorter runs cost more than packing does */
    TILE = 64,          /* elements of a row, where an operand lies across */
    BLOCK_BYTES = 8192, /* of an operand */
    NEAR_LINES =
        4096, /* cache lines that stay in a second-level cache till the next row reads on in them, */
    PAGE = 4096,         /* if they do not all want the same places in it */
    CACHE_BYTES = 24576, /* of all packed operands: half of a usual first-level cache */
};

/* -- Choosing ---------------------------------------------------------------------- */

static intptr_t
step_of(const RtGroup *group, uint32_t operand, uint32_t axis)
{
    return axis < group->ndim ? group->strides[operand * group->ndim + axis] : 0;
}

static intptr_t
extent_of(const RtGroup *group, uint32_t axis)
{
    return axis < group->ndim ? group->shape[axis] : 1;
}

static intptr_t
distance(intptr_t step)
{
    return step < 0 ? -step : step;
}

/* Steps that kernels have code for. */
static bool
is_every(intptr_t step, intptr_t size)
{
    return step == -size || step == 2 * size || step == 3 * size || step == 4 * size;
}

/* True of what kernels had better take at its step. What many rows have in common is packed once. Rows that lie closer than elements are packed, tile by tile: each
** cache line is read once then. */
static bool
is_strided(const RtGroup *group, const RtNest *nest, uint32_t k)
{
    intptr_t step = step_of(group, k, nest->inner), row = step_of(group, k, nest->rows);
    bool rows = extent_of(group, nest->rows) > 1;
    uint64_t results = ~(uint64_t)0 << group->ninputs;
    if (group->noperands < 64)
        results &= ((uint64_t)1 << group->noperands) - 1;
    if (k >= group->ninputs && (group->told & results) != results)
        return false; /* a kernel has them all at steps, or none */
    return group->told >> k & 1 && !nest->flat && step && step != group->itemsize[k] &&
           (!rows || distance(row) >= distance(step) ||
            (row && extent_of(group, nest->inner) <= NEAR_LINES &&
             distance(step) % PAGE));
}

/* Who is one element for a run, who has to be packed, who only once; flat or not. Returns what
** packing costs, in elements of sixteen. */
static uint32_t
sort_operands(const RtGroup *group, RtNest *nest)
{
    uint32_t cost = 0;
    nest->scalar = nest->packed = nest->fixed = nest->strided = 0;
    memset(nest->every, 0, sizeof nest->every);
    for (uint32_t k = 0; k < group->noperands; k++) {
        intptr_t step = step_of(group, k, nest->inner), size = group->itemsize[k];
        intptr_t row = step_of(group, k, nest->rows);
        uint64_t bit = (uint64_t)1 << k;
        bool one = !step && k < group->ninputs && (!nest->flat || !row);
        bool run = step == size &&
                   (!nest->flat || row == size * extent_of(group, nest->inner));
        bool reused = !row && extent_of(group, nest->rows) > 1;
        bool stepped = group->stepped & bit && !nest->flat && !reused;
        if (one)
            nest->scalar |= bit;
        else if (stepped && is_every(step, size))
            nest->every[k] = (int8_t)(step / size);
        else if (is_strided(group, nest, k))
            nest->strided |= bit;
        else if (!run) {
            nest->packed |= bit;
            cost += row ? 16 : 1;
            if (!row && k < group->ninputs)
                nest->fixed |= bit;
        }
    }
    return cost;
}

/* Axes for the kernel: runs are the last axis, or where that is short the longest. */
static void
choose_axes(RtGroup *group, RtNest *nest)
{
    uint32_t last = group->ndim - 1, longest = last, flat_cost;
    nest->inner = last;
    nest->rows = group->ndim > 1 ? last - 1 : last + 1;
    nest->flat = false;
    if (group->ndim < 2 || group->shape[last] >= FLAT_MAX || group->keep_order) {
        sort_operands(group, nest);
        return;
    }
    RtNest other = *nest;
    nest->flat = true;
    flat_cost = sort_operands(group, nest);
    for (uint32_t d = last; d-- > 0;) {
        if (group->shape[d] > group->shape[longest])
            longest = d;
    }
    other.inner = longest;
    other.rows = longest == last ? last - 1 : last;
    if (group->shape[longest] >= FLAT_MAX && sort_operands(group, &other) < flat_cost)
        *nest = other;
}

static void
choose_blocks(const RtGroup *group, RtNest *nest)
{
    intptr_t n = extent_of(group, nest->inner), widest = 1, each = 0;
    bool across = false;
    for (uint32_t k = 0; k < group->noperands; k++) {
        intptr_t step = step_of(group, k, nest->inner),
                 row = step_of(group, k, nest->rows);
        if (!(nest->packed >> k & 1))
            continue;
        across |= row && distance(row) < distance(step);
        each += group->itemsize[k];
        if (group->itemsize[k] > widest)
            widest = group->itemsize[k];
    }
    intptr_t block = BLOCK_BYTES / widest;
    while (block > 256 && block * each > CACHE_BYTES)
        block /= 2;
    nest->width = n < block ? n : block;
    if (across && !nest->flat && nest->width > TILE)
        nest->width = TILE;
    nest->height = nest->width ? block / nest->width : 1;
    if (nest->height < 1)
        nest->height = 1;
    if (nest->height > extent_of(group, nest->rows))
        nest->height = extent_of(group, nest->rows);
    size_t at = 0;
    for (uint32_t k = 0; k < group->noperands; k++) {
        if (!(nest->packed >> k & 1))
            continue;
        nest->scratch[k] = (uint32_t)at;
        at += (size_t)(nest->width * nest->height * group->itemsize[k] + 63) &
              ~(size_t)63;
    }
    nest->scratch_bytes = at;
}

void
rt_nest_choose(RtGroup *group)
{
    if (group->ndim == 0 || group->size == 0)
        return;
    choose_axes(group, &group->nest);
    choose_blocks(group, &group->nest);
}

/* -- Running ----------------------------------------------------------------------- */

/* One call of the kernel: elements i0 … i0 + n - 1 of rows r0 … r0 + rows - 1. */
typedef struct Block {
    intptr_t i0, r0, n, rows;
} Block;

/* Where a packed operand's elements of the block are: in its own memory, or packed. */
static RtGrid
memory_grid(const RtGroup *group, uint32_t k, char *first, const Block *b)
{
    intptr_t step = step_of(group, k, group->nest.inner);
    intptr_t row = step_of(group, k, group->nest.rows);
    return (RtGrid){first + b->i0 * step + b->r0 * row, step, row};
}

static RtGrid
packed_grid(const RtGroup *group, uint32_t k, char *scratch, const Block *b)
{
    intptr_t size = group->itemsize[k];
    return (RtGrid){scratch + group->nest.scratch[k], size, size * b->n};
}

static void
run_block(const RtGroup *group, RtKernelFn kernel, char *const *data, char *scratch,
          const Block *b)
{
    const RtNest *nest = &group->nest;
    char *at[RT_OPERANDS_MAX];
    intptr_t steps[2 * RT_OPERANDS_MAX];
    for (uint32_t k = 0; k < group->noperands; k++) {
        RtGrid memory = memory_grid(group, k, data[k], b);
        bool fixed = nest->fixed >> k & 1;
        at[k] = memory.first;
        steps[k] = memory.row_step;
        steps[group->noperands + k] =
            nest->packed >> k & 1 ? group->itemsize[k] : memory.step;
        if (!(nest->packed >> k & 1))
            continue;
        RtGrid packed = packed_grid(group, k, scratch, b);
        at[k] = packed.first;
        steps[k] = fixed ? 0 : packed.row_step;
        if (k < group->ninputs && (!fixed || b->r0 == 0))
            rt_move(packed, memory, group->itemsize[k], b->n,
                    fixed && !nest->flat ? 1 : b->rows);
    }
    if (nest->flat)
        kernel(at, b->n * b->rows, 1, NULL);
    else
        kernel(at, b->n, b->rows, steps);
    for (uint32_t k = group->ninputs; k < group->noperands; k++) {
        if (nest->packed >> k & 1)
            rt_move(memory_grid(group, k, data[k], b),
                    packed_grid(group, k, scratch, b), group->itemsize[k], b->n,
                    b->rows);
    }
}

/* All of two axes. */
static void
run_plane(const RtGroup *group, RtKernelFn kernel, char *const *data, char *scratch)
{
    const RtNest *nest = &group->nest;
    intptr_t n = extent_of(group, nest->inner), rows = extent_of(group, nest->rows);
    if (!nest->packed) {
        run_block(group, kernel, data, scratch, &(Block){.n = n, .rows = rows});
        return;
    }
    for (intptr_t i = 0; i < n; i += nest->width) {
        for (intptr_t r = 0; r < rows; r += nest->height) {
            Block block = {i, r, n - i < nest->width ? n - i : nest->width,
                           rows - r < nest->height ? rows - r : nest->height};
            run_block(group, kernel, data, scratch, &block);
        }
    }
}

void
rt_nest_run(const RtGroup *group, RtKernelFn kernel, char *const *data, char *scratch)
{
    const RtNest *nest = &group->nest;
    intptr_t index[RT_NDIM_MAX];
    char *at[RT_OPERANDS_MAX];
    if (group->ndim <= 1 && !nest->packed && !nest->strided) {
        kernel(data, group->size, 1, NULL);
        return;
    }
    memset(index, 0, group->ndim * sizeof *index);
    memcpy(at, data, group->noperands * sizeof(char *));
    for (;;) {
        run_plane(group, kernel, at, scratch);
        uint32_t d = group->ndim;
        for (;;) {
            if (d == 0)
                return;
            d--;
            if (d == nest->inner || d == nest->rows)
                continue;
            index[d]++;
            for (uint32_t k = 0; k < group->noperands; k++)
                at[k] += step_of(group, k, d);
            if (index[d] < group->shape[d])
                break;
            for (uint32_t k = 0; k < group->noperands; k++)
                at[k] -= step_of(group, k, d) * group->shape[d];
            index[d] = 0;
        }
    }
}
