/* SPDX-License-Identifier: Apache-2.0
 * test_elementwise.c: element-wise ops beyond the samples: large tensors, several threads, faults,
 * limits of types. */
#include "api/helpers.h"

#include <math.h>

/* Runs a graph of constants and gives the value of one node. */
static situ_tensor *run(situ_graph *graph, situ_value value) {
  situ_session *session = NULL;
  situ_tensor *result = NULL;
  OK(situ_session_create(graph, NULL, &session));
  OK(situ_session_eval(session, value, &result));
  situ_session_release(session);
  return result;
}

/* An op of two constants with these elements, as bytes of the result in `out`. */
static void compute(const char *op, situ_type type, const void *x, const void *y, int n,
                    void *out) {
  situ_graph *graph = situ_graph_create();
  const situ_shape shape = SITU_SHAPE(n);
  const situ_value a = situ_constant(graph, NULL, type, shape, x);
  const situ_value z =
      y ? emit2(graph, op, a, situ_constant(graph, NULL, type, shape, y)) : emit1(graph, op, a);
  situ_tensor *result = run(graph, z);
  memcpy(out, situ_tensor_data(result), situ_tensor_bytes(result));
  situ_tensor_release(result);
  situ_graph_release(graph);
}

static void large_work_is_shared_rightly(void **state) {
  (void)state;
  enum { ROWS = 301, COLUMNS = 1009 };
  static float x[ROWS * COLUMNS], row[COLUMNS], column[ROWS];
  for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)(i % 97) - 48;
  for (int i = 0; i < COLUMNS; i++) row[i] = (float)i;
  for (int i = 0; i < ROWS; i++) column[i] = (float)(i % 7);
  situ_graph *graph = situ_graph_create();
  const situ_value a = situ_placeholder(graph, NULL, SITU_FLOAT, SITU_SHAPE(ROWS, COLUMNS));
  const situ_value b = situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(COLUMNS), row);
  const situ_value c = situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(ROWS, 1), column);
  /* Each step may take the memory of the one before. */
  const situ_value sum = emit2(graph, "Add", a, b), left = emit2(graph, "Sub", c, sum);
  const situ_value twice = emit2(graph, "Mul", left, scalar(graph, 2));
  const situ_value last = emit1(graph, "Neg", emit2(graph, "Maximum", scalar(graph, -900), twice));
  situ_tensor *fed = floats(SITU_SHAPE(ROWS, COLUMNS), x), *result = NULL;
  situ_session *session = NULL;
  OK(situ_session_create(graph, NULL, &session));
  for (int again = 0; again < 3; again++) {
    OK(situ_session_run(session, &(situ_feed){a, fed}, 1, &last, 1, &result));
    const float *have = situ_tensor_data(result);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
      const float v = (column[i / COLUMNS] - (x[i] + row[i % COLUMNS])) * 2;
      assert_true(have[i] == -(v > -900 ? v : -900));
    }
    situ_tensor_release(result);
  }
  situ_tensor_release(fed);
  situ_session_release(session);
  situ_graph_release(graph);
}

/* Runs x op y of one type and expects the failure, with the node's name. */
static void fails(const char *op, situ_type type, const void *x, const void *y, const char *text) {
  situ_graph *graph = situ_graph_create();
  situ_session *session = NULL;
  situ_tensor *result = NULL;
  const situ_value in[] = {situ_constant(graph, NULL, type, SITU_SHAPE(3), x),
                           situ_constant(graph, NULL, type, SITU_SHAPE(3), y)};
  const situ_value z = situ_emit(graph, op, "guilty", in, 2, NULL, 0);
  OK(situ_session_create(graph, NULL, &session));
  const situ_status s = situ_session_eval(session, z, &result);
  assert_int_equal(situ_status_code(s), SITU_INVALID_ARGUMENT);
  assert_non_null(strstr(situ_status_message(s), text));
  assert_string_equal(situ_status_node(s), "guilty");
  situ_status_release(s);
  assert_null(result);
  situ_session_release(session);
  situ_graph_release(graph);
}

static void integers_cannot_be_divided_by_zero(void **state) {
  (void)state;
  static const char *const ops[] = {"Div", "FloorDiv", "TruncateDiv",
                                    "Mod", "FloorMod", "TruncateMod"};
  const int32_t x[] = {1, 2, 3}, y[] = {1, 0, 2};
  const uint8_t small[] = {1, 2, 3}, zero[] = {1, 2, 0};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    fails(ops[i], SITU_INT32, x, y, "Integer division by zero");
    fails(ops[i], SITU_UINT8, small, zero, "Integer division by zero");
  }
  fails("Pow", SITU_INT32, x, (int32_t[]){1, -1, 2},
        "Integers to negative integer powers are not allowed");
  float out[3];
  compute("Div", SITU_FLOAT, (float[]){1, 0, -1}, (float[]){0, 0, 0}, 3, out);
  assert_true(out[0] == INFINITY && isnan(out[1]) && out[2] == -INFINITY);
}

