/* kernels.c - the kernels of the process, by key, within a bound of bytes.
**
**     find ─► hit: held                 drop, the last ─► idle, most recently used
**       └► miss ─► compile ─► add: held                      │ found again: held
**                                                            └ too many bytes: freed
**
** Who holds a kernel (through RtCode: the groups of plans, which calls hold while they run)
** may call it; so what is idle has no call inside.
**
** Law 1: `lock` guards every field but those of a kernel that never change. Code is given
**        back without it.
** Law 2: a kernel is in the table while it lives, and in the list of idle ones exactly while
**        `refs` is 0.
** Law 3: once the cache is closed foreign code is not given back: its owner may be gone.
*/
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/fork.h"
#include "runtime/runtime.h"

enum { BUCKETS = 4096 };

struct RtKernel {
    RtKernels *kernels;
    RtKernel *next;          /* of the bucket; or to be freed */
    RtKernel *older, *newer; /* idle */
    size_t refs;
    RtKernelCode code;
    size_t bytes;
    uint32_t hash;
    char *reason;
    size_t nkey;
    char key[];
};

struct RtKernels {
    RtForkMember member;
    pthread_mutex_t lock;
    RtKernel *buckets[BUCKETS];
    RtKernel *oldest, *newest; /* of the idle ones */
    RtKernelStats stats;
    bool closed;
};

static uint32_t
hash_of(const void *key, size_t n)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const uint8_t *)key)[i]) * 16777619u;
    return hash;
}

static void
code_release(const RtKernelCode *code, bool closed)
{
    RtMapped mapped = code->mapped;

    rt_image_unmap(&mapped);
    if (code->release && !closed)
        code->release(code->owner, code->foreign);
}

/* -- Idle kernels; the lock is held ------------------------------------------------ */

static void
idle_push(RtKernels *kernels, RtKernel *kernel)
{
    kernel->older = kernels->newest;
    kernel->newer = NULL;
    *(kernels->newest ? &kernels->newest->newer : &kernels->oldest) = kernel;
    kernels->newest = kernel;
    kernels->stats.idle_kernels++;
    kernels->stats.idle_bytes += kernel->bytes;
}

static void
idle_remove(RtKernels *kernels, RtKernel *kernel)
{
    *(kernel->older ? &kernel->older->newer : &kernels->oldest) = kernel->newer;
    *(kernel->newer ? &kernel->newer->older : &kernels->newest) = kernel->older;
    kernels->stats.idle_kernels--;
    kernels->stats.idle_bytes -= kernel->bytes;
}

/* Where a kernel of this key is, or would be. */
static RtKernel **
place_of(RtKernels *kernels, const void *key, size_t n, uint32_t hash)
{
    RtKernel **place = &kernels->buckets[hash % BUCKETS];

    while (*place && ((*place)->hash != hash || (*place)->nkey != n ||
                      memcmp((*place)->key, key, n) != 0))
        place = &(*place)->next;
    return place;
}

/* Takes the oldest idle kernels out while there are too many bytes: a list by `next`. */
static RtKernel *
idle_take(RtKernels *kernels)
{
    RtKernel *taken = NULL, *kernel;

    while (kernels->oldest && kernels->stats.bytes > kernels->stats.bound) {
        kernel = kernels->oldest;
        idle_remove(kernels, kernel);
        *place_of(kernels, kernel->key, kernel->nkey, kernel->hash) = kernel->next;
        kernels->stats.kernels--;
        kernels->stats.bytes -= kernel->bytes;
        kernels->stats.evictions++;
        kernel->next = taken;
        taken = kernel;
    }
    return taken;
}

/* The lock is not held. */
static void
free_taken(RtKernel *taken, bool closed)
{
    for (RtKernel *next; taken; taken = next) {
        next = taken->next;
        code_release(&taken->code, closed);
        free(taken->reason);
        free(taken);
    }
}

static RtKernel *
hold(RtKernels *kernels, RtKernel *kernel)
{
    if (!kernel->refs++)
        idle_remove(kernels, kernel);
    return kernel;
}

/* -- Kernels ----------------------------------------------------------------------- */

RtKernel *
rt_kernels_find(RtKernels *kernels, const void *key, size_t n)
{
    uint32_t hash = hash_of(key, n);
    RtKernel *kernel;

    pthread_mutex_lock(&kernels->lock);
    kernel = *place_of(kernels, key, n, hash);
    if (kernel) {
        hold(kernels, kernel);
        kernels->stats.hits++;
    } else {
        kernels->stats.misses++;
    }
    pthread_mutex_unlock(&kernels->lock);
    return kernel;
}

