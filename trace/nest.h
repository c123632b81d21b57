/* nest.h - shared by the files that make loops into nests: nest*.c.
**
** A nest is a loop whose body works on elements and numbers. It is compiled from its syntax
** (python/pyasc/_nests.py), with the types that its names have where the call is, and never
** runs under the tracer:
**
**   description ─► nest_syntax.c ─► tree ─► nest_block.c, nest_expr.c, … : types until they are
**                                       settled, then the same walk again for the graph
**                ─► graph with regions ─► jit: a callable ─► nest.c: one recorded call
*/
#pragma once

#include "trace/elementwise.h"

enum {
    NEST_SLOTS_MAX = 256,
    NEST_ARRAYS_MAX = 30, /* a mask of 32 bits says which are written */
    NEST_INPUTS_MAX = 64,
    NEST_INDICES_MAX = 6,
    NEST_PARTS_MAX = 16,
    NEST_NUMBER_PARTS = 3, /* value, imag, tag */
    NEST_VALUES_MAX = 768, /* parts of all names that a region gives */
    NEST_STEPS_MAX = 20000,
    NEST_TURNS_COUNTED = 10000, /* of a loop, where its work is counted */
};

/* -- Syntax ------------------------------------------------------------------------ */

typedef enum NestSyntax {
#define SYNTAX(name) SYNTAX_##name,
#include "trace/nest_syntax.def"
#undef SYNTAX
    SYNTAX_COUNT
} NestSyntax;

typedef struct NestTree {
    NestSyntax kind;
    int line;
    PyObject *value; /* borrowed from the description */
    int number;      /* the value, where that is an int */
    int op;          /* an operator's OperatorId, or NEST_* */
    uint32_t n;
    struct NestTree **parts; /* NULL where there is none */
    uint8_t *assigned;       /* statements: 1 for each slot they assign */
    const struct NestValue *kept;
} NestTree;

/* Operators that OperatorId has not. */
enum { NEST_not = OPERATOR_COUNT, NEST_is, NEST_is_not };

typedef struct NestArena NestArena;
/* The tree of a description; NULL without an exception: it is none. */
NestTree *nest_tree(PyObject *description, uint32_t nslots, NestArena **arena);
NestTree *nest_tree_more(NestArena *arena, PyObject *description, uint32_t nslots);
void nest_tree_free(NestArena *arena);
/* OperatorId or NEST_*; -1: no such operator. */
int nest_operator(PyObject *name);

/* -- Types ------------------------------------------------------------------------- */

typedef enum NestKind {
    NEST_unbound,
    NEST_conflict, /* bound, but to what depends on the way; not to be read */
    NEST_bool,     /* Python's */
    NEST_int,
    NEST_float,
    NEST_complex,
    NEST_scalar, /* NumPy's, of `dtype` */
    NEST_either, /* NumPy's of `dtype`, or a Python number of exactly that value */
    NEST_array,  /* memory, through a view */
    NEST_lazy,   /* elements that are computed where they are used */
    NEST_listed, /* a list that is read only, or one in it: memory, as an array's */
    NEST_row,    /* a list in a list that the loop changes; value: which */
    NEST_slot,   /* an item of a list as a place; value: which of all */
    NEST_tuple,
    NEST_list,   /* the same, without a name: it would be one that can be changed */
    NEST_object, /* a constant: None, a function, a module */
    NEST_range,
    NEST_zip,
    NEST_enumerate,
} NestKind;

struct NestTuple;
struct NestView;
struct NestLazy;

typedef struct NestValue {
    NestKind kind;
    IrDtype dtype; /* of scalars, of elements */
    IrValue value; /* numbers: in the graph, or 0 while types are found */
    IrValue imag;  /* complex numbers are two: value is the real part */
    IrValue tag;   /* either: a TraceNestTag */
    bool
        known; /* bools: always `low`; either: it is no int; conflict: unbound on a way */
    bool maybe; /* numbers of a slot: unbound unless `bound`, a bool */
    IrValue bound;
    int64_t low, high; /* ints: bounds */
    bool constant;     /* floats: always `number` */
    double number;
    IrValue root; /* ints: value is root + more, if it is not 0 */
    int64_t more;
    uint32_t array; /* arrays: number of the parameter */
    const struct NestView *view;
    const struct NestLazy *lazy;
    PyObject *object;              /* objects; borrowed, alive while the nest is made */
    const struct NestTuple *tuple; /* tuples, ranges, zips */
} NestValue;

