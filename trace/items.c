/* items.c - lists and dictionaries from outside as loops see them.
**
** What is read from such a container comes out as a tracer. A loop must see what happens to
** the container meanwhile, so it goes over the container itself, not over a copy: a list by
** index, as its own iterator does; values and items of a dictionary by the dictionary's
** iterator.
*/
#include "trace/invoke.h"

typedef struct TraceItems {
    PyObject_HEAD
    PyObject *container; /* list, tuple or dict */
    PyObject *view;      /* of a dict: its values or items */
    PyObject *iterator;  /* of the view, or NULL: not begun */
    bool pairs;          /* items of a dict */
} TraceItems;

static void
items_dealloc(PyObject *self)
{
    TraceItems *items = (TraceItems *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(items->container);
    Py_XDECREF(items->view);
    Py_XDECREF(items->iterator);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *
wrapped(PyObject *container, PyObject *key, PyObject *item)
{
    Trace *trace = trace_current();
    return trace && trace->live ? trace_wrap_item(trace, container, key, item)
                                : Py_NewRef(item);
}

static Py_ssize_t
items_length(PyObject *self)
{
    return PyObject_Size(((TraceItems *)self)->container);
}

static PyObject *
items_item(PyObject *self, Py_ssize_t i)
{
    TraceItems *items = (TraceItems *)self;
    if (items->view || i >= PySequence_Fast_GET_SIZE(items->container)) {
        PyErr_SetString(PyExc_IndexError, "index out of range");
        return NULL;
    }
    PyObject *key = PyLong_FromSsize_t(i), *result = NULL;
    PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(items->container, i));
    if (key)
        result = wrapped(items->container, key, item);
    Py_XDECREF(key);
    Py_DECREF(item);
    return trace_item_made(result);
}

static PyObject *
items_iter(PyObject *self)
{
    TraceItems *items = (TraceItems *)self;
    if (!items->view)
        return PySeqIter_New(self);
    if (items->iterator)
        return Py_NewRef(self);
    TraceItems *begun = PyObject_New(TraceItems, Py_TYPE(self));
    if (!begun)
        return NULL;
    begun->container = Py_NewRef(items->container);
    begun->view = Py_NewRef(items->view);
    begun->pairs = items->pairs;
    begun->iterator = PyObject_CallMethod(items->container, "items", NULL);
    Py_XSETREF(begun->iterator,
               begun->iterator ? PyObject_GetIter(begun->iterator) : NULL);
    if (!begun->iterator)
        Py_CLEAR(begun);
    return (PyObject *)begun;
}

static PyObject *
items_next(PyObject *self)
{
    TraceItems *items = (TraceItems *)self;
    PyObject *pair = items->iterator ? PyIter_Next(items->iterator) : NULL, *value;
    if (!pair)
        return NULL;
    PyObject *key = PyTuple_GET_ITEM(pair, 0);
    value = wrapped(items->container, key, PyTuple_GET_ITEM(pair, 1));
    PyObject *result =
        !value || !items->pairs ? Py_XNewRef(value) : PyTuple_Pack(2, key, value);
    Py_XDECREF(value);
    Py_DECREF(pair);
    return trace_item_made(result);
}

static PyType_Slot items_slots[] = {
    {Py_tp_dealloc, items_dealloc}, {Py_sq_length, items_length},
    {Py_sq_item, items_item},       {Py_tp_iter, items_iter},
    {Py_tp_iternext, items_next},   {0, NULL},
};

static PyType_Spec items_spec = {
    .name = "pyasc.TracedItems",
    .basicsize = sizeof(TraceItems),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = items_slots,
};

int
trace_items_load(TraceState *state)
{
    state->items_type = (PyTypeObject *)PyType_FromSpec(&items_spec);
    return state->items_type ? 0 : -1;
}

PyObject *
trace_items_real(const TraceState *state, PyObject *object)
{
    TraceItems *items = (TraceItems *)object;
    if (Py_TYPE(object) != state->items_type)
        return NULL;
    return items->iterator ? items->iterator
           : items->view   ? items->view
                           : items->container;
}

/* True if what the container holds may come out as something else. */
static bool
holds_data(PyObject *container)
{
    PyObject *key, *item;
    Py_ssize_t at = 0;
    bool data = false;
    if (PyDict_CheckExact(container)) {
        while (!data && PyDict_Next(container, &at, &key, &item))
            data = trace_is_data(item) || PyList_CheckExact(item) ||
                   PyTuple_CheckExact(item) || PyDict_CheckExact(item);
        return data;
    }
    for (; !data && at < PySequence_Fast_GET_SIZE(container); at++) {
        item = PySequence_Fast_GET_ITEM(container, at);
        data = trace_is_data(item) || PyList_CheckExact(item) ||
               PyTuple_CheckExact(item) || PyDict_CheckExact(item);
    }
    return data;
}

static PyObject *
items_new(Trace *trace, PyObject *container, PyObject *view, bool pairs)
{
    TraceItems *items = PyObject_New(TraceItems, trace->state->items_type);
    if (!items)
        return NULL;
    items->container = Py_NewRef(container);
    items->view = Py_XNewRef(view);
    items->iterator = NULL;
    items->pairs = pairs;
    return (PyObject *)items;
}

PyObject *
trace_items(Trace *trace, PyObject *container)
{
    bool list = PyList_CheckExact(container);
    if (!trace->live || !(list || PyTuple_CheckExact(container)) ||
        trace_local_find(trace, container))
        return trace_iterable(trace, container);
    /* A list may get data while it is gone over. */
    if (!list && !holds_data(container))
        return Py_NewRef(container);
    return items_new(trace, container, NULL, false);
}

PyObject *
trace_dict_items(Trace *trace, PyObject *dict, bool pairs)
{
    PyObject *view = PyObject_CallMethod(dict, pairs ? "items" : "values", NULL);
    if (!view || !holds_data(dict))
        return view;
    PyObject *items = items_new(trace, dict, view, pairs);
    Py_DECREF(view);
    return items;
}

bool
trace_goes_on(const TraceState *state, PyObject *callable)
{
    return callable == (PyObject *)&PyEnum_Type ||
           callable == (PyObject *)&PyZip_Type || callable == (PyObject *)&PyMap_Type ||
           callable == (PyObject *)&PyFilter_Type ||
           callable == (PyObject *)&PyReversed_Type || callable == state->iter;
}
