/* graph.c - the hash-consing builder: equal node in, same node out, so CSE is free.
**
** How a node comes in: operands and attributes are checked; an equal pure node in
** scope is given back; else the type is inferred (shape.c, dtype.c) or, where it is
** given, checked; then the node is appended to the innermost open region.
**
** Law 1: nothing is stored before everything is checked: a failing call leaves no
**        half node.
** Law 2: a commuting op keeps the operands in the order they came in, but is found in
**        both.
*/
#include "ir/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const sentences[ERROR_COUNT] = {
#define ERROR(name, text) text,
#include "ir/errors.def"
#undef ERROR
};

/* -- Errors ----------------------------------------------------------------------- */

const char *
ir_error_sentence(IrError error)
{
    return sentences[error];
}

uint32_t
ir_fail(IrGraph *g, IrError error, IrOp op)
{
    return ir_fail_operands(g, error, op, NULL, 0);
}

uint32_t
ir_fail_operands(IrGraph *g, IrError error, IrOp op, const IrValue *operands,
                 uint32_t n)
{
    char types[256];
    size_t used = 0;

    if (g->failed)
        return 0;
    g->failed = true;
    g->error = error;
    types[0] = 0;
    for (uint32_t i = 0; i < n && used < sizeof types - 2; i++) {
        used += (size_t)snprintf(types + used, sizeof types - used, "%s",
                                 i ? " and " : ": ");
        if (used < sizeof types)
            used += ir_type_format(g, ir_type_of(g, operands[i]), types + used,
                                   sizeof types - used);
    }
    snprintf(g->error_text, sizeof g->error_text, "%s%s%s%s",
             op < OP_COUNT ? ir_op_name(op) : "", op < OP_COUNT ? ": " : "",
             sentences[error], types);
    return 0;
}

const char *
ir_error(const IrGraph *g)
{
    if (g->failed)
        return g->error_text;
    return g->arena.failed ? sentences[ERROR_memory] : NULL;
}

/* -- Graphs ----------------------------------------------------------------------- */

IrGraph *
ir_graph_new(const char *name)
{
    IrGraph *g = calloc(1, sizeof *g);

    if (!g)
        return NULL;
    g->name = ir_arena_text(&g->arena, ir_is_identifier(name) ? name : "f");
    g->nbuckets = 64;
    g->buckets = calloc(g->nbuckets, sizeof *g->buckets);
    if (!g->name || !g->buckets ||
        !ir_grow((void **)&g->values, sizeof *g->values, 0, &g->values_capacity) ||
        !ir_grow((void **)&g->nodes, sizeof *g->nodes, 0, &g->nodes_capacity) ||
        !ir_grow((void **)&g->regions, sizeof *g->regions, 0, &g->regions_capacity) ||
        !ir_grow((void **)&g->types, sizeof *g->types, 0, &g->types_capacity)) {
        ir_graph_free(g);
        return NULL;
    }
    g->values[0] = (Value){0};
    g->nodes[0] = (Node){.op = OP_poison};
    g->regions[0] = (Region){.state = REGION_dropped};
    g->regions[1] = (Region){.state = REGION_open};
    g->types[0] = (IrType){.dtype = DT_object};
    g->nvalues = g->nnodes = g->ntypes = 1;
    g->nregions = 2;
    g->current = 1;
    return g;
}

void
ir_graph_free(IrGraph *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->nregions; i++)
        free(g->regions[i].params);
    free(g->values);
    free(g->nodes);
    free(g->regions);
    free(g->types);
    free(g->symbols);
    free(g->buckets);
    free(g->type_slots);
    ir_arena_free(&g->arena);
    free(g);
}

void
ir_graph_rename(IrGraph *g, const char *name)
{
    const char *text = ir_is_identifier(name) ? ir_arena_text(&g->arena, name) : NULL;

    if (text)
        g->name = text;
}

int64_t
ir_symbol_add(IrGraph *g, const char *name)
{
    char numbered[32];

    if (!name) { /* a fresh one */
        snprintf(numbered, sizeof numbered, "n%zu", g->nsymbols);
        name = numbered;
    } else {
        if (!ir_is_identifier(name))
            return ir_fail(g, ERROR_name, OP_COUNT);
        for (size_t i = 0; i < g->nsymbols; i++)
            if (!strcmp(g->symbols[i], name))
                return (int64_t)i;
    }
    name = ir_arena_text(&g->arena, name);
    if (!name || !ir_grow((void **)&g->symbols, sizeof *g->symbols, g->nsymbols,
                          &g->symbols_capacity))
        return ir_fail(g, ERROR_memory, OP_COUNT);
    g->symbols[g->nsymbols] = name;
    return (int64_t)g->nsymbols++;
}

