/* turns.c - functions that are no one trace: their loops are too long, or go too many ways.
**
** Python runs what is around a loop, each of whose turns is a call of a jitted function: a piece, which
** python/pyasc/_turns.py cuts out. A piece says if it is worth the call.
*/
#include <stdatomic.h>

#include "jit/func.h"

enum { UNKNOWN_MANY = 8, IDLE_MANY = 16 };

void
jit_turns_clear(JitFunc *self)
{
    Py_CLEAR(self->turns);
    Py_CLEAR(self->pieces);
    Py_CLEAR(self->divided);
}

static int
turns_make(JitFunc *self, bool whole)
{
    PyObject *function = jit_plain_function(self->wrapped);
    PyObject *code = PyFunction_Check(function) ? PyFunction_GET_CODE(function) : NULL;
    if (self->turns && self->divided == code)
        return 0;
    PyObject *api = jit_api(self->state);
    PyObject *made =
        api ? PyObject_CallMethod(api, "_in_turns", "Oi", self, (int)whole) : NULL;
    if (!made)
        return -1;
    jit_turns_clear(self);
    self->divided = Py_XNewRef(code);
    bool some = PyTuple_Check(made);
    self->turns = Py_NewRef(some ? PyTuple_GET_ITEM(made, 0) : Py_None);
    self->pieces = some ? Py_NewRef(PyTuple_GET_ITEM(made, 1)) : NULL;
    Py_DECREF(made);
    return 0;
}

bool
jit_may_divide(TraceBail bail)
{
    switch (bail) {
    case BAIL_unknown_array:
    case BAIL_unknown_call:
    case BAIL_unknown_result:
    case BAIL_unknown_constant:
    case BAIL_view:
    case BAIL_store:
    case BAIL_leak:
    case BAIL_too_long:
    case BAIL_fills:
    case BAIL_caught:
    case BAIL_too_many_paths:
        return true;
    default:
        return false;
    }
}

bool
jit_func_divides(JitFunc *self, TraceBail bail)
{
    bool whole = bail != BAIL_too_long && bail != BAIL_too_many_paths;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);   /* the call may have raised */
    bool made = turns_make(self, whole) == 0; /* else there is no memory */
    PyErr_Restore(type, value, traceback);
    return made && self->turns != Py_None;
}

/* True if calls of the kind that the last one was are worth it, or it is not known yet. */
static bool
func_pays(const JitFunc *self)
{
    const Entry *entry = self->nentries ? self->entries[0] : NULL;
    bool pays = !self->plain && self->wasted <= jit_wasted_max(self) &&
                self->idle <= IDLE_MANY && self->unknown <= UNKNOWN_MANY + self->hits;
    if (pays && entry && entry->plain) {
        bool waits =
            entry->awaited && atomic_load(&entry->awaited->state) == RT_CODE_waiting;
        pays = (entry->awaited && !waits) ||
               (jit_may_divide(entry->bail) && self->turns != Py_None);
    } else if (pays && entry)
        pays = entry->worth;
    return pays;
}

static bool
any_pays(const JitFunc *self)
{
    bool any = false;
    for (Py_ssize_t i = 0; !any && i < PyList_GET_SIZE(self->pieces); i++)
        any = func_pays((JitFunc *)PyList_GET_ITEM(self->pieces, i));
    return any;
}

PyObject *
jit_func_pays(PyObject *op, void *Py_UNUSED(closure))
{
    JitFunc *self = (JitFunc *)op;
    bool called = self->misses || self->unknown;
    self->idle = called ? 0 : self->idle + 1;
    return PyBool_FromLong(func_pays(self));
}

PyObject *
jit_call_divided(JitFunc *self, Entry *entry, PyObject *const *args, size_t nargsf,
                 PyObject *kwnames)
{
    if (!jit_may_divide(entry->bail) || !jit_func_divides(self, entry->bail))
        return jit_call_plain(self, args, nargsf, kwnames);
    if (!any_pays(self))
        return jit_call_plain(self, args, nargsf, kwnames);
    PyObject *turns = Py_NewRef(self->turns);
    if (jit_take_defaults(turns, jit_plain_function(self->wrapped)) < 0) {
        Py_DECREF(turns);
        return NULL;
    }
    PyObject *result = PyObject_Vectorcall(turns, args, nargsf, kwnames);
    Py_DECREF(turns);
    return result;
}
