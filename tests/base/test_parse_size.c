/* SPDX-License-Identifier: Apache-2.0
 * test_parse_size.c: sizes and rates as people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/parse_size.h"

static void assert_size(const char *text, uint64_t bytes) {
  uint64_t out = 1;
  situ_status s = parse_size(text, &out);
  if (s) fail_msg("'%s': %s", text, situ_status_message(s));
  if (out != bytes) fail_msg("'%s' is %llu", text, (unsigned long long)out);
}

static void assert_no_size(const char *text, const char *message) {
  uint64_t out = 7;
  situ_status s = parse_size(text, &out);
  assert_int_equal(situ_status_code(s), SITU_INVALID_ARGUMENT);
  if (!strstr(situ_status_message(s), message))
    fail_msg("'%s' lacks '%s'", situ_status_message(s), message);
  assert_int_equal(out, 7);
  situ_status_release(s);
}

static void every_unit_is_read(void **state) {
  (void)state;
  assert_size("0", 0);
  assert_size("300", 300);
  assert_size("300B", 300);
  assert_size("2KiB", 2048);
  assert_size("3MiB", 3 << 20);
  assert_size("12GiB", UINT64_C(12) << 30);
  assert_size("1TiB", UINT64_C(1) << 40);
  assert_size("2KB", 2000);
  assert_size("2MB", 2000000);
  assert_size("2GB", UINT64_C(2000000000));
  assert_size("2TB", UINT64_C(2000000000000));
  assert_size("12 gib", UINT64_C(12) << 30);
}

static void fractions_are_exact(void **state) {
  (void)state;
  assert_size("1.5GiB", UINT64_C(3) << 29);
  assert_size("0.5", 0);
  assert_size("1.9B", 1);
  assert_size("0.1KB", 100);
  assert_size("0.3GB", 300000000);
  assert_size("1.0000000000000000000000000000001KiB", 1024);
  assert_size("0.99999999999999999999999999999999KiB", 1023);
  assert_size("18446744073709551615", UINT64_MAX);
  assert_size("18446744073709551.615KB", UINT64_MAX);
  assert_size("16777215.999999TiB", UINT64_C(18446744073708452104));
}

static void errors_give_the_place(void **state) {
  (void)state;
  assert_no_size("", "expected a digit at character 0");
  assert_no_size("GiB", "expected a digit at character 0");
  assert_no_size("-1", "expected a digit at character 0");
  assert_no_size("1.", "expected a digit at character 2");
  assert_no_size("1.GiB", "expected a digit at character 2");
  assert_no_size("12Gi", "Malformed size '12Gi': expected B, KiB");
  assert_no_size("12Gi", "at character 2");
  assert_no_size("12 ", "at character 3");
  assert_no_size("12GiBs", "at character 2");
  assert_no_size("1e3", "at character 1");
  assert_no_size(NULL, "the string is NULL");
}

static void too_much_is_an_error(void **state) {
  (void)state;
  assert_no_size("18446744073709551616", "exceeds 64 bits");
  assert_no_size("16777216TiB", "exceeds 64 bits");
  assert_no_size("18446744073709551.616KB", "exceeds 64 bits");
  assert_no_size("99999999999999999999999999GiB", "exceeds 64 bits");
}

static void assert_rate(const char *text, double rate) {
  double out = 0;
  size_t position = 0;
  situ_status s = parse_rate_n(text, strlen(text), &out, &position);
  if (s) fail_msg("'%s': %s", text, situ_status_message(s));
  if (out != rate) fail_msg("'%s' is %.17g", text, out);
}

static void assert_no_rate(const char *text, size_t where) {
  double out = 7;
  size_t position = 99;
  situ_status s = parse_rate_n(text, strlen(text), &out, &position);
  assert_int_equal(situ_status_code(s), SITU_INVALID_ARGUMENT);
  assert_int_equal(position, where);
  assert_true(out == 7);
  situ_status_release(s);
}

static void rates(void **state) {
  (void)state;
  assert_rate("250", 250);
  assert_rate("0.25", 0.25);
  assert_rate("288G", 288e9);
  assert_rate("4.3T", 4.3e12);
  assert_rate("12.5e9", 12.5e9);
  assert_rate("5E-1K", 500);
  assert_no_rate("", 0);
  assert_no_rate("0", 0);
  assert_no_rate("-3", 0);
  assert_no_rate("3GB", 2);
  assert_no_rate("3e", 1);
  assert_no_rate("1e999", 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_unit_is_read),
      cmocka_unit_test(fractions_are_exact),
      cmocka_unit_test(errors_give_the_place),
      cmocka_unit_test(too_much_is_an_error),
      cmocka_unit_test(rates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
