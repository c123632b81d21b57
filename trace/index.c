/* index.c - subscripts.
**
** Reading: basic indices give views, all else is a call of operator.getitem. An index
** that is a traced value is asked for where the result would be a view, so that windows stay the same; ints among the
** arguments move windows (moved.c).
** Writing: a basic index is an `update` of a window, all else a call of
** operator.setitem.
*/
#include <string.h>

#include "trace/call.h"

static bool
is_traced_integer(const TraceState *state, PyObject *object)
{
    if (!tracer_check(state, object))
        return false;
    Tracer *tracer = (Tracer *)object;
    return tracer->ndim == 0 && tracer->kind == TRACER_scalar &&
           PyTypeNum_ISINTEGER(tracer->descr->type_num);
}

static bool
is_plain_index(PyObject *object)
{
    return PyLong_CheckExact(object) || PySlice_Check(object) || object == Py_None ||
           object == Py_Ellipsis;
}

static bool
is_no_index(const TraceState *state, PyObject *object)
{
    return tracer_check(state, object) && ((Tracer *)object)->object &&
           !PyIndex_Check(((Tracer *)object)->object);
}

/* True of slices with numbers in them that are no indices; Python says so of them, not of their tracers. */
static bool
is_no_slice(const TraceState *state, PyObject *object)
{
    const PySliceObject *slice = (PySliceObject *)object;
    return PySlice_Check(object) &&
           (is_no_index(state, slice->start) || is_no_index(state, slice->stop) ||
            is_no_index(state, slice->step));
}

static PyObject *
part_read(const TraceState *state, PyObject *part)
{
    if (is_no_slice(state, part))
        return trace_key_now(state, part);
    return is_traced_integer(state, part) ? PyNumber_Index(part) : Py_NewRef(part);
}

/* The key with traced integers asked for; basic says if it selects a view, element if it selects one element of `ndim`
** axes. New reference. */
static PyObject *
key_read(const TraceState *state, PyObject *key, int ndim, bool *basic, bool *element)
{
    PyObject *single[1] = {key}, *const *parts = single;
    Py_ssize_t n = 1, integers = 0;
    bool traced = false;
    if (PyTuple_CheckExact(key)) {
        parts = ((PyTupleObject *)key)->ob_item;
        n = PyTuple_GET_SIZE(key);
    }
    *basic = true;
    for (Py_ssize_t i = 0; i < n; i++) {
        bool number = is_traced_integer(state, parts[i]);
        traced |= number || is_no_slice(state, parts[i]);
        integers += number || PyLong_CheckExact(parts[i]);
        if (!number && !is_plain_index(parts[i]))
            *basic = false;
    }
    *element = *basic && integers == n && n == ndim;
    if (!traced || !*basic || *element)
        return Py_NewRef(key);
    PyObject *copy = PyTuple_New(n);
    for (Py_ssize_t i = 0; copy && i < n; i++) {
        PyObject *part = part_read(state, parts[i]);
        if (!part) {
            Py_CLEAR(copy);
            break;
        }
        PyTuple_SET_ITEM(copy, i, part);
    }
    if (copy && !PyTuple_CheckExact(key))
        Py_SETREF(copy, Py_NewRef(PyTuple_GET_ITEM(copy, 0)));
    return copy;
}

static PyArrayObject *window_of(PyObject *real, PyObject *key, bool element);

/* True if a traced integer is left in a key (it selects one element, and is an operand). */
static bool
holds_traced(TraceState *state, PyObject *key)
{
    if (!PyTuple_CheckExact(key))
        return tracer_check(state, key);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++) {
        if (tracer_check(state, PyTuple_GET_ITEM(key, i)))
            return true;
    }
    return false;
}

