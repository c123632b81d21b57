/* jit.h - shared inside the extension.
**
**   call ── signature ── entry ── guards ── plan ── runtime ── results
**              │ new                  │ diverges
**              └────► trace ◄─────────┘
**                       │ graph and sites
**                       └► plan (tier 0 at once; tier 1 in the background)
*/
#pragma once

#include "jit/state.h"

/* Equal axes: PyArray_DIMS and the like of arrays without axes may be NULL. */
static inline bool
jit_same_axes(int ndim, const npy_intp *a, const npy_intp *b)
{
    for (int i = 0; i < ndim; i++) {
        if (a[i] != b[i])
            return false;
    }
    return true;
}

/* -- sig.c: what a call's arguments have to be ------------------------------------- */

typedef enum JitLeafKind {
    LEAF_array,
    LEAF_scalar,   /* a NumPy number, a Python complex: type */
    LEAF_float,    /* a Python float: a run-time value */
    LEAF_int,      /* a Python int that is one, too */
    LEAF_source,   /* a generator of random numbers: its type; itself is an input */
    LEAF_same,     /* the array that parameter `length` is */
    LEAF_constant, /* an immutable object: equal and of the same type */
    LEAF_identity, /* any other object: the same one */
    LEAF_list,
    LEAF_tuple,
    LEAF_dict, /* followed by key and value for each item */
} JitLeafKind;

typedef struct JitLeaf {
    JitLeafKind kind;
    PyObject *object; /* array: its descr; scalar: its type; constant: itself; identity:
                         itself or a weak reference to it */
    bool weak;
    bool writeable, aligned;
    int ndim;
    Py_ssize_t length;    /* containers */
    PyObject *building;   /* borrowed, while the signature is built: the array */
    npy_intp *dimensions; /* arrays: shape, then strides; owned */
} JitLeaf;

typedef struct JitSig {
    uint32_t nleaves, room;
    JitLeaf *leaves;
} JitSig;

/* Appends the leaves of `object`. 1: done; 0: of a kind that is not traced; -1:
** exception. */
int jit_sig_add(JitSig *sig, PyObject *object);
/* A number of Python's or NumPy's whose value is a run-time input, an int or bool as well. */
int jit_sig_add_number(JitSig *sig, PyObject *number);
/* True if an object that it knows by its identity is gone: no call has it any more. */
bool jit_sig_is_gone(const JitSig *sig);
PyObject *jit_sig_text(const JitSig *sig);         /* what it asks for, as str */
int jit_sig_copy(JitSig *copy, const JitSig *sig); /* 0, or -1 with an exception set */
void jit_sig_clear(JitSig *sig);
/* True if `object` matches leaves from *at on, which is moved behind them. Its
** parameters
** (arrays, scalars, floats; borrowed) are appended to params. */
bool jit_sig_match(const JitSig *sig, uint32_t *at, PyObject *object, PyObject **params,
                   uint32_t *nparams);
bool jit_leaf_match(const JitLeaf *leaf, PyObject *object);
bool jit_leaf_is_param(const JitLeaf *leaf);

/* -- loops.c: inner loops ---------------------------------------------------------- */

/* `scalar`: the last operand is one number for all elements; powers have short cuts then. */
typedef struct JitLoopKey {
    IrOp op;
    TraceNumerics numerics;
    const IrDtype *in;
    uint32_t n;
    IrDtype out;
    bool scalar;
} JitLoopKey;

/* The loop of an elementwise op on these dtypes. False with an exception set: none. */
bool jit_loop_find(JitState *state, const JitLoopKey *key, JitLoop *loop);
void jit_loops_free(JitLoopTable *table);
PyArray_Descr *jit_descr(IrDtype dtype); /* new reference */

/* -- nest.c: loops that are compiled as a whole ------------------------------------- */

int jit_nest_type_add(JitState *state, PyObject *module);
/* TraceNestFn */
PyObject *jit_nest_new(void *context, Trace *trace, const TraceNest *like,
                       IrGraph *graph);
