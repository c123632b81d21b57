/* check_ir.c - the builder, types, regions, schedules and kernels of ir/. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

static IrGraph *g;
static IrValue x, y; /* f64[n] */

static void
setup(void)
{
    IrDim n;

    g = ir_graph_new("test");
    n = (IrDim){ir_symbol_add(g, "n"), DIM_symbol};
    x = ir_param_add(g, (IrType){.dtype = DT_float64, .ndim = 1, .dims = &n}, "x");
    y = ir_param_add(g, (IrType){.dtype = DT_float64, .ndim = 1, .dims = &n}, "y");
}

static void
teardown(void)
{
    ir_graph_free(g);
}

/* -- Dtypes ----------------------------------------------------------------------- */

START_TEST(promotes)
{
    ck_assert_int_eq(ir_dtype_promote(DT_int8, DT_uint8), DT_int16);
    ck_assert_int_eq(ir_dtype_promote(DT_uint64, DT_int8), DT_float64);
    ck_assert_int_eq(ir_dtype_promote(DT_int16, DT_float16), DT_float32);
    ck_assert_int_eq(ir_dtype_promote(DT_bfloat16, DT_float16), DT_float32);
    ck_assert_int_eq(ir_dtype_promote(DT_pyint, DT_uint8), DT_uint8);
    ck_assert_int_eq(ir_dtype_promote(DT_pyfloat, DT_float16), DT_float16);
    ck_assert_int_eq(ir_dtype_promote(DT_pyfloat, DT_int8), DT_float64);
    ck_assert_int_eq(ir_dtype_promote(DT_pycomplex, DT_float32), DT_complex64);
    ck_assert_int_eq(ir_dtype_promote(DT_pyint, DT_pyfloat), DT_pyfloat);
    ck_assert_int_eq(ir_dtype_promote(DT_pyint, DT_index), DT_index);
    ck_assert_int_eq(ir_dtype_promote(DT_token, DT_float32), DT_COUNT);
    ck_assert_int_eq(ir_dtype_promote((IrDtype)99, DT_float32), DT_COUNT);
}
END_TEST

START_TEST(knows_loops)
{
    IrDtype in[3], out;

    ck_assert(ir_op_loop(OP_less, (IrDtype[]){DT_int8, DT_uint64}, 2, in, &out));
    ck_assert(in[0] == DT_int64 && in[1] == DT_uint64 && out == DT_boolean);
    ck_assert(ir_op_loop(OP_add, (IrDtype[]){DT_pyint, DT_float32}, 2, in, &out));
    ck_assert(in[0] == DT_float32 && out == DT_float32);
    ck_assert(ir_op_loop(OP_divide, (IrDtype[]){DT_pyint, DT_pyint}, 2, in, &out));
    ck_assert(in[0] == DT_float64 && out == DT_pyfloat);
    ck_assert(
        !ir_op_loop(OP_subtract, (IrDtype[]){DT_boolean, DT_boolean}, 2, in, &out));
    ck_assert(!ir_op_loop(OP_sum, (IrDtype[]){DT_float32}, 1, in, &out));
    ck_assert(!ir_op_loop(OP_add, (IrDtype[]){DT_float32}, 1, in, &out));
}
END_TEST

START_TEST(finds_names)
{
    IrOp op;
    IrDtype dtype;

    ck_assert(ir_op_find("add", 3, &op) && op == OP_add);
    ck_assert(!ir_op_find("addx", 4, &op) && !ir_op_find("", 0, &op));
    ck_assert(ir_op_find_numpy("where", &op) && op == OP_select);
    ck_assert(ir_dtype_find("f64", 3, &dtype) && dtype == DT_float64);
    ck_assert_int_eq(ir_dtype_from_numpy_char('q'), DT_int64);
    ck_assert_int_eq(ir_dtype_from_numpy_char(0), DT_COUNT);
    ck_assert_str_eq(ir_op_name((IrOp)-1), "poison");
}
END_TEST

/* -- Builder ---------------------------------------------------------------------- */

