/* SPDX-License-Identifier: Apache-2.0
 * batch.c: Batch joins calls of several threads to one batch. The call that completes the batch, or
 * the last one when its time is up, returns the concatenated inputs; the other calls return empty
 * tensors. */
#include <stdlib.h>
#include <time.h>

#include "ops/array/tensor_rows.h"
#include "ops/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* One call; on its stack. */
struct task {
  situ_tensor *const *in;
  int n_in;
  int64_t rows, id;
  struct task *next;
};

struct batch {
  struct task *first, *last;
  int64_t rows, deadline; /* in microseconds */
  int members;            /* calls that have not returned yet */
  bool is_closed, is_done, has_failed;
};

struct batcher {
  struct resource head;
  pthread_mutex_t guard;
  pthread_cond_t changed;
  struct batch *open; /* takes more tasks; or NULL */
};

enum { SLICE_MICROS = 20000 }; /* how often a waiting call checks for cancellation */

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

static void destroy(struct resource *resource) {
  struct batcher *batcher = (struct batcher *)resource;
  pthread_cond_destroy(&batcher->changed);
  pthread_mutex_destroy(&batcher->guard);
  free(batcher);
}

static const struct resource_kind batcher_kind = {"batcher", destroy};

static situ_status create(void *context, struct resource **out) {
  (void)context;
  struct batcher *batcher = calloc(1, sizeof *batcher);
  if (!batcher) return NO_MEMORY();
  pthread_mutex_init(&batcher->guard, NULL);
  pthread_cond_init(&batcher->changed, NULL);
  *out = &batcher->head;
  return NULL;
}

static void close_batch(struct batcher *batcher, struct batch *batch) {
  batch->is_closed = true;
  if (batcher->open == batch) batcher->open = NULL;
  pthread_cond_broadcast(&batcher->changed);
}

/* Waits until a time, at most a slice. The lock is held. */
static void wait_until(struct batcher *batcher, int64_t deadline) {
  const int64_t soon = now() + SLICE_MICROS, until = deadline < soon ? deadline : soon;
  const struct timespec time = {(time_t)(until / 1000000), (long)(until % 1000000) * 1000};
  pthread_cond_timedwait(&batcher->changed, &batcher->guard, &time);
}

/* Adds a task to the open batch, or to a new one. */
static situ_status join(struct batcher *batcher, struct task *task, int64_t most, int64_t timeout,
                        struct batch **out) {
  if (batcher->open && batcher->open->rows + task->rows > most) close_batch(batcher, batcher->open);
  if (!batcher->open) {
    batcher->open = calloc(1, sizeof *batcher->open);
    if (!batcher->open) return NO_MEMORY();
    if (__builtin_add_overflow(now(), timeout, &batcher->open->deadline))
      batcher->open->deadline = INT64_MAX;
  }
  struct batch *batch = *out = batcher->open;
  if (batch->first && batch->first->n_in != task->n_in)
    return INVALID("Calls of one batch must have the same number of tensors: %d and %d",
                   batch->first->n_in, task->n_in);
  *(batch->last ? &batch->last->next : &batch->first) = task;
  batch->last = task;
  batch->rows += task->rows;
  batch->members++;
  if (batch->rows >= most) close_batch(batcher, batch);
  return NULL;
}

/* The smallest allowed size that holds the rows. */
static int64_t padded_size(const struct call *call, int64_t rows) {
  const struct attr_value *allowed = call_attr(call, "allowed_batch_sizes");
  for (int64_t i = 0; i < allowed->list.count; i++)
    if (allowed->list.items[i] >= rows) return allowed->list.items[i];
  return rows;
}

/* The outputs of the call that gets the batch. */
static situ_status return_batch(struct compute *compute, const struct batch *batch) {
  const struct call *call = compute->call;
  const int64_t size = padded_size(call, batch->rows);
  int64_t n = 0, at = 0;
  void *index;
  for (const struct task *task = batch->first; task; task = task->next) n++;
  situ_tensor **parts = malloc((size_t)(n + 1) * sizeof *parts);
  situ_status status = parts ? NULL : NO_MEMORY();
  for (int i = 0; !status && i < call->n_in; i++) {
    int64_t k = 0;
    for (const struct task *task = batch->first; task; task = task->next) parts[k++] = task->in[i];
    status = tensor_rows_concat(parts, n, size, &compute->out[i]);
  }
  free(parts);
  if (!status) status = compute_output(compute, call->n_in, (situ_shape){2, {n, 3}}, &index);
  int64_t *row = status ? NULL : index;
  for (const struct task *task = batch->first; row && task; task = task->next, row += 3) {
    row[0] = task->id, row[1] = at, row[2] = at += task->rows;
  }
  return status;
}

/* The outputs of the other calls. */
static situ_status return_nothing(struct compute *compute) {
  const struct call *call = compute->call;
  void *index;
  for (int i = 0; i < call->n_in; i++)
    TRY(tensor_rows_slice(compute->in[i], 0, 0, &compute->out[i]));
  return compute_output(compute, call->n_in, (situ_shape){2, {0, 3}}, &index);
}