/* -- Rows ------------------------------------------------------------------------- */

bool
ir_in_scope(const IrGraph *g, IrValue value)
{
    return value > 0 && value < g->nvalues &&
           g->regions[g->values[value].home].state == REGION_open;
}

IrValue
ir_value_add(IrGraph *g, uint32_t type, IrNode def, uint32_t index, IrRegion home)
{
    if (g->nvalues >= UINT32_MAX || !ir_grow((void **)&g->values, sizeof *g->values,
                                             g->nvalues, &g->values_capacity))
        return ir_fail(g, ERROR_memory, OP_COUNT);
    g->values[g->nvalues] =
        (Value){.type = type, .def = def, .index = index, .home = home};
    return (IrValue)g->nvalues++;
}

IrNode
ir_node_add(IrGraph *g, IrOp op, const IrValue *operands, uint32_t noperands,
            const IrAttr *attrs, uint32_t nattrs, const uint32_t *types,
            uint32_t ntypes)
{
    Region *home = &g->regions[g->current];
    Node node = {.op = (uint16_t)op,
                 .noperands = noperands,
                 .nattrs = (uint8_t)nattrs,
                 .nresults = ntypes,
                 .home = g->current,
                 .first = (IrValue)g->nvalues};
    IrNode number = (IrNode)g->nnodes;

    node.operands = ir_arena_copy(&g->arena, operands, noperands * sizeof *operands);
    node.attrs = nattrs ? ir_attrs_keep(g, attrs, nattrs) : NULL;
    if (g->arena.failed || g->nnodes >= UINT32_MAX ||
        !ir_grow((void **)&g->nodes, sizeof *g->nodes, g->nnodes, &g->nodes_capacity))
        return ir_fail(g, ERROR_memory, op);
    g->nodes[g->nnodes++] = node;
    for (uint32_t i = 0; i < ntypes; i++)
        if (!ir_value_add(g, types[i], number, i, g->current))
            return 0;
    if (home->last)
        g->nodes[home->last].next = number;
    else
        home->first = number;
    home->last = number;
    return number;
}

/* -- Hash-consing ----------------------------------------------------------------- */

static bool
is_merged(IrOp op)
{
    return !(ir_op_flags(op) & (OPF_effect | OPF_fresh)) &&
           ir_op_class(op) != CLASS_control;
}

static uint32_t
mix(uint32_t hash)
{
    hash ^= hash >> 16;
    hash *= 0x7feb352dU;
    hash ^= hash >> 15;
    hash *= 0x846ca68bU;
    return hash ^ hash >> 16;
}

static uint32_t
hash_node(IrOp op, const IrValue *operands, uint32_t n, const IrAttr *attrs,
          uint32_t nattrs)
{
    uint32_t hash = op * 0x9e3779b9U;

    if (ir_op_flags(op) & OPF_commutes && n == 2)
        hash += mix(operands[0]) + mix(operands[1]);
    else
        for (uint32_t i = 0; i < n; i++)
            hash = mix(hash ^ operands[i]);
    return mix(nattrs ? hash ^ ir_attrs_hash(attrs, nattrs) : hash);
}

/* A complex product is fma(a, c, -(b*d)), …: its factors may not change places. */
static bool
commutes(const IrGraph *g, IrOp op, const IrValue *operands)
{
    IrKind kind = ir_dtype_kind(ir_type_of(g, operands[0])->dtype);

    if (!(ir_op_flags(op) & OPF_commutes))
        return false;
    if (op != OP_multiply)
        return true;
    return kind != KIND_complex && kind != KIND_weak &&
           ir_dtype_kind(ir_type_of(g, operands[1])->dtype) != KIND_complex;
}

static bool
same_operands(const IrGraph *g, const Node *node, const IrValue *operands, uint32_t n)
{
    if (node->noperands != n)
        return false;
    if (!n || !memcmp(node->operands, operands, n * sizeof *operands))
        return true;
    return n == 2 && node->operands[0] == operands[1] &&
           node->operands[1] == operands[0] && commutes(g, (IrOp)node->op, operands);
}

/* An equal node, given types included; 0 if there is none. */
static IrNode
find_equal(const IrGraph *g, const Node *like, const uint32_t *types, uint32_t ntypes)
{
    IrNode at = g->buckets[like->hash & (g->nbuckets - 1)];

    for (; at; at = g->nodes[at].chain) {
        const Node *node = &g->nodes[at];
        bool same = node->hash == like->hash && node->op == like->op &&
                    node->nattrs == like->nattrs &&
                    same_operands(g, node, like->operands, like->noperands) &&
                    ir_attrs_equal(node->attrs, like->attrs, like->nattrs);
        if (same && types) {
            same = node->nresults == ntypes;
            for (uint32_t i = 0; same && i < ntypes; i++)
                same = g->values[node->first + i].type == types[i];
        }
        if (same)
            return at;
    }
    return 0;
}

