/* check_runtime_rows.c - steps in blocks of rows: what they compute, and in whose memory. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"

enum { ROWS = 37, RUN = 11, EACH = 2 };

/* -- Loops in NumPy's convention --------------------------------------------- */

static double
at(const char *data, intptr_t step, intptr_t i)
{
    double x;
    memcpy(&x, data + i * step, sizeof x);
    return x;
}

static int
subtract(void *context, char *const *data, const intptr_t *n, const intptr_t *steps,
         void *auxdata)
{
    (void)context;
    (void)auxdata;
    for (intptr_t i = 0; i < *n; i++) {
        double x = at(data[0], steps[0], i) - at(data[1], steps[1], i);
        memcpy(data[2] + i * steps[2], &x, sizeof x);
    }
    return 0;
}

static int
larger(void *context, char *const *data, const intptr_t *n, const intptr_t *steps,
       void *auxdata)
{
    (void)context;
    (void)auxdata;
    for (intptr_t i = 0; i < *n; i++) {
        double x = at(data[0], steps[0], i), y = at(data[1], steps[1], i);
        memcpy(data[2] + i * steps[2], x > y ? &x : &y, sizeof x);
    }
    return 0;
}

static int
failing(void *context, char *const *data, const intptr_t *n, const intptr_t *steps,
        void *auxdata)
{
    (void)data;
    (void)n;
    (void)steps;
    (void)auxdata;
    return --*(int *)context < 0 ? -1 : 0;
}

/* -- A plan: m = max of runs of x; t = x - m; y = t - m ------------------------ */

/* Slots: x, m, t, y. */
static RtGroup *
difference(void)
{
    RtGroup *group = rt_group_new(2, 1, 0, 3, 1, 2);
    const intptr_t strides[6] = {RUN * 8, 8, 8, 0, RUN * 8, 8};

    group->ops[0] = (RtOp){subtract, NULL, NULL, 3, {0, 1, 2}};
    memcpy(group->strides, strides, sizeof strides);
    group->shape[0] = ROWS * EACH;
    group->shape[1] = RUN;
    for (int k = 0; k < 3; k++)
        group->itemsize[k] = 8;
    rt_group_finish(group);
    return group;
}

static RtReduce
maximum(void)
{
    RtGroup *group = rt_group_new(1, 1, 0, 2, 0, 2);
    RtReduce reduce = {.loop = larger,
                       .from_first = true,
                       .itemsize = 8,
                       .outer = ROWS * EACH,
                       .run = RUN};

    for (int k = 0; k < 2; k++) {
        group->strides[2 * k] = RUN * 8;
        group->strides[2 * k + 1] = 8;
        group->itemsize[k] = 8;
    }
    group->shape[0] = ROWS * EACH;
    group->shape[1] = RUN;
    rt_group_settle(group);
    reduce.group = group;
    rt_reduce_finish(&reduce);
    return reduce;
}

static void *
copied(const void *from, size_t bytes)
{
    return memcpy(malloc(bytes), from, bytes);
}

