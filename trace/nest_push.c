/* nest_push.c - lists that a nest fills: `out.append(x)` wherever it stands.
**
** The list comes in as an argument and is empty: Python has put it in the place of the one that the function fills, which
** gets its items behind the loop (python/pyasc/_turns.py). Code puts numbers beside it, and it gets the objects at the
** end (jit/pushes.c). Nothing else is done with it in the loop. A list of the function's own cannot be filled this way: where that
** is all that is missing, the trace ends, and the function is taken apart.
*/
#include <string.h>

#include "trace/nest.h"

bool
nest_is_grown(PyObject *object)
{
    return strcmp(Py_TYPE(object)->tp_name, "_pyasc_Grown") == 0;
}

/* One number of the item, or how many belong together. */
static void
push(NestMaker *m, PyObject *list, TraceDraw function, IrValue number, int64_t what,
     IrValue tag)
{
    IrValue operands[3] = {number};
    if (m->emits && !m->failed) {
        operands[1] = ir_const_int(m->graph, DT_int64, what);
        operands[2] = tag ? tag : ir_const_int(m->graph, DT_int64, 0);
    }
    nest_source_call(m, list, function, operands, 3, DT_int64);
}

static void
push_number(NestMaker *m, PyObject *list, const NestValue *x)
{
    TraceNestNumber like = {.kind = 0};
    IrDtype part = nest_part_dtype(x);
    bool real = ir_dtype_kind(part) == KIND_float;
    nest_describe_number(x, &like);
    int64_t what = trace_push_what(like.kind, like.type);
    TraceDraw function = real ? PUSH_float : PUSH_int;
    IrDtype wide = real ? DT_float64 : DT_int64;
    push(m, list, function, nest_cast(m, x->value, wide), what,
         x->kind == NEST_either ? x->tag : 0);
    if (nest_is_complex(x))
        push(m, list, function, nest_cast(m, x->imag, wide), what, 0);
}

static void
push_item(NestMaker *m, PyObject *list, const NestValue *x)
{
    if (nest_is_number(x)) {
        push_number(m, list, x);
        return;
    }
    if (!nest_has_items(x)) {
        nest_fail(m, "an item of a list that is no number");
        return;
    }
    for (uint32_t i = 0; i < x->tuple->n && !m->failed; i++)
        push_item(m, list, &x->tuple->items[i]);
    push(m, list, PUSH_group, nest_int_value(m, x->tuple->n),
         trace_push_what(x->kind == NEST_tuple ? 't' : 'l', 0), 0);
}

void
nest_push_own(NestMaker *m, PyObject *list, const NestValue *item, bool apart)
{
    if (!apart || m->depth || m->emits || !m->trace->divides || m->trace->probes ||
        !trace_is_in_root(m->trace)) {
        nest_fail(m, "an append that is not made in each turn");
        return;
    }
    push_item(m, list, item);
    m->fills = true;
}

void
nest_push(NestMaker *m, const NestTree *tree)
{
    NestValue item = nest_expression(m, tree->parts[0]);
    const NestValue *list = &m->slots[tree->parts[1]->number];
    if (m->failed)
        return;
    bool object = list->kind == NEST_object;
    if (object && nest_is_grown(list->object)) {
        push_item(m, list->object, &item);
        return;
    }
    if (object && PyList_CheckExact(list->object))
        nest_push_own(m, list->object, &item, tree->value == Py_True);
    else
        nest_fail(m, "an append to this");
}
