/* internal.h - shared inside trace/: the tracer type and the recorder's functions. */
#pragma once

#include "trace/trace.h"

enum {
    TRACE_OPS_MAX = 20000, /* a longer trace goes on in NumPy */
    TRACE_OP_SCALAR =
        4, /* an operation on numbers counts for so many: Python is as fast */
    TRACE_OPS_LONG =
        2000, /* of that many, and turns, loops are left where the function divides */
    TRACE_TURNS_LONG = 100,
    TRACE_HOOKS_MAX = 40000, /* calls of hooks; beyond, of so many has to come */
    TRACE_OP_HOOKS = 8,      /* an operation */
    TRACE_PENDING_MAX = 20,  /* elementwise nodes computed as one group while tracing */
    TRACE_CHAIN_MAX = 60,    /* pending values that stand one on the other */
    TRACE_OPERANDS_MAX = 64, /* of a group */
};

/* A storage is a variable: some memory, or a pending value, with its current version. */
typedef struct TraceStorage {
    struct TraceStorage *prev, *next;
    uint32_t refs;   /* tracers that look at it */
    IrValue value;   /* current version, held */
    uint32_t escape; /* 1 + its place in trace->escapes, or 0 */
    int32_t param;   /* number of the parameter whose memory it is, or -1 */
    bool owned;      /* its memory is seen from outside: an object or a window exists */
    uint64_t serial; /* in order of making */
} TraceStorage;

typedef enum TracerKind {
    TRACER_array,
    TRACER_scalar,  /* a NumPy scalar */
    TRACER_float,   /* a Python float */
    TRACER_complex, /* a Python complex */
    TRACER_int,     /* a Python int that is a run-time input: see ints.c */
    TRACER_index, /* a Python int that is affine in the turns of loops: see loop.c; or follows from extents: size.c */
} TracerKind;

typedef struct Tracer {
    PyObject_HEAD
    Trace *trace;
    TracerKind kind;
    bool whole;            /* the whole storage, not a window on it */
    bool unaligned;        /* its memory is */
    TraceStorage *storage; /* arrays */
    IrValue value;         /* scalars: the value; windows: the cached view, held */
    IrValue given;         /* windows: what an effect got, or 0 */
    IrValue
        given_as; /* an argument that is a window on another one: its parameter, or 0 */
    IrValue view_of; /* windows: the version `value` looks at */
    PyArray_Descr *descr;
    int ndim;
    npy_intp *shape, *strides; /* arrays; one block of memory */
    npy_intp offset;           /* windows: bytes from the storage's first element */
    PyObject *path;            /* windows: as TraceValue's; NULL: not known */
    PyObject *size; /* indices: how they follow from extents, or NULL: size.c */
    npy_intp steps[TRACE_DEPTH_MAX]; /* windows: bytes, indices: how much, from turn to
                                        turn */
    npy_intp low, high; /* indices: in the turns to come; numbers: what was asked */
    bool ranged;        /* it was */
    IrValue moved; /* windows: an index, by which ints among the arguments move it; or 0 */
    IrValue of; /* ints: factor * … + shift of this parameter; or 0 */
    npy_intp factor, shift;
    PyObject *object; /* the real array or scalar, NULL while pending */
    PyObject
        *native; /* of other byte order or alignment: a tracer of a copy that is not */
    IrValue native_of; /* the version it is a copy of */
    struct Tracer *picked_from,
        *picked_by;    /* x and mask where it is x[mask]: masked.c; or NULL */
    IrValue picked[3]; /* x, the mask and itself, as they were then */
    PyObject *weakrefs;
} Tracer;

/* A method of a tracer, bound. */
typedef struct TracerMethod {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Tracer *tracer;
    PyObject *name;
} TracerMethod;

typedef enum OperatorId {
#define OPERATOR(name, ufunc, arity) OPERATOR_##name,
#include "trace/operators.def"
#undef OPERATOR
    OPERATOR_COUNT
} OperatorId;

typedef struct ResolvedLoop ResolvedLoop;

