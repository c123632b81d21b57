/* nest_list.c - lists that a loop fills and of which arrays are made.
**
** The list is empty where the loop begins, and is read as an array behind it (python/pyasc/_lists.py), so an
** array takes its place. How many items there will be has to be known: each turn of loops whose turns are known
** appends the same.
*/
#include <string.h>

#include "trace/call.h"
#include "trace/nest_lists.h"

enum { ITEMS_BYTES = 1 << 28 };

const NestArray *
nest_list_array(const NestMaker *m, PyObject *list)
{
    for (uint32_t i = 0; i < m->narrays; i++) {
        if (m->arrays[i].list && m->arrays[i].key == list)
            return &m->arrays[i];
    }
    return NULL;
}

/* True if np.array gives the dtype to a list of such numbers, be some Python's and some NumPy's. */
static bool
has_one_dtype(const NestValue *x)
{
    return nest_is_number(x) && nest_has_code(nest_dtype(x)) &&
           (x->kind != NEST_either ||
            (nest_dtype(x) == DT_float64 && !nest_may_be_whole(x)));
}

/* The shape and dtype of an item. False: arrays are not made of such ones; or it is an array in memory, which may
** be written after it has been appended. */
static bool
describe(const NestValue *x, NestArray *like)
{
    *like =
        (NestArray){.ndim = 1, .dtype = nest_dtype(x), .in_row = true, .list = true};
    if (nest_is_number(x))
        return has_one_dtype(x);
    if (nest_has_items(x) && x->tuple->n) {
        const NestValue *items = x->tuple->items;
        like->ndim = 2;
        like->shape[1] = x->tuple->n;
        like->dtype = nest_dtype(&items[0]);
        for (uint32_t i = 0; i < x->tuple->n; i++) {
            if (!has_one_dtype(&items[i]) || nest_dtype(&items[i]) != like->dtype)
                return false;
        }
        return true;
    }
    if (x->kind != NEST_lazy || nest_mask_of(x) || nest_ndim(x) + 1 > NEST_INDICES_MAX)
        return false;
    like->dtype = x->dtype;
    like->ndim = (int)nest_ndim(x) + 1;
    for (uint32_t d = 0; d < nest_ndim(x); d++) {
        if (nest_extents(x)[d].low != nest_extents(x)[d].high)
            return false;
        like->shape[d + 1] = nest_extents(x)[d].low;
    }
    return nest_has_code(like->dtype);
}

/* The number of the array of a list; narrays: there is none, for some reason. Its items may turn out to be of
** another kind than they were in the walks before. */
static uint32_t
find(NestMaker *m, PyObject *list, const NestValue *item)
{
    NestArray like;
    uint32_t at = 0;
    if (!describe(item, &like)) {
        nest_fail(m, "an item of a list that is no number, or of one kind or another");
        return m->narrays;
    }
    while (at < m->narrays && !(m->arrays[at].list && m->arrays[at].key == list))
        at++;
    if (at == m->narrays) {
        if (m->emits || m->narrays == NEST_ARRAYS_MAX) {
            nest_fail(m, "so many arrays");
            return m->narrays;
        }
        m->narrays++;
    }
    NestArray *array = &m->arrays[at];
    if (!m->emits) {
        *array = like;
        array->key = list;
    }
    if (array->ndim != like.ndim || array->dtype != like.dtype ||
        memcmp(array->shape + 1, like.shape + 1,
               (size_t)(like.ndim - 1) * sizeof *like.shape) != 0)
        nest_fail(m, "items of several kinds in a list");
    return at;
}

/* The functions that get the list are NumPy's or `len`, and the type it is made into is `float`. `names`: True if it
** is, then a number for each of the names from outside. */
static bool
goes_to_numpy(const NestMaker *m, PyObject *names)
{
    for (Py_ssize_t i = 2; i < PyTuple_GET_SIZE(names); i++) {
        long at = PyLong_AsLong(PyTuple_GET_ITEM(names, i));
        PyObject *object = at >= 0 && (uint32_t)at < m->nouter ? m->outer[at] : NULL;
        const char *name =
            object && PyModule_Check(object) ? PyModule_GetName(object) : NULL;
        PyErr_Clear();
        if (object != (PyObject *)&PyFloat_Type && !nest_is_builtin(object, "len") &&
            (!name || strcmp(name, "numpy") != 0))
            return false;
    }
    return true;
}

