/* places.c - NumPy's rules for x[i, j, ...] with arrays of integers in it.
**
** A key is read part by part. What indexes x is known to the caller alone: a value of a graph
** (plan_places.c), or an array (indexing.c).
*/
#include "jit/places.h"

#include <string.h>

/* -- Parts ------------------------------------------------------------------------- */

bool
jit_place_index(PlaceKey *key, const PlaceIndex *index, uint32_t axis)
{
    RtPlace *place = &key->place;
    uint32_t k = place->nindices;
    if (k == RT_PLACE_INDICES)
        return false;
    key->index[k] = *index;
    place->axis[k] = (uint8_t)axis;
    place->extent[k] = key->shape[axis];
    place->step[k] = key->strides[axis];
    place->nindices++;
    return true;
}

bool
jit_place_rest(PlaceKey *key, uint32_t axis, PyObject *slice)
{
    Py_ssize_t extent = key->shape[axis], start = 0, stop = extent, step = 1;
    if (key->nrest == RT_PLACE_AXES)
        return false;
    if (slice && PySlice_Unpack(slice, &start, &stop, &step) < 0) {
        PyErr_Clear();
        return false;
    }
    extent = PySlice_AdjustIndices(extent, &start, &stop, step);
    key->place.offset += start * key->strides[axis];
    key->rest[key->nrest] = extent;
    key->rest_strides[key->nrest++] = step * key->strides[axis];
    return true;
}

/* None in a key: an axis of one element. */
static bool
add_axis(PlaceKey *key)
{
    if (key->nrest == RT_PLACE_AXES)
        return false;
    key->rest[key->nrest] = 1;
    key->rest_strides[key->nrest++] = 0;
    return true;
}

/* An int beside arrays of indices. */
static bool
add_number(PlaceKey *key, PyObject *part, uint32_t axis)
{
    Py_ssize_t i = PyLong_AsSsize_t(part), extent = key->shape[axis];
    if (i < -extent || i >= extent) {
        PyErr_Clear();
        return false;
    }
    key->place.offset += (i < 0 ? i + extent : i) * key->strides[axis];
    return true;
}

bool
jit_place_join(PlaceKey *key)
{
    for (uint32_t k = 0; k < key->place.nindices; k++) {
        if (key->index[k].ndim > key->nspace)
            key->nspace = key->index[k].ndim;
    }
    if (!key->nspace || key->nspace + key->nrest > RT_PLACE_AXES)
        return false;
    for (uint32_t d = 0; d < key->nspace; d++)
        key->space[d] = 1;
    for (uint32_t k = 0; k < key->place.nindices; k++) {
        uint32_t n = key->index[k].ndim, skip = key->nspace - n;
        for (uint32_t d = 0; d < n; d++) {
            intptr_t extent = key->index[k].shape[d];
            if (extent != 1 && key->space[skip + d] != 1 &&
                key->space[skip + d] != extent)
                return false;
            if (extent != 1)
                key->space[skip + d] = extent;
        }
    }
    return true;
}

/* -- Keys -------------------------------------------------------------------------- */

/* Axes of x that an Ellipsis in the key, or its end, stands for. */
static Py_ssize_t
left_over(const PlaceKey *key, PyObject *const *parts, Py_ssize_t n)
{
    Py_ssize_t used = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        used += parts[i] != Py_Ellipsis && parts[i] != Py_None;
    return (Py_ssize_t)key->ndim - used;
}

/* The axes from *axis on that no part is for. */
static bool
add_left(PlaceKey *key, Py_ssize_t left, uint32_t *axis)
{
    for (Py_ssize_t k = 0; k < left; k++) {
        if (!jit_place_rest(key, (*axis)++, NULL))
            return false;
    }
    return true;
}

