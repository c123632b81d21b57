/* arguments.c - arguments of calls: real values, and templates beside them. */
#include <stdlib.h>
#include <string.h>

#include "trace/call.h"

/* -- Arguments to real values ------------------------------------------------------ */

/* A method of a container that may hold tracers. */
static bool
is_of_container(PyObject *object)
{
    PyObject *self = PyCFunction_Check(object) ? PyCFunction_GET_SELF(object) : NULL;
    return self && (PyList_CheckExact(self) || PyDict_CheckExact(self) ||
                    PyAnySet_CheckExact(self));
}

/* Immutable objects that are the same in every call. */
bool
trace_is_constant(PyObject *object)
{
    return object == Py_None || object == Py_Ellipsis || PyBool_Check(object) ||
           PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
           PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) ||
           PyBytes_CheckExact(object) || PyArray_DescrCheck(object) ||
           PyType_Check(object) ||
           (PyCFunction_Check(object) && !is_of_container(object)) ||
           Py_TYPE(object) == &PyUFunc_Type || Py_TYPE(object) == &PyMethodDescr_Type ||
           PyRange_Check(object) || PyModule_Check(object);
}

static PyObject *
build_tracer(Trace *trace, Tracer *tracer, Operands *operands, PyObject **template)
{
    if (tracer->size && trace->live && tracer->trace == trace) {
        *template = trace_size_ref(trace->state, tracer->size, tracer->object);
        return Py_NewRef(tracer->object);
    }
    if (tracer->kind == TRACER_index) {
        *template = Py_NewRef(trace_index_ask(tracer));
        return Py_NewRef(tracer->object);
    }
    if (tracer->kind == TRACER_int && trace->live && !operands->ints) {
        PyObject *asked = trace_int_ask(tracer);
        *template = Py_XNewRef(asked);
        return asked;
    }
    operands->has_int |= tracer->kind == TRACER_int;
    if (tracer->trace == trace && trace->live) {
        if (operands->n == TENSORS_MAX)
            operands->foreign = true;
        else
            operands->tracers[operands->n++] = tracer;
    }
    PyObject *real = tracer_object(tracer);
    if (!real)
        return NULL;
    IrValue value = tracer->trace == trace && trace->live ? tracer_value(tracer) : 0;
    if (value && tracer->given_as && (operands->seen || operands->effect))
        value = tracer->given_as; /* the object itself */
    /* Written since an effect got it, the window would be another object to a plan. */
    if (tracer->given && tracer->given != value)
        operands->foreign |= operands->effect || operands->seen;
    *template = trace_ref_new(trace->state, value);
    return *template ? Py_NewRef(real) : NULL;
}

/* An element, as a tracer where it is an array of a container from outside. New reference. */
static PyObject *
item_of(Trace *trace, PyObject *sequence, Py_ssize_t i, PyObject *item)
{
    bool data = PyArray_Check(item) || PyArray_CheckScalar(item);
    if (!trace->live || !data)
        return Py_NewRef(item);
    PyObject *key = PyLong_FromSsize_t(i);
    PyObject *wrapped = key ? trace_wrap_item(trace, sequence, key, item) : NULL;
    Py_XDECREF(key);
    return wrapped;
}

int
trace_stand_in_add(Trace *trace, PyObject *copy, PyObject *tuple)
{
    if (!trace->stand_ins)
        trace->stand_ins = PyDict_New();
    PyObject *id = trace->stand_ins ? PyLong_FromVoidPtr(copy) : NULL;
    PyObject *pair = id ? PyTuple_Pack(2, copy, tuple) : NULL; /* both live on */
    int status = pair ? PyDict_SetItem(trace->stand_ins, id, pair) : -1;
    Py_XDECREF(pair);
    Py_XDECREF(id);
    return status;
}

PyObject *
trace_named_argument(Trace *trace, PyObject *tuple)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    PyObject *copy = trace_tuple_like(tuple, n);
    for (Py_ssize_t i = 0; copy && i < n; i++) {
        PyObject *item = trace_wrap(trace, PyTuple_GET_ITEM(tuple, i));
        if (!item) {
            Py_CLEAR(copy);
            break;
        }
        PyTuple_SET_ITEM(copy, i, item);
    }
    if (copy && trace_stand_in_add(trace, copy, tuple) < 0)
        Py_CLEAR(copy);
    return copy;
}

