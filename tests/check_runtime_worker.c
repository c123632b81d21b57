/* check_runtime_worker.c - the background worker under threads, forks and exits.
**
** Every test runs in a process of its own, made by fork (Check's default).
*/
#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "tests/sanitized.h"

static atomic_int ran, dropped, last;

static void
job_count(void *context)
{
    (void)context;
    atomic_fetch_add(&ran, 1);
}

static void
job_drop(void *context)
{
    (void)context;
    atomic_fetch_add(&dropped, 1);
}

/* Counts jobs that come in order; the context is the number of the job. */
static void
job_in_order(void *context)
{
    int number = (int)(intptr_t)context;

    if (last + 1 == number)
        last = number;
}

static void
job_slow(void *context)
{
    usleep((unsigned)(uintptr_t)context);
    atomic_fetch_add(&ran, 1);
}

static int
count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = 0;

    while (readdir(tasks))
        n++;
    closedir(tasks);
    return n - 2; /* . and .. */
}

/* -- Jobs ----------------------------------------------------------------- */

START_TEST(runs_in_order)
{
    RtWorker *worker = rt_worker_new();

    for (intptr_t i = 1; i <= 1000; i++)
        ck_assert_uint_eq(rt_worker_submit(worker, job_in_order, NULL, (void *)i), i);
    rt_worker_wait(worker);
    ck_assert_int_eq(last, 1000);
    ck_assert(rt_worker_done(worker, 1000));
    ck_assert(!rt_worker_done(worker, 1001));
    rt_worker_wait_for(worker, 2000); /* a ticket never given out */
    rt_worker_free(worker);
    rt_worker_free(NULL);
}
END_TEST

START_TEST(waits_for_a_ticket)
{
    RtWorker *worker = rt_worker_new();
    uint64_t first = rt_worker_submit(worker, job_slow, NULL, (void *)1000);

    rt_worker_submit(worker, job_slow, job_drop, (void *)200000);
    rt_worker_submit(worker, job_slow, job_drop, (void *)200000);
    rt_worker_wait_for(worker, first);
    ck_assert(rt_worker_done(worker, first));
    ck_assert_int_ge(ran, 1);
    rt_worker_stop(worker);
    ck_assert_int_eq(ran + dropped, 3);
    ck_assert_int_ge(dropped, 1);
    ck_assert(rt_worker_done(worker, 3));
    ck_assert_uint_eq(rt_worker_submit(worker, job_count, job_drop, NULL), 0);
    rt_worker_free(worker);
    ck_assert_int_eq(ran + dropped, 3);
}
END_TEST

static void *
submit_many(void *worker)
{
    for (int i = 0; i < 2000; i++) {
        uint64_t ticket = rt_worker_submit(worker, job_count, NULL, NULL);

        if (i % 97 == 0)
            rt_worker_wait_for(worker, ticket);
    }
    rt_worker_wait(worker);
    return NULL;
}

START_TEST(many_threads_submit)
{
    RtWorker *worker = rt_worker_new();
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, submit_many, worker);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(ran, 8000);
    rt_worker_free(worker);
}
END_TEST

START_TEST(without_a_thread_the_waiter_works)
{
    RtWorker *worker = rt_worker_new();
    struct rlimit limit = {1 << 20, 1 << 20}; /* no room for another stack */

    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    for (intptr_t i = 1; i <= 10; i++)
        ck_assert_uint_eq(rt_worker_submit(worker, job_in_order, NULL, (void *)i), i);
    ck_assert(!rt_worker_done(worker, 1));
    rt_worker_wait_for(worker, 4);
    ck_assert_int_eq(last, 4);
    rt_worker_wait(worker);
    ck_assert_int_eq(last, 10);
    rt_worker_free(worker);
}
END_TEST

/* -- Fork ----------------------------------------------------------------- */

