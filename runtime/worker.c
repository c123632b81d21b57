/* worker.c - a background thread that runs jobs in the order they came.
**
** The thread lives from the first job to the next fork, stop or exit, and starts again
** when a job is waiting and someone calls. Where no thread can be had, who waits does
** the work.
**
**     submit ─► queue ─► work(): run, finished++ ─► wait returns
**                 └────► stop(): drop, finished++ ─┘
**
** Law 1: `lock` guards every field. No job is run or dropped with it held.
** Law 2: at most one thread is in work(), and `running` says so. It leaves when a fork
**        is near (`pauses`) or the worker stops, never in the middle of a job.
** Law 3: `finished` counts jobs run and jobs dropped, so that no wait is for ever.
*/
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "runtime/fork.h"
#include "runtime/runtime.h"

enum { STACK_BYTES = 8 << 20 }; /* compilers recurse; threads of musl have 128 KiB */

typedef struct Job {
    struct Job *next;
    RtJobFn run, drop;
    void *context;
} Job;

struct RtWorker {
    RtForkMember member;
    pthread_mutex_t lock;
    pthread_cond_t work,
        done; /* for the thread; for who waits for a job or the thread */
    Job *first, **last;
    uint64_t submitted, finished;
    unsigned pauses;  /* threads that are about to fork */
    pthread_t thread; /* in work(), if running */
    bool running;
    bool joinable; /* thread was made here and not joined yet */
    bool stopped;
};

static Job *
job_pop(RtWorker *worker)
{
    Job *job = worker->first;

    worker->first = job->next;
    if (!worker->first)
        worker->last = &worker->first;
    return job;
}

static bool
is_worker(const RtWorker *worker)
{
    return worker->running && pthread_equal(worker->thread, pthread_self());
}

/* Runs jobs until ticket `until` is done, a fork is near or the worker stops. The lock
** is held, `running` set; the lock is held again and `running` false at the end. */
static void
work(RtWorker *worker, uint64_t until)
{
    while (!worker->pauses && !worker->stopped && worker->finished < until) {
        Job *job;

        if (!worker->first) {
            pthread_cond_wait(&worker->work, &worker->lock);
            continue;
        }
        job = job_pop(worker);
        pthread_mutex_unlock(&worker->lock);
        job->run(job->context);
        free(job);
        pthread_mutex_lock(&worker->lock);
        worker->finished++;
        pthread_cond_broadcast(&worker->done);
    }
    worker->running = false;
    pthread_cond_broadcast(&worker->done);
}

