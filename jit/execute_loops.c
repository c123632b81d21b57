/* execute_loops.c - frames of the bodies of loops. */
#include <string.h>

#include "jit/execute.h"

/* -- Frames ------------------------------------------------------------------------ */

/* What does not change from call to call. */
void
jit_frame_constants(const RtPlan *rt, RtFrame *frame)
{
    const Call *call = frame->context;
    for (uint32_t i = 0; i < rt->nslots; i++) {
        if (rt->slots[i].kind == RT_SLOT_scalar)
            frame->data[i] = call->scalars[call->plan->slots[i].scalar_at].bytes;
        if (rt->slots[i].kind == RT_SLOT_constant)
            frame->data[i] = rt->slots[i].data;
        else if (rt->slots[i].kind == RT_SLOT_index)
            frame->data[i] = (char *)rt->slots[i].offset;
    }
}

/* A frame in memory of its own, for the body of a loop. */
static int
frame_open(JitPlan *plan, RtFrame *frame)
{
    size_t slots = plan->rt->nslots * sizeof(char *);
    size_t scalars = plan->nscalars * sizeof(Scalar);
    char *memory = PyMem_Calloc(1, 2 * sizeof(Scalar) + scalars + 2 * slots + 1);
    if (!memory) {
        PyErr_NoMemory();
        return -1;
    }
    _Static_assert(sizeof(Call) <= 2 * sizeof(Scalar),
                   "a call's head fits before the scalars");
    Call *call = (Call *)(void *)memory;
    call->plan = plan;
    call->scalars = (Scalar *)(void *)(memory + 2 * sizeof(Scalar));
    plan->refs++;
    *frame = (RtFrame){
        .data = (char **)(void *)(memory + 2 * sizeof(Scalar) + scalars),
        .object = (void **)(void *)(memory + 2 * sizeof(Scalar) + scalars + slots),
        .context = call,
    };
    jit_frame_constants(plan->rt, frame);
    return 0;
}

void
jit_loop_leave(RtFrame *frame)
{
    JitPlan *plan = jit_frame_plan(frame);
    for (uint32_t i = 0; i < plan->rt->nslots; i++)
        Py_XDECREF((PyObject *)frame->object[i]);
    PyMem_Free(frame->context);
    jit_plan_release(plan);
}

int
jit_loop_enter(RtFrame *frame, uint32_t index, RtFrame *body)
{
    return frame_open(jit_frame_plan(frame)->bodies[index], body);
}

int
jit_loop_bind(RtFrame *from_frame, uint32_t from, RtFrame *in, uint32_t to)
{
    JitPlan *plan = jit_frame_plan(in);
    RtSlotKind kind = plan->rt->slots[to].kind;
    PyObject *object = from_frame->object[from];
    if (plan->slots[to].scalar) {
        Scalar *scalar = &((Call *)in->context)->scalars[plan->slots[to].scalar_at];
        memmove(scalar->bytes, from_frame->data[from],
                (size_t)PyDataType_ELSIZE(plan->slots[to].descr));
        in->data[to] = scalar->bytes;
        Py_XINCREF(object);
        PyObject *before = in->object[to];
        in->object[to] = object;
        Py_XDECREF(before);
        return 0;
    }
    if (!object && kind == RT_SLOT_object) {
        object = jit_slot_object(from_frame, from);
        if (!object)
            return -1;
    }
    Py_XINCREF(object);
    PyObject *old = in->object[to];
    in->object[to] = object;
    in->data[to] = from_frame->data[from];
    Py_XDECREF(old);
    return 0;
}

int
jit_body_run(const RtLoop *loop, JitPlan *body, char *const *data,
             PyObject *const *objects, PyObject **results)
{
    RtFrame frame;
    int status = 0;
    if (frame_open(body, &frame) < 0)
        return -1;
    RtTeam team = jit_team(body->state, body->threads);
    frame.team = &team;
    frame.scratch = rt_buffer_take(body->state->pool, body->rt->scratch_bytes);
    if (!frame.scratch) {
        PyErr_NoMemory();
        status = -1;
    }
    for (uint32_t i = 0; status == 0 && i < body->nparams; i++) {
        uint32_t slot = body->param_slots[i];
        if (body->slots[slot].scalar && objects[i])
            jit_slot_set(&frame, slot, objects[i]);
        else {
            frame.data[slot] = data[i];
            frame.object[slot] = Py_XNewRef(objects[i]);
        }
    }
    if (status == 0)
        status = rt_loop_run(loop, body->rt->callbacks, &frame);
    if (status == 0 && PyErr_Occurred())
        status = -1;
    for (uint32_t i = 0; status == 0 && i < loop->ncarried; i++) {
        PyObject *object = jit_slot_object(&frame, loop->param[i]);
        results[i] = Py_XNewRef(object);
        if (!object)
            status = -1;
    }
    if (status != 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError,
                        "a loop's body gave another kind of result");
    rt_buffer_give(body->state->pool, frame.scratch);
    jit_loop_leave(&frame);
    return status == 0 ? 0 : -1;
}
