/* rounding.c - functions of NumPy that are several ufuncs of each element: round, clip, conj, iscomplex, isreal. */
#include "trace/composed.h"
#include "trace/elementwise.h"

/* x op number, as a ufunc. */
static PyObject *
with_number(Trace *trace, OperatorId id, PyObject *x, PyObject *number)
{
    PyObject *operands[2] = {x, number};
    PyObject *result = trace_ufunc(trace, trace->state->ufuncs[id], operands, 2, NULL);
    if (result == Py_NotImplemented)
        Py_SETREF(result, trace_scalars(trace, operands, 2, id));
    return result;
}

/* -- round ------------------------------------------------------------------------- */

enum {
    DECIMALS_MAX = 22,
    HALF_DECIMALS_MAX = 4
}; /* powers of ten that are exact, or float16 has */

bool
trace_in_one_piece(const Tracer *x)
{
    npy_intp strides[NPY_MAXDIMS], size = PyArray_MultiplyList(x->shape, x->ndim);
    trace_layout_copy(x->ndim, x->shape, x->strides, PyDataType_ELSIZE(x->descr),
                      PyDataType_ELSIZE(x->descr), strides);
    bool c = true, fortran = true;
    npy_intp step = PyDataType_ELSIZE(x->descr), back = step;
    for (int d = 0; d < x->ndim; d++) {
        int e = x->ndim - 1 - d;
        fortran &= x->shape[d] == 1 || x->strides[d] == step;
        c &= x->shape[e] == 1 || x->strides[e] == back;
        step *= x->shape[d];
        back *= x->shape[e];
    }
    return size && (c || fortran);
}

/* x * 10**d rounded to whole numbers, divided again; for d < 0 the other way round. */
static PyObject *
scaled_and_back(Trace *trace, PyObject *x, long decimals)
{
    double power = 1;
    for (long i = 0; i < Py_ABS(decimals); i++)
        power *= 10;
    PyObject *number = PyFloat_FromDouble(power), *rounded = NULL, *result = NULL;
    OperatorId there = decimals > 0 ? OPERATOR_mul : OPERATOR_truediv,
               back = decimals > 0 ? OPERATOR_truediv : OPERATOR_mul;
    PyObject *scaled = number ? with_number(trace, there, x, number) : NULL;
    if (trace_is_made(scaled))
        rounded = trace_numpy_call(trace, "rint", PyTuple_Pack(1, scaled));
    if (trace_is_made(rounded))
        result = with_number(trace, back, rounded, number);
    else if (!PyErr_Occurred())
        result = trace_not_here();
    Py_XDECREF(number);
    Py_XDECREF(scaled);
    Py_XDECREF(rounded);
    return result;
}

/* The same of a scalar of NumPy's. */
static PyObject *
rounded_scalar(Trace *trace, PyObject *scalar, long decimals)
{
    const Tracer *x = tracer_check(trace->state, scalar) ? (Tracer *)scalar : NULL;
    bool known =
        x && x->kind == TRACER_scalar &&
        (x->descr->type_num == NPY_DOUBLE || x->descr->type_num == NPY_FLOAT) &&
        decimals <= DECIMALS_MAX && decimals >= -DECIMALS_MAX;
    return !known          ? trace_not_here()
           : decimals == 0 ? trace_numpy_call(trace, "rint", PyTuple_Pack(1, scalar))
                           : scaled_and_back(trace, scalar, decimals);
}

PyObject *
trace_make_round(Trace *trace, PyObject *const *arguments)
{
    Tracer *x = trace_as_array(trace, arguments[0]);
    PyObject *given = arguments[1], *copy;
    long decimals = given && PyLong_CheckExact(given) ? PyLong_AsLong(given) : 0;
    int type = x ? x->descr->type_num : NPY_OBJECT;
    long most = type == NPY_HALF ? HALF_DECIMALS_MAX : DECIMALS_MAX;
    bool whole = PyTypeNum_ISINTEGER(type);
    if (!x && arguments[0] && (!given || PyLong_CheckExact(given)) &&
        (!arguments[2] || arguments[2] == Py_None))
        return rounded_scalar(trace, arguments[0], decimals);
    if (!x || (given && !PyLong_CheckExact(given)) ||
        !(whole || PyTypeNum_ISFLOAT(type)) || decimals > most || decimals < -most)
        return trace_not_here();
    if (whole && decimals >= 0)
        return trace_copy(trace, x, 'K');
    if (!trace_in_one_piece(x) && decimals) { /* the result lies in C order */
        copy = trace_copy(trace, x, 'C');
        if (!trace_is_made(copy))
            return copy;
        PyObject *again[2] = {copy, given};
        PyObject *rounded = trace_in_one_piece((Tracer *)copy)
                                ? trace_make_round(trace, again)
                                : trace_not_here();
        Py_DECREF(copy);
        return rounded;
    }
    if (decimals == 0)
        return trace_in_one_piece(x)
                   ? trace_numpy_call(trace, "rint", PyTuple_Pack(1, arguments[0]))
                   : trace_not_here();
    PyObject *result = scaled_and_back(trace, arguments[0], decimals);
    if (whole && trace_is_made(result))
        Py_SETREF(result, trace_astype(trace, (Tracer *)result, x->descr));
    return result;
}

/* -- clip -------------------------------------------------------------------------- */

