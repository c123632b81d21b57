/* known.c - groups of a trace that need no tier 0: their kernels are there already, of an
** earlier trace with other shapes or of an earlier process.
**
** A look-up takes 0.03 ms in memory and 0.07 ms on disk, on the path of a first call: it is
** made only for groups that take tier 0 a multiple of that.
*/
#include <stdlib.h>
#include <string.h>

#include "jit/compile.h"
#include "jit/planner.h"

enum { WORK_MIN = 1 << 19 /* operations on elements */ };

/* The chunk that a plan would make of the same nodes. False: it would be cut. */
static bool
chunk_of(const JitGroupSpec *spec, Chunk *c)
{
    *c = (Chunk){
        .nnodes = spec->nnodes, .ninputs = spec->ninputs, .noutputs = spec->noutputs};
    if (c->nnodes > CHUNK_NODES || c->ninputs + c->noutputs > RT_OPERANDS_MAX)
        return false;
    memcpy(c->nodes, spec->nodes, c->nnodes * sizeof *c->nodes);
    memcpy(c->inputs, spec->inputs, c->ninputs * sizeof *c->inputs);
    memcpy(c->outputs, spec->outputs, c->noutputs * sizeof *c->outputs);
    for (uint32_t i = 0; i < c->nnodes; i++) {
        for (uint32_t k = 0; k < ir_node_noperands(spec->graph, c->nodes[i]); k++) {
            IrValue value = ir_node_operand(spec->graph, c->nodes[i], k);
            if (!jit_plan_is_const_node(spec->graph, value) ||
                jit_plan_has(c->constants, c->nconstants, value))
                continue;
            if (c->nconstants == CHUNK_CONSTANTS)
                return false;
            c->constants[c->nconstants++] = value;
        }
    }
    return true;
}

/* The kernel as the group's code; takes the reference. */
static void
give(RtGroup *group, RtKernel *kernel)
{
    RtKernelFn entry = kernel ? rt_kernel_entry(kernel) : NULL;
    group->code = entry ? rt_code_new() : NULL;
    if (!group->code) {
        rt_kernel_drop(kernel);
        return;
    }
    group->code->kernel = kernel;
    atomic_store(&group->code->entry, entry);
    atomic_store(&group->code->state, RT_CODE_ready);
}

void
jit_group_know(JitState *state, const JitDisk *disk, const JitGroupSpec *spec,
               RtGroup *group)
{
    JitGroupCode code = {0};
    Chunk chunk;
    if (group->size < WORK_MIN / (intptr_t)(spec->nnodes + 1) ||
        !chunk_of(spec, &chunk))
        return;
    if (!jit_group_code(spec->graph, spec->numerics, &chunk, group, NULL, &code) ||
        !code.kernel)
        return;
    JitJob job = {.compiler = state->compiler,
                  .kernel = code.kernel,
                  .patterns = code.patterns,
                  .nparams = code.nparams,
                  .disk = disk->disk};
    give(group, jit_kernel_known(&job));
    ir_graph_free(code.kernel);
    free(code.patterns);
}
