/* SPDX-License-Identifier: Apache-2.0
 * projective_transform.c: ImageProjectiveTransformV2 and V3, and their gradients. */
#include <string.h>

#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"

#define KERNELS "ops/image/projective_transform.cl"
#include "kernel/types.h"

KERNEL_TABLE(projective_transform, NUMBER);

enum { TRANSFORM_GRAIN = 4096 };

static situ_status check_transforms(const struct call *call) {
  const situ_shape *images = &call->in[0].shape, *transforms = &call->in[1].shape;
  TRY(op_need_rank(call, 0, 4, "images"));
  TRY(op_need_rank(call, 1, 2, "transforms"));
  if (call->n_in > 3) TRY(op_need_rank(call, 3, 0, "fill_value"));
  if (transforms->rank == SITU_ANY) return NULL;
  const int64_t rows = transforms->dim[0], columns = transforms->dim[1];
  const int64_t batch = images->rank == 4 ? images->dim[0] : SITU_ANY;
  if ((columns == 8 || columns == SITU_ANY) &&
      (rows == SITU_ANY || rows == 1 || batch == SITU_ANY || rows == batch))
    return NULL;
  return INVALID("Input transform should be num_images x 8 or 1 x 8");
}

static situ_status transform_shape(struct call *call) {
  situ_shape *out = &call->out[0].shape, size;
  TRY(check_transforms(call));
  TRY(op_host_shape(call, 2, true, &size));
  if (size.rank != SITU_ANY && size.rank != 2)
    return INVALID("output shape must have two elements [%d]", size.rank);
  *out = (situ_shape){4, {SITU_ANY, SITU_ANY, SITU_ANY, SITU_ANY}};
  if (call->in[0].shape.rank == 4) *out = call->in[0].shape;
  for (int d = 0; d < 2; d++) {
    out->dim[1 + d] = size.rank == 2 ? size.dim[d] : SITU_ANY;
    if (out->dim[1 + d] == 0) return INVALID("output dimensions must be positive");
  }
  return NULL;
}

/* The index of the fill mode in the kernel. */
static situ_status find_mode(const struct call *call, int64_t *mode) {
  static const char *const names[] = {"CONSTANT", "REFLECT", "WRAP", "NEAREST"};
  const char *given = call_text(call, "fill_mode");
  for (*mode = 0; *mode < 4; ++*mode)
    if (!strcmp(given, names[*mode])) return NULL;
  return INVALID("Invalid mode %s", given);
}

static situ_status is_bilinear(const struct call *call, bool *bilinear) {
  const char *given = call_text(call, "interpolation");
  *bilinear = !strcmp(given, "BILINEAR");
  if (*bilinear || !strcmp(given, "NEAREST")) return NULL;
  return INVALID("Invalid interpolation %s. Supported types: NEAREST, BILINEAR", given);
}

static situ_status record_transform(struct call *call) {
  const situ_shape *in = &call->in[0].shape, *out = &call->out[0].shape;
  const int64_t n = situ_shape_count(*out);
  int64_t mode;
  const bool fills = call->n_in > 3;
  bool bilinear;
  TRY(find_mode(call, &mode));
  TRY(is_bilinear(call, &bilinear));
  const int64_t sizes[SITU_MAX_RANK] = {in->dim[1],  in->dim[2],
                                        out->dim[1], out->dim[2],
                                        out->dim[3], call->in[1].shape.dim[0] > 1,
                                        mode,        bilinear + 2 * fills};
  return LAUNCH(call, &projective_transform_kernel, call->in[0].type, n, TRANSFORM_GRAIN,
                (double)n * 24, ARG_IN(call, 0), ARG_IN(call, 1), ARG_IN(call, fills ? 3 : 1),
                ARG_OUT(call, 0), ARG_INTS(sizes), ARG_INT(n));
}

