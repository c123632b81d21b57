/* plan.c - turns a finished trace into a plan.
**
** 1. What has to live: results, final versions of written arguments, calls whose
*answers are
**    compared. The rest of the graph is dead.
** 2. Every value gets a slot. Views share the memory of what they look at, and each
*`update`
**    works in place: the recorder made sure that no one reads the old version later.
** 3. Items of the schedule become steps. Large groups are cut; an update of a group's
*only
**    result is written by the group itself where nothing it reads overlaps.
** 4. Memory is released after its last use.
*/
#include <stdlib.h>
#include <string.h>

#include "jit/jit.h"

enum {
    CHUNK_NODES = 48,
    CHUNK_OPERANDS = 48,
    GRAPH_KEPT = 4000, /* nodes */
};

typedef struct Planner {
    JitState *state;
    Trace *trace;
    IrGraph *g;
    IrRegion region;
    JitPlan *plan;
    RtPlan *rt;
    IrValue *
        bound; /* regions: values that come in, in the order of the plan's parameters */
    uint32_t bound_room, loops_room;
    uint32_t *slot;    /* per value: slot + 1 */
    IrValue *root;     /* per value: whose memory it is */
    uint32_t *readers; /* per value: live nodes and returns that read it */
    uint32_t *chunk;   /* per node: number of the group it is in */
    bool *live;        /* per node */
    bool *object;      /* per root value: needs an object */
    bool *kept;        /* per value: read outside of its chunk */
    uint32_t slots_room, steps_room, groups_room, operands_room;
    uint32_t *touched; /* per slot: last step that uses its memory */
    uint32_t nchunks;
    IrValue *returns;
    uint32_t nreturns;
    bool failed;
} Planner;

/* -- Growing tables (malloc: the runtime frees them) ---------------------------------
 */

static void *
grown(Planner *p, void *table, uint32_t n, uint32_t *room, size_t item)
{
    if (n < *room)
        return table;
    uint32_t more = *room ? 2 * *room : 32;
    void *bigger = realloc(table, more * item);
    if (!bigger) {
        p->failed = true;
        return NULL;
    }
    memset((char *)bigger + *room * item, 0, (more - *room) * item);
    *room = more;
    return bigger;
}

static uint32_t
slot_add(Planner *p, RtSlotKind kind)
{
    RtPlan *rt = p->rt;
    uint32_t room = p->slots_room, same = room, again = room;
    RtSlot *slots = grown(p, rt->slots, rt->nslots, &p->slots_room, sizeof *slots);
    JitSlot *infos =
        slots ? grown(p, p->plan->slots, rt->nslots, &same, sizeof *infos) : NULL;
    uint32_t *touched =
        infos ? grown(p, p->touched, rt->nslots, &again, sizeof *touched) : NULL;
    if (slots)
        rt->slots = slots;
    if (infos)
        p->plan->slots = infos;
    if (!touched) {
        p->slots_room = room;
        return 0;
    }
    p->touched = touched;
    rt->slots[rt->nslots].kind = kind;
    return rt->nslots++;
}

static void
step_add(Planner *p, RtStepKind kind, uint32_t index, uint32_t operands)
{
    RtStep *steps =
        grown(p, p->rt->steps, p->rt->nsteps, &p->steps_room, sizeof *steps);
    if (!steps)
        return;
    p->rt->steps = steps;
    steps[p->rt->nsteps++] = (RtStep){kind, index, operands};
}

/* -- What lives
 * ---------------------------------------------------------------------------- */

static void
walk_refs(Planner *p, PyObject *template, void (*visit)(Planner *, TraceRef *))
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (!template)
        return;
    if (trace_ref_check(p->state->trace, template))
        visit(p, (TraceRef *)template);
    else if (PyTuple_CheckExact(template) || PyList_CheckExact(template)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(template); i++)
            walk_refs(p, PySequence_Fast_GET_ITEM(template, i), visit);
    } else if (PyDict_CheckExact(template)) {
        while (PyDict_Next(template, &at, &key, &value))
            walk_refs(p, value, visit);
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
static void
each_use(Planner *p, IrNode node, void (*visit)(Planner *, IrValue))
{
    for (uint32_t k = 0; k < ir_node_noperands(p->g, node); k++)
        visit(p, ir_node_operand(p->g, node, k));
    for (uint32_t i = 0; i < ir_node_nregions(p->g, node); i++) {
        IrRegion region = ir_node_region(p->g, node, i);
        for (IrNode at = ir_region_first(p->g, region); at;
             at = ir_node_next(p->g, at)) {
            p->live[at] = true; /* the region's own plan says what in it is */
            each_use(p, at, visit);
        }
        for (uint32_t k = 0; k < ir_region_nyields(p->g, region); k++)
            visit(p, ir_region_yield_at(p->g, region, k));
    }
}

static void
mark_live(Planner *p)
{
    Trace *trace = p->trace;
    for (uint32_t i = 0; p->region > 1 && i < ir_region_nyields(p->g, p->region); i++) {
        IrValue value = ir_region_yield_at(p->g, p->region, i);
        mark_node(p, value);
        p->kept[value] = true;
    }
    if (p->region > 1)
        goto nodes;
    walk_refs(p, trace->result, mark_ref);
    for (uint32_t i = 0; i < trace->nparams; i++) {
        if (trace->params[i].written)
            mark_node(p, trace->params[i].version);
    }
    for (uint32_t i = 0; i < trace->nsites; i++) {
        if (trace->sites[i].compares)
            p->live[trace->sites[i].node] = true;
    }
nodes:
    for (uint32_t i = 0; i < trace->nsites; i++) {
        IrNode node = trace->sites[i].raises ? trace->sites[i].node : 0;
        if (node && ir_node_home(p->g, node) == p->region)
            p->live[node] = true; /* the exception is a result, too */
    }
    for (IrNode node = ir_nnodes(p->g) - 1; node > 0; node--) {
        if (p->live[node] && ir_node_home(p->g, node) == p->region)
            each_use(p, node, mark_node);
    }
}

/* -- Whose memory
 * ------------------------------------------------------------------------------- */

static IrValue shares(const IrGraph *g, IrNode node, uint32_t i);

/* True if a loop's carried value is memory that its turns write: what is yielded is a
 *version
 ** of the parameter. */
static bool
carried_in_place(const IrGraph *g, IrNode node, uint32_t i)
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
        value = shares(g, def, k);
        if (!value)
            return false;
    }
    return true;
}

