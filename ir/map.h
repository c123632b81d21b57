/* map.h - a small table from values (or nodes) to values; 0 means absent on both
** sides.
*/
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct IrMap {
    uint32_t *slots; /* key, value pairs; open addressing */
    uint32_t used, capacity;
    bool failed;
} IrMap;

void ir_map_put(IrMap *map, uint32_t key, uint32_t value); /* replaces */
uint32_t ir_map_find(const IrMap *map, uint32_t key);
void ir_map_free(IrMap *map);
