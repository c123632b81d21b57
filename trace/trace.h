/* trace.h - Python values in, a graph out.
**
** A trace follows one call of a user's function. The function runs exactly once, in
** Python,
** on tracers: proxies of arrays and scalars that carry values. What it does is recorded
** as a
** graph, with Python's part of it (callables, argument templates, expected answers) in
** sites
** beside it. jit/ turns graph and sites into a plan.
**
** Law 1: a call is right whether or not its trace can be used again. Whatever the
** recorder
**        cannot repeat exactly ends the trace with a row of bails.def; the call goes on
** in
**        NumPy in the same frame and is never started over.
** Law 2: values flow in through parameters, captures and sites only. An array of
** unknown
**        origin that meets a tracer ends the trace.
** Law 3: creation order in the graph is program order.
*/
#pragma once

#include "ir/ir.h"
#include "trace/np.h"

typedef struct Trace Trace;
typedef struct TraceState TraceState;

typedef enum TraceBail {
#define BAIL(name, message, hint) BAIL_##name,
#include "trace/bails.def"
#undef BAIL
    BAIL_COUNT
} TraceBail;

const char *trace_bail_name(TraceBail bail);
const char *trace_bail_message(TraceBail bail);
const char *trace_bail_hint(TraceBail bail);

/* Whose elementary functions: NumPy's own, or those of kernels/recipes.def. */
typedef enum TraceNumerics {
    NUMERICS_strict,
    NUMERICS_numpy,
    NUMERICS_fast, /* as numpy; sums and products may be rounded once */
} TraceNumerics;

/* -- What a trace leaves behind ---------------------------------------------------- */

enum { TRACE_STAYING = 64 };  /* extents below it are remembered one by one */
enum { TRACE_DEPTH_MAX = 4 }; /* of loops that may become regions */

/* What is known of a value besides its IR type. */
typedef struct TraceValue {
    PyArrayObject
        *array;       /* its elements in memory, NULL while pending (0-d for scalars) */
    PyObject *scalar; /* a scalar as Python sees it, or NULL */
    PyArray_Descr *descr; /* element type, owned */
    npy_intp *strides;    /* layout it has or will have; ndim of them, owned */
    uint32_t refs;        /* tracers and storages that hold it, pending readers */
    bool pending;         /* elementwise, not computed yet */
    uint16_t chain;       /* pending: length of the longest chain of such below it */
    npy_intp
        *steps; /* windows and updates in loops: bytes from turn to turn, by depth */
    PyObject *
        path; /* windows, what updates write: the keys that select it, None where that is not known, NULL: no one
                       has said. path.c */
    uint8_t flags; /* TRACE_VALUE_* */
} TraceValue;

enum {
    TRACE_VALUE_readonly = 1,
    TRACE_VALUE_overwritten = 2, /* its memory became another version's */
    TRACE_VALUE_escaped = 4,     /* an effect got it: an equal one is another array */
};

typedef enum TraceSiteKind {
    SITE_call,   /* a pure call: NumPy functions, methods, operators on scalars */
    SITE_effect, /* a call that must happen once and in order */
} TraceSiteKind;

/* A place where Python is called. `args` and `kwargs` are templates: tuples, lists,
 *dicts and
 ** slices with TraceRef objects where a value of the graph goes in. `result` is a
 *template of
 ** what came back: a TraceRef is a new value, TraceSkip is known already (a view of an
 ** operand), all else has to be equal or the plan does not hold. */
typedef struct TraceSite {
    TraceSiteKind kind;
    PyObject *callable;
    PyObject *origin; /* what the program called, where that is another; or NULL */
    PyObject *args;   /* tuple */
    PyObject *kwargs; /* dict, or NULL */
    PyObject *result;
    IrNode node;
    bool compares;  /* the result template holds something that must be equal */
    bool raises;    /* it may raise for other values of its operands */
    bool differs;   /* its results may be of another kind next time */
    bool unseen;    /* nobody sees that, as far as is known: picked.c */
    bool seen;      /* somebody may, by extents */
    uint32_t epoch; /* a call of unknown code: its number, from 1 on; else 0 */
} TraceSite;

