/* behind.c - an update of what it reads, x[1:] = f(x[:-1]) say: values are written a block behind.
**
**     all at once      the values of all rows, then the copies: they go through memory
**     behind           block by block: the values of a block, then the copies of the block before it
**
** What a block reads are rows of the written array from one block before its own on. So its values are right
** as long as the block before has not been written, and two halves of a buffer that stays in cache are enough.
** Several threads have parts of the rows. As the ends of a part are read by its neighbours, the values of the first
** block of each part are computed before anything is written, and written when all else is:
**
**     heads    the first block of each part, into memory of their own
**     parts    the other blocks, one behind the other
**     ends     the heads are written
**
** Law 1: what is read and what is written are compared as addresses, call by call: arrays may lie in any way. Where
**        behind is not right it is all at once.
** Law 2: blocks are such that bits do not depend on them.
*/
#include <stdlib.h>

#include "runtime/split.h"

enum { PART_BLOCKS = 8 }; /* at least: a part's head takes memory */

typedef struct Run {
    const RtPlan *plan;
    const RtBehind *behind;
    const RtGroup *group;
    const uint32_t *operands; /* of the group's step */
    char *const *data;        /* of the frame */
    char *heads;              /* parts: a half each */
    intptr_t part;            /* rows of one, whole blocks */
    intptr_t last, half; /* in order: the block that waits, or -1, and where it is */
} Run;

/* -- Blocks ------------------------------------------------------------------------- */

/* The values of `n` rows from `at` on, those that are copied to the memory `half`. */
static int
compute(const Run *run, intptr_t at, intptr_t n, char *half, char *scratch)
{
    char *data[RT_OPERANDS_MAX];
    for (uint32_t k = 0; k < run->group->noperands; k++) {
        size_t local = run->behind->local[k];
        data[k] =
            local ? half + local - 1
                  : run->data[run->operands[k]] + at * run->behind->rows_of[k].advance;
    }
    return rt_group_run_part(run->group, n * run->behind->span, data, scratch);
}

static int
copy(const Run *run, intptr_t at, intptr_t n, char *half, char *scratch)
{
    const RtBehind *behind = run->behind;
    for (uint32_t c = 0; c < behind->ncopies; c++) {
        const RtCopy *copied = &behind->copies[c];
        char *to = run->data[run->plan->operands[copied->step.operands + 1]];
        char *data[2] = {half + behind->local[copied->from] - 1,
                         to + at * copied->to.advance};
        int status = rt_group_run_part(run->plan->groups[copied->step.index],
                                       n * copied->span, data, scratch);
        if (status != 0)
            return status;
    }
    return 0;
}

static intptr_t
rows_from(const Run *run, intptr_t at, intptr_t end)
{
    return end - at < run->behind->block ? end - at : run->behind->block;
}

/* The values of the block at row `at`, then the copies of the one that waits. */
static int
follow(Run *run, intptr_t at, intptr_t end, char *scratch)
{
    const RtBehind *behind = run->behind;
    char *halves = scratch + behind->local_at;
    int status = compute(run, at, rows_from(run, at, end),
                         halves + run->half * behind->half_bytes, scratch);
    run->half = !run->half;
    if (status == 0 && run->last >= 0)
        status = copy(run, run->last, behind->block,
                      halves + run->half * behind->half_bytes, scratch);
    run->last = at;
    return status;
}

/* Rows `from` to `end`, all blocks of them whose turn it is; the last one waits. */
static int
follow_rows(Run *run, intptr_t from, intptr_t end, char *scratch)
{
    for (intptr_t at = from; at < end; at += run->behind->block) {
        int status = follow(run, at, end, scratch);
        if (status != 0)
            return status;
    }
    return 0;
}

