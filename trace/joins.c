/* joins.c - arrays made of others: memory without values, then a store of each part.
**
** A store is an `update`, so a part that is an elementwise value is computed right where it belongs.
*/
#include <string.h>

#include "trace/composed.h"
#include "trace/elementwise.h"

enum { PARTS_MAX = 32 };

/* What is put together: an array, or a number (append); `axis`: where a new axis of extent 1 is put, or
** -1. */
typedef struct Part {
    PyObject *object;
    Tracer *array;
    int axis, ndim;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
} Part;

typedef struct Parts {
    Part part[PARTS_MAX];
    PyArray_Descr *descrs[PARTS_MAX]; /* borrowed */
    npy_intp n;
} Parts;

PyObject *
trace_new_empty(Trace *trace, PyArray_Descr *descr, int ndim, const npy_intp *shape,
                const npy_intp *strides)
{
    IrDim dims[NPY_MAXDIMS];
    IrType type = trace_ir_type(descr, ndim, shape, dims);
    IrNode node = ir_node_typed(trace->graph, OP_empty, NULL, 0, NULL, 0, &type, 1);
    IrValue value = node ? ir_result(trace->graph, node, 0) : 0;
    if (!value)
        return trace_not_here();
    Py_INCREF(descr);
    PyObject *array =
        PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, strides, NULL, 0, NULL);
    PyObject *result =
        array ? (PyObject *)tracer_new_array(trace, value, (PyArrayObject *)array, -1)
              : NULL;
    Py_XDECREF(array);
    return result;
}

/* Of memory made for parts: the extent on one axis is this number, those on the others are extents of values that were
** there before: path.c. */
static void
empty_sized(Trace *trace, IrValue value, int ndim, int axis, PyObject *extent)
{
    PyObject *path = PyTuple_New(ndim);
    for (int d = 0; path && d < ndim; d++) {
        PyObject *said = d != axis ? Py_None
                         : trace_is_size(trace->state, extent)
                             ? ((Tracer *)extent)->size
                             : extent;
        PyTuple_SET_ITEM(path, d, Py_NewRef(said));
    }
    if (path)
        trace_path_set(trace, value, path);
    Py_XDECREF(path);
}

/* -- The result's layout ----------------------------------------------------------- */

/* NumPy's order of axes for several arrays, those with the greatest strides first. */
static void
sort_axes(const Parts *parts, int ndim, int *perm)
{
    for (int i = 0; i < ndim; i++)
        perm[i] = i;
    for (int i = 1; i < ndim; i++) {
        int place = i, axis = perm[i];
        for (int k = i - 1; k >= 0; k--) {
            bool ambiguous = true, swap = false;
            for (npy_intp a = 0; a < parts->n; a++) {
                const Part *part = &parts->part[a];
                if (part->shape[axis] == 1 || part->shape[perm[k]] == 1)
                    continue;
                if (Py_ABS(part->strides[axis]) <= Py_ABS(part->strides[perm[k]]))
                    swap = false;
                else if (ambiguous)
                    swap = true;
                ambiguous = false;
            }
            if (!ambiguous && !swap)
                break;
            if (!ambiguous)
                place = k;
        }
        memmove(perm + place + 1, perm + place, (size_t)(i - place) * sizeof *perm);
        perm[place] = axis;
    }
}

/* -- Joining ----------------------------------------------------------------------- */

/* False: the parts do not fit each other, or there is nothing in them. */
static bool
joined_shape(const Parts *parts, int axis, npy_intp *shape)
{
    int ndim = parts->part[0].ndim;
    memcpy(shape, parts->part[0].shape, (size_t)ndim * sizeof *shape);
    for (npy_intp i = 1; i < parts->n; i++) {
        const Part *part = &parts->part[i];
        if (part->ndim != ndim)
            return false;
        for (int d = 0; d < ndim; d++) {
            if (d != axis && part->shape[d] != shape[d])
                return false;
        }
        shape[axis] += part->shape[axis];
    }
    return PyArray_MultiplyList(shape, ndim) > 0;
}

/* The key of the window from `first` to `end` along the axis; without that axis: the one at `first`. */
static PyObject *
window_key(int ndim, int axis, PyObject *first, PyObject *end, bool without)
{
    PyObject *key = PyTuple_New(ndim);
    for (int d = 0; key && d < ndim; d++) {
        PyObject *part = d != axis ? PySlice_New(NULL, NULL, NULL)
                         : without ? Py_NewRef(first)
                                   : PySlice_New(first, end, NULL);
        if (!part) {
            Py_CLEAR(key);
            break;
        }
        PyTuple_SET_ITEM(key, d, part);
    }
    return key;
}

/* The part's extent on an axis of the result, as the program gets it. New reference. */
static PyObject *
extent_said(const Part *part, int axis)
{
    if (!part->array || part->axis == axis)
        return PyLong_FromLong(1);
    return trace_extent(part->array, axis - (part->axis >= 0 && axis > part->axis));
}

