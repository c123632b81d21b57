/* compile.h - shared by compile.c (plans to jobs) and kernel.c (jobs to kernels). */
#pragma once

#include <stdatomic.h>

#include "jit/jit.h"

typedef struct JitDead JitDead; /* code of ORC to be given back on the compile thread */

/* A directory of the disk cache; as long as the compiler lives. */
struct JitDisk {
    JitDisk *next;
    RtDisk *disk;        /* of kernels; NULL: none */
    RtDisk *twins;       /* of rewritten functions: twins.c; NULL: none */
    PyObject *directory; /* bytes, or None */
    bool told;           /* of trouble with it */
};

struct JitCompiler {
    RtWorker *worker;
    char *path; /* of the host back end */
    RtKernels *kernels;
    JitDisk *disks; /* under the GIL */
    uint64_t disk_bound;
    _Atomic(JitDead *) dead;
    _Atomic(bool)
        foreign; /* for tests: all code is ORC's, as where there are no images */
    char identity[1024]; /* what all keys begin with; made before there are jobs */
    bool portable;       /* kernels may go to disk and come from there */
    /* From here on: the compile thread's alone. */
    bool opened;
    const LowerTarget *target;
    LowerEngine *engine;
    char reason[160]; /* why there is no engine */
};

typedef struct JitJob {
    JitCompiler *compiler;
    IrGraph *kernel;
    LowerPattern *patterns;
    uint32_t nparams;
    RtCode *code;
    RtDisk *disk; /* or NULL */
    bool nest;    /* its graph is compiled as it is */
} JitJob;

enum { JIT_PASS_LEVEL = 9 /* all passes */ };

/* kernel.c. Once, before there are jobs. */
void jit_kernel_identify(JitCompiler *c);
/* On any thread: the kernel of a graph that is in memory or on disk, held, or NULL. The graph
** runs through the passes. */
RtKernel *jit_kernel_known(const JitJob *job);
/* On the compile thread from here on. */
void jit_target_open(JitCompiler *c);
/* Gives the job's code its entry, or the reason why there is none. */
void jit_kernel_make(JitJob *job);
/* Frees what the above has opened. */
void jit_target_close(JitCompiler *c);
