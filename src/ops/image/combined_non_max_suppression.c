/* SPDX-License-Identifier: Apache-2.0
 * combined_non_max_suppression.c: non-maximum suppression per class, for batches of images. */
#include <stdlib.h>

#include "ops/image/suppression.h"
#include "ops/ops.h"
#include "schema/schema.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* Inputs and limits of a call. */
struct combined {
  const float *boxes, *scores;
  int64_t batch, n, box_classes, classes;
  int64_t per_class, total, size; /* size: of the results of one image */
  float overlap, least;
  bool clip;
};

struct detection {
  float score;
  int64_t class, index, order;
};

static int best_first(const void *a, const void *b) {
  const struct detection *x = a, *y = b;
  if (x->score != y->score) return x->score < y->score ? 1 : -1;
  return x->order < y->order ? -1 : 1;
}

/* The boxes of one class of one image, contiguous. */
static void gather_class(const struct combined *c, int64_t image, int64_t class, float *boxes,
                         float *scores) {
  const int64_t column = c->box_classes > 1 ? class : 0;
  for (int64_t i = 0; i < c->n; i++) {
    const int64_t row = image * c->n + i;
    scores[i] = c->scores[row * c->classes + class];
    for (int k = 0; k < 4; k++)
      boxes[4 * i + k] = c->boxes[4 * (row * c->box_classes + column) + k];
  }
}

static situ_status select_class(const struct combined *c, int64_t image, int64_t class,
                                float *scratch, struct detection *found, int64_t *count) {
  struct selection selection = {0};
  gather_class(c, image, class, scratch, scratch + 4 * c->n);
  const struct suppression s = {.scores = scratch + 4 * c->n,
                                .n = c->n,
                                .most = c->per_class < c->n ? c->per_class : c->n,
                                .overlap = c->overlap,
                                .least = c->least,
                                .similarity = suppression_box_iou,
                                .context = scratch};
  const situ_status status = suppression_run(&s, &selection);
  for (int64_t k = 0; !status && k < selection.count; k++, (*count)++)
    found[*count] = (struct detection){selection.score[k], class, selection.index[k], *count};
  suppression_free(&selection);
  return status;
}

static float clipped(float v) { return v < 0 ? 0 : v > 1 ? 1 : v; }

/* Writes the best detections of an image; the results are initially 0. */
static int64_t write_image(const struct combined *c, int64_t image, const struct detection *found,
                           int64_t count, float *out[3]) {
  const int64_t n = count < c->size ? count : c->size;
  for (int64_t k = 0; k < n; k++) {
    const int64_t column = c->box_classes > 1 ? found[k].class : 0, at = image * c->size + k;
    const float *box = c->boxes + 4 * ((image * c->n + found[k].index) * c->box_classes + column);
    for (int d = 0; d < 4; d++) out[0][4 * at + d] = c->clip ? clipped(box[d]) : box[d];
    out[1][at] = found[k].score;
    out[2][at] = (float)found[k].class;
  }
  return n;
}

static situ_status make_outputs(struct compute *compute, const struct combined *c, float *out[3],
                                int32_t **valid) {
  const situ_shape shapes[] = {
      {3, {c->batch, c->size, 4}}, {2, {c->batch, c->size}}, {2, {c->batch, c->size}}};
  for (int i = 0; i < 3; i++) {
    void *data;
    TRY(compute_output(compute, i, shapes[i], &data));
    out[i] = data;
    for (int64_t k = situ_shape_count(shapes[i]); k-- > 0;) out[i][k] = 0;
  }
  void *data;
  TRY(compute_output(compute, 3, (situ_shape){1, {c->batch}}, &data));
  *valid = data;
  return NULL;
}

static situ_status select_all(const struct combined *c, float *out[3], int32_t *valid) {
  float *scratch = malloc((size_t)(5 * c->n + 1) * sizeof *scratch);
  struct detection *found = malloc((size_t)(c->n * c->classes + 1) * sizeof *found);
  situ_status status = scratch && found ? NULL : NO_MEMORY();
  for (int64_t image = 0; !status && image < c->batch; image++) {
    int64_t count = 0;
    for (int64_t class = 0; !status && class < c->classes; class ++)
      status = select_class(c, image, class, scratch, found, &count);
    if (status) break;
    qsort(found, (size_t)count, sizeof *found, best_first);
    valid[image] = (int32_t)write_image(c, image, found, count, out);
  }
  free(scratch);
  free(found);
  return status;
}

static situ_status check_limits(const struct combined *c) {
  if (c->per_class <= 0) return INVALID("max_size_per_class must be positive");
  if (c->total <= 0) return INVALID("max_total_size must be > 0");
  if (!(c->overlap >= 0 && c->overlap <= 1)) return INVALID("iou_threshold must be in [0, 1]");
  if (c->box_classes != 1 && c->box_classes != c->classes)
    return INVALID("third dimension of boxes must be either 1 or num classes");
  return NULL;
}

static int32_t int_at(const struct compute *compute, int i) {
  return *(const int32_t *)situ_tensor_data(compute->in[i]);
}

