/* method.c - methods of tracers, bound. */
#include <string.h>

#include "trace/composed.h"

/* -- Methods ----------------------------------------------------------------------- */

/* Names of methods that change the array they are called on. */
static bool
mutates_self(const char *name)
{
    static const char *const names[] = {"sort",    "fill",     "put",      "partition",
                                        "itemset", "setfield", "byteswap", NULL};
    for (int i = 0; names[i]; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

/* 1 + the position of `out` among the method's arguments, or 0. */
static size_t
out_position(const char *name)
{
    static const struct {
        const char *name;
        size_t position;
    } rows[] = {
        {"all", 1},  {"any", 1},  {"argmax", 1},   {"argmin", 1},  {"choose", 1},
        {"clip", 2}, {"max", 1},  {"compress", 2}, {"cumprod", 2}, {"cumsum", 2},
        {"dot", 1},  {"mean", 2}, {"min", 1},      {"prod", 2},    {"round", 1},
        {"std", 2},  {"sum", 2},  {"take", 2},     {"trace", 4},   {"var", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(name, rows[i].name) == 0)
            return rows[i].position + 1;
    }
    return 0;
}

/* Names of methods with effects beyond the array, or that show its memory. */
static bool
escapes(const char *name)
{
    static const char *const names[] = {"tofile",   "dump",         "setflags",
                                        "getfield", "newbyteorder", NULL};
    for (int i = 0; names[i]; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

/* Names of methods that give Python objects made of elements. */
bool
tracer_asks(const char *name)
{
    return strcmp(name, "tolist") == 0 || strcmp(name, "tobytes") == 0 ||
           strcmp(name, "is_integer") == 0;
}

/* x.sum(axis) and the like, of few elements; x.mean(…) and the like. */
static PyObject *
method_reduce(TracerMethod *method, const char *name, PyObject *const *args,
              size_t nargs, PyObject *kwnames)
{
    PyObject *all[8] = {(PyObject *)method->tracer};
    size_t n = nargs + (kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0);
    if (n > 7)
        return Py_NewRef(Py_NotImplemented);
    for (size_t i = 0; i < n; i++)
        all[i + 1] = args[i];
    PyObject *result =
        trace_options(method->tracer->trace, name, all, nargs + 1, kwnames);
    if (result == Py_NotImplemented && nargs <= 1)
        Py_SETREF(result,
                  trace_unroll(method->tracer->trace, name, all, nargs + 1, kwnames));
    if (result == Py_NotImplemented)
        Py_SETREF(result, trace_zero_dim_reduce(method->tracer->trace, name, all,
                                                nargs + 1, kwnames));
    if (result != Py_NotImplemented || nargs > 1)
        return result;
    Py_DECREF(result);
    return trace_moment(method->tracer->trace, name, all, nargs + 1, kwnames);
}

/* x.resize(…): NumPy refuses where something else refers to the array, of which the tracer is the only one. */
static PyObject *
resize_call(TracerMethod *method, PyObject *const *args, size_t nargs,
            PyObject *kwnames)
{
    enum { ALONE = 2 }; /* the variable, and the method that is called */
    Tracer *tracer = method->tracer;
    Trace *trace = tracer->trace;
    size_t nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0;
    PyObject *real = trace_force_all(trace) < 0 ? NULL : tracer_object(tracer),
             *callable = NULL, *result = NULL;
    if (!real)
        return NULL;
    trace_end(trace, BAIL_store, method->name);
    PyObject *plain = PyTuple_New((Py_ssize_t)nargs), *named = PyDict_New();
    for (size_t i = 0; plain && named && i < nargs + nkw; i++) {
        PyObject *value = trace_real(trace->state, args[i]);
        if (value && i < nargs)
            PyTuple_SET_ITEM(plain, (Py_ssize_t)i, value);
        else if (!value ||
                 PyDict_SetItem(named,
                                PyTuple_GET_ITEM(kwnames, (Py_ssize_t)(i - nargs)),
                                value) < 0)
            Py_CLEAR(named);
        if (i >= nargs)
            Py_XDECREF(value);
    }
    bool alone = Py_REFCNT(tracer) <= ALONE && tracer->storage->refs == 1;
    if (plain && named &&
        (!alone || PyDict_SetItemString(named, "refcheck", Py_False) == 0) &&
        (callable = PyObject_GetAttr(real, method->name)))
        result = PyObject_Call(callable, plain, named);
    if (result && tracer_follow(tracer) < 0)
        Py_CLEAR(result);
    Py_XDECREF(callable);
    Py_XDECREF(plain);
    Py_XDECREF(named);
    return result;
}

static PyObject *method_call(PyObject *self, PyObject *const *args, size_t nargsf,
                             PyObject *kwnames);

/* The call in other words; Py_NotImplemented: they are known. */
static PyObject *
said_otherwise(TracerMethod *method, const char *name, PyObject *const *args,
               size_t nargs, PyObject *kwnames)
{
    PyObject *names, **said = method->tracer->trace->live
                                  ? trace_spelled(name, args, nargs, kwnames, &names)
                                  : NULL;
    if (!said)
        return Py_NewRef(Py_NotImplemented);
    PyObject *result = method_call((PyObject *)method, said, nargs ? 1 : 0, names);
    PyMem_Free(said);
    Py_DECREF(names);
    return result;
}

/* The call with an axis that is a number of the trace as the number that it is. */
static PyObject *
axis_asked(TracerMethod *method, const char *name, PyObject *const *args, size_t nargs,
           PyObject *kwnames)
{
    PyObject *number, **asked = trace_axis_asked(method->tracer->trace, name, args,
                                                 nargs, kwnames, 0, &number);
    if (!asked)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
    PyObject *result = method_call((PyObject *)method, asked, nargs, kwnames);
    PyMem_Free(asked);
    Py_DECREF(number);
    return result;
}

/* x[mask].sum(); another method may see how many elements there are. */
static PyObject *
picked_call(TracerMethod *method, const char *name, PyObject *const *args, size_t nargs,
            PyObject *kwnames)
{
    Tracer *tracer = method->tracer;
    bool axis = nargs || (kwnames && PyTuple_GET_SIZE(kwnames));
    PyObject *result = trace_is_axis_alone(nargs, kwnames)
                           ? trace_reduce_picked(tracer, name, axis ? args[0] : NULL)
                           : Py_NewRef(Py_NotImplemented);
    if (result == Py_NotImplemented)
        trace_pick_seen(tracer->trace, (PyObject *)tracer);
    return result;
}

static PyObject *
method_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    TracerMethod *method = (TracerMethod *)self;
    Tracer *tracer = method->tracer;
    Trace *trace = tracer->trace;
    size_t nargs = (size_t)PyVectorcall_NARGS(nargsf);
    size_t nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0;
    const char *name = PyUnicode_AsUTF8(method->name);
    PyObject *result = NULL, *callable = NULL, **all = NULL;
    uint32_t mutates = mutates_self(name) ? 1 : 0;
    if (strcmp(name, "resize") == 0 && tracer->kind == TRACER_array)
        return resize_call(method, args, nargs, kwnames);
    result = strcmp(name, "reshape") == 0 && !kwnames
                 ? trace_reshaped_to(tracer, args, nargs)
                 : Py_NewRef(Py_NotImplemented);
    if (result == Py_NotImplemented)
        Py_SETREF(result, picked_call(method, name, args, nargs, kwnames));
    if (result == Py_NotImplemented)
        Py_SETREF(result, said_otherwise(method, name, args, nargs, kwnames));
    if (result == Py_NotImplemented)
        Py_SETREF(result,
                  trace_composed_method(tracer, method->name, args, nargs, kwnames));
    if (result == Py_NotImplemented)
        Py_SETREF(result, axis_asked(method, name, args, nargs, kwnames));
    if (result != Py_NotImplemented)
        return result;
    Py_DECREF(result);
    if (nargs <= 6 && trace->live) {
        result = method_reduce(method, name, args, nargs, kwnames);
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    }
    result = NULL;
    PyObject *real = tracer_object(tracer);
    if (!real)
        return NULL;
    if (trace->live && escapes(name))
        trace_end(trace, BAIL_store, method->name);
    callable = PyObject_GetAttr((PyObject *)Py_TYPE(real), method->name);
    all = PyMem_Malloc((nargs + nkw + 1) * sizeof *all);
    if (!callable || !all) {
        if (!all)
            PyErr_NoMemory();
        goto done;
    }
    all[0] = (PyObject *)tracer;
    for (size_t i = 0; i < nargs + nkw; i++)
        all[i + 1] = args[i];
    size_t out = out_position(name);
    if (out && nargs >= out && args[out - 1] != Py_None)
        mutates |= 1u << out;
    for (size_t i = 0; i < nkw; i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "out") ==
                0 &&
            nargs + 1 + i < 32)
            mutates |= 1u << (nargs + 1 + i);
    }
    bool shapes_alone = strcmp(name, "reshape") == 0;
    for (size_t i = 0; i < nargs + nkw; i++)
        shapes_alone &= PyLong_CheckExact(args[i]);
    bool asking = trace->asking;
    trace->asking = asking || tracer_asks(name);
    result = trace_call(trace, callable, all, nargs + 1, kwnames, mutates);
    trace->asking = asking;
    if (!result && shapes_alone)
        trace_raised_by_shapes(trace);
done:
    Py_XDECREF(callable);
    PyMem_Free(all);
    return result;
}

PyObject *
tracer_method_new(Tracer *tracer, PyObject *name)
{
    TracerMethod *method =
        PyObject_New(TracerMethod, tracer->trace->state->method_type);
    if (!method)
        return NULL;
    method->vectorcall = method_call;
    method->tracer = (Tracer *)Py_NewRef(tracer);
    method->name = Py_NewRef(name);
    return (PyObject *)method;
}

void
tracer_method_dealloc(PyObject *self)
{
    TracerMethod *method = (TracerMethod *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_DECREF(method->tracer);
    Py_DECREF(method->name);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *
tracer_method_getattro(PyObject *self, PyObject *name)
{
    TracerMethod *method = (TracerMethod *)self;
    PyObject *real = tracer_object(method->tracer);
    PyObject *bound = real ? PyObject_GetAttr(real, method->name) : NULL;
    PyObject *result = bound ? PyObject_GetAttr(bound, name) : NULL;
    Py_XDECREF(bound);
    return result;
}
