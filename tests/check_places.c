/* check_places.c - elements taken from places and put there, and those that masks pick, in memory that is just
** as large as it has to be.
*/
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "runtime/runtime.h"

/* y[i] = x[index[i]], x and y of n and m elements. */
static RtPlace
taking(intptr_t n, intptr_t m)
{
    RtPlace place = {.kind = RT_PLACE_take, .itemsize = 8, .ndim = 1, .nindices = 1};
    place.shape[0] = m;
    place.y[0] = place.index[0][0] = 8;
    place.extent[0] = n;
    place.step[0] = 8;
    return place;
}

START_TEST(takes_and_puts)
{
    enum { N = 5, M = 9 };
    double x[N] = {0, 1, 2, 3, 4}, y[M];
    int64_t index[M] = {0, 4, -1, -5, 2, 2, 1, 3, -2}, bad = 0;
    char *data[3] = {(char *)index, (char *)x, (char *)y};
    RtPlace place = taking(N, M);
    rt_place_finish(&place);
    ck_assert_int_eq(rt_place_run(&place, data, &bad), 0);
    for (int i = 0; i < M; i++)
        ck_assert(y[i] == (double)((index[i] + N) % N));
    place.kind = RT_PLACE_put;
    for (int i = 0; i < M; i++)
        y[i] = i;
    ck_assert_int_eq(rt_place_run(&place, data, &bad), 0);
    ck_assert(x[0] == 3 && x[1] == 6 && x[2] == 5 && x[3] == 8 && x[4] == 2);
    place.kind = RT_PLACE_add;
    place.is_float = true;
    ck_assert_int_eq(rt_place_run(&place, data, &bad), 0);
    ck_assert(x[0] == 6 && x[2] == 14 && x[4] == 5);
}
END_TEST

START_TEST(refuses_before_it_writes)
{
    static const int64_t far[] = {
        5, -6, INT64_MAX, INT64_MIN, INT64_MAX - 4, INT64_MIN + 5};
    double x[5] = {0}, y[20];
    int64_t index[20] = {0}, bad;
    char *data[3] = {(char *)index, (char *)x, (char *)y};
    RtPlace place = taking(5, 20);
    rt_place_finish(&place);
    for (size_t i = 0; i < 2 * (sizeof far / sizeof *far); i++) {
        place.kind = i % 2 ? RT_PLACE_put : RT_PLACE_take;
        memset(x, 1, sizeof x);
        memset(y, 1, sizeof y);
        index[17] = far[i / 2];
        ck_assert_int_eq(rt_place_run(&place, data, &bad), 1);
        ck_assert(bad == far[i / 2]);
        for (size_t k = 0; k < sizeof x; k++)
            ck_assert_int_eq(((char *)x)[k], 1);
        for (size_t k = 0; k < sizeof y && i % 2; k++)
            ck_assert_int_eq(((char *)y)[k], 1);
    }
}
END_TEST

/* More indices than are checked at once, some below 0, one of them out of range. */
START_TEST(takes_many)
{
    enum { N = 50, M = 5000 };
    double x[N], *y = malloc(sizeof(double[M]));
    int64_t *index = malloc(sizeof(int64_t[M])), bad = 0;
    char *data[3] = {(char *)index, (char *)x, (char *)y};
    RtPlace place = taking(N, M);
    ck_assert_ptr_nonnull(y);
    ck_assert_ptr_nonnull(index);
    for (int i = 0; i < N; i++)
        x[i] = i;
    rt_place_finish(&place);
    for (int every = 1; every < 3000; every = every * 3 + 1) {
        for (int i = 0; i < M; i++)
            index[i] = i % every == 0 && i > 2000 ? -1 - i % N : i % N;
        memset(y, 0, sizeof(double[M]));
        ck_assert_int_eq(rt_place_run(&place, data, &bad), 0);
        for (int i = 0; i < M; i++)
            ck_assert(y[i] == (double)((index[i] + N) % N));
        index[4100] = N;
        index[4900] = -N - 1;
        ck_assert_int_eq(rt_place_run(&place, data, &bad), 1);
        ck_assert_int_eq((int)bad, N);
    }
    free(index);
    free(y);
}
END_TEST

