/* nest_inline.c - calls of Python functions in a nest: their bodies, with slots of their own. Some builtins have a
** form in Python (_forms.py), which is what is called.
**
** Each place that calls has a tree of its own, so that memory that belongs to places of the tree is
** not shared. Code and defaults of the function are guarded, as are the names that it reads from
** outside.
*/
#include <string.h>

#include "trace/invoke.h"
#include "trace/nest.h"

enum { DEPTH_MAX = 8 };

typedef struct NestInline {
    struct NestInline *next;
    const NestTree *at, *tree;
    uint32_t nslots, nargs, nouter;
    int returns;
    PyObject **outer;
} NestInline;

static NestInline *
find(const NestMaker *m, const NestTree *at)
{
    NestInline *found = m->inlines;
    while (found && found->at != at)
        found = found->next;
    return found;
}

/* The function's cell of this name, borrowed; NULL: it has none. */
static PyObject *
cell_of(PyObject *function, PyObject *name)
{
    PyObject *closure = PyFunction_GET_CLOSURE(function), *cell = NULL;
    PyObject *names = PyCode_GetFreevars((PyCodeObject *)PyFunction_GET_CODE(function));
    for (Py_ssize_t i = 0; closure && names && i < PyTuple_GET_SIZE(names); i++) {
        if (PyUnicode_Compare(PyTuple_GET_ITEM(names, i), name) == 0)
            cell = PyTuple_GET_ITEM(closure, i);
    }
    Py_XDECREF(names);
    return cell;
}

/* The value of a name from outside of a function: of one that is made in this call from its cells, which do not change
** any more (python/pyasc/_nests.py); else guarded. NULL: there is none. */
static PyObject *
load_name(NestMaker *m, PyObject *function, PyObject *name)
{
    PyObject *globals =
        PyFunction_Check(function) ? PyFunction_GET_GLOBALS(function) : NULL;
    PyObject *builtins = PyEval_GetBuiltins();
    PyObject *cell = globals ? cell_of(function, name) : NULL, *value;
    if (cell)
        return trace_local_find(m->trace, function) ? Py_XNewRef(PyCell_GET(cell))
                                                    : NULL;
    value = globals ? PyDict_GetItemWithError(globals, name) : NULL;
    if (!value && builtins)
        value = PyDict_GetItemWithError(builtins, name);
    return value ? trace_load(m->trace, SOURCE_global, globals, name, value) : NULL;
}

/* What the function reads from outside: the form of a builtin nothing. */
static bool
load_outer(NestMaker *m, NestInline *made, PyObject *function, PyObject *names)
{
    bool own = PyFunction_Check(function) || PyTuple_GET_SIZE(names) == 0;
    made->nouter = (uint32_t)PyTuple_GET_SIZE(names);
    made->outer = nest_take(m, made->nouter * sizeof *made->outer);
    for (uint32_t i = 0; own && made->outer && i < made->nouter; i++) {
        PyObject *value = load_name(m, function, PyTuple_GET_ITEM(names, i));
        if (!value || PyList_Append(m->held, value) < 0) {
            Py_XDECREF(value);
            PyErr_Clear();
            return false;
        }
        made->outer[i] = value;
        Py_DECREF(value); /* the list has it */
    }
    return own && made->outer != NULL;
}

static NestInline *
make(NestMaker *m, const NestTree *at, PyObject *function)
{
    PyObject *description, *names, *describe = m->trace->state->describe;
    NestInline *made = nest_take(m, sizeof *made);
    int returns;
    if (!made || !describe || m->emits)
        return NULL;
    PyObject *known = PyObject_CallOneArg(describe, function);
    bool good = known && PyTuple_Check(known) && PyList_Append(m->held, known) == 0 &&
                PyArg_ParseTuple(known, "OIIOi", &description, &made->nslots,
                                 &made->nargs, &names, &returns) &&
                made->nslots <= NEST_SLOTS_MAX;
    Py_XDECREF(known); /* the list has it */
    if (good && PyFunction_Check(function) && !trace_local_find(m->trace, function))
        good = !PyFunction_GET_CLOSURE(function) &&
               trace_guard_definition(m->trace, function) == 0;
    if (good) {
        made->at = at;
        made->returns = returns;
        made->tree = nest_tree_more(m->arena, description, made->nslots);
        good = made->tree && load_outer(m, made, function, names);
    }
    PyErr_Clear();
    if (!good)
        return NULL;
    made->next = m->inlines;
    m->inlines = made;
    return made;
}

NestValue
nest_inline(NestMaker *m, const NestTree *at, PyObject *function, const NestValue *args,
            uint32_t n)
{
    NestInline *called = find(m, at);
    if (!called && !m->failed)
        called = make(m, at, function);
    if (!called || called->nargs != n || m->depth == DEPTH_MAX || m->failed)
        return nest_fail(m, "a call of this function");
    uint32_t nslots = m->nslots, nouter = m->nouter;
    PyObject *const *outer = m->outer;
    int returned = m->returned;
    NestValue *slots = nest_take(m, nslots * sizeof *slots);
    if (!slots)
        return nest_fail(m, NULL);
    memcpy(slots, m->slots, nslots * sizeof *slots);
    m->nslots = called->nslots;
    m->outer = called->outer;
    m->nouter = called->nouter;
    m->returned = called->returns + 1;
    m->depth++;
    for (uint32_t s = 0; s < m->nslots; s++)
        m->slots[s] = s < n ? nest_settled(m, at->parts[s + 1], args[s])
                            : (NestValue){.kind = NEST_unbound};
    nest_block(m, called->tree);
    NestValue value = m->slots[called->returns + 1], flag = m->slots[called->returns];
    memcpy(m->slots, slots, nslots * sizeof *slots);
    m->nslots = nslots;
    m->outer = outer;
    m->nouter = nouter;
    m->returned = returned;
    m->depth--;
    if (!m->failed && flag.known && !flag.low) { /* it has no return */
        value = nest_of(NEST_object, DT_COUNT, 0);
        value.object = Py_None;
        return value;
    }
    if (!m->failed && value.kind == NEST_object && value.object == Py_None)
        return value; /* it is left with that or without it */
    if (m->failed || !flag.known || !flag.low || value.kind == NEST_unbound ||
        value.kind == NEST_conflict)
        return nest_fail(m, "a function that may return nothing");
    return value;
}
