/* func_trace.c - a call that is traced: its twin, its tracers, and what its entry learns. */
#include <stdlib.h>
#include <string.h>

#include "jit/func.h"
#include "jit/resize.h"
#include "kernels/kernels.h"

/* -- Tracing ----------------------------------------------------------------------- */

PyObject *
jit_plain_function(PyObject *callable)
{
    return PyMethod_Check(callable) ? PyMethod_GET_FUNCTION(callable) : callable;
}

int
jit_take_defaults(PyObject *made, PyObject *function)
{
    PyObject *twin = Py_NewRef(jit_plain_function(made)),
             *defaults = PyFunction_GET_DEFAULTS(function),
             *kwdefaults = PyFunction_GET_KW_DEFAULTS(function);
    int status = 0;
    if (PyFunction_GET_DEFAULTS(twin) != defaults)
        status = PyFunction_SetDefaults(twin, defaults ? defaults : Py_None);
    if (status == 0 && PyFunction_GET_KW_DEFAULTS(twin) != kwdefaults)
        status = PyFunction_SetKwDefaults(twin, kwdefaults ? kwdefaults : Py_None);
    Py_DECREF(twin);
    return status;
}

/* The function's code and default values may be exchanged (IPython's autoreload does). */
static int
twin_refresh(JitFunc *self)
{
    PyObject *function = jit_plain_function(self->wrapped);
    if (!PyFunction_Check(function))
        return 0;
    if (self->twin && self->code != PyFunction_GET_CODE(function)) {
        Py_CLEAR(self->twin);
        Py_CLEAR(self->names);
        self->plain = false;
    }
    Py_XSETREF(self->code, Py_NewRef(PyFunction_GET_CODE(function)));
    if (!self->twin || self->twin == Py_None)
        return 0;
    return jit_take_defaults(self->twin, function);
}

/* Rewrites the function. Other threads run meanwhile and may do the same: they see a twin when it is
** whole. */
static int
twin_make(JitFunc *self, bool numbers)
{
    PyObject *api = jit_api(self->state), *names = NULL;
    int status = 0;
    PyObject *twin = api ? PyObject_CallMethod(api, "_rewrite", "OOO", self->wrapped,
                                               numbers ? Py_True : Py_False,
                                               jit_disk_directory(self->disk))
                         : NULL;
    if (!twin)
        return -1;
    if (PyTuple_Check(twin)) { /* the function itself, and what it loads */
        names = Py_NewRef(PyTuple_GET_ITEM(twin, 1));
        Py_SETREF(twin, Py_NewRef(PyTuple_GET_ITEM(twin, 0)));
    } else if (PyUnicode_Check(twin)) {
        PyObject *done = PyObject_CallMethod((PyObject *)self, "_set_plain", "O", twin);
        Py_SETREF(twin, Py_NewRef(Py_None));
        status = done ? 1 : -1;
        Py_XDECREF(done);
    }
    Py_XSETREF(self->names, names);
    Py_XSETREF(self->twin, twin);
    self->numbers = numbers || twin == Py_None;
    if (status > 0)
        jit_log_plain(self, self->bail, NULL);
    return status < 0 ? -1 : 0;
}

