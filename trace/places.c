/* places.c - calls that are no calls in a plan: what takes elements from places or puts them there, what
** makes arrays of constants. */
#include <string.h>

#include "trace/composed.h"

/* A method of arrays, by name. */
static bool
is_method(PyObject *callable, const char *name)
{
    return Py_TYPE(callable) == &PyMethodDescr_Type &&
           ((PyDescrObject *)callable)->d_type == &PyArray_Type &&
           PyUnicode_CompareWithASCIIString(((PyDescrObject *)callable)->d_name,
                                            name) == 0;
}

TracePlace
trace_place(const TraceState *state, PyObject *callable)
{
    if (callable == state->getitem)
        return PLACE_getitem;
    if (callable == state->setitem)
        return PLACE_setitem;
    if (callable == state->along)
        return PLACE_along;
    if (is_method(callable, "take"))
        return PLACE_take;
    if (callable == state->put || is_method(callable, "put"))
        return PLACE_put;
    PyObject *self =
        PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : NULL;
    if (!self || strcmp(((PyCFunctionObject *)callable)->m_ml->ml_name, "at") != 0)
        return PLACE_none;
    if (self == state->ufuncs[OPERATOR_add] || self == state->ufuncs[OPERATOR_sub] ||
        self == state->ufuncs[OPERATOR_mul])
        return self == state->ufuncs[OPERATOR_add]   ? PLACE_add_at
               : self == state->ufuncs[OPERATOR_sub] ? PLACE_subtract_at
                                                     : PLACE_multiply_at;
    const char *name =
        Py_TYPE(self) == &PyUFunc_Type ? ((PyUFuncObject *)self)->name : "";
    return strcmp(name, "maximum") == 0   ? PLACE_maximum_at
           : strcmp(name, "minimum") == 0 ? PLACE_minimum_at
                                          : PLACE_none;
}

static const char *
name_of(PyObject *callable, PyObject **held)
{
    *held = PyObject_GetAttrString(callable, "__name__");
    const char *text = *held && PyUnicode_Check(*held) ? PyUnicode_AsUTF8(*held) : NULL;
    PyErr_Clear();
    return text ? text : "";
}

static bool
is_one_of(PyObject *callable, const char *const *names)
{
    PyObject *held;
    const char *text = name_of(callable, &held);
    bool found = false;
    for (int i = 0; names[i]; i++)
        found |= strcmp(text, names[i]) == 0;
    Py_XDECREF(held);
    return found;
}

bool
trace_makes(PyObject *callable)
{
    static const char *const names[] = {"empty", "empty_like",
                                        NULL}; /* without values */
    PyObject *module = PyObject_GetAttrString(callable, "__module__");
    const char *text =
        module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    bool numpy =
        text && strncmp(text, "numpy", 5) == 0 && (text[5] == 0 || text[5] == '.');
    PyErr_Clear();
    Py_XDECREF(module);
    return numpy && !is_one_of(callable, names);
}

bool
trace_is_of_any_size(const TraceState *state, PyObject *callable)
{
    return Py_TYPE(callable) != state->nest_type &&
           trace_place(state, callable) == PLACE_none;
}

bool
trace_makes_at_once(PyObject *callable)
{
    static const char *const names[] = {"zeros", "ones", "full", NULL};
    return is_one_of(callable, names);
}

/* -- Keys -------------------------------------------------------------------------- */

/* True if a copy has the order in which NumPy goes through x itself. */
static bool
goes_on(const Tracer *x)
{
    bool on = true;
    for (int d = 0; d < x->ndim; d++)
        on &= x->shape[d] == 1 || x->strides[d] > 0;
    return on;
}

/* An array of integers of another dtype as the one that places are found by. New reference. */
static PyObject *
as_indices(Trace *trace, PyObject *part)
{
    Tracer *index = trace_as_array(trace, part);
    if (!index || !PyTypeNum_ISINTEGER(index->descr->type_num) ||
        index->descr->type_num == NPY_INTP || !goes_on(index))
        return Py_NewRef(part);
    PyArray_Descr *descr = PyArray_DescrFromType(NPY_INTP);
    PyObject *result = trace_astype(trace, index, descr);
    Py_DECREF(descr);
    if (result == Py_NotImplemented)
        Py_SETREF(result, Py_NewRef(part));
    return result;
}

PyObject *
trace_key_indices(Trace *trace, PyObject *key)
{
    if (!PyTuple_CheckExact(key))
        return as_indices(trace, key);
    PyObject *copy = PyTuple_New(PyTuple_GET_SIZE(key));
    for (Py_ssize_t i = 0; copy && i < PyTuple_GET_SIZE(key); i++) {
        PyObject *part = as_indices(trace, PyTuple_GET_ITEM(key, i));
        if (!part) {
            Py_CLEAR(copy);
            break;
        }
        PyTuple_SET_ITEM(copy, i, part);
    }
    return copy;
}

PyObject *
trace_value_as_stored(Trace *trace, const Tracer *out, PyObject *value)
{
    Tracer *from = trace_as_array(trace, value);
    if (!from || !tracer_plain(out) || from->descr->type_num == out->descr->type_num ||
        !goes_on(from))
        return Py_NewRef(value);
    PyObject *result = trace_astype(trace, from, out->descr);
    if (result == Py_NotImplemented)
        Py_SETREF(result, Py_NewRef(value));
    return result;
}
