/* resolve.c - which loop NumPy runs for a ufunc on operands of given types. */
#include <stdlib.h>
#include <string.h>

#include "trace/elementwise.h"

/* -- Resolution -------------------------------------------------------------------- */

static PyObject *
type_object(int8_t type)
{
    switch (type) {
    case WEAK_int:
        return Py_NewRef((PyObject *)&PyLong_Type);
    case WEAK_float:
        return Py_NewRef((PyObject *)&PyFloat_Type);
    case WEAK_complex:
        return Py_NewRef((PyObject *)&PyComplex_Type);
    default:
        return (PyObject *)PyArray_DescrFromType(type);
    }
}

bool
trace_is_numpys(PyObject *ufunc, const char *name)
{
    PyObject *module = PyImport_ImportModule("numpy");
    PyObject *own = module ? PyObject_GetAttrString(module, name) : NULL;
    bool same = own == ufunc;
    Py_XDECREF(own);
    Py_XDECREF(module);
    PyErr_Clear();
    return same;
}

/* Asks NumPy; leaves loop->usable false where it refuses or the IR has no such op. */
static void
resolve_ask(ResolvedLoop *loop, int n)
{
    const PyUFuncObject *ufunc = (PyUFuncObject *)loop->ufunc;
    PyObject *types = NULL, *answer = NULL;
    if (ufunc->nout != 1 || ufunc->nin != n || ufunc->core_enabled)
        return;
    if (!ir_op_find_numpy(ufunc->name, &loop->op) ||
        !trace_is_numpys(loop->ufunc, ufunc->name))
        return;
    types = PyTuple_New(n + 1);
    for (int i = 0; types && i < n; i++)
        PyTuple_SET_ITEM(types, i, type_object(loop->key[i]));
    if (types) {
        PyTuple_SET_ITEM(types, n, Py_NewRef(Py_None));
        answer = PyObject_CallMethod(loop->ufunc, "resolve_dtypes", "(O)", types);
    }
    if (answer && PyTuple_GET_SIZE(answer) == n + 1) {
        loop->usable = true;
        for (int i = 0; i <= n; i++) {
            PyArray_Descr *descr = (PyArray_Descr *)PyTuple_GET_ITEM(answer, i);
            if (!trace_descr_plain(descr))
                loop->usable = false;
            else if (i < n)
                loop->in[i] = (int8_t)descr->type_num;
            else
                loop->out = (int8_t)descr->type_num;
        }
    }
    PyErr_Clear();
    Py_XDECREF(answer);
    Py_XDECREF(types);
}

static size_t
loop_hash(PyObject *ufunc, const int8_t *key)
{
    size_t hash = (size_t)(uintptr_t)ufunc >> 4;
    for (int i = 0; i < OPERANDS_MAX; i++)
        hash = hash * 1000003u ^ (size_t)(uint8_t)key[i];
    return hash ^ hash >> 17;
}

static ResolvedLoop *
loop_slot(ResolvedLoop *loops, uint32_t room, PyObject *ufunc, const int8_t *key)
{
    size_t i = loop_hash(ufunc, key) & (room - 1);
    while (loops[i].ufunc &&
           (loops[i].ufunc != ufunc || memcmp(loops[i].key, key, OPERANDS_MAX)))
        i = (i + 1) & (room - 1);
    return &loops[i];
}

static int
loops_grow(TraceState *state)
{
    uint32_t room = state->loops_room ? state->loops_room * 2 : 128;
    ResolvedLoop *loops = PyMem_Calloc(room, sizeof *loops);
    if (!loops) {
        PyErr_NoMemory();
        return -1;
    }
    for (uint32_t i = 0; i < state->loops_room; i++) {
        if (state->loops[i].ufunc)
            *loop_slot(loops, room, state->loops[i].ufunc, state->loops[i].key) =
                state->loops[i];
    }
    PyMem_Free(state->loops);
    state->loops = loops;
    state->loops_room = room;
    return 0;
}

const ResolvedLoop *
trace_resolve(TraceState *state, PyObject *ufunc, const Operand *operands, int n)
{
    int8_t key[OPERANDS_MAX] = {NONE, NONE, NONE};
    for (int i = 0; i < n; i++)
        key[i] = operands[i].type;
    if (state->nloops * 2 >= state->loops_room && loops_grow(state) < 0)
        return NULL;
    ResolvedLoop *loop = loop_slot(state->loops, state->loops_room, ufunc, key);
    if (!loop->ufunc) {
        ResolvedLoop asked = {.ufunc = Py_NewRef(ufunc)};
        memcpy(asked.key, key, OPERANDS_MAX);
        resolve_ask(&asked, n);
        loop = loop_slot(state->loops, state->loops_room, ufunc, key);
        *loop = asked;
        state->nloops++;
    }
    return loop;
}

PyObject *
trace_recipe(Trace *trace, PyObject *ufunc, PyObject *const *operands, int n)
{
    Operand read[OPERANDS_MAX];
    const ResolvedLoop *loop;
    PyObject *recipes = trace->state->recipes;
    PyObject *own = recipes && trace->numerics != NUMERICS_strict && n <= OPERANDS_MAX
                        ? PyDict_GetItemWithError(recipes, ufunc)
                        : NULL;
    for (int i = 0; own && i < n; i++) {
        if (!trace_operand_read(trace, operands[i], &read[i]))
            own = NULL;
    }
    loop = own ? trace_resolve(trace->state, ufunc, read, n) : NULL;
    if (!loop || !loop->usable || (loop->out != NPY_FLOAT && loop->out != NPY_DOUBLE)) {
        PyErr_Clear();
        return ufunc;
    }
    return own;
}

bool
trace_other_options(const Trace *trace, PyObject *function)
{
    PyObject *own = PyObject_GetAttrString(function, "_numerics");
    PyObject *warns = PyObject_GetAttrString(function, "_errstate");
    bool strict = own && PyLong_AsLong(own) == NUMERICS_strict;
    bool other = strict != (trace->numerics == NUMERICS_strict) ||
                 (warns == Py_True && !trace->warns);
    Py_XDECREF(own);
    Py_XDECREF(warns);
    PyErr_Clear();
    return other;
}

void
trace_loops_free(TraceState *state)
{
    for (uint32_t i = 0; i < state->loops_room; i++)
        Py_XDECREF(state->loops[i].ufunc);
    PyMem_Free(state->loops);
}
