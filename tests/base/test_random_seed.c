/* SPDX-License-Identifier: Apache-2.0
 * test_random_seed.c: seeds that differ, and those that SITU_SEED makes the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/random_seed.h"

/* The first two pairs of another process, in which nothing has been taken yet. */
static void take(const char *seed, uint64_t taken[4]) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  if (!child) {
    if (seed)
      setenv("SITU_SEED", seed, 1);
    else
      unsetenv("SITU_SEED");
    const bool failed = random_seed_next(taken) || random_seed_next(taken + 2);
    const bool written = write(ends[1], taken, 32) == 32;
    _exit(failed || !written);
  }
  int code = 1;
  assert_int_equal(read(ends[0], taken, 32), 32);
  assert_int_equal(waitpid(child, &code, 0), child);
  assert_int_equal(code, 0);
  close(ends[0]);
  close(ends[1]);
}

static void processes_differ(void **state) {
  (void)state;
  uint64_t a[4], b[4];
  take(NULL, a);
  take("", b);
  assert_memory_not_equal(a, b, sizeof a);
  assert_memory_not_equal(a, a + 2, 16);
}

static void a_seed_makes_them_the_same(void **state) {
  (void)state;
  uint64_t a[4], b[4], other[4];
  take("7", a);
  take("7", b);
  take("-7", other);
  assert_memory_equal(a, b, sizeof a);
  assert_memory_not_equal(a, other, sizeof a);
  assert_memory_not_equal(a, a + 2, 16);
}

static void other_texts_are_refused(void **state) {
  (void)state;
  static const char *const texts[] = {"x", "1.5", "7 ", "99999999999999999999"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    uint64_t seeds[2];
    setenv("SITU_SEED", texts[i], 1);
    situ_status s = random_seed_next(seeds);
    assert_int_equal(situ_status_code(s), SITU_INVALID_ARGUMENT);
    assert_non_null(strstr(situ_status_message(s), texts[i]));
    situ_status_release(s);
  }
  unsetenv("SITU_SEED");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(processes_differ),
                                     cmocka_unit_test(a_seed_makes_them_the_same),
                                     cmocka_unit_test(other_texts_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
