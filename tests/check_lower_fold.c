/* check_lower_fold.c - kernels that end in a reduction, and rows whose scalars differ. */
#include "tests/lower_kernels.h"

enum { MANY_ROWS = 9, GUARD = 64 };

static const char *const reductions[] = {"sum", "prod", "max", "min"};
static const IrDtype numbers[] = {DT_float32, DT_float64, DT_int8,  DT_int32,
                                  DT_int64,   DT_uint16,  DT_uint64};

/* -- What NumPy does ------------------------------------------------------ */

/* The elements of a reduction: x[i] - y, in the dtype. */
#define REFERENCES(type, name)                                                         \
    static type name##_tree(const type *x, size_t n, type y)                           \
    {                                                                                  \
        type r[8], sum = (type) - 0.0;                                                 \
        size_t i = 0;                                                                  \
        if (n >= 8) {                                                                  \
            for (size_t k = 0; k < 8; k++)                                             \
                r[k] = (type)(x[k] - y);                                               \
            for (i = 8; i + 8 <= n; i += 8)                                            \
                for (size_t k = 0; k < 8; k++)                                         \
                    r[k] = (type)(r[k] + (type)(x[i + k] - y));                        \
            sum = (type)((type)((type)(r[0] + r[1]) + (type)(r[2] + r[3])) +           \
                         (type)((type)(r[4] + r[5]) + (type)(r[6] + r[7])));           \
        }                                                                              \
        for (; i < n; i++)                                                             \
            sum = (type)(sum + (type)(x[i] - y));                                      \
        return sum;                                                                    \
    }
REFERENCES(float, f32)
REFERENCES(double, f64)
#undef REFERENCES

/* In 64 bits, for integers. */
static int64_t
whole_number(const char *x, IrDtype dtype, size_t i)
{
    switch (dtype) {
    case DT_int8:
        return ((const int8_t *)x)[i];
    case DT_int32:
        return ((const int32_t *)x)[i];
    case DT_uint16:
        return ((const uint16_t *)x)[i];
    default:
        return ((const int64_t *)x)[i];
    }
}

static int64_t
cut(int64_t value, IrDtype dtype)
{
    char bytes[8];

    memcpy(bytes, &value, 8);
    return whole_number(bytes, dtype, 0);
}

static void
reduce_ints(char *result, const char *x, IrDtype dtype, const char *op, size_t n,
            int64_t y)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        int64_t v =
            cut((int64_t)((uint64_t)whole_number(x, dtype, i) - (uint64_t)y), dtype);
        bool less = dtype == DT_uint64 ? (uint64_t)v < (uint64_t)sum : v < sum;

        if (i == 0)
            sum = v;
        else if (!strcmp(op, "sum"))
            sum = (int64_t)((uint64_t)sum + (uint64_t)v);
        else if (!strcmp(op, "prod"))
            sum = (int64_t)((uint64_t)sum * (uint64_t)v);
        else if (less == !strcmp(op, "min"))
            sum = v;
    }
    memcpy(result, &sum, ir_dtype_bytes(dtype));
}

static double
extreme(double a, double b, bool greatest)
{
    if (isnan(a) || isnan(b))
        return (double)NAN;
    return greatest == (a > b) ? a : b;
}

static void
reduce_floats(char *result, const char *x, IrDtype dtype, const char *op, size_t n,
              double y)
{
    const float *narrow = (const float *)(const void *)x;
    const double *wide = (const double *)(const void *)x;
    bool f32 = dtype == DT_float32;
    float small;
    double sum = 0;

    if (!strcmp(op, "sum")) {
        sum = f32 ? (double)f32_tree(narrow, n, (float)y) : f64_tree(wide, n, y);
    } else {
        for (size_t i = 0; i < n; i++) {
            double v = f32 ? (double)(narrow[i] - (float)y) : wide[i] - y;

            sum = i ? extreme(sum, v, !strcmp(op, "max")) : v;
        }
    }
    small = (float)sum;
    memcpy(result, f32 ? (const void *)&small : (const void *)&sum, f32 ? 4 : 8);
}

/* -- Comparing ------------------------------------------------------------ */

