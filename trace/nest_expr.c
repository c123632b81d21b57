/* nest_expr.c - expressions of a nest. */
#include <string.h>

#include "trace/invoke.h"
#include "trace/nest_lists.h"

uint32_t
nest_reserve(NestMaker *m, uint32_t n)
{
    uint32_t at = m->tape_at;
    if (!m->emits && at + n > m->tape_room) {
        uint32_t room = 2 * (at + n) + 64;
        NestValue *tape = PyMem_Realloc(m->tape, room * sizeof *tape);
        if (!tape) {
            nest_fail(m, "out of memory");
            return 0;
        }
        m->tape = tape;
        m->tape_room = room;
    }
    m->tape_at += n;
    return at;
}

NestValue
nest_tuple(NestMaker *m, NestKind kind, const NestValue *items, uint32_t n)
{
    NestTuple *tuple = nest_take(m, sizeof *tuple + n * sizeof *items);
    if (!tuple || m->failed)
        return nest_fail(m, NULL);
    tuple->n = n;
    memcpy(tuple->items, items, n * sizeof *items);
    NestValue made = nest_of(kind, DT_COUNT, 0);
    made.tuple = tuple;
    return made;
}

/* -- Choices ----------------------------------------------------------------------- */

static IrRegion
open_region(NestMaker *m)
{
    return m->emits && !m->failed ? ir_region_open(m->graph) : 0;
}

typedef NestValue (*Evaluate)(NestMaker *m, const NestTree *tree);

static NestValue
choice(NestMaker *m, const NestValue *condition, const NestTree *yes,
       const NestTree *no, Evaluate evaluate)
{
    const NestTree *const trees[2] = {yes, no};
    NestValue values[2], joined;
    IrRegion regions[2] = {0, 0};
    if (m->failed)
        return nest_fail(m, NULL);
    if (condition->known)
        return evaluate(m, condition->low ? yes : no);
    uint32_t at = nest_reserve(m, 1);
    for (int i = 0; i < 2 && !m->failed; i++) {
        regions[i] = open_region(m);
        values[i] = evaluate(m, trees[i]);
        if (m->failed)
            return values[i];
        if (!m->emits)
            continue;
        IrValue parts[NEST_VALUES_MAX];
        uint32_t n = 0;
        if (nest_has_parts(&m->tape[at]))
            n = nest_parts_as(m, &values[i], &m->tape[at], parts);
        ir_region_yield(m->graph, regions[i], parts, n);
    }
    if (!m->emits) {
        joined = nest_join(m, &values[0], &values[1], false);
        if (m->failed || joined.kind == NEST_conflict || joined.kind == NEST_unbound ||
            (nest_has_parts(&joined) && nest_nparts(&joined) > NEST_VALUES_MAX))
            return nest_fail(m, "a value that is of one kind or another");
        m->tape[at] = joined;
        return joined;
    }
    joined = nest_same_window(&values[0], &values[1]) ? values[0]
                                                      : nest_copy(m, &m->tape[at]);
    if (!m->failed && joined.kind == NEST_conflict)
        nest_fail(m, "a value that is of one kind or another");
    if (m->failed)
        return joined;
    IrNode node =
        ir_control(m->graph, OP_if, &condition->value, 1, regions, 2, NULL, 0);
    for (uint32_t k = 0; nest_has_parts(&joined) && k < nest_nparts(&joined); k++)
        *nest_part_at(&joined, &joined, k) = ir_result(m->graph, node, k);
    return joined;
}

NestValue
nest_choice(NestMaker *m, const NestValue *condition, const NestTree *yes,
            const NestTree *no)
{
    return choice(m, condition, yes, no, nest_expression);
}

