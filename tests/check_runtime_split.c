/* check_runtime_split.c - groups and reductions in pieces give what whole ones give, by any number of
** threads.
*/
#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"

static unsigned
hook_count(RtTeam *team)
{
    return (unsigned)team->chosen;
}

static void *
hook_leave(RtTeam *team)
{
    return team;
}

static void
hook_enter(RtTeam *team, void *left)
{
    (void)team, (void)left;
}

static int
hook_check(RtTeam *team)
{
    (void)team;
    return 0;
}

static const RtTeamHooks hooks = {hook_count, hook_leave, hook_enter, hook_check};

static RtTeam
team_of(RtThreads *threads, int count)
{
    return (RtTeam){.hooks = &hooks, .threads = threads, .chosen = count};
}

enum { WIDE_A = RT_WIDE_BYTES / sizeof(double) };

/* x * 3 + y, and a sum by NumPy's tree or the wide one, with plain leaves, as loops. */
static int
loop_muladd(void *context, char *const *data, const intptr_t *n,
            const intptr_t *strides, void *auxdata)
{
    (void)context, (void)auxdata;
    for (intptr_t i = 0; i < *n; i++) {
        double x, y;
        memcpy(&x, data[0] + i * strides[0], sizeof x);
        memcpy(&y, data[1] + i * strides[1], sizeof y);
        x = x * 3 + y;
        memcpy(data[2] + i * strides[2], &x, sizeof x);
    }
    return 0;
}

static double
tree_sum(const char *at, intptr_t step, intptr_t n, bool wide)
{
    double sum = -0.0, one;
    intptr_t half = n / 2;

    if (n > (wide ? RT_WIDE_TURNS * WIDE_A : RT_LEAF)) {
        half -= half % (wide ? WIDE_A : 8);
        sum = tree_sum(at, step, half, wide);
        return sum + tree_sum(at + half * step, step, n - half, wide);
    }
    for (intptr_t i = 0; i < n; i++) {
        memcpy(&one, at + i * step, sizeof one);
        sum += one;
    }
    return sum;
}

static int
loop_add(void *context, char *const *data, const intptr_t *n, const intptr_t *strides,
         void *auxdata)
{
    double sum, one;

    if (strides[0] == 0) {
        memcpy(&sum, data[0], sizeof sum);
        sum += tree_sum(data[1], strides[1], *n, auxdata != NULL);
        memcpy(data[2], &sum, sizeof sum);
        return 0;
    }
    (void)context;
    for (intptr_t i = 0; i < *n; i++) {
        memcpy(&sum, data[0] + i * strides[0], sizeof sum);
        memcpy(&one, data[1] + i * strides[1], sizeof one);
        sum += one;
        memcpy(data[2] + i * strides[2], &sum, sizeof sum);
    }
    return 0;
}

static double *
numbers(intptr_t n)
{
    double *x = malloc((size_t)n * sizeof *x);

    for (intptr_t i = 0; i < n; i++)
        x[i] = 1.0 / (double)(1 + (i * 7919) % 10007);
    return x;
}

/* A group of x * 3 + y over a shape, x and y with strides in elements. */
static RtGroup *
group_of(uint32_t ndim, const intptr_t *shape, const intptr_t *sx, const intptr_t *sy)
{
    RtGroup *group = rt_group_new(2, 1, 0, 3, 1, ndim);
    intptr_t step = sizeof(double);

    group->ops[0] = (RtOp){.loop = loop_muladd, .noperands = 3, .reg = {0, 1, 2}};
    for (uint32_t k = 0; k < 3; k++)
        group->itemsize[k] = sizeof(double);
    for (uint32_t d = ndim; d-- > 0;) {
        group->shape[d] = shape[d];
        group->strides[d] = sx[d] * (intptr_t)sizeof(double);
        group->strides[ndim + d] = sy[d] * (intptr_t)sizeof(double);
        group->strides[2 * ndim + d] = step;
        step *= shape[d];
    }
    return group;
}

/* What a compiled kernel of the same would do with rows of contiguous runs. */
static void
kernel(char *const *data, intptr_t n, intptr_t rows, const intptr_t *row_steps)
{
    intptr_t step = sizeof(double), strides[3] = {step, step, step};

    for (intptr_t r = 0; r < rows; r++) {
        char *at[3];
        for (int k = 0; k < 3; k++)
            at[k] = data[k] + (row_steps ? r * row_steps[k] : 0);
        loop_muladd(NULL, at, &n, strides, NULL);
    }
}

static void
group_is_the_same(RtThreads *threads, RtGroup *group, intptr_t n, bool compiled)
{
    double *x = numbers(n), *y = numbers(n), *whole = calloc((size_t)n, sizeof *whole),
           *cut = calloc((size_t)n, sizeof *cut);
    char *data[3] = {(char *)x, (char *)y, (char *)whole};

    rt_group_finish(group);
    char *scratch = aligned_alloc(64, (group->scratch_bytes + 127) & ~(size_t)63);
    if (compiled) {
        group->code = rt_code_new();
        atomic_store(&group->code->entry, kernel);
    }
    ck_assert_int_eq(rt_group_run(group, data, scratch), 0);
    data[2] = (char *)cut;
    for (int count = 1; count <= 4; count++) {
        RtTeam team = team_of(threads, count);
        memset(cut, 0, (size_t)n * sizeof *cut);
        ck_assert_int_eq(rt_group_run_team(group, data, scratch, &team), 0);
        ck_assert(!memcmp(whole, cut, (size_t)n * sizeof *cut));
    }
    free(scratch);
    free(x);
    free(y);
    free(whole);
    free(cut);
    rt_group_free(group);
}

