/* pack.c - elements where a mask is true, one behind the other: contiguous ones, into just enough room.
**
** Masks of all kinds are met: eight or sixteen elements that are all out, or all in, are seen at once, and
** where they are mixed nothing depends on which.
*/
#include <string.h>

#include "kernels/kernels.h"

#if defined __x86_64__
#include <immintrin.h>
#define WIDE __attribute__((target("avx512f,avx512vl,avx512bw")))
#endif

#define PACK(bytes, T)                                                                 \
    static void pack_##bytes(char *to, const char *from, const char *mask,             \
                             intptr_t count)                                           \
    {                                                                                  \
        T value[8];                                                                    \
        intptr_t k = 0, i = 0;                                                         \
        while (count - k >= 8) {                                                       \
            uint64_t eight;                                                            \
            memcpy(&eight, mask + i, sizeof eight);                                    \
            if (eight == 0x0101010101010101u)                                          \
                memcpy(to + k * (bytes), from + i * (bytes), sizeof value), k += 8;    \
            else if (eight) {                                                          \
                memcpy(value, from + i * (bytes), sizeof value);                       \
                for (int j = 0; j < 8; j++) {                                          \
                    memcpy(to + k * (bytes), &value[j], sizeof *value);                \
                    k += mask[i + j] != 0;                                             \
                }                                                                      \
            }                                                                          \
            i += 8;                                                                    \
        }                                                                              \
        for (; k < count; i++) {                                                       \
            memcpy(to + k * (bytes), from + i * (bytes), bytes);                       \
            k += mask[i] != 0;                                                         \
        }                                                                              \
    }

typedef struct Item16 {
    uint64_t part[2];
} Item16;

PACK(1, uint8_t)
PACK(2, uint16_t)
PACK(4, uint32_t)
PACK(8, uint64_t)
PACK(16, Item16)

#ifdef WIDE
WIDE static void
wide_8(char *to, const char *from, const char *mask, intptr_t count)
{
    intptr_t k = 0, i = 0;
    for (; count - k >= 8; i += 8) {
        __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)(mask + i));
        __mmask8 m = (__mmask8)_mm_test_epi8_mask(bytes, bytes);
        if (!m)
            continue;
        __m512i x = _mm512_loadu_si512(from + i * 8);
        _mm512_storeu_si512(to + k * 8, _mm512_maskz_compress_epi64(m, x));
        k += __builtin_popcount(m);
    }
    pack_8(to + k * 8, from + i * 8, mask + i, count - k);
}

WIDE static void
wide_4(char *to, const char *from, const char *mask, intptr_t count)
{
    intptr_t k = 0, i = 0;
    for (; count - k >= 16; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(mask + i));
        __mmask16 m = _mm_test_epi8_mask(bytes, bytes);
        if (!m)
            continue;
        __m512i x = _mm512_loadu_si512(from + i * 4);
        _mm512_storeu_si512(to + k * 4, _mm512_maskz_compress_epi32(m, x));
        k += __builtin_popcount(m);
    }
    pack_4(to + k * 4, from + i * 4, mask + i, count - k);
}

/* Each bit of four twice. */
static __mmask8
both_halves(unsigned four)
{
    unsigned apart = (four | four << 2) & 0x33;

    apart = (apart | apart << 1) & 0x55;
    return (__mmask8)(apart | apart << 1);
}

WIDE static void
wide_16(char *to, const char *from, const char *mask, intptr_t count)
{
    intptr_t k = 0, i = 0;
    for (; count - k >= 8; i += 8) {
        __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)(mask + i));
        unsigned m = _mm_test_epi8_mask(bytes, bytes) & 0xff;
        if (!m)
            continue;
        __m512i x = _mm512_loadu_si512(from + i * 16),
                y = _mm512_loadu_si512(from + i * 16 + 64);
        _mm512_storeu_si512(to + k * 16,
                            _mm512_maskz_compress_epi64(both_halves(m & 15), x));
        k += __builtin_popcount(m & 15);
        _mm512_storeu_si512(to + k * 16,
                            _mm512_maskz_compress_epi64(both_halves(m >> 4), y));
        k += __builtin_popcount(m >> 4);
    }
    pack_16(to + k * 16, from + i * 16, mask + i, count - k);
}

static bool
is_wide(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw");
}
#endif

bool
kernel_pack(char *to, const char *from, const char *mask, intptr_t count,
            intptr_t itemsize)
{
#ifdef WIDE
    if ((itemsize == 16 || itemsize == 8 || itemsize == 4) && is_wide()) {
        (itemsize == 16  ? wide_16
         : itemsize == 8 ? wide_8
                         : wide_4)(to, from, mask, count);
        return true;
    }
#endif
    switch (itemsize) {
    case 1:
        pack_1(to, from, mask, count);
        return true;
    case 2:
        pack_2(to, from, mask, count);
        return true;
    case 4:
        pack_4(to, from, mask, count);
        return true;
    case 8:
        pack_8(to, from, mask, count);
        return true;
    case 16:
        pack_16(to, from, mask, count);
        return true;
    default:
        return false;
    }
}