/* Lengths of the rows: what is left, and more or less than a block. */
static intptr_t
row_length(size_t turn, size_t row, bool leaves)
{
    intptr_t n = (intptr_t)(turn * 7 + row * 13) % (leaves ? 129 : 700);

    return n ? n : 1;
}

static bool
same_number(const char *a, const char *b, IrDtype dtype)
{
    /* Which zero comes of max and min is open. */
    if (dtype == DT_float32)
        return same(a, b, dtype) || (*(const float *)(const void *)a == 0 &&
                                     *(const float *)(const void *)b == 0);
    if (dtype == DT_float64)
        return same(a, b, dtype) || (*(const double *)(const void *)a == 0 &&
                                     *(const double *)(const void *)b == 0);
    return !memcmp(a, b, ir_dtype_bytes(dtype));
}

static void
check_rows(LowerKernelFn entry, const char *row, const char *text, IrDtype dtype,
           const char *op, size_t turn)
{
    bool floating = dtype == DT_float32 || dtype == DT_float64;
    size_t bytes = ir_dtype_bytes(dtype), total = 0, at = 0;
    intptr_t list[2 + MANY_ROWS] = {0}, *lengths = list + 2;
    char y[8], want[8], results[MANY_ROWS * 8 + GUARD];
    static char *room;

    if (!room) {
        room = mmap(NULL, ROOM * 8 + 4096, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(room + ROOM * 8, 4096, PROT_NONE);
    }
    for (size_t r = 0; r < MANY_ROWS; r++) {
        lengths[r] = row_length(turn, r, floating && !strcmp(op, "sum"));
        total += (size_t)lengths[r];
    }
    char *x = room + ROOM * 8 - total * bytes;
    fill(x, dtype, (uint32_t)(turn & 1), total);
    if (turn % 3 && floating) /* else NaN hides all */
        for (size_t i = 0; i < total; i++) {
            float small = (float)sin((double)(i + turn));
            double wide = sin((double)(i * 3 + turn));
            memcpy(x + i * bytes, bytes == 4 ? (void *)&small : (void *)&wide, bytes);
        }
    fill(y, dtype, 0, 1); /* zero */
    memset(results, 0x5a, sizeof results);
    char *data[3] = {x, y, results};
    entry(data, 0, MANY_ROWS, list);
    for (size_t r = 0; r < MANY_ROWS; r++) {
        if (floating)
            reduce_floats(want, x + at * bytes, dtype, op, (size_t)lengths[r], 0.0);
        else
            reduce_ints(want, x + at * bytes, dtype, op, (size_t)lengths[r],
                        whole_number(y, dtype, 0));
        if (!same_number(results + r * bytes, want, dtype))
            ck_abort_msg("%s: row %zu of %zd elements differs\n%s", row ? row : "host",
                         r, (ssize_t)lengths[r], text);
        at += (size_t)lengths[r];
    }
    for (size_t i = MANY_ROWS * bytes; i < sizeof results; i++)
        ck_assert_int_eq(results[i], 0x5a);
}

static void
check_reduction(IrDtype dtype, const char *op)
{
    const char *name = ir_dtype_name(dtype);
    char text[400], error[300] = "";
    LowerPattern patterns[2] = {PATTERN_contiguous, PATTERN_scalar};

    snprintf(text, sizeof text,
             "func %%f(%%x: %s[n], %%y: %s[n]) -> (%s) {\n"
             "  %%0: %s[n] = subtract %%x, %%y\n"
             "  %%1: %s = %s %%0\n  ret %%1\n}\n",
             name, name, name, name, name, op);
    IrGraph *kernel = kernel_parse(text);
    for (int e = 0; e < MAX_ENGINES; e++) {
        LowerKernelFn entry;
        LowerCode *code;

        if (!engines[e].engine)
            continue;
        code = target->compile(engines[e].engine, kernel, patterns, &entry, error,
                               sizeof error);
        ck_assert_msg(code != NULL, "%s\n%s", error, text);
        for (size_t turn = 0; turn < 130; turn++)
            check_rows(entry, engines[e].row, text, dtype, op, turn);
        target->code_free(engines[e].engine, code);
    }
    ir_graph_free(kernel);
}

START_TEST(reductions_are_right)
{
    size_t nops = sizeof reductions / sizeof *reductions;
    IrDtype dtype = numbers[(size_t)_i / nops];
    const char *op = reductions[(size_t)_i % nops];
    bool floating = dtype == DT_float32 || dtype == DT_float64;
    bool widened = !strcmp(op, "sum") || !strcmp(op, "prod"); /* to 64 bits */

    if (floating ? !strcmp(op, "prod") : widened && ir_dtype_bytes(dtype) < 8)
        return;
    check_reduction(dtype, op);
}
END_TEST

/* -- Runs ----------------------------------------------------------------- */

/* Runs of two rows, each with a scalar of its own. */
static void
check_runs(LowerKernelFn entry, intptr_t n)
{
    float x[6 * LOWER_LEAF], y[3] = {0.5F, 2.0F, -1.0F}, sums[7];
    intptr_t list[8] = {0, sizeof *y, n, n, n, n, n, n};
    char *data[3] = {(char *)x, (char *)y, (char *)sums};

    for (int i = 0; i < 6 * LOWER_LEAF; i++)
        x[i] = (float)(i % 37) * 0.25F;
    sums[6] = 99;
    entry(data, 2, 6, list);
    for (intptr_t r = 0; r < 6; r++) {
        float total = 0;
        for (intptr_t i = r * n; i < (r + 1) * n; i++)
            total += x[i] - y[r / 2]; /* exact */
        ck_assert(sums[r] == total);
    }
    ck_assert(sums[6] == 99);
}

START_TEST(runs_have_their_scalars)
{
    LowerPattern patterns[2] = {PATTERN_contiguous, PATTERN_scalar};
    IrGraph *kernel = kernel_parse("func %f(%x: f32[n], %y: f32[n]) -> (f32) {\n"
                                   "  %0: f32[n] = subtract %x, %y\n"
                                   "  %1: f32 = sum %0\n  ret %1\n}\n");
    char error[300] = "";

    for (int e = 0; e < MAX_ENGINES; e++) {
        LowerKernelFn entry;
        LowerCode *code = NULL;

        if (!engines[e].engine)
            continue;
        code = target->compile(engines[e].engine, kernel, patterns, &entry, error,
                               sizeof error);
        ck_assert_msg(code != NULL, "%s", error);
        for (intptr_t n = 1; n <= LOWER_LEAF; n++)
            check_runs(entry, n);
        target->code_free(engines[e].engine, code);
    }
    ir_graph_free(kernel);
}
END_TEST

/* -- The wide tree ---------------------------------------------------------- */

enum { WIDE_MOST = RT_WIDE_TURNS * RT_WIDE_BYTES / 4 + 70, WIDE_ROWS = 7 };

/* A leaf of x[i] - y: element i on accumulator i mod A, joined by halves. */
#define WIDE(type, name)                                                               \
    static type name##_wide(const type *x, size_t n, type y)                           \
    {                                                                                  \
        type r[RT_WIDE_BYTES / sizeof(type)];                                          \
        size_t A = sizeof r / sizeof *r;                                               \
        for (size_t j = 0; j < A; j++)                                                 \
            r[j] = (type) - 0.0;                                                       \
        for (size_t i = 0; i < n; i++)                                                 \
            r[i % A] = (type)(r[i % A] + (type)(x[i] - y));                            \
        for (size_t half = A / 2; half; half /= 2)                                     \
            for (size_t j = 0; j < half; j++)                                          \
                r[j] = (type)(r[j] + r[j + half]);                                     \
        return r[0];                                                                   \
    }
WIDE(float, f32)
WIDE(double, f64)
#undef WIDE

/* The numbers end where memory does. */
static void
check_wide(LowerKernelFn entry, const char *row, size_t bytes, size_t first)
{
    size_t total = 0, at = 0;
    intptr_t list[2 + WIDE_ROWS] = {0}, *lengths = list + 2;
    double y = 0.25, results[WIDE_ROWS + 1];
    float narrow = 0.25F;
    static char *room;

    if (!room) {
        room = mmap(NULL, ROOM * 8 + 4096, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(room + ROOM * 8, 4096, PROT_NONE);
    }
    for (size_t r = 0; r < WIDE_ROWS; r++) {
        lengths[r] = (intptr_t)((first + r * 37) % WIDE_MOST) + 1;
        total += (size_t)lengths[r];
    }
    ck_assert(total * bytes <= ROOM * 8);
    char *x = room + ROOM * 8 - total * bytes;
    for (size_t i = 0; i < total; i++) {
        double wide = sin((double)(i * 3 + first)) * (i % 5 ? 1 : 1e6);
        float small = (float)wide;
        memcpy(x + i * bytes, bytes == 4 ? (void *)&small : (void *)&wide, bytes);
    }
    memset(results, 0x5a, sizeof results);
    char *data[3] = {x, bytes == 4 ? (char *)&narrow : (char *)&y, (char *)results};
    entry(data, 0, WIDE_ROWS, list);
    for (size_t r = 0; r < WIDE_ROWS; r++) {
        size_t n = (size_t)lengths[r];
        float small = f32_wide((const float *)(const void *)x + at, n, narrow);
        bool same = bytes == 4;
        if (same)
            same = !memcmp(&small, (char *)results + r * 4, 4);
        else {
            double wide = f64_wide((const double *)(const void *)x + at, n, y);
            same = !memcmp(&wide, &results[r], 8);
        }
        ck_assert_msg(same, "%s: row %zu of %zu elements differs", row ? row : "host",
                      r, n);
        at += n;
    }
    for (size_t i = WIDE_ROWS * bytes; i < sizeof results; i++)
        ck_assert_int_eq(((char *)results)[i], 0x5a);
}

/* By every instruction set; the second kernel's widest element is not the sum's. */
START_TEST(wide_sums_are_right)
{
    static const char *const texts[] = {
        "func %f(%x: f32[n], %y: f32[n]) -> (f32) {\n"
        "  %0: f32[n] = subtract %x, %y\n"
        "  %1: f32 = sum %0 {wide=1}\n  ret %1\n}\n",
        "func %f(%x: f32[n], %y: f32[n]) -> (f32) {\n"
        "  %0: f64[n] = cast %x\n  %1: f32[n] = cast %0\n"
        "  %2: f32[n] = subtract %1, %y\n"
        "  %3: f32 = sum %2 {wide=1}\n  ret %3\n}\n",
        "func %f(%x: f64[n], %y: f64[n]) -> (f64) {\n"
        "  %0: f64[n] = subtract %x, %y\n"
        "  %1: f64 = sum %0 {wide=1}\n  ret %1\n}\n"};
    LowerPattern patterns[2] = {PATTERN_contiguous, PATTERN_scalar};
    IrGraph *kernel = kernel_parse(texts[_i]);
    char error[300] = "";

    for (int e = 0; e < MAX_ENGINES; e++) {
        LowerKernelFn entry;
        LowerCode *code;

        if (!engines[e].engine)
            continue;
        code = target->compile(engines[e].engine, kernel, patterns, &entry, error,
                               sizeof error);
        ck_assert_msg(code != NULL, "%s", error);
        for (size_t first = 0; first < WIDE_MOST; first++)
            check_wide(entry, engines[e].row, _i < 2 ? 4 : 8, first);
        target->code_free(engines[e].engine, code);
    }
    ir_graph_free(kernel);
}
END_TEST

/* -- What is reduced as a result, too ---------------------------------------- */

enum { STORED_ROWS = 5, STORED_MOST = 128 };

/* The reduction is that of `plain`, elements are stored, and nothing behind them. */
static void
check_stored(LowerKernelFn entry, LowerKernelFn plain, size_t first)
{
    float x[STORED_ROWS * STORED_MOST], y = 0.25F, room[STORED_ROWS * STORED_MOST + 1];
    float sums[STORED_ROWS + 1], right[STORED_ROWS];
    intptr_t list[3 + STORED_ROWS] = {0}, total = 0;

    for (size_t r = 0; r < STORED_ROWS; r++) {
        list[3 + r] = (intptr_t)((first + r * 37) % STORED_MOST) + 1;
        total += list[3 + r];
    }
    for (intptr_t i = 0; i < total; i++)
        x[i] = sinf((float)(i * 3) + (float)first);
    char *data[4] = {(char *)x, (char *)&y, (char *)right};
    plain(data, 0, STORED_ROWS, list + 1); /* one step less */
    memset(room, 0x5a, sizeof room);
    memset(sums, 0x5a, sizeof sums);
    data[2] = (char *)room;
    data[3] = (char *)sums;
    entry(data, 0, STORED_ROWS, list);
    ck_assert(!memcmp(sums, right, sizeof right));
    for (intptr_t i = 0; i < total; i++)
        ck_assert(room[i] == x[i] - y);
    ck_assert(!memcmp(room + total, "ZZZZ", 4) &&
              !memcmp(sums + STORED_ROWS, "ZZZZ", 4));
    data[2] = (char *)x; /* where the operand is */
    entry(data, 0, STORED_ROWS, list);
    ck_assert(!memcmp(x, room, (size_t)total * 4) &&
              !memcmp(sums, right, sizeof right));
}

START_TEST(what_is_reduced_is_stored)
{
    static const char *const ops[] = {"sum %0", "sum %0 {wide=1}", "max %0"};
    LowerPattern patterns[2] = {PATTERN_contiguous, PATTERN_scalar};
    IrGraph *kernels[2];
    char text[300], error[300] = "";

    for (int k = 0; k < 2; k++) {
        snprintf(text, sizeof text,
                 "func %%f(%%x: f32[n], %%y: f32[n]) -> (%s) {\n"
                 "  %%0: f32[n] = subtract %%x, %%y\n  %%1: f32 = %s\n  ret %s\n}\n",
                 k ? "f32[n], f32" : "f32", ops[_i], k ? "%0, %1" : "%1");
        kernels[k] = kernel_parse(text);
    }
    for (int e = 0; e < MAX_ENGINES; e++) {
        LowerKernelFn entries[2];
        LowerCode *codes[2];

        if (!engines[e].engine)
            continue;
        for (int k = 0; k < 2; k++) {
            codes[k] = target->compile(engines[e].engine, kernels[k], patterns,
                                       &entries[k], error, sizeof error);
            ck_assert_msg(codes[k] != NULL, "%s", error);
        }
        for (size_t first = 0; first < STORED_MOST; first++)
            check_stored(entries[1], entries[0], first);
        for (int k = 0; k < 2; k++)
            target->code_free(engines[e].engine, codes[k]);
    }
    ir_graph_free(kernels[0]);
    ir_graph_free(kernels[1]);
}
END_TEST

/* -- Truth ---------------------------------------------------------------- */

START_TEST(any_and_all_are_right)
{
    static const char *const names[] = {"any", "all"};
    LowerPattern patterns[1] = {PATTERN_contiguous};
    char text[200], error[300] = "", x[1000], result[2] = {7, 7},
                    *data[2] = {x, result};
    bool any = _i == 0;

    snprintf(text, sizeof text,
             "func %%f(%%x: f64[n]) -> (bool) {\n  %%0: f64 = const {value=2.0}\n"
             "  %%1: bool[n] = less %%x, %%0\n  %%2: bool = %s %%1\n  ret %%2\n}\n",
             names[_i]);
    IrGraph *kernel = kernel_parse(text);
    for (int e = 0; e < MAX_ENGINES; e++) {
        LowerKernelFn entry;
        LowerCode *code = NULL;
        double values[100];

        if (!engines[e].engine)
            continue;
        code = target->compile(engines[e].engine, kernel, patterns, &entry, error,
                               sizeof error);
        ck_assert_msg(code != NULL, "%s", error);
        data[0] = (char *)values;
        for (intptr_t n = 1; n < 100; n++)
            for (intptr_t other = -1; other < n; other++) {
                for (intptr_t i = 0; i < 100; i++) /* those behind the end tempt */
                    values[i] = (i == other) == any || i >= n ? 1.0 : 3.0;
                for (intptr_t i = n; i < 100; i++)
                    values[i] = any ? 1.0 : 3.0;
                entry(data, 0, 1, (intptr_t[]){0, n});
                ck_assert_int_eq(result[0], any ? other >= 0 : other < 0);
                ck_assert_int_eq(result[1], 7);
            }
        target->code_free(engines[e].engine, code);
    }
    ir_graph_free(kernel);
}
END_TEST

/* -- Rows ----------------------------------------------------------------- */

/* A scalar of its own for each row, results apart. */
START_TEST(rows_have_their_scalars)
{
    IrGraph *kernel = kernel_parse("func %f(%x: f64[n], %y: f64[n]) -> (f64[n]) {\n"
                                   "  %0: f64[n] = add %x, %y\n  ret %0\n}\n");
    LowerPattern patterns[2] = {PATTERN_contiguous, PATTERN_scalar};
    double x[40], y[11], out[11 * 50];
    char error[200];

    for (int i = 0; i < 40; i++)
        x[i] = i * 0.5;
    for (int r = 0; r < 11; r++)
        y[r] = 100.0 * r;
    for (int e = 0; e < MAX_ENGINES; e++) {
        LowerKernelFn entry;
        LowerCode *code;

        if (!engines[e].engine)
            continue;
        code = target->compile(engines[e].engine, kernel, patterns, &entry, error,
                               sizeof error);
        ck_assert_msg(code != NULL, "%s", error);
        for (intptr_t n = 0; n <= 40; n++) {
            char *data[3] = {(char *)x, (char *)y, (char *)out};
            const intptr_t steps[3] = {0, 8, 400};

            memset(out, 0, sizeof out);
            entry(data, n, 11, steps);
            for (int r = 0; r < 11; r++)
                for (int i = 0; i < 50; i++)
                    ck_assert(out[r * 50 + i] == (i < n ? x[i] + y[r] : 0.0));
        }
        target->code_free(engines[e].engine, code);
    }
    ir_graph_free(kernel);
}
END_TEST

static const char *const targets[] = {"x86_64_v4", "x86_64_v3", "x86_64_v2", "aarch64"};

START_TEST(every_target_takes_reductions)
{
    static const char text[] = "func %f(%x: f32[n], %y: f32[n]) -> (f32) {\n"
                               "  %0: f32[n] = multiply %x, %y\n"
                               "  %1: f32 = sum %0\n  ret %1\n}\n";
    LowerEngine *engine = engine_open(targets[_i]);
    IrGraph *kernel = kernel_parse(text);
    LowerPattern patterns[2] = {PATTERN_contiguous, PATTERN_contiguous};
    char error[300] = "";
    char *assembly =
        target->assembly_text(engine, kernel, patterns, error, sizeof error);

    ck_assert_msg(assembly != NULL, "%s", error);
    ck_assert_ptr_null(strstr(assembly, "fmadd"));
    ck_assert_ptr_null(strstr(assembly, "fmla"));
    free(assembly);
    ir_graph_free(kernel);
    target->engine_free(engine);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("lower_fold");
    TCase *tests = tcase_create("host");
    SRunner *runner = srunner_create(suite);
    int failed, nrows = sizeof targets / sizeof *targets;
    int ncases = (int)(sizeof reductions / sizeof *reductions * sizeof numbers /
                       sizeof *numbers);

    if (!module_symbol("pyasc_lower_host")) {
        puts("PYASC_HOST_MODULE names no module: nothing to test");
        return getenv("PYASC_HOST_MODULE") != NULL;
    }
    tcase_set_timeout(tests, 120);
    tcase_add_unchecked_fixture(tests, engines_open, engines_close);
    tcase_add_loop_test(tests, reductions_are_right, 0, ncases);
    tcase_add_loop_test(tests, any_and_all_are_right, 0, 2);
    tcase_add_loop_test(tests, wide_sums_are_right, 0, 3);
    tcase_add_loop_test(tests, what_is_reduced_is_stored, 0, 3);
    tcase_add_test(tests, runs_have_their_scalars);
    tcase_add_test(tests, rows_have_their_scalars);
    tcase_add_loop_test(tests, every_target_takes_reductions, 0, nrows);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
