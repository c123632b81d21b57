/* evaluate_ops.c - single nodes of a graph that runs as it stands, by class of op. */
#include <string.h>

#include "jit/evaluate.h"

/* -- Types and constants ----------------------------------------------------------- */

bool
jit_evaluate_is_weak(IrDtype dtype)
{
    return dtype == DT_pybool || dtype == DT_pyint || dtype == DT_pyfloat ||
           dtype == DT_pycomplex;
}

PyArray_Descr *
jit_evaluate_descr(IrDtype dtype)
{
    switch (dtype) {
    case DT_pybool:
        return PyArray_DescrFromType(NPY_BOOL);
    case DT_pyint:
        return PyArray_DescrFromType(NPY_INT64);
    case DT_pycomplex:
        return PyArray_DescrFromType(NPY_CDOUBLE);
    default:
        break;
    }
    if (!ir_dtype_numpy_char(dtype) && dtype != DT_pyfloat && dtype != DT_index) {
        PyErr_Format(PyExc_TypeError, "values of dtype %s are not run",
                     ir_dtype_name(dtype));
        return NULL;
    }
    return jit_descr(dtype);
}

static PyObject *
number(const IrAttr *value)
{
    if (value->kind == ATTR_ints && value->count == 1)
        return PyLong_FromLongLong((long long)value->ints[0]);
    if (value->kind == ATTR_float)
        return PyFloat_FromDouble(value->real);
    if (value->kind == ATTR_complex)
        return PyComplex_FromDoubles(value->real, value->imag);
    PyErr_SetString(PyExc_ValueError, "const: value is not a number");
    return NULL;
}

PyArrayObject *
jit_evaluate_constant(const IrGraph *g, IrNode node)
{
    const IrAttr *value = ir_node_attr(g, node, "value");
    IrDtype dtype = ir_type(g, ir_result(g, node, 0)).dtype;
    PyObject *object = value ? number(value) : NULL;
    PyArray_Descr *descr = object ? jit_evaluate_descr(dtype) : NULL;
    PyObject *plain = descr ? PyArray_FROM_O(object) : NULL, *array = NULL;
    if (plain)
        array = PyArray_FromAny(plain, (PyArray_Descr *)Py_NewRef(descr), 0, 0,
                                NPY_ARRAY_FORCECAST | NPY_ARRAY_ALIGNED, NULL);
    Py_XDECREF(plain);
    Py_XDECREF(descr);
    Py_XDECREF(object);
    return (PyArrayObject *)array;
}

/* -- Indices ----------------------------------------------------------------------- */

static int64_t
floor_divide(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

static int
index_error(IrOp op, int64_t a, int64_t b)
{
    PyErr_Format(op == OP_wrap ? PyExc_IndexError : PyExc_OverflowError,
                 op == OP_wrap ? "index %lld is out of bounds for axis with size %lld"
                               : "%lld, %lld: an index is too large",
                 (long long)a, (long long)b);
    return -1;
}

static int
run_index(Evaluator *e, IrNode node, IrOp op)
{
    uint32_t n = ir_node_noperands(e->g, node);
    IrValue first = ir_node_operand(e->g, node, 0);
    int64_t a = e->index[first],
            b = n > 1 ? e->index[ir_node_operand(e->g, node, 1)] : 0;
    int64_t *result = &e->index[ir_result(e->g, node, 0)];
    if ((op == OP_ifloordiv || op == OP_imod || op == OP_ceildiv) &&
        (b == 0 || (b == -1 && a == INT64_MIN))) {
        PyErr_SetString(PyExc_ZeroDivisionError, "division of an index by zero");
        return -1;
    }
    bool overflow = false;
    switch (op) {
    case OP_iadd:
        overflow = __builtin_add_overflow(a, b, result);
        break;
    case OP_isub:
        overflow = __builtin_sub_overflow(a, b, result);
        break;
    case OP_imul:
        overflow = __builtin_mul_overflow(a, b, result);
        break;
    case OP_ifloordiv:
        *result = floor_divide(a, b);
        break;
    case OP_imod:
        *result = a - floor_divide(a, b) * b;
        break;
    case OP_imin:
        *result = a < b ? a : b;
        break;
    case OP_imax:
        *result = a > b ? a : b;
        break;
    case OP_max0:
        *result = a > 0 ? a : 0;
        break;
    case OP_ceildiv:
        *result = -floor_divide(-a, b);
        break;
    case OP_clamp:
        a = a < 0 ? a + b : a;
        *result = a < 0 ? 0 : a > b ? b : a;
        break;
    case OP_wrap:
        if (a < -b || a >= b)
            return index_error(op, a, b);
        *result = a < 0 ? a + b : a;
        break;
    case OP_dim: {
        npy_intp shape[NPY_MAXDIMS];
        if (jit_evaluate_shape(e, first, shape) < 0)
            return -1;
        *result = shape[ir_node_int(e->g, node, "axis", 0)];
        break;
    }
    default: { /* to_index */
        PyObject *item =
            PyArray_ToScalar(PyArray_DATA(e->value[first]), e->value[first]);
        PyObject *whole = item ? PyNumber_Index(item) : NULL;
        *result = whole ? (int64_t)PyLong_AsLongLong(whole) : -1;
        Py_XDECREF(whole);
        Py_XDECREF(item);
        return PyErr_Occurred() ? -1 : 0;
    }
    }
    return overflow ? index_error(op, a, b) : 0;
}

/* -- Moves and makes --------------------------------------------------------------- */

static PyArrayObject *
operand(const Evaluator *e, IrNode node, uint32_t i)
{
    return e->value[ir_node_operand(e->g, node, i)];
}

/* A window on an array's memory, which it keeps alive. */
static PyObject *
window(PyArrayObject *base, PyArray_Descr *descr, int ndim, const npy_intp *shape,
       const npy_intp *strides, npy_intp offset)
{
    if (!descr)
        return NULL;
    PyObject *view =
        PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, strides,
                             PyArray_BYTES(base) + offset, NPY_ARRAY_WRITEABLE, NULL);
    if (view && PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef(base)) < 0)
        Py_CLEAR(view);
    return view;
}

