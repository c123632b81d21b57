/* shape.c - broadcasting, and the shape rules named in ops.def.
**
** A rule either finds the result's dimensions, or, where types are given (text,
** symbolic extents), checks those. Attributes hold integers only: a shape with other
** extents is given by the result type, and the attribute is left out.
**
** Law 1: extents broadcast when they are equal or one of them is the constant 1;
**        nothing is assumed of symbols.
** Law 2: a rule checks everything an executor relies on: axes, windows, numbers of
**        elements.
*/
#include <string.h>

#include "ir/graph.h"

/* -- Helpers ---------------------------------------------------------------------- */

static bool
fail(Infer *at, IrError error)
{
    return ir_fail_operands(at->g, error, at->op, at->operands, at->noperands);
}

static const IrType *
operand(const Infer *at, uint32_t i)
{
    return ir_type_of(at->g, at->operands[i]);
}

static const IrAttr *
ints(const Infer *at, const char *key)
{
    const IrAttr *attr = ir_attr_find(at->attrs, at->nattrs, key);

    return attr && attr->kind == ATTR_ints ? attr : NULL;
}

/* Every attribute is an int list named in `keys` (space before and after each). */
static bool
only(Infer *at, const char *keys)
{
    for (uint32_t i = 0; i < at->nattrs; i++) {
        const char *found = strstr(keys, at->attrs[i].key);
        size_t length = strlen(at->attrs[i].key);
        if (!found || found[length] != ' ' || (found > keys && found[-1] != ' '))
            return fail(at, ERROR_attr);
    }
    return true;
}

static void
set_dims(Infer *at, const IrDim *dims, uint32_t ndim)
{
    at->result.dims = dims;
    at->result.ndim = ndim;
}

static bool
set_ints(Infer *at, const IrAttr *attr)
{
    if (attr->count > IR_MAX_NDIM)
        return fail(at, ERROR_ndim);
    for (uint32_t i = 0; i < attr->count; i++) {
        if (attr->ints[i] < 0)
            return fail(at, ERROR_extent);
        at->dims[i] = ir_dim(attr->ints[i]);
    }
    set_dims(at, at->dims, attr->count);
    return true;
}

static bool
is_one(IrDim dim)
{
    return dim.kind == DIM_integer && dim.value == 1;
}

/* Known number of elements, or -1. */
static int64_t
elements(const IrDim *dims, uint32_t ndim)
{
    int64_t n = 1;

    for (uint32_t i = 0; i < ndim; i++)
        if (dims[i].kind != DIM_integer || __builtin_mul_overflow(n, dims[i].value, &n))
            return -1;
    return n;
}

/* -- Elementwise ------------------------------------------------------------------ */

/* Broadcasts `type` into the result's dims. */
static bool
broadcast_with(Infer *at, const IrType *type)
{
    uint32_t shift, ndim = at->result.ndim;

    if (ir_type_same_dims(&at->result, type) || !type->ndim)
        return true;
    if (type->ndim > ndim) {
        shift = type->ndim - ndim;
        memmove(at->dims + shift, at->result.dims, ndim * sizeof *at->dims);
        for (uint32_t i = 0; i < shift; i++)
            at->dims[i] = ir_dim(1);
        ndim = type->ndim;
    } else if (at->result.dims != at->dims) {
        memcpy(at->dims, at->result.dims, ndim * sizeof *at->dims);
    }
    set_dims(at, at->dims, ndim);
    shift = ndim - type->ndim;
    for (uint32_t i = shift; i < ndim; i++) {
        IrDim dim = type->dims[i - shift];
        if (is_one(at->dims[i]))
            at->dims[i] = dim;
        else if (!is_one(dim) && !ir_dim_equal(dim, at->dims[i]))
            return fail(at, ERROR_broadcast);
    }
    return true;
}

