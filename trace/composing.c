/* composing.c - rows of composed.def found by their callable, and their arguments in order. */
#include <string.h>

#include "trace/composed.h"

typedef struct Row {
    const char *name, *parameters;
    bool method;
    PyObject *(*make)(Trace *trace, PyObject *const *arguments);
} Row;

static const Row rows[] = {
#define COMPOSED(name, parameters, make) {#name, parameters, false, trace_make_##make},
#define COMPOSED_METHOD(name, parameters, make)                                        \
    {#name, parameters, true, trace_make_##make},
#include "trace/composed.def"
#undef COMPOSED
#undef COMPOSED_METHOD
};

int
trace_composed_load(TraceState *state, PyObject *numpy)
{
    state->composed = PyDict_New();
    for (size_t i = 0; state->composed && i < sizeof rows / sizeof *rows; i++) {
        PyObject *owner = rows[i].method ? (PyObject *)&PyArray_Type : numpy;
        PyObject *callable = PyObject_GetAttrString(owner, rows[i].name);
        PyObject *number = PyLong_FromSize_t(i);
        if (!callable || !number ||
            PyDict_SetItem(state->composed, callable, number) < 0)
            Py_CLEAR(state->composed);
        Py_XDECREF(callable);
        Py_XDECREF(number);
    }
    return state->composed ? 0 : -1;
}

/* The place of a keyword among the names, which spaces part; or -1. */
static int
place_of(const char *names, PyObject *key)
{
    for (int place = 0; *names; place++) {
        size_t n = strcspn(names, " ");
        char name[32] = {0};
        if (n < sizeof name)
            memcpy(name, names, n);
        if (PyUnicode_CompareWithASCIIString(key, name) == 0)
            return place;
        names += n + (names[n] == ' ');
    }
    return -1;
}

static int
count_of(const char *names)
{
    int n = *names != 0;
    for (; *names; names++)
        n += *names == ' ';
    return n;
}

/* False: there is something that the row does not know. */
static bool
bind(const Row *row, PyObject *const *args, size_t nargs, PyObject *kwnames,
     PyObject **bound)
{
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    size_t first = row->method; /* the array has no name */
    if (nargs > (size_t)count_of(row->parameters) + first)
        return false;
    for (size_t i = 0; i < nargs; i++)
        bound[i] = args[i];
    for (Py_ssize_t i = 0; i < nkw; i++) {
        int place = place_of(row->parameters, PyTuple_GET_ITEM(kwnames, i));
        if (place < 0 || bound[(size_t)place + first])
            return false;
        bound[(size_t)place + first] = args[nargs + (size_t)i];
    }
    return true;
}

PyObject *
trace_composed(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
               PyObject *kwnames)
{
    PyObject *bound[COMPOSED_ARGUMENTS] = {NULL};
    if (PyType_Check(callable) && nargs == 1 && !kwnames && trace->live &&
        !trace->asking &&
        PyType_IsSubtype((PyTypeObject *)callable, &PyNumberArrType_Type))
        return trace_number(trace, callable, args[0]);
    PyObject *number = trace->live && !trace->asking
                           ? PyDict_GetItemWithError(trace->state->composed, callable)
                           : NULL;
    const Row *row = number ? &rows[PyLong_AsSize_t(number)] : NULL;
    PyObject *result = row && bind(row, args, nargs, kwnames, bound)
                           ? row->make(trace, bound)
                           : trace_not_here();
    if (result == Py_NotImplemented)
        Py_SETREF(result, trace_written(trace, callable, args, nargs, kwnames));
    return result;
}

PyObject *
trace_composed_method(Tracer *tracer, PyObject *name, PyObject *const *args,
                      size_t nargs, PyObject *kwnames)
{
    size_t n = nargs + (kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *all[COMPOSED_ARGUMENTS + 1] = {(PyObject *)tracer};
    bool numpy = tracer->kind == TRACER_array || tracer->kind == TRACER_scalar;
    if (!numpy || n >= COMPOSED_ARGUMENTS)
        return trace_not_here();
    PyObject *method = PyObject_GetAttr((PyObject *)&PyArray_Type, name);
    if (!method)
        return trace_not_here();
    for (size_t i = 0; i < n; i++)
        all[i + 1] = args[i];
    PyObject *result = trace_composed(tracer->trace, method, all, nargs + 1, kwnames);
    Py_DECREF(method);
    return result;
}
