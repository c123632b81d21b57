/* sig.c - signatures: what the arguments of a call have to be for a plan to hold.
**
** A signature is a list of leaves in the order in which arguments are walked. Arrays
** count by
** dtype, shape, strides and flags, NumPy numbers and Python floats by type (their
** values are
** run-time inputs), other immutable objects by value, any other object by identity.
** Floats in
** containers count by value: nothing tells a load of one from a constant. What holds
** more than
** SIG_LEAVES_MAX leaves or is nested deeper than SIG_DEPTH_MAX (also what holds itself)
** is not
** traced.
*/
#include <string.h>

#include "jit/jit.h"

enum { SIG_LEAVES_MAX = 512, SIG_DEPTH_MAX = 32, SIG_LEAVES_TOLD = 12 };

static int add(JitSig *sig, PyObject *object, int depth);

static JitLeaf *
leaf_add(JitSig *sig, JitLeafKind kind, PyObject *object)
{
    if (sig->nleaves == sig->room) {
        uint32_t room = sig->room ? 2 * sig->room : 8;
        JitLeaf *leaves = PyMem_Realloc(sig->leaves, room * sizeof *leaves);
        if (!leaves) {
            PyErr_NoMemory();
            return NULL;
        }
        sig->leaves = leaves;
        sig->room = room;
    }
    JitLeaf *leaf = &sig->leaves[sig->nleaves++];
    *leaf = (JitLeaf){.kind = kind, .object = Py_XNewRef(object)};
    return leaf;
}

/* An object that is a parameter already is the same one in each call. 0: it is not
** there. */
static int
add_same(JitSig *sig, PyObject *object)
{
    Py_ssize_t param = 0;
    for (uint32_t i = 0; i < sig->nleaves; i++) {
        if (sig->leaves[i].building == object) {
            JitLeaf *same = leaf_add(sig, LEAF_same, NULL);
            if (same)
                same->length = param;
            return same ? 1 : -1;
        }
        param += jit_leaf_is_param(&sig->leaves[i]);
    }
    return 0;
}

/* NumPy numbers are told apart by identity when they come out of containers. */
static int
add_scalar(JitSig *sig, PyObject *scalar)
{
    int status = add_same(sig, scalar);
    if (status)
        return status;
    JitLeaf *leaf = leaf_add(sig, LEAF_scalar, (PyObject *)Py_TYPE(scalar));
    if (!leaf)
        return -1;
    leaf->building = scalar;
    return 1;
}

/* NumPy's generators of random numbers, which draw alike whichever they are, and the lists of python/pyasc/_turns.py. */
static bool
is_generator(PyObject *object)
{
    const char *name = Py_TYPE(object)->tp_name;
    return strcmp(name, "numpy.random._generator.Generator") == 0 ||
           strcmp(name, "numpy.random.mtrand.RandomState") == 0 ||
           trace_is_grown(object);
}

static int
add_generator(JitSig *sig, PyObject *generator)
{
    int status = add_same(sig, generator);
    if (status)
        return status;
    JitLeaf *leaf = leaf_add(sig, LEAF_source, (PyObject *)Py_TYPE(generator));
    if (!leaf)
        return -1;
    leaf->building = generator;
    return 1;
}

static int
add_array(JitSig *sig, PyArrayObject *array)
{
    size_t bytes = (size_t)PyArray_NDIM(array) * sizeof(npy_intp);
    if (!trace_array_known(array))
        return 0;
    int status = add_same(sig, (PyObject *)array);
    if (status)
        return status;
    JitLeaf *leaf = leaf_add(sig, LEAF_array, (PyObject *)PyArray_DESCR(array));
    if (!leaf)
        return -1;
    leaf->building = (PyObject *)array;
    leaf->ndim = PyArray_NDIM(array);
    leaf->writeable = PyArray_ISWRITEABLE(array);
    leaf->aligned = PyArray_ISALIGNED(array);
    leaf->dimensions = PyMem_Malloc(2 * bytes + 1);
    if (!leaf->dimensions) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < leaf->ndim; i++) {
        leaf->dimensions[i] = PyArray_DIM(array, i);
        leaf->dimensions[leaf->ndim + i] = PyArray_STRIDE(array, i);
    }
    return 1;
}

static bool
is_constant(PyObject *object)
{
    return object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) ||
           PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) ||
           PyComplex_CheckExact(object) || object == Py_Ellipsis;
}

