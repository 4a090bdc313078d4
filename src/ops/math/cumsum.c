/* SPDX-License-Identifier: Apache-2.0
 * cumsum.c: cumulative sum, product and log-sum-exp. */
#include <float.h>

#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

#define KERNELS "ops/math/cumsum.cl"
#include "kernel/types.h"

KERNEL_TABLE(running_sum, NUMBER);
KERNEL_TABLE(running_product, NUMBER);
KERNEL_TABLE(running_logsumexp, REAL);
static const struct kernel complex_product_kernel = {
    .name = "complex_running_product",
    .file = types_file,
    .host = {[SITU_FLOAT] = complex_running_product_float,
             [SITU_DOUBLE] = complex_running_product_double}};

static situ_status scan_axis(const struct call *call, int *axis) {
  const int rank = call->in[0].shape.rank;
  int64_t given = 0;
  bool known;
  *axis = -1;
  TRY(op_host_scalar(call, 1, &given, &known));
  return known && rank != SITU_ANY ? op_wrap_axis(given, rank, axis) : NULL;
}

static situ_status scan_shape(struct call *call) {
  int axis;
  TRY(scan_axis(call, &axis));
  return op_same_shape(call);
}

static situ_status record_scan(struct call *call, const struct kernel *kernel) {
  const situ_shape *in = &call->in[0].shape;
  const int64_t parts = type_is_complex(call->in[0].type) ? 2 : 1; /* summed on their own */
  int64_t inner = parts;
  int axis;
  TRY(scan_axis(call, &axis));
  for (int d = axis + 1; d < in->rank; d++) inner *= in->dim[d];
  const int64_t length = in->dim[axis], n = length ? parts * situ_shape_count(*in) / length : 0;
  const int64_t lanes = op_lanes_across(length, inner);
  return LAUNCH_LANES(call, kernel, type_real(call->in[0].type), n, lanes,
                      max_i64(1, GRAIN / max_i64(1, length)), (double)n * (double)length,
                      ARG_IN(call, 0), ARG_OUT(call, 0), ARG_INT(length), ARG_INT(inner),
                      ARG_INT(call_bool(call, "exclusive")), ARG_INT(call_bool(call, "reverse")),
                      ARG_INT(n), ARG_INT(lanes));
}

static situ_status record_cumsum(struct call *call) {
  return record_scan(call, &running_sum_kernel);
}
static situ_status record_complex_product(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  int64_t inner = 1;
  int axis;
  TRY(scan_axis(call, &axis));
  for (int d = axis + 1; d < in->rank; d++) inner *= in->dim[d];
  const int64_t length = in->dim[axis], n = length ? situ_shape_count(*in) / length : 0;
  return LAUNCH(call, &complex_product_kernel, type_real(call->in[0].type), n,
                max_i64(1, GRAIN / max_i64(1, length)), (double)n * (double)length, ARG_IN(call, 0),
                ARG_OUT(call, 0), ARG_INT(length), ARG_INT(inner),
                ARG_INT(call_bool(call, "exclusive")), ARG_INT(call_bool(call, "reverse")),
                ARG_INT(n));
}
static situ_status record_cumprod(struct call *call) {
  if (type_is_complex(call->in[0].type)) return record_complex_product(call);
  return record_scan(call, &running_product_kernel);
}
static situ_status record_cumlogsumexp(struct call *call) {
  return record_scan(call, &running_logsumexp_kernel);
}

/* Gradients */

static struct term sums(struct gradient *g, struct term x, bool reverse) {
  return gradient_emit(g, "Cumsum", TERMS(x, g->in[1]),
                       ATTRS(gradient_keep(g, "exclusive"), situ_attr_bool("reverse", reverse)));
}

static void cumsum_grad(struct gradient *g) {
  g->dx[0] = sums(g, g->dy[0], !gradient_bool(g, "reverse"));
}

/* As TensorFlow: wrong where an element is 0. */
static void cumprod_grad(struct gradient *g) {
  const struct term weighted = OP(g, "Mul", g->out[0], g->dy[0]);
  g->dx[0] = OP(g, "DivNoNan", sums(g, weighted, !gradient_bool(g, "reverse")), g->in[0]);
}

/* exp(x) times the sums of dy / exp(y), in logarithms, of the positive part of dy; the lowest
 * finite number represents log(0), so that the second derivative is not NaN. */
static struct term exp_sums(struct gradient *g, struct term dy) {
  const situ_type type = gradient_type(g, g->in[0]);
  const double lowest = type == SITU_HALF       ? -65504.0
                        : type == SITU_BFLOAT16 ? -0x1.fep127
                        : type == SITU_FLOAT    ? -FLT_MAX
                                                : -DBL_MAX;
  const struct term positive = OP(g, "Greater", dy, gradient_number(g, type, 0));
  const struct term logs =
      OP(g, "SelectV2", positive, OP(g, "Log", OP(g, "Abs", dy)), gradient_number(g, type, lowest));
  const bool reverse = !gradient_bool(g, "reverse");
  const struct term sum =
      gradient_emit(g, "CumulativeLogsumexp", TERMS(OP(g, "Sub", logs, g->out[0]), g->in[1]),
                    ATTRS(gradient_keep(g, "exclusive"), situ_attr_bool("reverse", reverse)));
  return OP(g, "Exp", OP(g, "Add", sum, g->in[0]));
}

static void cumlogsumexp_grad(struct gradient *g) {
  const struct term negative = OP(g, "Neg", g->dy[0]);
  g->dx[0] = OP(g, "Sub", exp_sums(g, g->dy[0]), exp_sums(g, negative));
}

#define CUMULATIVE_OP_DEF(NAME, suffix, types, text)                                           \
  {                                                                                            \
    .name = #NAME, .inputs = "x:T axis:Tidx", .outputs = "out:T",                              \
    .attrs = "exclusive:bool=false reverse:bool=false T:{" types "} Tidx:{int32 int64}=int32", \
    .doc = text " along an axis.",                                                             \
    .args =                                                                                    \
        "x: Tensor of rank 1 or more.\n"                                                       \
        "axis: Axis to accumulate along, a scalar; negative values count from the end.\n"      \
        "exclusive: Leave out the element itself, so that the first result is that of no "     \
        "elements.\n"                                                                          \
        "reverse: Accumulate from the end of the axis.",                                       \
    .samples =                                                                                 \
        "[5] []=0; [2,3,2] []=1; exclusive=true [2,4] []=-1; reverse=true [2,4] []=1; "        \
        "exclusive=true reverse=true Tidx=int64 [3,2] []=0; [0,3] []=0",                       \
    .host = "axis", .devices = EVERYWHERE, .shape = scan_shape, .record = record_##suffix,     \
    .grad = suffix##_grad                                                                      \
  }

static const struct op_def op_defs[] = {
    CUMULATIVE_OP_DEF(Cumsum, cumsum, TYPE_NAMES_NUMBER_COMPLEX, "Cumulative sum"),
    CUMULATIVE_OP_DEF(Cumprod, cumprod, TYPE_NAMES_NUMBER_COMPLEX, "Cumulative product"),
    CUMULATIVE_OP_DEF(CumulativeLogsumexp, cumlogsumexp, TYPE_NAMES_REAL,
                      "Cumulative log(sum(exp(x)))"),
};

OP_FAMILY(cumsum, op_defs);
