/* check_ir_verify.c - graphs broken from inside: each invariant of verify.c is found
** broken, with the blamed line marked in the text.
*/
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph.h"

static const char text[] = "func %v(%n: index, %a: f64[8], %b: f64[8]) -> (f64[8]) {\n"
                           "  %0: f64[8] = add %a, %b\n"
                           "  %1: f64 = sum %0 {axes = 0, keepdims = 0}\n"
                           "  %2: f64[8] = divide %0, %1\n"
                           "  %3: f64[8] = for %n, %2 (%k: index, %p: f64[8]) {\n"
                           "    %4: f64[8] = sqrt %p\n"
                           "    yield %4\n"
                           "  }\n"
                           "  %5: f64[8] = exp %3\n"
                           "  ret %5\n"
                           "}\n";

static IrGraph *g;

/* The node whose op this is. */
static Node *
node_of(IrOp op)
{
    for (size_t i = 1; i < g->nnodes; i++)
        if (g->nodes[i].op == op)
            return &g->nodes[i];
    ck_abort();
    return NULL;
}

static void
use_later_value(void)
{
    ((IrValue *)node_of(OP_divide)->operands)[1] = node_of(OP_exp)->first;
}

static void
use_no_value(void)
{
    ((IrValue *)node_of(OP_add)->operands)[1] = 0;
}

static void
use_inner_value(void)
{
    ((IrValue *)node_of(OP_exp)->operands)[0] = node_of(OP_sqrt)->first;
}

static void
lose_operand(void)
{
    node_of(OP_divide)->noperands = 1;
}

static void
move_node(void)
{
    node_of(OP_exp)->home = node_of(OP_sqrt)->home;
}

static void
change_type(void)
{
    g->values[node_of(OP_sum)->first].type = g->values[node_of(OP_add)->first].type;
}

static void
unsort_attributes(void)
{
    IrAttr *attrs = (IrAttr *)node_of(OP_sum)->attrs, first = attrs[0];

    attrs[0] = attrs[1];
    attrs[1] = first;
}

static void
lose_region(void)
{
    node_of(OP_for)->nregions = 0;
}

static void
disown_region(void)
{
    g->regions[node_of(OP_for)->regions[0]].owner = 1;
}

static void
yield_too_little(void)
{
    g->regions[node_of(OP_for)->regions[0]].nyields = 0;
}

static void
forget_return(void)
{
    g->returned = false;
}

static const struct {
    void (*change)(void);
    const char *error, *blamed; /* the op of the marked line, NULL: none */
} cases[] = {
    {use_later_value, "divide: an operand is not in scope here", "divide"},
    {use_no_value, "add: an operand is no value of this graph", "add"},
    {use_inner_value, "exp: an operand is not in scope here", "exp"},
    {lose_operand, "divide: wrong number of operands", "divide"},
    {move_node, "exp: nodes are not in program order", "exp"},
    {change_type, "sum: result types are missing", "sum"},
    {unsort_attributes, "sum: an attribute is missing", "sum"},
    {lose_region, "for: the regions do not fit the op", "for"},
    {disown_region, "for: the regions do not fit the op", "for"},
    {yield_too_little, "for: the regions do not fit the op", "for"},
    {forget_return, "the function has no return", NULL},
};

START_TEST(finds_what_is_broken)
{
    char *shown, *mark, *start;

    g = ir_parse(text, NULL, 0);
    ck_assert(g && ir_verify(g));
    cases[_i].change();
    ck_assert(!ir_verify(g));
    ck_assert_msg(strstr(ir_error(g), cases[_i].error) == ir_error(g), "%s",
                  ir_error(g));
    if (cases[_i].blamed) {
        shown = ir_print(g);
        mark = strstr(shown, "  # <- error");
        ck_assert_ptr_nonnull(mark);
        *mark = 0;
        for (start = mark; start > shown && start[-1] != '\n'; start--)
            ;
        if (*start != ' ') /* the closing brace of a region */
            ck_assert(strstr(cases[_i].blamed, "for"));
        else
            ck_assert_msg(strstr(start, cases[_i].blamed) || strchr(start, '}'), "%s",
                          start);
        free(shown);
    }
    ir_graph_free(g);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("ir_verify");
    TCase *tests = tcase_create("ir_verify");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tests, finds_what_is_broken, 0,
                        (int)(sizeof cases / sizeof *cases));
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
