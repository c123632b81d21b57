/* hooks.c - what rewritten source calls instead of Python's own operations.
**
** Outside of a live trace each hook does what Python does. In one, values loaded from
** outside
** are wrapped, guarded and known; calls go by the kind of the callee:
**   (a) NumPy's functions and builtins in the table: recorded, or run on tracers;
**   (b) the user's Python functions: rewritten in turn;
**   (c) anything else: an effect. It gets real arrays.
*/
#include <string.h>

<<<<<<< /tmp/t/m/trace_hooks.c.idx
#include "trace/invoke.h"
=======
#include "trace/internal.h"

/* Kinds of callables, as in python/pyasc/_numpy_table.py. ORDER kinds */
typedef enum CallKind {
    CALL_unknown,
    CALL_pure,    /* real values in, recorded */
    CALL_pass,    /* runs on tracers: builtins that go through protocols */
    CALL_mutates, /* as pure, writes its first argument */
    CALL_ask,     /* as pure, the answer is Python's */
    CALL_type,    /* type(x) */
    CALL_select,  /* numpy.where */
    CALL_context, /* errstate */
    CALL_local,   /* as pass, the result is a container made in this call */
    CALL_getattr, /* getattr(x, name) */
    CALL_hasattr,
} CallKind;

/* Beside the kind, in higher bits. ORDER kinds */
enum {
    CALL_OUT_SHIFT = 8,    /* 1 + position of `out`, where there is one */
    CALL_ANY = 1 << 16,    /* pass: harmless to objects of all kinds */
    CALL_DEEP = 1 << 17,   /* pass: calls methods of what a container holds */
    CALL_COPIES = 1 << 18, /* pure only where no argument but the first is given */
};

enum { OUTER_ITEMS_MAX = 1024, OUTER_DEPTH_MAX = 32 }; /* of containers from outside */

static PyObject *
id_of(PyObject *object)
{
    return PyLong_FromVoidPtr(object);
}

int
trace_local_add(Trace *trace, PyObject *object)
{
    PyObject *id = id_of(object);
    int status = id ? PyDict_SetItem(trace->locals, id, object) : -1;
    Py_XDECREF(id);
    return status;
}

bool
trace_local_find(Trace *trace, PyObject *object)
{
    PyObject *id = id_of(object);
    bool found = id && PyDict_GetItem(trace->locals, id);
    Py_XDECREF(id);
    return found;
}

/* Arrays and NumPy scalars whose origin is not known must not meet traced values. */
static bool
is_data(PyObject *object)
{
    return PyArray_Check(object) || PyArray_CheckScalar(object);
}

PyObject *
trace_wrap(Trace *trace, PyObject *object)
{
    if (!is_data(object) || !trace->live)
        return Py_NewRef(object);
    PyObject *id = id_of(object);
    PyObject *tracer = id ? PyDict_GetItem(trace->known, id) : NULL;
    Py_XDECREF(id);
    if (tracer)
        return Py_NewRef(tracer);
    trace_end(trace, BAIL_unknown_array, NULL);
    return Py_NewRef(object);
}

/* -- Guards: values from outside --------------------------------------------------- */

/* A trial must not have effects: it ends here. Also one that ended as a trace: from
** there on
** nothing is recorded, so that effects would not be seen. */
static bool
trial_ends(Trace *trace)
{
    if (!trace || !trace->trial)
        return false;
    PyErr_SetString(trace->state->trial_end, "an effect ends the trial");
    return true;
}

static bool
trial_over(Trace *trace)
{
    return trace && !trace->live && trial_ends(trace);
}

/* What follows runs code that the recorder does not see. */
static int
code_unseen(Trace *trace, PyObject *detail)
{
    if (trial_ends(trace))
        return -1;
    trace_end(trace, BAIL_unknown_call, detail);
    return 0;
}

static TraceGuard *
guard_find(Trace *trace, TraceSourceKind kind, PyObject *owner, PyObject *name,
           PyObject *expected)
{
    for (uint32_t i = 0; i < trace->nguards; i++) {
        TraceGuard *g = &trace->guards[i];
        if (g->kind == kind && g->owner == owner && g->name == name &&
            g->expected == expected)
            return g;
    }
    return NULL;
}

bool
trace_guard_add(Trace *trace, TraceSourceKind kind, PyObject *owner, PyObject *name,
                PyObject *expected)
{
    if (guard_find(trace, kind, owner, name, expected))
        return true;
    if (trace->nguards == trace->guards_room) {
        uint32_t room = trace->guards_room ? 2 * trace->guards_room : 16;
        TraceGuard *guards = PyMem_Realloc(trace->guards, room * sizeof *guards);
        if (!guards) {
            PyErr_NoMemory();
            return false;
        }
        trace->guards = guards;
        trace->guards_room = room;
    }
    trace->guards[trace->nguards++] = (TraceGuard){
        .kind = kind,
        .owner = Py_NewRef(owner),
        .name = Py_XNewRef(name),
        .expected = Py_NewRef(expected),
    };
    return true;
}

/* Objects that cannot change under us, or whose identity says all. */
static bool
is_stable(PyObject *object)
{
    return object == Py_None || PyLong_CheckExact(object) ||
           PyFloat_CheckExact(object) || PyBool_Check(object) ||
           PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) ||
           PyComplex_CheckExact(object) || PyFunction_Check(object) ||
           PyCFunction_Check(object) || PyType_Check(object) ||
           PyModule_Check(object) || PyArray_DescrCheck(object) ||
           Py_TYPE(object) == &PyUFunc_Type || object == Py_Ellipsis ||
           PySlice_Check(object) || PyMethod_Check(object);
}

static bool
is_stable_tuple(PyObject *object)
{
    if (!PyTuple_CheckExact(object))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
        PyObject *item = PyTuple_GET_ITEM(object, i);
        if (!is_stable(item) && !is_stable_tuple(item))
            return false;
    }
    return true;
}

/* Containers from outside are known by their identity: a result that holds one has to
** hold
** that one. False: too much to compare at each call, or one that holds itself. */
static bool
outer_add(Trace *trace, PyObject *object, int depth, int *items)
{
    bool dict = PyDict_CheckExact(object);
    if (!dict && !PyList_CheckExact(object) && !PyTuple_CheckExact(object))
        return true;
    PyObject *id = id_of(object), *key, *value;
    int status = id ? PyDict_SetItem(trace->known, id, object) : -1;
    Py_ssize_t at = 0, n = dict ? 0 : PySequence_Fast_GET_SIZE(object);
    Py_XDECREF(id);
    if (status < 0)
        PyErr_Clear();
    if (status < 0 || depth > OUTER_DEPTH_MAX)
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (++*items > OUTER_ITEMS_MAX ||
            !outer_add(trace, PySequence_Fast_GET_ITEM(object, i), depth + 1, items))
            return false;
    }
    while (dict && PyDict_Next(object, &at, &key, &value)) {
        if (++*items > OUTER_ITEMS_MAX || !outer_add(trace, value, depth + 1, items))
            return false;
    }
    return true;
}

