/* plan_made.c - calls of NumPy that make an array of constants, made once: with the plan.
**
**     y = x * np.arange(100)     the array is memory of the plan's
**
** Law 1: such an array is only read. What is written, returned or given to an effect is a copy of it, made
**        by each call.
*/
#include "jit/planner.h"

enum { MADE_BYTES = 1 << 18, MADE_BYTES_ALL = 1 << 20 };

static void
note_outside(Planner *p, TraceRef *ref)
{
    if (ref->value)
        p->outside[p->root[ref->value]] = true;
}

/* Roots whose memory others may see, or that is written. */
static bool
find_outside(Planner *p)
{
    const Trace *trace = p->trace;
    p->outside = PyMem_Calloc(ir_nvalues(p->g) + 1, sizeof *p->outside);
    if (!p->outside) {
        p->failed = true;
        return false;
    }
    jit_plan_walk_refs(p, trace->result, note_outside);
    for (uint32_t i = 0; i < trace->nescapes; i++)
        p->outside[p->root[trace->escapes[i]]] = true;
    for (uint32_t i = 0; i < trace->nsites; i++) {
        if (trace->sites[i].kind != SITE_effect)
            continue;
        jit_plan_walk_refs(p, trace->sites[i].args, note_outside);
        jit_plan_walk_refs(p, trace->sites[i].kwargs, note_outside);
    }
    for (IrNode node = 1; node < ir_nnodes(p->g); node++) {
        IrOp op = ir_node_op(p->g, node);
        if (op == OP_view)
            continue;
        for (uint32_t k = 0; op == OP_for && k < ir_node_noperands(p->g, node); k++)
            p->outside[p->root[ir_node_operand(p->g, node, k)]] = true;
        for (uint32_t i = 0; i < ir_node_nresults(p->g, node); i++) {
            if (jit_plan_shares(p->g, node, i))
                p->outside[p->root[ir_result(p->g, node, i)]] = true;
        }
    }
    return true;
}

/* The array again, as the trace had it. NULL without an exception: it is not the same. */
static PyArrayObject *
make(Planner *p, const TraceSite *site, IrValue value)
{
    const TraceValue *v = &p->trace->values[value];
    IrType type = ir_type(p->g, value);
    PyArrayObject *array = (PyArrayObject *)PyObject_Call(site->callable, site->args, site->kwargs);
    bool same = array && PyArray_CheckExact(array) && v->descr && v->strides &&
                PyArray_NDIM(array) == (int)type.ndim && PyArray_DESCR(array)->type_num == v->descr->type_num;
    for (uint32_t d = 0; same && d < type.ndim; d++)
        same = PyArray_DIM(array, (int)d) == (npy_intp)type.dims[d].value &&
               PyArray_STRIDE(array, (int)d) == v->strides[d];
    if (!same)
        Py_CLEAR(array);
    PyErr_Clear();
    return array;
}

static npy_intp
bytes_of(const Planner *p, IrValue value)
{
    IrType type = ir_type(p->g, value);
    npy_intp bytes = (npy_intp)ir_dtype_bytes(type.dtype);
    for (uint32_t d = 0; d < type.ndim; d++)
        bytes *= (npy_intp)type.dims[d].value;
    return bytes;
}

bool
jit_plan_made_once(Planner *p, IrNode node)
{
    const TraceSite *site = &p->trace->sites[p->site[node] - 1];
    if (p->region != 1 || site->kind != SITE_call || site->compares || site->epoch ||
        ir_node_noperands(p->g, node) || ir_node_nresults(p->g, node) != 1 ||
        !trace_makes(site->callable))
        return false;
    IrValue value = ir_result(p->g, node, 0);
    const TraceValue *v = &p->trace->values[value];
    npy_intp bytes = bytes_of(p, value);
    if (v->scalar || p->slot[value] || !ir_type(p->g, value).ndim || bytes == 0 ||
        bytes > MADE_BYTES || p->made_bytes + bytes > MADE_BYTES_ALL ||
        (!p->outside && !find_outside(p)))
        return false;
    bool outside = p->outside[p->root[value]] ||
                   v->flags & (TRACE_VALUE_escaped | TRACE_VALUE_overwritten);
    PyArrayObject *array = make(p, site, value);
    if (!array)
        return false;
    uint32_t slot = jit_plan_slot_add(p, RT_SLOT_constant);
    jit_plan_keep(p, (PyObject *)array);
    if (!p->failed) {
        p->slot[value] = outside ? 0 : slot + 1;
        p->rt->slots[slot].data = PyArray_BYTES(array);
        p->made_bytes += bytes;
        jit_plan_describe(p, slot, value);
    }
    if (!p->failed && outside) {
        uint32_t own = jit_plan_slot_of(p, value);
        jit_plan_make_room(p, own);
        jit_plan_window_copy(p, value, slot, v->strides, own);
    }
    Py_DECREF(array);
    return true;
}
