/* target.c - the rows of targets.def, which of them this machine is, LLVM's side of
** them. */
#include <llvm-c/Target.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "lower/host/host.h"

static const HostTarget targets[] = {
#define TARGET(name, arch, triple, cpu, needs, vector_bytes, registers, tail, fma,     \
               doc)                                                                    \
    {#name,        triple,    cpu,         needs, ARCH_##arch,                         \
     vector_bytes, registers, TAIL_##tail, fma,   vector_bytes == 64},
#include "lower/targets.def"
#undef TARGET
};

enum { TARGETS = sizeof targets / sizeof *targets };

#if defined(__aarch64__)
static const HostArch host_arch = ARCH_arm;
#else
static const HostArch host_arch = ARCH_x86;
#endif

const HostTarget *
lower_target_find(const char *name)
{
    for (int i = 0; i < TARGETS; i++)
        if (!strcmp(targets[i].name, name))
            return &targets[i];
    return NULL;
}

/* True if the list "+a,+b" holds the item of `length` characters. */
static bool
has_feature(const char *list, const char *item, size_t length)
{
    for (const char *at = list; (at = strstr(at, "+")); at++)
        if (!strncmp(at, item, length) && (at[length] == ',' || !at[length]))
            return true;
    return false;
}

static bool
has_features(const char *list, const char *needs)
{
    for (;;) {
        size_t length = strcspn(needs, ",");

        if (!has_feature(list, needs, length))
            return false;
        if (!needs[length])
            return true;
        needs += length + 1;
    }
}

/* Asking the CPU takes a while in a virtual machine; its answer is kept. */
const HostTarget *
lower_target_host(void)
{
    static const HostTarget *_Atomic known;
    const HostTarget *found = atomic_load(&known);
    char *features;

    if (found)
        return found;
    features = LLVMGetHostCPUFeatures();
    for (int i = 0; i < TARGETS && !found; i++) /* ORDER targets */
        if (targets[i].arch == host_arch && has_features(features, targets[i].needs))
            found = &targets[i];
    LLVMDisposeMessage(features);
    atomic_store(&known, found);
    return found;
}

static void
initialize(HostArch arch)
{
    if (arch == ARCH_x86) {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86Target();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86AsmPrinter();
    } else {
        LLVMInitializeAArch64TargetInfo();
        LLVMInitializeAArch64Target();
        LLVMInitializeAArch64TargetMC();
        LLVMInitializeAArch64AsmPrinter();
    }
}

bool
lower_target_open(const HostTarget *target, HostMachine *m, char *error, size_t n)
{
    const HostTarget *host = lower_target_host();
    LLVMTargetRef llvm;
    char *message = NULL;

    memset(m, 0, sizeof *m);
    m->target = target ? target : host;
    if (!m->target) {
        snprintf(error, n, "no row of targets.def is for this CPU");
        return false;
    }
    /* Rows of an arch that come after the host's need less than it has. */
    m->native = host && m->target->arch == host->arch && m->target >= host;
    m->cpu = target ? LLVMCreateMessage(target->cpu) : LLVMGetHostCPUName();
    m->features = target ? LLVMCreateMessage("") : LLVMGetHostCPUFeatures();
    initialize(m->target->arch);
    if (LLVMGetTargetFromTriple(m->target->triple, &llvm, &message)) {
        snprintf(error, n, "LLVM: %s", message);
        LLVMDisposeMessage(message);
        lower_target_close(m);
        return false;
    }
    m->machine = LLVMCreateTargetMachine(llvm, m->target->triple, m->cpu, m->features,
                                         LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                         LLVMCodeModelDefault);
    if (!m->machine) {
        snprintf(error, n, "LLVM makes no code for %s", m->target->name);
        lower_target_close(m);
    }
    return m->machine != NULL;
}

void
lower_target_close(HostMachine *m)
{
    if (m->machine)
        LLVMDisposeTargetMachine(m->machine);
    LLVMDisposeMessage(m->cpu);
    LLVMDisposeMessage(m->features);
    memset(m, 0, sizeof *m);
}
