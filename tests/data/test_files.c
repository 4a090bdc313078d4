/* SPDX-License-Identifier: Apache-2.0
 * test_files.c: datasets of records in files, with and without compression. */
#include <string.h>
#include <unistd.h>

#include "api/helpers.h"
#include "situ/data.h"

/* "one\ntwo\n" and, in a second part, "three" */
static const unsigned char lines[] = {
    31, 139, 8,   0,   0,   0,  0,  0, 2, 3,   203, 207, 75, 229, 42, 41, 207, 231,
    2,  0,   230, 11,  186, 18, 8,  0, 0, 0,   31,  139, 8,  0,   0,  0,  0,   0,
    2,  3,   43,  201, 40,  74, 77, 5, 0, 245, 216, 197, 70, 5,   0,  0,  0};
/* "HabcdefF" */
static const unsigned char letters[] = {120, 156, 243, 72, 76, 74,  78, 73,
                                        77,  115, 3,   0,  12, 251, 2,  228};

static void write_file(char *path, const void *data, size_t bytes) {
  strcpy(path, "/tmp/situ-files-XXXXXX");
  const int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(write(file, data, bytes), bytes);
  close(file);
}

/* A dataset of a file; `sizes`: three numbers, or NULL. */
static situ_dataset *open_file(const char *kind, const char *path, const char *packing,
                               const int64_t *sizes) {
  situ_param params[4] = {{0}};
  situ_dataset *out = NULL;
  OK(situ_tensor_create(SITU_STRING, SITU_SCALAR, &path, &params[0].tensor));
  for (int i = 0; i < 3 && sizes; i++)
    OK(situ_tensor_create(SITU_INT64, SITU_SCALAR, &sizes[i], &params[i + 1].tensor));
  const situ_dataset_spec spec = {
      .params = params, .n_params = sizes ? 4 : 1, .compression = packing};
  OK(situ_dataset_create(kind, &spec, &out));
  for (int i = 0; i < 4; i++) situ_tensor_release(params[i].tensor);
  return out;
}

static void expect(situ_dataset *dataset, const char *const *want, int n) {
  situ_iterator *iterator = NULL;
  OK(situ_iterator_create(dataset, NULL, 0, &iterator));
  for (int i = 0; i <= n; i++) {
    situ_tensor *part = NULL;
    bool end = false;
    OK(situ_iterator_next(iterator, &part, &end));
    assert_int_equal(end, i == n);
    if (!end) assert_string_equal(situ_tensor_string(part, 0).data, want[i]);
    situ_tensor_release(part);
  }
  situ_iterator_release(iterator);
  situ_dataset_release(dataset);
}

static void test_packed(void **state) {
  (void)state;
  char path[64];
  fleet("");
  write_file(path, lines, sizeof lines);
  expect(open_file("TextLine", path, "GZIP", NULL), (const char *const[]){"one", "two", "three"},
         3);
  unlink(path);
  write_file(path, letters, sizeof letters);
  expect(open_file("FixedLengthRecord", path, "ZLIB", (const int64_t[]){1, 3, 1}),
         (const char *const[]){"abc", "def"}, 2);
  unlink(path);
  write_file(path, "", 0);
  expect(open_file("TFRecord", path, "GZIP", NULL), NULL, 0);
  unlink(path);
}

/* A file fails after `n_good` records. */
static void fails(const char *path, const char *packing, int n_good, situ_code code,
                  const char *words) {
  situ_dataset *dataset = open_file("TextLine", path, packing, NULL);
  situ_iterator *iterator = NULL;
  situ_tensor *part = NULL;
  bool end = false;
  OK(situ_iterator_create(dataset, NULL, 0, &iterator));
  for (int i = 0; i < n_good; i++) {
    OK(situ_iterator_next(iterator, &part, &end));
    assert_false(end);
    situ_tensor_release(part);
    part = NULL;
  }
  FAILS(situ_iterator_next(iterator, &part, &end), code, words);
  OK(situ_iterator_next(iterator, &part, &end));
  assert_true(end);
  situ_iterator_release(iterator);
  situ_dataset_release(dataset);
}

static void test_damaged(void **state) {
  (void)state;
  char path[64];
  write_file(path, lines, sizeof lines - 9);
  fails(path, "GZIP", 2, SITU_DATA_LOSS, "end too early");
  fails(path, "ZLIB", 0, SITU_DATA_LOSS, "incorrect header check");
  fails(path, "LZ", 0, SITU_INVALID_ARGUMENT, "Unsupported compression_type");
  unlink(path);
  fails(path, "GZIP", 0, SITU_NOT_FOUND, "No such file");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_packed),
      cmocka_unit_test(test_damaged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
