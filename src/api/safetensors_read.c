/* SPDX-License-Identifier: Apache-2.0
 * safetensors_read.c: reads the safetensors format. The header is checked when a file is opened,
 * the data of a tensor when it is read. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/checkpoint.h"
#include "base/crc32.h"
#include "base/file.h"
#include "base/json.h"
#include "base/map.h"
#include "tensor/tensor.h"

enum { MAX_HEADER = 100 << 20 };

struct entry {
  const char *name;
  situ_type type;
  situ_shape shape;
  int64_t begin, bytes; /* begin: offset in the data */
  int64_t sum;          /* CRC-32, or -1 */
};

struct situ_safetensors {
  int handle;
  char *path;
  struct arena arena;
  int64_t begin, size; /* begin: offset of the data; size: of the file */
  struct entry *entries;
  situ_metadata *metadata;
  int n_entries, n_metadata;
  struct map names; /* index in entries */
};

static situ_status damaged(const situ_safetensors *file, int64_t offset, const char *what,
                           const char *name) {
  return situ_status_create(SITU_DATA_LOSS, "%s: damaged at byte %lld: %s%s%s%s", file->path,
                            (long long)offset, what, *name ? " '" : "", name, *name ? "'" : "");
}

static situ_status invalid_header(const situ_safetensors *file, const char *why) {
  return situ_status_create(SITU_DATA_LOSS, "%s: damaged at byte 8: invalid header (%s)",
                            file->path, why);
}

