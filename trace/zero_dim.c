/* zero_dim.c - arrays without axes: made of scalars and numbers, at once, with the op for the graph. */
#include <string.h>

#include "trace/composed.h"
#include "trace/elementwise.h"

/* Steals `array`, the value now; NULL: an exception is set. */
static PyObject *
with_value(Trace *trace, IrValue value, PyObject *array, int type)
{
    PyObject *result = NULL;
    if (!array)
        return NULL;
    bool same = value && PyArray_CheckExact(array) &&
                PyArray_NDIM((PyArrayObject *)array) == 0 &&
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
    if (!object ||
        (tracer_check(trace->state, object) && !tracer_plain((Tracer *)object)) ||
        !trace_operand_read(trace, object, &operand))
        return NULL;
    Tracer *tracer = operand.tracer;
    if (!tracer)
        return operand.object == object ? object : NULL;
    *traced = true;
    if (tracer->ndim > 0 || tracer->kind == TRACER_index)
        return NULL;
    return tracer->kind == TRACER_int ? tracer->object : tracer_object(tracer);
}

PyObject *
trace_zero_dim(Trace *trace, PyObject *object, PyObject *dtype)
{
    PyArray_Descr *descr = NULL;
    bool traced = false;
    if (trace->live && tracer_check(trace->state, object) &&
        ((Tracer *)object)->kind == TRACER_int) {
        PyObject *number =
            trace_call(trace, (PyObject *)&PyLongArrType_Type, &object, 1, NULL, 0);
        PyObject *array = number && tracer_check(trace->state, number)
                              ? trace_zero_dim(trace, number, dtype)
                              : trace_not_here();
        Py_XDECREF(number);
        return array;
    }
    PyObject *real = trace->live ? real_of(trace, object, &traced) : NULL;
    if (!real ||
        (dtype && dtype != Py_None &&
         (tracer_check(trace->state, dtype) || !PyArray_DescrConverter(dtype, &descr))))
        return trace_not_here();
    PyArrayObject *array =
        (PyArrayObject *)PyArray_FromAny(real, NULL, 0, 0, NPY_ARRAY_ENSURECOPY, NULL);
    int from = array ? PyArray_TYPE(array) : -1, type = descr ? descr->type_num : from;
    bool known = array && PyArray_NDIM(array) == 0 &&
                 PyArray_CheckExact((PyObject *)array) &&
                 trace_descr_plain(descr ? descr : PyArray_DESCR(array)) &&
                 (type == from || trace_casts_plainly(from, type));
    IrValue value = known ? trace_operand(trace, object, type) : 0;
    if (value)
        value = trace_copy_node(trace, value, type == NPY_BOOL, 'C');
    if (value && type != from)
        Py_SETREF(array, (PyArrayObject *)PyArray_CastToType(
                             array, (PyArray_Descr *)Py_NewRef(descr), 0));
    Py_XDECREF(descr);
    if (!value) {
        Py_XDECREF(array);
        return trace_not_here();
    }
    return with_value(trace, value, (PyObject *)array, type);
}

PyObject *
trace_zero_dim_select(Trace *trace, PyObject *const *objects, const IrValue *values,
                      int type)
{
    PyObject *real[3];
    bool traced = false;
    for (int i = 0; i < 3; i++) {
        real[i] = real_of(trace, objects[i], &traced);
        if (!real[i])
            return trace_not_here();
    }
    IrValue value = trace_node_fresh(trace, OP_select, values, 3, NULL);
    return value ? with_value(trace, value, PyArray_Where(real[0], real[1], real[2]),
                              type)
                 : trace_not_here();
}

/* The dtype of a reduction of one element; -1: not known here. */
static int
reduced_type(const char *name, int type)
{
    if (PyTypeNum_ISCOMPLEX(type) || type == NPY_LONGDOUBLE)
        return -1;
    if (strcmp(name, "any") == 0 || strcmp(name, "all") == 0)
        return NPY_BOOL;
    if (strcmp(name, "max") == 0 || strcmp(name, "min") == 0)
        return type;
    if (strcmp(name, "sum") != 0 && strcmp(name, "prod") != 0)
        return -1;
    bool small = type == NPY_BOOL || (PyTypeNum_ISINTEGER(type) && type < NPY_LONG);
    return !small ? type : PyTypeNum_ISUNSIGNED(type) ? NPY_ULONG : NPY_LONG;
}

static IrValue
sum_of_one(Trace *trace, IrValue value, int type)
{
    PyObject *zero = PyFloat_FromDouble(0);
    IrValue operands[2] = {value, zero ? trace_operand(trace, zero, type) : 0};
    Py_XDECREF(zero);
    return operands[1] ? trace_node_fresh(trace, OP_add, operands, 2, NULL) : 0;
}

/* x.sum(), numpy.max(x) and the like of one element without axes: itself, in the dtype of the result. */
PyObject *
trace_zero_dim_reduce(Trace *trace, const char *name, PyObject *const *args,
                      size_t nargs, PyObject *kwnames)
{
    if (strcmp(name, "amax") == 0 || strcmp(name, "amin") == 0)
        name++;
    if (nargs != 1 || kwnames || !tracer_check(trace->state, args[0]) || !trace->live)
        return trace_not_here();
    Tracer *x = (Tracer *)args[0];
    int type = x->trace == trace && x->ndim == 0 && tracer_plain(x) &&
                       (x->kind == TRACER_array || x->kind == TRACER_scalar)
                   ? reduced_type(name, x->descr->type_num)
                   : -1;
    if (type < 0)
        return trace_not_here();
    PyObject *key = PyTuple_New(0), *result = NULL;
    PyObject *element = key ? PyObject_GetItem(args[0], key) : NULL;
    Py_XDECREF(key);
    if (!element)
        return NULL;
    bool known = tracer_check(trace->state, element) &&
                 ((Tracer *)element)->kind == TRACER_scalar;
    IrValue value = known ? trace_operand(trace, element, type) : 0;
    if (value && strcmp(name, "sum") == 0 &&
        PyTypeNum_ISFLOAT(type)) /* 0 + -0.0 is 0.0 */
        value = sum_of_one(trace, value, type);
    PyObject *scalar =
        value ? PyObject_CallMethod(((Tracer *)element)->object, name, NULL) : NULL;
    PyArray_Descr *descr =
        scalar && PyArray_CheckScalar(scalar) ? PyArray_DescrFromScalar(scalar) : NULL;
    if (descr && descr->type_num == type && trace_count(trace, true))
        result = (PyObject *)tracer_new_scalar(trace, value, scalar);
    Py_XDECREF(descr);
    Py_XDECREF(scalar);
    Py_DECREF(element);
    return result ? result : trace_not_here();
}
