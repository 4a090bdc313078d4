/* SPDX-License-Identifier: Apache-2.0
 * window.c: Unbatch and Window. */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "tensor/tensor.h"

struct unbatch_cursor {
  struct cursor head;
  int64_t at, batch_size;
  bool full; /* the element of the cursor is a batch */
};

/* Checks that all components of the current batch have the same size, and stores it. */
static situ_status read_batch_size(struct cursor *cursor) {
  struct unbatch_cursor *self = (struct unbatch_cursor *)cursor;
  for (int i = 0; i < cursor->dataset->n_components; i++) {
    TRY(component_to_host(&cursor->element[i]));
    const situ_shape *shape = &cursor->element[i]->shape;
    if (shape->rank < 1)
      return INVALID(
          "Input element must have a non-scalar value in each "
          "component.");
    if (i && shape->dim[0] != self->batch_size)
      return INVALID(
          "Input element must have the same batch size in each component. Component 0 "
          "had size %lld but component %d had size, %lld.",
          (long long)self->batch_size, i, (long long)shape->dim[0]);
    self->batch_size = shape->dim[0];
  }
  return NULL;
}

static situ_status next_batch(struct cursor *cursor, bool *end) {
  struct unbatch_cursor *self = (struct unbatch_cursor *)cursor;
  TRY(cursor_pull(cursor, cursor->element, end));
  if (*end) return NULL;
  const situ_status status = read_batch_size(cursor);
  self->full = !status;
  self->at = 0;
  if (status) cursor_release_tensors(cursor->element, cursor->dataset->n_components);
  return status;
}

static situ_status unbatch_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct unbatch_cursor *self = (struct unbatch_cursor *)cursor;
  const int n = cursor->dataset->n_components;
  while (!self->full || self->at == self->batch_size) {
    if (self->full) cursor_release_tensors(cursor->element, n);
    self->full = false;
    TRY(next_batch(cursor, end));
    if (*end) return NULL;
  }
  situ_status status = NULL;
  for (int i = 0; i < n && !status; i++)
    status = component_slice(cursor->element[i], self->at, &components[i]);
  self->at++;
  if (status) cursor_release_tensors(components, n);
  return status;
}

static void unbatch_close(struct cursor *cursor) {
  if (((struct unbatch_cursor *)cursor)->full)
    cursor_release_tensors(cursor->element, cursor->dataset->n_components);
}

static int64_t unbatch_cardinality(const situ_dataset *dataset) {
  const int64_t batches = situ_dataset_cardinality(dataset->spec.inputs[0]);
  const int64_t batch_size = dataset->spec.block;
  if (batches == INFINITE_COUNT || !batches) return batches;
  return batches < 0 || batch_size < 1 ? UNKNOWN_COUNT : batches * batch_size;
}

const struct data_kind kind_Unbatch = {.name = "Unbatch",
                                       .size = sizeof(struct unbatch_cursor),
                                       .n_inputs = 1,
                                       .next = unbatch_next,
                                       .close = unbatch_close,
                                       .cardinality = unbatch_cardinality};

/* ---- Window ---- */

struct window_cursor {
  struct cursor head;
  int64_t size, shift, stride;
  situ_tensor **elements; /* elements of the current and later windows, n_components each */
  int64_t n_elements, capacity;
  int64_t skip; /* elements to discard before the next window */
  bool ended;
};

static situ_status window_open(struct cursor *cursor) {
  struct window_cursor *self = (struct window_cursor *)cursor;
  TRY(cursor_int_param(cursor, 0, &self->size));
  TRY(cursor_int_param(cursor, 1, &self->shift));
  TRY(cursor_int_param(cursor, 2, &self->stride));
  if (self->size < 1) return INVALID("Window size must be greater than zero.");
  if (self->shift < 1) return INVALID("Window shift must be greater than zero.");
  if (self->stride < 1) return INVALID("Window stride must be greater than zero.");
  self->capacity = (self->size - 1) * self->stride + 1;
  self->elements =
      calloc((size_t)(self->capacity * cursor->dataset->n_components) + 1, sizeof *self->elements);
  return self->elements ? NULL : NO_MEMORY();
}

