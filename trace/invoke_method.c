/* invoke_method.c - calls of methods of containers and strings of the builtins. */
#include <string.h>

#include "trace/call.h"
#include "trace/invoke.h"

/* Methods of lists, dicts and sets that go over their argument; others keep it, or compare it, as the object that it is. */
static bool
goes_over(PyObject *method)
{
    const char *name = ((PyCFunctionObject *)method)->m_ml->ml_name;
    static const char *const kept[] = {"append", "insert", "setdefault", "index",
                                       "count",  "remove", "get",        "pop"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (strcmp(name, kept[i]) == 0)
            return false;
    }
    return true;
}

/* Methods of builtin containers and strings. */
PyObject *
trace_call_builtin_method(Trace *trace, PyObject *method, PyObject *const *args,
                          size_t nargs, PyObject *kwnames)
{
    PyObject *self = PyCFunction_GET_SELF(method);
    bool text = self && (PyUnicode_CheckExact(self) || PyBytes_CheckExact(self) ||
                         PyLong_CheckExact(self) || PyFloat_CheckExact(self));
    if (text)
        return trace_call_pass(trace, method, args, nargs, kwnames,
                               CALL_pass | CALL_DEEP);
    if (self &&
        (PyList_CheckExact(self) || PyDict_CheckExact(self) || PySet_Check(self)) &&
        trace_local_find(trace, self)) {
        trace->blockers++; /* a list that grows, a dict that is filled */
        return trace_call_pass(trace, method, args, nargs, kwnames,
                               CALL_pass | CALL_DEEP |
                                   (goes_over(method) ? 0 : CALL_AS_IT_IS));
    }
    if (self && PyTuple_CheckExact(self))
        return trace_call_pass(trace, method, args, nargs, kwnames,
                               CALL_pass | CALL_DEEP);
    bool container = self && (PyList_CheckExact(self) || PyDict_CheckExact(self) ||
                              PySet_CheckExact(self));
    const char *text_name = ((PyCFunctionObject *)method)->m_ml->ml_name;
    if (container && !kwnames) {
        PyObject *result = trace_read_dict(trace, self, text_name, args, nargs);
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    }
    if (self && (trace_is_source(trace, self) ||
                 (container && !PyType_Check(self) && trace_may_mutate(trace, self)))) {
        PyObject *name = PyUnicode_InternFromString(text_name);
        PyObject *result =
            name ? trace_effect_of(trace, self, name, args, nargs, kwnames) : NULL;
        Py_XDECREF(name);
        return result;
    }
    return trace_unknown_effect(trace, BAIL_unknown_call, method, args, nargs, kwnames);
}
