/* runs.c - stores of a row into the memory that it is read from. */
#include "trace/internal.h"

enum { ROW_MAX = 1 << 16 /* elements that are looked at one by one */ };

/* NumPy copies a row of elements to another one of the same memory as they come, but for rows of opposite steps,
** which it copies first: forwards, or backwards if the target begins within what is read. True if it may read an
** element there that it has written; one element that is all of the row read (`by` 0) gets its own value. */
static bool
reads_written(const char *to, npy_intp step, const char *from, npy_intp by, npy_intp n)
{
    if (by == 0)
        return false;
    if (step < 0) {
        to += (n - 1) * step;
        from += (n - 1) * by;
        step = -step;
        by = -by;
    }
    bool back = from < to && from + n * by > to;
    for (npy_intp k = 0; k < n; k++) { /* where is element k of the target read? */
        npy_intp far = to + k * step - from, at = far / by;
        if (far % by == 0 && at >= 0 && at < n && (back ? at < k : at > k))
            return true;
    }
    return false;
}

bool
trace_runs_into(Trace *trace, PyArrayObject *window, const Tracer *to, PyObject *value,
                bool moves)
{
    const Tracer *from = tracer_check(trace->state, value) ? (Tracer *)value : NULL;
    if (!from || from->kind != TRACER_array || from->storage != to->storage ||
        PyArray_NDIM(window) != 1 || from->ndim != 1 || from->shape[0] < 2)
        return false;
    npy_intp step = PyArray_STRIDE(window, 0), by = from->strides[0];
    if (step == by || (step < 0) != (by < 0))
        return false;
    trace->extents = true;
    moves |= tracer_moves(from) || tracer_moves(to);
    PyObject *real = tracer_object((Tracer *)value);
    if (!real)
        PyErr_Clear();
    if (!real || moves || from->shape[0] > ROW_MAX)
        return true;
    return reads_written(PyArray_BYTES(window), step,
                         PyArray_BYTES((PyArrayObject *)real), by, from->shape[0]);
}
