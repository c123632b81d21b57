/* aliases.h - arguments that lie in the memory of others: aliases.c. */
#pragma once

#include "jit/jit.h"

/* Parameter `param` begins `offset` bytes behind parameter `base`, in whose memory it lies. */
typedef struct JitAlias {
    uint32_t param, base;
    intptr_t offset;
} JitAlias;

/* Of n parameters those that lie in others', in order; there is room for n. Returns how many; -1: some share memory
** in another way. */
int jit_aliases_find(PyObject *const *params, uint32_t n, JitAlias *aliases);
/* True if the plan was made for parameters of which these, and no others, lie in others'. */
bool jit_aliases_match(const JitPlan *plan, const JitAlias *aliases, int n);
