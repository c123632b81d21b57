/* resize.c - a plan for other extents, without a trace.
**
** What a trace recorded is often the same for every extent: elementwise operations, reductions, windows that keys
** select and writes to these, of arrays whose extents no one asked for. Such a plan keeps its record. A call with arrays
** of other extents gets a plan from it: the graph is built once more, the shapes follow from those of the parameters, and
** the groups share the code that there is. Laws:
**   1. Only extents differ: dtypes, numbers of axes, C order, and which extents of all the values are 1 or equal to
**      others, are the same.
**   2. What the record holds besides the graph has no extent in it.
**   3. Arrays that calls give are taken to have the extents that follow by law 1, or that others of their kind have.
**      Plans look at what calls give: where it is another array, the plan does not hold. Hence no argument may have been
**      written, and a call that is not made has no record.
*/
#include "jit/resize.h"

#include <stdlib.h>
#include <string.h>

#include "jit/jit.h"

/* -- Building again ---------------------------------------------------------------- */

enum { PAIRS_MAX = 64 };

typedef struct Resize {
    JitState *state;
    const Trace *from;
    const IrGraph *g;
    Trace *to;
    IrValue *values; /* old -> new */
    TraceSizes sizes;
    int64_t was[PAIRS_MAX], is[PAIRS_MAX]; /* extents */
    uint32_t npairs;
} Resize;

/* Law 1. */
static bool
pair_extent(Resize *r, int64_t was, int64_t is)
{
    for (uint32_t i = 0; i < r->npairs; i++) {
        if ((r->was[i] == was) != (r->is[i] == is))
            return false;
        if (r->was[i] == was)
            return true;
    }
    if (r->npairs == PAIRS_MAX || (was == 1) != (is == 1) || is < 1)
        return false;
    r->was[r->npairs] = was;
    r->is[r->npairs++] = is;
    return true;
}

/* By law 1; 0: no value has had it. */
static int64_t
extent_now(const Resize *r, int64_t was)
{
    for (uint32_t i = 0; i < r->npairs; i++) {
        if (r->was[i] == was)
            return r->is[i];
    }
    return was == 1;
}

static bool
pair_extents(Resize *r, IrValue old, IrType type)
{
    IrType was = ir_type(r->g, old);
    if (was.ndim != type.ndim)
        return false;
    for (uint32_t d = 0; d < type.ndim; d++) {
        if (!pair_extent(r, was.dims[d].value, type.dims[d].value))
            return false;
    }
    return true;
}

/* What is known of a value besides its type; its strides are those of C order, or of the window that it is. */
static bool
describe(Resize *r, IrValue old, IrValue new, const TraceWindow *window)
{
    const TraceValue *was = &r->from->values[old];
    TraceValue *v = new ? trace_value(r->to, new) : NULL;
    if (!v)
        return false;
    r->values[old] = new;
    IrType type = ir_type(r->to->graph, new);
    if (!pair_extents(r, old, type))
        return false;
    if (v->descr)
        return v->path == was->path;
    v->descr = (PyArray_Descr *)Py_XNewRef(was->descr);
    v->scalar = Py_XNewRef(was->scalar);
    v->array = (PyArrayObject *)Py_XNewRef(was->array);
    v->path = Py_XNewRef(was->path);
    v->flags = was->flags;
    if (!type.ndim || !was->descr)
        return true;
    npy_intp bytes = PyDataType_ELSIZE(was->descr);
    v->strides = PyMem_Malloc(type.ndim * sizeof(npy_intp));
    for (uint32_t d = type.ndim; v->strides && d-- > 0;
         bytes *= (npy_intp)type.dims[d].value)
        v->strides[d] = window ? window->strides[d] : bytes;
    return v->strides != NULL;
}

static bool
copy_param(Resize *r, uint32_t i)
{
    IrDim dims[NPY_MAXDIMS];
    const TraceParam *was = &r->from->params[i];
    IrType type = ir_type(r->g, was->value);
    PyObject *object = i < r->sizes.nparams ? r->sizes.params[i] : NULL;
    if (type.ndim && (!object || !PyArray_CheckExact(object) ||
                      PyArray_NDIM((PyArrayObject *)object) != (int)type.ndim))
        return false;
    for (uint32_t d = 0; d < type.ndim; d++)
        dims[d] = ir_dim(PyArray_DIM((PyArrayObject *)object, (int)d));
    type.dims = dims;
    IrValue value = ir_param_add(r->to->graph, type, NULL);
    if (!describe(r, was->value, value, NULL))
        return false;
    r->to->params[i] =
        (TraceParam){.value = value, .version = value, .written = was->written};
    r->to->nparams++;
    return true;
}

