/* plan_reduce.c - reductions that take their producer along: no array in between.
**
** The order of NumPy's additions depends on the layout of what is summed; where numerics is not
** strict, sums of long runs are added in another order, the same for plans and for calls (sums.c).
** Taken along are
** producers of what would be packed, in any order of the axes, with neighbouring ones reduced:
**     the innermost ones    runs: each result is of one run of elements
**     others                columns: rows of results, one row joined after the other
** Their operands are contiguous along the last axis, or one element. All else is a call of NumPy's
** reduction.
*/
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jit/planner.h"
#include "kernels/kernels.h"

enum { NUMPY_2_3 = 0x14 }; /* C API version: sums before are cut in chunks of 8192 */

enum { RUN_MIN = 2 }; /* elements of a result: for fewer a block is not worth it */

_Static_assert(RT_LEAF == LOWER_LEAF, "ORDER leaf");
_Static_assert(RT_WIDE_BYTES == KERNEL_SUM_BYTES && RT_WIDE_TURNS == KERNEL_SUM_TURNS,
               "ORDER wide");

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
    bool wide = dtype == DT_int64 || dtype == DT_uint64;
    bool whole = ir_dtype_kind(dtype) == KIND_int || ir_dtype_kind(dtype) == KIND_uint;
    switch (reduction) {
    case OP_sum:
        *fold = (Fold){.op = OP_add, .pairwise = floating};
        return wide || (floating && PyArray_GetNDArrayCFeatureVersion() >= NUMPY_2_3);
    case OP_prod:
        *fold = (Fold){.op = OP_multiply, .one = true};
        return wide || floating;
    case OP_max:
        *fold = (Fold){.op = OP_maximum, .from_first = true};
        return whole || floating;
    case OP_min:
        *fold = (Fold){.op = OP_minimum, .from_first = true};
        return whole || floating;
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

/* -- Shapes ------------------------------------------------------------------------ */

/* The axes of more than one element as they lie in memory, the longest strides first; `first` …
** `end` - 1 of them are reduced. */
typedef struct Axes {
    uint32_t axis[NPY_MAXDIMS];
    uint32_t n, first, end;
} Axes;

static void
order_axes(IrType type, const npy_intp *strides, Axes *axes)
{
    axes->n = 0;
    for (uint32_t d = 0; d < type.ndim; d++) {
        uint32_t place = axes->n;
        if (type.dims[d].value == 1)
            continue;
        while (place && labs(strides[axes->axis[place - 1]]) < labs(strides[d]))
            place--;
        memmove(axes->axis + place + 1, axes->axis + place,
                (axes->n - place) * sizeof *axes->axis);
        axes->axis[place] = d;
        axes->n++;
    }
}

/* True if nothing lies between the elements of these axes, the last one innermost. */
static bool
is_packed(IrType type, const npy_intp *strides, const Axes *axes)
{
    npy_intp step = (npy_intp)ir_dtype_bytes(type.dtype);
    for (uint32_t i = axes->n; i-- > 0;) {
        if (strides[axes->axis[i]] != step)
            return false;
        step *= (npy_intp)type.dims[axes->axis[i]].value;
    }
    return true;
}

static void
find_reduced(const IrGraph *g, IrNode node, uint32_t ndim, bool *reduced)
{
    const IrAttr *axes = ir_node_attr(g, node, "axes");
    if (!axes)
        axes = ir_node_attr(g, node, "axis");
    uint32_t n = axes ? axes->count : ndim;
    for (uint32_t i = 0; i < n; i++)
        reduced[axes ? axes->ints[i] : i] = true;
}

/* Which of the axes are reduced; false: none, or no neighbours. */
static bool
mark_reduced(Axes *axes, const bool *reduced)
{
    axes->first = axes->end = 0;
    for (uint32_t i = 0; i < axes->n; i++) {
        if (!reduced[axes->axis[i]])
            continue;
        if (axes->end && axes->end != i)
            return false;
        if (!axes->end)
            axes->first = i;
        axes->end = i + 1;
    }
    return axes->end > 0;
}

/* True if the result lies in memory in the order in which it is made. */
static bool
is_in_order(const Planner *p, IrNode node, const bool *reduced, const Axes *axes)
{
    IrValue result = ir_result(p->g, node, 0);
    IrType from = ir_type(p->g, ir_node_operand(p->g, node, 0)),
           type = ir_type(p->g, result);
    Axes kept = {.n = 0};
    for (uint32_t i = 0; i < axes->n; i++) {
        uint32_t d = axes->axis[i], before = 0;
        if (reduced[d] && ir_op_class(ir_node_op(p->g, node)) != CLASS_scan)
            continue;
        for (uint32_t k = 0; k < d && type.ndim != from.ndim; k++)
            before += reduced[k];
        kept.axis[kept.n++] = d - before;
    }
    return kept.n == 0 || is_packed(type, p->trace->values[result].strides, &kept);
}

static intptr_t
extent(IrType type, const Axes *axes, uint32_t first, uint32_t end)
{
    intptr_t n = 1;
    for (uint32_t i = first; i < end; i++)
        n *= (intptr_t)type.dims[axes->axis[i]].value;
    return n;
}

/* Axes first … end - 1 of all operands as one: its strides go to `out`. False: they are none. */
static bool
join_axes(const RtGroup *group, const Axes *axes, uint32_t first, uint32_t end,
          intptr_t *out)
{
    for (uint32_t k = 0; k < group->noperands; k++) {
        const intptr_t *strides = group->strides + k * group->ndim;
        intptr_t next = 0;
        out[k] = first < end ? strides[axes->axis[end - 1]] : 0;
        for (uint32_t i = end; i-- > first;) {
            uint32_t d = axes->axis[i];
            if (i + 1 < end && strides[d] != next)
                return false;
            next = strides[d] * group->shape[d];
        }
    }
    return true;
}

/* There is nothing to go through. */
static bool
set_no_axes(RtGroup *group, const RtReduce *reduce)
{
    group->ndim = 2; /* ORDER axes */
    group->shape[0] = reduce->outer;
    group->shape[1] = reduce->run;
    for (uint32_t k = 0; k < group->noperands; k++)
        group->strides[2 * k] = group->strides[2 * k + 1] =
            (intptr_t)group->itemsize[k];
    return true;
}

/* The group's axes become (outer, run) or (outer, run, inner). */
static bool
set_axes(RtGroup *group, RtReduce *reduce, const Axes *axes)
{
    if (reduce->empty)
        return set_no_axes(group, reduce);
    intptr_t strides[3][RT_OPERANDS_MAX];
    uint32_t ndim = reduce->inner ? 3 : 2; /* ORDER axes: at most JIT_AXES_MORE + 1 */
    if (!join_axes(group, axes, 0, axes->first, strides[0]) ||
        !join_axes(group, axes, axes->first, axes->end, strides[1]) ||
        !join_axes(group, axes, axes->end, axes->n, strides[2]))
        return false;
    group->ndim = ndim;
    group->shape[0] = reduce->outer;
    group->shape[1] = reduce->run;
    if (ndim == 3)
        group->shape[2] = reduce->inner;
    for (uint32_t k = 0; k < group->noperands; k++) {
        for (uint32_t d = 0; d < ndim; d++)
            group->strides[k * ndim + d] = strides[d][k];
        intptr_t last = strides[ndim - 1][k];
        bool apart = last != (intptr_t)group->itemsize[k];
        if (reduce->along && !group->nops && group->shape[ndim - 1] == 1)
            group->strides[k * ndim + ndim - 1] = (intptr_t)group->itemsize[k];
        else if (apart && reduce->along && !group->nops)
            reduce->gather = kernel_copy(group->itemsize[k]);
        else if (apart && last)
            return false;
    }
    if (reduce->along && !group->nops)
        return true;
    return strides[ndim - 1][group->ninputs] != 0;
}

/* -- The step ---------------------------------------------------------------------- */

/* The least or greatest integer of a dtype; its low bytes. */
static uint64_t
integer_end(IrDtype dtype, bool least)
{
    unsigned bits = 8 * (unsigned)ir_dtype_bytes(dtype);
    if (ir_dtype_kind(dtype) == KIND_uint)
        return least ? 0 : UINT64_MAX;
    uint64_t top = (uint64_t)1 << (bits - 1);
    return least ? top : top - 1;
}

static void
set_identity(RtReduce *reduce, const Fold *fold, IrDtype dtype)
{
    double number = fold->one ? 1 : 0;
    uint64_t integer = fold->one;
    if (fold->from_first) { /* of columns */
        bool least = fold->op == OP_maximum;
        number = least ? -INFINITY : INFINITY;
        integer = integer_end(dtype, least);
    }
    float narrow = (float)number;
    if (dtype == DT_float32)
        memcpy(reduce->identity, &narrow, sizeof narrow);
    else if (dtype == DT_float64)
        memcpy(reduce->identity, &number, sizeof number);
    else /* little end first */
        memcpy(reduce->identity, &integer, ir_dtype_bytes(dtype));
}

/* Extents of a reduction of an array without elements: of extremes NumPy has no result. */
static bool
set_no_extents(IrType type, const bool *reduced, bool scan, bool extreme,
               RtReduce *reduce)
{
    reduce->empty = true;
    reduce->outer = reduce->run = 1;
    reduce->inner = 0;
    for (uint32_t d = 0; d < type.ndim; d++)
        *(reduced[d] && !scan ? &reduce->run : &reduce->outer) *=
            (intptr_t)type.dims[d].value;
    return !reduce->outer || (!extreme && !reduce->along);
}

/* Extents of the reduction; false: it is not done here. */
static bool
set_extents(const Planner *p, IrNode node, bool bare, RtReduce *reduce, Axes *axes)
{
    IrValue value = ir_node_operand(p->g, node, 0);
    IrType type = ir_type(p->g, value);
    const npy_intp *strides = p->trace->values[value].strides;
    bool reduced[NPY_MAXDIMS] = {false};
    IrOp op = ir_node_op(p->g, node);
    find_reduced(p->g, node, type.ndim, reduced);
    for (uint32_t d = 0; d < type.ndim; d++) {
        if (!type.dims[d].value)
            return set_no_extents(type, reduced, ir_op_class(op) == CLASS_scan,
                                  op == OP_max || op == OP_min, reduce);
    }
    order_axes(type, strides, axes);
    bool any = mark_reduced(axes, reduced);
    if (!any && !reduce->along &&
        !axes->end) /* of single elements: columns of one row */
        any = true;
    if (reduce->along && bare) {
        if (!axes->n) /* one element */
            any = true;
        else if (!axes->end) /* the run is of one */
            any = axes->first = axes->end = axes->n;
    } else if (!is_packed(type, strides, axes))
        return false;
    if (!any || !is_in_order(p, node, reduced, axes))
        return false;
    reduce->outer = extent(type, axes, 0, axes->first);
    reduce->run = extent(type, axes, axes->first, axes->end);
    reduce->inner = extent(type, axes, axes->end, axes->n);
    if (reduce->along) {
        reduce->inner = reduce->inner == 1 ? 0 : reduce->inner;
        return reduce->outer > 0 && reduce->run > 0 && reduce->run < INT32_MAX;
    }
    if (reduce->inner == 1) {
        reduce->inner = 0;
        return reduce->outer > 0 &&
               (reduce->run >= RUN_MIN || (reduce->outer == 1 && reduce->run > 0));
    }
    return reduce->inner > 1 && reduce->outer > 0 && reduce->run > 0;
}

/* The chunk as the reduction's producer, the reduction filled in; NULL group: not possible. */
static RtGroup *
producer(Planner *p, const Chunk *c, IrNode node, RtReduce *reduce, IrJoin *join)
{
    IrDtype dtype = ir_type(p->g, ir_node_operand(p->g, node, 0)).dtype;
    Axes axes;
    Fold fold = {.op = OP_add};
    JitLoop loop;
    *reduce = (RtReduce){.itemsize = (uint16_t)ir_dtype_bytes(dtype)};
    bool known =
        jit_plan_is_along(ir_node_op(p->g, node))
            ? jit_plan_along_of(ir_node_op(p->g, node), dtype, reduce, &fold.op)
            : fold_of(ir_node_op(p->g, node), dtype, &fold);
    known &= !ir_node_attr(p->g, node, "initial");
    IrDtype made = reduce->along == RT_ALONG_position ? DT_int64 : dtype;
    if (!known || ir_type(p->g, ir_result(p->g, node, 0)).dtype != made ||
        !set_extents(p, node, !c->nnodes, reduce, &axes))
        return NULL;
    IrNode def = ir_def(p->g, ir_node_operand(p->g, node, 0));
    if (!c->nnodes && !reduce->inner && !(def && jit_plan_is_elementwise(p->g, def)))
        jit_plan_along_end(ir_node_op(p->g, node), dtype, reduce);
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
        .as_it_is = true,
    };
    IrDtype in[2] = {dtype, dtype};
    RtGroup *group = jit_group_new(p->state, &spec);
    JitLoopKey key = {.op = fold.op, .in = in, .n = 2, .out = dtype};
    if (!group || !jit_loop_find(p->state, &key, &loop) ||
        !set_axes(group, reduce, &axes)) {
        rt_group_free(group);
        PyErr_Clear();
        return NULL;
    }
    rt_group_settle(group);
    reduce->group = group;
    reduce->loop = loop.loop;
    reduce->context = loop.context;
    reduce->auxdata = loop.auxdata;
    reduce->pairwise = fold.pairwise && !reduce->inner;
    reduce->wide = reduce->pairwise && p->trace->numerics != NUMERICS_strict &&
                   reduce->run > RT_LEAF;
    if (reduce->wide)
        reduce->loop = kernel_sum(dtype == DT_float32 ? KERNEL_f32 : KERNEL_f64);
    reduce->from_first = fold.from_first && !reduce->inner;
    set_identity(reduce, &fold, dtype);
    rt_reduce_finish(reduce);
    *join = (IrJoin){.rows = reduce->inner != 0,
                     .wide = reduce->wide,
                     .op = reduce->inner ? fold.op : ir_node_op(p->g, node)};
    /* A product of floats is one after the other: nothing for a kernel. */
    reduce->folds = !reduce->along && (join->rows || join->op != OP_prod ||
                                       ir_dtype_kind(dtype) != KIND_float);
    return group;
}