bool
trace_outer_add(Trace *trace, PyObject *object)
{
    int items = 0;
    return outer_add(trace, object, 0, &items);
}

bool
trace_outer_find(Trace *trace, PyObject *object)
{
    PyObject *id = id_of(object);
    bool found = id && PyDict_GetItem(trace->known, id) == object;
    Py_XDECREF(id);
    return found;
}

/* The memory of a captured array may lie in that of another parameter. */
static void
note_overlap(Trace *trace, PyObject *array)
{
    for (uint32_t i = 0; i + 1 < trace->nparams; i++) {
        PyObject *other = trace->params[i].object;
        if (!PyArray_CheckExact(other) || PyArray_SIZE((PyArrayObject *)other) == 0 ||
            PyArray_SIZE((PyArrayObject *)array) == 0 ||
            !trace_overlap((PyArrayObject *)other, (PyArrayObject *)array))
            continue;
        trace->overlap = true;
        if (trace->wrote)
            trace_end(trace, BAIL_overlap, NULL);
    }
}

/* A captured array or number becomes a parameter. In a trial it is a copy: nothing may
** be
** written outside. */
static PyObject *
load_parameter(Trace *trace, TraceGuard *guard, PyObject *value)
{
    size_t number = (size_t)(guard - trace->guards);
    PyObject *memory = Py_NewRef(value), *tracer, *id;
    if (trace->trial && PyArray_Check(value))
        Py_SETREF(memory, PyArray_NewCopy((PyArrayObject *)value, NPY_KEEPORDER));
    tracer = memory ? trace_argument(trace, memory) : NULL;
    Py_XDECREF(memory);
    if (!tracer)
        return NULL;
    trace->guards[number].param = trace->params[trace->nparams - 1].value;
    id = id_of(value);
    if (!id || PyDict_SetItem(trace->known, id, tracer) < 0)
        Py_CLEAR(tracer);
    Py_XDECREF(id);
    if (tracer && PyArray_CheckExact(value))
        note_overlap(trace, value);
    return tracer;
}

/* A value read from outside: a captured array becomes a parameter. */
static PyObject *
load(Trace *trace, TraceSourceKind kind, PyObject *owner, PyObject *name,
     PyObject *value)
{
    TraceState *state = trace->state;
    if (tracer_check(state, value) || trace_local_find(trace, value))
        return Py_NewRef(value);
    PyObject *id = id_of(value);
    PyObject *known = id ? PyDict_GetItem(trace->known, id) : NULL;
    bool again = guard_find(trace, kind, owner, name, value) != NULL;
    Py_XDECREF(id);
    if (!trace_guard_add(trace, kind, owner, name, value))
        return NULL;
    if (known && (PyArray_Check(value) || (again && tracer_check(state, known))))
        return Py_NewRef(known);
    TraceGuard *guard = guard_find(trace, kind, owner, name, value);
    if (PyArray_CheckExact(value) || PyArray_CheckScalar(value)) {
        if (PyArray_CheckExact(value) && !trace_array_plain((PyArrayObject *)value)) {
            trace_end(trace, BAIL_unknown_array, name);
            return Py_NewRef(value);
        }
        return load_parameter(trace, guard, value);
    }
    if (PyList_CheckExact(value) || PyDict_CheckExact(value) ||
        (PyTuple_CheckExact(value) && !is_stable_tuple(value))) {
        guard->contents = true;
        if (!trace_outer_add(trace, value))
            trace_end(trace, BAIL_unknown_constant, name);
    } else if (PyIter_Check(value) && code_unseen(trace, name) < 0)
        return NULL; /* what has been taken from it cannot be put back */
    return Py_NewRef(value);
}

/* -- Objects whose operators are code ---------------------------------------------- */

/* Exact builtin types, and objects made by C code of which only methods are of use. */
static bool
is_builtin_value(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    return is_stable(object) || object == Py_NotImplemented ||
           PyList_CheckExact(object) || PyTuple_CheckExact(object) ||
           PyDict_CheckExact(object) || PyRange_Check(object) ||
           PyFrozenSet_CheckExact(object) || type == &PyDictKeys_Type ||
           type == &PyDictValues_Type || type == &PyDictItems_Type;
}

/* True where an operator, len() or iteration of the object may run any code, or look at
** what
** no guard watches. */
static bool
is_opaque(Trace *trace, PyObject *object)
{
    TraceState *state = trace->state;
    if (is_builtin_value(object) || tracer_check(state, object) || is_data(object) ||
        PyIter_Check(object) || Py_TYPE(object) == state->method_type ||
        Py_TYPE(object) == state->function_type)
        return false;
    return !(PySet_Check(object) && trace_local_find(trace, object));
}

static int
see(Trace *trace, PyObject *object)
{
    if (trace && trace->live && is_opaque(trace, object))
        return code_unseen(trace, (PyObject *)Py_TYPE(object));
    return 0;
}

/* Truth of objects that say nothing about it is no code. */
static int
see_truth(Trace *trace, PyObject *object)
{
    const PyTypeObject *type = Py_TYPE(object);
    bool silent = (!type->tp_as_number || !type->tp_as_number->nb_bool) &&
                  (!type->tp_as_sequence || !type->tp_as_sequence->sq_length) &&
                  (!type->tp_as_mapping || !type->tp_as_mapping->mp_length);
    return silent ? 0 : see(trace, object);
}

/* Neither are == and != of objects that are compared by identity. */
static int
see_compared(Trace *trace, PyObject *object)
{
    bool identity = Py_TYPE(object)->tp_richcompare == PyBaseObject_Type.tp_richcompare;
    return identity ? 0 : see(trace, object);
}

/* The items of a container that a builtin adds, compares or prints. */
static int
see_items(Trace *trace, PyObject *object)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (see(trace, object) < 0)
        return -1;
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); i++) {
            if (see(trace, PySequence_Fast_GET_ITEM(object, i)) < 0)
                return -1;
        }
    } else if (PyDict_CheckExact(object)) {
        while (PyDict_Next(object, &at, &key, &value)) {
            if (see(trace, value) < 0)
                return -1;
        }
    }
    return 0;
}

/* -- Calls ------------------------------------------------------------------------- */

/* The row of the table: a CallKind and flags. */
static uint32_t
row_of(TraceState *state, PyObject *callable)
{
    if (!state->table ||
        !(PyCFunction_Check(callable) || PyFunction_Check(callable) ||
          PyType_Check(callable) || state->dispatcher_type == Py_TYPE(callable)))
        return CALL_unknown;
    PyObject *kind = PyDict_GetItemWithError(state->table, callable);
    if (!kind) {
        PyErr_Clear();
        return CALL_unknown;
    }
    return (uint32_t)PyLong_AsLong(kind);
}

static CallKind
kind_of(TraceState *state, PyObject *callable)
{
    return (CallKind)(row_of(state, callable) & 0xff);
}

