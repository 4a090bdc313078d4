/* SPDX-License-Identifier: Apache-2.0
 * test_graphdef_tensor.c: reads and writes constants of every type, and rejects invalid ones. */
#include <math.h>

#include "graph/files.h"

/* A constant whose TensorProto has these fields. */
static char *constant(const char *dtype, const char *fields) {
  char *text = NULL;
  if (asprintf(&text,
               "node { name: 'a' op: 'Const' attr { key: 'dtype' value { type: %s } }\n"
               "attr { key: 'value' value { tensor { dtype: %s %s } } } }",
               dtype, dtype, fields) < 0)
    fail();
  return text;
}

static void expect_bad(const char *dtype, const char *fields, const char *part) {
  char *text = constant(dtype, fields);
  expect_wrong(text, part);
  free(text);
}

static const situ_tensor *value_of(const situ_graph *graph) {
  const struct node *node = graph->nodes[0];
  return node->attrs[schema_attr(node->schema, "value")].tensor;
}

/* The constant has these elements. */
static void expect_elements(const char *dtype, const char *fields, const void *data, size_t bytes) {
  char *text = constant(dtype, fields);
  situ_graph *graph = load_text(text);
  assert_int_equal(situ_tensor_bytes(value_of(graph)), bytes);
  if (bytes) assert_memory_equal(situ_tensor_data(value_of(graph)), data, bytes);
  expect_round_trip(graph);
  situ_graph_release(graph);
  free(text);
}

static void values_of_every_type(void **state) {
  (void)state;
  const float floats[] = {1, 2.5f, (float)INFINITY};
  const double doubles[] = {-1e-300, 0.1};
  const int32_t ints[] = {INT32_MIN, 16};
  const uint8_t bytes[] = {0, 255};
  const int8_t small[] = {-128, 127};
  const int64_t longs[] = {INT64_MIN, INT64_MAX};
  const uint8_t truths[] = {1, 0, 1};
  const uint16_t halves[] = {0x3c00, 0xffff};
#define TWO "tensor_shape { dim { size: 2 } } "
#define THREE "tensor_shape { dim { size: 3 } } "
  expect_elements("DT_FLOAT", THREE "float_val: 1 float_val: 25e-1f float_val: inf", floats, 12);
  expect_elements("DT_DOUBLE", TWO "double_val: [-1e-300, .1]", doubles, 16);
  expect_elements("DT_INT32", TWO "int_val: -2147483648 int_val: 0x10", ints, 8);
  expect_elements("DT_UINT8", TWO "int_val: 0 int_val: 255", bytes, 2);
  expect_elements("DT_INT8", TWO "int_val: -128 int_val: 127", small, 2);
  expect_elements("DT_INT64", TWO "int64_val: -9223372036854775808 int64_val: 9223372036854775807",
                  longs, 16);
  expect_elements("DT_BOOL", THREE "bool_val: true bool_val: 0 bool_val: True", truths, 3);
  expect_elements("DT_HALF", TWO "half_val: 15360 half_val: 65535", halves, 4);
}

static void the_last_value_is_repeated(void **state) {
  (void)state;
  const float floats[] = {1, 2, 2, 2}, none[] = {0, 0}, one = 7;
  expect_elements("DT_FLOAT", "tensor_shape { dim { size: 4 } } float_val: 1 float_val: 2", floats,
                  16);
  expect_elements("DT_FLOAT", TWO, none, 8);
  expect_elements("DT_FLOAT", "float_val: 7", &one, 4);
  expect_elements("DT_FLOAT", "tensor_shape { dim { size: 0 } }", NULL, 0);
}

static void contents_as_bytes(void **state) {
  (void)state;
  const int32_t two[] = {1, 0x41424344};
  expect_elements("DT_INT32", TWO "tensor_content: '\\001\\000\\000\\000' \"DCBA\"", two, 8);
}

static void strings(void **state) {
  (void)state;
  char *text = constant("DT_STRING", THREE "string_val: 'a\\n' string_val: \"\\xff'\"");
  situ_graph *graph = load_text(text);
  const char *const *held = situ_tensor_data(value_of(graph));
  assert_string_equal(held[0], "a\n");
  assert_string_equal(held[1], "\xff'");
  assert_string_equal(held[2], "\xff'");
  expect_round_trip(graph);
  situ_graph_release(graph);
  free(text);
}

