/* SPDX-License-Identifier: Apache-2.0
 * broadcast.c: see broadcast.h. */
#include "ops/broadcast.h"

#include <string.h>

#include "ops/ops.h"
#include "tensor/shape.h"

/* Whether the shape has size 1 along dimension d of a result of that rank. */
static bool repeats(const situ_shape *shape, int rank, int d) {
  const int own = d - (rank - shape->rank);
  return own < 0 || shape->dim[own] == 1;
}

void broadcast_plan(const situ_shape *result, const situ_shape *const *shapes, int n,
                    struct broadcast *out) {
  int k = SITU_MAX_RANK; /* the dimension of the plan that was added last */
  unsigned last = 0;     /* bit i: shape i is broadcast there */
  int64_t size[BROADCAST_OPERANDS] = {1, 1, 1};
  memset(out->stride, 0, sizeof out->stride);
  out->count = situ_shape_count(*result);
  for (int i = 0; i < SITU_MAX_RANK; i++) out->dim[i] = 1;
  for (int d = result->rank - 1; d >= 0; d--) {
    if (result->dim[d] == 1) continue;
    unsigned bits = 0;
    for (int i = 0; i < n; i++) bits |= (unsigned)repeats(shapes[i], result->rank, d) << i;
    if (k == SITU_MAX_RANK || bits != last) {
      k--;
      for (int i = 0; i < n; i++) out->stride[i][k] = bits >> i & 1 ? 0 : size[i];
    }
    last = bits;
    out->dim[k] *= result->dim[d];
    for (int i = 0; i < n; i++)
      if (!(bits >> i & 1)) size[i] *= result->dim[d];
  }
  out->flat = k >= SITU_MAX_RANK - 1;
  for (int i = 0; i < n && k == SITU_MAX_RANK; i++) out->stride[i][k - 1] = 1; /* one element */
}

situ_status broadcast_record(struct call *call, const struct kernel *const kernels[2],
                             situ_type type, double cost, struct broadcast_operand x,
                             struct broadcast_operand y, struct broadcast_operand z) {
  const int64_t grain = (int64_t)(GRAIN / cost);
  if (shape_equal(x.shape, z.shape) && shape_equal(y.shape, z.shape)) { /* by far the most */
    const int64_t count = situ_shape_count(*z.shape);
    return LAUNCH(call, kernels[0], type, count, grain, (double)count * cost, ARG_AT(x.slot),
                  ARG_AT(y.slot), ARG_AT(z.slot), ARG_INT(1), ARG_INT(1), ARG_INT(count));
  }
  struct broadcast b;
  broadcast_plan(z.shape, (const situ_shape *[]){x.shape, y.shape}, 2, &b);
  const double flops = (double)b.count * cost;
  if (b.flat)
    return LAUNCH(call, kernels[0], type, b.count, grain, flops, ARG_AT(x.slot), ARG_AT(y.slot),
                  ARG_AT(z.slot), ARG_INT(b.stride[0][SITU_MAX_RANK - 1]),
                  ARG_INT(b.stride[1][SITU_MAX_RANK - 1]), ARG_INT(b.count));
  return LAUNCH(call, kernels[1], type, b.count, grain, flops, ARG_AT(x.slot), ARG_AT(y.slot),
                ARG_AT(z.slot), ARG_INTS(b.dim), ARG_INTS(b.stride[0]), ARG_INTS(b.stride[1]),
                ARG_INT(b.count));
}

/* TensorFlow's error texts, when the graph is built and when it runs. */
static situ_status misfit(const struct call *call, const situ_shape *a, const situ_shape *b) {
  char left[256], right[256];
  int64_t x = 0, y = 0;
  for (int i = 1; i <= a->rank && i <= b->rank && (x == y || x == 1 || y == 1); i++) {
    x = a->dim[a->rank - i];
    y = b->dim[b->rank - i];
  }
  if (call->building)
    return INVALID("Dimensions must be equal, but are %lld and %lld", (long long)x, (long long)y);
  return INVALID("Incompatible shapes: %s vs. %s", shape_print(a, left), shape_print(b, right));
}

int64_t broadcast_position(const struct broadcast *b, int k, int64_t i) {
  int64_t at = 0;
  for (int d = SITU_MAX_RANK - 1; d >= 0; d--) {
    at += i % b->dim[d] * b->stride[k][d];
    i /= b->dim[d];
  }
  return at;
}

situ_status broadcast_shape(struct call *call) {
  situ_shape shape = call->in[0].shape;
  for (int i = 1; i < call->n_in; i++) {
    situ_shape next;
    if (!shape_broadcast(&shape, &call->in[i].shape, &next))
      return misfit(call, &shape, &call->in[i].shape);
    shape = next;
  }
  call->out[0].shape = shape;
  return NULL;
}
