/* draws.c - random numbers for nests: what methods of generators come down to.
**
** NumPy's generators have a C interface (numpy/random/bitgen.h) and functions of their distributions in a library of NumPy's,
** which is linked. Those of numpy.random.RandomState, which never change, and Python's Mersenne Twister (Matsumoto and
** Nishimura, ACM TOMACS 8, 1998) are written here. While a nest runs it has the generators' locks.
*/
#include "jit/draws.h"

#include <math.h>
#include <numpy/random/bitgen.h>
#include <string.h>

#include "jit/pushes.h"

/* Of NumPy's library: its header asks for Python's types in a way of its own. */
double random_standard_normal(bitgen_t *state);
double random_standard_exponential(bitgen_t *state);
uint64_t random_bounded_uint64(bitgen_t *state, uint64_t low, uint64_t range,
                               uint64_t mask, bool masked);

enum { TWISTER_N = 624, TWISTER_M = 397 };

/* As CPython has it in its objects: see twister_of. */
typedef struct Twister {
    int index;
    uint32_t state[TWISTER_N];
} Twister;

/* -- Functions that code calls ------------------------------------------------------ */

static double
draw_uniform(JitDrawSource *source)
{
    return source->bits->next_double(source->bits->state);
}

static double
draw_normal(JitDrawSource *source)
{
    return random_standard_normal(source->bits);
}

static double
draw_exponential(JitDrawSource *source)
{
    return random_standard_exponential(source->bits);
}

/* Two at a time, by the polar method. */
static double
draw_gauss(JitDrawSource *source)
{
    double x, y, r;
    if (source->has_gauss) {
        source->has_gauss = false;
        x = source->gauss;
        source->gauss = 0.0;
        return x;
    }
    do {
        x = 2.0 * draw_uniform(source) - 1.0;
        y = 2.0 * draw_uniform(source) - 1.0;
        r = x * x + y * y;
    } while (r >= 1.0 || r == 0.0);
    r = sqrt(-2.0 * log(r) / r);
    source->gauss = r * x;
    source->has_gauss = true;
    return r * y;
}

static int64_t
draw_integer(JitDrawSource *source, int64_t low, int64_t high)
{
    uint64_t range = (uint64_t)high - (uint64_t)low - 1;
    return (int64_t)random_bounded_uint64(source->bits, (uint64_t)low, range, 0, false);
}

static int64_t
draw_masked(JitDrawSource *source, int64_t low, int64_t high)
{
    uint64_t range = (uint64_t)high - (uint64_t)low - 1, mask = range;
    for (int shift = 1; shift < 64; shift *= 2)
        mask |= mask >> shift;
    return (int64_t)random_bounded_uint64(source->bits, (uint64_t)low, range, mask,
                                          true);
}

static uint32_t
twist(uint32_t high, uint32_t low)
{
    uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);
    return y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
}

