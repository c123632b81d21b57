/* invoke_effect.c - calls that are effects: whose they are, and what they write. */
#include <string.h>

#include "trace/invoke.h"

/* Which arguments an effect writes: the one at `out` (1 + position), and `out=`. */
static uint32_t
written_by_effect(size_t out, PyObject *const *args, size_t nargs, PyObject *kwnames)
{
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    uint32_t mutates = 0;
    if (out && nargs >= out && out <= 32 && args[out - 1] != Py_None)
        mutates = 1u << (out - 1);
    for (Py_ssize_t i = 0; i < nkw && nargs + (size_t)i < 32; i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "out") == 0)
            mutates |= 1u << (nargs + (size_t)i);
    }
    return mutates;
}

/* A step that may do anything, or else the end of the trace: real values for everything. */
PyObject *
trace_unknown_effect(Trace *trace, TraceBail bail, PyObject *callable,
                     PyObject *const *args, size_t nargs, PyObject *kwnames)
{
    if (trace_trial_ends(trace))
        return NULL;
    PyObject *result = bail == BAIL_unknown_call
                           ? trace_opaque(trace, callable, args, nargs, kwnames)
                           : Py_NewRef(Py_NotImplemented);
    if (result != Py_NotImplemented)
        return result;
    Py_DECREF(result);
    trace_end(trace, bail, callable);
    return trace_call(trace, callable, args, nargs, kwnames, 0);
}

/* A method as a function of its owner: an effect of the owner's type. */
PyObject *
trace_effect_of(Trace *trace, PyObject *owner, PyObject *name, PyObject *const *args,
                size_t nargs, PyObject *kwnames)
{
    PyTypeObject *type = Py_TYPE(owner);
    size_t nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0;
    PyObject *writes = PyDict_GetItem(trace->state->sources, (PyObject *)type);
    PyObject *position = writes ? PyDict_GetItem(writes, name) : NULL, *result = NULL;
    PyObject *function = PyObject_GetAttr((PyObject *)type, name);
    PyObject **all = PyMem_Malloc((nargs + nkw + 1) * sizeof *all);
    if (function && all) {
        all[0] = owner;
        memcpy(all + 1, args, (nargs + nkw) * sizeof *all);
        size_t out = position ? 1 + (size_t)PyLong_AsLong(position) : 0;
        result = trace_effect(trace, function, all, nargs + 1, kwnames,
                              written_by_effect(out, all, nargs + 1, kwnames), true);
    } else if (function)
        PyErr_NoMemory();
    Py_XDECREF(function);
    PyMem_Free(all);
    return result;
}

/* What reads a dictionary from outside reads one of tracers in its place. */
PyObject *
trace_read_dict(Trace *trace, PyObject *dict, const char *name, PyObject *const *args,
                size_t nargs)
{
    bool get = strcmp(name, "get") == 0, items = strcmp(name, "items") == 0;
    bool views = items || strcmp(name, "values") == 0 || strcmp(name, "keys") == 0;
    if (!PyDict_CheckExact(dict) || !trace_outer_find(trace, dict) ||
        !(get ? nargs == 1 || nargs == 2 : views && nargs == 0))
        return Py_NewRef(Py_NotImplemented);
    if (views && !items && strcmp(name, "keys") == 0)
        return PyObject_CallMethod(dict, "keys", NULL);
    if (views)
        return trace_dict_items(trace, dict, items);
    PyObject *value = PyDict_GetItemWithError(dict, args[0]), *result;
    if (!value && PyErr_Occurred())
        return NULL;
    if (!value)
        return Py_NewRef(nargs == 2 ? args[1] : Py_None);
    result = trace_wrap_item(trace, dict, args[0], value);
    return result;
}

/* print, clocks, random numbers. What print(file=) writes to may be the user's. */
PyObject *
trace_known_effect(Trace *trace, uint32_t row, PyObject *callable,
                   PyObject *const *args, size_t nargs, PyObject *kwnames)
{
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    uint32_t mutates =
        written_by_effect(row >> CALL_OUT_SHIFT & 0xff, args, nargs, kwnames);
    for (Py_ssize_t i = 0; i < nkw; i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "file") == 0)
            return trace_unknown_effect(trace, BAIL_unknown_call, callable, args, nargs,
                                        kwnames);
    }
    bool makes = callable == trace->state->default_rng || PyType_Check(callable);
    return trace_effect(trace, callable, args, nargs, kwnames, mutates, makes);
}

/* np.errstate: traced code shows no warnings, so 'ignore' changes nothing, nor does 'warn', unless the function wants
** them to be seen. */
PyObject *
trace_call_errstate(Trace *trace, PyObject *callable, PyObject *const *args,
                    size_t nargs, PyObject *kwnames)
{
    size_t n = nargs + (kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0);
    for (size_t i = 0; i < n; i++) {
        bool quiet =
            PyUnicode_Check(args[i]) &&
            (PyUnicode_CompareWithASCIIString(args[i], "ignore") == 0 ||
             (!trace->warns && PyUnicode_CompareWithASCIIString(args[i], "warn") == 0));
        if (!quiet)
            return trace_unknown_effect(trace, BAIL_errstate, callable, args, nargs,
                                        kwnames);
    }
    return PyObject_Vectorcall(callable, args, nargs, kwnames);
}
