/* effects.c - the log of a call's effects.
**
** A plan that had effects and then turns out not to hold cannot be taken back: the next plan,
** or the trace, gets what came of them from the log instead of having them again.
*/
#include "jit/execute.h"
#include "jit/source.h"

/* Each array in `object`, with None where its copy goes. */
static int
add_arrays(PyObject *memory, PyObject *object)
{
    int status = 0;
    if (PyArray_Check(object)) {
        status = PyList_Append(memory, object);
        return status < 0 ? -1 : PyList_Append(memory, Py_None);
    }
    bool sequence = PyTuple_Check(object) || PyList_CheckExact(object);
    for (Py_ssize_t i = 0;
         sequence && status == 0 && i < PySequence_Fast_GET_SIZE(object); i++)
        status = add_arrays(memory, PySequence_Fast_GET_ITEM(object, i));
    return status;
}

/* The arrays that a call of unknown code could reach, and those that it gave; no copies yet. */
static PyObject *
memory_of(RtFrame *frame, const JitSite *site, PyObject *got)
{
    PyObject *memory = PyList_New(0);
    int status = memory ? 0 : -1;
    for (uint32_t i = 0; status == 0 && i < site->nreached; i++) {
        PyObject *object = jit_slot_object(frame, site->reached[i]);
        status = object ? add_arrays(memory, object) : -1;
    }
    if (status == 0 && got)
        status = add_arrays(memory, got);
    if (status < 0)
        Py_CLEAR(memory);
    return memory;
}

int
jit_log_seal(PyObject *log)
{
    Py_ssize_t n = log ? PyList_GET_SIZE(log) : 0;
    PyObject *entry = n ? PyList_GET_ITEM(log, n - 1) : NULL;
    PyObject *memory =
        entry && PyTuple_GET_SIZE(entry) > 4 ? PyTuple_GET_ITEM(entry, 4) : NULL;
    for (Py_ssize_t i = 0; memory && i + 1 < PyList_GET_SIZE(memory); i += 2) {
        if (PyList_GET_ITEM(memory, i + 1) != Py_None)
            return 0;
        PyObject *copy =
            PyArray_NewCopy((PyArrayObject *)PyList_GET_ITEM(memory, i), NPY_KEEPORDER);
        if (!copy)
            return -1;
        PyList_SetItem(memory, i + 1, copy);
    }
    return 0;
}

int
jit_log_add(RtFrame *frame, const JitSite *site, PyObject *args, PyObject *got,
            PyObject *reads)
{
    Call *call = frame->context;
    PyObject *type = NULL, *error = NULL, *traceback = NULL, *kept = NULL,
             *entry = NULL, *memory = NULL;
    if (!got) {
        PyErr_Fetch(&type, &error, &traceback);
        PyErr_NormalizeException(&type, &error, &traceback);
        if (error && traceback)
            PyException_SetTraceback(error, traceback);
    }
    if (got && site->kept && !site->opaque && PyArray_CheckExact(got))
        kept = PyArray_NewCopy((PyArrayObject *)got, NPY_KEEPORDER);
    else
        kept = Py_NewRef(got ? got : Py_None);
    if (!call->log)
        call->log = PyList_New(0);
    if (kept && (site->opaque || site->nreached))
        memory = memory_of(frame, site, site->opaque ? got : NULL);
    if (kept && memory && site->opaque)
        entry = PyTuple_Pack(6, site->callable, args, kept, error ? error : Py_None,
                             memory, reads);
    else if (kept && memory)
        entry = PyTuple_Pack(5, site->callable, args, kept, error ? error : Py_None,
                             memory);
    else if (kept && !site->opaque && !site->nreached)
        entry = PyTuple_Pack(4, site->callable, args, kept, error ? error : Py_None);
    Py_XDECREF(memory);
    int status = entry && call->log ? PyList_Append(call->log, entry) : -1;
    call->log_at += status == 0;
    Py_XDECREF(entry);
    Py_XDECREF(kept);
    if (!got)
        PyErr_Restore(type, error, traceback);
    return status;
}

/* Arrays that went outside are those of this run, too, with the contents they have here. */
static int
adopt(RtFrame *frame, PyObject *template, PyObject *given)
{
    const JitPlan *plan = jit_frame_plan(frame);
    if (trace_ref_check(plan->state->trace, template)) {
        uint32_t slot = ((TraceRef *)template)->value - 1;
        PyObject *own = frame->object[slot];
        if (plan->rt->slots[slot].kind != RT_SLOT_object || plan->slots[slot].scalar ||
            !PyArray_CheckExact(given) || own == given)
            return 0;
        for (uint32_t i = 0; i < plan->nparams; i++) {
            if (plan->param_slots[i] == slot)
                return 0;
        }
        if (PyArray_CopyInto((PyArrayObject *)given, (PyArrayObject *)own) < 0)
            return -1;
        jit_slot_set(frame, slot, given);
        return 0;
    }
    for (Py_ssize_t i = 0; PyTuple_CheckExact(template) && PyTuple_CheckExact(given) &&
                           i < PyTuple_GET_SIZE(template);
         i++) {
        if (adopt(frame, PyTuple_GET_ITEM(template, i), PyTuple_GET_ITEM(given, i)) < 0)
            return -1;
    }
    return 0;
}

