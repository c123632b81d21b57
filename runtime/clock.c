/* clock.c - monotonic time. */
#include <time.h>

#include "runtime/runtime.h"

int64_t
rt_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