/* Waits for the batch and returns its outputs. The lock is held. */
static situ_status finish(struct compute *compute, struct batcher *batcher, struct batch *batch,
                          struct task *task) {
  while (!batch->is_closed) {
    wait_until(batcher, batch->deadline);
    pthread_mutex_unlock(&batcher->guard);
    const situ_status stop = compute_ask(compute, "Batch operation");
    pthread_mutex_lock(&batcher->guard);
    if (stop || now() >= batch->deadline) close_batch(batcher, batch); /* others wait for it */
    situ_status_release(stop);
  }
  const bool is_last = batch->last == task;
  while (!is_last && !batch->is_done) wait_until(batcher, INT64_MAX);
  pthread_mutex_unlock(&batcher->guard);
  situ_status status = is_last ? return_batch(compute, batch) : return_nothing(compute);
  pthread_mutex_lock(&batcher->guard);
  if (is_last) {
    batch->is_done = true;
    batch->has_failed = status;
    pthread_cond_broadcast(&batcher->changed);
  } else if (!status && batch->has_failed) {
    status = INVALID("The batch of this call could not be formed");
  }
  if (!--batch->members) free(batch);
  return status;
}

static situ_status count_rows(const struct compute *compute, int64_t most, int64_t *rows) {
  for (int i = 0; i < compute->call->n_in; i++) {
    const situ_shape *shape = &compute->in[i]->shape;
    if (!shape->rank) return INVALID("Batching input tensors must have at least one dimension");
    if (i && shape->dim[0] != *rows)
      return INVALID(
          "Batching input tensors supplied in a given op invocation must have equal "
          "0th-dimension size");
    *rows = shape->dim[0];
  }
  if (*rows > most)
    return INVALID("Task size %lld is larger than maximum input batch size %lld", (long long)*rows,
                   (long long)most);
  return NULL;
}

static situ_status compute_batch(struct compute *compute) {
  static _Atomic int64_t ids;
  const struct call *call = compute->call;
  const int64_t most = call_integer(call, "max_batch_size");
  struct task task = {.in = compute->in, .n_in = call->n_in, .id = ids++};
  struct resource *resource;
  struct batch *batch = NULL;
  void *id;
  TRY(count_rows(compute, most, &task.rows));
  TRY(compute_output(compute, call->n_in + 1, SITU_SCALAR, &id));
  *(int64_t *)id = task.id;
  TRY(compute_find_resource(compute, &batcher_kind, create, NULL, &resource));
  struct batcher *batcher = (struct batcher *)resource;
  pthread_mutex_lock(&batcher->guard);
  situ_status status =
      join(batcher, &task, most, call_integer(call, "batch_timeout_micros"), &batch);
  if (!status) status = finish(compute, batcher, batch, &task);
  pthread_mutex_unlock(&batcher->guard);
  resource_release(resource);
  return status;
}

static situ_status batch_shape(struct call *call) {
  const struct attr_value *allowed = call_attr(call, "allowed_batch_sizes");
  for (int64_t i = 0; i < allowed->list.count; i++)
    if (i && allowed->list.items[i] <= allowed->list.items[i - 1])
      return INVALID("allowed_batch_sizes entries must be monotonically increasing");
  if (allowed->list.count &&
      allowed->list.items[allowed->list.count - 1] != call_integer(call, "max_batch_size"))
    return INVALID("final entry in allowed_batch_sizes must equal max_batch_size");
  for (int i = 0; i < call->n_in; i++) {
    call->out[i].shape = call->in[i].shape;
    if (call->in[i].shape.rank > 0) call->out[i].shape.dim[0] = SITU_ANY;
  }
  call->out[call->n_in].shape = (situ_shape){2, {SITU_ANY, 3}};
  call->out[call->n_in + 1].shape = SITU_SCALAR;
  return NULL;
}

static const struct op_def op_defs[] = {
    {.name = "Batch",
     .inputs = "in_tensors:T",
     .outputs = "batched_tensors:T batch_index:int64 id:int64",
     .attrs = "num_batch_threads:int max_batch_size:int>=1 max_enqueued_batches:int=10 "
              "batch_timeout_micros:int allowed_batch_sizes:list(int)=[] grad_timeout_micros:int "
              "container:string='' shared_name:string='' batching_queue:string='' T:list(type)",
     .python = "",
     .doc = "Joins concurrent calls to one batch, which one of them returns; the others return "
            "empty tensors.",
     .args = "in_tensors: Tensors to concatenate along their first dimension, of one size.\n"
             "num_batch_threads: Number of threads in TensorFlow; here batches are formed in the "
             "threads of the calls.\n"
             "max_batch_size: Maximum number of rows of a batch.\n"
             "max_enqueued_batches: Length of the queue in TensorFlow; here calls wait.\n"
             "batch_timeout_micros: How long a call waits for others.\n"
             "allowed_batch_sizes: Increasing sizes of batches; the first row is repeated to fill "
             "them.\n"
             "grad_timeout_micros: Timeout of the gradient.\n"
             "batching_queue: Not used.",
     .devices = "CPU",
     .flags = OP_STATEFUL | OP_NO_GRADIENT | OP_BLOCKS,
     .shape = batch_shape,
     .compute = compute_batch},
};

OP_FAMILY(batch, op_defs);
