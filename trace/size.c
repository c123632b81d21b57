/* size.c - ints that follow from the extents of arguments.
**
** A function that was called with arrays of several extents is traced so that what it reads of them, `len(x)` and
** `x.shape`, are numbers of its trace: tracers of their kind `index` that have a size, an expression as path.c has them.
** Sums, products and quotients of sizes are sizes. What they are compared to is noted: a plan for other extents has to
** have the same answers. In keys and as arguments of calls they stay what they are; what meets an array or a float is a
** run-time int (ints.c). Elsewhere the number is asked for, and the plan is one for these extents alone.
*/
#include <string.h>

#include "trace/internal.h"

enum { DEPTH_MAX = 12, NOTED_MAX = 64 };

bool
trace_is_size(const TraceState *state, PyObject *object)
{
    return tracer_check(state, object) && ((Tracer *)object)->size;
}

static int
depth_of(PyObject *size)
{
    if (!PyTuple_CheckExact(size))
        return 0;
    long op = PyLong_AsLong(PyTuple_GET_ITEM(size, 0));
    if (op == SIZE_extent || op == SIZE_window)
        return op == SIZE_extent ? 1 : 4;
    int a = depth_of(PyTuple_GET_ITEM(size, 1)),
        b = depth_of(PyTuple_GET_ITEM(size, 2));
    return 1 + (a > b ? a : b);
}

/* A number of this value, with an expression for it; the number alone where it has none. Takes the expression's reference,
** which may be NULL. */
static PyObject *
size_new(Trace *trace, PyObject *number, PyObject *size)
{
    Tracer *tracer = NULL;
    if (number && size && depth_of(size) <= DEPTH_MAX)
        tracer = tracer_new_index(trace, number);
    else if (number && !PyErr_Occurred())
        trace->extents = true;
    if (tracer) {
        tracer->size = size;
        tracer->low = tracer->high = (npy_intp)PyLong_AsLongLong(number);
        if (!trace->sizes)
            trace->sizes = PyDict_New();
        if (!trace->sizes || !PyDict_SetDefault(trace->sizes, number, size)) {
            PyErr_Clear();
            trace->extents = true;
        }
        return (PyObject *)tracer;
    }
    Py_XDECREF(size);
    return PyErr_Occurred() ? NULL : Py_XNewRef(number);
}

static PyObject *
expression(TraceSizeOp op, PyObject *a, PyObject *b)
{
    return Py_BuildValue("(iOO)", (int)op, a, b);
}

/* The expression for an extent: an argument's, or one that came about before. NULL without an exception: there is none. */
static PyObject *
known_size(Trace *trace, npy_intp extent)
{
    for (uint32_t i = 0; i < trace->narguments; i++) {
        IrType type = ir_type(trace->graph, trace->params[i].value);
        for (uint32_t d = 0; d < type.ndim; d++) {
            if (type.dims[d].kind == DIM_integer && type.dims[d].value == extent)
                return Py_BuildValue("(iII)", (int)SIZE_extent, i, d);
        }
    }
    PyObject *number = trace->sizes ? PyLong_FromSsize_t(extent) : NULL;
    PyObject *size = number ? PyDict_GetItem(trace->sizes, number) : NULL;
    Py_XDECREF(number);
    return Py_XNewRef(size);
}

/* The expression for an extent of a window. NULL without an exception: there is none. */
static PyObject *
window_size(const Tracer *window, int axis)
{
    Trace *trace = window->trace;
    IrType whole = ir_type(trace->graph, window->storage->value);
    PyObject *on = window->path ? PyTuple_New(whole.ndim + 1) : NULL, *size = NULL;
    PyObject *number = on ? PyLong_FromLong(axis) : NULL;
    if (number)
        PyTuple_SET_ITEM(on, 0, number);
    for (uint32_t d = 0; number && d < whole.ndim; d++) {
        npy_intp extent = (npy_intp)whole.dims[d].value;
        PyObject *known = extent == 1 ? PyLong_FromLong(1) : known_size(trace, extent);
        if (!known) {
            Py_CLEAR(on);
            break;
        }
        PyTuple_SET_ITEM(on, d + 1, known);
    }
    if (on && number)
        size = expression(SIZE_window, window->path, on);
    Py_XDECREF(on);
    return size;
}

PyObject *
trace_extent(const Tracer *tracer, int axis)
{
    Trace *trace = tracer->trace;
    npy_intp extent = tracer->shape[axis];
    PyObject *number = PyLong_FromSsize_t(extent), *size = NULL, *result;
    bool sizes = trace->symbolic && trace->live && !trace->asking;
    if (!sizes)
        trace->extents = true;
    else if (tracer->whole) /* it is in the graph, where law 1 of jit/resize.c holds */
        size = extent == 1 ? NULL : known_size(trace, extent);
    else
        size = window_size(tracer, axis);
    if (!sizes || (tracer->whole && extent == 1))
        return number;
    result = size_new(trace, number, size);
    Py_XDECREF(number);
    return result;
}

PyObject *
trace_size_ask(Tracer *size)
{
    size->trace->extents = true;
    return size->object;
}

