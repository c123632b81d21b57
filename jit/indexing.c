/* indexing.c - x[key] and x[key] = y as functions of our own, for what has no step of its own in a plan
** (plan_places.c): keys with masks, whose elements are counted first.
**
**     x[mask]      the elements are packed, one behind the other     x[mask] = y      put there again
**     x[mask, j]   positions of the mask are indices: places.c
*/
#include <string.h>

#include "jit/own.h"
#include "jit/places.h"
#include "kernels/kernels.h"

/* -- Keys -------------------------------------------------------------------------- */

/* A key as jit_place_read takes it. */
typedef struct Resolved {
    PyObject
        *parts[NPY_MAXDIMS]; /* owned: slices, ints, None, Ellipsis, arrays of int64 */
    Py_ssize_t n;
    uint32_t added; /* indices so far */
} Resolved;

/* The positions of a mask in C order, an array for each of its axes. False: an exception is set, or they are
** too many. */
static bool
add_positions(Resolved *key, PyArrayObject *given)
{
    PyArrayObject *mask =
        (PyArrayObject *)PyArray_FROM_OF((PyObject *)given, NPY_ARRAY_CARRAY_RO);
    int ndim = PyArray_NDIM(given);
    npy_intp count = mask ? PyArray_CountNonzero(mask) : -1;
    int64_t *to[RT_PLACE_INDICES];
    bool done = count >= 0 && ndim <= RT_PLACE_INDICES && key->n + ndim < NPY_MAXDIMS;
    for (int d = 0; done && d < ndim; d++) {
        PyObject *index = PyArray_SimpleNew(1, &count, NPY_INT64);
        done = index != NULL;
        if (!done)
            break;
        to[d] = PyArray_DATA((PyArrayObject *)index);
        key->parts[key->n++] = index;
    }
    if (done && count) {
        const npy_intp *shape = PyArray_DIMS(mask);
        npy_intp coordinate[RT_PLACE_INDICES] = {0}, run = shape[ndim - 1], k = 0;
        for (const char *at = PyArray_BYTES(mask); k < count; at += run) {
            npy_intp found = kernel_positions(to[ndim - 1] + k, 1, at, run, count - k);
            for (int d = 0; d < ndim - 1; d++) {
                for (npy_intp i = 0; i < found; i++)
                    to[d][k + i] = coordinate[d];
            }
            k += found;
            for (int d = ndim - 1; d-- > 0 && ++coordinate[d] == shape[d];)
                coordinate[d] = 0;
        }
    }
    Py_XDECREF(mask);
    return done;
}

/* A part of a key. False: it is NumPy's, or an exception is set. */
static bool
resolve_part(Resolved *key, PyArrayObject *x, PyObject *part, int axis)
{
    PyObject *index = NULL;
    if (key->n == NPY_MAXDIMS)
        return false;
    if (jit_mask_is(part)) {
        PyArrayObject *mask = (PyArrayObject *)part;
        int n = PyArray_NDIM(mask);
        return axis >= 0 && axis + n <= PyArray_NDIM(x) &&
               jit_same_axes(n, PyArray_DIMS(mask), PyArray_DIMS(x) + axis) &&
               add_positions(key, mask);
    }
    if (part == Py_None || part == Py_Ellipsis || PySlice_Check(part) ||
        PyLong_CheckExact(part))
        index = Py_NewRef(part);
    else if (PyArray_IsScalar(part, Integer))
        index = PyNumber_Index(part);
    else if (PyList_CheckExact(part) || PyArray_CheckExact(part)) {
        PyArrayObject *array = (PyArrayObject *)PyArray_FROM_O(part);
        if (array && PyArray_DESCR(array)->type_num == NPY_BOOL &&
            PyArray_NDIM(array) > 0 && PyList_CheckExact(part)) {
            bool done = resolve_part(key, x, (PyObject *)array, axis);
            Py_DECREF(array);
            return done;
        }
        if (array &&
            (PyTypeNum_ISINTEGER(PyArray_DESCR(array)->type_num) ||
             PyArray_SIZE(array) == 0) &&
            PyArray_DESCR(array)->type_num != NPY_BOOL && PyArray_NDIM(array) > 0)
            index = PyArray_FROM_OTF((PyObject *)array, NPY_INT64,
                                     NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED |
                                         NPY_ARRAY_FORCECAST);
        Py_XDECREF(array);
    }
    key->parts[key->n] = index;
    key->n += index != NULL;
    return index != NULL;
}

