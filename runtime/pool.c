/* pool.c - the pool of threads: large work in pieces, run by who asks for it and by helpers.
**
**     caller ─► work on the list ─► helpers come in ─► pieces, whoever is free takes the next
**        └────► pieces, too ─────► off the list ─► the last helper has left ─► caller goes on
**
** Helpers are started by the first work that wants them and sleep between works, until a fork
** or the exit is near. Where no thread can be had, the caller does the work alone.
**
** Law 1: pieces are the same whatever the number of threads is, and so are bits: a helper has the
**        caller's floating-point control word.
** Law 2: a caller always takes part itself, so that no work waits for another one's.
** Law 3: `lock` guards the list, the counts of helpers and of who is inside of a work. No piece is
**        run with it held, and none may make work, fork or exit.
** Law 4: a work is its caller's memory: it is left only when no helper is inside.
** Law 5: a child after fork has nobody's work on its list, nor has a pool that was stopped: callers in
**        the middle of one finish it alone, or are gone.
*/
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "runtime/fork.h"
#include "runtime/runtime.h"

enum {
    STACK_BYTES = 1 << 20,
    SMALL_NS = 150000,      /* of the rest: less is not worth waking a helper */
    CHECK_NS = 50000000,    /* between the front end's checks */
    SCRATCH_KEPT = 1 << 20, /* bytes, of a helper between works */
    SPINS = 4000,           /* before who waits for helpers sleeps */
};

typedef struct Job Job;
struct Job {
    Job *next;
    const RtWork *work;
    uint32_t fpstatus;
    atomic_intptr_t piece; /* the next that nobody has taken */
    atomic_int status;     /* of the first piece that failed */
    unsigned wanted;       /* helpers that may come in, in all */
    atomic_uint inside;
};

typedef struct Helper Helper;
struct Helper {
    Helper *next;
    pthread_t thread;
};

struct RtThreads {
    RtForkMember member;
    pthread_mutex_t lock;
    pthread_cond_t work, done; /* for helpers; for who waits until they have left */
    Job *first, **last;
    Helper *helpers; /* made and not joined yet */
    unsigned alive;  /* helpers that have not left */
    unsigned pauses; /* threads that are about to fork */
    bool stopped;
    atomic_bool leaving; /* pauses or stopped: helpers leave after their piece */
};

/* -- Pieces ------------------------------------------------------------------------ */

/* No piece that nobody has taken will be run. */
static void
abandon(Job *job, int status)
{
    int none = 0;

    atomic_compare_exchange_strong(&job->status, &none, status);
    atomic_store(&job->piece, job->work->pieces);
}

static void
run_piece(Job *job, intptr_t piece, char *scratch)
{
    int status = job->work->run(job->work->context, piece, scratch);

    if (status != 0)
        abandon(job, status);
}

static bool
take_piece(Job *job, intptr_t *piece)
{
    *piece = atomic_fetch_add_explicit(&job->piece, 1, memory_order_relaxed);
    return *piece < job->work->pieces;
}

/* -- Helpers ----------------------------------------------------------------------- */

typedef struct Scratch {
    char *memory;
    size_t bytes;
} Scratch;

static bool
scratch_fit(Scratch *scratch, size_t bytes)
{
    if (bytes <= scratch->bytes)
        return true;
    free(scratch->memory);
    bytes = (bytes + RT_ALIGNMENT - 1) & ~(size_t)(RT_ALIGNMENT - 1);
    scratch->memory = aligned_alloc(RT_ALIGNMENT, bytes);
    scratch->bytes = scratch->memory ? bytes : 0;
    return scratch->memory != NULL;
}

static void
scratch_drop(Scratch *scratch)
{
    free(scratch->memory);
    *scratch = (Scratch){0};
}

/* A work that may use one more helper; the lock is held. */
static Job *
job_find(RtThreads *threads)
{
    for (Job *job = threads->first; job; job = job->next) {
        if (job->wanted && atomic_load(&job->piece) < job->work->pieces)
            return job;
    }
    return NULL;
}