static int
add_dict(JitSig *sig, PyObject *dict, int depth)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    JitLeaf *leaf = leaf_add(sig, LEAF_dict, NULL);
    if (!leaf)
        return -1;
    leaf->length = PyDict_GET_SIZE(dict);
    while (PyDict_Next(dict, &at, &key, &value)) {
        if (!is_constant(key))
            return 0;
        int status = add(sig, key, depth);
        if (status > 0)
            status = add(sig, value, depth);
        if (status <= 0)
            return status;
    }
    return 1;
}

static int
add_sequence(JitSig *sig, PyObject *sequence, JitLeafKind kind, int depth)
{
    JitLeaf *leaf = leaf_add(sig, kind, NULL);
    if (!leaf)
        return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(sequence);
    leaf->length = n;
    for (Py_ssize_t i = 0; i < n; i++) {
        int status = add(sig, PySequence_Fast_GET_ITEM(sequence, i), depth);
        if (status <= 0)
            return status;
    }
    return 1;
}

/* Objects known by identity. Iterators are used up by a call: they are never the same. */
static int
add_identity(JitSig *sig, PyObject *object)
{
    if (PyIter_Check(object) || PyArray_Check(object) || PyArray_CheckScalar(object) ||
        PyAnySet_Check(object) || PyByteArray_Check(object) ||
        PyMemoryView_Check(object))
        return 0;
    if (PyList_Check(object) || PyDict_Check(object) || PyTuple_Check(object) ||
        PyLong_Check(object) || PyFloat_Check(object) || PyUnicode_Check(object))
        return 0; /* subclasses */
    PyObject *weak = NULL;
    if (!PyType_Check(object) && !PyModule_Check(object) &&
        PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)))
        weak = PyWeakref_NewRef(object, NULL);
    PyErr_Clear();
    JitLeaf *leaf = leaf_add(sig, LEAF_identity, weak ? weak : object);
    if (leaf)
        leaf->weak = weak != NULL;
    Py_XDECREF(weak);
    return leaf ? 1 : -1;
}

/* `depth`: containers around the object. */
static int
add(JitSig *sig, PyObject *object, int depth)
{
    if (sig->nleaves > SIG_LEAVES_MAX || depth > SIG_DEPTH_MAX)
        return 0;
    if (PyArray_CheckExact(object))
        return add_array(sig, (PyArrayObject *)object);
    if (PyFloat_CheckExact(object) && !depth)
        return leaf_add(sig, LEAF_float, NULL) ? 1 : -1;
    if (PyComplex_CheckExact(object) && !depth)
        return leaf_add(sig, LEAF_scalar, (PyObject *)Py_TYPE(object)) ? 1 : -1;
    if (is_constant(object) || PyFloat_CheckExact(object))
        return leaf_add(sig, LEAF_constant, object) ? 1 : -1;
    if (PyArray_IsScalar(object, Bool))
        return leaf_add(sig, LEAF_identity, object) ? 1 : -1; /* one object each */
    if (PyArray_IsScalar(object, Number) && !PyArray_IsScalar(object, LongDouble) &&
        !PyArray_IsScalar(object, CLongDouble))
        return add_scalar(sig, object);
    if (trace_is_named_tuple(object) || PyTuple_CheckExact(object)) {
        uint32_t place = sig->nleaves;
        int status = add_sequence(sig, object, LEAF_tuple, depth + 1);
        if (status >= 0 && !PyTuple_CheckExact(object))
            sig->leaves[place].object = Py_NewRef((PyObject *)Py_TYPE(object));
        return status;
    }
    if (PyList_CheckExact(object))
        return add_sequence(sig, object, LEAF_list, depth + 1);
    if (PyDict_CheckExact(object))
        return add_dict(sig, object, depth + 1);
    if (!depth && is_generator(object))
        return add_generator(sig, object);
    return add_identity(sig, object);
}

int
jit_sig_add_number(JitSig *sig, PyObject *number)
{
    if (PyLong_CheckExact(number))
        return leaf_add(sig, LEAF_int, NULL) ? 1 : -1;
    if (PyFloat_CheckExact(number))
        return leaf_add(sig, LEAF_float, NULL) ? 1 : -1;
    return leaf_add(sig, LEAF_scalar, (PyObject *)Py_TYPE(number)) ? 1 : -1;
}

