/* guess.c - which plan of several is tried first, and if that pays.
**
** A plan runs until something that it stands on turns out otherwise; then the next one begins again. Plans that held for
** the same numbers among the arguments come first. Where half of the calls guess wrong all the same, and the work
** is as slow as NumPy's, plain calls are faster: both are timed, and plans rest for a while where they are slower. So they
** do where calls raise, which are traced each time, and where a plan is many steps of one number each.
*/
#include <string.h>

#include "jit/func.h"

enum {
    WINDOW =
        64, /* calls that are looked at; twice as many where plain calls were no faster */
    TIMED = 8,       /* calls of each kind that are timed: with plans, then plain */
    MUCH_SLOWER = 4, /* a plain call that takes so much longer ends that */
    REST = 256,      /* plain calls; twice as many the next time */
    DOUBLED_MAX = 14,
};

static uint64_t
hash_more(uint64_t hash, uint64_t bits)
{
    hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

uint64_t
jit_guess_numbers(const Entry *entry, PyObject *const *params)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < entry->nparams; i++) {
        uint64_t bits = 0;
        if (PyLong_CheckExact(params[i])) {
            int overflow;
            bits = (uint64_t)PyLong_AsLongLongAndOverflow(params[i], &overflow);
        } else if (PyFloat_CheckExact(params[i])) {
            double value = PyFloat_AS_DOUBLE(params[i]);
            memcpy(&bits, &value, sizeof bits);
        } else
            continue;
        hash = hash_more(hash + i + 1, bits);
    }
    return hash;
}

bool
jit_guess_first(Entry *entry, uint64_t numbers)
{
    uint32_t known = 0;
    for (uint32_t i = 0; numbers && i < entry->nplans; i++) {
        JitPlan *plan = entry->plans[i];
        if (plan->numbers != numbers)
            continue;
        JitPlan **to = entry->plans + known++;
        memmove(to + 1, to, (size_t)(entry->plans + i - to) * sizeof *to);
        *to = plan;
    }
    return known;
}

/* Loops that are code in plans may take Python long: no call is to find that out, but where many calls raise and
** Python runs their loops anyway. */
static bool
may_time_plain(const Entry *entry)
{
    bool may = !entry->nests;
    if (entry->raised >= WINDOW / 8)
        return true;
    for (uint32_t i = 0; may && i < entry->nplans; i++)
        may = !entry->plans[i]->bodies;
    return may;
}

bool
jit_guess_looks(const Entry *entry)
{
    return entry->nplans > 1 || entry->raised ||
           (entry->nplans && entry->plans[0]->doubtful);
}

void
jit_guess_note(Entry *entry, uint32_t wrong, int64_t ns)
{
    JitGuesses *g = &entry->guesses;
    if (g->timing) {
        g->plans_ns += ns;
        g->nplans++;
        return;
    }
    uint32_t window = (uint32_t)WINDOW << g->vain;
    g->wrong += wrong;
    if (++g->calls < window)
        return;
    bool timing = 2 * g->wrong >= window && may_time_plain(entry);
    if (!timing)
        entry->raised /= 2; /* it may have been once */
    *g = (JitGuesses){.vain = g->vain, .rests = g->rests, .timing = timing};
}

bool
jit_guess_plain(const Entry *entry)
{
    return entry->guesses.rest || entry->guesses.nplans >= TIMED;
}

static uint32_t
more(uint32_t doubled)
{
    return doubled + (doubled < DOUBLED_MAX);
}

PyObject *
jit_guess_call(JitFunc *self, Entry *entry, PyObject *const *args, size_t nargs,
               PyObject *kwnames)
{
    JitGuesses *g = &entry->guesses;
    if (g->rest) {
        g->rest--;
        return jit_call_plain(self, args, nargs, kwnames);
    }
    entry->refs++;
    int64_t begin = rt_clock_ns();
    PyObject *result = jit_call_plain(self, args, nargs, kwnames);
    int64_t ns = rt_clock_ns() - begin;
    if (g->timing) { /* the call may have made others */
        bool slow = ns > MUCH_SLOWER * (g->plans_ns / TIMED);
        g->plain_ns += ns;
        if (++g->nplain == TIMED || slow) {
            bool rests = !slow && 10 * g->plain_ns < 9 * g->plans_ns;
            JitGuesses next = {.vain = rests ? 0 : more(g->vain),
                               .rests = rests ? more(g->rests) : 0,
                               .rest = rests ? (uint32_t)REST << g->rests : 0};
            *g = next;
            if (rests && result)
                jit_log(self, JIT_LOG_debug,
                        "%u calls run plain, which is faster: half of the calls begin "
                        "with a plan that does not hold",
                        g->rest);
        }
    }
    jit_entry_release(entry);
    return result;
}
