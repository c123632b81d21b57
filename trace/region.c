/* region.c - the nodes of one turn, copied into the body of a `for` node.
**
**   values made in the turn            their copies in the body
**   what is carried, as it was at      the region's parameters
**     the start of the turn
**   windows on what is carried, made   made again on the parameter
**     before the turn
**   windows that move                  offset + turn * step
**   all else                           itself: it does not change in the loop, and is
**                                      computed again if its memory was given up
**
** Sites are copied with their templates; nested regions come along.
*/
#include <string.h>

#include "trace/internal.h"

enum { NESTED_MAX = 1500 /* of the stack's frames */ };

typedef struct Copier {
    Trace *trace;
    IrGraph *g;
    IrNode first, end; /* the turn's nodes */
    int depth;
    uint64_t serial; /* of the last storage made before the turn */
    IrValue turn;    /* the region's index: 0 is the turn after this one */
    IrValue *map;
    uint32_t room;
    const TraceCarried *carried;
    uint32_t ncarried;
    uint32_t nested; /* nodes that are being copied, one for another */
    bool failed;
} Copier;

static void copy_node(Copier *c, IrNode node);

static IrValue
mapped(const Copier *c, IrValue value)
{
    return value < c->room ? c->map[value] : 0;
}

static void
map_put(Copier *c, IrValue from, IrValue to)
{
    if (from < c->room)
        c->map[from] = to;
}

/* What is known of a value besides its type is the same for its copy. */
static void
copy_facts(Copier *c, IrValue from, IrValue to)
{
    if (!to || !trace_value(c->trace, to) || !trace_value(c->trace, from)) {
        c->failed = true;
        return;
    }
    TraceValue *v = &c->trace->values[to];
    const TraceValue *source = &c->trace->values[from];
    size_t ndim = ir_type(c->g, from).ndim;
    if (!v->descr)
        v->descr = (PyArray_Descr *)Py_XNewRef(source->descr);
    if (!v->scalar)
        v->scalar = Py_XNewRef(source->scalar);
    v->flags =
        source->flags; /* overwritten, too: a copy of a copy is set apart again */
    if (!v->strides && source->strides) {
        v->strides = PyMem_Malloc(ndim * sizeof(npy_intp) + 1);
        c->failed |= !v->strides;
        if (v->strides)
            memcpy(v->strides, source->strides, ndim * sizeof(npy_intp));
    }
    if (!v->steps && source->steps) {
        v->steps = PyMem_Malloc(TRACE_DEPTH_MAX * sizeof(npy_intp));
        c->failed |= !v->steps;
        if (v->steps)
            memcpy(v->steps, source->steps, TRACE_DEPTH_MAX * sizeof(npy_intp));
    }
}

static bool
in_turn(const Copier *c, IrNode node)
{
    return node >= c->first && node < c->end;
}

/* Ops that the builder merges when they are equal: what such a value was computed from says
** what it is. Calls are never merged. */
static bool
is_merged(IrOp op)
{
    return ir_op_flags(op) & OPF_elementwise || op == OP_view ||
           ir_op_class(op) == CLASS_reduce || ir_op_class(op) == CLASS_scan;
}

/* Of a constant, a number that follows from extents, or an index: it is the same in all turns, and has no array. */
static bool
is_number(IrOp op)
{
    return op == OP_const || op == OP_count || op == OP_to_index || op == OP_iadd ||
           op == OP_isub || op == OP_imul;
}

enum { DEPTH_MAX = 64, VISITS_MAX = 2000 };

/* Values that others share are come to by each way there is: `left` bounds how often. */
static bool
depends(const Trace *trace, IrValue value, IrNode first, const TraceCarried *carried,
        uint32_t n, int depth, int *left)
{
    const IrGraph *g = trace->graph;
    IrNode node = ir_def(g, value);
    for (uint32_t i = 0; i < n; i++) {
        if (carried[i].start == value)
            return true;
    }
    if (depth > DEPTH_MAX || --*left < 0)
        return true;
    if (!node || node >= first || !is_merged(ir_node_op(g, node)))
        return false;
    for (uint32_t i = 0; i < ir_node_noperands(g, node); i++) {
        if (depends(trace, ir_node_operand(g, node, i), first, carried, n, depth + 1,
                    left))
            return true;
    }
    return false;
}

bool
trace_depends(const Trace *trace, IrValue value, IrNode first,
              const TraceCarried *carried, uint32_t n)
{
    int left = VISITS_MAX;
    return depends(trace, value, first, carried, n, 0, &left);
}