typedef struct NestTuple {
    uint32_t n;
    NestValue items[];
} NestTuple;

/* How many there are on an axis. */
typedef struct NestExtent {
    IrValue value; /* an index */
    int64_t low, high;
} NestExtent;

/* An axis of an array as a view has it: start + step * k, k counting on the view's axis. */
typedef struct NestAxis {
    IrValue start, root; /* indices; start = root + more, of which root 0 is nothing */
    int64_t more;
    int visible; /* the view's axis, or -1: start alone */
    int64_t step;
} NestAxis;

typedef struct NestView {
    bool whole; /* of an array as it came */
    uint32_t naxes, ndim;
    NestAxis axes[NEST_INDICES_MAX];
    NestExtent extents[NEST_INDICES_MAX];
} NestView;

typedef enum NestMake {
    NEST_operator, /* number: OperatorId, or NEST_not */
    NEST_ufunc_,   /* object */
    NEST_select,
    NEST_astype, /* to dtype */
    NEST_gather, /* x[i] of a vector x and integers i */
    NEST_masked, /* x[mask], in the space of x: see nest_mask.c */
} NestMake;

typedef struct NestLazy {
    NestMake make;
    int number;
    PyObject *object;
    uint32_t n, ndim, stores; /* of the maker, when it was made */
    struct NestValue operands[3];
    NestExtent extents[NEST_INDICES_MAX];
    const struct NestValue *mask; /* which of the elements there are, or NULL: all */
} NestLazy;

/* -- A nest being made ------------------------------------------------------------- */

typedef struct NestArray {
    PyObject *object; /* the tracer; borrowed */
    int ndim;
    npy_intp shape[NPY_MAXDIMS];
    IrDtype dtype;
    IrValue param;
    bool written;
    bool in_row; /* its elements lie one behind the other */
    bool
        swapped; /* its axes do not lie in the order of C; scratch: nor may those of NumPy's array that it stands for */
    const NestView *whole;
    const void *key; /* scratch: whose; it has no object. Lists: these */
    bool own;        /* nothing but one name of the loop has it */
    bool kept;       /* it is written at the end of turns: nest_swap.c */
    bool list; /* items of the list that is the key; the object is made for the call */
    bool listed;    /* so are those of one that is only read, */
    NestValue item; /* of this type */
} NestArray;

/* A number that comes from outside. */
typedef struct NestInput {
    const void *key;  /* whose it is: a place in the tree, or a slot */
    PyObject *object; /* a tracer or a number; held by the maker */
    NestValue value;
} NestInput;

typedef enum NestKept {
    KEPT_not,
    KEPT_own,  /* the array that the name had before is no one else's */
    KEPT_copy, /* it is: this one is a copy of it */
} NestKept;

