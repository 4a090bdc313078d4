/* SPDX-License-Identifier: Apache-2.0
 * test_emit.c: nodes, their types and shapes, and invalid calls. */
#include "graph/builder.h"

static void a_node_knows_itself(void **state) {
  situ_graph *graph = *state;
  const situ_value a = zeros(graph, "a", SITU_SHAPE(2, 3)), b = zeros(graph, "b", SITU_SHAPE(3, 2));
  const situ_value c = binary(graph, "MatMul", NULL, a, b);
  assert_true(situ_value_valid(c));
  assert_string_equal(situ_value_name(c), "MatMul");
  assert_string_equal(situ_value_op(c), "MatMul");
  assert_int_equal(situ_value_type(c), SITU_FLOAT);
  const situ_shape shape = situ_value_shape(c);
  assert_int_equal(shape.rank, 2);
  assert_int_equal(shape.dim[0], 2);
  assert_int_equal(shape.dim[1], 2);
  assert_string_equal(situ_value_device(c), "");
  assert_int_equal(situ_graph_count(graph), 3);
  assert_int_equal(situ_graph_node(graph, 2).node, c.node);
  const struct node *node = node_of(c);
  assert_int_equal(node->inputs[0].node, a.node);
  assert_int_equal(node->inputs[1].node, b.node);
}

static void equal_outputs_are_shared(void **state) {
  situ_graph *graph = *state;
  const situ_value a = zeros(graph, "a", SITU_SHAPE(2, 2));
  const situ_value b = binary(graph, "Add", NULL, a, a), c = binary(graph, "Add", NULL, b, a);
  assert_ptr_equal(node_of(b)->outputs, node_of(c)->outputs);
  assert_ptr_equal(node_of(b)->attrs, node_of(c)->attrs);
  const situ_value d = zeros(graph, "d", SITU_SHAPE(3, 1, 2));
  const situ_value e = binary(graph, "Add", NULL, d, a);
  assert_int_equal(situ_value_shape(e).rank, 3);
  assert_int_equal(situ_value_shape(c).rank, 2);
  const situ_value i = situ_constant(graph, "i", SITU_INT32, SITU_SHAPE(2, 2), NULL);
  const situ_value f = binary(graph, "Add", NULL, i, i);
  assert_int_equal(situ_value_type(f), SITU_INT32);
  assert_int_equal(situ_value_type(c), SITU_FLOAT);
}

static void constants_share_a_tensor(void **state) {
  situ_graph *graph = *state;
  situ_tensor *tensor = NULL;
  assert_null(situ_tensor_create(SITU_INT64, SITU_SHAPE(1000), NULL, &tensor));
  const situ_value a = situ_constant_tensor(graph, "a", tensor);
  situ_tensor_release(tensor);
  const int value = schema_attr(node_of(a)->schema, "value");
  assert_ptr_equal(node_of(a)->attrs[value].tensor, tensor);
  assert_int_equal(situ_value_type(a), SITU_INT64);
}

static void known_values_give_shapes(void **state) {
  situ_graph *graph = *state;
  const int32_t dims[] = {3, 2};
  const situ_value a = zeros(graph, "a", SITU_SHAPE(6));
  const situ_value to = situ_constant(graph, "to", SITU_INT32, SITU_SHAPE(2), dims);
  const situ_shape shape = situ_value_shape(binary(graph, "Reshape", NULL, a, to));
  assert_int_equal(shape.rank, 2);
  assert_int_equal(shape.dim[0], 3);
  const situ_value fed = situ_placeholder(graph, "fed", SITU_INT32, SITU_SHAPE(2));
  assert_int_equal(situ_value_shape(binary(graph, "Reshape", NULL, a, fed)).dim[0], SITU_ANY);
}

static void placeholders_may_be_open(void **state) {
  situ_graph *graph = *state;
  const situ_value a = situ_placeholder(graph, "a", SITU_FLOAT, SITU_SHAPE(SITU_ANY, 3));
  const situ_value b = situ_placeholder(graph, "b", SITU_FLOAT, SITU_ANY_SHAPE);
  assert_int_equal(situ_value_shape(a).dim[0], SITU_ANY);
  assert_int_equal(situ_value_shape(b).rank, SITU_ANY);
  assert_int_equal(situ_value_shape(binary(graph, "Add", NULL, a, b)).rank, SITU_ANY);
  expect_no_error(graph);
}

