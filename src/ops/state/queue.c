/* SPDX-License-Identifier: Apache-2.0
 * queue.c: bounded queues of tensor tuples with blocking enqueue and dequeue. */
#include "ops/state/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/random_seed.h"
#include "schema/schema.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

static const char *kind_name(const struct tuple_queue *queue) {
  static const char *const names[] = {"FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue",
                                      "PriorityQueue"};
  return names[queue->order];
}

void queue_free(const struct tuple_queue *queue, struct queue_element *elements) {
  while (elements) {
    struct queue_element *next = elements->next;
    for (int i = 0; i < queue->n_parts; i++) situ_tensor_release(elements->parts[i]);
    free(elements);
    elements = next;
  }
}

static void destroy(struct resource *resource) {
  struct tuple_queue *queue = (struct tuple_queue *)resource;
  for (int64_t i = 0; i < queue->count; i++)
    queue_free(queue, queue->items[(queue->first + i) % queue->room]);
  fork_unregister(&queue->fork);
  pthread_mutex_destroy(&queue->lock);
  pthread_cond_destroy(&queue->changed);
  free(queue->items);
  free(queue->types);
  free(queue->shapes);
  free(queue);
}

const struct resource_kind queue_kind = {"queue", destroy};

static enum queue_order order_of(const struct call *call) {
  if (schema_attr(call->schema, "min_after_dequeue") >= 0) return QUEUE_SHUFFLED;
  if (!strncmp(call->schema->op->name, "Priority", 8)) return QUEUE_SORTED;
  return strncmp(call->schema->op->name, "Padding", 7) ? QUEUE_FIFO : QUEUE_PADDED;
}

/* Seeds of 0 and 0 are anybody's. */
static situ_status seed_of(const struct call *call, uint64_t *out) {
  uint64_t seeds[] = {(uint64_t)call_integer(call, "seed"), (uint64_t)call_integer(call, "seed2")};
  if (!seeds[0] && !seeds[1]) TRY(random_seed_next(seeds));
  *out = seeds[0] * 0x9e3779b97f4a7c15u + seeds[1] + 1;
  return NULL;
}

static situ_status copy_signature(const struct call *call, struct tuple_queue *queue) {
  const struct attr_value *types = call_attr(call, "component_types");
  const struct attr_value *shapes = call_attr(call, "shapes");
  const int first = queue->order == QUEUE_SORTED; /* the priority is not among the attributes */
  queue->n_parts = (int)types->list.count + first;
  if (!queue->n_parts) return INVALID("Expected at least one component type.");
  if (shapes->shapes.count && shapes->shapes.count != types->list.count)
    return INVALID("Different number of component types. (Types: %lld, shapes: %lld)",
                   (long long)types->list.count, (long long)shapes->shapes.count);
  queue->types = calloc((size_t)queue->n_parts, sizeof *queue->types);
  queue->shapes = calloc((size_t)queue->n_parts, sizeof *queue->shapes);
  if (!queue->types || !queue->shapes) return NO_MEMORY();
  if (first) queue->types[0] = SITU_INT64, queue->shapes[0] = SITU_SCALAR;
  for (int i = first; i < queue->n_parts; i++) {
    queue->types[i] = (situ_type)types->list.items[i - first];
    queue->shapes[i] = shapes->shapes.count ? shapes->shapes.items[i - first] : SITU_ANY_SHAPE;
  }
  return NULL;
}

static void init_locks(void *context) {
  struct tuple_queue *queue = context;
  pthread_mutex_init(&queue->lock, NULL);
  pthread_cond_init(&queue->changed, NULL);
}

situ_status queue_create(void *context, struct resource **out) {
  const struct call *call = context;
  struct tuple_queue *queue = calloc(1, sizeof *queue);
  if (!queue) return NO_MEMORY();
  init_locks(queue);
  fork_register(&queue->fork, init_locks, queue);
  queue->order = order_of(call);
  queue->capacity = call_integer(call, "capacity");
  if (queue->capacity < 0) queue->capacity = INT32_MAX;
  situ_status status = copy_signature(call, queue);
  if (!status && queue->order == QUEUE_SHUFFLED) {
    queue->min_after = call_integer(call, "min_after_dequeue");
    status = seed_of(call, &queue->random);
  }
  if (!status && queue->min_after >= queue->capacity)
    status = INVALID("min_after_dequeue %lld must be < capacity %lld", (long long)queue->min_after,
                     (long long)queue->capacity);
  if (status)
    destroy(&queue->head);
  else
    *out = &queue->head;
  return status;
}

/* Putting */

