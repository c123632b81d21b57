/* pass_fold.c - matches fold.def until nothing changes; evaluates constants.
**
** The rows' texts are read into small trees when the pass starts. A node is looked at
** when its operands are already rewritten, so one sweep takes a chain of rules from
** the inside out. Matching looks at the graph being built; the pattern's root alone
** is still the old node, given as op and new operands.
*/
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/eval.h"
#include "ir/pass.h"
#include "ir/rewrite.h"

enum { MAX_TERMS = 12, MAX_SWEEPS = 8, NVARIABLES = 26 };

typedef enum TermKind { TERM_op, TERM_variable, TERM_number } TermKind;

typedef struct Term {
    TermKind kind;
    IrOp op;
    char variable;
    double number;
    uint8_t arguments[3];
} Term;

typedef struct Tree {
    Term terms[MAX_TERMS]; /* the root is the last one */
    uint8_t count;
} Tree;

typedef struct Rule {
    const char *kinds;
    Tree pattern, result;
} Rule;

typedef struct Bindings {
    IrValue values[NVARIABLES];
    double power; /* what p stands for */
} Bindings;

static const struct {
    const char *kinds, *pattern, *result;
} rows[] = {
#define FOLD(name, kinds, pattern, result) {kinds, pattern, result},
#include "ir/fold.def"
#undef FOLD
};

enum { NRULES = sizeof rows / sizeof *rows };

/* -- Reading rules ---------------------------------------------------------------- */

/* Returns the term's place in the tree. The texts are ours: no errors, only bounds. */
static uint8_t
read_term(Tree *tree, const char **at)
{
    Term term = {0};
    const char *start;
    char *end;
    int n = 0;

    while (**at == ' ' || **at == ',')
        ++*at;
    start = *at;
    while (isalnum((unsigned char)**at) || **at == '_')
        ++*at;
    if (**at == '(' && ir_op_find(start, (size_t)(*at - start), &term.op)) {
        term.kind = TERM_op;
        ++*at;
        while (**at && **at != ')' && n < 3)
            term.arguments[n++] = read_term(tree, at);
        *at += **at == ')';
    } else if (isalpha((unsigned char)*start)) {
        term.kind = TERM_variable;
        term.variable = *start;
    } else {
        term.kind = TERM_number;
        term.number = strtod(start, &end);
        *at = end;
    }
    tree->terms[tree->count] = term;
    return tree->count < MAX_TERMS - 1 ? tree->count++ : tree->count;
}

static Rule *
read_rules(void)
{
    Rule *rules = calloc(NRULES, sizeof *rules);

    for (int i = 0; rules && i < NRULES; i++) {
        const char *pattern = rows[i].pattern, *result = rows[i].result;
        rules[i].kinds = rows[i].kinds;
        read_term(&rules[i].pattern, &pattern);
        read_term(&rules[i].result, &result);
    }
    return rules;
}

/* -- Matching --------------------------------------------------------------------- */

/* The number a constant has in a loop of this dtype. */
static bool
constant_in(const IrGraph *g, IrValue value, IrDtype dtype, double *number)
{
    IrAttr settled;
    int64_t whole;
    IrNode def = ir_def(g, value);
    const IrAttr *held;

    if (def && ir_node_op(g, def) == OP_full)
        def = ir_def(g, ir_node_operand(g, def, 0));
    if (!def || ir_node_op(g, def) != OP_const)
        return false;
    held = ir_node_attr(g, def, "value");
    if (!held || !ir_constant_settle(dtype, held, &settled, &whole))
        return false;
    if (settled.kind == ATTR_ints) {
        *number = (double)whole;
        return whole >= -1 && whole <= 1;
    }
    *number = settled.real;
    return settled.kind == ATTR_float || (settled.kind == ATTR_complex &&
                                          settled.imag == 0 && !signbit(settled.imag));
}

static bool
same_number(double a, double b)
{
    return a == b && signbit(a) == signbit(b);
}

