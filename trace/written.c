/* written.c - functions of NumPy that python/pyasc/_compositions/ has in terms of other ones.
**
** They are traced like helpers of the user's. What they do not take they answer with NotImplemented,
** and what fails in them NumPy is called for, so that the exception is NumPy's.
*/
#include "trace/invoke.h"

PyObject *
trace_written(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
              PyObject *kwnames)
{
    if (!trace->live || trace->asking)
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *function = PyObject_CallOneArg(trace->state->written, callable);
    if (!function)
        return NULL;
    PyObject *result = trace_call_function(trace, function, args, nargs, kwnames);
    Py_DECREF(function);
    bool mine = !result && PyErr_ExceptionMatches(PyExc_Exception) && !trace_trial_over(trace);
    if (!mine)
        return result;
    PyErr_Clear();
    Py_RETURN_NOTIMPLEMENTED;
}