/* True if all elements of the window lie in the array's memory. */
static bool
reaches_inside(PyArrayObject *base, npy_intp itemsize, int ndim, const npy_intp *shape,
               const npy_intp *strides, npy_intp offset)
{
    npy_intp low = offset, high = offset + itemsize;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] == 0)
            return true;
        npy_intp reach = (shape[d] - 1) * strides[d];
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    return low >= 0 && high <= PyArray_NBYTES(base);
}

/* The window that `view` and `update` name, on a contiguous array. */
static PyObject *
named_window(Evaluator *e, IrNode node, PyArrayObject *base, uint32_t fixed)
{
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    const IrAttr *steps = ir_node_attr(e->g, node, "strides"),
                 *extents = ir_node_attr(e->g, node, "shape");
    IrValue shaped =
        fixed == 1 ? ir_result(e->g, node, 0) : ir_node_operand(e->g, node, 1);
    IrDtype dtype = ir_type(e->g, shaped).dtype;
    npy_intp offset = (npy_intp)ir_node_int(e->g, node, "offset", 0);
    int ndim = (int)steps->count;
    if (!extents && jit_evaluate_shape(e, shaped, shape) < 0)
        return NULL;
    for (int d = 0; d < ndim; d++) {
        strides[d] = (npy_intp)steps->ints[d];
        if (extents)
            shape[d] = (npy_intp)extents->ints[d];
    }
    if (ir_node_noperands(e->g, node) > fixed)
        offset += (npy_intp)e->index[ir_node_operand(e->g, node, fixed)];
    if (!reaches_inside(base, (npy_intp)ir_dtype_bytes(dtype), ndim, shape, strides,
                        offset)) {
        PyErr_Format(PyExc_IndexError, "%s: the window leaves its array",
                     ir_op_name(ir_node_op(e->g, node)));
        return NULL;
    }
    return window(base, jit_evaluate_descr(dtype), ndim, shape, strides, offset);
}

static PyObject *
run_update(Evaluator *e, IrNode node)
{
    PyArrayObject *copy =
        (PyArrayObject *)PyArray_NewCopy(operand(e, node, 0), NPY_CORDER);
    PyObject *at = copy ? named_window(e, node, copy, 2) : NULL;
    if (!at || PyArray_CopyInto((PyArrayObject *)at, operand(e, node, 1)) < 0)
        Py_CLEAR(copy);
    Py_XDECREF(at);
    return (PyObject *)copy;
}