/* The reduction as a step, `c` its producer (nothing, where the value is in memory). */
static bool
reduce_emit(Planner *p, const Chunk *c, IrNode node)
{
    RtReduce reduce;
    IrJoin join = {0};
    RtGroup *group = producer(p, c, node, &reduce, &join);
    if (!group && !c->nnodes && jit_plan_walk(p, node, &reduce))
        group = reduce.group;
    if (!group)
        return false;
    RtReduce *reduces = jit_plan_grown(p, p->rt->reduces, p->rt->nreduces,
                                       &p->reduces_room, sizeof *reduces);
    if (!reduces) {
        rt_group_free(group);
        return false;
    }
    p->rt->reduces = reduces;
    jit_plan_reduce_code(p, c, group, reduce.folds ? &join : NULL, p->rt->nreduces);
    if ((reduce.along || reduce.walks) && !p->failed)
        jit_plan_along_code(ir_node_op(p->g, node), !c->nnodes,
                            &p->plan->reduce_codes[p->rt->nreduces]);
    if (join.rows && !reduce.along && !p->failed &&
        p->plan->reduce_codes[p->rt->nreduces].kernel)
        ir_graph_rename(p->plan->reduce_codes[p->rt->nreduces].kernel,
                        rt_reduce_is_far(&reduce) ? LOWER_FAR : LOWER_JOINED);
    if (p->failed) { /* a reduction that counts has a code */
        rt_group_free(group);
        return false;
    }
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
    jit_plan_step_add(p, reduce.along ? RT_STEP_along : RT_STEP_reduce, number, first);
    p->plan->nops += c->nnodes + 1;
    return true;
}

