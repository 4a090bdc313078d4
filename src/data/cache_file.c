/* SPDX-License-Identifier: Apache-2.0
 * cache_file.c: CacheFile: caches elements in a file, for later iterators and processes.  The file
 * NAME.cache is a magic line, a 1 and the components for each element, and a final 0. It is written
 * under a temporary name and renamed when it is complete. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "ops/io/file_ops.h"
#include "tensor/tensor.h"

static const char magic[] = "situ cache 1\n";

struct cache_file_cursor {
  struct cursor head;
  char *path;
  FILE *stream;              /* of a file that is read, else NULL */
  struct file_writer writer; /* of a file that is written */
  int64_t size;              /* of the file that is read: an upper bound for every size in it */
  bool ended;
};

static situ_status make_path(const struct cursor *cursor, char **out) {
  situ_tensor *name = NULL;
  TRY(cursor_param(cursor, 0, &name));
  if (name->type != SITU_STRING || situ_shape_count(name->shape) != 1)
    return INVALID("`filename` must be a scalar string.");
  return asprintf(out, "%s.cache", situ_tensor_string(name, 0).data) < 0 ? NO_MEMORY() : NULL;
}

static situ_status corrupt_file(const struct cache_file_cursor *self) {
  return situ_status_create(SITU_DATA_LOSS, "%s is damaged at byte %lld. Remove it.", self->path,
                            (long long)ftello(self->stream));
}

/* Creates the temporary file and opens the input. */
static situ_status begin_write(struct cache_file_cursor *self) {
  TRY(file_writer_open(self->path, &self->writer));
  fputs(magic, self->writer.stream);
  return cursor_open_input(&self->head, 0);
}

static situ_status open(struct cursor *cursor) {
  struct cache_file_cursor *self = (struct cache_file_cursor *)cursor;
  char line[sizeof magic] = "";
  TRY(make_path(cursor, &self->path));
  self->stream = fopen(self->path, "rb");
  if (!self->stream) return begin_write(self);
  fseeko(self->stream, 0, SEEK_END);
  self->size = ftello(self->stream);
  rewind(self->stream);
  const bool valid = fread(line, 1, sizeof line - 1, self->stream) && !strcmp(line, magic);
  return valid ? NULL : corrupt_file(self);
}

static void close_file(struct cursor *cursor) {
  struct cache_file_cursor *self = (struct cache_file_cursor *)cursor;
  if (self->stream) fclose(self->stream);
  file_writer_discard(&self->writer);
  free(self->path);
}

static bool is_serializable(situ_type type) {
  return type != SITU_RESOURCE && type != SITU_VARIANT && situ_type_size(type);
}

/* ---- Writing ---- */

static void write_component(FILE *stream, const situ_tensor *component) {
  const int32_t head[2] = {(int32_t)component->type, component->shape.rank};
  fwrite(head, sizeof head, 1, stream);
  fwrite(component->shape.dim, sizeof *component->shape.dim, (size_t)component->shape.rank, stream);
  const int64_t n = situ_shape_count(component->shape);
  if (component->type != SITU_STRING) {
    if (component->bytes) fwrite(situ_tensor_data(component), 1, component->bytes, stream);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    const situ_string text = situ_tensor_string(component, i);
    const uint64_t length = text.length;
    fwrite(&length, sizeof length, 1, stream);
    fwrite(text.data, 1, text.length, stream);
  }
}

/* Completes the file and renames it. */
static situ_status finish(struct cache_file_cursor *self) {
  fputc(0, self->writer.stream);
  return file_writer_commit(&self->writer);
}

static situ_status write_element(struct cache_file_cursor *self, situ_tensor **components) {
  const int n = self->head.dataset->n_components;
  for (int i = 0; i < n; i++) {
    TRY(component_to_host(&components[i]));
    if (components[i]->type != SITU_STRING && !is_serializable(components[i]->type))
      return situ_status_create(SITU_UNIMPLEMENTED,
                                "Cannot cache elements that contain datasets in a file.");
  }
  fputc(1, self->writer.stream);
  for (int i = 0; i < n; i++) write_component(self->writer.stream, components[i]);
  return ferror(self->writer.stream) ? file_failure(self->path, EIO) : NULL;
}

/* ---- Reading ---- */

static bool read_bytes(struct cache_file_cursor *self, void *to, size_t bytes) {
  return !bytes || fread(to, bytes, 1, self->stream) == 1;
}

static situ_status read_strings(struct cache_file_cursor *self, situ_shape shape,
                                situ_tensor **out) {
  const int64_t n = situ_shape_count(shape);
  situ_string *strings = calloc((size_t)n + 1, sizeof *strings);
  situ_status status = strings ? NULL : NO_MEMORY();
  for (int64_t i = 0; i < n && !status; i++) {
    uint64_t length = 0;
    const bool good = read_bytes(self, &length, sizeof length) && length <= (uint64_t)self->size;
    char *data = good ? malloc(length + 1) : NULL;
    strings[i] = (situ_string){data, length};
    if (!data || !read_bytes(self, data, length)) status = corrupt_file(self);
  }
  if (!status) status = situ_tensor_create_strings(shape, strings, out);
  for (int64_t i = 0; i < n && strings; i++) free((void *)strings[i].data);
  free(strings);
  return status;
}

static bool read_shape(struct cache_file_cursor *self, int rank, situ_shape *shape) {
  if (rank < 0 || rank > SITU_MAX_RANK) return false;
  shape->rank = rank;
  if (!read_bytes(self, shape->dim, sizeof *shape->dim * (size_t)rank)) return false;
  int64_t count = 1;
  for (int i = 0; i < rank; i++) {
    const int64_t dim = shape->dim[i];
    if (dim < 0 || dim > self->size || (dim && count > self->size / dim)) return false;
    count *= dim;
  }
  return true;
}

static situ_status read_component(struct cache_file_cursor *self, situ_tensor **out) {
  int32_t head[2];
  situ_shape shape = {0};
  if (!read_bytes(self, head, sizeof head) || !read_shape(self, head[1], &shape))
    return corrupt_file(self);
  const situ_type type = (situ_type)head[0];
  if (type == SITU_STRING) return read_strings(self, shape, out);
  if (!is_serializable(type)) return corrupt_file(self);
  TRY(tensor_create_raw(type, shape, out));
  return read_bytes(self, (*out)->buffer->host, (*out)->bytes) ? NULL : corrupt_file(self);
}

static situ_status read_next(struct cache_file_cursor *self, situ_tensor **components, bool *end) {
  const int n = self->head.dataset->n_components, has_element = fgetc(self->stream);
  if (has_element != 0 && has_element != 1) return corrupt_file(self);
  *end = self->ended = !has_element;
  situ_status status = NULL;
  for (int i = 0; i < n && has_element && !status; i++)
    status = read_component(self, &components[i]);
  if (status) cursor_release_tensors(components, n);
  return status;
}

static situ_status next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct cache_file_cursor *self = (struct cache_file_cursor *)cursor;
  *end = self->ended;
  if (*end) return NULL;
  if (self->stream) return read_next(self, components, end);
  TRY(cursor_pull(cursor, components, end));
  self->ended = *end;
  const situ_status status = *end ? finish(self) : write_element(self, components);
  if (status && !*end) cursor_release_tensors(components, cursor->dataset->n_components);
  return status;
}

const struct data_kind kind_CacheFile = {.name = "CacheFile",
                                         .size = sizeof(struct cache_file_cursor),
                                         .n_inputs = 1,
                                         .n_params = 1,
                                         .open = open,
                                         .next = next,
                                         .close = close_file,
                                         .lazy = true};
