/* kernels.h - inner loops that NumPy has but does not give away, casts, selects and
** copies; and elementary functions of our own.
**
** Every loop has the calling convention of NumPy's inner loops (RtLoopFn): operands at
** any
** stride, stride 0 included. Loops never fail and need no context.
*/
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int (*KernelLoopFn)(void *context, char *const *data, const intptr_t *n,
                            const intptr_t *strides, void *auxdata);

/* Rows of kernels.def. */
typedef enum KernelType {
#define KERNEL_TYPE(name, numpy_char, type, kind) KERNEL_##name,
#include "kernels/kernels.def"
#undef KERNEL_TYPE
    KERNEL_TYPE_COUNT
} KernelType;

/* By NumPy's type character; false: no such element type here. */
bool kernel_type_find(char numpy_char, KernelType *type);
/* NumPy's unsafe cast. */
KernelLoopFn kernel_cast(KernelType from, KernelType to);
/* condition (bool), x, y -> x where condition holds, else y. NULL: no such item size.
 */
KernelLoopFn kernel_select(int itemsize);
/* x -> x. NULL: no such item size. */
KernelLoopFn kernel_copy(int itemsize);
/* x -> -x. NULL: not of this type. */
KernelLoopFn kernel_negative(KernelType type);
/* x -> a bool. NULL: not of this type. */
KernelLoopFn kernel_finite(KernelType type);

/* x, y, z -> x * y + z, x * y - z, z - x * y, rounded once. */
typedef enum KernelFma {
    KERNEL_multiply_add,
    KERNEL_multiply_subtract,
    KERNEL_subtract_product,
} KernelFma;
/* NULL: not of this type, or this CPU has none. */
KernelLoopFn kernel_fma(KernelFma form, KernelType type);

/* accumulator, x -> accumulator + sum of x by the wide tree of runtime/reduce.c, however few they are.
** x is contiguous and aligned. NULL: not of this type. */
enum { KERNEL_SUM_BYTES = 128, KERNEL_SUM_TURNS = 16 }; /* ORDER wide */
KernelLoopFn kernel_sum(KernelType type);

/* -- Along an axis (along.c) --------------------------------------------------------- */

/* Where the first extreme is: the first NaN, if there is one. */
typedef struct KernelPosition {
    /* Of n contiguous elements, at least one. */
    intptr_t (*run)(const char *x, intptr_t n);
    /* True if x, which comes later, is what counts instead of `best`. */
    bool (*beats)(const char *x, const char *best);
    /* Of each of n columns: `rows` rows from number `first` on, `step` bytes apart, are taken into
    ** the extremes so far and their places, numbers of index_bytes. */
    void (*rows)(const char *x, intptr_t n, intptr_t rows, intptr_t step,
                 intptr_t first, char *best, char *index);
    intptr_t index_bytes;
} KernelPosition;

/* Running sums or products; goes_on: of what is in front of `out`. */
typedef struct KernelScan {
    /* Lines of n elements, one behind the other. */
    void (*lines)(char *out, const char *x, intptr_t n, intptr_t lines, bool goes_on);
    /* Of each of n columns. */
    void (*rows)(char *out, const char *x, intptr_t n, intptr_t rows, intptr_t out_step,
                 intptr_t step, bool goes_on);
} KernelScan;

/* NULL: not of this type. */
const KernelPosition *kernel_position(KernelType type, bool greatest);
const KernelScan *kernel_scan(KernelType type, bool product);

/* -- Elementary functions ---------------------------------------------------------- */

/* Rows of recipes.def. */
typedef enum KernelRecipe {
#define RECIPE(name, arity, doc) RECIPE_##name,
#include "kernels/recipes.def"
#undef RECIPE
    RECIPE_COUNT
} KernelRecipe;

