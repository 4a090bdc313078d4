/* SPDX-License-Identifier: Apache-2.0
 * non_max_suppression.c: non-maximum suppression of bounding boxes, in all versions of the op. */
#include <math.h>
#include <stdlib.h>

#include "host/half.h"
#include "ops/image/suppression.h"
#include "ops/ops.h"
#include "schema/schema.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* Shapes */

static situ_status need_dim(const situ_shape *shape, int d, int64_t size) {
  if (shape->rank == SITU_ANY || shape->dim[d] == SITU_ANY || shape->dim[d] == size) return NULL;
  return INVALID("Dimension must be %lld but is %lld", (long long)size, (long long)shape->dim[d]);
}

/* Boxes [n, columns], scores [n] and scalars; input 0 may be square. */
static situ_status check_inputs(const struct call *call, bool square) {
  const situ_shape *boxes = &call->in[0].shape, *scores = &call->in[1].shape;
  TRY(op_need_rank(call, 0, 2, "boxes"));
  TRY(op_need_rank(call, 1, 1, "scores"));
  for (int i = 2; i < call->n_in; i++) TRY(op_need_rank(call, i, 0, call->schema->inputs[i].name));
  if (scores->rank == 1 && boxes->rank == 2 && scores->dim[0] != SITU_ANY &&
      boxes->dim[0] != SITU_ANY && scores->dim[0] != boxes->dim[0])
    return INVALID("Dimensions must be equal, but are %lld and %lld", (long long)boxes->dim[0],
                   (long long)scores->dim[0]);
  if (!square) return need_dim(boxes, 1, 4);
  return boxes->rank == 2 && boxes->dim[0] != SITU_ANY ? need_dim(boxes, 1, boxes->dim[0]) : NULL;
}

static situ_status indices_shape(struct call *call) {
  call->out[0].shape = (situ_shape){1, {SITU_ANY}};
  return check_inputs(call, false);
}

static situ_status overlaps_shape(struct call *call) {
  call->out[0].shape = (situ_shape){1, {SITU_ANY}};
  return check_inputs(call, true);
}

/* Indices, scores if the op returns them, and the number of selected boxes. */
static situ_status padded_shape(struct call *call) {
  int64_t size = SITU_ANY;
  bool known = false;
  TRY(check_inputs(call, false));
  if (call_bool(call, "pad_to_max_output_size")) TRY(op_host_scalar(call, 2, &size, &known));
  if (known && size < 0)
    return INVALID("max_output_size must be non-negative, got %lld", (long long)size);
  for (int i = 0; i < call->n_out - 1; i++)
    call->out[i].shape = (situ_shape){1, {known ? size : SITU_ANY}};
  call->out[call->n_out - 1].shape = SITU_SCALAR;
  return NULL;
}

/* Computation */

static float scalar_at(const struct compute *compute, int i) {
  const situ_tensor *tensor = compute->in[i];
  return (float)number_at(tensor->type, situ_tensor_data(tensor), 0);
}

static float *as_floats(const situ_tensor *tensor) {
  const int64_t n = situ_shape_count(tensor->shape);
  float *result = malloc((size_t)(n + 1) * sizeof *result);
  for (int64_t i = 0; result && i < n; i++)
    result[i] = (float)number_at(tensor->type, situ_tensor_data(tensor), i);
  return result;
}

static situ_status check_limits(const struct suppression *s, bool bounded) {
  if (bounded && !(s->overlap >= 0 && s->overlap <= 1))
    return INVALID("iou_threshold must be in [0, 1]");
  if (s->most < 0) return INVALID("output size must be non-negative");
  if (!(s->sigma >= 0)) return INVALID("soft_nms_sigma must be non-negative");
  return NULL;
}

static float given_overlap(const void *context, int64_t a, int64_t b) {
  const situ_tensor *overlaps = context;
  return ((const float *)situ_tensor_data(overlaps))[a * overlaps->shape.dim[1] + b];
}

static void put_score(situ_type type, void *out, int64_t i, float score) {
  if (type == SITU_HALF)
    half_from_float(&score, (uint16_t *)out + i, 1);
  else
    ((float *)out)[i] = score;
}

static situ_status return_selection(struct compute *compute, const struct selection *selection,
                                    int64_t most) {
  const struct call *call = compute->call;
  const bool padded = call->n_out > 1 && call_bool(call, "pad_to_max_output_size");
  const int64_t n = padded ? most : selection->count;
  void *index, *score = NULL, *count;
  TRY(compute_output(compute, 0, (situ_shape){1, {n}}, &index));
  if (call->n_out == 3) TRY(compute_output(compute, 1, (situ_shape){1, {n}}, &score));
  for (int64_t i = 0; i < n; i++) {
    const bool valid = i < selection->count;
    ((int32_t *)index)[i] = valid ? selection->index[i] : 0;
    if (score) put_score(call->out[1].type, score, i, valid ? selection->score[i] : 0);
  }
  if (call->n_out == 1) return NULL;
  TRY(compute_output(compute, call->n_out - 1, SITU_SCALAR, &count));
  *(int32_t *)count = (int32_t)selection->count;
  return NULL;
}

static situ_status run(struct compute *compute, struct suppression *s, bool bounded) {
  struct selection selection = {0};
  float *scores = as_floats(compute->in[1]);
  s->scores = scores;
  s->n = situ_shape_count(compute->in[1]->shape);
  s->most = *(const int32_t *)situ_tensor_data(compute->in[2]);
  situ_status status = scores ? check_limits(s, bounded) : NO_MEMORY();
  if (!status) status = suppression_run(s, &selection);
  if (!status) status = return_selection(compute, &selection, s->most);
  suppression_free(&selection);
  free(scores);
  return status;
}

