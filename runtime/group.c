/* group.c - runs a fused group: a straight line of inner loops, block by block.
**
** Without compiled code (tier 0) each op's loop is called on one block after the other,
** all
** intermediate values living in scratch blocks that stay in the first-level cache. With
** compiled code (tier 1) the kernel gets whole innermost runs. Both see the same order
** of
** the axes and write the same elements.
*/
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/nest.h"
#include "runtime/split.h"

enum {
    BLOCK_BYTES = 8192,   /* per operand: measured best for 4 and 8 byte elements */
    BLOCK_MIN = 512,      /* a leaf of a sum, whose law that is: reduce.c */
    BLOCK_LONG = 1 << 22, /* large copies then go past the caches */
    RUN_MIN = 16,         /* shorter innermost runs cost more than strides do */
    CACHE_BYTES = 24576,  /* half of a usual first-level cache */
};

RtGroup *
rt_group_new(uint32_t ninputs, uint32_t noutputs, uint32_t nconstants, uint32_t nregs,
             uint32_t nops, uint32_t ndim)
{
    uint32_t noperands = ninputs + noutputs;
    size_t at_ops = sizeof(RtGroup);
    size_t at_constants = at_ops + nops * sizeof(RtOp);
    size_t at_shape = at_constants + nconstants * sizeof(char *);
    size_t at_strides = at_shape + ndim * sizeof(intptr_t);
    size_t at_scratch = at_strides + (size_t)noperands * ndim * sizeof(intptr_t);
    size_t at_itemsize = at_scratch + nregs * sizeof(uint32_t);
    size_t bytes = at_itemsize + nregs * sizeof(uint16_t);
    char *memory = calloc(1, bytes);
    if (!memory)
        return NULL;
    RtGroup *group = (RtGroup *)(void *)memory;
    group->noperands = noperands;
    group->ninputs = ninputs;
    group->nconstants = nconstants;
    group->nregs = nregs;
    group->nops = nops;
    group->ndim = ndim;
    group->ops = (RtOp *)(void *)(memory + at_ops);
    group->constants = (char **)(void *)(memory + at_constants);
    group->shape = (intptr_t *)(void *)(memory + at_shape);
    group->strides = (intptr_t *)(void *)(memory + at_strides);
    group->scratch = (uint32_t *)(void *)(memory + at_scratch);
    group->itemsize = (uint16_t *)(void *)(memory + at_itemsize);
    return group;
}

void
rt_group_free(RtGroup *group)
{
    if (group)
        rt_code_drop(group->code);
    free(group);
}

RtCode *
rt_code_new(void)
{
    RtCode *code = calloc(1, sizeof *code);
    if (code)
        atomic_init(&code->refs, 1);
    return code;
}

RtCode *
rt_code_hold(RtCode *code)
{
    atomic_fetch_add_explicit(&code->refs, 1, memory_order_relaxed);
    return code;
}

void
rt_code_drop(RtCode *code)
{
    if (!code || atomic_fetch_sub_explicit(&code->refs, 1, memory_order_acq_rel) != 1)
        return;
    rt_kernel_drop(code->kernel);
    free(code);
}

/* -- Shaping the iteration space --------------------------------------------------- */

static intptr_t
stride_of(const RtGroup *group, uint32_t operand, uint32_t axis)
{
    return group->strides[operand * group->ndim + axis];
}

/* True if axis `a` should be outside of axis `b`: the last output's strides decide,
 *then
 ** those of the other operands. */
static bool
belongs_outside(const RtGroup *group, uint32_t a, uint32_t b)
{
    for (uint32_t k = group->noperands; k-- > 0;) {
        intptr_t sa = labs(stride_of(group, k, a)), sb = labs(stride_of(group, k, b));
        if (sa && sb && sa != sb)
            return sa > sb;
    }
    return a < b;
}

static void
swap_axes(RtGroup *group, uint32_t a, uint32_t b)
{
    intptr_t t = group->shape[a];
    group->shape[a] = group->shape[b];
    group->shape[b] = t;
    for (uint32_t k = 0; k < group->noperands; k++) {
        intptr_t *s = group->strides + k * group->ndim;
        t = s[a];
        s[a] = s[b];
        s[b] = t;
    }
}