/* Where a captured value comes from: read again and compared at each call. */
typedef enum TraceSourceKind {
    SOURCE_global,
    SOURCE_cell,
    SOURCE_attribute,
    SOURCE_code, /* of a function, as the next two */
    SOURCE_defaults,
    SOURCE_kwdefaults,
    SOURCE_item, /* of a list, tuple or dictionary */
} TraceSourceKind;

typedef struct TraceGuard {
    TraceSourceKind kind;
    PyObject *owner;    /* globals dict, cell, object */
    PyObject *name;     /* NULL for a cell */
    PyObject *expected; /* the object itself; for arrays the signature counts */
    IrValue param;      /* the parameter an array became, or 0 */
    bool contents;      /* a container: its items count, not its identity */
    bool itself;        /* its identity, too */
    uint32_t epoch;     /* calls of unknown code that it comes after */
} TraceGuard;

typedef struct TraceParam {
    IrValue value;
    IrValue version;  /* what its memory holds now */
    PyObject *object; /* the argument or captured array at trace time */
    bool written;     /* its memory was written */
    bool ranged;      /* an int that the plan holds for between low and high: moved.c */
    npy_intp low, high;
} TraceParam;

/* How a trace gets elementwise nodes computed (tier 0, in jit/). */
typedef struct TraceGroup {
    const IrNode *nodes; /* program order */
    uint32_t nnodes, ninputs, noutputs;
    const IrValue *inputs, *outputs;
    PyArrayObject **in, **out;
} TraceGroup;

typedef int (*TraceRunFn)(void *context, const Trace *trace, const TraceGroup *group);
/* Runs a `for` node on the memory of its operands; objects of the results (new
 *references,
 ** NULL for storages that are carried in place) are put into `results`. */
/* A loop that is compiled as a whole: nest.h. Arrays, then numbers go in; numbers come out. */
enum { TRACE_NEST_ARRAYS = 30, TRACE_NEST_NUMBERS = 96 };

typedef struct TraceNestArray {
    int ndim;
    npy_intp shape[8];        /* what is known of its indices is of this shape */
    bool written, contiguous; /* on the last axis */
    bool scratch;             /* memory of the nest's own, no argument */
    int itemsize;
} TraceNestArray;

/* What a number is that is Python's on one way and NumPy's on another, where it comes by. */
typedef enum TraceNestTag {
    NEST_TAG_whole, /* Python's int; its bool, of dtype bool */
    NEST_TAG_float,
    NEST_TAG_complex,
    NEST_TAG_numpy,
} TraceNestTag;

typedef struct TraceNestNumber {
    char
        kind; /* b, i, f, c: Python's; s: NumPy's, of `type`; e: as a tag says, one part more */
    bool pair;  /* complex: two parameters or results of the graph */
    bool whole; /* e: it may be Python's int */
    int type;
} TraceNestNumber;

/* What a nest calls: functions of a generator of random numbers, which give floats, then ints; and of a list that is
** filled. ORDER draws */
typedef enum TraceDraw {
    DRAW_uniform,     /* NumPy's, from 0 to 1 */
    DRAW_normal,      /* numpy.random.Generator's standard normal numbers */
    DRAW_exponential, /* its standard exponential numbers */
    DRAW_gauss,       /* numpy.random.RandomState's standard normal numbers */
    DRAW_python,      /* random.Random's, from 0 to 1 */
    DRAW_integer,     /* Generator's, from low to high - 1 */
    DRAW_masked,      /* RandomState's */
    DRAW_python_below,
    PUSH_float, /* (number, what, tag): a TraceNestTag, where `what` says `e` */
    PUSH_int,
    PUSH_group, /* (n, what, 0): the last n items as one */
    LIST_length,
    LIST_float, /* (i): the item, its tag */
    LIST_int,
    LIST_tag,
    LIST_drop,      /* (0): the last item */
    LIST_put_float, /* (number, i, tag) */
    LIST_put_int,
    ROWS_length, /* (row): of a list of lists; where its items begin among all */
    ROWS_begin,
} TraceDraw;

/* What is put into a list: a number's kind as in TraceNestNumber, `r`: the real part of what the next one is the imaginary
** part of; a tuple, a list; and NumPy's type. */
static inline int64_t
trace_push_what(char kind, int type)
{
    return kind | (int64_t)type << 8;
}

