/* SPDX-License-Identifier: Apache-2.0
 * source.c: data sets that are made of values: tensors, their rows, numbers, a function. */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* A cursor with a position. */
struct place {
  struct cursor head;
  int64_t at, stop, step;
  situ_tensor **tensors; /* in host memory, with references */
};

static situ_status parts_of_params(situ_dataset *dataset) {
  dataset->n_parts = dataset->spec.n_params;
  return NULL;
}

/* Takes the params, brought to the host. */
static situ_status take_params(struct place *place) {
  const int n = place->head.dataset->spec.n_params;
  place->tensors = calloc((size_t)n + 1, sizeof(situ_tensor *));
  if (!place->tensors) return NO_MEMORY();
  for (int i = 0; i < n; i++) {
    situ_tensor *tensor = NULL;
    TRY(cursor_param(&place->head, i, &tensor));
    TRY(tensor_host(tensor, &place->tensors[i]));
  }
  return NULL;
}

static void drop_params(struct cursor *cursor) {
  struct place *place = (struct place *)cursor;
  if (place->tensors) cursor_drop(place->tensors, cursor->dataset->spec.n_params);
  free(place->tensors);
}

static situ_status tensor_open(struct cursor *cursor) {
  return take_params((struct place *)cursor);
}

static situ_status tensor_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct place *place = (struct place *)cursor;
  *end = place->at++ > 0;
  for (int i = 0; !*end && i < cursor->dataset->n_parts; i++)
    parts[i] = situ_tensor_retain(place->tensors[i]);
  return NULL;
}

const struct data_kind kind_Tensor = {.name = "Tensor",
                                      .size = sizeof(struct place),
                                      .n_params = 1,
                                      .make = parts_of_params,
                                      .open = tensor_open,
                                      .next = tensor_next,
                                      .close = drop_params,
                                      .count = dataset_count_one};

/* Rows of tensors */

/* `rows` is SITU_ANY before the first. */
static situ_status check_rows(const situ_tensor *tensor, int part, int64_t *rows) {
  char text[SHAPE_STRING_SIZE];
  if (!tensor) return NULL; /* an argument, not known yet */
  if (tensor->shape.rank < 1)
    return INVALID("Unbatching a tensor is only supported for rank >= 1: component %d has shape %s",
                   part, shape_print(&tensor->shape, text));
  if (*rows != SITU_ANY && tensor->shape.dim[0] != *rows)
    return INVALID(
        "All components must have the same size in the 0th dimension: component %d "
        "has %lld rows, not %lld.",
        part, (long long)tensor->shape.dim[0], (long long)*rows);
  *rows = tensor->shape.dim[0];
  return NULL;
}

static situ_status slices_make(situ_dataset *dataset) {
  int64_t rows = SITU_ANY;
  TRY(parts_of_params(dataset));
  for (int i = 0; i < dataset->n_parts; i++)
    TRY(check_rows(dataset->spec.params[i].tensor, i, &rows));
  return NULL;
}

static situ_status slices_open(struct cursor *cursor) {
  struct place *place = (struct place *)cursor;
  TRY(take_params(place));
  place->stop = SITU_ANY;
  for (int i = 0; i < cursor->dataset->n_parts; i++)
    TRY(check_rows(place->tensors[i], i, &place->stop));
  return NULL;
}

static situ_status slices_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct place *place = (struct place *)cursor;
  *end = place->at >= place->stop;
  if (*end) return NULL;
  const int64_t at = place->at++;
  situ_status status = NULL;
  const int n = cursor->dataset->n_parts;
  for (int i = 0; i < n && !status; i++) status = component_slice(place->tensors[i], at, &parts[i]);
  if (status) cursor_drop(parts, n);
  return status;
}

static situ_status slices_skip(struct cursor *cursor, int64_t n) {
  struct place *place = (struct place *)cursor;
  place->at = min_i64(n, place->stop);
  return NULL;
}

static int64_t slices_count(const situ_dataset *dataset) {
  const situ_tensor *tensor = dataset->spec.params[0].tensor;
  return tensor ? tensor->shape.dim[0] : UNKNOWN_COUNT;
}

