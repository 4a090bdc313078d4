/* SPDX-License-Identifier: Apache-2.0
 * queues.c: the queues of a device: CUDA streams, events for marks, pinned staging buffers. */
#include "backend/cuda/queues.h"

#include <string.h>
#include <unistd.h>

#include "base/trace.h"

static const unsigned event_flags = CUDA_EVENT_DISABLE_TIMING | CUDA_EVENT_BLOCKING_SYNC;

cuda_result queues_open(struct cuda_queue *queue) {
  cuda_result result = cuda.cuStreamCreate(&queue->stream, CUDA_STREAM_NON_BLOCKING);
  for (int i = 0; i < MARKS && result == CUDA_OK; i++)
    result = cuda.cuEventCreate(&queue->marks[i].event, event_flags);
  return result;
}

void queues_close(struct cuda_queue *queue) {
  if (queue->stream) {
    cuda.cuStreamSynchronize(queue->stream);
    cuda.cuStreamDestroy_v2(queue->stream);
  }
  for (int i = 0; i < MARKS; i++)
    if (queue->marks[i].event) cuda.cuEventDestroy_v2(queue->marks[i].event);
  for (int i = 0; i < N_STAGING; i++) {
    if (queue->staging_buffers[i].event) cuda.cuEventDestroy_v2(queue->staging_buffers[i].event);
    if (queue->staging_buffers[i].data) cuda.cuMemFreeHost(queue->staging_buffers[i].data);
  }
}

/* ---- Waiting ---- */

void queues_set_poll(struct cuda_queue *queue, void (*poll)(void *), void *poll_context) {
  queue->poll = poll;
  queue->poll_context = poll_context;
}

cuda_result queues_await(const struct cuda_queue *queue, cuda_event event, int64_t deadline) {
  if (!queue->poll && deadline == INT64_MAX) return cuda.cuEventSynchronize(event);
  for (useconds_t delay = 10;; delay = delay < 500 ? delay * 2 : delay) {
    const cuda_result result = cuda.cuEventQuery(event);
    if (result != CUDA_NOT_READY || trace_now() >= deadline) return result;
    if (queue->poll) queue->poll(queue->poll_context);
    usleep(delay);
  }
}

/* ---- Copies ---- */

/* Returns the next staging buffer once it is free. */
static cuda_result acquire_buffer(struct cuda_queue *queue, struct staging_buffer **out) {
  struct staging_buffer *buffer = *out = &queue->staging_buffers[queue->next_buffer++ % N_STAGING];
  cuda_result result = CUDA_OK;
  if (!buffer->event) result = cuda.cuEventCreate(&buffer->event, event_flags);
  if (result == CUDA_OK && !buffer->data) {
    void *data = NULL;
    result = cuda.cuMemAllocHost_v2(&data, STAGING_BYTES);
    buffer->data = data;
  }
  if (result == CUDA_OK && buffer->in_use) result = queues_await(queue, buffer->event, INT64_MAX);
  buffer->in_use = false;
  return result;
}

static cuda_result record_event(struct cuda_queue *queue, struct staging_buffer *buffer) {
  buffer->in_use = true;
  queue->queued++;
  return cuda.cuEventRecord(buffer->event, queue->stream);
}

cuda_result queues_write(struct cuda_queue *queue, cuda_pointer to, const void *from,
                         size_t bytes) {
  const unsigned char *at = from;
  cuda_result result = CUDA_OK;
  while (bytes && result == CUDA_OK) {
    struct staging_buffer *buffer = NULL;
    const size_t n = bytes < STAGING_BYTES ? bytes : STAGING_BYTES;
    result = acquire_buffer(queue, &buffer);
    if (result != CUDA_OK) break;
    memcpy(buffer->data, at, n);
    result = cuda.cuMemcpyHtoDAsync_v2(to, buffer->data, n, queue->stream);
    if (result == CUDA_OK) result = record_event(queue, buffer);
    at += n;
    to += n;
    bytes -= n;
  }
  return result;
}

/* Runs in a thread of the driver. */
static void copy_to_host(void *context) {
  const struct staging_buffer *buffer = context;
  memcpy(buffer->to, buffer->data, buffer->bytes);
}

cuda_result queues_read(struct cuda_queue *queue, void *to, cuda_pointer from, size_t bytes) {
  unsigned char *at = to;
  cuda_result result = CUDA_OK;
  while (bytes && result == CUDA_OK) {
    struct staging_buffer *buffer = NULL;
    const size_t n = bytes < STAGING_BYTES ? bytes : STAGING_BYTES;
    result = acquire_buffer(queue, &buffer);
    if (result != CUDA_OK) break;
    buffer->to = at;
    buffer->bytes = n;
    result = cuda.cuMemcpyDtoHAsync_v2(buffer->data, from, n, queue->stream);
    if (result == CUDA_OK) result = cuda.cuLaunchHostFunc(queue->stream, copy_to_host, buffer);
    if (result == CUDA_OK) result = record_event(queue, buffer);
    at += n;
    from += n;
    bytes -= n;
  }
  return result;
}

/* ---- Marks ---- */

cuda_result queues_mark(struct cuda_queue *queue, uint64_t *mark) {
  *mark = queue->queued;
  if (queue->recorded == queue->queued) return CUDA_OK;
  const unsigned i = queue->next_mark++ % MARKS;
  queue->marks[i].number = queue->queued;
  queue->recorded = queue->queued;
  return cuda.cuEventRecord(queue->marks[i].event, queue->stream);
}

cuda_event queues_event(const struct cuda_queue *queue, uint64_t mark, uint64_t *number) {
  cuda_event best = NULL;
  *number = queue->reached;
  if (mark <= queue->reached) return NULL;
  for (int i = 0; i < MARKS; i++) {
    const uint64_t at = queue->marks[i].number;
    if (at < mark || (best && at >= *number)) continue;
    best = queue->marks[i].event;
    *number = at;
  }
  return best;
}
