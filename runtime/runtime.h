/* runtime.h - all that other folders may know of the host's run time.
**
** One section a subject: memory, the background worker, threads for large work, floating-point
** status, time, groups and reductions, plans, kernels.
**
** Law 1: nothing here knows Python, the array language or LLVM; includes nobody.
** Law 2: threads are made in runtime/ and nowhere else.
** Law 3: nothing exits, aborts or prints. Out of memory is NULL, or 0 for a ticket.
** Law 4: whatever a thread can hold while another one forks is handled in fork.c. Its
**        lists of what takes part are the only variables of the process.
*/
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -- Memory (buffer.c) ------------------------------------------------------------- */

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
/* The same for an array: as far behind a line of the caches as `other`, whose alignment is 16 at least, or as large
** memory of malloc's where that is NULL. */
void *rt_buffer_take_beside(RtPool *pool, size_t size, const void *other);
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

/* -- The background worker (worker.c) ---------------------------------------------- */

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

/* -- Threads for large work (pool.c) ----------------------------------------------- */

/* Threads that help with large work, started by the first that wants them. Any number of threads
** may have work at the same time.
**
** fork: helpers finish their piece and are joined before the process forks; the work goes on without
** them, and they start again with the next one. exit: the same, for good. */
typedef struct RtThreads RtThreads;

RtThreads *rt_threads_new(void); /* NULL: out of memory */
/* Helpers finish their piece and are joined, for good: from here on callers work alone. */
void rt_threads_stop(RtThreads *threads);
/* Stops them first. No work of theirs may be left. */
void rt_threads_free(RtThreads *threads);

enum { RT_THREADS_MAX = 1024 };

/* A call's threads, and what the front end does around large work. Belongs to one thread. */
typedef struct RtTeam RtTeam;

typedef struct RtTeamHooks {
    unsigned (*count)(RtTeam *team); /* how many threads may run; asked once */
    /* Lets go of the locks that others of the program wait for, and takes them back. */
    void *(*leave)(RtTeam *team);
    void (*enter)(RtTeam *team, void *left);
    /* With these locks held, between pieces and turns: not 0, and the run stops with that. */
    int (*check)(RtTeam *team);
} RtTeamHooks;

struct RtTeam {
    const RtTeamHooks *hooks;
    RtThreads *threads;
    void *context;   /* the front end's, as the next three */
    int chosen;      /* threads that the call was given */
    unsigned turns;  /* checks so far */
    int64_t since;   /* when its locks were last let go */
    unsigned count;  /* 0: not asked yet */
    int64_t checked; /* the time of the last check between pieces, or 0 */
};

/* How many threads may work, the caller among them. */
unsigned rt_team_count(RtTeam *team);

/* Work in pieces that may be run in any order and at the same time. */
typedef struct RtWork {
    intptr_t pieces;                                          /* at least one */
    int (*run)(void *context, intptr_t piece, char *scratch); /* not 0: it failed */
    void *context;
    size_t scratch_bytes; /* what a piece needs */
    bool in_order;        /* one after the other, in the caller's thread */
} RtWork;

/* Runs the pieces in this thread and, where they turn out to take long, in others of the team. 0, or
** what the first piece that failed or a check gave; some of the others are not run then. */
int rt_parallel_for(RtTeam *team, const RtWork *work, char *scratch);

/* -- Floating-point status (fpstatus.c) -------------------------------------------- */

/* NumPy's categories, with the values of NPY_FPE_*. */
enum { RT_FP_divide = 1, RT_FP_over = 2, RT_FP_under = 4, RT_FP_invalid = 8 };

/* The status and control word as it is (rounding, masks and flags), and back again. */
uint32_t rt_fpstatus_save(void);
void rt_fpstatus_restore(uint32_t saved);
void rt_fpstatus_clear(void);    /* forgets what was raised */
unsigned rt_fpstatus_test(void); /* RT_FP_* raised since the last clear */

/* -- Time (clock.c) ---------------------------------------------------------------- */

