/* evaluate.c - runs a graph as it stands: what every other way of running it has to equal.
**
** A graph that was built by hand, or parsed, has no plan: extents may be symbols or known
** only as it runs. Each region's schedule is run item by item. A group runs in tier 0, block
** by block on NumPy's inner loops; control nodes run their regions; the rest is NumPy's, or
** arithmetic on indices (evaluate_ops.c). Values are never changed once made: an update
** copies.
*/
#include "jit/evaluate.h"

#include <stdlib.h>
#include <string.h>

/* A group of the schedule as a function of its own, made once. */
typedef struct Kernel {
    const IrItem *item; /* of a schedule that the graph owns */
    IrGraph *g;
    IrNode *nodes;
    TraceValue *values; /* of its constants */
    IrValue *inputs, *outputs;
    uint32_t nnodes;
} Kernel;

/* -- Values ------------------------------------------------------------------------ */

static int
broken(const Evaluator *e, IrValue value, const char *what)
{
    IrNode node = ir_def(e->g, value);
    PyErr_Format(PyExc_ValueError, "%s: %s",
                 node ? ir_op_name(ir_node_op(e->g, node)) : "parameter", what);
    return -1;
}

static int64_t
extent(Evaluator *e, IrDim dim)
{
    switch (dim.kind) {
    case DIM_symbol:
        return e->symbol[dim.value];
    case DIM_index:
        return e->index[dim.value];
    case DIM_integer:
        break;
    }
    return dim.value;
}

int
jit_evaluate_shape(Evaluator *e, IrValue value, npy_intp *shape)
{
    IrType type = ir_type(e->g, value);
    if (type.ndim > NPY_MAXDIMS)
        return broken(e, value, "too many axes");
    for (uint32_t d = 0; d < type.ndim; d++) {
        shape[d] = (npy_intp)extent(e, type.dims[d]);
        if (shape[d] < 0)
            return broken(e, value, "an extent is negative, or not known");
    }
    return (int)type.ndim;
}

int
jit_evaluate_set(Evaluator *e, IrValue value, PyObject *object)
{
    IrType type = ir_type(e->g, value);
    PyArray_Descr *descr = object ? jit_evaluate_descr(type.dtype) : NULL;
    PyArrayObject *array =
        descr ? (PyArrayObject *)PyArray_FromAny(
                    object, descr, 0, 0, NPY_ARRAY_ALIGNED | NPY_ARRAY_FORCECAST, NULL)
              : NULL;
    Py_XDECREF(object);
    if (!array)
        return -1;
    bool fits = PyArray_NDIM(array) == (int)type.ndim;
    for (uint32_t d = 0; fits && d < type.ndim; d++)
        fits = type.dims[d].kind == DIM_symbol ||
               PyArray_DIM(array, (int)d) == extent(e, type.dims[d]);
    Py_XSETREF(e->value[value], array);
    return fits ? 0 : broken(e, value, "the shape is not that of the type");
}

bool
jit_evaluate_truth(const Evaluator *e, IrValue value)
{
    const PyArrayObject *array = e->value[value];
    if (ir_type(e->g, value).dtype == DT_index)
        return e->index[value] != 0;
    return array && *PyArray_BYTES((PyArrayObject *)array) != 0;
}

/* Values as others, of yields or parameters: all are read before any is set. */
static int
pass_all(Evaluator *e, const IrValue *from, const IrValue *to, uint32_t n)
{
    PyArrayObject **arrays = PyMem_Calloc(n + 1, sizeof *arrays);
    int64_t *indices = PyMem_Calloc(n + 1, sizeof *indices);
    if (!arrays || !indices) {
        PyMem_Free(arrays);
        PyMem_Free(indices);
        PyErr_NoMemory();
        return -1;
    }
    for (uint32_t i = 0; i < n; i++) {
        arrays[i] = (PyArrayObject *)Py_XNewRef(e->value[from[i]]);
        indices[i] = e->index[from[i]];
    }
    for (uint32_t i = 0; i < n; i++) {
        Py_XSETREF(e->value[to[i]], arrays[i]);
        e->index[to[i]] = indices[i];
    }
    PyMem_Free(arrays);
    PyMem_Free(indices);
    return 0;
}

/* -- Groups ------------------------------------------------------------------------ */

