/* SPDX-License-Identifier: Apache-2.0
 * suppression.h: greedy and soft non-maximum suppression of candidates, by decreasing score. */
#ifndef SITU_OPS_IMAGE_SUPPRESSION_H
#define SITU_OPS_IMAGE_SUPPRESSION_H

#include "base/base.h"

/* Candidates and how they suppress each other. */
struct suppression {
  const float *scores;
  int64_t n;     /* candidates */
  int64_t most;  /* how many to select at most */
  float overlap; /* a candidate that overlaps a selected one by more is removed */
  float least;   /* candidates with this score or a lower one are removed */
  float sigma;   /* > 0: soft suppression, overlaps lower the score instead */
  /* The similarity of candidates a and b, such as their intersection over union. */
  float (*similarity)(const void *context, int64_t a, int64_t b);
  const void *context;
};

/* The selected candidates, the best first. */
struct selection {
  int32_t *index;
  float *score;
  int64_t count;
};

/* Selects candidates. The caller frees the selection, also after an error. */
situ_status suppression_run(const struct suppression *suppression,
                            struct selection *out) SITU_MUST_USE;

/* Frees the arrays of a selection. */
void suppression_free(struct selection *selection);

/* The intersection over union of boxes a and b of an array [n, 4], the context of a suppression.
 * A box is [y1, x1, y2, x2], whichever corners these are. */
float suppression_box_iou(const void *boxes, int64_t a, int64_t b);

#endif
