/* SPDX-License-Identifier: Apache-2.0
 * batch.c: Batch and PaddedBatch. Components of fixed shape are copied straight into a preallocated
 * batch; others are collected and stacked when the batch is complete. */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* Larger batches are not preallocated: their elements may never come. */
static const size_t max_preallocated = (size_t)1 << 28;

struct batch_cursor {
  struct cursor head;
  int64_t size;
  situ_tensor *sizes; /* the batch sizes, used in turn; borrowed */
  int64_t n_batches;
  situ_tensor **elements; /* elements that are not in `batch` yet, n_components each */
  int64_t n_elements, capacity;
  situ_tensor **batch; /* per component: the batch being filled; NULL: its tensors are in `elements`
                        */
  situ_tensor **padding, **shapes; /* PaddedBatch, per component; shapes NULL: in the spec */
  bool ended;
};

static situ_status next_size(struct batch_cursor *self) {
  const int64_t at = self->n_batches % situ_shape_count(self->sizes->shape);
  self->size = number_integer_at(self->sizes->type, situ_tensor_data(self->sizes), at);
  return self->size < 1 ? INVALID("Batch size must be greater than zero.") : NULL;
}

static situ_status batch_open(struct cursor *cursor) {
  struct batch_cursor *self = (struct batch_cursor *)cursor;
  const size_t n = (size_t)cursor->dataset->n_components;
  TRY(cursor_param(cursor, 0, &self->sizes));
  if (!situ_tensor_data(self->sizes) || situ_shape_count(self->sizes->shape) < 1)
    return INVALID("The batch size must be an integer.");
  TRY(next_size(self));
  self->batch = calloc(n + 1, sizeof(situ_tensor *));
  self->padding = calloc(n + 1, sizeof(situ_tensor *));
  self->shapes = calloc(n + 1, sizeof(situ_tensor *));
  return self->batch && self->padding && self->shapes ? NULL : NO_MEMORY();
}

static void drop_elements(struct batch_cursor *self) {
  cursor_release_tensors(self->elements,
                         (int)(self->n_elements * self->head.dataset->n_components));
  self->n_elements = 0;
}

static void batch_close(struct cursor *cursor) {
  struct batch_cursor *self = (struct batch_cursor *)cursor;
  drop_elements(self);
  if (self->batch) cursor_release_tensors(self->batch, cursor->dataset->n_components);
  free(self->elements);
  free(self->batch);
  free(self->padding);
  free(self->shapes);
}

static situ_status keep_element(struct batch_cursor *self, situ_tensor **components) {
  const int n = self->head.dataset->n_components;
  if (self->n_elements == self->capacity) {
    const int64_t capacity = self->capacity ? self->capacity * 2 : 16;
    situ_tensor **elements =
        realloc(self->elements, sizeof *elements * (size_t)capacity * (size_t)n);
    if (!elements) return NO_MEMORY();
    self->elements = elements;
    self->capacity = capacity;
  }
  memcpy(self->elements + self->n_elements++ * n, components, sizeof *components * (size_t)n);
  memset(components, 0, sizeof *components * (size_t)n);
  return NULL;
}

static bool prepend_dim(const situ_shape *shape, int64_t rows, situ_shape *out) {
  if (shape->rank >= SITU_MAX_RANK) return false;
  *out = *shape;
  memmove(out->dim + 1, shape->dim, sizeof *out->dim * (size_t)out->rank++);
  out->dim[0] = rows;
  return true;
}

/* Called with the first element: preallocates batches of numeric components. */
static situ_status prepare(struct batch_cursor *self, situ_tensor *const *components) {
  situ_shape shape;
  for (int i = 0; i < self->head.dataset->n_components; i++) {
    const situ_tensor *component = components[i];
    if (component->type == SITU_RESOURCE)
      return situ_status_create(
          SITU_UNIMPLEMENTED,
          "Cannot batch elements that contain datasets. Flatten them first (flat_map).");
    const bool is_small = !component->bytes || max_preallocated / component->bytes /
                                                       (size_t)self->head.dataset->n_components >=
                                                   (size_t)self->size;
    if (component->type == SITU_STRING || !is_small) continue;
    if (!prepend_dim(&component->shape, self->size, &shape))
      return INVALID("A batch of tensors of rank %d has too many dimensions.",
                     component->shape.rank);
    TRY(tensor_create_raw(component->type, shape, &self->batch[i]));
  }
  return NULL;
}

