/* plan_rolls.c - groups that read rolled arrays, in boxes in which every operand is a window.
**
**     r = np.roll(x, 1, 0)     row 0 of r is the last row of x, row i is row i - 1
**     y = r + x                two boxes: row 0, and the rows from 1 on
**
** A roll that elementwise nodes alone read is not computed: the groups that read it are cut where
** it jumps, on each axis. All boxes of a group have one kernel graph. Rows that jump only near their ends are
** done from end to end, and read into their neighbours there; these few columns are done once more, each
** in one go.
**
** Law 1: what is rolled is never written in the plan's graph, so it is the same wherever it is read.
** Law 2: rows are done from end to end only where no operand has the memory of a result: what is done once more is not lost.
*/
#include <string.h>

#include "jit/planner.h"

enum {
    BOXES_MAX = 32,
    CUTS_MAX = 8,
    LEAST = 256,    /* elements worth the boxes */
    EDGES_MAX = 8,  /* columns that are done once more */
    EDGE_SHARE = 8, /* and the least part of a row that they are */
    ROWS_LEAST = 16,
};

/* -- Which rolls are taken along --------------------------------------------------- */

/* The memory of the value is some update's, somewhere in the graph. */
static bool
is_written(const Planner *p, IrValue value)
{
    for (IrNode node = 1; node < ir_nnodes(p->g); node++) {
        if (!p->live[node] || ir_node_op(p->g, node) == OP_view)
            continue;
        for (uint32_t i = 0; i < ir_node_nresults(p->g, node); i++) {
            if (jit_plan_shares(p->g, node, i) &&
                p->root[ir_result(p->g, node, i)] == p->root[value])
                return true;
        }
    }
    return false;
}

static bool
has_elements(IrType type)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < type.ndim; d++)
        n *= type.dims[d].value;
    return n >= LEAST;
}

/* NumPy's last bits may depend on where a loop begins. */
static bool
is_position_free(const Planner *p, IrNode node)
{
    bool elementary = ir_op_flags(ir_node_op(p->g, node)) & OPF_elementary;
    IrType type = ir_type(p->g, ir_result(p->g, node, 0));
    return !(elementary && p->trace->numerics == NUMERICS_strict) &&
           ir_dtype_kind(type.dtype) != KIND_complex;
}

void
jit_plan_find_rolls(Planner *p)
{
    uint32_t *reads = NULL;
    for (IrNode node = 1; node < ir_nnodes(p->g) && !p->failed; node++) {
        if (!p->live[node] || ir_node_op(p->g, node) != OP_roll ||
            ir_node_home(p->g, node) != p->region)
            continue;
        if (!reads)
            reads = PyMem_Calloc(ir_nvalues(p->g) + 1, sizeof *reads);
        p->failed |= !reads;
        IrValue from = ir_node_operand(p->g, node, 0);
        p->rolled[node] = has_elements(ir_type(p->g, from)) && !is_written(p, from);
    }
    for (IrNode node = 1; reads && !p->failed && node < ir_nnodes(p->g); node++) {
        bool takes = jit_plan_is_elementwise(p->g, node) && is_position_free(p, node) &&
                     ir_node_home(p->g, node) == p->region;
        for (uint32_t k = 0;
             p->live[node] && takes && k < ir_node_noperands(p->g, node); k++)
            reads[ir_node_operand(p->g, node, k)]++;
    }
    for (IrNode node = ir_nnodes(p->g); reads && !p->failed && node-- > 1;) {
        IrValue value = p->rolled[node] ? ir_result(p->g, node, 0) : 0;
        p->rolled[node] = value && reads[value] && reads[value] == p->readers[value];
        if (p->rolled[node]) /* a roll of a roll */
            reads[ir_node_operand(p->g, node, 0)]++;
    }
    PyMem_Free(reads);
}

bool
jit_plan_reads_rolled(const Planner *p, const Chunk *c)
{
    for (uint32_t i = 0; i < c->ninputs; i++) {
        if (p->rolled[ir_def(p->g, c->inputs[i])])
            return true;
    }
    return false;
}