/* compile.c. The code of a nest: there at once if it is known, else when it is compiled, for which
** the call waits or not; graph and patterns are the callee's. */
RtCode *jit_compile_nest(JitState *state, const JitDisk *disk, IrGraph *graph,
                         LowerPattern *patterns, uint32_t nparams, bool wait);

/* -- ufuncs.c: recipes as ufuncs --------------------------------------------------- */

int jit_ufuncs_new(JitState *state);

/* -- sums.c: NumPy's add with sums of our own ---------------------------------------- */

int jit_sums_new(JitState *state);
/* Functions of our own for sites: own.c. 0, or -1. */
int jit_own_new(JitState *state);

/* -- team.c: threads and the GIL ---------------------------------------------------- */

extern const RtTeamHooks jit_team_hooks;

/* By whom the large steps of a call are run. `threads`: as a trace's. */
static inline RtTeam
jit_team(JitState *state, int threads)
{
    return (RtTeam){.hooks = &jit_team_hooks,
                    .threads = state->threads,
                    .context = state,
                    .chosen = threads};
}

/* JIT_INTERRUPTED if the handler of a signal raised, else 0. */
int jit_check_signals(void);

/* -- group.c: fused nodes as loops ------------------------------------------------- */

enum { JIT_AXES_MORE = 2 };

typedef struct JitGroupSpec {
    TraceNumerics numerics;
    const IrGraph *graph;
    const TraceValue *values;
    const IrNode *nodes;
    uint32_t nnodes;
    const IrValue *inputs;
    uint32_t ninputs;
    const IrValue *outputs;
    uint32_t noutputs;
    const npy_intp *const *output_strides; /* NULL, or NULL entries: the value's own */
    /* Where extents of the graph are not numbers: the iteration space, and the strides of
    ** inputs and outputs in it. */
    const npy_intp *shape, *strides;
    uint32_t ndim;
    const JitDisk *kernels; /* where compiled code may be; NULL: it runs in tier 0 */
    int threads;            /* as a trace's */
    /* Its axes are not joined or ordered: that is the caller's, and settling it. There is room for
    ** JIT_AXES_MORE of them. */
    bool as_it_is;
} JitGroupSpec;

RtGroup *jit_group_new(JitState *state, const JitGroupSpec *spec);
/* Makes the group, runs it on the addresses of its inputs and outputs, frees it. */
int jit_group_run_once(JitState *state, const JitGroupSpec *spec, char *const *data);
/* The callback by which a trace gets its values. */
int jit_trace_run(void *state, const Trace *trace, const TraceGroup *group);
/* The callback by which a trace runs a loop that became a region: plan.c. */
int jit_trace_loop(void *state, Trace *trace, IrNode node, PyObject **results);

/* -- plan.c, execute.c ------------------------------------------------------------- */

typedef struct JitSlot {
    PyArray_Descr *descr;
    npy_intp *shape, *strides; /* one block, owned by shape */
    int ndim;
    uint8_t scalar; /* 0 array, else JIT_SCALAR_* */
    bool readonly;
    PyObject *path;     /* windows, and memory for parts: as a TraceValue's, or NULL; */
    IrNode node;        /* of this node */
    IrNode made;        /* arrays: by this node; or 0 */
    uint32_t scalar_at; /* index into the frame's scalar memory */
    PyTypeObject *type; /* scalars: their exact type */
} JitSlot;

/* Of an int only the object counts, its memory is not used. */
enum {
    JIT_SCALAR_numpy = 1,
    JIT_SCALAR_float = 2,
    JIT_SCALAR_int = 3,
    JIT_SCALAR_complex = 4
};

typedef struct JitSite {
    PyObject *callable;
    PyObject *origin; /* what the program called, where that is another; or NULL */
    PyObject *args, *kwargs, *result; /* templates: TraceRef.value is slot + 1 */
    PyObject *
        names; /* calls that are no effects: of the last arguments, instead of kwargs */
    bool
        raises; /* before it writes anything itself, as was seen: if others have, there are copies */
    bool effect; /* goes into the call's log */
    bool store;  /* sets an attribute: it is set back where the plan does not hold */
    bool large;  /* its results are large: their memory comes from the pool */
    bool kept;   /* its result may be changed before the plan turns out not to hold */
    bool asks;   /* its result is made of the elements of an array */
    PyObject *seen; /* that array, as it was, or NULL: recall.c */
    /* Of calls of unknown code: */
    bool opaque;
    uint32_t *reached, nreached; /* slots of the memory that it may change */
    struct JitSource *late;      /* what is read from outside after it, or NULL */
} JitSite;

