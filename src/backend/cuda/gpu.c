/* SPDX-License-Identifier: Apache-2.0
 * gpu.c: an open GPU: its context, memory and error state. The primary context is shared with other
 * libraries of the process: it is pushed for each operation and popped afterwards. */
#include "backend/cuda/gpu.h"

#include <stdlib.h>

#include "backend/cuda/comm.h"
#include "base/fork.h"

/* ---- Errors ---- */

/* Returns whether an error makes the context unusable; others concern a single call. */
static bool is_fatal(cuda_result result) {
  static const cuda_result fatal_errors[] = {CUDA_NOT_INITIALIZED,
                                             CUDA_DEINITIALIZED,
                                             CUDA_DEVICE_UNAVAILABLE,
                                             CUDA_INVALID_CONTEXT,
                                             CUDA_ECC_UNCORRECTABLE,
                                             CUDA_NVLINK_UNCORRECTABLE,
                                             CUDA_CONTAINED,
                                             CUDA_ILLEGAL_ADDRESS,
                                             CUDA_LAUNCH_TIMEOUT,
                                             CUDA_CONTEXT_DESTROYED,
                                             CUDA_ASSERT,
                                             CUDA_HARDWARE_STACK,
                                             CUDA_ILLEGAL_INSTRUCTION,
                                             CUDA_MISALIGNED,
                                             CUDA_INVALID_ADDRESS_SPACE,
                                             CUDA_INVALID_PC,
                                             CUDA_LAUNCH_FAILED,
                                             CUDA_MPS_CLIENT_TERMINATED,
                                             CUDA_EXTERNAL_DEVICE,
                                             CUDA_UNKNOWN};
  for (size_t i = 0; i < COUNT_OF(fatal_errors); i++)
    if (fatal_errors[i] == result) return true;
  return false;
}

void gpu_note(struct gpu *gpu, cuda_result result) {
  cuda_result none = CUDA_OK;
  if (is_fatal(result)) atomic_compare_exchange_strong(&gpu->fatal_error, &none, result);
}

/* Must hold the lock. */
static situ_status make_lost_status(const struct gpu *gpu) {
  char text[192];
  const cuda_result fatal_error = atomic_load(&gpu->fatal_error);
  if (fatal_error == CUDA_OK) return NULL;
  return situ_status_create(SITU_UNAVAILABLE,
                            "%s failed: %s.\nThe last kernel launched "
                            "was %s; CUDA_LAUNCH_BLOCKING=1 finds the one that failed.",
                            gpu->card->label, cuda_error(fatal_error, text),
                            *gpu->last_kernel ? gpu->last_kernel : "none");
}

situ_status gpu_lost(struct gpu *gpu) {
  pthread_mutex_lock(&gpu->lock);
  const situ_status status = make_lost_status(gpu);
  pthread_mutex_unlock(&gpu->lock);
  return status;
}

situ_status gpu_check(const struct gpu *gpu) {
  return fork_check(gpu->generation, gpu->card->label);
}

cuda_result gpu_push(const struct gpu *gpu) { return cuda.cuCtxPushCurrent_v2(gpu->context); }

void gpu_pop(void) {
  cuda_context popped = NULL;
  cuda.cuCtxPopCurrent_v2(&popped);
}

cuda_result gpu_enter(struct gpu *gpu) {
  pthread_mutex_lock(&gpu->lock);
  const cuda_result result = gpu_push(gpu);
  gpu->is_current = result == CUDA_OK;
  return result;
}

situ_status gpu_leave(struct gpu *gpu, cuda_result result, const char *doing) {
  gpu_note(gpu, result);
  const situ_status status = make_lost_status(gpu);
  if (gpu->is_current) gpu_pop();
  pthread_mutex_unlock(&gpu->lock);
  return status ? status : cuda_status(result, gpu->card->label, doing);
}

/* ---- Opening ---- */

