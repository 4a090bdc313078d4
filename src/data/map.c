/* SPDX-License-Identifier: Apache-2.0
 * map.c: map, filter, prefetch and copy_to_device. */
#include <stdlib.h>
#include <string.h>

#include "data/prefetch.h"
#include "data/data.h"
#include "device/registry.h"
#include "tensor/number.h"
#include "tensor/tensor.h"

enum { ROOM_PER_THREAD = 16, PREFETCH = 4, MOST_PREFETCH = 1 << 16 };

/* A cursor that others may work ahead of. */
struct mapping {
  struct cursor head;
  struct prefetch *prefetch;
  int64_t room;
};

static void stop_ahead(struct cursor *cursor) {
  prefetch_stop(((struct mapping *)cursor)->prefetch);
}

static situ_status map_make(situ_dataset *dataset) {
  TRY(dataset_check_function(dataset));
  dataset->n_parts = transform_outputs(dataset->spec.transform);
  return NULL;
}

static situ_status map_start(struct mapping *self) {
  const situ_dataset *dataset = self->head.dataset;
  const int threads = prefetch_threads(dataset->spec.parallel);
  return prefetch_start(&(struct prefetch_work){.source = self->head.inputs[0],
                                                .work = transform_call,
                                                .cursor = &self->head,
                                                .n_parts = dataset->n_parts,
                                                .room = threads * ROOM_PER_THREAD,
                                                .threads = threads},
                        &self->prefetch);
}

static situ_status map_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct mapping *self = (struct mapping *)cursor;
  if (cursor->dataset->spec.parallel) {
    if (!self->prefetch) TRY(map_start(self));
    return prefetch_pop(self->prefetch, parts, end);
  }
  const int n = cursor->dataset->spec.inputs[0]->n_parts;
  TRY(cursor_pull(cursor, cursor->row, end));
  if (*end) return NULL;
  const situ_status status = transform_call(cursor, cursor->row, n, parts);
  cursor_drop(cursor->row, n);
  return status;
}

static situ_status map_skip(struct cursor *cursor, int64_t n) {
  const bool plain = transform_is_plain(cursor->dataset->spec.transform);
  return plain ? cursor_skip(cursor->inputs[0], n) : cursor_pass(cursor, n);
}

const struct data_kind kind_Map = {.name = "Map",
                                   .size = sizeof(struct mapping),
                                   .n_inputs = 1,
                                   .make = map_make,
                                   .next = map_next,
                                   .close = stop_ahead,
                                   .skip = map_skip};

/* Choosing */

/* Whether the function says yes to the element in the cursor's row. */
static situ_status ask(struct cursor *cursor, bool *yes) {
  situ_tensor *answer = NULL;
  TRY(transform_call(cursor, cursor->row, cursor->dataset->n_parts, &answer));
  situ_status status = NULL;
  if (answer->type == SITU_BOOL && situ_shape_count(answer->shape) == 1)
    *yes = number_integer_at(SITU_BOOL, situ_tensor_data(answer), 0) != 0;
  else
    status = INVALID("Filter predicate `f` must return a scalar bool.");
  situ_tensor_release(answer);
  return status;
}

static situ_status filter_make(situ_dataset *dataset) {
  TRY(dataset_check_function(dataset));
  if (transform_outputs(dataset->spec.transform) == 1) return NULL;
  return INVALID("A predicate must return one scalar bool.");
}

/* The next element, and what the function says to it. */
static situ_status judge(struct cursor *cursor, situ_tensor **parts, bool *yes, bool *end) {
  const int n = cursor->dataset->n_parts;
  *yes = false;
  TRY(cursor_pull(cursor, cursor->row, end));
  if (*end) return NULL;
  const situ_status status = ask(cursor, yes);
  if (!status && *yes)
    memcpy(parts, cursor->row, sizeof *parts * (size_t)n);
  else
    cursor_drop(cursor->row, n);
  memset(cursor->row, 0, sizeof *parts * (size_t)n);
  return status;
}

