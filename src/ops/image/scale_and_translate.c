/* SPDX-License-Identifier: Apache-2.0
 * scale_and_translate.c: resizes images with a filter, a scale and a translation per axis, by spans
 * of weights for rows and columns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* Filters: the weight at a distance, 0 at `radius` and beyond. */

static float box(float x) { return x < 0.5F ? 1 : x == 0.5F ? 0.5F : 0; }
static float triangle(float x) { return x < 1 ? 1 - x : 0; }
static float gaussian(float x) { return x >= 1.5F ? 0 : expf(-x * x / 0.5F); }

static float lanczos(float x, float radius) {
  const float pi = 3.14159265359F;
  if (x > radius) return 0;
  return x <= 1e-3F ? 1 : radius * sinf(pi * x) * sinf(pi * x / radius) / (pi * pi * x * x);
}
static float lanczos1(float x) { return lanczos(x, 1); }
static float lanczos3(float x) { return lanczos(x, 3); }
static float lanczos5(float x) { return lanczos(x, 5); }

static float keys_cubic(float x) {
  if (x >= 2) return 0;
  return x >= 1 ? ((-0.5F * x + 2.5F) * x - 4) * x + 2 : (1.5F * x - 2.5F) * x * x + 1;
}
static float mitchell_cubic(float x) {
  if (x >= 2) return 0;
  return x >= 1 ? (((-7.0F / 18) * x + 2) * x - 10.0F / 3) * x + 16.0F / 9
                : ((7.0F / 6) * x - 2) * x * x + 8.0F / 9;
}

static const struct filter {
  const char *name;
  float radius;
  float (*weight)(float x);
} filters[] = {{"lanczos1", 1, lanczos1},
               {"lanczos3", 3, lanczos3},
               {"lanczos5", 5, lanczos5},
               {"gaussian", 1.5F, gaussian},
               {"box", 1, box},
               {"triangle", 1, triangle},
               {"keyscubic", 2, keys_cubic},
               {"mitchellcubic", 2, mitchell_cubic}};

static situ_status find_filter(const struct call *call, const struct filter **out) {
  const char *name = call_text(call, "kernel_type");
  for (size_t i = 0; i < COUNT_OF(filters); i++) {
    *out = &filters[i];
    if (!strcmp(name, filters[i].name)) return NULL;
  }
  return INVALID("Unrecognized kernel type: %s", name);
}

/* The input pixels of each output pixel of an axis: `length` weights from `start` on. */
struct spans {
  int64_t length, *start;
  float *weights;
};

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

/* The span of output pixel i; pixels outside of the input have no weight. */
static void fill_span(const struct spans *spans, int64_t i, int64_t from, float inverse,
                      float offset, float width, const struct filter *filter) {
  const float center = ((float)i + 0.5F) * inverse - inverse * offset;
  float *weights = spans->weights + i * spans->length, sum = 0;
  for (int64_t k = 0; k < spans->length; k++) weights[k] = 0;
  spans->start[i] = 0;
  if (center < 0 || center > (float)from) return;
  const int64_t first = clamp((int64_t)ceilf(center - filter->radius * width - 0.5F), 0, from - 1);
  const int64_t last = clamp((int64_t)floorf(center + filter->radius * width - 0.5F), 0, from - 1);
  spans->start[i] = first;
  for (int64_t k = 0; first + k <= last && k < spans->length; k++) {
    weights[k] = filter->weight(fabsf(center - ((float)(first + k) + 0.5F)) / width);
    sum += weights[k];
  }
  if (fabsf(sum) < 1000 * 1.17549435e-38F) return;
  for (int64_t k = 0; k < spans->length; k++) weights[k] /= sum;
}

