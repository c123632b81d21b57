/* recipe.c - elementary functions: the recipes of kernels/ as instructions.
**
** The words of kernels/recipes/recipes.inc become calls of LLVM's builder, so that a recipe
** is a function that emits its own instructions at the builder's place:
**
**     kernels/recipes/recipes.inc ─┬─► clang vectors ─► loops (tier 0)
**                                  └─► this file     ─► lanes of a kernel (tier 1)
**
** Law 1: the two do the same operations on every lane, so their bits are equal. What this
**        machine's loops are (kernel_recipe_form) has to be the row kernels are made for.
*/
#include "lower/host/recipe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- Instructions --------------------------------------------------------- */

static LLVMValueRef
call(Build *cx, const char *intrinsic, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z)
{
    LLVMValueRef arguments[3] = {x, y, z};
    LLVMTypeRef type = LLVMTypeOf(x);

    return lower_access_call(cx, intrinsic, &type, 1, arguments, y ? z ? 3 : 2 : 1);
}

static LLVMValueRef
shift(Build *cx, LLVMOpcode opcode, LLVMValueRef x, IrDtype dtype, int n)
{
    return LLVMBuildBinOp(cx->builder, opcode, x, lower_access_int(cx, dtype, n), "");
}

static LLVMValueRef
any_lane(Build *cx, LLVMValueRef mask)
{
    LLVMTypeRef bits = LLVMIntTypeInContext(cx->context, cx->lanes);

    return LLVMBuildICmp(cx->builder, LLVMIntNE,
                         LLVMBuildBitCast(cx->builder, mask, bits, ""),
                         LLVMConstNull(bits), "");
}

/* A branch that is hardly ever taken. */
static void
branch_rarely(Build *cx, LLVMValueRef condition, LLVMBasicBlockRef rare,
              LLVMBasicBlockRef usual)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(cx->context);
    LLVMValueRef branch = LLVMBuildCondBr(cx->builder, condition, rare, usual);
    LLVMMetadataRef parts[3] = {
        LLVMMDStringInContext2(cx->context, "branch_weights", 14),
        LLVMValueAsMetadata(LLVMConstInt(i32, 1, 0)),
        LLVMValueAsMetadata(LLVMConstInt(i32, 1 << 20, 0))};

    LLVMSetMetadata(
        branch, LLVMGetMDKindIDInContext(cx->context, "prof", 4),
        LLVMMetadataAsValue(cx->context, LLVMMDNodeInContext2(cx->context, parts, 3)));
}

/* r, put right by a function where an argument is far from 0. */
static LLVMValueRef
rare(Build *cx, LLVMValueRef mask, const char *symbol, IrDtype dtype, LLVMValueRef x,
     LLVMValueRef r)
{
    LLVMTypeRef pointer = LLVMPointerTypeInContext(cx->context, 0);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(cx->context);
    LLVMTypeRef types[3] = {pointer, pointer, i32};
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(cx->context), types, 3, 0);
    LLVMValueRef function = LLVMGetNamedFunction(cx->module, symbol);
    LLVMValueRef arguments[3] = {lower_access_entry_buffer(cx, dtype),
                                 lower_access_entry_buffer(cx, dtype),
                                 LLVMConstInt(i32, cx->lanes, 0)};
    LLVMBasicBlockRef before = LLVMGetInsertBlock(cx->builder);
    LLVMBasicBlockRef far =
        LLVMAppendBasicBlockInContext(cx->context, cx->function, "far");
    LLVMBasicBlockRef near =
        LLVMAppendBasicBlockInContext(cx->context, cx->function, "near");
    LLVMValueRef right, result;

    if (!function)
        function = LLVMAddFunction(cx->module, symbol, type);
    branch_rarely(cx, any_lane(cx, mask), far, near);
    LLVMPositionBuilderAtEnd(cx->builder, far);
    LLVMBuildStore(cx->builder, x, arguments[0]);
    LLVMBuildStore(cx->builder, r, arguments[1]);
    LLVMBuildCall2(cx->builder, type, function, arguments, 3, "");
    right = LLVMBuildLoad2(cx->builder, LLVMTypeOf(r), arguments[1], "");
    LLVMBuildBr(cx->builder, near);
    LLVMPositionBuilderAtEnd(cx->builder, near);
    result = LLVMBuildPhi(cx->builder, LLVMTypeOf(r), "");
    LLVMAddIncoming(result, &r, &before, 1);
    LLVMAddIncoming(result, &right, &far, 1);
    return result;
}

