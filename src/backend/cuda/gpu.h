/* SPDX-License-Identifier: Apache-2.0
 * gpu.h: an open GPU: its context, its memory, what is wrong with it. */
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
  int generation; /* of forks */
  struct modules modules;
  cublas_handle blas; /* NULL where there is no cuBLAS, or no product yet */
  bool blas_is_tried;
  _Atomic(cuda_result) trouble; /* the first error that says that the GPU failed */
  pthread_mutex_t lock;         /* for what follows */
  bool is_current;              /* the context, in the thread that has the lock */
  struct cuda_queue queues[N_QUEUES];
  struct region *regions;
  char last[128];        /* the kernel that was launched last, for errors */
  const void *peers[16]; /* contexts whose memory it may use already */
};

/* Opens a GPU: the functions of struct backend. */
situ_status gpu_open(int index, void **out) SITU_MUST_USE;
void gpu_close(void *handle);

/* Memory: the functions of struct backend. */
situ_status gpu_alloc(void *handle, size_t bytes, void **out) SITU_MUST_USE;
void gpu_free(void *handle, void *memory);
situ_status gpu_available(void *handle, uint64_t *free_bytes) SITU_MUST_USE;

/* Whether `bytes` bytes are the GPU's own memory; their address. Called with the lock. */
bool gpu_find(const struct gpu *gpu, struct span span, size_t bytes, cuda_pointer *out);

/* Makes the context of the GPU current for this thread; gpu_pop ends that. */
cuda_result gpu_push(const struct gpu *gpu);
void gpu_pop(void);

/* Begins something in the GPU's context, with its lock; gpu_leave ends it whatever gpu_enter said,
 * and makes a status of the result. */
cuda_result gpu_enter(struct gpu *gpu);
situ_status gpu_leave(struct gpu *gpu, cuda_result result, const char *doing) SITU_MUST_USE;

/* Remembers that the GPU failed, where the result says so. */
void gpu_note(struct gpu *gpu, cuda_result result);

/* What is said of a GPU that failed, NULL of others. */
situ_status gpu_lost(struct gpu *gpu) SITU_MUST_USE;

/* A driver that was started before a fork does nothing in the child. */
situ_status gpu_check(const struct gpu *gpu) SITU_MUST_USE;

#endif
