/* refit.c - a plan that is given other extents as it stands.
**
** Where arrays of ever other lengths come, making a plan for each (resize.c) costs more than running it. Then a plan of
** a signature that was not called for longest is taken for the next: its numbers are changed in place. Laws:
**   1. All that depends on extents is changed, or nothing is: slots, groups and reductions. A plan that has anything else
**      with extents, or would have other steps for the new ones, is not refitted.
**   2. No one else has the plan: no call that runs, no job that compiles.
**   3. What is computed here for the new extents is computed for the old ones, too, and has to be what the plan has.
*/
#include <string.h>

#include "jit/resize.h"

enum {
    EXTENTS = 32,
    AXES = 4,              /* of a value */
    OPERANDS = 16,         /* of a step */
    BYTES_MAX = 256 << 10, /* of a value: more may be better in blocks of rows */
};

/* A slot as it is then. */
typedef struct Fit {
    npy_intp shape[AXES], strides[AXES], offset;
} Fit;

typedef struct Refit {
    JitPlan *plan;
    TraceSizes sizes;
    int64_t from[EXTENTS], to[EXTENTS];
    uint32_t n;
    Fit *fits; /* per slot */
} Refit;

/* False: extents that were equal, or different, are not so any more. */
static bool
add_extent(Refit *r, int64_t from, int64_t to)
{
    for (uint32_t i = 0; i < r->n; i++) {
        if ((r->from[i] == from) != (r->to[i] == to))
            return false;
        if (r->from[i] == from)
            return true;
    }
    if (r->n == EXTENTS || (from == 1) != (to == 1) || to < 1)
        return false;
    r->from[r->n] = from;
    r->to[r->n++] = to;
    return true;
}

static bool
take_extents(Refit *r)
{
    const JitPlan *plan = r->plan;
    for (uint32_t i = 0; i < plan->nparams; i++) {
        const JitSlot *slot = &plan->slots[plan->param_slots[i]];
        PyArrayObject *array = (PyArrayObject *)r->sizes.params[i];
        if (slot->ndim && (!PyArray_CheckExact(r->sizes.params[i]) ||
                           PyArray_NDIM(array) != slot->ndim))
            return false;
        for (int d = 0; d < slot->ndim; d++) {
            if (!add_extent(r, slot->shape[d], PyArray_DIM(array, d)))
                return false;
        }
    }
    for (int64_t extent = 2; extent < TRACE_STAYING; extent++) {
        if (plan->record->staying >> extent & 1 && !add_extent(r, extent, extent))
            return false;
    }
    return r->n > 0;
}

/* A size in a template. */
static bool
size_fits(void *context, TraceSizeRef *ref)
{
    Refit *r = context;
    int64_t was = PyLong_AsLongLong(ref->now), is;
    if (!trace_size_value(&r->sizes, ref->size, &is))
        return false;
    Py_XSETREF(ref->then, PyLong_FromLongLong(is));
    return ref->then && (was <= 1 || is <= 1 || add_extent(r, was, is));
}

static bool
size_change(void *Py_UNUSED(context), TraceSizeRef *ref)
{
    Py_SETREF(ref->now, ref->then);
    ref->then = NULL;
    return true;
}

static bool
sizes_fit(Refit *r, bool (*visit)(void *context, TraceSizeRef *ref))
{
    const JitPlan *plan = r->plan;
    const TraceState *state = plan->state->trace;
    for (uint32_t i = 0; plan->sized && i < plan->nsites; i++) {
        if (!trace_sizes_visit(state, plan->sites[i].args, visit, r) ||
            !trace_sizes_visit(state, plan->sites[i].kwargs, visit, r))
            return false;
    }
    return !plan->sized || trace_sizes_visit(state, plan->result, visit, r);
}

/* All sizes of the trace; `change`: they are what they are then. */
static bool
numbers_fit(Refit *r, bool change)
{
    for (uint32_t i = 0; i < r->plan->nsizes; i++) {
        JitSize *size = &r->plan->sizes[i];
        int64_t is;
        if (!trace_size_value(&r->sizes, size->size, &is) ||
            (!change && size->now > 1 && is > 1 && !add_extent(r, size->now, is)))
            return false;
        if (change)
            size->now = is;
    }
    return true;
}

