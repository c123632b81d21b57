/* effect.c - what has to happen once and in order at each call of the function.
**
** An effect is a site like a call's, with three laws more:
**   1. The plan runs it exactly once, after all that came before it in the program and may
**      raise or turn out differently.
**   2. It is contained: it changes what is known of it, and runs no code of the user's.
**      Random numbers, clocks, prints, files, containers and attributes of plain objects
**      from outside are such; calls of unknown functions are not: opaque.c.
**   3. Where a plan does not hold after an effect, the function is traced again with the
**      effects answered from the plan's log. So nothing may have gone outside that the
**      second run cannot hand out again: memory of a result is adopted from the log; memory
**      with views on it, or changed by an effect that is no nest, is not (trace->leaks). Attributes are
**      another matter, as the function reads them: they are set back, and set again.
*/
#include <string.h>

#include "trace/call.h"
#include "trace/invoke.h"

/* -- Objects from outside ---------------------------------------------------------- */

static int
set_add(PyObject **set, PyObject *object)
{
    PyObject *id = trace_id_of(object);
    if (!*set)
        *set = PyDict_New();
    int status = *set && id ? PyDict_SetItem(*set, id, object) : -1;
    Py_XDECREF(id);
    return status;
}

static bool
set_has(Trace *trace, PyObject *set, PyObject *object)
{
    return trace_look_up(trace, set, object) != NULL;
}

int
trace_outside_add(Trace *trace, PyObject *object)
{
    return set_add(&trace->outside, object);
}

bool
trace_outside_find(Trace *trace, PyObject *object)
{
    return set_has(trace, trace->outside, object);
}

IrValue
trace_input_find(Trace *trace, PyObject *object)
{
    PyObject *value = trace_look_up(trace, trace->inputs, object);
    return value ? (IrValue)PyLong_AsUnsignedLong(value) : 0;
}

PyObject *
trace_outside_ref(Trace *trace, PyObject *object)
{
    IrValue input = trace_input_find(trace, object);
    if (input)
        return trace_ref_new(trace->state, input);
    PyTypeObject *type = Py_TYPE(object);
    bool weak = PyFunction_Check(object) ||
                (type->tp_flags & Py_TPFLAGS_HEAPTYPE && !PyType_Check(object) &&
                 PyType_SUPPORTS_WEAKREFS(type));
    PyObject *held = weak ? PyWeakref_NewRef(object, NULL) : Py_NewRef(object);
    PyObject *cell = held ? PyCell_New(held) : NULL;
    Py_XDECREF(held);
    return cell;
}

bool
trace_may_mutate(Trace *trace, PyObject *container)
{
    return trace_outside_find(trace, container) &&
           !trace_outer_find(trace, container) &&
           set_add(&trace->mutated, container) == 0;
}

bool
trace_was_mutated(Trace *trace, PyObject *container)
{
    return set_has(trace, trace->mutated, container);
}

/* -- The log ----------------------------------------------------------------------- */

int
trace_resume(Trace *trace, PyObject *log)
{
    Py_XSETREF(trace->log, Py_XNewRef(log));
    return trace_cells_back(trace);
}

PyObject *
trace_log_reads(PyObject *log, Py_ssize_t at)
{
    for (; log && at < PyList_GET_SIZE(log); at++) {
        PyObject *entry = PyList_GET_ITEM(log, at);
        if (PyTuple_GET_SIZE(entry) > 5)
            return PyTuple_GET_ITEM(entry, 5);
    }
    return NULL;
}

PyObject *
trace_reads_find(PyObject *reads, TraceSourceKind kind, PyObject *owner, PyObject *name)
{
    for (Py_ssize_t i = 0; reads && i < PyList_GET_SIZE(reads); i++) {
        PyObject *read = PyList_GET_ITEM(reads, i);
        PyObject *other = PyTuple_GET_ITEM(read, 2);
        if (PyLong_AsLong(PyTuple_GET_ITEM(read, 0)) != (long)kind ||
            PyTuple_GET_ITEM(read, 1) != owner)
            continue;
        if (name ? PyObject_RichCompareBool(other, name, Py_EQ) == 1 : other == Py_None)
            return PyTuple_GET_ITEM(read, 3);
    }
    return NULL;
}

/* False of arrays that unknown code has given another shape or dtype, or that it has closed. */
static bool
alike(PyArrayObject *a, PyArrayObject *b)
{
    return PyArray_ISWRITEABLE(a) && PyArray_NDIM(a) == PyArray_NDIM(b) &&
           PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a)) &&
           PyArray_EquivTypes(PyArray_DESCR(a), PyArray_DESCR(b));
}

