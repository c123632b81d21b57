/* nest.c - a loop of rewritten source as a nest: what goes in, the two walks, what comes out.
**
** The hook is called where the loop stands, with the values of its names. Where the loop can be a
** nest it is made, run and recorded as one call; else the hook returns None and nothing has
** happened: the loop runs as any other.
*/
#include <string.h>

#include "trace/call.h"
#include "trace/invoke.h"
#include "trace/nest_lists.h"
#include "trace/nest_loop.h"

enum {                      /* steps of Python, of some 0.1 µs: */
       WORK_MIN = 16,       /* that code is worth to be compiled for */
       WORK_MIN_ROWS = 400, /* where arrays are worked on */
       WORK_MIN_FILLS =
           100, /* where a function is taken apart so that a list is filled */
       WORK_CONSTANT =
           5000, /* that a loop is followed for whose results are constants */
       WORK_WAITS = 500000, /* that take longer than to compile it, and load LLVM */
       MISSED_MAX = 8,      /* walks for names that may be unbound, and for lists */
};

typedef struct Hooked {
    PyObject *description, *inputs, *outer, *outputs;
    int returns;
    PyObject *
        before; /* the inputs before arrays were copied to be kept: borrowed, or NULL */
} Hooked;

/* The kind of statements that a description is of. */
static bool
is_kind(const NestTree *tree, const char *kind)
{
    return PyUnicode_Check(tree->value) &&
           PyUnicode_CompareWithASCIIString(tree->value, kind) == 0;
}

/* -- The walks --------------------------------------------------------------------- */

/* The names at the loop's head. */
static void
enter_slots(NestMaker *m, const Hooked *h)
{
    for (uint32_t s = 0; s < m->nslots; s++) {
        PyObject *object = PyTuple_GET_ITEM(h->inputs, s);
        m->slots[s] = (NestValue){.kind = NEST_unbound};
        if (object != m->trace->state->unbound && !m->failed)
            m->slots[s] = nest_input(m, &m->slots[s], object);
        if (m->failed && m->slots[s].kind == NEST_unbound &&
            object != m->trace->state->unbound) {
            m->failed = false; /* it may not be looked at */
            m->slots[s] = nest_of(NEST_conflict, DT_COUNT, 0);
        }
    }
}

static void
add_params(NestMaker *m)
{
    for (uint32_t i = 0; i < m->narrays; i++) {
        NestArray *array = &m->arrays[i];
        IrDim dims[NPY_MAXDIMS];
        for (int d = 0; d < array->ndim; d++)
            dims[d] =
                (IrDim){.value = ir_symbol_add(m->graph, NULL), .kind = DIM_symbol};
        IrType type = {
            .dtype = array->dtype, .ndim = (uint32_t)array->ndim, .dims = dims};
        array->param = ir_param_add(m->graph, type, NULL);
        array->whole = NULL;
    }
    for (uint32_t i = 0; i < m->ninputs; i++) {
        NestValue *value = &m->inputs[i].value;
        IrType type = {.dtype = nest_part_dtype(value)};
        value->value = ir_param_add(m->graph, type, NULL);
        if (nest_is_complex(value))
            value->imag = ir_param_add(m->graph, type, NULL);
    }
}

/* True if what is behind the loop can be told. */
static bool
may_leave(const NestMaker *m, const Hooked *h)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(h->outputs); i++) {
        if (!nest_may_leave(m,
                            &m->slots[PyLong_AsLong(PyTuple_GET_ITEM(h->outputs, i))]))
            return false;
    }
    return h->returns < 0 || (m->slots[h->returns].kind == NEST_bool &&
                              nest_may_leave(m, &m->slots[h->returns + 1]));
}

/* Names that may be unbound behind the loop are read there. */
static void
name_outputs(NestMaker *m, const Hooked *h)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(h->outputs) && !m->failed; i++) {
        uint32_t s = (uint32_t)PyLong_AsLong(PyTuple_GET_ITEM(h->outputs, i));
        if (m->slots[s].maybe || (m->slots[s].kind == NEST_conflict))
            nest_named(m, s);
    }
}

