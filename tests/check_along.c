/* check_along.c - the loops of kernels/along.inc, of every instruction set that this CPU has, beside
** loops that are as plain as can be. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/along.h"

enum { MOST = 3000, COLUMNS = 150 };

#if defined(__clang__)
static const KernelAlong *
table_at(int i)
{
    if (i == 0)
        return &kernel_along_any;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (i == 1 && __builtin_cpu_supports("avx2"))
        return &kernel_along_avx2;
    if (i == 2 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return &kernel_along_avx512;
#endif
    return NULL;
}

static uint32_t
next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Lengths around those of vectors and blocks. */
static const intptr_t lengths[] = {
    1,  2,  3,   7,   8,   9,   15,  16,  17,  23,  24,  25,   31,   32,   33,   63,
    64, 65, 127, 128, 129, 255, 256, 257, 300, 511, 640, 1000, 1025, 2047, 2049, MOST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

#define POSITIONS(T, type, floating)                                                   \
    static intptr_t type##_naive(const T *x, intptr_t step, intptr_t n, bool greatest) \
    {                                                                                  \
        intptr_t at = 0;                                                               \
        for (intptr_t i = 0; i < n; i++) {                                             \
            T v = x[i * step], best = x[at * step];                                    \
            if (best != best)                                                          \
                break;                                                                 \
            if (v != v || (greatest ? v > best : v < best))                            \
                at = i;                                                                \
        }                                                                              \
        return at;                                                                     \
    }                                                                                  \
                                                                                       \
    static void type##_fill(T *x, intptr_t n, uint32_t *seed, uint32_t range)          \
    {                                                                                  \
        for (intptr_t i = 0; i < n; i++) {                                             \
            x[i] = (T)((int64_t)(next(seed) % range) - (int64_t)range / 2);            \
            if (floating && next(seed) % (4 * MOST) == 0)                              \
                x[i] = (T)NAN;                                                         \
        }                                                                              \
    }                                                                                  \
                                                                                       \
    static void type##_columns(const KernelPosition *loops, const T *x, intptr_t n,    \
                               intptr_t rows, intptr_t step, bool greatest)            \
    {                                                                                  \
        static T best[COLUMNS];                                                        \
        static int64_t wide[COLUMNS];                                                  \
        int32_t *narrow = (int32_t *)wide;                                             \
        intptr_t half = rows > 1 ? rows / 2 : 1;                                       \
        loops->rows((const char *)x, n, half, step *(intptr_t)sizeof(T), 0,            \
                    (char *)best, (char *)wide);                                       \
        if (rows > half)                                                               \
            loops->rows((const char *)(x + half * step), n, rows - half,               \
                        step * (intptr_t)sizeof(T), half, (char *)best, (char *)wide); \
        for (intptr_t j = 0; j < n; j++) {                                             \
            intptr_t place = loops->index_bytes == 4 ? narrow[j] : (intptr_t)wide[j];  \
            ck_assert_int_eq(place, type##_naive(x + j, step, rows, greatest));        \
        }                                                                              \
    }                                                                                  \
                                                                                       \
    static void type##_check(const KernelAlong *table)                                 \
    {                                                                                  \
        static T x[200 * COLUMNS];                                                     \
        uint32_t seed = 1;                                                             \
        for (int k = 0; k < 2 * 3 * LENGTHS; k++) {                                    \
            static const uint32_t ranges[] = {3, 100, 1 << 24};                        \
            bool greatest = k % 2;                                                     \
            const KernelPosition *loops = table->positions[KERNEL_##type][greatest];   \
            intptr_t n = lengths[k / 6];                                               \
            type##_fill(x, 200 * COLUMNS, &seed, ranges[k / 2 % 3]);                   \
            ck_assert_int_eq(loops->run((const char *)x, n),                           \
                             type##_naive(x, 1, n, greatest));                         \
            n = n % COLUMNS + 1;                                                       \
            for (intptr_t rows = 1; rows <= 200; rows += 1 + rows / 2) {               \
                type##_columns(loops, x, n, rows, n, greatest);                        \
                type##_columns(loops, x, n, rows, COLUMNS, greatest);                  \
            }                                                                          \
        }                                                                              \
    }

POSITIONS(int8_t, i8, false)
POSITIONS(int16_t, i16, false)
POSITIONS(int32_t, i32, false)
POSITIONS(int64_t, i64, false)
POSITIONS(uint8_t, u8, false)
POSITIONS(uint16_t, u16, false)
POSITIONS(uint32_t, u32, false)
POSITIONS(uint64_t, u64, false)
POSITIONS(float, f32, true)
POSITIONS(double, f64, true)

START_TEST(positions)
{
    const KernelAlong *table = table_at(_i);
    if (!table)
        return;
    i8_check(table), i16_check(table), i32_check(table), i64_check(table);
    u8_check(table), u16_check(table), u32_check(table), u64_check(table);
    f32_check(table), f64_check(table);
}
END_TEST

START_TEST(running_sums)
{
    static double x[40 * COLUMNS], made[40 * COLUMNS], want[40 * COLUMNS];
    const KernelAlong *table = table_at(_i);
    uint32_t seed = 1;
    if (!table)
        return;
    for (int i = 0; i < 40 * COLUMNS; i++)
        x[i] = (double)next(&seed) / (1 << 23);
    for (int product = 0; product < 2; product++) {
        const KernelScan *loops = table->scans[KERNEL_f64][product];
        for (intptr_t n = 1; n <= COLUMNS; n += 1 + n / 3) {
            for (intptr_t i = 0; i < 40 * n; i++)
                want[i] = i % n == 0 ? x[i]
                          : product  ? want[i - 1] * x[i]
                                     : want[i - 1] + x[i];
            loops->lines((char *)made, (const char *)x, n, 40, false);
            ck_assert_mem_eq(made, want, (size_t)(40 * n) * sizeof *made);
            for (intptr_t i = 0; i < 40 * n; i++)
                want[i] = i < n     ? x[i]
                          : product ? want[i - n] * x[i]
                                    : want[i - n] + x[i];
            intptr_t step = n * (intptr_t)sizeof *x;
            loops->rows((char *)made, (const char *)x, n, 15, step, step, false);
            loops->rows((char *)(made + 15 * n), (const char *)(x + 15 * n), n, 25,
                        step, step, true);
            ck_assert_mem_eq(made, want, (size_t)(40 * n) * sizeof *made);
        }
    }
}
END_TEST
#endif

int
main(void)
{
    Suite *suite = suite_create("along");
    TCase *tests = tcase_create("along");

    tcase_set_timeout(tests, 120);
#if defined(__clang__)
    tcase_add_loop_test(tests, positions, 0, 3);
    tcase_add_loop_test(tests, running_sums, 0, 3);
#endif
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
