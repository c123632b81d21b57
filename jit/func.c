/* func.c - the callable that `pyasc.jit` returns: from a call to a plan.
**
** A function keeps entries, one per signature, most recently used first. An entry has
** plans,
** one per path through the function that was taken; or it says that calls of this
** signature
** run plain, and why.
*/
#include "jit/func.h"

#include <stdlib.h>
#include <string.h>

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

void
jit_func_entries_clear(JitFunc *self)
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
        if (PyUnicode_Check(self->twin)) {
            PyObject *done =
                PyObject_CallMethod((PyObject *)self, "_set_plain", "O", self->twin);
            Py_SETREF(self->twin, Py_NewRef(Py_None));
            Py_XDECREF(done);
            if (!done)
                return NULL;
            jit_log_plain(self, self->bail, NULL);
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
        if (leaf->kind == LEAF_identity && trace_outside_add(trace, args[k]) < 0)
            goto done;
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
        if (trace->bail == BAIL_raised || trace->bail == BAIL_overlap) {
            self->bail = trace->bail;
            return false;
        }
        entry->plain = true;
        entry->bail = trace->bail;
        Py_XSETREF(entry->detail, Py_XNewRef(trace->bail_detail));
        jit_log_plain(self, entry->bail, entry->detail);
        return true;
    }
    if (jit_source_take(&source, trace) == 0) {
        plan = jit_plan_new(self->state, trace);
        if (plan) {
            entry_add_plan(entry, plan, &source);
            jit_compile_plan(self->state, plan, self->tier);
            jit_log(self, JIT_LOG_info, "plan %u of a signature: %u steps",
                    entry->nplans, plan->rt->nsteps);
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
    jit_log_plain(self, entry->bail, entry->detail);
    return true;
}

/* True for an int that is to be a run-time input: argument `i` of `n` was another one before,
** and no trace has asked for it. */
static bool
int_varies(JitFunc *self, PyObject *argument, uint32_t i, uint32_t n)
{
    if (!PyLong_CheckExact(argument) || i >= 64 || self->sized_ints >> i & 1)
        return false;
    for (uint32_t k = 0; k < self->nentries; k++) {
        const Entry *entry = self->entries[k];
        uint32_t at = 0;
        if (entry->ncall != n)
            continue;
        /* Leaves of containers before it make the place another one: then it stays. */
        for (uint32_t leaf = 0; leaf < entry->sig.nleaves && at < i; leaf++, at++) {
            if (entry->sig.leaves[leaf].kind >= LEAF_list)
                return false;
        }
        if (at < entry->sig.nleaves && entry->sig.leaves[at].kind == LEAF_constant &&
            PyLong_CheckExact(entry->sig.leaves[at].object))
            return true;
    }
    return false;
}

/* Ints that a trace asked for are constants from now on. */
static void
note_sized(JitFunc *self, const Entry *entry, const Trace *trace)
{
    for (uint32_t i = 0; self->varying && i < trace->nguards; i++) {
        const TraceGuard *guard = &trace->guards[i];
        if (guard->param && PyLong_CheckExact(guard->expected) &&
            PyDict_SetItem(self->varying, guard->name, Py_False) < 0)
            PyErr_Clear();
    }
    for (uint32_t i = 0; i < entry->sig.nleaves && i < 64; i++) {
        if (entry->sig.leaves[i].kind == LEAF_int)
            self->sized_ints |= (uint64_t)1 << i;
    }
}

/* Runs the call under a trace; the entry, if it is not kept yet, is kept or freed. `log`: the
** effects that a plan had before it turned out not to hold. */
static PyObject *
call_traced(JitFunc *self, Entry *entry, bool fresh, PyObject *const *args,
            size_t nargs, PyObject *kwnames, PyObject *const *params, PyObject *log)
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
    trace->varying = self->varying;
    trace_resume(trace, log);
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
    if (trace->sized)
        note_sized(self, entry, trace);
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
    OUTCOME_again, /* it has to be traced: effects have happened */
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
entry_run(JitFunc *self, Entry *entry, PyObject **params, Outcome *outcome,
          PyObject **log)
{
    *outcome = OUTCOME_done;
    for (uint32_t i = 0; i < entry->nplans; i++) {
        uint32_t nparams = entry->nparams;
        if (!jit_source_match(&entry->sources[i], params, &nparams, &self->varying))
            continue;
        JitPlan *plan = entry->plans[i];
        if (plan->writes && params_overlap(params, nparams)) {
            *outcome = *log ? OUTCOME_again : OUTCOME_plain;
            return NULL;
        }
        plan->refs++;
        PyObject *result = jit_plan_call(plan, params, log);
        bool ends = PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception);
        if (!result && *log && PyErr_Occurred() && !ends) {
            PyErr_Clear(); /* raised again where the function's own code does it */
            *outcome = OUTCOME_again;
        } else if (!result && !*log && PyErr_Occurred() && may_run_again(plan)) {
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
    *outcome = *log ? OUTCOME_again : OUTCOME_none;
    return NULL;
}

static void
entry_give_up(JitFunc *self, Entry *entry)
{
    entry->plain = true;
    entry->bail = BAIL_too_many_paths;
    jit_log_plain(self, entry->bail, NULL);
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
    PyObject *log = NULL, *result = entry_run(self, entry, params, &outcome, &log);
    if (outcome == OUTCOME_plain)
        result = call_plain(self, args, nargs, kwnames);
    else if (outcome == OUTCOME_again) {
        result = call_traced(self, entry, false, args, nargs, kwnames, params, log);
        if (entry->ntraces >= TRACES_MAX && !entry->plain)
            entry_give_up(self, entry);
    } else if (outcome == OUTCOME_none) {
        if (entry->ntraces >= TRACES_MAX) {
            entry_give_up(self, entry);
            result = call_plain(self, args, nargs, kwnames);
        } else {
            jit_log(self, JIT_LOG_debug, "none of %u plans holds", entry->nplans);
            result =
                call_traced(self, entry, false, args, nargs, kwnames, params, NULL);
        }
    }
    Py_XDECREF(log);
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
        status = int_varies(self, args[i], i, n) ? jit_sig_add_int(&entry->sig)
                                                 : jit_sig_add(&entry->sig, args[i]);
    if (status > 0 && entry->sig.nleaves > PARAMS_MAX)
        status = 0;
    if (status <= 0 || self->wasted > WASTED_MAX) {
        entry_release(entry);
        if (status < 0)
            return NULL;
        bool told = self->bail == BAIL_raised || self->bail == BAIL_overlap;
        TraceBail bail = !status ? BAIL_argument
                         : told  ? self->bail /* what all those traces ended with */
                                 : BAIL_too_many_paths;
        if (self->bail != bail)
            jit_log_plain(self, bail, NULL);
        self->bail = bail;
        return call_plain(self, args, nargs, kwnames);
    }
    for (uint32_t i = 0; i < n; i++)
        jit_sig_match(&entry->sig, &at, args[i], params, &nparams);
    entry->nparams = nparams;
    return call_traced(self, entry, true, args, nargs, kwnames, params, NULL);
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
PyObject *
jit_func_trial(PyObject *op, PyObject *const *args, Py_ssize_t nargs)
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

PyObject *
jit_func_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf,
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
