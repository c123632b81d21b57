/* along.c - loops along an axis: which this CPU runs, and those for any. */
#include "kernels/along.h"

#if defined(__clang__)
#define ALONG_TABLE kernel_along_any
#include "kernels/along.inc"

static const KernelAlong *
find_table(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return &kernel_along_avx512;
    if (__builtin_cpu_supports("avx2"))
        return &kernel_along_avx2;
#endif
    return &kernel_along_any;
}

const KernelPosition *
kernel_position(KernelType type, bool greatest)
{
    return find_table()->positions[type][greatest];
}

const KernelScan *
kernel_scan(KernelType type, bool product)
{
    return find_table()->scans[type][product];
}
#else
const KernelPosition *
kernel_position(KernelType type, bool greatest)
{
    (void)type, (void)greatest;
    return NULL;
}

const KernelScan *
kernel_scan(KernelType type, bool product)
{
    (void)type, (void)product;
    return NULL;
}
#endif
