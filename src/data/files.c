/* SPDX-License-Identifier: Apache-2.0
 * files.c: TextLine, TFRecord and FixedLengthRecord: the records of files. */
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "data/data.h"
#include "ops/io/record_reader.h"
#include "tensor/tensor.h"

struct file_cursor {
  struct cursor head;
  struct record_file file;
  situ_tensor *names; /* borrowed */
  int64_t at;         /* index of the next file */
  struct strbuf key, value;
};

static situ_status init(situ_dataset *dataset) {
  dataset->n_components = 1;
  return NULL;
}

static enum record_format format_of(const struct data_kind *kind) {
  if (kind == &kind_TextLine) return RECORD_LINE;
  return kind == &kind_TFRecord ? RECORD_TF : RECORD_FIXED;
}

static situ_status open(struct cursor *cursor) {
  struct file_cursor *self = (struct file_cursor *)cursor;
  struct record_file *file = &self->file;
  TRY(cursor_param(cursor, 0, &self->names));
  if (self->names->type != SITU_STRING || self->names->shape.rank > 1)
    return INVALID("`filenames` must be a scalar or a vector of strings.");
  file->format = format_of(cursor->dataset->kind);
  file->packing = cursor->dataset->spec.compression;
  if (file->format != RECORD_FIXED) return NULL;
  TRY(cursor_int_param(cursor, 1, &file->header_bytes));
  TRY(cursor_int_param(cursor, 2, &file->record_bytes));
  TRY(cursor_int_param(cursor, 3, &file->footer_bytes));
  file->hop_bytes = file->record_bytes;
  if (file->header_bytes < 0) return INVALID("`header_bytes` must be >= 0");
  if (file->record_bytes < 1) return INVALID("`record_bytes` must be > 0");
  return file->footer_bytes < 0 ? INVALID("`footer_bytes` must be >= 0") : NULL;
}

/* Checks that fixed-length records fill the file. The size of a compressed file is known only at
 * its end, after its complete records, as in TensorFlow. */
static situ_status check_size(const struct record_file *file, situ_code code) {
  const int64_t body = file->size - file->header_bytes - file->footer_bytes;
  if (file->format != RECORD_FIXED || file->size < 0 || body % file->record_bytes == 0) return NULL;
  return situ_status_create(
      code,
      "Excluding the header (%lld bytes) and footer (%lld bytes), input file \"%s\" has "
      "body length %lld bytes, which is not an exact multiple of the record length "
      "(%lld bytes).",
      (long long)file->header_bytes, (long long)file->footer_bytes, file->path, (long long)body,
      (long long)file->record_bytes);
}

static situ_status open_next(struct file_cursor *self) {
  const char *path = situ_tensor_string(self->names, self->at++).data;
  TRY(record_open(&self->file, path));
  const situ_status status = check_size(&self->file, SITU_INVALID_ARGUMENT);
  if (status) record_close(&self->file);
  return status;
}

static situ_status next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct file_cursor *self = (struct file_cursor *)cursor;
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
  return situ_tensor_create_strings(SITU_SCALAR, &text, &components[0]);
}

static void close(struct cursor *cursor) {
  struct file_cursor *self = (struct file_cursor *)cursor;
  record_close(&self->file);
  strbuf_free(&self->key);
  strbuf_free(&self->value);
}

#define KIND(kind, params)                                                  \
  const struct data_kind kind_##kind = {.name = #kind,                      \
                                        .size = sizeof(struct file_cursor), \
                                        .n_params = params,                 \
                                        .init = init,                       \
                                        .open = open,                       \
                                        .next = next,                       \
                                        .close = close,                     \
                                        .cardinality = dataset_cardinality_unknown}
KIND(TextLine, 1);
KIND(TFRecord, 1);
KIND(FixedLengthRecord, 4);