/* -- Producers --------------------------------------------------------------------- */

bool
jit_plan_is_cheap(IrOp op)
{
    switch (op) {
    case OP_add:
    case OP_subtract:
    case OP_multiply:
    case OP_negative:
    case OP_absolute:
    case OP_square:
    case OP_maximum:
    case OP_minimum:
    case OP_select:
    case OP_cast:
        return true;
    default:
        return ir_op_class(op) == CLASS_compare;
    }
}

static bool
reads(const IrGraph *g, IrNode node, IrValue value)
{
    for (uint32_t k = 0; k < ir_node_noperands(g, node); k++) {
        if (ir_node_operand(g, node, k) == value)
            return true;
    }
    return false;
}

/* The chunk's nodes under `value`, as a chunk with that as its only output. */
static void
take_cone(Planner *p, const Chunk *c, IrValue value, Chunk *cone)
{
    bool wanted[CHUNK_NODES] = {false};
    for (uint32_t i = c->nnodes; i-- > 0;) {
        IrValue result = ir_result(p->g, c->nodes[i], 0);
        wanted[i] = result == value;
        for (uint32_t k = i + 1; k < c->nnodes && !wanted[i]; k++)
            wanted[i] = wanted[k] && reads(p->g, c->nodes[k], result);
    }
    memset(cone, 0, sizeof *cone);
    for (uint32_t i = 0; i < c->nnodes; i++) {
        if (wanted[i])
            cone->nodes[cone->nnodes++] = c->nodes[i];
    }
    jit_plan_chunk_edges(p, cone);
    cone->outputs[0] = value;
    cone->noutputs = 1;
}

