/* flat.c - x.flat of a tracer. What it reads and stores is done by x itself (python/pyasc/_written/shapes.py); where
** it cannot be, the trace ends and NumPy's iterator takes over, which is the same object from then on.
*/
#include <string.h>

#include "trace/composed.h"
#include "trace/invoke.h"

typedef struct TraceFlat {
    PyObject_HEAD
    Tracer *tracer;
    PyObject *real; /* NumPy's iterator, or NULL: it was not needed */
    PyObject
        *iterator; /* where all who go over it stand, or NULL: at the first element */
} TraceFlat;

static void
flat_dealloc(PyObject *self)
{
    TraceFlat *flat = (TraceFlat *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_DECREF(flat->tracer);
    Py_XDECREF(flat->real);
    Py_XDECREF(flat->iterator);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* NumPy's iterator; the trace ends. Borrowed. */
static PyObject *
flat_real(TraceFlat *flat)
{
    Trace *trace = flat->tracer->trace;
    if (trace->live)
        trace_end(trace, BAIL_unknown_result, (PyObject *)&PyArrayIter_Type);
    if (!flat->real) {
        PyObject *object = tracer_object(flat->tracer);
        flat->real = object ? PyObject_GetAttrString(object, "flat") : NULL;
    }
    return flat->real;
}

PyObject *
trace_flat_real(const TraceState *state, PyObject *object)
{
    return Py_TYPE(object) == state->flat_type ? flat_real((TraceFlat *)object) : NULL;
}

/* A method of NumPy's iterator as it is written for tracers; Py_NotImplemented: it is not. */
static PyObject *
written(TraceFlat *flat, const char *method, PyObject *key, PyObject *value)
{
    PyObject *callable = PyObject_GetAttrString((PyObject *)&PyArrayIter_Type, method);
    PyObject *args[] = {(PyObject *)flat->tracer, key, value};
    PyObject *result = callable && !flat->real && tracer_plain(flat->tracer)
                           ? trace_written(flat->tracer->trace, callable, args,
                                           value ? 3
                                           : key ? 2
                                                 : 1,
                                           NULL)
                           : trace_not_here();
    Py_XDECREF(callable);
    return result;
}

static Py_ssize_t
flat_length(PyObject *self)
{
    const Tracer *x = ((TraceFlat *)self)->tracer;
    x->trace->extents = true;
    return PyArray_MultiplyList(x->shape, x->ndim);
}

static PyObject *
flat_subscript(PyObject *self, PyObject *key)
{
    TraceFlat *flat = (TraceFlat *)self;
    PyObject *result = written(flat, "__getitem__", key, NULL), *real, *real_key;
    Py_CLEAR(flat->iterator); /* NumPy's goes back to its beginning, too */
    if (result != Py_NotImplemented)
        return result;
    Py_DECREF(result);
    real = flat_real(flat);
    real_key = real ? trace_real(flat->tracer->trace->state, key) : NULL;
    result = real_key ? PyObject_GetItem(real, real_key) : NULL;
    Py_XDECREF(real_key);
    return result;
}

static int
flat_store(PyObject *self, PyObject *key, PyObject *value)
{
    TraceFlat *flat = (TraceFlat *)self;
    TraceState *state = flat->tracer->trace->state;
    PyObject *done =
        value ? written(flat, "__setitem__", key, value) : trace_not_here();
    Py_CLEAR(flat->iterator);
    if (done != Py_NotImplemented) {
        Py_XDECREF(done);
        return done ? 0 : -1;
    }
    Py_DECREF(done);
    PyObject *real = flat_real(flat);
    PyObject *real_key = real ? trace_real(state, key) : NULL;
    PyObject *real_value = real_key && value ? trace_real(state, value) : NULL;
    int status = !real_key || (value && !real_value) ? -1
                 : value ? PyObject_SetItem(real, real_key, real_value)
                         : PyObject_DelItem(real, real_key);
    Py_XDECREF(real_key);
    Py_XDECREF(real_value);
    return status;
}

static PyObject *
flat_iter(PyObject *self)
{
    TraceFlat *flat = (TraceFlat *)self;
    if (flat->iterator) {
        flat->tracer->trace->blockers++; /* it moves on */
        return Py_NewRef(flat->iterator);
    }
    PyObject *result = written(flat, "__iter__", NULL, NULL);
    if (result != Py_NotImplemented) {
        flat->iterator = Py_XNewRef(result);
        return result;
    }
    Py_DECREF(result);
    PyObject *real = flat_real(flat);
    return real ? PyObject_GetIter(real) : NULL;
}

static PyObject *
flat_getattro(PyObject *self, PyObject *name)
{
    TraceFlat *flat = (TraceFlat *)self;
    if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0)
        return Py_NewRef((PyObject *)&PyArrayIter_Type);
    if (PyUnicode_CompareWithASCIIString(name, "copy") == 0 && !flat->real)
        return PyObject_GetAttrString((PyObject *)flat->tracer, "flatten");
    PyObject *real = flat_real(flat);
    return real ? PyObject_GetAttr(real, name) : NULL;
}

static PyObject *
flat_compare(PyObject *self, PyObject *other, int op)
{
    PyObject *real = flat_real((TraceFlat *)self);
    PyObject *plain =
        real ? trace_real(((TraceFlat *)self)->tracer->trace->state, other) : NULL;
    PyObject *result = plain ? PyObject_RichCompare(real, plain, op) : NULL;
    Py_XDECREF(plain);
    return result;
}

static PyType_Slot flat_slots[] = {
    {Py_tp_dealloc, flat_dealloc},     {Py_mp_length, flat_length},
    {Py_mp_subscript, flat_subscript}, {Py_mp_ass_subscript, flat_store},
    {Py_tp_iter, flat_iter},           {Py_tp_getattro, flat_getattro},
    {Py_tp_richcompare, flat_compare}, {0, NULL},
};

static PyType_Spec flat_spec = {
    .name = "numpy.flatiter", /* what messages call it */
    .basicsize = sizeof(TraceFlat),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = flat_slots,
};

int
trace_flat_load(TraceState *state)
{
    state->flat_type = (PyTypeObject *)PyType_FromSpec(&flat_spec);
    return state->flat_type ? 0 : -1;
}

PyObject *
trace_flat_new(Tracer *tracer)
{
    TraceFlat *flat = PyObject_New(TraceFlat, tracer->trace->state->flat_type);
    if (!flat)
        return NULL;
    flat->tracer = (Tracer *)Py_NewRef(tracer);
    flat->real = flat->iterator = NULL;
    return (PyObject *)flat;
}

int
trace_flat_store(Tracer *tracer, PyObject *value)
{
    PyObject *flat = trace_flat_new(tracer), *all = PySlice_New(NULL, NULL, NULL);
    PyObject *done =
        flat && all ? written((TraceFlat *)flat, "__setitem__", all, value) : NULL;
    int status = !done ? -1 : done != Py_NotImplemented;
    Py_XDECREF(done);
    Py_XDECREF(all);
    Py_XDECREF(flat);
    return status;
}

/* A builtin function that has one of these names. */
static bool
named(PyObject *callable, const char *names)
{
    if (!PyCFunction_Check(callable))
        return false;
    const char *name = ((PyCFunctionObject *)callable)->m_ml->ml_name,
               *found = strstr(names, name);
    size_t n = strlen(name);
    return found && (found == names || found[-1] == ' ') &&
           (!found[n] || found[n] == ' ');
}

/* True for callables that want the elements alone, one after the other. */
static bool
goes_through(const TraceState *state, PyObject *callable)
{
    return callable == (PyObject *)&PyList_Type ||
           callable == (PyObject *)&PyTuple_Type ||
           callable == (PyObject *)&PySet_Type ||
           callable == (PyObject *)&PyFrozenSet_Type ||
           (trace_goes_on(state, callable) &&
            callable != (PyObject *)&PyReversed_Type) ||
           named(callable, "sum max min sorted any all");
}

PyObject *
trace_flat_argument(Trace *trace, PyObject *callable, PyObject *argument)
{
    TraceFlat *flat = (TraceFlat *)argument;
    const Tracer *x = flat->tracer;
    PyObject *self =
        PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : NULL;
    bool kept =
        callable == (PyObject *)&PyDict_Type || named(callable, "isinstance len") ||
        (self && (PyList_Check(self) || PyDict_Check(self) || PyAnySet_Check(self)));
    if (kept)
        return Py_NewRef(argument);
    bool part = trace_goes_on(trace->state, callable) || named(callable, "any all");
    if (flat->real || !trace->live || !x->ndim ||
        !goes_through(trace->state, callable) ||
        (part && !flat->iterator && !trace_lies_in_order(x)))
        return Py_XNewRef(flat_real(flat));
    if (part || flat->iterator)
        return flat_iter(argument);
    PyObject *none = PyTuple_New(0); /* it will be at its end */
    flat->iterator = none ? PyObject_GetIter(none) : NULL;
    Py_XDECREF(none);
    return !flat->iterator ? NULL
           : trace_lies_in_order(x)
               ? PyObject_CallMethod((PyObject *)x, "reshape", "i", -1)
               : PyObject_CallMethod((PyObject *)x, "ravel", NULL);
}
