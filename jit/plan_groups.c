/* plan_groups.c - elementwise nodes to groups: chunks, their edges, their kernels. */
#include <stdlib.h>
#include <string.h>

#include "jit/planner.h"

/* -- Groups ------------------------------------------------------------------------ */

bool
jit_plan_has(const IrValue *list, uint32_t n, IrValue value)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == value)
            return true;
    }
    return false;
}

bool
jit_plan_is_const_node(const IrGraph *g, IrValue value)
{
    IrNode node = ir_def(g, value);
    return node && ir_node_op(g, node) == OP_const;
}

bool
jit_plan_made_in(const Planner *p, const Chunk *c, IrValue value)
{
    IrNode node = ir_def(p->g, value);
    for (uint32_t i = 0; node && i < c->nnodes; i++) {
        if (c->nodes[i] == node)
            return true;
    }
    return false;
}

/* Inputs and outputs of the chunk's nodes. */
void
jit_plan_chunk_edges(const Planner *p, Chunk *c)
{
    c->ninputs = c->noutputs = c->nconstants = 0;
    for (uint32_t i = 0; i < c->nnodes; i++) {
        for (uint32_t k = 0; k < ir_node_noperands(p->g, c->nodes[i]); k++) {
            IrValue value = ir_node_operand(p->g, c->nodes[i], k);
            if (jit_plan_made_in(p, c, value))
                continue;
            if (jit_plan_is_const_node(p->g, value)) {
                if (!jit_plan_has(c->constants, c->nconstants, value))
                    c->constants[c->nconstants++] = value;
            } else if (!jit_plan_has(c->inputs, c->ninputs, value))
                c->inputs[c->ninputs++] = value;
        }
        IrValue result = ir_result(p->g, c->nodes[i], 0);
        if (p->kept[result])
            c->outputs[c->noutputs++] = result;
    }
}

static bool
runs_backwards(const RtGroup *group, uint32_t operand)
{
    bool backwards = false;
    for (uint32_t d = 0; d < group->ndim; d++)
        backwards |= group->strides[operand * group->ndim + d] < 0;
    return backwards;
}

/* True if NumPy's loops take another path for a complex operand: one that they read backwards, or write with
** gaps. */
static bool
depends_on_strides(const IrGraph *g, const Chunk *c, const RtGroup *group)
{
    bool strided = false;
    for (uint32_t k = 0; k < group->noperands; k++) {
        IrValue value = k < c->ninputs ? c->inputs[k] : c->outputs[k - c->ninputs];
        strided |= (group->nest.packed >> k & 1) &&
                   (k >= c->ninputs || runs_backwards(group, k)) &&
                   ir_dtype_kind(ir_type(g, value).dtype) == KIND_complex;
    }
    for (uint32_t i = 0; strided && i < c->nnodes; i++) {
        IrOp op = ir_node_op(g, c->nodes[i]);
        if (op == OP_multiply || op == OP_square || op == OP_absolute)
            return true;
    }
    return false;
}

/* Elementary functions, of floats, that have to be NumPy's own; kernels call those of complex numbers. */
static bool
needs_numpy(const IrGraph *g, TraceNumerics numerics, const Chunk *c)
{
    for (uint32_t i = 0; numerics == NUMERICS_strict && i < c->nnodes; i++) {
        IrKind kind = ir_dtype_kind(ir_type(g, ir_result(g, c->nodes[i], 0)).dtype);
        if (ir_op_flags(ir_node_op(g, c->nodes[i])) & OPF_elementary &&
            kind == KIND_float)
            return true;
    }
    return false;
}

/* Takes NumPy's loop longer than packing does. */
static bool
is_dear(IrOp op)
{
    return ir_op_flags(op) & OPF_elementary || op == OP_floor_divide ||
           op == OP_remainder || op == OP_fmod || op == OP_gcd || op == OP_lcm;
}

