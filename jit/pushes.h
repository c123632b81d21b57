/* pushes.h - lists that nests fill: pushes.c. */
#pragma once

#include "jit/draws.h"

/* What is put into a list before it gets it, behind its own items if these are read. NULL: no memory, or they are not
** what they were. */
struct JitItems *jit_items_new(RtPool *pool, PyObject *list,
                               const TraceNestNumber *like);
/* The list gets its items, unless they are to be taken `back`; they are freed. 0, or -1 with an exception set. */
int jit_items_end(JitDrawSource *source, bool back);
/* The address of the function, PUSH_*, into memory of a pointer. */
void jit_push_function(TraceDraw function, void *to);