int64_t rt_clock_ns(void); /* monotonic */

/* -- Memory ------------------------------------------------------------------------ */

/* True if so many bytes could be had at this moment. */
bool rt_memory_left(size_t bytes);

/* -- Groups (group.c) -------------------------------------------------------------- */

enum {
    RT_OPERANDS_MAX = 64,
    RT_CONSTANTS_MAX = 128,
    RT_REGS_MAX = 384,
    RT_NDIM_MAX = 64
};

/* The calling convention of an inner loop of NumPy: 0, or -1 with an error set. */
typedef int (*RtLoopFn)(void *context, char *const *data, const intptr_t *n,
                        const intptr_t *strides, void *auxdata);
/* Compiled rows of innermost runs: see LowerKernelFn. */
typedef void (*RtKernelFn)(char *const *data, intptr_t n, intptr_t rows,
                           const intptr_t *row_steps);

typedef struct RtKernel RtKernel;

/* Where compiled code of a group is put: by the compile thread, while calls run. Shared
** by
** the group and the job that compiles it. */
typedef enum RtCodeState { RT_CODE_waiting, RT_CODE_ready, RT_CODE_failed } RtCodeState;

typedef struct RtCode {
    _Atomic(RtKernelFn) entry;
    _Atomic(int) state; /* RtCodeState; `reason` is there once it says failed */
    _Atomic(int) refs;
    RtKernel *kernel; /* whose entry it is, held; the compile thread's until the end */
    char reason[160];
} RtCode;

RtCode *rt_code_new(void); /* one reference; NULL: out of memory */
RtCode *rt_code_hold(RtCode *code);
void rt_code_drop(RtCode *code); /* NULL is ignored */

/* One operation of a group: a loop over registers. */
typedef struct RtOp {
    RtLoopFn loop;
    void *context, *auxdata;
    uint8_t noperands; /* inputs, then outputs */
    uint16_t reg[5];
} RtOp;

/* How a group's kernel goes over it: nest.c. Sets of operands have a bit each. */
typedef struct RtNest {
    uint32_t inner, rows;   /* axes; ndim: none */
    uint64_t scalar;        /* one element for a run */
    uint64_t strided;       /* read or written at a step that the kernel is told */
    uint64_t packed, fixed; /* copied for the kernel; and the same in every row */
    int8_t every
        [RT_OPERANDS_MAX]; /* read as it lies: the step in items, 2 to 4 or -1; else 0 */
    bool flat;             /* rows and runs are one for the kernel */
    intptr_t width, height; /* elements of a run, and rows, of a block */
    uint32_t scratch[RT_OPERANDS_MAX];
    size_t scratch_bytes;
} RtNest;

/* A group is a straight line of ops over one iteration space. Registers 0 … noperands -
** 1
** are its operands (inputs, then outputs), then come constants; the others are scratch
** blocks. Runs go block by
** block, so that scratch stays in cache. Blocks are multiples of 64 elements counted
** from
** the start of an innermost run: that gives NumPy's bits (its loops differ in tails
** only). */
typedef struct RtGroup {
    uint32_t noperands, ninputs, nconstants, nregs, nops, ndim;
    RtOp *ops;
    uint32_t *scratch; /* nregs: offset of a scratch register in the scratch memory */
    uint64_t packed;   /* operands whose blocks go through scratch memory, a bit each */
    uint64_t stepped;  /* inputs that kernels take at some steps as they lie */
    uint64_t told;     /* operands that they take at any step, which they are told */
    uint16_t *itemsize; /* nregs */
    char **constants;   /* nconstants: addresses of single elements */
    intptr_t *shape;    /* ndim, outermost first */
    intptr_t *strides;  /* [noperands][ndim] in bytes, 0 = broadcast */
    intptr_t size;      /* elements of the iteration space */
    intptr_t block;     /* elements of a block */
    size_t scratch_bytes;
    uint64_t
        vectors; /* operands with axes: NumPy's loops see them step, if by one element */
    bool keep_order; /* bits depend on which operands are one element for a run */
    bool large;      /* worth to be cut in pieces */
    bool alone; /* loops may set errors: in the caller's thread, with all its locks */
    RtNest nest;
    RtCode *code; /* for innermost runs; NULL: stays in tier 0. Held */
} RtGroup;

