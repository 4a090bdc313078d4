/* SPDX-License-Identifier: Apache-2.0
 * accumulator_rows.c: sums of sparse gradients. Rows are kept sorted by index, each with the number
 * of gradients that have it; a gradient is sorted and merged. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "ops/state/accumulator.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

void accumulator_add(situ_type type, void *to, const void *from, int64_t n) {
  if (type == SITU_FLOAT) {
    float *sum = to;
    for (int64_t i = 0; i < n; i++) sum[i] += ((const float *)from)[i];
    return;
  }
  for (int64_t i = 0; i < n; i++)
    number_store(type, to, i, number_at(type, to, i) + number_at(type, from, i));
}

void accumulator_divide(situ_type type, void *data, int64_t n, int64_t by) {
  for (int64_t i = 0; i < n; i++)
    number_store(type, data, i, number_at(type, data, i) / (double)by);
}

void accumulator_rows_clear(struct sparse_rows *rows) {
  free(rows->indices);
  free(rows->counts);
  free(rows->values);
  *rows = (struct sparse_rows){0};
}

/* Checks */

static int64_t index_at(const struct sparse_gradient *gradient, int64_t row) {
  return ((const int64_t *)situ_tensor_data(gradient->indices))[row];
}

static situ_status check_form(const struct sparse_gradient *gradient) {
  char text[SHAPE_STRING_SIZE];
  if (gradient->indices->shape.rank != 1)
    return INVALID("Input indices should be vector but received shape: %s",
                   shape_print(&gradient->indices->shape, text));
  if (!gradient->values->shape.rank) return INVALID("Values cannot be 0-dimensional.");
  const int64_t n = gradient->indices->shape.dim[0], rows = gradient->values->shape.dim[0];
  if (n != rows)
    return INVALID("Expected %lld non-empty input values, got %lld", (long long)n, (long long)rows);
  return NULL;
}

static situ_status check_dense_shape(const situ_shape *want, const situ_tensor *shape) {
  const int64_t rank = situ_shape_count(shape->shape);
  const int64_t *dims = situ_tensor_data(shape);
  if (want->rank > rank)
    return INVALID("Shape mismatch: expected shape rank at least %d, got %lld", want->rank,
                   (long long)rank);
  for (int d = 0; d < want->rank; d++)
    if (want->dim[d] != SITU_ANY && want->dim[d] != dims[d])
      return INVALID("Shape mismatch: expected shape dim %d to be %lld, got %lld", d,
                     (long long)want->dim[d], (long long)dims[d]);
  return NULL;
}

static situ_status check_indices(const situ_shape *want, const struct sparse_gradient *gradient) {
  const int64_t n = gradient->indices->shape.dim[0];
  const int64_t limit = want->rank > 0 ? want->dim[0] : SITU_ANY;
  for (int64_t i = 0; i < n; i++) {
    const int64_t index = index_at(gradient, i);
    if (index < 0)
      return INVALID("Shape mismatch: index of slice %lld is negative: %lld", (long long)i,
                     (long long)index);
    if (limit != SITU_ANY && index >= limit)
      return INVALID(
          "Shape mismatch: index of slice %lld exceeded limits of shape; index is %lld exceeded "
          "%lld",
          (long long)i, (long long)index, (long long)limit);
  }
  return NULL;
}

/* Compares the dimensions of a row; `exact`: also the rank. */
static situ_status check_values(const situ_shape *want, const situ_shape *values, bool exact) {
  if (exact ? want->rank != values->rank : want->rank > values->rank)
    return INVALID("Shape mismatch: expected values rank %s%d, got %d", exact ? "" : "at least ",
                   want->rank, values->rank);
  for (int d = 1; d < want->rank; d++)
    if (want->dim[d] != SITU_ANY && want->dim[d] != values->dim[d])
      return INVALID("Shape mismatch: expected values dim %d to be %lld, got %lld", d,
                     (long long)want->dim[d], (long long)values->dim[d]);
  return NULL;
}