/* The argument that a tuple stands for: borrowed, or NULL. */
static PyObject *
stands_for(const Trace *trace, PyObject *object)
{
    PyObject *id =
        trace->stand_ins && PyTuple_Check(object) ? PyLong_FromVoidPtr(object) : NULL;
    PyObject *pair = id ? PyDict_GetItem(trace->stand_ins, id) : NULL;
    Py_XDECREF(id);
    return pair ? PyTuple_GET_ITEM(pair, 1) : NULL;
}

int
trace_container_argument(Trace *trace, PyObject *container, uint32_t number)
{
    PyObject *id = PyLong_FromVoidPtr(container);
    if (!trace->containers)
        trace->containers = PyDict_New();
    bool again = id && trace->containers && PyDict_Contains(trace->containers, id) == 1;
    PyObject *place = PyLong_FromLong(again ? -1 : (long)number);
    int status = id && place && trace->containers
                     ? PyDict_SetItem(trace->containers, id, place)
                     : -1;
    Py_XDECREF(place);
    Py_XDECREF(id);
    return status;
}

/* A cell with the number of the argument that a list or dict is; NULL, no exception set: it is none. */
static PyObject *
argument_cell(const Trace *trace, PyObject *container)
{
    PyObject *id = trace->containers ? PyLong_FromVoidPtr(container) : NULL;
    PyObject *number = id ? PyDict_GetItem(trace->containers, id) : NULL;
    Py_XDECREF(id);
    return number && PyLong_AsLong(number) >= 0 ? PyCell_New(number) : NULL;
}

bool
trace_is_container_argument(const Trace *trace, PyObject *container)
{
    PyObject *cell = argument_cell(trace, container);
    Py_XDECREF(cell);
    PyErr_Clear();
    return cell != NULL;
}

/* Elements of a tuple or list. */
static PyObject *
build_sequence(Trace *trace, PyObject *object, Operands *operands, PyObject **template)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
    bool tuple = trace_is_tuple(object), changed = !tuple, refers = !tuple;
    PyObject *real = tuple ? trace_tuple_like(object, n) : PyList_New(n);
    PyObject *shape = tuple ? trace_tuple_like(object, n) : PyList_New(n);
    for (Py_ssize_t i = 0; real && shape && i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(object, i), *part = NULL;
        PyObject *known = item_of(trace, object, i, item);
        PyObject *value = known ? trace_build(trace, known, operands, &part) : NULL;
        Py_XDECREF(known);
        if (!value) {
            Py_CLEAR(real);
            break;
        }
        changed |= value != item;
        refers |= part != item;
        if (tuple) {
            PyTuple_SET_ITEM(real, i, value);
            PyTuple_SET_ITEM(shape, i, part);
        } else {
            PyList_SET_ITEM(real, i, value);
            PyList_SET_ITEM(shape, i, part);
        }
    }
    if (!real || !shape) {
        Py_XDECREF(real);
        Py_XDECREF(shape);
        return NULL;
    }
    if (!changed)
        Py_SETREF(real, Py_NewRef(object));
    if (!changed && !refers)
        Py_SETREF(shape, Py_NewRef(object));
    *template = shape;
    return real;
}

static PyObject *
build_dict(Trace *trace, PyObject *object, Operands *operands, PyObject **template)
{
    PyObject *real = PyDict_New(), *shape = PyDict_New(), *key, *item;
    Py_ssize_t at = 0;
    while (real && shape && PyDict_Next(object, &at, &key, &item)) {
        PyObject *part = NULL;
        PyObject *value = trace_build(trace, item, operands, &part);
        if (!trace_is_constant(key))
            operands->foreign = true;
        if (!value || PyDict_SetItem(real, key, value) < 0 ||
            PyDict_SetItem(shape, key, part) < 0) {
            Py_XDECREF(value);
            Py_XDECREF(part);
            Py_CLEAR(real);
            break;
        }
        Py_DECREF(value);
        Py_DECREF(part);
    }
    if (!real || !shape) {
        Py_XDECREF(real);
        Py_XDECREF(shape);
        return NULL;
    }
    *template = shape;
    return real;
}

