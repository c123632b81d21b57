/* check_lower.c - the host back end: engines, loops, several operands, text, refusals.
** */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lower_kernels.h"

/* -- Loops ---------------------------------------------------------------- */

typedef struct Kernel {
    const char *text;
    ReferenceFn reference;
} Kernel;

static double
f64_at(char *const *data, uint32_t operand, intptr_t i)
{
    return ((const double *)data[operand])[i];
}

static void
ref_add_mul(char *const *data, intptr_t i)
{
    ((double *)data[2])[i] = (f64_at(data, 0, i) + f64_at(data, 1, i)) * 2.0;
}

static void
ref_long_chain(char *const *data, intptr_t i)
{
    double v = f64_at(data, 0, i);

    for (int k = 0; k < 15; k++)
        v = (v + f64_at(data, 1, i)) * f64_at(data, 0, i);
    ((double *)data[2])[i] = v;
}

static void
ref_scalars(char *const *data, intptr_t i)
{
    double a = f64_at(data, 1, 0), c = f64_at(data, 2, 0);

    ((double *)data[3])[i] = f64_at(data, 0, i) * (a + c) - a;
}

static void
ref_two_results(char *const *data, intptr_t i)
{
    double x = f64_at(data, 0, i), y = f64_at(data, 1, i);

    ((double *)data[2])[i] = x - y;
    ((double *)data[3])[i] = y - x;
}

static void
ref_mixed_widths(char *const *data, intptr_t i)
{
    float x = ((const float *)data[0])[i];
    double y = f64_at(data, 1, i);
    int8_t z = ((const int8_t *)data[2])[i];

    ((double *)data[3])[i] = (double)x * y;
    data[4][i] = (double)x < y;
    ((float *)data[5])[i] = x + (float)z;
}

static void
ref_bools(char *const *data, intptr_t i)
{
    data[2][i] = (char)((data[0][i] && !data[1][i]) || (data[1][i] && !data[0][i]));
}

static void
ref_same_twice(char *const *data, intptr_t i)
{
    ((double *)data[1])[i] = ((double *)data[2])[i] = f64_at(data, 0, i);
    ((double *)data[3])[i] = 1.5;
}

static const Kernel kernels[] = {
    {"func %f(%x: f64[n], %y: f64[n]) -> (f64[n]) {\n"
     "  %0: f64[n] = add %x, %y\n"
     "  %1: f64 = const {value=2.0}\n"
     "  %2: f64[n] = multiply %0, %1\n"
     "  ret %2\n}\n",
     ref_add_mul},
    {"func %f(%x: f64[n], %a: f64, %c: f64) -> (f64[n]) {\n"
     "  %0: f64 = add %a, %c\n"
     "  %1: f64[n] = multiply %x, %0\n"
     "  %2: f64[n] = subtract %1, %a\n"
     "  ret %2\n}\n",
     ref_scalars},
    {"func %f(%x: f64[n], %y: f64[n]) -> (f64[n], f64[n]) {\n"
     "  %0: f64[n] = subtract %x, %y\n"
     "  %1: f64[n] = subtract %y, %x\n"
     "  ret %0, %1\n}\n",
     ref_two_results},
    {"func %f(%x: f32[n], %y: f64[n], %z: i8[n]) -> (f64[n], bool[n], f32[n]) {\n"
     "  %0: f64[n] = cast %x\n"
     "  %1: f64[n] = multiply %0, %y\n"
     "  %2: bool[n] = less %0, %y\n"
     "  %3: f32[n] = cast %z\n"
     "  %4: f32[n] = add %x, %3\n"
     "  ret %1, %2, %4\n}\n",
     ref_mixed_widths},
    {"func %f(%x: bool[n], %y: bool[n]) -> (bool[n]) {\n"
     "  %0: bool[n] = not_equal %x, %y\n"
     "  ret %0\n}\n",
     ref_bools},
    {"func %f(%x: f64[n]) -> (f64[n], f64[n], f64) {\n"
     "  %0: f64 = const {value=1.5}\n"
     "  ret %x, %x, %0\n}\n",
     ref_same_twice},
};