START_TEST(merges_equal_nodes)
{
    IrValue a = ir_binary(g, OP_add, x, y);

    ck_assert_uint_eq(a, ir_binary(g, OP_add, y, x));
    ck_assert_uint_ne(ir_binary(g, OP_subtract, x, y), ir_binary(g, OP_subtract, y, x));
    ck_assert_uint_eq(ir_const_float(g, DT_float32, 0.1),
                      ir_const_float(g, DT_float32, (double)0.1f));
    ck_assert_uint_ne(ir_const_float(g, DT_float64, 0.0),
                      ir_const_float(g, DT_float64, -0.0));
    ck_assert_uint_eq(ir_const_float(g, DT_float64, NAN),
                      ir_const_float(g, DT_float64, NAN));
    ck_assert_uint_eq(ir_const_int(g, DT_int8, 300), ir_const_int(g, DT_int8, 44));
    ck_assert_uint_eq(ir_cast(g, x, DT_float64), x);
    ck_assert_uint_ne(ir_unary(g, OP_copy, x), ir_unary(g, OP_copy, x));
    ck_assert_ptr_null(ir_error(g));
}
END_TEST

START_TEST(merges_many)
{
    IrValue first[300];

    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < 300; i++) {
            IrValue c = ir_const_int(g, DT_int64, i);
            IrValue v = ir_binary(g, OP_multiply, x, c);
            if (turn)
                ck_assert_uint_eq(v, first[i]);
            first[i] = v;
        }
}
END_TEST

START_TEST(errors_stick)
{
    IrDim three = ir_dim(3);
    IrValue z =
        ir_param_add(g, (IrType){.dtype = DT_float32, .ndim = 1, .dims = &three}, "z");
    IrValue bad = ir_binary(g, OP_add, x, z);

    ck_assert_uint_eq(bad, 0);
    ck_assert_str_eq(ir_error(g),
                     "add: the shapes do not broadcast: f64[n] and f32[3]");
    ck_assert_uint_eq(ir_unary(g, OP_exp, bad), 0);
    ck_assert_uint_eq(ir_unary(g, OP_exp, x), 0);
    ck_assert_str_eq(ir_error(g),
                     "add: the shapes do not broadcast: f64[n] and f32[3]");
    ck_assert(!ir_verify(g));
    ck_assert_ptr_null(ir_schedule(g, 1));
}
END_TEST

/* Calls that make no sense: none may crash. */
START_TEST(bad_calls)
{
    const IrType wide = {.dtype = DT_float64, .ndim = 65};
    const IrAttr nameless = {.key = NULL}, textless = {.key = "a", .kind = ATTR_text};
    IrGraph *bad;

    for (int i = 0; i < 12; i++) {
        bad = ir_graph_new(NULL);
        switch (i) {
        case 0:
            ir_binary(bad, OP_add, 7, 9);
            break;
        case 1:
            ir_param_add(bad, wide, "a");
            break;
        case 2:
            ir_node(bad, (IrOp)12345, NULL, 0, NULL, 0);
            break;
        case 3:
            ir_node(bad, OP_empty, NULL, 0, NULL, 0);
            break;
        case 4:
            ir_node(bad, OP_call, NULL, 0, &nameless, 1);
            break;
        case 5:
            ir_node(bad, OP_call, NULL, 0, &textless, 1);
            break;
        case 6:
            ir_region_yield(bad, 1, NULL, 0);
            break;
        case 7:
            ir_region_param(bad, 5, (IrType){.dtype = DT_index}, NULL);
            break;
        case 8:
            ir_control(bad, OP_for, NULL, 0, NULL, 0, NULL, 0);
            break;
        case 9:
            ir_node(bad, OP_if, NULL, 0, NULL, 0);
            break;
        case 10:
            ir_return(bad, (IrValue[]){3}, 1);
            break;
        default:
            ir_param_add(bad, (IrType){.dtype = (IrDtype)77}, "a");
        }
        ck_assert_msg(ir_error(bad) != NULL, "call %d is let through", i);
        ck_assert_uint_eq(ir_result(bad, 99, 0), 0);
        ck_assert_uint_eq(ir_type(bad, 99).ndim, 0);
        ck_assert_ptr_null(ir_node_attr(bad, 99, "a"));
        ir_region_drop(bad, 44);
        ir_graph_free(bad);
    }
    ir_graph_free(NULL);
}
END_TEST

