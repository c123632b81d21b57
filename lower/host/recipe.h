/* recipe.h - elementary functions: the recipes of kernels/ as instructions. */
#pragma once

#include "kernels/kernels.h"
#include "lower/host/host.h"

/* True if `name` (NumPy's) has a recipe for lanes of this dtype on the target. */
bool lower_recipe_supports(const HostTarget *target, const char *name, IrDtype dtype);
/* x, and y of functions of two operands. */
LLVMValueRef lower_recipe_emit(Build *b, const char *name, IrDtype dtype,
                               const LLVMValueRef *operands);