/* The window of a view or an update on the array as it is now. */
static bool
window_now(const Resize *r, IrNode node, TraceWindow *window)
{
    const IrGraph *g = r->to->graph;
    IrValue base = r->values[ir_node_operand(r->g, node, 0)];
    const TraceValue *whole = &r->to->values[base];
    IrType type = ir_type(g, base);
    window->offset = 0;
    window->ndim = (int)type.ndim;
    for (uint32_t d = 0; d < type.ndim; d++) {
        window->shape[d] = (npy_intp)type.dims[d].value;
        window->strides[d] = whole->strides[d];
    }
    return trace_path_apply(&r->sizes, r->from->values[ir_result(r->g, node, 0)].path,
                            window);
}

static bool
copy_window(Resize *r, IrNode node)
{
    TraceWindow window;
    IrValue old = ir_result(r->g, node, 0), operands[2];
    IrDim dims[NPY_MAXDIMS];
    IrType type = ir_type(r->g, old);
    bool view = ir_node_op(r->g, node) == OP_view;
    uint32_t n = view ? 1 : 2;
    int64_t strides[NPY_MAXDIMS], shape[NPY_MAXDIMS];
    if (!window_now(r, node, &window))
        return false;
    for (uint32_t i = 0; i < n; i++)
        operands[i] = r->values[ir_node_operand(r->g, node, i)];
    const IrAttr *was = ir_node_attr(r->g, node, "shape");
    if (!was || was->count != (uint32_t)window.ndim)
        return false;
    for (int d = 0; d < window.ndim; d++) {
        strides[d] = window.strides[d];
        shape[d] = window.shape[d];
        dims[d] = ir_dim(window.shape[d]);
        if (!pair_extent(r, was->ints[d], shape[d]))
            return false;
    }
    type.dims = dims;
    if (!view)
        type = ir_type(r->to->graph, operands[0]);
    int64_t offset = window.offset;
    uint32_t ndim = (uint32_t)window.ndim;
    IrAttr attrs[] = {
        {.key = "offset", .kind = ATTR_ints, .count = 1, .ints = &offset},
        {.key = "strides", .kind = ATTR_ints, .count = ndim, .ints = strides},
        {.key = "shape", .kind = ATTR_ints, .count = ndim, .ints = shape},
    };
    IrNode made = ir_node_typed(r->to->graph, ir_node_op(r->g, node), operands, n,
                                attrs, 3, &type, 1);
    return made &&
           describe(r, old, ir_result(r->to->graph, made, 0), view ? &window : NULL);
}

/* Memory without values: each extent is known by an expression, or is one of another value. */
static bool
copy_empty(Resize *r, IrNode node)
{
    IrValue old = ir_result(r->g, node, 0);
    PyObject *path = r->from->values[old].path;
    IrDim dims[NPY_MAXDIMS];
    IrType type = ir_type(r->g, old);
    for (uint32_t d = 0; d < type.ndim; d++) {
        PyObject *said = PyTuple_GET_ITEM(path, d);
        int64_t is = extent_now(r, type.dims[d].value);
        if (said == Py_None ? !is : !trace_size_value(&r->sizes, said, &is))
            return false;
        dims[d] = ir_dim(is);
    }
    type.dims = dims;
    IrNode made = ir_node_typed(r->to->graph, OP_empty, NULL, 0, NULL, 0, &type, 1);
    return made && describe(r, old, ir_result(r->to->graph, made, 0), NULL);
}

int64_t
jit_extent_guess(const int64_t *was, const int64_t *is, uint32_t n, int64_t extent)
{
    enum { FEW = 16, NEAR = 64, TIMES = 8 };
    for (uint32_t i = 0; extent >= FEW && i < n; i++) {
        int64_t more = extent - was[i], half = extent - was[i] / 2;
        if (was[i] == is[i] || was[i] < 2)
            continue;
        if (more <= NEAR && -more <= NEAR && 2 * extent > was[i] && extent < 2 * was[i])
            return is[i] + more > 0 ? is[i] + more : 1; /* convolve, diff */
        if (half == 0 || half == 1)
            return is[i] / 2 + half; /* rfft */
        if (extent % was[i] == 0 && extent / was[i] <= TIMES)
            return extent / was[i] * is[i]; /* tile, repeat */
    }
    return extent;
}

