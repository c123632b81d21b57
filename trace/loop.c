/* loop.c - loops over ranges, watched turn by turn until the rest becomes a region.
**
**   turn 0     runs in Python: types settle
**   turn 1, 2  run in Python with an index that knows it is one (TRACER_index); if
** nothing
**              happened that a region could not repeat, the nodes of this turn are
** copied
**              into the body of a `for` node, which makes all the turns that are left
**   the rest   runs in Python too where that did not work; it is unrolled
**
** Turns run in Python are recorded as they are, so giving up costs nothing. An index is
** an int
** with a known change from turn to turn. Adding, subtracting and multiplying by a
** constant
** keep that; used as an index it moves a window; any other use asks for the int, and
** what
** depends on its value is no region.
*/
#include <string.h>

#include "trace/internal.h"

enum { TURNS_MIN = 5, ATTEMPTS_MAX = 2 };

typedef struct Snapshot {
    TraceStorage *storage;
    uint64_t serial;
    IrValue value;
} Snapshot;

struct TraceLoop {
    PyObject_HEAD
    PyObject *iterator; /* anything but a range that may become a region */
    Trace *trace;       /* held; NULL: nothing is traced */
    TraceLoop *outer;   /* the candidate around this one, held */
    int depth;
    bool open;      /* it is trace->loop, or around it */
    bool candidate; /* this turn may become a region */
    int attempts;
    long long start, step;
    Py_ssize_t n, turn; /* turn: number of the next one */
    IrNode first;       /* first node of this turn */
    uint64_t serial, blockers;
    Snapshot *snapshot;
    uint32_t nsnapshot;
    PyObject *state;  /* names at the end of the last turn, or NULL */
    PyObject *rolled; /* names after the loop, when the rest ran as a region */
};

/* -- Turns ------------------------------------------------------------------------- */

IrNode
trace_turn_first(const Trace *trace)
{
    return trace->loop ? trace->loop->first : 0;
}

int64_t
trace_turn_serial(Trace *trace, const npy_intp *steps)
{
    IrNode turn = trace_turn_first(trace);
    if (trace->windows_turn != turn) {
        trace->windows_turn = turn;
        trace->nwindows = 0;
    }
    for (uint32_t i = 0; i < trace->nwindows; i++) {
        if (memcmp(trace->window_steps[i], steps, sizeof trace->window_steps[i]) == 0)
            return trace->window_numbers[i];
    }
    int64_t number = (int64_t)++trace->serial;
    uint32_t place = trace->nwindows < 8 ? trace->nwindows++ : 7;
    memcpy(trace->window_steps[place], steps, sizeof trace->window_steps[place]);
    trace->window_numbers[place] = number;
    return number;
}

/* The loop is not watched any more. */
static void
loop_close(TraceLoop *self)
{
    if (!self->open)
        return;
    self->open = self->candidate = false;
    if (self->trace->loop == self)
        self->trace->loop = self->outer;
    PyMem_Free(self->snapshot);
    self->snapshot = NULL;
}

static int
candidate_open(TraceLoop *self)
{
    Trace *trace = self->trace;
    uint32_t n = 0;
    if (!self->open) {
        self->outer = (TraceLoop *)Py_XNewRef(trace->loop);
        self->depth = trace->loop ? trace->loop->depth + 1 : 0;
        if (self->depth >= TRACE_DEPTH_MAX) {
            self->attempts = ATTEMPTS_MAX;
            return 0;
        }
        trace->loop = self;
        self->open = true;
    }
    for (TraceStorage *s = trace->storages; s; s = s->next)
        n++;
    PyMem_Free(self->snapshot);
    self->snapshot = PyMem_Malloc((n + 1) * sizeof *self->snapshot);
    if (!self->snapshot) {
        PyErr_NoMemory();
        return -1;
    }
    self->nsnapshot = 0;
    for (TraceStorage *s = trace->storages; s; s = s->next)
        self->snapshot[self->nsnapshot++] = (Snapshot){s, s->serial, s->value};
    self->candidate = true;
    self->first = ir_nnodes(trace->graph);
    self->serial = trace->serial;
    self->blockers = trace->blockers;
    return 0;
}