/* The element that a 0-d window shows now: a copy of it, as a NumPy scalar. */
static PyObject *
read_element(Tracer *window)
{
    Trace *trace = window->trace;
    IrValue view = tracer_value(window);
    IrType type = view ? ir_type(trace->graph, view) : (IrType){0};
    if (!view)
        return NULL;
    IrNode node = ir_node_typed(trace->graph, OP_copy, &view, 1, NULL, 0, &type, 1);
    IrValue value = ir_result(trace->graph, node, 0);
    PyArrayObject *array = (PyArrayObject *)window->object;
    PyObject *scalar = PyArray_Scalar(PyArray_DATA(array), PyArray_DESCR(array), NULL);
    PyObject *result =
        scalar ? (PyObject *)tracer_new_scalar(trace, value, scalar) : NULL;
    Py_XDECREF(scalar);
    trace_count(trace, true);
    return result;
}

/* The path to what the key selects, where it stays in its place; NULL without an exception: it is not known. */
static PyObject *
path_to(const Tracer *tracer, PyObject *key, PyObject *said, const npy_intp *steps,
        IrValue moved)
{
    if (said)
        key = said;
    bool moves = tracer->moved || moved;
    for (int d = 0; d < TRACE_DEPTH_MAX; d++)
        moves |= steps[d] != 0;
    PyObject *parts = moves                     ? NULL
                      : PyTuple_CheckExact(key) ? Py_NewRef(key)
                                                : PyTuple_Pack(1, key);
    PyObject *path = parts ? trace_path_add(tracer, parts) : NULL;
    Py_XDECREF(parts);
    PyErr_Clear();
    return path;
}

static bool
holds_number(PyObject *key)
{
    for (Py_ssize_t i = 0; PyTuple_CheckExact(key) && i < PyTuple_GET_SIZE(key); i++) {
        if (PyLong_CheckExact(PyTuple_GET_ITEM(key, i)))
            return true;
    }
    return PyLong_CheckExact(key);
}

/* The window of a basic key as a tracer; steps, moved: how it moves. One element is read. */
static PyObject *
read_window(Tracer *tracer, PyObject *key, PyObject *said, bool element,
            const npy_intp *steps, IrValue moved)
{
    Trace *trace = tracer->trace;
    PyObject *real = tracer_object(tracer);
    PyArrayObject *window = real ? window_of(real, key, element) : NULL;
    if (!window) {
        trace->blockers++;
        return NULL;
    }
    PyArrayObject *memory = trace->values[tracer->storage->value].array;
    tracer->storage->owned = true;
    Tracer *view = tracer_new_view(trace, tracer->storage, window,
                                   PyArray_BYTES(window) - PyArray_BYTES(memory));
    Py_DECREF(window);
    if (!view)
        return NULL;
    memcpy(view->steps, steps, sizeof view->steps);
    view->moved = trace_index_sum(trace, tracer->moved, moved);
    view->path = path_to(tracer, key, said, steps, moved);
    /* Numbers that are in range now may not be for other extents: the graph has the window, whoever needs it. */
    if (!view->path && (said || holds_number(key)))
        trace->extents = true;
    if (view->path && !element && (said || holds_number(key)) && !tracer_value(view)) {
        Py_DECREF(view);
        return trace_item_made(NULL);
    }
    if (!element)
        return (PyObject *)view;
    PyObject *result = read_element(view);
    Py_DECREF(view);
    return result;
}

static bool
is_bound(PyObject *object)
{
    return object == Py_None || PyLong_CheckExact(object);
}

/* A key without anything traced. */
static bool
is_constant_key(PyObject *key)
{
    if (PySlice_Check(key)) {
        const PySliceObject *slice = (PySliceObject *)key;
        return is_bound(slice->start) && is_bound(slice->stop) && is_bound(slice->step);
    }
    for (Py_ssize_t i = 0; PyTuple_CheckExact(key) && i < PyTuple_GET_SIZE(key); i++) {
        if (!is_constant_key(PyTuple_GET_ITEM(key, i)))
            return false;
    }
    return PyTuple_CheckExact(key) || PyUnicode_CheckExact(key) ||
           PyFloat_CheckExact(key) || is_plain_index(key);
}

