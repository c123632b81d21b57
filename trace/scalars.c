/* scalars.c - operators and ufuncs on NumPy's scalars: the value at once, the op for the graph. */
#include "trace/composed.h"
#include "trace/elementwise.h"

static PyObject *
not_here(void)
{
    PyErr_Clear();
    return Py_NewRef(Py_NotImplemented);
}

static bool
is_common(int type)
{
    return type == NPY_FLOAT || type == NPY_DOUBLE || PyTypeNum_ISINTEGER(type);
}

static bool
is_complex(int type)
{
    return type == NPY_CFLOAT || type == NPY_CDOUBLE;
}

/* Operators whose result on scalars has the bits of the loop's. Products and magnitudes of complex numbers
** have not. */
static bool
exact_on_scalars(OperatorId id, int type)
{
    switch (id) {
    case OPERATOR_add:
    case OPERATOR_eq:
    case OPERATOR_ne:
        return is_common(type) || is_complex(type) || type == NPY_BOOL;
    case OPERATOR_sub:
        return is_common(type) || is_complex(type);
    case OPERATOR_mul:
    case OPERATOR_abs:
    case OPERATOR_lt:
    case OPERATOR_le:
    case OPERATOR_gt:
    case OPERATOR_ge:
        return is_common(type) || type == NPY_BOOL;
    case OPERATOR_floordiv:
    case OPERATOR_mod:
        return is_common(type);
    case OPERATOR_lshift:
    case OPERATOR_rshift:
        return PyTypeNum_ISINTEGER(type);
    case OPERATOR_and_:
    case OPERATOR_or_:
    case OPERATOR_xor:
    case OPERATOR_invert:
        return PyTypeNum_ISINTEGER(type) || type == NPY_BOOL;
    case OPERATOR_neg:
    case OPERATOR_pos:
        return (is_common(type) && !PyTypeNum_ISUNSIGNED(type)) || is_complex(type);
    case OPERATOR_truediv:
        return type == NPY_FLOAT || type == NPY_DOUBLE || is_complex(type);
    default:
        return false;
    }
}

/* Integers to a power that is a constant: NumPy refuses negative ones. */
static bool
is_whole_power(OperatorId id, int type, PyObject *const *objects)
{
    int overflow;
    return id == OPERATOR_pow && PyTypeNum_ISINTEGER(type) &&
           PyLong_CheckExact(objects[1]) &&
           PyLong_AsLongAndOverflow(objects[1], &overflow) >= 0 && !overflow;
}

/* The same of ufuncs that are called by name: they run their loop. Powers of floats are exact by a recipe alone;
** products and squares of one complex number are others than those of an array of them. */
static bool
exact_by_name(const ResolvedLoop *loop, bool recipe)
{
    bool divides = loop->op == OP_power && !recipe;
    if (is_complex(loop->in[0]))
        return !recipe && loop->op != OP_square && loop->op != OP_multiply &&
               (is_complex(loop->out) || is_common(loop->out) || loop->out == NPY_BOOL);
    return (is_common(loop->in[0]) || loop->in[0] == NPY_BOOL) &&
           (is_common(loop->out) || loop->out == NPY_BOOL) && !divides;
}

/* Operators on Python's floats that are one operation of the processor's. */
static bool
exact_on_floats(OperatorId id)
{
    return id == OPERATOR_add || id == OPERATOR_sub || id == OPERATOR_mul ||
           id == OPERATOR_truediv || id == OPERATOR_neg || id == OPERATOR_pos ||
           id == OPERATOR_abs;
}

typedef struct Scalars {
    Operand operands[OPERANDS_MAX];
    PyObject *real[OPERANDS_MAX]; /* borrowed */
    bool numpy, traced;           /* one of NumPy's, one whose value is an input */
    bool inexact, complex_;       /* a float, a complex among Python's numbers */
    bool ints;                    /* a Python int that is an input */
} Scalars;

