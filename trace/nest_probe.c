/* nest_probe.c - loops behind one that waits for its code: their code is asked for, too.
**
** A trace that comes to a loop whose code is not there yet ends, and the call goes on in Python. So
** would the next trace at the next loop, and a function of ten loops would take ten calls. Instead
** each loop that the call comes to is described to a trace of its own, which is thrown away: when the next
** real trace comes, the code of all of them is there.
*/
#include "trace/nest.h"

/* The values, arrays as tracers of the probe. New reference. */
static PyObject *
wrapped(Trace *probe, PyObject *values)
{
    Py_ssize_t n = PyTuple_GET_SIZE(values);
    PyObject *result = PyTuple_New(n);
    for (Py_ssize_t i = 0; result && i < n; i++) {
        PyObject *value = PyTuple_GET_ITEM(values, i);
        PyObject *real = value == probe->state->unbound
                             ? Py_NewRef(value)
                             : trace_real(probe->state, value);
        if (real && PyArray_CheckExact(real)) {
            PyObject *known = trace_look_up(probe, probe->known, real);
            Py_SETREF(real, known ? Py_NewRef(known) : trace_argument(probe, real));
        }
        if (real)
            PyTuple_SET_ITEM(result, i, real);
        else
            Py_CLEAR(result);
    }
    return result;
}

/* The last line of the statements. */
static int
last_line(PyObject *description)
{
    int last = 0;
    if (!PyTuple_CheckExact(description))
        return 0;
    if (PyTuple_GET_SIZE(description) > 1 &&
        PyLong_CheckExact(PyTuple_GET_ITEM(description, 1)))
        last = (int)PyLong_AsLong(PyTuple_GET_ITEM(description, 1));
    for (Py_ssize_t i = 2; i < PyTuple_GET_SIZE(description); i++) {
        int line = last_line(PyTuple_GET_ITEM(description, i));
        last = line > last ? line : last;
    }
    return last;
}

void
trace_nest_seen(Trace *trace, PyObject *description)
{
    int last = last_line(description);
    trace->nests_line = last > trace->nests_line ? last : trace->nests_line;
}

/* Loops in the loop that waits are a part of it. */
static bool
is_new(const Trace *trace, PyObject *description)
{
    PyObject *line =
        PyTuple_CheckExact(description) && PyTuple_GET_SIZE(description) > 1
            ? PyTuple_GET_ITEM(description, 1)
            : NULL;
    return line && PyLong_CheckExact(line) && PyLong_AsLong(line) > trace->nests_line;
}

int
trace_nest_probe(Trace *trace, PyObject *const *args)
{
    if (trace->bail != BAIL_awaited || !is_new(trace, args[0]))
        return 0;
    Trace *probe =
        trace_new(trace->state, trace->run, trace->run_loop, trace->run_context);
    if (probe) {
        probe->numerics = trace->numerics;
        probe->warns = trace->warns;
        probe->contracts = trace->contracts;
        probe->threads = trace->threads;
        probe->kernels = trace->kernels;
        probe->make_nest = trace->make_nest;
        probe->overlap = trace->overlap;
        probe->probes = trace;
        PyObject *inputs = wrapped(probe, args[1]);
        PyObject *outer = inputs ? wrapped(probe, args[2]) : NULL;
        PyObject *all[5] = {args[0], inputs, outer, args[3], args[4]};
        PyObject *none = outer ? trace_nest(probe, all) : NULL;
        if (probe->nests) /* it is one */
            trace_nest_seen(trace, args[0]);
        Py_XDECREF(none);
        Py_XDECREF(inputs);
        Py_XDECREF(outer);
        trace_abandon(probe);
    }
    if (probe)
        trace_release(probe);
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
        return -1; /* Ctrl-C */
    PyErr_Clear(); /* the loop runs in any case */
    return 0;
}

bool
trace_nest_had_other(const Trace *trace, int line)
{
    if (!trace->log || trace->log_at >= PyList_GET_SIZE(trace->log))
        return false;
    PyObject *had = PyTuple_GET_ITEM(PyList_GET_ITEM(trace->log, trace->log_at), 0);
    PyObject *at = Py_TYPE(had) == trace->state->nest_type
                       ? PyObject_GetAttrString(had, "line")
                       : NULL;
    bool same = at && PyLong_AsLong(at) == line;
    PyErr_Clear();
    Py_XDECREF(at);
    return !same;
}
