/* pass_dce.c - drops nodes no output needs.
**
** A node is needed when it has an effect, or a region of it has, or a needed node, a
** yield or a return of a needed region uses it as an operand or as an extent.
*/
#include <stdlib.h>

#include "ir/pass.h"
#include "ir/rewrite.h"

static void
need_value(const IrGraph *g, bool *live, IrValue value)
{
    const IrType *type = ir_type_of(g, value);

    live[g->values[value].def] = true; /* row 0 stands for parameters */
    for (uint32_t i = 0; i < type->ndim; i++)
        if (type->dims[i].kind == DIM_index)
            live[g->values[type->dims[i].value].def] = true;
}

static bool
has_effect(const IrGraph *g, IrNode number)
{
    const Node *node = &g->nodes[number];

    if (ir_op_flags((IrOp)node->op) & OPF_effect)
        return true;
    for (uint32_t i = 0; i < node->nregions; i++)
        for (IrNode at = g->regions[node->regions[i]].first; at; at = g->nodes[at].next)
            if (has_effect(g, at))
                return true;
    return false;
}

static void
need_region(const IrGraph *g, bool *live, IrRegion region)
{
    const Region *home = &g->regions[region];

    for (uint32_t i = 0; i < home->nyields; i++)
        need_value(g, live, home->yields[i]);
    for (size_t i = 0; i < home->nparams; i++)
        need_value(g, live, home->params[i].value);
}

/* Nodes are numbered in creation order: a region's before its owner, users after what
** they use. So one sweep from the last node down sees every user before what it uses.
*/
void
ir_live_nodes(const IrGraph *g, bool *live)
{
    need_region(g, live, 1);
    for (IrNode at = (IrNode)g->nnodes - 1; at > 0; at--) {
        const Node *node = &g->nodes[at];
        IrNode owner = g->regions[node->home].owner;
        if (g->regions[node->home].state == REGION_dropped || (owner && !live[owner])) {
            live[at] = false;
            continue;
        }
        live[at] |= has_effect(g, at);
        if (!live[at])
            continue;
        for (uint32_t i = 0; i < node->noperands; i++)
            need_value(g, live, node->operands[i]);
        for (uint32_t i = 0; i < node->nresults; i++)
            need_value(g, live, node->first + i);
        for (uint32_t i = 0; i < node->nregions; i++)
            need_region(g, live, node->regions[i]);
    }
}

bool
ir_pass_dce(IrGraph *g)
{
    bool *live = calloc(g->nnodes, sizeof *live);
    Rewrite rewrite = {.live = live, .pass = "dce"};
    bool good;

    if (!live)
        return ir_fail(g, ERROR_memory, OP_COUNT);
    ir_live_nodes(g, live);
    good = ir_rewrite(g, &rewrite);
    free(live);
    return good;
}
