/* attr.c - attribute lists: sorted by key, compared by bits. */
#include <string.h>

#include "ir/graph.h"

const IrAttr *
ir_attr_find(const IrAttr *attrs, uint32_t n, const char *key)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(attrs[i].key, key))
            return &attrs[i];
    return NULL;
}

static bool
equal(const IrAttr *a, const IrAttr *b)
{
    if (a->kind != b->kind || strcmp(a->key, b->key))
        return false;
    switch (a->kind) {
    case ATTR_ints:
        return a->count == b->count &&
               (!a->count || !memcmp(a->ints, b->ints, a->count * sizeof *a->ints));
    case ATTR_text:
        return !strcmp(a->text, b->text);
    default: /* by bits: -0.0 is not 0.0, a NaN equals itself */
        return !memcmp(&a->real, &b->real, sizeof a->real) &&
               (a->kind == ATTR_float || !memcmp(&a->imag, &b->imag, sizeof a->imag));
    }
}

bool
ir_attrs_equal(const IrAttr *a, const IrAttr *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!equal(&a[i], &b[i]))
            return false;
    return true;
}

static uint64_t
hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 1099511628211u;
    return hash;
}

uint32_t
ir_attrs_hash(const IrAttr *attrs, uint32_t n)
{
    uint64_t hash = 1469598103934665603u;

    for (uint32_t i = 0; i < n; i++) {
        hash = hash_bytes(hash, attrs[i].key, strlen(attrs[i].key));
        if (attrs[i].kind == ATTR_ints && attrs[i].count)
            hash = hash_bytes(hash, attrs[i].ints, attrs[i].count * sizeof(int64_t));
        else if (attrs[i].kind == ATTR_text)
            hash = hash_bytes(hash, attrs[i].text, strlen(attrs[i].text));
        else if (attrs[i].kind != ATTR_ints)
            hash = hash_bytes(hash, &attrs[i].real, sizeof(double));
    }
    return (uint32_t)(hash ^ hash >> 32);
}

bool
ir_is_identifier(const char *name)
{
    if (!name || !*name)
        return false;
    for (const char *at = name; *at; at++)
        if (!(*at == '_' || (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
              (at > name && *at >= '0' && *at <= '9')))
            return false;
    return true;
}

bool
ir_attrs_sort(const IrAttr *attrs, uint32_t n, IrAttr *sorted)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;
        int order = -1;
        if (!ir_is_identifier(attrs[i].key) || (unsigned)attrs[i].kind > ATTR_complex ||
            (attrs[i].kind == ATTR_ints && attrs[i].count && !attrs[i].ints) ||
            (attrs[i].kind == ATTR_text && !attrs[i].text))
            return false;
        for (; at > 0; at--) {
            order = strcmp(sorted[at - 1].key, attrs[i].key);
            if (order <= 0)
                break;
            sorted[at] = sorted[at - 1];
        }
        if (at > 0 && order == 0)
            return false;
        sorted[at] = attrs[i];
    }
    return true;
}

const IrAttr *
ir_attrs_keep(IrGraph *g, const IrAttr *attrs, uint32_t n)
{
    IrAttr *kept = ir_arena_copy(&g->arena, attrs, n * sizeof *attrs);

    for (uint32_t i = 0; kept && i < n; i++) {
        kept[i].key = ir_arena_text(&g->arena, attrs[i].key);
        if (attrs[i].kind == ATTR_ints)
            kept[i].ints = ir_arena_copy(&g->arena, attrs[i].ints,
                                         attrs[i].count * sizeof *attrs[i].ints);
        if (attrs[i].kind == ATTR_text)
            kept[i].text = ir_arena_text(&g->arena, attrs[i].text);
    }
    return g->arena.failed ? NULL : kept;
}
