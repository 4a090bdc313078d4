/* SPDX-License-Identifier: Apache-2.0
 * queue_ops.c: queue ops. */
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"
#include "ops/state/queue.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

static situ_status compute_queue(struct compute *compute) {
  return compute_resource(compute, &queue_kind, queue_create, compute->call);
}

static situ_status find_queue(const struct compute *compute, struct tuple_queue **out) {
  struct resource *resource = NULL;
  TRY(compute_handle(compute, 0, &queue_kind, &resource));
  *out = (struct tuple_queue *)resource;
  return NULL;
}

static situ_status enqueue(struct compute *compute, bool many) {
  struct tuple_queue *queue = NULL;
  TRY(find_queue(compute, &queue));
  const int n = compute->call->n_in - 1;
  if (n != queue->n_parts)
    return INVALID("Wrong number of components in tuple. Expected %d, got %d", queue->n_parts, n);
  return queue_put(compute, queue, compute->in + 1, many);
}

static situ_status compute_enqueue(struct compute *compute) { return enqueue(compute, false); }
static situ_status compute_enqueue_many(struct compute *compute) { return enqueue(compute, true); }

/* Dequeueing */

/* Sets the shapes of outputs from the attribute, if known. `rows`: the first dimension; none for a
 * single element. */
static situ_status known_shapes(struct call *call, bool many, int64_t rows) {
  const struct attr_value *shapes = call_attr(call, "_output_shapes");
  for (int i = 0; i < call->n_out; i++) {
    situ_shape shape = i < shapes->shapes.count ? shapes->shapes.items[i] : SITU_ANY_SHAPE;
    if (many && shape.rank >= 0 && shape.rank < SITU_MAX_RANK) {
      memmove(shape.dim + 1, shape.dim, sizeof *shape.dim * (size_t)shape.rank++);
      shape.dim[0] = rows;
    }
    call->out[i].shape = shape;
  }
  return NULL;
}

static situ_status dequeue_shape(struct call *call) { return known_shapes(call, false, 0); }

static situ_status dequeue_many_shape(struct call *call) {
  int64_t n = SITU_ANY;
  bool known = false;
  TRY(op_host_scalar(call, 1, &n, &known));
  return known_shapes(call, true, known ? n : SITU_ANY);
}

static situ_status dequeue_up_to_shape(struct call *call) {
  return known_shapes(call, true, SITU_ANY);
}

static situ_status compute_dequeue(struct compute *compute) {
  struct tuple_queue *queue = NULL;
  struct queue_element *element = NULL;
  int64_t taken = 0;
  TRY(find_queue(compute, &queue));
  if (compute->call->n_out != queue->n_parts)
    return INVALID("The queue has %d components, not %d.", queue->n_parts, compute->call->n_out);
  TRY(queue_take(compute, queue, 1, false, &element, &taken));
  for (int i = 0; i < queue->n_parts; i++) compute->out[i] = situ_tensor_retain(element->parts[i]);
  queue_free(queue, element);
  return NULL;
}

/* The shape of a batch of component `part`: its elements have equal shapes, or are padded. */
static situ_status batch_shape(const struct tuple_queue *queue, const struct queue_element *list,
                               int part, int64_t count, situ_shape *out) {
  situ_shape shape = list ? list->parts[part]->shape : queue->shapes[part];
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  for (const struct queue_element *e = list; e; e = e->next) {
    const situ_shape *other = &e->parts[part]->shape;
    const bool alike =
        queue->order == QUEUE_PADDED ? other->rank == shape.rank : shape_equal(other, &shape);
    if (!alike)
      return INVALID("Elements of shapes %s and %s of component %d cannot make a batch.",
                     shape_print(&shape, a), shape_print(other, b), part);
    for (int d = 0; d < shape.rank; d++) shape.dim[d] = max_i64(shape.dim[d], other->dim[d]);
  }
  if (!shape_is_known(&shape) || shape.rank == SITU_MAX_RANK)
    return INVALID("A batch needs elements of a known shape: component %d has %s.", part,
                   shape_print(&shape, a));
  memmove(shape.dim + 1, shape.dim, sizeof *shape.dim * (size_t)shape.rank++);
  shape.dim[0] = count;
  *out = shape;
  return NULL;
}

/* The offset of element `index` of a component in a batch of shape `room`, which may be larger in
 * every dimension. */
