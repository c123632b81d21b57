/* symbol.c - what compiled kernels call, by name: functions of the C library that instructions
** without code of their own become, and those of recipes that are too long to be inlined. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/kernels.h"

typedef struct Symbol {
    const char *name;
    double (*f64)(double, double);
    float (*f32)(float, float);
} Symbol;

static const Symbol of_libm[] = {{"fmod", fmod, NULL}, {"fmodf", NULL, fmodf}};

/* What nests call: Python's math module, and powers of numbers one by one, are C's. */
typedef struct Function {
    const char *name;
    double (*unary)(double);
    double (*binary)(double, double);
    float (*f32)(float, float);
} Function;

#define UNARY(name)  {#name, name, NULL, NULL}
#define BINARY(name) {#name, NULL, name, NULL}
static const Function of_nests[] = {
    UNARY(exp),
    UNARY(exp2),
    UNARY(expm1),
    UNARY(log),
    UNARY(log2),
    UNARY(log10),
    UNARY(log1p),
    UNARY(sin),
    UNARY(cos),
    UNARY(tan),
    UNARY(asin),
    UNARY(acos),
    UNARY(atan),
    BINARY(atan2),
    UNARY(sinh),
    UNARY(cosh),
    UNARY(tanh),
    UNARY(asinh),
    UNARY(acosh),
    UNARY(atanh),
    BINARY(pow),
    BINARY(fmod),
    UNARY(cbrt),
    BINARY(hypot),
    UNARY(erf),
    UNARY(erfc),
    BINARY(copysign),
    {"powf", NULL, NULL, powf},
    {"hypotf", NULL, NULL, hypotf},
};
#undef UNARY
#undef BINARY
/* Sums of runs. */
typedef struct Sum {
    const char *name;
    double (*f64)(const char *, intptr_t, intptr_t);
    float (*f32)(const char *, intptr_t, intptr_t);
} Sum;

static const Sum sums[] = {{"pyasc_sum_f64", kernel_sum_f64, NULL},
                           {"pyasc_sum_f32", NULL, kernel_sum_f32},
                           {"pyasc_wide_sum_f64", kernel_wide_sum_f64, NULL},
                           {"pyasc_wide_sum_f32", NULL, kernel_wide_sum_f32}};

static const struct {
    const char *name;
    KernelCompressFn compress;
} compressing[] = {{"pyasc_compress_1", kernel_compress_1},
                   {"pyasc_compress_2", kernel_compress_2},
                   {"pyasc_compress_4", kernel_compress_4},
                   {"pyasc_compress_8", kernel_compress_8}};

static const KernelRecipe far[] = {RECIPE_sin, RECIPE_cos, RECIPE_tan};

enum {
    OF_LIBM = sizeof of_libm / sizeof *of_libm,
    OF_NESTS = sizeof of_nests / sizeof *of_nests,
    SUMS = sizeof sums / sizeof *sums,
    COMPRESSING = sizeof compressing / sizeof *compressing,
    FAR = sizeof far / sizeof *far,
};

bool
kernel_symbol_at(unsigned i, char *name, size_t n, uintptr_t *address)
{
    if (i < OF_LIBM) {
        snprintf(name, n, "%s", of_libm[i].name);
        *address =
            of_libm[i].f64 ? (uintptr_t)of_libm[i].f64 : (uintptr_t)of_libm[i].f32;
        return true;
    }
    i -= OF_LIBM;
    if (i < OF_NESTS) {
        const Function *f = &of_nests[i];
        snprintf(name, n, "pyasc_libm_%s", f->name);
        *address = f->unary    ? (uintptr_t)f->unary
                   : f->binary ? (uintptr_t)f->binary
                               : (uintptr_t)f->f32;
        return true;
    }
    i -= OF_NESTS;
    if (i < SUMS) {
        snprintf(name, n, "%s", sums[i].name);
        *address = sums[i].f64 ? (uintptr_t)sums[i].f64 : (uintptr_t)sums[i].f32;
        return true;
    }
    i -= SUMS;
    if (i < COMPRESSING) {
        snprintf(name, n, "%s", compressing[i].name);
        *address = (uintptr_t)compressing[i].compress;
        return true;
    }
    i -= COMPRESSING;
    if (i >= 2 * FAR)
        return kernel_library_at(i - 2 * FAR, name, n, address);
    snprintf(name, n, "pyasc_far_%s_%s", kernel_recipe_name(far[i / 2]),
             i % 2 ? "f64" : "f32");
    *address = kernel_recipe_far(far[i / 2], i % 2 ? KERNEL_f64 : KERNEL_f32);
    return true;
}

void *
kernel_symbol(const char *name)
{
    char known[48];
    uintptr_t address;

    for (unsigned i = 0; kernel_symbol_at(i, known, sizeof known, &address); i++)
        if (!strcmp(known, name))
            return (void *)address;
    return NULL;
}