typedef LLVMValueRef (*RecipeFn1)(Build *cx, LLVMValueRef x);
typedef LLVMValueRef (*RecipeFn2)(Build *cx, LLVMValueRef x, LLVMValueRef y);

/* yes(x, y) if the mask holds in any lane, else no(x, y). */
static LLVMValueRef
either(Build *cx, LLVMValueRef mask, RecipeFn2 yes, RecipeFn2 no, LLVMValueRef x,
       LLVMValueRef y)
{
    LLVMBasicBlockRef blocks[2], done;
    LLVMValueRef results[2], result;

    for (int i = 0; i < 2; i++)
        blocks[i] = LLVMAppendBasicBlockInContext(cx->context, cx->function, "either");
    done = LLVMAppendBasicBlockInContext(cx->context, cx->function, "done");
    LLVMBuildCondBr(cx->builder, any_lane(cx, mask), blocks[0], blocks[1]);
    for (int i = 0; i < 2; i++) {
        LLVMPositionBuilderAtEnd(cx->builder, blocks[i]);
        results[i] = (i ? no : yes)(cx, x, y);
        LLVMBuildBr(cx->builder, done);
        blocks[i] = LLVMGetInsertBlock(cx->builder);
    }
    LLVMPositionBuilderAtEnd(cx->builder, done);
    result = LLVMBuildPhi(cx->builder, LLVMTypeOf(x), "");
    LLVMAddIncoming(result, results, blocks, 2);
    return result;
}

/* -- Words of 512 bits ---------------------------------------------------- */

typedef enum Zmm { ZMM_getexp, ZMM_getmant, ZMM_scalef, ZMM_logfix, ZMM_look } Zmm;

/* Lanes first … first + n - 1 of x; beyond its end they are anything. */
static LLVMValueRef
lanes_of(Build *cx, LLVMValueRef x, unsigned first, unsigned n)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(cx->context);
    unsigned has = LLVMGetVectorSize(LLVMTypeOf(x));
    LLVMValueRef mask[64];

    if (first == 0 && has == n)
        return x;
    for (unsigned i = 0; i < n; i++)
        mask[i] =
            first + i < has ? LLVMConstInt(i32, first + i, 0) : LLVMGetPoison(i32);
    return LLVMBuildShuffleVector(cx->builder, x, LLVMGetPoison(LLVMTypeOf(x)),
                                  LLVMConstVector(mask, n), "");
}

/* The lanes of x, then those of y, `n` in all. */
static LLVMValueRef
joined(Build *cx, LLVMValueRef x, LLVMValueRef y, unsigned n)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(cx->context);
    LLVMValueRef mask[64];

    for (unsigned i = 0; i < n; i++)
        mask[i] = LLVMConstInt(i32, i, 0);
    return LLVMBuildShuffleVector(cx->builder, x, y, LLVMConstVector(mask, n), "");
}

