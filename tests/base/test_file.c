/* SPDX-License-Identifier: Apache-2.0
 * test_file.c: files are replaced whole or not at all. */
#include "base/file.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/interrupt.h"
#include "base/strbuf.h"
#include "situ/session.h"

static char directory[] = "/tmp/situ_file_XXXXXX";
static char path[64];

static int make_directory(void **state) {
  (void)state;
  if (!mkdtemp(directory)) return 1;
  snprintf(path, sizeof path, "%s/a", directory);
  return 0;
}

static int remove_directory(void **state) {
  (void)state;
  unlink(path);
  return rmdir(directory); /* fails if a temporary file was left behind */
}

static void expect_contents(const char *expected) {
  struct strbuf text = {0};
  assert_null(file_read(path, &text));
  assert_string_equal(strbuf_get(&text), expected);
  strbuf_free(&text);
}

static void parts_are_concatenated(void **state) {
  (void)state;
  const struct file_part parts[] = {{"ab", 2}, {NULL, 0}, {"c", 1}};
  assert_null(file_replace(path, parts, 3));
  expect_contents("abc");
  assert_null(file_replace(path, parts, 1));
  expect_contents("ab");
  assert_null(file_replace(path, NULL, 0));
  expect_contents("");
}

static void expect_failure(situ_status s, situ_code code) {
  assert_non_null(s);
  assert_int_equal(situ_status_code(s), code);
  situ_status_release(s);
}

static void a_failure_keeps_the_file(void **state) {
  (void)state;
  const struct file_part part = {"ab", 2};
  assert_null(file_replace(path, &part, 1));
  char inside[80];
  snprintf(inside, sizeof inside, "%s/b", path); /* the parent is not a directory */
  expect_failure(file_replace(inside, &part, 1), SITU_UNKNOWN);
  expect_failure(file_replace("/nonexistent/b", &part, 1), SITU_NOT_FOUND);
  snprintf(inside, sizeof inside, "%s/d", directory);
  assert_int_equal(mkdir(inside, 0700), 0);
  expect_failure(file_replace(inside, &part, 1), SITU_FAILED_PRECONDITION); /* a directory */
  assert_int_equal(rmdir(inside), 0);
  expect_contents("ab");
}

static void the_mode_of_a_file_remains(void **state) {
  (void)state;
  struct stat found;
  const struct file_part part = {"ab", 2};
  assert_null(file_replace(path, &part, 1));
  assert_int_equal(chmod(path, 0640), 0);
  assert_null(file_replace(path, &part, 1));
  assert_int_equal(stat(path, &found), 0);
  assert_int_equal(found.st_mode & 0777, 0640);
}

/* Writes through a link to a file, and to the missing target of a link. */
static void links_remain(void **state) {
  (void)state;
  char link[80];
  struct stat found;
  const struct file_part parts[] = {{"ab", 2}, {"c", 1}};
  snprintf(link, sizeof link, "%s/link", directory);
  unlink(path);
  assert_int_equal(symlink(path, link), 0);
  assert_null(file_replace(link, parts, 1));
  expect_contents("ab");
  assert_null(file_replace(link, parts, 2));
  expect_contents("abc");
  assert_int_equal(lstat(link, &found), 0);
  assert_true(S_ISLNK(found.st_mode));
  unlink(link);
}

static void devices_are_written_to(void **state) {
  (void)state;
  char link[80];
  struct stat found;
  const struct file_part part = {"ab", 2};
  snprintf(link, sizeof link, "%s/null", directory);
  assert_int_equal(symlink("/dev/null", link), 0); /* the device itself must not be at risk */
  assert_null(file_replace(link, &part, 1));
  assert_int_equal(stat(link, &found), 0);
  assert_true(S_ISCHR(found.st_mode));
  unlink(link);
}

static void missing_files_cannot_be_read(void **state) {
  (void)state;
  struct strbuf text = {0};
  expect_failure(file_read("/nonexistent/b", &text), SITU_NOT_FOUND);
  strbuf_free(&text);
}

