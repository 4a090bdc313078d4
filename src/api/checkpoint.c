/* SPDX-License-Identifier: Apache-2.0
 * checkpoint.c: writes checkpoints in the safetensors format; checkpoint_read.c reads them. */
#include "api/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "ops/io/file_ops.h"
#include "tensor/tensor.h"

static const struct {
  situ_type type;
  const char *word;
} words[] = {{SITU_DOUBLE, "F64"}, {SITU_FLOAT, "F32"}, {SITU_HALF, "F16"}, {SITU_INT64, "I64"},
             {SITU_INT32, "I32"},  {SITU_INT16, "I16"}, {SITU_INT8, "I8"},  {SITU_UINT8, "U8"},
             {SITU_UINT16, "U16"}, {SITU_BOOL, "BOOL"}};

const char *checkpoint_type_name(situ_type type) {
  for (size_t i = 0; i < COUNT_OF(words); i++)
    if (words[i].type == type) return words[i].word;
  return NULL;
}

situ_type checkpoint_type(const char *word) {
  for (size_t i = 0; i < COUNT_OF(words); i++)
    if (!strcmp(words[i].word, word)) return words[i].type;
  return SITU_NO_TYPE;
}

uint32_t checkpoint_crc32(const void *data, size_t bytes) {
  const unsigned char *at = data;
  uint32_t table[256], sum = UINT32_MAX;
  for (uint32_t i = 0; i < 256; i++) {
    table[i] = i;
    for (int bit = 0; bit < 8; bit++)
      table[i] = table[i] & 1 ? table[i] >> 1 ^ 0xedb88320u : table[i] >> 1;
  }
  for (size_t i = 0; i < bytes; i++) sum = table[(sum ^ at[i]) & 255] ^ sum >> 8;
  return ~sum;
}

void checkpoint_path(const char *prefix, struct strbuf *out) {
  strbuf_appendf(out, "%s.data-00000-of-00001", prefix);
}

/* ---- Files ---- */

/* Makes a rename durable by syncing the directory. */
static situ_status sync_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  struct strbuf folder = {0};
  strbuf_append_n(&folder, path, slash ? (size_t)(slash - path) + 1 : 0);
  if (!slash) strbuf_append(&folder, ".");
  const int handle = folder.failed ? -1 : open(strbuf_get(&folder), O_RDONLY | O_DIRECTORY);
  const int error = folder.failed ? ENOMEM : handle < 0 || fsync(handle) ? errno : 0;
  if (handle >= 0) close(handle);
  strbuf_free(&folder);
  return error ? file_failure(path, error) : NULL;
}

struct part {
  const void *data;
  size_t bytes;
};

/* Writes to a temporary file and renames it, so that a crash leaves the old or the new file. */
static situ_status write_atomically(const char *path, const struct part *parts, int count) {
  struct strbuf aside = {0};
  strbuf_appendf(&aside, "%s.tmp%ld.%llx", path, (long)getpid(),
                 (unsigned long long)pthread_self());
  if (aside.failed) {
    strbuf_free(&aside);
    return NO_MEMORY();
  }
  FILE *file = fopen(strbuf_get(&aside), "wb");
  bool good = file;
  for (int i = 0; i < count && good; i++)
    good = fwrite(parts[i].data, 1, parts[i].bytes, file) == parts[i].bytes;
  good = good && !fflush(file) && !fsync(fileno(file));
  int error = good ? 0 : errno ? errno : EIO; /* never 0 on failure */
  if (file && fclose(file) && !error) error = errno ? errno : EIO;
  if (!error && rename(strbuf_get(&aside), path)) error = errno;
  if (error && file) remove(strbuf_get(&aside));
  strbuf_free(&aside);
  return error ? file_failure(path, error) : sync_folder(path);
}

/* ---- Tensors ---- */

static int by_name(const void *a, const void *b) {
  return strcmp(((const situ_named *)a)->name, ((const situ_named *)b)->name);
}

static void add_sizes(struct strbuf *out, situ_shape shape) {
  strbuf_append(out, "[");
  for (int d = 0; d < shape.rank; d++)
    strbuf_appendf(out, "%s%lld", d ? "," : "", (long long)shape.dim[d]);
  strbuf_append(out, "]");
}