/* False: they are not all scalars, arrays without axes, and numbers. */
static bool
read_scalars(Trace *trace, Scalars *scalars, PyObject *const *objects, int n)
{
    for (int i = 0; i < n; i++) {
        Operand *operand = &scalars->operands[i];
        if (!trace_operand_read(trace, objects[i], operand))
            return false;
        Tracer *tracer = operand->tracer;
        if (tracer && (tracer->ndim > 0 || tracer->kind == TRACER_index))
            return false;
        scalars->traced |= tracer != NULL;
        scalars->ints |= tracer && tracer->kind == TRACER_int;
        scalars->numpy |= tracer && tracer->kind != TRACER_float &&
                          tracer->kind != TRACER_complex && tracer->kind != TRACER_int;
        scalars->inexact |= operand->type == WEAK_float;
        scalars->complex_ |= operand->type == WEAK_complex;
        scalars->real[i] = tracer ? tracer_object(tracer) : operand->object;
        if (!scalars->real[i])
            return false;
    }
    return true;
}

/* A divisor that Python refuses, or would for another value: that is asked. */
static bool
divides_by_zero(PyObject *divisor)
{
    int truth = PyObject_IsTrue(divisor);
    PyErr_Clear();
    return truth != 1;
}

static bool
are_numbers(PyObject *const *objects, int n)
{
    for (int i = 0; i < n; i++) {
        if (!PyFloat_CheckExact(objects[i]) && !PyLong_CheckExact(objects[i]) &&
            !PyBool_Check(objects[i]))
            return false;
    }
    return true;
}

/* A ufunc of Python's numbers that are constants: a constant. */
static PyObject *
constant_of(Trace *trace, PyObject *callable, PyObject *const *objects, int n)
{
    PyObject *scalar = PyObject_Vectorcall(callable, objects, (size_t)n, NULL),
             *item = NULL, *result = NULL;
    bool known = scalar &&
                 (PyArray_IsScalar(scalar, Integer) ||
                  PyArray_IsScalar(scalar, Floating) || PyArray_IsScalar(scalar, Bool));
    if (known && (item = PyObject_CallMethod(scalar, "item", NULL)))
        result = trace_number(trace, (PyObject *)Py_TYPE(scalar), item);
    Py_XDECREF(item);
    Py_XDECREF(scalar);
    return result ? result : not_here();
}

/* Python's int is an int64 for a ufunc: one that does not fit raises, for NumPy has objects then. */
static IrValue
int_operand(Trace *trace, PyObject *number, int type)
{
    IrValue value = trace_int_as(trace, (Tracer *)number, NPY_LONG);
    return value ? trace_cast(trace, value, type) : 0;
}