static void
kernel_clear(Kernel *k)
{
    for (uint32_t v = 0; k->g && k->values && v < ir_nvalues(k->g); v++)
        Py_XDECREF(k->values[v].array);
    ir_graph_free(k->g);
    PyMem_Free(k->nodes);
    PyMem_Free(k->values);
    PyMem_Free(k->inputs);
    PyMem_Free(k->outputs);
}

static bool
kernel_fill(Kernel *k, const IrItem *item)
{
    k->values = PyMem_Calloc(ir_nvalues(k->g) + 1, sizeof *k->values);
    k->nodes = PyMem_Calloc(ir_nnodes(k->g) + 1, sizeof *k->nodes);
    k->inputs = PyMem_Calloc(item->ninputs + 1, sizeof *k->inputs);
    k->outputs = PyMem_Calloc(item->noutputs + 1, sizeof *k->outputs);
    if (!k->values || !k->nodes || !k->inputs || !k->outputs)
        return false;
    for (IrNode node = ir_region_first(k->g, 1); node;
         node = ir_node_next(k->g, node)) {
        if (ir_node_op(k->g, node) != OP_const) {
            k->nodes[k->nnodes++] = node;
            continue;
        }
        PyArrayObject *constant = jit_evaluate_constant(k->g, node);
        if (!constant)
            return false;
        k->values[ir_result(k->g, node, 0)].array = constant;
    }
    for (uint32_t i = 0; i < item->ninputs; i++)
        k->inputs[i] = ir_param(k->g, i);
    for (uint32_t i = 0; i < item->noutputs; i++)
        k->outputs[i] = ir_return_at(k->g, i);
    return true;
}

static Kernel *
kernel_of(Evaluator *e, const IrItem *item)
{
    for (uint32_t i = 0; i < e->nkernels; i++) {
        if (e->kernels[i].item == item)
            return &e->kernels[i];
    }
    Kernel *kernels = PyMem_Realloc(e->kernels, (e->nkernels + 1) * sizeof *kernels);
    if (!kernels)
        return NULL;
    e->kernels = kernels;
    Kernel *k = &kernels[e->nkernels];
    *k = (Kernel){.item = item, .g = ir_group_extract(e->g, item)};
    if (!k->g || !kernel_fill(k, item)) {
        kernel_clear(k);
        return NULL;
    }
    e->nkernels++;
    return k;
}

/* Outputs that the kernel does not compute: what it was given, or constants. The others' places
** go into `computed`. Returns their number, or -1. */
static int
pass_outputs(Evaluator *e, const Kernel *k, const IrItem *item, uint32_t *computed)
{
    int n = 0;
    for (uint32_t i = 0; i < item->noutputs; i++) {
        PyArrayObject *from = k->values[k->outputs[i]].array;
        for (uint32_t p = 0; !from && p < item->ninputs; p++) {
            if (k->inputs[p] == k->outputs[i])
                from = e->value[item->inputs[p]];
        }
        if (!from)
            computed[n++] = i;
        else if (jit_evaluate_set(e, item->outputs[i], Py_NewRef(from)) < 0)
            return -1;
    }
    return n;
}

/* Strides of an operand in the iteration space. */
static void
space_strides(PyArrayObject *array, int ndim, npy_intp *strides)
{
    int skip = ndim - PyArray_NDIM(array);
    for (int d = 0; d < ndim; d++)
        strides[d] = d < skip || PyArray_DIM(array, d - skip) == 1
                         ? 0
                         : PyArray_STRIDE(array, d - skip);
}

/* The operands of a group in this run: inputs as they are, outputs new. */
typedef struct Operands {
    PyArrayObject *held[RT_OPERANDS_MAX];
    char *data[RT_OPERANDS_MAX];
    IrValue outputs[RT_OPERANDS_MAX];
    uint32_t computed[RT_OPERANDS_MAX];
    npy_intp shape[NPY_MAXDIMS], strides[RT_OPERANDS_MAX * NPY_MAXDIMS];
    uint32_t n;
} Operands;

