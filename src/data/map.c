/* SPDX-License-Identifier: Apache-2.0
 * map.c: Map, Filter, TakeWhile, Prefetch and CopyToDevice. */
#include <stdlib.h>
#include <string.h>

#include "data/prefetch.h"
#include "data/data.h"
#include "device/registry.h"
#include "tensor/number.h"
#include "tensor/tensor.h"

enum { ROOM_PER_THREAD = 16, PREFETCH = 4, MOST_PREFETCH = 1 << 16 };

/* A cursor whose elements may be computed ahead by threads. */
struct map_cursor {
  struct cursor head;
  struct prefetch *prefetch;
  int64_t capacity;
};

static void stop_prefetch(struct cursor *cursor) {
  prefetch_stop(((struct map_cursor *)cursor)->prefetch);
}

static situ_status map_init(situ_dataset *dataset) {
  TRY(dataset_check_function(dataset));
  dataset->n_components = transform_outputs(dataset->spec.transform);
  return NULL;
}

static situ_status map_start(struct map_cursor *self) {
  const situ_dataset *dataset = self->head.dataset;
  const int threads = prefetch_threads(dataset->spec.parallel);
  return prefetch_start(&(struct prefetch_work){.source = self->head.inputs[0],
                                                .work = transform_call,
                                                .cursor = &self->head,
                                                .n_components = dataset->n_components,
                                                .capacity = threads * ROOM_PER_THREAD,
                                                .threads = threads},
                        &self->prefetch);
}

static situ_status map_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct map_cursor *self = (struct map_cursor *)cursor;
  if (cursor->dataset->spec.parallel) {
    if (!self->prefetch) TRY(map_start(self));
    return prefetch_pop(self->prefetch, components, end);
  }
  const int n = cursor->dataset->spec.inputs[0]->n_components;
  TRY(cursor_pull(cursor, cursor->element, end));
  if (*end) return NULL;
  const situ_status status = transform_call(cursor, cursor->element, n, components);
  cursor_release_tensors(cursor->element, n);
  return status;
}

static situ_status map_skip(struct cursor *cursor, int64_t n) {
  const bool plain = transform_is_plain(cursor->dataset->spec.transform);
  return plain ? cursor_skip(cursor->inputs[0], n) : cursor_discard(cursor, n);
}

const struct data_kind kind_Map = {.name = "Map",
                                   .size = sizeof(struct map_cursor),
                                   .n_inputs = 1,
                                   .init = map_init,
                                   .next = map_next,
                                   .close = stop_prefetch,
                                   .skip = map_skip};

/* ---- Filter, TakeWhile ---- */

/* Calls the predicate with the element of the cursor. */
static situ_status evaluate_predicate(struct cursor *cursor, bool *yes) {
  situ_tensor *answer = NULL;
  TRY(transform_call(cursor, cursor->element, cursor->dataset->n_components, &answer));
  situ_status status = NULL;
  if (answer->type == SITU_BOOL && situ_shape_count(answer->shape) == 1)
    *yes = number_integer_at(SITU_BOOL, situ_tensor_data(answer), 0) != 0;
  else
    status = INVALID("Filter predicate `f` must return a scalar bool.");
  situ_tensor_release(answer);
  return status;
}

static situ_status filter_init(situ_dataset *dataset) {
  TRY(dataset_check_function(dataset));
  if (transform_outputs(dataset->spec.transform) == 1) return NULL;
  return INVALID("A predicate must return one scalar bool.");
}

/* Gets the next element if the predicate accepts it; else drops it and sets *yes to false. */
static situ_status next_if(struct cursor *cursor, situ_tensor **components, bool *yes, bool *end) {
  const int n = cursor->dataset->n_components;
  *yes = false;
  TRY(cursor_pull(cursor, cursor->element, end));
  if (*end) return NULL;
  const situ_status status = evaluate_predicate(cursor, yes);
  if (!status && *yes)
    memcpy(components, cursor->element, sizeof *components * (size_t)n);
  else
    cursor_release_tensors(cursor->element, n);
  memset(cursor->element, 0, sizeof *components * (size_t)n);
  return status;
}

