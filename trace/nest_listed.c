/* nest_listed.c - lists that a loop only reads, and lists of lists: arrays of Python's numbers.
**
** Nothing but an item, the length and a loop over it is known of such a list: what operators make of a list is not what they
** make of an array. Its numbers are of one type; the array is made before the loop, by a call of numpy.array.
*/
#include "trace/nest_lists.h"

enum { LISTED_MAX = 1 << 20, DEPTH_MAX = 4 };

typedef struct Listed {
    int ndim;
    npy_intp shape[NEST_INDICES_MAX], n;
    NestValue type; /* of the items; unbound: there is none so far */
} Listed;

static bool
is_sequence(PyObject *object)
{
    return PyList_CheckExact(object) || PyTuple_CheckExact(object);
}

static NestValue
type_of(const NestMaker *m, PyObject *item)
{
    if (PyBool_Check(item))
        return nest_of(NEST_bool, DT_boolean, 0);
    NestValue type = nest_number_type(m, item);
    return nest_is_complex(&type) ? (NestValue){.kind = NEST_unbound} : type;
}

/* The items, all of one type and as many in each list. */
static bool
describe(const NestMaker *m, PyObject *list, int axis, Listed *listed)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
    if (axis == listed->ndim || listed->shape[axis] != n)
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(list, i);
        if (is_sequence(item)) {
            if (!describe(m, item, axis + 1, listed))
                return false;
            continue;
        }
        NestValue type = type_of(m, item), *all = &listed->type;
        bool first = all->kind == NEST_unbound;
        if (axis + 1 != listed->ndim || type.kind == NEST_unbound ||
            ++listed->n > LISTED_MAX ||
            (!first && (type.kind != all->kind || type.dtype != all->dtype)))
            return false;
        if (!first && all->low < type.low)
            type.low = all->low;
        if (!first && all->high > type.high)
            type.high = all->high;
        *all = type;
    }
    return true;
}

static bool
describe_all(const NestMaker *m, PyObject *list, Listed *listed)
{
    *listed = (Listed){.type = {.kind = NEST_unbound}};
    for (PyObject *at = list; is_sequence(at); at = PySequence_Fast_GET_ITEM(at, 0)) {
        if (listed->ndim == DEPTH_MAX || PySequence_Fast_GET_SIZE(at) == 0)
            return false;
        listed->shape[listed->ndim++] = PySequence_Fast_GET_SIZE(at);
    }
    return describe(m, list, 0, listed);
}

/* A name that the loop has from outside, of what it changes. */
static void
note_name(NestMaker *m, const NestTree *name, PyObject *inputs)
{
    while (name->kind == SYNTAX_item) /* in it, or in what is in it */
        name = name->parts[0];
    if (name->kind == SYNTAX_name && name->number < PyTuple_GET_SIZE(inputs)) {
        if (m->nchanged < TRACE_NEST_SOURCES)
            m->changed[m->nchanged] = PyTuple_GET_ITEM(inputs, name->number);
        m->nchanged++;
    }
}

static void
note_target(NestMaker *m, const NestTree *target, PyObject *inputs)
{
    for (uint32_t i = 0; target->kind == SYNTAX_tuple && i < target->n; i++)
        note_target(m, target->parts[i], inputs);
    if (target->kind == SYNTAX_item)
        note_name(m, target, inputs);
}

/* Lists that the loop changes. */
static void
note_changed(NestMaker *m, const NestTree *tree, PyObject *inputs)
{
    if (tree->kind == SYNTAX_append || tree->kind == SYNTAX_push)
        note_name(m, tree->parts[1], inputs);
    else if (tree->kind == SYNTAX_pop)
        note_name(m, tree->parts[0], inputs);
    else if (tree->kind == SYNTAX_augment)
        note_target(m, tree->parts[0], inputs);
    for (uint32_t i = 1; tree->kind == SYNTAX_assign && i < tree->n; i++)
        note_target(m, tree->parts[i], inputs);
    for (uint32_t i = 0; i < tree->n; i++) {
        if (tree->parts[i])
            note_changed(m, tree->parts[i], inputs);
    }
}

void
nest_note_changed(NestMaker *m, const NestTree *tree, PyObject *inputs)
{
    m->nchanged = 0;
    note_changed(m, tree, inputs);
}

static bool
is_changed(const NestMaker *m, PyObject *list)
{
    bool changed = m->nchanged > TRACE_NEST_SOURCES;
    for (uint32_t i = 0; !changed && i < m->nchanged; i++)
        changed = m->changed[i] == list;
    for (uint32_t i = 0; i < m->nsources; i++)
        changed |= m->sources[i] == list;
    return changed;
}

static uint32_t
find(const NestMaker *m, PyObject *list)
{
    uint32_t i = 0;
    while (i < m->narrays && !(m->arrays[i].listed && m->arrays[i].key == list))
        i++;
    return i;
}

bool
nest_is_listed(const NestMaker *m, PyObject *list)
{
    return find(m, list) < m->narrays;
}

NestValue
nest_listed(NestMaker *m, const NestValue *x)
{
    Listed listed;
    if (x->kind != NEST_object || !PyList_CheckExact(x->object) || m->failed)
        return *x;
    uint32_t i = find(m, x->object);
    if (i == m->narrays) {
        if (m->emits || i == NEST_ARRAYS_MAX || is_changed(m, x->object) ||
            !describe_all(m, x->object, &listed))
            return *x;
        m->narrays++;
        m->arrays[i] = (NestArray){.key = x->object,
                                   .listed = true,
                                   .in_row = true,
                                   .ndim = listed.ndim,
                                   .dtype = nest_dtype(&listed.type),
                                   .item = listed.type};
        memcpy(m->arrays[i].shape, listed.shape,
               (size_t)listed.ndim * sizeof *listed.shape);
    }
    NestValue made = nest_whole(m, i);
    made.kind = m->failed ? made.kind : NEST_listed;
    return made;
}

NestValue
nest_listed_item(NestMaker *m, const NestValue *list, const NestValue *index)
{
    NestValue array = *list;
    array.kind = NEST_array;
    if (index->kind != NEST_int && index->kind != NEST_scalar)
        return nest_fail(m, "an index that is no int");
    NestValue place = nest_select_at(m, &array, index);
    if (m->failed || place.view->ndim == 0)
        return nest_read(m, &place);
    place.kind = NEST_listed;
    return place;
}

NestValue
nest_listed_at(NestMaker *m, const NestValue *list, IrValue turn)
{
    NestValue array = *list;
    array.kind = NEST_array;
    NestValue place = nest_select_row(m, &array, turn);
    if (m->failed || place.view->ndim == 0)
        return nest_read(m, &place);
    place.kind = NEST_listed;
    return place;
}

PyObject *
nest_listed_make(NestMaker *m, const NestArray *array)
{
    PyObject *numpy = PyImport_ImportModule("numpy"),
             *function = numpy ? PyObject_GetAttrString(numpy, "array") : NULL;
    PyObject *list = (PyObject *)array->key;
    PyObject *made =
        function ? trace_call(m->trace, function, &list, 1, NULL, 0) : NULL;
    Py_XDECREF(numpy);
    Py_XDECREF(function);
    return made;
}
