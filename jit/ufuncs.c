/* ufuncs.c - the recipes as ufuncs, for scalars and whatever else is no elementwise node.
**
** A trace calls these instead of NumPy's where the loop is one of float32 or float64, so
** that a number has the bits it would have as an element of an array. Recipes raise flags
** that mean nothing: no loop here leaves any behind, so NumPy warns of none.
*/
#include <string.h>

#include "jit/jit.h"

enum { TYPES = 2, OPERANDS_MAX = 3 };

static void
run_loop(char **data, const npy_intp *n, const npy_intp *strides, void *loop)
{
    uint32_t status = rt_fpstatus_save();
    KernelLoopFn run;
    memcpy(&run, &loop, sizeof run);
    run(NULL, data, n, strides, NULL);
    rt_fpstatus_restore(status);
}

/* As NumPy's loop: an exponent that is the same for the whole run has short cuts. */
static void
run_power(char **data, const npy_intp *n, const npy_intp *strides, void *type)
{
    bool scalar = strides[1] == 0 || *n == 1;
    KernelLoopFn run = kernel_recipe_loop(scalar ? RECIPE_power_scalar : RECIPE_power,
                                          type ? KERNEL_f64 : KERNEL_f32);
    void *loop;
    memcpy(&loop, &run, sizeof loop);
    run_loop(data, n, strides, loop);
}

/* What a ufunc points to for good. */
typedef struct Tables {
    PyUFuncGenericFunction functions[TYPES];
    void *data[TYPES];
    char types[TYPES * OPERANDS_MAX];
} Tables;

static PyObject *
ufunc_new(KernelRecipe recipe, const char *name, int arity)
{
    static Tables all[RECIPE_COUNT];
    Tables *tables = &all[recipe];
    for (int t = 0; t < TYPES; t++) {
        KernelLoopFn loop = kernel_recipe_loop(recipe, t ? KERNEL_f64 : KERNEL_f32);
        tables->functions[t] = recipe == RECIPE_power ? run_power : run_loop;
        if (recipe == RECIPE_power)
            tables->data[t] = t ? tables : NULL;
        else
            memcpy(&tables->data[t], &loop, sizeof loop);
        for (int i = 0; i <= arity; i++)
            tables->types[t * (arity + 1) + i] = t ? NPY_DOUBLE : NPY_FLOAT;
    }
    return PyUFunc_FromFuncAndData(tables->functions, tables->data, tables->types,
                                   TYPES, arity, 1, PyUFunc_None, name, NULL, 0);
}

static int
ufunc_add(PyObject *recipes, PyObject *numpy, KernelRecipe recipe, const char *name,
          int arity)
{
    if (recipe == RECIPE_power_scalar || !kernel_recipe_loop(recipe, KERNEL_f64))
        return 0;
    PyObject *theirs = PyObject_GetAttrString(numpy, name);
    PyObject *own = theirs ? ufunc_new(recipe, name, arity) : NULL;
    int status = own ? PyDict_SetItem(recipes, theirs, own) : -1;
    Py_XDECREF(theirs);
    Py_XDECREF(own);
    return status;
}

int
jit_ufuncs_new(JitState *state)
{
    PyObject *numpy = PyImport_ImportModule("numpy"), *recipes = PyDict_New();
    int status = numpy && recipes ? 0 : -1;
#define RECIPE(name, arity, doc)                                                       \
    if (status == 0)                                                                   \
        status = ufunc_add(recipes, numpy, RECIPE_##name, #name, arity);
#include "kernels/recipes.def"
#undef RECIPE
    if (status == 0)
        trace_state_set_recipes(state->trace, recipes);
    Py_XDECREF(numpy);
    Py_XDECREF(recipes);
    return status;
}
