/* SPDX-License-Identifier: Apache-2.0
 * fake_quant.c: quantization to integers and back in float (quantization-aware training), with a
 * range from attributes, from scalars or per channel. */
#include <math.h>

#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* A range that contains 0 exactly: the result of nudging `min` and `max`. */
struct quant_range {
  float min, max, scale;
  bool is_empty; /* min = max = 0: no quantization */
};

static struct quant_range nudge(const struct call *call, float min, float max) {
  const float low = call_bool(call, "narrow_range") ? 1 : 0;
  const float high = (float)((1 << call_integer(call, "num_bits")) - 1);
  if (min == 0 && max == 0) return (struct quant_range){.is_empty = true};
  const float scale = (max - min) / (high - low), zero = low - min / scale;
  const float point = zero < low ? low : zero > high ? high : roundf(zero);
  return (struct quant_range){(low - point) * scale, (high - point) * scale, scale, false};
}

static float quantize(const struct quant_range *range, float x) {
  if (range->is_empty) return 0;
  const float below = x > range->max ? range->max : x;
  const float clamped = below < range->min ? range->min : below;
  const float inverse = 1 / range->scale, zero = floorf(-range->min * inverse + 0.5f);
  return floorf((clamped - range->min) * inverse - zero + 0.5f) * range->scale;
}

static situ_status check_bits(const struct call *call) {
  const int64_t bits = call_integer(call, "num_bits");
  if (bits < 2 || bits > 16) return INVALID("num_bits must be between 2 and 16, inclusive");
  return NULL;
}

/* The number of channels: 1, or the last dimension where min and max are vectors. */
static int64_t channels_of(const situ_tensor *min) { return situ_shape_count(min->shape); }

/* A range from attributes */

static situ_status args_shape(struct call *call) {
  const double min = call_real(call, "min"), max = call_real(call, "max");
  TRY(check_bits(call));
  if (min >= max) return INVALID("min has to be smaller than max, was: %g >= %g", min, max);
  return call->n_in == 2 ? op_equal_shapes(call) : op_same_shape(call);
}

static struct quant_range range_of_attrs(const struct call *call) {
  return nudge(call, (float)call_real(call, "min"), (float)call_real(call, "max"));
}

static situ_status compute_args(struct compute *compute) {
  const struct quant_range range = range_of_attrs(compute->call);
  const float *x = situ_tensor_data(compute->in[0]);
  void *y = NULL;
  TRY(compute_output(compute, 0, compute->in[0]->shape, &y));
  for (int64_t i = 0; i < situ_shape_count(compute->in[0]->shape); i++)
    ((float *)y)[i] = quantize(&range, x[i]);
  return NULL;
}

static situ_status compute_args_gradient(struct compute *compute) {
  const struct quant_range range = range_of_attrs(compute->call);
  const float *dy = situ_tensor_data(compute->in[0]), *x = situ_tensor_data(compute->in[1]);
  void *dx = NULL;
  TRY(compute_output(compute, 0, compute->in[1]->shape, &dx));
  for (int64_t i = 0; i < situ_shape_count(compute->in[1]->shape); i++)
    ((float *)dx)[i] = x[i] >= range.min && x[i] <= range.max ? dy[i] : 0;
  return NULL;
}

static void args_grad(struct gradient *g) {
  g->dx[0] = gradient_emit(g, "FakeQuantWithMinMaxArgsGradient", TERMS(g->dy[0], g->in[0]),
                           ATTRS(gradient_keep(g, "min"), gradient_keep(g, "max"),
                                 gradient_keep(g, "num_bits"), gradient_keep(g, "narrow_range")));
}

/* A range from tensors: input `first` is x, followed by min and max. */

static situ_status range_shape(struct call *call, int first, int rank) {
  TRY(check_bits(call));
  TRY(op_need_rank(call, first + 1, rank, "min"));
  TRY(op_need_rank(call, first + 2, rank, "max"));
  const situ_shape *x = &call->in[first].shape;
  call->out[0].shape = *x;
  for (int i = 1; i <= 2 && rank == 1; i++) {
    const situ_shape *limit = &call->in[first + i].shape;
    if (x->rank == 0) return INVALID("Shape must be at least rank 1 but is rank 0");
    if (x->rank > 0 && limit->rank == 1 && limit->dim[0] != SITU_ANY &&
        x->dim[x->rank - 1] != SITU_ANY && limit->dim[0] != x->dim[x->rank - 1])
      return INVALID("%s has incorrect size, expected %lld was %lld", i == 1 ? "min" : "max",
                     (long long)x->dim[x->rank - 1], (long long)limit->dim[0]);
  }
  return NULL;
}