/* The copies of the block that waits, which ends at `end`. */
static int
finish(Run *run, intptr_t end, char *scratch)
{
    if (run->last < 0)
        return 0;
    char *half = scratch + run->behind->local_at + !run->half * run->behind->half_bytes;
    return copy(run, run->last, end - run->last, half, scratch);
}

/* -- Addresses ---------------------------------------------------------------------- */

/* Bytes of all rows, as addresses. */
typedef struct Range {
    uintptr_t first, end;
} Range;

static Range
range_of(const char *data, const RtReach *reach, intptr_t rows)
{
    intptr_t far = (rows - 1) * reach->advance;
    uintptr_t at = (uintptr_t)data;
    return (Range){at + (uintptr_t)(reach->low + (far < 0 ? far : 0)),
                   at + (uintptr_t)(reach->high + (far > 0 ? far : 0))};
}

static bool
meet(Range x, Range y)
{
    return x.first < y.end && y.first < x.end;
}

/* How rows of what is read lie to those of what is written. */
typedef enum Order {
    ORDER_never,   /* in no order that helps */
    ORDER_onwards, /* from one block before on */
    ORDER_near,    /* and up to one block behind */
} Order;

static Order
order_of(const RtBehind *behind, const char *read, const RtReach *reading,
         const char *to, const RtReach *writing)
{
    if (!meet(range_of(read, reading, behind->rows),
              range_of(to, writing, behind->rows)))
        return ORDER_near;
    intptr_t step = writing->advance;
    if (step <= 0 || reading->advance != step || writing->high - writing->low > step)
        return ORDER_never;
    intptr_t ahead = (intptr_t)((uintptr_t)read - (uintptr_t)to) - writing->low;
    if (ahead + reading->low < -behind->block * step)
        return ORDER_never;
    return ahead + reading->high <= (behind->block + 1) * step ? ORDER_near
                                                               : ORDER_onwards;
}

/* The least of all operands and copies. */
static Order
find_order(const Run *run)
{
    const RtBehind *behind = run->behind;
    Order least = ORDER_near;
    for (uint32_t c = 0; c < behind->ncopies; c++) {
        const RtReach *writing = &behind->copies[c].to;
        const char *to =
            run->data[run->plan->operands[behind->copies[c].step.operands + 1]];
        for (uint32_t k = 0; k < run->group->noperands; k++) {
            const char *data = run->data[run->operands[k]];
            if (behind->local[k])
                continue;
            Order order = order_of(behind, data, &behind->rows_of[k], to, writing);
            if (k >= run->group->ninputs &&
                meet(range_of(data, &behind->rows_of[k], behind->rows),
                     range_of(to, writing, behind->rows)))
                return ORDER_never; /* another result */
            least = order < least ? order : least;
        }
        for (uint32_t other = 0; other < c; other++) {
            const RtCopy *copied = &behind->copies[other];
            const char *data =
                run->data[run->plan->operands[copied->step.operands + 1]];
            if (meet(range_of(data, &copied->to, behind->rows),
                     range_of(to, writing, behind->rows)))
                return ORDER_never;
        }
    }
    return least;
}

/* -- Ways --------------------------------------------------------------------------- */

/* The values of all rows first. */
static int
run_at_once(const Run *run, RtFrame *frame)
{
    const RtBehind *behind = run->behind;
    size_t blocks = (size_t)((behind->rows - 1) / behind->block + 1);
    char *values = rt_buffer_take(run->plan->pool, blocks * behind->half_bytes),
         *data[RT_OPERANDS_MAX];
    int status = values ? 0 : -1;
    for (uint32_t k = 0; k < run->group->noperands; k++)
        data[k] = behind->local[k] ? values + (behind->local[k] - 1) * blocks
                                   : run->data[run->operands[k]];
    if (status == 0)
        status = rt_group_run_team(run->group, data, frame->scratch, frame->team);
    for (uint32_t c = 0; c < behind->ncopies && status == 0; c++) {
        const RtStep *step = &behind->copies[c].step;
        char *both[2] = {data[behind->copies[c].from],
                         run->data[run->plan->operands[step->operands + 1]]};
        status = rt_group_run_team(run->plan->groups[step->index], both, frame->scratch,
                                   frame->team);
    }
    rt_buffer_give(run->plan->pool, values);
    return status;
}