/* The operand whose memory result `i` of the node is, or 0. */
static IrValue
shares(const IrGraph *g, IrNode node, uint32_t i)
{
    IrOp op = ir_node_op(g, node);
    if (op == OP_view || op == OP_update)
        return ir_node_operand(g, node, 0);
    if (op == OP_for && carried_in_place(g, node, i))
        return ir_node_operand(g, node, i + 1);
    if (op == OP_call_update) {
        const IrAttr *updates = ir_node_attr(g, node, "updates");
        uint32_t fresh = ir_node_nresults(g, node) - updates->count;
        if (i >= fresh)
            return ir_node_operand(g, node, (uint32_t)updates->ints[i - fresh]);
    }
    return 0;
}

static bool
is_elementwise(const IrGraph *g, IrNode node)
{
    return node && ir_op_flags(ir_node_op(g, node)) & OPF_elementwise;
}

static void
find_roots(Planner *p)
{
    for (IrValue v = 1; v < ir_nvalues(p->g); v++)
        p->root[v] = v;
    for (IrNode node = 1; node < ir_nnodes(p->g); node++) {
        for (uint32_t i = 0; i < ir_node_nresults(p->g, node); i++) {
            IrValue base = shares(p->g, node, i);
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

static void
find_objects(Planner *p)
{
    if (p->region == 1)
        walk_refs(p, p->trace->result, mark_object);
    for (uint32_t i = 0; p->region > 1 && i < ir_region_nyields(p->g, p->region); i++)
        p->object[p->root[ir_region_yield_at(p->g, p->region, i)]] = true;
    for (uint32_t i = 0; i < p->trace->nsites; i++) {
        TraceSite *site = &p->trace->sites[i];
        if (!site->node || !p->live[site->node])
            continue;
        walk_refs(p, site->args, mark_object);
        walk_refs(p, site->kwargs, mark_object);
        walk_refs(p, site->result, mark_object);
    }
}

/* -- Slots
 * --------------------------------------------------------------------------------------------
 */

static void
describe(Planner *p, uint32_t slot, IrValue value)
{
    const TraceValue *v = &p->trace->values[value];
    IrType type = ir_type(p->g, value);
    JitSlot *info = &p->plan->slots[slot];
    info->descr =
        v->descr ? (PyArray_Descr *)Py_NewRef(v->descr) : jit_descr(type.dtype);
    info->ndim = (int)type.ndim;
    info->readonly = v->flags & TRACE_VALUE_readonly;
    if (v->scalar) {
        info->scalar =
            PyFloat_CheckExact(v->scalar) ? JIT_SCALAR_float : JIT_SCALAR_numpy;
        info->type = (PyTypeObject *)Py_NewRef(Py_TYPE(v->scalar));
        info->scalar_at = p->plan->nscalars++;
    }
    info->shape = PyMem_Malloc(2 * type.ndim * sizeof(npy_intp) + 1);
    if (!info->shape) {
        p->failed = true;
        return;
    }
    info->strides = info->shape + type.ndim;
    npy_intp bytes = info->descr ? PyDataType_ELSIZE(info->descr) : 0;
    for (uint32_t d = 0; d < type.ndim; d++) {
        info->shape[d] = (npy_intp)type.dims[d].value;
        info->strides[d] = v->strides ? v->strides[d] : 0;
        bytes *= info->shape[d];
    }
    p->rt->slots[slot].bytes = (size_t)bytes;
}

static uint32_t slot_of(Planner *p, IrValue value);

static bool
is_index_op(IrOp op)
{
    return op == OP_iadd || op == OP_isub || op == OP_imul;
}

/* A value that comes from around the region. */
static bool
is_outside(const Planner *p, IrValue value)
{
    IrNode node = ir_def(p->g, value);
    return p->region > 1 && (!node || ir_node_home(p->g, node) != p->region);
}

/* A parameter of a region's plan: what is carried, or what its nodes use from outside.
 */
static uint32_t
bound_add(Planner *p, IrValue value)
{
    uint32_t slot = slot_add(p, RT_SLOT_argument);
    IrValue *bound =
        grown(p, p->bound, p->plan->nparams, &p->bound_room, sizeof *bound);
    if (p->failed)
        return 0;
    p->bound = bound;
    bound[p->plan->nparams++] = value;
    p->slot[value] = slot + 1;
    return slot;
}

/* An integer computed from others; its step comes with it. */
static uint32_t
index_slot(Planner *p, IrValue value, IrNode node)
{
    IrOp op = ir_node_op(p->g, node);
    uint32_t a = slot_of(p, ir_node_operand(p->g, node, 0));
    uint32_t b = slot_of(p, ir_node_operand(p->g, node, 1));
    uint32_t slot = slot_add(p, RT_SLOT_index);
    if (p->failed)
        return 0;
    p->rt->slots[slot].base = a;
    p->rt->slots[slot].index = b;
    p->rt->slots[slot].op = op == OP_iadd   ? RT_INDEX_add
                            : op == OP_isub ? RT_INDEX_subtract
                                            : RT_INDEX_multiply;
    p->slot[value] = slot + 1;
    return slot;
}

/* The index that moves a window, or 0: the operand behind the fixed ones. */
static IrValue
window_index(const IrGraph *g, IrNode node)
{
    uint32_t fixed = ir_node_op(g, node) == OP_update ? 2 : 1;
    return ir_node_noperands(g, node) > fixed ? ir_node_operand(g, node, fixed) : 0;
}

/* The slot of a value; views and versions of a storage get theirs on first use. */
static uint32_t
slot_of(Planner *p, IrValue value)
{
    if (p->slot[value])
        return p->slot[value] - 1;
    IrNode node = ir_def(p->g, value);
    IrOp op = node ? ir_node_op(p->g, node) : OP_COUNT;
    uint32_t slot, base;
    if (op == OP_const && ir_type(p->g, value).dtype == DT_index) {
        slot = slot_add(p, RT_SLOT_index);
        if (!p->failed) {
            p->rt->slots[slot].offset = (intptr_t)ir_node_int(p->g, node, "value", 0);
            p->slot[value] = slot + 1;
        }
        return slot;
    }
    if (op != OP_const && is_outside(p, value)) {
        slot = bound_add(p, value);
        if (!p->failed)
            describe(p, slot, value);
        return slot;
    }
    if (is_index_op(op))
        return index_slot(p, value, node);
    if (op == OP_update || (op == OP_for && p->root[value] != value) ||
        (op == OP_call_update && p->root[value] != value)) {
        uint32_t i = 0;
        while (ir_result(p->g, node, i) != value)
            i++;
        slot = slot_of(p, shares(p->g, node, i));
        p->slot[value] = slot + 1;
        return slot;
    }
    if (op == OP_view) {
        base = slot_of(p, ir_node_operand(p->g, node, 0));
        slot = slot_add(p, RT_SLOT_view);
        uint32_t index =
            window_index(p->g, node) ? slot_of(p, window_index(p->g, node)) + 1 : 0;
        p->rt->slots[slot].base = base;
        p->rt->slots[slot].index = index;
        p->rt->slots[slot].offset = (intptr_t)ir_node_int(p->g, node, "offset", 0);
    } else if (op == OP_const) {
        slot = slot_add(p, RT_SLOT_constant);
        p->rt->slots[slot].data = PyArray_BYTES(p->trace->values[value].array);
    } else {
        bool object = p->object[p->root[value]] || !is_elementwise(p->g, node);
        bool scalar = node && p->trace->values[value].scalar;
        slot = slot_add(p, !node    ? RT_SLOT_argument
                           : scalar ? RT_SLOT_scalar
                           : object ? RT_SLOT_object
                                    : RT_SLOT_buffer);
    }
    if (!p->failed) {
        p->slot[value] = slot + 1;
        describe(p, slot, value);
    }
    return slot;
}

static uint32_t
root_slot(const Planner *p, uint32_t slot)
{
    while (p->rt->slots[slot].kind == RT_SLOT_view)
        slot = p->rt->slots[slot].base;
    return slot;
}

/* The memory behind a slot is used by the next step. */
static void
touch(Planner *p, uint32_t slot)
{
    if (!p->failed)
        p->touched[root_slot(p, slot)] = p->rt->nsteps;
}

/* Memory for a value about to be made. */
static void
make_room(Planner *p, uint32_t slot)
{
    if (p->failed)
        return;
    touch(p, slot);
    if (p->rt->slots[slot].kind == RT_SLOT_object)
        step_add(p, RT_STEP_allocate, slot, 0);
    else if (p->rt->slots[slot].kind == RT_SLOT_buffer)
        step_add(p, RT_STEP_buffer, slot, 0);
    else if (p->rt->slots[slot].kind == RT_SLOT_scalar && p->region > 1)
        step_add(p, RT_STEP_release, slot, 0); /* the object of the turn before */
}

/* -- Groups
 * ------------------------------------------------------------------------------------------------
 */

typedef struct Chunk {
    IrNode nodes[CHUNK_NODES];
    IrValue inputs[RT_OPERANDS_MAX], outputs[RT_OPERANDS_MAX],
        constants[RT_OPERANDS_MAX];
    const npy_intp *strides[RT_OPERANDS_MAX]; /* of outputs, where not their own */
    uint32_t slots[RT_OPERANDS_MAX];          /* of outputs */
    uint32_t nnodes, ninputs, noutputs, nconstants;
} Chunk;

static bool
has(const IrValue *list, uint32_t n, IrValue value)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == value)
            return true;
    }
    return false;
}

