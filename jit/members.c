/* members.c - isin as a function of our own: of two arrays of one dtype, each in one piece.
**
** Numbers become keys of 64 bits. Where the elements looked for lie close together there is a table with a byte for
** each number from the least to the greatest of them; else they are hashed. Both take time for each number once,
** where sorting takes it again and again.
*/
#include <stdlib.h>
#include <string.h>

#include "jit/own.h"

enum { SPREAD = 4, TRIES = 16 };

typedef struct Set {
    uint64_t *keys; /* hashed; 0: no key is there */
    uint8_t *there; /* in a table, from `least` on */
    uint64_t least, span;
    unsigned shift;
    bool zero; /* a key 0 is among them */
} Set;

static inline uint64_t
place_of(const Set *set, uint64_t key)
{
    return ((key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15)) >> set->shift;
}

static inline bool
hashed(const Set *set, uint64_t key)
{
    uint64_t mask = UINT64_MAX >> set->shift, i = place_of(set, key);
    if (!key)
        return set->zero;
    while (set->keys[i] && set->keys[i] != key)
        i = (i + 1) & mask;
    return set->keys[i] == key;
}

/* The number of places it took to find one. */
static inline uint64_t
hash_add(Set *set, uint64_t key)
{
    uint64_t mask = UINT64_MAX >> set->shift, i = place_of(set, key), n = 1;
    for (; key && set->keys[i] && set->keys[i] != key; n++)
        i = (i + 1) & mask;
    set->zero |= !key;
    set->keys[i] = key ? key : set->keys[i];
    return n;
}

/* A loop over the numbers of type T, by their keys. NaN has none: it is equal to nothing. */
#define EACH(T, KEY, data, n, ...)                                                     \
    for (npy_intp i = 0; i < (n); i++) {                                               \
        T v = ((const T *)(data))[i];                                                  \
        uint64_t key = KEY(v);                                                         \
        bool number = v == v;                                                          \
        __VA_ARGS__                                                                    \
    }

/* The order of keys is that of integers; 0.0 and -0.0 have one. */
#define KEY_int(v)  ((uint64_t)(int64_t)(v) ^ UINT64_C(1) << 63)
#define KEY_uint(v) ((uint64_t)(v))
static inline uint64_t
KEY_float(double v)
{
    uint64_t key;
    v += 0.0;
    memcpy(&key, &v, sizeof key);
    return key;
}

#define TYPES(F)                                                                       \
    F(BYTE, npy_byte, KEY_int)                                                         \
    F(UBYTE, npy_ubyte, KEY_uint)                                                      \
    F(SHORT, npy_short, KEY_int)                                                       \
    F(USHORT, npy_ushort, KEY_uint)                                                    \
    F(INT, npy_int, KEY_int)                                                           \
    F(UINT, npy_uint, KEY_uint)                                                        \
    F(LONG, npy_long, KEY_int)                                                         \
    F(ULONG, npy_ulong, KEY_uint)                                                      \
    F(LONGLONG, npy_longlong, KEY_int)                                                 \
    F(ULONGLONG, npy_ulonglong, KEY_uint)                                              \
    F(FLOAT, npy_float, KEY_float)                                                     \
    F(DOUBLE, npy_double, KEY_float)

#define FUNCTIONS(NAME, T, KEY)                                                        \
    static void range_##NAME(Set *set, const char *data, npy_intp n)                   \
    {                                                                                  \
        uint64_t least = UINT64_MAX, most = 0;                                         \
        EACH(T, KEY, data, n, least = number && key < least ? key : least;             \
             most = number && key > most ? key : most;)                                \
        set->least = least;                                                            \
        set->span = most >= least ? most - least : 0;                                  \
    }                                                                                  \
    static void note_##NAME(Set *set, const char *data, npy_intp n)                    \
    {                                                                                  \
        EACH(T, KEY, data, n, if (number) set->there[key - set->least] = 1;)           \
    }                                                                                  \
    static void find_##NAME(const Set *set, const char *data, npy_intp n,              \
                            npy_bool *found)                                           \
    {                                                                                  \
        EACH(T, KEY, data, n, uint64_t at = key - set->least;                          \
             bool near = number && at <= set->span;                                    \
             found[i] = near && set->there[near ? at : 0];)                            \
    }                                                                                  \
    static bool hash_##NAME(Set *set, const char *data, npy_intp n)                    \
    {                                                                                  \
        uint64_t most = TRIES * (uint64_t)n + 4096;                                    \
        EACH(T, KEY, data, n, if (!number) continue;                                   \
             uint64_t took = hash_add(set, key); if (took > most) return false;        \
             most -= took;)                                                            \
        return true;                                                                   \
    }                                                                                  \
    static void look_##NAME(const Set *set, const char *data, npy_intp n,              \
                            npy_bool *found)                                           \
    {                                                                                  \
        EACH(T, KEY, data, n, found[i] = number && hashed(set, key);)                  \
    }

