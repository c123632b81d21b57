/* effects.c - the log of a call's effects.
**
** A plan that had effects and then turns out not to hold cannot be taken back: the next plan,
** or the trace, gets what came of them from the log instead of having them again.
*/
#include "jit/execute.h"

/* Notes an effect that has happened: (callable, arguments, result, exception or None). */
int
jit_log_add(RtFrame *frame, const JitSite *site, PyObject *args, PyObject *got)
{
    Call *call = frame->context;
    PyObject *type = NULL, *error = NULL, *traceback = NULL, *kept = NULL;
    if (!got) {
        PyErr_Fetch(&type, &error, &traceback);
        PyErr_NormalizeException(&type, &error, &traceback);
        if (error && traceback)
            PyException_SetTraceback(error, traceback);
    }
    if (got && site->kept && PyArray_CheckExact(got))
        kept = PyArray_NewCopy((PyArrayObject *)got, NPY_KEEPORDER);
    else
        kept = Py_NewRef(got ? got : Py_None);
    if (!call->log)
        call->log = PyList_New(0);
    PyObject *entry =
        kept ? PyTuple_Pack(4, site->callable, args, kept, error ? error : Py_None)
             : NULL;
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
    if (PyTuple_GET_ITEM(entry, 0) != site->callable ||
        PyTuple_GET_ITEM(entry, 3) != Py_None)
        return JIT_DIVERGED;
    args = jit_template_build(frame, site->args); /* objects are made */
    int status = args ? adopt(frame, site->args, PyTuple_GET_ITEM(entry, 1)) : -1;
    Py_XDECREF(args);
    if (status < 0)
        return -1;
    got = PyArray_CheckExact(result)
              ? (PyObject *)PyArray_NewCopy((PyArrayObject *)result, NPY_KEEPORDER)
              : Py_NewRef(result);
    if (got)
        status = jit_result_match(frame, site->result, got) ? 0 : JIT_DIVERGED;
    Py_XDECREF(got);
    return got ? status : -1;
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
