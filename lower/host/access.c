/* access.c - elements in memory, lanes in registers.
**
**     dtype       in memory                 in lanes
**     bool        a byte, 0 is false        <n x i1>
**     ints        as they are               <n x iN>
**     floats      as they are               <n x half>, <n x float>, <n x double>
**     complex     re, im, re, im, …         two vectors
**
** Law 1: no more than an element's alignment is assumed of an address.
** Law 2: lanes that a mask keeps from being loaded are 1: good as a divisor, no NaN.
*/
#include <stdlib.h>
#include <string.h>

#include "lower/host/host.h"

/* -- Types and constants -------------------------------------------------- */

IrDtype
lower_access_stored(IrDtype dtype)
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

IrDtype
lower_access_part(IrDtype dtype)
{
    switch (dtype) {
    case DT_complex64:
        return DT_float32;
    case DT_complex128:
    case DT_pycomplex:
        return DT_float64;
    default:
        return lower_access_stored(dtype);
    }
}

static bool
is_complex(IrDtype dtype)
{
    return lower_access_part(dtype) != lower_access_stored(dtype);
}

/* The type of one part of an element in memory. */
static LLVMTypeRef
memory_type(Build *b, IrDtype dtype)
{
    IrDtype part = lower_access_part(dtype);

    switch (part) {
    case DT_float16:
        return LLVMHalfTypeInContext(b->context);
    case DT_float32:
        return LLVMFloatTypeInContext(b->context);
    case DT_float64:
        return LLVMDoubleTypeInContext(b->context);
    default:
        return LLVMIntTypeInContext(b->context, 8 * (unsigned)ir_dtype_bytes(part));
    }
}

static LLVMTypeRef
element_type(Build *b, IrDtype dtype)
{
    if (lower_access_stored(dtype) == DT_boolean)
        return LLVMInt1TypeInContext(b->context);
    return memory_type(b, dtype);
}

LLVMTypeRef
lower_access_type(Build *b, IrDtype dtype)
{
    LLVMTypeRef type = element_type(b, dtype);

    return b->lanes == 1 ? type : LLVMVectorType(type, b->lanes);
}

static LLVMValueRef
splat_constant(LLVMValueRef value, unsigned lanes)
{
    LLVMValueRef elements[128];

    if (lanes == 1)
        return value;
    for (unsigned i = 0; i < lanes; i++)
        elements[i] = value;
    return LLVMConstVector(elements, lanes);
}

LLVMValueRef
lower_access_int(Build *b, IrDtype dtype, int64_t value)
{
    return splat_constant(LLVMConstInt(element_type(b, dtype), (uint64_t)value, 1),
                          b->lanes);
}

LLVMValueRef
lower_access_float(Build *b, IrDtype dtype, double value)
{
    return splat_constant(
        LLVMConstReal(element_type(b, lower_access_part(dtype)), value), b->lanes);
}

Lanes
lower_access_const(Build *b, IrDtype dtype, const IrAttr *value)
{
    double real = value->kind == ATTR_ints ? (double)value->ints[0] : value->real;
    Lanes lanes = {NULL, NULL};

    if (is_complex(dtype)) {
        lanes.re = lower_access_float(b, dtype, real);
        lanes.im = lower_access_float(b, dtype,
                                      value->kind == ATTR_complex ? value->imag : 0.0);
    } else if (ir_dtype_kind(lower_access_stored(dtype)) == KIND_float) {
        lanes.re = lower_access_float(b, dtype, real);
    } else {
        lanes.re = lower_access_int(b, dtype, value->ints[0]);
    }
    return lanes;
}

LLVMValueRef
lower_access_call(Build *b, const char *intrinsic, const LLVMTypeRef *types,
                  unsigned ntypes, LLVMValueRef *arguments, unsigned n)
{
    unsigned id = LLVMLookupIntrinsicID(intrinsic, strlen(intrinsic));
    LLVMTypeRef *overloads = (LLVMTypeRef *)(uintptr_t)types;
    LLVMValueRef function =
        LLVMGetIntrinsicDeclaration(b->module, id, overloads, ntypes);

    return LLVMBuildCall2(b->builder,
                          LLVMIntrinsicGetType(b->context, id, overloads, ntypes),
                          function, arguments, n, "");
}

