/* cpu.c - which CPU this is, without asking LLVM.
**
** What a compiler that makes code for "this CPU" can know of it: vendor, family, model and
** stepping, the words of features, and which registers the system saves. Two machines with
** the same text get the same code. What differs from core to core or from run to run (APIC
** ids, cache topology) is left out.
*/
#include <stdio.h>
#include <unistd.h>

#include "runtime/runtime.h"

enum { CACHE_USUAL = 1 << 20, CACHE_LEAST = 1 << 18, CACHE_MOST = 1 << 22 };

size_t
rt_cpu_cache_bytes(void)
{
    long bytes = 0;
#ifdef _SC_LEVEL2_CACHE_SIZE
    bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return bytes < CACHE_LEAST || bytes > CACHE_MOST ? CACHE_USUAL : (size_t)bytes;
}

size_t
rt_cpu_uncached_bytes(void)
{
    long bytes = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
    bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return bytes <= RT_UNCACHED       ? RT_UNCACHED
           : bytes >= 2 * RT_UNCACHED ? 2 * (size_t)RT_UNCACHED
                                      : (size_t)bytes;
}

#if defined(__x86_64__)
#include <cpuid.h>

/* A leaf's registers that hold features: bits 0 to 3 for eax to edx. */
typedef struct Leaf {
    unsigned leaf, subleaf, registers;
} Leaf;

static const Leaf leaves[] = {
    {0x1, 0, 0xd},  {0x7, 0, 0xf},        {0x7, 1, 0xf},
    {0xd, 1, 0x1},  {0x14, 0, 0x2},       {0x19, 0, 0x2},
    {0x24, 0, 0x2}, {0x80000001, 0, 0xc}, {0x80000008, 0, 0x2},
};

/* Registers that the system saves at a switch: without, AVX is not to be used. */
static unsigned
saved_registers(void)
{
    unsigned eax, ebx, ecx, edx, low, high;

    __cpuid(1, eax, ebx, ecx, edx);
    if (!(ecx & bit_OSXSAVE))
        return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

void
rt_cpu_identity(char *text, size_t n)
{
    unsigned r[4], vendor[3], basic, extended;
    size_t at;

    __cpuid(0, basic, vendor[0], vendor[2], vendor[1]);
    __cpuid(0x80000000, extended, r[1], r[2], r[3]);
    at = (size_t)snprintf(text, n, "x86_64 %.12s %x", (const char *)vendor,
                          saved_registers());
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves && at < n; i++) {
        const Leaf *leaf = &leaves[i];

        if (leaf->leaf > (leaf->leaf < 0x80000000 ? basic : extended))
            continue;
        __cpuid_count(leaf->leaf, leaf->subleaf, r[0], r[1], r[2], r[3]);
        for (unsigned k = 0; k < 4 && at < n; k++)
            if (leaf->registers >> k & 1)
                at += (size_t)snprintf(text + at, n - at, " %x", r[k]);
    }
}
#else
/* Code for other CPUs is not kept on disk. */
void
rt_cpu_identity(char *text, size_t n)
{
    snprintf(text, n, "%s", "");
}
#endif
