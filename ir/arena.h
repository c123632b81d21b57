/* arena.h - bump allocation for what lives as long as its graph. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct Chunk Chunk;

typedef struct Arena {
    Chunk *chunks; /* newest first */
    char *free, *end;
    bool failed; /* an allocation failed; stays set */
} Arena;

/* NULL when memory is out; aligned for any object. */
void *ir_arena_take(Arena *arena, size_t bytes);
/* A copy of bytes in the arena; NULL when memory is out. */
void *ir_arena_copy(Arena *arena, const void *source, size_t bytes);
char *ir_arena_text(Arena *arena, const char *text);
void ir_arena_free(Arena *arena);

/* Makes room for one more item in a malloc'ed array; false when memory is out. */
bool ir_grow(void **items, size_t bytes, size_t count, size_t *capacity);
