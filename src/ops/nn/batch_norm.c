/* SPDX-License-Identifier: Apache-2.0
 * batch_norm.c: batch normalization and its gradient, in at most three passes over the images. */
#include <string.h>

#include "ops/gradient.h"
#include "ops/ops.h"
#include "schema/schema.h"
#include "tensor/shape.h"

/* Fused multiply-add, if the CPU has it. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast")
#endif
#define KERNELS "ops/nn/batch_norm.cl"
#include "kernel/types.h"

KERNEL_TABLE(norm_moments, REAL);
KERNEL_TABLE(norm_slopes, REAL);
KERNEL_TABLE(norm_apply, REAL);
KERNEL_TABLE(norm_back, REAL);
KERNEL_TABLE(norm_join, REAL);
KERNEL_TABLE(norm_average, REAL);
KERNEL_TABLE(norm_given, REAL);
KERNEL_TABLE(norm_join_slopes, REAL);

/* Elements of a piece: few enough to be in a cache when they are read again. */
enum { PIECE = 8192 };

/* Images as [outer, channels, inner]; the elements of a channel in pieces. */
struct images {
  int64_t channels, inner, count, part, pieces, n;
};

static int channel_axis(const struct call *call, int rank) {
  const char *format = call_text(call, "data_format");
  return format[1] == 'C' ? 1 : rank - 1;
}

static struct images images_of(const struct call *call, const situ_shape *shape) {
  const int axis = channel_axis(call, shape->rank);
  struct images images = {.channels = shape->dim[axis], .inner = 1, .n = situ_shape_count(*shape)};
  for (int d = axis + 1; d < shape->rank; d++) images.inner *= shape->dim[d];
  images.count = images.channels ? images.n / images.channels : 0;
  images.part = images.inner == 1 ? max_i64(1, PIECE / max_i64(1, images.channels)) : PIECE;
  images.pieces = (images.count + images.part - 1) / images.part;
  return images;
}

/* Shapes */

/* Merges the shape of input `i` into *channels; the input has an element per channel, or is empty.
 * */
static situ_status check_vector(const struct call *call, int i, int64_t *channels) {
  const situ_shape *shape = &call->in[i].shape;
  const char *name = call->schema->inputs[i].name;
  TRY(op_need_rank(call, i, 1, name));
  if (shape->rank == SITU_ANY || shape->dim[0] == SITU_ANY) return NULL;
  if (*channels != SITU_ANY && shape->dim[0] != *channels)
    return INVALID(
        "%s must have the same number of elements as the channels of x, got %lld and "
        "%lld",
        name, (long long)shape->dim[0], (long long)*channels);
  *channels = shape->dim[0];
  return NULL;
}

/* The channels of the images that input `i` is; SITU_ANY while they are not known. */
static situ_status check_images(const struct call *call, int i, int64_t *channels) {
  const situ_shape *shape = &call->in[i].shape;
  const int wanted = (int)strlen(call_text(call, "data_format"));
  TRY(op_need_rank(call, i, wanted, call->schema->inputs[i].name));
  *channels = shape->rank == SITU_ANY ? SITU_ANY : shape->dim[channel_axis(call, shape->rank)];
  return NULL;
}

/* Whether mean and variance are inputs: always at inference, in training only for the moving
 * average. */
static bool uses_given(const struct call *call) {
  return !call_bool(call, "is_training") || call_real(call, "exponential_avg_factor") != 1;
}

static situ_status norm_shape(struct call *call) {
  int64_t channels;
  TRY(check_images(call, 0, &channels));
  for (int i = 1; i < (uses_given(call) ? 5 : 3); i++) TRY(check_vector(call, i, &channels));
  call->out[0].shape = call->in[0].shape;
  for (int i = 1; i < 5; i++) call->out[i].shape = SITU_SHAPE(channels);
  if (call->n_out > 5) call->out[5].shape = SITU_SHAPE(0);
  return NULL;
}

static situ_status norm_grad_shape(struct call *call) {
  int64_t channels;
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  TRY(check_images(call, 0, &channels));
  TRY(check_images(call, 1, &channels));
  if (!shape_compatible(&call->in[0].shape, &call->in[1].shape))
    return INVALID(
        "x and y_backprop must have same shape, but x has shape %s and y_backprop has "
        "shape %s",
        shape_print(&call->in[1].shape, a), shape_print(&call->in[0].shape, b));
  for (int i = 2; i < 5; i++) TRY(check_vector(call, i, &channels));
  call->out[0].shape = shape_merge(&call->in[0].shape, &call->in[1].shape);
  for (int i = 1; i < 3; i++) call->out[i].shape = SITU_SHAPE(channels);
  for (int i = 3; i < 5; i++) call->out[i].shape = SITU_SHAPE(0);
  return NULL;
}

