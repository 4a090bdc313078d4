/* SPDX-License-Identifier: Apache-2.0
 * batch_norm_global.c: BatchNormWithGlobalNormalization and its gradient, channels last. */
#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"

#define KERNELS "ops/nn/batch_norm_global.cl"
#include "kernel/types.h"

KERNEL_TABLE(norm_global, REAL);
KERNEL_TABLE(norm_global_back, REAL);
KERNEL_TABLE(norm_global_sums, REAL);

/* Inputs 1 ... `vectors` have an element per channel of input 0. */
static situ_status check_channels(const struct call *call, int vectors, int64_t *channels) {
  TRY(op_need_rank(call, 0, 4, "t"));
  *channels = call->in[0].shape.rank == 4 ? call->in[0].shape.dim[3] : SITU_ANY;
  for (int i = 1; i <= vectors; i++) {
    const situ_shape *shape = &call->in[i].shape;
    TRY(op_need_rank(call, i, 1, "each of m, v, beta and gamma"));
    if (shape->rank == SITU_ANY || shape->dim[0] == SITU_ANY) continue;
    if (*channels != SITU_ANY && shape->dim[0] != *channels)
      return INVALID("Dimensions must be equal, but are %lld and %lld", (long long)*channels,
                     (long long)shape->dim[0]);
    *channels = shape->dim[0];
  }
  return NULL;
}

static situ_status norm_shape(struct call *call) {
  int64_t channels;
  TRY(check_channels(call, 4, &channels));
  call->out[0].shape = (situ_shape){4, {SITU_ANY, SITU_ANY, SITU_ANY, channels}};
  if (call->in[0].shape.rank == 4) call->out[0].shape = call->in[0].shape;
  call->out[0].shape.dim[3] = channels;
  return NULL;
}

static situ_status norm_grad_shape(struct call *call) {
  int64_t channels;
  TRY(check_channels(call, 3, &channels));
  TRY(op_need_rank(call, 4, 4, "backprop"));
  const situ_shape *t = &call->in[0].shape, *dy = &call->in[4].shape;
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (!shape_compatible(t, dy))
    return INVALID("Input and backprop must have the same shape: %s vs. %s", shape_print(t, a),
                   shape_print(dy, b));
  call->out[0].shape = t->rank == 4 ? *t : *dy;
  for (int i = 1; i < 5; i++) call->out[i].shape = (situ_shape){1, {channels}};
  return NULL;
}

#define RULES                                            \
  ARG_INT(call_bool(call, "scale_after_normalization")), \
      ARG_NUM(call_real(call, "variance_epsilon"))

static situ_status record_norm(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape), channels = call->out[0].shape.dim[3];
  return LAUNCH(call, &norm_global_kernel, call->in[0].type, n, GRAIN, (double)n * 8,
                ARG_IN(call, 0), ARG_IN(call, 1), ARG_IN(call, 2), ARG_IN(call, 3), ARG_IN(call, 4),
                ARG_OUT(call, 0), ARG_INT(channels), RULES, ARG_INT(n));
}

static situ_status record_norm_grad(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape), channels = call->out[0].shape.dim[3];
  TRY(LAUNCH(call, &norm_global_back_kernel, call->in[0].type, n, GRAIN, (double)n * 8,
             ARG_IN(call, 2), ARG_IN(call, 3), ARG_IN(call, 4), ARG_OUT(call, 0), ARG_INT(channels),
             RULES, ARG_INT(n)));
  return LAUNCH(call, &norm_global_sums_kernel, call->in[0].type, channels, 1, (double)n * 4,
                ARG_IN(call, 0), ARG_IN(call, 1), ARG_IN(call, 2), ARG_IN(call, 3), ARG_IN(call, 4),
                ARG_OUT(call, 1), ARG_OUT(call, 2), ARG_OUT(call, 3), ARG_OUT(call, 4),
                ARG_INT(channels ? n / channels : 0), RULES, ARG_INT(channels));
}

static void norm_grad(struct gradient *g) {
  const struct term all = gradient_emit(
      g, "BatchNormWithGlobalNormalizationGrad",
      TERMS(g->in[0], g->in[1], g->in[2], g->in[4], g->dy[0]),
      ATTRS(gradient_keep(g, "variance_epsilon"), gradient_keep(g, "scale_after_normalization")));
  for (int i = 0; i < 5; i++) g->dx[i] = gradient_output(all, i);
}

#define NORM_ATTRS "T:{" TYPE_NAMES_REAL "} variance_epsilon:float scale_after_normalization:bool"
#define NORM_RULES                                                  \
  "variance_epsilon: Small number that is added to the variance.\n" \
  "scale_after_normalization: Whether the result is multiplied by gamma."

static const struct op_def op_defs[] = {
    {.name = "BatchNormWithGlobalNormalization",
     .inputs = "t:T[b,h,w,c] m:T[c] v:T[c] beta:T[c] gamma:T[c]",
     .outputs = "result:T",
     .attrs = NORM_ATTRS,
     .python = "",
     .doc = "Batch normalization of images with given moments.",
     .args = "t: Images [batch, height, width, channels].\n"
             "m: Mean of each channel.\n"
             "v: Variance of each channel.\n"
             "beta: Offset of each channel.\n"
             "gamma: Scale of each channel.\n" NORM_RULES,
     .samples =
         "variance_epsilon=0.01 scale_after_normalization=true [2,2,1,3] [3] [3]:pos [3] [3]; "
         "variance_epsilon=0.1 scale_after_normalization=false [1,2,2,2] [2] [2]:pos [2] [2]",
     .devices = EVERYWHERE,
     .shape = norm_shape,
     .record = record_norm,
     .grad = norm_grad},
    {.name = "BatchNormWithGlobalNormalizationGrad",
     .inputs = "t:T[b,h,w,c] m:T[c] v:T[c] gamma:T[c] backprop:T[b,h,w,c]",
     .outputs = "dx:T dm:T dv:T db:T dg:T",
     .attrs = NORM_ATTRS,
     .python = "",
     .doc = "The gradients of BatchNormWithGlobalNormalization.",
     .args = "t: Images [batch, height, width, channels].\n"
             "m: Mean of each channel.\n"
             "v: Variance of each channel.\n"
             "gamma: Scale of each channel.\n"
             "backprop: Gradient of the result.\n" NORM_RULES,
     .samples = "variance_epsilon=0.01 scale_after_normalization=true [2,2,1,3] [3] [3]:pos [3] "
                "[2,2,1,3]",
     .devices = EVERYWHERE,
     .shape = norm_grad_shape,
     .record = record_norm_grad,
     .grad = gradient_missing},
};

OP_FAMILY(batch_norm_global, op_defs);
