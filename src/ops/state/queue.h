/* SPDX-License-Identifier: Apache-2.0
 * queue.h: a queue of tensor tuples, as a resource. */
#ifndef SITU_OPS_STATE_QUEUE_H
#define SITU_OPS_STATE_QUEUE_H

#include "base/fork.h"
#include "schema/compute.h"

/* The order of dequeueing: first in first out, random, first in first out with padding, by the
 * first component (an int64). */
enum queue_order { QUEUE_FIFO, QUEUE_SHUFFLED, QUEUE_PADDED, QUEUE_SORTED };

/* An element: one tensor per component. */
struct queue_element {
  struct queue_element *next;
  situ_tensor *parts[];
};

struct tuple_queue {
  struct resource head;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct fork_handler fork;
  enum queue_order order;
  int n_parts;
  situ_type *types;
  situ_shape *shapes; /* NULL: unspecified */
  struct queue_element **items;
  int64_t count, room, first; /* a ring buffer of `room` elements */
  int64_t capacity, min_after;
  uint64_t random; /* state of the order of a shuffled queue */
  bool closed, cancelled;
};

extern const struct resource_kind queue_kind;

/* Creates a queue from the attributes of a call; for resource_find. */
situ_status queue_create(void *context, struct resource **out) SITU_MUST_USE;

/* Enqueues elements in order and waits for room: `parts[i]` has component i of all elements, with
 * `many` along their first dimension. */
situ_status queue_put(const struct compute *compute, struct tuple_queue *queue,
                      situ_tensor *const *parts, bool many) SITU_MUST_USE;

/* Dequeues `count` elements, or with `up_to` the rest of a closed queue, and waits for them; *out
 * is a list that the caller frees with queue_free. */
situ_status queue_take(const struct compute *compute, struct tuple_queue *queue, int64_t count,
                       bool up_to, struct queue_element **out, int64_t *taken) SITU_MUST_USE;
void queue_free(const struct tuple_queue *queue, struct queue_element *elements);

/* Rejects further elements; with `cancel`, cancels waiting enqueues, too. */
void queue_close(struct tuple_queue *queue, bool cancel);

#endif
