/* library.c - SciPy's functions: which calls of them are pure in their arguments. */
#include <string.h>

#include "trace/invoke.h"

/* Modules whose functions keep no state and write nothing but what they are told to. */
static bool
is_pure_module(const char *name)
{
    static const char *const modules[] = {
        "scipy.linalg.",
        "scipy.fft.",
        "scipy.fftpack.",
        "scipy.ndimage.",
        "scipy.signal.",
        "scipy.special.",
        "scipy.integrate._quadrature",
        "scipy.spatial.distance",
    };
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (strncmp(name, modules[i], strlen(modules[i])) == 0)
            return true;
    }
    return false;
}

/* A keyword by which an argument is written, unless it says no. */
static bool
may_write(PyObject *keyword, PyObject *value)
{
    const char *name = PyUnicode_AsUTF8(keyword);
    bool writes = !name || strncmp(name, "overwrite", 9) == 0 ||
                  strcmp(name, "out") == 0 || strcmp(name, "output") == 0;
    return writes && value != Py_None && value != Py_False;
}

bool
trace_is_library(PyObject *callable, PyObject *const *args, size_t nargs,
                 PyObject *kwnames)
{
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    /* Arguments that are written come third or later, where they come by position. */
    if (nargs > 2 || PyType_Check(callable) || PyMethod_Check(callable) ||
        PyCFunction_Check(callable))
        return false;
    for (Py_ssize_t i = 0; i < nkw; i++) {
        if (may_write(PyTuple_GET_ITEM(kwnames, i), args[nargs + (size_t)i]))
            return false;
    }
    PyObject *module =
        PyFunction_Check(callable)
            ? Py_XNewRef(((PyFunctionObject *)callable)->func_module)
            : PyObject_GetAttrString((PyObject *)Py_TYPE(callable), "__module__");
    const char *name =
        module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : "";
    if (!PyFunction_Check(callable) && strcmp(name, "uarray") == 0) { /* scipy.fft's */
        Py_XSETREF(module, PyObject_GetAttrString(callable, "__module__"));
        name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : "";
    }
    bool pure = name && is_pure_module(name);
    PyErr_Clear();
    Py_XDECREF(module);
    return pure;
}
