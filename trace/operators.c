/* operators.c - Python's operators on tracers: the elementwise way, else the real
** operator. */
#include "trace/internal.h"

static Trace *
trace_of_either(PyObject *a, PyObject *b)
{
    /* Only one of two operands of a number slot needs to be ours. */
    const Trace *now = trace_current();
    if (now && tracer_check(now->state, a))
        return ((Tracer *)a)->trace;
    if (now && tracer_check(now->state, b))
        return ((Tracer *)b)->trace;
    /* Outside of any trace: the type with our deallocator is ours. */
    bool first = Py_TYPE(a)->tp_richcompare == tracer_compare;
    return ((Tracer *)(first ? a : b))->trace;
}

/* A size meets something else as a run-time int. */
static PyObject *
int_of(const TraceState *state, PyObject *object)
{
    if (trace_is_size(state, object))
        return trace_size_as_int((Tracer *)object);
    bool index =
        tracer_check(state, object) && ((Tracer *)object)->kind == TRACER_index;
    return index ? trace_index_ask((Tracer *)object) : object;
}

static bool
is_index(const TraceState *state, PyObject *object)
{
    return tracer_check(state, object) && ((Tracer *)object)->kind == TRACER_index;
}

/* The elementwise way, or that of scalars; NotImplemented where there is none. */
static PyObject *
as_node(Trace *trace, PyObject *a, PyObject *b, OperatorId id)
{
    PyObject *operands[] = {a, b}, *result;
    if (!trace->live || !trace->state->ufuncs[id])
        return Py_NewRef(Py_NotImplemented);
    result = id == OPERATOR_pow
                 ? trace_power(trace, a, b, NULL)
                 : trace_ufunc(trace, trace->state->ufuncs[id], operands, 2, NULL);
    if (result != Py_NotImplemented)
        return result;
    Py_DECREF(result);
    return trace_scalars(trace, operands, 2, id);
}

/* The operator behind an augmented one. ORDER operators */
static OperatorId
plain_operator(OperatorId id)
{
    static const OperatorId plain[] = {
        [OPERATOR_iadd] = OPERATOR_add,
        [OPERATOR_isub] = OPERATOR_sub,
        [OPERATOR_imul] = OPERATOR_mul,
        [OPERATOR_itruediv] = OPERATOR_truediv,
        [OPERATOR_ifloordiv] = OPERATOR_floordiv,
        [OPERATOR_imod] = OPERATOR_mod,
        [OPERATOR_ipow] = OPERATOR_pow,
        [OPERATOR_imatmul] = OPERATOR_matmul,
        [OPERATOR_ilshift] = OPERATOR_lshift,
        [OPERATOR_irshift] = OPERATOR_rshift,
        [OPERATOR_iand] = OPERATOR_and_,
        [OPERATOR_ior] = OPERATOR_or_,
        [OPERATOR_ixor] = OPERATOR_xor,
    };
    return plain[id];
}

/* The argument of the instruction that Python is at, if it is `name`; else -1. */
static int
instruction(const char *name)
{
    PyFrameObject *frame = PyEval_GetFrame();
    PyCodeObject *code = frame ? PyFrame_GetCode(frame) : NULL;
    PyObject *bytes = code ? PyCode_GetCode(code) : NULL,
             *module = bytes ? PyImport_ImportModule("opcode") : NULL;
    PyObject *names = module ? PyObject_GetAttrString(module, "opmap") : NULL;
    PyObject *number = names ? PyMapping_GetItemString(names, name) : NULL;
    int at = frame ? PyFrame_GetLasti(frame) : -1;
    const unsigned char *text =
        bytes ? (const unsigned char *)PyBytes_AS_STRING(bytes) : NULL;
    int found = number && at >= 0 && at + 1 < PyBytes_GET_SIZE(bytes) &&
                        text[at] == PyLong_AsLong(number)
                    ? text[at + 1]
                    : -1;
    PyErr_Clear();
    Py_XDECREF(number);
    Py_XDECREF(names);
    Py_XDECREF(module);
    Py_XDECREF(bytes);
    Py_XDECREF(code);
    return found;
}

/* True if Python is at an augmented assignment: a number on its left leaves it to the other operand's plain operator. */
static bool
is_augmented(void)
{
    enum { FIRST = 13 }; /* NB_INPLACE_ADD of CPython's opcode.h */
    return instruction("BINARY_OP") >= FIRST;
}

/* A comparison with its operands exchanged. */
static const int exchanged[] = {
    [Py_LT] = Py_GT, [Py_LE] = Py_GE, [Py_EQ] = Py_EQ,
    [Py_NE] = Py_NE, [Py_GT] = Py_LT, [Py_GE] = Py_LE,
};

/* True if Python is at the comparison that is this one with its operands exchanged. */
static bool
is_exchanged(int compare)
{
    int shift = PY_VERSION_HEX >= 0x030D0000   ? 5
                : PY_VERSION_HEX >= 0x030C0000 ? 4
                                               : 0,
        at = instruction("COMPARE_OP");
    return at >= 0 && at >> shift == exchanged[compare];
}

