/* nest_call.c - calls in a nest: builtins, functions of math, ufuncs on numbers. */
#include <math.h>
#include <string.h>

#include "trace/nest_draws.h"
#include "trace/nest_lists.h"

#define FAR ((int64_t)1 << 61) /* sums of two of these are no overflow */

typedef struct Arguments {
    NestValue items[NEST_PARTS_MAX];
    uint32_t n;
} Arguments;

/* -- What loops go over ------------------------------------------------------------ */

static NestValue
make_range(NestMaker *m, const Arguments *a)
{
    NestValue parts[3] = {nest_const_int(m, 0), nest_const_int(m, 0),
                          nest_const_int(m, 1)};
    if (a->n < 1 || a->n > 3)
        return nest_fail(m, "range() of so many arguments");
    for (uint32_t i = 0; i < a->n && !m->failed; i++) {
        const NestValue *x = &a->items[i];
        NestValue *part = &parts[a->n == 1 ? 1 : i];
        bool whole = x->kind == NEST_int || x->kind == NEST_bool ||
                     ((x->kind == NEST_scalar || x->kind == NEST_either) &&
                      ir_dtype_kind(x->dtype) != KIND_float && x->dtype != DT_boolean);
        if (!whole)
            return nest_fail(m, "range() of what is no int");
        NestValue number = nest_to_int(m, x);
        *part = nest_bounded(m, &number, -FAR, FAR);
    }
    if (m->failed)
        return nest_fail(m, NULL);
    if (parts[2].low == 0 && parts[2].high == 0)
        return nest_fail(m, "range() in steps of 0");
    if (parts[2].high >= 0 &&
        parts[2].low <= 0) /* taken to go up: the code is made for one way */
        parts[2] = nest_bounded(m, &parts[2], 1, FAR);
    return nest_tuple(m, NEST_range, parts, 3);
}

static bool
is_iterable(const NestValue *x)
{
    return x->kind == NEST_range || x->kind == NEST_zip || x->kind == NEST_array ||
           x->kind == NEST_listed || nest_has_items(x);
}

static NestValue
make_zip(NestMaker *m, const Arguments *a)
{
    NestValue items[NEST_PARTS_MAX];
    for (uint32_t i = 0; i < a->n; i++) {
        items[i] = nest_listed(m, &a->items[i]);
        if (!is_iterable(&items[i]))
            return nest_fail(m, "zip() of this");
    }
    return a->n ? nest_tuple(m, NEST_zip, items, a->n) : nest_fail(m, "zip()");
}

static NestValue
make_enumerate(NestMaker *m, const Arguments *a)
{
    NestValue parts[3] = {nest_const_int(m, 0), nest_const_int(m, FAR),
                          nest_const_int(m, 1)};
    NestValue over = a->n ? nest_listed(m, &a->items[0]) : parts[0];
    if (a->n < 1 || a->n > 2 || !is_iterable(&over))
        return nest_fail(m, "enumerate() of this");
    if (a->n == 2) {
        if (a->items[1].kind != NEST_int || a->items[1].low < -1000000 ||
            a->items[1].high > 1000000)
            return nest_fail(m, "enumerate() from a number that is not known");
        parts[0] = a->items[1];
    }
    NestValue pair[2] = {nest_tuple(m, NEST_range, parts, 3), over};
    return nest_tuple(m, NEST_zip, pair, 2);
}

static NestValue
make_reversed(NestMaker *m, const Arguments *a)
{
    if (a->n != 1 || a->items[0].kind != NEST_range)
        return nest_fail(m, "reversed() of this");
    const NestValue *parts = a->items[0].tuple->items;
    NestValue minus = nest_const_int(m, -1), back[3];
    if (parts[2].low != parts[2].high || (parts[2].low != 1 && parts[2].low != -1))
        return nest_fail(m, "reversed() of a range in steps");
    /* start … stop in steps of s, from the last on: stop - s … start - s in steps of -s */
    back[0] = nest_binary(m, OPERATOR_sub, &parts[1], &parts[2]);
    back[1] = nest_binary(m, OPERATOR_sub, &parts[0], &parts[2]);
    back[2] = nest_binary(m, OPERATOR_mul, &parts[2], &minus);
    return m->failed ? nest_fail(m, NULL) : nest_tuple(m, NEST_range, back, 3);
}

