/* masked.c - stores where a mask is true become selects: out[mask] = number is
** out[...] = where(mask, number, out), out[mask] op= number is the same of out op number, and so is
** out[mask] = x[mask] * y[mask] + number of x * y + number (python/pyasc/_masked.py finds these).
**
** The mask has the shape of the arrays, and numbers are scalars. The same is done with what the same mask has picked
** before: v = x[mask], out[mask] = v. Others go the general way.
*/
#include <string.h>

#include "trace/elementwise.h"
#include "trace/invoke.h"
#include "trace/nest.h"

static bool
is_mask(const Trace *trace, PyObject *key)
{
    return tracer_check(trace->state, key) && ((Tracer *)key)->kind == TRACER_array &&
           ((Tracer *)key)->descr->type_num == NPY_BOOL;
}

static bool
same_shape(const Tracer *x, const Tracer *y)
{
    return x->ndim == y->ndim &&
           (x->ndim == 0 ||
            memcmp(x->shape, y->shape, (size_t)x->ndim * sizeof(npy_intp)) == 0);
}

/* True of a mask that has the first axes of x, or all. */
static bool
leads(const Tracer *mask, const Tracer *x)
{
    return mask->ndim && mask->ndim <= x->ndim &&
           memcmp(x->shape, mask->shape, (size_t)mask->ndim * sizeof(npy_intp)) == 0;
}

PyObject *
trace_mask_over(PyObject *mask, const Tracer *x)
{
    int more = x->ndim - ((Tracer *)mask)->ndim;
    if (more == 0)
        return Py_NewRef(mask);
    PyObject *key = PyTuple_New(1 + more);
    for (int i = 0; key && i < more; i++)
        PyTuple_SET_ITEM(key, 1 + i, Py_NewRef(Py_None));
    if (key)
        PyTuple_SET_ITEM(key, 0, Py_NewRef(Py_Ellipsis));
    PyObject *expanded = key ? PyObject_GetItem(mask, key) : NULL;
    Py_XDECREF(key);
    return expanded;
}

/* True where a store may change elements of the mask before NumPy comes to them: it goes element by element. */
static bool
in_the_way(const Tracer *mask, const Tracer *out)
{
    return mask->storage == out->storage &&
           (mask->ndim != out->ndim ||
            (mask->whole ? 0 : mask->offset) != (out->whole ? 0 : out->offset) ||
            memcmp(mask->strides, out->strides, (size_t)out->ndim * sizeof(npy_intp)) !=
                0 ||
            memcmp(mask->steps, out->steps, sizeof mask->steps) != 0 ||
            mask->moved != out->moved);
}

/* True where operators on all elements have the bits of those on the ones that are picked, which are one behind
** the other: of complex numbers bits depend on that. */
static bool
computes_alike(const Tracer *x)
{
    return !PyTypeNum_ISCOMPLEX(x->descr->type_num) || trace_lies_in_order(x);
}

/* out[mask] = value as out[...] = where(mask, value, out). 0: not here. */
static int
store_masked(Trace *trace, Tracer *out, PyObject *key, PyObject *value)
{
    PyObject *result, *written = NULL;
    if (!trace->live || !is_mask(trace, key) || out->kind != TRACER_array ||
        !leads((Tracer *)key, out) || in_the_way((Tracer *)key, out) ||
        !trace_may_write(out, out->descr->type_num))
        return 0;
    PyObject *mask = trace_mask_over(key, out);
    PyObject *parts[3] = {mask, value, (PyObject *)out};
    result = mask ? trace_select(trace, parts) : NULL;
    Py_XDECREF(mask);
    if (!result)
        return -1;
    if (result != Py_NotImplemented) {
        Tracer *selected = (Tracer *)result;
        if (selected->descr->type_num == out->descr->type_num &&
            same_shape(selected, out)) {
            written = trace_write_whole(trace, out, selected);
            Py_DECREF(result);
            Py_XDECREF(written);
            return written ? 1 : -1;
        }
    }
    Py_DECREF(result);
    return 0;
}

