/* pass_fuse.c - cuts the graph into kernels. */
#include "ir/graph.h"

static bool
is_fused(const IrGraph *g, IrNode node)
{
    return ir_op_flags(ir_node_op(g, node)) & OPF_elementwise &&
           !ir_node_int(g, node, "library", 0) &&
           ir_type_of(g, ir_result(g, node, 0))->dtype != DT_index;
}

static bool
is_constant(const IrGraph *g, IrValue value)
{
    return ir_def(g, value) && ir_node_op(g, ir_def(g, value)) == OP_const &&
           !ir_type_of(g, value)->ndim;
}

const IrSchedule *
ir_schedule(IrGraph *g, IrRegion region)
{
    IrSchedule *schedule = ir_arena_take(&g->arena, sizeof *schedule);
    uint32_t n = 0;
    IrItem *items;

    for (IrNode at = ir_region_first(g, region); at; at = ir_node_next(g, at))
        n++;
    items = ir_arena_take(&g->arena, n * sizeof *items);
    if (!schedule || !items)
        return NULL;
    n = 0;
    for (IrNode at = ir_region_first(g, region); at; at = ir_node_next(g, at)) {
        uint32_t count = ir_node_noperands(g, at), nresults = ir_node_nresults(g, at);
        IrItem item = {.group = is_fused(g, at)};
        IrNode *nodes = ir_arena_take(&g->arena, (count + 1) * sizeof *nodes);
        IrValue *inputs = ir_arena_take(&g->arena, count * sizeof *inputs);
        IrValue *outputs = ir_arena_take(&g->arena, nresults * sizeof *outputs);
        if (!nodes || !inputs || !outputs)
            return NULL;
        for (uint32_t i = 0; i < count; i++) {
            IrValue value = ir_node_operand(g, at, i);
            bool seen = false;
            for (uint32_t k = 0; k < item.ninputs; k++)
                seen |= inputs[k] == value;
            for (uint32_t k = 0; k < item.nnodes; k++)
                seen |= nodes[k] == ir_def(g, value);
            if (!seen && item.group && is_constant(g, value))
                nodes[item.nnodes++] = ir_def(g, value);
            else if (!seen)
                inputs[item.ninputs++] = value;
        }
        nodes[item.nnodes++] = at;
        for (uint32_t i = 0; i < nresults; i++)
            outputs[item.noutputs++] = ir_result(g, at, i);
        item.nodes = nodes;
        item.inputs = inputs;
        item.outputs = outputs;
        items[n++] = item;
    }
    schedule->nitems = n;
    schedule->items = items;
    return schedule;
}