/* Every array is zero, except shape and strides of
** ndim 0 … which do not exist. NULL: out of memory. */
RtGroup *rt_group_new(uint32_t ninputs, uint32_t noutputs, uint32_t nconstants,
                      uint32_t nregs, uint32_t nops, uint32_t ndim);
void rt_group_free(RtGroup *group); /* NULL is ignored */
/* Joins neighbouring axes, drops axes of extent 1 and sorts the axes by the strides of
** the
** last output, so that the innermost run is as long and as contiguous as can be; then
** chooses the block. To be called once, when all else is filled in. */
void rt_group_finish(RtGroup *group);
/* The same without a change of the axes: kernels get the last one as runs. */
void rt_group_settle(RtGroup *group);
/* data[i] is the address of operand i's first element; scratch has scratch_bytes,
** aligned.
** Returns 0, or -1 if a loop failed. Takes compiled code where it is there. */
int rt_group_run(const RtGroup *group, char *const *data, char *scratch);
/* The same for the first `extent` places on the outermost axis, which there has to be. */
int rt_group_run_part(const RtGroup *group, intptr_t extent, char *const *data,
                      char *scratch);
/* The same; large ones in pieces, by the team. NULL: by the caller alone, without checks. What a check
** gave is returned as it is. */
int rt_group_run_team(const RtGroup *group, char *const *data, char *scratch,
                      RtTeam *team);
/* n elements along the last axis, at most a block, in tier 0. */
int rt_group_block(const RtGroup *group, char *const *data, intptr_t n, char *scratch);

/* A reduction with its producer: the group's only output is folded into results as it is made, so
** that what is reduced never is in memory as a whole. The group's axes are
**     (outer, run)         each result is of one run, or
**     (outer, run, inner)  `inner` results side by side, joined row by row
** and are not to be changed: rt_group_settle, not rt_group_finish. Its operands are contiguous on
** the last axis, or one element. */
enum {
    RT_LEAF = 128, /* ORDER leaf: elements that NumPy sums without splitting them */
    RT_WIDE_BYTES = 128, /* ORDER wide: accumulators of a wide sum, for any vectors */
    RT_WIDE_TURNS = 16,  /* ORDER wide: elements that each of them takes, at most */
};

/* Where extremes are, and running sums, go the same way (along.c):
**     position   a number for each result: the place of the first extreme of the run, or the column
**     scan       a result for each element: it and those before it in the run, or the column
**     end        the first extreme of a run itself: of bools in memory, whose search ends early */
typedef enum RtAlong {
    RT_ALONG_none,
    RT_ALONG_position,
    RT_ALONG_scan,
    RT_ALONG_end
} RtAlong;

/* KernelPosition and KernelScan of kernels/kernels.h, which says what these do. */
typedef struct RtPositionLoops {
    intptr_t (*run)(const char *x, intptr_t n);
    bool (*beats)(const char *x, const char *best);
    void (*rows)(const char *x, intptr_t n, intptr_t rows, intptr_t step,
                 intptr_t first, char *best, char *index);
    intptr_t index_bytes;
} RtPositionLoops;

typedef struct RtScanLoops {
    void (*lines)(char *out, const char *x, intptr_t n, intptr_t lines, bool goes_on);
    void (*rows)(char *out, const char *x, intptr_t n, intptr_t rows, intptr_t out_step,
                 intptr_t step, bool goes_on);
} RtScanLoops;