static int count_files(void) {
  int count = 0;
  DIR *entries = opendir(directory);
  assert_non_null(entries);
  for (const struct dirent *entry = readdir(entries); entry; entry = readdir(entries))
    count += entry->d_name[0] != '.' || entry->d_name[1] == 's';
  closedir(entries);
  return count;
}

static void a_writer_is_discarded_or_committed(void **state) {
  (void)state;
  struct file_writer writer;
  const struct file_part part = {"old", 3};
  assert_null(file_replace(path, &part, 1));
  assert_null(file_writer_open(path, &writer));
  fputs("new", writer.stream);
  assert_int_equal(count_files(), 2);
  file_writer_discard(&writer);
  expect_contents("old");
  assert_null(file_writer_open(path, &writer));
  fputs("new", writer.stream);
  assert_null(file_writer_commit(&writer));
  expect_contents("new");
  assert_int_equal(count_files(), 1);
}

/* The next writer removes the file of a process that died, and no other. */
static void leftovers_are_removed(void **state) {
  (void)state;
  struct file_writer mine, next;
  char other[80];
  assert_null(file_replace(path, NULL, 0));
  const pid_t child = fork();
  if (!child) {
    if (!file_writer_open(path, &next)) raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(count_files(), 2); /* the file and the leftover */
  snprintf(other, sizeof other, "%s/.situ-notes.tmp", directory);
  FILE *file = fopen(other, "w");
  assert_non_null(file);
  fclose(file);
  assert_null(file_writer_open(path, &mine));
  assert_int_equal(count_files(), 3); /* the file, mine, the other */
  assert_null(file_writer_open(path, &next));
  assert_int_equal(count_files(), 4); /* mine is in use */
  file_writer_discard(&next);
  file_writer_discard(&mine);
  assert_int_equal(unlink(other), 0);
  assert_int_equal(count_files(), 1);
}

/* The mode of a new file is that of the umask, and a long name has a temporary file, too. */
static void new_files_have_the_mode_of_the_umask(void **state) {
  (void)state;
  char name[400];
  struct stat found;
  const mode_t before = umask(027);
  snprintf(name, sizeof name, "%s/%0250d", directory, 7);
  assert_null(file_replace(name, NULL, 0));
  umask(before);
  assert_int_equal(stat(name, &found), 0);
  assert_int_equal(found.st_mode & 0777, 0640);
  assert_int_equal(unlink(name), 0);
}

static bool is_interrupted(void) { return true; }

static void an_interrupt_keeps_the_file(void **state) {
  (void)state;
  enum { BYTES = 1 << 20 };
  char *data = calloc(BYTES, 1);
  const struct file_part old = {"old", 3};
  struct file_part parts[256];
  struct strbuf text = {0};
  struct interrupt_scope scope;
  for (int i = 0; i < 256; i++) parts[i] = (struct file_part){data, BYTES};
  assert_null(file_replace(path, &old, 1));
  situ_interrupt_set(is_interrupted);
  interrupt_enter(&scope, NULL);
  const situ_status status = file_replace(path, parts, 256);
  interrupt_leave(&scope);
  situ_interrupt_set(NULL);
  assert_int_equal(situ_status_code(status), SITU_CANCELLED);
  situ_status_release(status);
  assert_null(file_read(path, &text));
  assert_string_equal(strbuf_get(&text), "old");
  strbuf_free(&text);
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_interrupt_keeps_the_file),
      cmocka_unit_test(parts_are_concatenated),
      cmocka_unit_test(a_failure_keeps_the_file),
      cmocka_unit_test(the_mode_of_a_file_remains),
      cmocka_unit_test(links_remain),
      cmocka_unit_test(devices_are_written_to),
      cmocka_unit_test(missing_files_cannot_be_read),
      cmocka_unit_test(a_writer_is_discarded_or_committed),
      cmocka_unit_test(leftovers_are_removed),
      cmocka_unit_test(new_files_have_the_mode_of_the_umask),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
