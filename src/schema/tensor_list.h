/* SPDX-License-Identifier: Apache-2.0
 * tensor_list.h: lists of tensors: what a variant holds. Arrays of a loop (TensorList...) are
 * lists, and so are tapes: what gradients need of a run of a function.
 *
 * A list does not change once it is in a tensor; the ops copy it, which costs a pointer per
 * element. An element that is not there counts as zeros. */
#ifndef SITU_SCHEMA_TENSOR_LIST_H
#define SITU_SCHEMA_TENSOR_LIST_H

#include "schema/resource.h"

struct tensor_list {
  struct resource head;
  int count;
  struct tensor_list *like; /* what is not there has the shape of the same element there; or NULL */
  situ_tensor *items[];     /* NULL: not there */
};

/* A list of that many elements, of which none is there. */
situ_status tensor_list_create(int count, struct tensor_list **out) SITU_MUST_USE;

/* The same elements, in a list of `count`. */
situ_status tensor_list_copy(const struct tensor_list *list, int count,
                             struct tensor_list **out) SITU_MUST_USE;

/* Sets an element of a list that is in no tensor yet; takes over the reference. */
void tensor_list_set(struct tensor_list *list, int index, situ_tensor *item);

/* The tensor of a list; takes over the reference, also on failure. */
situ_status tensor_list_tensor(struct tensor_list *list, situ_tensor **out) SITU_MUST_USE;

/* The list of a tensor, borrowed from it. */
situ_status tensor_list_of(const situ_tensor *tensor, struct tensor_list **out) SITU_MUST_USE;

/* Gives back a reference; NULL may be released. */
void tensor_list_release(struct tensor_list *list);

/* Adds an element to an array of them in which `*count` are, with room for `*room`. */
situ_status tensor_list_grow(situ_tensor ***items, int *count, int *room,
                             situ_tensor *item) SITU_MUST_USE;

#endif