static bool
is_const_node(const IrGraph *g, IrValue value)
{
    IrNode node = ir_def(g, value);
    return node && ir_node_op(g, node) == OP_const;
}

static bool
made_in(const Planner *p, const Chunk *c, IrValue value)
{
    IrNode node = ir_def(p->g, value);
    for (uint32_t i = 0; node && i < c->nnodes; i++) {
        if (c->nodes[i] == node)
            return true;
    }
    return false;
}

/* Inputs and outputs of the chunk's nodes. */
static void
chunk_edges(const Planner *p, Chunk *c)
{
    c->ninputs = c->noutputs = c->nconstants = 0;
    for (uint32_t i = 0; i < c->nnodes; i++) {
        for (uint32_t k = 0; k < ir_node_noperands(p->g, c->nodes[i]); k++) {
            IrValue value = ir_node_operand(p->g, c->nodes[i], k);
            if (made_in(p, c, value))
                continue;
            if (is_const_node(p->g, value)) {
                if (!has(c->constants, c->nconstants, value))
                    c->constants[c->nconstants++] = value;
            } else if (!has(c->inputs, c->ninputs, value))
                c->inputs[c->ninputs++] = value;
        }
        IrValue result = ir_result(p->g, c->nodes[i], 0);
        if (p->kept[result])
            c->outputs[c->noutputs++] = result;
    }
}

