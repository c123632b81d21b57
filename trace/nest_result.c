/* nest_result.c - what a nest gives: numbers it returns, and what is known without it.
**
** Constants, objects and arrays are as they were; numbers come out of the call; tuples are made of
** these again.
*/
#include "trace/nest_lists.h"

static bool
is_known(const NestValue *x)
{
    return (x->kind == NEST_int && x->low == x->high) ||
           (x->kind == NEST_bool && x->known);
}

NestValue
nest_named(NestMaker *m, uint32_t s)
{
    NestValue *slot = &m->slots[s];
    if (slot->kind == NEST_conflict && slot->known && m->depth == 0 && !m->missed[s])
        m->missed[s] = m->misses = true;
    if (slot->kind == NEST_unbound || slot->kind == NEST_conflict)
        return nest_fail(m, "a name that may be unbound, or of one kind or another");
    if (slot->maybe)
        nest_check(m, slot->bound);
    slot->maybe = false; /* from here on */
    return *slot;
}

bool
nest_may_leave(const NestMaker *m, const NestValue *x)
{
    switch (x->kind) {
    case NEST_object:
        return true;
    case NEST_array:
        return x->view->whole && m->arrays[x->array].object;
    case NEST_tuple:
        for (uint32_t i = 0; i < x->tuple->n; i++) {
            if (!nest_may_leave(m, &x->tuple->items[i]))
                return false;
        }
        return x->tuple->n <= NEST_PARTS_MAX;
    default:
        return nest_is_number(x);
    }
}

void
nest_describe_number(const NestValue *value, TraceNestNumber *number)
{
    static const char kinds[] = {
        [NEST_bool] = 'b',    [NEST_int] = 'i',    [NEST_float] = 'f',
        [NEST_complex] = 'c', [NEST_scalar] = 's', [NEST_either] = 'e'};
    number->pair = nest_is_complex(value);
    number->whole = nest_may_be_whole(value);
    number->kind = kinds[value->kind];
    PyArray_Descr *descr = PyArray_DescrFromType(ir_dtype_numpy_char(value->dtype));
    number->type = descr ? descr->type_num : NPY_OBJECT;
    Py_XDECREF(descr);
    PyErr_Clear();
}

uint32_t
nest_results_add(TraceNest *nest, const NestValue *x, IrValue *returns, uint32_t n)
{
    NestValue result = *x;
    for (uint32_t i = 0; x->kind == NEST_tuple && i < x->tuple->n; i++)
        n = nest_results_add(nest, &x->tuple->items[i], returns, n);
    if (!nest_is_number(x) || is_known(x) || nest->nresults == TRACE_NEST_NUMBERS)
        return n;
    nest_describe_number(x, &nest->results[nest->nresults++]);
    for (uint32_t k = 0; k < nest_nparts(x); k++)
        returns[n++] = *nest_part_at(&result, x, k);
    return n;
}

PyObject *
nest_object_after(const NestMaker *m, const NestValue *x, PyObject *numbers,
                  Py_ssize_t *at)
{
    if (x->kind == NEST_tuple) {
        PyObject *tuple = PyTuple_New(x->tuple->n);
        for (uint32_t i = 0; tuple && i < x->tuple->n; i++) {
            PyObject *item = nest_object_after(m, &x->tuple->items[i], numbers, at);
            if (item)
                PyTuple_SET_ITEM(tuple, i, item);
            else
                Py_CLEAR(tuple);
        }
        return tuple;
    }
    if (x->kind == NEST_array)
        return Py_NewRef(m->arrays[x->array].object);
    const NestArray *items =
        x->kind == NEST_object ? nest_list_array(m, x->object) : NULL;
    if (items && items->object)
        return Py_NewRef(items->object);
    if (!nest_is_number(x))
        return Py_NewRef(x->kind == NEST_object ? x->object : Py_None);
    if (is_known(x))
        return x->kind == NEST_bool ? PyBool_FromLong(x->low != 0)
                                    : PyLong_FromLongLong(x->low);
    if (*at >= PyTuple_GET_SIZE(numbers)) {
        PyErr_SetString(PyExc_RuntimeError, "a compiled loop has too many results");
        return NULL;
    }
    return Py_NewRef(PyTuple_GET_ITEM(numbers, (*at)++));
}