/* -- Slots ------------------------------------------------------------------------- */

/* An extent of a value; 0: there is none. */
static npy_intp
extent_then(Refit *r, const JitSlot *slot, int d)
{
    npy_intp was = slot->shape[d];
    PyObject *said = slot->path ? PyTuple_GET_ITEM(slot->path, d) : Py_None;
    int64_t is;
    if (said != Py_None)
        return trace_size_value(&r->sizes, said, &is) && add_extent(r, was, is)
                   ? (npy_intp)is
                   : 0;
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->from[i] == was)
            return (npy_intp)r->to[i];
    }
    is = slot->path ? was == 1 : jit_extent_guess(r->from, r->to, r->n, was);
    return is && add_extent(r, was, is) ? (npy_intp)is : 0;
}

/* A value that lies in memory in C order. */
static bool
value_fits(Refit *r, const JitSlot *slot, Fit *fit)
{
    npy_intp was = PyDataType_ELSIZE(slot->descr), is = was;
    fit->offset = 0;
    if (slot->path == Py_None)
        return false;
    for (int d = slot->ndim; d-- > 0;) {
        if (slot->strides[d] != was && slot->shape[d] != 1)
            return false;
        fit->shape[d] = extent_then(r, slot, d);
        if (!fit->shape[d])
            return false;
        fit->strides[d] = is;
        was *= slot->shape[d];
        is *= fit->shape[d];
    }
    return was <= BYTES_MAX && is <= BYTES_MAX;
}

static bool
constant_fits(Refit *r, const JitSlot *slot, Fit *fit)
{
    for (int d = 0; d < slot->ndim; d++) {
        if (!add_extent(r, slot->shape[d], slot->shape[d]))
            return false;
        fit->shape[d] = slot->shape[d];
        fit->strides[d] = slot->strides[d];
    }
    return true;
}

static bool
window_fits(Refit *r, const JitSlot *slot, const RtSlot *rt, Fit *fit)
{
    const Fit *base = &r->fits[rt->base];
    TraceWindow window = {.ndim = r->plan->slots[rt->base].ndim};
    if (!slot->path || slot->path == Py_None || rt->index ||
        r->plan->rt->slots[rt->base].kind == RT_SLOT_view)
        return false;
    memcpy(window.shape, base->shape, sizeof base->shape);
    memcpy(window.strides, base->strides, sizeof base->strides);
    if (!trace_path_apply(&r->sizes, slot->path, &window) || window.ndim != slot->ndim)
        return false;
    fit->offset = window.offset;
    for (int d = 0; d < window.ndim; d++) {
        fit->shape[d] = window.shape[d];
        fit->strides[d] = window.strides[d];
        if (!add_extent(r, slot->shape[d], window.shape[d]))
            return false;
    }
    return true;
}

static bool
same_window(int ndim, const npy_intp *shape_a, const npy_intp *strides_a,
            const npy_intp *shape_b, const npy_intp *strides_b)
{
    return jit_same_axes(ndim, shape_a, shape_b) &&
           jit_same_axes(ndim, strides_a, strides_b);
}

/* Windows on one value are the same place if they were. */
static bool
windows_agree(const Refit *r)
{
    const JitPlan *plan = r->plan;
    const RtSlot *rt = plan->rt->slots;
    for (uint32_t i = 0; i < plan->rt->nslots; i++) {
        for (uint32_t k = 0; rt[i].kind == RT_SLOT_view && k < i; k++) {
            const JitSlot *a = &plan->slots[i], *b = &plan->slots[k];
            const Fit *x = &r->fits[i], *y = &r->fits[k];
            if (rt[k].kind != RT_SLOT_view || rt[k].base != rt[i].base ||
                a->ndim != b->ndim)
                continue;
            bool was = rt[i].offset == rt[k].offset &&
                       same_window(a->ndim, a->shape, a->strides, b->shape, b->strides);
            bool is = x->offset == y->offset &&
                      same_window(a->ndim, x->shape, x->strides, y->shape, y->strides);
            if (was != is)
                return false;
        }
    }
    return true;
}

