/* lower_kernels.h - compiles kernels and compares them with plain C, for the suites of
** lower/.
**
** A kernel is run by the code of every row of targets.def that this machine can run,
** over many lengths, on operands that end where a page that must not be touched begins,
** on operands one element lower, and in place. Results have to be equal to the bit, any
** NaN being equal to any NaN, and nothing around them may have changed.
*/
#pragma once

#include <check.h>
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/kernels.h"
#include "lower/host/engine.h"
#include "lower/lower.h"

enum {
    MAX_LENGTH = 1000,
    SHORT_LENGTHS = 68, /* 0 … 67 are all tried */
    MAX_OPERANDS = 8,
    MAX_ENGINES = 3,
    ROOM = 16 << 12, /* bytes of an operand, whole pages */
};

/* Computes element i of all results; data as for a kernel. */
typedef void (*ReferenceFn)(char *const *data, intptr_t i);

/* Of this machine, which is of the best row it can run, and of those it can run too. */
static const LowerTarget *target;
static struct {
    const char *row;
    LowerEngine *engine;
} engines[] = {{NULL, NULL}, {"x86_64_v3", NULL}, {"x86_64_v2", NULL}};

/* -- The module ----------------------------------------------------------- */

/* A function of the module, as the compile thread finds it; NULL: no module was built.
** */
static void *
module_symbol(const char *name)
{
    const char *path = getenv("PYASC_HOST_MODULE");
    void *module = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

    if (path && !module)
        fprintf(stderr, "%s\n", dlerror());
    return module ? dlsym(module, name) : NULL;
}

static LowerEngine *
engine_open(const char *row)
{
    LowerHostEngineFn open;
    char error[200] = "";
    LowerEngine *engine;
    void *symbol = module_symbol("pyasc_lower_host_engine");

    memcpy(&open, &symbol, sizeof open);
    engine = open(row, error, sizeof error);
    ck_assert_msg(engine != NULL, "%s: %s", row ? row : "host", error);
    return engine;
}

static IrGraph *
kernel_parse(const char *text)
{
    char error[200] = "";
    IrGraph *kernel = ir_parse(text, error, sizeof error);

    ck_assert_msg(kernel != NULL, "%s\n%s", error, text);
    return kernel;
}

/* The kernel's code as calls run it: an image that is mapped. False: error is filled in. */
static __attribute__((unused)) bool
code_map(LowerEngine *engine, const IrGraph *kernel, const LowerPattern *patterns,
         RtMapped *mapped, char *error, size_t n)
{
    RtImage image;

    if (!target->image(engine, kernel, patterns, &image, error, n))
        return false;
    snprintf(error, n, "the image cannot be mapped");
    bool done = rt_image_map(&image, kernel_symbol, mapped);
    free(image.memory);
    return done;
}

static void
patterns_of(const IrGraph *kernel, LowerPattern *patterns)
{
    for (uint32_t i = 0; i < ir_nparams(kernel); i++)
        patterns[i] = ir_type(kernel, ir_param(kernel, i)).ndim ? PATTERN_contiguous
                                                                : PATTERN_scalar;
}

/* Opens an engine for every row whose code runs here. */
static void
engines_open(void)
{
    IrGraph *kernel = kernel_parse("func %f(%x: f64[n]) -> (f64[n]) {\n"
                                   "  %0: f64[n] = negative %x\n  ret %0\n}\n");
    LowerPattern patterns[1] = {PATTERN_contiguous};
    const LowerTarget *(*table)(void);
    void *symbol = module_symbol("pyasc_lower_host");

    memcpy(&table, &symbol, sizeof table);
    target = table();
    for (int i = 0; i < MAX_ENGINES; i++) {
        LowerEngine *engine = engine_open(engines[i].row);
        LowerKernelFn entry;
        char error[200];
        LowerCode *code =
            target->compile(engine, kernel, patterns, &entry, error, sizeof error);

        if (code) {
            target->code_free(engine, code);
            engines[i].engine = engine;
        } else {
            target->engine_free(engine);
        }
    }
    ir_graph_free(kernel);
    ck_assert_ptr_nonnull(engines[0].engine);
}