static PyObject *
item_of(TraceLoop *self, Py_ssize_t turn)
{
    long long value = self->start + self->step * (long long)turn;
    if (!self->candidate)
        return PyLong_FromLongLong(value);
    npy_intp steps[TRACE_DEPTH_MAX] = {0};
    npy_intp last = (npy_intp)(self->start + self->step * (long long)(self->n - 1));
    steps[self->depth] = (npy_intp)self->step;
    return trace_index_new(self->trace, value, steps,
                           value < last ? (npy_intp)value : last,
                           value < last ? last : (npy_intp)value);
}

static PyObject *
loop_next(PyObject *op)
{
    TraceLoop *self = (TraceLoop *)op;
    if (self->iterator) {
        PyObject *item = PyIter_Next(self->iterator);
        if (!item || !self->trace)
            return item;
        PyObject *wrapped = trace_wrap(self->trace, item);
        Py_DECREF(item);
        return trace_item_made(wrapped);
    }
    if (self->rolled || self->turn == self->n) {
        loop_close(self);
        return NULL;
    }
    bool may = self->trace->live && self->turn >= 1 && self->attempts < ATTEMPTS_MAX &&
               self->n - self->turn >= TURNS_MIN - 1 && self->state;
    if (may) {
        self->attempts++;
        if (candidate_open(self) < 0)
            return trace_item_made(NULL);
    } else
        loop_close(self);
    return trace_item_made(item_of(self, self->turn++));
}

/* -- From a turn to a region ------------------------------------------------------- */

static bool
same_python_value(PyObject *a, PyObject *b)
{
    if (a == b)
        return true;
    if (Py_TYPE(a) != Py_TYPE(b) || !(PyLong_CheckExact(a) || PyUnicode_CheckExact(a)))
        return false;
    int equal = PyObject_RichCompareBool(a, b, Py_EQ);
    if (equal < 0)
        PyErr_Clear();
    return equal == 1;
}

static bool
same_form(const Tracer *a, const Tracer *b)
{
    size_t bytes = (size_t)a->ndim * sizeof(npy_intp);
    return a->kind == b->kind && a->ndim == b->ndim &&
           PyArray_EquivTypes(a->descr, b->descr) &&
           memcmp(a->shape ? a->shape : (npy_intp[1]){0},
                  b->shape ? b->shape : (npy_intp[1]){0}, bytes) == 0 &&
           memcmp(a->strides ? a->strides : (npy_intp[1]){0},
                  b->strides ? b->strides : (npy_intp[1]){0}, bytes) == 0;
}

/* A float is one of Python's in the graph where a call gave it, and a float64 where an operation did. */
static bool
same_type(const Trace *trace, Tracer *a, Tracer *b)
{
    return ir_type(trace->graph, tracer_value(a)).dtype ==
           ir_type(trace->graph, tracer_value(b)).dtype;
}

/* How a name went through the turn: 1 carried by value, 0 unchanged, -1 no region. */
static int
name_carried(const TraceLoop *self, PyObject *before, PyObject *after)
{
    const TraceState *state = self->trace->state;
    bool traced = tracer_check(state, before);
    if (traced != tracer_check(state, after))
        return -1;
    if (!traced)
        return same_python_value(before, after) ? 0 : -1;
    Tracer *a = (Tracer *)before, *b = (Tracer *)after;
    if (a == b)
        return a->kind == TRACER_index ? -1 : 0;
    if (a->kind == TRACER_index || b->kind == TRACER_index || !same_form(a, b))
        return -1;
    if (a->kind != TRACER_array)
        return Py_TYPE(a->object) == Py_TYPE(b->object) && same_type(self->trace, a, b)
                   ? 1
                   : -1;
    if (!a->whole || !b->whole || b->storage->serial <= self->serial ||
        a->storage->param >= 0)
        return -1;
    for (uint32_t i = 0; i < self->nsnapshot; i++) {
        const Snapshot *s = &self->snapshot[i];
        if (s->storage == a->storage && s->serial == a->storage->serial &&
            s->value != a->storage->value)
            return -1; /* written, then replaced */
    }
    return 1;
}

