/* SPDX-License-Identifier: Apache-2.0
 * ctc_beam.c: CTC beam search decoder and edit distance. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "ops/nn/ctc.h"
#include "ops/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* A prefix of a sequence: a parent prefix and one more label. Log probabilities: that the last step
 * was a blank, a label, or either, before and after the current step. */
struct prefix {
  int32_t parent, label, child, sibling; /* numbers of prefixes, -1: none */
  bool active;
  double old_blank, old_label, old_total, blank, letter, total;
};

struct beam {
  struct prefix *all;
  int32_t n, capacity;
  int32_t *best, n_best; /* the prefixes of the beam, the most likely first */
  int64_t width, classes;
  struct candidate {
    double total;
    int32_t prefix, label; /* label -1: the prefix itself, else the prefix extended by the label */
  } * heap;
  int64_t n_heap;
  double *log_y;
};

static int32_t add_prefix(struct beam *beam, int32_t parent, int32_t label) {
  for (int32_t at = beam->all[parent].child; at >= 0; at = beam->all[at].sibling)
    if (beam->all[at].label == label) return at;
  if (beam->n == beam->capacity) {
    struct prefix *more = realloc(beam->all, 2 * (size_t)beam->capacity * sizeof *more);
    if (!more) return -1;
    beam->all = more;
    beam->capacity *= 2;
  }
  const int32_t made = beam->n++;
  beam->all[made] = (struct prefix){
      .parent = parent, .label = label, .child = -1, .sibling = beam->all[parent].child};
  beam->all[parent].child = made;
  return made;
}

/* Keeps the `width` most likely candidates; the worst is heap[0]. */
static void offer(struct beam *beam, struct candidate c) {
  struct candidate *h = beam->heap;
  int64_t at;
  if (c.total == -INFINITY) return;
  if (beam->n_heap < beam->width) {
    for (at = beam->n_heap++; at && h[(at - 1) / 2].total > c.total; at = (at - 1) / 2)
      h[at] = h[(at - 1) / 2];
    h[at] = c;
    return;
  }
  if (c.total <= h[0].total) return;
  for (at = 0;;) {
    int64_t low = 2 * at + 1;
    if (low >= beam->n_heap) break;
    if (low + 1 < beam->n_heap && h[low + 1].total < h[low].total) low++;
    if (h[low].total >= c.total) break;
    h[at] = h[low];
    at = low;
  }
  h[at] = c;
}

/* Updates the probabilities of a prefix that is not extended. */
static void stay(struct beam *beam, int32_t number) {
  struct prefix *p = &beam->all[number];
  const struct prefix *parent = p->parent >= 0 ? &beam->all[p->parent] : NULL;
  p->letter = -INFINITY;
  if (parent) {
    const double y = beam->log_y[p->label];
    p->letter = p->old_label + y;
    if (parent->active)
      p->letter = ctc_add(p->letter,
                          y + (p->label == parent->label ? parent->old_blank : parent->old_total));
  }
  p->blank = p->old_total + beam->log_y[beam->classes - 1];
  p->total = ctc_add(p->blank, p->letter);
  offer(beam, (struct candidate){p->total, number, -1});
}

static void grow(struct beam *beam, int32_t number, bool *taken) {
  const struct prefix *p = &beam->all[number];
  memset(taken, 0, (size_t)beam->classes);
  for (int32_t at = p->child; at >= 0; at = beam->all[at].sibling)
    if (beam->all[at].active) taken[beam->all[at].label] = true;
  for (int32_t k = 0; k < beam->classes - 1; k++)
    if (!taken[k])
      offer(beam, (struct candidate){beam->log_y[k] + (k == p->label ? p->old_blank : p->old_total),
                                     number, k});
}

static int by_total(const void *a, const void *b) {
  const struct candidate *x = a, *y = b;
  if (x->total != y->total) return x->total < y->total ? 1 : -1;
  if (x->prefix != y->prefix) return x->prefix < y->prefix ? -1 : 1;
  return (x->label > y->label) - (x->label < y->label);
}

