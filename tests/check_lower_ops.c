/* check_lower_ops.c - every row of lower_cases.def, compiled and compared with its C.
**
** Expressions are in C's types: small integers are computed as int and cut off. Where C
** leaves a conversion open, the functions below have the formulas that NumPy's have.
*/
#include <complex.h>

#include "tests/lower_kernels.h"
#if defined(__SSE2__)
#include <immintrin.h>
#endif

typedef uint8_t boolean;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef _Float16 f16;
typedef float f32;
typedef double f64;
typedef float _Complex c64;
typedef double _Complex c128;

/* -- Conversions ---------------------------------------------------------- */

#if defined(__SSE2__)
static i64
cvt64(f64 x)
{
    return _mm_cvttsd_si64(_mm_set_sd(x));
}

static i32
cvt32(f64 x)
{
    return _mm_cvttsd_si32(_mm_set_sd(x));
}

static u64
cvt_u64(f64 x)
{
    return x >= 0x1p63 ? (u64)cvt64(x - 0x1p63) ^ (u64)1 << 63 : (u64)cvt64(x);
}

static u32
cvt_u32(f64 x)
{
    return x >= 0x1p31 ? (u32)cvt32(x - 0x1p31) ^ (u32)1 << 31 : (u32)cvt32(x);
}
#else /* ARM saturates, NaN gives 0 */
static i64
cvt64(f64 x)
{
    return isnan(x) ? 0 : x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (i64)x;
}

static i32
cvt32(f64 x)
{
    return isnan(x) ? 0 : x >= 0x1p31 ? INT32_MAX : x <= -0x1p31 ? INT32_MIN : (i32)x;
}

static u64
cvt_u64(f64 x)
{
    return !(x > 0) ? 0 : x >= 0x1p64 ? UINT64_MAX : (u64)x;
}

static u32
cvt_u32(f64 x)
{
    return !(x > 0) ? 0 : x >= 0x1p32 ? UINT32_MAX : (u32)x;
}
#endif

/* Conversions that overflow are undefined in C only for the sanitizer. */
__attribute__((no_sanitize("undefined"))) static f32
narrow(f64 x)
{
    return (f32)x;
}

/* Rounds once: to odd on the way through float32, of which enough bits are left. */
static f16
half(f64 x)
{
    f32 single = narrow(x);
    u32 bits;

    if ((f64)single == x || isnan(x))
        return (f16)single;
    memcpy(&bits, &single, sizeof bits);
    if (fabs((f64)single) > fabs(x))
        bits--;
    bits |= 1;
    memcpy(&single, &bits, sizeof single);
    return (f16)single;
}

static c128
pair(f64 real, f64 imag)
{
    f64 parts[2] = {real, imag};
    c128 both;

    memcpy(&both, parts, sizeof both);
    return both;
}

/* -- Formulas ------------------------------------------------------------- */

static i64
floor_divide(i64 x, i64 y)
{
    if (y == 0)
        return 0;
    if (y == -1)
        return (i64)(0 - (u64)x);
    return x / y - (x % y != 0 && (x % y < 0) != (y < 0));
}

static f64
floor_mod(f64 x, f64 y)
{
    f64 m = fmod(x, y);

    if (y == 0)
        return m;
    if (m == 0)
        return copysign(0, y);
    return (y < 0) != (m < 0) ? m + y : m;
}

static f64
floor_div(f64 x, f64 y)
{
    f64 m = fmod(x, y), d, f;

    if (y == 0)
        return x / y;
    d = (x - m) / y;
    if (m != 0 && (y < 0) != (m < 0))
        d -= 1;
    if (d == 0)
        return copysign(0, x / y);
    f = floor(d);
    return d - f > 0.5 ? f + 1 : f;
}

/* Bounds that are arrays: ties give the bound. */
static f64
clip_bound(f64 x, f64 low, f64 high)
{
    f64 t = x > low || isnan(x) ? x : low;

    return t < high || isnan(t) ? t : high;
}

static i64
int_clip(i64 x, i64 low, i64 high)
{
    i64 t = x > low ? x : low;

    return t < high ? t : high;
}