/* True if nothing but names that are carried holds what they held before the turn: whoever
** else does goes on seeing the old value. A name that holds it now counts twice: the frame's
** variable, and `state`. */
static bool
held_by_names_only(const TraceLoop *self, PyObject *state, PyObject *before)
{
    const Tracer *tracer = (Tracer *)before;
    Py_ssize_t n = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->state); i++) {
        n += PyTuple_GET_ITEM(self->state, i) == before;
        n += 2 * (PyTuple_GET_ITEM(state, i) == before);
    }
    return Py_REFCNT(before) == n && (!tracer->storage || tracer->storage->refs == 1);
}

/* Equal expressions are one value: another variable may hold it as well, and not change. */
static bool
value_is_shared(const Trace *trace, const Tracer *before, IrValue value)
{
    if (!before->storage)
        return trace->values[value].refs > 1;
    for (const TraceStorage *s = trace->storages; s; s = s->next) {
        if (s != before->storage && s->value == value)
            return true;
    }
    return false;
}

/* Two names for one new array: what one writes the other sees. */
static bool
names_alias(const TraceLoop *self, PyObject *state)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(state); i++) {
        for (Py_ssize_t k = 0; k < i; k++) {
            PyObject *a = PyTuple_GET_ITEM(state, i), *b = PyTuple_GET_ITEM(state, k);
            if (!tracer_check(self->trace->state, a) ||
                !tracer_check(self->trace->state, b))
                continue;
            TraceStorage *s = ((Tracer *)a)->storage;
            if (s && s == ((Tracer *)b)->storage && s->serial > self->serial)
                return true;
        }
    }
    return false;
}

static bool
is_live(const Trace *trace, const Snapshot *snapshot)
{
    for (const TraceStorage *s = trace->storages; s; s = s->next) {
        if (s == snapshot->storage)
            return s->serial == snapshot->serial;
    }
    return false;
}

/* What the turn carries; -1: no region. `slots[i]` is the carried number of name i, or
** -1. */
static int
find_carried(const TraceLoop *self, PyObject *state, TraceCarried *carried, int *slots)
{
    int n = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(state); i++) {
        PyObject *before = PyTuple_GET_ITEM(self->state, i),
                 *after = PyTuple_GET_ITEM(state, i);
        int how = name_carried(self, before, after);
        slots[i] = -1;
        if (how < 0)
            return -1;
        if (!how)
            continue;
        if (tracer_value((Tracer *)before) == tracer_value((Tracer *)after)) {
            slots[i] = -2; /* made again, the same: see below */
            continue;
        }
        if (!held_by_names_only(self, state, before) ||
            value_is_shared(self->trace, (Tracer *)before,
                            tracer_value((Tracer *)before)))
            return -1;
        slots[i] = n;
        carried[n++] = (TraceCarried){tracer_value((Tracer *)before),
                                      tracer_value((Tracer *)after), NULL};
    }
    for (uint32_t i = 0; i < self->nsnapshot; i++) {
        const Snapshot *s = &self->snapshot[i];
        if (is_live(self->trace, s) && s->storage->value != s->value)
            carried[n++] = (TraceCarried){s->value, s->storage->value, s->storage};
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(state); i++) {
        if (slots[i] != -2)
            continue;
        IrValue value = tracer_value((Tracer *)PyTuple_GET_ITEM(state, i));
        if (trace_depends(self->trace, value, self->first, carried, (uint32_t)n))
            return -1; /* the same so far: what it is made from changes only now */
        slots[i] = -1;
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) {
            if (carried[i].start == carried[k].start)
                return -1; /* two variables with one value so far */
            if (carried[i].end == carried[k].end)
                return -1; /* and one array, if it is one */
            if (carried[i].end == carried[k].start)
                return -1; /* what it becomes has been replaced by then */
        }
    }
    return n;
}

