/* SPDX-License-Identifier: Apache-2.0
 * cuda.c: NVIDIA GPUs through the CUDA driver API.
 *
 * A region is an allocation of the driver; the arguments of a call are resolved when it is bound. A
 * device uses the primary context of its GPU, which it shares with other libraries of the process,
 * and one stream per queue. Only sync, reach, and copies larger than the pinned staging buffers
 * block. */
#include "backend/cuda/calls.h"
#include "backend/cuda/comm.h"
#include "base/trace.h"

static situ_status cuda_probe(const struct backend_request *request, int *count, const char **why) {
  (void)request;
  return cards_find(count, why);
}

static situ_status cuda_describe(int index, struct device_info *out) {
  const struct card *card = cards_get(index);
  if (!card) return INVALID("There is no CUDA GPU %d.", index);
  *out = card->info;
  return NULL;
}

/* ---- Copies ---- */

static situ_status foreign_memory(struct gpu *gpu, size_t bytes) {
  const situ_status status = gpu_leave(gpu, CUDA_OK, "copying");
  if (status) return status;
  return INTERNAL("A copy of %zu bytes on %s uses memory that does not belong to it.", bytes,
                  gpu->card->label);
}

static situ_status cuda_write(void *handle, int queue, struct span to, const void *from,
                              size_t bytes) {
  struct gpu *gpu = handle;
  cuda_pointer address = 0;
  if (!bytes) return NULL;
  TRY(gpu_check(gpu));
  cuda_result result = gpu_enter(gpu);
  if (!gpu_find(gpu, to, bytes, &address)) return foreign_memory(gpu, bytes);
  if (result == CUDA_OK) result = queues_write(&gpu->queues[queue], address, from, bytes);
  return gpu_leave(gpu, result, "copying to the GPU");
}

static situ_status cuda_read(void *handle, int queue, void *to, struct span from, size_t bytes) {
  struct gpu *gpu = handle;
  cuda_pointer address = 0;
  if (!bytes) return NULL;
  TRY(gpu_check(gpu));
  cuda_result result = gpu_enter(gpu);
  if (!gpu_find(gpu, from, bytes, &address)) return foreign_memory(gpu, bytes);
  if (result == CUDA_OK) result = queues_read(&gpu->queues[queue], to, address, bytes);
  return gpu_leave(gpu, result, "copying to the host");
}

static situ_status cuda_copy(void *handle, int queue, struct span to, struct span from,
                             size_t bytes) {
  struct gpu *gpu = handle;
  struct cuda_queue *at = &gpu->queues[queue];
  cuda_pointer target = 0, source = 0;
  if (!bytes) return NULL;
  TRY(gpu_check(gpu));
  cuda_result result = gpu_enter(gpu);
  if (!gpu_find(gpu, to, bytes, &target) || !gpu_find(gpu, from, bytes, &source))
    return foreign_memory(gpu, bytes);
  at->queued++;
  if (result == CUDA_OK) result = cuda.cuMemcpyDtoDAsync_v2(target, source, bytes, at->stream);
  return gpu_leave(gpu, result, "copying");
}

/* Ends an operation on two GPUs and attributes an error to the one that failed. */
static situ_status leave_peers(struct gpu *gpu, struct gpu *other, const struct cuda_queue *at,
                               cuda_result result, const char *doing) {
  const cuda_result own_result = result != CUDA_OK && gpu->is_current && gpu != other
                                     ? cuda.cuStreamQuery(at->stream)
                                     : result;
  if (result == CUDA_OK || (own_result != CUDA_OK && own_result != CUDA_NOT_READY))
    return gpu_leave(gpu, result, doing);
  gpu_note(other, result);
  const situ_status status = gpu_leave(gpu, CUDA_OK, doing);
  if (status) return status;
  const situ_status other_status = gpu_lost(other);
  return other_status ? other_status : cuda_status(result, gpu->card->label, doing);
}

/* Enables direct access to the memory of a peer if possible. Must hold the lock. */
static void enable_peer_access(struct gpu *gpu, const struct gpu *other) {
  int can_access = 0;
  size_t i = 0;
  while (i < COUNT_OF(gpu->peers) - 1 && gpu->peers[i] && gpu->peers[i] != other->context) i++;
  if (gpu->peers[i] == other->context || gpu->context == other->context) return;
  gpu->peers[i] = other->context;
  if (cuda.cuDeviceCanAccessPeer(&can_access, gpu->card->id, other->card->id) == CUDA_OK &&
      can_access)
    cuda.cuCtxEnablePeerAccess(other->context, 0); /* the copy also works without it */
}

static situ_status cuda_peer(void *handle, int queue, struct span to, void *from_handle,
                             struct span from, size_t bytes) {
  struct gpu *gpu = handle, *other = from_handle;
  struct cuda_queue *at = &gpu->queues[queue];
  cuda_pointer target = 0, source = 0;
  if (!bytes) return NULL;
  TRY(gpu_check(gpu));
  pthread_mutex_lock(&other->lock);
  const bool is_valid = gpu_find(other, from, bytes, &source);
  pthread_mutex_unlock(&other->lock);
  cuda_result result = gpu_enter(gpu);
  if (!is_valid || !gpu_find(gpu, to, bytes, &target)) return foreign_memory(gpu, bytes);
  if (result == CUDA_OK) enable_peer_access(gpu, other);
  at->queued++;
  if (result == CUDA_OK)
    result =
        cuda.cuMemcpyPeerAsync(target, gpu->context, source, other->context, bytes, at->stream);
  return leave_peers(gpu, other, at, result, "copying from another GPU");
}

