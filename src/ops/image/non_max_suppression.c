/* SPDX-License-Identifier: Apache-2.0
 * non_max_suppression.c: non-maximum suppression of bounding boxes. */
#include <stdlib.h>

#include "ops/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

struct box {
  float score;
  int32_t number;
};

static int best_first(const void *a, const void *b) {
  const struct box *x = a, *y = b;
  if (x->score != y->score) return x->score < y->score ? 1 : -1;
  return x->number - y->number;
}

static float smaller(float a, float b) { return a < b ? a : b; }
static float larger(float a, float b) { return a > b ? a : b; }

/* The part that two boxes have in common of what they cover together: [y1, x1, y2, x2], whichever
 * corners these are. */
static float overlap(const float *a, const float *b) {
  const float top_a = smaller(a[0], a[2]), low_a = larger(a[0], a[2]);
  const float left_a = smaller(a[1], a[3]), right_a = larger(a[1], a[3]);
  const float top_b = smaller(b[0], b[2]), low_b = larger(b[0], b[2]);
  const float left_b = smaller(b[1], b[3]), right_b = larger(b[1], b[3]);
  const float area_a = (low_a - top_a) * (right_a - left_a);
  const float area_b = (low_b - top_b) * (right_b - left_b);
  if (area_a <= 0 || area_b <= 0) return 0;
  const float high = larger(smaller(low_a, low_b) - larger(top_a, top_b), 0);
  const float wide = larger(smaller(right_a, right_b) - larger(left_a, left_b), 0);
  return high * wide / (area_a + area_b - high * wide);
}

static float number_of(const situ_tensor *tensor) {
  return *(const float *)situ_tensor_data(tensor);
}

static situ_status need_boxes(const struct compute *compute) {
  const situ_shape *boxes = &compute->in[0]->shape, *scores = &compute->in[1]->shape;
  const float most = number_of(compute->in[3]);
  if (boxes->rank != 2 || boxes->dim[1] != 4) return INVALID("boxes must have 4 columns");
  if (scores->rank != 1 || scores->dim[0] != boxes->dim[0])
    return INVALID("scores has incompatible shape");
  if (!(most >= 0 && most <= 1)) return INVALID("iou_threshold must be in [0, 1]");
  return NULL;
}

static situ_status compute_best(struct compute *compute) {
  TRY(need_boxes(compute));
  const float *boxes = situ_tensor_data(compute->in[0]), *scores = situ_tensor_data(compute->in[1]);
  const int64_t n = compute->in[1]->shape.dim[0];
  const int32_t want = *(const int32_t *)situ_tensor_data(compute->in[2]);
  const float iou = number_of(compute->in[3]), least = number_of(compute->in[4]);
  struct box *order = malloc((size_t)(n + 1) * sizeof *order);
  int32_t *kept = malloc((size_t)(n + 1) * sizeof *kept);
  situ_status status = order && kept ? NULL : NO_MEMORY();
  int64_t count = 0, found = 0;
  for (int64_t i = 0; !status && i < n; i++)
    if (scores[i] > least) order[count++] = (struct box){scores[i], (int32_t)i};
  if (!status) qsort(order, (size_t)count, sizeof *order, best_first);
  for (int64_t i = 0; !status && i < count && found < want; i++) {
    bool covered = false;
    for (int64_t k = 0; !covered && k < found; k++)
      covered = overlap(boxes + 4 * (int64_t)order[i].number, boxes + 4 * (int64_t)kept[k]) > iou;
    if (!covered) kept[found++] = order[i].number;
  }
  void *out = NULL;
  if (!status) status = compute_output(compute, 0, (situ_shape){1, {found}}, &out);
  for (int64_t k = 0; !status && k < found; k++) ((int32_t *)out)[k] = kept[k];
  free(order);
  free(kept);
  return status;
}

static situ_status best_shape(struct call *call) {
  TRY(op_need_rank(call, 0, 2, "boxes"));
  TRY(op_need_rank(call, 1, 1, "scores"));
  call->out[0].shape = (situ_shape){1, {SITU_ANY}};
  return NULL;
}

static const struct op_def op_defs[] = {
    {.name = "NonMaxSuppressionV3",
     .inputs = "boxes:float scores:float max_output_size:int32 iou_threshold:float "
               "score_threshold:float",
     .outputs = "selected_indices:int32",
     .python = "",
     .doc = "Greedy non-maximum suppression: the indices of the boxes with the best scores that do "
            "not overlap.",
     .args = "boxes: Boxes [n, 4] as y1, x1, y2, x2 of opposite corners.\n"
             "scores: Score of each box, [n].\n"
             "max_output_size: Maximum number of boxes, a scalar.\n"
             "iou_threshold: Boxes whose intersection over union with a better box is greater are "
             "removed.\n"
             "score_threshold: Boxes with a lower score are removed.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = best_shape,
     .compute = compute_best},
};

OP_FAMILY(non_max_suppression, op_defs);
