/* path.c - how windows come about, and numbers: for other extents.
**
** A window's node has an offset, strides and a shape. What the program said is a key: `x[1:-1]`. Of a window on an array in
** C order that keys alone have made, these are its path. A plan for other extents (jit/resize.c, refit.c) applies them
** again, as NumPy would.
**
** Numbers of keys may follow from extents: `x[:len(x) // 2]`. Such a number is an expression, a tuple (operation, a, b) of
** expressions and ints, whose leaves are extents of arguments. A path is a tuple of keys, a key a tuple of parts, in which
** expressions stand for numbers.
*/
#include "trace/internal.h"

enum { DEPTH_MAX = 16, KEYS_MAX = 16 };

/* -- Numbers ----------------------------------------------------------------------- */

static bool
floor_divide(int64_t x, int64_t y, int64_t *quotient, int64_t *rest)
{
    if (y == 0 || y == -1)
        return false;
    *quotient = x / y;
    *rest = x % y;
    if (*rest && (*rest < 0) != (y < 0)) {
        *quotient -= 1;
        *rest += y;
    }
    return true;
}

static bool
extent_of_param(const TraceSizes *sizes, PyObject *param, PyObject *axis,
                int64_t *value)
{
    long i = PyLong_AsLong(param), d = PyLong_AsLong(axis);
    PyObject *object = i >= 0 && i < (long)sizes->nparams ? sizes->params[i] : NULL;
    if (!object || !PyArray_Check(object) || d >= PyArray_NDIM((PyArrayObject *)object))
        return false;
    *value = PyArray_DIM((PyArrayObject *)object, (int)d);
    return true;
}

static bool
extent_of_window(const TraceSizes *sizes, PyObject *path, PyObject *on, int64_t *value)
{
    TraceWindow window = {.ndim = (int)PyTuple_GET_SIZE(on) - 1};
    long axis = PyLong_AsLong(PyTuple_GET_ITEM(on, 0));
    for (int d = 0; d < window.ndim; d++) {
        int64_t extent;
        if (!trace_size_value(sizes, PyTuple_GET_ITEM(on, d + 1), &extent))
            return false;
        window.shape[d] = (npy_intp)extent;
        window.strides[d] = 0;
    }
    if (!trace_path_apply(sizes, path, &window) || axis >= window.ndim)
        return false;
    *value = window.shape[axis];
    return true;
}

static bool
apply(const TraceSizes *sizes, TraceSizeOp op, PyObject *x, PyObject *y, int64_t *value)
{
    int64_t a, b = 0, other;
    if (op == SIZE_extent)
        return extent_of_param(sizes, x, y, value);
    if (op == SIZE_window)
        return extent_of_window(sizes, x, y, value);
    if (!trace_size_value(sizes, x, &a) || !trace_size_value(sizes, y, &b))
        return false;
    switch (op) {
    case SIZE_add:
        return !__builtin_add_overflow(a, b, value);
    case SIZE_subtract:
        return !__builtin_sub_overflow(a, b, value);
    case SIZE_multiply:
        return !__builtin_mul_overflow(a, b, value);
    case SIZE_floor_divide:
        return floor_divide(a, b, value, &other);
    case SIZE_remainder:
        return floor_divide(a, b, &other, value);
    case SIZE_minimum:
        *value = b < a ? b : a;
        return true;
    case SIZE_maximum:
        *value = b > a ? b : a;
        return true;
    default:
        return false;
    }
}

bool
trace_size_value(const TraceSizes *sizes, PyObject *size, int64_t *value)
{
    if (PyTuple_CheckExact(size))
        return apply(sizes, (TraceSizeOp)PyLong_AsLong(PyTuple_GET_ITEM(size, 0)),
                     PyTuple_GET_ITEM(size, 1), PyTuple_GET_ITEM(size, 2), value);
    int overflow = 0;
    *value =
        PyLong_CheckExact(size) ? PyLong_AsLongLongAndOverflow(size, &overflow) : 0;
    return PyLong_CheckExact(size) && !overflow;
}

