/* apart.c - reductions on axes that are no neighbours: group after group of those that are, the innermost first.
**
**     x.sum((0, 2))    x.sum(2).sum(0)
*/
#include <string.h>

#include "trace/options.h"

enum { NUMPY_2_3 = 0x14 /* C API version: sums before are cut in chunks */ };

/* The reduced axes in order; false: they are one group of neighbours, but for axes of one element,
** or have such among them. */
static bool
are_apart(const Tracer *x, PyObject *axis, bool *reduced, int *groups)
{
    int d;
    *groups = 0;
    if (!axis || !PyTuple_CheckExact(axis))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axis); i++) {
        if (!trace_axis(PyTuple_GET_ITEM(axis, i), x->ndim, &d) || reduced[d])
            return false;
        reduced[d] = true;
    }
    bool inside = false, one = false;
    for (d = 0; d < x->ndim; d++) {
        one |= reduced[d] && x->shape[d] == 1;
        if (x->shape[d] == 1)
            continue;
        *groups += reduced[d] && !inside;
        inside = reduced[d];
    }
    return *groups > 1 && !one;
}

/* Sums of floats of the innermost axes are added in the order of the others by NumPy, too (from
** 2.3 on); what else has an order is NumPy's. */
static bool
may_be_cut(const Tracer *x, const Said *said, const bool *reduced, int groups)
{
    bool floating = PyTypeNum_ISFLOAT(x->descr->type_num);
    if (!trace_lies_in_order(x) || PyArray_MultiplyList(x->shape, x->ndim) == 0 ||
        strcmp(said->what->name, "mean") == 0)
        return false;
    return !floating || said->what->family != SUMS ||
           (strcmp(said->what->name, "sum") == 0 && groups == 2 &&
            reduced[x->ndim - 1] && PyArray_GetNDArrayCFeatureVersion() >= NUMPY_2_3);
}

/* Group after group, the innermost first. */
PyObject *
trace_reduce_apart(Trace *trace, Tracer *x, const Said *said)
{
    bool reduced[NPY_MAXDIMS] = {false};
    int groups, end = x->ndim;
    if (!are_apart(x, said->axis, reduced, &groups) ||
        !may_be_cut(x, said, reduced, groups))
        return Py_NewRef(Py_NotImplemented);
    PyObject *part = Py_NewRef(x);
    while (part && end > 0) {
        int first = end;
        while (first > 0 && reduced[first - 1])
            first--;
        bool one_axis = end - first == 1; /* few elements become a chain: unroll.c */
        PyObject *axes = one_axis      ? PyLong_FromLong(first)
                         : first < end ? PyTuple_New(end - first)
                                       : NULL;
        for (int d = first; axes && !one_axis && d < end; d++)
            PyTuple_SET_ITEM(axes, d - first, PyLong_FromLong(d));
        if (axes) {
            Said one = {.what = said->what, .axis = axes, .keepdims = said->keepdims};
            Py_SETREF(part, trace_said_reduce(trace, said->what->name, part, &one));
            Py_DECREF(axes);
        }
        end = first - 1;
    }
    return part;
}
