/* verify.c - what is true of every graph.
**
**  1. Every operand, yield, return and index extent is a value made before its use,
**     in this region or one around it.
**  2. The nodes of a region are linked in the order of their numbers, and know their
**     region.
**  3. A node has as many operands, and such attributes, as its op takes.
**  4. Result types are what the op's rules in ops.def give.
**  5. Control nodes own closed regions whose parameters and yields fit the carried
**     values.
**  6. A function returns once; all that is open is its body.
**  7. Attributes are sorted by key.
**
** The builder keeps all of them, so an error here is a fault of a pass, or of whoever
** reached into a graph. The first node that is wrong is blamed: the printer marks its
** line.
*/
#include <stdlib.h>
#include <string.h>

#include "ir/graph.h"

typedef struct Verifier {
    IrGraph *g;
    bool *defined; /* by value: made, and in scope */
} Verifier;

static bool verify_region(Verifier *v, IrRegion region);

static bool
blame(Verifier *v, IrNode node, IrError error)
{
    const Node *at = &v->g->nodes[node];

    if (!v->g->failed)
        v->g->error_node = node;
    return ir_fail_operands(
        v->g, error, node ? (IrOp)at->op : OP_COUNT, at->operands,
        error == ERROR_operand || error == ERROR_scope ? 0 : at->noperands);
}

static bool
is_defined(const Verifier *v, IrValue value)
{
    return value < v->g->nvalues && v->defined[value];
}

/* -- One small function for each invariant ---------------------------------------- */

static bool
verify_values(Verifier *v, IrNode node, const IrValue *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!values[i] || values[i] >= v->g->nvalues)
            return blame(v, node, ERROR_operand);
        if (!is_defined(v, values[i]))
            return blame(v, node, ERROR_scope);
    }
    return true;
}

static bool
verify_extents(Verifier *v, IrNode node, IrValue value)
{
    const IrType *type = ir_type_of(v->g, value);

    for (uint32_t i = 0; i < type->ndim; i++) {
        const IrDim *dim = &type->dims[i];
        if (dim->kind == DIM_index &&
            (!is_defined(v, (IrValue)dim->value) ||
             ir_type_of(v->g, (IrValue)dim->value)->dtype != DT_index))
            return blame(v, node, ERROR_extent);
        if (dim->kind == DIM_symbol && (uint64_t)dim->value >= v->g->nsymbols)
            return blame(v, node, ERROR_extent);
    }
    return true;
}

static bool
verify_attrs(Verifier *v, IrNode number)
{
    const Node *node = &v->g->nodes[number];

    for (uint32_t i = 1; i < node->nattrs; i++)
        if (strcmp(node->attrs[i - 1].key, node->attrs[i].key) >= 0)
            return blame(v, number, ERROR_attr);
    return true;
}

static bool
verify_types(Verifier *v, IrNode number)
{
    const Node *node = &v->g->nodes[number];
    IrOp op = (IrOp)node->op;
    Infer infer = {.g = v->g,
                   .op = op,
                   .operands = node->operands,
                   .noperands = node->noperands,
                   .attrs = node->attrs,
                   .nattrs = node->nattrs,
                   .given = ir_type_of(v->g, node->first)};

    if (!ir_infer_has_rules(op))
        return true;
    if (node->nresults != 1)
        return blame(v, number, ERROR_types);
    if (ir_infer(&infer))
        return true;
    v->g->error_node = number;
    return false;
}

static bool
verify_control(Verifier *v, IrNode number)
{
    const Node *node = &v->g->nodes[number];
    uint32_t wanted = node->op == OP_for                             ? 1
                      : ir_op_class((IrOp)node->op) == CLASS_control ? 2
                                                                     : 0;
    IrError error;

    if (node->nregions != wanted)
        return blame(v, number, ERROR_region);
    for (uint32_t i = 0; i < wanted; i++) {
        const Region *region = &v->g->regions[node->regions[i]];
        if (region->state != REGION_owned || region->owner != number ||
            region->parent != node->home)
            return blame(v, number, ERROR_region);
        if (!verify_region(v, node->regions[i]))
            return false;
    }
    if (!wanted)
        return true;
    error = ir_control_check(v->g, (IrOp)node->op, node->operands, node->noperands,
                             node->regions, node->nregions, node->attrs, node->nattrs);
    return error == ERROR_COUNT || blame(v, number, error);
}

static bool
verify_node(Verifier *v, IrNode number, IrNode before, IrRegion region)
{
    const Node *node = &v->g->nodes[number];
    int arity = ir_op_arity((IrOp)node->op);

    if (number <= before || node->home != region)
        return blame(v, number, ERROR_order);
    if (node->op >= OP_COUNT || (arity >= 0 && node->noperands != (uint32_t)arity))
        return blame(v, number, ERROR_arity);
    if (!verify_values(v, number, node->operands, node->noperands) ||
        !verify_attrs(v, number) || !verify_control(v, number) ||
        !verify_types(v, number))
        return false;
    for (uint32_t i = 0; i < node->nresults; i++)
        v->defined[node->first + i] = true;
    for (uint32_t i = 0; i < node->nresults; i++)
        if (!verify_extents(v, number, node->first + i))
            return false;
    return true;
}

static void
leave(Verifier *v, IrRegion region)
{
    const Region *home = &v->g->regions[region];

    for (size_t i = 0; i < home->nparams; i++)
        v->defined[home->params[i].value] = false;
    for (IrNode at = home->first; at; at = v->g->nodes[at].next)
        for (uint32_t i = 0; i < v->g->nodes[at].nresults; i++)
            v->defined[v->g->nodes[at].first + i] = false;
}

static bool
verify_region(Verifier *v, IrRegion region)
{
    const Region *home = &v->g->regions[region];
    IrNode before = 0;

    for (size_t i = 0; i < home->nparams; i++)
        v->defined[home->params[i].value] = true;
    for (size_t i = 0; i < home->nparams; i++)
        if (!verify_extents(v, home->owner, home->params[i].value))
            return false;
    for (IrNode at = home->first; at; before = at, at = v->g->nodes[at].next)
        if (!verify_node(v, at, before, region))
            return false;
    if (!verify_values(v, home->owner, home->yields, home->nyields))
        return false;
    leave(v, region);
    return true;
}

bool
ir_verify(IrGraph *g)
{
    Verifier v = {.g = g};
    bool good;

    if (ir_error(g))
        return false;
    if (g->current != 1)
        return ir_fail(g, ERROR_nesting, OP_COUNT);
    if (!g->returned)
        return ir_fail(g, ERROR_returned, OP_COUNT);
    v.defined = calloc(g->nvalues, sizeof *v.defined);
    if (!v.defined)
        return ir_fail(g, ERROR_memory, OP_COUNT);
    good = verify_region(&v, 1);
    free(v.defined);
    return good;
}
