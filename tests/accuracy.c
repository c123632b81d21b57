/* accuracy.c - the largest error of every recipe, by hand: nothing runs this in the tests.
**
**     accuracy [--form avx512|avx2|neon] [--points N] [--stride N] [NAME …]
**
** float64: N points (1e8) of any bits, dense ranges and hard places, against long double.
** float32 of one operand: every N-th of the 2^32 numbers (1), against double; of two: N
** points. Errors are in ulp of the exact result. Prints a row of docs/accuracy.md a function.
*/
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/recipe.h"

enum { BLOCK = 4096 };

typedef long double Exact;

typedef struct Function {
    const char *name;
    KernelRecipe recipe;
    int arity;
    Exact (*exact)(Exact x, Exact y);
    double (*near)(double x, double y); /* enough for float32 */
} Function;

typedef struct Worst {
    double error, x, y;
} Worst;

/* -- References ----------------------------------------------------------- */

#define ONE(name, c)                                                                   \
    static Exact exact_##name(Exact x, Exact y)                                        \
    {                                                                                  \
        (void)y;                                                                       \
        return c##l(x);                                                                \
    }                                                                                  \
    static double near_##name(double x, double y)                                      \
    {                                                                                  \
        (void)y;                                                                       \
        return c(x);                                                                   \
    }
#define TWO(name, c)                                                                   \
    static Exact exact_##name(Exact x, Exact y)                                        \
    {                                                                                  \
        return c##l(x, y);                                                             \
    }                                                                                  \
    static double near_##name(double x, double y)                                      \
    {                                                                                  \
        return c(x, y);                                                                \
    }
ONE(exp, exp)
ONE(exp2, exp2)
ONE(expm1, expm1)
ONE(log, log)
ONE(log2, log2)
ONE(log10, log10)
ONE(log1p, log1p)
ONE(sin, sin)
ONE(cos, cos)
ONE(tan, tan)
ONE(arcsin, asin)
ONE(arccos, acos)
ONE(arctan, atan)
ONE(sinh, sinh)
ONE(cosh, cosh)
ONE(tanh, tanh)
ONE(arcsinh, asinh)
ONE(arccosh, acosh)
ONE(arctanh, atanh)
ONE(cbrt, cbrt)
TWO(power, pow)
TWO(power_scalar, pow)
TWO(arctan2, atan2)
TWO(hypot, hypot)

static const Function functions[] = {
#define RECIPE(name, arity, doc)                                                       \
    {#name, RECIPE_##name, arity, exact_##name, near_##name},
#include "kernels/recipes.def"
#undef RECIPE
};

/* -- Points --------------------------------------------------------------- */

static uint64_t
random_bits(void)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 2685821657736338717u;
}

static double
unit(void)
{
    return (double)(random_bits() >> 11) * 0x1p-53;
}