/* The group's kernel graph, for tier 1. */
static void
code_add(Planner *p, const Chunk *c, const RtGroup *group)
{
    JitGroupCode *codes = realloc(p->plan->codes, (p->rt->ngroups + 1) * sizeof *codes);
    if (!codes) {
        p->failed = true;
        return;
    }
    p->plan->codes = codes;
    JitGroupCode *code = &codes[p->rt->ngroups];
    *code = (JitGroupCode){.nparams = c->ninputs, .nops = c->nnodes};
    IrNode nodes[CHUNK_NODES + RT_OPERANDS_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->nconstants; i++)
        nodes[n++] = ir_def(p->g, c->constants[i]);
    for (uint32_t i = 0; i < c->nnodes; i++)
        nodes[n++] = c->nodes[i];
    IrItem item = {.group = true,
                   .nnodes = n,
                   .ninputs = c->ninputs,
                   .noutputs = c->noutputs,
                   .nodes = nodes,
                   .inputs = c->inputs,
                   .outputs = c->outputs};
    uint32_t last = group->ndim ? group->ndim - 1 : 0;
    LowerPattern *patterns = calloc(c->ninputs + 1, sizeof *patterns);
    if (!patterns) {
        p->failed = true;
        return;
    }
    for (uint32_t k = 0; k < group->noperands; k++) {
        intptr_t step = group->ndim ? group->strides[k * group->ndim + last] : 0;
        bool contiguous = step == (intptr_t)group->itemsize[k];
        if (k < c->ninputs && (contiguous || step == 0))
            patterns[k] = contiguous ? PATTERN_contiguous : PATTERN_scalar;
        else if (!contiguous)
            code->reason = "an operand is strided";
    }
    if (!group->ndim)
        code->reason = "one element";
    if (code->reason) {
        free(patterns);
        return;
    }
    code->patterns = patterns;
    code->kernel = ir_group_extract(p->g, &item);
}

static void
group_add(Planner *p, const Chunk *c, const JitGroupSpec *spec,
          const uint32_t *operands)
{
    RtGroup *group = jit_group_new(p->state, spec);
    if (!group) {
        p->failed = true;
        return;
    }
    if (c)
        code_add(p, c, group);
    else {
        JitGroupCode *codes =
            realloc(p->plan->codes, (p->rt->ngroups + 1) * sizeof *codes);
        if (codes) {
            codes[p->rt->ngroups] = (JitGroupCode){.reason = "a copy"};
            p->plan->codes = codes;
        } else
            p->failed = true;
    }
    RtGroup **groups =
        grown(p, p->rt->groups, p->rt->ngroups, &p->groups_room, sizeof *groups);
    if (!groups || p->failed) {
        rt_group_free(group);
        p->failed = true;
        return;
    }
    p->rt->groups = groups;
    uint32_t first = p->rt->noperands;
    for (uint32_t k = 0; k < group->noperands; k++) {
        uint32_t *table = grown(p, p->rt->operands, p->rt->noperands, &p->operands_room,
                                sizeof *table);
        if (!table) {
            rt_group_free(group);
            return;
        }
        p->rt->operands = table;
        table[p->rt->noperands++] = operands[k];
        touch(p, operands[k]);
    }
    if (group->scratch_bytes > p->rt->scratch_bytes)
        p->rt->scratch_bytes = group->scratch_bytes;
    groups[p->rt->ngroups] = group;
    step_add(p, RT_STEP_group, p->rt->ngroups++, first);
}

static void
chunk_emit(Planner *p, Chunk *c)
{
    uint32_t operands[RT_OPERANDS_MAX];
    if (!c->nnodes || p->failed)
        return;
    chunk_edges(p, c);
    for (uint32_t i = 0; i < c->ninputs; i++)
        operands[i] = slot_of(p, c->inputs[i]);
    for (uint32_t i = 0; i < c->noutputs; i++) {
        if (!c->strides[i]) {
            c->slots[i] = slot_of(p, c->outputs[i]);
            make_room(p, c->slots[i]);
        }
        operands[c->ninputs + i] = c->slots[i];
    }
    JitGroupSpec spec = {
        .graph = p->g,
        .values = p->trace->values,
        .nodes = c->nodes,
        .nnodes = c->nnodes,
        .inputs = c->inputs,
        .ninputs = c->ninputs,
        .outputs = c->outputs,
        .noutputs = c->noutputs,
        .output_strides = c->strides,
    };
    if (!p->failed)
        group_add(p, c, &spec, operands);
    p->plan->nops += c->nnodes;
}

/* -- Updates
 * -------------------------------------------------------------------------------------------------
 */

/* A slot for the window that an update writes. */
static uint32_t
window_slot(Planner *p, IrNode update)
{
    uint32_t base = slot_of(p, ir_node_operand(p->g, update, 0));
    uint32_t slot = slot_add(p, RT_SLOT_view);
    const IrAttr *shape = ir_node_attr(p->g, update, "shape");
    const IrAttr *strides = ir_node_attr(p->g, update, "strides");
    uint32_t index =
        window_index(p->g, update) ? slot_of(p, window_index(p->g, update)) + 1 : 0;
    if (p->failed)
        return 0;
    p->rt->slots[slot].base = base;
    p->rt->slots[slot].index = index;
    p->rt->slots[slot].offset = (intptr_t)ir_node_int(p->g, update, "offset", 0);
    JitSlot *info = &p->plan->slots[slot];
    info->ndim = (int)strides->count;
    info->shape = PyMem_Malloc(2 * strides->count * sizeof(npy_intp) + 1);
    if (!info->shape) {
        p->failed = true;
        return 0;
    }
    info->strides = info->shape + strides->count;
    for (uint32_t d = 0; d < strides->count; d++) {
        info->shape[d] = (npy_intp)shape->ints[d];
        info->strides[d] = (npy_intp)strides->ints[d];
    }
    touch(p, slot);
    step_add(p, RT_STEP_view, slot, 0);
    return slot;
}

static bool
same_shape(const Planner *p, IrValue value, const JitSlot *window)
{
    IrType type = ir_type(p->g, value);
    if ((int)type.ndim != window->ndim)
        return false;
    for (uint32_t d = 0; d < type.ndim; d++) {
        if (type.dims[d].value != window->shape[d])
            return false;
    }
    return true;
}

