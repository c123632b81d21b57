/* nest_draw.c - random numbers in a nest, one by one: methods of NumPy's generators and of Python's.
**
** A number is drawn by a call of the function that the generator's own method comes down to (jit/draws.c), so that both draw
** the same from there on. A nest that draws is an effect of its trace: effect.c. Law: what the method refuses leaves the
** nest; then the generator is as it was before.
*/
#include <string.h>

#include "trace/nest_lists.h"

typedef enum Source {
    SOURCE_none,
    SOURCE_generator,
    SOURCE_state,
    SOURCE_python
} Source;

static Source
source_of(PyObject *object)
{
    const char *name = Py_TYPE(object)->tp_name;
    if (strcmp(name, "numpy.random._generator.Generator") == 0)
        return SOURCE_generator;
    if (strcmp(name, "numpy.random.mtrand.RandomState") == 0)
        return SOURCE_state;
    if (strcmp(name, "Random") != 0)
        return SOURCE_none;
    PyObject *module =
        PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__module__");
    bool python = module && PyUnicode_Check(module) &&
                  PyUnicode_CompareWithASCIIString(module, "random") == 0;
    PyErr_Clear();
    Py_XDECREF(module);
    return python ? SOURCE_python : SOURCE_none;
}

bool
nest_is_source(PyObject *object)
{
    return source_of(object) != SOURCE_none;
}

PyObject *
nest_source_of(NestMaker *m, PyObject *method, const char **name)
{
    PyObject *self = PyMethod_Check(method)      ? PyMethod_GET_SELF(method)
                     : PyCFunction_Check(method) ? PyCFunction_GET_SELF(method)
                                                 : NULL;
    PyObject *text = self && nest_is_source(self)
                         ? PyObject_GetAttrString(method, "__name__")
                         : NULL;
    bool held = text && PyUnicode_Check(text) && PyList_Append(m->held, text) == 0;
    *name = held ? PyUnicode_AsUTF8(text) : NULL;
    PyErr_Clear();
    Py_XDECREF(text);
    return *name ? self : NULL;
}

/* -- Drawing ----------------------------------------------------------------------- */

/* The number of the source's function in the nest's table; -1: there are too many. */
static int
draw_number(NestMaker *m, PyObject *source, TraceDraw function)
{
    uint32_t s = 0, k = 0;
    while (s < m->nsources && m->sources[s] != source)
        s++;
    if (s == TRACE_NEST_SOURCES)
        return -1;
    if (s == m->nsources)
        m->sources[m->nsources++] = source;
    while (k < m->ndraws &&
           (m->draws[k].source != s || m->draws[k].function != function))
        k++;
    if (k == TRACE_NEST_DRAWS)
        return -1;
    m->draws[k] = (TraceNestDraw){.source = (uint8_t)s, .function = (uint8_t)function};
    m->ndraws += k == m->ndraws;
    return (int)k;
}

IrValue
nest_source_call(NestMaker *m, PyObject *source, TraceDraw function,
                 const IrValue *operands, uint32_t n, IrDtype dtype)
{
    int number = draw_number(m, source, function);
    int64_t at = number;
    IrAttr attr = {.key = "number", .kind = ATTR_ints, .count = 1, .ints = &at};
    IrType type = {.dtype = dtype};
    if (nest_is_listed(m, source))
        nest_fail(m, "a list that is changed by another name");
    if (number < 0)
        nest_fail(m, "so many generators of random numbers, or lists");
    if (function < PUSH_float)
        nest_count_calls(m, 4);
    if (!m->emits || m->failed)
        return 0;
    IrNode node = ir_node_typed(m->graph, OP_draw, operands, n, &attr, 1, &type, 1);
    return ir_result(m->graph, node, 0);
}

static NestValue
draw_float(NestMaker *m, PyObject *source, TraceDraw function)
{
    return nest_of(NEST_float, DT_float64,
                   nest_source_call(m, source, function, NULL, 0, DT_float64));
}

