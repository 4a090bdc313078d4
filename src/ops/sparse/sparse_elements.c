/* SPDX-License-Identifier: Apache-2.0
 * sparse_elements.c: reads, checks and sorts the elements of sparse tensors. */
#include "ops/sparse/sparse_elements.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "tensor/number.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

struct sparse_number sparse_number_at(const situ_tensor *tensor, int64_t index) {
  const void *data = situ_tensor_data(tensor);
  const situ_type type = tensor->type, part = type_real(type);
  if (type_is_complex(type))
    return (struct sparse_number){number_at(part, data, 2 * index),
                                  number_at(part, data, 2 * index + 1)};
  if (type_is_real(type)) return (struct sparse_number){number_at(type, data, index), 0};
  const int64_t whole = number_integer_at(type, data, index);
  return (struct sparse_number){type == SITU_UINT64 ? (long double)(uint64_t)whole : whole, 0};
}

void sparse_number_store(situ_type type, void *data, int64_t index, struct sparse_number value) {
  const situ_type part = type_real(type);
  const size_t size = situ_type_size(type);
  if (type_is_complex(type)) {
    number_store(part, data, 2 * index, (double)value.real);
    number_store(part, data, 2 * index + 1, (double)value.imag);
  } else if (type_is_real(type)) {
    number_store(type, data, index, (double)value.real);
  } else {
    const long double rest = fmodl(truncl(value.real), 0x1p64L);
    const uint64_t bits = rest < 0 ? 0 - (uint64_t)-rest : (uint64_t)rest;
    memcpy((char *)data + (size_t)index * size, &bits, size); /* little-endian machines only */
  }
}

static situ_status check_dims(const struct sparse *sparse) {
  int64_t product = 1;
  for (int d = 0; d < sparse->rank; d++) {
    if (sparse->dims[d] < 0)
      return INVALID("Expected shape dimensions to be non-negative, got %lld",
                     (long long)sparse->dims[d]);
    if (__builtin_mul_overflow(product, sparse->dims[d] ? sparse->dims[d] : 1, &product))
      return INVALID("Shape would have more than 2**63 - 1 elements");
  }
  return NULL;
}

situ_status sparse_read(const struct compute *compute, int first, struct sparse *out) {
  const situ_tensor *indices = compute->in[first], *dims = compute->in[first + 2];
  out->values = compute->in[first + 1];
  if (indices->shape.rank != 2 || out->values->shape.rank != 1 || dims->shape.rank != 1)
    return INVALID(
        "A sparse tensor has a matrix of indices, a vector of values and a vector shape");
  if (indices->shape.dim[1] != dims->shape.dim[0])
    return INVALID("Index rank (%lld) and shape rank (%lld) do not match",
                   (long long)indices->shape.dim[1], (long long)dims->shape.dim[0]);
  if (indices->shape.dim[0] != out->values->shape.dim[0])
    return INVALID("Number of elements in indices (%lld) and values (%lld) do not match",
                   (long long)indices->shape.dim[0], (long long)out->values->shape.dim[0]);
  if (dims->shape.dim[0] > SITU_MAX_RANK)
    return INVALID("A tensor has at most %d dimensions", (int)SITU_MAX_RANK);
  out->count = indices->shape.dim[0];
  out->rank = (int)dims->shape.dim[0];
  out->indices = situ_tensor_data(indices);
  out->dims = situ_tensor_data(dims);
  return check_dims(out);
}

bool sparse_is_inside(const struct sparse *sparse, int64_t i, unsigned mask) {
  for (int d = 0; d < sparse->rank; d++) {
    const int64_t at = sparse->indices[i * sparse->rank + d];
    if (mask >> d & 1 && (at < 0 || at >= sparse->dims[d])) return false;
  }
  return true;
}

static int compare_entries(const void *a, const void *b, void *context) {
  (void)context;
  const struct sparse_entry *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

situ_status sparse_sort(const struct sparse *sparse, unsigned mask, struct sparse_entry **out) {
  struct sparse_entry *entries = calloc((size_t)sparse->count + 1, sizeof *entries);
  *out = NULL;
  if (!entries) return NO_MEMORY();
  for (int64_t i = 0; i < sparse->count; i++) {
    int64_t key = 0;
    for (int d = 0; d < sparse->rank; d++)
      if (mask >> d & 1) key = key * sparse->dims[d] + sparse->indices[i * sparse->rank + d];
    entries[i] = (struct sparse_entry){key, i};
  }
  const situ_status status =
      sort_array(entries, (size_t)sparse->count, sizeof *entries, compare_entries, NULL);
  if (status)
    free(entries);
  else
    *out = entries;
  return status;
}