START_TEST(loops_are_right)
{
    check_kernel(kernels[_i].text, kernels[_i].reference);
}
END_TEST

START_TEST(expensive_bodies_are_right)
{
    char text[2000];
    int at = snprintf(text, sizeof text,
                      "func %%f(%%x: f64[n], %%y: f64[n]) -> (f64[n]) {\n"
                      "  %%a: f64[n] = add %%x, %%y\n"
                      "  %%0: f64[n] = multiply %%a, %%x\n");

    for (int k = 0; k < 14; k++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "  %%s%d: f64[n] = add %%%d, %%y\n"
                       "  %%%d: f64[n] = multiply %%s%d, %%x\n",
                       k, k, k + 1, k);
    snprintf(text + at, sizeof text - (size_t)at, "  ret %%14\n}\n");
    check_kernel(text, ref_long_chain);
}
END_TEST

/* -- Engines -------------------------------------------------------------- */

START_TEST(code_comes_and_goes)
{
    IrGraph *kernel = kernel_parse(kernels[0].text);
    LowerPattern patterns[2] = {PATTERN_contiguous, PATTERN_contiguous};
    LowerEngine *engine = engine_open(NULL);
    LowerCode *codes[50];
    LowerKernelFn entries[50];
    double x = 1.0, y = 2.0, result;
    char *data[3] = {(char *)&x, (char *)&y, (char *)&result};
    char error[200];

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 50; i++) {
            codes[i] = target->compile(engine, kernel, patterns, &entries[i], error,
                                       sizeof error);
            ck_assert_msg(codes[i] != NULL, "%s", error);
        }
        for (int i = 0; i < 50; i += 2)
            target->code_free(engine, codes[i]);
        for (int i = 1; i < 50; i += 2) {
            result = 0.0;
            entries[i](data, 1, 1, NULL);
            ck_assert(result == 6.0);
            target->code_free(engine, codes[i]);
        }
    }
    target->code_free(engine, NULL);
    target->engine_free(engine);
    target->engine_free(NULL);
    ir_graph_free(kernel);
}
END_TEST

static void *
compile_for_ever(void *argument)
{
    IrGraph *kernel = kernel_parse(kernels[0].text);
    LowerPattern patterns[2] = {PATTERN_contiguous, PATTERN_contiguous};
    LowerKernelFn entry;
    char error[200];

    while (target->compile(engines[0].engine, kernel, patterns, &entry, error,
                           sizeof error))
        continue;
    return argument;
}

