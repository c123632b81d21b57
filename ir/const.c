/* const.c - constants in the precision of their dtype, so that equal constants have
** equal bits. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "ir/graph.h"

/* 2 ** exponent, for exponents of normal numbers. */
static double
power_of_two(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* x rounded to `precision` bits, half to even, with subnormals below 2**least. Adding
** and subtracting 1.5 * 2**52 ulps of the result leaves x on the result's grid. */
static double
round_to(double x, int precision, int least, double largest)
{
    double magnitude = fabs(x), grid;
    uint64_t bits;
    int exponent;

    if (isnan(x) || isinf(x))
        return x;
    memcpy(&bits, &magnitude, sizeof bits);
    exponent = (int)(bits >> 52) - 1023;
    if (exponent < least)
        exponent = least;
    if (exponent > least + 1000)
        return copysign(INFINITY, x);
    grid = power_of_two(exponent - precision + 1) * 6755399441055744.0;
    magnitude = (magnitude + grid) - grid;
    return copysign(magnitude > largest ? INFINITY : magnitude, x);
}

double
ir_constant_round(IrDtype dtype, double x)
{
    switch (dtype) {
    case DT_float16:
        return round_to(x, 11, -14, 65504.0);
    case DT_bfloat16:
        return round_to(x, 8, -126, 3.3895313892515355e38);
    case DT_float32:
    case DT_complex64:
        if (fabs(x) >= 3.4028235677973366e38 &&
            !isinf(x)) /* the cast would be undefined */
            return copysign(INFINITY, x);
        return (double)(float)x;
    default:
        return x;
    }
}

static int64_t
settle_int(IrDtype dtype, int64_t x)
{
    switch (dtype) {
    case DT_boolean:
    case DT_pybool:
        return x != 0;
    case DT_int8:
        return (int8_t)(uint8_t)x;
    case DT_int16:
        return (int16_t)(uint16_t)x;
    case DT_int32:
        return (int32_t)(uint32_t)x;
    case DT_uint8:
        return (uint8_t)x;
    case DT_uint16:
        return (uint16_t)x;
    case DT_uint32:
        return (uint32_t)x;
    default:
        return x;
    }
}

static bool
is_complex(IrDtype dtype)
{
    return ir_dtype_kind(dtype) == KIND_complex || dtype == DT_pycomplex;
}

static bool
is_float(IrDtype dtype)
{
    return ir_dtype_kind(dtype) == KIND_float || dtype == DT_pyfloat;
}

bool
ir_constant_settle(IrDtype dtype, const IrAttr *value, IrAttr *settled, int64_t *whole)
{
    bool one_int = value->kind == ATTR_ints && value->count == 1;
    double real = one_int ? (double)value->ints[0] : value->real;
    double imag = value->kind == ATTR_complex ? value->imag : 0.0;

    *settled = (IrAttr){.key = "value"};
    if (dtype == DT_object || dtype == DT_token) {
        *settled = *value;
        return true;
    }
    if (value->kind == ATTR_text || (value->kind == ATTR_ints && !one_int))
        return false;
    if (is_complex(dtype)) {
        settled->kind = ATTR_complex;
        settled->real = ir_constant_round(dtype, real);
        settled->imag = ir_constant_round(dtype, imag);
        return true;
    }
    if (value->kind == ATTR_complex)
        return false;
    if (is_float(dtype)) {
        settled->kind = ATTR_float;
        settled->real = ir_constant_round(dtype, real);
        return true;
    }
    if (!one_int)
        return false;
    *whole = settle_int(dtype, value->ints[0]);
    settled->kind = ATTR_ints;
    settled->count = 1;
    settled->ints = whole;
    return true;
}