static bool
slots_fit(Refit *r)
{
    const JitPlan *plan = r->plan;
    for (uint32_t i = 0; i < plan->rt->nslots; i++) {
        const JitSlot *slot = &plan->slots[i];
        const RtSlot *rt = &plan->rt->slots[i];
        bool fit = rt->kind == RT_SLOT_view ? window_fits(r, slot, rt, &r->fits[i])
                   : !slot->ndim            ? rt->kind != RT_SLOT_index
                   : slot->ndim > AXES      ? false
                   : rt->kind == RT_SLOT_constant ? constant_fits(r, slot, &r->fits[i])
                                                  : value_fits(r, slot, &r->fits[i]);
        if (!fit)
            return false;
    }
    return windows_agree(r);
}

/* Windows that no step needs; `change`: they are of these extents from now on. */
static bool
ghosts_fit(Refit *r, bool change)
{
    const JitPlan *plan = r->plan;
    for (uint32_t i = 0; i < plan->nghosts; i++) {
        JitGhost *ghost = &plan->ghosts[i];
        PyArrayObject *array = (PyArrayObject *)r->sizes.params[ghost->param];
        TraceWindow window = {.ndim = PyArray_NDIM(array)};
        for (int d = 0; d < window.ndim; d++) {
            window.shape[d] = PyArray_DIM(array, d);
            window.strides[d] = PyArray_STRIDE(array, d);
        }
        if (!trace_path_apply(&r->sizes, ghost->path, &window) ||
            window.ndim != ghost->ndim)
            return false;
        for (int d = 0; d < window.ndim; d++) {
            if (!change && !add_extent(r, ghost->shape[d], window.shape[d]))
                return false;
            if (change)
                ghost->shape[d] = window.shape[d];
        }
    }
    return true;
}

/* -- Steps ------------------------------------------------------------------------- */

/* The axes of a step: those over which its operands go. */
typedef struct Space {
    RtGroup group; /* of a step, with axes of its own */
    intptr_t shape[AXES], strides[OPERANDS * AXES];
} Space;

/* Each operand as the group sees it, `then` or as the plan has it. False: it has too many. */
static bool
space_of(const Refit *r, const RtGroup *group, uint32_t noperands,
         const uint32_t *operands, bool then, Space *s)
{
    int ndim = 0;
    if (noperands > OPERANDS)
        return false;
    s->group = *group;
    s->group.shape = s->shape;
    s->group.strides = s->strides;
    for (uint32_t k = 0; k < noperands; k++) {
        int own = r->plan->slots[operands[k]].ndim;
        ndim = own > ndim ? own : ndim;
    }
    if (ndim > AXES)
        return false;
    s->group.ndim = (uint32_t)ndim;
    for (int d = 0; d < ndim; d++)
        s->shape[d] = 1;
    for (uint32_t k = 0; k < noperands; k++) {
        const JitSlot *slot = &r->plan->slots[operands[k]];
        const npy_intp *shape = then ? r->fits[operands[k]].shape : slot->shape;
        const npy_intp *strides = then ? r->fits[operands[k]].strides : slot->strides;
        for (int d = 0; d < ndim; d++) {
            int own = d - (ndim - slot->ndim);
            bool moves = own >= 0 && shape[own] != 1;
            s->strides[(int)k * ndim + d] = moves ? strides[own] : 0;
            if (moves)
                s->shape[d] = shape[own];
        }
    }
    return true;
}

static bool
same_kernel(const RtGroup *a, const RtGroup *b)
{
    return a->ndim == b->ndim && a->packed == b->packed &&
           a->nest.inner == b->nest.inner && a->nest.rows == b->nest.rows &&
           a->nest.scalar == b->nest.scalar && a->nest.strided == b->nest.strided &&
           a->nest.packed == b->nest.packed && a->nest.fixed == b->nest.fixed &&
           memcmp(a->nest.every, b->nest.every, a->noperands) == 0;
}