static RtKernel *
kernel_new(RtKernels *kernels, const void *key, size_t n, const RtKernelCode *code)
{
    RtKernel *kernel = calloc(1, sizeof *kernel + n);

    if (!kernel)
        return NULL;
    kernel->kernels = kernels;
    kernel->code = *code;
    kernel->hash = hash_of(key, n);
    kernel->nkey = n;
    memcpy(kernel->key, key, n);
    kernel->reason = strdup(code->reason ? code->reason : "");
    kernel->bytes = sizeof *kernel + n + code->mapped.size + code->foreign_bytes;
    if (kernel->reason)
        return kernel;
    free(kernel);
    return NULL;
}

RtKernel *
rt_kernels_add(RtKernels *kernels, const void *key, size_t n, const RtKernelCode *code)
{
    RtKernel *kernel = kernel_new(kernels, key, n, code), **place, *known,
             *taken = NULL;

    if (!kernel) {
        code_release(code, false);
        return NULL;
    }
    pthread_mutex_lock(&kernels->lock);
    place = place_of(kernels, key, n, kernel->hash);
    known = *place;
    if (known) {
        hold(kernels, known);
    } else {
        *place = kernel;
        kernel->refs = 1;
        kernels->stats.kernels++;
        kernels->stats.bytes += kernel->bytes;
        taken = idle_take(kernels);
    }
    pthread_mutex_unlock(&kernels->lock);
    free_taken(known ? kernel : taken, false);
    return known ? known : kernel;
}

static void kernels_destroy(RtKernels *kernels);

void
rt_kernel_drop(RtKernel *kernel)
{
    RtKernels *kernels = kernel ? kernel->kernels : NULL;
    RtKernel *taken = NULL;
    bool closed, last;

    if (!kernel)
        return;
    pthread_mutex_lock(&kernels->lock);
    if (!--kernel->refs) {
        idle_push(kernels, kernel);
        taken = idle_take(kernels);
    }
    closed = kernels->closed;
    last = closed && !kernels->stats.kernels;
    pthread_mutex_unlock(&kernels->lock);
    free_taken(taken, closed);
    if (last)
        kernels_destroy(kernels);
}

RtKernelFn
rt_kernel_entry(const RtKernel *kernel)
{
    return kernel->code.mapped.memory ? kernel->code.mapped.entry : kernel->code.entry;
}

const char *
rt_kernel_reason(const RtKernel *kernel)
{
    return kernel->reason;
}

/* -- The cache --------------------------------------------------------------------- */

static void
fork_prepare(RtForkMember *member)
{
    pthread_mutex_lock(&((RtKernels *)member)->lock);
}

static void
fork_done(RtForkMember *member)
{
    pthread_mutex_unlock(&((RtKernels *)member)->lock);
}

static const RtForkHooks fork_hooks = {RANK_kernels, fork_prepare, fork_done, fork_done,
                                       NULL};

RtKernels *
rt_kernels_new(size_t bound)
{
    RtKernels *kernels = calloc(1, sizeof *kernels);

    if (!kernels)
        return NULL;
    pthread_mutex_init(&kernels->lock, NULL);
    kernels->stats.bound = bound;
    if (rt_fork_join(&kernels->member, &fork_hooks))
        return kernels;
    free(kernels);
    return NULL;
}

static void
kernels_destroy(RtKernels *kernels)
{
    rt_fork_leave(&kernels->member);
    pthread_mutex_destroy(&kernels->lock);
    free(kernels);
}

void
rt_kernels_free(RtKernels *kernels)
{
    RtKernel *taken;
    bool last;

    if (!kernels)
        return;
    pthread_mutex_lock(&kernels->lock);
    kernels->stats.bound = 0;
    taken = idle_take(kernels);
    kernels->closed = true;
    last = !kernels->stats.kernels;
    pthread_mutex_unlock(&kernels->lock);
    free_taken(taken, false);
    if (last)
        kernels_destroy(kernels);
}

void
rt_kernels_set_bound(RtKernels *kernels, size_t bytes)
{
    RtKernel *taken;

    pthread_mutex_lock(&kernels->lock);
    kernels->stats.bound = bytes;
    taken = idle_take(kernels);
    pthread_mutex_unlock(&kernels->lock);
    free_taken(taken, false);
}

RtKernelStats
rt_kernels_stats(RtKernels *kernels)
{
    RtKernelStats stats;

    pthread_mutex_lock(&kernels->lock);
    stats = kernels->stats;
    pthread_mutex_unlock(&kernels->lock);
    return stats;
}