static bool
walk(NestMaker *m, const Hooked *h, const NestTree *tree)
{
    m->tape_at = m->steps = m->maybe = 0;
    m->returned = h->returns < 0 ? -1 : h->returns + 1;
    m->times = m->likely = 1;
    m->turns = 1;
    nest_note_changed(m, tree, h->inputs);
    enter_slots(m, h);
    nest_block(m, tree);
    if (!m->failed)
        name_outputs(m, h);
    if (!m->failed && !may_leave(m, h))
        nest_fail(
            m, "a name behind the loop that may be unbound, or of one kind or another");
    for (uint32_t i = 0; i < m->narrays; i++)
        m->arrays[i].written |= m->arrays[i].kept;
    return !m->failed;
}

/* -- Memory ------------------------------------------------------------------------ */

/* The arrays' memory: written ones have it for themselves, and it can be written. */
static bool
memory_fits(NestMaker *m, TraceNest *nest)
{
    PyArrayObject *real[NEST_ARRAYS_MAX];
    for (uint32_t i = 0; i < m->narrays; i++) {
        const NestArray *array = &m->arrays[i];
        Tracer *tracer = (Tracer *)array->object;
        TraceNestArray *like = &nest->arrays[i];
        like->ndim = array->ndim;
        like->written = array->written;
        like->itemsize = (int)ir_dtype_bytes(array->dtype);
        memcpy(like->shape, array->shape, (size_t)array->ndim * sizeof(npy_intp));
        like->scratch = !tracer && !array->list && !array->listed;
        real[i] = tracer ? (PyArrayObject *)tracer_object(tracer) : NULL;
        if (tracer && !real[i])
            return false;
        like->contiguous = true;
        if (!tracer)
            continue;
        like->contiguous =
            PyArray_STRIDE(real[i], array->ndim - 1) == PyArray_ITEMSIZE(real[i]);
        bool shared = m->trace->overlap && tracer->storage->param >= 0;
        if (array->written &&
            (!PyArray_ISWRITEABLE(real[i]) || shared || trace_overlaps_itself(real[i])))
            return false;
    }
    for (uint32_t i = 0; i < m->narrays; i++) {
        for (uint32_t k = 0; k < i; k++) {
            bool written = m->arrays[i].written || m->arrays[k].written;
            if (written && real[i] && real[k] && trace_overlap(real[i], real[k]))
                return false;
        }
    }
    return true;
}

/* What a copy is kept of is not written by another name: it would not be in the copy. */
static bool
copies_hold(const NestMaker *m, const Hooked *h)
{
    for (uint32_t s = 0; h->before && s < m->nslots; s++) {
        if (m->kept[s] != KEPT_copy)
            continue;
        PyObject *copied = tracer_object((Tracer *)PyTuple_GET_ITEM(h->before, s));
        for (uint32_t i = 0; copied && i < m->narrays; i++) {
            PyObject *written = m->arrays[i].written && m->arrays[i].object
                                    ? tracer_object((Tracer *)m->arrays[i].object)
                                    : Py_None;
            if (!written ||
                (written != Py_None &&
                 trace_overlap((PyArrayObject *)written, (PyArrayObject *)copied)))
                return false;
        }
        if (!copied)
            return false;
    }
    return true;
}

/* -- Making ------------------------------------------------------------------------ */