static void
help(const RtThreads *threads, Job *job, Scratch *scratch)
{
    intptr_t piece;

    if (!scratch_fit(scratch, job->work->scratch_bytes))
        return;
    rt_fpstatus_restore(job->fpstatus);
    while (!atomic_load_explicit(&threads->leaving, memory_order_relaxed) &&
           take_piece(job, &piece))
        run_piece(job, piece, scratch->memory);
}

static void *
helper_main(void *argument)
{
    RtThreads *threads = argument;
    Scratch scratch = {0};

    pthread_mutex_lock(&threads->lock);
    while (!atomic_load(&threads->leaving)) {
        Job *job = job_find(threads);

        if (!job) {
            if (scratch.bytes > SCRATCH_KEPT)
                scratch_drop(&scratch);
            pthread_cond_wait(&threads->work, &threads->lock);
            continue;
        }
        job->wanted--;
        atomic_fetch_add(&job->inside, 1);
        pthread_mutex_unlock(&threads->lock);
        help(threads, job, &scratch);
        pthread_mutex_lock(&threads->lock);
        /* From here on the work may be gone. */
        if (atomic_fetch_sub(&job->inside, 1) == 1)
            pthread_cond_broadcast(&threads->done);
    }
    if (--threads->alive == 0)
        pthread_cond_broadcast(&threads->done);
    pthread_mutex_unlock(&threads->lock);
    scratch_drop(&scratch);
    return NULL;
}

/* One more helper, which takes no signals: they are for the threads of the program. The lock is
** held. */
static bool
helper_add(RtThreads *threads)
{
    Helper *helper = calloc(1, sizeof *helper);
    pthread_attr_t attributes;
    sigset_t all, before;
    int failed;

    if (!helper)
        return false;
    if (pthread_attr_init(&attributes)) {
        free(helper);
        return false;
    }
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&helper->thread, &attributes, helper_main, threads);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (failed) {
        free(helper);
        return false;
    }
    helper->next = threads->helpers;
    threads->helpers = helper;
    threads->alive++;
    return true;
}

/* Waits until all helpers have left, who are told to, and joins them. The lock is held. */
static void
helpers_join(RtThreads *threads)
{
    pthread_cond_broadcast(&threads->work);
    while (threads->alive)
        pthread_cond_wait(&threads->done, &threads->lock);
    while (threads->helpers) {
        Helper *helper = threads->helpers;

        threads->helpers = helper->next;
        pthread_join(helper->thread, NULL);
        free(helper);
    }
}

/* -- Works ------------------------------------------------------------------------- */

/* Callers may be gone; those that are not find out that they are off the list. */
static void
list_clear(RtThreads *threads)
{
    threads->first = NULL;
    threads->last = &threads->first;
}

static void
job_publish(RtThreads *threads, Job *job)
{
    pthread_mutex_lock(&threads->lock);
    if (threads->stopped) {
        pthread_mutex_unlock(&threads->lock);
        return;
    }
    while (!atomic_load(&threads->leaving) && threads->alive < job->wanted &&
           helper_add(threads))
        continue;
    *threads->last = job;
    threads->last = &job->next;
    if (job->wanted == 1)
        pthread_cond_signal(&threads->work);
    else
        pthread_cond_broadcast(&threads->work);
    pthread_mutex_unlock(&threads->lock);
}

/* Takes the job off the list, if it still is there, and waits for helpers that are inside. */
static void
job_withdraw(RtThreads *threads, Job *job)
{
    pthread_mutex_lock(&threads->lock);
    for (Job **link = &threads->first; *link; link = &(*link)->next) {
        if (*link == job) {
            *link = job->next;
            if (!job->next)
                threads->last = link;
            break;
        }
    }
#if defined(__SSE2__)
    pthread_mutex_unlock(&threads->lock);
    for (int i = 0;
         i < SPINS && atomic_load_explicit(&job->inside, memory_order_relaxed); i++)
        _mm_pause();
    pthread_mutex_lock(&threads->lock);
#endif
    while (atomic_load(&job->inside))
        pthread_cond_wait(&threads->done, &threads->lock);
    pthread_mutex_unlock(&threads->lock);
}

