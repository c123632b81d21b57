/* recipe.h - shared by the files that make the recipes into loops: recipe*.c. */
#pragma once

#include "kernels/kernels.h"

typedef void (*FarFn32)(const float *x, float *r, int n);
typedef void (*FarFn64)(const double *x, double *r, int n);

/* The recipes for one instruction set. */
typedef struct KernelRecipes {
    KernelLoopFn loops[RECIPE_COUNT][2]; /* of float32, of float64 */
    FarFn32 far_f32[RECIPE_COUNT];
    FarFn64 far_f64[RECIPE_COUNT];
} KernelRecipes;

#if defined(__clang__) && defined(__x86_64__)
extern const KernelRecipes kernel_recipes_avx512, kernel_recipes_avx2;
#elif defined(__clang__) && defined(__aarch64__)
extern const KernelRecipes kernel_recipes_neon;
#endif
