/* print.h - pieces of text that more than the printer writes. */
#pragma once

enum { IR_FLOAT_TEXT = 40 };

/* A float as in IR text. */
void ir_print_float(char text[IR_FLOAT_TEXT], double x);
