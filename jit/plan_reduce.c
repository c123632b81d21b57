/* plan_reduce.c - reductions that take their producer along: no array in between.
**
** The order of NumPy's additions depends on the layout of what is summed. Taken along are
** producers that run over one axis (all operands contiguous, or one element) with results that
** are whole runs of it: all elements, or the last axes. All else is a call of NumPy's reduction.
*/
#include <stdlib.h>
#include <string.h>

#include "jit/planner.h"

enum { NUMPY_2_3 = 0x14 }; /* C API version: sums before are cut in chunks of 8192 */

typedef struct Fold {
    IrOp op; /* its loop */
    bool pairwise, from_first;
    bool one; /* the identity is one, not zero */
} Fold;

/* How a reduction of this dtype is done; false: not here. */
static bool
fold_of(IrOp reduction, IrDtype dtype, Fold *fold)
{
    bool floating = dtype == DT_float32 || dtype == DT_float64;
    if (!floating && dtype != DT_int64 && dtype != DT_boolean)
        return false;
    switch (reduction) {
    case OP_sum:
        *fold = (Fold){.op = OP_add, .pairwise = floating};
        return dtype != DT_boolean &&
               (!floating || PyArray_GetNDArrayCFeatureVersion() >= NUMPY_2_3);
    case OP_prod:
        *fold = (Fold){.op = OP_multiply, .one = true};
        return dtype != DT_boolean;
    case OP_max:
        *fold = (Fold){.op = OP_maximum, .from_first = true};
        return dtype != DT_boolean;
    case OP_min:
        *fold = (Fold){.op = OP_minimum, .from_first = true};
        return dtype != DT_boolean;
    case OP_any:
        *fold = (Fold){.op = OP_logical_or};
        return dtype == DT_boolean;
    case OP_all:
        *fold = (Fold){.op = OP_logical_and, .one = true};
        return dtype == DT_boolean;
    default:
        return false;
    }
}

/* Elements of one result when the axes reduced are the last ones; 0: they are others. */
static intptr_t
run_of(const IrGraph *g, IrNode node)
{
    IrType type = ir_type(g, ir_node_operand(g, node, 0));
    const IrAttr *axes = ir_node_attr(g, node, "axes");
    bool reduced[NPY_MAXDIMS] = {false};
    intptr_t run = 1;
    uint32_t n = axes ? axes->count : type.ndim;
    for (uint32_t i = 0; i < n; i++)
        reduced[axes ? axes->ints[i] : i] = true;
    for (uint32_t i = 0; i < n; i++) {
        if (!reduced[type.ndim - 1 - i])
            return 0;
        run *= (intptr_t)type.dims[type.ndim - 1 - i].value;
    }
    return run;
}

static void
set_identity(RtReduce *reduce, IrDtype dtype, bool one)
{
    if (!one)
        return;
    if (dtype == DT_float32)
        memcpy(reduce->identity, &(float){1}, sizeof(float));
    else if (dtype == DT_float64)
        memcpy(reduce->identity, &(double){1}, sizeof(double));
    else
        reduce->identity[0] = 1; /* int64, little endian, and bool */
}

/* One axis, every operand contiguous or one element. */
static bool
runs_straight(const RtGroup *group)
{
    if (group->ndim != 1)
        return false;
    for (uint32_t k = 0; k < group->noperands; k++) {
        if (group->strides[k] && group->strides[k] != (intptr_t)group->itemsize[k])
            return false;
    }
    return group->strides[group->ninputs] != 0;
}

static bool
is_packed(const Planner *p, IrValue value)
{
    IrType type = ir_type(p->g, value);
    npy_intp step = (npy_intp)ir_dtype_bytes(type.dtype);
    for (uint32_t d = type.ndim; d-- > 0;) {
        if (type.dims[d].value != 1 && p->trace->values[value].strides[d] != step)
            return false;
        step *= (npy_intp)type.dims[d].value;
    }
    return true;
}

