/* arena.c - bump allocation; failure is remembered, so callers may look once at the
** end. */
#include "ir/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CHUNK = 4096, LARGEST_CHUNK = 1 << 18, ALIGNMENT = 16 };

struct Chunk {
    Chunk *next;
    size_t bytes;
    _Alignas(ALIGNMENT) char data[];
};

static bool
add_chunk(Arena *arena, size_t bytes)
{
    size_t size = FIRST_CHUNK;
    Chunk *chunk;

    if (arena->chunks && arena->chunks->bytes < LARGEST_CHUNK)
        size = arena->chunks->bytes * 2;
    else if (arena->chunks)
        size = LARGEST_CHUNK;
    if (size < bytes)
        size = bytes;
    chunk = malloc(sizeof *chunk + size);
    if (!chunk)
        return false;
    chunk->next = arena->chunks;
    chunk->bytes = size;
    arena->chunks = chunk;
    arena->free = chunk->data;
    arena->end = chunk->data + size;
    return true;
}

void *
ir_arena_take(Arena *arena, size_t bytes)
{
    char *taken;

    if (bytes > SIZE_MAX / 2)
        arena->failed = true;
    if (arena->failed)
        return NULL;
    bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if ((!arena->free || (size_t)(arena->end - arena->free) < bytes) &&
        !add_chunk(arena, bytes)) {
        arena->failed = true;
        return NULL;
    }
    taken = arena->free;
    arena->free += bytes;
    return taken;
}

void *
ir_arena_copy(Arena *arena, const void *source, size_t bytes)
{
    void *copy = ir_arena_take(arena, bytes);

    if (copy && bytes)
        memcpy(copy, source, bytes);
    return copy;
}

char *
ir_arena_text(Arena *arena, const char *text)
{
    return ir_arena_copy(arena, text, strlen(text) + 1);
}

void
ir_arena_free(Arena *arena)
{
    Chunk *next;

    for (Chunk *chunk = arena->chunks; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    *arena = (Arena){0};
}

bool
ir_grow(void **items, size_t bytes, size_t count, size_t *capacity)
{
    size_t wanted = *capacity ? *capacity * 2 : 16;
    void *grown;

    if (count < *capacity)
        return true;
    if (wanted > SIZE_MAX / 2 / bytes)
        return false;
    grown = realloc(*items, wanted * bytes);
    if (!grown)
        return false;
    *items = grown;
    *capacity = wanted;
    return true;
}
