/* sum.c - sums by the wide tree, whose law is in runtime/reduce.c.
**
** The accumulators are one vector for the compiler, which cuts it as this CPU has it: bits do not
** depend on that.
*/
#include <string.h>

#include "kernels/kernels.h"

#define SUM(T, name)                                                                   \
    typedef T name##_lanes __attribute__((vector_size(KERNEL_SUM_BYTES)));             \
    enum { name##_A = KERNEL_SUM_BYTES / sizeof(T) };                                  \
                                                                                       \
    static T name##_leaf(const T *x, intptr_t n)                                       \
    {                                                                                  \
        name##_lanes sums = -(name##_lanes){0}, part = sums;                           \
        T lane[name##_A];                                                              \
        intptr_t i = 0;                                                                \
        for (; i + name##_A <= n; i += name##_A) {                                     \
            name##_lanes whole;                                                        \
            memcpy(&whole, x + i, sizeof whole);                                       \
            sums += whole;                                                             \
        }                                                                              \
        memcpy(&part, x + i, (size_t)(n - i) * sizeof(T)); /* -0.0 in the others */    \
        sums += part;                                                                  \
        memcpy(lane, &sums, sizeof lane);                                              \
        for (int half = name##_A / 2; half; half /= 2)                                 \
            for (int j = 0; j < half; j++)                                             \
                lane[j] += lane[j + half];                                             \
        return lane[0];                                                                \
    }                                                                                  \
                                                                                       \
    static T name##_sum(const T *x, intptr_t n)                                        \
    {                                                                                  \
        intptr_t half = n / 2;                                                         \
        if (n <= KERNEL_SUM_TURNS * name##_A)                                          \
            return name##_leaf(x, n);                                                  \
        half -= half % name##_A;                                                       \
        return name##_sum(x, half) + name##_sum(x + half, n - half);                   \
    }                                                                                  \
                                                                                       \
    static int name##_loop(void *context, char *const *data, const intptr_t *n,        \
                           const intptr_t *strides, void *auxdata)                     \
    {                                                                                  \
        T sum;                                                                         \
        (void)context, (void)strides, (void)auxdata;                                   \
        memcpy(&sum, data[0], sizeof sum);                                             \
        sum += name##_sum((const T *)(const void *)data[1], *n);                       \
        memcpy(data[2], &sum, sizeof sum);                                             \
        return 0;                                                                      \
    }

SUM(float, f32)
SUM(double, f64)
#undef SUM

KernelLoopFn
kernel_sum(KernelType type)
{
    return type == KERNEL_f32 ? f32_loop : type == KERNEL_f64 ? f64_loop : NULL;
}
