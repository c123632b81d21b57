/* negative.c - x -> -x. NumPy's loop (2.4) reads wrong places where 4 or 8 elements lie between those of x, and the
** results are not contiguous either.
*/
#include <string.h>

#include "kernels/kernels.h"

#define LOOP(name, T)                                                                  \
    static void name##_packed(const T *x, T *out, intptr_t n)                          \
    {                                                                                  \
        for (intptr_t i = 0; i < n; i++)                                               \
            out[i] = (T)(NEGATIVE(T, x[i]));                                           \
    }                                                                                  \
                                                                                       \
    static int name(void *context, char *const *data, const intptr_t *n,               \
                    const intptr_t *strides, void *auxdata)                            \
    {                                                                                  \
        const char *x = data[0];                                                       \
        char *out = data[1];                                                           \
        (void)context;                                                                 \
        (void)auxdata;                                                                 \
        if (strides[0] == (intptr_t)sizeof(T) && strides[1] == (intptr_t)sizeof(T)) {  \
            name##_packed((const T *)(const void *)x, (T *)(void *)out, *n);           \
            return 0;                                                                  \
        }                                                                              \
        for (intptr_t i = 0; i < *n; i++, x += strides[0], out += strides[1]) {        \
            T a;                                                                       \
            memcpy(&a, x, sizeof a);                                                   \
            a = (T)(NEGATIVE(T, a));                                                   \
            memcpy(out, &a, sizeof a);                                                 \
        }                                                                              \
        return 0;                                                                      \
    }

/* Integers wrap: they are taken as unsigned. */
#define NEGATIVE(T, x) (0u - (x))
LOOP(negative_i8, uint8_t)
LOOP(negative_i16, uint16_t)
LOOP(negative_i32, uint32_t)
LOOP(negative_i64, uint64_t)
#undef NEGATIVE
#define NEGATIVE(T, x) (-(x))
LOOP(negative_f32, float)
LOOP(negative_f64, double)

KernelLoopFn
kernel_negative(KernelType type)
{
    switch (type) {
    case KERNEL_i8:
    case KERNEL_u8: return negative_i8;
    case KERNEL_i16:
    case KERNEL_u16: return negative_i16;
    case KERNEL_i32:
    case KERNEL_u32: return negative_i32;
    case KERNEL_i64:
    case KERNEL_u64: return negative_i64;
    case KERNEL_f32: return negative_f32;
    case KERNEL_f64: return negative_f64;
    default: return NULL;
    }
}