/* -- Builtins ---------------------------------------------------------------------- */

/* max(a, b) is b if b > a else a. */
static NestValue
extreme(NestMaker *m, const Arguments *a, OperatorId id)
{
    NestValue best = a->items[0];
    if (a->n < 2)
        return nest_fail(m, "max() or min() of one argument");
    for (uint32_t i = 1; i < a->n && !m->failed; i++) {
        const NestValue *x = &a->items[i];
        NestValue better = nest_compare(m, id, x, &best);
        NestValue truth = m->failed ? better : nest_truth(m, &better);
        NestValue joined = nest_join(m, x, &best, false);
        if (m->failed || !nest_is_number(&joined))
            return nest_fail(m, "max() or min() of numbers of several kinds");
        if (nest_is_complex(&joined))
            return nest_fail(m, "max() or min() of complex numbers");
        if (joined.kind == NEST_int) {
            bool up = id == OPERATOR_gt;
            joined.low = (x->low > best.low) == up ? x->low : best.low;
            joined.high = (x->high > best.high) == up ? x->high : best.high;
        }
        IrValue operands[3] = {truth.value, nest_as(m, x, &joined),
                               nest_as(m, &best, &joined)};
        joined.value = nest_node(m, OP_select, operands, 3, DT_COUNT);
        joined.known &= joined.kind == NEST_either;
        if (joined.kind == NEST_either) {
            operands[1] = nest_tag(m, x);
            operands[2] = nest_tag(m, &best);
            joined.tag = nest_node(m, OP_select, operands, 3, DT_COUNT);
        }
        best = joined;
    }
    return best;
}

static NestValue
length(NestMaker *m, const Arguments *a)
{
    NestValue listed = a->n ? nest_listed(m, &a->items[0]) : nest_const_int(m, 0);
    if (a->n == 1 && listed.kind == NEST_listed)
        return nest_extent_int(m, &listed.view->extents[0]);
    if (a->n == 1 && listed.kind == NEST_row)
        return nest_row_length(m, &listed);
    if (a->n == 1 && nest_is_list(&a->items[0]))
        return nest_list_length(m, a->items[0].object);
    if (a->n != 1 || (a->items[0].kind != NEST_array && !nest_has_items(&a->items[0])))
        return nest_fail(m, "len() of this");
    if (nest_has_items(&a->items[0]))
        return nest_const_int(m, a->items[0].tuple->n);
    if (nest_ndim(&a->items[0]) == 0 || nest_mask_of(&a->items[0]))
        return nest_fail(m, "len() of this");
    return nest_extent_int(m, &nest_extents(&a->items[0])[0]);
}

bool
nest_is_builtin(PyObject *callable, const char *name)
{
    PyObject *builtins = PyEval_GetBuiltins(), *own;
    own = builtins ? PyDict_GetItemString(builtins, name) : NULL;
    return own == callable;
}

/* complex(x), complex(re, im) of real numbers */
static NestValue
make_complex(NestMaker *m, const Arguments *a)
{
    NestValue parts[2] = {nest_const_float(m, 0), nest_const_float(m, 0)};
    if (a->n == 1 && a->items[0].kind == NEST_complex)
        return a->items[0];
    for (uint32_t i = 0; i < a->n && !m->failed; i++)
        parts[i] = nest_to_float(m, &a->items[i]);
    return m->failed
               ? nest_fail(m, NULL)
               : nest_pair(NEST_complex, DT_complex128, parts[0].value, parts[1].value);
}

