/* SPDX-License-Identifier: Apache-2.0
 * batch.c: batching of elements, with and without padding. */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* Batches up to this are allocated before their elements have come. */
static const size_t most_ahead = (size_t)1 << 28;

struct batching {
  struct cursor head;
  int64_t size;
  situ_tensor *sizes; /* those of batches, in turn; borrowed */
  int64_t given;
  situ_tensor **rows; /* elements that wait for the others; n_parts each */
  int64_t n_rows, room;
  situ_tensor **batch; /* per part: the batch that is being filled, or NULL: see `rows` */
  situ_tensor **padding, **shapes; /* of PaddedBatch, per part; NULL: the recipe has the shape */
  bool ended;
};

static situ_status next_size(struct batching *self) {
  const int64_t at = self->given % situ_shape_count(self->sizes->shape);
  self->size = number_integer_at(self->sizes->type, situ_tensor_data(self->sizes), at);
  return self->size < 1 ? INVALID("Batch size must be greater than zero.") : NULL;
}

static situ_status batch_open(struct cursor *cursor) {
  struct batching *self = (struct batching *)cursor;
  const size_t n = (size_t)cursor->dataset->n_parts;
  TRY(cursor_param(cursor, 0, &self->sizes));
  if (!situ_tensor_data(self->sizes) || situ_shape_count(self->sizes->shape) < 1)
    return INVALID("The size of a batch must be a number.");
  TRY(next_size(self));
  self->batch = calloc(n + 1, sizeof(situ_tensor *));
  self->padding = calloc(n + 1, sizeof(situ_tensor *));
  self->shapes = calloc(n + 1, sizeof(situ_tensor *));
  return self->batch && self->padding && self->shapes ? NULL : NO_MEMORY();
}

static void forget_rows(struct batching *self) {
  cursor_drop(self->rows, (int)(self->n_rows * self->head.dataset->n_parts));
  self->n_rows = 0;
}

static void batch_close(struct cursor *cursor) {
  struct batching *self = (struct batching *)cursor;
  forget_rows(self);
  if (self->batch) cursor_drop(self->batch, cursor->dataset->n_parts);
  free(self->rows);
  free(self->batch);
  free(self->padding);
  free(self->shapes);
}

static situ_status put_by(struct batching *self, situ_tensor **parts) {
  const int n = self->head.dataset->n_parts;
  if (self->n_rows == self->room) {
    const int64_t room = self->room ? self->room * 2 : 16;
    situ_tensor **rows = realloc(self->rows, sizeof *rows * (size_t)room * (size_t)n);
    if (!rows) return NO_MEMORY();
    self->rows = rows;
    self->room = room;
  }
  memcpy(self->rows + self->n_rows++ * n, parts, sizeof *parts * (size_t)n);
  memset(parts, 0, sizeof *parts * (size_t)n);
  return NULL;
}

static bool with_rows(const situ_shape *shape, int64_t rows, situ_shape *out) {
  if (shape->rank >= SITU_MAX_RANK) return false;
  *out = *shape;
  memmove(out->dim + 1, shape->dim, sizeof *out->dim * (size_t)out->rank++);
  out->dim[0] = rows;
  return true;
}

/* The first element: batches of numbers are allocated, where they are not too large. */
static situ_status prepare(struct batching *self, situ_tensor *const *parts) {
  situ_shape shape;
  for (int i = 0; i < self->head.dataset->n_parts; i++) {
    const situ_tensor *part = parts[i];
    if (part->type == SITU_RESOURCE)
      return situ_status_create(SITU_UNIMPLEMENTED, "Data sets cannot be rows of a batch.");
    const bool is_small =
        !part->bytes ||
        most_ahead / part->bytes / (size_t)self->head.dataset->n_parts >= (size_t)self->size;
    if (part->type == SITU_STRING || !is_small) continue;
    if (!with_rows(&part->shape, self->size, &shape))
      return INVALID("A batch of tensors of rank %d has too many dimensions.", part->shape.rank);
    TRY(tensor_create_raw(part->type, shape, &self->batch[i]));
  }
  return NULL;
}

