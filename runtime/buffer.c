/* buffer.c - aligned memory that is kept for reuse.
**
**     take ─► idle list of the class ─► the system: aligned_alloc to 128 KiB, then mmap
**     give ─► idle list of the class ─► the system, when more than the bound is idle
**
** A block is a head of 64 bytes and the memory behind it. The head says what give
** needs, so that no caller has to remember sizes (NumPy's handlers get some of them
** wrong). Memory of arrays begins up to 48 bytes behind a line of the caches, as what it is computed from
** does: the vectors of both then lie in whole lines, or those of neither. Sizes, head and these bytes included, are rounded up to a class: multiples of 64 bytes to 1
** KiB, then eight steps a doubling, so that at most an eighth is lost; pages never
** touched cost nothing.
**
** Law 1: the lock guards lists and counters only. The system is called, and memory is
**        cleared, with the lock free: munmap of a large block takes a millisecond.
** Law 2: a head is written by the block's owner, or under the lock while it is idle.
*/
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "runtime/fork.h"
#include "runtime/runtime.h"

enum {
    FARTHEST = 48, /* bytes from a line of the caches to an array: multiples of 16 */
    MALLOC_OFFSET = 16, /* where large memory of malloc's begins */
    FINE_STEP = 64,     /* step of the classes up to FINE_LIMIT */
    FINE_LIMIT = 1024,  /* 1 << FINE_BITS */
    FINE_BITS = 10,
    FINE_CLASSES = FINE_LIMIT / FINE_STEP,
    STEP_BITS = 3, /* 8 steps a doubling above */
    MAX_BITS = 47, /* of an address */
    CLASSES = FINE_CLASSES + ((MAX_BITS - FINE_BITS) << STEP_BITS),
    MAPPED_LIMIT = 128 << 10, /* larger blocks are mapped */
    HUGE_LIMIT = 4 << 20,     /* and from here on, in huge pages */
    HUGE_PAGE = 2 << 20,
    LEAD =
        1
        << 16,  /* of mapped memory, in front of what is used: the head is at its end */
    SPINS = 64, /* before the lock yields to whoever holds it */
};

typedef struct Block {
    _Alignas(RT_ALIGNMENT) struct Block *next; /* while idle */
    size_t bytes;                              /* head included */
    uint32_t class;
} Block;

_Static_assert(sizeof(Block) == RT_ALIGNMENT, "memory begins behind the head");

struct RtPool {
    RtForkMember member;
    atomic_bool locked;
    uint32_t hand; /* the class that gives up a block next */
    size_t bound;
    RtPoolStats stats;
    Block *idle[CLASSES];
};

/* -- Classes ----------------------------------------------------------------------- */

/* Returns the class of blocks that hold `size` bytes and a head; false if none does. */
static bool
class_find(size_t size, uint32_t *class, size_t *bytes)
{
    size_t total = size + sizeof(Block) + FARTHEST, last = total - 1;
    unsigned bits, step;

    if (total <= FINE_LIMIT && total > size) {
        *class = (uint32_t)(last / FINE_STEP);
        *bytes = (*class + 1) * (size_t)FINE_STEP;
        return true;
    }
    if (total < size || last >> MAX_BITS)
        return false;
    bits = 63 - (unsigned)__builtin_clzll(last);
    step = (last >> (bits - STEP_BITS)) & ((1u << STEP_BITS) - 1);
    *class = FINE_CLASSES + ((bits - FINE_BITS) << STEP_BITS) + step;
    *bytes = ((size_t)(1u << STEP_BITS) + step + 1) << (bits - STEP_BITS);
    return true;
}

static Block *
head_of(const void *block)
{
    return (Block *)((uintptr_t)block & ~(uintptr_t)(RT_ALIGNMENT - 1)) - 1;
}

/* -- The system -------------------------------------------------------------------- */