/* -- Shuffles of complex numbers ------------------------------------------ */

/* Lanes first, first + step, … of two vectors laid end to end. */
static LLVMValueRef
shuffle(Build *b, LLVMValueRef x, LLVMValueRef y, const unsigned *lanes, unsigned n)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->context);
    LLVMValueRef mask[256];

    for (unsigned i = 0; i < n; i++)
        mask[i] = LLVMConstInt(i32, lanes[i], 0);
    return LLVMBuildShuffleVector(b->builder, x, y, LLVMConstVector(mask, n), "");
}

/* re, im, re, im, … as one vector into two. */
static Lanes
split_parts(Build *b, LLVMValueRef both)
{
    unsigned even[128], odd[128];
    LLVMValueRef none = LLVMGetPoison(LLVMTypeOf(both));

    for (unsigned i = 0; i < b->lanes; i++) {
        even[i] = 2 * i;
        odd[i] = 2 * i + 1;
    }
    return (Lanes){shuffle(b, both, none, even, b->lanes),
                   shuffle(b, both, none, odd, b->lanes)};
}

/* Lanes 0, L, 1, L + 1, …: the parts of x and y by turns. */
static LLVMValueRef
join_parts(Build *b, LLVMValueRef x, LLVMValueRef y)
{
    unsigned turns[256];

    for (unsigned i = 0; i < b->lanes; i++) {
        turns[2 * i] = i;
        turns[2 * i + 1] = b->lanes + i;
    }
    return shuffle(b, x, y, turns, 2 * b->lanes);
}

/* -- Loads and stores ----------------------------------------------------- */

LLVMValueRef
lower_access_address(Build *b, IrDtype dtype, LLVMValueRef base, LLVMValueRef element)
{
    unsigned bits = 8 * (unsigned)ir_dtype_bytes(lower_access_stored(dtype));
    LLVMTypeRef whole = LLVMIntTypeInContext(b->context, bits);

    return LLVMBuildGEP2(b->builder, whole, base, &element, 1, "");
}

static unsigned
part_alignment(IrDtype dtype)
{
    return (unsigned)ir_dtype_bytes(lower_access_part(dtype));
}

/* The vector as it is in memory: of bytes for booleans, of twice the lanes for complex.
** */
static LLVMTypeRef
vector_in_memory(Build *b, IrDtype dtype)
{
    unsigned n = b->lanes << is_complex(dtype);

    return n == 1 ? memory_type(b, dtype) : LLVMVectorType(memory_type(b, dtype), n);
}

static LLVMValueRef
ones_in_memory(Build *b, IrDtype dtype)
{
    LLVMTypeRef type = memory_type(b, dtype);
    LLVMValueRef one = LLVMGetTypeKind(type) == LLVMIntegerTypeKind
                           ? LLVMConstInt(type, 1, 0)
                           : LLVMConstReal(type, 1.0);

    return splat_constant(one, b->lanes << is_complex(dtype));
}

/* Lanes of a vector as it is in memory. */
static Lanes
lanes_from_memory(Build *b, IrDtype dtype, LLVMValueRef vector)
{
    if (is_complex(dtype))
        return split_parts(b, vector);
    if (lower_access_stored(dtype) == DT_boolean)
        vector = LLVMBuildICmp(b->builder, LLVMIntNE, vector,
                               LLVMConstNull(LLVMTypeOf(vector)), "");
    return (Lanes){vector, NULL};
}

/* A vector from `element` on, where the mask (or NULL) says so. */
static LLVMValueRef
load_vector(Build *b, IrDtype dtype, LLVMValueRef base, LLVMValueRef element,
            LLVMValueRef mask)
{
    LLVMTypeRef types[2] = {vector_in_memory(b, dtype),
                            LLVMPointerTypeInContext(b->context, 0)};
    LLVMValueRef address = lower_access_address(b, dtype, base, element), vector;

    if (mask) {
        LLVMValueRef alignment =
            LLVMConstInt(LLVMInt32TypeInContext(b->context), part_alignment(dtype), 0);
        LLVMValueRef arguments[4] = {address, alignment, mask,
                                     ones_in_memory(b, dtype)};

        if (is_complex(dtype))
            arguments[2] = join_parts(b, mask, mask);
        vector = lower_access_call(b, "llvm.masked.load", types, 2, arguments, 4);
    } else {
        vector = LLVMBuildLoad2(b->builder, types[0], address, "");
        LLVMSetAlignment(vector, part_alignment(dtype));
    }
    return vector;
}

