/* SPDX-License-Identifier: Apache-2.0
 * tensor_rows.h: concatenates and slices host tensors along their first dimension. */
#ifndef SITU_OPS_ARRAY_TENSOR_ROWS_H
#define SITU_OPS_ARRAY_TENSOR_ROWS_H

#include "situ/tensor.h"

/* Concatenates tensors of one type whose shapes differ in the first dimension only, and appends
 * copies of the first row up to `rows` rows, if there is one. */
situ_status tensor_rows_concat(situ_tensor *const *tensors, int64_t n, int64_t rows,
                               situ_tensor **out) SITU_MUST_USE;

/* Copies the rows begin ... end - 1 of a tensor. */
situ_status tensor_rows_slice(const situ_tensor *tensor, int64_t begin, int64_t end,
                              situ_tensor **out) SITU_MUST_USE;

#endif