/* A neighbour of x, up to 8 steps away. */
static double
next_to(double x)
{
    int64_t bits;

    memcpy(&bits, &x, sizeof x);
    bits += (int64_t)(random_bits() % 17) - 8;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double
any_double(void)
{
    static const double places[] = {
        1,      0.5,          2,        0x1p-54, 0x1p-28,  0x1p-1022, 0x1p60, 0x1p23,
        709.78, -708.4,       -745.1,   -37.43,  710.4758, 1023.9,    -1074,  0.8125,
        0.75,   1.4142135624, 0x1p-450, 0x1p500, 0x1p1021, 0.4142,    1.468,  53};
    static const double ranges[] = {1, 4, 40, 750, 1e4, 1e6, 8388608, 1e-3};
    double x = 0;
    uint64_t bits = random_bits(), kind = random_bits() % 16;

    if (kind < 3)
        memcpy(&x, &bits, sizeof x);
    else if (kind < 11)
        x = (2 * unit() - 1) * ranges[kind - 3];
    else if (kind < 13)
        x = next_to((double)(int64_t)(bits % (kind == 11 ? 64 : 5340353)) *
                    1.57079632679489661923);
    else if (kind < 14)
        x = 1 + ldexp(bits & 1 ? 1 : -1, -(int)(bits >> 8 & 63)) * (1 + unit());
    else if (kind < 15)
        x = next_to(places[bits % (sizeof places / sizeof *places)]);
    else
        x = ldexp(1 + unit(), (int)(bits % 2098) - 1074);
    return bits & 2 ? x : -x;
}

/* The second operand: so that powers do not all overflow, angles not all vanish. */
static double
partner(const Function *f, double x)
{
    uint64_t bits = random_bits();

    if (f->recipe == RECIPE_power || f->recipe == RECIPE_power_scalar) {
        double scale = fabs(log(fabs(x)));

        return bits & 3 ? (2 * unit() - 1) * 745 / (scale > 1e-300 ? scale : 1)
                        : any_double();
    }
    return bits & 3 ? x * ldexp((2 * unit() - 1), (int)(bits >> 8 & 15) - 8)
                    : any_double();
}

/* -- Errors --------------------------------------------------------------- */

/* |got - exact| in units of the last place of a float64 near `exact`. */
static double
error_f64(double got, Exact exact)
{
    int e = exact != 0 ? ilogbl(exact) : -1022;

    return (double)ldexpl(fabsl((Exact)got - exact), 52 - (e < -1022 ? -1022 : e));
}

/* The same of float32; all exponents of float32 are those of normal doubles. */
static double
error_f32(double got, double exact)
{
    int64_t bits;
    double scale;
    int e;

    memcpy(&bits, &exact, sizeof bits);
    e = (int)(bits >> 52 & 0x7ff) - 1023;
    bits = (int64_t)(23 - (e < -126 ? -126 : e) + 1023) << 52;
    memcpy(&scale, &bits, sizeof scale);
    return fabs(got - exact) * scale;
}

static void
note(Worst *worst, double error, double x, double y)
{
    if (error > worst->error)
        *worst = (Worst){error, x, y};
}

static void
run(KernelLoopFn loop, int arity, char *x, char *y, char *r, intptr_t bytes)
{
    char *data[3] = {x, arity == 2 ? y : r, r};
    intptr_t n = BLOCK, strides[3] = {bytes, bytes, bytes};

    loop(NULL, data, &n, strides, NULL);
}

static Worst
check_f64(const Function *f, KernelLoopFn loop, double points)
{
    static double x[BLOCK], y[BLOCK], r[BLOCK];
    Worst worst = {0, 0, 0};

    for (double done = 0; done < points; done += BLOCK) {
        for (int i = 0; i < BLOCK; i++) {
            x[i] = any_double();
            y[i] = f->arity == 2 ? partner(f, x[i]) : 0;
        }
        run(loop, f->arity, (char *)x, (char *)y, (char *)r, sizeof *x);
        for (int i = 0; i < BLOCK; i++) {
            Exact exact = f->exact(x[i], y[i]);
            double near = (double)exact;

            if (isfinite(near) && isfinite(r[i]))
                note(&worst, error_f64(r[i], exact), x[i], y[i]);
            else if (!(isnan(near) ? isnan(r[i]) : near == r[i]) &&
                     !(isinf(near) ? fabs(r[i]) == HUGE_VAL || fabs(r[i]) > 1.79e308
                                   : fabs(near) > 1.79e308))
                note(&worst, HUGE_VAL, x[i], y[i]);
        }
    }
    return worst;
}

static void
note_f32(const Function *f, Worst *worst, float x, float y, float got)
{
    double exact = f->near((double)x, (double)y);
    float near = (float)exact;

    if (isfinite(near) && isfinite(got))
        note(worst, error_f32((double)got, exact), (double)x, (double)y);
    else if (!(isnan(near) ? isnan(got) : near == got) &&
             !(fabsf(near) > 3.4e38f && fabsf(got) > 3.4e38f))
        note(worst, HUGE_VAL, (double)x, (double)y);
}

static Worst
check_f32(const Function *f, KernelLoopFn loop, double points, uint64_t stride)
{
    static float x[BLOCK], y[BLOCK], r[BLOCK];
    Worst worst = {0, 0, 0};
    uint64_t bits = 0;
    double end = f->arity == 2 ? points : 0x1p32 / (double)stride;

    for (double done = 0; done < end; done += BLOCK) {
        for (int i = 0; i < BLOCK; i++, bits += stride) {
            uint32_t low = (uint32_t)bits;

            memcpy(&x[i], &low, sizeof low);
            if (f->arity == 2) {
                double wide = any_double();

                x[i] = (float)wide;
                y[i] =
                    (float)(partner(f, wide) * (f->recipe == RECIPE_power ? 0.12 : 1));
            }
        }
        run(loop, f->arity, (char *)x, (char *)y, (char *)r, sizeof *x);
        for (int i = 0; i < BLOCK; i++)
            note_f32(f, &worst, x[i], y[i], r[i]);
    }
    return worst;
}

/* -- The command ---------------------------------------------------------- */

static const KernelRecipes *
recipes_of(const char *form)
{
#if defined(__x86_64__)
    const char *best = kernel_recipe_form();

    if (!best)
        return NULL;
    if (form ? !strcmp(form, "avx512") : !strcmp(best, "x86_64_v4"))
        return &kernel_recipes_avx512;
    return &kernel_recipes_avx2;
#elif defined(__aarch64__)
    (void)form;
    return &kernel_recipes_neon;
#else
    (void)form;
    return NULL;
#endif
}

static bool
is_asked(const char *name, int argc, char **argv, int first)
{
    bool asked = first == argc;

    for (int i = first; i < argc; i++)
        asked |= !strcmp(argv[i], name);
    return asked;
}

int
main(int argc, char **argv)
{
    const char *form = NULL;
    double points = 1e8;
    uint64_t stride = 1;
    const KernelRecipes *recipes;
    int at = 1;

    for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
        if (!strcmp(argv[at], "--form"))
            form = argv[at + 1];
        else if (!strcmp(argv[at], "--points"))
            points = atof(argv[at + 1]);
        else if (!strcmp(argv[at], "--stride"))
            stride = strtoull(argv[at + 1], NULL, 10);
    }
    recipes = recipes_of(form);
    if (!recipes) {
        puts("this CPU has no recipes");
        return 1;
    }
    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++) {
        const Function *f = &functions[i];
        Worst single, wide;

        if (f->recipe == RECIPE_power_scalar || !is_asked(f->name, argc, argv, at))
            continue;
        single = check_f32(f, recipes->loops[f->recipe][0], points, stride);
        wide = check_f64(f, recipes->loops[f->recipe][1], points);
        printf("| %s | %.3f | %a%s | %.3f | %a%s |\n", f->name, single.error, single.x,
               f->arity == 2 ? ", …" : "", wide.error, wide.x,
               f->arity == 2 ? ", …" : "");
        fflush(stdout);
    }
    return 0;
}