/* True if the window is just what the value shows: same place, same strides. */
static bool
same_place(const Planner *p, IrValue value, uint32_t window)
{
    const RtSlot *slot = &p->rt->slots[window];
    const JitSlot *info = &p->plan->slots[window];
    const TraceValue *v = &p->trace->values[value];
    IrNode node = ir_def(p->g, value);
    intptr_t offset = 0;
    if (node && ir_node_op(p->g, node) == OP_view)
        offset = (intptr_t)ir_node_int(p->g, node, "offset", 0);
    uint32_t index =
        node && ir_node_op(p->g, node) == OP_view && window_index(p->g, node)
            ? p->slot[window_index(p->g, node)]
            : 0;
    if (offset != slot->offset || index != slot->index || !same_shape(p, value, info))
        return false;
    return !info->ndim ||
           (v->strides && memcmp(v->strides, info->strides,
                                 (size_t)info->ndim * sizeof(npy_intp)) == 0);
}

/* A copy of `value`, broadcast, into the window. */
static void
window_copy(Planner *p, IrValue value, uint32_t from, const npy_intp *from_strides,
            uint32_t window)
{
    const JitSlot *info = &p->plan->slots[window];
    IrType type = ir_type(p->g, value);
    JitLoop loop;
    RtGroup *group = rt_group_new(1, 1, 0, 2, 1, (uint32_t)info->ndim);
    if (!group ||
        !jit_loop_find(p->state, OP_copy, &type.dtype, 1, type.dtype, &loop)) {
        rt_group_free(group);
        p->failed = true;
        return;
    }
    group->ops[0] = (RtOp){loop.loop, loop.context, loop.auxdata, 2, {0, 1}};
    group->itemsize[0] = group->itemsize[1] = (uint16_t)ir_dtype_bytes(type.dtype);
    for (int d = 0; d < info->ndim; d++) {
        int k = d - (info->ndim - (int)type.ndim);
        group->shape[d] = info->shape[d];
        group->strides[info->ndim + d] = info->strides[d];
        group->strides[d] = k < 0 || type.dims[k].value == 1 ? 0 : from_strides[k];
    }
    rt_group_finish(group);
    JitGroupCode *codes = realloc(p->plan->codes, (p->rt->ngroups + 1) * sizeof *codes);
    RtGroup **groups =
        grown(p, p->rt->groups, p->rt->ngroups, &p->groups_room, sizeof *groups);
    uint32_t *table = grown(p, p->rt->operands, p->rt->noperands + 2, &p->operands_room,
                            sizeof *table);
    if (codes)
        p->plan->codes = codes;
    if (groups)
        p->rt->groups = groups;
    if (table)
        p->rt->operands = table;
    if (!codes || !groups || !table) {
        rt_group_free(group);
        p->failed = true;
        return;
    }
    codes[p->rt->ngroups] = (JitGroupCode){.reason = "a copy"};
    touch(p, from);
    touch(p, window);
    table[p->rt->noperands] = from;
    table[p->rt->noperands + 1] = window;
    groups[p->rt->ngroups] = group;
    step_add(p, RT_STEP_group, p->rt->ngroups++, p->rt->noperands);
    p->rt->noperands += 2;
}

/* Memory of its own for a value that overlaps the window it is written to. */
static uint32_t
detach(Planner *p, IrValue value, uint32_t from, npy_intp *strides)
{
    IrType type = ir_type(p->g, value);
    uint32_t slot = slot_add(p, RT_SLOT_buffer);
    if (p->failed)
        return 0;
    describe(p, slot, value);
    JitSlot *info = &p->plan->slots[slot];
    npy_intp step = (npy_intp)ir_dtype_bytes(type.dtype);
    for (int d = info->ndim; d-- > 0;) {
        info->strides[d] = strides[d] = step;
        step *= info->shape[d];
    }
    make_room(p, slot);
    window_copy(p, value, from, p->trace->values[value].strides, slot);
    return slot;
}

static void
update_emit(Planner *p, IrNode node)
{
    IrValue value = ir_node_operand(p->g, node, 1);
    uint32_t window = window_slot(p, node), from = slot_of(p, value);
    npy_intp packed[NPY_MAXDIMS];
    const npy_intp *strides = p->trace->values[value].strides;
    if (p->failed)
        return;
    bool overlaps = root_slot(p, from) == root_slot(p, window);
    if (overlaps && same_place(p, value, window))
        return; /* x[...] = x[...] */
    if (overlaps) {
        from = detach(p, value, from, packed);
        strides = packed;
    }
    if (!p->failed)
        window_copy(p, value, from, strides, window);
}

/* True if the group may write its output right into the update's window. */
static bool
writes_through(Planner *p, const Chunk *c, IrNode update, IrValue value)
{
    IrNode producer = ir_def(p->g, value);
    if (!made_in(p, c, value) || !is_elementwise(p->g, producer) ||
        p->readers[value] != 1 ||
        made_in(p, c, p->root[ir_node_operand(p->g, update, 0)]))
        return false;
    uint32_t window_root = slot_of(p, ir_node_operand(p->g, update, 0));
    for (uint32_t i = 0; i < c->ninputs; i++) {
        IrValue input = c->inputs[i];
        if (root_slot(p, slot_of(p, input)) != root_slot(p, window_root))
            continue;
        /* The same elements at the same places may be read before they are written. */
        IrNode view = ir_def(p->g, input);
        intptr_t offset = view && ir_node_op(p->g, view) == OP_view
                              ? (intptr_t)ir_node_int(p->g, view, "offset", 0)
                              : 0;
        const IrAttr *strides = ir_node_attr(p->g, update, "strides");
        IrValue moved =
            view && ir_node_op(p->g, view) == OP_view ? window_index(p->g, view) : 0;
        if (moved != window_index(p->g, update))
            return false;
        if (offset != (intptr_t)ir_node_int(p->g, update, "offset", 0) ||
            ir_type(p->g, input).ndim != strides->count)
            return false;
        for (uint32_t d = 0; d < strides->count; d++) {
            if (p->trace->values[input].strides[d] != strides->ints[d] ||
                ir_type(p->g, input).dims[d].value !=
                    ir_type(p->g, value).dims[d].value)
                return false;
        }
    }
    return true;
}

