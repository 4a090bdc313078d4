/* SPDX-License-Identifier: Apache-2.0
 * test_visible.c: masks from the environment, lists from a session's options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "device/visible.h"

static const struct visible_device gpus[] = {
    {"0000:02:00.0", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"},
    {"0000:03:00.0", "GPU-8932ffff-d72c-4106-c12f-20bd9faed9f6"},
    {"0000:83:00.0", "GPU-11111111-d72c-4106-c12f-20bd9faed9f6"},
    {"0001:84:00.0", NULL},
};

/* "2 0" for the indices 2 and 0. */
static const char *join(const int *indices, int n, char out[64]) {
  out[0] = 0;
  for (int i = 0; i < n; i++)
    snprintf(out + strlen(out), 64 - strlen(out), "%s%d", i ? " " : "", indices[i]);
  return out;
}

static void assert_mask(const char *value, const char *indices, const char *note) {
  int found[COUNT_OF(gpus)];
  char said[VISIBLE_NOTE_SIZE], joined[64];
  const int n = visible_mask("CUDA_VISIBLE_DEVICES", value, gpus, COUNT_OF(gpus), found, said);
  assert_string_equal(join(found, n, joined), indices);
  if (!strstr(said, note) || (!*note && *said)) fail_msg("'%s' lacks '%s'", said, note);
}

static void forms_of_the_cuda_guide(void **state) {
  (void)state;
  assert_mask(NULL, "0 1 2 3", "");
  assert_mask("", "", "");
  assert_mask("\"\"", "", "");
  assert_mask("1", "1", "");
  assert_mask("0,1", "0 1", "");
  assert_mask("\"0,1\"", "0 1", "");
  assert_mask(" '2, 1' ", "2 1", "");
  assert_mask("0,2,3", "0 2 3", "");
}

static void uuids_and_bus_ids(void **state) {
  (void)state;
  assert_mask("GPU-11111111-d72c-4106-c12f-20bd9faed9f6,GPU-8932f9", "2 0", "");
  assert_mask(
      "GPU-8932f", "",
      "CUDA_VISIBLE_DEVICES=GPU-8932f: 'GPU-8932f' names no GPU, so the list ends before it.");
  assert_mask("GPU-", "", "names no GPU");
  assert_mask("0000:83:00.0,03:00.0", "2 1", "");
  assert_mask("00000000:02:00.0,0001:84:00.0", "0 3", "");
  assert_mask("84:00.0", "", "names no GPU");
  assert_mask("3,GPU-1", "3 2", "");
}

static void list_ends_at_first_invalid_entry(void **state) {
  (void)state;
  assert_mask("-1", "", "");
  assert_mask("0,2,-1", "0 2", "");
  assert_mask("0,2,-1,1", "0 2",
              "CUDA_VISIBLE_DEVICES=0,2,-1,1: '-1' names no GPU, so the list ends before it.");
  assert_mask("7,0", "", "'7' names no GPU");
  assert_mask("0,7,1", "0", "'7' names no GPU");
  assert_mask("0,,1", "0", "'' names no GPU");
  assert_mask("none", "", "'none' names no GPU");
  assert_mask("99999999999999999999", "", "names no GPU");
}

static void duplicate_device_hides_all(void **state) {
  (void)state;
  assert_mask("0,1,0", "", "'0' names a GPU a second time, so none is visible");
  assert_mask("0,02:00.0", "", "'02:00.0' names a GPU a second time");
}

static void long_values_are_truncated(void **state) {
  (void)state;
  char value[2000];
  memset(value, 'x', sizeof value - 1);
  value[sizeof value - 1] = 0;
  assert_mask(value, "", "xxx' names no GPU, so the list ends before it.");
}

static void situ_variable_takes_precedence(void **state) {
  (void)state;
  const char *variable;
  unsetenv("SITU_VISIBLE_DEVICES");
  unsetenv("CUDA_VISIBLE_DEVICES");
  assert_null(visible_environment(&variable));
  assert_null(variable);
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  assert_string_equal(visible_environment(&variable), "1");
  assert_string_equal(variable, "CUDA_VISIBLE_DEVICES");
  setenv("SITU_VISIBLE_DEVICES", "", 1);
  assert_string_equal(visible_environment(&variable), "");
  assert_string_equal(variable, "SITU_VISIBLE_DEVICES");
  unsetenv("SITU_VISIBLE_DEVICES");
  unsetenv("CUDA_VISIBLE_DEVICES");
}

static void assert_list(const char *list, int count, const char *result) {
  int found[8], n = -1;
  char joined[64];
  situ_status s = visible_list(list, count, found, &n);
  if (s) assert_int_equal(situ_status_code(s), SITU_INVALID_ARGUMENT);
  assert_string_equal(s ? situ_status_message(s) : join(found, n, joined), result);
  situ_status_release(s);
}

static void visible_device_list(void **state) {
  (void)state;
  assert_list("", 3, "0 1 2");
  assert_list(NULL, 2, "0 1");
  assert_list("", 0, "");
  assert_list("5,3", 8, "5 3");
  assert_list("1, 0", 2, "1 0");
  assert_list("0,abc", 1,
              "Could not parse entry in 'visible_device_list': 'abc'. visible_device_list = 0,abc");
  assert_list("0,", 2,
              "Could not parse entry in 'visible_device_list': ''. visible_device_list = 0,");
  assert_list("100", 1,
              "'visible_device_list' listed an invalid GPU id '100' but visible device count is 1");
  assert_list("0,0,0,0,0", 1, "visible_device_list contained a duplicate entry: 0,0,0,0,0");
}

static void device_count_keeps_the_first(void **state) {
  (void)state;
  assert_int_equal(visible_keep(4, 2), 2);
  assert_int_equal(visible_keep(4, 0), 0);
  assert_int_equal(visible_keep(4, 9), 4);
  assert_int_equal(visible_keep(4, -1), 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forms_of_the_cuda_guide),
      cmocka_unit_test(uuids_and_bus_ids),
      cmocka_unit_test(list_ends_at_first_invalid_entry),
      cmocka_unit_test(duplicate_device_hides_all),
      cmocka_unit_test(long_values_are_truncated),
      cmocka_unit_test(situ_variable_takes_precedence),
      cmocka_unit_test(visible_device_list),
      cmocka_unit_test(device_count_keeps_the_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
