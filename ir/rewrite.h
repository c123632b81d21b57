/* rewrite.h - building a graph once more, with some nodes replaced or left out. */
#pragma once

#include "ir/graph.h"

typedef struct Rewrite Rewrite;

/* What takes the place of a node with one result: a value of rewrite->to, or 0 to
** copy the node. Operands are already in `to`; find them with ir_rewritten. */
typedef IrValue (*RewriteFn)(Rewrite *rewrite, IrNode node);

struct Rewrite {
    const IrGraph *from;
    IrGraph *to;
    IrValue *values;   /* old -> new */
    const bool *live;  /* by node; NULL: all */
    RewriteFn replace; /* NULL: never */
    void *context;
    uint32_t changes; /* nodes replaced */
    const char *pass; /* for the message when the copy fails */
};

IrValue ir_rewritten(const Rewrite *rewrite, IrValue old);
/* The same type in `to`; `dims` has room for IR_MAX_NDIM. */
IrType ir_rewritten_type(const Rewrite *rewrite, const IrType *old, IrDim *dims);
/* Rewrites g in place; false: g has failed. Schedules and numbers of before are gone.
 */
bool ir_rewrite(IrGraph *g, Rewrite *rewrite);
