/* SPDX-License-Identifier: Apache-2.0
 * ctc.c: connectionist temporal classification (CTC): loss and greedy decoder. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/nn/ctc.h"
#include "base/interrupt.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

double ctc_add(double a, double b) {
  const double high = a > b ? a : b, low = a > b ? b : a;
  return low == -INFINITY ? high : high + log1p(exp(low - high));
}

static double element(const situ_tensor *tensor, int64_t i) {
  const void *data = situ_tensor_data(tensor);
  return tensor->type == SITU_DOUBLE ? ((const double *)data)[i] : ((const float *)data)[i];
}

static void put(void *data, situ_type type, int64_t i, double value) {
  if (type == SITU_DOUBLE)
    ((double *)data)[i] = value;
  else
    ((float *)data)[i] = (float)value;
}

void ctc_log_softmax(const situ_tensor *inputs, int64_t at, int64_t classes, double *out) {
  double high = -INFINITY, total = 0;
  for (int64_t k = 0; k < classes; k++) high = fmax(high, element(inputs, at + k));
  for (int64_t k = 0; k < classes; k++) total += exp(element(inputs, at + k) - high);
  for (int64_t k = 0; k < classes; k++) out[k] = element(inputs, at + k) - high - log(total);
}

situ_status ctc_need_lengths(const struct compute *compute, int input, struct ctc_sizes *out) {
  const situ_shape *in = &compute->in[0]->shape;
  const situ_tensor *lengths = compute->in[input];
  *out = (struct ctc_sizes){in->dim[0], in->dim[1], in->dim[2], situ_tensor_data(lengths)};
  if (situ_shape_count(lengths->shape) != out->batch)
    return INVALID(
        "len(sequence_length) != batch_size.  len(sequence_length):  %lld batch_size: "
        "%lld",
        (long long)situ_shape_count(lengths->shape), (long long)out->batch);
  for (int64_t b = 0; b < out->batch; b++)
    if (out->lengths[b] < 0 || out->lengths[b] > out->steps)
      return INVALID("sequence_length(%lld) <= %lld", (long long)b, (long long)out->steps);
  return NULL;
}

situ_status ctc_need_inputs(const struct call *call) {
  TRY(op_need_rank(call, 0, 3, "inputs"));
  if (call->in[0].shape.rank == 3 && call->in[0].shape.dim[2] == 0)
    return INVALID("num_classes must be positive: the last class is the blank");
  return NULL;
}

/* The loss */

/* A sequence: its labels with blanks between them, and the forward and backward variables by step
 * and label. */
struct lattice {
  int64_t steps, classes, width; /* width: 2 labels + 1 */
  int32_t *path;
  double *log_y, *forth, *back; /* [steps][classes], [steps][width] both */
  bool merge;
};

/* Log probability of reaching position u of the path from the positions of the previous step. */
static double arrive(const struct lattice *l, const double *from, int64_t u) {
  const int32_t blank = (int32_t)l->classes - 1, own = l->path[u];
  double sum = l->merge || own == blank ? from[u] : -INFINITY;
  if (u > 0) sum = ctc_add(sum, from[u - 1]);
  if (u > 1 && own != blank && !(l->merge && own == l->path[u - 2]))
    sum = ctc_add(sum, from[u - 2]);
  return sum;
}

/* Fills log probabilities of beginnings; -log p of all of it. */
static double compute_forward(const struct lattice *l) {
  for (int64_t t = 0; t < l->steps && !interrupt_pending(); t++)
    for (int64_t u = 0; u < l->width; u++) {
      const double here = l->log_y[t * l->classes + l->path[u]];
      double *at = &l->forth[t * l->width + u];
      if (!t)
        *at = u < 2 ? here : -INFINITY;
      else
        *at = arrive(l, l->forth + (t - 1) * l->width, u) + here;
    }
  const double *last = l->forth + (l->steps - 1) * l->width;
  return -ctc_add(last[l->width - 1], l->width > 1 ? last[l->width - 2] : -INFINITY);
}

