/* region.c - parameters, regions and the control nodes that own them.
**
** A region is opened, filled, closed by its yield, and then given to a control node;
** or it is dropped, with whatever is open inside of it, and its values are out of
** scope for good.
**
** Carried extents: a carried array may have an extent that is itself carried. The
** dimension then names the region's index parameter; outside it is the init's or the
** result's index, and in the yield the yielded one. `Pairing` is that correspondence.
*/
#include <string.h>

#include "ir/graph.h"

enum { MAX_DEPTH = 100 }; /* of nested regions: passes and the printer recurse */

/* -- Parameters ------------------------------------------------------------------- */

static IrValue
add_param(IrGraph *g, IrRegion region, IrType type, const char *name)
{
    Region *home = &g->regions[region];
    uint32_t row;
    IrValue value;

    if (g->failed)
        return 0;
    if (!ir_is_identifier(name))
        name = NULL; /* printed by number */
    row = ir_type_intern(g, &type, OP_COUNT);
    if (!row)
        return 0;
    if (name && !(name = ir_arena_text(&g->arena, name)))
        return ir_fail(g, ERROR_memory, OP_COUNT);
    if (!ir_grow((void **)&home->params, sizeof *home->params, home->nparams,
                 &home->params_capacity))
        return ir_fail(g, ERROR_memory, OP_COUNT);
    value = ir_value_add(g, row, 0, (uint32_t)home->nparams, region);
    if (value)
        home->params[home->nparams++] = (Param){.value = value, .name = name};
    return value;
}

IrValue
ir_param_add(IrGraph *g, IrType type, const char *name)
{
    return add_param(g, 1, type, name);
}

IrValue
ir_region_param(IrGraph *g, IrRegion region, IrType type, const char *name)
{
    if (g->failed)
        return 0;
    if (region < 2 || region >= g->nregions || g->regions[region].state != REGION_open)
        return ir_fail(g, ERROR_nesting, OP_COUNT);
    return add_param(g, region, type, name);
}

/* -- Opening and closing ---------------------------------------------------------- */

IrRegion
ir_region_open(IrGraph *g)
{
    if (g->failed)
        return 0;
    if (g->regions[g->current].depth >= MAX_DEPTH)
        return ir_fail(g, ERROR_nesting, OP_COUNT);
    if (g->nregions >= UINT32_MAX || !ir_grow((void **)&g->regions, sizeof *g->regions,
                                              g->nregions, &g->regions_capacity))
        return ir_fail(g, ERROR_memory, OP_COUNT);
    g->regions[g->nregions] = (Region){.state = REGION_open,
                                       .parent = g->current,
                                       .depth = g->regions[g->current].depth + 1};
    g->current = (IrRegion)g->nregions;
    return (IrRegion)g->nregions++;
}

static void
close_region(IrGraph *g, IrRegion region, RegionState state)
{
    ir_chains_leave(g, region);
    g->regions[region].state = state;
    g->current = g->regions[region].parent;
}

static bool
keep_values(IrGraph *g, IrRegion region, const IrValue *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!values || !ir_in_scope(g, values[i]))
            return ir_fail(g,
                           values && values[i] && values[i] < g->nvalues
                               ? ERROR_scope
                               : ERROR_operand,
                           OP_COUNT);
    g->regions[region].yields = ir_arena_copy(&g->arena, values, n * sizeof *values);
    g->regions[region].nyields = n;
    return !g->arena.failed || ir_fail(g, ERROR_memory, OP_COUNT);
}

void
ir_region_yield(IrGraph *g, IrRegion region, const IrValue *values, uint32_t n)
{
    if (g->failed)
        return;
    if (region < 2 || region != g->current) {
        ir_fail(g, ERROR_nesting, OP_COUNT);
        return;
    }
    if (keep_values(g, region, values, n))
        close_region(g, region, REGION_closed);
}

void
ir_region_drop(IrGraph *g, IrRegion region)
{
    if (region < 2 || region >= g->nregions || g->regions[region].state == REGION_owned)
        return;
    if (g->regions[region].state == REGION_open)
        while (g->current != region)
            close_region(g, g->current, REGION_dropped);
    if (g->current == region)
        close_region(g, region, REGION_dropped);
    g->regions[region].state = REGION_dropped;
}

void
ir_return(IrGraph *g, const IrValue *values, uint32_t n)
{
    if (g->failed)
        return;
    if (g->current != 1)
        ir_fail(g, ERROR_nesting, OP_COUNT);
    else if (g->returned)
        ir_fail(g, ERROR_returned, OP_COUNT);
    else if (keep_values(g, 1, values, n))
        g->returned = true;
}

/* -- Carried types ---------------------------------------------------------------- */