/* The word on a whole register; ORDER of operands as the intrinsic has them. */
static LLVMValueRef
zmm_call(Build *cx, Zmm word, bool wide, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z)
{
    enum { CURRENT_ROUNDING = 4, MANTISSA_3_4_NAN = 3 | 2 << 2, LOGFIXES = 0x03530422 };
    static const char *const names[][2] = {
        [ZMM_getexp] = {"llvm.x86.avx512.mask.getexp.ps.512",
                        "llvm.x86.avx512.mask.getexp.pd.512"},
        [ZMM_getmant] = {"llvm.x86.avx512.mask.getmant.ps.512",
                         "llvm.x86.avx512.mask.getmant.pd.512"},
        [ZMM_scalef] = {"llvm.x86.avx512.mask.scalef.ps.512",
                        "llvm.x86.avx512.mask.scalef.pd.512"},
        [ZMM_logfix] = {"llvm.x86.avx512.mask.fixupimm.ps.512",
                        "llvm.x86.avx512.mask.fixupimm.pd.512"},
        [ZMM_look] = {"llvm.x86.avx512.vpermi2var.ps.512",
                      "llvm.x86.avx512.vpermi2var.pd.512"},
    };
    LLVMTypeRef i32 = LLVMInt32TypeInContext(cx->context);
    LLVMTypeRef word_type = wide ? LLVMInt64TypeInContext(cx->context) : i32;
    LLVMTypeRef mask_type = LLVMIntTypeInContext(cx->context, wide ? 8 : 16);
    LLVMValueRef all = LLVMConstAllOnes(mask_type);
    LLVMValueRef rounding = LLVMConstInt(i32, CURRENT_ROUNDING, 0);
    LLVMValueRef fixes[16], arguments[6] = {x};
    unsigned n = 1;

    for (unsigned i = 0; i < (wide ? 8u : 16u); i++)
        fixes[i] = LLVMConstInt(word_type, LOGFIXES, 0);
    if (word == ZMM_getmant)
        arguments[n++] = LLVMConstInt(i32, MANTISSA_3_4_NAN, 0);
    if (y)
        arguments[n++] = y;
    if (z)
        arguments[n++] = z;
    if (word == ZMM_logfix) {
        arguments[n++] = LLVMConstVector(fixes, wide ? 8 : 16);
        arguments[n++] = LLVMConstInt(i32, 0, 0);
    } else if (word != ZMM_look)
        arguments[n++] = x; /* for lanes that the mask leaves out: none */
    if (word != ZMM_look) {
        arguments[n++] = all;
        arguments[n++] = rounding;
    }
    return lower_access_call(cx, names[word][wide], NULL, 0, arguments, n);
}

/* The word on lanes of any number: parts of whole registers. y of lanes, too, or NULL. */
static LLVMValueRef
zmm(Build *cx, Zmm word, IrDtype dtype, LLVMValueRef x, LLVMValueRef y,
    const LLVMValueRef *table)
{
    bool wide = dtype == DT_float64;
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(x)), whole = wide ? 8 : 16;
    LLVMValueRef parts[2] = {NULL, NULL};

    for (unsigned k = 0; k < 2 && k * whole < n; k++) {
        LLVMValueRef part = lanes_of(cx, x, k * whole, whole);

        if (table)
            parts[k] = zmm_call(cx, word, wide, table[0], part, table[1]);
        else
            parts[k] = zmm_call(cx, word, wide, part,
                                y ? lanes_of(cx, y, k * whole, whole) : NULL, NULL);
    }
    return parts[1] ? joined(cx, parts[0], parts[1], n) : lanes_of(cx, parts[0], 0, n);
}

/* -- Tables --------------------------------------------------------------- */

/* A table as memory of the module. */
static LLVMValueRef
table_memory(Build *cx, const char *name, const LLVMValueRef *items, unsigned n)
{
    LLVMValueRef global = LLVMGetNamedGlobal(cx->module, name);
    LLVMTypeRef type = LLVMTypeOf(items[0]);

    if (global)
        return global;
    global = LLVMAddGlobal(cx->module, LLVMArrayType2(type, n), name);
    LLVMSetInitializer(global,
                       LLVMConstArray2(type, (LLVMValueRef *)(uintptr_t)items, n));
    LLVMSetGlobalConstant(global, 1);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    LLVMSetAlignment(global, 64);
    return global;
}

/* Half k of a table, in a register. */
static LLVMValueRef
table_half(Build *cx, LLVMValueRef memory, LLVMTypeRef item, unsigned n, unsigned k)
{
    LLVMTypeRef half = LLVMVectorType(item, n / 2);
    LLVMValueRef number = LLVMConstInt(LLVMInt64TypeInContext(cx->context), k, 0);
    LLVMValueRef address = LLVMBuildGEP2(cx->builder, half, memory, &number, 1, ""),
                 loaded;

    loaded = LLVMBuildLoad2(cx->builder, half, address, "");
    LLVMSetAlignment(loaded, 64);
    LLVMSetMetadata(
        loaded, LLVMGetMDKindIDInContext(cx->context, "invariant.load", 14),
        LLVMMetadataAsValue(cx->context, LLVMMDNodeInContext2(cx->context, NULL, 0)));
    return loaded;
}

