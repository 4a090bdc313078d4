/* SPDX-License-Identifier: Apache-2.0
 * cursor.c: cursors: the iteration state of one dataset in a pipeline. Each has cursors of its
 * inputs. */
#include <stdlib.h>
#include <time.h>

#include "data/data.h"
#include "exec/cancellation.h"
#include "schema/compute.h"
#include "tensor/number.h"
#include "tensor/tensor.h"

enum { CHECK_INTERVAL_NS = 20 * 1000 * 1000 };

_Thread_local const struct services *cursor_services;

void cursor_close(struct cursor *cursor) {
  if (!cursor) return;
  const situ_dataset *dataset = cursor->dataset;
  if (dataset->kind->close) dataset->kind->close(cursor);
  for (int i = 0; cursor->inputs && i < dataset->spec.n_inputs; i++)
    cursor_close(cursor->inputs[i]);
  free(cursor->inputs);
  free(cursor->element);
  free(cursor);
}

situ_status cursor_open_input(struct cursor *cursor, int input) {
  cursor_close(cursor->inputs[input]);
  cursor->inputs[input] = NULL;
  return cursor_open(cursor->dataset->spec.inputs[input], cursor->binding, cursor->iteration,
                     &cursor->inputs[input]);
}

situ_status cursor_open(situ_dataset *dataset, struct binding *binding, struct iteration *iteration,
                        struct cursor **out) {
  const struct data_kind *kind = dataset->kind;
  const int n = dataset->spec.n_inputs;
  struct cursor *cursor = calloc(1, kind->size ? kind->size : sizeof *cursor);
  if (!cursor) return NO_MEMORY();
  cursor->dataset = dataset;
  cursor->binding = binding;
  cursor->iteration = iteration;
  cursor->inputs = calloc((size_t)n + 1, sizeof(struct cursor *));
  const int components = n ? dataset->spec.inputs[0]->n_components : 0;
  cursor->element = calloc((size_t)components + 1, sizeof(situ_tensor *));
  situ_status status = cursor->inputs && cursor->element ? NULL : NO_MEMORY();
  for (int i = 0; i < n && !kind->lazy && !status; i++) status = cursor_open_input(cursor, i);
  if (!status && kind->open) status = kind->open(cursor);
  if (status)
    cursor_close(cursor);
  else
    *out = cursor;
  return status;
}

static situ_status ask(void) {
  static const struct services alone = {.ask = host_ops_check_cancellation};
  const struct compute compute = {.services = cursor_services ? cursor_services : &alone};
  return compute_ask(&compute, "Iterator::GetNext");
}

/* Fails if the program is interrupted; asks only from time to time. A dataset that drops elements
 * may run for long without returning one. */
static situ_status check_interrupt(void) {
  static _Thread_local int64_t next_check;
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  const int64_t now = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
  if (now < next_check) return NULL;
  next_check = now + CHECK_INTERVAL_NS;
  return ask();
}

situ_status cursor_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  if (atomic_load_explicit(&cursor->iteration->stopping, memory_order_relaxed))
    return situ_status_create(SITU_CANCELLED, "The iterator was released.");
  *end = false;
  TRY(check_interrupt());
  const situ_status status = cursor->dataset->kind->next(cursor, components, end);
  if (status) *end = false; /* an element that failed is not the last one */
  return status;
}

situ_status cursor_pull(struct cursor *cursor, situ_tensor **components, bool *end) {
  return cursor_next(cursor->inputs[0], components, end);
}

situ_status cursor_skip(struct cursor *cursor, int64_t n) {
  const struct data_kind *kind = cursor->dataset->kind;
  return kind->skip ? kind->skip(cursor, n) : cursor_discard(cursor, n);
}

situ_status cursor_discard(struct cursor *cursor, int64_t n) {
  const situ_dataset *dataset = cursor->dataset;
  situ_tensor **components = calloc((size_t)dataset->n_components + 1, sizeof(situ_tensor *));
  situ_status status = components ? NULL : NO_MEMORY();
  bool end = false;
  for (int64_t i = 0; i < n && !end && !status; i++) {
    status = cursor_next(cursor, components, &end);
    if (!status && !end) cursor_release_tensors(components, dataset->n_components);
  }
  free(components);
  return status;
}

situ_status cursor_param(const struct cursor *cursor, int index, situ_tensor **out) {
  const situ_param *param = &cursor->dataset->spec.params[index];
  const struct binding *binding = cursor->binding;
  *out = param->tensor;
  if (!*out && binding && param->argument >= 0 && param->argument < binding->n_arguments)
    *out = binding->arguments[param->argument];
  if (*out) return NULL;
  return INVALID("A dataset %s needs argument %d of the iterator, which is missing.",
                 cursor->dataset->kind->name, param->argument);
}

situ_status cursor_int_param(const struct cursor *cursor, int index, int64_t *out) {
  situ_tensor *tensor = NULL;
  TRY(cursor_param(cursor, index, &tensor));
  if (!situ_tensor_data(tensor) || situ_shape_count(tensor->shape) != 1)
    return INVALID("Parameter %d of a dataset %s must be a scalar.", index,
                   cursor->dataset->kind->name);
  *out = number_integer_at(tensor->type, situ_tensor_data(tensor), 0);
  return NULL;
}

situ_status cursor_wait(pthread_cond_t *condition, pthread_mutex_t *lock) {
  static const struct services alone = {.ask = host_ops_check_cancellation};
  const struct compute compute = {.services = cursor_services ? cursor_services : &alone};
  return compute_wait(&compute, condition, lock, "Iterator::GetNext");
}

void cursor_release_tensors(situ_tensor **components, int n) {
  for (int i = 0; i < n; i++) {
    situ_tensor_release(components[i]);
    components[i] = NULL;
  }
}
