/* SPDX-License-Identifier: Apache-2.0
 * modules.h: the compiled kernels of a GPU; a module is one kernel for one element type. Machine
 * code is preferred, which needs no compilation by the driver and works with an NVRTC newer than
 * the driver. PTX is used for GPUs newer than NVRTC and for drivers that reject machine code. */
#ifndef SITU_BACKEND_CUDA_MODULES_H
#define SITU_BACKEND_CUDA_MODULES_H

#include <pthread.h>

#include "backend/cuda/cards.h"
#include "backend/cuda/compiler.h"

/* A kernel for one element type. */
struct loaded_kernel {
  struct loaded_kernel *next;
  const struct kernel *kernel;
  const char *type_name; /* type name in the source */
  cuda_module module;
  cuda_function function;
};

struct modules {
  const struct card *card;
  const struct compiler *compiler; /* selected on first use */
  bool refuses_binaries;           /* the driver accepts only PTX */
  pthread_mutex_t lock;
  struct loaded_kernel *list;
};

void modules_begin(struct modules *modules, const struct card *card);
/* The context must be current. */
void modules_end(struct modules *modules);

/* Returns a kernel, compiled on first use or read from the on-disk cache. The context must be
 * current. Unimplemented if it does not support the type. */
situ_status modules_kernel(struct modules *modules, const struct kernel *kernel, situ_type type,
                           cuda_function *out) SITU_MUST_USE;

#endif
