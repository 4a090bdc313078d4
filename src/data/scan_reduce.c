/* SPDX-License-Identifier: Apache-2.0
 * scan_reduce.c: data sets whose function has a state: what it gives for each element, or the state
 * that is left. */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"

/* The params are the first state, then captured values; the function makes of the state and the
 * parts of an element the next state, and (Scan) the parts of what is given. */
struct folding {
  struct cursor head;
  int n_state;
  situ_tensor **row;     /* the state, and room for an element */
  situ_tensor **results; /* the next state, and what is given */
  bool ended;
};

static int state_size(const situ_dataset *dataset) {
  const int outputs = transform_outputs(dataset->spec.transform);
  return dataset->kind == &kind_Reduce ? outputs : outputs - dataset->n_parts;
}

static situ_status fold_make(situ_dataset *dataset) {
  TRY(dataset_check_function(dataset));
  const bool reduces = dataset->kind == &kind_Reduce;
  dataset->n_parts = reduces ? transform_outputs(dataset->spec.transform) : dataset->spec.n_parts;
  const int n = state_size(dataset);
  if (dataset->n_parts > 0 && n >= 0 && n <= dataset->spec.n_params) return NULL;
  return INVALID("The function of a data set %s gives a state of %d tensors, but begins with %d.",
                 dataset->kind->name, n, dataset->spec.n_params);
}

static situ_status fold_open(struct cursor *cursor) {
  struct folding *self = (struct folding *)cursor;
  const situ_dataset *dataset = cursor->dataset;
  const int n = state_size(dataset), parts = dataset->spec.inputs[0]->n_parts;
  self->row = calloc((size_t)(n + parts) + 1, sizeof(situ_tensor *));
  self->results = calloc((size_t)(n + dataset->n_parts) + 1, sizeof(situ_tensor *));
  if (!self->row || !self->results) return NO_MEMORY();
  self->n_state = n;
  for (int i = 0; i < n; i++) {
    situ_tensor *first = NULL;
    TRY(cursor_param(cursor, i, &first));
    self->row[i] = situ_tensor_retain(first);
    TRY(component_to_host(&self->row[i]));
  }
  return NULL;
}

static void fold_close(struct cursor *cursor) {
  struct folding *self = (struct folding *)cursor;
  if (self->row) cursor_drop(self->row, self->n_state);
  free(self->row);
  free(self->results);
}

/* Takes an element, and the next state where the function does not fail. */
static situ_status step(struct folding *self, bool *end) {
  const int n = self->n_state, parts = self->head.dataset->spec.inputs[0]->n_parts;
  TRY(cursor_pull(&self->head, self->row + n, end));
  if (*end) return NULL;
  const situ_status status = transform_call(&self->head, self->row, n + parts, self->results);
  cursor_drop(self->row + n, parts);
  if (status) return status;
  cursor_drop(self->row, n);
  memcpy(self->row, self->results, sizeof *self->row * (size_t)n);
  memset(self->results, 0, sizeof *self->row * (size_t)n);
  return NULL;
}

static situ_status scan_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct folding *self = (struct folding *)cursor;
  const size_t n = (size_t)cursor->dataset->n_parts;
  TRY(step(self, end));
  memcpy(parts, self->results + self->n_state, sizeof *parts * n);
  memset(self->results + self->n_state, 0, sizeof *parts * n);
  return NULL;
}

static situ_status reduce_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct folding *self = (struct folding *)cursor;
  *end = self->ended;
  if (*end) return NULL;
  while (!self->ended) TRY(step(self, &self->ended));
  for (int i = 0; i < self->n_state; i++) parts[i] = situ_tensor_retain(self->row[i]);
  return NULL;
}

const struct data_kind kind_Scan = {.name = "Scan",
                                    .size = sizeof(struct folding),
                                    .n_inputs = 1,
                                    .make = fold_make,
                                    .open = fold_open,
                                    .next = scan_next,
                                    .close = fold_close};

const struct data_kind kind_Reduce = {.name = "Reduce",
                                      .size = sizeof(struct folding),
                                      .n_inputs = 1,
                                      .n_params = 1,
                                      .make = fold_make,
                                      .open = fold_open,
                                      .next = reduce_next,
                                      .close = fold_close,
                                      .count = dataset_count_one};
