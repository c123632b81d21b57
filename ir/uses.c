/* uses.c - what every node of a region waits for.
**
** A node waits for
**   - what makes its operands, the extents of its results and, for a control node, all
**     that its regions take from outside;
**   - the ordered node before it, if it is ordered: an effect, an update, or a control
**     node that holds one;
**   - if it ends a version of a storage (an update ends its base): all that read this
**     version and were made before it. Views of a version read nothing themselves; who
**     uses a view reads the version;
**   - the last effect on a version before it, if it reads this version.
**
** Law 1: every edge goes from an earlier to a later node of the program order; so
**        whatever order keeps the edges has no cycles.
*/
#include <stdlib.h>
#include <string.h>

#include "ir/fuse.h"
#include "ir/map.h"
#include "ir/pass.h"

typedef struct Finder {
    Uses *uses;
    size_t nedges, edges_capacity;
    IrMap versions; /* version + 1 -> newest row of readers */
    IrMap effects;  /* version + 1 -> position + 1 of the last effect on it */
    size_t reads_capacity;
    uint32_t last_ordered; /* position + 1 */
} Finder;

typedef void (*ValueFn)(Finder *f, uint32_t at, IrValue value);

static bool
is_alias(IrOp op)
{
    return op == OP_transpose || op == OP_reshape || op == OP_broadcast ||
           op == OP_slice || op == OP_view;
}

/* The storage's version that a value, maybe a view, is part of. */
IrValue
ir_version_of(const IrGraph *g, IrValue value)
{
    IrNode def = ir_def(g, value);

    while (def && is_alias((IrOp)g->nodes[def].op)) {
        value = g->nodes[def].operands[0];
        def = ir_def(g, value);
    }
    return value;
}

static bool
is_ordered(const IrGraph *g, IrNode number)
{
    const Node *node = &g->nodes[number];

    if (ir_op_flags((IrOp)node->op) & OPF_effect || node->op == OP_update ||
        node->op == OP_call_update)
        return true;
    for (uint32_t i = 0; i < node->nregions; i++)
        for (IrNode at = g->regions[node->regions[i]].first; at; at = g->nodes[at].next)
            if (is_ordered(g, at))
                return true;
    return false;
}

/* -- Edges ------------------------------------------------------------------------ */

static void
add_edge(Finder *f, uint32_t from)
{
    if (!ir_grow((void **)&f->uses->edges, sizeof *f->uses->edges, f->nedges,
                 &f->edges_capacity))
        f->uses->failed = true;
    else
        f->uses->edges[f->nedges++] = from;
}

static void
wait_for_value(Finder *f, uint32_t at, IrValue value)
{
    IrNode def = ir_def(f->uses->g, value);
    uint32_t position = def ? f->uses->local[def] : 0;

    if (position && position - 1 < at)
        add_edge(f, position - 1);
}

static void
wait_for_extents(Finder *f, uint32_t at, IrValue value)
{
    const IrType *type = ir_type_of(f->uses->g, value);

    for (uint32_t i = 0; i < type->ndim; i++)
        if (type->dims[i].kind == DIM_index)
            wait_for_value(f, at, (IrValue)type->dims[i].value);
}

static void
read_version(Finder *f, uint32_t at, IrValue value)
{
    IrValue version = ir_version_of(f->uses->g, value);
    uint32_t effect = ir_map_find(&f->effects, version);

    if (effect && effect - 1 < at)
        add_edge(f, effect - 1);
    if (!ir_grow((void **)&f->uses->reads, sizeof *f->uses->reads, f->uses->nreads,
                 &f->reads_capacity)) {
        f->uses->failed = true;
        return;
    }
    f->uses->reads[f->uses->nreads] =
        (Read){at, version, ir_map_find(&f->versions, version)};
    ir_map_put(&f->versions, version, (uint32_t)f->uses->nreads++);
}

/* Whoever read the version so far goes first. */
static void
end_version(Finder *f, uint32_t at, IrValue value)
{
    IrValue version = ir_version_of(f->uses->g, value);
    uint32_t row = ir_map_find(&f->versions, version);

    for (; row; row = f->uses->reads[row].next)
        if (f->uses->reads[row].at < at)
            add_edge(f, f->uses->reads[row].at);
}

static void
touch_version(Finder *f, uint32_t at, IrValue value)
{
    end_version(f, at, value);
    ir_map_put(&f->effects, ir_version_of(f->uses->g, value), at + 1);
}

static void
use_value(Finder *f, uint32_t at, IrValue value)
{
    wait_for_value(f, at, value);
    wait_for_extents(f, at, value);
    read_version(f, at, value);
}

/* -- Nodes ------------------------------------------------------------------------ */

