/* copy.c - a graph once more, under the same numbers. */
#include <stdlib.h>
#include <string.h>

#include "ir/graph.h"

static void *
copy_table(const void *table, size_t bytes, size_t capacity)
{
    void *copy = malloc(capacity ? capacity * bytes : 1);

    if (copy && capacity)
        memcpy(copy, table, capacity * bytes);
    return copy;
}

static bool
copy_tables(IrGraph *to, const IrGraph *g)
{
    to->values = copy_table(g->values, sizeof *g->values, g->nvalues);
    to->nodes = copy_table(g->nodes, sizeof *g->nodes, g->nnodes);
    to->regions = copy_table(g->regions, sizeof *g->regions, g->nregions);
    to->types = copy_table(g->types, sizeof *g->types, g->ntypes);
    to->symbols = copy_table(g->symbols, sizeof *g->symbols, g->nsymbols);
    to->buckets = copy_table(g->buckets, sizeof *g->buckets, g->nbuckets);
    to->type_slots = copy_table(g->type_slots, sizeof *g->type_slots, g->ntype_slots);
    to->values_capacity = g->nvalues;
    to->nodes_capacity = g->nnodes;
    to->regions_capacity = g->nregions;
    to->types_capacity = g->ntypes;
    to->symbols_capacity = g->nsymbols;
    if (!to->regions)
        to->nregions = 0;
    for (size_t i = 0; i < to->nregions; i++)
        to->regions[i].params = NULL; /* not ours yet */
    return to->values && to->nodes && to->regions && to->types && to->symbols &&
           to->buckets && to->type_slots;
}

static void
copy_rows(IrGraph *to, const IrGraph *g)
{
    Arena *arena = &to->arena;

    to->name = ir_arena_text(arena, g->name);
    for (size_t i = 0; i < g->nsymbols; i++)
        to->symbols[i] = ir_arena_text(arena, g->symbols[i]);
    for (size_t i = 0; i < g->ntypes; i++)
        to->types[i].dims = ir_arena_copy(arena, g->types[i].dims,
                                          g->types[i].ndim * sizeof *g->types[i].dims);
    for (size_t i = 0; i < g->nnodes; i++) {
        Node *node = &to->nodes[i];
        node->operands = ir_arena_copy(arena, node->operands,
                                       node->noperands * sizeof *node->operands);
        node->regions =
            ir_arena_copy(arena, node->regions, node->nregions * sizeof *node->regions);
        node->attrs =
            node->nattrs ? ir_attrs_keep(to, node->attrs, node->nattrs) : NULL;
    }
    for (size_t i = 0; i < g->nregions; i++) {
        Region *region = &to->regions[i];
        region->yields = ir_arena_copy(arena, region->yields,
                                       region->nyields * sizeof *region->yields);
        region->params =
            copy_table(g->regions[i].params, sizeof *region->params, region->nparams);
        region->params_capacity = region->nparams;
        if (!region->params)
            arena->failed = true;
        for (size_t k = 0; region->params && k < region->nparams; k++)
            if (region->params[k].name)
                region->params[k].name = ir_arena_text(arena, region->params[k].name);
    }
}

IrGraph *
ir_graph_copy(const IrGraph *g)
{
    IrGraph *to = malloc(sizeof *to);

    if (!to)
        return NULL;
    *to = *g;
    to->arena = (Arena){0};
    if (copy_tables(to, g)) {
        copy_rows(to, g);
        if (!to->arena.failed)
            return to;
    }
    ir_graph_free(to);
    return NULL;
}
