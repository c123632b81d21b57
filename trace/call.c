/* call.c - calls of real functions with real values, recorded with templates.
**
** Arguments are turned into real objects and, beside them, into a template that says
** where
** values of the graph go in. Results come back as tracers; their template says what is
** a new
** value, what is a view that is known already, and what has to be the same next time.
*/
#include "trace/call.h"

#include <stdlib.h>
#include <string.h>

/* -- Recording --------------------------------------------------------------------- */

static IrType
result_type(PyObject *object, IrDim *dims)
{
    if (PyArray_CheckExact(object)) {
        PyArrayObject *array = (PyArrayObject *)object;
        return trace_array_type(array, dims);
    }
    if (PyFloat_CheckExact(object))
        return (IrType){.dtype = DT_pyfloat};
    if (PyComplex_CheckExact(object))
        return (IrType){.dtype = DT_pycomplex};
    if (PyLong_CheckExact(object))
        return (IrType){.dtype = DT_pyint};
    if (!PyArray_CheckScalar(object))
        return (IrType){.dtype = DT_object};
    PyArray_Descr *descr = PyArray_DescrFromScalar(object);
    IrType type = trace_ir_type(descr, 0, NULL, dims);
    Py_DECREF(descr);
    return type;
}

static const char *
callable_name(PyObject *callable, char *buffer, size_t n)
{
    PyObject *name = PyObject_GetAttrString(callable, "__name__");
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    snprintf(buffer, n, "%s", text ? text : Py_TYPE(callable)->tp_name);
    PyErr_Clear();
    Py_XDECREF(name);
    return buffer;
}

/* An effect comes after all that may raise, or turn out differently, before it. */
static uint32_t
add_waits(Trace *trace, IrValue *values, uint32_t n)
{
    for (; trace->seen < trace->nsites; trace->seen++) {
        const TraceSite *site = &trace->sites[trace->seen];
        IrNode node = site->node;
        if (!(site->raises || site->differs) || !node || n == 2 * TENSORS_MAX)
            continue;
        if (ir_node_home(trace->graph, node) == 1 &&
            ir_node_nresults(trace->graph, node))
            values[n++] = ir_result(trace->graph, node, 0);
    }
    return n;
}

/* The call's node: new results first, then new versions of what it writes. */
static IrNode
call_node(Trace *trace, PyObject *callable, const Operands *operands,
          const Results *results, uint32_t mutates, uint32_t site)
{
    bool effect = trace->sites[site].kind == SITE_effect;
    IrValue values[TENSORS_MAX];
    IrType types[2 * TENSORS_MAX];
    IrDim(*dims)[NPY_MAXDIMS] = PyMem_Malloc((results->n + 1) * sizeof *dims);
    int64_t number = site, updates[32];
    uint32_t ntypes = 0, nupdates = 0;
    char name[64];
    IrNode node = 0;
    if (!dims)
        return 0;
    for (uint32_t i = 0; i < operands->n; i++)
        values[i] = tracer_value(operands->tracers[i]);
    for (uint32_t i = 0; i < results->n; i++)
        types[ntypes++] = result_type(results->objects[i], dims[i]);
    IrValue all[3 * TENSORS_MAX];
    uint32_t nall = operands->n;
    memcpy(all, values, operands->n * sizeof(IrValue));
    for (uint32_t i = 0; i < operands->n && i < 32; i++) {
        if (!(mutates & 1u << i))
            continue;
        /* The storage's version goes in, the next one comes out. */
        IrValue base = operands->tracers[i]->storage->value;
        updates[nupdates++] = nall;
        all[nall++] = base;
        types[ntypes++] = ir_type(trace->graph, base);
    }
    if (effect)
        nall = add_waits(trace, all, nall);
    IrAttr attrs[3] = {
        {.key = "name",
         .kind = ATTR_text,
         .text = callable_name(callable, name, sizeof name)},
        {.key = "site", .kind = ATTR_ints, .count = 1, .ints = &number},
        {.key = "updates", .kind = ATTR_ints, .count = nupdates, .ints = updates},
    };
    IrOp op = nupdates                      ? OP_call_update
              : effect || results->compares ? OP_effect
                                            : OP_call;
    node = ir_node_typed(trace->graph, op, all, nall, attrs, nupdates ? 3 : 2, types,
                         ntypes);
    PyMem_Free(dims);
    return node;
}