static void
engines_close(void)
{
    for (int i = 0; i < MAX_ENGINES; i++)
        target->engine_free(engines[i].engine);
}

/* -- Values --------------------------------------------------------------- */

static const double special_floats[] = {
    0.0,    -0.0,   1.0,     -1.0,         0.5,          -0.5,          1.5,
    -2.5,   3.0,    -7.25,   1e-310,       -1e-310,      5e-324,        1e-40,
    1e300,  -1e300, 3e38,    INFINITY,     -INFINITY,    NAN,           127.5,
    -129.0, 300.0,  65535.9, 2147483647.0, 2147483648.0, -2147483649.0, 4294967296.0,
    9.3e18, 1.9e19, -9.3e18};
static const int64_t special_ints[] = {
    0,         1,         -1,         2,         -2,        3,         7,
    -7,        10,        63,         64,        100,       INT8_MIN,  INT8_MAX,
    INT16_MIN, INT16_MAX, INT32_MIN,  INT32_MAX, INT64_MIN, INT64_MAX, INT64_MIN + 1,
    255,       65535,     4294967295, 31,        32,        33,        8,
    15,        16,        -64};

enum { SPECIALS = sizeof special_floats / sizeof *special_floats };

_Static_assert(SPECIALS == sizeof special_ints / sizeof *special_ints, "pairs repeat");

/* Every pair of special values occurs among operands 0 and 1 of MAX_LENGTH elements. */
static size_t
special_index(uint32_t operand, size_t i)
{
    switch (operand) {
    case 0:
        return i % SPECIALS;
    case 1:
        return i / SPECIALS % SPECIALS;
    default:
        return (7 * i + 3 * operand) % SPECIALS;
    }
}

static void
put_element(char *at, IrDtype dtype, double real, int64_t whole)
{
    float single = real > 3.4e38 || real < -3.4e38
                       ? copysignf(INFINITY, (float)(real > 0) - 0.5f)
                       : (float)real;
    _Float16 half = (_Float16)single;

    switch (dtype) {
    case DT_float16:
        memcpy(at, &half, sizeof half);
        break;
    case DT_float32:
        memcpy(at, &single, sizeof single);
        break;
    case DT_float64:
        memcpy(at, &real, sizeof real);
        break;
    case DT_boolean:
        *at = whole & 1;
        break;
    default:
        memcpy(at, &whole, ir_dtype_bytes(dtype)); /* little end first */
    }
}

static void
fill(char *data, IrDtype dtype, uint32_t operand, size_t n)
{
    size_t bytes = ir_dtype_bytes(dtype);
    bool pair = ir_dtype_kind(dtype) == KIND_complex;
    IrDtype part = dtype == DT_complex64 ? DT_float32 : DT_float64;

    for (size_t i = 0; i < n; i++) {
        size_t k = special_index(operand, i);

        put_element(data + i * bytes, pair ? part : dtype, special_floats[k],
                    special_ints[k]);
        if (pair)
            put_element(data + i * bytes + bytes / 2, part,
                        special_floats[(k + 5 * i / SPECIALS) % SPECIALS], 0);
    }
}

static bool
same_part(const char *got, const char *want, IrDtype dtype)
{
    double x, y;
    float xf, yf;
    _Float16 xh, yh;

    if (!memcmp(got, want, ir_dtype_bytes(dtype)))
        return true;
    switch (dtype) {
    case DT_float16:
        memcpy(&xh, got, sizeof xh);
        memcpy(&yh, want, sizeof yh);
        return xh != xh && yh != yh;
    case DT_float32:
        memcpy(&xf, got, sizeof xf);
        memcpy(&yf, want, sizeof yf);
        return isnan(xf) && isnan(yf);
    case DT_float64:
        memcpy(&x, got, sizeof x);
        memcpy(&y, want, sizeof y);
        return isnan(x) && isnan(y);
    default:
        return false;
    }
}

