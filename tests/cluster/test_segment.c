/* SPDX-License-Identifier: Apache-2.0
 * test_segment.c: memory of other users is not shared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cluster/segment.h"
#include "support/child.h"
#include "support/ranks.h"
#include "support/skip.h"

enum { NOBODY = 65534, PATIENCE = 300 };

static char name[64], path[128];

/* A name of its own for each test; the path of the memory that user `uid` would use. */
static void choose_name(unsigned uid) {
  static int count;
  snprintf(name, sizeof name, "segment-%d-%d", (int)getpid(), count++);
  snprintf(path, sizeof path, "/situ-%u-%s", uid, name);
}

/* Makes memory with that mode, as whoever runs this. */
static bool make(mode_t mode) {
  const int file = shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  const bool made = file >= 0 && !fchmod(file, mode) && !ftruncate(file, 1 << 20);
  if (file >= 0) close(file);
  return made;
}

static bool is_denied(int seat, const char *part) {
  struct segment segment;
  return child_expects(segment_join(name, seat, 2, PATIENCE, &segment), SITU_PERMISSION_DENIED,
                       part);
}

static void memory_that_others_can_open_is_refused(void **state) {
  (void)state;
  choose_name(geteuid());
  assert_true(make(0666));
  assert_true(is_denied(1, "is open to other users (mode 0666, not 0600)"));
  assert_int_equal(shm_unlink(path), 0);
  choose_name(geteuid());
  assert_true(make(0640));
  assert_true(is_denied(1, "mode 0640"));
  assert_int_equal(shm_unlink(path), 0);
}

/* In a child: another user takes the name. */
static bool takes_the_name(void *context) {
  (void)context;
  umask(0);
  return !setgid(NOBODY) && !setuid(NOBODY) && make(0666);
}

static void memory_of_another_user_is_refused(void **state) {
  (void)state;
  if (geteuid()) SKIP("only root can act as another user");
  choose_name(geteuid());
  assert_true(child_succeeds(takes_the_name, NULL));
  assert_true(is_denied(1, "belongs to user 65534, not to user 0"));
  assert_int_equal(shm_unlink(path), 0);
}

/* In a child: a user whose name was taken by another one. */
static bool cannot_make_it(void *context) {
  (void)context;
  if (setgid(NOBODY) || setuid(NOBODY)) return false;
  return is_denied(0, "cannot be created") && is_denied(1, "");
}

static void a_name_that_another_user_took_is_an_error(void **state) {
  (void)state;
  if (geteuid()) SKIP("only root can act as another user");
  choose_name(NOBODY);
  assert_true(make(0600));
  assert_true(child_succeeds(cannot_make_it, NULL));
  assert_int_equal(shm_unlink(path), 0);
}

static bool is_there(int rank) {
  (void)rank;
  return situ_cluster_size() == 2;
}

/* In a child: with a secret the name is another one, and the ranks find each other. */
static bool joins_with_a_key(void *context) {
  (void)context;
  setenv("SITU_CLUSTER_KEY", "a secret", 1);
  return ranks_run(2, is_there) == 2;
}

static void ranks_agree_on_a_secret_name(void **state) {
  (void)state;
  assert_true(child_succeeds(joins_with_a_key, NULL));
  choose_name(geteuid());
  assert_true(make(0666)); /* not the memory that the ranks look for */
  setenv("SITU_CLUSTER_KEY", "a secret", 1);
  struct segment segment;
  const situ_status status = segment_join(name, 1, 2, 0, &segment);
  unsetenv("SITU_CLUSTER_KEY");
  assert_int_equal(situ_status_code(status), SITU_DEADLINE_EXCEEDED);
  situ_status_release(status);
  assert_int_equal(shm_unlink(path), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_that_others_can_open_is_refused),
      cmocka_unit_test(memory_of_another_user_is_refused),
      cmocka_unit_test(a_name_that_another_user_took_is_an_error),
      cmocka_unit_test(ranks_agree_on_a_secret_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
