/* check_runtime_behind.c - updates of what is read, a block of rows behind; by one thread and by several. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"

enum { ROWS = 301, COLUMNS = 211, AROUND = 40, ROW = COLUMNS * 8 };

/* -- A team -------------------------------------------------------------------- */

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
    ck_assert_ptr_eq(team, left);
}

static int
hook_check(RtTeam *team)
{
    (void)team;
    return 0;
}

static const RtTeamHooks hooks = {hook_count, hook_leave, hook_enter, hook_check};

/* -- A plan: to[i] = x[i] - 2 y[i], where all three are windows of one array --------- */

static int
combine(void *context, char *const *data, const intptr_t *n, const intptr_t *steps,
        void *auxdata)
{
    (void)context;
    (void)auxdata;
    for (intptr_t i = 0; i < *n; i++) {
        double x, y;
        memcpy(&x, data[0] + i * steps[0], sizeof x);
        memcpy(&y, data[1] + i * steps[1], sizeof y);
        x -= 2 * y;
        memcpy(data[2] + i * steps[2], &x, sizeof x);
    }
    return 0;
}

static int
copy(void *context, char *const *data, const intptr_t *n, const intptr_t *steps,
     void *auxdata)
{
    (void)auxdata;
    if (context && --*(int *)context < 0)
        return -1;
    for (intptr_t i = 0; i < *n; i++)
        memcpy(data[1] + i * steps[1], data[0] + i * steps[0], 8);
    return 0;
}

static RtGroup *
group_of(RtLoopFn loop, uint32_t inputs, void *context)
{
    RtGroup *group = rt_group_new(inputs, 1, 0, inputs + 1, 1, 2);
    group->ops[0] = (RtOp){loop, context, NULL, (uint8_t)(inputs + 1), {0, 1, 2}};
    group->shape[0] = ROWS;
    group->shape[1] = COLUMNS;
    for (uint32_t k = 0; k <= inputs; k++) {
        group->itemsize[k] = 8;
        group->strides[2 * k] = ROW + 8; /* rows have something between them */
        group->strides[2 * k + 1] = 8;
    }
    return group;
}

static void *
copied(const void *from, size_t bytes)
{
    return memcpy(malloc(bytes), from, bytes);
}

static RtPlan *
plan_new(RtPool *pool, intptr_t block, int *context)
{
    const RtReach whole = {0, ROW, ROW + 8}, packed = {0, ROW, ROW};
    const uint32_t operands[] = {0, 1, 2, 2, 3};
    const RtSlot slots[] = {{.kind = RT_SLOT_argument},
                            {.kind = RT_SLOT_argument},
                            {.kind = RT_SLOT_buffer, .bytes = 1},
                            {.kind = RT_SLOT_argument}};
    const RtStep steps[] = {
        {RT_STEP_buffer, 2, 0}, {RT_STEP_behind, 0, 0}, {RT_STEP_release, 2, 0}};
    RtGroup *groups[] = {group_of(combine, 2, NULL), group_of(copy, 1, context)};
    groups[0]->strides[4] = groups[1]->strides[0] = ROW;
    const RtCopy copies[] = {{{RT_STEP_group, 1, 3}, 2, 1, whole}};
    const RtReach reaches[] = {whole, whole, packed};
    for (int k = 0; k < 2; k++) {
        rt_group_finish(groups[k]);
        groups[k]->large = true;
    }
    RtBehind behind = {.group = {RT_STEP_group, 0, 0},
                       .ncopies = 1,
                       .copies = copied(copies, sizeof copies),
                       .rows = ROWS,
                       .block = block,
                       .span = 1,
                       .rows_of = copied(reaches, sizeof reaches),
                       .local = copied((size_t[]){0, 0, 1}, 3 * sizeof(size_t)),
                       .half_bytes = ((size_t)(block * ROW) + 63) & ~(size_t)63,
                       .local_at =
                           (groups[0]->scratch_bytes + groups[1]->scratch_bytes + 63) &
                           ~(size_t)63};
    RtPlan plan = {.nslots = 4,
                   .nsteps = 3,
                   .ngroups = 2,
                   .noperands = 5,
                   .nbehinds = 1,
                   .slots = copied(slots, sizeof slots),
                   .steps = copied(steps, sizeof steps),
                   .groups = copied(groups, sizeof groups),
                   .behinds = copied(&behind, sizeof behind),
                   .operands = copied(operands, sizeof operands),
                   .scratch_bytes = behind.local_at + 2 * behind.half_bytes,
                   .pool = pool};
    return copied(&plan, sizeof plan);
}

/* -- Tests --------------------------------------------------------------------- */

enum { ELEMENTS = (ROWS + 2 * AROUND) * (COLUMNS + 1) };

static char *
window(double *array, int rows)
{
    return (char *)(array + (AROUND + rows) * (COLUMNS + 1));
}

static void
check_update(RtPool *pool, RtTeam *team, intptr_t block, int x, int y)
{
    static double array[ELEMENTS], expected[ELEMENTS], before[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++)
        before[i] = array[i] = expected[i] = (i * 7919) % 1009;
    double *to = (double *)window(expected, 0);
    const double *from = (const double *)window(before, x),
                 *other = (const double *)window(before, y);
    for (int r = 0; r < ROWS; r++)
        for (int i = r * (COLUMNS + 1); i < r * (COLUMNS + 1) + COLUMNS; i++)
            to[i] = from[i] - 2 * other[i];
    RtPlan *plan = plan_new(pool, block, NULL);
    char *data[4] = {window(array, x), window(array, y), NULL, window(array, 0)};
    void *objects[4] = {0};
    RtFrame frame = {data, objects, NULL, NULL, team};
    ck_assert_int_eq(rt_plan_run(plan, &frame), 0);
    ck_assert_msg(memcmp(array, expected, sizeof array) == 0,
                  "block %d, rows %d and %d", (int)block, x, y);
    rt_plan_free(plan);
}

START_TEST(what_is_read_is_what_was_there)
{
    RtPool *pool = rt_pool_new(1 << 20);
    RtThreads *threads = rt_threads_new();
    static const int shifts[] = {-40, -8, -7, -1, 0, 1, 7, 8, 9, 40};
    for (int count = 0; count <= 4; count += 2) {
        RtTeam team = {.hooks = &hooks, .threads = threads, .chosen = count};
        for (intptr_t block = 1; block <= 16; block = block * 2 + (block == 4))
            for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++) {
                check_update(pool, count ? &team : NULL, block, shifts[i], 0);
                check_update(pool, count ? &team : NULL, block, shifts[i],
                             shifts[(i * 3 + 1) % 10]);
            }
    }
    rt_threads_free(threads);
    rt_pool_free(pool);
}
END_TEST

START_TEST(a_copy_that_fails_ends_the_plan)
{
    RtPool *pool = rt_pool_new(1 << 20);
    static double array[ELEMENTS];
    for (int calls = 0; calls < 20; calls++) {
        int left = calls;
        RtPlan *plan = plan_new(pool, 8, &left);
        char *data[4] = {window(array, -1), window(array, 1), NULL, window(array, 0)};
        void *objects[4] = {0};
        RtFrame frame = {data, objects, NULL, NULL, NULL};
        ck_assert_int_eq(rt_plan_run(plan, &frame), -1);
        ck_assert_ptr_null(data[2]);
        rt_plan_free(plan);
    }
    rt_pool_free(pool);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("behind");
    TCase *tests = tcase_create("behind");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(tests, what_is_read_is_what_was_there);
    tcase_add_test(tests, a_copy_that_fails_ends_the_plan);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
