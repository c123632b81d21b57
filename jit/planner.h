/* planner.h - shared by the files that turn a trace into a plan: plan*.c. */
#pragma once

#include "jit/jit.h"

enum {
    CHUNK_NODES = 192, /* of a group */
    CHUNK_CUT = 120,   /* where large ones are cut, as long as their operands are few */
    CHUNK_CUT_WIDE = 16, /* three operands and a result each are RT_OPERANDS_MAX */
    CHUNK_DEAR = 6,
    CHUNK_OPERANDS = 48, /* inputs and outputs */
    CHUNK_CONSTANTS = RT_CONSTANTS_MAX,
    GRAPH_KEPT = 4000, /* nodes */
    POOLED_BYTES = 1 << 16,
};

typedef struct Planner {
    JitState *state;
    Trace *trace;
    IrGraph *g;
    IrRegion region;
    JitPlan *plan;
    RtPlan *rt;
    IrValue *
        bound; /* regions: values that come in, in the order of the plan's parameters */
    uint32_t bound_room, loops_room;
    uint32_t *slot;    /* per value: slot + 1 */
    IrValue *root;     /* per value: whose memory it is */
    uint32_t *readers; /* per value: live nodes and returns that read it */
    uint32_t *chunk;   /* per node: number of the group it is in */
    bool *live;        /* per node */
    bool *object;      /* per root value: needs an object */
    bool *kept;        /* per value: read outside of its chunk */
    bool *again;       /* per node: made in every chunk that reads it */
    bool *same;        /* per node: its value is its operand's memory as it is */
    uint32_t slots_room, steps_room, groups_room, operands_room;
    uint32_t *touched; /* per slot: last step that uses its memory */
    uint32_t nchunks, reduces_room, places_room;
    uint32_t *site; /* per node: its site + 1 */
    bool *called;   /* per site: a step calls it */
    bool
        *outside; /* per root value: seen by others, or written; or NULL: plan_made.c */
    npy_intp made_bytes;
    bool *rolled; /* per node: a roll that is not computed */
    bool *used;   /* per node: another one has it among its operands */
    IrValue *returns;
    uint32_t nreturns;
    bool failed;
} Planner;

typedef struct Chunk {
    IrNode nodes[CHUNK_NODES];
    IrValue inputs[RT_OPERANDS_MAX], outputs[RT_OPERANDS_MAX],
        constants[RT_CONSTANTS_MAX];
    const npy_intp *strides[RT_OPERANDS_MAX]; /* of outputs, where not their own */
    uint32_t slots[RT_OPERANDS_MAX];          /* of outputs */
    uint32_t nnodes, ninputs, noutputs, nconstants;
    bool
        placed; /* an output goes right into an update's window: nothing may be taken out */
} Chunk;

JitPlan *jit_plan_region(JitState *state, Trace *trace, IrRegion region);
bool jit_plan_has(const IrValue *list, uint32_t n, IrValue value);
bool jit_plan_is_const_node(const IrGraph *g, IrValue value);
bool jit_plan_made_in(const Planner *p, const Chunk *c, IrValue value);
void jit_plan_chunk_edges(const Planner *p, Chunk *c);
void jit_plan_chunk_emit(Planner *p, Chunk *c);
JitGroupSpec jit_plan_chunk_spec(const Planner *p, const Chunk *c);
void jit_plan_chunk_outputs(Planner *p, Chunk *c, uint32_t *slots);
void jit_plan_group_add(Planner *p, const Chunk *c, const JitGroupSpec *spec,
                        const uint32_t *operands);
void jit_plan_site_emit(Planner *p, IrNode node);
/* A call that makes an array of constants, which the plan has; false: it is a call. */
bool jit_plan_made_once(Planner *p, IrNode node);
void jit_plan_keep(Planner *p, PyObject *object);
/* A call that takes or puts elements, as a step of the plan; false: it is a call. */
bool jit_plan_place_emit(Planner *p, IrNode node);
/* Which rolls are read where they lie by the groups that use them: plan_rolls.c. */
void jit_plan_find_rolls(Planner *p);
/* A roll that is computed as copies; false: as a call. */
bool jit_plan_roll_emit(Planner *p, IrNode node);
bool jit_plan_reads_rolled(const Planner *p, const Chunk *c);
/* False: the rolls have been made arrays, the chunk is a group like others. */
bool jit_plan_rolled_emit(Planner *p, Chunk *c);
void jit_plan_chunk_add(Planner *p, Chunk *c, IrNode node);
/* What may as well be computed twice as be read from memory. */
bool jit_plan_is_cheap(IrOp op);
/* Values that elementwise nodes of other chunks read. */
void jit_plan_find_kept(Planner *p, bool *kept);
void jit_plan_find_again(Planner *p);
void jit_plan_find_same(Planner *p);
void jit_plan_walk_refs(Planner *p, PyObject *template,
                        void (*visit)(Planner *, TraceRef *));
