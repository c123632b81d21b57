/* options.c - reductions and scans that say more than an axis, as calls that do not.
**
**     x.sum(axis, dtype=d)              x.astype(d).sum(axis)
**     np.max(x, axis, initial=i)        np.maximum(np.max(x, axis), i)
**     x.sum(axis, where=m)              np.where(m, x, 0).sum(axis)
**     np.maximum.reduce(x)              np.max(x, 0)
**     np.add.accumulate(x)              np.cumsum(x, 0)
**     x.cumsum(), several axes          x.ravel().cumsum(0)
**
** Law 1: bits, types and layouts are those of the call: what only may be so is left to NumPy.
** Law 2: nothing is done before it is known that all of it can be.
*/
#include "trace/options.h"

#include <string.h>

enum { CAST_MAX = 8192 }; /* elements that NumPy casts and adds at once */

static const Reduction reductions[] = {
    {"sum", "add", SUMS},
    {"prod", "multiply", SUMS},
    {"max", "maximum", EXTREMES},
    {"min", "minimum", EXTREMES},
    {"amax", "", EXTREMES},
    {"amin", "", EXTREMES},
    {"any", "logical_or", TRUTHS},
    {"all", "logical_and", TRUTHS},
    {"mean", "", SUMS},
    {"cumsum", "add", SCANS},
    {"cumprod", "multiply", SCANS},
};

static PyObject *
not_here(void)
{
    return Py_NewRef(Py_NotImplemented);
}

/* -- Arguments ------------------------------------------------------------------------ */

static PyObject **
place_of(Said *said, const char *key)
{
    const struct {
        const char *key;
        PyObject **place;
    } rows[] = {
        {"axis", &said->axis},       {"dtype", &said->dtype},
        {"out", &said->out},         {"keepdims", &said->keepdims},
        {"initial", &said->initial}, {"where", &said->where},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].key, key) == 0)
            return rows[i].place;
    }
    return NULL;
}

void
trace_said_read(Said *said, const char *order, PyObject *const *args, size_t nargs,
                PyObject *kwnames)
{
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (size_t i = 0; i < nargs && !said->other; i++) {
        char key[16];
        size_t n = strcspn(order, " ");
        snprintf(key, sizeof key, "%.*s", (int)n, order);
        order += n + (order[n] == ' ');
        PyObject **place = place_of(said, key);
        said->other = !place;
        if (place)
            *place = args[i];
    }
    for (Py_ssize_t i = 0; i < nkw && !said->other; i++) {
        const char *key = PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, i));
        PyObject **place = key ? place_of(said, key) : NULL;
        said->other = !place || *place;
        if (place)
            *place = args[nargs + (size_t)i];
    }
}

static const char *
order_of(Family family, bool method_of_ufunc)
{
    if (family == SCANS)
        return "axis dtype out";
    if (family == SUMS || method_of_ufunc)
        return "axis dtype out keepdims initial where";
    return family == TRUTHS ? "axis out keepdims" : "axis out keepdims initial where";
}

bool
trace_said_axis(const Tracer *x, const Said *said)
{
    bool taken[NPY_MAXDIMS] = {false};
    PyObject *axis = said->axis;
    int d;
    if (said->keepdims && !PyBool_Check(said->keepdims))
        return false;
    if (!axis || axis == Py_None)
        return true;
    if (!PyTuple_CheckExact(axis))
        return trace_axis(axis, x->ndim, &d);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axis); i++) {
        if (!trace_axis(PyTuple_GET_ITEM(axis, i), x->ndim, &d) || taken[d])
            return false;
        taken[d] = true;
    }
    return true;
}

static npy_intp
size_of(const Tracer *x)
{
    return PyArray_MultiplyList(x->shape, x->ndim);
}