static uint32_t
twister_next(Twister *t)
{
    uint32_t *s = t->state;
    if (t->index >= TWISTER_N) {
        for (int k = 0; k < TWISTER_N; k++)
            s[k] = s[(k + TWISTER_M) % TWISTER_N] ^ twist(s[k], s[(k + 1) % TWISTER_N]);
        t->index = 0;
    }
    uint32_t y = s[t->index++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

static double
draw_python(JitDrawSource *source)
{
    uint32_t a = twister_next(source->twister) >> 5,
             b = twister_next(source->twister) >> 6;
    return (a * 67108864.0 + b) * (1.0 / 9007199254740992.0);
}

static int64_t
draw_python_below(JitDrawSource *source, int64_t low, int64_t high)
{
    uint64_t n = (uint64_t)high - (uint64_t)low, drawn;
    int bits = 64 - __builtin_clzll(n);
    do {
        if (bits <= 32)
            drawn = twister_next(source->twister) >> (32 - bits);
        else {
            drawn = twister_next(source->twister);
            drawn |= (uint64_t)(twister_next(source->twister) >> (64 - bits)) << 32;
        }
    } while (drawn >= n);
    return (int64_t)((uint64_t)low + drawn);
}

void
jit_draw_function(TraceDraw function, void *to)
{
    if (function >= PUSH_float) {
        jit_push_function(function, to);
        return;
    }
    double (*real)(JitDrawSource *) = function == DRAW_uniform       ? draw_uniform
                                      : function == DRAW_normal      ? draw_normal
                                      : function == DRAW_exponential ? draw_exponential
                                      : function == DRAW_gauss       ? draw_gauss
                                                                     : draw_python;
    int64_t (*whole)(JitDrawSource *, int64_t, int64_t) =
        function == DRAW_integer  ? draw_integer
        : function == DRAW_masked ? draw_masked
                                  : draw_python_below;
    if (function < DRAW_integer)
        memcpy(to, &real, sizeof real);
    else
        memcpy(to, &whole, sizeof whole);
}

/* -- Generators -------------------------------------------------------------------- */

/* The state within one of Python's generators: its layout is private, so it is compared with what getstate() says.
** NULL: it is another one. */
static Twister *
twister_of(JitState *jit, PyObject *generator)
{
    Twister *twister = (Twister *)(void *)((char *)generator + sizeof(PyObject));
    if (jit->twister_known)
        return twister;
    PyObject *state = PyObject_CallMethod(generator, "getstate", NULL);
    PyObject *numbers = state && PyTuple_Check(state) && PyTuple_GET_SIZE(state) == 3
                            ? PyTuple_GET_ITEM(state, 1)
                            : NULL;
    bool same = numbers && PyTuple_Check(numbers) &&
                PyTuple_GET_SIZE(numbers) == TWISTER_N + 1 &&
                (size_t)Py_TYPE(generator)->tp_basicsize >=
                    sizeof(PyObject) + sizeof *twister &&
                PyLong_AsLong(PyTuple_GET_ITEM(numbers, TWISTER_N)) == twister->index;
    for (int i = 0; same && i < TWISTER_N; i++)
        same = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(numbers, i)) == twister->state[i];
    PyErr_Clear();
    Py_XDECREF(state);
    jit->twister_known = same;
    return same ? twister : NULL;
}

/* The C interface of NumPy's bit generator. */
static bitgen_t *
bits_of(PyObject *bit_generator)
{
    PyObject *capsule = PyObject_GetAttrString(bit_generator, "capsule");
    bitgen_t *bits = capsule ? PyCapsule_GetPointer(capsule, "BitGenerator") : NULL;
    Py_XDECREF(capsule); /* the generator has it */
    return bits;
}

/* has_gauss and gauss of a RandomState. */
static bool
gauss_read(JitDrawSource *s)
{
    PyObject *state = PyObject_CallMethod(s->object, "get_state", "O", Py_False);
    PyObject *has = state ? PyDict_GetItemString(state, "has_gauss") : NULL,
             *gauss = has ? PyDict_GetItemString(state, "gauss") : NULL;
    bool read = gauss != NULL;
    if (read) {
        s->has_gauss = PyObject_IsTrue(has) == 1;
        s->gauss = PyFloat_AsDouble(gauss);
    }
    Py_XDECREF(state);
    return read && !PyErr_Occurred();
}

static int
gauss_write(JitDrawSource *s)
{
    PyObject *state = PyObject_CallMethod(s->object, "get_state", "O", Py_False),
             *gauss = PyFloat_FromDouble(s->gauss), *done = NULL;
    PyObject *has = PyLong_FromLong(s->has_gauss);
    if (state && gauss && has && PyDict_SetItemString(state, "has_gauss", has) == 0 &&
        PyDict_SetItemString(state, "gauss", gauss) == 0)
        done = PyObject_CallMethod(s->object, "set_state", "O", state);
    Py_XDECREF(state);
    Py_XDECREF(gauss);
    Py_XDECREF(has);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* Several generators may have one lock, which is taken once; another's is not waited for, as who has it may wait for ours. */
static int
lock(JitDrawSource *s, const JitDrawSource *before, uint32_t n)
{
    PyObject *taken;
    s->lock = PyObject_GetAttrString(s->bit_generator, "lock");
    for (uint32_t i = 0; s->lock && i < n; i++) {
        if (before[i].lock == s->lock)
            return 0;
    }
    taken = s->lock
                ? PyObject_CallMethod(s->lock, "acquire", "O", n ? Py_False : Py_True)
                : NULL;
    s->locked = taken && PyObject_IsTrue(taken) == 1;
    Py_XDECREF(taken);
    return s->locked ? 0 : -1;
}

static int
unlock(JitDrawSource *s)
{
    PyObject *done = s->locked ? PyObject_CallMethod(s->lock, "release", NULL) : NULL;
    bool failed = s->locked && !done;
    s->locked = false;
    Py_XDECREF(done);
    return failed ? -1 : 0;
}

int
jit_draws_begin(JitState *state, JitDrawSource *all, uint32_t n, PyObject *object,
                bool gauss, bool keep)
{
    JitDrawSource *s = &all[n];
    *s = (JitDrawSource){.object = object, .like = s->like};
    if (PyList_Check(object))
        return (s->items = jit_items_new(state->pool, object, s->like)) ? 0 : -1;
    if (strcmp(Py_TYPE(object)->tp_name, "Random") == 0) {
        s->twister = twister_of(state, object);
        s->kept =
            keep && s->twister ? PyObject_CallMethod(object, "getstate", NULL) : NULL;
        return s->twister && (!keep || s->kept) ? 0 : -1;
    }
    bool generator = PyObject_HasAttrString(object, "bit_generator");
    s->bit_generator =
        PyObject_GetAttrString(object, generator ? "bit_generator" : "_bit_generator");
    s->bits = s->bit_generator ? bits_of(s->bit_generator) : NULL;
    if (!s->bits || (gauss && !gauss_read(s)) || lock(s, all, n) < 0)
        return -1;
    s->gauss_too = gauss;
    s->had_gauss = s->has_gauss;
    s->gauss_before = s->gauss;
    s->kept = keep ? PyObject_GetAttrString(s->bit_generator, "state") : NULL;
    return keep && !s->kept ? -1 : 0;
}

int
jit_draws_end(JitDrawSource *s, bool back)
{
    PyObject *type, *value, *traceback, *done;
    bool begun = s->lock != NULL;
    int status = 0;
    if (s->items)
        return jit_items_end(s, back);
    PyErr_Fetch(&type, &value, &traceback);
    if (back && s->kept && s->twister) {
        done = PyObject_CallMethod(s->object, "setstate", "(O)", s->kept);
        status |= done ? 0 : -1;
        Py_XDECREF(done);
    } else if (back && s->kept)
        status |= PyObject_SetAttrString(s->bit_generator, "state", s->kept);
    if (s->gauss_too && back) {
        s->has_gauss = s->had_gauss;
        s->gauss = s->gauss_before;
    }
    if (s->gauss_too && begun)
        status |= gauss_write(s);
    status |= unlock(s); /* no one else has drawn meanwhile */
    Py_CLEAR(s->kept);
    Py_CLEAR(s->lock);
    Py_CLEAR(s->bit_generator);
    if (type || status == 0)
        PyErr_Restore(type, value, traceback);
    return status;
}
