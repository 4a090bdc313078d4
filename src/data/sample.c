/* SPDX-License-Identifier: Apache-2.0
 * sample.c: data sets that take elements of several others in an order that another one tells, and
 * those that leave out elements that cannot be had. */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "tensor/number.h"
#include "tensor/tensor.h"

/* Input 0 holds numbers; number i means the next element of input i + 1. */

struct choosing {
  struct cursor head;
  int64_t stops; /* at the first of the others that has no more elements */
  int left;
};

static situ_status choose_make(situ_dataset *dataset) {
  const situ_dataset_spec *spec = &dataset->spec;
  if (spec->inputs[0]->n_parts != 1)
    return INVALID("The data set that chooses has elements of %d parts, not of one.",
                   spec->inputs[0]->n_parts);
  dataset->n_parts = spec->inputs[1]->n_parts;
  for (int i = 2; i < spec->n_inputs; i++)
    if (spec->inputs[i]->n_parts != dataset->n_parts)
      return INVALID("Elements of %d and of %d parts cannot be chosen from.", dataset->n_parts,
                     spec->inputs[i]->n_parts);
  return NULL;
}

static situ_status choose_open(struct cursor *cursor) {
  struct choosing *self = (struct choosing *)cursor;
  self->left = cursor->dataset->spec.n_inputs - 1;
  return cursor_number(cursor, 0, &self->stops);
}

/* Which input the next choice means; *end where there are no more choices. */
static situ_status choice(struct cursor *cursor, int *input, bool *end) {
  TRY(cursor_pull(cursor, cursor->row, end));
  if (*end) return NULL;
  situ_tensor *told = cursor->row[0];
  const bool plain = situ_tensor_data(told) && situ_shape_count(told->shape) == 1;
  const int64_t at = plain ? number_integer_at(told->type, situ_tensor_data(told), 0) : -1;
  cursor_drop(cursor->row, 1);
  const int n = cursor->dataset->spec.n_inputs - 1;
  if (at < 0 || at >= n)
    return INVALID("Selector index out of range: %lld >= %d", (long long)at, n);
  *input = (int)at + 1;
  return NULL;
}

static situ_status choose_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct choosing *self = (struct choosing *)cursor;
  while (self->left) {
    int input = 0;
    TRY(choice(cursor, &input, end));
    if (*end) return NULL;
    if (!cursor->inputs[input]) continue; /* it has no more elements */
    TRY(cursor_next(cursor->inputs[input], parts, end));
    if (!*end) return NULL;
    cursor_close(cursor->inputs[input]);
    cursor->inputs[input] = NULL;
    self->left = self->stops ? 0 : self->left - 1;
  }
  *end = true;
  return NULL;
}

const struct data_kind kind_Choose = {.name = "Choose",
                                      .size = sizeof(struct choosing),
                                      .n_inputs = 2,
                                      .n_params = 1,
                                      .make = choose_make,
                                      .open = choose_open,
                                      .next = choose_next,
                                      .count = dataset_count_unknown};

/* Elements that cannot be had are left out. A source that only fails would keep us for ever. */

enum { FAILURES_IN_A_ROW = 100000 };

static situ_status ignore_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  situ_status status = NULL;
  for (int i = 0; i < FAILURES_IN_A_ROW; i++) {
    situ_status_release(status);
    status = cursor_pull(cursor, parts, end);
    if (!status || situ_status_code(status) == SITU_CANCELLED) break;
    *end = false;
  }
  return status;
}

const struct data_kind kind_IgnoreErrors = {
    .name = "IgnoreErrors", .n_inputs = 1, .next = ignore_next, .count = dataset_count_unknown};
