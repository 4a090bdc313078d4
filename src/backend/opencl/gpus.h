/* SPDX-License-Identifier: Apache-2.0
 * gpus.h: the OpenCL devices of the machine: which of them count as GPUs, and what they say of
 * themselves.
 */
#ifndef SITU_BACKEND_OPENCL_GPUS_H
#define SITU_BACKEND_OPENCL_GPUS_H

#include "backend/opencl/cl.h"
#include "device/backend.h"

/* A device of the process, whatever handles of it are open. */
struct gpu {
  cl_device id;
  struct device_info info;
  char label[128];  /* for errors */
  char driver[128]; /* versions of driver and device: compiled kernels belong to one */
  size_t largest;   /* buffer */
  uint64_t used;    /* bytes of its memory; guarded by worker_lock */
};

/* Finds the devices: `which` is SITU_OPENCL_DEVICES: NULL or "" for GPUs, "all", "none", a comma
 * list of numbers, or a part of the name of a device or driver. */
situ_status gpus_find(const char *which, int *count, const char **why) SITU_MUST_USE;

/* A device that was found; NULL where the number is wrong. */
struct gpu *gpus_get(int index);

#endif