static intptr_t
part_end(const Run *run, intptr_t piece)
{
    intptr_t end = (piece + 1) * run->part;
    return end < run->behind->rows ? end : run->behind->rows;
}

static int
piece_in_order(void *context, intptr_t piece, char *scratch)
{
    Run *run = context;
    return follow_rows(run, piece * run->part, part_end(run, piece), scratch);
}

/* What `step`, compute or copy, does with the first block of a part. */
static int
at_head(const Run *run, intptr_t piece, char *scratch,
        int (*step)(const Run *, intptr_t, intptr_t, char *, char *))
{
    intptr_t at = piece * run->part;
    return step(run, at, rows_from(run, at, part_end(run, piece)),
                run->heads + piece * run->behind->half_bytes, scratch);
}

static int
piece_head(void *context, intptr_t piece, char *scratch)
{
    return at_head(context, piece, scratch, compute);
}

static int
piece_part(void *context, intptr_t piece, char *scratch)
{
    Run run = *(const Run *)context;
    intptr_t at = piece * run.part + run.behind->block, end = part_end(&run, piece);
    int status = follow_rows(&run, at, end, scratch);
    return status == 0 ? finish(&run, end, scratch) : status;
}

static int
piece_end(void *context, intptr_t piece, char *scratch)
{
    return at_head(context, piece, scratch, copy);
}

/* Parts by several threads. */
static int
run_parts(Run *run, RtFrame *frame, RtWork *work)
{
    int (*const phases[])(void *, intptr_t, char *) = {piece_head, piece_part,
                                                       piece_end};
    int status = 0;
    for (uint32_t i = 0; i < 3 && status == 0; i++) {
        work->run = phases[i];
        status = rt_parallel_for(frame->team, work, frame->scratch);
    }
    rt_buffer_give(run->plan->pool, run->heads);
    return status;
}

int
rt_behind_run(const RtPlan *plan, const RtBehind *behind, RtFrame *frame)
{
    const RtGroup *group = plan->groups[behind->group.index];
    Run run = {.plan = plan,
               .behind = behind,
               .group = group,
               .operands = plan->operands + behind->group.operands,
               .data = frame->data,
               .part = behind->rows,
               .last = -1};
    Order order = find_order(&run);
    if (order == ORDER_never)
        return run_at_once(&run, frame);
    bool alone =
        !frame->team || !group->large || (group->alone && !rt_group_kernel(group));
    if (!alone) {
        intptr_t work = group->size * (intptr_t)(group->nops + 1);
        intptr_t part = rt_piece_work(work) / (work / behind->rows + 1) / behind->block;
        run.part = (part < PART_BLOCKS ? PART_BLOCKS : part) * behind->block;
    }
    RtWork work = {.pieces = (behind->rows - 1) / run.part + 1,
                   .run = piece_in_order,
                   .context = &run,
                   .scratch_bytes = behind->local_at + 2 * behind->half_bytes,
                   .in_order = true};
    if (!alone && order == ORDER_near && work.pieces > 1 &&
        rt_team_count(frame->team) > 1)
        run.heads =
            rt_buffer_take(plan->pool, (size_t)work.pieces * behind->half_bytes);
    work.in_order = !run.heads;
    if (run.heads)
        return run_parts(&run, frame, &work);
    int status = rt_parallel_for(alone ? NULL : frame->team, &work, frame->scratch);
    return status == 0 ? finish(&run, behind->rows, frame->scratch) : status;
}

void
rt_behind_clear(RtBehind *behind)
{
    free(behind->copies);
    free(behind->rows_of);
    free(behind->local);
}