static situ_status make_spans(const struct filter *filter, bool antialias, int64_t from, int64_t to,
                              float scale, float offset, struct spans *out) {
  const float inverse = 1 / scale, width = antialias && inverse > 1 ? inverse : 1;
  const float pixels = 2 * ceilf(filter->radius * width) + 1;
  out->length = pixels < (float)from ? (int64_t)pixels : from;
  out->start = calloc((size_t)to + 1, sizeof *out->start);
  out->weights = calloc((size_t)(to * out->length) + 1, sizeof *out->weights);
  if (!out->start || !out->weights) return NO_MEMORY();
  for (int64_t i = 0; i < to; i++) fill_span(out, i, from, inverse, offset, width, filter);
  return NULL;
}

static void free_spans(struct spans *spans) {
  free(spans->start);
  free(spans->weights);
}

/* Both axes of a call: images of `small` size are the inputs of the forward op. */
struct axes {
  struct spans rows, columns;
  int64_t batch, channels, from[2], to[2];
};

/* Resamples the images (forward), or distributes gradients (backward). */
static void apply(const struct axes *axes, const situ_tensor *in, float *out, bool backward) {
  const void *data = situ_tensor_data(in);
  const int64_t *from = axes->from, *to = axes->to, c = axes->channels;
  for (int64_t i = 0; i < axes->batch * to[0] * to[1] && !interrupt_pending(); i++) {
    const int64_t w = i % to[1], h = i / to[1] % to[0], image = i / to[1] / to[0];
    for (int64_t r = 0; r < axes->rows.length; r++) {
      const float down = axes->rows.weights[h * axes->rows.length + r];
      if (down == 0) continue;
      const int64_t row = (image * from[0] + axes->rows.start[h] + r) * from[1];
      for (int64_t k = 0; k < axes->columns.length; k++) {
        const float weight = down * axes->columns.weights[w * axes->columns.length + k];
        if (weight == 0) continue;
        const int64_t at = (row + axes->columns.start[w] + k) * c, read = backward ? i * c : at;
        float *write = out + (backward ? at : i * c);
        for (int64_t d = 0; d < c; d++)
          write[d] += weight * (float)number_at(in->type, data, read + d);
      }
    }
  }
}

static situ_status check_scale(const float *scale) {
  if (scale[0] > 0 && scale[1] > 0) return NULL;
  return INVALID("Scale must be greater than zero.");
}

/* `small` has the shape of the input of the forward op, `large` that of its output. */
static situ_status run(struct compute *compute, const situ_shape *small, const situ_shape *large,
                       int first, bool backward) {
  const float *scale = situ_tensor_data(compute->in[first]);
  const float *offset = situ_tensor_data(compute->in[first + 1]);
  const bool antialias = call_bool(compute->call, "antialias");
  const situ_shape *shape = backward ? small : large;
  const struct filter *filter;
  void *out;
  TRY(check_scale(scale));
  TRY(find_filter(compute->call, &filter));
  TRY(compute_output(compute, 0, *shape, &out));
  memset(out, 0, (size_t)situ_shape_count(*shape) * sizeof(float));
  struct axes axes = {.batch = small->dim[0],
                      .channels = small->dim[3],
                      .from = {small->dim[1], small->dim[2]},
                      .to = {large->dim[1], large->dim[2]}};
  situ_status status =
      make_spans(filter, antialias, axes.from[0], axes.to[0], scale[0], offset[0], &axes.rows);
  if (!status)
    status =
        make_spans(filter, antialias, axes.from[1], axes.to[1], scale[1], offset[1], &axes.columns);
  if (!status) apply(&axes, compute->in[0], out, backward);
  free_spans(&axes.rows);
  free_spans(&axes.columns);
  return status;
}

static situ_status compute_scale(struct compute *compute) {
  return run(compute, &compute->in[0]->shape, &compute->call->out[0].shape, 2, false);
}

static situ_status compute_scale_grad(struct compute *compute) {
  return run(compute, &compute->in[1]->shape, &compute->in[0]->shape, 2, true);
}

/* Shapes */

static situ_status check_pairs(const struct call *call) {
  for (int i = 2; i < 4; i++) {
    TRY(op_need_rank(call, i, 1, i == 2 ? "scale" : "translation"));
    const situ_shape *shape = &call->in[i].shape;
    if (shape->rank == 1 && shape->dim[0] != SITU_ANY && shape->dim[0] != 2)
      return INVALID("Dimension must be 2 but is %lld", (long long)shape->dim[0]);
  }
  return NULL;
}

