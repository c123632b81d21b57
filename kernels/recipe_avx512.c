/* recipe_avx512.c - the recipes for CPUs with AVX-512. */
#include <math.h>
#include <string.h>

#include "kernels/recipe.h"

#if defined(__clang__) && defined(__x86_64__)
#include <immintrin.h>

#pragma clang attribute push(                                                          \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma"),                   \
                   min_vector_width(512))),                                            \
    apply_to = function)
#define VBITS      512
#define TABLE_NAME kernel_recipes_avx512
#include "kernels/recipes/loops.inc"
#pragma clang attribute pop
#endif
