/* compile.c - tier 1: groups to machine code, in the background.
**
**   plan ─► kernel graph of each group ─► job ─► (compile thread) passes ─► text
**                                                                           │
**                     code->entry ◄┬─ known ───────────────── kernel cache ◄┘
**                                  └─ new: host back end
**
** The compile thread opens the host back end and with it LLVM; importing pyasc and
** first calls never wait for that. Jobs own all they touch and never need the GIL.
*/
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/jit.h"

typedef struct Kernel {
    struct Kernel *next;
    char *key; /* text and patterns */
    RtKernelFn entry;
    char reason[160]; /* where entry is NULL */
} Kernel;

enum {
    BUCKETS = 1024,
    PASS_LEVEL = 9, /* all passes */
};

struct JitCompiler {
    RtWorker *worker;
    char *path; /* of the host back end */
    /* From here on: the compile thread's alone. */
    bool opened;
    const LowerTarget *target;
    LowerEngine *engine;
    char reason[160]; /* why there is no engine */
    Kernel *kernels[BUCKETS];
};

typedef struct Job {
    JitCompiler *compiler;
    IrGraph *kernel;
    LowerPattern *patterns;
    uint32_t nparams;
    RtCode *code;
} Job;

/* -- On the compile thread --------------------------------------------------------- */

static void
open_target(JitCompiler *c)
{
    c->opened = true;
    void *module = dlopen(c->path, RTLD_NOW | RTLD_LOCAL);
    if (!module) {
        snprintf(c->reason, sizeof c->reason, "no host back end: %s", dlerror());
        return;
    }
    void *symbol = dlsym(module, "pyasc_lower_host");
    LowerTargetFn get;
    memcpy(&get, &symbol, sizeof get);
    c->target = symbol ? get() : NULL;
    if (!c->target || c->target->abi != LOWER_ABI) {
        snprintf(c->reason, sizeof c->reason,
                 "the host back end is of another version");
        c->target = NULL;
        return;
    }
    c->engine = c->target->engine_new(c->reason, sizeof c->reason);
}

/* The kernel's canonical text, with what else its code depends on. */
static char *
key_of(const Job *job)
{
    char *text = ir_print(job->kernel);
    size_t length = text ? strlen(text) : 0;
    char *key = text ? realloc(text, length + job->nparams + 1) : NULL;
    if (!key) {
        free(text);
        return NULL;
    }
    for (uint32_t i = 0; i < job->nparams; i++)
        key[length + i] = job->patterns[i] == PATTERN_scalar ? 's' : 'c';
    key[length + job->nparams] = 0;
    return key;
}

static Kernel **
kernel_place(JitCompiler *c, const char *key)
{
    uint32_t hash = 2166136261u;
    for (const char *at = key; *at; at++)
        hash = (hash ^ (uint8_t)*at) * 16777619u;
    Kernel **place = &c->kernels[hash % BUCKETS];
    while (*place && strcmp((*place)->key, key) != 0)
        place = &(*place)->next;
    return place;
}

static Kernel *
kernel_find(JitCompiler *c, const Job *job)
{
    char *key = key_of(job);
    if (!key)
        return NULL;
    Kernel **place = kernel_place(c, key);
    if (*place) {
        free(key);
        return *place;
    }
    Kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel) {
        free(key);
        return NULL;
    }
    kernel->key = key;
    LowerKernelFn entry = NULL;
    if (!c->target->supports(job->kernel, kernel->reason, sizeof kernel->reason))
        entry = NULL;
    else if (!c->target->compile(c->engine, job->kernel, job->patterns, &entry,
                                 kernel->reason, sizeof kernel->reason))
        entry = NULL;
    kernel->entry = entry;
    *place = kernel;
    return kernel;
}

static void
job_free(Job *job)
{
    ir_graph_free(job->kernel);
    free(job->patterns);
    rt_code_drop(job->code);
    free(job);
}

static void
job_run(void *context)
{
    Job *job = context;
    JitCompiler *c = job->compiler;
    if (!c->opened)
        open_target(c);
    bool passed = ir_pipeline_run(job->kernel, PASS_LEVEL, NULL, NULL);
    const Kernel *kernel = c->engine && passed ? kernel_find(c, job) : NULL;
    const char *reason = kernel       ? kernel->reason
                         : !c->engine ? c->reason
                         : !passed    ? ir_error(job->kernel)
                                      : "out of memory";
    if (kernel && kernel->entry) {
        atomic_store_explicit(&job->code->entry, kernel->entry, memory_order_release);
        atomic_store_explicit(&job->code->state, RT_CODE_ready, memory_order_release);
    } else {
        snprintf(job->code->reason, sizeof job->code->reason, "%s", reason);
        atomic_store_explicit(&job->code->state, RT_CODE_failed, memory_order_release);
    }
    job_free(job);
}

static void
job_drop(void *context)
{
    job_free(context);
}

/* -- On the callers' threads ------------------------------------------------------- */

