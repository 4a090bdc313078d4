/* SPDX-License-Identifier: Apache-2.0
 * test_kernel_cache.c: the cache files of compiled kernels: any process reads them; damaged files
 * and those of other keys are ignored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/kernel_cache.h"

static char folder[] = "/tmp/situ_binaries.XXXXXX";
static const char *const texts[] = {"device", "driver", "text", NULL};

static int set_up(void **state) {
  (void)state;
  return !mkdtemp(folder) || setenv("SITU_KERNEL_CACHE", folder, 1);
}

/* Calls `visit` for every file of the folder; returns their number. */
static int each_file(void (*visit)(const char *path)) {
  DIR *files = opendir(folder);
  int count = 0;
  assert_non_null(files);
  for (const struct dirent *entry = readdir(files); entry; entry = readdir(files)) {
    char path[512];
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (visit) visit(path);
    count++;
  }
  closedir(files);
  return count;
}

static void remove_file(const char *path) { unlink(path); }

static int tear_down(void **state) {
  (void)state;
  each_file(remove_file);
  return rmdir(folder);
}

static void expect(const struct kernel_cache_key *key, const char *expected) {
  size_t size = 0;
  unsigned char *data = kernel_cache_read(key, &size);
  if (!expected) {
    assert_null(data);
    return;
  }
  assert_non_null(data);
  assert_int_equal(size, strlen(expected));
  assert_memory_equal(data, expected, size);
  free(data);
}

static void written_data_is_read(void **state) {
  (void)state;
  const struct kernel_cache_key key = kernel_cache_make_key(texts);
  const struct kernel_cache_key other =
      kernel_cache_make_key((const char *const[]){"device", "driver", NULL});
  const struct kernel_cache_key moved =
      kernel_cache_make_key((const char *const[]){"devicedriver", "", "text", NULL});
  assert_true(kernel_cache_enabled());
  expect(&key, NULL);
  kernel_cache_write(&key, (const unsigned char *)"compiled", 8);
  expect(&key, "compiled");
  expect(&other, NULL);
  expect(&moved, NULL);
  kernel_cache_write(&key, (const unsigned char *)"again", 5);
  expect(&key, "again");
  assert_int_equal(each_file(NULL), 1);
}

static void damage(const char *path) {
  FILE *file = fopen(path, "r+");
  assert_non_null(file);
  fseek(file, -1, SEEK_END);
  fputc('X', file);
  fclose(file);
}

static void cut(const char *path) { assert_int_equal(truncate(path, 30), 0); }

static void damaged_files_are_ignored(void **state) {
  (void)state;
  const struct kernel_cache_key key = kernel_cache_make_key(texts);
  kernel_cache_write(&key, (const unsigned char *)"compiled", 8);
  each_file(damage);
  expect(&key, NULL);
  kernel_cache_write(&key, (const unsigned char *)"compiled", 8);
  expect(&key, "compiled");
  each_file(cut);
  expect(&key, NULL);
}

static void *write_often(void *context) {
  const struct kernel_cache_key key = kernel_cache_make_key(texts);
  char data[5000];
  memset(data, *(const char *)context, sizeof data);
  for (int i = 0; i < 200; i++) kernel_cache_write(&key, (const unsigned char *)data, sizeof data);
  return NULL;
}

/* Concurrent readers get one of the complete files. */
static void concurrent_writers_are_safe(void **state) {
  (void)state;
  pthread_t threads[4];
  const struct kernel_cache_key key = kernel_cache_make_key(texts);
  each_file(remove_file);
  for (int i = 0; i < 4; i++)
    assert_int_equal(
        pthread_create(&threads[i], NULL, write_often, (void *)(uintptr_t) & "abcd"[i]), 0);
  for (int i = 0; i < 200; i++) {
    size_t size = 0;
    unsigned char *data = kernel_cache_read(&key, &size);
    if (!data) continue;
    assert_int_equal(size, 5000);
    assert_int_equal(data[0], data[4999]);
    free(data);
  }
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  assert_int_equal(each_file(NULL), 1);
}

static void empty_name_disables_the_cache(void **state) {
  (void)state;
  const struct kernel_cache_key key = kernel_cache_make_key(texts);
  setenv("SITU_KERNEL_CACHE", "", 1);
  assert_false(kernel_cache_enabled());
  kernel_cache_write(&key, (const unsigned char *)"compiled", 8);
  expect(&key, NULL);
  setenv("SITU_KERNEL_CACHE", folder, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(written_data_is_read),
      cmocka_unit_test(damaged_files_are_ignored),
      cmocka_unit_test(concurrent_writers_are_safe),
      cmocka_unit_test(empty_name_disables_the_cache),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
