/* unroll.c - reductions of few elements: a chain of elementwise operations.
**
**     sum(square(p[:, None] - p), axis=-1), three elements each
**       ─►  square(p[:, None, 0] - p[:, 0]) + 0.0 + square(p[:, None, 1] - p[:, 1]) + …
**
** What is reduced is never made: its pending producers are taken apart down to windows on what is
** in memory, one for each element of the axis. So the reduction fuses with its producers and with
** who uses it.
**
** Law 1: bits are NumPy's. Sums of fewer than eight elements are added one by one in any layout
**        (from 2.3 on); that they begin with 0.0 shows where all elements are -0.0 only.
** Law 2: nothing is changed before it is known that all can be taken apart, except for nodes no
**        one reads.
*/
#include <string.h>

#include "trace/elementwise.h"

enum {
    ELEMENTS_MAX = 7, /* of a result: eight are added in another order */
    NODES_MAX = 24,   /* made for a reduction; more are too many for a group */
    NUMPY_2_3 = 0x14, /* C API version: sums before are cut in chunks */
};

typedef struct Unroll {
    Trace *trace;
    int axis;    /* of the operand */
    npy_intp at; /* the element on it */
    bool keepdims;
    uint32_t nodes;
    npy_intp strides[NPY_MAXDIMS]; /* of the result */
} Unroll;

/* -- What is asked for ------------------------------------------------------------- */

/* The op that joins two elements; false: no such reduction of this type. */
static bool
op_of(const char *name, int type, IrOp *op)
{
    static const struct {
        const char *name;
        IrOp op;
    } rows[] = {
        {"sum", OP_add},      {"mean", OP_add},       {"prod", OP_multiply},
        {"max", OP_maximum},  {"amax", OP_maximum},   {"min", OP_minimum},
        {"amin", OP_minimum}, {"any", OP_logical_or}, {"all", OP_logical_and},
    };
    bool floating = type == NPY_DOUBLE || type == NPY_FLOAT;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(name, rows[i].name) != 0)
            continue;
        *op = rows[i].op;
        if (*op == OP_logical_or || *op == OP_logical_and)
            return type == NPY_BOOL;
        if (strcmp(name, "mean") == 0)
            return floating;
        return floating || type == NPY_LONG;
    }
    return false;
}

/* One axis, given as an int; all other arguments but `keepdims` are for NumPy. */
static bool
read_arguments(PyObject *const *args, size_t nargs, PyObject *kwnames, Unroll *unroll,
               int ndim)
{
    PyObject *axis = nargs == 2 ? args[1] : NULL;
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    if (nargs < 1 || nargs > 2)
        return false;
    for (Py_ssize_t i = 0; i < nkw; i++) {
        PyObject *key = PyTuple_GET_ITEM(kwnames, i), *value = args[nargs + (size_t)i];
        if (PyUnicode_CompareWithASCIIString(key, "axis") == 0 && !axis)
            axis = value;
        else if (PyUnicode_CompareWithASCIIString(key, "keepdims") == 0 &&
                 PyBool_Check(value))
            unroll->keepdims = value == Py_True;
        else
            return false;
    }
    return axis && trace_axis(axis, ndim, &unroll->axis);
}

/* -- Values ------------------------------------------------------------------------ */

/* An axis of the value is left out, or has one element. */
static int
shape_without(IrType type, int axis, bool keep, npy_intp *shape)
{
    int n = 0;
    for (int d = 0; d < (int)type.ndim; d++) {
        if (d != axis)
            shape[n++] = (npy_intp)type.dims[d].value;
        else if (keep)
            shape[n++] = 1;
    }
    return n;
}

/* The strides of what is left of a contiguous value, contiguous again. */
static void
strides_without(IrType type, const npy_intp *strides, int axis, bool keep,
                npy_intp *out)
{
    npy_intp extent = (npy_intp)type.dims[axis].value;
    int n = 0;
    for (int d = 0; d < (int)type.ndim; d++) {
        if (d != axis)
            out[n++] = strides[d] > strides[axis] ? strides[d] / extent : strides[d];
        else if (keep)
            out[n++] = strides[d];
    }
}

