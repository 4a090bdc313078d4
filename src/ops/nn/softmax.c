/* SPDX-License-Identifier: Apache-2.0
 * softmax.c: Softmax and LogSoftmax. */
#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"

/* FMA instructions make exp a third faster. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast")
#endif
#define KERNELS "ops/nn/softmax.cl"
#include "kernel/types.h"

KERNEL_TABLE(softmax, REAL);
KERNEL_TABLE(log_softmax, REAL);

enum { ROW_GRAIN = 8192, ROW_FLOPS = 20 };

static situ_status row_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  if (in->rank == 0) return INVALID("Shape must be at least rank 1 but is rank 0");
  return op_same_shape(call);
}

static situ_status record_rows(struct call *call, const struct kernel *kernel) {
  const situ_shape *in = &call->in[0].shape;
  const int64_t width = in->dim[in->rank - 1], n = situ_shape_count(*in);
  if (!n) return NULL;
  const int64_t lanes = op_lanes(width);
  return LAUNCH_LANES(call, kernel, call->in[0].type, n / width, lanes,
                      max_i64(1, ROW_GRAIN / width), ROW_FLOPS * (double)n, ARG_IN(call, 0),
                      ARG_OUT(call, 0), ARG_INT(width), ARG_INT(n / width), ARG_INT(lanes));
}

static situ_status record_softmax(struct call *call) { return record_rows(call, &softmax_kernel); }

static situ_status record_log_softmax(struct call *call) {
  return record_rows(call, &log_softmax_kernel);
}

/* The sums of a term along its last dimension, which stays. */
static struct term sum_rows(struct gradient *g, struct term term) {
  const int64_t last = -1;
  return gradient_emit(g, "Sum", TERMS(term, gradient_ints(g, &last, 1)),
                       ATTRS(situ_attr_bool("keep_dims", true)));
}

static void softmax_grad(struct gradient *g) {
  const struct term y = g->out[0], sum = sum_rows(g, OP(g, "Mul", g->dy[0], y));
  g->dx[0] = OP(g, "Mul", OP(g, "Sub", g->dy[0], sum), y);
}

static void log_softmax_grad(struct gradient *g) {
  const struct term sum = sum_rows(g, g->dy[0]);
  g->dx[0] = OP(g, "Sub", g->dy[0], OP(g, "Mul", sum, OP(g, "Exp", g->out[0])));
}

static const struct op_def op_defs[] = {
    {.name = "Softmax",
     .inputs = "logits:T",
     .outputs = "softmax:T",
     .attrs = "T:{bfloat16 half float double}",
     .doc = "Softmax along the last dimension: exp(x) / sum(exp(x)).",
     .args = "logits: Tensor of rank 1 or more.",
     .samples = "[3,4]; [5]; [2,3,40]; [2,1]; [0,3]; [4,100]; [1,600]",
     .devices = EVERYWHERE,
     .flags = OP_INPLACE,
     .shape = row_shape,
     .record = record_softmax,
     .grad = softmax_grad},
    {.name = "LogSoftmax",
     .inputs = "logits:T",
     .outputs = "logsoftmax:T",
     .attrs = "T:{bfloat16 half float double}",
     .doc = "Logarithm of softmax along the last dimension: x - log(sum(exp(x))).",
     .args = "logits: Tensor of rank 1 or more.",
     .samples = "[3,4]; [5]; [2,3,40]; [2,1]; [0,3]; [4,100]; [1,600]",
     .devices = EVERYWHERE,
     .flags = OP_INPLACE,
     .shape = row_shape,
     .record = record_log_softmax,
     .grad = log_softmax_grad},
};

OP_FAMILY(softmax, op_defs);
