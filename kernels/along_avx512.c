/* along_avx512.c - the loops along an axis for CPUs with AVX-512. */
#include "kernels/along.h"

#if defined(__clang__) && defined(__x86_64__)
#pragma clang attribute push(                                                          \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"),                       \
                   min_vector_width(512))),                                            \
    apply_to = function)
#define ALONG_TABLE kernel_along_avx512
#include "kernels/along.inc"
#pragma clang attribute pop
#endif
