/* reduce.c - runs a reduction block by block, its producer in front of it.
**
** Sums of floating-point numbers follow NumPy's tree: a run of n elements is split at n/2, less
** its remainder by 8, until NumPy's own loop does the rest. Here the splitting stops at a block,
** for which the producer is run; the loop, given -0.0 to add to, returns the block's sum.
*/
#include <stdatomic.h>
#include <string.h>

#include "runtime/runtime.h"

typedef struct Run {
    const RtReduce *reduce;
    char *const *data;
    char *scratch, *block; /* of the group; for its output */
    RtKernelFn kernel;
} Run;

void
rt_reduce_finish(RtReduce *reduce)
{
    size_t own = (reduce->group->scratch_bytes + 63) & ~(size_t)63;
    reduce->scratch_bytes = own + (size_t)reduce->group->block * reduce->itemsize;
}

/* The producer's n elements from `at` on, into the block. */
static int
produce(const Run *run, intptr_t at, intptr_t n)
{
    const RtGroup *group = run->reduce->group;
    char *data[RT_OPERANDS_MAX];
    for (uint32_t k = 0; k < group->ninputs; k++)
        data[k] =
            run->data[k] + at * (group->ndim ? group->strides[k * group->ndim] : 0);
    data[group->ninputs] = run->block;
    if (run->kernel) {
        run->kernel(data, n);
        return 0;
    }
    return rt_group_block(group, data, n, run->scratch);
}

/* accumulator = loop(accumulator, n elements of the block) */
static int
fold(const Run *run, char *accumulator, const char *from, intptr_t n)
{
    const RtReduce *r = run->reduce;
    char *data[3] = {accumulator, (char *)(uintptr_t)from, accumulator};
    intptr_t strides[3] = {0, r->itemsize, 0};
    return r->loop(r->context, data, &n, strides, r->auxdata);
}

/* NumPy's pairwise sum of n elements, as one value. */
static int
pairwise(const Run *run, intptr_t at, intptr_t n, char *sum)
{
    const RtReduce *r = run->reduce;
    char right[32];
    if (n <= r->group->block) {
        if (r->itemsize == sizeof(float))
            memcpy(sum, &(float){-0.0f}, sizeof(float));
        else
            memcpy(sum, &(double){-0.0}, sizeof(double));
        return produce(run, at, n) < 0 ? -1 : fold(run, sum, run->block, n);
    }
    intptr_t half = n / 2;
    half -= half % 8;
    if (pairwise(run, at, half, sum) < 0 ||
        pairwise(run, at + half, n - half, right) < 0)
        return -1;
    return fold(run, sum, right, 1);
}

static int
sequence(const Run *run, intptr_t at, intptr_t n, char *accumulator)
{
    const RtReduce *r = run->reduce;
    for (intptr_t done = 0; done < n; done += r->group->block) {
        intptr_t count = n - done < r->group->block ? n - done : r->group->block;
        if (produce(run, at + done, count) < 0)
            return -1;
        if (done == 0 && r->from_first)
            memcpy(accumulator, run->block, r->itemsize);
        if (fold(run, accumulator, run->block, count) < 0)
            return -1;
    }
    return 0;
}

static int
run_reduce(const RtReduce *r, char *const *data, char *scratch)
{
    size_t own = (r->group->scratch_bytes + 63) & ~(size_t)63;
    RtCode *code = r->group->code;
    Run run = {
        .reduce = r,
        .data = data,
        .scratch = scratch,
        .block = scratch + own,
        .kernel =
            code ? atomic_load_explicit(&code->entry, memory_order_acquire) : NULL,
    };
    char *out = data[r->group->ninputs];
    for (intptr_t i = 0; i < r->nresults; i++, out += r->itemsize) {
        char sum[32];
        memcpy(out, r->identity, r->itemsize);
        if (!r->pairwise) {
            if (sequence(&run, i * r->run, r->run, out) < 0)
                return -1;
        } else if (pairwise(&run, i * r->run, r->run, sum) < 0 ||
                   fold(&run, out, sum, 1) < 0)
            return -1;
    }
    return 0;
}

int
rt_reduce_run(const RtReduce *r, char *const *data, char *scratch)
{
    uint32_t status = rt_fpstatus_save();
    int done = run_reduce(r, data, scratch);
    rt_fpstatus_restore(status);
    return done;
}