typedef struct RtReduce {
    RtGroup *group;
    RtLoopFn loop; /* accumulator, element -> accumulator */
    RtAlong along; /* not none: no fold; a step RT_STEP_along */
    RtPositionLoops position;
    RtScanLoops scan; /* NULL: by `loop` */
    RtLoopFn gather;  /* copies what does not lie element by element */
    void *context, *auxdata;
    bool pairwise; /* runs: a tree of sums; else one after the other */
    bool wide;     /* the tree is the wide one, not NumPy's: reduce.c; so is the loop */
    bool from_first; /* runs: starts with the first element instead of `identity` */
    bool folds;      /* the kernel joins elements, too: see LowerKernelFn */
    bool
        stores; /* and stores them: they are the group's last input. By a kernel only */
    bool
        walks; /* walk.c: the group has the operand and the results, each with its strides */
    RtLoopFn sum; /* of these: of long contiguous runs, if `wide` */
    bool
        empty; /* there are no elements, hence `outer` identities and nothing to go through */
    uint16_t itemsize;
    char identity[32];          /* what results begin with */
    intptr_t outer, run, inner; /* extents; inner is 0 for runs */
    intptr_t columns;           /* inner, of the whole: scans write rows of so many */
    size_t scratch_bytes;
} RtReduce;

/* data: the group's inputs, then the results. Returns 0, or -1 if a loop failed. */
int rt_reduce_run(const RtReduce *reduce, char *const *data, char *scratch);
/* The same for the first `outer` results, or rows of results. */
int rt_reduce_run_part(const RtReduce *reduce, intptr_t outer, char *const *data,
                       char *scratch);
int rt_reduce_run_team(const RtReduce *reduce, char *const *data, char *scratch,
                       RtTeam *team);
/* True if long rows that come from memory are joined: their kernel is LOWER_FAR. */
bool rt_reduce_is_far(const RtReduce *reduce);
/* To be called once, when all else is filled in. */
void rt_reduce_finish(RtReduce *reduce);

/* -- Plans (plan.c) ---------------------------------------------------------------- */

/* A plan is what a traced call does: steps over slots. A slot is a place for one
** array's
** address; its shape and strides are known when the plan is made. What needs the front
** end
** (result arrays, library calls, effects, values asked for) goes through callbacks. */
typedef enum RtSlotKind {
    RT_SLOT_argument, /* the caller's memory */
    RT_SLOT_constant, /* memory of the plan */
    RT_SLOT_object,   /* memory of an object made by a callback */
    RT_SLOT_buffer,   /* pool memory between its first and last use */
    RT_SLOT_view,     /* a window on another slot */
    RT_SLOT_scalar,   /* memory of the frame for one element: the front end's */
    RT_SLOT_index,    /* an integer: frame->data holds it instead of an address */
} RtSlotKind;

typedef enum RtIndexOp {
    RT_INDEX_constant,
    RT_INDEX_add,
    RT_INDEX_subtract,
    RT_INDEX_multiply,
    RT_INDEX_number /* the int64 at the address of slot `base` */
} RtIndexOp;

typedef struct RtSlot {
    RtSlotKind kind;
    uint32_t base;   /* view: the slot it looks at; index: first operand */
    uint32_t index;  /* view: slot of an index added to offset, + 1, or 0; index: second
                        operand */
    RtIndexOp op;    /* index: how it is made */
    intptr_t offset; /* view: bytes from the base's address; index: the constant */
    size_t bytes;    /* buffer */
    uint32_t
        reuse; /* object: 1 + the slot whose object it may become, or whose buffer it gets, or 0 */
    uint32_t heir; /* buffer: 1 + the object's slot that gets its memory, or 0 */
    char *data;    /* constant */
} RtSlot;