/* The node of a call that a group may take part in, or 0. */
static IrNode
fusible(Trace *trace, PyObject *callable, PyObject *args, PyObject *kwargs,
        const Operands *operands, const Results *results)
{
    IrDim dims[NPY_MAXDIMS];
    IrType type = result_type(results->objects[0], dims);
    IrNode node = trace_reduction_node(trace, callable, args, kwargs,
                                       operands->tracers[0], &type);
    return node ? node
                : trace_roll_node(trace, callable, args, kwargs, operands->tracers[0],
                                  &type);
}

/* Tracers for the new results, their templates' values filled in. */
static PyObject *
results_finish(Trace *trace, PyObject *wrapped, Results *results, IrNode node)
{
    PyObject *tracers[TENSORS_MAX] = {NULL}, *answer = NULL;
    uint32_t i;
    for (i = 0; i < results->n; i++) {
        PyObject *object = results->objects[i];
        IrValue value = ir_result(trace->graph, node, i);
        results->refs[i]->value = value;
        if (!value)
            goto done;
        if (PyArray_CheckExact(object))
            tracers[i] =
                (PyObject *)tracer_new_array(trace, value, (PyArrayObject *)object, -1);
        else if (trace_is_source(trace, object))
            tracers[i] = trace_generator(trace, value, object, false);
        else
            tracers[i] = (PyObject *)tracer_new_scalar(trace, value, object);
        if (!tracers[i])
            goto done;
    }
    answer = trace_put_tracers(wrapped, results, tracers);
done:
    for (i = 0; i < results->n; i++)
        Py_XDECREF(tracers[i]);
    if (!answer && !PyErr_Occurred()) {
        trace_end(trace, BAIL_graph, NULL);
        answer = Py_NewRef(wrapped);
    }
    return answer;
}

/* A subscript with an array of bools in it selects as many elements as are true. */
bool
trace_selects_by_mask(const Operands *operands)
{
    for (uint32_t i = 1; i < operands->n; i++) {
        if (operands->tracers[i]->descr->type_num == NPY_BOOL)
            return true;
    }
    return false;
}

bool
trace_is_selection(const Operands *operands)
{
    const Tracer *x = operands->tracers[0], *mask = operands->tracers[1];
    return operands->n == 2 && x->kind == TRACER_array && mask->kind == TRACER_array &&
           mask->descr->type_num == NPY_BOOL && mask->ndim > 0 &&
           mask->ndim <= x->ndim &&
           memcmp(mask->shape, x->shape, (size_t)mask->ndim * sizeof *x->shape) == 0;
}

/* -- Calling ----------------------------------------------------------------------- */

/* True if views among the results show the same places for all values of the operands. What is
** written (`out`) is returned as it is. */
static bool
same_views(const Operands *operands, const Results *results, uint32_t mutates,
           unsigned tame)
{
    bool same = tame & TAME_fixed, views = false;
    for (uint32_t i = 0; i < operands->n; i++) {
        same &= results->viewed[i];
        views |= results->viewed[i] && (i >= 32 || !(mutates & 1u << i));
    }
    return same || !views;
}