/* -- Windows ----------------------------------------------------------------------- */

static bool
bound_read(const TraceSizes *sizes, PyObject *bound, Py_ssize_t otherwise,
           Py_ssize_t *value)
{
    int64_t number;
    *value = otherwise;
    if (bound == Py_None)
        return true;
    if (!trace_size_value(sizes, bound, &number))
        return false;
    *value = (Py_ssize_t)number;
    return true;
}

static bool
slice_read(const TraceSizes *sizes, PyObject *part, npy_intp extent, int64_t *first,
           int64_t *by, int64_t *count)
{
    const PySliceObject *slice = (PySliceObject *)part;
    Py_ssize_t start, stop, step;
    if (!bound_read(sizes, slice->step, 1, &step) || step == 0 ||
        step < -PY_SSIZE_T_MAX ||
        !bound_read(sizes, slice->start, step < 0 ? PY_SSIZE_T_MAX : 0, &start) ||
        !bound_read(sizes, slice->stop, step < 0 ? PY_SSIZE_T_MIN : PY_SSIZE_T_MAX,
                    &stop))
        return false;
    *count = PySlice_AdjustIndices(extent, &start, &stop, step);
    *first = start;
    *by = step;
    return true;
}

/* One part of a key, on the axis `at` of the window as it was; false: it selects nothing there. */
static bool
part_apply(const TraceSizes *sizes, PyObject *part, const TraceWindow *was, int *at,
           TraceWindow *w)
{
    int64_t start, step, count;
    if (part == Py_None) {
        w->shape[w->ndim] = 1;
        w->strides[w->ndim++] = 0;
        return true;
    }
    if (*at >= was->ndim)
        return false;
    npy_intp extent = was->shape[*at], stride = was->strides[*at];
    if (PySlice_Check(part)) {
        if (!slice_read(sizes, part, extent, &start, &step, &count) || count <= 0)
            return false;
        w->offset += start * stride;
        w->shape[w->ndim] = count;
        w->strides[w->ndim++] = stride * step;
    } else {
        if (!trace_size_value(sizes, part, &start) || start < -extent ||
            start >= extent)
            return false;
        w->offset += (start + (start < 0 ? extent : 0)) * stride;
    }
    ++*at;
    return true;
}

bool
trace_reshape_apply(const npy_intp *shape, Py_ssize_t n, TraceWindow *window)
{
    npy_intp step = 0, next = 0, size = 1, product = 1;
    Py_ssize_t rest = -1;
    for (int d = window->ndim; d-- > 0;) {
        if (window->shape[d] == 1)
            continue;
        if (size > 1 && window->strides[d] != next)
            return false;
        step = size > 1 ? step : window->strides[d];
        next = window->strides[d] * window->shape[d];
        size *= window->shape[d];
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (shape[i] == -1 && rest >= 0)
            return false;
        if (shape[i] == -1)
            rest = i;
        else if (shape[i] < 1 || __builtin_mul_overflow(product, shape[i], &product))
            return false;
    }
    if (size < 2 || size % product || (rest < 0 && product != size))
        return false;
    window->ndim = (int)n;
    for (Py_ssize_t i = n; i-- > 0;) {
        window->shape[i] = i == rest ? size / product : shape[i];
        window->strides[i] = step;
        step *= window->shape[i];
    }
    return true;
}

static bool
is_shape(PyObject *key)
{
    return PyTuple_GET_SIZE(key) && PyUnicode_Check(PyTuple_GET_ITEM(key, 0));
}

/* ("reshape", …): the elements, which lie one behind the other in steps, under another shape. */
static bool
shape_apply(const TraceSizes *sizes, PyObject *said, TraceWindow *window)
{
    npy_intp shape[NPY_MAXDIMS];
    Py_ssize_t n = PyTuple_GET_SIZE(said) - 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        int64_t extent;
        if (!trace_size_value(sizes, PyTuple_GET_ITEM(said, i + 1), &extent))
            return false;
        shape[i] = (npy_intp)extent;
    }
    return trace_reshape_apply(shape, n, window);
}