/* Drops the nodes that only the cone needs. False: what both need is dear, nothing is done. */
static bool
leave_cone(const Planner *p, Chunk *c, const Chunk *cone, IrValue value)
{
    IrNode kept[CHUNK_NODES];
    uint32_t n = 0;
    for (uint32_t i = c->nnodes; i-- > 0;) {
        IrValue result = ir_result(p->g, c->nodes[i], 0);
        uint32_t readers = result == value, staying = 0;
        bool in_cone = jit_plan_made_in(p, cone, result);
        for (uint32_t k = i + 1; k < c->nnodes; k++) {
            bool stays = jit_plan_has(kept, n, c->nodes[k]);
            for (uint32_t o = 0; o < ir_node_noperands(p->g, c->nodes[k]); o++)
                *(stays ? &staying : &readers) +=
                    ir_node_operand(p->g, c->nodes[k], o) == result;
        }
        if (in_cone &&
            (readers == p->readers[result] || (p->again[c->nodes[i]] && !staying)))
            continue;
        if (in_cone && !jit_plan_is_cheap(ir_node_op(p->g, c->nodes[i])))
            return false;
        kept[n++] = c->nodes[i];
    }
    for (uint32_t i = 0; i < n; i++)
        c->nodes[i] = kept[n - 1 - i];
    c->nnodes = n;
    return true;
}

