/* nest_lists.h - lists in a nest: those that it fills, and those that it reads. */
#pragma once

#include "trace/nest.h"

/* -- nest_list.c -------------------------------------------------------------------- */
void nest_append(NestMaker *m, const NestTree *tree);
/* The array that has been made of the list's items, or NULL. */
const NestArray *nest_list_array(const NestMaker *m, PyObject *list);
/* Before the call: memory for the items. -1: an exception is set. */
int nest_lists_make(NestMaker *m);

/* -- nest_push.c -------------------------------------------------------------------- */
void nest_push(NestMaker *m, const NestTree *tree);
/* True if a list of the function's own is among the sources; *all: those that are are filled. */
bool nest_has_own_lists(const NestMaker *m, bool *all);
/* A list, be it filled in the place of another or the function's own. */
bool nest_is_list(const NestValue *x);
NestValue nest_list_length(NestMaker *m, PyObject *list);
/* How many turns a loop over it has; until it is done the list stays as it is. */
IrValue nest_list_over(NestMaker *m, PyObject *list);
NestValue nest_list_truth(NestMaker *m, PyObject *list);
NestValue nest_pop(NestMaker *m, const NestTree *tree);
/* True if the lists do not cost more than the loop saves. */
bool nest_lists_pay(NestMaker *m);
/* The item of a list, or of a row of one, as a place; or a row. */
NestValue nest_list_place(NestMaker *m, const NestValue *x, const NestValue *key);
NestValue nest_row_length(NestMaker *m, const NestValue *row);
NestValue nest_slot_read(NestMaker *m, const NestValue *slot);
void nest_slot_write(NestMaker *m, const NestTree *at, const NestValue *slot,
                     const NestValue *x);
NestValue nest_list_item(NestMaker *m, PyObject *list, const NestValue *index);
/* An append to a list of the function's own; `apart`: it can be taken apart so that it is none. */
void nest_push_own(NestMaker *m, PyObject *list, const NestValue *item, bool apart);

/* -- nest_listed.c ------------------------------------------------------------------ */
/* Before a walk: which lists the loop changes. */
void nest_note_changed(NestMaker *m, const NestTree *tree, PyObject *inputs);
bool nest_is_listed(const NestMaker *m, PyObject *list);
/* A list that is only read, as one; any other value as it is. */
NestValue nest_listed(NestMaker *m, const NestValue *x);
/* An item of it, or the list that is one; the same in a turn, which is in range. */
NestValue nest_listed_item(NestMaker *m, const NestValue *list, const NestValue *index);
NestValue nest_listed_at(NestMaker *m, const NestValue *list, IrValue turn);
/* Before the call: the array. New reference. */
PyObject *nest_listed_make(NestMaker *m, const NestArray *array);
