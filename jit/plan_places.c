/* plan_places.c - calls that index by arrays of integers as steps (runtime/place.c), without a call.
**
**     y = x[:, i]        operator.getitem(x, (slice(None), i))     ndarray.take(x, i, 1)
**     x[i, j] = y        operator.setitem(x, (i, j), y)            np.add.at(x, i, y)
**
** The trace has recorded the call, with its result. Here its space is worked out by NumPy's rules; where
** that is not the result's, or something is not known, the call stays what it is.
*/
#include <string.h>

#include "jit/planner.h"

typedef struct Indexing {
    Planner *p;
    RtPlace place;
    IrValue x, index[RT_PLACE_INDICES];
    PyObject *fixed[RT_PLACE_INDICES]; /* index arrays that are constants, owned; or NULL */
    int first;        /* axis of the result at which the indices' axes come */
    uint32_t nspace;  /* of those axes */
    intptr_t space[RT_PLACE_AXES];
    uint32_t nrest; /* axes of x that no index is along */
    intptr_t rest[RT_PLACE_AXES], strides[RT_PLACE_AXES];
} Indexing;

/* -- The key ----------------------------------------------------------------------- */

static IrType
type_of(const Indexing *s, IrValue value)
{
    return ir_type(s->p->g, value);
}

static intptr_t
extent_of(IrType type, uint32_t d)
{
    return (intptr_t)type.dims[d].value;
}

static const npy_intp *
strides_of(const Indexing *s, IrValue value)
{
    return s->p->trace->values[value].strides;
}

/* The value of a template; 0: it is none, or not in memory as its dtype says. */
static IrValue
value_of(const Indexing *s, PyObject *part)
{
    if (!trace_ref_check(s->p->state->trace, part))
        return 0;
    IrValue value = ((TraceRef *)part)->value;
    const TraceValue *v = value ? &s->p->trace->values[value] : NULL;
    return v && v->descr && PyArray_ISNBO(v->descr->byteorder) &&
                   (v->strides || !type_of(s, value).ndim)
               ? value
               : 0;
}

/* One more index, along an axis of x. */
static bool
add_index(Indexing *s, PyObject *part, uint32_t axis)
{
    RtPlace *place = &s->place;
    uint32_t k = place->nindices;
    if (k == RT_PLACE_INDICES)
        return false;
    if (PyList_CheckExact(part)) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(part); i++) {
            if (!PyLong_CheckExact(PyList_GET_ITEM(part, i)))
                return false;
        }
        s->fixed[k] = PyArray_FROM_OTF(part, NPY_INTP, NPY_ARRAY_CARRAY);
        if (!s->fixed[k]) {
            PyErr_Clear();
            return false;
        }
    } else {
        s->index[k] = value_of(s, part);
        if (!s->index[k] || type_of(s, s->index[k]).dtype != DT_int64)
            return false;
    }
    place->axis[k] = (uint8_t)axis;
    place->extent[k] = extent_of(type_of(s, s->x), axis);
    place->step[k] = strides_of(s, s->x)[axis];
    place->nindices++;
    return true;
}

static bool
add_rest(Indexing *s, uint32_t axis, PyObject *slice)
{
    Py_ssize_t extent = extent_of(type_of(s, s->x), axis), start = 0, stop = extent, step = 1;
    if (s->nrest == RT_PLACE_AXES)
        return false;
    if (slice && (trace_ref_check(s->p->state->trace, ((PySliceObject *)slice)->start) ||
                  trace_ref_check(s->p->state->trace, ((PySliceObject *)slice)->stop) ||
                  PySlice_Unpack(slice, &start, &stop, &step) < 0)) {
        PyErr_Clear();
        return false;
    }
    extent = PySlice_AdjustIndices(extent, &start, &stop, step);
    s->place.offset += start * strides_of(s, s->x)[axis];
    s->rest[s->nrest] = extent;
    s->strides[s->nrest++] = step * strides_of(s, s->x)[axis];
    return true;
}