struct TraceState {
    PyTypeObject *tracer_type, *method_type, *ref_type, *size_type, *loop_type,
        *items_type, *flat_type;
    PyObject *skip;                        /* the TraceRef for "known already" */
    PyObject *operators[OPERATOR_COUNT];   /* functions of the operator module */
    PyObject *ufuncs[OPERATOR_COUNT];      /* the ufunc behind each, or NULL */
    PyObject *getitem, *setitem, *delitem; /* of the operator module */
    PyObject *len, *isinstance, *builtin, *getattr, *repr, *hash, *format, *index, *contains, *pow, *divmod,
        *round;                              /* builtins, operators */
    PyObject *iter, *setattr, *store_global; /* callables of stores: effect.c */
    PyObject *roll, *put, *along;            /* of NumPy: the last is take_along_axis */
    PyObject *direct;   /* functions of NumPy -> what they come down to: direct.c */
    PyObject *composed; /* callable -> number of its row of composed.def */
    PyObject *
        written; /* callable -> function in Python that does the same, or NULL: written.c */
    PyObject *add_reduce;          /* in there: the row of sums */
    PyObject *call, *touch;        /* of the operator module, and nothing: opaque.c */
    PyObject *sources;             /* types whose methods are effects */
    PyObject *table;               /* callable -> kind, NULL before first use */
    PyObject *rewrite;             /* Python function -> rewritten one or None */
    PyObject *rewritten;           /* id of code made by the rewriter -> code */
    PyTypeObject *function_type;   /* of jitted functions */
    PyTypeObject *nest_type;       /* of compiled loops */
    PyObject *nest_failed;         /* exception by which these leave in the middle */
    PyObject *fits;                /* what asks if an int has 64 bits */
    PyObject *within;              /* and if one is in a range */
    PyObject *describe;            /* what nests call for functions, or NULL */
    PyObject *unbound;             /* stands for a name that is not bound */
    PyTypeObject *dispatcher_type; /* of NumPy's functions */
    PyTypeObject *errstate_type;
    PyObject *finfo, *iinfo, *broadcast; /* types of NumPy */
    PyObject *default_rng;               /* of numpy.random */
    PyObject *recipes;   /* ufunc of NumPy -> that of our own, or NULL */
    PyObject *sum;       /* as numpy.add.reduce, with sums of our own */
    PyObject *fixed;     /* name -> what is known of its calls: fixed.def */
    PyObject *trial_end; /* exception that ends a trial */
    PyObject *init_name, *getattr_name, *getattribute_name, *getitem_name, *call_name,
        *slots_name;     /* "__init__", … */
    ResolvedLoop *loops; /* cache of ufunc resolutions */
    uint32_t nloops, loops_room;
};

/* The trace this thread is in, or NULL. */
Trace *trace_current(void);
/* Code that is called now is none of the trace's, which is returned. */
Trace *trace_suspend(void);
void trace_go_on(Trace *trace);

/* For what iterators give: NULL without an exception would be their end. Where a graph has none
** memory ran out. */
static inline PyObject *
trace_item_made(PyObject *item)
{
    if (!item && !PyErr_Occurred())
        PyErr_NoMemory();
    return item;
}

static inline bool
tracer_check(const TraceState *state, PyObject *object)
{
    return Py_TYPE(object) == state->tracer_type;
}

/* True of a window whose place changes from turn to turn of a loop. */
static inline bool
tracer_turns(const Tracer *tracer)
{
    for (int d = 0; d < TRACE_DEPTH_MAX; d++) {
        if (tracer->steps[d] && tracer->kind == TRACER_array)
            return true;
    }
    return false;
}

/* True of a window whose place is another one in the next turn of a loop, or in the next call. */
static inline bool
tracer_moves(const Tracer *tracer)
{
    return tracer->moved || tracer_turns(tracer);
}

bool
trace_descr_plain(PyArray_Descr *descr); /* native, and of a dtype the IR computes */

/* True for arrays and scalars that loops work on as they are. */
static inline bool
tracer_plain(const Tracer *tracer)
{
    return !tracer->unaligned && trace_descr_plain(tracer->descr);
}

/* The exception that is set comes of shapes, dtypes and constants alone: code may catch it. */
void trace_raised_by_shapes(Trace *trace);

