/* rewrite.c - how passes change a graph: they build it again.
**
** Nodes are visited in program order and go through the builder, so a rewritten graph
** is hash-consed, checked and in program order like any other. Nothing is patched in
** place.
*/
#include "ir/rewrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 16 };

static bool copy_region(Rewrite *r, IrRegion old, IrRegion new);

IrValue
ir_rewritten(const Rewrite *r, IrValue old)
{
    return old < r->from->nvalues ? r->values[old] : 0;
}

static bool
no_memory(Rewrite *r)
{
    return ir_fail(r->to, ERROR_memory, OP_COUNT);
}

/* A list of values of `to`, in its arena; NULL: no memory. */
static IrValue *
copy_values(Rewrite *r, const IrValue *old, uint32_t n)
{
    IrValue *new = ir_arena_take(&r->to->arena, n * sizeof *new);

    for (uint32_t i = 0; new && i < n; i++)
        new[i] = ir_rewritten(r, old[i]);
    return new;
}

IrType
ir_rewritten_type(const Rewrite *r, const IrType *old, IrDim *dims)
{
    IrType new = *old;

    for (uint32_t i = 0; i < old->ndim; i++) {
        dims[i] = old->dims[i];
        if (dims[i].kind == DIM_index)
            dims[i].value = ir_rewritten(r, (IrValue)dims[i].value);
    }
    new.dims = dims;
    return new;
}

static bool
copy_params(Rewrite *r, IrRegion old, IrRegion new)
{
    const Region *from = &r->from->regions[old];
    IrDim dims[IR_MAX_NDIM];

    for (size_t i = 0; i < from->nparams; i++) {
        IrType type =
            ir_rewritten_type(r, ir_type_of(r->from, from->params[i].value), dims);
        IrValue value = new == 1
                            ? ir_param_add(r->to, type, from->params[i].name)
                            : ir_region_param(r->to, new, type, from->params[i].name);
        r->values[from->params[i].value] = value;
        if (!value)
            return false;
    }
    return true;
}

static IrNode
copy_control(Rewrite *r, const Node *node, const IrValue *operands)
{
    IrRegion regions[2];

    for (uint32_t i = 0; i < node->nregions; i++) {
        IrValue *yields;
        const Region *old = &r->from->regions[node->regions[i]];
        regions[i] = ir_region_open(r->to);
        if (!regions[i] || !copy_region(r, node->regions[i], regions[i]))
            return 0;
        yields = copy_values(r, old->yields, old->nyields);
        if (!yields)
            return no_memory(r);
        ir_region_yield(r->to, regions[i], yields, old->nyields);
    }
    return ir_control(r->to, (IrOp)node->op, operands, node->noperands, regions,
                      node->nregions, node->attrs, node->nattrs);
}

static IrNode
copy_plain(Rewrite *r, const Node *node, const IrValue *operands)
{
    IrDim(*dims)[IR_MAX_NDIM];
    IrType *types = ir_arena_take(&r->to->arena, node->nresults * sizeof *types);
    IrNode new;

    dims = malloc((node->nresults + 1) * sizeof *dims);
    if (!types || !dims) {
        free(dims);
        return no_memory(r);
    }
    for (uint32_t i = 0; i < node->nresults; i++) /* an extent may name a result */
        r->values[node->first + i] = (IrValue)r->to->nvalues + i;
    for (uint32_t i = 0; i < node->nresults; i++)
        types[i] = ir_rewritten_type(r, ir_type_of(r->from, node->first + i), dims[i]);
    new = ir_node_typed(r->to, (IrOp)node->op, operands, node->noperands, node->attrs,
                        node->nattrs, types, node->nresults);
    free(dims);
    return new;
}

static bool
copy_node(Rewrite *r, IrNode number)
{
    const Node *node = &r->from->nodes[number];
    IrValue few[FEW], *operands = few;
    IrNode new;

    if (r->replace && node->nresults == 1 && !node->nregions) {
        IrValue value = r->replace(r, number);
        if (ir_error(r->to))
            return false;
        if (value) {
            r->values[node->first] = value;
            r->changes++;
            return true;
        }
    }
    for (uint32_t i = 0; i < node->noperands && i < FEW; i++)
        few[i] = ir_rewritten(r, node->operands[i]);
    if (node->noperands > FEW &&
        !(operands = copy_values(r, node->operands, node->noperands)))
        return no_memory(r);
    new = node->nregions ? copy_control(r, node, operands)
                         : copy_plain(r, node, operands);
    for (uint32_t i = 0; i < node->nresults; i++)
        r->values[node->first + i] = ir_result(r->to, new, i);
    return new != 0;
}

static bool
copy_region(Rewrite *r, IrRegion old, IrRegion new)
{
    if (!copy_params(r, old, new))
        return false;
    for (IrNode at = r->from->regions[old].first; at; at = r->from->nodes[at].next)
        if ((!r->live || r->live[at]) && !copy_node(r, at))
            return false;
    return true;
}

static bool
copy_function(Rewrite *r)
{
    const Region *body = &r->from->regions[1];
    IrValue *returns;

    for (size_t i = 0; i < r->from->nsymbols; i++)
        ir_symbol_add(r->to, r->from->symbols[i]);
    if (!copy_region(r, 1, 1))
        return false;
    if (!r->from->returned)
        return true;
    returns = copy_values(r, body->yields, body->nyields);
    if (!returns)
        return no_memory(r);
    ir_return(r->to, returns, body->nyields);
    return !ir_error(r->to);
}

bool
ir_rewrite(IrGraph *g, Rewrite *r)
{
    bool good;

    r->from = g;
    r->to = ir_graph_new(g->name);
    r->values = calloc(g->nvalues, sizeof *r->values);
    r->changes = 0;
    good = r->to && r->values && copy_function(r);
    if (good) {
        IrGraph before = *g;
        *g = *r->to;
        *r->to = before;
    } else {
        ir_fail(g, ERROR_memory, OP_COUNT);
        if (r->to && ir_error(r->to))
            snprintf(g->error_text, sizeof g->error_text, "%s: %.300s", r->pass,
                     ir_error(r->to));
    }
    free(r->values);
    ir_graph_free(r->to);
    r->values = NULL;
    r->to = NULL;
    return good;
}
