/* support.c - has a kernel a lowering, before anything is built? */
#include <stdio.h>

#include "lower/host/host.h"

static bool
check_value(const HostTarget *target, const IrGraph *kernel, IrValue value,
            const char *what, char *reason, size_t n)
{
    IrType type = ir_type(kernel, value);

    if (!lower_elem_supports_dtype(target, type.dtype)) {
        snprintf(reason, n, "no %s of dtype %s", what, ir_dtype_name(type.dtype));
        return false;
    }
    if (type.ndim > 1) {
        snprintf(reason, n, "%s has more than one dimension", what);
        return false;
    }
    return true;
}

bool
lower_support_check(const HostTarget *target, const IrGraph *kernel, char *reason,
                    size_t n)
{
    if (ir_error(kernel)) {
        snprintf(reason, n, "%s", ir_error(kernel));
        return false;
    }
    if (lower_nest_is(kernel))
        return lower_nest_supports(target, kernel, reason, n);
    if (!ir_nreturns(kernel)) {
        snprintf(reason, n, "the kernel returns nothing");
        return false;
    }
    for (uint32_t i = 0; i < ir_nparams(kernel); i++)
        if (!check_value(target, kernel, ir_param(kernel, i), "parameter", reason, n))
            return false;
    for (uint32_t i = 0; i < ir_nreturns(kernel); i++)
        if (!check_value(target, kernel, ir_return_at(kernel, i), "result", reason, n))
            return false;
    for (IrNode node = ir_region_first(kernel, 1); node;
         node = ir_node_next(kernel, node))
        if (node == lower_fold_node(kernel)) {
            if (!lower_fold_supports(kernel, node, reason, n))
                return false;
        } else if (!lower_elem_supports(target, kernel, node, reason, n))
            return false;
    return true;
}
