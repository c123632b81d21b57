/* execute.c - runs a plan: the callbacks of the runtime, and what becomes of the
 *results.
 **
 ** A frame has an address and an object for each slot. Objects are made when they are
 *needed:
 ** result arrays before the group that fills them, views when a library call or the
 *result
 ** shows them.
 */
#include <stdlib.h>
#include <string.h>

#include "jit/jit.h"

enum { SMALL_SLOTS = 48, SMALL_SCALARS = 8 };

typedef union Scalar {
    char bytes[32];
    double number;
    long double widest;
} Scalar;

/* -- Objects of slots -------------------------------------------------------------- */

typedef struct Call {
    JitPlan *plan;
    Scalar *scalars;
    PyObject *log; /* list of the effects so far, or NULL */
    Py_ssize_t log_at; /* effects in it that this run has come by */
} Call;

static JitPlan *
plan_of(const RtFrame *frame)
{
    return ((Call *)frame->context)->plan;
}

/* The object of a slot, made if need be. Borrowed. */
static PyObject *
object_of(RtFrame *frame, uint32_t slot)
{
    JitPlan *plan = plan_of(frame);
    const RtSlot *place = &plan->rt->slots[slot];
    const JitSlot *info = &plan->slots[slot];
    if (frame->object[slot])
        return frame->object[slot];
    char *data = frame->data[slot];
    PyObject *base = NULL;
    if (info->scalar) {
        frame->object[slot] = info->scalar == JIT_SCALAR_float
                                  ? PyFloat_FromDouble(*(double *)(void *)data)
                                  : PyArray_Scalar(data, info->descr, NULL);
        return frame->object[slot];
    }
    if (place->kind == RT_SLOT_view) {
        base = object_of(frame, place->base);
        if (!base)
            return NULL;
        data = PyArray_BYTES((PyArrayObject *)base) + place->offset;
        if (place->index)
            data += (intptr_t)frame->data[place->index - 1];
    }
    Py_INCREF(info->descr);
    PyObject *array = PyArray_NewFromDescr(
        &PyArray_Type, info->descr, info->ndim, info->shape, info->strides, data,
        info->readonly ? 0 : NPY_ARRAY_WRITEABLE, NULL);
    if (!array)
        return NULL;
    if (base && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(base)) < 0) {
        Py_DECREF(array);
        return NULL;
    }
    frame->object[slot] = array;
    return array;
}

static void
slot_set(RtFrame *frame, uint32_t slot, PyObject *object)
{
    JitPlan *plan = plan_of(frame);
    const JitSlot *info = &plan->slots[slot];
    PyObject *old = frame->object[slot];
    frame->object[slot] = Py_NewRef(object);
    Py_XDECREF(old);
    if (!info->scalar) {
        frame->data[slot] = PyArray_BYTES((PyArrayObject *)object);
        return;
    }
    Scalar *scalar = &((Call *)frame->context)->scalars[info->scalar_at];
    frame->data[slot] = scalar->bytes;
    if (info->scalar == JIT_SCALAR_float)
        scalar->number = PyFloat_AS_DOUBLE(object);
    else
        PyArray_ScalarAsCtype(object, scalar->bytes);
}

/* -- Templates --------------------------------------------------------------------- */

static PyObject *build(RtFrame *frame, PyObject *template);

static PyObject *
build_sequence(RtFrame *frame, PyObject *template)
{
    bool tuple = trace_is_tuple(template);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(template);
    PyObject *copy = tuple ? trace_tuple_like(template, n) : PyList_New(n);
    bool changed = !tuple;
    for (Py_ssize_t i = 0; copy && i < n; i++) {
        PyObject *part = PySequence_Fast_GET_ITEM(template, i),
                 *item = build(frame, part);
        if (!item) {
            Py_DECREF(copy);
            return NULL;
        }
        changed |= item != part;
        if (tuple)
            PyTuple_SET_ITEM(copy, i, item);
        else
            PyList_SET_ITEM(copy, i, item);
    }
    if (copy && !changed)
        Py_SETREF(copy, Py_NewRef(template));
    return copy;
}