/* -- Boxes ------------------------------------------------------------------------- */

typedef struct Boxes {
    uint32_t ndim;
    npy_intp shape[NPY_MAXDIMS];
    npy_intp cuts[NPY_MAXDIMS][CUTS_MAX]; /* where boxes begin */
    uint32_t ncuts[NPY_MAXDIMS];
    npy_intp strides[RT_OPERANDS_MAX][NPY_MAXDIMS];
    npy_intp shifts[RT_OPERANDS_MAX][NPY_MAXDIMS];
} Boxes;

/* A cut, in order; false: they are too many. */
static bool
add_cut(Boxes *boxes, uint32_t d, npy_intp at)
{
    npy_intp *cuts = boxes->cuts[d];
    uint32_t place = boxes->ncuts[d];
    for (uint32_t i = 0; i < boxes->ncuts[d]; i++) {
        if (cuts[i] == at)
            return true;
    }
    if (boxes->ncuts[d]++ == CUTS_MAX)
        return false;
    for (; place && cuts[place - 1] > at; place--)
        cuts[place] = cuts[place - 1];
    cuts[place] = at;
    return true;
}

/* Strides and shifts of operand k, which shows `value` with strides `own`. */
static bool
add_operand(Planner *p, Boxes *boxes, uint32_t k, IrValue value, const npy_intp *own)
{
    IrType type = ir_type(p->g, value);
    uint32_t skip = boxes->ndim - type.ndim;
    for (IrNode def = ir_def(p->g, value); p->rolled[def]; def = ir_def(p->g, value)) {
        const IrAttr *by = ir_node_attr(p->g, def, "shifts");
        for (uint32_t d = 0; d < type.ndim; d++)
            boxes->shifts[k][skip + d] += (npy_intp)by->ints[d];
        value = ir_node_operand(p->g, def, 0);
    }
    if (!own)
        own = p->trace->values[value].strides;
    for (uint32_t d = 0; d < type.ndim; d++) {
        npy_intp extent = boxes->shape[skip + d];
        bool broadcast = type.dims[d].value == 1;
        boxes->strides[k][skip + d] = broadcast ? 0 : own[d];
        boxes->shifts[k][skip + d] =
            broadcast ? 0 : boxes->shifts[k][skip + d] % extent;
        if (!add_cut(boxes, skip + d, boxes->shifts[k][skip + d]))
            return false;
    }
    return true;
}

/* What the array is rolled from. */
static IrValue
source_of(const Planner *p, IrValue value)
{
    while (p->rolled[ir_def(p->g, value)])
        value = ir_node_operand(p->g, ir_def(p->g, value), 0);
    return value;
}

static bool
find_boxes(Planner *p, const Chunk *c, Boxes *boxes)
{
    IrType space = ir_type(p->g, ir_result(p->g, c->nodes[0], 0));
    uint32_t count = 1;
    memset(boxes, 0, sizeof *boxes);
    boxes->ndim = space.ndim;
    for (uint32_t d = 0; d < space.ndim; d++) {
        boxes->shape[d] = (npy_intp)space.dims[d].value;
        add_cut(boxes, d, 0);
    }
    for (uint32_t k = 0; k < c->ninputs; k++) {
        if (!add_operand(p, boxes, k, c->inputs[k], NULL))
            return false;
    }
    for (uint32_t k = 0; k < c->noutputs; k++) {
        if (!add_operand(p, boxes, c->ninputs + k, c->outputs[k], c->strides[k]))
            return false;
    }
    for (uint32_t d = 0; d < space.ndim; d++)
        count *= boxes->ncuts[d] <= BOXES_MAX ? boxes->ncuts[d] : BOXES_MAX + 1;
    return count <= BOXES_MAX;
}

/* The slot, or a window on it that begins further on. */
static uint32_t
slot_at(Planner *p, uint32_t slot, npy_intp offset)
{
    if (offset == 0 || p->failed)
        return slot;
    uint32_t window = jit_plan_slot_add(p, RT_SLOT_view);
    if (p->failed)
        return slot;
    p->rt->slots[window].base = slot;
    p->rt->slots[window].offset = offset;
    jit_plan_touch(p, window);
    jit_plan_step_add(p, RT_STEP_view, window, 0);
    return window;
}