/* NumPy's exception for a basic key of constants: the same for all arrays of the shape. */
static PyObject *
refuse_key(Tracer *tracer, PyObject *key)
{
    PyObject *real = tracer_object(tracer);
    PyObject *item = real ? PyObject_GetItem(real, key) : NULL;
    Py_XDECREF(item);
    if (!item)
        trace_raised_by_shapes(tracer->trace);
    return trace_item_made(NULL);
}

static PyObject *subscript(PyObject *self, PyObject *key, PyObject *said);

PyObject *
tracer_subscript(PyObject *self, PyObject *key)
{
    PyObject *said, *now = trace_key_sized(((Tracer *)self)->trace, key, &said);
    PyObject *result = now ? subscript(self, now, said) : NULL;
    Py_XDECREF(said);
    Py_XDECREF(now);
    return result;
}

static PyObject *
subscript(PyObject *self, PyObject *key, PyObject *said)
{
    Tracer *tracer = (Tracer *)self;
    Trace *trace = tracer->trace;
    npy_intp steps[TRACE_DEPTH_MAX];
    bool basic, element, affine = false;
    if (!trace->live) {
        PyObject *both[] = {self, key};
        PyObject *item = trace_call_ended(trace, trace->state->getitem, both, 2);
        if (item || PyErr_Occurred())
            return item;
    }
    IrValue moved = 0;
    PyObject *real_key = trace_key_affine(tracer, key, steps, &affine);
    if (real_key)
        Py_SETREF(real_key, trace_key_moved(tracer, real_key, false, &moved));
    if (!real_key)
        return NULL;
    PyObject *read = key_read(trace->state, real_key, tracer->ndim, &basic, &element);
    Py_DECREF(real_key);
    if (!read)
        return NULL;
    if (!basic && trace->live)
        Py_SETREF(read, trace_key_indices(trace, read));
    if (!read)
        return NULL;
    PyObject *args[] = {self, read}, *result = NULL;
    if (trace->live && element && tracer->kind == TRACER_scalar) { /* x[()] */
        Py_DECREF(read);
        return Py_NewRef(self);
    }
    bool plain =
        trace->live && basic && tracer->kind == TRACER_array && tracer_plain(tracer);
    if (plain && (affine || !holds_traced(trace->state, read)))
        result = read_window(tracer, read, said, element, steps, moved);
    else if (said)
        trace->extents = true;
    bool fixed = plain && !affine && !moved && is_constant_key(read);
    if (!result && fixed && PyErr_Occurred()) {
        PyErr_Clear();
        result = refuse_key(tracer, read);
        Py_DECREF(read);
        return result;
    }
    if (!result && !affine && !element)
        PyErr_Clear();      /* NumPy's own call has NumPy's own words */
    if (!result && moved) { /* and its own key */
        Py_DECREF(read);
        read = args[1] = Py_NewRef(key);
    }
    if (!result && !PyErr_Occurred()) {
        trace->blockers += affine; /* the call has this turn's key */
        result = trace_call(trace, trace->state->getitem, args, 2, NULL, 0);
        if (result)
            trace_note_picked(tracer, read, result);
    }
    if (!result && trace->live && is_constant_key(read))
        trace_raised_by_shapes(trace);
    Py_DECREF(read);
    return trace_item_made(result);
}

/* The real window that a basic key selects (a 0-d array for one element). */
static PyArrayObject *
window_of(PyObject *real, PyObject *key, bool element)
{
    PyObject *window;
    if (!element)
        window = PyObject_GetItem(real, key);
    else {
        PyObject *head =
            PyTuple_CheckExact(key) ? Py_NewRef(key) : PyTuple_Pack(1, key);
        PyObject *tail = head ? PyTuple_Pack(1, Py_Ellipsis) : NULL;
        PyObject *both = tail ? PySequence_Concat(head, tail) : NULL;
        window = both ? PyObject_GetItem(real, both) : NULL;
        Py_XDECREF(both);
        Py_XDECREF(tail);
        Py_XDECREF(head);
    }
    if (window && !PyArray_CheckExact(window))
        Py_CLEAR(window);
    return (PyArrayObject *)window;
}