bool
trace_is_reducible(Trace *trace, PyObject *object)
{
    if (!tracer_check(trace->state, object))
        return false;
    const Tracer *x = (Tracer *)object;
    int type = x->descr->type_num;
    return x->trace == trace && x->kind == TRACER_array && x->ndim > 0 &&
           tracer_plain(x) &&
           (PyTypeNum_ISINTEGER(type) || type == NPY_BOOL || type == NPY_FLOAT ||
            type == NPY_DOUBLE);
}

/* -- Calls ------------------------------------------------------------------------------ */

PyObject *
trace_call_named(Trace *trace, const char *name, PyObject *x, PyObject *y,
                 PyObject *kwargs)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *function = numpy ? PyObject_GetAttrString(numpy, name) : NULL;
    PyObject *args = !function ? NULL : y ? PyTuple_Pack(2, x, y) : PyTuple_Pack(1, x);
    PyObject *result = args ? trace_invoke(trace, function, args, kwargs) : NULL;
    Py_XDECREF(args);
    Py_XDECREF(function);
    Py_XDECREF(numpy);
    return result;
}

PyObject *
trace_said_call(Trace *trace, PyObject *x, const Said *said)
{
    const struct {
        const char *key;
        PyObject *value;
    } rows[] = {
        {"axis", said->axis},         {"dtype", said->dtype},
        {"keepdims", said->keepdims}, {"initial", said->initial},
        {"where", said->where},
    };
    PyObject *kwargs = PyDict_New(), *result = NULL;
    bool done = kwargs != NULL;
    for (size_t i = 0; done && i < sizeof rows / sizeof *rows; i++)
        done = !rows[i].value ||
               PyDict_SetItemString(kwargs, rows[i].key, rows[i].value) == 0;
    if (done)
        result = trace_call_named(trace, said->what->name, x, NULL, kwargs);
    Py_XDECREF(kwargs);
    return result;
}

/* numpy.<name>(x, axis, keepdims), and dtype if it is not NULL. */
static PyObject *
reduce_as(Trace *trace, const char *name, PyObject *x, const Said *said,
          PyObject *dtype)
{
    PyObject *kwargs = PyDict_New(), *result = NULL;
    if (kwargs && (!dtype || PyDict_SetItemString(kwargs, "dtype", dtype) == 0) &&
        (!said->axis || PyDict_SetItemString(kwargs, "axis", said->axis) == 0) &&
        (!said->keepdims ||
         PyDict_SetItemString(kwargs, "keepdims", said->keepdims) == 0))
        result = trace_call_named(trace, name, x, NULL, kwargs);
    Py_XDECREF(kwargs);
    return result;
}

PyObject *
trace_said_var(Trace *trace, const char *name, PyObject *x, const Said *said,
               PyObject *ddof)
{
    PyObject *kwargs = PyDict_New(), *result = NULL;
    if (kwargs && PyDict_SetItemString(kwargs, "ddof", ddof) == 0 &&
        (!said->axis || PyDict_SetItemString(kwargs, "axis", said->axis) == 0) &&
        (!said->keepdims ||
         PyDict_SetItemString(kwargs, "keepdims", said->keepdims) == 0))
        result = trace_call_named(trace, name, x, NULL, kwargs);
    Py_XDECREF(kwargs);
    return result;
}

PyObject *
trace_said_reduce(Trace *trace, const char *name, PyObject *x, const Said *said)
{
    return reduce_as(trace, name, x, said, NULL);
}

/* -- dtype ------------------------------------------------------------------------------ */

/* True where it names integers, and so are the elements, or bools: reduce.c knows what to do. */
static bool
stays_whole(const Tracer *x, const Said *said)
{
    PyArray_Descr *descr = NULL;
    int own = x->descr->type_num;
    if (!said->dtype || tracer_check(x->trace->state, said->dtype) || said->initial ||
        said->where || strcmp(said->what->name, "mean") == 0 ||
        (said->what->family != SUMS && said->what->family != SCANS) ||
        !(PyTypeNum_ISINTEGER(own) || own == NPY_BOOL))
        return false;
    if (!PyArray_DescrConverter(said->dtype, &descr)) {
        PyErr_Clear();
        return false;
    }
    bool whole =
        PyTypeNum_ISINTEGER(descr->type_num) && PyArray_ISNBO(descr->byteorder);
    Py_XDECREF(descr);
    return whole;
}

