/* copies.c - copies of arrays, and casts that copy: an op that changes nothing, with a layout.
**
** A copy is pending like other elementwise values, so it is made together with what it copies, or
** with what reads it. x itself may be written then: who writes a storage computes what reads it first.
*/
#include <string.h>

#include "trace/composed.h"
#include "trace/elementwise.h"

enum { TURNED_MAX = 256 };

PyObject *
trace_not_here(void)
{
    PyErr_Clear();
    return Py_NewRef(Py_NotImplemented);
}

Tracer *
trace_as_array(Trace *trace, PyObject *object)
{
    Tracer *x = (Tracer *)object;
    return object && trace->live && tracer_check(trace->state, object) &&
                   x->trace == trace && x->kind == TRACER_array && x->ndim > 0 &&
                   tracer_plain(x)
               ? x
               : NULL;
}

/* True if the elements lie one behind the other, the first axis or the last one innermost. */
static bool
is_packed(const Tracer *x, bool fortran)
{
    npy_intp step = PyDataType_ELSIZE(x->descr);
    if (PyArray_MultiplyList(x->shape, x->ndim) == 0)
        return true;
    for (int i = 0; i < x->ndim; i++) {
        int d = fortran ? i : x->ndim - 1 - i;
        if (x->shape[d] != 1 && x->strides[d] != step)
            return false;
        step *= x->shape[d];
    }
    return true;
}

static void
copy_strides(const Tracer *x, char order, npy_intp *strides)
{
    npy_intp step = PyDataType_ELSIZE(x->descr);
    if (order == 'K') {
        trace_layout_copy(x->ndim, x->shape, x->strides, step, step, strides);
        return;
    }
    for (int i = 0; i < x->ndim; i++) {
        int d = order == 'F' ? i : x->ndim - 1 - i;
        strides[d] = step;
        step *= x->shape[d] ? x->shape[d] : 1;
    }
}

/* The node of a copy: one with another layout is another value, and so is one whose memory was
** written since. */
IrValue
trace_copy_node(Trace *trace, IrValue from, bool truth, char order)
{
    IrValue operands[2] = {from, from};
    for (int64_t serial = 0;; serial = (int64_t)++trace->serial) {
        int64_t apart[2] = {order, serial};
        IrAttr attr = {.key = "library", .kind = ATTR_ints, .count = 2, .ints = apart};
        IrValue value = ir_node(trace->graph, truth ? OP_logical_or : OP_positive,
                                operands, truth ? 2 : 1, &attr, 1);
        bool written = value < trace->nvalues &&
                       trace->values[value].flags &
                           (TRACE_VALUE_overwritten | TRACE_VALUE_escaped);
        if (!value || !written)
            return value;
    }
}

PyObject *
trace_copy(Trace *trace, Tracer *x, char order)
{
    npy_intp strides[NPY_MAXDIMS], same[NPY_MAXDIMS];
    if (order == 'A')
        order = is_packed(x, true) && !is_packed(x, false) ? 'F' : 'C';
    copy_strides(x, order, strides);
    copy_strides(x, 'K', same);
    /* What has its axes in another order is left to NumPy's loops, which take these as well as ours. */
    bool turned = memcmp(strides, same, (size_t)x->ndim * sizeof *same) != 0;
    if ((turned && PyArray_MultiplyList(x->shape, x->ndim) >= TURNED_MAX) ||
        !trace_count(trace, false))
        return trace_not_here();
    IrValue from = tracer_value(x);
    IrValue value =
        from ? trace_copy_node(trace, from, x->descr->type_num == NPY_BOOL, order) : 0;
    if (!value)
        return trace_not_here();
    return (PyObject *)tracer_new_pending(trace, value, x->descr, x->ndim, x->shape,
                                          strides);
}

/* 'C', 'F', 'A' or 'K'; 0: nothing of the kind. */
static char
order_of(PyObject *object, char otherwise)
{
    const char *text =
        object && PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : NULL;
    if (!object || object == Py_None)
        return otherwise;
    return text && strlen(text) == 1 && strchr("CFAK", *text) ? *text : 0;
}

/* x as `dtype`, or with its own (NULL, None): always a new array, in K order. */
static PyObject *
converted(Trace *trace, Tracer *x, PyObject *dtype)
{
    PyArray_Descr *descr = NULL;
    if (!dtype || dtype == Py_None)
        return trace_copy(trace, x, 'K');
    if (tracer_check(trace->state, dtype) || !PyArray_DescrConverter(dtype, &descr))
        return trace_not_here();
    PyObject *result = PyArray_EquivTypes(descr, x->descr) && trace_descr_plain(descr)
                           ? trace_copy(trace, x, 'K')
                           : trace_astype(trace, x, descr);
    Py_DECREF(descr);
    return result;
}

/* True where `dtype` asks for nothing else than what x is. */
static bool
is_dtype_of(Trace *trace, PyObject *dtype, const Tracer *x)
{
    PyArray_Descr *descr = NULL;
    if (!dtype || dtype == Py_None)
        return true;
    if (tracer_check(trace->state, dtype) || !PyArray_DescrConverter(dtype, &descr)) {
        PyErr_Clear();
        return false;
    }
    bool same = PyArray_EquivTypes(descr, x->descr);
    Py_DECREF(descr);
    return same;
}

/* True of an array of this trace, with axes or without. */
static bool
is_array(Trace *trace, PyObject *object)
{
    return object && trace->live && tracer_check(trace->state, object) &&
           ((Tracer *)object)->trace == trace &&
           ((Tracer *)object)->kind == TRACER_array;
}