/* Stores the parts, one after the other. Where they end, as the program gets it: new reference. */
static PyObject *
store_parts(PyObject *result, const Parts *parts, int axis)
{
    PyObject *at = PyLong_FromLong(0);
    for (npy_intp i = 0; at && i < parts->n; i++) {
        const Part *part = &parts->part[i];
        PyObject *count = extent_said(part, axis);
        PyObject *end = count ? PyNumber_Add(at, count) : NULL;
        PyObject *key = end ? window_key(part->ndim, axis, at, end,
                                         part->axis == axis || !part->array)
                            : NULL;
        int status = !key                 ? -1
                     : !part->shape[axis] ? 0
                                          : PyObject_SetItem(result, key, part->object);
        Py_XDECREF(key);
        Py_XDECREF(count);
        Py_SETREF(at, end);
        if (status < 0)
            Py_CLEAR(at);
    }
    return at;
}

/* All parts along the axis, in one new array; packed: in C order. */
static PyObject *
join(Trace *trace, Parts *parts, int axis, bool packed)
{
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    int perm[NPY_MAXDIMS], ndim = parts->n ? parts->part[0].ndim : 0;
    if (axis < 0)
        axis += ndim;
    if (!ndim || axis < 0 || axis >= ndim || !joined_shape(parts, axis, shape))
        return trace_not_here();
    PyArray_Descr *descr = PyArray_ResultType(0, NULL, parts->n, parts->descrs);
    if (!descr || !trace_descr_plain(descr)) {
        Py_XDECREF(descr);
        return trace_not_here();
    }
    sort_axes(parts, ndim, perm);
    npy_intp step = PyDataType_ELSIZE(descr);
    for (int i = ndim - 1; i >= 0; i--) {
        int d = packed ? i : perm[i];
        strides[d] = step;
        step *= shape[d];
    }
    for (npy_intp i = 0; i < parts->n; i++) { /* their windows come before the memory */
        if (parts->part[i].array && !tracer_value(parts->part[i].array)) {
            Py_DECREF(descr);
            return trace_item_made(NULL);
        }
    }
    PyObject *result = trace_new_empty(trace, descr, ndim, shape, strides), *end = NULL;
    Py_DECREF(descr);
    if (!trace_is_made(result))
        return result;
    IrValue memory = ((Tracer *)result)->storage->value;
    end = store_parts(result, parts, axis);
    if (end)
        empty_sized(trace, memory, ndim, axis, end);
    Py_XDECREF(end);
    if (!end)
        Py_CLEAR(result);
    return result;
}

/* The array as one more part, `axis` put in where it is not negative; false: it is no part here. */
static bool
add_part(Trace *trace, Parts *parts, PyObject *object, int axis)
{
    Tracer *x = trace_as_array(trace, object);
    if (!x || parts->n == PARTS_MAX || x->ndim == NPY_MAXDIMS || axis > x->ndim)
        return false;
    Part *part = &parts->part[parts->n];
    *part = (Part){
        .object = object, .array = x, .axis = axis, .ndim = x->ndim + (axis >= 0)};
    for (int d = 0, from = 0; d < part->ndim; d++) {
        bool put = d == axis;
        part->shape[d] = put ? 1 : x->shape[from];
        part->strides[d] = put ? 0 : x->strides[from];
        from += !put;
    }
    parts->descrs[parts->n++] = x->descr;
    return true;
}

/* Items of an exact list or tuple; or -1. */
static Py_ssize_t
items_of(PyObject *object, PyObject ***items)
{
    if (!object || !(PyList_CheckExact(object) || PyTuple_CheckExact(object)))
        return -1;
    *items = PySequence_Fast_ITEMS(object);
    return PySequence_Fast_GET_SIZE(object);
}

static bool
read_axis(PyObject *object, int otherwise, int *axis)
{
    *axis = otherwise;
    if (!object)
        return true;
    if (!PyLong_CheckExact(object))
        return false;
    long value = PyLong_AsLong(object);
    if (value < -NPY_MAXDIMS || value > NPY_MAXDIMS) {
        PyErr_Clear();
        return false;
    }
    *axis = (int)value;
    return true;
}

PyObject *
trace_make_concatenate(Trace *trace, PyObject *const *arguments)
{
    PyObject **items;
    Parts parts = {.n = 0};
    Py_ssize_t n = items_of(arguments[0], &items);
    int axis;
    bool known = n > 0 && read_axis(arguments[1], 0, &axis);
    for (Py_ssize_t i = 0; known && i < n; i++)
        known = add_part(trace, &parts, items[i], -1);
    return known ? join(trace, &parts, axis, false) : trace_not_here();
}

static PyObject *
stack(Trace *trace, PyObject *arrays, int axis, bool packed)
{
    PyObject **items;
    Parts parts = {.n = 0};
    Py_ssize_t n = items_of(arrays, &items);
    Tracer *first = n > 0 ? trace_as_array(trace, items[0]) : NULL;
    bool known = first && axis >= -first->ndim - 1 && axis <= first->ndim;
    if (known && axis < 0)
        axis += first->ndim + 1;
    for (Py_ssize_t i = 0; known && i < n; i++)
        known = add_part(trace, &parts, items[i], axis);
    return known ? join(trace, &parts, axis, packed) : trace_not_here();
}