/* m and t have memory for a block; rows are of EACH runs. */
static RtPlan *
plan_new(RtPool *pool, intptr_t block)
{
    const uint32_t operands[] = {0, 1, 0, 1, 2, 2, 1, 3};
    const intptr_t m = 8 * EACH, x = RUN * m;
    const size_t at_m = 1, at_t = 1 + (((size_t)(block * m) + 63) & ~(size_t)63);
    const RtStep steps[] = {{RT_STEP_buffer, 1, 0},
                            {RT_STEP_buffer, 2, 0},
                            {RT_STEP_rows, 0, 0},
                            {RT_STEP_release, 1, 0},
                            {RT_STEP_release, 2, 0}};
    const RtStep inner[] = {
        {RT_STEP_reduce, 0, 0}, {RT_STEP_group, 0, 2}, {RT_STEP_group, 1, 5}};
    const RtSlot slots[] = {{.kind = RT_SLOT_argument},
                            {.kind = RT_SLOT_buffer, .bytes = 1},
                            {.kind = RT_SLOT_buffer, .bytes = 1},
                            {.kind = RT_SLOT_argument}};
    RtGroup *groups[] = {difference(), difference()};
    RtReduce reduce = maximum();
    RtRows rows = {
        .nsteps = 3,
        .both = calloc(sizeof inner / sizeof *inner, sizeof(uint32_t)),
        .rows = ROWS,
        .block = block,
        .steps = copied(inner, sizeof inner),
        .span = copied((intptr_t[]){EACH, EACH, EACH}, 3 * sizeof(intptr_t)),
        .advance = copied((intptr_t[]){x, 0, x, 0, 0, 0, 0, x}, 8 * sizeof(intptr_t)),
        .local = copied((size_t[]){0, at_m, 0, at_m, at_t, at_t, at_m, 0},
                        8 * sizeof(size_t)),
        .local_bytes = at_t + (size_t)(block * x)};
    size_t scratch = reduce.scratch_bytes;

    for (int k = 0; k < 2; k++)
        if (groups[k]->scratch_bytes > scratch)
            scratch = groups[k]->scratch_bytes;
    rows.local_at = (scratch + 63) & ~(size_t)63;
    RtPlan plan = {.nslots = 4,
                   .nsteps = 5,
                   .ngroups = 2,
                   .noperands = 8,
                   .nreduces = 1,
                   .nrows = 1,
                   .slots = copied(slots, sizeof slots),
                   .steps = copied(steps, sizeof steps),
                   .groups = copied(groups, sizeof groups),
                   .reduces = copied(&reduce, sizeof reduce),
                   .rows = copied(&rows, sizeof rows),
                   .operands = copied(operands, sizeof operands),
                   .scratch_bytes = rows.local_at + rows.local_bytes,
                   .pool = pool};

    return copied(&plan, sizeof plan);
}

START_TEST(blocks_of_any_size)
{
    static double x[ROWS * EACH * RUN], y[ROWS * EACH * RUN];
    RtPool *pool = rt_pool_new(1 << 20);
    char *data[4] = {0};
    void *objects[4] = {0};

    for (int i = 0; i < ROWS * EACH * RUN; i++)
        x[i] = (i * 7919) % 101;
    for (intptr_t block = 1; block <= ROWS + 1; block++) {
        RtPlan *plan = plan_new(pool, block);
        RtFrame frame = {data, objects, NULL, NULL, NULL};

        memset(y, 0, sizeof y);
        data[0] = (char *)x;
        data[3] = (char *)y;
        ck_assert_int_eq(rt_plan_run(plan, &frame), 0);
        for (int r = 0; r < ROWS * EACH; r++) {
            double most = x[r * RUN];
            for (int i = 0; i < RUN; i++)
                most = x[r * RUN + i] > most ? x[r * RUN + i] : most;
            for (int i = 0; i < RUN; i++)
                ck_assert(y[r * RUN + i] == x[r * RUN + i] - most - most);
        }
        rt_plan_free(plan);
    }
    rt_pool_free(pool);
}
END_TEST

START_TEST(a_loop_that_fails_ends_the_plan)
{
    static double x[ROWS * EACH * RUN], y[ROWS * EACH * RUN];
    RtPool *pool = rt_pool_new(1 << 20);
    char *data[4] = {(char *)x, NULL, NULL, (char *)y};
    void *objects[4] = {0};
    int calls = 3 * EACH;
    RtPlan *plan = plan_new(pool, 2);
    RtFrame frame = {data, objects, NULL, NULL, NULL};

    plan->groups[1]->ops[0].loop = failing;
    plan->groups[1]->ops[0].context = &calls;
    ck_assert_int_eq(rt_plan_run(plan, &frame), -1);
    ck_assert_int_eq(calls, -1);
    ck_assert_ptr_null(data[1]);
    ck_assert_ptr_null(data[2]);
    rt_plan_free(plan);
    rt_pool_free(pool);
}
END_TEST

START_TEST(caches_are_of_some_size)
{
    ck_assert_uint_ge(rt_cpu_cache_bytes(), 1 << 18);
    ck_assert_uint_le(rt_cpu_cache_bytes(), 1 << 22);
    ck_assert_uint_ge(rt_cpu_uncached_bytes(), 1 << 25);
    ck_assert_uint_le(rt_cpu_uncached_bytes(), 1 << 26);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("rows");
    TCase *rows = tcase_create("rows");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(rows, blocks_of_any_size);
    tcase_add_test(rows, a_loop_that_fails_ends_the_plan);
    tcase_add_test(rows, caches_are_of_some_size);
    suite_add_tcase(suite, rows);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