static situ_status check_row(const situ_tensor *part, const situ_tensor *first, int index,
                             int64_t row, bool batched) {
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  situ_shape shape = first->shape;
  if (batched) memmove(shape.dim, shape.dim + 1, sizeof *shape.dim * (size_t)--shape.rank);
  if (part->type != first->type)
    return INVALID("Cannot batch tensors of types %s and %s in component %d.",
                   situ_type_name(first->type), situ_type_name(part->type), index);
  if (shape_equal(&part->shape, &shape)) return NULL;
  return INVALID(
      "Cannot batch tensors with different shapes in component %d. First element had "
      "shape %s and element %lld had shape %s.",
      index, shape_print(&shape, a), (long long)row, shape_print(&part->shape, b));
}

/* Writes the parts that have a batch to their places. */
static situ_status write_row(struct batching *self, situ_tensor **parts, int64_t row) {
  for (int i = 0; i < self->head.dataset->n_parts; i++) {
    situ_tensor *batch = self->batch[i];
    if (!batch) continue;
    TRY(check_row(parts[i], batch, i, row, true));
    if (parts[i]->bytes)
      memcpy((char *)batch->buffer->host + (size_t)row * parts[i]->bytes,
             situ_tensor_data(parts[i]), parts[i]->bytes);
    situ_tensor_release(parts[i]);
    parts[i] = NULL;
  }
  return NULL;
}

/* Joins the elements that wait: of one part. */
static situ_status join_numbers(const struct batching *self, int part, situ_tensor **out) {
  const int n = self->head.dataset->n_parts;
  const situ_tensor *first = self->rows[part];
  situ_shape shape;
  if (!with_rows(&first->shape, self->n_rows, &shape))
    return INVALID("A batch of tensors of rank %d has too many dimensions.", first->shape.rank);
  TRY(tensor_create_raw(first->type, shape, out));
  for (int64_t r = 0; r < self->n_rows; r++) {
    const situ_tensor *row = self->rows[r * n + part];
    TRY(check_row(row, first, part, r, false));
    if (row->bytes)
      memcpy((char *)(*out)->buffer->host + (size_t)r * row->bytes, situ_tensor_data(row),
             row->bytes);
  }
  return NULL;
}

static situ_status join_texts(const struct batching *self, int part, situ_tensor **out) {
  const int n = self->head.dataset->n_parts;
  const situ_tensor *first = self->rows[part];
  situ_shape shape;
  if (!with_rows(&first->shape, self->n_rows, &shape))
    return INVALID("A batch of tensors of rank %d has too many dimensions.", first->shape.rank);
  const int64_t each = situ_shape_count(first->shape);
  situ_string *texts = malloc(sizeof *texts * (size_t)(each * self->n_rows + 1));
  if (!texts) return NO_MEMORY();
  situ_status status = NULL;
  for (int64_t r = 0; r < self->n_rows && !status; r++) {
    const situ_tensor *row = self->rows[r * n + part];
    status = check_row(row, first, part, r, false);
    for (int64_t i = 0; i < each && !status; i++) texts[r * each + i] = situ_tensor_string(row, i);
  }
  if (!status) status = situ_tensor_create_strings(shape, texts, out);
  free(texts);
  return status;
}

/* A batch that did not get full: the same memory with fewer rows. */
static situ_status shrink(situ_tensor *batch, int64_t rows, situ_tensor **out) {
  situ_shape shape = batch->shape;
  shape.dim[0] = rows;
  return tensor_from_buffer(batch->type, shape, buffer_retain(batch->buffer), out);
}

static situ_status finish(struct batching *self, int64_t rows, situ_tensor **parts) {
  for (int i = 0; i < self->head.dataset->n_parts; i++) {
    if (!self->batch[i]) {
      const bool texts = self->rows[i]->type == SITU_STRING;
      TRY(texts ? join_texts(self, i, &parts[i]) : join_numbers(self, i, &parts[i]));
    } else if (rows < self->size) {
      TRY(shrink(self->batch[i], rows, &parts[i]));
    } else {
      parts[i] = self->batch[i];
      self->batch[i] = NULL;
    }
  }
  return NULL;
}

static situ_status add_row(struct batching *self, situ_tensor **row, int64_t index) {
  const int n = self->head.dataset->n_parts;
  for (int i = 0; i < n; i++) TRY(component_to_host(&row[i]));
  if (!index) TRY(prepare(self, row));
  TRY(write_row(self, row, index));
  bool more = false;
  for (int i = 0; i < n; i++) more = more || row[i];
  return more ? put_by(self, row) : NULL;
}