typedef struct NestMaker {
    Trace *trace;
    IrGraph *graph;
    NestArena *arena;
    bool emits; /* the second walk */
    bool failed;
    const char *reason; /* why, where that is known */
    int line;           /* of what it is at */
    bool asks;          /* a result has to be the same the next time */
    bool checks;        /* something may turn out not to hold: the nest may fail */
    bool strict;
    bool run; /* a function of numbers: outside of its loops no array is worked on */
    uint32_t nslots, narrays;
    int returned;   /* slot of the value that is returned, which a flag guards; or -1 */
    uint32_t depth; /* of calls */
    uint32_t maybe; /* ifs and whiles around: what is in them may not be done at all */
    bool renewed[NEST_SLOTS_MAX]; /* names that have another array after each turn */
    uint8_t kept[NEST_SLOTS_MAX]; /* NestKept: of these, as if they had the same */
    bool missed[NEST_SLOTS_MAX];  /* names that are read where they may be unbound */
    bool misses;                  /* the walk found another */
    uint32_t nchanged;            /* may be more */
    PyObject *changed[TRACE_NEST_SOURCES];    /* lists that the loop changes */
    uint32_t nfilled;                         /* may be more */
    PyObject *filled_own[TRACE_NEST_SOURCES]; /* lists of the function's own */
    NestValue slots[NEST_SLOTS_MAX];
    NestArray arrays[NEST_ARRAYS_MAX];
    uint32_t ninputs;
    NestInput inputs[NEST_INPUTS_MAX];
    PyObject *const *outer; /* values of the names from outside */
    uint32_t nouter;
    PyObject *sources[TRACE_NEST_SOURCES]; /* generators of random numbers */
    TraceNestDraw draws[TRACE_NEST_DRAWS];
    uint32_t nsources, ndraws, nreads;
    struct {
        PyObject *list;
        NestValue type;          /* of all its items */
        bool guessed;            /* it was empty */
        bool rows;               /* it is one of lists */
        bool small;              /* ints in it are no more than -256 … 256 */
        bool put;                /* it has other items behind the loop */
    } reads[TRACE_NEST_SOURCES]; /* lists that are filled, and read */
    PyObject *held;              /* list: objects that values point to */
    struct NestInline *inlines;
    PyObject *read; /* dict: place in the tree -> what an attribute was there */
    /* What the first walk has settled, in the order of the walk. */
    NestValue *tape;
    uint32_t tape_at, tape_n, tape_room;
    uint32_t steps;           /* of the walk: they are bounded */
    uint32_t stores;          /* of the program into arrays, so far */
    uint32_t gone_over;       /* arrays, as a mask, that loops around go over */
    uint32_t lists_gone_over; /* the same of sources */
    int64_t turns;            /* of what it is in, exactly; 0: that is not known */
    bool inexact;             /* elementary functions have bits of pyasc's own */
    bool rows;                /* arrays are worked on, not numbers alone */
    double moved;             /* steps that lists cost, which Python has as they are */
    double work,
        times; /* Python's steps that the loop may take; turns of what it is in */
    double expected,
        likely; /* the same as it is to be expected at least, with large arrays */
} NestMaker;

/* Loops over calls of NumPy have the turns that they may have: `while` goes on until something has converged. */
static inline void
nest_count_calls(NestMaker *m, double steps)
{
    m->work += m->times * steps;
    m->expected += m->times * steps;
}

/* Always false or a value of kind unbound: the nest cannot be made. */
NestValue nest_fail(NestMaker *m, const char *reason);
void *nest_take(NestMaker *m, size_t bytes);

/* -- nest_value.c ------------------------------------------------------------------ */
IrDtype nest_dtype(const NestValue *x); /* in the graph; DT_COUNT: it is no number */
bool nest_is_number(const NestValue *x);
NestValue nest_const_int(NestMaker *m, int64_t number);
NestValue nest_const_float(NestMaker *m, double number);
NestValue nest_const_bool(NestMaker *m, bool truth);
NestValue nest_int(IrValue value, int64_t low, int64_t high);
NestValue nest_of(NestKind kind, IrDtype dtype, IrValue value);
/* Behind a loop: what was counted in it is not above what counting comes to. */
void nest_counted(NestValue *x);
/* A bound of ints that is by chance what counting is said never to come to: another. `before`: a turn earlier. */
void nest_uncounted(NestValue *x, const NestValue *before);
/* The type of what is x on one way and y on the other; `widen`: bounds that grow are given up. */
NestValue nest_join(NestMaker *m, const NestValue *x, const NestValue *y, bool widen);
bool nest_same(const NestValue *x, const NestValue *y);
/* True if the number has its very value in the dtype, whatever it is. */
bool nest_is_exact(const NestValue *x, IrDtype dtype);
/* The number as a value of another type that it was joined to. */
IrValue nest_as(NestMaker *m, const NestValue *x, const NestValue *type);
IrValue nest_cast(NestMaker *m, IrValue value, IrDtype dtype);
/* A node of one result of a dtype given or inferred (DT_COUNT). 0 while types are found. */
IrValue nest_node(NestMaker *m, IrOp op, const IrValue *operands, uint32_t n,
                  IrDtype dtype);
/* Leaves the nest unless the condition holds; `may_fail` is noted. */
void nest_check(NestMaker *m, IrValue condition);
NestValue nest_truth(NestMaker *m, const NestValue *x); /* as in a condition */
IrValue nest_index(NestMaker *m, const NestValue *x);   /* an int as an index */
NestValue nest_from_index(NestMaker *m, IrValue index, int64_t low, int64_t high);

