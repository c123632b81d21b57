/* guard.c - values from outside: what is known, what is guarded. */
#include <string.h>

#include "trace/invoke.h"

/* -- Known ------------------------------------------------------------------------- */

enum { OUTER_ITEMS_MAX = 1024, OUTER_DEPTH_MAX = 32 }; /* of containers from outside */

PyObject *
trace_id_of(PyObject *object)
{
    return PyLong_FromVoidPtr(object);
}

int
trace_local_add(Trace *trace, PyObject *object)
{
    PyObject *id = trace_id_of(object);
    int status = id ? PyDict_SetItem(trace->locals, id, object) : -1;
    Py_XDECREF(id);
    return status;
}

/* What a table (or NULL) has of the object; borrowed. No exception: without memory it is not found, and there will be
** no plan. */
PyObject *
trace_look_up(Trace *trace, PyObject *table, PyObject *object)
{
    PyObject *id = table ? trace_id_of(object) : NULL;
    PyObject *found = id ? PyDict_GetItem(table, id) : NULL;
    if (table && !id) {
        PyErr_Clear();
        trace->forgot = true;
    }
    Py_XDECREF(id);
    return found;
}

bool
trace_local_find(Trace *trace, PyObject *object)
{
    return trace_look_up(trace, trace->locals, object) != NULL;
}

/* Arrays and NumPy scalars whose origin is not known must not meet traced values. */
bool
trace_is_data(PyObject *object)
{
    return PyArray_Check(object) || PyArray_CheckScalar(object);
}

PyObject *
trace_wrap(Trace *trace, PyObject *object)
{
    if (!trace_is_data(object) || !trace->live)
        return Py_NewRef(object);
    PyObject *tracer = trace_look_up(trace, trace->known, object);
    if (tracer)
        return Py_NewRef(tracer);
    trace_end(trace, BAIL_unknown_array, NULL);
    return Py_NewRef(object);
}

/* -- Guards: values from outside --------------------------------------------------- */

/* A trial must not have effects: it ends here. Also one that ended as a trace: from
** there on
** nothing is recorded, so that effects would not be seen. */
bool
trace_trial_ends(Trace *trace)
{
    if (!trace || !trace->trial)
        return false;
    PyErr_SetString(trace->state->trial_end, "an effect ends the trial");
    return true;
}

void
trace_raised_by_shapes(Trace *trace)
{
    PyObject *type, *value, *traceback;
    if (!PyErr_Occurred() || !trace->live)
        return;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    trace->extents = true;
    Py_XSETREF(trace->raised, Py_XNewRef(value));
    PyErr_Restore(type, value, traceback);
}

bool
trace_trial_over(Trace *trace)
{
    return trace && !trace->live && trace_trial_ends(trace);
}

/* What follows runs code that the recorder does not see. */
int
trace_code_unseen(Trace *trace, PyObject *detail)
{
    if (trace_trial_ends(trace))
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
            g->expected == expected && g->epoch == trace->epoch)
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
        .epoch = trace->epoch,
    };
    return true;
}

/* Objects that cannot change under us, or whose identity says all. */
bool
trace_is_stable(PyObject *object)
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
        if (!trace_is_stable(item) && !is_stable_tuple(item))
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
    if (!dict && !PyList_CheckExact(object) && !PyTuple_CheckExact(object)) {
        /* Objects are compared by their identity: what is stored in them is where it was. */
        bool instance = Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE &&
                        !trace_is_stable(object) && !PyIter_Check(object) &&
                        !trace_local_find(trace, object);
        return !instance || trace_outside_add(trace, object) == 0;
    }
    /* Unknown code that was called may have put other things into lists and dictionaries. */
    if (trace_was_mutated(trace, object) ||
        (trace->epoch && !PyTuple_CheckExact(object)))
        return false;
    PyObject *id = trace_id_of(object), *key, *value;
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
    return trace_look_up(trace, trace->known, object) == object;
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

/* NumPy's numbers that a signature can hold; others count by their identity. */
static bool
is_parameter(PyObject *value)
{
    return (PyArray_IsScalar(value, Number) && !PyArray_IsScalar(value, LongDouble) &&
            !PyArray_IsScalar(value, CLongDouble)) ||
           PyArray_IsScalar(value, Bool);
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
    id = PyArray_Check(value) ? trace_id_of(value) : PyLong_FromSize_t(number);
    if (!trace->loaded)
        trace->loaded = PyDict_New();
    if (!id || !trace->loaded ||
        PyDict_SetItem(PyArray_Check(value) ? trace->known : trace->loaded, id,
                       tracer) < 0)
        Py_CLEAR(tracer);
    Py_XDECREF(id);
    if (tracer && PyArray_CheckExact(value))
        note_overlap(trace, value);
    return tracer;
}