/* A part of the space: `shape` elements from `first` on, on each axis. */
typedef struct Box {
    npy_intp first[NPY_MAXDIMS], shape[NPY_MAXDIMS];
    uint32_t ndim; /* of the space, or without its last axis: one column */
    bool runs_on;  /* whole rows, of which operands are read past their ends */
} Box;

/* How far on its axis what is rolled goes on: 0 is the middle. */
static npy_intp
distance(const Boxes *boxes, uint32_t k, uint32_t d)
{
    npy_intp shift = boxes->shifts[k][d], extent = boxes->shape[d];
    return shift > extent / 2 ? shift - extent : shift;
}

/* Bytes from operand k's first element to the box. */
static npy_intp
box_offset(const Boxes *boxes, const Box *box, uint32_t k)
{
    npy_intp offset = 0;
    for (uint32_t d = 0; d < boxes->ndim; d++) {
        npy_intp extent = boxes->shape[d];
        npy_intp at = (box->first[d] - boxes->shifts[k][d] + extent) % extent;
        if (box->runs_on && d + 1 == boxes->ndim)
            at = -distance(boxes, k, d);
        offset += at * boxes->strides[k][d];
    }
    return offset;
}

/* One box as a group. */
static void
box_emit(Planner *p, const Chunk *c, const Boxes *boxes, const Box *box,
         const uint32_t *slots)
{
    uint32_t noperands = c->ninputs + c->noutputs, operands[RT_OPERANDS_MAX];
    npy_intp *strides =
        PyMem_Calloc((size_t)noperands * boxes->ndim + 1, sizeof *strides);
    if (!strides) {
        p->failed = true;
        return;
    }
    for (uint32_t k = 0; k < noperands; k++) {
        memcpy(strides + k * box->ndim, boxes->strides[k], box->ndim * sizeof *strides);
        operands[k] = slot_at(p, slots[k], box_offset(boxes, box, k));
    }
    JitGroupSpec spec = jit_plan_chunk_spec(p, c);
    spec.ndim = box->ndim;
    spec.shape = box->shape;
    spec.strides = strides;
    if (!p->failed)
        jit_plan_group_add(p, c, &spec, operands);
    PyMem_Free(strides);
}

/* Box number `number`; its elements. */
static npy_intp
box_at(const Boxes *boxes, uint32_t number, Box *box)
{
    npy_intp size = 1;
    *box = (Box){.ndim = boxes->ndim};
    for (uint32_t d = boxes->ndim; d-- > 0;) {
        uint32_t n = boxes->ncuts[d], i = number % n;
        npy_intp end = i + 1 < n ? boxes->cuts[d][i + 1] : boxes->shape[d];
        number /= n;
        box->first[d] = boxes->cuts[d][i];
        box->shape[d] = end - box->first[d];
        size *= box->shape[d];
    }
    return size;
}

/* Columns at the beginning and the end of rows where operands jump. */
static void
find_edges(const Boxes *boxes, uint32_t noperands, npy_intp edges[2])
{
    edges[0] = edges[1] = 0;
    for (uint32_t k = 0; k < noperands; k++) {
        npy_intp by = distance(boxes, k, boxes->ndim - 1);
        edges[by < 0] = Py_MAX(edges[by < 0], by < 0 ? -by : by);
    }
}

