/* lower.h - fused groups to machine code.
**
** The host back end lives in a module of its own (_pyasc_host), the only one linked to libLLVM.
** The compile thread opens it and looks up one symbol, `pyasc_lower_host`, which returns this
** table of functions. Nothing here knows Python.
*/
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/ir.h"
#include "runtime/runtime.h"

enum { LOWER_ABI = 5 };

/* Versions of pyasc and LLVM, and a hash of the sources that decide what code a kernel becomes:
** of who includes this. Written by the build. */
extern const char lower_version[];

/* A compiled group over `rows` innermost runs of n elements, at least one. `data` holds the
** addresses of the first elements, inputs first, then outputs, in the order of the kernel graph's
** parameters and returns. An operand's step in a run is fixed at compile time by its pattern;
** row_steps are the bytes from a row to the next, not read where there is one row; behind them come, where
** a pattern says so, the bytes from an element to the next. */
typedef void (*LowerKernelFn)(char *const *data, intptr_t n, intptr_t rows,
                              const intptr_t *row_steps);

/* A kernel that ends in a reduction is called with the same types; what it reduces may be a
** result, too, in front of the reduction's. row_steps[p] is for parameter p, or for that result,
** behind these comes how many elements each row has, which lie right behind those of the rows
** before; a row gives one element. n rows are a run, at whose end the parameters that are one
** element move by their steps; 0: all rows are one. A sum of floats is NumPy's for a run of that
** many elements, at most LOWER_LEAF, without the zero that NumPy adds it to; one with the attribute
** `wide` is a leaf of the wide tree of runtime/reduce.c, of any length. The order of other
** reductions does not show. */
enum { LOWER_LEAF = 128 }; /* ORDER leaf */

/* A nest (nest.c) is called with the same types, too: data has the addresses of arrays and numbers,
** of results, of the status (an int64), a function without arguments that is asked now and then,
** whose answer other than 0 is to stop, and a list of NumPy's dot products, of float64 and float32.
** row_steps: of each array its extents, then strides. */
enum { LOWER_NEST_failed = 1, LOWER_NEST_stopped = 2 };

/* A kernel of this name, without a reduction, writes results past the caches, in rows where they begin
** at whole vectors: they are too large for the caches, and no one else has their memory. Who calls it makes other
** processors see what was written (sfence on x86). */
#define LOWER_STREAMED "streamed"
/* One of this name joins rows to its last parameter, whose memory is that of the result, in all rows the same. */
#define LOWER_JOINED "joined"
/* And what one of this name reads is in no cache: it asks for it some turns ahead. */
#define LOWER_FAR "far"

/* One of this name, without a reduction, writes results at a step each, as PATTERN_stride reads. */
#define LOWER_SCATTERED "scattered"

/* The name of a graph that is a nest, with or without loops. ORDER nest */
#define LOWER_NEST "nest"

typedef enum LowerPattern {
    PATTERN_contiguous, /* step = the item size; only the alignment of an element is assumed */
    PATTERN_scalar, /* step 0: one element for the whole run */
    PATTERN_back, /* step = the item size, backwards: only of 4 and 8 byte numbers, with TAIL_mask */
    PATTERN_second, /* step = twice the item size, and so on: the same */
    PATTERN_third,
    PATTERN_fourth,
    PATTERN_stride, /* the step, in bytes, is in the list of steps behind those of rows: the same */
} LowerPattern;

typedef struct LowerEngine
    LowerEngine; /* one for a process; used by one thread at a time */
typedef struct LowerCode LowerCode; /* one kernel's machine code */
/* Function i that kernels may call; false: there is none of that number. */
typedef bool (*LowerSymbolFn)(unsigned i, char *name, size_t n, uintptr_t *address);

typedef struct LowerTarget {
    int abi; /* LOWER_ABI */
    LowerEngine *(*engine_new)(LowerSymbolFn symbols, char *error, size_t n);
    void (*engine_free)(LowerEngine *engine);
    /* True if every node of the kernel graph has a lowering (op and dtypes). Needs no engine. */
    int (*supports)(const IrGraph *kernel, char *reason, size_t n);
    /* `kernel` is a function made by ir_group_extract: elementwise nodes, casts and constants
    ** only, and maybe one reduction, whose result is the only one or stands behind what is reduced. patterns[i] is for parameter i; results are contiguous, but for LOWER_SCATTERED. Outputs may be the same
    ** memory as an input of equal step, and overlap nothing else. NULL: error is filled in. */
    LowerCode *(*compile)(LowerEngine *engine, const IrGraph *kernel,
                          const LowerPattern *patterns, LowerKernelFn *entry,
                          char *error, size_t n);
    void (*code_free)(LowerEngine *engine, LowerCode *code);
    /* The same code as an image (image->memory is malloc'ed). False: error is filled in, and
    ** only compile() may have it. */
    int (*image)(LowerEngine *engine, const IrGraph *kernel,
                 const LowerPattern *patterns, RtImage *image, char *error, size_t n);
    /* The module's lower_version, or "" where the LLVM that is there is another one. */
    const char *(*version)(void);
    /* LLVM IR and assembly of the same kernel, malloc'ed text. */
    char *(*llvm_text)(LowerEngine *engine, const IrGraph *kernel,
                       const LowerPattern *patterns, char *error, size_t n);
    char *(*assembly_text)(LowerEngine *engine, const IrGraph *kernel,
                           const LowerPattern *patterns, char *error, size_t n);
} LowerTarget;

typedef const LowerTarget *(*LowerTargetFn)(void); /* the type of pyasc_lower_host */
