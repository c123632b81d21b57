/* split_reduce.c - a large reduction in pieces.
**
**     runs      many: some of them a piece
**               few, pairwise: nodes of the tree of each, whose sums are joined as the tree says
**               few, of any order: parts of each, whose results are folded
**     columns   some results a piece; where these are few, by a kernel or from memory alone: its elements do
**               not depend on where a call ends
**     else      parts of the run, in order and by the caller alone: others of the program may run
**
** Law 1: pieces depend on the reduction alone, not on who runs them; but for columns of one row of
**        results, which are independent: narrow pieces read memory badly.
** Law 2: sums are those of the whole: a node is cut where the tree is, columns are added in the order
**        of the rows.
*/
#include <string.h>

#include "runtime/reduce.h"
#include "runtime/split.h"

enum {
    RUNS_ENOUGH = 64,  /* of fewer runs each is cut */
    COLUMNS = 2048,    /* results that are not cut: those of a block in reduce.c */
    COLUMNS_MIN = 128, /* of a piece, where calls do not show */
    NODES = 1024,      /* of a run, at most */
    NODE_MIN = 4096,   /* elements */
    ITEM = 8,          /* bytes of a result */
};

typedef struct Split {
    const RtReduce *reduce;
    RtReduceWay way;
    char *const *data;
    intptr_t step; /* of what a piece has some: results, columns or elements of a run */
    intptr_t pieces; /* of a result of the outer axis, where that is cut */
} Split;

/* A run that is cut: its parts, in order, and their results. */
typedef struct Parts {
    const Split *split;
    char *const *data;
    intptr_t n, at[NODES], length[NODES];
    char results[NODES][ITEM];
    intptr_t places[NODES]; /* of extremes, which are the results */
} Parts;

/* The inputs' addresses, moved n places on an axis. */
static void
move(const RtReduce *r, char **data, uint32_t axis, intptr_t n)
{
    for (uint32_t k = 0; k < r->group->ninputs; k++)
        data[k] += n * step_of(r, k, axis);
}

static void
copy_data(const RtReduce *r, char **to, char *const *from)
{
    memcpy(to, from, (r->group->ninputs + 1) * sizeof *to);
}

static intptr_t
at_most(intptr_t n, intptr_t most)
{
    return n < most ? n : most;
}

/* Bytes of a result, and of what belongs to one place on the outer axis. */
static intptr_t
result_bytes(const RtReduce *r)
{
    return r->along == RT_ALONG_position ? (intptr_t)sizeof(intptr_t) : r->itemsize;
}

static intptr_t
outer_bytes(const RtReduce *r)
{
    return result_bytes(r) * (r->inner ? r->inner : 1) *
           (r->along == RT_ALONG_scan ? r->run : 1);
}

/* -- Results, some a piece ---------------------------------------------------------- */

static int
run_results(void *context, intptr_t piece, char *scratch)
{
    const Split *split = context;
    RtReduce part = *split->reduce;
    char *data[RT_OPERANDS_MAX];
    intptr_t from = piece * split->step;
    copy_data(&part, data, split->data);
    move(&part, data, 0, from);
    data[part.group->ninputs] += from * outer_bytes(&part);
    part.outer = at_most(part.outer - from, split->step);
    return rt_reduce_run_by(&part, &split->way, data, scratch);
}

static int
run_columns(void *context, intptr_t piece, char *scratch)
{
    const Split *split = context;
    RtReduce part = *split->reduce;
    char *data[RT_OPERANDS_MAX];
    intptr_t outer = piece / split->pieces, from = piece % split->pieces * split->step;
    copy_data(&part, data, split->data);
    move(&part, data, 0, outer);
    move(&part, data, 2, from);
    data[part.group->ninputs] +=
        outer * outer_bytes(&part) + from * result_bytes(&part);
    part.outer = 1;
    part.inner = at_most(part.inner - from, split->step);
    return rt_reduce_run_by(&part, &split->way, data, scratch);
}

/* -- Runs that are cut ------------------------------------------------------------- */

static void
list_nodes(Parts *parts, intptr_t at, intptr_t n, intptr_t most)
{
    while (n > most) {
        intptr_t half = half_of(parts->split->reduce, n);
        list_nodes(parts, at, half, most);
        at += half;
        n -= half;
    }
    parts->at[parts->n] = at;
    parts->length[parts->n++] = n;
}

