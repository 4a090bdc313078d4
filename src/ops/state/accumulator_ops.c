/* SPDX-License-Identifier: Apache-2.0
 * accumulator_ops.c: conditional accumulators: gradients of one step are added; who takes the mean
 * waits for a number of them and begins the next step. */
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"
#include "ops/state/accumulator.h"
#include "schema/schema.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

static void destroy(struct resource *resource) {
  struct accumulator *accumulator = (struct accumulator *)resource;
  fork_unregister(&accumulator->fork);
  pthread_mutex_destroy(&accumulator->lock);
  pthread_cond_destroy(&accumulator->changed);
  situ_tensor_release(accumulator->sum);
  accumulator_rows_clear(&accumulator->rows);
  free(accumulator);
}

static const struct resource_kind accumulator_kind = {"conditional accumulator", destroy};

static void init_locks(void *context) {
  struct accumulator *accumulator = context;
  pthread_mutex_init(&accumulator->lock, NULL);
  pthread_cond_init(&accumulator->changed, NULL);
}

static situ_status create(void *context, struct resource **out) {
  const struct call *call = context;
  struct accumulator *accumulator = calloc(1, sizeof *accumulator);
  if (!accumulator) return NO_MEMORY();
  init_locks(accumulator);
  fork_register(&accumulator->fork, init_locks, accumulator);
  accumulator->type = call_type(call, "dtype");
  accumulator->shape = *call_attr(call, "shape")->shape;
  accumulator->sparse = !strncmp(call->schema->op->name, "Sparse", 6);
  accumulator->mean = !strcmp(call_text(call, "reduction_type"), "MEAN");
  *out = &accumulator->head;
  return NULL;
}

static situ_status compute_accumulator(struct compute *compute) {
  return compute_resource(compute, &accumulator_kind, create, compute->call);
}

static situ_status find(const struct compute *compute, bool sparse, situ_type type,
                        struct accumulator **out) {
  struct resource *resource = NULL;
  TRY(compute_handle(compute, 0, &accumulator_kind, &resource));
  struct accumulator *accumulator = (struct accumulator *)resource;
  if (accumulator->sparse != sparse)
    return INVALID("The accumulator '%s' is for %s gradients.", resource->name,
                   sparse ? "dense" : "sparse");
  if (accumulator->type != type)
    return INVALID("The accumulator '%s' has gradients of type %s, not %s.", resource->name,
                   situ_type_name(accumulator->type), situ_type_name(type));
  *out = accumulator;
  return NULL;
}

/* Applying */

static situ_status add_dense(struct accumulator *accumulator, const situ_tensor *gradient) {
  char have[SHAPE_STRING_SIZE], want[SHAPE_STRING_SIZE];
  const situ_shape *shape = accumulator->count ? &accumulator->sum->shape : &accumulator->shape;
  if (!shape_compatible(shape, &gradient->shape))
    return INVALID("Shape mismatch: expected %s, got %s", shape_print(shape, want),
                   shape_print(&gradient->shape, have));
  if (accumulator->count) {
    accumulator_add(accumulator->type, accumulator->sum->buffer->host, situ_tensor_data(gradient),
                    situ_shape_count(gradient->shape));
    return NULL;
  }
  TRY(tensor_create_raw(accumulator->type, gradient->shape, &accumulator->sum));
  if (gradient->bytes)
    memcpy(accumulator->sum->buffer->host, situ_tensor_data(gradient), gradient->bytes);
  return NULL;
}

static situ_status add_sparse(struct accumulator *accumulator, const struct compute *compute) {
  const bool known = call_bool(compute->call, "has_known_shape");
  const struct sparse_gradient gradient = {compute->in[2], compute->in[3],
                                           known ? compute->in[4] : NULL};
  TRY(accumulator_rows_check(accumulator, &gradient));
  return accumulator_rows_add(accumulator, &gradient);
}

static situ_status apply(struct compute *compute, bool sparse) {
  struct accumulator *accumulator = NULL;
  situ_status status = NULL;
  const int64_t step = call_element(compute->call, 1, 0);
  TRY(find(compute, sparse, call_type(compute->call, "dtype"), &accumulator));
  pthread_mutex_lock(&accumulator->lock);
  if (step >= accumulator->step) { /* else it is stale */
    status = sparse ? add_sparse(accumulator, compute) : add_dense(accumulator, compute->in[2]);
    accumulator->count += !status;
    pthread_cond_broadcast(&accumulator->changed);
  }
  pthread_mutex_unlock(&accumulator->lock);
  return status;
}

static situ_status compute_apply(struct compute *compute) { return apply(compute, false); }
static situ_status compute_apply_sparse(struct compute *compute) { return apply(compute, true); }

/* Taking */

