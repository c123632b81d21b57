/* picked.c - reductions of what a mask picks: x[mask].sum() is the sum of x where the mask is true.
**
** How many elements that are is different each time, and no plan is for arrays of any extent. Where the sum is all that
** is done with them they are not picked at all.
*/
#include <string.h>

#include "trace/composed.h"
#include "trace/invoke.h"

bool
trace_is_picked(const Tracer *got)
{
    return got->picked_from && got->picked[0] && got->picked[1] && got->picked[2] &&
           tracer_value(got->picked_from) == got->picked[0] &&
           tracer_value((Tracer *)got) == got->picked[2] &&
           tracer_value(got->picked_by) == got->picked[1];
}

/* How a reduction goes over elements that a mask picks. */
typedef enum Picking {
    PICKS_none,
    PICKS_exact,  /* whatever lies between them */
    PICKS_sum,    /* of floats in another order than NumPy's */
    PICKS_mean,   /* in another order for integers, too */
    PICKS_extreme /* if there are some */
} Picking;

static Picking
picking_of(const char *name)
{
    static const struct {
        const char *name;
        Picking how;
    } rows[] = {
        {"sum", PICKS_sum},      {"prod", PICKS_sum},     {"any", PICKS_exact},
        {"all", PICKS_exact},    {"mean", PICKS_mean},    {"std", PICKS_mean},
        {"var", PICKS_mean},     {"max", PICKS_extreme},  {"min", PICKS_extreme},
        {"amax", PICKS_extreme}, {"amin", PICKS_extreme},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].how;
    }
    return PICKS_none;
}

static bool
may_pick(const Trace *trace, Picking how, int type)
{
    bool floats = type == NPY_DOUBLE || type == NPY_FLOAT;
    bool strict = trace->numerics == NUMERICS_strict;
    if (!floats && !PyTypeNum_ISINTEGER(type) && !PyTypeNum_ISBOOL(type))
        return false;
    switch (how) {
    case PICKS_exact:
        return true;
    case PICKS_sum:
        return !floats || !strict;
    case PICKS_mean:
        return !strict;
    case PICKS_extreme:
        return floats || PyTypeNum_ISBOOL(type);
    default:
        return false;
    }
}

/* True if some element is picked: that is asked. */
static int
picks_some(PyObject *mask)
{
    PyObject *any = PyObject_CallMethod(mask, "any", NULL);
    int truth = any ? PyObject_IsTrue(any) : -1;
    Py_XDECREF(any);
    return truth;
}

bool
trace_is_axis_alone(size_t nargs, PyObject *kwnames)
{
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    return nargs + (size_t)nkw == 0 || (nargs == 1 && nkw == 0) ||
           (nargs == 0 && nkw == 1 &&
            PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "axis") ==
                0);
}

static TraceSite *
site_of(const Tracer *got)
{
    Trace *trace = got->trace;
    IrNode node = got->picked[2] ? ir_def(trace->graph, got->picked[2]) : 0;
    for (uint32_t i = trace->nsites; node && i-- > 0;) {
        if (trace->sites[i].node == node)
            return &trace->sites[i];
    }
    return NULL;
}

void
trace_pick_seen(const Trace *trace, PyObject *object)
{
    const Tracer *got = (const Tracer *)object;
    TraceSite *site =
        tracer_check(trace->state, object) && got->picked_from ? site_of(got) : NULL;
    if (site)
        site->seen = true;
}

/* The axes of x that its mask has: 0, or a tuple. New reference. */
static PyObject *
axes_of(const Tracer *mask)
{
    if (mask->ndim == 1)
        return PyLong_FromLong(0);
    PyObject *axes = PyTuple_New(mask->ndim);
    for (int d = 0; axes && d < mask->ndim; d++)
        PyTuple_SET_ITEM(axes, d, PyLong_FromLong(d));
    return axes;
}

PyObject *
trace_reduce_picked(Tracer *got, const char *name, PyObject *axis)
{
    Trace *trace = got->trace;
    Picking how = picking_of(name);
    if (axis && (!PyLong_CheckExact(axis) || PyObject_IsTrue(axis)))
        return Py_NewRef(Py_NotImplemented);
    if (!trace->live || trace->asking || got->kind != TRACER_array || !how ||
        !may_pick(trace, how, got->descr->type_num) || !trace_is_picked(got))
        return Py_NewRef(Py_NotImplemented);
    Tracer *x = (Tracer *)Py_NewRef(got->picked_from);
    PyObject *mask = Py_NewRef(got->picked_by), *result = NULL;
    bool greatest = strstr(name, "max") != NULL,
         bools = got->descr->type_num == NPY_BOOL;
    const char *called = how != PICKS_extreme ? name
                         : bools              ? (greatest ? "any" : "all")
                         : greatest           ? "max"
                                              : "min";
    int some = how == PICKS_extreme ? picks_some(mask) : 1;
    PyObject *where = some > 0 ? trace_mask_over(mask, x) : NULL;
    PyObject *args = where ? PyTuple_New(0) : NULL;
    PyObject *axes = !args ? NULL : axis ? axes_of((Tracer *)mask) : Py_NewRef(Py_None);
    if (some == 0) { /* NumPy raises */
        result = Py_NewRef(Py_NotImplemented);
        trace_pick_seen(trace, (PyObject *)got);
        Py_CLEAR(got->picked_from);
    }
    PyObject *kwargs =
        !axes ? NULL
        : how == PICKS_extreme && !bools
            ? Py_BuildValue("{s:O,s:O,s:d}", "axis", axes, "where", where, "initial",
                            greatest ? -Py_HUGE_VAL : Py_HUGE_VAL)
            : Py_BuildValue("{s:O,s:O}", "axis", axes, "where", where);
    PyObject *method = kwargs ? PyObject_GetAttrString((PyObject *)x, called) : NULL;
    if (method)
        result = PyObject_Call(method, args, kwargs);
    TraceSite *site = result && result != Py_NotImplemented ? site_of(got) : NULL;
    if (site)
        site->unseen = true;
    Py_XDECREF(method);
    Py_XDECREF(axes);
    Py_XDECREF(where);
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    Py_DECREF(x);
    Py_DECREF(mask);
    return result;
}

PyObject *
trace_call_picked(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
                  PyObject *kwnames)
{
    size_t n = nargs + (kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0);
    bool picked = nargs && trace_is_axis_alone(nargs - 1, kwnames) &&
                  tracer_check(trace->state, args[0]) &&
                  ((Tracer *)args[0])->picked_from &&
                  Py_TYPE(callable) == trace->state->dispatcher_type;
    PyObject *name = picked ? PyObject_GetAttrString(callable, "__name__") : NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    PyErr_Clear();
    PyObject *result =
        text ? trace_reduce_picked((Tracer *)args[0], text, n > 1 ? args[1] : NULL)
             : Py_NewRef(Py_NotImplemented);
    Py_XDECREF(name);
    for (size_t i = 0; result == Py_NotImplemented && i < n; i++)
        trace_pick_seen(trace, args[i]);
    return result;
}
