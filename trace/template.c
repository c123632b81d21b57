/* template.c - templates: structures of Python objects with references to values in
** them. */
#include "trace/internal.h"

PyObject *
trace_ref_new(TraceState *state, IrValue value)
{
    TraceRef *ref = PyObject_New(TraceRef, state->ref_type);
    if (ref)
        ref->value = value;
    return (PyObject *)ref;
}

bool
trace_ref_check(TraceState *state, PyObject *object)
{
    return Py_TYPE(object) == state->ref_type;
}

static PyObject *
map_sequence(TraceState *state, PyObject *template, TraceMapFn map, void *context)
{
    bool tuple = PyTuple_CheckExact(template);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(template);
    PyObject *copy = tuple ? PyTuple_New(n) : PyList_New(n);
    for (Py_ssize_t i = 0; copy && i < n; i++) {
        PyObject *item = trace_template_map(
            state, PySequence_Fast_GET_ITEM(template, i), map, context);
        if (!item) {
            Py_CLEAR(copy);
            break;
        }
        if (tuple)
            PyTuple_SET_ITEM(copy, i, item);
        else
            PyList_SET_ITEM(copy, i, item);
    }
    return copy;
}

PyObject *
trace_template_map(TraceState *state, PyObject *template, TraceMapFn map, void *context)
{
    PyObject *key, *value, *copy;
    Py_ssize_t at = 0;
    if (trace_ref_check(state, template)) {
        IrValue of = ((TraceRef *)template)->value;
        return trace_ref_new(state, of ? map(context, of) : 0);
    }
    if (PyTuple_CheckExact(template) || PyList_CheckExact(template))
        return map_sequence(state, template, map, context);
    if (!PyDict_CheckExact(template))
        return Py_NewRef(template);
    copy = PyDict_New();
    while (copy && PyDict_Next(template, &at, &key, &value)) {
        PyObject *item = trace_template_map(state, value, map, context);
        if (!item || PyDict_SetItem(copy, key, item) < 0)
            Py_CLEAR(copy);
        Py_XDECREF(item);
    }
    return copy;
}