static NestValue
builtin(NestMaker *m, PyObject *callable, const Arguments *a, bool *known)
{
    const NestValue *x = &a->items[0];
    *known = true;
    if (callable == (PyObject *)&PyRange_Type)
        return make_range(m, a);
    if (callable == (PyObject *)&PyEnum_Type)
        return make_enumerate(m, a);
    if (callable == (PyObject *)&PyReversed_Type)
        return make_reversed(m, a);
    if (nest_is_builtin(callable, "zip"))
        return make_zip(m, a);
    if (nest_is_builtin(callable, "len"))
        return length(m, a);
    if (nest_is_builtin(callable, "max"))
        return extreme(m, a, OPERATOR_gt);
    if (nest_is_builtin(callable, "min"))
        return extreme(m, a, OPERATOR_lt);
    if (a->n == 1 && nest_is_builtin(callable, "abs"))
        return nest_is_array(x)
                   ? nest_lazy(m, NEST_operator, OPERATOR_abs, NULL, DT_COUNT, x, 1)
                   : nest_unary(m, OPERATOR_abs, x);
    if (a->n == 1 && callable == (PyObject *)&PyLong_Type)
        return nest_to_int(m, x);
    if (a->n == 1 && callable == (PyObject *)&PyFloat_Type)
        return nest_to_float(m, x);
    if (callable == (PyObject *)&PyComplex_Type && (a->n == 1 || a->n == 2))
        return make_complex(m, a);
    if (a->n == 1 && callable == (PyObject *)&PyBool_Type)
        return nest_truth(m, x);
    *known = false;
    return *x;
}

/* -- math -------------------------------------------------------------------------- */

/* Functions of the module math that are C's, with its exceptions where C gives inf or NaN. */
static const struct {
    const char *name;
    uint32_t n;
} of_libm[] = {
    {"exp", 1},   {"exp2", 1},     {"expm1", 1}, {"log", 1},  {"log2", 1}, {"log10", 1},
    {"log1p", 1}, {"sin", 1},      {"cos", 1},   {"tan", 1},  {"asin", 1}, {"acos", 1},
    {"atan", 1},  {"atan2", 2},    {"sinh", 1},  {"cosh", 1}, {"tanh", 1}, {"asinh", 1},
    {"acosh", 1}, {"atanh", 1},    {"pow", 2},   {"fmod", 2}, {"cbrt", 1}, {"erf", 1},
    {"erfc", 1},  {"copysign", 2},
};

/* Those that are an operation of the IR on a float. */
static const struct {
    const char *name;
    IrOp op;
    bool whole, truth; /* its result is an int; a bool */
} of_ops[] = {
    {"sqrt", OP_sqrt, false, false},  {"fabs", OP_absolute, false, false},
    {"floor", OP_floor, true, false}, {"ceil", OP_ceil, true, false},
    {"trunc", OP_trunc, true, false}, {"isnan", OP_isnan, false, true},
    {"isinf", OP_isinf, false, true}, {"isfinite", OP_isfinite, false, true},
};

static NestValue
math_operation(NestMaker *m, IrOp op, bool whole, bool truth, const NestValue *x)
{
    NestValue number = nest_to_float(m, x), zero = nest_const_float(m, 0);
    if (whole && (x->kind == NEST_int || x->kind == NEST_bool))
        return nest_to_int(m, x);
    if (op == OP_sqrt && !m->failed)
        nest_check(m, nest_compare(m, OPERATOR_ge, &number, &zero).value);
    IrValue value = nest_node(m, op, &number.value, 1, DT_COUNT);
    if (truth)
        return nest_of(NEST_bool, DT_boolean, value);
    NestValue made = nest_of(NEST_float, DT_float64, value);
    return whole && !m->failed ? nest_to_int(m, &made) : made;
}