/* What is known of a store. */
typedef struct Store {
    PyObject *key;  /* its ints asked for */
    PyObject *said; /* with expressions for sizes, or NULL */
    bool basic, element, affine;
    bool fixed; /* the window is the same in each call: ints in the key are asked for */
    npy_intp steps[TRACE_DEPTH_MAX];
    IrValue moved;
    PyObject *given; /* what the program stores, a list among others */
} Store;

/* The update's node; 0 where the value has no place in the graph. */
static IrValue
update_node(Trace *trace, Tracer *self, PyArrayObject *window, PyObject *value,
            const Store *store)
{
    TraceStorage *storage = self->storage;
    PyArrayObject *memory = trace->values[storage->value].array;
    IrValue operands[3] = {storage->value, 0,
                           trace_index_sum(trace, self->moved, store->moved)};
    int64_t offset = PyArray_BYTES(window) - PyArray_BYTES(memory);
    int64_t strides[NPY_MAXDIMS], shape[NPY_MAXDIMS];
    int ndim = PyArray_NDIM(window);
    operands[1] = trace_operand(trace, value, PyArray_DESCR(window)->type_num);
    if (!operands[1])
        return 0;
    for (int i = 0; i < ndim; i++) {
        strides[i] = PyArray_STRIDE(window, i);
        shape[i] = PyArray_DIM(window, i);
    }
    IrType base = ir_type(trace->graph, storage->value);
    IrType type = trace_ir_type(PyArray_DESCR(window), 0, NULL, NULL);
    IrAttr attrs[] = {
        {.key = "offset", .kind = ATTR_ints, .count = 1, .ints = &offset},
        {.key = "strides", .kind = ATTR_ints, .count = (uint32_t)ndim, .ints = strides},
        {.key = "shape", .kind = ATTR_ints, .count = (uint32_t)ndim, .ints = shape},
        {.key = "dtype", .kind = ATTR_text, .text = ir_dtype_name(type.dtype)},
    };
    IrNode node = ir_node_typed(trace->graph, OP_update, operands, operands[2] ? 3 : 2,
                                attrs, type.dtype == base.dtype ? 3 : 4, &base, 1);
    IrValue version = ir_result(trace->graph, node, 0);
    PyObject *path = path_to(self, store->key, store->said, store->steps, store->moved);
    if (version)
        trace_path_set(trace, version, path);
    trace->extents |= !path && store->said;
    Py_XDECREF(path);
    return version && trace_value_moves(trace, version, store->steps) ? version : 0;
}

/* Dtypes that the planner can store: numeric, and no complex value into a real array. */
static bool
may_store(Trace *trace, Tracer *self, PyObject *value)
{
    if (!tracer_plain(self) || self->kind != TRACER_array)
        return false;
    bool integer = PyTypeNum_ISINTEGER(self->descr->type_num);
    if (!tracer_check(trace->state, value))
        return PyLong_CheckExact(value) || PyBool_Check(value) ||
               (PyFloat_CheckExact(value) && !integer);
    Tracer *from = (Tracer *)value;
    if (integer && from->kind != TRACER_array &&
        from->descr->type_num != self->descr->type_num)
        return false; /* scalars are converted one by one, and may not fit */
    return from->trace == trace && tracer_plain(from) &&
           (!PyTypeNum_ISCOMPLEX(from->descr->type_num) ||
            PyTypeNum_ISCOMPLEX(self->descr->type_num));
}