/* The type that a result of a call has, as far as it is known: law 3. */
static IrType
result_now(const Resize *r, IrValue old, IrDim *dims)
{
    IrType type = ir_type(r->g, old);
    for (uint32_t d = 0; d < type.ndim; d++) {
        int64_t is = extent_now(r, type.dims[d].value);
        dims[d] = ir_dim(
            is ? is : jit_extent_guess(r->was, r->is, r->npairs, type.dims[d].value));
    }
    type.dims = dims;
    return type;
}

/* A number that follows from the extents; false: they allow none. */
static bool
copy_count(Resize *r, IrNode node)
{
    IrValue was = ir_result(r->g, node, 0);
    PyArray_Descr *descr = r->from->values[was].descr;
    int64_t count = trace_extents_count(r->g, node, &r->sizes);
    IrType type = ir_type(r->g, was);
    IrAttr attrs[4];
    if (!count || ir_node_nattrs(r->g, node) != 4)
        return false;
    for (uint32_t i = 0; i < 4; i++) {
        attrs[i] = *ir_node_attr_at(r->g, node, i);
        if (strcmp(attrs[i].key, "value") == 0)
            attrs[i].ints = &count;
    }
    IrNode made = ir_node_typed(r->to->graph, OP_count, NULL, 0, attrs, 4, &type, 1);
    r->values[was] = made ? ir_result(r->to->graph, made, 0) : 0;
    return made && trace_extents_set(r->to, r->values[was], descr, count);
}

/* True of a call that gets sizes. */
static bool
is_sized(const Resize *r, IrNode node)
{
    for (uint32_t i = 0; i < r->from->nsites; i++) {
        const TraceSite *site = &r->from->sites[i];
        if (site->node == node)
            return trace_holds_sizes(r->state->trace, site->args) ||
                   trace_holds_sizes(r->state->trace, site->kwargs);
    }
    return false;
}

static bool
copy_node(Resize *r, IrNode node)
{
    IrOp op = ir_node_op(r->g, node);
    if (op == OP_count)
        return copy_count(r, node);
    if (op == OP_view || op == OP_update)
        return copy_window(r, node);
    if (op == OP_empty)
        return copy_empty(r, node);
    uint32_t n = ir_node_noperands(r->g, node), nattrs = ir_node_nattrs(r->g, node),
             nresults = ir_node_nresults(r->g, node);
    IrValue operands[RESIZED_OPERANDS];
    IrAttr attrs[8];
    IrType types[RESIZED_OPERANDS];
    IrDim dims[RESIZED_RESULTS][NPY_MAXDIMS];
    IrNode made;
    if (n > RESIZED_OPERANDS || nresults > RESIZED_RESULTS || nattrs > 8)
        return false;
    for (uint32_t i = 0; i < n; i++)
        operands[i] = r->values[ir_node_operand(r->g, node, i)];
    for (uint32_t i = 0; i < nattrs; i++)
        attrs[i] = *ir_node_attr_at(r->g, node, i);
    for (uint32_t i = 0; i < nresults; i++)
        types[i] = op == OP_call && (n || is_sized(r, node))
                       ? result_now(r, ir_result(r->g, node, i), dims[i])
                       : ir_type(r->g, ir_result(r->g, node, i));
    if (op == OP_cast || op == OP_copy)
        types[0].ndim = ir_type(r->to->graph, operands[0]).ndim,
        types[0].dims = ir_type(r->to->graph, operands[0]).dims;
    if (op == OP_cast || op == OP_copy || op == OP_const || op == OP_call ||
        op == OP_effect)
        made = ir_node_typed(r->to->graph, op, operands, n, attrs, nattrs, types,
                             nresults);
    else {
        IrValue value = ir_node(r->to->graph, op, operands, n, attrs, nattrs);
        made = value ? ir_def(r->to->graph, value) : 0;
        if (!value || ir_type(r->to->graph, value).dtype != types[0].dtype)
            return false;
    }
    if (!made)
        return false;
    for (uint32_t i = 0; i < nresults; i++) {
        if (!describe(r, ir_result(r->g, node, i), ir_result(r->to->graph, made, i),
                      NULL))
            return false;
    }
    for (uint32_t i = 0; i < r->from->nsites; i++) {
        if (r->from->sites[i].node == node)
            r->to->sites[i].node = made;
    }
    return true;
}

