/* nest_choice.c - where a nest chooses without a branch.
**
** LLVM makes selects of small branches itself, but not of what may leave the nest in the middle: ints that may overflow.
** Where a condition is as random as data are, a branch costs as much as twenty operations.
*/
#include "lower/host/nest.h"

enum { LIGHT_NODES = 6 };

static bool
is_constant(const IrGraph *kernel, IrValue value)
{
    IrNode def = ir_def(kernel, value);
    return def && ir_node_op(kernel, def) == OP_const;
}

static bool
is_cast_constant(const IrGraph *kernel, IrValue value)
{
    IrNode def = ir_def(kernel, value);
    if (def && ir_node_op(kernel, def) == OP_cast)
        value = ir_node_operand(kernel, def, 0);
    return is_constant(kernel, value);
}

/* Costs so little, and does nothing else, that it may be done in vain. */
static bool
is_light(const IrGraph *kernel, IrNode node)
{
    IrOp op = ir_node_op(kernel, node);
    IrDtype dtype = ir_node_nresults(kernel, node)
                        ? ir_type(kernel, ir_result(kernel, node, 0)).dtype
                        : DT_COUNT;
    switch (op) {
    case OP_const:
    case OP_cast:
    case OP_negative:
    case OP_select:
    case OP_add:
    case OP_subtract:
    case OP_checked_add:
    case OP_checked_subtract:
    case OP_checked_multiply:
        return true;
    case OP_multiply:
    case OP_bitwise_and:
    case OP_bitwise_or:
    case OP_bitwise_xor:
        return dtype == DT_int64;
    case OP_floor_divide:
    case OP_remainder:
        return dtype == DT_uint64 &&
               is_cast_constant(kernel, ir_node_operand(kernel, node, 1));
    default:
        return false;
    }
}

bool
lower_nest_takes_both_ways(const IrGraph *kernel, IrNode node)
{
    uint32_t n = 0, checked = 0;
    for (uint32_t i = 0; i < 2; i++) {
        IrRegion region = ir_node_region(kernel, node, i);
        for (IrNode in = ir_region_first(kernel, region); in;
             in = ir_node_next(kernel, in)) {
            IrOp op = ir_node_op(kernel, in);
            if (!is_light(kernel, in))
                return false;
            n += op != OP_const && op != OP_cast;
            checked += op == OP_checked_add || op == OP_checked_subtract ||
                       op == OP_checked_multiply;
        }
        for (uint32_t k = 0; k < ir_node_nresults(kernel, node); k++) {
            IrValue value = ir_region_yield_at(kernel, region, k);
            if (ir_dtype_kind(ir_type(kernel, value).dtype) == KIND_bool &&
                is_constant(kernel, value))
                return false;
        }
    }
    return checked && n <= LIGHT_NODES;
}

bool
lower_nest_chooses_ints(const IrGraph *kernel, IrRegion region)
{
    for (IrNode node = ir_region_first(kernel, region); node;
         node = ir_node_next(kernel, node)) {
        IrOp op = ir_node_op(kernel, node);
        bool choice = op == OP_if || op == OP_select || op == OP_minimum ||
                      op == OP_maximum || op == OP_clip;
        for (uint32_t k = 0; choice && k < ir_node_nresults(kernel, node); k++) {
            IrKind kind =
                ir_dtype_kind(ir_type(kernel, ir_result(kernel, node, k)).dtype);
            if (kind == KIND_int || kind == KIND_uint)
                return true;
        }
        for (uint32_t i = 0; i < ir_node_nregions(kernel, node); i++) {
            if (lower_nest_chooses_ints(kernel, ir_node_region(kernel, node, i)))
                return true;
        }
    }
    return false;
}
