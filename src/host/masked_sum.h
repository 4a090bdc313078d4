/* SPDX-License-Identifier: Apache-2.0
 * masked_sum.h: sums of floats selected by byte masks, vectorized by hand. */
#ifndef SITU_HOST_MASKED_SUM_H
#define SITU_HOST_MASKED_SUM_H

#include <stdbool.h>
#include <stdint.h>

enum { MASKED_SUM_TERMS = 4 };

/* Terms: element i of `from` counts where byte i of `which` is `number`. */
struct masked_sum {
  const uint8_t *which[MASKED_SUM_TERMS];
  const float *from[MASKED_SUM_TERMS];
  uint8_t number[MASKED_SUM_TERMS];
};

/* Sums up the first `count` terms into n elements of `to`, or adds them to what is there. */
void masked_sum_run(const struct masked_sum *terms, int count, bool add, float *to, int64_t n);

#endif