/* Builds the JSON header: offsets and checksums of the tensors, padded to 8 bytes. */
static void append_header(const situ_named *tensors, int count, struct strbuf *out) {
  struct strbuf sums = {0};
  size_t at = 0;
  strbuf_append(out, "{");
  strbuf_append(&sums, "{");
  for (int i = 0; i < count; i++) {
    const situ_tensor *tensor = tensors[i].tensor;
    json_write_string(out, tensors[i].name);
    strbuf_appendf(out, ":{\"dtype\":\"%s\",\"shape\":", checkpoint_type_name(tensor->type));
    add_sizes(out, tensor->shape);
    strbuf_appendf(out, ",\"data_offsets\":[%zu,%zu]},", at, at + tensor->bytes);
    at += tensor->bytes;
    json_write_string(&sums, tensors[i].name);
    strbuf_appendf(&sums, ":%u%s", checkpoint_crc32(situ_tensor_data(tensor), tensor->bytes),
                   i + 1 < count ? "," : "");
  }
  strbuf_append(&sums, "}");
  strbuf_append(out, "\"__metadata__\":{\"format\":\"situ\",\"crc32\":");
  json_write_string(out, strbuf_get(&sums));
  strbuf_append(out, "}}");
  while (out->length % 8 && !out->failed) strbuf_append(out, " ");
  out->failed |= sums.failed;
  strbuf_free(&sums);
}

/* Writes the human-readable list of tensors. */
static situ_status write_index(const char *prefix, const char *data, const situ_named *tensors,
                               int count) {
  struct strbuf path = {0}, text = {0};
  const char *slash = strrchr(data, '/');
  strbuf_appendf(&path, "%s.index", prefix);
  strbuf_append(&text, "{\n \"format\": \"situ checkpoint\",\n \"data\": [");
  json_write_string(&text, slash ? slash + 1 : data);
  strbuf_append(&text, "],\n \"variables\": {");
  for (int i = 0; i < count; i++) {
    strbuf_append(&text, i ? ",\n  " : "\n  ");
    json_write_string(&text, tensors[i].name);
    strbuf_appendf(&text,
                   ": {\"dtype\": \"%s\", \"shape\": ", situ_type_numpy(tensors[i].tensor->type));
    add_sizes(&text, tensors[i].tensor->shape);
    strbuf_append(&text, "}");
  }
  strbuf_append(&text, "\n }\n}\n");
  const situ_status s =
      path.failed || text.failed
          ? NO_MEMORY()
          : write_atomically(strbuf_get(&path), &(struct part){text.data, text.length}, 1);
  strbuf_free(&path);
  strbuf_free(&text);
  return s;
}

static situ_status write_files(const char *prefix, const situ_named *tensors, int count) {
  struct part *parts = calloc((size_t)count + 2, sizeof *parts);
  struct strbuf header = {0}, path = {0};
  append_header(tensors, count, &header);
  checkpoint_path(prefix, &path);
  unsigned char length[8];
  for (int i = 0; i < 8; i++) length[i] = (unsigned char)((uint64_t)header.length >> (8 * i));
  situ_status s = parts && !header.failed && !path.failed ? NULL : NO_MEMORY();
  if (!s) {
    parts[0] = (struct part){length, sizeof length};
    parts[1] = (struct part){header.data, header.length};
    for (int i = 0; i < count; i++)
      parts[i + 2] = (struct part){situ_tensor_data(tensors[i].tensor), tensors[i].tensor->bytes};
    s = write_atomically(strbuf_get(&path), parts, count + 2);
  }
  if (!s) s = write_index(prefix, strbuf_get(&path), tensors, count);
  strbuf_free(&header);
  strbuf_free(&path);
  free(parts);
  return s;
}

/* Validates the tensors and copies them to the host, sorted by name. */
static situ_status collect_tensors(const situ_named *tensors, int count, situ_named *out) {
  for (int i = 0; i < count; i++) {
    if (!tensors[i].name || !tensors[i].tensor)
      return INVALID("Tensor %d of a checkpoint has no name or no value.", i);
    if (!checkpoint_type_name(situ_tensor_type(tensors[i].tensor)))
      return situ_status_create(SITU_UNIMPLEMENTED,
                                "Tensor '%s' of type %s cannot be saved in a checkpoint.",
                                tensors[i].name, situ_type_numpy(tensors[i].tensor->type));
    out[i].name = tensors[i].name;
    TRY(tensor_host(tensors[i].tensor, &out[i].tensor));
  }
  qsort(out, (size_t)count, sizeof *out, by_name);
  for (int i = 1; i < count; i++)
    if (!strcmp(out[i - 1].name, out[i].name))
      return INVALID("Duplicate tensor name in a checkpoint: '%s'.", out[i].name);
  return NULL;
}

situ_status situ_checkpoint_write(const char *prefix, const situ_named *tensors, int count) {
  if (!prefix || !*prefix || count < 0 || (count && !tensors))
    return INVALID("situ_checkpoint_write: an argument is NULL.");
  situ_named *host = calloc((size_t)count + 1, sizeof *host);
  if (!host) return NO_MEMORY();
  situ_status s = collect_tensors(tensors, count, host);
  if (!s) s = write_files(prefix, host, count);
  for (int i = 0; i < count; i++) situ_tensor_release(host[i].tensor);
  free(host);
  return s;
}