/* The box with its rows made whole; false: not all that they run into is memory of the operands, or it does not pay. */
static bool
run_on(const Boxes *boxes, uint32_t noperands, Box *box, const npy_intp edges[2])
{
    uint32_t last = boxes->ndim - 1;
    npy_intp rows = 1, columns = edges[0] + edges[1];
    box->first[last] = 0;
    box->shape[last] = boxes->shape[last];
    box->runs_on = true;
    for (uint32_t d = 0; d < last; d++)
        rows *= box->shape[d];
    if (!columns || columns > EDGES_MAX || boxes->shape[last] < columns * EDGE_SHARE ||
        rows < ROWS_LEAST)
        return false;
    for (uint32_t k = 0; k < noperands; k++) {
        const npy_intp *strides = boxes->strides[k];
        npy_intp at = box_offset(boxes, box, k), end = at, size = strides[last];
        bool one = true, packed = size > 0;
        for (uint32_t d = boxes->ndim; d-- > 0;) {
            one &= strides[d] == 0;
            packed &= strides[d] == size;
            size *= boxes->shape[d];
            end += (box->shape[d] - 1) * strides[d];
        }
        if (!one && (!packed || at < 0 || end >= size))
            return false;
    }
    return true;
}

/* Rows as they lie, from end to end, and behind that the columns that were not right, each in one go. */
static void
running_box_emit(Planner *p, const Chunk *c, const Boxes *boxes, const Box *box,
                 const npy_intp edges[2], const uint32_t *slots)
{
    uint32_t last = boxes->ndim - 1;
    Box column = *box;
    box_emit(p, c, boxes, box, slots);
    column.ndim = last;
    column.runs_on = false;
    for (npy_intp i = 0; i < edges[0] + edges[1] && !p->failed; i++) {
        column.first[last] = i < edges[0] ? i : boxes->shape[last] - 1 - i + edges[0];
        box_emit(p, c, boxes, &column, slots);
        p->plan->codes[p->rt->ngroups - 1].part = true;
    }
}

/* True of a group that is written to where it reads: an element of it is done once. */
static bool
is_in_place(const Planner *p, const Chunk *c, const uint32_t *slots)
{
    for (uint32_t k = 0; k < c->noutputs; k++) {
        uint32_t root = jit_plan_root_slot(p, slots[c->ninputs + k]);
        for (uint32_t i = 0; i < c->ninputs; i++) {
            if (jit_plan_root_slot(p, slots[i]) == root)
                return true;
        }
    }
    return false;
}

/* Box number `number`, or with the first of its row of boxes all of them; true if it was anything. */
static bool
box_number_emit(Planner *p, const Chunk *c, const Boxes *boxes, uint32_t number,
                const uint32_t *slots)
{
    uint32_t noperands = c->ninputs + c->noutputs;
    npy_intp edges[2];
    Box box, whole;
    box_at(boxes, number, &box);
    whole = box;
    find_edges(boxes, noperands, edges);
    if (boxes->ndim < 2 || is_in_place(p, c, slots) ||
        !run_on(boxes, noperands, &whole, edges)) {
        box_emit(p, c, boxes, &box, slots);
        return true;
    }
    if (number % boxes->ncuts[boxes->ndim - 1] != 0)
        return false;
    running_box_emit(p, c, boxes, &whole, edges, slots);
    return true;
}

/* The greatest first: it stands for the group where groups are told of. */
static void
boxes_emit(Planner *p, const Chunk *c, const Boxes *boxes, const uint32_t *slots)
{
    uint32_t count = 1, most = 0, columns = boxes->ncuts[boxes->ndim - 1];
    npy_intp greatest = -1;
    Box box;
    for (uint32_t d = 0; d < boxes->ndim; d++)
        count *= boxes->ncuts[d];
    for (uint32_t i = 0; i < count; i++) {
        npy_intp size = box_at(boxes, i, &box);
        if (size > greatest) {
            greatest = size;
            most = i;
        }
    }
    if (!box_number_emit(p, c, boxes, most, slots)) {
        most -= most % columns;
        box_number_emit(p, c, boxes, most, slots);
    }
    for (uint32_t i = 0; i < count && !p->failed; i++) {
        uint32_t before = p->rt->ngroups;
        if (i != most && box_number_emit(p, c, boxes, i, slots) && !p->failed)
            p->plan->codes[before].part = true;
    }
}

