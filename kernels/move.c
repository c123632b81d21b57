/* move.c - selects and copies, a loop per item size. */
#include <string.h>

#include "kernels/kernels.h"

typedef struct Item16 {
    uint64_t part[2];
} Item16;
typedef struct Item32 {
    uint64_t part[4];
} Item32;

#define SELECT(bytes, T)                                                               \
    static int select_##bytes(void *context, char *const *data, const intptr_t *n,     \
                              const intptr_t *strides, void *auxdata)                  \
    {                                                                                  \
        const char *c = data[0], *x = data[1], *y = data[2];                           \
        char *out = data[3];                                                           \
        (void)context;                                                                 \
        (void)auxdata;                                                                 \
        for (intptr_t i = 0; i < *n; i++) {                                            \
            T a, b, r;                                                                 \
            memcpy(&a, x, sizeof a);                                                   \
            memcpy(&b, y, sizeof b);                                                   \
            r = *c ? a : b;                                                            \
            memcpy(out, &r, sizeof r);                                                 \
            c += strides[0];                                                           \
            x += strides[1];                                                           \
            y += strides[2];                                                           \
            out += strides[3];                                                         \
        }                                                                              \
        return 0;                                                                      \
    }

#define COPY(bytes, T)                                                                 \
    static int copy_##bytes(void *context, char *const *data, const intptr_t *n,       \
                            const intptr_t *strides, void *auxdata)                    \
    {                                                                                  \
        const char *x = data[0];                                                       \
        char *out = data[1];                                                           \
        (void)context;                                                                 \
        (void)auxdata;                                                                 \
        if (strides[0] == (bytes) && strides[1] == (bytes)) {                          \
            memmove(out, x, (size_t)*n *(bytes));                                      \
            return 0;                                                                  \
        }                                                                              \
        for (intptr_t i = 0; i < *n; i++) {                                            \
            T a;                                                                       \
            memcpy(&a, x, sizeof a);                                                   \
            memcpy(out, &a, sizeof a);                                                 \
            x += strides[0];                                                           \
            out += strides[1];                                                         \
        }                                                                              \
        return 0;                                                                      \
    }

#define SIZES(F)                                                                       \
    F(1, uint8_t)                                                                      \
    F(2, uint16_t) F(4, uint32_t) F(8, uint64_t) F(16, Item16) F(32, Item32)

SIZES(SELECT)
SIZES(COPY)

#define CASE_select(bytes, T)                                                          \
    case bytes:                                                                        \
        return select_##bytes;
#define CASE_copy(bytes, T)                                                            \
    case bytes:                                                                        \
        return copy_##bytes;

KernelLoopFn
kernel_select(int itemsize)
{
    switch (itemsize) {
        SIZES(CASE_select)
    default:
        return 0;
    }
}

KernelLoopFn
kernel_copy(int itemsize)
{
    switch (itemsize) {
        SIZES(CASE_copy)
    default:
        return 0;
    }
}