/* Maps memory that begins at a huge page, behind LEAD bytes. */
static void *
map_huge(size_t bytes)
{
    size_t room = bytes + HUGE_PAGE, before, after;
    char *start, *memory;

    start =
        mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    before = -((uintptr_t)start + LEAD) & (HUGE_PAGE - 1);
    after = room - before - bytes;
    memory = start + before;
    if (before)
        munmap(start, before);
    if (after)
        munmap(memory + bytes, after);
#if defined(MADV_HUGEPAGE)
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

/* Large memory begins with a page. An array of malloc's begins 16 bytes behind one; a result that is a
** few elements further on its page than an operand makes loads wait for stores that are not to the same
** place: a fifth of the time of exp2 of 65536 numbers. */
static Block *
system_take(size_t bytes)
{
    char *memory = NULL;

    if (bytes <= MAPPED_LIMIT)
        return aligned_alloc(RT_ALIGNMENT, bytes);
    if (bytes >= HUGE_LIMIT)
        memory = map_huge(bytes + LEAD);
    if (!memory)
        memory = mmap(NULL, bytes + LEAD, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : (Block *)(memory + LEAD) - 1;
}

static void
system_give(Block *list)
{
    while (list) {
        Block *next = list->next;

        if (list->bytes <= MAPPED_LIMIT)
            free(list);
        else
            munmap((char *)(list + 1) - LEAD, list->bytes + LEAD);
        list = next;
    }
}

/* -- The lock ---------------------------------------------------------------------- */

static void
lock(RtPool *pool)
{
    while (atomic_exchange_explicit(&pool->locked, true, memory_order_acquire)) {
        for (int i = 0; atomic_load_explicit(&pool->locked, memory_order_relaxed);
             i++) {
            if (i >= SPINS)
                sched_yield();
#if defined(__SSE2__)
            else
                _mm_pause();
#endif
        }
    }
}

static void
unlock(RtPool *pool)
{
    atomic_store_explicit(&pool->locked, false, memory_order_release);
}

static void
fork_prepare(RtForkMember *member)
{
    lock((RtPool *)member);
}

static void
fork_done(RtForkMember *member)
{
    unlock((RtPool *)member);
}

static const RtForkHooks fork_hooks = {RANK_pool, fork_prepare, fork_done, fork_done,
                                       NULL};

/* -- Take and give ----------------------------------------------------------------- */

/* Unlinks an idle block of a class; the lock is held and there is one. */
static Block *
idle_pop(RtPool *pool, uint32_t class)
{
    Block *block = pool->idle[class];

    pool->idle[class] = block->next;
    pool->stats.idle -= block->bytes;
    return block;
}

/* Unlinks idle blocks until at most `keep` bytes are idle, one a class in turn so that
** no class is starved; returns them as a list. The lock is held. */
static Block *
idle_shrink(RtPool *pool, size_t keep)
{
    Block *list = NULL;

    while (pool->stats.idle > keep) {
        pool->hand = (pool->hand ? pool->hand : CLASSES) - 1;
        if (pool->idle[pool->hand]) {
            Block *block = idle_pop(pool, pool->hand);

            block->next = list;
            list = block;
        }
    }
    return list;
}

static void
count_take(RtPool *pool, size_t bytes)
{
    pool->stats.takes++;
    pool->stats.in_use += bytes;
    if (pool->stats.in_use > pool->stats.peak)
        pool->stats.peak = pool->stats.in_use;
}

/* A block from the system, counted; tries again without idle blocks. NULL: no memory. */
static Block *
take_fresh(RtPool *pool, uint32_t class, size_t bytes)
{
    Block *block = system_take(bytes);

    if (!block) {
        rt_pool_trim(pool, 0);
        block = system_take(bytes);
        if (!block)
            return NULL;
    }
    block->bytes = bytes;
    block->class = class;
    lock(pool);
    pool->stats.allocations++;
    count_take(pool, bytes);
    unlock(pool);
    return block;
}

/* `fresh` is set if the block came from the system. */
static Block *
take(RtPool *pool, size_t size, bool *fresh)
{
    Block *block;
    uint32_t class;
    size_t bytes;

    *fresh = false;
    if (!class_find(size, &class, &bytes))
        return NULL;
    lock(pool);
    if (pool->idle[class]) {
        block = idle_pop(pool, class);
        count_take(pool, bytes);
        unlock(pool);
        return block;
    }
    unlock(pool);
    *fresh = true;
    return take_fresh(pool, class, bytes);
}

void *
rt_buffer_take(RtPool *pool, size_t size)
{
    bool fresh;
    Block *block = take(pool, size, &fresh);

    return block ? block + 1 : NULL;
}

void *
rt_buffer_take_beside(RtPool *pool, size_t size, const void *other)
{
    char *memory = rt_buffer_take(pool, size);

    return memory ? memory + (other ? (uintptr_t)other & FARTHEST : MALLOC_OFFSET)
                  : NULL;
}

void *
rt_buffer_take_zeroed(RtPool *pool, size_t size)
{
    bool fresh;
    Block *block = take(pool, size, &fresh);
    char *memory = block ? (char *)(block + 1) + MALLOC_OFFSET : NULL;

    if (memory && (!fresh || block->bytes <= MAPPED_LIMIT))
        memset(memory, 0, size);
    return memory;
}

void
rt_buffer_give(RtPool *pool, void *memory)
{
    Block *block, *surplus = NULL;

    if (!memory)
        return;
    block = head_of(memory);
    lock(pool);
    pool->stats.in_use -= block->bytes;
    if (block->bytes > pool->bound) {
        block->next = NULL;
        surplus = block;
    } else {
        if (pool->stats.idle + block->bytes > pool->bound)
            surplus = idle_shrink(pool, pool->bound - block->bytes);
        block->next = pool->idle[block->class];
        pool->idle[block->class] = block;
        pool->stats.idle += block->bytes;
    }
    unlock(pool);
    if (surplus)
        system_give(surplus);
}

size_t
rt_buffer_capacity(const void *memory)
{
    return head_of(memory)->bytes - sizeof(Block) - FARTHEST;
}

void *
rt_buffer_resize(RtPool *pool, void *memory, size_t size)
{
    size_t capacity;
    void *other;

    if (!memory)
        return rt_buffer_take_beside(pool, size, NULL);
    capacity = rt_buffer_capacity(memory);
    if (size <= capacity && size >= capacity / 2)
        return memory;
    other = rt_buffer_take_beside(pool, size, memory);
    if (!other)
        return NULL;
    memcpy(other, memory, size < capacity ? size : capacity);
    rt_buffer_give(pool, memory);
    return other;
}

/* -- Pools ------------------------------------------------------------------------- */

RtPool *
rt_pool_new(size_t idle_bound)
{
    RtPool *pool = calloc(1, sizeof *pool);

    if (!pool)
        return NULL;
    pool->bound = idle_bound;
    if (!rt_fork_join(&pool->member, &fork_hooks)) {
        free(pool);
        return NULL;
    }
    return pool;
}

void
rt_pool_free(RtPool *pool)
{
    if (!pool)
        return;
    rt_fork_leave(&pool->member);
    system_give(idle_shrink(pool, 0));
    free(pool);
}

void
rt_pool_trim(RtPool *pool, size_t keep)
{
    Block *list;

    lock(pool);
    list = idle_shrink(pool, keep);
    unlock(pool);
    system_give(list);
}

void
rt_pool_set_bound(RtPool *pool, size_t bytes)
{
    lock(pool);
    pool->bound = bytes;
    unlock(pool);
    rt_pool_trim(pool, bytes);
}

RtPoolStats
rt_pool_stats(RtPool *pool)
{
    RtPoolStats stats;

    lock(pool);
    stats = pool->stats;
    unlock(pool);
    stats.reserved = stats.in_use + stats.idle;
    return stats;
}
