/* plan.c - turns a finished trace into a plan.
**
** 1. What jit_plan_has to live: results, final versions of written arguments, calls whose
** answers are
**    compared. The rest of the graph is dead.
** 2. Every value gets a slot. Views share the memory of what they look at, and each
** `update`
**    works in place: the recorder made sure that no one reads the old version later.
** 3. Items of the schedule become steps. Large groups are cut; an update of a group's
** only
**    result is written by the group itself where nothing it reads overlaps.
** 4. Memory is released after its last use.
*/
#include <stdlib.h>
#include <string.h>

#include "jit/planner.h"

/* -- Items ------------------------------------------------------------------------- */

static void
copy_emit(Planner *p, IrNode node)
{
    IrValue value = ir_node_operand(p->g, node, 0), result = ir_result(p->g, node, 0);
    uint32_t from = jit_plan_slot_of(p, value), to = jit_plan_slot_of(p, result);
    jit_plan_make_room(p, to);
    if (!p->failed)
        jit_plan_window_copy(p, value, from, p->trace->values[value].strides, to);
}

static void
touch_ref(Planner *p, TraceRef *ref)
{
    if (ref->value)
        jit_plan_touch(p, jit_plan_slot_of(p, ref->value));
}

void
jit_plan_site_emit(Planner *p, IrNode node)
{
    uint32_t number = p->site[node] - 1;
    TraceSite *site = &p->trace->sites[number];
    if (jit_plan_made_once(p, node) || jit_plan_place_emit(p, node))
        return;
    jit_plan_walk_refs(p, site->args, touch_ref);
    jit_plan_walk_refs(p, site->kwargs, touch_ref);
    jit_plan_walk_refs(p, site->result, touch_ref);
    const IrAttr *updates = site->epoch ? ir_node_attr(p->g, node, "updates") : NULL;
    for (uint32_t i = 0; updates && i < updates->count; i++)
        jit_plan_touch(p,
                       jit_plan_slot_of(
                           p, ir_node_operand(p->g, node, (uint32_t)updates->ints[i])));
    p->plan->ncalls++;
    p->called[number] = true;
    jit_plan_step_add(p, RT_STEP_call, number, 0);
}

static void
node_emit(Planner *p, IrNode node)
{
    switch (ir_node_op(p->g, node)) {
    case OP_view: {
        uint32_t slot = jit_plan_slot_of(p, ir_result(p->g, node, 0));
        jit_plan_touch(p, slot);
        jit_plan_step_add(p, RT_STEP_view, slot, 0);
        break;
    }
    case OP_update:
        jit_plan_update_emit(p, node);
        break;
    case OP_copy:
        copy_emit(p, node);
        break;
    case OP_call:
    case OP_call_update:
    case OP_effect:
        jit_plan_site_emit(p, node);
        break;
    case OP_const:
    case OP_count:
        break;
    case OP_empty:
        jit_plan_make_room(p, jit_plan_slot_of(p, ir_result(p->g, node, 0)));
        break;
    case OP_roll:
        if (!p->rolled[node] && !jit_plan_roll_emit(p, node))
            jit_plan_site_emit(p, node);
        break;
    case OP_imul:
    case OP_iadd:
    case OP_isub:
    case OP_to_index:
        jit_plan_step_add(p, RT_STEP_index,
                          jit_plan_slot_of(p, ir_result(p->g, node, 0)), 0);
        break;
    case OP_for:
        jit_plan_loop_emit(p, node);
        break;
    default:
        if (jit_plan_is_reduction(ir_node_op(p->g, node)) &&
            jit_plan_reduce_bare(p, node))
            break;
        if (p->site[node]) {
            jit_plan_site_emit(p, node);
            break;
        }
        PyErr_Format(PyExc_RuntimeError, "no step for %s",
                     ir_op_name(ir_node_op(p->g, node)));
        p->failed = true;
    }
}

static void
keep_value(Planner *p, IrValue value)
{
    p->kept[value] = true;
}