static PyObject *
build(RtFrame *frame, PyObject *template)
{
    TraceState *state = plan_of(frame)->state->trace;
    if (trace_ref_check(state, template)) {
        uint32_t slot = ((TraceRef *)template)->value;
        return slot ? Py_XNewRef(object_of(frame, slot - 1)) : Py_NewRef(Py_None);
    }
    if (trace_is_tuple(template) || PyList_CheckExact(template))
        return build_sequence(frame, template);
    if (PyCell_Check(template)) { /* an object from outside */
        PyObject *held = PyCell_GET(template);
        return Py_NewRef(PyWeakref_CheckRef(held) ? PyWeakref_GET_OBJECT(held) : held);
    }
    if (!PyDict_CheckExact(template))
        return Py_NewRef(template);
    PyObject *copy = PyDict_New(), *key, *value;
    Py_ssize_t at = 0;
    while (copy && PyDict_Next(template, &at, &key, &value)) {
        PyObject *item = build(frame, value);
        if (!item || PyDict_SetItem(copy, key, item) < 0)
            Py_CLEAR(copy);
        Py_XDECREF(item);
    }
    return copy;
}

/* True if an answer is the one the plan was made for. Floats count by their bits. */
static bool
same_constant(PyObject *expected, PyObject *got)
{
    if (expected == got)
        return true;
    if (Py_TYPE(expected) != Py_TYPE(got))
        return false;
    if (PyFloat_CheckExact(got)) {
        double a = PyFloat_AS_DOUBLE(expected), b = PyFloat_AS_DOUBLE(got);
        return memcmp(&a, &b, sizeof a) == 0;
    }
    if (PyComplex_CheckExact(got)) {
        Py_complex a = PyComplex_AsCComplex(expected), b = PyComplex_AsCComplex(got);
        return memcmp(&a, &b, sizeof a) == 0;
    }
    if (PyArray_CheckScalar(got)) {
        Scalar a = {{0}}, b = {{0}};
        PyArray_ScalarAsCtype(expected, a.bytes);
        PyArray_ScalarAsCtype(got, b.bytes);
        return memcmp(&a, &b, sizeof a) == 0;
    }
    int equal = PyObject_RichCompareBool(expected, got, Py_EQ);
    if (equal < 0)
        PyErr_Clear();
    return equal == 1;
}

/* Strides of axes that no element is reached by do not matter. */
static bool
same_strides(const JitSlot *info, PyArrayObject *array)
{
    for (int i = 0; i < info->ndim; i++) {
        if (info->shape[i] > 1 && PyArray_STRIDE(array, i) != info->strides[i])
            return PyArray_SIZE(array) == 0;
    }
    return true;
}

static bool
same_array(const JitSlot *info, PyObject *object)
{
    if (!PyArray_CheckExact(object))
        return false;
    PyArrayObject *array = (PyArrayObject *)object;
    return PyArray_NDIM(array) == info->ndim &&
           jit_same_axes(info->ndim, PyArray_DIMS(array), info->shape) &&
           same_strides(info, array) &&
           (PyArray_DESCR(array) == info->descr ||
            PyArray_EquivTypes(PyArray_DESCR(array), info->descr));
}

/* Puts new values into their slots; false: not what the plan was made for. */
static bool
match(RtFrame *frame, PyObject *template, PyObject *got)
{
    JitPlan *plan = plan_of(frame);
    if (trace_ref_check(plan->state->trace, template)) {
        uint32_t slot = ((TraceRef *)template)->value;
        if (!slot--)
            return true;
        const JitSlot *info = &plan->slots[slot];
        if (info->scalar ? Py_TYPE(got) != info->type : !same_array(info, got))
            return false;
        slot_set(frame, slot, got);
        return true;
    }
    if (trace_is_tuple(template) || PyList_CheckExact(template)) {
        if (Py_TYPE(got) != Py_TYPE(template) ||
            PySequence_Fast_GET_SIZE(got) != PySequence_Fast_GET_SIZE(template))
            return false;
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(template); i++) {
            if (!match(frame, PySequence_Fast_GET_ITEM(template, i),
                       PySequence_Fast_GET_ITEM(got, i)))
                return false;
        }
        return true;
    }
    return same_constant(template, got);
}

/* -- Callbacks --------------------------------------------------------------------- */

static int
callback_allocate(RtFrame *frame, uint32_t slot)
{
    JitPlan *plan = plan_of(frame);
    const JitSlot *info = &plan->slots[slot];
    PyObject *array =
        jit_array_new(plan->state, info->descr, info->ndim, info->shape, info->strides);
    if (!array)
        return -1;
    Py_XSETREF(frame->object[slot], array);
    frame->data[slot] = PyArray_BYTES((PyArrayObject *)array);
    return 0;
}