/* A tracer that may be a bound of a slice; others are NumPy's to refuse. */
static bool
is_whole(const TraceState *state, PyObject *part)
{
    const Tracer *tracer = (Tracer *)part;
    return tracer_check(state, part) && tracer->kind != TRACER_float &&
           (tracer->kind == TRACER_int || tracer->kind == TRACER_index ||
            PyTypeNum_ISINTEGER(tracer->descr->type_num));
}

static PyObject *
build_slice(Trace *trace, PySliceObject *slice, Operands *operands, PyObject **template)
{
    PyObject *parts[3] = {slice->start, slice->stop, slice->step};
    PyObject *real[3] = {NULL}, *shape[3] = {NULL}, *result = NULL;
    for (int i = 0; i < 3; i++) {
        /* Bounds are asked for as integers, so that the slice is the same next time. */
        if (is_whole(trace->state, parts[i])) {
            real[i] = PyNumber_Index(parts[i]);
            shape[i] = Py_XNewRef(real[i]);
        } else
            real[i] = trace_build(trace, parts[i], operands, &shape[i]);
        if (!real[i])
            goto done;
    }
    if (real[0] == parts[0] && real[1] == parts[1] && real[2] == parts[2] &&
        shape[0] == parts[0] && shape[1] == parts[1] && shape[2] == parts[2]) {
        *template = Py_NewRef((PyObject *)slice);
        result = Py_NewRef((PyObject *)slice);
        goto done;
    }
    result = PySlice_New(real[0], real[1], real[2]);
    if (result)
        *template = PySlice_New(shape[0], shape[1], shape[2]);
    if (result && !*template)
        Py_CLEAR(result);
done:
    for (int i = 0; i < 3; i++) {
        Py_XDECREF(real[i]);
        Py_XDECREF(shape[i]);
    }
    return result;
}

/* A plan makes the containers of a result. It cannot make one that was there before, nor one that is in two places. False:
** it is one of these, and may hold itself. */
static bool
note_container(Trace *trace, PyObject *object, Operands *operands)
{
    PyObject *id = PyLong_FromVoidPtr(object);
    bool first = id && !PyDict_Contains(operands->seen, id) &&
                 PyDict_SetItem(operands->seen, id, Py_None) == 0;
    operands->foreign |= !first || trace_outer_find(trace, object);
    PyErr_Clear();
    Py_XDECREF(id);
    return first;
}

static bool
leaves_inside(PyObject *object)
{
    return PyAnySet_CheckExact(object) || PyExceptionInstance_Check(object) ||
           is_of_container(object);
}

/* Lists, dicts and sets keep their identity where no template is wanted. */
static PyObject *
build_inside(Trace *trace, PyObject *object, PyObject **template)
{
    if (PyFrozenSet_CheckExact(object)) {
        *template = trace_frozen_real(trace->state, object);
        return Py_XNewRef(*template);
    }
    if (trace_real_inside(trace->state, object) < 0)
        return NULL;
    *template = Py_NewRef(object);
    return Py_NewRef(object);
}

/* A set of constants. */
static bool
is_plain_set(PyObject *object)
{
    if (!PyAnySet_CheckExact(object) || PyFrozenSet_CheckExact(object))
        return false;
    PyObject *iterator = PyObject_GetIter(object), *item;
    bool constant = iterator != NULL;
    while (constant && (item = PyIter_Next(iterator))) {
        constant = trace_is_constant(item);
        Py_DECREF(item);
    }
    PyErr_Clear();
    Py_XDECREF(iterator);
    return constant;
}

/* What an object of the trace's own stands in for: items that are gone over, x.flat, an argument. Borrowed; NULL: it is none, or
** an exception is set. */
static PyObject *
stands_in_for(Trace *trace, PyObject *object)
{
    PyObject *real = trace_items_real(trace->state, object);
    if (!real)
        real = trace_flat_real(trace->state, object);
    return real || PyErr_Occurred() ? real : stands_for(trace, object);
}

