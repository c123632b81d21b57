/* along.c - positions of extremes, and running sums, block by block, with the producer in front.
**
**     runs      (outer, run): a run after the other
**     columns   (outer, run, inner): some columns at a time, row by row
**
** Law 1: what is in memory element by element is not copied; what is produced, or gathered, goes
**        through the block.
** Law 2: running sums are made in the order of the elements: bits do not depend on blocks.
*/
#include <string.h>

#include "runtime/reduce.h"

enum {
    COLUMNS = 512,         /* whose extremes so far are kept at once */
    SCAN_COLUMNS = 2048,   /* whose sums so far are in cache */
    ROWS_BYTES = 16 << 10, /* of rows that are gone through column by column */
    NARROW_BYTES = 64,     /* rows of less are gone through once */
    FAR_BYTES = 1 << 20,   /* of those */
};

/* True if elements are read where they are. */
static bool
is_bare(const RtReduce *r)
{
    return !r->group->nops && !r->gather;
}

static intptr_t
at_most(intptr_t n, intptr_t most)
{
    return n < most ? n : most;
}

/* -- Runs ---------------------------------------------------------------------------- */

int
rt_along_run_position(const Run *run, intptr_t *at, char *best)
{
    const RtReduce *r = run->reduce;
    intptr_t most = is_bare(r) ? r->run : r->group->block;
    for (intptr_t done = 0, n; done < r->run; done += n) {
        n = at_most(r->run - done, most);
        const char *block = rt_reduce_produce(run, done, n);
        if (!block)
            return -1;
        intptr_t place = r->position.run(block, n);
        const char *found = block + place * r->itemsize;
        if (done && !r->position.beats(found, best))
            continue;
        memcpy(best, found, r->itemsize);
        *at = done + place;
    }
    return 0;
}

/* Runs that are one after the other in a block, as many as fit. */
static intptr_t
runs_together(const RtReduce *r)
{
    if (r->run > r->group->block || !rt_reduce_is_one_line(r, 0, r->run))
        return 1;
    return r->group->block / r->run;
}

static int
run_positions(Run *run, char *out)
{
    const RtReduce *r = run->reduce;
    intptr_t most = runs_together(r), *results = (intptr_t *)(void *)out;
    for (intptr_t i = 0, n; i < r->outer; i += n, advance(run, 0, n)) {
        n = at_most(r->outer - i, most);
        if (r->run > r->group->block && !is_bare(r)) {
            char best[32];
            if (rt_along_run_position(run, &results[i], best) < 0)
                return -1;
            continue;
        }
        const char *from = rt_reduce_produce(run, 0, n * r->run);
        if (!from)
            return -1;
        for (intptr_t k = 0; k < n; k++, from += r->run * r->itemsize) {
            intptr_t place = r->position.run(from, r->run);
            if (r->along == RT_ALONG_end)
                out[i + k] = from[place] != 0;
            else
                results[i + k] = place;
        }
    }
    return 0;
}

/* Lines of n elements by NumPy's loop of the operation, as its accumulate calls it. */
static int
scan_by_loop(const RtReduce *r, char *out, const char *from, intptr_t n, intptr_t lines,
             bool goes_on)
{
    intptr_t size = r->itemsize, strides[3] = {size, size, size};
    for (intptr_t k = 0; k < lines; k++, out += n * size, from += n * size) {
        intptr_t first = goes_on ? 0 : 1, left = n - first;
        if (!goes_on)
            memcpy(out, from, (size_t)size);
        char *data[3] = {out + (first - 1) * size,
                         (char *)(uintptr_t)from + first * size, out + first * size};
        if (left && r->loop(r->context, data, &left, strides, r->auxdata) < 0)
            return -1;
    }
    return 0;
}

static int
scan_lines(const RtReduce *r, char *out, const char *from, intptr_t n, intptr_t lines,
           bool goes_on)
{
    if (!r->scan.lines)
        return scan_by_loop(r, out, from, n, lines, goes_on);
    r->scan.lines(out, from, n, lines, goes_on);
    return 0;
}

static int
run_scans(Run *run, char *out)
{
    const RtReduce *r = run->reduce;
    intptr_t most = runs_together(r);
    if (is_bare(r) && rt_reduce_is_one_line(r, 0, r->run))
        return scan_lines(r, out, run->data[0], r->run, r->outer, run->goes_on);
    for (intptr_t i = 0, n; i < r->outer; i += n, advance(run, 0, n)) {
        n = at_most(r->outer - i, most);
        for (intptr_t done = 0, count; done < r->run; done += count) {
            count =
                is_bare(r) || n > 1 ? r->run : at_most(r->run - done, r->group->block);
            const char *from = rt_reduce_produce(run, done, n * count);
            bool goes_on = done > 0 || run->goes_on;
            if (!from || scan_lines(r, out, from, count, n, goes_on) < 0)
                return -1;
            out += n * count * r->itemsize;
        }
    }
    return 0;
}

