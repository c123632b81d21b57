/* leaves.c - numpy.array of lists of numbers, nested or not: an array of the constants among them, into
** which the others are stored.
*/
#include <string.h>

#include "trace/composed.h"
#include "trace/elementwise.h"

enum { LEAVES_MAX = 64 };

typedef struct Leaves {
    PyObject *traced[LEAVES_MAX]; /* borrowed */
    npy_intp place[LEAVES_MAX];   /* in C order */
    int n;
    npy_intp count; /* of all */
} Leaves;

/* The scalar, number or array without axes that a leaf stands for now; NULL: something else. */
static PyObject *
real_leaf(Trace *trace, PyObject *object)
{
    if (!tracer_check(trace->state, object))
        return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
                       PyComplex_CheckExact(object)
                   ? object
                   : NULL;
    Tracer *tracer = (Tracer *)object;
    bool known = tracer->trace == trace && tracer->ndim == 0 && tracer_plain(tracer) &&
                 tracer->kind != TRACER_int && tracer->kind != TRACER_index;
    return known ? tracer_object(tracer) : NULL;
}

/* The lists again with real leaves. New reference; NULL: there is something else in them. */
static PyObject *
real_lists(Trace *trace, PyObject *object, Leaves *leaves)
{
    if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) {
        PyObject *real = real_leaf(trace, object);
        if (!real || leaves->count == LEAVES_MAX)
            return NULL;
        if (tracer_check(trace->state, object)) {
            leaves->traced[leaves->n] = object;
            leaves->place[leaves->n++] = leaves->count;
        }
        leaves->count++;
        return Py_NewRef(real);
    }
    Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
    PyObject *list = n <= LEAVES_MAX ? PyList_New(n) : NULL;
    for (Py_ssize_t i = 0; list && i < n; i++) {
        PyObject *item = real_lists(trace, PySequence_Fast_GET_ITEM(object, i), leaves);
        if (item)
            PyList_SET_ITEM(list, i, item);
        else
            Py_CLEAR(list);
    }
    return list;
}

/* A leaf as a scalar of the array's dtype. */
static PyObject *
as_element(Trace *trace, PyObject *leaf, PyArray_Descr *descr)
{
    const Tracer *x = (Tracer *)leaf;
    if (x->kind != TRACER_float && x->descr->type_num == descr->type_num)
        return Py_NewRef(leaf);
    if (x->kind == TRACER_float ? !PyTypeNum_ISFLOAT(descr->type_num) && !PyTypeNum_ISCOMPLEX(descr->type_num)
                                : !trace_casts_plainly(x->descr->type_num, descr->type_num))
        return trace_not_here();
    if (x->kind == TRACER_array)
        return trace_zero_dim(trace, leaf, (PyObject *)descr);
    return trace_number(trace, (PyObject *)descr->typeobj, leaf);
}

/* numpy.array of what the lists hold but for the traced leaves. New reference. */
static PyObject *
array_of_constants(Trace *trace, PyArrayObject *now, const Leaves *leaves)
{
    PyObject *constants = PyArray_NewCopy(now, NPY_CORDER), *list = NULL, *result = NULL;
    for (int i = 0; constants && i < leaves->n; i++)
        memset(PyArray_BYTES((PyArrayObject *)constants) +
                   leaves->place[i] * PyArray_ITEMSIZE(now), 0, (size_t)PyArray_ITEMSIZE(now));
    if (constants)
        list = PyArray_ToList((PyArrayObject *)constants);
    if (list)
        result = trace_numpy_call(trace, "array", PyTuple_Pack(2, list, PyArray_DESCR(now)));
    Py_XDECREF(list);
    Py_XDECREF(constants);
    return result;
}

static int
store_leaf(PyObject *result, npy_intp place, PyObject *element)
{
    const Tracer *x = (Tracer *)result;
    PyObject *key = PyTuple_New(x->ndim);
    for (int d = x->ndim; key && d-- > 0; place /= x->shape[d])
        PyTuple_SET_ITEM(key, d, PyLong_FromSsize_t(place % x->shape[d]));
    int status = key ? PyObject_SetItem(result, key, element) : -1;
    Py_XDECREF(key);
    return status;
}

PyObject *
trace_leaves(Trace *trace, PyObject *lists, PyObject *dtype)
{
    Leaves leaves = {.n = 0};
    PyArray_Descr *descr = NULL;
    if (!trace->live || (dtype && dtype != Py_None &&
                         (tracer_check(trace->state, dtype) || !PyArray_DescrConverter(dtype, &descr))))
        return trace_not_here();
    PyObject *real = real_lists(trace, lists, &leaves), *result = NULL;
    PyArrayObject *now = NULL;
    if (real && leaves.n)
        now = (PyArrayObject *)PyArray_FromAny(real, descr, 0, 0, NPY_ARRAY_ENSURECOPY, NULL);
    else
        Py_XDECREF(descr);
    Py_XDECREF(real);
    bool known = now && PyArray_CheckExact((PyObject *)now) && trace_descr_plain(PyArray_DESCR(now)) &&
                 PyArray_SIZE(now) == leaves.count;
    if (known)
        result = array_of_constants(trace, now, &leaves);
    for (int i = 0; result && result != Py_NotImplemented && i < leaves.n; i++) {
        PyObject *element = as_element(trace, leaves.traced[i], PyArray_DESCR(now));
        if (!element || element == Py_NotImplemented || store_leaf(result, leaves.place[i], element) < 0)
            Py_SETREF(result, trace_not_here());
        Py_XDECREF(element);
    }
    Py_XDECREF(now);
    return result ? result : trace_not_here();
}
