/* SPDX-License-Identifier: Apache-2.0
 * test_print.c: prints as NumPy does: against tests/golden/print.txt, and strings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tensor/print.h"

/* The text of a record, up to the line ".". */
static void read_text(FILE *file, struct strbuf *text) {
  char *line = NULL;
  size_t room = 0;
  while (getline(&line, &room, file) > 0 && strcmp(line, ".\n")) strbuf_append(text, line);
  if (text->length) text->data[--text->length] = 0; /* the last line end */
  free(line);
}

static situ_shape read_shape(char *word) {
  situ_shape shape = {0};
  if (!strcmp(word, "scalar")) return shape;
  for (char *part = strtok(word, ","); part; part = strtok(NULL, ","))
    shape.dim[shape.rank++] = atoll(part);
  return shape;
}

static void store(situ_type type, void *data, int64_t index, int64_t bits) {
  memcpy((char *)data + (size_t)index * situ_type_size(type), &bits, situ_type_size(type));
}

static void store_count(situ_type type, void *data, int64_t index) {
  if (type == SITU_FLOAT)
    ((float *)data)[index] = (float)index;
  else if (type == SITU_DOUBLE)
    ((double *)data)[index] = (double)index;
  else
    store(type, data, index, index);
}

static void *read_elements(situ_type type, situ_shape shape, char *word) {
  const int64_t count = situ_shape_count(shape);
  void *data = calloc((size_t)count + 1, situ_type_size(type));
  assert_non_null(data);
  if (!strcmp(word, "range")) {
    for (int64_t i = 0; i < count; i++) store_count(type, data, i);
    return data;
  }
  char *part = strtok(word, ",");
  for (int64_t i = 0; i < count; i++, part = strtok(NULL, ",")) {
    assert_non_null(part);
    store(type, data, i, atoll(part));
  }
  return data;
}

static bool check_record(FILE *file, char *line) {
  char *rest = NULL;
  char *type_word = strtok_r(line, " ", &rest), *shape_word = strtok_r(NULL, " ", &rest);
  char *elements = strtok_r(NULL, "\n", &rest);
  assert_non_null(elements);
  const situ_type type = situ_type_parse(type_word);
  assert_int_not_equal(type, SITU_NO_TYPE);
  const situ_shape shape = read_shape(shape_word);
  void *data = read_elements(type, shape, elements);
  struct strbuf expected = {0}, got = {0};
  read_text(file, &expected);
  print_array(type, &shape, data, &got);
  assert_string_equal(strbuf_get(&got), strbuf_get(&expected));
  strbuf_free(&expected);
  strbuf_free(&got);
  free(data);
  return true;
}

static void prints_as_numpy_does(void **state) {
  (void)state;
  FILE *file = fopen("tests/golden/print.txt", "r");
  assert_non_null(file);
  char *line = NULL;
  size_t room = 0;
  int records = 0;
  while (getline(&line, &room, file) > 0) records += check_record(file, line);
  assert_true(records > 200);
  free(line);
  fclose(file);
}

static void expect_print(situ_type type, situ_shape shape, const void *data, const char *expected) {
  situ_tensor *t = NULL;
  assert_null(situ_tensor_create(type, shape, data, &t));
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  assert_null(situ_tensor_print(t, stream));
  fclose(stream);
  assert_string_equal(text, expected);
  free(text);
  situ_tensor_release(t);
}

static void prints_strings_as_bytes(void **state) {
  (void)state;
  const char *texts[] = {"a", "it's", "q\"'\n\t\r\\\xff\x01 ~"};
  expect_print(SITU_STRING, SITU_SHAPE(3), texts,
               "[b'a' b\"it's\" b'q\"\\'\\n\\t\\r\\\\\\xff\\x01 ~']\n");
  expect_print(SITU_STRING, SITU_SCALAR, texts, "b'a'\n");
  expect_print(SITU_STRING, SITU_SHAPE(0), NULL, "[]\n");
}

static void prints_the_guides_result(void **state) {
  (void)state;
  const float product[] = {22, 28, 49, 64};
  expect_print(SITU_FLOAT, SITU_SHAPE(2, 2), product, "[[22. 28.]\n [49. 64.]]\n");
}

/* Where versions of NumPy differ: single numbers keep their digits up to 1e16, and the bound of
 * 1e-4 is taken in the type of the array. */
static void where_numpy_changed_its_mind(void **state) {
  (void)state;
  const float large = 1e10f, small = 1e-4f;
  expect_print(SITU_FLOAT, SITU_SCALAR, &large, "10000000000.0\n");
  expect_print(SITU_FLOAT, SITU_SHAPE(1), &small, "[0.0001]\n");
  expect_print(SITU_FLOAT, SITU_SCALAR, &small, "1e-04\n");
}

static void refuses_null(void **state) {
  (void)state;
  situ_status status = situ_tensor_print(NULL, stdout);
  assert_int_equal(situ_status_code(status), SITU_INVALID_ARGUMENT);
  situ_status_release(status);
  situ_tensor *t = NULL;
  assert_null(situ_tensor_create(SITU_FLOAT, SITU_SCALAR, NULL, &t));
  status = situ_tensor_print(t, NULL);
  assert_non_null(strstr(situ_status_message(status), "stream"));
  situ_status_release(status);
  FILE *full = fopen("/dev/full", "w");
  if (full) {
    setvbuf(full, NULL, _IONBF, 0);
    status = situ_tensor_print(t, full);
    assert_non_null(status);
    situ_status_release(status);
    fclose(full);
  }
  situ_tensor_release(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prints_as_numpy_does),
      cmocka_unit_test(prints_strings_as_bytes),
      cmocka_unit_test(prints_the_guides_result),
      cmocka_unit_test(where_numpy_changed_its_mind),
      cmocka_unit_test(refuses_null),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
