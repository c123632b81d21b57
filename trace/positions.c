/* positions.c - where elements are not 0: of what is no mask, where x != 0 is true. */
#include "trace/composed.h"
#include "trace/elementwise.h"

/* NumPy's function or method of x, of a mask. */
static PyObject *
positions(Trace *trace, PyObject *object, PyObject *owner, const char *name)
{
    Tracer *x = trace_as_array(trace, object);
    PyObject *callable = NULL, *result = NULL, *mask, *zero;
    if (!x)
        return trace_not_here();
    if (x->descr->type_num == NPY_BOOL)
        mask = Py_NewRef(object);
    else {
        zero = PyLong_FromLong(0);
        PyObject *operands[2] = {object, zero};
        mask = zero ? trace_ufunc(trace, trace->state->ufuncs[OPERATOR_ne], operands, 2,
                                  NULL)
                    : NULL;
        Py_XDECREF(zero);
        if (!mask || mask == Py_NotImplemented)
            return mask;
    }
    callable = owner ? PyObject_GetAttrString(owner, name) : NULL;
    if (callable)
        result = trace_call(trace, callable, &mask, 1, NULL, 0);
    Py_XDECREF(callable);
    Py_DECREF(mask);
    return result;
}

PyObject *
trace_make_nonzero(Trace *trace, PyObject *const *arguments)
{
    return positions(trace, arguments[0], (PyObject *)&PyArray_Type, "nonzero");
}

static PyObject *
positions_by(Trace *trace, PyObject *object, const char *name)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *result = numpy ? positions(trace, object, numpy, name) : NULL;
    Py_XDECREF(numpy);
    return result;
}

PyObject *
trace_make_argwhere(Trace *trace, PyObject *const *arguments)
{
    return positions_by(trace, arguments[0], "argwhere");
}

PyObject *
trace_make_flatnonzero(Trace *trace, PyObject *const *arguments)
{
    return positions_by(trace, arguments[0], "flatnonzero");
}