typedef struct JitRange {
    uint32_t param;
    npy_intp low, high;
} JitRange;

/* A number that follows from extents, and what it is. */
typedef struct JitSize {
    PyObject *size;
    int64_t now;
} JitSize;

/* A window on a parameter that no step needs: it has to fit all the same. */
typedef struct JitGhost {
    uint32_t param;
    int ndim;
    npy_intp shape[8];
    PyObject *path;
} JitGhost;

typedef struct JitPlan {
    uint64_t numbers; /* what it held for last, hashed: guess.c */
    bool doubtful;    /* it may be slower than Python: guess.c */
    uint32_t misfits; /* calls whose arrays had other extents */
    uint32_t refs;    /* the cache, calls that run it, compile jobs (under the GIL) */
    RtPlan *rt;
    JitState *state;
    JitSlot *slots;
    JitSite *sites;
    uint32_t nsites;
    PyObject *result;
    uint32_t nparams;
    uint32_t *param_slots;
    bool *param_written;
    bool writes,
        diverges_late; /* arguments are written; and something may differ after */
    uint32_t nscalars;
    uint32_t nops, ncalls;      /* elementwise nodes, library calls */
    int threads;                /* as its trace's */
    Trace *record;              /* for plans of other extents, or NULL: resize.c */
    IrGraph *graph;             /* for lower() and explain(); NULL where it was large */
    PyObject *keep;             /* list: arrays whose memory groups point into */
    struct JitGroupCode *codes; /* per group: its kernel graph, for tier 1 */
    struct JitGroupCode *reduce_codes; /* per reduction: its producer's */
    struct JitPlan **bodies;           /* per loop */
    IrValue *bound;           /* bodies: the values the parameters are, in the graph */
    uint32_t *yield_slots;    /* bodies */
    uint32_t turn_slot;       /* bodies: the number of the turn */
    struct JitAlias *aliases; /* parameters that lie in others: aliases.c */
    uint32_t naliases;
    JitRange *ranges; /* ints that it holds for: trace/moved.c */
    uint32_t nranges;
    bool refits; /* all windows of the graph have slots, or are ghosts */
    JitGhost *ghosts;
    JitSize *sizes; /* that the trace had */
    uint32_t nghosts, nsizes;
    bool sized;    /* templates have sizes in them */
    bool counts;   /* the graph has numbers that follow from extents */
    bool refitted; /* the graph has the extents that it was made for: refit.c */
    struct JitSource
        *source; /* of an entry: what is read from outside at the beginning */
} JitPlan;

/* What a run of a plan may give; interrupted: an exception is set that is none of the function's. */
enum { JIT_DIVERGED = 2, JIT_INTERRUPTED = 3 };

JitPlan *jit_plan_new(JitState *state, Trace *trace);
/* explain.c: what the plan does, as a dict; LLVM IR or assembly of its groups, as a
** list. */
PyObject *jit_plan_facts(const JitPlan *plan);
PyObject *jit_plan_code(const JitPlan *plan, bool assembly);
void jit_plan_release(JitPlan *plan);
void jit_plan_callbacks(JitPlan *plan);
/* The result, or NULL: with an exception set, or without one when the plan diverged. Then
** arguments are as before, and the effects it had are in the list *log, made if need be. With
** effects in *log the first ones are not run but answered from there. `interrupted`: the exception
** is that of a signal's handler; `early`: a call has raised it that comes ahead of all that is written. `args`: the
** function's, for what is returned as it was given. */
PyObject *jit_plan_call(JitPlan *plan, PyObject *const *params, PyObject *const *args,
                        PyObject **log, bool *interrupted, bool *early);
