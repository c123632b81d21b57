/* pending.c - when values are computed: groups of pending elementwise nodes. */
#include <string.h>

#include "trace/internal.h"

/* -- Computing what is pending ----------------------------------------------------- */

typedef struct Pending {
    IrValue list[TRACE_OPERANDS_MAX];
    uint32_t n;
    IrValue inputs[TRACE_OPERANDS_MAX];
    uint32_t ninputs;
    bool full;
} Pending;

static bool
listed(const IrValue *list, uint32_t n, IrValue value)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == value)
            return true;
    }
    return false;
}

static bool
same_space(const IrGraph *g, IrValue a, IrValue b)
{
    IrType x = ir_type(g, a), y = ir_type(g, b);
    if (x.ndim != y.ndim)
        return false;
    for (uint32_t i = 0; i < x.ndim; i++) {
        if (x.dims[i].value != y.dims[i].value)
            return false;
    }
    return true;
}

/* Pending values under `value` in one iteration space; those of another are computed. */
static int
collect(Trace *trace, Pending *pending, IrValue value)
{
    const IrGraph *g = trace->graph;
    if (listed(pending->list, pending->n, value))
        return 0;
    IrNode node = ir_def(g, value);
    for (uint32_t i = 0; i < ir_node_noperands(g, node); i++) {
        IrValue operand = ir_node_operand(g, node, i);
        if (trace->values[operand].pending) {
            bool fits = pending->n < TRACE_PENDING_MAX && same_space(g, operand, value);
            if ((fits ? collect(trace, pending, operand)
                      : trace_force(trace, operand)) < 0)
                return -1;
        }
        if (!trace->values[operand].pending &&
            !listed(pending->inputs, pending->ninputs, operand)) {
            if (pending->ninputs == TRACE_OPERANDS_MAX - TRACE_PENDING_MAX) {
                pending->full = true;
                return 0;
            }
            pending->inputs[pending->ninputs++] = operand;
        }
    }
    if (pending->n == TRACE_PENDING_MAX)
        pending->full = true;
    else
        pending->list[pending->n++] = value;
    return 0;
}

static uint32_t
readers_inside(const Trace *trace, const Pending *pending, IrValue value)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < pending->n; i++) {
        IrNode node = ir_def(trace->graph, pending->list[i]);
        for (uint32_t k = 0; k < ir_node_noperands(trace->graph, node); k++)
            n += ir_node_operand(trace->graph, node, k) == value;
    }
    return n;
}

static PyArrayObject *
array_like(const Trace *trace, IrValue value)
{
    const TraceValue *v = &trace->values[value];
    IrType type = ir_type(trace->graph, value);
    npy_intp shape[NPY_MAXDIMS];
    for (uint32_t i = 0; i < type.ndim; i++)
        shape[i] = (npy_intp)type.dims[i].value;
    Py_INCREF(v->descr);
    return (PyArrayObject *)PyArray_NewFromDescr(
        &PyArray_Type, v->descr, (int)type.ndim, shape, v->strides, NULL, 0, NULL);
}

/* Runs the list; values read from outside of it get memory. */
static int
run_pending(Trace *trace, Pending *pending, IrValue wanted)
{
    IrNode nodes[TRACE_OPERANDS_MAX];
    IrValue outputs[TRACE_OPERANDS_MAX];
    PyArrayObject *in[TRACE_OPERANDS_MAX], *out[TRACE_OPERANDS_MAX] = {NULL};
    TraceGroup group = {
        nodes, pending->n, pending->ninputs, 0, pending->inputs, outputs, in, out};
    int status = -1;

    for (uint32_t i = 0; i < pending->n; i++) {
        IrValue value = pending->list[i];
        nodes[i] = ir_def(trace->graph, value);
        if (value != wanted &&
            trace->values[value].refs == readers_inside(trace, pending, value))
            continue;
        out[group.noutputs] = array_like(trace, value);
        if (!out[group.noutputs])
            goto done;
        outputs[group.noutputs++] = value;
    }
    for (uint32_t i = 0; i < pending->ninputs; i++)
        in[i] = trace->values[pending->inputs[i]].array;
    if (trace->run(trace->run_context, trace, &group) < 0)
        goto done;
    for (uint32_t i = 0; i < group.noutputs; i++) {
        TraceValue *v = &trace->values[outputs[i]];
        IrNode node = ir_def(trace->graph, outputs[i]);
        v->array = (PyArrayObject *)Py_NewRef(out[i]);
        v->pending = false;
        for (uint32_t k = 0; k < ir_node_noperands(trace->graph, node); k++)
            trace_value_drop(trace, ir_node_operand(trace->graph, node, k));
    }
    status = 0;
done:
    for (uint32_t i = 0; i < TRACE_OPERANDS_MAX && out[i]; i++)
        Py_DECREF(out[i]);
    return status;
}

