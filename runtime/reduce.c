/* reduce.c - runs a reduction block by block, its producer in front of it.
**
**     runs      (outer, run): a result for each run                  x.sum(axis=-1), x.sum()
**     columns   (outer, run, inner): rows of results, row by row     x.sum(axis=0)
**
** Sums of floating-point numbers follow a tree in runs: a run of n elements is split at n/2, less
** its remainder by A, down to leaves. Which tree it is does not depend on the machine:
**
**     NumPy's   A = 8, leaves of at most 128: element i of a leaf goes to accumulator i mod 8, these are
**               joined as neighbours; the last n mod 8 are added one by one
**     wide      A = 128 bytes of accumulators, 32 of float32 or 16 of float64, leaves of at most 16 A:
**               element i goes to accumulator i mod A, these are joined by halves: j gets j + A/2, then
**               j + A/4, ...; never deeper than NumPy's, and as fast as memory is read
**
** A wide sum is one of more than 128 elements where numerics is not strict: jit/plan_reduce.c asks
** for it, jit/sums.c does the same where no plan is.
** In tier 0 the splitting stops at a block, for which the producer is run; the loop, given -0.0 to
** add to, returns the block's sum. A kernel is given the leaves, many of them in a call. Columns are
** added one row after the other.
**
** Law 1: bits do not depend on who computes: the tree is the same, and -0.0 changes no sum.
** Law 2: a block holds a leaf (BLOCK_MIN in group.c).
*/
#include "runtime/reduce.h"

#include <stdatomic.h>
#include <string.h>

#include "runtime/split.h"

enum {
    COLUMN_BLOCK = 2048, /* results that stay in cache while rows are added to them */
};

void
rt_reduce_finish(RtReduce *reduce)
{
    size_t own = (reduce->group->scratch_bytes + 63) & ~(size_t)63;
    reduce->columns = reduce->inner;
    reduce->scratch_bytes = own + (size_t)reduce->group->block * reduce->itemsize;
}

/* -- In tier 0, or with a kernel that only produces ----------------------------------- */

