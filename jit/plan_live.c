/* plan_live.c - what of a graph has to live, whose memory a value is, who needs an object. */
#include <stdlib.h>
#include <string.h>

#include "jit/planner.h"

/* -- What lives -------------------------------------------------------------------- */

void
jit_plan_walk_refs(Planner *p, PyObject *template, void (*visit)(Planner *, TraceRef *))
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (!template)
        return;
    if (trace_ref_check(p->state->trace, template))
        visit(p, (TraceRef *)template);
    else if (trace_is_tuple(template) || PyList_CheckExact(template)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(template); i++)
            jit_plan_walk_refs(p, PySequence_Fast_GET_ITEM(template, i), visit);
    } else if (PyDict_CheckExact(template)) {
        while (PyDict_Next(template, &at, &key, &value))
            jit_plan_walk_refs(p, value, visit);
    }
}

static void
mark_node(Planner *p, IrValue value)
{
    IrNode node = value ? ir_def(p->g, value) : 0;
    if (value)
        p->readers[value]++;
    if (node)
        p->live[node] = true;
}

static void
mark_ref(Planner *p, TraceRef *ref)
{
    mark_node(p, ref->value);
    if (ref->value)
        p->kept[ref->value] = true;
}

/* Calls visit for every operand of the node, and for what its regions use. */
void
jit_plan_each_use(Planner *p, IrNode node, void (*visit)(Planner *, IrValue))
{
    for (uint32_t k = 0; k < ir_node_noperands(p->g, node); k++)
        visit(p, ir_node_operand(p->g, node, k));
    for (uint32_t i = 0; i < ir_node_nregions(p->g, node); i++) {
        IrRegion region = ir_node_region(p->g, node, i);
        for (IrNode at = ir_region_first(p->g, region); at;
             at = ir_node_next(p->g, at)) {
            p->live[at] = true; /* the region's own plan says what in it is */
            jit_plan_each_use(p, at, visit);
        }
        for (uint32_t k = 0; k < ir_region_nyields(p->g, region); k++)
            visit(p, ir_region_yield_at(p->g, region, k));
    }
}

/* True if a call in the regions of the node may raise. */
static bool
holds_raising(const Planner *p, IrNode node)
{
    for (uint32_t r = 0; r < ir_node_nregions(p->g, node); r++) {
        IrRegion region = ir_node_region(p->g, node, r);
        for (uint32_t i = 0; i < p->trace->nsites; i++) {
            const TraceSite *site = &p->trace->sites[i];
            if (site->raises && site->node && ir_node_home(p->g, site->node) == region)
                return true;
        }
        for (IrNode inner = ir_region_first(p->g, region); inner;
             inner = ir_node_next(p->g, inner)) {
            if (ir_node_nregions(p->g, inner) && holds_raising(p, inner))
                return true;
        }
    }
    return false;
}

/* True if another result of the call may be seen although nothing that lives reads it: by its extents, or by
** who could not do with these. */
static bool
is_seen(const Planner *p, const TraceSite *site)
{
    bool hidden = site->unseen && !site->seen;
    return (p->trace->extents && !hidden) || p->used[site->node];
}

/* True of a call that is made even if no one needs what it gives: an exception is a result, too. */
bool
jit_plan_must_call(const Planner *p, const TraceSite *site)
{
    return site->raises || (site->differs && is_seen(p, site));
}

void
jit_plan_mark_live(Planner *p)
{
    Trace *trace = p->trace;
    for (uint32_t i = 0; p->region > 1 && i < ir_region_nyields(p->g, p->region); i++) {
        IrValue value = ir_region_yield_at(p->g, p->region, i);
        mark_node(p, value);
        p->kept[value] = true;
    }
    if (p->region > 1)
        goto nodes;
    jit_plan_walk_refs(p, trace->result, mark_ref);
    for (uint32_t i = 0; i < trace->nparams; i++) {
        if (trace->params[i].written)
            mark_node(p, trace->params[i].version);
    }
    for (uint32_t i = 0; i < trace->nescapes; i++)
        mark_node(p, trace->escapes[i]);
    for (uint32_t i = 0; i < trace->nsites; i++) {
        if (trace->sites[i].compares || trace->sites[i].kind == SITE_effect)
            p->live[trace->sites[i].node] = true;
    }
nodes:
    for (uint32_t i = 0; i < trace->nsites; i++) {
        const TraceSite *site = &trace->sites[i];
        IrNode node = site->node;
        if (node && ir_node_home(p->g, node) == p->region &&
            jit_plan_must_call(p, site))
            p->live[node] = true; /* the exception is a result, too */
    }
    for (IrNode node = ir_nnodes(p->g) - 1; node > 0; node--) {
        if (ir_node_nregions(p->g, node) && ir_node_home(p->g, node) == p->region &&
            !p->live[node])
            p->live[node] = holds_raising(p, node);
        if (p->live[node] && ir_node_home(p->g, node) == p->region)
            jit_plan_each_use(p, node, mark_node);
    }
}

