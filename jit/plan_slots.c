/* plan_slots.c - slots of values, and the tables of a plan that grow. */
#include <stdlib.h>
#include <string.h>

#include "jit/planner.h"

/* -- Growing tables (malloc: the runtime frees them) ------------------------------- */

void *
jit_plan_grown(Planner *p, void *table, uint32_t n, uint32_t *room, size_t item)
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

uint32_t
jit_plan_slot_add(Planner *p, RtSlotKind kind)
{
    RtPlan *rt = p->rt;
    uint32_t room = p->slots_room, same = room, again = room;
    RtSlot *slots =
        jit_plan_grown(p, rt->slots, rt->nslots, &p->slots_room, sizeof *slots);
    JitSlot *infos =
        slots ? jit_plan_grown(p, p->plan->slots, rt->nslots, &same, sizeof *infos)
              : NULL;
    uint32_t *touched =
        infos ? jit_plan_grown(p, p->touched, rt->nslots, &again, sizeof *touched)
              : NULL;
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

void
jit_plan_step_add(Planner *p, RtStepKind kind, uint32_t index, uint32_t operands)
{
    RtStep *steps =
        jit_plan_grown(p, p->rt->steps, p->rt->nsteps, &p->steps_room, sizeof *steps);
    if (!steps)
        return;
    p->rt->steps = steps;
    steps[p->rt->nsteps++] = (RtStep){kind, index, operands};
}

/* -- Slots ------------------------------------------------------------------------- */

void
jit_plan_describe(Planner *p, uint32_t slot, IrValue value)
{
    const TraceValue *v = &p->trace->values[value];
    IrType type = ir_type(p->g, value);
    JitSlot *info = &p->plan->slots[slot];
    info->descr =
        v->descr ? (PyArray_Descr *)Py_NewRef(v->descr) : jit_descr(type.dtype);
    info->ndim = (int)type.ndim;
    info->readonly = v->flags & TRACE_VALUE_readonly;
    info->path = Py_XNewRef(v->path);
    info->node = v->path ? ir_def(p->g, value) : 0;
    info->made = ir_def(p->g, value);
    if (v->scalar) {
        info->scalar = PyFloat_CheckExact(v->scalar)     ? JIT_SCALAR_float
                       : PyComplex_CheckExact(v->scalar) ? JIT_SCALAR_complex
                       : PyArray_CheckScalar(v->scalar)
                           ? JIT_SCALAR_numpy
                           : JIT_SCALAR_int; /* or another object */
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

static bool
is_index_op(IrOp op)
{
    return op == OP_iadd || op == OP_isub || op == OP_imul || op == OP_to_index;
}

/* A value that comes from around the region. */
static bool
is_outside(const Planner *p, IrValue value)
{
    IrNode node = ir_def(p->g, value);
    return p->region > 1 && (!node || ir_node_home(p->g, node) != p->region);
}

/* A parameter of a region's plan: what is carried, or what its nodes use from outside. */
static uint32_t
bound_add(Planner *p, IrValue value)
{
    uint32_t slot = jit_plan_slot_add(p, RT_SLOT_argument);
    IrValue *bound =
        jit_plan_grown(p, p->bound, p->plan->nparams, &p->bound_room, sizeof *bound);
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
    uint32_t a = jit_plan_slot_of(p, ir_node_operand(p->g, node, 0));
    uint32_t b =
        op == OP_to_index ? 0 : jit_plan_slot_of(p, ir_node_operand(p->g, node, 1));
    uint32_t slot = jit_plan_slot_add(p, RT_SLOT_index);
    if (p->failed)
        return 0;
    p->rt->slots[slot].base = a;
    p->rt->slots[slot].index = b;
    p->rt->slots[slot].op = op == OP_iadd   ? RT_INDEX_add
                            : op == OP_isub ? RT_INDEX_subtract
                            : op == OP_imul ? RT_INDEX_multiply
                                            : RT_INDEX_number;
    p->slot[value] = slot + 1;
    return slot;
}

/* The index that moves a window, or 0: the operand behind the fixed ones. */
IrValue
jit_plan_window_index(const IrGraph *g, IrNode node)
{
    uint32_t fixed = ir_node_op(g, node) == OP_update ? 2 : 1;
    return ir_node_noperands(g, node) > fixed ? ir_node_operand(g, node, fixed) : 0;
}

/* The slot of a value; views and versions of a storage get theirs on first use. */
uint32_t
jit_plan_slot_of(Planner *p, IrValue value)
{
    if (p->slot[value])
        return p->slot[value] - 1;
    IrNode node = ir_def(p->g, value);
    IrOp op = node ? ir_node_op(p->g, node) : OP_COUNT;
    uint32_t slot, base;
    if (op == OP_const && ir_type(p->g, value).dtype == DT_index) {
        slot = jit_plan_slot_add(p, RT_SLOT_index);
        if (!p->failed) {
            p->rt->slots[slot].offset = (intptr_t)ir_node_int(p->g, node, "value", 0);
            p->slot[value] = slot + 1;
        }
        return slot;
    }
    if (op != OP_const && op != OP_count && is_outside(p, value)) {
        slot = bound_add(p, value);
        if (!p->failed)
            jit_plan_describe(p, slot, value);
        return slot;
    }
    if (is_index_op(op))
        return index_slot(p, value, node);
    if (node && p->same[node]) {
        slot = jit_plan_slot_of(p, ir_node_operand(p->g, node, 0));
        p->slot[value] = slot + 1;
        return slot;
    }
    if (op == OP_update || (op == OP_for && p->root[value] != value) ||
        (op == OP_call_update && p->root[value] != value)) {
        uint32_t i = 0;
        while (ir_result(p->g, node, i) != value)
            i++;
        slot = jit_plan_slot_of(p, jit_plan_shares(p->g, node, i));
        p->slot[value] = slot + 1;
        return slot;
    }
    if (op == OP_view) {
        base = jit_plan_slot_of(p, ir_node_operand(p->g, node, 0));
        slot = jit_plan_slot_add(p, RT_SLOT_view);
        uint32_t index =
            jit_plan_window_index(p->g, node)
                ? jit_plan_slot_of(p, jit_plan_window_index(p->g, node)) + 1
                : 0;
        p->rt->slots[slot].base = base;
        p->rt->slots[slot].index = index;
        p->rt->slots[slot].offset = (intptr_t)ir_node_int(p->g, node, "offset", 0);
    } else if (op == OP_const || op == OP_count) {
        slot = jit_plan_slot_add(p, RT_SLOT_constant);
        p->rt->slots[slot].data = PyArray_BYTES(p->trace->values[value].array);
    } else {
        bool object = p->object[p->root[value]] || !jit_plan_is_elementwise(p->g, node);
        bool scalar = node && p->trace->values[value].scalar;
        slot = jit_plan_slot_add(p, !node    ? RT_SLOT_argument
                                    : scalar ? RT_SLOT_scalar
                                    : object ? RT_SLOT_object
                                             : RT_SLOT_buffer);
    }
    if (!p->failed) {
        p->slot[value] = slot + 1;
        jit_plan_describe(p, slot, value);
    }
    return slot;
}

uint32_t
jit_plan_root_slot(const Planner *p, uint32_t slot)
{
    while (p->rt->slots[slot].kind == RT_SLOT_view)
        slot = p->rt->slots[slot].base;
    return slot;
}

/* The memory behind a slot is used by the next step. */
void
jit_plan_touch(Planner *p, uint32_t slot)
{
    if (!p->failed)
        p->touched[jit_plan_root_slot(p, slot)] = p->rt->nsteps;
}

/* Memory for a value about to be made. */
void
jit_plan_make_room(Planner *p, uint32_t slot)
{
    if (p->failed)
        return;
    jit_plan_touch(p, slot);
    if (p->rt->slots[slot].kind == RT_SLOT_object)
        jit_plan_step_add(p, RT_STEP_allocate, slot, 0);
    else if (p->rt->slots[slot].kind == RT_SLOT_buffer)
        jit_plan_step_add(p, RT_STEP_buffer, slot, 0);
    else if (p->rt->slots[slot].kind == RT_SLOT_scalar && p->region > 1)
        jit_plan_step_add(p, RT_STEP_release, slot,
                          0); /* the object of the turn before */
}