situ_status accumulator_rows_check(const struct accumulator *accumulator,
                                   const struct sparse_gradient *gradient) {
  TRY(check_form(gradient));
  if (gradient->shape) TRY(check_dense_shape(&accumulator->shape, gradient->shape));
  TRY(check_indices(&accumulator->shape, gradient));
  TRY(check_values(&accumulator->shape, &gradient->values->shape, false));
  if (accumulator->count)
    TRY(check_values(&accumulator->rows.shape, &gradient->values->shape, true));
  return NULL;
}

/* Sums */

/* A row of a gradient: its index, and its position among the values. */
struct row {
  int64_t index, position;
};

static int compare_rows(const void *a, const void *b) {
  const struct row *x = a, *y = b;
  if (x->index != y->index) return x->index < y->index ? -1 : 1;
  return (x->position > y->position) - (x->position < y->position);
}

static situ_status sort_rows(const struct sparse_gradient *gradient, struct row **out) {
  const int64_t n = gradient->indices->shape.dim[0];
  struct row *rows = calloc((size_t)n + 1, sizeof *rows);
  if (!rows) return NO_MEMORY();
  for (int64_t i = 0; i < n; i++) rows[i] = (struct row){index_at(gradient, i), i};
  qsort(rows, (size_t)n, sizeof *rows, compare_rows);
  *out = rows;
  return NULL;
}

/* Appends a row, or adds it to the last one if that has the same index. `counts`: of how many
 * gradients it is; 0 for a row that repeats an index of the same gradient. */
static void append(struct sparse_rows *to, situ_type type, int64_t index, int64_t counts,
                   const char *values) {
  const int64_t elements = (int64_t)(to->row_bytes / situ_type_size(type));
  if (to->n && to->indices[to->n - 1] == index) {
    to->counts[to->n - 1] += counts;
    accumulator_add(type, to->values + (size_t)(to->n - 1) * to->row_bytes, values, elements);
    return;
  }
  to->indices[to->n] = index;
  to->counts[to->n] = counts;
  if (to->row_bytes) memcpy(to->values + (size_t)to->n * to->row_bytes, values, to->row_bytes);
  to->n++;
}

static situ_status allocate(struct sparse_rows *rows, int64_t n) {
  rows->indices = calloc((size_t)n + 1, sizeof *rows->indices);
  rows->counts = calloc((size_t)n + 1, sizeof *rows->counts);
  rows->values = calloc((size_t)n + 1, rows->row_bytes + 1);
  return rows->indices && rows->counts && rows->values ? NULL : NO_MEMORY();
}

static void merge(const struct accumulator *accumulator, const struct row *rows, int64_t n,
                  const char *values, struct sparse_rows *to) {
  const struct sparse_rows *old = &accumulator->rows;
  int64_t i = 0, j = 0;
  while (i < old->n || j < n) {
    if (j == n || (i < old->n && old->indices[i] <= rows[j].index)) {
      append(to, accumulator->type, old->indices[i], old->counts[i],
             old->values + (size_t)i * to->row_bytes);
      i++;
      continue;
    }
    const bool again = j && rows[j - 1].index == rows[j].index;
    append(to, accumulator->type, rows[j].index, !again,
           values + (size_t)rows[j].position * to->row_bytes);
    j++;
  }
}

situ_status accumulator_rows_add(struct accumulator *accumulator,
                                 const struct sparse_gradient *gradient) {
  const int64_t n = gradient->indices->shape.dim[0];
  struct sparse_rows merged = {.shape = gradient->values->shape};
  struct row *rows = NULL;
  merged.row_bytes = situ_type_size(accumulator->type);
  for (int d = 1; d < merged.shape.rank; d++) merged.row_bytes *= (size_t)merged.shape.dim[d];
  TRY(sort_rows(gradient, &rows));
  const situ_status status = allocate(&merged, accumulator->rows.n + n);
  if (status) {
    accumulator_rows_clear(&merged);
  } else {
    merge(accumulator, rows, n, situ_tensor_data(gradient->values), &merged);
    accumulator_rows_clear(&accumulator->rows);
    accumulator->rows = merged;
  }
  free(rows);
  return status;
}
