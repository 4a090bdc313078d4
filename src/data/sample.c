/* SPDX-License-Identifier: Apache-2.0
 * sample.c: Choose (choose_from_datasets, sample_from_datasets) and IgnoreErrors. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "data/data.h"
#include "tensor/number.h"
#include "tensor/tensor.h"

/* Choose: input 0 yields indices; index i selects the next element of input i + 1. */

struct choose_cursor {
  struct cursor head;
  int64_t stops; /* end when any selected input has ended */
  int left;
};

static situ_status choose_init(situ_dataset *dataset) {
  const situ_dataset_spec *spec = &dataset->spec;
  if (spec->inputs[0]->n_components != 1)
    return INVALID("Elements of the index dataset must have one component, not %d.",
                   spec->inputs[0]->n_components);
  dataset->n_components = spec->inputs[1]->n_components;
  for (int i = 2; i < spec->n_inputs; i++)
    if (spec->inputs[i]->n_components != dataset->n_components)
      return INVALID("Cannot choose from datasets with elements of %d and %d components.",
                     dataset->n_components, spec->inputs[i]->n_components);
  return NULL;
}

static situ_status choose_open(struct cursor *cursor) {
  struct choose_cursor *self = (struct choose_cursor *)cursor;
  self->left = cursor->dataset->spec.n_inputs - 1;
  return cursor_int_param(cursor, 0, &self->stops);
}

/* Reads the next index; sets *input to the selected input. */
static situ_status next_index(struct cursor *cursor, int *input, bool *end) {
  TRY(cursor_pull(cursor, cursor->element, end));
  if (*end) return NULL;
  situ_tensor *index = cursor->element[0];
  const bool plain = situ_tensor_data(index) && situ_shape_count(index->shape) == 1;
  const int64_t at = plain ? number_integer_at(index->type, situ_tensor_data(index), 0) : -1;
  cursor_release_tensors(cursor->element, 1);
  const int n = cursor->dataset->spec.n_inputs - 1;
  if (at < 0 || at >= n)
    return INVALID("Selector index out of range: %lld >= %d", (long long)at, n);
  *input = (int)at + 1;
  return NULL;
}

static situ_status choose_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct choose_cursor *self = (struct choose_cursor *)cursor;
  while (self->left) {
    int input = 0;
    TRY(next_index(cursor, &input, end));
    if (*end) return NULL;
    if (!cursor->inputs[input]) continue; /* this input has ended */
    TRY(cursor_next(cursor->inputs[input], components, end));
    if (!*end) return NULL;
    cursor_close(cursor->inputs[input]);
    cursor->inputs[input] = NULL;
    self->left = self->stops ? 0 : self->left - 1;
  }
  *end = true;
  return NULL;
}

const struct data_kind kind_Choose = {.name = "Choose",
                                      .size = sizeof(struct choose_cursor),
                                      .n_inputs = 2,
                                      .n_params = 1,
                                      .init = choose_init,
                                      .open = choose_open,
                                      .next = choose_next,
                                      .cardinality = dataset_cardinality_unknown};

/* ---- IgnoreErrors: bounded, since a source may fail forever ---- */

enum { FAILURES_IN_A_ROW = 100000 };

static situ_status ignore_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  situ_status status = NULL;
  for (int i = 0; i < FAILURES_IN_A_ROW; i++) {
    situ_status_release(status);
    status = cursor_pull(cursor, components, end);
    if (!status || situ_status_code(status) == SITU_CANCELLED) break;
    if (cursor->dataset->spec.flags & SITU_LOG_WARNING)
      log_warn("ignore_errors: %s", situ_status_message(status));
    *end = false;
  }
  return status;
}

const struct data_kind kind_IgnoreErrors = {.name = "IgnoreErrors",
                                            .n_inputs = 1,
                                            .next = ignore_next,
                                            .cardinality = dataset_cardinality_unknown};