/* An int beside arrays of indices. */
static bool
add_number(Indexing *s, PyObject *part, uint32_t axis)
{
    Py_ssize_t i = PyLong_AsSsize_t(part), extent = extent_of(type_of(s, s->x), axis);
    if (i < -extent || i >= extent) {
        PyErr_Clear();
        return false;
    }
    s->place.offset += (i < 0 ? i + extent : i) * strides_of(s, s->x)[axis];
    return true;
}

static uint32_t
ndim_of_index(const Indexing *s, uint32_t k)
{
    return s->fixed[k] ? (uint32_t)PyArray_NDIM((PyArrayObject *)s->fixed[k])
                       : type_of(s, s->index[k]).ndim;
}

static intptr_t
index_extent(const Indexing *s, uint32_t k, uint32_t d)
{
    return s->fixed[k] ? PyArray_DIM((PyArrayObject *)s->fixed[k], (int)d)
                       : extent_of(type_of(s, s->index[k]), d);
}

/* The axes of all indices, broadcast. */
static bool
join_indices(Indexing *s)
{
    for (uint32_t k = 0; k < s->place.nindices; k++) {
        if (ndim_of_index(s, k) > s->nspace)
            s->nspace = ndim_of_index(s, k);
    }
    if (!s->nspace || s->nspace + s->nrest > RT_PLACE_AXES)
        return false;
    for (uint32_t d = 0; d < s->nspace; d++)
        s->space[d] = 1;
    for (uint32_t k = 0; k < s->place.nindices; k++) {
        uint32_t n = ndim_of_index(s, k), skip = s->nspace - n;
        for (uint32_t d = 0; d < n; d++) {
            intptr_t extent = index_extent(s, k, d);
            if (extent != 1 && s->space[skip + d] != 1 && s->space[skip + d] != extent)
                return false;
            if (extent != 1)
                s->space[skip + d] = extent;
        }
    }
    return true;
}

/* Axes of x that an Ellipsis in the key, or its end, stands for. */
static Py_ssize_t
left_over(const Indexing *s, PyObject *const *parts, Py_ssize_t n)
{
    Py_ssize_t used = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        used += parts[i] != Py_Ellipsis;
    return (Py_ssize_t)type_of(s, s->x).ndim - used;
}

/* Where indices stand side by side their axes come in their place, else in front. */
static bool
read_key(Indexing *s, PyObject *key)
{
    PyObject *const *parts = PyTuple_CheckExact(key) ? ((PyTupleObject *)key)->ob_item : &key;
    Py_ssize_t n = PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 1;
    Py_ssize_t left = left_over(s, parts, n), last = -1;
    uint32_t axis = 0;
    bool apart = false, ellipsis = false;
    s->first = -1;
    if (left < 0)
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *part = parts[i];
        if (part == Py_Ellipsis) {
            if (ellipsis)
                return false;
            ellipsis = true;
            for (Py_ssize_t k = 0; k < left; k++) {
                if (!add_rest(s, axis++, NULL))
                    return false;
            }
        } else if (PySlice_Check(part)) {
            if (!add_rest(s, axis++, part))
                return false;
        } else {
            bool number = PyLong_CheckExact(part);
            if (!(number ? add_number(s, part, axis) : add_index(s, part, axis)))
                return false;
            if (s->first < 0)
                s->first = (int)s->nrest;
            apart |= last >= 0 && last != i - 1;
            last = i;
            axis++;
        }
    }
    for (Py_ssize_t k = 0; !ellipsis && k < left; k++) {
        if (!add_rest(s, axis++, NULL))
            return false;
    }
    if (apart)
        s->first = 0;
    return s->place.nindices && join_indices(s);
}

/* -- The space --------------------------------------------------------------------- */

/* The strides of the indices over their axes, from axis `at` of the space on. */
static void
place_indices(Indexing *s, uint32_t at)
{
    for (uint32_t k = 0; k < s->place.nindices; k++) {
        uint32_t n = ndim_of_index(s, k), skip = s->nspace - n;
        const npy_intp *strides = s->fixed[k] ? PyArray_STRIDES((PyArrayObject *)s->fixed[k])
                                  : n         ? strides_of(s, s->index[k])
                                              : NULL;
        for (uint32_t d = 0; d < n; d++)
            s->place.index[k][at + skip + d] = index_extent(s, k, d) == 1 ? 0 : strides[d];
    }
}

