/* explain.c - facts about plans, from which Python makes explain(), lower() and
** report(). */
#include <stdatomic.h>
#include <stdlib.h>

#include "jit/resize.h"

static PyObject *
owned_text(char *text)
{
    PyObject *str = text ? PyUnicode_FromString(text) : PyUnicode_FromString("");
    free(text);
    return str;
}

static char *
passed_text(const IrGraph *kernel)
{
    IrGraph *copy = kernel ? jit_kernel_passed(kernel) : NULL;
    char *text = copy ? ir_print(copy) : NULL;
    ir_graph_free(copy);
    return text;
}

/* False: out of memory, and there is no list any more. */
static bool
add_name(PyObject **names, const char *text)
{
    PyObject *name = *names ? PyUnicode_FromString(text) : NULL;
    if (!name || PyList_Append(*names, name) < 0)
        Py_CLEAR(*names);
    Py_XDECREF(name);
    return *names != NULL;
}

/* The names of a group's ops, in order. */
static PyObject *
op_names(const JitGroupCode *code)
{
    const IrGraph *kernel = code->kernel;
    PyObject *names = PyList_New(0);
    for (IrNode node = kernel ? ir_region_first(kernel, 1) : 0; names && node;
         node = ir_node_next(kernel, node)) {
        if (ir_node_op(kernel, node) != OP_const)
            add_name(&names, ir_op_name(ir_node_op(kernel, node)));
    }
    for (uint32_t i = 0; !kernel && i < JIT_NAMED && code->named[i] && names; i++)
        add_name(&names, ir_op_name((IrOp)(code->named[i] - 1)));
    if (!kernel && code->named[JIT_NAMED - 1] && code->nops > JIT_NAMED && names)
        add_name(&names, "...");
    if (code->along && names)
        add_name(&names, code->along);
    return names;
}

static PyObject *
group_facts(const RtGroup *group, const JitGroupCode *code, bool reduces)
{
    bool ours = code->along && !group->nops; /* nothing to compile */
    int state = ours ? RT_CODE_ready
                : group->code
                    ? atomic_load_explicit(&group->code->state, memory_order_acquire)
                    : RT_CODE_failed;
    const char *reason = state == RT_CODE_ready                   ? ""
                         : code->reason                           ? code->reason
                         : state == RT_CODE_failed && group->code ? group->code->reason
                                                                  : "not compiled yet";
    return Py_BuildValue(
        "{s:I,s:O,s:O,s:s,s:N,s:N,s:N,s:n}", "ops", code->nops + (code->along != NULL),
        "reduces", reduces ? Py_True : Py_False, "compiled",
        state == RT_CODE_ready ? Py_True : Py_False, "reason", reason, "names",
        op_names(code), "kernel",
        owned_text(code->kernel ? ir_print(code->kernel) : NULL), "passed",
        owned_text(passed_text(code->kernel)), "size", (Py_ssize_t)group->size);
}

/* The type of a number among a call's arguments: Python's, or one of NumPy's scalars; NULL of all else. */
static PyTypeObject *
number_type(const JitPlan *plan, PyObject *arg)
{
    if (!trace_ref_check(plan->state->trace, arg))
        return PyLong_Check(arg) || PyFloat_CheckExact(arg) ||
                       PyComplex_CheckExact(arg) || PyArray_IsScalar(arg, Number)
                   ? Py_TYPE(arg)
                   : NULL;
    uint32_t slot = ((TraceRef *)arg)->value;
    return slot && plan->slots[slot - 1].scalar ? plan->slots[slot - 1].type : NULL;
}

/* 1 to 3 for Python's int (and bool), float and complex, 3 for a complex scalar of NumPy's, else 0. */
static int
rank_of(PyTypeObject *type)
{
    if (!type)
        return 0;
    if (type == &PyLong_Type || type == &PyBool_Type)
        return 1;
    if (type == &PyFloat_Type)
        return 2;
    return type == &PyComplex_Type ||
                   PyType_IsSubtype(type, &PyComplexFloatingArrType_Type)
               ? 3
               : 0;
}