static void integers_wrap(void **state) {
  (void)state;
  int32_t out[3];
  const int32_t x[] = {INT32_MAX, INT32_MIN, INT32_MIN}, y[] = {1, -1, -1};
  compute("Add", SITU_INT32, x, y, 3, out);
  assert_true(out[0] == INT32_MIN && out[1] == INT32_MAX);
  compute("Div", SITU_INT32, x, y, 3, out);
  assert_true(out[0] == INT32_MAX && out[1] == INT32_MIN);
  compute("FloorDiv", SITU_INT32, x, y, 3, out);
  assert_true(out[1] == INT32_MIN);
  compute("FloorMod", SITU_INT32, x, y, 3, out);
  assert_true(out[0] == 0 && out[1] == 0);
  compute("Neg", SITU_INT32, x, NULL, 3, out);
  assert_true(out[1] == INT32_MIN);
  compute("Abs", SITU_INT32, x, NULL, 3, out);
  assert_true(out[0] == INT32_MAX && out[2] == INT32_MIN);
  int8_t small[3];
  compute("Mul", SITU_INT8, (int8_t[]){100, -128, 3}, (int8_t[]){2, -1, -4}, 3, small);
  assert_true(small[0] == -56 && small[1] == -128 && small[2] == -12);
}

static void nan_goes_through(void **state) {
  (void)state;
  const float x[] = {NAN, 1, -0.0f}, y[] = {1, NAN, 0};
  float out[3];
  static const char *const ops[] = {"Maximum", "Minimum", "Add"};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    compute(ops[i], SITU_FLOAT, x, y, 3, out);
    assert_true(isnan(out[0]) && isnan(out[1]));
  }
  static const char *const ones[] = {"Relu", "Relu6",   "Sign",  "Exp",      "Log",
                                     "Tanh", "Sigmoid", "Round", "Softplus", "Elu"};
  for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) {
    compute(ones[i], SITU_FLOAT, x, NULL, 3, out);
    assert_true(isnan(out[0]));
  }
  compute("Abs", SITU_FLOAT, x, NULL, 3, out);
  assert_true(isnan(out[0]) && out[2] == 0 && !signbit(out[2]));
}

static void halves_go_to_the_even_one(void **state) {
  (void)state;
  float out[5];
  compute("Round", SITU_FLOAT, (float[]){0.5f, 1.5f, 2.5f, -0.5f, -2.5f}, NULL, 5, out);
  assert_memory_equal(out, ((float[]){0, 2, 2, -0.0f, -2}), sizeof out);
}

static void signs_of_remainders(void **state) {
  (void)state;
  const int32_t x[] = {7, -7, 7, -7}, y[] = {3, 3, -3, -3};
  int32_t out[4];
  compute("FloorMod", SITU_INT32, x, y, 4, out);
  assert_memory_equal(out, ((int32_t[]){1, 2, -2, -1}), sizeof out);
  compute("TruncateMod", SITU_INT32, x, y, 4, out);
  assert_memory_equal(out, ((int32_t[]){1, -1, 1, -1}), sizeof out);
  compute("FloorDiv", SITU_INT32, x, y, 4, out);
  assert_memory_equal(out, ((int32_t[]){2, -3, -3, 2}), sizeof out);
  compute("Div", SITU_INT32, x, y, 4, out);
  assert_memory_equal(out, ((int32_t[]){2, -2, -2, 2}), sizeof out);
}

static void shapes_must_meet(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, NULL, SITU_FLOAT, SITU_SHAPE(2, 3));
  const situ_value y = situ_placeholder(graph, NULL, SITU_FLOAT, SITU_SHAPE(4));
  emit2(graph, "Add", x, y);
  FAILS(situ_graph_status(graph), SITU_INVALID_ARGUMENT,
        "Dimensions must be equal, but are 3 and 4");
  situ_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(large_work_is_shared_rightly),
      cmocka_unit_test(integers_cannot_be_divided_by_zero),
      cmocka_unit_test(integers_wrap),
      cmocka_unit_test(nan_goes_through),
      cmocka_unit_test(halves_go_to_the_even_one),
      cmocka_unit_test(signs_of_remainders),
      cmocka_unit_test(shapes_must_meet),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