/* True if the exception that is set is what an effect of the log raised. */
bool jit_log_raised(PyObject *log);
PyObject *jit_array_new(JitState *state, PyArray_Descr *descr, int ndim,
                        const npy_intp *shape, const npy_intp *strides);
/* The same, in a block of the pool's, which is the array's from then on; NULL: a new one. */
PyObject *jit_array_of(JitState *state, PyArray_Descr *descr, int ndim,
                       const npy_intp *shape, const npy_intp *strides, void *data,
                       const void *beside);
int jit_pool_new(JitState *state);
/* A call whose arrays get their memory from the pool. */
PyObject *jit_call_pooled(JitState *state, PyObject *callable, PyObject *const *args,
                          size_t nargs, PyObject *names);
/* Runs a body `count` times on the memory of its parameters (address; object or NULL).
** Objects
** of what is carried (new references) go into `results`. 0, or -1 with an exception
** set. */
int jit_body_run(const RtLoop *loop, JitPlan *body, char *const *data,
                 PyObject *const *objects, PyObject **results);

/* evaluate.c: runs a graph on its arguments, without a plan; a tuple of what it returns. */
PyObject *jit_evaluate(JitState *state, IrGraph *g, PyObject *const *args,
                       Py_ssize_t nargs);

/* graph.c: functions of the module. */
PyObject *jit_graph_parse(PyObject *module, PyObject *text);
PyObject *jit_graph_text(PyObject *module, PyObject *capsule);
PyObject *jit_graph_passed(PyObject *module, PyObject *capsule);
PyObject *jit_graph_run(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* -- compile.c: tier 1 ------------------------------------------------------------- */

enum { JIT_NAMED = 16 };

typedef struct JitGroupCode {
    IrGraph *kernel; /* NULL: not compiled */
    LowerPattern *patterns;
    uint32_t nparams;
    uint32_t nops;
    const char *reason;        /* why it stays in tier 0, or NULL */
    uint16_t named[JIT_NAMED]; /* then: 1 + its first ops, for who tells of it; or 0 */
    bool part;                 /* another box of the group before it */
    const char *along; /* the position or scan that it is the producer of, or NULL */
} JitGroupCode;

/* `path` is the module of the host back end. */
int jit_compiler_new(JitState *state, const char *path);
void jit_compiler_free(JitCompiler *compiler);
IrGraph *jit_kernel_passed(const IrGraph *kernel);
/* Queues the groups of a plan that have no code yet. */
void jit_compile_plan(JitState *state, JitPlan *plan, int tier, const JitDisk *disk);
void jit_compile_wait(JitState *state);
void jit_compile_stop(JitState *state);
/* What the compile thread and look-ups need; once, when there is a first function. */
void jit_compile_prepare(JitState *state);
/* The disk cache in a directory (NULL: none); NULL with an exception set. It lives as long as the state. */
JitDisk *jit_disk(JitState *state, const char *directory);
/* Its directory as bytes, or None. Borrowed. */
PyObject *jit_disk_directory(const JitDisk *disk);
/* twins.c: rewritten functions on disk. The version of pyasc, and a hash of the sources that decide what they are. */
extern const char twin_version[];
PyObject *jit_twin_read(PyObject *module, PyObject *args);
PyObject *jit_twin_write(PyObject *module, PyObject *args);
PyObject *jit_twin_digest(PyObject *module, PyObject *bytes);
PyObject *jit_twin_stats(PyObject *module, PyObject *ignored);
/* known.c: gives a group of a trace its code, if that is known already. */
void jit_group_know(JitState *state, const JitDisk *disk, const JitGroupSpec *spec,
                    RtGroup *group);
/* Tells the logger what trouble there was with disk caches, each once. */
void jit_disk_tell(JitState *state);
PyObject *jit_cache_stats(JitState *state);
void jit_cache_foreign(JitState *state, bool foreign);
void jit_cache_bound(JitState *state, size_t memory, uint64_t disk);
PyObject *jit_code_text(JitState *state, const JitGroupCode *code, bool assembly);

/* -- func.c ------------------------------------------------------------------------ */

int jit_func_type_add(JitState *state, PyObject *module);
