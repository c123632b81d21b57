/* plan_again.c - values that are made again where they are read, instead of being kept.
**
**     c = x - m;  s = sum(c * c);  y = c / s        c is kept: written once, read once
**                                                   c is made again: x is read instead of it
**
** A cheap value of one array of its size, and of smaller ones, costs who reads it in another chunk
** no more to make than to read. Laws:
**   1. Nothing that the value is made of is written: neither by the plan nor by what it calls.
**   2. All who read it are elementwise, in its own iteration space. They take it into their chunks,
**      its own chunk does not.
*/
#include <string.h>

#include "jit/planner.h"

enum {
    AGAIN_MAX = 8,
    AGAIN_OPERANDS = 2
}; /* a chunk's operands stay below RT_OPERANDS_MAX */

/* True if memory may not be what it was behind the node. */
static bool
disturbs(IrOp op)
{
    return op == OP_update || op == OP_call || op == OP_call_update ||
           op == OP_effect || op == OP_for;
}

static bool
is_undisturbed(const Planner *p)
{
    for (IrNode node = 1; node < ir_nnodes(p->g); node++) {
        if (p->live[node] && disturbs(ir_node_op(p->g, node)))
            return false;
    }
    return true;
}

static int64_t
elements(const Planner *p, IrValue value)
{
    IrType type = ir_type(p->g, value);
    int64_t n = 1;
    for (uint32_t d = 0; d < type.ndim; d++)
        n *= type.dims[d].value;
    return n;
}

static bool
same_shape(const Planner *p, IrValue a, IrValue b)
{
    IrType x = ir_type(p->g, a), y = ir_type(p->g, b);
    bool same = x.ndim == y.ndim;
    for (uint32_t d = 0; same && d < x.ndim; d++)
        same = x.dims[d].value == y.dims[d].value;
    return same;
}

/* True if two values of as many elements lie alike. */
static bool
lie_alike(const Planner *p, IrValue a, IrValue b)
{
    IrType x = ir_type(p->g, a), y = ir_type(p->g, b);
    const npy_intp *s = p->trace->values[a].strides, *t = p->trace->values[b].strides;
    npy_intp size = (npy_intp)ir_dtype_bytes(x.dtype),
             other = (npy_intp)ir_dtype_bytes(y.dtype);
    bool alike = same_shape(p, a, b) && s && t && size <= other;
    for (uint32_t d = 0; alike && d < x.ndim; d++)
        alike = x.dims[d].value == 1 || s[d] * other == t[d] * size;
    return alike;
}

/* Values that are read in another iteration space than their own do not cross. */
static void
drop_spread(const Planner *p, bool *crosses)
{
    for (IrNode node = 1; node < ir_nnodes(p->g); node++) {
        if (!p->live[node] || !jit_plan_is_elementwise(p->g, node))
            continue;
        for (uint32_t k = 0; k < ir_node_noperands(p->g, node); k++) {
            IrValue operand = ir_node_operand(p->g, node, k);
            if (!same_shape(p, operand, ir_result(p->g, node, 0)))
                crosses[operand] = false;
        }
    }
}

/* True if the node's value may as well be made again; `crosses`: values read in other chunks. */
static bool
may_be_again(const Planner *p, IrNode node, const bool *crosses)
{
    IrValue value = ir_result(p->g, node, 0);
    uint32_t large = 0, n = ir_node_noperands(p->g, node);
    int64_t size = elements(p, value);
    if (!p->live[node] || ir_node_home(p->g, node) != p->region ||
        !jit_plan_is_elementwise(p->g, node) || !crosses[value] || p->kept[value] ||
        !jit_plan_is_cheap(ir_node_op(p->g, node)) || n > AGAIN_OPERANDS)
        return false;
    for (uint32_t k = 0; k < n; k++) {
        IrValue operand = ir_node_operand(p->g, node, k);
        IrNode def = ir_def(p->g, operand);
        if (def && p->again[def])
            return false;
        if (elements(p, operand) < size)
            continue;
        bool there =
            !jit_plan_is_elementwise(p->g, def) || crosses[operand] || p->kept[operand];
        if (large++ || !there || !lie_alike(p, operand, value))
            return false;
    }
    return size > 1 && large == 1;
}

/* Python's floats are doubles in memory: as NumPy's, for who computes with them, they are read where they are. */
void
jit_plan_find_same(Planner *p)
{
    for (IrNode node = 1; node < ir_nnodes(p->g); node++) {
        IrValue value =
                    ir_node_op(p->g, node) == OP_cast ? ir_result(p->g, node, 0) : 0,
                operand = value ? ir_node_operand(p->g, node, 0) : 0;
        p->same[node] = operand && p->live[node] && !p->kept[value] &&
                        ir_node_home(p->g, node) == p->region &&
                        !ir_def(p->g, operand) &&
                        ir_type(p->g, operand).dtype == DT_pyfloat &&
                        ir_type(p->g, value).dtype == DT_float64;
    }
}

void
jit_plan_find_again(Planner *p)
{
    bool *crosses = PyMem_Calloc(ir_nvalues(p->g) + 1, sizeof *crosses);
    uint32_t n = 0;
    if (!crosses) {
        p->failed = true;
        return;
    }
    if (is_undisturbed(p)) {
        jit_plan_find_kept(p, crosses);
        drop_spread(p, crosses);
        for (IrNode node = 1; node < ir_nnodes(p->g) && n < AGAIN_MAX; node++) {
            p->again[node] = may_be_again(p, node, crosses);
            n += p->again[node];
        }
    }
    PyMem_Free(crosses);
}

/* The node becomes the chunk's last one, behind what it needs to be made again. */
void
jit_plan_chunk_add(Planner *p, Chunk *c, IrNode node)
{
    for (uint32_t k = 0; k < ir_node_noperands(p->g, node); k++) {
        IrValue operand = ir_node_operand(p->g, node, k);
        IrNode def = ir_def(p->g, operand);
        if (def && p->again[def] && !jit_plan_made_in(p, c, operand))
            c->nodes[c->nnodes++] = def;
    }
    c->nodes[c->nnodes++] = node;
}
