/* source.c - guards: globals, cells, attributes and functions' code that a plan depends
** on.
**
** A plan must not keep alive what its function does not: instances, functions and arrays
** are held by weak references, as owners and as expected values. One that is gone matches
** nothing.
*/
#include "jit/source.h"

#include <string.h>

/* -- Holding ----------------------------------------------------------------------- */

/* The object, or a weak reference to it. New reference; NULL with an exception set. */
static PyObject *
hold(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    bool instance = type->tp_flags & Py_TPFLAGS_HEAPTYPE && !PyType_Check(object);
    if ((instance || PyFunction_Check(object) || PyArray_Check(object)) &&
        PyType_SUPPORTS_WEAKREFS(type))
        return PyWeakref_NewRef(object, NULL);
    return Py_NewRef(object);
}

/* What `hold` was given, or None. Borrowed. */
static PyObject *
held(PyObject *object)
{
    return PyWeakref_CheckRef(object) ? PyWeakref_GET_OBJECT(object) : object;
}

/* -- Reading ----------------------------------------------------------------------- */

/* The attribute as it was read: `__getattr__` was not asked, and is not if it is gone. */
static PyObject *
attribute_now(PyObject *owner, PyObject *name)
{
    PyTypeObject *type = Py_TYPE(owner);
    bool hooked = type->tp_flags & Py_TPFLAGS_HEAPTYPE && !PyType_Check(owner) &&
                  !PyModule_Check(owner) &&
                  type->tp_getattro != PyObject_GenericGetAttr;
    return hooked ? PyObject_GenericGetAttr(owner, name)
                  : PyObject_GetAttr(owner, name);
}

/* What the source holds now: new reference, or NULL without an exception. `nows`: what those
** before it hold. */
static PyObject *
read_now(const JitGuard *guard, PyObject *const *nows, PyObject *reads)
{
    PyObject *value = NULL,
             *owner = guard->parent ? nows[guard->parent - 1] : held(guard->owner);
    PyObject *before = trace_reads_find(reads, guard->kind, owner, guard->name);
    if (before)
        return Py_NewRef(before);
    switch (guard->kind) {
    case SOURCE_global:
        value = PyDict_GetItemWithError(owner, guard->name);
        if (!value) {
            PyObject *builtins = PyEval_GetBuiltins();
            value = builtins ? PyDict_GetItemWithError(builtins, guard->name) : NULL;
        }
        Py_XINCREF(value);
        break;
    case SOURCE_cell:
        value = Py_XNewRef(PyCell_GET(owner));
        break;
    case SOURCE_attribute:
        value = owner == Py_None ? NULL : attribute_now(owner, guard->name);
        break;
    case SOURCE_item:
        value = PyObject_GetItem(owner, guard->name);
        break;
    case SOURCE_code:
        value = PyFunction_Check(owner) ? Py_NewRef(PyFunction_GET_CODE(owner)) : NULL;
        break;
    case SOURCE_defaults:
        value =
            PyFunction_Check(owner) ? Py_XNewRef(PyFunction_GET_DEFAULTS(owner)) : NULL;
        break;
    case SOURCE_kwdefaults:
        value = PyFunction_Check(owner) ? Py_XNewRef(PyFunction_GET_KW_DEFAULTS(owner))
                                        : NULL;
        break;
    }
    if (!value)
        PyErr_Clear();
    return value;
}

static bool
same_atom(PyObject *a, PyObject *b)
{
    if (a == b)
        return true;
    if (Py_TYPE(a) != Py_TYPE(b))
        return PyWeakref_CheckRef(a) && b != Py_None && held(a) == b;
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
    if (copy == Py_NotImplemented)
        return PyArray_CheckExact(now);
    if (PyWeakref_CheckRef(copy))
        return same_atom(copy, now);
    if (Py_TYPE(copy) != Py_TYPE(now))
        return false;
    if (PyList_CheckExact(copy) || PyTuple_CheckExact(copy)) {
        Py_ssize_t n = PySequence_Fast_GET_SIZE(copy);
        if (PySequence_Fast_GET_SIZE(now) != n)
            return false;
        for (Py_ssize_t i = 0; i < n; i++) {
            if (!same_contents(PySequence_Fast_GET_ITEM(copy, i),
                               PySequence_Fast_GET_ITEM(now, i)))
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
            if (!PyDict_Next(now, &other_at, &other_key, &other) ||
                !same_atom(key, other_key) || !same_contents(value, other))
                return false;
        }
        return true;
    }
    return same_atom(copy, now);
}

