/* direct.c - what a function of NumPy written in Python comes down to, for exact arrays.
**
**     np.argmax(x, axis=1)   ndarray.argmax(x, axis=1)
**     np.sum(x, axis=0)      np.add.reduce(x, 0, None, None, False), and so x.sum(axis=0)
**
** Plans call the latter: the same code in the end, without the Python before it. What is not known
** here is called as it is.
**
** Law 1: where numerics is not strict, a sum of float32 or float64 is not NumPy's but the state's
**        `sum`, so that the call has the bits of a plan's reduction: in the trace and at the site.
*/
#include "trace/call.h"

static const char *const methods[] = {
    "argmax",  "argmin", "argpartition", "argsort",      "choose", "cumprod", "cumsum",
    "nonzero", "repeat", "round",        "searchsorted", "take",   NULL};

static const struct {
    const char *name, *ufunc;
    bool typed, truth; /* it takes a dtype; its dtype is bool */
} reductions[] = {
    {"sum", "add", true, false}, /* the first: state->add_reduce */
    {"prod", "multiply", true, false},   {"max", "maximum", false, false},
    {"amax", "maximum", false, false},   {"min", "minimum", false, false},
    {"amin", "minimum", false, false},   {"any", "logical_or", false, true},
    {"all", "logical_and", false, true}, {NULL, NULL, false, false},
};

static int
put(PyObject *table, PyObject *owner, const char *name, PyObject *value)
{
    PyObject *function = PyObject_GetAttrString(owner, name);
    int status = function && value ? PyDict_SetItem(table, function, value) : -1;
    Py_XDECREF(function);
    return status;
}

int
trace_direct_load(TraceState *state, PyObject *numpy)
{
    PyObject *array = (PyObject *)&PyArray_Type;
    state->direct = PyDict_New();
    for (int i = 0; state->direct && methods[i]; i++) {
        PyObject *method = PyObject_GetAttrString(array, methods[i]);
        if (put(state->direct, numpy, methods[i], method) < 0)
            Py_CLEAR(state->direct);
        Py_XDECREF(method);
    }
    for (int i = 0; state->direct && reductions[i].name; i++) {
        PyObject *ufunc = PyObject_GetAttrString(numpy, reductions[i].ufunc);
        PyObject *reduce = ufunc ? PyObject_GetAttrString(ufunc, "reduce") : NULL;
        if (i == 0)
            state->add_reduce = Py_XNewRef(reduce);
        PyObject *row = reduce ? Py_BuildValue("(Oii)", reduce, reductions[i].typed,
                                               reductions[i].truth)
                               : NULL;
        bool method = reductions[i].name[0] != 'a' || reductions[i].truth;
        if (put(state->direct, numpy, reductions[i].name, row) < 0 ||
            (method && put(state->direct, array, reductions[i].name, row) < 0))
            Py_CLEAR(state->direct);
        Py_XDECREF(row);
        Py_XDECREF(reduce);
        Py_XDECREF(ufunc);
    }
    return state->direct ? 0 : -1;
}

static bool
is_axis(PyObject *object)
{
    for (Py_ssize_t i = 0; PyTuple_CheckExact(object) && i < PyTuple_GET_SIZE(object);
         i++) {
        if (!PyLong_CheckExact(PyTuple_GET_ITEM(object, i)))
            return false;
    }
    return object == Py_None || PyLong_CheckExact(object) || PyTuple_CheckExact(object);
}

/* Positional arguments of ufunc.reduce; NULL without an exception: something else was said. */
static PyObject *
reduce_arguments(PyObject *row, PyObject *args, PyObject *kwargs)
{
    PyObject *axis = Py_None, *dtype = Py_None, *keepdims = Py_False, *key, *value;
    bool typed = PyObject_IsTrue(PyTuple_GET_ITEM(row, 1));
    Py_ssize_t at = 0;
    if (PyTuple_GET_SIZE(args) > 2)
        return NULL;
    if (PyTuple_GET_SIZE(args) == 2)
        axis = PyTuple_GET_ITEM(args, 1);
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
        if (PyUnicode_CompareWithASCIIString(key, "axis") == 0 &&
            PyTuple_GET_SIZE(args) < 2)
            axis = value;
        else if (PyUnicode_CompareWithASCIIString(key, "keepdims") == 0 &&
                 PyBool_Check(value))
            keepdims = value;
        else if (typed && PyUnicode_CompareWithASCIIString(key, "dtype") == 0 &&
                 (value == Py_None || PyType_Check(value) || PyArray_DescrCheck(value)))
            dtype = value;
        else
            return NULL;
    }
    if (!is_axis(axis))
        return NULL;
    if (PyObject_IsTrue(PyTuple_GET_ITEM(row, 2)))
        dtype = (PyObject *)&PyBool_Type;
    return PyTuple_Pack(5, PyTuple_GET_ITEM(args, 0), axis, dtype, Py_None, keepdims);
}

/* What is known of a callable that gets an array of the trace; NULL without an exception: nothing. */
static PyObject *
row_of(const Trace *trace, PyObject *callable, PyObject *args, const Operands *operands)
{
    PyObject *known = PyDict_GetItemWithError(trace->state->direct, callable);
    PyErr_Clear();
    return known && PyTuple_GET_SIZE(args) >= 1 && operands->n >= 1 &&
                   operands->tracers[0]->kind == TRACER_array &&
                   trace_ref_check(trace->state, PyTuple_GET_ITEM(args, 0))
               ? known
               : NULL;
}

/* True if `args`, of the row's function, are those of a sum that is ours. */
static bool
is_own_sum(const Trace *trace, PyObject *row, PyObject *args, const Operands *operands)
{
    int type = operands->tracers[0]->descr->type_num;
    return trace->numerics != NUMERICS_strict && trace->state->sum &&
           (type == NPY_FLOAT || type == NPY_DOUBLE) &&
           PyTuple_GET_ITEM(row, 0) == trace->state->add_reduce &&
           PyTuple_GET_ITEM(args, 2) == Py_None;
}

PyObject *
trace_direct_sum(Trace *trace, PyObject *callable, const CallArgs *call)
{
    PyObject *row = row_of(trace, callable, call->shape, &call->operands);
    PyObject *args = row && PyTuple_CheckExact(row)
                         ? reduce_arguments(row, call->shape, call->kwshape)
                         : NULL;
    PyObject *reals = args && is_own_sum(trace, row, args, &call->operands)
                          ? reduce_arguments(row, call->reals, call->kwreals)
                          : NULL;
    PyObject *result = reals ? PyObject_Call(trace->state->sum, reals, NULL) : NULL;
    Py_XDECREF(args);
    Py_XDECREF(reals);
    return result;
}

int
trace_direct(Trace *trace, TraceSite *site, const Operands *operands)
{
    PyObject *direct = row_of(trace, site->callable, site->args, operands);
    if (!direct)
        return 0;
    if (PyTuple_Check(direct)) {
        PyObject *args = reduce_arguments(direct, site->args, site->kwargs);
        if (!args)
            return PyErr_Occurred() ? -1 : 0;
        bool own = is_own_sum(trace, direct, args, operands);
        if (trace->asking && !own) {
            Py_DECREF(args);
            return 0;
        }
        Py_SETREF(site->args, args);
        Py_CLEAR(site->kwargs);
        direct = own ? trace->state->sum : PyTuple_GET_ITEM(direct, 0);
    } else if (trace->asking)
        return 0;
    site->origin = site->callable;
    site->callable = Py_NewRef(direct);
    return 0;
}
