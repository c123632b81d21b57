/* pass_views.c - joins transposes, reshapes and slices; drops those that change
** nothing.
**
** These moves are index maps: a chain of one kind is one map. A reshape of a reshape
** needs only the last shape; axes of transposes are composed; slices add up. An
** extent that the type knows is that integer or that value.
*/
#include "ir/pass.h"
#include "ir/rewrite.h"

static const IrAttr *
ints(const Node *node, const char *key)
{
    return ir_attr_find(node->attrs, node->nattrs, key);
}

static IrValue
typed(Rewrite *r, IrOp op, IrValue x, const IrAttr *attrs, uint32_t nattrs,
      const IrType *type)
{
    return ir_result(r->to, ir_node_typed(r->to, op, &x, 1, attrs, nattrs, type, 1), 0);
}

static bool
is_identity(const Node *node)
{
    const IrAttr *axes = ints(node, "axes"), *start = ints(node, "start"),
                 *step = ints(node, "step");

    if (node->op == OP_transpose)
        for (uint32_t i = 0; i < axes->count; i++)
            if (axes->ints[i] != i)
                return false;
    if (node->op == OP_slice)
        for (uint32_t i = 0; i < start->count; i++)
            if (start->ints[i] || step->ints[i] != 1)
                return false;
    return true;
}

static IrValue
join_transposes(Rewrite *r, const Node *inner, const Node *outer, const IrType *type)
{
    const IrAttr *first = ints(inner, "axes"), *second = ints(outer, "axes");
    int64_t axes[IR_MAX_NDIM];

    for (uint32_t i = 0; i < second->count; i++)
        axes[i] = first->ints[second->ints[i]];
    return typed(r, OP_transpose, inner->operands[0],
                 &(IrAttr){.key = "axes", .count = second->count, .ints = axes}, 1,
                 type);
}

static IrValue
join_slices(Rewrite *r, const Node *inner, const Node *outer, const IrType *type)
{
    const IrAttr *start1 = ints(inner, "start"), *step1 = ints(inner, "step");
    const IrAttr *start2 = ints(outer, "start"), *step2 = ints(outer, "step");
    int64_t start[IR_MAX_NDIM], step[IR_MAX_NDIM];
    uint32_t n = start2->count, n_attrs = 0;
    IrAttr attrs[3];

    for (uint32_t i = 0; i < n; i++)
        if (__builtin_mul_overflow(start2->ints[i], step1->ints[i], &start[i]) ||
            __builtin_add_overflow(start[i], start1->ints[i], &start[i]) ||
            __builtin_mul_overflow(step1->ints[i], step2->ints[i], &step[i]))
            return 0;
    attrs[n_attrs++] = (IrAttr){.key = "start", .count = n, .ints = start};
    attrs[n_attrs++] = (IrAttr){.key = "step", .count = n, .ints = step};
    if (ints(outer, "count"))
        attrs[n_attrs++] = *ints(outer, "count");
    return typed(r, OP_slice, inner->operands[0], attrs, n_attrs, type);
}

static IrValue
known_extent(Rewrite *r, const Node *node)
{
    const IrType *x = ir_type_of(r->to, ir_rewritten(r, node->operands[0]));
    IrDim dim = x->dims[ints(node, "axis")->ints[0]];

    if (dim.kind == DIM_integer)
        return ir_const_int(r->to, DT_index, dim.value);
    return dim.kind == DIM_index ? (IrValue)dim.value : 0;
}

static IrValue
join(Rewrite *r, IrNode number)
{
    const Node *node = &r->from->nodes[number], *inner;
    IrDim dims[IR_MAX_NDIM];
    IrType type;
    IrValue x;

    if (node->op == OP_dim)
        return known_extent(r, node);
    if (node->op != OP_transpose && node->op != OP_reshape && node->op != OP_slice &&
        node->op != OP_broadcast)
        return 0;
    x = ir_rewritten(r, node->operands[0]);
    type = ir_rewritten_type(r, ir_type_of(r->from, node->first), dims);
    if (ir_type_equal(ir_type_of(r->to, x), &type) && is_identity(node))
        return x;
    inner = &r->to->nodes[ir_def(r->to, x)];
    if (!ir_def(r->to, x) || inner->op != node->op)
        return 0;
    switch (node->op) {
    case OP_transpose:
        return join_transposes(r, inner, node, &type);
    case OP_slice:
        return join_slices(r, inner, node, &type);
    default:
        return typed(r, (IrOp)node->op, inner->operands[0], node->attrs, node->nattrs,
                     &type);
    }
}

bool
ir_pass_views(IrGraph *g)
{
    enum { MAX_SWEEPS = 4 };
    Rewrite rewrite = {.replace = join, .pass = "views"};

    for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        if (!ir_rewrite(g, &rewrite))
            return false;
        if (!rewrite.changes)
            break;
    }
    return true;
}