static situ_status step(struct beam *beam, bool *taken) {
  beam->n_heap = 0;
  for (int32_t i = 0; i < beam->n_best; i++) {
    struct prefix *p = &beam->all[beam->best[i]];
    p->old_blank = p->blank, p->old_label = p->letter, p->old_total = p->total;
  }
  for (int32_t i = 0; i < beam->n_best; i++) stay(beam, beam->best[i]);
  for (int32_t i = 0; i < beam->n_best; i++) grow(beam, beam->best[i], taken);
  for (int32_t i = 0; i < beam->n_best; i++) beam->all[beam->best[i]].active = false;
  qsort(beam->heap, (size_t)beam->n_heap, sizeof *beam->heap, by_total);
  beam->n_best = 0;
  for (int64_t i = 0; i < beam->n_heap; i++) {
    const struct candidate *c = &beam->heap[i];
    int32_t number = c->prefix;
    if (c->label >= 0) {
      number = add_prefix(beam, c->prefix, c->label);
      if (number < 0) return NO_MEMORY();
      struct prefix *p = &beam->all[number];
      p->blank = -INFINITY;
      p->letter = p->total = c->total;
    }
    beam->all[number].active = true;
    beam->best[beam->n_best++] = number;
  }
  return NULL;
}

static int64_t write_labels(const struct beam *beam, int32_t number, bool merge, int64_t *to) {
  int64_t count = 0;
  for (int32_t at = number; beam->all[at].parent >= 0; at = beam->all[at].parent) count++;
  int64_t place = count, kept = 0;
  for (int32_t at = number; beam->all[at].parent >= 0; at = beam->all[at].parent)
    to[--place] = beam->all[at].label;
  for (int64_t i = 0; i < count; i++)
    if (!merge || !i || to[i] != to[i - 1]) to[kept++] = to[i];
  return kept;
}

struct searching {
  const struct compute *compute;
  struct ctc_sizes sizes;
  int64_t paths;
  struct ctc_labels *labels; /* by path */
  void *scores;
};

static situ_status search_one(const struct searching *job, struct beam *beam, int64_t b,
                              bool *taken) {
  const struct ctc_sizes *s = &job->sizes;
  beam->n = 1;
  beam->all[0] = (struct prefix){.parent = -1, .label = -1, .child = -1, .sibling = -1};
  beam->all[0].active = true;
  beam->all[0].letter = -INFINITY;
  beam->best[0] = 0;
  beam->n_best = 1;
  for (int64_t t = 0; t < s->lengths[b] && !interrupt_pending(); t++) {
    ctc_log_softmax(job->compute->in[0], (t * s->batch + b) * s->classes, s->classes, beam->log_y);
    TRY(step(beam, taken));
  }
  if (beam->n_best < job->paths) return INVALID("Less leaves in the beam search than requested.");
  for (int64_t k = 0; k < job->paths; k++) {
    const int32_t number = beam->best[k];
    const bool merge = call_bool(job->compute->call, "merge_repeated");
    if (!job->labels[k].items || !job->labels[k].counts) return NO_MEMORY();
    job->labels[k].counts[b] =
        write_labels(beam, number, merge, job->labels[k].items + b * s->steps);
    const double total = beam->all[number].total;
    if (job->compute->in[0]->type == SITU_DOUBLE)
      ((double *)job->scores)[b * job->paths + k] = total;
    else
      ((float *)job->scores)[b * job->paths + k] = (float)total;
  }
  return NULL;
}

static situ_status search_all(const struct searching *job) {
  const int64_t width = call_integer(job->compute->call, "beam_width");
  const int64_t classes = job->sizes.classes;
  struct beam beam = {.capacity = 64, .width = width, .classes = classes};
  beam.all = malloc((size_t)beam.capacity * sizeof *beam.all);
  beam.best = calloc((size_t)width, sizeof *beam.best);
  beam.heap = calloc((size_t)width, sizeof *beam.heap);
  beam.log_y = malloc((size_t)classes * sizeof *beam.log_y);
  bool *taken = malloc((size_t)classes);
  const bool is_allocated = beam.all && beam.best && beam.heap && beam.log_y && taken;
  situ_status status = is_allocated ? NULL : NO_MEMORY();
  for (int64_t b = 0; !status && b < job->sizes.batch; b++)
    status = search_one(job, &beam, b, taken);
  free(beam.all);
  free(beam.best);
  free(beam.heap);
  free(beam.log_y);
  free(taken);
  return status;
}

