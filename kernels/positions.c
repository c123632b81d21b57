/* positions.c - where a mask is true; and elements put there, one after the other.
**
** Eight bytes of a mask are seen at once, as in pack.c: where nothing is true nothing is done.
*/
#include <string.h>

#include "kernels/kernels.h"

#if defined __x86_64__
#include <immintrin.h>
#define WIDE __attribute__((target("avx512f,avx512vl,avx512bw")))
#endif

/* The highest bit of each byte of eight bytes that are not 0, the first byte's the lowest. */
static uint64_t
truth_of(const char *mask)
{
    uint64_t eight, low = 0x7f7f7f7f7f7f7f7fu;
    memcpy(&eight, mask, sizeof eight);
    return (((eight & low) + low) | eight) & ~low;
}

/* -- Positions --------------------------------------------------------------------- */

static intptr_t
positions_from(int64_t *to, intptr_t step, const char *mask, intptr_t first, intptr_t n)
{
    intptr_t k = 0, i = first;
    for (; i + 8 <= n; i += 8) {
        for (uint64_t eight = truth_of(mask + i); eight; eight &= eight - 1)
            to[k++ * step] = i + (__builtin_ctzll(eight) >> 3);
    }
    for (; i < n; i++) {
        if (mask[i])
            to[k++ * step] = i;
    }
    return k;
}

#ifdef WIDE
WIDE static intptr_t
wide_positions(int64_t *to, const char *mask, intptr_t n, intptr_t room)
{
    __m512i at = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7),
            eight = _mm512_set1_epi64(8);
    intptr_t k = 0, i = 0;
    for (; i + 8 <= n && room - k >= 8; i += 8, at = _mm512_add_epi64(at, eight)) {
        __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)(mask + i));
        __mmask8 m = (__mmask8)_mm_test_epi8_mask(bytes, bytes);
        if (!m)
            continue;
        _mm512_storeu_si512(to + k, _mm512_maskz_compress_epi64(m, at));
        k += __builtin_popcount(m);
    }
    return k + positions_from(to + k, 1, mask, i, n);
}

static bool
is_wide(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw");
}
#endif

intptr_t
kernel_positions(int64_t *to, intptr_t step, const char *mask, intptr_t n,
                 intptr_t room)
{
#ifdef WIDE
    if (step == 1 && n >= 16 && is_wide())
        return wide_positions(to, mask, n, room);
#endif
    (void)room;
    return positions_from(to, step, mask, 0, n);
}

/* -- Putting ----------------------------------------------------------------------- */

#define UNPACK(bytes, T)                                                               \
    static void unpack_##bytes(char *to, const char *from, const char *mask,           \
                               intptr_t n)                                             \
    {                                                                                  \
        intptr_t i = 0;                                                                \
        for (; i + 8 <= n; i += 8) {                                                   \
            uint64_t eight = truth_of(mask + i);                                       \
            if (eight == 0x8080808080808080u) {                                        \
                memcpy(to + i * (bytes), from, 8 * (bytes));                           \
                from += 8 * (bytes);                                                   \
                continue;                                                              \
            }                                                                          \
            for (; eight; eight &= eight - 1, from += (bytes))                         \
                memcpy(to + (i + (__builtin_ctzll(eight) >> 3)) * (bytes), from,       \
                       sizeof(T));                                                     \
        }                                                                              \
        for (; i < n; i++) {                                                           \
            if (mask[i]) {                                                             \
                memcpy(to + i * (bytes), from, sizeof(T));                             \
                from += (bytes);                                                       \
            }                                                                          \
        }                                                                              \
    }

typedef struct Item16 {
    uint64_t part[2];
} Item16;

UNPACK(1, uint8_t)
UNPACK(2, uint16_t)
UNPACK(4, uint32_t)
UNPACK(8, uint64_t)
UNPACK(16, Item16)

bool
kernel_unpack(char *to, const char *from, const char *mask, intptr_t n,
              intptr_t itemsize)
{
    switch (itemsize) {
    case 1:
        unpack_1(to, from, mask, n);
        return true;
    case 2:
        unpack_2(to, from, mask, n);
        return true;
    case 4:
        unpack_4(to, from, mask, n);
        return true;
    case 8:
        unpack_8(to, from, mask, n);
        return true;
    case 16:
        unpack_16(to, from, mask, n);
        return true;
    default:
        return false;
    }
}
