/* SPDX-License-Identifier: Apache-2.0
 * test_fork.c: a child knows that it is one. */
#include "base/fork.h"
#include "support/child.h"
#include "support/expect.h"

static bool is_next(void *context) {
  const int parent = *(const int *)context;
  if (fork_generation() != parent + 1) return false;
  int mine = fork_generation();
  return parent > 1 || child_succeeds(is_next, &mine);
}

static void generations_are_counted(void **state) {
  (void)state;
  int mine = fork_generation();
  assert_int_equal(fork_generation(), mine);
  assert_true(child_succeeds(is_next, &mine));
  assert_int_equal(fork_generation(), mine); /* unchanged in the parent */
}

static bool is_refused(void *context) {
  const int parent = *(const int *)context;
  return child_expects(fork_check(parent, "GPU:7"), SITU_FAILED_PRECONDITION,
                       "GPU:7 was opened before this process was forked") &&
         child_expects(fork_check(fork_generation(), "GPU:7"), SITU_OK, "");
}

static void devices_opened_before_a_fork_fail(void **state) {
  (void)state;
  int mine = fork_generation();
  OK(fork_check(mine, "GPU:7"));
  assert_true(child_succeeds(is_refused, &mine));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(generations_are_counted),
      cmocka_unit_test(devices_opened_before_a_fork_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