/* The value as it broadcasts to the window: NumPy drops leading axes of extent 1 beyond the window's rank. New
** reference; Py_NotImplemented: it is the call's to refuse it. */
static PyObject *
value_fitting(Trace *trace, PyArrayObject *window, PyObject *value)
{
    Tracer *from = tracer_check(trace->state, value) ? (Tracer *)value : NULL;
    int more = from ? from->ndim - PyArray_NDIM(window) : 0;
    bool ones = PyArray_NDIM(window) > 0;
    if (more <= 0)
        return Py_NewRef(value);
    for (int d = 0; d < more; d++)
        ones &= from->shape[d] == 1;
    PyObject *key = ones ? PyTuple_New(more) : NULL;
    for (int d = 0; key && d < more; d++)
        PyTuple_SET_ITEM(key, d, PyLong_FromLong(0));
    PyObject *result =
        key ? PyObject_GetItem(value, key) : Py_NewRef(Py_NotImplemented);
    Py_XDECREF(key);
    return result;
}

/* A list that is stored as an array of the dtype it is stored to. New reference; Py_NotImplemented: as it is. */
static PyObject *
stored_list(Tracer *tracer, PyObject *value)
{
    Trace *trace = tracer->trace;
    bool list = PyList_CheckExact(value) || PyTuple_CheckExact(value);
    if (!list || !trace->live || tracer->kind != TRACER_array || !tracer_plain(tracer))
        return Py_NewRef(Py_NotImplemented);
    PyObject *array = trace_list_array(trace, value, tracer->descr);
    if (!array) { /* NumPy's words are those of the store */
        PyErr_Clear();
        array = Py_NewRef(Py_NotImplemented);
    }
    return array;
}

/* The key of a store with its ints asked for. New reference. */
static PyObject *
stored_key(Tracer *tracer, PyObject *key, Store *store)
{
    TraceState *state = tracer->trace->state;
    bool ignored;
    PyObject *real_key = trace_key_affine(tracer, key, store->steps, &store->affine);
    store->moved = 0;
    if (real_key && !store->fixed)
        Py_SETREF(real_key, trace_key_moved(tracer, real_key, true, &store->moved));
    PyObject *read = real_key ? key_read(state, real_key, tracer->ndim, &store->basic,
                                         &store->element)
                              : NULL;
    Py_XDECREF(real_key);
    if (read && store->element && !PyLong_CheckExact(read) && !PyTuple_CheckExact(read))
        Py_SETREF(read, PyNumber_Index(read));
    if (read && store->element && PyTuple_CheckExact(read))
        Py_SETREF(read, key_read(state, read, -1, &ignored, &ignored));
    return read;
}

