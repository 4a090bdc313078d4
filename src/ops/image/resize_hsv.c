/* SPDX-License-Identifier: Apache-2.0
 * resize_hsv.c: image resizing and RGB/HSV conversion, with gradients. */
#include "ops/gradient.h"
#include "ops/math/cast.h"
#include "ops/ops.h"
#include "schema/schema.h"
#include "tensor/shape.h"

#define KERNELS "ops/image/resize_hsv.cl"
#include "kernel/types.h"

KERNEL_TABLE(resize_bilinear, NUMBER);
KERNEL_TABLE(resize_nearest, NUMBER);
KERNEL_TABLE(resize_area, NUMBER);
KERNEL_TABLE(resize_bilinear_grad, REAL);
KERNEL_TABLE(resize_bicubic, NUMBER);
KERNEL_TABLE(resize_bicubic_grad, REAL);
KERNEL_TABLE(resize_nearest_grad, NUMBER);
KERNEL_TABLE(rgb_to_hsv, REAL);
KERNEL_TABLE(hsv_to_rgb, REAL);

enum { IMAGE_GRAIN = 4096 };

/* Whether the op has half_pixel_centers and it is true. */
static bool has_centers(const struct call *call) {
  const int attr = schema_attr(call->schema, "half_pixel_centers");
  return attr >= 0 && call_bool(call, "half_pixel_centers");
}

/* The shape of input 0 with the height and width in input 1. */
static situ_status resize_shape(struct call *call) {
  situ_shape *out = &call->out[0].shape, size;
  TRY(op_need_rank(call, 0, 4, "images"));
  TRY(op_host_shape(call, 1, false, &size));
  if (size.rank != SITU_ANY && size.rank != 2)
    return INVALID("size must have 2 elements but has %d", size.rank);
  if (call_bool(call, "align_corners") && has_centers(call))
    return INVALID("If half_pixel_centers is True, align_corners must be False.");
  *out = (situ_shape){4, {SITU_ANY, SITU_ANY, SITU_ANY, SITU_ANY}};
  if (call->in[0].shape.rank == 4) *out = call->in[0].shape;
  for (int d = 0; d < 2; d++) out->dim[1 + d] = size.rank == 2 ? size.dim[d] : SITU_ANY;
  for (int d = 1; d < 3; d++) {
    if (out->dim[d] == 0) return INVALID("output dimensions must be positive");
    if (call->in[0].shape.rank == 4 && call->in[0].shape.dim[d] == 0)
      return INVALID("input image must be of non-zero size");
  }
  return NULL;
}

static situ_status grad_like_shape(struct call *call) {
  TRY(op_need_rank(call, 0, 4, "grads"));
  TRY(op_need_rank(call, 1, 4, "original_image"));
  const situ_shape *grads = &call->in[0].shape, *image = &call->in[1].shape;
  call->out[0].shape = *image;
  if (grads->rank == SITU_ANY || image->rank == SITU_ANY) return NULL;
  situ_shape resized = *image;
  for (int d = 1; d < 3; d++) {
    resized.dim[d] = grads->dim[d];
    if (grads->dim[d] == 0 || image->dim[d] == 0)
      return INVALID("The image and its gradient must be of non-zero size");
  }
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (!shape_compatible(grads, &resized))
    return INVALID("grads and original_image must have the same batch size and channels: %s vs. %s",
                   shape_print(grads, a), shape_print(image, b));
  return NULL;
}

/* {height, width, new height, new width, channels, centers, corners} */
static void describe(const struct call *call, const situ_shape *from, const situ_shape *to,
                     bool centers, int64_t out[SITU_MAX_RANK]) {
  const int64_t words[SITU_MAX_RANK] = {from->dim[1],
                                        from->dim[2],
                                        to->dim[1],
                                        to->dim[2],
                                        to->dim[3],
                                        centers,
                                        call_bool(call, "align_corners")};
  for (int i = 0; i < SITU_MAX_RANK; i++) out[i] = words[i];
}

