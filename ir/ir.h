/* ir.h - all that other folders may know of the array language.
**
** A graph is a function in SSA form: parameters, nodes in creation order, returns. A
** node has an op (a row of ops.def), operands, attributes, results and, for `for`,
** `while` and `if`, regions. Equal pure nodes are one node (the builder hash-conses),
** so CSE is free. Creation order is program order: effects and updates happen in it.
**
** Law 1: nothing here knows Python, NumPy's C API or LLVM.
** Law 2: errors are sticky. A builder call that cannot succeed returns the poison
**        value 0 and the graph remembers the first error; poison in, poison out; who
**        builds looks once, at the end.
** Law 3: no global variable that is not const: every function takes its graph.
** Law 4: a graph belongs to one thread at a time.
*/
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -- Types ------------------------------------------------------------------------ */

enum { IR_MAX_NDIM = 64, IR_MAX_ATTRS = 8 };

typedef enum IrKind {
    KIND_bool,
    KIND_int,
    KIND_uint,
    KIND_float,
    KIND_complex,
    KIND_weak,  /* Python's int, float, complex, bool: NEP 50 weak scalars */
    KIND_other, /* index, token, opaque objects */
} IrKind;

typedef enum IrDtype {
#define DTYPE(name, text, numpy_char, kind, bytes, doc) DT_##name,
#include "ir/dtypes.def"
#undef DTYPE
    DT_COUNT
} IrDtype;

typedef enum IrOp {
#define OP(name, ...) OP_##name,
#include "ir/ops.def"
#undef OP
    OP_COUNT
} IrOp;

typedef uint32_t IrValue;  /* a node's result or a parameter; 0 is poison */
typedef uint32_t IrNode;   /* 0 is no node */
typedef uint32_t IrRegion; /* 0 is no region; 1 is the body of the function */
typedef struct IrGraph IrGraph;

typedef enum IrDimKind {
    DIM_integer, /* value is the extent */
    DIM_symbol,  /* value is the number of a symbol of the graph */
    DIM_index,   /* value is the IrValue, of dtype index, that holds the extent */
} IrDimKind;

typedef struct IrDim {
    int64_t value;
    IrDimKind kind;
} IrDim;

typedef enum IrLayout {
    LAYOUT_strided,
    LAYOUT_nchw,
    LAYOUT_nhwc,
    LAYOUT_nc1hwc0
} IrLayout;

typedef struct IrType {
    IrDtype dtype;
    IrLayout layout;
    uint32_t ndim;
    const IrDim *dims; /* owned by the graph once the type is in it */
} IrType;

const char *ir_dtype_name(IrDtype dtype); /* "f64" */
IrKind ir_dtype_kind(IrDtype dtype);
size_t ir_dtype_bytes(IrDtype dtype);
char ir_dtype_numpy_char(IrDtype dtype); /* NumPy's type character, 0 if it has none */
bool ir_dtype_find(const char *name, size_t length, IrDtype *dtype);
IrDtype ir_dtype_from_numpy_char(char numpy_char); /* DT_COUNT if there is none */
/* NumPy's promotion (NEP 50; of two weak scalars a weak one); DT_COUNT: there is
** none.
*/
IrDtype ir_dtype_promote(IrDtype a, IrDtype b);
IrDim ir_dim(int64_t extent);

/* -- Ops -------------------------------------------------------------------------- */

typedef enum IrClass {
    CLASS_unary,   /* elementwise, one operand */
    CLASS_binary,  /* elementwise, two operands, broadcast */
    CLASS_compare, /* elementwise, two operands, bool result */
    CLASS_ternary, /* elementwise, three operands (select, clip) */
    CLASS_reduce,  /* over attribute axes */
    CLASS_scan,    /* along attribute axis, same shape */
    CLASS_move,    /* no arithmetic: transpose, reshape, view, broadcast, … */
    CLASS_make,    /* no operand needs elements: const, full, iota */
    CLASS_call,    /* a library function, pure in its operands */
    CLASS_effect,  /* takes and gives a token */
    CLASS_control, /* regions */
    CLASS_index,   /* arithmetic on extents and indices: scalars, never fused */
} IrClass;

enum {
    OPF_commutes = 1, /* op(x, y) has the bits of op(y, x) (NaN payloads aside) */
    OPF_effect = 2,   /* never merged, never dropped, keeps its place */
    OPF_elementwise = 4,
    OPF_elementary = 8, /* its bits depend on the numerics mode */
    OPF_fresh = 16,     /* each node is a value of its own: never merged */
};