/* A power of two whose reciprocal the dtype holds exactly, as a normal number. */
static bool
is_power_of_two(double x, IrDtype dtype)
{
    double r = 1 / x;
    int exponent;

    return isfinite(x) && x != 0 && fabs(frexp(x, &exponent)) == 0.5 && isfinite(r) &&
           fabs(r) >= 0x1p-1022 && ir_constant_round(dtype, r) == r &&
           fabs(r) >= (dtype == DT_float16 ? 0x1p-14 : 0x1p-126);
}

static bool match(const IrGraph *g, const Tree *tree, uint8_t at, IrValue value,
                  IrDtype dtype, Bindings *bindings);

static bool
match_arguments(const IrGraph *g, const Tree *tree, const Term *term,
                const IrValue *operands, uint32_t n, Bindings *bindings)
{
    IrDtype dtypes[3], in[3], out;
    Bindings before = *bindings;
    int ways = ir_op_flags(term->op) & OPF_commutes ? 2 : 1;

    for (uint32_t i = 0; i < n; i++)
        dtypes[i] = ir_type_of(g, operands[i])->dtype;
    if (n > 3 || !ir_op_loop(term->op, dtypes, n, in, &out))
        return false;
    for (int way = 0; way < ways; way++) {
        bool good = true;
        *bindings = before;
        for (uint32_t i = 0; good && i < n; i++) {
            uint32_t other = way ? n - 1 - i : i;
            good = match(g, tree, term->arguments[i], operands[other], in[other],
                         bindings);
        }
        if (good)
            return true;
    }
    return false;
}

static bool
match(const IrGraph *g, const Tree *tree, uint8_t at, IrValue value, IrDtype dtype,
      Bindings *bindings)
{
    const Term *term = &tree->terms[at];
    const Node *node = &g->nodes[ir_def(g, value)];
    IrValue *bound;
    double number;

    switch (term->kind) {
    case TERM_number:
        return constant_in(g, value, dtype, &number) &&
               (same_number(number, term->number) ||
                (number == 0 && term->number == 0 &&
                 ir_dtype_kind(dtype) <= KIND_uint));
    case TERM_variable:
        if (term->variable == 'p')
            return constant_in(g, value, dtype, &bindings->power) &&
                   is_power_of_two(bindings->power, dtype);
        bound = &bindings->values[term->variable - 'a'];
        if (!*bound)
            *bound = value;
        return *bound == value;
    default:
        return ir_def(g, value) && node->op == term->op &&
               ir_type_of(g, value)->dtype == dtype &&
               match_arguments(g, tree, term, node->operands, node->noperands,
                               bindings);
    }
}

/* -- Building --------------------------------------------------------------------- */

/* A scalar constant, or an array full of it. */
static IrValue
make_number(IrGraph *g, const IrType *type, double number)
{
    IrType scalar = {.dtype = type->dtype};
    IrAttr value = {.key = "value", .kind = ATTR_float, .real = number};
    IrAttr settled;
    int64_t whole;
    IrValue made;

    if (ir_dtype_kind(type->dtype) < KIND_float) { /* a small number of a rule */
        whole = (int64_t)number;
        value = (IrAttr){.key = "value", .count = 1, .ints = &whole};
    }
    if (!ir_constant_settle(type->dtype, &value, &settled, &whole))
        return 0;
    made =
        ir_result(g, ir_node_typed(g, OP_const, NULL, 0, &settled, 1, &scalar, 1), 0);
    if (!type->ndim)
        return made;
    return ir_result(g, ir_node_typed(g, OP_full, &made, 1, NULL, 0, type, 1), 0);
}

static IrValue
make(IrGraph *g, const Tree *tree, uint8_t at, const IrType *type,
     const Bindings *bindings)
{
    const Term *term = &tree->terms[at];
    IrType scalar = {.dtype = type->dtype};
    IrValue operands[3];
    uint32_t n;

    if (term->kind == TERM_number)
        return make_number(g, type, term->number);
    if (term->kind == TERM_variable && term->variable == 'r')
        return make_number(g, &scalar, 1 / bindings->power);
    if (term->kind == TERM_variable)
        return bindings->values[term->variable - 'a'];
    n = (uint32_t)ir_op_arity(term->op);
    for (uint32_t i = 0; i < n; i++)
        operands[i] = make(g, tree, term->arguments[i], type, bindings);
    return ir_node(g, term->op, operands, n, NULL, 0);
}

