/* moved.c - windows that run-time ints move.
**
** An int of the arguments that was seen with several values is a run-time input (ints.c), and so are the ints that calls
** return, and int64 that are computed. Where one is a subscript, the window begins at its offset of now and an index that
** is 0 now:
**
**     x[2 * i + 1]   offset + (i - now) * 2 * stride
**
** The plan holds while the window stays in its axis without an end being cut, which is for a range of the int. Of
** arguments it is looked at before the plan runs; of others, where they have their value, it is asked for. Windows whose
** extents change have their ints asked for, and so have those that a loop's turns compute.
*/
#include <string.h>

#include "trace/internal.h"

enum { MOVERS_MAX = 4 }; /* ints that move one window */

/* factor * of + shift, or a constant (of: 0). */
typedef struct Linear {
    IrValue of;
    npy_intp factor, shift, now;
    Tracer *tracer; /* borrowed; NULL: a constant */
} Linear;

static TraceParam *
param_of(Trace *trace, IrValue value)
{
    for (uint32_t i = 0; i < trace->nparams; i++) {
        if (trace->params[i].value == value)
            return &trace->params[i];
    }
    return NULL;
}

bool
trace_int_follows(const Tracer *tracer)
{
    return tracer->kind == TRACER_int && tracer->of &&
           param_of(tracer->trace, tracer->of);
}

/* Python's ints and NumPy's of 64 bits. */
static bool
is_number(const Tracer *tracer)
{
    return tracer->kind == TRACER_int ||
           (tracer->kind == TRACER_scalar && tracer->ndim == 0 &&
            tracer->descr->type_num == NPY_INTP &&
            PyArray_ISNBO(tracer->descr->byteorder));
}

static bool
linear_traced(Tracer *tracer, Linear *x)
{
    Trace *trace = tracer->trace;
    bool follows = tracer->kind == TRACER_int && tracer->of;
    if (!trace->live || !is_number(tracer))
        return false;
    x->of = follows ? tracer->of : tracer_value(tracer);
    x->factor = follows ? tracer->factor : 1;
    x->shift = follows ? tracer->shift : 0;
    x->tracer = tracer;
    return x->of && (!trace_turn_first(trace) || param_of(trace, x->of));
}

static bool
linear_read(const TraceState *state, PyObject *object, Linear *x)
{
    PyObject *number = object;
    *x = (Linear){.of = 0};
    if (tracer_check(state, object)) {
        number =
            linear_traced((Tracer *)object, x) ? tracer_object((Tracer *)object) : NULL;
        if (!number || !PyIndex_Check(number) ||
            !((Tracer *)object)->trace->values[x->of].scalar)
            return false;
    } else if (!PyLong_CheckExact(object))
        return false;
    x->now = PyNumber_AsSsize_t(number, NULL); /* cut where it is too large */
    x->shift = x->of ? x->shift : x->now;
    return x->now < INT32_MAX && x->now > -INT32_MAX;
}

static bool
is_small(npy_intp x)
{
    return x < INT32_MAX && x > -INT32_MAX;
}

/* The operator's effect on what is linear; false: it is none of theirs. */
static bool
linear_apply(OperatorId id, const Linear *x, const Linear *y, Linear *result)
{
    npy_intp sign = id == OPERATOR_sub || id == OPERATOR_isub ? -1 : 1;
    *result = (Linear){.of = x->of ? x->of : y->of};
    switch (id) {
    case OPERATOR_neg:
        result->factor = -x->factor;
        result->shift = -x->shift;
        break;
    case OPERATOR_add:
    case OPERATOR_iadd:
    case OPERATOR_sub:
    case OPERATOR_isub:
        result->factor = x->factor + sign * y->factor;
        result->shift = x->shift + sign * y->shift;
        break;
    case OPERATOR_mul:
    case OPERATOR_imul:
        if (x->of && y->of)
            return false;
        result->factor = x->of ? x->factor * y->shift : y->factor * x->shift;
        result->shift = x->shift * y->shift;
        break;
    default:
        return false;
    }
    return (!x->of || !y->of || x->of == y->of) && is_small(result->factor) &&
           is_small(result->shift);
}

