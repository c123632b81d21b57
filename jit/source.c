/* source.c - guards: globals, cells and attributes that a plan depends on. */
#include <string.h>

#include "jit/source.h"

/* -- Reading --------------------------------------------------------------------------- */

/* What the source holds now: new reference, or NULL without an exception. */
static PyObject *
read_now(const JitGuard *guard)
{
    PyObject *value = NULL;
    switch (guard->kind) {
    case SOURCE_global:
        value = PyDict_GetItemWithError(guard->owner, guard->name);
        if (!value) {
            PyObject *builtins = PyEval_GetBuiltins();
            value = builtins ? PyDict_GetItemWithError(builtins, guard->name) : NULL;
        }
        Py_XINCREF(value);
        break;
    case SOURCE_cell:
        value = Py_XNewRef(PyCell_GET(guard->owner));
        break;
    case SOURCE_attribute:
        value = PyObject_GetAttr(guard->owner, guard->name);
        break;
    }
    PyErr_Clear();
    return value;
}

static bool
same_atom(PyObject *a, PyObject *b)
{
    if (a == b)
        return true;
    if (Py_TYPE(a) != Py_TYPE(b))
        return false;
    if (PyFloat_CheckExact(a)) {
        double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
        return memcmp(&x, &y, sizeof x) == 0;
    }
    if (PyMethod_Check(a))
        return PyMethod_GET_FUNCTION(a) == PyMethod_GET_FUNCTION(b) &&
               PyMethod_GET_SELF(a) == PyMethod_GET_SELF(b);
    if (PyCFunction_Check(a))
        return PyCFunction_GET_FUNCTION(a) == PyCFunction_GET_FUNCTION(b) &&
               PyCFunction_GET_SELF(a) == PyCFunction_GET_SELF(b);
    if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a) || PyBytes_CheckExact(a)) {
        int equal = PyObject_RichCompareBool(a, b, Py_EQ);
        if (equal < 0)
            PyErr_Clear();
        return equal == 1;
    }
    return false;
}

/* Containers item by item, all else as atoms. */
static bool
same_contents(PyObject *copy, PyObject *now)
{
    if (Py_TYPE(copy) != Py_TYPE(now))
        return false;
    if (PyList_CheckExact(copy) || PyTuple_CheckExact(copy)) {
        Py_ssize_t n = PySequence_Fast_GET_SIZE(copy);
        if (PySequence_Fast_GET_SIZE(now) != n)
            return false;
        for (Py_ssize_t i = 0; i < n; i++) {
            if (!same_contents(PySequence_Fast_GET_ITEM(copy, i), PySequence_Fast_GET_ITEM(now, i)))
                return false;
        }
        return true;
    }
    if (PyDict_CheckExact(copy)) {
        PyObject *key, *value, *other_key, *other;
        Py_ssize_t at = 0, other_at = 0;
        if (PyDict_GET_SIZE(copy) != PyDict_GET_SIZE(now))
            return false;
        while (PyDict_Next(copy, &at, &key, &value)) {
            if (!PyDict_Next(now, &other_at, &other_key, &other) || !same_atom(key, other_key) ||
                !same_contents(value, other))
                return false;
        }
        return true;
    }
    return same_atom(copy, now);
}

/* A copy of nested containers; their other items are shared. */
static PyObject *
copy_contents(PyObject *object)
{
    PyObject *copy = NULL;
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
        bool list = PyList_CheckExact(object);
        Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
        copy = list ? PyList_New(n) : PyTuple_New(n);
        for (Py_ssize_t i = 0; copy && i < n; i++) {
            PyObject *item = copy_contents(PySequence_Fast_GET_ITEM(object, i));
            if (!item)
                Py_CLEAR(copy);
            else if (list)
                PyList_SET_ITEM(copy, i, item);
            else
                PyTuple_SET_ITEM(copy, i, item);
        }
    } else if (PyDict_CheckExact(object)) {
        PyObject *key, *value;
        Py_ssize_t at = 0;
        copy = PyDict_New();
        while (copy && PyDict_Next(object, &at, &key, &value)) {
            PyObject *item = copy_contents(value);
            if (!item || PyDict_SetItem(copy, key, item) < 0)
                Py_CLEAR(copy);
            Py_XDECREF(item);
        }
    } else
        copy = Py_NewRef(object);
    return copy;
}

/* -- Guards ------------------------------------------------------------------------------- */

int
jit_source_take(JitSource *source, const Trace *trace)
{
    *source = (JitSource){0};
    source->guards = PyMem_Calloc(trace->nguards + 1, sizeof *source->guards);
    if (!source->guards) {
        PyErr_NoMemory();
        return -1;
    }
    for (uint32_t i = 0; i < trace->nguards; i++) {
        const TraceGuard *from = &trace->guards[i];
        JitGuard *guard = &source->guards[source->n++];
        guard->kind = from->kind;
        guard->owner = Py_NewRef(from->owner);
        guard->name = Py_XNewRef(from->name);
        guard->contents = from->contents;
        guard->parameter = from->param != 0;
        if (guard->parameter) {
            if (jit_sig_add(&guard->leaf, from->expected) != 1)
                return -1;
        } else {
            guard->expected = from->contents ? copy_contents(from->expected)
                                             : Py_NewRef(from->expected);
            if (!guard->expected)
                return -1;
        }
    }
    return 0;
}

bool
jit_source_match(const JitSource *source, PyObject **params, uint32_t *nparams)
{
    for (uint32_t i = 0; i < source->n; i++) {
        const JitGuard *guard = &source->guards[i];
        PyObject *now = read_now(guard);
        bool same = false;
        uint32_t at = 0;
        if (!now)
            return false;
        /* What is read here is also held by its owner for the whole call. */
        if (guard->parameter)
            same = jit_sig_match(&guard->leaf, &at, now, params, nparams);
        else if (guard->contents)
            same = same_contents(guard->expected, now);
        else
            same = same_atom(guard->expected, now);
        Py_DECREF(now);
        if (!same)
            return false;
    }
    return true;
}

void
jit_source_clear(JitSource *source)
{
    for (uint32_t i = 0; i < source->n; i++) {
        JitGuard *guard = &source->guards[i];
        Py_XDECREF(guard->owner);
        Py_XDECREF(guard->name);
        Py_XDECREF(guard->expected);
        jit_sig_clear(&guard->leaf);
    }
    PyMem_Free(source->guards);
    *source = (JitSource){0};
}

int
jit_source_traverse(const JitSource *source, visitproc visit, void *arg)
{
    for (uint32_t i = 0; i < source->n; i++) {
        Py_VISIT(source->guards[i].owner);
        Py_VISIT(source->guards[i].expected);
    }
    return 0;
}
