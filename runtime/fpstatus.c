/* fpstatus.c - floating-point flags as NumPy's warning categories.
**
** On x86 all arithmetic but long double's is SSE, whose flags are in MXCSR: reading and
** writing it takes 3 ns, feclearexcept (which does x87's as well) 87 ns. Elsewhere
** <fenv.h> has to do; there the saved word is the flags alone.
*/
#if defined(__SSE2__)
#include <immintrin.h>
#else
#include <fenv.h>
#endif

#include "runtime/runtime.h"

#if defined(__SSE2__)

uint32_t
rt_fpstatus_save(void)
{
    return _mm_getcsr();
}

void
rt_fpstatus_restore(uint32_t saved)
{
    if (_mm_getcsr() != saved) /* writing takes longer than asking */
        _mm_setcsr(saved);
}

void
rt_fpstatus_clear(void)
{
    uint32_t word = _mm_getcsr();

    if (word & _MM_EXCEPT_MASK) /* writing takes longer than asking */
        _mm_setcsr(word & ~(uint32_t)_MM_EXCEPT_MASK);
}

unsigned
rt_fpstatus_test(void)
{
    unsigned raised = _mm_getcsr();

    return (raised & _MM_EXCEPT_DIV_ZERO ? RT_FP_divide : 0) |
           (raised & _MM_EXCEPT_OVERFLOW ? RT_FP_over : 0) |
           (raised & _MM_EXCEPT_UNDERFLOW ? RT_FP_under : 0) |
           (raised & _MM_EXCEPT_INVALID ? RT_FP_invalid : 0);
}

#else

uint32_t
rt_fpstatus_save(void)
{
    return (uint32_t)fetestexcept(FE_ALL_EXCEPT);
}

void
rt_fpstatus_restore(uint32_t saved)
{
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept((int)saved);
}

void
rt_fpstatus_clear(void)
{
    feclearexcept(FE_ALL_EXCEPT);
}

unsigned
rt_fpstatus_test(void)
{
    int raised = fetestexcept(FE_ALL_EXCEPT);

    return (raised & FE_DIVBYZERO ? RT_FP_divide : 0) |
           (raised & FE_OVERFLOW ? RT_FP_over : 0) |
           (raised & FE_UNDERFLOW ? RT_FP_under : 0) |
           (raised & FE_INVALID ? RT_FP_invalid : 0);
}

#endif