static void
wait_for_child(pid_t child)
{
    int status;

    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

START_TEST(fork_keeps_the_queue)
{
    RtWorker *worker = rt_worker_new();

    for (int round = 0; round < 20; round++) {
        int before = ran;
        pid_t child;

        for (int i = 0; i < 10; i++)
            rt_worker_submit(worker, job_slow, NULL, (void *)(uintptr_t)(100 * i));
        usleep((unsigned)(round * 100));
        child = fork();
        if (!child) {
            alarm(20);
            rt_worker_submit(worker, job_count, NULL, NULL);
            rt_worker_wait(worker);
            _exit(ran == before + 11 ? 0 : 1);
        }
        rt_worker_wait(worker);
        ck_assert_int_eq(ran, before + 10);
        wait_for_child(child);
    }
    rt_worker_free(worker);
}
END_TEST

START_TEST(fork_leaves_no_thread)
{
    RtWorker *worker = rt_worker_new();
    pid_t child;

    for (int i = 0; i < 10; i++)
        rt_worker_submit(worker, job_slow, NULL, (void *)2000);
    ck_assert_int_eq(count_threads(), 2);
    child = fork();
    if (!child)
        _exit(count_threads() == 1 ? 0 : 1);
    ck_assert_int_eq(count_threads(), 1); /* what Python looks at to warn */
    wait_for_child(child);
    rt_worker_wait(worker);
    ck_assert_int_eq(ran, 10);
    rt_worker_free(worker);
}
END_TEST

static void *
fork_many(void *worker)
{
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();

        if (!child) {
            alarm(20);
            rt_worker_submit(worker, job_count, NULL, NULL);
            rt_worker_wait(worker);
            _exit(0);
        }
        wait_for_child(child);
    }
    return NULL;
}

START_TEST(threads_fork_and_submit)
{
    RtWorker *worker = rt_worker_new();
    pthread_t threads[4];

    pthread_create(&threads[0], NULL, submit_many, worker);
    pthread_create(&threads[1], NULL, fork_many, worker);
    pthread_create(&threads[2], NULL, submit_many, worker);
    pthread_create(&threads[3], NULL, fork_many, worker);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(ran, 4000);
    rt_worker_free(worker);
}
END_TEST

static void
job_fork(void *context)
{
    pid_t child = fork();

    (void)context;
    if (!child)
        _exit(0);
    wait_for_child(child);
    atomic_fetch_add(&ran, 1);
}

START_TEST(a_job_forks)
{
    RtWorker *worker = rt_worker_new();

    for (int i = 0; i < 5; i++)
        rt_worker_submit(worker, job_fork, NULL, NULL);
    rt_worker_wait(worker);
    ck_assert_int_eq(ran, 5);
    rt_worker_free(worker);
}
END_TEST

/* -- Exit ----------------------------------------------------------------- */

static int *shared_status;

static void
job_write_status(void *context)
{
    usleep((unsigned)(uintptr_t)context);
    *shared_status = 0;
}

START_TEST(exit_in_the_middle)
{
    int status;
    pid_t child = fork();

    if (!child) {
        RtWorker *worker = rt_worker_new();
        static int value = 1;

        alarm(20);
        shared_status = &value;
        rt_worker_submit(worker, job_write_status, NULL, (void *)50000);
        for (int i = 0; i < 100; i++) /* a second each: must be dropped */
            rt_worker_submit(worker, job_slow, job_drop, (void *)1000000);
        usleep(1000);
        exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

static void
job_exit(void *context)
{
    (void)context;
    exit(0);
}

START_TEST(a_job_exits)
{
    int status;
    pid_t child = fork();

    if (!child) {
        RtWorker *worker = rt_worker_new();

        alarm(20);
        rt_worker_submit(worker, job_exit, NULL, NULL);
        pause();
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("worker");
    TCase *tests = tcase_create("worker");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, runs_in_order);
    tcase_add_test(tests, waits_for_a_ticket);
    tcase_add_test(tests, many_threads_submit);
    if (!SANITIZED) { /* which need address space, and threads of their own */
        tcase_add_test(tests, without_a_thread_the_waiter_works);
        tcase_add_test(tests, fork_leaves_no_thread);
    }
    tcase_add_test(tests, fork_keeps_the_queue);
    tcase_add_test(tests, threads_fork_and_submit);
    tcase_add_test(tests, a_job_forks);
    tcase_add_test(tests, exit_in_the_middle);
    tcase_add_test(tests, a_job_exits);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