/* -- capture.c --------------------------------------------------------------------- */
void trace_value_hold(Trace *trace, IrValue value);
void trace_value_drop(Trace *trace, IrValue value);
/* One more operation; false: they were too many, the trace has ended. */
bool trace_count(Trace *trace, bool scalar);
TraceSite *trace_site_add(Trace *trace, TraceSiteKind kind);
/* A generator of random numbers that the value is, an argument or made by the call: itself. */
PyObject *trace_generator(Trace *trace, IrValue value, PyObject *object, bool given);
int trace_param_add(Trace *trace, IrValue value, PyObject *object);
bool trace_guard_add(Trace *trace, TraceSourceKind kind, PyObject *owner,
                     PyObject *name, PyObject *expected);
IrType trace_ir_type(PyArray_Descr *descr, int ndim, const npy_intp *shape,
                     IrDim *dims);
IrType trace_array_type(PyArrayObject *array, IrDim *dims);
PyObject *trace_ref_new(TraceState *state, IrValue value);

/* -- storage.c --------------------------------------------------------------------- */
Tracer *tracer_new_pending(Trace *trace, IrValue value, PyArray_Descr *descr, int ndim,
                           const npy_intp *shape, const npy_intp *strides);
/* The value of a new elementwise node becomes pending. False: an exception is set. */
bool trace_value_pend(Trace *trace, IrValue value, PyArray_Descr *descr, int ndim,
                      const npy_intp *strides);
/* The value of a new view node gets its array: a window on `of`, which is in memory. 0: failed. */
IrValue trace_value_window(Trace *trace, IrValue value, IrValue of, int ndim,
                           const npy_intp *shape, const npy_intp *strides,
                           npy_intp offset);
/* A whole storage in memory; `value` is the node that made it. */
Tracer *tracer_new_array(Trace *trace, IrValue value, PyArrayObject *array, int param);
/* A tracer of the whole storage, which is in memory. New reference. */
Tracer *tracer_of_storage(Trace *trace, TraceStorage *storage);
/* A window on `base`'s storage: `array` is a real view of its memory. */
Tracer *tracer_new_view(Trace *trace, TraceStorage *storage, PyArrayObject *array,
                        npy_intp offset);
/* The tracer becomes one of a view of its array, without gaps: 1, or -1 with an exception set. */
int tracer_show(Tracer *tracer, PyArrayObject *view);
/* The real array has another shape or dtype now. 0, or -1 with an exception set. */
int tracer_follow(Tracer *tracer);
Tracer *tracer_new_scalar(Trace *trace, IrValue value, PyObject *scalar);
Tracer *tracer_new_index(Trace *trace, PyObject *number);
void tracer_release(Tracer *tracer);
/* A value that was given up (nobody held it) can be computed again. False: it cannot. */
bool trace_value_revive(Trace *trace, IrValue value);
bool trace_value_moves(Trace *trace, IrValue value, const npy_intp *steps);
IrValue tracer_value(Tracer *tracer);    /* 0 with an exception set on failure */
PyObject *tracer_object(Tracer *tracer); /* borrowed; computes what is pending */
int trace_force_all(Trace *trace);
int trace_chain_set(Trace *trace, IrValue value);
/* The memory of the storage is about to change: pending readers are computed, memory
 *shared
 ** with another storage is copied. -1: exception set. */
int trace_write_begin(Tracer *tracer);
/* It has changed: `version` is what the storage holds now. */
void trace_write_end(Tracer *tracer, IrValue version);
void trace_storage_written(Trace *trace, TraceStorage *storage, IrValue version);
/* A storage no one looks into has other memory now. */
void trace_storage_rebound(Trace *trace, TraceStorage *storage, IrValue value,
                           PyArrayObject *array);
/* A pending storage gets another value: nothing is written. */
void tracer_rebind(Tracer *tracer, IrValue value);
void trace_layout(int ndim, const npy_intp *shape, int nops,
                  const npy_intp *const *strides, npy_intp itemsize, npy_intp *out);
void trace_layout_copy(int ndim, const npy_intp *shape, const npy_intp *strides,
                       npy_intp from_size, npy_intp to_size, npy_intp *out);

/* -- elementwise.c ----------------------------------------------------------------- */
/* Each returns a new reference, NULL with an exception set, or Py_NotImplemented (new
** reference) where the general way has to be gone. `out`: the array written, or NULL.
*/
PyObject *trace_ufunc(Trace *trace, PyObject *ufunc, PyObject *const *operands, int n,
                      Tracer *out);