NestValue
nest_condition(NestMaker *m, const NestTree *tree)
{
    /* What `and`, `or` and `not` are made of is asked for its truth alone. */
    if (tree->kind == SYNTAX_and || tree->kind == SYNTAX_or) {
        bool all = tree->kind == SYNTAX_and;
        NestTree constant = {.kind = SYNTAX_const,
                             .value = all ? Py_False : Py_True,
                             .line = tree->line};
        NestTree rest = *tree;
        NestValue first = nest_condition(m, tree->parts[0]);
        if (tree->n == 1 || m->failed)
            return first;
        rest.parts = tree->parts + 1;
        rest.n--;
        return all ? choice(m, &first, &rest, &constant, nest_condition)
                   : choice(m, &first, &constant, &rest, nest_condition);
    }
    NestValue value = nest_expression(m, tree);
    return m->failed ? value : nest_truth(m, &value);
}

/* x and y, x or y as values: the last one looked at. */
static NestValue
logic(NestMaker *m, const NestTree *tree)
{
    NestTree rest = *tree;
    NestValue first = nest_expression(m, tree->parts[0]);
    if (tree->n == 1 || m->failed)
        return first;
    NestTree kept = {.kind = SYNTAX_kept, .line = tree->line};
    NestValue truth = nest_truth(m, &first);
    kept.kept = &first;
    rest.parts = tree->parts + 1;
    rest.n--;
    return tree->kind == SYNTAX_and ? nest_choice(m, &truth, &rest, &kept)
                                    : nest_choice(m, &truth, &kept, &rest);
}

/* a < b < c: b is evaluated once, c only if the first holds. */
static NestValue
comparison(NestMaker *m, const NestTree *tree, uint32_t i, const NestValue *left)
{
    NestValue right = nest_expression(m, tree->parts[i + 1]);
    PyObject *name = PyTuple_GET_ITEM(tree->value, i);
    int op = nest_operator(name);
    if (m->failed || op < 0)
        return nest_fail(m, NULL);
    NestValue operands[2] = {*left, right};
    if (nest_is_array(left) || nest_is_array(&right))
        return tree->n == 2
                   ? nest_lazy(m, NEST_operator, op, NULL, DT_COUNT, operands, 2)
                   : nest_fail(m, "a comparison of arrays");
    NestValue truth = nest_compare(m, op, left, &right);
    if (m->failed || i + 2 == tree->n)
        return truth;
    NestTree more = *tree, kept = {.kind = SYNTAX_kept, .line = tree->line};
    NestValue condition = nest_truth(m, &truth);
    more.kind = SYNTAX_rest;
    more.number = (int)i + 1;
    more.kept = &right;
    kept.kept = &truth;
    return nest_choice(m, &condition, &more, &kept);
}

/* True if none of the flags is set. */
static NestValue
unset(NestMaker *m, const NestTree *tree)
{
    NestValue all = nest_const_bool(m, true);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tree->value) && !m->failed; i++) {
        long slot = PyLong_AsLong(PyTuple_GET_ITEM(tree->value, i));
        NestValue flag = m->slots[slot];
        if (flag.kind == NEST_unbound || flag.kind == NEST_conflict)
            return nest_fail(m, "a flag");
        NestValue clear = nest_unary(m, NEST_not, &flag);
        if (clear.known && !clear.low)
            return clear;
        if (!clear.known)
            all = all.known ? clear : nest_binary(m, OPERATOR_and_, &all, &clear);
    }
    return all;
}

/* -- Leaves ------------------------------------------------------------------------ */

static NestValue
constant(NestMaker *m, const NestTree *tree)
{
    PyObject *object = tree->value;
    int overflow = 0;
    if (PyBool_Check(object))
        return nest_const_bool(m, object == Py_True);
    if (PyFloat_Check(object))
        return nest_const_float(m, PyFloat_AS_DOUBLE(object));
    if (PyComplex_Check(object)) {
        Py_complex z = PyComplex_AsCComplex(object);
        NestValue parts[2] = {nest_const_float(m, z.real), nest_const_float(m, z.imag)};
        return nest_pair(NEST_complex, DT_complex128, parts[0].value, parts[1].value);
    }
    if (PyLong_Check(object)) {
        int64_t number = PyLong_AsLongLongAndOverflow(object, &overflow);
        return overflow ? nest_fail(m, "an int of more than 64 bits")
                        : nest_const_int(m, number);
    }
    NestValue made = nest_of(NEST_object, DT_COUNT, 0);
    made.object = object;
    return made;
}

