/* asc_opt.c - reads IR, runs passes, prints: the `opt` of pyasc.
**
**   asc_opt [--pass NAME]… [--level N] [--dump] [--verify] [--schedule] [--kernels]
**   [FILE] asc_opt --ops | --ops-md | --loops | --fold-rows
**
** Reads standard input unless a file is named. What follows "# expect:" in the input
** is not read, so that a golden test can be given as it is. Exit 1: the input or a
** pass was wrong.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

/* -- Tables ----------------------------------------------------------------------- */

typedef struct OpRow {
    const char *name, *class, *type, *numpy, *ident, *lower[5], *doc;
} OpRow;

static const OpRow op_rows[] = {
#define OP(name, class, arity, type, shape, flags, numpy, ident, sint, uint, flt, cpx, \
           bol, doc)                                                                   \
    {#name, #class, #type, numpy, #ident, {#sint, #uint, #flt, #cpx, #bol}, doc},
#include "ir/ops.def"
#undef OP
};

static const struct {
    const char *name, *kinds, *pattern, *result;
} fold_rows[] = {
#define FOLD(name, kinds, pattern, result) {#name, kinds, pattern, result},
#include "ir/fold.def"
#undef FOLD
};

static int
print_ops(void)
{
    for (int i = 0; i < OP_COUNT; i++)
        printf("%s %s %d %s %s %s %s %s %s %s\n", op_rows[i].name, op_rows[i].class,
               ir_op_arity((IrOp)i), op_rows[i].type,
               op_rows[i].numpy ? op_rows[i].numpy : "-", op_rows[i].lower[0],
               op_rows[i].lower[1], op_rows[i].lower[2], op_rows[i].lower[3],
               op_rows[i].lower[4]);
    return 0;
}

static int
first_of_class(int op)
{
    int first = 0;

    while (strcmp(op_rows[first].class, op_rows[op].class))
        first++;
    return first;
}

static void
print_class(const char *class)
{
    printf("\n## %s\n\n| op | NumPy | result dtype | int | uint | float | complex | "
           "bool | "
           "|\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
           class);
    for (int i = 0; i < OP_COUNT; i++) {
        const OpRow *row = &op_rows[i];
        if (strcmp(class, row->class))
            continue;
        printf("| `%s` | %s | %s | %s | %s | %s | %s | %s | ", row->name,
               row->numpy ? row->numpy : "", row->type, row->lower[0], row->lower[1],
               row->lower[2], row->lower[3], row->lower[4]);
        for (const char *c = row->doc; *c; c++)
            printf(*c == '|' ? "\\|" : "%c", *c);
        puts(" |");
    }
}

static int
print_ops_md(void)
{
    puts("# Operations\n\nGenerated from `ir/ops.def` by `asc_opt --ops-md`; do not "
         "edit.\n\n"
         "`nop`: cannot occur for the kind. `lib`: no code of its own, NumPy's loop or "
         "a "
         "library runs it.\n\nThe text form:\n```");
    puts("func    ::= func %name ( binder, … ) -> ( type, … ) { eqn … ret atom, … }\n"
         "binder  ::= %name : type\n"
         "type    ::= dtype [ dim, … ] layout?         dim    ::= integer | symbol | "
         "%index\n"
         "eqn     ::= binder, … = op atom, … { key = value, … } region*\n"
         "region  ::= ( binder, … ) { eqn … yield atom, … }\n"
         "atom    ::= %name | literal\n"
         "value   ::= integer | float | (float, float) | \"text\" | [ integer, … "
         "]\n```");
    for (int i = 0; i < OP_COUNT; i++) /* a class is told where its first op stands */
        if (first_of_class(i) == i)
            print_class(op_rows[i].class);
    return 0;
}

static int
print_fold_rows(void)
{
    for (size_t i = 0; i < sizeof fold_rows / sizeof *fold_rows; i++)
        printf("%s\t%s\t%s\t%s\n", fold_rows[i].name, fold_rows[i].kinds,
               fold_rows[i].pattern, fold_rows[i].result);
    return 0;
}

