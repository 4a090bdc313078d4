/* SPDX-License-Identifier: Apache-2.0
 * lrn.c: local response normalization and its gradient. */
#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"

/* Fused multiply-add, if the CPU has it. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast")
#endif
#define KERNELS "ops/nn/lrn.cl"
#include "kernel/types.h"

KERNEL_TABLE(lrn, REAL);
KERNEL_TABLE(lrn_grad, REAL);

enum { LRN_GRAIN = 4096, LRN_FLOPS = 30, MOST_CHANNELS = 2048, MOST_RADIUS = 64 };

static situ_status lrn_shape(struct call *call) {
  situ_shape shape = call->in[0].shape;
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  for (int i = 0; i < call->n_in; i++) {
    TRY(op_need_rank(call, i, 4, "in"));
    if (!shape_compatible(&shape, &call->in[i].shape))
      return INVALID(
          "input_grads, input_image and output_image should have the same shape: %s vs. "
          "%s",
          shape_print(&shape, a), shape_print(&call->in[i].shape, b));
    shape = shape_merge(&shape, &call->in[i].shape);
  }
  call->out[0].shape = shape;
  return NULL;
}

static situ_status lrn_record(struct call *call) {
  const situ_shape *shape = &call->out[0].shape;
  const int64_t n = situ_shape_count(*shape), channels = shape->dim[3];
  const int64_t requested = call_integer(call, "depth_radius"),
                radius = min_i64(requested, channels);
  const struct launch_arg rest[] = {ARG_INT(channels),
                                    ARG_INT(radius),
                                    ARG_NUM(call_real(call, "bias")),
                                    ARG_NUM(call_real(call, "alpha")),
                                    ARG_NUM(call_real(call, "beta")),
                                    ARG_INT(n)};
  if (requested < 0)
    return INVALID("depth_radius must be nonnegative, but is %lld", (long long)requested);
  if (channels > MOST_CHANNELS || radius > MOST_RADIUS)
    return situ_status_create(SITU_UNIMPLEMENTED,
                              "Normalization of %lld channels with a depth_radius of %lld: at most "
                              "%d and %d are possible",
                              (long long)channels, (long long)requested, MOST_CHANNELS,
                              MOST_RADIUS);
  const int64_t grain = max_i64(LRN_GRAIN, channels);
  if (call->n_in == 1)
    return LAUNCH(call, &lrn_kernel, call->out[0].type, n, grain, LRN_FLOPS * (double)n,
                  ARG_IN(call, 0), ARG_OUT(call, 0), rest[0], rest[1], rest[2], rest[3], rest[4],
                  rest[5]);
  return LAUNCH(call, &lrn_grad_kernel, call->out[0].type, n, grain, 2 * LRN_FLOPS * (double)n,
                ARG_IN(call, 0), ARG_IN(call, 1), ARG_IN(call, 2), ARG_OUT(call, 0), rest[0],
                rest[1], rest[2], rest[3], rest[4], rest[5]);
}

static void lrn_grad(struct gradient *g) {
  g->dx[0] = gradient_emit(g, "LRNGrad", TERMS(g->dy[0], g->in[0], g->out[0]),
                           ATTRS(gradient_keep(g, "depth_radius"), gradient_keep(g, "bias"),
                                 gradient_keep(g, "alpha"), gradient_keep(g, "beta")));
}

static void lrn_grad_grad(struct gradient *g) {
  gradient_fail(g, situ_status_create(SITU_UNIMPLEMENTED,
                                      "LRNGrad has no gradient: local response normalization can "
                                      "be differentiated once only"));
}

#define LRN_ATTRS                                                                        \
  "depth_radius:int=5 bias:float=1 alpha:float=1 beta:float=0.5 T:{bfloat16 half float " \
  "double}=float"

static const struct op_def op_defs[] = {
    {.name = "LRN",
     .inputs = "input:T[b,h,w,c]",
     .outputs = "output:T",
     .attrs = LRN_ATTRS,
     .python = "nn.local_response_normalization nn.lrn",
     .doc = "Local response normalization: x / (bias + alpha * s)^beta, where s is the sum of "
            "squares over neighboring channels.",
     .args = "input: Images [batch, height, width, channels].\n"
             "alpha: Factor of the sum of squares.",
     .samples = "[2,3,2,7]; depth_radius=2 alpha=0.5 beta=0.75 [1,2,3,40]; "
                "depth_radius=4 bias=2 alpha=0.1 beta=0.3 [1,1,2,5]; depth_radius=0 [1,1,1,3]; "
                "beta=0.75 [0,2,2,3]",
     .devices = EVERYWHERE,
     .shape = lrn_shape,
     .record = lrn_record,
     .grad = lrn_grad},
    {.name = "LRNGrad",
     .inputs = "input_grads:T[b,h,w,c] input_image:T[b,h,w,c] output_image:T[b,h,w,c]",
     .outputs = "output:T",
     .attrs = LRN_ATTRS,
     .doc = "The gradient of LRN.",
     .args = "input_grads: Gradient of the output of LRN.\n"
             "input_image: Input of LRN.\n"
             "output_image: Output of LRN.\n"
             "alpha: Factor of the sum of squares.",
     .samples = "[2,3,2,7] [2,3,2,7] [2,3,2,7]; depth_radius=2 alpha=0.5 beta=0.75 [1,2,3,40] "
                "[1,2,3,40] [1,2,3,40]; depth_radius=4 bias=2 alpha=0.1 beta=0.3 [1,1,2,5] "
                "[1,1,2,5] [1,1,2,5]",
     .devices = EVERYWHERE,
     .shape = lrn_shape,
     .record = lrn_record,
     .grad = lrn_grad_grad},
};

OP_FAMILY(lrn, op_defs);
