/* recall.c - x.tolist() and x.tobytes(): what came of them is a part of the plan.
**
** The plan holds only if they give again what the trace has seen. So once they have, the bytes of the array are
** kept; an array of the same bytes is not asked: comparing them takes a part of the time of making objects.
*/
#include <string.h>

#include "jit/execute.h"

enum { FEW = 16 }; /* elements that are as soon asked */

bool
jit_site_asks(PyObject *callable)
{
    if (Py_TYPE(callable) != &PyMethodDescr_Type ||
        PyDescr_TYPE(callable) != &PyArray_Type)
        return false;
    const char *name = PyUnicode_AsUTF8(PyDescr_NAME(callable));
    return name && (strcmp(name, "tolist") == 0 || strcmp(name, "tobytes") == 0);
}

/* True of numbers, bytes and lists of them. */
static bool
is_fixed(PyObject *template)
{
    for (Py_ssize_t i = 0; PyList_CheckExact(template) && i < PyList_GET_SIZE(template);
         i++) {
        if (!is_fixed(PyList_GET_ITEM(template, i)))
            return false;
    }
    return PyList_CheckExact(template) || PyLong_CheckExact(template) ||
           PyFloat_CheckExact(template) || PyComplex_CheckExact(template) ||
           PyBool_Check(template) || PyBytes_CheckExact(template);
}

void
jit_site_remember(JitSite *site, PyObject *object)
{
    if (!PyArray_CheckExact(object))
        return;
    PyArrayObject *array = (PyArrayObject *)object;
    if (PyArray_SIZE(array) < FEW || PyDataType_REFCHK(PyArray_DESCR(array)) ||
        !is_fixed(site->result)) {
        site->asks = false;
        return;
    }
    site->seen = PyArray_NewCopy(array, NPY_CORDER);
    if (!site->seen)
        PyErr_Clear();
}

bool
jit_site_recalls(const JitSite *site, PyObject *object)
{
    if (!PyArray_CheckExact(object))
        return false;
    PyArrayObject *array = (PyArrayObject *)object, *seen = (PyArrayObject *)site->seen;
    if (PyArray_NDIM(array) != PyArray_NDIM(seen) ||
        !PyArray_CompareLists(PyArray_DIMS(array), PyArray_DIMS(seen),
                              PyArray_NDIM(seen)) ||
        (PyArray_DESCR(array) != PyArray_DESCR(seen) &&
         !PyArray_EquivTypes(PyArray_DESCR(array), PyArray_DESCR(seen))))
        return false;
    PyObject *packed = PyArray_IS_C_CONTIGUOUS(array)
                           ? Py_NewRef(object)
                           : PyArray_NewCopy(array, NPY_CORDER);
    bool same = packed && memcmp(PyArray_DATA((PyArrayObject *)packed),
                                 PyArray_DATA(seen), PyArray_NBYTES(seen)) == 0;
    if (!packed)
        PyErr_Clear();
    Py_XDECREF(packed);
    return same;
}