/* With so little to do, packing several operands that are strided along their runs takes longer than NumPy's
** loop, unless there are so few elements that its call is what counts. */
static bool
mostly_packs(const IrGraph *g, const Chunk *c, const RtGroup *group)
{
    enum {
        FEW = 2048
    }; /* elements; measured with bytes, 0.5 ns each, NumPy's loop 0.3 */
    const RtNest *nest = &group->nest;
    uint32_t n = 0;
    if (group->size <= FEW &&
        !(c->nnodes == 1 && ir_node_op(g, c->nodes[0]) == OP_positive))
        return false;
    for (uint32_t i = 0; i < c->nnodes; i++) {
        if (is_dear(ir_node_op(g, c->nodes[i])))
            return false;
    }
    for (uint32_t k = 0; c->nnodes > 0 && c->nnodes <= 2 && k < c->ninputs; k++) {
        const intptr_t *strides = group->strides + k * group->ndim;
        intptr_t step = nest->inner < group->ndim ? strides[nest->inner] : 0;
        intptr_t row = nest->rows < group->ndim ? strides[nest->rows] : 0;
        n += nest->packed >> k & 1 && !nest->flat && step &&
             step != -group->itemsize[k] && (!row || labs(row) > labs(step));
    }
    bool copies = c->nnodes == 1 && ir_node_op(g, c->nodes[0]) == OP_positive;
    return n > !copies;
}

/* The ops of a group that gets no kernel. */
static void
name_ops(const IrGraph *g, const Chunk *c, JitGroupCode *code)
{
    for (uint32_t i = 0; i < c->nnodes && i < JIT_NAMED; i++)
        code->named[i] = (uint16_t)(1 + ir_node_op(g, c->nodes[i]));
}

bool
jit_group_code(const IrGraph *g, TraceNumerics numerics, const Chunk *c,
               const RtGroup *group, const IrJoin *join, JitGroupCode *code)
{
    *code =
        (JitGroupCode){.nparams = c->ninputs + (join && join->rows), .nops = c->nnodes};
    IrNode nodes[CHUNK_NODES + RT_CONSTANTS_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->nconstants; i++)
        nodes[n++] = ir_def(g, c->constants[i]);
    for (uint32_t i = 0; i < c->nnodes; i++)
        nodes[n++] = c->nodes[i];
    IrItem item = {.group = true,
                   .nnodes = n,
                   .ninputs = c->ninputs,
                   .noutputs = c->noutputs,
                   .nodes = nodes,
                   .inputs = c->inputs,
                   .outputs = c->outputs};
    LowerPattern *patterns = calloc(c->ninputs + 2, sizeof *patterns);
    if (!patterns)
        return false;
    for (uint32_t k = 0; k < c->ninputs; k++)
        patterns[k] = group->nest.scalar >> k & 1    ? PATTERN_scalar
                      : group->nest.strided >> k & 1 ? PATTERN_stride
                      : group->nest.every[k] < 0     ? PATTERN_back
                      : group->nest.every[k] > 0
                          ? PATTERN_second + (LowerPattern)(group->nest.every[k] - 2)
                          : PATTERN_contiguous;
    if (depends_on_strides(g, c, group))
        code->reason = "complex products of strided operands";
    if (!join && mostly_packs(g, c, group))
        code->reason = c->nnodes == 1 && ir_node_op(g, c->nodes[0]) == OP_positive
                           ? "a copy"
                           : "NumPy's loop for strided operands is faster";
    if (!group->ndim && c->nnodes == 1 && ir_node_op(g, c->nodes[0]) == OP_cast)
        code->reason = "a copy";
    if (needs_numpy(g, numerics, c))
        code->reason = "numerics is strict: elementary functions are NumPy's own";
    if (code->reason) {
        name_ops(g, c, code);
        free(patterns);
        return true;
    }
    code->patterns = patterns;
    code->kernel = join ? ir_join_extract(g, &item, *join) : ir_group_extract(g, &item);
    if (code->kernel && group->nest.strided >> c->ninputs)
        ir_graph_rename(code->kernel, LOWER_SCATTERED);
    return true;
}