static PyObject *
run_slice(Evaluator *e, IrNode node)
{
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS], offset = 0;
    PyArrayObject *base = operand(e, node, 0);
    const IrAttr *start = ir_node_attr(e->g, node, "start"),
                 *step = ir_node_attr(e->g, node, "step");
    int ndim = jit_evaluate_shape(e, ir_result(e->g, node, 0), shape);
    for (int d = 0; d < ndim; d++) {
        npy_intp last =
            (npy_intp)start->ints[d] + (shape[d] - 1) * (npy_intp)step->ints[d];
        if (shape[d] && (start->ints[d] >= PyArray_DIM(base, d) || last < 0 ||
                         last >= PyArray_DIM(base, d))) {
            PyErr_SetString(PyExc_IndexError, "slice: the window leaves its array");
            return NULL;
        }
        strides[d] = PyArray_STRIDE(base, d) * (npy_intp)step->ints[d];
        offset += shape[d] ? PyArray_STRIDE(base, d) * (npy_intp)start->ints[d] : 0;
    }
    PyArray_Descr *descr = (PyArray_Descr *)Py_NewRef(PyArray_DESCR(base));
    return ndim < 0 ? NULL : window(base, descr, ndim, shape, strides, offset);
}

static PyObject *
run_transpose(Evaluator *e, IrNode node)
{
    const IrAttr *axes = ir_node_attr(e->g, node, "axes");
    npy_intp order[NPY_MAXDIMS];
    for (uint32_t i = 0; i < axes->count; i++)
        order[i] = (npy_intp)axes->ints[i];
    PyArray_Dims dims = {order, (int)axes->count};
    return PyArray_Transpose(operand(e, node, 0), &dims);
}

/* reshape, broadcast, full, empty, iota, poison: by the result's shape. */
static PyObject *
run_shaped(Evaluator *e, IrNode node, IrOp op)
{
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    IrValue value = ir_result(e->g, node, 0);
    int ndim = jit_evaluate_shape(e, value, shape);
    if (ndim < 0)
        return NULL;
    PyArray_Dims dims = {shape, ndim};
    if (op == OP_reshape)
        return PyArray_Newshape(operand(e, node, 0), &dims, NPY_CORDER);
    if (op == OP_broadcast) {
        PyArrayObject *base = operand(e, node, 0);
        int skip = ndim - PyArray_NDIM(base);
        for (int d = 0; d < ndim; d++)
            strides[d] = d < skip || PyArray_DIM(base, d - skip) == 1
                             ? 0
                             : PyArray_STRIDE(base, d - skip);
        PyArray_Descr *descr = (PyArray_Descr *)Py_NewRef(PyArray_DESCR(base));
        return window(base, descr, ndim, shape, strides, 0);
    }
    PyArray_Descr *descr = jit_evaluate_descr(ir_type(e->g, value).dtype);
    PyObject *made = descr ? PyArray_Zeros(ndim, shape, descr, 0) : NULL;
    if (made && op == OP_full &&
        PyArray_CopyInto((PyArrayObject *)made, operand(e, node, 0)) < 0)
        Py_CLEAR(made);
    if (made && op == OP_iota) {
        int64_t axis = ir_node_int(e->g, node, "axis", 0);
        PyObject *run = PyArray_Arange(0, (double)shape[axis], 1, NPY_INT64);
        npy_intp line[NPY_MAXDIMS];
        for (int d = 0; d < ndim; d++)
            line[d] = d == axis ? shape[d] : 1;
        PyArray_Dims lines = {line, ndim};
        PyObject *column =
            run ? PyArray_Newshape((PyArrayObject *)run, &lines, NPY_CORDER) : NULL;
        if (!column ||
            PyArray_CopyInto((PyArrayObject *)made, (PyArrayObject *)column) < 0)
            Py_CLEAR(made);
        Py_XDECREF(run);
        Py_XDECREF(column);
    }
    return made;
}

/* x[i, j, …] */
static PyObject *
run_take(Evaluator *e, IrNode node)
{
    uint32_t n = ir_node_noperands(e->g, node) - 1;
    PyObject *key = PyTuple_New((Py_ssize_t)n), *taken = NULL;
    for (uint32_t i = 0; key && i < n; i++) {
        IrValue at = ir_node_operand(e->g, node, i + 1);
        PyObject *index = ir_type(e->g, at).dtype == DT_index
                              ? PyLong_FromLongLong((long long)e->index[at])
                              : Py_NewRef(e->value[at]);
        if (!index) {
            Py_CLEAR(key);
            break;
        }
        PyTuple_SET_ITEM(key, (Py_ssize_t)i, index);
    }
    if (key)
        taken = PyObject_GetItem((PyObject *)operand(e, node, 0), key);
    Py_XDECREF(key);
    return taken;
}

