/* state.c - what all traces of a module share: types, operators, tables. */
#include "trace/call.h"
#include "trace/invoke.h"
#include "trace/syntax.h"

static const struct {
    const char *name, *ufunc;
} operators[] = {
#define OPERATOR(name, ufunc, arity) {#name, ufunc},
#include "trace/operators.def"
#undef OPERATOR
};

static int
operators_load(TraceState *state, PyObject *numpy)
{
    PyObject *module = PyImport_ImportModule("operator");
    if (!module)
        return -1;
    for (int i = 0; i < OPERATOR_COUNT; i++) {
        state->operators[i] = PyObject_GetAttrString(module, operators[i].name);
        if (!state->operators[i])
            break;
        if (operators[i].ufunc[0])
            state->ufuncs[i] = PyObject_GetAttrString(numpy, operators[i].ufunc);
    }
    state->getitem = PyObject_GetAttrString(module, "getitem");
    state->setitem = PyObject_GetAttrString(module, "setitem");
    state->delitem = PyObject_GetAttrString(module, "delitem");
    state->index = PyObject_GetAttrString(module, "index");
    state->contains = PyObject_GetAttrString(module, "contains");
    state->call = PyObject_GetAttrString(module, "call");
    Py_DECREF(module);
    return PyErr_Occurred() ? -1 : 0;
}

static int
builtins_load(TraceState *state)
{
    PyObject *builtins = PyEval_GetBuiltins();
    state->isinstance = Py_XNewRef(PyDict_GetItemString(builtins, "isinstance"));
    state->len = Py_XNewRef(PyDict_GetItemString(builtins, "len"));
    state->getattr = Py_XNewRef(PyDict_GetItemString(builtins, "getattr"));
    state->setattr = Py_XNewRef(PyDict_GetItemString(builtins, "setattr"));
    state->iter = Py_XNewRef(PyDict_GetItemString(builtins, "iter"));
    state->repr = Py_XNewRef(PyDict_GetItemString(builtins, "repr"));
    state->hash = Py_XNewRef(PyDict_GetItemString(builtins, "hash"));
    state->format = Py_XNewRef(PyDict_GetItemString(builtins, "format"));
    state->pow = Py_XNewRef(PyDict_GetItemString(builtins, "pow"));
    state->round = Py_XNewRef(PyDict_GetItemString(builtins, "round"));
    state->divmod = Py_XNewRef(PyDict_GetItemString(builtins, "divmod"));
    state->init_name = PyUnicode_InternFromString("__init__");
    state->getattr_name = PyUnicode_InternFromString("__getattr__");
    state->getattribute_name = PyUnicode_InternFromString("__getattribute__");
    state->getitem_name = PyUnicode_InternFromString("__getitem__");
    state->call_name = PyUnicode_InternFromString("__call__");
    state->slots_name = PyUnicode_InternFromString("__slots__");
    return state->getattr && state->iter && state->setattr && state->repr &&
                   state->hash && state->format && state->pow && state->divmod &&
                   state->init_name && state->getattr_name &&
                   state->getattribute_name && state->getitem_name &&
                   state->call_name && state->slots_name
               ? 0
               : -1;
}

TraceState *
trace_state_new(PyObject *module)
{
    TraceState *state = PyMem_Calloc(1, sizeof *state);
    PyObject *numpy = PyImport_ImportModule("numpy"), *where = NULL, *errstate = NULL;
    if (!state || !numpy)
        goto fail;
    if (operators_load(state, numpy) < 0 || trace_direct_load(state, numpy) < 0 ||
        trace_composed_load(state, numpy) < 0 || trace_stores_load(state) < 0 ||
        trace_opaque_load(state) < 0 || trace_items_load(state) < 0 ||
        trace_flat_load(state) < 0 || trace_nest_load(state) < 0 ||
        trace_moved_load(state) < 0 || trace_questions_load(state) < 0 ||
        builtins_load(state) < 0 || tracer_types_add(state, module) < 0 ||
        trace_hooks_add(state, module) < 0 || trace_syntax_add(module) < 0 ||
        trace_loop_type_add(state, module) < 0)
        goto fail;
    state->fixed = trace_fixed_names();
    if (!state->fixed)
        goto fail;
    state->trial_end = PyErr_NewException("pyasc._TrialEnd", PyExc_BaseException, NULL);
    if (!state->trial_end ||
        PyModule_AddObjectRef(module, "TrialEnd", state->trial_end) < 0)
        goto fail;
    state->nest_failed =
        PyErr_NewException("pyasc._NestFailed", PyExc_RuntimeError, NULL);
    state->unbound = PyObject_CallNoArgs((PyObject *)&PyBaseObject_Type);
    if (!state->nest_failed || !state->unbound ||
        PyModule_AddObjectRef(module, "UNBOUND", state->unbound) < 0)
        goto fail;
    where = PyObject_GetAttrString(numpy, "where");
    state->roll = PyObject_GetAttrString(numpy, "roll");
    state->put = PyObject_GetAttrString(numpy, "put");
    state->along = PyObject_GetAttrString(numpy, "take_along_axis");
    errstate = PyObject_GetAttrString(numpy, "errstate");
    state->finfo = PyObject_GetAttrString(numpy, "finfo");
    state->iinfo = PyObject_GetAttrString(numpy, "iinfo");
    state->broadcast = PyObject_GetAttrString(numpy, "broadcast");
    if (!where || !state->broadcast || !state->finfo || !state->iinfo || !errstate ||
        !PyType_Check(errstate))
        goto fail;
    state->dispatcher_type = (PyTypeObject *)Py_NewRef(Py_TYPE(where));
    state->errstate_type = (PyTypeObject *)Py_NewRef(errstate);
    Py_DECREF(where);
    Py_DECREF(errstate);
    Py_DECREF(numpy);
    return state;
fail:
    Py_XDECREF(where);
    Py_XDECREF(errstate);
    Py_XDECREF(numpy);
    if (state)
        trace_state_free(state);
    if (!PyErr_Occurred())
        PyErr_NoMemory();
    return NULL;
}

