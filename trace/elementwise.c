/* elementwise.c - ufuncs and operators on arrays become elementwise nodes.
**
** Dtypes are NumPy's own answer (ufunc.resolve_dtypes), asked once per ufunc and
** operand types
** and kept. Operands are cast to the loop's dtypes by cast nodes; Python numbers become
** constants of the loop's dtype (NEP 50). What is not plain (other dtypes, scalars
** only, values
** that do not fit, several results) is left to the general way: Py_NotImplemented.
*/
#include "trace/elementwise.h"

#include <stdlib.h>
#include <string.h>

/* -- Operands ---------------------------------------------------------------------- */

/* A tracer of the same elements in native byte order and aligned memory. Borrowed; NULL without
** an exception: there is none. */
static Tracer *
native_copy(Trace *trace, Tracer *tracer)
{
    PyArray_Descr *native = PyArray_DescrNewByteorder(tracer->descr, NPY_NATIVE);
    IrValue value = tracer->kind == TRACER_array ? tracer_value(tracer) : 0;
    Tracer *copy = NULL;
    if (native && value && trace_descr_plain(native)) {
        if (!tracer->native || tracer->native_of != value) {
            PyObject *made =
                PyObject_CallMethod((PyObject *)tracer, "astype", "O", native);
            Py_XSETREF(tracer->native, made);
            tracer->native_of = value;
        }
        if (tracer->native && tracer_check(trace->state, tracer->native))
            copy = (Tracer *)tracer->native;
    }
    PyErr_Clear();
    Py_XDECREF(native);
    return copy && copy->trace == trace && tracer_plain(copy) ? copy : NULL;
}

bool
trace_operand_read(Trace *trace, PyObject *object, Operand *operand)
{
    *operand = (Operand){.object = object};
    if (tracer_check(trace->state, object)) {
        Tracer *tracer = (Tracer *)object;
        if (tracer->trace != trace)
            return false;
        if (tracer->size && trace_size_as_int(tracer) == tracer->native &&
            tracer->native)
            tracer = (Tracer *)tracer->native;
        if (tracer->kind == TRACER_index) {
            operand->object = trace_index_ask(tracer);
            operand->type = WEAK_int;
            return true;
        }
        if (!tracer_plain(tracer) && !(tracer = native_copy(trace, tracer)))
            return false;
        operand->tracer = tracer;
        operand->type = tracer->kind == TRACER_float     ? WEAK_float
                        : tracer->kind == TRACER_complex ? WEAK_complex
                        : tracer->kind == TRACER_int     ? WEAK_int
                                                     : (int8_t)tracer->descr->type_num;
        return true;
    }
    if (PyBool_Check(object))
        operand->type = NPY_BOOL;
    else if (PyLong_CheckExact(object))
        operand->type = WEAK_int;
    else if (PyFloat_CheckExact(object))
        operand->type = WEAK_float;
    else if (PyComplex_CheckExact(object))
        operand->type = WEAK_complex;
    else
        return false;
    return true;
}

/* A Python number as a constant of `type`; 0 where its value does not fit exactly. */
static IrValue
constant(Trace *trace, PyObject *number, int type)
{
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    IrType ir_type_ = trace_ir_type(descr, 0, NULL, NULL);
    IrKind kind = ir_dtype_kind(ir_type_.dtype);
    IrValue value = 0;
    PyObject *array = NULL;
    int overflow = 0;
    long long integer = 0;

    if (PyLong_Check(number)) { /* bool is one */
        integer = PyLong_AsLongLongAndOverflow(number, &overflow);
        bool large = overflow > 0 && ir_type_.dtype == DT_uint64;
        if (large) { /* the graph has its bits */
            integer = (long long)PyLong_AsUnsignedLongLong(number);
            if (PyErr_Occurred()) {
                PyErr_Clear();
                goto done;
            }
        }
        if (overflow && !large)
            goto done;
        if ((kind == KIND_float || kind == KIND_complex) &&
            (integer > (1LL << 53) || integer < -(1LL << 53)))
            goto done;
        if (kind == KIND_uint && integer < 0 && !large)
            goto done;
        size_t bits = 8 * ir_dtype_bytes(ir_type_.dtype);
        if (kind == KIND_int && bits < 64 &&
            (integer >= 1LL << (bits - 1) || integer < -(1LL << (bits - 1))))
            goto done;
        if (kind == KIND_uint && bits < 64 && integer >= 1LL << bits)
            goto done;
    }
    if (type == NPY_LONGDOUBLE || type == NPY_CLONGDOUBLE)
        goto done;
    if (PyComplex_CheckExact(number)) {
        Py_complex z = PyComplex_AsCComplex(number);
        if (kind == KIND_complex)
            value = ir_const_complex(trace->graph, ir_type_.dtype, z.real, z.imag);
    } else {
        double x = PyLong_Check(number) ? (double)integer : PyFloat_AS_DOUBLE(number);
        if (kind == KIND_complex)
            value = ir_const_complex(trace->graph, ir_type_.dtype, x, 0.0);
        else if (kind == KIND_float)
            value = ir_const_float(trace->graph, ir_type_.dtype, x);
        else if (PyLong_Check(number))
            value = ir_const_int(trace->graph, ir_type_.dtype, integer);
    }
    TraceValue *v = value ? trace_value(trace, value) : NULL;
    if (v && !v->array) {
        Py_INCREF(descr);
        array =
            PyArray_NewFromDescr(&PyArray_Type, descr, 0, NULL, NULL, NULL, 0, NULL);
        if (!array ||
            PyArray_SETITEM((PyArrayObject *)array,
                            PyArray_DATA((PyArrayObject *)array), number) < 0) {
            Py_CLEAR(array);
            PyErr_Clear();
            value = 0;
        }
        v->array = (PyArrayObject *)array;
        v->descr = (PyArray_Descr *)Py_NewRef(descr);
        v->refs = 1; /* constants stay */
    }
done:
    Py_DECREF(descr);
    return value;
}

