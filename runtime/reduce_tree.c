/* reduce_tree.c - runs, by a kernel that folds: it is given leaves of the tree of a sum, many in a call,
** whose sums are joined here.
*/
#include "runtime/reduce.h"

enum { DEPTH = 16 /* of the tree of a call's leaves */ };

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
    static void name##_each(char *sums, intptr_t n, const char *other)                 \
    {                                                                                  \
        type *sum = (type *)(void *)sums, b;                                           \
        memcpy(&b, other, sizeof b);                                                   \
        for (intptr_t i = 0; i < n; i++)                                               \
            sum[i] += b;                                                               \
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

void
rt_sum_join(const RtReduce *r, char *sum, const char *other)
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

/* Elements of which a call takes all leaves: if it is one of several, none is shorter than half. */
static intptr_t
subtree_of(const RtReduce *r)
{
    return LEAVES * leaf_of(r) / 2;
}

/* Adds the leaves of a sum of n elements. */
static void
add_leaves(const RtReduce *r, Leaves *leaves, intptr_t n)
{
    intptr_t leaf = leaf_of(r), count = n / leaf;
    if (n % leaf == 0 &&
        (count & (count - 1)) == 0) { /* full ones, without a recursion */
        for (intptr_t i = 0; i < count; i++, leaves->n++) {
            leaves->joins[leaves->n] = (uint8_t)__builtin_ctzl((unsigned long)i + 1);
            leaves->lengths[leaves->n] = leaf;
        }
        return;
    }
    if (n < leaf) {
        leaves->joins[leaves->n] = 0;
        leaves->lengths[leaves->n++] = n;
        return;
    }
    intptr_t half = half_of(r, n);
    add_leaves(r, leaves, half);
    add_leaves(r, leaves, n - half);
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

/* One run, or a part of it. */
static void
call_kernel(const Run *run, intptr_t at, const Leaves *leaves, char *out)
{
    char *data[RT_OPERANDS_MAX];
    place(run, at, data);
    data[run->reduce->group->ninputs] = out;
    run->kernel(data, leaves->n, leaves->n, leaves->list);
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
    Sums room, *from = sums, *to = &room;
    for (; each > 1; each /= 2, n /= 2) {
        Sums *made = to;
        if (r->itemsize == sizeof(float))
            f32_pairs(to->f32, from->f32, n / 2);
        else
            f64_pairs(to->f64, from->f64, n / 2);
        to = from;
        from = made;
    }
    memcpy(out, from, (size_t)n * r->itemsize);
}

/* Leaves of the subtrees of a large sum: of these there are hardly more than two kinds. */
typedef struct Subtrees {
    Leaves leaves[2];
    intptr_t elements[2]; /* 0: none yet */
    unsigned next;
} Subtrees;

static void
open_trees(Subtrees *trees)
{
    trees->elements[0] = trees->elements[1] = trees->next = 0;
}

static const Leaves *
leaves_of(const RtReduce *r, Subtrees *trees, intptr_t n)
{
    for (int i = 0; i < 2; i++) {
        if (trees->elements[i] == n)
            return &trees->leaves[i];
    }
    Leaves *leaves = &trees->leaves[trees->next];
    trees->elements[trees->next] = n;
    trees->next ^= 1;
    open_leaves(r, leaves);
    add_leaves(r, leaves, n);
    leaves->even = is_even(leaves);
    return leaves;
}

/* A sum of more leaves than a call takes. */
static void
sum_tree(const Run *run, Subtrees *trees, intptr_t at, intptr_t n, char *sum)
{
    const RtReduce *r = run->reduce;
    Sums sums;
    if (n > subtree_of(r)) {
        char right[32];
        intptr_t half = half_of(r, n);
        sum_tree(run, trees, at, half, sum);
        sum_tree(run, trees, at + half, n - half, right);
        rt_sum_join(r, sum, right);
        return;
    }
    const Leaves *leaves = leaves_of(r, trees, n);
    call_kernel(run, at, leaves, (char *)&sums);
    if (leaves->even)
        join_even(r, &sums, leaves->n, leaves->n, sum);
    else
        join_leaves(r, leaves, &sums, 0, sum);
}

/* The sums of `count` runs, of those of their leaves. */
static void
join_runs(const RtReduce *r, const Leaves *leaves, Sums *sums, intptr_t count,
          char *out)
{
    if (leaves->even)
        join_even(r, sums, count * leaves->n, leaves->n, out);
    for (intptr_t k = 0; !leaves->even && k < count; k++)
        join_leaves(r, leaves, sums, k * leaves->n, out + k * r->itemsize);
    if (r->itemsize == sizeof(float))
        f32_each(out, count, r->identity);
    else
        f64_each(out, count, r->identity);
}

void
rt_folds_open(const RtReduce *r, intptr_t outer, Leaves *leaves)
{
    leaves->large = r->pairwise && r->run > subtree_of(r);
    open_leaves(r, leaves);
    if (r->pairwise && !leaves->large)
        add_leaves(r, leaves, r->run);
    else
        leaves->lengths[leaves->n++] = r->run;
    leaves->even = r->pairwise && !leaves->large && is_even(leaves);
    leaves->most = runs_follow(r) ? LEAVES / leaves->n : 1;
    leaves->most = leaves->most < outer ? leaves->most : outer;
    for (intptr_t i = leaves->n; i < leaves->most * leaves->n; i++)
        leaves->lengths[i] = leaves->lengths[i - leaves->n];
}

void
rt_folds_run(const RtReduce *r, RtKernelFn kernel, const Leaves *leaves, intptr_t count,
             char **data)
{
    Sums sums;
    char **last = data + r->group->ninputs, *out = *last;
    if (r->pairwise)
        *last = (char *)&sums;
    kernel(data, leaves->n, count * leaves->n, leaves->list);
    *last = out;
    if (r->pairwise)
        join_runs(r, leaves, &sums, count, out);
}

/* A sum of so many leaves that it is several calls. */
static void
sum_large(const Run *run, char *out)
{
    const RtReduce *r = run->reduce;
    Subtrees trees;
    open_trees(&trees);
    sum_tree(run, &trees, 0, r->run, out);
    rt_sum_join(r, out, r->identity);
}

void
rt_run_folds(Run *run, char *out)
{
    const RtReduce *r = run->reduce;
    Leaves leaves;
    rt_folds_open(r, r->outer, &leaves);
    for (intptr_t i = 0, count; i < r->outer; i += count) {
        count = leaves.large                 ? 1
                : r->outer - i < leaves.most ? r->outer - i
                                             : leaves.most;
        char *data[RT_OPERANDS_MAX];
        place(run, 0, data);
        data[r->group->ninputs] = out;
        if (leaves.large)
            sum_large(run, out);
        else
            rt_folds_run(r, run->kernel, &leaves, count, data);
        out += count * r->itemsize;
        advance(run, 0, count);
    }
}

void
rt_sum_tree(const Run *run, intptr_t at, intptr_t n, char *sum)
{
    Subtrees trees;
    open_trees(&trees);
    sum_tree(run, &trees, at, n, sum);
}
