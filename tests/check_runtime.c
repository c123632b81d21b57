/* check_runtime.c - memory pool, floating-point status and clock.
**
** Every test runs in a process of its own, made by fork (Check's default).
*/
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/runtime.h"

enum { MEBI = 1 << 20 };

/* ThreadSanitizer otherwise complains, in a child, of the threads of its parent. */
const char *__tsan_default_options(void);

const char *
__tsan_default_options(void)
{
    return "die_after_fork=0:report_thread_leaks=0";
}

/* -- Memory --------------------------------------------------------------- */

static void
check_block(RtPool *pool, size_t size)
{
    unsigned char *block = rt_buffer_take(pool, size);

    ck_assert_ptr_nonnull(block);
    ck_assert_uint_eq((uintptr_t)block % RT_ALIGNMENT, 0);
    ck_assert_uint_ge(rt_buffer_capacity(block), size);
    ck_assert_uint_le(rt_buffer_capacity(block), size + size / 8 + 2 * RT_ALIGNMENT);
    memset(block, 0xa5, size);
    rt_buffer_give(pool, block);
}

/* Arrays lie as far behind a line of the caches as others, and their blocks are known by their memory. */
static void
check_beside(RtPool *pool, size_t size)
{
    static _Alignas(RT_ALIGNMENT) char line[RT_ALIGNMENT];

    for (size_t at = 0; at <= RT_ALIGNMENT; at += 16) {
        unsigned char *block =
            rt_buffer_take_beside(pool, size, at < RT_ALIGNMENT ? line + at : NULL);

        ck_assert_ptr_nonnull(block);
        ck_assert_uint_eq((uintptr_t)block % RT_ALIGNMENT, at < RT_ALIGNMENT ? at : 16);
        ck_assert_uint_ge(rt_buffer_capacity(block), size);
        memset(block, 0xa5, size);
        block = rt_buffer_resize(pool, block, 3 * size + 100);
        ck_assert_ptr_nonnull(block);
        ck_assert(size == 0 || block[size - 1] == 0xa5);
        memset(block, 0xa5, 3 * size + 100);
        rt_buffer_give(pool, block);
    }
}

START_TEST(arrays_lie_as_others_do)
{
    RtPool *pool = rt_pool_new(64 * MEBI);

    for (size_t size = 0; size < 300; size++)
        check_beside(pool, size);
    for (size_t size = 4096; size < 12 * (size_t)MEBI; size = size * 5 / 4 + 1)
        check_beside(pool, size);
    ck_assert_uint_eq(rt_pool_stats(pool).in_use, 0);
    rt_pool_free(pool);
}
END_TEST

START_TEST(sizes_and_alignment)
{
    RtPool *pool = rt_pool_new(64 * MEBI);

    for (size_t size = 0; size < 1300; size++)
        check_block(pool, size);
    for (size_t size = 4096; size < 40 * (size_t)MEBI; size = size * 9 / 8 + 1)
        check_block(pool, size);
    rt_pool_free(pool);
}
END_TEST

START_TEST(large_memory_begins_with_a_page)
{
    static const size_t sizes[] = {200000, 3 * MEBI, 5 * MEBI, 40 * MEBI};
    RtPool *pool = rt_pool_new(100 * MEBI);

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *block = rt_buffer_take(pool, sizes[i]);

        ck_assert_uint_eq((uintptr_t)block % 4096, 0);
        memset(block, 1, sizes[i]);
        rt_buffer_give(pool, block);
    }
    rt_pool_free(pool);
}
END_TEST

START_TEST(blocks_are_reused)
{
    RtPool *pool = rt_pool_new(64 * MEBI);
    void *first = rt_buffer_take(pool, 1000), *second;
    uint64_t allocations;

    rt_buffer_give(pool, first);
    second = rt_buffer_take(pool, 990);
    ck_assert_ptr_eq(first, second);
    rt_buffer_give(pool, second);
    allocations = rt_pool_stats(pool).allocations;
    for (int i = 0; i < 1000; i++)
        rt_buffer_give(pool, rt_buffer_take(pool, 1000));
    ck_assert_uint_eq(rt_pool_stats(pool).allocations, allocations);
    ck_assert_uint_eq(rt_pool_stats(pool).takes, 1002);
    rt_pool_free(pool);
}
END_TEST