/* The chunk as the reduction's producer, the reduction filled in; NULL group: not possible. */
static RtGroup *
producer(Planner *p, const Chunk *c, IrNode node, RtReduce *reduce)
{
    IrValue value = ir_node_operand(p->g, node, 0);
    IrDtype dtype = ir_type(p->g, value).dtype;
    intptr_t run = run_of(p->g, node);
    Fold fold;
    JitLoop loop;
    if (!fold_of(ir_node_op(p->g, node), dtype, &fold) || run < 8 ||
        ir_type(p->g, ir_result(p->g, node, 0)).dtype != dtype || !is_packed(p, value))
        return NULL;
    JitGroupSpec spec = {
        .numerics = p->trace->numerics,
        .graph = p->g,
        .values = p->trace->values,
        .nodes = c->nodes,
        .nnodes = c->nnodes,
        .inputs = c->inputs,
        .ninputs = c->ninputs,
        .outputs = c->outputs,
        .noutputs = c->noutputs,
    };
    IrDtype in[2] = {dtype, dtype};
    RtGroup *group = jit_group_new(p->state, &spec);
    JitLoopKey key = {.op = fold.op, .in = in, .n = 2, .out = dtype};
    if (!group || !jit_loop_find(p->state, &key, &loop) || !runs_straight(group)) {
        rt_group_free(group);
        PyErr_Clear();
        return NULL;
    }
    *reduce = (RtReduce){.group = group,
                         .loop = loop.loop,
                         .context = loop.context,
                         .auxdata = loop.auxdata,
                         .pairwise = fold.pairwise,
                         .from_first = fold.from_first,
                         .itemsize = (uint16_t)ir_dtype_bytes(dtype),
                         .run = run,
                         .nresults = group->size / run};
    set_identity(reduce, dtype, fold.one);
    rt_reduce_finish(reduce);
    return group;
}

bool
jit_plan_is_reduction(IrOp op)
{
    return ir_op_class(op) == CLASS_reduce;
}

/* A reduction right behind the group that makes what it reduces, and no one else reads that. */
bool
jit_plan_reduce_through(Planner *p, Chunk *c, IrNode node)
{
    IrValue value = ir_node_operand(p->g, node, 0);
    RtReduce reduce;
    jit_plan_chunk_edges(p, c);
    if (!jit_plan_made_in(p, c, value) || p->readers[value] != 1 || c->noutputs != 1 ||
        c->outputs[0] != value || ir_type(p->g, value).ndim == 0)
        return false;
    RtGroup *group = producer(p, c, node, &reduce);
    if (!group)
        return false;
    RtReduce *reduces = jit_plan_grown(p, p->rt->reduces, p->rt->nreduces,
                                       &p->reduces_room, sizeof *reduces);
    if (!reduces) {
        rt_group_free(group);
        return false;
    }
    p->rt->reduces = reduces;
    reduces[p->rt->nreduces] = reduce;
    uint32_t result = jit_plan_slot_of(p, ir_result(p->g, node, 0));
    uint32_t first = p->rt->noperands;
    uint32_t number = p->rt->nreduces++;
    for (uint32_t i = 0; i < c->ninputs && !p->failed; i++)
        jit_plan_operand_add(p, jit_plan_slot_of(p, c->inputs[i]));
    jit_plan_make_room(p, result);
    jit_plan_operand_add(p, result);
    for (uint32_t k = first; k < p->rt->noperands && !p->failed; k++)
        jit_plan_touch(p, p->rt->operands[k]);
    if (reduce.scratch_bytes > p->rt->scratch_bytes)
        p->rt->scratch_bytes = reduce.scratch_bytes;
    jit_plan_step_add(p, RT_STEP_reduce, number, first);
    jit_plan_reduce_code(p, c, group, number);
    p->plan->nops += c->nnodes + 1;
    return true;
}