/* Axes of x that a part of a key is for. */
static int
axes_of(PyObject *part)
{
    return part == Py_None || part == Py_Ellipsis ? 0
           : jit_mask_is(part)                    ? PyArray_NDIM((PyArrayObject *)part)
                                                  : 1;
}

/* The parts of a key for x, a tuple; NULL: NumPy's, or an exception is set. New reference. */
static PyObject *
resolve(PyArrayObject *x, PyObject *given)
{
    PyObject *const *parts =
        PyTuple_CheckExact(given) ? ((PyTupleObject *)given)->ob_item : &given;
    Py_ssize_t n = PyTuple_CheckExact(given) ? PyTuple_GET_SIZE(given) : 1;
    int used = 0, axis = 0;
    Resolved key = {.n = 0};
    bool done = true;
    for (Py_ssize_t i = 0; i < n; i++)
        used += axes_of(parts[i]);
    for (Py_ssize_t i = 0; done && i < n; i++) {
        done = resolve_part(&key, x, parts[i], axis);
        axis += parts[i] == Py_Ellipsis ? PyArray_NDIM(x) - used : axes_of(parts[i]);
    }
    PyObject *result = done ? PyTuple_New(key.n) : NULL;
    for (Py_ssize_t i = 0; i < key.n; i++) {
        if (result)
            PyTuple_SET_ITEM(result, i, key.parts[i]);
        else
            Py_DECREF(key.parts[i]);
    }
    return result;
}

static bool
add_array(PlaceKey *key, PyObject *part, uint32_t axis)
{
    PlaceIndex index = {0};
    PyArrayObject *array = (PyArrayObject *)part;
    char **data = key->context;
    if (!PyArray_Check(part) || PyArray_NDIM(array) > RT_PLACE_AXES ||
        key->place.nindices == RT_PLACE_INDICES)
        return false;
    index.ndim = (uint32_t)PyArray_NDIM(array);
    for (uint32_t d = 0; d < index.ndim; d++) {
        index.shape[d] = PyArray_DIM(array, (int)d);
        index.strides[d] = PyArray_STRIDE(array, (int)d);
    }
    data[key->place.nindices] = PyArray_BYTES(array);
    return jit_place_index(key, &index, axis);
}

/* True if a result over these indices is in C order: NumPy gives it the order in which they lie. */
static bool
in_c_order(const PlaceKey *key)
{
    for (uint32_t k = 0; k < key->place.nindices; k++) {
        const PlaceIndex *index = &key->index[k];
        npy_intp last = 0;
        for (uint32_t d = index->ndim; index->ndim > 1 && d-- > 0;) {
            if (index->shape[d] == 1 || index->strides[d] == 0)
                continue;
            if (index->strides[d] < last || index->strides[d] < 0)
                return false;
            last = index->strides[d];
        }
    }
    return true;
}

/* The space of x[key]; data: the addresses of its indices. False: it is NumPy's. */
static bool
read_key(PlaceKey *key, PyArrayObject *x, PyObject *parts, char **data)
{
    npy_intp bytes = PyArray_ITEMSIZE(x);
    *key = (PlaceKey){.ndim = (uint32_t)PyArray_NDIM(x),
                      .shape = PyArray_DIMS(x),
                      .strides = PyArray_STRIDES(x),
                      .add = add_array,
                      .context = data};
    key->place.itemsize = (uint16_t)bytes;
    return bytes <= 32 && (bytes & (bytes - 1)) == 0 && jit_place_read(key, parts) &&
           in_c_order(key);
}

/* -- What fits --------------------------------------------------------------------- */

/* What is known of a key before it is there. */
typedef struct KeyFacts {
    int indices, elements, axes,
        most; /* of elements: ints; axes that are none of x's; most axes of an index */
    bool known;
} KeyFacts;

/* Strides as an index in C order has them: in_c_order. */
static bool
lies_in_c_order(const OwnArray *index)
{
    npy_intp last = 0;
    for (int d = index->ndim; index->ndim > 1 && d-- > 0;) {
        if (index->shape[d] == 1 || index->strides[d] == 0)
            continue;
        if (index->strides[d] < last)
            return false;
        last = index->strides[d];
    }
    return true;
}