static void
callback_release(RtFrame *frame, uint32_t slot)
{
    PyObject *object = frame->object[slot];
    frame->object[slot] = NULL;
    Py_XDECREF(object);
}

/* Notes an effect that has happened: (callable, arguments, result, exception or None). */
static int
log_add(RtFrame *frame, const JitSite *site, PyObject *args, PyObject *got)
{
    Call *call = frame->context;
    PyObject *type = NULL, *error = NULL, *traceback = NULL, *kept = NULL;
    if (!got) {
        PyErr_Fetch(&type, &error, &traceback);
        PyErr_NormalizeException(&type, &error, &traceback);
        if (error && traceback)
            PyException_SetTraceback(error, traceback);
    }
    if (got && site->kept && PyArray_CheckExact(got))
        kept = PyArray_NewCopy((PyArrayObject *)got, NPY_KEEPORDER);
    else
        kept = Py_NewRef(got ? got : Py_None);
    if (!call->log)
        call->log = PyList_New(0);
    PyObject *entry =
        kept ? PyTuple_Pack(4, site->callable, args, kept, error ? error : Py_None)
             : NULL;
    int status = entry && call->log ? PyList_Append(call->log, entry) : -1;
    call->log_at += status == 0;
    Py_XDECREF(entry);
    Py_XDECREF(kept);
    if (!got)
        PyErr_Restore(type, error, traceback);
    return status;
}

/* Arrays that went outside are those of this run, too, with the contents they have here. */
static int
adopt(RtFrame *frame, PyObject *template, PyObject *given)
{
    const JitPlan *plan = plan_of(frame);
    if (trace_ref_check(plan->state->trace, template)) {
        uint32_t slot = ((TraceRef *)template)->value - 1;
        PyObject *own = frame->object[slot];
        if (plan->rt->slots[slot].kind != RT_SLOT_object || plan->slots[slot].scalar ||
            !PyArray_CheckExact(given) || own == given)
            return 0;
        for (uint32_t i = 0; i < plan->nparams; i++) {
            if (plan->param_slots[i] == slot)
                return 0;
        }
        if (PyArray_CopyInto((PyArrayObject *)given, (PyArrayObject *)own) < 0)
            return -1;
        slot_set(frame, slot, given);
        return 0;
    }
    for (Py_ssize_t i = 0; PyTuple_CheckExact(template) && PyTuple_CheckExact(given) &&
                           i < PyTuple_GET_SIZE(template);
         i++) {
        if (adopt(frame, PyTuple_GET_ITEM(template, i), PyTuple_GET_ITEM(given, i)) < 0)
            return -1;
    }
    return 0;
}

/* The next effect has happened in a run of another plan: what came of it. */
static int
callback_logged(RtFrame *frame, const JitSite *site)
{
    Call *call = frame->context;
    PyObject *entry = PyList_GET_ITEM(call->log, call->log_at++);
    PyObject *result = PyTuple_GET_ITEM(entry, 2), *args, *got;
    if (PyTuple_GET_ITEM(entry, 0) != site->callable || PyTuple_GET_ITEM(entry, 3) != Py_None)
        return JIT_DIVERGED;
    args = build(frame, site->args); /* objects are made */
    int status = args ? adopt(frame, site->args, PyTuple_GET_ITEM(entry, 1)) : -1;
    Py_XDECREF(args);
    if (status < 0)
        return -1;
    got = PyArray_CheckExact(result)
              ? (PyObject *)PyArray_NewCopy((PyArrayObject *)result, NPY_KEEPORDER)
              : Py_NewRef(result);
    if (got)
        status = match(frame, site->result, got) ? 0 : JIT_DIVERGED;
    Py_XDECREF(got);
    return got ? status : -1;
}

static int
callback_call(RtFrame *frame, uint32_t index)
{
    const JitSite *site = &plan_of(frame)->sites[index];
    const Call *call = frame->context;
    if (site->effect && call->log && call->log_at < PyList_GET_SIZE(call->log))
        return callback_logged(frame, site);
    PyObject *args = build(frame, site->args), *kwargs = NULL, *got = NULL;
    int status = -1;
    if (args && site->kwargs)
        kwargs = build(frame, site->kwargs);
    if (args && (kwargs || !site->kwargs))
        got = PyObject_Call(site->callable, args, kwargs);
    bool noted = !site->effect || !args || (site->kwargs && !kwargs) ||
                 log_add(frame, site, args, got) == 0;
    if (got && noted)
        status = match(frame, site->result, got) ? 0 : JIT_DIVERGED;
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    Py_XDECREF(got);
    return status;
}