/* -- Columns --------------------------------------------------------------------------- */

/* n columns of some rows, from number `first` on. */
typedef struct Part {
    const char *from;
    intptr_t n, rows, step, first;
} Part;

typedef int (*PartFn)(const RtReduce *r, const Part *part, void *context);

/* All rows of n columns, as many at a time as are at hand. */
static int
each_part(Run *run, intptr_t n, PartFn take, void *context)
{
    const RtReduce *r = run->reduce;
    intptr_t most = 1, rows;
    bool whole = n == r->inner && n <= r->group->block && !is_bare(r) &&
                 rt_reduce_is_one_line(r, 1, n);
    int status = 0;
    if (whole)
        most = r->group->block / n;
    else if (is_bare(r))
        most = (n * r->itemsize < NARROW_BYTES ? FAR_BYTES : ROWS_BYTES) /
                   (n * r->itemsize) +
               1;
    for (intptr_t i = 0; i < r->run && status == 0; i += rows, advance(run, 1, rows)) {
        rows = at_most(r->run - i, most);
        Part part = {
            .n = n, .rows = rows, .step = n * r->itemsize, .first = i + run->goes_on};
        part.from = rt_reduce_produce(run, 0, whole ? rows * n : n);
        if (is_bare(r))
            part.step = step_of(r, 0, 1);
        status = part.from ? take(r, &part, context) : -1;
    }
    if (status == 0)
        advance(run, 1, -r->run);
    return status;
}

typedef struct Places {
    char *best, *index;
} Places;

static int
take_positions(const RtReduce *r, const Part *part, void *context)
{
    const Places *places = context;
    r->position.rows(part->from, part->n, part->rows, part->step, part->first,
                     places->best, places->index);
    return 0;
}

static int
take_sums(const RtReduce *r, const Part *part, void *context)
{
    intptr_t size = r->itemsize, step = r->columns * size,
             strides[3] = {size, size, size};
    char *out = *(char **)context;
    *(char **)context += part->rows * step;
    if (r->scan.rows) {
        r->scan.rows(out, part->from, part->n, part->rows, step, part->step,
                     part->first > 0);
        return 0;
    }
    for (intptr_t i = 0; i < part->rows; i++, out += step) {
        const char *row = part->from + i * part->step;
        char *data[3] = {out - step, (char *)(uintptr_t)row, out};
        if (part->first + i == 0)
            memcpy(out, row, (size_t)(part->n * size));
        else if (r->loop(r->context, data, &part->n, strides, r->auxdata) < 0)
            return -1;
    }
    return 0;
}

/* The places of the extremes of n columns. */
static int
position_columns(Run *run, intptr_t n, char *out)
{
    const RtReduce *r = run->reduce;
    int64_t best[COLUMNS];
    int32_t index[COLUMNS];
    intptr_t *results = (intptr_t *)(void *)out;
    bool narrow = r->position.index_bytes == sizeof *index;
    Places places = {(char *)best, narrow ? (char *)index : out};
    if (each_part(run, n, take_positions, &places) < 0)
        return -1;
    for (intptr_t j = 0; narrow && j < n; j++)
        results[j] = index[j];
    return 0;
}

static int
run_columns(Run *run, char *out)
{
    const RtReduce *r = run->reduce;
    bool scans = r->along == RT_ALONG_scan;
    intptr_t most = scans ? SCAN_COLUMNS : COLUMNS, size = r->itemsize;
    if (!is_bare(r))
        most = at_most(most, r->group->block);
    for (intptr_t i = 0; i < r->outer; i++, advance(run, 0, 1)) {
        for (intptr_t at = 0, n; at < r->inner; at += n, advance(run, 2, n)) {
            n = at_most(r->inner - at, most);
            char *to = out + at * (scans ? size : (intptr_t)sizeof(intptr_t));
            if ((scans ? each_part(run, n, take_sums, &to)
                       : position_columns(run, n, to)) < 0)
                return -1;
        }
        advance(run, 2, -r->inner);
        out += r->inner * (scans ? r->run * size : (intptr_t)sizeof(intptr_t));
    }
    return 0;
}

int
rt_along_run(Run *run, char *out)
{
    if (run->reduce->inner)
        return run_columns(run, out);
    return run->reduce->along == RT_ALONG_scan ? run_scans(run, out)
                                               : run_positions(run, out);
}