/* -- nest_parts.c ------------------------------------------------------------------- */
bool nest_has_items(const NestValue *x); /* a tuple or a list */
/* A number, or a tuple of such (and of objects and whole arrays, which have none): regions carry it. */
bool nest_has_parts(const NestValue *x);
/* nest_as of all parts: a number's value, two if it is complex, and a tag; those of a tuple's items. How many. */
uint32_t nest_parts_as(NestMaker *m, const NestValue *x, const NestValue *type,
                       IrValue *parts);
/* The same of a number without its tag. */
uint32_t nest_value_as(NestMaker *m, const NestValue *x, const NestValue *type,
                       IrValue *parts);
uint32_t nest_nparts(const NestValue *type);
/* The dtype of the value, or of a complex number's parts. */
IrDtype nest_part_dtype(const NestValue *type);
IrDtype nest_dtype_of_part(const NestValue *type, uint32_t part);
/* Where part i is, as the type counts them; the value is a copy that is no one else's. */
IrValue *nest_part_at(NestValue *x, const NestValue *type, uint32_t part);
/* What the first walk has settled, as the second has it; conflict of a window, which is where it was made. */
NestValue nest_copy(NestMaker *m, const NestValue *x);
bool nest_same_window(const NestValue *x,
                      const NestValue *y); /* from before two ways */
/* Parts of a value of another type, for a copy; tuples have as many items. */
void nest_parts_take(NestMaker *m, NestValue *x, const NestValue *other);

/* -- nest_python.c ----------------------------------------------------------------- */
bool nest_is_whole(const NestValue *x); /* Python's int or bool */
NestValue nest_as_int(NestMaker *m, const NestValue *x);
NestValue nest_to_int(NestMaker *m, const NestValue *x);
NestValue nest_to_float(NestMaker *m, const NestValue *x);
NestValue nest_int_binary(NestMaker *m, OperatorId id, const NestValue *a,
                          const NestValue *b);
NestValue nest_float_binary(NestMaker *m, OperatorId id, const NestValue *a,
                            const NestValue *b);
NestValue nest_int_sum(NestMaker *m, IrOp op, const NestValue *x, const NestValue *y);
/* The op on int64; exact: it cannot overflow, else that leaves the nest. */
IrValue nest_int_node(NestMaker *m, IrOp op, const NestValue *x, const NestValue *y,
                      bool exact);
IrValue nest_int_value(NestMaker *m, int64_t number);
IrValue nest_compared(NestMaker *m, IrOp op, IrValue x, IrValue y);
void nest_check_bounds(NestMaker *m, const NestValue *x, int64_t low, int64_t high);
/* A double holds the number. */
void nest_check_exact(NestMaker *m, const NestValue *x);
void nest_check_not_zero(NestMaker *m, const NestValue *x);
/* The int, which has to be within the bounds. */
NestValue nest_bounded(NestMaker *m, const NestValue *x, int64_t low, int64_t high);
/* A call of a function of C's library. */
IrValue nest_call_library(NestMaker *m, const char *name, const IrValue *operands,
                          uint32_t n, IrDtype dtype);
/* The same on floats, as Python's math module has it. */
NestValue nest_library(NestMaker *m, const char *name, const NestValue *operands,
                       uint32_t n);

/* -- nest_either.c ----------------------------------------------------------------- */
/* Tags: of two numbers that meet in an operator the larger one tells what comes out. */
/* Of any number: constant but for `either`. */
IrValue nest_tag(NestMaker *m, const NestValue *x);
IrValue nest_tag_larger(NestMaker *m, const NestValue *x, const NestValue *y,
                        TraceNestTag least);
/* True where a tag is below another. */
IrValue nest_tag_below(NestMaker *m, IrValue tag, TraceNestTag bound);
bool nest_may_be_whole(const NestValue *x);
NestValue nest_either(NestMaker *m, IrDtype dtype, IrValue value, IrValue tag);
NestValue nest_either_binary(NestMaker *m, OperatorId id, const NestValue *x,
                             const NestValue *y);
