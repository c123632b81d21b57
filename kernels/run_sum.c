/* run_sum.c - NumPy's pairwise sum of one run of floats (numpy/_core/src/umath/loops_utils.h): eight
** accumulators up to 128 elements, beyond that the sums of two halves. And the same where longer runs
** that are contiguous have the wide tree of sum.c. */
#include <string.h>

#include "kernels/kernels.h"

enum { LEAF = 128, ACCUMULATORS = 8 };

#define SUM(type, name)                                                                \
    static type name##_at(const char *x, intptr_t step, intptr_t i)                    \
    {                                                                                  \
        type value;                                                                    \
        memcpy(&value, x + i * step, sizeof value);                                    \
        return value;                                                                  \
    }                                                                                  \
                                                                                       \
    type kernel_sum_##name(const char *x, intptr_t step, intptr_t n)                   \
    {                                                                                  \
        type r[ACCUMULATORS], sum = (type) - 0.0;                                      \
        if (n > LEAF) {                                                                \
            intptr_t half = n / 2;                                                     \
            half -= half % ACCUMULATORS;                                               \
            sum = kernel_sum_##name(x, step, half);                                    \
            return sum + kernel_sum_##name(x + half * step, step, n - half);           \
        }                                                                              \
        intptr_t i = 0;                                                                \
        if (n >= ACCUMULATORS) {                                                       \
            for (int k = 0; k < ACCUMULATORS; k++)                                     \
                r[k] = name##_at(x, step, k);                                          \
            for (i = ACCUMULATORS; i < n - n % ACCUMULATORS; i += ACCUMULATORS) {      \
                for (int k = 0; k < ACCUMULATORS; k++)                                 \
                    r[k] += name##_at(x, step, i + k);                                 \
            }                                                                          \
            sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));   \
        }                                                                              \
        for (; i < n; i++)                                                             \
            sum += name##_at(x, step, i);                                              \
        return sum;                                                                    \
    }

SUM(double, f64)
SUM(float, f32)
#undef SUM

#define WIDE(type, name)                                                               \
    type kernel_wide_sum_##name(const char *x, intptr_t step, intptr_t n)              \
    {                                                                                  \
        type zero = (type) - 0.0, sum;                                                 \
        char *data[3] = {(char *)&zero, (char *)(uintptr_t)x, (char *)&sum};           \
        const intptr_t strides[3] = {0, step, 0};                                      \
        if (n <= LEAF || step != (intptr_t)sizeof(type))                               \
            return kernel_sum_##name(x, step, n);                                      \
        kernel_sum(KERNEL_##name)(NULL, data, &n, strides, NULL);                      \
        return sum;                                                                    \
    }

WIDE(double, f64)
WIDE(float, f32)
#undef WIDE
