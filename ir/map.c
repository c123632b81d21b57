/* map.c - open addressing, a power of two of slots, at most half full. */
#include "ir/map.h"

#include <stdlib.h>

static uint32_t *
slot(const IrMap *map, uint32_t key)
{
    uint32_t at = key * 0x9e3779b9U & (map->capacity - 1);

    while (map->slots[2 * at] && map->slots[2 * at] != key)
        at = (at + 1) & (map->capacity - 1);
    return &map->slots[2 * at];
}

static bool
grow(IrMap *map)
{
    IrMap larger = {.capacity = map->capacity ? map->capacity * 2 : 32,
                    .used = map->used};

    larger.slots = calloc(larger.capacity, 2 * sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (uint32_t i = 0; i < map->capacity; i++)
        if (map->slots[2 * i]) {
            uint32_t *to = slot(&larger, map->slots[2 * i]);
            to[0] = map->slots[2 * i];
            to[1] = map->slots[2 * i + 1];
        }
    free(map->slots);
    *map = larger;
    return true;
}

void
ir_map_put(IrMap *map, uint32_t key, uint32_t value)
{
    uint32_t *to;

    if (map->used * 2 >= map->capacity && !grow(map)) {
        map->failed = true;
        return;
    }
    to = slot(map, key);
    map->used += !to[0];
    to[0] = key;
    to[1] = value;
}

uint32_t
ir_map_find(const IrMap *map, uint32_t key)
{
    return map->capacity && key ? slot(map, key)[1] : 0;
}

void
ir_map_free(IrMap *map)
{
    free(map->slots);
    *map = (IrMap){0};
}
