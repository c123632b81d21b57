/* module.c - the extension module _pyasc. */
#define PYASC_IMPORT_NUMPY
#include <stdlib.h>
#include <string.h>

#include "jit/jit.h"

JitState *
jit_state(PyObject *module)
{
    return PyModule_GetState(module);
}

/* pyasc._api, and the tables that only tracing needs. */
PyObject *
jit_api(JitState *state)
{
    if (state->prepared)
        return state->api;
    if (!state->api)
        state->api = PyImport_ImportModule("pyasc._api");
    if (!state->api)
        return NULL;
    PyObject *tables = PyObject_CallMethod(state->api, "_tables", NULL), *table,
             *sources, *rewrite, *made, *describe, *written;
    if (!tables)
        return NULL;
    bool ok = PyArg_ParseTuple(tables, "OOOOOO", &table, &sources, &rewrite, &made,
                               &describe, &written) &&
              trace_state_set_table(state->trace, table, sources, rewrite, made) == 0;
    if (ok) {
        trace_state_set_describe(state->trace, describe);
        trace_state_set_written(state->trace, written);
    }
    Py_DECREF(tables);
    state->prepared = ok;
    return ok ? state->api : NULL;
}

/* pool_stats(): counts of the pool that result arrays come from. */
static PyObject *
module_pool_stats(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    RtPoolStats stats = rt_pool_stats(jit_state(module)->pool);
    return Py_BuildValue(
        "{s:n,s:n,s:n,s:n,s:K,s:K}", "in_use", (Py_ssize_t)stats.in_use, "idle",
        (Py_ssize_t)stats.idle, "reserved", (Py_ssize_t)stats.reserved, "peak",
        (Py_ssize_t)stats.peak, "takes", (unsigned long long)stats.takes, "allocations",
        (unsigned long long)stats.allocations);
}

/* pool_trim(keep): idle memory goes back to the system until `keep` bytes stay. */
static PyObject *
module_pool_trim(PyObject *module, PyObject *keep)
{
    size_t bytes = PyLong_AsSize_t(keep);
    if (bytes == (size_t)-1 && PyErr_Occurred())
        return NULL;
    rt_pool_trim(jit_state(module)->pool, bytes);
    Py_RETURN_NONE;
}

/* cache_stats(): counts of the kernel cache, in memory and on disk. */
static PyObject *
module_cache_stats(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    return jit_cache_stats(jit_state(module));
}

/* cache_bound(memory, disk): bytes. */
static PyObject *
module_cache_bound(PyObject *module, PyObject *args)
{
    Py_ssize_t memory;
    unsigned long long disk;
    if (!PyArg_ParseTuple(args, "nK", &memory, &disk))
        return NULL;
    jit_cache_bound(jit_state(module), (size_t)memory, disk);
    Py_RETURN_NONE;
}

/* cache_foreign(on): whether all code is to be ORC's. For tests. */
static PyObject *
module_cache_foreign(PyObject *module, PyObject *on)
{
    int foreign = PyObject_IsTrue(on);
    if (foreign < 0)
        return NULL;
    jit_cache_foreign(jit_state(module), foreign);
    Py_RETURN_NONE;
}