/* Check reports each assertion through a pipe: loops over bytes count instead. */
static size_t
count_other(const unsigned char *block, size_t size, unsigned char value)
{
    size_t n = 0;

    for (size_t k = 0; k < size; k++)
        n += block[k] != value;
    return n;
}

START_TEST(zeroed_is_zero)
{
    static const size_t sizes[] = {1, 64, 4000, 200 << 10, 5 * MEBI};
    RtPool *pool = rt_pool_new(64 * MEBI);

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int again = 0; again < 2; again++) { /* fresh, then used */
            unsigned char *block = rt_buffer_take_zeroed(pool, sizes[i]);

            ck_assert_uint_eq(count_other(block, sizes[i], 0), 0);
            memset(block, 0xff, sizes[i]);
            rt_buffer_give(pool, block);
        }
    }
    rt_pool_free(pool);
}
END_TEST

START_TEST(resize_keeps_contents)
{
    RtPool *pool = rt_pool_new(64 * MEBI);
    unsigned char *block = rt_buffer_resize(pool, NULL, 10);
    size_t size = 10;

    memset(block, 7, size);
    for (; size < 2 * (size_t)MEBI; size *= 3) {
        block = rt_buffer_resize(pool, block, 3 * size);
        ck_assert_uint_eq(count_other(block, size, 7), 0);
        memset(block, 7, 3 * size);
    }
    for (; size > 10; size /= 3) {
        block = rt_buffer_resize(pool, block, size);
        ck_assert_uint_eq(count_other(block, size, 7), 0);
    }
    rt_buffer_give(pool, block);
    rt_pool_free(pool);
}
END_TEST

START_TEST(bound_trim_and_statistics)
{
    RtPool *pool = rt_pool_new(MEBI);
    void *blocks[64];
    RtPoolStats stats;

    for (int i = 0; i < 64; i++)
        blocks[i] = rt_buffer_take(pool, 1000 * (size_t)(i + 1));
    stats = rt_pool_stats(pool);
    ck_assert_uint_eq(stats.idle, 0);
    ck_assert_uint_eq(stats.reserved, stats.in_use);
    ck_assert_uint_ge(stats.in_use, 1000 * 64 * 65 / 2);
    for (int i = 0; i < 64; i++) {
        rt_buffer_give(pool, blocks[i]);
        ck_assert_uint_le(rt_pool_stats(pool).idle, MEBI);
    }
    ck_assert_uint_eq(rt_pool_stats(pool).in_use, 0);
    ck_assert_uint_eq(rt_pool_stats(pool).peak, stats.in_use);
    ck_assert_uint_gt(rt_pool_stats(pool).idle, MEBI / 2);
    rt_buffer_give(pool, rt_buffer_take(pool, 2 * MEBI)); /* larger than the bound */
    ck_assert_uint_gt(rt_pool_stats(pool).idle, MEBI / 2);
    rt_pool_trim(pool, 100 << 10);
    ck_assert_uint_le(rt_pool_stats(pool).idle, 100 << 10);
    rt_pool_set_bound(pool, 0);
    ck_assert_uint_eq(rt_pool_stats(pool).reserved, 0);
    rt_buffer_give(pool, rt_buffer_take(pool, 10));
    ck_assert_uint_eq(rt_pool_stats(pool).reserved, 0);
    rt_pool_free(pool);
}
END_TEST

START_TEST(too_much_is_null)
{
    RtPool *pool = rt_pool_new(MEBI);
    void *block = rt_buffer_take(pool, 100);

    ck_assert_ptr_null(rt_buffer_take(pool, SIZE_MAX));
    ck_assert_ptr_null(rt_buffer_take(pool, SIZE_MAX - 63));
    ck_assert_ptr_null(rt_buffer_take(pool, PTRDIFF_MAX));
    ck_assert_ptr_null(rt_buffer_take(pool, (size_t)1 << 46));
    ck_assert_ptr_null(rt_buffer_take_zeroed(pool, (size_t)1 << 46));
    ck_assert_ptr_null(rt_buffer_resize(pool, block, (size_t)1 << 46));
    rt_buffer_give(pool, block);
    rt_buffer_give(pool, NULL);
    rt_pool_free(pool);
}
END_TEST

