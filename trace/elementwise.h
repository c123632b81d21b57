/* elementwise.h - shared by elementwise.c and resolve.c: operands and loops. */
#pragma once

#include "trace/internal.h"

enum {
    OPERANDS_MAX = 3,
    WEAK_int = 64,
    WEAK_float,
    WEAK_complex,
    NONE = 127,
};

struct ResolvedLoop {
    PyObject *ufunc; /* owned; NULL: empty slot */
    int8_t key[OPERANDS_MAX];
    bool usable;
    IrOp op;
    int8_t in[OPERANDS_MAX], out;
};

typedef struct Operand {
    PyObject *object; /* borrowed */
    Tracer *tracer;   /* or NULL for a number */
    int8_t type;      /* NumPy type number or WEAK_* */
    IrValue value;    /* as it is, then cast */
} Operand;

/* False where the operand is nothing the elementwise way can take. */
bool trace_operand_read(Trace *trace, PyObject *object, Operand *operand);
/* NumPy's loop for a ufunc on operands of these types; `usable` is false where the IR has no
** such op or NumPy refuses. NULL with an exception set: out of memory. */
const ResolvedLoop *trace_resolve(TraceState *state, PyObject *ufunc,
                                  const Operand *operands, int n);

/* logadd.c; Py_NotImplemented: it is none, or not of two arrays of floats of one dtype. */
PyObject *trace_logadd(Trace *trace, PyObject *ufunc, PyObject *const *operands);
bool trace_is_numpys(PyObject *ufunc,
                     const char *name); /* numpy.<name> is what is called */
/* The node of an op that is no one's whose memory was written since; type NULL: as its row says. */
IrValue trace_node_fresh(Trace *trace, IrOp op, const IrValue *values, uint32_t n,
                         const IrType *type);
/* A pending cast of an array, or one computed at once of a scalar. */
IrValue trace_cast(Trace *trace, IrValue value, int type);
/* Writes a traced value over the whole of `out` (same shape, castable by the caller's rule). New
** reference of `out`. */
PyObject *trace_write_whole(Trace *trace, Tracer *out, Tracer *result);
/* True if values of this NumPy type may be written to the array, by the rule of ufuncs' `out`. */
bool trace_may_write(const Tracer *out, int type);