/* "add f32 pyint : f32 f32 -> f32" or "... : refused", for all dtypes of numbers. */
static void
print_loops_of(IrOp op, IrDtype *operands, int given)
{
    int arity = ir_op_arity(op);
    IrDtype in[3], out;

    if (given < arity) {
        for (int i = 0; i < DT_COUNT; i++) {
            operands[given] = (IrDtype)i;
            if (ir_dtype_kind((IrDtype)i) != KIND_other)
                print_loops_of(op, operands, given + 1);
        }
        return;
    }
    printf("%s", ir_op_name(op));
    for (int i = 0; i < arity; i++)
        printf(" %s", ir_dtype_name(operands[i]));
    if (!ir_op_loop(op, operands, (uint32_t)arity, in, &out)) {
        puts(" : refused");
        return;
    }
    printf(" :");
    for (int i = 0; i < arity; i++)
        printf(" %s", ir_dtype_name(in[i]));
    printf(" -> %s\n", ir_dtype_name(out));
}

static int
print_loops(void)
{
    IrDtype operands[3];

    for (int op = 0; op < OP_COUNT; op++)
        if (ir_op_flags((IrOp)op) & OPF_elementwise && op != OP_cast)
            print_loops_of((IrOp)op, operands, 0);
    return 0;
}

/* -- Graphs ----------------------------------------------------------------------- */

static char *
read_all(FILE *file)
{
    size_t used = 0, capacity = 4096;
    char *text = malloc(capacity), *grown, *end;

    while (text) {
        used += fread(text + used, 1, capacity - used - 1, file);
        if (feof(file) || ferror(file))
            break;
        grown = realloc(text, capacity * 2);
        if (!grown)
            free(text);
        text = grown;
        capacity *= 2;
    }
    if (!text)
        return NULL;
    text[used] = 0;
    end = strstr(text, "# expect:");
    if (end)
        *end = 0;
    return text;
}

static void
dump(void *context, const char *pass, const char *text)
{
    (void)context;
    printf("# %s\n%s", pass, text);
}

static int
print_graph(const IrGraph *g)
{
    char *text = ir_print(g);

    if (!text)
        return 1;
    fputs(text, stdout);
    free(text);
    return 0;
}

static int
print_kernels(IrGraph *g)
{
    const IrSchedule *schedule = ir_schedule(g, 1);

    for (uint32_t i = 0; schedule && i < schedule->nitems; i++) {
        IrGraph *kernel;
        if (!schedule->items[i].group)
            continue;
        kernel = ir_group_extract(g, &schedule->items[i]);
        if (!kernel || print_graph(kernel)) {
            fprintf(stderr, "no kernel for item %u\n", i);
            ir_graph_free(kernel);
            return 1;
        }
        ir_graph_free(kernel);
    }
    return schedule ? 0 : 1;
}

static int
fail(const char *error)
{
    fprintf(stderr, "%s\n", error ? error : "out of memory");
    return 1;
}

static int
run(IrGraph *g, int argc, char **argv)
{
    bool schedule = false, kernels = false;
    char *text;

    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        bool good = true;
        if (!strcmp(argv[i], "--pass"))
            good = ir_pass_run(g, next);
        else if (!strcmp(argv[i], "--level"))
            good = ir_pipeline_run(g, atoi(next), NULL, NULL);
        else if (!strcmp(argv[i], "--dump"))
            good = ir_pipeline_run(g, 9, dump, NULL);
        schedule |= !strcmp(argv[i], "--schedule");
        kernels |= !strcmp(argv[i], "--kernels");
        if (!good)
            return fail(ir_error(g));
    }
    if (!ir_verify(g)) {
        print_graph(g);
        return fail(ir_error(g));
    }
    if (kernels)
        return print_kernels(g);
    if (!schedule)
        return print_graph(g);
    text = ir_schedule_print(g);
    if (!text)
        return fail(ir_error(g));
    fputs(text, stdout);
    free(text);
    return 0;
}

int
main(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "", *last = argc > 1 ? argv[argc - 1] : "";
    bool named = strlen(last) > 4 && !strcmp(last + strlen(last) - 4, ".asc");
    FILE *file = named ? fopen(last, "r") : stdin;
    char *text, error[512];
    IrGraph *g;
    int status;

    if (!strcmp(first, "--ops"))
        return print_ops();
    if (!strcmp(first, "--ops-md"))
        return print_ops_md();
    if (!strcmp(first, "--loops"))
        return print_loops();
    if (!strcmp(first, "--fold-rows"))
        return print_fold_rows();
    if (!file)
        return fail("the file cannot be read");
    text = read_all(file);
    if (named)
        fclose(file);
    if (!text)
        return fail(NULL);
    g = ir_parse(text, error, sizeof error);
    free(text);
    if (!g)
        return fail(error);
    status = run(g, argc, argv);
    ir_graph_free(g);
    return status;
}