static bool
same(const char *got, const char *want, IrDtype dtype)
{
    if (dtype == DT_complex64)
        return same_part(got, want, DT_float32) &&
               same_part(got + 4, want + 4, DT_float32);
    if (dtype == DT_complex128)
        return same_part(got, want, DT_float64) &&
               same_part(got + 8, want + 8, DT_float64);
    return same_part(got, want, dtype);
}

/* -- Runs ----------------------------------------------------------------- */

typedef struct Run {
    const char *text, *row;
    uint32_t nparams, noperands;
    IrDtype dtypes[MAX_OPERANDS];
    bool scalars[MAX_OPERANDS];
    char *rooms[MAX_OPERANDS]; /* ROOM bytes, then a page not to be touched */
    char *got[MAX_OPERANDS], *want[MAX_OPERANDS]; /* operands of the kernel, of C */
    char *copies[MAX_OPERANDS];                   /* ROOM bytes each */
    LowerKernelFn entry;
    ReferenceFn reference;
} Run;

static void
run_open(Run *run, const IrGraph *kernel)
{
    run->nparams = ir_nparams(kernel);
    run->noperands = run->nparams + ir_nreturns(kernel);
    ck_assert_uint_le(run->noperands, MAX_OPERANDS);
    for (uint32_t k = 0; k < run->noperands; k++) {
        IrType type =
            ir_type(kernel, k < run->nparams ? ir_param(kernel, k)
                                             : ir_return_at(kernel, k - run->nparams));

        run->dtypes[k] = type.dtype;
        run->scalars[k] = k < run->nparams && !type.ndim;
        run->rooms[k] = mmap(NULL, ROOM + 4096, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ck_assert(run->rooms[k] != MAP_FAILED);
        mprotect(run->rooms[k] + ROOM, 4096, PROT_NONE);
        run->copies[k] = malloc(ROOM);
    }
}

static void
run_close(Run *run)
{
    for (uint32_t k = 0; k < run->noperands; k++) {
        munmap(run->rooms[k], ROOM + 4096);
        free(run->copies[k]);
    }
}

/* Places operands of n elements, `lower` elements below the end of their room. */
static void
run_place(Run *run, size_t n, size_t lower)
{
    for (uint32_t k = 0; k < run->noperands; k++) {
        size_t count = run->scalars[k] ? 1 : n, bytes = ir_dtype_bytes(run->dtypes[k]);
        size_t start = ROOM - (count + (run->scalars[k] ? 0 : lower)) * bytes;

        memset(run->rooms[k], 0xcc, ROOM);
        run->got[k] = run->rooms[k] + start;
        if (k < run->nparams)
            fill(run->got[k], run->dtypes[k], k, count);
        memcpy(run->copies[k], run->rooms[k], ROOM);
        run->want[k] = run->copies[k] + start;
    }
}

/* Compares all memory of operand k, which holds n elements at the place of the run. */
static void
run_compare(const Run *run, uint32_t k, size_t n, const char *how)
{
    size_t bytes = ir_dtype_bytes(run->dtypes[k]);
    size_t start = (size_t)(run->got[k] - run->rooms[k]), end = start + n * bytes;

    for (size_t i = 0; i < n; i++)
        if (!same(run->got[k] + i * bytes, run->want[k] + i * bytes, run->dtypes[k]))
            ck_abort_msg("%s: %s, n = %zu: element %zu differs\n%s",
                         run->row ? run->row : "host", how, n, i, run->text);
    if (memcmp(run->rooms[k], run->copies[k], start) ||
        memcmp(run->rooms[k] + end, run->copies[k] + end, ROOM - end))
        ck_abort_msg("%s: %s, n = %zu: memory around operand %u changed\n%s",
                     run->row ? run->row : "host", how, n, k, run->text);
}

static void
run_apart(Run *run, size_t n, size_t lower)
{
    run_place(run, n, lower);
    for (size_t i = 0; i < n; i++)
        run->reference(run->want, (intptr_t)i);
    run->entry(run->got, (intptr_t)n, 1, NULL);
    for (uint32_t k = 0; k < run->noperands; k++)
        run_compare(run, k, run->scalars[k] ? 1 : n,
                    lower ? "one lower" : "at the end");
}

/* The same elements in rows of n. */
static void
run_rows(Run *run, size_t rows, size_t n)
{
    intptr_t steps[MAX_OPERANDS];

    run_place(run, rows * n, 0);
    for (size_t i = 0; i < rows * n; i++)
        run->reference(run->want, (intptr_t)i);
    for (uint32_t k = 0; k < run->noperands; k++)
        steps[k] = run->scalars[k] ? 0 : (intptr_t)(n * ir_dtype_bytes(run->dtypes[k]));
    run->entry(run->got, (intptr_t)n, (intptr_t)rows, steps);
    for (uint32_t k = 0; k < run->noperands; k++)
        run_compare(run, k, run->scalars[k] ? 1 : rows * n, "in rows");
}

/* Result r in the memory of parameter p, of the same dtype. */
static void
run_in_place(Run *run, uint32_t p, uint32_t r, size_t n)
{
    char *got = run->got[r], *room = run->rooms[r], *copy = run->copies[r];

    run_place(run, n, 0);
    for (size_t i = 0; i < n; i++)
        run->reference(run->want, (intptr_t)i);
    got = run->got[r];
    run->got[r] = run->got[p];
    run->entry(run->got, (intptr_t)n, 1, NULL);
    run->rooms[r] = run->rooms[p];
    run->copies[r] = memcpy(run->copies[p], run->copies[r], ROOM);
    run_compare(run, r, n, "in place");
    run->got[r] = got;
    run->rooms[r] = room;
    run->copies[r] = copy;
}

static void
run_length(Run *run, size_t n)
{
    run_apart(run, n, 0);
    run_apart(run, n, 1);
    for (uint32_t p = 0; p < run->nparams; p++)
        if (!run->scalars[p] && run->dtypes[p] == run->dtypes[run->nparams])
            run_in_place(run, p, run->nparams, n);
}

/* Compiles the kernel for every row and compares it with the reference. */
static __attribute__((unused)) void
check_kernel(const char *text, ReferenceFn reference)
{
    IrGraph *kernel = kernel_parse(text);
    LowerPattern patterns[MAX_OPERANDS];
    Run run = {.text = text, .reference = reference};
    char error[300] = "";

    run_open(&run, kernel);
    patterns_of(kernel, patterns);
    ck_assert_msg(target->supports(kernel, error, sizeof error), "%s", error);
    for (int e = 0; e < MAX_ENGINES; e++) {
        RtMapped code = {0};

        if (!engines[e].engine)
            continue;
        run.row = engines[e].row;
        bool made =
            code_map(engines[e].engine, kernel, patterns, &code, error, sizeof error);
        run.entry = code.entry;
        if (!made && run.row && strstr(text, "f16") && !strcmp(run.row, "x86_64_v2"))
            continue; /* has no conversions */
        ck_assert_msg(made, "%s: %s\n%s", run.row ? run.row : "host", error, text);
        for (size_t n = 0; n < SHORT_LENGTHS; n++)
            run_length(&run, n);
        run_length(&run, MAX_LENGTH);
        for (size_t rows = 1; rows < 12; rows++)
            run_rows(&run, rows, 3 * rows - 2);
        rt_image_unmap(&code);
    }
    run_close(&run);
    ir_graph_free(kernel);
}
