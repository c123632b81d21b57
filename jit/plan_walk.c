/* plan_walk.c - reductions of what is in memory, in any layout and of any dtype that NumPy has a loop for: as NumPy
** goes through it (runtime/walk.c). Nothing is compiled for them; those whose elements lie without gaps have
** kernels (plan_reduce.c), if the dtype has.
*/
#include <stdlib.h>
#include <string.h>

#include "jit/planner.h"
#include "kernels/kernels.h"

enum { NUMPY_2_3 = 0x14 }; /* C API version: sums before are cut in chunks of 8192 */

/* What joins elements, and what results begin with; false: no such reduction. */
static bool
begin_with(IrOp reduction, IrDtype dtype, RtReduce *reduce, IrOp *op)
{
    static const struct {
        IrOp reduction, op;
        bool one, from_first;
    } rows[] = {
        {OP_sum, OP_add, false, false},
        {OP_prod, OP_multiply, true, false},
        {OP_max, OP_maximum, false, true},
        {OP_min, OP_minimum, false, true},
        {OP_any, OP_logical_or, false, false},
        {OP_all, OP_logical_and, true, false},
        {OP_bits_and, OP_bitwise_and, false, false},
        {OP_bits_or, OP_bitwise_or, false, false},
        {OP_bits_xor, OP_bitwise_xor, false, false},
    };
    double one64 = 1;
    float one32 = 1;
    uint16_t one16 = 0x3c00;
    uint64_t one = 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].reduction != reduction)
            continue;
        *op = rows[i].op;
        reduce->from_first = rows[i].from_first;
        if (reduction == OP_bits_and)
            memset(reduce->identity, dtype == DT_boolean ? 1 : 0xff,
                   ir_dtype_bytes(dtype));
        if (!rows[i].one)
            return true;
        IrKind kind = ir_dtype_kind(dtype);
        bool part = dtype == DT_complex128 || dtype == DT_float64; /* in front */
        if (kind != KIND_float && kind != KIND_complex) /* little end first */
            memcpy(reduce->identity, &one, ir_dtype_bytes(dtype));
        else if (part)
            memcpy(reduce->identity, &one64, sizeof one64);
        else if (dtype == DT_float16)
            memcpy(reduce->identity, &one16, sizeof one16);
        else
            memcpy(reduce->identity, &one32, sizeof one32);
        return true;
    }
    return false;
}

/* True of types that NumPy's loop takes as they are. */
static bool
is_plain(IrOp reduction, IrDtype dtype)
{
    switch (dtype) {
    case DT_boolean:
        return reduction != OP_sum && reduction != OP_prod;
    case DT_float16:
    case DT_float32:
    case DT_float64:
    case DT_complex64:
    case DT_complex128:
        return reduction != OP_any && reduction != OP_all;
    default:
        return (ir_dtype_kind(dtype) == KIND_int ||
                ir_dtype_kind(dtype) == KIND_uint) &&
               reduction != OP_any && reduction != OP_all;
    }
}

typedef struct Axis {
    intptr_t extent, x,
        out; /* steps in the operand and in the results: none where it is reduced */
} Axis;

/* The axes of more than one element, the longest steps first, those of one line as one. */
static uint32_t
find_axes(const Planner *p, IrNode node, Axis *axes)
{
    IrValue value = ir_node_operand(p->g, node, 0), result = ir_result(p->g, node, 0);
    IrType type = ir_type(p->g, value), kept = ir_type(p->g, result);
    const npy_intp *x = p->trace->values[value].strides,
                   *out = p->trace->values[result].strides;
    const IrAttr *attr = ir_node_attr(p->g, node, "axes");
    bool reduced[NPY_MAXDIMS] = {false};
    uint32_t n = 0, joined = 0, dropped = 0;
    for (uint32_t i = 0; i < (attr ? attr->count : type.ndim); i++)
        reduced[attr ? (uint32_t)attr->ints[i] : i] = true;
    for (uint32_t d = 0; d < type.ndim; d++) {
        Axis axis = {(intptr_t)type.dims[d].value, x[d], 0};
        if (!reduced[d])
            axis.out = out[d - dropped];
        dropped += reduced[d] && kept.ndim != type.ndim;
        if (axis.extent == 1)
            continue;
        uint32_t place = n++;
        for (; place && labs(axes[place - 1].x) < labs(axis.x); place--)
            axes[place] = axes[place - 1];
        axes[place] = axis;
    }
    for (uint32_t i = 0; i < n; i++) {
        Axis *last = joined ? &axes[joined - 1] : NULL;
        if (last && last->x == axes[i].x * axes[i].extent &&
            last->out == axes[i].out * axes[i].extent)
            *last = (Axis){last->extent * axes[i].extent, axes[i].x, axes[i].out};
        else
            axes[joined++] = axes[i];
    }
    return joined;
}

