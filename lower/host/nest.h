/* nest.h - shared by nest.c (the function, its regions) and nest_node.c (what is in them). */
#pragma once

#include "lower/host/host.h"

enum { LOWER_NEST_ROOM = 16, LOWER_NEST_PARAMS = 64 };

typedef struct Nest {
    Build *b;
    const LowerPattern *patterns;
    Lanes *values;
    LLVMTypeRef i64, pointer;
    LLVMValueRef *bases, *extents,
        *strides; /* of parameters; of axes: row_of[p] + axis */
    uint32_t *row_of;
    LLVMValueRef status, poll, turns;
    LLVMValueRef
        draws; /* functions that draw random numbers, each with what it draws from */
    LLVMValueRef dots, cell; /* NumPy's functions; room for a result of theirs */
    LLVMValueRef room; /* and for what others are given: LOWER_NEST_ROOM numbers */
    unsigned wide;     /* lanes of a recipe */
    LLVMValueRef
        over; /* what has overflowed where both ways of an if are computed, or NULL elsewhere */
} Nest;

LLVMTypeRef lower_nest_type(const Nest *nest, IrDtype dtype);
LLVMValueRef lower_nest_number(const Nest *nest, uint64_t value); /* an int64 */
LLVMValueRef lower_nest_operand(const Nest *nest, IrNode node, uint32_t i);
LLVMBasicBlockRef lower_nest_block(const Nest *nest, const char *name);
/* Goes on where the condition holds; elsewhere stores the status and returns. */
void lower_nest_leave_unless(const Nest *nest, LLVMValueRef condition,
                             LLVMValueRef status);

uint32_t lower_nest_param(const Nest *nest, IrValue value); /* its number */
/* The address of an element of operand `of`, whose indices are operands `from` … of the node. */
LLVMValueRef lower_nest_address(const Nest *nest, IrNode node, uint32_t of,
                                uint32_t from);

/* Asks now and then whether to go on, so many turns further. */
void lower_nest_poll(Nest *nest, LLVMValueRef turns);

/* nest_node.c: any node; nest.c: one with regions. */
void lower_nest_emit(Nest *nest, IrNode node);
void lower_nest_control(Nest *nest, IrNode node);

/* nest_run.c: nodes that call what works on memory; the results of those that have one. */
LLVMValueRef lower_nest_sum(const Nest *nest, IrNode node);
LLVMValueRef lower_nest_dot(const Nest *nest, IrNode node);
LLVMValueRef lower_nest_compress(const Nest *nest, IrNode node);
void lower_nest_product(Nest *nest, IrNode node);
void lower_nest_function(Nest *nest, IrNode node);

/* nest_choice.c. True where an int that may overflow keeps LLVM from computing both ways of an `if`, and there is little to
** compute. Of a flag that one way sets the other knows: that is for branches. */
bool lower_nest_takes_both_ways(const IrGraph *kernel, IrNode node);
/* True where a turn of this region chooses between ints: unrolled, LLVM makes branches of it, which no processor
** predicts. */
bool lower_nest_chooses_ints(const IrGraph *kernel, IrRegion region);