/* The rewritten function, a new reference; NULL: none (self->bail says why) or an exception is set. */
static PyObject *
twin_of(JitFunc *self, PyObject *const *args, uint32_t n)
{
    bool numbers = true;
    for (uint32_t i = 0; i < n; i++)
        numbers &= !PyArray_Check(args[i]);
    if (twin_refresh(self) < 0 ||
        ((!self->twin || (numbers && !self->numbers)) && twin_make(self, numbers) < 0))
        return NULL;
    return self->twin == Py_None ? NULL : Py_XNewRef(self->twin);
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
bool
jit_params_overlap(PyObject *const *params, uint32_t n)
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
                const JitAlias *aliases, int naliases, PyObject **traced)
{
    PyObject *params[PARAMS_MAX], *tracers[PARAMS_MAX] = {NULL};
    uint32_t nparams = 0, made = 0, at = 0;
    int status = -1;
    for (uint32_t k = 0; k < entry->ncall; k++) {
        const JitLeaf *leaf = &entry->sig.leaves[at];
        uint32_t place = at;
        uint32_t first = leaf->kind == LEAF_same ? (uint32_t)leaf->length : nparams;
        if (!jit_sig_match(&entry->sig, &at, args[k], params, &nparams)) {
            PyErr_SetString(
                PyExc_RuntimeError,
                "pyasc: code that the function calls gave an argument another "
                "shape or dtype, in a call that has to be followed again; run "
                "it without pyasc.jit");
            goto done;
        }
        for (; made < nparams; made++) {
            tracers[made] = trace_argument(trace, params[made]);
            if (!tracers[made])
                goto done;
        }
        if (leaf->kind > LEAF_identity && !trace_outer_add(trace, args[k]))
            trace_end(trace, BAIL_argument, NULL);
        if (leaf->kind > LEAF_identity && jit_inside_inputs(&entry->sig, place)) {
            Inside inside = {
                .sig = &entry->sig, .tracers = tracers, .at = place, .param = first};
            traced[k] = jit_inside_copy(trace, &inside, args[k]);
            if (!traced[k])
                goto done;
            continue;
        }
        if (leaf->kind == LEAF_identity && trace_outside_add(trace, args[k]) < 0)
            goto done;
        if ((leaf->kind == LEAF_list || leaf->kind == LEAF_dict) &&
            trace_container_argument(trace, args[k], k) < 0)
            goto done;
        if (leaf->kind == LEAF_tuple && leaf->object) {
            traced[k] = trace_named_argument(trace, args[k]);
            if (!traced[k])
                goto done;
            continue;
        }
        traced[k] = jit_leaf_is_param(leaf) || leaf->kind == LEAF_same
                        ? Py_NewRef(tracers[first])
                        : Py_NewRef(args[k]);
    }
    trace->narguments = trace->nparams;
    for (int i = 0; i < naliases; i++)
        trace_argument_share(tracers[aliases[i].param], tracers[aliases[i].base]);
    status = 0;
done:
    for (uint32_t i = 0; i < made; i++)
        Py_XDECREF(tracers[i]);
    return status;
}

/* A new plan goes to the front; the oldest makes room, and is released last: that may run anything. */
static void
entry_add_plan(Entry *entry, JitPlan *plan)
{
    uint32_t most = plan->numbers ? PLANS_MAX : PLANS_TRIED;
    JitPlan *oldest = entry->nplans >= most ? entry->plans[--entry->nplans] : NULL;
    memmove(entry->plans + 1, entry->plans, entry->nplans * sizeof *entry->plans);
    entry->plans[0] = plan;
    entry->nplans++;
    if (oldest)
        jit_plan_release(oldest);
}

/* Compiling may wait, and so may telling of it: meanwhile others may take the plan away. */
void
jit_entry_compile(JitFunc *self, Entry *entry, JitPlan *plan)
{
    plan->refs++;
    entry_add_plan(entry, plan);
    jit_compile_plan(self->state, plan, self->tier, self->disk);
    jit_log(self, JIT_LOG_info, "plan %u of a signature: %u steps", entry->nplans,
            plan->rt->nsteps);
    jit_plan_release(plan);
}

/* The plan is for arguments that lie in each other. False: an exception is set. */
static bool
plan_share(JitPlan *plan, const JitAlias *aliases, int n)
{
    plan->aliases = PyMem_Malloc((size_t)n * sizeof *aliases);
    if (!plan->aliases) {
        PyErr_NoMemory();
        return false;
    }
    memcpy(plan->aliases, aliases, (size_t)n * sizeof *aliases);
    plan->naliases = (uint32_t)n;
    return true;
}

