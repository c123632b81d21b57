/* nest_loop.h - loops of a nest while they are walked: nest_block.c, nest_settle.c, nest_swap.c. */
#pragma once

#include <string.h>

#include "trace/nest.h"

/* -- nest_settle.c ------------------------------------------------------------------- */
static inline void
nest_slots_save(const NestMaker *m, NestValue *slots)
{
    memcpy(slots, m->slots, m->nslots * sizeof *slots);
}

static inline void
nest_slots_load(NestMaker *m, const NestValue *slots)
{
    memcpy(m->slots, slots, m->nslots * sizeof *slots);
}

static inline NestValue *
nest_slots_new(NestMaker *m)
{
    return nest_take(m, m->nslots * sizeof(NestValue));
}

/* A loop while its turns are walked. */
typedef struct NestCycle {
    const NestTree *tree;
    uint32_t head, end; /* on the tape: types at the head, and behind the body */
    NestValue *before;
    bool runs;              /* there is a turn for sure */
    const NestValue *heads; /* types at the head of this turn */
    double often, likely;   /* how many turns there may be, and are to be expected */
    bool (*turn)(NestMaker *m,
                 struct NestCycle *loop); /* one turn, from the slots on */
    NestValue items;                      /* for: what it goes over */
    IrValue index;                        /* for: the turn */
    int64_t turns[2];                     /* for: bounds of how many there are */
} NestCycle;

NestValue nest_join_slot(NestMaker *m, uint32_t s, const NestValue *x,
                         const NestValue *y, bool widen);
/* Fails where a region had to give more than it can. */
void nest_check_parts(NestMaker *m, const NestTree *tree, const NestValue *types);
/* The first walk of a loop: types at its head and behind its body, on the tape. */
void nest_settle(NestMaker *m, NestCycle *loop);

/* -- nest_swap.c ------------------------------------------------------------------- */
bool nest_is_own(const Tracer *tracer);      /* as it comes in: no one else has it */
uint32_t nest_arrays_in(const NestValue *x); /* a mask */
/* At the end of a turn: names that have changed their arrays with each other have them back, and what is in them. */
void nest_swap_back(NestMaker *m, const uint8_t *assigned, const NestValue *head);
/* True of a name that has the array that it came with, and behind a turn one that the turn has made. */
bool nest_is_renewed(const NestMaker *m, const NestValue *head, const NestValue *end);
/* At the end of a turn: names that are kept have the array of its head again, with the elements of the new one. */
void nest_keep_back(NestMaker *m, const uint8_t *assigned, const NestValue *head);
/* Before a loop of `count` turns: what is kept as a copy is the old array if there are none. */
void nest_keep_check(NestMaker *m, const uint8_t *assigned, IrValue count,
                     const int64_t turns[2]);
