/* syntax_nodes.c - nodes of syntax trees: made, copied, given a place, replaced by others. */
#include "trace/syntax.h"

/* -- Making nodes ------------------------------------------------------------------ */

/* A node without fields. */
static PyObject *
node_new(TraceSyntax *s, PyObject *kind)
{
    return ((PyTypeObject *)kind)->tp_new((PyTypeObject *)kind, s->empty, NULL);
}

typedef struct Place {
    PyObject *at[PLACE_COUNT];
} Place;

/* The place of a node, owned. */
static int
place_get(const TraceSyntax *s, PyObject *node, Place *place)
{
    *place = (Place){0};
    for (int i = 0; i < PLACE_COUNT; i++) {
        place->at[i] = Py_XNewRef(trace_node_field(node, s->place[i]));
        if (!place->at[i] && !PyErr_Occurred())
            place->at[i] = PyObject_GetAttr(node, s->place[i]);
        if (!place->at[i])
            return -1;
    }
    return 0;
}

static void
place_drop(Place *place)
{
    for (int i = 0; i < PLACE_COUNT; i++)
        Py_XDECREF(place->at[i]);
}

static int
place_set(const TraceSyntax *s, PyObject *node, const Place *place)
{
    PyObject *dict = trace_node_dict(node);
    for (int i = 0; dict && i < PLACE_COUNT; i++) {
        if (PyDict_SetItem(dict, s->place[i], place->at[i]) < 0)
            return -1;
    }
    return dict ? 0 : -1;
}

/* Gives a node and what is in it the place, if it has none. */
static int
place_part(TraceSyntax *s, PyObject *node, void *place)
{
    PyObject *row = trace_syntax_row(s, node);
    if (!row)
        return -1;
    if (PyTuple_GET_ITEM(row, 1) == Py_True) {
        if (trace_node_field(node, s->place[PLACE_line]))
            return 0;
        if (place_set(s, node, place) < 0)
            return -1;
    }
    if (Py_EnterRecursiveCall(" in a syntax tree"))
        return -1;
    int status = trace_each_part(s, node, place_part, place);
    Py_LeaveRecursiveCall();
    return status;
}

/* placed(node, at): the node with the place of `at`, which parts of it that have none get, too. */
PyObject *
trace_syntax_placed(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    TraceSyntax *s = trace_syntax_of(self);
    Place place = {0};
    if (!s || nargs != 2)
        return s ? PyErr_Format(PyExc_TypeError, "placed takes two nodes") : NULL;
    PyObject *node = NULL;
    if (place_get(s, args[1], &place) == 0 && place_set(s, args[0], &place) == 0 &&
        trace_each_part(s, args[0], place_part, &place) == 0)
        node = Py_NewRef(args[0]);
    place_drop(&place);
    return node;
}

static PyObject *copy_of(TraceSyntax *s, PyObject *node);

/* A field's value once more. */
static PyObject *
copy_of_value(TraceSyntax *s, PyObject *value)
{
    if (!PyList_CheckExact(value))
        return trace_node_is(value, s->ast) ? copy_of(s, value) : Py_NewRef(value);
    PyObject *list = PyList_New(PyList_GET_SIZE(value));
    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(value); i++) {
        PyObject *part = PyList_GET_ITEM(value, i);
        PyObject *new =
            trace_node_is(part, s->ast) ? copy_of(s, part) : Py_NewRef(part);
        if (new)
            PyList_SET_ITEM(list, i, new);
        else
            Py_CLEAR(list);
    }
    return list;
}

/* What is known of a node is of the node itself: it goes. */
static int
forget(PyObject *dict, PyObject *name)
{
    int has = PyDict_Contains(dict, name);
    return has > 0 ? PyDict_DelItem(dict, name) : has;
}

static PyObject *
copy_of(TraceSyntax *s, PyObject *node)
{
    PyObject *row = trace_syntax_row(s, node);
    if (!row || Py_EnterRecursiveCall(" in a syntax tree"))
        return NULL;
    PyObject *new = node_new(s, (PyObject *)Py_TYPE(node));
    PyObject *own = new ? trace_node_dict(new) : NULL,
             *names = PyTuple_GET_ITEM(row, 0);
    int status = own ? PyDict_Update(own, trace_node_dict(node)) : -1;
    if (status == 0 && trace_node_is(node, s->statement))
        status = forget(own, s->loaded) < 0 ? -1 : forget(own, s->bound);
    for (Py_ssize_t i = 0; status == 0 && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        PyObject *value = PyDict_GetItemWithError(own, name);
        if (!value || value == Py_None)
            continue;
        PyObject *copy = copy_of_value(s, value);
        status = copy ? PyDict_SetItem(own, name, copy) : -1;
        Py_XDECREF(copy);
    }
    if (status < 0 || PyErr_Occurred())
        Py_CLEAR(new);
    Py_LeaveRecursiveCall();
    return new;
}

/* copied(node): the node and all in it once more. */
PyObject *
trace_syntax_copied(PyObject *self, PyObject *node)
{
    TraceSyntax *s = trace_syntax_of(self);
    return s ? copy_of(s, node) : NULL;
}

/* name_node(identifier, context = Load) */
PyObject *
trace_syntax_name_node(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    TraceSyntax *s = trace_syntax_of(self);
    if (!s || nargs < 1 || nargs > 2)
        return s ? PyErr_Format(PyExc_TypeError, "name_node: one or two arguments")
                 : NULL;
    PyObject *node = node_new(s, s->name), *dict = node ? trace_node_dict(node) : NULL;
    if (!dict || PyDict_SetItem(dict, s->id, args[0]) < 0 ||
        PyDict_SetItem(dict, s->ctx, nargs > 1 ? args[1] : s->load) < 0)
        Py_CLEAR(node);
    return node;
}

