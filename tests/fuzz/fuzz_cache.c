/* SPDX-License-Identifier: Apache-2.0
 * fuzz_cache.c: any bytes as a cache file of a dataset (the first byte is 'd'; the magic line is
 * prepended), or as a compiled kernel. */
#include <string.h>

#include "base/base.h"
#include "fuzz/memory_file.h"
#include "host/kernel_cache.h"
#include "situ/situ.h"

static char path[] = "/tmp/situ-fuzz-XXXXXX", data_file[64], kernel_file[96];

static void remove_folder(void) {
  unlink(data_file);
  unlink(kernel_file);
  rmdir(path);
}

/* A folder whose files are links to the file in memory. */
static const char *folder(const char *target, const char *kernel) {
  static bool is_made;
  if (is_made) return path;
  if (!mkdtemp(path)) abort();
  is_made = true;
  atexit(remove_folder);
  snprintf(data_file, sizeof data_file, "%s/data.cache", path);
  snprintf(kernel_file, sizeof kernel_file, "%s/%s.kernel", path, kernel);
  if (symlink(target, data_file) || symlink(target, kernel_file)) abort();
  setenv("SITU_KERNEL_CACHE", path, 1);
  return path;
}

static situ_dataset *make_dataset(const char *where) {
  char file[128];
  const char *text = file;
  const int64_t number = 1;
  situ_tensor *components[2] = {NULL};
  situ_param param = {0};
  situ_dataset *rows = NULL, *out = NULL;
  snprintf(file, sizeof file, "%s/data", where);
  if (situ_tensor_create(SITU_INT64, SITU_SHAPE(1), &number, &components[0]) ||
      situ_tensor_create(SITU_STRING, SITU_SHAPE(1), &text, &components[1]) ||
      situ_dataset_from_tensor_slices(components, 2, &rows) ||
      situ_tensor_create(SITU_STRING, SITU_SCALAR, &text, &param.tensor))
    abort();
  const situ_dataset_spec spec = {.inputs = &rows, .n_inputs = 1, .params = &param, .n_params = 1};
  if (situ_dataset_create("CacheFile", &spec, &out)) abort();
  for (int i = 0; i < 2; i++) situ_tensor_release(components[i]);
  situ_tensor_release(param.tensor);
  situ_dataset_release(rows);
  return out;
}

static void read_elements(situ_dataset *dataset) {
  situ_iterator *iterator = NULL;
  situ_status status = situ_iterator_create(dataset, NULL, 0, &iterator);
  for (bool end = false; !status && !end;) {
    situ_tensor *components[2] = {NULL};
    status = situ_iterator_next(iterator, components, &end);
    for (int i = 0; i < 2; i++) situ_tensor_release(components[i]);
  }
  const situ_code code = status ? situ_status_code(status) : SITU_OK;
  if (status && code != SITU_DATA_LOSS && code != SITU_RESOURCE_EXHAUSTED) {
    fprintf(stderr, "%d %s\n", (int)code, situ_status_message(status));
    abort();
  }
  situ_status_release(status);
  situ_iterator_release(iterator);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char magic[] = "situ cache 1\n";
  static situ_dataset *dataset;
  const char *const strings[] = {"kernel", NULL};
  const struct kernel_cache_key key = kernel_cache_make_key(strings);
  char name[64];
  if (!size) return 0;
  snprintf(name, sizeof name, "%016llx%016llx", (unsigned long long)key.hash[0],
           (unsigned long long)key.hash[1]);
  const char *where = folder(memory_file(data, size), name);
  if (!dataset) dataset = make_dataset(where);
  uint8_t *file = malloc(sizeof magic + size);
  if (!file) return 0;
  memcpy(file, magic, sizeof magic - 1);
  memcpy(file + sizeof magic - 1, data + 1, size - 1);
  if (data[0] == 'd') {
    memory_file(file, sizeof magic - 1 + size - 1);
    read_elements(dataset);
  } else {
    size_t bytes = 0;
    memory_file(data + 1, size - 1);
    free(kernel_cache_read(&key, &bytes));
  }
  free(file);
  return 0;
}
