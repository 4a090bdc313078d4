/* SPDX-License-Identifier: Apache-2.0
 * source.c: datasets without inputs: Tensor, TensorSlice, Elements, Numbers, Generator; and the
 * wrappers Handle and Bound. */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* The cursor of Tensor, TensorSlice, Elements and Numbers. */
struct source_cursor {
  struct cursor head;
  int64_t at, stop, step;
  situ_tensor **tensors; /* the params in host memory; owned */
};

static situ_status set_components_from_params(situ_dataset *dataset) {
  dataset->n_components = dataset->spec.n_params;
  return NULL;
}

/* Copies the params to the host. */
static situ_status take_params(struct source_cursor *self) {
  const int n = self->head.dataset->spec.n_params;
  self->tensors = calloc((size_t)n + 1, sizeof(situ_tensor *));
  if (!self->tensors) return NO_MEMORY();
  for (int i = 0; i < n; i++) {
    situ_tensor *tensor = NULL;
    TRY(cursor_param(&self->head, i, &tensor));
    TRY(tensor_host(tensor, &self->tensors[i]));
  }
  return NULL;
}

static void drop_params(struct cursor *cursor) {
  struct source_cursor *self = (struct source_cursor *)cursor;
  if (self->tensors) cursor_release_tensors(self->tensors, cursor->dataset->spec.n_params);
  free(self->tensors);
}

static situ_status tensor_open(struct cursor *cursor) {
  return take_params((struct source_cursor *)cursor);
}

static situ_status tensor_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct source_cursor *self = (struct source_cursor *)cursor;
  *end = self->at++ > 0;
  for (int i = 0; !*end && i < cursor->dataset->n_components; i++)
    components[i] = situ_tensor_retain(self->tensors[i]);
  return NULL;
}

const struct data_kind kind_Tensor = {.name = "Tensor",
                                      .size = sizeof(struct source_cursor),
                                      .n_params = 1,
                                      .init = set_components_from_params,
                                      .open = tensor_open,
                                      .next = tensor_next,
                                      .close = drop_params,
                                      .cardinality = dataset_cardinality_one};

/* ---- TensorSlice ---- */

/* Checks dimension 0. *rows is SITU_ANY before the first component. */
static situ_status check_rows(const situ_tensor *tensor, int component, int64_t *rows) {
  char text[SHAPE_STRING_SIZE];
  if (!tensor) return NULL; /* an argument, unknown until an iterator is created */
  if (tensor->shape.rank < 1)
    return INVALID("Unbatching a tensor is only supported for rank >= 1: component %d has shape %s",
                   component, shape_print(&tensor->shape, text));
  if (*rows != SITU_ANY && tensor->shape.dim[0] != *rows)
    return INVALID(
        "All components must have the same size in the 0th dimension: component %d "
        "has %lld rows, not %lld.",
        component, (long long)tensor->shape.dim[0], (long long)*rows);
  *rows = tensor->shape.dim[0];
  return NULL;
}

static situ_status slices_init(situ_dataset *dataset) {
  int64_t rows = SITU_ANY;
  TRY(set_components_from_params(dataset));
  for (int i = 0; i < dataset->n_components; i++)
    TRY(check_rows(dataset->spec.params[i].tensor, i, &rows));
  return NULL;
}

static situ_status slices_open(struct cursor *cursor) {
  struct source_cursor *self = (struct source_cursor *)cursor;
  TRY(take_params(self));
  self->stop = SITU_ANY;
  for (int i = 0; i < cursor->dataset->n_components; i++)
    TRY(check_rows(self->tensors[i], i, &self->stop));
  return NULL;
}

static situ_status slices_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct source_cursor *self = (struct source_cursor *)cursor;
  *end = self->at >= self->stop;
  if (*end) return NULL;
  const int64_t at = self->at++;
  situ_status status = NULL;
  const int n = cursor->dataset->n_components;
  for (int i = 0; i < n && !status; i++)
    status = component_slice(self->tensors[i], at, &components[i]);
  if (status) cursor_release_tensors(components, n);
  return status;
}

static situ_status slices_skip(struct cursor *cursor, int64_t n) {
  struct source_cursor *self = (struct source_cursor *)cursor;
  self->at = min_i64(n, self->stop);
  return NULL;
}

static int64_t slices_cardinality(const situ_dataset *dataset) {
  const situ_tensor *tensor = dataset->spec.params[0].tensor;
  return tensor ? tensor->shape.dim[0] : UNKNOWN_COUNT;
}

