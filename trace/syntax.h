/* syntax.h - functions for Python's syntax trees: what goes through them (syntax.c), what makes nodes (syntax_nodes.c). */
#pragma once

#include <Python.h>

#include <stdbool.h>

enum { PLACE_line, PLACE_COUNT = 4 /* column, end, column of the end */ };

typedef struct TraceSyntax {
    PyObject *
        fields; /* class -> (names of fields that hold nodes, whether it has a place) */
    PyObject *ast, *statement, *name, *call, *constant, *augmented; /* classes */
    PyObject *load;                                                 /* the context */
    PyObject *prefix;                                               /* of hooks */
    PyObject *place[PLACE_COUNT], *id, *ctx, *func, *args, *keywords, *value, *target;
    PyObject *loaded, *bound; /* what is known of a node, in its dict */
    PyObject *blocks[5];      /* fields that hold statements */
    PyObject *empty;
} TraceSyntax;

typedef int (*TraceVisit)(TraceSyntax *s, PyObject *part, void *context);

/* What a function's capsule holds, or NULL with an exception. */
TraceSyntax *trace_syntax_of(PyObject *capsule);
/* The row of a node's class, borrowed; NULL: KeyError. */
PyObject *trace_syntax_row(const TraceSyntax *s, PyObject *node);
/* Calls `visit` for the nodes in a node. */
int trace_each_part(TraceSyntax *s, PyObject *node, TraceVisit visit, void *context);
/* Adds the dict `syntax` of the functions to the module. */
int trace_syntax_add(PyObject *module);

/* syntax_nodes.c */
PyObject *trace_syntax_placed(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
PyObject *trace_syntax_copied(PyObject *self, PyObject *node);
PyObject *trace_syntax_name_node(PyObject *self, PyObject *const *args,
                                 Py_ssize_t nargs);
PyObject *trace_syntax_constant(PyObject *self, PyObject *value);
PyObject *trace_syntax_hook_call(PyObject *self, PyObject *const *args,
                                 Py_ssize_t nargs, PyObject *kwnames);
PyObject *trace_syntax_visited(PyObject *self, PyObject *const *args, Py_ssize_t nargs);

/* The dict of a node, which holds it. Borrowed. */
static inline PyObject *
trace_node_dict(PyObject *node)
{
    PyObject *dict = PyObject_GenericGetDict(node, NULL);
    Py_XDECREF(dict);
    return dict;
}

/* A field, or NULL; borrowed. */
static inline PyObject *
trace_node_field(PyObject *node, PyObject *name)
{
    PyObject *dict = trace_node_dict(node);
    return dict ? PyDict_GetItemWithError(dict, name) : NULL;
}

static inline bool
trace_node_is(PyObject *node, PyObject *kind)
{
    return PyObject_TypeCheck(node, (PyTypeObject *)kind);
}
