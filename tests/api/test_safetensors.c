/* SPDX-License-Identifier: Apache-2.0
 * test_safetensors.c: the layout of safetensors files: header, metadata, order, strings. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/helpers.h"
#include "base/file.h"
#include "base/json.h"
#include "situ/checkpoint.h"

static char directory[] = "/tmp/situ_safetensors_XXXXXX";
static char path[64];

static int make_directory(void **state) {
  (void)state;
  if (!mkdtemp(directory)) return 1;
  snprintf(path, sizeof path, "%s/a", directory);
  return 0;
}

static int remove_directory(void **state) {
  (void)state;
  unlink(path);
  return rmdir(directory);
}

/* Parses the header; `data` is where the data begins. */
static const struct json *read_header(struct strbuf *text, struct arena *arena, size_t *data) {
  struct json *header = NULL;
  OK(file_read(path, text));
  assert_true(text->length > 8);
  *data = 8 + (size_t)(unsigned char)text->data[0] + 256 * (size_t)(unsigned char)text->data[1];
  assert_int_equal(*data % 8, 0);
  OK(json_parse(text->data + 8, *data - 8, arena, &header));
  return header;
}

static void arrays_are_sorted_and_described(void **state) {
  (void)state;
  const uint32_t b[] = {7, 8};
  const float a = 0.5f;
  struct strbuf text = {0};
  struct arena arena = {0};
  size_t data = 0;
  situ_array arrays[] = {{"b", "uint32", SITU_SHAPE(2), b, sizeof b},
                         {"a", "float32", SITU_SCALAR, &a, sizeof a}};
  OK(situ_safetensors_write(path, arrays, 2, &(situ_metadata){"who", "\"me\""}, 1));
  const struct json *header = read_header(&text, &arena, &data);
  assert_string_equal(json_first(header)->key, "a");
  const struct json *entry = json_get(header, "b");
  assert_string_equal(json_string(json_get(entry, "dtype"), ""), "U32");
  assert_int_equal(json_integer(json_at(json_get(entry, "data_offsets"), 1), -1), 12);
  const struct json *metadata = json_get(header, "__metadata__");
  assert_string_equal(json_string(json_get(metadata, "who"), ""), "\"me\"");
  assert_string_equal(json_string(json_get(metadata, "format"), ""), "situ");
  assert_memory_equal(text.data + data, &a, sizeof a);
  assert_memory_equal(text.data + data + sizeof a, b, sizeof b);
  strbuf_free(&text);
  arena_free(&arena);
}

static void strings_are_bytes(void **state) {
  (void)state;
  const char encoded[] = "\1\0\0\0\0\0\0\0x";
  struct strbuf text = {0};
  struct arena arena = {0};
  size_t data = 0;
  situ_array array = {"s", "object", SITU_SHAPE(1, 1), encoded, 9};
  OK(situ_safetensors_write(path, &array, 1, &(situ_metadata){"format", "other"}, 1));
  const struct json *header = read_header(&text, &arena, &data);
  const struct json *metadata = json_get(header, "__metadata__");
  assert_string_equal(json_string(json_get(json_get(header, "s"), "dtype"), ""), "U8");
  assert_string_equal(json_string(json_get(metadata, "strings"), ""), "{\"s\":[1,1]}");
  assert_string_equal(json_string(json_get(metadata, "format"), ""), "other");
  strbuf_free(&text);
  arena_free(&arena);
}

static void no_arrays(void **state) {
  (void)state;
  struct strbuf text = {0};
  struct arena arena = {0};
  size_t data = 0;
  OK(situ_safetensors_write(path, NULL, 0, NULL, 0));
  const struct json *metadata = json_get(read_header(&text, &arena, &data), "__metadata__");
  assert_string_equal(json_string(json_get(metadata, "crc32"), ""), "{}");
  assert_int_equal(text.length, data);
  strbuf_free(&text);
  arena_free(&arena);
}

static void invalid_arguments(void **state) {
  (void)state;
  situ_array array = {"z", "qint32", SITU_SCALAR, "1234", 4};
  FAILS(situ_safetensors_write(path, &array, 1, NULL, 0), SITU_UNIMPLEMENTED, "qint32");
  FAILS(situ_safetensors_write(NULL, &array, 1, NULL, 0), SITU_INVALID_ARGUMENT, "NULL");
  FAILS(situ_checkpoint_write_arrays("", &array, 1, NULL, 0), SITU_INVALID_ARGUMENT, "prefix");
  FAILS(situ_file_replace(NULL, "", 0), SITU_INVALID_ARGUMENT, "NULL");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arrays_are_sorted_and_described),
      cmocka_unit_test(strings_are_bytes),
      cmocka_unit_test(no_arrays),
      cmocka_unit_test(invalid_arguments),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