/* The axes of the result, in its order. False: there is nothing in it. */
static bool
make_space(Indexing *s)
{
    RtPlace *place = &s->place;
    uint32_t first = (uint32_t)s->first, n = 0;
    intptr_t size = 1;
    for (uint32_t d = 0; d < first; d++) {
        place->shape[n] = s->rest[d];
        place->x[n++] = s->strides[d];
    }
    place_indices(s, n);
    for (uint32_t d = 0; d < s->nspace; d++)
        place->shape[n++] = s->space[d];
    for (uint32_t d = first; d < s->nrest; d++) {
        place->shape[n] = s->rest[d];
        place->x[n++] = s->strides[d];
    }
    place->ndim = n;
    for (uint32_t d = 0; d < n; d++)
        size *= place->shape[d];
    return size > 0;
}

/* The strides of y, broadcast to the space. */
static bool
place_other(Indexing *s, IrValue y, bool whole)
{
    IrType type = type_of(s, y);
    const npy_intp *strides = strides_of(s, y);
    if (type.ndim > s->place.ndim || (whole && type.ndim != s->place.ndim))
        return false;
    uint32_t skip = s->place.ndim - type.ndim;
    for (uint32_t d = 0; d < type.ndim; d++) {
        intptr_t extent = extent_of(type, d);
        if (extent != s->place.shape[skip + d] && (whole || extent != 1))
            return false;
        s->place.y[skip + d] = extent == 1 ? 0 : strides[d];
    }
    return true;
}

/* Of several elements for one place NumPy has the last in the order in which its iterator goes over the
** indices: C order, if all of them are in that. */
static bool
in_order(const Indexing *s)
{
    for (uint32_t k = 0; k < s->place.nindices; k++) {
        uint32_t n = ndim_of_index(s, k);
        npy_intp step = sizeof(int64_t);
        for (uint32_t d = n; !s->fixed[k] && d-- > 0; step *= index_extent(s, k, d)) {
            if (n > 1 && index_extent(s, k, d) != 1 && strides_of(s, s->index[k])[d] != step)
                return false;
        }
    }
    return s->first == 0 || s->nrest == 0;
}

/* -- Calls ------------------------------------------------------------------------- */

/* x, and what an element of it is. */
static bool
read_array(Indexing *s, PyObject *part)
{
    s->x = value_of(s, part);
    IrType type = s->x ? type_of(s, s->x) : (IrType){0};
    uint32_t bytes = type.ndim ? ir_dtype_bytes(type.dtype) : 0;
    s->place.itemsize = (uint16_t)bytes;
    return bytes && bytes <= 32 && (bytes & (bytes - 1)) == 0;
}

/* The third argument, an axis of x; -1: none, or something else. Without one: that of an array of one. */
static int
read_axis(const Indexing *s, const TraceSite *site)
{
    Py_ssize_t n = PyTuple_GET_SIZE(site->args);
    PyObject *axis = n > 2 ? PyTuple_GET_ITEM(site->args, 2) : Py_None;
    Py_ssize_t nkw = site->kwargs ? PyDict_GET_SIZE(site->kwargs) : 0;
    PyObject *named = nkw ? PyDict_GetItemString(site->kwargs, "axis") : NULL;
    if (n < 2 || n > 3 || nkw > 1 || (nkw && (!named || n > 2)))
        return -1;
    axis = named ? named : axis;
    int ndim = (int)type_of(s, s->x).ndim;
    long number = axis == Py_None && ndim == 1 ? 0 : PyLong_CheckExact(axis) ? PyLong_AsLong(axis) : ndim;
    number += number < 0 ? ndim : 0;
    PyErr_Clear();
    return number < 0 || number >= ndim ? -1 : (int)number;
}

