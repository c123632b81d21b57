/* inside.c - numbers in containers among the arguments: constants of a signature, until they vary.
**
** The function gets a copy of such a container, with tracers in it, as one that was made in the call. So it has to be a tuple,
** or a list or dict that the function only reads, as far as it is copied (python/pyasc/_reads.py). Other containers stay themselves, and their
** numbers constants: nothing tells a load of one from a constant.
*/
#include "jit/func.h"
#include "jit/state.h"

enum {
    SIG_DEEP = 64,
    INTS_OTHERS = 6
}; /* signatures that differ in them: ints decide sizes and ways, and are better known */

/* The leaf behind those of the argument, or item, at `at`. */
static uint32_t
leaf_behind(const JitSig *sig, uint32_t at)
{
    const JitLeaf *leaf = &sig->leaves[at++];
    Py_ssize_t n = leaf->kind == LEAF_dict ? 2 * leaf->length : leaf->length;
    for (Py_ssize_t i = 0; leaf->kind >= LEAF_list && i < n; i++)
        at = leaf_behind(sig, at);
    return at;
}

static bool
is_number(const JitLeaf *leaf)
{
    return leaf->kind == LEAF_constant &&
           (PyFloat_CheckExact(leaf->object) || PyLong_CheckExact(leaf->object) ||
            PyComplex_CheckExact(leaf->object));
}

/* The type of a number, as a constant or an input; NULL: it is none of Python's. */
static const PyTypeObject *
type_of(const JitLeaf *leaf)
{
    return leaf->kind == LEAF_float ? &PyFloat_Type
           : leaf->kind == LEAF_int ? &PyLong_Type
           : leaf->kind == LEAF_scalar &&
                   (PyTypeObject *)leaf->object == &PyComplex_Type
               ? &PyComplex_Type
           : is_number(leaf) ? Py_TYPE(leaf->object)
                             : NULL;
}

static bool
same_array(const JitLeaf *a, const JitLeaf *b)
{
    return a->ndim == b->ndim && a->writeable == b->writeable &&
           a->aligned == b->aligned &&
           jit_same_axes(2 * a->ndim, a->dimensions, b->dimensions) &&
           PyArray_EquivTypes((PyArray_Descr *)a->object, (PyArray_Descr *)b->object);
}

/* True if the signatures differ in nothing but the values of numbers. */
static bool
is_alike(const JitSig *a, const JitSig *b)
{
    bool alike = a->nleaves == b->nleaves;
    for (uint32_t i = 0; alike && i < a->nleaves; i++) {
        const JitLeaf *x = &a->leaves[i], *y = &b->leaves[i];
        if (type_of(x) || type_of(y))
            alike = type_of(x) == type_of(y);
        else
            alike = x->kind == y->kind && x->length == y->length &&
                    x->weak == y->weak &&
                    (x->kind == LEAF_array      ? same_array(x, y)
                     : x->kind == LEAF_constant ? jit_leaf_match(x, y->object)
                                                : x->object == y->object);
    }
    return alike;
}

static void
leaf_vary(JitLeaf *leaf)
{
    PyObject *number = leaf->object;
    leaf->kind = PyFloat_CheckExact(number)  ? LEAF_float
                 : PyLong_CheckExact(number) ? LEAF_int
                                             : LEAF_scalar;
    leaf->object =
        leaf->kind == LEAF_scalar ? Py_NewRef((PyObject *)&PyComplex_Type) : NULL;
    Py_DECREF(number);
}

/* Numbers in a container: floats become inputs, and, if `ints`, ints that were others before. `depth`: to what depth lists and
** dicts may be copied. Moves *at behind it; true: one is an input now. */
static bool
vary_inside(JitSig *sig, const JitSig *other, uint32_t *at, int depth, bool ints)
{
    JitLeaf *leaf = &sig->leaves[(*at)++];
    bool any = false, copied = leaf->kind == LEAF_tuple || depth > 0;
    for (Py_ssize_t i = 0; i < leaf->length; i++) {
        *at += leaf->kind == LEAF_dict; /* the key */
        const JitLeaf *before = &other->leaves[*at];
        JitLeaf *item = &sig->leaves[*at];
        if (copied && item->kind >= LEAF_list) {
            any |= vary_inside(sig, other, at, depth - 1, ints);
            continue;
        }
        if (copied && is_number(item) &&
            (!PyLong_CheckExact(item->object) || before->kind == LEAF_int ||
             (ints && !jit_leaf_match(before, item->object)))) {
            leaf_vary(item);
            any = true;
        }
        *at = leaf_behind(sig, *at);
    }
    return any;
}

/* How many containers lie in each other; *lists: one is a list or dict. */
static int
levels(const JitSig *sig, uint32_t at, bool *lists)
{
    const JitLeaf *leaf = &sig->leaves[at];
    int most = 0;
    if (leaf->kind < LEAF_list)
        return 0;
    *lists |= leaf->kind != LEAF_tuple;
    for (uint32_t i = at + 1, end = leaf_behind(sig, at); i < end;
         i = leaf_behind(sig, i)) {
        int own = levels(sig, i, lists);
        most = own > most ? own : most;
    }
    return 1 + most;
}

