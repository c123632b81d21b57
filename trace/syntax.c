/* syntax.c - syntax trees of Python's module ast, as rewriting goes through them (python/pyasc/_nodes.py).
**
** A tree of some thousand nodes is gone through some ten times before a function is called first.
** These are the functions that are called for each of them. Nodes are read and made by their
** dicts: what their types would do with arguments has no part in it.
**
** Law 1: fields that hold operators and contexts are not looked at; the table says which are.
** Law 2: a node that has a place keeps it, and what is in it has one.
*/
#include "trace/syntax.h"

TraceSyntax *
trace_syntax_of(PyObject *capsule)
{
    TraceSyntax *s = PyCapsule_GetPointer(capsule, NULL);
    if (s && !s->fields)
        PyErr_SetString(PyExc_RuntimeError, "no table of syntax");
    return s && s->fields ? s : NULL;
}

PyObject *
trace_syntax_row(const TraceSyntax *s, PyObject *node)
{
    PyObject *row = PyDict_GetItemWithError(s->fields, (PyObject *)Py_TYPE(node));
    if (!row && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, (PyObject *)Py_TYPE(node));
    return row;
}

static int
visit_value(TraceSyntax *s, PyObject *value, TraceVisit visit, void *context)
{
    if (!PyList_CheckExact(value))
        return trace_node_is(value, s->ast) ? visit(s, value, context) : 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++) {
        PyObject *part = PyList_GET_ITEM(value, i);
        if (trace_node_is(part, s->ast) && visit(s, part, context) < 0)
            return -1;
    }
    return 0;
}

int
trace_each_part(TraceSyntax *s, PyObject *node, TraceVisit visit, void *context)
{
    PyObject *row = trace_syntax_row(s, node),
             *dict = row ? trace_node_dict(node) : NULL;
    if (!dict)
        return -1;
    PyObject *names = PyTuple_GET_ITEM(row, 0);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *value = PyDict_GetItemWithError(dict, PyTuple_GET_ITEM(names, i));
        if (!value && PyErr_Occurred())
            return -1;
        if (value && value != Py_None && visit_value(s, value, visit, context) < 0)
            return -1;
    }
    return 0;
}

/* -- Going through a tree ---------------------------------------------------------- */

static int
append(TraceSyntax *Py_UNUSED(s), PyObject *part, void *list)
{
    return PyList_Append(list, part);
}

/* parts_of(node): the nodes in it. */
static PyObject *
syntax_parts_of(PyObject *self, PyObject *node)
{
    TraceSyntax *s = trace_syntax_of(self);
    PyObject *list = s ? PyList_New(0) : NULL;
    if (list && trace_each_part(s, node, append, list) < 0)
        Py_CLEAR(list);
    return list;
}

static PyObject *
walked(TraceSyntax *s, PyObject *start)
{
    PyObject *list = PyList_New(0);
    int status = list ? 0 : -1;
    if (status == 0)
        status = PyList_CheckExact(start) ? visit_value(s, start, append, list)
                                          : PyList_Append(list, start);
    for (Py_ssize_t i = 0; status == 0 && i < PyList_GET_SIZE(list); i++)
        status = trace_each_part(s, PyList_GET_ITEM(list, i), append, list);
    if (status < 0)
        Py_CLEAR(list);
    return list;
}

/* walk(node or list of nodes): these and all nodes in them, in no order. */
static PyObject *
syntax_walk(PyObject *self, PyObject *start)
{
    TraceSyntax *s = trace_syntax_of(self);
    return s ? walked(s, start) : NULL;
}

static bool
is_one_of(PyObject *node, PyObject *kinds)
{
    if (PyType_Check(kinds))
        return trace_node_is(node, kinds);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kinds); i++) {
        if (trace_node_is(node, PyTuple_GET_ITEM(kinds, i)))
            return true;
    }
    return false;
}

/* of_kind(node or list of nodes, class or tuple of classes): those of the nodes that walk gives. */
static PyObject *
syntax_of_kind(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    TraceSyntax *s = trace_syntax_of(self);
    if (s && (nargs != 2 || (!PyType_Check(args[1]) && !PyTuple_Check(args[1])))) {
        PyErr_SetString(PyExc_TypeError, "of_kind takes nodes and their classes");
        return NULL;
    }
    PyObject *all = s ? walked(s, args[0]) : NULL, *list = all ? PyList_New(0) : NULL;
    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(all); i++) {
        PyObject *node = PyList_GET_ITEM(all, i);
        if (is_one_of(node, args[1]) && PyList_Append(list, node) < 0)
            Py_CLEAR(list);
    }
    Py_XDECREF(all);
    return list;
}