static situ_status batch_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct batching *self = (struct batching *)cursor;
  const int n = cursor->dataset->n_parts;
  situ_status status = next_size(self);
  int64_t rows = 0;
  self->given++;
  while (rows < self->size && !self->ended && !status) {
    status = cursor_pull(cursor, cursor->row, &self->ended);
    if (!status && !self->ended) status = add_row(self, cursor->row, rows);
    rows += !status && !self->ended;
    cursor_drop(cursor->row, n);
  }
  *end = !status &&
         (!rows || (rows < self->size && cursor->dataset->spec.flags & SITU_DROP_REMAINDER));
  if (!status && !*end) status = finish(self, rows, parts);
  if (status) cursor_drop(parts, n);
  cursor_drop(self->batch, n);
  forget_rows(self);
  return status;
}

static situ_status batch_skip(struct cursor *cursor, int64_t n) {
  const struct batching *self = (struct batching *)cursor;
  if (situ_shape_count(self->sizes->shape) > 1) return cursor_pass(cursor, n);
  return cursor_skip(cursor->inputs[0], n * self->size);
}

static int64_t batch_count(const situ_dataset *dataset) {
  const int64_t inner = situ_dataset_cardinality(dataset->spec.inputs[0]);
  const int64_t size = dataset_number(dataset, 0, 0);
  const situ_tensor *sizes = dataset->spec.params[0].tensor;
  if (sizes && situ_shape_count(sizes->shape) > 1) return UNKNOWN_COUNT;
  if (inner < 0) return inner;
  if (size < 1) return UNKNOWN_COUNT;
  return inner / size + (!(dataset->spec.flags & SITU_DROP_REMAINDER) && inner % size);
}

const struct data_kind kind_Batch = {.name = "Batch",
                                     .size = sizeof(struct batching),
                                     .n_inputs = 1,
                                     .n_params = 1,
                                     .open = batch_open,
                                     .next = batch_next,
                                     .close = batch_close,
                                     .count = batch_count,
                                     .skip = batch_skip};

/* Elements of different shapes */

static situ_status padded_make(situ_dataset *dataset) {
  const int n = dataset->spec.n_params, parts = dataset->n_parts;
  if (n == 2 * parts + 1 || (dataset->spec.shape && n == parts + 1)) return NULL;
  return INVALID("A data set PaddedBatch needs a shape and a padding value for each part.");
}

static situ_status padded_open(struct cursor *cursor) {
  struct batching *self = (struct batching *)cursor;
  TRY(batch_open(cursor));
  const int n = cursor->dataset->n_parts;
  const bool told = cursor->dataset->spec.n_params > n + 1; /* shapes are params */
  for (int i = 0; i < n; i++) {
    TRY(cursor_param(cursor, i + 1, &self->padding[i]));
    if (told) TRY(cursor_param(cursor, n + i + 1, &self->shapes[i]));
  }
  return NULL;
}

/* The shape that was asked for, as a vector: -1 where a size is that of the largest row. */
static situ_status told_shape(const situ_tensor *sizes, situ_shape *out) {
  const int64_t n = sizes->shape.rank == 1 ? sizes->shape.dim[0] : -1;
  if (n < 0 || n > SITU_MAX_RANK || !situ_tensor_data(sizes))
    return INVALID("A padded shape must be a vector of sizes.");
  *out = (situ_shape){.rank = (int)n};
  for (int64_t i = 0; i < n; i++) {
    out->dim[i] = number_integer_at(sizes->type, situ_tensor_data(sizes), i);
    if (out->dim[i] < 0) out->dim[i] = SITU_ANY;
  }
  return NULL;
}