int
jit_sig_add(JitSig *sig, PyObject *object)
{
    return add(sig, object, 0);
}

int
jit_sig_copy(JitSig *copy, const JitSig *sig)
{
    *copy = (JitSig){0};
    for (uint32_t i = 0; i < sig->nleaves; i++) {
        const JitLeaf *from = &sig->leaves[i];
        JitLeaf *leaf = leaf_add(copy, from->kind, NULL);
        if (!leaf)
            return -1;
        *leaf = *from;
        Py_XINCREF(leaf->object);
        leaf->dimensions = NULL;
        if (!from->dimensions)
            continue;
        size_t bytes = 2 * (size_t)from->ndim * sizeof(npy_intp);
        leaf->dimensions = PyMem_Malloc(bytes + 1);
        if (!leaf->dimensions) {
            PyErr_NoMemory();
            return -1;
        }
        memcpy(leaf->dimensions, from->dimensions, bytes);
    }
    return 0;
}

void
jit_sig_clear(JitSig *sig)
{
    for (uint32_t i = 0; i < sig->nleaves; i++) {
        Py_XDECREF(sig->leaves[i].object);
        PyMem_Free(sig->leaves[i].dimensions);
    }
    PyMem_Free(sig->leaves);
    *sig = (JitSig){0};
}

bool
jit_leaf_is_param(const JitLeaf *leaf)
{
    return leaf->kind == LEAF_array || leaf->kind == LEAF_scalar ||
           leaf->kind == LEAF_float || leaf->kind == LEAF_int ||
           leaf->kind == LEAF_source;
}

/* -- Matching ---------------------------------------------------------------------- */

static bool
match_array(const JitLeaf *leaf, PyObject *object)
{
    if (!PyArray_CheckExact(object))
        return false;
    PyArrayObject *array = (PyArrayObject *)object;
    if (PyArray_NDIM(array) != leaf->ndim ||
        !jit_same_axes(leaf->ndim, PyArray_DIMS(array), leaf->dimensions) ||
        !jit_same_axes(leaf->ndim, PyArray_STRIDES(array),
                       leaf->dimensions + leaf->ndim))
        return false;
    if (PyArray_ISALIGNED(array) != leaf->aligned ||
        PyArray_ISWRITEABLE(array) != leaf->writeable)
        return false;
    PyArray_Descr *descr = (PyArray_Descr *)leaf->object;
    return PyArray_DESCR(array) == descr ||
           (PyArray_DESCR(array)->type_num == descr->type_num &&
            PyArray_EquivTypes(PyArray_DESCR(array), descr));
}

static bool
match_constant(PyObject *expected, PyObject *object)
{
    if (expected == object)
        return true;
    if (Py_TYPE(expected) != Py_TYPE(object))
        return false;
    if (PyFloat_CheckExact(object)) { /* by bits: -0.0 and NaN */
        double a = PyFloat_AS_DOUBLE(expected), b = PyFloat_AS_DOUBLE(object);
        return memcmp(&a, &b, sizeof a) == 0;
    }
    if (PyComplex_CheckExact(object)) {
        Py_complex a = PyComplex_AsCComplex(expected), b = PyComplex_AsCComplex(object);
        return memcmp(&a, &b, sizeof a) == 0;
    }
    int equal = PyObject_RichCompareBool(expected, object, Py_EQ);
    if (equal < 0)
        PyErr_Clear();
    return equal == 1;
}

bool
jit_leaf_match(const JitLeaf *leaf, PyObject *object)
{
    switch (leaf->kind) {
    case LEAF_array:
        return match_array(leaf, object);
    case LEAF_scalar:
    case LEAF_source:
        return (PyObject *)Py_TYPE(object) == leaf->object;
    case LEAF_float:
        return PyFloat_CheckExact(object);
    case LEAF_int:
        return PyLong_CheckExact(object);
    case LEAF_same:
        return true; /* see jit_sig_match */
    case LEAF_constant:
        return match_constant(leaf->object, object);
    case LEAF_identity: /* None stands for an object that is gone */
        return leaf->weak
                   ? object != Py_None && PyWeakref_GET_OBJECT(leaf->object) == object
                   : leaf->object == object;
    case LEAF_list:
        return PyList_CheckExact(object) && PyList_GET_SIZE(object) == leaf->length;
    case LEAF_tuple:
        return Py_TYPE(object) ==
                   (leaf->object ? (PyTypeObject *)leaf->object : &PyTuple_Type) &&
               PyTuple_GET_SIZE(object) == leaf->length;
    case LEAF_dict:
        return PyDict_CheckExact(object) && PyDict_GET_SIZE(object) == leaf->length;
    }
    return false;
}