PyObject *trace_power(Trace *trace, PyObject *base, PyObject *exponent, Tracer *out);
/* 1: a power of integers with this exponent raises; 0: it does not; -1: exception. */
int trace_power_refuses(Trace *trace, PyObject *exponent);
/* pairs.c: a ufunc of two results; a tuple. */
PyObject *trace_pair(Trace *trace, PyObject *ufunc, PyObject *const *operands);
PyObject *trace_divmod(Trace *trace, PyObject *const *operands, bool named);
/* A ufunc that is called by its name. */
PyObject *trace_function(Trace *trace, PyObject *ufunc, PyObject *const *operands,
                         int n, PyObject *out);
/* reduce.c: the arguments of a reduction whose axis (argument `at`, or a keyword) is an int of the trace, its value
** asked for and in its place: to be freed, and *number to be dropped. NULL, maybe with an exception: there is
** nothing to ask. */
PyObject **trace_axis_asked(Trace *trace, const char *name, PyObject *const *args,
                            size_t nargs, PyObject *kwnames, size_t at,
                            PyObject **number);
/* True of a jitted function whose elementary functions are others than this trace's, or that shows warnings where the
** trace does not. */
bool trace_other_options(const Trace *trace, PyObject *function);
/* The ufunc that gives the values of what is no elementwise node: NumPy's, or our own; borrowed. */
PyObject *trace_recipe(Trace *trace, PyObject *ufunc, PyObject *const *operands, int n);
PyObject *trace_select(Trace *trace, PyObject *const *operands);
/* x.sum() and the like of one element without axes. */
PyObject *trace_zero_dim_reduce(Trace *trace, const char *name, PyObject *const *args,
                                size_t nargs, PyObject *kwnames);
/* numpy.where of operands without axes, as values of one dtype. */
PyObject *trace_zero_dim_select(Trace *trace, PyObject *const *objects,
                                const IrValue *values, int type);
/* masked.c: the mask with axes for all of x. New reference. */
PyObject *trace_mask_over(PyObject *mask, const Tracer *x);
/* picked.c: True of x[mask] where nothing has changed since. */
bool trace_is_picked(const Tracer *got);
/* The method of x where the mask is true: who calls nothing else of it does not see how many elements there are.
** Py_NotImplemented: it is another one's. */
PyObject *trace_reduce_picked(Tracer *got, const char *name,
                              PyObject *axis); /* or NULL */
/* True of the arguments of a method that gets nothing, or an axis. */
bool trace_is_axis_alone(size_t nargs, PyObject *kwnames);
/* np.sum(x[mask]), of all arguments; other calls may see how many elements there are. */
PyObject *trace_call_picked(Trace *trace, PyObject *callable, PyObject *const *args,
                            size_t nargs, PyObject *kwnames);
/* Something else is done with what may be a tracer of x[mask]. */
void trace_pick_seen(const Trace *trace, PyObject *object);
/* masked.c: out[key] = value where the key is a mask and the value a number; 1, 0: another way, or -1. */
int trace_store_masked(Trace *trace, Tracer *out, PyObject *key, PyObject *value);
/* `result`, which indexing x by the key gave, may be stored by the same mask. */
void trace_note_picked(Tracer *x, PyObject *key, PyObject *result);
PyObject *trace_clip(Trace *trace, PyObject *const *operands); /* x, low, high */
/* composing.c: a call that is ops of the IR; Py_NotImplemented (new reference): it is none. */
PyObject *trace_composed(Trace *trace, PyObject *callable, PyObject *const *args,
                         size_t nargs, PyObject *kwnames);
PyObject *trace_composed_method(Tracer *tracer, PyObject *name, PyObject *const *args,
                                size_t nargs, PyObject *kwnames);
int trace_composed_load(TraceState *state, PyObject *numpy);
/* written.c: the same of functions in Python. */
PyObject *trace_written(Trace *trace, PyObject *callable, PyObject *const *args,
                        size_t nargs, PyObject *kwnames);
PyObject *trace_written_ufunc(Trace *trace, PyObject *ufunc, PyObject *const *args,
                              size_t nargs, PyObject *kwnames);
