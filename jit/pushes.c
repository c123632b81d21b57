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
#define PUT (INT64_C(1) << 40) /* the list's own, and another one now */

struct JitItems {
    RtPool *pool;
    size_t n, room,
        before;    /* before: the list's own, those that were never taken away */
    int64_t count; /* of what was put, in objects */
    bool half;     /* the imaginary part is to come */
    int64_t what;  /* of what is read */
    size_t nrows;  /* of a list of lists, */
    size_t *begin; /* of each row among all items, and the end; else NULL */
    Item *items;
};

enum { ROOM_MIN = 64 };

static int
type_of(const Item *item)
{
    return (int)(item->what >> 8 & 0xffff);
}

/* -- Functions that code calls ------------------------------------------------------ */

static bool
make_room(struct JitItems *all, size_t room)
{
    room = room < ROOM_MIN ? ROOM_MIN : room;
    Item *items = rt_buffer_resize(all->pool, all->items, room * sizeof *items);
    if (!items)
        return false;
    all->items = items;
    all->room = room;
    return true;
}

/* 0: there is no memory, and the nest is left. */
static int64_t
push(struct JitItems *all, Item item)
{
    if (all->n == all->room && !make_room(all, 2 * all->n))
        return 0;
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

static void
put(struct JitItems *all, int64_t i, int64_t tag)
{
    bool own = (size_t)i < all->before;
    all->items[i].what = all->what | tag << TAG | (own ? PUT : 0);
}

static int64_t
put_float(JitDrawSource *source, double number, int64_t i, int64_t tag)
{
    source->items->items[i].as.real = number;
    put(source->items, i, tag);
    return 0;
}

static int64_t
put_int(JitDrawSource *source, int64_t number, int64_t i, int64_t tag)
{
    source->items->items[i].as.whole = number;
    put(source->items, i, tag);
    return 0;
}

static int64_t
rows_length(JitDrawSource *source, int64_t row)
{
    const size_t *begin = source->items->begin + row;
    return (int64_t)(begin[1] - begin[0]);
}

static int64_t
rows_begin(JitDrawSource *source, int64_t row)
{
    return (int64_t)source->items->begin[row];
}

void
jit_push_function(TraceDraw function, void *to)
{
    static const struct {
        int64_t (*push_real)(JitDrawSource *, double, int64_t, int64_t);
        int64_t (*push_whole)(JitDrawSource *, int64_t, int64_t, int64_t);
        int64_t (*length)(JitDrawSource *);
        double (*real)(JitDrawSource *, int64_t);
        int64_t (*whole)(JitDrawSource *, int64_t);
    } functions[] = {
        [PUSH_float] = {.push_real = push_float},
        [PUSH_int] = {.push_whole = push_int},
        [PUSH_group] = {.push_whole = push_group},
        [LIST_length] = {.length = list_length},
        [LIST_float] = {.real = list_float},
        [LIST_int] = {.whole = list_int},
        [LIST_tag] = {.whole = list_tag},
        [LIST_drop] = {.whole = list_drop},
        [LIST_put_float] = {.push_real = put_float},
        [LIST_put_int] = {.push_whole = put_int},
        [ROWS_length] = {.whole = rows_length},
        [ROWS_begin] = {.whole = rows_begin},
    };
    if (functions[function].push_real)
        memcpy(to, &functions[function].push_real, sizeof(void *));
    else if (functions[function].push_whole)
        memcpy(to, &functions[function].push_whole, sizeof(void *));
    else if (functions[function].length)
        memcpy(to, &functions[function].length, sizeof(void *));
    else if (functions[function].real)
        memcpy(to, &functions[function].real, sizeof(void *));
    else
        memcpy(to, &functions[function].whole, sizeof(void *));
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

/* A float, Python's or NumPy's; `whole`: or a small int, as which the trace knows it. */
static bool
take_either(PyObject *object, bool whole, Item *item)
{
    enum { SMALL = 256 };
    long number = whole && PyLong_CheckExact(object) ? PyLong_AsLong(object) : LONG_MAX;
    bool small = number >= -SMALL && number <= SMALL, real = PyFloat_CheckExact(object);
    PyErr_Clear();
    item->what |= (int64_t)(small  ? NEST_TAG_whole
                            : real ? NEST_TAG_float
                                   : NEST_TAG_numpy)
                  << TAG;
    item->as.real = small ? (double)number : real ? PyFloat_AS_DOUBLE(object) : 0;
    return small || real || take_scalar(object, NPY_DOUBLE, item);
}

static bool
take_item(PyObject *object, const TraceNestNumber *like, Item *item)
{
    int overflow = 0;
    item->what = trace_push_what(like->kind, like->type);
    switch (like->kind) {
    case 'b':
        item->as.whole = object == Py_True;
        return PyBool_Check(object);
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
    default:
        return like->type == NPY_DOUBLE && !like->pair &&
               take_either(object, like->whole, item);
    }
}

static bool
take_items(struct JitItems *all, PyObject *list, const TraceNestNumber *like)
{
    size_t n = (size_t)PyList_GET_SIZE(list);
    bool good = all->n + n <= all->room || make_room(all, 2 * all->n + n + n / 4);
    for (size_t i = 0; good && i < n; i++) {
        Item item = {.what = 0};
        good = take_item(PyList_GET_ITEM(list, (Py_ssize_t)i), like, &item);
        all->items[all->n++] = item;
    }
    return good;
}

static int
by_address(const void *a, const void *b)
{
    const PyObject *const *x = a, *const *y = b;
    return (*x > *y) - (*x < *y);
}

/* True if no list is in two places, where a change of the one would be one of the other. */
static bool
are_several(PyObject *lists)
{
    size_t n = (size_t)PyList_GET_SIZE(lists);
    PyObject **rows = malloc(n * sizeof *rows);
    bool several = rows != NULL;
    for (size_t i = 0; rows && i < n; i++)
        rows[i] = PyList_GET_ITEM(lists, (Py_ssize_t)i);
    if (rows)
        qsort(rows, n, sizeof *rows, by_address);
    for (size_t i = 1; several && i < n; i++)
        several = rows[i] != rows[i - 1];
    free(rows);
    return several;
}

static bool
take_rows(struct JitItems *all, PyObject *lists, const TraceNestNumber *like)
{
    size_t n = (size_t)PyList_GET_SIZE(lists);
    all->begin = malloc((n + 1) * sizeof *all->begin);
    all->nrows = n;
    bool good = all->begin && are_several(lists);
    for (size_t i = 0; good && i < n; i++) {
        PyObject *row = PyList_GET_ITEM(lists, (Py_ssize_t)i);
        all->begin[i] = all->n;
        good = PyList_CheckExact(row) && take_items(all, row, like);
    }
    if (good)
        all->begin[n] = all->n;
    return good;
}

static void
items_free(struct JitItems *all)
{
    if (all) {
        free(all->begin);
        rt_buffer_give(all->pool, all->items);
    }
    free(all);
}

struct JitItems *
jit_items_new(RtPool *pool, PyObject *list, const TraceNestNumber *like)
{
    struct JitItems *all = calloc(1, sizeof *all);
    bool rows = PyList_GET_SIZE(list) && PyList_CheckExact(PyList_GET_ITEM(list, 0));
    if (all)
        all->pool = pool;
    if (all && like->kind &&
        !(rows ? take_rows(all, list, like) : take_items(all, list, like))) {
        items_free(all);
        return NULL;
    }
    if (all) {
        all->before = all->n;
        all->what = trace_push_what(like->kind, like->type);
    }
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

/* A number that is one item. */
static PyObject *
number_of(const Item *item)
{
    char kind = (char)(item->what & 0xff);
    return kind == 'e'   ? either_number(item, type_of(item))
           : kind == 's' ? numpy_number(item, type_of(item))
                         : python_number(item, kind);
}

/* Items that the list had, and that are others now, as objects in the order of their places; NULL: an exception is set. */
static PyObject *
objects_put(const struct JitItems *all)
{
    PyObject *objects = PyList_New(0);
    for (size_t i = 0; objects && i < all->before; i++) {
        if (!(all->items[i].what & PUT))
            continue;
        PyObject *object = number_of(&all->items[i]);
        if (!object || PyList_Append(objects, object) < 0)
            Py_CLEAR(objects);
        Py_XDECREF(object);
    }
    return objects;
}

static void
put_back(PyObject *list, const struct JitItems *all, PyObject *objects)
{
    size_t row = 0;
    Py_ssize_t k = 0;
    for (size_t i = 0; i < all->before; i++) {
        while (all->begin && all->begin[row + 1] <= i)
            row++;
        if (!(all->items[i].what & PUT))
            continue;
        PyObject *to = all->begin ? PyList_GET_ITEM(list, (Py_ssize_t)row) : list;
        Py_ssize_t at = (Py_ssize_t)(all->begin ? i - all->begin[row] : i);
        PyList_SetItem(to, at, Py_NewRef(PyList_GET_ITEM(objects, k++)));
    }
}

/* True of numbers alone, each of them one item. */
static bool
are_numbers(const struct JitItems *all)
{
    bool numbers = true;
    for (size_t i = all->before; numbers && i < all->n; i++) {
        char kind = (char)(all->items[i].what & 0xff);
        int type = type_of(&all->items[i]);
        numbers =
            kind != 't' && kind != 'l' && type != NPY_CDOUBLE && type != NPY_CFLOAT;
    }
    return numbers;
}

static bool
numbers_add(PyObject *list, const struct JitItems *all)
{
    Py_ssize_t n = (Py_ssize_t)(all->n - all->before), end = PyList_GET_SIZE(list);
    PyObject *numbers = PyList_New(n);
    for (Py_ssize_t i = 0; numbers && i < n; i++) {
        PyObject *number = number_of(&all->items[all->before + (size_t)i]);
        if (number)
            PyList_SET_ITEM(numbers, i, number);
        else
            Py_CLEAR(numbers);
    }
    bool added = numbers && PyList_SetSlice(list, end, end, numbers) == 0;
    Py_XDECREF(numbers);
    return added;
}

/* The list gets the objects. False: an exception is set. */
static bool
objects_add(PyObject *list, const struct JitItems *all)
{
    if (are_numbers(all))
        return numbers_add(list, all);
    for (size_t i = all->before; i < all->n; i++) {
        const Item *item = &all->items[i];
        char kind = (char)(item->what & 0xff);
        bool groups = kind == 't' || kind == 'l';
        int type = type_of(item);
        PyObject *object =
            groups ? group(list, (Py_ssize_t)item->as.whole, kind) : number_of(item);
        i += !groups && (type == NPY_CDOUBLE || type == NPY_CFLOAT);
        bool added = object && PyList_Append(list, object) == 0;
        Py_XDECREF(object);
        if (!added)
            return false;
    }
    return true;
}

/* What is behind those that the list had, and has still. False: an exception is set, and the list is as it was. */
static bool
end_add(PyObject *list, const struct JitItems *all, bool read)
{
    Py_ssize_t end = PyList_GET_SIZE(list);
    if (read && !all->begin && (Py_ssize_t)all->before < end) { /* popped */
        PyList_SetSlice(list, (Py_ssize_t)all->before, end, NULL);
        end = (Py_ssize_t)all->before;
    }
    if (all->begin || objects_add(list, all))
        return true;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyList_SetSlice(list, end, PyList_GET_SIZE(list), NULL);
    PyErr_Restore(type, value, traceback);
    return false;
}

int
jit_items_end(JitDrawSource *source, bool back)
{
    struct JitItems *all = source->items;
    PyObject *objects = back ? NULL : objects_put(all);
    int status = back || objects ? 0 : -1;
    if (objects && !end_add(source->object, all, source->like->kind))
        status = -1;
    if (objects && status == 0)
        put_back(source->object, all, objects);
    Py_XDECREF(objects);
    items_free(all);
    source->items = NULL;
    return status;
}