static situ_status compute_search(struct compute *compute) {
  struct searching job = {.compute = compute, .paths = call_integer(compute->call, "top_paths")};
  TRY(ctc_need_lengths(compute, 1, &job.sizes));
  const struct ctc_sizes *s = &job.sizes;
  const int paths = (int)job.paths;
  TRY(compute_output(compute, 3 * paths, (situ_shape){2, {s->batch, job.paths}}, &job.scores));
  job.labels = calloc((size_t)paths, sizeof *job.labels);
  situ_status status = job.labels ? NULL : NO_MEMORY();
  for (int k = 0; !status && k < paths; k++)
    status = ctc_labels_create(s->batch, s->steps, &job.labels[k]);
  if (!status) status = search_all(&job);
  for (int k = 0; !status && k < paths; k++)
    status = ctc_labels_give(compute, &job.labels[k], (const int[]){k, paths + k, 2 * paths + k});
  for (int k = 0; job.labels && k < paths; k++) ctc_labels_release(&job.labels[k]);
  free(job.labels);
  return status;
}

static situ_status search_shape(struct call *call) {
  TRY(ctc_need_inputs(call));
  const situ_shape *in = &call->in[0].shape;
  const int paths = (int)call_integer(call, "top_paths");
  if (call_integer(call, "beam_width") < paths)
    return INVALID("requested more paths than the beam width.");
  for (int k = 0; k < paths; k++) {
    call->out[k].shape = (situ_shape){2, {SITU_ANY, 2}};
    call->out[paths + k].shape = (situ_shape){1, {SITU_ANY}};
    call->out[2 * paths + k].shape = (situ_shape){1, {2}};
  }
  call->out[3 * paths].shape = (situ_shape){2, {in->rank == 3 ? in->dim[1] : SITU_ANY, paths}};
  return NULL;
}

/* How far sequences are apart */

static int64_t element(const situ_tensor *tensor, int64_t i) {
  const void *data = situ_tensor_data(tensor);
  return tensor->type == SITU_INT64 ? ((const int64_t *)data)[i] : ((const int32_t *)data)[i];
}

/* A sparse tensor whose rows are sequences. */
struct sequences {
  const situ_tensor *values;
  const int64_t *indices, *shape;
  int64_t n, rank, at; /* at: the first element that was not taken yet */
};

static struct sequences sequences_of(const struct compute *compute, int first) {
  return (struct sequences){compute->in[first + 1],
                            situ_tensor_data(compute->in[first]),
                            situ_tensor_data(compute->in[first + 2]),
                            situ_shape_count(compute->in[first + 1]->shape),
                            situ_shape_count(compute->in[first + 2]->shape),
                            0};
}

/* The number of next elements that belong to row `row` of a tensor of that shape. */
static int64_t take_row(struct sequences *s, const situ_shape *shape, int64_t row) {
  int64_t count = 0;
  for (; s->at + count < s->n; count++) {
    int64_t number = 0;
    for (int d = 0; d < shape->rank && number >= 0; d++) {
      const int64_t index = s->indices[(s->at + count) * s->rank + d];
      number = index >= 0 && index < shape->dim[d] ? number * shape->dim[d] + index : -1;
    }
    if (number != row) break;
  }
  s->at += count;
  return count;
}

static int64_t distance(const situ_tensor *a, int64_t from_a, int64_t m, const situ_tensor *b,
                        int64_t from_b, int64_t n, int64_t *row) {
  for (int64_t j = 0; j <= n; j++) row[j] = j;
  for (int64_t i = 1; i <= m && !interrupt_pending(); i++) {
    int64_t corner = row[0];
    row[0] = i;
    for (int64_t j = 1; j <= n; j++) {
      const bool same = element(a, from_a + i - 1) == element(b, from_b + j - 1);
      const int64_t change = corner + !same, drop = row[j] + 1, insert = row[j - 1] + 1;
      corner = row[j];
      row[j] =
          change < drop ? (change < insert ? change : insert) : (drop < insert ? drop : insert);
    }
  }
  return row[n];
}