/* A refusal speaks of `+=` where that was called. */
static PyObject *
refused(const TraceState *state, PyObject *a, PyObject *b, OperatorId id)
{
    int augmented = OPERATOR_iadd;
    while (augmented < OPERATOR_COUNT && plain_operator((OperatorId)augmented) != id)
        augmented++;
    PyObject *type, *value, *traceback, *real;
    PyErr_Fetch(&type, &value, &traceback);
    bool spoken = augmented < OPERATOR_COUNT && is_augmented() &&
                  (real = tracer_object((Tracer *)b));
    if (!spoken) {
        PyErr_Restore(type, value, traceback);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return PyObject_CallFunctionObjArgs(state->operators[augmented], a, real, NULL);
}

/* True of n * [x], which is Python's own: its items are one object. */
static bool
is_repeat(const TraceState *state, PyObject *a, PyObject *b)
{
    const PyObject *number = tracer_check(state, a) ? a : b,
                   *other = number == a ? b : a;
    return ((const Tracer *)number)->kind == TRACER_int &&
           (PyList_CheckExact(other) || PyTuple_CheckExact(other));
}

PyObject *
tracer_binary(PyObject *a, PyObject *b, OperatorId id)
{
    Trace *trace = trace_of_either(a, b);
    TraceState *state = trace->state;
    PyObject *operands[] = {a, b}, *result;
    if (id == OPERATOR_mul && is_repeat(state, a, b))
        Py_RETURN_NOTIMPLEMENTED; /* it asks for the int */
    bool size = trace_is_size(state, a) || trace_is_size(state, b);
    if (size || is_index(state, a) || is_index(state, b)) {
        result = size ? trace_size_binary(trace, a, b, id)
                      : trace_index_binary(trace, a, b, id);
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
        /* No such expression: the ints themselves, with whatever the other operand is. */
        operands[0] = int_of(state, a);
        operands[1] = int_of(state, b);
        return PyObject_CallFunctionObjArgs(state->operators[id], operands[0],
                                            operands[1], NULL);
    }
    result = as_node(trace, a, b, id);
    if (result != Py_NotImplemented)
        return result;
    Py_DECREF(result);
    result = trace_call(trace, state->operators[id], operands, 2, NULL, 0);
    trace_int_note(state, id, a, b, result);
    bool arrays = tracer_check(state, a) && tracer_check(state, b) &&
                  ((Tracer *)a)->ndim && ((Tracer *)b)->ndim;
    if (!result && arrays && id != OPERATOR_pow &&
        PyErr_ExceptionMatches(PyExc_ValueError))
        trace_raised_by_shapes(trace); /* they do not broadcast */
    if (!result && !tracer_check(state, a) && tracer_check(state, b) &&
        ((Tracer *)b)->ndim == 0 && PyErr_ExceptionMatches(PyExc_TypeError))
        return refused(state, a, b, id);
    return result;
}

static PyObject *
tracer_unary(PyObject *a, OperatorId id)
{
    Trace *trace = ((Tracer *)a)->trace;
    if (id == OPERATOR_neg && trace_is_size(trace->state, a))
        return trace_size_negative(trace, (Tracer *)a);
    if (is_index(trace->state, a))
        return PyObject_CallOneArg(trace->state->operators[id],
                                   int_of(trace->state, a));
    if (trace->live) {
        PyObject *result = trace_ufunc(trace, trace->state->ufuncs[id], &a, 1, NULL);
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
        result = trace_scalars(trace, &a, 1, id);
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    }
    PyObject *result = trace_call(trace, trace->state->operators[id], &a, 1, NULL, 0);
    trace_int_note(trace->state, id, a, NULL, result);
    return result;
}

/* x += y: an array is written in place; what is none becomes x + y, whose refusal speaks of `+=`. */
static PyObject *
tracer_inplace(PyObject *a, PyObject *b, OperatorId id)
{
    Tracer *out = (Tracer *)a;
    Trace *trace = out->trace;
    TraceState *state = trace->state;
    PyObject *operands[] = {a, b}, *result;
    bool array = out->kind == TRACER_array;
    if (out->size)
        return tracer_binary(a, b, plain_operator(id));
    if (trace_is_size(state, b))
        operands[1] = b = int_of(state, b);
    if (out->kind == TRACER_index) {
        result = trace_index_binary(trace, a, b, plain_operator(id));
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
        operands[0] = a = int_of(state, a);
        operands[1] = b = int_of(state, b);
        if (!tracer_check(state, b))
            return PyObject_CallFunctionObjArgs(state->operators[id], a, b, NULL);
    }
    if (trace->live && array && state->ufuncs[id]) {
        result = id == OPERATOR_ipow
                     ? trace_power(trace, a, b, out)
                     : trace_ufunc(trace, state->ufuncs[id], operands, 2, out);
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    }
    if (!array) {
        result = as_node(trace, a, b, plain_operator(id));
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    }
    result = trace_call(trace, state->operators[id], operands, 2, NULL, array ? 1 : 0);
    trace_int_note(state, id, a, b, result);
    return result;
}

PyObject *
tracer_compare(PyObject *a, PyObject *b, int compare)
{
    static const OperatorId ids[] = {
        [Py_LT] = OPERATOR_lt, [Py_LE] = OPERATOR_le, [Py_EQ] = OPERATOR_eq,
        [Py_NE] = OPERATOR_ne, [Py_GT] = OPERATOR_gt, [Py_GE] = OPERATOR_ge,
    };
    PyObject *result = tracer_binary(a, b, ids[compare]);
    const Trace *trace = result ? NULL : trace_current();
    bool python = trace && ((Tracer *)a)->object &&
                  ((Tracer *)a)->kind >= TRACER_float &&
                  ((Tracer *)a)->kind <= TRACER_int;
    if (python && !tracer_check(trace->state, b) &&
        PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        if (!is_exchanged(compare)) {
            PyErr_Restore(type, value, traceback);
            return NULL;
        }
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        /* A number on the left left it to us: the refusal has them in its order. */
        return PyObject_RichCompare(b, ((Tracer *)a)->object, exchanged[compare]);
    }
    return result;
}

#define BINARY(id)                                                                     \
    static PyObject *binary_##id(PyObject *a, PyObject *b)                             \
    {                                                                                  \
        return tracer_binary(a, b, OPERATOR_##id);                                     \
    }
#define UNARY(id)                                                                      \
    static PyObject *unary_##id(PyObject *a)                                           \
    {                                                                                  \
        return tracer_unary(a, OPERATOR_##id);                                         \
    }
#define INPLACE(id)                                                                    \
    static PyObject *inplace_##id(PyObject *a, PyObject *b)                            \
    {                                                                                  \
        return tracer_inplace(a, b, OPERATOR_##id);                                    \
    }

BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(truediv)
BINARY(floordiv)
BINARY(mod)
BINARY(matmul)
BINARY(lshift)
BINARY(rshift)
BINARY(and_)
BINARY(or_)
BINARY(xor)
UNARY(neg)
UNARY(pos)
UNARY(abs)
UNARY(invert)
INPLACE(iadd)
INPLACE(isub)
INPLACE(imul)
INPLACE(itruediv)
INPLACE(ifloordiv)
INPLACE(imod)
INPLACE(imatmul)
INPLACE(ilshift)
INPLACE(irshift)
INPLACE(iand)
INPLACE(ior)
INPLACE(ixor)

static PyObject *
ternary_pow(PyObject *a, PyObject *b, PyObject *modulus)
{
    if (modulus == Py_None)
        return tracer_binary(a, b, OPERATOR_pow);
    Trace *trace = trace_of_either(a, b);
    PyObject *operands[] = {a, b, modulus};
    return trace_call(trace, trace->state->pow, operands, 3, NULL, 0);
}

static PyObject *
inplace_pow(PyObject *a, PyObject *b, PyObject *Py_UNUSED(modulus))
{
    return tracer_inplace(a, b, OPERATOR_ipow);
}

static PyObject *
binary_divmod(PyObject *a, PyObject *b)
{
    Trace *trace = trace_of_either(a, b);
    PyObject *operands[] = {a, b}, *result;
    if (trace->live && !trace->asking) {
        result = trace_divmod(trace, operands, false);
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    }
    return trace_call(trace, trace->state->divmod, operands, 2, NULL, 0);
}

const PyType_Slot tracer_number_slots[] = {
    {Py_nb_add, binary_add},
    {Py_nb_subtract, binary_sub},
    {Py_nb_multiply, binary_mul},
    {Py_nb_true_divide, binary_truediv},
    {Py_nb_floor_divide, binary_floordiv},
    {Py_nb_remainder, binary_mod},
    {Py_nb_divmod, binary_divmod},
    {Py_nb_power, ternary_pow},
    {Py_nb_matrix_multiply, binary_matmul},
    {Py_nb_lshift, binary_lshift},
    {Py_nb_rshift, binary_rshift},
    {Py_nb_and, binary_and_},
    {Py_nb_or, binary_or_},
    {Py_nb_xor, binary_xor},
    {Py_nb_negative, unary_neg},
    {Py_nb_positive, unary_pos},
    {Py_nb_absolute, unary_abs},
    {Py_nb_invert, unary_invert},
    {Py_nb_inplace_add, inplace_iadd},
    {Py_nb_inplace_subtract, inplace_isub},
    {Py_nb_inplace_multiply, inplace_imul},
    {Py_nb_inplace_true_divide, inplace_itruediv},
    {Py_nb_inplace_floor_divide, inplace_ifloordiv},
    {Py_nb_inplace_remainder, inplace_imod},
    {Py_nb_inplace_power, inplace_pow},
    {Py_nb_inplace_matrix_multiply, inplace_imatmul},
    {Py_nb_inplace_lshift, inplace_ilshift},
    {Py_nb_inplace_rshift, inplace_irshift},
    {Py_nb_inplace_and, inplace_iand},
    {Py_nb_inplace_or, inplace_ior},
    {Py_nb_inplace_xor, inplace_ixor},
    {0, NULL},
};
