/* SPDX-License-Identifier: Apache-2.0
 * items.h: elements of lists of tensors: taken together to a tensor, and cut out of one. */
#ifndef SITU_OPS_ITEMS_H
#define SITU_OPS_ITEMS_H

#include "schema/compute.h"
#include "schema/series.h"

/* A shape with one more dimension in front; without the first one. */
situ_shape items_stacked(int64_t count, const situ_shape *shape);
situ_shape items_row(const situ_shape *shape);

/* Whether a list has an element of that number. */
situ_status items_check(const struct series *list, int64_t index) SITU_MUST_USE;

/* The shape of an element, also of one that is not there; `said` is what else is known of it. */
situ_status items_shape(const struct series *list, int index, const situ_shape *said,
                        situ_shape *out) SITU_MUST_USE;

/* Some elements of a list; `indices` NULL: all. */
struct items {
  const struct series *list;
  const int64_t *indices;
  int count;
  situ_shape said; /* of an element */
};

/* Elements of one shape, stacked. */
situ_status items_stack(const struct items *items, situ_type type, situ_tensor **out) SITU_MUST_USE;

/* Elements one behind another along their first dimension, which `lengths` gets. */
situ_status items_join(const struct items *items, situ_type type, int64_t *lengths,
                       situ_tensor **out) SITU_MUST_USE;

/* The sum of tensors of one shape, in the host. */
situ_status items_add(situ_tensor *const *tensors, int count, situ_tensor **out) SITU_MUST_USE;

/* Zeros, in the host. */
situ_status items_zeros(situ_type type, situ_shape shape, situ_tensor **out) SITU_MUST_USE;

/* Rows of a tensor become elements of a list: row i becomes element `indices[i]` (NULL: i). With
 * `lengths` an element is that many rows. */
situ_status items_cut(situ_tensor *tensor, const int64_t *indices, const int64_t *lengths,
                      int count, struct series *list) SITU_MUST_USE;

#endif