static int64_t padded_index(const situ_shape *shape, const situ_shape *room, int64_t index) {
  int64_t at = 0, step = 1;
  for (int d = shape->rank - 1; d >= 0; d--) {
    at += index % shape->dim[d] * step;
    index /= shape->dim[d];
    step *= room->dim[d + 1]; /* without the batch dimension */
  }
  return at;
}

static situ_status join_strings(const struct queue_element *list, int part, const situ_shape *shape,
                                situ_tensor **out) {
  const int64_t n = situ_shape_count(*shape), size = n / max_i64(1, shape->dim[0]);
  situ_string *strings = calloc((size_t)n + 1, sizeof *strings);
  if (!strings) return NO_MEMORY();
  situ_string *to = strings;
  for (const struct queue_element *e = list; e; e = e->next, to += size) {
    const situ_tensor *from = e->parts[part];
    const int64_t count = situ_shape_count(from->shape);
    for (int64_t i = 0; i < count; i++)
      to[padded_index(&from->shape, shape, i)] = situ_tensor_string(from, i);
  }
  const situ_status status = situ_tensor_create_strings(*shape, strings, out);
  free(strings);
  return status;
}

/* Copies an element into a batch that may be larger in every dimension. */
static void copy_padded(char *to, const situ_shape *room, const char *from, const situ_shape *shape,
                        int axis, size_t size) {
  if (axis == shape->rank) {
    memcpy(to, from, size);
    return;
  }
  size_t to_step = size, from_step = size;
  for (int d = axis + 1; d < shape->rank; d++) {
    to_step *= (size_t)room->dim[d + 1]; /* without the batch dimension */
    from_step *= (size_t)shape->dim[d];
  }
  for (int64_t i = 0; i < shape->dim[axis]; i++)
    copy_padded(to + (size_t)i * to_step, room, from + (size_t)i * from_step, shape, axis + 1,
                size);
}

static situ_status join_numbers(const struct queue_element *list, int part, situ_type type,
                                const situ_shape *shape, situ_tensor **out) {
  TRY(tensor_create_raw(type, *shape, out));
  char *to = (*out)->buffer->host;
  const size_t bytes = (*out)->bytes / (size_t)max_i64(1, shape->dim[0]);
  for (const struct queue_element *e = list; e; e = e->next, to += bytes) {
    const situ_tensor *from = e->parts[part];
    if (from->bytes == bytes) {
      if (bytes) memcpy(to, situ_tensor_data(from), bytes);
      continue;
    }
    memset(to, 0, bytes);
    copy_padded(to, shape, situ_tensor_data(from), &from->shape, 0, situ_type_size(type));
  }
  return NULL;
}

static situ_status join(const struct compute *compute, const struct tuple_queue *queue,
                        const struct queue_element *list, int64_t count) {
  for (int i = 0; i < queue->n_parts; i++) {
    situ_shape shape;
    TRY(batch_shape(queue, list, i, count, &shape));
    TRY(queue->types[i] == SITU_STRING
            ? join_strings(list, i, &shape, &compute->out[i])
            : join_numbers(list, i, queue->types[i], &shape, &compute->out[i]));
  }
  return NULL;
}

static situ_status dequeue_many(struct compute *compute, bool up_to) {
  struct tuple_queue *queue = NULL;
  struct queue_element *list = NULL;
  int64_t taken = 0, n = call_element(compute->call, 1, 0);
  TRY(find_queue(compute, &queue));
  if (compute->call->n_out != queue->n_parts)
    return INVALID("The queue has %d components, not %d.", queue->n_parts, compute->call->n_out);
  if (n < 0) return INVALID("DequeueManyOp requested %lld < 0 elements", (long long)n);
  if (n) TRY(queue_take(compute, queue, n, up_to, &list, &taken));
  const situ_status status = join(compute, queue, list, taken);
  queue_free(queue, list);
  return status;
}

static situ_status compute_dequeue_many(struct compute *compute) {
  return dequeue_many(compute, false);
}

static situ_status compute_dequeue_up_to(struct compute *compute) {
  return dequeue_many(compute, true);
}

/* The rest */

static situ_status compute_close(struct compute *compute) {
  struct tuple_queue *queue = NULL;
  TRY(find_queue(compute, &queue));
  queue_close(queue, call_bool(compute->call, "cancel_pending_enqueues"));
  return NULL;
}

