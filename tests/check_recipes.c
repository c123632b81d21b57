/* check_recipes.c - elementary functions: loops of kernels/ and kernels of lower/host have
** the same bits, for every instruction set that this machine runs.
*/
#include "kernels/recipe.h"
#include "tests/lower_kernels.h"

enum { POINTS = 1 << 14 };

/* -- The forms ------------------------------------------------------------ */

typedef struct Form {
    const char *row; /* of targets.def; NULL: this machine's */
    const KernelRecipes *recipes;
} Form;

/* By number; recipes NULL: not of this machine. */
static Form
form_at(int i)
{
    Form form = {NULL, NULL};
#if defined(__x86_64__)
    const char *best = kernel_recipe_form();
    bool wide = best && !strcmp(best, "x86_64_v4");

    if (i == 0 && best)
        form.recipes = wide ? &kernel_recipes_avx512 : &kernel_recipes_avx2;
    else if (i == 1 && wide)
        form = (Form){"x86_64_v3", &kernel_recipes_avx2};
#elif defined(__aarch64__)
    if (i == 0)
        form.recipes = &kernel_recipes_neon;
#endif
    return form;
}

static LowerEngine *
engine_of(const Form *form)
{
    for (int e = 0; e < MAX_ENGINES; e++)
        if (form->row == engines[e].row ||
            (form->row && engines[e].row && !strcmp(form->row, engines[e].row)))
            return engines[e].engine;
    return NULL;
}

static const struct {
    const char *name;
    KernelRecipe recipe;
    int arity;
} rows[] = {
#define RECIPE(name, arity, doc) {#name, RECIPE_##name, arity},
#include "kernels/recipes.def"
#undef RECIPE
};

enum { ROWS = sizeof rows / sizeof *rows };

/* -- One function --------------------------------------------------------- */

/* What reference() computes. */
static KernelLoopFn loop;
static int loop_arity;
static intptr_t loop_bytes;
static bool loop_scalar;

static void
reference(char *const *data, intptr_t i)
{
    char *at[3];
    intptr_t one = 1, strides[3];

    for (int k = 0; k <= loop_arity; k++) {
        strides[k] = k == 1 && loop_scalar ? 0 : loop_bytes;
        at[k] = data[k] + i * strides[k];
    }
    loop(NULL, at, &one, strides, NULL);
}

static void
kernel_text(char *text, size_t n, int row, const char *type)
{
    bool scalar = rows[row].recipe == RECIPE_power_scalar;
    char second[40] = "";

    if (rows[row].arity == 2)
        snprintf(second, sizeof second, ", %%y: %s%s", type, scalar ? "" : "[n]");
    snprintf(
        text, n,
        "func %%f(%%x: %s[n]%s) -> (%s[n]) {\n  %%0: %s[n] = %s %%x%s\n  ret %%0\n}\n",
        type, second, type, type, scalar ? "power" : rows[row].name,
        rows[row].arity == 2 ? ", %y" : "");
}

/* Any bits, then numbers that are not far from 1. */
static void
fill_points(char *data, intptr_t bytes, uint64_t seed)
{
    for (int i = 0; i < POINTS; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t bits = seed ^ seed >> 29;
        double near = (double)(int64_t)bits * 0x1p-63 *
                      (i % 3   ? 3
                       : i % 5 ? 90
                               : 20000);
        float single = (float)near;

        if (i % 2)
            memcpy(data + i * bytes, &bits, (size_t)bytes);
        else if (bytes == 8)
            memcpy(data + i * bytes, &near, sizeof near);
        else
            memcpy(data + i * bytes, &single, sizeof single);
    }
}