bool
trace_repeats(const Tracer *x)
{
    if (size_of(x) == 0)
        return false;
    for (int d = 0; d < x->ndim; d++) {
        if (x->strides[d] == 0 && x->shape[d] > 1)
            return true;
    }
    return false;
}

/* The dtype in which the reduction is the plain one of its operand. */
static bool
is_plain_type(const Reduction *what, int type)
{
    if (strcmp(what->name, "mean") == 0)
        return type == NPY_FLOAT || type == NPY_DOUBLE;
    return type == NPY_FLOAT || type == NPY_DOUBLE || type == NPY_LONG ||
           type == NPY_ULONG;
}

/* The array cast to the dtype. Elements that NumPy casts are added in chunks of CAST_MAX. */
static PyObject *
with_dtype(Trace *trace, Tracer *x, const Said *said)
{
    PyArray_Descr *descr = NULL;
    PyObject *result = NULL;
    if (!said->dtype || said->dtype == Py_None)
        return Py_NewRef(x);
    if ((said->what->family != SUMS && said->what->family != SCANS) ||
        tracer_check(trace->state, said->dtype))
        return not_here();
    if (!PyArray_DescrConverter(said->dtype, &descr)) {
        PyErr_Clear();
        return not_here();
    }
    int type = descr->type_num;
    trace->extents |= trace->numerics == NUMERICS_strict;
    bool ordered = PyTypeNum_ISFLOAT(type) && said->what->family == SUMS;
    bool fits = PyArray_ISNBO(descr->byteorder) && is_plain_type(said->what, type) &&
                PyArray_CanCastTypeTo(x->descr, descr, NPY_SAME_KIND_CASTING);
    if (fits && type == x->descr->type_num)
        result = Py_NewRef(x);
    else if (fits && !trace_repeats(x) &&
             (!ordered || trace->numerics != NUMERICS_strict ||
              (size_of(x) <= CAST_MAX && trace_lies_in_order(x))))
        result = trace_astype(trace, x, descr);
    else
        result = not_here();
    Py_DECREF(descr);
    return result;
}

/* -- where ------------------------------------------------------------------------------- */

/* A mask of bools that does not make the array larger, and lies like it. */
static bool
is_mask(Trace *trace, const Tracer *x, PyObject *object)
{
    if (!tracer_check(trace->state, object))
        return false;
    const Tracer *mask = (Tracer *)object;
    int skip = x->ndim - mask->ndim;
    if (mask->kind != TRACER_array || mask->descr->type_num != NPY_BOOL || skip < 0 ||
        !mask->ndim || !tracer_plain(mask) ||
        (x->ndim > 1 && (!trace_lies_in_order(x) || !trace_lies_in_order(mask))))
        return false;
    for (int d = 0; d < mask->ndim; d++) {
        if (mask->shape[d] != 1 && mask->shape[d] != x->shape[d + skip])
            return false;
    }
    return true;
}

/* What counts for elements that do not: new reference; Py_NotImplemented: there is no such number.
** A sum of floats begins with 0.0, to which -0.0 may be added. */
static PyObject *
neutral(const Trace *trace, const Tracer *x, const Said *said)
{
    bool floating = PyTypeNum_ISFLOAT(x->descr->type_num);
    if (said->what->family == EXTREMES && said->initial)
        return Py_NewRef(said->initial);
    if (strcmp(said->what->name, "prod") == 0 && !floating)
        return PyLong_FromLong(1);
    if (strcmp(said->what->name, "sum") != 0 ||
        (floating && trace->numerics == NUMERICS_strict))
        return not_here();
    return floating ? PyFloat_FromDouble(-0.0) : PyLong_FromLong(0);
}