START_TEST(moves_have_shapes)
{
    IrDim dims[2] = {ir_dim(4), ir_dim(6)};
    IrValue m =
        ir_param_add(g, (IrType){.dtype = DT_int8, .ndim = 2, .dims = dims}, "m");
    const int64_t offset = 3, strides[] = {12, -2}, shape[] = {2, 2};
    IrAttr attrs[] = {{.key = "strides", .count = 2, .ints = strides},
                      {.key = "offset", .count = 1, .ints = &offset},
                      {.key = "shape", .count = 2, .ints = shape}};
    IrValue v = ir_node(g, OP_view, &m, 1, attrs, 3);
    IrValue u = ir_node(g, OP_update, (IrValue[]){m, v}, 2, attrs, 3);

    ck_assert_ptr_null(ir_error(g));
    ck_assert_uint_eq(ir_type(g, v).ndim, 2);
    ck_assert_int_eq(ir_type(g, v).dims[1].value, 2);
    ck_assert_int_eq(ir_type(g, u).dims[1].value, 6);
    ck_assert_int_eq(ir_node_int(g, ir_def(g, v), "offset", -1), 3);
    ck_assert_str_eq(ir_node_attr_at(g, ir_def(g, v), 0)->key, "offset");
}
END_TEST

START_TEST(symbols)
{
    ck_assert_int_eq(ir_symbol_add(g, "n"), 0);
    ck_assert_int_ne(ir_symbol_add(g, NULL), ir_symbol_add(g, NULL));
    ck_assert_str_eq(ir_symbol_name(g, 0), "n");
    ck_assert_ptr_null(ir_symbol_name(g, 77));
}
END_TEST

/* -- Regions ---------------------------------------------------------------------- */

START_TEST(drops_trials)
{
    IrRegion trial = ir_region_open(g), inner, again;
    IrValue a = ir_unary(g, OP_exp, x), b, r;

    inner = ir_region_open(g);
    ir_region_param(g, inner, ir_type(g, x), "p");
    ir_region_drop(g, trial); /* and what is open inside */
    again = ir_region_open(g);
    b = ir_unary(g, OP_exp, x);
    ck_assert_uint_ne(a, b);
    ir_region_yield(g, again, &b, 1);
    ir_region_drop(g, again);
    r = ir_unary(g, OP_exp, x);
    ck_assert_uint_ne(r, b);
    ir_return(g, &r, 1);
    ck_assert(ir_verify(g));
    ck_assert_uint_eq(ir_unary(g, OP_sin, a), 0);
    ck_assert_str_eq(ir_error(g), "sin: an operand is not in scope here");
}
END_TEST

START_TEST(depth_is_bounded)
{
    for (int i = 0; i < 1000; i++)
        ir_region_open(g);
    ck_assert_ptr_nonnull(ir_error(g));
}
END_TEST

START_TEST(copies)
{
    IrRegion body = ir_region_open(g);
    IrValue p, q, operands[2];
    IrGraph *copy;
    char *text, *copied;

    ir_region_param(g, body, (IrType){.dtype = DT_index}, "k");
    p = ir_region_param(g, body, ir_type(g, x), "p");
    q = ir_binary(g, OP_multiply, p, ir_const_float(g, DT_pyfloat, 0.5));
    ir_region_yield(g, body, &q, 1);
    operands[0] = ir_const_int(g, DT_index, 3);
    operands[1] = x;
    q = ir_result(g, ir_control(g, OP_for, operands, 2, &body, 1, NULL, 0), 0);
    ir_return(g, &q, 1);
    copy = ir_graph_copy(g);
    text = ir_print(g);
    copied = ir_print(copy);
    ck_assert_str_eq(text, copied);
    ck_assert_uint_eq(ir_nvalues(g), ir_nvalues(copy));
    ck_assert(ir_verify(copy) && ir_pipeline_run(copy, 9, NULL, NULL));
    free(text);
    free(copied);
    ir_graph_free(copy);
}
END_TEST

/* -- Schedules -------------------------------------------------------------------- */

/* Every value an item takes is a parameter or made by an item before it. */
static void
check_order(const IrSchedule *schedule)
{
    bool *made = calloc(ir_nvalues(g), sizeof *made);

    for (uint32_t i = 0; i < schedule->nitems; i++) {
        const IrItem *item = &schedule->items[i];
        for (uint32_t k = 0; k < item->ninputs; k++)
            ck_assert(made[item->inputs[k]] || !ir_def(g, item->inputs[k]));
        for (uint32_t k = 0; k < item->noutputs; k++)
            made[item->outputs[k]] = true;
    }
    for (uint32_t i = 0; i < ir_nreturns(g); i++)
        ck_assert(made[ir_return_at(g, i)] || !ir_def(g, ir_return_at(g, i)));
    free(made);
}

