/* numbers.c - numpy.float32(x) and its like: constants, and casts of scalars. */
#include "trace/composed.h"
#include "trace/elementwise.h"

/* True where the cast of a scalar is that of its loop, and never raises. */
bool
trace_casts_plainly(int from, int to)
{
    if (from == NPY_LONGDOUBLE || from == NPY_CLONGDOUBLE)
        return false;
    if (PyTypeNum_ISCOMPLEX(from))
        return PyTypeNum_ISCOMPLEX(to);
    if (PyTypeNum_ISFLOAT(to) || PyTypeNum_ISCOMPLEX(to))
        return true;
    return !PyTypeNum_ISFLOAT(from) && PyArray_CanCastSafely(from, to);
}

PyObject *
trace_number(Trace *trace, PyObject *type, PyObject *number)
{
    PyArray_Descr *descr = PyArray_DescrFromTypeObject(type);
    PyObject *scalar = NULL, *result = NULL, *real = number;
    IrValue value = 0;
    Operand operand;
    bool known = descr && trace_descr_plain(descr) &&
                 trace_operand_read(trace, number, &operand);
    if (known && operand.tracer) {
        TracerKind kind = operand.tracer->kind;
        real = operand.tracer->object;
        known =
            real &&
            (kind == TRACER_float ||
             (kind == TRACER_complex && PyTypeNum_ISCOMPLEX(descr->type_num)) ||
             (kind == TRACER_scalar &&
              trace_casts_plainly(operand.tracer->descr->type_num, descr->type_num)));
    } else if (known)
        known = number == operand.object;
    if (known)
        value = trace_operand(trace, number, descr->type_num);
    if (value && operand.tracer && operand.tracer->kind != TRACER_scalar &&
        value ==
            operand.tracer
                ->value) /* a number of Python's is another value than NumPy's scalar */
        value = ir_node(trace->graph, OP_positive, &value, 1, NULL, 0);
    if (value)
        scalar = PyObject_CallOneArg(type, real);
    if (scalar && Py_TYPE(scalar) == (PyTypeObject *)type && trace_count(trace, true))
        result = (PyObject *)tracer_new_scalar(trace, value, scalar);
    Py_XDECREF(scalar);
    Py_XDECREF(descr);
    return result ? result : trace_not_here();
}
