/* look.c - reading a graph. Any number may be asked for: row 0 answers for what is
** not there. */
#include "ir/graph.h"

static const Node *
node_at(const IrGraph *g, IrNode node)
{
    return &g->nodes[node < g->nnodes ? node : 0];
}

static const Region *
region_at(const IrGraph *g, IrRegion region)
{
    return &g->regions[region < g->nregions ? region : 0];
}

/* -- Values, nodes ---------------------------------------------------------------- */

IrType
ir_type(const IrGraph *g, IrValue value)
{
    return *ir_type_of(g, value);
}

IrNode
ir_def(const IrGraph *g, IrValue value)
{
    return value < g->nvalues ? g->values[value].def : 0;
}

IrValue
ir_result(const IrGraph *g, IrNode node, uint32_t i)
{
    return i < node_at(g, node)->nresults ? node_at(g, node)->first + i : 0;
}

IrOp
ir_node_op(const IrGraph *g, IrNode node)
{
    return (IrOp)node_at(g, node)->op;
}

uint32_t
ir_node_noperands(const IrGraph *g, IrNode node)
{
    return node_at(g, node)->noperands;
}

IrValue
ir_node_operand(const IrGraph *g, IrNode node, uint32_t i)
{
    return i < node_at(g, node)->noperands ? node_at(g, node)->operands[i] : 0;
}

uint32_t
ir_node_nresults(const IrGraph *g, IrNode node)
{
    return node_at(g, node)->nresults;
}

const IrAttr *
ir_node_attr(const IrGraph *g, IrNode node, const char *key)
{
    return ir_attr_find(node_at(g, node)->attrs, node_at(g, node)->nattrs, key);
}

uint32_t
ir_node_nattrs(const IrGraph *g, IrNode node)
{
    return node_at(g, node)->nattrs;
}

const IrAttr *
ir_node_attr_at(const IrGraph *g, IrNode node, uint32_t i)
{
    return i < node_at(g, node)->nattrs ? &node_at(g, node)->attrs[i] : NULL;
}

int64_t
ir_node_int(const IrGraph *g, IrNode node, const char *key, int64_t otherwise)
{
    const IrAttr *attr = ir_node_attr(g, node, key);

    return attr && attr->kind == ATTR_ints && attr->count ? attr->ints[0] : otherwise;
}

uint32_t
ir_node_nregions(const IrGraph *g, IrNode node)
{
    return node_at(g, node)->nregions;
}

IrRegion
ir_node_region(const IrGraph *g, IrNode node, uint32_t i)
{
    return i < node_at(g, node)->nregions ? node_at(g, node)->regions[i] : 0;
}

IrNode
ir_node_next(const IrGraph *g, IrNode node)
{
    return node_at(g, node)->next;
}

IrRegion
ir_node_home(const IrGraph *g, IrNode node)
{
    return node_at(g, node)->home;
}

/* -- Regions ---------------------------------------------------------------------- */

IrNode
ir_region_first(const IrGraph *g, IrRegion region)
{
    return region_at(g, region)->first;
}

uint32_t
ir_region_nparams(const IrGraph *g, IrRegion region)
{
    return (uint32_t)region_at(g, region)->nparams;
}

IrValue
ir_region_param_at(const IrGraph *g, IrRegion region, uint32_t i)
{
    return i < region_at(g, region)->nparams ? region_at(g, region)->params[i].value
                                             : 0;
}

uint32_t
ir_region_nyields(const IrGraph *g, IrRegion region)
{
    return region_at(g, region)->nyields;
}

IrValue
ir_region_yield_at(const IrGraph *g, IrRegion region, uint32_t i)
{
    return i < region_at(g, region)->nyields ? region_at(g, region)->yields[i] : 0;
}

/* -- The function ----------------------------------------------------------------- */

const char *
ir_graph_name(const IrGraph *g)
{
    return g->name;
}

const char *
ir_symbol_name(const IrGraph *g, int64_t symbol)
{
    return symbol >= 0 && (uint64_t)symbol < g->nsymbols ? g->symbols[symbol] : NULL;
}

uint32_t
ir_nparams(const IrGraph *g)
{
    return ir_region_nparams(g, 1);
}

IrValue
ir_param(const IrGraph *g, uint32_t i)
{
    return ir_region_param_at(g, 1, i);
}

uint32_t
ir_nreturns(const IrGraph *g)
{
    return ir_region_nyields(g, 1);
}

IrValue
ir_return_at(const IrGraph *g, uint32_t i)
{
    return ir_region_yield_at(g, 1, i);
}

uint32_t
ir_nvalues(const IrGraph *g)
{
    return (uint32_t)g->nvalues;
}

uint32_t
ir_nnodes(const IrGraph *g)
{
    return (uint32_t)g->nnodes;
}
