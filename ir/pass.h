/* pass.h - the passes named in passes.def. */
#pragma once

#include "ir/ir.h"

#define PASS(name, level, text) bool ir_pass_##name(IrGraph *g);
#include "ir/passes.def"
#undef PASS

/* Marks the nodes that a result or an effect needs; `live` has nnodes entries, all
** false. */
void ir_live_nodes(const IrGraph *g, bool *live);
