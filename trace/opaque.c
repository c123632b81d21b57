/* opaque.c - calls of code that the recorder cannot see into, as steps of plans.
**
** Such a call is an effect (effect.c) that may do anything. So
**   1. it gets real values, and runs outside of the trace;
**   2. all memory that code from outside may reach has a new version after it: arguments,
**      captured arrays, what effects got or gave;
**   3. what is read from outside after it is compared after it: guards count the calls that
**      came before them (their epoch);
**   4. the log keeps the contents of that memory beside what came of the call.
**
** What a plan could not do again, or not as fast as the plain function, stays none: containers
** from outside that the function looks into, attributes that it has stored, callables made in the
** call, windows on memory of this call (a second run would have it elsewhere), results that lie in
** memory that is known, more bytes within reach than REACH_MAX.
*/
#include <string.h>

#include "trace/call.h"
#include "trace/invoke.h"

enum {
    REACH_MAX =
        1 << 18,   /* bytes a plan may have to copy for its log, over all such calls */
    CALLS_MAX = 4, /* of a trace: more are as fast in Python */
    MASK_BITS = 32,
};

/* -- The callee -------------------------------------------------------------------- */

/* True if a guard says what the function is, or whose method. */
static bool
is_guarded(const Trace *trace, PyObject *function)
{
    for (uint32_t i = 0; i < trace->nguards; i++) {
        PyObject *expected = trace->guards[i].expected;
        if (expected == function ||
            (PyMethod_Check(expected) && PyMethod_GET_FUNCTION(expected) == function))
            return true;
    }
    return false;
}

/* What a plan calls, and with which first argument (or NULL): new references. False: nothing
** that it could find again. */
static bool
find_callee(Trace *trace, PyObject *callable, PyObject **callee, PyObject **first)
{
    *callee = *first = NULL;
    PyObject *self =
        PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : NULL;
    bool method = self && !PyModule_Check(self) && !PyType_Check(self);
    if (method && trace_outside_find(trace, self)) {
        const char *name = ((PyCFunctionObject *)callable)->m_ml->ml_name;
        *callee = PyObject_GetAttrString((PyObject *)Py_TYPE(self), name);
        *first = Py_NewRef(self);
        if (!*callee)
            PyErr_Clear();
        return *callee && Py_TYPE(*callee) == &PyMethodDescr_Type;
    }
    if (method)
        return false;
    if (trace_is_constant(callable)) {
        *callee = Py_NewRef(callable);
        return true;
    }
    bool known = PyFunction_Check(callable) && is_guarded(trace, callable);
    if (!known && !trace_outside_find(trace, callable))
        return false;
    *callee = Py_NewRef(trace->state->call);
    *first = Py_NewRef(callable);
    return trace_outside_add(trace, callable) == 0;
}

/* -- What it may reach ------------------------------------------------------------- */

/* A container from outside that the trace has looked into may hold other things after the call. */
static bool
knows_containers(const Trace *trace)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(trace->known, &at, &key, &value)) {
        if (PyList_CheckExact(value) || PyDict_CheckExact(value))
            return true;
    }
    return false;
}

static bool
has_storage(const Operands *operands, uint32_t n, const TraceStorage *storage)
{
    for (uint32_t i = 0; i < n; i++) {
        if (operands->tracers[i]->kind == TRACER_array &&
            operands->tracers[i]->storage == storage)
            return true;
    }
    return false;
}

