/* func.c - the callable that `pyasc.jit` returns: from a call to a plan.
**
** A function keeps entries, one per signature, most recently used first. An entry has
** plans,
** one per path through the function that was taken; or it says that calls of this
** signature
** run plain, and why.
*/
#include <stdlib.h>
#include <string.h>

#include "jit/jit.h"
#include "jit/source.h"

enum {
    ENTRIES_MAX = 64, /* signatures kept */
    PLANS_MAX = 8,    /* paths kept per signature */
    TRACES_MAX = 32,  /* traces of one signature, before its calls run plain */
    PARAMS_MAX = 128, /* arrays and numbers of a call */
    WASTED_MAX = 24,  /* traces that were never called again, before new ones stop */
};

typedef struct Entry {
    JitSig sig;
    uint32_t refs;  /* the list of entries, calls that run it */
    uint32_t ncall; /* arguments: positional, then keywords */
    PyObject *kwnames;
    uint32_t nparams;          /* among the arguments */
    JitPlan *plans[PLANS_MAX]; /* most recently used first */
    JitSource sources[PLANS_MAX];
    uint32_t nplans, ntraces;
    bool plain;
    TraceBail bail;
    PyObject *detail;
    uint64_t hits;
} Entry;

typedef struct JitFunc {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    JitState *state;
    PyObject *wrapped, *dict, *weakrefs, *options;
    PyObject *shapes; /* what shape_infer promised, or NULL */
    int tier;         /* 0, 1, or -1: tier 0 until code is there */
    PyObject
        *twin; /* the rewritten function, None where there is none, NULL: not tried */
    PyObject *code; /* what the twin was made from */
    Entry **entries;
    uint32_t nentries;
    uint64_t hits, misses, traces;
    uint32_t wasted; /* traces without a later hit */
    bool plain;      /* all calls run plain */
    bool trial;      /* the next trace is one */
    TraceBail bail;
} JitFunc;

/* -- Entries ----------------------------------------------------------------------- */

static void
entry_release(Entry *entry)
{
    if (--entry->refs)
        return;
    jit_sig_clear(&entry->sig);
    Py_XDECREF(entry->kwnames);
    Py_XDECREF(entry->detail);
    for (uint32_t i = 0; i < entry->nplans; i++) {
        jit_plan_release(entry->plans[i]);
        jit_source_clear(&entry->sources[i]);
    }
    PyMem_Free(entry);
}

static void
entries_clear(JitFunc *self)
{
    Entry **entries = self->entries;
    uint32_t n = self->nentries;
    self->entries = NULL;
    self->nentries = 0;
    for (uint32_t i = 0; i < n; i++)
        entry_release(entries[i]);
    PyMem_Free(entries);
}

static bool
same_names(PyObject *a, PyObject *b)
{
    Py_ssize_t n = a ? PyTuple_GET_SIZE(a) : 0;
    if (a == b || (!n && (!b || !PyTuple_GET_SIZE(b))))
        return true;
    if (!a || !b || PyTuple_GET_SIZE(b) != n)
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (PyUnicode_Compare(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i)) != 0)
            return false;
    }
    return true;
}

static bool
entry_match(const Entry *entry, PyObject *const *args, uint32_t n, PyObject *kwnames,
            PyObject **params, uint32_t *nparams)
{
    uint32_t at = 0;
    *nparams = 0;
    if (entry->ncall != n || !same_names(entry->kwnames, kwnames))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!jit_sig_match(&entry->sig, &at, args[i], params, nparams))
            return false;
    }
    return true;
}

static void
entry_to_front(JitFunc *self, uint32_t i)
{
    Entry *entry = self->entries[i];
    memmove(self->entries + 1, self->entries, i * sizeof *self->entries);
    self->entries[0] = entry;
}

static int
entry_insert(JitFunc *self, Entry *entry)
{
    if (self->nentries == ENTRIES_MAX)
        entry_release(self->entries[--self->nentries]);
    Entry **entries =
        PyMem_Realloc(self->entries, (self->nentries + 1) * sizeof *entries);
    if (!entries) {
        PyErr_NoMemory();
        return -1;
    }
    self->entries = entries;
    memmove(entries + 1, entries, self->nentries * sizeof *entries);
    entries[0] = entry;
    self->nentries++;
    return 0;
}