PyObject *
trace_make_copy(Trace *trace, PyObject *const *arguments)
{
    Tracer *x = trace_as_array(trace, arguments[0]);
    char order = order_of(arguments[1], 'K');
    bool exact = !arguments[2] || PyBool_Check(arguments[2]);
    return x && order && exact ? trace_copy(trace, x, order) : trace_not_here();
}

static bool
is_list(PyObject *object)
{
    return PyList_CheckExact(object) || PyTuple_CheckExact(object);
}

/* array(list, dtype): of arrays of one shape as stack has it, else item by item. */
static PyObject *
array_of_list(Trace *trace, PyObject *const *arguments)
{
    PyArray_Descr *descr = NULL;
    PyObject *dtype = arguments[1] == Py_None ? NULL : arguments[1];
    PyObject *result = dtype ? trace_not_here() : trace_array_of(trace, arguments[0]);
    if (result != Py_NotImplemented)
        return result;
    if (dtype &&
        (tracer_check(trace->state, dtype) || !PyArray_DescrConverter(dtype, &descr)))
        PyErr_Clear();
    else
        Py_SETREF(result, trace_list_array(trace, arguments[0], descr));
    Py_XDECREF(descr);
    return result;
}

PyObject *
trace_make_array(Trace *trace, PyObject *const *arguments)
{
    Tracer *x = trace_as_array(trace, arguments[0]);
    if (x)
        return converted(trace, x, arguments[1]);
    return is_list(arguments[0]) ? array_of_list(trace, arguments)
                                 : trace_zero_dim(trace, arguments[0], arguments[1]);
}

PyObject *
trace_make_as_array(Trace *trace, PyObject *const *arguments)
{
    if (is_array(trace, arguments[0]) &&
        is_dtype_of(trace, arguments[1], (Tracer *)arguments[0]))
        return Py_NewRef(arguments[0]);
    return trace_make_array(trace, arguments);
}

/* x in one piece: itself where it is that already. */
static PyObject *
as_packed(Trace *trace, PyObject *const *arguments, char order)
{
    Tracer *x = trace_as_array(trace, arguments[0]);
    if (!x || !is_dtype_of(trace, arguments[1], x) || is_packed(x, order == 'F'))
        return trace_not_here();
    return trace_copy(trace, x, order);
}

PyObject *
trace_make_as_contiguous(Trace *trace, PyObject *const *arguments)
{
    return as_packed(trace, arguments, 'C');
}

PyObject *
trace_make_as_fortran(Trace *trace, PyObject *const *arguments)
{
    return as_packed(trace, arguments, 'F');
}

PyObject *
trace_make_copy_method(Trace *trace, PyObject *const *arguments)
{
    Tracer *x = trace_as_array(trace, arguments[0]);
    char order = order_of(arguments[1], 'C');
    return x && order ? trace_copy(trace, x, order) : trace_not_here();
}

/* A scalar in another dtype, or in its own. */
static PyObject *
scalar_as(Trace *trace, PyObject *scalar, PyObject *dtype)
{
    PyArray_Descr *descr = NULL;
    bool known = tracer_check(trace->state, scalar) &&
                 ((Tracer *)scalar)->kind == TRACER_scalar &&
                 !tracer_check(trace->state, dtype) &&
                 PyArray_DescrConverter(dtype, &descr) && trace_descr_plain(descr);
    PyObject *result = !known ? trace_not_here()
                       : ((Tracer *)scalar)->descr->type_num == descr->type_num
                           ? Py_NewRef(scalar)
                           : trace_number(trace, (PyObject *)descr->typeobj, scalar);
    Py_XDECREF(descr);
    return result;
}

PyObject *
trace_make_astype(Trace *trace, PyObject *const *arguments)
{
    Tracer *x = trace_as_array(trace, arguments[0]);
    PyObject *dtype =
        arguments[1] == Py_None ? (PyObject *)&PyDoubleArrType_Type : arguments[1];
    if (!dtype || order_of(arguments[2], 'K') != 'K' || arguments[3] ||
        (arguments[5] && !PyBool_Check(arguments[5])))
        return trace_not_here();
    if (!x && is_array(trace, arguments[0]) && arguments[5] != Py_False)
        return trace_zero_dim(trace, arguments[0], dtype);
    if (!x)
        return scalar_as(trace, arguments[0], dtype);
    if (arguments[5] == Py_False && is_dtype_of(trace, dtype, x))
        return Py_NewRef(x);
    return converted(trace, x, dtype);
}

PyObject *
trace_make_flatten(Trace *trace, PyObject *const *arguments)
{
    Tracer *x = trace_as_array(trace, arguments[0]);
    if (!x || order_of(arguments[1], 'C') != 'C')
        return trace_not_here();
    return x->ndim == 1 ? trace_copy(trace, x, 'C') : trace_flat_copy(trace, x);
}

PyObject *
trace_make_ravel(Trace *trace, PyObject *const *arguments)
{
    Tracer *x = trace_as_array(trace, arguments[0]);
    if (!x || !is_packed(x, false))
        return x ? trace_make_flatten(trace, arguments) : trace_not_here();
    PyObject *all = arguments[1] ? NULL : PyLong_FromLong(-1);
    PyObject *result = all ? trace_reshaped(x, &all, 1) : trace_not_here();
    Py_XDECREF(all);
    return result;
}
