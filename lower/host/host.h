/* host.h - shared inside the host back end.
**
**     kernel graph ─► support.c: has every node a lowering?
**                  ─► loop.c, fold.c: the function, its loops ─► elem.c: nodes ─► cast.c
**                                │                        (a row of tokens.def each)
**                                └► access.c: elements in memory ◄─► lanes in registers
**                  ─► engine.c: machine code or text
**
** Law 1: bits are NumPy's. No fast-math flag is set anywhere, nothing is contracted.
** Law 2: no lane may do what the others could not: divisors of integers are guarded, no
**        conversion is undefined, whatever a lane holds.
*/
#pragma once

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "ir/ir.h"
#include "lower/lower.h"

/* -- Targets (target.c) --------------------------------------------------- */

typedef enum HostArch { ARCH_x86, ARCH_arm } HostArch;
typedef enum HostTail { TAIL_mask, TAIL_pad } HostTail;

typedef struct HostTarget {
    const char *name, *triple, *cpu, *needs;
    HostArch arch;
    unsigned vector_bytes, registers;
    HostTail tail;
    bool fma, tables;
} HostTarget;

/* A row, and the CPU to make code for: the row's own or, better, this machine's. */
typedef struct HostMachine {
    const HostTarget *target;
    LLVMTargetMachineRef machine;
    char *cpu, *features; /* LLVM messages: LLVMDisposeMessage */
    bool native;          /* its code runs here */
} HostMachine;

const HostTarget *lower_target_find(const char *name); /* NULL: no such row */
const HostTarget *lower_target_host(void);             /* NULL: no row for this CPU */
/* target NULL: this machine. False: error is filled in. */
bool lower_target_open(const HostTarget *target, HostMachine *m, char *error, size_t n);
void lower_target_close(HostMachine *m);

/* -- A function being built ----------------------------------------------- */

/* The lanes of a value: one vector, two of a complex value. Booleans are <n x i1>. */
typedef struct Lanes {
    LLVMValueRef re, im;
} Lanes;

typedef struct Build {
    const HostTarget *target;
    const IrGraph *kernel;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    unsigned
        lanes; /* elements a vector has, whatever its dtype; 1: no vectors, but scalars */
    const Lanes
        *fixed; /* values that are the same in every turn of the loop, or NULL */
} Build;

/* -- Elements and lanes (access.c) ---------------------------------------- */

/* The dtype whose elements a parameter has in memory: Python's scalars have NumPy's
** form. */
IrDtype lower_access_stored(IrDtype dtype);
/* The dtype of the parts of complex numbers; others are their own part. */
IrDtype lower_access_part(IrDtype dtype);
LLVMTypeRef lower_access_type(Build *b, IrDtype dtype); /* of lanes, or of one part */
Lanes lower_access_const(Build *b, IrDtype dtype, const IrAttr *value);
LLVMValueRef lower_access_int(Build *b, IrDtype dtype,
                              int64_t value); /* in all lanes */
LLVMValueRef lower_access_float(Build *b, IrDtype dtype, double value);
/* `element` is the number of the first one; mask NULL: all lanes. Lanes that are not
** loaded are 1. */
Lanes lower_access_load(Build *b, IrDtype dtype, LowerPattern pattern,
                        LLVMValueRef base, LLVMValueRef element, LLVMValueRef mask);
/* The same at a step, in bytes, that is a value of the code. */
Lanes lower_access_load_at(Build *b, IrDtype dtype, LLVMValueRef step,
                           LLVMValueRef base, LLVMValueRef element, LLVMValueRef mask);
void lower_access_store_at(Build *b, IrDtype dtype, Lanes value, LLVMValueRef step,
                           LLVMValueRef base, LLVMValueRef element, LLVMValueRef mask);
Lanes lower_access_broadcast(Build *b, IrDtype dtype, LLVMValueRef address);
void lower_access_store(Build *b, IrDtype dtype, Lanes value, LLVMValueRef base,
                        LLVMValueRef element, LLVMValueRef mask);
/* Past the caches; the address is a multiple of the vector. */
void lower_access_stream(Build *b, IrDtype dtype, Lanes value, LLVMValueRef base,
                         LLVMValueRef element);
bool lower_access_streams(IrDtype dtype); /* dtypes of which there is that */
LLVMValueRef lower_access_address(Build *b, IrDtype dtype, LLVMValueRef base,
                                  LLVMValueRef element);
LLVMValueRef lower_access_buffer(Build *b, IrDtype dtype); /* on the stack */
/* The same in the function's first block, wherever the builder is: memory of a loop's body would be taken again in
** every turn. */
LLVMValueRef lower_access_entry_buffer(Build *b, IrDtype dtype);
LLVMValueRef lower_access_buffers(Build *b, IrDtype dtype, unsigned copies);
void lower_access_fill(Build *b, IrDtype dtype, LLVMValueRef buffer); /* all lanes 1 */
/* One element. */
void lower_access_copy(Build *b, IrDtype dtype, LLVMValueRef to, LLVMValueRef from);

/* An LLVM intrinsic, overloaded on `types`. */
LLVMValueRef lower_access_call(Build *b, const char *intrinsic,
                               const LLVMTypeRef *types, unsigned ntypes,
                               LLVMValueRef *arguments, unsigned n);

/* -- Nodes (elem.c, cast.c) ----------------------------------------------- */

/* True if the node has a lowering; else a reason is filled in. */
bool lower_elem_supports(const HostTarget *target, const IrGraph *kernel, IrNode node,
                         char *reason, size_t n);
/* A call of NumPy's loop, of elements in memory: x, y where there is one, and results. `type` is that of
** the operands, as it is in the symbol. */
void lower_elem_call_loop(Build *b, const char *name, const char *type,
                          LLVMValueRef *memory, LLVMValueRef n);
bool lower_elem_supports_dtype(const HostTarget *target, IrDtype dtype);
unsigned lower_elem_cost(const IrGraph *kernel, IrNode node); /* an addition is 1 */
unsigned lower_elem_bytes(const IrGraph *kernel,
                          IrNode node); /* widest lane it needs */
/* The node's result; values[v] are the lanes of value v. */
Lanes lower_elem_emit(Build *b, IrNode node, const Lanes *values);

Lanes lower_cast_emit(Build *b, Lanes x, IrDtype from, IrDtype to);

/* fold(x, y) of a reduction's op on elements of its dtype. */
Lanes lower_elem_fold(Build *b, IrNode node, Lanes x, Lanes y);

/* -- Kernels (loop.c, fold.c, engine.c) ------------------------------------------- */

/* Adds the kernel's function to the module. False: out of memory. */
bool lower_loop_build(Build *b, const char *name, const LowerPattern *patterns);
/* The same of a kernel that ends in a reduction. */
bool lower_fold_build(Build *b, const char *name, const LowerPattern *patterns);
/* The reduction that the kernel ends in, or 0. */
IrNode lower_fold_node(const IrGraph *kernel);
bool lower_fold_supports(const IrGraph *kernel, IrNode node, char *reason, size_t n);

/* A nest: loops over elements and numbers. */
bool lower_nest_is(const IrGraph *kernel);
bool lower_nest_supports(const HostTarget *target, const IrGraph *kernel, char *reason,
                         size_t n);
bool lower_nest_build(Build *b, const char *name, const LowerPattern *patterns);

/* True if every node of the kernel has a lowering; else a reason is filled in. */
bool lower_support_check(const HostTarget *target, const IrGraph *kernel, char *reason,
                         size_t n);