static bool
grow_buckets(IrGraph *g)
{
    size_t n = g->nbuckets * 2;
    IrNode *buckets;

    if (g->nnodes < g->nbuckets)
        return true;
    buckets = calloc(n, sizeof *buckets);
    if (!buckets)
        return false;
    /* Oldest first, so that chains stay newest first; nodes that left their chain
    ** stay out. */
    for (IrNode i = 1; i < g->nnodes; i++) {
        Node *node = &g->nodes[i];
        if (!node->hash || g->regions[node->home].state != REGION_open)
            continue;
        node->chain = buckets[node->hash & (n - 1)];
        buckets[node->hash & (n - 1)] = i;
    }
    free(g->buckets);
    g->buckets = buckets;
    g->nbuckets = n;
    return true;
}

static void
enter_chain(IrGraph *g, IrNode number, uint32_t hash)
{
    IrNode *bucket;

    if (!grow_buckets(g)) /* only CSE is lost */
        return;
    bucket = &g->buckets[hash & (g->nbuckets - 1)];
    if (*bucket == number)
        return; /* growing has entered it */
    g->nodes[number].hash = hash;
    g->nodes[number].chain = *bucket;
    *bucket = number;
}

void
ir_chains_leave(IrGraph *g, IrRegion region)
{
    for (IrNode at = g->regions[region].first; at; at = g->nodes[at].next) {
        IrNode *bucket = &g->buckets[g->nodes[at].hash & (g->nbuckets - 1)];
        while (*bucket && g->nodes[*bucket].home == region)
            *bucket = g->nodes[*bucket].chain;
    }
}

/* -- Building --------------------------------------------------------------------- */

bool
ir_operands_check(IrGraph *g, IrOp op, const IrValue *operands, uint32_t n)
{
    if ((unsigned)op >= OP_COUNT || (n && !operands))
        return ir_fail(g, ERROR_operand, OP_COUNT);
    if (ir_op_arity(op) >= 0 && n != (uint32_t)ir_op_arity(op))
        return ir_fail(g, ERROR_arity, op);
    for (uint32_t i = 0; i < n; i++) {
        if (!operands[i] || operands[i] >= g->nvalues)
            return ir_fail(g, ERROR_operand, op);
        if (!ir_in_scope(g, operands[i]))
            return ir_fail(g, ERROR_scope, op);
    }
    return true;
}

/* Sorts the attributes; a constant's value is brought to the precision of its dtype. */
static bool
settle_attrs(IrGraph *g, IrOp op, const IrAttr *attrs, uint32_t n, const IrType *types,
             IrAttr *settled, int64_t *whole)
{
    IrAttr value;

    if (n > IR_MAX_ATTRS || (n && !attrs) || !ir_attrs_sort(attrs, n, settled))
        return ir_fail(g, ERROR_attr, op);
    if (op != OP_const)
        return true;
    if (n != 1 || strcmp(settled->key, "value") || !types ||
        !ir_constant_settle(types->dtype, settled, &value, whole))
        return ir_fail(g, ERROR_attr, op);
    settled[0] = value;
    return true;
}

/* Types of the results, as rows; false: failed. */
static bool
result_types(IrGraph *g, Node *like, const IrType *types, uint32_t ntypes,
             uint32_t *rows)
{
    IrOp op = (IrOp)like->op;
    Infer infer;

    g->pending = (IrValue)g->nvalues;
    g->npending = ntypes;
    for (uint32_t i = 0; i < ntypes; i++)
        if (!(rows[i] = ir_type_intern(g, &types[i], op)))
            return false;
    g->npending = 0;
    if (!ir_infer_has_rules(op))
        return true;
    if (types && ntypes != 1)
        return ir_fail(g, ERROR_types, op);
    infer.g = g;
    infer.op = op;
    infer.operands = like->operands;
    infer.noperands = like->noperands;
    infer.attrs = like->attrs;
    infer.nattrs = like->nattrs;
    infer.given = types ? &g->types[rows[0]] : NULL;
    if (!ir_infer(&infer))
        return false;
    if (types)
        return true;
    /* most results have the type of an operand */
    for (uint32_t i = 0; i < like->noperands; i++)
        if (ir_type_equal(ir_type_of(g, like->operands[i]), &infer.result)) {
            rows[0] = g->values[like->operands[i]].type;
            return true;
        }
    rows[0] = ir_type_intern(g, &infer.result, op);
    return rows[0] != 0;
}