int
trace_force(Trace *trace, IrValue value)
{
    if (!trace->values[value].pending)
        return 0;
    Pending pending = {.n = 0};
    if (collect(trace, &pending, value) < 0)
        return -1;
    if (pending.full) {
        /* Too much for one group: the operands first. */
        IrNode node = ir_def(trace->graph, value);
        for (uint32_t i = 0; i < ir_node_noperands(trace->graph, node); i++) {
            if (trace_force(trace, ir_node_operand(trace->graph, node, i)) < 0)
                return -1;
        }
        pending = (Pending){.n = 0};
        if (collect(trace, &pending, value) < 0)
            return -1;
    }
    return run_pending(trace, &pending, value);
}

/* Chains of pending values are walked by recursion: what would make one too long is computed. */
int
trace_chain_set(Trace *trace, IrValue value)
{
    const IrGraph *g = trace->graph;
    IrNode node = ir_def(g, value);
    uint16_t longest = 0;
    for (uint32_t i = 0; i < ir_node_noperands(g, node); i++) {
        const TraceValue *operand = &trace->values[ir_node_operand(g, node, i)];
        if (operand->pending && operand->chain >= longest)
            longest = operand->chain + 1;
    }
    trace->values[value].chain = longest;
    return longest < TRACE_CHAIN_MAX ? 0 : trace_force(trace, value);
}

int
trace_force_all(Trace *trace)
{
    for (TraceStorage *s = trace->storages; s; s = s->next) {
        if (trace_force(trace, s->value) < 0)
            return -1;
    }
    return 0;
}

/* -- Layout ------------------------------------------------------------------------ */

/* NumPy's iterator orders axes by the operands' strides, smallest innermost, C order
 *where
 ** they disagree or say nothing; results it allocates follow that order, contiguous.
 *Strides
 ** are those of operands broadcast to `shape`: 0 for axes that are broadcast. */
void
trace_layout(int ndim, const npy_intp *shape, int nops, const npy_intp *const *strides,
             npy_intp itemsize, npy_intp *out)
{
    int perm[NPY_MAXDIMS]; /* innermost first */
    for (int i = 0; i < ndim; i++)
        perm[i] = ndim - 1 - i;
    for (int i = 1; i < ndim; i++) {
        int axis = perm[i], place = i;
        for (int j = i - 1; j >= 0; j--) {
            int other = perm[j];
            bool ambiguous = true, swap = false;
            for (int k = 0; k < nops; k++) {
                npy_intp s0 = shape[axis] == 1 ? 0 : strides[k][axis];
                npy_intp s1 = shape[other] == 1 ? 0 : strides[k][other];
                if (s0 == 0 || s1 == 0)
                    continue;
                s0 = s0 < 0 ? -s0 : s0;
                s1 = s1 < 0 ? -s1 : s1;
                if (s1 <= s0)
                    swap = false;
                else if (ambiguous)
                    swap = true;
                ambiguous = false;
            }
            if (ambiguous)
                continue;
            if (!swap)
                break;
            place = j;
        }
        memmove(perm + place + 1, perm + place, (size_t)(i - place) * sizeof(int));
        perm[place] = axis;
    }
    npy_intp step = itemsize;
    for (int i = 0; i < ndim; i++) {
        out[perm[i]] = step;
        step *= shape[perm[i]] ? shape[perm[i]] : 1;
    }
}

static bool
is_packed(int ndim, const npy_intp *shape, const npy_intp *strides, npy_intp itemsize,
          bool fortran)
{
    for (int i = 0; i < ndim; i++) {
        int axis = fortran ? i : ndim - 1 - i;
        if (shape[axis] == 0)
            return true;
    }
    for (int i = 0; i < ndim; i++) {
        int axis = fortran ? i : ndim - 1 - i;
        if (shape[axis] != 1 && strides[axis] != itemsize)
            return false;
        itemsize *= shape[axis];
    }
    return true;
}

/* Strides of a copy in "K" order, as NumPy's copies have them: packed ones stay so, else axes go by
** the size of their strides, an axis of stride 0 being the innermost. */
void
trace_layout_copy(int ndim, const npy_intp *shape, const npy_intp *strides,
                  npy_intp from_size, npy_intp to_size, npy_intp *out)
{
    int perm[NPY_MAXDIMS]; /* innermost first */
    bool c = is_packed(ndim, shape, strides, from_size, false);
    bool fortran = !c && is_packed(ndim, shape, strides, from_size, true);
    for (int i = 0; i < ndim; i++)
        perm[i] = fortran ? i : ndim - 1 - i;
    for (int i = 1; !c && !fortran && i < ndim; i++) {
        int axis = perm[i], place = i;
        npy_intp size = Py_ABS(strides[axis]);
        for (; place > 0 && Py_ABS(strides[perm[place - 1]]) > size; place--)
            perm[place] = perm[place - 1];
        perm[place] = axis;
    }
    for (int i = 0; i < ndim; i++) {
        out[perm[i]] = to_size;
        to_size *= shape[perm[i]] ? shape[perm[i]] : 1;
    }
}
