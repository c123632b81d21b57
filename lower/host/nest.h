/* nest.h - shared by nest.c (the function, its regions) and nest_node.c (what is in them). */
#pragma once

#include "lower/host/host.h"

typedef struct Nest {
    Build *b;
    const LowerPattern *patterns;
    Lanes *values;
    LLVMTypeRef i64, pointer;
    LLVMValueRef *bases, *extents, *strides; /* of parameters; of axes: row_of[p] + axis */
    uint32_t *row_of;
    LLVMValueRef status, poll, turns;
    LLVMValueRef dots, cell; /* NumPy's functions; room for a result of theirs */
    unsigned wide; /* lanes of a recipe */
} Nest;

LLVMTypeRef lower_nest_type(const Nest *nest, IrDtype dtype);
LLVMValueRef lower_nest_number(const Nest *nest, uint64_t value); /* an int64 */
LLVMValueRef lower_nest_operand(const Nest *nest, IrNode node, uint32_t i);
LLVMBasicBlockRef lower_nest_block(const Nest *nest, const char *name);
/* Goes on where the condition holds; elsewhere stores the status and returns. */
void lower_nest_leave_unless(const Nest *nest, LLVMValueRef condition, LLVMValueRef status);

/* Asks now and then whether to go on, so many turns further. */
void lower_nest_poll(Nest *nest, LLVMValueRef turns);

/* nest_node.c: any node; nest.c: one with regions. */
void lower_nest_emit(Nest *nest, IrNode node);
void lower_nest_control(Nest *nest, IrNode node);
