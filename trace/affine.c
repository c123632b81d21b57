/* affine.c - ints that are affine in the turns of loops, and the windows they move. */
#include <string.h>

#include "trace/internal.h"

/* -- Affine ints ------------------------------------------------------------------- */

PyObject *
trace_index_new(Trace *trace, long long value, const npy_intp *steps, npy_intp low,
                npy_intp high)
{
    PyObject *number = PyLong_FromLongLong(value);
    bool moves = false;
    for (int d = 0; d < TRACE_DEPTH_MAX; d++)
        moves |= steps[d] != 0;
    if (!number || !moves)
        return number;
    Tracer *index = tracer_new_index(trace, number);
    Py_DECREF(number);
    if (!index)
        return NULL;
    memcpy(index->steps, steps, sizeof index->steps);
    index->low = low;
    index->high = high;
    return (PyObject *)index;
}

PyObject *
trace_index_ask(Tracer *index)
{
    if (index->size)
        return trace_size_ask(index);
    index->trace->blockers++;
    return index->object;
}

typedef struct Affine {
    long long value;
    npy_intp steps[TRACE_DEPTH_MAX], low, high;
    bool constant;
} Affine;

/* False for what is neither an affine int nor a small plain one. */
static bool
affine_read(const TraceState *state, PyObject *object, Affine *affine)
{
    int overflow = 0;
    memset(affine, 0, sizeof *affine);
    affine->constant = !tracer_check(state, object);
    if (!affine->constant) {
        const Tracer *index = (Tracer *)object;
        if (index->kind != TRACER_index)
            return false;
        memcpy(affine->steps, index->steps, sizeof affine->steps);
        affine->low = index->low;
        affine->high = index->high;
        affine->value = PyLong_AsLongLong(index->object);
        return true;
    }
    if (!PyLong_CheckExact(object))
        return false;
    affine->value = PyLong_AsLongLongAndOverflow(object, &overflow);
    affine->low = affine->high = (npy_intp)affine->value;
    return !overflow && affine->value < INT32_MAX && affine->value > -INT32_MAX;
}

/* x ± y; false where that does not fit. */
static bool
affine_sum(const Affine *x, const Affine *y, int sign, Affine *sum)
{
    npy_intp low = sign > 0 ? y->low : y->high, high = sign > 0 ? y->high : y->low;
    npy_intp less = 0, more = 0;
    bool over = __builtin_mul_overflow(low, (npy_intp)sign, &less);
    over |= __builtin_mul_overflow(high, (npy_intp)sign, &more);
    over |= __builtin_add_overflow(x->low, less, &sum->low);
    over |= __builtin_add_overflow(x->high, more, &sum->high);
    over |= sign > 0 ? __builtin_add_overflow(x->value, y->value, &sum->value)
                     : __builtin_sub_overflow(x->value, y->value, &sum->value);
    for (int d = 0; d < TRACE_DEPTH_MAX; d++)
        over |= sign > 0
                    ? __builtin_add_overflow(x->steps[d], y->steps[d], &sum->steps[d])
                    : __builtin_sub_overflow(x->steps[d], y->steps[d], &sum->steps[d]);
    return !over;
}

static bool
affine_product(const Affine *moving, npy_intp factor, Affine *product)
{
    npy_intp ends[2];
    bool over = __builtin_mul_overflow(moving->low, factor, &ends[0]);
    over |= __builtin_mul_overflow(moving->high, factor, &ends[1]);
    over |= __builtin_mul_overflow(moving->value, (long long)factor, &product->value);
    for (int d = 0; d < TRACE_DEPTH_MAX; d++)
        over |= __builtin_mul_overflow(moving->steps[d], factor, &product->steps[d]);
    product->low = factor < 0 ? ends[1] : ends[0];
    product->high = factor < 0 ? ends[0] : ends[1];
    return !over;
}

PyObject *
trace_index_binary(Trace *trace, PyObject *a, PyObject *b, OperatorId id)
{
    Affine x, y, r = {0};
    bool known = affine_read(trace->state, a, &x) && affine_read(trace->state, b, &y);
    if (known && (id == OPERATOR_add || id == OPERATOR_sub))
        known = affine_sum(&x, &y, id == OPERATOR_add ? 1 : -1, &r);
    else if (known && id == OPERATOR_mul && x.constant)
        known = affine_product(&y, (npy_intp)x.value, &r);
    else if (known && id == OPERATOR_mul && y.constant)
        known = affine_product(&x, (npy_intp)y.value, &r);
    else
        known = false;
    if (!known)
        return Py_NewRef(Py_NotImplemented);
    return trace_index_new(trace, r.value, r.steps, r.low, r.high);
}

/* -- Keys -------------------------------------------------------------------------- */

static bool
is_index(const TraceState *state, PyObject *object)
{
    return tracer_check(state, object) && ((Tracer *)object)->kind == TRACER_index;
}