static void many_inputs(void **state) {
  situ_graph *graph = *state;
  situ_value values[100];
  for (int i = 0; i < 100; i++) values[i] = zeros(graph, NULL, SITU_SHAPE(2));
  const situ_value sum = situ_emit(graph, "AddN", NULL, values, 100, NULL, 0);
  expect_no_error(graph);
  assert_int_equal(node_of(sum)->n_inputs, 100);
  assert_int_equal(situ_value_shape(sum).dim[0], 2);
}

static void nodes_without_outputs(void **state) {
  situ_graph *graph = *state;
  const situ_value a = no_op(graph, NULL);
  assert_true(situ_value_valid(a));
  assert_int_equal(a.output, -1);
  assert_string_equal(situ_value_name(a), "NoOp");
  assert_int_equal(situ_value_type(a), SITU_NO_TYPE);
  assert_int_equal(situ_graph_find(graph, "NoOp").node, a.node);
  assert_false(situ_value_valid(situ_graph_find(graph, "NoOp:0")));
  assert_false(situ_value_valid(situ_value_output(a, 0)));
  unary(graph, "Identity", NULL, a);
  expect_error(graph, SITU_INVALID_ARGUMENT, "'NoOp' (op: 'NoOp') has no outputs");
}

static void finds_values(void **state) {
  situ_graph *graph = *state;
  const situ_value a = scalar(graph, "a");
  assert_int_equal(situ_graph_find(graph, "a:0").node, a.node);
  const char *wrong[] = {"b", "a:1", "a:", "a:x", "a:-1", "a:99999999999", ":0", "", "^a", "A"};
  for (size_t i = 0; i < COUNT_OF(wrong); i++)
    assert_false(situ_value_valid(situ_graph_find(graph, wrong[i])));
  assert_false(situ_value_valid(situ_graph_find(graph, NULL)));
  assert_false(situ_value_valid(situ_graph_find(NULL, "a")));
  assert_false(situ_value_valid(situ_graph_node(graph, 1)));
  assert_false(situ_value_valid(situ_graph_node(graph, -1)));
  assert_false(situ_value_valid(situ_graph_node(NULL, 0)));
}

/* Bad calls: each on its own graph with the values a [2,3], b [2,3] and the integer i. */
struct setting {
  situ_graph *graph;
  situ_value a, b, i;
};

static struct setting begin(void) {
  struct setting s = {.graph = situ_graph_create()};
  s.a = zeros(s.graph, "a", SITU_SHAPE(2, 3));
  s.b = zeros(s.graph, "b", SITU_SHAPE(2, 3));
  s.i = situ_constant(s.graph, "i", SITU_INT32, SITU_SHAPE(2, 3), NULL);
  return s;
}

static void end(struct setting s, situ_value value, situ_code code, const char *part) {
  assert_false(situ_value_valid(value));
  expect_error(s.graph, code, part);
  const situ_value later = binary(s.graph, "Add", "later", value, s.a);
  assert_false(situ_value_valid(later));
  assert_false(situ_value_valid(situ_graph_find(s.graph, "later")));
  expect_error(s.graph, code, part); /* the first one stays */
  assert_int_equal(situ_graph_count(s.graph), 3);
  situ_graph_release(s.graph);
}

static void unknown_ops(void **state) {
  (void)state;
  struct setting s = begin();
  end(s, binary(s.graph, "Matmul", NULL, s.a, s.b), SITU_NOT_FOUND,
      "'Matmul'; did you mean 'MatMul'?");
  s = begin();
  end(s, binary(s.graph, "Xyzzy123", NULL, s.a, s.b), SITU_NOT_FOUND, "Xyzzy123");
  s = begin();
  end(s, binary(s.graph, NULL, NULL, s.a, s.b), SITU_INVALID_ARGUMENT, "op is NULL");
  s = begin();
  end(s, binary(s.graph, "", NULL, s.a, s.b), SITU_NOT_FOUND, "''");
}

static void wrong_inputs(void **state) {
  (void)state;
  struct setting s = begin();
  const situ_value three[] = {s.a, s.b, s.b};
  end(s, situ_emit(s.graph, "MatMul", "m", three, 3, NULL, 0), SITU_INVALID_ARGUMENT, "'m'");
  s = begin();
  end(s, situ_emit(s.graph, "MatMul", NULL, NULL, 0, NULL, 0), SITU_INVALID_ARGUMENT, "MatMul");
  s = begin();
  end(s, situ_emit(s.graph, "MatMul", NULL, NULL, 2, NULL, 0), SITU_INVALID_ARGUMENT, "NULL");
  s = begin();
  end(s, situ_emit(s.graph, "MatMul", NULL, &s.a, -1, NULL, 0), SITU_INVALID_ARGUMENT, "-1");
  s = begin();
  end(s, binary(s.graph, "Add", NULL, s.a, s.i), SITU_INVALID_ARGUMENT, "int32");
  s = begin();
  end(s, binary(s.graph, "MatMul", "m", s.a, s.b), SITU_INVALID_ARGUMENT,
      "for 'm' (op: 'MatMul') with input shapes: [2,3], [2,3].");
}