/* True of a number, or what has no axes. */
static bool
is_scalar(const Trace *trace, PyObject *value)
{
    if (tracer_check(trace->state, value))
        return ((Tracer *)value)->ndim == 0 && ((Tracer *)value)->kind != TRACER_array;
    return PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
           PyBool_Check(value) || PyComplex_CheckExact(value);
}

void
trace_note_picked(Tracer *x, PyObject *key, PyObject *result)
{
    Trace *trace = x->trace;
    if (!trace->live || !tracer_check(trace->state, result) ||
        x->kind != TRACER_array || !is_mask(trace, key) || !leads((Tracer *)key, x))
        return;
    Tracer *got = (Tracer *)result;
    got->picked_from = (Tracer *)Py_NewRef(x);
    got->picked_by = (Tracer *)Py_NewRef(key);
    got->picked[0] = tracer_value(x);
    got->picked[1] = tracer_value((Tracer *)key);
    got->picked[2] = tracer_value(got);
}

/* x where the value is x[key] and nothing has changed since: borrowed, or NULL. */
static PyObject *
picked_from(const Trace *trace, const Tracer *out, PyObject *key, PyObject *value)
{
    Tracer *got = (Tracer *)value, *x;
    if (!tracer_check(trace->state, value) || got->kind != TRACER_array ||
        !got->picked_from || !is_mask(trace, key))
        return NULL;
    x = got->picked_from;
    bool same = trace_is_picked(got) && tracer_value((Tracer *)key) == got->picked[1];
    return same && x->descr->type_num == out->descr->type_num && same_shape(x, out)
               ? (PyObject *)x
               : NULL;
}

int
trace_store_masked(Trace *trace, Tracer *out, PyObject *key, PyObject *value)
{
    PyObject *from =
        is_scalar(trace, value) ? value : picked_from(trace, out, key, value);
    return from ? store_masked(trace, out, key, from) : 0;
}

/* True of what a store takes as it is: a number, or (`expanded`) what was computed for all elements. */
static bool
is_taken(const Trace *trace, const Tracer *out, PyObject *value, PyObject *expanded)
{
    return is_scalar(trace, value) ||
           (expanded == Py_True && tracer_check(trace->state, value) &&
            same_shape((Tracer *)value, out));
}

/* out[mask] = out[mask] op value. 1, 0: not here, or -1. */
static int
augment_masked(Trace *trace, Tracer *out, PyObject *key, int id, PyObject *value)
{
    PyObject *operands[2] = {(PyObject *)out, value};
    if (!is_mask(trace, key) || out->kind != TRACER_array || out->ndim == 0 || id < 0 ||
        id == OPERATOR_pow || !trace->state->ufuncs[id] || !computes_alike(out))
        return 0;
    PyObject *result = trace_ufunc(trace, trace->state->ufuncs[id], operands, 2, NULL);
    int status = !result ? -1 : 0;
    if (result && result != Py_NotImplemented)
        status = store_masked(trace, out, key, result);
    Py_XDECREF(result);
    return status;
}

/* The values as they are stored: of out's dtype. A complex number's real part is NumPy's to warn of. New reference. */
static PyObject *
as_stored(Trace *trace, const Tracer *out, PyObject *value)
{
    Tracer *x = (Tracer *)value;
    if (x->descr->type_num == out->descr->type_num)
        return Py_NewRef(value);
    if (PyTypeNum_ISCOMPLEX(x->descr->type_num))
        return Py_NewRef(Py_NotImplemented);
    return trace_astype(trace, x, out->descr);
}

/* True of ufuncs that take no longer for all elements than NumPy does to take some out and put them back. */
static bool
is_cheap(const Trace *trace, PyObject *function, PyObject *nargs)
{
    static const char *const names[] = {"sqrt",     "absolute", "fabs",    "square",
                                        "negative", "maximum",  "minimum", "add",
                                        "subtract", "multiply", "divide"},
                             *const recipes[] = {"exp", "log"};
    size_t n = sizeof names / sizeof *names,
           more = trace->numerics == NUMERICS_strict ? 0 : 2;
    const PyUFuncObject *ufunc = (PyUFuncObject *)function;
    bool cheap = false;
    if (Py_TYPE(function) != &PyUFunc_Type || PyLong_AsLong(nargs) != ufunc->nin)
        return false; /* more arguments: `out` */
    for (size_t i = 0; i < n + more; i++)
        cheap |= strcmp(ufunc->name, i < n ? names[i] : recipes[i - n]) == 0;
    return cheap;
}