/* Columns of a matrix of R rows: tiles where there are many. */
START_TEST(takes_columns)
{
    enum { R = 3, C = 200, M = 150 };
    int32_t *x = malloc(sizeof(int32_t[R][C])), *y = malloc(sizeof(int32_t[M][R]));
    int64_t index[M], bad;
    RtPlace place = {.kind = RT_PLACE_take, .itemsize = 4, .ndim = 2, .nindices = 1};
    char *data[3] = {(char *)index, (char *)x, (char *)y};
    place.shape[0] = R;
    place.x[0] = 4 * C;
    place.y[0] = 4;
    place.shape[1] = M;
    place.y[1] = 4 * R;
    place.index[0][1] = 8;
    place.extent[0] = C;
    place.step[0] = 4;
    for (int i = 0; i < R * C; i++)
        x[i] = i;
    for (int i = 0; i < M; i++)
        index[i] = i * 7 % (2 * C) - C;
    rt_place_finish(&place);
    ck_assert_int_eq(rt_place_run(&place, data, &bad), 0);
    for (int i = 0; i < M; i++) {
        for (int r = 0; r < R; r++)
            ck_assert_int_eq(y[i * R + r], (int32_t)(r * C + (index[i] + C) % C));
    }
    free(x);
    free(y);
}
END_TEST

/* Packs n elements of so many bytes; memory ends where they do. */
static void
check_pack(intptr_t n, intptr_t bytes, unsigned share)
{
    char *mask = malloc((size_t)n + 1), *from = malloc((size_t)(n * bytes) + 1);
    intptr_t count = 0;
    for (intptr_t i = 0; i < n; i++) {
        mask[i] = ((unsigned)i * 2654435761u >> 16) % 16 < share;
        count += mask[i];
        memset(from + i * bytes, (int)(i * 31), (size_t)bytes);
    }
    char *to = malloc((size_t)(count * bytes) + 1), *at = to;
    ck_assert(kernel_pack(to, from, mask, count, bytes));
    for (intptr_t i = 0; i < n; i++) {
        if (!mask[i])
            continue;
        ck_assert_int_eq(memcmp(at, from + i * bytes, (size_t)bytes), 0);
        at += bytes;
    }
    free(to);
    free(from);
    free(mask);
}

START_TEST(packs)
{
    for (intptr_t n = 0; n < 70; n++) {
        for (intptr_t bytes = 1; bytes <= 8; bytes *= 2) {
            for (unsigned share = 0; share <= 16; share += 4)
                check_pack(n, bytes, share);
        }
    }
    check_pack(5000, 8, 9);
    check_pack(5000, 1, 1);
}
END_TEST

/* Positions of n elements, `step` apart, in memory of just so many; and elements put there. */
static void
check_positions(intptr_t n, intptr_t step, intptr_t bytes, unsigned share)
{
    char *mask = malloc((size_t)n + 1);
    intptr_t count = 0;
    for (intptr_t i = 0; i < n; i++) {
        bool in = ((unsigned)i * 2654435761u >> 16) % 16 < share;
        mask[i] = (char)(in ? 1 + i % 255 : 0); /* a bool may have any bits */
        count += in;
    }
    int64_t *at = malloc((size_t)(count * step) * sizeof *at + 1);
    char *from = malloc((size_t)(count * bytes) + 1),
         *to = calloc((size_t)(n * bytes) + 1, 1);
    ck_assert_int_eq(kernel_positions(at, step, mask, n, count), count);
    for (intptr_t i = 0; i < count; i++)
        memset(from + i * bytes, (int)(i * 31 + 1), (size_t)bytes);
    ck_assert(kernel_unpack(to, from, mask, n, bytes));
    for (intptr_t i = 0, k = 0; i < n; i++) {
        char expected[16] = {0};
        if (mask[i]) {
            ck_assert_int_eq(at[k * step], i);
            memset(expected, (int)(k++ * 31 + 1), sizeof expected);
        }
        ck_assert_int_eq(memcmp(to + i * bytes, expected, (size_t)bytes), 0);
    }
    free(to);
    free(from);
    free(at);
    free(mask);
}

START_TEST(finds_positions)
{
    for (intptr_t n = 0; n < 70; n++) {
        for (unsigned share = 0; share <= 16; share += 4)
            check_positions(n, 1 + n % 3, (intptr_t)1 << n % 5, share);
    }
    check_positions(5000, 1, 8, 9);
    check_positions(5000, 2, 16, 1);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("places");
    TCase *places = tcase_create("places");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(places, takes_and_puts);
    tcase_add_test(places, refuses_before_it_writes);
    tcase_add_test(places, takes_many);
    tcase_add_test(places, takes_columns);
    tcase_add_test(places, packs);
    tcase_add_test(places, finds_positions);
    suite_add_tcase(suite, places);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
