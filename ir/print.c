/* print.c - graph to text; parse.c is the exact inverse.
**
**   func    ::= func %name ( binder, … ) -> ( type, … ) { eqn … ret atom, … }
**   binder  ::= %name : type
**   type    ::= dtype [ dim, … ] layout?         dim    ::= integer | symbol | %index
**   eqn     ::= binder, … = op atom, … { key = value, … } region*
**   region  ::= ( binder, … ) { eqn … yield atom, … }
**   atom    ::= %name | literal                  (a literal is read, never printed)
**   value   ::= integer | float | (float, float) | "text" | [ integer, … ]
**
** A binder list and its "=" are left out where an op has no result. Scalars have no
** brackets. "#" starts a comment.
**
** Law 1: values are named by print order, parameters by their own name where it is
**        unique: the text of equal graphs is equal, and no address shows.
** Law 2: floats are decimal where 15 digits round-trip in their dtype, else
**        hexadecimal; a NaN that is not the default one shows its bits.
*/
#include "ir/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph.h"

typedef struct Printer {
    const IrGraph *g;
    char *text;
    size_t used, capacity;
    uint32_t *numbers;  /* of a value: its number + 1, or NAMED */
    const char **taken; /* open addressing: names of parameters printed so far */
    size_t ntaken;
    uint32_t next;
    bool failed;
} Printer;

enum { NAMED = UINT32_MAX };

/* -- Text ------------------------------------------------------------------------- */

static void
put_text(Printer *to, const char *text, size_t length)
{
    if (to->failed)
        return;
    if (to->capacity - to->used <= length) {
        size_t wanted = (to->capacity + length + 64) * 2;
        char *grown = realloc(to->text, wanted);
        if (!grown) {
            to->failed = true;
            return;
        }
        to->text = grown;
        to->capacity = wanted;
    }
    memcpy(to->text + to->used, text, length);
    to->used += length;
    to->text[to->used] = 0;
}

