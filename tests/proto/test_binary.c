/* SPDX-License-Identifier: Apache-2.0
 * test_binary.c: GraphDefs in protobuf's binary format, and unknown attributes.
 */
#include "graph/files.h"

#define BYTES(text) (text), sizeof(text) - 1

/* b = Identity(a), with a field that situ does not know; a = [1, 2], after its consumer. */
static const unsigned char two_nodes[] = {
    0x0a, 0x1e, 0x0a, 0x01, 0x62, 0x12, 0x08, 0x49, 0x64, 0x65, 0x6e, 0x74, 0x69, 0x74, 0x79, 0x1a,
    0x01, 0x61, 0x2a, 0x07, 0x0a, 0x01, 0x54, 0x12, 0x02, 0x30, 0x01, 0x3a, 0x03, 0x08, 0xe8, 0x07,
    0x0a, 0x36, 0x0a, 0x01, 0x61, 0x12, 0x05, 0x43, 0x6f, 0x6e, 0x73, 0x74, 0x2a, 0x0b, 0x0a, 0x05,
    0x64, 0x74, 0x79, 0x70, 0x65, 0x12, 0x02, 0x30, 0x01, 0x2a, 0x1d, 0x0a, 0x05, 0x76, 0x61, 0x6c,
    0x75, 0x65, 0x12, 0x14, 0x42, 0x12, 0x08, 0x01, 0x12, 0x04, 0x12, 0x02, 0x08, 0x02, 0x2a, 0x08,
    0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0x40, 0x22, 0x03, 0x08, 0x86, 0x01};

static void expect_bytes_wrong(const char *data, size_t length, const char *part) {
  situ_graph *graph = NULL;
  expect_status(situ_graph_load(data, length, &graph), SITU_INVALID_ARGUMENT, part);
  assert_null(graph);
}

static void nodes_of_the_binary_form(void **state) {
  (void)state;
  situ_graph *graph = NULL;
  const situ_status status = situ_graph_load((const char *)two_nodes, sizeof two_nodes, &graph);
  if (status) fail_msg("%s", situ_status_message(status));
  assert_int_equal(situ_graph_count(graph), 2);
  assert_string_equal(graph->nodes[0]->name, "a");
  assert_string_equal(graph->nodes[1]->name, "b");
  situ_tensor *value = situ_value_constant(situ_graph_find(graph, "a"));
  const float *data = situ_tensor_data(value);
  assert_float_equal(data[0], 1, 0);
  assert_float_equal(data[1], 2, 0);
  expect_round_trip(graph);
  situ_graph_release(graph);
}

static void every_cut_is_an_error_or_a_graph(void **state) {
  (void)state;
  for (size_t length = 1; length < sizeof two_nodes; length++) {
    situ_graph *graph = NULL;
    situ_status_release(situ_graph_load((const char *)two_nodes, length, &graph));
    situ_graph_release(graph);
  }
  expect_bytes_wrong((const char *)two_nodes, 40, "GraphDef, byte 34: ");
}

static void wrong_bytes_are_named(void **state) {
  (void)state;
  expect_bytes_wrong(BYTES("\x0a\x02\x0a\x05"), "5 bytes are expected, 0 are left");
  expect_bytes_wrong(BYTES("\x0a\x03\x0b\x01\x01"), "unknown wire type 3");
  expect_bytes_wrong(BYTES("\x0a\x02\x08\x01"), "'name' of NodeDef has wire type 0");
  expect_bytes_wrong(BYTES("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "a varint");
  expect_bytes_wrong(BYTES("\x0a\x02\x05\x00"), "invalid field number 0");
  expect_bytes_wrong(
      BYTES("\x0a\x15\x0a\x01x\x12\x04NoOp\x2a\x0a\x0a\x01T\x12\x05\x30\xff\xff\xff\x07"),
      "unknown element type");
}

static void a_text_may_begin_with_a_newline(void **state) {
  (void)state;
  situ_graph_release(load_text("\n\tnode { name: 'a' op: 'NoOp' }\n"));
}

#define HANDLE(rest)                                                                   \
  "node { name: 'v' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } } " \
  "attr { key: 'shape' value { shape { } } } attr { " rest " } }"

static void attributes_at_their_default_are_dropped(void **state) {
  (void)state;
  situ_graph *graph = load_text(HANDLE("key: 'allowed_devices' value { list { } }"));
  expect_round_trip(graph);
  situ_graph_release(graph);
  situ_graph_release(load_text(HANDLE("key: 'debug_name' value { s: '' }")));
  situ_graph_release(load_text(HANDLE("key: 'debug_name' value { s: 'v/' }")));
  expect_wrong(HANDLE("key: 'allowed_devices' value { list { s: '/cpu:0' } }"), "lists of 's'");
  expect_wrong(HANDLE("key: 'unknown' value { s: '' }"), "attr 'unknown' not in Op");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nodes_of_the_binary_form),
      cmocka_unit_test(every_cut_is_an_error_or_a_graph),
      cmocka_unit_test(wrong_bytes_are_named),
      cmocka_unit_test(a_text_may_begin_with_a_newline),
      cmocka_unit_test(attributes_at_their_default_are_dropped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