PyObject *trace_astype(Trace *trace, Tracer *tracer, PyArray_Descr *descr);
/* lists.c: what numpy.array(list, descr) gives, descr NULL for their own. Py_NotImplemented (new reference):
** the list holds something else than numbers and arrays. */
PyObject *trace_list_array(Trace *trace, PyObject *list, PyArray_Descr *descr);
/* scalars.c: an operator on scalars, one of them of NumPy's. */
PyObject *trace_scalars(Trace *trace, PyObject *const *operands, int n, OperatorId id);
/* The same for a ufunc that is called by its name. */
PyObject *trace_scalars_by_name(Trace *trace, PyObject *ufunc,
                                PyObject *const *operands, int n);
/* A tracer or number as a value of dtype `type`; 0 where its value does not fit. */
IrValue trace_operand(Trace *trace, PyObject *object, int type);
void trace_loops_free(TraceState *state);

/* -- places.c ---------------------------------------------------------------------- */
/* A key with arrays of integers in it as arrays of int64. New reference. */
PyObject *trace_key_indices(Trace *trace, PyObject *key);
/* An array that is stored in another's elements, of their dtype. New reference. */
PyObject *trace_value_as_stored(Trace *trace, const Tracer *out, PyObject *value);

/* -- flat.c ------------------------------------------------------------------------ */
int trace_flat_load(TraceState *state);
PyObject *trace_flat_new(Tracer *tracer); /* x.flat */
int trace_flat_store(Tracer *tracer,
                     PyObject *value); /* x.flat = value: 1, 0: it is NumPy's, or -1 */
/* NumPy's iterator in place of the object, which ends the trace; borrowed. NULL: the object is none, or an
** exception is set. */
PyObject *trace_flat_real(const TraceState *state, PyObject *object);
/* What a builtin gets for x.flat. New reference. */
PyObject *trace_flat_argument(Trace *trace, PyObject *callable, PyObject *argument);

/* -- call.c ------------------------------------------------------------------------ */
/* Calls `callable` with real values and records a pure call; `mutates` is a bit mask of
** arguments whose memory it writes. */
PyObject *trace_call(Trace *trace, PyObject *callable, PyObject *const *args,
                     size_t nargs, PyObject *kwnames, uint32_t mutates);
/* The real value: tracers replaced in exact tuples, lists, dicts, slices (copies). */
PyObject *trace_real(TraceState *state, PyObject *object);
/* The same, lists and dicts changed in place. */
int trace_real_inside(TraceState *state, PyObject *container);
PyObject *trace_fixed_names(void);
PyObject *trace_result_template(Trace *trace, PyObject *result, PyObject **real);
/* True for a named tuple that came of a call in this trace, plain but for its names. */
bool trace_names_tracers(const TraceState *state, PyObject *object);

/* A call as the user's code makes it: by kind of the callee. */
PyObject *trace_invoke(Trace *trace, PyObject *callable, PyObject *args,
                       PyObject *kwargs);
PyObject *trace_invoke_ufunc(Trace *trace, PyObject *ufunc, PyObject *method,
                             PyObject *args, Py_ssize_t skip, PyObject *kwargs);

/* -- hooks.c ----------------------------------------------------------------------- */
int trace_hooks_add(TraceState *state, PyObject *module);
/* Wraps a value loaded from outside: known arrays become their tracers; an unknown one
 *ends
 ** the trace. New reference. */
PyObject *trace_wrap(Trace *trace, PyObject *object);
/* As trace_wrap, for what was read from a container: arrays in one from outside are inputs. */
PyObject *trace_wrap_item(Trace *trace, PyObject *container, PyObject *key,
                          PyObject *item);
PyObject *trace_look_up(Trace *trace, PyObject *table, PyObject *object);
bool trace_local_find(Trace *trace, PyObject *object);
/* True for containers from outside of the call. */
bool trace_outer_find(Trace *trace, PyObject *object);

/* What stands behind what a loop goes over: borrowed, or NULL. */
PyObject *trace_items_real(const TraceState *state, PyObject *object);
/* Containers of known arrays as containers of their tracers. New reference. */
PyObject *trace_iterable(Trace *trace, PyObject *object);
/* As trace_call, for callables with an `out=` that they write. */
PyObject *trace_call_out(Trace *trace, PyObject *callable, PyObject *const *args,
                         size_t nargs, PyObject *kwnames, uint32_t mutates);

