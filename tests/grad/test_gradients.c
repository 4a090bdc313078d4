/* SPDX-License-Identifier: Apache-2.0
 * test_gradients.c: gradients of graphs: paths, unconnected values, names, devices, errors. */
#include "api/helpers.h"

#include "situ/gradient.h"

static float value_of(situ_graph *graph, situ_value value) {
  situ_session *session = NULL;
  situ_tensor *result = NULL;
  OK(situ_session_create(graph, NULL, &session));
  OK(situ_session_eval(session, value, &result));
  const float number = *(const float *)situ_tensor_data(result);
  situ_tensor_release(result);
  situ_session_release(session);
  return number;
}

static void paths_are_added(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const situ_value x = scalar(graph, 3), square = emit2(graph, "Mul", x, x);
  const situ_value y = emit2(graph, "Add", square, x);
  situ_value dx, second;
  OK(situ_gradients(graph, &y, 1, &x, 1, NULL, NULL, &dx));
  assert_string_equal(situ_value_op(dx), "AddN");
  assert_float_equal(value_of(graph, dx), 7, 1e-6);
  OK(situ_gradients(graph, &dx, 1, &x, 1, NULL, NULL, &second));
  assert_float_equal(value_of(graph, second), 2, 1e-6);
  situ_graph_release(graph);
}

static void names_are_scoped(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const situ_value a = scalar(graph, 1), y = emit2(graph, "Mul", a, a);
  situ_value dx;
  OK(situ_gradients(graph, &y, 1, &a, 1, NULL, NULL, &dx));
  assert_string_equal(situ_value_name(dx), "gradients/AddN");
  assert_true(situ_value_valid(situ_graph_find(graph, "gradients/Mul_grad/Mul_1")));
  OK(situ_gradients(graph, &y, 1, &a, 1, NULL, &(situ_gradient_options){.scope = "back"}, &dx));
  assert_string_equal(situ_value_name(dx), "back/AddN");
  situ_graph_release(graph);
}

static void ends_are_as_asked(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const situ_value x = scalar(graph, 2), other = scalar(graph, 5);
  const situ_value y = emit1(graph, "Exp", x), w = scalar(graph, 10);
  situ_value out[2];
  OK(situ_gradients(graph, &y, 1, (situ_value[]){x, other}, 2, &w, NULL, out));
  assert_float_equal(value_of(graph, out[0]), 73.89056, 1e-3);
  assert_false(situ_value_valid(out[1]));
  const situ_gradient_options zeros = {.zero_unconnected = true};
  OK(situ_gradients(graph, &y, 1, &other, 1, NULL, &zeros, out));
  assert_float_equal(value_of(graph, out[0]), 0, 0);
  const situ_gradient_options stop = {.stop = &y, .n_stop = 1};
  const situ_value z = emit1(graph, "Neg", y);
  OK(situ_gradients(graph, &z, 1, (situ_value[]){x, y}, 2, NULL, &stop, out));
  assert_false(situ_value_valid(out[0]));
  assert_float_equal(value_of(graph, out[1]), -1, 0);
  situ_graph_release(graph);
}

static void devices_are_as_asked(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const situ_value x = scalar(graph, 2);
  situ_device_push(graph, "/gpu:1");
  const situ_value y = emit1(graph, "Tanh", x);
  situ_device_pop(graph);
  situ_value beside, scoped;
  situ_device_push(graph, "/gpu:0");
  OK(situ_gradients(graph, &y, 1, &x, 1, NULL, NULL, &beside));
  const situ_gradient_options by_scope = {.no_colocation = true};
  OK(situ_gradients(graph, &y, 1, &x, 1, NULL, &by_scope, &scoped));
  situ_device_pop(graph);
  assert_string_equal(situ_value_device(beside), "/device:GPU:1");
  assert_string_equal(situ_value_device(scoped), "/device:GPU:0");
  situ_graph_release(graph);
}

static situ_status ten_times(void *context, situ_value node, const situ_value *dys, int n_dys,
                             situ_value *dxs, int n_dxs) {
  (void)context, (void)node;
  assert_int_equal(n_dys, 1);
  assert_int_equal(n_dxs, 1);
  dxs[0] = emit2(dys[0].graph, "Mul", dys[0], scalar(dys[0].graph, 10));
  return NULL;
}

