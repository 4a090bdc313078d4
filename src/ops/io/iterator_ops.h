/* SPDX-License-Identifier: Apache-2.0
 * iterator_ops.h: interface between the iterator ops and data/, which fills the table. */
#ifndef SITU_OPS_IO_ITERATOR_OPS_H
#define SITU_OPS_IO_ITERATOR_OPS_H

#include "schema/op_def.h"

enum {
  START_ONCE = 1,   /* if it has not begun already */
  START_SHARED = 2, /* iterators of the same handle share the state of datasets (orders, caches) */
};

/* As tf.data.experimental.ExternalStatePolicy. */
enum state_policy { STATE_WARN, STATE_IGNORE, STATE_FAIL };

/* Returns whether an op keeps a function of elements from being repeated: it is stateful, and does
 * more than print, check or refer to datasets. */
bool iterator_op_has_state(const struct op_def *op);

struct iterator_table {
  const struct resource_kind *kind;
  /* Creates an iterator without a dataset. */
  situ_status (*create)(void *context, struct resource **out);
  /* Starts at the first element of a dataset (a handle). */
  situ_status (*start)(struct resource *iterator, situ_tensor *dataset,
                       situ_tensor *const *arguments, int n, unsigned how);
  /* A dataset and its arguments as one dataset. */
  situ_status (*bind)(situ_tensor *dataset, situ_tensor *const *arguments, int n,
                      situ_tensor **out);
  situ_status (*count)(situ_tensor *dataset, int64_t *out);
  /* Returns the next element; the caller's services can cancel it. */
  situ_status (*next)(struct resource *iterator, const struct services *services,
                      situ_tensor **parts, int n, bool *end);
  /* Save the position as a vector, and continue at a saved one. `policy`: what to do about
   * functions of elements that depend on state outside of the iterator. */
  situ_status (*save)(struct resource *iterator, enum state_policy policy, situ_tensor **out);
  situ_status (*restore)(struct resource *iterator, const situ_tensor *saved);
};
extern const struct iterator_table iterator_table;

#endif
