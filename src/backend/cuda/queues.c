/* SPDX-License-Identifier: Apache-2.0
 * queues.c: see queues.h. */
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
  for (int i = 0; i < SLOTS; i++) {
    if (queue->slots[i].event) cuda.cuEventDestroy_v2(queue->slots[i].event);
    if (queue->slots[i].data) cuda.cuMemFreeHost(queue->slots[i].data);
  }
}

/* ---- Waiting ---- */

void queues_ask(struct cuda_queue *queue, void (*ask)(void *), void *asker) {
  queue->ask = ask;
  queue->asker = asker;
}

cuda_result queues_await(const struct cuda_queue *queue, cuda_event event, int64_t until) {
  if (!queue->ask && until == INT64_MAX) return cuda.cuEventSynchronize(event);
  for (useconds_t nap = 10;; nap = nap < 500 ? nap * 2 : nap) {
    const cuda_result result = cuda.cuEventQuery(event);
    if (result != CUDA_NOT_READY || trace_now() >= until) return result;
    if (queue->ask) queue->ask(queue->asker);
    usleep(nap);
  }
}

/* ---- Copies ---- */

/* The next piece of pinned memory, when nobody uses it any more. */
static cuda_result take(struct cuda_queue *queue, struct slot **out) {
  struct slot *slot = *out = &queue->slots[queue->next_slot++ % SLOTS];
  cuda_result result = CUDA_OK;
  if (!slot->event) result = cuda.cuEventCreate(&slot->event, event_flags);
  if (result == CUDA_OK && !slot->data) {
    void *data = NULL;
    result = cuda.cuMemAllocHost_v2(&data, SLOT_BYTES);
    slot->data = data;
  }
  if (result == CUDA_OK && slot->in_use) result = queues_await(queue, slot->event, INT64_MAX);
  slot->in_use = false;
  return result;
}

static cuda_result done(struct cuda_queue *queue, struct slot *slot) {
  slot->in_use = true;
  queue->queued++;
  return cuda.cuEventRecord(slot->event, queue->stream);
}

cuda_result queues_write(struct cuda_queue *queue, cuda_pointer to, const void *from,
                         size_t bytes) {
  const unsigned char *at = from;
  cuda_result result = CUDA_OK;
  while (bytes && result == CUDA_OK) {
    struct slot *slot = NULL;
    const size_t part = bytes < SLOT_BYTES ? bytes : SLOT_BYTES;
    result = take(queue, &slot);
    if (result != CUDA_OK) break;
    memcpy(slot->data, at, part);
    result = cuda.cuMemcpyHtoDAsync_v2(to, slot->data, part, queue->stream);
    if (result == CUDA_OK) result = done(queue, slot);
    at += part;
    to += part;
    bytes -= part;
  }
  return result;
}

/* In a thread of the driver. */
static void hand_out(void *context) {
  const struct slot *slot = context;
  memcpy(slot->to, slot->data, slot->bytes);
}

cuda_result queues_read(struct cuda_queue *queue, void *to, cuda_pointer from, size_t bytes) {
  unsigned char *at = to;
  cuda_result result = CUDA_OK;
  while (bytes && result == CUDA_OK) {
    struct slot *slot = NULL;
    const size_t part = bytes < SLOT_BYTES ? bytes : SLOT_BYTES;
    result = take(queue, &slot);
    if (result != CUDA_OK) break;
    slot->to = at;
    slot->bytes = part;
    result = cuda.cuMemcpyDtoHAsync_v2(slot->data, from, part, queue->stream);
    if (result == CUDA_OK) result = cuda.cuLaunchHostFunc(queue->stream, hand_out, slot);
    if (result == CUDA_OK) result = done(queue, slot);
    at += part;
    from += part;
    bytes -= part;
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
