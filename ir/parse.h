/* parse.h - what the reader of lines (parse.c) has from that of words
** (parse_words.c).
**
** A function that fails has told so: it returns false (or nothing), and the parser
** stays failed.
*/
#pragma once

#include "ir/graph.h"
#include "ir/map.h"

typedef struct Word {
    const char *at;
    size_t length;
} Word;

typedef struct Name {
    Word word;
    IrValue value;
} Name;

typedef struct Parser {
    const char *text, *at;
    IrGraph *g;
    Arena scratch;
    Name *names;
    size_t nnames, names_capacity;
    IrMap by_hash;   /* hash of a name -> newest row + 1 of names with it */
    uint32_t *older; /* row of names -> next older row + 1 with its hash */
    size_t older_capacity;
    IrValue *atoms; /* a stack of operand lists */
    size_t natoms, atoms_capacity;
    char *error;
    size_t nerror;
    bool failed;
} Parser;

/* Always false, so that it can be returned. */
bool parse_fail(Parser *p, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool parse_no_memory(Parser *p);
bool parse_built(Parser *p, const char *at); /* passes on the builder's error */

void parse_skip_space(Parser *p); /* and comments */
bool parse_next_is(Parser *p, const char *mark);
bool parse_take(Parser *p, const char *mark);   /* if it is next */
bool parse_expect(Parser *p, const char *mark); /* or fail */
Word parse_word(Parser *p);                     /* of letters, digits, _; or empty */
bool parse_is_word(Word found, const char *text);
const char *parse_keep_word(Parser *p, Word found); /* a string; never NULL */

Word parse_value_name(Parser *p); /* %name */
IrValue parse_find_value(const Parser *p, Word name);
bool parse_bind(Parser *p, Word name, IrValue value);

/* `dims` has room for IR_MAX_NDIM and is where found->dims points. */
bool parse_type(Parser *p, IrType *found, IrDim *dims);
bool parse_params(Parser *p, IrRegion region); /* ( binder, … ) */
bool parse_number(Parser *p, IrAttr *attr);
/* { key = value, … } or nothing; at most IR_MAX_ATTRS. */
bool parse_attributes(Parser *p, IrAttr *attrs, uint32_t *n);