/* names_in(node or list of nodes): the names in them, as a set. */
static PyObject *
syntax_names_in(PyObject *self, PyObject *start)
{
    TraceSyntax *s = trace_syntax_of(self);
    PyObject *all = s ? walked(s, start) : NULL, *names = all ? PySet_New(NULL) : NULL;
    for (Py_ssize_t i = 0; names && i < PyList_GET_SIZE(all); i++) {
        PyObject *node = PyList_GET_ITEM(all, i);
        PyObject *id =
            trace_node_is(node, s->name) ? trace_node_field(node, s->id) : NULL;
        if (id && PySet_Add(names, id) < 0)
            Py_CLEAR(names);
    }
    Py_XDECREF(all);
    return names;
}

/* statements_of(body): the statements, and those in them. */
static PyObject *
syntax_statements_of(PyObject *self, PyObject *body)
{
    TraceSyntax *s = trace_syntax_of(self);
    PyObject *left = s ? PySequence_List(body) : NULL;
    int status = left ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < PyList_GET_SIZE(left); i++) {
        PyObject *dict = trace_node_dict(PyList_GET_ITEM(left, i));
        status = dict ? 0 : -1;
        for (int k = 0; status == 0 && k < 5; k++) {
            PyObject *block = PyDict_GetItemWithError(dict, s->blocks[k]);
            if (block && PyList_CheckExact(block))
                status = visit_value(s, block, append, left);
        }
    }
    if (status < 0)
        Py_CLEAR(left);
    return left;
}

/* -- Names ------------------------------------------------------------------------- */

static int add_loaded(TraceSyntax *s, PyObject *node, void *set);

/* The names that a statement loads, found once. Borrowed from it. */
static PyObject *
loaded_of_statement(TraceSyntax *s, PyObject *node)
{
    PyObject *found = PySet_New(NULL), *target = NULL, *frozen = NULL;
    int status = found ? 0 : -1;
    if (status == 0 && trace_node_is(node, s->augmented))
        target = trace_node_field(node, s->target);
    if (target && trace_node_is(target, s->name) && trace_node_field(target, s->id))
        status = PySet_Add(found, trace_node_field(target, s->id));
    if (status == 0)
        status = trace_each_part(s, node, add_loaded, found);
    if (status == 0)
        frozen = PyFrozenSet_New(found);
    if (frozen && PyDict_SetItem(trace_node_dict(node), s->loaded, frozen) < 0)
        status = -1;
    Py_XDECREF(found);
    Py_XDECREF(frozen);
    return status == 0 ? frozen : NULL;
}

static int
add_loaded(TraceSyntax *s, PyObject *node, void *set)
{
    if (trace_node_is(node, s->name)) {
        PyObject *ctx = trace_node_field(node, s->ctx),
                 *id = trace_node_field(node, s->id);
        bool loads = ctx && id && Py_TYPE(ctx) == Py_TYPE(s->load);
        return loads ? PySet_Add(set, id) : 0;
    }
    if (Py_EnterRecursiveCall(" in a syntax tree"))
        return -1;
    int status;
    if (trace_node_is(node, s->statement)) {
        PyObject *known = trace_node_field(node, s->loaded);
        if (!known)
            known = loaded_of_statement(s, node);
        PyObject *both =
            known ? PyNumber_InPlaceOr(set, known) : NULL; /* the set itself */
        Py_XDECREF(both);
        status = both ? 0 : -1;
    } else
        status = trace_each_part(s, node, add_loaded, set);
    Py_LeaveRecursiveCall();
    return status;
}

/* loaded_names(node): names loaded in it. Of a statement they are found once, so as it was then. */
static PyObject *
syntax_loaded_names(PyObject *self, PyObject *node)
{
    TraceSyntax *s = trace_syntax_of(self);
    PyObject *known = s && trace_node_is(node, s->statement)
                          ? trace_node_field(node, s->loaded)
                          : NULL;
    if (s && !known && trace_node_is(node, s->statement))
        known = loaded_of_statement(s, node);
    if (!s || known || PyErr_Occurred())
        return Py_XNewRef(known);
    PyObject *set = PySet_New(NULL);
    if (set && add_loaded(s, node, set) < 0)
        Py_CLEAR(set);
    return set;
}

/* stored_names(nodes, names, special): adds the names that the nodes, which is used up, store to a set. Gives
** the statements among them, and nodes of the classes in `special`: these are not looked into. */
static PyObject *
syntax_stored_names(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    TraceSyntax *s = trace_syntax_of(self);
    if (s && (nargs != 3 || !PyList_CheckExact(args[0]) || !PySet_Check(args[1]) ||
              !PyDict_Check(args[2])))
        return PyErr_Format(PyExc_TypeError, "stored_names: a list, a set, a dict");
    PyObject *left = s ? args[0] : NULL, *others = s ? PyList_New(0) : NULL;
    for (Py_ssize_t i = 0; others && i < PyList_GET_SIZE(left); i++) {
        PyObject *node = PyList_GET_ITEM(left, i);
        int status = 0;
        if (trace_node_is(node, s->name)) {
            PyObject *ctx = trace_node_field(node, s->ctx);
            if (ctx && Py_TYPE(ctx) != Py_TYPE(s->load))
                status = PySet_Add(args[1], trace_node_field(node, s->id));
        } else if (trace_node_is(node, s->statement) ||
                   PyDict_Contains(args[2], (PyObject *)Py_TYPE(node)) == 1)
            status = PyList_Append(others, node);
        else
            status = trace_each_part(s, node, append, left);
        if (status < 0)
            Py_CLEAR(others);
    }
    return others;
}