/* Adds what is within reach to the operands: new references from number `n` on. The bits of `mask`
** are one operand for each storage. False: it is too much (no exception), or an exception. */
static bool
add_reach(Trace *trace, Operands *operands, uint32_t *mask)
{
    uint32_t given = operands->n;
    *mask = 0;
    for (uint32_t i = 0; i < given; i++) {
        const Tracer *tracer = operands->tracers[i];
        if (tracer->kind != TRACER_array || has_storage(operands, i, tracer->storage))
            continue;
        if (i >= MASK_BITS)
            return false;
        *mask |= 1u << i;
    }
    for (TraceStorage *s = trace->storages; s; s = s->next) {
        if ((s->param < 0 && !s->escape) || has_storage(operands, operands->n, s))
            continue;
        Tracer *tracer = operands->n < MASK_BITS ? tracer_of_storage(trace, s) : NULL;
        if (!tracer)
            return false;
        *mask |= 1u << operands->n;
        operands->tracers[operands->n++] = tracer;
    }
    for (uint32_t i = 0; i < operands->n; i++) {
        const Tracer *tracer = operands->tracers[i];
        if (i >= MASK_BITS || !(*mask & 1u << i))
            continue;
        PyArrayObject *memory = trace->values[tracer->storage->value].array;
        if (!memory || trace_overlaps_itself(memory))
            return false;
        trace->reach += PyArray_NBYTES(memory);
    }
    return trace->reach <= REACH_MAX;
}

static void
drop_reach(Operands *operands, uint32_t given)
{
    while (operands->n > given)
        Py_DECREF(operands->tracers[--operands->n]);
}

/* Memory of this call that has windows on it. */
static bool
shows_windows(const Operands *operands)
{
    for (uint32_t i = 0; i < operands->n; i++) {
        const Tracer *tracer = operands->tracers[i];
        if (tracer->kind == TRACER_array && tracer->storage->param < 0 &&
            (!tracer->whole ||
             tracer->storage->refs > 1 + (tracer->storage->escape != 0)))
            return true;
    }
    return false;
}

/* The call may have given an array another shape, or other memory. */
static bool
is_as_before(Trace *trace, const Operands *operands, char *const *data,
             const bool *writeable)
{
    for (uint32_t i = 0; i < operands->n; i++) {
        Tracer *tracer = operands->tracers[i];
        if (tracer->kind != TRACER_array)
            continue;
        PyArrayObject *array = (PyArrayObject *)tracer_object(tracer);
        size_t bytes = (size_t)tracer->ndim * sizeof(npy_intp);
        if (!array || (data && PyArray_BYTES(array) != data[i]) ||
            PyArray_ISWRITEABLE(array) != writeable[i] ||
            PyArray_NDIM(array) != tracer->ndim ||
            PyArray_DESCR(array) != tracer->descr ||
            (bytes && (memcmp(PyArray_DIMS(array), tracer->shape, bytes) != 0 ||
                       memcmp(PyArray_STRIDES(array), tracer->strides, bytes) != 0)))
            return false;
    }
    return trace->live;
}

static bool
lies_within_reach(const Trace *trace, PyObject *result, const Operands *operands)
{
    if (PyTuple_Check(result) || PyList_CheckExact(result)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); i++) {
            if (lies_within_reach(trace, PySequence_Fast_GET_ITEM(result, i), operands))
                return true;
        }
    }
    for (uint32_t i = 0; PyArray_Check(result) && i < operands->n; i++) {
        const Tracer *tracer = operands->tracers[i];
        if (tracer->kind == TRACER_array &&
            trace_overlap((PyArrayObject *)result,
                          trace->values[tracer->storage->value].array))
            return true;
    }
    return false;
}

/* -- What is read from outside ----------------------------------------------------- */

/* Cells are read when the function begins: those that are guarded are compared once more. */
static int
guard_cells(Trace *trace)
{
    for (uint32_t i = 0, n = trace->nguards; i < n; i++) {
        const TraceGuard guard = trace->guards[i];
        if (guard.kind != SOURCE_cell || guard.epoch + 1 != trace->epoch)
            continue;
        if (PyCell_GET(guard.owner) != guard.expected)
            trace_end(trace, BAIL_unknown_call, guard.owner);
        else if (!trace_guard_add(trace, SOURCE_cell, guard.owner, guard.name,
                                  guard.expected))
            return -1;
    }
    return 0;
}