static uint32_t
swapped(uint32_t axis, uint32_t a, uint32_t b)
{
    return axis == a ? b : axis == b ? a : axis;
}

static bool
axes_join(const RtGroup *group, uint32_t outer, uint32_t inner)
{
    for (uint32_t k = 0; k < group->noperands; k++) {
        if (stride_of(group, k, outer) !=
            stride_of(group, k, inner) * group->shape[inner])
            return false;
    }
    return true;
}

/* Writes axes as a list of (extent, strides) with `axis` dropped. */
static void
drop_axis(RtGroup *group, uint32_t axis)
{
    uint32_t n = group->ndim;
    memmove(group->shape + axis, group->shape + axis + 1,
            (n - axis - 1) * sizeof(intptr_t));
    for (uint32_t k = 0; k < group->noperands; k++) {
        intptr_t *from = group->strides + k * n, *to = group->strides + k * (n - 1);
        memmove(to, from, axis * sizeof(intptr_t));
        memmove(to + axis, from + axis + 1, (n - axis - 1) * sizeof(intptr_t));
    }
    group->ndim = n - 1;
}

/* The block, and scratch memory for `inner` elements or a block. */
static void
choose_block(RtGroup *group, intptr_t inner)
{
    uint32_t widest = 1, nscratch = 0;
    for (uint32_t r = 0; r < group->nregs; r++) {
        if (group->itemsize[r] > widest)
            widest = group->itemsize[r];
        if (r >= group->noperands + group->nconstants)
            nscratch++;
    }
    intptr_t block = BLOCK_BYTES / (intptr_t)widest;
    intptr_t fits = CACHE_BYTES / (intptr_t)(widest * (nscratch + 1));
    if (block > fits)
        block = fits;
    if (block < BLOCK_MIN)
        block = BLOCK_MIN;
    group->block = block / 64 * 64;
    if (group->nops == 1 && !nscratch && !group->packed && !group->keep_order)
        group->block = BLOCK_LONG; /* nothing waits in a cache */
    intptr_t room = inner < group->block ? (inner + 63) / 64 * 64 : group->block;
    size_t at = 0;
    for (uint32_t r = 0; r < group->nregs; r++) {
        bool packed = r < group->noperands && group->packed >> r & 1;
        if (r < group->noperands + group->nconstants && !packed)
            continue;
        group->scratch[r] = (uint32_t)at;
        at += (size_t)(room ? room : 64) * group->itemsize[r];
    }
    group->scratch_bytes = at;
}

/* Where an operand is strided in the innermost runs and these are short, the longest axis is made
** the innermost one. */
static void
lengthen_runs(RtGroup *group)
{
    uint32_t inner = group->ndim - 1, longest = inner;
    bool strided = false;
    if (group->ndim < 2 || group->shape[inner] >= RUN_MIN || group->keep_order)
        return;
    for (uint32_t k = 0; k < group->noperands; k++) {
        intptr_t stride = stride_of(group, k, inner);
        strided |= stride && stride != group->itemsize[k];
    }
    for (uint32_t d = inner; d-- > 0;) {
        if (group->shape[d] > group->shape[longest])
            longest = d;
    }
    if (!strided || longest == inner)
        return;
    swap_axes(group, longest, inner);
    group->nest.inner = swapped(group->nest.inner, longest, inner);
    group->nest.rows = swapped(group->nest.rows, longest, inner);
}

/* NumPy's iterator packs operands that it cannot show to a loop in one run. Where they run
** backwards that changes bits: loops of elementary functions take another path there. */
static void
pack_backwards(RtGroup *group)
{
    for (uint32_t k = 0; group->ndim > 1 && k < group->noperands && k < 64; k++) {
        if (stride_of(group, k, group->ndim - 1) < 0)
            group->packed |= (uint64_t)1 << k;
    }
}

