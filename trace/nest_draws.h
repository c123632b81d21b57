/* nest_draws.h - random numbers in a nest, and what else calls functions beside the code: lists. */
#pragma once

#include "trace/nest.h"

/* -- nest_draw.c ------------------------------------------------------------------- */
/* True of a generator whose methods draw numbers. */
bool nest_is_source(PyObject *object);
/* The generator that a method is of, and its name; NULL: it is no such method. Borrowed. */
PyObject *nest_source_of(NestMaker *m, PyObject *method, const char **name);
/* A call of a function of the generator, or of the list. */
IrValue nest_source_call(NestMaker *m, PyObject *source, TraceDraw function,
                         const IrValue *operands, uint32_t n, IrDtype dtype);
/* True of a call some of whose arguments have names, which are the tree's value. */
static inline bool
nest_has_keywords(const NestTree *tree)
{
    return tree->value && PyTuple_Check(tree->value);
}
/* A method's call at this place. */
NestValue nest_draw(NestMaker *m, const NestTree *tree, PyObject *source,
                    const char *name, const NestValue *arguments, uint32_t n);
/* An int from low to high - 1, which has to be above. */
NestValue nest_draw_int(NestMaker *m, PyObject *source, TraceDraw function,
                        const NestValue *low, const NestValue *high);

/* -- nest_draws.c ------------------------------------------------------------------ */
/* What is drawn, one number by `draw`. */
typedef struct NestDraws {
    const NestTree *at;
    PyObject *source;
    const char *name;
    NestValue a[3];
    uint32_t n;
    IrDtype dtype; /* of an array */
    NestValue (*draw)(NestMaker *m, const struct NestDraws *draws);
} NestDraws;
/* One, where the size is unbound, or an array. */
NestValue nest_draws(NestMaker *m, const NestDraws *draws, const NestValue *size);
NestValue nest_choice_of(NestMaker *m, const NestDraws *draws, const NestValue *size);
NestValue nest_shuffled(NestMaker *m, const NestDraws *draws);
NestValue nest_permutation(NestMaker *m, const NestDraws *draws);