/* Fills the site of a call that may be recorded; false: what came back, or what may come
** back, is not to be repeated. */
static bool
site_add(Trace *trace, TraceSiteKind kind, PyObject *callable, const CallArgs *call,
         PyObject *template, const Results *results, unsigned tame)
{
    bool effect = kind == SITE_effect;
    bool nest = Py_TYPE(callable) == trace->state->nest_type;
    bool differs =
        results->compares || !(tame & TAME_fixed) || (effect && results->n && !nest);
    bool sized = trace_holds_sizes(trace->state, call->shape) ||
                 trace_holds_sizes(trace->state, call->kwshape);
    if (sized && !trace_takes_any_size(trace->state, callable))
        tame &= ~(unsigned)TAME_silent;
    bool raises = !(tame & TAME_silent) && (effect || call->operands.n || sized);
    if (trace->leaks && (differs || (raises && !effect))) {
        trace_end(trace, BAIL_leak, callable);
        return false;
    }
    trace->blockers += differs || effect || call->operands.has_int;
    trace->guard_after_write |= (differs || !(tame & TAME_silent)) && trace->wrote;
    TraceSite *site = trace_site_add(trace, kind);
    if (!site)
        return false;
    site->callable = Py_NewRef(callable);
    site->args = Py_NewRef(call->shape);
    site->kwargs = Py_XNewRef(call->kwshape);
    site->result = Py_NewRef(template);
    site->compares = results->compares;
    site->differs = differs;
    site->raises = raises;
    return true;
}

/* True where the call said nothing that it would not say again. */
static bool
needs_no_site(const Results *results, uint32_t mutates, unsigned tame)
{
    return results->n == 0 && !results->compares && !mutates &&
           (results->views || tame & TAME_silent);
}

/* What is no new array may be another one for other sizes. */
static void
note_views(Trace *trace, const CallArgs *call, const Results *results)
{
    trace->extents |=
        results->views && (trace_holds_sizes(trace->state, call->shape) ||
                           trace_holds_sizes(trace->state, call->kwshape));
}

/* What other values may do to the call, from all that is known of it. */
static unsigned
tameness(Trace *trace, TraceSiteKind kind, PyObject *callable, const CallArgs *call,
         PyObject *result)
{
    TraceState *state = trace->state;
    bool first = PyTuple_GET_SIZE(call->shape) &&
                 trace_ref_check(state, PyTuple_GET_ITEM(call->shape, 0));
    bool nest = Py_TYPE(callable) == state->nest_type; /* it may draw numbers */
    unsigned tame = kind == SITE_effect && !nest
                        ? 0
                        : trace_tameness(state, callable, &call->operands, first);
    if (trace_is_of_ints(state, callable, call->shape, result))
        tame |= TAME_silent;
    if (trace_may_be_complex(state, callable, call))
        tame &= ~(unsigned)TAME_fixed;
    return tame;
}

PyObject *
trace_record(Trace *trace, TraceSiteKind kind, PyObject *callable, const CallArgs *call,
             PyObject *result, uint32_t mutates)
{
    const Operands *operands = &call->operands;
    Results *results = PyMem_Calloc(1, sizeof *results);
    PyObject *template = NULL, *wrapped = NULL, *answer = NULL;
    IrNode node = 0;
    if (!results)
        return PyErr_NoMemory();
    wrapped = trace_wrap_result(trace, result, operands, results, &template);
    if (!wrapped)
        goto done;
    if (results->foreign) {
        trace_end(trace, BAIL_unknown_result, callable);
        answer = Py_NewRef(result);
        goto done;
    }
    unsigned tame = tameness(trace, kind, callable, call, result);
    note_views(trace, call, results);
    if (results->views && !same_views(operands, results, mutates, tame)) {
        trace_end(trace, BAIL_view, callable);
        answer = Py_NewRef(result);
        goto done;
    }
    if (kind == SITE_call && needs_no_site(results, mutates, tame)) {
        answer = Py_NewRef(wrapped); /* no need to call again */
        goto done;
    }
    if (!site_add(trace, kind, callable, call, template, results, tame)) {
        answer = PyErr_Occurred() ? NULL : Py_NewRef(result);
        goto done;
    }
    if (kind == SITE_call && operands->n == 1 && results->n == 1 && !mutates &&
        !results->compares)
        node = fusible(trace, callable, call->shape, call->kwshape, operands, results);
    if (!node)
        node =
            call_node(trace, callable, operands, results, mutates, trace->nsites - 1);
    trace->sites[trace->nsites - 1].node = node;
    if (!node) {
        trace_end(trace, BAIL_graph, NULL);
        answer = Py_NewRef(result);
        goto done;
    }
    uint32_t version = results->n;
    for (uint32_t i = 0; i < operands->n && i < 32; i++) {
        if (mutates & 1u << i)
            trace_write_end(operands->tracers[i],
                            ir_result(trace->graph, node, version++));
    }
    answer = results_finish(trace, wrapped, results, node);
    if (answer && kind == SITE_call &&
        trace_direct(trace, &trace->sites[trace->nsites - 1], operands) < 0)
        Py_CLEAR(answer);
    bool scalar = true;
    for (uint32_t i = 0; i < results->n; i++)
        scalar &= !PyArray_Check(results->objects[i]);
    trace_count(trace, scalar && !mutates && kind == SITE_call);
    trace->narrays -= kind == SITE_effect;
done:
    Py_XDECREF(wrapped);
    Py_XDECREF(template);
    PyMem_Free(results);
    return answer;
}