NestValue nest_either_unary(NestMaker *m, int op, const NestValue *x);
NestValue nest_either_compare(NestMaker *m, IrOp op, const NestValue *x,
                              const NestValue *y);
/* The truth of a comparison, which is a bool of Python's or NumPy's. */
NestValue nest_either_truth(NestMaker *m, const NestValue *x, const NestValue *y,
                            IrValue truth);

/* -- nest_number.c ----------------------------------------------------------------- */
NestValue nest_binary(NestMaker *m, OperatorId id, const NestValue *x,
                      const NestValue *y);
NestValue nest_unary(NestMaker *m, int op, const NestValue *x);
NestValue nest_compare(NestMaker *m, int op, const NestValue *x, const NestValue *y);
/* A ufunc on numbers, as when it is called by name; on elements of arrays. */
NestValue nest_ufunc(NestMaker *m, PyObject *ufunc, const NestValue *operands,
                     uint32_t n, bool array);

/* The loop of a ufunc or operator, the same whatever operands that are Python's or NumPy's are. */
typedef struct NestUfunc {
    IrOp op;
    IrDtype in[OPERANDS_MAX], out;
} NestUfunc;
bool nest_resolve(NestMaker *m, OperatorId id, const NestValue *operands, uint32_t n,
                  NestUfunc *loop);

/* -- nest_function.c ---------------------------------------------------------------- */
/* A loop of complex numbers: for a number when it is called by name, or for elements of arrays. */
NestValue nest_complex_function(NestMaker *m, const NestUfunc *loop,
                                const NestValue *operands, uint32_t n, bool array);
/* A call of NumPy's loop for operands of one dtype. */
NestValue nest_numpy_loop(NestMaker *m, IrOp op, IrDtype dtype,
                          const NestValue *operands, uint32_t n);
bool nest_is_numpys(IrOp op); /* library.def has it */
bool nest_is_one_complex(const NestValue *place);
/* An operator as NumPy's loop makes it of elements of arrays; complex numbers are among them. */
NestValue nest_complex_operator(NestMaker *m, OperatorId id, const NestValue *operands,
                                uint32_t n);

/* -- nest_complex.c ---------------------------------------------------------------- */
bool nest_is_complex(const NestValue *x);
NestValue nest_pair(NestKind kind, IrDtype dtype, IrValue real, IrValue imag);
NestValue nest_complex_binary(NestMaker *m, OperatorId id, const NestValue *x,
                              const NestValue *y);
NestValue nest_complex_unary(NestMaker *m, int op, const NestValue *x);
NestValue nest_complex_equal(NestMaker *m, int op, const NestValue *x,
                             const NestValue *y);
/* A part as a number of its own: Python's float, or NumPy's. */
NestValue nest_complex_part(NestMaker *m, const NestValue *x, bool imag);

/* -- nest_expr.c ------------------------------------------------------------------- */
NestValue nest_expression(NestMaker *m, const NestTree *tree);
NestValue nest_condition(NestMaker *m, const NestTree *tree); /* a bool */
/* A value of two ways: each of the trees is evaluated on its own. */
NestValue nest_choice(NestMaker *m, const NestValue *condition, const NestTree *yes,
                      const NestTree *no);
/* Room on the tape for n types, which the first walk writes and the second reads. */
uint32_t nest_reserve(NestMaker *m, uint32_t n);
/* An operator of two operands, arrays among them or not; OperatorId. */
NestValue nest_operation(NestMaker *m, const NestTree *at, int op, const NestValue *x,
                         const NestValue *y);
NestValue nest_tuple(NestMaker *m, NestKind kind, const NestValue *items, uint32_t n);

/* -- nest_input.c ------------------------------------------------------------------ */
/* An object from outside; `key` says whose it is, so that both walks find the same. */
NestValue nest_input(NestMaker *m, const void *key, PyObject *object);
/* The type of a number from outside; kind unbound: it is none. */
NestValue nest_number_type(const NestMaker *m, PyObject *object);
bool nest_has_code(IrDtype dtype); /* arrays of it have */