static bool
same_axes(const RtGroup *a, const RtGroup *b, uint32_t noperands)
{
    size_t axis = sizeof *a->shape;
    return a->ndim == b->ndim &&
           (!a->ndim ||
            (memcmp(a->shape, b->shape, a->ndim * axis) == 0 &&
             memcmp(a->strides, b->strides, noperands * a->ndim * axis) == 0));
}

/* The group's axes are those of the space from now on. */
static void
take_axes(RtGroup *group, const RtGroup *space)
{
    intptr_t *shape = group->shape, *strides = group->strides;
    uint32_t *scratch = group->scratch;
    RtCode *code = group->code;
    memcpy(shape, space->shape, space->ndim * sizeof *shape);
    memcpy(strides, space->strides, space->noperands * space->ndim * sizeof *strides);
    *group = *space;
    group->shape = shape;
    group->strides = strides;
    group->scratch = scratch;
    group->code = code;
}

/* ORDER phases: a step is looked at, and changed only when all are good. */
static bool
group_fit(const Refit *r, const RtStep *step, bool change)
{
    RtGroup *group = r->plan->rt->groups[step->index];
    const uint32_t *operands = r->plan->rt->operands + step->operands;
    Space was, is;
    if (!group->ndim)
        return true;
    if (!space_of(r, group, group->noperands, operands, true, &is))
        return false;
    rt_group_finish(&is.group);
    if (change) {
        take_axes(group, &is.group);
        return true;
    }
    if (!space_of(r, group, group->noperands, operands, false, &was))
        return false;
    rt_group_finish(&was.group);
    return same_axes(&was.group, group, group->noperands) &&
           same_kernel(&was.group, group) && same_kernel(&is.group, group);
}

/* The space as (outer, run) or (outer, run, inner); false: the reduction is another one. */
static bool
reduce_axes(const RtReduce *like, Space *s, RtReduce *made)
{
    RtGroup *g = &s->group;
    intptr_t rows = g->ndim == 2 ? s->shape[0] : 1, n = s->shape[g->ndim - 1];
    bool total = like->outer == 1 && !like->inner,
         columns = like->outer == 1 && like->inner;
    intptr_t strides[OPERANDS * AXES];
    uint32_t ndim = columns ? 3 : 2;
    if (!g->ndim || g->ndim > 2 || (g->ndim == 1 && !total))
        return false;
    for (uint32_t k = 0; k < g->noperands; k++) {
        bool made_here = k >= g->ninputs;
        intptr_t item = g->itemsize[k],
                 last = made_here ? item : s->strides[k * g->ndim + g->ndim - 1],
                 row = g->ndim == 1 ? 0
                       : made_here  ? n * item
                                    : s->strides[k * 2];
        if (total && g->ndim == 2 && row != last * n)
            return false;
        intptr_t *own = strides + k * ndim;
        own[0] = total || columns ? 0 : row;
        own[1] = columns ? row : last;
        if (columns)
            own[2] = last;
    }
    made->outer = total || columns ? 1 : rows;
    made->run = total ? rows * n : columns ? rows : n;
    made->inner = columns ? n : 0;
    g->ndim = ndim;
    s->shape[0] = made->outer;
    s->shape[1] = made->run;
    s->shape[2] = made->inner;
    memcpy(s->strides, strides, g->noperands * ndim * sizeof *strides);
    return true;
}

static bool
reduce_fit(const Refit *r, const RtStep *step, bool change)
{
    RtReduce *reduce = &r->plan->rt->reduces[step->index], was = *reduce, is = *reduce;
    const uint32_t *operands = r->plan->rt->operands + step->operands;
    RtGroup *group = reduce->group;
    Space before, then;
    if (reduce->walks || reduce->stores || reduce->empty || reduce->gather ||
        !group->ninputs || group->noperands > OPERANDS ||
        !space_of(r, group, group->ninputs, operands, true, &then) ||
        !space_of(r, group, group->ninputs, operands, false, &before) ||
        !reduce_axes(reduce, &then, &is) || !reduce_axes(reduce, &before, &was))
        return false;
    rt_group_settle(&then.group);
    if (change) {
        take_axes(group, &then.group);
        reduce->outer = is.outer;
        reduce->run = is.run;
        reduce->inner = is.inner;
        rt_reduce_finish(reduce);
        return true;
    }
    rt_group_settle(&before.group); /* the scratch memory is the group's own */
    return was.outer == reduce->outer && was.run == reduce->run &&
           was.inner == reduce->inner && is.run > 1 &&
           (is.run > RT_LEAF) == (was.run > RT_LEAF) && is.run < INT32_MAX &&
           same_axes(&before.group, group, group->noperands) &&
           same_kernel(&then.group, group);
}

