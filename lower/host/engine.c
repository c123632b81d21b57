/* engine.c - LLVM: kernels in, images or entry points out; the module's table of
** functions.
**
** A kernel becomes an object file and that an image (image.c), which needs nothing of LLVM any
** more. What cannot be one goes to LLVM's ORC JIT: every such kernel has a context, a module and a resource tracker of its own, so that
** dropping one gives back all it took. Codegen runs at level 2 and without IR passes:
** what they could do, the IR that loop.c emits has done already (measured: + 5 ms, no
** faster code).
**
** Law 1: nothing of LLVM ends the process. What it reports as fatal comes back to
**        enter(), which gives the engine up: that frames of LLVM were left means leaks,
**        no more. So does memory that runs out inside; where little is left LLVM is not
**        entered.
** Law 2: LLVM is not used while the process exits, when its globals are being
**        destroyed: exit waits for the call that is inside. Handlers of exit run last
**        in, first out, and LLVM adds its own when it is loaded and whenever a function
**        is used first; so ours is added with the first engine and after calls 1, 2, 4,
**        8, … What is left is an exit in the first call by who has not stopped the
**        worker before.
*/
#include "lower/host/engine.h"

#include <llvm-c/ErrorHandling.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm/Config/llvm-config.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "lower/host/image.h"
#include "lower/host/module.h"

enum { KERNEL_BYTES = 32 << 20 /* more than a kernel takes */ };

struct LowerEngine {
    HostMachine machine;
    LLVMOrcLLJITRef jit;   /* made by the first compile */
    LowerSymbolFn symbols; /* of who opened this: they know what is there at run time */
    unsigned serial;       /* kernels so far; part of their names */
    bool broken;           /* LLVM had a fatal error */
    char message[160];     /* of LLVM's diagnostics; empty: none */
};

struct LowerCode {
    LLVMOrcResourceTrackerRef tracker;
};

/* What a call of the table asks for, and gets. */
typedef struct Request {
    LowerEngine *engine;
    const HostTarget *target;
    const IrGraph *kernel;
    const LowerPattern *patterns;
    char *error;
    size_t n;
    LowerCode *code;
    LowerKernelFn *entry;
    bool assembly;
    char *text;
    RtImage *image;
} Request;

/* -- Fatal errors and exit ------------------------------------------------ */

/* Variables of the process and thread: LLVM's handlers and exit's get no argument. */
static _Thread_local jmp_buf *fatal_return;
static _Thread_local char fatal_message[160];
static atomic_int inside;   /* the process that is inside LLVM, or 0 */
static atomic_uint calls;   /* so far */
static atomic_bool leaving; /* the process exits */

static void
on_fatal(const char *reason)
{
    if (!fatal_return)
        return; /* not ours */
    snprintf(fatal_message, sizeof fatal_message, "%s", reason);
    longjmp(*fatal_return, 1);
}

/* Memory that runs out: handlers of C++ and of LLVM, of which there is no C interface. They are those of the
** process, so ours are there only while LLVM is at work, and let others go on as without them. */
typedef void (*NewHandler)(void);
typedef void (*BadAllocHandler)(void *context, const char *reason, bool dump);
#define WEAK_SYMBOL(name) __asm__(name) __attribute__((weak))
NewHandler set_new_handler(NewHandler handler)
    WEAK_SYMBOL("_ZSt15set_new_handlerPFvvE");
void install_bad_alloc(BadAllocHandler handler, void *context)
    WEAK_SYMBOL("_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_");
void remove_bad_alloc(void) WEAK_SYMBOL("_ZN4llvm30remove_bad_alloc_error_handlerEv");
void report_bad_alloc(const char *reason, bool dump)
    WEAK_SYMBOL("_ZN4llvm22report_bad_alloc_errorEPKcb");
static _Atomic(NewHandler) former_new_handler;

static void
on_no_memory(void)
{
    on_fatal("out of memory");
    set_new_handler(atomic_load(&former_new_handler)); /* and C++ tries again */
}

static void
on_bad_alloc(void *context, const char *reason, bool dump)
{
    (void)context;
    on_fatal("out of memory");
    remove_bad_alloc();
    report_bad_alloc(reason, dump);
}

static void
watch_memory(bool on)
{
    if (set_new_handler && on)
        atomic_store(&former_new_handler, set_new_handler(on_no_memory));
    else if (set_new_handler)
        set_new_handler(atomic_load(&former_new_handler));
    if (!install_bad_alloc || !remove_bad_alloc || !report_bad_alloc)
        return;
    if (on)
        install_bad_alloc(on_bad_alloc, NULL);
    else
        remove_bad_alloc();
}