static situ_status filter_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  for (bool yes = false; !yes && !*end;) TRY(next_if(cursor, components, &yes, end));
  return NULL;
}

const struct data_kind kind_Filter = {.name = "Filter",
                                      .n_inputs = 1,
                                      .init = filter_init,
                                      .next = filter_next,
                                      .cardinality = dataset_cardinality_unknown};

struct take_while_cursor {
  struct cursor head;
  bool ended;
};

static situ_status take_while_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct take_while_cursor *self = (struct take_while_cursor *)cursor;
  bool yes = false;
  *end = self->ended;
  if (*end) return NULL;
  TRY(next_if(cursor, components, &yes, end));
  *end = self->ended = *end || !yes;
  return NULL;
}

const struct data_kind kind_TakeWhile = {.name = "TakeWhile",
                                         .size = sizeof(struct take_while_cursor),
                                         .n_inputs = 1,
                                         .init = filter_init,
                                         .next = take_while_next,
                                         .cardinality = dataset_cardinality_unknown};

/* ---- Prefetch ---- */

static situ_status prefetch_open(struct cursor *cursor) {
  struct map_cursor *self = (struct map_cursor *)cursor;
  TRY(cursor_int_param(cursor, 0, &self->capacity));
  if (self->capacity < SITU_AUTOTUNE) return INVALID("buffer_size must be >= 0 or set to -1");
  if (self->capacity == SITU_AUTOTUNE) self->capacity = PREFETCH;
  self->capacity = min_i64(self->capacity, MOST_PREFETCH);
  return NULL;
}

static situ_status prefetch_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct map_cursor *self = (struct map_cursor *)cursor;
  if (!self->capacity) return cursor_pull(cursor, components, end);
  if (!self->prefetch)
    TRY(prefetch_start(&(struct prefetch_work){.source = cursor->inputs[0],
                                               .n_components = cursor->dataset->n_components,
                                               .capacity = (int)self->capacity,
                                               .threads = 1},
                       &self->prefetch));
  return prefetch_pop(self->prefetch, components, end);
}

static situ_status prefetch_skip(struct cursor *cursor, int64_t n) {
  return cursor_skip(cursor->inputs[0], n);
}

const struct data_kind kind_Prefetch = {.name = "Prefetch",
                                        .size = sizeof(struct map_cursor),
                                        .n_inputs = 1,
                                        .n_params = 1,
                                        .open = prefetch_open,
                                        .next = prefetch_next,
                                        .close = stop_prefetch,
                                        .skip = prefetch_skip};

/* ---- CopyToDevice ---- */

struct copy_cursor {
  struct cursor head;
  const struct device_list *list;
  struct device *device; /* NULL: the host */
};

static situ_status copy_open(struct cursor *cursor) {
  struct copy_cursor *self = (struct copy_cursor *)cursor;
  TRY(registry_acquire(NULL, false, &self->list));
  const char *name = cursor->dataset->spec.device;
  int number = 0;
  TRY(situ_devices_find(name ? name : "", &number));
  struct device *device = self->list->devices[number];
  if (!device->backend->is_host) self->device = device;
  return NULL;
}

static situ_status copy_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  const struct copy_cursor *self = (struct copy_cursor *)cursor;
  const int n = cursor->dataset->n_components;
  TRY(cursor_pull(cursor, components, end));
  situ_status status = NULL;
  for (int i = 0; i < n && self->device && !*end && !status; i++) {
    situ_tensor *copy = NULL;
    if (components[i]->type == SITU_STRING || components[i]->type == SITU_RESOURCE) continue;
    status = tensor_copy(components[i], self->device, "CopyToDevice", &copy);
    if (status) break;
    situ_tensor_release(components[i]);
    components[i] = copy;
  }
  if (status) cursor_release_tensors(components, n);
  return status;
}

static void copy_close(struct cursor *cursor) {
  if (((struct copy_cursor *)cursor)->list) registry_release();
}

const struct data_kind kind_CopyToDevice = {.name = "CopyToDevice",
                                            .size = sizeof(struct copy_cursor),
                                            .n_inputs = 1,
                                            .open = copy_open,
                                            .next = copy_next,
                                            .close = copy_close};