/* The second walk, and the callable. NULL without an exception: there is none. */
static PyObject *
build(NestMaker *m, const Hooked *h, const NestTree *tree)
{
    TraceNest nest = {
        .narrays = m->narrays, .nnumbers = m->ninputs, .line = tree->line};
    IrValue returns[NEST_NUMBER_PARTS * (NEST_SLOTS_MAX + 2)];
    uint32_t n = 0;
    if (!memory_fits(m, &nest) || !copies_hold(m, h))
        return NULL;
    m->graph = ir_graph_new("nest"); /* ORDER nest */
    if (!m->graph)
        return NULL;
    add_params(m);
    m->emits = true;
    for (uint32_t i = 0; i < m->narrays; i++)
        nest_whole(m, i);
    m->checks = false;
    for (uint32_t i = 0; i < m->narrays; i++)
        m->arrays[i].written &= m->arrays[i].object != NULL || m->arrays[i].list;
    if (!walk(m, h, tree))
        goto fail;
    for (uint32_t i = 0; i < m->narrays; i++)
        nest.arrays[i].written = m->arrays[i].written;
    for (uint32_t i = 0; i < m->narrays;
         i++) { /* now it is known how many items there are */
        if (m->arrays[i].list)
            nest.arrays[i].shape[0] = m->arrays[i].shape[0];
    }
    for (uint32_t i = 0; i < m->ninputs; i++)
        nest_describe_number(&m->inputs[i].value, &nest.numbers[i]);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(h->outputs); i++) {
        const NestValue *slot =
            &m->slots[PyLong_AsLong(PyTuple_GET_ITEM(h->outputs, i))];
        n = nest_results_add(&nest, slot, returns, n);
    }
    if (h->returns >= 0) { /* a flag, and what it says is returned */
        n = nest_results_add(&nest, &m->slots[h->returns], returns, n);
        n = nest_results_add(&nest, &m->slots[h->returns + 1], returns, n);
    }
    if (m->checks &&
        !nest.nresults) { /* so that the call is there for its exceptions */
        NestValue none = nest_of(NEST_int, DT_int64, nest_int_value(m, 0));
        n = nest_results_add(&nest, &none, returns, n);
    }
    if (nest.nresults == TRACE_NEST_NUMBERS) {
        nest_fail(m, "so many numbers");
        goto fail;
    }
    ir_return(m->graph, returns, n);
    for (uint32_t i = 0; i < nest.nresults; i++)
        m->asks |= nest.results[i].kind == 'b' || nest.results[i].kind == 'e';
    nest.waits = m->expected >= WORK_WAITS;
    nest.nsources = m->nsources;
    nest.ndraws = m->ndraws;
    for (uint32_t i = 0; i < m->nreads; i++) {
        for (uint32_t k = 0; k < m->nsources; k++) {
            if (m->sources[k] == m->reads[i].list)
                nest_describe_number(&m->reads[i].type, &nest.items[k]);
        }
    }
    memcpy(nest.draws, m->draws, sizeof nest.draws);
    nest.checks =
        m->checks ||
        (m->nsources && m->asks); /* another kind of result: nothing is drawn then */
    if (ir_error(m->graph)) {
        nest_fail(m, "a broken graph");
        goto fail;
    }
    return m->trace->make_nest(m->trace->run_context, m->trace, &nest, m->graph);
fail:
    ir_graph_free(m->graph);
    return NULL;
}

/* -- Running ----------------------------------------------------------------------- */

/* Copies of what is going to be written, or None. */
static PyObject *
copies_of(const NestMaker *m)
{
    PyObject *copies = PyList_New(0);
    for (uint32_t i = 0; copies && m->checks && i < m->narrays; i++) {
        PyObject *copy = Py_NewRef(Py_None);
        if (m->arrays[i].written && m->arrays[i].object)
            Py_SETREF(copy, PyArray_NewCopy((PyArrayObject *)tracer_object(
                                                (Tracer *)m->arrays[i].object),
                                            NPY_KEEPORDER));
        if (!copy || PyList_Append(copies, copy) < 0)
            Py_CLEAR(copies);
        Py_XDECREF(copy);
    }
    return copies;
}

static int
put_back(const NestMaker *m, PyObject *copies)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(copies); i++) {
        PyObject *copy = PyList_GET_ITEM(copies, i);
        if (copy == Py_None)
            continue;
        PyObject *real = tracer_object((Tracer *)m->arrays[i].object);
        if ((!real ||
             PyArray_CopyInto((PyArrayObject *)real, (PyArrayObject *)copy) < 0))
            return -1;
    }
    return 0;
}