/* Releases everything in the context. */
static void release_resources(struct gpu *gpu) {
  for (int i = 0; i < N_QUEUES; i++) queues_close(&gpu->queues[i]);
  if (gpu->blas) blas_close(gpu->blas);
  modules_end(&gpu->modules);
  for (struct region *region = gpu->regions; region; region = region->next)
    if (region->address) cuda.cuMemFree_v2(region->address);
}

void gpu_close(void *handle) {
  struct gpu *gpu = handle;
  if (gpu->context && gpu->generation == fork_generation()) {
    comm_close_gpu(gpu);
    if (gpu_push(gpu) == CUDA_OK) {
      release_resources(gpu);
      gpu_pop();
    }
    cuda.cuDevicePrimaryCtxRelease_v2(gpu->card->id);
  }
  while (gpu->regions) {
    struct region *first = gpu->regions;
    gpu->regions = first->next;
    free(first);
  }
  pthread_mutex_destroy(&gpu->lock);
  free(gpu);
}

situ_status gpu_open(int index, void **out) {
  const struct card *card = cards_get(index);
  if (!card) return INVALID("There is no CUDA GPU %d.", index);
  struct gpu *gpu = calloc(1, sizeof *gpu);
  if (!gpu) return NO_MEMORY();
  gpu->card = card;
  gpu->generation = fork_generation();
  pthread_mutex_init(&gpu->lock, NULL);
  cuda_result result = cuda.cuDevicePrimaryCtxRetain(&gpu->context, card->id);
  if (result != CUDA_OK) gpu->context = NULL;
  if (result == CUDA_OK) {
    modules_begin(&gpu->modules, card);
    result = gpu_enter(gpu);
    for (int i = 0; i < N_QUEUES && result == CUDA_OK; i++) result = queues_open(&gpu->queues[i]);
    situ_status_release(gpu_leave(gpu, CUDA_OK, "opening"));
  }
  if (result == CUDA_OK)
    *out = gpu;
  else
    gpu_close(gpu);
  return cuda_status(result, card->label, "opening");
}

/* ---- Memory ---- */

situ_status gpu_alloc(void *handle, size_t bytes, void **out) {
  struct gpu *gpu = handle;
  TRY(gpu_check(gpu));
  struct region *region = calloc(1, sizeof *region);
  if (!region) return NO_MEMORY();
  region->bytes = bytes;
  cuda_result result = gpu_enter(gpu);
  if (result == CUDA_OK && bytes) result = cuda.cuMemAlloc_v2(&region->address, bytes);
  if (result == CUDA_OK) {
    region->next = gpu->regions;
    gpu->regions = region;
    *out = region;
  }
  char doing[64];
  snprintf(doing, sizeof doing, "allocating %zu bytes", bytes);
  const situ_status status = gpu_leave(gpu, result, doing);
  if (result != CUDA_OK) free(region);
  return status;
}

void gpu_free(void *handle, void *memory) {
  struct gpu *gpu = handle;
  const cuda_result result = gpu_enter(gpu);
  struct region **link = &gpu->regions;
  while (*link && *link != memory) link = &(*link)->next;
  struct region *region = *link;
  if (region) *link = region->next;
  if (region && region->address && result == CUDA_OK) cuda.cuMemFree_v2(region->address);
  situ_status_release(gpu_leave(gpu, result, "freeing memory"));
  free(region);
}

situ_status gpu_available(void *handle, uint64_t *free_bytes) {
  struct gpu *gpu = handle;
  size_t available = 0, total = 0;
  TRY(gpu_check(gpu));
  cuda_result result = gpu_enter(gpu);
  if (result == CUDA_OK) result = cuda.cuMemGetInfo_v2(&available, &total);
  *free_bytes = available;
  return gpu_leave(gpu, result, "querying its free memory");
}

bool gpu_find(const struct gpu *gpu, struct span span, size_t bytes, cuda_pointer *out) {
  const struct region *region = gpu->regions;
  while (region && region != span.region) region = region->next;
  if (!region || span.offset > region->bytes || bytes > region->bytes - span.offset) return false;
  *out = region->address + span.offset;
  return true;
}
