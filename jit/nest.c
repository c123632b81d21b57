/* nest.c - nests as callables: compiled loops that plans call as they call any function.
**
** A nest is made while a function is traced, for arrays of given dtypes and shapes (trace/nest.c).
** Its code is a kernel as others are, in memory and on disk. Where it is in neither it is compiled in
** the background; the trace goes on without it, and the signature is traced again when it is there. It is called with arrays, then
** numbers, and returns a tuple of numbers. Where it leaves in the middle, because something is not
** as it was taken to be, it raises: what it has written is put back by who has called it, and
** the plain function is called.
*/
#include "jit/nest.h"

#include <stdlib.h>
#include <string.h>

enum { YIELD_NS = 6000000 }; /* longer than others wait until they insist */

/* Others may run, as between Python's turns: now and then, since who waits for a lock that is free for a moment
** again and again begins to wait anew each time. */
static int64_t
poll(Run *run)
{
    int64_t now = rt_clock_ns();
    PyGILState_STATE held = PyGILState_Ensure();
    if (now - run->yielded > YIELD_NS) {
        PyEval_RestoreThread(PyEval_SaveThread());
        run->yielded = rt_clock_ns();
    }
    int64_t stopped = PyErr_CheckSignals() < 0;
    PyGILState_Release(held);
    return stopped;
}

/* -- Calls ------------------------------------------------------------------------- */

static bool
array_fits(const TraceNestArray *like, PyObject *object)
{
    const PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_Check(object) || PyArray_NDIM(array) != like->ndim ||
        !PyArray_ISALIGNED(array) || (like->written && !PyArray_ISWRITEABLE(array)))
        return false;
    int last = like->ndim - 1;
    return memcmp(PyArray_DIMS(array), like->shape,
                  (size_t)like->ndim * sizeof(npy_intp)) == 0 &&
           (!like->contiguous ||
            PyArray_STRIDE(array, last) == PyArray_ITEMSIZE(array));
}

/* A number in memory. False: it is of another type. */
static bool
number_put(const TraceNestNumber *like, PyObject *object, char *to)
{
    int overflow = 0;
    switch (like->kind) {
    case 'i':
        if (!PyLong_CheckExact(object))
            return false;
        *(int64_t *)(void *)to = PyLong_AsLongLongAndOverflow(object, &overflow);
        return !overflow;
    case 'f':
        if (!PyFloat_CheckExact(object))
            return false;
        *(double *)(void *)to = PyFloat_AS_DOUBLE(object);
        return true;
    case 'c':
        if (!PyComplex_CheckExact(object))
            return false;
        *(Py_complex *)(void *)to = PyComplex_AsCComplex(object);
        return true;
    default: {
        PyArray_Descr *descr =
            PyArray_CheckScalar(object) ? PyArray_DescrFromScalar(object) : NULL;
        bool same = descr && descr->type_num == like->type;
        if (same)
            PyArray_ScalarAsCtype(object, to);
        Py_XDECREF(descr);
        PyErr_Clear();
        return same;
    }
    }
}

static PyObject *
number_get(const TraceNestNumber *like, const char *from)
{
    switch (like->kind) {
    case 'i':
        return PyLong_FromLongLong(*(const int64_t *)(const void *)from);
    case 'f':
        return PyFloat_FromDouble(*(const double *)(const void *)from);
    case 'c':
        return PyComplex_FromCComplex(*(const Py_complex *)(const void *)from);
    case 'b':
        return PyBool_FromLong(*from);
    default: {
        PyArray_Descr *descr = PyArray_DescrFromType(like->type);
        PyObject *scalar =
            descr ? PyArray_Scalar((void *)(uintptr_t)from, descr, NULL) : NULL;
        Py_XDECREF(descr);
        return scalar;
    }
    }
}

/* Python's number for the tag behind it, or NumPy's. */
static PyObject *
either_get(const TraceNestNumber *like, const char *from)
{
    int64_t tag = *(const int64_t *)(const void *)(from + CELL_TAG);
    TraceNestNumber as = {.kind = 's', .type = like->type};
    if (like->pair && tag < NEST_TAG_complex)
        as.type = like->type == NPY_CDOUBLE ? NPY_DOUBLE : NPY_FLOAT;
    if (tag == NEST_TAG_whole && like->type == NPY_BOOL)
        as.kind = 'b';
    PyObject *number = number_get(&as, from), *python;
    if (!number || tag == NEST_TAG_numpy || as.kind == 'b')
        return number;
    python = tag == NEST_TAG_whole ? PyNumber_Long(number)
             : tag == NEST_TAG_float
                 ? PyNumber_Float(number)
                 : PyObject_CallOneArg((PyObject *)&PyComplex_Type, number);
    Py_DECREF(number);
    return python;
}

