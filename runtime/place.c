/* place.c - elements taken from places that indices name, and put there.
**
**     take  y[...] = x[i, j, ...]      put  x[i, j, ...] = y[...]      add  x[i, j, ...] += y[...], and the like
**
** All of it goes over one space. Per axis x and y have strides, and so has each index; what an index says
** times its step is added to where x is read or written. So axes that no index is along are copied as they
** are, and an index may be anywhere among the axes of x.
**
** Law 1: indices are looked at before anything is written: a step either fails, or does all.
** Law 2: elements are put in C order of the space, so of several at one place the last one stays.
*/
#include <string.h>

#include "runtime/runtime.h"

enum { TILE = 64 };

typedef struct Item16 {
    uint64_t part[2];
} Item16;
typedef struct Item32 {
    uint64_t part[4];
} Item32;

/* A run along the innermost axis. */
typedef struct Run {
    const char *index[RT_PLACE_INDICES];
    intptr_t step[RT_PLACE_INDICES]; /* bytes to the next index */
    char *x, *y;
    intptr_t n, xs, ys;
    bool below; /* an index is below 0 */
} Run;

/* -- Bounds ------------------------------------------------------------------------ */

static int64_t
load_index(const char *at)
{
    int64_t i;
    memcpy(&i, at, sizeof i);
    return i;
}

enum { BAD = 1, BELOW = 2 };
enum { PART = 1024 /* indices */ };

/* BAD if one of n indices is out of range, BELOW if one is below 0. Sums wrap: with an index that is far
** out the one or the other is negative. */
static unsigned
check_run(const char *at, intptr_t step, intptr_t n, intptr_t extent)
{
    uint64_t bad = 0, below = 0, size = (uint64_t)extent;
    if (step == sizeof(int64_t)) {
        for (intptr_t i = 0; i < n; i++) {
            uint64_t index = (uint64_t)load_index(at + i * (intptr_t)sizeof(int64_t));
            bad |= (index + size) | (size - 1 - index);
            below |= index;
        }
    } else {
        for (intptr_t i = 0; i < n; i++, at += step) {
            uint64_t index = (uint64_t)load_index(at);
            bad |= (index + size) | (size - 1 - index);
            below |= index;
        }
    }
    return (bad >> 63 ? BAD : 0u) | (below >> 63 ? BELOW : 0u);
}

/* The first index of a run that is out of range; false: there is none. */
static bool
find_bad(const char *at, intptr_t step, intptr_t n, intptr_t extent, int64_t *bad)
{
    for (intptr_t i = 0; i < n; i++, at += step) {
        *bad = load_index(at);
        if (*bad < -extent || *bad >= extent)
            return true;
    }
    return false;
}

/* What is true of index k; the first that is out of range, in `bad`. */
static unsigned
check_index(const RtPlace *place, uint32_t k, const char *at, int64_t *bad)
{
    intptr_t shape[RT_PLACE_AXES], strides[RT_PLACE_AXES], count[RT_PLACE_AXES] = {0};
    unsigned found = 0;
    uint32_t n = 0;
    for (uint32_t d = 0; d < place->ndim; d++) {
        if (!place->index[k][d] || place->shape[d] == 1)
            continue;
        if (n && strides[n - 1] == place->index[k][d] * place->shape[d]) {
            shape[n - 1] *= place->shape[d];
            strides[n - 1] = place->index[k][d];
            continue;
        }
        shape[n] = place->shape[d];
        strides[n++] = place->index[k][d];
    }
    if (!n) {
        shape[0] = strides[0] = 1;
        n = 1;
    }
    for (;;) {
        found |= check_run(at, strides[n - 1], shape[n - 1], place->extent[k]);
        if (found & BAD &&
            find_bad(at, strides[n - 1], shape[n - 1], place->extent[k], bad))
            return found;
        uint32_t d = n - 1;
        for (; d-- > 0;) {
            at += strides[d];
            if (++count[d] < shape[d])
                break;
            at -= count[d] * strides[d];
            count[d] = 0;
        }
        if (d == UINT32_MAX)
            return found;
    }
}

