/* room.c - whether there is memory, asked before work that cannot bear to get none. */
#include <sys/mman.h>

#include "runtime/runtime.h"

bool
rt_memory_left(size_t bytes)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return false;
    munmap(memory, bytes);
    return true;
}
