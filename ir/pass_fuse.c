/* pass_fuse.c - cuts a region into kernels.
**
** Every node gets a level: above all it waits for, except that an elementwise node
** may share the level of elementwise nodes of its own iteration space. Then nodes
** move down to the level of who uses them, where all users allow it and one may share it:
** a value is made where it is used, not where it was written. A group is what is connected on one
** level of one space, by an edge or by an array that both read.
**
**     level 0   t = x * 2          u = y + 1   one group each, or one if they share x
**     level 1   s = sum(t)
**     level 2   v = t / s ; w = v + u          u moves here
**
** Why this is right: an edge between two items always leads to a higher level (or, in
** a group cut for its size, to a later part), so items cannot wait for each other.
**
** Law 1: constants (ndim 0) have no level: a group that uses one holds it, and only
**        what is not a group gets an item for it.
** Law 2: items come in the order of their first nodes, as far as the edges allow.
*/
#include <stdlib.h>
#include <string.h>

#include "ir/fuse.h"
#include "ir/map.h"

/* Nodes: compile time grows with them, and registers run out. */
enum { MAX_GROUP = 192 };

typedef enum Kind { KIND_OF_single, KIND_OF_fused, KIND_OF_constant } Kind;

typedef struct Fuse {
    Uses uses;
    uint32_t *level, *limit, *space, *root, *item;
    unsigned char *kind;
    /* items */
    uint32_t *starts_at, *order, *waits; /* first position; run order; edges to come */
    uint32_t *after, *after_starts;      /* who waits for an item */
    uint32_t *heap;
    uint32_t nitems, nheap, norder;
    uint32_t *stamp; /* by value, then by node: last item that listed it, + 1 */
    bool *outside;   /* by value: used in another item */
    bool *wanted;    /* who uses it may share its level */
} Fuse;

static const uint32_t NO_ITEM = UINT32_MAX;

/* -- Kinds and spaces ------------------------------------------------------------- */

static Kind
kind_of(const IrGraph *g, IrNode number)
{
    const Node *node = &g->nodes[number];
    const IrType *type = ir_type_of(g, node->first);

    if (node->op == OP_const && !type->ndim)
        return KIND_OF_constant;
    if (!(ir_op_flags((IrOp)node->op) & OPF_elementwise) ||
        ir_node_int(g, number, "library", 0) ||
        ir_dtype_kind(type->dtype) == KIND_other)
        return KIND_OF_single;
    for (uint32_t i = 0; i < node->noperands; i++)
        if (ir_dtype_kind(ir_type_of(g, node->operands[i])->dtype) == KIND_other)
            return KIND_OF_single;
    return KIND_OF_fused;
}

static uint32_t
hash_dims(const IrType *type)
{
    uint64_t hash = type->ndim;

    for (uint32_t i = 0; i < type->ndim; i++)
        hash = (hash ^ (uint64_t)type->dims[i].value ^
                (uint64_t)type->dims[i].kind << 60) *
               1099511628211u;
    return (uint32_t)(hash ^ hash >> 32);
}

/* The iteration space of each node: the first row of the type table of that shape. */
static bool
find_spaces(Fuse *f)
{
    const IrGraph *g = f->uses.g;
    uint32_t nslots = 64, *slots, *canonical;

    while (nslots < g->ntypes * 2)
        nslots *= 2;
    slots = calloc(nslots, sizeof *slots);
    canonical = malloc(g->ntypes * sizeof *canonical);
    for (uint32_t row = 0; slots && canonical && row < g->ntypes; row++) {
        uint32_t at = hash_dims(&g->types[row]) & (nslots - 1);
        while (slots[at] &&
               !ir_type_same_dims(&g->types[slots[at] - 1], &g->types[row]))
            at = (at + 1) & (nslots - 1);
        if (!slots[at])
            slots[at] = row + 1;
        canonical[row] = slots[at] - 1;
    }
    for (uint32_t i = 0; slots && canonical && i < f->uses.n; i++) {
        IrNode node = f->uses.nodes[i];
        f->kind[i] = (unsigned char)kind_of(g, node);
        if (f->kind[i] == KIND_OF_fused)
            f->space[i] = canonical[g->values[g->nodes[node].first].type];
    }
    f->uses.failed |= !slots || !canonical;
    free(slots);
    free(canonical);
    return !f->uses.failed;
}