/* An int that follows from one among the arguments: moved.c. */
static bool
is_argument(const TraceState *state, PyObject *object)
{
    return tracer_check(state, object) && trace_int_follows((Tracer *)object);
}

static bool
holds_index(const TraceState *state, PyObject *part)
{
    if (PySlice_Check(part)) {
        const PySliceObject *slice = (PySliceObject *)part;
        return is_index(state, slice->start) || is_index(state, slice->stop) ||
               is_index(state, slice->step);
    }
    return is_index(state, part);
}

static PyObject *
plain(const TraceState *state, PyObject *object)
{
    return is_index(state, object) ? ((Tracer *)object)->object : object;
}

static PyObject *
plain_part(const TraceState *state, PyObject *part)
{
    if (!PySlice_Check(part))
        return Py_NewRef(plain(state, part));
    const PySliceObject *slice = (PySliceObject *)part;
    return PySlice_New(plain(state, slice->start), plain(state, slice->stop),
                       plain(state, slice->step));
}

/* How an int moves the window on an axis; false where it may leave the axis. */
static bool
int_moves(const TraceState *state, PyObject *part, const Tracer *on, int axis,
          npy_intp *steps)
{
    Affine index;
    if (!affine_read(state, part, &index))
        return false;
    npy_intp extent = on->shape[axis];
    bool inside = (index.low >= 0 && index.high < extent) ||
                  (index.low >= -extent && index.high < 0);
    for (int d = 0; d < TRACE_DEPTH_MAX; d++)
        steps[d] += index.steps[d] * on->strides[axis];
    return inside;
}

/* The same for a slice; false where its length changes or it is cut at an end. */
static bool
slice_moves(const TraceState *state, PyObject *part, const Tracer *on, int axis,
            npy_intp *steps)
{
    const PySliceObject *slice = (PySliceObject *)part;
    Affine start, stop;
    npy_intp extent = on->shape[axis];
    PyObject *zero = NULL;
    if (slice->step != Py_None &&
        (is_index(state, slice->step) || !PyLong_CheckExact(slice->step) ||
         PyLong_AsLong(slice->step) <= 0))
        return false;
    (void)zero;
    if (slice->start == Py_None)
        memset(&start, 0, sizeof start);
    else if (!affine_read(state, slice->start, &start))
        return false;
    if (slice->stop == Py_None) {
        memset(&stop, 0, sizeof stop);
        stop.value = stop.low = stop.high = extent;
    } else if (!affine_read(state, slice->stop, &stop))
        return false;
    for (int d = 0; d < TRACE_DEPTH_MAX; d++) {
        if (start.steps[d] != stop.steps[d])
            return false;
        steps[d] += start.steps[d] * on->strides[axis];
    }
    return start.low >= 0 && start.high <= stop.low + (start.high - start.low) &&
           start.value <= stop.value && stop.high <= extent;
}

PyObject *
trace_key_affine(Tracer *tracer, PyObject *key, npy_intp *steps, bool *affine)
{
    const TraceState *state = tracer->trace->state;
    PyObject *single[1] = {key}, *const *parts = single;
    Py_ssize_t n = 1, axes = 0;
    bool any = false, good = tracer->kind == TRACER_array;
    if (PyTuple_CheckExact(key)) {
        parts = ((PyTupleObject *)key)->ob_item;
        n = PyTuple_GET_SIZE(key);
    }
    *affine = false;
    memcpy(steps, tracer->steps, sizeof tracer->steps);
    for (Py_ssize_t i = 0; i < n; i++) {
        any |= holds_index(state, parts[i]);
        axes += parts[i] != Py_None && parts[i] != Py_Ellipsis;
    }
    if (!any)
        return Py_NewRef(key);
    int axis = 0;
    for (Py_ssize_t i = 0; good && i < n; i++) {
        if (parts[i] == Py_None)
            continue;
        if (parts[i] == Py_Ellipsis) {
            axis += tracer->ndim - (int)axes;
            continue;
        }
        bool index = PyLong_CheckExact(parts[i]) || is_index(state, parts[i]) ||
                     is_argument(state, parts[i]);
        good = axis < tracer->ndim && (index || PySlice_Check(parts[i]));
        if (good && holds_index(state, parts[i]))
            good = index ? int_moves(state, parts[i], tracer, axis, steps)
                         : slice_moves(state, parts[i], tracer, axis, steps);
        axis++;
    }
    if (!good)
        tracer->trace->blockers++;
    *affine = good;
    PyObject *copy = PyTuple_New(n);
    for (Py_ssize_t i = 0; copy && i < n; i++) {
        PyObject *part = plain_part(state, parts[i]);
        if (!part) {
            Py_CLEAR(copy);
            break;
        }
        PyTuple_SET_ITEM(copy, i, part);
    }
    if (copy && !PyTuple_CheckExact(key))
        Py_SETREF(copy, Py_NewRef(PyTuple_GET_ITEM(copy, 0)));
    return copy;
}