/* The tracer that a number became when it was loaded before: borrowed, or NULL. */
static PyObject *
loaded_before(Trace *trace, const TraceGuard *guard)
{
    PyObject *number = guard && guard->param && trace->loaded
                           ? PyLong_FromSize_t((size_t)(guard - trace->guards))
                           : NULL;
    PyObject *tracer = number ? PyDict_GetItem(trace->loaded, number) : NULL;
    Py_XDECREF(number);
    return tracer;
}

/* True for Python's numbers that are to be run-time inputs. */
static bool
varies(const Trace *trace, PyObject *name, PyObject *value)
{
    return trace->varying && name &&
           (PyFloat_CheckExact(value) || PyComplex_CheckExact(value) ||
            PyLong_CheckExact(value)) &&
           PyDict_GetItem(trace->varying, name) == Py_True;
}

/* A value read from outside: a captured array becomes a parameter. */
PyObject *
trace_load(Trace *trace, TraceSourceKind kind, PyObject *owner, PyObject *name,
           PyObject *value)
{
    TraceState *state = trace->state;
    /* Unknown code that this call has run already may have changed it since. */
    PyObject *before =
        trace_reads_find(trace_log_reads(trace->log, trace->log_at), kind, owner, name);
    if (before)
        value = before;
    if (tracer_check(state, value) || trace_local_find(trace, value))
        return Py_NewRef(value);
    if (trace_input_find(trace, value)) /* an argument that is somewhere else, too */
        trace_end(trace, BAIL_unknown_constant, name);
    PyObject *stored = kind == SOURCE_attribute || kind == SOURCE_global
                           ? trace_stored_find(trace, owner, name)
                           : NULL;
    if (stored)
        return Py_NewRef(stored);
    PyObject *known =
        PyArray_Check(value) ? trace_look_up(trace, trace->known, value) : NULL;
    if (!known)
        known = loaded_before(trace, guard_find(trace, kind, owner, name, value));
    if (!trace_guard_add(trace, kind, owner, name, value))
        return NULL;
    if (known)
        return Py_NewRef(known);
    TraceGuard *guard = guard_find(trace, kind, owner, name, value);
    if (PyArray_CheckExact(value) || (is_parameter(value) && !trace->epoch)) {
        if (PyArray_CheckExact(value) && !trace_array_known((PyArrayObject *)value)) {
            trace_end(trace, BAIL_unknown_array, name);
            return Py_NewRef(value);
        }
        PyObject *tracer = load_parameter(trace, guard, value);
        return trace->epoch && tracer ? trace_touched(trace, tracer) : tracer;
    }
    if (!trace->epoch && varies(trace, name, value))
        return load_parameter(trace, guard, value);
    bool mutable = PyList_CheckExact(value) || PyDict_CheckExact(value);
    if (mutable && trace->owner && !guard->contents) {
        if (trace_outside_add(trace, value) < 0)
            return NULL;
    } else if (mutable || (PyTuple_CheckExact(value) && !is_stable_tuple(value))) {
        guard->contents = true;
        if (!trace_outer_add(trace, value))
            trace_end(trace, BAIL_unknown_constant, name);
    } else if (PyIter_Check(value) && !trace_is_source(trace, value) &&
               trace_code_unseen(trace, name) < 0)
        return NULL; /* what has been taken from it cannot be put back */
    else if (!trace_is_stable(value) && trace_outside_add(trace, value) < 0)
        return NULL;
    return Py_NewRef(value);
}

static bool
is_plain_key(PyObject *key)
{
    return PyLong_CheckExact(key) || PyUnicode_CheckExact(key);
}

/* The guard by which a container is known, or NULL. */
static TraceGuard *
guard_of_container(Trace *trace, PyObject *container)
{
    for (uint32_t i = 0; i < trace->nguards; i++) {
        if (trace->guards[i].expected == container && trace->guards[i].contents)
            return &trace->guards[i];
    }
    return NULL;
}

/* True if a plan is only for calls where the container holds this array at the key: a guard says so, or the signature. */
bool
trace_holds_item(Trace *trace, PyObject *container, PyObject *key, PyObject *array)
{
    for (uint32_t i = 0; i < trace->nguards; i++) {
        const TraceGuard *guard = &trace->guards[i];
        if (guard->kind == SOURCE_item && guard->owner == container &&
            guard->expected == array &&
            PyObject_RichCompareBool(guard->name, key, Py_EQ) == 1)
            return true;
    }
    return !guard_of_container(trace, container) && trace_outer_find(trace, container);
}

bool
trace_guard_itself(Trace *trace, PyObject *container)
{
    TraceGuard *guard = trace->epoch ? NULL : guard_of_container(trace, container);
    if (guard)
        guard->itself = true;
    return guard != NULL;
}

PyObject *
trace_wrap_item(Trace *trace, PyObject *container, PyObject *key, PyObject *item)
{
    PyObject *stored =
        trace->live && PyDict_CheckExact(container) && PyUnicode_CheckExact(key)
            ? trace_stored_find(trace, container, key)
            : NULL;
    if (stored)
        return Py_NewRef(stored);
    bool inner = PyList_CheckExact(item) || PyDict_CheckExact(item) ||
                 (PyTuple_CheckExact(item) && !is_stable_tuple(item));
    bool data = PyArray_CheckExact(item) || is_parameter(item);
    const TraceGuard *guard = trace->live && (inner || data) && is_plain_key(key)
                                  ? guard_of_container(trace, container)
                                  : NULL;
    if (!guard)
        return trace_wrap(trace, item);
    return trace_load(trace, SOURCE_item, container, key, item);
}