/* The path to the element `at` of an axis, on from that of a view; NULL without an exception: it is not known. */
static PyObject *
path_to(const Trace *trace, IrValue value, IrValue base, uint32_t ndim, int axis,
        npy_intp at, bool keep)
{
    PyObject *before = value == base ? NULL : trace->values[value].path;
    Py_ssize_t n = before && before != Py_None ? PyTuple_GET_SIZE(before) : 0;
    PyObject *key = value == base || n ? PyTuple_New(ndim) : NULL,
             *path = key ? PyTuple_New(n + 1) : NULL;
    PyObject *first = PyLong_FromSsize_t(at), *end = PyLong_FromSsize_t(at + 1);
    for (uint32_t d = 0; path && first && end && d < ndim; d++) {
        PyObject *part = (int)d != axis ? PySlice_New(NULL, NULL, NULL)
                         : keep         ? PySlice_New(first, end, NULL)
                                        : Py_NewRef(first);
        if (part)
            PyTuple_SET_ITEM(key, d, part);
        else
            Py_CLEAR(path);
    }
    for (Py_ssize_t i = 0; path && i < n; i++)
        PyTuple_SET_ITEM(path, i, Py_NewRef(PyTuple_GET_ITEM(before, i)));
    if (path)
        PyTuple_SET_ITEM(path, n, Py_NewRef(key));
    Py_XDECREF(first);
    Py_XDECREF(end);
    Py_XDECREF(key);
    PyErr_Clear();
    return path;
}

/* A window on a value in memory; 0: none. */
static IrValue
window(const Unroll *u, IrValue value, int axis, bool keep)
{
    Trace *trace = u->trace;
    const IrGraph *g = trace->graph;
    IrNode node = ir_def(g, value);
    IrType type = ir_type(g, value);
    const TraceValue *v = &trace->values[value];
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    int64_t offset, attr_strides[NPY_MAXDIMS], attr_shape[NPY_MAXDIMS];
    IrDim dims[NPY_MAXDIMS];
    IrValue base = value;
    int ndim = shape_without(type, axis, keep, shape), n = 0;
    if (!v->array || !v->strides || !v->descr)
        return 0;
    npy_intp at = (type.dims[axis].value == 1 ? 0 : u->at) * v->strides[axis];
    offset = at;
    if (node && ir_node_op(g, node) == OP_view) {
        if (ir_node_noperands(g, node) > 1)
            return 0; /* it moves from turn to turn */
        base = ir_node_operand(g, node, 0);
        offset += ir_node_int(g, node, "offset", 0);
    }
    for (int d = 0; d < (int)type.ndim; d++) {
        if (d != axis || keep)
            strides[n++] = v->strides[d];
    }
    for (int d = 0; d < ndim; d++) {
        attr_strides[d] = strides[d];
        attr_shape[d] = shape[d];
    }
    IrAttr attrs[] = {
        {.key = "offset", .kind = ATTR_ints, .count = 1, .ints = &offset},
        {.key = "strides",
         .kind = ATTR_ints,
         .count = (uint32_t)ndim,
         .ints = attr_strides},
        {.key = "shape",
         .kind = ATTR_ints,
         .count = (uint32_t)ndim,
         .ints = attr_shape},
        {.key = "dtype", .kind = ATTR_text, .text = ir_dtype_name(type.dtype)},
    };
    bool other = type.dtype != ir_type(g, base).dtype;
    IrType to = trace_ir_type(v->descr, ndim, shape, dims);
    PyObject *path = path_to(trace, value, base, type.ndim, axis,
                             type.dims[axis].value == 1 ? 0 : u->at, keep);
    trace_extent_stays(trace, (npy_intp)type.dims[axis].value);
    node = ir_node_typed(trace->graph, OP_view, &base, 1, attrs, other ? 4 : 3, &to, 1);
    if (node)
        trace_path_set(trace, ir_result(trace->graph, node, 0), path);
    Py_XDECREF(path);
    return trace_value_window(trace, ir_result(trace->graph, node, 0), value, ndim,
                              shape, strides, at);
}