/* -- nest_view.c ------------------------------------------------------------------- */
NestValue nest_whole(NestMaker *m, uint32_t array);
bool nest_is_array(const NestValue *x); /* or lazy */
uint32_t nest_ndim(const NestValue *x);
const NestExtent *nest_extents(const NestValue *x);
/* What the key selects. */
NestValue nest_select_key(NestMaker *m, const NestValue *array, const NestTree *key);
/* The view's first axis at an index, which may have to be checked. */
NestValue nest_select_at(NestMaker *m, const NestValue *array, const NestValue *index);
NestValue nest_select_row(NestMaker *m, const NestValue *array,
                          IrValue index); /* in range */
NestValue nest_reversed(NestMaker *m, const NestValue *array, uint32_t axis);
NestValue nest_transposed(NestMaker *m, const NestValue *array);
NestValue nest_extent_int(NestMaker *m, const NestExtent *extent);
/* Indices of the element k[0], k[1], … of the view, one for each axis of the array. */
void nest_address(NestMaker *m, const NestValue *array, const IrValue *k,
                  IrValue *indices);

/* -- nest_item.c ------------------------------------------------------------------- */
/* What a subscript names; elements are not read yet. */
NestValue nest_place(NestMaker *m, const NestTree *item);
/* The element whose indices are operands 1 …; operand 0 is the array. */
NestValue nest_load(NestMaker *m, const NestArray *array, const IrValue *operands,
                    uint32_t naxes);
/* What is there: an element as a number, all else as it is. */
NestValue nest_read(NestMaker *m, const NestValue *place);
void nest_write(NestMaker *m, const NestTree *at, const NestValue *place,
                const NestValue *value);
void nest_assign(NestMaker *m, const NestTree *target, const NestValue *value);
/* Item i of a tuple, or of a short row. */
NestValue nest_part(NestMaker *m, const NestValue *value, uint32_t i, uint32_t n);
/* The number as an array of the dtype has it. */
IrValue nest_stored(NestMaker *m, const NestValue *x, IrDtype dtype);
void nest_write_element(NestMaker *m, const NestValue *array, const IrValue *indices,
                        const NestValue *value);

/* -- nest_array.c ------------------------------------------------------------------ */
NestValue nest_lazy(NestMaker *m, NestMake make, int number, PyObject *object,
                    IrDtype dtype, const NestValue *operands, uint32_t n);
/* One element, of a number the number itself. */
NestValue nest_element(NestMaker *m, const NestValue *x, uint32_t ndim,
                       const IrValue *k);
/* The value in memory of its own, for the place in the tree. */
NestValue nest_materialized(NestMaker *m, const NestTree *at, const NestValue *x);
/* The same where it is not in memory. */
NestValue nest_settled(NestMaker *m, const NestTree *at, NestValue x);
/* Memory without values. */
NestValue nest_scratch(NestMaker *m, const void *key, IrDtype dtype, uint32_t ndim,
                       const NestExtent *extents);
/* All elements of the place, those of the value, which are as many and lie elsewhere. */
void nest_fill_all(NestMaker *m, const NestValue *place, const NestValue *value);
/* place[…] = value, element by element; mask: where it is true, or NULL. */
void nest_fill(NestMaker *m, const NestTree *at, const NestValue *place,
               const NestValue *value, const NestValue *mask);
/* A loop over `extent`: the index in it; closed by nest_loop_close. */
typedef struct NestLoop {
    IrRegion region;
    IrValue index, operands[2];
    bool carries;
} NestLoop;
IrValue nest_loop_open(NestMaker *m, NestLoop *loop, const NestExtent *extent,
                       IrValue *carried, IrDtype dtype);
IrValue nest_loop_close(NestMaker *m, NestLoop *loop, IrValue carried);

/* Extents have to be equal: known, or checked. */
void nest_same_extent(NestMaker *m, NestExtent *x, const NestExtent *y);
/* True if both are the same elements in the same places. */
bool nest_same_place(const NestValue *x, const NestValue *y);

/* -- nest_mask.c ------------------------------------------------------------------- */
/* x[index] of an array of integers or bools. */
NestValue nest_selected(NestMaker *m, const NestValue *x, const NestValue *index);
/* The mask that says which elements there are, or NULL. */
void nest_be_fresh(NestMaker *m, const NestValue *x);
const NestValue *nest_mask_of(const NestValue *x);
/* The mask of all operands that are arrays; false: they have several. */
bool nest_mask_common(const NestValue *operands, uint32_t n, const NestValue **mask);
/* x[index] = value, of integers: x[index] is the place. */
void nest_scatter(NestMaker *m, const NestTree *at, const NestValue *place,
                  const NestValue *value);