/* A child of fork must not wait for a thread that it has not. */
static void
wait_inside(void)
{
    const struct timespec pause = {0, 100000};

    atomic_store(&leaving, true);
    while (atomic_load(&inside) == (int)getpid())
        nanosleep(&pause, NULL);
}

static void
on_diagnostic(LLVMDiagnosticInfoRef info, void *context)
{
    LowerEngine *engine = context;
    char *text;

    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
        return;
    text = LLVMGetDiagInfoDescription(info);
    snprintf(engine->message, sizeof engine->message, "%s", text);
    LLVMDisposeMessage(text);
}

static void
on_orc_error(void *context, LLVMErrorRef error)
{
    LowerEngine *engine = context;
    char *text = LLVMGetErrorMessage(error);

    snprintf(engine->message, sizeof engine->message, "%s", text);
    LLVMDisposeErrorMessage(text);
}

static void
count_call(void)
{
    unsigned n = atomic_fetch_add(&calls, 1) + 1;

    if (!(n & (n - 1)))
        atexit(wait_inside);
}

/* Runs `work` inside LLVM. False: it failed and the request's error is filled in. */
static bool
enter(bool (*work)(Request *request), Request *request)
{
    LowerEngine *engine = request->engine;
    jmp_buf here;
    bool done = false;

    atomic_store(&inside, (int)getpid());
    if (atomic_load(&leaving)) {
        snprintf(request->error, request->n, "the process exits");
    } else if (engine->broken) {
        snprintf(request->error, request->n, "LLVM had a fatal error before");
    } else if (!rt_memory_left(KERNEL_BYTES)) {
        snprintf(request->error, request->n, "out of memory");
    } else if (setjmp(here)) {
        watch_memory(false);
        engine->broken = true;
        snprintf(request->error, request->n, "LLVM: fatal error: %s", fatal_message);
    } else {
        fatal_return = &here;
        engine->message[0] = 0;
        watch_memory(true);
        done = work(request);
        count_call();
        watch_memory(false);
    }
    fatal_return = NULL;
    atomic_store(&inside, 0);
    return done;
}

/* True if there was no error; else it is filled in, and consumed. */
static bool
succeeded(Request *request, LLVMErrorRef error)
{
    char *text;

    if (!error)
        return true;
    text = LLVMGetErrorMessage(error);
    snprintf(request->error, request->n, "LLVM: %s%s%s", text,
             request->engine->message[0] ? ": " : "", request->engine->message);
    LLVMDisposeErrorMessage(text);
    return false;
}

/* -- The JIT -------------------------------------------------------------- */

static LLVMOrcCSymbolMapPair
symbol(LLVMOrcLLJITRef jit, const char *name, uintptr_t address)
{
    LLVMOrcCSymbolMapPair pair = {.Name = LLVMOrcLLJITMangleAndIntern(jit, name)};

    pair.Sym.Address = address;
    pair.Sym.Flags.GenericFlags =
        LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable;
    return pair;
}

/* The functions that kernels may call. */
static bool
define_symbols(Request *request)
{
    enum { ROOM = 320 };
    LLVMOrcCSymbolMapPair pairs[ROOM];
    LLVMOrcLLJITRef jit = request->engine->jit;
    uintptr_t address;
    char name[48];
    size_t n = 0;

    for (unsigned i = 0;
         n < ROOM && request->engine->symbols(i, name, sizeof name, &address); i++)
        if (address)
            pairs[n++] = symbol(jit, name, address);
    return succeeded(request, LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(jit),
                                                    LLVMOrcAbsoluteSymbols(pairs, n)));
}

static bool
open_jit(Request *request)
{
    LowerEngine *engine = request->engine;
    LLVMOrcLLJITBuilderRef builder;
    HostMachine again;

    if (engine->jit)
        return true;
    if (!engine->machine.native) {
        snprintf(request->error, request->n, "code for %s does not run here",
                 engine->machine.target->name);
        return false;
    }
    /* The builder takes the target machine and keeps what it says. */
    if (!lower_target_open(engine->machine.target, &again, request->error, request->n))
        return false;
    builder = LLVMOrcCreateLLJITBuilder();
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(
        builder, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(again.machine));
    again.machine = NULL;
    lower_target_close(&again);
    if (!succeeded(request, LLVMOrcCreateLLJIT(&engine->jit, builder))) {
        engine->jit = NULL;
        return false;
    }
    LLVMOrcExecutionSessionSetErrorReporter(
        LLVMOrcLLJITGetExecutionSession(engine->jit), on_orc_error, engine);
    return define_symbols(request);
}

