/* module.h - a kernel as an LLVM module, and as text; module.c. */
#pragma once

#include "lower/host/host.h"

/* The module with the kernel's function `name`, verified; NULL: error is filled in. */
LLVMModuleRef lower_module_build(const HostMachine *m, LLVMContextRef context,
                                 const IrGraph *kernel, const LowerPattern *patterns,
                                 const char *name, char *error, size_t n);

/* Malloc'ed text; NULL: error is filled in. */
char *lower_module_llvm_text(LLVMModuleRef module, char *error, size_t n);
char *lower_module_assembly(const HostMachine *m, LLVMModuleRef module, char *error,
                            size_t n);
/* Malloc'ed object file. */
char *lower_module_object(const HostMachine *m, LLVMModuleRef module, size_t *bytes,
                          char *error, size_t n);
