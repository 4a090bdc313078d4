/* SPDX-License-Identifier: Apache-2.0
 * queue.h: a queue of tensor tuples, as a resource. */
#ifndef SITU_OPS_STATE_QUEUE_H
#define SITU_OPS_STATE_QUEUE_H

#include "base/fork.h"
#include "schema/compute.h"

/* How a queue gives its elements: as they came, any of them, as they came with shapes filled up,
 * the one with the smallest first component (an int64). */
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
  situ_shape *shapes; /* NULL: not said */
  struct queue_element **items;
  int64_t count, room, first; /* of items, a ring; `room` is how many it holds */
  int64_t capacity, min_after;
  uint64_t random; /* state of the order of a shuffled queue */
  bool closed, cancelled;
};

extern const struct resource_kind queue_kind;

/* Makes a queue as the attributes of a call say; for resource_find. */
situ_status queue_create(void *context, struct resource **out) SITU_MUST_USE;

/* Adds elements, one after the other, waiting for room: component i of all of them is in
 * `parts[i]`; with `many` their first dimension counts the elements. */
situ_status queue_put(const struct compute *compute, struct tuple_queue *queue,
                      situ_tensor *const *parts, bool many) SITU_MUST_USE;

/* Takes `count` elements, or with `up_to` what a closed queue still has, waiting for them; *out is
 * a list that the caller frees with queue_free. */
situ_status queue_take(const struct compute *compute, struct tuple_queue *queue, int64_t count,
                       bool up_to, struct queue_element **out, int64_t *taken) SITU_MUST_USE;
void queue_free(const struct tuple_queue *queue, struct queue_element *elements);

/* Takes no more elements; with `cancel` whoever waits to add one gives up. */
void queue_close(struct tuple_queue *queue, bool cancel);

#endif
