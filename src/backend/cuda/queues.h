/* SPDX-License-Identifier: Apache-2.0
 * queues.h: the queues of a device: a CUDA stream each, a ring of events for marks, and pinned
 * staging buffers for host copies.
 *
 * Callers must hold the lock of the device and have its context current; queues_await needs only
 * the context. */
#ifndef SITU_BACKEND_CUDA_QUEUES_H
#define SITU_BACKEND_CUDA_QUEUES_H

#include "backend/cuda/driver.h"

enum { MARKS = 64, N_STAGING = 8, STAGING_BYTES = 512 * 1024 };

/* A pinned staging buffer; in use until its event completes. */
struct staging_buffer {
  unsigned char *data;
  cuda_event event;
  bool in_use;
  void *to; /* host destination of a read */
  size_t bytes;
};

/* When the event of a mark is overwritten in the ring, that of a later mark serves as well. */
struct cuda_queue {
  cuda_stream stream;
  uint64_t queued;   /* number of operations enqueued */
  uint64_t recorded; /* last mark with an event */
  uint64_t reached;  /* highest mark known to be reached */
  struct {
    uint64_t number;
    cuda_event event;
  } marks[MARKS];
  unsigned next_mark, next_buffer;
  void (*poll)(void *); /* called repeatedly while waiting; may be NULL */
  void *poll_context;
  struct staging_buffer staging_buffers[N_STAGING]; /* allocated on first use */
};

cuda_result queues_open(struct cuda_queue *queue);
void queues_close(struct cuda_queue *queue);

/* Sets a callback for waits on the queue, which checks whether the wait can still complete. */
void queues_set_poll(struct cuda_queue *queue, void (*poll)(void *), void *poll_context);

/* Waits for an event of the queue until a time (trace_now); CUDA_NOT_READY after that. */
cuda_result queues_await(const struct cuda_queue *queue, cuda_event event, int64_t until);

/* Enqueues copies between host and device through the staging buffers. */
cuda_result queues_write(struct cuda_queue *queue, cuda_pointer to, const void *from, size_t bytes);
cuda_result queues_read(struct cuda_queue *queue, void *to, cuda_pointer from, size_t bytes);

/* Returns the mark behind all enqueued work. */
cuda_result queues_mark(struct cuda_queue *queue, uint64_t *mark);

/* Returns an event that completes when the mark is reached or later, and the mark it belongs to;
 * NULL if the mark is known to be reached. */
cuda_event queues_event(const struct cuda_queue *queue, uint64_t mark, uint64_t *number);

#endif