/* -- Whose memory ------------------------------------------------------------------ */

/* True if a loop's carried value is memory that its turns write: what is yielded is a
 *version
 ** of the parameter. */
bool
jit_plan_carried_in_place(const IrGraph *g, IrNode node, uint32_t i)
{
    IrRegion region = ir_node_region(g, node, 0);
    IrValue value = ir_region_yield_at(g, region, i),
            param = ir_region_param_at(g, region, i + 1);
    while (value != param) {
        IrNode def = ir_def(g, value);
        uint32_t k = 0;
        if (!def || ir_node_op(g, def) == OP_view)
            return false;
        while (ir_result(g, def, k) != value)
            k++;
        value = jit_plan_shares(g, def, k);
        if (!value)
            return false;
    }
    return true;
}

/* The operand whose memory result `i` of the node is, or 0. */
IrValue
jit_plan_shares(const IrGraph *g, IrNode node, uint32_t i)
{
    IrOp op = ir_node_op(g, node);
    if (op == OP_view || op == OP_update)
        return ir_node_operand(g, node, 0);
    if (op == OP_for && jit_plan_carried_in_place(g, node, i))
        return ir_node_operand(g, node, i + 1);
    if (op == OP_call_update) {
        const IrAttr *updates = ir_node_attr(g, node, "updates");
        uint32_t fresh = ir_node_nresults(g, node) - updates->count;
        if (i >= fresh)
            return ir_node_operand(g, node, (uint32_t)updates->ints[i - fresh]);
    }
    return 0;
}

bool
jit_plan_is_elementwise(const IrGraph *g, IrNode node)
{
    return node && ir_op_flags(ir_node_op(g, node)) & OPF_elementwise;
}

void
jit_plan_find_roots(Planner *p)
{
    for (IrValue v = 1; v < ir_nvalues(p->g); v++)
        p->root[v] = v;
    for (IrNode node = 1; node < ir_nnodes(p->g); node++) {
        for (uint32_t i = 0; i < ir_node_nresults(p->g, node); i++) {
            IrValue base = jit_plan_shares(p->g, node, i);
            if (base)
                p->root[ir_result(p->g, node, i)] = p->root[base];
        }
    }
}

static void
mark_object(Planner *p, TraceRef *ref)
{
    if (ref->value)
        p->object[p->root[ref->value]] = true;
}

/* `called`: of the sites only those that a step calls. */
static void
find_objects(Planner *p, bool called)
{
    if (p->region == 1)
        jit_plan_walk_refs(p, p->trace->result, mark_object);
    for (uint32_t i = 0; p->region > 1 && i < ir_region_nyields(p->g, p->region); i++)
        p->object[p->root[ir_region_yield_at(p->g, p->region, i)]] = true;
    for (uint32_t i = 0; i < p->trace->nsites; i++) {
        TraceSite *site = &p->trace->sites[i];
        if (!site->node || !p->live[site->node] || (called && !p->called[i]))
            continue;
        jit_plan_walk_refs(p, site->args, mark_object);
        jit_plan_walk_refs(p, site->kwargs, mark_object);
        jit_plan_walk_refs(p, site->result, mark_object);
        const IrAttr *updates =
            site->epoch ? ir_node_attr(p->g, site->node, "updates") : NULL;
        for (uint32_t k = 0; updates && k < updates->count; k++)
            p->object[p->root[ir_node_operand(p->g, site->node,
                                              (uint32_t)updates->ints[k])]] = true;
    }
}

void
jit_plan_find_objects(Planner *p)
{
    find_objects(p, false);
}

/* Arrays that were to be shown to calls which became steps are memory of the pool. */
void
jit_plan_drop_objects(Planner *p)
{
    RtPlan *rt = p->rt;
    bool *needed = PyMem_Calloc(rt->nslots + 1, sizeof *needed);
    if (!needed) {
        p->failed = true;
        return;
    }
    memset(p->object, 0, ir_nvalues(p->g) * sizeof *p->object);
    find_objects(p, true);
    for (IrValue v = 1; v < ir_nvalues(p->g); v++) {
        if (p->object[v] && p->slot[v])
            needed[p->slot[v] - 1] = true;
    }
    for (uint32_t i = 0; i < rt->nsteps; i++) {
        RtStep *step = &rt->steps[i];
        if (step->kind == RT_STEP_allocate && !needed[step->index]) {
            step->kind = RT_STEP_buffer;
            rt->slots[step->index].kind = RT_SLOT_buffer;
        }
    }
    PyMem_Free(needed);
}