static int
operands_fill(Evaluator *e, const Kernel *k, const IrItem *item, Operands *o, int ndim,
              uint32_t noutputs)
{
    for (; o->n < item->ninputs + noutputs; o->n++) {
        uint32_t i = o->n, at = i < item->ninputs ? 0 : o->computed[i - item->ninputs];
        IrValue value = i < item->ninputs ? k->inputs[i] : k->outputs[at];
        PyArray_Descr *descr = jit_evaluate_descr(ir_type(k->g, value).dtype);
        if (i >= item->ninputs) {
            o->outputs[i - item->ninputs] = value;
            o->held[i] = (PyArrayObject *)PyArray_Empty(ndim, o->shape, descr, 0);
        } else
            o->held[i] = (PyArrayObject *)PyArray_FromAny(
                (PyObject *)e->value[item->inputs[i]], descr, 0, 0,
                NPY_ARRAY_ALIGNED | NPY_ARRAY_FORCECAST, NULL);
        if (!o->held[i])
            return -1;
        o->data[i] = PyArray_BYTES(o->held[i]);
        space_strides(o->held[i], ndim, o->strides + i * (uint32_t)ndim);
    }
    return 0;
}

static int
run_group(Evaluator *e, const IrItem *item)
{
    Operands *o = PyMem_Calloc(1, sizeof *o);
    int status = -1, ndim = o ? jit_evaluate_shape(e, item->outputs[0], o->shape) : -1;
    Kernel *k = ndim < 0 ? NULL : kernel_of(e, item);
    int n = -1;
    if (k && item->ninputs + item->noutputs <= RT_OPERANDS_MAX)
        n = pass_outputs(e, k, item, o->computed);
    else if (k)
        broken(e, item->outputs[0], "a group of too many operands");
    if (n < 0 || operands_fill(e, k, item, o, ndim, (uint32_t)n) < 0)
        goto done;
    JitGroupSpec spec = {
        .graph = k->g,
        .values = k->values,
        .nodes = k->nodes,
        .nnodes = k->nnodes,
        .inputs = k->inputs,
        .ninputs = item->ninputs,
        .outputs = o->outputs,
        .noutputs = (uint32_t)n,
        .shape = o->shape,
        .strides = o->strides,
        .ndim = (uint32_t)ndim,
    };
    status = n ? jit_group_run_once(e->state, &spec, o->data) : 0;
    for (int i = 0; status == 0 && i < n; i++)
        status = jit_evaluate_set(e, item->outputs[o->computed[i]],
                                  Py_NewRef(o->held[item->ninputs + (uint32_t)i]));
done:
    if (status < 0 && !PyErr_Occurred())
        PyErr_NoMemory();
    for (uint32_t i = 0; o && i < o->n + 1 && i < RT_OPERANDS_MAX; i++)
        Py_XDECREF(o->held[i]);
    PyMem_Free(o);
    return status;
}

/* -- Regions ----------------------------------------------------------------------- */

static int run_region(Evaluator *e, IrRegion region);

static uint32_t
yields_of(const Evaluator *e, IrRegion region, uint32_t skip, IrValue *out)
{
    uint32_t n = 0;
    for (uint32_t i = skip; i < ir_region_nyields(e->g, region); i++)
        out[n++] = ir_region_yield_at(e->g, region, i);
    return n;
}

static uint32_t
params_of(const Evaluator *e, IrRegion region, uint32_t skip, IrValue *out)
{
    uint32_t n = 0;
    for (uint32_t i = skip; i < ir_region_nparams(e->g, region); i++)
        out[n++] = ir_region_param_at(e->g, region, i);
    return n;
}

/* True if the yield that ends a loop is true. */
static bool
ends(const Evaluator *e, IrNode node, IrRegion body)
{
    int64_t until = ir_node_int(e->g, node, "until", -1);
    return until >= 0 &&
           jit_evaluate_truth(e, ir_region_yield_at(e->g, body, (uint32_t)until));
}

/* Between turns: signals are handled, and other threads may run. */
static int
breathe(uint64_t turn)
{
    if (turn % 64 == 63) {
        Py_BEGIN_ALLOW_THREADS;
        Py_END_ALLOW_THREADS;
    }
    return PyErr_CheckSignals();
}

typedef struct Carry {
    IrValue *from, *params, *results;
    uint32_t n;
} Carry;

