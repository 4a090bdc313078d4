/* SPDX-License-Identifier: Apache-2.0
 * test_status.c: codes, texts, notes, nodes and ownership of statuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"

static void success_is_null(void **state) {
  (void)state;
  assert_int_equal(situ_status_code(NULL), SITU_OK);
  assert_string_equal(situ_status_message(NULL), "");
  assert_null(situ_status_node(NULL));
  situ_status_release(NULL);
  assert_int_equal(situ_status_report(NULL, stdout), 0);
}

static void carries_code_and_text(void **state) {
  (void)state;
  situ_status s = situ_status_create(SITU_NOT_FOUND, "no %s in %d places", "device", 3);
  assert_int_equal(situ_status_code(s), SITU_NOT_FOUND);
  assert_string_equal(situ_status_message(s), "no device in 3 places");
  assert_null(situ_status_node(s));
  situ_status_release(s);
}

static void long_texts_are_whole(void **state) {
  (void)state;
  char *long_text = malloc(100001);
  assert_non_null(long_text);
  memset(long_text, 'x', 100000);
  long_text[100000] = 0;
  situ_status s = INVALID("%s!", long_text);
  assert_int_equal(strlen(situ_status_message(s)), 100001);
  assert_int_equal(situ_status_message(s)[100000], '!');
  situ_status_release(s);
  free(long_text);
}

/* TensorFlow's numbers and Python's classes. */
static void codes_have_their_names(void **state) {
  (void)state;
  assert_int_equal(SITU_INVALID_ARGUMENT, 3);
  assert_int_equal(SITU_RESOURCE_EXHAUSTED, 8);
  assert_int_equal(SITU_UNAUTHENTICATED, 16);
  assert_string_equal(situ_code_name(SITU_INVALID_ARGUMENT), "INVALID_ARGUMENT");
  assert_string_equal(situ_code_name((situ_code)99), "UNKNOWN");
  assert_string_equal(situ_code_python(SITU_RESOURCE_EXHAUSTED), "ResourceExhaustedError");
  assert_string_equal(situ_code_python((situ_code)99), "UnknownError");
}

static void notes_follow_on_lines(void **state) {
  (void)state;
  situ_status s = status_note(INVALID("first"), "second %d", 2);
  s = status_note(s, "third");
  assert_string_equal(situ_status_message(s), "first\nsecond 2\nthird");
  situ_status_release(s);
  assert_null(status_note(NULL, "nothing to note"));
}

static void first_node_stays(void **state) {
  (void)state;
  situ_status s = status_at_node(INTERNAL("failed"), "MatMul_1");
  s = status_at_node(s, "outer");
  assert_string_equal(situ_status_node(s), "MatMul_1");
  assert_null(status_at_node(NULL, "x"));
  situ_status_release(s);
}

static void first_failure_stays(void **state) {
  (void)state;
  situ_status a = INVALID("a");
  assert_ptr_equal(status_first(a, INVALID("b")), a);
  assert_ptr_equal(status_first(NULL, a), a);
  assert_ptr_equal(status_first(a, NULL), a);
  assert_null(status_first(NULL, NULL));
  situ_status_release(a);
}

static void copies_are_independent(void **state) {
  (void)state;
  situ_status a = status_at_node(situ_status_create(SITU_ABORTED, "text"), "n");
  situ_status b = status_copy(a);
  assert_ptr_not_equal(a, b);
  situ_status_release(a);
  assert_int_equal(situ_status_code(b), SITU_ABORTED);
  assert_string_equal(situ_status_message(b), "text");
  assert_string_equal(situ_status_node(b), "n");
  situ_status_release(b);
  assert_null(status_copy(NULL));
}

/* The fixed status may be noted, copied and released any number of times. */
static void no_memory_needs_none(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    situ_status s = status_at_node(status_note(status_copy(NO_MEMORY()), "note"), "node");
    assert_ptr_equal(s, NO_MEMORY());
    assert_int_equal(situ_status_code(s), SITU_RESOURCE_EXHAUSTED);
    assert_null(strstr(situ_status_message(s), "note"));
    situ_status_release(s);
  }
}

static void report_prints_and_frees(void **state) {
  (void)state;
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  assert_non_null(stream);
  assert_int_equal(situ_status_report(INVALID("Cannot do %s", "it"), stream), 1);
  fclose(stream);
  assert_string_equal(text, "InvalidArgumentError: Cannot do it\n");
  free(text);
}

static situ_status try_twice(situ_status first, int *reached) {
  TRY(first);
  ++*reached;
  return NULL;
}

static void try_returns_failures(void **state) {
  (void)state;
  int reached = 0;
  assert_null(try_twice(NULL, &reached));
  assert_int_equal(reached, 1);
  situ_status s = try_twice(INVALID("no"), &reached);
  assert_non_null(s);
  assert_int_equal(reached, 1);
  situ_status_release(s);
}

static void small_helpers(void **state) {
  (void)state;
  assert_int_equal(min_i64(-3, 2), -3);
  assert_int_equal(max_i64(-3, 2), 2);
  assert_int_equal(round_up(0, 16), 0);
  assert_int_equal(round_up(1, 16), 16);
  assert_int_equal(round_up(256, 256), 256);
  assert_int_equal(round_up(257, 256), 512);
  const int three[3] = {0};
  assert_int_equal(COUNT_OF(three), 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(success_is_null),       cmocka_unit_test(carries_code_and_text),
      cmocka_unit_test(long_texts_are_whole),  cmocka_unit_test(codes_have_their_names),
      cmocka_unit_test(notes_follow_on_lines), cmocka_unit_test(first_node_stays),
      cmocka_unit_test(first_failure_stays),   cmocka_unit_test(copies_are_independent),
      cmocka_unit_test(no_memory_needs_none),  cmocka_unit_test(report_prints_and_frees),
      cmocka_unit_test(try_returns_failures),  cmocka_unit_test(small_helpers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
