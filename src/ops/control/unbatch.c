/* SPDX-License-Identifier: Apache-2.0
 * unbatch.c: Unbatch returns to each call of a batch its rows of a result; UnbatchGrad concatenates
 * the gradients of the calls again. */
#include <stdlib.h>
#include <time.h>

#include "ops/array/tensor_rows.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/tensor.h"

/* A tensor for, or of, the call with an id. */
struct parcel {
  int64_t id;
  situ_tensor *tensor;
  struct parcel *next;
};

struct exchange {
  struct resource head;
  pthread_mutex_t guard;
  pthread_cond_t changed;
  struct parcel *parcels;
};

static void destroy(struct resource *resource) {
  struct exchange *exchange = (struct exchange *)resource;
  while (exchange->parcels) {
    struct parcel *parcel = exchange->parcels;
    exchange->parcels = parcel->next;
    situ_tensor_release(parcel->tensor);
    free(parcel);
  }
  pthread_cond_destroy(&exchange->changed);
  pthread_mutex_destroy(&exchange->guard);
  free(exchange);
}

static const struct resource_kind exchange_kind = {"unbatcher", destroy};

static situ_status create(void *context, struct resource **out) {
  (void)context;
  struct exchange *exchange = calloc(1, sizeof *exchange);
  if (!exchange) return NO_MEMORY();
  pthread_mutex_init(&exchange->guard, NULL);
  pthread_cond_init(&exchange->changed, NULL);
  *out = &exchange->head;
  return NULL;
}

/* Adds a parcel, taking over the reference to the tensor. The lock is held. */
static situ_status put(struct exchange *exchange, int64_t id, situ_tensor *tensor) {
  struct parcel *parcel = malloc(sizeof *parcel);
  if (!parcel) {
    situ_tensor_release(tensor);
    return NO_MEMORY();
  }
  *parcel = (struct parcel){id, tensor, exchange->parcels};
  exchange->parcels = parcel;
  pthread_cond_broadcast(&exchange->changed);
  return NULL;
}