static bool
pair_staying(Resize *r)
{
    for (int64_t extent = 2; extent < TRACE_STAYING; extent++) {
        if (r->from->staying >> extent & 1 && !pair_extent(r, extent, extent))
            return false;
    }
    return true;
}

/* Parameters and nodes in the order in which they were made. */
static bool
copy_graph(Resize *r)
{
    uint32_t param = 0;
    for (IrNode node = 1; node <= ir_nnodes(r->g); node++) {
        bool end = node == ir_nnodes(r->g);
        IrValue first =
            !end && ir_node_nresults(r->g, node) ? ir_result(r->g, node, 0) : 0;
        while (param < r->from->nparams &&
               (end || (first && r->from->params[param].value < first))) {
            if (!copy_param(r, param++))
                return false;
        }
        if (!end && !copy_node(r, node))
            return false;
    }
    for (uint32_t i = 0; i < r->from->nparams; i++)
        r->to->params[i].version = r->values[r->from->params[i].version];
    for (uint32_t i = 0; i < r->from->nescapes; i++)
        r->to->escapes[r->to->nescapes++] = r->values[r->from->escapes[i]];
    return !ir_error(r->to->graph);
}

static uint32_t
new_value(void *context, IrValue value)
{
    return ((Resize *)context)->values[value];
}

static PyObject *
mapped(Resize *r, PyObject *template)
{
    return template ? trace_template_map(r->state->trace, template, new_value, r)
                    : NULL;
}

/* A size in a template is what it is now; one that may be an extent follows law 1. */
static bool
size_now(void *context, TraceSizeRef *ref)
{
    Resize *r = context;
    int64_t was = PyLong_AsLongLong(ref->now), is;
    if (!trace_size_value(&r->sizes, ref->size, &is))
        return false;
    PyObject *now = PyLong_FromLongLong(is);
    if (now)
        Py_SETREF(ref->now, now);
    return now && (was <= 1 || is <= 1 || pair_extent(r, was, is));
}

static bool
sizes_now(Resize *r, PyObject *template)
{
    return trace_sizes_visit(r->state->trace, template, size_now, r);
}

/* The sizes that the trace had: they may be extents, or be taken for such. */
static bool
pair_sizes(Resize *r)
{
    PyObject *was, *size;
    Py_ssize_t at = 0;
    r->to->sizes = PyDict_New();
    while (r->to->sizes && r->from->sizes &&
           PyDict_Next(r->from->sizes, &at, &was, &size)) {
        int64_t number = PyLong_AsLongLong(was), is;
        if (!trace_size_value(&r->sizes, size, &is) ||
            (number > 1 && is > 1 && !pair_extent(r, number, is)))
            return false;
        PyObject *now = PyLong_FromLongLong(is);
        bool kept = now && PyDict_SetDefault(r->to->sizes, now, size);
        Py_XDECREF(now);
        if (!kept)
            return false;
    }
    return r->to->sizes != NULL;
}

static bool
copy_sites(Resize *r)
{
    for (uint32_t i = 0; i < r->from->nsites; i++) {
        const TraceSite *was = &r->from->sites[i];
        TraceSite *site = &r->to->sites[i];
        site->kind = was->kind;
        site->callable = Py_NewRef(was->callable);
        site->origin = Py_XNewRef(was->origin);
        site->args = mapped(r, was->args);
        site->kwargs = mapped(r, was->kwargs);
        site->result = mapped(r, was->result);
        site->compares = was->compares;
        site->raises = was->raises;
        site->differs = was->differs;
        r->to->nsites++;
        if (!site->args || !site->result || (was->kwargs && !site->kwargs) ||
            !sizes_now(r, site->args) || !sizes_now(r, site->kwargs))
            return false;
    }
    r->to->result = mapped(r, r->from->result);
    r->to->compared = Py_XNewRef(r->from->compared);
    r->to->staying = r->from->staying;
    return r->to->result && sizes_now(r, r->to->result);
}