/* Real values for everything; the trace is over. */
static PyObject *
call_real(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
          PyObject *kwnames)
{
    return trace_call(trace, callable, args, nargs, kwnames, 0);
}

static PyObject *
call_effect(Trace *trace, TraceBail bail, PyObject *callable, PyObject *const *args,
            size_t nargs, PyObject *kwnames)
{
    if (trial_ends(trace))
        return NULL;
    trace_end(trace, bail, callable);
    return call_real(trace, callable, args, nargs, kwnames);
}

/* A user's function in rewritten form; NULL without an exception: leave it alone. */
static PyObject *
rewritten(Trace *trace, PyObject *function)
{
    TraceState *state = trace->state;
    PyObject *id = id_of(PyFunction_GET_CODE(function));
    bool ours = id && state->rewritten && PyDict_GetItem(state->rewritten, id);
    Py_XDECREF(id);
    if (ours)
        return Py_NewRef(function);
    PyObject *twin = PyObject_CallOneArg(state->rewrite, function);
    if (twin == Py_None)
        Py_CLEAR(twin);
    return twin;
}

/* Code and default values of a function may be exchanged. */
static int
guard_definition(Trace *trace, PyObject *function)
{
    PyObject *parts[] = {PyFunction_GET_DEFAULTS(function),
                         PyFunction_GET_KW_DEFAULTS(function)};
    if (!trace_guard_add(trace, SOURCE_code, function, NULL,
                         PyFunction_GET_CODE(function)))
        return -1;
    for (int i = 0; i < 2; i++) {
        if (!parts[i])
            continue;
        TraceSourceKind kind = i ? SOURCE_kwdefaults : SOURCE_defaults;
        PyObject *loaded = load(trace, kind, function, NULL, parts[i]);
        if (!loaded)
            return -1;
        Py_DECREF(loaded);
    }
    return 0;
}

/* What a function that was there before the call has besides its arguments: cells are
** read
** now, and guarded. */
static int
guard_closure(Trace *trace, PyObject *function)
{
    PyObject *cells = PyFunction_GET_CLOSURE(function);
    if (trace_local_find(trace, function))
        return 0;
    if (guard_definition(trace, function) < 0)
        return -1;
    for (Py_ssize_t i = 0; cells && i < PyTuple_GET_SIZE(cells); i++) {
        PyObject *cell = PyTuple_GET_ITEM(cells, i);
        PyObject *value = PyCell_GET(cell);
        if (!value || trace_local_find(trace, cell))
            continue;
        PyObject *loaded = load(trace, SOURCE_cell, cell, NULL, value);
        if (!loaded)
            return -1;
        Py_DECREF(loaded);
    }
    return 0;
}

int
trace_enter(Trace *trace, PyObject *function)
{
    if (PyMethod_Check(function))
        function = PyMethod_GET_FUNCTION(function);
    return PyFunction_Check(function) ? guard_closure(trace, function) : 0;
}

static PyObject *
call_function(Trace *trace, PyObject *function, PyObject *const *args, size_t nargs,
              PyObject *kwnames)
{
    PyObject *twin = rewritten(trace, function), *result = NULL;
    if (!twin) {
        if (PyErr_Occurred())
            return NULL;
        return call_effect(trace, BAIL_unknown_call, function, args, nargs, kwnames);
    }
    if (guard_closure(trace, function) == 0 &&
        Py_EnterRecursiveCall(" while calling a Python object") == 0) {
        result = PyObject_Vectorcall(twin, args, nargs, kwnames);
        Py_LeaveRecursiveCall();
    }
    Py_DECREF(twin);
    return result;
}

static PyObject *invoke(Trace *trace, PyObject *callable, PyObject *const *args,
                        size_t nargs, PyObject *kwnames);
static PyObject *attribute(Trace *trace, PyObject *object, PyObject *name);

static PyObject *
call_method(Trace *trace, PyObject *method, PyObject *const *args, size_t nargs,
            PyObject *kwnames)
{
    size_t nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0;
    PyObject **all = PyMem_Malloc((nargs + nkw + 1) * sizeof *all);
    if (!all)
        return PyErr_NoMemory();
    all[0] = PyMethod_GET_SELF(method);
    memcpy(all + 1, args, (nargs + nkw) * sizeof *all);
    PyObject *result =
        invoke(trace, PyMethod_GET_FUNCTION(method), all, nargs + 1, kwnames);
    PyMem_Free(all);
    return result;
}

/* Callables given to builtins (key=, map's function) are called by C code: rewritten
** first. */
static PyObject *
pass_argument(Trace *trace, PyObject *argument)
{
    if (PyFunction_Check(argument)) {
        PyObject *twin =
            guard_closure(trace, argument) == 0 ? rewritten(trace, argument) : NULL;
        if (twin || PyErr_Occurred())
            return twin;
        trace_end(trace, BAIL_unknown_call, argument);
        return Py_NewRef(argument);
    }
    if (PyMethod_Check(argument) || (PyCFunction_Check(argument) &&
                                     kind_of(trace->state, argument) == CALL_unknown &&
                                     Py_TYPE(argument) != trace->state->method_type)) {
        trace_end(trace, BAIL_unknown_call, argument);
        return Py_NewRef(argument);
    }
    if (is_data(argument))
        return trace_wrap(trace, argument);
    return trace_iterable(trace, argument);
}