/* True if a variable from before the turn holds it: then that one does not change. */
static bool
held_from_before(const Copier *c, IrValue value)
{
    for (const TraceStorage *s = c->trace->storages; s; s = s->next) {
        if (s->value == value && s->serial <= c->serial)
            return true;
    }
    return false;
}

/* The value as the body sees it. */
static IrValue
use(Copier *c, IrValue value)
{
    IrValue known = mapped(c, value);
    IrNode node = ir_def(c->g, value);
    if (known)
        return known;
    if (!node || c->failed)
        return value;
    IrOp op = ir_node_op(c->g, node);
    const TraceValue *v = value < c->trace->nvalues ? &c->trace->values[value] : NULL;
    bool before =
        !in_turn(c, node) && op != OP_view && ir_op_flags(op) & OPF_elementwise;
    if (before && v && v->flags & TRACE_VALUE_overwritten) {
        copy_node(c, node); /* the turn writes it: each turn makes it anew */
        return mapped(c, value);
    }
    if (before && trace_depends(c->trace, value, c->first, c->carried, c->ncarried)) {
        if (held_from_before(c, value)) {
            c->failed = true; /* a variable, or the expression again? */
            return value;
        }
        copy_node(c, node);
        return mapped(c, value);
    }
    bool computed = is_number(op) || (v && (v->array || v->pending || v->scalar));
    if (!computed && !in_turn(c, node)) {
        /* Made before the turn and given up since: it is needed again. */
        if (!trace_value_revive(c->trace, value))
            c->failed = true;
    }
    if (v && !v->scalar && !c->failed)
        trace_value_hold(c->trace, value); /* the turns to come read its memory */
    if (op != OP_view)
        return value;
    /* A window from before the turn: on what is carried, or on what does not change. */
    IrValue base = ir_node_operand(c->g, node, 0);
    if (use(c, base) == base)
        return value;
    copy_node(c, node);
    return mapped(c, value);
}

/* -- Sites ------------------------------------------------------------------------- */

static IrValue
use_ref(void *context, IrValue value)
{
    return use(context, value);
}

static PyObject *
copy_template(Copier *c, PyObject *template)
{
    return trace_template_map(c->trace->state, template, use_ref, c);
}

/* The site's copy is filled in once the node's results are mapped. */
static void
fill_site(Copier *c, uint32_t from, uint32_t to, IrNode node)
{
    Trace *trace = c->trace;
    PyObject *args = copy_template(c, trace->sites[from].args);
    PyObject *kwargs =
        trace->sites[from].kwargs ? copy_template(c, trace->sites[from].kwargs) : NULL;
    PyObject *result = copy_template(c, trace->sites[from].result);
    TraceSite *site = &trace->sites[to];
    site->callable = Py_NewRef(trace->sites[from].callable);
    site->origin = Py_XNewRef(trace->sites[from].origin);
    site->args = args;
    site->kwargs = kwargs;
    site->result = result;
    site->raises = trace->sites[from].raises;
    site->node = node;
    if (!args || !result)
        c->failed = true;
}

/* -- Nodes ------------------------------------------------------------------------- */

/* offset + turn * step, as the node's last operand and a new `offset` attribute. */
static void
move_window(Copier *c, IrNode node, const npy_intp *steps, IrValue *operands,
            uint32_t *n, IrAttr *attrs, uint32_t nattrs, int64_t *offset)
{
    uint32_t fixed = ir_node_op(c->g, node) == OP_update ? 2 : 1;
    int64_t step = steps ? steps[c->depth] : 0;
    if (!step)
        return;
    IrValue by = ir_const_int(c->g, DT_index, step), product[2] = {c->turn, by};
    if (!trace_value(c->trace, by))
        c->failed = true;
    IrValue moved = ir_node(c->g, OP_imul, product, 2, NULL, 0);
    if (*n > fixed) {
        IrValue sum[2] = {operands[fixed], moved};
        moved = ir_node(c->g, OP_iadd, sum, 2, NULL, 0);
    }
    operands[fixed] = moved;
    *n = fixed + 1;
    for (uint32_t i = 0; i < nattrs; i++) {
        if (strcmp(attrs[i].key, "offset") == 0) {
            *offset = attrs[i].ints[0] + step;
            attrs[i].ints = offset;
        }
    }
}

