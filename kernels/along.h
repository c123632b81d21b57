/* along.h - shared by along*.c: the loops of an instruction set. */
#pragma once

#include "kernels/kernels.h"

typedef struct KernelAlong {
    const KernelPosition *positions[KERNEL_TYPE_COUNT][2]; /* least, greatest */
    const KernelScan *scans[KERNEL_TYPE_COUNT][2];         /* sums, products */
} KernelAlong;

extern const KernelAlong kernel_along_any, kernel_along_avx2, kernel_along_avx512;
