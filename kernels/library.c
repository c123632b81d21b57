/* library.c - NumPy's own loops as functions that compiled kernels call by name.
**
** The extension puts a loop here before a kernel that needs it can run; it is there for good. A
** function works on elements that lie one behind the other.
*/
#include <stdio.h>
#include <string.h>

#include "kernels/kernels.h"

enum { OPERANDS = 3 };

typedef struct Loop {
    KernelLoopFn loop;
    void *context, *auxdata;
} Loop;

typedef enum Row {
#define LIBRARY(name, arity, truth) ROW_##name,
#include "kernels/library.def"
#undef LIBRARY
    ROW_COUNT
} Row;

static const struct {
    const char *name;
    int arity;
    bool truth;
} rows[] = {
#define LIBRARY(name, arity, truth) {#name, arity, truth},
#include "kernels/library.def"
#undef LIBRARY
};

static const struct {
    const char *name;
    char numpy_char;
    intptr_t bytes;
} types[KERNEL_LIBRARY_TYPES] = {
    {"f32", 'f', 4}, {"f64", 'd', 8}, {"c64", 'F', 8}, {"c128", 'D', 16}};

static Loop loops[ROW_COUNT][KERNEL_LIBRARY_TYPES];

static void
call(Row row, KernelLibraryType type, const char *x, const char *y, char *out,
     intptr_t n)
{
    const Loop *loop = &loops[row][type];
    intptr_t bytes = types[type].bytes, steps[OPERANDS] = {bytes, bytes, bytes};
    int arity = rows[row].arity;
    char *data[OPERANDS] = {(char *)(uintptr_t)x, (char *)(uintptr_t)y, out};

    data[arity] = out;
    steps[arity] = rows[row].truth ? 1 : bytes;
    loop->loop(loop->context, data, &n, steps, loop->auxdata);
}

#define FUNCTION(row, type)                                                            \
    static void row##_##type(const char *x, const char *y, char *out, intptr_t n)      \
    {                                                                                  \
        call(ROW_##row, KERNEL_library_##type, x, y, out, n);                          \
    }
#define LIBRARY(name, arity, truth)                                                    \
    FUNCTION(name, f32)                                                                \
    FUNCTION(name, f64)                                                                \
    FUNCTION(name, c64)                                                                \
    FUNCTION(name, c128)
#include "kernels/library.def"
#undef LIBRARY

static const KernelLibraryFn functions[][KERNEL_LIBRARY_TYPES] = {
#define LIBRARY(name, arity, truth) {name##_f32, name##_f64, name##_c64, name##_c128},
#include "kernels/library.def"
#undef LIBRARY
};

static int
find(const char *numpy_name)
{
    for (int row = 0; numpy_name && row < ROW_COUNT; row++)
        if (!strcmp(rows[row].name, numpy_name))
            return row;
    return -1;
}

static int
find_type(char numpy_char)
{
    for (int type = 0; type < KERNEL_LIBRARY_TYPES; type++)
        if (types[type].numpy_char == numpy_char)
            return type;
    return -1;
}

bool
kernel_library_set(const char *numpy_name, char numpy_char, KernelLoopFn loop,
                   void *context, void *auxdata)
{
    int row = find(numpy_name), type = find_type(numpy_char);

    if (row < 0 || type < 0)
        return false;
    loops[row][type] = (Loop){loop, context, auxdata};
    return true;
}

/* -- Products of matrices ---------------------------------------------------------- */

typedef struct Product {
    KernelProductFn loop;
    void *auxdata;
} Product;

static Product products[KERNEL_TYPE_COUNT];

#define KERNEL_TYPE(name, numpy_char, type, kind)                                      \
    static void product_##name(char **data, const intptr_t *sizes,                     \
                               const intptr_t *steps)                                  \
    {                                                                                  \
        products[KERNEL_##name].loop(data, sizes, steps,                               \
                                     products[KERNEL_##name].auxdata);                 \
    }
#include "kernels/kernels.def"
#undef KERNEL_TYPE

static const struct {
    const char *name;
    void (*function)(char **, const intptr_t *, const intptr_t *);
} of_products[] = {
#define KERNEL_TYPE(name, numpy_char, type, kind) {#name, product_##name},
#include "kernels/kernels.def"
#undef KERNEL_TYPE
};

void
kernel_product_set(KernelType type, KernelProductFn loop, void *auxdata)
{
    products[type] = (Product){loop, auxdata};
}

bool
kernel_product_has(KernelType type)
{
    return products[type].loop != NULL;
}

void
kernel_product_run(KernelType type, char **data, const intptr_t *sizes,
                   const intptr_t *steps)
{
    products[type].loop(data, sizes, steps, products[type].auxdata);
}

/* -- By number --------------------------------------------------------------------- */

bool
kernel_library_at(unsigned i, char *name, size_t n, uintptr_t *address)
{
    unsigned row = i / KERNEL_LIBRARY_TYPES, type = i % KERNEL_LIBRARY_TYPES;

    if (row < ROW_COUNT) {
        snprintf(name, n, "pyasc_loop_%s_%s", rows[row].name, types[type].name);
        *address = (uintptr_t)functions[row][type];
        return true;
    }
    i -= ROW_COUNT * KERNEL_LIBRARY_TYPES;
    if (i >= KERNEL_TYPE_COUNT)
        return false;
    snprintf(name, n, "pyasc_product_%s", of_products[i].name);
    *address = (uintptr_t)of_products[i].function;
    return true;
}