static bool
shape_elementwise(Infer *at)
{
    const IrType *first = operand(at, 0);

    set_dims(at, first->dims, first->ndim);
    at->result.layout = first->layout;
    for (uint32_t i = 1; i < at->noperands; i++)
        if (!broadcast_with(at, operand(at, i)))
            return false;
    return true;
}

/* -- Reductions, scans ------------------------------------------------------------ */

static bool
shape_reduce(Infer *at)
{
    const IrType *x = operand(at, 0);
    const IrAttr *axes = ints(at, "axes"), *keep = ints(at, "keepdims");
    bool reduced[IR_MAX_NDIM] = {false},
         keepdims = keep && keep->count && keep->ints[0];
    bool position = ir_op_type_rule(at->op) == TY_position;
    uint32_t n = 0;

    if (!only(at, " axes keepdims dtype initial library wide "))
        return false;
    if (position && axes && axes->count != 1 && axes->count != x->ndim)
        return fail(at, ERROR_axis);
    for (uint32_t i = 0; axes && i < axes->count; i++) {
        int64_t axis = axes->ints[i];
        if (axis < 0 || axis >= x->ndim || reduced[axis])
            return fail(at, ERROR_axis);
        reduced[axis] = true;
    }
    for (uint32_t i = 0; i < x->ndim; i++) {
        if (axes && !reduced[i])
            at->dims[n++] = x->dims[i];
        else if (keepdims)
            at->dims[n++] = ir_dim(1);
    }
    set_dims(at, at->dims, n);
    return true;
}

static bool
shape_scan(Infer *at)
{
    const IrType *x = operand(at, 0);
    const IrAttr *axis = ints(at, "axis");

    if (!only(at, " axis dtype library "))
        return false;
    if (!axis || axis->count != 1)
        return fail(at, ERROR_attr);
    if (axis->ints[0] < 0 || axis->ints[0] >= x->ndim)
        return fail(at, ERROR_axis);
    set_dims(at, x->dims, x->ndim);
    return true;
}

/* -- Moves ------------------------------------------------------------------------ */

static bool
shape_transpose(Infer *at)
{
    const IrType *x = operand(at, 0);
    const IrAttr *axes = ints(at, "axes");
    bool taken[IR_MAX_NDIM] = {false};

    if (!only(at, " axes "))
        return false;
    if (!axes || axes->count != x->ndim)
        return fail(at, ERROR_attr);
    for (uint32_t i = 0; i < x->ndim; i++) {
        int64_t axis = axes->ints[i];
        if (axis < 0 || axis >= x->ndim || taken[axis])
            return fail(at, ERROR_axis);
        taken[axis] = true;
        at->dims[i] = x->dims[axis];
    }
    set_dims(at, at->dims, x->ndim);
    return true;
}

/* The shape an attribute or the given type names. */
static bool
named_shape(Infer *at, const char *key)
{
    const IrAttr *shape = ints(at, key);

    if (shape)
        return set_ints(at, shape);
    if (!at->given)
        return fail(at, ERROR_attr);
    set_dims(at, at->given->dims, at->given->ndim);
    return true;
}

static bool
shape_reshape(Infer *at)
{
    const IrType *x = operand(at, 0);
    int64_t before, after;

    if (!only(at, " shape ") || !named_shape(at, "shape"))
        return false;
    before = elements(x->dims, x->ndim);
    after = elements(at->result.dims, at->result.ndim);
    return before == after || before < 0 || after < 0 || fail(at, ERROR_elements);
}

static bool
shape_broadcast(Infer *at)
{
    const IrType *x = operand(at, 0);
    uint32_t shift;

    if (!only(at, " shape ") || !named_shape(at, "shape"))
        return false;
    if (at->result.ndim < x->ndim)
        return fail(at, ERROR_broadcast);
    shift = at->result.ndim - x->ndim;
    for (uint32_t i = 0; i < x->ndim; i++)
        if (!is_one(x->dims[i]) &&
            !ir_dim_equal(x->dims[i], at->result.dims[i + shift]))
            return fail(at, ERROR_broadcast);
    return true;
}

