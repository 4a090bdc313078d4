/* SPDX-License-Identifier: Apache-2.0
 * test_format.c: every message type in every format, unknown fields, and malformed input. */
#include <stdlib.h>

#include "graph/builder.h"
#include "proto/message.h"

static void fill(situ_message *message, int depth);

static void fill_field(situ_message *message, const situ_field *field, int depth) {
  struct proto_value *value = NULL;
  if (field->message && depth > 4) return;
  if (field->is_map) {
    const bool is_text = field->message->fields[0].kind == SITU_FIELD_STRING;
    const situ_field_value text = {.bytes = {"k\"\n", 3}}, number = {.integer = 7};
    situ_message *entry = situ_message_map_entry(message, field, is_text ? text : number);
    assert_non_null(entry);
    fill_field(entry, &field->message->fields[1], depth + 1);
    return;
  }
  value = proto_add(message, field);
  assert_non_null(value);
  if (field->message) {
    fill(value->message, depth + 1);
  } else if (proto_is_bytes(field)) {
    const bool is_text = field->kind == SITU_FIELD_STRING;
    value->bytes = proto_copy_bytes(message, is_text ? "\xc3\xa9'" : "\xff\x00\\", 3);
    assert_non_null(value->bytes);
  } else if (proto_is_real(field)) {
    value->real = -0.5 - field->number;
  } else if (field->kind == SITU_FIELD_BOOL) {
    value->integer = 1;
  } else {
    const bool is_wide = field->kind == SITU_FIELD_UINT64 || field->kind == SITU_FIELD_FIXED64 ||
                         field->kind == SITU_FIELD_INT64;
    const bool is_signed = field->kind == SITU_FIELD_INT32 || field->kind == SITU_FIELD_ENUM;
    value->integer = is_wide ? -5 : is_signed ? -field->number : field->number;
  }
}

/* Sets every field; of a oneof the last one. */
static void fill(situ_message *message, int depth) {
  for (int i = 0; i < message->type->count; i++) {
    const situ_field *field = &message->type->fields[i];
    const int times = field->is_repeated && !field->is_map ? 2 : 1;
    for (int k = 0; k < times; k++) fill_field(message, field, depth);
  }
}

static void expect_round_trip(const situ_message *message, situ_format format) {
  char *data = NULL, *again = NULL;
  size_t length = 0, again_length = 0;
  situ_message *read = situ_message_create(message->type);
  assert_null(situ_message_write(message, format, &data, &length));
  const situ_status status = situ_message_parse(read, format, data, length);
  if (status) fail_msg("%s: %s\n%s", message->type->name, situ_status_message(status), data);
  assert_true(situ_message_equal(message, read));
  assert_null(situ_message_write(read, format, &again, &again_length));
  assert_int_equal(length, again_length);
  assert_memory_equal(data, again, length);
  for (size_t cut = 0; cut < length && length < 600; cut++) {
    situ_message_clear(read);
    situ_status_release(situ_message_parse(read, format, data, cut));
  }
  situ_message_release(read);
  free(data);
  free(again);
}

static void every_type_in_every_format(void **state) {
  (void)state;
  const situ_message_type *type = NULL;
  for (int i = 0; (type = situ_message_type_at(i)); i++) {
    if (type->is_map_entry) continue;
    situ_message *message = situ_message_create(type);
    fill(message, 2);
    expect_round_trip(message, SITU_FORMAT_BINARY);
    expect_round_trip(message, SITU_FORMAT_TEXT);
    expect_round_trip(message, SITU_FORMAT_TEXT_LINE);
    expect_round_trip(message, SITU_FORMAT_JSON);
    situ_message_release(message);
  }
}

static void expect_malformed(const char *type, const char *data, size_t length, const char *part) {
  situ_message *message = situ_message_create(situ_message_type_find(type));
  expect_status(situ_message_parse(message, SITU_FORMAT_BINARY, data, length),
                SITU_INVALID_ARGUMENT, part);
  situ_message_release(message);
}

#define BYTES(text) (text), sizeof(text) - 1

static void malformed_binary(void **state) {
  (void)state;
  expect_malformed("tensorflow.Example", BYTES("\x0a\x05\x0a"), "Example, byte 2: 5 bytes");
  expect_malformed("tensorflow.Example", BYTES("\x08\x05"),
                   "'features' of Example has wire type 0");
  expect_malformed("tensorflow.Int64List", BYTES("\x0a\x01\x80"), "a packed field is truncated");
  expect_malformed("tensorflow.FloatList", BYTES("\x0a\x02\x00\x00"), "packed field is truncated");
  expect_malformed("tensorflow.BytesList", BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
                   "18446744073709551615 bytes are expected");
  expect_malformed("tensorflow.Event", BYTES("\x09\x00"), "8 bytes are expected, 1 are left");
  expect_malformed("tensorflow.Event", BYTES("\x0c"), "unknown wire type 4");
}

/* Messages nested 200 times: FullTypeDef.args. */
static void too_deep(void **state) {
  (void)state;
  char data[2000], text[4000] = "";
  size_t start = sizeof data;
  for (int i = 0; i < 200; i++) {
    const size_t length = sizeof data - start;
    if (length > 127) data[--start] = (char)(length >> 7);
    data[--start] = (char)(length > 127 ? (length & 127) | 128 : length);
    data[--start] = 0x12;
    strcat(text, "args {");
  }
  expect_malformed("tensorflow.FullTypeDef", data + start, sizeof data - start, "too deeply");
  situ_message *message = situ_message_create(situ_message_type_find("tensorflow.FullTypeDef"));
  expect_status(situ_message_parse(message, SITU_FORMAT_TEXT, text, strlen(text)),
                SITU_INVALID_ARGUMENT, "too deeply");
  situ_message_release(message);
}

static void unknown_fields_are_kept(void **state) {
  (void)state;
  static const char data[] = "\x0a\x01\x61\xa2\x06\x02hi\xa8\x06\x05";
  situ_message *message = situ_message_create(situ_message_type_find("tensorflow.NodeDef"));
  char *written = NULL;
  size_t length = 0;
  assert_null(situ_message_parse(message, SITU_FORMAT_BINARY, BYTES(data)));
  assert_null(situ_message_write(message, SITU_FORMAT_BINARY, &written, &length));
  assert_int_equal(length, sizeof data - 1);
  assert_memory_equal(written, data, length);
  free(written);
  situ_message_release(message);
}

static void the_last_entry_of_a_key_wins(void **state) {
  (void)state;
  static const char data[] = "\x0a\x05\x0a\x01\x61\x10\x01\x0a\x05\x0a\x01\x61\x10\x02";
  situ_message *message = situ_message_create(situ_message_type_find("tensorflow.ConfigProto"));
  char *text = NULL;
  size_t length = 0;
  assert_null(situ_message_parse(message, SITU_FORMAT_BINARY, BYTES(data)));
  assert_null(situ_message_write(message, SITU_FORMAT_TEXT_LINE, &text, &length));
  assert_string_equal(text, "device_count { key: \"a\" value: 2 }");
  free(text);
  situ_message_release(message);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_in_every_format),
      cmocka_unit_test(malformed_binary),
      cmocka_unit_test(too_deep),
      cmocka_unit_test(unknown_fields_are_kept),
      cmocka_unit_test(the_last_entry_of_a_key_wins),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