START_TEST(exit_while_compiling)
{
    for (unsigned round = 0; round < 30; round++) {
        int status;
        pid_t child = fork();

        if (!child) {
            pthread_t thread;

            alarm(20);
            pthread_create(&thread, NULL, compile_for_ever, NULL);
            pthread_detach(thread);
            usleep(1000 + 333 * round);
            exit(0);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
}
END_TEST

/* -- Text ----------------------------------------------------------------- */

static char *
text_of(const char *row, const char *text, bool assembly)
{
    LowerEngine *engine = engine_open(row);
    IrGraph *kernel = kernel_parse(text);
    LowerPattern patterns[MAX_OPERANDS];
    char error[300] = "", *result;

    patterns_of(kernel, patterns);
    result = (assembly ? target->assembly_text : target->llvm_text)(
        engine, kernel, patterns, error, sizeof error);
    ck_assert_msg(result != NULL, "%s: %s", row, error);
    ir_graph_free(kernel);
    target->engine_free(engine);
    return result;
}

static void
check_occurs(const char *text, const char *what, bool wanted)
{
    ck_assert_msg(!strstr(text, what) == !wanted, "%s %s in:\n%s", what,
                  wanted ? "is not" : "is", text);
}

static const struct {
    const char *row, *add, *instruction;
} rows[] = {
    {"x86_64_v4", "fadd <8 x double>", "zmm"},
    {"x86_64_v3", "fadd <4 x double>", "ymm"},
    {"x86_64_v2", "fadd <2 x double>", "addpd"},
    {"aarch64", "fadd <2 x double>", "fadd\tv"},
};

enum { STREAMED_ROOM = 3 * 2048 };

/* Past the caches: rows that begin at whole vectors, or not, of any length. */
static void
check_streamed(LowerKernelFn entry, const char *x, char *room, size_t bytes, intptr_t n,
               intptr_t from, intptr_t step)
{
    char want[STREAMED_ROOM], *data[2] = {(char *)(uintptr_t)x, room + from};
    const intptr_t steps[2] = {64, step};

    memset(room, 0x5a, STREAMED_ROOM);
    memset(want, 0x5a, STREAMED_ROOM);
    entry(data, n, 2, steps);
    for (intptr_t r = 0; r < 2; r++)
        for (size_t i = 0; i < (size_t)n; i++) {
            char *to = want + from + r * step + i * bytes;
            double wide;
            float narrow;
            memcpy(&wide, x + r * 64 + i * 8, 8);
            memcpy(&narrow, x + r * 64 + i * 4, 4);
            wide += wide;
            narrow += narrow;
            memcpy(to, bytes == 8 ? (void *)&wide : (void *)&narrow, bytes);
        }
    ck_assert(!memcmp(room, want, STREAMED_ROOM));
}

START_TEST(results_go_past_the_caches)
{
    static const char *const texts[] = {"func %streamed(%x: f32[n]) -> (f32[n]) {\n"
                                        "  %0: f32[n] = add %x, %x\n  ret %0\n}\n",
                                        "func %streamed(%x: f64[n]) -> (f64[n]) {\n"
                                        "  %0: f64[n] = add %x, %x\n  ret %0\n}\n"};
    LowerPattern patterns[1] = {PATTERN_contiguous};
    IrGraph *kernel = kernel_parse(texts[_i]);
    size_t bytes = _i ? 8 : 4;
    _Alignas(64) char x[4096], room[STREAMED_ROOM];
    char error[300] = "";

    for (size_t i = 0; i < sizeof x / bytes; i++) {
        double wide = (double)i * 0.5;
        float narrow = (float)wide;
        memcpy(x + i * bytes, _i ? (void *)&wide : (void *)&narrow, bytes);
    }
    for (int e = 0; e < MAX_ENGINES; e++) {
        LowerKernelFn entry;
        LowerCode *code;

        if (!engines[e].engine)
            continue;
        code = target->compile(engines[e].engine, kernel, patterns, &entry, error,
                               sizeof error);
        ck_assert_msg(code != NULL, "%s", error);
        for (intptr_t n = 1; n < 200; n++)
            for (intptr_t from = 0; from < 72; from += (intptr_t)bytes)
                for (intptr_t step = 1664; step < 1800; step += 64 - (from & 8))
                    check_streamed(entry, x, room, bytes, n, from, step);
        target->code_free(engines[e].engine, code);
    }
    ir_graph_free(kernel);
}
END_TEST

START_TEST(every_target_makes_vectors)
{
    char *llvm = text_of(rows[_i].row, kernels[0].text, false);
    char *assembly = text_of(rows[_i].row, kernels[0].text, true);

    check_occurs(llvm, rows[_i].add, true);
    check_occurs(llvm, " fast ", false);
    check_occurs(llvm, "contract", false);
    check_occurs(assembly, rows[_i].instruction, true);
    check_occurs(assembly, "fmadd", false);
    free(llvm);
    free(assembly);
}
END_TEST

START_TEST(every_target_takes_every_kernel)
{
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        free(text_of(rows[_i].row, kernels[k].text, true));
}
END_TEST

START_TEST(casts_are_never_poison)
{
    char *llvm = text_of(rows[_i].row,
                         "func %f(%x: f64[n]) -> (i8[n], u64[n], i64[n], u32[n]) {\n"
                         "  %0: i8[n] = cast %x\n  %1: u64[n] = cast %x\n"
                         "  %2: i64[n] = cast %x\n  %3: u32[n] = cast %x\n"
                         "  ret %0, %1, %2, %3\n}\n",
                         false);

    check_occurs(llvm, "= fptosi", false);
    check_occurs(llvm, "= fptoui", false);
    free(llvm);
}
END_TEST

/* -- Refusals ------------------------------------------------------------- */

static void
check_refused(const char *text, const char *why)
{
    IrGraph *kernel = kernel_parse(text);
    LowerPattern patterns[MAX_OPERANDS];
    LowerKernelFn entry;
    char reason[200] = "", error[200] = "";

    patterns_of(kernel, patterns);
    ck_assert(!target->supports(kernel, reason, sizeof reason));
    ck_assert_msg(strstr(reason, why) != NULL, "%s", reason);
    ck_assert_ptr_null(target->compile(engines[0].engine, kernel, patterns, &entry,
                                       error, sizeof error));
    ck_assert_str_eq(reason, error);
    ir_graph_free(kernel);
}

START_TEST(refusals_say_why)
{
    check_refused("func %f(%x: f64[n]) -> (f64) {\n  %0: f64 = prod %x\n  ret %0\n}\n",
                  "prod");
    check_refused("func %f(%x: f64[n]) -> (f64, f64) {\n"
                  "  %0: f64 = sum %x\n  ret %0, %0\n}\n",
                  "sum");
    check_refused("func %f(%x: f80[n]) -> (f80[n]) {\n  ret %x\n}\n", "f80");
}
END_TEST

START_TEST(unknown_targets_are_an_error)
{
    LowerHostEngineFn open;
    char error[100] = "";
    void *symbol = module_symbol("pyasc_lower_host_engine");

    memcpy(&open, &symbol, sizeof open);
    ck_assert_ptr_null(open("pdp11", error, sizeof error));
    ck_assert(error[0]);
}
END_TEST

START_TEST(foreign_code_is_refused)
{
    LowerEngine *engine = engine_open("aarch64");
    IrGraph *kernel = kernel_parse(kernels[0].text);
    LowerPattern patterns[2] = {PATTERN_contiguous, PATTERN_contiguous};
    LowerKernelFn entry;
    char error[200] = "";

    ck_assert_ptr_null(
        target->compile(engine, kernel, patterns, &entry, error, sizeof error));
    ck_assert_ptr_nonnull(strstr(error, "aarch64"));
    ir_graph_free(kernel);
    target->engine_free(engine);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("lower");
    TCase *tests = tcase_create("host");
    SRunner *runner = srunner_create(suite);
    int failed, nrows = sizeof rows / sizeof *rows;

    if (!module_symbol("pyasc_lower_host")) {
        puts("PYASC_HOST_MODULE names no module: nothing to test");
        return getenv("PYASC_HOST_MODULE") != NULL;
    }
    tcase_set_timeout(tests, 120);
    tcase_add_unchecked_fixture(tests, engines_open, engines_close);
    tcase_add_loop_test(tests, results_go_past_the_caches, 0, 2);
    tcase_add_loop_test(tests, loops_are_right, 0, sizeof kernels / sizeof *kernels);
    tcase_add_test(tests, expensive_bodies_are_right);
    tcase_add_test(tests, code_comes_and_goes);
    tcase_add_test(tests, exit_while_compiling);
    tcase_add_loop_test(tests, every_target_makes_vectors, 0, nrows);
    tcase_add_loop_test(tests, every_target_takes_every_kernel, 0, nrows);
    tcase_add_loop_test(tests, casts_are_never_poison, 0, nrows);
    tcase_add_test(tests, refusals_say_why);
    tcase_add_test(tests, unknown_targets_are_an_error);
    tcase_add_test(tests, foreign_code_is_refused);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
