/* SPDX-License-Identifier: Apache-2.0
 * test_json_format.c: GraphDefs in protobuf's JSON format, and errors. */
#include <math.h>

#include "graph/files.h"

static void reads_protobufs_forms(void **state) {
  (void)state;
  situ_graph *graph = load_text(
      "{\"node\": [{\"name\": \"a\", \"op\": \"Const\", \"device\": \"/gpu:0\", \"attr\": {"
      "\"dtype\": {\"type\": \"DT_DOUBLE\"}, \"value\": {\"tensor\": {\"dtype\": 2,"
      "\"tensorShape\": {\"dim\": [{\"size\": \"3\"}]},"
      "\"doubleVal\": [1, 2.5, \"-Infinity\"]}}}},"
      "{\"name\": \"b\", \"op\": \"Identity\", \"input\": [\"a\"], \"attr\": {\"_class\":"
      "{\"list\": {\"s\": [\"bG9jOkBh\"]}}}}],"
      "\"versions\": {\"producer\": 27}, \"library\": {\"function\": []}}");
  const struct node *a = graph->nodes[0], *b = graph->nodes[1];
  const situ_tensor *tensor = a->attrs[schema_attr(a->schema, "value")].tensor;
  const double expected[] = {1, 2.5, -(double)INFINITY};
  assert_memory_equal(situ_tensor_data(tensor), expected, sizeof expected);
  assert_int_equal(b->n_groups, 1);
  assert_string_equal(b->groups[0], "a");
  expect_round_trip(graph);
  situ_graph_release(graph);
}

static void reads_names_as_in_the_text_form(void **state) {
  (void)state;
  situ_graph *graph = load_text(
      "{\"node\": [{\"name\": \"a\", \"op\": \"Const\", \"attr\": {\"dtype\": {\"type\":"
      "\"DT_INT32\"}, \"value\": {\"tensor\": {\"dtype\": \"DT_INT32\", \"tensor_shape\":"
      "{\"dim\": [{\"size\": 2}]}, \"tensor_content\": \"AQAAAAIAAAA=\"}}}}]}");
  const struct node *a = graph->nodes[0];
  const situ_tensor *tensor = a->attrs[schema_attr(a->schema, "value")].tensor;
  const int32_t expected[] = {1, 2};
  assert_memory_equal(situ_tensor_data(tensor), expected, sizeof expected);
  situ_graph_release(graph);
}

#define NODE(rest) "{\"node\": [{\"name\": \"a\", \"op\": \"NoOp\", " rest "}]}"
#define ATTR(value) NODE("\"attr\": {\"x\": {" value "}}")

static void wrong_json(void **state) {
  (void)state;
  expect_wrong("{\"node\": [", "JSON");
  expect_wrong("{\n\"nodes\": []}", "line 2, column 10: GraphDef has no field 'nodes'");
  expect_wrong("{\"node\": {}}", "'node' must be an array");
  expect_wrong("{\"node\": [5]}", "line 1, column 11: expected an object (NodeDef)");
  expect_wrong("{\"node\": [{\"name\": 5}]}", "'name' must be a string");
  expect_wrong(NODE("\"attr\": []"), "'attr' must be an object");
  expect_wrong(ATTR("\"i\": \"x\""), "'i' must be an integer");
  expect_wrong(ATTR("\"i\": 1.5"), "'i' must be an integer");
  expect_wrong(ATTR("\"i\": \"99999999999999999999\""), "'i' must be an integer");
  expect_wrong(ATTR("\"i\": \"\""), "'i' must be an integer");
  expect_wrong(ATTR("\"f\": \"inf\""), "'f' must be a number");
  expect_wrong(ATTR("\"b\": 1"), "'b' must be true or false");
  expect_wrong(ATTR("\"type\": \"DT_X\""), "has no value named DT_X");
  expect_wrong(ATTR("\"type\": \"DT_QINT8\""), "qint8 is not supported by situ yet");
  expect_wrong(ATTR("\"type\": []"), "'type' must be a name or a number");
  expect_wrong(ATTR("\"s\": \"a*b\""), "'s' is not base64");
  expect_wrong(ATTR("\"s\": \"abcde\""), "'s' is not base64");
  expect_wrong(ATTR("\"tensor\": {\"intVal\": [2147483648]}"), "'int_val' is too large");
  expect_wrong(ATTR("\"tensor\": {\"tensorShape\": {}, \"tensor_shape\": {}}"), "twice");
  expect_wrong(ATTR("\"i\": null"), "must have one value");
  expect_wrong(NODE("\"input\": [\"nobody\"]"), "unknown input 'nobody'");
}

/* Bytes of every length and value survive base64. */
static void base64(void **state) {
  situ_graph *graph = *state;
  uint8_t bytes[257];
  for (int i = 0; i < 257; i++) bytes[i] = (uint8_t)(i * 7);
  for (int i = 33; i < 40; i++) situ_constant(graph, NULL, SITU_UINT8, SITU_SHAPE(i), bytes + i);
  situ_constant(graph, NULL, SITU_UINT8, SITU_SHAPE(257), bytes);
  expect_round_trip(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_protobufs_forms),
      cmocka_unit_test(reads_names_as_in_the_text_form),
      cmocka_unit_test(wrong_json),
      GRAPH_TEST(base64),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
