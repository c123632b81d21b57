/* nest_draws.c - methods of NumPy's generators that give arrays, and put arrays into another order.
**
** An array is drawn number by number, in the order of its elements, as NumPy's methods do it for arguments that are numbers.
** Laws: Generator.choice draws places as Generator.integers does; shuffle goes from the last element to the second one, and
** exchanges each with one up to it, drawn as RandomState.randint draws; permutation shuffles a copy.
*/
#include <string.h>

#include "trace/nest.h"

enum { FAR = 1 << 28 };

static bool
is_none(const NestValue *x)
{
    return x->kind == NEST_unbound || (x->kind == NEST_object && x->object == Py_None);
}

/* One axis of so many elements. */
static bool
add_axis(NestMaker *m, const NestValue *n, NestExtent *extent)
{
    NestValue number =
        nest_is_number(n) ? nest_to_int(m, n) : nest_fail(m, "the size of an array");
    if (!m->failed)
        number = nest_bounded(m, &number, 0, FAR);
    *extent =
        (NestExtent){m->failed ? 0 : nest_index(m, &number), number.low, number.high};
    return !m->failed;
}

/* The axes of a size; 0: it is none, of one number. */
static uint32_t
axes_of(NestMaker *m, const NestValue *size, NestExtent *extents)
{
    uint32_t n = size->kind == NEST_tuple ? size->tuple->n : 1;
    if (is_none(size) || m->failed)
        return 0;
    if (n == 0 || n > NEST_INDICES_MAX) {
        nest_fail(m, "random numbers of so many axes");
        return 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!add_axis(m, size->kind == NEST_tuple ? &size->tuple->items[i] : size,
                      &extents[i]))
            return 0;
    }
    return n;
}

static void
draw_axis(NestMaker *m, const NestDraws *draws, const NestValue *place, uint32_t axis,
          IrValue *k)
{
    NestLoop loop;
    if (axis < place->view->ndim) {
        nest_loop_open(m, &loop, &place->view->extents[axis], NULL, DT_COUNT);
        k[axis] = loop.index;
        draw_axis(m, draws, place, axis + 1, k);
        nest_loop_close(m, &loop, 0);
        return;
    }
    IrValue indices[NEST_INDICES_MAX];
    NestValue one = draws->draw(m, draws);
    if (m->failed)
        return;
    nest_address(m, place, k, indices);
    nest_write_element(m, place, indices, &one);
}

NestValue
nest_draws(NestMaker *m, const NestDraws *draws, const NestValue *size)
{
    NestExtent extents[NEST_INDICES_MAX];
    IrValue k[NEST_INDICES_MAX] = {0};
    uint32_t ndim = axes_of(m, size, extents);
    if (m->failed)
        return nest_fail(m, NULL);
    if (!ndim)
        return draws->draw(m, draws);
    m->rows = true;
    nest_count_calls(m, 12);
    NestValue place = nest_scratch(m, draws->at, draws->dtype, ndim, extents);
    if (!m->failed)
        draw_axis(m, draws, &place, 0, k);
    return m->failed ? nest_fail(m, NULL) : place;
}

/* -- Choices ----------------------------------------------------------------------- */

static NestValue
choose(NestMaker *m, const NestDraws *draws)
{
    const NestValue *from = &draws->a[0];
    NestValue zero = nest_const_int(m, 0), n = *from;
    if (from->kind == NEST_array)
        n = nest_extent_int(m, &nest_extents(from)[0]);
    NestValue at = nest_draw_int(m, draws->source, DRAW_integer, &zero, &n);
    if (m->failed || from->kind != NEST_array)
        return at;
    NestValue place = nest_select_row(m, from, nest_index(m, &at));
    return nest_read(m, &place);
}

NestValue
nest_choice_of(NestMaker *m, const NestDraws *draws, const NestValue *size)
{
    NestDraws choices = *draws;
    const NestValue *from = &draws->a[0];
    bool array = from->kind == NEST_array && nest_ndim(from) == 1;
    if (!array && from->kind != NEST_int)
        return nest_fail(m, "a choice from this");
    choices.dtype = array ? from->dtype : DT_int64;
    choices.draw = choose;
    return nest_draws(m, &choices, size);
}

/* -- Other orders ------------------------------------------------------------------ */

static void
shuffle(NestMaker *m, PyObject *source, const NestValue *x)
{
    NestExtent all = nest_extents(x)[0];
    NestValue n = nest_extent_int(m, &all), one = nest_const_int(m, 1);
    NestValue last = nest_int_sum(m, OP_subtract, &n, &one),
              zero = nest_const_int(m, 0);
    NestLoop loop;
    if (m->failed)
        return;
    IrValue count = nest_index(m, &last);
    NestExtent turns = {nest_node(m, OP_max0, &count, 1, DT_COUNT),
                        all.low > 0 ? all.low - 1 : 0, all.high > 0 ? all.high - 1 : 0};
    m->rows = true;
    nest_count_calls(m, 12);
    nest_loop_open(m, &loop, &turns, NULL, DT_COUNT);
    NestValue turn = nest_from_index(m, loop.index, 0, FAR);
    NestValue i = nest_int_sum(m, OP_subtract, &last, &turn);
    NestValue end = m->failed ? i : nest_int_sum(m, OP_add, &i, &one);
    NestValue j = m->failed ? i : nest_draw_int(m, source, DRAW_masked, &zero, &end);
    if (m->failed)
        return;
    NestValue a = nest_select_row(m, x, nest_index(m, &i)),
              b = nest_select_row(m, x, nest_index(m, &j));
    NestValue first = nest_read(m, &a), second = nest_read(m, &b);
    nest_write(m, NULL, &a, &second);
    nest_write(m, NULL, &b, &first);
    nest_loop_close(m, &loop, 0);
}

NestValue
nest_shuffled(NestMaker *m, const NestDraws *draws)
{
    NestValue none = nest_of(NEST_object, DT_COUNT, 0);
    none.object = Py_None;
    if (draws->a[0].kind != NEST_array || nest_ndim(&draws->a[0]) != 1)
        return nest_fail(m, "shuffle() of this");
    shuffle(m, draws->source, &draws->a[0]);
    m->stores++;
    return m->failed ? nest_fail(m, NULL) : none;
}

NestValue
nest_permutation(NestMaker *m, const NestDraws *draws)
{
    const NestValue *x = &draws->a[0];
    NestExtent extent;
    NestValue place;
    NestLoop loop;
    if (nest_is_array(x) && nest_ndim(x) == 1 && !nest_mask_of(x)) {
        place = nest_scratch(m, draws->at, x->dtype, 1, nest_extents(x));
        nest_fill_all(m, &place, x);
    } else if (x->kind == NEST_int && add_axis(m, x, &extent)) {
        place = nest_scratch(m, draws->at, DT_int64, 1, &extent);
        if (m->failed)
            return place;
        nest_loop_open(m, &loop, &extent, NULL, DT_COUNT);
        NestValue row = nest_select_row(m, &place, loop.index),
                  number = nest_from_index(m, loop.index, 0, FAR);
        nest_write(m, NULL, &row, &number);
        nest_loop_close(m, &loop, 0);
    } else
        return nest_fail(m, "permutation() of this");
    if (!m->failed)
        shuffle(m, draws->source, &place);
    return m->failed ? nest_fail(m, NULL) : place;
}