static situ_status record_resize(struct call *call, const struct kernel *kernel, bool centers) {
  const situ_shape *in = &call->in[0].shape, *out = &call->out[0].shape;
  const int64_t n = situ_shape_count(*out);
  int64_t sizes[SITU_MAX_RANK];
  describe(call, in, out, centers, sizes);
  return LAUNCH(call, kernel, call->in[0].type, n, IMAGE_GRAIN, (double)n * 16, ARG_IN(call, 0),
                ARG_OUT(call, 0), ARG_INTS(sizes), ARG_INT(n));
}

static situ_status record_bilinear(struct call *call) {
  return record_resize(call, &resize_bilinear_kernel, call_bool(call, "half_pixel_centers"));
}
static situ_status record_nearest(struct call *call) {
  return record_resize(call, &resize_nearest_kernel, call_bool(call, "half_pixel_centers"));
}
static situ_status record_bicubic(struct call *call) {
  return record_resize(call, &resize_bicubic_kernel, call_bool(call, "half_pixel_centers"));
}
static situ_status record_area(struct call *call) {
  return record_resize(call, &resize_area_kernel, false);
}

/* Converts a slot to float, in another slot. */
static situ_status widen(struct call *call, situ_type type, int32_t from, int64_t n,
                         int32_t *slot) {
  TRY(call_scratch(call, (size_t)n * sizeof(float), slot));
  return cast_record(call, type, from, SITU_FLOAT, *slot, n);
}

/* Sums of 16-bit types are computed in float. */
static situ_status record_grad(struct call *call, const struct kernel *kernel) {
  const situ_shape *dy = &call->in[0].shape, *dx = &call->out[0].shape;
  const situ_type type = call->out[0].type;
  const bool narrow = type == SITU_HALF || type == SITU_BFLOAT16;
  const int64_t n = dx->dim[0] * dx->dim[3], count = situ_shape_count(*dx);
  int64_t sizes[SITU_MAX_RANK];
  int32_t from = call->in[0].slot, to = call->out[0].slot;
  if (narrow && call->in[0].type != SITU_FLOAT)
    TRY(widen(call, type, from, situ_shape_count(*dy), &from));
  if (narrow) TRY(call_scratch(call, (size_t)count * sizeof(float), &to));
  describe(call, dx, dy, call_bool(call, "half_pixel_centers"), sizes);
  TRY(LAUNCH(call, kernel, narrow ? SITU_FLOAT : type, n, 1, (double)situ_shape_count(*dy) * 16,
             ARG_AT(from), ARG_AT(to), ARG_INTS(sizes), ARG_INT(n)));
  return narrow ? cast_record(call, SITU_FLOAT, to, type, call->out[0].slot, count) : NULL;
}

static situ_status record_bilinear_grad(struct call *call) {
  return record_grad(call, &resize_bilinear_grad_kernel);
}
static situ_status record_bicubic_grad(struct call *call) {
  return record_grad(call, &resize_bicubic_grad_kernel);
}
static situ_status record_nearest_grad(struct call *call) {
  return record_grad(call, &resize_nearest_grad_kernel);
}

/* Colors */

static situ_status color_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  char text[256];
  call->out[0].shape = *in;
  if (in->rank == SITU_ANY ||
      (in->rank > 0 && (in->dim[in->rank - 1] == 3 || in->dim[in->rank - 1] == SITU_ANY)))
    return NULL;
  return INVALID("the last dimension of the images must be 3: %s", shape_print(in, text));
}

static situ_status record_color(struct call *call, const struct kernel *kernel) {
  const int64_t n = situ_shape_count(call->in[0].shape) / 3;
  return LAUNCH(call, kernel, call->in[0].type, n, IMAGE_GRAIN, (double)n * 24, ARG_IN(call, 0),
                ARG_OUT(call, 0), ARG_INT(n));
}

static situ_status record_rgb_to_hsv(struct call *call) {
  return record_color(call, &rgb_to_hsv_kernel);
}
static situ_status record_hsv_to_rgb(struct call *call) {
  return record_color(call, &hsv_to_rgb_kernel);
}

/* Gradients */