/* Kernels */

static situ_status numbers(struct call *call, int64_t count, int32_t *slot) {
  return call_scratch(call, sizeof(float) * (size_t)max_i64(1, count), slot);
}

/* Mean and variance of the batch, and the averages that a caller keeps of them. */
static situ_status record_batch(struct call *call, const struct images *im, int32_t factor) {
  const double share = call_real(call, "exponential_avg_factor");
  const int given = share == 1 ? 1 : 3; /* else nothing is read of them */
  int32_t means, squares;
  TRY(numbers(call, im->pieces * im->channels, &means));
  TRY(numbers(call, im->pieces * im->channels, &squares));
  TRY(LAUNCH(call, &norm_moments_kernel, call->in[0].type, im->pieces * im->channels, im->channels,
             6.0 * (double)im->n, ARG_IN(call, 0), ARG_AT(means), ARG_AT(squares),
             ARG_INT(im->channels), ARG_INT(im->inner), ARG_INT(im->part), ARG_INT(im->count),
             ARG_INT(im->pieces * im->channels)));
  TRY(LAUNCH(call, &norm_join_kernel, SITU_FLOAT, im->channels, GRAIN, 0, ARG_AT(means),
             ARG_AT(squares), ARG_IN(call, 1), ARG_OUT(call, 3), ARG_OUT(call, 4), ARG_AT(factor),
             ARG_INT(im->channels), ARG_INT(im->part), ARG_INT(im->count),
             ARG_NUM(call_real(call, "epsilon")), ARG_INT(im->channels)));
  return LAUNCH(call, &norm_average_kernel, SITU_FLOAT, im->channels, GRAIN, 0, ARG_OUT(call, 3),
                ARG_OUT(call, 4), ARG_IN(call, given), ARG_IN(call, given == 1 ? 1 : 4),
                ARG_OUT(call, 1), ARG_OUT(call, 2), ARG_INT(im->count), ARG_NUM(share),
                ARG_INT(im->channels));
}

/* Inference: returns mean and variance twice, as TensorFlow does. */
static situ_status record_given(struct call *call, const struct images *im, int32_t factor) {
  for (int out = 1; out < 5; out += 2)
    TRY(LAUNCH(call, &norm_given_kernel, SITU_FLOAT, im->channels, GRAIN, 0, ARG_IN(call, 3),
               ARG_IN(call, 4), ARG_IN(call, 1), ARG_OUT(call, out), ARG_OUT(call, out + 1),
               ARG_AT(factor), ARG_NUM(call_real(call, "epsilon")), ARG_INT(im->channels)));
  return NULL;
}

static situ_status norm_record(struct call *call) {
  const struct images im = images_of(call, &call->in[0].shape);
  int32_t factor;
  TRY(numbers(call, im.channels, &factor));
  TRY(call_bool(call, "is_training") ? record_batch(call, &im, factor)
                                     : record_given(call, &im, factor));
  return LAUNCH(call, &norm_apply_kernel, call->in[0].type, im.n, GRAIN, 3.0 * (double)im.n,
                ARG_IN(call, 0), ARG_OUT(call, 3), ARG_AT(factor), ARG_IN(call, 2),
                ARG_OUT(call, 0), ARG_INT(im.channels), ARG_INT(im.inner), ARG_INT(im.n));
}