/* Its memory is outside from now on: what is written to it counts. 0, or -1: exception. */
int trace_escape(Trace *trace, Tracer *tracer);

/* -- effect.c ---------------------------------------------------------------------- */
/* A call that has to happen at each call of the function, once and in order. `mutates` as in
** trace_call; `objects`: others than numbers and arrays may take part, as they are. */
PyObject *trace_effect(Trace *trace, PyObject *callable, PyObject *const *args,
                       size_t nargs, PyObject *kwnames, uint32_t mutates, bool objects);
/* What an effect gave, if this call has had it already: new reference, NULL with an exception. */
PyObject *trace_log_answer(Trace *trace, PyObject *callable, PyObject *const *args,
                           size_t nargs);
/* A call of code that the recorder cannot see into, as an effect that may do anything:
** opaque.c. Py_NotImplemented (new reference): it cannot be one, nothing has happened. */
int trace_opaque_load(TraceState *state);
int trace_nest_load(TraceState *state);
/* Steals and returns the tracer of an array that was captured after such a call. */
PyObject *trace_touched(Trace *trace, PyObject *tracer);
PyObject *trace_opaque(Trace *trace, PyObject *callable, PyObject *const *args,
                       size_t nargs, PyObject *kwnames);
/* True for objects from outside that count by their identity. */
bool trace_outside_find(Trace *trace, PyObject *object);
/* The object in a template: itself, or a weak reference to an instance. New reference. */
PyObject *trace_outside_ref(Trace *trace, PyObject *object);
/* The value of a generator among the arguments, or 0. */
IrValue trace_input_find(Trace *trace, PyObject *object);
/* Changes a builtin container from outside that is known by its identity. */
bool trace_was_mutated(Trace *trace, PyObject *container);
bool trace_may_mutate(Trace *trace, PyObject *container);
/* True for objects whose methods are effects, and nothing but effects. */
bool trace_is_source(const Trace *trace, PyObject *object);
/* An attribute of an object from outside. 1: stored; 0: it may run code; -1: exception. */
int trace_store_outside(Trace *trace, PyObject *object, PyObject *name,
                        PyObject *value);
/* A global name. 0, or -1: exception. */
/* An array over another one, of a dict that is an argument, or from outside: 1; 0: that is not known to be all. */
int trace_store_entry(Trace *trace, PyObject *dict, PyObject *key, PyObject *value);
bool trace_holds_item(Trace *trace, PyObject *container, PyObject *key,
                      PyObject *array);
bool trace_guard_itself(
    Trace *trace,
    PyObject *container); /* its identity counts; false: no guard has it */
bool trace_is_container_argument(const Trace *trace, PyObject *container);
int trace_store_global(Trace *trace, PyObject *globals, PyObject *name,
                       PyObject *value);
int trace_stores_load(TraceState *state);
/* What this call stored in the attribute: borrowed, or NULL. */
PyObject *trace_stored_find(Trace *trace, PyObject *object, PyObject *name);

/* -- ints.c ------------------------------------------------------------------------ */
/* True for callables to which run-time ints are passed as they are. */
bool trace_takes_ints(const TraceState *state, PyObject *callable);
/* The int itself, which has to be the same next time. New reference. */
PyObject *trace_int_ask(Tracer *tracer);
/* The int as a scalar of a NumPy type; 0: it does not fit (no exception). */
IrValue trace_int_as(Trace *trace, Tracer *tracer, int type);

/* -- reduce.c --------------------------------------------------------------------- */
/* An axis counted from the front; false: it is no int, or out of range. */
bool trace_axis(PyObject *object, int ndim, int *axis);
/* True if the elements lie one behind the other in C order, as NumPy flattens them. */
bool trace_lies_in_order(const Tracer *x);
/* True if a cast of the array that a reduction does not take along is no great matter: it has few
** elements, or lies so that reductions do. */
bool trace_is_cheap_to_cast(const Tracer *x);
/* The node of a call that is a plain reduction of `operand`; 0: it is a call. */
IrNode trace_reduction_node(Trace *trace, PyObject *callable, PyObject *args,
                            PyObject *kwargs, Tracer *operand, const IrType *result);

