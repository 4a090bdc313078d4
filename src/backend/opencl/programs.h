/* SPDX-License-Identifier: Apache-2.0
 * programs.h: the compiled kernels of an OpenCL device, cached in memory and on disk; a program is
 * one kernel for one element type.
 */
#ifndef SITU_BACKEND_OPENCL_PROGRAMS_H
#define SITU_BACKEND_OPENCL_PROGRAMS_H

#include <pthread.h>

#include "backend/opencl/gpus.h"

/* A kernel compiled for one element type. */
struct compiled {
  struct compiled *next;
  const struct kernel *kernel;
  const char *type_name; /* from kernel_source_type_name */
  cl_program program;
};

/* Programs of an open device. */
struct programs {
  const struct gpu *gpu;
  cl_context context;
  pthread_mutex_t lock;
  struct compiled *list;
};

/* Initializes an empty cache; releases all programs. */
void programs_begin(struct programs *programs, const struct gpu *gpu, cl_context context);
void programs_end(struct programs *programs);

/* Creates a kernel object, which the caller releases. Unimplemented if the device or the kernel
 * does not support the type. */
situ_status programs_kernel(struct programs *programs, const struct kernel *kernel, situ_type type,
                            cl_kernel *out) SITU_MUST_USE;

#endif