static bool
step_fit(const Refit *r, const RtStep *step, bool change)
{
    RtPlan *rt = r->plan->rt;
    bool reduces = step->kind == RT_STEP_reduce || step->kind == RT_STEP_along;
    size_t scratch = 0;
    if (step->kind == RT_STEP_place || step->kind == RT_STEP_index)
        return false;
    if (step->kind != RT_STEP_group && !reduces)
        return true;
    if (!(reduces ? reduce_fit : group_fit)(r, step, change))
        return false;
    scratch = reduces ? rt->reduces[step->index].scratch_bytes
                      : rt->groups[step->index]->scratch_bytes;
    if (scratch > rt->scratch_bytes)
        rt->scratch_bytes = scratch;
    return true;
}

static void
slot_refit(JitSlot *slot, RtSlot *rt, const Fit *fit)
{
    bool view = rt->kind == RT_SLOT_view; /* its dtype is not known here */
    npy_intp bytes = slot->ndim && !view ? PyDataType_ELSIZE(slot->descr) : 0;
    for (int d = slot->ndim; d-- > 0;) {
        slot->shape[d] = fit->shape[d];
        slot->strides[d] = fit->strides[d];
        bytes *= fit->shape[d];
    }
    if (view)
        rt->offset = fit->offset;
    else if (slot->ndim)
        rt->bytes = (size_t)bytes;
}

/* Numbers that follow from the extents are what they are then; false: they allow none. */
static bool
counts_refit(const Refit *r, bool change)
{
    const JitPlan *plan = r->plan;
    const IrGraph *g = plan->graph;
    for (IrNode node = 1; plan->counts && node < ir_nnodes(g); node++) {
        if (ir_node_op(g, node) != OP_count)
            continue;
        npy_intp count = trace_extents_count(g, node, &r->sizes);
        PyArrayObject *array = plan->record->values[ir_result(g, node, 0)].array;
        if (!count || !array || (change && !trace_extents_fill(array, count)))
            return false;
    }
    return true;
}

static bool
steps_fit(const Refit *r, bool change)
{
    const RtPlan *rt = r->plan->rt;
    for (uint32_t i = 0; i < rt->nsteps; i++) {
        if (!step_fit(r, &rt->steps[i], change))
            return false;
    }
    return true;
}

bool
jit_plan_refit(JitPlan *plan, PyObject *const *params)
{
    const RtPlan *rt = plan->rt;
    Refit r = {.plan = plan, .sizes = {.params = params, .nparams = plan->nparams}};
    bool fits = false;
    if (plan->refs != 1 || !plan->record || !plan->refits || rt->nloops || rt->nrows ||
        rt->nbehinds || plan->naliases || !take_extents(&r) ||
        !trace_sizes_hold(plan->record, &r.sizes) || !numbers_fit(&r, false) ||
        !sizes_fit(&r, size_fits))
        return false;
    r.fits = PyMem_Calloc(rt->nslots + 1, sizeof *r.fits);
    if (r.fits && ghosts_fit(&r, false) && slots_fit(&r) && steps_fit(&r, false) &&
        counts_refit(&r, false) &&
        counts_refit(&r, true)) { /* a number is put without fail, or none is */
        sizes_fit(&r, size_change);
        numbers_fit(&r, true);
        ghosts_fit(&r, true);
        steps_fit(&r, true); /* by the slots as they were */
        for (uint32_t i = 0; i < rt->nslots; i++)
            slot_refit(&plan->slots[i], &plan->rt->slots[i], &r.fits[i]);
        plan->refitted = true;
        fits = true;
    }
    PyMem_Free(r.fits);
    return fits;
}