static atomic_size_t spoiled;

/* Takes, fills, checks and gives blocks of changing sizes. */
static void *
churn(void *argument)
{
    RtPool *pool = argument;
    unsigned char *blocks[16] = {0};
    size_t sizes[16] = {0};
    unsigned state = (unsigned)(uintptr_t)&state;

    for (int i = 0; i < 20000; i++) {
        unsigned k = (state = state * 1664525 + 1013904223) >> 28;

        if (blocks[k]) {
            if (blocks[k][0] != k || blocks[k][sizes[k] - 1] != k)
                atomic_fetch_add(&spoiled, 1);
            rt_buffer_give(pool, blocks[k]);
        }
        sizes[k] = 1 + (state >> 8) % (1u << (4 + k));
        blocks[k] = rt_buffer_take(pool, sizes[k]);
        blocks[k][0] = blocks[k][sizes[k] - 1] = (unsigned char)k;
    }
    for (int k = 0; k < 16; k++)
        rt_buffer_give(pool, blocks[k]);
    return NULL;
}

START_TEST(threads_share_a_pool)
{
    RtPool *pool = rt_pool_new(MEBI);
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, pool), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(spoiled, 0);
    ck_assert_uint_eq(rt_pool_stats(pool).in_use, 0);
    rt_pool_free(pool);
}
END_TEST

START_TEST(forks_while_threads_take)
{
    RtPool *pool = rt_pool_new(MEBI);
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, churn, pool), 0);
    for (int i = 0; i < 50; i++) {
        int status;
        pid_t child = fork();

        ck_assert_int_ge(child, 0);
        if (!child) {
            alarm(20);
            rt_buffer_give(pool, rt_buffer_take(pool, 100));
            rt_pool_trim(pool, 0);
            _exit(0);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
    pthread_join(thread, NULL);
    rt_pool_free(pool);
}
END_TEST

/* -- Floating-point status, time ------------------------------------------ */

START_TEST(flags_are_numpys)
{
    volatile double zero = 0.0, one = 1.0, huge = 1e308, tiny = 1e-308, result;
    uint32_t saved;

    rt_fpstatus_clear();
    ck_assert_uint_eq(rt_fpstatus_test(), 0);
    result = one / zero;
    ck_assert_uint_eq(rt_fpstatus_test(), RT_FP_divide);
    result = huge * huge;
    ck_assert_uint_eq(rt_fpstatus_test(), RT_FP_divide | RT_FP_over);
    saved = rt_fpstatus_save();
    rt_fpstatus_clear();
    result = tiny * tiny;
    ck_assert_uint_eq(rt_fpstatus_test(), RT_FP_under);
    rt_fpstatus_clear();
    result = zero / zero;
    ck_assert_uint_eq(rt_fpstatus_test(), RT_FP_invalid);
    rt_fpstatus_restore(saved);
    ck_assert_uint_eq(rt_fpstatus_test(), RT_FP_divide | RT_FP_over);
    (void)result;
}
END_TEST

START_TEST(clock_goes_on)
{
    int64_t before = rt_clock_ns();

    usleep(1000);
    ck_assert_int_ge(rt_clock_ns() - before, 1000000);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("runtime");
    TCase *memory = tcase_create("memory"), *status = tcase_create("status");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(memory, 60);
    tcase_add_test(memory, sizes_and_alignment);
    tcase_add_test(memory, arrays_lie_as_others_do);
    tcase_add_test(memory, large_memory_begins_with_a_page);
    tcase_add_test(memory, blocks_are_reused);
    tcase_add_test(memory, zeroed_is_zero);
    tcase_add_test(memory, resize_keeps_contents);
    tcase_add_test(memory, bound_trim_and_statistics);
    tcase_add_test(memory, too_much_is_null);
    tcase_add_test(memory, threads_share_a_pool);
    tcase_add_test(memory, forks_while_threads_take);
    tcase_add_test(status, flags_are_numpys);
    tcase_add_test(status, clock_goes_on);
    suite_add_tcase(suite, memory);
    suite_add_tcase(suite, status);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