static situ_status scale_shape(struct call *call) {
  situ_shape *out = &call->out[0].shape, size;
  TRY(op_need_rank(call, 0, 4, "images"));
  TRY(check_pairs(call));
  TRY(op_host_shape(call, 1, false, &size));
  if (size.rank != SITU_ANY && size.rank != 2) return INVALID("output_size must have two elements");
  *out = (situ_shape){4, {SITU_ANY, SITU_ANY, SITU_ANY, SITU_ANY}};
  if (call->in[0].shape.rank == 4) *out = call->in[0].shape;
  for (int d = 0; d < 2; d++) {
    out->dim[1 + d] = size.rank == 2 ? size.dim[d] : SITU_ANY;
    if (out->dim[1 + d] == 0) return INVALID("output_size must be positive");
    if (call->in[0].shape.rank == 4 && call->in[0].shape.dim[1 + d] == 0)
      return INVALID("input image must be of non-zero size");
  }
  return NULL;
}

static situ_status scale_grad_shape(struct call *call) {
  const situ_shape *grads = &call->in[0].shape, *images = &call->in[1].shape;
  TRY(op_need_rank(call, 0, 4, "grads"));
  TRY(op_need_rank(call, 1, 4, "original_image"));
  TRY(check_pairs(call));
  call->out[0].shape = *images;
  if (grads->rank != 4 || images->rank != 4) return NULL;
  situ_shape resized = *images;
  for (int d = 1; d < 3; d++) resized.dim[d] = grads->dim[d];
  if (!shape_compatible(grads, &resized))
    return INVALID("grads and original_image must have the same batch size and channels");
  return NULL;
}

static void scale_grad(struct gradient *g) {
  g->dx[0] =
      gradient_emit(g, "ScaleAndTranslateGrad", TERMS(g->dy[0], g->in[0], g->in[2], g->in[3]),
                    ATTRS(gradient_keep(g, "kernel_type"), gradient_keep(g, "antialias")));
}

#define SCALE_ATTRS "kernel_type:string='lanczos3' antialias:bool=true"
#define SCALE_ARGS                                                                    \
  "scale: Scale of height and width.\n"                                               \
  "translation: Translation of rows and columns.\n"                                   \
  "kernel_type: lanczos1, lanczos3, lanczos5, gaussian, box, triangle, keyscubic or " \
  "mitchellcubic.\n"                                                                  \
  "antialias: Whether the filter is widened where the image is made smaller."

static const struct op_def op_defs[] = {
    {.name = "ScaleAndTranslate",
     .inputs = "images:T[b,h,w,c] size:int32[2] scale:float[2] translation:float[2]",
     .outputs = "resized_images:float",
     .attrs = "T:{int8 uint8 int16 uint16 int32 int64 bfloat16 half float double} " SCALE_ATTRS,
     .python = "",
     .doc = "Resizes images with a filter, a scale and a translation.",
     .args = "images: Images [batch, height, width, channels].\n"
             "size: New height and width.\n" SCALE_ARGS,
     .host = "size",
     .devices = "CPU",
     .shape = scale_shape,
     .compute = compute_scale,
     .grad = scale_grad},
    {.name = "ScaleAndTranslateGrad",
     .inputs = "grads:T[b,?,?,c] original_image:T[b,h,w,c] scale:float[2] "
               "translation:float[2]",
     .outputs = "output:T",
     .attrs = "T:{float} " SCALE_ATTRS,
     .python = "",
     .doc = "The gradient of ScaleAndTranslate.",
     .args = "grads: Gradient of the resized images.\n"
             "original_image: Images before resizing.\n" SCALE_ARGS,
     .devices = "CPU",
     .shape = scale_grad_shape,
     .compute = compute_scale_grad,
     .grad = gradient_missing},
};

OP_FAMILY(scale_and_translate, op_defs);