typedef enum RtStepKind {
    RT_STEP_group,    /* run groups[index] on the operand slots */
    RT_STEP_allocate, /* callback: make the object of slot `index` */
    RT_STEP_buffer,   /* take the buffer of slot `index` */
    RT_STEP_view,     /* address of slot `index` from its base */
    RT_STEP_release,  /* slot `index` is not needed any more */
    RT_STEP_call,     /* callback `index`: library call, effect, value asked for */
    RT_STEP_index,    /* the integer of slot `index` from its operands */
    RT_STEP_loop,     /* run loops[index] */
    RT_STEP_reduce,   /* run reduces[index] on the operand slots */
    RT_STEP_rows,     /* run rows[index] */
    RT_STEP_along,    /* as RT_STEP_reduce: a position or a scan */
    RT_STEP_place,    /* run places[index] on the operand slots */
    RT_STEP_behind,   /* run behinds[index] */
} RtStepKind;

/* A loop: `body` runs `count` times in a frame of its own. Slot `turn` of the body
** holds the
** number of the turn. Values of the outer frame are bound once; a carried one starts as
** what
** its parameter is bound to, and what the body yields is the parameter of the next
** turn. */
typedef struct RtLoop {
    struct RtPlan *body;
    intptr_t count;
    uint32_t turn;
    uint32_t nbound, ncarried;
    uint32_t *outer, *inner;          /* nbound: slots here, slots of the body */
    uint32_t *param, *yield, *result; /* ncarried: slots of the body, the body, here */
} RtLoop;

/* Elements taken from x at places that indices (int64) name, or y's put, added or the like there: place.c.
** Operands of the step: the indices, x, y. */
enum { RT_PLACE_AXES = 8, RT_PLACE_INDICES = 4 };

typedef enum RtPlaceKind {
    RT_PLACE_take,
    RT_PLACE_put,
    RT_PLACE_add,
    RT_PLACE_subtract,
    RT_PLACE_multiply,
    RT_PLACE_maximum,
    RT_PLACE_minimum,
} RtPlaceKind;

typedef struct RtPlace {
    RtPlaceKind kind;
    bool tiled;    /* the outer of two axes is taken in short pieces */
    bool is_float; /* what is not taken or put; else integers of 4 or 8 bytes */
    bool is_signed;
    uint16_t itemsize;
    uint32_t ndim, nindices;
    intptr_t shape[RT_PLACE_AXES], x[RT_PLACE_AXES],
        y[RT_PLACE_AXES]; /* bytes per axis */
    intptr_t index[RT_PLACE_INDICES][RT_PLACE_AXES];
    intptr_t extent[RT_PLACE_INDICES],
        step[RT_PLACE_INDICES];     /* of x along what it indexes */
    uint8_t axis[RT_PLACE_INDICES]; /* of x, for who tells of it */
    intptr_t offset;                /* of x */
} RtPlace;

void rt_place_finish(RtPlace *place); /* once it is filled: fewer axes */
/* 0, or 1 + which index is out of range: the first such is *bad, and nothing is written. But what is taken to may be. */
int rt_place_run(const RtPlace *place, char *const *data, int64_t *bad);

typedef struct RtStep {
    RtStepKind kind;
    uint32_t index;
    uint32_t operands; /* group: first of its operands in plan->operands */
} RtStep;

/* A block of rows goes through all of `steps`, groups and reductions, before the next one does:
** rows.c. `span` is per step, `advance` per operand, one step's after the other's; it is 0 for what
** is the same for all rows, and for memory of one block. */
typedef struct RtRows {
    uint32_t nsteps;
    RtStep *steps;
    intptr_t rows, block; /* of the whole, of a block */
    intptr_t few;         /* rows that a first-level cache holds: rows_calls.c; or 0 */
    uint32_t *
        both; /* per step: 1 + the reduction that does it and the next one, if it has code; or 0 */
    intptr_t *span;    /* places on the step's outermost axis that are a row */
    intptr_t *advance; /* bytes from row to row */
    size_t *
        local; /* per operand: 1 + where in a block's own memory it is, or 0: in the plan's */
    size_t local_at, local_bytes; /* in the scratch memory of who runs the block */
} RtRows;

/* What is reached of an operand for one row: bytes from its address, and to the next row's. */
typedef struct RtReach {
    intptr_t low, high, advance;
} RtReach;