const struct data_kind kind_TensorSlice = {.name = "TensorSlice",
                                           .size = sizeof(struct place),
                                           .n_params = 1,
                                           .make = slices_make,
                                           .open = slices_open,
                                           .next = slices_next,
                                           .close = drop_params,
                                           .count = slices_count,
                                           .skip = slices_skip};

/* Elements that are given one by one */

static situ_status rows_make(situ_dataset *dataset) {
  dataset->n_parts = dataset->spec.n_parts > 0 ? dataset->spec.n_parts : 1;
  if (dataset->spec.n_params % dataset->n_parts == 0) return NULL;
  return INVALID("%d tensors are no elements of %d parts.", dataset->spec.n_params,
                 dataset->n_parts);
}

static situ_status rows_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct place *place = (struct place *)cursor;
  const situ_dataset_spec *spec = &cursor->dataset->spec;
  *end = place->at >= spec->n_params;
  for (int i = 0; i < cursor->dataset->n_parts && !*end; i++)
    parts[i] = situ_tensor_retain(spec->params[place->at++].tensor);
  return NULL;
}

static int64_t rows_count(const situ_dataset *dataset) {
  return dataset->spec.n_params / dataset->n_parts;
}

const struct data_kind kind_Rows = {.name = "Rows",
                                    .size = sizeof(struct place),
                                    .make = rows_make,
                                    .next = rows_next,
                                    .count = rows_count};

/* Numbers */

static situ_status range_make(situ_dataset *dataset) {
  dataset->n_parts = 1;
  if (!dataset->spec.type) dataset->spec.type = SITU_INT64;
  return NULL;
}

static situ_status range_open(struct cursor *cursor) {
  struct place *place = (struct place *)cursor;
  TRY(cursor_number(cursor, 0, &place->at));
  TRY(cursor_number(cursor, 1, &place->stop));
  TRY(cursor_number(cursor, 2, &place->step));
  return place->step ? NULL : INVALID("step must be a non-zero integer.");
}

static situ_status range_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct place *place = (struct place *)cursor;
  const int64_t value = place->at;
  *end = place->step > 0 ? value >= place->stop : value <= place->stop;
  if (*end) return NULL;
  place->at += place->step;
  const situ_type type = cursor->dataset->spec.type;
  TRY(tensor_create_raw(type, SITU_SCALAR, parts));
  void *to = parts[0]->buffer->host;
  if (type == SITU_INT64)
    *(int64_t *)to = value;
  else if (type == SITU_INT32)
    *(int32_t *)to = (int32_t)value;
  else if (type == SITU_FLOAT)
    *(float *)to = (float)value;
  else if (type == SITU_DOUBLE)
    *(double *)to = (double)value;
  else
    memcpy(to, &value, parts[0]->bytes); /* bytes: the lowest comes first */
  return NULL;
}

static int64_t range_count(const situ_dataset *dataset) {
  for (int i = 0; i < 3; i++)
    if (!dataset->spec.params[i].tensor) return UNKNOWN_COUNT;
  const int64_t start = dataset_number(dataset, 0, 0), stop = dataset_number(dataset, 1, 0);
  const int64_t step = dataset_number(dataset, 2, 1);
  if (!step) return UNKNOWN_COUNT;
  if (stop == (step > 0 ? INT64_MAX : INT64_MIN)) return UNENDING; /* nobody sees the end */
  if (step > 0) return stop > start ? (stop - start - 1) / step + 1 : 0;
  return start > stop ? (start - stop - 1) / -step + 1 : 0;
}

const struct data_kind kind_Numbers = {.name = "Numbers",
                                       .size = sizeof(struct place),
                                       .n_params = 3,
                                       .make = range_make,
                                       .open = range_open,
                                       .next = range_next,
                                       .count = range_count};

/* A function of the program */

struct generating {
  struct cursor head;
  void *state;
  bool open, ended;
};

static situ_status generator_make(situ_dataset *dataset) {
  dataset->n_parts = dataset->spec.n_parts;
  if (dataset->spec.generator && dataset->n_parts > 0) return NULL;
  return INVALID("A data set Generator needs a generator, and how many parts its elements have.");
}