/* `callable` on scalars, at least one of them traced, gives the value; the graph gets the op of the
** ufunc's loop. `id`: the operator that is called, which is no augmented one, or OPERATOR_COUNT. */
static PyObject *
scalar_node(Trace *trace, PyObject *ufunc, PyObject *callable, PyObject *const *objects,
            int n, OperatorId id)
{
    Scalars scalars = {.numpy = false};
    IrValue values[OPERANDS_MAX];
    bool named = id == OPERATOR_COUNT;
    if (n > OPERANDS_MAX || !trace->live || !read_scalars(trace, &scalars, objects, n))
        return not_here();
    bool floats = !named && !scalars.numpy;
    if (floats && scalars.ints)
        return not_here();
    if (!scalars.traced && named && are_numbers(objects, n))
        return constant_of(trace, callable, objects, n);
    if (!scalars.traced || (floats && (scalars.complex_ || !exact_on_floats(id))))
        return not_here();
    if (floats && id == OPERATOR_truediv && divides_by_zero(objects[1]))
        return not_here();
    for (int i = 0; i < n && !scalars.numpy; i++) {
        int8_t real = floats || scalars.inexact ? NPY_DOUBLE : NPY_LONG;
        scalars.operands[i].type =
            scalars.operands[i].type == WEAK_complex ? WEAK_complex : real;
    }
    const ResolvedLoop *found = trace_resolve(trace->state, ufunc, scalars.operands, n);
    if (!found)
        return NULL;
    ResolvedLoop loop = *found;
    if (!loop.usable || !(named ? exact_by_name(&loop, callable != ufunc)
                                : exact_on_scalars(id, loop.in[0]) ||
                                      is_whole_power(id, loop.in[0], objects)))
        return not_here();
    for (int i = 0; i < n; i++) {
        const Tracer *tracer = scalars.operands[i].tracer;
        bool integer = tracer && tracer->kind == TRACER_int && !scalars.numpy;
        values[i] = integer ? int_operand(trace, objects[i], loop.in[i])
                            : trace_operand(trace, objects[i], loop.in[i]);
        if (!values[i])
            return not_here();
    }
    PyObject *scalar = PyObject_Vectorcall(callable, scalars.real, (size_t)n, NULL);
    if (!scalar)
        return NULL;
    /* A number of Python's is another value than NumPy's scalar. */
    int64_t python = 1;
    IrAttr attr = {.key = "python", .kind = ATTR_ints, .count = 1, .ints = &python};
    IrValue value = ir_node(trace->graph, loop.op, values, (uint32_t)n, &attr, floats);
    PyArray_Descr *descr =
        PyArray_CheckScalar(scalar) ? PyArray_DescrFromScalar(scalar) : NULL;
    bool same = value && (floats ? PyFloat_CheckExact(scalar)
                                 : descr && descr->type_num == loop.out);
    Py_XDECREF(descr);
    if (!same || !trace_count(trace, true)) {
        Py_DECREF(scalar);
        return not_here();
    }
    PyObject *result = (PyObject *)tracer_new_scalar(trace, value, scalar);
    Py_DECREF(scalar);
    return result;
}

/* True where one is NumPy's. */
static bool
holds_scalar(Trace *trace, PyObject *const *objects, int n)
{
    bool found = false;
    for (int i = 0; i < n; i++) {
        bool traced = tracer_check(trace->state, objects[i]);
        TracerKind kind = traced ? ((Tracer *)objects[i])->kind : TRACER_float;
        found |= kind != TRACER_float && kind != TRACER_complex && kind != TRACER_int;
    }
    return found;
}

/* Python's complex compares itself with NumPy's float64, which is a float to it: the answer is Python's bool. */
static bool
is_python_comparison(Trace *trace, PyObject *const *objects, OperatorId id)
{
    if ((id != OPERATOR_eq && id != OPERATOR_ne) ||
        !tracer_check(trace->state, objects[0]) ||
        !tracer_check(trace->state, objects[1]))
        return false;
    const Tracer *a = (Tracer *)objects[0], *b = (Tracer *)objects[1];
    return a->kind == TRACER_complex && b->kind == TRACER_scalar &&
           b->descr->type_num == NPY_DOUBLE;
}

PyObject *
trace_scalars(Trace *trace, PyObject *const *objects, int n, OperatorId id)
{
    PyObject *ufunc = trace->state->ufuncs[id];
    if (is_python_comparison(trace, objects, id))
        return not_here();
    if (id == OPERATOR_pow && ufunc && holds_scalar(trace, objects, n) &&
        trace_recipe(trace, ufunc, objects, n) != ufunc)
        return trace_scalars_by_name(trace, ufunc, objects, n);
    return ufunc
               ? scalar_node(trace, ufunc, trace->state->operators[id], objects, n, id)
               : not_here();
}

PyObject *
trace_scalars_by_name(Trace *trace, PyObject *ufunc, PyObject *const *objects, int n)
{
    PyObject *callable = trace_recipe(trace, ufunc, objects, n);
    return scalar_node(trace, ufunc, callable, objects, n, OPERATOR_COUNT);
}
