/* tame.c - what other values of its operands may do to a call. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/call.h"

/* -- Tameness ---------------------------------------------------------------------- */

static unsigned
tameness_of_operator(int id, const Operands *operands)
{
    bool divides = id == OPERATOR_truediv || id == OPERATOR_floordiv ||
                   id == OPERATOR_mod || id == OPERATOR_pow ||
                   id == OPERATOR_itruediv || id == OPERATOR_ifloordiv ||
                   id == OPERATOR_imod || id == OPERATOR_ipow;
    for (uint32_t i = 0; i < operands->n; i++) {
        TracerKind kind = operands->tracers[i]->kind;
        if (kind == TRACER_int && (id == OPERATOR_pow || id == OPERATOR_ipow))
            return 0; /* an int, or a float */
        if (kind == TRACER_int)
            return TAME_fixed;
        if (divides && (kind == TRACER_float || kind == TRACER_complex))
            return TAME_fixed; /* Python's ZeroDivisionError */
    }
    return TAME_fixed | TAME_silent;
}

bool
trace_is_of_ints(const TraceState *state, PyObject *callable, PyObject *args,
                 PyObject *result)
{
    static const uint8_t closed[] = {
        OPERATOR_add,  OPERATOR_sub,    OPERATOR_mul,  OPERATOR_and_,
        OPERATOR_or_,  OPERATOR_xor,    OPERATOR_neg,  OPERATOR_pos,
        OPERATOR_abs,  OPERATOR_invert, OPERATOR_iadd, OPERATOR_isub,
        OPERATOR_imul, OPERATOR_iand,   OPERATOR_ior,  OPERATOR_ixor,
    };
    static const uint8_t divide[] = {OPERATOR_floordiv, OPERATOR_mod,
                                     OPERATOR_ifloordiv, OPERATOR_imod};
    if (!PyLong_CheckExact(result))
        return false;
    for (size_t i = 0; i < sizeof closed; i++) {
        if (state->operators[closed[i]] == callable)
            return true;
    }
    PyObject *by = PyTuple_GET_SIZE(args) == 2 ? PyTuple_GET_ITEM(args, 1) : NULL;
    for (size_t i = 0; by && PyLong_CheckExact(by) && i < sizeof divide; i++) {
        if (state->operators[divide[i]] == callable)
            return PyObject_IsTrue(by) == 1; /* what divides is not 0 */
    }
    return false;
}

/* NumPy's ValueError for integers to negative powers. */
static bool
may_be_power_of_integers(const TraceState *state, PyObject *callable,
                         const Operands *operands)
{
    if (callable != state->ufuncs[OPERATOR_pow] &&
        callable != state->operators[OPERATOR_pow] &&
        callable != state->operators[OPERATOR_ipow])
        return false;
    for (uint32_t i = 0; i < operands->n; i++) {
        const Tracer *operand = operands->tracers[i];
        int type = operand->descr->type_num;
        if (operand->kind == TRACER_float ||
            !(PyTypeNum_ISINTEGER(type) || PyTypeNum_ISBOOL(type)))
            return false;
    }
    return true;
}

/* True if an operand, but for the first `skip`, may be a count, an axis or a shape. */
static bool
may_count(const Operands *operands, uint32_t skip, bool arrays)
{
    for (uint32_t i = skip; i < operands->n; i++) {
        const Tracer *operand = operands->tracers[i];
        if (operand->kind == TRACER_float || (operand->ndim > 0 && !arrays))
            continue;
        if (PyTypeNum_ISINTEGER(operand->descr->type_num) ||
            PyTypeNum_ISBOOL(operand->descr->type_num))
            return true;
    }
    return false;
}

/* True if one number that is a float may become an integer, in an array of them or in what is made: NumPy refuses
** NaN and infinities. */
static bool
may_become_integer(const Operands *operands)
{
    bool floats = false, whole = false, arrays = false;
    for (uint32_t i = 0; i < operands->n; i++) {
        const Tracer *operand = operands->tracers[i];
        int type = operand->descr->type_num;
        bool array = operand->kind == TRACER_array && operand->ndim > 0;
        floats |= !array && PyTypeNum_ISFLOAT(type);
        arrays |= array;
        whole |= array && PyTypeNum_ISINTEGER(type);
    }
    return floats && (whole || !arrays);
}

/* True of ufuncs' methods that get indices, which may be out of range. */
static bool
takes_places(PyObject *callable)
{
    const char *name = ((PyCFunctionObject *)callable)->m_ml->ml_name;
    return strcmp(name, "at") == 0 || strcmp(name, "reduceat") == 0;
}

static bool
is_python_number(PyObject *object)
{
    return PyFloat_CheckExact(object) || PyLong_CheckExact(object) ||
           PyBool_Check(object);
}