static IrValue project(Unroll *u, IrValue value, int axis, bool keep);

/* The node of a pending value, on what is left of its operands, which are in `operands`. */
static IrValue
node_of_rest(const Unroll *u, IrValue value, int axis, bool keep,
             const IrValue *operands, uint32_t n)
{
    Trace *trace = u->trace;
    IrOp op = ir_node_op(trace->graph, ir_def(trace->graph, value));
    IrType type = ir_type(trace->graph, value), to;
    PyArray_Descr *descr = trace->values[value].descr;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    IrDim dims[NPY_MAXDIMS];
    int ndim = shape_without(type, axis, keep, shape);
    to = trace_ir_type(descr, ndim, shape, dims);
    strides_without(type, trace->values[value].strides, axis, keep, strides);
    IrValue made = trace_node_fresh(trace, op, operands, n, &to);
    if (!made || !trace_value_pend(trace, made, descr, ndim, strides))
        return 0;
    return made;
}

/* A pending value on what is left of it. Its operands are held until it reads them: others, which are computed then, may have
** read them, too. */
static IrValue
project_node(Unroll *u, IrValue value, int axis, bool keep)
{
    const IrGraph *g = u->trace->graph;
    IrNode node = ir_def(g, value);
    uint32_t n = ir_node_noperands(g, node), held = 0;
    IrType type = ir_type(g, value);
    IrValue operands[OPERANDS_MAX], made = 0;
    if (!node || !(ir_op_flags(ir_node_op(g, node)) & OPF_elementwise) ||
        n > OPERANDS_MAX || ++u->nodes > NODES_MAX || !u->trace->values[value].strides)
        return 0;
    for (; held < n; held++) {
        IrValue operand = ir_node_operand(g, node, held);
        int own = axis - ((int)type.ndim - (int)ir_type(g, operand).ndim);
        operands[held] = own < 0 ? operand : project(u, operand, own, keep);
        if (!operands[held])
            break;
        trace_value_hold(u->trace, operands[held]);
    }
    if (held == n)
        made = node_of_rest(u, value, axis, keep, operands, n);
    while (held-- > 0)
        trace_value_drop(u->trace, operands[held]);
    return made;
}

/* False for what is dear, or has bits that depend on strides: NumPy's loops of elementary functions
** and complex products, powers and clip of one number for a whole run. It is computed. */
static bool
comes_apart(const IrGraph *g, IrNode node)
{
    IrOp op = ir_node_op(g, node);
    bool parts = ir_dtype_kind(ir_type(g, ir_result(g, node, 0)).dtype) == KIND_complex;
    for (uint32_t i = 0; i < ir_node_noperands(g, node); i++)
        parts |= ir_dtype_kind(ir_type(g, ir_node_operand(g, node, i)).dtype) ==
                 KIND_complex;
    return !(ir_op_flags(op) & OPF_elementary) && op != OP_clip &&
           (!parts || op == OP_add || op == OP_subtract);
}

/* True of a value that may be another one in the next turn of a loop: no part of it is made of what it was made of in
** this one. */
static bool
is_carried(const Trace *trace, IrValue value)
{
    return ir_def(trace->graph, value) < trace_turn_first(trace);
}

