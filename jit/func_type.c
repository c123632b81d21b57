/* func_type.c - the type of jitted functions: attributes, methods, life. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "jit/func.h"

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
    jit_func_entries_clear(self);
    jit_turns_clear(self);
    self->hits = self->misses = self->traces = 0;
    self->wasted = self->missed = self->vain = 0;
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

/* Facts about one entry, for explain() and report(). Names of what is called may be Python's to make up: meanwhile
** others may take plans away. */
static PyObject *
entry_facts(const JitFunc *self, const Entry *entry)
{
    PyObject *plans = PyList_New(0);
    for (uint32_t i = 0; plans && i < entry->nplans; i++) {
        JitPlan *plan = entry->plans[i];
        plan->refs++;
        PyObject *facts = jit_plan_facts(plan);
        jit_plan_release(plan);
        if (!facts || PyList_Append(plans, facts) < 0)
            Py_CLEAR(plans);
        Py_XDECREF(facts);
    }
    if (!plans)
        return NULL;
    return Py_BuildValue(
        "{s:N,s:N,s:O,s:O,s:O,s:s,s:s,s:s,s:O,s:z,s:i,s:K,s:I,s:O}", "arguments",
        jit_sig_text(&entry->sig), "plans", plans, "plain",
        entry->plain ? Py_True : Py_False, "divided",
        entry->plain && jit_may_divide(entry->bail) ? Py_True : Py_False, "there",
        entry->awaited && atomic_load(&entry->awaited->state) == RT_CODE_ready
            ? Py_True
            : Py_False,
        "bail", trace_bail_name(entry->bail), "message",
        trace_bail_message(entry->bail), "hint", trace_bail_hint(entry->bail), "detail",
        entry->detail ? entry->detail : Py_None, "loop", entry->loop_reason, "line",
        entry->loop_line, "hits", (unsigned long long)entry->hits, "rest",
        entry->guesses.rest, "full", jit_is_full(self, entry) ? Py_True : Py_False);
}

static PyObject *
func_facts(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    JitFunc *self = (JitFunc *)op;
    PyObject *entries = PyList_New(0);
    for (uint32_t i = 0; entries && i < self->nentries; i++) {
        Entry *entry = self->entries[i];
        entry->refs++;
        PyObject *facts = entry_facts(self, entry);
        jit_entry_release(entry);
        if (!facts || PyList_Append(entries, facts) < 0)
            Py_CLEAR(entries);
        Py_XDECREF(facts);
    }
    if (!entries)
        return NULL;
    return Py_BuildValue("{s:N,s:O,s:O,s:s,s:s,s:s}", "entries", entries, "plain",
                         self->plain ? Py_True : Py_False, "closed",
                         self->wasted > jit_wasted_max(self) ? Py_True : Py_False,
                         "bail", trace_bail_name(self->bail), "message",
                         trace_bail_message(self->bail), "hint",
                         trace_bail_hint(self->bail));
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
    JitPlan *held = self->entries[entry]->plans[plan];
    held->refs++; /* others may run, and take it away */
    PyObject *texts = jit_plan_code(held, assembly);
    jit_plan_release(held);
    return texts;
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
    Py_VISIT(self->turns);
    Py_VISIT(self->pieces);
    for (uint32_t i = 0; i < self->nentries; i++) {
        const Entry *entry = self->entries[i];
        for (uint32_t k = 0; k < entry->nplans; k++) {
            int status = jit_source_traverse(entry->plans[k], visit, arg);
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
    jit_func_entries_clear(self);
    Py_CLEAR(self->wrapped);
    Py_CLEAR(self->dict);
    Py_CLEAR(self->options);
    Py_CLEAR(self->shapes);
    Py_CLEAR(self->twin);
    Py_CLEAR(self->code);
    jit_turns_clear(self);
    Py_CLEAR(self->varying);
    Py_CLEAR(self->names);
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
    static char *names[] = {"function", "options",   "tier",    "shapes",   "log_level",
                            "numerics", "cache_dir", "threads", "errstate", NULL};
    PyObject *function, *options = Py_None, *shapes = NULL;
    int tier = -1, log_level = 0, numerics = NUMERICS_numpy, threads = 0, errstate = 0;
    PyObject *directory = Py_None; /* bytes */
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OiOiiOip", names, &function,
                                     &options, &tier, &shapes, &log_level, &numerics,
                                     &directory, &threads, &errstate))
        return NULL;
    if (!PyCallable_Check(function)) {
        PyErr_Format(PyExc_TypeError, "pyasc.jit needs a function, got %.100s",
                     Py_TYPE(function)->tp_name);
        return NULL;
    }
    JitState *state = PyType_GetModuleState(type);
    const char *path = directory == Py_None ? NULL : PyBytes_AsString(directory);
    JitDisk *disk = PyErr_Occurred() ? NULL : jit_disk(state, path);
    JitFunc *self = !disk ? NULL : (JitFunc *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->vectorcall = jit_func_vectorcall;
    self->state = state;
    self->disk = disk;
    jit_compile_prepare(state);
    self->wrapped = Py_NewRef(function);
    self->options = Py_NewRef(options);
    self->shapes = shapes == Py_None ? NULL : Py_XNewRef(shapes);
    self->tier = tier;
    self->threads = threads;
    self->errstate = errstate != 0;
    self->numerics = (TraceNumerics)numerics;
    self->log_level = log_level;
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
    {"_trial", (PyCFunction)(void (*)(void))jit_func_trial, METH_FASTCALL, NULL},
    {"_set_plain", func_set_plain, METH_O, NULL},
    {"__reduce__", func_reduce, METH_VARARGS, NULL},
    {"__copy__", func_copy, METH_NOARGS, NULL},
    {"__deepcopy__", func_copy, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef func_members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(JitFunc, wrapped), READONLY,
     "the plain function"},
    {"_errstate", T_BOOL, offsetof(JitFunc, errstate), READONLY, NULL},
    {"_numerics", T_INT, offsetof(JitFunc, numerics), READONLY, NULL},
    {"_options", T_OBJECT, offsetof(JitFunc, options), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(JitFunc, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(JitFunc, weakrefs), READONLY, NULL},
    {"_piece", T_BOOL, offsetof(JitFunc, piece), 0, NULL},
    {"_pieces", T_OBJECT, offsetof(JitFunc, pieces), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(JitFunc, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef func_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {"_pays", jit_func_pays, NULL, NULL, NULL},
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