const char *ir_op_name(IrOp op);
IrClass ir_op_class(IrOp op);
unsigned ir_op_flags(IrOp op);
int ir_op_arity(IrOp op);         /* -1 = any */
const char *ir_op_numpy(IrOp op); /* name in the numpy namespace, or NULL */
const char *ir_op_doc(IrOp op);
bool ir_op_find(const char *name, size_t length, IrOp *op);
bool ir_op_find_numpy(const char *name, IrOp *op);
/* The loop NumPy runs for an elementwise op on operands of these dtypes: what operand
** i is cast to, and the result's dtype (weak when all operands are: Python's
** arithmetic; for a cast the caller knows it). False: NumPy refuses. */
bool ir_op_loop(IrOp op, const IrDtype *operands, uint32_t n, IrDtype *in,
                IrDtype *out);

/* -- Building --------------------------------------------------------------------- */

typedef enum IrAttrKind { ATTR_ints, ATTR_text, ATTR_float, ATTR_complex } IrAttrKind;

typedef struct IrAttr {
    const char *key;
    IrAttrKind kind;
    uint32_t count;      /* of ints */
    const int64_t *ints; /* ATTR_ints; one int is a list of one */
    const char *text;    /* ATTR_text */
    double real, imag;   /* ATTR_float, ATTR_complex */
} IrAttr;

IrGraph *ir_graph_new(const char *name); /* NULL: out of memory */
void ir_graph_free(IrGraph *g);
IrGraph *ir_graph_copy(const IrGraph *g);

IrValue ir_param_add(IrGraph *g, IrType type, const char *name /* may be NULL */);
/* Number for DIM_symbol. The same name is the same symbol; NULL: one that is new. */
int64_t ir_symbol_add(IrGraph *g, const char *name);

/* One result, its type inferred by the row's type and shape rules. */
IrValue ir_node(IrGraph *g, IrOp op, const IrValue *operands, uint32_t noperands,
                const IrAttr *attrs, uint32_t nattrs);
/* Result types given (cast, call, effect, control, make); checked against the row's
** rules where it has some. Returns the node; results by ir_result. An extent may be a
** result of the node itself: result i will have the number ir_nvalues(g) + i. */
IrNode ir_node_typed(IrGraph *g, IrOp op, const IrValue *operands, uint32_t noperands,
                     const IrAttr *attrs, uint32_t nattrs, const IrType *types,
                     uint32_t ntypes);
IrValue ir_result(const IrGraph *g, IrNode node, uint32_t i);

/* Shorthands. */
IrValue ir_unary(IrGraph *g, IrOp op, IrValue x);
IrValue ir_binary(IrGraph *g, IrOp op, IrValue x, IrValue y);
IrValue ir_cast(IrGraph *g, IrValue x, IrDtype dtype);
/* Constants are rounded, or wrapped, to their dtype. For any kind but float, complex:
 */
IrValue ir_const_int(IrGraph *g, IrDtype dtype, int64_t value);
IrValue ir_const_float(IrGraph *g, IrDtype dtype, double value);
IrValue ir_const_complex(IrGraph *g, IrDtype dtype, double real, double imag);

/* Regions: open, add arguments, build nodes, yield, then make the control node that
** owns them. While a region is open new nodes go into it. Values of enclosing regions
** may be used; those of a closed region may not. */
IrRegion ir_region_open(IrGraph *g);
IrValue ir_region_param(IrGraph *g, IrRegion region, IrType type, const char *name);
void ir_region_yield(IrGraph *g, IrRegion region, const IrValue *values, uint32_t n);
void ir_region_drop(IrGraph *g, IrRegion region); /* a trial that is thrown away */
/* for:   operands = trip count (index) and inits; region params = k (index), carried.
** while: operands = inits; regions test (yields a bool and what the body sees), body.
** if:    operands = condition; two regions without parameters.
** Attribute until (for, while): the number of a yielded bool that ends the loop. */
IrNode ir_control(IrGraph *g, IrOp op, const IrValue *operands, uint32_t noperands,
                  const IrRegion *regions, uint32_t nregions, const IrAttr *attrs,
                  uint32_t nattrs);

void ir_return(IrGraph *g, const IrValue *values, uint32_t n);

/* -- Looking ---------------------------------------------------------------------- */