/* touch(array): nothing. A step that stands for what unknown code did to an array before. */
static PyObject *
touch(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(array))
{
    Py_RETURN_NONE;
}

static PyMethodDef touch_def = {"touch", touch, METH_O, NULL};

int
trace_opaque_load(TraceState *state)
{
    state->touch = PyCFunction_New(&touch_def, NULL);
    return state->touch ? 0 : -1;
}

bool
trace_is_touch(const TraceState *state, PyObject *callable)
{
    return callable == state->touch;
}

/* An array that was captured after such a call: what reads it comes after the call, too. */
PyObject *
trace_touched(Trace *trace, PyObject *tracer)
{
    PyObject *memory = tracer_object((Tracer *)tracer);
    trace->reach += memory ? PyArray_NBYTES((PyArrayObject *)memory) : 0;
    if (trace->reach > REACH_MAX)
        trace_end(trace, BAIL_unknown_call, NULL);
    PyObject *done =
        memory ? trace_call(trace, trace->state->touch, &tracer, 1, NULL, 1) : NULL;
    if (!done)
        Py_CLEAR(tracer);
    Py_XDECREF(done);
    return tracer;
}

void
trace_cells_on(Trace *trace)
{
    PyObject *cells = trace->cells;
    trace->cells = NULL;
    for (Py_ssize_t i = 0; cells && i < PyList_GET_SIZE(cells); i++) {
        PyObject *pair = PyList_GET_ITEM(cells, i);
        PyCell_Set(PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1));
    }
    Py_XDECREF(cells);
}

int
trace_cells_back(Trace *trace)
{
    PyObject *reads = trace_log_reads(trace->log, trace->log_at);
    trace_cells_on(trace);
    for (Py_ssize_t i = 0; reads && i < PyList_GET_SIZE(reads); i++) {
        PyObject *read = PyList_GET_ITEM(reads, i), *cell = PyTuple_GET_ITEM(read, 1);
        if (PyLong_AsLong(PyTuple_GET_ITEM(read, 0)) != SOURCE_cell)
            continue;
        PyObject *value = PyTuple_GET_ITEM(read, 3), *now = PyCell_GET(cell);
        if (!now || now == value)
            continue;
        if (!trace->cells)
            trace->cells = PyList_New(0);
        PyObject *pair = trace->cells ? PyTuple_Pack(2, cell, now) : NULL;
        int status = pair ? PyList_Append(trace->cells, pair) : -1;
        Py_XDECREF(pair);
        if (status < 0 || PyCell_Set(cell, value) < 0)
            return -1;
    }
    return 0;
}

/* -- The call ---------------------------------------------------------------------- */

static int
escape_results(Trace *trace, PyObject *result)
{
    int status = 0;
    if (tracer_check(trace->state, result))
        return trace_escape(trace, (Tracer *)result);
    bool sequence = trace_is_tuple(result) || PyList_CheckExact(result);
    for (Py_ssize_t i = 0;
         sequence && status == 0 && i < PySequence_Fast_GET_SIZE(result); i++)
        status = escape_results(trace, PySequence_Fast_GET_ITEM(result, i));
    return status;
}

static PyObject *
run(Trace *trace, PyObject *callee, PyObject *const *args, size_t nargs,
    const CallArgs *call)
{
    if (trace->log && trace->log_at < PyList_GET_SIZE(trace->log))
        return trace_log_answer(trace, callee, args, nargs);
    Trace *outer = trace_suspend();
    PyObject *result = PyObject_Call(callee, call->reals, call->kwreals);
    trace_go_on(outer);
    return result;
}