static int
run_for(Evaluator *e, IrNode node, Carry *c)
{
    IrRegion body = ir_node_region(e->g, node, 0);
    int64_t turns = e->index[ir_node_operand(e->g, node, 0)];
    IrValue turn = ir_region_param_at(e->g, body, 0);
    params_of(e, body, 1, c->params);
    if (pass_all(e, c->from, c->params, c->n) < 0)
        return -1;
    for (int64_t k = 0; k < turns; k++) {
        e->index[turn] = k;
        if (run_region(e, body) < 0)
            return -1;
        yields_of(e, body, 0, c->from);
        bool last = ends(e, node, body);
        if (pass_all(e, c->from, c->params, c->n) < 0 || breathe((uint64_t)k) < 0)
            return -1;
        if (last)
            break;
    }
    return pass_all(e, c->params, c->results, c->n);
}

static int
run_while(Evaluator *e, IrNode node, Carry *c)
{
    IrRegion test = ir_node_region(e->g, node, 0), body = ir_node_region(e->g, node, 1);
    params_of(e, test, 0, c->params);
    uint32_t nseen = ir_region_nparams(e->g, body);
    IrValue *seen = PyMem_Calloc(2 * nseen + 1, sizeof *seen);
    int status = -1;
    if (!seen) {
        PyErr_NoMemory();
        return -1;
    }
    if (pass_all(e, c->from, c->params, c->n) < 0)
        goto done;
    for (uint64_t turn = 0;; turn++) {
        if (run_region(e, test) < 0 || breathe(turn) < 0)
            goto done;
        if (!jit_evaluate_truth(e, ir_region_yield_at(e->g, test, 0)))
            break;
        yields_of(e, test, 1, seen);
        params_of(e, body, 0, seen + nseen);
        if (pass_all(e, seen, seen + nseen, nseen) < 0 || run_region(e, body) < 0)
            goto done;
        yields_of(e, body, 0, c->from);
        bool last = ends(e, node, body);
        if (pass_all(e, c->from, c->params, c->n) < 0)
            goto done;
        if (last)
            break;
    }
    status = pass_all(e, c->params, c->results, c->n);
done:
    PyMem_Free(seen);
    return status;
}

static int
run_if(Evaluator *e, IrNode node, Carry *c)
{
    bool truth = jit_evaluate_truth(e, ir_node_operand(e->g, node, 0));
    IrRegion arm = ir_node_region(e->g, node, truth ? 0 : 1);
    if (run_region(e, arm) < 0)
        return -1;
    yields_of(e, arm, 0, c->from);
    return pass_all(e, c->from, c->results, c->n);
}

static int
run_control(Evaluator *e, IrNode node)
{
    IrOp op = ir_node_op(e->g, node);
    uint32_t n = ir_node_nresults(e->g, node), skip = op == OP_for;
    IrValue *room = PyMem_Calloc(3 * n + 1, sizeof *room);
    Carry c = {room, room + n, room + 2 * n, n};
    int status = -1;
    if (!room) {
        PyErr_NoMemory();
        return -1;
    }
    for (uint32_t i = 0; i < n; i++) {
        c.results[i] = ir_result(e->g, node, i);
        if (op != OP_if)
            c.from[i] = ir_node_operand(e->g, node, i + skip);
    }
    if (Py_EnterRecursiveCall(" in a region") == 0) {
        status = op == OP_for     ? run_for(e, node, &c)
                 : op == OP_while ? run_while(e, node, &c)
                                  : run_if(e, node, &c);
        Py_LeaveRecursiveCall();
    }
    PyMem_Free(room);
    return status;
}

static int
run_region(Evaluator *e, IrRegion region)
{
    const IrSchedule *schedule = ir_schedule(e->g, region);
    if (!schedule) {
        PyErr_NoMemory();
        return -1;
    }
    for (uint32_t i = 0; i < schedule->nitems; i++) {
        const IrItem *item = &schedule->items[i];
        int status = item->group ? run_group(e, item)
                     : ir_node_nregions(e->g, item->nodes[0])
                         ? run_control(e, item->nodes[0])
                         : jit_evaluate_node(e, item->nodes[0]);
        if (status < 0)
            return -1;
    }
    return 0;
}

/* -- A run ------------------------------------------------------------------------- */