enum { TRACE_NEST_SOURCES = 8, TRACE_NEST_DRAWS = 24 };

typedef struct TraceNestDraw {
    uint8_t source, function; /* a TraceDraw */
} TraceNestDraw;

typedef struct TraceNest {
    uint32_t narrays, nnumbers, nresults;
    uint32_t nsources,
        ndraws; /* generators and lists, which are arguments behind the numbers */
    TraceNestDraw draws[TRACE_NEST_DRAWS];
    TraceNestArray arrays[TRACE_NEST_ARRAYS];
    TraceNestNumber numbers[TRACE_NEST_NUMBERS], results[TRACE_NEST_NUMBERS];
    TraceNestNumber
        items[TRACE_NEST_SOURCES]; /* of lists that are read; kind 0: it is not */
    bool checks;                   /* it may leave in the middle */
    bool waits; /* running the loop takes longer than to compile it */
    int line;
} TraceNest;

/* The callable of a nest; the graph is the callee's from now on. NULL without an exception: there is
** none, as its code cannot be had. */
typedef PyObject *(*TraceNestFn)(void *context, Trace *trace, const TraceNest *nest,
                                 IrGraph *graph);
typedef int (*TraceLoopFn)(void *context, Trace *trace, IrNode node,
                           PyObject **results);

struct Trace {
    TraceState *state;
    uint32_t refs;
    IrGraph *graph;
    TraceValue *values;
    uint32_t nvalues, values_room;
    TraceSite *sites;
    uint32_t nsites, sites_room;
    TraceGuard *guards;
    uint32_t nguards, guards_room;
    TraceParam *params;
    uint32_t nparams, params_room;
    IrValue *escapes; /* storages that effects got: what they hold now */
    uint32_t nescapes, escapes_room;
    PyObject *bodies;    /* `for` node -> capsule, the executor's plan of it */
    PyObject *known;     /* id of an array that has a tracer -> that tracer */
    PyObject *locals;    /* id of a container or object made in this call -> itself */
    PyObject *result;    /* template of the return value */
    PyObject *stand_ins; /* id of a tuple made for an argument -> the argument */
    PyObject *
        containers; /* id of a list or dict that is an argument -> its number; -1: of several */
    PyObject *inputs;  /* id of a generator among the arguments -> its value */
    PyObject *outside; /* id of an object known by its identity -> itself */
    PyObject *stored;  /* (id of object, attribute) -> what this call stored there */
    PyObject *mutated; /* id of a container from outside that was changed -> itself */
    PyObject *varying; /* name -> if numbers of that name change, or NULL; borrowed */
    PyObject *loaded;  /* number of a guard -> the tracer of its parameter */
    PyObject *log;     /* effects that this call has had already: see effect.c */
    Py_ssize_t log_at;
    PyObject *held;  /* list of tracers: storages that effects got */
    PyObject *cells; /* list of (cell, what it holds after the log), or NULL */
    struct TraceStorage *storages; /* list of live ones */
    Trace *outer;                  /* the trace this thread was in before */
    bool live;                     /* recording */
    bool asking;  /* results of calls are answers: they have to be the same next time */
    bool forgot;  /* something was not looked up, for want of memory: no plan */
    bool trial;   /* ahead of a call: ends with an exception before the first effect */
    bool overlap; /* arguments overlap in memory */
    bool wrote;   /* an argument was written */
    bool tries;   /* a try with handlers was entered */
    bool finishes; /* one without */
    PyObject *
        standing_in; /* NumPy's function that one of ours stands for at the moment, or NULL; borrowed */
    PyObject *raised; /* an exception that shapes alone have caused, or NULL */
    bool guard_after_write;
    uint32_t
        narguments; /* parameters from the first on that are arguments, not captured */
    bool extents;   /* an extent was read: the trace is of these shapes alone */
    uint64_t
        staying; /* extents, bit by bit, that plans for other ones have to have, too */
    bool symbolic; /* extents that are read are numbers of the trace: size.c */
    PyObject *sizes,
        *compared; /* number -> how it follows from extents; what sizes were compared to; or NULL */
    bool sized;     /* a run-time int was asked for: it had better be a constant */
    bool owner;     /* the value that is being loaded is about to be changed */
    bool leaks;     /* memory went outside that a second run could not hand out again */
    uint32_t seen;  /* sites that the last effect comes after */
    uint32_t epoch; /* calls of unknown code so far */
    npy_intp reach; /* bytes that were within their reach, in all */
    TraceNumerics numerics;
    bool
        warns; /* warnings of floating-point errors are shown: there are none to show where it is made */
    bool contracts; /* x * y + z is rounded once */
    /* For large work. Chosen for the function; or negative, where `with` around a call may choose
    ** another number; or 0: one for each CPU. */
    int threads;
    TraceBail bail; /* why it is not live any more */
    PyObject *bail_detail;
    uint32_t nops, nhooks;
    uint32_t nturns;   /* of loops that may be left */
    bool divides;      /* these are, where they are long: jit/turns.c */
    PyObject *root;    /* the code of the function that is traced: only compared */
    uint32_t narrays;  /* operations on arrays that are no effects */
    uint64_t serial;   /* numbers storages, and the windows of a turn */
    uint64_t blockers; /* things seen that a region could not repeat */
    /* Windows of this turn that move: their steps, and the number that sets them apart.
     */
    npy_intp window_steps[8][TRACE_DEPTH_MAX];
    int64_t window_numbers[8];
    uint32_t nwindows;
    IrNode windows_turn;
    struct TraceLoop *loop; /* innermost loop that may become a region, borrowed */
    TraceRunFn run;
    TraceLoopFn run_loop;
    TraceNestFn make_nest;   /* NULL: loops are not compiled as a whole */
    bool nests_always;       /* also where a loop is hardly worth it */
    const char *nest_reason; /* why the last loop that is no nest is none, or NULL */
    int nest_line;
    uint32_t nests;    /* that were called */
    double nests_work; /* what they are in steps of Python */
    void *awaited;     /* make_nest's: code that was not there yet */
    int nests_line; /* the last one of loops that wait for theirs, and of those behind them that were looked at */
    Trace *probes;  /* the trace that this one finds loops for: they are not run */
    void *run_context;
    const void
        *kernels; /* of run_context's: where compiled code may be; NULL: tier 0 */
    PyObject *
        twins; /* directory of rewritten functions: None, or NULL, if there is none; borrowed */
};

