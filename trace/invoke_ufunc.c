/* invoke_ufunc.c - calls of ufuncs by name. */
#include "trace/elementwise.h"
#include "trace/invoke.h"

/* A call of a ufunc by name. */
PyObject *
trace_invoke_ufunc_call(Trace *trace, PyObject *ufunc, PyObject *const *args,
                        size_t nargs, PyObject *kwnames)
{
    const PyUFuncObject *u = (PyUFuncObject *)ufunc;
    size_t nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0, nin = (size_t)u->nin;
    PyObject *out = NULL;
    uint32_t mutates = 0;
    for (int i = 0; u->ntypes && i < u->nin + u->nout; i++) {
        if (u->types[i] == NPY_OBJECT && u->ntypes == 1)
            return trace_unknown_effect(trace, BAIL_unknown_call, ufunc, args, nargs,
                                        kwnames);
    }
    if (nargs == nin + 1 && u->nout == 1 && !nkw && args[nin] != Py_None) {
        out = args[nin];
        mutates = 1u << nin;
    } else if (nkw == 1 && nargs == nin &&
               PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "out") ==
                   0) {
        out = args[nargs];
        if (PyTuple_CheckExact(out) && PyTuple_GET_SIZE(out) == 1)
            out = PyTuple_GET_ITEM(out, 0);
    } else if (nkw || nargs != nin)
        out = Py_None; /* the general way */
    if (out != Py_None && nargs >= nin) {
        bool traced = out && tracer_check(trace->state, out);
        if (!out || traced) {
            PyObject *result = u->nout == 2 && !out
                                   ? trace_pair(trace, ufunc, args)
                                   : trace_function(trace, ufunc, args, u->nin, out);
            if (result != Py_NotImplemented)
                return result;
            Py_DECREF(result);
        }
        PyObject *result = out ? Py_NewRef(Py_NotImplemented)
                               : trace_scalars_by_name(trace, ufunc, args, u->nin);
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    }
    PyObject *result = trace_written_ufunc(trace, ufunc, args, nargs, kwnames);
    if (result != Py_NotImplemented)
        return result;
    Py_DECREF(result);
    if (out != Py_None && nargs >= nin)
        ufunc = trace_recipe(trace, ufunc, args, u->nin);
    return trace_call_out(trace, ufunc, args, nargs, kwnames, mutates);
}
