/* elem.h - the functions that rows of tokens.def name. */
#pragma once

#include "lower/host/host.h"

typedef struct Token Token;

/* Operands are cast to the dtypes of the loop. */
typedef struct Operands {
    IrDtype dtype;       /* of the loop; float32 where that is float16 */
    bool half;           /* it is float16 */
    bool mixed;          /* a comparison of int64 with uint64, as they are */
    unsigned sint;       /* then: the operand that is int64 */
    bool scalar_bounds;  /* operands 1 and 2 are one element for the whole run */
    bool scalar_power;   /* of a power: the exponent is */
    bool scalar_divisor; /* of a division by vectors: the divisor is, and x is not */
    const char *numpy;   /* the op's name there */
    unsigned n;
    Lanes x[3];
} Operands;

/* Of form_fused: what is negated. */
enum { FUSED_minus_x = 1, FUSED_minus_z = 2 };

typedef Lanes (*TokenFn)(Build *b, const Token *token, const Operands *o);

struct Token {
    const char *name;
    TokenFn form;
    int number;
    const char *text;
    unsigned cost;
};

/* All forms and every emit_<name>; a form that several rows share is declared several
** times.
**     opcode     number(x, y)            intrinsic  text(x, …)
**     icmp, fcmp x number y              square     number(x, x)
**     truth      number(x != 0, y != 0)  parts      number of re and re, of im and im
**     fused      x * y + z, some negated (number) later     no code yet
**     recipe     text(x, …), by recipe.c */
#define TOKEN(name, form, number, text, cost)                                          \
    Lanes form(Build *b, const Token *token, const Operands *o);
#include "lower/host/tokens.def"
#undef TOKEN

/* Shorthands of the functions. */
Lanes lower_elem_real(LLVMValueRef re); /* no imaginary part */
LLVMValueRef lower_elem_select(Build *b, LLVMValueRef condition, LLVMValueRef x,
                               LLVMValueRef y);
/* Goes on behind the instruction that makes x, so that what follows is done where x is; returns where
** the builder was. */
LLVMBasicBlockRef lower_elem_go_behind(Build *b, LLVMValueRef x);
