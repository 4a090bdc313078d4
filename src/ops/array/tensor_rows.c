/* SPDX-License-Identifier: Apache-2.0
 * tensor_rows.c: concatenates and slices host tensors along their first dimension. */
#include "ops/array/tensor_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

static int64_t row_size(const situ_tensor *tensor) {
  int64_t count = 1;
  for (int d = 1; d < tensor->shape.rank; d++) count *= tensor->shape.dim[d];
  return count;
}

/* Appends the rows begin ... end - 1 of a tensor to elements or strings; *at counts elements. */
static void append(const situ_tensor *tensor, int64_t begin, int64_t end, char *data,
                   situ_string *strings, int64_t *at) {
  const int64_t row = row_size(tensor), n = (end - begin) * row;
  const size_t bytes = situ_type_size(tensor->type);
  for (int64_t i = 0; strings && i < n; i++)
    strings[*at + i] = situ_tensor_string(tensor, begin * row + i);
  if (!strings && n)
    memcpy(data + (size_t)*at * bytes,
           (const char *)situ_tensor_data(tensor) + (size_t)(begin * row) * bytes,
           (size_t)n * bytes);
  *at += n;
}

static situ_status check_rows(situ_tensor *const *tensors, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    situ_shape a = tensors[0]->shape, b = tensors[i]->shape;
    if (a.rank < 1 || b.rank < 1) return INVALID("Batched tensors must have at least 1 dimension");
    a.dim[0] = b.dim[0] = 0;
    if (tensors[0]->type != tensors[i]->type || !shape_equal(&a, &b))
      return INVALID("Dimensions 1 and on of batched tensors must be equal");
  }
  return NULL;
}

/* A tensor of `rows` rows like those of the first tensor; `fill` writes its elements. */
struct parts {
  situ_tensor *const *tensors;
  int64_t n, begin, end, rows; /* begin and end: of every tensor; end < 0: all rows */
};

static void fill(const struct parts *parts, char *data, situ_string *strings) {
  const situ_tensor *first = NULL; /* a row to pad with */
  int64_t at = 0;
  for (int64_t i = 0; i < parts->n; i++) {
    const int64_t end = parts->end < 0 ? parts->tensors[i]->shape.dim[0] : parts->end;
    append(parts->tensors[i], parts->begin, end, data, strings, &at);
    if (!first && parts->tensors[i]->shape.dim[0]) first = parts->tensors[i];
  }
  while (first && at < parts->rows * row_size(first)) append(first, 0, 1, data, strings, &at);
}

static situ_status make(const struct parts *parts, situ_tensor **out) {
  situ_shape shape = parts->tensors[0]->shape;
  shape.dim[0] = parts->rows;
  if (parts->tensors[0]->type != SITU_STRING) {
    TRY(tensor_create_raw(parts->tensors[0]->type, shape, out));
    fill(parts, (*out)->buffer->host, NULL);
    return NULL;
  }
  situ_string *strings = calloc((size_t)situ_shape_count(shape) + 1, sizeof *strings);
  if (!strings) return NO_MEMORY();
  fill(parts, NULL, strings);
  const situ_status status = situ_tensor_create_strings(shape, strings, out);
  free(strings);
  return status;
}

situ_status tensor_rows_concat(situ_tensor *const *tensors, int64_t n, int64_t rows,
                               situ_tensor **out) {
  TRY(check_rows(tensors, n));
  int64_t sum = 0;
  for (int64_t i = 0; i < n; i++) sum += tensors[i]->shape.dim[0];
  return make(&(struct parts){tensors, n, 0, -1, sum && sum < rows ? rows : sum}, out);
}

situ_status tensor_rows_slice(const situ_tensor *tensor, int64_t begin, int64_t end,
                              situ_tensor **out) {
  if (tensor->shape.rank < 1 || begin < 0 || end < begin || end > tensor->shape.dim[0])
    return INVALID("Rows %lld to %lld are not in the batch", (long long)begin, (long long)end);
  situ_tensor *const one = (situ_tensor *)(uintptr_t)tensor;
  return make(&(struct parts){&one, 1, begin, end, end - begin}, out);
}
