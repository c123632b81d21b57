/* runtime.h - all that other folders may know of the host's run time.
**
** One section a subject: memory, the background worker, floating-point status, time.
**
** Law 1: nothing here knows Python, the array language or LLVM; includes nobody.
** Law 2: threads are made in runtime/ and nowhere else.
** Law 3: nothing exits, aborts or prints. Out of memory is NULL, or 0 for a ticket.
** Law 4: whatever a thread can hold while another one forks is handled in fork.c. Its
**        lists of pools and workers are the only variables of the process.
*/
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -- Memory (buffer.c) ---------------------------------------------------- */

/* Blocks of memory, aligned to 64 bytes and kept for reuse: fresh pages cost 0.13 ms
** a MB. Any thread may call any function at any time, and so may a child after fork. */
typedef struct RtPool RtPool;

enum { RT_ALIGNMENT = 64 };

typedef struct RtPoolStats {
    size_t in_use;        /* bytes of the blocks that are taken */
    size_t idle;          /* bytes of the blocks kept for reuse */
    size_t reserved;      /* bytes held from the system: in_use + idle */
    size_t peak;          /* the largest in_use so far */
    uint64_t takes;       /* blocks given out so far */
    uint64_t allocations; /* of these, blocks that came fresh from the system */
} RtPoolStats;

RtPool *rt_pool_new(size_t idle_bound); /* NULL: out of memory */
/* No block of the pool may be in use any more. */
void rt_pool_free(RtPool *pool);

/* A block of at least `size` bytes (of one byte where size is 0), or NULL. */
void *rt_buffer_take(RtPool *pool, size_t size);
/* The same, its `size` bytes zero; pages fresh from the system are not written. */
void *rt_buffer_take_zeroed(RtPool *pool, size_t size);
/* Gives a block back; NULL is ignored. A block knows its size. */
void rt_buffer_give(RtPool *pool, void *block);
/* As realloc: the contents up to the smaller size are kept, block may be NULL.
** NULL: out of memory, and the old block is still the caller's. */
void *rt_buffer_resize(RtPool *pool, void *block, size_t size);
/* Bytes that fit into a block: the size asked for, or somewhat more. */
size_t rt_buffer_capacity(const void *block);

/* Idle blocks beyond `bytes` go back to the system, now and from now on. */
void rt_pool_set_bound(RtPool *pool, size_t bytes);
/* Gives idle blocks back to the system, the largest first, until `keep` bytes stay. */
void rt_pool_trim(RtPool *pool, size_t keep);
RtPoolStats rt_pool_stats(RtPool *pool);

/* -- The background worker (worker.c) ------------------------------------- */

/* One thread, started by the first job, that runs jobs in the order they came.
**
** fork: the job being run is finished and the thread joined before the process forks.
** Parent and child both keep the queue; the thread starts again with the next call of
** submit, done or a wait.
** exit: the job being run is finished, the others are dropped.
** Hence a job must need no lock that a thread may hold while it forks or exits (as the
** GIL), and may neither make, stop nor wait for a worker. */
typedef struct RtWorker RtWorker;
typedef void (*RtJobFn)(void *context);

RtWorker *rt_worker_new(void);         /* NULL: out of memory */
void rt_worker_free(RtWorker *worker); /* stops it first */

/* Queues a job: `run(context)` will be called on the thread, or `drop(context)` (may
** be NULL) on some thread if the worker stops first; exactly one of the two. Returns
** the job's ticket, numbers that grow by one from 1. 0: stopped or out of memory, and
** neither will be called. */
uint64_t rt_worker_submit(RtWorker *worker, RtJobFn run, RtJobFn drop, void *context);
/* True if the job and all before it were run or dropped. */
bool rt_worker_done(RtWorker *worker, uint64_t ticket);
/* Waits until rt_worker_done(ticket). */
void rt_worker_wait_for(RtWorker *worker, uint64_t ticket);
/* Waits for all jobs submitted before the call. */
void rt_worker_wait(RtWorker *worker);
/* Finishes the job being run, drops the others and joins the thread; for good. */
void rt_worker_stop(RtWorker *worker);

/* -- Floating-point status (fpstatus.c) ----------------------------------- */

/* NumPy's categories, with the values of NPY_FPE_*. */
enum { RT_FP_divide = 1, RT_FP_over = 2, RT_FP_under = 4, RT_FP_invalid = 8 };

/* The status and control word as it is (rounding, masks and flags), and back again. */
uint32_t rt_fpstatus_save(void);
void rt_fpstatus_restore(uint32_t saved);
void rt_fpstatus_clear(void);    /* forgets what was raised */
unsigned rt_fpstatus_test(void); /* RT_FP_* raised since the last clear */

/* -- Time (clock.c) ------------------------------------------------------- */

int64_t rt_clock_ns(void); /* monotonic */
