/* execute.c - runs a plan: the callbacks of the runtime, and what becomes of the
 *results.
 **
 ** A frame has an address and an object for each slot. Objects are made when they are
 *needed:
 ** result arrays before the group that fills them, views when a library call or the
 *result
 ** shows them.
 */
#include "jit/execute.h"

#include <stdlib.h>
#include <string.h>

#include "jit/source.h"

enum { SMALL_SLOTS = 48, SMALL_SCALARS = 8 };

/* -- Objects of slots -------------------------------------------------------------- */

/* The object of a slot, made if need be. Borrowed. */
PyObject *
jit_slot_object(RtFrame *frame, uint32_t slot)
{
    JitPlan *plan = jit_frame_plan(frame);
    const RtSlot *place = &plan->rt->slots[slot];
    const JitSlot *info = &plan->slots[slot];
    if (frame->object[slot])
        return frame->object[slot];
    char *data = frame->data[slot];
    PyObject *base = NULL;
    if (info->scalar) {
        frame->object[slot] = info->scalar == JIT_SCALAR_float
                                  ? PyFloat_FromDouble(*(double *)(void *)data)
                              : info->scalar == JIT_SCALAR_complex
                                  ? PyComplex_FromCComplex(*(Py_complex *)(void *)data)
                                  : PyArray_Scalar(data, info->descr, NULL);
        return frame->object[slot];
    }
    if (place->kind == RT_SLOT_view) {
        base = jit_slot_object(frame, place->base);
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
    if (place->kind == RT_SLOT_constant)
        base = plan->keep; /* which has what owns the memory */
    if (base && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(base)) < 0) {
        Py_DECREF(array);
        return NULL;
    }
    frame->object[slot] = array;
    return array;
}

void
jit_slot_set(RtFrame *frame, uint32_t slot, PyObject *object)
{
    JitPlan *plan = jit_frame_plan(frame);
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
    else if (info->scalar == JIT_SCALAR_complex)
        scalar->complex_ = PyComplex_AsCComplex(object);
    else if (info->scalar == JIT_SCALAR_numpy)
        PyArray_ScalarAsCtype(object, scalar->bytes);
    else if (PyLong_CheckExact(object)) { /* what does not fit is no index */
        int overflow;
        int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
        memcpy(scalar->bytes, &value, sizeof value);
    }
}

/* -- Templates --------------------------------------------------------------------- */

static bool
is_number(PyObject *object)
{
    return PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
           PyComplex_CheckExact(object) || PyBool_Check(object);
}