bool
trace_may_be_complex(const TraceState *state, PyObject *callable, const CallArgs *call)
{
    bool power = callable == state->operators[OPERATOR_pow] ||
                 callable == state->operators[OPERATOR_ipow] || callable == state->pow;
    if (!power || PyTuple_GET_SIZE(call->reals) != 2)
        return false;
    PyObject *base = PyTuple_GET_ITEM(call->reals, 0),
             *exponent = PyTuple_GET_ITEM(call->reals, 1);
    if (!is_python_number(base) || !is_python_number(exponent))
        return false;
    bool same_base = PyTuple_GET_ITEM(call->shape, 0) == base,
         same_exponent = PyTuple_GET_ITEM(call->shape, 1) == exponent;
    double x = PyFloat_AsDouble(base), y = PyFloat_AsDouble(exponent);
    PyErr_Clear(); /* a large int is no fraction, and does not change its sign */
    return !(same_base && x >= 0) && !(same_exponent && y == floor(y));
}

/* `first` says that the first argument is the first operand. */
unsigned
trace_tameness(const TraceState *state, PyObject *callable, const Operands *operands,
               bool first)
{
    if (operands->n == 0 || callable == state->touch)
        return TAME_fixed | TAME_silent;
    if (callable == state->fits || callable == state->within)
        return TAME_fixed | TAME_silent;
    if (callable == (PyObject *)&PyLong_Type)
        return TAME_fixed; /* NaN is none */
    if (Py_TYPE(callable) == state->nest_type) {
        PyObject *checks = PyObject_GetAttrString(callable, "checks");
        PyObject *fixed = PyObject_GetAttrString(callable, "fixed");
        unsigned tame = (checks == Py_False ? TAME_silent : 0u) |
                        (fixed == Py_True ? TAME_fixed : 0u);
        PyErr_Clear();
        Py_XDECREF(checks);
        Py_XDECREF(fixed);
        return tame;
    }
    if (may_be_power_of_integers(state, callable, operands))
        return TAME_fixed;
    if (callable == state->getitem)
        return trace_is_selection(operands)      ? TAME_silent
               : trace_selects_by_mask(operands) ? 0
               : operands->n > 1                 ? TAME_fixed
                                                 : TAME_fixed | TAME_silent;
    if (Py_TYPE(callable) == &PyUFunc_Type || callable == state->getattr)
        return TAME_fixed | TAME_silent;
    if (PyCFunction_Check(callable) && PyCFunction_GET_SELF(callable) &&
        Py_TYPE(PyCFunction_GET_SELF(callable)) == &PyUFunc_Type)
        return takes_places(callable) ? TAME_fixed : TAME_fixed | TAME_silent;
    for (int i = 0; i < OPERATOR_COUNT; i++) {
        if (state->operators[i] == callable)
            return tameness_of_operator(i, operands);
    }
    if (may_count(operands, 0, false))
        return 0;
    PyObject *name = PyObject_GetAttrString(callable, "__name__");
    PyObject *row = name ? PyDict_GetItemWithError(state->fixed, name) : NULL;
    unsigned tame = row ? (unsigned)PyLong_AsLong(row) : 0;
    PyErr_Clear();
    /* np.where with one argument is nonzero. */
    if (operands->n == 1 && name &&
        PyUnicode_CompareWithASCIIString(name, "where") == 0)
        tame = 0;
    Py_XDECREF(name);
    if ((tame & TAME_shaped && may_count(operands, first, true)) ||
        (tame & TAME_made && may_count(operands, 0, true)))
        tame = 0;
    return may_become_integer(operands) ? tame & ~(unsigned)TAME_silent : tame;
}

bool
trace_takes_any_size(const TraceState *state, PyObject *callable)
{
    PyObject *name = PyObject_GetAttrString(callable, "__name__");
    PyObject *row = name ? PyDict_GetItemWithError(state->fixed, name) : NULL;
    unsigned tame = row ? (unsigned)PyLong_AsLong(row) : 0;
    bool any = callable == (PyObject *)&PyLong_Type || tame & TAME_made ||
               callable == (PyObject *)&PyFloat_Type || callable == state->touch ||
               (name && PyUnicode_CompareWithASCIIString(name, "arange") == 0);
    PyErr_Clear();
    Py_XDECREF(name);
    return any;
}

PyObject *
trace_fixed_names(void)
{
    static const struct {
        const char *name;
        unsigned tame;
    } rows[] = {
#define FIXED(name)  {#name, TAME_fixed | TAME_silent},
#define RAISES(name) {#name, TAME_fixed},
#define SHAPED(name) {#name, TAME_fixed | TAME_silent | TAME_shaped},
#define MADE(name)   {#name, TAME_fixed | TAME_silent | TAME_made},
#include "trace/fixed.def"
#undef FIXED
#undef RAISES
#undef SHAPED
#undef MADE
    };
    PyObject *names = PyDict_New();
    for (size_t i = 0; names && i < sizeof rows / sizeof *rows; i++) {
        PyObject *tame = PyLong_FromUnsignedLong(rows[i].tame);
        if (!tame || PyDict_SetItemString(names, rows[i].name, tame) < 0)
            Py_CLEAR(names);
        Py_XDECREF(tame);
    }
    return names;
}
