/* compile.c - tier 1: groups to jobs of the compile thread, and what is to be known of it.
**
**   plan ─► kernel graph of each group ─► job ─► (compile thread) kernel.c ─► code->entry
**
** Jobs own all they touch and never need the GIL. Importing pyasc and first calls never wait
** for the compile thread.
*/
#include "jit/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KERNEL_BYTES = 64 << 20, /* in memory */
    DISK_BYTES = 256 << 20,
    TWIN_PARTS = 8, /* of that for rewritten functions, beside it */
};

typedef JitJob Job;

/* -- On the compile thread --------------------------------------------------------- */

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
    jit_kernel_make(context);
    job_free(context);
}

static void
job_drop(void *context)
{
    job_free(context);
}

/* -- The compiler ------------------------------------------------------------------ */

int
jit_compiler_new(JitState *state, const char *path)
{
    JitCompiler *c = calloc(1, sizeof *c);
    if (c) {
        c->worker = rt_worker_new();
        c->path = strdup(path);
        c->kernels = rt_kernels_new(KERNEL_BYTES);
        c->disk_bound = DISK_BYTES;
    }
    if (!c || !c->worker || !c->path || !c->kernels) {
        jit_compiler_free(c);
        PyErr_NoMemory();
        return -1;
    }
    state->compiler = c;
    return 0;
}

static void
disk_free(JitDisk *disk)
{
    rt_disk_free(disk->disk);
    rt_disk_free(disk->twins);
    Py_XDECREF(disk->directory);
    free(disk);
}

void
jit_compiler_free(JitCompiler *c)
{
    if (!c)
        return;
    if (c->worker)
        rt_worker_free(c->worker);
    rt_kernels_free(c->kernels);
    jit_target_close(c);
    for (JitDisk *next, *d = c->disks; d; d = next) {
        next = d->next;
        disk_free(d);
    }
    free(c->path);
    free(c);
}

void
jit_compile_prepare(JitState *state)
{
    jit_kernel_identify(state->compiler);
}

/* -- Caches ------------------------------------------------------------------------ */

JitDisk *
jit_disk(JitState *state, const char *directory)
{
    JitCompiler *c = state->compiler;
    JitDisk **at = &c->disks;
    for (; *at; at = &(*at)->next) {
        const RtDisk *disk = (*at)->disk;
        if (!directory ? !disk : disk && !strcmp(rt_disk_directory(disk), directory))
            return *at;
    }
    JitDisk *made = calloc(1, sizeof *made);
    if (made && directory) {
        made->disk = rt_disk_new(directory, "kernel", c->disk_bound);
        made->twins = rt_disk_new(directory, "twin", c->disk_bound / TWIN_PARTS);
        made->directory = PyBytes_FromString(directory);
    } else if (made)
        made->directory = Py_NewRef(Py_None);
    if (!made || !made->directory || (directory && (!made->disk || !made->twins))) {
        if (made)
            disk_free(made);
        PyErr_NoMemory();
        return NULL;
    }
    *at = made;
    return made;
}

PyObject *
jit_disk_directory(const JitDisk *disk)
{
    return disk->directory;
}

void
jit_disk_tell(JitState *state)
{
    char text[512];
    for (JitDisk *d = state->compiler->disks; d; d = d->next) {
        if (!d->disk || d->told ||
            (!rt_disk_trouble(d->disk, text, sizeof text) &&
             !rt_disk_trouble(d->twins, text, sizeof text)))
            continue;
        d->told = true;
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyObject *api = jit_api(state);
        PyObject *done =
            api ? PyObject_CallMethod(api, "_disk_trouble", "s", text) : NULL;
        if (!done)
            PyErr_WriteUnraisable(NULL);
        Py_XDECREF(done);
        PyErr_Restore(type, value, traceback);
    }
}

static void
disk_stats_add(RtDiskStats *sum, const RtDiskStats *one)
{
    sum->hits += one->hits;
    sum->misses += one->misses;
    sum->writes += one->writes;
    sum->removals += one->removals;
    sum->bad += one->bad;
    sum->failed += one->failed;
}

PyObject *
jit_cache_stats(JitState *state)
{
    RtKernelStats m = rt_kernels_stats(state->compiler->kernels);
    RtDiskStats d = {0};
    jit_disk_tell(state);
    for (JitDisk *each = state->compiler->disks; each; each = each->next) {
        if (!each->disk)
            continue;
        RtDiskStats one = rt_disk_stats(each->disk);
        disk_stats_add(&d, &one);
    }
    return Py_BuildValue(
        "{s:n,s:n,s:n,s:n,s:n,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "kernels",
        (Py_ssize_t)m.kernels, "bytes", (Py_ssize_t)m.bytes, "idle_kernels",
        (Py_ssize_t)m.idle_kernels, "idle_bytes", (Py_ssize_t)m.idle_bytes, "bound",
        (Py_ssize_t)m.bound, "hits", (unsigned long long)m.hits, "misses",
        (unsigned long long)m.misses, "evictions", (unsigned long long)m.evictions,
        "disk_hits", (unsigned long long)d.hits, "disk_misses",
        (unsigned long long)d.misses, "disk_writes", (unsigned long long)d.writes,
        "disk_removals", (unsigned long long)d.removals, "disk_errors",
        (unsigned long long)(d.bad + d.failed));
}