static void
copy_region(Copier *c, IrNode node, uint32_t i, IrRegion *made)
{
    IrRegion from = ir_node_region(c->g, node, i), to = ir_region_open(c->g);
    uint32_t nyields = ir_region_nyields(c->g, from);
    IrValue *yields = PyMem_Malloc((nyields + 1) * sizeof *yields);
    for (uint32_t k = 0; k < ir_region_nparams(c->g, from); k++) {
        IrValue param = ir_region_param_at(c->g, from, k);
        IrValue copy = ir_region_param(c->g, to, ir_type(c->g, param), NULL);
        map_put(c, param, copy);
        copy_facts(c, param, copy);
    }
    for (IrNode at = ir_region_first(c->g, from); at; at = ir_node_next(c->g, at))
        copy_node(c, at);
    for (uint32_t k = 0; yields && k < nyields; k++)
        yields[k] = use(c, ir_region_yield_at(c->g, from, k));
    if (yields)
        ir_region_yield(c->g, to, yields, nyields);
    else
        c->failed = true;
    PyMem_Free(yields);
    *made = to;
}

static IrNode
copy_control(Copier *c, IrNode node, const IrValue *operands, uint32_t n,
             const IrAttr *attrs, uint32_t nattrs)
{
    IrRegion regions[2];
    uint32_t nregions = ir_node_nregions(c->g, node);
    for (uint32_t i = 0; i < nregions && i < 2; i++)
        copy_region(c, node, i, &regions[i]);
    return ir_control(c->g, ir_node_op(c->g, node), operands, n, regions, nregions,
                      attrs, nattrs);
}

/* Calls name their site; a reduction or a roll has one that names it. */
static bool
find_site(const Trace *trace, IrNode node, uint32_t *site)
{
    const IrAttr *named = ir_node_attr(trace->graph, node, "site");
    if (named) {
        *site = (uint32_t)named->ints[0];
        return true;
    }
    IrOp op = ir_node_op(trace->graph, node);
    if (ir_op_class(op) != CLASS_reduce && ir_op_class(op) != CLASS_scan &&
        op != OP_roll)
        return false;
    for (uint32_t i = trace->nsites; i-- > 0;) {
        if (trace->sites[i].node == node) {
            *site = i;
            return true;
        }
    }
    return false;
}

/* An array that the turn makes and writes has to be made in each turn, even if nothing that it
** is made from changes: then its node gets a number of its own. 0: nothing to do. */
static int64_t
set_apart(Copier *c, IrNode node, IrAttr *attrs, uint32_t *nattrs)
{
    IrValue value = ir_node_nresults(c->g, node) ? ir_result(c->g, node, 0) : 0;
    if (!(ir_op_flags(ir_node_op(c->g, node)) & OPF_elementwise) || !value ||
        value >= c->trace->nvalues ||
        !(c->trace->values[value].flags & TRACE_VALUE_overwritten))
        return 0;
    if (!ir_node_attr(c->g, node, "library"))
        attrs[(*nattrs)++] = (IrAttr){.key = "library", .kind = ATTR_ints, .count = 1};
    return (int64_t)++c->trace->serial;
}

/* `operands` has room for one more than the node has, `types` for its results. */
static void
copy_into(Copier *c, IrNode node, IrValue *operands, IrType *types)
{
    IrAttr attrs[IR_MAX_ATTRS];
    IrGraph *g = c->g;
    uint32_t n = ir_node_noperands(g, node), nattrs = ir_node_nattrs(g, node);
    uint32_t nresults = ir_node_nresults(g, node), from_site = 0, to_site = 0;
    IrOp op = ir_node_op(g, node);
    int64_t offset, site;
    IrNode copy;
    for (uint32_t i = 0; i < n; i++)
        operands[i] = use(c, ir_node_operand(g, node, i));
    for (uint32_t i = 0; i < nattrs; i++)
        attrs[i] = *ir_node_attr_at(g, node, i);
    for (uint32_t i = 0; i < nresults; i++)
        types[i] = ir_type(g, ir_result(g, node, i));
    bool has_site = find_site(c->trace, node, &from_site);
    if (has_site) {
        to_site = c->trace->nsites;
        if (!trace_site_add(c->trace, c->trace->sites[from_site].kind)) {
            c->failed = true;
            return;
        }
        site = to_site;
        for (uint32_t i = 0; i < nattrs; i++) {
            if (strcmp(attrs[i].key, "site") == 0)
                attrs[i].ints = &site;
        }
    }
    IrValue first = nresults ? ir_result(g, node, 0) : 0;
    if ((op == OP_view || op == OP_update) && first < c->trace->nvalues)
        move_window(c, node, c->trace->values[first].steps, operands, &n, attrs, nattrs,
                    &offset);
    int64_t apart = set_apart(c, node, attrs, &nattrs);
    for (uint32_t i = 0; apart && i < nattrs; i++) {
        if (strcmp(attrs[i].key, "library") == 0)
            attrs[i].ints = &apart;
    }
    if (ir_node_nregions(g, node))
        copy = copy_control(c, node, operands, n, attrs, nattrs);
    else
        copy = ir_node_typed(g, op, operands, n, attrs, nattrs, types, nresults);
    if (!copy) {
        c->failed = true;
        return;
    }
    for (uint32_t i = 0; i < nresults; i++) {
        IrValue result = ir_result(g, copy, i);
        map_put(c, ir_result(g, node, i), result);
        if (ir_node_home(g, copy) == 1 && !is_number(op)) {
            /* Nothing in it changes: the copy is the node itself, outside of the loop. */
            if (!trace_value_revive(c->trace, result))
                c->failed = true;
            trace_value_hold(c->trace, result);
        }
        if (!is_number(op))
            copy_facts(c, ir_result(g, node, i), ir_result(g, copy, i));
    }
    if (has_site)
        fill_site(c, from_site, to_site, copy);
}

