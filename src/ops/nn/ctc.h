/* SPDX-License-Identifier: Apache-2.0
 * ctc.h: sizes and helpers that the CTC ops share. */
#ifndef SITU_OPS_NN_CTC_H
#define SITU_OPS_NN_CTC_H

#include "schema/compute.h"

/* Inputs [steps, batch, classes], and how many steps each sequence has. */
struct ctc_sizes {
  int64_t steps, batch, classes;
  const int32_t *lengths;
};

/* log(exp(a) + exp(b)). */
double ctc_add(double a, double b);

/* The logarithms of the softmax of `classes` elements from `at` on. */
void ctc_log_softmax(const situ_tensor *inputs, int64_t at, int64_t classes, double *out);

/* The sizes; fails where lengths, which are input number `input`, do not fit. */
situ_status ctc_need_lengths(const struct compute *compute, int input,
                             struct ctc_sizes *out) SITU_MUST_USE;

/* Fails unless input 0 may have three dimensions. */
situ_status ctc_need_inputs(const struct call *call) SITU_MUST_USE;

/* Labels that were found for each sequence, at most `most`. */
struct ctc_labels {
  int64_t batch, most, *items, *counts;
};

situ_status ctc_labels_create(int64_t batch, int64_t most, struct ctc_labels *out) SITU_MUST_USE;
void ctc_labels_release(struct ctc_labels *labels);

/* Makes the outputs of these numbers: indices, values, shape of a sparse matrix. */
situ_status ctc_labels_give(const struct compute *compute, const struct ctc_labels *labels,
                            const int outputs[3]) SITU_MUST_USE;

#endif
