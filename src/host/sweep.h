/* SPDX-License-Identifier: Apache-2.0
 * sweep.h: several element-wise kernels as one call: it goes over the elements once, block by
 * block, so that what one kernel writes the next one finds in the cache.
 *
 * Its arguments are the number of kernels and, for each, SWEEP_HEAD numbers (SWEEP_KERNEL ...) and
 * then the kernel's own arguments. Values that live inside of the sweep only have no memory: their
 * arguments are numbers below SWEEP_TEMPS. */
#ifndef SITU_HOST_SWEEP_H
#define SITU_HOST_SWEEP_H

#include "device/backend.h"

enum { SWEEP_TEMPS = 4, SWEEP_ARGS = 24 }; /* the most values inside, and arguments of a kernel */

/* What stands in front of a kernel's arguments: the kernel, how many arguments there are, which of
 * them have an element for each item, which are values inside, and the bytes of an element. */
enum { SWEEP_KERNEL, SWEEP_COUNT, SWEEP_EACH, SWEEP_INSIDE, SWEEP_SIZE, SWEEP_HEAD };

extern const struct kernel sweep_kernel;

/* Copies elements: IN, OUT, bytes of an element. */
host_kernel sweep_copy;

/* The host kernel of a launch as a number, for SWEEP_KERNEL; 0: it has none. */
int64_t sweep_number(const struct launch *launch);

#endif
