/* group.c - elementwise nodes of one iteration space as a group of inner loops.
**
** Registers are handed out by last use, so that a chain runs in few scratch blocks. An
** op may
** write the scratch register of its own input: the loops go forward, element by
** element.
*/
#include <stdlib.h>
#include <string.h>

#include "jit/planner.h"
#include "kernels/kernels.h"

enum { NO_REG = 0xffff };

typedef struct Builder {
    JitState *state;
    const JitGroupSpec *spec;
    IrValue constants[RT_CONSTANTS_MAX];
    uint32_t nconstants;
    uint16_t reg[RT_REGS_MAX];  /* of node i's result */
    uint16_t size[RT_REGS_MAX]; /* item size of a register */
    bool busy[RT_REGS_MAX];     /* scratch registers in use */
    uint32_t nregs;
    bool alone;                 /* one of the loops is */
    uint32_t last[RT_REGS_MAX]; /* last node that reads node i's result */
} Builder;

static int
index_in(const IrValue *list, uint32_t n, IrValue value)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == value)
            return (int)i;
    }
    return -1;
}

static int
node_of(const Builder *b, IrValue value)
{
    IrNode node = ir_def(b->spec->graph, value);
    for (uint32_t i = 0; node && i < b->spec->nnodes; i++) {
        if (b->spec->nodes[i] == node)
            return (int)i;
    }
    return -1;
}

static IrValue
result_of(const Builder *b, uint32_t i)
{
    return ir_result(b->spec->graph, b->spec->nodes[i], 0);
}

static uint16_t
item_size(const IrGraph *g, IrValue value)
{
    return (uint16_t)ir_dtype_bytes(ir_type(g, value).dtype);
}

/* Constants among the operands, and who reads a result last. */
static bool
scan(Builder *b)
{
    const IrGraph *g = b->spec->graph;
    for (uint32_t i = 0; i < b->spec->nnodes; i++) {
        b->last[i] = i;
        for (uint32_t k = 0; k < ir_node_noperands(g, b->spec->nodes[i]); k++) {
            IrValue operand = ir_node_operand(g, b->spec->nodes[i], k);
            int producer = node_of(b, operand);
            if (producer >= 0)
                b->last[producer] = i;
            else if (index_in(b->spec->inputs, b->spec->ninputs, operand) < 0 &&
                     index_in(b->constants, b->nconstants, operand) < 0) {
                if (b->nconstants == RT_CONSTANTS_MAX)
                    return false;
                b->constants[b->nconstants++] = operand;
            }
        }
    }
    return true;
}

static uint16_t
operand_reg(const Builder *b, IrValue value)
{
    int i = node_of(b, value);
    if (i >= 0)
        return b->reg[i];
    i = index_in(b->spec->inputs, b->spec->ninputs, value);
    if (i >= 0)
        return (uint16_t)i;
    uint32_t noperands = b->spec->ninputs + b->spec->noutputs;
    return (uint16_t)(noperands +
                      (uint32_t)index_in(b->constants, b->nconstants, value));
}

static uint16_t
scratch_take(Builder *b, uint16_t size)
{
    for (uint32_t r = b->spec->ninputs + b->spec->noutputs + b->nconstants;
         r < b->nregs; r++) {
        if (!b->busy[r] && b->size[r] == size) {
            b->busy[r] = true;
            return (uint16_t)r;
        }
    }
    if (b->nregs == RT_REGS_MAX)
        return NO_REG;
    b->size[b->nregs] = size;
    b->busy[b->nregs] = true;
    return (uint16_t)b->nregs++;
}

/* These loops of NumPy write wrong results at strides other than their item size. */
static bool
needs_contiguous(IrOp op)
{
    return op == OP_isnan || op == OP_isinf || op == OP_isfinite || op == OP_signbit;
}

static bool
op_fill(Builder *b, RtOp *op, const JitLoopKey *key)
{
    JitLoop loop;
    if (!jit_loop_find(b->state, key, &loop))
        return false;
    op->loop = loop.loop;
    op->context = loop.context;
    op->auxdata = loop.auxdata;
    op->noperands = (uint8_t)(key->n + 1);
    b->alone |= loop.alone;
    return true;
}

