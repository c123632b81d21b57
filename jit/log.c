/* log.c - messages to Python's logging, as many as the option log_level asks for. */
#include <stdarg.h>

#include "jit/func.h"

/* Never raises, and keeps an exception that is set. */
void
jit_log(JitFunc *self, JitLogLevel level, const char *format, ...)
{
    PyObject *type, *value, *traceback, *text, *api, *done = NULL;
    va_list arguments;
    if (self->log_level < (int)level)
        return;
    PyErr_Fetch(&type, &value, &traceback);
    va_start(arguments, format);
    text = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    api = text ? jit_api(self->state) : NULL;
    if (api)
        done = PyObject_CallMethod(api, "_log", "iOO", (int)level, self->wrapped, text);
    if (!done)
        PyErr_WriteUnraisable((PyObject *)self);
    Py_XDECREF(text);
    Py_XDECREF(done);
    PyErr_Restore(type, value, traceback);
}

/* A signature, or the function, runs plain from here on. */
void
jit_log_plain(JitFunc *self, TraceBail bail, PyObject *detail)
{
    JitLogLevel level =
        bail == BAIL_graph || bail == BAIL_memory ? JIT_LOG_error : JIT_LOG_warning;
    if (bail == BAIL_awaited)
        level = JIT_LOG_debug;
    const char *message = trace_bail_message(bail), *hint = trace_bail_hint(bail);
    if (detail)
        jit_log(self, level, "runs plain: %s (%S)%s%s", message, detail,
                *hint ? "; " : "", hint);
    else
        jit_log(self, level, "runs plain: %s%s%s", message, *hint ? "; " : "", hint);
}
