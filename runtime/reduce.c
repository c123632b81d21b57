/* reduce.c - runs a reduction block by block, its producer in front of it.
**
**     runs      (outer, run): a result for each run                  x.sum(axis=-1), x.sum()
**     columns   (outer, run, inner): rows of results, row by row     x.sum(axis=0)
**
** Sums of floating-point numbers follow NumPy's tree in runs: a run of n elements is split at n/2,
** less its remainder by 8, down to leaves of at most 128. In tier 0 the splitting stops at a block,
** for which the producer is run; NumPy's loop, given -0.0 to add to, returns the block's sum. A
** kernel is given the leaves, many of them in a call. Columns are added one row after the other.
**
** Law 1: bits do not depend on who computes: the tree is the same, and -0.0 changes no sum.
*/
#include <stdatomic.h>
#include <string.h>

#include "runtime/split.h"

enum {
    LEAVES = 256, /* of a call of a kernel */
    DEPTH = 16,   /* of the tree that they are the leaves of */
    SUBTREE =
        LEAVES * 64, /* elements: no leaf is shorter than 64, if it is one of several */
    UNCACHED = 1 << 25,  /* bytes */
    COLUMN_BLOCK = 2048, /* results that stay in cache while rows are added to them */
};

typedef struct Run {
    const RtReduce *reduce;
    char *data[RT_OPERANDS_MAX]; /* of the first element */
    char *scratch, *block;       /* of the group; for its output */
    RtKernelFn kernel;
    bool goes_on; /* the results are there, of the elements before these */
} Run;

void
rt_reduce_finish(RtReduce *reduce)
{
    size_t own = (reduce->group->scratch_bytes + 63) & ~(size_t)63;
    reduce->scratch_bytes = own + (size_t)reduce->group->block * reduce->itemsize;
}

static intptr_t
step_of(const RtReduce *reduce, uint32_t operand, uint32_t axis)
{
    return reduce->group->strides[operand * reduce->group->ndim + axis];
}

/* Addresses of the inputs, `at` elements further on the last axis. */
static void
place(const Run *run, intptr_t at, char **data)
{
    const RtGroup *group = run->reduce->group;
    for (uint32_t k = 0; k < group->ninputs; k++)
        data[k] = run->data[k] + at * step_of(run->reduce, k, group->ndim - 1);
}

/* The inputs move `n` places on an axis. */
static void
advance(Run *run, uint32_t axis, intptr_t n)
{
    for (uint32_t k = 0; k < run->reduce->group->ninputs; k++)
        run->data[k] += n * step_of(run->reduce, k, axis);
}

/* -- In tier 0, or with a kernel that only produces ----------------------------------- */

/* The producer's n elements from `at` on, in the block; what is in memory, where it is. NULL: a
** loop failed. */
static const char *
produce(const Run *run, intptr_t at, intptr_t n)
{
    const RtGroup *group = run->reduce->group;
    char *data[RT_OPERANDS_MAX];
    place(run, at, data);
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

/* NumPy's pairwise sum of n elements, as one value. */
static int
pairwise(const Run *run, intptr_t at, intptr_t n, char *sum)
{
    const RtReduce *r = run->reduce;
    char right[32];
    if (n <= r->group->block || !r->group->nops) {
        const char *block = produce(run, at, n);
        set_minus_zero(r, sum);
        return block ? fold(run, sum, block, n) : -1;
    }
    intptr_t half = n / 2;
    half -= half % 8;
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
        const char *block = produce(run, done, count);
        if (!block)
            return -1;
        if (done == 0 && r->from_first && !run->goes_on)
            memcpy(accumulator, block, r->itemsize);
        if (fold(run, accumulator, block, count) < 0)
            return -1;
    }
    return 0;
}