void jit_plan_each_use(Planner *p, IrNode node, void (*visit)(Planner *, IrValue));
void jit_plan_mark_live(Planner *p);
bool jit_plan_must_call(const Planner *p, const TraceSite *site);
bool jit_plan_carried_in_place(const IrGraph *g, IrNode node, uint32_t i);
IrValue jit_plan_shares(const IrGraph *g, IrNode node, uint32_t i);
bool jit_plan_is_elementwise(const IrGraph *g, IrNode node);
void jit_plan_find_roots(Planner *p);
void jit_plan_find_objects(Planner *p);
/* Sites and result of a finished trace. */
void jit_plan_take_sites(Planner *p);
/* When all steps are there. */
void jit_plan_drop_objects(Planner *p);
/* True if the group may have operand `out` where operand `in` is: plan_rows.c. */
bool jit_plan_may_replace(const RtGroup *group, uint32_t in, uint32_t out);
/* Results in the memory of arrays that are not needed any more: plan_reuse.c. */
void jit_plan_reuse(Planner *p);
void jit_plan_loop_emit(Planner *p, IrNode node);
void *jit_plan_grown(Planner *p, void *table, uint32_t n, uint32_t *room, size_t item);
uint32_t jit_plan_slot_add(Planner *p, RtSlotKind kind);
void jit_plan_step_add(Planner *p, RtStepKind kind, uint32_t index, uint32_t operands);
void jit_plan_describe(Planner *p, uint32_t slot, IrValue value);
IrValue jit_plan_window_index(const IrGraph *g, IrNode node);
uint32_t jit_plan_slot_of(Planner *p, IrValue value);
uint32_t jit_plan_root_slot(const Planner *p, uint32_t slot);
void jit_plan_touch(Planner *p, uint32_t slot);
void jit_plan_make_room(Planner *p, uint32_t slot);
uint32_t jit_plan_item_bytes(const Planner *p, IrValue value);
void jit_plan_window_copy(Planner *p, IrValue value, uint32_t from,
                          const npy_intp *from_strides, uint32_t window);
void jit_plan_update_emit(Planner *p, IrNode node);
bool jit_plan_update_through(Planner *p, Chunk *c, IrNode update);

/* The slot as the next operand of the step to come. */
void jit_plan_operand_add(Planner *p, uint32_t slot);
bool jit_plan_is_reduction(IrOp op); /* scans, too */
/* Positions and scans: plan_along.c. The loops of one; false: none for this dtype. */
bool jit_plan_is_along(IrOp op);
bool jit_plan_along_of(IrOp op, IrDtype dtype, RtReduce *reduce, IrOp *loop);
/* any or all of bools in memory: a search. */
void jit_plan_along_end(IrOp op, IrDtype dtype, RtReduce *reduce);
/* The code of the producer, if there is one, is that of such a step. */
void jit_plan_along_code(IrOp op, bool bare, JitGroupCode *code);
/* A reduction of what is in memory, as NumPy does it; false: not of this dtype. */
bool jit_plan_walk(Planner *p, IrNode node, RtReduce *reduce);
/* False: the reduction is a step of its own. The chunk keeps what the reduction has not taken. */
bool jit_plan_reduce_through(Planner *p, Chunk *c, IrNode node);
/* `span` places on the outermost axis of an operand are the bytes low ... high - 1 from its
** address on. Returns the bytes from there to the next ones. */
intptr_t jit_plan_measure(const RtPlan *rt, const RtStep *step, uint32_t operand,
                          intptr_t span, intptr_t *low, intptr_t *high);
/* True if the step may as well come before the groups and reductions in front of it. */
bool jit_plan_only_places(const RtStep *step);
/* The plan's steps are these `n` from here on, and the old ones have moved to `moved`; the list is given away. */
void jit_plan_take_steps(Planner *p, RtStep *steps, uint32_t n, const uint32_t *moved);
/* Steps over the same rows as one: after all steps, before memory is released. */
void jit_plan_rows(Planner *p);
/* The same of groups and the copies of their results: plan_behind.c. */
void jit_plan_behind(Planner *p);
/* 1 + the number of the reduction that does what these steps, one after the other, do; or 0. */
uint32_t jit_plan_both(Planner *p, const RtStep *first, const RtStep *second);
/* False: it is a call of NumPy's. */
bool jit_plan_reduce_bare(Planner *p, IrNode node);
/* The group's kernel graph, for tier 1. False: out of memory. */
bool jit_group_code(const IrGraph *g, TraceNumerics numerics, const Chunk *c,
                    const RtGroup *group, const IrJoin *join, JitGroupCode *code);
/* The kernel graph of a reduction's producer; join NULL: only that. */
void jit_plan_reduce_code(Planner *p, const Chunk *c, RtGroup *group,
                          const IrJoin *join, uint32_t number);