/* The real object for one that may hold tracers, and its template. */
PyObject *
trace_build(Trace *trace, PyObject *object, Operands *operands, PyObject **template)
{
    PyObject *result = NULL, *wrapped = NULL;
    if (tracer_check(trace->state, object))
        return build_tracer(trace, (Tracer *)object, operands, template);
    if (Py_TYPE(object) == trace->state->method_type) {
        PyObject *self = tracer_object(((TracerMethod *)object)->tracer);
        result = self ? PyObject_GetAttr(self, ((TracerMethod *)object)->name) : NULL;
        operands->foreign = true;
        *template = Py_XNewRef(result);
        return result;
    }
    if (trace_is_constant(object)) {
        *template = Py_NewRef(object);
        return Py_NewRef(object);
    }
    PyObject *in_place = stands_in_for(trace, object);
    bool itself = !trace->live || operands->effect || operands->seen;
    if (in_place && (itself || !PyTuple_CheckExact(object))) {
        /* a plan has its arrays, not itself */
        operands->foreign = true;
        *template = Py_NewRef(in_place);
        return Py_NewRef(in_place);
    }
    if (PyErr_Occurred())
        return NULL;
    bool container =
        PyList_CheckExact(object) || PyDict_CheckExact(object) || is_plain_set(object);
    if (operands->objects && trace_outside_find(trace, object)) {
        *template = trace_outside_ref(trace, object);
        return *template ? Py_NewRef(object) : NULL;
    }
    if ((operands->result || operands->owner == object) && container && trace->live &&
        (*template = argument_cell(trace, object)))
        return Py_NewRef(object);
    if (operands->effect && (container || trace_outer_find(trace, object)))
        operands->foreign =
            true; /* it may be changed later, or is itself what counts */
    if (!trace->live && (container || leaves_inside(object)))
        return build_inside(trace, object, template);
    if (operands->seen && (container || PyTuple_CheckExact(object)) &&
        !note_container(trace, object, operands)) {
        *template = Py_NewRef(object);
        return Py_NewRef(object);
    }
    if (Py_EnterRecursiveCall(" while reading the arguments of a call"))
        return NULL;
    if (PyTuple_CheckExact(object) || PyList_CheckExact(object) ||
        trace_names_tracers(trace->state, object))
        result = build_sequence(trace, object, operands, template);
    else if (PyDict_CheckExact(object))
        result = build_dict(trace, object, operands, template);
    else if (is_plain_set(object)) {
        *template = PySet_New(object);
        result = *template ? Py_NewRef(object) : NULL;
    } else if (PySlice_Check(object))
        result = build_slice(trace, (PySliceObject *)object, operands, template);
    else {
        wrapped = trace->live ? trace_wrap(trace, object) : Py_NewRef(object);
        if (wrapped && tracer_check(trace->state, wrapped))
            result = build_tracer(trace, (Tracer *)wrapped, operands, template);
        else if (wrapped) {
            operands->foreign = true;
            *template = Py_NewRef(object);
            result = Py_NewRef(object);
        }
        Py_XDECREF(wrapped);
    }
    Py_LeaveRecursiveCall();
    return result;
}

PyObject *
trace_real(TraceState *state, PyObject *object)
{
    const Trace *now = trace_current();
    Trace dead = {.state = state, .stand_ins = now ? now->stand_ins : NULL};
    Operands operands = {.n = 0};
    PyObject *template = NULL;
    PyObject *real = trace_build(&dead, object, &operands, &template);
    Py_XDECREF(template);
    return real;
}

/* -- The result of the function ---------------------------------------------------- */

PyObject *
trace_result_template(Trace *trace, PyObject *result, PyObject **real)
{
    Operands *operands = PyMem_Calloc(1, sizeof *operands);
    PyObject *template = NULL;
    if (!operands)
        return PyErr_NoMemory();
    operands->seen = PyDict_New();
    operands->objects = operands->result = true; /* `return self` */
    operands->ints = true;
    bool live = trace->live;
    if (operands->seen)
        *real = trace_build(trace, result, operands, &template);
    if (*real && live && (operands->foreign || !trace->live)) {
        trace_end(trace, BAIL_unknown_result, (PyObject *)Py_TYPE(result));
        Py_SETREF(*real,
                  trace_real(trace->state, result)); /* its containers themselves */
    }
    if (!*real)
        Py_CLEAR(template);
    Py_XDECREF(operands->seen);
    PyMem_Free(operands);
    return template;
}
