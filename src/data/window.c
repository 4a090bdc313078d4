/* SPDX-License-Identifier: Apache-2.0
 * window.c: rows of batches become elements; some elements become a data set. */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "tensor/tensor.h"

struct unbatching {
  struct cursor head;
  int64_t at, rows;
  bool full; /* the row of the cursor is a batch */
};

/* How many rows all parts of the batch in the cursor's row have. */
static situ_status count_rows(struct cursor *cursor) {
  struct unbatching *self = (struct unbatching *)cursor;
  for (int i = 0; i < cursor->dataset->n_parts; i++) {
    TRY(component_to_host(&cursor->row[i]));
    const situ_shape *shape = &cursor->row[i]->shape;
    if (shape->rank < 1)
      return INVALID(
          "Input element must have a non-scalar value in each "
          "component.");
    if (i && shape->dim[0] != self->rows)
      return INVALID(
          "Input element must have the same batch size in each component. Component 0 "
          "had size %lld but component %d had size, %lld.",
          (long long)self->rows, i, (long long)shape->dim[0]);
    self->rows = shape->dim[0];
  }
  return NULL;
}

static situ_status open_batch(struct cursor *cursor, bool *end) {
  struct unbatching *self = (struct unbatching *)cursor;
  TRY(cursor_pull(cursor, cursor->row, end));
  if (*end) return NULL;
  const situ_status status = count_rows(cursor);
  self->full = !status;
  self->at = 0;
  if (status) cursor_drop(cursor->row, cursor->dataset->n_parts);
  return status;
}

static situ_status unbatch_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct unbatching *self = (struct unbatching *)cursor;
  const int n = cursor->dataset->n_parts;
  while (!self->full || self->at == self->rows) {
    if (self->full) cursor_drop(cursor->row, n);
    self->full = false;
    TRY(open_batch(cursor, end));
    if (*end) return NULL;
  }
  situ_status status = NULL;
  for (int i = 0; i < n && !status; i++)
    status = component_slice(cursor->row[i], self->at, &parts[i]);
  self->at++;
  if (status) cursor_drop(parts, n);
  return status;
}

static void unbatch_close(struct cursor *cursor) {
  if (((struct unbatching *)cursor)->full) cursor_drop(cursor->row, cursor->dataset->n_parts);
}

static int64_t unbatch_count(const situ_dataset *dataset) {
  const int64_t batches = situ_dataset_cardinality(dataset->spec.inputs[0]);
  const int64_t rows = dataset->spec.block;
  if (batches == UNENDING || !batches) return batches;
  return batches < 0 || rows < 1 ? UNKNOWN_COUNT : batches * rows;
}

const struct data_kind kind_Unbatch = {.name = "Unbatch",
                                       .size = sizeof(struct unbatching),
                                       .n_inputs = 1,
                                       .next = unbatch_next,
                                       .close = unbatch_close,
                                       .count = unbatch_count};

/* Windows */

struct windowing {
  struct cursor head;
  int64_t size, shift, stride;
  situ_tensor **rows; /* elements that are in a window to come; n_parts each */
  int64_t n_rows, room;
  int64_t skip; /* elements to pass by before the next window */
  bool ended;
};

static situ_status window_open(struct cursor *cursor) {
  struct windowing *self = (struct windowing *)cursor;
  TRY(cursor_number(cursor, 0, &self->size));
  TRY(cursor_number(cursor, 1, &self->shift));
  TRY(cursor_number(cursor, 2, &self->stride));
  if (self->size < 1) return INVALID("Window size must be greater than zero.");
  if (self->shift < 1) return INVALID("Window shift must be greater than zero.");
  if (self->stride < 1) return INVALID("Window stride must be greater than zero.");
  self->room = (self->size - 1) * self->stride + 1;
  self->rows = calloc((size_t)(self->room * cursor->dataset->n_parts) + 1, sizeof *self->rows);
  return self->rows ? NULL : NO_MEMORY();
}

static void window_close(struct cursor *cursor) {
  struct windowing *self = (struct windowing *)cursor;
  if (self->rows) cursor_drop(self->rows, (int)(self->n_rows * cursor->dataset->n_parts));
  free(self->rows);
}

/* Reads until the window is full. */
static situ_status fill(struct windowing *self) {
  const int n = self->head.dataset->n_parts;
  while (!self->ended && self->n_rows < self->room) {
    situ_tensor **row = self->rows + self->n_rows * n;
    TRY(cursor_pull(&self->head, row, &self->ended));
    if (self->ended) return NULL;
    if (self->skip)
      cursor_drop(row, n);
    else
      self->n_rows++;
    self->skip -= self->skip > 0;
  }
  return NULL;
}

/* A data set of one part of the elements of the window. */
static situ_status give(const struct windowing *self, int part, situ_tensor **out) {
  const int n = self->head.dataset->n_parts;
  const int64_t count = (self->n_rows + self->stride - 1) / self->stride;
  situ_param *params = calloc((size_t)count + 1, sizeof *params);
  if (!params) return NO_MEMORY();
  for (int64_t i = 0; i < count; i++) params[i].tensor = self->rows[i * self->stride * n + part];
  situ_dataset *dataset = NULL;
  situ_status status = situ_dataset_create(
      "Rows", &(situ_dataset_spec){.params = params, .n_params = (int)count}, &dataset);
  if (!status) status = situ_dataset_handle(dataset, out);
  situ_dataset_release(dataset);
  free(params);
  return status;
}

/* The elements before the next window go. */
static void move_on(struct windowing *self) {
  const int n = self->head.dataset->n_parts;
  const int64_t gone = min_i64(self->shift, self->n_rows);
  cursor_drop(self->rows, (int)(gone * n));
  self->n_rows -= gone;
  memmove(self->rows, self->rows + gone * n, sizeof *self->rows * (size_t)(self->n_rows * n));
  self->skip = self->shift - gone;
}

static situ_status window_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct windowing *self = (struct windowing *)cursor;
  const int n = cursor->dataset->n_parts;
  TRY(fill(self));
  const bool partial = self->n_rows < self->room;
  *end = !self->n_rows || (partial && cursor->dataset->spec.flags & SITU_DROP_REMAINDER);
  if (*end) return NULL;
  situ_status status = NULL;
  for (int i = 0; i < n && !status; i++) status = give(self, i, &parts[i]);
  if (status) cursor_drop(parts, n);
  move_on(self);
  return status;
}

static int64_t window_count(const situ_dataset *dataset) {
  const int64_t inner = situ_dataset_cardinality(dataset->spec.inputs[0]);
  const int64_t size = dataset_number(dataset, 0, 0), shift = dataset_number(dataset, 1, 0);
  const int64_t stride = dataset_number(dataset, 2, 0);
  if (inner < 0) return inner;
  if (size < 1 || shift < 1 || stride < 1) return UNKNOWN_COUNT;
  if (!(dataset->spec.flags & SITU_DROP_REMAINDER)) return (inner + shift - 1) / shift;
  const int64_t span = (size - 1) * stride + 1;
  return inner < span ? 0 : (inner - span) / shift + 1;
}

const struct data_kind kind_Window = {.name = "Window",
                                      .size = sizeof(struct windowing),
                                      .n_inputs = 1,
                                      .n_params = 3,
                                      .open = window_open,
                                      .next = window_next,
                                      .close = window_close,
                                      .count = window_count};