static situ_status compute_distance(struct compute *compute) {
  struct sequences guess = sequences_of(compute, 0), truth = sequences_of(compute, 3);
  const bool normal = call_bool(compute->call, "normalize");
  situ_shape shape = {0};
  void *data = NULL;
  if (guess.rank != truth.rank || guess.rank < 1 || guess.rank > SITU_MAX_RANK)
    return INVALID(
        "Expected hypothesis_shape and truth_shape to have the same number of dimensions, "
        "got %lld and %lld",
        (long long)guess.rank, (long long)truth.rank);
  for (shape.rank = 0; shape.rank < guess.rank - 1; shape.rank++) {
    const int64_t n = guess.shape[shape.rank], m = truth.shape[shape.rank];
    if (n < 0 || m < 0)
      return INVALID("Dimension %d of a sparse tensor is negative: %lld", shape.rank,
                     (long long)(n < m ? n : m));
    shape.dim[shape.rank] = max_i64(n, m);
  }
  TRY(compute_output(compute, 0, shape, &data));
  int64_t *row = calloc((size_t)truth.n + 1, sizeof *row);
  if (!row) return NO_MEMORY();
  for (int64_t i = 0; i < situ_shape_count(shape); i++) {
    const int64_t from = guess.at, m = take_row(&guess, &shape, i);
    const int64_t to = truth.at, n = take_row(&truth, &shape, i);
    double far = (double)distance(guess.values, from, m, truth.values, to, n, row);
    if (normal) far = n ? far / (double)n : m ? INFINITY : 0;
    ((float *)data)[i] = (float)far;
  }
  free(row);
  return guess.at == guess.n && truth.at == truth.n
             ? NULL
             : INVALID("Indices of a sparse tensor are out of order or out of bounds");
}

static situ_status distance_shape(struct call *call) {
  call->out[0].shape = SITU_ANY_SHAPE;
  TRY(op_need_sparse(call, 0, "hypothesis"));
  TRY(op_need_sparse(call, 3, "truth"));
  situ_shape guess, truth, *out = &call->out[0].shape;
  TRY(op_host_shape(call, 2, true, &guess));
  TRY(op_host_shape(call, 5, true, &truth));
  const int rank = guess.rank == SITU_ANY ? truth.rank : guess.rank;
  if (rank < 1) return NULL;
  *out = (situ_shape){rank - 1, {0}};
  for (int d = 0; d < rank - 1; d++) {
    const bool known = guess.rank == rank && truth.rank == rank && guess.dim[d] != SITU_ANY &&
                       truth.dim[d] != SITU_ANY;
    out->dim[d] = known ? max_i64(guess.dim[d], truth.dim[d]) : SITU_ANY;
  }
  return NULL;
}

static const struct op_def op_defs[] = {
    {.name = "CTCBeamSearchDecoder",
     .inputs = "inputs:T[t,b,c] sequence_length:int32[b]",
     .outputs = "decoded_indices:top_paths*int64 decoded_values:top_paths*int64 "
                "decoded_shape:top_paths*int64 log_probability:T",
     .attrs = "beam_width:int>=1 top_paths:int>=1 merge_repeated:bool=true T:{float double}=float",
     .doc = "CTC decoding with beam search; returns the most likely label sequences as sparse "
            "matrices.",
     .args = "inputs: Logits [max_time, batch, classes].\n"
             "sequence_length: Number of time steps of each sequence, [batch].\n"
             "beam_width: Number of prefixes that the search keeps.\n"
             "top_paths: Number of sequences to return, at most beam_width.\n"
             "merge_repeated: Merge repeated labels in the output.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = search_shape,
     .compute = compute_search},
    {.name = "EditDistance",
     .inputs = "hypothesis_indices:int64[n,r] hypothesis_values:T[n] hypothesis_shape:int64[r] "
               "truth_indices:int64[m,r] truth_values:T[m] truth_shape:int64[r]",
     .outputs = "output:float",
     .attrs = "normalize:bool=true T:{int32 int64}",
     .doc = "Levenshtein distance between the sequences of two sparse tensors.",
     .args = "hypothesis_indices: Indices of the hypotheses.\n"
             "hypothesis_values: Values of the hypotheses.\n"
             "hypothesis_shape: Shape of the hypotheses.\n"
             "truth_indices: Indices of the truth.\n"
             "truth_values: Values of the truth.\n"
             "truth_shape: Shape of the truth.\n"
             "normalize: Divide each distance by the length of the truth.",
     .host = "hypothesis_shape truth_shape",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = distance_shape,
     .compute = compute_distance},
};

OP_FAMILY(ctc_beam, op_defs);
