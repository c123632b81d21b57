/* fuse.h - what pass_fuse.c (levels, groups) has from uses.c (who needs whom). */
#pragma once

#include "ir/graph.h"

/* Node `at` reads a version of a storage. */
typedef struct Read {
    uint32_t at;
    IrValue version;
    uint32_t next; /* older read of the same version; 0: none */
} Read;

/* The nodes of one region, in program order, and what each of them waits for. */
typedef struct Uses {
    IrGraph *g;
    IrRegion region;
    IrNode *nodes;
    uint32_t
        *local; /* by node number: position in `nodes` + 1; 0: elsewhere, or dead */
    uint32_t n;
    uint32_t *edges; /* positions of what node i waits for: edges[starts[i] …
                        starts[i+1]-1] */
    size_t *starts;
    bool *escapes; /* by value: returned, yielded, or used inside of a control node */
    Read *reads;   /* row 0 is none */
    size_t nreads;
    bool failed;
} Uses;

/* False: memory is out. ir_uses_free in any case. */
bool ir_uses_find(Uses *uses, IrGraph *g, IrRegion region);
void ir_uses_free(Uses *uses);
/* The storage's version that a value, maybe a view, is part of. */
IrValue ir_version_of(const IrGraph *g, IrValue value);