static void bilinear_grad(struct gradient *g) {
  g->dx[0] = gradient_emit(
      g, "ResizeBilinearGrad", TERMS(g->dy[0], g->in[0]),
      ATTRS(gradient_keep(g, "align_corners"), gradient_keep(g, "half_pixel_centers")));
}

static void bicubic_grad(struct gradient *g) {
  g->dx[0] = gradient_emit(
      g, "ResizeBicubicGrad", TERMS(g->dy[0], g->in[0]),
      ATTRS(gradient_keep(g, "align_corners"), gradient_keep(g, "half_pixel_centers")));
}

/* Emits an op of dy and the height and width of input 0, with the same options. */
static void resized_grad(struct gradient *g, const char *op) {
  const struct term size =
      OP(g, "Slice", gradient_shape_of(g, g->in[0]), gradient_ints(g, (int64_t[]){1}, 1),
         gradient_ints(g, (int64_t[]){2}, 1));
  g->dx[0] = gradient_emit(
      g, op, TERMS(g->dy[0], size),
      ATTRS(gradient_keep(g, "align_corners"), gradient_keep(g, "half_pixel_centers")));
}

static void nearest_grad(struct gradient *g) { resized_grad(g, "ResizeNearestNeighborGrad"); }

/* Second derivatives: the gradient is linear in dy. */
static void bilinear_second(struct gradient *g) { resized_grad(g, "ResizeBilinear"); }
static void bicubic_second(struct gradient *g) { resized_grad(g, "ResizeBicubic"); }
static void nearest_second(struct gradient *g) { resized_grad(g, "ResizeNearestNeighbor"); }

#define RULES "align_corners:bool=false half_pixel_centers:bool=false"
#define RESIZE_SAMPLES(more)                                                     \
  "[1,2,3,2] [2]=4,5; [2,4,4,1] [2]=3,2; [1,1,1,3] [2]=2,2; [1,5,4,1] [2]=5,4; " \
  "align_corners=true [1,3,4,1] [2]=5,7" more
#define CENTERS "; half_pixel_centers=true [1,4,3,2] [2]=3,5"

