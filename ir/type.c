/* type.c - interned types: equal types are one row of the graph's table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph.h"

IrDim
ir_dim(int64_t extent)
{
    return (IrDim){.value = extent, .kind = DIM_integer};
}

bool
ir_dim_equal(IrDim a, IrDim b)
{
    return a.value == b.value && a.kind == b.kind;
}

bool
ir_type_same_dims(const IrType *a, const IrType *b)
{
    if (a->ndim != b->ndim)
        return false;
    if (a->dims == b->dims)
        return true;
    for (uint32_t i = 0; i < a->ndim; i++)
        if (!ir_dim_equal(a->dims[i], b->dims[i]))
            return false;
    return true;
}

bool
ir_type_equal(const IrType *a, const IrType *b)
{
    return a->dtype == b->dtype && a->layout == b->layout && ir_type_same_dims(a, b);
}

const IrType *
ir_type_of(const IrGraph *g, IrValue value)
{
    return &g->types[value < g->nvalues ? g->values[value].type : 0];
}

static uint32_t
hash_type(const IrType *type)
{
    uint64_t hash = 1469598103934665603u ^ (type->dtype * 64u + type->layout);

    for (uint32_t i = 0; i < type->ndim; i++)
        hash = (hash ^ (uint64_t)type->dims[i].value ^
                ((uint64_t)type->dims[i].kind << 62)) *
               1099511628211u;
    return (uint32_t)(hash ^ hash >> 32);
}

static bool
grow_slots(IrGraph *g)
{
    size_t n = g->ntype_slots ? g->ntype_slots * 2 : 64;
    uint32_t *slots;

    if (g->ntypes * 2 < g->ntype_slots)
        return true;
    slots = calloc(n, sizeof *slots);
    if (!slots)
        return false;
    for (uint32_t i = 1; i < g->ntypes; i++) {
        size_t at = hash_type(&g->types[i]) & (n - 1);
        while (slots[at])
            at = (at + 1) & (n - 1);
        slots[at] = i;
    }
    free(g->type_slots);
    g->type_slots = slots;
    g->ntype_slots = n;
    return true;
}

/* An extent held by a constant is that integer. */
static bool
settle_dim(IrGraph *g, IrDim *dim)
{
    IrValue value = (IrValue)dim->value;

    switch (dim->kind) {
    case DIM_integer:
        return dim->value >= 0;
    case DIM_symbol:
        return dim->value >= 0 && (size_t)dim->value < g->nsymbols;
    case DIM_index:
        break;
    default:
        return false;
    }
    if (dim->value <= 0 || dim->value > UINT32_MAX)
        return false;
    if (value >= g->pending && value < g->pending + g->npending)
        return true;
    if (value >= g->nvalues || ir_type_of(g, value)->dtype != DT_index ||
        !ir_in_scope(g, value))
        return false;
    if (g->values[value].def && g->nodes[g->values[value].def].op == OP_const) {
        *dim = ir_dim(ir_node_int(g, g->values[value].def, "value", 0));
        return dim->value >= 0;
    }
    return true;
}

uint32_t
ir_type_intern(IrGraph *g, const IrType *type, IrOp op)
{
    IrDim dims[IR_MAX_NDIM];
    IrType wanted = *type;
    size_t at;

    if ((unsigned)type->dtype >= DT_COUNT || (unsigned)type->layout > LAYOUT_nc1hwc0)
        return ir_fail(g, ERROR_types, op);
    if (type->ndim > IR_MAX_NDIM || (type->ndim && !type->dims))
        return ir_fail(g, ERROR_ndim, op);
    for (uint32_t i = 0; i < type->ndim; i++) {
        dims[i] = type->dims[i];
        if (!settle_dim(g, &dims[i]))
            return ir_fail(g, ERROR_extent, op);
    }
    wanted.dims = dims;
    if (!grow_slots(g))
        return ir_fail(g, ERROR_memory, op);
    at = hash_type(&wanted) & (g->ntype_slots - 1);
    for (; g->type_slots[at]; at = (at + 1) & (g->ntype_slots - 1))
        if (ir_type_equal(&g->types[g->type_slots[at]], &wanted))
            return g->type_slots[at];
    wanted.dims = ir_arena_copy(&g->arena, dims, wanted.ndim * sizeof *dims);
    if (!wanted.dims ||
        !ir_grow((void **)&g->types, sizeof *g->types, g->ntypes, &g->types_capacity))
        return ir_fail(g, ERROR_memory, op);
    g->types[g->ntypes] = wanted;
    g->type_slots[at] = (uint32_t)g->ntypes;
    return (uint32_t)g->ntypes++;
}

size_t
ir_type_format(const IrGraph *g, const IrType *type, char *text, size_t n)
{
    size_t used = 0;
    int wrote = snprintf(text, n, "%s", ir_dtype_name(type->dtype));

#define ROOM (used < n ? text + used : NULL), (used < n ? n - used : 0)
    used += wrote > 0 ? (size_t)wrote : 0;
    for (uint32_t i = 0; i < type->ndim; i++) {
        const IrDim *dim = &type->dims[i];
        const char *before = i ? ", " : "[";
        if (dim->kind == DIM_integer)
            wrote = snprintf(ROOM, "%s%lld", before, (long long)dim->value);
        else if (dim->kind == DIM_symbol && (size_t)dim->value < g->nsymbols)
            wrote = snprintf(ROOM, "%s%s", before, g->symbols[dim->value]);
        else
            wrote = snprintf(ROOM, "%s%%", before);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    if (type->ndim)
        used += (size_t)snprintf(ROOM, "]");
#undef ROOM
    return used;
}