NestValue
nest_draw_int(NestMaker *m, PyObject *source, TraceDraw function, const NestValue *low,
              const NestValue *high)
{
    NestValue first = nest_to_int(m, low),
              end = m->failed ? first : nest_to_int(m, high);
    if (m->failed)
        return nest_fail(m, NULL);
    nest_check(m, nest_compare(m, OPERATOR_lt, &first, &end).value);
    IrValue operands[2] = {first.value, end.value};
    IrValue value = nest_source_call(m, source, function, operands, 2, DT_int64);
    int64_t most = end.high == INT64_MIN ? end.high : end.high - 1;
    return m->failed ? nest_fail(m, NULL) : nest_int(value, first.low, most);
}

/* low + (high - low) * number, as Python's floats; the width has to be finite, and of NumPy's newer generators not
** negative. */
static NestValue
draw_between(NestMaker *m, PyObject *source, TraceDraw function, const NestValue *low,
             const NestValue *high)
{
    NestValue from = nest_to_float(m, low),
              to = m->failed ? from : nest_to_float(m, high);
    if (m->failed)
        return nest_fail(m, NULL);
    NestValue width = nest_binary(m, OPERATOR_sub, &to, &from);
    IrValue finite = nest_node(m, OP_isfinite, &width.value, 1, DT_COUNT);
    nest_check(m, finite);
    NestValue zero = nest_const_float(m, 0);
    if (source_of(source) == SOURCE_generator && !m->failed)
        nest_check(m, nest_compare(m, OPERATOR_ge, &width, &zero).value);
    NestValue number = draw_float(m, source, function);
    NestValue part = m->failed ? number : nest_binary(m, OPERATOR_mul, &width, &number);
    return m->failed ? nest_fail(m, NULL) : nest_binary(m, OPERATOR_add, &from, &part);
}

/* shift + scale * number; the scale has to be above 0. */
static NestValue
draw_scaled(NestMaker *m, PyObject *source, TraceDraw function, const NestValue *shift,
            const NestValue *scale)
{
    NestValue by = nest_to_float(m, scale), zero = nest_const_float(m, 0);
    NestValue from = !m->failed && shift ? nest_to_float(m, shift) : zero;
    if (m->failed)
        return nest_fail(m, NULL);
    nest_check(m, nest_compare(m, OPERATOR_gt, &by, &zero).value);
    NestValue number = draw_float(m, source, function);
    NestValue part = m->failed ? number : nest_binary(m, OPERATOR_mul, &by, &number);
    return m->failed || !shift ? part : nest_binary(m, OPERATOR_add, &from, &part);
}

/* -- Methods ----------------------------------------------------------------------- */

static bool
is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++) {
        if (strcmp(name, *names) == 0)
            return true;
    }
    return false;
}

/* Of both of NumPy's kinds; `normal`: the function of their normal numbers. */
static NestValue
numpy_draw(NestMaker *m, PyObject *source, const char *name, const NestValue *a,
           uint32_t n, TraceDraw normal)
{
    static const char *const uniform[] = {"random", "random_sample", "ranf",
                                          "sample", "rand",          NULL};
    static const char *const normals[] = {"standard_normal", "randn", NULL};
    NestValue zero = nest_const_float(m, 0), one = nest_const_float(m, 1);
    if (n == 0 && is_one_of(name, uniform))
        return draw_float(m, source, DRAW_uniform);
    if (n == 0 && is_one_of(name, normals))
        return draw_float(m, source, normal);
    if (n <= 2 && strcmp(name, "uniform") == 0)
        return draw_between(m, source, DRAW_uniform, n > 0 ? &a[0] : &zero,
                            n > 1 ? &a[1] : &one);
    if (n <= 2 && strcmp(name, "normal") == 0)
        return draw_scaled(m, source, normal, n > 0 ? &a[0] : &zero,
                           n > 1 ? &a[1] : &one);
    return nest_fail(m, "this random number");
}

