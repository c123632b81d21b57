/* invoke.c - calls as the user makes them, by kind of the callee. */
#include "trace/invoke.h"

#include <string.h>

/* -- Calls ------------------------------------------------------------------------- */

/* The row of the table: a CallKind and flags. */
static uint32_t
row_of(TraceState *state, PyObject *callable)
{
    if (!state->table || !(PyCFunction_Check(callable) || PyFunction_Check(callable) ||
                           PyMethod_Check(callable) || PyType_Check(callable) ||
                           state->dispatcher_type == Py_TYPE(callable) ||
                           Py_TYPE(callable) == Py_TYPE(state->default_rng)))
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

/* A user's function in rewritten form; NULL without an exception: leave it alone. `numbers`: it may be called
** with numbers alone. */
PyObject *
trace_rewritten(Trace *trace, PyObject *function, bool numbers)
{
    TraceState *state = trace->state;
    PyObject *id = trace_id_of(PyFunction_GET_CODE(function));
    if (!id)
        return NULL;
    bool ours = state->rewritten && PyDict_GetItem(state->rewritten, id);
    Py_XDECREF(id);
    if (ours)
        return Py_NewRef(function);
    PyObject *twin = PyObject_CallFunctionObjArgs(
        state->rewrite, function, numbers ? Py_True : Py_False,
        trace->twins ? trace->twins : Py_None, NULL);
    if (twin == Py_None)
        Py_CLEAR(twin);
    return twin;
}

/* Arrays that are default values are inputs. */
static int
load_defaults(Trace *trace, PyObject *defaults)
{
    PyObject *known = PyDict_CheckExact(defaults) ? trace_mapping(trace, defaults)
                                                  : trace_iterable(trace, defaults);
    Py_XDECREF(known);
    return known ? 0 : -1;
}

/* Code and default values of a function may be exchanged. */
int
trace_guard_definition(Trace *trace, PyObject *function)
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
        PyObject *loaded = trace_load(trace, kind, function, NULL, parts[i]);
        if (!loaded || load_defaults(trace, parts[i]) < 0) {
            Py_XDECREF(loaded);
            return -1;
        }
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
    if (trace_guard_definition(trace, function) < 0)
        return -1;
    for (Py_ssize_t i = 0; cells && i < PyTuple_GET_SIZE(cells); i++) {
        PyObject *cell = PyTuple_GET_ITEM(cells, i);
        PyObject *value = PyCell_GET(cell);
        if (!value || trace_local_find(trace, cell))
            continue;
        trace->owner = true; /* contents count once they are read: trace_read_cells */
        PyObject *loaded = trace_load(trace, SOURCE_cell, cell, NULL, value);
        trace->owner = false;
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

static bool
are_numbers(const TraceState *state, PyObject *const *args, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (PyArray_Check(args[i]) ||
            (tracer_check(state, args[i]) && ((Tracer *)args[i])->kind == TRACER_array))
            return false;
    }
    return true;
}

static PyObject *
call_function(Trace *trace, PyObject *function, PyObject *const *args, size_t nargs,
              PyObject *kwnames)
{
    size_t n = nargs + (kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *result = NULL;
    PyObject *twin =
        trace_rewritten(trace, function, are_numbers(trace->state, args, n));
    if (!twin) {
        if (PyErr_Occurred())
            return NULL;
        return trace_unknown_effect(trace, BAIL_unknown_call, function, args, nargs,
                                    kwnames);
    }
    if (guard_closure(trace, function) == 0 &&
        Py_EnterRecursiveCall(" while calling a Python object") == 0) {
        result = PyObject_Vectorcall(twin, args, nargs, kwnames);
        Py_LeaveRecursiveCall();
    }
    Py_DECREF(twin);
    return result;
}

static PyObject *
call_method(Trace *trace, PyObject *method, PyObject *const *args, size_t nargs,
            PyObject *kwnames)
{
    PyObject *self = PyMethod_GET_SELF(method);
    if (trace_is_source(trace, self)) {
        PyObject *name = PyObject_GetAttrString(method, "__name__");
        PyObject *result =
            name ? trace_effect_of(trace, self, name, args, nargs, kwnames) : NULL;
        Py_XDECREF(name);
        return result;
    }
    size_t nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0;
    PyObject **all = PyMem_Malloc((nargs + nkw + 1) * sizeof *all);
    if (!all)
        return PyErr_NoMemory();
    all[0] = self;
    memcpy(all + 1, args, (nargs + nkw) * sizeof *all);
    PyObject *result = trace_invoke_vector(trace, PyMethod_GET_FUNCTION(method), all,
                                           nargs + 1, kwnames);
    PyMem_Free(all);
    return result;
}

/* Callables given to builtins (key=, map's function) are called by C code: rewritten
** first. */
static PyObject *
pass_argument(Trace *trace, PyObject *argument, bool lazy)
{
    if (PyFunction_Check(argument)) {
        PyObject *twin = guard_closure(trace, argument) == 0
                             ? trace_rewritten(trace, argument, true)
                             : NULL;
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
    if (trace_is_data(argument))
        return trace_wrap(trace, argument);
    return lazy ? trace_items(trace, argument) : trace_iterable(trace, argument);
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

PyObject *
trace_call_pass(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
                PyObject *kwnames, uint32_t row)
{
    size_t n = nargs + (kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0);
    PyObject **passed = PyMem_Calloc(n + 1, sizeof *passed), *result = NULL;
    bool lazy = trace_goes_on(trace->state, callable);
    if (!passed)
        return PyErr_NoMemory();
    for (size_t i = 0; i < n; i++) {
        trace->blockers += PyIter_Check(args[i]); /* it moves on */
        int seen = row & CALL_ANY    ? 0
                   : row & CALL_DEEP ? trace_see_items(trace, args[i])
                                     : trace_see(trace, args[i]);
        bool flat = Py_TYPE(args[i]) == trace->state->flat_type;
        passed[i] = seen < 0 ? NULL
                    : flat   ? trace_flat_argument(trace, callable, args[i])
                    : row & CALL_AS_IT_IS && PyList_CheckExact(args[i])
                        ? Py_NewRef(args[i])
                        : pass_argument(trace, args[i], lazy);
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
        return trace_unknown_effect(trace, BAIL_unknown_call, class, args, nargs,
                                    kwnames);
    if (!trace_guard_add(trace, SOURCE_attribute, class, trace->state->init_name, init))
        return NULL;
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

/* An object of a class with __call__ in Python: that method. */
static PyObject *
call_object(Trace *trace, PyObject *object, PyObject *const *args, size_t nargs,
            PyObject *kwnames)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *function = type->tp_flags & Py_TPFLAGS_HEAPTYPE
                             ? _PyType_Lookup(type, trace->state->call_name)
                             : NULL;
    PyObject *twin = function && PyFunction_Check(function)
                         ? trace_rewritten(trace, function, false)
                         : NULL;
    if (!twin)
        return PyErr_Occurred() ? NULL
                                : trace_unknown_effect(trace, BAIL_unknown_call, object,
                                                       args, nargs, kwnames);
    Py_DECREF(twin);
    if (!trace_guard_add(trace, SOURCE_attribute, (PyObject *)type,
                         trace->state->call_name, function))
        return NULL;
    PyObject *method = PyMethod_New(function, object);
    PyObject *result = method ? call_method(trace, method, args, nargs, kwnames) : NULL;
    Py_XDECREF(method);
    return result;
}

/* Ufuncs and their methods take outputs in a tuple. */
static bool
is_of_ufunc(PyObject *callable)
{
    PyObject *self =
        PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : NULL;
    return Py_TYPE(callable) == &PyUFunc_Type ||
           (self && Py_TYPE(self) == &PyUFunc_Type);
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
        if (PyTuple_CheckExact(out) && PyTuple_GET_SIZE(out) == 1 &&
            is_of_ufunc(callable))
            out = PyTuple_GET_ITEM(out, 0);
        else if (PyTuple_CheckExact(out))
            return trace_unknown_effect(trace, BAIL_unknown_call, callable, args, nargs,
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
        return trace_unknown_effect(trace, BAIL_unknown_call, callable, args, nargs,
                                    kwnames);
    if (out && nargs >= out && out <= 32 && args[out - 1] != Py_None)
        mutates |= 1u << (out - 1);
    return trace_call_out(trace, callable, args, nargs, kwnames, mutates);
}

/* What the call is in terms of ops and other calls; Py_NotImplemented (new reference): itself. */
static PyObject *
composed_call(Trace *trace, uint32_t row, PyObject *callable, PyObject *const *args,
              size_t nargs, PyObject *kwnames)
{
    CallKind kind = row & 0xff;
    PyObject *result = trace_call_picked(trace, callable, args, nargs, kwnames);
    if (result != Py_NotImplemented)
        return result;
    if (kind == CALL_question)
        Py_SETREF(result, trace_question(trace, callable, args, nargs, kwnames));
    if (kind == CALL_select && nargs == 3 && !kwnames)
        Py_SETREF(result, trace_select(trace, args));
    if (result == Py_NotImplemented &&
        (kind == CALL_pure || kind == CALL_clip || kind == CALL_select))
        Py_SETREF(result, trace_composed(trace, callable, args, nargs, kwnames));
    if (result == Py_NotImplemented && kind == CALL_pure)
        Py_SETREF(result, trace_reduced(trace, callable, args, nargs, kwnames));
    if (result == Py_NotImplemented)
        Py_SETREF(result, trace_written(trace, callable, args, nargs, kwnames));
    return result;
}

static PyObject *
invoke_kind(Trace *trace, uint32_t row, PyObject *callable, PyObject *const *args,
            size_t nargs, PyObject *kwnames)
{
    bool asking = trace->asking;
    PyObject *result = composed_call(trace, row, callable, args, nargs, kwnames);
    if (result != Py_NotImplemented)
        return result;
    Py_DECREF(result);
    switch ((CallKind)(row & 0xff)) {
    case CALL_pure:
    case CALL_mutates:
    case CALL_clip:
        return call_pure(trace, row, callable, args, nargs, kwnames);
    case CALL_pass:
    case CALL_local:
        return trace_call_pass(trace, callable, args, nargs, kwnames, row);
    case CALL_getattr:
    case CALL_hasattr:
        return trace_call_attribute(trace, callable, args, nargs, kwnames,
                                    (row & 0xff) == CALL_hasattr);
    case CALL_question:
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
        return trace_call(trace, callable, args, nargs, kwnames, 0);
    case CALL_effect:
        return trace_known_effect(trace, row, callable, args, nargs, kwnames);
    case CALL_apart:
        return trace_unknown_effect(trace, BAIL_caller, callable, args, nargs, kwnames);
    case CALL_context:
    case CALL_unknown:
        break;
    }
    return trace_unknown_effect(trace, BAIL_unknown_call, callable, args, nargs,
                                kwnames);
}

PyObject *
trace_invoke_vector(Trace *trace, PyObject *callable, PyObject *const *args,
                    size_t nargs, PyObject *kwnames)
{
    TraceState *state = trace->state;
    if (trace_trial_over(trace))
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
        return trace_invoke_ufunc_call(trace, callable, args, nargs, kwnames);
    uint32_t row = row_of(state, callable);
    if (nargs && !kwnames && tracer_check(state, args[0])) {
        PyObject *answer = trace_builtin(trace, callable, args, nargs);
        if (answer != Py_NotImplemented)
            return answer;
        Py_DECREF(answer);
    }
    if ((row & 0xff) == CALL_context)
        return trace_call_errstate(trace, callable, args, nargs, kwnames);
    if (row)
        return invoke_kind(trace, row, callable, args, nargs, kwnames);
    if (Py_TYPE(callable) == state->dispatcher_type ||
        PyFunction_Check(callable)) { /* piecewise, fromfunction */
        PyObject *result = trace_written(trace, callable, args, nargs, kwnames);
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    }
    if (Py_TYPE(callable) == state->function_type) {
        if (trace_other_options(trace, callable))
            return trace_unknown_effect(trace, BAIL_options, callable, args, nargs,
                                        kwnames);
        PyObject *inner = PyObject_GetAttrString(callable, "__wrapped__");
        PyObject *result =
            inner ? trace_invoke_vector(trace, inner, args, nargs, kwnames) : NULL;
        Py_XDECREF(inner);
        return result;
    }
    if (trace_is_library(callable, args, nargs, kwnames))
        return trace_call(trace, callable, args, nargs, kwnames, 0);
    if (PyFunction_Check(callable))
        return call_function(trace, callable, args, nargs, kwnames);
    if (PyMethod_Check(callable))
        return call_method(trace, callable, args, nargs, kwnames);
    if (PyCFunction_Check(callable) && PyCFunction_GET_SELF(callable)) {
        /* A method of a ufunc, as np.add.reduce. */
        PyObject *self = PyCFunction_GET_SELF(callable);
        if (Py_TYPE(self) == &PyUFunc_Type)
            return trace_call_ufunc_method(trace, callable, args, nargs, kwnames);
        return trace_call_builtin_method(trace, callable, args, nargs, kwnames);
    }
    if (PyType_Check(callable))
        return call_class(trace, callable, args, nargs, kwnames);
    return call_object(trace, callable, args, nargs, kwnames);
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
    result = trace_invoke_vector(trace, callable, vector, (size_t)nargs, names);
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
