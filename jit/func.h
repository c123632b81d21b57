/* func.h - shared by the files of the callable type: func.c, func_type.c. */
#pragma once

#include "jit/aliases.h"
#include "jit/jit.h"
#include "jit/source.h"

enum {
    ENTRIES_MAX = 64, /* signatures kept */
    PLANS_TRIED = 8,  /* paths kept per signature, */
    PLANS_MAX = 32,   /* where the numbers of a call say which ones to try */
    TRACES_MAX = 32,  /* traces of one signature, before its calls run plain */
    PARAMS_MAX = 128, /* arrays and numbers of a call */
    WASTED_MAX = 24,  /* traces that were never called again, before new ones stop */
    PATH_LONG = 1000, /* hooks and operations that make a path as good as two, */
    PATH_WEIGHT_MAX = 12, /* up to so many */
    WASTE_MAX = 10,       /* of these, what one trace may be, */
    WASTE_LONG = 4000,    /* by its length: calls of hooks, and twice the operations */
    PATHS_MANY = 4,       /* paths, then it is divided, where few come again */
    PATHS_LONG = 2000,    /* operations of a path that counts for all of these */
    NEW_MANY =
        4, /* signatures in a row that differ in extents: their plans are given others */
    TRIES_MAX = 4,         /* signatures whose plans are tried for a new one */
    REPLACED_MAX = 64,     /* signatures that are remembered for coming back */
    VAIN_MANY = 16,        /* then plans are not made for other extents any more */
    MISFITS_MANY = 16,     /* plans run in vain: a call gave arrays of other extents */
    DOUBTFUL_STEPS = 24,   /* a plan of so many may be slower than Python, */
    DOUBTFUL_ELEMENTS = 4, /* if they have no more elements, on average */
    WORTH_ARRAYS = 2,      /* operations on arrays that make a call worth it */
    AGAIN_MANY =
        64, /* calls in a row with one first argument, where no trace is made any more */
    HITS_PAY = 16,       /* calls that a trace has to have before its entry leaves */
    WORTH_STEPS = 20,    /* the same of loops as a whole, in steps of Python */
    PLAIN_SEEN = 4,      /* plain calls whose time is compared with that of traces, */
    PLAIN_TIMES = 3,     /* which have to take so much longer to be given up, */
    PATIENCE_MORE = 4,   /* and are so many times more from then on, */
    PATIENCE_MAX = 1024, /* at most */
    MISSED_MAX = 256,    /* calls of other kinds in a row after that: all run plain */
};

/* Plans that were tried and did not hold, and what that costs: guess.c. */
typedef struct JitGuesses {
    uint32_t calls, wrong; /* of the calls that are looked at */
    uint32_t vain, rests;  /* times in a row that plain calls were slower, or faster */
    bool timing;
    uint32_t nplans, nplain; /* calls that were timed, and what they took: */
    int64_t plans_ns, plain_ns;
    uint32_t rest; /* calls that still run plain */
} JitGuesses;

typedef struct Entry {
    JitSig sig;
    uint32_t refs;  /* the list of entries, calls that run it, who looks at it */
    uint32_t ncall; /* arguments: positional, then keywords */
    PyObject *kwnames;
    uint32_t nparams;          /* among the arguments */
    JitPlan *plans[PLANS_MAX]; /* most recently used first */
    uint32_t nplans, ntraces;
    uint32_t waste; /* what its first trace is in the function's `wasted` */
    bool plain;
    bool shares_plain; /* so are calls whose arguments lie in each other */
    RtCode *awaited;   /* of a loop: with it the signature is traced again; or NULL */
    bool trial;        /* its next trace is one; set while the trial is under way */
    TraceBail bail;
    PyObject *detail;
    const char *loop_reason; /* why a loop was not compiled as a whole, or NULL */
    int loop_line;
    uint32_t raised; /* traces that ended in an exception */
    uint64_t hits;
    uint32_t length; /* operations of its last trace */
    bool whole;      /* traced to the end, long loops, too: nothing to divide */
    bool worth;      /* its plans do more than Python in the time of a call */
    bool nests;      /* they have loops that are compiled as a whole */
    JitGuesses guesses;
} Entry;

