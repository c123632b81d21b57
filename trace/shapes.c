/* shapes.c - windows of another shape: reshape and ravel of elements that lie one behind the other in steps.
**
** These are views whatever the extents, so their paths (path.c) hold for others. All else is NumPy's, or _written/shapes.py's.
*/
#include "trace/composed.h"

/* The extents as a path has them: ("reshape", …). NULL without an exception: they are no ints. */
static PyObject *
shape_said(const TraceState *state, PyObject *const *shape, Py_ssize_t n,
           npy_intp *real)
{
    PyObject *said = PyTuple_New(n + 1), *name = PyUnicode_InternFromString("reshape");
    if (!said || !name) {
        Py_XDECREF(said);
        Py_XDECREF(name);
        return NULL;
    }
    PyTuple_SET_ITEM(said, 0, name);
    for (Py_ssize_t i = 0; i < n; i++) {
        bool size = trace_is_size(state, shape[i]);
        PyObject *number = size ? ((Tracer *)shape[i])->object : shape[i];
        real[i] = PyLong_CheckExact(number) ? PyNumber_AsSsize_t(number, NULL) : 0;
        if (!real[i] || real[i] < -1) {
            Py_DECREF(said);
            return NULL;
        }
        PyTuple_SET_ITEM(said, i + 1,
                         Py_NewRef(size ? ((Tracer *)shape[i])->size : shape[i]));
    }
    return said;
}

PyObject *
trace_reshaped(Tracer *x, PyObject *const *shape, Py_ssize_t n)
{
    Trace *trace = x->trace;
    npy_intp real[NPY_MAXDIMS];
    TraceWindow window = {.ndim = x->ndim};
    PyObject *said = NULL, *path = NULL, *result = NULL, *object;
    if (x->kind != TRACER_array || !trace->live || trace->asking || !tracer_plain(x) ||
        tracer_moves(x) || n > NPY_MAXDIMS || (!x->whole && !x->path) || !x->ndim)
        return trace_not_here();
    said = shape_said(trace->state, shape, n, real);
    path = said ? trace_path_add(x, said) : NULL;
    object = path ? tracer_object(x) : NULL;
    PyArrayObject *array = (PyArrayObject *)object;
    for (int d = 0; array && d < x->ndim; d++) {
        window.shape[d] = x->shape[d];
        window.strides[d] = PyArray_STRIDE(array, d);
    }
    if (array && trace_reshape_apply(real, n, &window)) {
        PyArrayObject *memory = trace->values[x->storage->value].array;
        Py_INCREF(PyArray_DESCR(array));
        PyObject *view =
            PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(array), window.ndim,
                                 window.shape, window.strides, PyArray_DATA(array),
                                 PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, NULL);
        if (view && PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef(object)) < 0)
            Py_CLEAR(view);
        x->storage->owned = true;
        Tracer *made =
            view ? tracer_new_view(trace, x->storage, (PyArrayObject *)view,
                                   PyArray_BYTES(array) - PyArray_BYTES(memory))
                 : NULL;
        if (made) {
            made->path = Py_NewRef(path);
            if (!tracer_value(
                    made)) /* for other extents it may be refused, whoever needs it */
                Py_CLEAR(made);
        }
        Py_XDECREF(view);
        result = (PyObject *)made;
    }
    Py_XDECREF(said);
    Py_XDECREF(path);
    return result || PyErr_Occurred() ? result : trace_not_here();
}

PyObject *
trace_reshaped_to(Tracer *x, PyObject *const *args, size_t nargs)
{
    bool one =
        nargs == 1 && (PyTuple_CheckExact(args[0]) || PyList_CheckExact(args[0]));
    return one ? trace_reshaped(x, PySequence_Fast_ITEMS(args[0]),
                                PySequence_Fast_GET_SIZE(args[0]))
               : trace_reshaped(x, args, (Py_ssize_t)nargs);
}

/* reshape(x, shape) */
PyObject *
trace_make_reshape(Trace *trace, PyObject *const *arguments)
{
    bool plain = arguments[1] && !arguments[2] && !arguments[3];
    Tracer *x = plain ? trace_as_array(trace, arguments[0]) : NULL;
    return x ? trace_reshaped_to(x, arguments + 1, 1) : trace_not_here();
}