/* The name of what an operator or a builtin that stands for one is; NULL: it is none. */
const char *trace_operator_name(const TraceState *state, PyObject *callable);

/* -- Tracing one call -------------------------------------------------------------- */

/* Types and tables into `module`; NULL with an exception set on failure. */
TraceState *trace_state_new(PyObject *module);
void trace_state_free(TraceState *state);
/* From the Python side, at the first trace: callable -> kind of call (invoke.h), the types
** whose methods are effects, the function that rewrites functions, and the dict of code
** objects that it made. */
int trace_state_set_table(TraceState *state, PyObject *table, PyObject *sources,
                          PyObject *rewrite, PyObject *rewritten);
/* The exception that a nest raises where it leaves in the middle; borrowed. */
PyObject *trace_nest_failed(const TraceState *state);
/* Describes functions that nests call: python/pyasc/_nests.py. */
void trace_state_set_describe(TraceState *state, PyObject *describe);
/* callable of NumPy -> function of Python that stands for it: python/pyasc/_written/. */
void trace_state_set_written(TraceState *state, PyObject *written);
void trace_state_set_nest_type(TraceState *state, PyTypeObject *type);
void trace_state_set_function_type(TraceState *state, PyTypeObject *type);
bool trace_array_known(PyArrayObject *array);
/* dict: ufunc of NumPy -> ufunc of the recipe, for what is no elementwise node */
void trace_state_set_recipes(TraceState *state, PyObject *recipes);
/* What sums of float32 and float64 are where numerics is not strict: as numpy.add.reduce */
void trace_state_set_sum(TraceState *state, PyObject *reduce);

Trace *trace_new(TraceState *state, TraceRunFn run, TraceLoopFn run_loop,
                 void *run_context);
void trace_release(Trace *trace);
void trace_guards_clear(Trace *trace);
/* A tracer for an argument: an exact, native, aligned ndarray, a NumPy scalar or a
 *float.
 ** The value itself (a new reference) where no tracer is needed. */