static NestValue
math_function(NestMaker *m, const char *name, const Arguments *a)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (!nest_is_number(&a->items[i]))
            return nest_fail(m, "a function of math on what is no number");
    }
    if (strcmp(name, "trunc") == 0 && a->n == 1 && a->items[0].kind >= NEST_scalar &&
        (a->items[0].kind == NEST_either || a->items[0].dtype != DT_float64))
        return nest_fail(m, "trunc() of NumPy's numbers");
    for (size_t i = 0; i < sizeof of_ops / sizeof *of_ops; i++) {
        if (a->n == 1 && strcmp(name, of_ops[i].name) == 0)
            return math_operation(m, of_ops[i].op, of_ops[i].whole, of_ops[i].truth,
                                  &a->items[0]);
    }
    bool degrees = strcmp(name, "degrees") == 0;
    if (a->n == 1 && (degrees || strcmp(name, "radians") == 0)) {
        NestValue x = nest_to_float(m, &a->items[0]);
        NestValue by = nest_const_float(m, degrees ? 180.0 / M_PI : M_PI / 180.0);
        return m->failed ? x : nest_float_binary(m, OPERATOR_mul, &x, &by);
    }
    for (size_t i = 0; i < sizeof of_libm / sizeof *of_libm; i++) {
        if (a->n == of_libm[i].n && strcmp(name, of_libm[i].name) == 0)
            return nest_library(m, name, a->items, a->n);
    }
    return nest_fail(m, "this function of math");
}

static bool
is_math(PyObject *callable)
{
    PyObject *self =
        PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : NULL;
    const char *name = self && PyModule_Check(self) ? PyModule_GetName(self) : NULL;
    if (!name)
        PyErr_Clear();
    return name && strcmp(name, "math") == 0;
}

/* -- NumPy ------------------------------------------------------------------------- */

/* The number as an integer of the dtype: NumPy's integers wrap around, Python's numbers and what floats may be
** have to fit. */
static NestValue
scalar_whole(NestMaker *m, IrDtype dtype, const NestValue *x)
{
    NestValue made = nest_of(NEST_scalar, dtype, 0), number = *x;
    IrKind to = ir_dtype_kind(dtype), from = ir_dtype_kind(nest_dtype(x));
    unsigned bits = 8 * (unsigned)ir_dtype_bytes(dtype) - (to == KIND_int);
    int64_t high = bits > 62 ? INT64_MAX : ((int64_t)1 << bits) - 1;
    if (x->kind == NEST_either)
        return nest_fail(m, "a scalar of what may be Python's");
    if (x->kind != NEST_scalar || from == KIND_float) {
        number = nest_to_int(m, x);
        number = m->failed
                     ? number
                     : nest_bounded(m, &number, to == KIND_uint ? 0 : -high - 1, high);
    }
    made.value = nest_as(m, &number, &made);
    return made;
}

/* np.float64(x) and the like. */
static NestValue
scalar_type(NestMaker *m, PyObject *type, const NestValue *x)
{
    PyArray_Descr *descr = PyArray_DescrFromTypeObject(type);
    IrDtype dtype = descr ? trace_ir_type(descr, 0, NULL, NULL).dtype : DT_object;
    Py_XDECREF(descr);
    PyErr_Clear();
    NestValue made = nest_of(NEST_scalar, dtype, 0);
    IrKind to = ir_dtype_kind(dtype);
    if (to == KIND_complex || nest_is_complex(x) || !nest_is_number(x))
        return nest_fail(m, "a scalar of this type");
    if (dtype == DT_float32 || dtype == DT_float64 || nest_dtype(x) == dtype)
        made.value = nest_as(m, x, &made);
    else if (to == KIND_bool)
        made.value = nest_truth(m, x).value;
    else if (to == KIND_int || to == KIND_uint)
        return scalar_whole(m, dtype, x);
    else
        return nest_fail(m, "a scalar of this type");
    return made;
}

/* -- NumPy's functions on arrays ---------------------------------------------------- */