/* The group of the operand and the results; NULL: out of memory. */
static RtGroup *
group_of(const Planner *p, IrNode node, IrDtype dtype)
{
    Axis axes[NPY_MAXDIMS];
    uint32_t n = find_axes(p, node, axes);
    RtGroup *group = rt_group_new(1, 1, 0, 2, 0, n);
    for (uint32_t d = 0; group && d < n; d++) {
        group->shape[d] = axes[d].extent;
        group->strides[d] = axes[d].x;
        group->strides[n + d] = axes[d].out;
    }
    if (group)
        group->itemsize[0] = group->itemsize[1] = (uint16_t)ir_dtype_bytes(dtype);
    return group;
}

/* True where bits depend on which elements a call of the loop gets. */
static bool
has_order(IrOp reduction, IrDtype dtype)
{
    bool floating =
        ir_dtype_kind(dtype) == KIND_float || ir_dtype_kind(dtype) == KIND_complex;
    return floating && (reduction == OP_sum || reduction == OP_prod);
}

/* False where NumPy's iterator goes another way: axes on which elements repeat stay where they are; what is
** reduced on several axes that are no line is copied and then one run; and where runs may be copied, to
** which sums of ours give other bits than to what is strided. */
static bool
is_in_order(const RtReduce *r)
{
    const RtGroup *group = r->group;
    uint32_t n = group->ndim;
    for (uint32_t d = 0; d < n; d++) {
        if (!group->strides[d])
            return false;
    }
    if (n < 2 || group->strides[2 * n - 1])
        return true;
    return group->strides[2 * n - 2] && (!r->wide || group->shape[n - 1] <= RT_LEAF ||
                                         group->strides[n - 1] == r->itemsize);
}

/* True if there are no elements; then how many results there are. */
static bool
has_nothing(const Planner *p, IrNode node, RtReduce *reduce)
{
    IrType type = ir_type(p->g, ir_node_operand(p->g, node, 0)),
           results = ir_type(p->g, ir_result(p->g, node, 0));
    for (uint32_t d = 0; d < type.ndim; d++)
        reduce->empty |= !type.dims[d].value;
    reduce->outer = reduce->empty;
    for (uint32_t d = 0; d < results.ndim; d++)
        reduce->outer *= (intptr_t)results.dims[d].value;
    return reduce->empty;
}

bool
jit_plan_walk(Planner *p, IrNode node, RtReduce *reduce)
{
    IrType type = ir_type(p->g, ir_node_operand(p->g, node, 0));
    IrOp reduction = ir_node_op(p->g, node), op;
    IrDtype in[2] = {type.dtype, type.dtype};
    JitLoop loop;
    *reduce =
        (RtReduce){.walks = true, .itemsize = (uint16_t)ir_dtype_bytes(type.dtype)};
    if (!is_plain(reduction, type.dtype) ||
        !begin_with(reduction, type.dtype, reduce, &op) ||
        ir_type(p->g, ir_result(p->g, node, 0)).dtype != type.dtype ||
        PyArray_GetNDArrayCFeatureVersion() < NUMPY_2_3)
        return false;
    const IrAttr *initial = ir_node_attr(p->g, node, "initial");
    if (initial) {
        memcpy(reduce->identity, initial->ints, ir_dtype_bytes(type.dtype));
        reduce->from_first = false;
    }
    JitLoopKey key = {.op = op, .in = in, .n = 2, .out = type.dtype};
    if (!jit_loop_find(p->state, &key, &loop)) {
        PyErr_Clear();
        return false;
    }
    reduce->loop = loop.loop;
    reduce->context = loop.context;
    reduce->auxdata = loop.auxdata;
    reduce->wide = p->trace->numerics != NUMERICS_strict && reduction == OP_sum &&
                   !initial && (type.dtype == DT_float32 || type.dtype == DT_float64);
    if (reduce->wide)
        reduce->sum = kernel_sum(type.dtype == DT_float32 ? KERNEL_f32 : KERNEL_f64);
    if (has_nothing(p, node, reduce) && reduce->from_first && reduce->outer)
        return false; /* NumPy has no result */
    reduce->group = group_of(p, node, type.dtype);
    if (reduce->group && !reduce->empty && has_order(reduction, type.dtype) &&
        !is_in_order(reduce)) {
        rt_group_free(reduce->group);
        return false;
    }
    return reduce->group != NULL;
}