PyObject *
trace_make_stack(Trace *trace, PyObject *const *arguments)
{
    int axis;
    return read_axis(arguments[1], 0, &axis) ? stack(trace, arguments[0], axis, false)
                                             : trace_not_here();
}

/* numpy.array of a list of arrays of one shape. */
PyObject *
trace_array_of(Trace *trace, PyObject *list)
{
    return stack(trace, list, 0, true);
}

/* vstack, hstack, column_stack: where arrays of one axis get another, and the axis of the result. */
static PyObject *
stack_flat(Trace *trace, PyObject *arrays, int put, int axis)
{
    PyObject **items;
    Parts parts = {.n = 0};
    Py_ssize_t n = items_of(arrays, &items);
    bool known = n > 0;
    for (Py_ssize_t i = 0; known && i < n; i++) {
        Tracer *x = trace_as_array(trace, items[i]);
        known = x && add_part(trace, &parts, items[i], x->ndim == 1 ? put : -1);
    }
    return known ? join(trace, &parts, axis, false) : trace_not_here();
}

PyObject *
trace_make_vstack(Trace *trace, PyObject *const *arguments)
{
    return stack_flat(trace, arguments[0], 0, 0);
}

PyObject *
trace_make_hstack(Trace *trace, PyObject *const *arguments)
{
    PyObject **items;
    Tracer *first =
        items_of(arguments[0], &items) > 0 ? trace_as_array(trace, items[0]) : NULL;
    return first ? stack_flat(trace, arguments[0], -1, first->ndim > 1)
                 : trace_not_here();
}

PyObject *
trace_make_column_stack(Trace *trace, PyObject *const *arguments)
{
    return stack_flat(trace, arguments[0], 1, 1);
}

/* append(x, values) of one axis; a number is an array of one element of its own dtype. */
PyObject *
trace_make_append(Trace *trace, PyObject *const *arguments)
{
    Parts parts = {.n = 0};
    PyObject *values = arguments[1], *result;
    PyArray_Descr *descr = NULL;
    Tracer *x = trace_as_array(trace, arguments[0]);
    if (!x || x->ndim != 1 || arguments[2] ||
        !add_part(trace, &parts, arguments[0], -1))
        return trace_not_here();
    if (PyLong_CheckExact(values) || PyFloat_CheckExact(values)) {
        descr =
            PyArray_DescrFromType(PyLong_CheckExact(values) ? NPY_LONG : NPY_DOUBLE);
        parts.part[1] = (Part){.object = values, .ndim = 1, .axis = -1, .shape = {1}};
        parts.descrs[parts.n++] = descr;
    } else {
        Tracer *y = trace_as_array(trace, values);
        if (!y || y->ndim != 1 || !add_part(trace, &parts, values, -1))
            return trace_not_here();
    }
    result = join(trace, &parts, 0, false);
    Py_XDECREF(descr);
    return result;
}

/* -- Copies of another shape ------------------------------------------------------- */

/* x in C order as one axis. */
PyObject *
trace_flat_copy(Trace *trace, Tracer *x)
{
    npy_intp size = PyArray_MultiplyList(x->shape, x->ndim);
    npy_intp step = PyDataType_ELSIZE(x->descr);
    if (!size)
        return trace_not_here();
    trace->extents = true;
    PyObject *shape = PyArray_IntTupleFromIntp(x->ndim, x->shape), *view = NULL;
    PyObject *result = shape ? trace_new_empty(trace, x->descr, 1, &size, &step) : NULL;
    if (result && result != Py_NotImplemented) {
        view = PyObject_CallMethod(result, "reshape", "O", shape);
        if (!view || PyObject_SetItem(view, Py_Ellipsis, (PyObject *)x) < 0)
            Py_CLEAR(result);
    }
    Py_XDECREF(view);
    Py_XDECREF(shape);
    return result;
}

/* tile(x, times) of one axis: of two axes, shown as one. */
PyObject *
trace_make_tile(Trace *trace, PyObject *const *arguments)
{
    Tracer *x = trace_as_array(trace, arguments[0]);
    int times;
    if (!x || x->ndim != 1 || !arguments[1] || !read_axis(arguments[1], 0, &times) ||
        times < 2 || x->shape[0] == 0)
        return trace_not_here();
    npy_intp step = PyDataType_ELSIZE(x->descr), shape[2] = {times, x->shape[0]};
    npy_intp strides[2] = {step * x->shape[0], step};
    PyObject *rows = trace_new_empty(trace, x->descr, 2, shape, strides),
             *result = NULL;
    if (!rows || rows == Py_NotImplemented)
        return rows;
    empty_sized(trace, ((Tracer *)rows)->storage->value, 2, 0, arguments[1]);
    if (PyObject_SetItem(rows, Py_Ellipsis, arguments[0]) == 0)
        result = PyObject_CallMethod(rows, "reshape", "i", -1);
    Py_DECREF(rows);
    return result;
}
