/* evaluate.h - shared by the files that run a graph as it stands: evaluate*.c. */
#pragma once

#include "jit/jit.h"

typedef struct Evaluator {
    JitState *state;
    IrGraph *g;
    PyArrayObject *
        *value;      /* by value: an array, of ndim 0 for scalars; NULL: none yet */
    int64_t *index;  /* by value of dtype index */
    int64_t *symbol; /* by symbol: its extent; -1: not known yet */
    struct Kernel *kernels; /* groups that ran */
    uint32_t nkernels;
} Evaluator;

PyArray_Descr *jit_evaluate_descr(IrDtype dtype); /* new reference */
bool jit_evaluate_is_weak(IrDtype dtype);         /* of a Python number */
/* What a node that is no group and holds no regions gives. 0, or -1: exception. */
int jit_evaluate_node(Evaluator *e, IrNode node);
/* A new result; takes the reference. -1: `array` is NULL, or does not fit the type. */
int jit_evaluate_set(Evaluator *e, IrValue value, PyObject *array);
/* The shape of a value in this run; its number of axes, or -1. */
int jit_evaluate_shape(Evaluator *e, IrValue value, npy_intp *shape);
bool jit_evaluate_truth(const Evaluator *e, IrValue value);
PyArrayObject *jit_evaluate_constant(const IrGraph *g, IrNode node);
