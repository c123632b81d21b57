/* nest.h - groups by their kernels; private to runtime/. */
#pragma once

#include "runtime/runtime.h"

/* Fills in group->nest; the axes are in their order. */
void rt_nest_choose(RtGroup *group);
void rt_nest_run(const RtGroup *group, RtKernelFn kernel, char *const *data,
                 char *scratch);
