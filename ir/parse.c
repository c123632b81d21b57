/* parse.c - text to graph; the exact inverse of print.c, whose head has the grammar.
**
** The text goes through the builder: what the builder refuses is refused here, with
** the line. The types on a line are checked against what the op gives, and taken over
** where an op leaves them open. A line's binders are read after its operands and
** regions, because a result's extent may name another result: the number it will have
** is only known then.
**
** Law 1: no text crashes: depth, lengths and numbers are bounded here or in the
**        builder.
** Law 2: a number where an operand may stand is a Python scalar, made a `const` just
**        before.
*/
#include "ir/parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ir/print.h"

/* -- Operands --------------------------------------------------------------------- */

/* A literal: a Python scalar. */
static IrValue
literal(Parser *p)
{
    const char *at = p->at;
    IrAttr attr = {.key = "value", .kind = ATTR_ints};
    IrValue value = 0;
    Word name;

    if (isalpha((unsigned char)*at) && strncmp(at, "inf", 3) && strncmp(at, "nan", 3)) {
        name = parse_word(p);
        if (parse_is_word(name, "true") || parse_is_word(name, "false"))
            value = ir_const_int(p->g, DT_pybool, parse_is_word(name, "true"));
        else
            parse_fail(p, at, "an operand expected");
    } else if (parse_number(p, &attr)) {
        value = attr.kind == ATTR_ints ? ir_const_int(p->g, DT_pyint, attr.ints[0])
                                       : ir_const_float(p->g, DT_pyfloat, attr.real);
    }
    parse_built(p, at);
    return value;
}

static bool
push_atom(Parser *p)
{
    IrValue value;

    parse_skip_space(p);
    if (*p->at == '%') {
        Word name = parse_value_name(p);
        value = p->failed ? 0 : parse_find_value(p, name);
        if (!value)
            return parse_fail(p, name.at, "%%%.*s is not defined", (int)name.length,
                              name.at);
    } else {
        value = literal(p);
    }
    if (!ir_grow((void **)&p->atoms, sizeof *p->atoms, p->natoms, &p->atoms_capacity))
        return parse_no_memory(p);
    p->atoms[p->natoms++] = value;
    return !p->failed;
}

/* Operands begin on the line of their op: what follows it may begin like an operand. */
static bool
starts_atom(Parser *p)
{
    while (*p->at == ' ' || *p->at == '\t')
        p->at++;
    return *p->at == '%' || *p->at == '-' || isdigit((unsigned char)*p->at);
}

/* A list of atoms that may be empty, pushed on the stack. */
static bool
atoms(Parser *p)
{
    Word ahead;
    const char *before;

    if (!starts_atom(p)) {
        if (!isalpha((unsigned char)*p->at))
            return !p->failed;
        before = p->at;
        ahead = parse_word(p);
        p->at = before;
        if (!(parse_is_word(ahead, "true") || parse_is_word(ahead, "false") ||
              parse_is_word(ahead, "inf") || parse_is_word(ahead, "nan")))
            return !p->failed;
    }
    do
        if (!push_atom(p))
            return false;
    while (parse_take(p, ","));
    return !p->failed;
}

/* -- Lines ------------------------------------------------------------------------ */

static bool body(Parser *p, const char *end);

/* Steps over binders to "="; their number is what is returned, or -1 without any "=".
 */
static int
skip_binders(Parser *p)
{
    int depth = 0, n = 1;

    if (!parse_next_is(p, "%"))
        return -1;
    for (; *p->at && *p->at != '\n'; p->at++) {
        depth += (*p->at == '[') - (*p->at == ']');
        if (*p->at == '=')
            return p->at++, n;
        n += *p->at == ',' && !depth;
    }
    return parse_fail(p, p->at, "\"=\" expected") - 1;
}

/* The graph's copy of a type on its way into a list of types. */
static bool
keep_type(Parser *p, IrType *found)
{
    found->dims = ir_arena_copy(&p->scratch, found->dims, found->ndim * sizeof(IrDim));
    return !p->scratch.failed || parse_no_memory(p);
}