/* take_along_axis(x, i, axis): one index along an axis, on the others the same place as in i. */
static bool
read_along(Indexing *s, const TraceSite *site)
{
    IrType type = type_of(s, s->x);
    int axis = read_axis(s, site);
    RtPlace *place = &s->place;
    if (axis < 0 || type.ndim > RT_PLACE_AXES ||
        !add_index(s, PyTuple_GET_ITEM(site->args, 1), (uint32_t)axis) || s->fixed[0] ||
        ndim_of_index(s, 0) != type.ndim)
        return false;
    place->ndim = type.ndim;
    for (uint32_t d = 0; d < type.ndim; d++) {
        bool along = d == (uint32_t)axis;
        intptr_t n = index_extent(s, 0, d), extent = extent_of(type, d);
        if (!n || !extent || (!along && n != extent && n != 1))
            return false;
        place->shape[d] = along ? n : extent;
        place->x[d] = along ? 0 : strides_of(s, s->x)[d];
        place->index[0][d] = n == 1 ? 0 : strides_of(s, s->index[0])[d];
    }
    return true;
}

/* take(x, i), take(x, i, axis): of what is contiguous without an axis. */
static bool
read_take(Indexing *s, const TraceSite *site)
{
    int ndim = (int)type_of(s, s->x).ndim, number = read_axis(s, site);
    if (number < 0)
        return false;
    for (int d = 0; d < ndim; d++) {
        bool here = d == number;
        if (!(here ? add_index(s, PyTuple_GET_ITEM(site->args, 1), (uint32_t)d)
                   : add_rest(s, (uint32_t)d, NULL)))
            return false;
    }
    s->first = (int)number;
    return join_indices(s);
}

/* The memory of an array of the plan's own. */
static uint32_t
constant_slot(Planner *p, PyObject *array)
{
    uint32_t slot = jit_plan_slot_add(p, RT_SLOT_constant);
    jit_plan_keep(p, array);
    if (!p->failed)
        p->rt->slots[slot].data = PyArray_BYTES((PyArrayObject *)array);
    return slot;
}

/* True of a number with which np.add.at adds in float64, to another result. */
static bool
adds_finer(IrDtype dtype, PyObject *number)
{
    double value = PyBool_Check(number) ? 1 : PyFloat_AsDouble(number);
    PyErr_Clear();
    return (dtype == DT_float32 && (double)(float)value != value) ||
           (dtype == DT_uint64 && PyLong_CheckExact(number)) ||
           (ir_dtype_kind(dtype) != KIND_float && PyFloat_CheckExact(number));
}

/* y as an operand: a value of x's dtype, or a number in memory of the plan's. Its slot + 1; 0: neither. */
static uint32_t
other_slot(Indexing *s, PyObject *part)
{
    Planner *p = s->p;
    IrValue y = value_of(s, part);
    if (y)
        return type_of(s, y).dtype == type_of(s, s->x).dtype &&
                       p->root[y] != p->root[s->x] && place_other(s, y, false)
                   ? jit_plan_slot_of(p, y) + 1
                   : 0;
    if (!PyLong_CheckExact(part) && !PyFloat_CheckExact(part) && !PyBool_Check(part))
        return 0;
    if (s->place.kind != RT_PLACE_put && adds_finer(type_of(s, s->x).dtype, part))
        return 0;
    PyArray_Descr *descr = jit_descr(type_of(s, s->x).dtype);
    PyObject *array = descr ? PyArray_NewFromDescr(&PyArray_Type, descr, 0, NULL, NULL, NULL, 0, NULL)
                            : NULL;
    if (!array || PyArray_SETITEM((PyArrayObject *)array, PyArray_DATA((PyArrayObject *)array), part) < 0) {
        PyErr_Clear();
        Py_XDECREF(array);
        return 0;
    }
    uint32_t slot = constant_slot(p, array);
    Py_DECREF(array);
    return slot + 1;
}

/* Indices in the memory of x are another's. */
static bool
overlaps_indices(const Indexing *s)
{
    for (uint32_t k = 0; k < s->place.nindices; k++) {
        if (!s->fixed[k] && s->p->root[s->index[k]] == s->p->root[s->x])
            return true;
    }
    return false;
}

