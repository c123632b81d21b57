/* questions.c - questions about types and shapes: answered once, while the function is traced.
**
** Law 1: the answer follows from what a signature holds: dtypes, numbers of axes, types of numbers.
** Law 2: extents are asked of the tracer, as `x.shape` is: a plan may be used for others.
*/
#include <string.h>

#include "trace/composed.h"
#include "trace/invoke.h"

/* An array of the tracer's dtype and shape, without its values. */
static PyObject *
stand_in(const Tracer *tracer)
{
    static char zeros[64];
    npy_intp strides[NPY_MAXDIMS] = {0};
    if (PyDataType_ELSIZE(tracer->descr) > (npy_intp)sizeof zeros)
        return trace_not_here();
    Py_INCREF(tracer->descr);
    return PyArray_NewFromDescr(&PyArray_Type, tracer->descr, tracer->ndim,
                                tracer->shape, strides, zeros, 0, NULL);
}

static bool
is_plain(PyObject *object)
{
    if (PyTuple_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
            if (!PyLong_CheckExact(PyTuple_GET_ITEM(object, i)))
                return false;
        }
        return true;
    }
    return object == Py_None || PyType_Check(object) || PyArray_DescrCheck(object) ||
           PyUnicode_CheckExact(object) || PyLong_Check(object) ||
           PyFloat_CheckExact(object) || PyComplex_CheckExact(object);
}

/* What the callable gets in place of an argument; Py_NotImplemented: there is nothing. */
static PyObject *
replaced(Trace *trace, PyObject *object)
{
    if (!tracer_check(trace->state, object))
        return Py_NewRef(is_plain(object) ? object : Py_NotImplemented);
    const Tracer *tracer = (Tracer *)object;
    if (tracer->trace != trace)
        return trace_not_here();
    if (tracer->kind == TRACER_array)
        return stand_in(tracer);
    bool known = tracer->object && tracer->kind != TRACER_index;
    return Py_NewRef(known ? tracer->object : Py_NotImplemented);
}

static bool
is_extent(PyObject *callable)
{
    PyObject *name = PyObject_GetAttrString(callable, "__name__");
    bool extent = name && (PyUnicode_CompareWithASCIIString(name, "shape") == 0 ||
                           PyUnicode_CompareWithASCIIString(name, "size") == 0);
    PyErr_Clear();
    Py_XDECREF(name);
    return extent;
}

/* numpy.shape(x), numpy.size(x), numpy.size(x, axis) */
static PyObject *
extent_of(PyObject *callable, PyObject *const *args, size_t nargs, PyObject *kwnames)
{
    if (kwnames || nargs > 2)
        return trace_not_here();
    PyObject *name = PyObject_GetAttrString(callable, "__name__"), *result = NULL;
    if (nargs == 1 && name)
        result = PyObject_GetAttr(args[0], name);
    else if (name && PyLong_CheckExact(args[1])) {
        PyObject *shape = PyObject_GetAttrString(args[0], "shape");
        result = shape ? PyObject_GetItem(shape, args[1]) : NULL;
        Py_XDECREF(shape);
    }
    Py_XDECREF(name);
    return result ? result : trace_not_here(); /* NumPy raises */
}

PyObject *
trace_question(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
               PyObject *kwnames)
{
    size_t n = nargs + (kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *real[8], *result = Py_NotImplemented;
    size_t made = 0;
    /* What is iterated over later has the values of this call. */
    bool broadcast = callable == trace->state->broadcast;
    trace->extents |= broadcast;
    if (n > sizeof real / sizeof *real)
        return trace_not_here();
    if (n && tracer_check(trace->state, args[0]) &&
        ((Tracer *)args[0])->kind == TRACER_array && is_extent(callable))
        return extent_of(callable, args, nargs, kwnames);
    for (; made < n; made++) {
        bool array = broadcast && tracer_check(trace->state, args[made]);
        real[made] = array ? Py_XNewRef(tracer_object((Tracer *)args[made]))
                           : replaced(trace, args[made]);
        if (!real[made])
            return NULL;
        if (real[made] == Py_NotImplemented)
            break;
    }
    if (made == n)
        result = PyObject_Vectorcall(callable, real, nargs, kwnames);
    else
        Py_INCREF(result);
    for (size_t i = 0; i < made + (made < n); i++)
        Py_DECREF(real[i]);
    return result;
}

/* Classes that ask for more than the type that an object says to be of: abstract ones, protocols. */
static bool
asks_more(PyObject *class)
{
    if (PyTuple_Check(class)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(class); i++) {
            if (asks_more(PyTuple_GET_ITEM(class, i)))
                return true;
        }
        return false;
    }
    return !PyType_CheckExact(class);
}

/* builtin(name, x): a call of max or min with an array, whose elements Python goes through, as one call; by another name
** than NumPy's, whose NaNs go before numbers. */
static PyObject *
call_builtin(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    PyObject *builtins = PyEval_GetBuiltins();
    PyObject *function = nargs == 2 ? PyDict_GetItem(builtins, args[0]) : NULL;
    return function ? PyObject_CallOneArg(function, args[1])
                    : PyErr_Format(PyExc_TypeError, "builtin(name, x)");
}

int
trace_questions_load(TraceState *state)
{
    static PyMethodDef method = {"builtin", (PyCFunction)(void (*)(void))call_builtin,
                                 METH_FASTCALL, NULL};
    state->builtin = PyCFunction_New(&method, NULL);
    return state->builtin ? 0 : -1;
}

/* The name of max or min; NULL: it is none of them. */
static const char *
extreme_name(PyObject *callable)
{
    PyObject *module =
        PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : NULL;
    const char *name = module ? ((PyCFunctionObject *)callable)->m_ml->ml_name : "";
    bool extreme = strcmp(name, "max") == 0 || strcmp(name, "min") == 0;
    return extreme && PyModule_Check(module) ? name : NULL;
}

static PyObject *
extreme(Trace *trace, const char *name, PyObject *x)
{
    PyObject *both[2] = {PyUnicode_InternFromString(name), x};
    PyObject *result =
        both[0] ? trace_call(trace, trace->state->builtin, both, 2, NULL, 0) : NULL;
    Py_XDECREF(both[0]);
    return result;
}

PyObject *
trace_builtin(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs)
{
    Tracer *tracer = (Tracer *)args[0];
    if (callable == trace->state->len && nargs == 1 && trace->symbolic &&
        tracer->ndim > 0) {
        trace_pick_seen(trace, args[0]);
        return trace_extent(tracer, 0);
    }
    const char *name = nargs == 1 && tracer->kind == TRACER_array && tracer->ndim == 1
                           ? extreme_name(callable)
                           : NULL;
    if (name)
        return extreme(trace, name, args[0]);
    if (callable != trace->state->isinstance || nargs != 2 || !asks_more(args[1]))
        return trace_not_here();
    PyObject *real = tracer_object(tracer);
    int answer = real ? PyObject_IsInstance(real, args[1]) : -1;
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}

/* An attribute of numpy.finfo or numpy.iinfo: a NumPy scalar in it is a constant. */
PyObject *
trace_limit(Trace *trace, PyObject *limits, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(limits, name);
    if (!value || !PyArray_CheckScalar(value))
        return value;
    PyObject *number = PyObject_CallMethod(value, "item", NULL);
    PyObject *constant =
        number ? trace_number(trace, (PyObject *)Py_TYPE(value), number) : NULL;
    Py_XDECREF(number);
    if (constant == Py_NotImplemented)
        Py_SETREF(constant, Py_NewRef(value));
    Py_DECREF(value);
    return constant;
}