static PyObject *
build_sequence(RtFrame *frame, PyObject *template)
{
    bool tuple = trace_is_tuple(template);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(template);
    PyObject *copy = tuple ? trace_tuple_like(template, n) : PyList_New(n);
    bool changed = !tuple;
    for (Py_ssize_t i = 0; copy && i < n; i++) {
        PyObject *part = PySequence_Fast_GET_ITEM(template, i),
                 *item = is_number(part) ? Py_NewRef(part)
                                         : jit_template_build(frame, part);
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

PyObject *
jit_template_build(RtFrame *frame, PyObject *template)
{
    TraceState *state = jit_frame_plan(frame)->state->trace;
    if (trace_ref_check(state, template)) {
        uint32_t slot = ((TraceRef *)template)->value;
        return slot ? Py_XNewRef(jit_slot_object(frame, slot - 1)) : Py_NewRef(Py_None);
    }
    if (trace_is_tuple(template) || PyList_CheckExact(template))
        return build_sequence(frame, template);
    if (Py_TYPE(template) == trace_size_type(state))
        return Py_NewRef(((TraceSizeRef *)template)->now);
    if (PyCell_Check(template)) { /* an object from outside */
        PyObject *held = PyCell_GET(template);
        if (PyLong_CheckExact(held)) /* the list or dict that is this argument */
            return Py_NewRef(((Call *)frame->context)->args[PyLong_AsSize_t(held)]);
        return Py_NewRef(PyWeakref_CheckRef(held) ? PyWeakref_GET_OBJECT(held) : held);
    }
    if (PyAnySet_CheckExact(template) && !PyFrozenSet_CheckExact(template))
        return PySet_New(template);
    if (!PyDict_CheckExact(template))
        return Py_NewRef(template);
    PyObject *copy = PyDict_New(), *key, *value;
    Py_ssize_t at = 0;
    while (copy && PyDict_Next(template, &at, &key, &value)) {
        PyObject *item = jit_template_build(frame, value);
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

bool
jit_same_array(const JitSlot *info, PyObject *object)
{
    if (!PyArray_CheckExact(object))
        return false;
    PyArrayObject *array = (PyArrayObject *)object;
    return PyArray_NDIM(array) == info->ndim &&
           PyArray_ISWRITEABLE(array) == !info->readonly &&
           jit_same_axes(info->ndim, PyArray_DIMS(array), info->shape) &&
           same_strides(info, array) &&
           (PyArray_DESCR(array) == info->descr ||
            PyArray_EquivTypes(PyArray_DESCR(array), info->descr));
}

/* Puts new values into their slots; false: not what the plan was made for. */
bool
jit_result_match(RtFrame *frame, PyObject *template, PyObject *got)
{
    JitPlan *plan = jit_frame_plan(frame);
    if (trace_ref_check(plan->state->trace, template)) {
        uint32_t slot = ((TraceRef *)template)->value;
        if (!slot--)
            return true;
        const JitSlot *info = &plan->slots[slot];
        if (info->scalar ? Py_TYPE(got) != info->type : !jit_same_array(info, got))
            return false;
        jit_slot_set(frame, slot, got);
        return true;
    }
    if (trace_is_tuple(template) || PyList_CheckExact(template)) {
        if (Py_TYPE(got) != Py_TYPE(template) ||
            PySequence_Fast_GET_SIZE(got) != PySequence_Fast_GET_SIZE(template))
            return false;
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(template); i++) {
            if (!jit_result_match(frame, PySequence_Fast_GET_ITEM(template, i),
                                  PySequence_Fast_GET_ITEM(got, i)))
                return false;
        }
        return true;
    }
    return same_constant(template, got);
}

/* -- Callbacks --------------------------------------------------------------------- */

/* True of an array that is nobody else's. */
static bool
may_become(PyObject *object)
{
    if (!object || !PyArray_CheckExact(object) || Py_REFCNT(object) != 1)
        return false;
    PyArrayObject *array = (PyArrayObject *)object;
    return PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA | NPY_ARRAY_BEHAVED) &&
           !PyArray_BASE(array) && !((PyArrayObject_fields *)array)->weakreflist;
}

static int
callback_allocate(RtFrame *frame, uint32_t slot)
{
    JitPlan *plan = jit_frame_plan(frame);
    const JitSlot *info = &plan->slots[slot];
    uint32_t reuse = plan->rt->slots[slot].reuse;
    if (reuse && may_become(frame->object[reuse - 1])) {
        PyObject *old = frame->object[slot];
        frame->object[slot] = frame->object[reuse - 1];
        frame->object[reuse - 1] = NULL; /* its address stays until it is released */
        frame->data[slot] = frame->data[reuse - 1];
        Py_XDECREF(old);
        return 0;
    }
    bool heir = reuse && plan->rt->slots[reuse - 1].heir == slot + 1;
    PyObject *array = jit_array_of(plan->state, info->descr, info->ndim, info->shape,
                                   info->strides, heir ? frame->data[reuse - 1] : NULL,
                                   rt_frame_beside(plan->rt, frame));
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

/* A call that is no effect. */
static int
call_pure(RtFrame *frame, JitSite *site)
{
    enum { SMALL = 16 };
    Py_ssize_t n = PyTuple_GET_SIZE(site->args), built = 0;
    PyObject *small[SMALL], **items = small, *got = NULL;
    int status = -1;
    if (n > SMALL && !(items = PyMem_Malloc((size_t)n * sizeof *items))) {
        PyErr_NoMemory();
        return -1;
    }
    for (; built < n; built++) {
        items[built] = jit_template_build(frame, PyTuple_GET_ITEM(site->args, built));
        if (!items[built])
            goto done;
    }
    if (site->seen && jit_site_recalls(site, items[0])) {
        status = 0;
        goto done;
    }
    size_t positional = (size_t)(n - (site->names ? PyTuple_GET_SIZE(site->names) : 0));
    got = site->large
              ? jit_call_pooled(jit_frame_plan(frame)->state, site->callable, items,
                                positional, site->names)
              : PyObject_Vectorcall(site->callable, items, positional, site->names);
    if (got)
        status = jit_result_match(frame, site->result, got) ? jit_check_signals()
                                                            : JIT_DIVERGED;
    else if (Py_TYPE(site->callable) == jit_frame_plan(frame)->state->nest_type &&
             !PyErr_ExceptionMatches(
                 trace_nest_failed(jit_frame_plan(frame)->state->trace)))
        status = JIT_INTERRUPTED; /* the handler of a signal has raised */
    if (status == 0 && site->asks && !site->seen)
        jit_site_remember(site, items[0]);
    if (status == JIT_DIVERGED)
        jit_frame_plan(frame)->misfits += PyArray_Check(got);
    else if (!got)
        ((Call *)frame->context)->early = site->raises;
done:
    while (built > 0)
        Py_DECREF(items[--built]);
    if (items != small)
        PyMem_Free(items);
    Py_XDECREF(got);
    return status;
}

static int
callback_call(RtFrame *frame, uint32_t index)
{
    JitSite *site = &jit_frame_plan(frame)->sites[index];
    const Call *call = frame->context;
    if (!site->effect)
        return call_pure(frame, site);
    if (!site->store && call->log && call->log_at < PyList_GET_SIZE(call->log))
        return jit_log_answer(frame, site);
    if (jit_log_seal(call->log) < 0)
        return -1;
    PyObject *args = jit_template_build(frame, site->args), *kwargs = NULL, *got = NULL,
             *reads = NULL;
    int status = -1;
    if (args && site->opaque && !(reads = jit_source_reads(call->source)))
        Py_CLEAR(args);
    if (args && site->kwargs)
        kwargs = jit_template_build(frame, site->kwargs);
    if (args && site->store && jit_store_note(frame, args) < 0)
        Py_CLEAR(args);
    if (args && (kwargs || !site->kwargs))
        got = PyObject_Call(site->callable, args, kwargs);
    /* A nest that is left in the middle has put back what it drew. */
    bool undone =
        args && !got &&
        Py_TYPE(site->callable) == jit_frame_plan(frame)->state->nest_type &&
        PyErr_ExceptionMatches(trace_nest_failed(jit_frame_plan(frame)->state->trace));
    bool noted = undone || site->store || !args || (site->kwargs && !kwargs) ||
                 jit_log_add(frame, site, args, got, reads) == 0;
    if (got && noted && site->opaque && !jit_opaque_holds(frame, site, got))
        status = JIT_DIVERGED;
    else if (got && noted)
        status = jit_result_match(frame, site->result, got) ? 0 : JIT_DIVERGED;
    if (status == 0 && (site->opaque || site->nreached) && site->kept)
        status = jit_log_seal(call->log);
    if (status == 0)
        status = jit_check_signals();
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    Py_XDECREF(got);
    Py_XDECREF(reads);
    return status;
}

/* NumPy's words. */
static int
callback_refuse(int64_t index, uint32_t axis, intptr_t extent)
{
    PyErr_Format(PyExc_IndexError,
                 "index %lld is out of bounds for axis %u with size %zd",
                 (long long)index, axis, (Py_ssize_t)extent);
    return -1;
}

static const RtCallbacks callbacks = {
    .allocate = callback_allocate,
    .release = callback_release,
    .call = callback_call,
    .enter = jit_loop_enter,
    .leave = jit_loop_leave,
    .bind = jit_loop_bind,
    .refuse = callback_refuse,
};

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
        status = trace_array_set(array, (PyArrayObject *)PyTuple_GET_ITEM(copies, i));
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

/* True if ints among the parameters are such that no window leaves its array. */
static bool
ranges_hold(const JitPlan *plan, PyObject *const *params)
{
    for (uint32_t i = 0; i < plan->nranges; i++) {
        const JitRange *range = &plan->ranges[i];
        int overflow = 0;
        long long value = PyLong_AsLongLongAndOverflow(params[range->param], &overflow);
        if (overflow || value < range->low || value > range->high)
            return false;
    }
    return true;
}

PyObject *
jit_plan_call(JitPlan *plan, PyObject *const *params, PyObject *const *args,
              PyObject **log, bool *interrupted, bool *early)
{
    const RtPlan *rt = plan->rt;
    char *small_data[SMALL_SLOTS];
    void *small_object[SMALL_SLOTS];
    Scalar small_scalars[SMALL_SCALARS];
    PyObject *result = NULL, *copies = NULL;
    Call call = {plan, small_scalars, *log, NULL, 0, plan->source, args, false};
    RtTeam team = jit_team(plan->state, plan->threads);
    RtFrame frame = {small_data, small_object, &call, NULL, &team};
    void *taken = NULL;
    int status = -1;

    if (!ranges_hold(plan, params))
        return NULL;
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
    jit_frame_constants(rt, &frame);
    for (uint32_t i = 0; i < plan->nparams; i++)
        jit_slot_set(&frame, plan->param_slots[i], params[i]);
    if (plan->diverges_late) {
        copies = copies_of_written(plan, params);
        if (!copies)
            goto done;
    }
    status = rt_plan_run(rt, &frame);
    if (status && call.log && jit_log_seal(call.log) < 0)
        PyErr_Clear(); /* out of memory */
    *interrupted = status == JIT_INTERRUPTED;
    *early = call.early;
    if (status == 0 && !PyErr_Occurred())
        result = jit_template_build(&frame, plan->result);
    else if (status == JIT_DIVERGED && copies)
        restore_written(plan, params, copies);
    else if (copies && PyErr_Occurred() && !*interrupted)
        take_back(plan, params, copies);
    else if (status < 0 && !PyErr_Occurred())
        PyErr_NoMemory();
done:
    if (!result && call.stores && !*interrupted)
        jit_stores_undo(call.stores);
    Py_XDECREF(call.stores);
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
        Py_XDECREF(plan->slots[i].path);
        PyMem_Free(plan->slots[i].shape);
    }
    free(plan->slots);
    for (uint32_t i = 0; i < plan->nsites; i++) {
        Py_XDECREF(plan->sites[i].callable);
        Py_XDECREF(plan->sites[i].origin);
        Py_XDECREF(plan->sites[i].names);
        Py_XDECREF(plan->sites[i].args);
        Py_XDECREF(plan->sites[i].kwargs);
        Py_XDECREF(plan->sites[i].result);
        Py_XDECREF(plan->sites[i].seen);
        PyMem_Free(plan->sites[i].reached);
        jit_source_free(plan->sites[i].late);
    }
    PyMem_Free(plan->sites);
    jit_source_free(plan->source);
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
    PyMem_Free(plan->aliases);
    PyMem_Free(plan->ranges);
    for (uint32_t i = 0; i < plan->nghosts; i++)
        Py_DECREF(plan->ghosts[i].path);
    PyMem_Free(plan->ghosts);
    for (uint32_t i = 0; i < plan->nsizes; i++)
        Py_DECREF(plan->sizes[i].size);
    PyMem_Free(plan->sizes);
    if (plan->record)
        trace_release(plan->record);
    if (plan->graph)
        ir_graph_free(plan->graph);
    rt_plan_free(plan->rt);
    PyMem_Free(plan);
}
