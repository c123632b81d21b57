/* op.h - the rules named in ops.def. */
#pragma once

#include "ir/ir.h"

/* How a result's dtype follows from the operands'. dtype.c; a comment gives the
** loops.
*/
typedef enum IrTypeRule {
    TY_promote,    /* the promoted dtype, any kind */
    TY_signed,     /* promoted, no bool */
    TY_number,     /* promoted, bool as int8 */
    TY_real,       /* promoted, bool as int8, no complex */
    TY_whole,      /* promoted ints, bool as int8 */
    TY_integer,    /* promoted ints, no bool */
    TY_bitwise,    /* promoted ints and bool */
    TY_rounding,   /* promoted, no complex */
    TY_inexact,    /* float or complex; ints as the float that holds them, float16 up */
    TY_floating,   /* the same, no complex */
    TY_quotient,   /* float or complex; ints as float64 */
    TY_widened,    /* float64, complex128 or longer */
    TY_scaling,    /* (floating, int32 or int64) -> floating */
    TY_magnitude,  /* any kind; complex gives its float */
    TY_part,       /* the same */
    TY_counting,   /* ints, bool as int8 -> uint8 */
    TY_compare,    /* promoted -> bool; index too; int64 with uint64 exactly */
    TY_logical,    /* equal dtypes, else bool -> bool */
    TY_predicate,  /* any -> bool */
    TY_sign,       /* floating -> bool */
    TY_select,     /* (bool, promoted, promoted) */
    TY_same,       /* as the first operand */
    TY_accumulate, /* attribute dtype, else ints and bool in 64 bits */
    TY_truth,      /* bool */
    TY_position,   /* int64 */
    TY_index,      /* index */
    TY_to_index,   /* index, of an integer */
    TY_dim,        /* index, of any array */
    TY_given,      /* the caller says */
} IrTypeRule;

/* How a result's shape follows from the operands'. shape.c */
typedef enum IrShapeRule {
    SH_elementwise, /* broadcast */
    SH_reduce,      /* without axes, or with extent 1 there (keepdims) */
    SH_scan,        /* the same; attribute axis is one of it */
    SH_transpose,
    SH_reshape,
    SH_broadcast,
    SH_slice,
    SH_view,
    SH_update,
    SH_same,
    SH_take,
    SH_constant,
    SH_iota,
    SH_scalar, /* ndim 0, of scalars */
    SH_extent, /* ndim 0 */
    SH_given,  /* the caller says */
} IrShapeRule;

IrTypeRule ir_op_type_rule(IrOp op);
IrShapeRule ir_op_shape_rule(IrOp op);

/* The dtypes that are weak become what NumPy takes them for beside the others. */
IrDtype
ir_dtype_strong(IrDtype dtype); /* a weak scalar on its own; others as they are */
bool ir_dtype_is_weak(IrDtype dtype);
