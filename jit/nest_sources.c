/* nest_sources.c - nests that draw random numbers or fill lists: an effect of the plan, which happens once.
**
** Law: where the nest is left, or its results are such that the plan does not hold, generators and lists are as they were.
*/
#include "jit/nest.h"

/* The generators, and the functions that draw from them. False: they are not what they were. */
static bool
draws_begin(JitState *state, const TraceNest *like, PyObject *const *objects,
            JitDrawSource *sources, void *(*table)[2])
{
    for (uint32_t i = 0; i < like->nsources; i++) {
        bool gauss = false;
        for (uint32_t k = 0; k < like->ndraws; k++)
            gauss |=
                like->draws[k].source == i && like->draws[k].function == DRAW_gauss;
        sources[i].like = &like->items[i];
        if (jit_draws_begin(state, sources, i, objects[i], gauss, like->checks) < 0)
            return false;
    }
    for (uint32_t k = 0; k < like->ndraws; k++) {
        jit_draw_function((TraceDraw)like->draws[k].function, &table[k][0]);
        table[k][1] = &sources[like->draws[k].source];
    }
    return true;
}

/* `back`: as they were before. `stopped`: by Ctrl-C, which waits for no list. False: an exception is set. */
static bool
draws_end(const TraceNest *like, JitDrawSource *sources, bool back, bool stopped)
{
    bool good = true;
    for (uint32_t i = 0; i < like->nsources; i++)
        good &= jit_draws_end(&sources[i], back || (stopped && sources[i].items)) == 0;
    return good;
}

/* True if the results are those of the first run where a trace stands on them: bools, and of what kind numbers are. Where
** they are not the plan does not hold; then nothing is to be drawn yet. */
static bool
tells_the_same(Nest *nest, char (*results)[CELL_BYTES])
{
    bool same = true;
    for (uint32_t i = 0; i < nest->like.nresults; i++) {
        char kind = nest->like.results[i].kind;
        const char *tag = results[i] + CELL_TAG;
        int64_t told = kind == 'b'   ? *results[i]
                       : kind == 'e' ? *(const int64_t *)(const void *)tag
                                     : 0;
        same &= !nest->ran || nest->told[i] == told;
        nest->told[i] = nest->ran ? nest->told[i] : told;
    }
    nest->ran = true;
    return same;
}

int64_t
jit_nest_run(Nest *nest, PyObject *const *objects, RtKernelFn entry, char **data,
             uint32_t at, const intptr_t *steps, char (*results)[CELL_BYTES])
{
    const TraceNest *like = &nest->like;
    JitDrawSource sources[TRACE_NEST_SOURCES] = {{.bits = NULL}};
    void *table[TRACE_NEST_DRAWS][2];
    int64_t *status = (int64_t *)(void *)data[at]; /* the first of a Run */
    bool begun = draws_begin(nest->state, like, objects, sources, table);
    data[at + 3] = (char *)table;
    if (begun)
        entry(data, 0, 0, steps);
    else
        PyErr_Clear();
    if (begun && *status == 0 && !tells_the_same(nest, results))
        *status = LOWER_NEST_failed;
    bool failed = !begun || *status == LOWER_NEST_failed;
    if (!draws_end(like, sources, failed, begun && *status == LOWER_NEST_stopped))
        return -1;
    return begun ? *status : LOWER_NEST_failed;
}

/* True if what the trace knows of their results, and what they call, is the same. */
static bool
is_alike(const TraceNest *x, const TraceNest *y)
{
    bool same = x->ndraws == y->ndraws;
    for (uint32_t i = 0; same && i < x->nresults; i++)
        same = x->results[i].kind == y->results[i].kind &&
               x->results[i].type == y->results[i].type;
    for (uint32_t i = 0; same && i < x->ndraws; i++)
        same = x->draws[i].function == y->draws[i].function;
    return same;
}

/* Of two nests that draw or fill: the same loop, with as many results. A call that is followed again finds what one has
** done in its log, and has made the other one. A list that is read may hold other numbers by then. */
PyObject *
jit_nest_compare(PyObject *a, PyObject *b, int op)
{
    if ((op != Py_EQ && op != Py_NE) || Py_TYPE(a) != Py_TYPE(b))
        Py_RETURN_NOTIMPLEMENTED;
    const TraceNest *x = &((Nest *)a)->like, *y = &((Nest *)b)->like;
    bool same = x->line == y->line && x->narrays == y->narrays &&
                x->nnumbers == y->nnumbers && x->nresults == y->nresults &&
                x->nsources == y->nsources && x->nsources;
    bool reads = false;
    for (uint32_t i = 0; same && i < x->nsources; i++)
        reads |= x->items[i].kind || y->items[i].kind;
    same = a == b || (same && (reads || is_alike(x, y)));
    return PyBool_FromLong(same == (op == Py_EQ));
}

PyObject *
jit_nest_learn(PyObject *self, PyObject *results)
{
    Nest *nest = (Nest *)self;
    Py_ssize_t n = PyTuple_Check(results) ? PyTuple_GET_SIZE(results) : 0;
    for (uint32_t i = 0; !nest->ran && (Py_ssize_t)i < n && i < nest->like.nresults;
         i++) {
        PyObject *result = PyTuple_GET_ITEM(results, i);
        nest->told[i] = nest->like.results[i].kind == 'b' ? result == Py_True
                        : PyLong_Check(result)            ? NEST_TAG_whole
                        : PyFloat_CheckExact(result)      ? NEST_TAG_float
                        : PyComplex_CheckExact(result)    ? NEST_TAG_complex
                                                          : NEST_TAG_numpy;
        if (nest->like.results[i].kind != 'b' && nest->like.results[i].kind != 'e')
            nest->told[i] = 0;
    }
    nest->ran |= n > 0;
    Py_RETURN_NONE;
}
