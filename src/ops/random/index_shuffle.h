/* SPDX-License-Identifier: Apache-2.0
 * index_shuffle.h: the shape and the values of RandomIndexShuffle. */
#ifndef SITU_OPS_RANDOM_INDEX_SHUFFLE_H
#define SITU_OPS_RANDOM_INDEX_SHUFFLE_H

#include "schema/compute.h"

/* Checks the rounds; the output is a scalar unless an input has a dimension more than that takes.
 */
situ_status index_shuffle_shape(struct call *call) SITU_MUST_USE;

/* Finds the place of each index. */
situ_status index_shuffle_compute(struct compute *compute) SITU_MUST_USE;

#endif