/* Axes d and d + 1 change places. */
static void
swap_axes(RtPlace *place, uint32_t d)
{
    intptr_t *rows[3 + RT_PLACE_INDICES] = {place->shape, place->x, place->y};
    for (uint32_t k = 0; k < place->nindices; k++)
        rows[3 + k] = place->index[k];
    for (uint32_t r = 0; r < 3 + place->nindices; r++) {
        intptr_t held = rows[r][d];
        rows[r][d] = rows[r][d + 1];
        rows[r][d + 1] = held;
    }
}

/* -- Runs -------------------------------------------------------------------------- */

static intptr_t
offset_of(const RtPlace *place, uint32_t k, const char *at)
{
    int64_t i = load_index(at);
    return (intptr_t)(i < 0 ? i + place->extent[k] : i) * place->step[k];
}

/* MOVE: an element between x and y. */
#define RUN(name, T, MOVE)                                                             \
    static void name(const RtPlace *place, const Run *run)                             \
    {                                                                                  \
        const intptr_t n = run->n, xs = run->xs, ys = run->ys, step = place->step[0],  \
                       extent = place->extent[0], is = run->step[0];                   \
        const char *at = run->index[0];                                                \
        char *x = run->x, *y = run->y;                                                 \
        if (place->nindices == 1 && !run->below && !xs && step == sizeof(T) &&         \
            ys == sizeof(T) && is == sizeof(int64_t)) {                                \
            for (intptr_t i = 0; i < n; i++) {                                         \
                int64_t j = load_index(at + i * (intptr_t)sizeof(int64_t));            \
                MOVE(T, x + j * (intptr_t)sizeof(T), y + i * (intptr_t)sizeof(T))      \
            }                                                                          \
        } else if (place->nindices == 1 && !run->below) {                              \
            for (intptr_t i = 0; i < n; i++, x += xs, y += ys, at += is)               \
                MOVE(T, x + load_index(at) * step, y)                                  \
        } else if (place->nindices == 1) {                                             \
            for (intptr_t i = 0; i < n; i++, x += xs, y += ys, at += is) {             \
                int64_t j = load_index(at);                                            \
                j += j < 0 ? extent : 0;                                               \
                MOVE(T, x + j * step, y)                                               \
            }                                                                          \
        } else if (place->nindices == 2 && !run->below) {                              \
            const intptr_t other = place->step[1], js = run->step[1];                  \
            const char *and = run->index[1];                                           \
            for (intptr_t i = 0; i < n; i++, x += xs, y += ys, at += is, and+= js)     \
                MOVE(T, x + load_index(at) * step + load_index(and) * other, y)        \
        } else {                                                                       \
            for (intptr_t i = 0; i < n; i++, x += xs, y += ys) {                       \
                intptr_t offset = 0;                                                   \
                for (uint32_t k = 0; k < place->nindices; k++)                         \
                    offset += offset_of(place, k, run->index[k] + i * run->step[k]);   \
                MOVE(T, x + offset, y)                                                 \
            }                                                                          \
        }                                                                              \
    }

#define TAKE(T, at_x, at_y) memcpy(at_y, at_x, sizeof(T));
#define PUT(T, at_x, at_y)  memcpy(at_x, at_y, sizeof(T));
#define JOIN(T, at_x, at_y, JOINED)                                                    \
    {                                                                                  \
        T a, b;                                                                        \
        memcpy(&a, at_x, sizeof a);                                                    \
        memcpy(&b, at_y, sizeof b);                                                    \
        a = (T)(JOINED);                                                               \
        memcpy(at_x, &a, sizeof a);                                                    \
    }