/* constant(value) */
PyObject *
trace_syntax_constant(PyObject *self, PyObject *value)
{
    TraceSyntax *s = trace_syntax_of(self);
    PyObject *node = s ? node_new(s, s->constant) : NULL;
    PyObject *dict = node ? trace_node_dict(node) : NULL;
    if (!dict || PyDict_SetItem(dict, s->value, value) < 0)
        Py_CLEAR(node);
    return node;
}

/* The node of a call with the place. Takes the references, which may be NULL. */
static PyObject *
call_new(TraceSyntax *s, PyObject *func, PyObject *args, const Place *place)
{
    PyObject *node = func && args ? node_new(s, s->call) : NULL, *none = PyList_New(0);
    PyObject *dict = node ? trace_node_dict(node) : NULL;
    if (!dict || !none || PyDict_SetItem(dict, s->func, func) < 0 ||
        PyDict_SetItem(dict, s->args, args) < 0 ||
        PyDict_SetItem(dict, s->keywords, none) < 0 || place_set(s, node, place) < 0)
        Py_CLEAR(node);
    Py_XDECREF(func);
    Py_XDECREF(args);
    Py_XDECREF(none);
    return node;
}

/* hook_call(used, hook, *arguments, at=): the call of a hook, in the place of `at`; `used` gets its name. */
PyObject *
trace_syntax_hook_call(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                       PyObject *kwnames)
{
    TraceSyntax *s = trace_syntax_of(self);
    if (!s || nargs < 2 || !kwnames || PyTuple_GET_SIZE(kwnames) != 1)
        return s ? PyErr_Format(PyExc_TypeError,
                                "hook_call: used, hook, *arguments, at=")
                 : NULL;
    Place place = {0};
    PyObject *identifier = NULL, *func = NULL, *list = NULL, *call = NULL;
    if (place_get(s, args[nargs], &place) < 0)
        goto done;
    identifier = PyUnicode_Concat(s->prefix, args[1]);
    if (identifier)
        PyUnicode_InternInPlace(&identifier);
    if (!identifier || PySet_Add(args[0], identifier) < 0)
        goto done;
    func = trace_syntax_name_node(self, &identifier, 1);
    list = PyList_New(nargs - 2);
    if (!func || !list || place_set(s, func, &place) < 0)
        goto done;
    for (Py_ssize_t i = 2; i < nargs; i++) {
        PyList_SET_ITEM(list, i - 2, Py_NewRef(args[i]));
        if (place_part(s, args[i], &place) < 0)
            goto done;
    }
    call = call_new(s, Py_NewRef(func), Py_NewRef(list), &place);
done:
    Py_XDECREF(identifier);
    Py_XDECREF(func);
    Py_XDECREF(list);
    place_drop(&place);
    return call;
}

/* -- Rewriting --------------------------------------------------------------------- */

/* What visiting a part gives. */
static PyObject *
visit_part(PyObject *rewriter, PyObject *part, PyObject *visits)
{
    PyObject *method = PyDict_GetItemWithError(visits, (PyObject *)Py_TYPE(part));
    PyObject *const args[] = {rewriter, part};
    if (!method && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, (PyObject *)Py_TYPE(part));
    return method ? PyObject_Vectorcall(method, args, 2, NULL) : NULL;
}

/* The list with what is there in place of its nodes: one, or a list of them. */
static PyObject *
visit_list(const TraceSyntax *s, PyObject *rewriter, PyObject *list, PyObject *visits)
{
    PyObject *out = PyList_New(0);
    for (Py_ssize_t i = 0; out && i < PyList_GET_SIZE(list); i++) {
        PyObject *part = Py_NewRef(PyList_GET_ITEM(list, i));
        PyObject *new = trace_node_is(part, s->ast) ? visit_part(rewriter, part, visits)
                                                    : Py_NewRef(part);
        Py_ssize_t n = PyList_GET_SIZE(out);
        int status = new ? 0 : -1;
        if (new)
            status = PyList_CheckExact(new) ? PyList_SetSlice(out, n, n, new)
                                            : PyList_Append(out, new);
        if (status < 0)
            Py_CLEAR(out);
        Py_XDECREF(new);
        Py_DECREF(part);
    }
    return out;
}

/* visited(rewriter, node, visits): the node with what the methods, by classes, made of its parts. */
PyObject *
trace_syntax_visited(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    TraceSyntax *s = trace_syntax_of(self);
    if (!s || nargs != 3 || !PyDict_Check(args[2]))
        return s ? PyErr_Format(PyExc_TypeError, "visited: three arguments") : NULL;
    PyObject *row = trace_syntax_row(s, args[1]),
             *dict = row ? trace_node_dict(args[1]) : NULL;
    if (!dict || Py_EnterRecursiveCall(" in a syntax tree"))
        return NULL;
    PyObject *names = PyTuple_GET_ITEM(row, 0);
    int status = 0;
    for (Py_ssize_t i = 0; status == 0 && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *new = NULL;
        PyObject *value = Py_XNewRef(PyDict_GetItemWithError(dict, name));
        if (value && PyList_CheckExact(value))
            new = visit_list(s, args[0], value, args[2]);
        else if (value && trace_node_is(value, s->ast))
            new = visit_part(args[0], value, args[2]);
        if (new)
            status = PyDict_SetItem(dict, name, new);
        else if (PyErr_Occurred())
            status = -1;
        Py_XDECREF(new);
        Py_XDECREF(value);
    }
    Py_LeaveRecursiveCall();
    return status == 0 ? Py_NewRef(args[1]) : NULL;
}
