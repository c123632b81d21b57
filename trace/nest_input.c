/* nest_input.c - what a nest gets from outside: arrays, numbers, and objects that are constants.
**
** The first walk finds what there is; then all of it becomes parameters of the graph, arrays first.
*/
#include "trace/nest_loop.h"

bool
nest_has_code(IrDtype dtype)
{
    return dtype <= DT_uint64 || dtype == DT_float32 || dtype == DT_float64 ||
           dtype == DT_complex64 || dtype == DT_complex128;
}

static NestValue
input_array(NestMaker *m, Tracer *tracer)
{
    IrDtype dtype = trace_ir_type(tracer->descr, 0, NULL, NULL).dtype;
    for (uint32_t i = 0; i < m->narrays; i++) {
        if (m->arrays[i].object == (PyObject *)tracer)
            return nest_whole(m, i);
    }
    if (m->narrays == NEST_ARRAYS_MAX || m->emits || tracer->ndim == 0 ||
        tracer->ndim > NEST_INDICES_MAX || !tracer_plain(tracer) ||
        !nest_has_code(dtype))
        return nest_fail(m, "an array of this dtype or of so many axes");
    NestArray *array = &m->arrays[m->narrays++];
    *array = (NestArray){.object = (PyObject *)tracer,
                         .ndim = tracer->ndim,
                         .dtype = dtype,
                         .own = nest_is_own(tracer)};
    npy_intp stride = PyDataType_ELSIZE(tracer->descr), inner = 0;
    array->in_row = true;
    for (int i = tracer->ndim; i-- > 0; stride *= tracer->shape[i]) {
        npy_intp own = Py_ABS(tracer->strides[i]);
        array->shape[i] = tracer->shape[i];
        array->in_row &= tracer->strides[i] == stride;
        if (tracer->shape[i] == 1 || own == 0)
            continue;
        array->swapped |= own < inner;
        inner = own;
    }
    return nest_whole(m, m->narrays - 1);
}

NestValue
nest_number_type(const NestMaker *m, PyObject *object)
{
    PyArray_Descr *descr = NULL;
    IrDtype dtype = DT_object;
    if (tracer_check(m->trace->state, object)) {
        const Tracer *tracer = (Tracer *)object;
        if (tracer->kind == TRACER_float)
            return nest_of(NEST_float, DT_float64, 0);
        if (tracer->kind == TRACER_complex)
            return nest_of(NEST_complex, DT_complex128, 0);
        if (tracer->kind == TRACER_int)
            return nest_int(0, INT64_MIN, INT64_MAX);
        if (tracer->kind == TRACER_scalar)
            dtype = trace_ir_type(tracer->descr, 0, NULL, NULL).dtype;
    } else if (PyComplex_CheckExact(object))
        return nest_of(NEST_complex, DT_complex128, 0);
    else if (PyFloat_CheckExact(object))
        return nest_of(NEST_float, DT_float64, 0);
    else if (PyLong_CheckExact(object)) {
        int overflow;
        int64_t number = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (!overflow)
            return nest_int(0, number, number);
    } else if (PyArray_CheckScalar(object)) {
        descr = PyArray_DescrFromScalar(object);
        if (descr)
            dtype = trace_ir_type(descr, 0, NULL, NULL).dtype;
        Py_XDECREF(descr);
        PyErr_Clear();
    }
    if (!nest_has_code(dtype))
        return (NestValue){.kind = NEST_unbound};
    return nest_of(NEST_scalar, dtype, 0);
}

static NestValue
input_number(NestMaker *m, const void *key, PyObject *object)
{
    for (uint32_t i = 0; i < m->ninputs; i++) {
        if (m->inputs[i].key == key)
            return m->inputs[i].value;
    }
    NestValue value = nest_number_type(m, object);
    if (value.kind == NEST_unbound || m->emits || m->ninputs == NEST_INPUTS_MAX)
        return nest_fail(m, "a number of this kind from outside");
    m->inputs[m->ninputs++] = (NestInput){.key = key, .object = object, .value = value};
    return value;
}

NestValue
nest_input(NestMaker *m, const void *key, PyObject *object)
{
    bool traced = tracer_check(m->trace->state, object);
    if (m->failed)
        return nest_fail(m, NULL);
    if (PyList_Append(m->held, object) < 0) {
        PyErr_Clear();
        return nest_fail(m, "out of memory");
    }
    if (traced && ((Tracer *)object)->trace != m->trace)
        return nest_fail(m, "a value of another trace");
    if (traced && ((Tracer *)object)->kind == TRACER_array)
        return input_array(m, (Tracer *)object);
    if (traced && ((Tracer *)object)->kind == TRACER_index)
        object = trace_index_ask((Tracer *)object);
    if (PyBool_Check(object))
        return nest_const_bool(m, object == Py_True);
    if (PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object) ||
        PyArray_CheckScalar(object) || traced)
        return input_number(m, key, object);
    if (PyTuple_CheckExact(object) && PyTuple_GET_SIZE(object) <= NEST_PARTS_MAX) {
        NestValue items[NEST_PARTS_MAX];
        uint32_t n = (uint32_t)PyTuple_GET_SIZE(object);
        for (uint32_t i = 0; i < n; i++)
            items[i] = nest_input(m, &((PyTupleObject *)object)->ob_item[i],
                                  PyTuple_GET_ITEM(object, i));
        return nest_tuple(m, NEST_tuple, items, n);
    }
    NestValue made = nest_of(NEST_object, DT_COUNT, 0);
    made.object = object;
    return made;
}