/* A copy of nested containers; their other items are held. The recorder saw to it that
** they are
** few and hold no cycle. */
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
    } else if (PyArray_CheckExact(
                   object)) /* if it was read it has a guard of its own */
        copy = Py_NewRef(Py_NotImplemented);
    else
        copy = hold(object);
    return copy;
}

/* -- Guards ------------------------------------------------------------------------ */

/* An array that is a parameter already has to be that one again: its number + 1. */
static uint32_t
param_of(const Trace *trace, const TraceGuard *guard, bool late)
{
    if ((guard->param && !late) || !PyArray_Check(guard->expected))
        return 0;
    for (uint32_t i = 0; i < trace->nparams; i++) {
        if (trace->params[i].object == guard->expected)
            return i + 1;
    }
    return 0;
}

/* A method bound to the guard's owner would keep it alive: its function counts. */
static int
take_expected(JitGuard *guard, const TraceGuard *from)
{
    PyObject *expected = from->expected;
    guard->method =
        PyMethod_Check(expected) && PyMethod_GET_SELF(expected) == from->owner;
    if (guard->method)
        expected = PyMethod_GET_FUNCTION(expected);
    guard->expected = from->contents ? copy_contents(expected) : hold(expected);
    guard->itself = from->itself ? Py_NewRef(expected) : NULL;
    return guard->expected ? 0 : -1;
}

/* 1 + the number of the guard that gives the container of guard `i`, an item. */
static uint32_t
parent_of(const Trace *trace, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++) {
        if (trace->guards[k].expected == trace->guards[i].owner)
            return k + 1;
    }
    return 0;
}

static int
take_guard(JitGuard *guard, const Trace *trace, uint32_t i, bool late)
{
    const TraceGuard *from = &trace->guards[i];
    guard->kind = from->kind;
    guard->parent = from->kind == SOURCE_item && !late ? parent_of(trace, i) : 0;
    guard->owner = guard->parent ? Py_NewRef(Py_None) : hold(from->owner);
    if (!guard->owner)
        return -1;
    guard->name = Py_XNewRef(from->name);
    guard->contents = from->contents;
    guard->parameter = from->param != 0 && !late;
    guard->same = param_of(trace, from, late);
    if (!guard->parameter)
        return guard->same ? 0 : take_expected(guard, from);
    int status = PyArray_Check(from->expected)
                     ? jit_sig_add(&guard->leaf, from->expected)
                     : jit_sig_add_number(&guard->leaf, from->expected);
    return status == 1 ? 0 : -1;
}

JitSource *
jit_source_new(const Trace *trace, uint32_t epoch)
{
    JitSource *source = PyMem_Calloc(1, sizeof *source);
    if (source)
        source->guards = PyMem_Calloc(trace->nguards + 1, sizeof *source->guards);
    if (!source || !source->guards) {
        PyMem_Free(source);
        PyErr_NoMemory();
        return NULL;
    }
    for (uint32_t i = 0; i < trace->nguards; i++) {
        /* Captured arrays come in with the arguments, whenever they are read. */
        bool first = epoch == 0 && trace->guards[i].param;
        if ((first || trace->guards[i].epoch == epoch) &&
            take_guard(&source->guards[source->n++], trace, i, epoch != 0) < 0) {
            jit_source_free(source);
            return NULL;
        }
    }
    return source;
}

int
jit_source_take_late(JitPlan *plan, const Trace *trace)
{
    for (uint32_t i = 0; i < plan->nsites; i++) {
        JitSite *site = &plan->sites[i];
        if (!site->opaque)
            continue;
        site->late = jit_source_new(trace, trace->sites[i].epoch);
        if (!site->late)
            return -1;
    }
    return 0;
}

/* Next time this number is a run-time input. */
static void
note_varying(const JitGuard *guard, PyObject *now, PyObject **varying)
{
    bool number =
        PyFloat_CheckExact(now) || PyComplex_CheckExact(now) || PyLong_CheckExact(now);
    if (guard->parameter || !guard->name || !number || !guard->expected ||
        Py_TYPE(guard->expected) != Py_TYPE(now))
        return;
    if (!*varying)
        *varying = PyDict_New();
    if (!*varying || !PyDict_SetDefault(*varying, guard->name, Py_True))
        PyErr_Clear();
}

