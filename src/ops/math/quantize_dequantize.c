/* SPDX-License-Identifier: Apache-2.0
 * quantize_dequantize.c: QuantizeAndDequantizeV2, V3, V4: rounds real numbers to those that
 * integers of a number of bits can represent, with one scale or one per slice of an axis. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/interrupt.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* What the attributes say. */
struct rounding {
  bool is_signed, is_given, is_narrow, half_up;
  int64_t bits;
  situ_type type;
};

/* Scales of one range. */
struct scale {
  double min, max, factor, inverse;
};

/* Arithmetic of the type: double, else float. */
static double narrow(const struct rounding *how, double value) {
  return how->type == SITU_DOUBLE ? value : (double)(float)value;
}

static double quantized_min(const struct rounding *how) {
  if (!how->is_signed) return 0;
  return (double)-(INT64_C(1) << (how->bits - 1)) + (how->is_narrow ? 1 : 0);
}

static double quantized_max(const struct rounding *how) {
  return (double)((INT64_C(1) << (how->is_signed ? how->bits - 1 : how->bits)) - 1);
}

/* The larger side of the range determines the scale; the other side is adjusted to it. */
static struct scale make_scale(const struct rounding *how, double min, double max) {
  const double low = quantized_min(how), high = quantized_max(how);
  const double most = how->type == SITU_DOUBLE ? DBL_MAX : (double)FLT_MAX;
  const double by_min = low * min > 0 ? narrow(how, low / min) : most;
  const double by_max = high * max > 0 ? narrow(how, high / max) : most;
  if (by_min < by_max) {
    const double inverse = narrow(how, min / low);
    return (struct scale){min, narrow(how, high * inverse), by_min, inverse};
  }
  const double inverse = narrow(how, max / high);
  return (struct scale){narrow(how, low * inverse), max, by_max, inverse};
}

static double quantize(const struct rounding *how, const struct scale *scale, double x) {
  if (how->is_given) x = x < scale->min ? scale->min : x > scale->max ? scale->max : x;
  const double scaled = narrow(how, x * scale->factor);
  const double whole = how->half_up ? floor(narrow(how, scaled + 0.5)) : rint(scaled);
  return narrow(how, whole * scale->inverse);
}

/* Positions of the slices of an axis: element (o, s, i) is at (o * slices + s) * inner + i. */
struct slices {
  int64_t outer, count, inner;
};

static struct slices slices_of(const situ_shape *shape, int64_t axis) {
  struct slices slices = {1, 1, situ_shape_count(*shape)};
  if (axis < 0) return slices;
  slices.inner = 1;
  slices.count = shape->dim[axis];
  for (int i = 0; i < axis; i++) slices.outer *= shape->dim[i];
  for (int i = (int)axis + 1; i < shape->rank; i++) slices.inner *= shape->dim[i];
  return slices;
}

static void range_of_slice(situ_type type, const void *data, const struct slices *slices, int64_t s,
                           double *min, double *max) {
  *min = INFINITY;
  *max = -INFINITY;
  for (int64_t o = 0; o < slices->outer; o++)
    for (int64_t i = 0; i < slices->inner && !interrupt_pending(); i++) {
      const double x = number_at(type, data, (o * slices->count + s) * slices->inner + i);
      *min = x < *min ? x : *min;
      *max = x > *max ? x : *max;
    }
}

static situ_status read_rounding(const struct compute *compute, struct rounding *how) {
  const struct call *call = compute->call;
  const bool has_mode = schema_attr(call->schema, "round_mode") >= 0;
  how->is_signed = call_bool(call, "signed_input");
  how->is_given = call_bool(call, "range_given");
  how->is_narrow = call_bool(call, "narrow_range");
  how->half_up = has_mode && !strcmp(call_text(call, "round_mode"), "HALF_UP");
  how->type = call->in[0].type;
  how->bits = call->n_in == 4 ? ((const int32_t *)situ_tensor_data(compute->in[3]))[0]
                              : call_integer(call, "num_bits");
  if (how->bits < 1 || how->bits > (how->is_signed ? 62 : 63) || (how->is_signed && how->bits < 2))
    return INVALID("num_bits is out of range: %lld with signed_input %d", (long long)how->bits,
                   how->is_signed);
  return NULL;
}

