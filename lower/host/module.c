/* module.c - a kernel as an LLVM module, and as text. */
#include "lower/host/module.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
add_attribute(LLVMContextRef context, LLVMValueRef function, const char *key,
              const char *value)
{
    LLVMAttributeRef attribute = LLVMCreateStringAttribute(
        context, key, (unsigned)strlen(key), value, (unsigned)strlen(value));

    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            attribute);
}

/* Without uwtable there are no unwind tables to register and to free. */
static void
add_attributes(Build *b, const HostMachine *m)
{
    static const char nounwind[] = "nounwind";
    unsigned kind = LLVMGetEnumAttributeKindForName(nounwind, sizeof nounwind - 1);

    LLVMAddAttributeAtIndex(b->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(b->context, kind, 0));
    /* Nothing becomes a call of C's library by itself. */
    add_attribute(b->context, b->function, "no-builtins", "");
    add_attribute(b->context, b->function, "target-cpu", m->cpu);
    add_attribute(b->context, b->function, "target-features", m->features);
    if (m->target->vector_bytes == 64) /* LLVM prefers 32 bytes on most such CPUs */
        add_attribute(b->context, b->function, "prefer-vector-width", "512");
}

/* Callers built with -fsanitize=function read the 8 bytes before a function, which at
** the begin of a page may be no memory. 16 keep the function's alignment. */
static void
add_prefix(Build *b)
{
    LLVMTypeRef words = LLVMArrayType2(LLVMInt64TypeInContext(b->context), 2);

    LLVMSetPrefixData(b->function, LLVMConstNull(words));
}

static bool
verify(LLVMModuleRef module, char *error, size_t n)
{
    char *message = NULL;
    bool broken = LLVMVerifyModule(module, LLVMReturnStatusAction, &message);

    if (broken)
        snprintf(error, n, "LLVM: broken module: %s", message);
    LLVMDisposeMessage(message);
    return !broken;
}

/* Nests are scalar code, as LLVM's passes expect it. */
static bool
optimize(const HostMachine *m, LLVMModuleRef module, char *error, size_t n)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetSLPVectorization(options, 0);
    LLVMErrorRef failed = LLVMRunPasses(module, "function(jump-threading),default<O2>",
                                        m->machine, options);

    LLVMDisposePassBuilderOptions(options);
    if (!failed)
        return true;
    char *message = LLVMGetErrorMessage(failed);
    snprintf(error, n, "LLVM: %s", message);
    LLVMDisposeErrorMessage(message);
    return false;
}

LLVMModuleRef
lower_module_build(const HostMachine *m, LLVMContextRef context, const IrGraph *kernel,
                   const LowerPattern *patterns, const char *name, char *error,
                   size_t n)
{
    Build b = {.target = m->target, .kernel = kernel, .context = context};
    LLVMTargetDataRef layout;
    bool built;

    if (!lower_support_check(m->target, kernel, error, n))
        return NULL;
    b.module = LLVMModuleCreateWithNameInContext(name, context);
    LLVMSetTarget(b.module, m->target->triple);
    layout = LLVMCreateTargetDataLayout(m->machine);
    LLVMSetModuleDataLayout(b.module, layout);
    LLVMDisposeTargetData(layout);
    b.builder = LLVMCreateBuilderInContext(context);
    bool nest = lower_nest_is(kernel);
    built = nest                      ? lower_nest_build(&b, name, patterns)
            : lower_fold_node(kernel) ? lower_fold_build(&b, name, patterns)
                                      : lower_loop_build(&b, name, patterns);
    LLVMDisposeBuilder(b.builder);
    if (!built) {
        snprintf(error, n, "out of memory");
    } else {
        add_attributes(&b, m);
        add_prefix(&b);
        built = verify(b.module, error, n);
    }
    if (built && nest)
        built = optimize(m, b.module, error, n);
    if (built)
        return b.module;
    LLVMDisposeModule(b.module);
    return NULL;
}

static char *
copy_text(const char *text, size_t length, char *error, size_t n)
{
    char *copy = malloc(length + 1);

    if (!copy) {
        snprintf(error, n, "out of memory");
        return NULL;
    }
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

char *
lower_module_llvm_text(LLVMModuleRef module, char *error, size_t n)
{
    char *text = LLVMPrintModuleToString(module);
    char *copy = copy_text(text, strlen(text), error, n);

    LLVMDisposeMessage(text);
    return copy;
}

static char *
emit(const HostMachine *m, LLVMModuleRef module, LLVMCodeGenFileType type,
     size_t *bytes, char *error, size_t n)
{
    LLVMMemoryBufferRef buffer = NULL;
    char *message = NULL, *copy;

    if (LLVMTargetMachineEmitToMemoryBuffer(m->machine, module, type, &message,
                                            &buffer)) {
        snprintf(error, n, "LLVM: %s", message);
        LLVMDisposeMessage(message);
        return NULL;
    }
    *bytes = LLVMGetBufferSize(buffer);
    copy = copy_text(LLVMGetBufferStart(buffer), *bytes, error, n);
    LLVMDisposeMemoryBuffer(buffer);
    return copy;
}

char *
lower_module_assembly(const HostMachine *m, LLVMModuleRef module, char *error, size_t n)
{
    size_t ignored;

    return emit(m, module, LLVMAssemblyFile, &ignored, error, n);
}

char *
lower_module_object(const HostMachine *m, LLVMModuleRef module, size_t *bytes,
                    char *error, size_t n)
{
    return emit(m, module, LLVMObjectFile, bytes, error, n);
}