static PyObject *
results_get(const Nest *nest, char (*cells)[CELL_BYTES])
{
    PyObject *results = PyTuple_New(nest->like.nresults);
    for (uint32_t i = 0; results && i < nest->like.nresults; i++) {
        const TraceNestNumber *like = &nest->like.results[i];
        PyObject *number =
            like->kind == 'e' ? either_get(like, cells[i]) : number_get(like, cells[i]);
        if (!number) {
            Py_CLEAR(results);
            break;
        }
        PyTuple_SET_ITEM(results, i, number);
    }
    return results;
}

static PyObject *
fails(const Nest *nest)
{
    PyErr_SetString(trace_nest_failed(nest->state->trace),
                    "a compiled loop was left in the middle");
    return NULL;
}

static size_t
scratch_bytes(const TraceNestArray *like)
{
    size_t n = like->written ? (size_t)like->itemsize : 0;
    for (int d = 0; d < like->ndim; d++)
        n *= (size_t)like->shape[d];
    return (n + 63) / 64 * 64;
}

/* Extents and strides; how many these are. */
static int
scratch_steps(const TraceNestArray *like, intptr_t *steps)
{
    intptr_t stride = like->itemsize;
    for (int d = like->ndim; d-- > 0; stride *= like->shape[d]) {
        steps[d] = like->shape[d];
        steps[like->ndim + d] = stride;
    }
    return 2 * like->ndim;
}

/* The addresses of a number's parts; where the next one's are. */
static uint32_t
cell_add(char **data, uint32_t at, const TraceNestNumber *like, char *cell)
{
    PyArray_Descr *descr;
    data[at++] = cell;
    if (like->pair) {
        descr = PyArray_DescrFromType(like->type);
        data[at++] = cell + (descr ? PyDataType_ELSIZE(descr) / 2 : 0);
        Py_XDECREF(descr);
    }
    if (like->kind == 'e')
        data[at++] = cell + CELL_TAG;
    return at;
}

static PyObject *
nest_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Nest *nest = (Nest *)self;
    const TraceNest *like = &nest->like;
    _Alignas(8) char cells[OPERANDS_MAX][CELL_BYTES];
    char *data[3 * OPERANDS_MAX + 4];
    intptr_t steps[2 * NPY_MAXDIMS * 2], *step = steps;
    Run run = {.yielded = rt_clock_ns()};
    uint32_t n = like->narrays + like->nnumbers;
    RtKernelFn entry = atomic_load_explicit(&nest->code->entry, memory_order_acquire);
    PyObject *const *numbers = args + like->narrays - nest->nscratch;
    char *scratch = NULL;
    if ((size_t)PyVectorcall_NARGS(nargsf) != n - nest->nscratch + like->nsources ||
        (kwnames && PyTuple_GET_SIZE(kwnames)) || !entry)
        return fails(nest);
    if (nest->scratch && !(scratch = malloc(nest->scratch)))
        return PyErr_NoMemory();
    char *free_ = scratch;
    for (uint32_t i = 0, next = 0; i < like->narrays; i++) {
        if (like->arrays[i].scratch) {
            data[i] = free_;
            free_ += scratch_bytes(&like->arrays[i]);
            step += scratch_steps(&like->arrays[i], step);
            continue;
        }
        PyArrayObject *array = (PyArrayObject *)args[next];
        if (!array_fits(&like->arrays[i], args[next++]))
            goto fail;
        data[i] = PyArray_BYTES(array);
        size_t bytes = (size_t)like->arrays[i].ndim * sizeof *step;
        memcpy(step, PyArray_DIMS(array), bytes);
        memcpy(step + like->arrays[i].ndim, PyArray_STRIDES(array), bytes);
        step += 2 * like->arrays[i].ndim;
    }
    uint32_t at = like->narrays;
    for (uint32_t i = 0; i < like->nnumbers; i++) {
        at = cell_add(data, at, &like->numbers[i], cells[i]);
        if (!number_put(&like->numbers[i], numbers[i], cells[i]))
            goto fail;
    }
    for (uint32_t i = 0; i < like->nresults; i++)
        at = cell_add(data, at, &like->results[i], cells[like->nnumbers + i]);
    int64_t (*poll_)(Run *) = poll;
    data[at] = (char *)&run;
    memcpy(&data[at + 1], &poll_, sizeof poll_);
    data[at + 2] = (char *)nest->state->dots;
    if (like->nsources)
        run.status = jit_nest_run(nest, numbers + like->nnumbers, entry, data, at,
                                  steps, cells + like->nnumbers);
    else
        entry(data, 0, 0, steps);
    free(scratch);
    if (run.status == LOWER_NEST_stopped || run.status < 0)
        return NULL;
    return run.status ? fails(nest) : results_get(nest, cells + like->nnumbers);
