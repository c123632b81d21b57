/* into.c - reductions and scans that are written to `out`: without it, and then stored.
**
**     np.sum(x, axis=0, out=y)    y[...] = np.sum(x, axis=0); y
**
** Law 1: only where y has the shape and the dtype of the result: else its dtype may decide in which one is
**        computed, or NumPy has something to say.
*/
#include <string.h>

#include "trace/options.h"

/* The dtype of the result; -1: not known here. */
static int
result_type_of(const Tracer *x, const Said *said)
{
    int own = x->descr->type_num;
    bool whole = PyTypeNum_ISINTEGER(own) || own == NPY_BOOL;
    PyArray_Descr *descr = NULL;
    if (said->dtype && said->dtype != Py_None) {
        if (said->what->family == EXTREMES || said->what->family == TRUTHS ||
            tracer_check(x->trace->state, said->dtype) ||
            !PyArray_DescrConverter(said->dtype, &descr)) {
            PyErr_Clear();
            return -1;
        }
        int type = PyArray_ISNBO(descr->byteorder) ? descr->type_num : -1;
        Py_DECREF(descr);
        return type;
    }
    if (said->what->family == TRUTHS)
        return NPY_BOOL;
    if (said->what->family == EXTREMES)
        return own;
    if (strcmp(said->what->name, "mean") == 0)
        return whole ? NPY_DOUBLE : own == NPY_HALF ? -1 : own;
    return !whole ? own : PyTypeNum_ISUNSIGNED(own) ? NPY_ULONG : NPY_LONG;
}

/* The shape of the result; its number of axes, -1: not known here. */
static int
result_shape_of(const Tracer *x, const Said *said, npy_intp *shape)
{
    bool reduced[NPY_MAXDIMS] = {false}, all = !said->axis || said->axis == Py_None;
    Py_ssize_t count =
        !all && PyTuple_CheckExact(said->axis) ? PyTuple_GET_SIZE(said->axis) : 1;
    int n = 0, axis;
    if (said->what->family == SCANS) {
        memcpy(shape, x->shape, (size_t)x->ndim * sizeof *shape);
        return all && x->ndim > 1 ? -1 : x->ndim;
    }
    for (Py_ssize_t i = 0; i < count && !all; i++) {
        PyObject *item = PyTuple_CheckExact(said->axis)
                             ? PyTuple_GET_ITEM(said->axis, i)
                             : said->axis;
        if (!trace_axis(item, x->ndim, &axis) || reduced[axis])
            return -1;
        reduced[axis] = true;
    }
    for (int d = 0; d < x->ndim; d++) {
        if (!all && !reduced[d])
            shape[n++] = x->shape[d];
        else if (said->keepdims == Py_True)
            shape[n++] = 1;
    }
    return n;
}

PyObject *
trace_reduce_into(Trace *trace, PyObject *object, const Said *said)
{
    Tracer *x = (Tracer *)object, *out = (Tracer *)said->out;
    npy_intp shape[NPY_MAXDIMS];
    int type = result_type_of(x, said), n = result_shape_of(x, said, shape);
    if (!tracer_check(trace->state, said->out) || out->trace != trace || type < 0 ||
        n <= 0 || out->descr->type_num != type || !trace_may_write(out, type) ||
        out->ndim != n || memcmp(out->shape, shape, (size_t)n * sizeof *shape) != 0)
        return Py_NewRef(Py_NotImplemented);
    Said plain = *said;
    plain.out = NULL;
    PyObject *result = trace_said_call(trace, object, &plain);
    int status =
        result ? tracer_ass_subscript((PyObject *)out, Py_Ellipsis, result) : -1;
    Py_XDECREF(result);
    return status < 0 ? NULL : Py_NewRef(out);
}