/* Adds the module under a tracker of its own and looks the function up, which compiles
** it. The module is the JIT's now, whatever happens. */
static bool
add_module(Request *request, LLVMModuleRef module, LLVMOrcThreadSafeContextRef context,
           const char *name)
{
    LLVMOrcLLJITRef jit = request->engine->jit;
    LLVMOrcThreadSafeModuleRef safe = LLVMOrcCreateNewThreadSafeModule(module, context);
    LLVMOrcExecutorAddress address = 0;
    LLVMErrorRef error;

    request->code->tracker =
        LLVMOrcJITDylibCreateResourceTracker(LLVMOrcLLJITGetMainJITDylib(jit));
    error = LLVMOrcLLJITAddLLVMIRModuleWithRT(jit, request->code->tracker, safe);
    if (error)
        LLVMOrcDisposeThreadSafeModule(safe);
    else
        error = LLVMOrcLLJITLookup(jit, &address, name);
    *request->entry = (LowerKernelFn)(uintptr_t)address;
    return succeeded(request, error);
}

static bool
work_free(Request *request)
{
    LLVMErrorRef error = LLVMOrcResourceTrackerRemove(request->code->tracker);

    LLVMOrcReleaseResourceTracker(request->code->tracker);
    return succeeded(request, error);
}

static bool
work_compile(Request *request)
{
    LowerEngine *engine = request->engine;
    LLVMOrcThreadSafeContextRef safe;
    LLVMContextRef context;
    LLVMModuleRef module;
    char name[32], ignored[64];
    bool done = false;

    if (!open_jit(request))
        return false;
    snprintf(name, sizeof name, "pyasc_kernel_%u", engine->serial++);
    safe = LLVMOrcCreateNewThreadSafeContext();
    context = LLVMOrcThreadSafeContextGetContext(safe);
    LLVMContextSetDiagnosticHandler(context, on_diagnostic, engine);
    module = lower_module_build(&engine->machine, context, request->kernel,
                                request->patterns, name, request->error, request->n);
    if (module)
        done = add_module(request, module, safe, name);
    LLVMOrcDisposeThreadSafeContext(safe);
    if (module && !done)
        work_free(&(Request){.engine = engine,
                             .code = request->code,
                             .error = ignored,
                             .n = sizeof ignored});
    return done;
}

static bool
work_image(Request *request)
{
    LowerEngine *engine = request->engine;
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module;
    char *object = NULL;
    size_t bytes;
    bool done = false;

    LLVMContextSetDiagnosticHandler(context, on_diagnostic, engine);
    module =
        lower_module_build(&engine->machine, context, request->kernel,
                           request->patterns, "kernel", request->error, request->n);
    if (module) {
        object = lower_module_object(&engine->machine, module, &bytes, request->error,
                                     request->n);
        LLVMDisposeModule(module);
    }
    LLVMContextDispose(context);
    if (object && engine->message[0])
        snprintf(request->error, request->n, "LLVM: %s", engine->message);
    else if (object)
        done = lower_image_link(object, bytes, "kernel", request->image, request->error,
                                request->n);
    free(object);
    return done;
}

static bool
work_text(Request *request)
{
    LowerEngine *engine = request->engine;
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module;

    LLVMContextSetDiagnosticHandler(context, on_diagnostic, engine);
    module =
        lower_module_build(&engine->machine, context, request->kernel,
                           request->patterns, "kernel", request->error, request->n);
    if (module) {
        request->text =
            request->assembly
                ? lower_module_assembly(&engine->machine, module, request->error,
                                        request->n)
                : lower_module_llvm_text(module, request->error, request->n);
        LLVMDisposeModule(module);
    }
    LLVMContextDispose(context);
    return request->text != NULL;
}

static bool
work_close(Request *request)
{
    if (request->engine->jit)
        return succeeded(request, LLVMOrcDisposeLLJIT(request->engine->jit));
    return true;
}

/* -- The table ------------------------------------------------------------ */

static bool
work_open(Request *request)
{
    return lower_target_open(request->target, &request->engine->machine, request->error,
                             request->n);
}

__attribute__((visibility("default"))) LowerEngine *
pyasc_lower_host_engine(const char *target, char *error, size_t n);