PyObject *trace_argument(Trace *trace, PyObject *value);
/* Of two arguments' tracers the first one lies in the memory of the other: from now on it is a window there. */
void trace_argument_share(PyObject *argument, PyObject *whole);
/* A container among the arguments, and those in it. False: it holds too much. */
bool trace_outer_add(Trace *trace, PyObject *object);
/* The tuple, made for this call, stands in for one that was there. The list or dict is made in it. 0, or -1. */
int trace_stand_in_add(Trace *trace, PyObject *copy, PyObject *tuple);
int trace_local_add(Trace *trace, PyObject *object);
/* A named tuple among the arguments, with tracers where it holds arrays. New reference. */
PyObject *trace_named_argument(Trace *trace, PyObject *tuple);
/* Argument `number` is this list or dict: results may be it. 0, or -1 with an exception set. */
int trace_container_argument(Trace *trace, PyObject *container, uint32_t number);
/* An object among the arguments that counts by its identity. */
int trace_outside_add(Trace *trace, PyObject *object);
/* The effects that a plan had before it turned out not to hold: a list of tuples (callable,
** positional arguments, result, exception or None, of unknown code also the memory it could reach
** as it left it, arrays each with a copy, and what was read from outside before it). The trace
** answers them from there. */
int trace_resume(Trace *trace, PyObject *log);
/* What was read from outside before the first call of unknown code in the log from entry `at` on:
** a list of (kind, owner, name or None, value), borrowed, or NULL. */
PyObject *trace_log_reads(PyObject *log, Py_ssize_t at);
/* What such a list says: borrowed, or NULL. */
PyObject *trace_reads_find(PyObject *reads, TraceSourceKind kind, PyObject *owner,
                           PyObject *name);
/* True if the callable of an effect is the one in the log, or does the same. */
bool trace_is_same_effect(PyObject *had, PyObject *callable);
/* Memory that unknown code could reach as it left it: such a list of the log. 0, or -1. */
int trace_log_restore(PyObject *memory);
/* True if the bytes that the arrays reach from first to last element meet. */
bool trace_overlap(PyArrayObject *a, PyArrayObject *b);
/* True if two elements of the array may be in one place. */
bool trace_overlaps_itself(PyArrayObject *array);
/* Elements of `from` into an array of its shape, also where that is read-only. */
int trace_array_set(PyArrayObject *array, PyArrayObject *from);
/* Cells that unknown code has set hold again what they held before it, until the log is used up. */
int trace_cells_back(Trace *trace);
void trace_cells_on(Trace *trace);
/* A list of python/pyasc/_turns.py, which is filled in the place of another: nest_push.c. */
bool trace_is_grown(PyObject *object);
/* plain.c: true if the hook is called by the function that is traced, not by one that it calls; if all that was computed has
** NumPy's bits. */
bool trace_is_in_root(const Trace *trace);
bool trace_is_exact(const Trace *trace);
/* True for the callable of steps that do nothing: opaque.c. */
bool trace_is_touch(const TraceState *state, PyObject *callable);
/* What calls of the callable do with elements at places: jit/plan_places.c. */
typedef enum TracePlace {
    PLACE_none,
    PLACE_getitem,
    PLACE_setitem,
    PLACE_take,
    PLACE_along, /* take_along_axis */
    PLACE_put,
    PLACE_add_at,
    PLACE_subtract_at,
    PLACE_multiply_at,
    PLACE_maximum_at,
    PLACE_minimum_at,
} TracePlace;
TracePlace trace_place(const TraceState *state, PyObject *callable);
/* True of functions of NumPy that make an array of their arguments alone, the same each time: all that are
** recorded as calls, and get no array. */
bool trace_makes(PyObject *callable);
/* True if a call of it may be repeated with arrays of other extents, and plans look at what it gives. */
bool trace_is_of_any_size(const TraceState *state, PyObject *callable);
/* True of those that take no longer than a copy of what they make. */
bool trace_makes_at_once(PyObject *callable);
/* True for the callable of effects that store an attribute of an object. */
bool trace_is_store(const TraceState *state, PyObject *callable);
/* The function the call is of: what its cells hold is read and guarded. */
int trace_enter(Trace *trace, PyObject *function);
/* The globals that a function without hooks loads are read and guarded. */
int trace_enter_names(Trace *trace, PyObject *function, PyObject *names);
/* Runs `callable` under the trace. The result is real (no tracer in it) and, if the
 *trace is
 ** still live, trace->result is its template. */
