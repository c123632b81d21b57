/* several.c - functions of NumPy that are a reduction and a little around it: ptp, average, trapezoid; and fill. */
#include <string.h>

#include "trace/composed.h"

/* numpy.<name>(x), with an axis where one is given, as the user's code would call it. */
static PyObject *
reduced(Trace *trace, const char *name, PyObject *x, PyObject *axis)
{
    PyObject *numpy = PyImport_ImportModule("numpy"), *result = NULL;
    PyObject *function = numpy ? PyObject_GetAttrString(numpy, name) : NULL;
    PyObject *args = function ? PyTuple_Pack(1, x) : NULL;
    PyObject *kwargs = args && axis ? Py_BuildValue("{s:O}", "axis", axis) : NULL;
    if (args && (kwargs || !axis))
        result = trace_invoke(trace, function, args, kwargs);
    Py_XDECREF(kwargs);
    Py_XDECREF(args);
    Py_XDECREF(function);
    Py_XDECREF(numpy);
    return result;
}

static bool
is_axis(const Tracer *x, PyObject *axis)
{
    int d;
    return !axis || axis == Py_None || trace_axis(axis, x->ndim, &d);
}

static bool
is_number(const Tracer *x)
{
    int type = x->descr->type_num;
    return PyTypeNum_ISINTEGER(type) || type == NPY_FLOAT || type == NPY_DOUBLE;
}

/* max(x) - min(x) */
PyObject *
trace_make_ptp(Trace *trace, PyObject *const *arguments)
{
    Tracer *x = trace_as_array(trace, arguments[0]);
    if (!x || !is_number(x) || !is_axis(x, arguments[1]) || PyArray_MultiplyList(x->shape, x->ndim) == 0)
        return trace_not_here();
    PyObject *most = reduced(trace, "max", arguments[0], arguments[1]), *result = NULL;
    PyObject *least = most ? reduced(trace, "min", arguments[0], arguments[1]) : NULL;
    if (least)
        result = PyNumber_Subtract(most, least);
    Py_XDECREF(most);
    Py_XDECREF(least);
    return result;
}

/* Without weights: mean(x). */
PyObject *
trace_make_average(Trace *trace, PyObject *const *arguments)
{
    Tracer *x = trace_as_array(trace, arguments[0]);
    if (!x || !is_axis(x, arguments[1]) || PyArray_MultiplyList(x->shape, x->ndim) == 0)
        return trace_not_here();
    return reduced(trace, "mean", arguments[0], arguments[1]);
}

/* x.fill(number) is x[...] = number. */
PyObject *
trace_make_fill(Trace *trace, PyObject *const *arguments)
{
    Tracer *x = trace_as_array(trace, arguments[0]);
    PyObject *value = arguments[1];
    bool number = value && (PyFloat_CheckExact(value) ? !PyTypeNum_ISINTEGER(x ? x->descr->type_num : 0)
                                                      : PyLong_CheckExact(value));
    if (!x || !number)
        return trace_not_here();
    return PyObject_SetItem(arguments[0], Py_Ellipsis, value) < 0 ? NULL : Py_NewRef(Py_None);
}
