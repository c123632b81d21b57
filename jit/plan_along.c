/* plan_along.c - argmax, argmin, cumsum and cumprod as steps: which loops they run.
**
** They go through what they read as reductions do (plan_reduce.c): behind their producer, which
** fills a block that is in cache; or over what is in memory, at any strides.
*/
#include <stdlib.h>

#include "jit/planner.h"
#include "kernels/kernels.h"

bool
jit_plan_is_along(IrOp op)
{
    return ir_op_class(op) == CLASS_scan || op == OP_argmax || op == OP_argmin;
}

static bool
position_of(IrOp op, KernelType type, RtReduce *reduce)
{
    const KernelPosition *loops = kernel_position(type, op == OP_argmax);
    if (!loops)
        return false;
    reduce->along = RT_ALONG_position;
    reduce->position =
        (RtPositionLoops){loops->run, loops->beats, loops->rows, loops->index_bytes};
    return true;
}

/* Of types without loops of our own NumPy's loop of the operation is called, as NumPy calls it. */
static bool
scan_of(IrOp op, KernelType type, RtReduce *reduce)
{
    bool sums = op == OP_cumsum || op == OP_cumprod;
    const KernelScan *loops = sums ? kernel_scan(type, op == OP_cumprod) : NULL;
    reduce->along = RT_ALONG_scan;
    if (loops)
        reduce->scan = (RtScanLoops){loops->lines, loops->rows};
    return true;
}

bool
jit_plan_along_of(IrOp op, IrDtype dtype, RtReduce *reduce, IrOp *loop)
{
    KernelType type;
    if (!kernel_type_find(ir_dtype_numpy_char(dtype), &type))
        return false;
    if (ir_op_class(op) != CLASS_scan) {
        *loop = OP_maximum; /* not called */
        return position_of(op, type, reduce);
    }
    *loop = op == OP_cumsum    ? OP_add
            : op == OP_cumprod ? OP_multiply
            : op == OP_cummax  ? OP_maximum
                               : OP_minimum;
    return (dtype != DT_boolean || op == OP_cummax || op == OP_cummin) &&
           scan_of(op, type, reduce);
}

void
jit_plan_along_end(IrOp op, IrDtype dtype, RtReduce *reduce)
{
    if (dtype == DT_boolean && (op == OP_any || op == OP_all) &&
        position_of(op == OP_any ? OP_argmax : OP_argmin, KERNEL_b1, reduce))
        reduce->along = RT_ALONG_end;
}

void
jit_plan_along_code(IrOp op, bool bare, JitGroupCode *code)
{
    code->along = ir_op_name(op);
    if (!bare)
        return;
    if (code->kernel)
        ir_graph_free(code->kernel);
    free(code->patterns);
    code->kernel = NULL;
    code->patterns = NULL;
}