static PyObject *
run_roll(Evaluator *e, IrNode node)
{
    const IrAttr *shifts = ir_node_attr(e->g, node, "shifts");
    PyArrayObject *from = operand(e, node, 0);
    int ndim = PyArray_NDIM(from);
    if (!shifts || shifts->kind != ATTR_ints || shifts->count != (uint32_t)ndim)
        return PyErr_Format(PyExc_ValueError,
                            "roll: attribute shifts has one integer an axis");
    PyObject *by = PyTuple_New(ndim), *axes = PyTuple_New(ndim), *rolled = NULL;
    for (int d = 0; by && axes && d < ndim; d++) {
        PyTuple_SET_ITEM(by, d, PyLong_FromLongLong(shifts->ints[d]));
        PyTuple_SET_ITEM(axes, d, PyLong_FromLong(d));
    }
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (numpy && by && axes && !PyErr_Occurred())
        rolled = PyObject_CallMethod(numpy, "roll", "OOO", from, by, axes);
    Py_XDECREF(numpy);
    Py_XDECREF(by);
    Py_XDECREF(axes);
    return rolled;
}

static PyObject *
run_move(Evaluator *e, IrNode node, IrOp op)
{
    switch (op) {
    case OP_const:
    case OP_count:
        return (PyObject *)jit_evaluate_constant(e->g, node);
    case OP_transpose:
        return run_transpose(e, node);
    case OP_slice:
        return run_slice(e, node);
    case OP_update:
        return run_update(e, node);
    case OP_copy:
        return (PyObject *)PyArray_NewCopy(operand(e, node, 0), NPY_CORDER);
    case OP_roll:
        return run_roll(e, node);
    case OP_take_index:
        return run_take(e, node);
    case OP_view: {
        PyObject *base = PyArray_NewCopy(operand(e, node, 0), NPY_CORDER);
        PyObject *view = base ? named_window(e, node, (PyArrayObject *)base, 1) : NULL;
        Py_XDECREF(base);
        return view;
    }
    default:
        return run_shaped(e, node, op);
    }
}

/* -- Calls ------------------------------------------------------------------------- */

