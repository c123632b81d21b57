/* parse_words.c - the parts of a line: words, names, types, attributes. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/parse.h"

/* -- Errors ----------------------------------------------------------------------- */

bool
parse_fail(Parser *p, const char *at, const char *format, ...)
{
    char message[400];
    va_list args;
    int line = 1;

    if (p->failed)
        return false;
    p->failed = true;
    for (const char *c = p->text; c < at; c++)
        line += *c == '\n';
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (p->error && p->nerror)
        snprintf(p->error, p->nerror, "line %d: %s", line, message);
    return false;
}

bool
parse_no_memory(Parser *p)
{
    return parse_fail(p, p->at, "%s", ir_error_sentence(ERROR_memory));
}

/* The builder's error, if it has one. */
bool
parse_built(Parser *p, const char *at)
{
    const char *error = ir_error(p->g);

    return error ? parse_fail(p, at, "%s", error) : !p->failed;
}

/* -- Words ------------------------------------------------------------------------ */

void
parse_skip_space(Parser *p)
{
    for (;;) {
        while (isspace((unsigned char)*p->at))
            p->at++;
        if (*p->at != '#')
            return;
        while (*p->at && *p->at != '\n')
            p->at++;
    }
}

bool
parse_next_is(Parser *p, const char *mark)
{
    parse_skip_space(p);
    return !strncmp(p->at, mark, strlen(mark));
}

bool
parse_take(Parser *p, const char *mark)
{
    if (p->failed || !parse_next_is(p, mark))
        return false;
    p->at += strlen(mark);
    return true;
}

bool
parse_expect(Parser *p, const char *mark)
{
    return parse_take(p, mark) || parse_fail(p, p->at, "\"%s\" expected", mark);
}

static bool
in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

Word
parse_word(Parser *p)
{
    Word found;

    parse_skip_space(p);
    found.at = p->at;
    while (in_word(*p->at))
        p->at++;
    found.length = (size_t)(p->at - found.at);
    return found;
}

bool
parse_is_word(Word found, const char *text)
{
    return found.length == strlen(text) && !memcmp(found.at, text, found.length);
}

const char *
parse_keep_word(Parser *p, Word found)
{
    char *kept = ir_arena_take(&p->scratch, found.length + 1);

    if (!kept) {
        parse_no_memory(p);
        return "";
    }
    memcpy(kept, found.at, found.length);
    kept[found.length] = 0;
    return kept;
}

/* -- Names ------------------------------------------------------------------------ */

static uint32_t
hash_word(Word name)
{
    uint32_t hash = 5381;

    for (size_t i = 0; i < name.length; i++)
        hash = hash * 33 ^ (unsigned char)name.at[i];
    return hash | 1;
}

Word
parse_value_name(Parser *p)
{
    Word name = {0};

    if (!parse_expect(p, "%"))
        return name;
    name.at = p->at;
    while (in_word(*p->at))
        p->at++;
    name.length = (size_t)(p->at - name.at);
    if (!name.length)
        parse_fail(p, p->at, "a name expected");
    return name;
}

IrValue
parse_find_value(const Parser *p, Word name)
{
    uint32_t row = ir_map_find(&p->by_hash, hash_word(name));

    for (; row; row = p->older[row - 1]) {
        const Name *known = &p->names[row - 1];
        if (known->word.length == name.length &&
            !memcmp(known->word.at, name.at, name.length))
            return known->value;
    }
    return 0;
}

bool
parse_bind(Parser *p, Word name, IrValue value)
{
    uint32_t hash = hash_word(name);
    IrValue before = parse_find_value(p, name);

    if (before && ir_in_scope(p->g, before))
        return parse_fail(p, name.at, "%%%.*s is defined twice", (int)name.length,
                          name.at);
    if (!ir_grow((void **)&p->names, sizeof *p->names, p->nnames, &p->names_capacity) ||
        !ir_grow((void **)&p->older, sizeof *p->older, p->nnames, &p->older_capacity))
        return parse_no_memory(p);
    p->names[p->nnames] = (Name){name, value};
    p->older[p->nnames] = ir_map_find(&p->by_hash, hash);
    ir_map_put(&p->by_hash, hash, (uint32_t)++p->nnames);
    return !p->by_hash.failed || parse_no_memory(p);
}