int
jit_compiler_new(JitState *state, const char *path)
{
    JitCompiler *c = calloc(1, sizeof *c);
    if (c) {
        c->worker = rt_worker_new();
        c->path = strdup(path);
    }
    if (!c || !c->worker || !c->path) {
        jit_compiler_free(c);
        PyErr_NoMemory();
        return -1;
    }
    state->compiler = c;
    return 0;
}

void
jit_compiler_free(JitCompiler *c)
{
    if (!c)
        return;
    if (c->worker)
        rt_worker_free(c->worker);
    for (uint32_t i = 0; i < BUCKETS; i++) {
        for (Kernel *next, *k = c->kernels[i]; k; k = next) {
            next = k->next;
            free(k->key);
            free(k);
        }
    }
    if (c->engine)
        c->target->engine_free(c->engine);
    free(c->path);
    free(c);
}

static void
submit(JitState *state, RtGroup *group, JitGroupCode *code)
{
    Job *job = calloc(1, sizeof *job);
    if (!job)
        return;
    job->compiler = state->compiler;
    job->nparams = code->nparams;
    job->kernel = ir_graph_copy(code->kernel);
    job->patterns = calloc(code->nparams + 1, sizeof *job->patterns);
    group->code = rt_code_new();
    if (!job->kernel || !job->patterns || !group->code) {
        if (job->kernel)
            ir_graph_free(job->kernel);
        free(job->patterns);
        free(job);
        return;
    }
    memcpy(job->patterns, code->patterns, code->nparams * sizeof *job->patterns);
    job->code = rt_code_hold(group->code);
    if (!rt_worker_submit(state->compiler->worker, job_run, job_drop, job))
        job_free(job);
}

static bool
submit_group(JitState *state, RtGroup *group, JitGroupCode *code, int tier)
{
    if (!code->kernel || group->code)
        return false;
    if (tier == 0) {
        code->reason = "tier 0 was asked for";
        return false;
    }
    submit(state, group, code);
    return true;
}

static bool
submit_plan(JitState *state, JitPlan *plan, int tier)
{
    bool any = false;
    for (uint32_t i = 0; i < plan->rt->nloops; i++)
        any |= submit_plan(state, plan->bodies[i], tier);
    for (uint32_t i = 0; i < plan->rt->ngroups; i++)
        any |= submit_group(state, plan->rt->groups[i], &plan->codes[i], tier);
    for (uint32_t i = 0; i < plan->rt->nreduces; i++)
        any |= submit_group(state, plan->rt->reduces[i].group, &plan->reduce_codes[i],
                            tier);
    return any;
}

void
jit_compile_plan(JitState *state, JitPlan *plan, int tier)
{
    if (submit_plan(state, plan, tier) && tier == 1)
        jit_compile_wait(state);
}

void
jit_compile_wait(JitState *state)
{
    Py_BEGIN_ALLOW_THREADS rt_worker_wait(state->compiler->worker);
    Py_END_ALLOW_THREADS
}

/* A copy of the kernel as it is compiled, or NULL. */
IrGraph *
jit_kernel_passed(const IrGraph *kernel)
{
    IrGraph *copy = ir_graph_copy(kernel);
    if (copy && ir_pipeline_run(copy, PASS_LEVEL, NULL, NULL))
        return copy;
    ir_graph_free(copy);
    return NULL;
}

/* For good. */
void
jit_compile_stop(JitState *state)
{
    Py_BEGIN_ALLOW_THREADS rt_worker_stop(state->compiler->worker);
    Py_END_ALLOW_THREADS
}

/* -- Text -------------------------------------------------------------------------- */

typedef struct TextJob {
    JitCompiler *compiler;
    const JitGroupCode *code;
    bool assembly;
    char *text;
    char reason[160];
} TextJob;

static void
text_run(void *context)
{
    TextJob *job = context;
    JitCompiler *c = job->compiler;
    if (!c->opened)
        open_target(c);
    if (!c->engine) {
        snprintf(job->reason, sizeof job->reason, "%s", c->reason);
        return;
    }
    char *(*get)(LowerEngine *, const IrGraph *, const LowerPattern *, char *, size_t) =
        job->assembly ? c->target->assembly_text : c->target->llvm_text;
    IrGraph *kernel = jit_kernel_passed(job->code->kernel);
    if (kernel)
        job->text = get(c->engine, kernel, job->code->patterns, job->reason,
                        sizeof job->reason);
    ir_graph_free(kernel);
}

/* The LLVM IR or assembly of a group's kernel as str, or why there is none. */
PyObject *
jit_code_text(JitState *state, const JitGroupCode *code, bool assembly)
{
    TextJob job = {.compiler = state->compiler, .code = code, .assembly = assembly};
    if (!code->kernel)
        return PyUnicode_FromFormat("; none: %s\n", code->reason);
    Py_BEGIN_ALLOW_THREADS uint64_t ticket =
        rt_worker_submit(state->compiler->worker, text_run, NULL, &job);
    if (ticket)
        rt_worker_wait_for(state->compiler->worker, ticket);
    Py_END_ALLOW_THREADS PyObject *text =
        job.text ? PyUnicode_FromString(job.text)
                 : PyUnicode_FromFormat("; none: %s\n", job.reason);
    free(job.text);
    return text;
}
