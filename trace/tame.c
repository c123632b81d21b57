/* tame.c - what other values of its operands may do to a call. */
#include <stdlib.h>
#include <string.h>

#include "trace/call.h"

/* -- Tameness ---------------------------------------------------------------------- */

static unsigned
tameness_of_operator(int id, const Operands *operands)
{
    bool divides = id == OPERATOR_truediv || id == OPERATOR_floordiv ||
                   id == OPERATOR_mod || id == OPERATOR_pow;
    for (uint32_t i = 0; divides && i < operands->n; i++) {
        if (operands->tracers[i]->kind == TRACER_float)
            return TAME_fixed; /* Python's ZeroDivisionError */
    }
    return TAME_fixed | TAME_silent;
}

unsigned
trace_tameness(const TraceState *state, PyObject *callable, const Operands *operands)
{
    if (callable == state->getitem)
        return trace_selects_by_mask(operands) ? 0
               : operands->n > 1               ? TAME_fixed
                                               : TAME_fixed | TAME_silent;
    if (Py_TYPE(callable) == &PyUFunc_Type || callable == state->getattr)
        return TAME_fixed | TAME_silent;
    if (PyCFunction_Check(callable) && PyCFunction_GET_SELF(callable) &&
        Py_TYPE(PyCFunction_GET_SELF(callable)) == &PyUFunc_Type)
        return TAME_fixed | TAME_silent;
    for (int i = 0; i < OPERATOR_COUNT; i++) {
        if (state->operators[i] == callable)
            return tameness_of_operator(i, operands);
    }
    for (uint32_t i = 0; i < operands->n; i++) {
        const Tracer *operand = operands->tracers[i];
        if (operand->kind == TRACER_scalar &&
            PyTypeNum_ISINTEGER(operand->descr->type_num))
            return 0; /* it may be a count */
    }
    PyObject *name = PyObject_GetAttrString(callable, "__name__");
    PyObject *row = name ? PyDict_GetItemWithError(state->fixed, name) : NULL;
    unsigned tame = row ? (unsigned)PyLong_AsLong(row) : 0;
    PyErr_Clear();
    /* np.where with one argument is nonzero. */
    if (operands->n == 1 && name &&
        PyUnicode_CompareWithASCIIString(name, "where") == 0)
        tame = 0;
    Py_XDECREF(name);
    return tame;
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
#include "trace/fixed.def"
#undef FIXED
#undef RAISES
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