TYPES(FUNCTIONS)

static const struct Row {
    int type;
    void (*range)(Set *set, const char *data, npy_intp n);
    void (*note)(Set *set, const char *data, npy_intp n);
    void (*find)(const Set *set, const char *data, npy_intp n, npy_bool *found);
    bool (*hash)(Set *set, const char *data, npy_intp n);
    void (*look)(const Set *set, const char *data, npy_intp n, npy_bool *found);
} rows[] = {
#define ROW(NAME, T, KEY)                                                              \
    {NPY_##NAME, range_##NAME, note_##NAME, find_##NAME, hash_##NAME, look_##NAME},
    TYPES(ROW)};

static const struct Row *
row_of(int type)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].type == type)
            return &rows[i];
    }
    return NULL;
}

/* False: there is no memory, or hashing would take long. */
static bool
look_for(const struct Row *row, PyArrayObject *x, PyArrayObject *elements,
         npy_bool *found)
{
    npy_intp n = PyArray_SIZE(x), count = PyArray_SIZE(elements);
    Set set = {.shift = 60};
    row->range(&set, PyArray_BYTES(elements), count);
    if (set.span < SPREAD * ((uint64_t)n + (uint64_t)count) + 256) {
        set.there = calloc(set.span + 1, 1);
        if (!set.there)
            return false;
        row->note(&set, PyArray_BYTES(elements), count);
        row->find(&set, PyArray_BYTES(x), n, found);
        free(set.there);
        return true;
    }
    while (UINT64_MAX >> set.shift < 2 * (uint64_t)count)
        set.shift--;
    set.keys = calloc((UINT64_MAX >> set.shift) + 1, sizeof *set.keys);
    bool fits = set.keys && row->hash(&set, PyArray_BYTES(elements), count);
    if (fits)
        row->look(&set, PyArray_BYTES(x), n, found);
    free(set.keys);
    return fits;
}

/* isin(x, elements). NULL: it is NumPy's. */
static PyObject *
members(PyObject *first, PyObject *second)
{
    if (!jit_own_plain(first) || !jit_own_plain(second))
        return NULL;
    PyArrayObject *x = (PyArrayObject *)first, *elements = (PyArrayObject *)second;
    const struct Row *row = row_of(PyArray_DESCR(x)->type_num);
    if (!row || PyArray_DESCR(elements)->type_num != row->type ||
        !PyArray_IS_C_CONTIGUOUS(x) || !PyArray_IS_C_CONTIGUOUS(elements))
        return NULL;
    PyObject *found = PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), NPY_BOOL);
    if (found && !look_for(row, x, elements, PyArray_DATA((PyArrayObject *)found)))
        Py_CLEAR(found);
    return found;
}

PyObject *
jit_own_isin(PyObject *plain, PyObject *const *args, Py_ssize_t nargs,
             PyObject *kwnames)
{
    PyObject *result = nargs == 2 && !kwnames ? members(args[0], args[1]) : NULL;
    if (!result)
        PyErr_Clear();
    return result ? result : PyObject_Vectorcall(plain, args, (size_t)nargs, kwnames);
}

static bool
in_one_piece(const OwnArray *array)
{
    npy_intp step = array->descr ? PyDataType_ELSIZE(array->descr) : 0;
    for (int d = array->ndim; d-- > 0;) {
        if (array->shape[d] != 1 && array->strides[d] != step)
            return false;
        step *= array->shape[d];
    }
    return array->descr && array->ndim > 0;
}

bool
jit_own_fits_isin(const OwnCall *call)
{
    OwnArray x, elements;
    return PyTuple_GET_SIZE(call->args) == 2 && !call->kwargs &&
           jit_own_array(call, PyTuple_GET_ITEM(call->args, 0), &x) &&
           jit_own_array(call, PyTuple_GET_ITEM(call->args, 1), &elements) &&
           in_one_piece(&x) && in_one_piece(&elements) &&
           x.descr->type_num == elements.descr->type_num &&
           row_of(x.descr->type_num) != NULL;
}
