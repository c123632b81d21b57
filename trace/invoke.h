/* invoke.h - shared by the files that see what a user's code does: hooks.c, invoke.c, guard.c. */
#pragma once

#include "trace/internal.h"

/* Kinds of callables, as in python/pyasc/_numpy_table.py. ORDER kinds */
typedef enum CallKind {
    CALL_unknown,
    CALL_pure,    /* real values in, recorded */
    CALL_pass,    /* runs on tracers: builtins that go through protocols */
    CALL_mutates, /* as pure, writes its first argument */
    CALL_ask,     /* as pure, the answer is Python's */
    CALL_type,    /* type(x) */
    CALL_select,  /* numpy.where */
    CALL_context, /* errstate */
    CALL_local,   /* as pass, the result is a container made in this call */
    CALL_getattr, /* getattr(x, name) */
    CALL_hasattr,
    CALL_clip,     /* numpy.clip */
    CALL_effect,   /* once at each call: random numbers, clocks, print */
    CALL_apart,    /* looks at its caller, or changes how all later code works */
    CALL_question, /* of types and shapes: answered while tracing */
} CallKind;

/* Beside the kind, in higher bits. ORDER kinds */
enum {
    CALL_OUT_SHIFT = 8,      /* 1 + position of `out`, where there is one */
    CALL_ANY = 1 << 16,      /* pass: harmless to objects of all kinds */
    CALL_DEEP = 1 << 17,     /* pass: calls methods of what a container holds */
    CALL_AS_IT_IS = 1 << 18, /* pass: lists are the objects that they are */
    CALL_COPIES = 1 << 18,   /* pure only where no argument but the first is given */
};

/* -- items.c ----------------------------------------------------------------------- */
int trace_items_load(TraceState *state);
/* Builtins that read their arguments when their result is read. */
bool trace_goes_on(const TraceState *state, PyObject *callable);
/* What a loop goes over in place of a list or tuple: new reference. */
PyObject *trace_items(Trace *trace, PyObject *container);
/* The same for values, or pairs of key and value, of a dictionary. */
PyObject *trace_dict_items(Trace *trace, PyObject *dict, bool pairs);

PyObject *trace_id_of(PyObject *object);
/* Arrays and NumPy scalars. */
bool trace_is_data(PyObject *object);
bool trace_trial_ends(Trace *trace);
bool trace_trial_over(Trace *trace);
int trace_code_unseen(Trace *trace, PyObject *detail);
bool trace_is_stable(PyObject *object);
/* Code and default values of a function are as they are. 0, or -1 with an exception set. */
int trace_guard_definition(Trace *trace, PyObject *function);
PyObject *trace_load(Trace *trace, TraceSourceKind kind, PyObject *owner,
                     PyObject *name, PyObject *value);
/* The contents of a container that a cell holds are about to be read. */
void trace_read_cells(Trace *trace, PyObject *container);
int trace_see(Trace *trace, PyObject *object);
int trace_see_truth(Trace *trace, PyObject *object);
int trace_see_compared(Trace *trace, PyObject *object);
int trace_see_items(Trace *trace, PyObject *object);
/* A dictionary of tracers in place of one of known arrays. New reference. */
PyObject *trace_mapping(Trace *trace, PyObject *dict);
PyObject *trace_call_attribute(Trace *trace, PyObject *callable, PyObject *const *args,
                               size_t nargs, PyObject *kwnames, bool has);
PyObject *trace_attribute(Trace *trace, PyObject *object, PyObject *name);
/* True for calls of SciPy's functions that are pure in their arguments. */
bool trace_is_library(PyObject *callable, PyObject *const *args, size_t nargs,
                      PyObject *kwnames);
/* The call ends the trace, and is made with real values. */
PyObject *trace_unknown_effect(Trace *trace, TraceBail bail, PyObject *callable,
                               PyObject *const *args, size_t nargs, PyObject *kwnames);
/* print, clocks, random numbers: rows of the table. */
PyObject *trace_known_effect(Trace *trace, uint32_t row, PyObject *callable,
                             PyObject *const *args, size_t nargs, PyObject *kwnames);
/* The method `name` of an object whose methods are effects. */
PyObject *trace_effect_of(Trace *trace, PyObject *owner, PyObject *name,
                          PyObject *const *args, size_t nargs, PyObject *kwnames);
/* get, keys, values, items of a dictionary from outside; Py_NotImplemented (new reference):
** another method, or another dictionary. */
PyObject *trace_read_dict(Trace *trace, PyObject *dict, const char *name,
                          PyObject *const *args, size_t nargs);
PyObject *trace_rewritten(Trace *trace, PyObject *function, bool numbers);
PyObject *trace_invoke_ufunc_call(Trace *trace, PyObject *ufunc, PyObject *const *args,
                                  size_t nargs, PyObject *kwnames);
/* -- questions.c: the answer, or Py_NotImplemented (new reference) ------------------- */
PyObject *trace_question(Trace *trace, PyObject *callable, PyObject *const *args,
                         size_t nargs, PyObject *kwnames);
/* len(x), isinstance(x, …) of a tracer, as numbers of the trace or by what it stands for. */
PyObject *trace_builtin(Trace *trace, PyObject *callable, PyObject *const *args,
                        size_t nargs);
PyObject *trace_limit(Trace *trace, PyObject *limits, PyObject *name);
PyObject *trace_invoke_vector(Trace *trace, PyObject *callable, PyObject *const *args,
                              size_t nargs, PyObject *kwnames);

/* -- invoke_effect.c --------------------------------------------------------------- */
PyObject *trace_call_errstate(Trace *trace, PyObject *callable, PyObject *const *args,
                              size_t nargs, PyObject *kwnames);

/* -- written.c: hooks, see there --------------------------------------------------- */
PyObject *trace_hook_layout(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *trace_hook_dense(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *trace_hook_blank(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *trace_hook_record(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *trace_hook_shares(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *trace_hook_real(PyObject *module, PyObject *const *args, Py_ssize_t n);

/* -- stores.c: hooks, see there ---------------------------------------------------- */
PyObject *trace_hook_store_item(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *trace_hook_store_attribute(PyObject *module, PyObject *const *args,
                                     Py_ssize_t n);
PyObject *trace_hook_augmented(PyObject *module, PyObject *value);
PyObject *trace_hook_added(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *trace_hook_delete_item(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *trace_hook_delete_attribute(PyObject *module, PyObject *const *args,
                                      Py_ssize_t n);
PyObject *trace_hook_outer_global(PyObject *module, PyObject *const *args,
                                  Py_ssize_t n);
PyObject *trace_hook_outer(PyObject *module, PyObject *value);

/* -- masked.c: hooks, see there ---------------------------------------------------- */
PyObject *trace_hook_masked(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *trace_hook_store_masked(PyObject *module, PyObject *const *args,
                                  Py_ssize_t n);
PyObject *trace_hook_augment_masked(PyObject *module, PyObject *const *args,
                                    Py_ssize_t n);

/* -- invoke.c, invoke_method.c: calls that are made with the arguments as they are, as `row` says; methods of builtin
** containers and strings. */
PyObject *trace_call_pass(Trace *trace, PyObject *callable, PyObject *const *args,
                          size_t nargs, PyObject *kwnames, uint32_t row);
PyObject *trace_call_builtin_method(Trace *trace, PyObject *method,
                                    PyObject *const *args, size_t nargs,
                                    PyObject *kwnames);