static situ_status check_part(const struct tuple_queue *queue, int index, const situ_tensor *part,
                              bool many) {
  situ_shape shape = part->shape;
  char have[SHAPE_STRING_SIZE], want[SHAPE_STRING_SIZE];
  if (part->type != queue->types[index])
    return INVALID("Type mismatch in tuple component %d. Expected %s, got %s", index,
                   situ_type_name(queue->types[index]), situ_type_name(part->type));
  if (many) {
    if (!shape.rank) return INVALID("Tuple component %d must have a first dimension.", index);
    shape.rank--;
    memmove(shape.dim, shape.dim + 1, sizeof *shape.dim * (size_t)shape.rank);
  }
  if (shape_compatible(&shape, &queue->shapes[index])) return NULL;
  return INVALID("Shape mismatch in tuple component %d. Expected %s, got %s", index,
                 shape_print(&queue->shapes[index], want), shape_print(&shape, have));
}

/* Element `row` of a batch. */
static situ_status slice(const situ_tensor *batch, int64_t row, situ_tensor **out) {
  situ_shape shape = batch->shape;
  shape.rank--;
  memmove(shape.dim, shape.dim + 1, sizeof *shape.dim * (size_t)shape.rank);
  const int64_t n = situ_shape_count(shape);
  if (batch->type == SITU_STRING) {
    situ_string *strings = malloc(sizeof *strings * (size_t)(n + 1));
    if (!strings) return NO_MEMORY();
    for (int64_t i = 0; i < n; i++) strings[i] = situ_tensor_string(batch, row * n + i);
    const situ_status status = situ_tensor_create_strings(shape, strings, out);
    free(strings);
    return status;
  }
  const size_t bytes = (size_t)n * situ_type_size(batch->type);
  return situ_tensor_create(batch->type, shape,
                            (const char *)situ_tensor_data(batch) + (size_t)row * bytes, out);
}

static situ_status make_element(const struct compute *compute, const struct tuple_queue *queue,
                                situ_tensor *const *parts, bool many, int64_t row,
                                struct queue_element **out) {
  struct queue_element *element =
      calloc(1, sizeof *element + sizeof(situ_tensor *) * (size_t)queue->n_parts);
  if (!element) return NO_MEMORY();
  situ_status status = NULL;
  for (int i = 0; i < queue->n_parts && !status; i++) {
    if (many)
      status = slice(parts[i], row, &element->parts[i]);
    else
      status = compute_keep(compute, i + 1, &element->parts[i]); /* input 0 is the handle */
  }
  if (status)
    queue_free(queue, element);
  else
    *out = element;
  return status;
}

static bool reserve(struct tuple_queue *queue) {
  if (queue->count < queue->room) return true;
  const int64_t room = queue->room ? queue->room * 2 : 16;
  struct queue_element **items = malloc(sizeof(struct queue_element *) * (size_t)room);
  if (!items) return false;
  for (int64_t i = 0; queue->room && i < queue->count; i++)
    items[i] = queue->items[(queue->first + i) % queue->room];
  free(queue->items);
  queue->items = items;
  queue->room = room;
  queue->first = 0;
  return true;
}

static int64_t priority_of(const struct queue_element *element) {
  return *(const int64_t *)situ_tensor_data(element->parts[0]);
}

/* Inserts an element: at the end, or in a sorted queue after those that are not greater. */
static void insert(struct tuple_queue *queue, struct queue_element *element) {
  int64_t at = queue->count++;
  for (; queue->order == QUEUE_SORTED && at; at--) {
    struct queue_element *before = queue->items[(queue->first + at - 1) % queue->room];
    if (priority_of(before) <= priority_of(element)) break;
    queue->items[(queue->first + at) % queue->room] = before;
  }
  queue->items[(queue->first + at) % queue->room] = element;
}

static situ_status put_one(const struct compute *compute, struct tuple_queue *queue,
                           struct queue_element *element) {
  situ_status status = NULL;
  pthread_mutex_lock(&queue->lock);
  while (!status && !queue->closed && queue->count >= queue->capacity)
    status = compute_wait(compute, &queue->changed, &queue->lock, "Enqueue operation");
  if (!status && queue->closed)
    status = queue->cancelled
                 ? situ_status_create(SITU_CANCELLED, "Enqueue operation was cancelled")
                 : situ_status_create(SITU_CANCELLED, "%s '%s' is closed.", kind_name(queue),
                                      queue->head.name);
  if (!status && !reserve(queue)) status = NO_MEMORY();
  if (!status) {
    insert(queue, element);
    pthread_cond_broadcast(&queue->changed);
  }
  pthread_mutex_unlock(&queue->lock);
  return status;
}

/* Waits for room; for all rows at once if they fit and the call may be retried. */
static situ_status find_room(const struct compute *compute, struct tuple_queue *queue,
                             int64_t rows) {
  situ_status status = NULL;
  if (!compute->wait_limit || rows > queue->capacity) return NULL;
  pthread_mutex_lock(&queue->lock);
  while (!status && !queue->closed && queue->count + rows > queue->capacity)
    status = compute_wait(compute, &queue->changed, &queue->lock, "Enqueue operation");
  pthread_mutex_unlock(&queue->lock);
  return status;
}