/* Away from zero, of which NumPy takes the sign to be plus. */
static f32
spacing32(f32 x)
{
    return x == 0 ? nextafterf(0, 1) : nextafterf(x, copysignf(INFINITY, x)) - x;
}

static f64
spacing64(f64 x)
{
    return x == 0 ? nextafter(0, 1) : nextafter(x, copysign(INFINITY, x)) - x;
}

static u64
int_power(u64 x, u64 y)
{
    u64 result = 1;

    for (; y; y >>= 1, x *= x)
        result *= y & 1 ? x : 1;
    return result;
}

static u64
magnitude(i64 x)
{
    return x < 0 ? 0 - (u64)x : (u64)x;
}

static u64
gcd(u64 x, u64 y)
{
    return y ? gcd(y, x % y) : x;
}

static u64
lcm(u64 x, u64 y)
{
    return x || y ? x / gcd(x, y) * y : 0;
}

/* -- Cases ---------------------------------------------------------------- */

/* An operand that the arity leaves out is the last one again. */
#define CASE(op, arity, T, R, expr)                                                    \
    static void ref_##op##_##arity##_##T##_##R(char *const *data, intptr_t i)          \
    {                                                                                  \
        T x = ((const T *)data[0])[i];                                                 \
        T y = ((const T *)data[arity > 1 ? 1 : 0])[i];                                 \
        T z = ((const T *)data[arity - 1])[i];                                         \
        (void)y;                                                                       \
        (void)z;                                                                       \
        ((R *)data[arity])[i] = (R)(expr);                                             \
    }
#include "tests/lower_cases.def"
#undef CASE

