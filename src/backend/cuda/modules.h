/* SPDX-License-Identifier: Apache-2.0
 * modules.h: the compiled kernels of a device. */
#ifndef SITU_BACKEND_CUDA_MODULES_H
#define SITU_BACKEND_CUDA_MODULES_H

#include <pthread.h>

#include "backend/cuda/cards.h"
#include "backend/cuda/compiler.h"

/* A kernel in one form. */
struct loaded {
  struct loaded *next;
  const struct kernel *kernel;
  const char *word; /* of the type in the text */
  cuda_module module;
  cuda_function function;
};

struct modules {
  const struct card *card;
  const struct compiler *compiler; /* found at the first kernel */
  bool refuses_binaries;           /* the driver takes PTX only */
  pthread_mutex_t lock;
  struct loaded *list;
};

void modules_begin(struct modules *modules, const struct card *card);
/* With the context current. */
void modules_end(struct modules *modules);

/* A kernel, compiled at its first call, from the user's cache folder where it is there; the context
 * is current. Unimplemented where it has no form for the type. */
situ_status modules_kernel(struct modules *modules, const struct kernel *kernel, situ_type type,
                           cuda_function *out) SITU_MUST_USE;

#endif