/* Reads `bytes` bytes; `*got` is smaller at the end of the file. */
static situ_status read_at(const situ_safetensors *file, int64_t offset, void *to, size_t bytes,
                           size_t *got) {
  for (*got = 0; *got < bytes;) {
    const ssize_t n =
        pread(file->handle, (char *)to + *got, bytes - *got, (off_t)(offset + (int64_t)*got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_failure(file->path, errno);
    if (!n) break;
    *got += (size_t)n;
  }
  return NULL;
}

/* ---- The header ---- */

/* Parses an object; a syntax error is DataLoss. */
static situ_status parse(situ_safetensors *file, const char *text, size_t length,
                         struct json **out) {
  const situ_status status = json_parse(text, length, &file->arena, out);
  if (!status) return (*out)->kind == JSON_OBJECT ? NULL : invalid_header(file, "no object");
  if (situ_status_code(status) != SITU_INVALID_ARGUMENT) return status;
  const situ_status loss = invalid_header(file, situ_status_message(status));
  situ_status_release(status);
  return loss;
}

/* Reads the length of the header and its text, which the caller frees. */
static situ_status read_text(situ_safetensors *file, char **text, size_t *length) {
  unsigned char first[8];
  uint64_t count = 0;
  size_t got = 0;
  TRY(read_at(file, 0, first, sizeof first, &got));
  if (got < sizeof first)
    return damaged(file, (int64_t)got, "the file ends within its first 8 bytes", "");
  for (int i = 0; i < 8; i++) count |= (uint64_t)first[i] << (8 * i);
  if (count > MAX_HEADER || (int64_t)count + 8 > file->size)
    return damaged(file, 0, "the header does not fit in the file", "");
  file->begin = 8 + (int64_t)count;
  *length = (size_t)count;
  *text = malloc(*length + 1);
  if (!*text) return NO_MEMORY();
  TRY(read_at(file, 8, *text, *length, &got));
  return got == *length ? NULL : damaged(file, file->size, "the file ends within its header", "");
}

static situ_status read_shape(const situ_safetensors *file, const struct json *sizes,
                              struct entry *out) {
  if (!sizes || sizes->kind != JSON_ARRAY || sizes->count > SITU_MAX_RANK)
    return damaged(file, 8, "invalid header: wrong shape of tensor", out->name);
  out->shape = (situ_shape){.rank = sizes->count};
  int d = 0;
  for (const struct json *size = json_first(sizes); size; size = size->next, d++) {
    out->shape.dim[d] = json_integer(size, -1);
    if (out->shape.dim[d] < 0)
      return damaged(file, 8, "invalid header: wrong shape of tensor", out->name);
  }
  return NULL;
}

/* Reads the type, shape and data offsets of a tensor. */
static situ_status read_entry(const situ_safetensors *file, const struct json *entry,
                              struct entry *out) {
  const char *code = json_string(json_get(entry, "dtype"), "");
  const char *numpy = safetensors_numpy(code);
  const struct json *offsets = json_get(entry, "data_offsets");
  *out = (struct entry){.name = entry->key, .sum = -1};
  out->type = numpy ? situ_type_parse(numpy) : SITU_NO_TYPE;
  if (out->type == SITU_NO_TYPE || strlen(entry->key) != entry->key_length)
    return damaged(file, 8, "invalid header: wrong type or name of tensor", out->name);
  TRY(read_shape(file, json_get(entry, "shape"), out));
  const int64_t count = situ_shape_count(out->shape), end = json_integer(json_at(offsets, 1), -1);
  const int64_t size = (int64_t)situ_type_size(out->type);
  out->begin = json_integer(json_at(offsets, 0), -1);
  out->bytes = out->begin >= 0 && end >= out->begin ? end - out->begin : -1;
  if (out->bytes < 0 || count < 0 || count > out->bytes / size || count * size != out->bytes)
    return damaged(file, 8, "invalid header: wrong size of tensor", out->name);
  if (end > file->size - file->begin)
    return damaged(file, file->size, "the file ends within tensor", out->name);
  return NULL;
}

static situ_status read_metadata(situ_safetensors *file, const struct json *metadata) {
  if (!metadata) return NULL;
  if (metadata->kind != JSON_OBJECT) return invalid_header(file, "__metadata__ is no object");
  file->metadata = ARENA_ARRAY(&file->arena, situ_metadata, metadata->count + 1);
  if (!file->metadata) return NO_MEMORY();
  for (const struct json *pair = json_first(metadata); pair; pair = pair->next) {
    if (pair->kind != JSON_STRING) return invalid_header(file, "metadata that are no strings");
    file->metadata[file->n_metadata++] = (situ_metadata){pair->key, pair->string.text};
  }
  return NULL;
}

/* Reads the checksums in the metadata, one for each tensor. */
static situ_status read_sums(situ_safetensors *file, const struct json *metadata) {
  const char *text = json_string(json_get(metadata, "crc32"), NULL);
  struct json *sums = NULL;
  if (!text) return NULL;
  TRY(parse(file, text, strlen(text), &sums));
  for (const struct json *sum = json_first(sums); sum; sum = sum->next) {
    const int32_t index = map_get(&file->names, sum->key, sum->key_length);
    if (index < 0) return damaged(file, 8, "a checksum, but no tensor", sum->key);
    file->entries[index].sum = json_integer(sum, -1);
  }
  for (int i = 0; i < file->n_entries; i++)
    if (file->entries[i].sum < 0)
      return damaged(file, 8, "no checksum of tensor", file->entries[i].name);
  return NULL;
}

static situ_status read_header(situ_safetensors *file, const char *text, size_t length) {
  static const char key[] = "__metadata__";
  struct json *header = NULL;
  TRY(parse(file, text, length, &header));
  const struct json *metadata = json_get(header, key);
  file->entries = ARENA_ARRAY(&file->arena, struct entry, header->count + 1);
  if (!file->entries) return NO_MEMORY();
  for (const struct json *entry = json_first(header); entry; entry = entry->next) {
    if (entry == metadata) continue;
    TRY(read_entry(file, entry, &file->entries[file->n_entries]));
    if (!map_put(&file->names, entry->key, file->n_entries)) return NO_MEMORY();
    file->n_entries++;
  }
  TRY(read_metadata(file, metadata));
  return read_sums(file, metadata);
}

static situ_status open_file(situ_safetensors *file, const char *path) {
  struct stat about;
  file->handle = open(path, O_RDONLY | O_CLOEXEC);
  file->path = strdup(path);
  if (!file->path) return NO_MEMORY();
  if (file->handle < 0 || fstat(file->handle, &about)) return file_failure(path, errno);
  if (S_ISDIR(about.st_mode)) return file_failure(path, EISDIR);
  file->size = about.st_size;
  char *text = NULL;
  size_t length = 0;
  situ_status status = read_text(file, &text, &length);
  if (!status) status = read_header(file, text, length);
  free(text);
  return status;
}

/* ---- The public functions ---- */

situ_status situ_safetensors_open(const char *path, situ_safetensors **out) {
  if (!path || !out) return INVALID("situ_safetensors_open: an argument is NULL.");
  *out = NULL;
  situ_safetensors *file = calloc(1, sizeof *file);
  if (!file) return NO_MEMORY();
  const situ_status status = open_file(file, path);
  if (status)
    situ_safetensors_release(file);
  else
    *out = file;
  return status;
}

void situ_safetensors_release(situ_safetensors *file) {
  if (!file) return;
  if (file->handle >= 0) close(file->handle);
  map_free(&file->names);
  arena_free(&file->arena);
  free(file->path);
  free(file);
}

bool situ_safetensors_array(const situ_safetensors *file, int index, situ_array *out) {
  if (!file || !out || index < 0 || index >= file->n_entries) return false;
  const struct entry *entry = &file->entries[index];
  *out = (situ_array){.name = entry->name,
                      .type = situ_type_numpy(entry->type),
                      .shape = entry->shape,
                      .bytes = (size_t)entry->bytes};
  return true;
}

bool situ_safetensors_metadata(const situ_safetensors *file, int index, situ_metadata *out) {
  if (!file || !out || index < 0 || index >= file->n_metadata) return false;
  *out = file->metadata[index];
  return true;
}

static situ_status read_data(const situ_safetensors *file, const struct entry *entry,
                             situ_tensor *tensor) {
  size_t got = 0;
  void *to = (void *)(uintptr_t)situ_tensor_data(tensor); /* not shared yet */
  const int64_t offset = file->begin + entry->begin;
  if (entry->bytes) TRY(read_at(file, offset, to, (size_t)entry->bytes, &got));
  if (got != (size_t)entry->bytes)
    return damaged(file, offset + (int64_t)got, "the file ends within tensor", entry->name);
  if (entry->sum < 0 || entry->sum == (int64_t)crc32_zlib(to, got)) return NULL;
  return situ_status_create(
      SITU_DATA_LOSS,
      "%s: damaged at byte %lld: the checksum of tensor '%s' does not match its %zu bytes",
      file->path, (long long)offset, entry->name, got);
}

situ_status situ_safetensors_read(const situ_safetensors *file, const char *name,
                                  situ_tensor **out) {
  if (!file || !name || !out) return INVALID("situ_safetensors_read: an argument is NULL.");
  *out = NULL;
  const int32_t index = map_get(&file->names, name, strlen(name));
  if (index < 0)
    return situ_status_create(SITU_NOT_FOUND, "Key %s not found in checkpoint (%s)", name,
                              file->path);
  situ_tensor *tensor = NULL;
  TRY(tensor_create_raw(file->entries[index].type, file->entries[index].shape, &tensor));
  const situ_status status = read_data(file, &file->entries[index], tensor);
  if (status)
    situ_tensor_release(tensor);
  else
    *out = tensor;
  return status;
}