const struct data_kind kind_TensorSlice = {.name = "TensorSlice",
                                           .size = sizeof(struct source_cursor),
                                           .n_params = 1,
                                           .init = slices_init,
                                           .open = slices_open,
                                           .next = slices_next,
                                           .close = drop_params,
                                           .cardinality = slices_cardinality,
                                           .skip = slices_skip};

/* ---- Elements ---- */

static situ_status elements_init(situ_dataset *dataset) {
  dataset->n_components = dataset->spec.n_components > 0 ? dataset->spec.n_components : 1;
  if (dataset->spec.n_params % dataset->n_components == 0) return NULL;
  return INVALID("%d tensors cannot form elements of %d components.", dataset->spec.n_params,
                 dataset->n_components);
}

static situ_status elements_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct source_cursor *self = (struct source_cursor *)cursor;
  const situ_dataset_spec *spec = &cursor->dataset->spec;
  *end = self->at >= spec->n_params;
  for (int i = 0; i < cursor->dataset->n_components && !*end; i++)
    components[i] = situ_tensor_retain(spec->params[self->at++].tensor);
  return NULL;
}

static int64_t elements_cardinality(const situ_dataset *dataset) {
  return dataset->spec.n_params / dataset->n_components;
}

const struct data_kind kind_Elements = {.name = "Elements",
                                        .size = sizeof(struct source_cursor),
                                        .init = elements_init,
                                        .next = elements_next,
                                        .cardinality = elements_cardinality};

/* ---- Numbers ---- */

static situ_status range_init(situ_dataset *dataset) {
  dataset->n_components = 1;
  if (!dataset->spec.type) dataset->spec.type = SITU_INT64;
  return NULL;
}

static situ_status range_open(struct cursor *cursor) {
  struct source_cursor *self = (struct source_cursor *)cursor;
  TRY(cursor_int_param(cursor, 0, &self->at));
  TRY(cursor_int_param(cursor, 1, &self->stop));
  TRY(cursor_int_param(cursor, 2, &self->step));
  return self->step ? NULL : INVALID("step must be a non-zero integer.");
}

static situ_status range_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct source_cursor *self = (struct source_cursor *)cursor;
  const int64_t value = self->at;
  *end = self->step > 0 ? value >= self->stop : value <= self->stop;
  if (*end) return NULL;
  self->at += self->step;
  const situ_type type = cursor->dataset->spec.type;
  TRY(tensor_create_raw(type, SITU_SCALAR, components));
  void *to = components[0]->buffer->host;
  if (type == SITU_INT64)
    *(int64_t *)to = value;
  else if (type == SITU_INT32)
    *(int32_t *)to = (int32_t)value;
  else if (type == SITU_FLOAT)
    *(float *)to = (float)value;
  else if (type == SITU_DOUBLE)
    *(double *)to = (double)value;
  else
    memcpy(to, &value, components[0]->bytes); /* little-endian */
  return NULL;
}

static int64_t range_cardinality(const situ_dataset *dataset) {
  for (int i = 0; i < 3; i++)
    if (!dataset->spec.params[i].tensor) return UNKNOWN_COUNT;
  const int64_t start = dataset_int_param(dataset, 0, 0), stop = dataset_int_param(dataset, 1, 0);
  const int64_t step = dataset_int_param(dataset, 2, 1);
  if (!step) return UNKNOWN_COUNT;
  if (stop == (step > 0 ? INT64_MAX : INT64_MIN)) return INFINITE_COUNT; /* practically infinite */
  if (step > 0) return stop > start ? (stop - start - 1) / step + 1 : 0;
  return start > stop ? (start - stop - 1) / -step + 1 : 0;
}

const struct data_kind kind_Numbers = {.name = "Numbers",
                                       .size = sizeof(struct source_cursor),
                                       .n_params = 3,
                                       .init = range_init,
                                       .open = range_open,
                                       .next = range_next,
                                       .cardinality = range_cardinality};

/* ---- Generator ---- */

struct generator_cursor {
  struct cursor head;
  void *state;
  bool open, ended;
};

static situ_status generator_init(situ_dataset *dataset) {
  dataset->n_components = dataset->spec.n_components;
  if (dataset->spec.generator && dataset->n_components > 0) return NULL;
  return INVALID("A dataset Generator needs `generator` and `n_components`.");
}

