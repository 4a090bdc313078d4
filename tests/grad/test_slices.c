/* SPDX-License-Identifier: Apache-2.0
 * test_slices.c: sparse gradients (IndexedSlices). */
#include "api/helpers.h"

#include "situ/gradient.h"

enum { ROWS = 4, WIDTH = 2 };

static situ_value matrix(situ_graph *graph) {
  float data[ROWS * WIDTH];
  for (int i = 0; i < ROWS * WIDTH; i++) data[i] = (float)i;
  return situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(ROWS, WIDTH), data);
}

static situ_value rows(situ_graph *graph, situ_value x, const int32_t *numbers, int64_t n) {
  const situ_value ids = situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(n), numbers);
  const situ_value axis = situ_constant(graph, NULL, SITU_INT32, SITU_SCALAR, &(int32_t){0});
  const situ_value in[] = {x, ids, axis};
  return situ_emit(graph, "GatherV2", NULL, in, 3, NULL, 0);
}

static void expect_result(situ_graph *graph, situ_value value, const float *want, int n) {
  situ_session *session = NULL;
  situ_tensor *result = NULL;
  OK(situ_session_create(graph, NULL, &session));
  OK(situ_session_eval(session, value, &result));
  expect_floats(result, want, n);
  situ_tensor_release(result);
  situ_session_release(session);
}

/* Gradients are dense by default; with options.slices they are values and indices. */
static void rows_stay_rows(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const situ_value x = matrix(graph), same = emit1(graph, "Identity", x);
  const situ_value taken = rows(graph, same, (int32_t[]){3, 1, 3}, 3);
  const situ_value y = emit2(graph, "Mul", taken, taken);
  situ_indexed_slices slices = {0};
  situ_value dx;
  const situ_gradient_options options = {.slices = &slices};
  OK(situ_gradients(graph, &y, 1, &x, 1, NULL, NULL, &dx));
  expect_result(graph, dx, (float[]){0, 0, 4, 6, 0, 0, 24, 28}, ROWS * WIDTH);
  OK(situ_gradients(graph, &y, 1, &x, 1, NULL, &options, &dx));
  assert_false(situ_value_valid(dx));
  expect_result(graph, slices.values, (float[]){12, 14, 4, 6, 12, 14}, 6);
  assert_int_equal(situ_value_type(slices.indices), SITU_INT32);
  assert_string_equal(situ_value_op(slices.dense_shape), "Const");
  situ_graph_release(graph);
}

/* Sums of slices are concatenated; the sum of slices and a dense tensor is dense. */
static void rows_are_joined(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const situ_value x = matrix(graph), first = rows(graph, x, (int32_t[]){2}, 1);
  const situ_value y[] = {first, rows(graph, x, (int32_t[]){0, 2}, 2), emit1(graph, "Neg", x)};
  situ_indexed_slices slices = {0};
  situ_value dx;
  const situ_gradient_options options = {.slices = &slices};
  OK(situ_gradients(graph, y, 2, &x, 1, NULL, &options, &dx));
  assert_string_equal(situ_value_op(slices.values), "ConcatV2");
  expect_result(graph, slices.values, (float[]){1, 1, 1, 1, 1, 1}, 6);
  OK(situ_gradients(graph, y, 3, &x, 1, NULL, &options, &dx));
  assert_false(situ_value_valid(slices.values));
  expect_result(graph, dx, (float[]){0, 0, -1, -1, 1, 1, -1, -1}, ROWS * WIDTH);
  situ_graph_release(graph);
}

/* An op between x and y receives the dense tensor. */
static void ops_read_all(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const situ_value x = matrix(graph);
  const situ_value y = rows(graph, emit1(graph, "Exp", x), (int32_t[]){0}, 1);
  situ_indexed_slices slices = {0};
  situ_value dx;
  const situ_gradient_options options = {.slices = &slices};
  OK(situ_gradients(graph, &y, 1, &x, 1, NULL, &options, &dx));
  assert_true(situ_value_valid(dx));
  expect_result(graph, dx, (float[]){1, 2.7182818F, 0, 0, 0, 0, 0, 0}, ROWS * WIDTH);
  situ_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_stay_rows),
      cmocka_unit_test(rows_are_joined),
      cmocka_unit_test(ops_read_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