/* Waits for enough gradients; returns with the lock held unless there is an error. */
static situ_status await(const struct compute *compute, struct accumulator *accumulator) {
  const int64_t needed = call_element(compute->call, 1, 0);
  situ_status status = NULL;
  if (needed < 1)
    return INVALID("Argument num_required must be positive, but got %lld", (long long)needed);
  pthread_mutex_lock(&accumulator->lock);
  while (!status && accumulator->count < needed)
    status = compute_wait(compute, &accumulator->changed, &accumulator->lock, "TakeGrad operation");
  if (status) pthread_mutex_unlock(&accumulator->lock);
  return status;
}

/* Begins the next step and releases the lock. */
static void advance(struct accumulator *accumulator) {
  accumulator->count = 0;
  accumulator->step++;
  pthread_mutex_unlock(&accumulator->lock);
}

static situ_status compute_take(struct compute *compute) {
  struct accumulator *accumulator = NULL;
  TRY(find(compute, false, call_type(compute->call, "dtype"), &accumulator));
  TRY(await(compute, accumulator));
  if (accumulator->mean)
    accumulator_divide(accumulator->type, accumulator->sum->buffer->host,
                       situ_shape_count(accumulator->sum->shape), accumulator->count);
  compute->out[0] = accumulator->sum;
  accumulator->sum = NULL;
  advance(accumulator);
  return NULL;
}

/* The shape of the gradient: known dimensions of the accumulator, then those of the values; -1 for
 * an unknown number of rows. */
static situ_status put_shape(const struct compute *compute, const struct accumulator *accumulator) {
  const situ_shape *known = &accumulator->shape, *values = &accumulator->rows.shape;
  void *data = NULL;
  situ_shape vector = {.rank = 1, .dim = {values->rank}};
  TRY(compute_output(compute, 2, vector, &data));
  int64_t *dims = data;
  for (int d = 0; d < values->rank; d++) {
    dims[d] = d ? values->dim[d] : -1;
    if (d < known->rank && known->dim[d] != SITU_ANY) dims[d] = known->dim[d];
  }
  return NULL;
}

static situ_status put_rows(const struct compute *compute, const struct accumulator *accumulator) {
  const struct sparse_rows *rows = &accumulator->rows;
  situ_shape shape = rows->shape, vector = {.rank = 1, .dim = {rows->n}};
  void *indices = NULL, *values = NULL;
  shape.dim[0] = rows->n;
  TRY(compute_output(compute, 0, vector, &indices));
  TRY(compute_output(compute, 1, shape, &values));
  const int64_t size = (int64_t)(rows->row_bytes / situ_type_size(accumulator->type));
  if (rows->n) memcpy(indices, rows->indices, sizeof *rows->indices * (size_t)rows->n);
  if (rows->n && rows->row_bytes) memcpy(values, rows->values, (size_t)rows->n * rows->row_bytes);
  for (int64_t i = 0; accumulator->mean && i < rows->n; i++)
    accumulator_divide(accumulator->type, (char *)values + (size_t)i * rows->row_bytes, size,
                       rows->counts[i]);
  return put_shape(compute, accumulator);
}

static situ_status compute_take_sparse(struct compute *compute) {
  struct accumulator *accumulator = NULL;
  TRY(find(compute, true, call_type(compute->call, "dtype"), &accumulator));
  TRY(await(compute, accumulator));
  const situ_status status = put_rows(compute, accumulator);
  accumulator_rows_clear(&accumulator->rows);
  advance(accumulator);
  return status;
}

static situ_status take_shape(struct call *call) {
  call->out[0].shape = SITU_ANY_SHAPE;
  return NULL;
}

static situ_status take_sparse_shape(struct call *call) {
  call->out[0].shape = (situ_shape){.rank = 1, .dim = {SITU_ANY}};
  call->out[1].shape = SITU_ANY_SHAPE;
  call->out[2].shape = (situ_shape){.rank = 1, .dim = {SITU_ANY}};
  return NULL;
}

/* Both kinds */

static situ_status find_any(const struct compute *compute, struct accumulator **out) {
  struct resource *resource = NULL;
  TRY(compute_handle(compute, 0, &accumulator_kind, &resource));
  *out = (struct accumulator *)resource;
  return NULL;
}

static situ_status compute_count(struct compute *compute) {
  struct accumulator *accumulator = NULL;
  void *data = NULL;
  TRY(find_any(compute, &accumulator));
  TRY(compute_output(compute, 0, SITU_SCALAR, &data));
  pthread_mutex_lock(&accumulator->lock);
  *(int32_t *)data = (int32_t)accumulator->count;
  pthread_mutex_unlock(&accumulator->lock);
  return NULL;
}

static situ_status compute_set_step(struct compute *compute) {
  struct accumulator *accumulator = NULL;
  TRY(find_any(compute, &accumulator));
  pthread_mutex_lock(&accumulator->lock);
  accumulator->step = call_element(compute->call, 1, 0);
  pthread_mutex_unlock(&accumulator->lock);
  return NULL;
}

