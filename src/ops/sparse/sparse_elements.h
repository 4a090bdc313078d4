/* SPDX-License-Identifier: Apache-2.0
 * sparse_elements.h: elements of sparse tensors of any numeric type, ordered by their indices. */
#ifndef SITU_OPS_SPARSE_SPARSE_ELEMENTS_H
#define SITU_OPS_SPARSE_SPARSE_ELEMENTS_H

#include "schema/compute.h"

/* A number of any type: long double holds double, int64 and uint64 exactly. */
struct sparse_number {
  long double real, imag;
};

struct sparse_number sparse_number_at(const situ_tensor *tensor, int64_t index);

/* Integers wrap. */
void sparse_number_store(situ_type type, void *data, int64_t index, struct sparse_number value);

/* A sparse tensor: the three tensors of an op's inputs, checked. */
struct sparse {
  const situ_tensor *values;
  const int64_t *indices, *dims;
  int64_t count;
  int rank;
};

/* Reads inputs first ... first + 2. Fails unless their shapes fit, the rank is at most
 * SITU_MAX_RANK, and the dimensions are not negative and have a product of at most INT64_MAX. */
situ_status sparse_read(const struct compute *compute, int first, struct sparse *out) SITU_MUST_USE;

/* Whether the indices of element `i` are within the dimensions; of those in `mask` only. */
bool sparse_is_inside(const struct sparse *sparse, int64_t i, unsigned mask);

/* An element and its position among the dimensions of a mask, in row-major order. */
struct sparse_entry {
  int64_t key, at;
};

/* The entries of a sparse tensor with masked indices within the dimensions, ordered by key and then
 * by position; NULL on failure. The caller frees them. */
situ_status sparse_sort(const struct sparse *sparse, unsigned mask,
                        struct sparse_entry **out) SITU_MUST_USE;

#endif
