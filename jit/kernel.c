/* kernel.c - one kernel's way to machine code, on the compile thread.
**
**   graph ─► passes ─► text ─► key ─► in memory? ──────────────────────────┐
**                                       └► on disk? ─► image ─► mapped ────┤
**                                            └► back end ─► image ─► mapped┼─► code->entry
**                                                   │         └► to disk   │
**                                                   └► ORC ────────────────┘
**
** Law 1: the key is all that the code depends on: versions and sources of pyasc, LLVM's version,
**        the format of entries, the CPU, the form of recipes, patterns and the text of the
**        graph. What is found is what would be compiled.
** Law 2: the back end, and LLVM with it, is opened by the first kernel that is found neither in
**        memory nor on disk.
** Law 3: only what is right for every process of the same key goes to disk: no faults.
*/
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/compile.h"

enum { MODULE_BYTES = 192 << 20 /* what LLVM takes when it is loaded */ };

struct JitDead {
    JitDead *next;
    LowerCode *code;
};

/* What a kernel has come to, and what is to be written to disk of it. */
typedef struct Made {
    RtKernel *kernel; /* held; or NULL and a reason */
    RtImage image;
    char reason[160];
} Made;

/* -- The back end ------------------------------------------------------------------ */

void
jit_target_open(JitCompiler *c)
{
    if (c->opened)
        return;
    if (!rt_memory_left(MODULE_BYTES)) { /* there may be more next time */
        snprintf(c->reason, sizeof c->reason, "out of memory");
        return;
    }
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
    c->engine = c->target->engine_new(kernel_symbol_at, c->reason, sizeof c->reason);
}

/* The callback by which kernels give code of ORC back; any thread. */
static void
code_bury(void *owner, void *foreign)
{
    JitCompiler *c = owner;
    JitDead *dead = foreign;
    dead->next = atomic_load(&c->dead);
    while (!atomic_compare_exchange_weak(&c->dead, &dead->next, dead))
        continue;
}

static void
free_dead(JitCompiler *c)
{
    JitDead *dead = atomic_exchange(&c->dead, NULL);
    for (JitDead *next; dead; dead = next) {
        next = dead->next;
        c->target->code_free(c->engine, dead->code);
        free(dead);
    }
}

void
jit_target_close(JitCompiler *c)
{
    free_dead(c);
    if (c->engine)
        c->target->engine_free(c->engine);
}

/* -- Keys -------------------------------------------------------------------------- */

void
jit_kernel_identify(JitCompiler *c)
{
    char cpu[512];
    const char *form = kernel_recipe_form();
    if (c->identity[0])
        return;
    rt_cpu_identity(cpu, sizeof cpu);
    c->portable = cpu[0] != 0;
    snprintf(c->identity, sizeof c->identity, "%s\nformat %d\n%s\nrecipes %s\n",
             lower_version, RT_DISK_FORMAT, cpu, form ? form : "none");
}

/* Malloc'ed. NULL: out of memory. */
static char *
key_of(const JitJob *job, size_t *n)
{
    char *text = ir_print(job->kernel), *key = NULL;
    if (text) {
        size_t identity = strlen(job->compiler->identity), graph = strlen(text);
        *n = identity + job->nparams + 1 + graph;
        key = malloc(*n);
    }
    if (key) {
        char *at = stpcpy(key, job->compiler->identity);
        for (uint32_t i = 0; i < job->nparams; i++)
            *at++ = (char)('0' + job->patterns[i]);
        *at++ = '\n';
        memcpy(at, text, (size_t)(key + *n - at));
    }
    free(text);
    return key;
}

/* -- Images ------------------------------------------------------------------------ */

static RtKernel *
kernel_add(const JitJob *job, const char *key, size_t n, const RtKernelCode *code)
{
    return rt_kernels_add(job->compiler->kernels, key, n, code);
}

/* An image without code has the reason as its name. */
static RtKernel *
kernel_of_image(const JitJob *job, const char *key, size_t n, const RtImage *image)
{
    RtKernelCode code = {0};
    if (image->bytes) {
        if (!rt_image_map(image, kernel_symbol, &code.mapped))
            return NULL;
    } else if (image->names_bytes && !image->names[image->names_bytes - 1]) {
        code.reason = image->names;
    } else {
        return NULL;
    }
    return kernel_add(job, key, n, &code);
}

