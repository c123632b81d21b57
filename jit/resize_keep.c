/* resize_keep.c - which plans keep their record, for other extents: resize.c. */
#include <stdlib.h>
#include <string.h>

#include "jit/resize.h"

/* -- What can be resized ----------------------------------------------------------- */

static bool
is_reduction(IrOp op)
{
    return op == OP_sum || op == OP_prod || op == OP_min || op == OP_max ||
           op == OP_any || op == OP_all || op == OP_argmin || op == OP_argmax ||
           op == OP_cumsum || op == OP_cumprod || op == OP_cummax || op == OP_cummin ||
           op == OP_bits_and || op == OP_bits_or || op == OP_bits_xor;
}

bool
jit_in_c_order(const npy_intp *shape, const npy_intp *strides, int ndim,
               npy_intp itemsize)
{
    for (int d = ndim - 1; d >= 0; d--) {
        if (shape[d] == 0)
            return false;
        if (shape[d] != 1 && strides[d] != itemsize)
            return false;
        itemsize *= shape[d];
    }
    return true;
}

static bool
value_in_c_order(const Trace *trace, const IrGraph *g, IrValue value)
{
    const TraceValue *v = &trace->values[value];
    IrType type = ir_type(g, value);
    npy_intp shape[NPY_MAXDIMS];
    if (!type.ndim)
        return true;
    if (!v->strides || !v->descr)
        return false;
    for (uint32_t d = 0; d < type.ndim; d++)
        shape[d] = (npy_intp)type.dims[d].value;
    return jit_in_c_order(shape, v->strides, (int)type.ndim,
                          PyDataType_ELSIZE(v->descr));
}

/* A window on an array in C order, or what an update writes: it is known how it comes about. */
static bool
has_path(const Trace *trace, const IrGraph *g, IrNode node)
{
    PyObject *path = trace->values[ir_result(g, node, 0)].path;
    bool view = ir_node_op(g, node) == OP_view;
    return path && path != Py_None && ir_node_noperands(g, node) == (view ? 1 : 2) &&
           ir_node_nattrs(g, node) == 3 &&
           value_in_c_order(trace, g, ir_node_operand(g, node, 0));
}

/* A call that gives the same for all extents. */
static bool
is_of_constants(const JitPlan *plan, const Trace *trace, const TraceSite *site,
                IrNode node)
{
    return !ir_node_noperands(plan->graph, node) && site->kind == SITE_call &&
           !site->differs && !trace_holds_sizes(trace->state, site->args) &&
           !trace_holds_sizes(trace->state, site->kwargs);
}

/* A call whose arrays the plan looks at, ahead of all that is written. */
static bool
call_resizes(const JitPlan *plan, const Trace *trace, IrNode node)
{
    for (uint32_t i = 0; i < trace->nsites; i++) {
        const TraceSite *site = &trace->sites[i];
        if (site->node == node && is_of_constants(plan, trace, site, node))
            return true;
        if (site->node == node)
            return !site->epoch && !trace->wrote && plan->sites[i].callable &&
                   trace_is_of_any_size(trace->state, site->callable);
    }
    return false;
}

static bool
node_resizes(const JitPlan *plan, const Trace *trace, const IrGraph *g, IrNode node)
{
    IrOp op = ir_node_op(g, node);
    if (ir_node_home(g, node) != 1 || ir_node_nregions(g, node))
        return false;
    bool arrays = false;
    if (op == OP_view)
        return has_path(trace, g, node);
    if (op == OP_empty) {
        PyObject *path = trace->values[ir_result(g, node, 0)].path;
        return path && path != Py_None &&
               value_in_c_order(trace, g, ir_result(g, node, 0));
    }
    for (uint32_t i = 0; i < ir_node_nresults(g, node); i++) {
        IrValue value = ir_result(g, node, i);
        arrays |= ir_type(g, value).ndim > 0;
        if (!value_in_c_order(trace, g, value))
            return false;
    }
    if (op == OP_update)
        return has_path(trace, g, node);
    if (op == OP_call)
        return !arrays || call_resizes(plan, trace, node);
    if (op == OP_const || op == OP_count || op == OP_effect)
        return !arrays;
    return ir_op_flags(op) & OPF_elementwise || op == OP_copy || is_reduction(op);
}

static bool
has_slot(const JitPlan *plan, IrNode node)
{
    for (uint32_t i = 0; i < plan->rt->nslots; i++) {
        if (plan->slots[i].node == node)
            return true;
    }
    return false;
}