/* -- The module's functions -------------------------------------------------------- */

/* setup(table, classes AST, stmt, Name, Call, Constant, AugAssign, the context Load, prefix of hooks) */
static PyObject *
syntax_setup(PyObject *self, PyObject *args)
{
    TraceSyntax *s = PyCapsule_GetPointer(self, NULL);
    PyObject *got[9];
    if (!s ||
        !PyArg_ParseTuple(args, "O!OOOOOOOU", &PyDict_Type, &got[0], &got[1], &got[2],
                          &got[3], &got[4], &got[5], &got[6], &got[7], &got[8]))
        return NULL;
    PyObject **to[9] = {&s->fields,   &s->ast,       &s->statement, &s->name,  &s->call,
                        &s->constant, &s->augmented, &s->load,      &s->prefix};
    for (int i = 0; i < 9; i++)
        Py_XSETREF(*to[i], Py_NewRef(got[i]));
    Py_RETURN_NONE;
}

#define FAST(f) (PyCFunction)(void (*)(void)) f
static PyMethodDef functions[] = {
    {"setup", syntax_setup, METH_VARARGS, NULL},
    {"parts_of", syntax_parts_of, METH_O, NULL},
    {"walk", syntax_walk, METH_O, NULL},
    {"of_kind", FAST(syntax_of_kind), METH_FASTCALL, NULL},
    {"names_in", syntax_names_in, METH_O, NULL},
    {"statements_of", syntax_statements_of, METH_O, NULL},
    {"loaded_names", syntax_loaded_names, METH_O, NULL},
    {"stored_names", FAST(syntax_stored_names), METH_FASTCALL, NULL},
    {"placed", FAST(trace_syntax_placed), METH_FASTCALL, NULL},
    {"copied", trace_syntax_copied, METH_O, NULL},
    {"name_node", FAST(trace_syntax_name_node), METH_FASTCALL, NULL},
    {"constant", trace_syntax_constant, METH_O, NULL},
    {"visited", FAST(trace_syntax_visited), METH_FASTCALL, NULL},
    {"hook_call", FAST(trace_syntax_hook_call), METH_FASTCALL | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};

static int
names_load(TraceSyntax *s)
{
    static const char *const names[] = {
        "lineno", "col_offset", "end_lineno", "end_col_offset", "id",       "ctx",
        "func",   "args",       "keywords",   "value",          "target",   "_loaded",
        "_bound", "body",       "orelse",     "finalbody",      "handlers", "cases"};
    PyObject **to[] = {&s->place[0],  &s->place[1],  &s->place[2],  &s->place[3],
                       &s->id,        &s->ctx,       &s->func,      &s->args,
                       &s->keywords,  &s->value,     &s->target,    &s->loaded,
                       &s->bound,     &s->blocks[0], &s->blocks[1], &s->blocks[2],
                       &s->blocks[3], &s->blocks[4]};
    _Static_assert(sizeof names / sizeof *names == sizeof to / sizeof *to, "one each");
    for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
        *to[i] = PyUnicode_InternFromString(names[i]);
        if (!*to[i])
            return -1;
    }
    s->empty = PyTuple_New(0);
    return s->empty ? 0 : -1;
}

static void
syntax_free(PyObject *capsule)
{
    TraceSyntax *s = PyCapsule_GetPointer(capsule, NULL);
    _Static_assert(sizeof *s % sizeof(PyObject *) == 0, "objects alone");
    for (size_t i = 0; i < sizeof *s / sizeof(PyObject *); i++)
        Py_XDECREF(((PyObject **)s)[i]);
    PyMem_Free(s);
}

int
trace_syntax_add(PyObject *module)
{
    TraceSyntax *s = PyMem_Calloc(1, sizeof *s);
    PyObject *capsule = s ? PyCapsule_New(s, NULL, syntax_free) : PyErr_NoMemory();
    PyObject *dict = capsule && names_load(s) == 0 ? PyDict_New() : NULL;
    for (PyMethodDef *f = functions; dict && f->ml_name; f++) {
        PyObject *function = PyCFunction_New(f, capsule);
        if (!function || PyDict_SetItemString(dict, f->ml_name, function) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(function);
    }
    Py_XDECREF(capsule);
    int status = dict ? PyModule_AddObjectRef(module, "syntax", dict) : -1;
    Py_XDECREF(dict);
    return status;
}