static situ_status check_element(const situ_tensor *component, const situ_tensor *first, int index,
                                 int64_t row, bool batched) {
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  situ_shape shape = first->shape;
  if (batched) memmove(shape.dim, shape.dim + 1, sizeof *shape.dim * (size_t)--shape.rank);
  if (component->type != first->type)
    return INVALID("Cannot batch tensors of types %s and %s in component %d.",
                   situ_type_name(first->type), situ_type_name(component->type), index);
  if (shape_equal(&component->shape, &shape)) return NULL;
  return INVALID(
      "Cannot batch tensors with different shapes in component %d. First element had "
      "shape %s and element %lld had shape %s.",
      index, shape_print(&shape, a), (long long)row, shape_print(&component->shape, b));
}

/* Moves the components that have a preallocated batch to row `row`. */
static situ_status write_element(struct batch_cursor *self, situ_tensor **components, int64_t row) {
  for (int i = 0; i < self->head.dataset->n_components; i++) {
    situ_tensor *batch = self->batch[i];
    if (!batch) continue;
    TRY(check_element(components[i], batch, i, row, true));
    if (components[i]->bytes)
      memcpy((char *)batch->buffer->host + (size_t)row * components[i]->bytes,
             situ_tensor_data(components[i]), components[i]->bytes);
    situ_tensor_release(components[i]);
    components[i] = NULL;
  }
  return NULL;
}

/* Stacks one component of the collected elements. */
static situ_status stack_numbers(const struct batch_cursor *self, int component,
                                 situ_tensor **out) {
  const int n = self->head.dataset->n_components;
  const situ_tensor *first = self->elements[component];
  situ_shape shape;
  if (!prepend_dim(&first->shape, self->n_elements, &shape))
    return INVALID("A batch of tensors of rank %d has too many dimensions.", first->shape.rank);
  TRY(tensor_create_raw(first->type, shape, out));
  for (int64_t r = 0; r < self->n_elements; r++) {
    const situ_tensor *row = self->elements[r * n + component];
    TRY(check_element(row, first, component, r, false));
    if (row->bytes)
      memcpy((char *)(*out)->buffer->host + (size_t)r * row->bytes, situ_tensor_data(row),
             row->bytes);
  }
  return NULL;
}

static situ_status stack_strings(const struct batch_cursor *self, int component,
                                 situ_tensor **out) {
  const int n = self->head.dataset->n_components;
  const situ_tensor *first = self->elements[component];
  situ_shape shape;
  if (!prepend_dim(&first->shape, self->n_elements, &shape))
    return INVALID("A batch of tensors of rank %d has too many dimensions.", first->shape.rank);
  const int64_t each = situ_shape_count(first->shape);
  situ_string *strings = malloc(sizeof *strings * (size_t)(each * self->n_elements + 1));
  if (!strings) return NO_MEMORY();
  situ_status status = NULL;
  for (int64_t r = 0; r < self->n_elements && !status; r++) {
    const situ_tensor *row = self->elements[r * n + component];
    status = check_element(row, first, component, r, false);
    for (int64_t i = 0; i < each && !status; i++)
      strings[r * each + i] = situ_tensor_string(row, i);
  }
  if (!status) status = situ_tensor_create_strings(shape, strings, out);
  free(strings);
  return status;
}

/* Returns the first rows of a partial batch, which share its memory. */
static situ_status shrink(situ_tensor *batch, int64_t rows, situ_tensor **out) {
  situ_shape shape = batch->shape;
  shape.dim[0] = rows;
  return tensor_from_buffer(batch->type, shape, buffer_retain(batch->buffer), out);
}

static situ_status finish(struct batch_cursor *self, int64_t rows, situ_tensor **components) {
  for (int i = 0; i < self->head.dataset->n_components; i++) {
    if (!self->batch[i]) {
      const bool strings = self->elements[i]->type == SITU_STRING;
      TRY(strings ? stack_strings(self, i, &components[i])
                  : stack_numbers(self, i, &components[i]));
    } else if (rows < self->size) {
      TRY(shrink(self->batch[i], rows, &components[i]));
    } else {
      components[i] = self->batch[i];
      self->batch[i] = NULL;
    }
  }
  return NULL;
}

static situ_status add_element(struct batch_cursor *self, situ_tensor **element, int64_t index) {
  const int n = self->head.dataset->n_components;
  for (int i = 0; i < n; i++) TRY(component_to_host(&element[i]));
  if (!index) TRY(prepare(self, element));
  TRY(write_element(self, element, index));
  bool more = false;
  for (int i = 0; i < n; i++) more = more || element[i];
  return more ? keep_element(self, element) : NULL;
}