/* Lanes in the reverse order. */
static LLVMValueRef
reversed(Build *b, LLVMValueRef vector)
{
    unsigned lanes[128];

    for (unsigned i = 0; i < b->lanes; i++)
        lanes[i] = b->lanes - 1 - i;
    return shuffle(b, vector, LLVMGetPoison(LLVMTypeOf(vector)), lanes, b->lanes);
}

/* Element i of the run is element -i of the memory. */
static LLVMValueRef
load_back(Build *b, IrDtype dtype, LLVMValueRef base, LLVMValueRef element,
          LLVMValueRef mask)
{
    LLVMTypeRef number = LLVMTypeOf(element);
    LLVMValueRef least = LLVMConstInt(number, (uint64_t)1 - b->lanes, 1);

    element = LLVMBuildSub(b->builder, least, element, "");
    return reversed(
        b, load_vector(b, dtype, base, element, mask ? reversed(b, mask) : NULL));
}

/* Element i of the run is element step * i of the memory: those of as many vectors one behind the
** other. The last begins earlier, so that it ends with the last element. */
static LLVMValueRef
load_spread(Build *b, IrDtype dtype, unsigned step, LLVMValueRef base,
            LLVMValueRef element, LLVMValueRef mask)
{
    LLVMTypeRef number = LLVMTypeOf(element);
    LLVMValueRef result = NULL, none = mask ? LLVMConstNull(LLVMTypeOf(mask)) : NULL;
    unsigned n = b->lanes, taken[128], spread[128];

    element = LLVMBuildMul(b->builder, element, LLVMConstInt(number, step, 0), "");
    for (unsigned h = 0; h < step; h++) {
        unsigned first = h * n - (h + 1 == step ? step - 1 : 0); /* that it holds */
        LLVMValueRef at, part;

        for (unsigned i = 0; i < n; i++) {
            taken[i] = i;
            spread[i] = n;
        }
        for (unsigned i = 0; i < n; i++) {
            bool here = step * i >= h * n && step * i < (h + 1) * n;

            if (here) {
                taken[i] = n + step * i - first;
                spread[step * i - first] = i;
            }
        }
        at = LLVMBuildAdd(b->builder, element, LLVMConstInt(number, first, 0), "");
        part = load_vector(b, dtype, base, at,
                           mask ? shuffle(b, mask, none, spread, n) : NULL);
        result = shuffle(b, result ? result : LLVMGetPoison(LLVMTypeOf(part)), part,
                         taken, n);
    }
    return result;
}

Lanes
lower_access_load(Build *b, IrDtype dtype, LowerPattern pattern, LLVMValueRef base,
                  LLVMValueRef element, LLVMValueRef mask)
{
    unsigned step = pattern < PATTERN_second ? 1 : 2 + pattern - PATTERN_second;
    LLVMValueRef vector = step > 1 ? load_spread(b, dtype, step, base, element, mask)
                          : pattern == PATTERN_back
                              ? load_back(b, dtype, base, element, mask)
                              : load_vector(b, dtype, base, element, mask);

    return lanes_from_memory(b, dtype, vector);
}

void
lower_access_store(Build *b, IrDtype dtype, Lanes value, LLVMValueRef base,
                   LLVMValueRef element, LLVMValueRef mask)
{
    LLVMTypeRef types[2] = {vector_in_memory(b, dtype),
                            LLVMPointerTypeInContext(b->context, 0)};
    LLVMValueRef address = lower_access_address(b, dtype, base, element);
    LLVMValueRef vector = value.re;

    if (is_complex(dtype))
        vector = join_parts(b, value.re, value.im);
    else if (lower_access_stored(dtype) == DT_boolean)
        vector = LLVMBuildZExt(b->builder, vector, types[0], "");
    if (mask) {
        LLVMValueRef alignment =
            LLVMConstInt(LLVMInt32TypeInContext(b->context), part_alignment(dtype), 0);
        LLVMValueRef arguments[4] = {vector, address, alignment, mask};

        if (is_complex(dtype))
            arguments[3] = join_parts(b, mask, mask);
        lower_access_call(b, "llvm.masked.store", types, 2, arguments, 4);
    } else {
        LLVMSetAlignment(LLVMBuildStore(b->builder, vector, address),
                         part_alignment(dtype));
    }
}