bool kernel_recipe_find(const char *numpy_name, KernelRecipe *recipe);
const char *kernel_recipe_name(KernelRecipe recipe);
/* NULL: not of this type, or this CPU has none. */
KernelLoopFn kernel_recipe_loop(KernelRecipe recipe, KernelType type);
/* The row of lower/targets.def whose recipes the loops are; NULL: there are none. */
const char *kernel_recipe_form(void);
/* Of sin, cos and tan: the address of a function (const T *x, T *r, int n) that puts right
** the results of n lanes whose arguments are far from 0. */
uintptr_t kernel_recipe_far(KernelRecipe recipe, KernelType type);

/* -- Symbols (symbol.c) ------------------------------------------------------------ */

/* Function i that compiled kernels may call; address 0: this CPU has it not. False: there is
** none of that number. */
/* NumPy's sum of n numbers `step` bytes apart, without the zero that it is added to. */
double kernel_sum_f64(const char *x, intptr_t step, intptr_t n);
float kernel_sum_f32(const char *x, intptr_t step, intptr_t n);
/* The same, but of more than a leaf in a row by the wide tree. */
double kernel_wide_sum_f64(const char *x, intptr_t step, intptr_t n);
float kernel_wide_sum_f32(const char *x, intptr_t step, intptr_t n);

/* Elements of so many bytes where the mask is true, one behind the other from `to` on, which has room
** for all; how many these are. */
typedef intptr_t (*KernelCompressFn)(char *to, const char *from, intptr_t from_step,
                                     const char *mask, intptr_t mask_step, intptr_t n);
intptr_t kernel_compress_1(char *to, const char *from, intptr_t from_step,
                           const char *mask, intptr_t mask_step, intptr_t n);
intptr_t kernel_compress_2(char *to, const char *from, intptr_t from_step,
                           const char *mask, intptr_t mask_step, intptr_t n);
intptr_t kernel_compress_4(char *to, const char *from, intptr_t from_step,
                           const char *mask, intptr_t mask_step, intptr_t n);
intptr_t kernel_compress_8(char *to, const char *from, intptr_t from_step,
                           const char *mask, intptr_t mask_step, intptr_t n);

/* The first `count` elements where the mask is true; `to` has room for these. False: not of this size. */
bool kernel_pack(char *to, const char *from, const char *mask, intptr_t count,
                 intptr_t itemsize);

/* Numbers of the elements of a mask that are true, `step` places apart; how many. There is room
** for `room` of them, at least for all. */
intptr_t kernel_positions(int64_t *to, intptr_t step, const char *mask, intptr_t n,
                          intptr_t room);
/* Elements one behind the other to where the mask is true. False: not of this size. */
bool kernel_unpack(char *to, const char *from, const char *mask, intptr_t n,
                   intptr_t itemsize);

/* -- NumPy's own loops (library.c) --------------------------------------------------- */

typedef enum KernelLibraryType {
    KERNEL_library_f32,
    KERNEL_library_f64,
    KERNEL_library_c64,
    KERNEL_library_c128,
    KERNEL_LIBRARY_TYPES
} KernelLibraryType;

/* What kernels call: n elements of each, one behind the other; y of functions of two. */
typedef void (*KernelLibraryFn)(const char *x, const char *y, char *out, intptr_t n);
/* True if it is kept, for good. */
bool kernel_library_set(const char *numpy_name, char numpy_char, KernelLoopFn loop,
                        void *context, void *auxdata);

/* NumPy's products of matrices: x, y, out; 1, then rows of x, columns of x, columns of y; no steps
** from matrix to matrix (3), then those of rows and columns of x, of y, of out. */
typedef void (*KernelProductFn)(char **data, const intptr_t *sizes,
                                const intptr_t *steps, void *auxdata);
void kernel_product_set(KernelType type, KernelProductFn loop, void *auxdata);
bool kernel_product_has(KernelType type);
void kernel_product_run(KernelType type, char **data, const intptr_t *sizes,
                        const intptr_t *steps);
/* As kernel_symbol_at. */
bool kernel_library_at(unsigned i, char *name, size_t n, uintptr_t *address);

bool kernel_symbol_at(unsigned i, char *name, size_t n, uintptr_t *address);
/* The address of a function; NULL: not known. */
void *kernel_symbol(const char *name);