/* ops(): (name, NumPy's name or None, doc) of each operation. */
static PyObject *
module_ops(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *rows = PyList_New(0);
    for (int op = 0; rows && op < OP_COUNT; op++) {
        PyObject *row = Py_BuildValue("(szs)", ir_op_name((IrOp)op),
                                      ir_op_numpy((IrOp)op), ir_op_doc((IrOp)op));
        if (!row || PyList_Append(rows, row) < 0)
            Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    return rows;
}

/* dtypes(): names of element types. */
static PyObject *
module_dtypes(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *names = PyList_New(0);
    for (int dtype = 0; names && dtype < DT_COUNT; dtype++) {
        PyObject *name = PyUnicode_FromString(ir_dtype_name((IrDtype)dtype));
        if (!name || PyList_Append(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

/* prepare(): what tracing needs, before the first call does. */
static PyObject *
module_prepare(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    if (!jit_api(jit_state(module)))
        return NULL;
    Py_RETURN_NONE;
}

/* _leave(): Python's exit. LLVM must not be inside of a compile when the C library's handlers
** of exit take its globals apart: the compile that runs is finished, and no other is begun. Threads
** that Python ends when they want the GIL again must have no helpers inside of their work. */
static PyObject *
module_leave(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    jit_state(module)->disabled = true;
    jit_compile_stop(jit_state(module));
    rt_threads_stop(jit_state(module)->threads);
    Py_RETURN_NONE;
}

static int
exit_register(PyObject *module)
{
    PyObject *atexit = PyImport_ImportModule("atexit");
    PyObject *leave = atexit ? PyObject_GetAttrString(module, "_leave") : NULL;
    PyObject *done = leave ? PyObject_CallMethod(atexit, "register", "O", leave) : NULL;
    Py_XDECREF(atexit);
    Py_XDECREF(leave);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static PyMethodDef module_methods[] = {
    {"_leave", module_leave, METH_NOARGS, NULL},
    {"prepare", module_prepare, METH_NOARGS, NULL},
    {"dtypes", module_dtypes, METH_NOARGS, NULL},
    {"cache_stats", module_cache_stats, METH_NOARGS, NULL},
    {"cache_foreign", module_cache_foreign, METH_O, NULL},
    {"cache_bound", module_cache_bound, METH_VARARGS, NULL},
    {"twin_read", jit_twin_read, METH_VARARGS, NULL},
    {"twin_write", jit_twin_write, METH_VARARGS, NULL},
    {"digest", jit_twin_digest, METH_O, NULL},
    {"twin_stats", jit_twin_stats, METH_NOARGS, NULL},
    {"ops", module_ops, METH_NOARGS, NULL},
    {"graph_parse", jit_graph_parse, METH_O, NULL},
    {"graph_text", jit_graph_text, METH_O, NULL},
    {"graph_passed", jit_graph_passed, METH_O, NULL},
    {"graph_run", (PyCFunction)(void (*)(void))jit_graph_run, METH_FASTCALL, NULL},
    {"pool_stats", module_pool_stats, METH_NOARGS, NULL},
    {"pool_trim", module_pool_trim, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

/* The host back end lies beside this module. */
static char *
back_end_path(PyObject *module)
{
    PyObject *file = PyModule_GetFilenameObject(module);
    const char *text = file ? PyUnicode_AsUTF8(file) : NULL;
    const char *slash = text ? strrchr(text, '/') : NULL;
    char *path = NULL;
    size_t folder = slash ? (size_t)(slash - text) + 1 : 0;
    if (text) {
        path = PyMem_Malloc(folder + sizeof "_pyasc_host.so");
        if (path) {
            memcpy(path, text, folder);
            strcpy(path + folder, "_pyasc_host.so");
        }
    }
    PyErr_Clear();
    Py_XDECREF(file);
    return path;
}

static int
errstate_load(JitState *state)
{
    PyObject *umath = PyImport_ImportModule("numpy._core._multiarray_umath");
    if (umath)
        state->errstate_var = PyObject_GetAttrString(umath, "_extobj_contextvar");
    Py_XDECREF(umath);
    return state->errstate_var ? 0 : -1;
}

static int
module_exec(PyObject *module)
{
    JitState *state = jit_state(module);
    const char *disabled = getenv("PYASC_DISABLE");
    import_array1(-1);
    import_umath1(-1);
    state->disabled = disabled && strcmp(disabled, "0") != 0 && *disabled;
    if (PyModule_AddObjectRef(module, "DISABLED",
                              state->disabled ? Py_True : Py_False) < 0)
        return -1;
    state->trace = trace_state_new(module);
    state->threads = rt_threads_new();
    if (!state->threads) {
        PyErr_NoMemory();
        return -1;
    }
    if (!state->trace || jit_pool_new(state) < 0 || errstate_load(state) < 0 ||
        jit_func_type_add(state, module) < 0 || jit_nest_type_add(state, module) < 0 ||
        jit_ufuncs_new(state) < 0 || jit_sums_new(state) < 0 || jit_own_new(state) < 0)
        return -1;
    if (PyModule_AddStringConstant(module, "TWIN_VERSION", twin_version) < 0)
        return -1;
    char *path = back_end_path(module);
    int status = path ? jit_compiler_new(state, path) : -1;
    PyMem_Free(path);
    return status < 0 ? -1 : exit_register(module);
}

static int
module_traverse(PyObject *module, visitproc visit, void *arg)
{
    JitState *state = jit_state(module);
    Py_VISIT(state->function_type);
    Py_VISIT(state->api);
    return 0;
}

static int
module_clear(PyObject *module)
{
    JitState *state = jit_state(module);
    Py_CLEAR(state->function_type);
    Py_CLEAR(state->handler);
    Py_CLEAR(state->errstate_var);
    Py_CLEAR(state->errstate_seen);
    Py_CLEAR(state->own);
    Py_CLEAR(state->api);
    Py_CLEAR(state->options_scope);
    return 0;
}

static void
module_free(void *module)
{
    JitState *state = jit_state(module);
    if (!state)
        return;
    module_clear(module);
    if (state->trace)
        trace_state_free(state->trace);
    jit_loops_free(state->loops);
    jit_compiler_free(state->compiler);
    rt_threads_free(state->threads);
    *state = (JitState){0};
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,       .m_name = "_pyasc",      .m_size = sizeof(JitState),
    .m_methods = module_methods, .m_slots = module_slots, .m_traverse = module_traverse,
    .m_clear = module_clear,     .m_free = module_free,
};

PyMODINIT_FUNC PyInit__pyasc(void);

PyMODINIT_FUNC
PyInit__pyasc(void)
{
    return PyModuleDef_Init(&module_def);
}