/* Ops and registers for every node. */
static bool
emit(Builder *b, RtOp *ops, uint32_t *nops)
{
    const JitGroupSpec *spec = b->spec;
    const IrGraph *g = spec->graph;
    for (uint32_t i = 0; i < spec->nnodes; i++) {
        IrNode node = spec->nodes[i];
        IrValue result = result_of(b, i);
        IrDtype in[4], out = ir_type(g, result).dtype;
        uint32_t n = ir_node_noperands(g, node);
        RtOp *op = &ops[(*nops)++];
        for (uint32_t k = 0; k < n; k++) {
            IrValue operand = ir_node_operand(g, node, k);
            in[k] = ir_type(g, operand).dtype;
            op->reg[k] = operand_reg(b, operand);
        }
        JitLoopKey key = {.op = ir_node_op(g, node),
                          .numerics = spec->numerics,
                          .in = in,
                          .n = n,
                          .out = out,
                          .scalar =
                              n && !ir_type(g, ir_node_operand(g, node, n - 1)).ndim};
        if (!op_fill(b, op, &key))
            return false;
        for (uint32_t k = 0; k < n; k++) {
            int producer = node_of(b, ir_node_operand(g, node, k));
            if (producer >= 0 && b->last[producer] == i && b->busy[b->reg[producer]])
                b->busy[b->reg[producer]] = false;
        }
        int output = index_in(spec->outputs, spec->noutputs, result);
        bool copied = output >= 0 && needs_contiguous(ir_node_op(g, node));
        uint16_t reg = output >= 0 && !copied
                           ? (uint16_t)(spec->ninputs + (uint32_t)output)
                           : scratch_take(b, item_size(g, result));
        if (reg == NO_REG) {
            PyErr_SetString(PyExc_RuntimeError, "a group needs too many registers");
            return false;
        }
        b->reg[i] = reg;
        op->reg[n] = reg;
        if (copied) {
            RtOp *copy = &ops[(*nops)++];
            JitLoopKey same = {.op = OP_copy, .in = &out, .n = 1, .out = out};
            if (!op_fill(b, copy, &same))
                return false;
            copy->reg[0] = reg;
            copy->reg[1] = (uint16_t)(spec->ninputs + (uint32_t)output);
            if (b->last[i] == i)
                b->busy[reg] = false;
        }
    }
    return true;
}

/* Strides of an operand broadcast to the group's shape. */
static void
operand_strides(const JitGroupSpec *spec, IrValue value, const npy_intp *own,
                uint32_t ndim, intptr_t *out)
{
    IrType type = ir_type(spec->graph, value);
    uint32_t skip = ndim - type.ndim;
    if (!own)
        own = spec->values[value].strides;
    for (uint32_t d = 0; d < ndim; d++)
        out[d] =
            d < skip || type.dims[d - skip].value == 1 ? 0 : (intptr_t)own[d - skip];
}

static void
fill_operands(RtGroup *group, const JitGroupSpec *spec)
{
    const char *form =
        kernel_recipe_form(); /* that row has TAIL_mask: lower/targets.def */
    bool masks = form && strcmp(form, "x86_64_v4") == 0;
    for (uint32_t k = 0; k < group->noperands; k++) {
        bool output = k >= spec->ninputs;
        IrValue value = output ? spec->outputs[k - spec->ninputs] : spec->inputs[k];
        const npy_intp *own = output && spec->output_strides
                                  ? spec->output_strides[k - spec->ninputs]
                                  : NULL;
        intptr_t *strides = group->strides + k * group->ndim;
        for (uint32_t d = 0; spec->shape && d < group->ndim; d++)
            strides[d] = (intptr_t)spec->strides[k * group->ndim + d];
        if (!spec->shape)
            operand_strides(spec, value, own, group->ndim, strides);
        group->itemsize[k] = item_size(spec->graph, value);
        if (ir_type(spec->graph, value).ndim)
            group->vectors |= (uint64_t)1 << k;
        IrDtype dtype = ir_type(spec->graph, value).dtype;
        bool number = ir_dtype_kind(dtype) == KIND_float ||
                      ir_dtype_kind(dtype) == KIND_int ||
                      ir_dtype_kind(dtype) == KIND_uint;
        bool steps =
            masks && number && group->itemsize[k] >= 4 && group->itemsize[k] <= 8;
        if (steps && !output)
            group->stepped |= (uint64_t)1 << k;
        if (steps && !spec->as_it_is)
            group->told |= (uint64_t)1 << k;
    }
}