/* The shape of the rows of a part: as asked for, or the largest. */
static situ_status padded_shape(const struct batching *self, int part, situ_shape *out) {
  const int n = self->head.dataset->n_parts;
  if (self->shapes[part])
    TRY(told_shape(self->shapes[part], out));
  else
    *out = self->head.dataset->spec.shape[part];
  if (out->rank < 0) {
    out->rank = self->rows[part]->shape.rank;
    for (int d = 0; d < out->rank; d++) out->dim[d] = SITU_ANY;
  }
  const situ_shape asked = *out;
  for (int64_t r = 0; r < self->n_rows; r++) {
    const situ_shape *shape = &self->rows[r * n + part]->shape;
    if (shape->rank != out->rank)
      return INVALID(
          "All elements in a batch must have the same rank as the padded shape for "
          "component%d: expected rank %d got element with rank %d",
          part, out->rank, shape->rank);
    for (int d = 0; d < out->rank; d++) {
      if (asked.dim[d] >= 0 && shape->dim[d] > asked.dim[d])
        return situ_status_create(SITU_DATA_LOSS,
                                  "Attempted to pad to a smaller size than the input element.");
      out->dim[d] = max_i64(out->dim[d], shape->dim[d]);
    }
  }
  return NULL;
}

/* Copies what a tensor has to a place that is larger; strings are pointers here. */
static void copy_padded(char *to, const situ_shape *room, const char *from, const situ_shape *shape,
                        int axis, size_t size) {
  size_t to_step = size, from_step = size;
  for (int d = axis + 1; d < shape->rank; d++) {
    to_step *= (size_t)room->dim[d];
    from_step *= (size_t)shape->dim[d];
  }
  if (axis >= shape->rank - 1) { /* a line is together in both */
    const size_t bytes = (shape->rank ? (size_t)shape->dim[shape->rank - 1] : 1) * size;
    if (bytes) memcpy(to, from, bytes);
    return;
  }
  for (int64_t i = 0; i < shape->dim[axis]; i++)
    copy_padded(to + (size_t)i * to_step, room, from + (size_t)i * from_step, shape, axis + 1,
                size);
}

static situ_status pad(const struct batching *self, int part, situ_tensor **out) {
  const int n = self->head.dataset->n_parts;
  const situ_tensor *value = self->padding[part];
  const situ_type type = self->rows[part]->type;
  situ_shape row, shape;
  TRY(padded_shape(self, part, &row));
  if (!with_rows(&row, self->n_rows, &shape))
    return INVALID("A batch of tensors of rank %d has too many dimensions.", row.rank);
  if (value->type != type || situ_shape_count(value->shape) != 1 || !situ_tensor_data(value))
    return INVALID("Padding value %d must be a scalar of type %s.", part, situ_type_name(type));
  const size_t size = situ_type_size(type), each = (size_t)situ_shape_count(row) * size;
  situ_tensor *batch = NULL;
  TRY(tensor_create_raw(type, shape, &batch));
  char *data = batch->buffer->host;
  for (size_t at = 0; at < batch->bytes; at += size)
    memcpy(data + at, situ_tensor_data(value), size);
  for (int64_t r = 0; r < self->n_rows; r++) {
    const situ_tensor *from = self->rows[r * n + part];
    if (from->bytes)
      copy_padded(data + (size_t)r * each, &row, situ_tensor_data(from), &from->shape, 0, size);
  }
  if (type != SITU_STRING) {
    *out = batch;
    return NULL;
  }
  const situ_status status = tensor_copy_strings(batch, out); /* the texts were the elements' */
  situ_tensor_release(batch);
  return status;
}

static situ_status padded_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct batching *self = (struct batching *)cursor;
  const int n = cursor->dataset->n_parts;
  situ_status status = NULL;
  while (self->n_rows < self->size && !self->ended && !status) {
    status = cursor_pull(cursor, cursor->row, &self->ended);
    for (int i = 0; i < n && !status && !self->ended; i++)
      status = component_to_host(&cursor->row[i]);
    if (!status && !self->ended) status = put_by(self, cursor->row);
    cursor_drop(cursor->row, n);
  }
  *end = !status && (!self->n_rows || (self->n_rows < self->size &&
                                       cursor->dataset->spec.flags & SITU_DROP_REMAINDER));
  for (int i = 0; i < n && !status && !*end; i++) status = pad(self, i, &parts[i]);
  if (status) cursor_drop(parts, n);
  forget_rows(self);
  return status;
}

const struct data_kind kind_PaddedBatch = {.name = "PaddedBatch",
                                           .size = sizeof(struct batching),
                                           .n_inputs = 1,
                                           .n_params = 2,
                                           .make = padded_make,
                                           .open = padded_open,
                                           .next = padded_next,
                                           .close = batch_close,
                                           .count = batch_count,
                                           .skip = batch_skip};