/* -- Frames ------------------------------------------------------------------------ */

/* What does not change from call to call. */
static void
fill_constants(const RtPlan *rt, RtFrame *frame)
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
    char *memory = PyMem_Calloc(1, sizeof(Scalar) + scalars + 2 * slots + 1);
    if (!memory) {
        PyErr_NoMemory();
        return -1;
    }
    _Static_assert(sizeof(Call) <= sizeof(Scalar),
                   "a call's head fits before the scalars");
    Call *call = (Call *)(void *)memory;
    call->plan = plan;
    call->scalars = (Scalar *)(void *)(memory + sizeof(Scalar));
    plan->refs++;
    *frame = (RtFrame){
        .data = (char **)(void *)(memory + sizeof(Scalar) + scalars),
        .object = (void **)(void *)(memory + sizeof(Scalar) + scalars + slots),
        .context = call,
    };
    fill_constants(plan->rt, frame);
    return 0;
}

static void
frame_close(RtFrame *frame)
{
    JitPlan *plan = plan_of(frame);
    for (uint32_t i = 0; i < plan->rt->nslots; i++)
        Py_XDECREF((PyObject *)frame->object[i]);
    PyMem_Free(frame->context);
    jit_plan_release(plan);
}

static int
callback_enter(RtFrame *frame, uint32_t index, RtFrame *body)
{
    return frame_open(plan_of(frame)->bodies[index], body);
}

static int
callback_bind(RtFrame *from_frame, uint32_t from, RtFrame *in, uint32_t to)
{
    JitPlan *plan = plan_of(in);
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
        object = object_of(from_frame, from);
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

static const RtCallbacks callbacks = {
    .allocate = callback_allocate,
    .release = callback_release,
    .call = callback_call,
    .enter = callback_enter,
    .leave = frame_close,
    .bind = callback_bind,
};

int
jit_body_run(const RtLoop *loop, JitPlan *body, char *const *data,
             PyObject *const *objects, PyObject **results)
{
    RtFrame frame;
    int status = 0;
    if (frame_open(body, &frame) < 0)
        return -1;
    frame.scratch = rt_buffer_take(body->state->pool, body->rt->scratch_bytes);
    if (!frame.scratch) {
        PyErr_NoMemory();
        status = -1;
    }
    for (uint32_t i = 0; status == 0 && i < body->nparams; i++) {
        uint32_t slot = body->param_slots[i];
        if (body->slots[slot].scalar && objects[i])
            slot_set(&frame, slot, objects[i]);
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
        PyObject *object = object_of(&frame, loop->param[i]);
        results[i] = Py_XNewRef(object);
        if (!object)
            status = -1;
    }
    if (status != 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError,
                        "a loop's body gave another kind of result");
    rt_buffer_give(body->state->pool, frame.scratch);
    frame_close(&frame);
    return status;
}

/* -- Calls of plans ---------------------------------------------------------------- */

static PyObject *
copies_of_written(const JitPlan *plan, PyObject *const *params)
{
    PyObject *copies = PyTuple_New(plan->nparams);
    for (uint32_t i = 0; copies && i < plan->nparams; i++) {
        PyObject *copy =
            plan->param_written[i]
                ? (PyObject *)PyArray_NewCopy((PyArrayObject *)params[i], NPY_KEEPORDER)
                : Py_NewRef(Py_None);
        if (!copy) {
            Py_CLEAR(copies);
            break;
        }
        PyTuple_SET_ITEM(copies, i, copy);
    }
    return copies;
}

/* Read-only arrays too: np.add.at writes to them. */
static int
restore_written(const JitPlan *plan, PyObject *const *params, PyObject *copies)
{
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < plan->nparams; i++) {
        if (!plan->param_written[i])
            continue;
        PyArrayObject *array = (PyArrayObject *)params[i];
        bool writeable = PyArray_CHKFLAGS(array, NPY_ARRAY_WRITEABLE);
        PyArray_ENABLEFLAGS(array, NPY_ARRAY_WRITEABLE);
        status = PyArray_CopyInto(array, (PyArrayObject *)PyTuple_GET_ITEM(copies, i));
        if (!writeable)
            PyArray_CLEARFLAGS(array, NPY_ARRAY_WRITEABLE);
    }
    return status;
}

