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
#include <sys/wait.h>

#include "cluster/segment.h"
#include "cluster/segment_sweep.h"
#include "cluster/user_key.h"
#include "support/child.h"
#include "support/ranks.h"
#include "support/skip.h"

enum { NOBODY = 65534, PATIENCE = 300 };

static char name[64], path[SEGMENT_PATH];

/* A name of its own for each test; the path of the memory that user `uid` would use. */
static void choose_name(unsigned uid) {
  static int count;
  snprintf(name, sizeof name, "segment-%d-%d", (int)getpid(), count++);
  if (uid == geteuid())
    segment_path(name, path);
  else
    snprintf(path, sizeof path, "/situ-%u-%s", uid, name); /* a user without a home folder */
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

/* The name contains a secret of the user, which no other user can read, and is the same for all
 * processes. */
static void the_name_cannot_be_predicted(void **state) {
  (void)state;
  unsigned char key[USER_KEY_BYTES], again[USER_KEY_BYTES];
  if (!user_key_read(key)) SKIP("the user has no home folder that can be written");
  assert_true(user_key_read(again));
  assert_memory_equal(key, again, sizeof key);
  choose_name(geteuid());
  char plain[SEGMENT_PATH], other[SEGMENT_PATH];
  snprintf(plain, sizeof plain, "/situ-%u-%s", (unsigned)geteuid(), name);
  assert_string_not_equal(path, plain);
  segment_path(name, other);
  assert_string_equal(path, other);
}

/* Writes a header with that creator at the current name; a segment of 4 KB. */
static void leave_behind(int32_t creator) {
  const int file = shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  assert_true(file >= 0 && !ftruncate(file, 4096));
  const struct segment_head head = {.n_seats = 2, .creator = creator};
  assert_int_equal(write(file, &head, sizeof head), sizeof head);
  close(file);
}

static bool exists(void) {
  const int file = shm_open(path, O_RDONLY, 0);
  if (file >= 0) close(file);
  return file >= 0;
}

static void segments_of_killed_processes_are_removed(void **state) {
  (void)state;
  const pid_t dead = fork();
  if (!dead) _exit(0);
  assert_int_equal(waitpid(dead, NULL, 0), dead);
  choose_name(geteuid());
  leave_behind(dead);
  segment_sweep();
  assert_false(exists());
  choose_name(geteuid());
  leave_behind(getpid());
  segment_sweep();
  assert_true(exists()); /* its creator runs */
  assert_int_equal(shm_unlink(path), 0);
  choose_name(geteuid());
  leave_behind(0);
  segment_sweep();
  assert_true(exists()); /* it may be about to be initialized */
  assert_int_equal(shm_unlink(path), 0);
}

static bool leaves_one_behind(void *context) {
  (void)context;
  if (setgid(NOBODY) || setuid(NOBODY)) return false;
  leave_behind(1 << 22);
  return true;
}

static void segments_of_other_users_stay(void **state) {
  (void)state;
  if (geteuid()) SKIP("only root can act as another user");
  choose_name(geteuid());
  assert_true(child_succeeds(leaves_one_behind, NULL));
  segment_sweep();
  assert_true(exists());
  assert_int_equal(shm_unlink(path), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_that_others_can_open_is_refused),
      cmocka_unit_test(memory_of_another_user_is_refused),
      cmocka_unit_test(a_name_that_another_user_took_is_an_error),
      cmocka_unit_test(ranks_agree_on_a_secret_name),
      cmocka_unit_test(the_name_cannot_be_predicted),
      cmocka_unit_test(segments_of_killed_processes_are_removed),
      cmocka_unit_test(segments_of_other_users_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