void
jit_cache_bound(JitState *state, size_t memory, uint64_t disk)
{
    rt_kernels_set_bound(state->compiler->kernels, memory);
    state->compiler->disk_bound = disk;
    for (JitDisk *d = state->compiler->disks; d; d = d->next) {
        if (!d->disk)
            continue;
        rt_disk_set_bound(d->disk, disk);
        rt_disk_set_bound(d->twins, disk / TWIN_PARTS);
    }
}

void
jit_cache_foreign(JitState *state, bool foreign)
{
    atomic_store(&state->compiler->foreign, foreign);
}

/* -- Jobs -------------------------------------------------------------------------- */

static void
submit(JitState *state, RtGroup *group, JitGroupCode *code, const JitDisk *disk)
{
    Job *job = calloc(1, sizeof *job);
    if (!job)
        return;
    job->compiler = state->compiler;
    job->disk = disk->disk;
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

/* True if the code is that of a kernel which is in memory or on disk. */
static bool
is_known(const Job *job, RtCode *code)
{
    RtKernel *kernel = jit_kernel_known(job);
    RtKernelFn entry = kernel ? rt_kernel_entry(kernel) : NULL;
    code->kernel = kernel;
    atomic_store(&code->entry, entry);
    if (kernel)
        atomic_store(&code->state, entry ? RT_CODE_ready : RT_CODE_failed);
    return kernel != NULL;
}

RtCode *
jit_compile_nest(JitState *state, const JitDisk *disk, IrGraph *graph,
                 LowerPattern *patterns, uint32_t nparams, bool wait)
{
    Job *job = calloc(1, sizeof *job);
    RtCode *code = job ? rt_code_new() : NULL;
    if (!code) {
        ir_graph_free(graph);
        free(patterns);
        free(job);
        return NULL;
    }
    *job = (Job){.compiler = state->compiler,
                 .disk = disk->disk,
                 .kernel = graph,
                 .patterns = patterns,
                 .nparams = nparams,
                 .code = rt_code_hold(code),
                 .nest = true};
    if (is_known(job, code)) {
        job_free(job);
        return code;
    }
    uint64_t ticket = rt_worker_submit(state->compiler->worker, job_run, job_drop, job);
    if (!ticket)
        job_free(job);
    else if (wait) {
        Py_BEGIN_ALLOW_THREADS rt_worker_wait_for(state->compiler->worker, ticket);
        Py_END_ALLOW_THREADS
    }
    jit_disk_tell(state);
    return code;
}

static bool
submit_group(JitState *state, RtGroup *group, JitGroupCode *code, int tier,
             const JitDisk *disk)
{
    if (!code->kernel || group->code)
        return false;
    if (tier == 0) {
        code->reason = "tier 0 was asked for";
        return false;
    }
    submit(state, group, code, disk);
    return true;
}

static bool
submit_plan(JitState *state, JitPlan *plan, int tier, const JitDisk *disk)
{
    bool any = false;
    for (uint32_t i = 0; i < plan->rt->nloops; i++)
        any |= submit_plan(state, plan->bodies[i], tier, disk);
    for (uint32_t i = 0; i < plan->rt->ngroups; i++)
        any |= submit_group(state, plan->rt->groups[i], &plan->codes[i], tier, disk);
    for (uint32_t i = 0; i < plan->rt->nreduces; i++)
        any |= submit_group(state, plan->rt->reduces[i].group, &plan->reduce_codes[i],
                            tier, disk);
    return any;
}

void
jit_compile_plan(JitState *state, JitPlan *plan, int tier, const JitDisk *disk)
{
    if (submit_plan(state, plan, tier, disk) && tier == 1)
        jit_compile_wait(state);
    else
        jit_disk_tell(state);
}

void
jit_compile_wait(JitState *state)
{
    Py_BEGIN_ALLOW_THREADS rt_worker_wait(state->compiler->worker);
    Py_END_ALLOW_THREADS jit_disk_tell(state);
}

/* A copy of the kernel as it is compiled, or NULL. */
IrGraph *
jit_kernel_passed(const IrGraph *kernel)
{
    IrGraph *copy = ir_graph_copy(kernel);
    if (copy && ir_pipeline_run(copy, JIT_PASS_LEVEL, NULL, NULL))
        return copy;
    ir_graph_free(copy);
    return NULL;
}

/* For good. */
void
jit_compile_stop(JitState *state)
{
    Py_BEGIN_ALLOW_THREADS rt_worker_stop(state->compiler->worker);
    Py_END_ALLOW_THREADS jit_disk_tell(state);
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
    jit_target_open(c);
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