/* -- Arithmetic -------------------------------------------------------------------- */

/* The expression of an operand, borrowed; NULL: it is no int. */
static PyObject *
size_of(const TraceState *state, PyObject *object)
{
    if (trace_is_size(state, object))
        return ((Tracer *)object)->size;
    return PyLong_CheckExact(object) ? object : NULL;
}

static PyObject *
now_of(const TraceState *state, PyObject *object)
{
    return tracer_check(state, object) ? ((Tracer *)object)->object : object;
}

/* Compared: the answer is the same for other extents, or there is no plan. */
static PyObject *
compared(Trace *trace, PyObject *a, PyObject *b, OperatorId id)
{
    TraceState *state = trace->state;
    PyObject *answer = PyObject_CallFunctionObjArgs(
        state->operators[id], now_of(state, a), now_of(state, b), NULL);
    PyObject *note = answer ? Py_BuildValue("(iOOO)", (int)id, size_of(state, a),
                                            size_of(state, b), answer)
                            : NULL;
    if (note && !trace->compared)
        trace->compared = PyList_New(0);
    if (!note || !trace->compared || PyList_GET_SIZE(trace->compared) >= NOTED_MAX ||
        PyList_Append(trace->compared, note) < 0)
        trace->extents = true;
    Py_XDECREF(note);
    return answer;
}

PyObject *
trace_size_binary(Trace *trace, PyObject *a, PyObject *b, OperatorId id)
{
    TraceState *state = trace->state;
    PyObject *x = size_of(state, a), *y = size_of(state, b);
    TraceSizeOp op;
    if (!x || !y || !trace->live)
        return Py_NewRef(Py_NotImplemented);
    switch (id) {
    case OPERATOR_add:
        op = SIZE_add;
        break;
    case OPERATOR_sub:
        op = SIZE_subtract;
        break;
    case OPERATOR_mul:
        op = SIZE_multiply;
        break;
    case OPERATOR_floordiv:
        op = SIZE_floor_divide;
        break;
    case OPERATOR_mod:
        op = SIZE_remainder;
        break;
    case OPERATOR_lt:
    case OPERATOR_le:
    case OPERATOR_eq:
    case OPERATOR_ne:
    case OPERATOR_gt:
    case OPERATOR_ge:
        return compared(trace, a, b, id);
    default:
        return Py_NewRef(Py_NotImplemented);
    }
    bool divides = op == SIZE_floor_divide || op == SIZE_remainder;
    if (divides && trace_is_size(state, b) && trace_size_truth((Tracer *)b) < 0)
        return NULL;
    PyObject *number = PyObject_CallFunctionObjArgs(
        state->operators[id], now_of(state, a), now_of(state, b), NULL);
    PyObject *result = number ? size_new(trace, number, expression(op, x, y)) : NULL;
    if (!number)
        trace->extents = true; /* a division by zero */
    Py_XDECREF(number);
    return result;
}

PyObject *
trace_size_negative(Trace *trace, Tracer *a)
{
    PyObject *zero = PyLong_FromLong(0);
    PyObject *result =
        zero ? trace_size_binary(trace, zero, (PyObject *)a, OPERATOR_sub) : NULL;
    Py_XDECREF(zero);
    return result;
}

int
trace_size_truth(Tracer *size)
{
    PyObject *zero = PyLong_FromLong(0);
    PyObject *answer =
        zero ? compared(size->trace, (PyObject *)size, zero, OPERATOR_ne) : NULL;
    int truth = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(zero);
    Py_XDECREF(answer);
    return truth;
}

bool
trace_sizes_hold(const Trace *trace, const TraceSizes *sizes)
{
    for (Py_ssize_t i = 0; trace->compared && i < PyList_GET_SIZE(trace->compared);
         i++) {
        PyObject *note = PyList_GET_ITEM(trace->compared, i);
        int64_t a, b;
        if (!trace_size_value(sizes, PyTuple_GET_ITEM(note, 1), &a) ||
            !trace_size_value(sizes, PyTuple_GET_ITEM(note, 2), &b))
            return false;
        OperatorId id = (OperatorId)PyLong_AsLong(PyTuple_GET_ITEM(note, 0));
        bool answer = id == OPERATOR_lt   ? a < b
                      : id == OPERATOR_le ? a <= b
                      : id == OPERATOR_eq ? a == b
                      : id == OPERATOR_ne ? a != b
                      : id == OPERATOR_gt ? a > b
                                          : a >= b;
        if (answer != (PyTuple_GET_ITEM(note, 3) == Py_True))
            return false;
    }
    return true;
}

/* -- As other things --------------------------------------------------------------- */

PyObject *
trace_size_as_int(Tracer *size)
{
    Trace *trace = size->trace;
    PyObject *self = (PyObject *)size;
    if (!size->native && trace->live) {
        PyObject *made = trace_call(trace, (PyObject *)&PyLong_Type, &self, 1, NULL, 0);
        bool traced = made && tracer_check(trace->state, made) &&
                      ((Tracer *)made)->kind == TRACER_int;
        if (traced)
            size->native = Py_NewRef(made);
        Py_XDECREF(made);
        PyErr_Clear();
    }
    if (size->native)
        return size->native;
    return trace_size_ask(size);
}