static situ_status check_ranges(const struct compute *compute, const struct slices *slices) {
  for (int i = 1; i <= 2; i++)
    if (situ_shape_count(compute->in[i]->shape) != slices->count)
      return INVALID("Shape must be rank %d with %lld elements", slices->count > 1,
                     (long long)slices->count);
  return NULL;
}

static void quantize_slice(const struct rounding *how, const struct scale *scale, const void *x,
                           const struct slices *slices, int64_t s, void *y) {
  for (int64_t o = 0; o < slices->outer; o++)
    for (int64_t i = 0; i < slices->inner && !interrupt_pending(); i++) {
      const int64_t at = (o * slices->count + s) * slices->inner + i;
      number_store(how->type, y, at, quantize(how, scale, number_at(how->type, x, at)));
    }
}

static situ_status compute_quantize(struct compute *compute) {
  const situ_tensor *in = compute->in[0];
  const struct slices slices = slices_of(&in->shape, call_integer(compute->call, "axis"));
  struct rounding how = {0};
  void *out = NULL;
  TRY(read_rounding(compute, &how));
  if (how.is_given) TRY(check_ranges(compute, &slices));
  TRY(compute_output(compute, 0, in->shape, &out));
  if (!situ_shape_count(in->shape)) return NULL;
  for (int64_t s = 0; s < slices.count; s++) {
    double min = 0, max = 0;
    if (how.is_given) {
      min = number_at(how.type, situ_tensor_data(compute->in[1]), s);
      max = number_at(how.type, situ_tensor_data(compute->in[2]), s);
      if (min > max) return INVALID("Invalid range: input_min %g > input_max %g", min, max);
    } else {
      range_of_slice(how.type, situ_tensor_data(in), &slices, s, &min, &max);
    }
    const struct scale scale = make_scale(&how, min, max);
    quantize_slice(&how, &scale, situ_tensor_data(in), &slices, s, out);
  }
  return NULL;
}

/* The gradient passes through where the input is within the range. */
static situ_status compute_quantize_gradient(struct compute *compute) {
  const situ_tensor *in = compute->in[1];
  const situ_type type = compute->call->in[0].type;
  const struct slices slices = slices_of(&in->shape, call_integer(compute->call, "axis"));
  const void *dy = situ_tensor_data(compute->in[0]), *x = situ_tensor_data(in);
  const void *min = situ_tensor_data(compute->in[2]), *max = situ_tensor_data(compute->in[3]);
  void *out[3] = {NULL};
  for (int i = 0; i < 3; i++) TRY(compute_output(compute, i, compute->in[i + 1]->shape, &out[i]));
  for (int i = 1; i < 3; i++)
    for (int64_t k = 0; k < situ_shape_count(compute->in[i + 1]->shape); k++)
      number_store(type, out[i], k, 0);
  if (situ_shape_count(compute->in[2]->shape) != slices.count)
    return INVALID("input_min must have %lld elements", (long long)slices.count);
  for (int64_t at = 0; at < situ_shape_count(in->shape) && !interrupt_pending(); at++) {
    const int64_t s = at / slices.inner % slices.count;
    const double value = number_at(type, x, at);
    const bool is_inside = value >= number_at(type, min, s) && value <= number_at(type, max, s);
    number_store(type, out[0], at, is_inside ? number_at(type, dy, at) : 0);
  }
  return NULL;
}

static situ_status check_axis(const struct call *call, const situ_shape *shape) {
  const int64_t axis = call_integer(call, "axis");
  if (axis < -1) return INVALID("axis should be at least -1, got %lld", (long long)axis);
  if (shape->rank >= 0 && axis >= shape->rank)
    return INVALID("Shape must be at least rank %lld but is rank %d", (long long)axis + 1,
                   shape->rank);
  return NULL;
}