situ_status queue_put(const struct compute *compute, struct tuple_queue *queue,
                      situ_tensor *const *parts, bool many) {
  int64_t rows = 1;
  for (int i = 0; i < queue->n_parts; i++) {
    TRY(check_part(queue, i, parts[i], many));
    if (!many) continue;
    if (i && parts[i]->shape.dim[0] != rows)
      return INVALID(
          "All input tensors must have the same size in the 0th dimension. Component %d "
          "has %lld, and should have %lld",
          i, (long long)parts[i]->shape.dim[0], (long long)rows);
    rows = parts[i]->shape.dim[0];
  }
  TRY(find_room(compute, queue, rows));
  struct compute unlimited = *compute;
  unlimited.wait_limit = NULL; /* once it has begun, it must end */
  for (int64_t row = 0; row < rows; row++) {
    struct queue_element *element = NULL;
    TRY(make_element(compute, queue, parts, many, row, &element));
    const situ_status status = put_one(&unlimited, queue, element);
    if (!status) continue;
    queue_free(queue, element);
    return status;
  }
  return NULL;
}

/* Taking */

static uint64_t next_random(struct tuple_queue *queue) {
  queue->random += 0x9e3779b97f4a7c15u;
  uint64_t z = queue->random;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static struct queue_element *take_one(struct tuple_queue *queue) {
  if (queue->order == QUEUE_SHUFFLED) { /* swaps a random element to the front */
    const int64_t at = (int64_t)(next_random(queue) % (uint64_t)queue->count);
    struct queue_element **first = &queue->items[queue->first];
    struct queue_element **other = &queue->items[(queue->first + at) % queue->room];
    struct queue_element *element = *other;
    *other = *first;
    *first = element;
  }
  struct queue_element *element = queue->items[queue->first];
  queue->first = (queue->first + 1) % queue->room;
  queue->count--;
  return element;
}

/* Whether an element may be dequeued: a shuffled queue keeps some until it is closed. */
static bool may_take(const struct tuple_queue *queue) {
  return queue->count > (queue->closed ? 0 : queue->min_after);
}

static situ_status exhausted(const struct tuple_queue *queue, int64_t count) {
  return situ_status_create(SITU_OUT_OF_RANGE,
                            "%s '%s' is closed and has insufficient elements (requested %lld, "
                            "current size %lld)",
                            kind_name(queue), queue->head.name, (long long)count,
                            (long long)queue->count);
}

/* Elements that were taken go back where they were. */
static void put_back(struct tuple_queue *queue, struct queue_element *elements, int64_t taken) {
  while (queue->order == QUEUE_SORTED && elements) {
    struct queue_element *next = elements->next;
    elements->next = NULL;
    insert(queue, elements);
    elements = next;
  }
  if (queue->order == QUEUE_SORTED) return;
  queue->first = (queue->first + queue->room - taken) % queue->room;
  queue->count += taken;
  for (int64_t i = 0; elements; i++) {
    struct queue_element *next = elements->next;
    elements->next = NULL;
    queue->items[(queue->first + i) % queue->room] = elements;
    elements = next;
  }
}

situ_status queue_take(const struct compute *compute, struct tuple_queue *queue, int64_t count,
                       bool up_to, struct queue_element **out, int64_t *taken) {
  struct queue_element **end = out;
  situ_status status = NULL;
  *out = NULL;
  *taken = 0;
  pthread_mutex_lock(&queue->lock);
  /* Takes all elements at once if they fit, so that no two calls wait for each other's part. */
  const int64_t room = queue->capacity - queue->min_after;
  while (!status && !queue->closed && count <= room && queue->count - queue->min_after < count)
    status = compute_wait(compute, &queue->changed, &queue->lock, "Dequeue operation");
  if (!status && queue->closed && count <= room && queue->count < count && !(up_to && queue->count))
    status = exhausted(queue, count);
  while (!status && *taken < count) {
    if (may_take(queue)) {
      *end = take_one(queue);
      end = &(*end)->next;
      ++*taken;
      pthread_cond_broadcast(&queue->changed);
    } else if (queue->closed) {
      if (up_to && *taken) break;
      status = exhausted(queue, count);
    } else {
      status = compute_wait(compute, &queue->changed, &queue->lock, "Dequeue operation");
    }
  }
  if (status && *taken && queue->count + *taken <= queue->room) {
    put_back(queue, *out, *taken);
    *out = NULL;
  }
  pthread_mutex_unlock(&queue->lock);
  if (status) {
    queue_free(queue, *out);
    *out = NULL;
  }
  return status;
}

void queue_close(struct tuple_queue *queue, bool cancel) {
  pthread_mutex_lock(&queue->lock);
  queue->closed = true;
  queue->cancelled = queue->cancelled || cancel;
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->lock);
}
