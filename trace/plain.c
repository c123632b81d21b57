/* plain.c - loops that run as they are written, where the trace has ended.
**
** Rewritten source calls a hook for each element that it touches, even when no trace is there any more. Loops are
** there a second time, without hooks (python/pyasc/_switches.py). These need no more than that the names in them have
** real values: a tracer is put in place of what it stands for, in lists, too. What may hold tracers where this does
** not look is left to the hooks.
*/
#include "trace/call.h"
#include "trace/nest.h"

enum { ITEMS_MAX = 1000, DEPTH_MAX = 3 };

/* True if no tracer is in it, however the loop gets at what it holds. */
static bool
is_bare(const TraceState *state, PyObject *object, int depth)
{
    bool list = (PyList_CheckExact(object) || trace_is_grown(object)), bare = true;
    PyObject *self = PyCFunction_Check(object) ? PyCFunction_GET_SELF(object) : NULL;
    if (tracer_check(state, object) ||
        (self && !PyModule_Check(self) && !PyCapsule_CheckExact(self)))
        return false; /* or a method of one; hooks have a capsule */
    if (!list && !PyTuple_CheckExact(object))
        return trace_is_constant(object) || PyArray_CheckExact(object) ||
               PyArray_CheckScalar(object);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
    if (n > ITEMS_MAX || depth == DEPTH_MAX)
        return false;
    for (Py_ssize_t i = 0; bare && i < n; i++)
        bare = is_bare(state, PySequence_Fast_GET_ITEM(object, i), depth + 1);
    return bare;
}

PyObject *
trace_nest_plain(Trace *trace, PyObject *values)
{
    Py_ssize_t n = PyTuple_GET_SIZE(values);
    PyObject *reals = PyList_New(n);
    for (Py_ssize_t i = 0; reals && i < n; i++) {
        PyObject *value = PyTuple_GET_ITEM(values, i);
        if (tracer_check(trace->state, value))
            value = tracer_object((Tracer *)value);
        else if (value != trace->state->unbound && !is_bare(trace->state, value, 0)) {
            Py_DECREF(reals);
            return Py_NewRef(Py_None);
        }
        if (!value)
            Py_CLEAR(reals);
        else
            PyList_SET_ITEM(reals, i, Py_NewRef(value));
    }
    return reals;
}

/* -- In the middle of a loop ------------------------------------------------------- */

/* The value with what tracers stand for in place of them; new reference. NULL: without an exception it needs the
** hooks. Lists, dicts and others that can be changed stay the same objects. */
static PyObject *bare_value(const TraceState *state, PyObject *object, int depth);

static bool
bare_list(const TraceState *state, PyObject *list, int depth)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *real = bare_value(state, PyList_GET_ITEM(list, i), depth);
        if (!real)
            return false;
        PyList_SetItem(list, i, real);
    }
    return true;
}

static bool
bare_dict(const TraceState *state, PyObject *dict, int depth)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value)) {
        PyObject *real =
            is_bare(state, key, 0) ? bare_value(state, value, depth) : NULL;
        int status = real && real != value ? PyDict_SetItem(dict, key, real)
                                           : 0; /* has the key */
        Py_XDECREF(real);
        if (!real || status < 0)
            return false;
    }
    return true;
}

static bool
bare_set(const TraceState *state, PyObject *set)
{
    PyObject *items = PySequence_List(set);
    bool bare = items != NULL;
    for (Py_ssize_t i = 0; bare && i < PyList_GET_SIZE(items); i++)
        bare = is_bare(state, PyList_GET_ITEM(items, i), 0);
    Py_XDECREF(items);
    return bare;
}

static PyObject *
bare_tuple(const TraceState *state, PyObject *tuple, int depth)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    PyObject *made = PyTuple_New(n);
    bool same = true;
    for (Py_ssize_t i = 0; made && i < n; i++) {
        PyObject *real = bare_value(state, PyTuple_GET_ITEM(tuple, i), depth);
        same &= real == PyTuple_GET_ITEM(tuple, i);
        if (real)
            PyTuple_SET_ITEM(made, i, real);
        else
            Py_CLEAR(made);
    }
    if (made && same)
        Py_SETREF(made, Py_NewRef(tuple));
    return made;
}

/* The cells and defaults of a function. */
static bool
bare_function(const TraceState *state, PyObject *function, int depth)
{
    PyObject *cells = PyFunction_GET_CLOSURE(function),
             *defaults = PyFunction_GET_DEFAULTS(function);
    PyObject *named = PyFunction_GET_KW_DEFAULTS(function), *real;
    for (Py_ssize_t i = 0; cells && i < PyTuple_GET_SIZE(cells); i++) {
        PyObject *cell = PyTuple_GET_ITEM(cells, i), *value = PyCell_GET(cell);
        real = value ? bare_value(state, value, depth) : NULL;
        if (real && real != value)
            PyCell_Set(cell, real);
        Py_XDECREF(real);
        if (value && !real)
            return false;
    }
    real = defaults ? bare_value(state, defaults, depth) : NULL;
    bool bare =
        !defaults ||
        (real && (real == defaults || PyFunction_SetDefaults(function, real) == 0));
    Py_XDECREF(real);
    return bare && (!named || bare_dict(state, named, depth));
}

/* The attributes of an object that has nothing else. */
static bool
bare_attributes(const TraceState *state, PyObject *object, int depth)
{
    const PyTypeObject *type = Py_TYPE(object);
    Py_ssize_t bytes = (Py_ssize_t)sizeof(PyObject);
    bytes += (type->tp_dictoffset > 0) * (Py_ssize_t)sizeof(PyObject *);
    bytes += (type->tp_weaklistoffset > 0) * (Py_ssize_t)sizeof(PyObject *);
    bool simple = type->tp_flags & Py_TPFLAGS_HEAPTYPE && !type->tp_itemsize &&
                  type->tp_basicsize == bytes &&
                  type->tp_getattro == PyObject_GenericGetAttr;
    PyObject **place = simple ? _PyObject_GetDictPtr(object) : NULL;
    return place && *place && bare_dict(state, *place, depth);
}

