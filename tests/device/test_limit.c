/* SPDX-License-Identifier: Apache-2.0
 * test_limit.c: the memory limit of a device for each option. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "device/limit.h"

static const uint64_t MIB = 1 << 20, GIB = 1 << 30;

static void assert_failure(situ_status s, situ_code code, const char *text) {
  assert_int_equal(situ_status_code(s), code);
  assert_non_null(strstr(situ_status_message(s), text));
  situ_status_release(s);
}

static void default_leaves_a_reserve(void **state) {
  (void)state;
  assert_int_equal(limit_default(100 * MIB), 100 * MIB);
  assert_int_equal(limit_default(225 * MIB), 225 * MIB);
  assert_int_equal(limit_default(226 * MIB), MIB);
  assert_int_equal(limit_default(2 * GIB - 1), 2 * GIB - 1 - 225 * MIB);
  assert_int_equal(limit_default(2 * GIB), 2 * GIB - 300 * MIB);
  assert_int_equal(limit_default(12 * GIB), UINT64_C(12240656794));
  assert_int_equal(limit_default(0), 0);
}

static void fraction_is_of_total_memory(void **state) {
  (void)state;
  uint64_t limit = 7;
  assert_null(limit_fraction(12 * GIB, 0.4, 3, &limit));
  assert_int_equal(limit, UINT64_C(5153960755));
  assert_null(limit_fraction(12 * GIB, 1, 3, &limit));
  assert_int_equal(limit, 12 * GIB);
  assert_failure(limit_fraction(12 * GIB, 1.5, 6, &limit), SITU_UNIMPLEMENTED, "unified memory");
  assert_failure(limit_fraction(GIB, 1.5, 5, &limit), SITU_INTERNAL,
                 "Unified memory on GPUs with compute capability lower than 6.0");
  assert_failure(limit_fraction(GIB, -0.5, 5, &limit), SITU_INVALID_ARGUMENT, "-0.5");
  assert_failure(limit_fraction(GIB, (double)NAN, 5, &limit), SITU_INVALID_ARGUMENT, "nan");
  assert_failure(limit_fraction(GIB, 1e30, 7, &limit), SITU_UNIMPLEMENTED, "1e+30");
  assert_int_equal(limit, 12 * GIB);
  assert_failure(limit_fraction(GIB, 1e-30, 7, &limit), SITU_INVALID_ARGUMENT, "less than a byte");
}

static void limit_and_reserve(void **state) {
  (void)state;
  uint64_t limit = 7;
  assert_null(limit_bytes(GIB, MIB, &limit));
  assert_int_equal(limit, MIB);
  assert_null(limit_bytes(GIB, 2 * GIB, &limit));
  assert_int_equal(limit, GIB);
  assert_failure(limit_bytes(GIB, 0, &limit), SITU_INVALID_ARGUMENT, "above 0");
  assert_null(limit_reserve(GIB, 24 * MIB, &limit));
  assert_int_equal(limit, 1000 * MIB);
  assert_failure(limit_reserve(GIB, GIB, &limit), SITU_RESOURCE_EXHAUSTED, "1.00GiB");
  assert_int_equal(limit, 1000 * MIB);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(default_leaves_a_reserve),
      cmocka_unit_test(fraction_is_of_total_memory),
      cmocka_unit_test(limit_and_reserve),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