static void
code_fill(Planner *p, const Chunk *c, const RtGroup *group, const IrJoin *join,
          JitGroupCode *code)
{
    p->failed |= !jit_group_code(p->g, p->trace->numerics, c, group, join, code);
}

static void
code_add(Planner *p, const Chunk *c, const RtGroup *group)
{
    JitGroupCode *codes = realloc(p->plan->codes, (p->rt->ngroups + 1) * sizeof *codes);
    if (!codes) {
        p->failed = true;
        return;
    }
    p->plan->codes = codes;
    code_fill(p, c, group, NULL, &codes[p->rt->ngroups]);
}

void
jit_plan_reduce_code(Planner *p, const Chunk *c, RtGroup *group, const IrJoin *join,
                     uint32_t number)
{
    JitGroupCode *codes = realloc(p->plan->reduce_codes, (number + 1) * sizeof *codes);
    if (!codes) {
        p->failed = true;
        return;
    }
    p->plan->reduce_codes = codes;
    code_fill(p, c, group, join, &codes[number]);
}

void
jit_plan_operand_add(Planner *p, uint32_t slot)
{
    uint32_t *table = jit_plan_grown(p, p->rt->operands, p->rt->noperands,
                                     &p->operands_room, sizeof *table);
    if (!table)
        return;
    p->rt->operands = table;
    table[p->rt->noperands++] = slot;
}

void
jit_plan_group_add(Planner *p, const Chunk *c, const JitGroupSpec *spec,
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
    RtGroup **groups = jit_plan_grown(p, p->rt->groups, p->rt->ngroups, &p->groups_room,
                                      sizeof *groups);
    if (!groups || p->failed) {
        rt_group_free(group);
        p->failed = true;
        return;
    }
    p->rt->groups = groups;
    uint32_t first = p->rt->noperands;
    for (uint32_t k = 0; k < group->noperands; k++) {
        jit_plan_operand_add(p, operands[k]);
        jit_plan_touch(p, operands[k]);
    }
    if (group->scratch_bytes > p->rt->scratch_bytes)
        p->rt->scratch_bytes = group->scratch_bytes;
    groups[p->rt->ngroups] = group;
    jit_plan_step_add(p, RT_STEP_group, p->rt->ngroups++, first);
}

JitGroupSpec
jit_plan_chunk_spec(const Planner *p, const Chunk *c)
{
    return (JitGroupSpec){
        .numerics = p->trace->numerics,
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
}

/* Slots of the outputs, with memory. */
void
jit_plan_chunk_outputs(Planner *p, Chunk *c, uint32_t *slots)
{
    for (uint32_t i = 0; i < c->noutputs; i++) {
        if (!c->strides[i]) {
            c->slots[i] = jit_plan_slot_of(p, c->outputs[i]);
            jit_plan_make_room(p, c->slots[i]);
        }
        slots[i] = c->slots[i];
    }
}

void
jit_plan_chunk_emit(Planner *p, Chunk *c)
{
    uint32_t operands[RT_OPERANDS_MAX];
    if (!c->nnodes || p->failed)
        return;
    jit_plan_chunk_edges(p, c);
    if (!c->noutputs) /* reductions have taken it along */
        return;
    if (jit_plan_reads_rolled(p, c) && jit_plan_rolled_emit(p, c))
        return;
    for (uint32_t i = 0; i < c->ninputs; i++)
        operands[i] = jit_plan_slot_of(p, c->inputs[i]);
    jit_plan_chunk_outputs(p, c, operands + c->ninputs);
    JitGroupSpec spec = jit_plan_chunk_spec(p, c);
    if (!p->failed)
        jit_plan_group_add(p, c, &spec, operands);
    p->plan->nops += c->nnodes;
}
