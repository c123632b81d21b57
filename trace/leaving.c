/* leaving.c - what leaves a trace: real objects in place of tracers, in containers that stay themselves. */
#include "trace/call.h"

/* Items as they are outside; *changed: one of them is another object now. New reference. */
static PyObject *
items_real(TraceState *state, PyObject *set, bool *changed)
{
    PyObject *items = PySequence_List(set);
    for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items); i++) {
        PyObject *real = trace_real(state, PyList_GET_ITEM(items, i));
        *changed |= real != PyList_GET_ITEM(items, i);
        if (real)
            PyList_SetItem(items, i, real);
        else
            Py_CLEAR(items);
    }
    return items;
}

/* Keys are traced numbers now and then. */
static int
dict_real(TraceState *state, PyObject *dict)
{
    PyObject *keys = PyDict_Keys(dict), *values = PyDict_Values(dict);
    bool other_keys = false, other = false;
    int status = keys && values ? 0 : -1;
    PyObject *real_keys = status == 0 ? items_real(state, keys, &other_keys) : NULL,
             *real_values = real_keys ? items_real(state, values, &other) : NULL;
    if (!real_values)
        status = -1;
    else if (other_keys)
        PyDict_Clear(dict);
    for (Py_ssize_t i = 0; status == 0 && i < PyList_GET_SIZE(real_values); i++) {
        PyObject *value = PyList_GET_ITEM(real_values, i);
        if (other_keys || value != PyList_GET_ITEM(values, i))
            status = PyDict_SetItem(dict, PyList_GET_ITEM(real_keys, i), value);
    }
    Py_XDECREF(keys);
    Py_XDECREF(values);
    Py_XDECREF(real_keys);
    Py_XDECREF(real_values);
    return status;
}

static int
list_real(TraceState *state, PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *real = trace_real(state, PyList_GET_ITEM(list, i));
        if (!real)
            return -1;
        PyList_SetItem(list, i, real);
    }
    return 0;
}

static int
set_real(TraceState *state, PyObject *set)
{
    bool changed = false;
    PyObject *items = items_real(state, set, &changed);
    int status = !items ? -1 : changed && PySet_CheckExact(set) ? PySet_Clear(set) : 0;
    for (Py_ssize_t i = 0;
         changed && status == 0 && PySet_CheckExact(set) && i < PyList_GET_SIZE(items);
         i++)
        status = PySet_Add(set, PyList_GET_ITEM(items, i));
    Py_XDECREF(items);
    return status;
}

PyObject *
trace_frozen_real(TraceState *state, PyObject *set)
{
    bool changed = false;
    PyObject *items = items_real(state, set, &changed);
    PyObject *real = items ? changed ? PyFrozenSet_New(items) : Py_NewRef(set) : NULL;
    Py_XDECREF(items);
    return real;
}

/* What a function's cell, or an instance made in this call, holds. */
static int
holder_real(TraceState *state, PyObject *object)
{
    int status = 0;
    if (PyCell_Check(object)) {
        PyObject *value = PyCell_GET(object);
        PyObject *real = value ? trace_real(state, value) : NULL;
        if (real)
            PyCell_Set(object, real);
        Py_XDECREF(real);
        return value && !real ? -1 : 0;
    }
    if (PyFunction_Check(object)) {
        PyObject *cells = PyFunction_GET_CLOSURE(object);
        for (Py_ssize_t i = 0; status == 0 && cells && i < PyTuple_GET_SIZE(cells); i++)
            status = holder_real(state, PyTuple_GET_ITEM(cells, i));
        if (status == 0 && PyFunction_GET_DEFAULTS(object)) {
            PyObject *real = trace_real(state, PyFunction_GET_DEFAULTS(object));
            status = real ? PyFunction_SetDefaults(object, real) : -1;
            Py_XDECREF(real);
        }
        return status;
    }
    if (PyCFunction_Check(object)) { /* a method of a container */
        PyObject *self = PyCFunction_GET_SELF(object);
        return self && !PyModule_Check(self) ? trace_real_inside(state, self) : 0;
    }
    PyObject **place = PyType_Check(object) ? NULL : _PyObject_GetDictPtr(object);
    return place && *place ? dict_real(state, *place) : 0;
}

/* What an exception says, and those that it comes from. */
static int
exception_real(TraceState *state, PyObject *exception)
{
    PyBaseExceptionObject *self = (PyBaseExceptionObject *)exception;
    PyObject *args = self->args ? trace_real(state, self->args) : NULL;
    int status = self->args && !args ? -1 : 0;
    if (args && PyTuple_Check(args))
        Py_XSETREF(self->args, Py_NewRef(args));
    Py_XDECREF(args);
    if (status == 0 && self->dict)
        status = dict_real(state, self->dict);
    if (status == 0 && self->cause)
        status = trace_real_inside(state, self->cause);
    if (status == 0 && self->context)
        status = trace_real_inside(state, self->context);
    return status;
}

void
trace_raised_real(TraceState *state)
{
    PyObject *type, *value, *traceback, *type2, *value2, *traceback2;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value && PyExceptionInstance_Check(value) &&
        trace_real_inside(state, value) < 0) {
        PyErr_Fetch(&type2, &value2, &traceback2); /* as it was */
        Py_XDECREF(type2);
        Py_XDECREF(value2);
        Py_XDECREF(traceback2);
    }
    PyErr_Restore(type, value, traceback);
}

int
trace_real_inside(TraceState *state, PyObject *container)
{
    int status = Py_ReprEnter(container); /* 1: it holds itself */
    if (status)
        return status < 0 ? -1 : 0;
    if (PyList_CheckExact(container))
        status = list_real(state, container);
    else if (PyDict_CheckExact(container))
        status = dict_real(state, container);
    else if (PyAnySet_CheckExact(container))
        status = set_real(state, container);
    else if (PyExceptionInstance_Check(container))
        status = exception_real(state, container);
    else
        status = holder_real(state, container);
    Py_ReprLeave(container);
    return status;
}
