/* SPDX-License-Identifier: Apache-2.0
 * test_strbuf.c: growing texts, and bytes as people read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/strbuf.h"

static void an_empty_text_is_empty(void **state) {
  (void)state;
  struct strbuf text = {0};
  assert_string_equal(strbuf_get(&text), "");
  strbuf_free(&text);
  strbuf_append(&text, "");
  assert_string_equal(strbuf_get(&text), "");
  assert_int_equal(text.length, 0);
  strbuf_free(&text);
}

static void parts_are_joined(void **state) {
  (void)state;
  struct strbuf text = {0};
  strbuf_append(&text, "b: ");
  strbuf_append_n(&text, "/device:GPU:0 and more", 13);
  strbuf_appendf(&text, "%c%s=%d", ' ', "x", 7);
  assert_string_equal(strbuf_get(&text), "b: /device:GPU:0 x=7");
  assert_int_equal(text.length, strlen(strbuf_get(&text)));
  assert_false(text.failed);
  strbuf_free(&text);
}

static void long_texts_grow(void **state) {
  (void)state;
  struct strbuf text = {0};
  for (int i = 0; i < 10000; i++) strbuf_appendf(&text, "%04d,", i);
  assert_int_equal(text.length, 50000);
  assert_memory_equal(strbuf_get(&text) + 5 * 9999, "9999,", 6);
  assert_memory_equal(strbuf_get(&text) + 5 * 25, "0025,0026,", 10);
  strbuf_free(&text);
  assert_null(text.data);
}

/* A text that failed once stays failed and does not touch memory. */
static void failure_stays(void **state) {
  (void)state;
  struct strbuf text = {.failed = true};
  strbuf_append(&text, "abc");
  strbuf_appendf(&text, "%d", 1);
  assert_true(text.failed);
  assert_string_equal(strbuf_get(&text), "");
  strbuf_free(&text);
}

static void bytes_read_well(void **state) {
  (void)state;
  static const struct {
    uint64_t bytes;
    const char *text;
  } cases[] = {
      {0, "0B"},
      {1023, "1023B"},
      {1024, "1.0KiB"},
      {1536, "1.5KiB"},
      {2 << 20, "2.00MiB"},
      {(uint64_t)11 << 30, "11.00GiB"},
      {((uint64_t)1 << 40) * 3 / 2, "1.50TiB"},
      {UINT64_MAX, "16.00EiB"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char out[32];
    assert_string_equal(strbuf_format_bytes(cases[i].bytes, out), cases[i].text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_empty_text_is_empty), cmocka_unit_test(parts_are_joined),
      cmocka_unit_test(long_texts_grow),        cmocka_unit_test(failure_stays),
      cmocka_unit_test(bytes_read_well),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
