/* print.h - pieces of text that more than the printer writes. */
#pragma once

#include <locale.h>

#include "ir/ir.h"

enum { IR_FLOAT_TEXT = 40 };

/* A float as in IR text: the shortest decimal that gives the same number of this
** dtype.
*/
void ir_print_float(char text[IR_FLOAT_TEXT], double x, IrDtype dtype);

/* While numbers are printed or read this thread's decimal point is ".". */
typedef struct IrNumberLocale {
    locale_t before, plain;
} IrNumberLocale;

IrNumberLocale ir_number_locale_enter(void);
void ir_number_locale_leave(IrNumberLocale locale);
