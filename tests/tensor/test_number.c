/* SPDX-License-Identifier: Apache-2.0
 * test_number.c: shortest decimal representation, half precision, and round trips. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>

#include "tensor/number.h"

static void every_half_survives(void **state) {
  (void)state;
  for (uint32_t bits = 0; bits < 0x10000; bits++) {
    const double value = number_from_half((uint16_t)bits);
    const uint16_t back = number_to_half(value);
    if (isnan(value))
      assert_true(isnan(number_from_half(back)));
    else
      assert_int_equal(back, bits);
  }
}

static void halves_round_to_even(void **state) {
  (void)state;
  assert_int_equal(number_to_half(1 + 1.0 / 2048), 0x3c00);
  assert_int_equal(number_to_half(1 + 3.0 / 2048), 0x3c02);
  assert_int_equal(number_to_half(65519.99), 0x7bff);
  assert_int_equal(number_to_half(65520), 0x7c00);
  assert_int_equal(number_to_half(-1e300), 0xfc00);
  assert_int_equal(number_to_half(ldexp(1, -25)), 0);
  assert_int_equal(number_to_half(ldexp(1.1, -25)), 1);
  assert_int_equal(number_to_half(ldexp(2047, -25)), 0x0400);
}

static void expect_shortest(situ_type type, double value, const char *digits, int exponent) {
  struct decimal d;
  number_shortest(type, value, &d);
  d.digits[d.count] = 0;
  assert_string_equal(d.digits, digits);
  assert_int_equal(d.exponent, exponent);
  assert_int_equal(d.negative, signbit(value) != 0);
}

static void finds_the_shortest_digits(void **state) {
  (void)state;
  expect_shortest(SITU_DOUBLE, 0.1, "1", -1);
  expect_shortest(SITU_DOUBLE, 0.1 + 0.2, "30000000000000004", -1);
  expect_shortest(SITU_DOUBLE, 5e-324, "5", -324);
  expect_shortest(SITU_DOUBLE, ldexp(1, -44), "5684341886080802", -14);
  expect_shortest(SITU_DOUBLE, -1e23, "1", 23);
  expect_shortest(SITU_DOUBLE, 0, "0", 0);
  expect_shortest(SITU_DOUBLE, -0.0, "0", 0);
  expect_shortest(SITU_FLOAT, (double)0.1f, "1", -1);
  expect_shortest(SITU_FLOAT, 16777216, "16777216", 7);
  expect_shortest(SITU_HALF, number_from_half(0x7bff), "655", 4);
  expect_shortest(SITU_HALF, 10, "1", 1);
}

static void expect_written(situ_type type, double value, const char *expected) {
  struct strbuf text = {0};
  number_write(&text, type, value);
  assert_string_equal(strbuf_get(&text), expected);
  strbuf_free(&text);
}

static void writes_what_reads_back(void **state) {
  (void)state;
  expect_written(SITU_FLOAT, 1, "1");
  expect_written(SITU_FLOAT, -0.5, "-0.5");
  expect_written(SITU_FLOAT, 0, "0");
  expect_written(SITU_DOUBLE, -0.0, "-0");
  expect_written(SITU_FLOAT, 1200, "1200");
  expect_written(SITU_FLOAT, 12.25, "12.25");
  expect_written(SITU_DOUBLE, 0.00012, "0.00012");
  expect_written(SITU_DOUBLE, 1e-7, "1e-07");
  expect_written(SITU_DOUBLE, 1.25e100, "1.25e+100");
  expect_written(SITU_FLOAT, (double)INFINITY, "inf");
  expect_written(SITU_FLOAT, -(double)INFINITY, "-inf");
  expect_written(SITU_FLOAT, (double)NAN, "nan");
}

static void random_doubles_read_back(void **state) {
  (void)state;
  uint64_t bits = 88172645463325252u;
  for (int i = 0; i < 2000; i++) {
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
    double value = 0;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) continue;
    struct strbuf text = {0};
    number_write(&text, SITU_DOUBLE, value);
    assert_true(strtod(strbuf_get(&text), NULL) == value);
    strbuf_free(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_half_survives),       cmocka_unit_test(halves_round_to_even),
      cmocka_unit_test(finds_the_shortest_digits), cmocka_unit_test(writes_what_reads_back),
      cmocka_unit_test(random_doubles_read_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