/* The number as it is, or an expression in its place. New reference. */
static PyObject *
part_said(const TraceState *state, PyObject *part, bool now)
{
    if (PySlice_Check(part)) {
        const PySliceObject *slice = (PySliceObject *)part;
        PyObject *start = part_said(state, slice->start, now),
                 *stop = part_said(state, slice->stop, now),
                 *step = part_said(state, slice->step, now);
        PyObject *said = start && stop && step ? PySlice_New(start, stop, step) : NULL;
        Py_XDECREF(start);
        Py_XDECREF(stop);
        Py_XDECREF(step);
        return said;
    }
    if (!trace_is_size(state, part))
        return Py_NewRef(part);
    return Py_NewRef(now ? ((Tracer *)part)->object : ((Tracer *)part)->size);
}

static bool
holds_size(const TraceState *state, PyObject *part)
{
    if (!PySlice_Check(part))
        return trace_is_size(state, part);
    const PySliceObject *slice = (PySliceObject *)part;
    return trace_is_size(state, slice->start) || trace_is_size(state, slice->stop) ||
           trace_is_size(state, slice->step);
}

/* With expressions it is a tuple of parts in any case: an expression is one, too. */
static PyObject *
key_said(const TraceState *state, PyObject *key, bool now)
{
    if (!PyTuple_CheckExact(key)) {
        PyObject *part = part_said(state, key, now);
        if (part && !now)
            Py_SETREF(part, PyTuple_Pack(1, part));
        return part;
    }
    PyObject *said = PyTuple_New(PyTuple_GET_SIZE(key));
    for (Py_ssize_t i = 0; said && i < PyTuple_GET_SIZE(key); i++) {
        PyObject *part = part_said(state, PyTuple_GET_ITEM(key, i), now);
        if (part)
            PyTuple_SET_ITEM(said, i, part);
        else
            Py_CLEAR(said);
    }
    return said;
}

PyObject *
trace_key_sized(Trace *trace, PyObject *key, PyObject **said)
{
    const TraceState *state = trace->state;
    bool holds = trace->symbolic && holds_size(state, key);
    *said = NULL;
    for (Py_ssize_t i = 0;
         trace->symbolic && PyTuple_CheckExact(key) && i < PyTuple_GET_SIZE(key); i++)
        holds |= holds_size(state, PyTuple_GET_ITEM(key, i));
    if (!holds)
        return Py_NewRef(key);
    PyObject *now = key_said(state, key, true);
    *said = now ? key_said(state, key, false) : NULL;
    if (!*said)
        Py_CLEAR(now);
    return now;
}

/* -- In templates ------------------------------------------------------------------ */

PyObject *
trace_size_ref(TraceState *state, PyObject *size, PyObject *now)
{
    TraceSizeRef *ref = PyObject_New(TraceSizeRef, state->size_type);
    if (ref) {
        ref->size = Py_NewRef(size);
        ref->now = Py_NewRef(now);
        ref->then = NULL;
    }
    return (PyObject *)ref;
}

static void
ref_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_DECREF(((TraceSizeRef *)self)->size);
    Py_DECREF(((TraceSizeRef *)self)->now);
    Py_XDECREF(((TraceSizeRef *)self)->then);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot slots[] = {{Py_tp_dealloc, ref_dealloc}, {0, NULL}};

static PyType_Spec spec = {
    .name = "pyasc.TraceSizeRef",
    .basicsize = sizeof(TraceSizeRef),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

PyTypeObject *
trace_size_type(const TraceState *state)
{
    return state->size_type;
}

int
trace_size_type_add(TraceState *state, PyObject *module)
{
    state->size_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->size_type ? 0 : -1;
}

/* Calls `visit` for the sizes in a template; false: one of them said so. */
bool
trace_sizes_visit(const TraceState *state, PyObject *template,
                  bool (*visit)(void *context, TraceSizeRef *ref), void *context)
{
    if (!template)
        return true;
    if (Py_TYPE(template) == state->size_type)
        return visit(context, (TraceSizeRef *)template);
    if (PyTuple_Check(template) || PyList_CheckExact(template)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(template); i++) {
            if (!trace_sizes_visit(state, PySequence_Fast_GET_ITEM(template, i), visit,
                                   context))
                return false;
        }
    } else if (PyDict_CheckExact(template)) {
        PyObject *key, *value;
        Py_ssize_t at = 0;
        while (PyDict_Next(template, &at, &key, &value)) {
            if (!trace_sizes_visit(state, value, visit, context))
                return false;
        }
    }
    return true;
}

static bool
says_no(void *Py_UNUSED(context), TraceSizeRef *Py_UNUSED(ref))
{
    return false;
}

bool
trace_holds_sizes(const TraceState *state, PyObject *template)
{
    return !trace_sizes_visit(state, template, says_no, NULL);
}
