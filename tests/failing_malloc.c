/* failing_malloc.c - a malloc that fails when it is told to, for LD_PRELOAD (tests/stresses/memory.py).
**
** Calls count from code within [low, high), or from all code if high is 0; `others`: only those of threads
** that are not the first one. Calls number `first` to `first + n - 1` get nothing. first < 0: none fails.
*/
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc's own, under the names it keeps for those who stand in front of it. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void failing_malloc_set(long first, long n, uintptr_t low, uintptr_t high, int others);
long failing_malloc_seen(void);

static atomic_long first_to_fail = -1, failures, seen;
static _Atomic uintptr_t begin, end;
static atomic_int only_others;

void
failing_malloc_set(long first, long n, uintptr_t low, uintptr_t high, int others)
{
    atomic_store(&first_to_fail, -1);
    atomic_store(&begin, low);
    atomic_store(&end, high);
    atomic_store(&failures, n);
    atomic_store(&only_others, others);
    atomic_store(&seen, 0);
    atomic_store(&first_to_fail, first);
}

/* Calls that counted. */
long
failing_malloc_seen(void)
{
    return atomic_load(&seen);
}

static int
fails(void *caller)
{
    long first = atomic_load(&first_to_fail), number;
    uintptr_t at = (uintptr_t)caller, high = atomic_load(&end);

    if (first < 0 || (high && (at < atomic_load(&begin) || at >= high)))
        return 0;
    if (atomic_load(&only_others) && syscall(SYS_gettid) == getpid())
        return 0;
    number = atomic_fetch_add(&seen, 1);
    if (number < first || number >= first + atomic_load(&failures))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *
malloc(size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n);
}