typedef struct JitFunc {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    JitState *state;
    PyObject *wrapped, *dict, *weakrefs, *options;
    PyObject *shapes; /* what shape_infer promised, or NULL */
    int log_level;    /* what is logged, a JitLogLevel */
    TraceNumerics numerics;
    const JitDisk *disk; /* where kernels are kept between processes */
    int tier;            /* 0, 1, or -1: tier 0 until code is there */
    int threads;         /* as a trace's */
    bool errstate;       /* floating-point errors give NumPy's warnings */
    PyObject
        *twin; /* the rewritten function, None where there is none, NULL: not tried */
    PyObject *names; /* globals that a twin without hooks loads, or NULL */
    PyObject *code;  /* what the twin was made from */
    PyObject *
        turns; /* the function with the turns of its loops as functions of their own, None where there is none, NULL:
                      * not tried */
    PyObject *pieces;  /* these functions, a list; or NULL */
    PyObject *divided; /* the code that `turns` was made from, or NULL */
    bool numbers;      /* the twin has what a call of numbers needs */
    PyObject
        *varying; /* name -> if numbers of that name, from outside, change; or NULL */
    uint64_t sized_ints; /* arguments, bit by bit: ints that are asked for */
    Entry **entries;
    uint32_t nentries;
    uint64_t hits, misses, traces;
    uint64_t unknown; /* calls with arguments that are not traced */
    uint32_t wasted;  /* traces without a later hit */
    uint32_t
        patience; /* times as many may be, as plain calls take longer than traces; 0: one */
    int64_t traced_ns,
        plain_ns; /* what a call takes with a trace, a mean of the last ones; and plain, */
    uint32_t nplain; /* the sum of so many but one */
    uint32_t fresh;  /* calls in a row that had other extents */
    bool returns;    /* they come back: no plan is taken away while there is room */
    uint64_t
        replaced[REPLACED_MAX]; /* signatures whose plans were taken away, hashed */
    uint32_t nreplaced;
    uint32_t vain; /* plans for other extents that did not hold, less those that did */
    uint32_t
        missed; /* calls in a row that no entry was for, once too many are wasted */
    const void *again; /* the first argument of the last such call: only compared */
    uint32_t nagain;   /* calls in a row that had it */
    bool plain;        /* all calls run plain */
    uint32_t
        idle; /* of a piece: times it was asked for, and not called, as its names had no values */
    bool piece; /* of another one: its turns take few ways, or it is not worth it */
    TraceBail bail;
} JitFunc;

static inline uint32_t
jit_traces_max(const JitFunc *self)
{
    uint32_t most = self->piece ? TRACES_MAX / 2 : TRACES_MAX;
    return self->patience ? most * self->patience : most;
}

static inline uint32_t
jit_wasted_max(const JitFunc *self)
{
    uint32_t most = self->piece  ? WASTED_MAX / 4
                    : self->hits ? WASTED_MAX
                                 : WASTED_MAX / 2;
    return self->patience ? most * self->patience : most;
}

/* A mean of the last few times. */
static inline void
jit_mean_take(int64_t *mean, int64_t ns)
{
    *mean = *mean ? (3 * *mean + ns) / 4 : ns;
}

/* -- func_again.c ------------------------------------------------------------------- */
void jit_entry_again(Entry *entry);
/* Room for one entry more: those of objects that are gone leave, and the one that was not called for longest. */
void jit_entries_leave(JitFunc *self);
/* A trace that ended early so that the function be taken apart, for nothing: the next one goes to the end. */
void jit_entry_whole(JitFunc *self, Entry *entry);
bool jit_runs_in_vain(const Entry *entry);
bool jit_is_full(const JitFunc *self, const Entry *entry);
bool jit_never_repeats(JitFunc *self, const Entry *entry);

/* -- log.c ------------------------------------------------------------------------- */

typedef enum JitLogLevel {
    JIT_LOG_error = 1, /* pyasc's own faults */
    JIT_LOG_warning,   /* what runs plain, and why */
    JIT_LOG_info,      /* new plans */
    JIT_LOG_debug, /* plans that did not hold, loops that are not compiled as a whole */
} JitLogLevel;

void jit_log(JitFunc *self, JitLogLevel level, const char *format, ...);
void jit_log_plain(JitFunc *self, TraceBail bail, PyObject *detail);

/* -- func_trace.c ------------------------------------------------------------------ */

