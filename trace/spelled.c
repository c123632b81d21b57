/* spelled.c - calls of reductions as the rest of the trace knows them.
**
**     x.var(1, None, None, 1)            x.var(1, ddof=1)
**     np.sum(x, 0, dtype=None, out=None) np.sum(x, 0)
**     np.std(x, correction=1)            np.std(x, ddof=1)
**
** Law: the call means the same. What NumPy refuses, and what is not known here, stays as it is.
*/
#include <string.h>

#include "trace/internal.h"

enum { WORDS_MAX = 10 };

typedef struct Spelling {
    const char *names; /* of functions and methods, separated by blanks */
    const char
        *order; /* of the arguments behind the array; those behind | have no position */
} Spelling;

static const Spelling spellings[] = {
    {" sum prod nansum nanprod ", " axis dtype out keepdims initial where "},
    {" max min amax amin nanmax nanmin ", " axis out keepdims initial where "},
    {" any all ", " axis out keepdims | where "},
    {" mean nanmean ", " axis dtype out keepdims | where "},
    {" var std nanvar nanstd ",
     " axis dtype out ddof keepdims | where mean correction "},
    {" argmax argmin nanargmax nanargmin ", " axis out | keepdims "},
    {" cumsum cumprod nancumsum nancumprod ", " axis dtype out "},
    {" ptp ", " axis out keepdims "},
};

static const char *
order_of(const char *name)
{
    char key[32];
    snprintf(key, sizeof key, " %s ", name);
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        if (strstr(spellings[i].names, key))
            return spellings[i].order;
    }
    return NULL;
}

/* Word `i` of the order, or "": no argument has the position. */
static void
word_of(const char *order, size_t i, char *word, size_t room)
{
    word[0] = 0;
    order++;
    for (; *order && *order != '|'; i--) {
        size_t n = strcspn(order, " ");
        if (i == 0) {
            snprintf(word, room, "%.*s", (int)n, order);
            return;
        }
        order += n + (order[n] == ' ');
    }
}

static bool
is_int(PyObject *value, long number)
{
    return PyLong_CheckExact(value) && Py_SIZE(value) <= 1 && Py_SIZE(value) >= -1 &&
           PyLong_AsLong(value) == number;
}

/* True where saying so is saying nothing. */
static bool
is_default(const char *key, PyObject *value)
{
    if (strcmp(key, "dtype") == 0 || strcmp(key, "out") == 0)
        return value == Py_None;
    if (strcmp(key, "keepdims") == 0)
        return value == Py_False || is_int(value, 0);
    return (strcmp(key, "where") == 0 && value == Py_True) ||
           (strcmp(key, "ddof") == 0 && is_int(value, 0));
}

typedef struct Words {
    PyObject *names[WORDS_MAX], *values[WORDS_MAX]; /* names are owned */
    size_t n;
} Words;

/* False where the call stays as it is. */
static bool
add_word(Words *words, const char *key, PyObject *value)
{
    if (!*key || words->n == WORDS_MAX)
        return false;
    if (is_default(key, value))
        return true;
    for (size_t i = 0; i < words->n; i++) {
        if (PyUnicode_CompareWithASCIIString(words->names[i], key) == 0)
            return false;
    }
    PyObject *name = PyUnicode_FromString(key);
    if (!name)
        return false;
    words->names[words->n] = name;
    words->values[words->n++] =
        strcmp(key, "keepdims") == 0 && PyLong_CheckExact(value) ? Py_True : value;
    return true;
}

static bool
add_named(Words *words, const char *order, const char *key, PyObject *value,
          size_t nplaced)
{
    char word[32];
    snprintf(word, sizeof word, " %s ", key);
    if (!strstr(order, word))
        return false;
    for (size_t i = 0; i < nplaced; i++) {
        word_of(order, i, word, sizeof word);
        if (strcmp(word, key) == 0) /* said twice */
            return false;
    }
    return add_word(words, strcmp(key, "correction") == 0 ? "ddof" : key, value);
}

/* The words of the call behind the axis; false where it stays as it is. */
static bool
read_words(Words *words, const char *order, PyObject *const *args, size_t nargs,
           PyObject *kwnames)
{
    size_t nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0;
    bool both[2] = {nargs > 3,
                    false}; /* ddof, which has the fourth position, and correction */
    char word[16];
    for (size_t i = 1; i < nargs; i++) {
        word_of(order, i, word, sizeof word);
        if (!add_word(words, word, args[i]))
            return false;
    }
    for (size_t i = 0; i < nkw; i++) {
        const char *key = PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, (Py_ssize_t)i));
        if (!key || !add_named(words, order, key, args[nargs + i], nargs))
            return false;
        both[0] |= strcmp(key, "ddof") == 0;
        both[1] |= strcmp(key, "correction") == 0;
    }
    return !both[0] || !both[1];
}

PyObject **
trace_spelled(const char *name, PyObject *const *args, size_t nargs, PyObject *kwnames,
              PyObject **names)
{
    const char *order = order_of(name);
    size_t nkw = kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0;
    size_t placed = nargs < 1 ? nargs : 1;
    Words words = {.n = 0};
    PyObject **all = NULL;
    *names = NULL;
    if (!order || !(nargs > 1 || nkw))
        return NULL;
    bool known = read_words(&words, order, args, nargs, kwnames);
    bool changed = nargs > 1 || words.n != nkw;
    for (size_t i = 0; known && !changed && i < nkw; i++)
        changed = words.values[i] != args[nargs + i] ||
                  PyUnicode_Compare(words.names[i],
                                    PyTuple_GET_ITEM(kwnames, (Py_ssize_t)i)) != 0;
    if (known && changed && !PyErr_Occurred() &&
        (*names = PyTuple_New((Py_ssize_t)words.n)))
        all = PyMem_Malloc((placed + words.n + 1) * sizeof *all);
    for (size_t i = 0; i < placed && all; i++)
        all[i] = args[i];
    for (size_t i = 0; i < words.n; i++) {
        if (all) {
            all[placed + i] = words.values[i];
            PyTuple_SET_ITEM(*names, (Py_ssize_t)i, words.names[i]);
        } else
            Py_DECREF(words.names[i]);
    }
    if (!all)
        Py_CLEAR(*names);
    if (PyErr_Occurred())
        PyErr_Clear();
    return all;
}