static situ_status generator_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct generator_cursor *self = (struct generator_cursor *)cursor;
  const situ_generator *generator = cursor->dataset->spec.generator;
  if (!self->open) {
    if (generator->open) TRY(generator->open(generator->context, &self->state));
    self->open = true;
  }
  *end = self->ended;
  if (*end) return NULL;
  const int n = cursor->dataset->n_components;
  const situ_status status = generator->next(self->state, components, n, end);
  self->ended = *end;
  if (status || *end) cursor_release_tensors(components, n);
  return status;
}

static void generator_close(struct cursor *cursor) {
  struct generator_cursor *self = (struct generator_cursor *)cursor;
  const situ_generator *generator = cursor->dataset->spec.generator;
  if (self->open && generator->close) generator->close(self->state);
}

const struct data_kind kind_Generator = {.name = "Generator",
                                         .size = sizeof(struct generator_cursor),
                                         .init = generator_init,
                                         .next = generator_next,
                                         .close = generator_close,
                                         .cardinality = dataset_cardinality_unknown};

/* ---- Handle: a dataset that is known only at run time ---- */

struct handle_cursor {
  struct cursor head;
  situ_dataset *dataset;
  struct cursor *cursor;
};

static situ_status handle_init(situ_dataset *dataset) {
  dataset->n_components = dataset->spec.n_components > 0 ? dataset->spec.n_components : 1;
  return NULL;
}

static situ_status handle_open(struct cursor *cursor) {
  struct handle_cursor *self = (struct handle_cursor *)cursor;
  situ_tensor *handle = NULL;
  struct resource *resource = NULL;
  TRY(cursor_param(cursor, 0, &handle));
  TRY(resource_of(handle, &dataset_resource, &resource));
  self->dataset = (situ_dataset *)resource_retain(resource);
  if (self->dataset->n_components != cursor->dataset->n_components)
    return INVALID("The dataset has elements of %d components, not %d.",
                   self->dataset->n_components, cursor->dataset->n_components);
  return cursor_open(self->dataset, NULL, cursor->iteration, &self->cursor);
}

static situ_status handle_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  return cursor_next(((struct handle_cursor *)cursor)->cursor, components, end);
}

static void handle_close(struct cursor *cursor) {
  struct handle_cursor *self = (struct handle_cursor *)cursor;
  cursor_close(self->cursor);
  situ_dataset_release(self->dataset);
}

const struct data_kind kind_Handle = {.name = "Handle",
                                      .size = sizeof(struct handle_cursor),
                                      .n_params = 1,
                                      .init = handle_init,
                                      .open = handle_open,
                                      .next = handle_next,
                                      .close = handle_close,
                                      .cardinality = dataset_cardinality_unknown};

/* ---- Bound: a dataset with its arguments ---- */

struct bound_cursor {
  struct cursor head;
  struct binding *binding;
  struct cursor *cursor;
};

static situ_status bound_init(situ_dataset *dataset) {
  if (!dataset->spec.inner) return INVALID("A dataset Bound needs an inner dataset.");
  dataset->n_components = dataset->spec.inner->n_components;
  return NULL;
}

static situ_status bound_open(struct cursor *cursor) {
  struct bound_cursor *self = (struct bound_cursor *)cursor;
  const situ_dataset_spec *spec = &cursor->dataset->spec;
  situ_tensor **values = calloc((size_t)spec->n_params + 1, sizeof(situ_tensor *));
  situ_status status = values ? NULL : NO_MEMORY();
  for (int i = 0; i < spec->n_params && !status; i++) status = cursor_param(cursor, i, &values[i]);
  if (!status) status = shared_state_bind(values, spec->n_params, false, &self->binding);
  free(values);
  if (status) return status;
  return cursor_open(spec->inner, self->binding, cursor->iteration, &self->cursor);
}

static situ_status bound_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  return cursor_next(((struct bound_cursor *)cursor)->cursor, components, end);
}

static void bound_close(struct cursor *cursor) {
  struct bound_cursor *self = (struct bound_cursor *)cursor;
  cursor_close(self->cursor);
  shared_state_unbind(self->binding);
}

static int64_t bound_cardinality(const situ_dataset *dataset) {
  return situ_dataset_cardinality(dataset->spec.inner);
}

const struct data_kind kind_Bound = {.name = "Bound",
                                     .size = sizeof(struct bound_cursor),
                                     .init = bound_init,
                                     .open = bound_open,
                                     .next = bound_next,
                                     .close = bound_close,
                                     .cardinality = bound_cardinality};