static NestValue
shape_of(NestMaker *m, const NestValue *array)
{
    NestValue items[NEST_INDICES_MAX];
    for (uint32_t d = 0; d < nest_ndim(array); d++)
        items[d] = nest_extent_int(m, &nest_extents(array)[d]);
    return nest_tuple(m, NEST_tuple, items, nest_ndim(array));
}

static NestValue
attribute_of_array(NestMaker *m, const NestValue *array, PyObject *name)
{
    if (nest_mask_of(array))
        return nest_fail(m, "an attribute of a selection");
    if (PyUnicode_CompareWithASCIIString(name, "shape") == 0)
        return shape_of(m, array);
    if (PyUnicode_CompareWithASCIIString(name, "size") == 0) {
        NestValue shape = shape_of(m, array), size = nest_const_int(m, 1);
        for (uint32_t d = 0; d < nest_ndim(array) && !m->failed; d++)
            size = nest_binary(m, OPERATOR_mul, &size, &shape.tuple->items[d]);
        return size;
    }
    if (PyUnicode_CompareWithASCIIString(name, "ndim") == 0)
        return nest_const_int(m, nest_ndim(array));
    if (PyUnicode_CompareWithASCIIString(name, "T") == 0 && array->kind == NEST_array)
        return nest_transposed(m, array);
    return nest_fail(m, "an attribute of an array");
}

static NestValue
attribute(NestMaker *m, const NestTree *tree)
{
    NestValue owner = nest_expression(m, tree->parts[0]);
    if (m->failed)
        return owner;
    if (nest_is_array(&owner))
        return attribute_of_array(m, &owner, tree->value);
    bool real = PyUnicode_CompareWithASCIIString(tree->value, "real") == 0;
    if (nest_is_complex(&owner) &&
        (real || PyUnicode_CompareWithASCIIString(tree->value, "imag") == 0))
        return nest_complex_part(m, &owner, !real);
    if (owner.kind != NEST_object)
        return nest_fail(m, "an attribute of a number");
    PyObject *descriptor = _PyType_Lookup(Py_TYPE(owner.object), tree->value);
    if (descriptor && Py_TYPE(descriptor)->tp_descr_set &&
        Py_TYPE(descriptor) != &PyMemberDescr_Type)
        return nest_fail(m, "an attribute that is code"); /* it runs each time */
    PyObject *key = PyLong_FromVoidPtr((void *)(uintptr_t)tree);
    PyObject *value = key ? PyDict_GetItemWithError(m->read, key) : NULL;
    if (!value && key && !PyErr_Occurred() && !m->emits) {
        value = trace_attribute(m->trace, owner.object, tree->value);
        if (value && PyDict_SetItem(m->read, key, value) < 0)
            Py_CLEAR(value);
        Py_XDECREF(value); /* the dict has it */
    }
    Py_XDECREF(key);
    if (!value) {
        PyErr_Clear();
        return nest_fail(m, "an attribute");
    }
    return nest_input(m, tree, value);
}

static NestValue
named(NestMaker *m, const NestTree *tree)
{
    return nest_named(m, (uint32_t)tree->number);
}

static NestValue
tuple(NestMaker *m, const NestTree *tree)
{
    NestValue items[NEST_PARTS_MAX];
    if (tree->n > NEST_PARTS_MAX)
        return nest_fail(m, "a long tuple");
    for (uint32_t i = 0; i < tree->n && !m->failed; i++)
        items[i] = nest_settled(m, tree->parts[i], nest_expression(m, tree->parts[i]));
    return m->failed ? nest_fail(m, NULL)
                     : nest_tuple(m, tree->kind == SYNTAX_list ? NEST_list : NEST_tuple,
                                  items, tree->n);
}

