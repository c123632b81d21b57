/* move.c - elements from one place to another, at any steps.
**
** What kernels cannot take as it lies in memory is packed for them. Measured on one core (ns an
** element of (x + y) * 2, x every second or third of 1e4 float64): x contiguous 0.21, packed 0.41,
** gathered in the kernel 0.41, element by element into lanes 0.27 to 0.34; of 1e6: 0.58, 1.0 to
** 1.3, 2.1 to 2.7, 0.84 to 1.1. So packing costs no more than gathers do, for all element sizes
** and targets, and the kernel of contiguous operands serves strided ones, too.
*/
#include "runtime/move.h"

#include <stdint.h>
#include <string.h>

enum { SHORT = 8 }; /* elements */

/* -- Runs ---------------------------------------------------------------------------- */

#if defined(__clang__) && defined(__x86_64__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)

/* Elements that lie every second, or backwards, by vectors. What is read besides what is asked for
** lies between elements that are. Returns how many are done. */
#define WIDE_RUN(name, T, lanes, even, back)                                           \
    typedef T name##Lanes __attribute__((vector_size(sizeof(T) * lanes), aligned(1))); \
                                                                                       \
    static intptr_t name##_even(char *to, const char *from, intptr_t n)                \
    {                                                                                  \
        intptr_t i = 0;                                                                \
        for (; i + lanes < n; i += lanes) {                                            \
            name##Lanes a, b, r;                                                       \
            memcpy(&a, from + 2 * i * (intptr_t)sizeof(T), sizeof a);                  \
            memcpy(&b, from + (2 * i + lanes) * (intptr_t)sizeof(T), sizeof b);        \
            r = __builtin_shufflevector(a, b, even);                                   \
            memcpy(to + i * (intptr_t)sizeof(T), &r, sizeof r);                        \
        }                                                                              \
        return i;                                                                      \
    }                                                                                  \
                                                                                       \
    static intptr_t name##_back(char *to, const char *from, intptr_t n)                \
    {                                                                                  \
        intptr_t i = 0;                                                                \
        for (; i + lanes <= n; i += lanes) {                                           \
            name##Lanes a, r;                                                          \
            memcpy(&a, from - (i + lanes - 1) * (intptr_t)sizeof(T), sizeof a);        \
            r = __builtin_shufflevector(a, a, back);                                   \
            memcpy(to + i * (intptr_t)sizeof(T), &r, sizeof r);                        \
        }                                                                              \
        return i;                                                                      \
    }
#define UP(...) __VA_ARGS__
WIDE_RUN(wide_4, uint32_t, 8, UP(0, 2, 4, 6, 8, 10, 12, 14), UP(7, 6, 5, 4, 3, 2, 1, 0))
WIDE_RUN(wide_8, uint64_t, 4, UP(0, 2, 4, 6), UP(3, 2, 1, 0))
#undef UP
#undef WIDE_RUN
#pragma clang attribute pop

/* The first elements of a packed run of `size` bytes each; how many. */
static intptr_t
move_wide(char *to, const char *from, intptr_t step, intptr_t size, intptr_t n)
{
    if (!__builtin_cpu_supports("avx2"))
        return 0;
    if (size == 8)
        return step == 16   ? wide_8_even(to, from, n)
               : step == -8 ? wide_8_back(to, from, n)
                            : 0;
    return step == 8    ? wide_4_even(to, from, n)
           : step == -4 ? wide_4_back(to, from, n)
                        : 0;
}
#else
static intptr_t
move_wide(char *to, const char *from, intptr_t step, intptr_t size, intptr_t n)
{
    (void)to;
    (void)from;
    (void)step;
    (void)size;
    (void)n;
    return 0;
}
#endif

/* Rows of one element size, which the compiler knows. */
#define MOVE(name, bytes)                                                              \
    static void name(RtGrid to, RtGrid from, intptr_t n, intptr_t rows)                \
    {                                                                                  \
        for (intptr_t r = 0; r < rows; r++) {                                          \
            char *t = to.first + r * to.row_step;                                      \
            const char *f = from.first + r * from.row_step;                            \
            intptr_t i = 0, ts = to.step, fs = from.step;                              \
            if (ts == bytes && (bytes == 4 || bytes == 8)) {                           \
                i = move_wide(t, f, fs, bytes, n);                                     \
                t += i * ts;                                                           \
                f += i * fs;                                                           \
            }                                                                          \
            for (; i + 4 <= n; i += 4, t += 4 * ts, f += 4 * fs) {                     \
                char four[4][bytes];                                                   \
                memcpy(four[0], f, bytes);                                             \
                memcpy(four[1], f + fs, bytes);                                        \
                memcpy(four[2], f + 2 * fs, bytes);                                    \
                memcpy(four[3], f + 3 * fs, bytes);                                    \
                memcpy(t, four[0], bytes);                                             \
                memcpy(t + ts, four[1], bytes);                                        \
                memcpy(t + 2 * ts, four[2], bytes);                                    \
                memcpy(t + 3 * ts, four[3], bytes);                                    \
            }                                                                          \
            for (; i < n; i++, t += ts, f += fs)                                       \
                memcpy(t, f, bytes);                                                   \
        }                                                                              \
    }
MOVE(move_1, 1)
MOVE(move_2, 2)
MOVE(move_4, 4)
MOVE(move_8, 8)
MOVE(move_16, 16)
#undef MOVE

static intptr_t
distance(intptr_t step)
{
    return step < 0 ? -step : step;
}

/* True if the rows are the better inner loop: they are very short, or lie closer on the side that is
** spread out. */
static bool
is_crosswise(RtGrid to, RtGrid from, size_t size, intptr_t n, intptr_t rows)
{
    if (n < SHORT && rows > n)
        return true;
    RtGrid spread = distance(to.step) > (intptr_t)size ? to : from;

    return rows > 1 && spread.row_step &&
           distance(spread.row_step) < distance(spread.step);
}

void
rt_move(RtGrid to, RtGrid from, size_t size, intptr_t n, intptr_t rows)
{
    if (is_crosswise(to, from, size, n, rows)) {
        intptr_t t = n;
        n = rows;
        rows = t;
        to = (RtGrid){to.first, to.row_step, to.step};
        from = (RtGrid){from.first, from.row_step, from.step};
    }
    switch (size) {
    case 1:
        move_1(to, from, n, rows);
        break;
    case 2:
        move_2(to, from, n, rows);
        break;
    case 4:
        move_4(to, from, n, rows);
        break;
    case 8:
        move_8(to, from, n, rows);
        break;
    case 16:
        move_16(to, from, n, rows);
        break;
    default:
        for (intptr_t r = 0; r < rows; r++)
            for (intptr_t i = 0; i < n; i++)
                memcpy(to.first + r * to.row_step + i * to.step,
                       from.first + r * from.row_step + i * from.step, size);
    }
}
