/* dtype.c - promotion, and the type rules named in ops.def.
**
** A type rule is what NumPy's type resolution does for one family of ufuncs: weak
** Python scalars take their dtype from the others (NEP 50), then the operands are
** promoted, then the first loop that holds the promoted dtype is taken.
** tests/py/test_table.py compares every row over all pairs of dtypes.
**
** Law 1: operands that are all weak give a weak result: Python's arithmetic. A NumPy
**        function on nothing but Python scalars has its operands cast first by the
**        front end.
** Law 2: what NumPy refuses is refused.
*/
#include <string.h>

#include "ir/op.h"

enum { MAX_OPERANDS = 3 };

typedef struct DtypeRow {
    const char *name;
    IrKind kind;
    unsigned char bytes;
    char numpy_char;
} DtypeRow;

static const DtypeRow rows[DT_COUNT] = {
#define DTYPE(name, text, numpy_char, kind, bytes, doc)                                \
    {text, KIND_##kind, bytes, numpy_char},
#include "ir/dtypes.def"
#undef DTYPE
};

/* ORDER dtypes: arithmetic on the enumerators below. */
_Static_assert(DT_int64 == DT_int8 + 3 && DT_uint64 == DT_uint8 + 3, "ORDER dtypes");
_Static_assert(DT_longdouble == DT_float16 + 4 && DT_clongdouble == DT_complex64 + 2,
               "ORDER dtypes");
_Static_assert(DT_pycomplex == DT_pybool + 3, "ORDER dtypes");

/* -- Look-ups --------------------------------------------------------------------- */

static const DtypeRow *
row(IrDtype dtype)
{
    return &rows[(unsigned)dtype < DT_COUNT ? dtype : DT_object];
}

const char *
ir_dtype_name(IrDtype dtype)
{
    return row(dtype)->name;
}

IrKind
ir_dtype_kind(IrDtype dtype)
{
    return row(dtype)->kind;
}

size_t
ir_dtype_bytes(IrDtype dtype)
{
    return row(dtype)->bytes;
}

char
ir_dtype_numpy_char(IrDtype dtype)
{
    return row(dtype)->numpy_char;
}

bool
ir_dtype_find(const char *name, size_t length, IrDtype *dtype)
{
    for (int i = 0; i < DT_COUNT; i++)
        if (strlen(rows[i].name) == length && !memcmp(rows[i].name, name, length)) {
            *dtype = (IrDtype)i;
            return true;
        }
    return false;
}

IrDtype
ir_dtype_from_numpy_char(char numpy_char)
{
    if (numpy_char == 'q')
        return DT_int64;
    if (numpy_char == 'Q')
        return DT_uint64;
    for (int i = 0; i < DT_COUNT; i++)
        if (numpy_char && rows[i].numpy_char == numpy_char)
            return (IrDtype)i;
    return DT_COUNT;
}

bool
ir_dtype_is_weak(IrDtype dtype)
{
    return row(dtype)->kind == KIND_weak;
}

IrDtype
ir_dtype_strong(IrDtype dtype)
{
    switch (dtype) {
    case DT_pybool:
        return DT_boolean;
    case DT_pyint:
        return DT_int64;
    case DT_pyfloat:
        return DT_float64;
    case DT_pycomplex:
        return DT_complex128;
    default:
        return dtype;
    }
}

/* -- Promotion -------------------------------------------------------------------- */

static bool
is_kind(IrDtype dtype, IrKind kind)
{
    return row(dtype)->kind == kind;
}

static bool
is_whole(IrDtype dtype)
{
    return is_kind(dtype, KIND_int) || is_kind(dtype, KIND_uint);
}

static bool
is_inexact(IrDtype dtype)
{
    return is_kind(dtype, KIND_float) || is_kind(dtype, KIND_complex);
}

static bool
is_numeric(IrDtype dtype)
{
    return row(dtype)->kind <= KIND_complex;
}

static IrDtype
complex_of(IrDtype dtype)
{
    switch (dtype) {
    case DT_float64:
        return DT_complex128;
    case DT_longdouble:
        return DT_clongdouble;
    default:
        return is_kind(dtype, KIND_complex) ? dtype : DT_complex64;
    }
}

static IrDtype
real_of(IrDtype dtype)
{
    switch (dtype) {
    case DT_complex64:
        return DT_float32;
    case DT_complex128:
        return DT_float64;
    case DT_clongdouble:
        return DT_longdouble;
    default:
        return dtype;
    }
}

/* The narrowest float that NumPy takes for a bool or an integer. */
static IrDtype
float_of(IrDtype dtype)
{
    if (is_inexact(dtype))
        return dtype;
    switch (row(dtype)->bytes) {
    case 1:
        return DT_float16;
    case 2:
        return DT_float32;
    default:
        return DT_float64;
    }
}

static IrDtype
promote_floats(IrDtype a, IrDtype b)
{
    if (a == b)
        return a;
    if (a <= DT_bfloat16 && b <= DT_bfloat16)
        return DT_float32; /* half and bfloat16 hold each other not */
    return a > b ? a : b;
}

static IrDtype
promote_whole(IrDtype a, IrDtype b)
{
    IrDtype sint = is_kind(a, KIND_int) ? a : b, uint = sint == a ? b : a;
    int need;

    if (row(a)->kind == row(b)->kind)
        return a > b ? a : b;
    need = uint - DT_uint8 + 1; /* one step wider than the unsigned one */
    if (need > 3)
        return DT_float64;
    return (int)sint - DT_int8 >= need ? sint : (IrDtype)(DT_int8 + need);
}

static IrDtype
promote_strong(IrDtype a, IrDtype b)
{
    if (a == b)
        return a;
    if (!is_numeric(a) || !is_numeric(b))
        return DT_COUNT;
    if (a == DT_boolean)
        return b;
    if (b == DT_boolean)
        return a;
    if (is_whole(a) && is_whole(b))
        return promote_whole(a, b);
    if (is_kind(a, KIND_complex) || is_kind(b, KIND_complex))
        return complex_of(promote_floats(float_of(real_of(a)), float_of(real_of(b))));
    if (a == DT_bfloat16 && is_whole(b) && row(b)->bytes == 1)
        return a;
    if (b == DT_bfloat16 && is_whole(a) && row(a)->bytes == 1)
        return b;
    return promote_floats(float_of(a), float_of(b));
}

/* A weak dtype beside a strong one (DT_COUNT: beside none). */
static IrDtype
strengthen(IrDtype weak, IrDtype beside)
{
    IrDtype alone = ir_dtype_strong(weak);

    if (beside == DT_COUNT || weak == DT_pybool)
        return alone;
    if (beside == DT_index)
        return weak == DT_pyint ? DT_index : DT_COUNT;
    switch (weak) {
    case DT_pyint:
        return beside == DT_boolean ? alone : beside;
    case DT_pyfloat:
        return is_inexact(beside) ? beside : alone;
    case DT_pycomplex:
        return is_inexact(beside) ? complex_of(beside) : alone;
    default:
        return DT_COUNT;
    }
}

IrDtype
ir_dtype_promote(IrDtype a, IrDtype b)
{
    bool weak_a = ir_dtype_is_weak(a), weak_b = ir_dtype_is_weak(b);

    if ((unsigned)a >= DT_COUNT || (unsigned)b >= DT_COUNT)
        return DT_COUNT;
    if (weak_a && weak_b)
        return a > b ? a : b;
    if (weak_a)
        return promote_strong(strengthen(a, b), b);
    if (weak_b)
        return promote_strong(a, strengthen(b, a));
    return promote_strong(a, b);
}

/* -- Type rules ------------------------------------------------------------------- */

/* Replaces weak operands; returns whether all were weak. */
static bool
resolve_weak(IrTypeRule rule, const IrDtype *operands, uint32_t n, IrDtype *resolved)
{
    bool all_weak = true;
    IrDtype beside = DT_COUNT;

    for (uint32_t i = 0; i < n; i++)
        if (!ir_dtype_is_weak(operands[i])) {
            beside =
                beside == DT_COUNT ? operands[i] : promote_strong(beside, operands[i]);
            all_weak = false;
        }
    for (uint32_t i = 0; i < n; i++)
        resolved[i] = ir_dtype_is_weak(operands[i]) ? strengthen(operands[i], beside)
                                                    : operands[i];
    if (all_weak && (rule == TY_signed || rule == TY_number || rule == TY_real))
        for (uint32_t i = 0; i < n; i++) /* Python's bools are ints in arithmetic */
            if (resolved[i] == DT_boolean)
                resolved[i] = DT_int64;
    return all_weak;
}

/* Promotion of three is no chain of promotions of two: beside a float every integer
** is promoted with the float alone (int8, uint8, float16 give float16). */
static IrDtype
promote_all(const IrDtype *dtypes, uint32_t n)
{
    IrDtype beside = DT_COUNT, all;

    for (uint32_t i = 0; i < n; i++)
        if (dtypes[i] == DT_COUNT)
            return DT_COUNT;
        else if (is_inexact(dtypes[i]))
            beside = beside == DT_COUNT ? dtypes[i] : promote_strong(beside, dtypes[i]);
    all = beside == DT_COUNT ? dtypes[0] : beside;
    for (uint32_t i = 0; i < n && all != DT_COUNT; i++) {
        IrDtype with =
            beside == DT_COUNT ? dtypes[i] : promote_strong(beside, dtypes[i]);
        all = with == DT_COUNT ? DT_COUNT : promote_strong(all, with);
    }
    return all;
}

static IrDtype
widest_float(const IrDtype *dtypes, uint32_t n)
{
    IrDtype floats[MAX_OPERANDS], promoted = promote_all(dtypes, n);

    if (promoted == DT_COUNT || is_inexact(promoted))
        return promoted; /* bfloat16 beside an int8 stays bfloat16 */
    for (uint32_t i = 0; i < n; i++)
        floats[i] = float_of(dtypes[i]);
    return promote_all(floats, n);
}

/* The dtype all operands of a loop have, for rules of that form; DT_COUNT: refused. */
static IrDtype
common_dtype(IrTypeRule rule, const IrDtype *dtypes, uint32_t n)
{
    IrDtype common = promote_all(dtypes, n);

    if (common == DT_COUNT || !is_numeric(common))
        return DT_COUNT;
    switch (rule) {
    case TY_promote:
        return common;
    case TY_magnitude:
    case TY_part:
    case TY_predicate:
        return common;
    case TY_signed:
        return common == DT_boolean ? DT_COUNT : common;
    case TY_number:
        return common == DT_boolean ? DT_int8 : common;
    case TY_real:
        if (is_kind(common, KIND_complex))
            return DT_COUNT;
        return common == DT_boolean ? DT_int8 : common;
    case TY_whole:
        if (common == DT_boolean)
            return DT_int8;
        return is_whole(common) ? common : DT_COUNT;
    case TY_integer:
        return is_whole(common) ? common : DT_COUNT;
    case TY_bitwise:
        return common == DT_boolean || is_whole(common) ? common : DT_COUNT;
    case TY_counting:
        if (common == DT_boolean)
            return DT_int8;
        return is_whole(common) ? common : DT_COUNT;
    case TY_rounding:
        return is_kind(common, KIND_complex) ? DT_COUNT : common;
    case TY_inexact:
        return widest_float(dtypes, n);
    case TY_floating:
    case TY_sign:
        common = widest_float(dtypes, n);
        return is_kind(common, KIND_float) ? common : DT_COUNT;
    case TY_quotient:
        return is_inexact(common) ? common : DT_float64;
    case TY_widened:
        return promote_strong(is_inexact(common) ? common : DT_float64, DT_float64);
    default:
        return DT_COUNT;
    }
}

static bool
loop_compare(const IrDtype *dtypes, IrDtype *in, IrDtype *out)
{
    IrDtype common = promote_all(dtypes, 2);

    *out = DT_boolean;
    if (common == DT_COUNT || !(is_numeric(common) || common == DT_index))
        return false;
    in[0] = in[1] = common;
    /* int64 with uint64 has a loop that compares exactly, instead of one in float64 */
    if (is_inexact(common) && is_whole(dtypes[0]) && is_whole(dtypes[1])) {
        in[0] = is_kind(dtypes[0], KIND_int) ? DT_int64 : DT_uint64;
        in[1] = in[0] == DT_int64 ? DT_uint64 : DT_int64;
    }
    return true;
}

static bool
is_weak_number(IrDtype dtype)
{
    return ir_dtype_is_weak(dtype) && dtype != DT_pybool;
}

static bool
loop_logical(const IrDtype *operands, IrDtype *in, IrDtype *out)
{
    IrDtype a = ir_dtype_strong(operands[0]), b = ir_dtype_strong(operands[1]);

    bool weak = is_weak_number(operands[0]) || is_weak_number(operands[1]);

    in[0] = in[1] = a == b && !weak ? a : DT_boolean;
    *out = DT_boolean;
    return is_numeric(a) && is_numeric(b);
}

static bool
loop_select(const IrDtype *operands, const IrDtype *dtypes, IrDtype *in, IrDtype *out)
{
    in[0] = DT_boolean;
    in[1] = in[2] = *out = promote_all(dtypes + 1, 2);
    return is_numeric(ir_dtype_strong(operands[0])) && *out != DT_COUNT &&
           (is_numeric(*out) || *out == DT_index);
}

static bool
loop_scaling(const IrDtype *operands, const IrDtype *dtypes, IrDtype *in, IrDtype *out)
{
    in[0] = *out = widest_float(dtypes, 1);
    if (operands[0] == DT_pyint && is_whole(operands[1]))
        in[0] = *out = DT_float16; /* the first loop will do */
    if (operands[1] == DT_pyint)
        in[1] = operands[0] == DT_boolean || ir_dtype_is_weak(operands[0]) ? DT_int64
                                                                           : DT_int32;
    else if (dtypes[1] == DT_uint64 ||
             !(dtypes[1] == DT_boolean || is_whole(dtypes[1])))
        return false;
    else
        in[1] = dtypes[1] == DT_int64 || dtypes[1] == DT_uint32 ? DT_int64 : DT_int32;
    return is_kind(*out, KIND_float);
}

static IrDtype
weak_of(IrDtype dtype)
{
    switch (dtype) {
    case DT_boolean:
        return DT_pybool;
    case DT_int64:
        return DT_pyint;
    case DT_float64:
        return DT_pyfloat;
    case DT_complex128:
        return DT_pycomplex;
    default:
        return dtype;
    }
}

static bool
loop_common(IrTypeRule rule, const IrDtype *dtypes, uint32_t n, IrDtype *in,
            IrDtype *out)
{
    IrDtype common = common_dtype(rule, dtypes, n);

    for (uint32_t i = 0; i < n; i++)
        in[i] = common;
    *out = common;
    if (rule == TY_magnitude || rule == TY_part)
        *out = real_of(common);
    else if (rule == TY_predicate || rule == TY_sign)
        *out = DT_boolean;
    else if (rule == TY_counting)
        *out = DT_uint8;
    return common != DT_COUNT;
}

bool
ir_op_loop(IrOp op, const IrDtype *operands, uint32_t n, IrDtype *in, IrDtype *out)
{
    IrTypeRule rule = ir_op_type_rule(op);
    IrDtype dtypes[MAX_OPERANDS];
    bool weak, found;

    if (!(ir_op_flags(op) & OPF_elementwise) || n != (uint32_t)ir_op_arity(op))
        return false;
    if (rule == TY_given) { /* cast: the caller knows the result */
        in[0] = *out = ir_dtype_strong(operands[0]);
        return is_numeric(in[0]) || in[0] == DT_index;
    }
    for (uint32_t i = 0; i < n; i++)
        if ((unsigned)operands[i] >= DT_COUNT)
            return false;
    if (rule == TY_select) {
        dtypes[0] = DT_boolean;
        weak = resolve_weak(rule, operands + 1, 2, dtypes + 1);
    } else {
        weak = resolve_weak(rule, operands, n, dtypes);
    }
    if ((op == OP_add || op == OP_multiply) && weak &&
        promote_all(dtypes, 2) == DT_boolean)
        dtypes[0] = dtypes[1] = DT_int64;
    if (rule == TY_compare)
        found = loop_compare(dtypes, in, out);
    else if (rule == TY_logical)
        found = loop_logical(operands, in, out);
    else if (rule == TY_select)
        found = loop_select(operands, dtypes, in, out);
    else if (rule == TY_scaling)
        found = loop_scaling(operands, dtypes, in, out);
    else
        found = loop_common(rule, dtypes, n, in, out);
    if (found && weak)
        *out = weak_of(*out);
    return found;
}