/* "float.__lt__": an operator on numbers that is Python's own arithmetic, or C's on a complex one: no loop of NumPy's
** takes part. "number.int64": a number as a scalar of NumPy's. New reference; NULL without an exception: it is neither. */
static PyObject *
number_fact(const JitPlan *plan, const JitSite *site, PyObject *callable)
{
    static const char *const types[] = {"", "int", "float", "complex"};
    PyObject *module =
        PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : NULL;
    const char *name = trace_operator_name(plan->state->trace, callable);
    if (!name && module && PyModule_Check(module) &&
        strcmp(((PyCFunctionObject *)callable)->m_ml->ml_name, "abs") == 0)
        name = "abs";
    bool scalar = PyType_Check(callable) &&
                  PyType_IsSubtype((PyTypeObject *)callable, &PyGenericArrType_Type);
    int most = 0, numpys = 0;
    Py_ssize_t n = PyTuple_GET_SIZE(site->args);
    if (site->kwargs || n == 0)
        return NULL;
    if (n == 2 && module && PyModule_Check(module) &&
        strcmp(((PyCFunctionObject *)callable)->m_ml->ml_name, "getattr") == 0 &&
        rank_of(number_type(plan, PyTuple_GET_ITEM(site->args, 0)))) /* z.real */
        return PyUnicode_FromFormat("complex.%S", PyTuple_GET_ITEM(site->args, 1));
    for (Py_ssize_t i = 0; i < n; i++) {
        PyTypeObject *type = number_type(plan, PyTuple_GET_ITEM(site->args, i));
        int rank = rank_of(type);
        if (!type)
            return NULL;
        most = rank > most ? rank : most;
        numpys += !rank;
    }
    if (scalar)
        return n == 1 ? PyUnicode_FromFormat("number.%s",
                                             ((PyTypeObject *)callable)->tp_name)
                      : NULL;
    bool power = name && strcmp(name, "pow") == 0; /* C's, of NumPy's numbers, too */
    if ((numpys && most != 3 && !power) || !name)
        return NULL;
    char text[32];
    snprintf(text, sizeof text, "%s.__%.*s__", types[most ? most : 2],
             (int)strcspn(name, "_"), name); /* and_, or_ */
    return PyUnicode_FromString(text);
}

static PyObject *
call_facts(const JitPlan *plan, const JitSite *site)
{
    PyObject *callable = site->origin ? site->origin : site->callable, *first;
    PyObject *self =
        PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : NULL;
    const char *module = self && PyModule_Check(self) ? PyModule_GetName(self) : NULL;
    if (!module)
        PyErr_Clear();
    PyObject *number = number_fact(plan, site, callable);
    if (number || PyErr_Occurred())
        return number;
    if (module && strcmp(module, "builtins") == 0 &&
        strcmp(((PyCFunctionObject *)callable)->m_ml->ml_name, "round") == 0)
        return PyUnicode_FromString("builtins.round");
    if (module && strcmp(module, "math") == 0)
        return PyUnicode_FromFormat("math.%s",
                                    ((PyCFunctionObject *)callable)->m_ml->ml_name);
    if (PyCFunction_Check(site->callable) &&
        ((PyCFunctionObject *)site->callable)->m_ml->ml_name[0] ==
            '<') /* of our own: own.c */
        return PyUnicode_FromString(
            ((PyCFunctionObject *)site->callable)->m_ml->ml_name);
    if (site->opaque &&
        PyTuple_GET_SIZE(site->args)) { /* call(f, ...) stands for f(...) */
        first = PyTuple_GET_ITEM(site->args, 0);
        if (PyCell_Check(first) && PyCell_GET(first))
            callable = PyCell_GET(first);
        if (PyWeakref_CheckRef(callable))
            callable = PyWeakref_GET_OBJECT(callable);
    }
    Py_INCREF(callable); /* what asks for a name may run anything */
    PyObject *name = PyObject_GetAttrString(callable, "__qualname__");
    if (!name) {
        PyErr_Clear();
        name = PyObject_GetAttrString(callable, "__name__");
    }
    if (!name) {
        PyErr_Clear();
        name = PyObject_Repr(callable);
    }
    Py_DECREF(callable);
    return name;
}