/* Python's ints among the inputs have to fit in 64 bits, now and the next time: that is asked before
** anything is written. */
static int
ints_fit(const NestMaker *m)
{
    for (uint32_t i = 0; i < m->ninputs; i++) {
        PyObject *object = m->inputs[i].object;
        if (!tracer_check(m->trace->state, object) ||
            ((Tracer *)object)->kind != TRACER_int)
            continue;
        PyObject *answer =
            trace_call(m->trace, m->trace->state->fits, &object, 1, NULL, 0);
        int fits = answer ? PyObject_IsTrue(answer) : -1;
        Py_XDECREF(answer);
        if (fits < 1)
            return fits;
    }
    return 1;
}

/* fits(number): an int of 64 bits. */
static PyObject *
int_fits(PyObject *Py_UNUSED(module), PyObject *number)
{
    int overflow = 1;
    if (PyLong_Check(number))
        PyLong_AsLongLongAndOverflow(number, &overflow);
    return PyBool_FromLong(!overflow);
}

int
trace_nest_load(TraceState *state)
{
    static PyMethodDef method = {"fits", int_fits, METH_O, NULL};
    state->fits = PyCFunction_New(&method, NULL);
    return state->fits ? 0 : -1;
}

/* Makes the call. None (new reference): the nest has left in the middle, nothing is written. */
static PyObject *
run(NestMaker *m, PyObject *callable)
{
    PyObject *args[NEST_ARRAYS_MAX + NEST_INPUTS_MAX + TRACE_NEST_SOURCES], *copies;
    uint32_t n = 0, mutates = 0;
    int fit = ints_fit(m);
    if (fit < 1)
        return fit < 0 ? NULL : Py_NewRef(Py_None);
    copies = copies_of(m);
    if (!copies || nest_lists_make(m) < 0) {
        Py_XDECREF(copies);
        return NULL;
    }
    for (uint32_t i = 0; i < m->narrays; i++) {
        if (!m->arrays[i].object)
            continue;
        mutates |= m->arrays[i].written ? 1u << n : 0;
        args[n++] = m->arrays[i].object;
    }
    for (uint32_t i = 0; i < m->ninputs; i++)
        args[n++] = m->inputs[i].object;
    m->trace->extents = true;
    m->trace->guard_after_write |= (m->checks || m->asks) && mutates;
    for (uint32_t i = 0; i < m->nsources; i++) {
        args[n++] = m->sources[i];
        if (trace_outside_add(m->trace, m->sources[i]) < 0) {
            Py_DECREF(copies);
            return NULL;
        }
    }
    PyObject *result =
        m->nsources ? trace_effect(m->trace, callable, args, n, NULL, mutates, true)
                    : trace_call(m->trace, callable, args, n, NULL, mutates);
    if (!result && PyErr_ExceptionMatches(m->trace->state->nest_failed)) {
        PyErr_Clear();
        result = put_back(m, copies) < 0 ? NULL : Py_NewRef(Py_None);
    }
    Py_DECREF(copies);
    return result;
}

/* The names behind the loop. */
static PyObject *
names_after(const NestMaker *m, const Hooked *h, PyObject *numbers)
{
    Py_ssize_t n = PyTuple_GET_SIZE(h->outputs), at = 0;
    PyObject *names = PyTuple_New(n);
    for (Py_ssize_t i = 0; names && i < n; i++) {
        const NestValue *slot =
            &m->slots[PyLong_AsLong(PyTuple_GET_ITEM(h->outputs, i))];
        PyObject *object = nest_object_after(m, slot, numbers, &at);
        if (object)
            PyTuple_SET_ITEM(names, i, object);
        else
            Py_CLEAR(names);
    }
    if (!names || h->returns < 0)
        return names;
    PyObject *flag = nest_object_after(m, &m->slots[h->returns], numbers, &at);
    PyObject *value = nest_object_after(m, &m->slots[h->returns + 1], numbers, &at);
    PyObject *all = flag && value ? PyTuple_Pack(3, flag, value, names) : NULL;
    Py_XDECREF(flag);
    Py_XDECREF(value);
    Py_DECREF(names);
    return all;
}

