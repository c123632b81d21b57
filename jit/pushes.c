/* pushes.c - lists that nests fill.
**
** Code puts numbers into memory that grows, each with a word that says what it is in Python. Where the nest has come to
** its end, objects are made of them, and the list gets these. Law: where the nest is left in the middle the list is as it
** was.
*/
#include "jit/pushes.h"

#include <stdlib.h>
#include <string.h>

typedef struct Item {
    union {
        double real;
        int64_t whole;
    } as;
    int64_t what; /* and a tag from bit TAG on */
} Item;

enum { TAG = 48 };

struct JitItems {
    size_t n, room,
        before;    /* before: the list's own, those that were never taken away */
    int64_t count; /* of what was put, in objects */
    bool half;     /* the imaginary part is to come */
    Item *items;
};

enum { ROOM_MIN = 64 };

static int
type_of(const Item *item)
{
    return (int)(item->what >> 8 & 0xffff);
}

/* -- Functions that code calls ------------------------------------------------------ */

/* 0: there is no memory, and the nest is left. */
static int64_t
push(struct JitItems *all, Item item)
{
    if (all->n == all->room) {
        size_t room = all->room ? 2 * all->room : ROOM_MIN;
        Item *items = realloc(all->items, room * sizeof *all->items);
        if (!items)
            return 0;
        all->items = items;
        all->room = room;
    }
    all->items[all->n++] = item;
    return 1;
}

/* A number, or half of it. */
static int64_t
push_part(struct JitItems *all, Item item)
{
    int type = type_of(&item);
    all->count += !all->half;
    all->half = !all->half && (type == NPY_CDOUBLE || type == NPY_CFLOAT);
    return push(all, item);
}

static int64_t
push_float(JitDrawSource *source, double number, int64_t what, int64_t tag)
{
    return push_part(source->items, (Item){{.real = number}, what | tag << TAG});
}

static int64_t
push_int(JitDrawSource *source, int64_t number, int64_t what, int64_t tag)
{
    return push_part(source->items, (Item){{.whole = number}, what | tag << TAG});
}

static int64_t
push_group(JitDrawSource *source, int64_t n, int64_t what, int64_t tag)
{
    source->items->count += 1 - n;
    return push(source->items, (Item){{.whole = n}, what | tag << TAG});
}

static int64_t
list_length(JitDrawSource *source)
{
    return source->items->count + PyList_GET_SIZE(source->object);
}

static double
list_float(JitDrawSource *source, int64_t i)
{
    return source->items->items[i].as.real;
}

static int64_t
list_int(JitDrawSource *source, int64_t i)
{
    return source->items->items[i].as.whole;
}

static int64_t
list_tag(JitDrawSource *source, int64_t i)
{
    return source->items->items[i].what >> TAG;
}

static int64_t
list_drop(JitDrawSource *source, int64_t unused)
{
    struct JitItems *all = source->items;
    all->n--;
    all->count--;
    if (all->n < all->before) /* it is another one from here on */
        all->before = all->n;
    return unused;
}

void
jit_push_function(TraceDraw function, void *to)
{
    int64_t (*push_real)(JitDrawSource *, double, int64_t, int64_t) = push_float;
    int64_t (*push_whole)(JitDrawSource *, int64_t, int64_t, int64_t) =
        function == PUSH_group ? push_group : push_int;
    int64_t (*length)(JitDrawSource *) = list_length;
    double (*real)(JitDrawSource *, int64_t) = list_float;
    int64_t (*whole)(JitDrawSource *, int64_t) = function == LIST_tag    ? list_tag
                                                 : function == LIST_drop ? list_drop
                                                                         : list_int;
    if (function == PUSH_float)
        memcpy(to, &push_real, sizeof push_real);
    else if (function == LIST_length)
        memcpy(to, &length, sizeof length);
    else if (function == LIST_float)
        memcpy(to, &real, sizeof real);
    else if (function == PUSH_int || function == PUSH_group)
        memcpy(to, &push_whole, sizeof push_whole);
    else
        memcpy(to, &whole, sizeof whole);
}