/* ---- Queues ---- */

/* A lost GPU reaches its marks; `sync` reports the error. */
static situ_status cuda_mark(void *handle, int queue, uint64_t *mark) {
  struct gpu *gpu = handle;
  TRY(gpu_check(gpu));
  cuda_result result = gpu_enter(gpu);
  *mark = gpu->queues[queue].queued;
  if (result == CUDA_OK) result = queues_mark(&gpu->queues[queue], mark);
  const situ_status status = gpu_leave(gpu, result, "marking");
  if (atomic_load(&gpu->fatal_error) == CUDA_OK) return status;
  situ_status_release(status);
  return NULL;
}

/* Returns the event of a mark; NULL if there is nothing to wait for. Must hold the lock. */
static cuda_event get_event(struct gpu *gpu, int queue, uint64_t mark, uint64_t *number) {
  if (atomic_load(&gpu->fatal_error) != CUDA_OK) return NULL;
  return queues_event(&gpu->queues[queue], mark, number);
}

/* Finds the event and waits for it under one lock: if it were recorded again in between, the queue
 * would wait for later work. The wait counts as enqueued only if there is an event. */
static situ_status cuda_wait(void *handle, int queue, void *on_handle, int on_queue,
                             uint64_t mark) {
  struct gpu *gpu = handle, *other = on_handle;
  struct cuda_queue *at = &gpu->queues[queue];
  uint64_t number = 0;
  TRY(gpu_check(gpu));
  TRY(cuda_status(gpu_push(gpu), gpu->card->label, "waiting for another queue"));
  pthread_mutex_lock(&other->lock);
  const cuda_event event = get_event(other, on_queue, mark, &number);
  const cuda_result result = event ? cuda.cuStreamWaitEvent(at->stream, event, 0) : CUDA_OK;
  pthread_mutex_unlock(&other->lock);
  gpu_pop();
  if (!event) return NULL;
  const cuda_result enter_result = gpu_enter(gpu);
  at->queued++;
  return leave_peers(gpu, other, at, result == CUDA_OK ? enter_result : result,
                     "waiting for another queue");
}

/* Waits for a mark until a deadline; returns false if it was not reached. */
static bool wait_for_mark(struct gpu *gpu, int queue, uint64_t mark, int64_t deadline,
                          situ_status *status) {
  struct cuda_queue *at = &gpu->queues[queue];
  uint64_t number = 0;
  pthread_mutex_lock(&gpu->lock);
  const cuda_event event = get_event(gpu, queue, mark, &number);
  pthread_mutex_unlock(&gpu->lock);
  cuda_result result = gpu_push(gpu);
  if (result == CUDA_OK) {
    if (event) result = queues_await(at, event, deadline);
    gpu_pop();
  }
  if (result == CUDA_NOT_READY) return false;
  const cuda_result enter_result = gpu_enter(gpu);
  if (result == CUDA_OK && at->reached < number) at->reached = number;
  *status = gpu_leave(gpu, result == CUDA_OK ? enter_result : result, "while working");
  return true;
}

static situ_status cuda_sync(void *handle, int queue, uint64_t mark) {
  struct gpu *gpu = handle;
  situ_status status = NULL;
  TRY(gpu_check(gpu));
  wait_for_mark(gpu, queue, mark, INT64_MAX, &status);
  return status;
}

static bool cuda_reach(void *handle, int queue, uint64_t mark, double seconds) {
  struct gpu *gpu = handle;
  situ_status status = gpu_check(gpu);
  const int64_t deadline = trace_now() + (int64_t)(seconds * 1e9);
  const bool reached = status || wait_for_mark(gpu, queue, mark, deadline, &status);
  situ_status_release(status); /* sync reports it again */
  return reached;
}

static void write_time(void *at) { *(int64_t *)at = trace_now(); }

static situ_status cuda_stamp(void *handle, int queue, int64_t *at) {
  struct gpu *gpu = handle;
  struct cuda_queue *to = &gpu->queues[queue];
  TRY(gpu_check(gpu));
  cuda_result result = gpu_enter(gpu);
  to->queued++;
  if (result == CUDA_OK) result = cuda.cuLaunchHostFunc(to->stream, write_time, at);
  return gpu_leave(gpu, result, "taking the time");
}

const struct backend cuda_backend = {
    .name = "cuda",
    .kind = "GPU",
    .tested =
        "kernels compiled by NVRTC, run by an interpreter of PTX; driver calls against a "
        "stand-in; never yet on a GPU",
    .applies_visible_devices = true,
    .probe = cuda_probe,
    .describe = cuda_describe,
    .open = gpu_open,
    .close = gpu_close,
    .alloc = gpu_alloc,
    .free = gpu_free,
    .available = gpu_available,
    .write = cuda_write,
    .read = cuda_read,
    .copy = cuda_copy,
    .peer = cuda_peer,
    .bind = calls_bind,
    .rebind = calls_rebind,
    .launch = calls_launch,
    .mark = cuda_mark,
    .wait = cuda_wait,
    .sync = cuda_sync,
    .reach = cuda_reach,
    .stamp = cuda_stamp,
    .comm = &cuda_comm,
};
