/* compress.c - the elements of a row where a mask is true, one behind the other. */
#include <string.h>

#include "kernels/kernels.h"

/* Masks are mostly false, or mostly true: eight bytes are looked at before each of them is. */
#define COMPRESS(type, bytes)                                                          \
    intptr_t kernel_compress_##bytes(char *to, const char *from, intptr_t from_step,   \
                                     const char *mask, intptr_t mask_step, intptr_t n) \
    {                                                                                  \
        type value;                                                                    \
        char *const start = to;                                                        \
        intptr_t i = 0;                                                                \
        for (uint64_t eight; mask_step == 1 && i + 8 <= n; i += 8) {                   \
            memcpy(&eight, mask + i, sizeof eight);                                    \
            for (int k = 0; eight && k < 8; k++) {                                     \
                if (!mask[i + k])                                                      \
                    continue;                                                          \
                memcpy(&value, from + (i + k) * from_step, sizeof value);              \
                memcpy(to, &value, sizeof value);                                      \
                to += sizeof value;                                                    \
            }                                                                          \
        }                                                                              \
        for (; i < n; i++) {                                                           \
            if (!mask[i * mask_step])                                                  \
                continue;                                                              \
            memcpy(&value, from + i * from_step, sizeof value);                        \
            memcpy(to, &value, sizeof value);                                          \
            to += sizeof value;                                                        \
        }                                                                              \
        return (to - start) / (intptr_t)sizeof value;                                  \
    }

COMPRESS(uint8_t, 1)
COMPRESS(uint16_t, 2)
COMPRESS(uint32_t, 4)
COMPRESS(uint64_t, 8)