static void
types_clear(TraceState *state)
{
    PyTypeObject **types[] = {
        &state->tracer_type,   &state->method_type,     &state->ref_type,
        &state->size_type,     &state->loop_type,       &state->items_type,
        &state->flat_type,     &state->function_type,   &state->nest_type,
        &state->errstate_type, &state->dispatcher_type,
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        Py_CLEAR(*types[i]);
}

void
trace_state_free(TraceState *state)
{
    PyObject **objects[] = {
        &state->nest_failed,
        &state->describe,
        &state->fits,
        &state->within,
        &state->unbound,
        &state->skip,
        &state->getitem,
        &state->setitem,
        &state->delitem,
        &state->len,
        &state->isinstance,
        &state->builtin,
        &state->getattr,
        &state->iter,
        &state->setattr,
        &state->store_global,
        &state->call,
        &state->touch,
        &state->roll,
        &state->put,
        &state->along,
        &state->direct,
        &state->composed,
        &state->written,
        &state->add_reduce,
        &state->sources,
        &state->repr,
        &state->hash,
        &state->format,
        &state->index,
        &state->contains,
        &state->pow,
        &state->divmod,
        &state->table,
        &state->rewrite,
        &state->finfo,
        &state->default_rng,
        &state->iinfo,
        &state->broadcast,
        &state->rewritten,
        &state->init_name,
        &state->getattr_name,
        &state->getattribute_name,
        &state->getitem_name,
        &state->call_name,
        &state->slots_name,
        &state->trial_end,
        &state->fixed,
        &state->recipes,
        &state->sum,
        &state->round,
    };
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        Py_CLEAR(*objects[i]);
    for (int i = 0; i < OPERATOR_COUNT; i++) {
        Py_CLEAR(state->operators[i]);
        Py_CLEAR(state->ufuncs[i]);
    }
    types_clear(state);
    trace_loops_free(state);
    PyMem_Free(state);
}

int
trace_state_set_table(TraceState *state, PyObject *table, PyObject *sources,
                      PyObject *rewrite, PyObject *rewritten)
{
    PyObject *random = PyImport_ImportModule("numpy.random");
    Py_XSETREF(state->default_rng,
               random ? PyObject_GetAttrString(random, "default_rng") : NULL);
    Py_XDECREF(random);
    if (!state->default_rng)
        return -1;
    Py_XSETREF(state->sources, Py_NewRef(sources));
    Py_XSETREF(state->table, Py_NewRef(table));
    Py_XSETREF(state->rewrite, Py_NewRef(rewrite));
    Py_XSETREF(state->rewritten, Py_NewRef(rewritten));
    return 0;
}

void
trace_state_set_recipes(TraceState *state, PyObject *recipes)
{
    Py_XSETREF(state->recipes, Py_NewRef(recipes));
}

void
trace_state_set_sum(TraceState *state, PyObject *reduce)
{
    Py_XSETREF(state->sum, Py_NewRef(reduce));
}

void
trace_state_set_function_type(TraceState *state, PyTypeObject *type)
{
    Py_XSETREF(state->function_type, (PyTypeObject *)Py_NewRef(type));
}

void
trace_state_set_nest_type(TraceState *state, PyTypeObject *type)
{
    Py_XSETREF(state->nest_type, (PyTypeObject *)Py_NewRef(type));
}

PyObject *
trace_nest_failed(const TraceState *state)
{
    return state->nest_failed;
}

void
trace_state_set_describe(TraceState *state, PyObject *describe)
{
    Py_XSETREF(state->describe, Py_NewRef(describe));
}
