/* SPDX-License-Identifier: Apache-2.0
 * files.c: data sets of the records of files. */
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "data/data.h"
#include "ops/io/record_reader.h"
#include "tensor/tensor.h"

struct reading {
  struct cursor head;
  struct record_file file;
  situ_tensor *names; /* borrowed */
  int64_t at;         /* the next name */
  struct strbuf key, value;
};

static situ_status make(situ_dataset *dataset) {
  dataset->n_parts = 1;
  return NULL;
}

static enum record_format format_of(const struct data_kind *kind) {
  if (kind == &kind_TextLine) return RECORD_LINE;
  return kind == &kind_TFRecord ? RECORD_TF : RECORD_FIXED;
}

static situ_status open(struct cursor *cursor) {
  struct reading *self = (struct reading *)cursor;
  struct record_file *file = &self->file;
  TRY(cursor_param(cursor, 0, &self->names));
  if (self->names->type != SITU_STRING || self->names->shape.rank > 1)
    return INVALID("`filenames` must be a scalar or a vector of strings.");
  file->format = format_of(cursor->dataset->kind);
  file->packing = cursor->dataset->spec.text;
  if (file->format != RECORD_FIXED) return NULL;
  TRY(cursor_number(cursor, 1, &file->header_bytes));
  TRY(cursor_number(cursor, 2, &file->record_bytes));
  TRY(cursor_number(cursor, 3, &file->footer_bytes));
  file->hop_bytes = file->record_bytes;
  if (file->header_bytes < 0) return INVALID("`header_bytes` must be >= 0");
  if (file->record_bytes < 1) return INVALID("`record_bytes` must be > 0");
  return file->footer_bytes < 0 ? INVALID("`footer_bytes` must be >= 0") : NULL;
}

/* Records of a fixed length fill their file. The size of a compressed file is known at its end:
 * TensorFlow gives its whole records first. */
static situ_status check_size(const struct record_file *file, situ_code code) {
  const int64_t body = file->size - file->header_bytes - file->footer_bytes;
  if (file->format != RECORD_FIXED || body % file->record_bytes == 0) return NULL;
  return situ_status_create(
      code,
      "Excluding the header (%lld bytes) and footer (%lld bytes), input file \"%s\" has "
      "body length %lld bytes, which is not an exact multiple of the record length "
      "(%lld bytes).",
      (long long)file->header_bytes, (long long)file->footer_bytes, file->path, (long long)body,
      (long long)file->record_bytes);
}

static situ_status open_next(struct reading *self) {
  const char *path = situ_tensor_string(self->names, self->at++).data;
  TRY(record_open(&self->file, path));
  const situ_status status =
      self->file.packing ? NULL : check_size(&self->file, SITU_INVALID_ARGUMENT);
  if (status) record_close(&self->file);
  return status;
}

static situ_status next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct reading *self = (struct reading *)cursor;
  for (bool over = true; over;) {
    if (!self->file.stream) {
      *end = self->at >= situ_shape_count(self->names->shape);
      if (*end) return NULL;
      TRY(open_next(self));
    }
    self->key.length = 0;
    self->value.length = 0;
    situ_status status = record_next(&self->file, &self->key, &self->value, &over);
    if (!status && over && self->file.packing) status = check_size(&self->file, SITU_DATA_LOSS);
    if (status || over) record_close(&self->file);
    if (status) return status;
  }
  if (self->value.failed) return NO_MEMORY();
  const situ_string text = {strbuf_get(&self->value), self->value.length};
  return situ_tensor_create_strings(SITU_SCALAR, &text, &parts[0]);
}

static void close(struct cursor *cursor) {
  struct reading *self = (struct reading *)cursor;
  record_close(&self->file);
  strbuf_free(&self->key);
  strbuf_free(&self->value);
}

#define KIND(kind, params)                                              \
  const struct data_kind kind_##kind = {.name = #kind,                  \
                                        .size = sizeof(struct reading), \
                                        .n_params = params,             \
                                        .make = make,                   \
                                        .open = open,                   \
                                        .next = next,                   \
                                        .close = close,                 \
                                        .count = dataset_count_unknown}
KIND(TextLine, 1);
KIND(TFRecord, 1);
KIND(FixedLengthRecord, 4);
