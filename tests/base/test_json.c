/* SPDX-License-Identifier: Apache-2.0
 * test_json.c: valid and invalid JSON, and round trips. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"

/* Parses and writes. */
static void assert_round_trip_n(const char *text, size_t length, const char *written) {
  struct arena arena = {0};
  struct strbuf out = {0};
  struct json *value = NULL;
  situ_status s = json_parse(text, length, &arena, &value);
  if (s) fail_msg("'%s': %s", text, situ_status_message(s));
  json_write(&out, value);
  assert_string_equal(strbuf_get(&out), written);
  strbuf_free(&out);
  arena_free(&arena);
}

static void assert_round_trip(const char *text, const char *written) {
  assert_round_trip_n(text, strlen(text), written);
}

static void assert_rejects_n(const char *text, size_t length, const char *message) {
  struct arena arena = {0};
  struct json *value = NULL;
  char *copy = malloc(
      length ? length : 1); /* not terminated, so that sanitizers detect a read past the end */
  assert_non_null(copy);
  memcpy(copy, text, length);
  situ_status s = json_parse(copy, length, &arena, &value);
  if (!s) fail_msg("'%s' was read", text);
  assert_int_equal(situ_status_code(s), SITU_INVALID_ARGUMENT);
  if (!strstr(situ_status_message(s), message))
    fail_msg("'%s': '%s' lacks '%s'", text, situ_status_message(s), message);
  assert_null(value);
  situ_status_release(s);
  free(copy);
  arena_free(&arena);
}

static void assert_rejects(const char *text, const char *message) {
  assert_rejects_n(text, strlen(text), message);
}

static void values(void **state) {
  (void)state;
  assert_round_trip(" null ", "null");
  assert_round_trip("true", "true");
  assert_round_trip("\tfalse\r\n", "false");
  assert_round_trip("[]", "[]");
  assert_round_trip("{ }", "{}");
  assert_round_trip("[1,[2,{\"a\":[ ]}], \"x\"]", "[1, [2, {\"a\": []}], \"x\"]");
  assert_round_trip("{\"b\":1,\"a\":null}", "{\"b\": 1, \"a\": null}");
}

static void numbers(void **state) {
  (void)state;
  assert_round_trip("0", "0");
  assert_round_trip("-12", "-12");
  assert_round_trip("9223372036854775807", "9223372036854775807");
  assert_round_trip("-9223372036854775808", "-9223372036854775808");
  assert_round_trip("9223372036854775808", "9.223372036854776e+18");
  assert_round_trip("1.5", "1.5");
  assert_round_trip("1e3", "1000.0");
  assert_round_trip("-0.0", "-0.0");
  assert_round_trip("0.1", "0.1");
  assert_round_trip("2.2250738585072014E-308", "2.2250738585072014e-308");
  assert_round_trip("1e-999", "0.0");
  assert_rejects("01", "a number that begins with 0 at line 1, column 1");
  assert_rejects("+1", "expected a value");
  assert_rejects("-", "expected a digit at line 1, column 2");
  assert_rejects("1.", "expected a digit at line 1, column 3");
  assert_rejects(".5", "expected a value");
  assert_rejects("1e", "expected a digit");
  assert_rejects("1e999", "a number too large");
  assert_rejects("NaN", "expected a value");
  assert_rejects("0x10", "expected the end at line 1, column 2");
}

