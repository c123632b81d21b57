/* tracer.c - the proxy: a C type that stands for an array or a scalar while a call is
 *traced.
 **
 ** Attributes are NumPy's: some are known without elements (shape, dtype), methods
 *become
 ** calls, the others are read from the real object. Questions (bool, int, str,
 *iteration over
 ** tolist …) are answered with the real value and recorded, so that a plan holds only
 *where
 ** the answers are the same.
 */
#include <string.h>

#include "trace/internal.h"

static Trace *
trace_of(PyObject *self)
{
    return ((Tracer *)self)->trace;
}

TraceState *
tracer_state_of(PyObject *self)
{
    return trace_of(self)->state;
}

static void
tracer_dealloc(PyObject *self)
{
    Tracer *tracer = (Tracer *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (tracer->weakrefs)
        PyObject_ClearWeakRefs(self);
    tracer_release(tracer);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* -- Questions --------------------------------------------------------------------- */

/* `callable(self)` with an answer that has to be the same next time. */
static PyObject *
ask(PyObject *self, PyObject *callable)
{
    Trace *trace = trace_of(self);
    if (((Tracer *)self)->kind == TRACER_index)
        return PyObject_CallOneArg(callable, trace_index_ask((Tracer *)self));
    if (((Tracer *)self)->kind == TRACER_int && callable != (PyObject *)&PyBool_Type) {
        PyObject *asked = trace_int_ask((Tracer *)self);
        PyObject *answer = asked ? PyObject_CallOneArg(callable, asked) : NULL;
        Py_XDECREF(asked);
        return answer;
    }
    bool asking = trace->asking;
    trace->asking = true;
    PyObject *answer = trace_call(trace, callable, &self, 1, NULL, 0);
    trace->asking = asking;
    return answer;
}

static int
tracer_bool(PyObject *self)
{
    if (((Tracer *)self)->size)
        return trace_size_truth((Tracer *)self);
    PyObject *answer = ask(self, (PyObject *)&PyBool_Type);
    int truth = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return truth;
}

static PyObject *
tracer_int(PyObject *self)
{
    return ask(self, (PyObject *)&PyLong_Type);
}

static PyObject *
tracer_float(PyObject *self)
{
    return ask(self, (PyObject *)&PyFloat_Type);
}

static PyObject *
tracer_index(PyObject *self)
{
    return ask(self, tracer_state_of(self)->index);
}

static PyObject *
tracer_str(PyObject *self)
{
    return ask(self, (PyObject *)&PyUnicode_Type);
}

static PyObject *
tracer_repr(PyObject *self)
{
    return ask(self, tracer_state_of(self)->repr);
}

static Py_hash_t
tracer_hash(PyObject *self)
{
    PyObject *answer = ask(self, tracer_state_of(self)->hash);
    Py_hash_t hash = answer ? PyLong_AsSsize_t(answer) : -1;
    Py_XDECREF(answer);
    return hash;
}

static PyObject *
tracer_format(PyObject *self, PyObject *spec)
{
    Trace *trace = trace_of(self);
    PyObject *args[] = {self, spec};
    return trace_call(trace, trace->state->format, args, 2, NULL, 0);
}

static PyObject *
tracer_round(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    Trace *trace = trace_of(self);
    PyObject *all[2] = {self, nargs == 1 ? args[0] : NULL};
    if (nargs > 1)
        return PyErr_Format(PyExc_TypeError, "__round__ takes at most one argument");
    int type = ((Tracer *)self)->descr->type_num;
    if (nargs == 1 && ((Tracer *)self)->kind == TRACER_scalar && trace->live &&
        (PyTypeNum_ISINTEGER(type) || PyTypeNum_ISFLOAT(type))) {
        PyObject *rounded = PyObject_CallMethod(self, "round", "O", args[0]);
        if (rounded || !PyErr_ExceptionMatches(PyExc_Exception))
            return rounded;
        PyErr_Clear();
    }
    return trace_call(trace, trace->state->round, all, 1 + (size_t)nargs, NULL, 0);
}

static PyObject *
tracer_complex(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    return ask(self, (PyObject *)&PyComplex_Type);
}

/* Code that asks for memory (C functions, np.asarray outside of traced code) may do
 *anything
 ** with it. */
static PyObject *
tracer_array(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Tracer *tracer = (Tracer *)self;
    trace_end(tracer->trace, BAIL_unknown_array, NULL);
    PyObject *real = tracer_object(tracer);
    PyObject *array = real ? PyArray_FromAny(real, NULL, 0, 0, 0, NULL) : NULL;
    PyObject *method = array ? PyObject_GetAttrString(array, "__array__") : NULL;
    PyObject *result = method ? PyObject_Call(method, args, kwargs) : NULL;
    Py_XDECREF(method);
    Py_XDECREF(array);
    return result;
}

/* -- Sequences --------------------------------------------------------------------- */

static Py_ssize_t
tracer_length(PyObject *self)
{
    Tracer *tracer = (Tracer *)self;
    tracer->trace->extents = true;
    trace_pick_seen(tracer->trace, self);
    if (tracer->ndim)
        return tracer->shape[0];
    PyObject *real = tracer_object(tracer);
    return real ? PyObject_Size(real) : -1;
}

static PyObject *
tracer_item(PyObject *self, Py_ssize_t i)
{
    Tracer *tracer = (Tracer *)self;
    if (tracer->ndim && i >= tracer->shape[0]) {
        PyErr_SetString(PyExc_IndexError, "index out of range");
        return NULL;
    }
    PyObject *key = PyLong_FromSsize_t(i);
    PyObject *item = key ? tracer_subscript(self, key) : NULL;
    Py_XDECREF(key);
    return item;
}

/* (x == value).any() */
static int
tracer_contains(PyObject *self, PyObject *value)
{
    Trace *trace = trace_of(self);
    PyObject *args[] = {self, value};
    PyObject *equal = trace->live && ((Tracer *)self)->kind == TRACER_array
                          ? PyObject_RichCompare(self, value, Py_EQ)
                          : Py_NewRef(Py_NotImplemented);
    bool traced = equal && tracer_check(trace->state, equal);
    PyObject *answer = traced ? PyObject_CallMethod(equal, "any", NULL)
                       : equal
                           ? trace_call(trace, trace->state->contains, args, 2, NULL, 0)
                           : NULL;
    int truth = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(equal);
    Py_XDECREF(answer);
    return truth;
}

static PyObject *
tracer_iter(PyObject *self)
{
    Tracer *tracer = (Tracer *)self;
    tracer->trace->extents = true;
    trace_pick_seen(tracer->trace, self);
    if (tracer->kind == TRACER_array && tracer->ndim)
        return PySeqIter_New(self);
    PyObject *real = tracer_object(tracer);
    return real ? PyObject_GetIter(real) : NULL;
}

/* -- Attributes -------------------------------------------------------------------- */

static PyObject *
shape_tuple(const Tracer *tracer)
{
    PyObject *tuple = PyTuple_New(tracer->ndim);
    for (int i = 0; tuple && i < tracer->ndim; i++) {
        PyObject *extent = trace_extent(tracer, i);
        if (!extent) {
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, i, extent);
    }
    return tuple;
}

/* The product of the extents, times `n`. */
static PyObject *
element_count(const Tracer *tracer, npy_intp n)
{
    PyObject *product = PyLong_FromSsize_t(n);
    for (int i = 0; product && i < tracer->ndim; i++) {
        PyObject *extent = trace_extent(tracer, i);
        Py_SETREF(product, extent ? i || n != 1 ? PyNumber_Multiply(product, extent)
                                                : Py_NewRef(extent)
                                  : NULL);
        Py_XDECREF(extent);
    }
    return product;
}

/* What is known without elements, for arrays and NumPy's scalars; NULL without an exception for other
** names. */
static PyObject *
known_attribute(const Tracer *tracer, const char *name)
{
    bool extents = strcmp(name, "shape") == 0 || strcmp(name, "size") == 0 ||
                   strcmp(name, "nbytes") == 0;
    if (extents)
        trace_pick_seen(tracer->trace, (PyObject *)tracer);
    if (strcmp(name, "shape") == 0)
        return shape_tuple(tracer);
    if (strcmp(name, "dtype") == 0)
        return Py_NewRef((PyObject *)tracer->descr);
    if (strcmp(name, "ndim") == 0)
        return PyLong_FromLong(tracer->ndim);
    if (strcmp(name, "size") == 0)
        return element_count(tracer, 1);
    if (strcmp(name, "itemsize") == 0)
        return PyLong_FromSsize_t(PyDataType_ELSIZE(tracer->descr));
    if (strcmp(name, "nbytes") == 0)
        return element_count(tracer, PyDataType_ELSIZE(tracer->descr));
    return NULL;
}

static PyObject *
real_class(Tracer *tracer)
{
    if (tracer->kind == TRACER_array)
        return Py_NewRef((PyObject *)&PyArray_Type);
    return Py_NewRef((PyObject *)Py_TYPE(tracer->object));
}

/* Attributes that are the same for all values of the argument's signature. */
static bool
is_static(const char *name)
{
    static const char *const names[] = {"strides", "flags", "device", "base", NULL};
    for (int i = 0; names[i]; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static PyObject *
tracer_getattro(PyObject *self, PyObject *name)
{
    Tracer *tracer = (Tracer *)self;
    const char *text = PyUnicode_AsUTF8(name);
    if (!text)
        return NULL;
    if (tracer->kind == TRACER_array || tracer->kind == TRACER_scalar) {
        PyObject *known = known_attribute(tracer, text);
        if (known || PyErr_Occurred())
            return known;
    }
    if (strcmp(text, "__class__") == 0)
        return real_class(tracer);
    if (strcmp(text, "flat") == 0 && tracer->kind == TRACER_array &&
        tracer->trace->live)
        return trace_flat_new(tracer);
    if (text[0] == '_' && text[1] == '_') {
        PyObject *own = PyObject_GenericGetAttr(self, name);
        if (own || !PyErr_ExceptionMatches(PyExc_AttributeError))
            return own;
        PyErr_Clear();
        PyObject *there = tracer_object(tracer);
        if (!there || !PyObject_HasAttr(there, name)) {
            PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%s'",
                         there ? Py_TYPE(there)->tp_name : "ndarray", text);
            return NULL;
        }
        trace_end(tracer->trace, BAIL_unknown_array, name);
        return PyObject_GetAttr(there, name);
    }
    PyTypeObject *type =
        tracer->kind == TRACER_array ? &PyArray_Type : Py_TYPE(tracer->object);
    PyObject *found = _PyType_Lookup(type, name);
    if (found && (Py_TYPE(found) == &PyMethodDescr_Type || PyFunction_Check(found)))
        return tracer_method_new(tracer, name);
    if (tracer->trace->live && strcmp(text, "real") == 0 && tracer_plain(tracer) &&
        tracer->kind <= TRACER_scalar && !PyTypeNum_ISCOMPLEX(tracer->descr->type_num))
        return Py_NewRef(self);
    if (found && tracer->trace->live && !is_static(text)) {
        PyObject *args[] = {self, name};
        return trace_call(tracer->trace, tracer->trace->state->getattr, args, 2, NULL,
                          0);
    }
    PyObject *real = tracer_object(tracer);
    if (!real)
        return NULL;
    tracer->trace->extents = true; /* strides and the like */
    trace_pick_seen(tracer->trace, self);
    if (strcmp(text, "base") == 0)
        trace_end(tracer->trace, BAIL_unknown_array, name);
    return PyObject_GetAttr(real, name);
}

/* x.shape = shape of an array that the call has made: from now on the variable is a view of it. 0: another one, or
** NumPy has to copy, and says so. */
static int
tracer_reshape(Tracer *tracer, PyObject *shape)
{
    bool argument = tracer->kind == TRACER_array && tracer->storage->param >= 0 &&
                    (tracer->whole || tracer->given_as);
    if (tracer->kind != TRACER_array || !tracer->trace->live || argument ||
        !tracer_plain(tracer) || tracer_moves(tracer))
        return 0;
    PyObject *plain = trace_real(tracer->trace->state, shape);
    PyObject *args = plain ? PyTuple_Pack(1, plain) : NULL,
             *kwargs = args ? Py_BuildValue("{s:O}", "copy", Py_False) : NULL;
    PyObject *real = kwargs ? tracer_object(tracer) : NULL;
    PyObject *method = real ? PyObject_GetAttrString(real, "reshape") : NULL;
    PyObject *view = method ? PyObject_Call(method, args, kwargs) : NULL;
    Py_XDECREF(method);
    Py_XDECREF(kwargs);
    Py_XDECREF(args);
    Py_XDECREF(plain);
    PyErr_Clear();
    int status = view && PyArray_NDIM((PyArrayObject *)view)
                     ? tracer_show(tracer, (PyArrayObject *)view)
                     : 0;
    Py_XDECREF(view);
    return status;
}

/* The real array has another shape or dtype now. */
int
tracer_follow(Tracer *tracer)
{
    PyArrayObject *array = (PyArrayObject *)tracer->object;
    int ndim = PyArray_NDIM(array);
    npy_intp *shape = PyMem_Malloc(2 * (size_t)ndim * sizeof(npy_intp) + 1);
    if (!shape) {
        PyErr_NoMemory();
        return -1;
    }
    PyMem_Free(tracer->shape);
    tracer->shape = shape;
    tracer->strides = shape + ndim;
    tracer->ndim = ndim;
    memcpy(shape, PyArray_DIMS(array), (size_t)ndim * sizeof(npy_intp));
    memcpy(tracer->strides, PyArray_STRIDES(array), (size_t)ndim * sizeof(npy_intp));
    Py_INCREF(PyArray_DESCR(array));
    Py_SETREF(tracer->descr, PyArray_DESCR(array));
    return 0;
}

/* `x.shape = …` and the like change the variable: the call goes on in NumPy. */
static int
tracer_setattro(PyObject *self, PyObject *name, PyObject *value)
{
    Tracer *tracer = (Tracer *)self;
    if (value && tracer->kind == TRACER_array && tracer->trace->live &&
        PyUnicode_CompareWithASCIIString(name, "flat") == 0) {
        int stored = trace_flat_store(tracer, value);
        if (stored)
            return stored < 0 ? -1 : 0;
    }
    if (value && PyUnicode_CompareWithASCIIString(name, "shape") == 0) {
        int shaped = tracer_reshape(tracer, value);
        if (shaped)
            return shaped < 0 ? -1 : 0;
    }
    PyObject *real = tracer_object(tracer);
    if (!real)
        return -1;
    trace_end(tracer->trace, BAIL_store, name);
    PyObject *plain = value ? trace_real(tracer->trace->state, value) : NULL;
    if (value && !plain)
        return -1;
    int status = PyObject_SetAttr(real, name, plain);
    Py_XDECREF(plain);
    if (status == 0 && tracer->kind == TRACER_array)
        status = tracer_follow(tracer);
    return status;
}

/* -- NumPy's protocols ------------------------------------------------------------- */

static PyObject *
tracer_array_ufunc(PyObject *self, PyObject *args, PyObject *kwargs)
{
    if (PyTuple_GET_SIZE(args) < 2)
        return PyErr_Format(PyExc_TypeError,
                            "__array_ufunc__ needs a ufunc and a method");
    return trace_invoke_ufunc(trace_of(self), PyTuple_GET_ITEM(args, 0),
                              PyTuple_GET_ITEM(args, 1), args, 2, kwargs);
}

static PyObject *
tracer_array_function(PyObject *self, PyObject *args)
{
    PyObject *function, *types, *positional, *keywords;
    if (!PyArg_ParseTuple(args, "OOO!O!", &function, &types, &PyTuple_Type, &positional,
                          &PyDict_Type, &keywords))
        return NULL;
    return trace_invoke(trace_of(self), function, positional, keywords);
}

static PyMethodDef tracer_methods[] = {
    {"__array__", (PyCFunction)(void (*)(void))tracer_array,
     METH_VARARGS | METH_KEYWORDS, NULL},
    {"__array_ufunc__", (PyCFunction)(void (*)(void))tracer_array_ufunc,
     METH_VARARGS | METH_KEYWORDS, NULL},
    {"__array_function__", tracer_array_function, METH_VARARGS, NULL},
    {"__format__", tracer_format, METH_O, NULL},
    {"__round__", (PyCFunction)(void (*)(void))tracer_round, METH_FASTCALL, NULL},
    {"__complex__", tracer_complex, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef tracer_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Tracer, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMemberDef method_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(TracerMethod, vectorcall), READONLY,
     NULL},
    {NULL, 0, 0, 0, NULL},
};

/* -- Types ------------------------------------------------------------------------- */

static const PyType_Slot own_slots[] = {
    {Py_tp_dealloc, tracer_dealloc},     {Py_tp_getattro, tracer_getattro},
    {Py_tp_setattro, tracer_setattro},   {Py_tp_str, tracer_str},
    {Py_tp_repr, tracer_repr},           {Py_tp_hash, tracer_hash},
    {Py_tp_iter, tracer_iter},           {Py_tp_richcompare, tracer_compare},
    {Py_tp_methods, tracer_methods},     {Py_tp_members, tracer_members},
    {Py_nb_bool, tracer_bool},           {Py_nb_int, tracer_int},
    {Py_nb_float, tracer_float},         {Py_nb_index, tracer_index},
    {Py_sq_length, tracer_length},       {Py_sq_item, tracer_item},
    {Py_sq_contains, tracer_contains},   {Py_mp_length, tracer_length},
    {Py_mp_subscript, tracer_subscript}, {Py_mp_ass_subscript, tracer_ass_subscript},
};

static PyTypeObject *
tracer_type_new(PyObject *module)
{
    PyType_Slot slots[80];
    size_t n = sizeof own_slots / sizeof *own_slots;
    memcpy(slots, own_slots, sizeof own_slots);
    for (const PyType_Slot *s = tracer_number_slots; s->slot; s++)
        slots[n++] = *s;
    slots[n] = (PyType_Slot){0, NULL};
    PyType_Spec spec = {
        .name = "pyasc.Tracer",
        .basicsize = sizeof(Tracer),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                 Py_TPFLAGS_IMMUTABLETYPE,
        .slots = slots,
    };
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}

static PyType_Slot method_slots[] = {
    {Py_tp_dealloc, tracer_method_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getattro, tracer_method_getattro},
    {Py_tp_members, method_members},
    {0, NULL},
};

static PyType_Spec method_spec = {
    .name = "pyasc.TracerMethod",
    .basicsize = sizeof(TracerMethod),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = method_slots,
};

static void
ref_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot ref_slots[] = {{Py_tp_dealloc, ref_dealloc}, {0, NULL}};

static PyType_Spec ref_spec = {
    .name = "pyasc.TraceRef",
    .basicsize = sizeof(TraceRef),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = ref_slots,
};

int
tracer_types_add(TraceState *state, PyObject *module)
{
    state->tracer_type = tracer_type_new(module);
    if (!state->tracer_type)
        return -1;
    state->method_type =
        (PyTypeObject *)PyType_FromModuleAndSpec(module, &method_spec, NULL);
    if (!state->method_type)
        return -1;
    state->ref_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &ref_spec, NULL);
    if (!state->ref_type || trace_size_type_add(state, module) < 0)
        return -1;
    state->skip = trace_ref_new(state, 0);
    return state->skip ? 0 : -1;
}
