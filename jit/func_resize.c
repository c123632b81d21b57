/* func_resize.c - a call whose signature differs from known ones in extents: plans for it from theirs.
**
** At first each such signature gets plans of its own (resize.c). Where extents are new each time, or the table is full, the
** plans of one that was not called for long are given its extents (refit.c).
*/
#include <string.h>

#include "jit/func.h"
#include "jit/resize.h"

/* Plans for the new entry from those of `like`, which the caller holds. */
static void
entry_resize_from(JitFunc *self, Entry *entry, const Entry *like, PyObject **params)
{
    for (uint32_t i = like->nplans < PLANS_TRIED ? like->nplans : PLANS_TRIED;
         i-- > 0;) {
        uint32_t nparams = entry->nparams;
        PyObject *varying = NULL;
        if (i >= like->nplans || !like->plans[i]->record)
            continue;
        JitPlan *from = like->plans[i], *plan = NULL;
        from->refs++;
        if (jit_source_match(from->source, params, &nparams, &varying, NULL))
            plan = jit_plan_resized(from, params, nparams);
        if (plan && (plan->source = jit_source_copy(from->source)))
            jit_entry_compile(self, entry, plan);
        else if (plan) {
            PyErr_Clear(); /* out of memory */
            jit_plan_release(plan);
        }
        Py_XDECREF(varying);
        jit_plan_release(from);
    }
}

static bool
is_resized(const Entry *like, const Entry *entry)
{
    return like->nplans && !like->plain && like->ncall == entry->ncall &&
           jit_same_names(like->kwnames, entry->kwnames) &&
           jit_sig_resized(&like->sig, &entry->sig);
}

/* The plan has the extents of the parameters from now on. Reading what is outside may run anything. */
static bool
plan_take_over(Entry *last, uint32_t i, PyObject **params, uint32_t nparams)
{
    JitPlan *plan = last->plans[i];
    PyObject *varying = NULL;
    uint32_t nplans = last->nplans;
    bool fits = jit_source_match(plan->source, params, &nparams, &varying, NULL);
    Py_XDECREF(varying);
    return fits && last->refs == 2 && last->nplans == nplans &&
           last->plans[i] == plan && nparams == plan->nparams &&
           jit_plan_refit(plan, params);
}

/* Where extents are new each time, or the table is full, plans are taken from entries. One that comes back later is
** remembered: then there had better be plans for all. */
static bool
takes_plans(JitFunc *self, const Entry *entry)
{
    uint64_t hash = jit_sig_extents_hash(&entry->sig);
    for (uint32_t i = 0; !self->returns && i < REPLACED_MAX && i < self->nreplaced; i++)
        self->returns = self->replaced[i] == hash;
    return self->nentries == ENTRIES_MAX ||
           (!self->returns && ++self->fresh > NEW_MANY);
}

/* No one has the entry's plans, and all of them may be given other extents. */
static bool
is_free(const Entry *last)
{
    bool free = last->refs == 1 && !last->awaited;
    for (uint32_t k = 0; free && k < last->nplans; k++)
        free = last->plans[k]->refits && last->plans[k]->refs == 1;
    return free;
}

static void
entry_remove(JitFunc *self, Entry *entry)
{
    for (uint32_t i = 0; i < self->nentries; i++) {
        if (self->entries[i] != entry)
            continue;
        memmove(self->entries + i, self->entries + i + 1,
                (--self->nentries - i) * sizeof *self->entries);
        jit_entry_release(entry);
        return;
    }
}

/* The plans of such an entry, which goes. */
static bool
take_over(JitFunc *self, Entry *last, Entry *entry, PyObject **params)
{
    uint64_t hash = jit_sig_extents_hash(&last->sig);
    uint32_t taken = 0;
    last->refs++;
    while (taken < last->nplans && plan_take_over(last, taken, params, entry->nparams))
        taken++;
    bool all = taken && last->refs == 2 && taken == last->nplans;
    for (uint32_t i = 0; all && i < taken; i++)
        entry->plans[entry->nplans++] = last->plans[i];
    if (all) {
        last->nplans = 0;
        self->replaced[self->nreplaced++ % REPLACED_MAX] = hash;
        entry_remove(self, last);
    }
    while (!all && taken && last->nplans) /* some have other extents than the entry */
        jit_plan_release(last->plans[--last->nplans]);
    jit_entry_release(last);
    return all;
}

/* The least recently used that can be had. */
static bool
entry_take_over(JitFunc *self, Entry *entry, PyObject **params)
{
    uint32_t tries = 0;
    if (!takes_plans(self, entry))
        return false;
    for (uint32_t i = self->nentries; i-- > 0 && tries < TRIES_MAX;) {
        Entry *last = i < self->nentries ? self->entries[i] : NULL;
        if (!last || !is_free(last) || !is_resized(last, entry))
            continue;
        tries++;
        if (take_over(self, last, entry, params))
            return true;
    }
    return false;
}

/* Plans for the extents of a new signature from those of one that differs in nothing else. */
bool
jit_entry_resize(JitFunc *self, Entry *entry, PyObject **params)
{
    if (entry_take_over(self, entry, params))
        return true;
    for (uint32_t k = 0; k < self->nentries; k++) {
        Entry *like = self->entries[k];
        if (!is_resized(like, entry))
            continue;
        like->refs++;
        entry_resize_from(self, entry, like, params);
        jit_entry_release(like);
        if (entry->nplans)
            return true;
    }
    return false;
}

bool
jit_func_saw_others(const JitFunc *self, const Entry *entry)
{
    for (uint32_t k = 0; k < self->nentries; k++) {
        if (self->entries[k] != entry && is_resized(self->entries[k], entry))
            return true;
    }
    return false;
}