bool
jit_sig_match(const JitSig *sig, uint32_t *at, PyObject *object, PyObject **params,
              uint32_t *nparams)
{
    if (*at >= sig->nleaves)
        return false;
    const JitLeaf *leaf = &sig->leaves[(*at)++];
    if (!jit_leaf_match(leaf, object))
        return false;
    if (leaf->kind == LEAF_same)
        return params[leaf->length] == object;
    if (leaf->kind == LEAF_array) {
        for (uint32_t i = 0; i < *nparams; i++) {
            if (params[i] == object)
                return false; /* the same array twice is another signature */
        }
    }
    if (jit_leaf_is_param(leaf)) {
        params[(*nparams)++] = object;
        return true;
    }
    if (leaf->kind == LEAF_list || leaf->kind == LEAF_tuple) {
        for (Py_ssize_t i = 0; i < leaf->length; i++) {
            if (!jit_sig_match(sig, at, PySequence_Fast_GET_ITEM(object, i), params,
                               nparams))
                return false;
        }
    } else if (leaf->kind == LEAF_dict) {
        PyObject *key, *value;
        Py_ssize_t place = 0;
        while (PyDict_Next(object, &place, &key, &value)) {
            if (!jit_sig_match(sig, at, key, params, nparams) ||
                !jit_sig_match(sig, at, value, params, nparams))
                return false;
        }
    }
    return true;
}

/* -- Text -------------------------------------------------------------------------- */

static PyObject *
leaf_text(const JitLeaf *leaf)
{
    static const char *const names[] = {
        [LEAF_float] = "float", [LEAF_int] = "int",     [LEAF_same] = "the same again",
        [LEAF_list] = "list",   [LEAF_tuple] = "tuple", [LEAF_dict] = "dict",
    };
    switch (leaf->kind) {
    case LEAF_array: {
        PyObject *shape = PyTuple_New(leaf->ndim), *text = NULL;
        for (int d = 0; shape && d < leaf->ndim; d++)
            PyTuple_SET_ITEM(shape, d, PyLong_FromSsize_t(leaf->dimensions[d]));
        if (shape && !PyErr_Occurred())
            text = PyUnicode_FromFormat("%S%S", leaf->object, shape);
        Py_XDECREF(shape);
        return text;
    }
    case LEAF_scalar:
    case LEAF_source:
        return PyUnicode_FromString(((PyTypeObject *)leaf->object)->tp_name);
    case LEAF_constant:
        return PyObject_Repr(leaf->object);
    case LEAF_identity: {
        PyObject *object =
            leaf->weak ? PyWeakref_GET_OBJECT(leaf->object) : leaf->object;
        if (leaf->weak && object == Py_None)
            return PyUnicode_FromString("an object that is gone");
        return PyUnicode_FromFormat("this %s", Py_TYPE(object)->tp_name);
    }
    default:
        return PyUnicode_FromString(names[leaf->kind]);
    }
}

PyObject *
jit_sig_text(const JitSig *sig)
{
    PyObject *parts = PyList_New(0), *comma = PyUnicode_FromString(", "), *text = NULL;
    for (uint32_t i = 0; parts && i < sig->nleaves && i < SIG_LEAVES_TOLD; i++) {
        PyObject *part = leaf_text(&sig->leaves[i]);
        if (!part || PyList_Append(parts, part) < 0)
            Py_CLEAR(parts);
        Py_XDECREF(part);
    }
    if (parts && comma)
        text = PyUnicode_Join(comma, parts);
    if (text && sig->nleaves > SIG_LEAVES_TOLD)
        Py_SETREF(text, PyUnicode_FromFormat("%U, ...", text));
    Py_XDECREF(parts);
    Py_XDECREF(comma);
    return text;
}

bool
jit_sig_is_gone(const JitSig *sig)
{
    bool gone = false;
    for (uint32_t i = 0; i < sig->nleaves && !gone; i++) {
        const JitLeaf *leaf = &sig->leaves[i];
        gone = leaf->kind == LEAF_identity && leaf->weak &&
               PyWeakref_GET_OBJECT(leaf->object) == Py_None;
    }
    return gone;
}