/* An update right behind the group that makes its value: one step. */
static bool
update_through(Planner *p, Chunk *c, IrNode update)
{
    IrValue value = ir_node_operand(p->g, update, 1);
    const IrAttr *shape = ir_node_attr(p->g, update, "shape");
    IrType type = ir_type(p->g, value);
    chunk_edges(p, c);
    if (shape->count != type.ndim || !writes_through(p, c, update, value))
        return false;
    for (uint32_t d = 0; d < type.ndim; d++) {
        if (shape->ints[d] != type.dims[d].value)
            return false;
    }
    for (uint32_t i = 0; i < c->noutputs; i++) {
        if (c->outputs[i] != value)
            continue;
        c->slots[i] = window_slot(p, update);
        if (p->failed)
            return false;
        c->strides[i] = p->plan->slots[c->slots[i]].strides;
        chunk_emit(p, c);
        return true;
    }
    return false;
}

/* -- Items
 * -----------------------------------------------------------------------------------------------------
 */

static void
copy_emit(Planner *p, IrNode node)
{
    IrValue value = ir_node_operand(p->g, node, 0), result = ir_result(p->g, node, 0);
    uint32_t from = slot_of(p, value), to = slot_of(p, result);
    make_room(p, to);
    if (!p->failed)
        window_copy(p, value, from, p->trace->values[value].strides, to);
}

static void
touch_ref(Planner *p, TraceRef *ref)
{
    if (ref->value)
        touch(p, slot_of(p, ref->value));
}

static void
site_emit(Planner *p, IrNode node)
{
    uint32_t number = (uint32_t)ir_node_int(p->g, node, "site", -1);
    TraceSite *site = &p->trace->sites[number];
    walk_refs(p, site->args, touch_ref);
    walk_refs(p, site->kwargs, touch_ref);
    walk_refs(p, site->result, touch_ref);
    p->plan->ncalls++;
    step_add(p, RT_STEP_call, number, 0);
}

static JitPlan *body_of(JitState *state, Trace *trace, IrNode node, IrRegion region);

static uint32_t *
slots_new(Planner *p, uint32_t n)
{
    uint32_t *table = calloc(n + 1, sizeof *table);
    p->failed |= !table;
    return table;
}

/* A loop: its body is a plan of its own; what the body uses from here is bound to it.
 */
static void
loop_emit(Planner *p, IrNode node)
{
    IrRegion region = ir_node_region(p->g, node, 0);
    IrNode trip = ir_def(p->g, ir_node_operand(p->g, node, 0));
    JitPlan *body = body_of(p->state, p->trace, node, region);
    uint32_t n = ir_node_nresults(p->g, node), room = p->loops_room;
    JitPlan **bodies =
        body ? grown(p, p->plan->bodies, p->rt->nloops, &room, sizeof *bodies) : NULL;
    RtLoop *loops =
        bodies ? grown(p, p->rt->loops, p->rt->nloops, &p->loops_room, sizeof *loops)
               : NULL;
    if (bodies)
        p->plan->bodies = bodies;
    if (!loops) {
        if (body)
            jit_plan_release(body);
        p->failed = true;
        return;
    }
    p->rt->loops = loops;
    bodies[p->rt->nloops] = body;
    RtLoop *loop = &loops[p->rt->nloops];
    *loop = (RtLoop){.body = body->rt,
                     .turn = body->turn_slot,
                     .nbound = body->nparams,
                     .count = (intptr_t)ir_node_int(p->g, trip, "value", 0)};
    loop->outer = slots_new(p, body->nparams);
    loop->inner = slots_new(p, body->nparams);
    loop->param = slots_new(p, n);
    loop->yield = slots_new(p, n);
    loop->result = slots_new(p, n);
    for (uint32_t i = 0; !p->failed && i < body->nparams; i++) {
        /* The first are the carried ones: bound to the values they start as. */
        IrValue value = i < n ? ir_node_operand(p->g, node, i + 1) : body->bound[i];
        loop->outer[i] = slot_of(p, value);
        loop->inner[i] = body->param_slots[i];
        if (!p->failed && p->rt->slots[loop->outer[i]].kind != RT_SLOT_index)
            touch(p, loop->outer[i]);
    }
    for (uint32_t i = 0; !p->failed && i < n; i++) {
        IrValue result = ir_result(p->g, node, i);
        if (carried_in_place(p->g, node, i)) {
            slot_of(p, result);
            continue;
        }
        loop->param[loop->ncarried] = body->param_slots[i];
        loop->yield[loop->ncarried] = body->yield_slots[i];
        loop->result[loop->ncarried++] = slot_of(p, result);
        touch(p, slot_of(p, result));
    }
    if (body->rt->scratch_bytes > p->rt->scratch_bytes)
        p->rt->scratch_bytes = body->rt->scratch_bytes;
    p->plan->nops += body->nops;
    p->plan->ncalls += body->ncalls;
    step_add(p, RT_STEP_loop, p->rt->nloops++, 0);
}