/* After an exception: arguments as before the call, the exception still set. */
static void
take_back(const JitPlan *plan, PyObject *const *params, PyObject *copies)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (restore_written(plan, params, copies) < 0)
        PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

PyObject *
jit_plan_call(JitPlan *plan, PyObject *const *params, PyObject **log)
{
    const RtPlan *rt = plan->rt;
    char *small_data[SMALL_SLOTS];
    void *small_object[SMALL_SLOTS];
    Scalar small_scalars[SMALL_SCALARS];
    PyObject *result = NULL, *copies = NULL;
    Call call = {plan, small_scalars, *log, 0};
    RtFrame frame = {small_data, small_object, &call, NULL};
    void *taken = NULL;
    int status = -1;

    if (rt->nslots > SMALL_SLOTS || plan->nscalars > SMALL_SCALARS) {
        size_t slots = rt->nslots * sizeof(char *),
               scalars = plan->nscalars * sizeof(Scalar);
        taken = PyMem_Malloc(scalars + 2 * slots + 1);
        if (!taken)
            return PyErr_NoMemory();
        call.scalars = taken;
        frame.data = (char **)(void *)((char *)taken + scalars);
        frame.object = (void **)(void *)((char *)taken + scalars + slots);
    }
    memset(frame.data, 0, rt->nslots * sizeof(char *));
    memset(frame.object, 0, rt->nslots * sizeof(void *));
    plan->refs++;
    fill_constants(rt, &frame);
    for (uint32_t i = 0; i < plan->nparams; i++)
        slot_set(&frame, plan->param_slots[i], params[i]);
    if (plan->diverges_late) {
        copies = copies_of_written(plan, params);
        if (!copies)
            goto done;
    }
    status = rt_plan_run(rt, &frame);
    if (status == 0 && !PyErr_Occurred())
        result = build(&frame, plan->result);
    else if (status == JIT_DIVERGED && copies)
        restore_written(plan, params, copies);
    else if (copies && PyErr_Occurred())
        take_back(plan, params, copies);
    else if (status < 0 && !PyErr_Occurred())
        PyErr_NoMemory();
done:
    for (uint32_t i = 0; i < rt->nslots; i++)
        Py_XDECREF((PyObject *)frame.object[i]);
    Py_XDECREF(copies);
    PyMem_Free(taken);
    jit_plan_release(plan);
    *log = call.log;
    return result;
}

void
jit_plan_callbacks(JitPlan *plan)
{
    plan->rt->callbacks = &callbacks;
    plan->rt->pool = plan->state->pool;
}

void
jit_plan_release(JitPlan *plan)
{
    if (--plan->refs)
        return;
    uint32_t nslots = plan->rt ? plan->rt->nslots : 0;
    for (uint32_t i = 0; i < nslots; i++) {
        Py_XDECREF(plan->slots[i].descr);
        Py_XDECREF(plan->slots[i].type);
        PyMem_Free(plan->slots[i].shape);
    }
    free(plan->slots);
    for (uint32_t i = 0; i < plan->nsites; i++) {
        Py_XDECREF(plan->sites[i].callable);
        Py_XDECREF(plan->sites[i].args);
        Py_XDECREF(plan->sites[i].kwargs);
        Py_XDECREF(plan->sites[i].result);
    }
    PyMem_Free(plan->sites);
    for (uint32_t i = 0; plan->codes && i < plan->rt->ngroups; i++) {
        if (plan->codes[i].kernel)
            ir_graph_free(plan->codes[i].kernel);
        free(plan->codes[i].patterns);
    }
    for (uint32_t i = 0; plan->reduce_codes && i < plan->rt->nreduces; i++) {
        if (plan->reduce_codes[i].kernel)
            ir_graph_free(plan->reduce_codes[i].kernel);
        free(plan->reduce_codes[i].patterns);
    }
    free(plan->reduce_codes);
    free(plan->codes);
    Py_XDECREF(plan->result);
    Py_XDECREF(plan->keep);
    for (uint32_t i = 0; plan->rt && i < plan->rt->nloops; i++)
        jit_plan_release(plan->bodies[i]);
    free(plan->bodies);
    free(plan->bound);
    PyMem_Free(plan->yield_slots);
    PyMem_Free(plan->param_slots);
    PyMem_Free(plan->param_written);
    if (plan->graph)
        ir_graph_free(plan->graph);
    rt_plan_free(plan->rt);
    PyMem_Free(plan);
}