static situ_status quantize_shape(struct call *call) {
  TRY(check_axis(call, &call->in[0].shape));
  return op_same_shape(call);
}

static situ_status gradient_shape_of_input(struct call *call) {
  TRY(check_axis(call, &call->in[1].shape));
  for (int i = 0; i < 3; i++) call->out[i].shape = call->in[i + 1].shape;
  return NULL;
}

static void straight_through_grad(struct gradient *g) { g->dx[0] = g->dy[0]; }

static void range_grad(struct gradient *g) {
  const struct term all =
      gradient_emit(g, "QuantizeAndDequantizeV4Grad", TERMS(g->dy[0], g->in[0], g->in[1], g->in[2]),
                    ATTRS(gradient_keep(g, "axis")));
  for (int i = 0; i < 3; i++) g->dx[i] = gradient_output(all, i);
}

#define TYPES "T:{bfloat16 half float double} "
#define ATTRS_BEFORE "signed_input:bool=true "
#define MODE "round_mode:{'HALF_TO_EVEN','HALF_UP'}='HALF_TO_EVEN' "
#define ATTRS_AFTER "narrow_range:bool=false axis:int=-1"
#define ARGS                                                                                    \
  "input: Tensor of real numbers.\n"                                                            \
  "input_min: Least number of the range; a vector with `axis`.\n"                               \
  "input_max: Greatest number of the range.\n"                                                  \
  "signed_input: Whether the integers are signed.\nnum_bits: Number of bits of the integers.\n" \
  "range_given: Whether to use input_min and input_max, instead of the range of the input.\n"   \
  "narrow_range: Leave out the least integer.\naxis: Axis with a range per slice; -1: one range."
#define ROUND_ARG "\nround_mode: Where halves are rounded to."

static const struct op_def op_defs[] = {
    {.name = "QuantizeAndDequantizeV2",
     .inputs = "input:T input_min:T input_max:T",
     .outputs = "output:T",
     .attrs = ATTRS_BEFORE "num_bits:int=8 range_given:bool=false " TYPES MODE ATTRS_AFTER,
     .doc = "Rounds numbers to those that integers of some bits can represent.",
     .args = ARGS ROUND_ARG,
     .devices = "CPU",
     .shape = quantize_shape,
     .grad = straight_through_grad,
     .compute = compute_quantize},
    {.name = "QuantizeAndDequantizeV3",
     .inputs = "input:T input_min:T input_max:T num_bits:int32[]",
     .outputs = "output:T",
     .attrs = ATTRS_BEFORE "range_given:bool=true " TYPES ATTRS_AFTER,
     .doc = "As QuantizeAndDequantizeV2, with the number of bits as an input.",
     .args = ARGS,
     .devices = "CPU",
     .shape = quantize_shape,
     .grad = straight_through_grad,
     .compute = compute_quantize},
    {.name = "QuantizeAndDequantizeV4",
     .inputs = "input:T input_min:T input_max:T",
     .outputs = "output:T",
     .attrs = ATTRS_BEFORE "num_bits:int=8 range_given:bool=false " TYPES MODE ATTRS_AFTER,
     .doc = "As QuantizeAndDequantizeV2, with a gradient that is 0 outside of the range.",
     .args = ARGS ROUND_ARG,
     .devices = "CPU",
     .shape = quantize_shape,
     .grad = range_grad,
     .compute = compute_quantize},
    {.name = "QuantizeAndDequantizeV4Grad",
     .inputs = "gradients:T[...s] input:T[...s] input_min:T[...r] input_max:T[...r]",
     .outputs = "input_backprop:T input_min_backprop:T input_max_backprop:T",
     .attrs = TYPES "axis:int=-1",
     .doc = "The gradients of QuantizeAndDequantizeV4.",
     .args = "gradients: Gradients of the output.\ninput: Input of the op.\n"
             "input_min: Least number of the range.\ninput_max: Greatest number of the range.\n"
             "axis: Axis with a range per slice; -1: one range.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = gradient_shape_of_input,
     .compute = compute_quantize_gradient},
};

OP_FAMILY(quantize_dequantize, op_defs);