static bool
shape_slice(Infer *at)
{
    const IrType *x = operand(at, 0);
    const IrAttr *start = ints(at, "start"), *step = ints(at, "step");

    if (!only(at, " start step count ") || !named_shape(at, "count"))
        return false;
    if (!start || !step || start->count != x->ndim || step->count != x->ndim ||
        at->result.ndim != x->ndim)
        return fail(at, ERROR_attr);
    for (uint32_t i = 0; i < x->ndim; i++) {
        int64_t count = at->result.dims[i].value, last;
        if (x->dims[i].kind != DIM_integer || at->result.dims[i].kind != DIM_integer ||
            !count)
            continue;
        if (start->ints[i] < 0 || start->ints[i] >= x->dims[i].value ||
            __builtin_mul_overflow(count - 1, step->ints[i], &last) ||
            __builtin_add_overflow(last, start->ints[i], &last) || last < 0 ||
            last >= x->dims[i].value)
            return fail(at, ERROR_window);
    }
    return true;
}

/* The window's bytes lie in the storage of a base of known size. An array's value may
** be any window itself (negative strides, gaps), so only the reach of the window is
** checked.
*/
static bool
window_fits(const Infer *at, const IrAttr *strides, int64_t bytes)
{
    int64_t reach = 0, step;
    int64_t size = elements(operand(at, 0)->dims, operand(at, 0)->ndim);

    if (size < 0)
        return true;
    for (uint32_t i = 0; i < at->result.ndim; i++) {
        IrDim dim = at->result.dims[i];
        if (dim.kind != DIM_integer)
            return true;
        if (!dim.value)
            return true; /* no element is touched */
        if (__builtin_mul_overflow(dim.value - 1, strides->ints[i], &step) ||
            __builtin_add_overflow(reach, step < 0 ? 0 : step, &reach))
            return false;
    }
    return reach >= 0 && !__builtin_add_overflow(reach, bytes, &reach);
}

static bool
window(Infer *at, uint32_t fixed, int64_t bytes)
{
    const IrAttr *offset = ints(at, "offset"), *strides = ints(at, "strides");

    if (!only(at, " offset strides shape dtype ") || !named_shape(at, "shape"))
        return false;
    if (!offset || offset->count != 1 || !strides || strides->count != at->result.ndim)
        return fail(at, ERROR_attr);
    if (at->noperands != fixed && at->noperands != fixed + 1)
        return fail(at, ERROR_arity);
    if (at->noperands == fixed + 1 &&
        (operand(at, fixed)->dtype != DT_index || operand(at, fixed)->ndim))
        return fail(at, ERROR_dtype);
    return window_fits(at, strides, bytes) || fail(at, ERROR_window);
}

static bool
shape_view(Infer *at)
{
    IrDtype dtype;

    if (at->noperands < 1)
        return fail(at, ERROR_arity);
    dtype = ir_infer_named_dtype(at, operand(at, 0)->dtype);
    if (dtype == DT_COUNT)
        return fail(at, ERROR_attr);
    at->result.dtype = dtype;
    return window(at, 1, (int64_t)ir_dtype_bytes(dtype));
}

/* The window's shape is the attribute's; without one it is the value's. */
static bool
shape_update(Infer *at)
{
    const IrType *base, *value;
    const IrType *given = at->given;
    IrDtype dtype;
    bool fits;

    if (at->noperands < 2)
        return fail(at, ERROR_arity);
    base = operand(at, 0);
    value = operand(at, 1);
    dtype = ir_infer_named_dtype(at, base->dtype);
    if (dtype == DT_COUNT || dtype != value->dtype)
        return fail(at, ERROR_dtype);
    at->given = value;
    fits = window(at, 2, (int64_t)ir_dtype_bytes(dtype));
    at->given = given;
    if (!fits)
        return false;
    /* the value is broadcast to the window */
    for (uint32_t i = 0; i < value->ndim; i++) {
        uint32_t behind = value->ndim - i;
        if (behind > at->result.ndim ||
            !(is_one(value->dims[i]) ||
              ir_dim_equal(value->dims[i], at->result.dims[at->result.ndim - behind])))
            return fail(at, ERROR_window);
    }
    set_dims(at, base->dims, base->ndim);
    return true;
}

