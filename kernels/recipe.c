/* recipe.c - which recipes this CPU runs.
**
** The host back end builds the same recipes into its kernels, for the row of
** lower/targets.def that this machine is; kernel_recipe_form has to say the same of it.
** Without fused multiply-add there are none: the functions stay NumPy's.
*/
#include "kernels/recipe.h"

#include <string.h>

typedef struct Form {
    const char *name;
    const KernelRecipes *recipes;
} Form;

static Form
find_form(void)
{
#if defined(__clang__) && defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("f16c"))
        return (Form){NULL, NULL};
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return (Form){"x86_64_v4", &kernel_recipes_avx512};
    return (Form){"x86_64_v3", &kernel_recipes_avx2};
#elif defined(__clang__) && defined(__aarch64__)
    return (Form){"aarch64", &kernel_recipes_neon};
#else
    return (Form){NULL, NULL};
#endif
}

const char *
kernel_recipe_form(void)
{
    return find_form().name;
}

static const char *const names[RECIPE_COUNT] = {
#define RECIPE(name, arity, doc) #name,
#include "kernels/recipes.def"
#undef RECIPE
};

const char *
kernel_recipe_name(KernelRecipe recipe)
{
    return names[recipe];
}

bool
kernel_recipe_find(const char *numpy_name, KernelRecipe *recipe)
{
    for (int i = 0; numpy_name && i < RECIPE_COUNT; i++) {
        if (strcmp(names[i], numpy_name) == 0) {
            *recipe = (KernelRecipe)i;
            return true;
        }
    }
    return false;
}

KernelLoopFn
kernel_recipe_loop(KernelRecipe recipe, KernelType type)
{
    const KernelRecipes *recipes = find_form().recipes;
    if (!recipes || (type != KERNEL_f32 && type != KERNEL_f64))
        return NULL;
    return recipes->loops[recipe][type == KERNEL_f64];
}

uintptr_t
kernel_recipe_far(KernelRecipe recipe, KernelType type)
{
    const KernelRecipes *recipes = find_form().recipes;
    if (!recipes)
        return 0;
    return type == KERNEL_f64 ? (uintptr_t)recipes->far_f64[recipe]
                              : (uintptr_t)recipes->far_f32[recipe];
}