/* A group that computes the same as one of the plan it comes from has its code. */
static void
share_group(RtGroup *group, const JitGroupCode *a, const RtGroup *like,
            const JitGroupCode *b)
{
    bool same =
        a->kernel && b->kernel && like->code && !group->code &&
        a->nparams == b->nparams && a->nops == b->nops &&
        memcmp(a->patterns, b->patterns, a->nparams * sizeof *a->patterns) == 0 &&
        strcmp(ir_graph_name(a->kernel), ir_graph_name(b->kernel)) == 0;
    if (same)
        group->code = rt_code_hold(like->code);
}

static void
share_code(JitPlan *plan, const JitPlan *like)
{
    if (plan->rt->ngroups != like->rt->ngroups ||
        plan->rt->nreduces != like->rt->nreduces)
        return;
    for (uint32_t i = 0; i < plan->rt->ngroups; i++)
        share_group(plan->rt->groups[i], &plan->codes[i], like->rt->groups[i],
                    &like->codes[i]);
    for (uint32_t i = 0; i < plan->rt->nreduces; i++) {
        if (plan->rt->reduces[i].wide == like->rt->reduces[i].wide)
            share_group(plan->rt->reduces[i].group, &plan->reduce_codes[i],
                        like->rt->reduces[i].group, &like->reduce_codes[i]);
    }
}

JitPlan *
jit_plan_resized(const JitPlan *like, PyObject *const *params, uint32_t nparams)
{
    Resize r = {.state = like->state,
                .from = like->record,
                .g = like->graph,
                .sizes = {.params = params, .nparams = nparams}};
    JitPlan *plan = NULL;
    if (!like->record || nparams != like->record->nparams)
        return NULL;
    r.to = trace_new(like->state->trace, like->record->run, like->record->run_loop,
                     like->record->run_context);
    r.values = PyMem_Calloc(ir_nvalues(r.g) + 1, sizeof *r.values);
    if (r.to && r.values) {
        r.to->numerics = like->record->numerics;
        r.to->threads = like->record->threads;
        r.to->narguments = like->record->narguments;
        r.to->wrote = like->record->wrote;
        r.to->params = PyMem_Calloc(like->record->nparams + 1, sizeof *r.to->params);
        r.to->sites = PyMem_Calloc(like->record->nsites + 1, sizeof *r.to->sites);
        r.to->escapes = PyMem_Calloc(like->record->nescapes + 1, sizeof *r.to->escapes);
        r.to->escapes_room = like->record->nescapes + 1;
        r.to->guard_after_write = like->record->guard_after_write;
        r.to->params_room = like->record->nparams + 1;
        r.to->sites_room = like->record->nsites + 1;
    }
    if (r.to && r.values && r.to->params && r.to->sites && r.to->escapes &&
        trace_sizes_hold(r.from, &r.sizes) && pair_sizes(&r) && pair_staying(&r) &&
        copy_graph(&r) && copy_sites(&r))
        plan = jit_plan_new(like->state, r.to);
    if (plan) {
        share_code(plan, like);
        plan->diverges_late = like->diverges_late;
        jit_plan_keep_record(plan, r.to);
    }
    PyErr_Clear();
    PyMem_Free(r.values);
    if (r.to)
        trace_release(r.to);
    return plan;
}

/* An array of these extents without elements of its own. */
static PyObject *
shape_alone(const JitSlot *slot)
{
    static char none[32];
    npy_intp strides[NPY_MAXDIMS] = {0};
    if (!slot->descr)
        return Py_NewRef(Py_None);
    return PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(slot->descr),
                                slot->ndim, slot->shape, strides, none, 0, NULL);
}

char *
jit_plan_text(const JitPlan *plan)
{
    PyObject **params = NULL;
    JitPlan *again = NULL;
    if (!plan->refitted)
        return plan->graph ? ir_print(plan->graph) : NULL;
    params = PyMem_Calloc(plan->nparams + 1, sizeof *params);
    bool made = params != NULL;
    for (uint32_t i = 0; made && i < plan->nparams; i++)
        made = (params[i] = shape_alone(&plan->slots[plan->param_slots[i]])) != NULL;
    if (made)
        again = jit_plan_resized(plan, params, plan->nparams);
    char *text = again && again->graph ? ir_print(again->graph) : NULL;
    for (uint32_t i = 0; params && i < plan->nparams; i++)
        Py_XDECREF(params[i]);
    PyMem_Free(params);
    if (again)
        jit_plan_release(again);
    PyErr_Clear();
    return text;
}