/* items[i], i its low bits alone. */
static LLVMValueRef
look_up(Build *cx, const char *name, IrDtype dtype, const LLVMValueRef *items,
        LLVMValueRef i)
{
    unsigned n = dtype == DT_float64 ? 16 : 32;
    LLVMTypeRef item = LLVMTypeOf(items[0]), types[2];
    LLVMValueRef memory = table_memory(cx, name, items, n), arguments[4], halves[2];

    if (cx->target->tables) {
        for (unsigned k = 0; k < 2; k++)
            halves[k] = table_half(cx, memory, item, n, k);
        return zmm(cx, ZMM_look, dtype, i, NULL, halves);
    }
    i = LLVMBuildAnd(
        cx->builder, i,
        lower_access_int(cx, dtype == DT_float64 ? DT_int64 : DT_int32, n - 1), "");
    arguments[0] = LLVMBuildGEP2(cx->builder, item, memory, &i, 1, "");
    arguments[1] =
        LLVMConstInt(LLVMInt32TypeInContext(cx->context), ir_dtype_bytes(dtype), 0);
    arguments[2] = LLVMConstAllOnes(lower_access_type(cx, DT_boolean));
    arguments[3] = LLVMGetPoison(lower_access_type(cx, dtype));
    types[0] = LLVMTypeOf(arguments[3]);
    types[1] = LLVMTypeOf(arguments[0]);
    return lower_access_call(cx, "llvm.masked.gather", types, 2, arguments, 4);
}

static LLVMValueRef
table_f64(Build *cx, const char *name, const double *t, LLVMValueRef i)
{
    LLVMValueRef items[16];

    for (int k = 0; k < 16; k++)
        items[k] = LLVMConstReal(LLVMDoubleTypeInContext(cx->context), t[k]);
    return look_up(cx, name, DT_float64, items, i);
}

static LLVMValueRef
table_f32(Build *cx, const char *name, const float *t, LLVMValueRef i)
{
    LLVMValueRef items[32];

    for (int k = 0; k < 32; k++)
        items[k] = LLVMConstReal(LLVMFloatTypeInContext(cx->context), (double)t[k]);
    return look_up(cx, name, DT_float32, items, i);
}

/* -- Floats in doubles ---------------------------------------------------- */

static LLVMValueRef
widen(Build *cx, LLVMValueRef x)
{
    return LLVMBuildFPExt(cx->builder, x, lower_access_type(cx, DT_float64), "");
}

static LLVMValueRef
narrow(Build *cx, LLVMValueRef x)
{
    return LLVMBuildFPTrunc(cx->builder, x, lower_access_type(cx, DT_float32), "");
}

/* -- The words ------------------------------------------------------------ */

#define CX     Build *cx,
#define CB     cx,
#define INLINE static __attribute__((unused))
#define UNROLL
#define CAT_(a, b) a##b
#define CAT(a, b)  CAT_(a, b)
#define N(name)    CAT(PFX, name)
#define BUILDER    cx->builder
#define FLOAT      BIG(DT_float64, DT_float32)
#define WORD       BIG(DT_int64, DT_int32)

typedef LLVMValueRef d_v, d_u, d_m, f_v, f_u, f_m;

