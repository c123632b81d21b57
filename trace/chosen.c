/* chosen.c - ufuncs that write some elements of an array and leave the others, or compute in a dtype that is named.
**
**     np.divide(x, y, out=z, where=m)    z[...] = np.where(m, x / y, z)
**     np.add(x, y, dtype=d)              x.astype(d) + y.astype(d), where the casts are of the same kind
**
** What is computed for the others does not show: floating-point errors are not told of in traced code, and what
** raises is left to NumPy.
*/
#include <string.h>

#include "trace/elementwise.h"

/* The values of `out` and `where` among the keywords; false: there is something else. */
static bool
read_keywords(PyObject *const *values, PyObject *kwnames, PyObject **out, PyObject **where)
{
    Py_ssize_t n = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *key = PyTuple_GET_ITEM(kwnames, i);
        if (PyUnicode_CompareWithASCIIString(key, "out") == 0)
            *out = values[i];
        else if (PyUnicode_CompareWithASCIIString(key, "where") == 0)
            *where = values[i];
        else
            return false;
    }
    if (*out && PyTuple_CheckExact(*out) && PyTuple_GET_SIZE(*out) == 1)
        *out = PyTuple_GET_ITEM(*out, 0);
    return *out && *where;
}

/* An array of bools that has the array's elements, or repeats its own for them. */
static bool
is_mask_of(const Tracer *array, const Tracer *mask)
{
    int skip = array->ndim - mask->ndim;
    if (mask->kind != TRACER_array || mask->descr->type_num != NPY_BOOL || mask->ndim == 0 ||
        skip < 0 || !tracer_plain(mask))
        return false;
    for (int d = 0; d < mask->ndim; d++) {
        if (mask->shape[d] != 1 && mask->shape[d] != array->shape[d + skip])
            return false;
    }
    return true;
}

static bool
is_made(const PyObject *object)
{
    return object && object != Py_NotImplemented;
}

/* True if the result is written without a cast, to all of the array. */
static bool
fits(const Tracer *out, const Tracer *result)
{
    return result->ndim <= out->ndim && result->descr->type_num == out->descr->type_num &&
           trace_may_write(out, result->descr->type_num);
}

/* An operand of ufuncs in this dtype; Py_NotImplemented: it is none that NumPy casts to it. New reference. */
static PyObject *
operand_in(Trace *trace, PyObject *object, PyArray_Descr *descr)
{
    if (PyLong_CheckExact(object) || PyFloat_CheckExact(object))
        return Py_NewRef(object);
    const Tracer *x = (Tracer *)object;
    if (!tracer_check(trace->state, object) || x->kind != TRACER_array || x->ndim == 0 ||
        !tracer_plain(x) ||
        !PyArray_CanCastTypeTo(x->descr, descr, NPY_SAME_KIND_CASTING))
        return Py_NewRef(Py_NotImplemented);
    return x->descr->type_num == descr->type_num ? Py_NewRef(object)
                                                 : trace_astype(trace, (Tracer *)object, descr);
}

PyObject *
trace_ufunc_dtype(Trace *trace, PyObject *ufunc, PyObject *const *args, size_t nargs,
                  PyObject *kwnames)
{
    const PyUFuncObject *u = (PyUFuncObject *)ufunc;
    PyObject *operands[OPERANDS_MAX] = {NULL}, *result = NULL, *dtype = args[nargs];
    PyArray_Descr *descr = NULL;
    bool named = PyTuple_GET_SIZE(kwnames) == 1 &&
                 PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "dtype") == 0 &&
                 (PyType_Check(dtype) || PyArray_DescrCheck(dtype) || PyUnicode_Check(dtype));
    if (!named || !trace->live || u->nout != 1 || nargs != (size_t)u->nin || nargs > OPERANDS_MAX ||
        !PyArray_DescrConverter(dtype, &descr)) {
        PyErr_Clear();
        return Py_NewRef(Py_NotImplemented);
    }
    bool all = trace_descr_plain(descr);
    for (size_t i = 0; all && i < nargs; i++) {
        operands[i] = operand_in(trace, args[i], descr);
        all = is_made(operands[i]);
    }
    if (all)
        result = trace_function(trace, ufunc, operands, u->nin, NULL);
    if (is_made(result) && tracer_check(trace->state, result) &&
        ((Tracer *)result)->descr->type_num != descr->type_num)
        Py_SETREF(result, Py_NewRef(Py_NotImplemented));
    for (size_t i = 0; i < nargs; i++)
        Py_XDECREF(operands[i]);
    Py_DECREF(descr);
    return result || PyErr_Occurred() ? result : Py_NewRef(Py_NotImplemented);
}

PyObject *
trace_ufunc_where(Trace *trace, PyObject *ufunc, PyObject *const *args, size_t nargs,
                  PyObject *kwnames)
{
    const PyUFuncObject *u = (PyUFuncObject *)ufunc;
    PyObject *given = nargs == (size_t)u->nin + 1 ? args[u->nin] : NULL, *mask = NULL;
    bool raises = trace_is_numpys(ufunc, "power"); /* of integers */
    if ((nargs != (size_t)u->nin && !given) || u->nout != 1 || raises || !trace->live ||
        !read_keywords(args + nargs, kwnames, &given, &mask) ||
        !tracer_check(trace->state, given) || !tracer_check(trace->state, mask))
        return Py_NewRef(Py_NotImplemented);
    Tracer *out = (Tracer *)given;
    if (out->trace != trace || out->kind != TRACER_array || out->ndim == 0 ||
        !tracer_plain(out) || !is_mask_of(out, (Tracer *)mask))
        return Py_NewRef(Py_NotImplemented);
    PyObject *result = trace_function(trace, ufunc, args, u->nin, NULL), *all = NULL;
    if (!is_made(result))
        return result;
    if (tracer_check(trace->state, result) && fits(out, (Tracer *)result)) {
        PyObject *parts[3] = {mask, result, given};
        all = trace_select(trace, parts);
    }
    Py_DECREF(result);
    if (is_made(all) &&
        (((Tracer *)all)->ndim != out->ndim ||
         memcmp(((Tracer *)all)->shape, out->shape, (size_t)out->ndim * sizeof *out->shape) != 0))
        Py_SETREF(all, Py_NewRef(Py_NotImplemented));
    if (!all)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
    if (all == Py_NotImplemented)
        return all;
    PyObject *written = trace_write_whole(trace, out, (Tracer *)all);
    Py_DECREF(all);
    return written;
}