#define ACCUMULATOR(op, text)                                                          \
  {                                                                                    \
    .name = op, .inputs = "", .outputs = "handle:resource",                            \
    .attrs =                                                                           \
        "dtype:{half float double} shape:shape container:string='' "                   \
        "shared_name:string='' reduction_type:{'MEAN','SUM'}='MEAN'",                  \
    .python = "", .doc = text,                                                         \
    .args = "reduction_type: Whether to take the mean or the sum of the gradients.",   \
    .devices = "CPU", .flags = OP_STATEFUL | OP_NO_GRADIENT, .shape = op_scalar_shape, \
    .compute = compute_accumulator                                                     \
  }

#define USER(op, in, out, attributes, text, args_, kinds, shape_, compute_)                        \
  {                                                                                                \
    .name = op, .inputs = "handle:resource" in, .outputs = out, .attrs = attributes, .python = "", \
    .doc = text, .args = args_, .devices = "CPU", .flags = OP_STATEFUL | OP_NO_GRADIENT | (kinds), \
    .shape = shape_, .compute = compute_                                                           \
  }

#define TYPE "dtype:{half float double}"
#define APPLY "Adds a gradient; drops it if its step is earlier than that of the accumulator."
#define TAKE                                                                                  \
  "Takes the mean, or the sum, of the gradients and begins the next step; waits until there " \
  "are num_required."
#define LOCAL_STEP "local_step: Step at which the gradient was computed."
#define APPLY_ARGS LOCAL_STEP "\ngradient: The gradient."
#define APPLY_SPARSE_ARGS                                      \
  LOCAL_STEP                                                   \
  "\ngradient_indices: Indices of the rows of the gradient.\n" \
  "gradient_values: Rows of the gradient.\n"                   \
  "gradient_shape: Shape of the dense gradient.\n"             \
  "has_known_shape: Whether gradient_shape is known; it is ignored otherwise."
#define TAKE_ARGS "num_required: Number of gradients to wait for."
#define SET_STEP_ARGS "new_global_step: The step."
#define COUNT "The number of gradients in an accumulator."
#define SET_STEP "Sets the step of an accumulator."

static const struct op_def op_defs[] = {
    ACCUMULATOR("ConditionalAccumulator", "An accumulator of dense gradients."),
    ACCUMULATOR("ResourceConditionalAccumulator", "An accumulator of dense gradients."),
    ACCUMULATOR("SparseConditionalAccumulator", "An accumulator of sparse gradients."),
    USER("AccumulatorApplyGradient", " local_step:int64[] gradient:dtype", "", TYPE, APPLY,
         APPLY_ARGS, OP_BLOCKS | OP_UNBLOCKS, op_no_shape, compute_apply),
    USER("ResourceAccumulatorApplyGradient", " local_step:int64[] gradient:dtype", "", TYPE, APPLY,
         APPLY_ARGS, OP_BLOCKS | OP_UNBLOCKS, op_no_shape, compute_apply),
    USER("SparseAccumulatorApplyGradient",
         " local_step:int64[] gradient_indices:int64 gradient_values:dtype "
         "gradient_shape:int64",
         "", TYPE " has_known_shape:bool", APPLY, APPLY_SPARSE_ARGS, OP_BLOCKS | OP_UNBLOCKS,
         op_no_shape, compute_apply_sparse),
    USER("AccumulatorTakeGradient", " num_required:int32[]", "average:dtype", TYPE, TAKE, TAKE_ARGS,
         OP_BLOCKS, take_shape, compute_take),
    USER("ResourceAccumulatorTakeGradient", " num_required:int32[]", "average:dtype", TYPE, TAKE,
         TAKE_ARGS, OP_BLOCKS, take_shape, compute_take),
    USER("SparseAccumulatorTakeGradient", " num_required:int32[]",
         "indices:int64 values:dtype shape:int64", TYPE, TAKE, TAKE_ARGS, OP_BLOCKS,
         take_sparse_shape, compute_take_sparse),
    USER("AccumulatorNumAccumulated", "", "num_accumulated:int32", "", COUNT, NULL, 0,
         op_scalar_shape, compute_count),
    USER("ResourceAccumulatorNumAccumulated", "", "num_accumulated:int32", "", COUNT, NULL, 0,
         op_scalar_shape, compute_count),
    USER("AccumulatorSetGlobalStep", " new_global_step:int64", "", "", SET_STEP, SET_STEP_ARGS, 0,
         op_no_shape, compute_set_step),
    USER("ResourceAccumulatorSetGlobalStep", " new_global_step:int64", "", "", SET_STEP,
         SET_STEP_ARGS, 0, op_no_shape, compute_set_step),
};

OP_FAMILY(accumulator_ops, op_defs);