/* The binders of a line: binds result i to the number first + i, collects the types. */
static bool
binders(Parser *p, IrValue first, uint32_t n, IrType *types)
{
    IrDim dims[IR_MAX_NDIM];

    for (uint32_t i = 0; i < n; i++) {
        Word name;
        if (i && !parse_expect(p, ","))
            return false;
        name = parse_value_name(p);
        if (p->failed || !parse_expect(p, ":") || !parse_bind(p, name, first + i) ||
            !parse_type(p, &types[i], dims) || !keep_type(p, &types[i]))
            return false;
    }
    return parse_expect(p, "=");
}

/* What is bound to a number that the builder did not use, since an equal node was
** there. */
static void
rebind(Parser *p, IrNode node, uint32_t n)
{
    for (uint32_t i = 0; i < n && i < p->nnames; i++)
        p->names[p->nnames - n + i].value = ir_result(p->g, node, i);
}

static bool
plain_line(Parser *p, IrOp op, const char *line, int nresults, size_t base,
           const IrAttr *attrs, uint32_t nattrs)
{
    uint32_t n = nresults > 0 ? (uint32_t)nresults : 0;
    IrType *types = ir_arena_take(&p->scratch, n * sizeof *types);
    const char *end = p->at;
    IrNode node;

    if (!types)
        return parse_no_memory(p);
    p->at = line;
    if (n && !binders(p, (IrValue)p->g->nvalues, n, types))
        return false;
    p->at = end;
    node = ir_node_typed(p->g, op, p->atoms + base, (uint32_t)(p->natoms - base), attrs,
                         nattrs, types, n);
    if (!parse_built(p, line))
        return false;
    rebind(p, node, n);
    return true;
}

static bool
region_of(Parser *p, IrRegion *region)
{
    size_t base = p->natoms;

    *region = ir_region_open(p->g);
    if (!parse_built(p, p->at) || !parse_params(p, *region) || !parse_expect(p, "{") ||
        !body(p, "yield") || !atoms(p))
        return false;
    ir_region_yield(p->g, *region, p->atoms + base, (uint32_t)(p->natoms - base));
    p->natoms = base;
    return parse_built(p, p->at) && parse_expect(p, "}");
}

static bool
control_line(Parser *p, IrOp op, const char *line, int nresults, size_t base,
             const IrAttr *attrs, uint32_t nattrs)
{
    uint32_t n = nresults > 0 ? (uint32_t)nresults : 0, nregions = 0, noperands;
    IrType *types = ir_arena_take(&p->scratch, n * sizeof *types);
    IrRegion regions[2] = {0};
    const char *end;
    IrNode node;

    noperands = (uint32_t)(p->natoms - base);
    while (parse_next_is(p, "(") && !p->failed) {
        if (nregions == 2)
            return parse_fail(p, p->at, "%s", ir_error_sentence(ERROR_region));
        if (!region_of(p, &regions[nregions++]))
            return false;
    }
    end = p->at;
    node = p->failed ? 0
                     : ir_control(p->g, op, p->atoms + base, noperands, regions,
                                  nregions, attrs, nattrs);
    if (!parse_built(p, line))
        return false;
    if (ir_node_nresults(p->g, node) != n)
        return parse_fail(p, line, "%u results expected", ir_node_nresults(p->g, node));
    if (!types)
        return parse_no_memory(p);
    p->at = line;
    if (n && !binders(p, ir_result(p->g, node, 0), n, types))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!ir_type_equal(&types[i], ir_type_of(p->g, ir_result(p->g, node, i))))
            return parse_fail(p, line, "%s: %s", ir_op_name(op),
                              ir_error_sentence(ERROR_types));
    p->at = end;
    return true;
}

