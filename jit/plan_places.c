/* plan_places.c - calls that index by arrays of integers as steps (runtime/place.c), without a call.
**
**     y = x[:, i]        operator.getitem(x, (slice(None), i))     ndarray.take(x, i, 1)
**     x[i, j] = y        operator.setitem(x, (i, j), y)            np.add.at(x, i, y)
**
** The trace has recorded the call, with its result. Here its space is worked out by NumPy's rules; where
** that is not the result's, or something is not known, the call stays what it is.
*/
#include <string.h>

#include "jit/places.h"
#include "jit/planner.h"

typedef struct Indexing {
    PlaceKey key;
    Planner *p;
    IrValue x, index[RT_PLACE_INDICES];
    PyObject
        *fixed[RT_PLACE_INDICES]; /* index arrays that are constants, owned; or NULL */
    npy_intp shape[NPY_MAXDIMS];  /* of x */
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

/* The shape of a value whose extents are numbers. */
static void
shape_of(const Indexing *s, IrValue value, npy_intp *shape)
{
    IrType type = type_of(s, value);
    for (uint32_t d = 0; d < type.ndim; d++)
        shape[d] = extent_of(type, d);
}

/* An array of ints that are written in the program. NULL: something else. New reference. */
static PyObject *
fixed_index(PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        if (!PyLong_CheckExact(PyList_GET_ITEM(list, i)))
            return NULL;
    }
    PyObject *array = PyArray_FROM_OTF(list, NPY_INTP, NPY_ARRAY_CARRAY);
    PyErr_Clear();
    return array;
}

/* One more index, along an axis of x. */
static bool
add_index(PlaceKey *key, PyObject *part, uint32_t axis)
{
    Indexing *s = key->context;
    PlaceIndex index = {.ndim = 1};
    npy_intp shape[NPY_MAXDIMS];
    const npy_intp *strides;
    uint32_t k = key->place.nindices;
    if (k == RT_PLACE_INDICES)
        return false;
    if (PyList_CheckExact(part)) {
        s->fixed[k] = fixed_index(part);
        if (!s->fixed[k])
            return false;
        shape[0] = PyArray_DIM((PyArrayObject *)s->fixed[k], 0);
        strides = PyArray_STRIDES((PyArrayObject *)s->fixed[k]);
    } else {
        s->index[k] = value_of(s, part);
        IrType type = s->index[k] ? type_of(s, s->index[k]) : (IrType){0};
        if (!s->index[k] || type.dtype != DT_int64 || type.ndim > RT_PLACE_AXES)
            return false;
        index.ndim = type.ndim;
        shape_of(s, s->index[k], shape);
        strides = strides_of(s, s->index[k]);
    }
    for (uint32_t d = 0; d < index.ndim; d++) {
        index.shape[d] = shape[d];
        index.strides[d] = strides[d];
    }
    return jit_place_index(key, &index, axis);
}

/* The strides of y, broadcast to the space. */
static bool
place_other(Indexing *s, IrValue y, bool whole)
{
    npy_intp shape[NPY_MAXDIMS];
    shape_of(s, y, shape);
    return jit_place_other(&s->key, type_of(s, y).ndim, shape, strides_of(s, y), whole);
}

/* True if the bounds of all slices are known. */
static bool
has_known_slices(const Indexing *s, PyObject *key)
{
    PyObject *const *parts =
        PyTuple_CheckExact(key) ? ((PyTupleObject *)key)->ob_item : &key;
    Py_ssize_t n = PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        const PySliceObject *slice = (PySliceObject *)parts[i];
        if (PySlice_Check(parts[i]) &&
            (trace_ref_check(s->p->state->trace, slice->start) ||
             trace_ref_check(s->p->state->trace, slice->stop) ||
             trace_ref_check(s->p->state->trace, slice->step)))
            return false;
    }
    return true;
}

/* -- Calls ------------------------------------------------------------------------- */