/* -- Levels ----------------------------------------------------------------------- */

static bool
may_share(const Fuse *f, uint32_t a, uint32_t b)
{
    return f->kind[a] == KIND_OF_fused && f->kind[b] == KIND_OF_fused &&
           f->space[a] == f->space[b];
}

static void
find_levels(Fuse *f)
{
    const Uses *uses = &f->uses;

    for (uint32_t i = 0; i < uses->n; i++)
        for (size_t e = uses->starts[i]; e < uses->starts[i + 1]; e++) {
            uint32_t from = uses->edges[e], least = f->level[from];
            if (f->kind[from] == KIND_OF_constant)
                continue;
            least += !may_share(f, from, i);
            if (f->level[i] < least)
                f->level[i] = least;
        }
    memset(f->limit, 0xff, uses->n * sizeof *f->limit);
    for (uint32_t i = uses->n; i-- > 0;) {
        if (f->kind[i] == KIND_OF_fused && f->wanted[i] && f->limit[i] > f->level[i])
            f->level[i] = f->limit[i];
        for (size_t e = uses->starts[i]; e < uses->starts[i + 1]; e++) {
            uint32_t from = uses->edges[e];
            bool share = may_share(f, from, i);
            f->wanted[from] |= share;
            if (f->kind[from] != KIND_OF_constant &&
                f->limit[from] > f->level[i] - !share)
                f->limit[from] = f->level[i] - !share;
        }
    }
}

/* -- Groups ----------------------------------------------------------------------- */

static uint32_t
find_root(Fuse *f, uint32_t i)
{
    while (f->root[i] != i)
        i = f->root[i] = f->root[f->root[i]];
    return i;
}

static void
join(Fuse *f, uint32_t a, uint32_t b)
{
    if (!may_share(f, a, b) || f->level[a] != f->level[b])
        return;
    a = find_root(f, a);
    b = find_root(f, b);
    f->root[a > b ? a : b] = a > b ? b : a;
}

/* Joins nodes with an edge between them, and nodes that read the same array; all
** scalar nodes of a level are one group. A key may be shared by chance: that joins
** what may well be joined. */
static bool
find_groups(Fuse *f)
{
    const Uses *uses = &f->uses;
    IrMap readers = {0};

    for (uint32_t i = 0; i < uses->n; i++)
        f->root[i] = i;
    for (uint32_t i = 0; i < uses->n; i++) {
        const Node *node = &uses->g->nodes[uses->nodes[i]];
        if (f->kind[i] != KIND_OF_fused)
            continue;
        for (size_t e = uses->starts[i]; e < uses->starts[i + 1]; e++)
            join(f, i, uses->edges[e]);
        for (uint32_t k = 0; k < node->noperands; k++) {
            IrValue value = node->operands[k];
            bool scalar = !uses->g->types[f->space[i]].ndim;
            uint32_t key = (scalar ? 0 : value * 31u) + f->level[i] * 0x9e3779b1u +
                           f->space[i] * 0x85ebca6bu;
            uint32_t before;
            if (!scalar && !ir_type_of(uses->g, value)->ndim)
                continue;
            before = ir_map_find(&readers, key | 1);
            if (before)
                join(f, i, before - 1);
            ir_map_put(&readers, key | 1, i + 1);
        }
    }
    f->uses.failed |= readers.failed;
    ir_map_free(&readers);
    return !f->uses.failed;
}

/* Needs a constant an item of its own? */
static void
keep_constants(Fuse *f)
{
    const Uses *uses = &f->uses;

    for (uint32_t i = 0; i < uses->n; i++) {
        if (f->kind[i] == KIND_OF_fused)
            continue;
        for (size_t e = uses->starts[i]; e < uses->starts[i + 1]; e++)
            if (f->kind[uses->edges[e]] == KIND_OF_constant)
                f->level[uses->edges[e]] = 1;
    }
    for (uint32_t i = 0; i < uses->n; i++)
        if (f->kind[i] == KIND_OF_constant)
            f->level[i] |= uses->escapes[uses->g->nodes[uses->nodes[i]].first];
}