static void
node_emit(Planner *p, IrNode node)
{
    switch (ir_node_op(p->g, node)) {
    case OP_view: {
        uint32_t slot = slot_of(p, ir_result(p->g, node, 0));
        touch(p, slot);
        step_add(p, RT_STEP_view, slot, 0);
        break;
    }
    case OP_update:
        update_emit(p, node);
        break;
    case OP_copy:
        copy_emit(p, node);
        break;
    case OP_call:
    case OP_call_update:
    case OP_effect:
        site_emit(p, node);
        break;
    case OP_const:
        break;
    case OP_imul:
    case OP_iadd:
    case OP_isub:
        step_add(p, RT_STEP_index, slot_of(p, ir_result(p->g, node, 0)), 0);
        break;
    case OP_for:
        loop_emit(p, node);
        break;
    default:
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

/* Which chunk a node belongs to decides which values have to be kept. */
static void
number_chunks(Planner *p, const IrSchedule *schedule)
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
            if (n == CHUNK_NODES / 2) {
                p->nchunks++;
                n = 0;
            }
            p->chunk[node] = p->nchunks;
            n++;
        }
    }
    for (IrNode node = 1; node < ir_nnodes(p->g); node++) {
        if (!p->live[node] || ir_node_home(p->g, node) != p->region)
            continue;
        if (!is_elementwise(p->g, node)) {
            each_use(p, node, keep_value);
            continue;
        }
        for (uint32_t k = 0; k < ir_node_noperands(p->g, node); k++) {
            IrValue value = ir_node_operand(p->g, node, k);
            IrNode def = ir_def(p->g, value);
            if (def && p->chunk[def] != p->chunk[node])
                p->kept[value] = true;
        }
    }
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
            if (!p->live[node] || ir_node_op(p->g, node) == OP_const)
                continue;
            if (ir_node_op(p->g, node) == OP_update && c->nnodes &&
                update_through(p, c, node)) {
                memset(c, 0, sizeof *c);
                continue;
            }
            if (c->nnodes && p->chunk[node] != number) {
                chunk_emit(p, c);
                memset(c, 0, sizeof *c);
            }
            number = p->chunk[node];
            if (is_elementwise(p->g, node))
                c->nodes[c->nnodes++] = node;
            else
                node_emit(p, node);
        }
    }
    chunk_emit(p, c);
    PyMem_Free(c);
}

/* -- Releasing
 * ---------------------------------------------------------------------------------------------------
 */

static void
keep_ref(Planner *p, TraceRef *ref)
{
    if (ref->value)
        p->touched[root_slot(p, slot_of(p, ref->value))] = UINT32_MAX;
}