/* -- Types ------------------------------------------------------------------------ */

static bool
whole_number(Parser *p, int64_t *number)
{
    char *end;

    parse_skip_space(p);
    errno = 0;
    *number = strtoll(p->at, &end, 10);
    if (end == p->at || errno || in_word(*end) || *end == '.')
        return parse_fail(p, p->at, "an integer expected");
    p->at = end;
    return true;
}

static bool
dimension(Parser *p, IrDim *dim)
{
    if (parse_next_is(p, "%")) {
        Word name = parse_value_name(p);
        IrValue value = p->failed ? 0 : parse_find_value(p, name);
        *dim = (IrDim){.value = value, .kind = DIM_index};
        return value || parse_fail(p, name.at, "an extent that is not defined");
    }
    if (isdigit((unsigned char)*p->at)) {
        *dim = ir_dim(0);
        return whole_number(p, &dim->value);
    }
    Word symbol = parse_word(p);
    if (!symbol.length)
        return parse_fail(p, p->at, "an extent expected");
    *dim = (IrDim){.value = ir_symbol_add(p->g, parse_keep_word(p, symbol)),
                   .kind = DIM_symbol};
    return parse_built(p, symbol.at);
}

static IrLayout
layout(Parser *p)
{
    static const char *const names[] = {"", "nchw", "nhwc", "nc1hwc0"};
    const char *before = p->at;
    Word name = parse_word(p);

    for (int i = LAYOUT_nchw; i <= LAYOUT_nc1hwc0; i++)
        if (parse_is_word(name, names[i]))
            return (IrLayout)i;
    p->at = before;
    return LAYOUT_strided;
}

/* `dims` has room for IR_MAX_NDIM. */
bool
parse_type(Parser *p, IrType *found, IrDim *dims)
{
    Word name = parse_word(p);

    *found = (IrType){.dims = dims};
    if (!ir_dtype_find(name.at, name.length, &found->dtype))
        return parse_fail(p, name.at, "a dtype expected");
    if (parse_take(p, "["))
        do {
            if (found->ndim == IR_MAX_NDIM)
                return parse_fail(p, p->at, "%s", ir_error_sentence(ERROR_ndim));
            if (!dimension(p, &dims[found->ndim++]))
                return false;
        } while (parse_take(p, ","));
    if (found->ndim && !parse_expect(p, "]"))
        return false;
    found->layout = layout(p);
    return !p->failed;
}

/* ( binder, … ) */
bool
parse_params(Parser *p, IrRegion region)
{
    IrDim dims[IR_MAX_NDIM];
    IrType found;
    IrValue value;

    if (!parse_expect(p, "("))
        return false;
    if (parse_take(p, ")"))
        return true;
    do {
        Word name = parse_value_name(p);
        const char *kept;
        if (!parse_expect(p, ":") || !parse_type(p, &found, dims))
            return false;
        kept = isdigit((unsigned char)*name.at) ? NULL : parse_keep_word(p, name);
        value = region == 1 ? ir_param_add(p->g, found, kept)
                            : ir_region_param(p->g, region, found, kept);
        if (!parse_built(p, name.at) || !parse_bind(p, name, value))
            return false;
    } while (parse_take(p, ","));
    return parse_expect(p, ")");
}

/* -- Attributes ------------------------------------------------------------------- */

