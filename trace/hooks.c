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

#include "trace/invoke.h"
#include "trace/nest.h"

/* -- The hooks --------------------------------------------------------------------- */

/* The trace that asks. Each question takes longer than what Python does by itself: where they are many and few operations
** come of them, the trace ends. */
static Trace *
asking(void)
{
    Trace *trace = trace_current();
    if (trace && trace->live && ++trace->nhooks > TRACE_HOOKS_MAX &&
        trace->nhooks > TRACE_HOOKS_MAX + TRACE_OP_HOOKS * trace->nops)
        trace_end(trace, BAIL_too_long, NULL);
    return trace;
}

/* call(callable, *args, **kwargs) */
static PyObject *
hook_call(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs,
          PyObject *kwnames)
{
    Trace *trace = asking();
    if (!trace)
        return PyObject_Vectorcall(args[0], args + 1, (size_t)nargs - 1, kwnames);
    return trace_invoke_vector(trace, args[0], args + 1, (size_t)nargs - 1, kwnames);
}

/* attribute(object, name) */
static PyObject *
hook_attribute(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Trace *trace = asking();
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError, "attribute hook takes two arguments");
    return trace ? trace_attribute(trace, args[0], args[1])
                 : PyObject_GetAttr(args[0], args[1]);
}

/* name(value, 'name'): a global or builtin that was just loaded in the caller's frame. */
static PyObject *
hook_name(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Trace *trace = asking();
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
    Trace *trace = asking();
    if (!trace)
        return Py_NewRef(value);
    if (trace->live && (PyList_CheckExact(value) || PyDict_CheckExact(value)))
        trace_read_cells(trace, value);
    return trace_wrap(trace, value);
}

/* owner_name(value, 'name'), owner_attribute(object, 'name'), owner_value(value): as those
** without owner; what comes is about to be changed, its contents are not read. */
static PyObject *
hook_owner_name(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    if (trace)
        trace->owner = true;
    PyObject *value = hook_name(module, args, nargs);
    if (trace)
        trace->owner = false;
    return value;
}

static PyObject *
hook_owner_attribute(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    if (trace)
        trace->owner = true;
    PyObject *value = hook_attribute(module, args, nargs);
    if (trace)
        trace->owner = false;
    return value;
}

static PyObject *
hook_owner_value(PyObject *Py_UNUSED(module), PyObject *value)
{
    Trace *trace = asking();
    return trace ? trace_wrap(trace, value) : Py_NewRef(value);
}

static bool
is_builtin_container(PyObject *object)
{
    return PyList_CheckExact(object) || PyTuple_CheckExact(object) ||
           PyDict_CheckExact(object) || PyUnicode_CheckExact(object) ||
           PyRange_Check(object) || PyBytes_CheckExact(object) ||
           trace_is_named_tuple(object);
}

