/* plan_sites.c - the plan's own sites: what Python is called for, its references now slots. */
#include "jit/execute.h"
#include "jit/own.h"

static uint32_t
value_to_slot(void *context, IrValue value)
{
    return jit_plan_slot_of(context, value) + 1;
}

/* A site's or the result's template, its references now slots. */
static PyObject *
to_slots(Planner *p, PyObject *template)
{
    PyObject *copy =
        template ? trace_template_map(p->state->trace, template, value_to_slot, p)
                 : NULL;
    p->failed |= template && !copy;
    return copy;
}

/* True if an array among a call's results is worth its place in the pool. */
static bool
is_large(const Planner *p, const TraceSite *site)
{
    for (uint32_t i = 0; site->node && i < ir_node_nresults(p->g, site->node); i++) {
        IrValue value = ir_result(p->g, site->node, i);
        IrType type = ir_type(p->g, value);
        const PyArray_Descr *descr = p->trace->values[value].descr;
        int64_t bytes = descr ? PyDataType_ELSIZE(descr) : 0;
        for (uint32_t d = 0; d < type.ndim; d++)
            bytes *= type.dims[d].value;
        if (type.ndim && bytes >= POOLED_BYTES)
            return true;
    }
    return false;
}

static void
add_reached(Planner *p, JitSite *site, IrValue value)
{
    uint32_t slot = jit_plan_root_slot(p, jit_plan_slot_of(p, value));
    if (!jit_plan_has(site->reached, site->nreached, slot))
        site->reached[site->nreached++] = slot;
}

/* Slots of what a call changes; of what unknown code may change: also of arrays that are captured after it. */
static void
take_reached(Planner *p, const TraceSite *from, JitSite *site)
{
    const IrAttr *updates = ir_node_attr(p->g, from->node, "updates");
    uint32_t n = updates ? updates->count : 0;
    site->reached = PyMem_Calloc(n + p->trace->nparams + 1, sizeof *site->reached);
    p->failed |= !site->reached;
    for (uint32_t i = 0; i < n && !p->failed; i++) {
        add_reached(p, site,
                    ir_node_operand(p->g, from->node, (uint32_t)updates->ints[i]));
    }
    for (uint32_t i = 0; from->epoch && i < p->trace->nparams && !p->failed; i++) {
        if (PyArray_Check(p->trace->params[i].object))
            add_reached(p, site, p->trace->params[i].value);
    }
}

/* Keywords behind the positional arguments, as a vectorcall has them. */
static void
name_arguments(Planner *p, JitSite *site)
{
    PyObject *key, *value;
    Py_ssize_t at = 0, n = PyTuple_GET_SIZE(site->args), i = 0;
    Py_ssize_t nkw = site->kwargs ? PyDict_GET_SIZE(site->kwargs) : 0;
    if (nkw == 0) {
        Py_CLEAR(site->kwargs);
        return;
    }
    PyObject *all = PyTuple_New(n + nkw), *names = PyTuple_New(nkw);
    for (; all && names && i < n; i++)
        PyTuple_SET_ITEM(all, i, Py_NewRef(PyTuple_GET_ITEM(site->args, i)));
    while (all && names && PyDict_Next(site->kwargs, &at, &key, &value)) {
        PyTuple_SET_ITEM(names, i - n, Py_NewRef(key));
        PyTuple_SET_ITEM(all, i++, Py_NewRef(value));
    }
    if (all && names) {
        Py_SETREF(site->args, Py_NewRef(all));
        site->names = Py_NewRef(names);
        Py_CLEAR(site->kwargs);
    } else
        p->failed = true;
    Py_XDECREF(all);
    Py_XDECREF(names);
}

/* The plan's own sites and result. */
void
jit_plan_take_sites(Planner *p)
{
    Trace *trace = p->trace;
    p->plan->sites = PyMem_Calloc(trace->nsites + 1, sizeof(JitSite));
    if (!p->plan->sites) {
        p->failed = true;
        return;
    }
    p->plan->nsites = trace->nsites;
    uint32_t last =
        0; /* 1 + the last site at which the plan may turn out not to hold */
    for (uint32_t i = 0; i < trace->nsites; i++) {
        if (trace->sites[i].differs || trace->sites[i].raises)
            last = i + 1;
    }
    for (uint32_t i = 0; i < trace->nsites && !p->failed; i++) {
        const TraceSite *from = &trace->sites[i];
        if (!p->called[i])
            continue;
        PyObject *own = jit_own_callable(p, from);
        p->plan->sites[i] = (JitSite){
            .callable = Py_NewRef(own ? own : from->callable),
            .origin = Py_XNewRef(own && !from->origin ? from->callable : from->origin),
            .args = to_slots(p, from->args),
            .kwargs = to_slots(p, from->kwargs),
            .result = to_slots(p, from->result),
            .raises = from->raises && !ir_node_attr(p->g, from->node, "updates") &&
                      Py_TYPE(from->callable) != p->state->nest_type,
            .effect = from->kind == SITE_effect,
            .store = trace_is_store(p->state->trace, from->callable),
            .large = from->kind == SITE_call && is_large(p, from),
            .kept = i + 1 < last,
            .asks = from->kind == SITE_call && !from->kwargs &&
                    PyTuple_GET_SIZE(from->args) == 1 && jit_site_asks(from->callable),
            .opaque = from->epoch != 0,
        };
        if (from->kind == SITE_call && !p->failed)
            name_arguments(p, &p->plan->sites[i]);
        const JitSite *site = &p->plan->sites[i];
        bool writes = site->effect && site->kept && from->node &&
                      ir_node_attr(p->g, from->node, "updates") &&
                      Py_TYPE(from->callable) == p->state->nest_type;
        if (from->epoch || writes)
            take_reached(p, from, &p->plan->sites[i]);
    }
    if (p->region == 1)
        p->plan->result = to_slots(p, trace->result);
}