/* The chunk of every node of a group: groups are cut at `cut` nodes, of which elementary
** functions count for several, as they take the compiler longer. */
static void
cut_chunks(Planner *p, const IrSchedule *schedule, uint32_t cut)
{
    p->nchunks = 0;
    for (uint32_t i = 0; i < schedule->nitems; i++) {
        const IrItem *item = &schedule->items[i];
        uint32_t n = 0;
        p->nchunks++;
        for (uint32_t k = 0; k < item->nnodes; k++) {
            IrNode node = item->nodes[k];
            if (!p->live[node] || ir_node_op(p->g, node) == OP_const)
                continue;
            bool dear = ir_op_flags(ir_node_op(p->g, node)) & OPF_elementary;
            if (n >= cut) {
                p->nchunks++;
                n = 0;
            }
            p->chunk[node] = p->nchunks;
            n += dear ? CHUNK_DEAR : 1;
        }
    }
}

/* What a chunk reads of a value that it does not make: itself, or what it is made of. */
static void
keep_for(const Planner *p, uint32_t chunk, IrValue value, bool *kept)
{
    IrNode def = ir_def(p->g, value);
    if (!def || p->chunk[def] == chunk)
        return;
    kept[value] = !p->again[def];
    for (uint32_t k = 0; p->again[def] && k < ir_node_noperands(p->g, def); k++)
        kept[ir_node_operand(p->g, def, k)] = true;
}

void
jit_plan_find_kept(Planner *p, bool *kept)
{
    for (IrNode node = 1; node < ir_nnodes(p->g); node++) {
        if (!p->live[node] || ir_node_home(p->g, node) != p->region ||
            !jit_plan_is_elementwise(p->g, node))
            continue;
        for (uint32_t k = 0; k < ir_node_noperands(p->g, node); k++)
            keep_for(p, p->chunk[node], ir_node_operand(p->g, node, k), kept);
    }
}

/* True if no chunk has more operands than a group may have. */
static bool
chunks_fit(const Planner *p, const IrSchedule *schedule, const bool *kept)
{
    uint32_t *stamp = PyMem_Calloc(ir_nvalues(p->g) + 1, sizeof *stamp);
    uint32_t chunk = 0, operands = 0, constants = 0;
    bool fits = stamp != NULL;
    for (uint32_t i = 0; fits && i < schedule->nitems; i++) {
        const IrItem *item = &schedule->items[i];
        for (uint32_t k = 0; fits && k < item->nnodes; k++) {
            IrNode node = item->nodes[k];
            if (!p->chunk[node] || !jit_plan_is_elementwise(p->g, node))
                continue;
            if (p->chunk[node] != chunk)
                operands = constants = 0;
            chunk = p->chunk[node];
            operands +=
                p->kept[ir_result(p->g, node, 0)] || kept[ir_result(p->g, node, 0)];
            for (uint32_t n = 0; n < ir_node_noperands(p->g, node); n++) {
                IrValue value = ir_node_operand(p->g, node, n);
                IrNode def = ir_def(p->g, value);
                if (stamp[value] == chunk || (def && p->chunk[def] == chunk))
                    continue;
                stamp[value] = chunk;
                constants += jit_plan_is_const_node(p->g, value);
                operands += !jit_plan_is_const_node(p->g, value);
            }
            fits = operands <= CHUNK_OPERANDS && constants <= CHUNK_CONSTANTS;
        }
    }
    PyMem_Free(stamp);
    return fits;
}

/* Which chunk a node belongs to decides which values have to be kept. */
static void
number_chunks(Planner *p, const IrSchedule *schedule)
{
    bool *kept = PyMem_Calloc(ir_nvalues(p->g) + 1, sizeof *kept);
    for (IrNode node = 1; node < ir_nnodes(p->g); node++) {
        if (p->live[node] && ir_node_home(p->g, node) == p->region &&
            !jit_plan_is_elementwise(p->g, node))
            jit_plan_each_use(p, node, keep_value);
    }
    jit_plan_find_same(p);
    cut_chunks(p, schedule, CHUNK_CUT);
    if (kept)
        jit_plan_find_kept(p, kept);
    if (!kept || !chunks_fit(p, schedule, kept))
        cut_chunks(p, schedule, CHUNK_CUT_WIDE);
    jit_plan_find_again(p);
    jit_plan_find_kept(p, p->kept);
    PyMem_Free(kept);
}