/* The next effect has happened in a run of another plan: what came of it. */
int
jit_log_answer(RtFrame *frame, const JitSite *site)
{
    Call *call = frame->context;
    PyObject *entry = PyList_GET_ITEM(call->log, call->log_at++);
    PyObject *result = PyTuple_GET_ITEM(entry, 2), *args, *got;
    if (!trace_is_same_effect(PyTuple_GET_ITEM(entry, 0), site->callable) ||
        PyTuple_GET_ITEM(entry, 3) != Py_None)
        return JIT_DIVERGED;
    args = jit_template_build(frame, site->args); /* objects are made */
    int status = args ? adopt(frame, site->args, PyTuple_GET_ITEM(entry, 1)) : -1;
    Py_XDECREF(args);
    if (status < 0)
        return -1;
    if (PyTuple_GET_SIZE(entry) > 4 &&
        trace_log_restore(PyTuple_GET_ITEM(entry, 4)) < 0)
        return -1;
    if (site->opaque && !jit_opaque_holds(frame, site, result))
        return JIT_DIVERGED;
    got = PyArray_CheckExact(result) && !site->opaque
              ? (PyObject *)PyArray_NewCopy((PyArrayObject *)result, NPY_KEEPORDER)
              : Py_NewRef(result);
    if (got)
        status = jit_result_match(frame, site->result, got) ? 0 : JIT_DIVERGED;
    Py_XDECREF(got);
    return got ? status : -1;
}

/* True if the exception that is set is what an effect raised: it may be raised again. */
bool
jit_log_raised(PyObject *log)
{
    PyObject *type, *value, *traceback;
    Py_ssize_t n = log ? PyList_GET_SIZE(log) : 0;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    bool raised = n && PyTuple_GET_ITEM(PyList_GET_ITEM(log, n - 1), 3) == value;
    PyErr_Restore(type, value, traceback);
    return raised;
}

/* -- Unknown code ------------------------------------------------------------------- */

static bool
meets(PyObject *got, PyArrayObject *memory)
{
    if (PyTuple_Check(got) || PyList_CheckExact(got)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(got); i++) {
            if (meets(PySequence_Fast_GET_ITEM(got, i), memory))
                return true;
        }
    }
    return PyArray_Check(got) && trace_overlap((PyArrayObject *)got, memory);
}

bool
jit_opaque_holds(RtFrame *frame, const JitSite *site, PyObject *got)
{
    const JitPlan *plan = jit_frame_plan(frame);
    Call *call = frame->context;
    for (uint32_t i = 0; i < site->nreached; i++) {
        uint32_t slot = site->reached[i];
        PyObject *array = frame->object[slot];
        if (!array || !jit_same_array(&plan->slots[slot], array) ||
            PyArray_BYTES((PyArrayObject *)array) != frame->data[slot] ||
            meets(got, (PyArrayObject *)array))
            return false;
    }
    PyObject **params = PyMem_Malloc((plan->nparams + 1) * sizeof *params),
             *varying = NULL;
    uint32_t n = plan->nparams;
    for (uint32_t i = 0; params && i < n; i++)
        params[i] = frame->object[plan->param_slots[i]];
    call->source = site->late;
    bool holds = params && jit_source_match(site->late, params, &n, &varying,
                                            trace_log_reads(call->log, call->log_at));
    Py_XDECREF(varying);
    PyMem_Free(params);
    return holds;
}

/* -- Attributes and globals -------------------------------------------------------------------- */

int
jit_store_note(RtFrame *frame, PyObject *args)
{
    Call *call = frame->context;
    PyObject *object = PyTuple_GET_ITEM(args, 0), *name = PyTuple_GET_ITEM(args, 1);
    PyObject *old = PyDict_Check(object) ? Py_XNewRef(PyDict_GetItem(object, name))
                                         : PyObject_GetAttr(object, name);
    if (!old && PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear();
    if (!call->stores)
        call->stores = PyList_New(0);
    PyObject *entry =
        old ? PyTuple_Pack(3, object, name, old) : PyTuple_Pack(2, object, name);
    int status = entry && call->stores ? PyList_Append(call->stores, entry) : -1;
    Py_XDECREF(entry);
    Py_XDECREF(old);
    return status;
}

void
jit_stores_undo(PyObject *stores)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (Py_ssize_t i = PyList_GET_SIZE(stores) - 1; i >= 0; i--) {
        PyObject *entry = PyList_GET_ITEM(stores, i);
        PyObject *old = PyTuple_GET_SIZE(entry) > 2 ? PyTuple_GET_ITEM(entry, 2) : NULL;
        PyObject *owner = PyTuple_GET_ITEM(entry, 0),
                 *name = PyTuple_GET_ITEM(entry, 1);
        int status = !PyDict_Check(owner) ? PyObject_SetAttr(owner, name, old)
                     : old                ? PyDict_SetItem(owner, name, old)
                                          : PyDict_DelItem(owner, name);
        if (status < 0)
            PyErr_Clear();
    }
    PyErr_Restore(type, value, traceback);
}