static situ_status batch_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct batch_cursor *self = (struct batch_cursor *)cursor;
  const int n = cursor->dataset->n_components;
  situ_status status = next_size(self);
  int64_t rows = 0;
  self->n_batches++;
  while (rows < self->size && !self->ended && !status) {
    status = cursor_pull(cursor, cursor->element, &self->ended);
    if (!status && !self->ended) status = add_element(self, cursor->element, rows);
    rows += !status && !self->ended;
    cursor_release_tensors(cursor->element, n);
  }
  *end = !status &&
         (!rows || (rows < self->size && cursor->dataset->spec.flags & SITU_DROP_REMAINDER));
  if (!status && !*end) status = finish(self, rows, components);
  if (status) cursor_release_tensors(components, n);
  cursor_release_tensors(self->batch, n);
  drop_elements(self);
  return status;
}

static situ_status batch_skip(struct cursor *cursor, int64_t n) {
  const struct batch_cursor *self = (struct batch_cursor *)cursor;
  if (situ_shape_count(self->sizes->shape) > 1) return cursor_discard(cursor, n);
  return cursor_skip(cursor->inputs[0], n * self->size);
}

static int64_t batch_cardinality(const situ_dataset *dataset) {
  const int64_t inner = situ_dataset_cardinality(dataset->spec.inputs[0]);
  const int64_t size = dataset_int_param(dataset, 0, 0);
  const situ_tensor *sizes = dataset->spec.params[0].tensor;
  if (sizes && situ_shape_count(sizes->shape) > 1) return UNKNOWN_COUNT;
  if (inner < 0) return inner;
  if (size < 1) return UNKNOWN_COUNT;
  return inner / size + (!(dataset->spec.flags & SITU_DROP_REMAINDER) && inner % size);
}

const struct data_kind kind_Batch = {.name = "Batch",
                                     .size = sizeof(struct batch_cursor),
                                     .n_inputs = 1,
                                     .n_params = 1,
                                     .open = batch_open,
                                     .next = batch_next,
                                     .close = batch_close,
                                     .cardinality = batch_cardinality,
                                     .skip = batch_skip};

/* ---- PaddedBatch ---- */

static situ_status padded_init(situ_dataset *dataset) {
  const int n = dataset->spec.n_params, components = dataset->n_components;
  if (n == 2 * components + 1 || (dataset->spec.shape && n == components + 1)) return NULL;
  return INVALID("A dataset PaddedBatch needs a shape and a padding value for each component.");
}

/* Reads a padded shape from a vector; -1 means the maximum size in the batch. */
static situ_status read_shape(const situ_tensor *sizes, situ_shape *out) {
  const int64_t n = sizes->shape.rank == 1 ? sizes->shape.dim[0] : -1;
  if (n < 0 || n > SITU_MAX_RANK || !situ_tensor_data(sizes))
    return INVALID("A padded shape must be a vector of sizes.");
  *out = (situ_shape){.rank = (int)n};
  for (int64_t i = 0; i < n; i++) {
    out->dim[i] = number_integer_at(sizes->type, situ_tensor_data(sizes), i);
    if (out->dim[i] < -1) return INVALID("Dimension %lld must be >= -1", (long long)out->dim[i]);
    if (out->dim[i] < 0) out->dim[i] = SITU_ANY;
  }
  return NULL;
}

/* Gets the shape of a component that is a parameter, and checks it. */
static situ_status open_shape(struct batch_cursor *self, int component) {
  const int n = self->head.dataset->n_components;
  situ_shape shape;
  TRY(cursor_param(&self->head, n + component + 1, &self->shapes[component]));
  return read_shape(self->shapes[component], &shape);
}

static situ_status padded_open(struct cursor *cursor) {
  struct batch_cursor *self = (struct batch_cursor *)cursor;
  TRY(batch_open(cursor));
  const int n = cursor->dataset->n_components;
  const bool has_shapes = cursor->dataset->spec.n_params > n + 1; /* shapes are params */
  for (int i = 0; i < n; i++) {
    TRY(cursor_param(cursor, i + 1, &self->padding[i]));
    if (has_shapes) TRY(open_shape(self, i));
  }
  return NULL;
}