/* -- options.c -------------------------------------------------------------------- */
/* A reduction or a scan called by name on args[0], with a dtype, a mask or a number to begin with;
** Py_NotImplemented: it says no more than an axis, or is for NumPy. */
PyObject *trace_options(Trace *trace, const char *name, PyObject *const *args,
                        size_t nargs, PyObject *kwnames);
/* several.c: ptp, nansum and their like. */
PyObject *trace_several(Trace *trace, PyObject *callable, const char *name,
                        PyObject *const *args, size_t nargs, PyObject *kwnames);
/* A call of a ufunc's method, such as np.add.reduce. */
PyObject *trace_call_ufunc_method(Trace *trace, PyObject *method, PyObject *const *args,
                                  size_t nargs, PyObject *kwnames);

/* -- roll.c ------------------------------------------------------------------------ */
/* The node of a call of numpy.roll by known places; 0: it is a call. */
IrNode trace_roll_node(Trace *trace, PyObject *callable, PyObject *args,
                       PyObject *kwargs, Tracer *operand, const IrType *result);

/* -- unroll.c --------------------------------------------------------------------- */
/* A reduction called by name on args[0], where it is of few elements; else Py_NotImplemented. */
PyObject *trace_unroll(Trace *trace, const char *name, PyObject *const *args,
                       size_t nargs, PyObject *kwnames);

/* -- extent.c ---------------------------------------------------------------------- */
/* The product of the extents of these axes of an array, less `less`, which is positive, as a scalar of this
** dtype that is another for other extents; NULL without an exception: they are none of the arguments'. */
Tracer *trace_extents_number(const Tracer *x, const bool *axes, npy_intp less,
                             npy_intp most, int type);

/* -- moments.c -------------------------------------------------------------------- */
/* A function of NumPy's by its name: trace_unroll, else trace_moment. */
PyObject *trace_reduced(Trace *trace, PyObject *callable, PyObject *const *args,
                        size_t nargs, PyObject *kwnames);
/* mean, var or std of args[0]; Py_NotImplemented: for NumPy. */
PyObject *trace_moment(Trace *trace, const char *name, PyObject *const *args,
                       size_t nargs, PyObject *kwnames);

/* -- spelled.c --------------------------------------------------------------------- */
/* A reduction's arguments behind the array: the axis alone by position, and what is not the default by
** name. Memory of the caller's, names for it; NULL: they are so, or it is not known. No exception. */
PyObject **trace_spelled(const char *name, PyObject *const *args, size_t nargs,
                         PyObject *kwnames, PyObject **names);

/* -- runs.c, path.c ------------------------------------------------------------- */
/* True if storing the value in a window on `to` may read what it has written; moves: the window does. */
bool trace_runs_into(Trace *trace, PyArrayObject *window, const Tracer *to,
                     PyObject *value, bool moves);

/* The path of the window that a key (a tuple of parts) selects; NULL without an exception: it is none. */
PyObject *trace_path_add(const Tracer *on, PyObject *key);
/* What was recorded depends on this extent: plans for others have it, too. */
void trace_extent_stays(Trace *trace, npy_intp extent);
/* What is known of the window that the value shows, or that is written for it. */
void trace_path_set(Trace *trace, IrValue value, PyObject *path); /* or NULL */

/* -- size.c ------------------------------------------------------------------------ */
bool trace_is_size(const TraceState *state, PyObject *object);
/* An extent of an array as the program gets it. New reference. */
PyObject *trace_extent(const Tracer *tracer, int axis);
/* The number itself; the plan is for these extents. Borrowed. */
PyObject *trace_size_ask(Tracer *size);
/* Operators on sizes and ints; Py_NotImplemented (new reference): of something else. */
PyObject *trace_size_binary(Trace *trace, PyObject *a, PyObject *b, OperatorId id);
PyObject *trace_size_negative(Trace *trace, Tracer *a);
int trace_size_truth(Tracer *size);
/* The size as a run-time int, or asked for. Borrowed. */
PyObject *trace_size_as_int(Tracer *size);
/* A key with the sizes in it as they are now (new reference); *said: with their expressions, or NULL: there are none. */
PyObject *trace_key_sized(Trace *trace, PyObject *key, PyObject **said);
PyObject *trace_size_ref(TraceState *state, PyObject *size, PyObject *now);
int trace_size_type_add(TraceState *state, PyObject *module);