/* Removes the parcel of an id; NULL if it is not there. The lock is held. */
static situ_tensor *take(struct exchange *exchange, int64_t id) {
  for (struct parcel **at = &exchange->parcels; *at; at = &(*at)->next) {
    struct parcel *parcel = *at;
    if (parcel->id != id) continue;
    situ_tensor *tensor = parcel->tensor;
    *at = parcel->next;
    free(parcel);
    return tensor;
  }
  return NULL;
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* Waits for the parcel of an id; timeout < 0: forever. The lock is held. */
static situ_status await(const struct compute *compute, struct exchange *exchange, int64_t id,
                         int64_t timeout, situ_tensor **out) {
  int64_t deadline;
  if (__builtin_add_overflow(now(), timeout, &deadline)) deadline = INT64_MAX;
  while (!(*out = take(exchange, id))) {
    if (timeout >= 0 && now() >= deadline)
      return situ_status_create(SITU_DEADLINE_EXCEEDED,
                                "Batched data did not arrive within timeout window.");
    TRY(compute_wait(compute, &exchange->changed, &exchange->guard, "Unbatch operation"));
  }
  return NULL;
}

/* Inputs `index` and `id` of a call. */
static situ_status check_index(const struct compute *compute, int index, int id) {
  const situ_shape *shape = &compute->in[index]->shape;
  if (compute->in[id]->shape.rank)
    return INVALID("Input id should be scalar; Got rank: %d", compute->in[id]->shape.rank);
  if (shape->rank != 2 || shape->dim[1] != 3)
    return INVALID("Wrong shape for index tensor. Expected 1st dimension size to be 3");
  return NULL;
}

static const int64_t *index_of(const struct compute *compute, int input) {
  return situ_tensor_data(compute->in[input]);
}

/* Distributes the rows to the calls. The lock is held. */
static situ_status distribute(const struct compute *compute, struct exchange *exchange) {
  const int64_t *row = index_of(compute, 1);
  for (int64_t i = 0; i < compute->in[1]->shape.dim[0]; i++, row += 3) {
    situ_tensor *part;
    TRY(tensor_rows_slice(compute->in[0], row[1], row[2], &part));
    TRY(put(exchange, row[0], part));
  }
  return NULL;
}

static situ_status compute_unbatch(struct compute *compute) {
  struct resource *resource;
  TRY(check_index(compute, 1, 2));
  TRY(compute_find_resource(compute, &exchange_kind, create, NULL, &resource));
  struct exchange *exchange = (struct exchange *)resource;
  pthread_mutex_lock(&exchange->guard);
  situ_status status = distribute(compute, exchange);
  if (!status)
    status = await(compute, exchange, *index_of(compute, 2),
                   call_integer(compute->call, "timeout_micros"), &compute->out[0]);
  pthread_mutex_unlock(&exchange->guard);
  resource_release(resource);
  return status;
}

/* Concatenates the gradients of all calls of the batch. The lock is held. */
static situ_status collect(struct compute *compute, struct exchange *exchange) {
  const int64_t n = compute->in[1]->shape.dim[0], *row = index_of(compute, 1);
  situ_tensor **parts = calloc((size_t)n, sizeof *parts);
  situ_status status = parts ? NULL : NO_MEMORY();
  for (int64_t i = 0; !status && i < n; i++)
    status = await(compute, exchange, row[3 * i], -1, &parts[i]);
  if (!status) status = tensor_rows_concat(parts, n, 0, &compute->out[0]);
  for (int64_t i = 0; parts && i < n; i++) {
    if (status && parts[i]) /* the call may be retried */
      situ_status_release(put(exchange, row[3 * i], situ_tensor_retain(parts[i])));
    situ_tensor_release(parts[i]);
  }
  free(parts);
  return status;
}

static situ_status compute_unbatch_grad(struct compute *compute) {
  struct resource *resource;
  situ_tensor *grad;
  TRY(check_index(compute, 1, 3));
  TRY(compute_keep(compute, 2, &grad));
  situ_status status = compute_find_resource(compute, &exchange_kind, create, NULL, &resource);
  if (status) {
    situ_tensor_release(grad);
    return status;
  }
  struct exchange *exchange = (struct exchange *)resource;
  pthread_mutex_lock(&exchange->guard);
  status = put(exchange, *index_of(compute, 3), grad);
  if (!status && compute->in[1]->shape.dim[0]) status = collect(compute, exchange);
  if (status) situ_tensor_release(take(exchange, *index_of(compute, 3)));
  pthread_mutex_unlock(&exchange->guard);
  if (!status && !compute->out[0])
    status = tensor_rows_slice(compute->in[0], 0, 0, &compute->out[0]);
  resource_release(resource);
  return status;
}

static situ_status rows_shape(struct call *call) {
  call->out[0].shape = call->in[0].shape;
  if (call->in[0].shape.rank > 0) call->out[0].shape.dim[0] = SITU_ANY;
  return NULL;
}

static void unbatch_grad(struct gradient *g) {
  g->dx[0] = gradient_emit(g, "UnbatchGrad", TERMS(g->in[0], g->in[1], g->dy[0], g->in[2]),
                           ATTRS(situ_attr_string("shared_name", g->node)));
}

static const struct op_def op_defs[] = {
    {.name = "Unbatch",
     .inputs = "batched_tensor:T batch_index:int64[?,3] id:int64",
     .outputs = "unbatched_tensor:T",
     .attrs = "timeout_micros:int container:string='' shared_name:string='' T:type",
     .python = "",
     .doc = "Returns the rows of a batch that belong to this call; waits for the call that has the "
            "batch.",
     .args = "batched_tensor: Result of the batch, or an empty tensor.\n"
             "batch_index: Output batch_index of Batch.\n"
             "id: Output id of Batch.\n"
             "timeout_micros: How long to wait for the batch.",
     .devices = "CPU",
     .flags = OP_STATEFUL | OP_BLOCKS,
     .shape = rows_shape,
     .compute = compute_unbatch,
     .grad = unbatch_grad},
    {.name = "UnbatchGrad",
     .inputs = "original_input:T batch_index:int64[?,3] grad:T id:int64",
     .outputs = "batched_grad:T",
     .attrs = "container:string='' shared_name:string='' T:type",
     .python = "",
     .doc = "The gradient of Unbatch: joins the gradients of the calls of a batch.",
     .args = "original_input: Input batched_tensor of Unbatch.\n"
             "batch_index: Output batch_index of Batch.\n"
             "grad: Gradient of the rows of this call.\n"
             "id: Output id of Batch.",
     .devices = "CPU",
     .flags = OP_STATEFUL | OP_NO_GRADIENT | OP_BLOCKS,
     .shape = rows_shape,
     .compute = compute_unbatch_grad},
};

OP_FAMILY(unbatch, op_defs);
