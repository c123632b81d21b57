/* plan_updates.c - windows that are written: copies, and groups that write right into them. */
#include <stdlib.h>
#include <string.h>

#include "jit/planner.h"
#include "kernels/kernels.h"

/* -- Updates ----------------------------------------------------------------------- */

/* A slot for the window that an update writes. */
static uint32_t
window_slot(Planner *p, IrNode update)
{
    uint32_t base = jit_plan_slot_of(p, ir_node_operand(p->g, update, 0));
    uint32_t slot = jit_plan_slot_add(p, RT_SLOT_view);
    const IrAttr *shape = ir_node_attr(p->g, update, "shape");
    const IrAttr *strides = ir_node_attr(p->g, update, "strides");
    uint32_t index = jit_plan_window_index(p->g, update)
                         ? jit_plan_slot_of(p, jit_plan_window_index(p->g, update)) + 1
                         : 0;
    if (p->failed)
        return 0;
    p->rt->slots[slot].base = base;
    p->rt->slots[slot].index = index;
    p->rt->slots[slot].offset = (intptr_t)ir_node_int(p->g, update, "offset", 0);
    JitSlot *info = &p->plan->slots[slot];
    info->path = Py_XNewRef(p->trace->values[ir_result(p->g, update, 0)].path);
    info->node = update;
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
    jit_plan_touch(p, slot);
    jit_plan_step_add(p, RT_STEP_view, slot, 0);
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
        node && ir_node_op(p->g, node) == OP_view && jit_plan_window_index(p->g, node)
            ? p->slot[jit_plan_window_index(p->g, node)]
            : 0;
    if (offset != slot->offset || index != slot->index || !same_shape(p, value, info))
        return false;
    return !info->ndim ||
           (v->strides && memcmp(v->strides, info->strides,
                                 (size_t)info->ndim * sizeof(npy_intp)) == 0);
}

/* Bytes of an element; those of dtypes that the graph does not know, too. */
uint32_t
jit_plan_item_bytes(const Planner *p, IrValue value)
{
    const PyArray_Descr *descr = p->trace->values[value].descr;
    return descr ? (uint32_t)PyDataType_ELSIZE(descr)
                 : ir_dtype_bytes(ir_type(p->g, value).dtype);
}

/* A copy of `value`, broadcast, into the window. */
void
jit_plan_window_copy(Planner *p, IrValue value, uint32_t from,
                     const npy_intp *from_strides, uint32_t window)
{
    const JitSlot *info = &p->plan->slots[window];
    IrType type = ir_type(p->g, value);
    uint32_t bytes = jit_plan_item_bytes(p, value);
    RtLoopFn loop = kernel_copy((int)bytes);
    RtGroup *group = rt_group_new(1, 1, 0, 2, 1, (uint32_t)info->ndim);
    if (!group || !loop) {
        rt_group_free(group);
        p->failed = true;
        return;
    }
    group->ops[0] = (RtOp){loop, NULL, NULL, 2, {0, 1}};
    group->itemsize[0] = group->itemsize[1] = (uint16_t)bytes;
    for (int d = 0; d < info->ndim; d++) {
        int k = d - (info->ndim - (int)type.ndim);
        group->shape[d] = info->shape[d];
        group->strides[info->ndim + d] = info->strides[d];
        group->strides[d] = k < 0 || type.dims[k].value == 1 ? 0 : from_strides[k];
    }
    rt_group_finish(group);
    JitGroupCode *codes = realloc(p->plan->codes, (p->rt->ngroups + 1) * sizeof *codes);
    RtGroup **groups = jit_plan_grown(p, p->rt->groups, p->rt->ngroups, &p->groups_room,
                                      sizeof *groups);
    uint32_t *table = jit_plan_grown(p, p->rt->operands, p->rt->noperands + 2,
                                     &p->operands_room, sizeof *table);
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
    jit_plan_touch(p, from);
    jit_plan_touch(p, window);
    table[p->rt->noperands] = from;
    table[p->rt->noperands + 1] = window;
    groups[p->rt->ngroups] = group;
    if (group->scratch_bytes > p->rt->scratch_bytes)
        p->rt->scratch_bytes = group->scratch_bytes;
    jit_plan_step_add(p, RT_STEP_group, p->rt->ngroups++, p->rt->noperands);
    p->rt->noperands += 2;
}

/* Memory of its own for a value that overlaps the window it is written to. */
static uint32_t
detach(Planner *p, IrValue value, uint32_t from, npy_intp *strides)
{
    uint32_t slot = jit_plan_slot_add(p, RT_SLOT_buffer);
    if (p->failed)
        return 0;
    jit_plan_describe(p, slot, value);
    JitSlot *info = &p->plan->slots[slot];
    Py_CLEAR(info->path); /* it is no window any more */
    info->node = 0;
    npy_intp step = (npy_intp)jit_plan_item_bytes(p, value);
    for (int d = info->ndim; d-- > 0;) {
        info->strides[d] = strides[d] = step;
        step *= info->shape[d];
    }
    jit_plan_make_room(p, slot);
    jit_plan_window_copy(p, value, from, p->trace->values[value].strides, slot);
    return slot;
}