/* np.zeros(shape) and the like, of float64. */
static NestValue
create(NestMaker *m, const NestTree *at, const NestValue *shape, IrDtype dtype,
       int64_t fill)
{
    NestExtent extents[NEST_INDICES_MAX];
    const NestValue *items = nest_has_items(shape) ? shape->tuple->items : shape;
    uint32_t n = nest_has_items(shape) ? shape->tuple->n : 1;
    if (n == 0 || n > NEST_INDICES_MAX)
        return nest_fail(m, "an array of so many axes");
    for (uint32_t d = 0; d < n && !m->failed; d++) {
        if (items[d].kind != NEST_int)
            return nest_fail(m, "a shape that is no int");
        NestValue extent = nest_bounded(m, &items[d], 0, INT64_MAX);
        extents[d] = (NestExtent){nest_index(m, &extent), extent.low, extent.high};
    }
    NestValue made = m->failed ? *shape : nest_scratch(m, at, dtype, n, extents);
    NestValue number = fill ? nest_const_float(m, 1) : nest_const_float(m, 0);
    NestValue type = nest_of(NEST_scalar, dtype, 0);
    if (!m->failed && ir_dtype_kind(dtype) != KIND_float) {
        number = nest_const_int(m, fill);
        if (dtype == DT_boolean)
            number = nest_const_bool(m, fill);
    }
    if (m->failed)
        return nest_fail(m, NULL);
    type.value = nest_as(m, &number, &type);
    nest_fill(m, NULL, &made, &type, NULL);
    return m->failed ? nest_fail(m, NULL) : made;
}

static NestValue
create_like(NestMaker *m, const NestTree *at, const NestValue *like, int64_t fill)
{
    NestValue items[NEST_INDICES_MAX];
    if (!nest_is_array(like) || nest_ndim(like) == 0 || nest_mask_of(like))
        return nest_fail(m, "an array like this");
    for (uint32_t d = 0; d < nest_ndim(like); d++)
        items[d] = nest_extent_int(m, &nest_extents(like)[d]);
    NestValue shape = nest_tuple(m, NEST_tuple, items, nest_ndim(like));
    return m->failed ? shape : create(m, at, &shape, like->dtype, fill);
}

static NestValue
where(NestMaker *m, const Arguments *a)
{
    const NestValue *x = &a->items[1], *y = &a->items[2];
    if (x->dtype != y->dtype || x->kind == NEST_either || y->kind == NEST_either ||
        x->dtype >= DT_COUNT)
        return nest_fail(m, "where() of several dtypes");
    return nest_lazy(m, NEST_select, x->dtype, NULL, x->dtype, a->items, 3);
}

static NestValue
copied(NestMaker *m, const NestTree *at, const NestValue *x)
{
    return nest_ndim(x) ? nest_materialized(m, at, x)
                        : nest_fail(m, "a copy of a number");
}

/* np.array of a list of numbers of one kind. */
static NestValue
array_of(NestMaker *m, const NestTree *at, const NestValue *list)
{
    NestValue n = nest_const_int(m, list->tuple->n);
    IrDtype dtype = nest_dtype(&list->tuple->items[0]);
    NestExtent extent = {nest_index(m, &n), n.low, n.low};
    for (uint32_t i = 0; i < list->tuple->n; i++) {
        const NestValue *item = &list->tuple->items[i];
        if (!nest_is_number(item) || item->kind == NEST_either || item->dtype != dtype)
            return nest_fail(m, "an array of several kinds");
    }
    NestValue made = nest_scratch(m, at, dtype, 1, &extent);
    if (!m->failed)
        nest_write(m, at, &made, list);
    return m->failed ? nest_fail(m, NULL) : made;
}