static PyObject *
bare_value(const TraceState *state, PyObject *object, int depth)
{
    bool bare;
    if (tracer_check(state, object))
        return Py_XNewRef(tracer_object((Tracer *)object));
    if (depth == DEPTH_MAX)
        return is_bare(state, object, depth) ? Py_NewRef(object) : NULL;
    if (PyTuple_CheckExact(object))
        return bare_tuple(state, object, depth + 1);
    if ((PyList_CheckExact(object) || trace_is_grown(object)))
        bare = bare_list(state, object, depth + 1);
    else if (PyDict_CheckExact(object))
        bare = bare_dict(state, object, depth + 1);
    else if (PySet_CheckExact(object))
        bare = bare_set(state, object);
    else if (PyFunction_Check(object))
        bare = bare_function(state, object, depth + 1);
    else
        bare = is_bare(state, object, 0) || bare_attributes(state, object, depth + 1);
    return bare ? Py_NewRef(object) : NULL;
}

bool
trace_is_in_root(const Trace *trace)
{
    PyFrameObject *frame = PyEval_GetFrame(); /* borrowed */
    PyCodeObject *code = frame ? PyFrame_GetCode(frame) : NULL;
    Py_XDECREF(code); /* the frame has it */
    return code && (PyObject *)code == trace->root;
}

/* As what follows without a trace will have. */
bool
trace_is_exact(const Trace *trace)
{
    const IrGraph *g = trace->graph;
    bool exact = trace->numerics != NUMERICS_fast;
    for (IrNode node = 1;
         exact && trace->numerics != NUMERICS_strict && node < ir_nnodes(g); node++) {
        IrOp op = ir_node_op(g, node);
        exact = !(ir_op_flags(op) & OPF_elementary) && op != OP_sum && op != OP_prod;
    }
    return exact;
}

/* over(state): True where the trace has ended and that has not been asked for yet. A long loop of a function that may be
** divided ends it. */
PyObject *
trace_hook_over(PyObject *Py_UNUSED(module), PyObject *asked)
{
    Trace *trace = asked == Py_None ? trace_current() : NULL;
    if (trace && trace->live && trace->divides && ++trace->nturns > TRACE_TURNS_LONG &&
        trace->nops > TRACE_OPS_LONG && trace_is_in_root(trace)) {
        trace->divides = trace_is_exact(trace);
        if (trace->divides)
            trace_end(trace, BAIL_too_long, NULL);
    }
    return PyBool_FromLong(trace && !trace->live);
}

/* bare(locals, names): a list of the names' real values; False: they need the hooks. The dict is empty then. */
PyObject *
trace_hook_bare(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    Trace *trace = trace_current();
    if (nargs != 2 || !PyDict_Check(args[0]) || !PyTuple_CheckExact(args[1]) || !trace)
        return PyErr_Format(PyExc_TypeError, "bare hook takes names and their values");
    Py_ssize_t n = PyTuple_GET_SIZE(args[1]);
    PyObject *reals = PyList_New(n);
    for (Py_ssize_t i = 0; reals && i < n; i++) {
        PyObject *value =
            PyDict_GetItemWithError(args[0], PyTuple_GET_ITEM(args[1], i));
        PyObject *real = value ? bare_value(trace->state, value, 0)
                               : Py_NewRef(trace->state->unbound);
        if (!real)
            Py_CLEAR(reals);
        else
            PyList_SET_ITEM(reals, i, real);
    }
    PyDict_Clear(args[0]); /* a frame may keep it */
    if (!reals && !PyErr_Occurred())
        Py_RETURN_FALSE;
    return reals;
}

/* bare_one(item): of what a loop goes over. */
static PyObject *
bare_one(PyObject *capsule, PyObject *object)
{
    TraceState *state = PyCapsule_GetPointer(capsule, NULL);
    if (state && tracer_check(state, object))
        return Py_XNewRef(tracer_object((Tracer *)object));
    bool holds = false;
    for (Py_ssize_t i = 0;
         state && PyTuple_CheckExact(object) && i < PyTuple_GET_SIZE(object); i++)
        holds |= tracer_check(state, PyTuple_GET_ITEM(object, i));
    if (holds)
        return trace_real(state, object);
    return state ? Py_NewRef(object) : NULL;
}

/* rest(item, iterator): the item, then the iterator's, as they are without a trace. */
PyObject *
trace_hook_rest(PyObject *capsule, PyObject *const *args, Py_ssize_t nargs)
{
    static PyMethodDef method = {"bare_one", bare_one, METH_O, NULL};
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError, "rest hook takes an item and an iterator");
    PyObject *first = bare_one(capsule, args[0]);
    PyObject *head = first ? PyTuple_Pack(1, first) : NULL;
    PyObject *each = head ? PyCFunction_New(&method, capsule) : NULL;
    PyObject *others = each ? PyObject_CallFunctionObjArgs((PyObject *)&PyMap_Type,
                                                           each, args[1], NULL)
                            : NULL;
    PyObject *itertools = others ? PyImport_ImportModule("itertools") : NULL;
    PyObject *all =
        itertools ? PyObject_CallMethod(itertools, "chain", "OO", head, others) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(head);
    Py_XDECREF(each);
    Py_XDECREF(others);
    Py_XDECREF(itertools);
    return all;
}
