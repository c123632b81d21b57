/* engine.h - an engine for a row of targets.def other than this machine's.
**
** For tests and tools. Of rows that this machine can run (x86_64_v2 on a CPU with
** AVX-512) kernels can be compiled and called, of others only text is to be had. */
#pragma once

#include "lower/lower.h"

/* Exported by the module as `pyasc_lower_host_engine`. target NULL: this machine. */
typedef LowerEngine *(*LowerHostEngineFn)(const char *target, char *error, size_t n);