/* The caller's part of what is left, with the front end's locks let go. */
static void
run_rest(RtTeam *team, Job *job, char *scratch)
{
    void *left = team->hooks->leave(team);
    int64_t now = rt_clock_ns();
    intptr_t piece;
    bool shared = job->wanted > 0;

    if (!team->checked)
        team->checked = now;
    if (shared)
        job_publish(team->threads, job);
    while (take_piece(job, &piece)) {
        run_piece(job, piece, scratch);
        now = rt_clock_ns();
        if (now - team->checked < CHECK_NS)
            continue;
        uint32_t status = rt_fpstatus_save();
        team->hooks->enter(team, left);
        int stop = team->hooks->check(team);
        left = team->hooks->leave(team);
        rt_fpstatus_restore(status);
        team->checked = rt_clock_ns();
        if (stop != 0)
            abandon(job, stop);
    }
    if (shared)
        job_withdraw(team->threads, job);
    team->hooks->enter(team, left);
}

unsigned
rt_team_count(RtTeam *team)
{
    if (!team->count)
        team->count = team->hooks->count(team);
    return team->count;
}

int
rt_parallel_for(RtTeam *team, const RtWork *work, char *scratch)
{
    Job job = {.work = work};
    intptr_t piece = 0;
    int64_t start = team ? rt_clock_ns() : 0;

    take_piece(&job, &piece);
    run_piece(&job, piece, scratch);
    if (team && (rt_clock_ns() - start) * (work->pieces - 1) >= SMALL_NS) {
        if (!work->in_order && work->pieces > 1)
            job.wanted = rt_team_count(team) - 1;
        if (job.wanted > (uintptr_t)work->pieces - 1)
            job.wanted = (unsigned)work->pieces - 1;
        job.fpstatus = rt_fpstatus_save();
        run_rest(team, &job, scratch);
    } else {
        while (take_piece(&job, &piece))
            run_piece(&job, piece, scratch);
    }
    return atomic_load(&job.status);
}

/* -- Stop, exit, fork -------------------------------------------------------------- */

void
rt_threads_stop(RtThreads *threads)
{
    pthread_mutex_lock(&threads->lock);
    threads->stopped = true;
    atomic_store(&threads->leaving, true);
    helpers_join(threads);
    list_clear(threads);
    pthread_mutex_unlock(&threads->lock);
}

static void
on_exit_stop(RtForkMember *member)
{
    rt_threads_stop((RtThreads *)member);
}

/* Leaves with the lock held. Others may wait here at the same time, each for its fork. */
static void
fork_prepare(RtForkMember *member)
{
    RtThreads *threads = (RtThreads *)member;

    pthread_mutex_lock(&threads->lock);
    threads->pauses++;
    atomic_store(&threads->leaving, true);
    helpers_join(threads);
}

static void
fork_parent(RtForkMember *member)
{
    RtThreads *threads = (RtThreads *)member;

    threads->pauses--;
    atomic_store(&threads->leaving, threads->pauses || threads->stopped);
    pthread_mutex_unlock(&threads->lock);
}

static void
fork_child(RtForkMember *member)
{
    RtThreads *threads = (RtThreads *)member;

    threads->pauses = 0;
    atomic_store(&threads->leaving, threads->stopped);
    list_clear(threads);
    pthread_cond_init(&threads->work, NULL);
    pthread_cond_init(&threads->done, NULL);
    pthread_mutex_unlock(&threads->lock);
}

static const RtForkHooks fork_hooks = {RANK_threads, fork_prepare, fork_parent,
                                       fork_child, on_exit_stop};

RtThreads *
rt_threads_new(void)
{
    RtThreads *threads = calloc(1, sizeof *threads);

    if (!threads)
        return NULL;
    threads->last = &threads->first;
    pthread_mutex_init(&threads->lock, NULL);
    pthread_cond_init(&threads->work, NULL);
    pthread_cond_init(&threads->done, NULL);
    if (!rt_fork_join(&threads->member, &fork_hooks)) {
        free(threads);
        return NULL;
    }
    return threads;
}

void
rt_threads_free(RtThreads *threads)
{
    if (!threads)
        return;
    rt_threads_stop(threads);
    rt_fork_leave(&threads->member);
    pthread_cond_destroy(&threads->work);
    pthread_cond_destroy(&threads->done);
    pthread_mutex_destroy(&threads->lock);
    free(threads);
}