RtGroup *
jit_group_new(JitState *state, const JitGroupSpec *spec)
{
    Builder b = {.state = state, .spec = spec};
    RtOp *ops = NULL;
    RtGroup *group = NULL;
    uint32_t nops = 0;
    if (spec->nnodes > RT_REGS_MAX ||
        spec->ninputs + spec->noutputs > RT_OPERANDS_MAX || !scan(&b)) {
        PyErr_SetString(PyExc_RuntimeError, "a group is too large");
        return NULL;
    }
    ops = PyMem_Calloc(2 * spec->nnodes + 1, sizeof *ops);
    if (!ops) {
        PyErr_NoMemory();
        return NULL;
    }
    b.nregs = spec->ninputs + spec->noutputs + b.nconstants;
    if (!emit(&b, ops, &nops))
        goto done;
    IrType space =
        ir_type(spec->graph, spec->nnodes ? result_of(&b, 0) : spec->outputs[0]);
    uint32_t ndim = spec->shape ? spec->ndim : space.ndim;
    group = rt_group_new(spec->ninputs, spec->noutputs, b.nconstants, b.nregs, nops,
                         ndim + (spec->as_it_is ? JIT_AXES_MORE : 0));
    if (!group) {
        PyErr_NoMemory();
        goto done;
    }
    group->ndim = ndim;
    group->alone = b.alone;
    memcpy(group->ops, ops, nops * sizeof *ops);
    for (uint32_t d = 0; d < ndim; d++)
        group->shape[d] =
            spec->shape ? (intptr_t)spec->shape[d] : (intptr_t)space.dims[d].value;
    fill_operands(group, spec);
    for (uint32_t i = 0; i < b.nconstants; i++) {
        group->constants[i] = PyArray_BYTES(spec->values[b.constants[i]].array);
        group->itemsize[group->noperands + i] = item_size(spec->graph, b.constants[i]);
    }
    for (uint32_t r = group->noperands + b.nconstants; r < b.nregs; r++)
        group->itemsize[r] = b.size[r];
    for (uint32_t i = 0; i < spec->nnodes; i++) {
        IrOp op = ir_node_op(spec->graph, spec->nodes[i]);
        group->keep_order |= op == OP_clip || op == OP_power;
    }
    if (!spec->as_it_is)
        rt_group_finish(group);
done:
    PyMem_Free(ops);
    return group;
}

/* The operands of a trace's group that a plan's would have: constants are a part of its kernel. */
static uint32_t
inputs_of(const Trace *trace, const TraceGroup *work, IrValue *inputs, char **data)
{
    uint32_t n = 0, constants = 0;
    for (uint32_t i = 0; i < work->ninputs; i++) {
        if (constants < CHUNK_CONSTANTS &&
            jit_plan_is_const_node(trace->graph, work->inputs[i])) {
            constants++;
            continue;
        }
        inputs[n] = work->inputs[i];
        data[n++] = PyArray_BYTES(work->in[i]);
    }
    return n;
}

int
jit_trace_run(void *context, const Trace *trace, const TraceGroup *work)
{
    JitState *state = context;
    IrValue inputs[RT_OPERANDS_MAX];
    char *data[RT_OPERANDS_MAX];
    uint32_t ninputs = inputs_of(trace, work, inputs, data);
    JitGroupSpec spec = {
        .numerics = trace->numerics,
        .graph = trace->graph,
        .values = trace->values,
        .nodes = work->nodes,
        .nnodes = work->nnodes,
        .inputs = inputs,
        .ninputs = ninputs,
        .outputs = work->outputs,
        .noutputs = work->noutputs,
        .kernels = trace->kernels,
        .threads = trace->threads,
    };
    for (uint32_t i = 0; i < work->noutputs; i++)
        data[ninputs + i] = PyArray_BYTES(work->out[i]);
    return jit_group_run_once(state, &spec, data);
}

int
jit_group_run_once(JitState *state, const JitGroupSpec *spec, char *const *data)
{
    char *scratch = NULL;
    int status = -1;
    RtGroup *group = jit_group_new(state, spec);
    if (!group)
        return -1;
    if (spec->kernels)
        jit_group_know(state, spec->kernels, spec, group);
    if (group->scratch_bytes) {
        scratch = rt_buffer_take(state->pool, group->scratch_bytes);
        if (!scratch) {
            PyErr_NoMemory();
            goto done;
        }
    }
    RtTeam team = jit_team(state, spec->threads);
    status = rt_group_run_team(group, data, scratch, &team) == 0 ? 0 : -1;
    if (status == 0 && PyErr_Occurred())
        status = -1;
done:
    rt_buffer_give(state->pool, scratch);
    rt_group_free(group);
    return status;
}
