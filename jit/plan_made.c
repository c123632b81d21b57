/* plan_made.c - calls of NumPy that make arrays of constants, made once: with the plan.
**
**     y = x * np.arange(100)     the array is memory of the plan's
**     return np.arange(100)      it is copied from there
**
** Law 1: such an array is only read. What is written, returned or given to an effect is a copy, made anew by
**        each call.
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
    for (uint32_t i = 0; p->region > 1 && i < ir_region_nyields(p->g, p->region); i++)
        p->outside[p->root[ir_region_yield_at(p->g, p->region, i)]] =
            true; /* what a loop carries */
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

/* True if the array is what the trace had as this value. */
static bool
is_same(const Planner *p, PyObject *object, IrValue value)
{
    const TraceValue *v = &p->trace->values[value];
    IrType type = ir_type(p->g, value);
    PyArrayObject *array = (PyArrayObject *)object;
    bool same = PyArray_CheckExact(object) && v->descr && v->strides &&
                PyArray_NDIM(array) == (int)type.ndim &&
                PyArray_DESCR(array)->type_num == v->descr->type_num;
    for (uint32_t d = 0; same && d < type.ndim; d++)
        same = PyArray_DIM(array, (int)d) == (npy_intp)type.dims[d].value &&
               (PyArray_STRIDE(array, (int)d) == v->strides[d] ||
                PyArray_DIM(array, (int)d) == 1);
    return same;
}

/* What the call gives, again: a tuple of arrays as the trace had them. NULL without an exception: they are not. */
static PyObject *
make(Planner *p, const TraceSite *site, IrNode node)
{
    PyObject *made = PyObject_Call(site->callable, site->args, site->kwargs);
    if (made && PyArray_Check(made))
        Py_SETREF(made, PyTuple_Pack(1, made));
    else if (made && PyList_CheckExact(made))
        Py_SETREF(made, PyList_AsTuple(made));
    bool same = made && PyTuple_CheckExact(made) &&
                PyTuple_GET_SIZE(made) == (Py_ssize_t)ir_node_nresults(p->g, node);
    for (uint32_t i = 0; same && i < ir_node_nresults(p->g, node); i++)
        same = is_same(p, PyTuple_GET_ITEM(made, i), ir_result(p->g, node, i));
    if (!same)
        Py_CLEAR(made);
    PyErr_Clear();
    return made;
}

static npy_intp
bytes_of(const Planner *p, IrValue value)
{
    IrType type = ir_type(p->g, value);
    npy_intp bytes = (npy_intp)jit_plan_item_bytes(p, value);
    for (uint32_t d = 0; d < type.ndim; d++)
        bytes *= (npy_intp)type.dims[d].value;
    return bytes;
}

/* Bytes of all results; -1: there is one that a plan cannot keep. */
static npy_intp
bytes_of_all(Planner *p, IrNode node)
{
    npy_intp all = 0;
    for (uint32_t i = 0; i < ir_node_nresults(p->g, node); i++) {
        IrValue value = ir_result(p->g, node, i);
        const TraceValue *v = &p->trace->values[value];
        npy_intp bytes = bytes_of(p, value);
        if (v->scalar || !v->descr ||
            !(PyDataType_ISNUMBER(v->descr) || PyDataType_ISBOOL(v->descr)) ||
            !PyArray_ISNBO(v->descr->byteorder) || p->slot[value] ||
            !ir_type(p->g, value).ndim || v->flags & TRACE_VALUE_readonly)
            return -1;
        all += bytes;
    }
    return all;
}

/* The slot of an array of the plan's. */
static uint32_t
kept_slot(Planner *p, PyArrayObject *array, IrValue value)
{
    uint32_t slot = jit_plan_slot_add(p, RT_SLOT_constant);
    jit_plan_keep(p, (PyObject *)array);
    if (!p->failed) {
        p->rt->slots[slot].data = PyArray_BYTES(array);
        p->made_bytes += bytes_of(p, value);
        jit_plan_describe(p, slot, value);
    }
    return slot;
}

/* A result that is read in the plan's memory, or copied from there where it is someone else's. */
static void
emit_result(Planner *p, PyArrayObject *array, IrValue value)
{
    const TraceValue *v = &p->trace->values[value];
    bool outside = p->outside[p->root[value]] ||
                   v->flags & (TRACE_VALUE_escaped | TRACE_VALUE_overwritten);
    if (!p->readers[value] && !outside)
        return;
    uint32_t from = kept_slot(p, array, value);
    if (!outside && !p->failed)
        p->slot[value] = from + 1;
    if (!outside || p->failed)
        return;
    uint32_t to = jit_plan_slot_of(p, value);
    jit_plan_make_room(p, to);
    if (!p->failed && PyArray_SIZE(array))
        jit_plan_window_copy(p, value, from, PyArray_STRIDES(array), to);
}

bool
jit_plan_made_once(Planner *p, IrNode node)
{
    const TraceSite *site = &p->trace->sites[p->site[node] - 1];
    if (site->kind != SITE_call || site->compares || site->epoch ||
        ir_node_noperands(p->g, node) || !ir_node_nresults(p->g, node) ||
        trace_holds_sizes(p->state->trace, site->args) ||
        trace_holds_sizes(p->state->trace, site->kwargs) ||
        !trace_makes(site->callable))
        return false;
    npy_intp bytes = bytes_of_all(p, node);
    if (bytes < 0 || bytes > MADE_BYTES || p->made_bytes + bytes > MADE_BYTES_ALL ||
        (!p->outside && !find_outside(p)))
        return false;
    bool first = p->outside[p->root[ir_result(p->g, node, 0)]];
    if (first && (p->region != 1 || trace_makes_at_once(site->callable)))
        return false;
    PyObject *made = make(p, site, node);
    for (uint32_t i = 0; made && i < ir_node_nresults(p->g, node); i++)
        emit_result(p, (PyArrayObject *)PyTuple_GET_ITEM(made, i),
                    ir_result(p->g, node, i));
    Py_XDECREF(made);
    return made != NULL;
}