#define ADD(T, at_x, at_y)      JOIN(T, at_x, at_y, a + b)
#define SUBTRACT(T, at_x, at_y) JOIN(T, at_x, at_y, a - b)
#define MULTIPLY(T, at_x, at_y) JOIN(T, at_x, at_y, a *b)
/* NaN if either is; of equals y. */
#define MAXIMUM(T, at_x, at_y) JOIN(T, at_x, at_y, a > b || a != a ? a : b)
#define MINIMUM(T, at_x, at_y) JOIN(T, at_x, at_y, a < b || a != a ? a : b)

#define MOVES(bytes, T) RUN(take_##bytes, T, TAKE) RUN(put_##bytes, T, PUT)
MOVES(1, uint8_t)
MOVES(2, uint16_t)
MOVES(4, uint32_t)
MOVES(8, uint64_t)
MOVES(16, Item16)
MOVES(32, Item32)
#define SUMS(name, T)                                                                  \
    RUN(add_##name, T, ADD)                                                            \
    RUN(subtract_##name, T, SUBTRACT) RUN(multiply_##name, T, MULTIPLY)
SUMS(u32, uint32_t)
SUMS(u64, uint64_t)
SUMS(f32, float)
SUMS(f64, double)
#define EXTREMES(name, T)                                                              \
    RUN(maximum_##name, T, MAXIMUM) RUN(minimum_##name, T, MINIMUM)
EXTREMES(u32, uint32_t)
EXTREMES(u64, uint64_t)
EXTREMES(i32, int32_t)
EXTREMES(i64, int64_t)
EXTREMES(f32, float)
EXTREMES(f64, double)

typedef void (*RunFn)(const RtPlace *place, const Run *run);

/* Elements taken one after the other until an index is not in 0 … extent - 1; how many they are. */
#define UNTIL(bytes, T)                                                                \
    static intptr_t until_##bytes(const RtPlace *place, const Run *run)                \
    {                                                                                  \
        const uint64_t extent = (uint64_t)place->extent[0];                            \
        const intptr_t step = place->step[0];                                          \
        const char *at = run->index[0];                                                \
        intptr_t i = 0;                                                                \
        for (; i < run->n; i++) {                                                      \
            int64_t j = load_index(at + i * (intptr_t)sizeof j);                       \
            if ((uint64_t)j >= extent)                                                 \
                break;                                                                 \
            memcpy(run->y + i * (intptr_t)sizeof(T), run->x + j * step, sizeof(T));    \
        }                                                                              \
        return i;                                                                      \
    }
UNTIL(4, uint32_t)
UNTIL(8, uint64_t)
UNTIL(16, Item16)

static intptr_t
take_until(const RtPlace *place, const Run *run)
{
    if (run->xs || run->ys != (intptr_t)place->itemsize ||
        run->step[0] != sizeof(int64_t))
        return 0;
    return place->itemsize == 4    ? until_4(place, run)
           : place->itemsize == 8  ? until_8(place, run)
           : place->itemsize == 16 ? until_16(place, run)
                                   : 0;
}

static RunFn
run_of(const RtPlace *place)
{
    static const RunFn take[] = {take_1, take_2, take_4, take_8, take_16, take_32};
    static const RunFn put[] = {put_1, put_2, put_4, put_8, put_16, put_32};
    static const RunFn add[] = {add_u32, add_u64, add_f32, add_f64};
    static const RunFn subtract[] = {subtract_u32, subtract_u64, subtract_f32,
                                     subtract_f64};
    static const RunFn multiply[] = {multiply_u32, multiply_u64, multiply_f32,
                                     multiply_f64};
    static const RunFn maximum[] = {maximum_u32, maximum_u64, maximum_f32,
                                    maximum_f64, maximum_i32, maximum_i64};
    static const RunFn minimum[] = {minimum_u32, minimum_u64, minimum_f32,
                                    minimum_f64, minimum_i32, minimum_i64};
    uint32_t size = 0;
    while (1u << size < place->itemsize)
        size++;
    uint32_t number = size - 2 + (place->is_float ? 2 : 0);
    switch (place->kind) {
    case RT_PLACE_take:
        return take[size];
    case RT_PLACE_put:
        return put[size];
    case RT_PLACE_add:
        return add[number];
    case RT_PLACE_subtract:
        return subtract[number];
    case RT_PLACE_multiply:
        return multiply[number];
    case RT_PLACE_maximum:
        return maximum[number + (place->is_signed ? 4 : 0)];
    case RT_PLACE_minimum:
        return minimum[number + (place->is_signed ? 4 : 0)];
    }
    return NULL;
}

/* A run along which no index moves. */
static void
copy_run(const RtPlace *place, const Run *run)
{
    bool take = place->kind == RT_PLACE_take;
    intptr_t size = place->itemsize, ts = take ? run->ys : run->xs,
             fs = take ? run->xs : run->ys;
    char *to = take ? run->y : run->x;
    const char *from = take ? run->x : run->y;
    if (ts == size && fs == size) {
        memcpy(to, from, (size_t)(run->n * size));
        return;
    }
    for (intptr_t i = 0; i < run->n; i++, to += ts, from += fs)
        memcpy(to, from, (size_t)size);
}

static void
run_all(const RtPlace *place, char *const *data, bool below)
{
    uint32_t last = place->ndim - 1, n = place->nindices;
    intptr_t count[RT_PLACE_AXES] = {0};
    RunFn go = run_of(place);
    bool copies = place->kind == RT_PLACE_take || place->kind == RT_PLACE_put;
    const char *index[RT_PLACE_INDICES];
    char *x = data[n] + place->offset, *y = data[n + 1];
    for (uint32_t k = 0; k < n; k++) {
        index[k] = data[k];
        copies &= !place->index[k][last];
    }
    for (;;) {
        Run run = {.x = x,
                   .y = y,
                   .n = place->shape[last],
                   .xs = place->x[last],
                   .ys = place->y[last],
                   .below = below};
        for (uint32_t k = 0; k < n; k++) {
            run.index[k] = index[k];
            run.step[k] = place->index[k][last];
            run.x += copies ? offset_of(place, k, index[k]) : 0;
        }
        if (copies)
            copy_run(place, &run);
        else
            go(place, &run);
        uint32_t d = last;
        for (; d-- > 0;) {
            bool more = ++count[d] < place->shape[d];
            intptr_t by = more ? 1 : 1 - count[d];
            x += by * place->x[d];
            y += by * place->y[d];
            for (uint32_t k = 0; k < n; k++)
                index[k] += by * place->index[k][d];
            if (more)
                break;
            count[d] = 0;
        }
        if (d == UINT32_MAX)
            return;
    }
}

/* Rows of x that are far apart, a short way along each: what is written stays in cache until it is whole. */
static void
run_tiles(const RtPlace *place, char *const *data, bool below)
{
    RtPlace tile = *place;
    char *at[RT_PLACE_INDICES + 2];
    memcpy(at, data, (place->nindices + 2) * sizeof *at);
    swap_axes(&tile, 0);
    for (intptr_t first = 0; first < place->shape[0]; first += TILE) {
        intptr_t left = place->shape[0] - first;
        tile.shape[1] = left < TILE ? left : TILE;
        run_all(&tile, at, below);
        for (uint32_t k = 0; k < place->nindices; k++)
            at[k] += TILE * place->index[k][0];
        at[place->nindices] += TILE * place->x[0];
        at[place->nindices + 1] += TILE * place->y[0];
    }
}

/* True of a vector taken by one index: it is checked and taken a part at a time, so that indices are read once. */
static bool
in_parts(const RtPlace *place)
{
    return place->kind == RT_PLACE_take && place->ndim == 1 && place->nindices == 1 &&
           place->index[0][0];
}

static void
advance(Run *run, intptr_t n)
{
    run->index[0] += n * run->step[0];
    run->x += n * run->xs;
    run->y += n * run->ys;
}

/* 1 if an index is out of range: what was taken until then is no result. */
static int
run_parts(const RtPlace *place, char *const *data, int64_t *bad)
{
    RunFn go = run_of(place);
    intptr_t left = place->shape[0];
    Run run = {.x = data[1] + place->offset,
               .y = data[2],
               .xs = place->x[0],
               .ys = place->y[0],
               .index = {data[0]},
               .step = {place->index[0][0]}};
    while (left > 0) {
        run.n = left;
        intptr_t n = take_until(place, &run);
        advance(&run, n);
        left -= n;
        run.n = left < PART ? left : PART;
        unsigned found = check_run(run.index[0], run.step[0], run.n, place->extent[0]);
        if (found & BAD &&
            find_bad(run.index[0], run.step[0], run.n, place->extent[0], bad))
            return 1;
        run.below = found & BELOW;
        go(place, &run);
        advance(&run, run.n);
        left -= run.n;
    }
    return 0;
}

int
rt_place_run(const RtPlace *place, char *const *data, int64_t *bad)
{
    unsigned found = 0;
    if (in_parts(place))
        return run_parts(place, data, bad);
    for (uint32_t k = 0; k < place->nindices; k++) {
        found |= check_index(place, k, data[k], bad);
        if (found & BAD)
            return (int)k + 1;
    }
    if (place->tiled)
        run_tiles(place, data, found & BELOW);
    else
        run_all(place, data, found & BELOW);
    return 0;
}

/* -- Making one -------------------------------------------------------------------- */

/* True if axis d + 1 continues axis d for all operands. */
static bool
continues(const RtPlace *place, uint32_t d)
{
    intptr_t n = place->shape[d + 1];
    bool same =
        place->x[d] == place->x[d + 1] * n && place->y[d] == place->y[d + 1] * n;
    for (uint32_t k = 0; k < place->nindices; k++)
        same &= place->index[k][d] == place->index[k][d + 1] * n;
    return same;
}

static void
drop_axis(RtPlace *place, uint32_t d)
{
    size_t bytes = (place->ndim - 1 - d) * sizeof(intptr_t);
    memmove(place->shape + d, place->shape + d + 1, bytes);
    memmove(place->x + d, place->x + d + 1, bytes);
    memmove(place->y + d, place->y + d + 1, bytes);
    for (uint32_t k = 0; k < place->nindices; k++)
        memmove(place->index[k] + d, place->index[k] + d + 1, bytes);
    place->ndim--;
}

/* What is taken may be written in any order: the axis of y's least stride becomes the innermost. */
static void
order_axes(RtPlace *place)
{
    for (uint32_t i = 1; i < place->ndim; i++) {
        for (uint32_t d = i; d > 0 && place->y[d - 1] < place->y[d]; d--)
            swap_axes(place, d - 1);
    }
}

static bool
is_indexed(const RtPlace *place, uint32_t d)
{
    bool indexed = false;
    for (uint32_t k = 0; k < place->nindices; k++)
        indexed |= place->index[k][d] != 0;
    return indexed;
}

void
rt_place_finish(RtPlace *place)
{
    for (uint32_t d = place->ndim; d-- > 0;) {
        if (place->shape[d] == 1 && place->ndim > 1)
            drop_axis(place, d);
    }
    if (place->kind == RT_PLACE_take)
        order_axes(place);
    for (uint32_t d = place->ndim - 1; d-- > 0;) {
        if (!continues(place, d))
            continue;
        place->shape[d + 1] *= place->shape[d];
        drop_axis(place, d);
    }
    place->tiled = place->kind == RT_PLACE_take && place->ndim == 2 &&
                   is_indexed(place, 0) && !is_indexed(place, 1) &&
                   place->x[1] != place->itemsize;
}