/* An error that names the proxy: the real objects are asked, for NumPy's words. */
static PyObject *
pass_again(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
           PyObject *kwnames)
{
    Trace quiet = {.state = trace->state};
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *words = text ? PyUnicode_AsUTF8(text) : NULL;
    bool ours = words && strstr(words, "pyasc.Tracer");
    PyErr_Clear();
    Py_XDECREF(text);
    if (!ours) {
        PyErr_Restore(type, value, traceback);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return trace_call(&quiet, callable, args, nargs, kwnames, 0);
}

static PyObject *
call_pass(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
          PyObject *kwnames, uint32_t row)
{
    size_t n = nargs + (kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0);
    PyObject **passed = PyMem_Calloc(n + 1, sizeof *passed), *result = NULL;
    if (!passed)
        return PyErr_NoMemory();
    for (size_t i = 0; i < n; i++) {
        trace->blockers += PyIter_Check(args[i]); /* it moves on */
        int seen = row & CALL_ANY    ? 0
                   : row & CALL_DEEP ? see_items(trace, args[i])
                                     : see(trace, args[i]);
        passed[i] = seen < 0 ? NULL : pass_argument(trace, args[i]);
        if (!passed[i])
            goto done;
    }
    result = PyObject_Vectorcall(callable, passed, nargs, kwnames);
    if (!result && PyErr_ExceptionMatches(PyExc_TypeError))
        result = pass_again(trace, callable, passed, nargs, kwnames);
    if (result && (row & 0xff) == CALL_local && trace->live &&
        trace_local_add(trace, result) < 0)
        Py_CLEAR(result);
done:
    for (size_t i = 0; i < n; i++)
        Py_XDECREF(passed[i]);
    PyMem_Free(passed);
    return result;
}

/* Methods of builtin containers and strings. */
static PyObject *
call_builtin_method(Trace *trace, PyObject *method, PyObject *const *args, size_t nargs,
                    PyObject *kwnames)
{
    PyObject *self = PyCFunction_GET_SELF(method);
    bool text = self && (PyUnicode_CheckExact(self) || PyBytes_CheckExact(self) ||
                         PyLong_CheckExact(self) || PyFloat_CheckExact(self));
    if (text)
        return call_pass(trace, method, args, nargs, kwnames, CALL_pass | CALL_DEEP);
    if (self &&
        (PyList_CheckExact(self) || PyDict_CheckExact(self) || PySet_Check(self)) &&
        trace_local_find(trace, self)) {
        trace->blockers++; /* a list that grows, a dict that is filled */
        return call_pass(trace, method, args, nargs, kwnames, CALL_pass | CALL_DEEP);
    }
    if (self && PyTuple_CheckExact(self))
        return call_pass(trace, method, args, nargs, kwnames, CALL_pass | CALL_DEEP);
    return call_effect(trace, BAIL_unknown_call, method, args, nargs, kwnames);
}

static PyObject *
call_class(Trace *trace, PyObject *class, PyObject *const *args, size_t nargs,
           PyObject *kwnames)
{
    PyTypeObject *type = (PyTypeObject *)class;
    if (PyType_IsSubtype(type, (PyTypeObject *)PyExc_BaseException)) {
        PyObject *result = NULL;
        Trace quiet = {.state = trace->state};
        result = trace_call(&quiet, class, args, nargs, kwnames, 0);
        return result;
    }
    PyObject *init = _PyType_Lookup(type, trace->state->init_name);
    bool simple = Py_TYPE(class) == &PyType_Type &&
                  type->tp_new == PyBaseObject_Type.tp_new && init &&
                  PyFunction_Check(init) &&
                  !_PyType_Lookup(type, trace->state->slots_name);
    if (!simple)
        return call_effect(trace, BAIL_unknown_call, class, args, nargs, kwnames);
    PyObject *empty = PyTuple_New(0);
    PyObject *object = empty ? type->tp_new(type, empty, NULL) : NULL;
    Py_XDECREF(empty);
    if (!object || trace_local_add(trace, object) < 0) {
        Py_XDECREF(object);
        return NULL;
    }
    PyObject *method = PyMethod_New(init, object);
    PyObject *done = method ? call_method(trace, method, args, nargs, kwnames) : NULL;
    Py_XDECREF(method);
    if (!done)
        Py_CLEAR(object);
    Py_XDECREF(done);
    return object;
}

static PyObject *
invoke_ufunc(Trace *trace, PyObject *ufunc, PyObject *const *args, size_t nargs,
             PyObject *kwnames)
{
    const PyUFuncObject *u = (PyUFuncObject *)ufunc;
    size_t nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0, nin = (size_t)u->nin;
    PyObject *out = NULL;
    uint32_t mutates = 0;
    for (int i = 0; u->ntypes && i < u->nin + u->nout; i++) {
        if (u->types[i] == NPY_OBJECT && u->ntypes == 1)
            return call_effect(trace, BAIL_unknown_call, ufunc, args, nargs, kwnames);
    }
    if (nargs == nin + 1 && u->nout == 1 && !nkw && args[nin] != Py_None) {
        out = args[nin];
        mutates = 1u << nin;
    } else if (nkw == 1 && nargs == nin &&
               PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "out") ==
                   0) {
        out = args[nargs];
        if (PyTuple_CheckExact(out) && PyTuple_GET_SIZE(out) == 1)
            out = PyTuple_GET_ITEM(out, 0);
    } else if (nkw || nargs != nin)
        out = Py_None; /* the general way */
    if (out != Py_None && nargs >= nin) {
        bool traced = out && tracer_check(trace->state, out);
        if (!out || traced) {
            PyObject *result = trace_ufunc(trace, ufunc, args, u->nin, (Tracer *)out);
            if (result != Py_NotImplemented)
                return result;
            Py_DECREF(result);
        }
    }
    return trace_call_out(trace, ufunc, args, nargs, kwnames, mutates);
}

/* As trace_call, for callables with an `out=` that they write. */
PyObject *
trace_call_out(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
               PyObject *kwnames, uint32_t mutates)
{
    size_t nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0;
    PyObject **all = NULL, *result;
    for (size_t i = 0; i < nkw; i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, (Py_ssize_t)i),
                                             "out"))
            continue;
        PyObject *out = args[nargs + i];
        if (PyTuple_CheckExact(out) && PyTuple_GET_SIZE(out) == 1)
            out = PyTuple_GET_ITEM(out, 0);
        else if (PyTuple_CheckExact(out))
            return call_effect(trace, BAIL_unknown_call, callable, args, nargs,
                               kwnames);
        if (out == Py_None || nargs + i >= 32)
            continue;
        mutates |= 1u << (nargs + i);
        all = PyMem_Malloc((nargs + nkw) * sizeof *all);
        if (!all)
            return PyErr_NoMemory();
        memcpy(all, args, (nargs + nkw) * sizeof *all);
        all[nargs + i] = trace_wrap(trace, out);
        result = trace_call(trace, callable, all, nargs, kwnames, mutates);
        Py_DECREF(all[nargs + i]);
        PyMem_Free(all);
        return result;
    }
    return trace_call(trace, callable, args, nargs, kwnames, mutates);
}

/* `out` by position, and arguments that are written because a keyword says so. */
static PyObject *
call_pure(Trace *trace, uint32_t row, PyObject *callable, PyObject *const *args,
          size_t nargs, PyObject *kwnames)
{
    size_t out = row >> CALL_OUT_SHIFT & 0xff,
           nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0;
    uint32_t mutates = (row & 0xff) == CALL_mutates;
    bool overwrites = row & CALL_COPIES && nargs + nkw > 1;
    for (size_t i = 0; i < nkw; i++)
        overwrites |= PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i),
                                                       "overwrite_input") == 0;
    if (overwrites)
        return call_effect(trace, BAIL_unknown_call, callable, args, nargs, kwnames);
    if (out && nargs >= out && out <= 32 && args[out - 1] != Py_None)
        mutates |= 1u << (out - 1);
    return trace_call_out(trace, callable, args, nargs, kwnames, mutates);
}

/* getattr(object, name[, default]) and hasattr(object, name). */
static PyObject *
call_attribute(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
               PyObject *kwnames, bool has)
{
    if (kwnames || nargs < 2 || nargs > 3 || !PyUnicode_CheckExact(args[1]))
        return call_effect(trace, BAIL_unknown_call, callable, args, nargs, kwnames);
    PyObject *value = attribute(trace, args[0], args[1]);
    if (has && value) {
        Py_DECREF(value);
        Py_RETURN_TRUE;
    }
    if (value || !PyErr_ExceptionMatches(PyExc_AttributeError) || (!has && nargs == 2))
        return value;
    PyErr_Clear();
    if (!tracer_check(trace->state, args[0]))
        trace_end(trace, BAIL_unknown_call, args[1]); /* absence is not guarded */
    return has ? Py_NewRef(Py_False) : Py_NewRef(args[2]);
}