void
trace_int_note(const TraceState *state, OperatorId id, PyObject *a, PyObject *b,
               PyObject *result)
{
    Linear x, y = {.of = 0}, made;
    Tracer *tracer = (Tracer *)result;
    if (!result || !tracer_check(state, result) || tracer->kind != TRACER_int ||
        !linear_read(state, a, &x) || (b && !linear_read(state, b, &y)) ||
        !linear_apply(id, &x, &y, &made))
        return;
    tracer->of = made.of;
    tracer->factor = made.factor;
    tracer->shift = made.shift;
}

/* -- Keys -------------------------------------------------------------------------- */

typedef struct Mover {
    IrValue of;
    npy_intp bytes;     /* the window moves by, if the int is 1 more */
    npy_intp low, high; /* of the int */
} Mover;

typedef struct Moves {
    Mover movers[MOVERS_MAX];
    int n;
} Moves;

static npy_intp
floor_divide(npy_intp x, npy_intp y)
{
    npy_intp q = x / y;
    return q - (x % y != 0 && (x < 0) != (y < 0));
}

/* The plan holds while the tracer is between low and high. False: there may be an exception. */
static bool
ask_range(Tracer *tracer, npy_intp low, npy_intp high)
{
    Trace *trace = tracer->trace;
    if (tracer->ranged && tracer->low >= low && tracer->high <= high)
        return true;
    bool asking = trace->asking;
    PyObject *args[] = {(PyObject *)tracer, PyLong_FromSsize_t(low),
                        PyLong_FromSsize_t(high)};
    trace->asking = true;
    PyObject *answer = args[1] && args[2]
                           ? trace_call(trace, trace->state->within, args, 3, NULL, 0)
                           : NULL;
    trace->asking = asking;
    Py_XDECREF(args[1]);
    Py_XDECREF(args[2]);
    Py_XDECREF(answer);
    if (answer) {
        tracer->ranged = true;
        tracer->low = low;
        tracer->high = high;
    }
    return answer != NULL;
}

/* The int stays such that low <= x <= high, and moves the window by so many bytes. */
static bool
moves_add(Moves *moves, const Linear *x, npy_intp low, npy_intp high, npy_intp stride)
{
    if (x->now < low || x->now > high)
        return false;
    if (!x->factor)
        return true;
    bool param = param_of(x->tracer->trace, x->of);
    if (!param && !ask_range(x->tracer, low, high))
        return false;
    npy_intp first = x->factor > 0 ? low : high, last = x->factor > 0 ? high : low;
    Mover mover = {.of = x->of, .bytes = x->factor * stride};
    mover.low = -floor_divide(x->shift - first, x->factor);
    mover.high = floor_divide(last - x->shift, x->factor);
    for (int k = 0; k < moves->n; k++) {
        Mover *known = &moves->movers[k];
        if (known->of != mover.of)
            continue;
        known->bytes += mover.bytes;
        known->low = mover.low > known->low ? mover.low : known->low;
        known->high = mover.high < known->high ? mover.high : known->high;
        return true;
    }
    if (moves->n == MOVERS_MAX)
        return false;
    moves->movers[moves->n++] = mover;
    return true;
}

/* A bound of a slice. */
static bool
bound_read(const TraceState *state, PyObject *object, npy_intp otherwise, Linear *x)
{
    *x = (Linear){.now = otherwise, .shift = otherwise};
    return object == Py_None || linear_read(state, object, x);
}

static bool
slice_moves(const Tracer *on, PyObject *part, int axis, Moves *moves)
{
    const TraceState *state = on->trace->state;
    const PySliceObject *slice = (PySliceObject *)part;
    npy_intp extent = on->shape[axis];
    Linear start, stop, step;
    if (!bound_read(state, slice->start, 0, &start) ||
        !bound_read(state, slice->stop, extent, &stop) ||
        !bound_read(state, slice->step, 1, &step) || step.of || step.now < 1)
        return false;
    bool fixed = !start.of && !stop.of;
    if (fixed) /* as any other slice of the array: its ends may be cut */
        return true;
    npy_intp length = stop.now - start.now;
    return start.of == stop.of && start.factor == stop.factor && length >= 0 &&
           moves_add(moves, &start, 0, extent - length, on->strides[axis]);
}

