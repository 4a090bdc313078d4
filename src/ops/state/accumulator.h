/* SPDX-License-Identifier: Apache-2.0
 * accumulator.h: conditional accumulators of gradients, as resources. */
#ifndef SITU_OPS_STATE_ACCUMULATOR_H
#define SITU_OPS_STATE_ACCUMULATOR_H

#include "base/fork.h"
#include "schema/compute.h"

/* The rows of sparse gradients, sorted by index. */
struct sparse_rows {
  int64_t n;
  int64_t *indices;
  int64_t *counts; /* how many gradients have this row */
  char *values;    /* n rows of row_bytes */
  size_t row_bytes;
  situ_shape shape; /* of the values of a gradient; dim[0] has no meaning */
};

struct accumulator {
  struct resource head;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct fork_handler fork;
  situ_type type;
  situ_shape shape; /* of gradients; may be partly known */
  bool sparse, mean;
  int64_t step; /* gradients of earlier steps are dropped */
  int64_t count;
  situ_tensor *sum; /* of dense gradients, if count is not 0 */
  struct sparse_rows rows;
};

/* A sparse gradient: rows of a tensor. */
struct sparse_gradient {
  const situ_tensor *indices, *values, *shape; /* shape is NULL if it is not known */
};

/* Checks a sparse gradient against the shape of an accumulator and its rows. */
situ_status accumulator_rows_check(const struct accumulator *accumulator,
                                   const struct sparse_gradient *gradient) SITU_MUST_USE;

/* Adds a sparse gradient that was checked. */
situ_status accumulator_rows_add(struct accumulator *accumulator,
                                 const struct sparse_gradient *gradient) SITU_MUST_USE;

/* Frees the rows. */
void accumulator_rows_clear(struct sparse_rows *rows);

/* Adds n elements of a floating-point type. */
void accumulator_add(situ_type type, void *to, const void *from, int64_t n);

/* Divides n elements of a floating-point type. */
void accumulator_divide(situ_type type, void *data, int64_t n, int64_t by);

#endif