/* item(object, key) */
static PyObject *
hook_item(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Trace *trace = asking();
    PyObject *object = args[0], *value;
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError, "item hook takes two arguments");
    if (!trace || tracer_check(trace->state, object) ||
        Py_TYPE(object) == trace->state->flat_type)
        return PyObject_GetItem(object, args[1]);
    if (trace_is_data(object)) {
        PyObject *tracer = trace_wrap(trace, object);
        value = tracer ? PyObject_GetItem(tracer, args[1]) : NULL;
        Py_XDECREF(tracer);
        return value;
    }
    if (!is_builtin_container(object) && !PyType_Check(object)) {
        PyObject *getter = _PyType_Lookup(Py_TYPE(object), trace->state->getitem_name);
        PyObject *method =
            getter && PyFunction_Check(getter) ? PyMethod_New(getter, object) : NULL;
        if (!method && PyErr_Occurred())
            return NULL;
        bool known = method && trace->live && trace->state->table &&
                     PyDict_Contains(trace->state->table, method) == 1;
        if (method && trace->live && !known &&
            Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) {
            if (!trace_guard_add(trace, SOURCE_attribute, (PyObject *)Py_TYPE(object),
                                 trace->state->getitem_name, getter)) {
                Py_DECREF(method);
                return NULL;
            }
            known = true;
        }
        value = known ? trace_invoke_vector(trace, method, &args[1], 1, NULL) : NULL;
        Py_XDECREF(method);
        if (known) /* np.mgrid, np.r_, classes of the user's */
            return value;
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
    PyObject *wrapped = value ? trace_wrap_item(trace, object, args[1], value) : NULL;
    Py_XDECREF(value);
    return wrapped;
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

/* local_list(object): what an operator made of a list made in this call. */
static PyObject *
hook_local_list(PyObject *module, PyObject *object)
{
    return PyList_CheckExact(object) ? hook_local(module, object) : Py_NewRef(object);
}

/* Elements of containers of arrays are wrapped as they come out. */
PyObject *
trace_iterable(Trace *trace, PyObject *object)
{
    if (!trace->live || !(PyTuple_CheckExact(object) || PyList_CheckExact(object)))
        return Py_NewRef(object);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
    bool data = false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(object, i);
        data |= trace_is_data(item) || PyList_CheckExact(item) ||
                PyTuple_CheckExact(item) || PyDict_CheckExact(item);
    }
    if (!data)
        return Py_NewRef(object);
    PyObject *copy = PyTuple_CheckExact(object) ? PyTuple_New(n) : PyList_New(n);
    for (Py_ssize_t i = 0; copy && i < n; i++) {
        PyObject *key = PyLong_FromSsize_t(i);
        PyObject *item = key ? trace_wrap_item(trace, object, key,
                                               PySequence_Fast_GET_ITEM(object, i))
                             : NULL;
        Py_XDECREF(key);
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
    Trace *trace = asking();
    if (!trace)
        return Py_NewRef(object);
    if (trace_is_data(object))
        return trace_wrap(trace, object);
    if (tracer_check(trace->state, object) && ((Tracer *)object)->ndim == 0)
        return Py_XNewRef(
            tracer_object((Tracer *)object)); /* not iterable: Python says so */
    return trace_see(trace, object) < 0 ? NULL : trace_items(trace, object);
}

PyObject *
trace_mapping(Trace *trace, PyObject *dict)
{
    PyObject *key, *value, *copy = PyDict_New();
    Py_ssize_t at = 0;
    while (copy && PyDict_Next(dict, &at, &key, &value)) {
        PyObject *wrapped = trace_wrap_item(trace, dict, key, value);
        if (!wrapped || PyDict_SetItem(copy, key, wrapped) < 0)
            Py_CLEAR(copy);
        Py_XDECREF(wrapped);
    }
    return copy;
}

/* mapping(object): what `**` unpacks. */
static PyObject *
hook_mapping(PyObject *Py_UNUSED(module), PyObject *object)
{
    Trace *trace = trace_current();
    if (!trace || !trace->live)
        return Py_NewRef(object);
    if (!PyDict_CheckExact(object))
        return trace_see(trace, object) < 0 ? NULL : Py_NewRef(object);
    return trace_mapping(trace, object);
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

/* finishes(): a try without handlers begins. */
static PyObject *
hook_finishes(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    Trace *trace = trace_current();
    if (trace)
        trace->finishes = true;
    Py_RETURN_NONE;
}

/* tries(): a try with handlers begins. caught(): one of its handlers does; what was
** raised may
** depend on things that no guard watches, but for what shapes alone have caused. */
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
    PyObject *handled = trace ? PyErr_GetHandledException() : NULL;
    if (trace && !(handled && handled == trace->raised))
        trace_end(trace, BAIL_caught, NULL);
    Py_XDECREF(handled);
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
    Trace *trace = asking();
    if (trace && trace->live && trace_is_data(value))
        return trace_wrap(trace, value);
    return trace_see_truth(trace, value) < 0 ? NULL : Py_NewRef(value);
}

/* Immutable objects that are compared by value when a plan is chosen. */
static bool
is_value(PyObject *object)
{
    return PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
           PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) ||
           PyBytes_CheckExact(object) || PyTuple_CheckExact(object);
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
    if (trace && is_value(a) && is_value(b))
        trace_end(trace, BAIL_unknown_constant, NULL); /* of these, too */
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

/* The hook of a loop, called with the values of its names and values from outside: the values of the names that are
** wanted behind it, or None; a list of its names' values for the loop without hooks. */
static PyObject *
nest_called(PyObject *capsule, PyObject *const *args, Py_ssize_t nargs)
{
    const PyObject *nest = PyCapsule_GetPointer(capsule, NULL);
    Trace *trace = trace_current();
    PyObject *names = NULL;
    if (!nest || nargs != 2)
        return PyErr_Format(PyExc_TypeError, "nest hooks take two arguments");
    PyObject *const *own = ((const PyTupleObject *)nest)->ob_item;
    PyObject *const all[] = {own[0], args[0], args[1], own[1], own[2], own[3]};
    if (trace && trace->live)
        names = trace_nest(trace, all);
    else if (!trace || trace_nest_probe(trace, all) == 0)
        names = Py_NewRef(Py_None);
    if (names == Py_None && trace && !trace->live && own[3] == Py_True)
        Py_SETREF(names, trace_nest_plain(trace, args[0]));
    return names;
}

#define FAST(f) (PyCFunction)(void (*)(void)) f
static PyMethodDef nest_method = {"nest", FAST(nest_called), METH_FASTCALL, NULL};

static void
nest_drop(PyObject *capsule)
{
    PyObject *nest = PyCapsule_GetPointer(capsule, NULL);
    Py_DECREF(nest);
}

/* nest_hook((description, slots wanted behind the loop, slot of the flag that the function returns, or -1, whether the
** loop is there without hooks)): the hook of the loop. What it holds is no one's to look into: it is in cells. */
static PyObject *
nest_hook(PyObject *Py_UNUSED(module), PyObject *nest)
{
    if (!PyTuple_CheckExact(nest) || PyTuple_GET_SIZE(nest) != 4 ||
        !PyLong_CheckExact(PyTuple_GET_ITEM(nest, 2)))
        return PyErr_Format(PyExc_TypeError, "nest_hook takes what a loop is");
    PyObject *capsule = PyCapsule_New(nest, NULL, nest_drop);
    if (!capsule)
        return NULL;
    Py_INCREF(nest);
    PyObject *hook = PyCFunction_New(&nest_method, capsule);
    Py_DECREF(capsule);
    return hook;
}

static PyMethodDef nest_maker = {"nest_hook", nest_hook, METH_O, NULL};

static PyMethodDef hooks[] = {
    {"call", FAST(hook_call), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"attribute", FAST(hook_attribute), METH_FASTCALL, NULL},
    {"name", FAST(hook_name), METH_FASTCALL, NULL},
    {"value", hook_value, METH_O, NULL},
    {"owner_name", FAST(hook_owner_name), METH_FASTCALL, NULL},
    {"owner_attribute", FAST(hook_owner_attribute), METH_FASTCALL, NULL},
    {"owner_value", hook_owner_value, METH_O, NULL},
    {"item", FAST(hook_item), METH_FASTCALL, NULL},
    {"store_item", FAST(trace_hook_store_item), METH_FASTCALL, NULL},
    {"masked", FAST(trace_hook_masked), METH_FASTCALL, NULL},
    {"store_masked", FAST(trace_hook_store_masked), METH_FASTCALL, NULL},
    {"augmented", trace_hook_augmented, METH_O, NULL},
    {"added", FAST(trace_hook_added), METH_FASTCALL, NULL},
    {"augment_masked", FAST(trace_hook_augment_masked), METH_FASTCALL, NULL},
    {"store_attribute", FAST(trace_hook_store_attribute), METH_FASTCALL, NULL},
    {"delete_item", FAST(trace_hook_delete_item), METH_FASTCALL, NULL},
    {"delete_attribute", FAST(trace_hook_delete_attribute), METH_FASTCALL, NULL},
    {"outer", trace_hook_outer, METH_O, NULL},
    {"outer_global", FAST(trace_hook_outer_global), METH_FASTCALL, NULL},
    {"local", hook_local, METH_O, NULL},
    {"local_list", hook_local_list, METH_O, NULL},
    {"iterate", hook_iterate, METH_O, NULL},
    {"loop", hook_loop, METH_O, NULL},
    {"test", hook_test, METH_O, NULL},
    {"mapping", hook_mapping, METH_O, NULL},
    {"operand", hook_operand, METH_O, NULL},
    {"compared", hook_compared, METH_O, NULL},
    {"tries", hook_tries, METH_NOARGS, NULL},
    {"finishes", hook_finishes, METH_NOARGS, NULL},
    {"caught", hook_caught, METH_NOARGS, NULL},
    {"same", FAST(hook_same), METH_FASTCALL, NULL},
    {"context", hook_context, METH_O, NULL},
    {"over", trace_hook_over, METH_O, NULL},
    {"bare", FAST(trace_hook_bare), METH_FASTCALL, NULL},
    {"rest", FAST(trace_hook_rest), METH_FASTCALL, NULL},
    {"layout", FAST(trace_hook_layout), METH_FASTCALL, NULL},
    {"dense", FAST(trace_hook_dense), METH_FASTCALL, NULL},
    {"blank", FAST(trace_hook_blank), METH_FASTCALL, NULL},
    {"record", FAST(trace_hook_record), METH_FASTCALL, NULL},
    {"shares", FAST(trace_hook_shares), METH_FASTCALL, NULL},
    {"real", FAST(trace_hook_real), METH_FASTCALL, NULL},
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
    PyObject *maker = PyCFunction_New(&nest_maker, NULL);
    int status = PyModule_AddObjectRef(module, "hooks", dict);
    if (status == 0)
        status = PyModule_AddObjectRef(module, "nest_hook", maker);
    Py_XDECREF(maker);
    Py_DECREF(dict);
    return status;
}
