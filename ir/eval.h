/* eval.h - the value of an op on constants. */
#pragma once

#include "ir/graph.h"

/* A constant of this type, or 0: an operand is no constant, the op is not one that is
** evaluated here, or NumPy might warn (overflow, division by zero, a result that is
** not finite).
*/
IrValue ir_evaluate(IrGraph *g, IrOp op, const IrValue *operands, uint32_t n,
                    const IrType *type);