/* Element u->at of the value on `axis`, as a value; 0: it cannot be had. */
static IrValue
project(Unroll *u, IrValue value, int axis, bool keep)
{
    const TraceValue *v = &u->trace->values[value];
    IrType type = ir_type(u->trace->graph, value);
    keep |= type.ndim == 1; /* arrays without axes are scalars to NumPy */
    if (v->pending && type.ndim > 1 && !is_carried(u->trace, value) &&
        comes_apart(u->trace->graph, ir_def(u->trace->graph, value)))
        return project_node(u, value, axis, keep);
    if (v->pending && trace_force(u->trace, value) < 0) {
        PyErr_Clear();
        return 0;
    }
    return window(u, value, axis, keep);
}

/* op(x, y), pending, x of the result's shape and dtype. */
static IrValue
joined(Unroll *u, IrOp op, IrValue x, IrValue y)
{
    IrValue both[2] = {x, y};
    IrType type = ir_type(u->trace->graph, x);
    IrValue made = trace_node_fresh(u->trace, op, both, 2, &type);
    PyArray_Descr *descr = u->trace->values[x].descr;
    if (!made || !trace_value_pend(u->trace, made, descr, (int)type.ndim, u->strides))
        return 0;
    return made;
}

/* The same with a number. */
static IrValue
joined_number(Unroll *u, IrOp op, IrValue x, long number)
{
    PyObject *object = PyLong_FromLong(number);
    int type = u->trace->values[x].descr->type_num;
    IrValue constant = object ? trace_operand(u->trace, object, type) : 0;
    Py_XDECREF(object);
    return constant ? joined(u, op, x, constant) : 0;
}

/* -- The reduction ----------------------------------------------------------------- */

/* True if no element is -0.0. */
static bool
has_no_sign(const Trace *trace, IrValue value)
{
    IrNode node = ir_def(trace->graph, value);
    IrOp op = node ? ir_node_op(trace->graph, node) : OP_COUNT;
    return ir_dtype_kind(ir_type(trace->graph, value).dtype) != KIND_float ||
           op == OP_square || op == OP_absolute;
}

static IrValue
unrolled(Unroll *u, IrOp op, IrValue value, npy_intp extent, bool mean)
{
    Trace *trace = u->trace;
    IrValue sum = 0;
    for (u->at = 0; u->at < extent; u->at++) {
        IrValue before = sum;
        if (before)
            trace_value_hold(trace, before);
        IrValue element = project(u, value, u->axis, u->keepdims);
        if (element)
            sum = before ? joined(u, op, before, element) : element;
        if (before)
            trace_value_drop(trace, before);
        if (!element)
            return 0;
        if (sum && u->at == 0 && op == OP_add && !has_no_sign(trace, element))
            sum = joined_number(u, OP_add, sum, 0);
        if (!sum)
            return 0;
    }
    return mean ? joined_number(u, OP_divide, sum, (long)extent) : sum;
}

/* The layout of NumPy's result. */
static void
result_layout(Unroll *u, IrValue value)
{
    const TraceValue *v = &u->trace->values[value];
    IrType type = ir_type(u->trace->graph, value);
    npy_intp shape[NPY_MAXDIMS], full[NPY_MAXDIMS];
    const npy_intp *rows[1] = {v->strides};
    for (uint32_t d = 0; d < type.ndim; d++)
        shape[d] = (npy_intp)type.dims[d].value;
    trace_layout((int)type.ndim, shape, 1, rows, PyDataType_ELSIZE(v->descr), full);
    strides_without(type, full, u->axis, u->keepdims, u->strides);
}

/* x[:, …, k, :, …] */
static PyObject *
element_of(PyObject *x, const Unroll *u)
{
    PyObject *key = PyTuple_New(u->axis + 1);
    for (int d = 0; key && d <= u->axis; d++) {
        PyObject *at = PyLong_FromSsize_t(u->at), *end = PyLong_FromSsize_t(u->at + 1),
                 *part;
        part = d < u->axis   ? PySlice_New(NULL, NULL, NULL)
               : u->keepdims ? PySlice_New(at, end, NULL)
                             : Py_XNewRef(at);
        Py_XDECREF(at);
        Py_XDECREF(end);
        if (!part)
            Py_CLEAR(key);
        else
            PyTuple_SET_ITEM(key, d, part);
    }
    PyObject *element = key ? PyObject_GetItem(x, key) : NULL;
    Py_XDECREF(key);
    return element;
}