/* Many elements, and NaNs, are written as tensor_content. */
static void to_the_bit(void **state) {
  situ_graph *graph = *state;
  float many[1000];
  for (int i = 0; i < 1000; i++) many[i] = (float)i / 7;
  const uint64_t odd[] = {0x7ff8000000000123u, 0xfff0000000000001u};
  situ_constant(graph, "many", SITU_FLOAT, SITU_SHAPE(10, 100), many);
  situ_constant(graph, "odd", SITU_DOUBLE, SITU_SHAPE(2), odd);
  expect_round_trip(graph);
  for (int as_json = 0; as_json < 2; as_json++) {
    char *text = save_text(graph, as_json);
    situ_graph *again = load_text(text);
    const struct node *node = again->nodes[1];
    assert_memory_equal(situ_tensor_data(value_of(again)), many, sizeof many);
    const situ_tensor *tensor = node->attrs[schema_attr(node->schema, "value")].tensor;
    assert_memory_equal(situ_tensor_data(tensor), odd, sizeof odd);
    situ_graph_release(again);
    free(text);
  }
}

static void wrong_tensors(void **state) {
  (void)state;
  expect_bad("DT_FLOAT", TWO "float_val: [1, 2, 3]", "3 values for a tensor of 2 elements");
  expect_bad("DT_FLOAT", TWO "int_val: 1", "'int_val' in a tensor of type DT_FLOAT");
  expect_bad("DT_FLOAT", TWO "tensor_content: 'abc'", "3 bytes for a tensor of 8");
  expect_bad("DT_STRING", "tensor_content: 'abc'", "strings");
  expect_bad("DT_UINT8", "int_val: 256", "256 is not a value of type uint8");
  expect_bad("DT_INT8", "int_val: -129", "-129");
  expect_bad("DT_HALF", "half_val: 65536", "65536");
  expect_bad("DT_INT32", "int_val: 2147483648", "line 2, column 63: 2147483648 is too large");
  expect_bad("DT_FLOAT", "tensor_shape { dim { size: -1 } }", "[?]");
  expect_bad("DT_FLOAT", "tensor_shape { dim { size: -3 } }", "[-3]");
  expect_bad("DT_FLOAT", "tensor_shape { unknown_rank: true }", "<unknown>");
  expect_bad("DT_FLOAT",
             "tensor_shape { dim {} dim {} dim {} dim {} dim {} dim {} dim {} dim {} dim {} }",
             "more than 8 dimensions");
  expect_bad("DT_QINT8", "", "qint8 is not supported by situ yet");
  expect_wrong("node { name: 'a' op: 'Const' attr { key: 'value' value { tensor { } } } }",
               "a tensor has no dtype");
}

static void huge_tensors(void **state) {
  (void)state;
  expect_bad("DT_FLOAT", "tensor_shape { dim { size: 4611686018427387904 } dim { size: 4 } }",
             "[4611686018427387904,4]");
  char *text = constant("DT_FLOAT", "tensor_shape { dim { size: 1000000000000 } } float_val: 1");
  expect_refused(text, SITU_RESOURCE_EXHAUSTED, "[1000000000000]");
  free(text);
  text = constant("DT_STRING", "tensor_shape { dim { size: 100000000 } }");
  expect_refused(text, SITU_RESOURCE_EXHAUSTED, "[100000000]");
  free(text);
}

/* Each repetition of a string is a copy of it. */
static void long_strings_are_repeated(void **state) {
  (void)state;
  char fields[300];
  (void)snprintf(fields, sizeof fields,
                 "tensor_shape { dim { size: 2000000 } } string_val: '%0200d'", 0);
  char *text = constant("DT_STRING", fields);
  expect_refused(text, SITU_RESOURCE_EXHAUSTED, "[2000000]");
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_of_every_type),
      cmocka_unit_test(the_last_value_is_repeated),
      cmocka_unit_test(contents_as_bytes),
      cmocka_unit_test(strings),
      GRAPH_TEST(to_the_bit),
      cmocka_unit_test(wrong_tensors),
      cmocka_unit_test(huge_tensors),
      cmocka_unit_test(long_strings_are_repeated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
