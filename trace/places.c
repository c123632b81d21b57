/* places.c - calls that take elements from places, or put them there: which they are. */
#include <string.h>

#include "trace/internal.h"

/* A method of arrays, by name. */
static bool
is_method(PyObject *callable, const char *name)
{
    return Py_TYPE(callable) == &PyMethodDescr_Type &&
           ((PyDescrObject *)callable)->d_type == &PyArray_Type &&
           PyUnicode_CompareWithASCIIString(((PyDescrObject *)callable)->d_name, name) == 0;
}

TracePlace
trace_place(const TraceState *state, PyObject *callable)
{
    if (callable == state->getitem)
        return PLACE_getitem;
    if (callable == state->setitem)
        return PLACE_setitem;
    if (is_method(callable, "take"))
        return PLACE_take;
    if (callable == state->put || is_method(callable, "put"))
        return PLACE_put;
    PyObject *self = PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : NULL;
    if (!self || strcmp(((PyCFunctionObject *)callable)->m_ml->ml_name, "at") != 0)
        return PLACE_none;
    return self == state->ufuncs[OPERATOR_add]   ? PLACE_add_at
           : self == state->ufuncs[OPERATOR_sub] ? PLACE_subtract_at
                                                 : PLACE_none;
}