static void
number_items(Fuse *f)
{
    const Uses *uses = &f->uses;
    uint32_t *current = f->limit, *count = f->order; /* by root */

    for (uint32_t i = 0; i < uses->n; i++) {
        uint32_t root = f->kind[i] == KIND_OF_fused ? find_root(f, i) : i;
        if (f->kind[i] == KIND_OF_constant && !f->level[i]) {
            f->item[i] = NO_ITEM;
            continue;
        }
        if (root == i || count[root] == MAX_GROUP) {
            current[root] = f->nitems;
            count[root] = 0;
            f->starts_at[f->nitems++] = i;
        }
        f->item[i] = current[root];
        count[root]++;
    }
}

/* -- Order ------------------------------------------------------------------------ */

static void
push(Fuse *f, uint32_t item)
{
    uint32_t at = f->nheap++;

    while (at && f->heap[(at - 1) / 2] > item) {
        f->heap[at] = f->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    f->heap[at] = item;
}

static uint32_t
pop(Fuse *f)
{
    uint32_t least = f->heap[0], last = f->heap[--f->nheap], at = 0, child;

    while ((child = 2 * at + 1) < f->nheap) {
        if (child + 1 < f->nheap && f->heap[child + 1] < f->heap[child])
            child++;
        if (f->heap[child] >= last)
            break;
        f->heap[at] = f->heap[child];
        at = child;
    }
    f->heap[at] = last;
    return least;
}

static bool
is_item_edge(const Fuse *f, uint32_t from, uint32_t to)
{
    return f->item[from] != NO_ITEM && f->item[to] != NO_ITEM &&
           f->item[from] != f->item[to];
}

static bool
order_items(Fuse *f)
{
    const Uses *uses = &f->uses;

    f->after = malloc((uses->starts[uses->n] + 1) * sizeof *f->after);
    if (!f->after)
        return false;
    for (uint32_t i = 0; i < uses->n; i++)
        for (size_t e = uses->starts[i]; e < uses->starts[i + 1]; e++)
            if (is_item_edge(f, uses->edges[e], i)) {
                f->after_starts[f->item[uses->edges[e]] + 1]++;
                f->waits[f->item[i]]++;
            }
    for (uint32_t i = 0; i < f->nitems; i++)
        f->after_starts[i + 1] += f->after_starts[i];
    f->after_starts[f->nitems + 1] = f->after_starts[f->nitems];
    for (uint32_t i = 0; i < uses->n; i++) /* fills from the back of each row */
        for (size_t e = uses->starts[i]; e < uses->starts[i + 1]; e++)
            if (is_item_edge(f, uses->edges[e], i))
                f->after[--f->after_starts[f->item[uses->edges[e]] + 1]] = f->item[i];
    for (uint32_t i = 0; i < f->nitems; i++)
        if (!f->waits[i])
            push(f, i);
    while (f->nheap) {
        uint32_t item = pop(f);
        f->order[f->norder++] = item;
        for (uint32_t k = f->after_starts[item + 1]; k < f->after_starts[item + 2]; k++)
            if (!--f->waits[f->after[k]])
                push(f, f->after[k]);
    }
    return f->norder == f->nitems;
}

/* -- Items ------------------------------------------------------------------------ */

static int
by_number(const void *a, const void *b)
{
    IrNode x = *(const IrNode *)a, y = *(const IrNode *)b;

    return (x > y) - (x < y);
}

static bool
is_constant(const IrGraph *g, IrValue value)
{
    return ir_def(g, value) && g->nodes[ir_def(g, value)].op == OP_const &&
           !ir_type_of(g, value)->ndim;
}

/* What is used outside of the item that makes it. */
static void
find_outputs(Fuse *f)
{
    const Uses *uses = &f->uses;
    const IrGraph *g = uses->g;

    for (uint32_t i = 0; i < uses->n; i++) {
        const Node *node = &g->nodes[uses->nodes[i]];
        for (uint32_t k = 0; k < node->noperands + node->nresults; k++) {
            IrValue value = k < node->noperands ? node->operands[k]
                                                : node->first + k - node->noperands;
            const IrType *type = ir_type_of(g, value);
            uint32_t made = uses->local[ir_def(g, value)];
            if (made && f->item[made - 1] != f->item[i])
                f->outside[value] = true;
            for (uint32_t d = 0; d < type->ndim; d++)
                if (type->dims[d].kind == DIM_index)
                    f->outside[type->dims[d].value] = true;
        }
    }
}

/* Lists a value once; inputs of control nodes include what their regions take. */
static void
list_input(Fuse *f, IrItem *item, IrValue *inputs, uint32_t stamp, IrValue value)
{
    if (f->stamp[value] == stamp)
        return;
    f->stamp[value] = stamp;
    inputs[item->ninputs++] = value;
}

/* The stamps of results made inside of the region keep them from being listed. */
static void
list_free(Fuse *f, IrItem *item, IrValue *inputs, uint32_t stamp, IrRegion region)
{
    const IrGraph *g = f->uses.g;
    const Region *home = &g->regions[region];

    for (size_t i = 0; i < home->nparams; i++)
        f->stamp[home->params[i].value] = stamp;
    for (IrNode at = home->first; at; at = g->nodes[at].next) {
        const Node *node = &g->nodes[at];
        for (uint32_t i = 0; i < node->noperands; i++)
            list_input(f, item, inputs, stamp, node->operands[i]);
        for (uint32_t i = 0; i < node->nregions; i++)
            list_free(f, item, inputs, stamp, node->regions[i]);
        for (uint32_t i = 0; i < node->nresults; i++)
            f->stamp[node->first + i] = stamp;
    }
    for (uint32_t i = 0; i < home->nyields; i++)
        list_input(f, item, inputs, stamp, home->yields[i]);
}

static size_t
count_free(const IrGraph *g, const Node *node)
{
    size_t n = 0;

    for (uint32_t i = 0; i < node->nregions; i++) {
        const Region *home = &g->regions[node->regions[i]];
        n += home->nyields;
        for (IrNode at = home->first; at; at = g->nodes[at].next)
            n += g->nodes[at].noperands + count_free(g, &g->nodes[at]);
    }
    return n;
}

/* Fills in an item whose `nodes` has room for its own nodes and their constants. */
static bool
fill_item(Fuse *f, IrItem *item, IrNode *nodes, uint32_t own, uint32_t stamp)
{
    IrGraph *g = f->uses.g;
    size_t ninputs = 0, noutputs = 0;
    IrValue *inputs, *outputs;

    item->nnodes = own;
    for (uint32_t i = 0; i < own; i++) {
        const Node *node = &g->nodes[nodes[i]];
        ninputs += node->noperands + count_free(g, node);
        noutputs += node->nresults;
        for (uint32_t k = 0; item->group && k < node->noperands; k++)
            if (is_constant(g, node->operands[k]) &&
                f->stamp[node->operands[k]] != stamp) {
                f->stamp[node->operands[k]] = stamp;
                nodes[item->nnodes++] = ir_def(g, node->operands[k]);
            }
    }
    qsort(nodes, item->nnodes, sizeof *nodes, by_number);
    inputs = ir_arena_take(&g->arena, ninputs * sizeof *inputs);
    outputs = ir_arena_take(&g->arena, noutputs * sizeof *outputs);
    if (!inputs || !outputs)
        return false;
    for (uint32_t i = 0; i < item->nnodes; i++) {
        const Node *node = &g->nodes[nodes[i]];
        for (uint32_t k = 0; k < node->noperands; k++)
            list_input(f, item, inputs, stamp, node->operands[k]);
        for (uint32_t k = 0; k < node->nregions; k++)
            list_free(f, item, inputs, stamp, node->regions[k]);
        for (uint32_t k = 0; k < node->nresults; k++) {
            f->stamp[node->first + k] = stamp;
            if (f->outside[node->first + k] || f->uses.escapes[node->first + k])
                if (!item->group || node->op != OP_const)
                    outputs[item->noutputs++] = node->first + k;
        }
    }
    item->nodes = nodes;
    item->inputs = inputs;
    item->outputs = outputs;
    return true;
}

/* An update is done in place where no item after it reads what it ends, nothing that
** the region gives back is part of it, and it is not from outside: a loop may need it
** again. */
static void
find_in_place(Fuse *f, IrItem *items, const uint32_t *place)
{
    const Uses *uses = &f->uses;
    const Region *home = &uses->g->regions[uses->region];
    IrMap last = {0}; /* version -> place + 1 of its last reader */

    for (size_t i = 1; i < uses->nreads; i++) {
        const Read *read = &uses->reads[i];
        uint32_t at = place[f->item[read->at]] + 1;
        if (ir_map_find(&last, read->version) < at)
            ir_map_put(&last, read->version, at);
    }
    for (uint32_t i = 0; i < home->nyields; i++)
        ir_map_put(&last, ir_version_of(uses->g, home->yields[i]), UINT32_MAX);
    for (uint32_t i = 0; i < f->nitems; i++) {
        const Node *node = &uses->g->nodes[items[i].nodes[0]];
        IrValue base;
        if (items[i].group || node->op != OP_update)
            continue;
        base = ir_version_of(uses->g, node->operands[0]);
        items[i].in_place = uses->g->values[base].home == uses->region &&
                            ir_map_find(&last, base) <= i + 1;
    }
    f->uses.failed |= last.failed;
    ir_map_free(&last);
}

static IrSchedule *
make_items(Fuse *f)
{
    const Uses *uses = &f->uses;
    IrGraph *g = uses->g;
    IrSchedule *schedule = ir_arena_take(&g->arena, sizeof *schedule);
    IrItem *items = ir_arena_take(&g->arena, f->nitems * sizeof *items);
    uint32_t *own = f->heap, *place = f->waits; /* both are free by now */
    size_t *room = calloc(f->nitems + 1, sizeof *room);
    IrNode **nodes = calloc(f->nitems + 1, sizeof *nodes);
    bool good = schedule && items && room && nodes;

    find_outputs(f);
    for (uint32_t i = 0; good && i < uses->n; i++)
        if (f->item[i] != NO_ITEM)
            room[f->item[i]] += 1 + g->nodes[uses->nodes[i]].noperands;
    for (uint32_t i = 0; good && i < f->nitems; i++) {
        nodes[i] = ir_arena_take(&g->arena, room[i] * sizeof **nodes);
        good = nodes[i] != NULL;
        own[i] = 0;
    }
    for (uint32_t i = 0; good && i < uses->n; i++)
        if (f->item[i] != NO_ITEM)
            nodes[f->item[i]][own[f->item[i]]++] = uses->nodes[i];
    for (uint32_t i = 0; good && i < f->nitems; i++) {
        uint32_t item = f->order[i];
        place[item] = i;
        items[i] = (IrItem){.group = f->kind[f->starts_at[item]] == KIND_OF_fused};
        good = fill_item(f, &items[i], nodes[item], own[item], i + 1);
    }
    if (good) {
        find_in_place(f, items, place);
        *schedule = (IrSchedule){.nitems = f->nitems, .items = items};
    }
    free(room);
    free(nodes);
    return good && !f->uses.failed ? schedule : NULL;
}

/* -- The schedule ----------------------------------------------------------------- */

static bool
take_tables(Fuse *f)
{
    size_t n = (size_t)f->uses.n + 2, nvalues = f->uses.g->nvalues;
    uint32_t **tables[] = {&f->level,     &f->limit,       &f->space, &f->root,
                           &f->item,      &f->order,       &f->waits, &f->heap,
                           &f->starts_at, &f->after_starts};

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (!(*tables[i] = calloc(n, sizeof(uint32_t))))
            return false;
    f->kind = calloc(n, sizeof *f->kind);
    f->stamp = calloc(nvalues, sizeof *f->stamp);
    f->outside = calloc(nvalues, sizeof *f->outside);
    f->wanted = calloc(n + 1, sizeof *f->wanted);
    return f->kind && f->stamp && f->outside && f->wanted;
}

static void
free_tables(Fuse *f)
{
    uint32_t *tables[] = {f->level,        f->limit, f->space, f->root,
                          f->item,         f->order, f->waits, f->starts_at,
                          f->after_starts, f->after, f->heap,  f->stamp};

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        free(tables[i]);
    free(f->kind);
    free(f->outside);
    free(f->wanted);
    ir_uses_free(&f->uses);
}

const IrSchedule *
ir_schedule(IrGraph *g, IrRegion region)
{
    Fuse f = {0};
    IrSchedule *schedule = NULL;

    if (g->failed || region < 1 || region >= g->nregions)
        return NULL;
    if (ir_uses_find(&f.uses, g, region) && take_tables(&f) && find_spaces(&f)) {
        find_levels(&f);
        if (find_groups(&f)) {
            keep_constants(&f);
            number_items(&f);
            if (order_items(&f))
                schedule = make_items(&f);
        }
    }
    free_tables(&f);
    if (!schedule)
        ir_fail(g, ERROR_memory, OP_COUNT);
    return schedule;
}