static bool
int_moves(const Tracer *on, PyObject *part, int axis, Moves *moves)
{
    npy_intp extent = on->shape[axis];
    Linear x;
    if (!linear_read(on->trace->state, part, &x))
        return false;
    return x.now < 0 ? moves_add(moves, &x, -extent, -1, on->strides[axis])
                     : moves_add(moves, &x, 0, extent - 1, on->strides[axis]);
}

static bool
holds(const TraceState *state, PyObject *part, bool numbers)
{
    if (PySlice_Check(part)) {
        const PySliceObject *slice = (PySliceObject *)part;
        return holds(state, slice->start, numbers) ||
               holds(state, slice->stop, numbers) || holds(state, slice->step, numbers);
    }
    const Tracer *tracer = (const Tracer *)part;
    return tracer_check(state, part) && is_number(tracer) &&
           (numbers || tracer->kind == TRACER_int);
}

static bool
key_moves(const Tracer *on, PyObject *const *parts, Py_ssize_t n, Moves *moves)
{
    const TraceState *state = on->trace->state;
    Py_ssize_t axes = 0;
    int axis = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        axes += parts[i] != Py_None && parts[i] != Py_Ellipsis;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (parts[i] == Py_None)
            continue;
        if (parts[i] == Py_Ellipsis) {
            axis += on->ndim - (int)axes;
            continue;
        }
        bool slice = PySlice_Check(parts[i]);
        if (axis < 0 || axis >= on->ndim ||
            (!slice && !PyLong_CheckExact(parts[i]) && !holds(state, parts[i], true)) ||
            !(slice ? slice_moves : int_moves)(on, parts[i], axis, moves))
            return false;
        axis++;
    }
    return true;
}

/* A number of a key as it is now; of NumPy's ints, Python's. New reference. */
static PyObject *
now_of(const TraceState *state, PyObject *part)
{
    if (!tracer_check(state, part))
        return Py_NewRef(part);
    PyObject *real = tracer_object((Tracer *)part);
    return real && PyArray_IsScalar(real, Integer) ? PyNumber_Index(real)
                                                   : Py_XNewRef(real);
}

