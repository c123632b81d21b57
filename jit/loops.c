/* loops.c - inner loops by op, dtypes and numerics: NumPy's own, and those of kernels/.
**
** NumPy gives a ufunc's loop through `_resolve_dtypes_and_context` and
** `_get_strided_loop`: a
** capsule that owns all it needs and whose first five fields are fixed by its name. The
** capsules are kept for good, so loops may be called at any time.
*/
#include <string.h>

#include "jit/jit.h"

enum { IN_MAX = 3 };

typedef struct Row {
    bool used, recipe, scalar;
    uint8_t op, in[IN_MAX], out;
    JitLoop loop;
    PyObject *capsule;
} Row;

struct JitLoopTable {
    Row *rows;
    uint32_t n, room;
};

#define CAPSULE_NAME "numpy_1.24_ufunc_call_info"

typedef struct CallInfo {
    RtLoopFn loop;
    void *context;
    void *auxdata;
    npy_bool requires_pyapi;
    npy_bool no_floatingpoint_errors;
} CallInfo;

PyArray_Descr *
jit_descr(IrDtype dtype)
{
    if (dtype == DT_pyfloat)
        return PyArray_DescrFromType(NPY_DOUBLE);
    if (dtype == DT_pycomplex)
        return PyArray_DescrFromType(NPY_CDOUBLE);
    if (dtype == DT_index)
        return PyArray_DescrFromType(NPY_INT64);
    return PyArray_DescrFromType(ir_dtype_numpy_char(dtype));
}

static bool
kernel_type(IrDtype dtype, KernelType *type)
{
    char letter = dtype == DT_pyfloat     ? 'd'
                  : dtype == DT_pycomplex ? 'D'
                                          : ir_dtype_numpy_char(dtype);
    return kernel_type_find(letter, type);
}

/* Loops of kernels/; false: the op is a ufunc of NumPy. */
static bool
own_loop(IrOp op, const IrDtype *in, IrDtype out, JitLoop *loop)
{
    KernelType from, to;
    int itemsize = (int)ir_dtype_bytes(out);
    loop->loop = NULL;
    if (op == OP_cast) {
        if (kernel_type(in[0], &from) && kernel_type(out, &to))
            loop->loop = kernel_cast(from, to);
    } else if (op == OP_select)
        loop->loop = kernel_select(itemsize);
    else if (op == OP_copy || op == OP_positive)
        loop->loop = kernel_copy(itemsize);
    else if (op == OP_negative && kernel_type(out, &to) && kernel_negative(to))
        loop->loop = kernel_negative(to);
    else if (op == OP_isfinite && kernel_type(in[0], &from) && kernel_finite(from))
        loop->loop = kernel_finite(from);
    else if (op == OP_multiply_add || op == OP_multiply_subtract ||
             op == OP_subtract_product) {
        if (kernel_type(out, &to))
            loop->loop =
                kernel_fma(op == OP_multiply_add        ? KERNEL_multiply_add
                           : op == OP_multiply_subtract ? KERNEL_multiply_subtract
                                                        : KERNEL_subtract_product,
                           to);
    } else
        return false;
    loop->context = loop->auxdata = NULL;
    loop->alone = false;
    return true;
}

/* The recipe of an elementary function; false: there is none, NumPy's loop is used. */
static bool
recipe_loop(const JitLoopKey *key, JitLoop *loop)
{
    KernelRecipe recipe;
    KernelType type, operand;
    if (!kernel_recipe_find(ir_op_numpy(key->op), &recipe) ||
        !kernel_type(key->out, &type))
        return false;
    for (uint32_t i = 0; i < key->n; i++) {
        if (!kernel_type(key->in[i], &operand) || operand != type)
            return false;
    }
    if (recipe == RECIPE_power && key->scalar)
        recipe = RECIPE_power_scalar;
    *loop = (JitLoop){.loop = kernel_recipe_loop(recipe, type)};
    return loop->loop != NULL;
}

/* Integer powers raise where an exponent is negative, by a way that takes the GIL. */
static bool
raises(IrOp op, IrDtype out)
{
    return op == OP_power && ir_dtype_kind(out) != KIND_float &&
           ir_dtype_kind(out) != KIND_complex;
}