static void nodes_may_have_other_gradients(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const situ_value x = scalar(graph, 2), y = emit1(graph, "Floor", x);
  situ_gradient_override mine = {.node = y, .function = ten_times};
  const situ_gradient_options options = {.overrides = &mine, .n_overrides = 1};
  situ_value out[2];
  OK(situ_gradients(graph, &y, 1, &x, 1, NULL, NULL, out));
  assert_false(situ_value_valid(out[0]));
  OK(situ_gradients(graph, &y, 1, &x, 1, NULL, &options, out));
  assert_float_equal(value_of(graph, out[0]), 10, 0);
  const situ_value far = scalar(graph, 1), z = emit1(graph, "Neg", x); /* not an input of z */
  mine = (situ_gradient_override){z, &far, 1, ten_times, NULL};
  OK(situ_gradients(graph, &z, 1, (situ_value[]){x, far}, 2, NULL, &options, out));
  assert_false(situ_value_valid(out[0]));
  assert_float_equal(value_of(graph, out[1]), 10, 0);
  situ_graph_release(graph);
}

/* Returns a gradient of shape [3] for a scalar. */
static situ_status wrong_shape(void *context, situ_value node, const situ_value *dys, int n_dys,
                               situ_value *dxs, int n_dxs) {
  (void)context, (void)dys, (void)n_dys, (void)n_dxs;
  const float numbers[] = {1, 2, 3};
  dxs[0] = situ_constant(node.graph, NULL, SITU_FLOAT, SITU_SHAPE(3), numbers);
  return NULL;
}

static void errors_are_statuses(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create(), *other = situ_graph_create();
  const situ_value x = scalar(graph, 2), y = emit1(graph, "Neg", x), far = scalar(other, 1);
  const double one = 1;
  const situ_value wide = situ_constant(graph, NULL, SITU_DOUBLE, SITU_SCALAR, &one);
  situ_value dx;
  FAILS(situ_gradients(graph, &y, 1, &far, 1, NULL, NULL, &dx), SITU_INVALID_ARGUMENT,
        "another graph");
  FAILS(situ_gradients(graph, NULL, 1, &x, 1, NULL, NULL, &dx), SITU_INVALID_ARGUMENT, "NULL");
  FAILS(situ_gradients(graph, &y, 1, &x, 1, &wide, NULL, &dx), SITU_INVALID_ARGUMENT, "double");
  situ_gradient_override mine = {.node = y};
  situ_gradient_options options = {.n_overrides = 1};
  FAILS(situ_gradients(graph, &y, 1, &x, 1, NULL, &options, &dx), SITU_INVALID_ARGUMENT, "NULL");
  options.overrides = &mine;
  FAILS(situ_gradients(graph, &y, 1, &x, 1, NULL, &options, &dx), SITU_INVALID_ARGUMENT,
        "has no function");
  mine.function = wrong_shape;
  FAILS(situ_gradients(graph, &y, 1, &x, 1, NULL, &options, &dx), SITU_INVALID_ARGUMENT,
        "Original input shape: []. Calculated input gradient shape: [3]");
  OK(situ_gradients(graph, &y, 1, &x, 1, NULL, NULL, &dx));
  situ_graph_release(other);
  situ_graph_release(graph);
}

/* The gradient of a long chain has one node per node of the chain. */
static void walks_are_linear(void **state) {
  (void)state;
  enum { LENGTH = 20000 };
  situ_graph *graph = situ_graph_create();
  const situ_value x = scalar(graph, 2);
  situ_value y = x, dx;
  for (int i = 0; i < LENGTH; i++) y = emit1(graph, "Neg", y);
  OK(situ_gradients(graph, &y, 1, &x, 1, NULL, NULL, &dx));
  assert_in_range(situ_graph_count(graph), 2 * LENGTH, 2 * LENGTH + 8);
  assert_float_equal(value_of(graph, dx), 1, 0);
  situ_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paths_are_added),
      cmocka_unit_test(names_are_scoped),
      cmocka_unit_test(ends_are_as_asked),
      cmocka_unit_test(devices_are_as_asked),
      cmocka_unit_test(nodes_may_have_other_gradients),
      cmocka_unit_test(errors_are_statuses),
      cmocka_unit_test(walks_are_linear),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
