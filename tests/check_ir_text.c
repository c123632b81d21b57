/* check_ir_text.c - text that is broken in all ways: the parser never crashes, and
** what it takes prints, reads back, runs through all passes and is scheduled.
*/
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

static const char *const seeds[] = {
    "func %a(%x: f32[n, 3], %y: f64, %k: index) -> (f64[n, 3], f64[%0]) {\n"
    "  %0: index = iadd %k, %k\n"
    "  %1: f64[n, 3] = add %x, %y\n"
    "  %2: f64[n] = sum %1 {axes = [1]}\n"
    "  %3: f64[%0] = empty\n"
    "  %4: f64[n, 3] = multiply %1, 0x1.8p-3\n"
    "  ret %4, %3\n"
    "}\n",
    "func %b(%n: index, %a: f64[8], %c: pybool) -> (f64[8], f64) {\n"
    "  %z: f64 = const {value = -0.0}\n"
    "  %r: f64[8], %s: f64 = for %n, %a, %z (%k: index, %p: f64[8], %q: f64) {\n"
    "    %e: f64 = take_index %p, %k\n"
    "    %u: f64[8] = update %p, %e {offset = 8, shape = 1, strides = [8]}\n"
    "    %t: f64 = if %c () {\n"
    "      yield %e\n"
    "    } () {\n"
    "      %w: f64 = sqrt %q\n"
    "      yield %w\n"
    "    }\n"
    "    yield %u, %t\n"
    "  }\n"
    "  ret %r, %s\n"
    "}\n",
    "func %d(%x: c128[2, 2] nchw, %t: token) -> (c128[2, 2], bool) {\n"
    "  %0: c128[2, 2], %1: f32[1] = call %x {name = \"q\\\"\\x41\", w = (1.0, nan)}\n"
    "  %2: c128[2, 2] = slice %0 {start = [0, 1], step = [1, -1], count = [2, 2]}\n"
    "  %3: token = effect %t, %2 {site = -3}\n"
    "  %4: c128[2, 2] = transpose %2 {axes = [1, 0]}\n"
    "  %5: bool = all %4\n"
    "  check %5 {why = \"x\"}\n"
    "  ret %4, %5\n"
    "}\n",
};

static uint32_t
random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void
exercise(IrGraph *g)
{
    char *text = ir_print(g), *again, error[200];
    IrGraph *copy;

    ck_assert_ptr_nonnull(text);
    copy = ir_parse(text, error, sizeof error);
    ck_assert_msg(copy != NULL, "%s\n%s", error, text);
    again = ir_print(copy);
    ck_assert_str_eq(text, again);
    ck_assert_msg(ir_verify(g), "%s\n%s", ir_error(g), text);
    free(again);
    again = ir_schedule_print(copy);
    ck_assert_ptr_nonnull(again);
    ck_assert_msg(ir_pipeline_run(copy, 9, NULL, NULL), "%s\n%s", ir_error(copy), text);
    free(again);
    free(text);
    ir_graph_free(copy);
}

/* Removes, doubles, swaps or changes a few bytes or pieces. */
static void
mutate(char *text, size_t room, uint64_t *state)
{
    static const char *const pieces[] = {
        "%0", "%1", "f64", "[", "]",  "{",   "}",   ",",
        "=",  "-1", "0",   "(", ")",  "%k",  "nan", "n",
        ":",  "\n", "ret", "#", "\"", "sum", "add", "99999999999999999999"};
    uint32_t turns = 1 + random_next(state) % 4;

    while (turns--) {
        size_t length = strlen(text), at = random_next(state) % (length + 1);
        size_t span = random_next(state) % 12;
        const char *piece =
            pieces[random_next(state) % (sizeof pieces / sizeof *pieces)];
        if (at + span > length)
            span = length - at;
        switch (random_next(state) % 3) {
        case 0:
            memmove(text + at, text + at + span, length - at - span + 1);
            break;
        case 1:
            if (length + strlen(piece) + 1 > room)
                break;
            memmove(text + at + strlen(piece), text + at, length - at + 1);
            memcpy(text + at, piece, strlen(piece));
            break;
        default:
            if (length)
                text[at % length] = (char)(1 + random_next(state) % 126);
        }
    }
}

START_TEST(seeds_are_right)
{
    char error[200];
    IrGraph *g = ir_parse(seeds[_i], error, sizeof error);

    ck_assert_msg(g != NULL, "%s", error);
    exercise(g);
    ir_graph_free(g);
}
END_TEST

START_TEST(mutants_do_not_crash)
{
    uint64_t state = (uint64_t)_i + 1;
    char text[4096], error[200];

    for (int i = 0; i < 4000; i++) {
        IrGraph *g;
        strcpy(text, seeds[random_next(&state) % 3]);
        mutate(text, sizeof text, &state);
        g = ir_parse(text, error, sizeof error);
        ck_assert(g || *error);
        if (g)
            exercise(g);
        ir_graph_free(g);
    }
}
END_TEST

START_TEST(prefixes_do_not_crash)
{
    char error[200];

    for (size_t n = 0; n < strlen(seeds[_i]); n++) {
        char *text = strdup(seeds[_i]);
        text[n] = 0;
        if (n + 1 < strlen(seeds[_i]))
            ck_assert_ptr_null(ir_parse(text, error, sizeof error));
        free(text);
    }
}
END_TEST

/* Deep nesting ends in an error, not in the end of the stack. */
START_TEST(nesting_is_bounded)
{
    enum { DEPTH = 20000 };
    const char *open = "%r: f64 = if %c () {\n";
    char *text = malloc(100 + DEPTH * strlen(open)), error[200];
    size_t used = (size_t)sprintf(text, "func %%f(%%c: pybool) -> () {\n");

    for (int i = 0; i < DEPTH; i++)
        used += (size_t)sprintf(text + used, "%s", open);
    ck_assert_ptr_null(ir_parse(text, error, sizeof error));
    free(text);
    ck_assert_ptr_null(ir_parse("", NULL, 0));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("ir_text");
    TCase *tests = tcase_create("ir_text");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, seeds_are_right, 0, 3);
    tcase_add_loop_test(tests, mutants_do_not_crash, 0, 8);
    tcase_add_loop_test(tests, prefixes_do_not_crash, 0, 3);
    tcase_add_test(tests, nesting_is_bounded);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
