/* sig_extents.c - signatures that differ in extents. */
#include "jit/resize.h"

typedef struct Extents {
    npy_intp a[64], b[64];
    uint32_t n;
} Extents;

/* Extents of one leaf beside those of the other; false: they are not alike. */
static bool
add_extents(Extents *extents, const JitLeaf *a, const JitLeaf *b)
{
    if (a->ndim != b->ndim || a->writeable != b->writeable ||
        a->aligned != b->aligned ||
        !PyArray_EquivTypes((PyArray_Descr *)a->object, (PyArray_Descr *)b->object))
        return false;
    npy_intp itemsize = PyDataType_ELSIZE((PyArray_Descr *)a->object);
    if (!jit_in_c_order(a->dimensions, a->dimensions + a->ndim, a->ndim, itemsize) ||
        !jit_in_c_order(b->dimensions, b->dimensions + b->ndim, b->ndim, itemsize))
        return false;
    for (int d = 0; d < a->ndim; d++) {
        npy_intp x = a->dimensions[d], y = b->dimensions[d];
        if ((x == 1) != (y == 1) || extents->n == 64)
            return false;
        for (uint32_t i = 0; i < extents->n; i++) {
            if ((extents->a[i] == x) != (extents->b[i] == y))
                return false;
        }
        extents->a[extents->n] = x;
        extents->b[extents->n++] = y;
    }
    return true;
}

bool
jit_sig_resized(const JitSig *a, const JitSig *b)
{
    Extents extents = {.n = 0};
    if (a->nleaves != b->nleaves)
        return false;
    for (uint32_t i = 0; i < a->nleaves; i++) {
        const JitLeaf *x = &a->leaves[i], *y = &b->leaves[i];
        if (x->kind != y->kind || x->length != y->length || x->weak != y->weak)
            return false;
        if (x->kind == LEAF_array) {
            if (!add_extents(&extents, x, y))
                return false;
        } else if (x->kind == LEAF_constant ? !jit_leaf_match(x, y->object)
                                            : x->object != y->object)
            return false;
    }
    return extents.n > 0;
}

uint64_t
jit_sig_extents_hash(const JitSig *sig)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (uint32_t i = 0; i < sig->nleaves; i++) {
        const JitLeaf *leaf = &sig->leaves[i];
        for (int d = 0; leaf->kind == LEAF_array && d < leaf->ndim; d++)
            hash = (hash ^ (uint64_t)leaf->dimensions[d]) * 1099511628211u;
    }
    return hash;
}