/* A result of a group, which has memory of a block alone, and the step that copies it. */
typedef struct RtCopy {
    RtStep step;
    uint32_t from; /* operand of the group */
    intptr_t span; /* places on the copy's outermost axis that are a row */
    RtReach to;
} RtCopy;

/* A group, and copies of its results to where it, or another operand, may read: behind.c. Values have memory for
** two blocks, `half_bytes` each. */
typedef struct RtBehind {
    RtStep group;
    uint32_t ncopies;
    RtCopy *copies;
    intptr_t rows, block; /* of the whole, of a block */
    intptr_t span;        /* places on the group's outermost axis that are a row */
    RtReach *rows_of;     /* per operand of the group */
    size_t
        *local; /* per operand: 1 + where in a half it is, or 0: in the plan's memory */
    size_t half_bytes, local_at; /* in the scratch memory of who runs the block */
} RtBehind;

enum {
    RT_UNCACHED = 1 << 25
}; /* bytes of which nothing is in a cache when it is read next */

typedef struct RtFrame {
    char **data;   /* nslots addresses */
    void **object; /* nslots, the front end's */
    void *context; /* the front end's */
    char *scratch;
    RtTeam *team; /* by whom large steps are run, or NULL */
} RtFrame;

typedef struct RtCallbacks {
    int (*allocate)(RtFrame *frame, uint32_t slot);
    void (*release)(RtFrame *frame, uint32_t slot);
    int (*call)(RtFrame *frame,
                uint32_t index); /* not 0: the plan stops and returns it */
    /* A frame for the body of loop `index`, its slots zero; and its end. 0, or -1. */
    int (*enter)(RtFrame *frame, uint32_t index, RtFrame *body);
    void (*leave)(RtFrame *body);
    /* Slot `to` of frame `in` becomes what slot `from` is: address and object. 0, or
     * -1. */
    int (*bind)(RtFrame *from_frame, uint32_t from, RtFrame *in, uint32_t to);
    /* An index is out of range for an axis of x. Not 0. */
    int (*refuse)(int64_t index, uint32_t axis, intptr_t extent);
} RtCallbacks;

typedef struct RtPlan {
    uint32_t nslots, nsteps, ngroups, noperands, nloops, nreduces, nrows, nplaces,
        nbehinds;
    RtSlot *slots;
    RtStep *steps;
    RtGroup **groups;
    RtLoop *loops;
    RtReduce *reduces;
    RtRows *rows;
    RtBehind *behinds;
    RtPlace *places;
    uint32_t *operands;
    size_t scratch_bytes;
    uint32_t beside; /* 1 + the slot of the array that others lie as, or 0 */
    const RtCallbacks *callbacks;
    RtPool *pool;
} RtPlan;

/* The array that memory taken for others should lie as, or NULL. */
static inline const void *
rt_frame_beside(const RtPlan *plan, const RtFrame *frame)
{
    return plan->beside ? frame->data[plan->beside - 1] : NULL;
}

void rt_plan_free(RtPlan *plan); /* frees its arrays and groups; constants and bodies
                                    are not its own */
/* Runs the steps. Returns 0; -1 out of memory or a loop failed; else what a callback
** gave.
** Buffers are given back in any case; objects are the front end's to release. */
int rt_plan_run(const RtPlan *plan, RtFrame *frame);
/* The turns of a loop alone, in a frame of its body that is bound and has scratch
** memory. */
int rt_loop_run(const RtLoop *loop, const RtCallbacks *callbacks, RtFrame *body);

/* Operands of a step that is a group or a reduction: inputs, then outputs. */
uint32_t rt_step_noperands(const RtPlan *plan, const RtStep *step);
int rt_rows_run(const RtPlan *plan, const RtRows *rows, RtFrame *frame);
void rt_rows_clear(RtRows *rows);
int rt_behind_run(const RtPlan *plan, const RtBehind *behind, RtFrame *frame);
void rt_behind_clear(RtBehind *behind);

#include "runtime/code.h"
