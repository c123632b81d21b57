/* fma.c - products and sums rounded once, for numerics that may contract. */
#include <math.h>
#include <string.h>

#include "kernels/kernels.h"

#if defined(__clang__) && defined(__x86_64__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#endif

/* Where all operands are contiguous, or the same in all places, the compiler makes vectors of it. */
#define LOOP(name, T, result)                                                          \
    static void name##_packed(const T *x, const T *y, const T *z, T *out, intptr_t n)  \
    {                                                                                  \
        for (intptr_t i = 0; i < n; i++) {                                             \
            T a = x[i], b = y[i], c = z[i];                                            \
            out[i] = (result);                                                         \
        }                                                                              \
    }                                                                                  \
                                                                                       \
    static int name(void *context, char *const *data, const intptr_t *n,               \
                    const intptr_t *strides, void *auxdata)                            \
    {                                                                                  \
        const char *x = data[0], *y = data[1], *z = data[2];                           \
        char *out = data[3];                                                           \
        intptr_t count = *n, xs = strides[0], ys = strides[1], zs = strides[2],        \
                 os = strides[3], size = sizeof(T);                                    \
        (void)context;                                                                 \
        (void)auxdata;                                                                 \
        if (xs == size && ys == size && zs == size && os == size) {                    \
            name##_packed((const T *)(const void *)x, (const T *)(const void *)y,      \
                          (const T *)(const void *)z, (T *)(void *)out, count);        \
            return 0;                                                                  \
        }                                                                              \
        for (intptr_t i = 0; i < count; i++) {                                         \
            T a, b, c, r;                                                              \
            memcpy(&a, x, sizeof a);                                                   \
            memcpy(&b, y, sizeof b);                                                   \
            memcpy(&c, z, sizeof c);                                                   \
            r = (result);                                                              \
            memcpy(out, &r, sizeof r);                                                 \
            x += xs;                                                                   \
            y += ys;                                                                   \
            z += zs;                                                                   \
            out += os;                                                                 \
        }                                                                              \
        return 0;                                                                      \
    }

LOOP(add_f32, float, fmaf(a, b, c))
LOOP(add_f64, double, fma(a, b, c))
LOOP(subtract_f32, float, fmaf(a, b, -c))
LOOP(subtract_f64, double, fma(a, b, -c))
LOOP(from_f32, float, fmaf(-a, b, c))
LOOP(from_f64, double, fma(-a, b, c))

#if defined(__clang__) && defined(__x86_64__)
#pragma clang attribute pop
#endif

KernelLoopFn
kernel_fma(KernelFma form, KernelType type)
{
    static const KernelLoopFn loops[3][2] = {
        {add_f32, add_f64}, {subtract_f32, subtract_f64}, {from_f32, from_f64}};

    if (!kernel_recipe_form() || (type != KERNEL_f32 && type != KERNEL_f64))
        return NULL;
    return loops[form][type == KERNEL_f64];
}
