/* SPDX-License-Identifier: Apache-2.0
 * list_elements.h: elements of tensor lists: stacked into a tensor, and split from one. */
#ifndef SITU_OPS_ARRAY_LIST_ELEMENTS_H
#define SITU_OPS_ARRAY_LIST_ELEMENTS_H

#include "schema/compute.h"
#include "schema/tensor_list.h"

/* A shape with one more leading dimension; without the first one. */
situ_shape list_elements_stacked(int64_t count, const situ_shape *shape);
situ_shape list_elements_row(const situ_shape *shape);

/* Whether an element is set. */
situ_status list_elements_check(const struct tensor_list *list, int64_t index) SITU_MUST_USE;

/* Whether an element, which may be NULL, has the type that an op reads. */
situ_status list_elements_check_type(const situ_tensor *item, situ_type type) SITU_MUST_USE;

/* The shape of an element, whether or not it is set; `expected` is what the caller knows of it. */
situ_status list_elements_shape(const struct tensor_list *list, int index,
                                const situ_shape *expected, situ_shape *out) SITU_MUST_USE;

/* Some elements of a list; `indices` NULL: all. */
struct list_elements {
  const struct tensor_list *list;
  const int64_t *indices;
  int count;
  situ_shape expected;         /* of an element */
  const int64_t *leading_dims; /* of elements that are not set, for concatenation */
  int leading_count;           /* 0: their first dimension is that of `expected` */
};

/* Stacks elements of one shape. */
situ_status list_elements_stack(const struct list_elements *items, situ_type type,
                                situ_tensor **out) SITU_MUST_USE;

/* Concatenates elements along the first dimension; stores their first dimensions in `lengths`. */
situ_status list_elements_join(const struct list_elements *items, situ_type type, int64_t *lengths,
                               situ_tensor **out) SITU_MUST_USE;

/* Adds tensors of one shape in host memory. */
situ_status list_elements_add(situ_tensor *const *tensors, int count,
                              situ_tensor **out) SITU_MUST_USE;

/* Zeros in host memory. */
situ_status list_elements_zeros(situ_type type, situ_shape shape, situ_tensor **out) SITU_MUST_USE;

/* Makes list elements of the rows of a tensor: row i becomes element `indices[i]` (NULL: i), or
 * with `lengths` an element is that many rows. */
situ_status list_elements_cut(situ_tensor *tensor, const int64_t *indices, const int64_t *lengths,
                              int count, struct tensor_list *list) SITU_MUST_USE;

#endif