static void window_close(struct cursor *cursor) {
  struct window_cursor *self = (struct window_cursor *)cursor;
  if (self->elements)
    cursor_release_tensors(self->elements, (int)(self->n_elements * cursor->dataset->n_components));
  free(self->elements);
}

/* Reads elements until the window is full. */
static situ_status fill(struct window_cursor *self) {
  const int n = self->head.dataset->n_components;
  while (!self->ended && self->n_elements < self->capacity) {
    situ_tensor **element = self->elements + self->n_elements * n;
    TRY(cursor_pull(&self->head, element, &self->ended));
    if (self->ended) return NULL;
    if (self->skip)
      cursor_release_tensors(element, n);
    else
      self->n_elements++;
    self->skip -= self->skip > 0;
  }
  return NULL;
}

/* Creates the dataset of one component of the current window. */
static situ_status create_window_dataset(const struct window_cursor *self, int component,
                                         situ_tensor **out) {
  const int n = self->head.dataset->n_components;
  const int64_t count = (self->n_elements + self->stride - 1) / self->stride;
  situ_param *params = calloc((size_t)count + 1, sizeof *params);
  if (!params) return NO_MEMORY();
  for (int64_t i = 0; i < count; i++)
    params[i].tensor = self->elements[i * self->stride * n + component];
  situ_dataset *dataset = NULL;
  situ_status status = situ_dataset_create(
      "Elements", &(situ_dataset_spec){.params = params, .n_params = (int)count}, &dataset);
  if (!status) status = situ_dataset_handle(dataset, out);
  situ_dataset_release(dataset);
  free(params);
  return status;
}

/* Drops the elements before the next window. */
static void advance(struct window_cursor *self) {
  const int n = self->head.dataset->n_components;
  const int64_t gone = min_i64(self->shift, self->n_elements);
  cursor_release_tensors(self->elements, (int)(gone * n));
  self->n_elements -= gone;
  memmove(self->elements, self->elements + gone * n,
          sizeof *self->elements * (size_t)(self->n_elements * n));
  self->skip = self->shift - gone;
}

static situ_status window_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct window_cursor *self = (struct window_cursor *)cursor;
  const int n = cursor->dataset->n_components;
  TRY(fill(self));
  const bool partial = self->n_elements < self->capacity;
  *end = !self->n_elements || (partial && cursor->dataset->spec.flags & SITU_DROP_REMAINDER);
  if (*end) return NULL;
  situ_status status = NULL;
  for (int i = 0; i < n && !status; i++) status = create_window_dataset(self, i, &components[i]);
  if (status) cursor_release_tensors(components, n);
  advance(self);
  return status;
}

static int64_t window_cardinality(const situ_dataset *dataset) {
  const int64_t inner = situ_dataset_cardinality(dataset->spec.inputs[0]);
  const int64_t size = dataset_int_param(dataset, 0, 0), shift = dataset_int_param(dataset, 1, 0);
  const int64_t stride = dataset_int_param(dataset, 2, 0);
  if (inner < 0) return inner;
  if (size < 1 || shift < 1 || stride < 1) return UNKNOWN_COUNT;
  if (!(dataset->spec.flags & SITU_DROP_REMAINDER)) return (inner + shift - 1) / shift;
  const int64_t span = (size - 1) * stride + 1;
  return inner < span ? 0 : (inner - span) / shift + 1;
}

const struct data_kind kind_Window = {.name = "Window",
                                      .size = sizeof(struct window_cursor),
                                      .n_inputs = 1,
                                      .n_params = 3,
                                      .open = window_open,
                                      .next = window_next,
                                      .close = window_close,
                                      .cardinality = window_cardinality};
