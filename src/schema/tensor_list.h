/* SPDX-License-Identifier: Apache-2.0
 * tensor_list.h: lists of tensors, the contents of a variant. Implements TensorArray (TensorList
 * ops) and tapes, the saved forward values of functions.
 *
 * A list is immutable once a tensor holds it; ops copy the pointers. An unset element counts as
 * zeros. */
#ifndef SITU_SCHEMA_TENSOR_LIST_H
#define SITU_SCHEMA_TENSOR_LIST_H

#include "schema/resource.h"

struct tensor_list {
  struct resource head;
  int count;
  struct tensor_list *like; /* unset elements have the shapes of this list; or NULL */
  situ_tensor *items[];     /* NULL: not set */
};

/* Creates a list of unset elements. */
situ_status tensor_list_create(int count, struct tensor_list **out) SITU_MUST_USE;

/* Copies a list, with `count` elements. */
situ_status tensor_list_copy(const struct tensor_list *list, int count,
                             struct tensor_list **out) SITU_MUST_USE;

/* Sets an element of a list that no tensor holds yet; consumes the reference. */
void tensor_list_set(struct tensor_list *list, int index, situ_tensor *item);

/* Creates the tensor of a list; consumes the reference, also on failure. */
situ_status tensor_list_tensor(struct tensor_list *list, situ_tensor **out) SITU_MUST_USE;

/* The list of a tensor, borrowed from it. */
situ_status tensor_list_of(const situ_tensor *tensor, struct tensor_list **out) SITU_MUST_USE;

/* Releases a reference; NULL is allowed. */
void tensor_list_release(struct tensor_list *list);

/* Adds an element to an array of them in which `*count` are, with a capacity of `*capacity`. */
situ_status tensor_list_grow(situ_tensor ***items, int *count, int *capacity,
                             situ_tensor *item) SITU_MUST_USE;

#endif
