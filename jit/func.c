/* func.c - the callable that `pyasc.jit` returns: from a call to a plan.
**
** A function keeps entries, one per signature, most recently used first. An entry has
** plans,
** one per path through the function that was taken; or it says that calls of this
** signature
** run plain, and why.
*/
#include "jit/func.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* -- Entries ----------------------------------------------------------------------- */

void
jit_entry_release(Entry *entry)
{
    if (--entry->refs)
        return;
    jit_sig_clear(&entry->sig);
    Py_XDECREF(entry->kwnames);
    Py_XDECREF(entry->detail);
    rt_code_drop(entry->awaited);
    for (uint32_t i = 0; i < entry->nplans; i++)
        jit_plan_release(entry->plans[i]);
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
        jit_entry_release(entries[i]);
    PyMem_Free(entries);
}

bool
jit_same_names(PyObject *a, PyObject *b)
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
    if (entry->ncall != n || !jit_same_names(entry->kwnames, kwnames))
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

int
jit_entry_insert(JitFunc *self, Entry *entry)
{
    jit_entries_leave(self);
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

PyObject *
jit_call_plain(JitFunc *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    return PyObject_Vectorcall(self->wrapped, args, nargsf, kwnames);
}

/* False where np.errstate (or seterr) wants floating-point errors to be seen; of warnings, where the function does. */
static bool
errstate_is_quiet(JitState *state, bool warns)
{
    PyObject *value = NULL;
    if (PyContextVar_Get(state->errstate_var, NULL, &value) < 0 || !value) {
        PyErr_Clear();
        return true;
    }
    if (value != state->errstate_seen) {
        PyObject *api = jit_api(state);
        PyObject *answer =
            api ? PyObject_CallMethod(api, "_errstate_shows", NULL) : NULL;
        Py_XSETREF(state->errstate_seen, Py_NewRef(value));
        state->errstate_shows = answer ? (int)PyLong_AsLong(answer) : 2;
        if (!answer)
            PyErr_Clear();
        Py_XDECREF(answer);
    }
    Py_DECREF(value);
    return state->errstate_shows == 0 || (state->errstate_shows == 1 && !warns);
}

/* A plain call instead of a trace, timed. True, once in a while: plain calls take so much longer than traces did that
** more of these may be: loops that were code ran in Python. */
static bool
plain_is_slow(JitFunc *self, PyObject *const *args, size_t nargs, PyObject *kwnames,
              PyObject **result)
{
    int64_t begin = rt_clock_ns();
    *result = jit_call_plain(self, args, nargs, kwnames);
    if (self->nplain++) /* the first one finds nothing in the caches */
        self->plain_ns += rt_clock_ns() - begin;
    if (self->nplain <= PLAIN_SEEN)
        return false;
    bool slow = self->plain_ns > PLAIN_SEEN * PLAIN_TIMES * self->traced_ns;
    if (slow) {
        self->patience = (self->patience ? self->patience : 1) * PATIENCE_MORE;
        if (self->patience > PATIENCE_MAX)
            self->patience = PATIENCE_MAX;
    }
    self->nplain = 0;
    self->plain_ns = 0;
    return slow;
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
** handlers see the exception and its traceback is the function's own. A compiled loop that is left before anything has
** been written needs no copies for that. */
static bool
may_run_again(const JitPlan *plan, bool early)
{
    return !plan->writes || plan->diverges_late || early ||
           PyErr_ExceptionMatches(trace_nest_failed(plan->state->trace));
}

/* Parameters may be borrowed from containers, and are from outside: another thread may change these while
** the plan runs. */
static void
params_hold(PyObject *const *params, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        Py_INCREF(params[i]);
}

static void
params_drop(PyObject *const *params, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        Py_DECREF(params[i]);
}

/* Whether memory that parameters share is what the plan is for; SHARING_bad: no plan is. */
typedef enum Sharing { SHARING_fits, SHARING_other, SHARING_bad } Sharing;

static Sharing
plan_sharing(const JitPlan *plan, PyObject *const *params, uint32_t nargs,
             uint32_t nparams)
{
    JitAlias aliases[PARAMS_MAX];
    if (!jit_params_overlap(params, nparams))
        return plan->naliases ? SHARING_other : SHARING_fits;
    for (uint32_t i = nargs; i < nparams;
         i++) { /* arrays from outside are no windows on arguments */
        for (uint32_t k = 0; k < i; k++) {
            PyObject *pair[2] = {params[k], params[i]};
            if (jit_params_overlap(pair, 2))
                return SHARING_bad;
        }
    }
    int n = jit_aliases_find(params, nargs, aliases);
    return n < 0                                 ? SHARING_bad
           : jit_aliases_match(plan, aliases, n) ? SHARING_fits
                                                 : SHARING_other;
}

/* Runs the entry's plans until one holds. */
static PyObject *
entry_run(JitFunc *self, Entry *entry, PyObject *const *args, PyObject **params,
          Outcome *outcome, PyObject **log, uint32_t *wrong)
{
    *outcome = OUTCOME_done;
    bool several = entry->nplans > 1;
    uint64_t numbers = several ? jit_guess_numbers(entry, params) : 0;
    jit_guess_first(entry, numbers);
    for (uint32_t i = 0; i < entry->nplans && i < PLANS_TRIED; i++) {
        uint32_t nparams = entry->nparams;
        JitPlan *plan = entry->plans[i];
        plan->refs++;
        if (!jit_source_match(plan->source, params, &nparams, &self->varying,
                              trace_log_reads(*log, 0))) {
            jit_plan_release(plan);
            continue;
        }
        Sharing sharing = plan->writes || plan->naliases
                              ? plan_sharing(plan, params, entry->nparams, nparams)
                              : SHARING_fits;
        if (sharing != SHARING_fits) {
            jit_plan_release(plan);
            if (sharing == SHARING_other && !entry->shares_plain)
                continue;
            *outcome = *log ? OUTCOME_again : OUTCOME_plain;
            return NULL;
        }
        bool interrupted = false, early = false;
        params_hold(params, entry->nparams, nparams);
        PyObject *result = jit_plan_call(plan, params, args, log, &interrupted, &early);
        params_drop(params, entry->nparams, nparams);
        bool raised = !result && PyErr_Occurred();
        bool ends =
            raised && (interrupted || (!PyErr_ExceptionMatches(PyExc_Exception) &&
                                       !jit_log_raised(*log)));
        if (raised && !ends && *log) {
            PyErr_Clear(); /* raised again where the function's own code does it */
            *outcome = OUTCOME_again;
        } else if (raised && !ends && may_run_again(plan, early)) {
            PyErr_Clear();
            *outcome = OUTCOME_plain;
        }
        bool diverged = !result && !raised;
        if (!diverged && i && i < entry->nplans && entry->plans[i] == plan) {
            memmove(entry->plans + 1, entry->plans, i * sizeof *entry->plans);
            entry->plans[0] = plan; /* the first to try next time */
        }
        if (!diverged && several)
            plan->numbers = numbers;
        *wrong += diverged || plan->doubtful;
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
    PyObject *result;
    bool resized = !entry->ntraces && !entry->hits;
    if (entry->awaited && atomic_load(&entry->awaited->state) != RT_CODE_waiting)
        jit_entry_again(entry);
    jit_entry_whole(self, entry);
    if (entry->nplans > 1 && jit_runs_in_vain(entry))
        entry_give_up(self, entry);
    if (entry->plain)
        return jit_call_divided(self, entry, args, nargs, kwnames);
    bool looked = jit_guess_looks(entry);
    if (looked && jit_guess_plain(entry))
        return jit_guess_call(self, entry, args, nargs, kwnames);
    if (jit_is_full(self, entry) &&
        !jit_guess_first(entry, jit_guess_numbers(entry, params))) {
        entry->refs++;
        if (plain_is_slow(self, args, nargs, kwnames, &result))
            entry->ntraces = 0;
        jit_entry_release(entry);
        return result;
    }
    if (!entry->hits++)
        self->wasted -= self->wasted < entry->waste ? self->wasted : entry->waste;
    self->hits++;
    self->missed = 0;
    if (!resized)
        self->fresh = 0;
    entry->refs++;
    uint32_t borrowed = entry->sig.nleaves > entry->ncall ? entry->nparams : 0;
    params_hold(params, 0, borrowed);
    PyObject *log = NULL;
    uint32_t wrong = 0;
    int64_t begin = looked && entry->guesses.timing ? rt_clock_ns() : 0;
    result = entry_run(self, entry, args, params, &outcome, &log, &wrong);
    wrong += outcome != OUTCOME_done;
    if (outcome == OUTCOME_done && resized && self->vain)
        self->vain -= self->vain > 1 ? 2 : 1;
    if (outcome == OUTCOME_plain)
        result = jit_call_plain(self, args, nargs, kwnames);
    else if (outcome == OUTCOME_again) {
        result = jit_call_traced(self, entry, false, args, nargs, kwnames, params, log);
        if (!entry->plain && !jit_is_full(self, entry) &&
            (entry->ntraces >= jit_traces_max(self) || jit_never_repeats(self, entry)))
            entry_give_up(self, entry);
    } else if (outcome == OUTCOME_none) {
        bool closed = !entry->ntraces && self->wasted > jit_wasted_max(self);
        self->vain += !entry->ntraces;
        if (closed || jit_is_full(self, entry))
            result = jit_call_plain(self, args, nargs, kwnames);
        else if (entry->ntraces >= jit_traces_max(self) ||
                 jit_never_repeats(self, entry)) {
            entry_give_up(self, entry);
            result = jit_call_divided(self, entry, args, nargs, kwnames);
        } else {
            jit_log(self, JIT_LOG_debug, "none of %u plans holds", entry->nplans);
            int64_t since = rt_clock_ns();
            result =
                jit_call_traced(self, entry, false, args, nargs, kwnames, params, NULL);
            jit_mean_take(&self->traced_ns, rt_clock_ns() - since);
        }
    }
    if (looked)
        jit_guess_note(entry, wrong, begin ? rt_clock_ns() - begin : 0);
    Py_XDECREF(log);
    params_drop(params, 0, borrowed);
    jit_entry_release(entry);
    return result;
}

/* Arguments that cannot be traced (status 0), or too many kinds of them. */
static void
tell_unknown(JitFunc *self, int status)
{
    self->unknown += !status;
    bool told = self->bail == BAIL_raised || self->bail == BAIL_overlap;
    TraceBail bail = !status ? BAIL_argument
                     : told  ? self->bail /* what all those traces ended with */
                             : BAIL_too_many_paths;
    if (self->bail != bail)
        jit_log_plain(self, bail, NULL);
    self->bail = bail;
}

static PyObject *
call_unknown(JitFunc *self, int status, PyObject *const *args, size_t nargs,
             PyObject *kwnames)
{
    tell_unknown(self, status);
    return jit_call_plain(self, args, nargs, kwnames);
}

/* A call of a new signature where too many traces were wasted. */
static PyObject *
call_closed(JitFunc *self, PyObject *const *args, size_t nargs, PyObject *kwnames)
{
    PyObject *result;
    tell_unknown(self, 1);
    const void *first = PyVectorcall_NARGS(nargs) ? args[0] : NULL;
    self->nagain = first && first == self->again ? self->nagain + 1 : 0;
    self->again = first;
    if (self->nagain == AGAIN_MANY) { /* one that stays: its next call is traced */
        self->wasted = jit_wasted_max(self);
        self->missed = 0;
    }
    if (plain_is_slow(self, args, nargs, kwnames, &result))
        self->wasted = self->missed = 0;
    return result;
}

static bool
holds_too_much(PyObject *argument)
{
    return ((PyList_CheckExact(argument) || PyTuple_CheckExact(argument)) &&
            PySequence_Fast_GET_SIZE(argument) > PARAMS_MAX) ||
           (PyDict_CheckExact(argument) && PyDict_GET_SIZE(argument) > PARAMS_MAX);
}

/* The signature of the arguments: 1, 0 (they cannot be traced), or -1 with an exception set. */
static int
entry_sign(JitFunc *self, Entry *entry, PyObject *const *args, uint32_t n,
           PyObject *kwnames, PyObject **params)
{
    uint32_t nparams = 0, at = 0;
    int status = 1;
    entry->ncall = n;
    entry->kwnames = Py_XNewRef(kwnames);
    for (uint32_t i = 0; status > 0 && i < n; i++)
        status = holds_too_much(args[i]) ? 0
                 : jit_int_varies(self, args[i], i, n)
                     ? jit_sig_add_number(&entry->sig, args[i])
                     : jit_sig_add(&entry->sig, args[i]);
    if (status > 0 && entry->sig.nleaves > PARAMS_MAX)
        status = 0;
    if (status > 0)
        jit_inside_varies(self, entry);
    for (uint32_t i = 0; status > 0 && i < n; i++)
        jit_sig_match(&entry->sig, &at, args[i], params, &nparams);
    entry->nparams = nparams;
    return status;
}

/* The call of a new entry by plans it has got from another one. */
static PyObject *
call_resized(JitFunc *self, Entry *entry, PyObject *const *args, size_t nargs,
             PyObject *kwnames, PyObject **params)
{
    PyObject *result = NULL;
    entry->refs++;
    if (jit_entry_insert(self, entry) == 0)
        result = call_entry(self, entry, args, nargs, kwnames, params);
    else
        jit_entry_release(entry);
    entry->trial = false;
    jit_entry_release(entry);
    return result;
}

static PyObject *
call_new(JitFunc *self, PyObject *const *args, uint32_t n, size_t nargs,
         PyObject *kwnames, bool trial)
{
    PyObject *params[PARAMS_MAX], *result = NULL;
    Entry *entry = PyMem_Calloc(1, sizeof *entry);
    self->misses++;
    if (self->wasted > jit_wasted_max(self) && ++self->missed > MISSED_MAX) {
        self->plain = true; /* not even the signatures are worth making */
        self->bail = BAIL_too_many_paths;
        PyMem_Free(entry);
        return jit_call_plain(self, args, nargs, kwnames);
    }
    if (!entry)
        return PyErr_NoMemory();
    entry->refs = 1;
    entry->trial = trial;
    int status = entry_sign(self, entry, args, n, kwnames, params);
    uint32_t borrowed =
        status > 0 && entry->sig.nleaves > entry->ncall ? entry->nparams : 0;
    params_hold(params, 0, borrowed);
    if (status > 0 && self->vain < VAIN_MANY && jit_entry_resize(self, entry, params)) {
        result = call_resized(self, entry, args, nargs, kwnames, params);
    } else if (status <= 0 || self->wasted > jit_wasted_max(self)) {
        jit_entry_release(entry);
        if (status > 0)
            result = call_closed(self, args, nargs, kwnames);
        else if (status == 0)
            result = call_unknown(self, status, args, nargs, kwnames);
    } else {
        int64_t begin = rt_clock_ns();
        result = jit_call_traced(self, entry, true, args, nargs, kwnames, params, NULL);
        jit_mean_take(&self->traced_ns, rt_clock_ns() - begin);
    }
    params_drop(params, 0, borrowed);
    return result;
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
    PyObject *result = call_new(self, args, (uint32_t)nargs, (size_t)nargs, NULL, true);
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
        return jit_call_plain(self, args, nargsf, kwnames);
    if (!errstate_is_quiet(self->state, self->errstate))
        return jit_call_plain(self, args, nargsf, kwnames);
    for (uint32_t i = 0; i < self->nentries; i++) {
        if (entry_match(self->entries[i], args, n, kwnames, params, &nparams)) {
            if (i)
                entry_to_front(self, i);
            return call_entry(self, self->entries[0], args, nargs, kwnames, params);
        }
    }
    return call_new(self, args, n, nargs, kwnames, false);
}