/* The memory that went outside is this tracer's from now on, with its present contents. */
static int
adopt(Trace *trace, Tracer *tracer, PyObject *given)
{
    PyObject *own = tracer_object(tracer);
    if (!own)
        return -1;
    if (tracer->kind != TRACER_array || !PyArray_CheckExact(given) ||
        tracer->storage->param >= 0 ||
        PyArray_DATA((PyArrayObject *)own) == PyArray_DATA((PyArrayObject *)given))
        return 0;
    if (!tracer->whole)
        return 0;
    if (!alike((PyArrayObject *)given, (PyArrayObject *)own)) {
        Py_SETREF(tracer->object, Py_NewRef(given)); /* the trace ends here: opaque.c */
        return 0;
    }
    if (PyArray_CopyInto((PyArrayObject *)given, (PyArrayObject *)own) < 0)
        return -1;
    TraceValue *value = &trace->values[tracer->storage->value];
    Py_XSETREF(value->array, (PyArrayObject *)Py_NewRef(given));
    Py_SETREF(tracer->object, Py_NewRef(given));
    return 0;
}

static int
adopt_all(Trace *trace, PyObject *const *args, size_t n, PyObject *given)
{
    for (size_t i = 0; i < n && i < (size_t)PyTuple_GET_SIZE(given); i++) {
        PyObject *item = PyTuple_GET_ITEM(given, (Py_ssize_t)i);
        int status = 0;
        if (tracer_check(trace->state, args[i]))
            status = adopt(trace, (Tracer *)args[i], item);
        else if (PyTuple_CheckExact(args[i]) && PyTuple_CheckExact(item))
            status = adopt_all(trace, ((PyTupleObject *)args[i])->ob_item,
                               (size_t)PyTuple_GET_SIZE(args[i]), item);
        if (status < 0)
            return -1;
    }
    return 0;
}

int
trace_array_set(PyArrayObject *array, PyArrayObject *from)
{
    bool writeable = PyArray_CHKFLAGS(array, NPY_ARRAY_WRITEABLE);
    PyArray_ENABLEFLAGS(array, NPY_ARRAY_WRITEABLE);
    int status = PyArray_CopyInto(array, from);
    if (!writeable)
        PyArray_CLEARFLAGS(array, NPY_ARRAY_WRITEABLE);
    return status;
}

/* Memory that the call could reach gets the contents that it had after the call: a list of arrays,
** each with a copy. */
int
trace_log_restore(PyObject *memory)
{
    for (Py_ssize_t i = 0; i + 1 < PyList_GET_SIZE(memory); i += 2) {
        PyArrayObject *array = (PyArrayObject *)PyList_GET_ITEM(memory, i);
        PyObject *copy = PyList_GET_ITEM(memory, i + 1);
        if (copy != Py_None && trace_array_set(array, (PyArrayObject *)copy) < 0)
            return -1;
    }
    return 0;
}

bool
trace_is_same_effect(PyObject *had, PyObject *callable)
{
    int same = had == callable ? 1
               : Py_TYPE(had) == Py_TYPE(callable)
                   ? PyObject_RichCompareBool(had, callable, Py_EQ)
                   : 0;
    if (same < 0)
        PyErr_Clear();
    return same == 1;
}

PyObject *
trace_log_answer(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs)
{
    PyObject *entry = PyList_GET_ITEM(trace->log, trace->log_at++);
    PyObject *error = PyTuple_GET_ITEM(entry, 3);
    if (!trace_is_same_effect(PyTuple_GET_ITEM(entry, 0), callable))
        return PyErr_Format(
            PyExc_RuntimeError,
            "pyasc: the call did %R where it had done %R; run it without "
            "pyasc.jit",
            callable, PyTuple_GET_ITEM(entry, 0));
    if (adopt_all(trace, args, nargs, PyTuple_GET_ITEM(entry, 1)) < 0)
        return NULL;
    if (PyTuple_GET_SIZE(entry) > 4 &&
        (trace_log_restore(PyTuple_GET_ITEM(entry, 4)) < 0 ||
         trace_cells_back(trace) < 0))
        return NULL;
    PyObject *answer = PyTuple_GET_ITEM(entry, 2);
    if (Py_TYPE(callable) == trace->state->nest_type && error == Py_None) {
        PyObject *learnt = PyObject_CallMethod(callable, "learn", "(O)", answer);
        Py_XDECREF(learnt);
        if (!learnt)
            return NULL;
    }
    if (error == Py_None)
        return Py_NewRef(answer);
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    return NULL;
}