static PyObject *
invoke_kind(Trace *trace, uint32_t row, PyObject *callable, PyObject *const *args,
            size_t nargs, PyObject *kwnames)
{
    PyObject *result;
    bool asking = trace->asking;
    switch ((CallKind)(row & 0xff)) {
    case CALL_pure:
    case CALL_mutates:
        return call_pure(trace, row, callable, args, nargs, kwnames);
    case CALL_pass:
    case CALL_local:
        return call_pass(trace, callable, args, nargs, kwnames, row);
    case CALL_getattr:
    case CALL_hasattr:
        return call_attribute(trace, callable, args, nargs, kwnames,
                              (row & 0xff) == CALL_hasattr);
    case CALL_ask:
        trace->asking = true;
        result = trace_call(trace, callable, args, nargs, kwnames, 0);
        trace->asking = asking;
        return result;
    case CALL_type:
        if (nargs == 1 && !kwnames && tracer_check(trace->state, args[0]))
            return PyObject_GetAttrString(args[0], "__class__");
        return PyObject_Vectorcall(callable, args, nargs, kwnames);
    case CALL_select:
        if (nargs == 3 && !kwnames) {
            result = trace_select(trace, args);
            if (result != Py_NotImplemented)
                return result;
            Py_DECREF(result);
        }
        return trace_call(trace, callable, args, nargs, kwnames, 0);
    case CALL_context:
    case CALL_unknown:
        break;
    }
    return call_effect(trace, BAIL_unknown_call, callable, args, nargs, kwnames);
}

/* np.errstate: traced code shows no warnings, so 'ignore' and 'warn' change nothing. */
static PyObject *
call_errstate(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
              PyObject *kwnames)
{
    size_t n = nargs + (kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0);
    for (size_t i = 0; i < n; i++) {
        bool quiet = PyUnicode_Check(args[i]) &&
                     (PyUnicode_CompareWithASCIIString(args[i], "ignore") == 0 ||
                      PyUnicode_CompareWithASCIIString(args[i], "warn") == 0);
        if (!quiet)
            return call_effect(trace, BAIL_errstate, callable, args, nargs, kwnames);
    }
    return PyObject_Vectorcall(callable, args, nargs, kwnames);
}

/* np.add.reduce and its like. */
static PyObject *
call_ufunc_method(Trace *trace, PyObject *method, PyObject *const *args, size_t nargs,
                  PyObject *kwnames)
{
    const char *name = ((PyCFunctionObject *)method)->m_ml->ml_name;
    size_t out = strcmp(name, "reduceat") == 0 ? 4 : strcmp(name, "outer") == 0 ? 0 : 3;
    if (strcmp(name, "at") == 0)
        return trace_call_out(trace, method, args, nargs, kwnames, 1);
    bool given = out && nargs > out && args[out] != Py_None;
    return trace_call_out(trace, method, args, nargs, kwnames, given ? 1u << out : 0);
}

static PyObject *
invoke(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
       PyObject *kwnames)
{
    TraceState *state = trace->state;
    if (trial_over(trace))
        return NULL;
    if (Py_TYPE(callable) == state->method_type)
        return PyObject_Vectorcall(callable, args, nargs, kwnames);
    if (tracer_check(state, callable)) { /* an array is no function: Python says so */
        PyObject *real = tracer_object((Tracer *)callable);
        return real ? PyObject_Vectorcall(real, args, nargs, kwnames) : NULL;
    }
    if (!trace->live)
        return trace_call(trace, callable, args, nargs, kwnames, 0);
    if (Py_TYPE(callable) == &PyUFunc_Type)
        return invoke_ufunc(trace, callable, args, nargs, kwnames);
    uint32_t row = row_of(state, callable);
    if ((row & 0xff) == CALL_context)
        return call_errstate(trace, callable, args, nargs, kwnames);
    if (row)
        return invoke_kind(trace, row, callable, args, nargs, kwnames);
    if (Py_TYPE(callable) == state->function_type) {
        PyObject *inner = PyObject_GetAttrString(callable, "__wrapped__");
        PyObject *result = inner ? invoke(trace, inner, args, nargs, kwnames) : NULL;
        Py_XDECREF(inner);
        return result;
    }
    if (PyFunction_Check(callable))
        return call_function(trace, callable, args, nargs, kwnames);
    if (PyMethod_Check(callable))
        return call_method(trace, callable, args, nargs, kwnames);
    if (PyCFunction_Check(callable) && PyCFunction_GET_SELF(callable)) {
        /* A method of a ufunc, as np.add.reduce. */
        PyObject *self = PyCFunction_GET_SELF(callable);
        if (Py_TYPE(self) == &PyUFunc_Type)
            return call_ufunc_method(trace, callable, args, nargs, kwnames);
        return call_builtin_method(trace, callable, args, nargs, kwnames);
    }
    if (PyType_Check(callable))
        return call_class(trace, callable, args, nargs, kwnames);
    return call_effect(trace, BAIL_unknown_call, callable, args, nargs, kwnames);
}

/* Positional tuple and keyword dict as a vector. */
static PyObject *
invoke_tuple(Trace *trace, PyObject *callable, PyObject *args, Py_ssize_t skip,
             PyObject *kwargs)
{
    Py_ssize_t nargs = PyTuple_GET_SIZE(args) - skip,
               nkw = kwargs ? PyDict_GET_SIZE(kwargs) : 0;
    PyObject **vector = PyMem_Malloc((size_t)(nargs + nkw + 1) * sizeof *vector), *key,
             *value;
    PyObject *names = nkw ? PyTuple_New(nkw) : NULL, *result = NULL;
    Py_ssize_t at = 0, i = 0;
    if (!vector || (nkw && !names)) {
        PyErr_NoMemory();
        goto done;
    }
    for (; i < nargs; i++)
        vector[i] = PyTuple_GET_ITEM(args, skip + i);
    while (nkw && PyDict_Next(kwargs, &at, &key, &value)) {
        PyTuple_SET_ITEM(names, i - nargs, Py_NewRef(key));
        vector[i++] = value;
    }
    result = invoke(trace, callable, vector, (size_t)nargs, names);
done:
    PyMem_Free(vector);
    Py_XDECREF(names);
    return result;
}

PyObject *
trace_invoke(Trace *trace, PyObject *callable, PyObject *args, PyObject *kwargs)
{
    return invoke_tuple(trace, callable, args, 0, kwargs);
}