static NestValue
generator_draw(NestMaker *m, PyObject *source, const char *name, const NestValue *a,
               uint32_t n)
{
    NestValue zero = nest_const_int(m, 0), one = nest_const_float(m, 1);
    if (n == 0 && strcmp(name, "standard_exponential") == 0)
        return draw_float(m, source, DRAW_exponential);
    if (n <= 1 && strcmp(name, "exponential") == 0)
        return draw_scaled(m, source, DRAW_exponential, NULL, n ? &a[0] : &one);
    if ((n == 1 || n == 2) && strcmp(name, "integers") == 0) {
        NestValue drawn = nest_draw_int(m, source, DRAW_integer, n == 1 ? &zero : &a[0],
                                        n == 1 ? &a[0] : &a[1]);
        return m->failed ? drawn : nest_of(NEST_scalar, DT_int64, drawn.value);
    }
    return numpy_draw(m, source, name, a, n, DRAW_normal);
}

static NestValue
state_draw(NestMaker *m, PyObject *source, const char *name, const NestValue *a,
           uint32_t n)
{
    NestValue zero = nest_const_int(m, 0);
    if ((n == 1 || n == 2) && strcmp(name, "randint") == 0)
        return nest_draw_int(m, source, DRAW_masked, n == 1 ? &zero : &a[0],
                             n == 1 ? &a[0] : &a[1]);
    return numpy_draw(m, source, name, a, n, DRAW_gauss);
}

static NestValue
python_draw(NestMaker *m, PyObject *source, const char *name, const NestValue *a,
            uint32_t n)
{
    NestValue zero = nest_const_int(m, 0), one = nest_const_int(m, 1);
    if (n == 0 && strcmp(name, "random") == 0)
        return draw_float(m, source, DRAW_python);
    if (n == 2 && strcmp(name, "uniform") == 0)
        return draw_between(m, source, DRAW_python, &a[0], &a[1]);
    if ((n == 1 || n == 2) && strcmp(name, "randrange") == 0)
        return nest_draw_int(m, source, DRAW_python_below, n == 1 ? &zero : &a[0],
                             n == 1 ? &a[0] : &a[1]);
    if (n == 2 && strcmp(name, "randint") == 0) {
        NestValue end = nest_binary(m, OPERATOR_add, &a[1], &one);
        return m->failed ? end
                         : nest_draw_int(m, source, DRAW_python_below, &a[0], &end);
    }
    return nest_fail(m, "this random number");
}

/* -- Calls -------------------------------------------------------------------------- */

typedef struct Method {
    const char *name, *parameters[3];
    IrDtype dtype;      /* of an array */
    double defaults[2]; /* of those ahead of the size */
    bool defaulted;
} Method;

static const Method methods[] = {
    {"random", {"size"}, DT_float64, {0}, true},
    {"random_sample", {"size"}, DT_float64, {0}, true},
    {"ranf", {"size"}, DT_float64, {0}, true},
    {"sample", {"size"}, DT_float64, {0}, true},
    {"standard_normal", {"size"}, DT_float64, {0}, true},
    {"standard_exponential", {"size"}, DT_float64, {0}, true},
    {"uniform", {"low", "high", "size"}, DT_float64, {0, 1}, true},
    {"normal", {"loc", "scale", "size"}, DT_float64, {0, 1}, true},
    {"exponential", {"scale", "size"}, DT_float64, {1}, true},
    {"integers", {"low", "high", "size"}, DT_int64, {0}, false},
    {"randint", {"low", "high", "size"}, DT_int64, {0}, false},
    {"choice", {"a", "size"}, DT_int64, {0}, false},
    {"permutation", {"x"}, DT_int64, {0}, false},
    {"shuffle", {"x"}, DT_int64, {0}, false},
};