static bool
add_ghost(JitPlan *plan, const Trace *trace, IrNode node)
{
    const IrGraph *g = plan->graph;
    IrType type = ir_type(g, ir_result(g, node, 0));
    JitGhost *ghosts;
    uint32_t param = 0;
    while (param < trace->nparams &&
           trace->params[param].value != ir_node_operand(g, node, 0))
        param++;
    if (ir_node_op(g, node) != OP_view || param == trace->nparams || type.ndim > 8)
        return false;
    ghosts = PyMem_Realloc(plan->ghosts, (plan->nghosts + 1) * sizeof *ghosts);
    if (!ghosts)
        return false;
    plan->ghosts = ghosts;
    JitGhost *ghost = &ghosts[plan->nghosts++];
    *ghost = (JitGhost){.param = param,
                        .ndim = (int)type.ndim,
                        .path = Py_NewRef(trace->values[ir_result(g, node, 0)].path)};
    for (uint32_t d = 0; d < type.ndim; d++)
        ghost->shape[d] = (npy_intp)type.dims[d].value;
    return true;
}

/* For refit.c. False: out of memory. */
static bool
take_sizes(JitPlan *plan, const Trace *trace)
{
    PyObject *now, *size;
    Py_ssize_t at = 0, n = trace->sizes ? PyDict_GET_SIZE(trace->sizes) : 0;
    plan->sizes = PyMem_Calloc((size_t)n + 1, sizeof *plan->sizes);
    while (plan->sizes && n && PyDict_Next(trace->sizes, &at, &now, &size))
        plan->sizes[plan->nsizes++] =
            (JitSize){.size = Py_NewRef(size), .now = PyLong_AsLongLong(now)};
    return plan->sizes != NULL;
}

/* Arrays of constants that no step needs: nothing says then what extents they have. */
static bool
is_made_for_no_one(const JitPlan *plan, IrNode node)
{
    const IrGraph *g = plan->graph;
    bool arrays = false, needed = false;
    for (uint32_t i = 0; i < ir_node_nresults(g, node); i++)
        arrays |= ir_type(g, ir_result(g, node, i)).ndim > 0;
    for (uint32_t i = 0; i < plan->rt->nslots; i++)
        needed |= plan->slots[i].made == node;
    return arrays && !needed;
}

/* For refit.c: a window that no step needs has to fit the others all the same. */
static void
note_what_it_holds(JitPlan *plan, const Trace *trace)
{
    const IrGraph *g = plan->graph;
    const TraceState *state = plan->state->trace;
    plan->refits = take_sizes(plan, trace);
    for (IrNode node = 1; node < ir_nnodes(g); node++) {
        IrOp op = ir_node_op(g, node);
        plan->counts |= op == OP_count;
        if (op == OP_call)
            plan->refits &= !is_made_for_no_one(plan, node);
        if (op == OP_view || op == OP_update || op == OP_empty)
            plan->refits &= has_slot(plan, node) || add_ghost(plan, trace, node);
    }
    for (uint32_t i = 0; i < plan->nsites; i++)
        plan->sized |= trace_holds_sizes(state, plan->sites[i].args) ||
                       trace_holds_sizes(state, plan->sites[i].kwargs);
    plan->sized |= trace_holds_sizes(state, plan->result);
}

/* Calls of the trace whose template is an extent in disguise were noted: trace->extents. */
bool
jit_plan_keep_record(JitPlan *plan, Trace *trace)
{
    const IrGraph *g = plan->graph;
    if (!g || trace->extents || ir_nnodes(g) > RESIZED_NODES || plan->rt->nloops)
        return false;
    bool arrays = false;
    for (uint32_t i = 0; i < trace->nparams; i++) {
        if (!value_in_c_order(trace, g, trace->params[i].value))
            return false;
        arrays |= ir_type(g, trace->params[i].value).ndim > 0;
    }
    for (IrNode node = 1; node < ir_nnodes(g); node++) {
        if (!node_resizes(plan, trace, g, node))
            return false;
    }
    if (!arrays)
        return false;
    for (uint32_t v = 1; v < trace->nvalues; v++) {
        IrNode def = v < ir_nvalues(g) ? ir_def(g, v) : 0;
        if (!def || (ir_node_op(g, def) != OP_const && ir_node_op(g, def) != OP_count))
            Py_CLEAR(trace->values[v].array);
    }
    for (uint32_t i = 0; i < trace->nparams; i++)
        Py_CLEAR(trace->params[i].object);
    trace_guards_clear(trace); /* the entry has its own */
    note_what_it_holds(plan, trace);
    plan->record = trace;
    trace->refs++;
    return true;
}