static bool
holds(const IrGraph *g, IrValue value, IrDim dim)
{
    if (dim.kind == DIM_index)
        return (IrValue)dim.value == value;
    return dim.kind == DIM_integer && g->values[value].def &&
           g->nodes[g->values[value].def].op == OP_const &&
           ir_type_of(g, value)->dtype == DT_index &&
           ir_node_int(g, g->values[value].def, "value", -1) == dim.value;
}

bool
ir_pairing_same(const IrGraph *g, const IrType *a, const IrType *b,
                const Pairing *pairs)
{
    if (a == b)
        return true;
    if (a->dtype != b->dtype || a->layout != b->layout || a->ndim != b->ndim)
        return false;
    for (uint32_t i = 0; i < a->ndim; i++) {
        bool same = ir_dim_equal(a->dims[i], b->dims[i]);
        for (uint32_t k = 0; !same && k < pairs->n; k++)
            same =
                holds(g, pairs->a[k], a->dims[i]) && holds(g, pairs->b[k], b->dims[i]);
        if (!same)
            return false;
    }
    return true;
}

static bool
same_types(const IrGraph *g, const Pairing *pairs)
{
    for (uint32_t i = 0; i < pairs->n; i++)
        if (!ir_pairing_same(g, ir_type_of(g, pairs->a[i]), ir_type_of(g, pairs->b[i]),
                             pairs))
            return false;
    return true;
}

/* A region's parameters as values, from the skip-th on. */
static IrValue *
param_values(IrGraph *g, IrRegion region, uint32_t skip, uint32_t *n)
{
    const Region *home = &g->regions[region];
    IrValue *values;

    *n = (uint32_t)home->nparams - skip;
    values = ir_arena_take(&g->arena, *n * sizeof *values);
    for (uint32_t i = 0; values && i < *n; i++)
        values[i] = home->params[i + skip].value;
    return values;
}

static IrError
check_for(IrGraph *g, const IrValue *operands, uint32_t n, const IrRegion *regions)
{
    const Region *body = &g->regions[regions[0]];
    IrValue *params;
    uint32_t nparams;

    if (n < 1 || ir_type_of(g, operands[0])->dtype != DT_index ||
        ir_type_of(g, operands[0])->ndim || body->nparams != n ||
        body->nyields != n - 1 ||
        ir_type_of(g, body->params[0].value)->dtype != DT_index ||
        ir_type_of(g, body->params[0].value)->ndim)
        return ERROR_region;
    if (!(params = param_values(g, regions[0], 1, &nparams)))
        return ERROR_memory;
    if (!same_types(g, &(Pairing){params, operands + 1, n - 1}) ||
        !same_types(g, &(Pairing){params, body->yields, n - 1}))
        return ERROR_carried;
    return ERROR_COUNT;
}

/* The test yields whether to go on and what the body sees. */
static IrError
check_while(IrGraph *g, const IrValue *operands, uint32_t n, const IrRegion *regions)
{
    const Region *test = &g->regions[regions[0]], *body = &g->regions[regions[1]];
    IrDtype asked;
    IrValue *params, *seen;
    uint32_t nparams, nseen;

    if (test->nparams != n || body->nyields != n || test->nyields != body->nparams + 1)
        return ERROR_region;
    asked = ir_type_of(g, test->yields[0])->dtype;
    if ((asked != DT_boolean && asked != DT_pybool) ||
        ir_type_of(g, test->yields[0])->ndim)
        return ERROR_region;
    if (!(params = param_values(g, regions[0], 0, &nparams)) ||
        !(seen = param_values(g, regions[1], 0, &nseen)))
        return ERROR_memory;
    if (!same_types(g, &(Pairing){params, operands, n}) ||
        !same_types(g, &(Pairing){params, body->yields, n}) ||
        !same_types(g, &(Pairing){seen, test->yields + 1, nseen}))
        return ERROR_carried;
    return ERROR_COUNT;
}

static IrError
check_if(const IrGraph *g, const IrValue *operands, const IrRegion *regions)
{
    const Region *then = &g->regions[regions[0]], *otherwise = &g->regions[regions[1]];
    IrDtype asked = ir_type_of(g, operands[0])->dtype;

    if ((asked != DT_boolean && asked != DT_pybool) ||
        ir_type_of(g, operands[0])->ndim || then->nparams || otherwise->nparams ||
        then->nyields != otherwise->nyields)
        return ERROR_region;
    if (!same_types(g, &(Pairing){then->yields, otherwise->yields, then->nyields}))
        return ERROR_carried;
    return ERROR_COUNT;
}