static situ_status compute_boxes(struct compute *compute) {
  TRY(check_inputs(compute->call, false));
  const int n = compute->call->n_in;
  float *boxes = as_floats(compute->in[0]);
  if (!boxes) return NO_MEMORY();
  struct suppression s = {
      .overlap = n > 3 ? scalar_at(compute, 3) : (float)call_real(compute->call, "iou_threshold"),
      .least = n > 4 ? scalar_at(compute, 4) : -INFINITY,
      .sigma = n > 5 ? scalar_at(compute, 5) : 0,
      .similarity = suppression_box_iou,
      .context = boxes};
  const situ_status status = run(compute, &s, true);
  free(boxes);
  return status;
}

static situ_status compute_overlaps(struct compute *compute) {
  TRY(check_inputs(compute->call, true));
  struct suppression s = {.overlap = scalar_at(compute, 3),
                          .least = scalar_at(compute, 4),
                          .similarity = given_overlap,
                          .context = compute->in[0]};
  return run(compute, &s, false);
}

#define BOX_ARGS                                                 \
  "boxes: Boxes [n, 4] as y1, x1, y2, x2 of opposite corners.\n" \
  "scores: Score of each box, [n].\n"                            \
  "max_output_size: Maximum number of boxes, a scalar.\n"        \
  "iou_threshold: Boxes whose intersection over union with a better box is greater are removed."
#define SCORE_ARG "\nscore_threshold: Boxes with a lower score are removed."
#define PAD_ARG \
  "\npad_to_max_output_size: Whether the results are padded with zeros to max_output_size."
#define REALS "{half float}=float"
#define SUPPRESSION(op, in, out, attributes, text, arguments, inputs_on_host, shapes, function) \
  {                                                                                             \
    .name = op, .inputs = in, .outputs = out, .attrs = attributes, .python = "", .doc = text,   \
    .args = arguments, .devices = "CPU", .host = inputs_on_host, .flags = OP_NO_GRADIENT,       \
    .shape = shapes, .compute = function                                                        \
  }

static const struct op_def op_defs[] = {
    SUPPRESSION("NonMaxSuppression", "boxes:float[n,4] scores:float[n] max_output_size:int32[]",
                "selected_indices:int32", "iou_threshold:float[]=0.5",
                "Greedy non-maximum suppression with a constant threshold.", BOX_ARGS, NULL,
                indices_shape, compute_boxes),
    SUPPRESSION("NonMaxSuppressionV2",
                "boxes:T[n,4] scores:T[n] max_output_size:int32[] iou_threshold:T_threshold[]",
                "selected_indices:int32", "T:" REALS " T_threshold:" REALS,
                "Greedy non-maximum suppression with a threshold that is a tensor.", BOX_ARGS, NULL,
                indices_shape, compute_boxes),
    SUPPRESSION("NonMaxSuppressionV3",
                "boxes:T[n,4] scores:T[n] max_output_size:int32[] iou_threshold:T_threshold[] "
                "score_threshold:T_threshold[]",
                "selected_indices:int32", "T:" REALS " T_threshold:" REALS,
                "Greedy non-maximum suppression: the indices of the boxes with the best scores "
                "that do not overlap.",
                BOX_ARGS SCORE_ARG, NULL, indices_shape, compute_boxes),
    SUPPRESSION("NonMaxSuppressionV4",
                "boxes:T[n,4] scores:T[n] max_output_size:int32[] iou_threshold:T_threshold[] "
                "score_threshold:T_threshold[]",
                "selected_indices:int32 valid_outputs:int32",
                "T:" REALS " T_threshold:" REALS " pad_to_max_output_size:bool=false",
                "Greedy non-maximum suppression, with the number of selected boxes.",
                BOX_ARGS SCORE_ARG PAD_ARG, "max_output_size", padded_shape, compute_boxes),
    SUPPRESSION(
        "NonMaxSuppressionV5",
        "boxes:T[n,4] scores:T[n] max_output_size:int32[] iou_threshold:T[] score_threshold:T[] "
        "soft_nms_sigma:T[]",
        "selected_indices:int32 selected_scores:T valid_outputs:int32",
        "T:" REALS " pad_to_max_output_size:bool=false",
        "Greedy or soft non-maximum suppression, with the scores of the selected boxes.",
        BOX_ARGS SCORE_ARG
        "\nsoft_nms_sigma: Standard deviation of soft suppression; 0 for the greedy one." PAD_ARG,
        "max_output_size", padded_shape, compute_boxes),
    SUPPRESSION(
        "NonMaxSuppressionWithOverlaps",
        "overlaps:float[n,n] scores:float[n] max_output_size:int32[] overlap_threshold:float[] "
        "score_threshold:float[]",
        "selected_indices:int32", "",
        "Greedy non-maximum suppression of boxes whose overlaps are given.",
        "overlaps: Overlap of each pair of boxes, [n, n].\n"
        "scores: Score of each box, [n].\n"
        "max_output_size: Maximum number of boxes, a scalar.\n"
        "overlap_threshold: Boxes with a greater overlap with a better box are removed." SCORE_ARG,
        NULL, overlaps_shape, compute_overlaps),
};

OP_FAMILY(non_max_suppression, op_defs);
