/* machine_code.h - hand-made machine code for the suites of runtime/.
**
** 16 bytes come before a function, as in kernels: callers built with -fsanitize=function look
** there. */
#pragma once

#include <string.h>

#include "runtime/runtime.h"

#if defined(__x86_64__)
#define HAVE_CODE 1
#else
#define HAVE_CODE 0
#endif

enum { BEFORE = 16, CODE_BYTES = BEFORE + 14, TABLE_AT = 4096 };

typedef void (*CodeFn)(char *const *data, intptr_t n);

/* *(intptr_t *)data[0] = n + constant */
static inline RtImage
image_adding(int32_t constant, char code[CODE_BYTES])
{
    memset(code, 0, CODE_BYTES);
    memcpy(code + BEFORE, "\x48\x8b\x07", 3);     /* mov (%rdi), %rax */
    memcpy(code + BEFORE + 3, "\x48\x8d\x8e", 3); /* lea constant(%rsi), %rcx */
    memcpy(code + BEFORE + 6, &constant, 4);
    memcpy(code + BEFORE + 10, "\x48\x89\x08\xc3", 4); /* mov %rcx, (%rax); ret */
    return (RtImage){.code = code, .bytes = CODE_BYTES, .entry = BEFORE};
}

/* Jumps to the second of two symbols. */
static inline RtImage
image_jumping(const char *names, uint32_t names_bytes, char code[CODE_BYTES])
{
    int32_t distance = TABLE_AT + 8 - (BEFORE + 6);

    memset(code, 0, CODE_BYTES);
    memcpy(code + BEFORE, "\xff\x25", 2); /* jmp *distance(%rip) */
    memcpy(code + BEFORE + 2, &distance, 4);
    return (RtImage){.code = code,
                     .bytes = CODE_BYTES,
                     .entry = BEFORE,
                     .table = TABLE_AT,
                     .nsymbols = 2,
                     .names = names,
                     .names_bytes = names_bytes};
}

/* What the code makes of n. */
static inline intptr_t
result_of(RtKernelFn entry, intptr_t n)
{
    intptr_t result = -1;
    char *data[1] = {(char *)&result};

    ((CodeFn)(uintptr_t)entry)(data, n);
    return result;
}
