/* SPDX-License-Identifier: Apache-2.0
 * programs.h: kernels compiled for an OpenCL device: once per process, and kept in files for the
 * next one.
 */
#ifndef SITU_BACKEND_OPENCL_PROGRAMS_H
#define SITU_BACKEND_OPENCL_PROGRAMS_H

#include <pthread.h>

#include "backend/opencl/gpus.h"

/* A kernel in one type, compiled. */
struct compiled {
  struct compiled *next;
  const struct kernel *kernel;
  const char *word; /* of the type, of kernel_source_type_name */
  cl_program program;
};

/* What was compiled for an open device. */
struct programs {
  const struct gpu *gpu;
  cl_context context;
  pthread_mutex_t lock;
  struct compiled *list;
};

/* Begins with nothing; gives everything back. */
void programs_begin(struct programs *programs, const struct gpu *gpu, cl_context context);
void programs_end(struct programs *programs);

/* A new kernel object, to be released by the caller. Unimplemented where the device or the kernel
 * lacks the type. */
situ_status programs_kernel(struct programs *programs, const struct kernel *kernel, situ_type type,
                            cl_kernel *out) SITU_MUST_USE;

#endif
