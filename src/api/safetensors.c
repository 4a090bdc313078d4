/* SPDX-License-Identifier: Apache-2.0
 * safetensors.c: writes the safetensors format: the length of the header (8 bytes), a JSON header,
 * the data of all tensors. The metadata of the header has a CRC-32 of each tensor. Strings are
 * stored as bytes; the metadata has their shapes. */
#include <stdlib.h>
#include <string.h>

#include "api/checkpoint.h"
#include "base/crc32.h"
#include "base/file.h"
#include "base/json.h"

static const struct {
  const char *code, *numpy;
} types[] = {{"F64", "float64"},
             {"F32", "float32"},
             {"F16", "float16"},
             {"I64", "int64"},
             {"I32", "int32"},
             {"I16", "int16"},
             {"I8", "int8"},
             {"U8", "uint8"},
             {"U16", "uint16"},
             {"U32", "uint32"},
             {"U64", "uint64"},
             {"BOOL", "bool"},
             {"BF16", "bfloat16"},
             {"C64", "complex64"},
             {"C128", "complex128"},
             {"F8_E5M2", "float8_e5m2"},
             {"F8_E4M3", "float8_e4m3fn"}};

static const char strings[] = "object"; /* NumPy's type of arrays of strings */

static const char *code_of(const char *numpy) {
  for (size_t i = 0; i < COUNT_OF(types); i++)
    if (!strcmp(types[i].numpy, numpy)) return types[i].code;
  return NULL;
}

bool safetensors_stores(situ_type type) { return code_of(situ_type_numpy(type)); }

const char *safetensors_numpy(const char *code) {
  for (size_t i = 0; i < COUNT_OF(types); i++)
    if (!strcmp(types[i].code, code)) return types[i].numpy;
  return NULL;
}

void safetensors_append_shape(struct strbuf *out, situ_shape shape) {
  strbuf_append(out, "[");
  for (int d = 0; d < shape.rank; d++)
    strbuf_appendf(out, "%s%lld", d ? "," : "", (long long)shape.dim[d]);
  strbuf_append(out, "]");
}

/* Appends `"key":"value",`. */
static void append_pair(struct strbuf *out, const char *key, const char *value) {
  json_write_string(out, key);
  strbuf_append(out, ":");
  json_write_string(out, value);
  strbuf_append(out, ",");
}

/* Ends a list of members, whose last comma it drops, and moves it to the metadata. */
static void append_object(struct strbuf *out, const char *key, struct strbuf *members) {
  if (members->length) members->data[members->length - 1] = '}';
  append_pair(out, key, members->length ? members->data : "{}");
  out->failed |= members->failed;
  strbuf_free(members);
}

static void append_metadata(struct strbuf *out, const situ_array *arrays, int count,
                            const situ_metadata *metadata, int n_metadata) {
  struct strbuf sums = {0}, shapes = {0};
  bool has_format = false;
  strbuf_append(out, "\"__metadata__\":{");
  for (int i = 0; i < n_metadata; i++) {
    has_format |= !strcmp(metadata[i].key, "format");
    append_pair(out, metadata[i].key, metadata[i].value);
  }
  if (!has_format) append_pair(out, "format", "situ");
  for (int i = 0; i < count; i++) {
    strbuf_append(&sums, i ? "" : "{");
    json_write_string(&sums, arrays[i].name);
    strbuf_appendf(&sums, ":%u,", crc32_zlib(arrays[i].data, arrays[i].bytes));
    if (strcmp(arrays[i].type, strings) != 0) continue;
    strbuf_append(&shapes, shapes.length ? "" : "{");
    json_write_string(&shapes, arrays[i].name);
    strbuf_append(&shapes, ":");
    safetensors_append_shape(&shapes, arrays[i].shape);
    strbuf_append(&shapes, ",");
  }
  if (shapes.length) append_object(out, "strings", &shapes);
  append_object(out, "crc32", &sums);
  if (!out->failed) out->data[out->length - 1] = '}';
}

/* Builds the JSON header: types, shapes and offsets of the arrays, padded to 8 bytes. */
static void append_header(struct strbuf *out, const situ_array *arrays, int count,
                          const situ_metadata *metadata, int n_metadata) {
  size_t at = 0;
  strbuf_append(out, "{");
  for (int i = 0; i < count; i++) {
    const bool is_string = !strcmp(arrays[i].type, strings);
    json_write_string(out, arrays[i].name);
    strbuf_append(out, ":{\"dtype\":\"");
    strbuf_append(out, is_string ? "U8" : code_of(arrays[i].type));
    strbuf_append(out, "\",\"shape\":");
    safetensors_append_shape(out,
                             is_string ? SITU_SHAPE((int64_t)arrays[i].bytes) : arrays[i].shape);
    strbuf_appendf(out, ",\"data_offsets\":[%zu,%zu]},", at, at + arrays[i].bytes);
    at += arrays[i].bytes;
  }
  append_metadata(out, arrays, count, metadata, n_metadata);
  strbuf_append(out, "}");
  while (out->length % 8 && !out->failed) strbuf_append(out, " ");
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const situ_array *)a)->name, ((const situ_array *)b)->name);
}

static situ_status check(const situ_array *arrays, int count) {
  for (int i = 0; i < count; i++) {
    if (!code_of(arrays[i].type) && strcmp(arrays[i].type, strings) != 0)
      return situ_status_create(SITU_UNIMPLEMENTED,
                                "Tensor '%s' of type %s cannot be saved in a checkpoint.",
                                arrays[i].name, arrays[i].type);
    if (i && !strcmp(arrays[i - 1].name, arrays[i].name))
      return INVALID("Duplicate tensor name in a checkpoint: '%s'.", arrays[i].name);
  }
  return NULL;
}

static situ_status write_parts(const char *path, const struct strbuf *header,
                               const situ_array *arrays, int count) {
  struct file_part *parts = calloc((size_t)count + 2, sizeof *parts);
  if (!parts) return NO_MEMORY();
  unsigned char length[8];
  for (int i = 0; i < 8; i++) length[i] = (unsigned char)((uint64_t)header->length >> (8 * i));
  parts[0] = (struct file_part){length, sizeof length};
  parts[1] = (struct file_part){header->data, header->length};
  for (int i = 0; i < count; i++)
    parts[i + 2] = (struct file_part){arrays[i].data, arrays[i].bytes};
  const situ_status s = file_replace(path, parts, count + 2);
  free(parts);
  return s;
}

situ_status situ_safetensors_write(const char *path, situ_array *arrays, int count,
                                   const situ_metadata *metadata, int n_metadata) {
  if (!path || !*path || count < 0 || (count && !arrays) || (n_metadata && !metadata))
    return INVALID("situ_safetensors_write: an argument is NULL.");
  if (count) qsort(arrays, (size_t)count, sizeof *arrays, by_name);
  TRY(check(arrays, count));
  struct strbuf header = {0};
  append_header(&header, arrays, count, metadata, n_metadata);
  const situ_status s = header.failed ? NO_MEMORY() : write_parts(path, &header, arrays, count);
  strbuf_free(&header);
  return s;
}
