/* aliases.c - arguments that lie in the memory of others, as in f(x, x[1:], x[::-1]).
**
** To a trace such an argument is a window on the other one: what is written through the one is seen through the
** other, and a plan works on the memory of the whole alone. So the plan is for calls whose arguments lie in each other
** in the same way. The whole has its elements without gaps; arguments that overlap and have no such whole among them
** are left to the plain function where one is written.
*/
#include "jit/aliases.h"

#include <string.h>

typedef struct Extent {
    const char *low, *high; /* NULL: no array, or without elements */
    bool dense;
} Extent;

static Extent
extent_of(PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    Extent extent = {NULL, NULL, false};
    if (!PyArray_CheckExact(object) || PyArray_SIZE(array) == 0)
        return extent;
    npy_intp bytes = PyArray_ITEMSIZE(array);
    extent.low = PyArray_BYTES(array);
    extent.high = extent.low + bytes;
    for (int d = 0; d < PyArray_NDIM(array); d++) {
        npy_intp reach = (PyArray_DIM(array, d) - 1) * PyArray_STRIDE(array, d);
        if (reach < 0)
            extent.low += reach;
        else
            extent.high += reach;
        bytes *= PyArray_DIM(array, d);
    }
    extent.dense = extent.high - extent.low == bytes && !trace_overlaps_itself(array);
    return extent;
}

static bool
meet(Extent a, Extent b)
{
    return a.low < b.high && b.low < a.high;
}

/* True if array b lies in the elements of array a. */
static bool
holds(PyObject *a, Extent x, PyObject *b, Extent y)
{
    PyArrayObject *whole = (PyArrayObject *)a, *part = (PyArrayObject *)b;
    return x.dense && x.low <= y.low && y.high <= x.high &&
           PyArray_DESCR(whole)->type_num == PyArray_DESCR(part)->type_num &&
           PyArray_ISBEHAVED_RO(whole) && PyArray_ISBEHAVED_RO(part) &&
           PyArray_NDIM(whole) && PyArray_NDIM(part) &&
           !PyDataType_REFCHK(PyArray_DESCR(whole)) &&
           (y.low - x.low) % PyArray_ITEMSIZE(whole) == 0;
}

/* The number of the parameter that holds parameter i and is held by none: the largest, of equal ones the first. */
static uint32_t
whole_of(PyObject *const *params, const Extent *extents, uint32_t n, uint32_t i)
{
    uint32_t best = i;
    for (uint32_t k = 0; k < n; k++) {
        npy_intp more =
            extents[k].high - extents[k].low - (extents[best].high - extents[best].low);
        if (k != i && extents[k].low &&
            holds(params[k], extents[k], params[i], extents[i]) &&
            (more > 0 || (more == 0 && (k < best || !extents[best].dense))))
            best = k;
    }
    return best;
}

int
jit_aliases_find(PyObject *const *params, uint32_t n, JitAlias *aliases)
{
    Extent extents[128];
    uint32_t whole[128];
    int found = 0;
    if (n > sizeof whole / sizeof *whole)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        extents[i] = extent_of(params[i]);
    for (uint32_t i = 0; i < n; i++)
        whole[i] = extents[i].low ? whole_of(params, extents, n, i) : i;
    for (uint32_t i = 0; i < n; i++) {
        if (whole[whole[i]] != whole[i])
            return -1;
        for (uint32_t k = 0; extents[i].low && k < i; k++) {
            if (extents[k].low && whole[i] != whole[k] && meet(extents[i], extents[k]))
                return -1;
        }
        if (whole[i] != i)
            aliases[found++] =
                (JitAlias){i, whole[i],
                           PyArray_BYTES((PyArrayObject *)params[i]) -
                               PyArray_BYTES((PyArrayObject *)params[whole[i]])};
    }
    return found;
}

bool
jit_aliases_match(const JitPlan *plan, const JitAlias *aliases, int n)
{
    if (plan->naliases != (uint32_t)n)
        return false;
    for (int i = 0; i < n; i++) {
        if (aliases[i].param != plan->aliases[i].param ||
            aliases[i].base != plan->aliases[i].base ||
            aliases[i].offset != plan->aliases[i].offset)
            return false;
    }
    return true;
}