static situ_status filter_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  for (bool yes = false; !yes && !*end;) TRY(judge(cursor, parts, &yes, end));
  return NULL;
}

const struct data_kind kind_Filter = {.name = "Filter",
                                      .n_inputs = 1,
                                      .make = filter_make,
                                      .next = filter_next,
                                      .count = dataset_count_unknown};

struct taking {
  struct cursor head;
  bool ended;
};

static situ_status take_while_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct taking *self = (struct taking *)cursor;
  bool yes = false;
  *end = self->ended;
  if (*end) return NULL;
  TRY(judge(cursor, parts, &yes, end));
  *end = self->ended = *end || !yes;
  return NULL;
}

const struct data_kind kind_TakeWhile = {.name = "TakeWhile",
                                         .size = sizeof(struct taking),
                                         .n_inputs = 1,
                                         .make = filter_make,
                                         .next = take_while_next,
                                         .count = dataset_count_unknown};

/* Reading ahead */

static situ_status prefetch_open(struct cursor *cursor) {
  struct mapping *self = (struct mapping *)cursor;
  TRY(cursor_number(cursor, 0, &self->room));
  if (self->room < SITU_AUTOTUNE) return INVALID("buffer_size must be >= 0 or set to -1");
  if (self->room == SITU_AUTOTUNE) self->room = PREFETCH;
  self->room = min_i64(self->room, MOST_PREFETCH);
  return NULL;
}

static situ_status prefetch_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct mapping *self = (struct mapping *)cursor;
  if (!self->room) return cursor_pull(cursor, parts, end);
  if (!self->prefetch)
    TRY(prefetch_start(&(struct prefetch_work){.source = cursor->inputs[0],
                                               .n_parts = cursor->dataset->n_parts,
                                               .room = (int)self->room,
                                               .threads = 1},
                       &self->prefetch));
  return prefetch_pop(self->prefetch, parts, end);
}

static situ_status prefetch_skip(struct cursor *cursor, int64_t n) {
  return cursor_skip(cursor->inputs[0], n);
}

const struct data_kind kind_Prefetch = {.name = "Prefetch",
                                        .size = sizeof(struct mapping),
                                        .n_inputs = 1,
                                        .n_params = 1,
                                        .open = prefetch_open,
                                        .next = prefetch_next,
                                        .close = stop_ahead,
                                        .skip = prefetch_skip};

/* Tensors on a device */

struct copying {
  struct cursor head;
  const struct device_list *list;
  struct device *device; /* NULL: the host */
};

static situ_status copy_open(struct cursor *cursor) {
  struct copying *self = (struct copying *)cursor;
  TRY(registry_acquire(NULL, false, &self->list));
  const char *name = cursor->dataset->spec.text;
  int number = 0;
  TRY(situ_devices_find(name ? name : "", &number));
  struct device *device = self->list->devices[number];
  if (!device->backend->is_host) self->device = device;
  return NULL;
}

static situ_status copy_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  const struct copying *self = (struct copying *)cursor;
  const int n = cursor->dataset->n_parts;
  TRY(cursor_pull(cursor, parts, end));
  situ_status status = NULL;
  for (int i = 0; i < n && self->device && !*end && !status; i++) {
    situ_tensor *there = NULL;
    if (parts[i]->type == SITU_STRING || parts[i]->type == SITU_RESOURCE) continue;
    status = tensor_copy(parts[i], self->device, "CopyToDevice", &there);
    if (status) break;
    situ_tensor_release(parts[i]);
    parts[i] = there;
  }
  if (status) cursor_drop(parts, n);
  return status;
}

static void copy_close(struct cursor *cursor) {
  if (((struct copying *)cursor)->list) registry_release();
}

const struct data_kind kind_CopyToDevice = {.name = "CopyToDevice",
                                            .size = sizeof(struct copying),
                                            .n_inputs = 1,
                                            .open = copy_open,
                                            .next = copy_next,
                                            .close = copy_close};