/* within(number, low, high) */
static PyObject *
is_within(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t x = nargs == 3 ? PyNumber_AsSsize_t(args[0], NULL) : -1;
    if (x == -1 && PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(nargs == 3 && x >= PyLong_AsSsize_t(args[1]) &&
                           x <= PyLong_AsSsize_t(args[2]));
}

int
trace_moved_load(TraceState *state)
{
    static PyMethodDef method = {"within", (PyCFunction)(void (*)(void))is_within,
                                 METH_FASTCALL, NULL};
    state->within = PyCFunction_New(&method, NULL);
    return state->within ? 0 : -1;
}

PyObject *
trace_key_now(const TraceState *state, PyObject *key)
{
    if (PySlice_Check(key)) {
        const PySliceObject *slice = (PySliceObject *)key;
        PyObject *start = now_of(state, slice->start),
                 *stop = now_of(state, slice->stop), *step = now_of(state, slice->step);
        PyObject *now = start && stop && step ? PySlice_New(start, stop, step) : NULL;
        Py_XDECREF(start);
        Py_XDECREF(stop);
        Py_XDECREF(step);
        return now;
    }
    if (!PyTuple_CheckExact(key))
        return now_of(state, key);
    PyObject *copy = PyTuple_New(PyTuple_GET_SIZE(key));
    for (Py_ssize_t i = 0; copy && i < PyTuple_GET_SIZE(key); i++) {
        PyObject *part = trace_key_now(state, PyTuple_GET_ITEM(key, i));
        if (part)
            PyTuple_SET_ITEM(copy, i, part);
        else
            Py_CLEAR(copy);
    }
    return copy;
}

/* -- Indices ----------------------------------------------------------------------- */

static IrValue
index_node(Trace *trace, IrOp op, IrValue x, IrValue y)
{
    IrValue operands[] = {x, y}, value = 0;
    if (x && (y || op == OP_to_index))
        value = ir_node(trace->graph, op, operands, y ? 2 : 1, NULL, 0);
    return value && trace_value(trace, value) ? value : 0;
}

static IrValue
index_const(Trace *trace, npy_intp number)
{
    IrValue value = ir_const_int(trace->graph, DT_index, number);
    return value && trace_value(trace, value) ? value : 0;
}

IrValue
trace_index_sum(Trace *trace, IrValue x, IrValue y)
{
    return x && y ? index_node(trace, OP_iadd, x, y) : x ? x : y;
}

/* (of - now) * bytes; the plan holds in the mover's range. 0: the graph is full. */
static IrValue
mover_index(Trace *trace, const Mover *mover)
{
    TraceParam *param = param_of(trace, mover->of);
    IrValue of = index_node(trace, OP_to_index, mover->of, 0);
    IrValue now =
        index_const(trace, PyNumber_AsSsize_t(trace->values[mover->of].scalar, NULL));
    IrValue by = index_node(trace, OP_isub, of, now);
    if (param && (!param->ranged || param->low < mover->low))
        param->low = mover->low;
    if (param && (!param->ranged || param->high > mover->high))
        param->high = mover->high;
    if (param)
        param->ranged = true;
    return index_node(trace, OP_imul, by, index_const(trace, mover->bytes));
}

/* True of keys with run-time ints in them. Elements that NumPy's ints select are operands of a call where they are
** read. */
static bool
is_moved(const Tracer *on, PyObject *const *parts, Py_ssize_t n, bool stored)
{
    const TraceState *state = on->trace->state;
    bool ints = false, numbers = false, element = n == on->ndim;
    for (Py_ssize_t i = 0; i < n; i++) {
        ints |= holds(state, parts[i], false);
        numbers |= holds(state, parts[i], true);
        element &= PyLong_CheckExact(parts[i]) || tracer_check(state, parts[i]);
    }
    return ints || (numbers && (stored || !element));
}

PyObject *
trace_key_moved(Tracer *tracer, PyObject *key, bool stored, IrValue *moved)
{
    Trace *trace = tracer->trace;
    PyObject *single[1] = {key}, *const *parts = single;
    Py_ssize_t n = 1;
    Moves moves = {.n = 0};
    *moved = 0;
    if (PyTuple_CheckExact(key)) {
        parts = ((PyTupleObject *)key)->ob_item;
        n = PyTuple_GET_SIZE(key);
    }
    if (!trace->live || trace->asking || tracer->kind != TRACER_array ||
        !tracer_plain(tracer) || !is_moved(tracer, parts, n, stored) ||
        !key_moves(tracer, parts, n, &moves))
        return PyErr_Occurred() ? NULL : Py_NewRef(key);
    for (int k = 0; k < moves.n; k++) {
        IrValue index = mover_index(trace, &moves.movers[k]);
        if (!index) {
            trace_end(trace, BAIL_graph, NULL);
            return Py_NewRef(key);
        }
        *moved = trace_index_sum(trace, *moved, index);
    }
    trace->extents = true; /* strides are in it */
    return trace_key_now(trace->state, key);
}

bool
trace_index_now(const Trace *trace, IrValue index, npy_intp *now)
{
    const IrGraph *g = trace->graph;
    IrNode node = ir_def(g, index);
    IrOp op = node ? ir_node_op(g, node) : OP_COUNT;
    npy_intp x, y;
    if (op == OP_const) {
        *now = (npy_intp)ir_node_int(g, node, "value", 0);
        return true;
    }
    if (op == OP_to_index) {
        PyObject *scalar = trace->values[ir_node_operand(g, node, 0)].scalar;
        *now = scalar ? PyNumber_AsSsize_t(scalar, NULL) : 0;
        return scalar != NULL;
    }
    if ((op != OP_iadd && op != OP_isub && op != OP_imul) ||
        !trace_index_now(trace, ir_node_operand(g, node, 0), &x) ||
        !trace_index_now(trace, ir_node_operand(g, node, 1), &y))
        return false;
    *now = op == OP_iadd ? x + y : op == OP_isub ? x - y : x * y;
    return true;
}
