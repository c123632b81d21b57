/* template.c - templates: structures of Python objects with references to values in
** them. */
#include "trace/internal.h"

#ifdef Py_TPFLAGS_MANAGED_DICT
#define MANAGED_DICT Py_TPFLAGS_MANAGED_DICT
#else
#define MANAGED_DICT (1UL << 4) /* its value since Python 3.11 */
#endif

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

bool
trace_is_tuple(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    if (type == &PyTuple_Type)
        return true;
    return PyTuple_Check(object) && type->tp_basicsize == PyTuple_Type.tp_basicsize &&
           type->tp_dictoffset == 0 && !(type->tp_flags & MANAGED_DICT) &&
           PyObject_HasAttrString((PyObject *)type, "_fields");
}

PyObject *
trace_tuple_like(PyObject *like, Py_ssize_t n)
{
    PyTypeObject *type = Py_TYPE(like);
    return type == &PyTuple_Type ? PyTuple_New(n) : type->tp_alloc(type, n);
}

bool
trace_is_named_tuple(PyObject *object)
{
    const PyTypeObject *type = Py_TYPE(object);
    return PyTuple_Check(object) && !PyTuple_CheckExact(object) &&
           trace_is_tuple(object) && type->tp_iter == PyTuple_Type.tp_iter &&
           type->tp_as_sequence &&
           type->tp_as_sequence->sq_length == PyTuple_Type.tp_as_sequence->sq_length;
}

bool
trace_names_tracers(const TraceState *state, PyObject *object)
{
    if (!trace_is_named_tuple(object))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
        if (tracer_check(state, PyTuple_GET_ITEM(object, i)))
            return true;
    }
    return false;
}

static PyObject *
map_sequence(TraceState *state, PyObject *template, TraceMapFn map, void *context)
{
    bool tuple = trace_is_tuple(template);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(template);
    PyObject *copy = tuple ? trace_tuple_like(template, n) : PyList_New(n);
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
    if (Py_TYPE(template) == state->size_type)
        return trace_size_ref(state, ((TraceSizeRef *)template)->size,
                              ((TraceSizeRef *)template)->now);
    if (trace_is_tuple(template) || PyList_CheckExact(template))
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