/* The sum of the tree below a node of n elements; `next` is the first of its parts. */
static void
join_nodes(const Parts *parts, intptr_t n, intptr_t most, intptr_t *next, char *sum)
{
    const RtReduce *r = parts->split->reduce;
    char right[ITEM];
    if (n <= most) {
        memcpy(sum, parts->results[(*next)++], r->itemsize);
        return;
    }
    intptr_t half = half_of(r, n);
    join_nodes(parts, half, most, next, sum);
    join_nodes(parts, n - half, most, next, right);
    rt_reduce_join(r, sum, right);
}

static int
run_node(void *context, intptr_t piece, char *scratch)
{
    Parts *parts = context;
    const Split *split = parts->split;
    return rt_reduce_node(split->reduce, &split->way, parts->data, parts->at[piece],
                          parts->length[piece], scratch, parts->results[piece]);
}

static int
run_part(void *context, intptr_t piece, char *scratch)
{
    Parts *parts = context;
    RtReduce part = *parts->split->reduce;
    char *data[RT_OPERANDS_MAX];
    copy_data(&part, data, parts->data);
    move(&part, data, 1, parts->at[piece]);
    data[part.group->ninputs] = parts->results[piece];
    part.outer = 1;
    part.run = parts->length[piece];
    if (part.along)
        return rt_along_position(&part, &parts->split->way, data, scratch,
                                 &parts->places[piece]);
    return rt_reduce_run_by(&part, &parts->split->way, data, scratch);
}

/* The place of the first extreme, of those of the parts. */
static void
join_places(const Parts *parts, char *out)
{
    const RtReduce *r = parts->split->reduce;
    intptr_t best = 0, place;
    for (intptr_t i = 1; i < parts->n; i++) {
        if (r->position.beats(parts->results[i], parts->results[best]))
            best = i;
    }
    place = parts->at[best] + parts->places[best];
    memcpy(out, &place, sizeof place);
}

static int
fold_parts(const Parts *parts, char *out)
{
    const RtReduce *r = parts->split->reduce;
    if (r->along) {
        join_places(parts, out);
        return 0;
    }
    memcpy(out, r->from_first ? parts->results[0] : r->identity, r->itemsize);
    for (intptr_t i = 0; i < parts->n; i++) {
        char *data[3] = {out, (char *)(uintptr_t)parts->results[i], out};
        intptr_t n = 1, strides[3] = {0, r->itemsize, 0};
        if (r->loop(r->context, data, &n, strides, r->auxdata) < 0)
            return -1;
    }
    return 0;
}

/* One result after the other, each of parts. */
static int
run_cut(const Split *split, char *scratch, RtTeam *team)
{
    const RtReduce *r = split->reduce;
    char *data[RT_OPERANDS_MAX], *out = split->data[r->group->ninputs];
    int status = 0;
    copy_data(r, data, split->data);
    for (intptr_t i = 0; i < r->outer && status == 0; i++, out += result_bytes(r)) {
        Parts parts;
        parts.split = split;
        parts.data = data;
        parts.n = 0;
        if (r->pairwise)
            list_nodes(&parts, 0, r->run, split->step);
        for (intptr_t at = 0; !r->pairwise && at < r->run; at += split->step) {
            parts.at[parts.n] = at;
            parts.length[parts.n++] = at_most(r->run - at, split->step);
        }
        RtWork work = {.pieces = parts.n,
                       .run = r->pairwise ? run_node : run_part,
                       .context = &parts,
                       .scratch_bytes = r->scratch_bytes};
        status = rt_parallel_for(team, &work, scratch);
        if (status == 0 && r->pairwise) {
            intptr_t next = 0;
            join_nodes(&parts, r->run, split->step, &next, out);
            rt_reduce_join(r, out, r->identity);
        } else if (status == 0)
            status = fold_parts(&parts, out);
        move(r, data, 0, 1);
    }
    return status;
}

/* -- In order ---------------------------------------------------------------------- */

/* A part of the run of the only result, or the only row of results. */
static int
run_next(void *context, intptr_t piece, char *scratch)
{
    const Split *split = context;
    RtReduce part = *split->reduce;
    RtReduceWay way = split->way;
    char *data[RT_OPERANDS_MAX];
    intptr_t from = piece * split->step;
    copy_data(&part, data, split->data);
    move(&part, data, 1, from);
    part.run = at_most(part.run - from, split->step);
    if (part.along) /* a result for each row */
        data[part.group->ninputs] +=
            from * (part.inner ? part.columns : 1) * part.itemsize;
    way.goes_on = piece > 0;
    return rt_reduce_run_by(&part, &way, data, scratch);
}

