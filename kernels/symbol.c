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
static const KernelRecipe far[] = {RECIPE_sin, RECIPE_cos, RECIPE_tan};

enum { OF_LIBM = sizeof of_libm / sizeof *of_libm, FAR = sizeof far / sizeof *far };

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
    if (i >= 2 * FAR)
        return false;
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