/* Log probabilities of the rest of the path after a position, without the position itself. */
static void compute_backward(const struct lattice *l, double *scratch) {
  for (int64_t t = l->steps - 1; t >= 0 && !interrupt_pending(); t--) {
    double *at = l->back + t * l->width;
    if (t == l->steps - 1) {
      for (int64_t u = 0; u < l->width; u++) at[u] = u >= l->width - 2 ? 0 : -INFINITY;
      continue;
    }
    const double *y = l->log_y + (t + 1) * l->classes, *next = l->back + (t + 1) * l->width;
    for (int64_t u = 0; u < l->width; u++) scratch[u] = next[u] + y[l->path[u]];
    const int32_t blank = (int32_t)l->classes - 1;
    for (int64_t u = 0; u < l->width; u++) {
      double sum = l->merge || l->path[u] == blank ? scratch[u] : -INFINITY;
      if (u + 1 < l->width) sum = ctc_add(sum, scratch[u + 1]);
      if (u + 2 < l->width && l->path[u + 2] != blank &&
          !(l->merge && l->path[u] == l->path[u + 2]))
        sum = ctc_add(sum, scratch[u + 2]);
      at[u] = sum;
    }
  }
}

struct losing {
  const struct compute *compute;
  struct ctc_sizes sizes;
  situ_type type;
  void *loss, *gradient;
};

/* The gradient of one sequence: softmax less the share of the labels at each step. */
static void give_gradient(const struct losing *job, const struct lattice *l, int64_t b, double loss,
                          double *share) {
  for (int64_t t = 0; t < l->steps && !interrupt_pending(); t++) {
    for (int64_t k = 0; k < l->classes; k++) share[k] = -INFINITY;
    for (int64_t u = 0; u < l->width; u++) {
      const int64_t at = t * l->width + u;
      share[l->path[u]] = ctc_add(share[l->path[u]], l->forth[at] + l->back[at]);
    }
    const int64_t to = (t * job->sizes.batch + b) * l->classes;
    for (int64_t k = 0; k < l->classes; k++)
      put(job->gradient, job->type, to + k,
          exp(l->log_y[t * l->classes + k]) - exp(share[k] + loss));
  }
}

/* The labels of a sequence with blanks around them. */
static situ_status make_path(const struct losing *job, int64_t b, struct lattice *l) {
  const situ_tensor *indices = job->compute->in[1], *values = job->compute->in[2];
  const int64_t *at = situ_tensor_data(indices), n = situ_shape_count(values->shape);
  const int32_t *label = situ_tensor_data(values), blank = (int32_t)l->classes - 1;
  const bool collapse = call_bool(job->compute->call, "preprocess_collapse_repeated");
  l->width = 0;
  l->path[l->width++] = blank;
  int32_t before = -1;
  for (int64_t i = 0; i < n; i++) {
    if (at[2 * i] != b) continue;
    if (label[i] < 0 || label[i] >= blank)
      return INVALID(
          "Saw a non-null label (index >= num_classes - 1) following a null label, "
          "batch: %lld num_classes: %lld labels: %d",
          (long long)b, (long long)l->classes, (int)label[i]);
    if (collapse && label[i] == before) continue;
    before = label[i];
    l->path[l->width++] = label[i];
    l->path[l->width++] = blank;
  }
  return NULL;
}

static situ_status lose_one(const struct losing *job, int64_t b, struct lattice *l,
                            double *scratch) {
  const struct ctc_sizes *s = &job->sizes;
  TRY(make_path(job, b, l));
  l->steps = s->lengths[b];
  put(job->loss, job->type, b, 0);
  const int64_t labels = l->width / 2;
  if (labels > l->steps) {
    if (call_bool(job->compute->call, "ignore_longer_outputs_than_inputs")) return NULL;
    return INVALID(
        "Not enough time for target transition sequence (required: %lld, available: "
        "%lld)%lldYou can turn this error into a warning by using the flag "
        "ignore_longer_outputs_than_inputs",
        (long long)labels, (long long)l->steps, (long long)b);
  }
  if (!l->steps) return NULL;
  for (int64_t t = 0; t < l->steps; t++)
    ctc_log_softmax(job->compute->in[0], (t * s->batch + b) * s->classes, s->classes,
                    l->log_y + t * s->classes);
  const double loss = compute_forward(l);
  put(job->loss, job->type, b, loss);
  if (isinf(loss)) return NULL; /* no path: no gradient */
  compute_backward(l, scratch);
  give_gradient(job, l, b, loss, scratch);
  return NULL;
}