static void *
thread_main(void *argument)
{
    RtWorker *worker = argument;

    pthread_mutex_lock(&worker->lock);
    work(worker, UINT64_MAX);
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

/* Joins a thread that has left work(); the lock is held. */
static void
join(RtWorker *worker)
{
    if (worker->joinable && !worker->running) {
        worker->joinable = false;
        pthread_join(worker->thread, NULL);
    }
}

/* Starts the thread if there is work and none; the lock is held. The thread takes no
** signals: they are for the threads of the program. False: no thread can be had. */
static bool
start(RtWorker *worker)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int failed;

    if (worker->running || !worker->first || worker->pauses || worker->stopped)
        return true;
    join(worker);
    if (pthread_attr_init(&attributes))
        return false;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    worker->running = true;
    failed = pthread_create(&worker->thread, &attributes, thread_main, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    worker->running = worker->joinable = !failed;
    return !failed;
}

/* -- Jobs -------------------------------------------------------------------------- */

uint64_t
rt_worker_submit(RtWorker *worker, RtJobFn run, RtJobFn drop, void *context)
{
    Job *job = malloc(sizeof *job);
    uint64_t ticket = 0;

    if (!job)
        return 0;
    *job = (Job){NULL, run, drop, context};
    pthread_mutex_lock(&worker->lock);
    if (!worker->stopped) {
        *worker->last = job;
        worker->last = &job->next;
        ticket = ++worker->submitted;
        start(worker); /* if it fails: done and wait try again */
        pthread_cond_signal(&worker->work);
    }
    pthread_mutex_unlock(&worker->lock);
    if (!ticket)
        free(job);
    return ticket;
}

bool
rt_worker_done(RtWorker *worker, uint64_t ticket)
{
    bool done;

    pthread_mutex_lock(&worker->lock);
    start(worker);
    done = worker->finished >= ticket;
    pthread_mutex_unlock(&worker->lock);
    return done;
}

/* The lock is held. */
static void
wait_for(RtWorker *worker, uint64_t ticket)
{
    while (worker->finished < ticket) {
        if (start(worker)) {
            pthread_cond_wait(&worker->done, &worker->lock);
        } else {
            worker->thread = pthread_self();
            worker->running = true;
            work(worker, ticket);
        }
    }
}

void
rt_worker_wait_for(RtWorker *worker, uint64_t ticket)
{
    pthread_mutex_lock(&worker->lock);
    if (ticket <= worker->submitted)
        wait_for(worker, ticket);
    pthread_mutex_unlock(&worker->lock);
}

void
rt_worker_wait(RtWorker *worker)
{
    pthread_mutex_lock(&worker->lock);
    wait_for(worker, worker->submitted);
    pthread_mutex_unlock(&worker->lock);
}

/* -- Stop, exit, fork -------------------------------------------------------------- */

void
rt_worker_stop(RtWorker *worker)
{
    pthread_mutex_lock(&worker->lock);
    worker->stopped = true;
    pthread_cond_broadcast(&worker->work);
    while (worker->running &&
           !is_worker(worker)) /* a job that exits is in work() itself */
        pthread_cond_wait(&worker->done, &worker->lock);
    join(worker);
    while (worker->first) {
        Job *job = job_pop(worker);

        pthread_mutex_unlock(&worker->lock);
        if (job->drop)
            job->drop(job->context);
        free(job);
        pthread_mutex_lock(&worker->lock);
        worker->finished++;
    }
    pthread_cond_broadcast(&worker->done);
    pthread_mutex_unlock(&worker->lock);
}

static void
on_exit_stop(RtForkMember *member)
{
    rt_worker_stop((RtWorker *)member);
}

/* Leaves with the lock held. Others may wait here at the same time, each for its fork. */
static void
fork_prepare(RtForkMember *member)
{
    RtWorker *worker = (RtWorker *)member;

    pthread_mutex_lock(&worker->lock);
    worker->pauses++;
    pthread_cond_broadcast(&worker->work);
    while (worker->running && !is_worker(worker)) /* a job that forks goes on with it */
        pthread_cond_wait(&worker->done, &worker->lock);
    join(worker);
}

static void
fork_parent(RtForkMember *member)
{
    RtWorker *worker = (RtWorker *)member;

    worker->pauses--;
    pthread_cond_broadcast(&worker->done); /* who waits starts the thread again */
    pthread_mutex_unlock(&worker->lock);
}

/* Threads that waited on the conditions exist no more: these begin anew. */
static void
fork_child(RtForkMember *member)
{
    RtWorker *worker = (RtWorker *)member;

    worker->pauses = 0;
    pthread_cond_init(&worker->work, NULL);
    pthread_cond_init(&worker->done, NULL);
    pthread_mutex_unlock(&worker->lock);
}

static const RtForkHooks fork_hooks = {RANK_worker, fork_prepare, fork_parent,
                                       fork_child, on_exit_stop};

RtWorker *
rt_worker_new(void)
{
    RtWorker *worker = calloc(1, sizeof *worker);

    if (!worker)
        return NULL;
    worker->last = &worker->first;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->work, NULL);
    pthread_cond_init(&worker->done, NULL);
    if (!rt_fork_join(&worker->member, &fork_hooks)) {
        free(worker);
        return NULL;
    }
    return worker;
}

void
rt_worker_free(RtWorker *worker)
{
    if (!worker)
        return;
    rt_worker_stop(worker);
    rt_fork_leave(&worker->member);
    pthread_cond_destroy(&worker->work);
    pthread_cond_destroy(&worker->done);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}