static bool
quoted(Parser *p, IrAttr *attr)
{
    char *text = ir_arena_take(&p->scratch, strcspn(p->at, "\n") + 1);
    char *to = text;

    if (!text)
        return parse_no_memory(p);
    for (; *p->at != '"'; p->at++) {
        if (!*p->at || *p->at == '\n')
            return parse_fail(p, p->at, "the text does not end");
        if (*p->at != '\\') {
            *to++ = *p->at;
        } else if (p->at[1] == 'x' && isxdigit((unsigned char)p->at[2]) &&
                   isxdigit((unsigned char)p->at[3])) {
            char digits[3] = {p->at[2], p->at[3], 0};
            *to++ = (char)strtol(digits, NULL, 16);
            p->at += 3;
        } else if (p->at[1] == '"' || p->at[1] == '\\') {
            *to++ = *++p->at;
        } else {
            return parse_fail(p, p->at, "an unknown escape");
        }
    }
    p->at++;
    *to = 0;
    attr->kind = ATTR_text;
    attr->text = text;
    return true;
}

static bool
floating(Parser *p, double *number)
{
    char *end;

    parse_skip_space(p);
    if (!strncmp(p->at, "nan:0x", 6)) {
        uint64_t bits = strtoull(p->at + 6, &end, 16);
        memcpy(number, &bits, sizeof *number);
        if (*number == *number || end == p->at + 6)
            return parse_fail(p, p->at, "the bits of a NaN expected");
    } else if (!strncmp(p->at, "nan", 3)) {
        uint64_t bits = 0x7ff8000000000000u;
        memcpy(number, &bits, sizeof *number);
        end = (char *)p->at + 3;
    } else {
        *number = strtod(p->at, &end);
    }
    if (end == p->at || in_word(*end) || *end == '(')
        return parse_fail(p, p->at, "a number expected");
    p->at = end;
    return true;
}

/* An integer has nothing but a sign and decimal digits. */
static bool
is_whole(Parser *p)
{
    const char *at;

    parse_skip_space(p);
    at = p->at + (*p->at == '-');
    if (!isdigit((unsigned char)*at))
        return false;
    while (isdigit((unsigned char)*at))
        at++;
    return !in_word(*at) && *at != '.';
}

bool
parse_number(Parser *p, IrAttr *attr)
{
    int64_t *whole;

    if (!is_whole(p)) {
        attr->kind = ATTR_float;
        return floating(p, &attr->real);
    }
    whole = ir_arena_take(&p->scratch, sizeof *whole);
    attr->count = 1;
    attr->ints = whole;
    return whole ? whole_number(p, whole) : parse_no_memory(p);
}

static bool
int_list(Parser *p, IrAttr *attr)
{
    int64_t *ints = NULL;
    size_t n = 0, capacity = 0;
    bool good = true;

    if (parse_take(p, "]"))
        return true;
    do {
        good =
            ir_grow((void **)&ints, sizeof *ints, n, &capacity) || parse_no_memory(p);
        good = good && whole_number(p, &ints[n++]);
    } while (good && parse_take(p, ","));
    attr->ints = ir_arena_copy(&p->scratch, ints, n * sizeof *ints);
    attr->count = (uint32_t)n;
    free(ints);
    return good && parse_expect(p, "]") && (attr->ints || parse_no_memory(p));
}

static bool
attr_value(Parser *p, IrAttr *attr)
{
    attr->kind = ATTR_ints;
    if (parse_take(p, "\""))
        return quoted(p, attr);
    if (parse_take(p, "["))
        return int_list(p, attr);
    if (parse_take(p, "(")) {
        attr->kind = ATTR_complex;
        return floating(p, &attr->real) && parse_expect(p, ",") &&
               floating(p, &attr->imag) && parse_expect(p, ")");
    }
    return parse_number(p, attr);
}

bool
parse_attributes(Parser *p, IrAttr *attrs, uint32_t *n)
{
    *n = 0;
    if (!parse_take(p, "{"))
        return !p->failed;
    do {
        Word key = parse_word(p);
        if (*n == IR_MAX_ATTRS)
            return parse_fail(p, p->at, "too many attributes");
        attrs[*n] = (IrAttr){.key = parse_keep_word(p, key)};
        if (!parse_expect(p, "=") || !attr_value(p, &attrs[(*n)++]))
            return false;
    } while (parse_take(p, ","));
    return parse_expect(p, "}");
}