/* -- Items that are there ----------------------------------------------------------- */

/* NumPy's number of the type. */
static bool
take_scalar(PyObject *object, int type, Item *item)
{
    PyArray_Descr *descr =
        PyArray_CheckScalar(object) ? PyArray_DescrFromScalar(object) : NULL;
    bool same = descr && descr->type_num == type;
    bool real = PyTypeNum_ISFLOAT(type);
    PyArray_Descr *wide = same ? PyArray_DescrFromType(real ? NPY_DOUBLE : NPY_INT64)
                               : NULL; /* of uint64 the bits */
    if (same && type == NPY_UINT64)
        PyArray_ScalarAsCtype(object, &item->as.whole);
    else if (wide && real)
        same = PyArray_CastScalarToCtype(object, &item->as.real, wide) == 0;
    else if (wide)
        same = PyArray_CastScalarToCtype(object, &item->as.whole, wide) == 0;
    Py_XDECREF(descr);
    Py_XDECREF(wide);
    PyErr_Clear();
    return same;
}

static bool
take_item(PyObject *object, const TraceNestNumber *like, Item *item)
{
    int overflow = 0;
    switch (like->kind) {
    case 'i':
        if (!PyLong_CheckExact(object))
            return false;
        item->as.whole = PyLong_AsLongLongAndOverflow(object, &overflow);
        return !overflow;
    case 'f':
        item->as.real = PyFloat_CheckExact(object) ? PyFloat_AS_DOUBLE(object) : 0;
        return PyFloat_CheckExact(object);
    case 's':
        return take_scalar(object, like->type, item);
    default: /* a float, Python's or NumPy's */
        item->what =
            (int64_t)(PyFloat_CheckExact(object) ? NEST_TAG_float : NEST_TAG_numpy)
            << TAG;
        if (like->type != NPY_DOUBLE || like->pair)
            return false;
        item->as.real = PyFloat_CheckExact(object) ? PyFloat_AS_DOUBLE(object) : 0;
        return PyFloat_CheckExact(object) || take_scalar(object, NPY_DOUBLE, item);
    }
}

struct JitItems *
jit_items_new(PyObject *list, const TraceNestNumber *like)
{
    struct JitItems *all = calloc(1, sizeof *all);
    for (Py_ssize_t i = 0; all && like->kind && i < PyList_GET_SIZE(list); i++) {
        Item item = {.what = 0};
        if (take_item(PyList_GET_ITEM(list, i), like, &item) && push(all, item))
            continue;
        free(all->items);
        free(all);
        return NULL;
    }
    if (all)
        all->before = all->n;
    return all;
}

/* -- Objects ----------------------------------------------------------------------- */

/* NumPy's type makes the number of Python's float. */
static PyObject *
half_number(double real)
{
    PyArray_Descr *descr = PyArray_DescrFromType(NPY_HALF);
    PyObject *from = PyFloat_FromDouble(real), *number = NULL;
    if (descr && from)
        number = PyObject_CallOneArg((PyObject *)descr->typeobj, from);
    Py_XDECREF(descr);
    Py_XDECREF(from);
    return number;
}

/* A number of NumPy's, of which item[1] is the imaginary part if there is one. */
static PyObject *
numpy_number(const Item *item, int type)
{
    if (type == NPY_HALF)
        return half_number(item->as.real);
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    union {
        float f[2];
        double d[2];
        int8_t i1;
        int16_t i2;
        int32_t i4;
        int64_t i8;
    } cell = {.d = {0, 0}};
    PyObject *number = NULL;
    switch (type) {
    case NPY_CDOUBLE:
        cell.d[1] = item[1].as.real;
        cell.d[0] = item->as.real;
        break;
    case NPY_DOUBLE:
        cell.d[0] = item->as.real;
        break;
    case NPY_CFLOAT:
        cell.f[1] = (float)item[1].as.real;
        cell.f[0] = (float)item->as.real;
        break;
    case NPY_FLOAT:
        cell.f[0] = (float)item->as.real;
        break;
    default:
        switch (descr ? PyDataType_ELSIZE(descr) : 0) {
        case 1:
            cell.i1 = (int8_t)item->as.whole;
            break;
        case 2:
            cell.i2 = (int16_t)item->as.whole;
            break;
        case 4:
            cell.i4 = (int32_t)item->as.whole;
            break;
        default:
            cell.i8 = item->as.whole;
        }
    }
    if (descr)
        number = PyArray_Scalar(&cell, descr, NULL);
    Py_XDECREF(descr);
    return number;
}