static situ_status vars_shape(struct call *call) { return range_shape(call, 0, 0); }
static situ_status channels_shape(struct call *call) { return range_shape(call, 0, 1); }

static situ_status gradient_shapes(struct call *call, int rank) {
  TRY(range_shape(call, 1, rank));
  if (!shape_compatible(&call->in[0].shape, &call->in[1].shape))
    return INVALID("gradient and input must be the same size");
  call->out[1].shape = call->in[2].shape;
  call->out[2].shape = call->in[3].shape;
  return NULL;
}

static situ_status vars_gradient_shape(struct call *call) { return gradient_shapes(call, 0); }
static situ_status channels_gradient_shape(struct call *call) { return gradient_shapes(call, 1); }

static situ_status compute_vars(struct compute *compute) {
  const float *x = situ_tensor_data(compute->in[0]);
  const float *min = situ_tensor_data(compute->in[1]), *max = situ_tensor_data(compute->in[2]);
  const int64_t channels = channels_of(compute->in[1]);
  const int64_t n = situ_shape_count(compute->in[0]->shape);
  void *y = NULL;
  TRY(compute_output(compute, 0, compute->in[0]->shape, &y));
  for (int64_t c = 0; c < channels; c++) {
    const struct quant_range range = nudge(compute->call, min[c], max[c]);
    for (int64_t i = c; i < n; i += channels) ((float *)y)[i] = quantize(&range, x[i]);
  }
  return NULL;
}

/* Gradients of one channel: elements outside of the range count for its limits. */
static void channel_gradient(const struct quant_range *range, const float *dy, const float *x,
                             int64_t n, int64_t step, float *dx, float limits[2]) {
  double below = 0, above = 0;
  for (int64_t i = 0; i < n; i += step) {
    const bool is_below = !range->is_empty && x[i] < range->min;
    const bool is_above = !range->is_empty && x[i] > range->max;
    dx[i] = is_below || is_above ? 0 : dy[i];
    if (is_below) below += dy[i];
    if (is_above) above += dy[i];
  }
  limits[0] = (float)below;
  limits[1] = (float)above;
}

static situ_status compute_vars_gradient(struct compute *compute) {
  const float *dy = situ_tensor_data(compute->in[0]), *x = situ_tensor_data(compute->in[1]);
  const float *min = situ_tensor_data(compute->in[2]), *max = situ_tensor_data(compute->in[3]);
  const int64_t channels = channels_of(compute->in[2]);
  const int64_t n = situ_shape_count(compute->in[1]->shape);
  void *out[3] = {NULL};
  for (int i = 0; i < 3; i++) TRY(compute_output(compute, i, compute->in[i + 1]->shape, &out[i]));
  for (int64_t c = 0; c < channels; c++) {
    const struct quant_range range = nudge(compute->call, min[c], max[c]);
    float limits[2] = {0};
    channel_gradient(&range, dy + c, x + c, n - c, channels, (float *)out[0] + c, limits);
    ((float *)out[1])[c] = limits[0];
    ((float *)out[2])[c] = limits[1];
  }
  return NULL;
}

static void range_grad(struct gradient *g, const char *op) {
  const struct term all =
      gradient_emit(g, op, TERMS(g->dy[0], g->in[0], g->in[1], g->in[2]),
                    ATTRS(gradient_keep(g, "num_bits"), gradient_keep(g, "narrow_range")));
  for (int i = 0; i < 3; i++) g->dx[i] = gradient_output(all, i);
}

static void vars_grad(struct gradient *g) { range_grad(g, "FakeQuantWithMinMaxVarsGradient"); }
static void channels_grad(struct gradient *g) {
  range_grad(g, "FakeQuantWithMinMaxVarsPerChannelGradient");
}

#define RANGE_ATTRS "num_bits:int=8 narrow_range:bool=false"
#define ARGS_ATTRS "min:float=-6 max:float=6 " RANGE_ATTRS
#define RANGE_ARGS                                                       \
  "\nnum_bits: Number of bits of the quantized numbers, from 2 to 16.\n" \
  "narrow_range: Use the integers from 1 instead of 0 to 2^num_bits - 1."