static PyObject *
with_mask(Trace *trace, Tracer *x, const Said *said)
{
    if (!said->where || said->where == Py_True)
        return Py_NewRef(x);
    if (!is_mask(trace, x, said->where))
        return not_here();
    if (x->descr->type_num == NPY_BOOL) {
        const char *name = said->what->name;
        if (strcmp(name, "any") == 0 || strcmp(name, "sum") == 0)
            return trace_call_named(trace, "logical_and", (PyObject *)x, said->where,
                                    NULL);
        if (strcmp(name, "all") != 0)
            return not_here();
        PyObject *others =
            trace_call_named(trace, "logical_not", said->where, NULL, NULL);
        PyObject *result =
            others ? trace_call_named(trace, "logical_or", (PyObject *)x, others, NULL)
                   : NULL;
        Py_XDECREF(others);
        return result;
    }
    PyObject *number = neutral(trace, x, said);
    if (!number || number == Py_NotImplemented)
        return number;
    PyObject *parts[3] = {said->where, (PyObject *)x, number};
    PyObject *result = trace_select(trace, parts);
    Py_DECREF(number);
    return result;
}

/* -- initial ------------------------------------------------------------------------------ */

/* A number that the dtype has. */
static bool
is_number_of(PyObject *number, int type)
{
    if (PyTypeNum_ISFLOAT(type))
        return PyFloat_CheckExact(number) || PyLong_CheckExact(number);
    int overflow;
    long value =
        PyLong_CheckExact(number) ? PyLong_AsLongAndOverflow(number, &overflow) : -1;
    bool sign = PyTypeNum_ISSIGNED(type);
    return PyLong_CheckExact(number) && !overflow && value >= (sign ? -128 : 0) &&
           value <= 127 && type != NPY_BOOL;
}

/* True if the result may be joined with `initial` as well as begin with it. */
static bool
may_begin_with(const Tracer *x, const Said *said)
{
    int type = x->descr->type_num;
    PyObject *initial = said->initial;
    if (said->what->family == EXTREMES)
        return is_number_of(initial, type);
    if (said->what->family != SUMS || strcmp(said->what->name, "mean") == 0)
        return false;
    if (!PyTypeNum_ISFLOAT(type))
        return is_number_of(initial, PyTypeNum_ISUNSIGNED(type) ? NPY_ULONG : NPY_LONG);
    bool whole =
        x->ndim == 1 || !said->axis || said->axis == Py_None ||
        (PyTuple_CheckExact(said->axis) && PyTuple_GET_SIZE(said->axis) == x->ndim);
    bool zero = PyFloat_CheckExact(initial) && PyFloat_AS_DOUBLE(initial) == 0;
    return strcmp(said->what->name, "sum") == 0 && whole && trace_lies_in_order(x) &&
           !zero && PyFloat_CheckExact(initial);
}

static PyObject *
with_initial(Trace *trace, PyObject *result, const Said *said)
{
    const char *name = said->what->name;
    const char *join = said->what->family == EXTREMES
                           ? (strstr(name, "max") ? "maximum" : "minimum")
                       : strcmp(name, "sum") == 0 ? "add"
                                                  : "multiply";
    PyObject *joined = trace_call_named(trace, join, result, said->initial, NULL);
    Py_DECREF(result);
    return joined;
}

/* -- The call ------------------------------------------------------------------------------ */

/* True if the call says no more than an axis and whether to keep it. */
static bool
is_plain(const Tracer *x, const Said *said)
{
    if (said->what->family == SCANS && said->axis == Py_None && x->ndim > 1)
        return false;
    return (!said->dtype || said->dtype == Py_None) && !said->initial &&
           (!said->where || said->where == Py_True);
}