/* -- Plain calls ------------------------------------------------------------------- */

static PyObject *
call_plain(JitFunc *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    return PyObject_Vectorcall(self->wrapped, args, nargsf, kwnames);
}

/* False where np.errstate (or seterr) wants floating-point errors to be seen. */
static bool
errstate_is_quiet(JitState *state)
{
    PyObject *value = NULL;
    if (PyContextVar_Get(state->errstate_var, NULL, &value) < 0 || !value) {
        PyErr_Clear();
        return true;
    }
    if (value != state->errstate_seen) {
        PyObject *api = jit_api(state);
        PyObject *answer =
            api ? PyObject_CallMethod(api, "_errstate_is_quiet", NULL) : NULL;
        Py_XSETREF(state->errstate_seen, Py_NewRef(value));
        state->errstate_quiet = answer == Py_True;
        if (!answer)
            PyErr_Clear();
        Py_XDECREF(answer);
    }
    Py_DECREF(value);
    return state->errstate_quiet;
}

/* -- Tracing ----------------------------------------------------------------------- */

static PyObject *
plain_function(PyObject *callable)
{
    return PyMethod_Check(callable) ? PyMethod_GET_FUNCTION(callable) : callable;
}

/* The function's code and default values may be exchanged (IPython's autoreload does). */
static int
twin_refresh(JitFunc *self)
{
    PyObject *function = plain_function(self->wrapped);
    if (!PyFunction_Check(function))
        return 0;
    if (self->twin && self->code != PyFunction_GET_CODE(function)) {
        Py_CLEAR(self->twin);
        self->plain = false;
    }
    Py_XSETREF(self->code, Py_NewRef(PyFunction_GET_CODE(function)));
    if (!self->twin || self->twin == Py_None)
        return 0;
    PyObject *twin = plain_function(self->twin),
             *defaults = PyFunction_GET_DEFAULTS(function),
             *kwdefaults = PyFunction_GET_KW_DEFAULTS(function);
    if (PyFunction_GET_DEFAULTS(twin) != defaults &&
        PyFunction_SetDefaults(twin, defaults ? defaults : Py_None) < 0)
        return -1;
    if (PyFunction_GET_KW_DEFAULTS(twin) != kwdefaults &&
        PyFunction_SetKwDefaults(twin, kwdefaults ? kwdefaults : Py_None) < 0)
        return -1;
    return 0;
}

/* The rewritten function; NULL: none (self->bail says why) or an exception is set. */
static PyObject *
twin_of(JitFunc *self)
{
    if (twin_refresh(self) < 0)
        return NULL;
    if (!self->twin) {
        PyObject *api = jit_api(self->state);
        if (!api)
            return NULL;
        self->twin = PyObject_CallMethod(api, "_rewrite", "O", self->wrapped);
        if (!self->twin)
            return NULL;
        if (self->twin == Py_None) {
            self->plain = true;
            self->bail = BAIL_no_source;
        }
    }
    return self->twin == Py_None ? NULL : self->twin;
}

static bool
extents_overlap(PyObject *a, PyObject *b)
{
    const char *low[2], *high[2];
    PyArrayObject *arrays[2] = {(PyArrayObject *)a, (PyArrayObject *)b};
    for (int k = 0; k < 2; k++) {
        low[k] = PyArray_BYTES(arrays[k]);
        high[k] = low[k] + PyArray_ITEMSIZE(arrays[k]);
        for (int d = 0; d < PyArray_NDIM(arrays[k]); d++) {
            npy_intp reach =
                (PyArray_DIM(arrays[k], d) - 1) * PyArray_STRIDE(arrays[k], d);
            if (PyArray_DIM(arrays[k], d) == 0)
                return false;
            if (reach < 0)
                low[k] += reach;
            else
                high[k] += reach;
        }
    }
    return low[0] < high[1] && low[1] < high[0];
}

/* True if two different arrays among the parameters share memory, or one comes twice. */
static bool
params_overlap(PyObject *const *params, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; PyArray_CheckExact(params[i]) && k < i; k++) {
            if (PyArray_CheckExact(params[k]) && extents_overlap(params[i], params[k]))
                return true;
        }
    }
    return false;
}

/* Tracers for the call's arguments: new references in `traced`. Containers stay as they
 *are,
 ** their arrays become known to the trace. */