/* An argument in the place of parameter `i`; extents that are symbols become known. */
static int
take_argument(Evaluator *e, uint32_t i, PyObject *object)
{
    IrValue value = ir_param(e->g, i);
    IrType type = ir_type(e->g, value);
    if (type.dtype == DT_index && type.ndim == 0) {
        e->index[value] = (int64_t)PyLong_AsLongLong(object);
        return e->index[value] == -1 && PyErr_Occurred() ? -1 : 0;
    }
    PyArrayObject *array = (PyArrayObject *)PyArray_FROM_O(object);
    PyArray_Descr *descr = array ? jit_evaluate_descr(type.dtype) : NULL;
    if (!array || !descr)
        return -1;
    if (!jit_evaluate_is_weak(type.dtype) &&
        !PyArray_EquivTypes(PyArray_DESCR(array), descr)) {
        PyErr_Format(PyExc_TypeError, "argument %u: expected %s, got %S", i,
                     ir_dtype_name(type.dtype), PyArray_DESCR(array));
        goto fail;
    }
    if (PyArray_NDIM(array) != (int)type.ndim) {
        PyErr_Format(PyExc_ValueError, "argument %u: expected %u axes, got %d", i,
                     type.ndim, PyArray_NDIM(array));
        goto fail;
    }
    for (uint32_t d = 0; d < type.ndim; d++) {
        npy_intp got = PyArray_DIM(array, (int)d);
        int64_t known = extent(e, type.dims[d]);
        if (type.dims[d].kind == DIM_symbol && known < 0)
            e->symbol[type.dims[d].value] = got;
        else if (known != got) {
            PyErr_Format(PyExc_ValueError, "argument %u: axis %u is %zd, expected %lld",
                         i, d, (Py_ssize_t)got, (long long)known);
            goto fail;
        }
    }
    Py_DECREF(descr);
    return jit_evaluate_set(e, value, (PyObject *)array);
fail:
    Py_DECREF(descr);
    Py_DECREF(array);
    return -1;
}

static PyObject *
take_results(Evaluator *e)
{
    uint32_t n = ir_nreturns(e->g);
    PyObject *results = PyTuple_New((Py_ssize_t)n);
    for (uint32_t i = 0; results && i < n; i++) {
        IrValue value = ir_return_at(e->g, i);
        PyObject *item =
            ir_type(e->g, value).dtype == DT_index
                ? PyLong_FromLongLong((long long)e->index[value])
            : e->value[value]
                ? PyArray_Return((PyArrayObject *)Py_NewRef(e->value[value]))
                : Py_NewRef(Py_None);
        if (!item)
            Py_CLEAR(results);
        else
            PyTuple_SET_ITEM(results, (Py_ssize_t)i, item);
    }
    return results;
}

PyObject *
jit_evaluate(JitState *state, IrGraph *g, PyObject *const *args, Py_ssize_t nargs)
{
    Evaluator e = {.state = state, .g = g};
    PyObject *results = NULL;
    size_t nsymbols = 0;
    if (nargs != (Py_ssize_t)ir_nparams(g))
        return PyErr_Format(PyExc_TypeError, "%s takes %u arguments, got %zd",
                            ir_graph_name(g), ir_nparams(g), nargs);
    while (ir_symbol_name(g, (int64_t)nsymbols))
        nsymbols++;
    e.value = PyMem_Calloc(ir_nvalues(g) + 1, sizeof(PyArrayObject *));
    e.index = PyMem_Calloc(ir_nvalues(g) + 1, sizeof *e.index);
    e.symbol = PyMem_Malloc((nsymbols + 1) * sizeof *e.symbol);
    if (!e.value || !e.index || !e.symbol) {
        PyErr_NoMemory();
        goto done;
    }
    memset(e.symbol, 0xff, (nsymbols + 1) * sizeof *e.symbol);
    /* Sizes first: they name extents of arrays. */
    for (int arrays = 0; arrays < 2; arrays++) {
        for (uint32_t i = 0; i < ir_nparams(g); i++) {
            bool array = ir_type(g, ir_param(g, i)).dtype != DT_index;
            if (array == arrays && take_argument(&e, i, args[i]) < 0)
                goto done;
        }
    }
    if (run_region(&e, 1) == 0)
        results = take_results(&e);
done:
    for (uint32_t v = 0; e.value && v < ir_nvalues(g); v++)
        Py_XDECREF(e.value[v]);
    for (uint32_t i = 0; i < e.nkernels; i++)
        kernel_clear(&e.kernels[i]);
    PyMem_Free(e.kernels);
    PyMem_Free(e.value);
    PyMem_Free(e.index);
    PyMem_Free(e.symbol);
    return results;
}