static bool
fits_kind(const char *kinds, IrDtype dtype)
{
    static const char letters[] = {'B', 'I', 'U', 'F', 'C'};
    IrKind kind = ir_dtype_kind(dtype);

    return kind <= KIND_complex && strchr(kinds, letters[kind]);
}

/* Does the result of a rule keep the node's type? Made up of variables, it is checked
** before it is made: nothing is added to the graph in vain. */
static bool
keeps_type(const IrGraph *g, const Tree *tree, const Bindings *bindings,
           const IrType *type)
{
    const Term *root = &tree->terms[tree->count - 1];
    IrDtype dtypes[3], in[3], out;
    uint32_t n = 0;

    if (root->kind == TERM_number)
        return true;
    if (root->kind == TERM_variable)
        return ir_type_equal(ir_type_of(g, bindings->values[root->variable - 'a']),
                             type);
    for (; n < (uint32_t)ir_op_arity(root->op); n++) {
        const Term *term = &tree->terms[root->arguments[n]];
        if (term->kind != TERM_variable)
            return false;
        dtypes[n] = term->variable == 'r'
                        ? type->dtype
                        : ir_type_of(g, bindings->values[term->variable - 'a'])->dtype;
    }
    return ir_op_loop(root->op, dtypes, n, in, &out) && out == type->dtype;
}

/* -- The pass --------------------------------------------------------------------- */

static IrValue
apply_rules(Rewrite *rewrite, const Rule *rules, IrOp op, const IrValue *operands,
            uint32_t n, const IrType *type)
{
    for (int i = 0; i < NRULES; i++) {
        const Tree *pattern = &rules[i].pattern;
        const Term *root = &pattern->terms[pattern->count - 1];
        Bindings bindings = {0};
        IrValue made;
        if (root->op != op || !fits_kind(rules[i].kinds, type->dtype) ||
            !match_arguments(rewrite->to, pattern, root, operands, n, &bindings) ||
            !keeps_type(rewrite->to, &rules[i].result, &bindings, type))
            continue;
        made = make(rewrite->to, &rules[i].result, rules[i].result.count - 1, type,
                    &bindings);
        if (made && ir_type_equal(ir_type_of(rewrite->to, made), type))
            return made;
    }
    return 0;
}

static IrValue
fold_node(Rewrite *rewrite, IrNode number)
{
    const Node *node = &rewrite->from->nodes[number];
    IrDim dims[IR_MAX_NDIM];
    IrValue operands[3], made;
    IrType type;

    if (!(ir_op_flags((IrOp)node->op) & OPF_elementwise) || node->nattrs)
        return 0;
    for (uint32_t i = 0; i < node->noperands; i++)
        operands[i] = ir_rewritten(rewrite, node->operands[i]);
    type = ir_rewritten_type(rewrite, ir_type_of(rewrite->from, node->first), dims);
    if (node->op == OP_cast &&
        ir_type_equal(ir_type_of(rewrite->to, operands[0]), &type))
        return operands[0];
    made = ir_evaluate(rewrite->to, (IrOp)node->op, operands, node->noperands, &type);
    return made ? made
                : apply_rules(rewrite, rewrite->context, (IrOp)node->op, operands,
                              node->noperands, &type);
}

bool
ir_pass_fold(IrGraph *g)
{
    Rule *rules = read_rules();
    Rewrite rewrite = {.replace = fold_node, .context = rules, .pass = "fold"};
    bool good = rules != NULL;

    if (!rules)
        ir_fail(g, ERROR_memory, OP_COUNT);
    for (int sweep = 0; good && sweep < MAX_SWEEPS; sweep++) {
        good = ir_rewrite(g, &rewrite);
        if (!rewrite.changes)
            break;
    }
    free(rules);
    return good;
}
