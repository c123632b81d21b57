/* resize.h - plans for other extents: resize.c. */
#pragma once

#include "jit/jit.h"

enum { RESIZED_NODES = 200, RESIZED_OPERANDS = 16, RESIZED_RESULTS = 8 };

/* -- resize_keep.c, sig_extents.c -------------------------------------------------- */

/* True if the array lies in memory in C order, and has elements. */
bool jit_in_c_order(const npy_intp *shape, const npy_intp *strides, int ndim,
                    npy_intp itemsize);
/* Keeps what is needed to make the plan for other extents; false: it is for these alone. */
bool jit_plan_keep_record(JitPlan *plan, Trace *trace);
/* The plan's graph as text, NULL where it has none; malloc'd. */
char *jit_plan_text(const JitPlan *plan);
/* Gives the plan, which no one else has, the extents of these parameters (as many as it has); false: it is as it was. */
bool jit_plan_refit(JitPlan *plan, PyObject *const *params);
/* True if the signatures differ in the extents of arrays, and in nothing else that counts. */
bool jit_sig_resized(const JitSig *a, const JitSig *b);
/* What an extent that a call gave may be now, where others that were `was` are `is`: plans look at it. */
int64_t jit_extent_guess(const int64_t *was, const int64_t *is, uint32_t n,
                         int64_t extent);
/* Of the extents of arrays; extents alone, in their order. */
uint64_t jit_sig_extents_hash(const JitSig *sig);
/* The plan for these parameters, or NULL without an exception: there has to be a trace. */
JitPlan *jit_plan_resized(const JitPlan *like, PyObject *const *params,
                          uint32_t nparams);
