/* SPDX-License-Identifier: Apache-2.0
 * gpu.h: an open GPU: its context, memory and error state. The primary context is shared with other
 * libraries of the process: it is pushed for each operation and popped afterwards. */
#ifndef SITU_BACKEND_CUDA_GPU_H
#define SITU_BACKEND_CUDA_GPU_H

#include "backend/cuda/blas.h"
#include "backend/cuda/modules.h"
#include "backend/cuda/queues.h"

struct region {
  struct region *next;
  cuda_pointer address;
  size_t bytes;
};

struct gpu {
  const struct card *card;
  cuda_context context;
  int generation; /* fork_generation() when it was opened */
  struct modules modules;
  cublas_handle blas; /* NULL if not available or not yet used */
  bool is_blas_initialized;
  _Atomic(cuda_result) fatal_error; /* first fatal error of the GPU */
  pthread_mutex_t lock;             /* guards what follows */
  bool is_current;                  /* whether gpu_enter has made the context current */
  struct cuda_queue queues[N_QUEUES];
  struct region *regions;
  char last_kernel[128]; /* last kernel launched, for errors */
  const void *peers[16]; /* contexts with peer access enabled */
};

/* open and close of struct backend. */
situ_status gpu_open(int index, void **out) SITU_MUST_USE;
void gpu_close(void *handle);

/* alloc, free and available of struct backend. */
situ_status gpu_alloc(void *handle, size_t bytes, void **out) SITU_MUST_USE;
void gpu_free(void *handle, void *memory);
situ_status gpu_available(void *handle, uint64_t *free_bytes) SITU_MUST_USE;

/* Returns whether `bytes` bytes belong to the GPU, and their address. Must hold the lock. */
bool gpu_find(const struct gpu *gpu, struct span span, size_t bytes, cuda_pointer *out);

/* Pushes and pops the context of the GPU in this thread. */
cuda_result gpu_push(const struct gpu *gpu);
void gpu_pop(void);

/* Locks the GPU and pushes its context; gpu_leave must follow in any case, and converts the result
 * to a status. */
cuda_result gpu_enter(struct gpu *gpu);
situ_status gpu_leave(struct gpu *gpu, cuda_result result, const char *doing) SITU_MUST_USE;

/* Records a fatal error. */
void gpu_note(struct gpu *gpu, cuda_result result);

/* Returns the error of a failed GPU; NULL if it works. */
situ_status gpu_lost(struct gpu *gpu) SITU_MUST_USE;

/* Fails in a forked child, in which the driver does not work. */
situ_status gpu_check(const struct gpu *gpu) SITU_MUST_USE;

#endif