static IrNode
build(IrGraph *g, IrOp op, const IrValue *operands, uint32_t noperands,
      const IrAttr *attrs, uint32_t nattrs, const IrType *types, uint32_t ntypes)
{
    enum { FEW = 16 };
    IrAttr settled[IR_MAX_ATTRS];
    uint32_t few[FEW], *rows = few, nrows = types ? ntypes : 1;
    Node like = {.op = (uint16_t)op, .operands = operands, .noperands = noperands};
    IrNode number = 0;
    int64_t whole;

    if (g->failed || !ir_operands_check(g, op, operands, noperands) ||
        !settle_attrs(g, op, attrs, nattrs, types, settled, &whole))
        return 0;
    like.attrs = settled;
    like.nattrs = (uint8_t)nattrs;
    if (!types && ir_infer_needs_types(op, settled, nattrs))
        return ir_fail(g, ERROR_types, op);
    if (is_merged(op)) {
        like.hash = hash_node(op, operands, noperands, settled, nattrs) | 1;
        if (!types && (number = find_equal(g, &like, NULL, 0)))
            return number;
    }
    if (nrows > FEW && !(rows = malloc(nrows * sizeof *rows)))
        return ir_fail(g, ERROR_memory, op);
    if (result_types(g, &like, types, ntypes, rows)) {
        if (types && like.hash)
            number = find_equal(g, &like, rows, nrows);
        if (!number) {
            number =
                ir_node_add(g, op, operands, noperands, settled, nattrs, rows, nrows);
            if (number && like.hash)
                enter_chain(g, number, like.hash);
        }
    }
    g->npending = 0;
    if (rows != few)
        free(rows);
    return number;
}

IrValue
ir_node(IrGraph *g, IrOp op, const IrValue *operands, uint32_t noperands,
        const IrAttr *attrs, uint32_t nattrs)
{
    if ((unsigned)op < OP_COUNT && ir_op_class(op) == CLASS_control)
        return ir_fail(g, ERROR_region, op);
    return ir_result(g, build(g, op, operands, noperands, attrs, nattrs, NULL, 0), 0);
}

IrNode
ir_node_typed(IrGraph *g, IrOp op, const IrValue *operands, uint32_t noperands,
              const IrAttr *attrs, uint32_t nattrs, const IrType *types,
              uint32_t ntypes)
{
    static const IrType none = {.dtype = DT_object};

    if ((unsigned)op < OP_COUNT && ir_op_class(op) == CLASS_control)
        return ir_fail(g, ERROR_region, op);
    if (ntypes && !types)
        return ir_fail(g, ERROR_types, op);
    return build(g, op, operands, noperands, attrs, nattrs, ntypes ? types : &none,
                 ntypes);
}

/* -- Shorthands ------------------------------------------------------------------- */

IrValue
ir_unary(IrGraph *g, IrOp op, IrValue x)
{
    return ir_node(g, op, &x, 1, NULL, 0);
}

IrValue
ir_binary(IrGraph *g, IrOp op, IrValue x, IrValue y)
{
    return ir_node(g, op, (IrValue[]){x, y}, 2, NULL, 0);
}

IrValue
ir_cast(IrGraph *g, IrValue x, IrDtype dtype)
{
    IrType type = *ir_type_of(g, x);

    if (type.dtype == dtype && x < g->nvalues)
        return x;
    type.dtype = dtype;
    return ir_result(g, ir_node_typed(g, OP_cast, &x, 1, NULL, 0, &type, 1), 0);
}

static IrValue
constant(IrGraph *g, IrDtype dtype, const IrAttr *value)
{
    IrType type = {.dtype = dtype};

    return ir_result(g, ir_node_typed(g, OP_const, NULL, 0, value, 1, &type, 1), 0);
}

IrValue
ir_const_int(IrGraph *g, IrDtype dtype, int64_t value)
{
    return constant(g, dtype, &(IrAttr){.key = "value", .count = 1, .ints = &value});
}

IrValue
ir_const_float(IrGraph *g, IrDtype dtype, double value)
{
    return constant(g, dtype,
                    &(IrAttr){.key = "value", .kind = ATTR_float, .real = value});
}

IrValue
ir_const_complex(IrGraph *g, IrDtype dtype, double real, double imag)
{
    return constant(
        g, dtype,
        &(IrAttr){.key = "value", .kind = ATTR_complex, .real = real, .imag = imag});
}