static const struct {
    const char *op;
    int arity;
    const char *in, *out;
    ReferenceFn reference;
} cases[] = {
#define CASE(op, arity, T, R, expr)                                                    \
    {#op, arity, #T, #R, ref_##op##_##arity##_##T##_##R},
#include "tests/lower_cases.def"
#undef CASE
};

static const char *
dtype_name(const char *type)
{
    return strcmp(type, "boolean") ? type : "bool";
}

START_TEST(bits_are_right)
{
    const char *in = dtype_name(cases[_i].in), *out = dtype_name(cases[_i].out);
    const char *more[3] = {"", ", %y: ", ", %z: "}, *names[3] = {"%x", ", %y", ", %z"};
    char params[200] = "%x: ", operands[50] = "", text[500];

    for (int k = 0; k < cases[_i].arity; k++) {
        strcat(params, more[k]);
        strcat(params, in);
        strcat(params, "[n]");
        strcat(operands, names[k]);
    }
    snprintf(text, sizeof text,
             "func %%f(%s) -> (%s[n]) {\n  %%0: %s[n] = %s %s\n  ret %%0\n}\n", params,
             out, out, cases[_i].op, operands);
    check_kernel(text, cases[_i].reference);
}
END_TEST

/* -- Cases of their own --------------------------------------------------- */

/* Bounds that are scalars: ties give x, a NaN bound gives NaN. */
static void
ref_clip_scalars(char *const *data, intptr_t i)
{
    f64 x = ((const f64 *)data[0])[i], low = *(const f64 *)data[1];
    f64 high = *(const f64 *)data[2];

    x = x < low ? low : x;
    x = x > high ? high : x;
    ((f64 *)data[3])[i] = isnan(low) ? low : isnan(high) ? high : x;
}

static void
ref_where(char *const *data, intptr_t i)
{
    ((f32 *)data[3])[i] =
        data[0][i] ? ((const f32 *)data[1])[i] : ((const f32 *)data[2])[i];
}

static void
ref_mixed_signs(char *const *data, intptr_t i)
{
    i64 x = ((const i64 *)data[0])[i];
    u64 y = ((const u64 *)data[1])[i];

    data[2][i] = x < 0 || (u64)x < y;
    data[3][i] = x >= 0 && (u64)x > y;
    data[4][i] = x >= 0 && (u64)x == y;
    data[5][i] = x >= 0 && (u64)x >= y; /* y <= x */
    data[6][i] = x < 0 || (u64)x != y;  /* y != x */
}

/* Of one divisor for all: results are x // y, x % y and the greatest common divisor. */
#define DIVIDED(T, quotient, size)                                                     \
    static void ref_divided_##T(char *const *data, intptr_t i)                         \
    {                                                                                  \
        T x = ((const T *)data[0])[i], y = *(const T *)data[1], q = (T)(quotient);     \
        ((T *)data[2])[i] = q;                                                         \
        ((T *)data[3])[i] = y ? (T)((u64)x - (u64)q * (u64)y) : 0;                     \
        ((T *)data[4])[i] = (T)gcd(size(x), size(y));                                  \
    }
DIVIDED(i8, floor_divide(x, y), magnitude)
DIVIDED(i16, floor_divide(x, y), magnitude)
DIVIDED(i32, floor_divide(x, y), magnitude)
DIVIDED(i64, floor_divide(x, y), magnitude)
DIVIDED(u8, y ? x / y : 0, )
DIVIDED(u16, y ? x / y : 0, )
DIVIDED(u32, y ? x / y : 0, )
DIVIDED(u64, y ? x / y : 0, )
#undef DIVIDED

static const struct {
    const char *type;
    ReferenceFn reference;
} divided[] = {{"i8", ref_divided_i8},   {"i16", ref_divided_i16},
               {"i32", ref_divided_i32}, {"i64", ref_divided_i64},
               {"u8", ref_divided_u8},   {"u16", ref_divided_u16},
               {"u32", ref_divided_u32}, {"u64", ref_divided_u64}};

START_TEST(one_divisor_for_all)
{
    const char *t = divided[_i].type;
    char text[400];

    snprintf(text, sizeof text,
             "func %%f(%%x: %s[n], %%y: %s) -> (%s[n], %s[n], %s[n]) {\n"
             "  %%0: %s[n] = floor_divide %%x, %%y\n  %%1: %s[n] = remainder %%x, %%y\n"
             "  %%2: %s[n] = gcd %%x, %%y\n  ret %%0, %%1, %%2\n}\n",
             t, t, t, t, t, t, t, t);
    check_kernel(text, divided[_i].reference);
}
END_TEST

START_TEST(clip_to_scalars)
{
    check_kernel("func %f(%x: f64[n], %y: f64, %z: f64) -> (f64[n]) {\n"
                 "  %0: f64[n] = clip %x, %y, %z\n  ret %0\n}\n",
                 ref_clip_scalars);
}
END_TEST

START_TEST(where_selects)
{
    check_kernel("func %f(%c: bool[n], %x: f32[n], %y: f32[n]) -> (f32[n]) {\n"
                 "  %0: f32[n] = select %c, %x, %y\n  ret %0\n}\n",
                 ref_where);
}
END_TEST

START_TEST(signs_are_compared_exactly)
{
    check_kernel("func %f(%x: i64[n], %y: u64[n]) -> "
                 "(bool[n], bool[n], bool[n], bool[n], bool[n]) {\n"
                 "  %0: bool[n] = less %x, %y\n  %1: bool[n] = greater %x, %y\n"
                 "  %2: bool[n] = equal %x, %y\n  %3: bool[n] = less_equal %y, %x\n"
                 "  %4: bool[n] = not_equal %y, %x\n"
                 "  ret %0, %1, %2, %3, %4\n}\n",
                 ref_mixed_signs);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("lower_ops");
    TCase *tests = tcase_create("ops");
    SRunner *runner = srunner_create(suite);
    int failed;

    if (!module_symbol("pyasc_lower_host")) {
        puts("PYASC_HOST_MODULE names no module: nothing to test");
        return getenv("PYASC_HOST_MODULE") != NULL;
    }
    tcase_set_timeout(tests, 120);
    tcase_add_unchecked_fixture(tests, engines_open, engines_close);
    tcase_add_loop_test(tests, bits_are_right, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(tests, one_divisor_for_all, 0,
                        sizeof divided / sizeof *divided);
    tcase_add_test(tests, clip_to_scalars);
    tcase_add_test(tests, where_selects);
    tcase_add_test(tests, signs_are_compared_exactly);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