START_TEST(cut_groups)
{
    RtThreads *threads = rt_threads_new();
    static const struct {
        uint32_t ndim;
        intptr_t shape[3], x[3], y[3];
    } cases[] = {
        {1, {200001}, {1}, {1}},
        {1, {100003}, {2}, {1}},
        {2, {501, 401}, {401, 1}, {401, 1}},
        {2, {501, 401}, {1, 501}, {401, 1}},
        {2, {3, 70001}, {70001, 1}, {0, 1}},
        {2, {30001, 7}, {7, 1}, {0, 1}},
        {2, {30001, 7}, {1, 30001}, {7, 1}},
        {3, {20, 1001, 11}, {11011, 11, 1}, {1, 20, 20020}},
        {3, {3, 3, 30011}, {90033, 30011, 1}, {30011, 90033, 1}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        intptr_t n = 2;
        for (uint32_t d = 0; d < cases[i].ndim; d++)
            n *= cases[i].shape[d];
        for (int compiled = 0; compiled < 2; compiled++)
            group_is_the_same(
                threads,
                group_of(cases[i].ndim, cases[i].shape, cases[i].x, cases[i].y), n,
                compiled);
    }
    rt_threads_free(threads);
}
END_TEST

/* What a kernel of sums of x * 3 + y would do with leaves. */
static void
fold_kernel(char *const *data, intptr_t n, intptr_t rows, const intptr_t *list)
{
    const char *x = data[0], *y = data[1];

    (void)n;
    for (intptr_t r = 0; r < rows; r++) {
        double sum = -0.0, one, other;
        for (intptr_t i = 0; i < list[2 + r]; i++, x += sizeof one, y += sizeof one) {
            memcpy(&one, x, sizeof one);
            memcpy(&other, y, sizeof other);
            sum += one * 3 + other;
        }
        memcpy(data[2] + r * (intptr_t)sizeof sum, &sum, sizeof sum);
    }
}

/* The sums of all runs, by the tree alone. */
static void
check_sums(const RtReduce *r, const double *x, const double *sums)
{
    double *made = malloc((size_t)r->run * sizeof *made);

    for (intptr_t i = 0; i < r->outer; i++) {
        for (intptr_t k = 0; k < r->run; k++)
            made[k] = x[i * r->run + k] * 3 + x[i * r->run + k];
        ck_assert(sums[i] ==
                  tree_sum((const char *)made, sizeof *made, r->run, r->wide));
    }
    free(made);
}

static void
reduction_is_the_same(RtThreads *threads, const intptr_t *extents, bool wide,
                      bool compiled)
{
    intptr_t outer = extents[0], run = extents[1], inner = extents[2];
    uint32_t ndim = inner ? 3 : 2;
    intptr_t columns = inner ? inner : 1, n = outer * run * columns;
    intptr_t results = outer * columns;
    intptr_t shape[3] = {outer, run, inner};
    intptr_t strides[3] = {run * columns, columns, 1};
    RtReduce r = {.loop = loop_add,
                  .auxdata = wide ? &outer : NULL,
                  .pairwise = !inner,
                  .wide = wide,
                  .folds = true,
                  .itemsize = sizeof(double),
                  .outer = outer,
                  .run = run,
                  .inner = inner};
    double *x = numbers(n), *whole = calloc((size_t)results, sizeof *whole),
           *cut = calloc((size_t)results, sizeof *cut);

    r.group = group_of(ndim, shape, strides, strides);
    rt_group_settle(r.group);
    rt_reduce_finish(&r);
    if (compiled) {
        r.group->code = rt_code_new();
        atomic_store(&r.group->code->entry, fold_kernel);
    }
    char *scratch = aligned_alloc(64, (r.scratch_bytes + 127) & ~(size_t)63);
    char *data[3] = {(char *)x, (char *)x, (char *)whole};
    ck_assert_int_eq(rt_reduce_run(&r, data, scratch), 0);
    if (!inner)
        check_sums(&r, x, whole);
    data[2] = (char *)cut;
    for (int count = 1; count <= 4; count++) {
        RtTeam team = team_of(threads, count);
        memset(cut, 0, (size_t)results * sizeof *cut);
        ck_assert_int_eq(rt_reduce_run_team(&r, data, scratch, &team), 0);
        ck_assert(!memcmp(whole, cut, (size_t)results * sizeof *cut));
    }
    free(scratch);
    free(x);
    free(whole);
    free(cut);
    rt_group_free(r.group);
}

START_TEST(cut_reductions)
{
    RtThreads *threads = rt_threads_new();
    static const intptr_t cases[][3] = {
        {1, 300007, 0}, {3, 100003, 0}, {1001, 301, 0},  {20011, 17, 0}, {100, 5000, 0},
        {70, 1024, 0},  {7, 257, 0},    {1, 262144, 0},  {1, 101, 5003}, {1, 30011, 7},
        {5, 301, 211},  {3, 17, 9001},  {1, 1000, 1000},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool runs = cases[i][2] == 0;
        for (int compiled = 0; compiled <= runs; compiled++)
            for (int wide = 0; wide <= (runs && cases[i][1] > RT_LEAF); wide++)
                reduction_is_the_same(threads, cases[i], wide, compiled);
    }
    rt_threads_free(threads);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("split");
    TCase *tests = tcase_create("split");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, cut_groups);
    tcase_add_test(tests, cut_reductions);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