/* Which of the operands (in order of appearance) the arguments in `mutates` are. */
int
trace_mutated_operands(Trace *trace, const Operands *operands, PyObject *const *args,
                       size_t nargs, uint32_t mutates, uint32_t *mask)
{
    *mask = 0;
    for (size_t i = 0; i < nargs && i < 32; i++) {
        if (!(mutates & 1u << i))
            continue;
        if (!tracer_check(trace->state, args[i]) && PyArray_Check(args[i]))
            return -1; /* written, but not a variable of this trace */
        for (uint32_t k = 0; k < operands->n; k++) {
            if ((PyObject *)operands->tracers[k] != args[i])
                continue;
            if (k >= 32)
                return -1;
            if (operands->tracers[k]->kind ==
                TRACER_array) /* scalars are never written */
                *mask |= 1u << k;
            break;
        }
    }
    return 0;
}

/* Computes what would change under the call, before its arguments become real. */
int
trace_prepare_writes(Trace *trace, PyObject *const *args, size_t nargs,
                     uint32_t mutates)
{
    for (size_t i = 0; i < nargs && i < 32; i++) {
        if (!(mutates & 1u << i))
            continue;
        if (!tracer_check(trace->state, args[i])) {
            if (trace_force_all(trace) < 0)
                return -1;
            continue;
        }
        Tracer *tracer = (Tracer *)args[i];
        if (tracer->kind != TRACER_array)
            continue;
        PyObject *real = tracer_object(tracer);
        if (real && trace->live &&
            ((trace->overlap && tracer->storage->param >= 0) ||
             trace_overlaps_itself((PyArrayObject *)real)))
            trace_end(trace, BAIL_overlap, NULL);
        if (!real || trace_write_begin(tracer) < 0)
            return -1;
    }
    return 0;
}

bool
trace_args_build(Trace *trace, CallArgs *call, PyObject *const *args, size_t nargs,
                 PyObject *kwnames)
{
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    call->reals = PyTuple_New((Py_ssize_t)nargs);
    call->shape = PyTuple_New((Py_ssize_t)nargs);
    if (!call->reals || !call->shape)
        return false;
    for (size_t i = 0; i < nargs; i++) {
        PyObject *part = NULL;
        PyObject *real = trace_build(trace, args[i], &call->operands, &part);
        if (!real)
            return false;
        PyTuple_SET_ITEM(call->reals, (Py_ssize_t)i, real);
        PyTuple_SET_ITEM(call->shape, (Py_ssize_t)i, part);
    }
    if (!nkw)
        return true;
    call->kwreals = PyDict_New();
    call->kwshape = PyDict_New();
    for (Py_ssize_t i = 0; call->kwreals && call->kwshape && i < nkw; i++) {
        PyObject *part = NULL, *key = PyTuple_GET_ITEM(kwnames, i);
        PyObject *real =
            trace_build(trace, args[nargs + (size_t)i], &call->operands, &part);
        bool bad = !real || PyDict_SetItem(call->kwreals, key, real) < 0 ||
                   PyDict_SetItem(call->kwshape, key, part) < 0;
        Py_XDECREF(real);
        Py_XDECREF(part);
        if (bad)
            return false;
    }
    return call->kwreals && call->kwshape;
}