/* -- Effects ----------------------------------------------------------------------- */

/* Memory that a second run could not hand out again, or would find changed. */
static bool
leaks(const Operands *operands, uint32_t mask)
{
    for (uint32_t i = 0; i < operands->n; i++) {
        const Tracer *tracer = operands->tracers[i];
        if (tracer->kind == TRACER_array && tracer->storage->param < 0 &&
            (!tracer->whole || tracer->storage->refs > 1 || tracer->storage->escape))
            return true; /* with an escape, an attribute may have it, set anew */
    }
    return mask != 0;
}

static PyObject *
effect(Trace *trace, CallArgs *call, PyObject *callable, PyObject *const *args,
       size_t nargs, PyObject *kwnames, uint32_t mutates)
{
    size_t all = nargs + (kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0);
    uint32_t mask = 0;
    PyObject *result;
    if (mutates && trace_prepare_writes(trace, args, all, mutates) < 0)
        return NULL;
    if (!trace_args_build(trace, call, args, nargs, kwnames))
        return NULL;
    bool known =
        trace->live && !call->operands.foreign &&
        trace_mutated_operands(trace, &call->operands, args, all, mutates, &mask) == 0;
    if (!known) {
        bool place =
            trace_is_store(trace->state, callable) || callable == trace->state->setitem;
        trace_end(trace, place ? BAIL_store : BAIL_unknown_call,
                  place && nargs > 1 && PyUnicode_Check(args[1]) ? args[1] : callable);
        return trace_call(trace, callable, args, nargs, kwnames, 0);
    }
    bool store = trace_is_store(trace->state, callable);
    bool logged = !store && trace->log && trace->log_at < PyList_GET_SIZE(trace->log);
    result = logged ? trace_log_answer(trace, callable, args, nargs)
                    : PyObject_Call(callable, call->reals, call->kwreals);
    trace->blockers++;
    if (!result)
        return NULL;
    PyObject *recorded = trace_record(trace, SITE_effect, callable, call, result, mask);
    bool nest =
        Py_TYPE(callable) == trace->state->nest_type; /* the log has what it writes */
    trace->leaks |= !store && leaks(&call->operands, nest ? 0 : mask);
    for (uint32_t i = 0; trace->live && recorded && i < call->operands.n; i++) {
        if (trace_escape(trace, call->operands.tracers[i]) < 0)
            Py_CLEAR(recorded);
    }
    Py_DECREF(result);
    return recorded;
}

/* True of generators of random numbers: an int may be the size of what they draw. */
static bool
draws(const TraceState *state, PyObject *object)
{
    PyObject *row = state->sources
                        ? PyDict_GetItem(state->sources, (PyObject *)Py_TYPE(object))
                        : NULL;
    return row && PyDict_GetItemString(row, "draws");
}

PyObject *
trace_effect(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
             PyObject *kwnames, uint32_t mutates, bool objects)
{
    if (trace_trial_ends(trace))
        return NULL;
    CallArgs *call = PyMem_Calloc(1, sizeof *call);
    if (!call)
        return PyErr_NoMemory();
    call->operands.effect = true;
    call->operands.objects = objects;
    call->operands.has_int = Py_TYPE(callable) == trace->state->nest_type;
    call->operands.owner = trace_is_store(trace->state, callable) ? args[0] : NULL;
    call->operands.ints = objects && !(nargs && draws(trace->state, args[0]));
    PyObject *result = effect(trace, call, callable, args, nargs, kwnames, mutates);
    trace_args_clear(call);
    PyMem_Free(call);
    return result;
}

bool
trace_is_store(const TraceState *state, PyObject *callable)
{
    return callable == state->setattr || callable == state->store_global;
}

bool
trace_is_source(const Trace *trace, PyObject *object)
{
    return trace->state->sources &&
           PyDict_GetItem(trace->state->sources, (PyObject *)Py_TYPE(object));
}

/* -- Attributes -------------------------------------------------------------------- */

PyObject *
trace_stored_find(Trace *trace, PyObject *object, PyObject *name)
{
    PyObject *key =
        trace->stored ? Py_BuildValue("(NO)", trace_id_of(object), name) : NULL;
    PyObject *value = key ? PyDict_GetItem(trace->stored, key) : NULL;
    if (trace->stored && !key) {
        PyErr_Clear();
        trace->forgot = true;
    }
    Py_XDECREF(key);
    return value;
}

