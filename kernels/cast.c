/* cast.c - NumPy's casts between numeric types, a loop per pair.
**
** Floating point to integer is what NumPy gets from the hardware: x86 truncates and
** gives
** 0x80…0 for NaN and what does not fit; 8 and 16 bit integers are the low bits of the
** 32-bit
** conversion, unsigned 64 bit has a formula of its own. Half precision is converted
** through
** float, except to and from double.
*/
#include <stddef.h>

#include "kernels/kernels.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

typedef struct Complex64 {
    float re, im;
} Complex64;
typedef struct Complex128 {
    double re, im;
} Complex128;

/* -- One value --------------------------------------------------------------------- */

static inline int64_t
truncate64(double x)
{
#if defined(__x86_64__)
    return _mm_cvttsd_si64(_mm_set_sd(x));
#else
    return x != x ? 0 : x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
#endif
}

static inline int32_t
truncate32(double x)
{
#if defined(__x86_64__)
    return _mm_cvttsd_si32(_mm_set_sd(x));
#else
    return x != x ? 0 : x >= 0x1p31 ? INT32_MAX : x < -0x1p31 ? INT32_MIN : (int32_t)x;
#endif
}

static inline uint64_t
truncate_u64(double x)
{
#if defined(__x86_64__)
    if (x >= 0x1p63)
        return (uint64_t)truncate64(x - 0x1p63) ^ UINT64_C(1) << 63;
    return (uint64_t)truncate64(x);
#else
    return x != x || x <= 0 ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
#endif
}

/* A double (exact for half and float) to each integer type. */
#define real_to_i8(x)  ((int8_t)truncate32(x))
#define real_to_i16(x) ((int16_t)truncate32(x))
#define real_to_i32(x) (truncate32(x))
#define real_to_i64(x) (truncate64(x))
#define real_to_u8(x)  ((uint8_t)truncate32(x))
#define real_to_u16(x) ((uint16_t)truncate32(x))
#define real_to_u32(x) ((uint32_t)truncate64(x))
#define real_to_u64(x) (truncate_u64(x))

/* TO_<kind>_<kind>(x, to, T): x of the first kind as a T, which is of the second kind.
 */
#define TO_bit_bit(x, to, T)   ((T)((x) != 0))
#define TO_bit_int(x, to, T)   ((T)((x) != 0))
#define TO_bit_half(x, to, T)  ((T)(float)((x) != 0))
#define TO_bit_real(x, to, T)  ((T)((x) != 0))
#define TO_bit_cplx(x, to, T)  ((T){(x) != 0, 0})
#define TO_int_bit(x, to, T)   ((T)((x) != 0))
#define TO_int_int(x, to, T)   ((T)(x))
#define TO_int_half(x, to, T)  ((T)(float)(x))
#define TO_int_real(x, to, T)  ((T)(x))
#define TO_half_bit(x, to, T)  ((T)((float)(x) != 0))
#define TO_half_int(x, to, T)  (real_to_##to((double)(float)(x)))
#define TO_half_half(x, to, T) (x)
#define TO_half_real(x, to, T) ((T)(float)(x))
#define TO_real_bit(x, to, T)  ((T)((x) != 0))
#define TO_real_int(x, to, T)  (real_to_##to((double)(x)))
#define TO_real_half(x, to, T) ((T)(x))
#define TO_real_real(x, to, T) ((T)(x))
#define TO_cplx_bit(x, to, T)  ((T)((x).re != 0 || (x).im != 0))
#define TO_cplx_int(x, to, T)  (real_to_##to((double)(x).re))
#define TO_cplx_half(x, to, T) ((T)(x).re)
#define TO_cplx_real(x, to, T) ((T)(x).re)

/* Complex results have parts of one type: PART_<to>. */
#define PART_c64               float
#define PART_c128              double
#define TO_int_cplx(x, to, T)  ((T){(PART_##to)(x), 0})
#define TO_half_cplx(x, to, T) ((T){(PART_##to)(float)(x), 0})
#define TO_real_cplx(x, to, T) ((T){(PART_##to)(x), 0})
#define TO_cplx_cplx(x, to, T) ((T){(PART_##to)(x).re, (PART_##to)(x).im})