IrType ir_type(const IrGraph *g, IrValue value);
IrNode ir_def(const IrGraph *g, IrValue value); /* 0: a parameter */
IrOp ir_node_op(const IrGraph *g, IrNode node);
uint32_t ir_node_noperands(const IrGraph *g, IrNode node);
IrValue ir_node_operand(const IrGraph *g, IrNode node, uint32_t i);
uint32_t ir_node_nresults(const IrGraph *g, IrNode node);
/* NULL: the node has no such attribute. Attributes are sorted by key. */
const IrAttr *ir_node_attr(const IrGraph *g, IrNode node, const char *key);
int64_t ir_node_int(const IrGraph *g, IrNode node, const char *key, int64_t otherwise);
uint32_t ir_node_nattrs(const IrGraph *g, IrNode node);
const IrAttr *ir_node_attr_at(const IrGraph *g, IrNode node, uint32_t i);
uint32_t ir_node_nregions(const IrGraph *g, IrNode node);
IrRegion ir_node_region(const IrGraph *g, IrNode node, uint32_t i);
IrRegion ir_node_home(const IrGraph *g, IrNode node); /* the region it is in */
/* Nodes of a region in program order. */
IrNode ir_region_first(const IrGraph *g, IrRegion region);
IrNode ir_node_next(const IrGraph *g, IrNode node);
uint32_t ir_region_nparams(const IrGraph *g, IrRegion region);
IrValue ir_region_param_at(const IrGraph *g, IrRegion region, uint32_t i);
uint32_t ir_region_nyields(const IrGraph *g, IrRegion region);
IrValue ir_region_yield_at(const IrGraph *g, IrRegion region, uint32_t i);
const char *ir_graph_name(const IrGraph *g);
void ir_graph_rename(IrGraph *g,
                     const char *name); /* an identifier, else nothing is done */
const char *ir_symbol_name(const IrGraph *g, int64_t symbol); /* NULL: no such symbol */
uint32_t ir_nparams(const IrGraph *g);
IrValue ir_param(const IrGraph *g, uint32_t i);
uint32_t ir_nreturns(const IrGraph *g);
IrValue ir_return_at(const IrGraph *g, uint32_t i);
uint32_t ir_nvalues(const IrGraph *g); /* values are 1 … nvalues - 1 */
uint32_t ir_nnodes(const IrGraph *g);  /* nodes are 1 … nnodes - 1 */

/* -- Errors, text, passes --------------------------------------------------------- */

const char *ir_error(const IrGraph *g); /* the first error, or NULL */
bool ir_verify(IrGraph *g);             /* false: ir_error says what and where */

char *ir_print(const IrGraph *g); /* malloc'ed; NULL: no memory */
IrGraph *ir_parse(const char *text, char *error, size_t n); /* NULL: error is set */

typedef void (*IrDumpFn)(void *context, const char *pass, const char *text);

/* Runs the rows of passes.def up to `level`; `dump` (may be NULL) is called before
** the first ("input") and after each pass. Returns false when the graph has an error.
** Passes build the graph again: numbers and schedules of before are gone; parameters
** and returns keep their places. */
bool ir_pipeline_run(IrGraph *g, int level, IrDumpFn dump, void *context);
/* One row of passes.def by name; the names and sentences of the rows, NULL behind the
** last. */
bool ir_pass_run(IrGraph *g, const char *name);
const char *ir_pass_name(uint32_t i);
const char *ir_pass_text(uint32_t i);

/* -- Schedules -------------------------------------------------------------------- */

/* What pass_fuse cuts the body into. A group is a set of elementwise nodes of one
** iteration space, run as one kernel; any other item is one node. Items are in an
** order in which they can run: no node passes an effect or an `update` of a storage
** it reads. What is not needed has no item. An old version may still be read after
** its update (two equal values were one node): then the update is not `in_place`, and
** whoever runs it copies. */
typedef struct IrItem {
    bool group;
    bool in_place; /* an update of what this region made and nothing reads later */
    uint32_t nnodes, ninputs, noutputs;
    const IrNode *nodes;    /* in program order; one node unless group */
    const IrValue *inputs;  /* values from outside of the item, first use first */
    const IrValue *outputs; /* values that later items or the return use */
} IrItem;

typedef struct IrSchedule {
    uint32_t nitems;
    const IrItem *items;
} IrSchedule;

/* Schedule of a region (1: the function's body); owned by the graph. */
const IrSchedule *ir_schedule(IrGraph *g, IrRegion region);
char *ir_schedule_print(IrGraph *g); /* items of the body; malloc'ed; NULL: no memory */

/* A group as a function of its own over one run of n elements: parameters are the
** item's inputs, returns its outputs; arrays are dtype[n], scalars ndim 0. There are
** no weak dtypes, and operands are cast to their loop's dtypes. Equal kernels have
** equal texts.
*/
IrGraph *ir_group_extract(const IrGraph *g, const IrItem *item);
/* The same of a group with one output, whose elements are joined. */
typedef struct IrJoin {
    bool
        rows; /* `op`, of two operands, joins each to what is there; else it is a reduction */
    bool wide; /* a sum by the wide tree of runtime/reduce.c: an attribute says so */
    IrOp op;
} IrJoin;
IrGraph *ir_join_extract(const IrGraph *g, const IrItem *item, IrJoin join);
/* A kernel of one result that gives its reduction, too: a copy that returns both. */
IrGraph *ir_kernel_reduced(const IrGraph *kernel, IrJoin join);