/* Where indices stand side by side their axes come in their place, else in front. */
bool
jit_place_read(PlaceKey *key, PyObject *whole)
{
    PyObject *const *parts =
        PyTuple_CheckExact(whole) ? ((PyTupleObject *)whole)->ob_item : &whole;
    Py_ssize_t n = PyTuple_CheckExact(whole) ? PyTuple_GET_SIZE(whole) : 1;
    Py_ssize_t left = left_over(key, parts, n), last = -1;
    uint32_t axis = 0;
    bool apart = false, ellipsis = false;
    key->first = -1;
    if (left < 0)
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *part = parts[i];
        bool known = true;
        if (part == Py_Ellipsis) {
            known = !ellipsis && add_left(key, left, &axis);
            ellipsis = true;
        } else if (part == Py_None)
            known = add_axis(key);
        else if (PySlice_Check(part))
            known = jit_place_rest(key, axis++, part);
        else {
            known = PyLong_CheckExact(part) ? add_number(key, part, axis)
                                            : key->add(key, part, axis);
            if (key->first < 0)
                key->first = (int)key->nrest;
            apart |= last >= 0 && last != i - 1;
            last = i;
            axis++;
        }
        if (!known)
            return false;
    }
    if (!ellipsis && !add_left(key, left, &axis))
        return false;
    if (apart)
        key->first = 0;
    return key->place.nindices && jit_place_join(key);
}

/* -- The space --------------------------------------------------------------------- */

/* The strides of the indices over their axes, from axis `at` of the space on. */
static void
place_indices(PlaceKey *key, uint32_t at)
{
    for (uint32_t k = 0; k < key->place.nindices; k++) {
        const PlaceIndex *index = &key->index[k];
        uint32_t skip = key->nspace - index->ndim;
        for (uint32_t d = 0; d < index->ndim; d++)
            key->place.index[k][at + skip + d] =
                index->shape[d] == 1 ? 0 : index->strides[d];
    }
}

bool
jit_place_space(PlaceKey *key)
{
    RtPlace *place = &key->place;
    uint32_t first = (uint32_t)key->first, n = 0;
    intptr_t size = 1;
    for (uint32_t d = 0; d < first; d++) {
        place->shape[n] = key->rest[d];
        place->x[n++] = key->rest_strides[d];
    }
    place_indices(key, n);
    for (uint32_t d = 0; d < key->nspace; d++)
        place->shape[n++] = key->space[d];
    for (uint32_t d = first; d < key->nrest; d++) {
        place->shape[n] = key->rest[d];
        place->x[n++] = key->rest_strides[d];
    }
    place->ndim = n;
    for (uint32_t d = 0; d < n; d++)
        size *= place->shape[d];
    return size > 0;
}

bool
jit_place_other(PlaceKey *key, uint32_t ndim, const npy_intp *shape,
                const npy_intp *strides, bool whole)
{
    RtPlace *place = &key->place;
    uint32_t more = 0; /* leading axes of one element that the space has not */
    while (!whole && ndim - more > place->ndim && shape[more] == 1)
        more++;
    if (ndim - more > place->ndim || (whole && ndim != place->ndim))
        return false;
    uint32_t skip = place->ndim - (ndim - more);
    for (uint32_t d = more; d < ndim; d++) {
        intptr_t extent = shape[d];
        if (extent != place->shape[skip + d - more] && (whole || extent != 1))
            return false;
        place->y[skip + d - more] = extent == 1 ? 0 : strides[d];
    }
    return true;
}

/* Of several elements for one place NumPy has the last in the order in which its iterator goes over the
** indices: C order, if all of them are in that. */
bool
jit_place_puts_in_order(const PlaceKey *key)
{
    for (uint32_t k = 0; k < key->place.nindices; k++) {
        const PlaceIndex *index = &key->index[k];
        npy_intp step = sizeof(int64_t);
        for (uint32_t d = index->ndim; d-- > 0; step *= index->shape[d]) {
            if (index->ndim > 1 && index->shape[d] != 1 && index->strides[d] != step)
                return false;
        }
    }
    return key->first == 0 || key->nrest == 0;
}