void
jit_plan_update_emit(Planner *p, IrNode node)
{
    IrValue value = ir_node_operand(p->g, node, 1);
    uint32_t window = window_slot(p, node), from = jit_plan_slot_of(p, value);
    npy_intp packed[NPY_MAXDIMS];
    const npy_intp *strides = p->trace->values[value].strides;
    if (p->failed)
        return;
    bool overlaps = jit_plan_root_slot(p, from) == jit_plan_root_slot(p, window);
    if (overlaps && same_place(p, value, window))
        return; /* x[...] = x[...] */
    if (overlaps) {
        from = detach(p, value, from, packed);
        strides = packed;
    }
    if (!p->failed)
        jit_plan_window_copy(p, value, from, strides, window);
}

/* True if the group may write its output right into the update's window. */
static bool
writes_through(Planner *p, const Chunk *c, IrNode update, IrValue value)
{
    IrNode producer = ir_def(p->g, value);
    if (!jit_plan_made_in(p, c, value) || !jit_plan_is_elementwise(p->g, producer) ||
        p->readers[value] != 1 ||
        jit_plan_made_in(p, c, p->root[ir_node_operand(p->g, update, 0)]))
        return false;
    uint32_t window_root = jit_plan_slot_of(p, ir_node_operand(p->g, update, 0));
    for (uint32_t i = 0; i < c->ninputs; i++) {
        IrValue input = c->inputs[i];
        if (p->rolled[ir_def(p->g, input)])
            continue; /* plan_rolls.c, law 1 */
        if (jit_plan_root_slot(p, jit_plan_slot_of(p, input)) !=
            jit_plan_root_slot(p, window_root))
            continue;
        /* The same elements at the same places may be read before they are written. */
        IrNode view = ir_def(p->g, input);
        intptr_t offset = view && ir_node_op(p->g, view) == OP_view
                              ? (intptr_t)ir_node_int(p->g, view, "offset", 0)
                              : 0;
        const IrAttr *strides = ir_node_attr(p->g, update, "strides");
        IrValue moved = view && ir_node_op(p->g, view) == OP_view
                            ? jit_plan_window_index(p->g, view)
                            : 0;
        if (moved != jit_plan_window_index(p->g, update))
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

/* True if the group writes another window on this memory already. */
static bool
is_placed(const Planner *p, const Chunk *c, uint32_t base)
{
    for (uint32_t i = 0; i < c->noutputs; i++) {
        if (c->strides[i] &&
            jit_plan_root_slot(p, c->slots[i]) == jit_plan_root_slot(p, base))
            return true;
    }
    return false;
}

/* In tier 0 a group computes one node after the other. What is written into memory that others read
** comes last: no one in the group needs it. False: it reads what is written before it then. */
static bool
put_last(Planner *p, Chunk *c, IrNode producer)
{
    IrValue placed[RT_OPERANDS_MAX];
    uint32_t slots[RT_OPERANDS_MAX], n = 0, at = 0;
    const npy_intp *strides[RT_OPERANDS_MAX];
    for (uint32_t i = 0; i < c->noutputs; i++) {
        if (!c->strides[i])
            continue;
        for (uint32_t k = 0; k < ir_node_noperands(p->g, producer); k++) {
            IrValue operand = ir_node_operand(p->g, producer, k);
            if (!jit_plan_is_const_node(p->g, operand) &&
                !jit_plan_made_in(p, c, operand) &&
                jit_plan_root_slot(p, jit_plan_slot_of(p, operand)) ==
                    jit_plan_root_slot(p, c->slots[i]))
                return false;
        }
        placed[n] = c->outputs[i];
        slots[n] = c->slots[i];
        strides[n++] = c->strides[i];
    }
    while (c->nodes[at] != producer)
        at++;
    memmove(c->nodes + at, c->nodes + at + 1, (c->nnodes - at - 1) * sizeof *c->nodes);
    c->nodes[c->nnodes - 1] = producer;
    jit_plan_chunk_edges(p, c);
    memset(c->strides, 0, sizeof c->strides);
    for (uint32_t i = 0; i < c->noutputs; i++) {
        for (uint32_t k = 0; k < n; k++) {
            if (c->outputs[i] != placed[k])
                continue;
            c->slots[i] = slots[k];
            c->strides[i] = strides[k];
        }
    }
    return true;
}

/* Updates right behind the group that makes their values: one step. */
bool
jit_plan_update_through(Planner *p, Chunk *c, IrNode update)
{
    IrValue value = ir_node_operand(p->g, update, 1);
    const IrAttr *shape = ir_node_attr(p->g, update, "shape");
    IrType type = ir_type(p->g, value);
    jit_plan_chunk_edges(p, c);
    if (shape->count != type.ndim || !writes_through(p, c, update, value) ||
        is_placed(p, c, jit_plan_slot_of(p, ir_node_operand(p->g, update, 0))))
        return false;
    for (uint32_t d = 0; d < type.ndim; d++) {
        if (shape->ints[d] != type.dims[d].value)
            return false;
    }
    if (!put_last(p, c, ir_def(p->g, value)))
        return false;
    for (uint32_t i = 0; i < c->noutputs; i++) {
        if (c->outputs[i] != value)
            continue;
        c->slots[i] = window_slot(p, update);
        if (p->failed)
            return false;
        c->strides[i] = p->plan->slots[c->slots[i]].strides;
        c->placed = true;
        return true;
    }
    return false;
}