static void invalid_values(void **state) {
  (void)state;
  struct setting s = begin();
  end(s, binary(s.graph, "Add", NULL, s.a, (situ_value){NULL, 0, 0}), SITU_INVALID_ARGUMENT,
      "value 1 is invalid");
  s = begin();
  end(s, binary(s.graph, "Add", NULL, (situ_value){s.graph, 77, 0}, s.a), SITU_INVALID_ARGUMENT,
      "value 0: there is no node 77");
  s = begin();
  end(s, binary(s.graph, "Add", NULL, (situ_value){s.graph, 0, 5}, s.a), SITU_INVALID_ARGUMENT,
      "node 'a' has no output 5");
  s = begin();
  end(s, binary(s.graph, "Add", NULL, situ_value_output(s.a, 1), s.a), SITU_INVALID_ARGUMENT,
      "value 0 is invalid");
  s = begin();
  struct setting other = begin();
  end(s, binary(s.graph, "Add", NULL, s.a, other.a), SITU_INVALID_ARGUMENT,
      "value 1 belongs to another graph");
  situ_graph_release(other.graph);
}

static situ_value with_attr(struct setting s, situ_attr attr) {
  const situ_value inputs[] = {s.a, s.b};
  return situ_emit(s.graph, "MatMul", NULL, inputs, 2, &attr, 1);
}

static void wrong_attributes(void **state) {
  (void)state;
  struct setting s = begin();
  end(s, with_attr(s, situ_attr_bool("transpose_c", true)), SITU_INVALID_ARGUMENT, "transpose_c");
  s = begin();
  end(s, with_attr(s, situ_attr_int("transpose_a", 1)), SITU_INVALID_ARGUMENT, "transpose_a");
  s = begin();
  end(s, with_attr(s, situ_attr_bool(NULL, true)), SITU_INVALID_ARGUMENT, "name");
  s = begin();
  end(s, with_attr(s, situ_attr_type("T", (situ_type)99)), SITU_INVALID_ARGUMENT, "99");
  s = begin();
  end(s, with_attr(s, situ_attr_type("T", SITU_DOUBLE)), SITU_INVALID_ARGUMENT, "float64");
  s = begin();
  end(s, with_attr(s, situ_attr_string("T", NULL)), SITU_INVALID_ARGUMENT, "NULL");
  s = begin();
  end(s, with_attr(s, situ_attr_tensor("T", NULL)), SITU_INVALID_ARGUMENT, "NULL");
  s = begin();
  end(s, with_attr(s, situ_attr_ints("T", NULL, 3)), SITU_INVALID_ARGUMENT, "list");
  s = begin();
  end(s, with_attr(s, situ_attr_floats("T", NULL, 3)), SITU_INVALID_ARGUMENT, "list");
  s = begin();
  end(s, with_attr(s, situ_attr_shape("T", SITU_SHAPE(-5))), SITU_INVALID_ARGUMENT, "[-5]");
  s = begin();
  end(s, with_attr(s, (situ_attr){.name = "T", .kind = (situ_attr_kind)77}), SITU_INVALID_ARGUMENT,
      "77");
  s = begin();
  const situ_value inputs[] = {s.a, s.b};
  const situ_attr twice[] = {situ_attr_bool("transpose_a", true),
                             situ_attr_bool("transpose_a", true)};
  end(s, situ_emit(s.graph, "MatMul", NULL, inputs, 2, twice, 2), SITU_INVALID_ARGUMENT, "twice");
  s = begin();
  end(s, situ_emit(s.graph, "MatMul", NULL, inputs, 2, NULL, 2), SITU_INVALID_ARGUMENT, "NULL");
}