/* Every value that the regions of a control node take from outside, maybe more than
** once. */
static void
visit_free(Finder *f, uint32_t at, IrRegion region, ValueFn visit)
{
    const IrGraph *g = f->uses->g;
    const Region *home = &g->regions[region];

    for (uint32_t i = 0; i < home->nyields; i++)
        visit(f, at, home->yields[i]);
    for (size_t i = 0; i < home->nparams; i++)
        wait_for_extents(f, at, home->params[i].value);
    for (IrNode inner = home->first; inner; inner = g->nodes[inner].next) {
        const Node *node = &g->nodes[inner];
        for (uint32_t i = 0; i < node->noperands; i++)
            visit(f, at, node->operands[i]);
        for (uint32_t i = 0; i < node->nresults; i++)
            wait_for_extents(f, at, node->first + i);
        for (uint32_t i = 0; i < node->nregions; i++)
            visit_free(f, at, node->regions[i], visit);
    }
}

static void
escape_value(Finder *f, uint32_t at, IrValue value)
{
    (void)at;
    f->uses->escapes[value] = true;
}

/* Which operands an ordered node changes in place. */
static void
end_versions(Finder *f, uint32_t at, const Node *node)
{
    const IrAttr *updates = ir_attr_find(node->attrs, node->nattrs, "updates");
    uint32_t i = 0;

    if (node->op == OP_update) {
        end_version(f, at, node->operands[0]);
        return;
    }
    if (node->op == OP_call_update) {
        for (; i < node->noperands && !updates; i++)
            end_version(f, at, node->operands[i]);
        for (i = 0; updates && i < updates->count; i++)
            if (updates->ints[i] >= 0 && updates->ints[i] < node->noperands)
                end_version(f, at, node->operands[updates->ints[i]]);
        return;
    }
    for (; i < node->noperands && (node->op == OP_effect || node->nregions); i++)
        touch_version(f, at, node->operands[i]);
    for (i = 0; i < node->nregions; i++)
        visit_free(f, at, node->regions[i], touch_version);
}

static void
find_edges(Finder *f, uint32_t at)
{
    IrNode number = f->uses->nodes[at];
    const Node *node = &f->uses->g->nodes[number];
    bool ordered = is_ordered(f->uses->g, number);

    if (ordered && f->last_ordered)
        add_edge(f, f->last_ordered - 1);
    for (uint32_t i = 0; i < node->nresults; i++)
        wait_for_extents(f, at, node->first + i);
    for (uint32_t i = 0; i < node->noperands; i++) {
        if (is_alias((IrOp)node->op))
            wait_for_value(f, at, node->operands[i]);
        else
            use_value(f, at, node->operands[i]);
    }
    for (uint32_t i = 0; i < node->nregions; i++) {
        visit_free(f, at, node->regions[i], use_value);
        visit_free(f, at, node->regions[i], escape_value);
    }
    if (!ordered)
        return;
    end_versions(f, at, node);
    f->last_ordered = at + 1;
}

static bool
take_nodes(Uses *uses)
{
    IrGraph *g = uses->g;
    const Region *home = &g->regions[uses->region];
    bool *live = calloc(g->nnodes, sizeof *live);
    size_t n = 0;

    for (IrNode at = home->first; at; at = g->nodes[at].next)
        n++;
    uses->nodes = malloc((n + 1) * sizeof *uses->nodes);
    uses->local = calloc(g->nnodes, sizeof *uses->local);
    uses->starts = malloc((n + 2) * sizeof *uses->starts);
    uses->escapes = calloc(g->nvalues, sizeof *uses->escapes);
    if (live && uses->nodes && uses->local && uses->starts && uses->escapes) {
        ir_live_nodes(g, live);
        for (IrNode at = home->first; at; at = g->nodes[at].next)
            /* A region may be scheduled before anything uses its results. */
            if (live[at] || uses->region != 1) {
                uses->nodes[uses->n++] = at;
                uses->local[at] = uses->n;
            }
    } else {
        uses->failed = true;
    }
    free(live);
    return !uses->failed;
}

bool
ir_uses_find(Uses *uses, IrGraph *g, IrRegion region)
{
    Finder f = {.uses = uses};
    const Region *home = &g->regions[region];

    *uses = (Uses){.g = g, .region = region, .nreads = 1};
    if (!take_nodes(uses))
        return false;
    if (!ir_grow((void **)&uses->reads, sizeof *uses->reads, 0, &f.reads_capacity))
        uses->failed = true;
    for (uint32_t i = 0; i < home->nyields; i++)
        uses->escapes[home->yields[i]] = true;
    for (uint32_t at = 0; at < uses->n && !uses->failed; at++) {
        uses->starts[at] = f.nedges;
        find_edges(&f, at);
    }
    uses->starts[uses->n] = f.nedges;
    uses->failed |= f.versions.failed || f.effects.failed;
    ir_map_free(&f.versions);
    ir_map_free(&f.effects);
    return !uses->failed;
}

void
ir_uses_free(Uses *uses)
{
    free(uses->nodes);
    free(uses->local);
    free(uses->edges);
    free(uses->starts);
    free(uses->escapes);
    free(uses->reads);
}