static void
count(RtGroup *group)
{
    group->size = 1;
    for (uint32_t d = 0; d < group->ndim; d++)
        group->size *= group->shape[d];
    group->large = group->size * (intptr_t)(group->nops + 1) >= 2 * PIECE_MIN;
}

void
rt_group_settle(RtGroup *group)
{
    count(group);
    group->keep_order = true;
    rt_nest_choose(group);
    choose_block(group, INTPTR_MAX);
}

void
rt_group_finish(RtGroup *group)
{
    count(group);
    for (uint32_t d = group->ndim; d-- > 0;) {
        if (group->shape[d] == 1)
            drop_axis(group, d);
    }
    for (uint32_t i = 1; i < group->ndim; i++) {
        for (uint32_t j = i; j > 0 && belongs_outside(group, j, j - 1); j--)
            swap_axes(group, j, j - 1);
    }
    for (uint32_t d = group->ndim; d-- > 1;) {
        if (axes_join(group, d - 1, d)) {
            /* The joined axis steps as the inner one, so keep that one's strides. */
            group->shape[d] *= group->shape[d - 1];
            drop_axis(group, d - 1);
        }
    }
    rt_nest_choose(group);
    if (group->ndim)
        lengthen_runs(group);
    pack_backwards(group);
    /* A short innermost run needs no more scratch than its length. */
    choose_block(group, group->ndim ? group->shape[group->ndim - 1] : 1);
    if (group->nest.scratch_bytes > group->scratch_bytes)
        group->scratch_bytes = group->nest.scratch_bytes;
}

/* -- Running ----------------------------------------------------------------------- */

static int
run_ops(const RtGroup *group, char *const *regs, const intptr_t *steps, intptr_t n)
{
    for (uint32_t i = 0; i < group->nops; i++) {
        const RtOp *op = &group->ops[i];
        char *data[5];
        intptr_t strides[5];
        for (uint32_t k = 0; k < op->noperands; k++) {
            data[k] = regs[op->reg[k]];
            strides[k] = steps[op->reg[k]];
        }
        if (op->loop(op->context, data, &n, strides, op->auxdata) < 0)
            return -1;
    }
    return 0;
}

static void
move_elements(char *to, intptr_t to_step, const char *from, intptr_t from_step,
              size_t bytes, intptr_t n)
{
    for (intptr_t i = 0; i < n; i++, to += to_step, from += from_step)
        memcpy(to, from, bytes);
}

/* Copies a block of each packed operand: inputs into scratch memory, outputs out of it. */
static void
move_packed(const RtGroup *group, char *const *data, const intptr_t *inner,
            char *const *regs, intptr_t n, bool inputs)
{
    uint32_t k = inputs ? 0 : group->ninputs,
             end = inputs ? group->ninputs : group->noperands;
    for (; k < end; k++) {
        intptr_t size = group->itemsize[k];
        if (!(group->packed >> k & 1))
            continue;
        if (inputs)
            move_elements(regs[k], size, data[k], inner[k], (size_t)size, n);
        else
            move_elements(data[k], inner[k], regs[k], size, (size_t)size, n);
    }
}

/* One innermost run of n elements in tier 0. */
static int
run_blocks(const RtGroup *group, char *const *data, const intptr_t *inner, intptr_t n,
           char **regs, const intptr_t *steps, char *scratch)
{
    char *block[RT_OPERANDS_MAX];
    for (intptr_t at = 0; at < n; at += group->block) {
        intptr_t count = n - at < group->block ? n - at : group->block;
        for (uint32_t k = 0; k < group->noperands; k++) {
            block[k] = data[k] + at * inner[k];
            regs[k] = group->packed >> k & 1 ? scratch + group->scratch[k] : block[k];
        }
        if (group->packed)
            move_packed(group, block, inner, regs, count, true);
        if (run_ops(group, regs, steps, count) < 0)
            return -1;
        if (group->packed)
            move_packed(group, block, inner, regs, count, false);
    }
    return 0;
}

