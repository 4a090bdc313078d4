/* SPDX-License-Identifier: Apache-2.0
 * row_accumulator.c: see row_accumulator.h. */
#include "ops/math/row_accumulator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/number.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

static bool is_whole(situ_type type) { return !type_is_real(type) && !type_is_complex(type); }

/* Numbers of a row: complex elements have two. */
static int64_t numbers(const struct row_accumulator *acc) {
  return type_is_complex(acc->type) ? 2 * acc->size : acc->size;
}

situ_status row_accumulator_open(struct row_accumulator *acc, situ_type type,
                                 enum row_reduction reduction, int64_t size) {
  *acc = (struct row_accumulator){.type = type, .reduction = reduction, .size = size};
  const size_t bytes = (size_t)(numbers(acc) ? numbers(acc) : 1) * sizeof(double);
  acc->total = malloc(bytes);
  acc->row = malloc(bytes);
  return acc->total && acc->row ? NULL : NO_MEMORY();
}

void row_accumulator_close(struct row_accumulator *acc) {
  free(acc->total);
  free(acc->row);
}

static void load_reals(situ_type type, const void *data, int64_t from, int64_t n, double *out) {
  const situ_type part = type_real(type);
  if (part == SITU_FLOAT)
    for (int64_t i = 0; i < n; i++) out[i] = (double)((const float *)data)[from + i];
  else if (part == SITU_DOUBLE)
    memcpy(out, (const double *)data + from, (size_t)n * sizeof *out);
  else
    for (int64_t i = 0; i < n; i++) out[i] = number_at(part, data, from + i);
}

static void load(const struct row_accumulator *acc, const void *data, int64_t row, void *out) {
  const int64_t n = numbers(acc);
  if (is_whole(acc->type))
    for (int64_t i = 0; i < n; i++)
      ((int64_t *)out)[i] = number_integer_at(acc->type, data, row * n + i);
  else
    load_reals(acc->type, data, row * n, n, out);
}

static void add_reals(enum row_reduction reduction, double *a, const double *b, int64_t n) {
  if (reduction == ROWS_SUM)
    for (int64_t i = 0; i < n; i++) a[i] += b[i];
  else if (reduction == ROWS_PROD)
    for (int64_t i = 0; i < n; i++) a[i] *= b[i];
  else if (reduction == ROWS_MIN)
    for (int64_t i = 0; i < n; i++) a[i] = b[i] < a[i] || isnan(b[i]) ? b[i] : a[i];
  else
    for (int64_t i = 0; i < n; i++) a[i] = b[i] > a[i] || isnan(b[i]) ? b[i] : a[i];
}

static void multiply_complex(double *a, const double *b, int64_t n) {
  for (int64_t i = 0; i < n; i += 2) {
    const double real = a[i] * b[i] - a[i + 1] * b[i + 1];
    a[i + 1] = a[i] * b[i + 1] + a[i + 1] * b[i];
    a[i] = real;
  }
}

static bool is_less(situ_type type, uint64_t a, uint64_t b) {
  return type == SITU_UINT64 ? a < b : (int64_t)a < (int64_t)b;
}

static void add_integers(const struct row_accumulator *acc, uint64_t *a, const uint64_t *b) {
  const int64_t n = numbers(acc);
  if (acc->reduction == ROWS_SUM)
    for (int64_t i = 0; i < n; i++) a[i] += b[i];
  else if (acc->reduction == ROWS_PROD)
    for (int64_t i = 0; i < n; i++) a[i] *= b[i];
  else if (acc->reduction == ROWS_MIN)
    for (int64_t i = 0; i < n; i++) a[i] = is_less(acc->type, b[i], a[i]) ? b[i] : a[i];
  else
    for (int64_t i = 0; i < n; i++) a[i] = is_less(acc->type, a[i], b[i]) ? b[i] : a[i];
}

void row_accumulator_add(struct row_accumulator *acc, const void *data, int64_t row) {
  load(acc, data, row, acc->rows ? acc->row : acc->total);
  if (!acc->rows++) return;
  if (is_whole(acc->type))
    add_integers(acc, acc->total, acc->row);
  else if (type_is_complex(acc->type) && acc->reduction == ROWS_PROD)
    multiply_complex(acc->total, acc->row, numbers(acc));
  else
    add_reals(acc->reduction, acc->total, acc->row, numbers(acc));
}

static void store_integers(const struct row_accumulator *acc, int64_t divisor, void *data,
                           int64_t row) {
  const size_t size = situ_type_size(acc->type);
  const uint64_t *total = acc->total;
  for (int64_t i = 0; i < acc->size; i++) {
    const uint64_t value = acc->type == SITU_UINT64 ? total[i] / (uint64_t)divisor
                           : divisor == 1           ? total[i]
                                                    : (uint64_t)((int64_t)total[i] / divisor);
    /* little-endian machines only */
    memcpy((char *)data + (size_t)(row * acc->size + i) * size, &value, size);
  }
}

void row_accumulator_store(struct row_accumulator *acc, double divisor, void *data, int64_t row) {
  const int64_t n = numbers(acc);
  const situ_type part = type_real(acc->type);
  const double *total = acc->total;
  acc->rows = 0;
  if (is_whole(acc->type))
    store_integers(acc, (int64_t)divisor, data, row);
  else if (part == SITU_FLOAT)
    for (int64_t i = 0; i < n; i++) ((float *)data)[row * n + i] = (float)(total[i] / divisor);
  else
    for (int64_t i = 0; i < n; i++) number_store(part, data, row * n + i, total[i] / divisor);
}