static PyObject *
python_number(const Item *item, char kind)
{
    switch (kind) {
    case 'b':
        return PyBool_FromLong(item->as.whole != 0);
    case 'i':
        return PyLong_FromLongLong(item->as.whole);
    case 'f':
        return PyFloat_FromDouble(item->as.real);
    default:
        return PyComplex_FromDoubles(item->as.real, item[1].as.real);
    }
}

/* Python's number for the tag, or NumPy's. */
static PyObject *
either_number(const Item *item, int type)
{
    PyObject *number, *python;
    int64_t tag = item->what >> TAG;
    if (tag == NEST_TAG_numpy)
        return numpy_number(item, type);
    if (tag == NEST_TAG_whole && type == NPY_BOOL)
        return python_number(item, 'b');
    if (tag < NEST_TAG_complex) /* its imaginary part is of no number */
        type = type == NPY_CDOUBLE ? NPY_DOUBLE : type == NPY_CFLOAT ? NPY_FLOAT : type;
    number = numpy_number(item, type);
    python = !number                 ? NULL
             : tag == NEST_TAG_whole ? PyNumber_Long(number)
             : tag == NEST_TAG_float
                 ? PyNumber_Float(number)
                 : PyObject_CallOneArg((PyObject *)&PyComplex_Type, number);
    Py_XDECREF(number);
    return python;
}

/* The last n objects of the list as a tuple or a list. */
static PyObject *
group(PyObject *list, Py_ssize_t n, char kind)
{
    Py_ssize_t all = PyList_GET_SIZE(list);
    PyObject *items = PyList_GetSlice(list, all - n, all);
    if (items && PyList_SetSlice(list, all - n, all, NULL) < 0)
        Py_CLEAR(items);
    if (items && kind == 't')
        Py_SETREF(items, PyList_AsTuple(items));
    return items;
}

/* The list gets the objects. False: an exception is set. */
static bool
objects_add(PyObject *list, const struct JitItems *all)
{
    for (size_t i = all->before; i < all->n; i++) {
        const Item *item = &all->items[i];
        char kind = (char)(item->what & 0xff);
        bool groups = kind == 't' || kind == 'l';
        int type = type_of(item);
        PyObject *object = groups        ? group(list, (Py_ssize_t)item->as.whole, kind)
                           : kind == 'e' ? either_number(item, type)
                           : kind == 's' ? numpy_number(item, type)
                                         : python_number(item, kind);
        i += !groups && (type == NPY_CDOUBLE || type == NPY_CFLOAT);
        bool added = object && PyList_Append(list, object) == 0;
        Py_XDECREF(object);
        if (!added)
            return false;
    }
    return true;
}

int
jit_items_end(JitDrawSource *source, bool back)
{
    struct JitItems *all = source->items;
    Py_ssize_t end = PyList_GET_SIZE(source->object);
    int status = 0;
    if (!back && source->like->kind && (Py_ssize_t)all->before < end) { /* popped */
        PyList_SetSlice(source->object, (Py_ssize_t)all->before, end, NULL);
        end = (Py_ssize_t)all->before;
    }
    if (!back && !objects_add(source->object, all)) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyList_SetSlice(source->object, end, PyList_GET_SIZE(source->object), NULL);
        PyErr_Restore(type, value, traceback);
        status = -1;
    }
    free(all->items);
    free(all);
    source->items = NULL;
    return status;
}
