/* reduce.c - calls that are reductions or scans of the IR: sum, prod, max, min, any, all; argmax,
** argmin; cumsum, cumprod.
**
** They are called as any pure function; the graph gets the reduction's op instead of a call, so
** that a plan can take the producer along. Only the plain form counts: one array, `axis` and
** `keepdims`, the dtype that the op's rule gives.
*/
#include <string.h>

#include "trace/composed.h"
#include "trace/options.h"

/* The name of a method of a ufunc of NumPy; NULL: it is none. */
static const char *
ufunc_method(PyObject *callable)
{
    PyObject *self =
        PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : NULL;
    if (!self || Py_TYPE(self) != &PyUFunc_Type ||
        !trace_is_numpys(self, ((PyUFuncObject *)self)->name))
        return NULL;
    return ((PyCFunctionObject *)callable)->m_ml->ml_name;
}

static bool
op_of(PyObject *callable, IrOp *op, bool *of_ufunc)
{
    static const struct Row {
        const char *name;
        IrOp op;
    } rows[] =
        {
            {"sum", OP_sum},       {"prod", OP_prod},     {"max", OP_max},
            {"amax", OP_max},      {"min", OP_min},       {"amin", OP_min},
            {"any", OP_any},       {"all", OP_all},       {"argmax", OP_argmax},
            {"argmin", OP_argmin}, {"cumsum", OP_cumsum}, {"cumprod", OP_cumprod},
        },
      reduces[] =
          {
              {"add", OP_sum},
              {"multiply", OP_prod},
              {"maximum", OP_max},
              {"minimum", OP_min},
              {"logical_or", OP_any},
              {"logical_and", OP_all},
              {"bitwise_and", OP_bits_and},
              {"bitwise_or", OP_bits_or},
              {"bitwise_xor", OP_bits_xor},
          },
      accumulates[] = {
          {"add", OP_cumsum},
          {"multiply", OP_cumprod},
          {"maximum", OP_cummax},
          {"minimum", OP_cummin},
      };
    PyObject *name = PyObject_GetAttrString(callable, "__name__");
    const char *method = ufunc_method(callable);
    const struct Row *table = !method                             ? rows
                              : strcmp(method, "reduce") == 0     ? reduces
                              : strcmp(method, "accumulate") == 0 ? accumulates
                                                                  : NULL;
    size_t n = !method            ? sizeof rows / sizeof *rows
               : table == reduces ? sizeof reduces / sizeof *reduces
                                  : sizeof accumulates / sizeof *accumulates;
    bool found = false;
    if (method && table)
        Py_XSETREF(name,
                   PyObject_GetAttrString(PyCFunction_GET_SELF(callable), "__name__"));
    *of_ufunc = method != NULL;
    for (size_t i = 0; table && name && !found && i < n; i++) {
        found = PyUnicode_Check(name) &&
                PyUnicode_CompareWithASCIIString(name, table[i].name) == 0;
        if (found)
            *op = table[i].op;
    }
    PyErr_Clear();
    Py_XDECREF(name);
    return found;
}

bool
trace_axis(PyObject *object, int ndim, int *axis)
{
    int overflow = 0;
    long number = ndim;
    if (PyLong_CheckExact(object))
        number = PyLong_AsLongAndOverflow(object, &overflow);
    else if (PyArray_IsScalar(object, Integer) &&
             (number = PyArray_PyIntAsInt(object)) == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    if (overflow || number < -ndim || number >= ndim)
        return false;
    *axis = (int)(number < 0 ? number + ndim : number);
    return true;
}

static bool
is_reduction(const char *name)
{
    static const char *const names[] = {
        "sum",    "prod",   "max",     "min",     "any", "all",
        "amax",   "amin",   "mean",    "var",     "std", "argmax",
        "argmin", "cumsum", "cumprod", "average", "ptp", "count_nonzero"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return strncmp(name, "nan", 3) == 0;
}

PyObject **
trace_axis_asked(Trace *trace, const char *name, PyObject *const *args, size_t nargs,
                 PyObject *kwnames, size_t at, PyObject **number)
{
    size_t nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0,
           place = nargs > at ? at : nargs + nkw;
    *number = NULL;
    for (size_t i = 0; i < nkw && nargs <= at; i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, (Py_ssize_t)i),
                                             "axis") == 0)
            place = nargs + i;
    }
    if (place == nargs + nkw || !trace->live ||
        !tracer_check(trace->state, args[place]) || !is_reduction(name))
        return NULL;
    const Tracer *axis = (Tracer *)args[place];
    if (axis->kind == TRACER_array || axis->kind == TRACER_float ||
        !PyTypeNum_ISINTEGER(axis->descr->type_num))
        return NULL;
    PyObject **all = PyMem_Malloc((nargs + nkw) * sizeof *all);
    *number = all ? PyNumber_Index(args[place]) : PyErr_NoMemory();
    if (!*number) {
        PyMem_Free(all);
        return NULL;
    }
    memcpy(all, args, (nargs + nkw) * sizeof *all);
    all[place] = *number;
    return all;
}