void
trace_args_clear(CallArgs *call)
{
    Py_CLEAR(call->reals);
    Py_CLEAR(call->shape);
    Py_CLEAR(call->kwreals);
    Py_CLEAR(call->kwshape);
}

/* True of what holds no tracer: numbers, strings, slices of numbers, tuples of these. */
static bool
is_plain(PyObject *object)
{
    if (PyTuple_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
            PyObject *item = PyTuple_GET_ITEM(object, i);
            if (PyTuple_CheckExact(item) || !is_plain(item))
                return false;
        }
        return true;
    }
    if (PySlice_Check(object)) {
        const PySliceObject *slice = (PySliceObject *)object;
        return !PySlice_Check(slice->start) && is_plain(slice->start) &&
               !PySlice_Check(slice->stop) && is_plain(slice->stop) &&
               !PySlice_Check(slice->step) && is_plain(slice->step);
    }
    return object == Py_None || object == Py_Ellipsis || PyLong_CheckExact(object) ||
           PyFloat_CheckExact(object) || PyUnicode_CheckExact(object) ||
           PyBool_Check(object) || PyArray_CheckExact(object) ||
           PyArray_CheckScalar(object);
}

PyObject *
trace_call_ended(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs)
{
    enum { MOST = 3 };
    PyObject *real[MOST];
    bool known =
        PyCFunction_Check(callable) &&
        PyCFunction_GET_SELF(callable) == PyCFunction_GET_SELF(trace->state->getitem);
    if (trace->live || nargs > MOST || !known)
        return NULL;
    for (size_t i = 0; i < nargs; i++) {
        const Tracer *tracer =
            tracer_check(trace->state, args[i]) ? (Tracer *)args[i] : NULL;
        if (tracer ? tracer->kind != TRACER_array && tracer->kind != TRACER_scalar
                   : !is_plain(args[i]))
            return NULL;
        real[i] = tracer ? tracer_object((Tracer *)args[i]) : args[i];
        if (!real[i])
            return NULL;
    }
    return PyObject_Vectorcall(callable, real, nargs, NULL);
}

PyObject *
trace_call(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
           PyObject *kwnames, uint32_t mutates)
{
    if (!trace->live && !mutates && !kwnames) {
        PyObject *result = trace_call_ended(trace, callable, args, nargs);
        if (result || PyErr_Occurred())
            return result;
    }
    CallArgs *call = PyMem_Calloc(1, sizeof *call);
    PyObject *result = NULL, *answer = NULL;
    size_t all = nargs + (kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0);
    uint32_t mask = 0;

    if (!call)
        return PyErr_NoMemory();
    if (mutates && trace_prepare_writes(trace, args, all, mutates) < 0)
        goto done;
    call->operands.ints = trace_takes_ints(trace->state, callable);
    call->operands.has_int = Py_TYPE(callable) == trace->state->nest_type ||
                             callable == (PyObject *)&PyLong_Type;
    if (!trace_args_build(trace, call, args, nargs, kwnames))
        goto done;
    if (trace->live && call->operands.foreign)
        trace_end(trace, BAIL_unknown_constant, callable);
    result = trace_direct_sum(trace, callable, call);
    if (!result && !PyErr_Occurred())
        result = PyObject_Call(callable, call->reals, call->kwreals);
    if (!result) {
        trace->blockers++; /* other turns may not raise */
        goto done;
    }
    if (!trace->live) {
        answer = Py_NewRef(result);
        goto done;
    }
    if (trace_mutated_operands(trace, &call->operands, args, all, mutates, &mask) < 0) {
        trace_end(trace, BAIL_unknown_constant, callable);
        answer = Py_NewRef(result);
        goto done;
    }
    answer = trace_record(trace, SITE_call, callable, call, result, mask);
done:
    Py_XDECREF(result);
    trace_args_clear(call);
    PyMem_Free(call);
    return answer;
}