static NestValue
draw_one(NestMaker *m, const NestDraws *draws)
{
    for (uint32_t i = 0; i < draws->n; i++) {
        if (!nest_is_number(&draws->a[i]) || nest_is_complex(&draws->a[i]))
            return nest_fail(m, "random numbers by arrays of arguments");
    }
    switch (source_of(draws->source)) {
    case SOURCE_generator:
        return generator_draw(m, draws->source, draws->name, draws->a, draws->n);
    case SOURCE_state:
        return state_draw(m, draws->source, draws->name, draws->a, draws->n);
    default:
        return python_draw(m, draws->source, draws->name, draws->a, draws->n);
    }
}

/* The arguments in their places; those that are not given are unbound. */
static bool
bind(const Method *method, const NestTree *tree, const NestValue *a, uint32_t n,
     NestValue *bound)
{
    uint32_t named =
        nest_has_keywords(tree) ? (uint32_t)PyTuple_GET_SIZE(tree->value) : 0;
    for (uint32_t p = 0; p < 3; p++)
        bound[p] = (NestValue){.kind = NEST_unbound};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t p = i;
        if (i >= n - named) {
            PyObject *name = PyTuple_GET_ITEM(tree->value, i - (n - named));
            for (p = 0; p < 3 && method->parameters[p] &&
                        PyUnicode_CompareWithASCIIString(name, method->parameters[p]);)
                p++;
        }
        if (p >= 3 || !method->parameters[p] || bound[p].kind != NEST_unbound)
            return false;
        bool none = a[i].kind == NEST_object && a[i].object == Py_None;
        if (!none)
            bound[p] = a[i];
    }
    return true;
}

static NestValue
call(NestMaker *m, const Method *method, NestDraws *draws, const NestValue *bound)
{
    uint32_t size = 0;
    bool generator = source_of(draws->source) == SOURCE_generator;
    while (size < 3 && method->parameters[size] &&
           strcmp(method->parameters[size], "size") != 0)
        size++;
    for (uint32_t p = 0; p < size; p++) {
        draws->a[p] = bound[p];
        if (bound[p].kind == NEST_unbound && method->defaulted)
            draws->a[p] = nest_const_float(m, method->defaults[p]);
        draws->n += draws->a[p].kind != NEST_unbound;
    }
    if (draws->n < size && draws->a[0].kind == NEST_unbound)
        return nest_fail(m, "a random number of this");
    if (!generator && strcmp(draws->name, "choice") == 0)
        return nest_fail(m, "choices of a RandomState");
    if (strcmp(draws->name, "permutation") == 0)
        return nest_permutation(m, draws);
    if (strcmp(draws->name, "shuffle") == 0)
        return nest_shuffled(m, draws);
    NestValue one = {.kind = NEST_unbound};
    const NestValue *given = size < 3 && method->parameters[size] ? &bound[size] : &one;
    return strcmp(draws->name, "choice") == 0 ? nest_choice_of(m, draws, given)
                                              : nest_draws(m, draws, given);
}

NestValue
nest_draw(NestMaker *m, const NestTree *tree, PyObject *source, const char *name,
          const NestValue *a, uint32_t n)
{
    NestDraws draws = {.at = tree,
                       .source = source,
                       .name = name,
                       .dtype = DT_float64,
                       .draw = draw_one};
    NestValue bound[3];
    bool axes = source_of(source) == SOURCE_state &&
                (strcmp(name, "rand") == 0 || strcmp(name, "randn") == 0);
    if (axes && n && !nest_has_keywords(tree)) {
        NestValue size = nest_tuple(m, NEST_tuple, a, n);
        return nest_draws(m, &draws, &size);
    }
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (source_of(source) == SOURCE_python || strcmp(name, methods[i].name) != 0)
            continue;
        draws.dtype = methods[i].dtype;
        return bind(&methods[i], tree, a, n, bound)
                   ? call(m, &methods[i], &draws, bound)
                   : nest_fail(m, "a random number of these arguments");
    }
    if (nest_has_keywords(tree) || n > 3)
        return nest_fail(m, "this random number");
    for (; draws.n < n; draws.n++)
        draws.a[draws.n] = a[draws.n];
    return draw_one(m, &draws);
}