static situ_status norm_grad_record(struct call *call) {
  const struct images im = images_of(call, &call->in[0].shape);
  const int64_t partial = im.pieces * im.channels;
  int32_t sums, products, factor, slope, shift;
  TRY(numbers(call, partial, &sums));
  TRY(numbers(call, partial, &products));
  TRY(numbers(call, im.channels, &factor));
  TRY(numbers(call, im.channels, &slope));
  TRY(numbers(call, im.channels, &shift));
  TRY(LAUNCH(call, &norm_slopes_kernel, call->in[0].type, partial, im.channels, 4.0 * (double)im.n,
             ARG_IN(call, 0), ARG_IN(call, 1), ARG_IN(call, 3), ARG_AT(sums), ARG_AT(products),
             ARG_INT(im.channels), ARG_INT(im.inner), ARG_INT(im.part), ARG_INT(im.count),
             ARG_INT(partial)));
  TRY(LAUNCH(call, &norm_join_slopes_kernel, SITU_FLOAT, im.channels, GRAIN, 0, ARG_AT(sums),
             ARG_AT(products), ARG_IN(call, 2), ARG_IN(call, 4), ARG_OUT(call, 1), ARG_OUT(call, 2),
             ARG_AT(factor), ARG_AT(slope), ARG_AT(shift), ARG_INT(im.channels), ARG_INT(im.part),
             ARG_INT(im.count), ARG_INT(call_bool(call, "is_training")),
             ARG_NUM(call_real(call, "epsilon")), ARG_INT(im.channels)));
  return LAUNCH(call, &norm_back_kernel, call->in[0].type, im.n, GRAIN, 5.0 * (double)im.n,
                ARG_IN(call, 0), ARG_IN(call, 1), ARG_IN(call, 3), ARG_AT(factor), ARG_AT(slope),
                ARG_AT(shift), ARG_OUT(call, 0), ARG_INT(im.channels), ARG_INT(im.inner),
                ARG_INT(im.n));
}

/* Gradients */

/* At inference, mean and variance are constant inputs. */
static void norm_grad_of(struct gradient *g, const char *op, int n) {
  const bool training = gradient_bool(g, "is_training");
  const struct term terms[] = {g->dy[0],
                               g->in[0],
                               g->in[1],
                               training ? g->out[3] : g->in[3],
                               training ? g->out[4] : g->in[4],
                               g->out[n - 1]};
  if (!term_exists(g->dy[0])) return;
  const struct term made =
      gradient_emit(g, op, terms, n,
                    ATTRS(gradient_keep(g, "epsilon"), gradient_keep(g, "data_format"),
                          gradient_keep(g, "is_training")));
  for (int i = 0; i < 3; i++) g->dx[i] = gradient_output(made, i);
}

static void norm_grad(struct gradient *g) { norm_grad_of(g, "FusedBatchNormGrad", 5); }
static void norm_grad_v2(struct gradient *g) { norm_grad_of(g, "FusedBatchNormGradV2", 5); }
static void norm_grad_v3(struct gradient *g) { norm_grad_of(g, "FusedBatchNormGradV3", 6); }

/* The second derivative, of ops. With h the normalized x, s = 1 / sqrt(variance + epsilon) and P(u)
 * = u - mean(u) - h mean(u h), the gradient is dx = scale s P(dy), dscale = sum(dy h), doffset =
 * sum(dy). P is symmetric, and a gradient q of h is s P(q) of x; s has the gradient -s^2 h / n. */
struct second {
  struct gradient *g;
  bool training;
  struct term axes, form; /* all but the channels; the form of a vector of channels, if any */
  struct term h, s, scale;
};

static struct term mul(struct gradient *g, struct term a, struct term b) {
  return OP(g, "Mul", a, b);
}

static struct term average(struct second *of, struct term x) {
  return gradient_emit(of->g, "Mean", TERMS(x, of->axes), ATTRS(situ_attr_bool("keep_dims", true)));
}

static struct term wide(struct second *of, struct term vector) {
  return term_exists(of->form) ? OP(of->g, "Reshape", vector, of->form) : vector;
}

static struct term to_float(struct gradient *g, struct term x) {
  if (gradient_type(g, x) == SITU_FLOAT) return x;
  return gradient_emit(g, "Cast", TERMS(x), ATTRS(situ_attr_type("DstT", SITU_FLOAT)));
}

static struct term project(struct second *of, struct term u) {
  struct gradient *g = of->g;
  if (!of->training) return u;
  const struct term rest = OP(g, "Sub", u, average(of, u));
  return OP(g, "Sub", rest, mul(g, of->h, average(of, mul(g, u, of->h))));
}

