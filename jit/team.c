/* team.c - what large work and long loops are to Python: how many threads they may use, the GIL, and
** signals.
**
** Law 1: what runs without the GIL touches memory of arrays that the call holds, and no Python object.
** Law 2: an exception that a signal's handler raises ends the call: it is none of the function's, which
**        is not called again for it.
*/
#include <sched.h>

#include "jit/jit.h"

enum {
    TURNS = 64, /* of loops, from a look at the clock to the next */
    /* That other threads wait for the GIL. Longer than Python's switch interval (5 ms): who has waited
    ** for that asks for the GIL, and gets it when it is given up; who has not may miss the moment. */
    YIELD_NS = 15000000,
};

/* The number that `with pyasc.options(threads=...)` around the call says, or 0. */
static int
scope_threads(JitState *state)
{
    PyObject *scope = NULL, *number;
    int threads = 0;
    if (!state->options_scope) {
        PyObject *module = PyImport_ImportModule("pyasc._options");
        if (module)
            state->options_scope = PyObject_GetAttrString(module, "_scope");
        Py_XDECREF(module);
    }
    if (state->options_scope &&
        PyContextVar_Get(state->options_scope, NULL, &scope) == 0 && scope) {
        number = PyDict_GetItemString(scope, "threads");
        threads = number ? (int)PyLong_AsLong(number) : 0;
    }
    Py_XDECREF(scope);
    PyErr_Clear();
    return threads;
}

/* CPUs that this thread may run on. */
static unsigned
cpu_count(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < 1 ? 1 : n > RT_THREADS_MAX ? RT_THREADS_MAX : (unsigned)n;
}

static unsigned
team_count(RtTeam *team)
{
    int threads = team->chosen > 0 ? team->chosen : scope_threads(team->context);
    if (threads <= 0)
        threads = -team->chosen;
    return threads > 0 ? (unsigned)threads : cpu_count();
}

static void *
team_leave(RtTeam *team)
{
    (void)team;
    return PyEval_SaveThread();
}

static void
team_enter(RtTeam *team, void *left)
{
    (void)team;
    PyEval_RestoreThread(left);
}

int
jit_check_signals(void)
{
    return PyErr_CheckSignals() < 0 ? JIT_INTERRUPTED : 0;
}

/* Between turns and pieces: what the function's own code would find between two lines. */
static int
team_check(RtTeam *team)
{
    if (PyErr_Occurred())
        return -1;
    if (++team->turns % TURNS == 0) {
        int64_t now = rt_clock_ns();
        if (now - team->since > YIELD_NS) {
            PyEval_RestoreThread(PyEval_SaveThread());
            team->since = now;
        }
    }
    return jit_check_signals();
}

const RtTeamHooks jit_team_hooks = {team_count, team_leave, team_enter, team_check};
