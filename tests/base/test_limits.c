/* SPDX-License-Identifier: Apache-2.0
 * test_limits.c: limits for small inputs, and the variables that raise them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/limits.h"

enum { MIB = 1 << 20 };

static void expansion_is_proportional(void **state) {
  (void)state;
  assert_true(limits_expansion(0) == 256 * (uint64_t)MIB);
  assert_true(limits_expansion(4 * MIB) == 256 * (uint64_t)MIB);
  assert_true(limits_expansion(5 * MIB) == 320 * (uint64_t)MIB);
  assert_true(limits_expansion(UINT64_MAX) == UINT64_MAX);
}

static void variables_set_the_limits(void **state) {
  (void)state;
  setenv("SITU_EXPANSION_LIMIT", "1KiB", 1);
  setenv("SITU_IMAGE_PIXELS", "100", 1);
  setenv("SITU_JPEG_SCANS", "3", 1);
  assert_true(limits_expansion(0) == 1024 && limits_expansion(100) == 6400);
  assert_int_equal(limits_image_pixels(), 100);
  assert_int_equal(limits_jpeg_scans(), 3);
  setenv("SITU_EXPANSION_LIMIT", "", 1);
  setenv("SITU_IMAGE_PIXELS", "", 1);
  setenv("SITU_JPEG_SCANS", "", 1);
  assert_true(limits_expansion(0) == 256 * (uint64_t)MIB);
  assert_int_equal(limits_image_pixels(), (1 << 29) - 1);
  assert_int_equal(limits_jpeg_scans(), 500);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(expansion_is_proportional),
                                     cmocka_unit_test(variables_set_the_limits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