/* -- Loops ------------------------------------------------------------------------- */

/* Contiguous runs are a loop of their own, so that the compiler vectorises them. */
#define CAST(from, F, fkind, to, T, tkind)                                             \
    static int cast_##from##_##to(void *context, char *const *data, const intptr_t *n, \
                                  const intptr_t *strides, void *auxdata)              \
    {                                                                                  \
        const char *in = data[0];                                                      \
        char *out = data[1];                                                           \
        intptr_t count = *n, is = strides[0], os = strides[1];                         \
        (void)context;                                                                 \
        (void)auxdata;                                                                 \
        if (is == (intptr_t)sizeof(F) && os == (intptr_t)sizeof(T)) {                  \
            const F *x = (const F *)(const void *)in;                                  \
            T *y = (T *)(void *)out;                                                   \
            for (intptr_t i = 0; i < count; i++)                                       \
                y[i] = TO_##fkind##_##tkind(x[i], to, T);                              \
            return 0;                                                                  \
        }                                                                              \
        for (intptr_t i = 0; i < count; i++, in += is, out += os) {                    \
            F x = *(const F *)(const void *)in;                                        \
            *(T *)(void *)out = TO_##fkind##_##tkind(x, to, T);                        \
        }                                                                              \
        return 0;                                                                      \
    }

#define CASTS_FROM(from, F, fkind)                                                     \
    CAST(from, F, fkind, b1, uint8_t, bit)                                             \
    CAST(from, F, fkind, i8, int8_t, int)                                              \
    CAST(from, F, fkind, i16, int16_t, int)                                            \
    CAST(from, F, fkind, i32, int32_t, int)                                            \
    CAST(from, F, fkind, i64, int64_t, int)                                            \
    CAST(from, F, fkind, u8, uint8_t, int)                                             \
    CAST(from, F, fkind, u16, uint16_t, int)                                           \
    CAST(from, F, fkind, u32, uint32_t, int)                                           \
    CAST(from, F, fkind, u64, uint64_t, int)                                           \
    CAST(from, F, fkind, f16, _Float16, half)                                          \
    CAST(from, F, fkind, f32, float, real)                                             \
    CAST(from, F, fkind, f64, double, real)                                            \
    CAST(from, F, fkind, c64, Complex64, cplx)                                         \
    CAST(from, F, fkind, c128, Complex128, cplx)

#define KERNEL_TYPE(name, numpy_char, type, kind) CASTS_FROM(name, type, kind)
#include "kernels/kernels.def"
#undef KERNEL_TYPE

#define ROW(from)                                                                      \
    {cast_##from##_b1,  cast_##from##_i8,  cast_##from##_i16, cast_##from##_i32,       \
     cast_##from##_i64, cast_##from##_u8,  cast_##from##_u16, cast_##from##_u32,       \
     cast_##from##_u64, cast_##from##_f16, cast_##from##_f32, cast_##from##_f64,       \
     cast_##from##_c64, cast_##from##_c128}

static const KernelLoopFn casts[KERNEL_TYPE_COUNT][KERNEL_TYPE_COUNT] = {
#define KERNEL_TYPE(name, numpy_char, type, kind) ROW(name),
#include "kernels/kernels.def"
#undef KERNEL_TYPE
};

KernelLoopFn
kernel_cast(KernelType from, KernelType to)
{
    return casts[from][to];
}

bool
kernel_type_find(char numpy_char, KernelType *type)
{
    static const char chars[] = {
#define KERNEL_TYPE(name, numpy_char, type, kind) numpy_char,
#include "kernels/kernels.def"
#undef KERNEL_TYPE
    };
    for (int i = 0; i < KERNEL_TYPE_COUNT; i++) {
        if (chars[i] == numpy_char) {
            *type = (KernelType)i;
            return true;
        }
    }
    return false;
}
