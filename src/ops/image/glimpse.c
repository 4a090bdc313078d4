/* SPDX-License-Identifier: Apache-2.0
 * glimpse.c: ExtractGlimpse: windows of images at given centers; noise where they leave them. */
#include <math.h>
#include <string.h>

#include "base/random_seed.h"
#include "kernel/philox_stream.h"
#include "ops/ops.h"
#include "schema/schema.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

enum noise { NOISE_ZERO, NOISE_UNIFORM, NOISE_GAUSSIAN };

static situ_status find_noise(const struct call *call, enum noise *out) {
  const char *given = call_text(call, "noise");
  const bool uniform = call_bool(call, "uniform_noise");
  *out = uniform ? NOISE_UNIFORM : NOISE_GAUSSIAN;
  if (uniform && *given && strcmp(given, "uniform") != 0)
    return INVALID("The uniform_noise and noise could not be specified at the same time");
  if (!*given) return NULL;
  *out = !strcmp(given, "uniform")    ? NOISE_UNIFORM
         : !strcmp(given, "gaussian") ? NOISE_GAUSSIAN
                                      : NOISE_ZERO;
  if (*out != NOISE_ZERO || !strcmp(given, "zero")) return NULL;
  return INVALID("The noise could only be uniform, gaussian, or zero, got %s", given);
}

static situ_status glimpse_shape(struct call *call) {
  const situ_shape *x = &call->in[0].shape, *offsets = &call->in[2].shape;
  situ_shape *out = &call->out[0].shape, size;
  enum noise noise;
  TRY(op_need_rank(call, 0, 4, "input"));
  TRY(op_need_rank(call, 2, 2, "offsets"));
  TRY(find_noise(call, &noise));
  TRY(op_host_shape(call, 1, false, &size));
  if (size.rank != SITU_ANY && size.rank != 2)
    return INVALID("input must be a vector of size 2 (height, width), not of size %d", size.rank);
  *out = (situ_shape){4, {SITU_ANY, SITU_ANY, SITU_ANY, SITU_ANY}};
  if (x->rank == 4) *out = *x;
  if (out->dim[0] == SITU_ANY && offsets->rank == 2) out->dim[0] = offsets->dim[0];
  for (int d = 0; d < 2; d++) out->dim[1 + d] = size.rank == 2 ? size.dim[d] : SITU_ANY;
  return NULL;
}

/* One image and its glimpse. The overlap is `size` pixels from `from` of the image and from `to` of
 * the glimpse, along rows and columns. */
struct glimpse {
  const float *image;
  float *out;
  int64_t whole[2], window[2], channels, from[2], to[2], size[2];
};

/* The corner of the glimpse along one axis, in pixels. ExtractGlimpse reads offsets as the center
 * of the glimpse, ExtractGlimpseV2 only if they are normalized and centered, else as its corner. */
static int64_t corner_of(const struct call *call, float offset, int64_t whole, int64_t window) {
  const bool normalized = call_bool(call, "normalized"), centered = call_bool(call, "centered");
  const bool later = call->schema->op->name[strlen("ExtractGlimpse")] == 'V';
  const float middle = (float)whole / 2;
  float at = normalized ? offset * (float)whole : offset;
  if (centered) at = later && !normalized ? at + middle : at / 2 + middle;
  if (!later || (normalized && centered)) at -= (float)window / 2;
  const float limit = 1e9F;
  return (int64_t)(at > limit ? limit : at >= -limit ? at : -limit);
}

static void place(const struct call *call, const float *offsets, struct glimpse *g) {
  for (int d = 0; d < 2; d++) {
    const int64_t corner = corner_of(call, offsets[d], g->whole[d], g->window[d]);
    g->from[d] = max_i64(0, corner);
    g->to[d] = max_i64(0, -corner);
    g->size[d] = max_i64(0, min_i64(g->whole[d], corner + g->window[d]) - g->from[d]);
  }
}

/* The range of every c-th element, their mean and standard deviation. */
struct moments {
  float low, high;
  double mean, deviation;
};

static struct moments moments_of(const float *data, int64_t n, int64_t step) {
  struct moments m = {data[0], data[0], 0, 0};
  const int64_t items = (n + step - 1) / step;
  const double count = (double)items;
  for (int64_t i = 0; i < n; i += step) {
    m.low = fminf(m.low, data[i]);
    m.high = fmaxf(m.high, data[i]);
    m.mean += (double)data[i] / count;
  }
  for (int64_t i = 0; i < n; i += step)
    m.deviation += ((double)data[i] - m.mean) * ((double)data[i] - m.mean) / count;
  m.deviation = sqrt(m.deviation);
  return m;
}

