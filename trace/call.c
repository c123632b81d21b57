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
        return trace_ir_type(PyArray_DESCR(array), PyArray_NDIM(array),
                             PyArray_DIMS(array), dims);
    }
    if (PyFloat_CheckExact(object))
        return (IrType){.dtype = DT_pyfloat};
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

/* The call's node: new results first, then new versions of what it writes. */
static IrNode
call_node(Trace *trace, PyObject *callable, const Operands *operands,
          const Results *results, uint32_t mutates, uint32_t site)
{
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
    IrValue all[2 * TENSORS_MAX];
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
    IrAttr attrs[3] = {
        {.key = "name",
         .kind = ATTR_text,
         .text = callable_name(callable, name, sizeof name)},
        {.key = "site", .kind = ATTR_ints, .count = 1, .ints = &number},
        {.key = "updates", .kind = ATTR_ints, .count = nupdates, .ints = updates},
    };
    IrOp op = nupdates ? OP_call_update : results->compares ? OP_effect : OP_call;
    node = ir_node_typed(trace->graph, op, all, nall, attrs, nupdates ? 3 : 2, types,
                         ntypes);
    PyMem_Free(dims);
    return node;
}

static IrNode
reduction(Trace *trace, PyObject *callable, PyObject *args, PyObject *kwargs,
          const Operands *operands, const Results *results)
{
    IrDim dims[NPY_MAXDIMS];
    IrType type = result_type(results->objects[0], dims);
    return trace_reduction_node(trace, callable, args, kwargs, operands->tracers[0],
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

/* After the real call: site, node and tracers. Steals nothing. */
static PyObject *
record_call(Trace *trace, PyObject *callable, PyObject *args, PyObject *kwargs,
            PyObject *result, const Operands *operands, uint32_t mutates)
{
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
    bool first = PyTuple_GET_SIZE(args) &&
                 trace_ref_check(trace->state, PyTuple_GET_ITEM(args, 0));
    unsigned tame = trace_tameness(trace->state, callable, operands, first);
    if (results->views && !same_views(operands, results, mutates, tame)) {
        trace_end(trace, BAIL_view, callable);
        answer = Py_NewRef(result);
        goto done;
    }
    if (results->n == 0 && !results->compares && !mutates &&
        (results->views || tame & TAME_silent)) {
        answer = Py_NewRef(wrapped); /* no need to call again */
        goto done;
    }
    bool may_differ = results->compares || !(tame & TAME_fixed);
    trace->blockers += may_differ;
    may_differ |= !(tame & TAME_silent);
    trace->guard_after_write |= may_differ && trace->wrote;
    TraceSite *site = trace_site_add(trace, SITE_call);
    if (!site)
        goto done;
    site->callable = Py_NewRef(callable);
    site->args = Py_NewRef(args);
    site->kwargs = Py_XNewRef(kwargs);
    site->result = Py_NewRef(template);
    site->compares = results->compares;
    site->raises = !(tame & TAME_silent) && operands->n;
    if (operands->n == 1 && results->n == 1 && !mutates && !results->compares)
        node = reduction(trace, callable, args, kwargs, operands, results);
    if (!node)
        node =
            call_node(trace, callable, operands, results, mutates, trace->nsites - 1);
    site->node = node;
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
    if (++trace->nops > TRACE_OPS_MAX)
        trace_end(trace, BAIL_too_long, NULL);
done:
    Py_XDECREF(wrapped);
    Py_XDECREF(template);
    PyMem_Free(results);
    return answer;
}

/* Which of the operands (in order of appearance) the arguments in `mutates` are. */
static int
mutated_operands(Trace *trace, const Operands *operands, PyObject *const *args,
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
static int
prepare_writes(Trace *trace, PyObject *const *args, size_t nargs, uint32_t mutates)
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

PyObject *
trace_call(Trace *trace, PyObject *callable, PyObject *const *args, size_t nargs,
           PyObject *kwnames, uint32_t mutates)
{
    Operands *operands = PyMem_Calloc(1, sizeof *operands);
    PyObject *result = NULL, *answer = NULL, *reals = NULL, *shape = NULL;
    PyObject *kwreals = NULL, *kwshape = NULL;
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    uint32_t mask = 0;

    if (!operands)
        return PyErr_NoMemory();
    if (mutates && prepare_writes(trace, args, nargs + (size_t)nkw, mutates) < 0)
        goto done;
    reals = PyTuple_New((Py_ssize_t)nargs);
    shape = PyTuple_New((Py_ssize_t)nargs);
    if (!reals || !shape)
        goto done;
    for (size_t i = 0; i < nargs; i++) {
        PyObject *part = NULL, *real = trace_build(trace, args[i], operands, &part);
        if (!real)
            goto done;
        PyTuple_SET_ITEM(reals, (Py_ssize_t)i, real);
        PyTuple_SET_ITEM(shape, (Py_ssize_t)i, part);
    }
    if (nkw) {
        kwreals = PyDict_New();
        kwshape = PyDict_New();
        for (Py_ssize_t i = 0; kwreals && kwshape && i < nkw; i++) {
            PyObject *part = NULL, *real = trace_build(trace, args[nargs + (size_t)i],
                                                       operands, &part);
            PyObject *key = PyTuple_GET_ITEM(kwnames, i);
            int bad = !real || PyDict_SetItem(kwreals, key, real) < 0 ||
                      PyDict_SetItem(kwshape, key, part) < 0;
            Py_XDECREF(real);
            Py_XDECREF(part);
            if (bad)
                goto done;
        }
    }
    if (trace->live && operands->foreign)
        trace_end(trace, BAIL_unknown_constant, callable);
    result = PyObject_Call(callable, reals, kwreals);
    if (!result) {
        trace->blockers++; /* other turns may not raise */
        goto done;
    }
    if (!trace->live) {
        answer = Py_NewRef(result);
        goto done;
    }
    if (mutated_operands(trace, operands, args, nargs + (size_t)nkw, mutates, &mask) <
        0) {
        trace_end(trace, BAIL_unknown_constant, callable);
        answer = Py_NewRef(result);
        goto done;
    }
    answer = record_call(trace, callable, shape, kwshape, result, operands, mask);
done:
    Py_XDECREF(result);
    Py_XDECREF(reals);
    Py_XDECREF(shape);
    Py_XDECREF(kwreals);
    Py_XDECREF(kwshape);
    PyMem_Free(operands);
    return answer;
}