/* True if on `axis` the inputs go on where they end on the last one. */
static bool
is_one_line(const RtReduce *r, uint32_t axis, intptr_t extent)
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
    intptr_t most = is_one_line(r, 0, r->run) ? r->group->block / r->run : 1;
    for (intptr_t i = 0, count; i < r->outer; i += count) {
        count = r->outer - i < most ? r->outer - i : most;
        const char *from = produce(run, 0, count * r->run);
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

/* -- Runs, by a kernel that folds ------------------------------------------------------- */

/* The leaves of a sum in order, and how many sums are joined behind each of them. `list` is the
** kernel's: how inputs step from run to run, then lengths of leaves. */
typedef struct Leaves {
    intptr_t n;
    intptr_t *lengths;
    intptr_t list[RT_OPERANDS_MAX + LEAVES];
    uint8_t joins[LEAVES];
    bool even;
} Leaves;

typedef union Sums {
    float f32[LEAVES];
    double f64[LEAVES];
} Sums;

#define JOIN(type, name)                                                               \
    static void name##_join(char *sum, const char *other)                              \
    {                                                                                  \
        type a, b;                                                                     \
        memcpy(&a, sum, sizeof a);                                                     \
        memcpy(&b, other, sizeof b);                                                   \
        a += b;                                                                        \
        memcpy(sum, &a, sizeof a);                                                     \
    }                                                                                  \
                                                                                       \
    static type name##_tree(const Leaves *leaves, const type *sums)                    \
    {                                                                                  \
        type stack[DEPTH];                                                             \
        uint32_t top = 0;                                                              \
        for (intptr_t i = 0; i < leaves->n; i++) {                                     \
            type sum = sums[i];                                                        \
            for (uint32_t k = leaves->joins[i]; k > 0; k--)                            \
                sum = stack[--top] + sum;                                              \
            stack[top++] = sum;                                                        \
        }                                                                              \
        return stack[0];                                                               \
    }                                                                                  \
                                                                                       \
    /* Neighbours, n times. */                                                         \
    static void name##_pairs(type *restrict to, const type *restrict from, intptr_t n) \
    {                                                                                  \
        for (intptr_t i = 0; i < n; i++)                                               \
            to[i] = from[2 * i] + from[2 * i + 1];                                     \
    }
JOIN(float, f32)
JOIN(double, f64)
#undef JOIN

static void
join(const RtReduce *r, char *sum, const char *other)
{
    if (r->itemsize == sizeof(float))
        f32_join(sum, other);
    else
        f64_join(sum, other);
}

/* The sum whose leaves' sums begin at number `at`. */
static void
join_leaves(const RtReduce *r, const Leaves *leaves, const Sums *sums, intptr_t at,
            char *sum)
{
    if (r->itemsize == sizeof(float))
        memcpy(sum, &(float){f32_tree(leaves, sums->f32 + at)}, sizeof(float));
    else
        memcpy(sum, &(double){f64_tree(leaves, sums->f64 + at)}, sizeof(double));
}

/* Adds the leaves of a sum of n elements. */
static void
add_leaves(Leaves *leaves, intptr_t n)
{
    intptr_t half = n / 2;
    if (n <= RT_LEAF) {
        leaves->joins[leaves->n] = 0;
        leaves->lengths[leaves->n++] = n;
        return;
    }
    half -= half % 8;
    add_leaves(leaves, half);
    add_leaves(leaves, n - half);
    leaves->joins[leaves->n - 1]++;
}

/* True if every run begins where the one before ends, or has an element of its own. */
static bool
runs_follow(const RtReduce *r)
{
    for (uint32_t k = 0; k < r->group->ninputs; k++) {
        intptr_t step = step_of(r, k, r->group->ndim - 1);
        if (step && step_of(r, k, 0) != step * r->run)
            return false;
    }
    return true;
}

static void
open_leaves(const RtReduce *r, Leaves *leaves)
{
    leaves->n = 0;
    leaves->lengths = leaves->list + r->group->ninputs;
    for (uint32_t k = 0; k < r->group->ninputs; k++)
        leaves->list[k] = step_of(r, k, 0);
}

/* `count` runs. */
static void
call_kernel(const Run *run, intptr_t at, const Leaves *leaves, intptr_t count,
            char *out)
{
    char *data[RT_OPERANDS_MAX];
    place(run, at, data);
    data[run->reduce->group->ninputs] = out;
    run->kernel(data, leaves->n, count * leaves->n, leaves->list);
}

/* A sum of more leaves than a call takes. */
static void
sum_tree(const Run *run, intptr_t at, intptr_t n, char *sum)
{
    const RtReduce *r = run->reduce;
    Leaves leaves;
    Sums sums;
    if (n > SUBTREE) {
        char right[32];
        intptr_t half = n / 2;
        half -= half % 8;
        sum_tree(run, at, half, sum);
        sum_tree(run, at + half, n - half, right);
        join(r, sum, right);
        return;
    }
    open_leaves(r, &leaves);
    add_leaves(&leaves, n);
    call_kernel(run, at, &leaves, 1, (char *)&sums);
    join_leaves(r, &leaves, &sums, 0, sum);
}

/* True if each join is of as many leaves on both sides. */
static bool
is_even(const Leaves *leaves)
{
    for (intptr_t i = 0; i < leaves->n; i++) {
        if (leaves->joins[i] != __builtin_ctzl((unsigned long)i + 1))
            return false;
    }
    return (leaves->n & (leaves->n - 1)) == 0;
}

/* The leaves of all runs at once: `n` of them, `each` of a run. */
static void
join_even(const RtReduce *r, Sums *sums, intptr_t n, intptr_t each, char *out)
{
    Sums half;
    for (; each > 1; each /= 2, n /= 2) {
        if (r->itemsize == sizeof(float)) {
            f32_pairs(half.f32, sums->f32, n / 2);
            memcpy(sums->f32, half.f32, (size_t)n / 2 * sizeof(float));
        } else {
            f64_pairs(half.f64, sums->f64, n / 2);
            memcpy(sums->f64, half.f64, (size_t)n / 2 * sizeof(double));
        }
    }
    memcpy(out, sums, (size_t)n * r->itemsize);
}

/* Sums of `count` runs, a result for each. */
static void
sum_runs(const Run *run, const Leaves *leaves, intptr_t count, char *out)
{
    const RtReduce *r = run->reduce;
    Sums sums;
    call_kernel(run, 0, leaves, count, (char *)&sums);
    if (leaves->even) {
        join_even(r, &sums, count * leaves->n, leaves->n, out);
        return;
    }
    for (intptr_t k = 0; k < count; k++, out += r->itemsize)
        join_leaves(r, leaves, &sums, k * leaves->n, out);
}

static void
run_folds(Run *run, char *out)
{
    const RtReduce *r = run->reduce;
    Leaves leaves;
    bool large = r->pairwise && r->run > SUBTREE;
    open_leaves(r, &leaves);
    if (r->pairwise && !large)
        add_leaves(&leaves, r->run);
    else
        leaves.lengths[leaves.n++] = r->run;
    leaves.even = r->pairwise && !large && is_even(&leaves);
    intptr_t most = runs_follow(r) ? LEAVES / leaves.n : 1;
    most = most < r->outer ? most : r->outer;
    for (intptr_t i = leaves.n; i < most * leaves.n; i++)
        leaves.lengths[i] = leaves.lengths[i - leaves.n];
    for (intptr_t i = 0, count; i < r->outer; i += count) {
        count = large ? 1 : r->outer - i < most ? r->outer - i : most;
        if (large)
            sum_tree(run, 0, r->run, out);
        else if (r->pairwise)
            sum_runs(run, &leaves, count, out);
        else
            call_kernel(run, 0, &leaves, count, out);
        for (intptr_t k = 0; k < count; k++, out += r->itemsize) {
            if (r->pairwise)
                join(r, out, r->identity);
        }
        advance(run, 0, count);
    }
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
    intptr_t most = is_one_line(r, 1, r->inner) ? r->group->block / r->inner : 1;
    for (intptr_t i = 0, count; i < r->run; i += count) {
        count = r->run - i < most ? r->run - i : most;
        const char *row = produce(run, 0, count * r->inner);
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
    if (r->inner <= r->group->block)
        return add_short_rows(run, out);
    for (intptr_t i = 0; i < r->run; i++, advance(run, 1, 1)) {
        for (intptr_t at = 0; at < n; at += r->group->block) {
            intptr_t count = n - at < r->group->block ? n - at : r->group->block;
            const char *row = produce(run, at, count);
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

static int
run_columns(Run *run, char *out)
{
    const RtReduce *r = run->reduce;
    for (intptr_t i = 0; i < r->outer; i++, advance(run, 0, 1)) {
        for (intptr_t at = 0, n; at < r->inner; at += n) {
            n = r->inner - at < COLUMN_BLOCK ? r->inner - at : COLUMN_BLOCK;
            for (intptr_t k = 0; k < n && !run->goes_on; k++)
                memcpy(out + k * r->itemsize, r->identity, r->itemsize);
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

/* One sum of what is in memory, and not in a cache: NumPy's loop reads it faster (measured, 1.6e8
** bytes of float32: 0.165 ns an element, the kernel 0.19; of 1.6e7 bytes 0.16 and 0.09). */
static bool
is_numpys(const RtReduce *r)
{
    return !r->group->nops && r->pairwise && r->outer == 1 && r->run > RT_LEAF &&
           r->outer * r->run * r->itemsize > UNCACHED;
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

int
rt_reduce_run_by(const RtReduce *r, const RtReduceWay *way, char *const *data,
                 char *scratch)
{
    Run run = run_open(r, way, data, scratch);
    char *out = data[r->group->ninputs];
    if (r->inner)
        return run_columns(&run, out);
    if (!way->folds)
        return run_blocks(&run, out);
    run_folds(&run, out);
    return 0;
}

int
rt_reduce_node(const RtReduce *r, const RtReduceWay *way, char *const *data,
               intptr_t at, intptr_t n, char *scratch, char *sum)
{
    Run run = run_open(r, way, data, scratch);
    if (!way->folds)
        return pairwise(&run, at, n, sum);
    sum_tree(&run, at, n, sum);
    return 0;
}

void
rt_reduce_join(const RtReduce *r, char *sum, const char *other)
{
    join(r, sum, other);
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
