/* lists.c - lists of numbers, scalars and arrays as the arrays that NumPy makes of them.
**
** One of numbers alone is a call of numpy.array, which a plan makes once (jit/plan_made.c). Where values of
** the trace are in it, it is memory without values and a store of each item.
*/
#include <string.h>

#include "trace/composed.h"

enum { ITEMS_MAX = 256 };

typedef struct Items {
    int ndim; /* of the lists: arrays in them have more */
    npy_intp shape[NPY_MAXDIMS];
    PyObject *item[ITEMS_MAX]; /* owned, in C order */
    npy_intp n;
    Tracer *array;        /* what all of them are alike, or NULL: they are numbers */
    bool traced;          /* one is a value of the trace */
    PyArray_Descr *descr; /* what they have in common, owned; or NULL */
} Items;

static bool
is_list(PyObject *object)
{
    return PyList_CheckExact(object) || PyTuple_CheckExact(object);
}

/* Larger ints have another dtype: in a plan, a later one ends it with its OverflowError. */
static bool
fits(PyObject *number)
{
    int overflow = 1;
    if (PyLong_CheckExact(number))
        PyLong_AsLongLongAndOverflow(number, &overflow);
    return !overflow;
}

/* A number's dtype; NULL: it is none that is known. New reference. */
static PyArray_Descr *
dtype_of(Trace *trace, PyObject *item)
{
    if (tracer_check(trace->state, item)) {
        Tracer *x = (Tracer *)item;
        bool known = x->trace == trace && tracer_plain(x) && x->kind != TRACER_index &&
                     (x->kind != TRACER_int || fits(x->object));
        return known ? (PyArray_Descr *)Py_NewRef(x->descr) : NULL;
    }
    if (PyLong_CheckExact(item))
        return fits(item) ? PyArray_DescrFromType(NPY_LONG) : NULL;
    return PyBool_Check(item)           ? PyArray_DescrFromType(NPY_BOOL)
           : PyFloat_CheckExact(item)   ? PyArray_DescrFromType(NPY_DOUBLE)
           : PyComplex_CheckExact(item) ? PyArray_DescrFromType(NPY_CDOUBLE)
                                        : NULL;
}

/* One more item, of a list of the last axis. */
static bool
add_item(Trace *trace, Items *items, PyObject *item)
{
    PyArray_Descr *descr = items->n < ITEMS_MAX ? dtype_of(trace, item) : NULL;
    bool traced = tracer_check(trace->state, item);
    Tracer *array =
        traced && ((Tracer *)item)->kind == TRACER_array ? (Tracer *)item : NULL;
    if (!descr)
        return false;
    if (items->n == 0)
        items->array = array;
    bool alike = !array == !items->array &&
                 (!array || (array->ndim == items->array->ndim &&
                             memcmp(array->shape, items->array->shape,
                                    (size_t)array->ndim * sizeof *array->shape) == 0));
    if (items->descr) {
        PyArray_Descr *both = PyArray_PromoteTypes(items->descr, descr);
        Py_SETREF(items->descr, both);
        Py_DECREF(descr);
    } else
        items->descr = descr;
    items->item[items->n++] = Py_NewRef(item);
    items->traced |= traced;
    return alike && items->descr;
}

/* An item, as a tracer where it is a number or an array of NumPy's from outside. New reference; NULL: an exception
** is set. */
static PyObject *
wrapped_item(Trace *trace, PyObject *list, Py_ssize_t i)
{
    PyObject *item = PySequence_Fast_GET_ITEM(list, i);
    if (!PyArray_CheckExact(item) && !PyArray_CheckScalar(item))
        return Py_NewRef(item);
    PyObject *key = PyLong_FromSsize_t(i);
    PyObject *wrapped = key ? trace_wrap_item(trace, list, key, item) : NULL;
    Py_XDECREF(key);
    return wrapped;
}

/* All items of lists of one shape. */
static bool
collect(Trace *trace, Items *items, PyObject *list, int axis)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
    if (axis >= items->ndim || items->shape[axis] != n)
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = wrapped_item(trace, list, i);
        bool known = !item ? false
                     : is_list(item)
                         ? collect(trace, items, item, axis + 1)
                         : axis == items->ndim - 1 && add_item(trace, items, item);
        Py_XDECREF(item);
        if (!known)
            return false;
    }
    return true;
}

