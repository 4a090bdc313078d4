/* SPDX-License-Identifier: Apache-2.0
 * test_log.c: messages of the library: where they go, their format, and how often they appear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"

/* Runs `body` with standard error in a file; the text it wrote is for the caller to free. */
static char *capture(void (*body)(void)) {
  FILE *file = tmpfile();
  assert_non_null(file);
  fflush(stderr);
  const int old = dup(STDERR_FILENO);
  assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
  body();
  fflush(stderr);
  assert_true(dup2(old, STDERR_FILENO) >= 0);
  close(old);
  const long size = lseek(fileno(file), 0, SEEK_END);
  char *text = calloc(1, (size_t)size + 1);
  assert_non_null(text);
  rewind(file);
  assert_int_equal(fread(text, 1, (size_t)size, file), size);
  fclose(file);
  return text;
}

static void warn_twice(void) {
  log_warn("%d device(s)", 2);
  log_warn("%d device(s)", 2);
}

static void every_warning_is_a_line(void **state) {
  (void)state;
  char *text = capture(warn_twice);
  assert_string_equal(text, "situ: 2 device(s)\nsitu: 2 device(s)\n");
  free(text);
}

static void warn_once_thrice(void) {
  for (int i = 0; i < 3; i++) {
    log_warn_once("ignored %s", "x");
    log_warn_once("ignored %s", "y");
  }
}

static void once_is_once_per_text(void **state) {
  (void)state;
  char *text = capture(warn_once_thrice);
  assert_string_equal(text, "situ: ignored x\nsitu: ignored y\n");
  free(text);
  text = capture(warn_once_thrice);
  assert_string_equal(text, "");
  free(text);
}

static void *warn_in_thread(void *argument) {
  for (int i = 0; i < 100; i++) log_warn_once("from a thread");
  return argument;
}

static void warn_from_threads(void) {
  pthread_t threads[4];
  for (size_t i = 0; i < COUNT_OF(threads); i++)
    assert_int_equal(pthread_create(&threads[i], NULL, warn_in_thread, NULL), 0);
  for (size_t i = 0; i < COUNT_OF(threads); i++) pthread_join(threads[i], NULL);
}

static void once_holds_among_threads(void **state) {
  (void)state;
  char *text = capture(warn_from_threads);
  assert_string_equal(text, "situ: from a thread\n");
  free(text);
}

static void warn_at_length(void) {
  char line[5000];
  memset(line, 'a', sizeof line - 1);
  line[sizeof line - 1] = 0;
  log_warn("%s", line);
}

static void long_lines_are_cut(void **state) {
  (void)state;
  char *text = capture(warn_at_length);
  const size_t length = strlen(text);
  assert_in_range(length, 1000, 4000);
  assert_int_equal(text[length - 1], '\n');
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_warning_is_a_line),
      cmocka_unit_test(once_is_once_per_text),
      cmocka_unit_test(once_holds_among_threads),
      cmocka_unit_test(long_lines_are_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
