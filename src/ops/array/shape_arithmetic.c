/* SPDX-License-Identifier: Apache-2.0
 * shape_arithmetic.c: BroadcastArgs and ConcatOffset: ops that compute with shapes as vectors. */
#include "base/strbuf.h"
#include "ops/ops.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

static int64_t item_of(const situ_tensor *vector, int64_t i) {
  return number_integer_at(vector->type, situ_tensor_data(vector), i);
}

static void set_item(situ_type type, void *data, int64_t i, int64_t value) {
  if (type == SITU_INT32)
    ((int32_t *)data)[i] = (int32_t)value;
  else
    ((int64_t *)data)[i] = value;
}

static int64_t length_of(const struct call *call, int input) {
  const situ_shape *shape = &call->in[input].shape;
  return shape->rank == 1 ? shape->dim[0] : SITU_ANY;
}

/* Appends a vector as "2,3" or "2 3". */
static void write_items(struct strbuf *out, const situ_tensor *vector, const char *separator) {
  for (int64_t i = 0; i < situ_shape_count(vector->shape); i++) {
    if (i) strbuf_append(out, separator);
    number_write_integer(out, vector->type, item_of(vector, i));
  }
}

/* BroadcastArgs */

static situ_status broadcast_args_shape(struct call *call) {
  for (int i = 0; i < 2; i++)
    if (call->in[i].shape.rank != SITU_ANY && call->in[i].shape.rank != 1)
      return INVALID("In[%d] must be a vector. Shape must be rank 1 but is rank %d", i,
                     call->in[i].shape.rank);
  const int64_t x = length_of(call, 0), y = length_of(call, 1);
  call->out[0].shape = (situ_shape){1, {x == SITU_ANY || y == SITU_ANY ? SITU_ANY : max_i64(x, y)}};
  return NULL;
}

/* Element i from the end, 1 in front of the vector. */
static int64_t from_end(const situ_tensor *vector, int64_t i) {
  const int64_t n = situ_shape_count(vector->shape);
  return i < n ? item_of(vector, n - 1 - i) : 1;
}

static situ_status refuse_shapes(const situ_tensor *x, const situ_tensor *y) {
  struct strbuf a = {0}, b = {0};
  write_items(&a, x, ",");
  write_items(&b, y, ",");
  const situ_status status =
      INVALID("Incompatible shapes: [%s] vs. [%s]", strbuf_get(&a), strbuf_get(&b));
  strbuf_free(&a);
  strbuf_free(&b);
  return status;
}

static situ_status compute_broadcast_args(struct compute *compute) {
  const situ_tensor *x = compute->in[0], *y = compute->in[1];
  const int64_t n = max_i64(situ_shape_count(x->shape), situ_shape_count(y->shape));
  void *out;
  TRY(compute_output(compute, 0, (situ_shape){1, {n}}, &out));
  for (int64_t i = 0; i < n; i++) {
    const int64_t a = from_end(x, i), b = from_end(y, i);
    if (a != b && a != 1 && b != 1) return refuse_shapes(x, y);
    set_item(x->type, out, n - 1 - i, a == 1 ? b : a);
  }
  return NULL;
}

/* ConcatOffset */

static situ_status offset_shape(struct call *call) {
  if (call->in[0].shape.rank != SITU_ANY && call->in[0].shape.rank)
    return INVALID("Concat dim tensor should be a scalar integer, but has rank %d",
                   call->in[0].shape.rank);
  for (int i = 1; i < call->n_in; i++) {
    call->out[i - 1].shape = call->in[i].shape;
    if (call->in[i].shape.rank == SITU_ANY) call->out[i - 1].shape = (situ_shape){1, {SITU_ANY}};
    if (!call->building && call->in[i].shape.rank != 1) {
      char text[SHAPE_STRING_SIZE];
      return INVALID("input %d should be a vector, but got shape %s", i,
                     shape_print(&call->in[i].shape, text));
    }
  }
  return NULL;
}

static situ_status refuse_dimension(int axis, int input, const situ_tensor *given,
                                    const situ_tensor *first) {
  struct strbuf a = {0}, b = {0};
  write_items(&a, given, " ");
  write_items(&b, first, " ");
  const situ_status status = INVALID(
      "All dimensions except %d must match. Input %d has shape [%s] and doesn't match input 0 with "
      "shape [%s].",
      axis, input, strbuf_get(&a), strbuf_get(&b));
  strbuf_free(&a);
  strbuf_free(&b);
  return status;
}

/* Writes where input i begins along the axis, and adds its size to *offset. */
static situ_status write_offset(struct compute *compute, int i, int axis, int64_t *offset) {
  const situ_tensor *first = compute->in[1], *given = compute->in[1 + i];
  const int64_t n = situ_shape_count(first->shape);
  void *out;
  if (situ_shape_count(given->shape) != n)
    return INVALID("input %d should contain %lld elements, but got %lld", i, (long long)n,
                   (long long)situ_shape_count(given->shape));
  TRY(compute_output(compute, i, given->shape, &out));
  for (int64_t d = 0; d < n; d++) {
    if (d != axis && item_of(given, d) != item_of(first, d))
      return refuse_dimension(axis, i, given, first);
    set_item(given->type, out, d, d == axis ? *offset : 0);
  }
  *offset += item_of(given, axis);
  return NULL;
}

static situ_status compute_concat_offset(struct compute *compute) {
  const int64_t dim = item_of(compute->in[0], 0), n = situ_shape_count(compute->in[1]->shape);
  int64_t offset = 0;
  if (dim < -n || dim >= n)
    return INVALID("Concat dim is out of range: %lld vs. %lld", (long long)dim, (long long)n);
  for (int i = 0; i < compute->call->n_out; i++)
    TRY(write_offset(compute, i, (int)(dim < 0 ? dim + n : dim), &offset));
  return NULL;
}

static const struct op_def op_defs[] = {
    {.name = "BroadcastArgs",
     .inputs = "s0:T s1:T",
     .outputs = "r0:T",
     .attrs = "T:{int32 int64}=int32",
     .python = "",
     .doc = "The shape that two shapes broadcast to.",
     .args = "s0: Shape of the first operand.\n"
             "s1: Shape of the second operand.",
     .samples = "[2]=2,3 [1]=3; [2]=2,1 [2]=1,5; T=int64 [0]= [2]=4,4",
     .devices = EVERYWHERE,
     .flags = OP_NO_GRADIENT,
     .shape = broadcast_args_shape,
     .compute = compute_broadcast_args},
    {.name = "ConcatOffset",
     .inputs = "concat_dim:int32 shape:N*shape_type",
     .outputs = "offset:N*shape_type",
     .attrs = "N:int>=2 shape_type:{int32 int64}=int32",
     .python = "",
     .doc = "Where each of several tensors begins in their concatenation.",
     .args = "concat_dim: Axis along which they are concatenated.\n"
             "shape: Shapes of the tensors.",
     .samples = "[]=1 [3]=2,3,5 [3]=2,7,5; []=-2 [2]=4,1 [2]=5,1 [2]=6,1",
     .devices = EVERYWHERE,
     .flags = OP_NO_GRADIENT,
     .shape = offset_shape,
     .compute = compute_concat_offset},
};

OP_FAMILY(shape_arithmetic, op_defs);