/* The node of an op. An equal one whose memory was written since is another value in a plan, so
** this one is set apart from it. */
IrValue
trace_node_fresh(Trace *trace, IrOp op, const IrValue *values, uint32_t n,
                 const IrType *type)
{
    for (int64_t serial = 0;; serial = (int64_t)++trace->serial) {
        IrAttr apart = {
            .key = "library", .kind = ATTR_ints, .count = 1, .ints = &serial};
        uint32_t nattrs = serial != 0;
        IrValue value;
        if (type)
            value = ir_result(
                trace->graph,
                ir_node_typed(trace->graph, op, values, n, &apart, nattrs, type, 1), 0);
        else
            value = ir_node(trace->graph, op, values, n, &apart, nattrs);
        bool written = value < trace->nvalues &&
                       trace->values[value].flags &
                           (TRACE_VALUE_overwritten | TRACE_VALUE_escaped);
        if (!value || !written)
            return value;
    }
}

IrValue
trace_cast(Trace *trace, IrValue value, int type)
{
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    IrType from = ir_type(trace->graph, value);
    IrDim dims[NPY_MAXDIMS];
    npy_intp shape[NPY_MAXDIMS];
    for (uint32_t i = 0; i < from.ndim; i++)
        shape[i] = (npy_intp)from.dims[i].value;
    IrType to = trace_ir_type(descr, (int)from.ndim, shape, dims);
    if (to.dtype == from.dtype) {
        Py_DECREF(descr);
        return value;
    }
    IrValue result = trace_node_fresh(trace, OP_cast, &value, 1, &to);
    TraceValue *v = trace_value(trace, result);
    TraceValue *source = &trace->values[value];
    if (v && !v->descr) {
        v->descr = (PyArray_Descr *)Py_NewRef(descr);
        if (from.ndim) {
            v->strides = PyMem_Malloc(from.ndim * sizeof(npy_intp));
            if (v->strides)
                trace_layout_copy((int)from.ndim, shape, source->strides,
                                  PyDataType_ELSIZE(source->descr),
                                  PyDataType_ELSIZE(descr), v->strides);
        }
    }
    if (v && !v->array && !v->pending) {
        if (from.ndim == 0) {
            Py_INCREF(descr);
            v->array = (PyArrayObject *)PyArray_FromArray(
                source->array, descr, NPY_ARRAY_FORCECAST | NPY_ARRAY_ENSURECOPY);
            v->refs++; /* as small as a constant: stays */
            if (!v->array)
                result = 0;
        } else {
            v->pending = true;
            trace_value_hold(trace, value);
            if (trace_chain_set(trace, result) < 0)
                result = 0;
        }
    }
    Py_DECREF(descr);
    return v ? result : 0;
}

static bool
fits_weak(const Operand *operand, int type)
{
    /* A traced Python float keeps its value only in floating types, a complex in complex ones. */
    if (type == NPY_CDOUBLE || type == NPY_CFLOAT)
        return true;
    return operand->type != WEAK_complex &&
           (type == NPY_DOUBLE || type == NPY_FLOAT || type == NPY_HALF ||
            operand->type != WEAK_float);
}