static situ_status compute_loss(struct compute *compute) {
  struct losing job = {.compute = compute, .type = compute->in[0]->type};
  TRY(ctc_need_lengths(compute, 3, &job.sizes));
  const struct ctc_sizes *s = &job.sizes;
  const int64_t n = situ_shape_count(compute->in[2]->shape), widest = 2 * n + 1;
  if (situ_shape_count(compute->in[1]->shape) != 2 * n)
    return INVALID("labels_indices and labels_values must contain the same number of rows");
  TRY(compute_output(compute, 0, (situ_shape){1, {s->batch}}, &job.loss));
  TRY(compute_output(compute, 1, compute->in[0]->shape, &job.gradient));
  memset(job.gradient, 0,
         (size_t)situ_shape_count(compute->in[0]->shape) * situ_type_size(job.type));
  const size_t scratch = (size_t)max_i64(widest, s->classes);
  const size_t cells = (size_t)s->steps * (size_t)(s->classes + 2 * widest) + scratch + 1;
  double *memory = malloc(cells * sizeof *memory);
  int32_t *path = malloc((size_t)widest * sizeof *path);
  situ_status status = memory && path ? NULL : NO_MEMORY();
  struct lattice l = {.classes = s->classes, .path = path, .log_y = memory};
  l.merge = call_bool(compute->call, "ctc_merge_repeated");
  l.forth = memory + s->steps * s->classes;
  l.back = l.forth + s->steps * widest;
  for (int64_t b = 0; !status && b < s->batch; b++)
    status = lose_one(&job, b, &l, l.back + s->steps * widest);
  free(memory);
  free(path);
  return status;
}

static situ_status loss_shape(struct call *call) {
  TRY(ctc_need_inputs(call));
  const situ_shape *in = &call->in[0].shape;
  call->out[0].shape = (situ_shape){1, {in->rank == 3 ? in->dim[1] : SITU_ANY}};
  call->out[1].shape = *in;
  return NULL;
}

static void loss_grad(struct gradient *g) {
  struct term scale = g->dy[0];
  scale = OP(g, "ExpandDims", OP(g, "ExpandDims", scale, gradient_int(g, 0)), gradient_int(g, 2));
  g->dx[0] = OP(g, "Mul", g->out[1], scale);
}

/* The most likely label of each time step */

static situ_status greedy_shape(struct call *call) {
  TRY(ctc_need_inputs(call));
  const situ_shape *in = &call->in[0].shape;
  call->out[0].shape = (situ_shape){2, {SITU_ANY, 2}};
  call->out[1].shape = (situ_shape){1, {SITU_ANY}};
  call->out[2].shape = (situ_shape){1, {2}};
  call->out[3].shape = (situ_shape){2, {in->rank == 3 ? in->dim[1] : SITU_ANY, 1}};
  return NULL;
}

/* The labels of a sequence at `to`, and how many; *sum of the largest inputs is negative. */
static int64_t decode_one(const struct compute *compute, const struct ctc_sizes *s, int64_t b,
                          int64_t *to, double *sum) {
  const bool merge = call_bool(compute->call, "merge_repeated");
  int64_t count = 0, before = -1, blank = call_integer(compute->call, "blank_index");
  if (blank < 0) blank += s->classes;
  *sum = 0;
  for (int64_t t = 0; t < s->lengths[b] && !interrupt_pending(); t++) {
    const int64_t at = (t * s->batch + b) * s->classes;
    int64_t best = 0;
    for (int64_t k = 1; k < s->classes; k++)
      if (element(compute->in[0], at + k) > element(compute->in[0], at + best)) best = k;
    *sum -= element(compute->in[0], at + best);
    if (best != blank && !(merge && best == before)) to[count++] = best;
    before = best;
  }
  return count;
}