/* Counts the item, in the second walk. False: there would be too many. */
static bool
count_items(NestMaker *m, NestArray *array)
{
    int64_t bytes = (int64_t)ir_dtype_bytes(array->dtype), n;
    if (!m->emits)
        return true;
    n = array->shape[0] + m->turns;
    array->shape[0] = n;
    for (int d = 1; d < array->ndim; d++) {
        if (__builtin_mul_overflow(n, (int64_t)array->shape[d], &n))
            return false;
    }
    return m->turns <= ITEMS_BYTES && n <= ITEMS_BYTES / bytes;
}

void
nest_append(NestMaker *m, const NestTree *tree)
{
    NestValue item = nest_expression(m, tree->parts[0]);
    const NestValue *list = &m->slots[tree->parts[1]->number];
    NestValue *count = &m->slots[tree->parts[2]->number];
    if (m->failed)
        return;
    if (list->kind != NEST_object || !PyList_CheckExact(list->object) ||
        PyList_GET_SIZE(list->object) || count->kind != NEST_int ||
        !goes_to_numpy(m, tree->value)) {
        nest_fail(m, "an append to this");
        return;
    }
    if (m->turns <= 0) { /* it is not known how many items there will be */
        nest_push_own(m, list->object, &item,
                      PyTuple_GET_ITEM(tree->value, 1) == Py_True);
        return;
    }
    uint32_t at = find(m, list->object, &item);
    if (m->failed)
        return;
    NestArray *array = &m->arrays[at];
    if (ir_dtype_kind(array->dtype) == KIND_complex &&
        PyTuple_GET_ITEM(tree->value, 0) == Py_True) {
        nest_fail(
            m,
            "complex numbers of which floats are made"); /* a TypeError for a list alone */
        return;
    }
    array->written = true;
    if (!count_items(m, array)) {
        nest_fail(m, "a list of so many items");
        return;
    }
    NestValue whole = nest_whole(m, at);
    NestValue row =
        m->failed
            ? whole
            : nest_select_row(m, &whole,
                              nest_node(m, OP_to_index, &count->value, 1, DT_COUNT));
    if (!m->failed)
        nest_write(m, tree, &row, &item);
    IrValue sum[2] = {count->value, nest_int_value(m, 1)};
    *count = nest_int(nest_node(m, OP_add, sum, 2, DT_COUNT), 0, INT64_MAX);
}

int
nest_lists_make(NestMaker *m)
{
    PyObject *numpy = NULL, *empty = NULL;
    for (uint32_t i = 0; i < m->narrays; i++) {
        NestArray *array = &m->arrays[i];
        if (array->listed && !array->object) {
            PyObject *made = nest_listed_make(m, array);
            if (!made || PyList_Append(m->held, made) < 0) {
                Py_XDECREF(made);
                Py_XDECREF(empty);
                return -1;
            }
            array->object = made;
            Py_DECREF(made);
        }
        if (!array->list || array->object)
            continue;
        if (!empty) {
            numpy = PyImport_ImportModule("numpy");
            empty = numpy ? PyObject_GetAttrString(numpy, "empty") : NULL;
            Py_XDECREF(numpy);
        }
        PyObject *args[2] = {
            PyTuple_New(array->ndim),
            (PyObject *)PyArray_DescrFromType(ir_dtype_numpy_char(array->dtype))};
        for (int d = 0; args[0] && d < array->ndim; d++)
            PyTuple_SET_ITEM(args[0], d, PyLong_FromSsize_t(array->shape[d]));
        PyObject *made = empty && args[0] && args[1]
                             ? trace_call(m->trace, empty, args, 2, NULL, 0)
                             : NULL;
        Py_XDECREF(args[0]);
        Py_XDECREF(args[1]);
        if (!made || PyList_Append(m->held, made) < 0) {
            Py_XDECREF(made);
            Py_XDECREF(empty);
            return -1;
        }
        array->object = made;
        Py_DECREF(made); /* the list has it */
    }
    Py_XDECREF(empty);
    return 0;
}
