/* along_avx2.c - the loops along an axis for CPUs with AVX2. */
#include "kernels/along.h"

#if defined(__clang__) && defined(__x86_64__)
#pragma clang attribute push(__attribute__((target("avx2"), min_vector_width(256))),   \
                             apply_to = function)
#define ALONG_TABLE kernel_along_avx2
#include "kernels/along.inc"
#pragma clang attribute pop
#endif