/* A list of ints or of bools, or of lists of such. */
static bool
is_list_of_indices(const OwnCall *call, PyObject *list, int *ndim)
{
    int deepest = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        OwnArray scalar;
        int inner = 0;
        bool fits = PyList_CheckExact(item) ? is_list_of_indices(call, item, &inner)
                    : PyLong_Check(item)    ? true
                    : jit_own_array(call, item, &scalar) ? scalar.integer
                                                         : false;
        if (!fits)
            return false;
        deepest = inner > deepest ? inner : deepest;
    }
    *ndim = deepest + 1;
    return true;
}

static void
look_at_part(const OwnCall *call, PyObject *part, KeyFacts *facts)
{
    OwnArray index;
    int ndim = 1;
    if (part == Py_None)
        facts->axes++;
    else if (PyLong_CheckExact(part))
        facts->elements++;
    else if (part == Py_Ellipsis || PySlice_Check(part))
        return;
    else if (PyList_CheckExact(part)) {
        facts->known &= is_list_of_indices(call, part, &ndim);
        facts->indices += ndim; /* of bools as many */
    } else if (jit_own_array(call, part, &index)) {
        bool mask = index.descr && PyDataType_ISBOOL(index.descr);
        bool array = index.descr && index.ndim > 0 &&
                     (mask || PyDataType_ISINTEGER(index.descr));
        facts->known &= index.integer || (array && (mask || lies_in_c_order(&index)));
        facts->elements += index.integer;
        facts->indices += mask ? index.ndim : array;
        ndim = mask ? 1 : index.ndim;
    } else
        facts->known = false;
    facts->most = ndim > facts->most ? ndim : facts->most;
}

/* x, and what its key is made of. */
static bool
key_fits(const OwnCall *call, bool element)
{
    OwnArray x;
    if (PyTuple_GET_SIZE(call->args) < 2 || call->kwargs ||
        !jit_own_array(call, PyTuple_GET_ITEM(call->args, 0), &x) || !x.descr ||
        !x.ndim)
        return false;
    PyObject *key = PyTuple_GET_ITEM(call->args, 1);
    Py_ssize_t n = PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 1;
    npy_intp bytes = PyDataType_ELSIZE(x.descr);
    KeyFacts facts = {.known = bytes <= 32 && (bytes & (bytes - 1)) == 0};
    for (Py_ssize_t i = 0; i < n; i++)
        look_at_part(call, PyTuple_CheckExact(key) ? PyTuple_GET_ITEM(key, i) : key,
                     &facts);
    if (element && facts.known && facts.elements == n && n == x.ndim)
        return true;
    return facts.known && facts.indices > 0 && facts.indices <= RT_PLACE_INDICES &&
           x.ndim + facts.axes + facts.most <= RT_PLACE_AXES;
}

bool
jit_own_fits_getitem(const OwnCall *call)
{
    return key_fits(call, true);
}

/* A value of x's dtype, or a number. A mask of all axes that the store changes is read while it does. */
bool
jit_own_fits_setitem(const OwnCall *call)
{
    OwnArray x, y, mask;
    if (!key_fits(call, false) || PyTuple_GET_SIZE(call->args) != 3)
        return false;
    PyObject *value = PyTuple_GET_ITEM(call->args, 2);
    jit_own_array(call, PyTuple_GET_ITEM(call->args, 0), &x);
    if (jit_own_array(call, PyTuple_GET_ITEM(call->args, 1), &mask) &&
        mask.root == x.root)
        return false;
    if (!jit_own_array(call, value, &y))
        return PyLong_Check(value) || PyFloat_Check(value) || PyComplex_Check(value) ||
               PyList_CheckExact(value);
    return y.number || (y.descr && y.descr->type_num == x.descr->type_num);
}

/* -- x[key] ------------------------------------------------------------------------ */

/* x[i, j] of ints, one an axis. NULL: another key. */
static PyObject *
take_element(PyArrayObject *x, PyObject *parts)
{
    char *at = PyArray_BYTES(x);
    if (PyTuple_GET_SIZE(parts) != PyArray_NDIM(x) || !PyArray_NDIM(x))
        return NULL;
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        PyObject *part = PyTuple_GET_ITEM(parts, d);
        Py_ssize_t i =
            PyLong_CheckExact(part) ? PyLong_AsSsize_t(part) : PY_SSIZE_T_MIN;
        Py_ssize_t extent = PyArray_DIM(x, d);
        if (i < -extent || i >= extent)
            return NULL;
        at += (i < 0 ? i + extent : i) * PyArray_STRIDE(x, d);
    }
    return PyArray_Scalar(at, PyArray_DESCR(x), (PyObject *)x);
}