static bool
key_apply(const TraceSizes *sizes, PyObject *key, TraceWindow *window)
{
    TraceWindow was = *window;
    Py_ssize_t n = PyTuple_GET_SIZE(key), axes = 0;
    int at = 0;
    bool open = true; /* no ellipsis yet */
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *part = PyTuple_GET_ITEM(key, i);
        axes += part != Py_None && part != Py_Ellipsis;
    }
    if (axes > was.ndim || was.ndim + n > NPY_MAXDIMS)
        return false;
    window->ndim = 0;
    for (Py_ssize_t i = 0; i <= n; i++) {
        PyObject *part = i < n ? PyTuple_GET_ITEM(key, i) : Py_Ellipsis;
        if (part != Py_Ellipsis) {
            if (!part_apply(sizes, part, &was, &at, window))
                return false;
            continue;
        }
        for (int k = was.ndim - (int)axes; open && k > 0; k--, at++) {
            window->shape[window->ndim] = was.shape[at];
            window->strides[window->ndim++] = was.strides[at];
        }
        open = false;
    }
    return true;
}

bool
trace_path_apply(const TraceSizes *sizes, PyObject *path, TraceWindow *window)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(path); i++) {
        PyObject *key = PyTuple_GET_ITEM(path, i);
        if (!(is_shape(key) ? shape_apply : key_apply)(sizes, key, window))
            return false;
    }
    return true;
}

/* -- Recording --------------------------------------------------------------------- */

static bool
is_number(PyObject *object)
{
    return PyLong_CheckExact(object) || PyTuple_CheckExact(object);
}

static bool
is_part(PyObject *part)
{
    if (!PySlice_Check(part))
        return part == Py_None || part == Py_Ellipsis || is_number(part);
    const PySliceObject *slice = (PySliceObject *)part;
    return (slice->start == Py_None || is_number(slice->start)) &&
           (slice->stop == Py_None || is_number(slice->stop)) &&
           (slice->step == Py_None || is_number(slice->step));
}

PyObject *
trace_path_add(const Tracer *on, PyObject *key)
{
    PyObject *before = on->whole ? NULL : on->path;
    Py_ssize_t n = before ? PyTuple_GET_SIZE(before) : 0;
    if (on->kind != TRACER_array || (!on->whole && !before) || n >= KEYS_MAX)
        return NULL;
    for (Py_ssize_t i = is_shape(key); i < PyTuple_GET_SIZE(key); i++) {
        if (!is_part(PyTuple_GET_ITEM(key, i)))
            return NULL;
    }
    PyObject *path = PyTuple_New(n + 1);
    for (Py_ssize_t i = 0; path && i < n; i++)
        PyTuple_SET_ITEM(path, i, Py_NewRef(PyTuple_GET_ITEM(before, i)));
    if (path)
        PyTuple_SET_ITEM(path, n, Py_NewRef(key));
    else
        PyErr_Clear();
    return path;
}

void
trace_extent_stays(Trace *trace, npy_intp extent)
{
    if (extent < TRACE_STAYING)
        trace->staying |= (uint64_t)1 << extent;
    else
        trace->extents = true;
}

void
trace_path_set(Trace *trace, IrValue value, PyObject *path)
{
    TraceValue *v = trace_value(trace, value);
    if (!v || v->path == Py_None)
        return;
    int same = v->path && path ? PyObject_RichCompareBool(v->path, path, Py_EQ)
                               : !v->path && path;
    if (same < 0)
        PyErr_Clear();
    if (same > 0 && v->path)
        return;
    /* The same window by other keys is another one for other extents. */
    Py_XSETREF(v->path, Py_NewRef(same > 0 ? path : Py_None));
}
