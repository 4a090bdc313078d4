/* SPDX-License-Identifier: Apache-2.0
 * reduce.h: element-wise reductions of arrays of every element type. */
#ifndef SITU_CLUSTER_REDUCE_H
#define SITU_CLUSTER_REDUCE_H

#include "base/base.h"
#include "situ/cluster.h"

/* Computes to[i] = reduction(a[i], b[i]), for MEAN the sum; `to` may alias `a` or `b`. */
void reduce_elements(void *to, const void *a, const void *b, int64_t count, situ_type type,
                     situ_reduce_op reduction);

/* Divides by the number of ranks, which completes a mean. */
void reduce_divide(void *data, int64_t count, situ_type type, int by);

/* InvalidArgument if the type cannot be reduced. */
situ_status reduce_check(situ_type type, situ_reduce_op reduction) SITU_MUST_USE;

#endif
