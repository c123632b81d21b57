/* attribute.c - attributes that rewritten source reads.
**
** Those of NumPy's modules and of builtin objects are what they are; others are read, and compared at
** each call. A property is a call. What asks code that is not seen (`__getattribute__`, `__getattr__` for a name
** that is nowhere else) is an effect.
*/
#include <string.h>

#include "trace/invoke.h"

static bool
is_numpy_module(PyObject *module)
{
    const char *name = PyModule_GetName(module);
    if (!name) {
        PyErr_Clear();
        return false;
    }
    return strncmp(name, "numpy", 5) == 0 || strcmp(name, "math") == 0 ||
           strncmp(name, "scipy", 5) == 0 || strcmp(name, "operator") == 0 ||
           strncmp(name, "pyasc", 5) == 0;
}

/* True where `__getattr__` of the object's class, if it has one, is not asked for the name. */
static bool
found_quietly(const TraceState *state, PyObject *object, PyObject *name,
              PyObject *descriptor)
{
    PyTypeObject *type = Py_TYPE(object);
    bool generic = type->tp_getattro == PyObject_GenericGetAttr;
    if (!_PyType_Lookup(type, state->getattr_name))
        return generic;
    PyObject *reader = _PyType_Lookup(type, state->getattribute_name);
    if (!generic &&
        reader != _PyType_Lookup(&PyBaseObject_Type, state->getattribute_name))
        return false;
    if (descriptor)
        return PyFunction_Check(descriptor) ||
               Py_TYPE(descriptor) == &PyStaticMethod_Type ||
               Py_TYPE(descriptor) == &PyClassMethod_Type ||
               !Py_TYPE(descriptor)->tp_descr_get;
    PyObject *value = PyObject_GenericGetAttr(object, name);
    if (!value)
        PyErr_Clear();
    Py_XDECREF(value);
    return value;
}

/* Attributes of user objects: properties are calls, the others are read and guarded. */
static PyObject *
attribute_of_object(Trace *trace, PyObject *object, PyObject *name)
{
    PyObject *descriptor = _PyType_Lookup(Py_TYPE(object), name);
    if (trace_is_source(trace, object)) {
        PyObject *method = PyObject_GetAttr(object, name);
        bool other = method && !PyMethod_Check(method) && !PyCFunction_Check(method);
        if (other && trace_code_unseen(trace, name) < 0)
            Py_CLEAR(method);
        return method;
    }
    if (!found_quietly(trace->state, object, name, descriptor)) {
        return trace_code_unseen(trace, name) < 0 ? NULL
                                                  : PyObject_GetAttr(object, name);
    }
    bool method = descriptor && (PyFunction_Check(descriptor) ||
                                 Py_TYPE(descriptor) == &PyProperty_Type);
    if (method && trace->live && /* the class may get another one */
        !trace_guard_add(trace, SOURCE_attribute, (PyObject *)Py_TYPE(object), name,
                         descriptor))
        return NULL;
    if (descriptor && Py_TYPE(descriptor) == &PyProperty_Type) {
        PyObject *getter = PyObject_GetAttrString(descriptor, "fget");
        PyObject *result =
            getter ? trace_invoke_vector(trace, getter, &object, 1, NULL) : NULL;
        Py_XDECREF(getter);
        return result;
    }
    bool known = !descriptor || PyFunction_Check(descriptor) ||
                 !Py_TYPE(descriptor)->tp_descr_get ||
                 Py_TYPE(descriptor) == trace->state->function_type ||
                 Py_TYPE(descriptor) == &PyMemberDescr_Type ||
                 Py_TYPE(descriptor) == &PyGetSetDescr_Type ||
                 Py_TYPE(descriptor) == &PyMethodDescr_Type ||
                 Py_TYPE(descriptor) == &PyWrapperDescr_Type ||
                 Py_TYPE(descriptor) == &PyStaticMethod_Type ||
                 Py_TYPE(descriptor) == &PyClassMethod_Type;
    if (!known && trace_code_unseen(trace, name) < 0)
        return NULL;
    PyObject *value = PyObject_GetAttr(object, name);
    if (!value || !trace->live || trace_local_find(trace, object))
        return value;
    PyObject *loaded = trace_load(trace, SOURCE_attribute, object, name, value);
    Py_DECREF(value);
    return loaded;
}

/* int | float, list[int]: of types without a name in Python's headers. */
static bool
is_alias_of_types(PyObject *object)
{
    const PyTypeObject *type = Py_TYPE(object);
    return type == &Py_GenericAliasType ||
           (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
            (!strcmp(type->tp_name, "types.UnionType") ||
             !strcmp(type->tp_name, "typing.Union")));
}