static void
emit_items(Planner *p, const IrSchedule *schedule)
{
    Chunk *c = PyMem_Calloc(1, sizeof *c);
    if (!c) {
        p->failed = true;
        return;
    }
    uint32_t number = 0;
    for (uint32_t i = 0; i < schedule->nitems && !p->failed; i++) {
        const IrItem *item = &schedule->items[i];
        for (uint32_t k = 0; k < item->nnodes && !p->failed; k++) {
            IrNode node = item->nodes[k];
            if (!p->live[node] || ir_node_op(p->g, node) == OP_const ||
                p->again[node] || p->same[node])
                continue;
            if (ir_node_op(p->g, node) == OP_update && c->nnodes &&
                jit_plan_update_through(p, c, node))
                continue;
            if (jit_plan_is_reduction(ir_node_op(p->g, node)) && c->nnodes &&
                !c->placed && jit_plan_reduce_through(p, c, node))
                continue;
            if (c->nnodes && p->chunk[node] != number) {
                jit_plan_chunk_emit(p, c);
                memset(c, 0, sizeof *c);
            }
            number = p->chunk[node];
            if (jit_plan_is_elementwise(p->g, node))
                jit_plan_chunk_add(p, c, node);
            else
                node_emit(p, node);
        }
    }
    jit_plan_chunk_emit(p, c);
    PyMem_Free(c);
}

/* -- Releasing --------------------------------------------------------------------- */

static void
keep_ref(Planner *p, TraceRef *ref)
{
    if (!ref->value)
        return;
    uint32_t slot =
        jit_plan_root_slot(p, jit_plan_slot_of(p, ref->value)); /* may move `touched` */
    if (!p->failed)
        p->touched[slot] = UINT32_MAX;
}

/* What is given back is not released. */
static void
keep_results(Planner *p)
{
    if (p->region == 1)
        jit_plan_walk_refs(p, p->trace->result, keep_ref);
    for (uint32_t i = 0; p->region > 1 && i < ir_region_nyields(p->g, p->region); i++) {
        TraceRef ref = {.value = ir_region_yield_at(p->g, p->region, i)};
        keep_ref(p, &ref);
    }
}

static void
add_releases(Planner *p)
{
    RtPlan *rt = p->rt;
    uint32_t n = 0;
    RtStep *steps = calloc(rt->nsteps + rt->nslots + 1, sizeof *steps);
    uint32_t *next = calloc(rt->nslots + 1, sizeof *next);
    uint32_t *first = calloc(rt->nsteps + 1, sizeof *first);
    if (!steps || !next || !first) {
        p->failed = true;
        goto done;
    }
    for (uint32_t s = 0; s < rt->nslots; s++) { /* lists: slots by last step */
        RtSlotKind kind = rt->slots[s].kind;
        if ((kind != RT_SLOT_object && kind != RT_SLOT_buffer) ||
            p->touched[s] >= rt->nsteps)
            continue;
        next[s] = first[p->touched[s]];
        first[p->touched[s]] = s + 1;
    }
    for (uint32_t i = 0; i < rt->nsteps; i++) {
        steps[n++] = rt->steps[i];
        for (uint32_t s = first[i]; s; s = next[s - 1])
            steps[n++] = (RtStep){RT_STEP_release, s - 1, 0};
    }
    free(rt->steps);
    rt->steps = steps;
    rt->nsteps = n;
    steps = NULL;
done:
    free(steps);
    free(next);
    free(first);
}

/* -- The plan ---------------------------------------------------------------------- */

static void
take_params(Planner *p)
{
    Trace *trace = p->trace;
    JitPlan *plan = p->plan;
    plan->nparams = trace->nparams;
    plan->param_slots = PyMem_Calloc(trace->nparams + 1, sizeof *plan->param_slots);
    plan->param_written = PyMem_Calloc(trace->nparams + 1, sizeof *plan->param_written);
    plan->ranges = PyMem_Calloc(trace->nparams + 1, sizeof *plan->ranges);
    if (!plan->param_slots || !plan->param_written || !plan->ranges) {
        p->failed = true;
        return;
    }
    for (uint32_t i = 0; i < trace->nparams; i++) {
        plan->param_slots[i] = jit_plan_slot_of(p, trace->params[i].value);
        if (!p->rt->beside && ir_type(p->g, trace->params[i].value).ndim)
            p->rt->beside = plan->param_slots[i] + 1;
        plan->param_written[i] = trace->params[i].written;
        if (trace->params[i].ranged)
            plan->ranges[plan->nranges++] =
                (JitRange){i, trace->params[i].low, trace->params[i].high};
        plan->writes |= trace->params[i].written;
    }
    plan->diverges_late = plan->writes && trace->guard_after_write;
}

