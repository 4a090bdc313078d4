/* SPDX-License-Identifier: Apache-2.0
 * test_selftest.c: the self-test passes on devices that work, and finds what does not. */
#include "api/helpers.h"

#include "situ/selftest.h"

struct seen {
  int problems, figures, queues, ops;
  char problem[512];
};

static void see(void *context, const situ_selftest_check *check) {
  struct seen *seen = context;
  seen->queues += !strcmp(check->part, "queues");
  seen->ops += !strcmp(check->part, "ops");
  seen->figures += check->figure != NULL;
  if (check->problem && !seen->problems++)
    snprintf(seen->problem, sizeof seen->problem, "%s", check->problem);
}

static situ_selftest_result look(const char *device, const char *op, double seconds,
                                 struct seen *seen) {
  situ_selftest_result result;
  *seen = (struct seen){0};
  OK(situ_selftest(
      &(situ_selftest_options){
          .device = device, .op = op, .seconds = seconds, .seen = see, .context = seen},
      &result));
  assert_int_equal(result.failed, seen->problems);
  return result;
}

static void a_device_that_works_passes(void **state) {
  (void)state;
  struct seen seen;
  fleet("A=256MiB,B=256MiB");
  const situ_selftest_result result = look("/gpu:1", NULL, 0, &seen);
  if (seen.problems) print_error("%s\n", seen.problem);
  assert_int_equal(result.failed, 0);
  assert_true(result.ops > 150 && result.ops_run == result.ops);
  assert_true(result.halves > 100 && result.halves_run == result.halves);
  assert_true(seen.queues >= 4 && seen.figures >= 2);
}

static void one_op_alone(void **state) {
  (void)state;
  struct seen seen;
  fleet("A=256MiB");
  const situ_selftest_result result = look("/gpu:0", "MatMul", 0, &seen);
  assert_int_equal(result.checks, 2);
  assert_int_equal(seen.ops, 1);
  assert_int_equal(result.halves_run, 1);
  assert_int_equal(result.failed, 0);
}

static void a_short_time_tries_little(void **state) {
  (void)state;
  struct seen seen;
  fleet("A=256MiB");
  const situ_selftest_result result = look("/gpu:0", "*", 1e-9, &seen);
  assert_true(result.ops > 150);
  assert_int_equal(result.ops_run, 0);
}

static void a_device_that_fails_is_found(void **state) {
  (void)state;
  struct seen seen;
  fleet("A=256MiB;lost_after=100");
  const situ_selftest_result result = look("/gpu:0", "*", 0, &seen);
  assert_true(result.failed > 0);
  assert_non_null(strstr(seen.problem, "is lost"));
}

static void wrong_calls_are_refused(void **state) {
  (void)state;
  situ_selftest_result result;
  fleet("A=256MiB");
  FAILS(situ_selftest(NULL, &result), SITU_INVALID_ARGUMENT, "NULL");
  FAILS(situ_selftest(&(situ_selftest_options){.device = "/gpu:7"}, &result), SITU_NOT_FOUND,
        "There is no device");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_device_that_works_passes), cmocka_unit_test(one_op_alone),
      cmocka_unit_test(a_short_time_tries_little),  cmocka_unit_test(a_device_that_fails_is_found),
      cmocka_unit_test(wrong_calls_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
