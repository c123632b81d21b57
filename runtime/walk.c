/* walk.c - a reduction of what is in memory, in any layout, as NumPy's iterator goes through it.
**
**     axes      the longest strides outside, neighbours joined; kept ones have strides in the results, reduced
**               ones have none there
**     results   begin with the identity, or with the first of their elements
**     calls     one of the loop for each innermost run: into one result, or into as many as the run is long
**
** Law 1: calls come in NumPy's order and see what NumPy's would, so sums have its bits. (From 2.3 on; what is cast,
**        which NumPy does in pieces, does not come here.)
*/
#include <string.h>

#include "runtime/reduce.h"

/* The next place of all axes before `end`; false: there was none. */
static bool
step_on(const RtReduce *r, uint32_t end, intptr_t *index, char **x, char **out)
{
    for (uint32_t d = end; d-- > 0;) {
        intptr_t steps[2] = {step_of(r, 0, d), step_of(r, 1, d)};
        *x += steps[0];
        *out += steps[1];
        if (++index[d] < r->group->shape[d])
            return true;
        *x -= steps[0] * index[d];
        *out -= steps[1] * index[d];
        index[d] = 0;
    }
    return false;
}

/* What results begin with. */
static void
begin(const RtReduce *r, char *x, char *out)
{
    intptr_t index[RT_NDIM_MAX] = {0};
    RtGroup kept = *r->group; /* the reduced axes have one place */
    intptr_t shape[RT_NDIM_MAX];
    RtReduce first = *r;
    for (uint32_t d = 0; d < kept.ndim; d++)
        shape[d] = step_of(r, 1, d) ? kept.shape[d] : 1;
    kept.shape = shape;
    first.group = &kept;
    do
        memcpy(out, r->from_first ? x : r->identity, r->itemsize);
    while (step_on(&first, kept.ndim, index, &x, &out));
}

int
rt_walk_run(const RtReduce *r, char *const *operands)
{
    char *x = operands[0], *out = operands[1];
    intptr_t index[RT_NDIM_MAX] = {0}, n = 1, steps[2] = {0, 0};
    uint32_t outer = r->group->ndim ? r->group->ndim - 1 : 0;
    if (r->group->ndim) {
        n = r->group->shape[outer];
        steps[0] = step_of(r, 0, outer);
        steps[1] = step_of(r, 1, outer);
    }
    begin(r, x, out);
    bool wide = r->wide && n > RT_LEAF && !steps[1] && steps[0] == r->itemsize;
    do {
        char *data[3] = {out, x, out};
        intptr_t strides[3] = {steps[1], steps[0], steps[1]};
        int status = wide ? r->sum(NULL, data, &n, strides, NULL)
                          : r->loop(r->context, data, &n, strides, r->auxdata);
        if (status < 0)
            return -1;
    } while (step_on(r, outer, index, &x, &out));
    return 0;
}