static PyObject *unroll_axis(Trace *trace, const char *name, PyObject *const *args,
                             size_t nargs, PyObject *kwnames);

/* One element on the axis of a window that moves, reduced on another axis behind it (-1: none). */
static PyObject *
moving_element(const Unroll *u, const char *name, PyObject *x, int inner)
{
    PyObject *element = element_of(x, u), *axis;
    if (element && inner >= 0 && (axis = PyLong_FromLong(inner - 1))) {
        PyObject *args[2] = {element, axis};
        Py_SETREF(element, unroll_axis(u->trace, name, args, 2, NULL));
        Py_DECREF(axis);
        if (element == Py_NotImplemented)
            Py_CLEAR(element);
    }
    return element;
}

/* The reduction of a window that moves from turn to turn of a loop: of windows that do too. */
static PyObject *
unroll_moving(Unroll *u, const char *name, Tracer *x, int inner)
{
    Trace *trace = u->trace;
    bool sum = strcmp(name, "sum") == 0 || strcmp(name, "mean") == 0,
         mean = strcmp(name, "mean") == 0;
    bool largest = strcmp(name, "max") == 0 || strcmp(name, "amax") == 0;
    bool smallest = strcmp(name, "min") == 0 || strcmp(name, "amin") == 0;
    PyObject *numpy = PyImport_ImportModule("numpy"), *ufunc = NULL, *result = NULL,
             *number;
    if (numpy && (sum || largest || smallest))
        ufunc = PyObject_GetAttrString(numpy, sum       ? "add"
                                              : largest ? "maximum"
                                                        : "minimum");
    for (u->at = 0; ufunc && u->at < x->shape[u->axis]; u->at++) {
        PyObject *operands[2] = {result, moving_element(u, name, (PyObject *)x, inner)};
        if (u->at == 0 && sum && operands[1])
            operands[0] = PyLong_FromLong(0);
        if (operands[0] && operands[1]) {
            PyObject *both[2] = {operands[u->at == 0], operands[u->at != 0]};
            result = trace_ufunc(trace, ufunc, both, 2, NULL);
        } else
            result = Py_XNewRef(operands[1]);
        Py_XDECREF(operands[0]);
        Py_XDECREF(operands[1]);
        if (!result || result == Py_NotImplemented)
            Py_CLEAR(ufunc);
    }
    if (ufunc && mean && (number = PyLong_FromSsize_t(x->shape[u->axis]))) {
        PyObject *operands[2] = {result, number};
        Py_SETREF(result, trace_ufunc(trace, trace->state->ufuncs[OPERATOR_truediv],
                                      operands, 2, NULL));
        Py_DECREF(number);
    }
    Py_XDECREF(ufunc);
    Py_XDECREF(numpy);
    PyErr_Clear();
    const Tracer *made = (Tracer *)result;
    if (result && result != Py_NotImplemented && inner < 0 &&
        memcmp(made->strides, u->strides, (size_t)made->ndim * sizeof(npy_intp)) != 0)
        Py_SETREF(result, Py_NewRef(Py_NotImplemented));
    return result ? result : Py_NewRef(Py_NotImplemented);
}