/* The memory of constants, and of numbers that follow from extents, outlives the trace. */
static void
take_constants(Planner *p)
{
    for (uint32_t i = 1; !p->failed && i < p->trace->nvalues; i++) {
        IrNode node = i < ir_nvalues(p->g) ? ir_def(p->g, i) : 0;
        IrOp op = node ? ir_node_op(p->g, node) : OP_COUNT;
        if ((op == OP_const || op == OP_count) && p->trace->values[i].array)
            jit_plan_keep(p, (PyObject *)p->trace->values[i].array);
    }
}

/* The object lives as long as the plan. */
void
jit_plan_keep(Planner *p, PyObject *object)
{
    if (!p->plan->keep)
        p->plan->keep = PyList_New(0);
    if (!p->plan->keep || PyList_Append(p->plan->keep, object) < 0)
        p->failed = true;
}

static void
mark_used(Planner *p)
{
    for (IrNode node = 1; node < ir_nnodes(p->g); node++) {
        for (uint32_t k = 0; k < ir_node_noperands(p->g, node); k++) {
            IrValue operand = ir_node_operand(p->g, node, k);
            p->used[operand ? ir_def(p->g, operand) : 0] = true;
        }
    }
}

static bool
planner_open(Planner *p)
{
    size_t values = ir_nvalues(p->g) + 1, nodes = ir_nnodes(p->g) + 1;
    p->slot = PyMem_Calloc(values, sizeof *p->slot);
    p->root = PyMem_Calloc(values, sizeof *p->root);
    p->readers = PyMem_Calloc(values, sizeof *p->readers);
    p->chunk = PyMem_Calloc(nodes, sizeof *p->chunk);
    p->live = PyMem_Calloc(nodes, sizeof *p->live);
    p->object = PyMem_Calloc(values, sizeof *p->object);
    p->kept = PyMem_Calloc(values, sizeof *p->kept);
    p->again = PyMem_Calloc(nodes, sizeof *p->again);
    p->same = PyMem_Calloc(nodes, sizeof *p->same);
    p->site = PyMem_Calloc(nodes, sizeof *p->site);
    p->called = PyMem_Calloc(p->trace->nsites + 1, sizeof *p->called);
    p->rolled = PyMem_Calloc(nodes, sizeof *p->rolled);
    p->used = PyMem_Calloc(nodes, sizeof *p->used);
    for (uint32_t i = 0; p->site && i < p->trace->nsites; i++)
        p->site[p->trace->sites[i].node] = i + 1;
    if (p->used)
        mark_used(p);
    p->plan = PyMem_Calloc(1, sizeof *p->plan);
    p->rt = calloc(1, sizeof *p->rt);
    return p->slot && p->root && p->readers && p->chunk && p->live && p->object &&
           p->kept && p->again && p->same && p->site && p->called && p->rolled &&
           p->used && p->plan && p->rt && trace_value(p->trace, ir_nvalues(p->g));
}

static void
planner_close(Planner *p)
{
    PyMem_Free(p->slot);
    PyMem_Free(p->root);
    PyMem_Free(p->readers);
    PyMem_Free(p->chunk);
    PyMem_Free(p->live);
    PyMem_Free(p->object);
    PyMem_Free(p->kept);
    PyMem_Free(p->again);
    PyMem_Free(p->same);
    PyMem_Free(p->site);
    PyMem_Free(p->outside);
    PyMem_Free(p->called);
    PyMem_Free(p->rolled);
    PyMem_Free(p->used);
    free(p->touched);
}

/* Tells the graph what jit_plan_has to live. */
static void
return_ref(Planner *p, TraceRef *ref)
{
    if (!ref->value)
        return;
    IrValue *returns = PyMem_Realloc(p->returns, (p->nreturns + 1) * sizeof *returns);
    if (!returns) {
        p->failed = true;
        return;
    }
    p->returns = returns;
    returns[p->nreturns++] = ref->value;
}