static bool
shape_take(Infer *at)
{
    const IrType *x;
    uint32_t k = at->noperands - 1;

    if (at->noperands < 1)
        return fail(at, ERROR_arity);
    x = operand(at, 0);
    if (k > x->ndim)
        return fail(at, ERROR_ndim);
    set_dims(at, at->dims, 0);
    for (uint32_t i = 1; i <= k; i++) {
        IrKind kind = ir_dtype_kind(operand(at, i)->dtype);
        if (kind != KIND_int && kind != KIND_uint && operand(at, i)->dtype != DT_index)
            return fail(at, ERROR_dtype);
        if (!broadcast_with(at, operand(at, i)))
            return false;
    }
    if (at->result.ndim + x->ndim - k > IR_MAX_NDIM)
        return fail(at, ERROR_ndim);
    for (uint32_t i = k; i < x->ndim; i++)
        at->dims[at->result.ndim + i - k] = x->dims[i];
    set_dims(at, at->dims, at->result.ndim + x->ndim - k);
    return true;
}

/* -- The rest --------------------------------------------------------------------- */

static bool
shape_given(Infer *at)
{
    if (!at->given)
        return fail(at, ERROR_types);
    set_dims(at, at->given->dims, at->given->ndim);
    if (at->op == OP_full && operand(at, 0)->ndim)
        return fail(at, ERROR_ndim);
    return true;
}

static bool
shape_iota(Infer *at)
{
    const IrAttr *axis = ints(at, "axis");
    int64_t which = axis && axis->count == 1 ? axis->ints[0] : 0;

    if (!shape_given(at))
        return false;
    return (which >= 0 && which < at->result.ndim) || fail(at, ERROR_axis);
}

static bool
shape_scalar(Infer *at)
{
    set_dims(at, at->dims, 0);
    for (uint32_t i = 0; i < at->noperands; i++)
        if (operand(at, i)->ndim)
            return fail(at, ERROR_ndim);
    return true;
}

static bool
shape_extent(Infer *at)
{
    const IrAttr *axis = ints(at, "axis");

    if (!axis || axis->count != 1)
        return fail(at, ERROR_attr);
    if (axis->ints[0] < 0 || axis->ints[0] >= operand(at, 0)->ndim)
        return fail(at, ERROR_axis);
    set_dims(at, at->dims, 0);
    return true;
}

static bool
shape_same(Infer *at)
{
    const IrType *x = operand(at, 0);

    at->result.layout = x->layout;
    set_dims(at, x->dims, x->ndim);
    return true;
}

bool
ir_infer_shape(Infer *at)
{
    switch (ir_op_shape_rule(at->op)) {
    case SH_elementwise:
        return shape_elementwise(at);
    case SH_reduce:
        return shape_reduce(at);
    case SH_scan:
        return shape_scan(at);
    case SH_transpose:
        return shape_transpose(at);
    case SH_reshape:
        return shape_reshape(at);
    case SH_broadcast:
        return shape_broadcast(at);
    case SH_slice:
        return shape_slice(at);
    case SH_view:
        return shape_view(at);
    case SH_update:
        return shape_update(at);
    case SH_same:
        return shape_same(at);
    case SH_take:
        return shape_take(at);
    case SH_iota:
        return shape_iota(at);
    case SH_scalar:
        return shape_scalar(at);
    case SH_extent:
        return shape_extent(at);
    case SH_constant:
    case SH_given:
        break;
    }
    return shape_given(at);
}