int
trace_enter_names(Trace *trace, PyObject *function, PyObject *names)
{
    if (PyMethod_Check(function))
        function = PyMethod_GET_FUNCTION(function);
    PyObject *globals = PyFunction_GET_GLOBALS(function),
             *builtins = PyEval_GetBuiltins();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        PyObject *value = PyDict_GetItem(globals, name);
        if (!value)
            value = PyDict_GetItem(builtins, name);
        if (value && !trace_guard_add(trace, SOURCE_global, globals, name, value))
            return -1;
    }
    return 0;
}

void
trace_read_cells(Trace *trace, PyObject *container)
{
    for (uint32_t i = 0; i < trace->nguards; i++) {
        TraceGuard *guard = &trace->guards[i];
        if (guard->kind != SOURCE_cell || guard->expected != container ||
            guard->contents)
            continue;
        guard->contents = true;
        if (!trace_outer_add(trace, container))
            trace_end(trace, BAIL_unknown_constant, NULL);
    }
}

/* -- Objects whose operators are code ---------------------------------------------- */

/* Exact builtin types, and objects made by C code of which only methods are of use. */
static bool
is_builtin_value(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    return trace_is_stable(object) || object == Py_NotImplemented ||
           PyList_CheckExact(object) || PyTuple_CheckExact(object) ||
           PyDict_CheckExact(object) || PyRange_Check(object) ||
           PyFrozenSet_CheckExact(object) || type == &PyDictKeys_Type ||
           (PyExceptionInstance_Check(object) &&
            !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) ||
           type == &PyDictValues_Type || type == &PyDictItems_Type;
}

static bool
has_operators_of_tuples(PyObject *object)
{
    const PyTypeObject *type = Py_TYPE(object);
    return trace_is_named_tuple(object) &&
           type->tp_richcompare == PyTuple_Type.tp_richcompare &&
           (!type->tp_as_number ||
            (!type->tp_as_number->nb_add && !type->tp_as_number->nb_multiply &&
             !type->tp_as_number->nb_bool)) &&
           type->tp_as_sequence->sq_contains ==
               PyTuple_Type.tp_as_sequence->sq_contains;
}

/* True where an operator, len() or iteration of the object may run any code, or look at
** what
** no guard watches. */
static bool
is_opaque(Trace *trace, PyObject *object)
{
    TraceState *state = trace->state;
    if (is_builtin_value(object) || tracer_check(state, object) ||
        trace_is_data(object) || PyIter_Check(object) ||
        Py_TYPE(object) == state->method_type || Py_TYPE(object) == state->items_type ||
        Py_TYPE(object) == state->flat_type ||
        Py_TYPE(object) == state->function_type || trace_names_tracers(state, object) ||
        has_operators_of_tuples(object) || Py_TYPE(object) == state->dispatcher_type)
        return false;
    /* The methods of a class made in this call are rewritten like all else in the function. */
    return !(PySet_Check(object) && trace_local_find(trace, object)) &&
           !trace_local_find(trace, (PyObject *)Py_TYPE(object));
}

int
trace_see(Trace *trace, PyObject *object)
{
    if (trace && trace->live && is_opaque(trace, object))
        return trace_code_unseen(trace, (PyObject *)Py_TYPE(object));
    return 0;
}

/* Truth of objects that say nothing about it is no code. */
int
trace_see_truth(Trace *trace, PyObject *object)
{
    const PyTypeObject *type = Py_TYPE(object);
    bool silent = (!type->tp_as_number || !type->tp_as_number->nb_bool) &&
                  (!type->tp_as_sequence || !type->tp_as_sequence->sq_length) &&
                  (!type->tp_as_mapping || !type->tp_as_mapping->mp_length);
    return silent ? 0 : trace_see(trace, object);
}

/* Neither are == and != of objects that are compared by identity. */
int
trace_see_compared(Trace *trace, PyObject *object)
{
    bool identity = Py_TYPE(object)->tp_richcompare == PyBaseObject_Type.tp_richcompare;
    return identity ? 0 : trace_see(trace, object);
}

/* The items of a container that a builtin adds, compares or prints. */
int
trace_see_items(Trace *trace, PyObject *object)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (trace_see(trace, object) < 0)
        return -1;
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); i++) {
            if (trace_see(trace, PySequence_Fast_GET_ITEM(object, i)) < 0)
                return -1;
        }
    } else if (PyDict_CheckExact(object)) {
        while (PyDict_Next(object, &at, &key, &value)) {
            if (trace_see(trace, value) < 0)
                return -1;
        }
    }
    return 0;
}
