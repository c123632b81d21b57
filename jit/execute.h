/* execute.h - shared by the files that run plans: execute.c, execute_loops.c, effects.c. */
#pragma once

#include "jit/jit.h"

typedef union Scalar {
    char bytes[32];
    double number;
    Py_complex complex_;
    long double widest;
} Scalar;

typedef struct Call {
    JitPlan *plan;
    Scalar *scalars;
    PyObject *log;     /* list of the effects so far, or NULL */
    PyObject *stores;  /* list of (object, name, what the attribute was, or nothing) */
    Py_ssize_t log_at; /* effects in it that this run has come by */
    const struct JitSource
        *source;           /* what was read from outside since the last unknown code */
    PyObject *const *args; /* of the function */
    bool early; /* a call has raised that comes ahead of all that is written */
} Call;

static inline JitPlan *
jit_frame_plan(const RtFrame *frame)
{
    return ((Call *)frame->context)->plan;
}

/* The object of a slot, made if need be. Borrowed. */
PyObject *jit_slot_object(RtFrame *frame, uint32_t slot);
void jit_slot_set(RtFrame *frame, uint32_t slot, PyObject *object);
/* What a template stands for in this frame. New reference. */
PyObject *jit_template_build(RtFrame *frame, PyObject *template);
/* True of an array that is as the slot's. */
bool jit_same_array(const JitSlot *info, PyObject *object);
/* Puts new values into their slots; false: not what the plan was made for. */
bool jit_result_match(RtFrame *frame, PyObject *template, PyObject *got);

/* -- execute_loops.c --------------------------------------------------------------- */

/* What does not change from call to call. */
void jit_frame_constants(const RtPlan *rt, RtFrame *frame);
/* Callbacks of the runtime. */
int jit_loop_enter(RtFrame *frame, uint32_t index, RtFrame *body);
void jit_loop_leave(RtFrame *body);
int jit_loop_bind(RtFrame *from_frame, uint32_t from, RtFrame *in, uint32_t to);

/* -- recall.c ---------------------------------------------------------------------- */

/* True of methods that make Python objects of elements. */
bool jit_site_asks(PyObject *callable);
/* The array has given what was recorded. */
void jit_site_remember(JitSite *site, PyObject *object);
/* True if it would give that again. */
bool jit_site_recalls(const JitSite *site, PyObject *object);

/* -- effects.c --------------------------------------------------------------------- */

/* Notes an effect that has happened: see trace_resume. */
int jit_log_add(RtFrame *frame, const JitSite *site, PyObject *args, PyObject *got,
                PyObject *reads);
/* True if the plan holds after a call of unknown code that gave `got`. */
bool jit_opaque_holds(RtFrame *frame, const JitSite *site, PyObject *got);
/* Keeps what the last call of unknown code left in memory, before it is written again. */
int jit_log_seal(PyObject *log);
/* The next effect has happened in a run of another plan: what came of it. */
int jit_log_answer(RtFrame *frame, const JitSite *site);
/* Before an attribute is set: notes what it is. 0, or -1. */
int jit_store_note(RtFrame *frame, PyObject *args);
/* Sets noted attributes back, the last first; an exception that is set stays. */
void jit_stores_undo(PyObject *stores);