/* Calls the ops for each innermost run, outer axes as an odometer. */
static int
run_outer(const RtGroup *group, char *const *data, char **regs, intptr_t *steps,
          char *scratch)
{
    uint32_t outer = group->ndim ? group->ndim - 1 : 0;
    intptr_t n = group->ndim ? group->shape[outer] : 1;
    intptr_t index[RT_NDIM_MAX];
    char *at[RT_OPERANDS_MAX];
    intptr_t inner[RT_OPERANDS_MAX];
    memset(index, 0, group->ndim * sizeof *index);
    memcpy(at, data, group->noperands * sizeof(char *));
    for (uint32_t k = 0; k < group->noperands; k++) {
        inner[k] = steps[k];
        if (group->packed >> k & 1)
            steps[k] = group->itemsize[k];
    }
    for (;;) {
        if (run_blocks(group, at, inner, n, regs, steps, scratch) < 0)
            return -1;
        uint32_t d = outer;
        for (;;) {
            if (d == 0)
                return 0;
            d--;
            index[d]++;
            for (uint32_t k = 0; k < group->noperands; k++)
                at[k] += stride_of(group, k, d);
            if (index[d] < group->shape[d])
                break;
            for (uint32_t k = 0; k < group->noperands; k++)
                at[k] -= stride_of(group, k, d) * group->shape[d];
            index[d] = 0;
        }
    }
}

/* Steps of all registers, addresses of constants and scratch. */
static void
fill_regs(const RtGroup *group, char *scratch, char **regs, intptr_t *steps)
{
    for (uint32_t k = 0; k < group->noperands; k++)
        steps[k] = group->ndim               ? stride_of(group, k, group->ndim - 1)
                   : group->vectors >> k & 1 ? (intptr_t)group->itemsize[k]
                                             : 0;
    for (uint32_t i = 0; i < group->nconstants; i++) {
        regs[group->noperands + i] = group->constants[i];
        steps[group->noperands + i] = 0;
    }
    for (uint32_t r = group->noperands + group->nconstants; r < group->nregs; r++) {
        regs[r] = scratch + group->scratch[r];
        steps[r] = group->itemsize[r];
    }
}

int
rt_group_block(const RtGroup *group, char *const *data, intptr_t n, char *scratch)
{
    char *regs[RT_REGS_MAX];
    intptr_t steps[RT_REGS_MAX];
    fill_regs(group, scratch, regs, steps);
    for (uint32_t k = 0; k < group->noperands; k++)
        regs[k] = data[k];
    return run_ops(group, regs, steps, n);
}

RtKernelFn
rt_group_kernel(const RtGroup *group)
{
    return group->code ? atomic_load_explicit(&group->code->entry, memory_order_acquire)
                       : NULL;
}

static int
run_in_tier_0(const RtGroup *group, char *const *data, char *scratch)
{
    char *regs[RT_REGS_MAX];
    intptr_t steps[RT_REGS_MAX];
    fill_regs(group, scratch, regs, steps);
    return run_outer(group, data, regs, steps, scratch);
}

int
rt_group_run_by(const RtGroup *group, RtKernelFn kernel, char *const *data,
                char *scratch)
{
    if (!kernel)
        return run_in_tier_0(group, data, scratch);
    rt_nest_run(group, kernel, data, scratch);
    return 0;
}

/* The flags that loops raise are theirs: the caller's floating-point status stays. */
int
rt_group_run(const RtGroup *group, char *const *data, char *scratch)
{
    uint32_t status = rt_fpstatus_save();
    int done =
        group->size ? rt_group_run_by(group, rt_group_kernel(group), data, scratch) : 0;
    rt_fpstatus_restore(status);
    return done;
}

int
rt_group_run_part(const RtGroup *group, intptr_t extent, char *const *data,
                  char *scratch)
{
    intptr_t shape[RT_NDIM_MAX];
    RtGroup part = *group;
    if (extent == group->shape[0])
        return rt_group_run(group, data, scratch);
    memcpy(shape, group->shape, group->ndim * sizeof *shape);
    part.size = group->size / shape[0] * extent;
    shape[0] = extent;
    part.shape = shape;
    return rt_group_run(&part, data, scratch);
}
