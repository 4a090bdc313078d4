/* SPDX-License-Identifier: Apache-2.0
 * checkpoint_read.c: reads tensors from checkpoints. */
#include "api/checkpoint.h"

static situ_status read_all(const char *path, const char *const *names, int count,
                            situ_tensor **results) {
  situ_safetensors *file = NULL;
  TRY(situ_safetensors_open(path, &file));
  situ_status status = NULL;
  for (int i = 0; i < count && !status; i++)
    status = situ_safetensors_read(file, names[i], &results[i]);
  situ_safetensors_release(file);
  return status;
}

situ_status situ_checkpoint_read(const char *prefix, const char *const *names, int count,
                                 situ_tensor **results) {
  if (!prefix || count < 0 || (count && (!names || !results)))
    return INVALID("situ_checkpoint_read: an argument is NULL.");
  for (int i = 0; i < count; i++) {
    results[i] = NULL;
    if (!names[i]) return INVALID("situ_checkpoint_read: name %d is NULL.", i);
  }
  struct strbuf path = {0};
  checkpoint_path(prefix, &path);
  const situ_status status =
      path.failed ? NO_MEMORY() : read_all(strbuf_get(&path), names, count, results);
  for (int i = 0; i < count && status; i++) {
    situ_tensor_release(results[i]);
    results[i] = NULL;
  }
  strbuf_free(&path);
  return status;
}
