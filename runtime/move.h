/* move.h - elements from one place to another; private to runtime/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the elements of `rows` rows of n are: steps in bytes. */
typedef struct RtGrid {
    char *first;
    intptr_t step, row_step;
} RtGrid;

/* Copies n * rows elements of `size` bytes; the two do not overlap. */
void rt_move(RtGrid to, RtGrid from, size_t size, intptr_t n, intptr_t rows);
