/* SPDX-License-Identifier: Apache-2.0
 * test_describe.c: formats nodes on one line, as TensorFlow does. */
#include "base/strbuf.h"
#include "graph/builder.h"

static void expect_line(situ_value value, const char *expected) {
  struct strbuf text = {0};
  expect_no_error(value.graph);
  graph_describe(value.graph, node_of(value), &text);
  assert_string_equal(strbuf_get(&text), expected);
  strbuf_free(&text);
}

static void the_guides_constant(void **state) {
  situ_graph *graph = *state;
  const float data[] = {1, 2, 3, 4, 5, 6};
  situ_device_push(graph, "/gpu:2");
  expect_line(situ_constant(graph, "b", SITU_FLOAT, SITU_SHAPE(3, 2), data),
              "b = Const[dtype=DT_FLOAT, value=Tensor<type: float shape: [3,2] values: 1 2 3...>, "
              "_device=\"/gpu:2\"]()");
  situ_device_push(graph, "/job:a");
  expect_line(situ_constant(graph, "c", SITU_FLOAT, SITU_SCALAR, data),
              "c = Const[dtype=DT_FLOAT, value=Tensor<type: float shape: [] values: 1>, "
              "_device=\"/job:a/device:GPU:2\"]()");
}

static void values_of_each_kind(void **state) {
  situ_graph *graph = *state;
  const double reals[] = {0.1, -1e-300};
  const uint8_t truths[] = {1, 0, 1};
  const char *texts[] = {"a\"b\n", "\xff"};
  const uint16_t half = 0x3800;
  expect_line(situ_constant(graph, "d", SITU_DOUBLE, SITU_SHAPE(2), reals),
              "d = Const[dtype=DT_DOUBLE, value=Tensor<type: double shape: [2] values: 0.1 "
              "-1e-300>]()");
  expect_line(situ_constant(graph, "t", SITU_BOOL, SITU_SHAPE(3), truths),
              "t = Const[dtype=DT_BOOL, value=Tensor<type: bool shape: [3] values: 1 0 1>]()");
  expect_line(situ_constant(graph, "s", SITU_STRING, SITU_SHAPE(2), texts),
              "s = Const[dtype=DT_STRING, value=Tensor<type: string shape: [2] values: a\\\"b\\n "
              "\\377>]()");
  expect_line(situ_constant(graph, "h", SITU_HALF, SITU_SHAPE(1, 1), &half),
              "h = Const[dtype=DT_HALF, value=Tensor<type: half shape: [1,1] values: 0.5>]()");
  expect_line(situ_constant(graph, "e", SITU_INT8, SITU_SHAPE(0, 3), NULL),
              "e = Const[dtype=DT_INT8, value=Tensor<type: int8 shape: [0,3] values: >]()");
}

static void inputs_and_attributes(void **state) {
  situ_graph *graph = *state;
  const situ_value a = zeros(graph, "a", SITU_SHAPE(2, 2)), go = no_op(graph, "go");
  situ_control_push(graph, &go, 1);
  situ_colocate_push(graph, a);
  expect_line(binary(graph, "MatMul", NULL, a, a),
              "MatMul = MatMul[T=DT_FLOAT, _class=[\"loc:@a\"], grad_a=false, grad_b=false, "
              "transpose_a=false, "
              "transpose_b=false](a, a, ^go)");
  situ_colocate_pop(graph);
  situ_control_pop(graph);
  expect_line(situ_placeholder(graph, "p", SITU_INT32, SITU_SHAPE(SITU_ANY, 3)),
              "p = Placeholder[dtype=DT_INT32, shape=[?,3]]()");
  expect_line(situ_placeholder(graph, "q", SITU_INT32, SITU_ANY_SHAPE),
              "q = Placeholder[dtype=DT_INT32, shape=<unknown>]()");
  expect_line(go, "go = NoOp[]()");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      GRAPH_TEST(the_guides_constant),
      GRAPH_TEST(values_of_each_kind),
      GRAPH_TEST(inputs_and_attributes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
