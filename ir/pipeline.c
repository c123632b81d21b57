/* pipeline.c - runs passes.def: level, dump, verify, stop at the first error.
**
** Passes know nothing of dumps, timing or levels; their names are the golden tests'
** stages. In debug builds the text of every stage must read back to the same text.
*/
#include <stdlib.h>
#include <string.h>

#include "ir/graph.h"
#include "ir/pass.h"

typedef struct Stage {
    const char *name, *text;
    int level;
    bool (*run)(IrGraph *g);
} Stage;

static const Stage stages[] = {
#define PASS(name, level, text) {#name, text, level, ir_pass_##name},
#include "ir/passes.def"
#undef PASS
};

enum { NSTAGES = sizeof stages / sizeof *stages };

#ifndef NDEBUG
/* Parse(print(g)) prints as g. */
static bool
reads_back(IrGraph *g)
{
    char error[400] = "", *text = ir_print(g), *again = NULL;
    IrGraph *copy = text ? ir_parse(text, error, sizeof error) : NULL;
    bool same, memory;

    if (copy)
        again = ir_print(copy);
    same = text && again && !strcmp(text, again);
    memory =
        !text || (copy && !again) || strstr(error, ir_error_sentence(ERROR_memory));
    free(text);
    free(again);
    ir_graph_free(copy);
    return same || ir_fail(g, memory ? ERROR_memory : ERROR_text, OP_COUNT);
}
#endif

static bool
check(IrGraph *g)
{
#ifndef NDEBUG
    return ir_verify(g) && reads_back(g);
#else
    return !ir_error(g);
#endif
}

static void
show(const IrGraph *g, const char *name, IrDumpFn dump, void *context)
{
    char *text = dump ? ir_print(g) : NULL;

    if (text)
        dump(context, name, text);
    free(text);
}

bool
ir_pipeline_run(IrGraph *g, int level, IrDumpFn dump, void *context)
{
    bool good;

    show(g, "input", dump, context);
    good = check(g);
    for (int i = 0; good && i < NSTAGES; i++) {
        if (stages[i].level > level)
            continue;
        good = stages[i].run(g) && check(g);
        show(g, stages[i].name, dump, context);
    }
    return good;
}

bool
ir_pass_run(IrGraph *g, const char *name)
{
    for (int i = 0; i < NSTAGES; i++)
        if (!strcmp(stages[i].name, name))
            return check(g) && stages[i].run(g) && check(g);
    return ir_fail(g, ERROR_name, OP_COUNT);
}

const char *
ir_pass_name(uint32_t i)
{
    return i < NSTAGES ? stages[i].name : NULL;
}

const char *
ir_pass_text(uint32_t i)
{
    return i < NSTAGES ? stages[i].text : NULL;
}
