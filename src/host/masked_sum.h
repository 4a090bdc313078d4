/* SPDX-License-Identifier: Apache-2.0
 * masked_sum.h: sums of floats selected by byte masks (backward max pooling), with AVX2 and AVX-512
 * versions that add the terms in the same order. */
#ifndef SITU_HOST_MASKED_SUM_H
#define SITU_HOST_MASKED_SUM_H

#include <stdbool.h>
#include <stdint.h>

enum { MASKED_SUM_TERMS = 4 };

/* Element i of from[j] is added if byte i of which[j] equals number[j]. */
struct masked_sum {
  const uint8_t *which[MASKED_SUM_TERMS];
  const float *from[MASKED_SUM_TERMS];
  uint8_t number[MASKED_SUM_TERMS];
};

/* Sums the first `count` terms into the n elements of `to`, or adds them if `add`. */
void masked_sum_run(const struct masked_sum *terms, int count, bool add, float *to, int64_t n);

#endif
