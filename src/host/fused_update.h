/* SPDX-License-Identifier: Apache-2.0
 * fused_update.h: several element-wise kernels fused into one call, which processes the elements
 * block by block, so that intermediate values stay in the cache.
 *
 * Its arguments are the number of kernels and, for each, a header of FUSED_UPDATE_HEADER integers
 * (FUSED_UPDATE_KERNEL ...) followed by the kernel's arguments. Temporaries have no memory: their
 * arguments are indices below FUSED_UPDATE_MAX_TEMPS. */
#ifndef SITU_HOST_FUSED_UPDATE_H
#define SITU_HOST_FUSED_UPDATE_H

#include "device/backend.h"

enum {
  FUSED_UPDATE_MAX_TEMPS = 4,
  FUSED_UPDATE_MAX_ARGS = 24
}; /* temporaries of a call, arguments of a kernel */

/* Header of a kernel: the kernel, number of arguments, bit masks of element-wise arguments and of
 * temporaries, element size in bytes. */
enum {
  FUSED_UPDATE_KERNEL,
  FUSED_UPDATE_COUNT,
  FUSED_UPDATE_ELEMENTWISE,
  FUSED_UPDATE_TEMPS,
  FUSED_UPDATE_SIZE,
  FUSED_UPDATE_HEADER
};

extern const struct kernel fused_update_kernel;

/* Copies elements: source, destination, element size in bytes. */
host_kernel fused_update_copy;

/* Returns the host kernel of a launch for FUSED_UPDATE_KERNEL; 0 if there is none. */
int64_t fused_update_kernel_id(const struct launch *launch);

#endif