/* A window on the slot, where a box goes. */
static uint32_t
box_window(Planner *p, uint32_t slot, npy_intp offset, uint32_t ndim,
           const npy_intp *shape, const npy_intp *strides)
{
    uint32_t window = jit_plan_slot_add(p, RT_SLOT_view);
    JitSlot *info = &p->plan->slots[window];
    npy_intp *rows = p->failed ? NULL : PyMem_Malloc(2 * ndim * sizeof *rows + 1);
    p->failed |= !rows;
    if (p->failed)
        return slot;
    p->rt->slots[window].base = slot;
    p->rt->slots[window].offset = offset;
    info->ndim = (int)ndim;
    info->shape = rows;
    info->strides = rows + ndim;
    memcpy(info->shape, shape, ndim * sizeof *shape);
    memcpy(info->strides, strides, ndim * sizeof *strides);
    jit_plan_touch(p, window);
    jit_plan_step_add(p, RT_STEP_view, window, 0);
    return window;
}

/* A roll that is computed: its boxes copied one by one. False: they are too many. */
bool
jit_plan_roll_emit(Planner *p, IrNode node)
{
    IrValue from = ir_node_operand(p->g, node, 0), to = ir_result(p->g, node, 0);
    const IrAttr *by = ir_node_attr(p->g, node, "shifts");
    const npy_intp *in = p->trace->values[from].strides,
                   *out = p->trace->values[to].strides;
    Box box;
    IrType type = ir_type(p->g, from);
    uint32_t count = 1;
    Boxes *boxes = in && out ? PyMem_Calloc(1, sizeof *boxes) : NULL;
    if (!boxes)
        return false;
    boxes->ndim = type.ndim;
    for (uint32_t d = 0; d < type.ndim; d++) {
        boxes->shape[d] = (npy_intp)type.dims[d].value;
        add_cut(boxes, d, 0);
        add_cut(boxes, d, (npy_intp)by->ints[d]);
        count = count > 8 ? count : count * boxes->ncuts[d];
    }
    bool done = count <= 8;
    uint32_t source = done ? jit_plan_slot_of(p, from) : 0,
             target = done ? jit_plan_slot_of(p, to) : 0;
    if (done)
        jit_plan_make_room(p, target);
    for (uint32_t i = 0; done && i < count && !p->failed; i++) {
        npy_intp there = 0, here = 0;
        box_at(boxes, i, &box);
        for (uint32_t d = 0; d < type.ndim; d++) {
            npy_intp extent = boxes->shape[d];
            there += (box.first[d] - (npy_intp)by->ints[d] + extent) % extent * in[d];
            here += box.first[d] * out[d];
        }
        uint32_t window = box_window(p, target, here, type.ndim, box.shape, out);
        uint32_t part = p->failed ? 0 : slot_at(p, source, there);
        if (!p->failed)
            jit_plan_window_copy(p, from, part, in, window);
    }
    PyMem_Free(boxes);
    return done;
}

/* The rolls themselves, as calls: there would be too many boxes. */
static void
call_rolls(Planner *p, IrValue value)
{
    IrNode node = ir_def(p->g, value);
    if (!p->rolled[node])
        return;
    call_rolls(p, ir_node_operand(p->g, node, 0));
    p->rolled[node] = false;
    if (!jit_plan_roll_emit(p, node))
        jit_plan_site_emit(p, node);
}

bool
jit_plan_rolled_emit(Planner *p, Chunk *c)
{
    Boxes *boxes = PyMem_Malloc(sizeof *boxes);
    uint32_t slots[RT_OPERANDS_MAX];
    if (!boxes) {
        p->failed = true;
        return true;
    }
    bool found = find_boxes(p, c, boxes);
    for (uint32_t k = 0; k < c->ninputs && !found; k++)
        call_rolls(p, c->inputs[k]);
    if (found) {
        for (uint32_t k = 0; k < c->ninputs; k++)
            slots[k] = jit_plan_slot_of(p, source_of(p, c->inputs[k]));
        jit_plan_chunk_outputs(p, c, slots + c->ninputs);
        boxes_emit(p, c, boxes, slots);
        p->plan->nops += c->nnodes;
    }
    PyMem_Free(boxes);
    return found;
}