static int
trace_arguments(Trace *trace, const Entry *entry, PyObject *const *args,
                PyObject **traced)
{
    PyObject *params[PARAMS_MAX], *tracers[PARAMS_MAX] = {NULL};
    uint32_t nparams = 0, made = 0, at = 0;
    int status = -1;
    for (uint32_t k = 0; k < entry->ncall; k++) {
        const JitLeaf *leaf = &entry->sig.leaves[at];
        uint32_t first = leaf->kind == LEAF_same ? (uint32_t)leaf->length : nparams;
        jit_sig_match(&entry->sig, &at, args[k], params, &nparams);
        for (; made < nparams; made++) {
            tracers[made] = trace_argument(trace, params[made]);
            if (!tracers[made])
                goto done;
        }
        if (leaf->kind > LEAF_identity && !trace_outer_add(trace, args[k]))
            trace_end(trace, BAIL_argument, NULL);
        traced[k] = jit_leaf_is_param(leaf) || leaf->kind == LEAF_same
                        ? Py_NewRef(tracers[first])
                        : Py_NewRef(args[k]);
    }
    status = 0;
done:
    for (uint32_t i = 0; i < made; i++)
        Py_XDECREF(tracers[i]);
    return status;
}

/* A new plan goes to the front; the oldest makes room. */
static void
entry_add_plan(Entry *entry, JitPlan *plan, const JitSource *source)
{
    if (entry->nplans == PLANS_MAX) {
        entry->nplans--;
        jit_plan_release(entry->plans[entry->nplans]);
        jit_source_clear(&entry->sources[entry->nplans]);
    }
    memmove(entry->plans + 1, entry->plans, entry->nplans * sizeof *entry->plans);
    memmove(entry->sources + 1, entry->sources, entry->nplans * sizeof *entry->sources);
    entry->plans[0] = plan;
    entry->sources[0] = *source;
    entry->nplans++;
}

/* After a trace: a plan for the entry, or the reason why its calls run plain. Returns
 *false
 ** where there is nothing to keep. */
static bool
entry_learn(JitFunc *self, Entry *entry, Trace *trace)
{
    JitSource source = {0};
    JitPlan *plan;
    if (trace->tries && trace->wrote)
        trace_end(trace, BAIL_caught, NULL);
    if (trace->nparams > PARAMS_MAX)
        trace_end(trace, BAIL_argument, NULL);
    if (!trace->live) {
        if (trace->bail == BAIL_raised || trace->bail == BAIL_overlap)
            return false;
        entry->plain = true;
        entry->bail = trace->bail;
        Py_XSETREF(entry->detail, Py_XNewRef(trace->bail_detail));
        return true;
    }
    if (jit_source_take(&source, trace) == 0) {
        plan = jit_plan_new(self->state, trace);
        if (plan) {
            entry_add_plan(entry, plan, &source);
            jit_compile_plan(self->state, plan, self->tier);
            return true;
        }
    }
    jit_source_clear(&source);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Py_XSETREF(entry->detail, value ? PyObject_Str(value) : NULL);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    PyErr_Clear();
    entry->plain = true;
    entry->bail = BAIL_graph;
    return true;
}

/* Runs the call under a trace; the entry, if it is not kept yet, is kept or freed. */
static PyObject *
call_traced(JitFunc *self, Entry *entry, bool fresh, PyObject *const *args,
            size_t nargs, PyObject *kwnames, PyObject *const *params)
{
    PyObject *traced[PARAMS_MAX] = {NULL}, *result = NULL, *twin;
    uint32_t n = entry->ncall;
    Trace *trace = NULL;
    bool kept = false;

    twin = twin_of(self);
    if (!twin) {
        if (!PyErr_Occurred())
            result = call_plain(self, args, nargs, kwnames);
        goto done;
    }
    trace = trace_new(self->state->trace, jit_trace_run, jit_trace_loop, self->state);
    if (!trace)
        goto done;
    trace->trial = self->trial;
    self->trial = false;
    trace->overlap = params_overlap(params, entry->nparams);
    if (trace_arguments(trace, entry, args, traced) < 0 ||
        trace_enter(trace, self->wrapped) < 0) {
        trace_abandon(trace);
        goto done;
    }
    self->traces++;
    self->wasted += entry->ntraces++ == 0;
    result = trace_capture(trace, twin, traced, nargs, kwnames);
    for (uint32_t i = 0; i < n; i++)
        Py_CLEAR(traced[i]);
    if (result)
        kept = entry_learn(self, entry, trace);
done:
    for (uint32_t i = 0; i < n; i++)
        Py_XDECREF(traced[i]);
    if (trace)
        trace_release(trace);
    if (fresh && (!kept || entry_insert(self, entry) < 0))
        entry_release(entry);
    return result;
}