/* Builtin objects whose attributes never change. */
static bool
has_fixed_attributes(const TraceState *state, PyObject *object)
{
    return (trace_is_stable(object) && !PyFunction_Check(object) &&
            !PyType_Check(object) && !PyModule_Check(object)) ||
           PyList_CheckExact(object) || PyDict_CheckExact(object) ||
           PyTuple_CheckExact(object) || PyAnySet_CheckExact(object) ||
           PyRange_Check(object) || PyIter_Check(object) ||
           Py_TYPE(object) == state->method_type ||
           Py_TYPE(object) == state->dispatcher_type ||
           Py_TYPE(object) == state->errstate_type ||
           PyExceptionInstance_Check(object) || is_alias_of_types(object) ||
           (PyObject *)Py_TYPE(object) == state->broadcast;
}

/* True if a named tuple has a field of this name. */
static bool
is_field(PyObject *object, PyObject *name)
{
    PyObject *fields = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "_fields");
    int found = fields ? PySequence_Contains(fields, name) : -1;
    Py_XDECREF(fields);
    if (found < 0)
        PyErr_Clear();
    return found == 1;
}

static bool
is_flags(PyObject *object)
{
    const char *type = strrchr(Py_TYPE(object)->tp_name, '.');
    return type && strcmp(type, ".flagsobj") == 0;
}

/* An attribute of an array's flags: most a signature holds, or they follow from how the trace made the array. */
static PyObject *
flag(Trace *trace, PyObject *flags, PyObject *name)
{
    static const char *const names[] = {
        "c_contiguous", "f_contiguous", "contiguous", "fortran", "forc",     "fnc",
        "carray",       "farray",       "behaved",    "aligned", "writeable"};
    bool held = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        held |= PyUnicode_CompareWithASCIIString(name, names[i]) == 0;
    if (!held)
        trace_end(trace, BAIL_unknown_call, name);
    return PyObject_GetAttr(flags, name);
}

/* A field of a named tuple that a signature or a guard has: it holds the same in each call. */
static bool
is_fixed_field(PyObject *object, PyObject *name)
{
    if (!trace_is_named_tuple(object) || !is_field(object, name))
        return false;
    PyObject *value = PyObject_GetAttr(object, name);
    bool fixed = value && trace_is_stable(value);
    Py_XDECREF(value);
    PyErr_Clear();
    return fixed;
}

PyObject *
trace_attribute(Trace *trace, PyObject *object, PyObject *name)
{
    if (trace_trial_over(trace))
        return NULL;
    if (!trace->live || tracer_check(trace->state, object))
        return PyObject_GetAttr(object, name);
    if (trace_is_data(object)) {
        PyObject *tracer = trace_wrap(trace, object);
        PyObject *value = tracer ? PyObject_GetAttr(tracer, name) : NULL;
        Py_XDECREF(tracer);
        return value;
    }
    if (is_flags(object))
        return flag(trace, object, name);
    if ((PyObject *)Py_TYPE(object) == trace->state->finfo ||
        (PyObject *)Py_TYPE(object) == trace->state->iinfo)
        return trace_limit(trace, object, name);
    if ((PyModule_Check(object) && is_numpy_module(object)) ||
        has_fixed_attributes(trace->state, object) ||
        (trace_names_tracers(trace->state, object) && is_field(object, name)) ||
        is_fixed_field(object, name))
        return PyObject_GetAttr(object, name);
    if (PyModule_Check(object) || PyType_Check(object) || PyFunction_Check(object) ||
        Py_TYPE(object) == trace->state->function_type) {
        PyObject *value = PyObject_GetAttr(object, name), *loaded = value;
        if (value && !trace_local_find(trace, object)) {
            loaded = trace_load(trace, SOURCE_attribute, object, name, value);
            Py_DECREF(value);
        }
        return loaded;
    }
    return attribute_of_object(trace, object, name);
}

/* getattr(object, name[, default]) and hasattr(object, name). */
PyObject *
trace_call_attribute(Trace *trace, PyObject *callable, PyObject *const *args,
                     size_t nargs, PyObject *kwnames, bool has)
{
    if (kwnames || nargs < 2 || nargs > 3 || !PyUnicode_CheckExact(args[1]))
        return trace_unknown_effect(trace, BAIL_unknown_call, callable, args, nargs,
                                    kwnames);
    PyObject *value = trace_attribute(trace, args[0], args[1]);
    if (has && value) {
        Py_DECREF(value);
        Py_RETURN_TRUE;
    }
    if (value || !PyErr_ExceptionMatches(PyExc_AttributeError) || (!has && nargs == 2))
        return value;
    PyErr_Clear();
    if (!tracer_check(trace->state, args[0]))
        trace_end(trace, BAIL_unknown_call, args[1]); /* absence is not guarded */
    return has ? Py_NewRef(Py_False) : Py_NewRef(args[2]);
}