static bool
add_axis(PyObject *object, int ndim, int64_t *axes, uint32_t *n)
{
    int axis;
    if (*n == NPY_MAXDIMS || !trace_axis(object, ndim, &axis))
        return false;
    axes[(*n)++] = axis;
    return true;
}

static bool
read_axes(PyObject *object, int ndim, int64_t *axes, uint32_t *n)
{
    if (object == Py_None) {
        for (int i = 0; i < ndim; i++)
            axes[(*n)++] = i;
        return true;
    }
    if (!PyTuple_CheckExact(object))
        return add_axis(object, ndim, axes, n);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
        if (!add_axis(PyTuple_GET_ITEM(object, i), ndim, axes, n))
            return false;
    }
    return true;
}

/* What a call says; `dtype`: a number of NumPy's, or -1; `initial`: a number of Python's, or NULL. */
typedef struct Asked {
    int64_t axes[NPY_MAXDIMS], keepdims;
    uint32_t naxes;
    int dtype;
    PyObject *initial;
} Asked;

/* The dtype that an argument names, of integers; false: it is another. */
static bool
read_dtype(PyObject *object, int *type)
{
    PyArray_Descr *descr = NULL;
    if (object == Py_None)
        return true;
    if (!(PyType_Check(object) || PyArray_DescrCheck(object) ||
          PyUnicode_Check(object)) ||
        !PyArray_DescrConverter(object, &descr)) {
        PyErr_Clear();
        return false;
    }
    *type = descr->type_num;
    bool known = PyTypeNum_ISINTEGER(descr->type_num) && trace_descr_plain(descr);
    Py_DECREF(descr);
    return known;
}

/* `axis`, `dtype` and `keepdims` of the call; false where it says more. */
static bool
read_arguments(PyObject *args, PyObject *kwargs, int ndim, bool of_ufunc, Asked *asked)
{
    PyObject *axis = of_ufunc ? NULL : Py_None, *key, *value;
    Py_ssize_t at = 0;
    asked->dtype = -1;
    if (PyTuple_GET_SIZE(args) > 2)
        return false;
    if (PyTuple_GET_SIZE(args) == 2)
        axis = PyTuple_GET_ITEM(args, 1);
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
        if (PyUnicode_CompareWithASCIIString(key, "axis") == 0 &&
            PyTuple_GET_SIZE(args) < 2)
            axis = value;
        else if (PyUnicode_CompareWithASCIIString(key, "keepdims") == 0 &&
                 PyBool_Check(value))
            asked->keepdims = value == Py_True;
        else if (PyUnicode_CompareWithASCIIString(key, "initial") == 0 &&
                 (PyFloat_CheckExact(value) || PyLong_CheckExact(value)))
            asked->initial = value;
        else if (PyUnicode_CompareWithASCIIString(key, "dtype") != 0 ||
                 !read_dtype(value, &asked->dtype))
            return false;
    }
    if (!axis) { /* the first */
        asked->axes[asked->naxes++] = 0;
        return true;
    }
    return read_axes(axis, ndim, asked->axes, &asked->naxes);
}

static bool
is_position(IrOp op)
{
    return op == OP_argmax || op == OP_argmin;
}

/* The dtype that NumPy's loop for the reduction works in, or DT_COUNT: not here. */
static IrDtype
loop_dtype(IrOp op, IrDtype dtype)
{
    IrKind kind = ir_dtype_kind(dtype);
    bool whole = kind == KIND_int || kind == KIND_uint || kind == KIND_bool;
    bool floating = dtype == DT_float32 || dtype == DT_float64;
    if ((op == OP_cumsum || op == OP_cumprod) &&
        (dtype == DT_float16 || kind == KIND_complex))
        return dtype;
    bool parts = dtype == DT_float16 || dtype == DT_complex64 || dtype == DT_complex128;
    if (op == OP_any || op == OP_all)
        return whole || floating || parts ? DT_boolean : DT_COUNT;
    if (parts && (op == OP_sum || op == OP_prod || op == OP_max || op == OP_min))
        return dtype;
    if (op == OP_bits_and || op == OP_bits_or || op == OP_bits_xor)
        return whole ? dtype : DT_COUNT;
    if (op == OP_cummax || op == OP_cummin)
        return whole || floating || dtype == DT_float16 ? dtype : DT_COUNT;
    if (dtype == DT_float16 && is_position(op))
        return DT_float32;
    if (!whole && !floating)
        return DT_COUNT;
    switch (op) {
    case OP_argmax:
    case OP_argmin:
        return dtype;
    case OP_sum:
    case OP_prod:
    case OP_cumsum:
    case OP_cumprod:
        return floating ? dtype : kind == KIND_uint ? DT_uint64 : DT_int64;
    default:
        return kind == KIND_bool ? DT_COUNT : dtype;
    }
}