/* The names after the loop. */
static PyObject *
names_after(TraceLoop *self, PyObject *state, const int *slots, IrNode node,
            PyObject **results)
{
    Trace *trace = self->trace;
    Py_ssize_t n = PyTuple_GET_SIZE(state);
    PyObject *after = PyTuple_New(n + 1);
    for (Py_ssize_t i = 0; after && i < n; i++) {
        PyObject *value = NULL;
        if (slots[i] < 0)
            value = Py_NewRef(PyTuple_GET_ITEM(state, i));
        else {
            IrValue result = ir_result(trace->graph, node, (uint32_t)slots[i]);
            PyObject *object = results[slots[i]];
            if (PyArray_CheckExact(object))
                value = (PyObject *)tracer_new_array(trace, result,
                                                     (PyArrayObject *)object, -1);
            else
                value = (PyObject *)tracer_new_scalar(trace, result, object);
        }
        if (!value) {
            Py_CLEAR(after);
            break;
        }
        PyTuple_SET_ITEM(after, i, value);
    }
    PyObject *last =
        after ? PyLong_FromLongLong(self->start + self->step * (self->n - 1)) : NULL;
    if (after && last)
        PyTuple_SET_ITEM(after, n, last);
    else
        Py_CLEAR(after);
    return after;
}

/* 0: done or not possible; -1: exception. */
static int
roll(TraceLoop *self, PyObject *state)
{
    Trace *trace = self->trace;
    size_t room = (size_t)PyTuple_GET_SIZE(state) + self->nsnapshot + 1;
    TraceCarried *carried = PyMem_Calloc(room, sizeof *carried);
    int *slots = PyMem_Calloc(room, sizeof *slots), n, status = -1;
    PyObject **results = PyMem_Calloc(room, sizeof *results);
    if (!carried || !slots || !results) {
        PyErr_NoMemory();
        goto done;
    }
    if (trace_force_all(trace) < 0)
        goto done;
    status = 0;
    n = names_alias(self, state) ? -1 : find_carried(self, state, carried, slots);
    if (PyErr_Occurred()) /* out of memory */
        status = -1;
    if (n < 0 || status)
        goto done;
    IrNode node = trace_region_build(trace, self->first, self->serial, self->depth,
                                     self->n - self->turn, carried, (uint32_t)n);
    if (!node) {
        status = PyErr_Occurred() ? -1 : 0;
        goto done;
    }
    status = -1;
    if (trace_force_all(trace) < 0 ||
        trace->run_loop(trace->run_context, trace, node, results) < 0)
        goto done;
    for (int i = 0; i < n; i++) {
        IrValue version = ir_result(trace->graph, node, (uint32_t)i);
        if (!carried[i].storage)
            continue;
        TraceStorage *storage = carried[i].storage;
        PyArrayObject *memory = trace->values[storage->value].array;
        if (results[i] && !storage->owned)
            trace_storage_rebound(trace, storage, version, (PyArrayObject *)results[i]);
        else {
            /* Someone looks into its memory: that has to show the result. */
            if (results[i] && PyArray_CopyInto(memory, (PyArrayObject *)results[i]) < 0)
                goto done;
            trace_storage_written(trace, storage, version);
        }
    }
    self->rolled = names_after(self, state, slots, node, results);
    status = self->rolled ? 0 : -1;
done:
    for (size_t i = 0; results && i < room; i++)
        Py_XDECREF(results[i]);
    PyMem_Free(carried);
    PyMem_Free(slots);
    PyMem_Free(results);
    return status;
}