/* Memory for the result: axes of the indices outermost, as NumPy has it, and y's strides in the space. */
static PyObject *
new_result(PlaceKey *key, PyArrayObject *x)
{
    RtPlace *place = &key->place;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS], step = PyArray_ITEMSIZE(x);
    uint32_t first = (uint32_t)key->first, last = first + key->nspace;
    for (uint32_t d = place->ndim; d-- > 0;) {
        if (d >= first && d < last)
            continue;
        strides[d] = step;
        step *= place->shape[d];
    }
    for (uint32_t d = last; d-- > first;) {
        strides[d] = step;
        step *= place->shape[d];
    }
    for (uint32_t d = 0; d < place->ndim; d++) {
        shape[d] = place->shape[d];
        place->y[d] = shape[d] == 1 ? 0 : strides[d];
    }
    Py_INCREF(PyArray_DESCR(x));
    return PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(x), (int)place->ndim,
                                shape, step ? strides : NULL, NULL, 0, NULL);
}

static PyObject *
take(PyArrayObject *x, PyObject *parts)
{
    PlaceKey key;
    char *data[RT_PLACE_INDICES + 2];
    int64_t bad;
    if (!read_key(&key, x, parts, data))
        return NULL;
    bool some = jit_place_space(&key);
    PyObject *result = new_result(&key, x);
    if (!result || !some)
        return result;
    data[key.place.nindices] = PyArray_BYTES(x);
    data[key.place.nindices + 1] = PyArray_BYTES((PyArrayObject *)result);
    key.place.kind = RT_PLACE_take;
    rt_place_finish(&key.place);
    if (rt_place_run(&key.place, data, &bad))
        Py_CLEAR(result);
    return result;
}

PyObject *
jit_own_getitem(PyObject *plain, PyObject *const *args, Py_ssize_t nargs,
                PyObject *kwnames)
{
    PyArrayObject *x = (PyArrayObject *)args[0];
    if (nargs != 2 || kwnames || !jit_own_plain(args[0]))
        return PyObject_Vectorcall(plain, args, (size_t)nargs, kwnames);
    if (jit_mask_is(args[1])) {
        PyObject *picked = jit_mask_select(x, (PyArrayObject *)args[1]);
        if (picked || PyErr_Occurred())
            return picked;
    }
    PyObject *parts = resolve(x, args[1]);
    PyObject *result = parts ? take_element(x, parts) : NULL;
    if (parts && !result)
        result = take(x, parts);
    Py_XDECREF(parts);
    if (result)
        return result;
    PyErr_Clear(); /* NumPy's words */
    return PyObject_Vectorcall(plain, args, (size_t)nargs, kwnames);
}

/* -- x[key] = y -------------------------------------------------------------------- */

/* y as an array of x's dtype whose memory x does not reach. New reference; NULL: an exception is set. */
static PyArrayObject *
as_value(PyArrayObject *x, PyObject *y)
{
    int flags = NPY_ARRAY_ALIGNED | NPY_ARRAY_FORCECAST;
    if (PyArray_CheckExact(y) && trace_overlap(x, (PyArrayObject *)y))
        flags |= NPY_ARRAY_ENSURECOPY;
    Py_INCREF(PyArray_DESCR(x));
    return (PyArrayObject *)PyArray_FromAny(y, PyArray_DESCR(x), 0, 0, flags, NULL);
}

/* Copies of what is in the memory of x, in its place in a tuple of our own. */
static bool
take_apart(PyArrayObject *x, PyObject *parts)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts); i++) {
        PyObject *part = PyTuple_GET_ITEM(parts, i);
        if (!PyArray_Check(part) || !trace_overlap(x, (PyArrayObject *)part))
            continue;
        PyObject *copy = PyArray_NewCopy((PyArrayObject *)part, NPY_KEEPORDER);
        if (!copy)
            return false;
        PyTuple_SET_ITEM(parts, i, copy);
        Py_DECREF(part);
    }
    return true;
}