__attribute__((format(printf, 2, 3))) static void
put(Printer *to, const char *format, ...)
{
    char text[128];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length > 0)
        put_text(to, text,
                 (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

static void
put_word(Printer *to, const char *word)
{
    put_text(to, word, strlen(word));
}

/* -- Names, types ----------------------------------------------------------------- */

/* True the first time a name is seen. */
static bool
take_name(Printer *to, const char *name)
{
    size_t hash = 5381, at;

    for (const char *c = name; *c; c++)
        hash = hash * 33 ^ (unsigned char)*c;
    for (at = hash & (to->ntaken - 1); to->taken[at]; at = (at + 1) & (to->ntaken - 1))
        if (!strcmp(to->taken[at], name))
            return false;
    to->taken[at] = name;
    return true;
}

static void
name_param(Printer *to, const Param *param)
{
    bool named;

    if (to->numbers[param->value])
        return;
    named = param->name && take_name(to, param->name);
    to->numbers[param->value] = named ? (uint32_t)NAMED : ++to->next;
}

static void
put_value(Printer *to, IrValue value)
{
    const Value *row = &to->g->values[value];

    if (to->numbers[value] == NAMED)
        put(to, "%%%s", to->g->regions[row->home].params[row->index].name);
    else if (to->numbers[value])
        put(to, "%%%" PRIu32, to->numbers[value] - 1);
    else
        put_word(to, "%?"); /* out of scope: only broken graphs show it */
}

static void
put_type(Printer *to, const IrType *type)
{
    static const char *const layouts[] = {"", " nchw", " nhwc", " nc1hwc0"};

    put_word(to, ir_dtype_name(type->dtype));
    for (uint32_t i = 0; i < type->ndim; i++) {
        const IrDim *dim = &type->dims[i];
        put_word(to, i ? ", " : "[");
        if (dim->kind == DIM_integer)
            put(to, "%" PRId64, dim->value);
        else if (dim->kind == DIM_symbol)
            put_word(to, to->g->symbols[dim->value]);
        else
            put_value(to, (IrValue)dim->value);
    }
    if (type->ndim)
        put_word(to, "]");
    put_word(to, layouts[type->layout]);
}

static void
put_binder(Printer *to, IrValue value)
{
    put_value(to, value);
    put_word(to, ": ");
    put_type(to, ir_type_of(to->g, value));
}

/* -- Attributes ------------------------------------------------------------------- */

IrNumberLocale
ir_number_locale_enter(void)
{
    IrNumberLocale locale = {.plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)};

    if (locale.plain)
        locale.before = uselocale(locale.plain);
    return locale;
}

void
ir_number_locale_leave(IrNumberLocale locale)
{
    if (!locale.plain)
        return;
    uselocale(locale.before);
    freelocale(locale.plain);
}

void
ir_print_float(char text[IR_FLOAT_TEXT], double x, IrDtype dtype)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    if (isnan(x)) {
        if (bits == 0x7ff8000000000000u)
            strcpy(text, "nan");
        else
            snprintf(text, IR_FLOAT_TEXT, "nan:0x%016" PRIx64, bits);
        return;
    }
    if (isinf(x)) {
        strcpy(text, x < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 1; digits <= 15; digits++) {
        snprintf(text, IR_FLOAT_TEXT - 2, "%.*g", digits, x);
        if (ir_constant_round(dtype, strtod(text, NULL)) != x)
            continue;
        if (strchr(text, 'e') && fabs(x) >= 1 && fabs(x) < 1e15)
            snprintf(text, IR_FLOAT_TEXT, "%.1f", x); /* 100.0 rather than 1e+02 */
        else if (!strpbrk(text, ".e"))
            strcat(text, ".0");
        return;
    }
    snprintf(text, IR_FLOAT_TEXT, "%a", x);
}

static void
put_quoted(Printer *to, const char *text)
{
    put_word(to, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            put(to, "\\%c", c);
        else if (c < 32 || c == 127)
            put(to, "\\x%02x", c);
        else
            put_text(to, text, 1);
    }
    put_word(to, "\"");
}

static void
put_attr(Printer *to, const IrAttr *attr, IrDtype dtype)
{
    char text[IR_FLOAT_TEXT];

    put_word(to, attr->key);
    put_word(to, " = ");
    switch (attr->kind) {
    case ATTR_ints:
        put_word(to, attr->count == 1 ? "" : "[");
        for (uint32_t i = 0; i < attr->count; i++)
            put(to, "%s%" PRId64, i ? ", " : "", attr->ints[i]);
        put_word(to, attr->count == 1 ? "" : "]");
        break;
    case ATTR_text:
        put_quoted(to, attr->text);
        break;
    case ATTR_float:
        ir_print_float(text, attr->real, dtype);
        put_word(to, text);
        break;
    case ATTR_complex:
        ir_print_float(text, attr->real, dtype);
        put(to, "(%s, ", text);
        ir_print_float(text, attr->imag, dtype);
        put(to, "%s)", text);
        break;
    }
}

static void
put_attrs(Printer *to, const Node *node)
{
    IrDtype dtype =
        node->op == OP_const ? ir_type_of(to->g, node->first)->dtype : DT_float64;

    if (!node->nattrs)
        return;
    for (uint32_t i = 0; i < node->nattrs; i++) {
        put_word(to, i ? ", " : " {");
        put_attr(to, &node->attrs[i], dtype);
    }
    put_word(to, "}");
}

/* -- Nodes, regions --------------------------------------------------------------- */

static void put_nodes(Printer *to, IrRegion region, int depth);

static void
put_indent(Printer *to, int depth)
{
    for (int i = 0; i < depth; i++)
        put_word(to, "  ");
}

static void
put_values(Printer *to, const IrValue *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        put_word(to, i ? ", " : " ");
        put_value(to, values[i]);
    }
}

static void
put_params(Printer *to, IrRegion region)
{
    const Region *home = &to->g->regions[region];

    for (size_t i = 0; i < home->nparams; i++)
        name_param(to, &home->params[i]);
    put_word(to, "(");
    for (size_t i = 0; i < home->nparams; i++) {
        put_word(to, i ? ", " : "");
        put_binder(to, home->params[i].value);
    }
    put_word(to, ")");
}

static void
put_region(Printer *to, IrRegion region, int depth)
{
    put_word(to, " ");
    put_params(to, region);
    put_word(to, " {\n");
    put_nodes(to, region, depth + 1);
    put_indent(to, depth + 1);
    put_word(to, "yield");
    put_values(to, to->g->regions[region].yields, to->g->regions[region].nyields);
    put_word(to, "\n");
    put_indent(to, depth);
    put_word(to, "}");
}