/* Computes the padded shape of a component: as specified, else the maximum over the elements. */
static situ_status padded_shape(const struct batch_cursor *self, int component, situ_shape *out) {
  const int n = self->head.dataset->n_components;
  if (self->shapes[component])
    TRY(read_shape(self->shapes[component], out));
  else
    *out = self->head.dataset->spec.shape[component];
  if (out->rank < 0) {
    out->rank = self->elements[component]->shape.rank;
    for (int d = 0; d < out->rank; d++) out->dim[d] = SITU_ANY;
  }
  const situ_shape asked = *out;
  for (int64_t r = 0; r < self->n_elements; r++) {
    const situ_shape *shape = &self->elements[r * n + component]->shape;
    if (shape->rank != out->rank)
      return INVALID(
          "All elements in a batch must have the same rank as the padded shape for "
          "component%d: expected rank %d got element with rank %d",
          component, out->rank, shape->rank);
    for (int d = 0; d < out->rank; d++) {
      if (asked.dim[d] >= 0 && shape->dim[d] > asked.dim[d])
        return situ_status_create(SITU_DATA_LOSS,
                                  "Attempted to pad to a smaller size than the input element.");
      out->dim[d] = max_i64(out->dim[d], shape->dim[d]);
    }
  }
  return NULL;
}

/* Copies a tensor into a larger one of shape `to_shape`. Strings are copied as pointers. */
static void copy_padded(char *to, const situ_shape *to_shape, const char *from,
                        const situ_shape *shape, int axis, size_t size) {
  size_t to_step = size, from_step = size;
  for (int d = axis + 1; d < shape->rank; d++) {
    to_step *= (size_t)to_shape->dim[d];
    from_step *= (size_t)shape->dim[d];
  }
  if (axis >= shape->rank - 1) { /* the innermost dimension is contiguous in both */
    const size_t bytes = (shape->rank ? (size_t)shape->dim[shape->rank - 1] : 1) * size;
    if (bytes) memcpy(to, from, bytes);
    return;
  }
  for (int64_t i = 0; i < shape->dim[axis]; i++)
    copy_padded(to + (size_t)i * to_step, to_shape, from + (size_t)i * from_step, shape, axis + 1,
                size);
}

static situ_status pad(const struct batch_cursor *self, int component, situ_tensor **out) {
  const int n = self->head.dataset->n_components;
  const situ_tensor *value = self->padding[component];
  const situ_type type = self->elements[component]->type;
  situ_shape row, shape;
  TRY(padded_shape(self, component, &row));
  if (!prepend_dim(&row, self->n_elements, &shape))
    return INVALID("A batch of tensors of rank %d has too many dimensions.", row.rank);
  if (value->type != type || situ_shape_count(value->shape) != 1 || !situ_tensor_data(value))
    return INVALID("Padding value %d must be a scalar of type %s.", component,
                   situ_type_name(type));
  const size_t size = situ_type_size(type), each = (size_t)situ_shape_count(row) * size;
  situ_tensor *batch = NULL;
  TRY(tensor_create_raw(type, shape, &batch));
  char *data = batch->buffer->host;
  for (size_t at = 0; at < batch->bytes; at += size)
    memcpy(data + at, situ_tensor_data(value), size);
  for (int64_t r = 0; r < self->n_elements; r++) {
    const situ_tensor *from = self->elements[r * n + component];
    if (from->bytes)
      copy_padded(data + (size_t)r * each, &row, situ_tensor_data(from), &from->shape, 0, size);
  }
  if (type != SITU_STRING) {
    *out = batch;
    return NULL;
  }
  const situ_status status = tensor_copy_strings(batch, out); /* the elements own the strings so far
                                                               */
  situ_tensor_release(batch);
  return status;
}

static situ_status padded_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct batch_cursor *self = (struct batch_cursor *)cursor;
  const int n = cursor->dataset->n_components;
  situ_status status = NULL;
  while (self->n_elements < self->size && !self->ended && !status) {
    status = cursor_pull(cursor, cursor->element, &self->ended);
    for (int i = 0; i < n && !status && !self->ended; i++)
      status = component_to_host(&cursor->element[i]);
    if (!status && !self->ended) status = keep_element(self, cursor->element);
    cursor_release_tensors(cursor->element, n);
  }
  *end = !status && (!self->n_elements || (self->n_elements < self->size &&
                                           cursor->dataset->spec.flags & SITU_DROP_REMAINDER));
  for (int i = 0; i < n && !status && !*end; i++) status = pad(self, i, &components[i]);
  if (status) cursor_release_tensors(components, n);
  drop_elements(self);
  return status;
}

const struct data_kind kind_PaddedBatch = {.name = "PaddedBatch",
                                           .size = sizeof(struct batch_cursor),
                                           .n_inputs = 1,
                                           .n_params = 2,
                                           .init = padded_init,
                                           .open = padded_open,
                                           .next = padded_next,
                                           .close = batch_close,
                                           .cardinality = batch_cardinality,
                                           .skip = batch_skip};