/* turn(state): the end of a turn; the names that are carried, or None if one is
** unbound. */
static PyObject *
loop_turn(PyObject *op, PyObject *state)
{
    TraceLoop *self = (TraceLoop *)op;
    if (self->iterator || !self->trace->live || state == Py_None) {
        if (self->trace)
            loop_close(self);
        self->attempts = ATTEMPTS_MAX;
        Py_RETURN_NONE;
    }
    /* What is behind an exception sees the names as they were in the turn that raised it. */
    bool seen = self->trace->tries || self->trace->finishes;
    bool ready = self->candidate && self->state && !seen &&
                 self->blockers == self->trace->blockers && self->trace->loop == self &&
                 self->n > self->turn;
    if (ready && roll(self, state) < 0)
        return NULL;
    self->candidate = false;
    Py_XSETREF(self->state, self->attempts < ATTEMPTS_MAX ? Py_NewRef(state) : NULL);
    Py_RETURN_NONE;
}

/* -- The type ---------------------------------------------------------------------- */

PyObject *
trace_loop_new(TraceState *state, Trace *trace, PyObject *iterable)
{
    TraceLoop *self = PyObject_New(TraceLoop, state->loop_type);
    PyObject *number[3] = {NULL};
    if (!self)
        return NULL;
    memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
    self->trace = trace;
    if (trace)
        trace->refs++;
    if (trace && trace->live && PyRange_Check(iterable)) {
        static const char *const names[] = {"start", "step", NULL};
        self->n = PyObject_Size(iterable);
        for (int i = 0; names[i] && self->n >= 0; i++)
            number[i] = PyObject_GetAttrString(iterable, names[i]);
        if (self->n >= 0 && number[0] && number[1]) {
            self->start = PyLong_AsLongLong(number[0]);
            self->step = PyLong_AsLongLong(number[1]);
        }
        Py_XDECREF(number[0]);
        Py_XDECREF(number[1]);
        if (!PyErr_Occurred() && self->start < INT32_MAX && self->start > -INT32_MAX &&
            self->step < INT32_MAX && self->step > -INT32_MAX && self->n < INT32_MAX)
            return (PyObject *)self;
        PyErr_Clear(); /* huge: Python's own ints */
    }
    self->iterator = PyObject_GetIter(iterable);
    if (!self->iterator)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void
loop_dealloc(PyObject *op)
{
    TraceLoop *self = (TraceLoop *)op;
    PyTypeObject *type = Py_TYPE(op);
    if (self->trace)
        loop_close(self);
    Py_XDECREF(self->outer);
    Py_XDECREF(self->iterator);
    Py_XDECREF(self->state);
    Py_XDECREF(self->rolled);
    PyMem_Free(self->snapshot);
    if (self->trace)
        trace_release(self->trace);
    PyObject_Free(op);
    Py_DECREF(type);
}

static PyObject *
loop_rolled(PyObject *op, void *Py_UNUSED(closure))
{
    TraceLoop *self = (TraceLoop *)op;
    return Py_NewRef(self->rolled ? self->rolled : Py_None);
}

static PyMethodDef loop_methods[] = {
    {"turn", loop_turn, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef loop_getset[] = {
    {"rolled", loop_rolled, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot loop_slots[] = {
    {Py_tp_dealloc, loop_dealloc}, {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, loop_next},   {Py_tp_methods, loop_methods},
    {Py_tp_getset, loop_getset},   {0, NULL},
};

static PyType_Spec loop_spec = {
    .name = "pyasc.TraceLoop",
    .basicsize = sizeof(TraceLoop),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = loop_slots,
};

int
trace_loop_type_add(TraceState *state, PyObject *module)
{
    state->loop_type =
        (PyTypeObject *)PyType_FromModuleAndSpec(module, &loop_spec, NULL);
    return state->loop_type ? 0 : -1;
}