/* -- Calls ------------------------------------------------------------------------- */

/* What came of an entry's plans besides a result or an exception. */
typedef enum Outcome {
    OUTCOME_done,
    OUTCOME_none,  /* no plan holds */
    OUTCOME_plain, /* this call has to run plain */
} Outcome;

/* After a plan raised: where no argument was written the plain function runs instead,
** so that
** handlers see the exception and its traceback is the function's own. */
static bool
may_run_again(const JitPlan *plan)
{
    bool taken_back = !plan->writes || plan->diverges_late;
    return taken_back && PyErr_ExceptionMatches(PyExc_Exception);
}

/* Runs the entry's plans until one holds. */
static PyObject *
entry_run(Entry *entry, PyObject **params, Outcome *outcome)
{
    *outcome = OUTCOME_done;
    for (uint32_t i = 0; i < entry->nplans; i++) {
        uint32_t nparams = entry->nparams;
        if (!jit_source_match(&entry->sources[i], params, &nparams))
            continue;
        JitPlan *plan = entry->plans[i];
        if (plan->writes && params_overlap(params, nparams)) {
            *outcome = OUTCOME_plain;
            return NULL;
        }
        plan->refs++;
        PyObject *result = jit_plan_call(plan, params);
        if (!result && PyErr_Occurred() && may_run_again(plan)) {
            PyErr_Clear();
            *outcome = OUTCOME_plain;
        }
        bool diverged = !result && !PyErr_Occurred() && *outcome == OUTCOME_done;
        if (!diverged && i && i < entry->nplans && entry->plans[i] == plan) {
            JitSource source = entry->sources[i]; /* the first to try next time */
            memmove(entry->plans + 1, entry->plans, i * sizeof *entry->plans);
            memmove(entry->sources + 1, entry->sources, i * sizeof *entry->sources);
            entry->plans[0] = plan;
            entry->sources[0] = source;
        }
        jit_plan_release(plan);
        if (!diverged)
            return result;
    }
    *outcome = OUTCOME_none;
    return NULL;
}

static PyObject *
call_entry(JitFunc *self, Entry *entry, PyObject *const *args, size_t nargs,
           PyObject *kwnames, PyObject **params)
{
    Outcome outcome;
    if (entry->plain)
        return call_plain(self, args, nargs, kwnames);
    if (!entry->hits++)
        self->wasted -= self->wasted > 0;
    self->hits++;
    entry->refs++;
    PyObject *result = entry_run(entry, params, &outcome);
    if (outcome == OUTCOME_plain)
        result = call_plain(self, args, nargs, kwnames);
    else if (outcome == OUTCOME_none) {
        if (entry->ntraces >= TRACES_MAX) {
            entry->plain = true;
            entry->bail = BAIL_too_many_paths;
            result = call_plain(self, args, nargs, kwnames);
        } else
            result = call_traced(self, entry, false, args, nargs, kwnames, params);
    }
    entry_release(entry);
    return result;
}

static PyObject *
call_new(JitFunc *self, PyObject *const *args, uint32_t n, size_t nargs,
         PyObject *kwnames)
{
    PyObject *params[PARAMS_MAX];
    uint32_t nparams = 0, at = 0;
    Entry *entry = PyMem_Calloc(1, sizeof *entry);
    int status = 1;
    self->misses++;
    if (!entry)
        return PyErr_NoMemory();
    entry->refs = 1;
    entry->ncall = n;
    entry->kwnames = Py_XNewRef(kwnames);
    for (uint32_t i = 0; status > 0 && i < n; i++)
        status = jit_sig_add(&entry->sig, args[i]);
    if (status > 0 && entry->sig.nleaves > PARAMS_MAX)
        status = 0;
    if (status <= 0 || self->wasted > WASTED_MAX) {
        entry_release(entry);
        if (status < 0)
            return NULL;
        self->bail = status ? BAIL_too_many_paths : BAIL_argument;
        return call_plain(self, args, nargs, kwnames);
    }
    for (uint32_t i = 0; i < n; i++)
        jit_sig_match(&entry->sig, &at, args[i], params, &nparams);
    entry->nparams = nparams;
    return call_traced(self, entry, true, args, nargs, kwnames, params);
}