/* The operand as a value of the loop's dtype; 0 where that has to go another way. */
static IrValue
operand_value(Trace *trace, Operand *operand, int type)
{
    if (!operand->tracer)
        return constant(trace, operand->object, type);
    if (!fits_weak(operand, type))
        return 0;
    if (operand->tracer->kind == TRACER_int)
        return trace_int_as(trace, operand->tracer, type);
    IrValue value = tracer_value(operand->tracer);
    return value ? trace_cast(trace, value, type) : 0;
}

IrValue
trace_operand(Trace *trace, PyObject *object, int type)
{
    Operand operand;
    if (!trace_operand_read(trace, object, &operand))
        return 0;
    return operand_value(trace, &operand, type);
}

/* -- Shapes ------------------------------------------------------------------------ */

typedef struct Space {
    int ndim;
    npy_intp shape[NPY_MAXDIMS];
} Space;

/* NumPy's broadcasting; false where it would be an error. */
static bool
broadcast(Space *space, const Operand *operands, int n)
{
    space->ndim = 0;
    for (int i = 0; i < n; i++) {
        if (operands[i].tracer && operands[i].tracer->ndim > space->ndim)
            space->ndim = operands[i].tracer->ndim;
    }
    for (int d = 0; d < space->ndim; d++)
        space->shape[d] = 1;
    for (int i = 0; i < n; i++) {
        const Tracer *tracer = operands[i].tracer;
        for (int d = 0; tracer && d < tracer->ndim; d++) {
            npy_intp *extent = &space->shape[space->ndim - tracer->ndim + d];
            if (*extent == 1)
                *extent = tracer->shape[d];
            else if (tracer->shape[d] != 1 && tracer->shape[d] != *extent)
                return false;
        }
    }
    return true;
}

/* Strides of the operands broadcast to the space, for trace_layout. */
static void
layout(const Space *space, const Operand *operands, int n, npy_intp itemsize,
       npy_intp *out)
{
    npy_intp strides[OPERANDS_MAX][NPY_MAXDIMS];
    const npy_intp *rows[OPERANDS_MAX];
    for (int i = 0; i < n; i++) {
        const Tracer *tracer = operands[i].tracer;
        int skip = space->ndim - (tracer ? tracer->ndim : 0);
        rows[i] = strides[i];
        for (int d = 0; d < space->ndim; d++) {
            bool there = tracer && d >= skip && tracer->shape[d - skip] != 1;
            strides[i][d] = there ? tracer->strides[d - skip] : 0;
        }
    }
    trace_layout(space->ndim, space->shape, n, rows, itemsize, out);
}

/* -- Recording --------------------------------------------------------------------- */

static PyObject *
not_here(void)
{
    PyErr_Clear();
    return Py_NewRef(Py_NotImplemented);
}

/* A sum or difference with a product that is not computed yet: rounded once. 0: it is none. */
static IrValue
contracted(Trace *trace, IrOp op, const IrValue *values, int type)
{
    if ((op != OP_add && op != OP_subtract) ||
        (type != NPY_FLOAT && type != NPY_DOUBLE))
        return 0;
    for (int i = 0; i < 2; i++) {
        IrNode product = ir_def(trace->graph, values[i]);
        if (!product || ir_node_op(trace->graph, product) != OP_multiply ||
            !trace->values[values[i]].pending)
            continue;
        IrValue operands[3] = {ir_node_operand(trace->graph, product, 0),
                               ir_node_operand(trace->graph, product, 1),
                               values[1 - i]};
        IrOp fused = op == OP_add ? OP_multiply_add
                     : i == 0     ? OP_multiply_subtract
                                  : OP_subtract_product;
        return trace_node_fresh(trace, fused, operands, 3, NULL);
    }
    return 0;
}

/* The node's value in a new tracer, or in `out`. */
static PyObject *
record(Trace *trace, IrOp op, const IrValue *values, const Operand *operands, int n,
       int type, Tracer *out)
{
    Space space;
    npy_intp strides[NPY_MAXDIMS];
    if (!broadcast(&space, operands, n) || space.ndim == 0)
        return not_here();
    if (out &&
        (out->ndim != space.ndim ||
         memcmp(out->shape, space.shape, (size_t)space.ndim * sizeof(npy_intp)) != 0))
        return not_here();
    if (!trace_count(trace, false))
        return not_here();
    IrValue value = trace->contracts ? contracted(trace, op, values, type) : 0;
    if (!value)
        value = trace_node_fresh(trace, op, values, (uint32_t)n, NULL);
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    IrType expected = trace_ir_type(descr, 0, NULL, NULL);
    if (!value || ir_type(trace->graph, value).dtype != expected.dtype) {
        Py_DECREF(descr);
        return not_here();
    }
    layout(&space, operands, n, PyDataType_ELSIZE(descr), strides);
    PyObject *result = (PyObject *)tracer_new_pending(trace, value, descr, space.ndim,
                                                      space.shape, strides);
    Py_DECREF(descr);
    return result;
}