/* -- At a step ------------------------------------------------------------ */

/* The address of lane `lane` of the elements from `element` on; all of them, as a vector, for a number below 0. */
static LLVMValueRef
address_at(Build *b, LLVMValueRef step, LLVMValueRef base, LLVMValueRef element,
           int lane)
{
    LLVMTypeRef number = LLVMTypeOf(element);
    LLVMValueRef first = LLVMBuildMul(b->builder, element, step, ""), offset,
                 lanes[128];

    base = LLVMBuildGEP2(b->builder, LLVMInt8TypeInContext(b->context), base, &first, 1,
                         "");
    if (lane >= 0) {
        offset =
            LLVMBuildMul(b->builder, step, LLVMConstInt(number, (unsigned)lane, 0), "");
    } else {
        LLVMTypeRef vector = LLVMVectorType(number, b->lanes);
        LLVMValueRef zero = LLVMConstInt(LLVMInt32TypeInContext(b->context), 0, 0);
        LLVMValueRef none = LLVMGetPoison(vector);

        for (unsigned i = 0; i < b->lanes; i++)
            lanes[i] = LLVMConstInt(number, i, 0);
        offset = LLVMBuildInsertElement(b->builder, none, step, zero, "");
        offset = LLVMBuildShuffleVector(
            b->builder, offset, none,
            LLVMConstNull(LLVMVectorType(LLVMTypeOf(zero), b->lanes)), "");
        offset = LLVMBuildMul(b->builder, offset, LLVMConstVector(lanes, b->lanes), "");
    }
    return LLVMBuildGEP2(b->builder, LLVMInt8TypeInContext(b->context), base, &offset,
                         1, "");
}

/* Element by element: gathers are slower where they are microcode. A mask is for the last lanes only. */
Lanes
lower_access_load_at(Build *b, IrDtype dtype, LLVMValueRef step, LLVMValueRef base,
                     LLVMValueRef element, LLVMValueRef mask)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->context);
    LLVMTypeRef types[2] = {
        vector_in_memory(b, dtype),
        LLVMVectorType(LLVMPointerTypeInContext(b->context, 0), b->lanes)};
    LLVMValueRef vector = LLVMGetPoison(types[0]);

    if (mask) {
        LLVMValueRef arguments[4] = {address_at(b, step, base, element, -1),
                                     LLVMConstInt(i32, part_alignment(dtype), 0), mask,
                                     ones_in_memory(b, dtype)};

        vector = lower_access_call(b, "llvm.masked.gather", types, 2, arguments, 4);
    }
    for (unsigned i = 0; !mask && i < b->lanes; i++) {
        LLVMValueRef one =
            LLVMBuildLoad2(b->builder, memory_type(b, dtype),
                           address_at(b, step, base, element, (int)i), "");

        LLVMSetAlignment(one, part_alignment(dtype));
        vector = LLVMBuildInsertElement(b->builder, vector, one,
                                        LLVMConstInt(i32, i, 0), "");
    }
    return lanes_from_memory(b, dtype, vector);
}

void
lower_access_store_at(Build *b, IrDtype dtype, Lanes value, LLVMValueRef step,
                      LLVMValueRef base, LLVMValueRef element, LLVMValueRef mask)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->context);
    LLVMTypeRef types[2] = {
        vector_in_memory(b, dtype),
        LLVMVectorType(LLVMPointerTypeInContext(b->context, 0), b->lanes)};

    if (mask) {
        LLVMValueRef arguments[4] = {value.re, address_at(b, step, base, element, -1),
                                     LLVMConstInt(i32, part_alignment(dtype), 0), mask};

        lower_access_call(b, "llvm.masked.scatter", types, 2, arguments, 4);
    }
    for (unsigned i = 0; !mask && i < b->lanes; i++) {
        LLVMValueRef one =
            LLVMBuildExtractElement(b->builder, value.re, LLVMConstInt(i32, i, 0), "");

        LLVMSetAlignment(
            LLVMBuildStore(b->builder, one, address_at(b, step, base, element, (int)i)),
            part_alignment(dtype));
    }
}

