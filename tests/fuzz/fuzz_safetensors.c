/* SPDX-License-Identifier: Apache-2.0
 * fuzz_safetensors.c: any bytes as a safetensors file. The first bytes are the header; its length
 * is prepended, and the second byte determines the length of the data. */
#include <string.h>

#include "base/base.h"
#include "fuzz/memory_file.h"
#include "situ/checkpoint.h"

/* A failure must be one of the data, and say something. */
static bool check(situ_status status) {
  if (!status) return true;
  const situ_code code = situ_status_code(status);
  if ((code != SITU_DATA_LOSS && code != SITU_RESOURCE_EXHAUSTED) ||
      !*situ_status_message(status)) {
    fprintf(stderr, "%d %s\n", (int)code, situ_status_message(status));
    abort();
  }
  situ_status_release(status);
  return false;
}

static void read_all(const char *path) {
  situ_safetensors *file = NULL;
  if (!check(situ_safetensors_open(path, &file))) return;
  situ_array array;
  situ_metadata metadata;
  for (int i = 0; situ_safetensors_metadata(file, i, &metadata); i++)
    if (!metadata.key || !metadata.value) abort();
  for (int i = 0; situ_safetensors_array(file, i, &array); i++) {
    situ_tensor *tensor = NULL;
    if (check(situ_safetensors_read(file, array.name, &tensor)) &&
        situ_tensor_bytes(tensor) != array.bytes)
      abort();
    situ_tensor_release(tensor);
  }
  situ_safetensors_release(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  if (data[0] == 'r') { /* the file as it is */
    read_all(memory_file(data + 1, size - 1));
    return 0;
  }
  const size_t extra = data[1];
  const uint64_t length = size - 2;
  uint8_t *file = calloc(1, sizeof length + size + extra);
  if (!file) return 0;
  memcpy(file, &length, sizeof length);
  memcpy(file + sizeof length, data + 2, size - 2);
  read_all(memory_file(file, sizeof length + size - 2 + extra));
  free(file);
  return 0;
}