/* True if lists and dicts among the arguments may be copied: the function only reads all of them, and nothing that it does can
** change one by another name. */
static bool
only_reads(JitFunc *self, const Entry *entry)
{
    PyObject *api = jit_api(self->state);
    PyObject *depths =
        api ? PyObject_CallMethod(api, "_read_only", "O", self->wrapped) : NULL;
    uint32_t at = 0, n = entry->ncall;
    n -= entry->kwnames ? (uint32_t)PyTuple_GET_SIZE(entry->kwnames) : 0;
    bool good = depths && PyTuple_GET_SIZE(depths) > 0;
    for (uint32_t k = 0; good && k < entry->ncall; k++) {
        bool lists = false;
        int deep = levels(&entry->sig, at, &lists);
        bool known = k < n && (Py_ssize_t)k < PyTuple_GET_SIZE(depths);
        good =
            entry->sig.leaves[at].kind != LEAF_identity &&
            (!lists || (known && PyLong_AsLong(PyTuple_GET_ITEM(depths, k)) >= deep));
        at = leaf_behind(&entry->sig, at);
    }
    Py_XDECREF(depths);
    PyErr_Clear();
    return good;
}

static bool
has_lists(const JitSig *sig)
{
    bool lists = false;
    for (uint32_t i = 0; i < sig->nleaves; i++)
        lists |= sig->leaves[i].kind == LEAF_list || sig->leaves[i].kind == LEAF_dict;
    return lists;
}

bool
jit_inside_holds(JitFunc *self, const Entry *entry)
{
    bool copies = false;
    for (uint32_t at = 0; at < entry->sig.nleaves; at = leaf_behind(&entry->sig, at)) {
        bool lists = false;
        levels(&entry->sig, at, &lists);
        copies |= lists && jit_inside_inputs(&entry->sig, at);
    }
    return !copies || only_reads(self, entry);
}

bool
jit_inside_varies(JitFunc *self, Entry *entry)
{
    const Entry *other = NULL;
    uint32_t at = 0, n = 0;
    bool any = false, containers = false;
    for (uint32_t i = 0; i < entry->sig.nleaves; i++)
        containers |= entry->sig.leaves[i].kind >= LEAF_list;
    for (uint32_t i = 0; containers && i < self->nentries; i++) {
        const Entry *each = self->entries[i];
        if (each->ncall != entry->ncall ||
            !jit_same_names(each->kwnames, entry->kwnames) ||
            !is_alike(&each->sig, &entry->sig))
            continue;
        other = other ? other : each;
        n++;
    }
    if (!other)
        return false;
    int depth = has_lists(&entry->sig) && only_reads(self, entry) ? SIG_DEEP : 0;
    for (uint32_t k = 0; k < entry->ncall; k++) {
        if (entry->sig.leaves[at].kind >= LEAF_list)
            any |= vary_inside(&entry->sig, &other->sig, &at, depth, n >= INTS_OTHERS);
        else
            at = leaf_behind(&entry->sig, at);
    }
    return any;
}

bool
jit_inside_inputs(const JitSig *sig, uint32_t at)
{
    bool any = false;
    for (uint32_t i = at + 1, end = leaf_behind(sig, at); i < end; i++)
        any |= sig->leaves[i].kind != LEAF_constant && type_of(&sig->leaves[i]);
    return any;
}

/* An item, or a copy of it; the next leaf and parameter are moved on. */
static PyObject *
item_copy(Trace *trace, Inside *inside, PyObject *item)
{
    const JitLeaf *leaf = &inside->sig->leaves[inside->at];
    if (leaf->kind >= LEAF_list)
        return jit_inside_copy(trace, inside, item);
    inside->at++;
    if (leaf->kind == LEAF_same)
        return Py_NewRef(inside->tracers[leaf->length]);
    return Py_NewRef(jit_leaf_is_param(leaf) ? inside->tracers[inside->param++] : item);
}

static PyObject *
dict_copy(Trace *trace, Inside *inside, PyObject *dict)
{
    PyObject *copy = PyDict_New(), *key, *value;
    Py_ssize_t at = 0;
    while (copy && PyDict_Next(dict, &at, &key, &value)) {
        inside->at++;
        PyObject *item = item_copy(trace, inside, value);
        if (!item || PyDict_SetItem(copy, key, item) < 0)
            Py_CLEAR(copy);
        Py_XDECREF(item);
    }
    return copy;
}

static PyObject *
sequence_copy(Trace *trace, Inside *inside, PyObject *sequence)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(sequence);
    bool list = PyList_CheckExact(sequence);
    PyObject *copy = list ? PyList_New(n) : trace_tuple_like(sequence, n);
    for (Py_ssize_t i = 0; copy && i < n; i++) {
        PyObject *item =
            item_copy(trace, inside, PySequence_Fast_GET_ITEM(sequence, i));
        if (!item) {
            Py_CLEAR(copy);
            break;
        }
        if (list)
            PyList_SET_ITEM(copy, i, item);
        else
            PyTuple_SET_ITEM(copy, i, item);
    }
    return copy;
}

PyObject *
jit_inside_copy(Trace *trace, Inside *inside, PyObject *container)
{
    if (!jit_inside_inputs(inside->sig, inside->at)) {
        for (uint32_t end = leaf_behind(inside->sig, inside->at); inside->at < end;)
            inside->param += jit_leaf_is_param(&inside->sig->leaves[inside->at++]);
        return Py_NewRef(container);
    }
    inside->at++;
    PyObject *copy = PyDict_CheckExact(container)
                         ? dict_copy(trace, inside, container)
                         : sequence_copy(trace, inside, container);
    if (copy && (PyTuple_Check(copy) ? trace_stand_in_add(trace, copy, container)
                                     : trace_local_add(trace, copy)) < 0)
        Py_CLEAR(copy);
    return copy;
}
