/* check_runtime_threads.c - large work in pieces: threads, forks, exits.
**
** Every test runs in a process of its own, made by fork (Check's default). Check's asserts are for
** its main thread; other threads and children abort.
*/
#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "tests/sanitized.h"

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

static void
must(bool condition)
{
    if (!condition)
        abort();
}

static void
wait_for_child(pid_t child)
{
    int status;

    must(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* -- A team ----------------------------------------------------------------------- */

static atomic_int entered, checks;

static unsigned
hook_count(RtTeam *team)
{
    return (unsigned)team->chosen;
}

static void *
hook_leave(RtTeam *team)
{
    atomic_fetch_sub(&entered, 1);
    return team;
}

static void
hook_enter(RtTeam *team, void *left)
{
    must(team == left);
    atomic_fetch_add(&entered, 1);
}

/* The context says after how many checks the work is to stop, or which one forks. */
typedef struct Plan {
    int stop_at, fork_at;
} Plan;

static int
hook_check(RtTeam *team)
{
    Plan *plan = team->context;
    int now = atomic_fetch_add(&checks, 1) + 1;

    if (plan && plan->fork_at == now) {
        pid_t child = fork();

        if (!child)
            alarm(20);
        else
            wait_for_child(child);
    }
    return plan && plan->stop_at == now ? 77 : 0;
}

static const RtTeamHooks hooks = {hook_count, hook_leave, hook_enter, hook_check};

static RtTeam
team_of(RtThreads *threads, int count)
{
    return (RtTeam){.hooks = &hooks, .threads = threads, .chosen = count};
}

/* -- Pieces ------------------------------------------------------------------------ */

enum { PIECES = 300 };

typedef struct Pieces {
    atomic_int runs[PIECES];
    unsigned sleep; /* microseconds */
    intptr_t fails; /* the piece that does, or -1 */
    bool order;     /* it has to be kept */
    int next;
} Pieces;

static int
run_piece(void *context, intptr_t piece, char *scratch)
{
    Pieces *pieces = context;

    memset(scratch, (int)piece, 1000);
    atomic_fetch_add(&pieces->runs[piece], 1);
    if (pieces->order && pieces->next++ != piece)
        return 3;
    if (pieces->sleep)
        usleep(pieces->sleep);
    for (int i = 0; i < 1000; i++) {
        if (scratch[i] != (char)piece)
            return 4; /* someone else's */
    }
    return piece == pieces->fails ? 5 : 0;
}

static int
run_pieces(RtTeam *team, Pieces *pieces)
{
    char scratch[1000];
    RtWork work = {.pieces = PIECES,
                   .run = run_piece,
                   .context = pieces,
                   .scratch_bytes = sizeof scratch,
                   .in_order = pieces->order};

    return rt_parallel_for(team, &work, scratch);
}

static void
each_ran_once(const Pieces *pieces)
{
    for (int i = 0; i < PIECES; i++)
        must(pieces->runs[i] == 1);
}

START_TEST(every_piece_runs_once)
{
    RtThreads *threads = rt_threads_new();

    for (int count = 1; count <= 9; count++) {
        RtTeam team = team_of(threads, count);
        Pieces pieces = {.sleep = 50, .fails = -1};
        ck_assert_int_eq(run_pieces(&team, &pieces), 0);
        each_ran_once(&pieces);
        ck_assert_int_eq(count_threads(), SANITIZED ? count_threads() : count);
    }
    Pieces alone = {.fails = -1}, order = {.sleep = 50, .fails = -1, .order = true};
    RtTeam team = team_of(threads, 4);
    ck_assert_int_eq(run_pieces(NULL, &alone), 0);
    each_ran_once(&alone);
    ck_assert_int_eq(run_pieces(&team, &order), 0);
    each_ran_once(&order);
    ck_assert_int_eq(entered, 0);
    rt_threads_free(threads);
    rt_threads_free(NULL);
}
END_TEST

START_TEST(small_work_stays_here)
{
    RtThreads *threads = rt_threads_new();
    RtTeam team = team_of(threads, 4);
    char scratch[1000];
    Pieces pieces = {.fails = -1};
    RtWork work = {1, run_piece, &pieces, sizeof scratch, false};

    ck_assert_int_eq(rt_parallel_for(&team, &work, scratch), 0);
    ck_assert_int_eq(team.count, 0); /* not even asked */
    ck_assert(SANITIZED || count_threads() == 1);
    rt_threads_free(threads);
}
END_TEST

START_TEST(a_piece_fails)
{
    RtThreads *threads = rt_threads_new();

    for (intptr_t at = 0; at < PIECES; at += 37) {
        RtTeam team = team_of(threads, 3);
        Pieces pieces = {.sleep = 20, .fails = at};
        ck_assert_int_eq(run_pieces(&team, &pieces), 5);
        for (int i = 0; i < PIECES; i++)
            ck_assert_int_le(pieces.runs[i], 1);
    }
    rt_threads_free(threads);
}
END_TEST

START_TEST(a_check_stops)
{
    RtThreads *threads = rt_threads_new();
    Plan plan = {.stop_at = 2};
    RtTeam team = team_of(threads, 2);
    Pieces pieces = {.sleep = 2000, .fails = -1};
    int64_t start = rt_clock_ns();

    team.context = &plan;
    ck_assert_int_eq(run_pieces(&team, &pieces), 77);
    ck_assert_int_eq(checks, 2);
    ck_assert_int_eq(entered, 0);
    ck_assert_int_lt(rt_clock_ns() - start, 250000000);
    ck_assert_int_eq(pieces.runs[PIECES - 1], 0);
    rt_threads_free(threads);
}
END_TEST

static void *
run_many(void *threads)
{
    for (int i = 0; i < 20; i++) {
        RtTeam team = team_of(threads, 1 + i % 4);
        Pieces pieces = {.sleep = i % 3 ? 1 : 0, .fails = -1};
        must(run_pieces(&team, &pieces) == 0);
        each_ran_once(&pieces);
    }
    return NULL;
}

START_TEST(many_callers)
{
    RtThreads *threads = rt_threads_new();
    pthread_t callers[8];

    for (int i = 0; i < 8; i++)
        pthread_create(&callers[i], NULL, run_many, threads);
    for (int i = 0; i < 8; i++)
        pthread_join(callers[i], NULL);
    rt_threads_free(threads);
}
END_TEST

START_TEST(without_threads_the_caller_works)
{
    RtThreads *threads = rt_threads_new();
    struct rlimit limit = {1 << 20, 1 << 20}; /* no room for another stack */
    RtTeam team = team_of(threads, 8);
    Pieces pieces = {.sleep = 10, .fails = -1};

    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    ck_assert_int_eq(run_pieces(&team, &pieces), 0);
    each_ran_once(&pieces);
    rt_threads_free(threads);
}
END_TEST

/* -- Fork and exit ------------------------------------------------------------------ */

START_TEST(fork_leaves_no_thread)
{
    RtThreads *threads = rt_threads_new();

    for (int round = 0; round < 5; round++) {
        RtTeam team = team_of(threads, 4);
        Pieces pieces = {.sleep = 20, .fails = -1};
        ck_assert_int_eq(run_pieces(&team, &pieces), 0);
        ck_assert_int_eq(count_threads(), 4);
        pid_t child = fork();
        if (!child) {
            Pieces again = {.sleep = 20, .fails = -1};
            alarm(20);
            bool ok = count_threads() == 1 && !run_pieces(&team, &again);
            _exit(ok && count_threads() == 4 ? 0 : 1);
        }
        ck_assert_int_eq(count_threads(), 1); /* what Python looks at to warn */
        wait_for_child(child);
    }
    rt_threads_free(threads);
}
END_TEST

START_TEST(a_check_forks)
{
    RtThreads *threads = rt_threads_new();
    Plan plan = {.fork_at = 2};
    RtTeam team = team_of(threads, 3);
    Pieces pieces = {.sleep = 1000, .fails = -1};
    pid_t self = getpid();

    team.context = &plan;
    ck_assert_int_eq(run_pieces(&team, &pieces), 0);
    if (getpid() != self) { /* pieces that helpers had are done: they finished them */
        for (int i = 0; i < PIECES; i++) {
            if (pieces.runs[i] != 1)
                _exit(1);
        }
        Pieces again = {.sleep = 20, .fails = -1};
        _exit(run_pieces(&team, &again));
    }
    each_ran_once(&pieces);
    rt_threads_free(threads);
}
END_TEST

static void *
fork_many(void *threads)
{
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();

        if (!child) {
            RtTeam team = team_of(threads, 3);
            Pieces pieces = {.sleep = 5, .fails = -1};
            alarm(20);
            _exit(run_pieces(&team, &pieces));
        }
        wait_for_child(child);
    }
    return NULL;
}

START_TEST(threads_fork_and_run)
{
    RtThreads *threads = rt_threads_new();
    pthread_t callers[4];

    pthread_create(&callers[0], NULL, run_many, threads);
    pthread_create(&callers[1], NULL, fork_many, threads);
    pthread_create(&callers[2], NULL, run_many, threads);
    pthread_create(&callers[3], NULL, fork_many, threads);
    for (int i = 0; i < 4; i++)
        pthread_join(callers[i], NULL);
    rt_threads_free(threads);
}
END_TEST

static void *
run_for_ever(void *threads)
{
    for (;;) {
        RtTeam team = team_of(threads, 3);
        static Pieces pieces = {.sleep = 100, .fails = -1};
        run_pieces(&team, &pieces);
    }
    return NULL;
}

START_TEST(exit_in_the_middle)
{
    int status;
    pid_t child = fork();

    if (!child) {
        RtThreads *threads = rt_threads_new();
        pthread_t caller;

        alarm(20);
        pthread_create(&caller, NULL, run_for_ever, threads);
        usleep(20000);
        exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("threads");
    TCase *tests = tcase_create("threads");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, every_piece_runs_once);
    tcase_add_test(tests, small_work_stays_here);
    tcase_add_test(tests, a_piece_fails);
    tcase_add_test(tests, a_check_stops);
    tcase_add_test(tests, many_callers);
    if (!SANITIZED) { /* which need address space, and threads of their own */
        tcase_add_test(tests, without_threads_the_caller_works);
        tcase_add_test(tests, fork_leaves_no_thread);
    }
    tcase_add_test(tests, a_check_forks);
    tcase_add_test(tests, threads_fork_and_run);
    tcase_add_test(tests, exit_in_the_middle);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
