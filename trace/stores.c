/* stores.c - hooks of stores to attributes, items and outer names.
**
** What was made in this call is written at once. What was there before is an effect, where
** the store is known to run no code of the user's; else it ends the trace.
*/
#include "trace/call.h"
#include "trace/invoke.h"

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

/* True where a container gets back the array that it holds at the key, as `d["w"] -= x` does. */
static bool
holds_already(Trace *trace, PyObject *container, PyObject *key, PyObject *value)
{
    if (!trace->live || !tracer_check(trace->state, value) ||
        ((Tracer *)value)->kind != TRACER_array)
        return false;
    PyObject *held = NULL;
    if (PyDict_CheckExact(container) && PyUnicode_CheckExact(key))
        held = PyDict_GetItemWithError(container, key);
    else if (PyList_CheckExact(container) && PyLong_CheckExact(key)) {
        Py_ssize_t i = PyLong_AsSsize_t(key), n = PyList_GET_SIZE(container);
        i = i < 0 ? i + n : i;
        held = i >= 0 && i < n ? PyList_GET_ITEM(container, i) : NULL;
    }
    PyErr_Clear();
    return held && held == ((Tracer *)value)->object &&
           ((Tracer *)value)->storage->param >= 0 &&
           trace_holds_item(trace, container, key, held);
}

/* store_item(object, key, value) */
PyObject *
trace_hook_store_item(PyObject *Py_UNUSED(module), PyObject *const *args,
                      Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    PyObject *object = args[0], *target = NULL, *key = NULL, *value = NULL;
    int status = -1;
    if (nargs != 3)
        return PyErr_Format(PyExc_TypeError, "store_item hook takes three arguments");
    if (!trace)
        status = PyObject_SetItem(object, args[1], args[2]);
    else if (holds_already(trace, object, args[1], args[2]))
        status = 0;
    else if (tracer_check(trace->state, object) ||
             Py_TYPE(object) == trace->state->flat_type ||
             (trace->live && (PyList_CheckExact(object) || PyDict_CheckExact(object)) &&
              trace_local_find(trace, object))) {
        trace->blockers += !tracer_check(trace->state, object);
        status = PyObject_SetItem(object, args[1], args[2]);
    } else {
        target = trace_is_data(object) && trace->live ? trace_wrap(trace, object)
                                                      : Py_NewRef(object);
        bool effect = target && trace->live &&
                      (PyList_CheckExact(object) || PyDict_CheckExact(object)) &&
                      trace_may_mutate(trace, object);
        int entry =
            !target || effect ? 0 : trace_store_entry(trace, target, args[1], args[2]);
        if (entry)
            status = entry < 0 ? -1 : 0;
        else if (target && tracer_check(trace->state, target))
            status = PyObject_SetItem(target, args[1], args[2]);
        else if (effect) {
            PyObject *done =
                trace_effect(trace, trace->state->setitem, args, 3, NULL, 0, true);
            status = done ? 0 : -1;
            Py_XDECREF(done);
        } else if (target) {
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
PyObject *
trace_hook_store_attribute(PyObject *Py_UNUSED(module), PyObject *const *args,
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
        int stored = trace_store_outside(trace, object, args[1], args[2]);
        if (stored < 0)
            return NULL;
        if (stored)
            Py_RETURN_NONE;
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

/* augmented(x): what `x op= y` is about to work on. Lists, sets and their like stay the same objects and hold something
** else afterwards: no turn of a loop does what the one before it did. */
PyObject *
trace_hook_augmented(PyObject *Py_UNUSED(module), PyObject *value)
{
    Trace *trace = trace_current();
    bool changes = PyList_CheckExact(value) || PyDict_CheckExact(value);
    if (trace_see(trace, value) < 0 ||
        (trace && changes &&
         outside_store(trace, value, (PyObject *)Py_TYPE(value)) < 0))
        return NULL;
    if (trace && !tracer_check(trace->state, value) && !PyTuple_CheckExact(value) &&
        !trace_is_constant(value) && !PyArray_CheckScalar(value))
        trace->blockers++;
    return Py_NewRef(value);
}

/* What becomes part of a container without a trace: no tracer may. New reference. */
static PyObject *
real_items(TraceState *state, PyObject *value)
{
    if (PyIter_Check(value) && !tracer_check(state, value))
        value = PySequence_List(value);
    else
        Py_INCREF(value);
    bool inside = value && (PyList_CheckExact(value) || PyDict_CheckExact(value) ||
                            PyAnySet_CheckExact(value));
    if (inside && trace_real_inside(state, value) < 0)
        Py_CLEAR(value);
    else if (value && !inside)
        Py_SETREF(value, trace_real(state, value));
    return value;
}

/* added(x, y): the y of `x op= y`. Containers from outside keep what is in it. */
PyObject *
trace_hook_added(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError, "added hook takes two arguments");
    if (trace_see(trace, args[1]) < 0)
        return NULL;
    bool keeps = trace && !trace->live && !tracer_check(trace->state, args[0]) &&
                 !PyTuple_CheckExact(args[0]) && !trace_is_constant(args[0]) &&
                 !trace_is_data(args[0]) && !trace_local_find(trace, args[0]);
    return keeps ? real_items(trace->state, args[1]) : Py_NewRef(args[1]);
}

/* delete_item(object, key) and delete_attribute(object, name) */
PyObject *
trace_hook_delete_item(PyObject *Py_UNUSED(module), PyObject *const *args,
                       Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError, "delete_item hook takes two arguments");
    if (trace && outside_store(trace, args[0], (PyObject *)Py_TYPE(args[0])) < 0)
        return NULL;
    if (trace)
        trace->blockers++;
    if (trace_see(trace, args[0]) < 0 || PyObject_DelItem(args[0], args[1]) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyObject *
trace_hook_delete_attribute(PyObject *Py_UNUSED(module), PyObject *const *args,
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
    if (trace)
        trace->blockers++;
    if (PyObject_DelAttr(args[0], args[1]) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* outer(value): the value of a global or outer name that is about to be stored. */
PyObject *
trace_hook_outer(PyObject *Py_UNUSED(module), PyObject *value)
{
    Trace *trace = trace_current();
    if (!trace)
        return Py_NewRef(value);
    if (trace_trial_ends(trace))
        return NULL;
    trace_end(trace, BAIL_store, NULL);
    return trace_real(trace->state, value);
}

/* outer_global(value, 'name'): the same of a global name, which the effect stores itself. */
PyObject *
trace_hook_outer_global(PyObject *Py_UNUSED(module), PyObject *const *args,
                        Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    PyObject *globals = PyEval_GetGlobals();
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError, "outer_global hook takes two arguments");
    if (!trace || !trace->live || !globals)
        return trace_hook_outer(NULL, args[0]);
    if (trace_store_global(trace, globals, args[1], args[0]) < 0)
        return NULL;
    return trace_real(trace->state, args[0]);
}