static void
compare_points(LowerKernelFn entry, IrDtype dtype, const char *text)
{
    char *data[4];
    intptr_t n = POINTS, strides[3];

    for (int k = 0; k < 4; k++) {
        data[k] = malloc((size_t)POINTS * 8);
        fill_points(data[k], loop_bytes, 1 + (uint64_t)k);
    }
    for (int turn = 0; turn < (loop_scalar ? 6 : 1); turn++) {
        char *got[3] = {data[0], data[1] + turn * loop_bytes, data[2]};
        char *want[3] = {data[0], data[1] + turn * loop_bytes, data[3]};

        if (loop_arity == 1) {
            got[1] = data[2];
            want[1] = data[3];
        }
        for (int k = 0; k <= loop_arity; k++)
            strides[k] = k == 1 && loop_scalar ? 0 : loop_bytes;
        entry(got, n, 1, NULL);
        loop(NULL, want, &n, strides, NULL);
        for (int i = 0; i < POINTS; i++)
            if (!same(data[2] + i * loop_bytes, data[3] + i * loop_bytes, dtype))
                ck_abort_msg("point %d differs\n%s", i, text);
    }
    for (int k = 0; k < 4; k++)
        free(data[k]);
}

static void
check_recipe(const Form *form, int row, bool wide)
{
    LowerEngine *engine = engine_of(form);
    LowerPattern patterns[MAX_OPERANDS];
    char text[300], error[300] = "";
    IrGraph *kernel;
    RtMapped code;
    Run run = {.text = text, .row = form->row, .reference = reference};

    kernel_text(text, sizeof text, row, wide ? "f64" : "f32");
    kernel = kernel_parse(text);
    patterns_of(kernel, patterns);
    run_open(&run, kernel);
    ck_assert_msg(code_map(engine, kernel, patterns, &code, error, sizeof error),
                  "%s\n%s", error, text);
    run.entry = code.entry;
    loop = form->recipes->loops[rows[row].recipe][wide];
    loop_arity = rows[row].arity;
    loop_bytes = wide ? 8 : 4;
    loop_scalar = rows[row].recipe == RECIPE_power_scalar;
    for (size_t n = 0; n < SHORT_LENGTHS; n++)
        run_length(&run, n);
    run_length(&run, MAX_LENGTH);
    compare_points(run.entry, wide ? DT_float64 : DT_float32, text);
    rt_image_unmap(&code);
    run_close(&run);
    ir_graph_free(kernel);
}

START_TEST(bits_are_the_same)
{
    for (int i = 0; i < 2; i++) {
        Form form = form_at(i);

        if (form.recipes && engine_of(&form))
            check_recipe(&form, _i / 2, _i % 2);
    }
}
END_TEST

/* -- Other targets -------------------------------------------------------- */

/* Text for a target, or NULL. */
static char *
text_for(const char *row, const char *op, const char *type)
{
    LowerEngine *engine = engine_open(row);
    LowerPattern pattern = PATTERN_contiguous;
    char source[200], error[200], *text;
    IrGraph *kernel;

    snprintf(source, sizeof source,
             "func %%f(%%x: %s[n]) -> (%s[n]) {\n  %%0: %s[n] = %s %%x\n  ret %%0\n}\n",
             type, type, type, op);
    kernel = kernel_parse(source);
    text = target->assembly_text(engine, kernel, &pattern, error, sizeof error);
    ir_graph_free(kernel);
    target->engine_free(engine);
    return text;
}

START_TEST(code_for_other_targets)
{
    static const char *const names[] = {"exp", "log", "sin", "tanh", "arctan", "cbrt"};
    char *text;

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        text = text_for("aarch64", names[i], i % 2 ? "f32" : "f64");
        ck_assert_ptr_nonnull(text);
        ck_assert_ptr_nonnull(strstr(text, "fmla"));
        free(text);
    }
    text = text_for("x86_64_v2", "exp", "f64"); /* has no fused multiply-add */
    ck_assert_ptr_null(text);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("recipes");
    TCase *tests = tcase_create("bits");
    SRunner *runner = srunner_create(suite);
    int failed;

    if (!module_symbol("pyasc_lower_host")) {
        puts("PYASC_HOST_MODULE names no module: nothing to test");
        return getenv("PYASC_HOST_MODULE") != NULL;
    }
    tcase_set_timeout(tests, 120);
    tcase_add_unchecked_fixture(tests, engines_open, engines_close);
    tcase_add_loop_test(tests, bits_are_the_same, 0, 2 * ROWS);
    tcase_add_test(tests, code_for_other_targets);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