fail:
    free(scratch);
    return fails(nest);
}

/* -- Making ------------------------------------------------------------------------ */

/* Parameters of the graph. */
static uint32_t
params_of(const TraceNest *like)
{
    uint32_t n = like->narrays + like->nnumbers;
    for (uint32_t i = 0; i < like->nnumbers; i++)
        n += like->numbers[i].pair;
    return n;
}

static LowerPattern *
patterns_of(const TraceNest *like)
{
    uint32_t n = params_of(like);
    LowerPattern *patterns = calloc(n + 1, sizeof *patterns);
    for (uint32_t i = 0; patterns && i < n; i++)
        patterns[i] = i < like->narrays && like->arrays[i].contiguous
                          ? PATTERN_contiguous
                          : PATTERN_scalar;
    return patterns;
}

/* False: there is no code, or not yet: then the trace knows what it could have used. */
static bool
compile(Nest *nest, Trace *trace, IrGraph *graph)
{
    LowerPattern *patterns = patterns_of(&nest->like);
    if (!patterns) {
        ir_graph_free(graph);
        return false;
    }
    nest->code = jit_compile_nest(
        nest->state, trace->kernels, graph, patterns, params_of(&nest->like),
        trace->nests_always || trace->trial || /* no call waits for a trial */
            (nest->like.waits && !trace->probes));
    if (!nest->code || atomic_load(&nest->code->entry))
        return nest->code != NULL;
    if (atomic_load(&nest->code->state) == RT_CODE_waiting) {
        Trace *waits =
            trace->probes ? trace->probes : trace; /* for the last that was asked for */
        rt_code_drop(waits->awaited);
        waits->awaited = rt_code_hold(nest->code);
    }
    return false;
}

/* What the graph calls of NumPy's is there. Functions of numbers have dtypes as they have loops. */
static bool
has_functions(JitState *state, const IrGraph *graph)
{
    for (IrNode node = 1; node < ir_nnodes(graph); node++) {
        IrDtype in[2], out;
        KernelType type;
        JitLoop loop;
        if (ir_node_op(graph, node) == OP_run_product) {
            IrDtype dtype = ir_type(graph, ir_node_operand(graph, node, 3)).dtype;
            if (!kernel_type_find(ir_dtype_numpy_char(dtype), &type) ||
                !kernel_product_has(type))
                return false;
        }
        if (ir_node_op(graph, node) != OP_run_function)
            continue;
        const char *numbers = ir_node_attr(graph, node, "numbers")->text;
        JitLoopKey key = {.numerics = NUMERICS_strict, .in = in};
        ir_op_find_numpy(ir_node_attr(graph, node, "name")->text, &key.op);
        ir_dtype_find(numbers, strlen(numbers), &in[0]);
        in[1] = in[0];
        key.n = (uint32_t)ir_op_arity(key.op);
        if (!ir_op_loop(key.op, in, key.n, in, &out))
            return false;
        key.out = out;
        if (!jit_loop_find(state, &key, &loop)) {
            PyErr_Clear();
            return false;
        }
    }
    return true;
}