PyObject *
trace_write_whole(Trace *trace, Tracer *out, Tracer *result)
{
    IrValue value = tracer_value(result);
    if (out->descr->type_num != result->descr->type_num)
        value = trace_cast(trace, value, out->descr->type_num);
    if (!value)
        return NULL;
    if (out->whole && !out->storage->owned && out->storage->param < 0 &&
        memcmp(out->strides, result->strides, (size_t)out->ndim * sizeof(npy_intp)) ==
            0) {
        tracer_rebind(out, value);
        return Py_NewRef(out);
    }
    PyObject *converted = Py_NewRef(result);
    if (value != tracer_value(result)) {
        Py_SETREF(converted,
                  (PyObject *)tracer_new_pending(trace, value, out->descr, out->ndim,
                                                 out->shape, result->strides));
        if (!converted)
            return NULL;
    }
    int status = tracer_ass_subscript((PyObject *)out, Py_Ellipsis, converted);
    Py_DECREF(converted);
    return status < 0 ? NULL : Py_NewRef(out);
}

bool
trace_may_write(const Tracer *out, int type)
{
    PyArray_Descr *from = PyArray_DescrFromType(type);
    bool can = out->kind == TRACER_array && out->ndim > 0 && tracer_plain(out) &&
               PyArray_CanCastTypeTo(from, out->descr, NPY_SAME_KIND_CASTING);
    Py_DECREF(from);
    if (can && out->object)
        can = PyArray_ISWRITEABLE((PyArrayObject *)out->object);
    return can;
}

/* True of an array of one element. What is done to it in place NumPy takes for a reduction, which rounds products of
** complex numbers in another way than its loops do. */
static bool
is_one(const Tracer *out)
{
    bool one = out != NULL;
    for (int d = 0; one && d < out->ndim; d++)
        one = out->shape[d] == 1;
    return one;
}

static PyObject *
ufunc_of(Trace *trace, PyObject *ufunc, PyObject *const *objects, int n, Tracer *out)
{
    Operand operands[OPERANDS_MAX];
    IrValue values[OPERANDS_MAX];
    bool arrays = false;
    if (n > OPERANDS_MAX || (out && out->trace != trace))
        return not_here();
    for (int i = 0; i < n; i++) {
        if (!trace_operand_read(trace, objects[i], &operands[i]))
            return not_here();
        arrays |= operands[i].tracer && operands[i].tracer->ndim > 0;
    }
    if (!arrays)
        return not_here();
    const ResolvedLoop *found = trace_resolve(trace->state, ufunc, operands, n);
    if (!found)
        return NULL;
    ResolvedLoop loop = *found;
    if (!loop.usable || (out && !trace_may_write(out, loop.out)) ||
        (loop.op == OP_multiply && PyTypeNum_ISCOMPLEX(loop.out) && is_one(out) &&
         objects[0] == (PyObject *)out))
        return not_here();
    if (loop.op == OP_power && PyTypeNum_ISINTEGER(loop.out)) {
        int refused = trace_power_refuses(trace, objects[1]);
        if (refused)
            return refused < 0 ? NULL : not_here(); /* it raises: at once, that is */
    }
    for (int i = 0; i < n; i++) {
        values[i] = operand_value(trace, &operands[i], loop.in[i]);
        if (!values[i])
            return not_here();
    }
    PyObject *result = record(trace, loop.op, values, operands, n, loop.out, out);
    if (!out || !result || result == Py_NotImplemented)
        return result;
    PyObject *written = trace_write_whole(trace, out, (Tracer *)result);
    Py_DECREF(result);
    return written;
}

