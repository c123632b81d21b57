/* inverse.h - division by a number that is the same in all lanes and turns. */
#pragma once

#include "lower/host/host.h"

/* floor(x / d), wrapping; of d = 0 anything. */
LLVMValueRef lower_inverse_quotient(Build *b, IrDtype dtype, LLVMValueRef x,
                                    LLVMValueRef d);
