/* written.c - functions of NumPy that are written in Python, with simpler ones (python/pyasc/_written/): the
** tracer runs them on tracers in NumPy's place.
**
** Law: where one raises, or gives NotImplemented, NumPy is called. It has written nothing then but arrays of its own.
*/
#include <string.h>

#include "trace/composed.h"
#include "trace/invoke.h"

PyObject *
trace_written(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
              PyObject *kwnames)
{
    /* What it calls itself, for part of the work, is NumPy's. */
    PyObject *known = trace->live && !trace->asking && trace->state->written &&
                              trace->standing_in != callable
                          ? PyDict_GetItemWithError(trace->state->written, callable)
                          : NULL;
    if (known && PyUnicode_Check(known)) { /* the module that has it */
        PyObject *module = PyImport_ImportModule("pyasc._written");
        PyObject *loaded =
            module ? PyObject_CallMethod(module, "load", "O", known) : NULL;
        Py_XDECREF(module);
        if (!loaded)
            return NULL;
        Py_DECREF(loaded);
        known = PyDict_GetItemWithError(trace->state->written, callable);
    }
    if (!known)
        return PyErr_Occurred() ? NULL : trace_not_here();
    PyObject *outer = trace->standing_in;
    trace->standing_in = callable;
    PyObject *result = PyObject_Vectorcall(known, args, nargs, kwnames);
    trace->standing_in = outer;
    if (!result && PyErr_ExceptionMatches(PyExc_Exception) &&
        !PyErr_ExceptionMatches(PyExc_MemoryError))
        return trace_not_here();
    return result;
}

/* A ufunc with more than its operands: out, where, dtype, casting. */
PyObject *
trace_written_ufunc(Trace *trace, PyObject *ufunc, PyObject *const *args, size_t nargs,
                    PyObject *kwnames)
{
    size_t n = nargs + (kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *all[COMPOSED_ARGUMENTS] = {ufunc};
    if (n + 1 >= COMPOSED_ARGUMENTS || n <= (size_t)((PyUFuncObject *)ufunc)->nin)
        return trace_not_here();
    memcpy(all + 1, args, n * sizeof *all);
    return trace_written(trace, (PyObject *)&PyUFunc_Type, all, nargs + 1, kwnames);
}

void
trace_state_set_written(TraceState *state, PyObject *written)
{
    Py_XSETREF(state->written, Py_NewRef(written));
}

/* -- What these functions use ------------------------------------------------------ */

/* The array of the current trace that an argument has to be. NULL: an exception is set. */
static Tracer *
array_of(PyObject *const *args, Py_ssize_t nargs, Py_ssize_t least)
{
    Trace *trace = trace_current();
    Tracer *x = trace && nargs >= least ? (Tracer *)args[0] : NULL;
    if (x && trace->live && tracer_check(trace->state, args[0]) &&
        x->kind == TRACER_array && x->trace == trace && tracer_plain(x))
        return x;
    PyErr_SetString(PyExc_TypeError, "no array of numbers of this trace");
    return NULL;
}

/* True if the elements of x are one behind the other, the last axis innermost or the first one. */
static bool
is_dense(const Tracer *x, bool fortran)
{
    npy_intp step = PyDataType_ELSIZE(x->descr);
    for (int i = 0; i < x->ndim; i++) {
        int d = fortran ? i : x->ndim - 1 - i;
        if (x->shape[d] != 1 && x->strides[d] != step)
            return PyArray_MultiplyList(x->shape, x->ndim) == 0;
        step *= x->shape[d];
    }
    return true;
}

/* layout(x): (in C order, in Fortran order, strides). */
PyObject *
trace_hook_layout(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    const Tracer *x = array_of(args, nargs, 1);
    PyObject *strides = x ? PyArray_IntTupleFromIntp(x->ndim, x->strides) : NULL;
    if (!strides)
        return NULL;
    x->trace->extents = true;
    return Py_BuildValue("(NNN)", PyBool_FromLong(is_dense(x, false)),
                         PyBool_FromLong(is_dense(x, true)), strides);
}

/* dense(x): in C order. Plans for other extents have that in common: they are not seen by it. */
PyObject *
trace_hook_dense(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    const Tracer *x = array_of(args, nargs, 1);
    return x ? PyBool_FromLong(is_dense(x, false)) : NULL;
}

/* blank(x, shape, dtype): memory without values in C order, dtype None for that of x. */
PyObject *
trace_hook_blank(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Tracer *x = array_of(args, nargs, 3);
    npy_intp strides[NPY_MAXDIMS];
    PyArray_Descr *descr = NULL;
    PyArray_Dims shape = {NULL, 0};
    PyObject *result = NULL;
    if (!x || !PyArray_IntpConverter(args[1], &shape) ||
        !PyArray_DescrConverter2(args[2], &descr))
        goto done;
    if (!descr)
        descr = (PyArray_Descr *)Py_NewRef(x->descr);
    npy_intp step = PyDataType_ELSIZE(descr);
    for (int d = shape.len; d-- > 0; step *= shape.ptr[d])
        strides[d] = step;
    x->trace->extents = true;
    if (trace_descr_plain(descr) && shape.len && step)
        result = trace_new_empty(x->trace, descr, shape.len, shape.ptr, strides);
    if (!result || result == Py_NotImplemented) {
        Py_CLEAR(result);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "no memory of this kind");
    }
done:
    PyDimMem_FREE(shape.ptr);
    Py_XDECREF(descr);
    return result;
}

/* record(callable, writes, ...): a call of NumPy's own, which no function here stands for, and if it writes its
** first argument. */
PyObject *
trace_hook_record(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    if (!trace || nargs < 3) {
        PyErr_SetString(PyExc_TypeError, "nothing is traced");
        return NULL;
    }
    return trace_call(trace, args[0], args + 2, (size_t)nargs - 2, NULL,
                      args[1] == Py_True);
}

/* shares(x, y): y has memory of x's variable, or may have: both came with the call, whose arguments overlap. */
PyObject *
trace_hook_shares(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    const Tracer *x = array_of(args, nargs, 2),
                 *y = x ? array_of(args + 1, nargs - 1, 1) : NULL;
    if (!y)
        return NULL;
    bool given = x->trace->overlap && x->storage->param >= 0 && y->storage->param >= 0;
    return PyBool_FromLong(given || x->storage == y->storage);
}

/* real(x): the array itself, computed. */
PyObject *
trace_hook_real(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Tracer *x = array_of(args, nargs, 1);
    return Py_XNewRef(x ? tracer_object(x) : NULL);
}
