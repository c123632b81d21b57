/* ints.c - Python ints as run-time inputs.
**
** An int among the arguments, or an attribute, that was seen with several values is a
** parameter: its sums and products are Python's own, called as sites, and what meets an array
** is converted to the loop's dtype first, as NumPy does. Where an int decides anything (a
** shape, an index, a condition on it) it is asked for, and the plan holds for that answer only.
*/
#include <string.h>

#include "trace/call.h"

static bool
is_math(PyObject *callable)
{
    PyObject *self =
        PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : NULL;
    const char *name = self && PyModule_Check(self) ? PyModule_GetName(self) : NULL;
    if (!name)
        PyErr_Clear();
    return name && strcmp(name, "math") == 0;
}

bool
trace_takes_ints(const TraceState *state, PyObject *callable)
{
    if (Py_TYPE(callable) == state->nest_type || callable == state->fits ||
        callable == state->within || callable == state->pow ||
        callable == state->divmod || callable == state->round ||
        callable == (PyObject *)&PyFloat_Type || callable == (PyObject *)&PyLong_Type ||
        is_math(callable) || callable == (PyObject *)&PyBool_Type)
        return true;
    if (PyType_Check(callable))
        return PyType_IsSubtype((PyTypeObject *)callable, &PyGenericArrType_Type);
    for (int i = 0; i < OPERATOR_COUNT; i++) {
        if (state->operators[i] == callable)
            return true;
    }
    return false;
}

const char *
trace_operator_name(const TraceState *state, PyObject *callable)
{
    bool found = callable == state->pow || callable == state->divmod;
    for (int i = 0; i < OPERATOR_COUNT && !found; i++)
        found = state->operators[i] == callable;
    if (callable == state->ufuncs[OPERATOR_pow])
        return "pow";
    return found ? ((PyCFunctionObject *)callable)->m_ml->ml_name : NULL;
}

PyObject *
trace_int_ask(Tracer *tracer)
{
    Trace *trace = tracer->trace;
    Operands *operands;
    PyObject *object = (PyObject *)tracer, *answer = NULL;
    CallArgs *call;
    if (!trace->live)
        return Py_NewRef(tracer->object);
    call = PyMem_Calloc(1, sizeof *call);
    if (!call)
        return PyErr_NoMemory();
    operands = &call->operands;
    operands->ints = true;
    trace->sized = true;
    bool asking = trace->asking;
    trace->asking = true;
    if (trace_args_build(trace, call, &object, 1, NULL))
        answer = trace_record(trace, SITE_call, trace->state->index, call,
                              tracer->object, 0);
    trace->asking = asking;
    trace_args_clear(call);
    PyMem_Free(call);
    return answer;
}

IrValue
trace_int_as(Trace *trace, Tracer *tracer, int type)
{
    PyObject *scalar_type = (PyObject *)PyArray_TypeObjectFromType(type);
    PyObject *object = (PyObject *)tracer;
    PyObject *scalar =
        scalar_type ? trace_call(trace, scalar_type, &object, 1, NULL, 0) : NULL;
    IrValue value = 0;
    if (scalar && tracer_check(trace->state, scalar))
        value = tracer_value((Tracer *)scalar);
    PyErr_Clear();
    Py_XDECREF(scalar_type);
    Py_XDECREF(scalar);
    return value;
}