bool
lower_access_streams(IrDtype dtype)
{
    return dtype == DT_float32 || dtype == DT_float64 || dtype == DT_int32 ||
           dtype == DT_int64;
}

void
lower_access_stream(Build *b, IrDtype dtype, Lanes value, LLVMValueRef base,
                    LLVMValueRef element)
{
    LLVMValueRef one = LLVMConstInt(LLVMInt32TypeInContext(b->context), 1, 0);
    LLVMMetadataRef operand = LLVMValueAsMetadata(one);
    LLVMValueRef store = LLVMBuildStore(b->builder, value.re,
                                        lower_access_address(b, dtype, base, element));

    LLVMSetAlignment(store, b->lanes * (unsigned)ir_dtype_bytes(dtype));
    LLVMSetMetadata(
        store, LLVMGetMDKindIDInContext(b->context, "nontemporal", 11),
        LLVMMetadataAsValue(b->context, LLVMMDNodeInContext2(b->context, &operand, 1)));
}

/* One part of the element at the address, in all lanes. */
static LLVMValueRef
broadcast_part(Build *b, IrDtype dtype, LLVMValueRef address, unsigned part)
{
    LLVMTypeRef type = memory_type(b, dtype);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->context);
    LLVMValueRef index = LLVMConstInt(i32, part, 0), element, vector;
    LLVMTypeRef vector_type = LLVMVectorType(type, b->lanes);

    address = LLVMBuildGEP2(b->builder, type, address, &index, 1, "");
    element = LLVMBuildLoad2(b->builder, type, address, "");
    LLVMSetAlignment(element, part_alignment(dtype));
    vector = LLVMBuildInsertElement(b->builder, LLVMGetPoison(vector_type), element,
                                    LLVMConstInt(i32, 0, 0), "");
    return LLVMBuildShuffleVector(b->builder, vector, LLVMGetPoison(vector_type),
                                  LLVMConstNull(LLVMVectorType(i32, b->lanes)), "");
}

Lanes
lower_access_broadcast(Build *b, IrDtype dtype, LLVMValueRef address)
{
    Lanes lanes = {broadcast_part(b, dtype, address, 0), NULL};

    if (is_complex(dtype))
        lanes.im = broadcast_part(b, dtype, address, 1);
    else
        lanes = lanes_from_memory(b, dtype, lanes.re);
    return lanes;
}

/* -- Padded buffers ------------------------------------------------------- */

LLVMValueRef
lower_access_buffer(Build *b, IrDtype dtype)
{
    return lower_access_buffers(b, dtype, 1);
}

LLVMValueRef
lower_access_entry_buffer(Build *b, IrDtype dtype)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(b->builder);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(b->function);
    LLVMValueRef first = LLVMGetFirstInstruction(entry), made;

    if (first)
        LLVMPositionBuilderBefore(b->builder, first);
    else
        LLVMPositionBuilderAtEnd(b->builder, entry);
    made = lower_access_buffer(b, dtype);
    LLVMPositionBuilderAtEnd(b->builder, here);
    return made;
}

LLVMValueRef
lower_access_buffers(Build *b, IrDtype dtype, unsigned copies)
{
    LLVMTypeRef vectors = LLVMArrayType2(vector_in_memory(b, dtype), copies);
    LLVMValueRef buffer = LLVMBuildAlloca(b->builder, vectors, "");

    LLVMSetAlignment(buffer, b->target->vector_bytes);
    return buffer;
}

void
lower_access_fill(Build *b, IrDtype dtype, LLVMValueRef buffer)
{
    LLVMSetAlignment(LLVMBuildStore(b->builder, ones_in_memory(b, dtype), buffer),
                     part_alignment(dtype));
}

void
lower_access_copy(Build *b, IrDtype dtype, LLVMValueRef to, LLVMValueRef from)
{
    unsigned bits = 8 * (unsigned)ir_dtype_bytes(lower_access_stored(dtype));
    LLVMTypeRef whole = LLVMIntTypeInContext(b->context, bits);
    LLVMValueRef element = LLVMBuildLoad2(b->builder, whole, from, "");

    LLVMSetAlignment(element, part_alignment(dtype));
    LLVMSetAlignment(LLVMBuildStore(b->builder, element, to), part_alignment(dtype));
}