/* -- loop.c ------------------------------------------------------------------------ */
/* A loop over a range whose body may become a region; also the iterator that feeds it. */
typedef struct TraceLoop TraceLoop;
int trace_loop_type_add(TraceState *state, PyObject *module);
/* `trace` may be NULL: then it only iterates. */
PyObject *trace_loop_new(TraceState *state, Trace *trace, PyObject *iterable);
/* Sum, difference or product of affine ints; Py_NotImplemented (new reference) where
 *the
 ** result is not affine: the operands are then asked for. */
PyObject *trace_index_binary(Trace *trace, PyObject *a, PyObject *b, OperatorId id);
/* An int that changes by `steps`; a plain one where they are 0. */
PyObject *trace_index_new(Trace *trace, long long value, const npy_intp *steps,
                          npy_intp low, npy_intp high);
/* The int itself; what depends on it is no region. Borrowed. */
PyObject *trace_index_ask(Tracer *index);
/* -- moved.c ----------------------------------------------------------------------- */
/* What Python's operator gave for numbers (b: NULL for unary ones): is it linear in an int among the arguments? */
void trace_int_note(const TraceState *state, OperatorId id, PyObject *a, PyObject *b,
                    PyObject *result);
/* A key with ints among the arguments in it: the key of now (new reference), and what moves its window, or 0 where
** they have to be asked for. */
PyObject *trace_key_moved(Tracer *tracer, PyObject *key, bool stored, IrValue *moved);
int trace_moved_load(TraceState *state);
int trace_questions_load(TraceState *state);
bool trace_int_follows(const Tracer *tracer); /* linearly, from an argument */
PyObject *trace_key_now(const TraceState *state,
                        PyObject *key); /* without asking; new reference */
IrValue trace_index_sum(Trace *trace, IrValue x, IrValue y); /* either may be 0 */
/* What the index is in this call; false: it is a loop's. */
bool trace_index_now(const Trace *trace, IrValue index, npy_intp *now);

/* A key with affine ints in it: the real key (new reference), and in `steps` how the
 *window
 ** moves. *affine is false where there is nothing affine in it, or it was asked for. */
PyObject *trace_key_affine(Tracer *tracer, PyObject *key, npy_intp *steps,
                           bool *affine);
/* A number that is the same for windows of this turn that move alike, and for no
** others. */
int64_t trace_turn_serial(Trace *trace, const npy_intp *steps);
/* The first node of this turn of the loop that is watched; 0: none is. */
IrNode trace_turn_first(const Trace *trace);

/* -- region.c ---------------------------------------------------------------------- */
/* What a finished turn carries: by name or in place. */
typedef struct TraceCarried {
    IrValue start, end;
    TraceStorage *storage; /* in place; NULL: by value */
} TraceCarried;

/* True if a value made before node `first` was computed from what is carried, as it was
** at the start of the turn. Equal expressions are one node: the turn may compute it again. */
bool trace_depends(const Trace *trace, IrValue value, IrNode first,
                   const TraceCarried *carried, uint32_t n);
/* The nodes from `first` on as the body of a `for` node that makes `count` more turns
 *after
 ** this one. 0: it cannot be one (no exception), or an exception is set. */
IrNode trace_region_build(Trace *trace, IrNode first, uint64_t serial, int depth,
                          npy_intp count, const TraceCarried *carried,
                          uint32_t ncarried);

/* -- method.c ---------------------------------------------------------------------- */
bool tracer_asks(const char *name);
PyObject *tracer_method_new(Tracer *tracer, PyObject *name);
void tracer_method_dealloc(PyObject *self);
PyObject *tracer_method_getattro(PyObject *self, PyObject *name);
TraceState *tracer_state_of(PyObject *self);

/* -- tracer.c, operators.c --------------------------------------------------------- */
int tracer_types_add(TraceState *state, PyObject *module);
extern const PyType_Slot tracer_number_slots[]; /* ends with slot 0 */
PyObject *tracer_binary(PyObject *a, PyObject *b, OperatorId id);
PyObject *tracer_compare(PyObject *a, PyObject *b, int compare);
PyObject *tracer_subscript(PyObject *self, PyObject *key);
int tracer_ass_subscript(PyObject *self, PyObject *key, PyObject *value);