/* A function of NumPy's by its name; on arrays, or making them. */
static NestValue
numpy_function(NestMaker *m, const NestTree *tree, const char *name, const Arguments *a)
{
    const NestValue *x = &a->items[0];
    bool zeros = strncmp(name, "zeros", 5) == 0 || strncmp(name, "empty", 5) == 0;
    bool ones = strncmp(name, "ones", 4) == 0;
    if (a->n == 1 && (zeros || ones)) {
        const char *rest = name + (zeros ? 5 : 4);
        if (*rest == 0)
            return create(m, tree, x, DT_float64, ones);
        if (strcmp(rest, "_like") == 0)
            return create_like(m, tree, x, ones);
    }
    if (a->n == 1 && strcmp(name, "array") == 0 && nest_has_items(x) && x->tuple->n)
        return array_of(m, tree, x);
    if (a->n == 2 && strcmp(name, "dot") == 0 && nest_is_array(x))
        return nest_product(m, tree, x, &a->items[1], true);
    if (a->n == 3 && strcmp(name, "where") == 0 &&
        (nest_is_array(x) || nest_is_array(&a->items[1]) ||
         nest_is_array(&a->items[2])))
        return where(m, a);
    if (a->n == 1 && strcmp(name, "flip") == 0 && x->kind == NEST_array &&
        nest_ndim(x) == 1)
        return nest_reversed(m, x, 0);
    if (a->n == 1 && strcmp(name, "transpose") == 0 && x->kind == NEST_array)
        return nest_transposed(m, x);
    if (a->n == 1 && strcmp(name, "copy") == 0 && nest_is_array(x))
        return copied(m, tree, x);
    if (a->n == 1 && nest_is_array(x)) {
        NestValue made = nest_reduction(m, tree, name, x);
        if (made.kind != NEST_unbound || m->failed)
            return made;
    }
    return nest_fail(m, "a call of this function on these");
}

/* A method of an array. */
static NestValue
method(NestMaker *m, const NestTree *tree, const NestValue *x, const char *name,
       const Arguments *a)
{
    if (a->n == 0 && strcmp(name, "copy") == 0)
        return copied(m, tree, x);
    if (a->n == 0 && strcmp(name, "transpose") == 0 && x->kind == NEST_array)
        return nest_transposed(m, x);
    if (a->n == 1 && strcmp(name, "dot") == 0)
        return nest_product(m, tree, x, &a->items[0], true);
    if (a->n == 0) {
        NestValue made = nest_reduction(m, tree, name, x);
        if (made.kind != NEST_unbound || m->failed)
            return made;
    }
    return nest_fail(m, "this method");
}

static bool
arguments(NestMaker *m, const NestTree *tree, Arguments *a)
{
    a->n = tree->n - 1;
    if (a->n > NEST_PARTS_MAX)
        nest_fail(m, "a call of so many arguments");
    for (uint32_t i = 0; i < a->n && !m->failed; i++)
        a->items[i] = nest_expression(m, tree->parts[i + 1]);
    m->line = tree->line;
    return !m->failed;
}

static bool
any_array(const Arguments *a)
{
    for (uint32_t i = 0; i < a->n; i++) {
        if (nest_is_array(&a->items[i]))
            return true;
    }
    return false;
}

/* Builtins that are Python functions here: they go through the elements in turn. */
static bool
has_form(PyObject *callable)
{
    return nest_is_builtin(callable, "sum") || nest_is_builtin(callable, "any") ||
           nest_is_builtin(callable, "all");
}

/* True if the callable is what NumPy has under its name: others may be called the same. */
static bool
is_numpys(PyObject *callable, const char *name)
{
    PyObject *numpy = PyImport_AddModule("numpy");
    PyObject *own = numpy ? PyObject_GetAttrString(numpy, name) : NULL;
    PyErr_Clear();
    Py_XDECREF(own);
    return own && own == callable;
}