IrError
ir_control_check(IrGraph *g, IrOp op, const IrValue *operands, uint32_t n,
                 const IrRegion *regions, uint32_t nregions, const IrAttr *attrs,
                 uint32_t nattrs)
{
    const IrAttr *until = ir_attr_find(attrs, nattrs, "until");
    const Region *body = &g->regions[regions[nregions - 1]];
    const IrType *flag;

    if (until) {
        if (op == OP_if || until->kind != ATTR_ints || until->count != 1 ||
            until->ints[0] < 0 || until->ints[0] >= body->nyields)
            return ERROR_attr;
        flag = ir_type_of(g, body->yields[until->ints[0]]);
        if ((flag->dtype != DT_boolean && flag->dtype != DT_pybool) || flag->ndim)
            return ERROR_attr;
    }
    switch (op) {
    case OP_for:
        return check_for(g, operands, n, regions);
    case OP_while:
        return check_while(g, operands, n, regions);
    default:
        return check_if(g, operands, regions);
    }
}

/* -- Control nodes ---------------------------------------------------------------- */

/* The type of result i: that of inner[i], with the extents that are inner values
** named by the results, which are about to be made. */
static uint32_t
result_row(IrGraph *g, IrOp op, const Pairing *pairs, uint32_t i)
{
    IrType type = *ir_type_of(g, pairs->a[i]);
    const IrType *other = ir_type_of(g, pairs->b[i]);
    IrDim dims[IR_MAX_NDIM];

    for (uint32_t d = 0; d < type.ndim; d++) {
        dims[d] = type.dims[d];
        for (uint32_t k = 0; k < pairs->n; k++)
            if (holds(g, pairs->a[k], type.dims[d]) &&
                holds(g, pairs->b[k], other->dims[d]) &&
                (!ir_dim_equal(type.dims[d], other->dims[d]) ||
                 !ir_in_scope(g, pairs->a[k]))) {
                dims[d] = (IrDim){.value = (int64_t)g->nvalues + k, .kind = DIM_index};
                break;
            }
    }
    type.dims = dims;
    return ir_type_intern(g, &type, op);
}

static bool
check_regions(IrGraph *g, IrOp op, const IrRegion *regions, uint32_t n)
{
    if ((op != OP_for && op != OP_while && op != OP_if) || !regions ||
        n != (op == OP_for ? 1u : 2u) || (n == 2 && regions[0] == regions[1]))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (regions[i] < 2 || regions[i] >= g->nregions ||
            g->regions[regions[i]].state != REGION_closed ||
            g->regions[regions[i]].parent != g->current)
            return false;
    return true;
}

/* What the results' types follow from: region values, and what they are paired with. */
static Pairing
result_pairs(IrGraph *g, IrOp op, const IrRegion *regions)
{
    const Region *first = &g->regions[regions[0]];
    Pairing pairs = {0};

    if (op == OP_if) {
        pairs.a = first->yields;
        pairs.b = g->regions[regions[1]].yields;
        pairs.n = first->nyields;
    } else {
        pairs.a = pairs.b = param_values(g, regions[0], op == OP_for, &pairs.n);
    }
    return pairs;
}

IrNode
ir_control(IrGraph *g, IrOp op, const IrValue *operands, uint32_t noperands,
           const IrRegion *regions, uint32_t nregions, const IrAttr *attrs,
           uint32_t nattrs)
{
    IrAttr sorted[IR_MAX_ATTRS];
    Pairing pairs;
    uint32_t *rows;
    IrError error;
    IrNode number;

    if (g->failed)
        return 0;
    if (!check_regions(g, op, regions, nregions))
        return ir_fail(g, ERROR_region, (unsigned)op < OP_COUNT ? op : OP_COUNT);
    if (!ir_operands_check(g, op, operands, noperands))
        return 0;
    if (nattrs > IR_MAX_ATTRS || (nattrs && !attrs) ||
        !ir_attrs_sort(attrs, nattrs, sorted))
        return ir_fail(g, ERROR_attr, op);
    error =
        ir_control_check(g, op, operands, noperands, regions, nregions, sorted, nattrs);
    if (error != ERROR_COUNT)
        return ir_fail(g, error, op);
    pairs = result_pairs(g, op, regions);
    rows = ir_arena_take(&g->arena, pairs.n * sizeof *rows);
    if (g->arena.failed)
        return ir_fail(g, ERROR_memory, op);
    g->pending = (IrValue)g->nvalues;
    g->npending = pairs.n;
    for (uint32_t i = 0; i < pairs.n && !g->failed; i++)
        rows[i] = result_row(g, op, &pairs, i);
    g->npending = 0;
    if (g->failed)
        return 0;
    number = ir_node_add(g, op, operands, noperands, sorted, nattrs, rows, pairs.n);
    if (!number)
        return 0;
    g->nodes[number].nregions = (uint8_t)nregions;
    g->nodes[number].regions =
        ir_arena_copy(&g->arena, regions, nregions * sizeof *regions);
    if (!g->nodes[number].regions) {
        g->nodes[number].nregions = 0;
        return ir_fail(g, ERROR_memory, op);
    }
    for (uint32_t i = 0; i < nregions; i++) {
        g->regions[regions[i]].state = REGION_owned;
        g->regions[regions[i]].owner = number;
    }
    return number;
}
