/* nest_product.c - products of matrices and vectors in a nest.
**
** Each is a call of NumPy's own loop on memory, with the steps that NumPy would give it: bits are
** those of NumPy, in every mode. Products that take long are left to NumPy, which lets other threads run.
** np.dot of matrices goes another way to the same functions of BLAS; where both ways end in the
** same call it is made, else the loop stays as it is.
*/
#include "trace/nest.h"

enum { LARGE_PRODUCT = 64 * 64 * 64 /* products of two numbers */ };

/* The last two axes of an operand: rows and columns, of which a vector has one. */
typedef struct Matrix {
    NestValue value;
    uint32_t outer;           /* axes in front */
    NestExtent rows, columns; /* of a vector that has none: 1 */
    int64_t axes[2], steps[2];
} Matrix;

/* The array's axis that the view's goes along; -1: none does. */
static void
find_axis(const NestValue *x, uint32_t visible, int64_t *axis, int64_t *step)
{
    *axis = -1;
    *step = 0;
    for (uint32_t a = 0; a < x->view->naxes; a++) {
        if (x->view->axes[a].visible == (int)visible) {
            *axis = a;
            *step = x->view->axes[a].step;
        }
    }
}

/* `row`: a vector is one row, else one column. */
static Matrix
matrix_of(NestMaker *m, const NestValue *x, bool row)
{
    uint32_t ndim = nest_ndim(x);
    NestExtent one = {m->emits ? ir_const_int(m->graph, DT_index, 1) : 0, 1, 1};
    Matrix made = {
        .value = *x, .outer = ndim < 2 ? 0 : ndim - 2, .rows = one, .columns = one};
    int which = row ? 1 : 0;
    made.axes[0] = made.axes[1] = -1;
    if (ndim == 1) {
        find_axis(x, 0, &made.axes[which], &made.steps[which]);
        *(row ? &made.columns : &made.rows) = nest_extents(x)[0];
        return made;
    }
    for (uint32_t i = 0; i < 2; i++)
        find_axis(x, ndim - 2 + i, &made.axes[i], &made.steps[i]);
    made.rows = nest_extents(x)[ndim - 2];
    made.columns = nest_extents(x)[ndim - 1];
    return made;
}

/* An operand: the array and the indices of its first element, behind the axes in front. */
static uint32_t
add_operand(NestMaker *m, const NestValue *x, uint32_t outer, uint32_t ndim,
            const IrValue *k, IrValue *operands)
{
    IrValue own[NEST_INDICES_MAX];
    IrValue zero = m->emits ? ir_const_int(m->graph, DT_index, 0) : 0;
    for (uint32_t d = 0; d < nest_ndim(x); d++) {
        const NestExtent *extent = &nest_extents(x)[d];
        bool one = extent->low == 1 && extent->high == 1;
        own[d] = d < outer && !one ? k[ndim - outer + d] : zero;
    }
    operands[0] = m->arrays[x->array].param;
    nest_address(m, x, own, operands + 1);
    return 1 + x->view->naxes;
}

typedef struct Product {
    Matrix x, y, out;
    NestExtent extents[NEST_INDICES_MAX]; /* of the result */
    uint32_t ndim, outer;
    IrValue k[NEST_INDICES_MAX];
} Product;

static void
multiply(NestMaker *m, Product *p)
{
    const Matrix *const parts[3] = {&p->out, &p->x, &p->y};
    IrValue operands[3 + 3 * (1 + NEST_INDICES_MAX)];
    int64_t axes[6], steps[6];
    uint32_t n = 3;
    operands[0] = p->x.rows.value;
    operands[1] = p->x.columns.value;
    operands[2] = p->y.columns.value;
    for (int i = 0; i < 3; i++) {
        n += add_operand(m, &parts[i]->value, parts[i]->outer, p->outer, p->k,
                         operands + n);
        for (int d = 0; d < 2; d++) {
            axes[2 * i + d] = parts[i]->axes[d];
            steps[2 * i + d] = parts[i]->steps[d];
        }
    }
    if (!m->emits || m->failed)
        return;
    IrAttr attrs[2] = {
        {.key = "axes", .kind = ATTR_ints, .count = 6, .ints = axes},
        {.key = "steps", .kind = ATTR_ints, .count = 6, .ints = steps},
    };
    ir_node_typed(m->graph, OP_run_product, operands, n, attrs, 2, NULL, 0);
}

static void
multiply_axis(NestMaker *m, Product *p, uint32_t axis)
{
    NestLoop loop;
    if (axis == p->outer) {
        multiply(m, p);
        return;
    }
    nest_loop_open(m, &loop, &p->extents[axis], NULL, DT_COUNT);
    p->k[axis] = loop.index;
    multiply_axis(m, p, axis + 1);
    nest_loop_close(m, &loop, 0);
}

/* Of the axes in front: as operators do. */
static void
broadcast_outer(NestMaker *m, Product *p)
{
    const Matrix *const parts[2] = {&p->x, &p->y};
    p->outer = p->x.outer > p->y.outer ? p->x.outer : p->y.outer;
    for (uint32_t d = 0; d < p->outer && !m->failed; d++) {
        bool set = false;
        for (int i = 0; i < 2 && !m->failed; i++) {
            if (d < p->outer - parts[i]->outer)
                continue;
            const NestExtent *own =
                &nest_extents(&parts[i]->value)[d + parts[i]->outer - p->outer];
            bool one = own->low == 1 && own->high == 1;
            if (!set || (p->extents[d].low == 1 && p->extents[d].high == 1))
                p->extents[d] = *own;
            else if (!one)
                nest_same_extent(m, &p->extents[d], own);
            set = true;
        }
    }
}