static situ_status generator_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct generating *self = (struct generating *)cursor;
  const situ_generator *generator = cursor->dataset->spec.generator;
  if (!self->open) {
    if (generator->open) TRY(generator->open(generator->context, &self->state));
    self->open = true;
  }
  *end = self->ended;
  if (*end) return NULL;
  const int n = cursor->dataset->n_parts;
  const situ_status status = generator->next(self->state, parts, n, end);
  self->ended = *end;
  if (status || *end) cursor_drop(parts, n);
  return status;
}

static void generator_close(struct cursor *cursor) {
  struct generating *self = (struct generating *)cursor;
  const situ_generator *generator = cursor->dataset->spec.generator;
  if (self->open && generator->close) generator->close(self->state);
}

const struct data_kind kind_Generator = {.name = "Generator",
                                         .size = sizeof(struct generating),
                                         .make = generator_make,
                                         .next = generator_next,
                                         .close = generator_close,
                                         .count = dataset_count_unknown};

/* A data set that is known when it is read */

struct within {
  struct cursor head;
  situ_dataset *dataset;
  struct cursor *cursor;
};

static situ_status handle_make(situ_dataset *dataset) {
  dataset->n_parts = dataset->spec.n_parts > 0 ? dataset->spec.n_parts : 1;
  return NULL;
}

static situ_status handle_open(struct cursor *cursor) {
  struct within *self = (struct within *)cursor;
  situ_tensor *handle = NULL;
  struct resource *resource = NULL;
  TRY(cursor_param(cursor, 0, &handle));
  TRY(resource_of(handle, &dataset_resource, &resource));
  self->dataset = (situ_dataset *)resource_retain(resource);
  if (self->dataset->n_parts != cursor->dataset->n_parts)
    return INVALID("The data set has elements of %d parts, not %d.", self->dataset->n_parts,
                   cursor->dataset->n_parts);
  return cursor_open(self->dataset, NULL, cursor->iteration, &self->cursor);
}

static situ_status handle_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  return cursor_next(((struct within *)cursor)->cursor, parts, end);
}

static void handle_close(struct cursor *cursor) {
  struct within *self = (struct within *)cursor;
  cursor_close(self->cursor);
  situ_dataset_release(self->dataset);
}

const struct data_kind kind_Handle = {.name = "Handle",
                                      .size = sizeof(struct within),
                                      .n_params = 1,
                                      .make = handle_make,
                                      .open = handle_open,
                                      .next = handle_next,
                                      .close = handle_close,
                                      .count = dataset_count_unknown};

/* A data set together with its arguments */

struct binding_of {
  struct cursor head;
  struct binding *binding;
  struct cursor *cursor;
};

static situ_status bound_make(situ_dataset *dataset) {
  if (!dataset->spec.inner) return INVALID("A data set Bound needs an inner data set.");
  dataset->n_parts = dataset->spec.inner->n_parts;
  return NULL;
}

static situ_status bound_open(struct cursor *cursor) {
  struct binding_of *self = (struct binding_of *)cursor;
  const situ_dataset_spec *spec = &cursor->dataset->spec;
  situ_tensor **values = calloc((size_t)spec->n_params + 1, sizeof(situ_tensor *));
  situ_status status = values ? NULL : NO_MEMORY();
  for (int i = 0; i < spec->n_params && !status; i++) status = cursor_param(cursor, i, &values[i]);
  if (!status) status = shared_state_bind(values, spec->n_params, false, &self->binding);
  free(values);
  if (status) return status;
  return cursor_open(spec->inner, self->binding, cursor->iteration, &self->cursor);
}

static situ_status bound_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  return cursor_next(((struct binding_of *)cursor)->cursor, parts, end);
}

static void bound_close(struct cursor *cursor) {
  struct binding_of *self = (struct binding_of *)cursor;
  cursor_close(self->cursor);
  shared_state_unbind(self->binding);
}

static int64_t bound_count(const situ_dataset *dataset) {
  return situ_dataset_cardinality(dataset->spec.inner);
}

const struct data_kind kind_Bound = {.name = "Bound",
                                     .size = sizeof(struct binding_of),
                                     .make = bound_make,
                                     .open = bound_open,
                                     .next = bound_next,
                                     .close = bound_close,
                                     .count = bound_count};