/* False for a function of numbers that has none, or is not the first that is traced. */
static bool
is_wanted(const NestMaker *m, const Hooked *h, const NestTree *tree)
{
    bool numbers = false;
    if (!is_kind(tree, "numbers"))
        return true;
    for (uint32_t s = 0; s < m->nslots; s++) {
        PyObject *object = PyTuple_GET_ITEM(h->inputs, s);
        if (!tracer_check(m->trace->state, object))
            continue;
        if (((Tracer *)object)->kind == TRACER_array)
            return false;
        numbers = true;
    }
    return numbers && !m->trace->nsites && !m->trace->nests;
}

/* Arrays that are to be kept for names that get new ones, or NULL without an exception: they may not, or there are none.
** Otherwise the inputs with these. */
static PyObject *
kept_inputs(NestMaker *m, const Hooked *h)
{
    PyObject *inputs = NULL;
    for (uint32_t s = 0; s < m->nslots; s++) {
        PyObject *object = PyTuple_GET_ITEM(h->inputs, s);
        if (!m->renewed[s] || m->kept[s])
            continue;
        if (!tracer_check(m->trace->state, object))
            continue;
        if (!inputs)
            inputs = PySequence_List(h->inputs);
        m->kept[s] = nest_is_own((Tracer *)object) ? KEPT_own : KEPT_copy;
        if (!inputs || m->kept[s] == KEPT_own)
            continue;
        PyObject *copy = PyObject_CallMethod(object, "copy", NULL);
        if (!copy || !tracer_check(m->trace->state, copy) ||
            PyList_SetItem(inputs, s, copy) < 0) {
            Py_XDECREF(copy);
            Py_CLEAR(inputs);
            break;
        }
    }
    if (inputs)
        Py_SETREF(inputs, PyList_AsTuple(inputs));
    return inputs;
}

static bool
start_again(NestMaker *m)
{
    m->narrays = m->ninputs = m->gone_over = 0;
    m->failed = m->asks = m->checks = m->misses = false;
    m->nfilled = m->lists_gone_over = 0;
    m->nsources = m->ndraws = 0;
    m->reason = NULL;
    m->work = m->expected = m->moved = 0;
    m->rows = m->inexact = false;
    PyDict_Clear(m->read);
    return !PyErr_Occurred();
}

/* The walk again, where names may be kept. `inputs` are the new ones, which live as long as the maker is used. */
static bool
walk_kept(NestMaker *m, Hooked *h, const NestTree *tree, PyObject **inputs)
{
    if (m->trace->probes || !(*inputs = kept_inputs(m, h)))
        return false;
    h->before = h->inputs;
    h->inputs = *inputs;
    return start_again(m) && walk(m, h, tree);
}

/* The first walk. Where it finds names that may be unbound where they are read, it is done again with these carried as
** such. */
static bool
walk_missing(NestMaker *m, const Hooked *h, const NestTree *tree)
{
    bool good = walk(m, h, tree);
    for (int i = 0; !good && m->misses && i < MISSED_MAX && start_again(m); i++)
        good = walk(m, h, tree);
    return good;
}

/* True if what is traced takes part: else the loop's results are constants of the plan, for which it runs once, if that is
** not long. */
static bool
takes_part(const NestMaker *m)
{
    bool part = m->narrays > 0 || m->work >= WORK_CONSTANT;
    for (uint32_t i = 0; i < m->ninputs; i++)
        part |= tracer_check(m->trace->state, m->inputs[i].object);
    return part;
}

