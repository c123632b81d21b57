/* image.c - machine code as bytes, mapped into memory.
**
** An image is position-independent: its code and constants find each other by their
** distance. What it calls outside it reaches through a table of addresses behind the code,
** at the begin of a page:
**
**     ┌ code, constants ┬─ padding ─┬ table: one address a symbol ┐
**     0                 bytes       table                         ...
**       read, execute                 read
**
** Law 1: no page is writeable and executable at the same time.
** Law 2: an image is copied into memory of the process, so that who changes or cuts the file
**        that it came from changes nothing here.
*/
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/runtime.h"

static size_t
whole_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) / page * page;
}

/* The i-th of `n` names that lie one behind the other, each with its 0. NULL: they do not. */
static const char *
name_at(const char **at, size_t *left)
{
    const char *name = *at, *end = memchr(name, 0, *left);

    if (!end)
        return NULL;
    *left -= (size_t)(end + 1 - name);
    *at = end + 1;
    return name;
}

static bool
fill_table(const RtImage *image, RtSymbolFn find, void **table)
{
    const char *at = image->names;
    size_t left = image->names_bytes;

    for (uint32_t i = 0; i < image->nsymbols; i++) {
        const char *name = name_at(&at, &left);

        table[i] = name && find ? find(name) : NULL;
        if (!table[i])
            return false;
    }
    return left == 0;
}

static bool
is_sound(const RtImage *image)
{
    if (!image->bytes || image->entry >= image->bytes)
        return false;
    if (!image->nsymbols)
        return !image->table && !image->names_bytes;
    return image->table >= image->bytes && whole_pages(image->table) == image->table;
}

bool
rt_image_map(const RtImage *image, RtSymbolFn find, RtMapped *mapped)
{
    size_t code = image->table ? image->table : whole_pages(image->bytes);
    size_t size = code + whole_pages(image->nsymbols * sizeof(void *));
    char *memory;

    if (!is_sound(image))
        return false;
    memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    memcpy(memory, image->code, image->bytes);
    if (!fill_table(image, find, (void **)(void *)(memory + code)) ||
        mprotect(memory, code, PROT_READ | PROT_EXEC) ||
        (size > code && mprotect(memory + code, size - code, PROT_READ))) {
        munmap(memory, size);
        return false;
    }
    __builtin___clear_cache(memory, memory + code);
    *mapped = (RtMapped){memory, size, (RtKernelFn)(uintptr_t)(memory + image->entry)};
    return true;
}

void
rt_image_unmap(RtMapped *mapped)
{
    if (mapped->memory)
        munmap(mapped->memory, mapped->size);
    *mapped = (RtMapped){0};
}