bool
jit_plan_is_reduction(IrOp op)
{
    return ir_op_class(op) == CLASS_reduce || ir_op_class(op) == CLASS_scan;
}

/* A reduction of what the chunk makes, if no one else reads that: the step takes along what it
** needs of the chunk, which keeps the rest. */
bool
jit_plan_reduce_through(Planner *p, Chunk *c, IrNode node)
{
    IrValue value = ir_node_operand(p->g, node, 0);
    if (!jit_plan_made_in(p, c, value) || p->readers[value] != 1 ||
        ir_type(p->g, value).ndim == 0)
        return false;
    Chunk *both = PyMem_Calloc(2, sizeof *both);
    if (!both)
        return false;
    Chunk *cone = &both[0], *rest = &both[1];
    *rest = *c;
    take_cone(p, c, value, cone);
    bool done = !jit_plan_reads_rolled(p, cone) && leave_cone(p, rest, cone, value) &&
                reduce_emit(p, cone, node);
    if (done)
        *c = *rest;
    PyMem_Free(both);
    return done;
}

/* A reduction of what is in memory. */
bool
jit_plan_reduce_bare(Planner *p, IrNode node)
{
    IrValue value = ir_node_operand(p->g, node, 0);
    Chunk *c = PyMem_Calloc(1, sizeof *c);
    if (!c || ir_type(p->g, value).ndim == 0) {
        PyMem_Free(c);
        return false;
    }
    c->inputs[0] = c->outputs[0] = value;
    c->ninputs = c->noutputs = 1;
    bool done = reduce_emit(p, c, node);
    PyMem_Free(c);
    return done;
}
