/* SPDX-License-Identifier: Apache-2.0
 * test_environment.c: environment variables with invalid values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "device/environment.h"
#include "support/expect.h"

static void invalid_values_are_errors(void **state) {
  (void)state;
  static const struct {
    const char *name, *value, *takes;
  } cases[] = {
      {"SITU_THREADS", "-1", "expected an integer from 1 to 1024"},
      {"SITU_THREADS", "0", "from 1 to 1024"},
      {"SITU_THREADS", "two", "from 1 to 1024"},
      {"SITU_THREADS", "99999999999999999999", "from 1 to 1024"},
      {"SITU_THREADS", "4x", "from 1 to 1024"},
      {"SITU_SEED", "abc", "an integer"},
      {"SITU_SEED", "1.5", "an integer"},
      {"SITU_EXPANSION_LIMIT", "0", "expected a size"},
      {"SITU_EXPANSION_LIMIT", "4 apples", "expected a size"},
      {"SITU_IMAGE_PIXELS", "0", "from 1 to"},
      {"SITU_HDF5_SECONDS", "-1", "from 0 to"},
      {"SITU_JPEG_SCANS", "many", "from 1 to"},
      {"SITU_CUDA", "off", "expected 0 or 1"},
      {"SITU_STRICT", "maybe", "expected 0 or 1"},
      {"SITU_ONEDNN", "2", "expected 0 or 1"},
      {"SITU_CHECK_NUMERICS", "-1", "expected 0 or 1"},
      {"SITU_NCCL", "no", "expected 0 or 1"},
      {"SITU_CUBLAS", "00", "expected 0 or 1"},
      {"SITU_DEVICE_NAMES", "short", "expected legacy"},
      {"SITU_CLUSTER_TIMEOUT", "-5", "seconds above 0"},
      {"SITU_CLUSTER_TIMEOUT", "0", "seconds above 0"},
      {"SITU_CLUSTER_TIMEOUT", "1.2.3", "seconds above 0"},
      {"SITU_CLUSTER_MACHINE_SIZE", "0", "from 1 to"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    setenv(cases[i].name, cases[i].value, 1);
    FAILS(environment_check(), SITU_INVALID_ARGUMENT, cases[i].takes);
    FAILS(environment_check(), SITU_INVALID_ARGUMENT, cases[i].name);
    FAILS(environment_check(), SITU_INVALID_ARGUMENT, cases[i].value);
    unsetenv(cases[i].name);
  }
}

static void valid_and_empty_values_pass(void **state) {
  (void)state;
  static const char *const cases[][2] = {{"SITU_THREADS", "1"},
                                         {"SITU_THREADS", "1024"},
                                         {"SITU_THREADS", ""},
                                         {"SITU_SEED", "-7"},
                                         {"SITU_SEED", ""},
                                         {"SITU_EXPANSION_LIMIT", "4GiB"},
                                         {"SITU_IMAGE_PIXELS", "1000000"},
                                         {"SITU_JPEG_SCANS", "1"},
                                         {"SITU_HDF5_SECONDS", "0"},
                                         {"SITU_CUDA", "0"},
                                         {"SITU_CUDA", "1"},
                                         {"SITU_DEVICE_NAMES", "legacy"},
                                         {"SITU_DEVICE_NAMES", ""},
                                         {"SITU_CLUSTER_TIMEOUT", "5"},
                                         {"SITU_CLUSTER_TIMEOUT", "0.5"}};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    setenv(cases[i][0], cases[i][1], 1);
    assert_null(environment_check());
    unsetenv(cases[i][0]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(invalid_values_are_errors),
      cmocka_unit_test(valid_and_empty_values_pass),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
