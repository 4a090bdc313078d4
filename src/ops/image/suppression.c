/* SPDX-License-Identifier: Apache-2.0
 * suppression.c: non-maximum suppression with a binary heap. A candidate whose score soft
 * suppression has lowered returns to the heap, so that the order of selection is that of the final
 * scores. */
#include "ops/image/suppression.h"
#include "base/interrupt.h"

#include <math.h>
#include <stdlib.h>

struct candidate {
  float score;
  int32_t index;
  int64_t seen; /* candidates selected before this index have lowered the score already */
};

static bool is_better(const struct candidate *a, const struct candidate *b) {
  return a->score != b->score ? a->score > b->score : a->index < b->index;
}

static void sift_down(struct candidate *heap, int64_t n, int64_t at) {
  const struct candidate moved = heap[at];
  for (int64_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && is_better(&heap[child + 1], &heap[child])) child++;
    if (!is_better(&heap[child], &moved)) break;
    heap[at] = heap[child];
  }
  heap[at] = moved;
}

/* The first operand if one of them is NaN. */
static float smaller(float a, float b) { return b < a ? b : a; }
static float larger(float a, float b) { return a < b ? b : a; }

static float overlap(const float a[4], const float b[4]) {
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

float suppression_box_iou(const void *boxes, int64_t a, int64_t b) {
  return overlap((const float *)boxes + 4 * a, (const float *)boxes + 4 * b);
}

/* The factor of the score of a box that overlaps a selected one. */
static float weight_of(const struct suppression *s, float similarity) {
  if (s->sigma > 0) return expf(-0.5F / s->sigma * similarity * similarity);
  return similarity <= s->overlap ? 1 : 0;
}

/* Lowers the score of a candidate by the selected ones since its last visit; false if one of them
 * removes it. */
static bool survives(const struct suppression *s, const struct selection *selected,
                     struct candidate *next) {
  for (int64_t k = selected->count - 1; k >= next->seen; k--) {
    const float similarity = s->similarity(s->context, next->index, selected->index[k]);
    if (s->sigma <= 0 && similarity > s->overlap) return false;
    next->score *= weight_of(s, similarity);
    if (!(next->score > s->least)) return false; /* also NaN, which cannot be ordered */
  }
  next->seen = selected->count;
  return true;
}

static void select_best(const struct suppression *s, struct candidate *heap, int64_t count,
                        struct selection *out) {
  while (count && out->count < s->most && !interrupt_pending()) {
    const float before = heap[0].score;
    const bool survived = survives(s, out, &heap[0]);
    if (survived && heap[0].score == before) {
      out->index[out->count] = heap[0].index;
      out->score[out->count++] = before;
    }
    if (!survived || heap[0].score == before) heap[0] = heap[--count];
    sift_down(heap, count, 0);
  }
}

situ_status suppression_run(const struct suppression *suppression, struct selection *out) {
  const size_t n = (size_t)suppression->n + 1;
  struct candidate *heap = malloc(n * sizeof *heap);
  *out = (struct selection){malloc(n * sizeof *out->index), malloc(n * sizeof *out->score), 0};
  const bool enough = heap && out->index && out->score;
  int64_t count = 0;
  for (int64_t i = 0; enough && i < suppression->n; i++)
    if (suppression->scores[i] > suppression->least)
      heap[count++] = (struct candidate){suppression->scores[i], (int32_t)i, 0};
  for (int64_t at = count / 2; enough && at-- > 0;) sift_down(heap, count, at);
  if (enough) select_best(suppression, heap, count, out);
  free(heap);
  return enough ? NULL : NO_MEMORY();
}

void suppression_free(struct selection *selection) {
  free(selection->index);
  free(selection->score);
  *selection = (struct selection){0};
}