static void wrong_constants(void **state) {
  (void)state;
  struct setting s = begin();
  end(s, situ_constant_tensor(s.graph, NULL, NULL), SITU_INVALID_ARGUMENT, "NULL");
  s = begin();
  end(s, situ_constant(s.graph, "c", SITU_FLOAT, SITU_SHAPE(2, -3), NULL), SITU_INVALID_ARGUMENT,
      "[2,-3]");
  s = begin();
  end(s, situ_constant(s.graph, "c", SITU_FLOAT, SITU_SHAPE(INT64_C(1) << 45), NULL),
      SITU_RESOURCE_EXHAUSTED, "'c'");
  s = begin();
  end(s, situ_placeholder(s.graph, "p", SITU_NO_TYPE, SITU_SCALAR), SITU_INVALID_ARGUMENT, "'p'");
  s = begin();
  end(s, situ_placeholder(s.graph, "p", SITU_FLOAT, (situ_shape){.rank = 9}), SITU_INVALID_ARGUMENT,
      "rank 9");
  s = begin();
  situ_tensor *tensor = NULL;
  assert_null(situ_tensor_create(SITU_FLOAT, SITU_SCALAR, NULL, &tensor));
  const situ_attr attrs[] = {situ_attr_tensor("value", tensor),
                             situ_attr_type("dtype", SITU_INT32)};
  end(s, situ_emit(s.graph, "Const", NULL, NULL, 0, attrs, 2), SITU_INVALID_ARGUMENT, "dtype");
  situ_tensor_release(tensor);
}

/* A broadcast of two legal shapes may be too large. */
static void huge_results(void **state) {
  (void)state;
  struct setting s = begin();
  const int64_t big = INT64_C(1) << 40;
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(big, 1));
  const situ_value y = situ_placeholder(graph, "y", SITU_FLOAT, SITU_SHAPE(1, big));
  assert_false(situ_value_valid(binary(graph, "Add", NULL, x, y)));
  expect_error(graph, SITU_INVALID_ARGUMENT, "2^63");
  situ_graph_release(graph);
  situ_graph_release(s.graph);
}

static void errors_name_the_node(void **state) {
  situ_graph *graph = *state;
  situ_name_push(graph, "scope");
  const situ_value a = zeros(graph, "a", SITU_SHAPE(2));
  binary(graph, "MatMul", "m", a, a);
  const situ_status status = situ_graph_status(graph);
  assert_string_equal(situ_status_node(status), "scope/m");
  situ_status_release(status);
}

static void copes_with_null(void **state) {
  (void)state;
  const situ_value none = situ_emit(NULL, "Add", NULL, NULL, 0, NULL, 0);
  assert_false(situ_value_valid(none));
  assert_false(situ_value_valid(situ_constant(NULL, "a", SITU_FLOAT, SITU_SCALAR, NULL)));
  assert_false(situ_value_valid(situ_constant_tensor(NULL, "a", NULL)));
  assert_false(situ_value_valid(situ_placeholder(NULL, "a", SITU_FLOAT, SITU_SCALAR)));
  assert_false(situ_value_valid(situ_value_output(none, 0)));
  assert_string_equal(situ_value_name(none), "");
  assert_string_equal(situ_value_op(none), "");
  assert_string_equal(situ_value_device(none), "");
  assert_int_equal(situ_value_type(none), SITU_NO_TYPE);
  assert_int_equal(situ_value_shape(none).rank, SITU_ANY);
  assert_int_equal(situ_graph_count(NULL), 0);
  assert_null(situ_graph_retain(NULL));
  situ_graph_release(NULL);
  expect_status(situ_graph_status(NULL), SITU_INVALID_ARGUMENT, "NULL");
}

static void a_reference_keeps_the_graph(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const situ_value a = scalar(graph, "a");
  assert_ptr_equal(situ_graph_retain(graph), graph);
  situ_graph_release(graph);
  assert_string_equal(situ_value_name(a), "a");
  situ_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      GRAPH_TEST(a_node_knows_itself),
      GRAPH_TEST(equal_outputs_are_shared),
      GRAPH_TEST(constants_share_a_tensor),
      GRAPH_TEST(known_values_give_shapes),
      GRAPH_TEST(placeholders_may_be_open),
      GRAPH_TEST(many_inputs),
      GRAPH_TEST(nodes_without_outputs),
      GRAPH_TEST(finds_values),
      cmocka_unit_test(unknown_ops),
      cmocka_unit_test(wrong_inputs),
      cmocka_unit_test(invalid_values),
      cmocka_unit_test(wrong_attributes),
      cmocka_unit_test(wrong_constants),
      cmocka_unit_test(huge_results),
      GRAPH_TEST(errors_name_the_node),
      cmocka_unit_test(copes_with_null),
      cmocka_unit_test(a_reference_keeps_the_graph),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