/* Number of results of an image. */
static int64_t result_size(const struct call *call, int64_t classes, int64_t per_class,
                           int64_t total) {
  if (!call_bool(call, "pad_per_class") || per_class > total / max_i64(1, classes)) return total;
  return per_class * classes;
}

static situ_status combined_shape(struct call *call);

static situ_status compute_combined(struct compute *compute) {
  TRY(combined_shape(compute->call));
  const situ_shape *boxes = &compute->in[0]->shape, *scores = &compute->in[1]->shape;
  struct combined c = {situ_tensor_data(compute->in[0]),
                       situ_tensor_data(compute->in[1]),
                       scores->dim[0],
                       scores->dim[1],
                       boxes->dim[2],
                       scores->dim[2],
                       int_at(compute, 2),
                       int_at(compute, 3),
                       0,
                       *(const float *)situ_tensor_data(compute->in[4]),
                       *(const float *)situ_tensor_data(compute->in[5]),
                       call_bool(compute->call, "clip_boxes")};
  TRY(check_limits(&c));
  c.size = result_size(compute->call, c.classes, c.per_class, c.total);
  float *out[3];
  int32_t *valid;
  TRY(make_outputs(compute, &c, out, &valid));
  return select_all(&c, out, valid);
}

static situ_status check_boxes(const struct call *call) {
  const situ_shape *boxes = &call->in[0].shape, *scores = &call->in[1].shape;
  TRY(op_need_rank(call, 0, 4, "boxes"));
  TRY(op_need_rank(call, 1, 3, "scores"));
  for (int i = 2; i < 6; i++) TRY(op_need_rank(call, i, 0, call->schema->inputs[i].name));
  if (boxes->rank == 4 && boxes->dim[3] != SITU_ANY && boxes->dim[3] != 4)
    return INVALID("Dimension must be 4 but is %lld", (long long)boxes->dim[3]);
  for (int d = 0; d < 2 && boxes->rank == 4 && scores->rank == 3; d++)
    if (boxes->dim[d] != SITU_ANY && scores->dim[d] != SITU_ANY && boxes->dim[d] != scores->dim[d])
      return INVALID("Dimensions must be equal, but are %lld and %lld", (long long)boxes->dim[d],
                     (long long)scores->dim[d]);
  return NULL;
}

static situ_status combined_shape(struct call *call) {
  const situ_shape *boxes = &call->in[0].shape, *scores = &call->in[1].shape;
  int64_t per_class = 0, total = 0, size = SITU_ANY;
  bool known = false, total_known = false;
  TRY(check_boxes(call));
  TRY(op_host_scalar(call, 2, &per_class, &known));
  TRY(op_host_scalar(call, 3, &total, &total_known));
  if (total_known && total <= 0) return INVALID("max_total_size should be > 0");
  const bool pads = call_bool(call, "pad_per_class");
  const int64_t classes = scores->rank == 3 ? scores->dim[2] : SITU_ANY;
  if (total_known && !pads) size = total;
  if (total_known && pads && known && classes != SITU_ANY)
    size = result_size(call, classes, per_class, total);
  int64_t batch = scores->rank == 3 ? scores->dim[0] : SITU_ANY;
  if (batch == SITU_ANY && boxes->rank == 4) batch = boxes->dim[0];
  call->out[0].shape = (situ_shape){3, {batch, size, 4}};
  call->out[1].shape = call->out[2].shape = (situ_shape){2, {batch, size}};
  call->out[3].shape = (situ_shape){1, {batch}};
  return NULL;
}

static const struct op_def op_defs[] = {
    {.name = "CombinedNonMaxSuppression",
     .inputs = "boxes:float[b,n,?,4] scores:float[b,n,c] max_output_size_per_class:int32[] "
               "max_total_size:int32[] "
               "iou_threshold:float[] score_threshold:float[]",
     .outputs = "nmsed_boxes:float nmsed_scores:float nmsed_classes:float valid_detections:int32",
     .attrs = "pad_per_class:bool=false clip_boxes:bool=true",
     .python = "",
     .doc = "Greedy non-maximum suppression per class; the best boxes of each image.",
     .args = "boxes: Boxes [batch, n, classes or 1, 4] as y1, x1, y2, x2 of opposite corners.\n"
             "scores: Scores [batch, n, classes].\n"
             "max_output_size_per_class: Maximum number of boxes of a class, a scalar.\n"
             "max_total_size: Maximum number of boxes of an image, a scalar.\n"
             "iou_threshold: Boxes whose intersection over union with a better box is greater are "
             "removed.\n"
             "score_threshold: Boxes with a lower score are removed.\n"
             "pad_per_class: Whether the results have at most max_output_size_per_class * classes "
             "rows.\n"
             "clip_boxes: Whether boxes are clipped to [0, 1].",
     .devices = "CPU",
     .host = "max_output_size_per_class max_total_size",
     .flags = OP_NO_GRADIENT,
     .shape = combined_shape,
     .compute = compute_combined},
};

OP_FAMILY(combined_non_max_suppression, op_defs);