/* -- Choosing ---------------------------------------------------------------------- */

/* A multiple of `quantum` of which each takes so much, at least one. */
static intptr_t
step_for(intptr_t piece, intptr_t each, intptr_t quantum)
{
    intptr_t quanta = piece / (each * quantum ? each * quantum : 1);
    return quantum * (quanta > 1 ? quanta : 1);
}

/* The elements of a part of a run that is cut. */
static intptr_t
part_of_run(const RtReduce *r, intptr_t piece)
{
    intptr_t step = piece / (intptr_t)(r->group->nops + 1);
    if (step < r->run / (NODES / 4))
        step = r->run / (NODES / 4);
    if (step < NODE_MIN)
        step = NODE_MIN;
    return (step + r->group->block - 1) / r->group->block * r->group->block;
}

/* Runs, or rows, whose producer is run in one call in tier 0. */
static intptr_t
run_together(const RtReduce *r, intptr_t elements)
{
    return elements < r->group->block ? r->group->block / elements : 1;
}

static int
run_split(Split *split, intptr_t piece, char *scratch, RtTeam *team)
{
    const RtReduce *r = split->reduce;
    intptr_t ops = r->group->nops + 1, columns = r->inner ? r->inner : 1;
    bool any_order =
        !r->inner && (r->pairwise || r->folds || r->along == RT_ALONG_position);
    RtWork work = {.context = split, .scratch_bytes = r->scratch_bytes};
    intptr_t uncut = COLUMNS;
    if (r->inner > COLUMNS && rt_team_count(team) <= 1)
        uncut = rt_reduce_columns(r);
    if (r->inner > uncut) {
        split->step = step_for(piece, r->run * ops, uncut);
        split->pieces = (r->inner - 1) / split->step + 1;
        work.pieces = r->outer * split->pieces;
        work.run = run_columns;
    } else if (any_order && r->outer < RUNS_ENOUGH &&
               (r->outer == 1 || r->run * ops > 2 * piece)) {
        split->step = part_of_run(r, piece);
        return run_cut(split, scratch, team);
    } else if (r->outer > 1) {
        intptr_t together = r->inner ? 1 : run_together(r, r->run);
        split->step = step_for(piece, r->run * columns * ops, together);
        work.pieces = (r->outer - 1) / split->step + 1;
        work.run = run_results;
    } else if (r->along == RT_ALONG_position)
        return rt_reduce_run_by(r, &split->way, split->data, scratch);
    else if (!r->along && columns >= 2 * COLUMNS_MIN &&
             (split->way.kernel || !r->group->nops) && rt_team_count(team) > 1) {
        split->step = step_for(columns, 2 * (intptr_t)rt_team_count(team), COLUMNS_MIN);
        split->pieces = work.pieces = (r->inner - 1) / split->step + 1;
        work.run = run_columns;
    } else {
        intptr_t together = r->inner ? run_together(r, columns) : r->group->block;
        split->step = step_for(piece, columns * ops, together);
        work.pieces = (r->run - 1) / split->step + 1;
        work.run = run_next;
        work.in_order = true;
    }
    return rt_parallel_for(team, &work, scratch);
}

int
rt_reduce_run_team(const RtReduce *r, char *const *data, char *scratch, RtTeam *team)
{
    intptr_t columns = r->inner ? r->inner : 1;
    intptr_t work = r->outer * r->run * columns * (intptr_t)(r->group->nops + 1);
    if (!team || r->empty || r->walks || work < 2 * PIECE_MIN || r->itemsize > ITEM)
        return rt_reduce_run(r, data, scratch);
    /* A search of bools ends early, and what is in memory needs no pieces for one thread. */
    if (r->along && !r->group->nops && (r->itemsize == 1 || rt_team_count(team) <= 1))
        return rt_reduce_run(r, data, scratch);
    Split split = {.reduce = r, .way = rt_reduce_way(r), .data = data};
    if (r->group->alone && !split.way.kernel)
        return rt_reduce_run(r, data, scratch);
    uint32_t status = rt_fpstatus_save();
    int done = run_split(&split, rt_piece_work(work), scratch, team);
    rt_fpstatus_restore(status);
    return done;
}
