/* SPDX-License-Identifier: Apache-2.0
 * test_cache_file.c: CacheFile. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/helpers.h"
#include "situ/data.h"

static char folder[] = "/tmp/situ-cache-XXXXXX";

/* Elements (number, text), n of them, kept in a file. */
static situ_dataset *kept(int64_t n, const char *name) {
  static const char *const words[] = {"one", "", "three"};
  static const int64_t numbers[] = {1, 2, 3};
  situ_tensor *components[2] = {NULL};
  situ_param param = {0};
  situ_dataset *rows = NULL, *out = NULL;
  OK(situ_tensor_create(SITU_INT64, SITU_SHAPE(n), numbers, &components[0]));
  OK(situ_tensor_create(SITU_STRING, SITU_SHAPE(n), words, &components[1]));
  OK(situ_dataset_from_tensor_slices(components, 2, &rows));
  OK(situ_tensor_create(SITU_STRING, SITU_SCALAR, &name, &param.tensor));
  const situ_dataset_spec spec = {.inputs = &rows, .n_inputs = 1, .params = &param, .n_params = 1};
  OK(situ_dataset_create("CacheFile", &spec, &out));
  for (int i = 0; i < 2; i++) situ_tensor_release(components[i]);
  situ_tensor_release(param.tensor);
  situ_dataset_release(rows);
  return out;
}

/* Reads at most `most` elements; returns their number and the error. */
static situ_status read_some(situ_dataset *dataset, int most, int *count) {
  static const size_t lengths[] = {3, 0, 5};
  situ_iterator *iterator = NULL;
  situ_status status = situ_iterator_create(dataset, NULL, 0, &iterator);
  *count = 0;
  for (bool end = false; !status && !end && *count < most;) {
    situ_tensor *components[2] = {NULL};
    status = situ_iterator_next(iterator, components, &end);
    if (!status && !end) {
      assert_int_equal(*(const int64_t *)situ_tensor_data(components[0]), ++*count);
      assert_int_equal(situ_tensor_string(components[1], 0).length, lengths[*count - 1]);
    }
    for (int i = 0; i < 2; i++) situ_tensor_release(components[i]);
  }
  situ_iterator_release(iterator);
  situ_dataset_release(dataset);
  return status;
}

static void test_a_file_is_read_again(void **state) {
  (void)state;
  char name[64], file[80];
  int count = 0;
  fleet("");
  assert_non_null(mkdtemp(folder));
  snprintf(name, sizeof name, "%s/c", folder);
  snprintf(file, sizeof file, "%s.cache", name);
  OK(read_some(kept(3, name), 1, &count));
  assert_int_not_equal(access(file, F_OK), 0); /* not complete */
  OK(read_some(kept(3, name), 9, &count));
  assert_int_equal(access(file, F_OK), 0);
  OK(read_some(kept(1, name), 9, &count)); /* of the file: three */
  assert_int_equal(count, 3);
}

/* Reading any corrupt file terminates. */
static void test_damaged_files(void **state) {
  (void)state;
  char name[64], file[80], good[4096];
  int count = 0;
  snprintf(name, sizeof name, "%s/c", folder);
  snprintf(file, sizeof file, "%s.cache", name);
  FILE *stream = fopen(file, "rb");
  assert_non_null(stream);
  const size_t bytes = fread(good, 1, sizeof good, stream);
  fclose(stream);
  for (size_t at = 0; at < bytes; at++) {
    char bad[4096];
    memcpy(bad, good, bytes);
    bad[at] = (char)0xff;
    stream = fopen(file, "wb");
    fwrite(bad, 1, at % 2 ? bytes : at, stream);
    fclose(stream);
    situ_dataset *dataset = kept(1, name);
    situ_iterator *iterator = NULL;
    situ_status status = situ_iterator_create(dataset, NULL, 0, &iterator);
    for (bool end = false; !status && !end;) {
      situ_tensor *components[2] = {NULL};
      status = situ_iterator_next(iterator, components, &end);
      for (int i = 0; i < 2; i++) situ_tensor_release(components[i]);
    }
    if (!(at % 2)) assert_int_equal(situ_status_code(status), SITU_DATA_LOSS);
    situ_status_release(status);
    situ_iterator_release(iterator);
    situ_dataset_release(dataset);
  }
  unlink(file);
  rmdir(folder);
  FAILS(read_some(kept(3, name), 9, &count), SITU_NOT_FOUND, "No such file");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_file_is_read_again),
      cmocka_unit_test(test_damaged_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
