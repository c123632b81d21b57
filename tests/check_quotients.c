/* check_quotients.c - that a division by one number may be two multiplications and more: what
** lower/host/elem_float.c says of float32.
**
** x and s are integers of 24 bits. The quotient is rounded wrongly only if x/s, scaled to 24 bits, is
** so close to the middle between two numbers that 2 s of that distance are an integer of at most 7:
** so for every s and every such integer the x are computed, and tried.
*/
#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { NEAR = 8, LEAST = 1 << 23, PAST = 1 << 24 };

#if defined(__x86_64__) && defined(__clang__)
#define FMA __attribute__((target("fma")))
#else
#define FMA
#endif

/* 1/b modulo 2^32, b odd. */
static uint32_t
inverse(uint32_t b)
{
    uint32_t x = b;
    for (int i = 0; i < 5; i++)
        x *= 2 - b * x;
    return x;
}

FMA static bool
is_right(uint64_t x, uint64_t s)
{
    float a = (float)x, b = (float)s, y = 1 / b, q = a * y;
    float r = __builtin_fmaf(-q, b, a);
    return __builtin_fmaf(r, y, q) == a / b;
}

/* All x with x 2^bits = s k + rest, k odd, of 25 bits. Returns how many there are. */
static uint32_t
try_rest(uint32_t s, int bits, int rest)
{
    int even = __builtin_ctz(s), width = bits - even;
    int64_t other = -(rest / (1 << even)) * (int64_t)inverse(s >> even);
    uint32_t n = 0;
    for (uint64_t k = (uint64_t)other & ((1U << width) - 1); k < 1U << 25;
         k += 1U << width) {
        uint64_t x = (s * k + (uint64_t)(int64_t)rest) >> bits;
        bool in = bits == 24 ? x >= s && x < PAST : x >= LEAST && x < s;
        if (k < PAST || !(k & 1) || !in)
            continue;
        if (!is_right(x, s)) /* an assertion each would take a minute */
            ck_abort_msg("%llu / %u", (unsigned long long)x, s);
        n++;
    }
    return n;
}

START_TEST(quotients_are_rounded_rightly)
{
    uint64_t n = 0;
    uint32_t part = (PAST - LEAST) / 16, first = LEAST + (uint32_t)_i * part;
#if defined(__x86_64__) && defined(__clang__)
    if (!__builtin_cpu_supports("fma"))
        return;
#endif
    for (uint32_t s = first; s < first + part; s++) {
        if (__builtin_ctz(s) > 3)
            continue; /* no multiple that is as small */
        for (int rest = -NEAR; rest <= NEAR; rest++) {
            if (rest && rest % (1 << __builtin_ctz(s)) == 0)
                n += try_rest(s, 24, rest) + try_rest(s, 25, rest);
        }
    }
    ck_assert(n > part);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("quotients");
    TCase *tests = tcase_create("quotients");

    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, quotients_are_rounded_rightly, 0, 16);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
