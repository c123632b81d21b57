/* graph.h - how a graph is stored; private to ir/.
**
** Values, nodes, types and regions are rows of growing tables, named by their row
** number; what hangs on a row (operands, attributes, dimensions, texts) lives in the
** graph's arena. Row 0 of each table is the poison: a real row, so that looking never
** needs a test.
**
** Law 1: open regions form a stack; a value may be used while its home region is on
**        the stack.
** Law 2: the node table's hash chains hold only nodes of open regions: closing a
**        region pops its nodes off their chains. So an equal node found there is in
**        scope.
*/
#pragma once

#include "ir/arena.h"
#include "ir/op.h"

typedef enum IrError {
#define ERROR(name, text) ERROR_##name,
#include "ir/errors.def"
#undef ERROR
    ERROR_COUNT
} IrError;

typedef struct Value {
    uint32_t type;
    IrNode def;     /* 0: a parameter */
    uint32_t index; /* among the results or the parameters */
    IrRegion home;
} Value;

typedef struct Node {
    const IrValue *operands;
    const IrAttr *attrs; /* sorted by key */
    const IrRegion *regions;
    uint32_t hash;
    IrNode chain; /* next older node of the same hash bucket */
    IrNode next;  /* in program order */
    IrRegion home;
    IrValue first; /* results are first … first + nresults - 1 */
    uint32_t noperands, nresults;
    uint16_t op;
    uint8_t nattrs, nregions;
} Node;

typedef enum RegionState {
    REGION_open,
    REGION_closed,  /* yielded, no owner yet */
    REGION_owned,   /* by a control node */
    REGION_dropped, /* thrown away */
} RegionState;

typedef struct Param {
    IrValue value;
    const char *name; /* or NULL */
} Param;

typedef struct Region {
    Param *params; /* malloc'ed */
    size_t nparams, params_capacity;
    const IrValue *yields; /* of the body: the returns */
    uint32_t nyields;
    IrRegion parent;
    IrNode first, last, owner;
    RegionState state;
    uint32_t depth; /* regions around it */
} Region;

struct IrGraph {
    Arena arena;
    const char *name;
    Value *values;
    Node *nodes;
    Region *regions;
    IrType *types;
    const char **symbols;
    IrNode *buckets;      /* hash chains of pure nodes */
    uint32_t *type_slots; /* open addressing over types */
    size_t nvalues, values_capacity;
    size_t nnodes, nodes_capacity;
    size_t nregions, regions_capacity;
    size_t ntypes, types_capacity;
    size_t nsymbols, symbols_capacity;
    size_t nbuckets, ntype_slots;
    IrRegion current; /* innermost open region */
    bool returned, failed;
    IrError error;
    IrNode error_node; /* the node to blame, or 0 */
    IrValue pending;   /* first result of the node being made: its types may name it */
    uint32_t npending;
    char error_text[320];
};

/* -- graph.c ---------------------------------------------------------------------- */

/* Remembers the first error; `op` OP_COUNT: no op to name. Returns 0, the poison. */
uint32_t ir_fail(IrGraph *g, IrError error, IrOp op);
/* The same with the types of the operands named. */
uint32_t ir_fail_operands(IrGraph *g, IrError error, IrOp op, const IrValue *operands,
                          uint32_t n);
const char *ir_error_sentence(IrError error);
bool ir_in_scope(const IrGraph *g, IrValue value);
IrValue ir_value_add(IrGraph *g, uint32_t type, IrNode def, uint32_t index,
                     IrRegion home);
/* A node that is in no chain yet, appended to the current region. */
IrNode ir_node_add(IrGraph *g, IrOp op, const IrValue *operands, uint32_t noperands,
                   const IrAttr *attrs, uint32_t nattrs, const uint32_t *types,
                   uint32_t ntypes);
/* The operands are values in scope, and as many as the op takes; else the graph
** fails.
*/
bool ir_operands_check(IrGraph *g, IrOp op, const IrValue *operands, uint32_t n);
void ir_chains_leave(IrGraph *g, IrRegion region); /* Law 2 */

/* -- region.c --------------------------------------------------------------------- */

/* Values that stand for each other: a[i] inside, b[i] outside. */
typedef struct Pairing {
    const IrValue *a, *b;
    uint32_t n;
} Pairing;

/* Equal types, where an extent held by a[i] equals one held by b[i]. */
bool ir_pairing_same(const IrGraph *g, const IrType *a, const IrType *b,
                     const Pairing *pairs);
/* ERROR_COUNT: the regions fit a control node with these operands and attributes. */
IrError ir_control_check(IrGraph *g, IrOp op, const IrValue *operands, uint32_t n,
                         const IrRegion *regions, uint32_t nregions,
                         const IrAttr *attrs, uint32_t nattrs);

/* -- const.c ---------------------------------------------------------------------- */

/* Writes what a constant of this dtype holds: one int, float or complex of the
** dtype's precision. The int is put into *whole. False: the attribute is no value of
** the dtype's kind. */
bool ir_constant_settle(IrDtype dtype, const IrAttr *value, IrAttr *settled,
                        int64_t *whole);
double ir_constant_round(IrDtype dtype, double x); /* to the precision of the dtype */

/* -- type.c ----------------------------------------------------------------------- */

/* The row of a type, the same for equal types; 0: the graph has failed. */
uint32_t ir_type_intern(IrGraph *g, const IrType *type, IrOp op);
bool ir_type_same_dims(const IrType *a, const IrType *b);
bool ir_type_equal(const IrType *a, const IrType *b);
bool ir_dim_equal(IrDim a, IrDim b);
const IrType *ir_type_of(const IrGraph *g, IrValue value); /* never NULL */
/* Writes "f64[n, 3]"; returns the length wanted, like snprintf. `names` as in print.c
** or NULL. */
size_t ir_type_format(const IrGraph *g, const IrType *type, char *text, size_t n);

/* -- attr.c ----------------------------------------------------------------------- */

bool ir_is_identifier(const char *name);
const IrAttr *ir_attr_find(const IrAttr *attrs, uint32_t n, const char *key);
bool ir_attrs_equal(const IrAttr *a, const IrAttr *b, uint32_t n);
uint32_t ir_attrs_hash(const IrAttr *attrs, uint32_t n);
/* Sorts by key into `sorted`; false when a key occurs twice or an attribute is
** malformed. */
bool ir_attrs_sort(const IrAttr *attrs, uint32_t n, IrAttr *sorted);
const IrAttr *ir_attrs_keep(IrGraph *g, const IrAttr *attrs, uint32_t n);

/* -- shape.c, infer.c ------------------------------------------------------------- */

typedef struct Infer {
    IrGraph *g;
    IrOp op;
    const IrValue *operands;
    uint32_t noperands;
    const IrAttr *attrs;
    uint32_t nattrs;
    const IrType *given; /* NULL: infer */
    IrType result;       /* dims points into `dims` or to an operand's */
    IrDim dims[IR_MAX_NDIM];
} Infer;

bool ir_infer_shape(Infer *infer); /* shape.c: fills in the dimensions */
/* The dtype that attribute dtype names; DT_COUNT: it names none. */
IrDtype ir_infer_named_dtype(const Infer *infer, IrDtype otherwise);
/* The result type of an op with one result whose rules give it; false: ir_fail has
** been told. With `given` the result is checked, or taken over where the rule leaves
** it open. */
bool ir_infer(Infer *infer);
/* False: calls, effects and control nodes, whose result types are the caller's. */
bool ir_infer_has_rules(IrOp op);
bool ir_infer_needs_types(IrOp op, const IrAttr *attrs, uint32_t nattrs);