static struct second second_begin(struct gradient *g) {
  const char *format = gradient_text(g, "data_format");
  const int rank = (int)strlen(format), channel = format[1] == 'C' ? 1 : rank - 1;
  const float epsilon = (float)gradient_real(g, "epsilon");
  int64_t axes[SITU_MAX_RANK], form[SITU_MAX_RANK];
  int n = 0;
  for (int d = 0; d < rank; d++) {
    form[d] = d == channel ? -1 : 1;
    if (d != channel) axes[n++] = d;
  }
  struct second of = {.g = g,
                      .training = gradient_bool(g, "is_training"),
                      .axes = gradient_ints(g, axes, n),
                      .form = channel == 1 ? gradient_ints(g, form, rank) : NO_TERM};
  const struct term wider = OP(g, "Add", g->in[4], gradient_number(g, SITU_FLOAT, epsilon));
  of.s = wide(&of, OP(g, "Rsqrt", wider));
  of.scale = wide(&of, g->in[2]);
  of.h = mul(g, OP(g, "Sub", to_float(g, g->in[1]), wide(&of, g->in[3])), of.s);
  return of;
}

/* The part of the gradient of x that depends on the statistics of the batch: through P and through
 * s. */
static struct term through_batch(struct second *of, struct term a, struct term u,
                                 struct term on_h) {
  struct gradient *g = of->g;
  const struct term ma = average(of, mul(g, a, of->h)), mu = average(of, mul(g, u, of->h));
  const struct term factor = mul(g, of->scale, of->s);
  const struct term mixed = OP(g, "Add", mul(g, u, ma), mul(g, a, mu));
  const struct term inner = project(of, OP(g, "Sub", on_h, mul(g, factor, mixed)));
  const struct term spread =
      OP(g, "Sub", average(of, mul(g, a, u)), mul(g, average(of, a), average(of, u)));
  const struct term last = mul(g, mul(g, factor, of->s), OP(g, "Sub", spread, mul(g, ma, mu)));
  return OP(g, "Sub", mul(g, of->s, inner), mul(g, last, of->h));
}

static void norm_grad_grad(struct gradient *g) {
  struct second of = second_begin(g);
  const struct term a = to_float(g, gradient_or_zeros(g, g->dy[0], g->out[0]));
  const struct term b = wide(&of, gradient_or_zeros(g, g->dy[1], g->out[1]));
  const struct term e = wide(&of, gradient_or_zeros(g, g->dy[2], g->out[2]));
  const struct term u = to_float(g, g->in[0]), on_h = mul(g, b, u);
  const struct term sp = mul(g, of.s, project(&of, a));
  const struct term du = OP(g, "Add", OP(g, "Add", mul(g, of.scale, sp), mul(g, b, of.h)), e);
  const struct term dx = of.training ? through_batch(&of, a, u, on_h) : mul(g, on_h, of.s);
  const situ_type type = gradient_type(g, g->in[0]);
  const situ_attr cast = situ_attr_type("DstT", type);
  g->dx[0] = type == SITU_FLOAT ? du : gradient_emit(g, "Cast", TERMS(du), &cast, 1);
  g->dx[1] = type == SITU_FLOAT ? dx : gradient_emit(g, "Cast", TERMS(dx), &cast, 1);
  g->dx[2] = OP(g, "Sum", mul(g, sp, u), of.axes);
}

#define FORMATS "data_format:{'NHWC','NCHW'}='NHWC'"
#define FORMATS_V3 "data_format:{'NHWC','NCHW','NDHWC','NCDHW'}='NHWC'"
#define NORM(NAME, types, U, formats, more, grad_, samples_)                                       \
  {                                                                                                \
    .name = NAME, .inputs = "x:T scale:" U " offset:" U " mean:" U " variance:" U,                 \
    .outputs =                                                                                     \
        "y:T batch_mean:" U " batch_variance:" U " reserve_space_1:" U " reserve_space_2:" U more, \
    .attrs = types " epsilon:float=0.0001 exponential_avg_factor:float=1 " formats                 \
                   " is_training:bool=true",                                                       \
    .doc =                                                                                         \
        "Batch normalization: scale * (x - mean) / sqrt(variance + epsilon) + offset per "         \
        "channel. "                                                                                \
        "In training, mean and variance are those of the batch; batch_mean and batch_variance "    \
        "update a moving average (with Bessel's correction of the variance).",                     \
    .args =                                                                                        \
        "x: Images of the rank of data_format.\nscale: Scale of each channel, a vector.\noffset: " \
        "Offset of each "                                                                          \
        "channel, a vector.\n"                                                                     \
        "mean: Mean of each channel for inference; in training, the moving average to update, or " \
        "empty.\n"                                                                                 \
        "variance: Variance of each channel for inference; in training, the moving average to "    \
        "update, or empty.\n"                                                                      \
        "exponential_avg_factor: Weight of the batch in the moving averages; 1 ignores their "     \
        "previous values.\n"                                                                       \
        "is_training: Normalize with the statistics of the batch, else with mean and variance.",   \
    .samples = samples_, .devices = EVERYWHERE, .shape = norm_shape, .record = norm_record,        \
    .grad = grad_                                                                                  \
  }
