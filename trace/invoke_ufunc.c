/* invoke_ufunc.c - calls of ufuncs by name: an op, or with `out`, `where` and `dtype` several.
**
**     np.divide(x, y, out=z, where=y != 0)    z[...] = where(y != 0, x / y, z)
**     np.add(x, y, dtype="f4")                x.astype("f4") + y.astype("f4")
**     np.add(x, y, out=z)                     z[...] = x + y, where z has more axes, or needs a cast
*/
#include "trace/composed.h"
#include "trace/elementwise.h"
#include "trace/invoke.h"

typedef struct Options {
    PyObject *out, *where;  /* borrowed; NULL: not given */
    PyArray_Descr *descr;
} Options;

/* False: there is something else. */
static bool
read_options(Trace *trace, Options *o, const PyUFuncObject *ufunc, PyObject *const *args,
             size_t nargs, PyObject *kwnames)
{
    size_t nin = (size_t)ufunc->nin, nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0;
    if (nargs > nin + 1 || nargs < nin || ufunc->nout != 1 || ufunc->core_enabled ||
        trace_is_numpys((PyObject *)ufunc, "power")) /* of integers it may raise */
        return false;
    if (nargs == nin + 1 && args[nin] != Py_None)
        o->out = args[nin];
    for (size_t i = 0; i < nkw; i++) {
        PyObject *key = PyTuple_GET_ITEM(kwnames, (Py_ssize_t)i), *value = args[nargs + i];
        if (PyUnicode_CompareWithASCIIString(key, "out") == 0 && !o->out) {
            bool single = PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) == 1;
            o->out = single ? PyTuple_GET_ITEM(value, 0) : value;
            if (o->out == Py_None)
                o->out = NULL;
        } else if (PyUnicode_CompareWithASCIIString(key, "where") == 0)
            o->where = value == Py_True ? NULL : value;
        else if (PyUnicode_CompareWithASCIIString(key, "dtype") != 0 || value == Py_None ||
                 tracer_check(trace->state, value) || o->descr ||
                 !PyArray_DescrConverter(value, &o->descr))
            return false;
    }
    return true;
}

static Tracer *
as_tracer(Trace *trace, PyObject *object)
{
    bool mine = tracer_check(trace->state, object) && ((Tracer *)object)->trace == trace;
    return mine ? (Tracer *)object : NULL;
}

/* An operand in the dtype asked for. Py_NotImplemented: NumPy decides. */
static PyObject *
operand_as(Trace *trace, PyObject *object, PyArray_Descr *descr)
{
    Tracer *x = as_tracer(trace, object);
    bool floats = PyTypeNum_ISFLOAT(descr->type_num) || PyTypeNum_ISCOMPLEX(descr->type_num);
    if (!x)
        return Py_NewRef(PyLong_CheckExact(object) || (PyFloat_CheckExact(object) && floats)
                             ? object : Py_NotImplemented);
    if (x->kind != TRACER_array || x->ndim == 0 ||
        !PyArray_CanCastTypeTo(x->descr, descr, NPY_SAME_KIND_CASTING))
        return trace_not_here();
    return x->descr->type_num == descr->type_num ? Py_NewRef(object)
                                                 : trace_astype(trace, x, descr);
}

/* The ufunc on operands of that dtype. */
static PyObject *
typed(Trace *trace, PyObject *ufunc, PyObject *const *args, int n, PyArray_Descr *descr)
{
    PyObject *operands[NPY_MAXARGS] = {NULL}, *result = NULL;
    bool known = true;
    for (int i = 0; i < n && known; i++) {
        operands[i] = operand_as(trace, args[i], descr);
        known = operands[i] && operands[i] != Py_NotImplemented;
    }
    if (known)
        result = trace_invoke_vector(trace, ufunc, operands, (size_t)n, NULL);
    for (int i = 0; i < n; i++)
        Py_XDECREF(operands[i]);
    Tracer *made = result ? as_tracer(trace, result) : NULL;
    if (made && made->descr->type_num == descr->type_num)
        return result;
    Py_XDECREF(result);
    return trace_not_here();
}

/* True where the shape broadcasts to the output's. */
static bool
spreads(const Tracer *x, const Tracer *out)
{
    for (int i = 1; i <= x->ndim; i++) {
        npy_intp n = x->shape[x->ndim - i];
        if (i > out->ndim || (n != 1 && n != out->shape[out->ndim - i]))
            return false;
    }
    return true;
}

/* out[...] = where(mask, value, out) */
static PyObject *
stored(Trace *trace, const Options *o, PyObject *value)
{
    Tracer *out = as_tracer(trace, o->out), *from = as_tracer(trace, value);
    PyObject *chosen = NULL, *cast = NULL;
    if (!from || !spreads(from, out) || !trace_may_write(out, from->descr->type_num))
        return trace_not_here();
    if (o->where) {
        cast = from->ndim && from->descr->type_num != out->descr->type_num
                   ? trace_astype(trace, from, out->descr) : Py_NewRef(value);
        PyObject *parts[3] = {o->where, cast, o->out};
        chosen = cast && cast != Py_NotImplemented ? trace_select(trace, parts) : trace_not_here();
        Tracer *made = chosen ? as_tracer(trace, chosen) : NULL;
        if (chosen && (!made || made->descr->type_num != out->descr->type_num || made->ndim != out->ndim))
            Py_SETREF(chosen, trace_not_here());
        Py_XDECREF(cast);
        if (!chosen || chosen == Py_NotImplemented)
            return chosen;
        value = chosen;
    }
    int status = PyObject_SetItem(o->out, Py_Ellipsis, value);
    Py_XDECREF(chosen);
    return status < 0 ? NULL : Py_NewRef(o->out);
}

static PyObject *
with_options(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
             PyObject *kwnames)
{
    const PyUFuncObject *ufunc = (PyUFuncObject *)callable;
    Options o = {.out = NULL};
    PyObject *value = NULL, *result = NULL;
    bool known = trace->live && read_options(trace, &o, ufunc, args, nargs, kwnames);
    Tracer *out = known && o.out ? as_tracer(trace, o.out) : NULL;
    Tracer *mask = known && o.where ? as_tracer(trace, o.where) : NULL;
    known = known && (!o.out || (out && out->kind == TRACER_array && out->ndim > 0)) &&
            (!o.where || (mask && out && mask->kind == TRACER_array && spreads(mask, out) &&
                          mask->descr->type_num == NPY_BOOL)) &&
            (out || o.descr);
    if (known)
        value = o.descr ? typed(trace, callable, args, ufunc->nin, o.descr)
                        : trace_invoke_vector(trace, callable, args, (size_t)ufunc->nin, NULL);
    Py_XDECREF(o.descr);
    if (!value || value == Py_NotImplemented || !out) {
        /* What NumPy refuses it refuses itself. */
        if (!value && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
            PyErr_Clear();
        return value || PyErr_Occurred() ? value : trace_not_here();
    }
    result = stored(trace, &o, value);
    Py_DECREF(value);
    return result;
}

/* A call of a ufunc by name. */
PyObject *
trace_invoke_ufunc_call(Trace *trace, PyObject *ufunc, PyObject *const *args, size_t nargs,
                        PyObject *kwnames)
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
    if (nkw || out) {
        PyObject *result = with_options(trace, ufunc, args, nargs, kwnames);
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    }
    if (out != Py_None && nargs >= nin)
        ufunc = trace_recipe(trace, ufunc, args, u->nin);
    return trace_call_out(trace, ufunc, args, nargs, kwnames, mutates);
}
