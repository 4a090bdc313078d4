/* SPDX-License-Identifier: Apache-2.0
 * scan_reduce.c: Scan and Reduce: datasets with a state that a function updates for each element.
 * */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"

/* Params: the initial state, then captured values. The function maps the state and an element to
 * the next state and (Scan) the components of an output element. */
struct scan_cursor {
  struct cursor head;
  int n_state;
  situ_tensor **inputs;  /* the state and the current element */
  situ_tensor **results; /* the next state and the output element */
  bool ended;
};

static int state_size(const situ_dataset *dataset) {
  const int outputs = transform_outputs(dataset->spec.transform);
  return dataset->kind == &kind_Reduce ? outputs : outputs - dataset->n_components;
}

static situ_status scan_init(situ_dataset *dataset) {
  TRY(dataset_check_function(dataset));
  const bool reduces = dataset->kind == &kind_Reduce;
  dataset->n_components =
      reduces ? transform_outputs(dataset->spec.transform) : dataset->spec.n_components;
  const int n = state_size(dataset);
  if (dataset->n_components > 0 && n >= 0 && n <= dataset->spec.n_params) return NULL;
  return INVALID(
      "The function of a dataset %s returns a state of %d tensors, but the initial state has %d.",
      dataset->kind->name, n, dataset->spec.n_params);
}

static situ_status scan_open(struct cursor *cursor) {
  struct scan_cursor *self = (struct scan_cursor *)cursor;
  const situ_dataset *dataset = cursor->dataset;
  const int n = state_size(dataset), components = dataset->spec.inputs[0]->n_components;
  self->inputs = calloc((size_t)(n + components) + 1, sizeof(situ_tensor *));
  self->results = calloc((size_t)(n + dataset->n_components) + 1, sizeof(situ_tensor *));
  if (!self->inputs || !self->results) return NO_MEMORY();
  self->n_state = n;
  for (int i = 0; i < n; i++) {
    situ_tensor *first = NULL;
    TRY(cursor_param(cursor, i, &first));
    self->inputs[i] = situ_tensor_retain(first);
    TRY(component_to_host(&self->inputs[i]));
  }
  return NULL;
}

static void scan_close(struct cursor *cursor) {
  struct scan_cursor *self = (struct scan_cursor *)cursor;
  if (self->inputs) cursor_release_tensors(self->inputs, self->n_state);
  free(self->inputs);
  free(self->results);
}

/* Reads an element and updates the state. */
static situ_status step(struct scan_cursor *self, bool *end) {
  const int n = self->n_state, components = self->head.dataset->spec.inputs[0]->n_components;
  TRY(cursor_pull(&self->head, self->inputs + n, end));
  if (*end) return NULL;
  const situ_status status =
      transform_call(&self->head, self->inputs, n + components, self->results);
  cursor_release_tensors(self->inputs + n, components);
  if (status) return status;
  cursor_release_tensors(self->inputs, n);
  memcpy(self->inputs, self->results, sizeof *self->inputs * (size_t)n);
  memset(self->results, 0, sizeof *self->inputs * (size_t)n);
  return NULL;
}

static situ_status scan_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct scan_cursor *self = (struct scan_cursor *)cursor;
  const size_t n = (size_t)cursor->dataset->n_components;
  TRY(step(self, end));
  memcpy(components, self->results + self->n_state, sizeof *components * n);
  memset(self->results + self->n_state, 0, sizeof *components * n);
  return NULL;
}

static situ_status reduce_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct scan_cursor *self = (struct scan_cursor *)cursor;
  *end = self->ended;
  if (*end) return NULL;
  while (!self->ended) TRY(step(self, &self->ended));
  for (int i = 0; i < self->n_state; i++) components[i] = situ_tensor_retain(self->inputs[i]);
  return NULL;
}

const struct data_kind kind_Scan = {.name = "Scan",
                                    .size = sizeof(struct scan_cursor),
                                    .n_inputs = 1,
                                    .init = scan_init,
                                    .open = scan_open,
                                    .next = scan_next,
                                    .close = scan_close};

const struct data_kind kind_Reduce = {.name = "Reduce",
                                      .size = sizeof(struct scan_cursor),
                                      .n_inputs = 1,
                                      .n_params = 1,
                                      .init = scan_init,
                                      .open = scan_open,
                                      .next = reduce_next,
                                      .close = scan_close,
                                      .cardinality = dataset_cardinality_one};
