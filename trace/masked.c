/* masked.c - stores where a mask is true become selects: out[mask] = number is
** out[...] = where(mask, number, out), and out[mask] op= number is the same of out op number.
**
** The mask has the shape of the array, and the number is a scalar, or what is stored are the elements of an
** array where the same mask is true: out[mask] = x[mask]. Others go the general way.
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
           memcmp(x->shape, y->shape, (size_t)x->ndim * sizeof(npy_intp)) == 0;
}

/* out[mask] = value as out[...] = where(mask, value, out). 0: not here. */
static int
store_masked(Trace *trace, Tracer *out, PyObject *key, PyObject *value)
{
    PyObject *parts[3] = {key, value, (PyObject *)out}, *result, *written = NULL;
    if (!trace->live || !is_mask(trace, key) || out->kind != TRACER_array ||
        !same_shape((Tracer *)key, out) || !trace_may_write(out, out->descr->type_num))
        return 0;
    result = trace_select(trace, parts);
    if (!result)
        return -1;
    if (result != Py_NotImplemented) {
        Tracer *selected = (Tracer *)result;
        if (selected->descr->type_num == out->descr->type_num && same_shape(selected, out)) {
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
    return PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyBool_Check(value) ||
           PyComplex_CheckExact(value);
}

void
trace_note_picked(Tracer *x, PyObject *key, PyObject *result)
{
    Trace *trace = x->trace;
    if (!trace->live || !tracer_check(trace->state, result) || x->kind != TRACER_array ||
        !is_mask(trace, key) || !same_shape(x, (Tracer *)key))
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
    if (!tracer_check(trace->state, value) || got->kind != TRACER_array || !got->picked_from ||
        !is_mask(trace, key))
        return NULL;
    x = got->picked_from;
    bool same = got->picked[0] && got->picked[1] && got->picked[2] &&
                tracer_value(x) == got->picked[0] && tracer_value(got) == got->picked[2] &&
                tracer_value(got->picked_by) == got->picked[1] &&
                tracer_value((Tracer *)key) == got->picked[1];
    return same && x->descr->type_num == out->descr->type_num && same_shape(x, out) ? (PyObject *)x
                                                                                     : NULL;
}

int
trace_store_masked(Trace *trace, Tracer *out, PyObject *key, PyObject *value)
{
    PyObject *from = is_scalar(trace, value) ? value : picked_from(trace, out, key, value);
    return from ? store_masked(trace, out, key, from) : 0;
}

/* out[mask] = out[mask] op value. 1, 0: not here, or -1. */
static int
augment_masked(Trace *trace, Tracer *out, PyObject *key, int id, PyObject *value)
{
    PyObject *operands[2] = {(PyObject *)out, value};
    if (!trace->live || !is_mask(trace, key) || out->kind != TRACER_array || out->ndim == 0)
        return 0;
    bool scalar = is_scalar(trace, value);
    if (!scalar)
        operands[1] = picked_from(trace, out, key, value);
    if (!operands[1] || (!scalar && PyTypeNum_ISCOMPLEX(out->descr->type_num)) || id < 0 || id == OPERATOR_pow || !trace->state->ufuncs[id])
        return 0;
    PyObject *result = trace_ufunc(trace, trace->state->ufuncs[id], operands, 2, NULL);
    int status = !result ? -1 : 0;
    if (result && result != Py_NotImplemented)
        status = store_masked(trace, out, key, result);
    Py_XDECREF(result);
    return status;
}

/* augment(object, key, op, value): True if object[key] op= value was done here. */
PyObject *
trace_hook_augment(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    int status = 0;
    if (nargs != 4)
        return PyErr_Format(PyExc_TypeError, "augment hook takes four arguments");
    if (trace && trace->live && (tracer_check(trace->state, args[0]) || trace_is_data(args[0]))) {
        PyObject *target = trace_wrap(trace, args[0]);
        if (!target)
            return NULL;
        if (tracer_check(trace->state, target))
            status = augment_masked(trace, (Tracer *)target, args[1], nest_operator(args[2]), args[3]);
        Py_DECREF(target);
    }
    return status < 0 ? NULL : PyBool_FromLong(status);
}