/* The elements that there are, in a row in memory of their own. */
NestValue nest_compressed(NestMaker *m, const NestTree *at, const NestValue *x);

/* -- nest_reduce.c ----------------------------------------------------------------- */
/* A reduction by its name; kind unbound without failure: it is none. */
NestValue nest_reduction(NestMaker *m, const NestTree *at, const char *name,
                         const NestValue *x);
/* The axis of the array that the vector goes along, and its step there. */
int64_t nest_run_axis(const NestValue *vector, int64_t *step);
/* Operands of a run: the array and the indices of its first element. How many. */
uint32_t nest_run_operands(NestMaker *m, const NestValue *vector, IrValue *operands);
NestValue nest_dot(NestMaker *m, const NestTree *at, const NestValue *x,
                   const NestValue *y, bool copies);

/* -- nest_product.c ----------------------------------------------------------------- */
/* x @ y, or np.dot(x, y). */
NestValue nest_product(NestMaker *m, const NestTree *at, const NestValue *x,
                       const NestValue *y, bool dot);

/* -- nest_call.c ------------------------------------------------------------------- */
NestValue nest_call(NestMaker *m, const NestTree *tree);
bool nest_is_builtin(PyObject *callable, const char *name);

/* -- nest_inline.c ----------------------------------------------------------------- */
/* A call of a Python function, whose body becomes part of the nest. */
NestValue nest_inline(NestMaker *m, const NestTree *at, PyObject *function,
                      const NestValue *args, uint32_t n);

/* -- nest_result.c ----------------------------------------------------------------- */
/* The value of a name where it is read: one that may be unbound is, or the nest is left. */
NestValue nest_named(NestMaker *m, uint32_t s);
/* True if the value can be told behind the nest. */
bool nest_may_leave(const NestMaker *m, const NestValue *x);
void nest_describe_number(const NestValue *value, TraceNestNumber *number);
/* The value's numbers as results; their parts among what the graph returns from `n` on. */
uint32_t nest_results_add(TraceNest *nest, const NestValue *x, IrValue *returns,
                          uint32_t n);
/* The value behind the nest, of whose numbers *at is the next; new reference. */
PyObject *nest_object_after(const NestMaker *m, const NestValue *x, PyObject *numbers,
                            Py_ssize_t *at);

/* -- nest.c ------------------------------------------------------------------------ */
/* What the hook `nest` does; the names behind the loop, or None. */
PyObject *trace_nest(Trace *trace, PyObject *const *args);

/* -- plain.c ----------------------------------------------------------------------- */
/* A list of the real values of a loop's names, or None: they are of a kind that needs the hooks. */
PyObject *trace_nest_plain(Trace *trace, PyObject *values);
PyObject *trace_hook_over(PyObject *module, PyObject *asked);
PyObject *trace_hook_bare(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *trace_hook_rest(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* -- nest_probe.c ------------------------------------------------------------------ */
/* The trace ends at a loop that waits for its code: it, and loops in it, are not looked at again. */
void trace_nest_seen(Trace *trace, PyObject *description);
/* True where a run of this call has had the next effect, and not by a nest of that line: it is answered where it was had. */
bool trace_nest_had_other(const Trace *trace, int line);
/* Asks for the code of a loop behind it: the hook's arguments. -1: what is no error, as Ctrl-C, came in between. */
int trace_nest_probe(Trace *trace, PyObject *const *args);

/* -- nest_items.c ------------------------------------------------------------------ */
/* How many turns a loop over it has, as an index; bounds of that in `turns`. */
IrValue nest_items_count(NestMaker *m, const NestValue *items, int64_t *turns);
/* What a turn gets. */
NestValue nest_items_at(NestMaker *m, const NestValue *items, IrValue turn,
                        const int64_t *turns);

/* -- nest_block.c ------------------------------------------------------------------ */
void nest_block(NestMaker *m, const NestTree *tree);
