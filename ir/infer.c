/* infer.c - the type of a result: shape.c's rule for the dimensions, dtype.c's for
** the dtype. */
#include <string.h>

#include "ir/graph.h"

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

IrDtype
ir_infer_named_dtype(const Infer *at, IrDtype otherwise)
{
    const IrAttr *attr = ir_attr_find(at->attrs, at->nattrs, "dtype");
    IrDtype dtype;

    if (!attr)
        return otherwise;
    if (attr->kind != ATTR_text ||
        !ir_dtype_find(attr->text, strlen(attr->text), &dtype))
        return DT_COUNT;
    return dtype;
}

static bool
dtype_elementwise(Infer *at)
{
    IrDtype dtypes[3], in[3];

    for (uint32_t i = 0; i < at->noperands; i++)
        dtypes[i] = operand(at, i)->dtype;
    if (!ir_op_loop(at->op, dtypes, at->noperands, in, &at->result.dtype))
        return fail(at, ERROR_dtype);
    if (at->op == OP_cast) {
        IrDtype to = at->given->dtype;
        if (ir_dtype_kind(to) == KIND_other && to != DT_index)
            return fail(at, ERROR_dtype);
        at->result.dtype = to;
    }
    /* only scalars are weak */
    if (at->result.ndim && ir_dtype_is_weak(at->result.dtype))
        at->result.dtype = ir_dtype_strong(at->result.dtype);
    return true;
}

static bool
dtype_accumulate(Infer *at)
{
    IrDtype x = ir_dtype_strong(operand(at, 0)->dtype);
    IrDtype wide = ir_dtype_kind(x) == KIND_uint ? DT_uint64 : x;

    if (ir_dtype_kind(x) == KIND_bool || ir_dtype_kind(x) == KIND_int)
        wide = DT_int64;
    at->result.dtype = ir_infer_named_dtype(at, wide);
    if (ir_dtype_kind(x) == KIND_other || at->result.dtype == DT_COUNT ||
        ir_dtype_kind(at->result.dtype) > KIND_complex)
        return fail(at, ERROR_dtype);
    return true;
}

static bool
infer_dtype(Infer *at)
{
    const IrType *x = at->noperands ? operand(at, 0) : NULL;

    if (ir_op_flags(at->op) & OPF_elementwise)
        return dtype_elementwise(at);
    switch (ir_op_type_rule(at->op)) {
    case TY_same:
        at->result.dtype = x->dtype;
        return ir_op_class(at->op) != CLASS_reduce ||
               ir_dtype_kind(x->dtype) != KIND_other || fail(at, ERROR_dtype);
    case TY_bitwise:
        at->result.dtype = x->dtype;
        return ir_dtype_kind(x->dtype) <= KIND_uint ||
               fail(at, ERROR_dtype); /* ORDER kinds */
    case TY_accumulate:
        return dtype_accumulate(at);
    case TY_truth:
        at->result.dtype = DT_boolean;
        return ir_dtype_kind(x->dtype) != KIND_other || fail(at, ERROR_dtype);
    case TY_position:
        at->result.dtype = DT_int64;
        return ir_dtype_kind(x->dtype) != KIND_other || fail(at, ERROR_dtype);
    case TY_dim:
        at->result.dtype = DT_index;
        return true;
    case TY_to_index:
        at->result.dtype = DT_index;
        return ir_dtype_kind(x->dtype) == KIND_int ||
               ir_dtype_kind(x->dtype) == KIND_uint || x->dtype == DT_pyint ||
               x->dtype == DT_index || fail(at, ERROR_dtype);
    case TY_index:
        at->result.dtype = DT_index;
        for (uint32_t i = 0; i < at->noperands; i++)
            if (operand(at, i)->dtype != DT_index)
                return fail(at, ERROR_dtype);
        return true;
    default:
        if (ir_op_shape_rule(at->op) != SH_view)
            at->result.dtype = at->given->dtype;
        return true;
    }
}

bool
ir_infer_has_rules(IrOp op)
{
    return ir_op_shape_rule(op) != SH_given || ir_op_type_rule(op) != TY_given ||
           ir_op_class(op) == CLASS_make;
}

bool
ir_infer_needs_types(IrOp op, const IrAttr *attrs, uint32_t nattrs)
{
    switch (ir_op_shape_rule(op)) {
    case SH_reshape:
    case SH_broadcast:
    case SH_view:
        return !ir_attr_find(attrs, nattrs, "shape");
    case SH_slice:
        return !ir_attr_find(attrs, nattrs, "count");
    default:
        return ir_op_type_rule(op) == TY_given;
    }
}

bool
ir_infer(Infer *infer)
{
    infer->result = (IrType){.dtype = DT_object};
    if (!ir_infer_shape(infer) || !infer_dtype(infer))
        return false;
    if (!infer->given)
        return true;
    if (infer->given->dtype != infer->result.dtype ||
        !ir_type_same_dims(infer->given, &infer->result))
        return fail(infer, ERROR_types);
    return true;
}