static void
return_all(Planner *p)
{
    jit_plan_walk_refs(p, p->trace->result, return_ref);
    for (uint32_t i = 0; i < p->trace->nsites; i++) {
        bool needed = p->trace->sites[i].kind == SITE_effect ||
                      jit_plan_must_call(p, &p->trace->sites[i]);
        IrNode node = needed ? p->trace->sites[i].node : 0;
        bool here =
            node && ir_node_home(p->g, node) == 1 && ir_node_nresults(p->g, node);
        TraceRef ref = {.value = here ? ir_result(p->g, node, 0) : 0};
        return_ref(p, &ref);
    }
    for (uint32_t i = 0; i < p->trace->nescapes; i++) {
        TraceRef ref = {.value = p->trace->escapes[i]};
        return_ref(p, &ref);
    }
    for (uint32_t i = 0; i < p->trace->nparams; i++) {
        TraceRef ref = {
            .value = p->trace->params[i].written ? p->trace->params[i].version : 0};
        return_ref(p, &ref);
    }
    if (!p->failed)
        ir_return(p->g, p->returns, p->nreturns);
    PyMem_Free(p->returns);
}

/* What is carried comes first among a region's parameters; the turn's number is no
** parameter. */
static void
take_region_params(Planner *p)
{
    IrValue turn = ir_region_param_at(p->g, p->region, 0);
    p->plan->turn_slot = jit_plan_slot_add(p, RT_SLOT_index);
    if (p->failed)
        return;
    p->slot[turn] = p->plan->turn_slot + 1;
    for (uint32_t i = 1; i < ir_region_nparams(p->g, p->region) && !p->failed; i++)
        jit_plan_slot_of(p, ir_region_param_at(p->g, p->region, i));
}

/* After all steps: slots of parameters and yields. */
static void
finish_region(Planner *p)
{
    uint32_t nyields = ir_region_nyields(p->g, p->region);
    p->plan->yield_slots = PyMem_Calloc(nyields + 1, sizeof *p->plan->yield_slots);
    for (uint32_t i = 0; p->plan->yield_slots && i < nyields; i++)
        p->plan->yield_slots[i] =
            jit_plan_slot_of(p, ir_region_yield_at(p->g, p->region, i));
    p->plan->param_slots =
        PyMem_Calloc(p->plan->nparams + 1, sizeof *p->plan->param_slots);
    if (!p->plan->yield_slots || !p->plan->param_slots)
        p->failed = true;
    for (uint32_t i = 0; !p->failed && i < p->plan->nparams; i++)
        p->plan->param_slots[i] = p->slot[p->bound[i]] - 1;
    p->plan->bound = p->bound;
    p->bound = NULL;
}

static void
plan_steps(Planner *p)
{
    const IrSchedule *schedule;
    if (p->region == 1)
        return_all(p);
    jit_plan_mark_live(p);
    jit_plan_find_roots(p);
    jit_plan_find_objects(p);
    jit_plan_find_rolls(p);
    schedule = ir_schedule(p->g, p->region);
    if (!schedule) {
        p->failed = true;
        return;
    }
    number_chunks(p, schedule);
    if (p->region == 1)
        take_params(p);
    else
        take_region_params(p);
    emit_items(p, schedule);
    if (!p->failed)
        jit_plan_drop_objects(p);
    if (!p->failed)
        jit_plan_rows(p);
    if (!p->failed)
        jit_plan_behind(p);
    if (!p->failed)
        keep_results(p);
    if (!p->failed && p->region == 1)
        jit_plan_reuse(p);
    if (!p->failed)
        add_releases(p);
    if (!p->failed)
        jit_plan_take_sites(p);
    if (!p->failed)
        take_constants(p);
    if (!p->failed && p->region > 1)
        finish_region(p);
}

JitPlan *
jit_plan_region(JitState *state, Trace *trace, IrRegion region)
{
    Planner p = {.state = state, .trace = trace, .g = trace->graph, .region = region};
    if (!planner_open(&p))
        p.failed = true;
    if (!p.failed) {
        p.plan->refs = 1;
        p.plan->rt = p.rt;
        p.plan->state = state;
        p.plan->threads = trace->threads;
        jit_plan_callbacks(p.plan);
        plan_steps(&p);
    }
    planner_close(&p);
    free(p.bound);
    if (!p.failed)
        return p.plan;
    if (!PyErr_Occurred())
        PyErr_NoMemory();
    if (p.plan) {
        p.plan->refs = 1;
        p.plan->rt = p.rt;
        jit_plan_release(p.plan);
    }
    return NULL;
}

JitPlan *
jit_plan_new(JitState *state, Trace *trace)
{
    JitPlan *plan = jit_plan_region(state, trace, 1);
    if (plan && ir_nnodes(trace->graph) <= GRAPH_KEPT) {
        plan->graph = trace->graph;
        trace->graph = NULL;
    }
    return plan;
}
