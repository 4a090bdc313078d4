/* SPDX-License-Identifier: Apache-2.0
 * test_selftest.c: the self-test passes on working devices and detects failures. */
#include "api/helpers.h"

#include "situ/selftest.h"

struct on_check {
  int problems, figures, queues, ops;
  char problem[512];
};

static void see(void *context, const situ_selftest_check *check) {
  struct on_check *on_check = context;
  on_check->queues += !strcmp(check->part, "queues");
  on_check->ops += !strcmp(check->part, "ops");
  on_check->figures += check->figure != NULL;
  if (check->problem && !on_check->problems++)
    snprintf(on_check->problem, sizeof on_check->problem, "%s", check->problem);
}

static situ_selftest_result look(const char *device, const char *op, double seconds,
                                 struct on_check *on_check) {
  situ_selftest_result result;
  *on_check = (struct on_check){0};
  OK(situ_selftest(
      &(situ_selftest_options){
          .device = device, .op = op, .seconds = seconds, .on_check = see, .context = on_check},
      &result));
  assert_int_equal(result.failed, on_check->problems);
  return result;
}

static void a_device_that_works_passes(void **state) {
  (void)state;
  struct on_check on_check;
  fleet("A=256MiB,B=256MiB");
  const situ_selftest_result result = look("/gpu:1", NULL, 600, &on_check);
  if (on_check.problems) print_error("%s\n", on_check.problem);
  assert_int_equal(result.failed, 0);
  assert_true(result.ops > 150 && result.ops_run == result.ops);
  assert_true(result.halves > 100 && result.halves_run == result.halves);
  assert_true(on_check.queues >= 4 && on_check.figures >= 2);
}

static void one_op_alone(void **state) {
  (void)state;
  struct on_check on_check;
  fleet("A=256MiB");
  const situ_selftest_result result = look("/gpu:0", "MatMul", 0, &on_check);
  assert_int_equal(result.checks, 2);
  assert_int_equal(on_check.ops, 1);
  assert_int_equal(result.halves_run, 1);
  assert_int_equal(result.failed, 0);
}

static void a_short_time_tries_little(void **state) {
  (void)state;
  struct on_check on_check;
  fleet("A=256MiB");
  const situ_selftest_result result = look("/gpu:0", "*", 1e-9, &on_check);
  assert_true(result.ops > 150);
  assert_int_equal(result.ops_run, 0);
}

static void a_device_that_fails_is_found(void **state) {
  (void)state;
  struct on_check on_check;
  fleet("A=256MiB;lost_after=100");
  const situ_selftest_result result = look("/gpu:0", "*", 0, &on_check);
  assert_true(result.failed > 0);
  assert_non_null(strstr(on_check.problem, "is lost"));
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
