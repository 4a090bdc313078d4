/* SPDX-License-Identifier: Apache-2.0
 * fused_update.h: several element-wise kernels fused into one call, which goes over the elements
 * once, block by block, so that what one kernel writes the next one finds in the cache.
 *
 * Its arguments are the number of kernels and, for each, FUSED_UPDATE_HEADER numbers
 * (FUSED_UPDATE_KERNEL ...) and then the kernel's own arguments. Values that live inside of the
 * sweep only have no memory: their arguments are numbers below FUSED_UPDATE_MAX_TEMPS. */
#ifndef SITU_HOST_FUSED_UPDATE_H
#define SITU_HOST_FUSED_UPDATE_H

#include "device/backend.h"

enum {
  FUSED_UPDATE_MAX_TEMPS = 4,
  FUSED_UPDATE_MAX_ARGS = 24
}; /* the most values inside, and arguments of a kernel */

/* What stands in front of a kernel's arguments: the kernel, how many arguments there are, which of
 * them have an element for each item, which are values inside, and the bytes of an element. */
enum {
  FUSED_UPDATE_KERNEL,
  FUSED_UPDATE_COUNT,
  FUSED_UPDATE_ELEMENTWISE,
  FUSED_UPDATE_TEMPS,
  FUSED_UPDATE_SIZE,
  FUSED_UPDATE_HEADER
};

extern const struct kernel fused_update_kernel;

/* Copies elements: IN, OUT, bytes of an element. */
host_kernel fused_update_copy;

/* The host kernel of a launch as a number, for FUSED_UPDATE_KERNEL; 0: it has none. */
int64_t fused_update_kernel_id(const struct launch *launch);

#endif
