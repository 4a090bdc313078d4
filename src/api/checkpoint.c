/* SPDX-License-Identifier: Apache-2.0
 * checkpoint.c: writes checkpoints: the data in the safetensors format (safetensors.c), and the
 * index, a readable list; checkpoint_read.c reads them. */
#include "api/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "base/crc32.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "ops/io/checkpoint_ops.h"
#include "tensor/tensor.h"

void checkpoint_path(const char *prefix, struct strbuf *out) {
  strbuf_appendf(out, "%s.data-00000-of-00001", prefix);
}

/* Writes the human-readable list of tensors. */
static situ_status write_index(const char *prefix, const char *data, const situ_array *arrays,
                               int count) {
  struct strbuf path = {0}, text = {0};
  const char *slash = strrchr(data, '/');
  strbuf_appendf(&path, "%s.index", prefix);
  strbuf_append(&text, "{\n \"format\": \"situ checkpoint\",\n \"data\": [");
  json_write_string(&text, slash ? slash + 1 : data);
  strbuf_append(&text, "],\n \"variables\": {");
  for (int i = 0; i < count; i++) {
    strbuf_append(&text, i ? ",\n  " : "\n  ");
    json_write_string(&text, arrays[i].name);
    strbuf_appendf(&text, ": {\"dtype\": \"%s\", \"shape\": ", arrays[i].type);
    safetensors_append_shape(&text, arrays[i].shape);
    strbuf_append(&text, "}");
  }
  strbuf_append(&text, "\n }\n}\n");
  const situ_status s =
      path.failed || text.failed
          ? NO_MEMORY()
          : file_replace(strbuf_get(&path), &(struct file_part){text.data, text.length}, 1);
  strbuf_free(&path);
  strbuf_free(&text);
  return s;
}

situ_status situ_checkpoint_write_arrays(const char *prefix, situ_array *arrays, int count,
                                         const situ_metadata *metadata, int n_metadata) {
  if (!prefix || !*prefix) return INVALID("situ_checkpoint_write_arrays: no prefix.");
  struct strbuf path = {0};
  checkpoint_path(prefix, &path);
  situ_status s =
      path.failed ? NO_MEMORY()
                  : situ_safetensors_write(strbuf_get(&path), arrays, count, metadata, n_metadata);
  if (!s) s = write_index(prefix, strbuf_get(&path), arrays, count);
  strbuf_free(&path);
  return s;
}

/* Validates the tensors and copies them to the host. */
static situ_status collect_tensors(const situ_named *tensors, int count, situ_tensor **host,
                                   situ_array *out) {
  for (int i = 0; i < count; i++) {
    if (!tensors[i].name || !tensors[i].tensor)
      return INVALID("Tensor %d of a checkpoint has no name or no value.", i);
    if (!safetensors_stores(situ_tensor_type(tensors[i].tensor)))
      return situ_status_create(SITU_UNIMPLEMENTED,
                                "Tensor '%s' of type %s cannot be saved in a checkpoint.",
                                tensors[i].name, situ_type_numpy(tensors[i].tensor->type));
    TRY(tensor_host(tensors[i].tensor, &host[i]));
    out[i] = (situ_array){tensors[i].name, situ_type_numpy(host[i]->type), host[i]->shape,
                          situ_tensor_data(host[i]), host[i]->bytes};
  }
  return NULL;
}

situ_status situ_checkpoint_write(const char *prefix, const situ_named *tensors, int count) {
  if (!prefix || !*prefix || count < 0 || (count && !tensors))
    return INVALID("situ_checkpoint_write: an argument is NULL.");
  situ_tensor **host = calloc((size_t)count + 1, sizeof *host);
  situ_array *arrays = calloc((size_t)count + 1, sizeof *arrays);
  situ_status s = host && arrays ? collect_tensors(tensors, count, host, arrays) : NO_MEMORY();
  if (!s) s = situ_checkpoint_write_arrays(prefix, arrays, count, NULL, 0);
  for (int i = 0; i < count && host; i++) situ_tensor_release(host[i]);
  free(host);
  free(arrays);
  return s;
}

situ_status situ_file_replace(const char *path, const void *data, size_t bytes) {
  if (!path || !*path || (bytes && !data))
    return INVALID("situ_file_replace: an argument is NULL.");
  struct interrupt_scope scope;
  interrupt_enter(&scope, NULL);
  const situ_status status = file_replace(path, &(struct file_part){data, bytes}, 1);
  interrupt_leave(&scope);
  return status;
}

uint32_t situ_crc32c(const void *data, size_t bytes) { return crc32_castagnoli(data, bytes); }

const struct checkpoint_table checkpoint_table = {situ_checkpoint_write, situ_checkpoint_read};
