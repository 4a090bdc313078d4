/* SPDX-License-Identifier: Apache-2.0
 * reduce.h: reduces arrays of every element type. */
#ifndef SITU_CLUSTER_REDUCE_H
#define SITU_CLUSTER_REDUCE_H

#include "base/base.h"
#include "situ/cluster.h"

/* to[i] = a[i] with b[i], for MEAN their sum; `to` may be either. */
void reduce_elements(void *to, const void *a, const void *b, int64_t count, situ_type type,
                     situ_reduce_op reduction);

/* data[i] / by: what a mean has to do at the end. */
void reduce_divide(void *data, int64_t count, situ_type type, int by);

/* InvalidArgument of a type that cannot be reduced. */
situ_status reduce_check(situ_type type, situ_reduce_op reduction) SITU_MUST_USE;

#endif