/* Programs from a small generator: elementwise chains, sums between them, updates. */
START_TEST(random_schedules)
{
    IrValue pool[64] = {0};
    uint32_t seed = (uint32_t)_i * 2654435761u + 1, n = 2;
    const IrSchedule *schedule;

    pool[0] = x;
    pool[1] = y;
    for (int i = 0; i < 60; i++) {
        IrValue a = pool[seed % n], b = pool[(seed >> 8) % n], made;
        const int64_t zero = 0, eight = 8;
        IrAttr window[] = {{.key = "offset", .count = 1, .ints = &zero},
                           {.key = "strides", .count = 1, .ints = &eight}};
        seed = seed * 1664525u + 1013904223u;
        if (seed % 7 == 0)
            made = ir_node(g, OP_sum, &a, 1, NULL, 0);
        else if (seed % 11 == 0 && ir_type(g, a).ndim && ir_type(g, b).ndim)
            made = ir_node(g, OP_update, (IrValue[]){a, b}, 2, window, 2);
        else
            made = ir_binary(g, seed % 2 ? OP_add : OP_subtract, a, b);
        pool[n++] = made;
    }
    ir_return(g, pool + n - 3, 3);
    ck_assert_ptr_null(ir_error(g));
    ck_assert(ir_verify(g));
    schedule = ir_schedule(g, 1);
    ck_assert_ptr_nonnull(schedule);
    check_order(schedule);
    for (uint32_t i = 0; i < schedule->nitems; i++)
        if (schedule->items[i].group) {
            IrGraph *kernel = ir_group_extract(g, &schedule->items[i]);
            ck_assert_ptr_nonnull(kernel);
            ck_assert(ir_verify(kernel));
            ck_assert_uint_eq(ir_nparams(kernel), schedule->items[i].ninputs);
            ck_assert_uint_eq(ir_nreturns(kernel), schedule->items[i].noutputs);
            ir_graph_free(kernel);
        }
}
END_TEST

/* In a loop's body: the carried array is updated in place, one from outside is not. */
START_TEST(updates_in_regions)
{
    const int64_t zero = 0, eight = 8;
    IrAttr window[] = {{.key = "offset", .count = 1, .ints = &zero},
                       {.key = "strides", .count = 1, .ints = &eight}};
    IrRegion body = ir_region_open(g);
    const IrSchedule *schedule;
    IrValue p, yielded[2], operands[3];

    ir_region_param(g, body, (IrType){.dtype = DT_index}, "k");
    p = ir_region_param(g, body, ir_type(g, x), "p");
    ir_region_param(g, body, ir_type(g, x), "q");
    yielded[0] = ir_node(g, OP_update, (IrValue[]){p, y}, 2, window, 2);
    yielded[1] = ir_node(g, OP_update, (IrValue[]){x, p}, 2, window, 2);
    ir_region_yield(g, body, yielded, 2);
    operands[0] = ir_const_int(g, DT_index, 3);
    operands[1] = operands[2] = y;
    p = ir_result(g, ir_control(g, OP_for, operands, 3, &body, 1, NULL, 0), 1);
    ir_return(g, &p, 1);
    ck_assert(ir_verify(g));
    schedule = ir_schedule(g, body);
    ck_assert_uint_eq(schedule->nitems, 2);
    ck_assert(!schedule->items[0].in_place); /* p is read by the second one */
    ck_assert(!schedule->items[1].in_place);
}
END_TEST

START_TEST(large_groups_are_cut)
{
    const IrSchedule *schedule;
    IrValue v = x;

    for (int i = 0; i < 1000; i++)
        v = ir_binary(g, i % 2 ? OP_add : OP_multiply, v, y);
    ir_return(g, &v, 1);
    schedule = ir_schedule(g, 1);
    ck_assert_uint_gt(schedule->nitems, 3);
    ck_assert_uint_lt(schedule->nitems, 20);
    check_order(schedule);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("ir");
    TCase *tests = tcase_create("ir");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, promotes);
    tcase_add_test(tests, knows_loops);
    tcase_add_test(tests, finds_names);
    tcase_add_test(tests, merges_equal_nodes);
    tcase_add_test(tests, merges_many);
    tcase_add_test(tests, errors_stick);
    tcase_add_test(tests, bad_calls);
    tcase_add_test(tests, moves_have_shapes);
    tcase_add_test(tests, symbols);
    tcase_add_test(tests, drops_trials);
    tcase_add_test(tests, depth_is_bounded);
    tcase_add_test(tests, copies);
    tcase_add_loop_test(tests, random_schedules, 0, 50);
    tcase_add_test(tests, updates_in_regions);
    tcase_add_test(tests, large_groups_are_cut);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