/* -- Hooks ------------------------------------------------------------------------- */

/* The array that is stored to; NULL without an exception: nothing is done here. New reference. */
static Tracer *
target_of(Trace *trace, PyObject *object)
{
    if (!trace || !trace->live ||
        !(tracer_check(trace->state, object) || trace_is_data(object)))
        return NULL;
    PyObject *target = trace_wrap(trace, object);
    if (target && !tracer_check(trace->state, target))
        Py_CLEAR(target);
    return (Tracer *)target;
}

/* augment_masked(object, key, op, value, expanded): True if object[key] op= value was done here, the value being a
** number or, if it was expanded, of all elements. */
PyObject *
trace_hook_augment_masked(PyObject *Py_UNUSED(module), PyObject *const *args,
                          Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    int status = 0;
    if (nargs != 5)
        return PyErr_Format(PyExc_TypeError,
                            "augment_masked hook takes five arguments");
    Tracer *out = target_of(trace, args[0]);
    PyObject *value = out && is_taken(trace, out, args[3], args[4]) ? args[3] : NULL;
    if (out && !value && !PyTypeNum_ISCOMPLEX(out->descr->type_num))
        value = picked_from(trace, out, args[1], args[3]);
    if (value)
        status = augment_masked(trace, out, args[1], nest_operator(args[2]), value);
    else if (!out && PyErr_Occurred())
        status = -1;
    Py_XDECREF(out);
    return status < 0 ? NULL : PyBool_FromLong(status);
}

/* store_masked(object, key, value, True): the same of object[key] = value. */
PyObject *
trace_hook_store_masked(PyObject *Py_UNUSED(module), PyObject *const *args,
                        Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    int status = 0;
    if (nargs != 4)
        return PyErr_Format(PyExc_TypeError, "store_masked hook takes four arguments");
    Tracer *out = target_of(trace, args[0]);
    if (out && out->kind == TRACER_array && !is_scalar(trace, args[2]) &&
        is_taken(trace, out, args[2], args[3])) {
        PyObject *value = as_stored(trace, out, args[2]);
        status = !value ? -1
                 : value == Py_NotImplemented
                     ? 0
                     : store_masked(trace, out, args[1], value);
        Py_XDECREF(value);
    } else if (!out && PyErr_Occurred())
        status = -1;
    Py_XDECREF(out);
    return status < 0 ? NULL : PyBool_FromLong(status);
}

/* masked(key, arrays, numbers, functions, each with how many arguments it has): True if x may stand for x[key] of
** these arrays, as the key is a mask of their shape, and the functions are cheap. */
PyObject *
trace_hook_masked(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    if (nargs != 4 || !PyTuple_CheckExact(args[3]) || !PyTuple_CheckExact(args[1]) ||
        !PyTuple_CheckExact(args[2]))
        return PyErr_Format(PyExc_TypeError,
                            "masked hook takes a key and three tuples");
    bool fits = trace && trace->live && is_mask(trace, args[0]);
    for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(args[1]); i++) {
        PyObject *array = PyTuple_GET_ITEM(args[1], i);
        fits = tracer_check(trace->state, array) &&
               ((Tracer *)array)->kind == TRACER_array &&
               tracer_plain((Tracer *)array) && computes_alike((Tracer *)array) &&
               leads((Tracer *)args[0], (Tracer *)array) &&
               same_shape((Tracer *)array, (Tracer *)PyTuple_GET_ITEM(args[1], 0));
    }
    for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(args[2]); i++)
        fits = is_scalar(trace, PyTuple_GET_ITEM(args[2], i));
    for (Py_ssize_t i = 0; fits && i + 1 < PyTuple_GET_SIZE(args[3]); i += 2)
        fits = is_cheap(trace, PyTuple_GET_ITEM(args[3], i),
                        PyTuple_GET_ITEM(args[3], i + 1));
    return PyBool_FromLong(fits);
}