PyObject *
trace_invoke_ufunc(Trace *trace, PyObject *ufunc, PyObject *method, PyObject *args,
                   Py_ssize_t skip, PyObject *kwargs)
{
    if (PyUnicode_CompareWithASCIIString(method, "__call__") == 0)
        return invoke_tuple(trace, ufunc, args, skip, kwargs);
    PyObject *bound = PyObject_GetAttr(ufunc, method);
    PyObject *result = bound ? invoke_tuple(trace, bound, args, skip, kwargs) : NULL;
    Py_XDECREF(bound);
    return result;
}
>>>>>>> /tmp/t/m/trace_hooks.c.mine

/* -- The hooks --------------------------------------------------------------------- */

/* call(callable, *args, **kwargs) */
static PyObject *
hook_call(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs,
          PyObject *kwnames)
{
    Trace *trace = trace_current();
    if (!trace)
        return PyObject_Vectorcall(args[0], args + 1, (size_t)nargs - 1, kwnames);
    return trace_invoke_vector(trace, args[0], args + 1, (size_t)nargs - 1, kwnames);
}

static bool
is_numpy_module(PyObject *module)
{
    const char *name = PyModule_GetName(module);
    if (!name) {
        PyErr_Clear();
        return false;
    }
    return strncmp(name, "numpy", 5) == 0 || strcmp(name, "math") == 0 ||
           strncmp(name, "scipy", 5) == 0 || strcmp(name, "operator") == 0 ||
           strncmp(name, "pyasc", 5) == 0;
}

/* Attributes of user objects: properties are calls, the others are read and guarded. */
static PyObject *
attribute_of_object(Trace *trace, PyObject *object, PyObject *name)
{
    PyObject *descriptor = _PyType_Lookup(Py_TYPE(object), name);
    if (Py_TYPE(object)->tp_getattro != PyObject_GenericGetAttr ||
        (!descriptor && _PyType_Lookup(Py_TYPE(object), trace->state->getattr_name))) {
        return trace_code_unseen(trace, name) < 0 ? NULL
                                                  : PyObject_GetAttr(object, name);
    }
    if (descriptor && Py_TYPE(descriptor) == &PyProperty_Type) {
        PyObject *getter = PyObject_GetAttrString(descriptor, "fget");
        PyObject *result =
            getter ? trace_invoke_vector(trace, getter, &object, 1, NULL) : NULL;
        Py_XDECREF(getter);
        return result;
    }
    bool known = !descriptor || PyFunction_Check(descriptor) ||
                 !Py_TYPE(descriptor)->tp_descr_get ||
                 Py_TYPE(descriptor) == trace->state->function_type ||
                 Py_TYPE(descriptor) == &PyMemberDescr_Type ||
                 Py_TYPE(descriptor) == &PyGetSetDescr_Type ||
                 Py_TYPE(descriptor) == &PyMethodDescr_Type ||
                 Py_TYPE(descriptor) == &PyWrapperDescr_Type ||
                 Py_TYPE(descriptor) == &PyStaticMethod_Type ||
                 Py_TYPE(descriptor) == &PyClassMethod_Type;
    if (!known && trace_code_unseen(trace, name) < 0)
        return NULL;
    PyObject *value = PyObject_GetAttr(object, name);
    if (!value || !trace->live || trace_local_find(trace, object))
        return value;
    PyObject *loaded = trace_load(trace, SOURCE_attribute, object, name, value);
    Py_DECREF(value);
    return loaded;
}

/* Builtin objects whose attributes never change. */
static bool
has_fixed_attributes(const TraceState *state, PyObject *object)
{
    return (trace_is_stable(object) && !PyFunction_Check(object) &&
            !PyType_Check(object) && !PyModule_Check(object)) ||
           PyList_CheckExact(object) || PyDict_CheckExact(object) ||
           PyTuple_CheckExact(object) || PyAnySet_CheckExact(object) ||
           PyRange_Check(object) || PyIter_Check(object) ||
           Py_TYPE(object) == state->method_type ||
           Py_TYPE(object) == state->dispatcher_type ||
           Py_TYPE(object) == state->errstate_type || PyExceptionInstance_Check(object);
}

PyObject *
trace_attribute(Trace *trace, PyObject *object, PyObject *name)
{
    if (trace_trial_over(trace))
        return NULL;
    if (!trace->live || tracer_check(trace->state, object))
        return PyObject_GetAttr(object, name);
    if (trace_is_data(object)) {
        PyObject *tracer = trace_wrap(trace, object);
        PyObject *value = tracer ? PyObject_GetAttr(tracer, name) : NULL;
        Py_XDECREF(tracer);
        return value;
    }
    if ((PyModule_Check(object) && is_numpy_module(object)) ||
        has_fixed_attributes(trace->state, object))
        return PyObject_GetAttr(object, name);
    if (PyModule_Check(object) || PyType_Check(object) || PyFunction_Check(object) ||
        Py_TYPE(object) == trace->state->function_type) {
        PyObject *value = PyObject_GetAttr(object, name), *loaded = value;
        if (value && !trace_local_find(trace, object)) {
            loaded = trace_load(trace, SOURCE_attribute, object, name, value);
            Py_DECREF(value);
        }
        return loaded;
    }
    return attribute_of_object(trace, object, name);
}

/* attribute(object, name) */
static PyObject *
hook_attribute(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError, "attribute hook takes two arguments");
    return trace ? trace_attribute(trace, args[0], args[1])
                 : PyObject_GetAttr(args[0], args[1]);
}

/* name(value, 'name'): a global or builtin that was just loaded in the caller's frame. */
static PyObject *
hook_name(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    PyObject *globals = PyEval_GetGlobals();
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError, "name hook takes two arguments");
    if (!trace || !trace->live || !globals)
        return Py_NewRef(args[0]);
    return trace_load(trace, SOURCE_global, globals, args[1], args[0]);
}

/* value(x): what came out of a cell, an item or an unpacked tuple. */
static PyObject *
hook_value(PyObject *Py_UNUSED(module), PyObject *value)
{
    Trace *trace = trace_current();
    return trace ? trace_wrap(trace, value) : Py_NewRef(value);
}

static bool
is_builtin_container(PyObject *object)
{
    return PyList_CheckExact(object) || PyTuple_CheckExact(object) ||
           PyDict_CheckExact(object) || PyUnicode_CheckExact(object) ||
           PyRange_Check(object) || PyBytes_CheckExact(object);
}

/* item(object, key) */
static PyObject *
hook_item(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    PyObject *object = args[0], *value;
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError, "item hook takes two arguments");
    if (!trace || tracer_check(trace->state, object))
        return PyObject_GetItem(object, args[1]);
    if (trace_is_data(object)) {
        PyObject *tracer = trace_wrap(trace, object);
        value = tracer ? PyObject_GetItem(tracer, args[1]) : NULL;
        Py_XDECREF(tracer);
        return value;
    }
    if (!is_builtin_container(object) && !PyType_Check(object)) {
        if (trace_trial_ends(trace))
            return NULL;
        trace_end(trace, BAIL_unknown_call, (PyObject *)Py_TYPE(object));
        PyObject *key = trace_real(trace->state, args[1]);
        value = key ? PyObject_GetItem(object, key) : NULL;
        Py_XDECREF(key);
        return value;
    }
    value = PyObject_GetItem(object, args[1]);
    if (!value)
        return NULL;
    if (PyIter_Check(value) && trace->live && !trace_local_find(trace, object) &&
        trace_code_unseen(trace, (PyObject *)Py_TYPE(value)) < 0)
        Py_CLEAR(value);
    PyObject *wrapped = value ? trace_wrap(trace, value) : NULL;
    Py_XDECREF(value);
    return wrapped;
}