static bool
line(Parser *p)
{
    const char *start = p->at;
    int nresults = skip_binders(p);
    IrAttr attrs[IR_MAX_ATTRS];
    size_t base = p->natoms;
    uint32_t nattrs;
    bool good;
    Word name;
    IrOp op;

    name = parse_word(p);
    if (p->failed || !ir_op_find(name.at, name.length, &op))
        return parse_fail(p, name.at, "an op expected");
    if (!atoms(p) || !parse_attributes(p, attrs, &nattrs))
        return false;
    if (ir_op_class(op) == CLASS_control)
        good = control_line(p, op, start, nresults, base, attrs, nattrs);
    else
        good = plain_line(p, op, start, nresults, base, attrs, nattrs);
    p->natoms = base;
    return good;
}

/* Lines up to the keyword `end`. */
static bool
body(Parser *p, const char *end)
{
    const char *before;

    for (;;) {
        parse_skip_space(p);
        before = p->at;
        if (parse_is_word(parse_word(p), end))
            return true;
        p->at = before;
        if (!*p->at)
            return parse_fail(p, p->at, "\"%s\" expected", end);
        if (!line(p))
            return false;
    }
}

/* -- The function ----------------------------------------------------------------- */

/* Steps over the types: they are read at the return, when extents that are values are
** known. */
static bool
skip_return_types(Parser *p)
{
    if (!parse_expect(p, "->") || !parse_expect(p, "("))
        return false;
    for (int depth = 1; depth; p->at++) {
        if (!*p->at)
            return parse_fail(p, p->at, "\")\" expected");
        depth += (*p->at == '(') - (*p->at == ')');
    }
    return true;
}

static bool
check_return_types(Parser *p, const char *types, size_t n)
{
    IrDim dims[IR_MAX_NDIM];
    const char *end = p->at;
    IrType found;

    p->at = types;
    parse_expect(p, "->");
    parse_expect(p, "(");
    for (size_t i = 0; i < n; i++) {
        const char *at = p->at;
        if ((i && !parse_expect(p, ",")) || !parse_type(p, &found, dims))
            return false;
        if (!ir_type_equal(&found, ir_type_of(p->g, p->atoms[i])))
            return parse_fail(p, at, "ret: %s", ir_error_sentence(ERROR_types));
    }
    if (!parse_expect(p, ")"))
        return false;
    p->at = end;
    return true;
}

static bool
function(Parser *p)
{
    const char *types;
    Word name;

    if (!parse_is_word(parse_word(p), "func"))
        return parse_fail(p, p->text, "\"func\" expected");
    name = parse_value_name(p);
    if (p->failed)
        return false;
    p->g = ir_graph_new(parse_keep_word(p, name));
    if (!p->g)
        return parse_no_memory(p);
    if (!parse_params(p, 1))
        return false;
    types = p->at;
    if (!skip_return_types(p) || !parse_expect(p, "{") || !body(p, "ret") || !atoms(p))
        return false;
    if (!check_return_types(p, types, p->natoms))
        return false;
    ir_return(p->g, p->atoms, (uint32_t)p->natoms);
    if (!parse_built(p, p->at) || !parse_expect(p, "}"))
        return false;
    parse_skip_space(p);
    return !*p->at || parse_fail(p, p->at, "nothing expected behind the function");
}

IrGraph *
ir_parse(const char *text, char *error, size_t n)
{
    Parser p = {.text = text, .at = text, .error = error, .nerror = n};
    IrNumberLocale locale = ir_number_locale_enter();

    if (error && n)
        error[0] = 0;
    if (!ir_grow((void **)&p.atoms, sizeof *p.atoms, 0, &p.atoms_capacity))
        parse_no_memory(&p);
    if (p.failed || !function(&p)) {
        ir_graph_free(p.g);
        p.g = NULL;
    }
    ir_number_locale_leave(locale);
    ir_arena_free(&p.scratch);
    ir_map_free(&p.by_hash);
    free(p.names);
    free(p.older);
    free(p.atoms);
    return p.g;
}