/* The inverses of the transforms, [n, 8]. */
static struct term inverse_of(struct gradient *g, struct term transforms) {
  const struct term rows =
      OP(g, "Slice", gradient_shape_of(g, transforms), gradient_ints(g, (int64_t[]){0}, 1),
         gradient_ints(g, (int64_t[]){1}, 1));
  const struct term column =
      OP(g, "ConcatV2", rows, gradient_ints(g, (int64_t[]){1}, 1), gradient_int(g, 0));
  const struct term ones = OP(g, "Fill", column, gradient_number(g, SITU_FLOAT, 1));
  const struct term flat = OP(g, "ConcatV2", transforms, ones, gradient_int(g, 1));
  const struct term matrices = OP(g, "Reshape", flat, gradient_ints(g, (int64_t[]){-1, 3, 3}, 3));
  const struct term inverse =
      OP(g, "Reshape", OP(g, "MatrixInverse", matrices), gradient_ints(g, (int64_t[]){-1, 9}, 2));
  const struct term last = OP(g, "Slice", inverse, gradient_ints(g, (int64_t[]){0, 8}, 2),
                              gradient_ints(g, (int64_t[]){-1, 1}, 2));
  return OP(g, "Slice", OP(g, "RealDiv", inverse, last), gradient_ints(g, (int64_t[]){0, 0}, 2),
            gradient_ints(g, (int64_t[]){-1, 8}, 2));
}

static void transform_grad(struct gradient *g) {
  const struct term size =
      OP(g, "Slice", gradient_shape_of(g, g->in[0]), gradient_ints(g, (int64_t[]){1}, 1),
         gradient_ints(g, (int64_t[]){2}, 1));
  const situ_attr attrs[] = {gradient_keep(g, "interpolation"), gradient_keep(g, "fill_mode")};
  const struct term in[] = {g->dy[0], inverse_of(g, g->in[1]), size,
                            gradient_number(g, SITU_FLOAT, 0)};
  g->dx[0] =
      gradient_emit(g, g->n_in > 3 ? "ImageProjectiveTransformV3" : "ImageProjectiveTransformV2",
                    in, g->n_in, attrs, 2);
}

#define IMAGE_TYPES "dtype:{uint8 int32 int64 half bfloat16 float double} "
#define IMAGE_ATTRS IMAGE_TYPES "interpolation:string fill_mode:string='CONSTANT'"
#define IMAGE_DOC                                                                               \
  "Applies projective transforms: output pixel (x, y) is input pixel ((a0 x + a1 y + a2) / k, " \
  "(b0 x + b1 y + b2) / k) with k = c0 x + c1 y + 1"
#define IMAGE_ARGS                                                                          \
  "images: Images [batch, height, width, channels].\n"                                      \
  "transforms: Transforms a0, a1, a2, b0, b1, b2, c0, c1: one per image, or one for all.\n" \
  "output_shape: New height and width.\n"                                                   \
  "interpolation: NEAREST or BILINEAR.\n"                                                   \
  "fill_mode: What is outside of an image: CONSTANT, REFLECT, WRAP or NEAREST."

static const struct op_def op_defs[] = {
    {.name = "ImageProjectiveTransformV2",
     .inputs = "images:dtype[b,h,w,c] transforms:float[?,8] output_shape:int32[2]",
     .outputs = "transformed_images:dtype",
     .attrs = IMAGE_ATTRS,
     .python = "",
     .doc = IMAGE_DOC ". Outside of the image is 0.",
     .args = IMAGE_ARGS,
     .samples = "interpolation='NEAREST' [1,3,4,2] [1,8]=1,0,1,0,1,0,0,0 [2]=3,4; "
                "interpolation='BILINEAR' fill_mode='REFLECT' [2,3,4,1] "
                "[1,8]=0.5,0.25,1,0,1,0.5,0,0 [2]=4,5",
     .host = "output_shape",
     .devices = EVERYWHERE,
     .shape = transform_shape,
     .record = record_transform,
     .grad = transform_grad},
    {.name = "ImageProjectiveTransformV3",
     .inputs =
         "images:dtype[b,h,w,c] transforms:float[?,8] output_shape:int32[2] fill_value:float[]",
     .outputs = "transformed_images:dtype",
     .attrs = IMAGE_ATTRS,
     .python = "",
     .doc = IMAGE_DOC ". Outside of the image is a given value.",
     .args = IMAGE_ARGS "\nfill_value: Value outside of the image.",
     .samples = "interpolation='NEAREST' fill_mode='WRAP' [1,3,4,2] [1,8]=1,0,1,0,1,0,0,0 [2]=3,4 "
                "[]=2; interpolation='BILINEAR' [2,3,4,1] [1,8]=0.5,0.25,1,0,1,0.5,0,0 [2]=4,5 "
                "[]=3; interpolation='BILINEAR' fill_mode='NEAREST' [1,2,2,1] "
                "[1,8]=2,0,-1,0,2,0,0,0 [2]=3,3 []=1",
     .host = "output_shape",
     .devices = EVERYWHERE,
     .shape = transform_shape,
     .record = record_transform,
     .grad = transform_grad},
};

OP_FAMILY(projective_transform, op_defs);