/* Groups and calls of a plan and of the bodies of its loops. */
static bool
add_facts(const JitPlan *plan, PyObject *groups, PyObject *calls, PyObject *effects)
{
    for (uint32_t i = 0; i < plan->rt->ngroups; i++) {
        if (plan->codes[i].part)
            continue;
        PyObject *item = group_facts(plan->rt->groups[i], &plan->codes[i], false);
        bool failed = !item || PyList_Append(groups, item) < 0;
        Py_XDECREF(item);
        if (failed)
            return false;
    }
    for (uint32_t i = 0; i < plan->rt->nreduces; i++) {
        PyObject *item = group_facts(plan->rt->reduces[i].group, &plan->reduce_codes[i],
                                     !plan->reduce_codes[i].along);
        bool failed = !item || PyList_Append(groups, item) < 0;
        Py_XDECREF(item);
        if (failed)
            return false;
    }
    for (uint32_t i = 0; i < plan->nsites; i++) {
        if (!plan->sites[i].callable ||
            trace_is_touch(plan->state->trace, plan->sites[i].callable))
            continue;
        PyObject *item = call_facts(plan, &plan->sites[i]);
        PyObject *list = plan->sites[i].effect ? effects : calls;
        bool failed = !item || PyList_Append(list, item) < 0;
        Py_XDECREF(item);
        if (failed)
            return false;
    }
    for (uint32_t i = 0; i < plan->rt->nloops; i++) {
        if (!add_facts(plan->bodies[i], groups, calls, effects))
            return false;
    }
    return true;
}

PyObject *
jit_plan_facts(const JitPlan *plan)
{
    PyObject *groups = PyList_New(0), *calls = PyList_New(0), *facts = NULL;
    PyObject *effects = PyList_New(0);
    if (groups && calls && effects && add_facts(plan, groups, calls, effects))
        facts = Py_BuildValue(
            "{s:O,s:O,s:O,s:I,s:I,s:I,s:I,s:N,s:I}", "groups", groups, "calls", calls,
            "effects", effects, "steps", plan->rt->nsteps, "loops", plan->rt->nloops,
            "rows", plan->rt->nrows, "behind", plan->rt->nbehinds, "ir",
            owned_text(jit_plan_text(plan)), "slots", plan->rt->nslots);
    Py_XDECREF(groups);
    Py_XDECREF(calls);
    Py_XDECREF(effects);
    return facts;
}

static bool
add_code(const JitPlan *plan, bool assembly, PyObject *texts)
{
    for (uint32_t i = 0; i < plan->rt->ngroups; i++) {
        PyObject *text = jit_code_text(plan->state, &plan->codes[i], assembly);
        bool failed = !text || PyList_Append(texts, text) < 0;
        Py_XDECREF(text);
        if (failed)
            return false;
    }
    for (uint32_t i = 0; i < plan->rt->nreduces; i++) {
        PyObject *text = jit_code_text(plan->state, &plan->reduce_codes[i], assembly);
        bool failed = !text || PyList_Append(texts, text) < 0;
        Py_XDECREF(text);
        if (failed)
            return false;
    }
    for (uint32_t i = 0; i < plan->rt->nloops; i++) {
        if (!add_code(plan->bodies[i], assembly, texts))
            return false;
    }
    return true;
}

/* LLVM IR and assembly of all groups of a plan. */
PyObject *
jit_plan_code(const JitPlan *plan, bool assembly)
{
    PyObject *texts = PyList_New(0);
    if (texts && !add_code(plan, assembly, texts))
        Py_CLEAR(texts);
    return texts;
}