static void strings(void **state) {
  (void)state;
  assert_round_trip("\"\"", "\"\"");
  assert_round_trip("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"a\\\"\\\\/\\b\\f\\n\\r\\t\"");
  assert_round_trip("\"\\u0041\\u00e9\\u20AC\\ud83d\\uDE00\"",
                    "\"A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"");
  assert_round_trip("\"\\u0000\\u001f\"", "\"\\u0000\\u001f\"");
  assert_round_trip("\"\xF0\x9F\x98\x80\"", "\"\xF0\x9F\x98\x80\"");
  assert_rejects("\"a", "an unterminated string at line 1, column 1");
  assert_rejects("\"a\\", "an unknown escape at line 1, column 3");
  assert_rejects("\"\\x\"", "an unknown escape at line 1, column 2");
  assert_rejects("\"\\u12g4\"", "expected four hexadecimal digits at line 1, column 6");
  assert_rejects("\"\\ud800\"", "half of a surrogate pair");
  assert_rejects("\"\\ud800\\u0041\"", "half of a surrogate pair");
  assert_rejects("\"\\udc00\"", "half of a surrogate pair");
  assert_rejects("\"a\nb\"", "a control character in a string at line 1, column 3");
}

static void invalid_utf8_is_rejected(void **state) {
  (void)state;
  static const char *const wrong[] = {"\"\x80\"",
                                      "\"\xC0\xAF\"",
                                      "\"\xE0\x80\xAF\"",
                                      "\"\xED\xA0\x80\"",
                                      "\"\xF4\x90\x80\x80\"",
                                      "\"\xF8\x88\x80\x80\"",
                                      "\"\xE2\x82\"",
                                      "\"\xC3"};
  for (size_t i = 0; i < COUNT_OF(wrong); i++)
    assert_rejects(wrong[i], "a byte that is not UTF-8 at line 1, column 2");
}

static void malformed_documents_are_rejected(void **state) {
  (void)state;
  assert_rejects("", "expected a value at line 1, column 1");
  assert_rejects("[1,\n 2,\n  x]", "expected a value at line 3, column 3");
  assert_rejects("[1 2]", "expected ',' or ']' at line 1, column 4");
  assert_rejects("[1,]", "expected a value at line 1, column 4");
  assert_rejects("[", "expected a value");
  assert_rejects("{\"a\":1,}", "expected a string at line 1, column 8");
  assert_rejects("{a:1}", "expected a string");
  assert_rejects("{\"a\" 1}", "expected ':'");
  assert_rejects("{\"a\":1]", "expected ',' or '}'");
  assert_rejects("nul", "expected a value");
  assert_rejects("1 1", "expected the end");
  assert_rejects("{\"b\":1,\"a\":1,\"c\":2,\"a\":2}", "with a duplicate key at line 1, column 1");
  assert_rejects_n("1\0", 2, "expected the end");
}

static void depth_is_limited(void **state) {
  (void)state;
  char text[2 * JSON_DEPTH + 3];
  memset(text, '[', JSON_DEPTH);
  memset(text + JSON_DEPTH, ']', JSON_DEPTH);
  text[2 * JSON_DEPTH] = 0;
  assert_round_trip(text, text);
  memset(text, '[', JSON_DEPTH + 1);
  memset(text + JSON_DEPTH + 1, ']', JSON_DEPTH + 1);
  text[2 * JSON_DEPTH + 2] = 0;
  assert_rejects(text, "too many levels at line 1, column 101");
}

static void access(void **state) {
  (void)state;
  struct arena arena = {0};
  struct json *value = NULL;
  const char *text = "{\"n\": 3, \"r\": 2.5, \"t\": true, \"s\": \"x\", \"l\": [10, 20, 30]}";
  assert_null(json_parse(text, strlen(text), &arena, &value));
  assert_int_equal(value->count, 5);
  assert_int_equal(json_integer(json_get(value, "n"), -1), 3);
  assert_int_equal(json_integer(json_get(value, "r"), -1), -1);
  assert_int_equal(json_integer(json_get(value, "none"), -1), -1);
  assert_true(json_number(json_get(value, "n"), -1) == 3);
  assert_true(json_number(json_get(value, "r"), -1) == 2.5);
  assert_true(json_bool(json_get(value, "t"), false));
  assert_string_equal(json_string(json_get(value, "s"), "?"), "x");
  assert_string_equal(json_string(json_get(value, "n"), "?"), "?");
  const struct json *list = json_get(value, "l");
  assert_int_equal(json_integer(json_at(list, 2), -1), 30);
  assert_null(json_at(list, 3));
  assert_null(json_at(list, -1));
  assert_null(json_at(value, 0));
  assert_null(json_get(list, "n"));
  assert_null(json_get(NULL, "n"));
  int64_t sum = 0;
  for (const struct json *c = json_first(list); c; c = c->next) sum += json_integer(c, 0);
  assert_int_equal(sum, 60);
  assert_null(json_first(json_get(value, "n")));
  assert_string_equal(json_kind_name(list->kind), "an array");
  arena_free(&arena);
}

static void writing(void **state) {
  (void)state;
  struct strbuf out = {0};
  json_write_string(&out, "a\xFF\x7F\xC3");
  json_write_real(&out, 1.0 / 3);
  strbuf_append(&out, " ");
  json_write_real(&out, (double)INFINITY);
  strbuf_append(&out, " ");
  json_write_integer(&out, INT64_MIN);
  assert_string_equal(strbuf_get(&out),
                      "\"a\xEF\xBF\xBD\\u007f\xEF\xBF\xBD\"0.3333333333333333 null "
                      "-9223372036854775808");
  strbuf_free(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values),
      cmocka_unit_test(numbers),
      cmocka_unit_test(strings),
      cmocka_unit_test(invalid_utf8_is_rejected),
      cmocka_unit_test(malformed_documents_are_rejected),
      cmocka_unit_test(depth_is_limited),
      cmocka_unit_test(access),
      cmocka_unit_test(writing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