/* Any store, as a call. */
static int
store_by_call(Tracer *tracer, PyObject **key, PyObject *value)
{
    Trace *trace = tracer->trace;
    PyObject *result = NULL, *stored = Py_NewRef(value);
    if (trace->live) {
        Py_SETREF(*key, trace_key_indices(trace, *key));
        if (*key)
            Py_SETREF(stored, trace_value_as_stored(trace, tracer, value));
    }
    if (*key && stored) {
        PyObject *args[] = {(PyObject *)tracer, *key, stored};
        result = trace_call(trace, trace->state->setitem, args, 3, NULL, 1);
    }
    Py_XDECREF(stored);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static bool
store_moves(const Store *store)
{
    bool moves = store->moved != 0;
    for (uint32_t d = 0; d < TRACE_DEPTH_MAX; d++)
        moves |= store->steps[d] != 0;
    return moves;
}

/* A store into a window: 1, 0: by a call, or -1. */
static int
store_in_window(Tracer *tracer, const Store *store, PyObject *value)
{
    Trace *trace = tracer->trace;
    PyObject *real = tracer_object(tracer), *fitting = NULL, *real_value = NULL;
    PyArrayObject *window = window_of(real, store->key, store->element);
    int status = -1;
    bool deep = value != store->given &&
                ((Tracer *)value)->ndim > (window ? PyArray_NDIM(window) : 0);
    if (window) /* NumPy refuses lists of more axes */
        fitting =
            deep ? Py_NewRef(Py_NotImplemented) : value_fitting(trace, window, value);
    if (!fitting || fitting == Py_NotImplemented ||
        trace_runs_into(trace, window, tracer, fitting, store_moves(store))) {
        status = fitting ? 0 : -1;
        goto done;
    }
    real_value = trace_real(trace->state, fitting);
    if (!real_value || trace_write_begin(tracer) < 0 ||
        PyObject_SetItem(real, store->key, real_value) < 0)
        goto done;
    IrValue version = update_node(trace, tracer, window, fitting, store);
    if (version) {
        trace_write_end(tracer, version);
        trace_count(trace, PyArray_NDIM(window) == 0);
    } else
        trace_end(trace, BAIL_graph, NULL);
    status = 1;
done:
    Py_XDECREF(window);
    Py_XDECREF(fitting);
    Py_XDECREF(real_value);
    return status;
}

/* Any store of `given`, and what is as good: value. */
static int
store_value(Tracer *tracer, PyObject *key, PyObject *said, PyObject *value,
            PyObject *given)
{
    Trace *trace = tracer->trace;
    Store store = {.given = given, .said = said};
    int status = trace_store_masked(trace, tracer, key, value);
    if (status)
        return status < 0 ? -1 : 0;
    /* What the right-hand side was computed from may be what is written. */
    PyObject *real = tracer_object(tracer);
    if (!real)
        return -1;
    bool refused =
        PyArray_Check(real) &&
        !PyArray_ISWRITEABLE((PyArrayObject *)real); /* whatever the key is */
    store.key = refused ? Py_NewRef(key) : stored_key(tracer, key, &store);
    if (!store.key)
        return -1;
    if (trace->live &&
        ((trace->overlap && tracer->storage && tracer->storage->param >= 0) ||
         (PyArray_Check(real) && trace_overlaps_itself((PyArrayObject *)real))))
        trace_end(trace, BAIL_overlap, NULL);
    if (trace->live && store.basic && may_store(trace, tracer, value))
        status = store_in_window(tracer, &store, value);
    if (status == 0 && store.moved) { /* a call has the key of now */
        store.fixed = true;
        Py_SETREF(store.key, stored_key(tracer, key, &store));
        if (!store.key)
            return -1;
    }
    if (status == 0) {
        status = store_by_call(tracer, &store.key, store.basic ? given : value);
        trace->blockers += store.affine; /* the key is in the call's template */
        trace->extents |= said != NULL;
    }
    Py_XDECREF(store.key);
    return status < 0 ? -1 : 0;
}

static int
store_item(PyObject *self, PyObject *key, PyObject *said, PyObject *value)
{
    Tracer *tracer = (Tracer *)self;
    if (!value) {
        PyErr_SetString(PyExc_ValueError, "cannot delete array elements");
        return -1;
    }
    if (!tracer->trace->live) {
        Trace *trace = tracer->trace;
        PyObject *all[] = {self, key, value};
        PyObject *done = trace_prepare_writes(trace, all, 1, 1) == 0
                             ? trace_call_ended(trace, trace->state->setitem, all, 3)
                             : NULL;
        Py_XDECREF(done);
        if (done || PyErr_Occurred())
            return done ? 0 : -1;
    }
    PyObject *list = stored_list(tracer, value);
    int status = list ? store_value(tracer, key, said,
                                    list == Py_NotImplemented ? value : list, value)
                      : -1;
    Py_XDECREF(list);
    return status;
}

int
tracer_ass_subscript(PyObject *self, PyObject *key, PyObject *value)
{
    PyObject *said, *now = trace_key_sized(((Tracer *)self)->trace, key, &said);
    int status = now ? store_item(self, now, said, value) : -1;
    Py_XDECREF(said);
    Py_XDECREF(now);
    return status;
}
