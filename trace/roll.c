/* roll.c - calls of numpy.roll as nodes that a group may take along (jit/plan_rolls.c). */
#include "trace/internal.h"

/* The tuple of constants, or a constant as one: item i, borrowed. Number of items, or -1. */
static Py_ssize_t
items(PyObject *object, PyObject *const **item, PyObject **single)
{
    if (PyTuple_CheckExact(object)) {
        *item = ((PyTupleObject *)object)->ob_item;
        return PyTuple_GET_SIZE(object);
    }
    *single = object;
    *item = single;
    return PyLong_CheckExact(object) ? 1 : -1;
}

/* Adds the shifts to those of the axes, each from 0 to the extent. */
static bool
add_shifts(const Tracer *operand, PyObject *shift, PyObject *axis, int64_t *shifts)
{
    PyObject *const *by, *const *on, *one_by, *one_on;
    Py_ssize_t nby = items(shift, &by, &one_by), non = items(axis, &on, &one_on);
    Py_ssize_t n = nby > non ? nby : non;
    if (nby < 1 || non < 1 || (nby != non && nby != 1 && non != 1))
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        int overflow, d;
        PyObject *number = by[nby == 1 ? 0 : i];
        if (!PyLong_CheckExact(number) ||
            !trace_axis(on[non == 1 ? 0 : i], operand->ndim, &d))
            return false;
        long long places = PyLong_AsLongLongAndOverflow(number, &overflow);
        if (overflow)
            return false;
        int64_t extent = operand->shape[d];
        shifts[d] = (shifts[d] + (places % extent + extent) % extent) % extent;
    }
    return true;
}

IrNode
trace_roll_node(Trace *trace, PyObject *callable, PyObject *args, PyObject *kwargs,
                Tracer *operand, const IrType *result)
{
    int64_t shifts[NPY_MAXDIMS] = {0};
    PyObject *given[2] = {NULL, Py_None}, *key, *value; /* shift, axis */
    Py_ssize_t at = 0, n = PyTuple_GET_SIZE(args);
    if (callable != trace->state->roll || operand->kind != TRACER_array ||
        operand->ndim == 0 || !tracer_plain(operand) || n < 1 || n > 3 ||
        !trace_ref_check(trace->state, PyTuple_GET_ITEM(args, 0)))
        return 0;
    for (Py_ssize_t i = 1; i < n; i++)
        given[i - 1] = PyTuple_GET_ITEM(args, i);
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value))
        given[PyUnicode_CompareWithASCIIString(key, "axis") == 0] = value;
    for (int d = 0; d < operand->ndim; d++) {
        if (operand->shape[d] == 0)
            return 0;
    }
    PyObject *flat =
        given[1] == Py_None && operand->ndim == 1 ? PyLong_FromLong(0) : NULL;
    bool known =
        given[0] && add_shifts(operand, given[0], flat ? flat : given[1], shifts);
    Py_XDECREF(flat);
    IrValue from = known ? tracer_value(operand) : 0;
    if (!from || ir_type(trace->graph, from).dtype != result->dtype)
        return 0;
    IrAttr attr = {.key = "shifts",
                   .kind = ATTR_ints,
                   .count = (uint32_t)operand->ndim,
                   .ints = shifts};
    return ir_node_typed(trace->graph, OP_roll, &from, 1, &attr, 1, result, 1);
}