/* Uniform numbers between the limits of the image. */
static void fill_uniform(struct rng *rng, const struct glimpse *g) {
  const int64_t n = g->window[0] * g->window[1] * g->channels;
  const struct moments m = moments_of(g->image, g->whole[0] * g->whole[1] * g->channels, 1);
  for (int64_t i = 0; i < n; i++)
    g->out[i] = m.low + (float)(rng_double(rng) * ((double)m.high - (double)m.low));
}

static double normal(struct rng *rng) {
  const double radius = sqrt(-2 * log(1 - rng_double(rng)));
  return radius * cos(2 * 3.14159265358979323846 * rng_double(rng));
}

/* Normal numbers with the mean and the deviation of the channel, within its limits. */
static void fill_gaussian(struct rng *rng, const struct glimpse *g) {
  const int64_t n = g->window[0] * g->window[1] * g->channels;
  for (int64_t c = 0; c < g->channels; c++) {
    const struct moments m =
        moments_of(g->image + c, g->whole[0] * g->whole[1] * g->channels - c, g->channels);
    for (int64_t i = c; i < n; i += g->channels) {
      const float v = (float)(m.mean + m.deviation * normal(rng));
      g->out[i] = fmaxf(m.low, fminf(m.high, v));
    }
  }
}

static void fill_noise(enum noise noise, struct rng *rng, const struct glimpse *g) {
  const int64_t n = g->window[0] * g->window[1] * g->channels;
  if (g->size[0] == g->window[0] && g->size[1] == g->window[1]) return;
  if (noise == NOISE_ZERO)
    memset(g->out, 0, (size_t)n * sizeof(float));
  else if (noise == NOISE_UNIFORM)
    fill_uniform(rng, g);
  else
    fill_gaussian(rng, g);
}

static void copy_overlap(const struct glimpse *g) {
  for (int64_t row = 0; row < g->size[0] && g->size[1]; row++)
    memcpy(g->out + ((g->to[0] + row) * g->window[1] + g->to[1]) * g->channels,
           g->image + ((g->from[0] + row) * g->whole[1] + g->from[1]) * g->channels,
           (size_t)(g->size[1] * g->channels) * sizeof(float));
}

static situ_status compute_glimpse(struct compute *compute) {
  const struct call *call = compute->call;
  const situ_shape in = compute->in[0]->shape, shape = call->out[0].shape;
  const float *x = situ_tensor_data(compute->in[0]), *offsets = situ_tensor_data(compute->in[2]);
  uint64_t seeds[2];
  enum noise noise;
  void *out;
  TRY(find_noise(call, &noise));
  TRY(compute_output(compute, 0, shape, &out));
  if (!situ_shape_count(shape)) return NULL;
  if (!in.dim[1] || !in.dim[2]) return INVALID("input images must not be empty");
  TRY(random_seed_next(seeds));
  struct rng rng = rng_create((int64_t)seeds[0], (int64_t)seeds[1]);
  for (int64_t i = 0; i < in.dim[0]; i++) {
    struct glimpse g = {.image = x + i * in.dim[1] * in.dim[2] * in.dim[3],
                        .out = (float *)out + i * shape.dim[1] * shape.dim[2] * in.dim[3],
                        .whole = {in.dim[1], in.dim[2]},
                        .window = {shape.dim[1], shape.dim[2]},
                        .channels = in.dim[3]};
    place(call, offsets + 2 * i, &g);
    fill_noise(noise, &rng, &g);
    copy_overlap(&g);
  }
  return NULL;
}

#define GLIMPSE(op_name, start)                                                              \
  {                                                                                          \
    .name = op_name, .inputs = "input:float[b,h,w,c] size:int32[2] offsets:float[b,2]",      \
    .outputs = "glimpse:float",                                                              \
    .attrs =                                                                                 \
        "centered:bool=true normalized:bool=true uniform_noise:bool=true "                   \
        "noise:string='uniform'",                                                            \
    .python = "",                                                                            \
    .doc = "Cuts a window out of each image; pixels outside of the image are noise.",        \
    .args =                                                                                  \
        "input: Images [batch, height, width, channels].\n"                                  \
        "size: Height and width of the windows.\n"                                           \
        "offsets: Row and column of " start                                                  \
        " of each window.\n"                                                                 \
        "centered: Offsets are relative to the center of the image, else to its corner.\n"   \
        "normalized: The size of the image is 1 (2 if centered), else offsets are pixels.\n" \
        "uniform_noise: The noise is uniform, else Gaussian.\n"                              \
        "noise: uniform, gaussian or zero; takes the place of uniform_noise.",               \
    .host = "size", .devices = "CPU", .flags = OP_STATEFUL | OP_NO_GRADIENT,                 \
    .shape = glimpse_shape, .compute = compute_glimpse                                       \
  }

static const struct op_def op_defs[] = {
    GLIMPSE("ExtractGlimpse", "the center"),
    GLIMPSE("ExtractGlimpseV2", "the center (normalized and centered) or corner")};

OP_FAMILY(glimpse, op_defs);