static situ_status compute_greedy(struct compute *compute) {
  struct ctc_sizes s;
  TRY(ctc_need_lengths(compute, 1, &s));
  void *sums = NULL;
  TRY(compute_output(compute, 3, (situ_shape){2, {s.batch, 1}}, &sums));
  struct ctc_labels labels = {0};
  situ_status status = ctc_labels_create(s.batch, s.steps, &labels);
  for (int64_t b = 0; !status && b < s.batch; b++) {
    double sum;
    labels.counts[b] = decode_one(compute, &s, b, labels.items + b * s.steps, &sum);
    put(sums, compute->in[0]->type, b, sum);
  }
  if (!status) status = ctc_labels_give(compute, &labels, (const int[]){0, 1, 2});
  ctc_labels_release(&labels);
  return status;
}

/* Labels of all sequences as a sparse matrix */

situ_status ctc_labels_create(int64_t batch, int64_t most, struct ctc_labels *out) {
  *out = (struct ctc_labels){.batch = batch, .most = most};
  out->items = malloc((size_t)(batch * most + 1) * sizeof *out->items);
  out->counts = calloc((size_t)batch + 1, sizeof *out->counts);
  return out->items && out->counts ? NULL : NO_MEMORY();
}

void ctc_labels_release(struct ctc_labels *labels) {
  free(labels->items);
  free(labels->counts);
}

situ_status ctc_labels_give(const struct compute *compute, const struct ctc_labels *labels,
                            const int outputs[3]) {
  void *indices = NULL, *values = NULL, *shape = NULL;
  int64_t n = 0, longest = 0, at = 0;
  for (int64_t b = 0; b < labels->batch; b++) {
    n += labels->counts[b];
    longest = max_i64(longest, labels->counts[b]);
  }
  TRY(compute_output(compute, outputs[0], (situ_shape){2, {n, 2}}, &indices));
  TRY(compute_output(compute, outputs[1], (situ_shape){1, {n}}, &values));
  TRY(compute_output(compute, outputs[2], (situ_shape){1, {2}}, &shape));
  for (int64_t b = 0; b < labels->batch; b++)
    for (int64_t i = 0; i < labels->counts[b]; i++, at++) {
      ((int64_t *)indices)[2 * at] = b;
      ((int64_t *)indices)[2 * at + 1] = i;
      ((int64_t *)values)[at] = labels->items[b * labels->most + i];
    }
  ((int64_t *)shape)[0] = labels->batch;
  ((int64_t *)shape)[1] = longest;
  return NULL;
}

static const struct op_def op_defs[] = {
    {.name = "CTCLoss",
     .inputs = "inputs:T[t,b,c] labels_indices:int64[n,2] labels_values:int32[n] "
               "sequence_length:int32[b]",
     .outputs = "loss:T gradient:T",
     .attrs = "preprocess_collapse_repeated:bool=false ctc_merge_repeated:bool=true "
              "ignore_longer_outputs_than_inputs:bool=false T:{float double}=float",
     .doc = "Connectionist temporal classification loss per sequence, and its gradient; the last "
            "class is the blank.",
     .args = "inputs: Logits [max_time, batch, classes].\n"
             "labels_indices: Indices of the labels in a sparse matrix [batch, max_labels].\n"
             "labels_values: Class of each label.\n"
             "sequence_length: Number of time steps of each sequence, [batch].\n"
             "preprocess_collapse_repeated: Merge repeated labels before the loss is computed.\n"
             "ctc_merge_repeated: Merge repeated labels between blanks, as CTC defines it.\n"
             "ignore_longer_outputs_than_inputs: Give sequences that are too short for their "
             "labels a loss of 0, not an error.",
     .devices = "CPU",
     .shape = loss_shape,
     .compute = compute_loss,
     .grad = loss_grad},
    {.name = "CTCGreedyDecoder",
     .inputs = "inputs:T[t,b,c] sequence_length:int32[b]",
     .outputs = "decoded_indices:int64 decoded_values:int64 decoded_shape:int64 log_probability:T",
     .attrs = "merge_repeated:bool=false blank_index:int=-1 T:{float double}=float",
     .doc = "CTC decoding with the most likely class of each time step; returns a sparse matrix of "
            "labels.",
     .args = "inputs: Logits [max_time, batch, classes].\n"
             "sequence_length: Number of time steps of each sequence, [batch].\n"
             "merge_repeated: Merge repeated classes between blanks.\n"
             "blank_index: Index of the blank class; negative values count from the end.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = greedy_shape,
     .compute = compute_greedy},
};

OP_FAMILY(ctc, op_defs);