const char *
rt_reduce_produce(const Run *run, intptr_t at, intptr_t n)
{
    const RtGroup *group = run->reduce->group;
    char *data[RT_OPERANDS_MAX];
    place(run, at, data);
    if (!group->nops && run->reduce->gather) {
        intptr_t strides[2] = {step_of(run->reduce, 0, group->ndim - 1),
                               run->reduce->itemsize};
        data[1] = run->block;
        return run->reduce->gather(NULL, data, &n, strides, NULL) < 0 ? NULL
                                                                      : run->block;
    }
    if (!group->nops)
        return data[0];
    data[group->ninputs] = run->block;
    if (run->kernel && !run->reduce->folds)
        run->kernel(data, n, 1, NULL);
    else if (rt_group_block(group, data, n, run->scratch) < 0)
        return NULL;
    return run->block;
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

static void
set_minus_zero(const RtReduce *r, char *sum)
{
    if (r->itemsize == sizeof(float))
        memcpy(sum, &(float){-0.0f}, sizeof(float));
    else
        memcpy(sum, &(double){-0.0}, sizeof(double));
}

/* The pairwise sum of n elements, as one value. */
static int
pairwise(const Run *run, intptr_t at, intptr_t n, char *sum)
{
    const RtReduce *r = run->reduce;
    char right[32];
    if (n <= r->group->block || !r->group->nops) {
        const char *block = rt_reduce_produce(run, at, n);
        set_minus_zero(r, sum);
        return block ? fold(run, sum, block, n) : -1;
    }
    intptr_t half = half_of(r, n);
    if (pairwise(run, at, half, sum) < 0 ||
        pairwise(run, at + half, n - half, right) < 0)
        return -1;
    return fold(run, sum, right, 1);
}

static int
sequence(const Run *run, intptr_t n, char *accumulator)
{
    const RtReduce *r = run->reduce;
    for (intptr_t done = 0; done < n; done += r->group->block) {
        intptr_t count = n - done < r->group->block ? n - done : r->group->block;
        const char *block = rt_reduce_produce(run, done, count);
        if (!block)
            return -1;
        if (done == 0 && r->from_first && !run->goes_on)
            memcpy(accumulator, block, r->itemsize);
        if (fold(run, accumulator, block, count) < 0)
            return -1;
    }
    return 0;
}

bool
rt_reduce_is_one_line(const RtReduce *r, uint32_t axis, intptr_t extent)
{
    for (uint32_t k = 0; k < r->group->ninputs; k++) {
        if (step_of(r, k, axis) != step_of(r, k, r->group->ndim - 1) * extent)
            return false;
    }
    return true;
}

/* Runs that fit in a block, as many as do so. */
static int
run_short(Run *run, char *out)
{
    const RtReduce *r = run->reduce;
    intptr_t most = rt_reduce_is_one_line(r, 0, r->run) ? r->group->block / r->run : 1;
    for (intptr_t i = 0, count; i < r->outer; i += count) {
        count = r->outer - i < most ? r->outer - i : most;
        const char *from = rt_reduce_produce(run, 0, count * r->run);
        if (!from)
            return -1;
        for (intptr_t k = 0; k < count; k++, from += r->run * r->itemsize) {
            memcpy(out, r->from_first ? from : r->identity, r->itemsize);
            if (fold(run, out, from, r->run) < 0)
                return -1;
            out += r->itemsize;
        }
        advance(run, 0, count);
    }
    return 0;
}

static int
run_blocks(Run *run, char *out)
{
    const RtReduce *r = run->reduce;
    if (r->run <= r->group->block && !run->goes_on)
        return run_short(run, out);
    for (intptr_t i = 0; i < r->outer; i++, out += r->itemsize) {
        char sum[32];
        if (!run->goes_on)
            memcpy(out, r->identity, r->itemsize);
        if (!r->pairwise) {
            if (sequence(run, r->run, out) < 0)
                return -1;
        } else if (pairwise(run, 0, r->run, sum) < 0 || fold(run, out, sum, 1) < 0)
            return -1;
        advance(run, 0, 1);
    }
    return 0;
}

/* -- Columns ------------------------------------------------------------------------------ */

static int
add_row(const Run *run, const char *row, intptr_t n, char *out)
{
    const RtReduce *r = run->reduce;
    char *data[3] = {out, (char *)(uintptr_t)row, out};
    intptr_t strides[3] = {r->itemsize, r->itemsize, r->itemsize};
    return r->loop(r->context, data, &n, strides, r->auxdata);
}

/* Rows that fit in a block, as many as do so. */
static int
add_short_rows(Run *run, char *out)
{
    const RtReduce *r = run->reduce;
    intptr_t most =
        rt_reduce_is_one_line(r, 1, r->inner) ? r->group->block / r->inner : 1;
    for (intptr_t i = 0, count; i < r->run; i += count) {
        count = r->run - i < most ? r->run - i : most;
        const char *row = rt_reduce_produce(run, 0, count * r->inner);
        for (intptr_t k = 0; row && k < count; k++, row += r->inner * r->itemsize) {
            if (add_row(run, row, r->inner, out) < 0)
                return -1;
        }
        if (!row)
            return -1;
        advance(run, 1, count);
    }
    advance(run, 1, -r->run);
    return 0;
}

/* Row by row into n results, by NumPy's loop. */
static int
add_rows(Run *run, intptr_t n, char *out)
{
    const RtReduce *r = run->reduce;
    if (r->inner <= r->group->block && n == r->inner)
        return add_short_rows(run, out);
    for (intptr_t i = 0; i < r->run; i++, advance(run, 1, 1)) {
        for (intptr_t at = 0; at < n; at += r->group->block) {
            intptr_t count = n - at < r->group->block ? n - at : r->group->block;
            const char *row = rt_reduce_produce(run, at, count);
            if (!row || add_row(run, row, count, out + at * r->itemsize) < 0)
                return -1;
        }
    }
    advance(run, 1, -r->run);
    return 0;
}

/* The same by the kernel, whose last operands are the results, read and written. */
static void
call_rows(Run *run, intptr_t n, char *out)
{
    const RtReduce *r = run->reduce;
    intptr_t steps[RT_OPERANDS_MAX + 1];
    char *data[RT_OPERANDS_MAX + 1];
    uint32_t ninputs = r->group->ninputs;
    place(run, 0, data);
    for (uint32_t k = 0; k < ninputs; k++)
        steps[k] = step_of(r, k, 1);
    data[ninputs] = data[ninputs + 1] = out;
    steps[ninputs] = steps[ninputs + 1] = 0;
    run->kernel(data, n, r->run, steps);
}

bool
rt_reduce_is_far(const RtReduce *r)
{
    return r->inner > COLUMN_BLOCK &&
           r->run * r->inner * r->itemsize >= RT_UNCACHED / 2;
}

/* Long rows that come from memory are read best as they lie, with results in the second-level cache;
** else some columns at a time, with results in the first. */
intptr_t
rt_reduce_columns(const RtReduce *r)
{
    if (!rt_reduce_is_far(r))
        return COLUMN_BLOCK;
    return (intptr_t)(rt_cpu_cache_bytes() / 2 / r->itemsize);
}

static int
run_columns(Run *run, char *out)
{
    const RtReduce *r = run->reduce;
    intptr_t block = rt_reduce_columns(r);
    for (intptr_t i = 0; i < r->outer; i++, advance(run, 0, 1)) {
        for (intptr_t at = 0, n; at < r->inner; at += n) {
            n = r->inner - at < block ? r->inner - at : block;
            if (!run->goes_on)
                fill_identity(r, out, n);
            if (run->kernel)
                call_rows(run, n, out);
            else if (add_rows(run, n, out) < 0)
                return -1;
            advance(run, 2, n);
            out += n * r->itemsize;
        }
        advance(run, 2, -r->inner);
    }
    return 0;
}

/* One sum by NumPy's tree of what is in memory, and not in a cache: NumPy's loop reads it faster (measured, 1.6e8
** bytes of float32: 0.165 ns an element, the kernel 0.19; of 1.6e7 bytes 0.16 and 0.09). */
static bool
is_numpys(const RtReduce *r)
{
    return !r->group->nops && !r->stores && r->pairwise && !r->wide && r->outer == 1 &&
           r->run > RT_LEAF && r->outer * r->run * r->itemsize > RT_UNCACHED;
}

RtReduceWay
rt_reduce_way(const RtReduce *r)
{
    RtReduceWay way = {.kernel = rt_group_kernel(r->group)};
    way.folds = way.kernel && r->folds && !r->inner && !is_numpys(r);
    return way;
}

static Run
run_open(const RtReduce *r, const RtReduceWay *way, char *const *data, char *scratch)
{
    size_t own = (r->group->scratch_bytes + 63) & ~(size_t)63;
    Run run; /* addresses that are not used stay unset: there are many */
    run.reduce = r;
    run.scratch = scratch;
    run.block = scratch + own;
    run.kernel = way->kernel;
    run.goes_on = way->goes_on;
    memcpy(run.data, data, r->group->ninputs * sizeof *data);
    return run;
}

/* Of no elements a result is the identity. */
static int
run_nothing(const RtReduce *r, char *out)
{
    fill_identity(r, out, r->outer);
    return 0;
}

int
rt_reduce_run_by(const RtReduce *r, const RtReduceWay *way, char *const *data,
                 char *scratch)
{
    Run run = run_open(r, way, data, scratch);
    char *out = data[r->group->ninputs];
    if (r->empty)
        return run_nothing(r, out);
    if (r->walks)
        return rt_walk_run(r, data);
    if (r->along)
        return rt_along_run(&run, out);
    if (r->inner)
        return run_columns(&run, out);
    if (!way->folds)
        return run_blocks(&run, out);
    rt_run_folds(&run, out);
    return 0;
}

int
rt_reduce_node(const RtReduce *r, const RtReduceWay *way, char *const *data,
               intptr_t at, intptr_t n, char *scratch, char *sum)
{
    Run run = run_open(r, way, data, scratch);
    if (!way->folds)
        return pairwise(&run, at, n, sum);
    rt_sum_tree(&run, at, n, sum);
    return 0;
}

int
rt_along_position(const RtReduce *r, const RtReduceWay *way, char *const *data,
                  char *scratch, intptr_t *at)
{
    Run run = run_open(r, way, data, scratch);
    return rt_along_run_position(&run, at, data[r->group->ninputs]);
}

void
rt_reduce_join(const RtReduce *r, char *sum, const char *other)
{
    rt_sum_join(r, sum, other);
}

int
rt_reduce_run(const RtReduce *r, char *const *data, char *scratch)
{
    uint32_t status = rt_fpstatus_save();
    RtReduceWay way = rt_reduce_way(r);
    int done = rt_reduce_run_by(r, &way, data, scratch);
    rt_fpstatus_restore(status);
    return done;
}

int
rt_reduce_run_part(const RtReduce *r, intptr_t outer, char *const *data, char *scratch)
{
    RtReduce part = *r;
    part.outer = outer;
    return rt_reduce_run(&part, data, scratch);
}