static int
stored_put(Trace *trace, PyObject *object, PyObject *name, PyObject *value)
{
    PyObject *key = Py_BuildValue("(NO)", trace_id_of(object), name);
    if (!trace->stored)
        trace->stored = PyDict_New();
    int status = key && trace->stored ? PyDict_SetItem(trace->stored, key, value) : -1;
    Py_XDECREF(key);
    return status;
}

/* True where a store runs no code of the user's and no reader sees but the attribute. */
static bool
stores_quietly(PyObject *object, PyObject *name)
{
    PyTypeObject *type = Py_TYPE(object);
    if (PyType_Check(object) || PyModule_Check(object) || PyFunction_Check(object) ||
        !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
        type->tp_setattro != PyObject_GenericSetAttr ||
        type->tp_getattro != PyObject_GenericGetAttr)
        return false;
    PyObject *descriptor = _PyType_Lookup(type, name);
    return !descriptor || !Py_TYPE(descriptor)->tp_descr_set ||
           Py_TYPE(descriptor) == &PyMemberDescr_Type;
}

/* store_global(globals, name, value): what STORE_GLOBAL does. */
static PyObject *
store_global(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 3 || PyDict_SetItem(args[0], args[1], args[2]) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef store_global_def = {
    "store_global", (PyCFunction)(void (*)(void))store_global, METH_FASTCALL, NULL};

int
trace_stores_load(TraceState *state)
{
    state->store_global = PyCFunction_New(&store_global_def, NULL);
    return state->store_global ? 0 : -1;
}

/* The array that the attribute held when it was read is stored back: nothing happens. */
static bool
stores_the_same(Trace *trace, TraceSourceKind kind, PyObject *object, PyObject *name,
                PyObject *value)
{
    PyObject *stored = trace_stored_find(trace, object, name);
    if (stored)
        return stored == value;
    if (!tracer_check(trace->state, value) || ((Tracer *)value)->kind != TRACER_array)
        return false;
    for (uint32_t i = 0; i < trace->nguards; i++) {
        const TraceGuard *g = &trace->guards[i];
        if (g->kind == kind && g->owner == object &&
            g->expected == ((Tracer *)value)->object &&
            PyObject_RichCompareBool(g->name, name, Py_EQ) == 1)
            return true;
    }
    return false;
}

/* The effect, and what the place holds from now on. */
static int
store(Trace *trace, PyObject *callable, PyObject *owner, PyObject *name,
      PyObject *value)
{
    PyObject *args[] = {owner, name, value};
    PyObject *done = trace_effect(trace, callable, args, 3, NULL, 0, true);
    if (!done)
        return -1;
    Py_DECREF(done);
    return !trace->live || stored_put(trace, owner, name, value) == 0 ? 1 : -1;
}

int
trace_store_outside(Trace *trace, PyObject *object, PyObject *name, PyObject *value)
{
    if (!trace->live || !trace_outside_find(trace, object) ||
        !stores_quietly(object, name))
        return 0;
    if (trace_trial_ends(trace))
        return -1;
    if (stores_the_same(trace, SOURCE_attribute, object, name, value))
        return 1;
    return store(trace, trace->state->setattr, object, name, value);
}

int
trace_store_entry(Trace *trace, PyObject *dict, PyObject *key, PyObject *value)
{
    const Tracer *array = (Tracer *)value;
    if (!trace->live || !PyDict_CheckExact(dict) || !PyUnicode_CheckExact(key) ||
        !tracer_check(trace->state, value) || array->kind != TRACER_array)
        return 0;
    PyObject *old = PyDict_GetItem(dict, key);
    bool given = trace_is_container_argument(trace, dict);
    if (!old || !PyArray_CheckExact(old) ||
        PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)old)) ||
        given == (trace->epoch == 0 && trace_guard_itself(trace, dict)))
        return 0;
    if (trace_trial_ends(trace) || (!given && trace_outside_add(trace, dict) < 0))
        return -1;
    return store(trace, trace->state->store_global, dict, key, value);
}

int
trace_store_global(Trace *trace, PyObject *globals, PyObject *name, PyObject *value)
{
    if (trace_trial_ends(trace))
        return -1;
    if (stores_the_same(trace, SOURCE_global, globals, name, value))
        return 0;
    if (trace_outside_add(trace, globals) < 0)
        return -1;
    return store(trace, trace->state->store_global, globals, name, value) < 0 ? -1 : 0;
}