static PyObject *
make_and_run(NestMaker *m, const Hooked *hooked, const NestTree *tree)
{
    Hooked kept = *hooked, *h = &kept;
    PyObject *inputs = NULL;
    Trace *trace = m->trace;
    uint64_t blockers = trace->blockers;
    PyObject *callable = NULL, *numbers, *names = NULL;
    bool always = trace->nests_always || is_kind(tree, "numbers");
    m->run = is_kind(tree, "run") || is_kind(tree, "numbers");
    bool walked = is_wanted(m, h, tree) &&
                  (walk_missing(m, h, tree) || walk_kept(m, h, tree, &inputs)) &&
                  (always || (nest_lists_pay(m) &&
                              m->work >= (m->rows ? WORK_MIN_ROWS : WORK_MIN)));
    bool filled, own = walked && nest_has_own_lists(m, &filled);
    if (own && (!filled || !takes_part(m) || (m->work < WORK_MIN_FILLS && !always))) {
        walked = false;
        m->reason = filled ? "a list that few numbers go into"
                           : "a list that is not the function's own";
    }
    if (own && walked) {
        Py_XDECREF(inputs);
        trace->blockers = blockers;
        trace_end(trace, BAIL_fills, NULL);
        return Py_NewRef(Py_None);
    }
    if (walked && !(m->nsources && trace_nest_had_other(trace, tree->line)))
        callable = build(m, h, tree);
    if (!callable) {
        Py_XDECREF(inputs);
        trace->blockers = blockers;
        trace->nests += trace->probes && m->emits && !m->failed;
        /* A short loop is traced turn by turn till then, so that the calls have bits of one kind. */
        bool ends = !m->inexact || m->work >= WORK_MIN_ROWS;
        if (trace->awaited && ends && !PyErr_Occurred()) {
            trace_nest_seen(trace, h->description);
            trace_end(trace, BAIL_awaited,
                      NULL); /* what is traced now would not last */
        }
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    numbers = trace->probes ? Py_NewRef(Py_None) : run(m, callable);
    Py_DECREF(callable);
    trace->nests += trace->probes || (numbers && numbers != Py_None);
    trace->nests_work += m->work;
    if (numbers && numbers != Py_None)
        names = names_after(m, h, numbers);
    else if (numbers)
        names = Py_NewRef(Py_None);
    Py_XDECREF(numbers);
    Py_XDECREF(inputs);
    return names;
}

PyObject *
trace_nest(Trace *trace, PyObject *const *args)
{
    Hooked h = {args[0], args[1], args[2], args[3], (int)PyLong_AsLong(args[4]), NULL};
    PyObject *names = NULL;
    NestMaker *m;
    if (PyTuple_GET_SIZE(h.inputs) > NEST_SLOTS_MAX || !trace->make_nest)
        return Py_NewRef(Py_None);
    m = PyMem_Calloc(1, sizeof *m);
    if (!m)
        return PyErr_NoMemory();
    m->trace = trace;
    m->strict = trace->numerics == NUMERICS_strict;
    m->nslots = (uint32_t)PyTuple_GET_SIZE(h.inputs);
    m->returned = h.returns < 0 ? -1 : h.returns + 1;
    m->outer = ((PyTupleObject *)h.outer)->ob_item;
    m->nouter = (uint32_t)PyTuple_GET_SIZE(h.outer);
    m->held = PyList_New(0);
    m->read = PyDict_New();
    NestTree *tree =
        m->held && m->read ? nest_tree(h.description, m->nslots, &m->arena) : NULL;
    if (tree)
        names = make_and_run(m, &h, tree);
    else if (m->held && m->read)
        names = Py_NewRef(Py_None);
    if (names == Py_None && m->reason) {
        trace->nest_reason = m->reason;
        trace->nest_line = m->line;
    }
    Py_XDECREF(m->held);
    Py_XDECREF(m->read);
    nest_tree_free(m->arena);
    PyMem_Free(m->tape);
    PyMem_Free(m);
    return names;
}
