/* SPDX-License-Identifier: Apache-2.0
 * queues.h: the queues of a device: a stream each, events behind marks, pinned memory between the
 * host and the device.
 *
 * Whoever calls holds the lock of the device and has its context current; queues_await needs the
 * context only. */
#ifndef SITU_BACKEND_CUDA_QUEUES_H
#define SITU_BACKEND_CUDA_QUEUES_H

#include "backend/cuda/driver.h"

enum { MARKS = 64, SLOTS = 8, SLOT_BYTES = 512 * 1024 };

/* A piece of pinned memory; in use until its event happens. */
struct slot {
  unsigned char *data;
  cuda_event event;
  bool in_use;
  void *to; /* where the host wants what is read into it */
  size_t bytes;
};

/* Of marks that are overwritten in the ring a later one is good as well. */
struct cuda_queue {
  cuda_stream stream;
  uint64_t queued;   /* pieces of work */
  uint64_t recorded; /* the last mark with an event */
  uint64_t reached;  /* a mark that is known to be reached */
  struct {
    uint64_t number;
    cuda_event event;
  } marks[MARKS];
  unsigned next_mark, next_slot;
  void (*ask)(void *); /* while it waits; NULL: nobody */
  void *asker;
  struct slot slots[SLOTS]; /* made at the first copy */
};

cuda_result queues_open(struct cuda_queue *queue);
void queues_close(struct cuda_queue *queue);

/* Has somebody asked again and again while the queue is waited for: he looks whether the wait can
 * end at all. */
void queues_ask(struct cuda_queue *queue, void (*ask)(void *), void *asker);

/* Waits for an event of the queue, at most until a time (as trace_now); CUDA_NOT_READY: it has not
 * happened by then. */
cuda_result queues_await(const struct cuda_queue *queue, cuda_event event, int64_t until);

/* Queues copies between the host and the device through pinned memory. */
cuda_result queues_write(struct cuda_queue *queue, cuda_pointer to, const void *from, size_t bytes);
cuda_result queues_read(struct cuda_queue *queue, void *to, cuda_pointer from, size_t bytes);

/* The mark behind all that is queued. */
cuda_result queues_mark(struct cuda_queue *queue, uint64_t *mark);

/* The event that happens when the mark is reached, or later; NULL where it is known to be reached;
 * `number` is the mark that it stands for. */
cuda_event queues_event(const struct cuda_queue *queue, uint64_t mark, uint64_t *number);

#endif