/* axes, axis, keepdims, initial as NumPy's keywords. */
static PyObject *
keywords(Evaluator *e, IrNode node)
{
    const IrAttr *axes = ir_node_attr(e->g, node, "axes");
    IrOp op = ir_node_op(e->g, node);
    bool one = ir_op_class(op) == CLASS_scan;
    if ((op == OP_argmax || op == OP_argmin) && axes && axes->count > 1)
        axes = NULL; /* of what is flat */
    int64_t axis = ir_node_int(e->g, node, "axis", 0);
    PyObject *dict = PyDict_New(), *tuple = NULL;
    if (one)
        tuple = PyLong_FromLongLong((long long)axis);
    else if (axes && axes->count == 1)
        tuple = PyLong_FromLongLong((long long)axes->ints[0]);
    else if (axes) {
        tuple = PyTuple_New((Py_ssize_t)axes->count);
        for (uint32_t i = 0; tuple && i < axes->count; i++)
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i,
                             PyLong_FromLongLong((long long)axes->ints[i]));
    }
    if (dict && tuple && PyDict_SetItemString(dict, "axis", tuple) < 0)
        Py_CLEAR(dict);
    if (dict && ir_node_int(e->g, node, "keepdims", 0) &&
        PyDict_SetItemString(dict, "keepdims", Py_True) < 0)
        Py_CLEAR(dict);
    const IrAttr *initial = ir_node_attr(e->g, node, "initial");
    if (dict && initial) {
        PyArray_Descr *descr =
            jit_descr(ir_type(e->g, ir_node_operand(e->g, node, 0)).dtype);
        PyObject *value = PyArray_Scalar((void *)(uintptr_t)initial->ints, descr, NULL);
        if (!value || PyDict_SetItemString(dict, "initial", value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
        Py_DECREF(descr);
    }
    Py_XDECREF(tuple);
    return dict;
}

/* A function of NumPy, or a method: maximum.accumulate. */
static PyObject *
numpy_function(const char *name)
{
    PyObject *numpy = PyImport_ImportModule("numpy"), *function = NULL;
    const char *dot = strchr(name, '.');
    char owner[64];
    snprintf(owner, sizeof owner, "%.*s", dot ? (int)(dot - name) : (int)strlen(name),
             name);
    if (numpy)
        function = PyObject_GetAttrString(numpy, owner);
    if (function && dot)
        Py_SETREF(function, PyObject_GetAttrString(function, dot + 1));
    Py_XDECREF(numpy);
    return function;
}

/* A function of NumPy on the operands. */
static PyObject *
run_numpy(Evaluator *e, IrNode node, const char *name, PyObject *kwargs)
{
    PyObject *function = numpy_function(name), *result = NULL;
    uint32_t n = ir_node_noperands(e->g, node);
    PyObject *args = function ? PyTuple_New((Py_ssize_t)n) : NULL;
    for (uint32_t i = 0; args && i < n; i++)
        PyTuple_SET_ITEM(args, (Py_ssize_t)i, Py_NewRef(operand(e, node, i)));
    if (args)
        result = PyObject_Call(function, args, kwargs);
    Py_XDECREF(args);
    Py_XDECREF(function);
    return result;
}

static int
run_call(Evaluator *e, IrNode node)
{
    const IrAttr *name = ir_node_attr(e->g, node, "name");
    uint32_t n = ir_node_nresults(e->g, node);
    if (ir_node_attr(e->g, node, "site")) {
        PyErr_Format(
            PyExc_ValueError,
            "call: the arguments of %s are at a site of a traced function, which "
            "alone runs it",
            name && name->kind == ATTR_text ? name->text : "a function");
        return -1;
    }
    PyObject *result =
        name && name->kind == ATTR_text ? run_numpy(e, node, name->text, NULL) : NULL;
    if (!result && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "call: attribute name is missing");
    if (!result || n == 1)
        return jit_evaluate_set(e, ir_result(e->g, node, 0), result);
    int status =
        PyTuple_Check(result) && PyTuple_GET_SIZE(result) == (Py_ssize_t)n ? 0 : -1;
    if (status < 0)
        PyErr_Format(PyExc_ValueError, "call: %s does not give %u results", name->text,
                     n);
    for (uint32_t i = 0; status == 0 && i < n; i++)
        status = jit_evaluate_set(e, ir_result(e->g, node, i),
                                  Py_NewRef(PyTuple_GET_ITEM(result, (Py_ssize_t)i)));
    Py_DECREF(result);
    return status;
}

/* What needs the front end that made the graph cannot run without it. */
static int
run_effect(Evaluator *e, IrNode node, IrOp op)
{
    if (op == OP_ask) {
        IrValue from = ir_node_operand(e->g, node, 0);
        return jit_evaluate_set(e, ir_result(e->g, node, 0), Py_NewRef(e->value[from]));
    }
    if (op == OP_check && jit_evaluate_truth(e, ir_node_operand(e->g, node, 0)))
        return 0;
    if (op == OP_check || op == OP_deopt)
        PyErr_Format(PyExc_RuntimeError, "%s: the graph ends here", ir_op_name(op));
    else
        PyErr_Format(PyExc_ValueError, "%s: only the plan of a traced function runs it",
                     ir_op_name(op));
    return -1;
}

int
jit_evaluate_node(Evaluator *e, IrNode node)
{
    IrOp op = ir_node_op(e->g, node);
    PyObject *kwargs, *result;
    IrValue value = ir_node_nresults(e->g, node) ? ir_result(e->g, node, 0) : 0;
    bool index = value && ir_type(e->g, value).dtype == DT_index;
    switch (ir_op_class(op)) {
    case CLASS_index:
        return run_index(e, node, op);
    case CLASS_call:
        if (op == OP_call)
            return run_call(e, node);
        return run_effect(e, node, op);
    case CLASS_effect:
        return run_effect(e, node, op);
    case CLASS_move:
    case CLASS_make:
        if (index && op == OP_const) {
            e->index[value] = ir_node_int(e->g, node, "value", 0);
            return 0;
        }
        return jit_evaluate_set(e, value, run_move(e, node, op));
    default:
        kwargs = keywords(e, node);
        result = kwargs && ir_op_numpy(op) ? run_numpy(e, node, ir_op_numpy(op), kwargs)
                                           : NULL;
        Py_XDECREF(kwargs);
        if (!result && !PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%s is not run", ir_op_name(op));
        return jit_evaluate_set(e, value, result);
    }
}