static bool
is_large(const Product *p)
{
    double n =
        (double)p->x.rows.high * (double)p->x.columns.high * (double)p->y.columns.high;
    return n > LARGE_PRODUCT;
}

/* True if np.dot gives the operand to BLAS as it lies: rows or columns of elements one behind the other. */
static bool
lies_plain(const NestMaker *m, const Matrix *x)
{
    const NestArray *array = &m->arrays[x->value.array];
    int rows = x->axes[1] == array->ndim - 1 ? 0 : 1;
    return array->in_row && x->axes[rows] >= 0 &&
           x->axes[1 - rows] == array->ndim - 1 && x->axes[rows] < x->axes[1 - rows] &&
           x->steps[rows] > 0 && x->steps[1 - rows] == 1;
}

/* np.dot: True if it is the same call as that of np.matmul. */
static bool
dot_is_matmul(const NestMaker *m, const Product *p)
{
    IrKind kind = ir_dtype_kind(p->x.value.dtype);
    const Matrix *const parts[2] = {&p->x, &p->y};
    if (p->outer || nest_ndim(&p->x.value) + nest_ndim(&p->y.value) < 3)
        return !p->outer;
    if (kind != KIND_float && kind != KIND_complex)
        return true;
    for (int i = 0; i < 2; i++) {
        int64_t step = 0;
        if (nest_ndim(&parts[i]->value) == 1)
            nest_run_axis(&parts[i]->value, &step);
        bool good = nest_ndim(&parts[i]->value) == 1
                        ? step > 0 && m->arrays[parts[i]->value.array].in_row
                        : lies_plain(m, parts[i]);
        bool wide = nest_ndim(&parts[i]->value) == 1 ||
                    (parts[i]->rows.low > 1 && parts[i]->columns.low > 1);
        if (!good || !wide)
            return false;
    }
    return true;
}

static NestValue
in_memory(NestMaker *m, const void *key, const NestValue *x)
{
    if (x->kind == NEST_array || m->failed)
        return *x;
    NestValue made = nest_scratch(m, key, x->dtype, nest_ndim(x), nest_extents(x));
    if (!m->failed)
        nest_fill(m, NULL, &made, x, NULL);
    return made;
}

/* The result, in memory of its own; of two vectors a number. */
static NestValue
make(NestMaker *m, const NestTree *at, Product *p)
{
    bool rows = nest_ndim(&p->x.value) > 1, columns = nest_ndim(&p->y.value) > 1;
    NestExtent one = {m->emits ? ir_const_int(m->graph, DT_index, 1) : 0, 1, 1};
    p->ndim = p->outer;
    if (rows)
        p->extents[p->ndim++] = p->x.rows;
    if (columns)
        p->extents[p->ndim++] = p->y.columns;
    bool number = p->ndim == 0;
    if (number)
        p->extents[p->ndim++] = one;
    NestValue out =
        nest_scratch(m, (const char *)at + 3, p->x.value.dtype, p->ndim, p->extents);
    if (m->failed)
        return out;
    p->out = matrix_of(m, &out, !rows);
    if (rows != columns)
        p->out.outer = p->outer;
    if (p->outer && rows != columns) { /* the last axis alone is the matrix */
        int which = rows ? 0 : 1;
        p->out.axes[0] = p->out.axes[1] = -1;
        p->out.steps[0] = p->out.steps[1] = 0;
        find_axis(&out, p->ndim - 1, &p->out.axes[which], &p->out.steps[which]);
    }
    m->arrays[out.array].written = true;
    nest_count_calls(m, 10);
    multiply_axis(m, p, 0);
    if (!number || m->failed)
        return m->failed ? nest_fail(m, NULL) : out;
    NestValue first = nest_const_int(m, 0);
    NestValue place = nest_select_at(m, &out, &first);
    return nest_read(m, &place);
}

NestValue
nest_product(NestMaker *m, const NestTree *at, const NestValue *x, const NestValue *y,
             bool dot)
{
    Product p = {.outer = 0};
    m->rows = true;
    if (m->failed || !nest_is_array(x) || !nest_is_array(y) || nest_mask_of(x) ||
        nest_mask_of(y) || nest_ndim(x) == 0 || nest_ndim(y) == 0 ||
        x->dtype != y->dtype)
        return nest_fail(m, "a product of these");
    if (nest_ndim(x) == 1 && nest_ndim(y) == 1 && ir_dtype_kind(x->dtype) == KIND_float)
        return nest_dot(m, at, x, y, dot);
    NestValue in[2] = {in_memory(m, at, x), in_memory(m, (const char *)at + 1, y)};
    if (m->failed)
        return nest_fail(m, NULL);
    p.x = matrix_of(m, &in[0], true);
    p.y = matrix_of(m, &in[1], false);
    nest_same_extent(m, &p.x.columns, &p.y.rows);
    if (m->failed)
        return nest_fail(m, NULL);
    broadcast_outer(m, &p);
    if (is_large(&p))
        return nest_fail(m, "a large product of matrices");
    if (dot && !dot_is_matmul(m, &p))
        return nest_fail(m, "np.dot of these");
    return m->failed ? nest_fail(m, NULL) : make(m, at, &p);
}
