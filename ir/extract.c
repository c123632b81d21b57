/* extract.c - a group of a schedule as a function of its own, the kernel.
**
** The kernel runs over one innermost run: every array in it is dtype[n], every scalar
** a scalar. So groups of one computation over other shapes are one kernel, and its
** text is a cache key.
**
** Law 1: parameters are the item's inputs, returns its outputs, in the item's order. What joins
**        rows has one more parameter, the last: what they are joined to.
** Law 2: no weak dtypes: a Python scalar comes in as the dtype it is stored in (i64,
**        f64, c128, bool), and every operand is cast to the dtype of the loop NumPy
**        runs (ir_op_loop). The one op left with operands of two dtypes is a
**        comparison of i64 with u64 (and ldexp, select, by their nature).
*/
#include "ir/graph.h"
#include "ir/map.h"

typedef struct Extract {
    const IrGraph *from;
    IrGraph *to;
    IrMap values;
    IrDim n;
} Extract;

static IrType
kernel_type(const Extract *at, IrDtype dtype, bool array)
{
    return (IrType){
        .dtype = ir_dtype_strong(dtype), .ndim = array ? 1 : 0, .dims = &at->n};
}

static IrValue
constant(Extract *at, IrNode node, IrDtype dtype)
{
    const IrAttr *value = ir_node_attr(at->from, node, "value");
    IrType type = kernel_type(at, dtype, false);

    return ir_result(at->to,
                     ir_node_typed(at->to, OP_const, NULL, 0, value, 1, &type, 1), 0);
}

/* The operand as a kernel value of the loop's dtype. */
static IrValue
operand(Extract *at, IrValue value, IrDtype dtype)
{
    IrNode def = ir_def(at->from, value);
    const IrType *type = ir_type_of(at->from, value);

    if (def && ir_node_op(at->from, def) == OP_const && !type->ndim &&
        !ir_map_find(&at->values, value)) {
        if (ir_dtype_is_weak(type->dtype)) /* NumPy converts the Python number itself */
            return constant(at, def, dtype);
        return ir_cast(at->to, constant(at, def, type->dtype), dtype);
    }
    return ir_cast(at->to, ir_map_find(&at->values, value), dtype);
}

static void
copy_node(Extract *at, IrNode node)
{
    IrOp op = ir_node_op(at->from, node);
    uint32_t n = ir_node_noperands(at->from, node);
    IrValue result = ir_result(at->from, node, 0), operands[3], made;
    IrDtype dtypes[3], in[3], out;

    if (op == OP_const)
        return; /* made where it is used */
    for (uint32_t i = 0; i < n && i < 3; i++)
        dtypes[i] = ir_type_of(at->from, ir_node_operand(at->from, node, i))->dtype;
    if (n > 3 || !ir_op_loop(op, dtypes, n, in, &out)) {
        ir_fail(at->to, ERROR_dtype, op);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        operands[i] = operand(at, ir_node_operand(at->from, node, i), in[i]);
    if (op == OP_cast)
        made = ir_cast(at->to, operands[0],
                       ir_dtype_strong(ir_type_of(at->from, result)->dtype));
    else
        made = ir_node(at->to, op, operands, n, NULL, 0);
    ir_map_put(&at->values, result, made);
}

static IrGraph *
extract(const IrGraph *g, const IrItem *item, const IrJoin *join)
{
    Extract at = {.from = g, .to = ir_graph_new("kernel")};
    IrValue *returns, sum = 0;

    if (!at.to)
        return NULL;
    at.n = (IrDim){.value = ir_symbol_add(at.to, "n"), .kind = DIM_symbol};
    for (uint32_t i = 0; i < item->ninputs; i++) {
        const IrType *type = ir_type_of(g, item->inputs[i]);
        ir_map_put(
            &at.values, item->inputs[i],
            ir_param_add(at.to, kernel_type(&at, type->dtype, type->ndim > 0), NULL));
    }
    if (join && join->rows)
        sum = ir_param_add(
            at.to, kernel_type(&at, ir_type_of(g, item->outputs[0])->dtype, true),
            NULL);
    for (uint32_t i = 0; i < item->nnodes; i++)
        copy_node(&at, item->nodes[i]);
    returns = ir_arena_take(&at.to->arena, item->noutputs * sizeof *returns);
    for (uint32_t i = 0; returns && i < item->noutputs; i++)
        returns[i] = ir_map_find(&at.values, item->outputs[i]);
    if (returns && join) {
        IrValue operands[2] = {join->rows ? sum : returns[0], returns[0]};
        int64_t one = 1;
        IrAttr wide = {.key = "wide", .kind = ATTR_ints, .count = 1, .ints = &one};
        returns[0] =
            ir_node(at.to, join->op, operands, join->rows ? 2 : 1, &wide, join->wide);
    }
    ir_return(at.to, returns, item->noutputs);
    if (at.values.failed || ir_error(at.to)) {
        ir_graph_free(at.to);
        at.to = NULL;
    }
    ir_map_free(&at.values);
    return at.to;
}

IrGraph *
ir_group_extract(const IrGraph *g, const IrItem *item)
{
    return extract(g, item, NULL);
}

IrGraph *
ir_join_extract(const IrGraph *g, const IrItem *item, IrJoin join)
{
    return extract(g, item, &join);
}

IrGraph *
ir_kernel_reduced(const IrGraph *kernel, IrJoin join)
{
    IrGraph *to = ir_graph_copy(kernel);
    int64_t one = 1;
    IrAttr wide = {.key = "wide", .kind = ATTR_ints, .count = 1, .ints = &one};
    IrValue returns[2];

    if (!to)
        return NULL;
    returns[0] = ir_return_at(to, 0);
    to->returned = false;
    returns[1] = ir_node(to, join.op, returns, 1, &wide, join.wide);
    ir_return(to, returns, 2);
    if (!ir_error(to))
        return to;
    ir_graph_free(to);
    return NULL;
}
