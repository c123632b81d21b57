/* plan_loops.c - loops: bodies as plans of their own, bound to what is around them. */
#include <stdlib.h>
#include <string.h>

#include "jit/planner.h"

static JitPlan *body_of(JitState *state, Trace *trace, IrNode node, IrRegion region);

static uint32_t *
slots_new(Planner *p, uint32_t n)
{
    uint32_t *table = calloc(n + 1, sizeof *table);
    p->failed |= !table;
    return table;
}

/* A loop: its body is a plan of its own; what the body uses from here is bound to it. */
void
jit_plan_loop_emit(Planner *p, IrNode node)
{
    IrRegion region = ir_node_region(p->g, node, 0);
    IrNode trip = ir_def(p->g, ir_node_operand(p->g, node, 0));
    JitPlan *body = body_of(p->state, p->trace, node, region);
    uint32_t n = ir_node_nresults(p->g, node), room = p->loops_room;
    JitPlan **bodies =
        body ? jit_plan_grown(p, p->plan->bodies, p->rt->nloops, &room, sizeof *bodies)
             : NULL;
    RtLoop *loops = bodies ? jit_plan_grown(p, p->rt->loops, p->rt->nloops,
                                            &p->loops_room, sizeof *loops)
                           : NULL;
    if (bodies)
        p->plan->bodies = bodies;
    if (!loops) {
        if (body)
            jit_plan_release(body);
        p->failed = true;
        return;
    }
    p->rt->loops = loops;
    bodies[p->rt->nloops] = body;
    RtLoop *loop = &loops[p->rt->nloops];
    *loop = (RtLoop){.body = body->rt,
                     .turn = body->turn_slot,
                     .nbound = body->nparams,
                     .count = (intptr_t)ir_node_int(p->g, trip, "value", 0)};
    loop->outer = slots_new(p, body->nparams);
    loop->inner = slots_new(p, body->nparams);
    loop->param = slots_new(p, n);
    loop->yield = slots_new(p, n);
    loop->result = slots_new(p, n);
    for (uint32_t i = 0; !p->failed && i < body->nparams; i++) {
        /* The first are the carried ones: bound to the values they start as. */
        IrValue value = i < n ? ir_node_operand(p->g, node, i + 1) : body->bound[i];
        loop->outer[i] = jit_plan_slot_of(p, value);
        loop->inner[i] = body->param_slots[i];
        if (!p->failed && p->rt->slots[loop->outer[i]].kind != RT_SLOT_index)
            jit_plan_touch(p, loop->outer[i]);
    }
    for (uint32_t i = 0; !p->failed && i < n; i++) {
        IrValue result = ir_result(p->g, node, i);
        if (jit_plan_carried_in_place(p->g, node, i)) {
            jit_plan_slot_of(p, result);
            continue;
        }
        loop->param[loop->ncarried] = body->param_slots[i];
        loop->yield[loop->ncarried] = body->yield_slots[i];
        loop->result[loop->ncarried++] = jit_plan_slot_of(p, result);
        jit_plan_touch(p, jit_plan_slot_of(p, result));
    }
    if (body->rt->scratch_bytes > p->rt->scratch_bytes)
        p->rt->scratch_bytes = body->rt->scratch_bytes;
    p->plan->nops += body->nops;
    p->plan->ncalls += body->ncalls;
    jit_plan_step_add(p, RT_STEP_loop, p->rt->nloops++, 0);
}

/* -- Bodies -------------------------------------------------------------------------- */

static void
body_drop(PyObject *capsule)
{
    jit_plan_release(PyCapsule_GetPointer(capsule, NULL));
}

/* The plan of a loop's body, made once (its sites go over to it). One reference. */
static JitPlan *
body_of(JitState *state, Trace *trace, IrNode node, IrRegion region)
{
    PyObject *key = PyLong_FromUnsignedLong(node), *capsule;
    JitPlan *body = NULL;
    if (!key)
        return NULL;
    capsule = PyDict_GetItemWithError(trace->bodies, key);
    if (capsule) {
        body = PyCapsule_GetPointer(capsule, NULL);
        body->refs++;
    } else if ((body = jit_plan_region(state, trace, region))) {
        body->refs++;
        capsule = PyCapsule_New(body, NULL, body_drop);
        if (!capsule || PyDict_SetItem(trace->bodies, key, capsule) < 0) {
            if (!capsule)
                body->refs--;
            jit_plan_release(body);
            body = NULL;
        }
        Py_XDECREF(capsule);
    }
    Py_DECREF(key);
    return body;
}

/* -- Running while tracing --------------------------------------------------------- */

/* Memory, and the object if there is one, of a value of the trace. */
static void
value_memory(const Trace *trace, IrValue value, char **data, PyObject **object)
{
    const TraceValue *v = &trace->values[value];
    *object = v->scalar ? v->scalar : (PyObject *)v->array;
    *data = v->array ? PyArray_BYTES(v->array) : NULL;
}

int
jit_trace_loop(void *context, Trace *trace, IrNode node, PyObject **results)
{
    JitState *state = context;
    IrRegion region = ir_node_region(trace->graph, node, 0);
    IrNode trip = ir_def(trace->graph, ir_node_operand(trace->graph, node, 0));
    uint32_t n = ir_node_nresults(trace->graph, node), ncarried = 0;
    int status = -1;
    char **data = NULL;
    PyObject **objects = NULL, **carried = NULL;
    RtLoop loop = {0};
    JitPlan *body = body_of(state, trace, node, region);
    if (!body)
        return -1;
    data = PyMem_Calloc(body->nparams + 1, sizeof *data);
    objects = PyMem_Calloc(body->nparams + 1, sizeof *objects);
    carried = PyMem_Calloc(n + 1, sizeof *carried);
    loop.param = calloc(n + 1, sizeof *loop.param);
    loop.yield = calloc(n + 1, sizeof *loop.yield);
    if (!data || !objects || !carried || !loop.param || !loop.yield) {
        PyErr_NoMemory();
        goto done;
    }
    for (uint32_t i = 0; i < body->nparams; i++) {
        IrValue value =
            i < n ? ir_node_operand(trace->graph, node, i + 1) : body->bound[i];
        if (trace_force(trace, value) < 0)
            goto done;
        value_memory(trace, value, &data[i], &objects[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (jit_plan_carried_in_place(trace->graph, node, i))
            continue;
        loop.param[ncarried] = body->param_slots[i];
        loop.yield[ncarried++] = body->yield_slots[i];
    }
    loop.body = body->rt;
    loop.ncarried = ncarried;
    loop.turn = body->turn_slot;
    loop.count = (intptr_t)ir_node_int(trace->graph, trip, "value", 0);
    status = jit_body_run(&loop, body, data, objects, carried);
    for (uint32_t i = 0, k = 0; status == 0 && i < n; i++) {
        if (!jit_plan_carried_in_place(trace->graph, node, i)) {
            results[i] = carried[k];
            carried[k++] = NULL;
        }
    }
done:
    for (uint32_t i = 0; carried && i < n; i++)
        Py_XDECREF(carried[i]);
    PyMem_Free(data);
    PyMem_Free(objects);
    PyMem_Free(carried);
    free(loop.param);
    free(loop.yield);
    jit_plan_release(body);
    return status;
}
