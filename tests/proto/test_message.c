/* SPDX-License-Identifier: Apache-2.0
 * test_message.c: fields of messages: presence, oneofs, lists, maps and references. */
#include <stdlib.h>

#include "graph/builder.h"
#include "proto/message.h"

static const situ_field *field_of(const situ_message *message, const char *name) {
  const situ_field *field = situ_message_type_field(situ_message_type_of(message), name);
  assert_non_null(field);
  return field;
}

static situ_message *create(const char *name) {
  situ_message *message = situ_message_create(situ_message_type_find(name));
  assert_non_null(message);
  return message;
}

static situ_field_value text(const char *string) {
  return (situ_field_value){.bytes = {string, strlen(string)}};
}

static void set_integer(situ_message *message, const char *name, int64_t value) {
  assert_true(
      situ_message_set(message, field_of(message, name), 0, (situ_field_value){.integer = value}));
}

static void expect_text(const situ_message *message, const char *expected) {
  char *data = NULL;
  size_t length = 0;
  assert_null(situ_message_write(message, SITU_FORMAT_TEXT_LINE, &data, &length));
  assert_string_equal(data, expected);
  assert_int_equal(length, strlen(expected));
  free(data);
}

static void reading_a_submessage_does_not_set_it(void **state) {
  (void)state;
  situ_message *config = create("tensorflow.ConfigProto");
  situ_message *graph = situ_message_submessage(config, field_of(config, "graph_options"));
  situ_message *options = situ_message_submessage(graph, field_of(graph, "optimizer_options"));
  assert_false(situ_message_has(config, field_of(config, "graph_options")));
  expect_text(config, "");
  set_integer(options, "opt_level", -1);
  assert_true(situ_message_has(config, field_of(config, "graph_options")));
  expect_text(config, "graph_options { optimizer_options { opt_level: L0 } }");
  situ_message_clear_field(config, field_of(config, "graph_options"));
  set_integer(options, "opt_level", 0); /* of a message that is no longer part of the tree */
  expect_text(config, "");
  situ_message_release(config);
}

static void a_submessage_keeps_the_tree(void **state) {
  (void)state;
  situ_message *graph = create("tensorflow.GraphDef");
  situ_message *node = situ_message_insert_message(graph, field_of(graph, "node"), 0);
  situ_message_retain(node);
  situ_message_release(graph);
  assert_true(situ_message_set(node, field_of(node, "name"), 0, text("a")));
  expect_text(node, "name: \"a\"");
  situ_message_release(node);
}

static void the_last_field_of_a_oneof_wins(void **state) {
  (void)state;
  situ_message *attr = create("tensorflow.AttrValue");
  assert_null(situ_message_which(attr, "value"));
  set_integer(attr, "i", 0);
  expect_text(attr, "i: 0");
  situ_message *list = situ_message_submessage(attr, field_of(attr, "list"));
  assert_string_equal(situ_message_which(attr, "value")->name, "i");
  situ_message_touch(list);
  assert_string_equal(situ_message_which(attr, "value")->name, "list");
  expect_text(attr, "list { }");
  situ_message_release(attr);
}

static void lists_grow_shrink_and_move(void **state) {
  (void)state;
  situ_message *node = create("tensorflow.NodeDef");
  const situ_field *input = field_of(node, "input");
  static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
  for (int i = 0; i < 6; i++) assert_true(situ_message_insert(node, input, 0, text(names[i])));
  assert_int_equal(situ_message_count(node, input), 6);
  assert_string_equal(situ_message_get(node, input, 0).bytes.data, "f");
  situ_message_remove(node, input, 1, 4);
  expect_text(node, "input: \"f\" input: \"a\"");
  const int64_t order[] = {1, 0};
  assert_true(situ_message_reorder(node, input, order));
  assert_true(situ_message_set(node, input, 1, text("z")));
  expect_text(node, "input: \"a\" input: \"z\"");
  situ_message_clear(node);
  expect_text(node, "");
  situ_message_release(node);
}

static void maps_have_one_entry_per_key(void **state) {
  (void)state;
  situ_message *config = create("tensorflow.ConfigProto");
  const situ_field *counts = field_of(config, "device_count");
  set_integer(situ_message_map_entry(config, counts, text("GPU")), "value", 2);
  set_integer(situ_message_map_entry(config, counts, text("CPU")), "value", 0);
  set_integer(situ_message_map_entry(config, counts, text("GPU")), "value", 1);
  assert_int_equal(situ_message_find(config, counts, text("CPU")), 1);
  assert_int_equal(situ_message_find(config, counts, text("TPU")), -1);
  expect_text(config,
              "device_count { key: \"CPU\" value: 0 } device_count { key: \"GPU\" value: 1 }");
  situ_message_release(config);
}

static void merge_and_compare(void **state) {
  (void)state;
  situ_message *a = create("tensorflow.GraphDef"), *b = create("tensorflow.GraphDef");
  static const char nodes[] =
      "node { name: 'x' input: 'y' attr { key: 'T' value { type: DT_INT32 } } } "
      "versions { producer: 3 bad_consumers: [1, 2] }";
  assert_null(situ_message_parse(a, SITU_FORMAT_TEXT, nodes, sizeof nodes - 1));
  assert_false(situ_message_equal(a, b));
  assert_true(situ_message_merge(b, a));
  assert_true(situ_message_equal(a, b));
  assert_true(situ_message_merge(b, a)); /* appends to lists */
  assert_int_equal(situ_message_count(b, field_of(b, "node")), 2);
  assert_false(situ_message_equal(a, b));
  situ_message_release(a);
  situ_message_release(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reading_a_submessage_does_not_set_it),
      cmocka_unit_test(a_submessage_keeps_the_tree),
      cmocka_unit_test(the_last_field_of_a_oneof_wins),
      cmocka_unit_test(lists_grow_shrink_and_move),
      cmocka_unit_test(maps_have_one_entry_per_key),
      cmocka_unit_test(merge_and_compare),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
