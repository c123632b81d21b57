/* mended.c - x -> -x and whether x is finite. NumPy's loops (2.4) read wrong places at some steps of x where the results
** are not contiguous either.
*/
#include <string.h>

#include "kernels/kernels.h"

#define LOOP(name, T, R)                                                               \
    static void name##_packed(const T *x, R *out, intptr_t n)                          \
    {                                                                                  \
        for (intptr_t i = 0; i < n; i++)                                               \
            out[i] = (R)(RESULT(x[i]));                                                \
    }                                                                                  \
                                                                                       \
    static int name(void *context, char *const *data, const intptr_t *n,               \
                    const intptr_t *strides, void *auxdata)                            \
    {                                                                                  \
        const char *x = data[0];                                                       \
        char *out = data[1];                                                           \
        (void)context;                                                                 \
        (void)auxdata;                                                                 \
        if (strides[0] == (intptr_t)sizeof(T) && strides[1] == (intptr_t)sizeof(R)) {  \
            name##_packed((const T *)(const void *)x, (R *)(void *)out, *n);           \
            return 0;                                                                  \
        }                                                                              \
        for (intptr_t i = 0; i < *n; i++, x += strides[0], out += strides[1]) {        \
            T a;                                                                       \
            memcpy(&a, x, sizeof a);                                                   \
            R r = (R)(RESULT(a));                                                      \
            memcpy(out, &r, sizeof r);                                                 \
        }                                                                              \
        return 0;                                                                      \
    }

/* Integers wrap: they are taken as unsigned. */
#define RESULT(x) (0u - (x))
LOOP(negative_i8, uint8_t, uint8_t)
LOOP(negative_i16, uint16_t, uint16_t)
LOOP(negative_i32, uint32_t, uint32_t)
LOOP(negative_i64, uint64_t, uint64_t)
#undef RESULT
#define RESULT(x) (-(x))
LOOP(negative_f32, float, float)
LOOP(negative_f64, double, double)
#undef RESULT
#define RESULT(x) ((x) - (x) == 0) /* not of NaN, nor of infinity */
LOOP(finite_f32, float, uint8_t)
LOOP(finite_f64, double, uint8_t)

KernelLoopFn
kernel_negative(KernelType type)
{
    switch (type) {
    case KERNEL_i8:
    case KERNEL_u8:
        return negative_i8;
    case KERNEL_i16:
    case KERNEL_u16:
        return negative_i16;
    case KERNEL_i32:
    case KERNEL_u32:
        return negative_i32;
    case KERNEL_i64:
    case KERNEL_u64:
        return negative_i64;
    case KERNEL_f32:
        return negative_f32;
    case KERNEL_f64:
        return negative_f64;
    default:
        return NULL;
    }
}

KernelLoopFn
kernel_finite(KernelType type)
{
    return type == KERNEL_f32 ? finite_f32 : type == KERNEL_f64 ? finite_f64 : NULL;
}
