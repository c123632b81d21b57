/* nest_plain.c - loops that run as they are written, where the trace has ended.
**
** Rewritten source calls a hook for each element that it touches, even when no trace is there any more. A loop that
** might have become a nest is there a second time, without hooks: it needs no more than that the names in it
** have real values.
*/
#include "trace/call.h"
#include "trace/nest.h"

enum { ITEMS_MAX = 1000, DEPTH_MAX = 3 };

/* True if no tracer is in it, however the loop gets at what it holds. */
static bool
is_bare(const TraceState *state, PyObject *object, int depth)
{
    bool list = PyList_CheckExact(object), bare = true;
    if (tracer_check(state, object) ||
        (PyCFunction_Check(object) && PyCFunction_GET_SELF(object) && !PyModule_Check(PyCFunction_GET_SELF(object))))
        return false; /* or a method of one */
    if (!list && !PyTuple_CheckExact(object))
        return trace_is_constant(object) || PyArray_CheckExact(object) ||
               PyArray_CheckScalar(object) || PyModule_Check(object);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
    if (n > ITEMS_MAX || depth == DEPTH_MAX)
        return false;
    for (Py_ssize_t i = 0; bare && i < n; i++)
        bare = is_bare(state, PySequence_Fast_GET_ITEM(object, i), depth + 1);
    return bare;
}

PyObject *
trace_nest_plain(Trace *trace, PyObject *values)
{
    Py_ssize_t n = PyTuple_GET_SIZE(values);
    PyObject *reals = PyList_New(n);
    for (Py_ssize_t i = 0; reals && i < n; i++) {
        PyObject *value = PyTuple_GET_ITEM(values, i);
        if (tracer_check(trace->state, value))
            value = tracer_object((Tracer *)value);
        else if (value != trace->state->unbound && !is_bare(trace->state, value, 0)) {
            Py_DECREF(reals);
            return Py_NewRef(Py_None);
        }
        if (!value)
            Py_CLEAR(reals);
        else
            PyList_SET_ITEM(reals, i, Py_NewRef(value));
    }
    return reals;
}