NestValue
nest_operation(NestMaker *m, const NestTree *at, int op, const NestValue *x,
               const NestValue *y)
{
    NestValue operands[2] = {*x, *y};
    if (op == OPERATOR_matmul)
        return nest_product(m, at, x, y, false);
    if (nest_is_array(x) || nest_is_array(y))
        return nest_lazy(m, NEST_operator, op, NULL, DT_COUNT, operands, 2);
    return nest_binary(m, (OperatorId)op, x, y);
}

static NestValue
operation(NestMaker *m, const NestTree *tree)
{
    bool negates = tree->kind == SYNTAX_unary && tree->op == NEST_not;
    NestValue x = negates ? nest_condition(m, tree->parts[0])
                          : nest_expression(m, tree->parts[0]);
    if (m->failed)
        return x;
    if (tree->kind == SYNTAX_unary)
        return nest_is_array(&x)
                   ? nest_lazy(m, NEST_operator, tree->op, NULL, DT_COUNT, &x, 1)
                   : nest_unary(m, tree->op, &x);
    NestValue y = nest_expression(m, tree->parts[1]);
    return m->failed ? y : nest_operation(m, tree, tree->op, &x, &y);
}

static NestValue
evaluated(NestMaker *m, const NestTree *tree)
{
    NestValue value;
    switch (tree->kind) {
    case SYNTAX_name:
        return named(m, tree);
    case SYNTAX_outer:
        if (tree->number < 0 || (uint32_t)tree->number >= m->nouter)
            return nest_fail(m, "a name from outside");
        return nest_input(m, &m->outer[tree->number], m->outer[tree->number]);
    case SYNTAX_const:
        return constant(m, tree);
    case SYNTAX_binary:
    case SYNTAX_unary:
        return operation(m, tree);
    case SYNTAX_compare:
        value = nest_expression(m, tree->parts[0]);
        return m->failed ? value : comparison(m, tree, 0, &value);
    case SYNTAX_rest:
        return comparison(m, tree, (uint32_t)tree->number, tree->kept);
    case SYNTAX_kept:
        return *tree->kept;
    case SYNTAX_and:
    case SYNTAX_or:
        return logic(m, tree);
    case SYNTAX_choice:
        value = nest_condition(m, tree->parts[0]);
        return nest_choice(m, &value, tree->parts[1], tree->parts[2]);
    case SYNTAX_call:
        return nest_call(m, tree);
    case SYNTAX_attribute:
        return attribute(m, tree);
    case SYNTAX_pop:
        return nest_pop(m, tree);
    case SYNTAX_item:
        value = nest_place(m, tree);
        return m->failed ? value : nest_read(m, &value);
    case SYNTAX_tuple:
    case SYNTAX_list:
        return tuple(m, tree);
    case SYNTAX_unset:
        return unset(m, tree);
    default:
        return nest_fail(m, "this expression");
    }
}

/* Python's steps for the expression itself; NumPy's numbers take it longer. */
static double
steps_of(const NestTree *tree, const NestValue *value)
{
    bool number = value->kind == NEST_scalar || value->kind == NEST_either;
    switch (tree->kind) {
    case SYNTAX_call:
        return 2 + number;
    case SYNTAX_binary:
    case SYNTAX_unary:
    case SYNTAX_compare:
    case SYNTAX_item:
        return 1 + number;
    default:
        return 0;
    }
}

NestValue
nest_expression(NestMaker *m, const NestTree *tree)
{
    if (m->failed || ++m->steps > NEST_STEPS_MAX)
        return nest_fail(m, "too much of it");
    m->line = tree->line;
    NestValue value = evaluated(m, tree);
    m->moved -= m->times * steps_of(tree, &value);
    return value;
}