/* Clipped, and stored in an array of the same kind. */
static PyObject *
clip_into(Trace *trace, PyObject *const *arguments)
{
    PyObject *plain[4] = {arguments[0], arguments[1], arguments[2], NULL};
    Tracer *out = trace_as_array(trace, arguments[3]),
           *x = trace_as_array(trace, arguments[0]);
    bool fits = out && out->ndim == x->ndim &&
                out->descr->type_num == x->descr->type_num &&
                memcmp(out->shape, x->shape, (size_t)x->ndim * sizeof *x->shape) == 0 &&
                trace_may_write(out, x->descr->type_num);
    PyObject *result = fits ? trace_make_clip(trace, plain) : trace_not_here();
    if (!trace_is_made(result))
        return result;
    if (((Tracer *)result)->descr->type_num != out->descr->type_num ||
        ((Tracer *)result)->ndim != out->ndim ||
        memcmp(((Tracer *)result)->shape, out->shape,
               (size_t)out->ndim * sizeof *out->shape) != 0) {
        Py_DECREF(result);
        return trace_not_here();
    }
    PyObject *written = trace_write_whole(trace, out, (Tracer *)result);
    Py_DECREF(result);
    return written;
}

static bool
is_float(PyObject *low, PyObject *high)
{
    return (low && PyFloat_CheckExact(low)) || (high && PyFloat_CheckExact(high));
}

/* Integers between Python's floats are float64. */
static PyObject *
clip_as_float(Trace *trace, PyObject *x, PyObject *low, PyObject *high)
{
    PyArray_Descr *descr = PyArray_DescrFromType(NPY_DOUBLE);
    PyObject *floats = trace_astype(trace, (Tracer *)x, descr), *result = floats;
    Py_DECREF(descr);
    if (trace_is_made(floats)) {
        PyObject *plain[4] = {floats, low, high, NULL};
        result = trace_make_clip(trace, plain);
        Py_DECREF(floats);
    }
    return result;
}

/* True of a Python int that no element is beyond, which NumPy leaves out. */
static bool
bounds_nothing(const Tracer *x, PyObject *bound, bool high)
{
    unsigned bits = 8 * (unsigned)PyDataType_ELSIZE(x->descr);
    bool sign = PyTypeNum_ISSIGNED(x->descr->type_num);
    uint64_t most = UINT64_MAX >> (64 - bits + sign);
    if (!PyLong_CheckExact(bound))
        return false;
    PyObject *end = high   ? PyLong_FromUnsignedLongLong(most)
                    : sign ? PyLong_FromLongLong(-(int64_t)most - 1)
                           : PyLong_FromLong(0);
    int beyond = end ? PyObject_RichCompareBool(bound, end, high ? Py_GE : Py_LE) : -1;
    Py_XDECREF(end);
    PyErr_Clear();
    return beyond > 0;
}

/* clip(x, low, high) with a bound on both sides, or on one: that is a maximum or a minimum. */
PyObject *
trace_make_clip(Trace *trace, PyObject *const *arguments)
{
    PyObject *low = arguments[1] == Py_None ? NULL : arguments[1];
    PyObject *high = arguments[2] == Py_None ? NULL : arguments[2];
    Tracer *x = trace_as_array(trace, arguments[0]);
    if (!x)
        return trace_not_here();
    if (arguments[3] && arguments[3] != Py_None)
        return clip_into(trace, arguments);
    if (PyTypeNum_ISINTEGER(x->descr->type_num)) {
        low = low && bounds_nothing(x, low, false) ? NULL : low;
        high = high && bounds_nothing(x, high, true) ? NULL : high;
        if (is_float(low, high))
            return clip_as_float(trace, arguments[0], low, high);
    }
    if (!low && !high)
        return trace_numpy_call(trace, "positive", PyTuple_Pack(1, arguments[0]));
    PyObject *operands[3] = {arguments[0], low, high};
    if (low && high)
        return trace_clip(trace, operands);
    PyObject *numpy = PyImport_ImportModule("numpy"), *result = NULL;
    PyObject *ufunc =
        numpy ? PyObject_GetAttrString(numpy, low ? "maximum" : "minimum") : NULL;
    operands[1] = low ? low : high;
    if (ufunc)
        result = trace_ufunc(trace, ufunc, operands, 2, NULL);
    Py_XDECREF(ufunc);
    Py_XDECREF(numpy);
    return result;
}

/* -- complex numbers ----------------------------------------------------------------- */

/* Of numbers that are real it is the array itself. */
PyObject *
trace_make_conjugate(Trace *trace, PyObject *const *arguments)
{
    Tracer *x = trace_as_array(trace, arguments[0]);
    if (!x)
        return trace_not_here();
    return PyTypeNum_ISCOMPLEX(x->descr->type_num)
               ? trace_numpy_call(trace, "conjugate", PyTuple_Pack(1, arguments[0]))
               : Py_NewRef(arguments[0]);
}

/* x.imag compared with zero, of complex numbers. */
static PyObject *
imaginary_compared(Trace *trace, PyObject *object, int compare)
{
    const Tracer *x = trace_as_array(trace, object);
    if (!x || !PyTypeNum_ISCOMPLEX(x->descr->type_num))
        return trace_not_here();
    PyObject *part = PyObject_GetAttrString(object, "imag"), *zero = PyLong_FromLong(0);
    PyObject *result = part && zero ? PyObject_RichCompare(part, zero, compare) : NULL;
    Py_XDECREF(part);
    Py_XDECREF(zero);
    return result;
}

PyObject *
trace_make_is_complex(Trace *trace, PyObject *const *arguments)
{
    return imaginary_compared(trace, arguments[0], Py_NE);
}

PyObject *
trace_make_is_real(Trace *trace, PyObject *const *arguments)
{
    return imaginary_compared(trace, arguments[0], Py_EQ);
}
