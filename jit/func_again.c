/* func_again.c - when a signature is traced again, and when that is no use any more. */
#include <stdatomic.h>

#include "jit/func.h"

/* Code that the last trace did without is there: all is traced again. */
void
jit_entry_again(Entry *entry)
{
    bool ready = atomic_load(&entry->awaited->state) == RT_CODE_ready;
    rt_code_drop(entry->awaited);
    entry->awaited = NULL;
    if (!ready)
        return;
    entry->plain = false;
    entry->ntraces = 0;
    while (entry->nplans) {
        JitPlan *plan = entry->plans[--entry->nplans];
        entry->plans[entry->nplans] = NULL;
        jit_plan_release(plan);
    }
}

/* True if calls run plans in vain: each gives arrays that the next plan has other extents for. */
bool
jit_runs_in_vain(const Entry *entry)
{
    uint64_t misfits = 0;
    for (uint32_t i = 0; i < entry->nplans; i++)
        misfits += entry->plans[i]->misfits;
    return misfits > MISFITS_MANY && misfits > entry->hits;
}

/* True if all loops are compiled as a whole. */
static bool
all_is_code(const Entry *entry)
{
    return entry->nests && !entry->loop_reason;
}

/* True if there are no more traces, while plans are kept for calls with the numbers that they have held for. */
bool
jit_is_full(const JitFunc *self, const Entry *entry)
{
    return entry->ntraces >= jit_traces_max(self) && entry->nplans &&
           entry->plans[0]->numbers && all_is_code(entry);
}

/* True if most calls take another path, and the turns of a loop may have fewer. */
bool
jit_never_repeats(JitFunc *self, const Entry *entry)
{
    bool many = entry->nplans >= PATHS_MANY || entry->length > PATHS_LONG;
    if (all_is_code(entry))
        return false; /* pieces would be no better */
    return many && entry->hits < 2 * entry->nplans &&
           jit_func_divides(self, BAIL_too_many_paths);
}

void
jit_entry_whole(JitFunc *self, Entry *entry)
{
    bool early = entry->bail == BAIL_too_long || entry->bail == BAIL_fills;
    if (entry->plain && early && !entry->whole &&
        !jit_func_divides(self, entry->bail)) {
        entry->plain = false;
        entry->whole = true;
    }
}

/* A trace that had few calls was wasted after all. */
static void
entry_leaves(JitFunc *self, Entry *entry)
{
    if (entry->hits && entry->hits < HITS_PAY)
        self->wasted += entry->waste;
    jit_entry_release(entry);
}

void
jit_entries_leave(JitFunc *self)
{
    uint32_t left = 0, n = self->nentries;
    Entry *gone[ENTRIES_MAX];
    for (uint32_t i = 0, kept = 0; i < n; i++) {
        Entry *entry = self->entries[i];
        bool leaves =
            jit_sig_is_gone(&entry->sig) || (i + 1 == n && kept + 1 == ENTRIES_MAX);
        if (leaves)
            gone[left++] = entry;
        else
            self->entries[kept++] = entry;
    }
    self->nentries = n - left;
    for (uint32_t i = 0; i < left; i++) /* that may run Python */
        entry_leaves(self, gone[i]);
}