static PyObject *
scan(Trace *trace, PyObject *x, const Said *said, PyObject *dtype)
{
    Said flat = *said;
    PyObject *line = Py_NewRef(x), *zero = PyLong_FromLong(0), *result = NULL;
    if (said->axis == Py_None && ((Tracer *)x)->ndim > 1) {
        Py_SETREF(line, trace_call_named(trace, "ravel", x, NULL, NULL));
        flat.axis = zero;
    }
    if (line && zero)
        result = reduce_as(trace, said->what->name, line, &flat, dtype);
    Py_XDECREF(line);
    Py_XDECREF(zero);
    return result;
}

/* With a dtype of integers. Methods and functions of one axis are called as they are. */
static PyObject *
run_whole(Trace *trace, PyObject *object, const Said *said)
{
    bool flat = said->what->family == SCANS && said->axis == Py_None &&
                ((Tracer *)object)->ndim > 1;
    if (!said->of_ufunc && !flat)
        return not_here();
    return said->what->family == SCANS
               ? scan(trace, object, said, said->dtype)
               : reduce_as(trace, said->what->name, object, said, said->dtype);
}

static PyObject *
run(Trace *trace, PyObject *object, const Said *said)
{
    Tracer *x = (Tracer *)object;
    bool masked = said->where && said->where != Py_True;
    bool typed = said->dtype && said->dtype != Py_None;
    if (said->other || !trace_said_axis(x, said))
        return not_here();
    if (said->out && said->out != Py_None)
        return trace_reduce_into(trace, object, said);
    if (stays_whole(x, said))
        return run_whole(trace, object, said);
    if ((size_of(x) == 0 && (said->initial || masked || typed)) ||
        (said->initial && (typed || !may_begin_with(x, said))))
        return not_here();
    if (masked && said->what->family == EXTREMES && !said->initial)
        return not_here();
    if (masked && said->initial && PyTypeNum_ISFLOAT(x->descr->type_num) &&
        said->what->family == SUMS)
        return not_here();
    PyObject *cast = with_dtype(trace, x, said);
    if (!cast || cast == Py_NotImplemented)
        return cast;
    PyObject *counted = with_mask(trace, (Tracer *)cast, said);
    Py_DECREF(cast);
    if (!counted || counted == Py_NotImplemented)
        return counted;
    PyObject *result = said->what->family == SCANS
                           ? scan(trace, counted, said, NULL)
                           : trace_said_reduce(trace, said->what->name, counted, said);
    Py_DECREF(counted);
    return result && said->initial ? with_initial(trace, result, said) : result;
}

/* Of bools the greatest is whether any is true. */
static PyObject *
run_plain(Trace *trace, PyObject *object, const Said *said)
{
    Tracer *x = (Tracer *)object;
    if (said->other || !trace_said_axis(x, said))
        return not_here();
    if (said->out && said->out != Py_None)
        return trace_reduce_into(trace, object, said);
    if (said->what->family == SCANS)
        return not_here();
    if (said->what->family == EXTREMES && x->descr->type_num == NPY_BOOL && size_of(x))
        return trace_said_reduce(trace, strstr(said->what->name, "max") ? "any" : "all",
                                 object, said);
    return trace_reduce_apart(trace, x, said);
}

static bool
is_half(Trace *trace, PyObject *object)
{
    const Tracer *x = (Tracer *)object;
    return tracer_check(trace->state, object) && x->kind == TRACER_array &&
           x->ndim > 0 && x->trace == trace && tracer_plain(x) &&
           x->descr->type_num == NPY_HALF;
}

/* True of a sum or a mean in another dtype, all that is done here of float16. */
static bool
is_cast(const Said *said)
{
    return said->what->family == SUMS && said->dtype && said->dtype != Py_None &&
           !said->initial && !said->where && !said->out;
}