#define NORM_GRAD(NAME, types, U, S, formats, more, more_args, last, samples_)                     \
  {                                                                                                \
    .name = NAME,                                                                                  \
    .inputs = "y_backprop:T x:T scale:" S " reserve_space_1:" U " reserve_space_2:" U more,        \
    .outputs = "x_backprop:T scale_backprop:" U " offset_backprop:" U " " last,                    \
    .attrs = types " epsilon:float=0.0001 " formats " is_training:bool=true",                      \
    .doc = "The gradient of batch normalization.",                                                 \
    .args =                                                                                        \
        "y_backprop: Gradient of y.\nx: Images of the rank of data_format.\nscale: Scale of each " \
        "channel, a vector.\n"                                                                     \
        "reserve_space_1: Mean of each channel.\nreserve_space_2: Variance of each channel.\n"     \
        "is_training: Whether the statistics of the batch were used." more_args,                   \
    .samples = samples_, .devices = EVERYWHERE, .shape = norm_grad_shape,                          \
    .record = norm_grad_record, .grad = norm_grad_grad                                             \
  }

/* `u` begins each sample: the type of the numbers per channel. */
#define SAMPLES(u)                                                                     \
  u "[2,3,4,5] [5] [5] [0] [0]; " u "data_format='NCHW' [2,3,4,5] [3] [3] [0] [0]; " u \
    "is_training=false [2,3,2,3] [3] [3] [3] [3]:pos; " u                              \
    "data_format='NCHW' is_training=false [2,3,2,3] [3] [3] [3] [3]:pos; " u           \
    "exponential_avg_factor=0.25 epsilon=0.01 [3,20,20,7] [7] [7] [7] [7]:pos; " u     \
    "data_format='NCHW' [2,2,100,90] [2] [2] [0] [0]; " u "[0,2,2,3] [3] [3] [0] [0]"
#define GRAD_SAMPLES(u, last)                                            \
  u "[2,3,4,5] [2,3,4,5] [5] [5] [5]:pos" last "; " u                    \
    "data_format='NCHW' [2,3,4,5] [2,3,4,5] [3] [3] [3]:pos" last "; " u \
    "is_training=false [2,3,2,3] [2,3,2,3] [3] [3] [3]:pos" last "; " u  \
    "epsilon=0.01 [3,20,20,7] [3,20,20,7] [7] [7] [7]:pos" last "; " u   \
    "data_format='NCHW' [2,2,100,90] [2,2,100,90] [2] [2] [2]:pos" last

static const struct op_def op_defs[] = {
    NORM("FusedBatchNorm", "T:{float}", "T", FORMATS, "", norm_grad, SAMPLES("")),
    NORM("FusedBatchNormV2", "T:{bfloat16 half float} U:{float}", "U", FORMATS, "", norm_grad_v2,
         SAMPLES("U=float ")),
    NORM("FusedBatchNormV3", "T:{bfloat16 half float} U:{float}", "U", FORMATS_V3,
         " reserve_space_3:U", norm_grad_v3, SAMPLES("U=float ")),
    NORM_GRAD("FusedBatchNormGrad", "T:{float}", "T", "T", FORMATS, "", "",
              "reserve_space_3:T reserve_space_4:T", GRAD_SAMPLES("", "")),
    NORM_GRAD("FusedBatchNormGradV2", "T:{bfloat16 half float} U:{float}", "U", "float", FORMATS,
              "", "", "reserve_space_3:U reserve_space_4:U", GRAD_SAMPLES("U=float ", "")),
    NORM_GRAD("FusedBatchNormGradV3", "T:{bfloat16 half float} U:{float}", "U", "float", FORMATS_V3,
              " reserve_space_3:U", "\nreserve_space_3: Accepted and ignored.",
              "reserve_space_4:U reserve_space_5:U", GRAD_SAMPLES("U=float ", " [0]")),
};

OP_FAMILY(batch_norm, op_defs);
