/* SPDX-License-Identifier: Apache-2.0
 * cache_file.c: elements that are read once and kept in a file, for later iterators and programs.
 *
 * The file is NAME.cache: a line that says what it is, then for each element a 1 and its parts,
 * then a 0. It is written under another name, and has its own when it is complete. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/data.h"
#include "ops/io/file_ops.h"
#include "tensor/tensor.h"

static const char title[] = "situ cache 1\n";

struct filing {
  struct cursor head;
  char *path, *partial; /* the second while it is written */
  FILE *stream;
  int64_t size; /* of what is read: nothing in it is larger */
  bool ended;
};

static situ_status name_of(const struct cursor *cursor, const char *ending, char **out) {
  situ_tensor *name = NULL;
  TRY(cursor_param(cursor, 0, &name));
  if (name->type != SITU_STRING || situ_shape_count(name->shape) != 1)
    return INVALID("`filename` must be a scalar string.");
  return asprintf(out, "%s%s", situ_tensor_string(name, 0).data, ending) < 0 ? NO_MEMORY() : NULL;
}

static situ_status damaged(const struct filing *self) {
  return situ_status_create(SITU_DATA_LOSS, "%s is damaged at byte %lld: remove it.", self->path,
                            (long long)ftello(self->stream));
}

/* Begins to write. */
static situ_status write_title(struct filing *self) {
  TRY(name_of(&self->head, ".cache.XXXXXX", &self->partial));
  const int file = mkstemp(self->partial);
  if (file < 0) {
    const situ_status status = file_failure(self->partial, errno);
    free(self->partial);
    self->partial = NULL;
    return status;
  }
  self->stream = fdopen(file, "wb");
  if (!self->stream) {
    close(file);
    return NO_MEMORY();
  }
  fputs(title, self->stream);
  return cursor_begin(&self->head, 0);
}

static situ_status open(struct cursor *cursor) {
  struct filing *self = (struct filing *)cursor;
  char line[sizeof title] = "";
  TRY(name_of(cursor, ".cache", &self->path));
  self->stream = fopen(self->path, "rb");
  if (!self->stream) return write_title(self);
  fseeko(self->stream, 0, SEEK_END);
  self->size = ftello(self->stream);
  rewind(self->stream);
  const bool same = fread(line, 1, sizeof line - 1, self->stream) && !strcmp(line, title);
  return same ? NULL : damaged(self);
}

static void close_file(struct cursor *cursor) {
  struct filing *self = (struct filing *)cursor;
  if (self->stream) fclose(self->stream);
  if (self->partial) unlink(self->partial);
  free(self->partial);
  free(self->path);
}

static bool is_plain(situ_type type) {
  return type != SITU_RESOURCE && type != SITU_VARIANT && situ_type_size(type);
}

/* Writing */

static void put_part(FILE *stream, const situ_tensor *part) {
  const int32_t head[2] = {(int32_t)part->type, part->shape.rank};
  fwrite(head, sizeof head, 1, stream);
  fwrite(part->shape.dim, sizeof *part->shape.dim, (size_t)part->shape.rank, stream);
  const int64_t n = situ_shape_count(part->shape);
  if (part->type != SITU_STRING) {
    if (part->bytes) fwrite(situ_tensor_data(part), 1, part->bytes, stream);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    const situ_string text = situ_tensor_string(part, i);
    const uint64_t length = text.length;
    fwrite(&length, sizeof length, 1, stream);
    fwrite(text.data, 1, text.length, stream);
  }
}

/* The file is complete: from now on it has its name. */
static situ_status finish(struct filing *self) {
  fputc(0, self->stream);
  const bool failed = ferror(self->stream) != 0, late = fclose(self->stream) != 0;
  self->stream = NULL;
  if (failed || late || rename(self->partial, self->path)) return file_failure(self->path, errno);
  free(self->partial);
  self->partial = NULL;
  return NULL;
}

static situ_status put(struct filing *self, situ_tensor **parts) {
  const int n = self->head.dataset->n_parts;
  for (int i = 0; i < n; i++) {
    TRY(component_to_host(&parts[i]));
    if (parts[i]->type != SITU_STRING && !is_plain(parts[i]->type))
      return situ_status_create(SITU_UNIMPLEMENTED, "Data sets cannot be kept in a file.");
  }
  fputc(1, self->stream);
  for (int i = 0; i < n; i++) put_part(self->stream, parts[i]);
  return ferror(self->stream) ? file_failure(self->partial, EIO) : NULL;
}

/* Reading */

static bool get(struct filing *self, void *to, size_t bytes) {
  return !bytes || fread(to, bytes, 1, self->stream) == 1;
}

static situ_status get_texts(struct filing *self, situ_shape shape, situ_tensor **out) {
  const int64_t n = situ_shape_count(shape);
  situ_string *texts = calloc((size_t)n + 1, sizeof *texts);
  situ_status status = texts ? NULL : NO_MEMORY();
  for (int64_t i = 0; i < n && !status; i++) {
    uint64_t length = 0;
    const bool good = get(self, &length, sizeof length) && length <= (uint64_t)self->size;
    char *data = good ? malloc(length + 1) : NULL;
    texts[i] = (situ_string){data, length};
    if (!data || !get(self, data, length)) status = damaged(self);
  }
  if (!status) status = situ_tensor_create_strings(shape, texts, out);
  for (int64_t i = 0; i < n && texts; i++) free((void *)texts[i].data);
  free(texts);
  return status;
}

static bool get_shape(struct filing *self, int rank, situ_shape *shape) {
  if (rank < 0 || rank > SITU_MAX_RANK) return false;
  shape->rank = rank;
  if (!get(self, shape->dim, sizeof *shape->dim * (size_t)rank)) return false;
  int64_t count = 1;
  for (int i = 0; i < rank; i++) {
    const int64_t dim = shape->dim[i];
    if (dim < 0 || dim > self->size || (dim && count > self->size / dim)) return false;
    count *= dim;
  }
  return true;
}

static situ_status get_part(struct filing *self, situ_tensor **out) {
  int32_t head[2];
  situ_shape shape = {0};
  if (!get(self, head, sizeof head) || !get_shape(self, head[1], &shape)) return damaged(self);
  const situ_type type = (situ_type)head[0];
  if (type == SITU_STRING) return get_texts(self, shape, out);
  if (!is_plain(type)) return damaged(self);
  TRY(tensor_create_raw(type, shape, out));
  return get(self, (*out)->buffer->host, (*out)->bytes) ? NULL : damaged(self);
}

static situ_status read_next(struct filing *self, situ_tensor **parts, bool *end) {
  const int n = self->head.dataset->n_parts, mark = fgetc(self->stream);
  if (mark != 0 && mark != 1) return damaged(self);
  *end = self->ended = !mark;
  situ_status status = NULL;
  for (int i = 0; i < n && mark && !status; i++) status = get_part(self, &parts[i]);
  if (status) cursor_drop(parts, n);
  return status;
}

static situ_status next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct filing *self = (struct filing *)cursor;
  *end = self->ended;
  if (*end) return NULL;
  if (!self->partial) return read_next(self, parts, end);
  TRY(cursor_pull(cursor, parts, end));
  self->ended = *end;
  const situ_status status = *end ? finish(self) : put(self, parts);
  if (status && !*end) cursor_drop(parts, cursor->dataset->n_parts);
  return status;
}

const struct data_kind kind_CacheFile = {.name = "CacheFile",
                                         .size = sizeof(struct filing),
                                         .n_inputs = 1,
                                         .n_params = 1,
                                         .open = open,
                                         .next = next,
                                         .close = close_file,
                                         .lazy = true};