/* The shapes that `shape_infer` named. */
static int
check_shapes(JitFunc *self, PyObject *const *args, size_t nargs, PyObject *kwnames)
{
    PyObject *api = jit_api(self->state), *given = PyTuple_New((Py_ssize_t)nargs),
             *named = PyDict_New(), *done = NULL;
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (size_t i = 0; given && i < nargs; i++)
        PyTuple_SET_ITEM(given, (Py_ssize_t)i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; named && i < nkw; i++) {
        if (PyDict_SetItem(named, PyTuple_GET_ITEM(kwnames, i),
                           args[nargs + (size_t)i]) < 0)
            Py_CLEAR(named);
    }
    if (api && given && named)
        done = PyObject_CallMethod(api, "_check_shapes", "OOOO", self, self->shapes,
                                   given, named);
    Py_XDECREF(given);
    Py_XDECREF(named);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* trial(*args): traces the call on these arguments up to its first effect, for its
** plan. */
static PyObject *
func_trial(PyObject *op, PyObject *const *args, Py_ssize_t nargs)
{
    JitFunc *self = (JitFunc *)op;
    PyObject *params[PARAMS_MAX];
    uint32_t nparams;
    if (self->plain || nargs > PARAMS_MAX)
        Py_RETURN_FALSE;
    for (uint32_t i = 0; i < self->nentries; i++) {
        if (entry_match(self->entries[i], args, (uint32_t)nargs, NULL, params,
                        &nparams)) {
            entry_to_front(self, i); /* explain() and lower() look at the first */
            Py_RETURN_TRUE;
        }
    }
    self->trial = true;
    PyObject *result = call_new(self, args, (uint32_t)nargs, (size_t)nargs, NULL);
    self->trial = false;
    if (!result)
        return NULL;
    Py_DECREF(result);
    Py_RETURN_TRUE;
}

static PyObject *
func_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf,
                PyObject *kwnames)
{
    JitFunc *self = (JitFunc *)callable;
    PyObject *params[PARAMS_MAX];
    size_t nargs = (size_t)PyVectorcall_NARGS(nargsf);
    uint32_t n = (uint32_t)(nargs + (kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0)),
             nparams;

    if (self->shapes && check_shapes(self, args, nargs, kwnames) < 0)
        return NULL;
    if (self->plain || self->state->disabled || n > PARAMS_MAX)
        return call_plain(self, args, nargsf, kwnames);
    if (!errstate_is_quiet(self->state))
        return call_plain(self, args, nargsf, kwnames);
    for (uint32_t i = 0; i < self->nentries; i++) {
        if (entry_match(self->entries[i], args, n, kwnames, params, &nparams)) {
            if (i)
                entry_to_front(self, i);
            return call_entry(self, self->entries[0], args, nargs, kwnames, params);
        }
    }
    return call_new(self, args, n, nargs, kwnames);
}

/* -- The type ---------------------------------------------------------------------- */

static PyObject *
func_cache_info(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    JitFunc *self = (JitFunc *)op;
    PyObject *api = jit_api(self->state);
    if (!api)
        return NULL;
    return PyObject_CallMethod(api, "_cache_info", "KKKI",
                               (unsigned long long)self->hits,
                               (unsigned long long)self->misses,
                               (unsigned long long)self->traces, self->nentries);
}

static PyObject *
func_cache_clear(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    JitFunc *self = (JitFunc *)op;
    entries_clear(self);
    self->hits = self->misses = self->traces = 0;
    self->wasted = 0;
    if (self->twin != Py_None)
        self->plain = false;
    Py_RETURN_NONE;
}

static PyObject *
func_wait(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    jit_compile_wait(((JitFunc *)op)->state);
    Py_RETURN_NONE;
}