/* False: nothing was written. */
static bool
put(PyArrayObject *x, PyObject *parts, PyArrayObject *y)
{
    PlaceKey key;
    char *data[RT_PLACE_INDICES + 2];
    int64_t bad;
    if (!take_apart(x, parts) || !read_key(&key, x, parts, data))
        return false;
    bool some = jit_place_space(&key);
    if (!jit_place_other(&key, (uint32_t)PyArray_NDIM(y), PyArray_DIMS(y),
                         PyArray_STRIDES(y), false))
        return false;
    if (!some)
        return true;
    data[key.place.nindices] = PyArray_BYTES(x);
    data[key.place.nindices + 1] = PyArray_BYTES(y);
    key.place.kind = RT_PLACE_put;
    rt_place_finish(&key.place);
    return rt_place_run(&key.place, data, &bad) == 0;
}

PyObject *
jit_own_setitem(PyObject *plain, PyObject *const *args, Py_ssize_t nargs,
                PyObject *kwnames)
{
    PyArrayObject *x = (PyArrayObject *)args[0], *y = NULL;
    PyObject *parts = NULL;
    bool done = false;
    bool apart = nargs == 3 && !(jit_mask_covers(x, args[1]) &&
                                 trace_overlap(x, (PyArrayObject *)args[1]));
    if (apart && !kwnames && jit_own_plain(args[0]) && PyArray_ISWRITEABLE(x))
        y = as_value(x, args[2]);
    if (y && jit_mask_leads(x, args[1]))
        done = jit_mask_store(x, (PyArrayObject *)args[1], y);
    if (y && !done && !(jit_mask_covers(x, args[1]) && PyArray_NDIM(y) > 1)) {
        parts = resolve(x, args[1]);
        done = parts && put(x, parts, y);
    }
    Py_XDECREF(parts);
    Py_XDECREF(y);
    if (done)
        Py_RETURN_NONE;
    PyErr_Clear(); /* NumPy's words */
    return PyObject_Vectorcall(plain, args, (size_t)nargs, kwnames);
}

/* -- x.item(...) ------------------------------------------------------------------- */

/* An element as a number of Python's: the only one, or that of a number in C order, or of one an axis. */
PyObject *
jit_own_item(PyObject *plain, PyObject *const *args, Py_ssize_t nargs,
             PyObject *kwnames)
{
    PyArrayObject *x = (PyArrayObject *)args[0];
    int ndim = nargs > 0 && jit_own_plain(args[0]) ? PyArray_NDIM(x) : -1;
    npy_intp size = ndim < 0 ? 0 : PyArray_SIZE(x);
    char *at = ndim < 0 ? NULL : PyArray_BYTES(x);
    bool known = !kwnames && ((nargs == 1 && size == 1) || (nargs == 2 && size > 0) ||
                              (nargs == ndim + 1 && size > 0));
    Py_ssize_t number = known && nargs == 2 && ndim != 1
                            ? PyNumber_AsSsize_t(args[1], PyExc_IndexError)
                            : 0;
    if (known && nargs == 2 && ndim != 1) {
        known = number >= -size && number < size && !PyErr_Occurred();
        number += number < 0 ? size : 0;
        for (int d = ndim; known && d-- > 0; number /= PyArray_DIM(x, d))
            at += number % PyArray_DIM(x, d) * PyArray_STRIDE(x, d);
    } else if (nargs > 1) {
        for (int d = 0; known && d < ndim; d++) {
            Py_ssize_t i = PyNumber_AsSsize_t(args[d + 1], PyExc_IndexError),
                       extent = PyArray_DIM(x, d);
            known = i >= -extent && i < extent && !PyErr_Occurred();
            at += known ? (i < 0 ? i + extent : i) * PyArray_STRIDE(x, d) : 0;
        }
    }
    PyErr_Clear(); /* NumPy's words */
    return known ? PyArray_GETITEM(x, at)
                 : PyObject_Vectorcall(plain, args, (size_t)nargs, kwnames);
}

bool
jit_own_fits_item(const OwnCall *call)
{
    OwnArray x, number;
    Py_ssize_t n = PyTuple_GET_SIZE(call->args);
    bool fits = n > 0 && !call->kwargs &&
                jit_own_array(call, PyTuple_GET_ITEM(call->args, 0), &x) && x.descr;
    for (Py_ssize_t i = 1; fits && i < n; i++) {
        PyObject *part = PyTuple_GET_ITEM(call->args, i);
        fits = PyLong_CheckExact(part) ||
               (jit_own_array(call, part, &number) && number.integer);
    }
    return fits;
}
