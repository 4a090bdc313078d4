/* SPDX-License-Identifier: Apache-2.0
 * gpus.h: enumerates the OpenCL devices that count as GPUs and queries their properties.
 */
#ifndef SITU_BACKEND_OPENCL_GPUS_H
#define SITU_BACKEND_OPENCL_GPUS_H

#include "backend/opencl/cl.h"
#include "device/backend.h"

/* A device of the machine, independent of open handles. */
struct gpu {
  cl_device id;
  struct device_info info;
  char label[128];  /* for errors */
  char driver[128]; /* versions of driver and device; part of the kernel cache key */
  size_t largest;   /* largest buffer in bytes */
  uint64_t used;    /* bytes allocated; guarded by worker_lock */
};

/* Lists the devices selected by `which` (SITU_OPENCL_DEVICES): NULL or "" for GPUs, "all", "none",
 * a comma list of indices, or part of a device or platform name. */
situ_status gpus_find(const char *which, int *count, const char **why) SITU_MUST_USE;

/* Returns a device; NULL if the index is out of range. */
struct gpu *gpus_get(int index);

#endif
