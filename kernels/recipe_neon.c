/* recipe_neon.c - the recipes for AArch64. */
#include <math.h>
#include <string.h>

#include "kernels/recipe.h"

#if defined(__clang__) && defined(__aarch64__)
#define VBITS      128
#define TABLE_NAME kernel_recipes_neon
#include "kernels/recipes/loops.inc"
#endif