/* After the call: its site, new versions of all memory within reach. */
static PyObject *
record(Trace *trace, PyObject *callee, CallArgs *call, PyObject *result, uint32_t mask)
{
    trace->wrote = true;
    trace->epoch++;
    PyObject *recorded = trace_record(trace, SITE_effect, callee, call, result, mask);
    if (!recorded || !trace->live)
        return recorded;
    trace->sites[trace->nsites - 1].epoch = trace->epoch;
    int status = escape_results(trace, recorded);
    for (uint32_t i = 0; status == 0 && i < call->operands.n; i++)
        status = trace_escape(trace, call->operands.tracers[i]);
    if (status == 0)
        status = guard_cells(trace);
    if (status < 0)
        Py_CLEAR(recorded);
    return recorded;
}

/* Py_NotImplemented (new reference): nothing has been called. */
static PyObject *
call_opaque(Trace *trace, PyObject *callee, CallArgs *call, PyObject *const *args,
            size_t nargs, PyObject *kwnames)
{
    Operands *operands = &call->operands;
    char *data[TENSORS_MAX];
    bool writeable[TENSORS_MAX];
    uint32_t mask;
    if (!trace_args_build(trace, call, args, nargs, kwnames))
        return NULL;
    uint32_t given = operands->n;
    PyObject *result = NULL, *recorded = NULL;
    if (!trace->live || operands->foreign || shows_windows(operands) ||
        !add_reach(trace, operands, &mask)) {
        recorded = PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
        goto done;
    }
    for (uint32_t i = 0; i < operands->n; i++) {
        Tracer *tracer = operands->tracers[i];
        PyObject *object = tracer_object(tracer);
        if (!object || (tracer->kind == TRACER_array && trace_write_begin(tracer) < 0))
            goto done;
        bool array = PyArray_Check(object);
        data[i] = array ? PyArray_BYTES((PyArrayObject *)object) : NULL;
        writeable[i] = array && PyArray_ISWRITEABLE((PyArrayObject *)object);
    }
    bool logged = trace->log && trace->log_at < PyList_GET_SIZE(trace->log);
    result = run(trace, callee, args, nargs, call);
    trace->blockers++;
    if (!result)
        goto done;
    if (!is_as_before(trace, operands, logged ? NULL : data, writeable)) {
        if (!PyErr_Occurred())
            trace_end(trace, BAIL_unknown_call, callee);
        recorded = Py_NewRef(result);
    } else if (lies_within_reach(trace, result, operands)) {
        trace_end(trace, BAIL_view, callee);
        recorded = Py_NewRef(result);
    } else
        recorded = record(trace, callee, call, result, mask);
done:
    Py_XDECREF(result);
    drop_reach(operands, given);
    return recorded;
}

PyObject *
trace_opaque(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
             PyObject *kwnames)
{
    PyObject *callee = NULL, *first = NULL, *result = NULL, **all = NULL;
    size_t nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0, skip;
    CallArgs *call = NULL;
    bool stored = trace->stored && PyDict_GET_SIZE(trace->stored);
    if (!trace->live || trace->overlap || stored || trace->epoch == CALLS_MAX ||
        knows_containers(trace) || !find_callee(trace, callable, &callee, &first)) {
        if (!PyErr_Occurred())
            result = Py_NewRef(Py_NotImplemented);
        goto done;
    }
    skip = first != NULL;
    all = PyMem_Malloc((nargs + nkw + 1) * sizeof *all);
    call = PyMem_Calloc(1, sizeof *call);
    if (!all || !call) {
        PyErr_NoMemory();
        goto done;
    }
    all[0] = first;
    memcpy(all + skip, args, (nargs + nkw) * sizeof *all);
    for (size_t i = 0; i < nargs + nkw; i++) { /* functions to be called back */
        if (PyFunction_Check(args[i]) && is_guarded(trace, args[i]) &&
            trace_outside_add(trace, args[i]) < 0)
            goto done;
    }
    call->operands.effect = call->operands.objects = call->operands.ints = true;
    call->operands.opaque = true;
    result = call_opaque(trace, callee, call, all, nargs + skip, kwnames);
    trace_args_clear(call);
done:
    PyMem_Free(call);
    PyMem_Free(all);
    Py_XDECREF(callee);
    Py_XDECREF(first);
    return result;
}