static RtImage
image_of_reason(const char *reason)
{
    RtImage image = {.memory = strdup(reason)};
    image.names = image.memory;
    image.names_bytes = image.memory ? (uint32_t)strlen(reason) + 1 : 0;
    return image;
}

/* Code that is no image, by ORC. */
static void
compile_foreign(const JitJob *job, const char *key, size_t n, Made *made)
{
    JitCompiler *c = job->compiler;
    JitDead *dead = calloc(1, sizeof *dead);
    LowerKernelFn entry = NULL;
    RtKernelCode code = {.reason = made->reason};
    if (!dead)
        return;
    dead->code = c->target->compile(c->engine, job->kernel, job->patterns, &entry,
                                    made->reason, sizeof made->reason);
    if (dead->code) {
        code = (RtKernelCode){.entry = entry,
                              .release = code_bury,
                              .owner = c,
                              .foreign = dead,
                              .foreign_bytes = 16384};
    } else {
        free(dead);
    }
    made->kernel = kernel_add(job, key, n, &code);
}

static void
compile(const JitJob *job, const char *key, size_t n, Made *made)
{
    JitCompiler *c = job->compiler;
    jit_target_open(c);
    if (!c->engine) {
        snprintf(made->reason, sizeof made->reason, "%s", c->reason);
        return;
    }
    if (!c->target->supports(job->kernel, made->reason, sizeof made->reason))
        made->image = image_of_reason(made->reason);
    else if (!atomic_load(&c->foreign))
        c->target->image(c->engine, job->kernel, job->patterns, &made->image,
                         made->reason, sizeof made->reason);
    if (made->image.memory)
        made->kernel = kernel_of_image(job, key, n, &made->image);
    if (made->kernel)
        return;
    free(made->image.memory);
    made->image = (RtImage){0};
    compile_foreign(job, key, n, made);
}

/* -- Kernels ----------------------------------------------------------------------- */

static RtKernel *
kernel_from_disk(const JitJob *job, const char *key, size_t n)
{
    RtImage image;
    if (!job->disk || !job->compiler->portable ||
        !rt_disk_read(job->disk, key, n, &image))
        return NULL;
    RtKernel *kernel = kernel_of_image(job, key, n, &image);
    free(image.memory);
    return kernel;
}

static bool
passes(const JitJob *job)
{
    return job->nest || ir_pipeline_run(job->kernel, JIT_PASS_LEVEL, NULL, NULL);
}

RtKernel *
jit_kernel_known(const JitJob *job)
{
    size_t n;
    char *key = passes(job) ? key_of(job, &n) : NULL;
    if (!key)
        return NULL;
    RtKernel *kernel = rt_kernels_find(job->compiler->kernels, key, n);
    if (!kernel)
        kernel = kernel_from_disk(job, key, n);
    free(key);
    return kernel;
}

/* The job's code is now the kernel's; calls may take its entry from here on. */
static void
publish(RtCode *code, const Made *made)
{
    RtKernelFn entry = made->kernel ? rt_kernel_entry(made->kernel) : NULL;
    const char *reason = made->kernel ? rt_kernel_reason(made->kernel) : made->reason;
    code->kernel = made->kernel;
    if (entry) {
        atomic_store_explicit(&code->entry, entry, memory_order_release);
        atomic_store_explicit(&code->state, RT_CODE_ready, memory_order_release);
    } else {
        snprintf(code->reason, sizeof code->reason, "%s", reason);
        atomic_store_explicit(&code->state, RT_CODE_failed, memory_order_release);
    }
}

void
jit_kernel_make(JitJob *job)
{
    JitCompiler *c = job->compiler;
    Made made = {.reason = "out of memory"};
    char *key = NULL;
    size_t n = 0;
    free_dead(c);
    if (!passes(job))
        snprintf(made.reason, sizeof made.reason, "%s", ir_error(job->kernel));
    else
        key = key_of(job, &n);
    if (key)
        made.kernel = rt_kernels_find(c->kernels, key, n);
    if (key && !made.kernel)
        made.kernel = kernel_from_disk(job, key, n);
    if (key && !made.kernel)
        compile(job, key, n, &made);
    publish(job->code, &made);
    if (made.image.memory && job->disk && c->portable &&
        !strcmp(c->target->version(), lower_version))
        rt_disk_write(job->disk, key, n, &made.image);
    free(made.image.memory);
    free(key);
}