static situ_status compute_size(struct compute *compute) {
  struct tuple_queue *queue = NULL;
  void *data = NULL;
  TRY(find_queue(compute, &queue));
  TRY(compute_output(compute, 0, SITU_SCALAR, &data));
  pthread_mutex_lock(&queue->lock);
  *(int32_t *)data = (int32_t)queue->count;
  pthread_mutex_unlock(&queue->lock);
  return NULL;
}

static situ_status compute_is_closed(struct compute *compute) {
  struct tuple_queue *queue = NULL;
  void *data = NULL;
  TRY(find_queue(compute, &queue));
  TRY(compute_output(compute, 0, SITU_SCALAR, &data));
  pthread_mutex_lock(&queue->lock);
  *(uint8_t *)data = queue->closed;
  pthread_mutex_unlock(&queue->lock);
  return NULL;
}

#define QUEUE(op, more, text)                                                                 \
  {                                                                                           \
    .name = op, .inputs = "", .outputs = "handle:resource",                                   \
    .attrs = "component_types:list(type) shapes:list(shape)=[] capacity:int=-1 " more         \
             "container:string='' shared_name:string=''",                                     \
    .python = "", .doc = text, .devices = EVERYWHERE_PREFER_CPU,                              \
    .flags = OP_STATEFUL | OP_NO_GRADIENT, .shape = op_scalar_shape, .compute = compute_queue \
  }

#define USER(op, in, out, attributes, text, kinds, shape_, compute_)                               \
  {                                                                                                \
    .name = op, .inputs = "handle:resource" in, .outputs = out, .attrs = attributes, .python = "", \
    .doc = text, .devices = EVERYWHERE_PREFER_CPU,                                                 \
    .flags = OP_STATEFUL | OP_NO_GRADIENT | (kinds), .shape = shape_, .compute = compute_          \
  }

#define ENQUEUE "Tcomponents:list(type) timeout_ms:int=-1"
#define DEQUEUE "component_types:list(type) timeout_ms:int=-1 _output_shapes:list(shape)=[]"

static const struct op_def op_defs[] = {
    QUEUE("FIFOQueueV2", "", "A first-in, first-out queue."),
    QUEUE("RandomShuffleQueueV2", "min_after_dequeue:int=0 seed:int=0 seed2:int=0 ",
          "A queue that dequeues elements in random order."),
    QUEUE("PaddingFIFOQueueV2", "",
          "A first-in, first-out queue that pads elements of different shapes with zeros when it "
          "batches them."),
    QUEUE("PriorityQueueV2", "",
          "A priority queue: dequeues the element with the smallest int64 priority, its first "
          "component, first."),
    USER("QueueEnqueueV2", " components:Tcomponents", "", ENQUEUE,
         "Enqueues an element; waits while the queue is full.", OP_BLOCKS | OP_UNBLOCKS,
         op_no_shape, compute_enqueue),
    USER("QueueEnqueueManyV2", " components:Tcomponents", "", ENQUEUE,
         "Enqueues the slices of tensors along the first dimension; waits while the queue is full.",
         OP_BLOCKS | OP_UNBLOCKS, op_no_shape, compute_enqueue_many),
    USER("QueueDequeueV2", "", "components:component_types", DEQUEUE,
         "Dequeues an element; waits while the queue is empty.", OP_BLOCKS, dequeue_shape,
         compute_dequeue),
    USER("QueueDequeueManyV2", " n:int32[]", "components:component_types", DEQUEUE,
         "Dequeues a batch of n elements; waits until there are as many.", OP_BLOCKS,
         dequeue_many_shape, compute_dequeue_many),
    USER("QueueDequeueUpToV2", " n:int32[]", "components:component_types", DEQUEUE,
         "Dequeues a batch of n elements, or of fewer if the queue is closed.", OP_BLOCKS,
         dequeue_up_to_shape, compute_dequeue_up_to),
    USER("QueueCloseV2", "", "", "cancel_pending_enqueues:bool=false",
         "Closes a queue: enqueuing fails; the remaining elements can be dequeued.", 0, op_no_shape,
         compute_close),
    USER("QueueSizeV2", "", "size:int32", "", "The number of elements in a queue.", 0,
         op_scalar_shape, compute_size),
    USER("QueueIsClosedV2", "", "is_closed:bool", "", "Whether a queue is closed.", 0,
         op_scalar_shape, compute_is_closed),
};

OP_FAMILY(queue_ops, op_defs);