/* Facts about one entry, for explain() and report(). */
static PyObject *
entry_facts(const Entry *entry)
{
    PyObject *plans = PyList_New(0);
    for (uint32_t i = 0; plans && i < entry->nplans; i++) {
        PyObject *facts = jit_plan_facts(entry->plans[i]);
        if (!facts || PyList_Append(plans, facts) < 0)
            Py_CLEAR(plans);
        Py_XDECREF(facts);
    }
    if (!plans)
        return NULL;
    return Py_BuildValue(
        "{s:N,s:O,s:s,s:s,s:s,s:O,s:K}", "plans", plans, "plain",
        entry->plain ? Py_True : Py_False, "bail", trace_bail_name(entry->bail),
        "message", trace_bail_message(entry->bail), "hint",
        trace_bail_hint(entry->bail), "detail", entry->detail ? entry->detail : Py_None,
        "hits", (unsigned long long)entry->hits);
}

static PyObject *
func_facts(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    JitFunc *self = (JitFunc *)op;
    PyObject *entries = PyList_New(0);
    for (uint32_t i = 0; entries && i < self->nentries; i++) {
        PyObject *facts = entry_facts(self->entries[i]);
        if (!facts || PyList_Append(entries, facts) < 0)
            Py_CLEAR(entries);
        Py_XDECREF(facts);
    }
    if (!entries)
        return NULL;
    return Py_BuildValue(
        "{s:N,s:O,s:s,s:s,s:s}", "entries", entries, "plain",
        self->plain ? Py_True : Py_False, "bail", trace_bail_name(self->bail),
        "message", trace_bail_message(self->bail), "hint", trace_bail_hint(self->bail));
}

/* code(entry, plan, assembly): texts of the groups of one plan. */
static PyObject *
func_code(PyObject *op, PyObject *args)
{
    JitFunc *self = (JitFunc *)op;
    unsigned entry, plan;
    int assembly;
    if (!PyArg_ParseTuple(args, "IIp", &entry, &plan, &assembly))
        return NULL;
    if (entry >= self->nentries || plan >= self->entries[entry]->nplans)
        return PyErr_Format(PyExc_IndexError, "no such plan");
    return jit_plan_code(self->entries[entry]->plans[plan], assembly);
}

/* Methods that live in Python: pyasc._api has a function `_<name>(self, *args)`. */
static PyObject *
forward(PyObject *self, const char *name, PyObject *args, PyObject *kwargs)
{
    PyObject *api = jit_api(((JitFunc *)self)->state), *function = NULL, *all = NULL,
             *result = NULL;
    PyObject *first = PyTuple_Pack(1, self);
    function = api ? PyObject_GetAttrString(api, name) : NULL;
    all = first && function ? PySequence_Concat(first, args) : NULL;
    result = all ? PyObject_Call(function, all, kwargs) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(function);
    Py_XDECREF(all);
    return result;
}

static PyObject *
func_explain(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return forward(self, "_explain", args, kwargs);
}

static PyObject *
func_lower(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return forward(self, "_lower", args, kwargs);
}

static PyObject *
func_report(PyObject *self, PyObject *args)
{
    return forward(self, "_report", args, NULL);
}

static PyObject *
func_reduce(PyObject *self, PyObject *args)
{
    return forward(self, "_reduce", args, NULL);
}

static PyObject *
func_copy(PyObject *self, PyObject *Py_UNUSED(args))
{
    return Py_NewRef(self);
}

static PyObject *
func_repr(PyObject *op)
{
    return PyUnicode_FromFormat("<pyasc.jit of %R>", ((JitFunc *)op)->wrapped);
}

static PyObject *
func_get(PyObject *self, PyObject *object, PyObject *Py_UNUSED(type))
{
    if (!object || object == Py_None)
        return Py_NewRef(self);
    return PyMethod_New(self, object);
}

static int
func_traverse(PyObject *op, visitproc visit, void *arg)
{
    JitFunc *self = (JitFunc *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->wrapped);
    Py_VISIT(self->dict);
    Py_VISIT(self->options);
    Py_VISIT(self->shapes);
    Py_VISIT(self->twin);
    Py_VISIT(self->code);
    for (uint32_t i = 0; i < self->nentries; i++) {
        const Entry *entry = self->entries[i];
        for (uint32_t k = 0; k < entry->nplans; k++) {
            int status = jit_source_traverse(&entry->sources[k], visit, arg);
            if (status)
                return status;
        }
    }
    return 0;
}