/* True if what is read now is what the plan was made for. */
static bool
guard_holds(const JitGuard *guard, PyObject *now, PyObject **params, uint32_t *nparams)
{
    uint32_t at = 0;
    if (guard->parameter)
        return jit_sig_match(&guard->leaf, &at, now, params, nparams);
    if (guard->same)
        return guard->same <= *nparams && params[guard->same - 1] == now;
    if (guard->method)
        return PyMethod_Check(now) && PyMethod_GET_SELF(now) == held(guard->owner) &&
               same_atom(guard->expected, PyMethod_GET_FUNCTION(now));
    if (guard->contents)
        return (!guard->itself || guard->itself == now) &&
               same_contents(guard->expected, now);
    return same_atom(guard->expected, now);
}

bool
jit_source_match(const JitSource *source, PyObject **params, uint32_t *nparams,
                 PyObject **varying, PyObject *reads)
{
    PyObject *small[32], **nows = small;
    bool same = true;
    if (source->n > 32 && !(nows = PyMem_Malloc(source->n * sizeof *nows)))
        return false;
    for (uint32_t i = 0; same && i < source->n; i++) {
        const JitGuard *guard = &source->guards[i];
        PyObject *now = nows[i] = read_now(guard, nows, reads);
        if (!now) {
            same = false;
            break;
        }
        /* What is read here is also held by its owner for the whole call. */
        same = guard_holds(guard, now, params, nparams);
        if (!same)
            note_varying(guard, now, varying);
        Py_DECREF(now);
    }
    if (nows != small)
        PyMem_Free(nows);
    return same;
}

PyObject *
jit_source_reads(const JitSource *source)
{
    PyObject *reads = PyList_New(0);
    PyObject **nows = PyMem_Calloc(source->n + 1, sizeof *nows);
    for (uint32_t i = 0; reads && nows && i < source->n; i++) {
        const JitGuard *guard = &source->guards[i];
        PyObject *owner = guard->parent ? nows[guard->parent - 1] : held(guard->owner);
        nows[i] = owner ? read_now(guard, nows, NULL) : NULL;
        PyObject *read =
            nows[i] ? Py_BuildValue("(iOOO)", (int)guard->kind, owner,
                                    guard->name ? guard->name : Py_None, nows[i])
                    : NULL;
        if (nows[i] && (!read || PyList_Append(reads, read) < 0))
            Py_CLEAR(reads);
        Py_XDECREF(read);
    }
    for (uint32_t i = 0; nows && i < source->n; i++)
        Py_XDECREF(nows[i]);
    if (!nows) {
        Py_CLEAR(reads);
        PyErr_NoMemory();
    }
    PyMem_Free(nows);
    return reads;
}

JitSource *
jit_source_copy(const JitSource *source)
{
    JitSource *copy = PyMem_Calloc(1, sizeof *copy);
    if (copy)
        copy->guards = PyMem_Calloc(source->n + 1, sizeof *copy->guards);
    if (!copy || !copy->guards) {
        PyMem_Free(copy);
        PyErr_NoMemory();
        return NULL;
    }
    while (copy->n < source->n) {
        const JitGuard *from = &source->guards[copy->n];
        JitGuard *guard = &copy->guards[copy->n++];
        *guard = *from;
        guard->leaf = (JitSig){0};
        Py_XINCREF(guard->owner);
        Py_XINCREF(guard->name);
        Py_XINCREF(guard->expected);
        Py_XINCREF(guard->itself);
        if (from->parameter && jit_sig_copy(&guard->leaf, &from->leaf) < 0) {
            jit_source_free(copy);
            return NULL;
        }
    }
    return copy;
}

void
jit_source_free(JitSource *source)
{
    for (uint32_t i = 0; source && i < source->n; i++) {
        JitGuard *guard = &source->guards[i];
        Py_XDECREF(guard->owner);
        Py_XDECREF(guard->name);
        Py_XDECREF(guard->expected);
        Py_XDECREF(guard->itself);
        jit_sig_clear(&guard->leaf);
    }
    if (source)
        PyMem_Free(source->guards);
    PyMem_Free(source);
}

static int
traverse(const JitSource *source, visitproc visit, void *arg)
{
    for (uint32_t i = 0; source && i < source->n; i++) {
        Py_VISIT(source->guards[i].owner);
        Py_VISIT(source->guards[i].expected);
    }
    return 0;
}

int
jit_source_traverse(const JitPlan *plan, visitproc visit, void *arg)
{
    int status = traverse(plan->source, visit, arg);
    for (uint32_t i = 0; status == 0 && i < plan->nsites; i++)
        status = traverse(plan->sites[i].late, visit, arg);
    return status;
}