static NestValue
call_object(NestMaker *m, const NestTree *tree, PyObject *callable, const Arguments *a)
{
    bool known;
    const char *drawn;
    PyObject *source = nest_source_of(m, callable, &drawn);
    if (source)
        return nest_draw(m, tree, source, drawn, a->items, a->n);
    if (nest_has_keywords(tree) && !nest_is_builtin(callable, "float"))
        return nest_fail(m, "a call with keywords");
    NestValue result = builtin(m, callable, a, &known);
    if (known)
        return result;
    if (has_form(callable))
        return nest_inline(m, tree, callable, a->items, a->n);
    if (PyFunction_Check(callable) &&
        !PyDict_GetItemWithError(m->trace->state->table, callable))
        return nest_inline(m, tree, callable, a->items, a->n);
    if (Py_TYPE(callable) == &PyUFunc_Type && a->n == 2 &&
        strcmp(((PyUFuncObject *)callable)->name, "matmul") == 0)
        return nest_product(m, tree, &a->items[0], &a->items[1], false);
    if (Py_TYPE(callable) == m->trace->state->function_type) {
        PyObject *wrapped = PyObject_GetAttrString(callable, "__wrapped__");
        bool plain = wrapped && PyFunction_Check(wrapped) &&
                     !trace_other_options(m->trace, callable) &&
                     PyList_Append(m->held, wrapped) == 0;
        Py_XDECREF(wrapped);
        PyErr_Clear();
        return plain ? nest_inline(m, tree, wrapped, a->items, a->n)
                     : nest_fail(m, "a call of this");
    }
    if (is_math(callable))
        return math_function(m, ((PyCFunctionObject *)callable)->m_ml->ml_name, a);
    if (Py_TYPE(callable) == &PyUFunc_Type)
        return any_array(a) && a->n <= 3
                   ? nest_lazy(m, NEST_ufunc_, 0, callable, DT_COUNT, a->items, a->n)
                   : nest_ufunc(m, callable, a->items, a->n, false);
    if (a->n == 1 && PyType_Check(callable) && nest_is_number(&a->items[0]) &&
        PyType_IsSubtype((PyTypeObject *)callable, &PyGenericArrType_Type))
        return scalar_type(m, callable, &a->items[0]);
    PyObject *table = m->trace->state->table;
    PyObject *name = table && PyDict_GetItemWithError(table, callable)
                         ? PyObject_GetAttrString(callable, "__name__")
                         : NULL;
    PyErr_Clear();
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    result = text && is_numpys(callable, text) ? numpy_function(m, tree, text, a)
                                               : nest_fail(m, "a call of this");
    Py_XDECREF(name);
    return result;
}

NestValue
nest_call(NestMaker *m, const NestTree *tree)
{
    const NestTree *callee = tree->parts[0];
    Arguments a = {.n = 0};
    if (callee->kind == SYNTAX_attribute) {
        NestValue owner = nest_expression(m, callee->parts[0]);
        if (m->failed)
            return owner;
        if (nest_is_complex(&owner) && tree->n == 1 &&
            PyUnicode_CompareWithASCIIString(callee->value, "conjugate") == 0) {
            owner.imag = nest_node(m, OP_negative, &owner.imag, 1, DT_COUNT);
            return owner;
        }
        if (owner.kind == NEST_object && nest_is_source(owner.object))
            return arguments(m, tree, &a)
                       ? nest_draw(m, tree, owner.object,
                                   PyUnicode_AsUTF8(callee->value), a.items, a.n)
                       : nest_fail(m, NULL);
        if (nest_is_array(&owner) && !nest_has_keywords(tree))
            return arguments(m, tree, &a)
                       ? method(m, tree, &owner, PyUnicode_AsUTF8(callee->value), &a)
                       : nest_fail(m, NULL);
    }
    NestValue function = nest_expression(m, callee);
    if (m->failed)
        return function;
    if (function.kind != NEST_object)
        return nest_fail(m, "a call of this");
    return arguments(m, tree, &a) ? call_object(m, tree, function.object, &a)
                                  : nest_fail(m, NULL);
}