static void
copy_node(Copier *c, IrNode node)
{
    uint32_t n = ir_node_noperands(c->g, node), nresults = ir_node_nresults(c->g, node);
    IrValue *operands = PyMem_Malloc((n + 1) * sizeof *operands);
    IrType *types = PyMem_Malloc((nresults + 1) * sizeof *types);
    if (!operands || !types || c->failed || c->nested == NESTED_MAX)
        c->failed = true;
    else {
        c->nested++;
        copy_into(c, node, operands, types);
        c->nested--;
    }
    PyMem_Free(operands);
    PyMem_Free(types);
}

/* -- The region -------------------------------------------------------------------- */

static IrNode
finish(Copier *c, IrRegion region, npy_intp count, const TraceCarried *carried,
       uint32_t n)
{
    IrValue *values = PyMem_Malloc((n + 1) * sizeof *values);
    IrNode node = 0;
    if (!values)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        values[i] = use(c, carried[i].end);
        IrNode def = ir_def(c->g, values[i]);
        if (def && ir_node_home(c->g, def) != region)
            c->failed = true; /* the same in each turn: one array for all would do */
    }
    ir_region_yield(c->g, region, values, n);
    values[0] = ir_const_int(c->g, DT_index, count);
    if (!trace_value(c->trace, values[0]))
        c->failed = true;
    for (uint32_t i = 0; i < n; i++)
        values[i + 1] =
            carried[i].end; /* what this turn left is where the loop goes on */
    if (!c->failed)
        node = ir_control(c->g, OP_for, values, n + 1, &region, 1, NULL, 0);
    for (uint32_t i = 0; node && i < n; i++)
        copy_facts(c, carried[i].end, ir_result(c->g, node, i));
    PyMem_Free(values);
    return c->failed ? 0 : node;
}

IrNode
trace_region_build(Trace *trace, IrNode first, uint64_t serial, int depth,
                   npy_intp count, const TraceCarried *carried, uint32_t ncarried)
{
    IrGraph *g = trace->graph;
    Copier c = {.trace = trace,
                .g = g,
                .first = first,
                .end = ir_nnodes(g),
                .depth = depth,
                .serial = serial,
                .carried = carried,
                .ncarried = ncarried,
                .room = ir_nvalues(g)};
    IrNode node = 0;
    c.map = PyMem_Calloc(c.room, sizeof *c.map);
    if (!c.map) {
        PyErr_NoMemory();
        return 0;
    }
    IrRegion region = ir_region_open(g);
    c.turn = ir_region_param(g, region, (IrType){.dtype = DT_index}, NULL);
    if (!trace_value(trace, c.turn))
        c.failed = true;
    for (uint32_t i = 0; i < ncarried; i++) {
        IrValue param = ir_region_param(g, region, ir_type(g, carried[i].start), NULL);
        map_put(&c, carried[i].start, param);
        copy_facts(&c, carried[i].start, param);
    }
    for (IrNode at = first; at < c.end && !c.failed; at++) {
        if (ir_node_home(g, at) == 1 && in_turn(&c, at))
            copy_node(&c, at);
    }
    if (c.failed || ir_error(g))
        ir_region_drop(g, region);
    else
        node = finish(&c, region, count, carried, ncarried);
    PyMem_Free(c.map);
    if (!node && !PyErr_Occurred() && ir_error(g))
        trace_end(trace, BAIL_graph, NULL);
    return node;
}
