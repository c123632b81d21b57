/* check_ir_memory.c - memory that runs out at every place, once: never a crash, never
** a leak (the asan preset watches), and the graph says so. Linked with --wrap for
** malloc and its kin.
*/
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static long left = -1; /* allocations that succeed; -1: all */

static int
runs_out(void)
{
    return left >= 0 && left-- == 0 ? (left = 0, 1) : 0;
}

void *
__wrap_malloc(size_t bytes)
{
    return runs_out() ? NULL : __real_malloc(bytes);
}

void *
__wrap_calloc(size_t n, size_t bytes)
{
    return runs_out() ? NULL : __real_calloc(n, bytes);
}

void *
__wrap_realloc(void *old, size_t bytes)
{
    return runs_out() ? NULL : __real_realloc(old, bytes);
}

static const char text[] =
    "func %m(%n: index, %a: f64[8], %b: f64[8], %t: token) -> (f64[8], f64[%l]) {\n"
    "  %0: f64[8] = multiply %a, 1\n"
    "  %1: f64[8] = add %0, %b\n"
    "  %2: f64 = sum %1\n"
    "  %3: f64[8] = divide %1, %2\n"
    "  %4: f64[8] = update %b, %3 {offset = 0, strides = 8}\n"
    "  %5: f64[8] = for %n, %4 (%k: index, %p: f64[8]) {\n"
    "    %6: f64[8] = multiply %p, 0.5\n"
    "    yield %6\n"
    "  }\n"
    "  %l: index, %y: f64[%l] = call %5 {name = \"unique\"}\n"
    "  %u: token = effect %t, %5 {site = 2}\n"
    "  ret %5, %y\n"
    "}\n";

/* True: everything worked. */
static bool
whole_way(void)
{
    char error[200], *printed;
    IrGraph *g = ir_parse(text, error, sizeof error), *copy;
    const IrSchedule *schedule;
    bool good = g != NULL;

    if (!good)
        return false;
    copy = ir_graph_copy(g);
    good = copy && ir_verify(copy) && ir_pipeline_run(copy, 9, NULL, NULL);
    schedule = good ? ir_schedule(copy, 1) : NULL;
    good = good && schedule;
    for (uint32_t i = 0; good && i < schedule->nitems; i++)
        if (schedule->items[i].group) {
            IrGraph *kernel = ir_group_extract(copy, &schedule->items[i]);
            printed = kernel ? ir_print(kernel) : NULL;
            good = printed != NULL;
            free(printed);
            ir_graph_free(kernel);
        }
    if (copy && !good && !schedule)
        (void)ir_error(copy);
    ir_graph_free(copy);
    ir_graph_free(g);
    return good;
}

START_TEST(runs_out_everywhere)
{
    long n = 0;
    bool good;

    do {
        left = n++;
        good = whole_way();
        left = -1;
    } while (!good && n < 100000);
    ck_assert(good);
    ck_assert_int_gt(n, 20);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("ir_memory");
    TCase *tests = tcase_create("ir_memory");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, runs_out_everywhere);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