static PyObject *
unroll_axis(Trace *trace, const char *name, PyObject *const *args, size_t nargs,
            PyObject *kwnames)
{
    Unroll u = {.trace = trace};
    npy_intp shape[NPY_MAXDIMS];
    IrOp op;
    if (nargs < 1 || !tracer_check(trace->state, args[0]) ||
        PyArray_GetNDArrayCFeatureVersion() < NUMPY_2_3)
        return Py_NewRef(Py_NotImplemented);
    Tracer *x = (Tracer *)args[0];
    if (x->kind != TRACER_array || x->trace != trace || x->ndim < 2 ||
        !tracer_plain(x) || !op_of(name, x->descr->type_num, &op) ||
        !read_arguments(args, nargs, kwnames, &u, x->ndim))
        return Py_NewRef(Py_NotImplemented);
    npy_intp extent = x->shape[u.axis];
    for (int d = 0; d < x->ndim; d++) {
        if (x->shape[d] == 0)
            return Py_NewRef(Py_NotImplemented);
    }
    if (extent < 2 || extent > ELEMENTS_MAX) /* one: a window, not a result */
        return Py_NewRef(Py_NotImplemented);
    IrValue value = tracer_value(x);
    if (value)
        result_layout(&u, value);
    if (value && tracer_moves(x))
        return unroll_moving(&u, name, x, -1);
    IrValue result =
        value ? unrolled(&u, op, value, extent, strcmp(name, "mean") == 0) : 0;
    if (!result || PyErr_Occurred()) {
        PyErr_Clear();
        return Py_NewRef(Py_NotImplemented);
    }
    int ndim = shape_without(ir_type(trace->graph, value), u.axis, u.keepdims, shape);
    PyArray_Descr *descr = trace->values[value].descr;
    return (PyObject *)tracer_new_pending(trace, result, descr, ndim, shape, u.strides);
}

/* The tuple of several axes among the arguments, of a reduction that does not depend on the order: extremes,
** and what is whole; or NULL. */
static PyObject *
axes_of(const char *name, PyObject *const *args, size_t nargs, PyObject *kwnames)
{
    PyObject *axes = nargs == 2 ? args[1] : NULL;
    bool extreme = strcmp(name, "max") == 0 || strcmp(name, "min") == 0 ||
                   strcmp(name, "amax") == 0 || strcmp(name, "amin") == 0;
    if (nargs == 1 && kwnames && PyTuple_GET_SIZE(kwnames) == 1 &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "axis") == 0)
        axes = args[1];
    bool several =
        extreme && axes && PyTuple_CheckExact(axes) && PyTuple_GET_SIZE(axes) == 2;
    return several ? axes : NULL;
}

PyObject *
trace_unroll(Trace *trace, const char *name, PyObject *const *args, size_t nargs,
             PyObject *kwnames)
{
    PyObject *axes = axes_of(name, args, nargs, kwnames), *part;
    int first, second;
    if (!axes || !tracer_check(trace->state, args[0]))
        return unroll_axis(trace, name, args, nargs, kwnames);
    int ndim = ((Tracer *)args[0])->ndim;
    if (!trace_axis(PyTuple_GET_ITEM(axes, 0), ndim, &first) ||
        !trace_axis(PyTuple_GET_ITEM(axes, 1), ndim, &second) || first == second)
        return Py_NewRef(Py_NotImplemented);
    Unroll u = {.trace = trace, .axis = first < second ? first : second};
    int last = first < second ? second : first;
    Tracer *x = (Tracer *)args[0];
    if (x->kind == TRACER_array && tracer_moves(x))
        return x->shape[u.axis] > 0 && x->shape[u.axis] <= ELEMENTS_MAX
                   ? unroll_moving(&u, name, x, last)
                   : Py_NewRef(Py_NotImplemented);
    PyObject *inner = PyLong_FromLong(last), *outer = PyLong_FromLong(u.axis);
    PyObject *once[2] = {args[0], inner};
    part = inner && outer ? unroll_axis(trace, name, once, 2, NULL) : NULL;
    if (part && part != Py_NotImplemented) {
        PyObject *again[2] = {part, outer};
        Py_SETREF(part, unroll_axis(trace, name, again, 2, NULL));
    }
    Py_XDECREF(inner);
    Py_XDECREF(outer);
    return part;
}