#define ARGS_ARGS "\nmin: Least number of the range.\nmax: Greatest number of the range." RANGE_ARGS

static const struct op_def op_defs[] = {
    {.name = "FakeQuantWithMinMaxArgs",
     .inputs = "inputs:float",
     .outputs = "outputs:float",
     .attrs = ARGS_ATTRS,
     .python = "quantization.fake_quant_with_min_max_args fake_quant_with_min_max_args",
     .doc = "Quantizes and dequantizes numbers of the range from min to max.",
     .args = "inputs: Tensor of numbers." ARGS_ARGS,
     .devices = "CPU",
     .shape = args_shape,
     .grad = args_grad,
     .compute = compute_args},
    {.name = "FakeQuantWithMinMaxArgsGradient",
     .inputs = "gradients:float inputs:float",
     .outputs = "backprops:float",
     .attrs = ARGS_ATTRS,
     .python = "quantization.fake_quant_with_min_max_args_gradient "
               "fake_quant_with_min_max_args_gradient",
     .doc = "The gradient of FakeQuantWithMinMaxArgs.",
     .args = "gradients: Gradients of the outputs.\ninputs: Inputs of the op." ARGS_ARGS,
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = args_shape,
     .compute = compute_args_gradient},
    {.name = "FakeQuantWithMinMaxVars",
     .inputs = "inputs:float min:float max:float",
     .outputs = "outputs:float",
     .attrs = RANGE_ATTRS,
     .python = "quantization.fake_quant_with_min_max_vars fake_quant_with_min_max_vars",
     .doc = "Quantizes and dequantizes numbers of the range from min to max, two scalars.",
     .args = "inputs: Tensor of numbers.\nmin: Least number of the range.\n"
             "max: Greatest number of the range." RANGE_ARGS,
     .devices = "CPU",
     .shape = vars_shape,
     .grad = vars_grad,
     .compute = compute_vars},
    {.name = "FakeQuantWithMinMaxVarsGradient",
     .inputs = "gradients:float inputs:float min:float max:float",
     .outputs = "backprops_wrt_input:float backprop_wrt_min:float backprop_wrt_max:float",
     .attrs = RANGE_ATTRS,
     .python = "quantization.fake_quant_with_min_max_vars_gradient "
               "fake_quant_with_min_max_vars_gradient",
     .doc = "The gradients of FakeQuantWithMinMaxVars.",
     .args = "gradients: Gradients of the outputs.\ninputs: Inputs of the op.\n"
             "min: Least number of the range.\nmax: Greatest number of the range." RANGE_ARGS,
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = vars_gradient_shape,
     .compute = compute_vars_gradient},
    {.name = "FakeQuantWithMinMaxVarsPerChannel",
     .inputs = "inputs:float min:float max:float",
     .outputs = "outputs:float",
     .attrs = RANGE_ATTRS,
     .python = "quantization.fake_quant_with_min_max_vars_per_channel "
               "fake_quant_with_min_max_vars_per_channel",
     .doc = "Quantizes and dequantizes numbers, with a range per index of the last dimension.",
     .args = "inputs: Tensor of numbers.\nmin: Least numbers of the ranges.\n"
             "max: Greatest numbers of the ranges." RANGE_ARGS,
     .devices = "CPU",
     .shape = channels_shape,
     .grad = channels_grad,
     .compute = compute_vars},
    {.name = "FakeQuantWithMinMaxVarsPerChannelGradient",
     .inputs = "gradients:float inputs:float min:float max:float",
     .outputs = "backprops_wrt_input:float backprop_wrt_min:float backprop_wrt_max:float",
     .attrs = RANGE_ATTRS,
     .python = "quantization.fake_quant_with_min_max_vars_per_channel_gradient "
               "fake_quant_with_min_max_vars_per_channel_gradient",
     .doc = "The gradients of FakeQuantWithMinMaxVarsPerChannel.",
     .args = "gradients: Gradients of the outputs.\ninputs: Inputs of the op.\n"
             "min: Least numbers of the ranges.\nmax: Greatest numbers of the ranges." RANGE_ARGS,
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = channels_gradient_shape,
     .compute = compute_vars_gradient},
};

OP_FAMILY(fake_quant, op_defs);