bool
trace_lies_in_order(const Tracer *x)
{
    npy_intp packed = PyDataType_ELSIZE(x->descr);
    for (int d = x->ndim; d-- > 0; packed *= x->shape[d]) {
        if (x->shape[d] != 1 && x->strides[d] != packed)
            return false;
    }
    return true;
}

bool
trace_is_cheap_to_cast(const Tracer *x)
{
    enum { FEW = 65536 };
    return trace_lies_in_order(x) || PyArray_MultiplyList(x->shape, x->ndim) <= FEW;
}

/* The operand in the dtype of integers that the call asks for: what it is cut off from does not show. */
static IrValue
value_as_asked(Trace *trace, Tracer *operand, IrOp op, int type)
{
    IrValue value = tracer_value(operand);
    int own = operand->descr->type_num;
    bool adds = op == OP_sum || op == OP_prod || op == OP_cumsum || op == OP_cumprod;
    if (!value || !adds || !(PyTypeNum_ISINTEGER(own) || own == NPY_BOOL))
        return 0;
    if (own == type)
        return value;
    return trace_is_cheap_to_cast(operand) ? trace_cast(trace, value, type) : 0;
}

/* A copy without gaps, if it is that of which NumPy takes the sum or the product of all: of few floats that
** are no line, which it copies itself. 0: it is not. */
static IrValue
value_in_line(Trace *trace, Tracer *operand, IrOp op, uint32_t naxes)
{
    enum { AT_ONCE = 8192, NUMPY_2_3 = 0x14 /* C API version */ };
    int type = operand->descr->type_num;
    npy_intp strides[NPY_MAXDIMS];
    trace_layout_copy(operand->ndim, operand->shape, operand->strides,
                      PyDataType_ELSIZE(operand->descr),
                      PyDataType_ELSIZE(operand->descr), strides);
    if ((op != OP_sum && op != OP_prod) || naxes != (uint32_t)operand->ndim ||
        operand->ndim < 2 ||
        !(PyTypeNum_ISFLOAT(type) || (PyTypeNum_ISCOMPLEX(type) && op == OP_sum)) ||
        trace_repeats(operand) ||
        memcmp(strides, operand->strides, (size_t)operand->ndim * sizeof *strides) ==
            0 ||
        PyArray_GetNDArrayCFeatureVersion() < NUMPY_2_3)
        return 0;
    trace->extents = true;
    if (PyArray_MultiplyList(operand->shape, operand->ndim) > AT_ONCE)
        return 0;
    PyObject *copy = trace_copy(trace, operand, 'K');
    IrValue value =
        copy && tracer_check(trace->state, copy) ? tracer_value((Tracer *)copy) : 0;
    if (value)
        trace_value_hold(trace, value); /* the copy's tracer goes */
    Py_XDECREF(copy);
    PyErr_Clear();
    return value;
}

/* What is reduced: the operand, or its elements as NumPy's loop has them. */
static IrValue
reduced_value(Trace *trace, Tracer *operand, IrOp op, int asked, uint32_t naxes)
{
    if (asked >= 0)
        return value_as_asked(trace, operand, op, asked);
    IrValue value = value_in_line(trace, operand, op, naxes);
    if (value)
        return value;
    value = tracer_value(operand);
    IrDtype from = value ? ir_type(trace->graph, value).dtype : DT_COUNT;
    IrDtype to = value ? loop_dtype(op, from) : DT_COUNT;
    if (to == DT_COUNT || from == to)
        return to == DT_COUNT ? 0 : value;
    if (!trace_is_cheap_to_cast(operand))
        return 0;
    return trace_cast(trace, value,
                      to == DT_boolean   ? NPY_BOOL
                      : to == DT_float32 ? NPY_FLOAT
                      : to == DT_int64   ? NPY_LONG
                                         : NPY_ULONG);
}

