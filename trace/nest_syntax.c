/* nest_syntax.c - a loop's description as a tree. */
#include <string.h>

#include "trace/nest.h"

enum { PIECE = 16384, DEPTH_MAX = 60 };

typedef struct Piece {
    struct Piece *next;
    size_t used, room;
    max_align_t bytes[];
} Piece;

struct NestArena {
    Piece *pieces;
};

static void *
take(NestArena *arena, size_t n)
{
    n = (n + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!arena->pieces || arena->pieces->room - arena->pieces->used < n) {
        size_t room = n > PIECE ? n : PIECE;
        Piece *piece = PyMem_Malloc(sizeof *piece + room);
        if (!piece)
            return NULL;
        *piece = (Piece){.next = arena->pieces, .room = room};
        arena->pieces = piece;
    }
    char *at = (char *)arena->pieces->bytes + arena->pieces->used;
    arena->pieces->used += n;
    return memset(at, 0, n);
}

void *
nest_take(NestMaker *m, size_t bytes)
{
    void *memory = take(m->arena, bytes ? bytes : 1);
    if (!memory)
        nest_fail(m, "out of memory");
    return memory;
}

void
nest_tree_free(NestArena *arena)
{
    if (!arena)
        return;
    for (Piece *next, *piece = arena->pieces; piece; piece = next) {
        next = piece->next;
        PyMem_Free(piece);
    }
    PyMem_Free(arena);
}

static int
syntax_find(PyObject *name)
{
    static const char *const names[] = {
#define SYNTAX(name) #name,
#include "trace/nest_syntax.def"
#undef SYNTAX
    };
    for (int i = 0; i < SYNTAX_COUNT; i++) {
        if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0)
            return i;
    }
    return -1;
}

static int
operator_find(PyObject *name)
{
    static const char *const names[] = {
#define OPERATOR(name, ufunc, arity) #name,
#include "trace/operators.def"
#undef OPERATOR
        [NEST_not] = "not",
        [NEST_is] = "is",
        [NEST_is_not] = "is not",
    };
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
        if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0)
            return i;
    }
    return -1;
}

int
nest_operator(PyObject *name)
{
    return PyUnicode_Check(name) ? operator_find(name) : -1;
}

typedef struct Reader {
    NestArena *arena;
    uint32_t nslots;
    bool failed;
} Reader;

/* The slots that a tree assigns, into those of what it is in. */
static void
note_assigned(const Reader *r, NestTree *tree, const NestTree *child)
{
    bool stores = child->kind == SYNTAX_name && child->number >= 0;
    if (stores)
        tree->assigned[child->number] = 1;
    for (uint32_t i = 0; child->kind == SYNTAX_tuple && i < child->n; i++)
        note_assigned(r, tree, child->parts[i]);
}

static void
read_assigned(const Reader *r, NestTree *tree)
{
    if (tree->kind == SYNTAX_assign) {
        for (uint32_t i = 1; i < tree->n; i++)
            note_assigned(r, tree, tree->parts[i]);
    } else if (tree->kind == SYNTAX_append && tree->n == 3)
        note_assigned(r, tree, tree->parts[2]); /* how many there are */
    else if (tree->kind == SYNTAX_augment || tree->kind == SYNTAX_for)
        note_assigned(r, tree, tree->parts[0]);
    for (uint32_t i = 0; i < tree->n; i++) {
        for (uint32_t s = 0;
             tree->parts[i] && tree->parts[i]->assigned && s < r->nslots; s++)
            tree->assigned[s] |= tree->parts[i]->assigned[s];
    }
}

static void
read_value(Reader *r, NestTree *tree)
{
    if (PyLong_CheckExact(tree->value)) {
        long number = PyLong_AsLong(tree->value);
        tree->number = number > -2 && number < 1 << 20 ? (int)number : -2;
        PyErr_Clear();
    }
    if (tree->kind == SYNTAX_binary || tree->kind == SYNTAX_unary ||
        tree->kind == SYNTAX_augment) {
        tree->op = nest_operator(tree->value);
        r->failed |= tree->op < 0;
    }
    bool slot = tree->kind == SYNTAX_name || tree->kind == SYNTAX_for ||
                tree->kind == SYNTAX_while;
    r->failed |= slot && tree->number >= (int)r->nslots;
}

static NestTree *
read_tree(Reader *r, PyObject *tuple, int depth)
{
    NestTree *tree = take(r->arena, sizeof *tree);
    if (!tree || depth > DEPTH_MAX || !PyTuple_CheckExact(tuple) ||
        PyTuple_GET_SIZE(tuple) < 3) {
        r->failed = true;
        return tree;
    }
    int kind = syntax_find(PyTuple_GET_ITEM(tuple, 0));
    tree->kind = (NestSyntax)kind;
    tree->line = (int)PyLong_AsLong(PyTuple_GET_ITEM(tuple, 1));
    tree->value = PyTuple_GET_ITEM(tuple, 2);
    tree->n = (uint32_t)PyTuple_GET_SIZE(tuple) - 3;
    tree->parts = take(r->arena, (tree->n + 1) * sizeof *tree->parts);
    tree->assigned = take(r->arena, r->nslots + 1);
    if (kind < 0 || !tree->parts || !tree->assigned) {
        r->failed = true;
        tree->n = 0;
        return tree;
    }
    read_value(r, tree);
    for (uint32_t i = 0; i < tree->n && !r->failed; i++) {
        PyObject *part = PyTuple_GET_ITEM(tuple, i + 3);
        if (part != Py_None)
            tree->parts[i] = read_tree(r, part, depth + 1);
    }
    if (!r->failed && tree->kind >= SYNTAX_block)
        read_assigned(r, tree);
    return tree;
}

NestTree *
nest_tree_more(NestArena *arena, PyObject *description, uint32_t nslots)
{
    Reader r = {.arena = arena, .nslots = nslots};
    NestTree *tree = read_tree(&r, description, 0);
    PyErr_Clear();
    return r.failed ? NULL : tree;
}

NestTree *
nest_tree(PyObject *description, uint32_t nslots, NestArena **arena)
{
    *arena = PyMem_Calloc(1, sizeof(NestArena));
    return *arena ? nest_tree_more(*arena, description, nslots) : NULL;
}