/* True if an array is among the operands, and lists, which become arrays: `made`, all of them new references. */
static bool
makes_arrays(Trace *trace, PyObject *const *objects, int n, PyObject **made)
{
    bool arrays = false, lists = false;
    for (int i = 0; i < n; i++) {
        arrays |=
            tracer_check(trace->state, objects[i]) && ((Tracer *)objects[i])->ndim > 0;
        lists |= PyList_CheckExact(objects[i]) || PyTuple_CheckExact(objects[i]);
        made[i] = NULL;
    }
    for (int i = 0; arrays && lists && i < n; i++) {
        bool list = PyList_CheckExact(objects[i]) || PyTuple_CheckExact(objects[i]);
        made[i] =
            list ? trace_list_array(trace, objects[i], NULL) : Py_NewRef(objects[i]);
        arrays = made[i] && made[i] != Py_NotImplemented;
    }
    return arrays && lists;
}

PyObject *
trace_ufunc(Trace *trace, PyObject *ufunc, PyObject *const *objects, int n, Tracer *out)
{
    PyObject *made[OPERANDS_MAX], *result = NULL;
    if (n > OPERANDS_MAX)
        return not_here();
    if (makes_arrays(trace, objects, n, made))
        result = ufunc_of(trace, ufunc, made, n, out);
    else if (!PyErr_Occurred())
        result = ufunc_of(trace, ufunc, objects, n, out);
    for (int i = 0; i < n; i++)
        Py_XDECREF(made[i]);
    return result;
}

/* np.where(condition, x, y). */
static PyObject *
select_of(Trace *trace, PyObject *const *objects)
{
    Operand operands[3];
    IrValue values[3];
    bool arrays = false, traced = false;
    for (int i = 0; i < 3; i++) {
        if (!trace_operand_read(trace, objects[i], &operands[i]))
            return not_here();
        arrays |= operands[i].tracer && operands[i].tracer->ndim > 0;
        traced |= operands[i].tracer != NULL;
    }
    if (!traced || (arrays && !operands[0].tracer))
        return not_here();
    /* np.where promotes as an addition would, weak numbers included, but keeps bool. */
    Operand both[2] = {operands[1], operands[2]};
    int type, weak = both[0].type > both[1].type ? both[0].type : both[1].type;
    if (both[0].type == both[1].type && both[0].type < WEAK_int)
        type = both[0].type;
    else if (both[0].type >= WEAK_int && both[1].type >= WEAK_int)
        type = weak == WEAK_int     ? NPY_LONG
               : weak == WEAK_float ? NPY_DOUBLE
                                    : NPY_CDOUBLE;
    else {
        const ResolvedLoop *loop =
            trace_resolve(trace->state, trace->state->ufuncs[OPERATOR_add], both, 2);
        if (!loop)
            return NULL;
        if (!loop->usable)
            return not_here();
        type = loop->out;
    }
    values[0] = operand_value(trace, &operands[0], NPY_BOOL);
    values[1] = operand_value(trace, &operands[1], type);
    values[2] = operand_value(trace, &operands[2], type);
    if (!values[0] || !values[1] || !values[2])
        return not_here();
    return arrays ? record(trace, OP_select, values, operands, 3, type, NULL)
                  : trace_zero_dim_select(trace, objects, values, type);
}

PyObject *
trace_select(Trace *trace, PyObject *const *objects)
{
    PyObject *made[3], *result = NULL;
    if (makes_arrays(trace, objects, 3, made))
        result = select_of(trace, made);
    else if (!PyErr_Occurred())
        result = select_of(trace, objects);
    for (int i = 0; i < 3; i++)
        Py_XDECREF(made[i]);
    return result;
}

/* x.astype(dtype): always a new array, in K order. */
PyObject *
trace_astype(Trace *trace, Tracer *tracer, PyArray_Descr *descr)
{
    if (tracer->kind != TRACER_array || tracer->ndim == 0 ||
        !trace_descr_plain(descr) || !tracer_plain(tracer) ||
        tracer->descr->type_num == descr->type_num ||
        (PyTypeNum_ISCOMPLEX(tracer->descr->type_num) &&
         !PyTypeNum_ISCOMPLEX(descr->type_num)))
        return not_here();
    if (!trace_count(trace, false))
        return not_here();
    IrValue value = tracer_value(tracer);
    value = value ? trace_cast(trace, value, descr->type_num) : 0;
    if (!value)
        return not_here();
    npy_intp strides[NPY_MAXDIMS];
    trace_layout_copy(tracer->ndim, tracer->shape, tracer->strides,
                      PyDataType_ELSIZE(tracer->descr), PyDataType_ELSIZE(descr),
                      strides);
    return (PyObject *)tracer_new_pending(trace, value, descr, tracer->ndim,
                                          tracer->shape, strides);
}