/* NumPy's loop; the capsule that owns it, or NULL with an exception set. */
static PyObject *
numpy_loop(IrOp op, const IrDtype *in, uint32_t n, IrDtype out, JitLoop *loop)
{
    PyObject *numpy = PyImport_ImportModule("numpy"), *ufunc = NULL, *types = NULL;
    PyObject *answer = NULL, *capsule = NULL, *got = NULL;
    if (numpy && ir_op_numpy(op))
        ufunc = PyObject_GetAttrString(numpy, ir_op_numpy(op));
    types = ufunc ? PyTuple_New((Py_ssize_t)n + 1) : NULL;
    if (!types)
        goto done;
    for (uint32_t i = 0; i < n; i++)
        PyTuple_SET_ITEM(types, i, (PyObject *)jit_descr(in[i]));
    PyTuple_SET_ITEM(types, n, (PyObject *)jit_descr(out));
    answer = PyObject_CallMethod(ufunc, "_resolve_dtypes_and_context", "(O)", types);
    if (!answer)
        goto done;
    capsule = Py_NewRef(PyTuple_GetItem(answer, 1));
    got = PyObject_CallMethod(ufunc, "_get_strided_loop", "O", capsule);
    if (!got || !PyCapsule_IsValid(capsule, CAPSULE_NAME)) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_RuntimeError, "this NumPy gives no inner loop for %s",
                         ir_op_name(op));
        Py_CLEAR(capsule);
        goto done;
    }
    const CallInfo *info = PyCapsule_GetPointer(capsule, CAPSULE_NAME);
    *loop = (JitLoop){info->loop, info->context, info->auxdata,
                      info->requires_pyapi || raises(op, out)};
done:
    Py_XDECREF(numpy);
    Py_XDECREF(ufunc);
    Py_XDECREF(types);
    Py_XDECREF(answer);
    Py_XDECREF(got);
    return capsule;
}

static Row *
row_slot(Row *rows, uint32_t room, const Row *key)
{
    uint32_t hash = key->op;
    for (int i = 0; i < IN_MAX; i++)
        hash = hash * 31 + key->in[i];
    hash = (hash * 31 + key->out) * 2654435761u;
    for (uint32_t i = hash >> 8 & (room - 1);; i = (i + 1) & (room - 1)) {
        Row *row = &rows[i];
        if (!row->used ||
            (row->op == key->op && row->out == key->out && row->recipe == key->recipe &&
             row->scalar == key->scalar && memcmp(row->in, key->in, IN_MAX) == 0))
            return row;
    }
}

static bool
table_grow(JitState *state)
{
    JitLoopTable *table = state->loops;
    if (!table) {
        table = state->loops = PyMem_Calloc(1, sizeof *table);
        if (!table)
            return false;
    }
    if (2 * table->n < table->room)
        return true;
    uint32_t room = table->room ? 2 * table->room : 128;
    Row *rows = PyMem_Calloc(room, sizeof *rows);
    if (!rows)
        return false;
    for (uint32_t i = 0; i < table->room; i++) {
        if (table->rows[i].used)
            *row_slot(rows, room, &table->rows[i]) = table->rows[i];
    }
    PyMem_Free(table->rows);
    table->rows = rows;
    table->room = room;
    return true;
}

/* What kernels call by name: before one of them can run, who makes it has asked for the loop here. */
static void
give_to_kernels(const JitLoopKey *key, const Row *row)
{
    bool same = row->capsule && !row->loop.alone;
    for (uint32_t i = 1; i < key->n; i++)
        same &= key->in[i] == key->in[0];
    if (same &&
        kernel_library_set(ir_op_numpy(key->op), ir_dtype_numpy_char(key->in[0]),
                           row->loop.loop, row->loop.context, row->loop.auxdata))
        Py_INCREF(row->capsule);
}

/* The loop itself; the capsule that owns it goes into the row. */
static bool
loop_make(const JitLoopKey *key, Row *row)
{
    if (row->recipe && recipe_loop(key, &row->loop))
        return true;
    if (!own_loop(key->op, key->in, key->out, &row->loop)) {
        row->capsule = numpy_loop(key->op, key->in, key->n, key->out, &row->loop);
        give_to_kernels(key, row);
        return row->capsule != NULL;
    }
    if (!row->loop.loop)
        PyErr_Format(PyExc_RuntimeError, "no loop for %s", ir_op_name(key->op));
    return row->loop.loop != NULL;
}

bool
jit_loop_find(JitState *state, const JitLoopKey *key, JitLoop *loop)
{
    bool recipe =
        key->numerics != NUMERICS_strict && ir_op_flags(key->op) & OPF_elementary;
    Row made = {.used = true,
                .recipe = recipe,
                .scalar = recipe && key->scalar,
                .op = (uint8_t)key->op,
                .out = (uint8_t)key->out};
    for (uint32_t i = 0; i < key->n && i < IN_MAX; i++)
        made.in[i] = (uint8_t)(key->in[i] + 1);
    if (!table_grow(state)) {
        PyErr_NoMemory();
        return false;
    }
    Row *row = row_slot(state->loops->rows, state->loops->room, &made);
    if (!row->used) {
        if (!loop_make(key, &made))
            return false;
        row = row_slot(state->loops->rows, state->loops->room, &made);
        *row = made;
        state->loops->n++;
    }
    *loop = row->loop;
    return true;
}

void
jit_loops_free(JitLoopTable *table)
{
    if (!table)
        return;
    for (uint32_t i = 0; i < table->room; i++)
        Py_XDECREF(table->rows[i].capsule);
    PyMem_Free(table->rows);
    PyMem_Free(table);
}

_Static_assert(OP_COUNT <= 256, "an op fits into a byte");