static void
step_add(Indexing *s, uint32_t y)
{
    Planner *p = s->p;
    uint32_t first = p->rt->noperands;
    RtPlace *places = jit_plan_grown(p, p->rt->places, p->rt->nplaces, &p->places_room, sizeof *places);
    if (!places)
        return;
    p->rt->places = places;
    for (uint32_t k = 0; k < s->place.nindices && !p->failed; k++) {
        uint32_t slot;
        slot = s->fixed[k] ? constant_slot(p, s->fixed[k]) : jit_plan_slot_of(p, s->index[k]);
        jit_plan_operand_add(p, slot);
    }
    jit_plan_operand_add(p, jit_plan_slot_of(p, s->x));
    jit_plan_operand_add(p, y);
    for (uint32_t k = first; k < p->rt->noperands && !p->failed; k++)
        jit_plan_touch(p, p->rt->operands[k]);
    rt_place_finish(&s->place);
    places[p->rt->nplaces] = s->place;
    jit_plan_step_add(p, RT_STEP_place, p->rt->nplaces++, first);
}

/* x[i, j, ...] with a key, take(x, i), or take_along_axis(x, i). */
static bool
read_call(Indexing *s, const TraceSite *site, TracePlace what)
{
    if (what == PLACE_along)
        return read_along(s, site);
    if (what == PLACE_take)
        return read_take(s, site) && make_space(s);
    return PyTuple_GET_SIZE(site->args) == 2 && read_key(s, PyTuple_GET_ITEM(site->args, 1)) &&
           make_space(s);
}

static bool
take_emit(Indexing *s, const TraceSite *site, TracePlace what)
{
    IrValue y = ir_result(s->p->g, site->node, 0);
    s->place.kind = RT_PLACE_take;
    if (!read_call(s, site, what) || !place_other(s, y, true))
        return false;
    uint32_t slot = jit_plan_slot_of(s->p, y);
    jit_plan_make_room(s->p, slot);
    step_add(s, slot);
    return true;
}

static bool
put_emit(Indexing *s, const TraceSite *site, TracePlace what)
{
    IrDtype dtype = type_of(s, s->x).dtype;
    IrKind kind = ir_dtype_kind(dtype);
    bool sums = what == PLACE_add_at || what == PLACE_subtract_at;
    s->place.kind = what == PLACE_add_at        ? RT_PLACE_add
                    : what == PLACE_subtract_at ? RT_PLACE_subtract
                                                : RT_PLACE_put;
    s->place.is_float = kind == KIND_float;
    if (PyTuple_GET_SIZE(site->args) != 3 || site->kwargs ||
        (sums && ((kind != KIND_float && kind != KIND_int && kind != KIND_uint) ||
                  s->place.itemsize < 4 || s->place.itemsize > 8)) ||
        (what == PLACE_put && type_of(s, s->x).ndim != 1) ||
        !read_key(s, PyTuple_GET_ITEM(site->args, 1)) || !make_space(s) || !in_order(s) ||
        overlaps_indices(s))
        return false;
    uint32_t y = other_slot(s, PyTuple_GET_ITEM(site->args, 2));
    if (!y || (what == PLACE_put && s->place.y[0] == 0 && s->place.shape[0] != 1))
        return false;
    step_add(s, y - 1);
    return true;
}

bool
jit_plan_place_emit(Planner *p, IrNode node)
{
    const TraceSite *site = &p->trace->sites[p->site[node] - 1];
    TracePlace what = site->kind == SITE_call && !site->compares && !site->epoch
                          ? trace_place(p->state->trace, site->callable)
                          : PLACE_none;
    bool takes = what == PLACE_getitem || what == PLACE_take || what == PLACE_along, done = false;
    if (what == PLACE_none || PyTuple_GET_SIZE(site->args) < 2 ||
        ir_node_op(p->g, node) != (takes ? OP_call : OP_call_update) ||
        ir_node_nresults(p->g, node) != 1)
        return false;
    Indexing *s = PyMem_Calloc(1, sizeof *s);
    if (!s)
        return false;
    s->p = p;
    if (read_array(s, PyTuple_GET_ITEM(site->args, 0)))
        done = takes ? take_emit(s, site, what) : put_emit(s, site, what);
    for (uint32_t k = 0; k < RT_PLACE_INDICES; k++)
        Py_XDECREF(s->fixed[k]);
    PyMem_Free(s);
    return done;
}
