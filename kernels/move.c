/* move.c - selects and copies, a loop per item size. */
#include <string.h>

#include "kernels/kernels.h"

typedef struct Item16 {
    uint64_t part[2];
} Item16;
typedef struct Item32 {
    uint64_t part[4];
} Item32;

/* Strides and counts are read once: what is written may be anything, for the compiler. */
#define SELECT(bytes, T)                                                               \
    static int select_##bytes(void *context, char *const *data, const intptr_t *n,     \
                              const intptr_t *strides, void *auxdata)                  \
    {                                                                                  \
        const char *c = data[0], *x = data[1], *y = data[2];                           \
        char *out = data[3];                                                           \
        intptr_t count = *n, cs = strides[0], xs = strides[1], ys = strides[2],        \
                 os = strides[3];                                                      \
        (void)context;                                                                 \
        (void)auxdata;                                                                 \
        for (intptr_t i = 0; i < count; i++) {                                         \
            T a, b, r;                                                                 \
            memcpy(&a, x, sizeof a);                                                   \
            memcpy(&b, y, sizeof b);                                                   \
            r = *c ? a : b;                                                            \
            memcpy(out, &r, sizeof r);                                                 \
            c += cs;                                                                   \
            x += xs;                                                                   \
            y += ys;                                                                   \
            out += os;                                                                 \
        }                                                                              \
        return 0;                                                                      \
    }

/* The processor's own copying of long strings waits for each store where the target is a little ahead of
** the source in their pages: ten times as long. Short ones are copied otherwise. */
static void
copy_bytes(char *to, const char *from, size_t n)
{
    enum { PAGE = 4096, AHEAD = 256, PIECE = 1024, LONG = 1 << 21 };
    size_t ahead = (uintptr_t)to - (uintptr_t)from;
    bool apart = ahead >= n && 0 - ahead >= n;
    if (n < 2 * PIECE || n >= LONG || !apart || !(ahead % PAGE) ||
        ahead % PAGE >= AHEAD) {
        memmove(to, from, n);
        return;
    }
    for (; n > PIECE; n -= PIECE, to += PIECE, from += PIECE)
        memcpy(to, from, PIECE);
    memcpy(to, from, n);
}

#define COPY(bytes, T)                                                                 \
    static int copy_##bytes(void *context, char *const *data, const intptr_t *n,       \
                            const intptr_t *strides, void *auxdata)                    \
    {                                                                                  \
        const char *x = data[0];                                                       \
        char *out = data[1];                                                           \
        intptr_t count = *n, xs = strides[0], os = strides[1];                         \
        T a;                                                                           \
        (void)context;                                                                 \
        (void)auxdata;                                                                 \
        if (xs == (bytes) && os == (bytes)) {                                          \
            copy_bytes(out, x, (size_t)count *(bytes));                                \
            return 0;                                                                  \
        }                                                                              \
        if (xs == 0 && count > 0) {                                                    \
            memcpy(&a, x, sizeof a);                                                   \
            for (intptr_t i = 0; os == (bytes) && i < count; i++)                      \
                memcpy(out + i * (bytes), &a, sizeof a);                               \
            for (intptr_t i = os == (bytes) ? count : 0; i < count; i++, out += os)    \
                memcpy(out, &a, sizeof a);                                             \
            return 0;                                                                  \
        }                                                                              \
        for (intptr_t i = 0; i < count; i++, x += xs, out += os) {                     \
            memcpy(&a, x, sizeof a);                                                   \
            memcpy(out, &a, sizeof a);                                                 \
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