static void
put_node(Printer *to, const Node *node, int depth)
{
    put_indent(to, depth);
    for (uint32_t i = 0; i < node->nresults; i++)
        if (!to->numbers[node->first + i])
            to->numbers[node->first + i] = ++to->next;
    for (uint32_t i = 0; i < node->nresults; i++) {
        put_word(to, i ? ", " : "");
        put_binder(to, node->first + i);
    }
    put_word(to, node->nresults ? " = " : "");
    put_word(to, ir_op_name((IrOp)node->op));
    put_values(to, node->operands, node->noperands);
    put_attrs(to, node);
    for (uint32_t i = 0; i < node->nregions; i++)
        put_region(to, node->regions[i], depth);
    if (to->g->failed && to->g->error_node && node == &to->g->nodes[to->g->error_node])
        put_word(to, "  # <- error");
    put_word(to, "\n");
}

static void
put_nodes(Printer *to, IrRegion region, int depth)
{
    for (IrNode at = to->g->regions[region].first; at && !to->failed;
         at = to->g->nodes[at].next)
        put_node(to, &to->g->nodes[at], depth);
}

static void
put_function(Printer *to)
{
    const IrGraph *g = to->g;

    put(to, "func %%");
    put_word(to, g->name);
    put_params(to, 1);
    put_word(to, " -> (");
    for (uint32_t i = 0; i < g->regions[1].nyields; i++) {
        put_word(to, i ? ", " : "");
        put_type(to, ir_type_of(g, g->regions[1].yields[i]));
    }
    put_word(to, ") {\n");
    put_nodes(to, 1, 1);
    if (g->returned) {
        put_word(to, "  ret");
        put_values(to, g->regions[1].yields, g->regions[1].nyields);
        put_word(to, "\n");
    }
    put_word(to, "}\n");
}

static void
put_item(Printer *to, const IrItem *item)
{
    if (item->group) {
        put_word(to, "group");
        put_values(to, item->inputs, item->ninputs);
        put_word(to, " ->");
        put_values(to, item->outputs, item->noutputs);
        put_word(to, "\n");
    } else {
        put_word(to, item->in_place ? "in place\n" : "single\n");
    }
    for (uint32_t i = 0; i < item->nnodes; i++)
        put_node(to, &to->g->nodes[item->nodes[i]], 1);
}

/* Has a result an extent that is a value? */
static bool
returns_extents(const IrGraph *g)
{
    for (uint32_t i = 0; i < ir_nreturns(g); i++) {
        const IrType *type = ir_type_of(g, ir_return_at(g, i));
        for (uint32_t d = 0; d < type->ndim; d++)
            if (type->dims[d].kind == DIM_index)
                return true;
    }
    return false;
}

/* The function's text, and instead of it the items of a schedule if there is one. */
static char *
print(const IrGraph *g, const IrSchedule *schedule)
{
    Printer to = {.g = g};
    IrNumberLocale locale = ir_number_locale_enter();
    size_t nparams = 8;

    for (size_t i = 1; i < g->nregions; i++)
        nparams += g->regions[i].nparams;
    for (to.ntaken = 16; to.ntaken < nparams * 2; to.ntaken *= 2)
        ;
    to.numbers = calloc(g->nvalues, sizeof *to.numbers);
    to.taken = calloc(to.ntaken, sizeof *to.taken);
    to.failed = !to.numbers || !to.taken;
    if (!to.failed)
        put_function(&to); /* gives the values their names */
    if (schedule || returns_extents(g))
        to.used = 0;
    if (!schedule && !to.failed && !to.used)
        put_function(&to); /* now the head can name extents made in the body */
    for (uint32_t i = 0; schedule && !to.failed && i < schedule->nitems; i++)
        put_item(&to, &schedule->items[i]);
    ir_number_locale_leave(locale);
    free(to.numbers);
    free(to.taken);
    if (to.failed) {
        free(to.text);
        return NULL;
    }
    to.text[to.used] = 0;
    return to.text;
}

char *
ir_print(const IrGraph *g)
{
    return print(g, NULL);
}

char *
ir_schedule_print(IrGraph *g)
{
    const IrSchedule *schedule = ir_schedule(g, 1);

    return schedule ? print(g, schedule) : NULL;
}
