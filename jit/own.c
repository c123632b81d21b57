/* own.c - rows of own.def found by NumPy's callable, when a plan takes its sites. */
#include "jit/own.h"

#include <string.h>

typedef struct Row {
    const char *owner, *name;
    PyMethodDef method;
    bool (*fits)(const OwnCall *call);
} Row;

static Row rows[] = {
#define OWN(owner, name, function)                                                     \
    {#owner,                                                                           \
     #name,                                                                            \
     {"<compiled " #name ">", (PyCFunction)(void (*)(void))jit_own_##function,         \
      METH_FASTCALL | METH_KEYWORDS, NULL},                                            \
     jit_own_fits_##function},
#include "jit/own.def"
#undef OWN
};

/* Per row NumPy's callable and ours. */
int
jit_own_new(JitState *state)
{
    size_t n = sizeof rows / sizeof *rows;
    PyObject *numpy = PyImport_ImportModule("numpy"),
             *operator= PyImport_ImportModule("operator");
    state->own = numpy && operator? PyTuple_New((Py_ssize_t)n) : NULL;
    for (size_t i = 0; state->own && i < n; i++) {
        PyObject *owner = strcmp(rows[i].owner, "ndarray") == 0
                              ? (PyObject *)&PyArray_Type
                          : strcmp(rows[i].owner, "numpy") == 0 ? numpy
                                                                : operator;
        PyObject *plain = PyObject_GetAttrString(owner, rows[i].name);
        PyObject *ours = plain ? PyCFunction_New(&rows[i].method, plain) : NULL;
        PyObject *pair = ours ? PyTuple_Pack(2, plain, ours) : NULL;
        Py_XDECREF(ours);
        Py_XDECREF(plain);
        if (pair)
            PyTuple_SET_ITEM(state->own, (Py_ssize_t)i, pair);
        else
            Py_CLEAR(state->own);
    }
    Py_XDECREF(operator);
    Py_XDECREF(numpy);
    return state->own ? 0 : -1;
}

bool
jit_own_array(const OwnCall *call, PyObject *part, OwnArray *array)
{
    const Planner *p = call->p;
    if (!trace_ref_check(p->state->trace, part) || !((TraceRef *)part)->value)
        return false;
    IrValue value = ((TraceRef *)part)->value;
    const TraceValue *v = &p->trace->values[value];
    IrType type = ir_type(p->g, value);
    bool plain = v->descr && PyArray_ISNBO(v->descr->byteorder) &&
                 (PyDataType_ISNUMBER(v->descr) || PyDataType_ISBOOL(v->descr)) &&
                 !v->scalar && (v->strides || !type.ndim) &&
                 (!v->array || PyArray_ISALIGNED(v->array));
    IrKind kind = ir_dtype_kind(type.dtype);
    *array =
        (OwnArray){.root = p->root[value],
                   .descr = plain ? v->descr : NULL,
                   .ndim = (int)type.ndim,
                   .strides = v->strides,
                   .number = v->scalar != NULL,
                   .integer = v->scalar && (kind == KIND_int || kind == KIND_uint)};
    for (uint32_t d = 0; d < type.ndim; d++)
        array->shape[d] = (npy_intp)type.dims[d].value;
    return true;
}

PyObject *
jit_own_callable(const Planner *p, const TraceSite *site)
{
    OwnCall call = {p, site, site->args, site->kwargs};
    for (size_t i = 0;
         site->kind == SITE_call && !site->epoch && i < sizeof rows / sizeof *rows;
         i++) {
        PyObject *pair = PyTuple_GET_ITEM(p->state->own, (Py_ssize_t)i);
        if (PyTuple_GET_ITEM(pair, 0) == site->callable)
            return rows[i].fits(&call) ? PyTuple_GET_ITEM(pair, 1) : NULL;
    }
    return NULL;
}
