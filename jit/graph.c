/* graph.c - graphs as Python has them: parsed, verified, printed, run as they stand. */
#include <stdlib.h>

#include "jit/jit.h"

static const char CAPSULE[] = "pyasc.graph";

static void
graph_free(PyObject *capsule)
{
    ir_graph_free(PyCapsule_GetPointer(capsule, CAPSULE));
}

static PyObject *
graph_new(IrGraph *g)
{
    PyObject *capsule = PyCapsule_New(g, CAPSULE, graph_free);
    if (!capsule)
        ir_graph_free(g);
    return capsule;
}

/* graph_parse(text) */
PyObject *
jit_graph_parse(PyObject *Py_UNUSED(module), PyObject *text)
{
    char error[512] = "out of memory";
    const char *words = PyUnicode_AsUTF8(text);
    IrGraph *g = words ? ir_parse(words, error, sizeof error) : NULL;
    if (g && !ir_verify(g)) {
        PyErr_SetString(PyExc_ValueError, ir_error(g));
        ir_graph_free(g);
        return NULL;
    }
    if (!g && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, error);
    return g ? graph_new(g) : NULL;
}

/* graph_text(graph) */
PyObject *
jit_graph_text(PyObject *Py_UNUSED(module), PyObject *capsule)
{
    IrGraph *g = PyCapsule_GetPointer(capsule, CAPSULE);
    char *text = g ? ir_print(g) : NULL;
    PyObject *string = text ? PyUnicode_FromString(text) : NULL;
    free(text);
    return string || PyErr_Occurred() ? string : PyErr_NoMemory();
}

/* graph_passed(graph): a copy after all passes. */
PyObject *
jit_graph_passed(PyObject *Py_UNUSED(module), PyObject *capsule)
{
    const IrGraph *g = PyCapsule_GetPointer(capsule, CAPSULE);
    IrGraph *copy = g ? ir_graph_copy(g) : NULL;
    if (!copy)
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    if (!ir_pipeline_run(copy, 9, NULL, NULL)) {
        PyErr_SetString(PyExc_RuntimeError, ir_error(copy));
        ir_graph_free(copy);
        return NULL;
    }
    return graph_new(copy);
}

/* graph_run(graph, *args): a tuple. */
PyObject *
jit_graph_run(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs < 1)
        return PyErr_Format(PyExc_TypeError, "graph_run takes a graph");
    IrGraph *g = PyCapsule_GetPointer(args[0], CAPSULE);
    if (!g)
        return NULL;
    Py_INCREF(args[0]);
    PyObject *results = jit_evaluate(PyModule_GetState(module), g, args + 1, nargs - 1);
    Py_DECREF(args[0]);
    return results;
}