static const struct op_def op_defs[] = {
    {.name = "ResizeBilinear",
     .inputs = "images:T[b,h,w,c] size:int32[2]",
     .outputs = "resized_images:float",
     .attrs = "T:{" TYPE_NAMES_NUMBER "} " RULES,
     .doc = "Resizes images with bilinear interpolation.",
     .args = "images: Images [batch, height, width, channels].\n"
             "size: New height and width.",
     .samples = RESIZE_SAMPLES(CENTERS),
     .host = "size",
     .devices = EVERYWHERE,
     .shape = resize_shape,
     .record = record_bilinear,
     .grad = bilinear_grad},
    {.name = "ResizeBicubic",
     .inputs = "images:T[b,h,w,c] size:int32[2]",
     .outputs = "resized_images:float",
     .attrs = "T:{" TYPE_NAMES_NUMBER "} " RULES,
     .python = "",
     .doc = "Resizes images with bicubic interpolation.",
     .args = "images: Images [batch, height, width, channels].\n"
             "size: New height and width.",
     .samples = RESIZE_SAMPLES(CENTERS),
     .host = "size",
     .devices = EVERYWHERE,
     .shape = resize_shape,
     .record = record_bicubic,
     .grad = bicubic_grad},
    {.name = "ResizeNearestNeighbor",
     .inputs = "images:T[b,h,w,c] size:int32[2]",
     .outputs = "resized_images:T",
     .attrs = "T:{" TYPE_NAMES_NUMBER "} " RULES,
     .doc = "Resizes images with nearest-neighbor interpolation.",
     .args = "images: Images [batch, height, width, channels].\n"
             "size: New height and width.",
     .samples = RESIZE_SAMPLES(CENTERS),
     .host = "size",
     .devices = EVERYWHERE,
     .shape = resize_shape,
     .record = record_nearest,
     .grad = nearest_grad},
    {.name = "ResizeArea",
     .inputs = "images:T[b,h,w,c] size:int32[2]",
     .outputs = "resized_images:float",
     .attrs = "T:{" TYPE_NAMES_NUMBER "} align_corners:bool=false",
     .doc = "Resizes images by averaging the area of each output pixel.",
     .args = "images: Images [batch, height, width, channels].\n"
             "size: New height and width.",
     .samples = RESIZE_SAMPLES(""),
     .host = "size",
     .devices = EVERYWHERE,
     .shape = resize_shape,
     .record = record_area,
     .grad = gradient_missing},
    {.name = "ResizeBilinearGrad",
     .inputs = "grads:float[b,?,?,c] original_image:T[b,h,w,c]",
     .outputs = "output:T",
     .attrs = "T:{float bfloat16 half double} " RULES,
     .doc = "The gradient of ResizeBilinear.",
     .args = "grads: Gradient of the resized images.\n"
             "original_image: Images before resizing, which determine the size of the result.",
     .samples = "[1,4,5,2] [1,2,3,2]; half_pixel_centers=true [2,3,2,1] [2,4,4,1]; "
                "align_corners=true [1,5,7,1] [1,3,4,1]",
     .devices = EVERYWHERE,
     .shape = grad_like_shape,
     .record = record_bilinear_grad,
     .grad = bilinear_second},
    {.name = "ResizeBicubicGrad",
     .inputs = "grads:float[b,?,?,c] original_image:T[b,h,w,c]",
     .outputs = "output:T",
     .attrs = "T:{float double} " RULES,
     .doc = "The gradient of ResizeBicubic.",
     .args = "grads: Gradient of the resized images.\n"
             "original_image: Images before resizing, which determine the size of the result.",
     .samples = "[1,4,5,2] [1,2,3,2]; half_pixel_centers=true [2,3,2,1] [2,4,4,1]; "
                "align_corners=true [1,5,7,1] [1,3,4,1]",
     .devices = EVERYWHERE,
     .shape = grad_like_shape,
     .record = record_bicubic_grad,
     .grad = bicubic_second},
    {.name = "ResizeNearestNeighborGrad",
     .inputs = "grads:T[b,h,w,c] size:int32[2]",
     .outputs = "output:T",
     .attrs = "T:{uint8 int8 int32 half float double bfloat16} " RULES,
     .doc = "The gradient of ResizeNearestNeighbor.",
     .args = "grads: Gradient of the resized images.\n"
             "size: Height and width of the images before resizing.",
     .samples = "[1,4,5,2] [2]=2,3; half_pixel_centers=true [2,3,2,1] [2]=4,4; "
                "align_corners=true [1,5,7,1] [2]=3,4",
     .host = "size",
     .devices = EVERYWHERE,
     .shape = resize_shape,
     .record = record_nearest_grad,
     .grad = nearest_second},
    {.name = "RGBToHSV",
     .inputs = "images:T",
     .outputs = "output:T",
     .attrs = "T:{" TYPE_NAMES_REAL "}=float",
     .python = "image.rgb_to_hsv",
     .doc = "Converts RGB colors to hue, saturation and value.",
     .args = "images: Tensor with RGB values from 0 to 1 in its last dimension, of size 3.",
     .samples = "[4,3]:pos; [2,2,3]:pos; [1,3]=0,0,0",
     .devices = EVERYWHERE,
     .shape = color_shape,
     .record = record_rgb_to_hsv,
     .grad = gradient_missing},
    {.name = "HSVToRGB",
     .inputs = "images:T",
     .outputs = "output:T",
     .attrs = "T:{" TYPE_NAMES_REAL "}=float",
     .python = "image.hsv_to_rgb",
     .doc = "Converts hue, saturation and value to RGB colors.",
     .args = "images: Tensor with hue, saturation and value from 0 to 1 in its last dimension, of "
             "size 3.",
     .samples = "[2,3]=0.25,0.5,0.75,0.875,1,0.5; [1,3]=0,0,0",
     .devices = EVERYWHERE,
     .flags = OP_NO_GRADIENT,
     .shape = color_shape,
     .record = record_hsv_to_rgb},
};

OP_FAMILY(resize_hsv, op_defs);
