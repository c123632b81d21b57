/* zero_dim.c - arrays without axes: made of scalars and numbers, at once, with the op for the graph. */
#include "trace/composed.h"
#include "trace/elementwise.h"

/* Steals `array`, the value now; NULL: an exception is set. */
static PyObject *
with_value(Trace *trace, IrValue value, PyObject *array, int type)
{
    PyObject *result = NULL;
    if (!array)
        return NULL;
    bool same = value && PyArray_CheckExact(array) && PyArray_NDIM((PyArrayObject *)array) == 0 &&
                PyArray_TYPE((PyArrayObject *)array) == type;
    if (same && trace_count(trace, true))
        result = (PyObject *)tracer_new_array(trace, value, (PyArrayObject *)array, -1);
    else
        result = trace_not_here();
    Py_DECREF(array);
    return result;
}

/* What NumPy gets for a scalar, a number, or an array without axes; NULL without an exception: it is
** something else. `traced` is set for inputs. */
static PyObject *
real_of(Trace *trace, PyObject *object, bool *traced)
{
    Operand operand;
    if (!object || !trace_operand_read(trace, object, &operand))
        return NULL;
    Tracer *tracer = operand.tracer;
    if (!tracer)
        return operand.object == object ? object : NULL;
    *traced = true;
    if (tracer->ndim > 0 || tracer->kind == TRACER_int || tracer->kind == TRACER_index)
        return NULL;
    return tracer_object(tracer);
}

PyObject *
trace_zero_dim(Trace *trace, PyObject *object, PyObject *dtype)
{
    PyArray_Descr *descr = NULL;
    bool traced = false;
    PyObject *real = trace->live ? real_of(trace, object, &traced) : NULL;
    if (!real || (dtype && dtype != Py_None &&
                  (tracer_check(trace->state, dtype) || !PyArray_DescrConverter(dtype, &descr))))
        return trace_not_here();
    PyArrayObject *array = (PyArrayObject *)PyArray_FromAny(real, NULL, 0, 0, NPY_ARRAY_ENSURECOPY, NULL);
    int from = array ? PyArray_TYPE(array) : -1, type = descr ? descr->type_num : from;
    bool known = array && PyArray_NDIM(array) == 0 && PyArray_CheckExact((PyObject *)array) &&
                 trace_descr_plain(descr ? descr : PyArray_DESCR(array)) &&
                 (type == from || trace_casts_plainly(from, type));
    IrValue value = known ? trace_operand(trace, object, type) : 0;
    if (value)
        value = trace_copy_node(trace, value, type == NPY_BOOL, 'C');
    if (value && type != from)
        Py_SETREF(array, (PyArrayObject *)PyArray_CastToType(array, (PyArray_Descr *)Py_NewRef(descr), 0));
    Py_XDECREF(descr);
    if (!value) {
        Py_XDECREF(array);
        return trace_not_here();
    }
    return with_value(trace, value, (PyObject *)array, type);
}

PyObject *
trace_zero_dim_select(Trace *trace, PyObject *const *objects, const IrValue *values, int type)
{
    PyObject *real[3];
    bool traced = false;
    for (int i = 0; i < 3; i++) {
        real[i] = real_of(trace, objects[i], &traced);
        if (!real[i])
            return trace_not_here();
    }
    IrValue value = trace_node_fresh(trace, OP_select, values, 3, NULL);
    return value ? with_value(trace, value, PyArray_Where(real[0], real[1], real[2]), type)
                 : trace_not_here();
}