/* Stores to what was there before the call: from here on NumPy goes on alone. */
static int
outside_store(Trace *trace, PyObject *object, PyObject *name)
{
    if (trace_trial_over(trace))
        return -1;
    if (trace->live && !trace_local_find(trace, object)) {
        if (trace_trial_ends(trace))
            return -1;
        trace_end(trace, BAIL_store, name);
    }
    return 0;
}

/* store_item(object, key, value) */
static PyObject *
hook_store_item(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    PyObject *object = args[0], *target = NULL, *key = NULL, *value = NULL;
    int status = -1;
    if (nargs != 3)
        return PyErr_Format(PyExc_TypeError, "store_item hook takes three arguments");
    if (!trace)
        status = PyObject_SetItem(object, args[1], args[2]);
    else if (tracer_check(trace->state, object) ||
             (trace->live && (PyList_CheckExact(object) || PyDict_CheckExact(object)) &&
              trace_local_find(trace, object))) {
        trace->blockers += !tracer_check(trace->state, object);
        status = PyObject_SetItem(object, args[1], args[2]);
    } else {
        target = trace_is_data(object) && trace->live ? trace_wrap(trace, object)
                                                      : Py_NewRef(object);
        if (target && tracer_check(trace->state, target))
            status = PyObject_SetItem(target, args[1], args[2]);
        else if (target) {
            if (outside_store(trace, object, (PyObject *)Py_TYPE(object)) == 0) {
                trace_end(trace, BAIL_store, (PyObject *)Py_TYPE(object));
                key = trace_real(trace->state, args[1]);
            }
            value = key ? trace_real(trace->state, args[2]) : NULL;
            status = value ? PyObject_SetItem(target, key, value) : -1;
        }
    }
    Py_XDECREF(target);
    Py_XDECREF(key);
    Py_XDECREF(value);
    if (status < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* True where a store runs no code: to a plain instance made in this call. */
static bool
stores_plainly(Trace *trace, PyObject *object, PyObject *name)
{
    PyTypeObject *type = Py_TYPE(object);
    if (!trace->live || PyType_Check(object) || !trace_local_find(trace, object) ||
        type->tp_setattro != PyObject_GenericSetAttr)
        return false;
    PyObject *descriptor = _PyType_Lookup(type, name);
    return !descriptor || !Py_TYPE(descriptor)->tp_descr_set;
}

/* store_attribute(object, name, value) */
static PyObject *
hook_store_attribute(PyObject *Py_UNUSED(module), PyObject *const *args,
                     Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    PyObject *object = args[0], *value = NULL;
    int status;
    if (nargs != 3)
        return PyErr_Format(PyExc_TypeError,
                            "store_attribute hook takes three arguments");
    if (!trace || tracer_check(trace->state, object) ||
        stores_plainly(trace, object, args[1])) {
        if (trace)
            trace->blockers++;
        status = PyObject_SetAttr(object, args[1], args[2]);
    } else {
        if (outside_store(trace, object, args[1]) < 0)
            return NULL;
        trace_end(trace, BAIL_store, args[1]);
        value = trace_real(trace->state, args[2]);
        status = value ? PyObject_SetAttr(object, args[1], value) : -1;
        Py_XDECREF(value);
    }
    if (status < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* delete_item(object, key) and delete_attribute(object, name) */
static PyObject *
hook_delete_item(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError, "delete_item hook takes two arguments");
    if (trace && outside_store(trace, args[0], (PyObject *)Py_TYPE(args[0])) < 0)
        return NULL;
    if (trace_see(trace, args[0]) < 0 || PyObject_DelItem(args[0], args[1]) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
hook_delete_attribute(PyObject *Py_UNUSED(module), PyObject *const *args,
                      Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError,
                            "delete_attribute hook takes two arguments");
    if (trace && outside_store(trace, args[0], args[1]) < 0)
        return NULL;
    if (trace && !stores_plainly(trace, args[0], args[1]))
        trace_end(trace, BAIL_store, args[1]);
    if (PyObject_DelAttr(args[0], args[1]) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* outer(value): the value of a global or outer name that is about to be stored. */
static PyObject *
hook_outer(PyObject *Py_UNUSED(module), PyObject *value)
{
    Trace *trace = trace_current();
    if (!trace)
        return Py_NewRef(value);
    if (trace_trial_ends(trace))
        return NULL;
    trace_end(trace, BAIL_store, NULL);
    return trace_real(trace->state, value);
}

/* local(object): a container, function or class made in this call. */
static PyObject *
hook_local(PyObject *Py_UNUSED(module), PyObject *object)
{
    Trace *trace = trace_current();
    if (trace) {
        /* Functions outlive the trace with what their cells hold then: see
         * trace_capture. */
        if ((trace->live || PyFunction_Check(object)) &&
            trace_local_add(trace, object) < 0)
            return NULL;
        PyObject *cells =
            PyFunction_Check(object) ? PyFunction_GET_CLOSURE(object) : NULL;
        for (Py_ssize_t i = 0; cells && i < PyTuple_GET_SIZE(cells); i++) {
            if (trace_local_add(trace, PyTuple_GET_ITEM(cells, i)) < 0)
                return NULL;
        }
    }
    return Py_NewRef(object);
}

/* Elements of containers of arrays are wrapped as they come out. */
PyObject *
trace_iterable(Trace *trace, PyObject *object)
{
    if (!trace->live || !(PyTuple_CheckExact(object) || PyList_CheckExact(object)))
        return Py_NewRef(object);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
    bool data = false;
    for (Py_ssize_t i = 0; i < n; i++)
        data |= trace_is_data(PySequence_Fast_GET_ITEM(object, i));
    if (!data)
        return Py_NewRef(object);
    PyObject *copy = PyTuple_CheckExact(object) ? PyTuple_New(n) : PyList_New(n);
    for (Py_ssize_t i = 0; copy && i < n; i++) {
        PyObject *item = trace_wrap(trace, PySequence_Fast_GET_ITEM(object, i));
        if (!item) {
            Py_CLEAR(copy);
            break;
        }
        if (PyTuple_CheckExact(object))
            PyTuple_SET_ITEM(copy, i, item);
        else
            PyList_SET_ITEM(copy, i, item);
    }
    return copy;
}

/* iterate(object): what a loop, a starred argument or an unpacking goes over. */
static PyObject *
hook_iterate(PyObject *Py_UNUSED(module), PyObject *object)
{
    Trace *trace = trace_current();
    if (!trace)
        return Py_NewRef(object);
    if (trace_is_data(object))
        return trace_wrap(trace, object);
    if (tracer_check(trace->state, object) && ((Tracer *)object)->ndim == 0)
        return Py_XNewRef(
            tracer_object((Tracer *)object)); /* not iterable: Python says so */
<<<<<<< /tmp/t/m/trace_hooks.c.idx
    return trace_see(trace, object) < 0 ? NULL : trace_iterable(trace, object);
=======
    return see(trace, object) < 0 ? NULL : trace_iterable(trace, object);
>>>>>>> /tmp/t/m/trace_hooks.c.mine
}

/* mapping(object): what `**` unpacks. */
static PyObject *
hook_mapping(PyObject *Py_UNUSED(module), PyObject *object)
{
    Trace *trace = trace_current();
    PyObject *key, *value, *copy;
    Py_ssize_t at = 0;
    if (!trace || !trace->live)
        return Py_NewRef(object);
    if (!PyDict_CheckExact(object))
        return trace_see(trace, object) < 0 ? NULL : Py_NewRef(object);
    copy = PyDict_New();
    while (copy && PyDict_Next(object, &at, &key, &value)) {
        PyObject *wrapped = trace_wrap(trace, value);
        if (!wrapped || PyDict_SetItem(copy, key, wrapped) < 0)
            Py_CLEAR(copy);
        Py_XDECREF(wrapped);
    }
    return copy;
}

/* operand(x), compared(x): what an operator, or == and !=, is about to work on. */
static PyObject *
hook_operand(PyObject *Py_UNUSED(module), PyObject *value)
{
    return trace_see(trace_current(), value) < 0 ? NULL : Py_NewRef(value);
}

static PyObject *
hook_compared(PyObject *Py_UNUSED(module), PyObject *value)
{
    return trace_see_compared(trace_current(), value) < 0 ? NULL : Py_NewRef(value);
}

/* tries(): a try with handlers begins. caught(): one of its handlers does; what was
** raised may
** depend on things that no guard watches. */
static PyObject *
hook_tries(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    Trace *trace = trace_current();
    if (trace)
        trace->tries = true;
    Py_RETURN_NONE;
}

static PyObject *
hook_caught(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    Trace *trace = trace_current();
    if (trace)
        trace_end(trace, BAIL_caught, NULL);
    Py_RETURN_NONE;
}

/* loop(iterable): the iterator of a `for` statement whose body may become a region. */
static PyObject *
hook_loop(PyObject *capsule, PyObject *iterable)
{
    TraceState *state = PyCapsule_GetPointer(capsule, NULL);
    return state ? trace_loop_new(state, trace_current(), iterable) : NULL;
}

/* test(x): the value of a condition. */
static PyObject *
hook_test(PyObject *Py_UNUSED(module), PyObject *value)
{
    Trace *trace = trace_current();
    if (trace && trace->live && trace_is_data(value))
        return trace_wrap(trace, value);
    return trace_see_truth(trace, value) < 0 ? NULL : Py_NewRef(value);
}

/* same(a, b): `a is b` */
static PyObject *
hook_same(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    PyObject *a = args[0], *b = args[1];
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError, "same hook takes two arguments");
    if (trace && tracer_check(trace->state, a) != tracer_check(trace->state, b)) {
        Tracer *tracer = (Tracer *)(tracer_check(trace->state, a) ? a : b);
        PyObject *other = tracer_check(trace->state, a) ? b : a;
        if (tracer->object == other)
            Py_RETURN_TRUE;
        if (tracer->kind == TRACER_scalar && PyArray_IsScalar(tracer->object, Bool)) {
            /* NumPy's True and False are one object each. */
            int truth = PyObject_IsTrue((PyObject *)tracer);
            if (truth < 0)
                return NULL;
            return PyBool_FromLong(tracer->object == other);
        }
    }
    if (trace && a != b && tracer_check(trace->state, a) &&
        tracer_check(trace->state, b) && ((Tracer *)a)->ndim == 0 &&
        ((Tracer *)b)->ndim == 0) {
        /* Numbers: which are one object is an accident. */
        trace_end(trace, BAIL_unknown_constant, NULL);
        return PyBool_FromLong(((Tracer *)a)->object == ((Tracer *)b)->object);
    }
    return PyBool_FromLong(a == b);
}

/* context(manager): a with statement's manager. */
static PyObject *
hook_context(PyObject *Py_UNUSED(module), PyObject *manager)
{
    Trace *trace = trace_current();
    if (trace_trial_over(trace))
        return NULL;
    if (trace && trace->live && Py_TYPE(manager) != trace->state->errstate_type &&
        trace_code_unseen(trace, (PyObject *)Py_TYPE(manager)) < 0)
        return NULL;
    return Py_NewRef(manager);
}

#define FAST(f) (PyCFunction)(void (*)(void)) f
static PyMethodDef hooks[] = {
    {"call", FAST(hook_call), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"attribute", FAST(hook_attribute), METH_FASTCALL, NULL},
    {"name", FAST(hook_name), METH_FASTCALL, NULL},
    {"value", hook_value, METH_O, NULL},
    {"item", FAST(hook_item), METH_FASTCALL, NULL},
    {"store_item", FAST(hook_store_item), METH_FASTCALL, NULL},
    {"store_attribute", FAST(hook_store_attribute), METH_FASTCALL, NULL},
    {"delete_item", FAST(hook_delete_item), METH_FASTCALL, NULL},
    {"delete_attribute", FAST(hook_delete_attribute), METH_FASTCALL, NULL},
    {"outer", hook_outer, METH_O, NULL},
    {"local", hook_local, METH_O, NULL},
    {"iterate", hook_iterate, METH_O, NULL},
    {"loop", hook_loop, METH_O, NULL},
    {"test", hook_test, METH_O, NULL},
    {"mapping", hook_mapping, METH_O, NULL},
    {"operand", hook_operand, METH_O, NULL},
    {"compared", hook_compared, METH_O, NULL},
    {"tries", hook_tries, METH_NOARGS, NULL},
    {"caught", hook_caught, METH_NOARGS, NULL},
    {"same", FAST(hook_same), METH_FASTCALL, NULL},
    {"context", hook_context, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

int
trace_hooks_add(TraceState *state, PyObject *module)
{
    PyObject *dict = PyDict_New(), *capsule = PyCapsule_New(state, NULL, NULL);
    for (PyMethodDef *hook = hooks; dict && hook->ml_name; hook++) {
        PyObject *function = PyCFunction_New(hook, capsule);
        if (!function || PyDict_SetItemString(dict, hook->ml_name, function) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(function);
    }
    Py_XDECREF(capsule);
    if (!dict)
        return -1;
    int status = PyModule_AddObjectRef(module, "hooks", dict);
    Py_DECREF(dict);
    return status;
}
