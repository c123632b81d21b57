/* op.c - the tables expanded from ops.def; lookup by name. */
#include "ir/op.h"

#include <string.h>

typedef struct OpRow {
    const char *name, *numpy, *doc;
    IrClass class;
    int arity;
    IrTypeRule type;
    IrShapeRule shape;
    unsigned flags;
} OpRow;

static const OpRow rows[OP_COUNT] = {
#define OP(name, class, arity, type, shape, flags, numpy, ident, sint, uint, flt, cpx, \
           bol, doc)                                                                   \
    {#name, numpy, doc, CLASS_##class, arity, TY_##type, SH_##shape, flags},
#include "ir/ops.def"
#undef OP
};

/* Row checks: what elementwise and commuting ops must look like. */
#define OP(name, class, arity, type, shape, flags, numpy, ident, sint, uint, flt, cpx, \
           bol, doc)                                                                   \
    _Static_assert(!((flags) & OPF_commutes) || (arity) == 2, #name ": two commute");  \
    _Static_assert(!((flags) & OPF_elementwise) || SH_##shape == SH_elementwise,       \
                   #name ": elementwise ops broadcast");                               \
    _Static_assert(SH_##shape != SH_elementwise || ((flags) & OPF_elementwise),        \
                   #name ": ops that broadcast are elementwise");
#include "ir/ops.def"
#undef OP

/* Table look-ups of a value that is no op give the row of poison, so no caller can
** crash. */
static const OpRow *
row(IrOp op)
{
    return &rows[(unsigned)op < OP_COUNT ? op : OP_poison];
}

const char *
ir_op_name(IrOp op)
{
    return row(op)->name;
}

IrClass
ir_op_class(IrOp op)
{
    return row(op)->class;
}

unsigned
ir_op_flags(IrOp op)
{
    return row(op)->flags;
}

int
ir_op_arity(IrOp op)
{
    return row(op)->arity;
}

const char *
ir_op_numpy(IrOp op)
{
    return row(op)->numpy;
}

const char *
ir_op_doc(IrOp op)
{
    return row(op)->doc;
}

IrTypeRule
ir_op_type_rule(IrOp op)
{
    return row(op)->type;
}

IrShapeRule
ir_op_shape_rule(IrOp op)
{
    return row(op)->shape;
}

bool
ir_op_find(const char *name, size_t length, IrOp *op)
{
    for (int i = 0; i < OP_COUNT; i++)
        if (strlen(rows[i].name) == length && !memcmp(rows[i].name, name, length)) {
            *op = (IrOp)i;
            return true;
        }
    return false;
}

bool
ir_op_find_numpy(const char *name, IrOp *op)
{
    for (int i = 0; i < OP_COUNT; i++)
        if (rows[i].numpy && !strcmp(rows[i].numpy, name)) {
            *op = (IrOp)i;
            return true;
        }
    return false;
}
