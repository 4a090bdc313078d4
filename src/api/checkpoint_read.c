/* SPDX-License-Identifier: Apache-2.0
 * checkpoint_read.c: reads tensors from checkpoints. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/checkpoint.h"
#include "base/crc32.h"
#include "base/file.h"
#include "base/json.h"
#include "tensor/tensor.h"

enum { MOST_HEADER = 100 << 20 };

struct checkpoint_file {
  FILE *file;
  const char *path;
  struct arena arena;
  const struct json *header, *sums; /* sums: checksums, or NULL */
  int64_t begin, size;              /* begin: offset of the tensor data; size: of the file */
};

static situ_status damaged(const struct checkpoint_file *r, int64_t offset, const char *what,
                           const char *name) {
  return situ_status_create(SITU_DATA_LOSS, "%s: damaged at byte %lld: %s%s%s%s", r->path,
                            (long long)offset, what, *name ? " '" : "", name, *name ? "'" : "");
}

/* Parses a JSON header; a syntax error is DataLoss. */
static situ_status parse(struct checkpoint_file *r, const char *text, size_t length,
                         const struct json **out) {
  struct json *value = NULL;
  const situ_status s = json_parse(text, length, &r->arena, &value);
  if (s && situ_status_code(s) != SITU_INVALID_ARGUMENT) return s;
  *out = value;
  if (!s && value->kind == JSON_OBJECT) return NULL;
  situ_status_release(s);
  return damaged(r, 8, "the header is none", "");
}

static situ_status read_header(struct checkpoint_file *r) {
  unsigned char first[8];
  uint64_t length = 0;
  const size_t got = fread(first, 1, sizeof first, r->file);
  if (got < sizeof first)
    return damaged(r, (int64_t)got, "the file ends within its first 8 bytes", "");
  for (int i = 0; i < 8; i++) length |= (uint64_t)first[i] << (8 * i);
  if (length > MOST_HEADER || (int64_t)length + 8 > r->size)
    return damaged(r, 0, "the header does not fit in the file", "");
  r->begin = 8 + (int64_t)length;
  char *text = malloc(length + 1);
  if (!text) return NO_MEMORY();
  situ_status s = fread(text, 1, length, r->file) == length
                      ? parse(r, text, length, &r->header)
                      : damaged(r, r->size, "the file ends within its header", "");
  free(text);
  const char *sums =
      s ? NULL : json_string(json_get(json_get(r->header, "__metadata__"), "crc32"), NULL);
  return sums ? parse(r, sums, strlen(sums), &r->sums) : s;
}

/* Returns the type that the format calls `code`, or SITU_NO_TYPE. */
static situ_type type_of(const char *code) {
  const char *numpy = safetensors_numpy(code);
  return numpy ? situ_type_parse(numpy) : SITU_NO_TYPE;
}

/* Reads the type, shape and data offsets of a tensor. */
static situ_status read_entry(const struct checkpoint_file *r, const char *name, situ_type *type,
                              situ_shape *shape, int64_t *at, int64_t *bytes) {
  const struct json *entry = json_get(r->header, name);
  if (!entry)
    return situ_status_create(SITU_NOT_FOUND, "Key %s not found in checkpoint (%s)", name, r->path);
  const struct json *sizes = json_get(entry, "shape"), *offsets = json_get(entry, "data_offsets");
  *type = type_of(json_string(json_get(entry, "dtype"), ""));
  if (*type == SITU_NO_TYPE || !sizes || sizes->kind != JSON_ARRAY || sizes->count > SITU_MAX_RANK)
    return damaged(r, 8, "wrong type or shape of tensor", name);
  *shape = (situ_shape){.rank = sizes->count};
  for (int d = 0; d < sizes->count; d++) {
    shape->dim[d] = json_integer(json_at(sizes, d), -1);
    if (shape->dim[d] < 0) return damaged(r, 8, "wrong shape of tensor", name);
  }
  const int64_t count = situ_shape_count(*shape), end = json_integer(json_at(offsets, 1), -1);
  *at = json_integer(json_at(offsets, 0), -1);
  if (*at < 0 || end < *at || count < 0 || count > (end - *at) / (int64_t)situ_type_size(*type) ||
      count * (int64_t)situ_type_size(*type) != end - *at)
    return damaged(r, 8, "wrong size of tensor", name);
  *bytes = end - *at;
  if (end > r->size - r->begin) return damaged(r, r->size, "the file ends within tensor", name);
  return NULL;
}

static situ_status read_tensor(const struct checkpoint_file *r, const char *name,
                               situ_tensor **out) {
  situ_type type = SITU_NO_TYPE;
  situ_shape shape = SITU_SCALAR;
  int64_t at = 0, bytes = 0;
  TRY(read_entry(r, name, &type, &shape, &at, &bytes));
  TRY(tensor_create_raw(type, shape, out));
  void *to = (void *)(uintptr_t)situ_tensor_data(*out); /* not shared yet */
  if (fseeko(r->file, r->begin + at, SEEK_SET) ||
      (bytes && fread(to, 1, (size_t)bytes, r->file) != (size_t)bytes))
    return damaged(r, r->begin + at, "the file ends within tensor", name);
  if (!r->sums) return NULL;
  if (json_integer(json_get(r->sums, name), -1) != (int64_t)crc32_zlib(to, (size_t)bytes))
    return damaged(r, r->begin + at, "the checksum does not fit the bytes of tensor", name);
  return NULL;
}

static situ_status read_all(struct checkpoint_file *r, const char *const *names, int count,
                            situ_tensor **results) {
  r->file = fopen(r->path, "rb");
  if (!r->file) return file_failure(r->path, errno);
  const bool sized = !fseeko(r->file, 0, SEEK_END) && (r->size = ftello(r->file)) >= 0 &&
                     !fseeko(r->file, 0, SEEK_SET);
  situ_status s = sized ? read_header(r) : file_failure(r->path, errno);
  for (int i = 0; i < count && !s; i++) s = read_tensor(r, names[i], &results[i]);
  fclose(r->file);
  return s;
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
  struct checkpoint_file r = {.path = strbuf_get(&path)};
  situ_status s = path.failed ? NO_MEMORY() : read_all(&r, names, count, results);
  for (int i = 0; i < count && s; i++) {
    situ_tensor_release(results[i]);
    results[i] = NULL;
  }
  arena_free(&r.arena);
  strbuf_free(&path);
  return s;
}
