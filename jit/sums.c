/* sums.c - NumPy's add with another reduction, for sums that are no step of a plan.
**
** A trace calls its `reduce` instead of numpy.add's where numerics is not strict, and so do the
** sites of plans: a long run of contiguous float32 or float64 has the bits that a plan's reduction
** gives it (runtime/reduce.c). All else is NumPy's own loop: few elements, runs with another step,
** columns.
*/
#include <string.h>

#include "jit/jit.h"
#include "kernels/kernels.h"

typedef struct Sum {
    JitLoop add; /* NumPy's; the state's table owns it */
    KernelLoopFn wide;
    npy_intp itemsize;
} Sum;

static void
run_loop(char **data, const npy_intp *n, const npy_intp *strides, void *context)
{
    const Sum *sum = context;
    if (*n > RT_LEAF && strides[0] == 0 && strides[2] == 0 &&
        strides[1] == sum->itemsize)
        sum->wide(NULL, data, n, strides, NULL);
    else
        sum->add.loop(sum->add.context, data, n, strides, sum->add.auxdata);
}

/* What the ufunc points to for good. */
static struct {
    Sum sums[2];
    PyUFuncGenericFunction functions[2];
    void *data[2];
    char types[2 * 3];
} tables;

static bool
sum_fill(JitState *state, int i, IrDtype dtype, char type)
{
    IrDtype in[2] = {dtype, dtype};
    JitLoopKey key = {.op = OP_add, .in = in, .n = 2, .out = dtype};
    Sum *sum = &tables.sums[i];
    if (!jit_loop_find(state, &key, &sum->add))
        return false;
    sum->wide = kernel_sum(i ? KERNEL_f64 : KERNEL_f32);
    sum->itemsize = (npy_intp)ir_dtype_bytes(dtype);
    tables.functions[i] = run_loop;
    tables.data[i] = sum;
    memset(tables.types + (size_t)i * 3, type, 3);
    return true;
}

int
jit_sums_new(JitState *state)
{
    PyObject *add = NULL, *reduce = NULL;
    if (sum_fill(state, 0, DT_float32, NPY_FLOAT) &&
        sum_fill(state, 1, DT_float64, NPY_DOUBLE))
        add = PyUFunc_FromFuncAndData(tables.functions, tables.data, tables.types, 2, 2,
                                      1, PyUFunc_Zero, "add", NULL, 0);
    if (add)
        reduce = PyObject_GetAttrString(add, "reduce");
    if (reduce)
        trace_state_set_sum(state->trace, reduce);
    Py_XDECREF(add);
    Py_XDECREF(reduce);
    return reduce ? 0 : -1;
}