LowerEngine *
pyasc_lower_host_engine(const char *target, char *error, size_t n)
{
    static atomic_flag prepared = ATOMIC_FLAG_INIT;
    const HostTarget *row = target ? lower_target_find(target) : NULL;
    LowerEngine *engine = calloc(1, sizeof *engine);

    if (!engine || (target && !row)) {
        snprintf(error, n, engine ? "no target of that name" : "out of memory");
        free(engine);
        return NULL;
    }
    engine->symbols = kernel_symbol_at;
    if (!atomic_flag_test_and_set(&prepared)) {
        LLVMInstallFatalErrorHandler(on_fatal);
        atexit(wait_inside);
    }
    Request request = {.engine = engine, .target = row, .error = error, .n = n};
    if (!enter(work_open, &request)) {
        free(engine);
        return NULL;
    }
    return engine;
}

static LowerEngine *
engine_new(LowerSymbolFn symbols, char *error, size_t n)
{
    LowerEngine *engine = pyasc_lower_host_engine(NULL, error, n);
    if (engine)
        engine->symbols = symbols;
    return engine;
}

static void
engine_free(LowerEngine *engine)
{
    char ignored[64];
    Request request = {.engine = engine, .error = ignored, .n = sizeof ignored};

    if (!engine)
        return;
    if (enter(work_close, &request)) /* else LLVM's part of it is given up */
        lower_target_close(&engine->machine);
    free(engine);
}

static int
supports(const IrGraph *kernel, char *reason, size_t n)
{
    const HostTarget *target = lower_target_host();

    if (target)
        return lower_support_check(target, kernel, reason, n);
    snprintf(reason, n, "no row of targets.def is for this CPU");
    return false;
}

static LowerCode *
compile(LowerEngine *engine, const IrGraph *kernel, const LowerPattern *patterns,
        LowerKernelFn *entry, char *error, size_t n)
{
    Request request = {.engine = engine,
                       .kernel = kernel,
                       .patterns = patterns,
                       .error = error,
                       .n = n,
                       .entry = entry};

    request.code = calloc(1, sizeof *request.code);
    if (!request.code) {
        snprintf(error, n, "out of memory");
        return NULL;
    }
    if (enter(work_compile, &request))
        return request.code;
    free(request.code);
    return NULL;
}

static void
code_free(LowerEngine *engine, LowerCode *code)
{
    char ignored[64];
    Request request = {
        .engine = engine, .code = code, .error = ignored, .n = sizeof ignored};

    if (!code)
        return;
    enter(work_free, &request);
    free(code);
}

static char *
text(LowerEngine *engine, const IrGraph *kernel, const LowerPattern *patterns,
     bool assembly, char *error, size_t n)
{
    Request request = {.engine = engine,
                       .kernel = kernel,
                       .patterns = patterns,
                       .assembly = assembly,
                       .error = error,
                       .n = n};

    return enter(work_text, &request) ? request.text : NULL;
}

static char *
llvm_text(LowerEngine *engine, const IrGraph *kernel, const LowerPattern *patterns,
          char *error, size_t n)
{
    return text(engine, kernel, patterns, false, error, n);
}

static char *
assembly_text(LowerEngine *engine, const IrGraph *kernel, const LowerPattern *patterns,
              char *error, size_t n)
{
    return text(engine, kernel, patterns, true, error, n);
}

static int
image(LowerEngine *engine, const IrGraph *kernel, const LowerPattern *patterns,
      RtImage *result, char *error, size_t n)
{
    Request request = {.engine = engine,
                       .kernel = kernel,
                       .patterns = patterns,
                       .error = error,
                       .n = n,
                       .image = result};

    return enter(work_image, &request);
}

static const char *
version(void)
{
    char there[32];
    unsigned major, minor, patch;

    LLVMGetVersion(&major, &minor, &patch);
    snprintf(there, sizeof there, "%u.%u.%u", major, minor, patch);
    return strcmp(there, LLVM_VERSION_STRING) == 0 ? lower_version : "";
}

static const LowerTarget host = {
    .abi = LOWER_ABI,
    .engine_new = engine_new,
    .engine_free = engine_free,
    .supports = supports,
    .compile = compile,
    .code_free = code_free,
    .image = image,
    .version = version,
    .llvm_text = llvm_text,
    .assembly_text = assembly_text,
};

__attribute__((visibility("default"))) const LowerTarget *pyasc_lower_host(void);

const LowerTarget *
pyasc_lower_host(void)
{
    return &host;
}