#define F(x)                  lower_access_float(cx, FLOAT, (double)(x))
#define I(n)                  lower_access_int(cx, WORD, (int64_t)(n))
#define ADD(v, w)             LLVMBuildFAdd(BUILDER, v, w, "")
#define SUB(v, w)             LLVMBuildFSub(BUILDER, v, w, "")
#define MUL(v, w)             LLVMBuildFMul(BUILDER, v, w, "")
#define DIV(v, w)             LLVMBuildFDiv(BUILDER, v, w, "")
#define NEG(v)                LLVMBuildFNeg(BUILDER, v, "")
#define FMA(u, v, w)          call(cx, "llvm.fma", u, v, w)
#define SQRT(v)               call(cx, "llvm.sqrt", v, NULL, NULL)
#define ABS(v)                call(cx, "llvm.fabs", v, NULL, NULL)
#define COPYSIGN(v, w)        call(cx, "llvm.copysign", v, w, NULL)
#define ROUND(v)              call(cx, "llvm.roundeven", v, NULL, NULL)
#define LT(v, w)              LLVMBuildFCmp(BUILDER, LLVMRealOLT, v, w, "")
#define GT(v, w)              LLVMBuildFCmp(BUILDER, LLVMRealOGT, v, w, "")
#define EQ(v, w)              LLVMBuildFCmp(BUILDER, LLVMRealOEQ, v, w, "")
#define SEL(m, v, w)          LLVMBuildSelect(BUILDER, m, v, w, "")
#define USEL(m, u, w)         LLVMBuildSelect(BUILDER, m, u, w, "")
#define BITS(v)               LLVMBuildBitCast(BUILDER, v, lower_access_type(cx, WORD), "")
#define VALUE(u)              LLVMBuildBitCast(BUILDER, u, lower_access_type(cx, FLOAT), "")
#define IADD(u, w)            LLVMBuildAdd(BUILDER, u, w, "")
#define ISUB(u, w)            LLVMBuildSub(BUILDER, u, w, "")
#define NEQ(u, w)             LLVMBuildICmp(BUILDER, LLVMIntNE, u, w, "")
#define NEGATIVE(u)           LLVMBuildICmp(BUILDER, LLVMIntSLT, u, I(0), "")
#define UMIN(u, w)            call(cx, "llvm.umin", u, w, NULL)
#define UMAX(u, w)            call(cx, "llvm.umax", u, w, NULL)
#define AND(u, w)             LLVMBuildAnd(BUILDER, u, w, "")
#define OR(u, w)              LLVMBuildOr(BUILDER, u, w, "")
#define XOR(u, w)             LLVMBuildXor(BUILDER, u, w, "")
#define NOT(u)                LLVMBuildNot(BUILDER, u, "")
#define SHL(u, n)             shift(cx, LLVMShl, u, WORD, n)
#define SHR(u, n)             shift(cx, LLVMLShr, u, WORD, n)
#define TABLES                cx->target->tables
#define TABLE(t, u)           TABLE_(t, u)
#define TABLE_(t, u)          BIG(table_f64, table_f32)(cx, #t, t, u)
#define GETEXP(v)             zmm(cx, ZMM_getexp, FLOAT, v, NULL, NULL)
#define GETMANT(v)            zmm(cx, ZMM_getmant, FLOAT, v, NULL, NULL)
#define SCALEF(v, n)          zmm(cx, ZMM_scalef, FLOAT, v, n, NULL)
#define LOGFIX(r, x)          zmm(cx, ZMM_logfix, FLOAT, r, x, NULL)
#define IN_DOUBLES(f, x, y)   narrow(cx, d_##f(cx, widen(cx, x), widen(cx, y)))
#define EITHER(m, f, g, x, y) either(cx, m, N(f), N(g), x, y)
#define RARE(m, name, x, r)                                                            \
    rare(cx, m, BIG("pyasc_far_" #name "_f64", "pyasc_far_" #name "_f32"), FLOAT, x, r)

/* -- The recipes ---------------------------------------------------------- */

#include "kernels/recipes/coefficients.inc"

#define PFX d_
#define IS_DOUBLE
#include "kernels/recipes/recipes.inc"
#undef PFX
#undef IS_DOUBLE
#define PFX f_
#include "kernels/recipes/recipes.inc"
#undef PFX

/* -- The table ------------------------------------------------------------ */

typedef struct Recipe {
    const char *name;
    RecipeFn1 unary[2]; /* of float32, of float64 */
    RecipeFn2 binary[2];
} Recipe;

#define FIELD_1 unary
#define FIELD_2 binary
static const Recipe recipes[RECIPE_COUNT] = {
#define RECIPE(name, arity, doc)                                                       \
    [RECIPE_##name] = {#name, .FIELD_##arity = {f_##name, d_##name}},
#include "kernels/recipes.def"
#undef RECIPE
};

static const Recipe *
find(const char *name)
{
    for (int i = 0; i < RECIPE_COUNT; i++)
        if (!strcmp(recipes[i].name, name))
            return &recipes[i];
    return NULL;
}

bool
lower_recipe_supports(const HostTarget *target, const char *name, IrDtype dtype)
{
    const char *form = kernel_recipe_form();

    if (!target->fma || !find(name) || (dtype != DT_float32 && dtype != DT_float64))
        return false;
    return target != lower_target_host() || (form && !strcmp(form, target->name));
}

LLVMValueRef
lower_recipe_emit(Build *b, const char *name, IrDtype dtype,
                  const LLVMValueRef *operands)
{
    const Recipe *recipe = find(name);
    int wide = dtype == DT_float64;

    if (recipe->unary[wide])
        return recipe->unary[wide](b, operands[0]);
    return recipe->binary[wide](b, operands[0], operands[1]);
}