static void
add_releases(Planner *p)
{
    RtPlan *rt = p->rt;
    uint32_t n = 0;
    if (p->region == 1)
        walk_refs(p, p->trace->result, keep_ref);
    for (uint32_t i = 0; p->region > 1 && i < ir_region_nyields(p->g, p->region); i++) {
        TraceRef ref = {.value = ir_region_yield_at(p->g, p->region, i)};
        keep_ref(p, &ref);
    }
    if (p->failed)
        return;
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

/* -- The plan
 * -------------------------------------------------------------------------------------------------------
 */

static uint32_t
value_to_slot(void *context, IrValue value)
{
    return slot_of(context, value) + 1;
}

/* A site's or the result's template, its references now slots. */
static PyObject *
to_slots(Planner *p, PyObject *template)
{
    PyObject *copy =
        template ? trace_template_map(p->state->trace, template, value_to_slot, p)
                 : NULL;
    p->failed |= template && !copy;
    return copy;
}

/* The plan's own sites and result. */
static void
take_sites(Planner *p)
{
    Trace *trace = p->trace;
    p->plan->sites = PyMem_Calloc(trace->nsites + 1, sizeof(JitSite));
    if (!p->plan->sites) {
        p->failed = true;
        return;
    }
    p->plan->nsites = trace->nsites;
    for (uint32_t i = 0; i < trace->nsites && !p->failed; i++) {
        const TraceSite *from = &trace->sites[i];
        if (!from->node || !p->live[from->node] ||
            ir_node_home(p->g, from->node) != p->region)
            continue;
        p->plan->sites[i] =
            (JitSite){Py_NewRef(from->callable), to_slots(p, from->args),
                      to_slots(p, from->kwargs), to_slots(p, from->result)};
    }
    if (p->region == 1)
        p->plan->result = to_slots(p, trace->result);
}

static void
take_params(Planner *p)
{
    Trace *trace = p->trace;
    JitPlan *plan = p->plan;
    plan->nparams = trace->nparams;
    plan->param_slots = PyMem_Calloc(trace->nparams + 1, sizeof *plan->param_slots);
    plan->param_written = PyMem_Calloc(trace->nparams + 1, sizeof *plan->param_written);
    if (!plan->param_slots || !plan->param_written) {
        p->failed = true;
        return;
    }
    for (uint32_t i = 0; i < trace->nparams; i++) {
        plan->param_slots[i] = slot_of(p, trace->params[i].value);
        plan->param_written[i] = trace->params[i].written;
        plan->writes |= trace->params[i].written;
    }
    plan->diverges_late = plan->writes && trace->guard_after_write;
}

/* Constants' memory has to outlive the trace. */
static void
take_constants(Planner *p)
{
    p->plan->keep = PyList_New(0);
    for (uint32_t i = 1; p->plan->keep && i < p->trace->nvalues; i++) {
        if (i < ir_nvalues(p->g) && is_const_node(p->g, i) &&
            p->trace->values[i].array &&
            PyList_Append(p->plan->keep, (PyObject *)p->trace->values[i].array) < 0)
            p->failed = true;
    }
    if (!p->plan->keep)
        p->failed = true;
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
    p->plan = PyMem_Calloc(1, sizeof *p->plan);
    p->rt = calloc(1, sizeof *p->rt);
    return p->slot && p->root && p->readers && p->chunk && p->live && p->object &&
           p->kept && p->plan && p->rt && trace_value(p->trace, ir_nvalues(p->g));
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
    free(p->touched);
}

/* Tells the graph what has to live. */
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
    walk_refs(p, p->trace->result, return_ref);
    for (uint32_t i = 0; i < p->trace->nsites; i++) {
        IrNode node = p->trace->sites[i].raises ? p->trace->sites[i].node : 0;
        bool here =
            node && ir_node_home(p->g, node) == 1 && ir_node_nresults(p->g, node);
        TraceRef ref = {.value = here ? ir_result(p->g, node, 0) : 0};
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
 * parameter. */
static void
take_region_params(Planner *p)
{
    IrValue turn = ir_region_param_at(p->g, p->region, 0);
    p->plan->turn_slot = slot_add(p, RT_SLOT_index);
    if (p->failed)
        return;
    p->slot[turn] = p->plan->turn_slot + 1;
    for (uint32_t i = 1; i < ir_region_nparams(p->g, p->region) && !p->failed; i++)
        slot_of(p, ir_region_param_at(p->g, p->region, i));
}

/* After all steps: slots of parameters and yields. */
static void
finish_region(Planner *p)
{
    uint32_t nyields = ir_region_nyields(p->g, p->region);
    p->plan->yield_slots = PyMem_Calloc(nyields + 1, sizeof *p->plan->yield_slots);
    for (uint32_t i = 0; p->plan->yield_slots && i < nyields; i++)
        p->plan->yield_slots[i] = slot_of(p, ir_region_yield_at(p->g, p->region, i));
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
    mark_live(p);
    find_roots(p);
    find_objects(p);
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
        add_releases(p);
    if (!p->failed)
        take_sites(p);
    if (!p->failed)
        take_constants(p);
    if (!p->failed && p->region > 1)
        finish_region(p);
}

static JitPlan *
plan_region(JitState *state, Trace *trace, IrRegion region)
{
    Planner p = {.state = state, .trace = trace, .g = trace->graph, .region = region};
    if (!planner_open(&p))
        p.failed = true;
    if (!p.failed) {
        p.plan->refs = 1;
        p.plan->rt = p.rt;
        p.plan->state = state;
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
        p.plan->rt = p.rt;
        jit_plan_release(p.plan);
    }
    return NULL;
}

static void
body_drop(PyObject *capsule)
{
    jit_plan_release(PyCapsule_GetPointer(capsule, NULL));
}

/* The plan of a loop's body, made once (its sites go over to it). One reference. */
static JitPlan *
body_of(JitState *state, Trace *trace, IrNode node, IrRegion region)
{
    PyObject *key = PyLong_FromUnsignedLong(node), *capsule;
    JitPlan *body = NULL;
    if (!key)
        return NULL;
    capsule = PyDict_GetItemWithError(trace->bodies, key);
    if (capsule) {
        body = PyCapsule_GetPointer(capsule, NULL);
        body->refs++;
    } else if ((body = plan_region(state, trace, region))) {
        body->refs++;
        capsule = PyCapsule_New(body, NULL, body_drop);
        if (!capsule || PyDict_SetItem(trace->bodies, key, capsule) < 0) {
            if (!capsule)
                body->refs--;
            jit_plan_release(body);
            body = NULL;
        }
        Py_XDECREF(capsule);
    }
    Py_DECREF(key);
    return body;
}

JitPlan *
jit_plan_new(JitState *state, Trace *trace)
{
    JitPlan *plan = plan_region(state, trace, 1);
    if (plan && ir_nnodes(trace->graph) <= GRAPH_KEPT) {
        plan->graph = trace->graph;
        trace->graph = NULL;
    }
    return plan;
}

/* Memory, and the object if there is one, of a value of the trace. */
static void
value_memory(const Trace *trace, IrValue value, char **data, PyObject **object)
{
    const TraceValue *v = &trace->values[value];
    *object = v->scalar ? v->scalar : (PyObject *)v->array;
    *data = v->array ? PyArray_BYTES(v->array) : NULL;
}

int
jit_trace_loop(void *context, Trace *trace, IrNode node, PyObject **results)
{
    JitState *state = context;
    IrRegion region = ir_node_region(trace->graph, node, 0);
    IrNode trip = ir_def(trace->graph, ir_node_operand(trace->graph, node, 0));
    uint32_t n = ir_node_nresults(trace->graph, node), ncarried = 0;
    int status = -1;
    char **data = NULL;
    PyObject **objects = NULL, **carried = NULL;
    RtLoop loop = {0};
    JitPlan *body = body_of(state, trace, node, region);
    if (!body)
        return -1;
    data = PyMem_Calloc(body->nparams + 1, sizeof *data);
    objects = PyMem_Calloc(body->nparams + 1, sizeof *objects);
    carried = PyMem_Calloc(n + 1, sizeof *carried);
    loop.param = calloc(n + 1, sizeof *loop.param);
    loop.yield = calloc(n + 1, sizeof *loop.yield);
    if (!data || !objects || !carried || !loop.param || !loop.yield) {
        PyErr_NoMemory();
        goto done;
    }
    for (uint32_t i = 0; i < body->nparams; i++) {
        IrValue value =
            i < n ? ir_node_operand(trace->graph, node, i + 1) : body->bound[i];
        if (trace_force(trace, value) < 0)
            goto done;
        value_memory(trace, value, &data[i], &objects[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (carried_in_place(trace->graph, node, i))
            continue;
        loop.param[ncarried] = body->param_slots[i];
        loop.yield[ncarried++] = body->yield_slots[i];
    }
    loop.body = body->rt;
    loop.ncarried = ncarried;
    loop.turn = body->turn_slot;
    loop.count = (intptr_t)ir_node_int(trace->graph, trip, "value", 0);
    status = jit_body_run(&loop, body, data, objects, carried);
    for (uint32_t i = 0, k = 0; status == 0 && i < n; i++) {
        if (!carried_in_place(trace->graph, node, i)) {
            results[i] = carried[k];
            carried[k++] = NULL;
        }
    }
done:
    for (uint32_t i = 0; carried && i < n; i++)
        Py_XDECREF(carried[i]);
    PyMem_Free(data);
    PyMem_Free(objects);
    PyMem_Free(carried);
    free(loop.param);
    free(loop.yield);
    jit_plan_release(body);
    return status;
}