/* True of many steps of few elements, each of which may take longer than Python takes for it. */
static bool
is_of_numbers(const RtPlan *rt)
{
    uint64_t elements = 0;
    for (uint32_t i = 0; i < rt->ngroups; i++) {
        uint64_t n = 1;
        for (uint32_t d = 0; d < rt->groups[i]->ndim; d++)
            n *= (uint64_t)rt->groups[i]->shape[d];
        elements += n;
    }
    return rt->nsteps >= DOUBTFUL_STEPS &&
           elements <= (uint64_t)DOUBTFUL_ELEMENTS * rt->nsteps;
}

/* After a trace: a plan for the entry, or the reason why its calls run plain. Returns
 *false
 ** where there is nothing to keep. */
static bool
entry_learn(JitFunc *self, Entry *entry, Trace *trace, const JitAlias *aliases,
            int naliases, PyObject *const *params)
{
    if (trace->tries && trace->wrote)
        trace_end(trace, BAIL_caught, NULL);
    if (trace->forgot)
        trace_end(trace, BAIL_memory, NULL);
    if (trace->nparams > PARAMS_MAX)
        trace_end(trace, BAIL_argument, NULL);
    if (!trace->live) {
        if (trace->bail == BAIL_raised || trace->bail == BAIL_overlap || naliases > 0) {
            entry->shares_plain |= naliases > 0;
            self->bail = trace->bail;
            return false;
        }
        entry->plain = true;
        entry->bail = trace->bail;
        Py_XSETREF(entry->detail, Py_XNewRef(trace->bail_detail));
        jit_log_plain(self, entry->bail, entry->detail);
        return true;
    }
    bool exact = trace_is_exact(trace); /* the plan takes the graph */
    JitSource *source = jit_source_new(trace, 0);
    JitPlan *plan = source ? jit_plan_new(self->state, trace) : NULL;
    if (plan && naliases > 0 && !plan_share(plan, aliases, naliases)) {
        jit_plan_release(plan);
        plan = NULL;
    }
    if (plan) {
        plan->source = source;
        plan->numbers = jit_guess_numbers(entry, params);
        plan->doubtful = exact && is_of_numbers(plan->rt);
        source = NULL;
        if (jit_source_take_late(plan, trace) == 0) {
            if (!plan->naliases)
                jit_plan_keep_record(plan, trace);
            jit_entry_compile(self, entry, plan);
            return true;
        }
        jit_plan_release(plan);
    }
    jit_source_free(source);
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
bool
jit_int_varies(JitFunc *self, PyObject *argument, uint32_t i, uint32_t n)
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

/* Why a loop was not compiled as a whole, for explain(). */
static void
note_loop(JitFunc *self, Entry *entry, const Trace *trace)
{
    entry->loop_reason = trace->nest_reason;
    entry->loop_line = trace->nest_line;
    if (trace->nest_reason)
        jit_log(self, JIT_LOG_debug,
                "the loop at line %d is not compiled as a whole: %s", trace->nest_line,
                trace->nest_reason);
}

static void
take_options(Trace *trace, const JitFunc *self)
{
    trace->numerics = self->numerics;
    trace->warns = self->errstate;
    trace->contracts = self->numerics == NUMERICS_fast && kernel_recipe_form();
    trace->threads = self->threads;
    trace->kernels = self->tier == 0 ? NULL : self->disk;
    trace->make_nest = self->tier == 0 ? NULL : jit_nest_new;
    trace->nests_always = self->tier == 1;
    trace->twins = jit_disk_directory(self->disk);
}

/* The first trace of a signature is wasted until the signature comes again: a long one is so many. */
static uint32_t
length_of(const Trace *trace, uint32_t unit, uint32_t most)
{
    uint32_t length = (2 * trace->nops + trace->nhooks) / unit;
    return length < most ? length : most - 1;
}

static void
note_waste(JitFunc *self, Entry *entry, const Trace *trace)
{
    entry->waste = 1 + length_of(trace, WASTE_LONG, WASTE_MAX);
    self->wasted += entry->waste;
}

static void
note_work(Entry *entry, const Trace *trace)
{
    entry->length = trace->nops;
    entry->worth |= trace->narrays >= WORTH_ARRAYS || trace->nests_work >= WORTH_STEPS;
}

/* The path may be rare: it is no reason to stop. */
static void
note_raised(JitFunc *self, Entry *entry, bool fresh)
{
    self->bail = BAIL_raised;
    entry->raised++;
    entry->ntraces -= !fresh;
}

/* Runs the call under a trace; the entry, if it is not kept yet, is kept or freed. `log`: the
** effects that a plan had before it turned out not to hold. */
PyObject *
jit_call_traced(JitFunc *self, Entry *entry, bool fresh, PyObject *const *args,
                size_t nargs, PyObject *kwnames, PyObject *const *params, PyObject *log)
{
    PyObject *traced[PARAMS_MAX] = {NULL}, *result = NULL, *twin, *names = NULL;
    JitAlias aliases[PARAMS_MAX];
    int naliases = 0;
    uint32_t n = entry->ncall;
    Trace *trace = NULL;
    bool kept = false;
    bool holds = jit_inside_holds(self, entry);
    twin = holds ? twin_of(self, params, entry->nparams) : NULL;
    if (!twin) {
        if (!PyErr_Occurred())
            result = jit_call_plain(self, args, nargs, kwnames);
        goto done;
    }
    trace = trace_new(self->state->trace, jit_trace_run, jit_trace_loop, self->state);
    if (!trace)
        goto done;
    take_options(trace, self);
    trace->trial = entry->trial;
    trace->divides = !entry->whole && !entry->trial && self->turns != Py_None;
    entry->trial = false;
    trace->varying = self->varying;
    trace->symbolic = !trace->trial && !naliases && jit_func_saw_others(self, entry);
    names = Py_XNewRef(self->names);
    if (jit_params_overlap(params, entry->nparams))
        naliases = jit_aliases_find(params, entry->nparams, aliases);
    trace->overlap = naliases < 0;
    if (trace_resume(trace, log) < 0 ||
        (PyMethod_Check(self->wrapped) &&
         trace_outside_add(trace, PyMethod_GET_SELF(self->wrapped)) < 0) ||
        trace_arguments(trace, entry, args, aliases, naliases, traced) < 0 ||
        trace_enter(trace, self->wrapped) < 0 ||
        (names && trace_enter_names(trace, self->wrapped, names) < 0)) {
        trace_abandon(trace);
        goto done;
    }
    self->traces++;
    entry->ntraces++;
    result = trace_capture(trace, twin, traced, nargs, kwnames);
    note_work(entry, trace);
    entry->nests |= trace->nests > 0;
    if (entry->ntraces == 1)
        note_waste(self, entry, trace);
    else if (!trace->nests || !result) /* a path: a long one is as good as several */
        entry->ntraces += length_of(trace, PATH_LONG, PATH_WEIGHT_MAX);
    rt_code_drop(entry->awaited);
    entry->awaited = trace->awaited;
    note_loop(self, entry, trace);
    for (uint32_t i = 0; i < n; i++)
        Py_CLEAR(traced[i]);
    if (trace->sized)
        note_sized(self, entry, trace);
    if (result)
        kept = entry_learn(self, entry, trace, aliases, naliases, params);
    else
        note_raised(self, entry, fresh);
done:
    for (uint32_t i = 0; i < n; i++)
        Py_XDECREF(traced[i]);
    if (trace)
        trace_release(trace);
    Py_XDECREF(names);
    Py_XDECREF(twin);
    if (fresh && (!kept || jit_entry_insert(self, entry) < 0)) {
        if (result)
            PyErr_Clear(); /* no memory to keep the entry in; the call is done */
        jit_entry_release(entry);
    }
    return result;
}