PyObject *
jit_nest_new(void *context, Trace *trace, const TraceNest *like, IrGraph *graph)
{
    JitState *state = context;
    uint32_t axes = 0;
    for (uint32_t i = 0; i < like->narrays; i++)
        axes += (uint32_t)like->arrays[i].ndim;
    Nest *nest = NULL;
    if (trace->kernels && axes <= 2 * NPY_MAXDIMS &&
        like->narrays + like->nnumbers + like->nresults <= OPERANDS_MAX &&
        has_functions(state, graph))
        nest = PyObject_New(Nest, state->nest_type);
    if (!nest) {
        ir_graph_free(graph);
        return NULL;
    }
    nest->vectorcall = nest_vectorcall;
    nest->state = state;
    nest->code = NULL;
    nest->ran = false;
    nest->like = *like;
    nest->nscratch = 0;
    nest->scratch = 0;
    for (uint32_t i = 0; i < like->narrays; i++) {
        nest->nscratch += like->arrays[i].scratch;
        nest->scratch += like->arrays[i].scratch ? scratch_bytes(&like->arrays[i]) : 0;
    }
    if (!compile(nest, trace, graph))
        Py_CLEAR(nest);
    return (PyObject *)nest;
}

static void
nest_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    rt_code_drop(((Nest *)self)->code);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *
nest_checks(PyObject *self, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(((Nest *)self)->like.checks);
}

static PyObject *
nest_fixed(PyObject *self, void *Py_UNUSED(closure))
{
    const TraceNest *like = &((Nest *)self)->like;
    bool fixed = true;
    for (uint32_t i = 0; i < like->nresults; i++)
        fixed &= like->results[i].kind != 'e';
    return PyBool_FromLong(fixed);
}

static PyObject *
nest_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<compiled loop at line %d>",
                                ((Nest *)self)->like.line);
}

static PyMemberDef nest_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Nest, vectorcall), READONLY, NULL},
    {"line", T_INT, offsetof(Nest, like.line), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef nest_getset[] = {
    {"checks", nest_checks, NULL, NULL, NULL},
    {"fixed", nest_fixed, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef nest_methods[] = {
    {"learn", jit_nest_learn, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot nest_slots[] = {
    {Py_tp_methods, nest_methods},
    {Py_tp_richcompare, jit_nest_compare},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_tp_dealloc, nest_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_repr, nest_repr},
    {Py_tp_members, nest_members},
    {Py_tp_getset, nest_getset},
    {0, NULL},
};

static PyType_Spec nest_spec = {
    .name = "pyasc.CompiledLoop",
    .basicsize = sizeof(Nest),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = nest_slots,
};

/* NumPy's products of matrices, for kernels to call. */
static int
give_products(void)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *object = numpy ? PyObject_GetAttrString(numpy, "matmul") : NULL;
    Py_XDECREF(numpy);
    if (!object)
        return -1;
    const PyUFuncObject *matmul = (PyUFuncObject *)object;
    for (int i = 0; Py_TYPE(object) == &PyUFunc_Type && i < matmul->ntypes; i++) {
        PyArray_Descr *descr = PyArray_DescrFromType(matmul->types[matmul->nargs * i]);
        KernelType type;
        if (descr && kernel_type_find(descr->type, &type) && matmul->functions[i]) {
            KernelProductFn loop;
            memcpy(&loop, &matmul->functions[i], sizeof loop);
            kernel_product_set(
                type, loop, matmul->data ? (void *)(uintptr_t)matmul->data[i] : NULL);
        }
        Py_XDECREF(descr);
    }
    Py_DECREF(object);
    return PyErr_Occurred() ? -1 : 0;
}

int
jit_nest_type_add(JitState *state, PyObject *module)
{
    state->nest_type =
        (PyTypeObject *)PyType_FromModuleAndSpec(module, &nest_spec, NULL);
    if (!state->nest_type)
        return -1;
    static const int types[2] = {NPY_DOUBLE, NPY_FLOAT};
    for (int i = 0; i < 2; i++) {
        PyArray_Descr *descr = PyArray_DescrFromType(types[i]);
        if (!descr)
            return -1;
        PyArray_DotFunc *dot = PyDataType_GetArrFuncs(descr)->dotfunc;
        memcpy(&state->dots[i], &dot, sizeof dot);
        Py_DECREF(descr);
    }
    if (give_products() < 0)
        return -1;
    trace_state_set_nest_type(state->trace, state->nest_type);
    return 0;
}