/* Positions and scans are along one axis, or of what is flat. */
static bool
fits(IrOp op, uint32_t naxes, int64_t keepdims, const Tracer *operand)
{
    if (ir_op_class(op) == CLASS_scan)
        return naxes == 1 && !keepdims;
    if (is_position(op))
        return naxes == 1 ||
               (naxes == (uint32_t)operand->ndim && trace_lies_in_order(operand));
    return true;
}

/* The bytes of a number as an element of this dtype, in two words. False: no float or integer has it. */
static bool
element_of(PyObject *number, IrDtype dtype, int64_t *words)
{
    PyArray_Descr *descr = PyArray_DescrFromType(ir_dtype_numpy_char(dtype));
    bool whole = ir_dtype_kind(dtype) == KIND_int || ir_dtype_kind(dtype) == KIND_uint;
    PyObject *array = NULL, *back = NULL;
    if ((whole && PyLong_CheckExact(number)) || ir_dtype_kind(dtype) == KIND_float) {
        Py_INCREF(descr);
        array =
            PyArray_NewFromDescr(&PyArray_Type, descr, 0, NULL, NULL, NULL, 0, NULL);
    }
    Py_DECREF(descr);
    if (array && PyArray_SETITEM((PyArrayObject *)array,
                                 PyArray_DATA((PyArrayObject *)array), number) == 0)
        back = PyArray_GETITEM((PyArrayObject *)array,
                               PyArray_DATA((PyArrayObject *)array));
    bool same = back && (!whole || PyObject_RichCompareBool(back, number, Py_EQ) == 1);
    if (same)
        memcpy(words, PyArray_DATA((PyArrayObject *)array), ir_dtype_bytes(dtype));
    PyErr_Clear();
    Py_XDECREF(array);
    Py_XDECREF(back);
    return same;
}

static IrDtype
result_dtype(IrOp op, IrDtype dtype)
{
    return is_position(op) ? DT_int64 : dtype;
}

IrNode
trace_reduction_node(Trace *trace, PyObject *callable, PyObject *args, PyObject *kwargs,
                     Tracer *operand, const IrType *result)
{
    Asked asked = {.keepdims = 0};
    IrOp op;
    bool of_ufunc;
    if (operand->kind != TRACER_array || operand->ndim == 0 || !tracer_plain(operand) ||
        PyTuple_GET_SIZE(args) < 1 ||
        !trace_ref_check(trace->state, PyTuple_GET_ITEM(args, 0)) ||
        !op_of(callable, &op, &of_ufunc))
        return 0;
    if (!read_arguments(args, kwargs, operand->ndim, of_ufunc, &asked) ||
        !fits(op, asked.naxes, asked.keepdims, operand))
        return 0;
    IrValue value = reduced_value(trace, operand, op, asked.dtype, asked.naxes);
    if (!value || result_dtype(op, ir_type(trace->graph, value).dtype) != result->dtype)
        return 0;
    /* An equal one is another array, which may be written: this one is set apart. */
    int64_t serial = (int64_t)++trace->serial;
    uint32_t known = ir_nnodes(trace->graph);
    bool scan = ir_op_class(op) == CLASS_scan;
    int64_t words[2] = {0};
    if (asked.initial &&
        (scan || is_position(op) ||
         !element_of(asked.initial, ir_type(trace->graph, value).dtype, words)))
        return 0;
    IrAttr attrs[5] = {{.key = scan ? "axis" : "axes",
                        .kind = ATTR_ints,
                        .count = asked.naxes,
                        .ints = asked.axes}};
    uint32_t nattrs = 1;
    if (asked.keepdims)
        attrs[nattrs++] = (IrAttr){
            .key = "keepdims", .kind = ATTR_ints, .count = 1, .ints = &asked.keepdims};
    if (asked.initial)
        attrs[nattrs++] =
            (IrAttr){.key = "initial", .kind = ATTR_ints, .count = 2, .ints = words};
    if (asked.dtype >= 0)
        attrs[nattrs++] = (IrAttr){
            .key = "dtype", .kind = ATTR_text, .text = ir_dtype_name(result->dtype)};
    IrNode node = ir_node_typed(trace->graph, op, &value, 1, attrs, nattrs, result, 1);
    if (node && node < known) {
        attrs[nattrs++] =
            (IrAttr){.key = "library", .kind = ATTR_ints, .count = 1, .ints = &serial};
        node = ir_node_typed(trace->graph, op, &value, 1, attrs, nattrs, result, 1);
    }
    if (node) /* who calls NumPy gives it what the node reads */
        ((TraceRef *)PyTuple_GET_ITEM(args, 0))->value = value;
    return node;
}