PyObject *trace_capture(Trace *trace, PyObject *callable, PyObject *const *args,
                        size_t nargsf, PyObject *kwnames);
/* The exception that is set holds no tracers any more: leaving.c. */
void trace_raised_real(TraceState *state);
/* Instead of trace_capture, when the call is not made under the trace after all. */
void trace_abandon(Trace *trace);
void trace_end(Trace *trace, TraceBail bail, PyObject *detail);
/* Computes a value if it is pending. 0, or -1 with an exception set. */
int trace_force(Trace *trace, IrValue value);
/* The entry of a value, made if need be; NULL: out of memory. */
TraceValue *trace_value(Trace *trace, IrValue value);

/* -- Templates --------------------------------------------------------------------- */

typedef struct TraceRef {
    PyObject_HEAD
    IrValue value; /* 0: skip */
} TraceRef;

bool trace_ref_check(TraceState *state, PyObject *object);
/* A tuple, or a named one (no state but its elements); an empty one of the same type. */
bool trace_is_tuple(PyObject *object);
/* A named one whose length and iteration are a tuple's. */
bool trace_is_named_tuple(PyObject *object);
PyObject *trace_tuple_like(PyObject *like, Py_ssize_t n);
/* A copy of a template with its references mapped; skips stay. New reference. */
typedef uint32_t (*TraceMapFn)(void *context, IrValue value);
/* path.c: numbers and windows that follow from the extents of arguments. */
typedef enum TraceSizeOp {
    SIZE_extent, /* of parameter a, on axis b */
    SIZE_window, /* of the window that path a selects of an array whose extents are the tuple b = (axis, extents…) */
    SIZE_add,
    SIZE_subtract,
    SIZE_multiply,
    SIZE_floor_divide,
    SIZE_remainder,
    SIZE_minimum,
    SIZE_maximum,
} TraceSizeOp;

typedef struct TraceSizes {
    PyObject *const *params;
    uint32_t nparams;
} TraceSizes;

typedef struct TraceWindow {
    int ndim;
    npy_intp offset, shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
} TraceWindow;

/* A size in a template. */
typedef struct TraceSizeRef {
    PyObject_HEAD
    PyObject *size, *now; /* its expression, and an int */
    PyObject *then;       /* what it is about to be, or NULL */
} TraceSizeRef;

PyTypeObject *trace_size_type(const TraceState *state);
bool trace_sizes_visit(const TraceState *state, PyObject *template,
                       bool (*visit)(void *context, TraceSizeRef *ref), void *context);
bool trace_holds_sizes(const TraceState *state, PyObject *template);
/* True if what the trace compared sizes to has the same answers with these parameters. */
bool trace_sizes_hold(const Trace *trace, const TraceSizes *sizes);
/* The value of an int or an expression with these parameters; false: it has none of 64 bits. */
bool trace_size_value(const TraceSizes *sizes, PyObject *size, int64_t *value);
/* Gives the window another shape, of which an extent may be -1; false: it has not, or is no view of it. */
bool trace_reshape_apply(const npy_intp *shape, Py_ssize_t n, TraceWindow *window);
/* Applies a path to the array that the window is at first. False: it selects nothing, or is refused. */
bool trace_path_apply(const TraceSizes *sizes, PyObject *path, TraceWindow *window);
/* What the node `count` is with these parameters; 0: no number that it may be. */
npy_intp trace_extents_count(const IrGraph *g, IrNode node, const TraceSizes *sizes);
bool trace_extents_fill(PyArrayObject *array, npy_intp count);
/* Gives the value of a node `count` its number. */
bool trace_extents_set(Trace *trace, IrValue value, PyArray_Descr *descr,
                       npy_intp count);
PyObject *trace_template_map(TraceState *state, PyObject *template, TraceMapFn map,
                             void *context);