/* x, and what an element of it is. */
static bool
read_array(Indexing *s, PyObject *part)
{
    s->x = value_of(s, part);
    IrType type = s->x ? type_of(s, s->x) : (IrType){0};
    bool known = type.ndim && type.dtype != DT_object; /* what NumPy has beside these */
    uint32_t bytes = known ? ir_dtype_bytes(type.dtype) : 0;
    s->key.place.itemsize = (uint16_t)bytes;
    if (!bytes || bytes > 32 || (bytes & (bytes - 1)) != 0)
        return false;
    shape_of(s, s->x, s->shape);
    s->key.ndim = type.ndim;
    s->key.shape = s->shape;
    s->key.strides = strides_of(s, s->x);
    s->key.add = add_index;
    s->key.context = s;
    return true;
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
    long number = axis == Py_None && ndim == 1 ? 0
                  : PyLong_CheckExact(axis)    ? PyLong_AsLong(axis)
                                               : ndim;
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
    RtPlace *place = &s->key.place;
    if (axis < 0 || type.ndim > RT_PLACE_AXES ||
        !add_index(&s->key, PyTuple_GET_ITEM(site->args, 1), (uint32_t)axis) ||
        s->fixed[0] || s->key.index[0].ndim != type.ndim)
        return false;
    place->ndim = type.ndim;
    for (uint32_t d = 0; d < type.ndim; d++) {
        bool along = d == (uint32_t)axis;
        intptr_t n = s->key.index[0].shape[d], extent = extent_of(type, d);
        if (!n || !extent || (!along && n != extent && n != 1))
            return false;
        place->shape[d] = along ? n : extent;
        place->x[d] = along ? 0 : strides_of(s, s->x)[d];
        place->index[0][d] = n == 1 ? 0 : s->key.index[0].strides[d];
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
        if (!(here ? add_index(&s->key, PyTuple_GET_ITEM(site->args, 1), (uint32_t)d)
                   : jit_place_rest(&s->key, (uint32_t)d, NULL)))
            return false;
    }
    s->key.first = (int)number;
    return jit_place_join(&s->key);
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
    if (s->key.place.kind != RT_PLACE_put && adds_finer(type_of(s, s->x).dtype, part))
        return 0;
    PyArray_Descr *descr = jit_descr(type_of(s, s->x).dtype);
    PyObject *array =
        descr ? PyArray_NewFromDescr(&PyArray_Type, descr, 0, NULL, NULL, NULL, 0, NULL)
              : NULL;
    if (!array || PyArray_SETITEM((PyArrayObject *)array,
                                  PyArray_DATA((PyArrayObject *)array), part) < 0) {
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
    for (uint32_t k = 0; k < s->key.place.nindices; k++) {
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
    RtPlace *places = jit_plan_grown(p, p->rt->places, p->rt->nplaces, &p->places_room,
                                     sizeof *places);
    if (!places)
        return;
    p->rt->places = places;
    for (uint32_t k = 0; k < s->key.place.nindices && !p->failed; k++) {
        uint32_t slot;
        slot = s->fixed[k] ? constant_slot(p, s->fixed[k])
                           : jit_plan_slot_of(p, s->index[k]);
        jit_plan_operand_add(p, slot);
    }
    jit_plan_operand_add(p, jit_plan_slot_of(p, s->x));
    jit_plan_operand_add(p, y);
    for (uint32_t k = first; k < p->rt->noperands && !p->failed; k++)
        jit_plan_touch(p, p->rt->operands[k]);
    rt_place_finish(&s->key.place);
    places[p->rt->nplaces] = s->key.place;
    jit_plan_step_add(p, RT_STEP_place, p->rt->nplaces++, first);
}

static bool
read_key(Indexing *s, PyObject *key)
{
    return has_known_slices(s, key) && jit_place_read(&s->key, key);
}

/* x[i, j, ...] with a key, take(x, i), or take_along_axis(x, i). */
static bool
read_call(Indexing *s, const TraceSite *site, TracePlace what)
{
    if (what == PLACE_along)
        return read_along(s, site);
    if (what == PLACE_take)
        return read_take(s, site) && jit_place_space(&s->key);
    return PyTuple_GET_SIZE(site->args) == 2 &&
           read_key(s, PyTuple_GET_ITEM(site->args, 1)) && jit_place_space(&s->key);
}

static bool
take_emit(Indexing *s, const TraceSite *site, TracePlace what)
{
    IrValue y = ir_result(s->p->g, site->node, 0);
    s->key.place.kind = RT_PLACE_take;
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
    static const RtPlaceKind kinds[] = {
        [PLACE_setitem] = RT_PLACE_put,
        [PLACE_put] = RT_PLACE_put,
        [PLACE_add_at] = RT_PLACE_add,
        [PLACE_subtract_at] = RT_PLACE_subtract,
        [PLACE_multiply_at] = RT_PLACE_multiply,
        [PLACE_maximum_at] = RT_PLACE_maximum,
        [PLACE_minimum_at] = RT_PLACE_minimum,
    };
    bool sums = kinds[what] != RT_PLACE_put;
    s->key.place.kind = kinds[what];
    s->key.place.is_float = kind == KIND_float;
    s->key.place.is_signed = kind == KIND_int;
    if (PyTuple_GET_SIZE(site->args) != 3 || site->kwargs ||
        (sums && ((kind != KIND_float && kind != KIND_int && kind != KIND_uint) ||
                  s->key.place.itemsize < 4 || s->key.place.itemsize > 8)) ||
        (what == PLACE_put && type_of(s, s->x).ndim != 1) ||
        !read_key(s, PyTuple_GET_ITEM(site->args, 1)) || !jit_place_space(&s->key) ||
        !jit_place_puts_in_order(&s->key) || overlaps_indices(s))
        return false;
    uint32_t y = other_slot(s, PyTuple_GET_ITEM(site->args, 2));
    if (!y ||
        (what == PLACE_put && s->key.place.y[0] == 0 && s->key.place.shape[0] != 1))
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
    bool takes = what == PLACE_getitem || what == PLACE_take || what == PLACE_along,
         done = false;
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