static int
func_clear(PyObject *op)
{
    JitFunc *self = (JitFunc *)op;
    entries_clear(self);
    Py_CLEAR(self->wrapped);
    Py_CLEAR(self->dict);
    Py_CLEAR(self->options);
    Py_CLEAR(self->shapes);
    Py_CLEAR(self->twin);
    Py_CLEAR(self->code);
    return 0;
}

static void
func_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);
    PyObject_GC_UnTrack(op);
    if (((JitFunc *)op)->weakrefs)
        PyObject_ClearWeakRefs(op);
    func_clear(op);
    type->tp_free(op);
    Py_DECREF(type);
}

static PyObject *
func_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "options", "tier", "shapes", NULL};
    PyObject *function, *options = Py_None, *shapes = NULL;
    int tier = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OiO", names, &function, &options,
                                     &tier, &shapes))
        return NULL;
    if (!PyCallable_Check(function)) {
        PyErr_Format(PyExc_TypeError, "pyasc.jit needs a function, got %.100s",
                     Py_TYPE(function)->tp_name);
        return NULL;
    }
    JitFunc *self = (JitFunc *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->vectorcall = func_vectorcall;
    self->state = PyType_GetModuleState(type);
    self->wrapped = Py_NewRef(function);
    self->options = Py_NewRef(options);
    self->shapes = shapes == Py_None ? NULL : Py_XNewRef(shapes);
    self->tier = tier;
    self->dict = PyDict_New();
    if (!self->dict)
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* set_plain(reason): every call runs the plain function. */
static PyObject *
func_set_plain(PyObject *op, PyObject *reason)
{
    JitFunc *self = (JitFunc *)op;
    const char *name = PyUnicode_AsUTF8(reason);
    if (!name)
        return NULL;
    for (int i = 0; i < BAIL_COUNT; i++) {
        if (strcmp(trace_bail_name((TraceBail)i), name) == 0)
            self->bail = (TraceBail)i;
    }
    self->plain = true;
    Py_RETURN_NONE;
}

#define KEYWORDS(f) (PyCFunction)(void (*)(void)) f, METH_VARARGS | METH_KEYWORDS
static PyMethodDef func_methods[] = {
    {"cache_info", func_cache_info, METH_NOARGS,
     "Counts of this function's trace cache."},
    {"cache_clear", func_cache_clear, METH_NOARGS,
     "Forgets all traces of this function."},
    {"wait", func_wait, METH_NOARGS, "Waits until background compilation is done."},
    {"explain", KEYWORDS(func_explain),
     "What was fused into which kernel, and why not more."},
    {"lower", KEYWORDS(func_lower),
     "The stages of compilation as text, for these arguments."},
    {"report", func_report, METH_VARARGS,
     "Facts about the calls made so far, as a dict."},
    {"_facts", func_facts, METH_NOARGS, NULL},
    {"_code", func_code, METH_VARARGS, NULL},
    {"_trial", (PyCFunction)(void (*)(void))func_trial, METH_FASTCALL, NULL},
    {"_set_plain", func_set_plain, METH_O, NULL},
    {"__reduce__", func_reduce, METH_VARARGS, NULL},
    {"__copy__", func_copy, METH_NOARGS, NULL},
    {"__deepcopy__", func_copy, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef func_members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(JitFunc, wrapped), READONLY,
     "the plain function"},
    {"_options", T_OBJECT, offsetof(JitFunc, options), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(JitFunc, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(JitFunc, weakrefs), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(JitFunc, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef func_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot func_slots[] = {
    {Py_tp_new, func_new},
    {Py_tp_dealloc, func_dealloc},
    {Py_tp_traverse, func_traverse},
    {Py_tp_clear, func_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_repr, func_repr},
    {Py_tp_descr_get, func_get},
    {Py_tp_methods, func_methods},
    {Py_tp_members, func_members},
    {Py_tp_getset, func_getset},
    {0, NULL},
};

static PyType_Spec func_spec = {
    .name = "pyasc.Function",
    .basicsize = sizeof(JitFunc),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = func_slots,
};

int
jit_func_type_add(JitState *state, PyObject *module)
{
    state->function_type =
        (PyTypeObject *)PyType_FromModuleAndSpec(module, &func_spec, NULL);
    if (!state->function_type)
        return -1;
    trace_state_set_function_type(state->trace, state->function_type);
    return PyModule_AddObjectRef(module, "Function", (PyObject *)state->function_type);
}