/* The function, of a method or itself. Borrowed. */
PyObject *jit_plain_function(PyObject *callable);
/* What was made of the function, or is a method of that, has the function's default values. */
int jit_take_defaults(PyObject *made, PyObject *function);
/* Runs the call under a trace; the entry, if it is not kept yet, is kept or freed. `log`: the
** effects that a plan had before it turned out not to hold. */
PyObject *jit_call_traced(JitFunc *self, Entry *entry, bool fresh,
                          PyObject *const *args, size_t nargs, PyObject *kwnames,
                          PyObject *const *params, PyObject *log);
/* True if two different arrays among the parameters share memory, or one comes twice. */
bool jit_params_overlap(PyObject *const *params, uint32_t n);
/* The plan is the entry's, and its kernels are compiled. */
void jit_entry_compile(JitFunc *self, Entry *entry, JitPlan *plan);
/* True for an int that is to be a run-time input. */
bool jit_int_varies(JitFunc *self, PyObject *argument, uint32_t i, uint32_t n);

/* -- inside.c ---------------------------------------------------------------------- */

/* How far a walk through the leaves of an argument has come. */
typedef struct Inside {
    const JitSig *sig;
    PyObject *const *tracers; /* of the parameters */
    uint32_t at, param;
} Inside;

/* True if numbers in containers of a new entry are inputs from now on: those of an entry that is there are others. */
bool jit_inside_varies(JitFunc *self, Entry *entry);
/* False: the function, or one that it calls, is another now, and might change what would be copied. */
bool jit_inside_holds(JitFunc *self, const Entry *entry);
/* True if the container at that leaf holds numbers that are inputs. */
bool jit_inside_inputs(const JitSig *sig, uint32_t at);
/* A copy of a container with tracers in it, which is moved behind its leaves. New reference. */
PyObject *jit_inside_copy(Trace *trace, Inside *inside, PyObject *container);

/* -- func_resize.c ----------------------------------------------------------------- */

/* False: no plan could be had for the new entry without a trace. */
bool jit_entry_resize(JitFunc *self, Entry *entry, PyObject **params);
/* True if a signature that differs from the entry's in extents alone has been traced. */
bool jit_func_saw_others(const JitFunc *self, const Entry *entry);

/* -- guess.c ----------------------------------------------------------------------- */

/* What plans keep of the numbers among the arguments that they held for; 0: there are none. */
uint64_t jit_guess_numbers(const Entry *entry, PyObject *const *params);
/* Of several plans, those that have held for these numbers come first. False: there is none. */
bool jit_guess_first(Entry *entry, uint64_t numbers);
/* A plan held, after so many that did not. `ns`: what all of them took, where the entry is timed. */
/* True of an entry that has several plans, one that may be slower than plain calls, or calls that raise. */
bool jit_guess_looks(const Entry *entry);
void jit_guess_note(Entry *entry, uint32_t wrong, int64_t ns);
/* True if the call is to run plain: jit_guess_call. */
bool jit_guess_plain(const Entry *entry);
PyObject *jit_guess_call(JitFunc *self, Entry *entry, PyObject *const *args,
                         size_t nargs, PyObject *kwnames);

/* -- turns.c ----------------------------------------------------------------------- */

/* A call of a signature that has no plan. */
PyObject *jit_call_divided(JitFunc *self, Entry *entry, PyObject *const *args,
                           size_t nargsf, PyObject *kwnames);
/* True if a part of a function may have a plan where all of it has none. */
bool jit_may_divide(TraceBail bail);
/* True if the function has loops whose turns may be functions of their own. */
/* True if it can be taken apart, for that reason: into turns of its loops where these are too long, else into loops. */
bool jit_func_divides(JitFunc *self, TraceBail bail);
PyObject *jit_func_pays(PyObject *op, void *closure);
void jit_turns_clear(JitFunc *self);

/* -- func.c ------------------------------------------------------------------------ */

void jit_func_entries_clear(JitFunc *self);
PyObject *jit_func_trial(PyObject *op, PyObject *const *args, Py_ssize_t nargs);
PyObject *jit_func_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames);
bool jit_same_names(PyObject *a, PyObject *b);
void jit_entry_release(Entry *entry);
int jit_entry_insert(JitFunc *self, Entry *entry);
PyObject *jit_call_plain(JitFunc *self, PyObject *const *args, size_t nargsf,
                         PyObject *kwnames);
