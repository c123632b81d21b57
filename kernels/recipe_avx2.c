/* recipe_avx2.c - the recipes for CPUs with AVX2 and FMA. */
#include <math.h>
#include <string.h>

#include "kernels/recipe.h"

#if defined(__clang__) && defined(__x86_64__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#define VBITS      256
#define TABLE_NAME kernel_recipes_avx2
#include "kernels/recipes/loops.inc"
#pragma clang attribute pop
#endif