PyObject *
trace_options(Trace *trace, const char *name, PyObject *const *args, size_t nargs,
              PyObject *kwnames)
{
    bool half = nargs && is_half(trace, args[0]);
    if (nargs < 1 || nargs > 7 || !(half || trace_is_reducible(trace, args[0])))
        return not_here();
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) {
        Said said = {.what = &reductions[i]};
        if (strcmp(name, said.what->name) != 0)
            continue;
        trace_said_read(&said, order_of(said.what->family, false), args + 1, nargs - 1,
                        kwnames);
        if (said.what->family == SCANS && !said.axis)
            said.axis = Py_None;
        if (half && !is_cast(&said))
            return not_here();
        return is_plain((Tracer *)args[0], &said) ? run_plain(trace, args[0], &said)
                                                  : run(trace, args[0], &said);
    }
    return not_here();
}

/* What is one of the reductions: reduce or accumulate. */
static PyObject *
call_along(Trace *trace, PyObject *bound, const char *method, PyObject *const *args,
           size_t nargs, PyObject *kwnames)
{
    bool scans = strcmp(method, "accumulate") == 0;
    if (!trace->live || (!scans && strcmp(method, "reduce") != 0) || nargs < 1 ||
        nargs > 7 || !trace_is_reducible(trace, args[0]))
        return not_here();
    PyObject *name = PyObject_GetAttrString(PyCFunction_GET_SELF(bound), "__name__");
    PyObject *result = NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : "";
    PyObject *zero = name ? PyLong_FromLong(0) : NULL;
    for (size_t i = 0; zero && !result && i < sizeof reductions / sizeof *reductions;
         i++) {
        Said said = {.what = &reductions[i], .of_ufunc = true};
        if (strcmp(text, said.what->ufunc) != 0 ||
            (said.what->family == SCANS) != scans)
            continue;
        trace_said_read(&said, order_of(said.what->family, true), args + 1, nargs - 1,
                        kwnames);
        if (!said.axis)
            said.axis = zero;
        bool kept = scans && (said.axis == Py_None || PyTuple_Check(said.axis));
        result = kept ? not_here() : run(trace, args[0], &said);
        if (!result)
            break;
    }
    if (zero && !result && !PyErr_Occurred() && !scans)
        result = trace_fmax(trace, text, zero, args, nargs, kwnames);
    Py_XDECREF(zero);
    Py_XDECREF(name);
    return result || PyErr_Occurred() ? result : not_here();
}

/* add.at(a, key, b) as ufunc.at(add, a, key, b). */
static PyObject *
written_at(Trace *trace, PyObject *method, PyObject *const *args, size_t nargs,
           PyObject *kwnames)
{
    PyObject *all[4] = {PyCFunction_GET_SELF(method)}, *at;
    if (nargs > 3 || kwnames || !trace->live)
        return not_here();
    memcpy(all + 1, args, nargs * sizeof *args);
    at = PyObject_GetAttrString((PyObject *)&PyUFunc_Type, "at");
    PyObject *result = at ? trace_written(trace, at, all, nargs + 1, NULL) : NULL;
    Py_XDECREF(at);
    return result;
}

PyObject *
trace_call_ufunc_method(Trace *trace, PyObject *method, PyObject *const *args,
                        size_t nargs, PyObject *kwnames)
{
    const char *name = ((PyCFunctionObject *)method)->m_ml->ml_name;
    size_t out = strcmp(name, "reduceat") == 0 ? 4 : strcmp(name, "outer") == 0 ? 0 : 3;
    PyObject *result = call_along(trace, method, name, args, nargs, kwnames);
    if (result != Py_NotImplemented)
        return result;
    Py_DECREF(result);
    if (strcmp(name, "at") == 0) {
        result = written_at(trace, method, args, nargs, kwnames);
        if (result != Py_NotImplemented)
            return result;
        Py_DECREF(result);
    }
    bool given = out && nargs > out && args[out] != Py_None;
    uint32_t mutates = strcmp(name, "at") == 0 ? 1 : given ? 1u << out : 0;
    return trace_call_out(trace, method, args, nargs, kwnames, mutates);
}