/* What a list holds, first of all its shape. False: it is none of what is known. */
static bool
read_list(Trace *trace, PyObject *list, Items *items)
{
    for (PyObject *at = list; is_list(at); at = PySequence_Fast_GET_ITEM(at, 0)) {
        if (items->ndim == NPY_MAXDIMS - 8)
            return false;
        items->shape[items->ndim++] = PySequence_Fast_GET_SIZE(at);
        if (PySequence_Fast_GET_SIZE(at) == 0)
            return false;
    }
    return items->ndim && collect(trace, items, list, 0);
}

/* The key of item number k. */
static PyObject *
key_of(const Items *items, npy_intp k)
{
    PyObject *key = PyTuple_New(items->ndim);
    for (int d = items->ndim; key && d-- > 0; k /= items->shape[d]) {
        PyObject *i = PyLong_FromSsize_t(k % items->shape[d]);
        if (!i)
            Py_CLEAR(key);
        else
            PyTuple_SET_ITEM(key, d, i);
    }
    return key;
}

/* A number as a scalar of the array's dtype, where the cast is plain; else itself. New reference. */
static PyObject *
as_element(Trace *trace, PyObject *item, PyArray_Descr *descr)
{
    const Tracer *x = tracer_check(trace->state, item) ? (Tracer *)item : NULL;
    int type = descr->type_num;
    bool same = x && (x->kind == TRACER_array || x->kind == TRACER_int ||
                      (x->kind == TRACER_scalar && x->descr->type_num == type));
    bool plain =
        x ? x->kind != TRACER_scalar || trace_casts_plainly(x->descr->type_num, type)
          : PyComplex_CheckExact(item) || !PyTypeNum_ISINTEGER(type);
    if (same || !plain)
        return Py_NewRef(item);
    PyObject *number = trace_number(trace, (PyObject *)descr->typeobj, item);
    if (number == Py_NotImplemented)
        Py_SETREF(number, Py_NewRef(item));
    return number;
}

/* Memory in C order, and each item stored there. */
static PyObject *
stored(Trace *trace, Items *items, PyArray_Descr *descr)
{
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS], step = PyDataType_ELSIZE(descr);
    int ndim = items->ndim + (items->array ? items->array->ndim : 0);
    if (!trace_descr_plain(descr) || ndim > NPY_MAXDIMS)
        return trace_not_here();
    trace->extents |= items->array != NULL;
    for (int d = 0; d < ndim; d++)
        shape[d] =
            d < items->ndim ? items->shape[d] : items->array->shape[d - items->ndim];
    for (int d = ndim; d-- > 0; step *= shape[d])
        strides[d] = step;
    if (!step)
        return trace_not_here();
    PyObject *result = trace_new_empty(trace, descr, ndim, shape, strides);
    for (npy_intp k = 0; result && result != Py_NotImplemented && k < items->n; k++) {
        PyObject *key = key_of(items, k),
                 *element = as_element(trace, items->item[k], descr);
        if (!key || !element || PyObject_SetItem(result, key, element) < 0)
            Py_CLEAR(result);
        Py_XDECREF(element);
        Py_XDECREF(key);
    }
    return result;
}

/* numpy.array(list, descr), recorded as a call. */
static PyObject *
made_by_call(Trace *trace, PyObject *list, PyArray_Descr *descr)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *callable = numpy ? PyObject_GetAttrString(numpy, "array") : NULL;
    PyObject *args[] = {list, (PyObject *)descr};
    PyObject *result =
        callable ? trace_call(trace, callable, args, descr ? 2 : 1, NULL, 0) : NULL;
    Py_XDECREF(callable);
    Py_XDECREF(numpy);
    return result;
}

PyObject *
trace_list_array(Trace *trace, PyObject *list, PyArray_Descr *descr)
{
    Items *items;
    PyObject *result = NULL;
    if (!trace->live || !is_list(list))
        return trace_not_here();
    items = PyMem_Calloc(1, sizeof *items);
    if (!items)
        return PyErr_NoMemory();
    if (!read_list(trace, list, items))
        result = PyErr_Occurred() ? NULL : trace_not_here();
    else if (!items->traced && trace_descr_plain(descr ? descr : items->descr))
        result = made_by_call(trace, list, descr);
    else
        result = stored(trace, items, descr ? descr : items->descr);
    while (items->n > 0)
        Py_DECREF(items->item[--items->n]);
    Py_XDECREF(items->descr);
    PyMem_Free(items);
    return result;
}
